//! Encryption at rest: whether the file of a database is encrypted, and the key that opens it.
//!
//! Every door to a database asks [`key_of`] first. What it learns of a file is kept for as long as
//! the file is the same one: the header is read once, before SQLite holds a lock on it, and nobody
//! is asked for a passphrase twice.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{ForeignJournal, StoreError};
use crate::os::{shell_word, why_unread};

/// How every database begins that is not encrypted.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// What else stands in each of those, from the 21st byte on; a header that lost its beginning still
/// has it.
const FRACTIONS: [u8; 3] = [64, 32, 32];
/// A shorter file is no database, encrypted or not: it is empty, or cut.
const SMALLEST: usize = 512;
/// The largest page that a database can have.
const MOST_PAGE: usize = 65_536;

/// Whether this build can open encrypted databases: the feature `sealed`.
pub const CAN_ENCRYPT: bool = cfg!(feature = "sealed");
/// Said where this build can't.
pub const NO_CIPHER: &str = "this build of gently has no encryption. Use gently from its package, or build it with: \
                             cargo build --release --features sealed";

/// Where a person looks at what is wrong with a database or its key.
const LOOK: &str = "look with: gently store status";

/// The 32 bytes that open a database. Wiped when dropped, and never printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct CipherKey([u8; 32]);

impl CipherKey {
    /// Of its bytes.
    pub fn new(bytes: &[u8; 32]) -> CipherKey {
        CipherKey(*bytes)
    }

    /// The key as SQLCipher takes one that is not to be derived: `x'…'`.
    pub(super) fn literal(&self) -> Zeroizing<String> {
        let digits = Zeroizing::new(hex::encode(self.0));
        // Of its full length at once: growing would leave copies behind.
        let mut literal = Zeroizing::new(String::with_capacity(digits.len() + 3));
        literal.push_str("x'");
        literal.push_str(&digits);
        literal.push('\'');
        literal
    }
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CipherKey(…)")
    }
}

/// A key, and where it is from.
#[derive(Clone, Debug)]
pub struct FoundKey {
    /// What opens the database.
    pub key: CipherKey,
    /// Where it is from, in words: `$GENTLY_STORE_KEY`.
    pub from: String,
}

/// What the file of a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseForm {
    /// As SQLite writes it: whoever has the file reads it.
    Plain,
    /// As SQLCipher writes it: nothing of it can be told from noise.
    Encrypted,
}

impl DatabaseForm {
    /// Told by how the file begins. A file that is not there, or too short, is a plain one, and what is no
    /// file: SQLite says what is wrong with it.
    ///
    /// A file that this process has open as a database is not read again: closing it here would end
    /// SQLite's locks on it.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] for one that can't be read: nobody knows what it is.
    pub fn of(path: &Path) -> Result<DatabaseForm, StoreError> {
        let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&whole(path)) {
            Some(known) if known.place.is_some() && known.place == place_of(path) => {
                Ok(known.form())
            }
            _ => DatabaseForm::read(path),
        }
    }

    fn read(path: &Path) -> Result<DatabaseForm, StoreError> {
        let told = match path.metadata() {
            Ok(found) if found.is_file() => File::open(path).and_then(DatabaseForm::told),
            Ok(_) => Ok(DatabaseForm::Plain),
            Err(fault) => Err(fault),
        };
        match told {
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(DatabaseForm::Plain),
            told => told.map_err(|fault| StoreError::Unreadable {
                path: path.to_owned(),
                reason: why_unread(&fault),
            }),
        }
    }

    /// By what a file begins with.
    fn told(file: impl Read) -> std::io::Result<DatabaseForm> {
        let mut start = Vec::with_capacity(SMALLEST);
        let most = u64::try_from(SMALLEST).unwrap_or(u64::MAX);
        file.take(most).read_to_end(&mut start)?;
        let is_plain = start.len() < SMALLEST
            || start.starts_with(MAGIC)
            || start.get(21..24) == Some(FRACTIONS.as_slice());
        Ok(match is_plain {
            true => DatabaseForm::Plain,
            false => DatabaseForm::Encrypted,
        })
    }
}

/// For what a key is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// The database is a plain one; whether it may be so is to be said.
    Plain,
    /// The database is encrypted.
    Encrypted,
    /// The database is being made, and its file is empty.
    New,
}

impl KeyNeed {
    fn of(path: &Path) -> Result<KeyNeed, StoreError> {
        Ok(match (DatabaseForm::read(path)?, path.metadata()) {
            (DatabaseForm::Plain, Ok(found)) if found.len() == 0 => KeyNeed::New,
            (DatabaseForm::Plain, _) => KeyNeed::Plain,
            (DatabaseForm::Encrypted, _) => KeyNeed::Encrypted,
        })
    }
}

