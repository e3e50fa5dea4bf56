//! The rows of the database, each declared once: its fields, and the columns that they stand in.

use std::time::Duration;

use uuid::Uuid;

use crate::record::bitcoin::block::Anchor;
use crate::record::context::event::EventKind;
use crate::record::context::spec::AdmittedFor;
use crate::record::context::turn::TurnIntent;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::auth_key::AuthKeyContent;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::commitment::{Role, Salt};
use crate::record::ledger::conversation::{
    ConversationRow, ConversationState, ProjectRow, ProjectState,
};
use crate::record::ledger::correction::DecayClass;
use crate::record::ledger::council::{
    CouncilAnswer, CouncilPlace, CouncilReview, Councils, ReviewVerdict,
};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::handoff::{Handoff, HandoffTrigger};
use crate::record::ledger::imported::{
    ImportFormat, ImportedConversation, ImportedMessage, ImportedRole, ImportedState,
};
use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::record::ledger::measures::{CouncilRound, QuestionDoor, TraceSection, TurnMeasures};
use crate::record::ledger::params::Cost;
use crate::record::ledger::specialist::{Rating, RatingVerdict, SpecialistId};
use crate::record::log::end::LogEnd;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::driver::SqlValue;
use super::table::{Bind, optional, row, stored, words};

row! {
    /// Where the ledger stands: what the next line and commit build upon.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LedgerHead of "head" {
        /// The signing key in force.
        signer: PublicKey = "signer",
        /// Number of lines.
        lines: u64 = "lines",
        /// HASH of the last line; the genesis hash when there is none.
        hash: Hash32 = "hash",
        /// TIMESTAMP of the last line.
        time: Seconds = "time",
        /// The highest height that any line has named.
        height: u32 = "height",
        /// Length of `audit.log` with all lines in it, in bytes.
        bytes: u64 = "bytes",
        /// The right edge of the Merkle tree over all lines.
        frontier: Vec<u8> = "frontier",
        /// Number of commits.
        commits: u64 = "commits",
        /// Number of lines that are inside `main`.
        segment_lines: u64 = "segment_lines",
        /// Length of those lines in the log, in bytes.
        segment_bytes: u64 = "segment_bytes",
        /// Time of the last segment.
        segment_at: Seconds = "segment_at",
        /// Branch of the session started last.
        last_branch: Option<String> = "last_branch",
        /// The signed tree head over all lines, as `audit.checkpoint` holds it; over fewer, or none,
        /// only until the next writer starts.
        checkpoint: Option<String> = "checkpoint",
        /// What is known to be durable outside the database.
        applied: AppliedMark,
        /// The system's start under which what follows that was written; none where the system
        /// does not name its starts. See [`crate::os::boot_id`].
        boot: Option<String> = "boot",
    } derived {
        "id" = |_row| SqlValue::Integer(1),
    }
}

impl LedgerHead {
    /// Whether its signed tree head was taken away: the transaction that adds lines signs them.
    pub fn lacks_tree_head(&self) -> bool {
        self.checkpoint.is_none() && self.lines > 0
    }

    /// Whether its mark of what log and ledger have is one of its own record: not beyond it, and as long
    /// as the lines are that it counts. `after` are the lines behind the mark.
    pub fn fits_mark(&self, after: &[String]) -> bool {
        let mark = &self.applied;
        let length = |line: &String| u64::try_from(line.len()).unwrap_or(u64::MAX);
        let behind = after.iter().fold(0u64, |sum, line| {
            sum.saturating_add(length(line)).saturating_add(1)
        });
        mark.lines <= self.lines
            && mark.commits <= self.commits
            && mark.bytes.checked_add(behind) == Some(self.bytes)
    }

    /// Where it says that the log ends.
    pub fn log_end(&self) -> LogEnd {
        LogEnd {
            lines: self.lines,
            hash: self.hash,
            time: Some(self.time),
            height: self.height,
            bytes: self.bytes,
            frontier: self.frontier.clone(),
            segment_lines: self.segment_lines,
            last_branch: self.last_branch.clone(),
        }
    }
}

row! {
    /// How much of the head is known to be durable in `audit.log` and `ledger.git`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct AppliedMark {
        /// Lines in the log.
        lines: u64 = "applied_lines",
        /// Their length in bytes.
        bytes: u64 = "applied_bytes",
        /// Commits in git, refs moved.
        commits: u64 = "applied_commits",
    }
}

row! {
    /// A line of the log.
    #[derive(Clone, Debug)]
    pub struct LineRow of "log_line" {
        /// Its number, from 0.
        n: u64 = "n",
        /// The HASH that it begins with.
        hash: Hash32 = "hash",
        /// It, without its newline.
        line: String = "line",
    }
}

