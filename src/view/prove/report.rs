//! What a check of a ledger found: what `gently audit verify --json` prints.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::app::prove::verify::{FetchedCopy, VerifyResult};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::verify::{
    AuditQuestion, CheckAnswer, CheckVerdict, Finding, LedgerBounds, Report, Scope, SessionBlock,
    SessionBound, SessionReport,
};

use super::headline::HeadlineView;

/// A copy of somebody else's ledger that was fetched.
#[derive(Clone, Debug, Serialize)]
pub struct FetchedCopyView {
    /// Its address, without a name or password.
    pub address: String,
    /// Where it is.
    pub repository: String,
}

impl FetchedCopyView {
    /// Of a copy.
    pub fn of(copy: &FetchedCopy) -> Self {
        FetchedCopyView {
            address: copy.address.clone(),
            repository: copy.repository.display().to_string(),
        }
    }
}

/// Something that the check found wrong.
#[derive(Clone, Debug, Serialize)]
pub struct FindingView {
    /// The question that it answers with *no*.
    pub question: &'static str,
    /// Part of the record where it was found.
    pub place: String,
    /// What should stand there.
    pub expected: String,
    /// What the record has there.
    pub actual: String,
}

impl FindingView {
    fn of(finding: &Finding) -> Self {
        FindingView {
            question: finding.question.name(),
            place: finding.place.clone(),
            expected: finding.expected.clone(),
            actual: finding.actual.clone(),
        }
    }
}

/// The answer to a question, and its reason.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictView {
    /// The answer in words, such as `yes` or `not checked`.
    pub answer: &'static str,
    /// Why the answer is what it is.
    pub reason: String,
}

impl VerdictView {
    /// All of a report, by question.
    pub fn all(report: &Report) -> BTreeMap<&'static str, Self> {
        let view = |question: AuditQuestion| {
            let verdict = report.answers.to(question);
            let view = VerdictView {
                answer: verdict.answer.word(),
                reason: verdict.reason.clone(),
            };
            (question.name(), view)
        };
        AuditQuestion::ALL.into_iter().map(view).collect()
    }
}

/// Up to which lines the answers speak.
#[derive(Clone, Debug, Serialize)]
pub struct ExtentsView {
    /// Lines that the answer to *complete* covers.
    pub complete: u64,
    /// Lines that the answer to *unique* covers.
    pub unique: u64,
    /// Lines that the answer to *not after* covers.
    pub not_after: u64,
    /// Lines that the answer to *signed by* covers.
    pub signed_by: u64,
}

/// A line that set the clock.
#[derive(Clone, Debug, Serialize)]
pub struct ClockSetView {
    /// Its number, from 1.
    pub line: u64,
    /// The time before it.
    pub before: String,
    /// The time that it set.
    pub to: String,
}

/// A tree head.
#[derive(Clone, Debug, Serialize)]
pub struct TreeHeadView {
    /// Lines under it.
    pub size: u64,
    /// Root hash of the tree.
    pub root: Hash32,
}

/// How much of the ledger was checked.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ScopeView {
    /// All of it.
    Whole {
        /// Where the check began: always `genesis`.
        from: &'static str,
        /// Why the check did not continue from a saved position; null when it did, or had none.
        position_not_used: Option<String>,
    },
    /// What is new.
    Since {
        /// `position` or `commit`.
        from: &'static str,
        /// Id of the commit.
        commit: String,
        /// Its line in the log.
        line: u64,
        /// When the position was saved.
        saved_at: Option<Seconds>,
        /// When all before it was last read.
        verified_from_scratch_at: Option<Seconds>,
        /// Lines before it that were read again.
        replayed: u64,
        /// Why the check did not continue from a saved position; null when it did, or had none.
        position_not_used: Option<String>,
    },
}

impl ScopeView {
    fn of(report: &Report) -> Self {
        let (Scope::Whole { mismatch } | Scope::Since { mismatch, .. }) = &report.scope;
        let position_not_used = mismatch.as_ref().map(ToString::to_string);
        match &report.scope {
            Scope::Whole { .. } => ScopeView::Whole {
                from: "genesis",
                position_not_used,
            },
            Scope::Since {
                commit,
                line,
                saved,
                ..
            } => ScopeView::Since {
                from: if saved.is_some() {
                    "position"
                } else {
                    "commit"
                },
                commit: commit.to_string(),
                line: *line,
                saved_at: saved.map(|saved| saved.at),
                verified_from_scratch_at: saved.map(|saved| saved.from_scratch_at),
                replayed: report.replayed,
                position_not_used,
            },
        }
    }
}

