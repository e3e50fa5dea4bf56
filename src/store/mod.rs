//! The relationship database: rows, queries, and the commit point.
//!
//! Tables are those of AEGIS 5.2 with what commitments and recovery need beside them;
//! `docs/schema.md` lists them column by column. [`ReadStore`] is all that a verifier gets; [`Write`]
//! exists only inside [`Store::transact`], which is *the* commit point of a turn.

mod drift_rows;
mod find;
mod recall;
mod rows;
pub mod sqlite;
mod threads;
mod witnesses;

pub use drift_rows::{AssertionRow, DriftRow, DriftState};
pub use find::Find;
pub use recall::{OpenDrift, Recall};
pub use rows::{
    AppliedMark, ArtifactRefRow, ArtifactRow, AuthKeyRow, CommitRow, ExchangeOutcome, ExchangeRow,
    HomeFile, LedgerHead, MissingCommitments, OutcomeUpdate, PlaceholderRow, PlaceholderRows,
    RowCounts, SessionProgress, SessionRow, TurnRow,
};

pub use threads::{
    AskedRow, ContextRefRow, EventRow, IntentRow, PutThreads, ReferredText, ThreadRow,
    ThreadTurnRow, Threads,
};
pub use witnesses::{CalendarState, WitnessState};

use std::collections::BTreeMap;
use std::path::PathBuf;

use uuid::Uuid;

use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::item::Item;
use crate::record::time::Seconds;

/// Why the database could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another program holds it locked for longer than we wait.
    #[error(
        "the database stayed locked for {waited_s} s by another program; close what holds it open and ask again"
    )]
    Busy {
        /// Seconds waited.
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
        /// SQLite's words.
        reason: String,
    },
    /// There is no database at that place.
    #[error("no database at {path}: run `gently init`")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// SQLite refused.
    #[error("database: {what}: {reason}")]
    Sqlite {
        /// What was being done.
        what: &'static str,
        /// SQLite's words.
        reason: String,
    },
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
        place: &'static str,
        /// What belongs there.
        expected: &'static str,
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