row! {
    /// A line of the log, as the view `audit_log` has it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuditLine {
        /// Its number, from 0.
        n: u64 = "id",
        /// The hash of the line before, as it stands there; none where there is no such line.
        before: Option<String> = "prev_hash",
        /// Its own hash, as it stands there.
        curr: String = "curr_hash",
        /// The line as the log has it.
        line: String = "line",
    }
}

row! {
    /// A block that a line names; for whoever looks for one, and no evidence.
    #[derive(Clone, Debug)]
    pub struct BlockRow of "block" {
        /// Document and header of the block.
        anchor: Anchor = "document" | "header",
    } derived {
        "hash" = |row| Bind::value(&row.anchor.block.hash),
        "height" = |row| Bind::value(&row.anchor.block.height),
    }
}

row! {
    /// A session with one model under one kernel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SessionRow of "chat_session" {
        /// Derived (version 8) from `id`.
        uuid: Uuid = "session_id",
        /// The session id of ledger and log.
        id: Hash32 = "ledger_session",
        /// Time of its first line.
        started_at: Seconds = "started_at",
        /// Time of its last line, once closed.
        ended_at: Option<Seconds> = "ended_at",
        /// From the kernel.
        phase: String = "phase",
        /// From the kernel.
        tier: u8 = "tier",
        /// The kernel it runs under.
        kernel_hash: Hash32 = "kernel_hash",
        /// From the configuration.
        host_role: String = "host_role",
        /// The model it runs under.
        model: String = "model_id",
        /// The key it was opened with.
        auth_key_hash: Hash32 = "auth_key_hash",
        /// Branch of the session, `branch-1` to `branch-7`.
        branch: String = "branch",
        /// The last block it has seen.
        anchor: Anchor = "block" | "header",
        /// Number of prompts.
        prompts: u64 = "prompts",
        /// Number of answered prompts.
        interactions: u64 = "interactions",
        /// Last chain entry, or `id`.
        chain_head: Hash32 = "chain_head",
        /// Time of its newest line.
        last_at: Seconds = "last_at",
    } derived {
        "status" = |row| Bind::value(status(row.ended_at)),
    }
}

row! {
    /// The part of a session that moves.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SessionProgress {
        /// Set once, at the close.
        ended_at: Option<Seconds> = "ended_at",
        /// The last block it has seen.
        anchor: Anchor = "block" | "header",
        /// Number of prompts.
        prompts: u64 = "prompts",
        /// Number of answered prompts.
        interactions: u64 = "interactions",
        /// Last chain entry, or the session id.
        chain_head: Hash32 = "chain_head",
        /// Time of its newest line.
        last_at: Seconds = "last_at",
    } derived {
        "status" = |row| Bind::value(status(row.ended_at)),
    }
}

impl SessionRow {
    /// Whether it runs under this kernel, for this model on a host of this role.
    pub fn runs_under(&self, kernel: Hash32, model: &str, host_role: &str) -> bool {
        self.kernel_hash == kernel && self.model == model && self.host_role == host_role
    }

    /// Whether nothing was asked or answered in it for so long.
    pub fn is_quiet(&self, now: Seconds, since: Duration) -> bool {
        now.since(self.last_at) >= since.as_secs()
    }

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

/// What the column says of a session that ended then.
fn status(ended_at: Option<Seconds>) -> &'static str {
    if ended_at.is_some() { "closed" } else { "open" }
}

row! {
    /// One message from one speaker.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TurnRow of "chat_turn" {
        /// Derived (version 8).
        turn_id: Uuid = "turn_id",
        /// Number of the line of its exchange's prompt, from 0.
        line: u64 = "line",
        /// Id of the row of the session.
        session: Uuid = "session_id",
        /// Time of its line.
        created_at: Seconds = "created_at",
        /// True for the user, false for aurora.
        by_user: bool as TurnSpeaker = "speaker",
        /// Sanitized text; none once erased, and where it is not kept.
        content: Option<String> = "content",
        /// SHA-256 of the text; none once erased, and where nothing opens it.
        content_hash: Option<Hash32> = "content_hash",
        /// Whether it is a refusal.
        refusal: bool = "refusal",
        /// Authority of the turn.
        authority_state: AuthorityState = "authority_state",
        /// The first drift event of this turn.
        driftwatch_id: Option<String> = "driftwatch_id",
    }
}

/// Who speaks in a turn, as the column has it.
enum TurnSpeaker {
    User,
    Aurora,
}

