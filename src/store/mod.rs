//! The relationship database: rows, queries, and the commit point.
//!
//! Tables are those of AEGIS 5.2 with what commitments and recovery need beside them;
//! `docs/schema.md` lists them column by column. [`ReadStore`] is all that a verifier gets;
//! [`WriteStore`] exists only inside [`Store::transact`], which is *the* commit point of a turn.
//!
//! | file | what is in it |
//! |---|---|
//! | `driver`, `sqlite/` | what is asked of a database; SQLite |
//! | `open`, `cipher` | which database the file of a home is; whether it is encrypted, and the key that opens it |
//! | `table`, `rows` | how rows stand in columns; each row, declared once |
//! | `exchange_rows`, `trace_rows` | all rows of one exchange, and the plain exchange that they give; what its trace is made from |
//! | `access` | the handles, transactions, and the few ways to run a query |
//! | `derived`, `schema` | what follows from the rest and is not as it should be, and making it again |
//! | the others | the queries and statements, by what they are about |

mod access;
mod artifacts;
mod check_totals;
mod cipher;
mod conversation_pages;
mod conversations;
mod councils;
mod derived;
mod driver;
mod erase;
mod exchange_rows;
mod exchanges;
mod handoffs;
mod head_check;
mod imported;
mod ledger;
mod open;
mod orphans;
mod questions;
mod ratings;
mod recall;
mod reports;
mod rows;
mod schema;
mod search;
mod settings;
mod sqlite;
mod stats;
mod table;
mod threads;
mod trace_rows;
mod unsigned;
mod upkeep;

pub use access::{PrefixLookup, ReadStore, Store, WriteStore};
pub use artifacts::ArtifactFilter;
pub use cipher::{
    CAN_ENCRYPT, CipherKey, DatabaseForm, FoundKey, KeyFinder, KeyNeed, NO_CIPHER, SealFault,
    forget_key, has_plain_log, log_beside, remember_key, set_key_finder,
};
pub use conversations::{ConversationFilter, GivenTitle, MessagePage};
pub use derived::DerivedFaults;
pub use driver::{ReaderWait, SearchTerm, TextQuery, TextSpan};
pub use exchange_rows::{ContextRows, ExchangeRows};
pub use handoffs::SaidCount;
pub use head_check::ColumnFault;
pub use imported::{ImportedFilter, ImportedMatch, ImportedSearch, KnownImport};
pub use open::{
    ConvertStep, ConvertWatch, ForeignJournal, convert, foreign_journal, left_unfinished,
    look_at_database, remove_unfinished, unfinished_file,
};
pub use orphans::OrphanRow;
pub use recall::OpenDrift;
pub use reports::{CheckCount, CheckGroup, CountedRun};
pub use rows::{
    AppliedMark, ArtifactRefRow, ArtifactRow, AskedRow, AssertionRow, AuditLine, AuthKeyRow,
    BlockRow, CalendarState, CommitRow, ConfigRow, ContextRefRow, DriftRow, DriftState,
    ErasureCommitmentRow, EventRow, ExchangeRow, HomeFile, IntentRow, KernelRow, LedgerHead,
    MeasureRow, MessageRow, MissingCommitments, OutcomeUpdate, PlaceholderRow, PlaceholderRows,
    ReferredText, RowCounts, SessionProgress, SessionRow, SettingStateRow, SettingTag, ThreadRow,
    ThreadTurnRow, TurnInThread, TurnRow, WitnessState,
};
pub use schema::{SEARCH_INDEX, SchemaDifference, SchemaState};
pub use search::{ItemMatch, SearchEffort, TakeMatch, ThreadFilter, TurnFilter, TurnMatch};
pub use stats::CountedExchange;
pub use unsigned::UnsignedLines;

use std::path::PathBuf;

pub use crate::record::ledger::conversation::{ConversationRow, ProjectRow};

impl StoreError {
    /// What it says, for who is told beside it by which command to look.
    pub fn without_command(&self) -> String {
        match self {
            StoreError::Sealed { path, why } => {
                format!("{}{}", sealed_place(path, why), why.words())
            }
            other => other.to_string(),
        }
    }
}

/// What stands before a fault; a database that was never there has no place.
fn sealed_place(path: &std::path::Path, why: &SealFault) -> String {
    match why {
        SealFault::New { .. } | SealFault::Unclear { .. } => String::new(),
        SealFault::InBackup { .. }
        | SealFault::NoKeyForBackup { .. }
        | SealFault::NotOfBackup { .. } => {
            format!("the database in the backup {}: ", path.display())
        }
        _ => format!("the database at {}: ", path.display()),
    }
}

