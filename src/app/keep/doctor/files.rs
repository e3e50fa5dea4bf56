//! Modes, and the database as a file.

use std::path::Path;

use crate::home::{LeftCopy, PRIVATE, left_copies};
use crate::os::{kind_of, shell_word};
use crate::recorder::Paths;
use crate::store::{DatabaseForm, SealFault, Store, StoreError, foreign_journal, has_plain_log};

use super::{DoctorCheck, away};
use crate::app::keep::store_encryption::{KeyPlace, UnfinishedCopy};
use crate::app::redacted::clean;
use crate::config::Config;

/// The widest mode that a private folder may have.
const FOLDER: u32 = 0o700;
/// The keys, and the widest mode they may have; the rest of what is private is the home's to name.
const KEYS: [(&str, u32); 5] = [
    ("keys", FOLDER),
    ("keys/auth.key", 0o600),
    ("keys/signing.key", 0o600),
    ("keys/import.key", 0o600),
    ("keys/store.key", 0o600),
];

/// Whether others can read or change what is private.
pub fn modes(root: &Path) -> DoctorCheck {
    let mut wrong = Vec::new();
    let mut mend = Vec::new();
    for (name, widest) in KEYS.into_iter().chain(PRIVATE) {
        let path = if name.is_empty() {
            root.to_owned()
        } else {
            root.join(name)
        };
        // What is missing is another check's affair; the auth key may be in the environment.
        let Ok(found) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        // What a link leads to is what is read; its own mode says nothing.
        let is_link = found.is_symlink();
        let Ok(found) = path.metadata() else {
            wrong.push(format!("{} is a symlink to nothing", path.display()));
            mend.push(away(&path));
            continue;
        };
        let kind = kind_of(found.file_type());
        if found.is_dir() != (widest == FOLDER) {
            wrong.push(format!("{} is {kind}", path.display()));
            mend.push(away(&path));
            continue;
        }
        let mode = permissions(&found);
        if mode & !widest != 0 {
            let led = if is_link { "is a symlink to what " } else { "" };
            wrong.push(format!("{} {led}has mode {mode:04o}", path.display()));
            mend.push(format!("chmod {widest:o} {}", shell_word(&path)));
        }
    }
    if wrong.is_empty() {
        return DoctorCheck::ok(
            "modes",
            "only the owner can read the home, keys, database and configuration",
        );
    }
    DoctorCheck::fail("modes", wrong.join(", "), mend.join(" && "))
}

#[cfg(unix)]
fn permissions(found: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(found) & 0o777
}

#[cfg(not(unix))]
fn permissions(_: &std::fs::Metadata) -> u32 {
    0
}

/// What stands where a writer's own file or folder belongs and is something else, with the command that
/// puts it away: each is made again when something is recorded.
pub fn in_the_way(paths: &Paths) -> Option<(String, String)> {
    let own = [
        (paths.lock(), false),
        (paths.checkpoint(), false),
        (paths.in_flight(), true),
    ];
    own.into_iter().find_map(|(path, is_folder)| {
        let found = std::fs::symlink_metadata(&path).ok()?.file_type();
        let is_right = match is_folder {
            true => found.is_dir(),
            false => found.is_file(),
        };
        let expected = if is_folder { "a folder" } else { "a file" };
        let words = || {
            format!(
                "{} is {}, and should be {expected}",
                path.display(),
                kind_of(found)
            )
        };
        (!is_right).then(|| (words(), away(&path)))
    })
}