impl TurnSpeaker {
    const fn name(&self) -> &'static str {
        match self {
            TurnSpeaker::User => "user",
            TurnSpeaker::Aurora => "aurora",
        }
    }

    /// What the column holds.
    fn value_of(by_user: &bool) -> SqlValue<'static> {
        let speaker = if *by_user {
            TurnSpeaker::User
        } else {
            TurnSpeaker::Aurora
        };
        SqlValue::Text(speaker.name().into())
    }
}

impl From<TurnSpeaker> for bool {
    fn from(speaker: TurnSpeaker) -> bool {
        matches!(speaker, TurnSpeaker::User)
    }
}

words! { TurnSpeaker: "user or aurora" of [TurnSpeaker::User, TurnSpeaker::Aurora], }

row! {
    /// One exchange; the core audit unit.
    #[derive(Clone, Debug)]
    pub struct ExchangeRow of "llm_exchange" {
        /// Derived (version 8).
        exchange_id: Uuid = "exchange_id",
        /// Id of the row of the session.
        session: Uuid = "session_id",
        /// The user's turn.
        turn_user: Uuid = "turn_user_id",
        /// SHA-256 of the bundle; none when nothing was compiled.
        bundle_hash: Option<Hash32> = "context_bundle_hash",
        /// Bundle as canonical JSON; none when there is none.
        bundle_json: Option<String> = "context_bundle_json",
        /// SHA-256 of the compiled prompt.
        prompt_hash: Option<Hash32> = "prompt_hash",
        /// Time of the prompt line.
        created_at: Seconds = "created_at",
        /// Number of the prompt in its session.
        seq: u64 = "seq",
        /// Which model was asked.
        model: String = "model",
        /// `allow`, `deny`, or `none` when it did not come to that.
        decision: String = "decision",
        /// Authority of the turn.
        authority_state: AuthorityState = "authority_state",
        /// JSON list of what was left out and why.
        exclusions: String = "exclusions",
        /// Canonical JSON of `record::params::Params`; none when no call was to be made.
        params: Option<String> = "params",
        /// Canonical JSON of what was sent, part by part; none when nothing was, and where it is
        /// erased or not kept.
        request: Option<String> = "request",
        /// None once erased, and where nothing is to be opened.
        salt: Option<Salt> = "salt",
        /// The ledger's commitment to the prompt.
        prompt_commitment: Hash32 = "prompt_commitment",
        /// Number of the prompt line.
        prompt_line: u64 = "prompt_line",
        /// What stands in the place of its texts, if they are not kept.
        not_kept: Option<MissingCommitments>,
        /// None while in flight.
        outcome: Option<OutcomeUpdate>,
    } derived {
        // Texts stand in their turns.
        "prompt_compiled" = |_row| SqlValue::Null,
        "response_sanitized" = |_row| SqlValue::Null,
    }
}

row! {
    /// Commitments of the exchange document to texts of a prompt that are not kept (`[store] content =
    /// "none"`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MissingCommitments {
        /// Commitment to the question, with role `user_text`.
        user_text: Hash32 = "user_text_commitment",
        /// Role `bundle`; none when nothing was compiled.
        bundle: Option<Hash32> = "bundle_commitment",
        /// Role `compiled_prompt`; likewise.
        compiled_prompt: Option<Hash32> = "compiled_prompt_commitment",
        /// Role `request`; likewise.
        request: Option<Hash32> = "request_commitment",
    }
}

row! {
    /// What an exchange gets once.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutcomeUpdate {
        /// How it ended.
        outcome: ExchangeOutcome = "outcome",
        /// Code, for failed and denied.
        reason: Option<String> = "reason",
        /// Aurora's turn, if there is an answer.
        turn_aurora: Option<Uuid> = "turn_aurora_id",
        /// SHA-256 of the stored answer.
        response_hash: Option<Hash32> = "response_hash",
        /// Compact JSON (AEGIS 9.1), if there is an answer.
        validator_summary: Option<String> = "validator_summary",
        /// Whether the answer is a refusal.
        refusal: Option<bool> = "refusal",
        /// Time of the outcome's line.
        answered_at: Seconds = "answered_at",
        /// As the model reported.
        prompt_tokens: Option<u64> = "prompt_tokens",
        /// As the model reported.
        completion_tokens: Option<u64> = "completion_tokens",
        /// By the price table of its time.
        cost: Option<Cost>,
        /// The ledger's commitment to the answer.
        response_commitment: Option<Hash32> = "response_commitment",
        /// The ledger's commitment to the exchange document.
        exchange_commitment: Hash32 = "exchange_commitment",
        /// Of an answered exchange.
        chain_entry: Option<Hash32> = "chain_entry",
        /// The exchange document's commitment to the stored answer, where that is not kept.
        aurora_text: Option<Hash32> = "aurora_text_commitment",
        /// Canonical JSON of what came beside the answer; none where nothing did, and where it is
        /// erased or not kept.
        reply: Option<String> = "reply",
        /// The exchange document's commitment to it, where it is not kept.
        reply_commitment: Option<Hash32> = "reply_commitment",
        /// Number of the outcome's line.
        outcome_line: u64 = "outcome_line",
    }
}

