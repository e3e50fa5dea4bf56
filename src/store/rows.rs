//! The rows of the database as plain data.

use uuid::Uuid;

use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::params::Cost;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

/// Where the ledger stands: what the next line and commit build upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// The signing key in force.
    pub signer: PublicKey,
    /// Number of lines.
    pub lines: u64,
    /// HASH of the last line; the genesis hash when there is none.
    pub hash: Hash32,
    /// TIMESTAMP of the last line.
    pub time: Seconds,
    /// The highest height that any line has named.
    pub height: u32,
    /// Length of `audit.log` with all lines in it, in bytes.
    pub bytes: u64,
    /// The right edge of the Merkle tree over all lines.
    pub frontier: Vec<u8>,
    /// Number of commits.
    pub commits: u64,
    /// Number of lines that are inside `main`.
    pub segment_lines: u64,
    /// Length of those lines in the log, in bytes.
    pub segment_bytes: u64,
    /// Time of the last segment.
    pub segment_at: Seconds,
    /// Branch of the session started last.
    pub last_branch: Option<String>,
    /// The signed tree head over all lines, as `audit.checkpoint` holds it; over fewer, or none,
    /// only until the next writer starts.
    pub checkpoint: Option<String>,
    /// What is known to be durable outside the database.
    pub applied: AppliedMark,
}

/// How much of the head is known to be durable in `audit.log` and `ledger.git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AppliedMark {
    /// Lines in the log.
    pub lines: u64,
    /// Their length in bytes.
    pub bytes: u64,
    /// Commits in git, refs moved.
    pub commits: u64,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Derived (version 8) from `id`.
    pub uuid: Uuid,
    /// The session id of ledger and log.
    pub id: Hash32,
    /// Time of its first line.
    pub started_at: Seconds,
    /// Time of its last line, once closed.
    pub ended_at: Option<Seconds>,
    /// From the kernel.
    pub phase: String,
    /// From the kernel.
    pub tier: u8,
    /// The kernel it runs under.
    pub kernel_hash: Hash32,
    /// From the configuration.
    pub host_role: String,
    /// The model it runs under.
    pub model: String,
    /// The key it was opened with.
    pub auth_key_hash: Hash32,
    /// `branch-N`.
    pub branch: String,
    /// The last block it has seen.
    pub anchor: Anchor,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of answered prompts.
    pub interactions: u64,
    /// Last chain entry, or `id`.
    pub chain_head: Hash32,
    /// Time of its newest line.
    pub last_at: Seconds,
}

/// The part of a session that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionProgress {
    /// Set once, at the close.
    pub ended_at: Option<Seconds>,
    /// The last block it has seen.
    pub anchor: Anchor,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of answered prompts.
    pub interactions: u64,
    /// Last chain entry, or the session id.
    pub chain_head: Hash32,
    /// Time of its newest line.
    pub last_at: Seconds,
}

impl SessionRow {
    /// The moving part, to be changed and written back.
    pub fn progress(&self) -> SessionProgress {
        SessionProgress {
            ended_at: self.ended_at,
            anchor: self.anchor.clone(),
            prompts: self.prompts,
            interactions: self.interactions,
            chain_head: self.chain_head,
            last_at: self.last_at,
        }
    }
}

/// One message from one speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// Derived (version 8).
    pub turn_id: Uuid,
    /// Number of the line of its exchange's prompt, from 0.
    pub line: u64,
    /// Its session.
    pub session: Uuid,
    /// Time of its line.
    pub created_at: Seconds,
    /// True for the user, false for aurora.
    pub by_user: bool,
    /// Sanitized text; none once erased, and where it is not kept.
    pub content: Option<String>,
    /// SHA-256 of the text; none once erased, and where nothing opens it.
    pub content_hash: Option<Hash32>,
    /// Whether it is a refusal.
    pub refusal: bool,
    /// Authority of the turn.
    pub authority_state: AuthorityState,
    /// The first drift event of this turn.
    pub driftwatch_id: Option<String>,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// With an answer.
    Answered,
    /// The model's fault, a failed compile, or `abandoned`.
    Failed,
    /// Policy denied the prompt.
    Denied,
}

impl ExchangeOutcome {
    /// The spelling in the database and in the exchange document.
    pub const fn name(self) -> &'static str {
        match self {
            ExchangeOutcome::Answered => "answered",
            ExchangeOutcome::Failed => "failed",
            ExchangeOutcome::Denied => "denied",
        }
    }
}

/// One exchange; the core audit unit.
#[derive(Clone, Debug)]
pub struct ExchangeRow {
    /// Derived (version 8).
    pub exchange_id: Uuid,
    /// Its session.
    pub session: Uuid,
    /// The user's turn.
    pub turn_user: Uuid,
    /// SHA-256 of the bundle; none when nothing was compiled.
    pub bundle_hash: Option<Hash32>,
    /// The bundle.
    pub bundle_json: Option<String>,
    /// SHA-256 of the compiled prompt.
    pub prompt_hash: Option<Hash32>,
    /// Time of the prompt line.
    pub created_at: Seconds,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// Which model was asked.
    pub model: String,
    /// `allow`, `deny`, or `none` when it did not come to that.
    pub decision: String,
    /// Authority of the turn.
    pub authority_state: AuthorityState,
    /// JSON list of what was left out and why.
    pub exclusions: String,
    /// Canonical JSON of `record::params::Params`; none when no call was to be made.
    pub params: Option<String>,
    /// None once erased, and where nothing is to be opened.
    pub salt: Option<Salt>,
    /// The ledger's commitment to the prompt.
    pub prompt_commitment: Hash32,
    /// Number of the prompt line.
    pub prompt_line: u64,
    /// What stands in the place of its texts, if they are not kept.
    pub not_kept: Option<MissingCommitments>,
    /// None while in flight.
    pub outcome: Option<OutcomeUpdate>,
}