/// Why an encrypted database can't be opened, or a plain one may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealFault {
    /// There is no key at any of the places that keys are from.
    NoKey {
        /// What is called like a key file that was put away, and may be it.
        beside: Option<PathBuf>,
    },
    /// There should be one, and it could not be had.
    Unreachable {
        /// What went wrong; never the key.
        reason: String,
    },
    /// The passphrase of its key file was another one.
    Passphrase {
        /// Of which file, and where it is from.
        reason: String,
    },
    /// The key is another one.
    WrongKey {
        /// Where it is from.
        from: String,
    },
    /// A log of writes that is not encrypted lies beside it.
    PlainLog {
        /// The file of that log.
        log: PathBuf,
    },
    /// The key opens the file, and not the log of writes beside it.
    OtherLog {
        /// The file of that log.
        log: PathBuf,
    },
    /// What lies in the place of its journal is not of it.
    Journal(ForeignJournal),
    /// This build has no encryption.
    NoCipher,
    /// A backup holds it, and not its key.
    InBackup {
        /// The backup, as a word of a command.
        file: String,
    },
    /// A backup holds it, and its key should have been given, and could not be had.
    NoKeyForBackup {
        /// What went wrong; never the key.
        reason: String,
    },
    /// A backup holds it, and the key that was given is another one.
    NotOfBackup {
        /// Where it is from.
        from: String,
    },
    /// Whether a new one is to be encrypted can't be told.
    Unclear {
        /// What is wrong with the settings.
        reason: String,
    },
    /// A new one is to be encrypted, and can't be.
    New {
        /// What is missing; never the key.
        reason: String,
    },
    /// The file is plain, and the settings say that it is encrypted.
    NotEncrypted,
    /// The same, while what a conversion writes lies beside it.
    Converting {
        /// The file that the conversion writes.
        new: PathBuf,
    },
}

impl fmt::Display for SealFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())?;
        match self {
            SealFault::Unreachable { .. } => write!(f, "; {LOOK}"),
            _ => Ok(()),
        }
    }
}

impl SealFault {
    /// What it is, for who looks with that command already.
    pub fn words(&self) -> String {
        let fixed = match self {
            SealFault::Unreachable { reason } => {
                return format!("it is encrypted, and its key could not be had: {reason}");
            }
            SealFault::Passphrase { reason } => {
                return format!(
                    "it is encrypted, and its key could not be had: {reason}. Give the same command again with the right \
                     one; where it is lost, only a copy of the key opens the texts, in $GENTLY_STORE_KEY"
                );
            }
            SealFault::WrongKey { from } => {
                let right = match from.as_str() {
                    "$GENTLY_STORE_KEY" | "$GENTLY_STORE_KEY_CMD" => {
                        "have the right one there, or take it out of the environment, so that it is sought elsewhere"
                    }
                    "keys/store.key" => {
                        "put the right file there, or let a command give the key, which is asked first: gently config set \
                         store.key_cmd 'COMMAND'"
                    }
                    _ => {
                        "set one that gives the right key, or take it out, so that keys/store.key is read where it is there: \
                         gently config unset store.key_cmd"
                    }
                };
                return format!(
                    "it is encrypted, and the key from {from} is not the one that opens it (or its first page is \
                     damaged): {right}"
                );
            }
            SealFault::PlainLog { log } => {
                let log = shell_word(log);
                return format!(
                    "it is encrypted, and the log of writes beside it is not: that is of another database, and nothing is \
                     read while it lies there. Put it away with: mv -n {log} {log}.torn"
                );
            }
            SealFault::OtherLog { log } => {
                let log = shell_word(log);
                return format!(
                    "it is encrypted, and its key opens it, but not the log of writes beside it: that is of another \
                     database, or damaged, and nothing is read while it lies there. Put it away with: mv -n {log} \
                     {log}.torn"
                );
            }
            SealFault::Converting { new } => {
                return format!(
                    "it is not encrypted, although store.encrypted is true, and {} lies beside it: a gently store encrypt \
                     is at work, or was interrupted. Wait until it has ended; where none is at work, give it again: \
                     gently store encrypt",
                    new.display()
                );
            }
            SealFault::Journal(journal) => return journal.sentence(),
            SealFault::NoCipher => {
                return format!("it is encrypted (or its first page is damaged), and {NO_CIPHER}");
            }
            SealFault::InBackup { file } => {
                return format!(
                    "it is encrypted, and a backup does not hold its key. Nothing was unpacked. With a copy of \
                     keys/store.key: gently restore {file} --store-key COPY. Else give the key as $GENTLY_STORE_KEY, or a \
                     command that prints it as $GENTLY_STORE_KEY_CMD, then give the same command again"
                );
            }
            SealFault::NoKeyForBackup { reason } => {
                return format!(
                    "it is encrypted, and its key could not be had: {reason}. Nothing was unpacked, and no home was made. \
                     Put that right, then give the same command again"
                );
            }
            SealFault::NotOfBackup { from } => {
                return format!(
                    "it is encrypted, and the key from {from} is not the one that opens it (or its first page is \
                     damaged). Nothing is left of what was unpacked, and no home was made. Give the key that the \
                     database had when the backup was made, then give the same command again"
                );
            }
            SealFault::Unclear { reason } => {
                return format!(
                    "whether a new database is to be encrypted can't be told: {reason}. Nothing was made"
                );
            }
            SealFault::New { reason } => {
                return format!("a new database is to be encrypted: {reason}. Nothing was made");
            }
            SealFault::NoKey { beside } => {
                let nearby = beside.as_deref().map(|found| {
                    let (found, key) = (
                        shell_word(found),
                        shell_word(&found.with_file_name("store.key")),
                    );
                    format!("this file may be it, and is put there with:\n  mv -n {found} {key}\n")
                });
                return format!(
                    "it is encrypted, and there is no key for it\n{}the key is sought in $GENTLY_STORE_KEY, then with the \
                     command of [store] key_cmd, then in keys/store.key: bring back what is missing; without it nobody \
                     reads the texts (where nobody ever encrypted them, the first page of the file is damaged)\n\
                     the evidence can be checked without it, in the folder of the home:\n  gently audit verify --repo \
                     ledger.git --log audit.log --signer keys/signing.key.pub",
                    nearby.unwrap_or_default()
                );
            }
            SealFault::NotEncrypted => {
                "it is not encrypted, although store.encrypted is true: somebody may have put another file in its place. \
                 Where you know the file to be yours, encrypt it: gently store encrypt. Where it is to stay plain, take \
                 store.encrypted out of gently.toml by hand"
            }
        };
        fixed.to_owned()
    }