optional!(MissingCommitments, OutcomeUpdate);

impl ExchangeRow {
    /// Line of its newest message: of the answer, or of the question without one.
    pub fn newest_message_line(&self) -> u64 {
        let outcome = self.outcome.as_ref();
        let answered = outcome.filter(|end| end.turn_aurora.is_some());
        answered.map_or(self.prompt_line, |end| end.outcome_line)
    }

    /// Whether it was erased: what is not kept was not, and neither was what waits.
    pub fn is_erased(&self) -> bool {
        self.outcome.is_some() && self.salt.is_none() && self.not_kept.is_none()
    }
}

impl AuthKeyRow {
    /// As its artifact names it.
    pub fn named(&self) -> AuthKeyContent {
        AuthKeyContent {
            added_at: self.added_at,
            hash: self.hash,
            name: self.name.clone(),
            revoked_at: self.revoked_at,
        }
    }
}

impl ExchangeRow {
    /// How people call it: `interaction-3` when it was answered, else `prompt-3`.
    pub fn name(&self) -> String {
        let kind = if self.is_answered() {
            "interaction"
        } else {
            "prompt"
        };
        format!("{kind}-{}", self.seq)
    }

    /// Whether texts stand here beside its turns and its bundle: what was sent, what came beside
    /// the answer.
    pub fn has_texts_beside(&self) -> bool {
        let reply = self.outcome.as_ref().and_then(|found| found.reply.as_ref());
        self.request.is_some() || reply.is_some()
    }

    /// How it ended; none while it waits.
    pub fn ended(&self) -> Option<ExchangeOutcome> {
        self.outcome.as_ref().map(|outcome| outcome.outcome)
    }

    /// Whether a model answered.
    pub fn is_answered(&self) -> bool {
        self.ended() == Some(ExchangeOutcome::Answered)
    }
}

row! {
    /// What an exchange document commits to and nobody can put together again, since something that
    /// the model was shown is erased.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ErasureCommitmentRow of "erasure_commitment" {
        /// Number of the prompt line.
        line: u64 = "line",
        /// Which part of the document.
        role: Role = "role",
        /// Id of the exchange that was erased.
        exchange: Uuid = "exchange_id",
        /// Its commitment, as the document has it.
        commitment: Hash32 = "commitment",
    }
}

row! {
    /// What was measured of an exchange, and what its trace is committed to.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MeasureRow of "exchange_measure" {
        /// Number of the prompt line.
        line: u64 = "line",
        /// Id of the exchange.
        exchange: Uuid = "exchange_id",
        /// What was measured.
        measures: TurnMeasures,
        /// How facts became fields: `gently.trace/1`.
        trace_mapping: String = "trace_mapping",
        /// Commitment to the signed bytes of the generic trace.
        trace_commitment: Hash32 = "trace_commitment",
        /// The key that opens it, which erasing leaves: it is to no text. None where no openings are
        /// kept, and where the ledger commits by plain SHA-256.
        trace_key: Option<[u8; 32]> = "trace_key",
    }
}

stored! {
    TurnMeasures {
        program: String = "program",
        door: QuestionDoor = "door",
        depth: u64 = "depth",
        sources: u32 = "sources",
        same_pairs: u64 = "same_pairs",
        is_in_conflict: bool = "is_in_conflict",
        compile_ms: u64 = "compile_ms",
        first_byte_ms: Option<u64> = "first_byte_ms",
        model_ms: Option<u64> = "model_ms",
        judge_ms: Option<u64> = "judge_ms",
        specialist: Option<SpecialistId> = "specialist",
        domain_alignment: Option<u16> = "domain_alignment",
        round: Option<CouncilRound> = "round",
        attempt: Option<u8> = "attempt",
        utility: Option<u16> = "utility",
    }
}
words! {
    QuestionDoor: "a door of questions" of QuestionDoor::ALL,
    CouncilRound: "answer or peer_review" of CouncilRound::ALL,
}

impl MeasureRow {
    /// The key that opens its commitment.
    pub fn opening(&self) -> Option<Hash32> {
        self.trace_key.map(Hash32::from_bytes)
    }

