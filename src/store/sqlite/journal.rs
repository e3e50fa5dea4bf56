//! A rollback journal beside a database. gently's databases keep a log of writes instead, so that one
//! is of another database; but for the moment in which a database is made, or in which one that kept
//! journals is opened, which changes the mark of that in the first page and nothing else.
//!
//! SQLite plays back whatever journal it finds, over whichever file it lies beside.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::convert::beside;
use crate::os::{kind_of, open_regular, shell_word};
use crate::store::cipher::{MAGIC, is_open_here};

/// How a journal begins.
const BEGIN: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// What stands before the sectors of a journal's head.
const HEAD: usize = 28;
/// The number of a page before it, and the sum behind it.
const AROUND: u64 = 8;
/// The parts of a first page that a change of its mark changes: the mark, and the counters of changes.
const MARKS: [Range<usize>; 3] = [18..20, 24..28, 92..100];

/// What lies in the place of a journal and may not be played back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignJournal {
    /// The file, or whatever it is.
    pub path: PathBuf,
    /// Of what kind it is, where it is no regular file: `a folder`.
    kind: Option<&'static str>,
}

impl ForeignJournal {
    /// What it is and does, without its name and how to put it away.
    pub fn words(&self) -> String {
        let is = match self.kind {
            None => "no journal of this database",
            Some(kind) => kind,
        };
        format!(
            "{is}, and SQLite would write a journal of that name over the database: nothing is opened while it lies there"
        )
    }

    /// The same, whole.
    pub fn sentence(&self) -> String {
        let name = shell_word(&self.path);
        format!(
            "{name} is {}. Put it away with: mv -n {name} {name}.torn",
            self.words()
        )
    }
}

/// The journal beside a database that is not of that database; none where there is no journal, or one
/// that SQLite has no use for, or that a program left which was killed as it made or opened it.
pub fn foreign_journal(database: &Path) -> Option<ForeignJournal> {
    let path = journal_beside(database);
    let found = path.symlink_metadata().ok()?;
    let is_own = found.is_file() && found.len() == 0
        || open_regular(&path).is_ok_and(|file| is_own(file, found.len(), database));
    let kind = (!found.is_file()).then(|| kind_of(found.file_type()));
    (!is_own).then_some(ForeignJournal { path, kind })
}

/// Whether a journal lies beside a database that SQLite would play back.
pub(super) fn is_beside(database: &Path) -> bool {
    let mut first = [0];
    let read = open_regular(&journal_beside(database)).and_then(|mut file| file.read(&mut first));
    read.is_ok() && first != [0]
}

/// Where SQLite looks for one: where the name of the database is a link, beside what that leads to.
fn journal_beside(database: &Path) -> PathBuf {
    let target = database.is_symlink().then(|| database.canonicalize().ok());
    let target = target.flatten();
    beside(target.as_deref().unwrap_or(database), "-journal")
}

/// Whether a journal changes no more of a database than the marks of its first page.
fn is_own(mut journal: File, length: u64, database: &Path) -> bool {
    let mut head = [0; HEAD];
    if journal.read_exact(&mut head).is_err() || head[0] == 0 {
        // It is being written, or has no end: nothing in it is played back.
        return true;
    }
    let number = |at: usize| {
        let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        u64::from(u32::from_be_bytes(bytes))
    };
    let (pages, sector, page) = (number(16), number(20), number(24));
    let is_sound = head.starts_with(&BEGIN)
        && (512..=65_536).contains(&page)
        && (32..=65_536).contains(&sector)
        && length <= sector + AROUND + page;
    let now = database.metadata().map_or(0, |found| found.len());
    // A file that is open here has its log of writes; and closing it would end SQLite's locks on it.
    if !is_sound || is_open_here(database) || now != 0 && now != pages * page {
        return false;
    }
    if length < sector + AROUND + page || now == 0 {
        return true;
    }
    let rest = sector - u64::try_from(HEAD).unwrap_or(sector);
    let skipped = std::io::copy(&mut journal.by_ref().take(rest), &mut std::io::sink());
    let mut first = [0; 4];
    let read = |file: &mut dyn std::io::Read| -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        file.take(page).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    if skipped.is_err() || journal.read_exact(&mut first).is_err() || first != [0, 0, 0, 1] {
        return false;
    }
    let before = read(&mut journal);
    let now = File::open(database)
        .ok()
        .and_then(|mut file| read(&mut file));
    match (before, now) {
        (Some(before), Some(now)) => is_same_but_for_marks(before, now),
        _ => false,
    }
}