/// Why the database could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another program holds it locked for longer than we wait.
    #[error(
        "the database stayed locked for {waited_s} s by another program; close what holds it open and ask again"
    )]
    Busy {
        /// How long it waited for the lock, in seconds.
        waited_s: u64,
    },
    /// Bytes of the file are not what was written.
    #[error(
        "the database is damaged: its file holds what nobody wrote, so it can't {what}. Nothing is changed or guessed. \
         Keep gently.db as it is; bring the home back from a backup (gently restore FILE, with GENTLY_HOME set to a new \
         place), and take over what was recorded since: gently audit adopt --from this home's ledger.git. Without a \
         backup the texts are lost; what is public still proves itself: gently audit verify --repo LEDGER.GIT --log \
         AUDIT.LOG (SQLite: {reason})"
    )]
    Damaged {
        /// What was being done.
        what: &'static str,
        /// What SQLite said.
        reason: String,
    },
    /// Tables, views or search indexes are not there, or are not as they are made.
    #[error(
        "the database is not as gently makes it, so it can't {what}: somebody changed its tables or search indexes by \
         hand, or the file was cut. What is on record may all be there. `gently audit rebuild` makes again what follows \
         from it, and names what it can't make; `gently doctor` names all of it first (SQLite: {reason})"
    )]
    Altered {
        /// What was being done.
        what: &'static str,
        /// What SQLite said.
        reason: String,
    },
    /// No room for what was to be written.
    #[error(
        "the disk that {file} is on is full, or a limit on the size of files is reached, so gently can't {what}. What \
         was recorded before is whole. Make room there (`gently doctor` says how much is free), then give the same \
         command again (SQLite: {reason})"
    )]
    Full {
        /// The file that has no room.
        file: String,
        /// What was being done.
        what: &'static str,
        /// What SQLite said.
        reason: String,
    },
    /// The system could not read or write.
    #[error(
        "{file} could not be read or written, so gently can't {what}. Is the disk full or failing, or a limit on the \
         size of files set? `gently doctor` says how much is free, and `gently audit verify` whether what was \
         recorded before is whole. Make room, then give the same command again (SQLite: {reason})"
    )]
    Io {
        /// The file that was being read or written.
        file: String,
        /// What was being done.
        what: &'static str,
        /// What SQLite said.
        reason: String,
    },
    /// There is no database at that place.
    #[error("no database at {path}: run `gently init`")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// What is at that place is no file.
    #[error(
        "{path} is {kind}, and should be the file of gently's database. Put it away (mv), and bring the database or \
         a backup back: `gently doctor` says what is there"
    )]
    NoFile {
        /// Where it was looked for.
        path: PathBuf,
        /// What is there: `a pipe`.
        kind: &'static str,
    },
    /// What is at that place can't be read.
    #[error(
        "the database at {path} could not be looked at, so nobody knows whether it is encrypted: {reason}. Nothing is \
         changed. Put that right, then give the same command again"
    )]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Its file holds nothing at all.
    #[error(
        "the database at {path} is empty (0 bytes): somebody cut it, or a disk lost it. Nothing is changed. Put the file \
         away, and bring the home back from a backup: gently restore FILE, with GENTLY_HOME set to a new place"
    )]
    Empty {
        /// Where it is.
        path: PathBuf,
    },
    /// It was converted, and whether that is on the disk nobody knows.
    #[error(
        "{path} is converted, and the new file is in its place, but the disk did not confirm it: {reason}. After a power \
         cut the old file may be there again, which is whole. Look at the disk, give the command sync, then look what \
         the file is: gently store status"
    )]
    NotSynced {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Another program encrypts it or makes it plain.
    #[error(
        "the database stayed locked for {waited_s} s: gently store encrypt or decrypt writes it anew, which takes some \
         seconds for each 100 MB. Wait until that has ended, then give the same command again"
    )]
    Converting {
        /// How long it waited for the lock, in seconds.
        waited_s: u64,
    },
    /// It is encrypted and can't be opened, or it is plain and may not be.
    #[error("{}{why}", sealed_place(path, why))]
    Sealed {
        /// Where it is.
        path: PathBuf,
        /// Which of the reasons it is.
        why: SealFault,
    },
    /// A query failed, or a value for it could not be made.
    #[error("database: {what}: {reason}")]
    Query {
        /// What was being done.
        what: &'static str,
        /// What the database said, or why there is no value.
        reason: String,
    },
    /// Whoever filled a transaction undid it; why, the caller keeps.
    #[error("database: the transaction was rolled back")]
    RolledBack,
    /// Whoever went through rows stopped; why, the caller keeps.
    #[error("database: reading rows was stopped")]
    Stopped,
    /// A migration could not be applied.
    #[error("database migrations: {reason}")]
    Migration {
        /// The runner's words.
        reason: String,
    },
    /// Another build of gently made the database: an earlier one, from before the first release, or
    /// a later one.
    #[error(
        "the database at {path} was made by another build of gently (its schema is {found}), and this one reads only its \
         own. Nothing is changed. Go on with the build that made it, or begin a new home: GENTLY_HOME=DIR gently init. \
         What the other recorded still proves itself: gently audit verify --repo LEDGER.GIT --log AUDIT.LOG"
    )]
    OtherBuild {
        /// Where it is.
        path: PathBuf,
        /// The newest migration of it that is none of ours.
        found: String,
    },
    /// A row does not hold what its column promises.
    #[error("database: {place} holds '{actual}', not {expected}")]
    Corrupt {
        /// Table and column.
        place: String,
        /// What belongs there.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// The head is not where this writer left it.
    #[error("the head moved: expected line {expected}, found {actual}; nothing was written")]
    HeadMoved {
        /// Number of lines this writer built upon.
        expected: u64,
        /// Number of lines found.
        actual: String,
    },
}