    /// The exchange's trace, as its document names it.
    pub fn named(&self) -> TraceSection {
        TraceSection {
            commitment: self.trace_commitment,
            mapping: self.trace_mapping.clone(),
        }
    }
}

row! {
    /// One artifact that was injected, and why.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ArtifactRefRow of "context_artifact_ref" {
        /// Derived (version 8).
        ref_id: Uuid = "ref_id",
        /// Id of the exchange whose bundle names the artifact.
        exchange: Uuid = "exchange_id",
        /// `sys_health`, `ledger_fact`, …
        artifact_type: String = "artifact_type",
        /// Name of the artifact, such as `ledger:000183`.
        artifact_id: String = "artifact_id",
        /// Hash of its content as it stands in the bundle.
        artifact_hash: Option<Hash32> = "artifact_hash",
        /// Why it was included.
        included_reason: String = "included_reason",
        /// When it was observed.
        observed_at: Option<Seconds> = "observed_at",
        /// Age when it was compiled, in seconds.
        freshness_s: Option<u64> = "freshness_s",
        /// Flags of risk, as compact text.
        risk_flags: Option<String> = "risk_flags",
    }
}

row! {
    /// One artifact that has a line of its own in the log.
    #[derive(Clone, Debug)]
    pub struct ArtifactRow of "artifact" {
        /// Number of its line.
        line: u64 = "line",
        /// Kind of the artifact, such as `fact`.
        kind: String = "kind",
        /// Name of the artifact, such as `ledger:000183`.
        id: String = "id",
        /// Canonical JSON; none once erased, and where it is not kept.
        document: Option<String> = "document",
        /// None once erased, and where nothing is to be opened.
        salt: Option<Salt> = "salt",
        /// The ledger's commitment.
        commitment: Hash32 = "commitment",
    }
}

row! {
    /// One DriftWatch event (AEGIS 9.3).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DriftRow of "drift_event" {
        /// As the log's `drift` line names it.
        drift_id: String = "drift_id",
        /// Id of the exchange whose answer drifted.
        exchange: Uuid = "exchange_id",
        /// `authority`, `evidence`, `tone`, `schema`, `completeness`.
        class: String = "drift_class",
        /// From the kernel.
        severity: String = "severity",
        /// The ledger's commitment.
        prompt_hash: Hash32 = "prompt_hash",
        /// The ledger's commitment; zeros where no model was called, so that there is no answer.
        response_hash: Hash32 = "response_hash",
        /// Short and machine-parseable.
        summary: String = "summary",
        /// Time of the line.
        created_at: Seconds = "created_at",
    } derived {
        "kind" = |_row| Bind::value("DRIFTWATCH"),
    }
}

row! {
    /// One check that was made of an exchange, and how it came out.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AssertionRow of "assertion_event" {
        /// Derived (version 8) from the name.
        assertion_id: Uuid = "assertion_id",
        /// Id of the exchange that the assertion is about.
        exchange: Uuid = "exchange_id",
        /// Class and rule: `authority.claimed_side_effect`.
        name: String = "name",
        /// `info`, `soft` or `blocking`: what its failure does.
        level: String = "level",
        /// Whether nothing was found.
        passed: bool = "passed",
        /// Time of the outcome's line.
        created_at: Seconds = "created_at",
    }
}

row! {
    /// One drift event as people name it, and what has become of it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DriftState {
        /// Its number in the order of recording, from 1: `driftwatch:0042`.
        number: u64 = "number",
        /// Row of the event.
        event: DriftRow,
        /// The level of its failed check; none where the check is not on record.
        level: Option<String> = "level",
        /// Line of the `drift_ack` artifact: somebody has looked at it.
        acked: Option<u64> = "acked",
        /// Line of the `drift_close` artifact: it is dealt with.
        closed: Option<u64> = "closed",
    }
}

impl DriftState {
    /// Name of the event, such as `driftwatch:0042`.
    pub fn id(&self) -> String {
        format!("driftwatch:{:04}", self.number)
    }

    /// `open`, `acked` or `closed`.
    pub fn state(&self) -> &'static str {
        match (self.acked, self.closed) {
            (_, Some(_)) => "closed",
            (Some(_), None) => "acked",
            (None, None) => "open",
        }
    }
}

row! {
    /// A kernel that was in force at some time.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct KernelRow of "kernel" {
        /// Hash of the kernel's canonical JSON.
        hash: Hash32 = "kernel_hash",
        /// Its canonical JSON; empty where only its hash is known.
        document: String = "document",
    }
}