/// Queries; the reading half that a verifier may import.
///
/// Every method sees one consistent state only inside [`Store::transact`]; outside, two calls may
/// see two states. All are proportional to what they return, never to the history.
pub trait ReadStore: Threads {
    /// The head row.
    fn head(&self) -> Result<LedgerHead, StoreError>;
    /// `genesis.json` as the genesis commit carries it.
    fn genesis(&self) -> Result<String, StoreError>;
    /// Calls `each` for every session, oldest first.
    fn each_session(
        &self,
        each: &mut dyn FnMut(SessionRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// Sessions whose status is open, oldest first.
    fn open_sessions(&self) -> Result<Vec<SessionRow>, StoreError>;
    /// One session by its ledger id.
    fn session(&self, id: Hash32) -> Result<Option<SessionRow>, StoreError>;
    /// One session by the id of its row.
    fn session_of(&self, uuid: Uuid) -> Result<Option<SessionRow>, StoreError>;
    /// Calls `each` for every exchange, or for those of one session, in the order of sessions and
    /// `seq`.
    fn each_exchange(
        &self,
        session: Option<Uuid>,
        each: &mut dyn FnMut(ExchangeRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// One exchange.
    fn exchange(&self, id: Uuid) -> Result<Option<ExchangeRow>, StoreError>;
    /// The newest answer to a compiled prompt (SHA-256 of it); replays don't count.
    fn answered_prompt(&self, prompt_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError>;
    /// The newest answer to a user's text (SHA-256 of it as stored); replays don't count.
    fn answered_text(&self, content_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError>;
    /// Exchanges of a session that have no outcome.
    fn in_flight(&self, session: Uuid) -> Result<Vec<ExchangeRow>, StoreError>;
    /// One turn.
    fn turn(&self, id: Uuid) -> Result<Option<TurnRow>, StoreError>;
    /// What was injected into an exchange, in the order of injection.
    fn artifact_refs(&self, exchange: Uuid) -> Result<Vec<ArtifactRefRow>, StoreError>;
    /// Drift of an exchange, in the order of its lines.
    fn drift(&self, exchange: Uuid) -> Result<Vec<DriftRow>, StoreError>;
    /// Checks of an exchange, in the order in which they were made.
    fn assertions(&self, exchange: Uuid) -> Result<Vec<AssertionRow>, StoreError>;
    /// Every artifact, in the order of lines.
    fn artifacts(&self) -> Result<Vec<ArtifactRow>, StoreError>;
    /// Whether there is an artifact of a kind with an id.
    fn has_artifact(&self, kind: &str, id: &str) -> Result<bool, StoreError>;
    /// The artifacts of a kind, in the order of lines.
    fn artifacts_of(&self, kind: &str) -> Result<Vec<ArtifactRow>, StoreError>;
    /// The newest artifact of a kind.
    fn newest_artifact(&self, kind: &str) -> Result<Option<ArtifactRow>, StoreError>;
    /// One item of continuity by its id.
    fn item(&self, id: &str) -> Result<Option<Item>, StoreError>;
    /// Calls `each` for every item of continuity, in the order of lines.
    fn each_item(
        &self,
        each: &mut dyn FnMut(Item) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// The exchange that a turn is of.
    fn exchange_of_turn(&self, turn: Uuid) -> Result<Option<ExchangeRow>, StoreError>;
    /// A kernel's canonical JSON.
    fn kernel(&self, hash: Hash32) -> Result<Option<String>, StoreError>;
    /// All auth keys, revoked ones too.
    fn auth_keys(&self) -> Result<Vec<AuthKeyRow>, StoreError>;
    /// Log lines `from..to`, without newlines.
    fn lines(&self, from: u64, to: u64) -> Result<Vec<String>, StoreError>;
    /// Commits `from..to`, in the order of application.
    fn commits(&self, from: u64, to: u64) -> Result<Vec<CommitRow>, StoreError>;
    /// The newest commit of a ref among the first `below` commits.
    fn tip(&self, reference: &str, below: u64) -> Result<Option<CommitRow>, StoreError>;
    /// The commits of `main` that carry a tree head, oldest first: id, and H of the file
    /// `checkpoint`.
    fn heads(&self) -> Result<Vec<(String, Hash32)>, StoreError>;
    /// Number of the newest commit of a kind on a ref.
    fn last_of_kind(&self, reference: &str, kind: CommitKind) -> Result<Option<u64>, StoreError>;
    /// The refs that have any commit.
    fn refs(&self) -> Result<Vec<String>, StoreError>;
    /// The stored files of a commit (its `audit.log` is lines, and not among them).
    fn files(&self, commit: u64) -> Result<BTreeMap<String, Vec<u8>>, StoreError>;
    /// `record.json` as it is stored with the commit of a line.
    fn record_of_line(&self, line: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The newest known block of a height.
    fn block_at(&self, height: u32) -> Result<Option<Anchor>, StoreError>;
    /// What is kept of a block, by its hash: at one height, unless somebody has lied. No evidence:
    /// lines are.
    fn blocks_of(&self, hash: Hash32) -> Result<Vec<Anchor>, StoreError>;
    /// Up to 64 lines in which a hash stands, the oldest first. Reads all lines.
    fn lines_naming(&self, hash: Hash32) -> Result<Vec<String>, StoreError>;
    /// The lowest height that any line names; none when all blocks are local.
    fn lowest_block(&self) -> Result<Option<u32>, StoreError>;
    /// All known blocks of a height, the newest first.
    fn blocks_at(&self, height: u32) -> Result<Vec<Anchor>, StoreError>;
    /// The running count of auth failures without a line: reason, since, pending.
    fn auth_failures(&self) -> Result<Vec<(String, Seconds, u64)>, StoreError>;
    /// Exchanges that an artifact of this id was injected into.
    fn injected_into(&self, artifact_id: &str) -> Result<Vec<Uuid>, StoreError>;
    /// Up to `most` exchanges with an outcome, begun before a time, whose text is kept; oldest
    /// first.
    fn kept_before(&self, time: Seconds, most: u32) -> Result<Vec<Uuid>, StoreError>;
    /// The rows of an artifact's id, in the order of lines.
    fn artifacts_called(&self, id: &str) -> Result<Vec<ArtifactRow>, StoreError>;
    /// What was noted of the home's files, by name, and when; empty when they never were.
    fn home_files(&self) -> Result<(Vec<HomeFile>, Option<Seconds>), StoreError>;
    /// The numbers that an open session has given to secrets.
    fn placeholders(&self, session: Uuid) -> Result<PlaceholderRows, StoreError>;
    /// Line of the first tombstone that names an exchange or an artifact.
    fn tombstone_of(&self, id: &str) -> Result<Option<u64>, StoreError>;
    /// Actuation intents that quote an exchange and are not erased, in the order of lines.
    fn actions_of(&self, exchange: Uuid) -> Result<Vec<ArtifactRow>, StoreError>;
    /// How many artifacts of a kind are on record by their commitment only, as their text was never
    /// kept.
    fn not_kept(&self, kind: &str) -> Result<u64, StoreError>;
    /// Differences between the search indexes and what they are of, in words, at most `most`.
    fn search_faults(&self, most: u32) -> Result<Vec<String>, StoreError>;
    /// How many rows there are; by index, and not by walking over them.
    fn row_counts(&self) -> Result<RowCounts, StoreError>;
}

/// Insertions, inside one transaction only.
///
/// Nothing written here is visible or durable before [`Store::transact`] returns. An error leaves
/// the rest of the transaction usable only behind [`Write::rollback_to_mark`].
pub trait Write: ReadStore + PutThreads {
    /// A number that is another one as soon as anything was written; fails when the transaction is
    /// over.
    fn written(&self) -> Result<u64, StoreError>;
    /// Sets a mark that [`Write::rollback_to_mark`] returns to; one at a time, until
    /// [`Write::take_mark`].
    fn mark(&mut self) -> Result<(), StoreError>;
    /// Undoes everything since the mark, which stays.
    fn rollback_to_mark(&mut self) -> Result<(), StoreError>;
    /// Takes the mark away: every mark that stays makes each later write dearer.
    fn take_mark(&mut self) -> Result<(), StoreError>;
    /// Writes the first head; fails when there is one.
    fn create_head(&mut self, head: &LedgerHead, genesis: &str) -> Result<(), StoreError>;
    /// Moves the head by compare-and-swap from the state that `from` describes.
    fn move_head(&mut self, from: &LedgerHead, to: &LedgerHead) -> Result<(), StoreError>;
    /// Appends a line.
    fn put_line(&mut self, n: u64, hash: Hash32, line: &str) -> Result<(), StoreError>;
    /// Appends a commit with its files.
    fn put_commit(
        &mut self,
        commit: &CommitRow,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), StoreError>;
    /// Remembers a kernel; the same one twice is fine.
    fn put_kernel(&mut self, hash: Hash32, document: &str) -> Result<(), StoreError>;
    /// Adds an auth key's hash.
    fn put_auth_key(&mut self, key: &AuthKeyRow) -> Result<(), StoreError>;
    /// Marks an auth key as revoked; true when it was not before.
    fn revoke_auth_key(&mut self, hash: Hash32, at: Seconds) -> Result<bool, StoreError>;
    /// Remembers a block that a line names, in place of whatever is kept under its hash; the same
    /// one twice is fine.
    fn put_block(&mut self, anchor: &Anchor) -> Result<(), StoreError>;
    /// Adds a session.
    fn put_session(&mut self, session: &SessionRow) -> Result<(), StoreError>;
    /// Moves a session's running state.
    fn move_session(&mut self, session: Uuid, progress: &SessionProgress)
    -> Result<(), StoreError>;
    /// Adds a turn.
    fn put_turn(&mut self, turn: &TurnRow) -> Result<(), StoreError>;
    /// Adds an exchange, with or without its outcome.
    fn put_exchange(&mut self, exchange: &ExchangeRow) -> Result<(), StoreError>;
    /// Gives an exchange its one outcome; fails when it has one.
    fn put_outcome(&mut self, exchange: Uuid, outcome: &OutcomeUpdate) -> Result<(), StoreError>;
    /// Adds what was injected, in its order.
    fn put_artifact_refs(&mut self, references: &[ArtifactRefRow]) -> Result<(), StoreError>;
    /// Adds a drift event.
    fn put_drift(&mut self, drift: &DriftRow) -> Result<(), StoreError>;
    /// Adds checks, each once.
    fn put_assertions(&mut self, assertions: &[AssertionRow]) -> Result<(), StoreError>;
    /// Adds an artifact.
    fn put_artifact(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError>;
    /// Destroys the texts of an exchange, its salt, and every digest made from its text; what it
    /// was called with becomes `params`. Notes that the write-ahead log is to be emptied.
    fn erase_exchange(
        &mut self,
        exchange: &ExchangeRow,
        params: Option<&str>,
    ) -> Result<(), StoreError>;
    /// Destroys the digests of an exchange's compiled prompt: an artifact in it is erased
    /// (`bundle_too`: then the bundle and its digest go, too), or a turn (then those of its context
    /// and DECISION go, too).
    fn erase_context(&mut self, exchange: Uuid, bundle_too: bool) -> Result<(), StoreError>;
    /// Destroys the document and salt of the artifact of a line, and the name of a thread that it
    /// gave.
    fn erase_artifact(&mut self, line: u64) -> Result<(), StoreError>;
    /// Gives numbers to secrets of a session; false, and nothing is written, when another turn has
    /// meanwhile given one of the numbers, or another number to one of the secrets, or made another
    /// key.
    fn put_placeholders(
        &mut self,
        session: Uuid,
        key: &[u8; 32],
        new: &[PlaceholderRow],
    ) -> Result<bool, StoreError>;
    /// Forgets the numbers of a session; true when there were any, and then notes that the
    /// write-ahead log is to be emptied.
    fn forget_placeholders(&mut self, session: Uuid) -> Result<bool, StoreError>;
    /// Forgets which secrets have the numbers of a session; the numbers stay taken while it is
    /// open.
    fn forget_tags(&mut self, session: Uuid) -> Result<(), StoreError>;
    /// Replaces the running count of one reason.
    fn set_auth_failure(
        &mut self,
        reason: &str,
        since: Seconds,
        pending: u64,
    ) -> Result<(), StoreError>;
}

/// The database with its commit point.
///
/// One writer at a time: callers hold the home's writer lock. `transact` is durable when it returns
/// `Ok` (one fsync); when it returns an error nothing was written, except after an error *of the
/// commit itself*, where the next open shows which it was.
pub trait Store: ReadStore {
    /// Runs `work` in one transaction that no other writer can interleave with.
    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// Moves the mark of what is known to be durable in log and git. Not durable by itself: a lost
    /// mark only makes the next open apply again.
    fn mark_applied(&mut self, applied: &AppliedMark) -> Result<(), StoreError>;
}