    /// The same of a database at a place.
    pub fn at(self, path: &Path) -> StoreError {
        StoreError::Sealed {
            path: path.to_owned(),
            why: self,
        }
    }
}

/// Finds the key of a database, or says why there is none; none where the file is plain and may be
/// so. It opens no database.
pub type KeyFinder = fn(&Path, KeyNeed) -> Result<Option<FoundKey>, SealFault>;

/// Who knows where keys are; set once, by the program. Without one no key is found.
static FINDER: OnceLock<KeyFinder> = OnceLock::new();

/// What is known of each database that was opened.
static KNOWN: Mutex<BTreeMap<PathBuf, KnownDatabase>> = Mutex::new(BTreeMap::new());

struct KnownDatabase {
    /// Which file it is of; the next one that is opened there where it was told beforehand.
    place: Option<(u64, u64)>,
    /// What opens it; none where it is plain.
    found: Option<FoundKey>,
    /// Whether it was opened, and not only told of.
    is_opened: bool,
}

impl KnownDatabase {
    fn form(&self) -> DatabaseForm {
        match self.found {
            Some(_) => DatabaseForm::Encrypted,
            None => DatabaseForm::Plain,
        }
    }
}

/// Opens a file, through a link, too; a pipe, which would be waited for, is none.
fn open_file(path: &Path) -> std::io::Result<File> {
    match path.metadata()?.is_file() {
        true => File::open(path),
        false => Err(std::io::ErrorKind::InvalidInput.into()),
    }
}

/// The log of writes beside a database.
pub fn log_beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Whether pages that are not encrypted stand in the log of writes beside a database. Of a log that is
/// another database's the first pages are as good as all.
pub fn has_plain_log(database: &Path) -> bool {
    /// What stands before all frames, and before the page of each.
    const HEADS: (usize, usize) = (32, 24);
    /// So many pages are looked at: whoever opens the database waits.
    const LOOKED_AT: usize = 16;
    let Ok(mut file) = open_file(&log_beside(database)) else {
        return false;
    };
    let mut head = [0; HEADS.0];
    if file.read_exact(&mut head).is_err() {
        return false;
    }
    let page = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let page = usize::try_from(page).unwrap_or_default();
    if !(SMALLEST..=MOST_PAGE).contains(&page) {
        return false;
    }
    let mut file = std::io::BufReader::new(file);
    let mut frame = vec![0; HEADS.1 + page];
    for _ in 0..LOOKED_AT {
        if file.read_exact(&mut frame).is_err() {
            return false;
        }
        if !is_noise(&frame[HEADS.1..]) {
            return true;
        }
    }
    false
}

/// Whether a page could be an encrypted one. Of its bytes half are above 127, give or take what chance
/// does: at the bounds here, seven of its deviations for the smallest page and twenty for ours. Of texts,
/// numbers and empty room next to none are.
fn is_noise(page: &[u8]) -> bool {
    let high = page.iter().filter(|byte| **byte > 127).count();
    (page.len() * 11 / 32..=page.len() * 21 / 32).contains(&high)
}