row! {
    /// A context configuration.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConfigRow of "context_config" {
        /// Digest of the document.
        digest: Hash32 = "config_digest",
        /// The document, as canonical JSON.
        document: String = "document",
    }
}

row! {
    /// One auth key: its hash, never the key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuthKeyRow of "auth_key" {
        /// Hash of the key's text: `H(auth_key)`.
        hash: Hash32 = "auth_key_hash",
        /// What a person calls it.
        name: String = "name",
        /// When it was added.
        added_at: Seconds = "added_at",
        /// When it was revoked.
        revoked_at: Option<Seconds> = "revoked_at",
    }
}

row! {
    /// The settings that the newest record was made under.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SettingStateRow of "setting_state" {
        /// Key of their tags.
        key: Hash32 = "key",
        /// What an artifact names them by.
        digest: Hash32 = "digest",
        /// Line of the newest artifact that names settings; none when they never changed.
        line: Option<u64> = "line",
        /// The digest that it names; none where its document is not known.
        named: Option<Hash32> = "named",
    } derived {
        "id" = |_row| SqlValue::Integer(1),
    }
}

impl SettingStateRow {
    /// Whether these are the settings that are on record.
    pub fn holds(&self, digest: Hash32) -> bool {
        self.digest == digest && (self.line.is_none() || self.named == Some(digest))
    }
}

row! {
    /// One of those settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SettingTag of "setting_tag" {
        /// `model.default`.
        name: String = "name",
        /// Keyed hash of its name and value.
        tag: Hash32 = "tag",
    }
}

row! {
    /// A file of the home that is no evidence, as it was when it was last looked at.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct HomeFile of "home_file" {
        /// Relative to the home: `keys/auth.key`.
        name: String = "name",
        /// Of its bytes.
        sha256: Hash32 = "sha256",
    }
}

row! {
    /// A number that a secret got in an open session; see `migrations/sqlite/0001_home.sql`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlaceholderRow of "placeholder" {
        /// What kind of secret: `aws-access-key`.
        kind: String = "kind",
        /// From 1, within kind and session.
        number: u32 = "number",
        /// Which secret: a keyed hash; none when a text of the session was erased.
        tag: Option<[u8; 32]> = "tag",
    }
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
    /// How many sessions are on record.
    pub sessions: u64,
    /// Of them, open.
    pub sessions_open: u64,
    /// How many exchanges are on record.
    pub exchanges: u64,
    /// How many artifacts are on record.
    pub artifacts: u64,
    /// Entries of the search indexes: turns, and items of continuity.
    pub search_entries: u64,
}

row! {
    /// One commit of the ledger, signature included, so that writing it again needs no key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CommitRow of "ledger_commit" {
        /// Number in the order of application, from 0.
        n: u64 = "n",
        /// Number of its log line.
        line: u64 = "line",
        /// What it is.
        kind: CommitKind = "kind",
        /// The ref it is the tip of, in full.
        reference: String = "ref",
        /// Git object id, 40 lower-case hexadecimal digits.
        id: String = "id",
        /// The commit object.
        raw: Vec<u8> = "raw",
        /// Shares the files of that commit.
        tree_of: Option<u64> = "tree_of",
        /// Lines `from..to` are its `audit.log`.
        segment: Option<(u64, u64)> = "segment_from" | "segment_to",
    }
}

row! {
    /// A thread: exchanges that follow one another.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ThreadRow of "thread" {
        /// Derived (version 8) from session and number.
        thread: Uuid = "thread_id",
        /// The session that it was begun in.
        session: Uuid = "session_id",
        /// 0 for the one that every session has.
        number: u64 = "number",
        /// What a person calls it; none once erased.
        name: Option<String> = "name",
        /// When it was begun.
        created_at: Seconds = "created_at",
    }
}

row! {
    /// The context of one turn.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ThreadTurnRow of "thread_turn" {
        /// Id of the exchange, which is the turn.
        turn: Uuid = "turn_id",
        /// Id of the thread that the turn belongs to.
        thread: Uuid = "thread_id",
        /// The turn that it replies to.
        parent: Option<Uuid> = "parent_turn_id",
        /// What the turn is for.
        intent: TurnIntent = "intent_type",
        /// The configuration that it was resolved with.
        config_digest: Hash32 = "config_digest",
        /// Canonical JSON: a list of ids.
        declared: String = "declared",
        /// Canonical JSON: a list of `record::context::spec::Transformation`.
        transformations: String = "transformations",
        /// Canonical JSON of `record::context::turn::Counts`.
        inputs: String = "inputs",
        /// Canonical JSON: a list of codes.
        reasons: String = "reasons",
        /// None when nothing was resolved, or something in it is erased.
        context_digest: Option<Hash32> = "context_digest",
        /// None when no call was to be made, or something in it is erased.
        prompt_digest: Option<Hash32> = "prompt_digest",
    }
}