/// How SQLite goes about a query on a new home's database.
#[cfg(test)]
fn plan(sql: &str) -> String {
    let home = tempfile::tempdir().expect("a folder for the test");
    let path = home.path().join("gently.db");
    drop(Store::create(&path).expect("a new database"));
    let connection = rusqlite::Connection::open(path).expect("the new database");
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = connection.prepare(&sql).expect("a query of the store");
    let any = vec!["0"; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(any), |row| row.get("detail"));
    let steps: Vec<String> = steps
        .expect("a plan")
        .map(|step| step.expect("a step"))
        .collect();
    steps.join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::table::Row;
    use super::*;
    use crate::record::ledger::item::Item;

    /// The columns of a row that its declaration does not name, with where their values are from.
    const BESIDE: &[(&str, &[&str])] = &[
        ("head", &["genesis"]),
        ("chat_turn", &["n"]),
        ("context_artifact_ref", &["line"]),
        ("assertion_event", &["line"]),
        ("thread_turn", &["line"]),
        ("context_ref", &["line"]),
        ("home_file", &["noted_at"]),
        ("placeholder", &["session_id"]),
        ("imported_conversation", &["source_tag"]),
    ];

    fn declared<R: Row>(connection: &rusqlite::Connection) {
        let sql = format!("SELECT name FROM pragma_table_info('{}')", R::TABLE);
        let mut statement = connection.prepare(&sql).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0));
        let names: BTreeSet<String> = names.unwrap().map(Result::unwrap).collect();
        let beside = BESIDE.iter().find(|(table, _)| *table == R::TABLE);
        let beside = beside.map_or(&[] as &[&str], |(_, names)| names);
        let all = R::names().into_iter().chain(beside.iter().copied());
        let all: Vec<String> = all.map(str::to_owned).collect();
        assert_eq!(R::names().len(), R::WIDTH, "{}", R::TABLE);
        assert_eq!(all.len(), names.len(), "{}: a column twice", R::TABLE);
        assert_eq!(
            all.into_iter().collect::<BTreeSet<_>>(),
            names,
            "{}",
            R::TABLE
        );
    }

    #[test]
    fn what_is_declared_of_rows_is_what_the_schema_has() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Store::create(&path).unwrap());
        let connection = rusqlite::Connection::open(path).unwrap();
        for declared in [
            declared::<LedgerHead>,
            declared::<rows::LineRow>,
            declared::<rows::FileRow>,
            declared::<BlockRow>,
            declared::<SessionRow>,
            declared::<TurnRow>,
            declared::<ExchangeRow>,
            declared::<ArtifactRefRow>,
            declared::<ErasureCommitmentRow>,
            declared::<ArtifactRow>,
            declared::<DriftRow>,
            declared::<AssertionRow>,
            declared::<check_totals::SummedPart>,
            declared::<check_totals::CheckTotal>,
            declared::<MeasureRow>,
            declared::<crate::record::ledger::specialist::Rating>,
            declared::<crate::record::ledger::council::CouncilAnswer>,
            declared::<crate::record::ledger::council::CouncilReview>,
            declared::<crate::record::ledger::handoff::Handoff>,
            declared::<crate::record::ledger::imported::ImportedConversation>,
            declared::<crate::record::ledger::imported::ImportedMessage>,
            declared::<AuthKeyRow>,
            declared::<KernelRow>,
            declared::<ConfigRow>,
            declared::<HomeFile>,
            declared::<PlaceholderRow>,
            declared::<CommitRow>,
            declared::<ThreadRow>,
            declared::<ThreadTurnRow>,
            declared::<EventRow>,
            declared::<ContextRefRow>,
            declared::<WitnessState>,
            declared::<CalendarState>,
            declared::<Item>,
            declared::<ConversationRow>,
            declared::<ProjectRow>,
            declared::<SettingStateRow>,
            declared::<SettingTag>,
        ] {
            declared(&connection);
        }
    }
}