/// Whether the database is encrypted as it should be, and where its key comes from; that the key
/// opens it is the next check's to say.
pub fn encryption(paths: &Paths, config: &Config) -> DoctorCheck {
    const NAME: &str = "encryption";
    let database = paths.database();
    let place = KeyPlace::of(&database, config);
    let form = match DatabaseForm::of(&database) {
        Ok(form) => form,
        Err(fault) => return DoctorCheck::fail(NAME, fault.to_string(), look_at(&database)),
    };
    if let Some(rest) = UnfinishedCopy::of(&database) {
        let is_refused = form == DatabaseForm::Plain && config.store.encrypted;
        return unfinished(NAME, &rest, is_refused);
    }
    if let Some(journal) = foreign_journal(&database) {
        return DoctorCheck::fail(
            NAME,
            format!("gently.db-journal is {}", journal.words()),
            away(&journal.path),
        );
    }
    match form {
        DatabaseForm::Plain if config.store.encrypted => DoctorCheck::fail(
            NAME,
            "the database is not encrypted, although store.encrypted is true",
            "gently store encrypt",
        ),
        DatabaseForm::Plain => DoctorCheck::ok(
            NAME,
            "the database is not encrypted: whoever has the disk can read it (gently store encrypt)",
        ),
        DatabaseForm::Encrypted if has_plain_log(&database) => DoctorCheck::fail(
            NAME,
            "gently.db-wal beside the encrypted database holds pages that are not encrypted: it is of another \
             database, and nothing can be read while it lies there",
            away(&database.with_file_name("gently.db-wal")),
        ),
        DatabaseForm::Encrypted if place == KeyPlace::Nowhere => DoctorCheck::fail(
            NAME,
            "the database is encrypted, and its key is nowhere to be had",
            "gently store status",
        ),
        DatabaseForm::Encrypted if !config.store.encrypted => DoctorCheck::warn(
            NAME,
            "the database is encrypted, but store.encrypted is false, so that a plain one in its place would not be \
             refused",
            "gently store encrypt",
        ),
        DatabaseForm::Encrypted => DoctorCheck::ok(
            NAME,
            format!(
                "the database is encrypted, and its key comes from {}",
                place.words()
            ),
        ),
    }
}

/// Copies of texts that killed processes left; no check where there are none.
pub fn copies(paths: &Paths, config: Option<&Config>) -> Option<DoctorCheck> {
    const NAME: &str = "copies";
    let copies = left_copies(&paths.root);
    let found: Vec<String> = copies.iter().map(LeftCopy::found).collect();
    let mut mends: Vec<String> = copies.iter().map(LeftCopy::removed_by).collect();
    // What is removed by hand stands first: it needs no home that can be written.
    mends.sort_by(|a, b| b.cmp(a));
    mends.dedup();
    let (found, mend) = (found.join("; "), mends.join(" && "));
    let is_open = copies.iter().any(|copy| copy.is_plain);
    let hides = config.is_some_and(|config| config.store.encrypted);
    (!copies.is_empty()).then(|| match is_open && hides {
        true => DoctorCheck::fail(NAME, found, mend),
        false => DoctorCheck::warn(NAME, found, mend),
    })
}

/// What a conversion left: with texts that anybody can read, or encrypted ones.
fn unfinished(name: &'static str, rest: &UnfinishedCopy, is_refused: bool) -> DoctorCheck {
    let file = rest.path.display();
    if let Some(kind) = rest.foreign {
        let found =
            format!("{file} is {kind}, which no conversion left, and stands where one writes");
        return DoctorCheck::warn(name, found, away(&rest.path));
    }
    match rest.is_plain {
        true => DoctorCheck::fail(
            name,
            format!(
                "{file} is not encrypted and has texts in it: a gently store decrypt did not come to its end, unless it \
                 runs now"
            ),
            "gently store encrypt",
        ),
        false if is_refused => DoctorCheck::fail(
            name,
            format!(
                "the database is not encrypted, although store.encrypted is true, and {file} is there: a gently store \
                 encrypt did not come to its end, unless it runs now"
            ),
            "gently store encrypt",
        ),
        false => DoctorCheck::warn(
            name,
            format!(
                "{file} is there: a gently store encrypt did not come to its end, and the database is as it was before; the \
                 next command that records something takes it away"
            ),
            "gently session open",
        ),
    }
}

/// What helps a database that is damaged.
const MEND: &str =
    "keep the file, and restore gently.db, audit.log and ledger.git together from one backup";