row! {
    /// Which turn stands where: of each exchange the thread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TurnInThread {
        /// Id of the thread.
        thread: Uuid = "thread_id",
        /// Line of the prompt.
        line: u64 = "line",
        /// Id of the exchange, which is the turn.
        exchange: Uuid = "turn_id",
        /// What the turn is for.
        intent: TurnIntent = "intent_type",
    }
}

impl TurnInThread {
    /// Whether it is a message: somebody asked, and no council decided against the answer.
    pub fn is_message(&self, councils: &Councils) -> bool {
        self.intent == TurnIntent::ChatMessage && !councils.is_against(self.exchange)
    }
}

row! {
    /// One event of a thread.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct EventRow of "thread_event" {
        /// Of an INTENT the user's turn, of an EXECUTION aurora's; of a DECISION derived.
        event: Uuid = "event_id",
        /// Id of the thread that the event belongs to.
        thread: Uuid = "thread_id",
        /// From 0, in the order of recording.
        index: u64 = "event_index",
        /// What it is.
        kind: EventKind = "kind",
        /// Id of the turn that the event is a part of.
        turn: Uuid = "turn_id",
        /// Number of its log line.
        line: u64 = "line",
        /// Time of that line.
        created_at: Seconds = "created_at",
        /// Length of an INTENT's text as policy sees it: numbers of secrets are no part of it.
        bytes: Option<u64> = "bytes",
        /// None once erased.
        digest: Option<Hash32> = "event_digest",
    }
}

row! {
    /// As much of an INTENT as policy counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct IntentRow {
        /// Id of the thread that the intent belongs to.
        thread: Uuid = "thread_id",
        /// Number of its log line.
        line: u64 = "line",
        /// Time of that line.
        created_at: Seconds = "created_at",
        /// Length of its text.
        bytes: Option<u64> = "bytes",
    }
}

row! {
    /// As much of an exchange as the order of the log is held against.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AskedRow {
        /// Id of the exchange.
        exchange: Uuid = "exchange_id",
        /// The row of its session.
        session: Uuid = "session_id",
        /// Number of the prompt in its session.
        seq: u64 = "seq",
        /// The user's turn.
        turn_user: Uuid = "turn_user_id",
        /// Aurora's, if there is one.
        turn_aurora: Option<Uuid> = "turn_aurora_id",
        /// The prompt's commitment.
        prompt: Hash32 = "prompt_commitment",
        /// Number of the prompt's line.
        line: u64 = "prompt_line",
        /// Whether it was answered.
        answered: bool = "answered",
        /// Its thread; none for an exchange from before threads.
        thread: Option<Uuid> = "thread_id",
        /// Length of its INTENT's text.
        bytes: Option<u64> = "bytes",
    }
}

row! {
    /// One resolved reference of a turn.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ContextRefRow of "context_ref" {
        /// The turn that refers.
        turn: Uuid = "turn_id",
        /// The event that is referred to.
        event: Uuid = "event_id",
        /// Id as the client declared it.
        ref_id: String = "ref_id",
        /// What it was let in for.
        admitted_for: AdmittedFor = "admitted_for",
        /// The event's place.
        index: u64 = "event_index",
        /// The event's digest as it was resolved; none once the event is erased.
        digest: Option<Hash32> = "event_digest",
    }
}

row! {
    /// A resolved reference with what its event says.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReferredText {
        /// Row of the reference.
        reference: ContextRefRow,
        /// What the event is.
        kind: EventKind = "kind",
        /// The text; none for a DECISION, and for what is erased.
        text: Option<String> = "content",
    }
}

row! {
    /// One witness, as it was last asked.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WitnessState of "witness_state" {
        /// Its verifier key, as it is printed.
        vkey: String = "vkey",
        /// Size of the newest tree head that it cosigned; 0 when none.
        lines: u64 = "lines",
        /// When, by its own clock.
        cosigned_at: Option<Seconds> = "cosigned_at",
        /// When it was last asked.
        asked_at: Seconds = "asked_at",
        /// Size of the tree head that it was asked about.
        asked_lines: u64 = "asked_lines",
        /// Why it did not cosign then; none when it did.
        said: Option<String> = "said",
    }
}