/// Says who knows where keys are.
pub fn set_key_finder(finder: KeyFinder) {
    let _ = FINDER.set(finder);
}

/// Tells the key of a database before it is opened, or that it is plain: nobody else is asked for it
/// then.
pub fn remember_key(path: &Path, found: Option<FoundKey>) {
    let place = place_of(path);
    let known = KnownDatabase {
        place,
        found,
        is_opened: false,
    };
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert(whole(path), known);
}

/// Forgets what is known of a database: it is looked at again when it is opened.
pub fn forget_key(path: &Path) {
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.remove(&whole(path));
}

/// The key that opens a database; none where it is plain, and may be so.
pub(super) fn key_of(path: &Path) -> Result<Option<FoundKey>, StoreError> {
    let place = place_of(path);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get_mut(&whole(path))
        && (known.place.is_none() || known.place == place)
    {
        known.place = place;
        known.is_opened = true;
        return Ok(known.found.clone());
    }
    let need = KeyNeed::of(path)?;
    let found = match (need, FINDER.get()) {
        (KeyNeed::Encrypted, _) if !CAN_ENCRYPT => Err(SealFault::NoCipher),
        (KeyNeed::Encrypted, None) => Err(SealFault::NoKey { beside: None }),
        (_, None) => Ok(None),
        (_, Some(finder)) => finder(path, need),
    };
    let found = match found {
        // Nobody seeks a key of any other in such a build.
        Ok(Some(_)) if !CAN_ENCRYPT => Err(SealFault::New {
            reason: NO_CIPHER.to_owned(),
        }),
        found => found,
    };
    let found = found.map_err(|why| why.at(path))?;
    let known = KnownDatabase {
        place,
        found: found.clone(),
        is_opened: true,
    };
    all.insert(whole(path), known);
    Ok(found)
}

/// Whether this process has had the file that stands at a path open as a database.
pub(super) fn is_open_here(path: &Path) -> bool {
    let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(&whole(path)).is_some_and(|known| {
        known.is_opened && known.place.is_some() && known.place == place_of(path)
    })
}

/// Which file stands at a path now.
pub(super) fn place_of(path: &Path) -> Option<(u64, u64)> {
    let place = |found: Metadata| (found.dev(), found.ino());
    path.metadata().ok().map(place)
}

fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown_and_handed_over_raw() {
        let key = CipherKey::new(&[0xab; 32]);
        assert_eq!(format!("{key:?}"), "CipherKey(…)");
        assert_eq!(*key.literal(), format!("x'{}'", "ab".repeat(32)));
    }

    #[test]
    fn a_page_of_texts_is_no_noise() {
        let mut state = 7_u32;
        let noise: Vec<u8> = (0..65_536)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u8::try_from(state >> 24).unwrap()
            })
            .collect();
        for size in [512, 4096, 65_536] {
            assert!(noise.chunks(size).all(is_noise), "{size}");
            for other in [vec![0; size], vec![b'a'; size], vec![255; size]] {
                assert!(!is_noise(&other), "{size}");
            }
        }
    }

    #[test]
    fn the_first_bytes_say_whether_a_file_is_encrypted() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        let form = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            DatabaseForm::of(&path).unwrap()
        };
        assert_eq!(DatabaseForm::of(&path).unwrap(), DatabaseForm::Plain);
        let mut plain = vec![7; 4096];
        assert_eq!(form(&plain), DatabaseForm::Encrypted);
        assert_eq!(form(&plain[..511]), DatabaseForm::Plain);
        plain[..16].copy_from_slice(MAGIC);
        assert_eq!(form(&plain), DatabaseForm::Plain);
        // Only its first bytes were overwritten.
        plain[..16].fill(7);
        plain[21..24].copy_from_slice(&FRACTIONS);
        assert_eq!(form(&plain), DatabaseForm::Plain);
    }

    /// A disk that gives the beginning of a file and then fails.
    struct Failing(usize);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let given = self.0.min(buffer.len());
            self.0 -= given;
            match given {
                0 => Err(std::io::Error::other("Input/output error")),
                given => Ok(given),
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_called_plain() {
        for given in [0, 100] {
            DatabaseForm::told(Failing(given)).unwrap_err();
        }
        assert_eq!(
            DatabaseForm::told(Failing(SMALLEST)).unwrap(),
            DatabaseForm::Encrypted
        );
        // Nobody reads a link that leads to itself, whoever asks.
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let fault = DatabaseForm::of(&path).unwrap_err();
        assert!(matches!(fault, StoreError::Unreadable { .. }), "{fault}");
        assert!(KeyNeed::of(&path).is_err());
    }
}