/// Whether two first pages are of one database. Of encrypted ones that can't be told: nothing but the
/// salt that they begin with is readable, and whoever has the disk has that.
fn is_same_but_for_marks(mut one: Vec<u8>, mut other: Vec<u8>) -> bool {
    if !one.starts_with(MAGIC) || !other.starts_with(MAGIC) {
        return false;
    }
    for page in [&mut one, &mut other] {
        for part in MARKS {
            page.get_mut(part)
                .into_iter()
                .flatten()
                .for_each(|b| *b = 0);
        }
    }
    one == other
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::{Store, StoreError};

    /// The journal that a statement makes in a database which keeps one, as a kill leaves it.
    fn journal_of(path: &Path, sql: &str) -> Vec<u8> {
        let hand = Connection::open(path).unwrap();
        let all = format!("PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE; {sql}");
        hand.execute_batch(&all).unwrap();
        let mut journal = std::fs::read(beside(path, "-journal")).unwrap();
        hand.execute_batch("ROLLBACK; PRAGMA journal_mode = WAL")
            .unwrap();
        // How it begins, and how many records it has, is written when it is synced.
        journal[..8].copy_from_slice(&BEGIN);
        let records = (journal.len() - 512) / (4096 + 8);
        journal[8..12].copy_from_slice(&u32::try_from(records).unwrap().to_be_bytes());
        journal
    }

    #[test]
    fn a_journal_of_another_database_is_refused_and_an_own_one_is_played_back() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Store::create(&path).unwrap());
        let other = home.path().join("other.db");
        std::fs::copy(&path, &other).unwrap();
        let hand = Connection::open(&other).unwrap();
        hand.execute_batch("CREATE TABLE more (x); INSERT INTO more VALUES (1)")
            .unwrap();
        drop(hand);
        let journal = beside(&path, "-journal");
        let foreign = [
            journal_of(&other, "UPDATE more SET x = 2; CREATE TABLE again (x)"),
            journal_of(&other, "PRAGMA user_version = 7"),
            vec![7; 5000],
        ];
        let own = journal_of(&path, "PRAGMA user_version = 7");
        let before = std::fs::read(&path).unwrap();
        for bytes in foreign {
            std::fs::write(&journal, &bytes).unwrap();
            for opened in [Store::open(&path), Store::open_read_only(&path)] {
                let fault = opened.err().expect("it was opened");
                assert!(matches!(fault, StoreError::Sealed { .. }), "{fault}");
                assert!(fault.to_string().contains("mv -n"), "{fault}");
            }
            assert!(std::fs::read(&path).unwrap() == before, "it changed");
            assert!(std::fs::read(&journal).unwrap() == bytes, "it changed");
        }
        crate::store::forget_key(&path);
        for bytes in [&own[..], &own[..600], &[]] {
            std::fs::write(&journal, bytes).unwrap();
            assert_eq!(foreign_journal(&path), None);
            drop(Store::open_read_only(&path).unwrap());
            assert!(!is_beside(&path), "{}", bytes.len());
            let _ = std::fs::remove_file(&journal);
            crate::store::forget_key(&path);
        }
        std::fs::create_dir(&journal).unwrap();
        let words = foreign_journal(&path).unwrap().sentence();
        assert!(words.contains("gently.db-journal is a folder"), "{words}");
    }
}