row! {
    /// One calendar, as it was last asked to stamp a head of the log.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CalendarState of "calendar_state" {
        /// Its address, without a slash at its end.
        address: String = "address",
        /// When it was last asked.
        asked_at: Seconds = "asked_at",
        /// When it last accepted; none when it never did.
        accepted_at: Option<Seconds> = "accepted_at",
        /// Why it did not accept when it was last asked; none when it did. Secrets are removed.
        said: Option<String> = "said",
    }
}

stored! {
    Item of "continuity_item" {
        line: u64 = "line",
        id: String = "id",
        kind: ItemKind = "kind",
        state: ItemState = "state",
        state_line: u64 = "state_line",
        subject: Option<String> = "subject",
        source: Option<String> = "source",
        observed_at: Option<Seconds> = "observed_at",
        confidence: Option<String> = "confidence",
        confidence_milli: Option<u16> = "confidence_milli",
        decay: Option<DecayClass> = "decay",
        domain: Option<String> = "domain",
        phase: Option<String> = "phase",
        tier: Option<u8> = "tier",
        session: Option<Hash32> = "session",
        hash: Hash32 = "hash",
    }
}

stored! {
    Rating of "rating" {
        line: u64 = "line",
        exchange: Uuid = "exchange_id",
        by: Hash32 = "by_key",
        specialist: Option<SpecialistId> = "specialist",
        model: String = "model",
        domain: String = "domain",
        verdict: RatingVerdict = "verdict",
    }
}

stored! {
    CouncilAnswer of "council_answer" {
        exchange: Uuid = "exchange_id",
        council_line: u64 = "council_line",
        specialist: SpecialistId = "specialist",
        utility: u64 = "utility",
        welfare: u64 = "welfare",
        payment: u64 = "payment",
        confidence: Option<u16> = "confidence",
        place: CouncilPlace = "place",
    }
}

stored! {
    CouncilReview of "council_review" {
        id: String = "id",
        council_line: u64 = "council_line",
        exchange: Uuid = "exchange_id",
        of: Uuid = "of_exchange_id",
        verdict: Option<ReviewVerdict> = "verdict",
    }
}

stored! {
    Handoff of "handoff" {
        line: u64 = "line",
        id: String = "id",
        exchange: Uuid = "exchange_id",
        conversation: Uuid = "thread_id",
        specialist: Option<SpecialistId> = "specialist",
        thread_number: u64 = "thread_number",
        trigger: HandoffTrigger = "trigger_name",
        upto: u64 = "upto",
    }
}

stored! {
    ImportedConversation of "imported_conversation" {
        line: u64 = "line",
        id: String = "id",
        format: Option<ImportFormat> = "format",
        source_id: Option<String> = "source_id",
        digest: Option<Hash32> = "digest",
        created_at: Option<Seconds> = "created_at",
        updated_at: Option<Seconds> = "updated_at",
        messages: u64 = "messages",
        import: Option<String> = "import_id",
        state: ImportedState = "state",
    }
}

stored! {
    ImportedMessage of "imported_message" {
        n: u64 = "n",
        line: u64 = "line",
        i: u64 = "i",
        role: ImportedRole = "role",
        model: Option<String> = "model",
        at: Option<Seconds> = "at",
    }
}

stored! {
    ConversationRow of "conversation" {
        thread: Uuid = "thread_id",
        last_line: u64 = "last_line",
        turns: u64 = "turns",
        title_line: Option<u64> = "title_line",
        project: Option<String> = "project",
        state: ConversationState = "state",
        state_line: u64 = "state_line",
    }
}

stored! {
    ProjectRow of "project" {
        id: String = "id",
        line: u64 = "line",
        name_line: u64 = "name_line",
        state: ProjectState = "state",
    }
}

row! {
    /// What one side said in a conversation, with the exchange that it is of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MessageRow {
        /// Id of the turn's row.
        turn: Uuid = "turn_id",
        /// True for the user, false for the model.
        by_user: bool as TurnSpeaker = "speaker",
        /// Sanitized text; none once erased, and where it is not kept.
        content: Option<String> = "content",
        /// Time of its line.
        created_at: Seconds = "created_at",
        /// Its line, from 0: of the prompt, or of the answer.
        line: u64 = "line",
        /// Id of the exchange that the turn is part of.
        exchange: Uuid = "exchange_id",
        /// The model that was asked.
        model: String = "model",
    }
}

row! {
    /// A file of a commit.
    #[derive(Clone, Debug)]
    pub struct FileRow of "ledger_file" {
        /// Number of the commit.
        commit: u64 = "commit_n",
        /// Name of the file in the tree of the commit.
        name: String = "name",
        /// Content of the file, in bytes.
        content: Vec<u8> = "content",
    }
}