impl ExchangeRow {
    /// How people call it: `interaction-3` when it was answered, else `prompt-3`.
    pub fn name(&self) -> String {
        let outcome = self.outcome.as_ref();
        let answered = outcome.is_some_and(|found| found.outcome == ExchangeOutcome::Answered);
        let word = if answered { "interaction" } else { "prompt" };
        format!("{word}-{}", self.seq)
    }
}

/// Commitments of the exchange document to texts of a prompt that are not kept (`[store] content =
/// "none"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingCommitments {
    /// Role `user_text`.
    pub user_text: Hash32,
    /// Role `bundle`; none when nothing was compiled.
    pub bundle: Option<Hash32>,
    /// Role `compiled_prompt`; likewise.
    pub compiled_prompt: Option<Hash32>,
}

/// What an exchange gets once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeUpdate {
    /// How it ended.
    pub outcome: ExchangeOutcome,
    /// Code, for failed and denied.
    pub reason: Option<String>,
    /// Aurora's turn, if there is an answer.
    pub turn_aurora: Option<Uuid>,
    /// SHA-256 of the stored answer.
    pub response_hash: Option<Hash32>,
    /// Compact JSON (AEGIS 9.1), if there is an answer.
    pub validator_summary: Option<String>,
    /// Whether the answer is a refusal.
    pub refusal: Option<bool>,
    /// Time of the outcome's line.
    pub answered_at: Seconds,
    /// As the model reported.
    pub prompt_tokens: Option<u64>,
    /// As the model reported.
    pub completion_tokens: Option<u64>,
    /// By the price table of its time.
    pub cost: Option<Cost>,
    /// The ledger's commitment to the answer.
    pub response_commitment: Option<Hash32>,
    /// The ledger's commitment to the exchange document.
    pub exchange_commitment: Hash32,
    /// Of an answered exchange.
    pub chain_entry: Option<Hash32>,
    /// The exchange document's commitment to the stored answer, where that is not kept.
    pub aurora_text: Option<Hash32>,
    /// Number of the outcome's line.
    pub outcome_line: u64,
}

/// One artifact that was injected, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRefRow {
    /// Derived (version 8).
    pub ref_id: Uuid,
    /// The exchange.
    pub exchange: Uuid,
    /// `sys_health`, `ledger_fact`, …
    pub artifact_type: String,
    /// Its id.
    pub artifact_id: String,
    /// Hash of its content as it stands in the bundle.
    pub artifact_hash: Option<Hash32>,
    /// Why it was included.
    pub included_reason: String,
    /// When it was observed.
    pub observed_at: Option<Seconds>,
    /// Age when it was compiled, in seconds.
    pub freshness_s: Option<u64>,
    /// Compact text.
    pub risk_flags: Option<String>,
}

/// One artifact that has a line of its own in the log.
#[derive(Clone, Debug)]
pub struct ArtifactRow {
    /// Number of its line.
    pub line: u64,
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Canonical JSON; none once erased, and where it is not kept.
    pub document: Option<String>,
    /// None once erased, and where nothing is to be opened.
    pub salt: Option<Salt>,
    /// The ledger's commitment.
    pub commitment: Hash32,
}

/// One auth key: its hash, never the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthKeyRow {
    /// `H(auth_key)`.
    pub hash: Hash32,
    /// What a person calls it.
    pub name: String,
    /// When it was added.
    pub added_at: Seconds,
    /// When it was revoked.
    pub revoked_at: Option<Seconds>,
}

/// A file of the home that is no evidence, as it was when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HomeFile {
    /// Relative to the home: `keys/auth.key`.
    pub name: String,
    /// Of its bytes.
    pub sha256: Hash32,
}

/// A number that a secret got in an open session; see `migrations/sqlite/0001_home.sql`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceholderRow {
    /// What kind of secret: `aws-access-key`.
    pub kind: String,
    /// From 1, within kind and session.
    pub number: u32,
    /// Which secret: a keyed hash; none when a text of the session was erased.
    pub tag: Option<[u8; 32]>,
}

/// The numbers that an open session has given to secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceholderRows {
    /// Key of the tags; none when none was given since the last erasing.
    pub key: Option<[u8; 32]>,
    /// What was given.
    pub given: Vec<PlaceholderRow>,
}

/// How many rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCounts {
    /// Sessions.
    pub sessions: u64,
    /// Of them, open.
    pub sessions_open: u64,
    /// Exchanges.
    pub exchanges: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Entries of the search indexes: turns, and items of continuity.
    pub search_entries: u64,
}

/// One commit of the ledger, signature included, so that writing it again needs no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRow {
    /// Number in the order of application, from 0.
    pub n: u64,
    /// Number of its log line.
    pub line: u64,
    /// What it is.
    pub kind: CommitKind,
    /// The ref it is the tip of, in full.
    pub reference: String,
    /// Git object id, 40 lower-case hexadecimal digits.
    pub id: String,
    /// The commit object.
    pub raw: Vec<u8>,
    /// Shares the files of that commit.
    pub tree_of: Option<u64>,
    /// Lines `from..to` are its `audit.log`.
    pub segment: Option<(u64, u64)>,
}
