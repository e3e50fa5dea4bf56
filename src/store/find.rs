//! Looking things up by the ids that people see: prefixes, numbers, *the last one*.

use uuid::Uuid;

use super::{ArtifactRow, CommitRow, DriftState, ExchangeRow, ReadStore, SessionRow, StoreError};

/// Queries for the commands of a person at hand; each is proportional to what it returns.
///
/// A prefix is lower-case hexadecimal digits, for a UUID with its hyphens; anything else finds
/// nothing.
pub trait Find: ReadStore {
    /// Up to `most` sessions whose ledger id or UUID begins with a prefix, oldest first.
    fn sessions_like(&self, prefix: &str, most: u32) -> Result<Vec<SessionRow>, StoreError>;
    /// The session that was opened last.
    fn newest_session(&self) -> Result<Option<SessionRow>, StoreError>;
    /// The exchange with that number in a session.
    fn exchange_at(&self, session: Uuid, seq: u64) -> Result<Option<ExchangeRow>, StoreError>;
    /// The exchange whose prompt was recorded last.
    fn newest_exchange(&self) -> Result<Option<ExchangeRow>, StoreError>;
    /// Up to `most` exchanges whose id or chain entry begins with a prefix, oldest first.
    fn exchanges_like(&self, prefix: &str, most: u32) -> Result<Vec<ExchangeRow>, StoreError>;
    /// Up to `most` commits whose git id begins with a prefix, oldest first.
    fn commits_like(&self, prefix: &str, most: u32) -> Result<Vec<CommitRow>, StoreError>;
    /// Up to `most` drift events below a number, newest first, and how many older ones there are;
    /// with `open_only` those that nobody has closed.
    fn drift_states(
        &self,
        open_only: bool,
        below: Option<u64>,
        most: u32,
    ) -> Result<(Vec<DriftState>, u64), StoreError>;
    /// The drift event of that number, from 1.
    fn drift_numbered(&self, number: u64) -> Result<Option<DriftState>, StoreError>;
    /// Up to `most` drift events whose id begins with a prefix, oldest first.
    fn drift_like(&self, prefix: &str, most: u32) -> Result<Vec<DriftState>, StoreError>;
    /// The artifact of a line.
    fn artifact_of_line(&self, line: u64) -> Result<Option<ArtifactRow>, StoreError>;
    /// The commits that belong to a log line, in the order of application.
    fn commits_of_line(&self, line: u64) -> Result<Vec<CommitRow>, StoreError>;
    /// The commits of key rotations, oldest first.
    fn rotations(&self) -> Result<Vec<CommitRow>, StoreError>;
    /// A session's start commit, looked for backwards from a line at or after it (its first
    /// prompt's).
    fn start_commit(
        &self,
        session: &SessionRow,
        from_line: u64,
    ) -> Result<Option<CommitRow>, StoreError>;
    /// A session's end commit on its branch, looked for forwards from its start commit's number.
    fn end_commit(&self, session: &SessionRow, start: u64)
    -> Result<Option<CommitRow>, StoreError>;
}