/// The longest stretch between two blocks.
#[derive(Clone, Debug, Serialize)]
pub struct LongestSpanView {
    /// How many blocks.
    pub blocks: u32,
    /// The line that is only so closely bounded.
    pub line: u64,
    /// The block before it.
    pub after_block: u32,
    /// The block behind it.
    pub before_block: u32,
}

/// A proof that waits.
#[derive(Clone, Debug, Serialize)]
pub struct PendingProofView {
    /// Commit whose note holds the proof.
    pub commit: String,
    /// Since when the proof waits for a block.
    pub since: String,
}

/// How closely a ledger is tied to blocks outside.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerBoundsView {
    /// The proof that waits the longest.
    pub oldest_pending: Option<PendingProofView>,
    /// Proofs that were checked.
    pub proofs: u64,
    /// Proofs whose block's header is not at hand.
    pub proofs_without_header: u64,
    /// Proofs that wait.
    pub proofs_pending: u64,
    /// Lines behind the last proof.
    pub unanchored_tail: u64,
    /// The longest stretch between two blocks.
    pub longest_span: Option<LongestSpanView>,
    /// Lines that are attested and come after no block.
    pub attested_after_no_block: u64,
    /// Blocks whose height is proven.
    pub blocks_proven: u64,
    /// Blocks that are not in the chain.
    pub blocks_orphaned: u64,
    /// Blocks whose height is the ledger's word.
    pub blocks_claimed: u64,
}

impl LedgerBoundsView {
    fn of(bounds: &LedgerBounds) -> Self {
        LedgerBoundsView {
            oldest_pending: bounds.waits.map(|waits| PendingProofView {
                commit: waits.commit.to_string(),
                since: waits.since.to_string(),
            }),
            proofs: bounds.proofs,
            proofs_without_header: bounds.unchecked,
            proofs_pending: bounds.pending,
            unanchored_tail: bounds.tail,
            longest_span: bounds.longest.map(|span| LongestSpanView {
                blocks: span.blocks(),
                line: span.line,
                after_block: span.after,
                before_block: span.before,
            }),
            attested_after_no_block: bounds.unbounded,
            blocks_proven: bounds.placed,
            blocks_orphaned: bounds.orphaned,
            blocks_claimed: bounds.claimed,
        }
    }
}

/// One end of a session's bracket.
#[derive(Clone, Debug, Serialize)]
pub struct SessionBoundView {
    /// The block's height.
    pub block: Option<u32>,
    /// The time of its header.
    pub time: Option<String>,
    /// Whether the height is proven.
    pub height_proven: bool,
    /// Why there is no block.
    pub reason: Option<String>,
}

impl SessionBoundView {
    fn of(bound: &SessionBound) -> Self {
        match bound {
            SessionBound::Block {
                height,
                time,
                proven,
            } => SessionBoundView {
                block: Some(*height),
                time: Some(time.to_string()),
                height_proven: *proven,
                reason: None,
            },
            SessionBound::None(why) => SessionBoundView {
                block: None,
                time: None,
                height_proven: false,
                reason: Some(why.clone()),
            },
        }
    }
}

/// Between which blocks a session was.
#[derive(Clone, Debug, Serialize)]
pub struct SessionBracketView {
    /// Id of the session.
    pub session: Hash32,
    /// After which block.
    pub not_before: SessionBoundView,
    /// Before which block.
    pub not_after: SessionBoundView,
}

impl SessionBracketView {
    fn of(session: &SessionReport) -> Self {
        SessionBracketView {
            session: session.id,
            not_before: SessionBoundView::of(&session.not_before),
            not_after: SessionBoundView::of(&session.not_after),
        }
    }
}