/// That the database can't be opened, or nothing be asked of it.
fn not_opened(paths: &Paths, error: &StoreError) -> DoctorCheck {
    let mend = match error {
        StoreError::Sealed {
            why: SealFault::Passphrase { .. },
            ..
        } => "gently doctor again, with the right passphrase".to_owned(),
        StoreError::Sealed {
            why: SealFault::NoKey { .. } | SealFault::WrongKey { .. },
            ..
        } => "gently doctor again, with the right key".to_owned(),
        StoreError::Sealed { .. } => "gently store status".to_owned(),
        StoreError::Unreadable { .. } => look_at(&paths.database()),
        _ => MEND.to_owned(),
    };
    DoctorCheck::fail("database", on_one_line(&error.without_command()), mend)
}

/// Words of several lines, of which those that stand in are commands, as one.
fn on_one_line(words: &str) -> String {
    let mut whole = String::new();
    for line in words.lines() {
        let before = match line.starts_with("  ") || whole.is_empty() {
            true => "",
            false => "; ",
        };
        // A command stands behind a colon, with one blank.
        let line = line.strip_prefix(' ').unwrap_or(line);
        whole.push_str(&format!("{before}{line}"));
    }
    whole
}

/// The command that shows whose a file is, and who may read it.
fn look_at(path: &Path) -> String {
    format!("ls -l {}", shell_word(path))
}

/// Opens the database for reading, and lets SQLite check it.
pub fn database(paths: &Paths, checks: &mut Vec<DoctorCheck>) -> Option<Store> {
    if !paths.database().exists() {
        let found = format!(
            "{} is missing; it held the only copy of texts and salts",
            paths.database().display()
        );
        let mend = "move this home away, gently restore FILE, then gently audit adopt with its ledger.git and audit.log";
        checks.push(DoctorCheck::fail("database", found, mend));
        return None;
    }
    let store = match Store::open_read_only(&paths.database()) {
        Ok(store) => store,
        Err(error) => {
            checks.push(not_opened(paths, &error));
            return None;
        }
    };
    let check = match DatabaseState::of(&store) {
        Ok(state) if state.words != "ok" => {
            DoctorCheck::fail("database", format!("SQLite says: {}", state.words), MEND)
        }
        Ok(state) if state.broken_references > 0 => DoctorCheck::fail(
            "database",
            format!(
                "{} rows refer to rows that do not exist",
                state.broken_references
            ),
            MEND,
        ),
        // Erased words that a full disk, or somebody who read, kept where they were.
        Ok(_) if store.is_to_scrub().unwrap_or(false) => DoctorCheck::warn(
            "database",
            "words of what was erased may still stand in gently.db-wal, which could not be emptied then",
            "make room, and end other programs that read it; then the next command that records something empties it, \
             for example gently session open",
        ),
        Ok(state) => DoctorCheck::ok("database", format!("sound, {} log lines", state.lines)),
        Err(error @ StoreError::Busy { .. }) => {
            DoctorCheck::warn("database", error.to_string(), "gently doctor")
        }
        Err(StoreError::Altered { reason, .. }) => DoctorCheck {
            raw: Some(clean(&reason)),
            ..DoctorCheck::fail(
                "database",
                "a table or a search index is missing or damaged: see schema",
                "gently audit rebuild",
            )
        },
        Err(error) => {
            checks.push(not_opened(paths, &error));
            return None;
        }
    };
    checks.push(check);
    Some(store)
}

/// What the database says of itself.
struct DatabaseState {
    /// SQLite's own words: `ok` when the file is sound.
    words: String,
    /// Rows that refer to rows that are not there.
    broken_references: u64,
    /// Lines of the log.
    lines: u64,
}

impl DatabaseState {
    fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(DatabaseState {
            words: store.integrity()?,
            broken_references: store.broken_references()?,
            lines: store.head()?.lines,
        })
    }
}