/// One session of a ledger that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct AuditedSessionView {
    /// Id of the session.
    pub id: Hash32,
    /// The block that it started under, or `local`.
    pub start_btc: String,
    /// The block that it ended under, `local`, or `open`.
    pub end_btc: String,
    /// After which block.
    pub not_before: SessionBoundView,
    /// Before which block.
    pub not_after: SessionBoundView,
    /// How many questions were answered.
    pub interactions: u64,
    /// Prompts, answered or not.
    pub prompts: Option<u64>,
    /// The branch of its commits.
    pub branch: String,
    /// `VALID` or `BROKEN`.
    pub chain_integrity: &'static str,
    /// Whether every hash in it holds.
    pub all_hashes_verified: bool,
}

impl AuditedSessionView {
    fn of(session: &SessionReport) -> Self {
        AuditedSessionView {
            id: session.id,
            start_btc: height(session.start),
            end_btc: end(session),
            not_before: SessionBoundView::of(&session.not_before),
            not_after: SessionBoundView::of(&session.not_after),
            interactions: session.interactions,
            prompts: session.prompts,
            branch: session.branch.clone(),
            chain_integrity: validity(session.chain_valid),
            all_hashes_verified: session.all_verified,
        }
    }
}

/// `sessions` of a report is their number, `session` the one that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct ReportView {
    /// The sentence that it comes to.
    pub headline: HeadlineView,
    /// The hash that the log starts from.
    pub genesis: Option<Hash32>,
    /// The chain whose blocks it names.
    pub network: Option<&'static str>,
    /// Whether that is a test network which the checker did not name.
    pub proves_nothing: bool,
    /// Lines of the log that were checked.
    pub entries: u64,
    /// Up to which lines the answers speak.
    pub extents: ExtentsView,
    /// The time of the last line judged.
    pub last_time: Option<String>,
    /// The last signed line.
    pub signed_through: u64,
    /// Lines behind it.
    pub lines_unsigned: u64,
    /// Lines that a writer added meanwhile.
    pub lines_newer: u64,
    /// Commits behind the last segment, where the log is not at hand.
    pub commits_without_line: u64,
    /// Lines that set the clock.
    pub clock_sets: Vec<ClockSetView>,
    /// Refs that a ledger does not have.
    pub foreign_refs: u64,
    /// Whether it was read as a plain clone.
    pub plain_clone: bool,
    /// Whether its first key is one that the checker named.
    pub pinned: bool,
    /// How many sessions it has.
    pub sessions: usize,
    /// Session starts and ends with an accepted header.
    pub btc_anchors: u64,
    /// The word on the chain.
    pub chain_integrity: String,
    /// How much was checked.
    pub checked: ScopeView,
    /// The answers, by question.
    pub answers: BTreeMap<&'static str, &'static str>,
    /// Why each answer is what it is, by the name of the question.
    pub reasons: BTreeMap<&'static str, String>,
    /// What is wrong.
    pub findings: Vec<FindingView>,
    /// How many findings more there are.
    pub more_findings: u64,
    /// The ledger's name.
    pub origin: Option<String>,
    /// Its keys, in the order in which they came into force.
    pub signers: Vec<String>,
    /// HASH of the last line checked.
    pub log_head: Hash32,
    /// Lines inside `main`.
    pub lines_in_segments: u64,
    /// Commits checked, by kind.
    pub commits: BTreeMap<&'static str, u64>,
    /// Tree heads checked.
    pub tree_heads: Vec<TreeHeadView>,
    /// How closely it is tied to blocks outside.
    pub bracket: LedgerBoundsView,
    /// What was checked of the database.
    pub database: Option<String>,
    /// Texts that are not kept.
    pub texts_not_kept: u64,
    /// Imported conversations that were checked, erased ones among them.
    pub imported_conversations: u64,
    /// What is wrong with the search indexes.
    pub search: Option<Vec<String>>,
    /// Where tables, views, indexes and triggers of the database are not as they are made.
    pub schema: Option<Vec<String>>,
    /// Receipts that it was held against.
    pub receipts: u64,
    /// What was kept of it and says otherwise.
    pub contradicted_by: BTreeSet<String>,
    /// Brackets of all sessions; null with `--since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_brackets: Option<Option<Vec<SessionBracketView>>>,
    /// The copy that was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<FetchedCopyView>,
    /// The session that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<AuditedSessionView>,
}

impl ReportView {
    /// Of a ledger.
    pub fn of_ledger(checked: &VerifyResult) -> Self {
        let report = &checked.report;
        let is_whole = matches!(report.scope, Scope::Whole { .. });
        let brackets = || report.sessions.iter().map(SessionBracketView::of).collect();
        ReportView {
            session_brackets: Some(is_whole.then(brackets)),
            copy: checked.copy.as_ref().map(FetchedCopyView::of),
            ..Self::of(
                report,
                report.findings.iter(),
                HeadlineView::of_ledger(checked),
            )
        }
    }

    /// Of one session, with the findings that touch it.
    pub fn of_session(report: &Report, session: &SessionReport) -> Self {
        ReportView {
            session: Some(AuditedSessionView::of(session)),
            ..Self::of(
                report,
                report.findings_of(session).into_iter(),
                HeadlineView::of_session(report, session),
            )
        }
    }

    fn of<'a>(
        report: &Report,
        findings: impl Iterator<Item = &'a Finding>,
        headline: HeadlineView,
    ) -> Self {
        let verdict = |question: AuditQuestion| -> &CheckVerdict { report.answers.to(question) };
        let extents = &report.extents;
        ReportView {
            headline,
            genesis: report.genesis,
            network: report
                .network
                .map(crate::record::bitcoin::block::Network::name),
            proves_nothing: report.proves_nothing,
            entries: report.entries,
            extents: ExtentsView {
                complete: extents.complete,
                unique: extents.unique,
                not_after: extents.not_after,
                signed_by: extents.signed_by,
            },
            last_time: report.last_time.map(|time| time.to_string()),
            signed_through: extents.signed_by,
            lines_unsigned: report.unsigned,
            lines_newer: report.newer,
            commits_without_line: report.commits_without_line,
            clock_sets: clock_sets(report),
            foreign_refs: report.foreign_refs,
            plain_clone: report.plain_clone,
            pinned: report.root_pinned,
            sessions: report.sessions.len(),
            btc_anchors: report.btc_anchors,
            chain_integrity: integrity(report),
            checked: ScopeView::of(report),
            answers: AuditQuestion::ALL
                .iter()
                .map(|question| (question.name(), verdict(*question).answer.word()))
                .collect(),
            reasons: AuditQuestion::ALL
                .iter()
                .map(|question| (question.name(), verdict(*question).reason.clone()))
                .collect(),
            findings: findings.map(FindingView::of).collect(),
            more_findings: report.more_findings,
            origin: report.origin.clone(),
            signers: report.signers.clone(),
            log_head: report.log_head,
            lines_in_segments: report.lines_in_segments,
            commits: report
                .commits
                .iter()
                .map(|(kind, n)| (kind.name(), *n))
                .collect(),
            tree_heads: tree_heads(report),
            bracket: LedgerBoundsView::of(&report.bounds),
            database: report.database.clone(),
            texts_not_kept: report.not_kept,
            imported_conversations: report.imported,
            search: report.search.clone(),
            schema: report.schema.clone(),
            receipts: report.receipts,
            contradicted_by: report.contradicted_by.clone(),
            session_brackets: None,
            copy: None,
            session: None,
        }
    }
}

fn clock_sets(report: &Report) -> Vec<ClockSetView> {
    let sets = report.clock_sets.iter().map(|set| ClockSetView {
        line: set.line,
        before: set.before.to_string(),
        to: set.to.to_string(),
    });
    sets.collect()
}

fn tree_heads(report: &Report) -> Vec<TreeHeadView> {
    let heads = report.tree_heads.iter().map(|head| TreeHeadView {
        size: head.size,
        root: head.root,
    });
    heads.collect()
}

/// The word on the chain; of a part only, with where it begins.
pub fn integrity(report: &Report) -> String {
    match &report.scope {
        Scope::Since { line, .. } if report.answers.consistent.answer == CheckAnswer::YesSince => {
            format!("VALID SINCE LINE {line}, not checked before")
        }
        _ => validity(report.chain_valid).to_owned(),
    }
}

/// The word on a chain.
pub const fn validity(valid: bool) -> &'static str {
    if valid { "VALID" } else { "BROKEN" }
}

/// The block of a session's start or end.
pub fn height(block: SessionBlock) -> String {
    match block {
        SessionBlock::Height(height) => height.to_string(),
        SessionBlock::Local => "local".to_owned(),
    }
}

/// The block of a session's end; `open` before it ends.
pub fn end(session: &SessionReport) -> String {
    session.end.map_or("open".to_owned(), height)
}
