//! What a check comes to: one verdict, which screens name and exit codes follow.

use std::collections::BTreeSet;

use crate::record::bitcoin::block::Network;
use crate::verify::{AuditQuestion, CheckAnswer, Finding, Report, Scope, SessionReport};

use super::VerifyResult;

/// What a check comes to, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictMark {
    /// All holds.
    Yes,
    /// Something speaks against it.
    No,
    /// Neither.
    Open,
}

impl VerdictMark {
    /// The word in views.
    pub const fn name(self) -> &'static str {
        match self {
            VerdictMark::Yes => "yes",
            VerdictMark::No => "no",
            VerdictMark::Open => "open",
        }
    }
}

/// What speaks against a ledger.
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerObjection<'a> {
    /// Something that was found, the gravest first.
    Found {
        /// The gravest.
        first: &'a Finding,
        /// So many others there are.
        others: u64,
    },
    /// Lines that nobody signed.
    Unsigned {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// What somebody kept of it says otherwise.
    Contradicted(&'a BTreeSet<String>),
    /// The database is made otherwise; that is no word against what is on record in it.
    MadeOtherwise {
        /// The first difference.
        first: &'a str,
        /// So many others there are.
        others: usize,
    },
    /// A *no* that no finding stands for.
    AnsweredNo(AuditQuestion),
}

/// What the check of a ledger comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerVerdict<'a> {
    /// *Consistent* and *complete* are yes, and nothing at all was found.
    Holds,
    /// Something speaks against it.
    Against(LedgerObjection<'a>),
    /// Nothing does, and *consistent* or *complete* is no yes.
    NotProven,
    /// It holds, but for answers that the caller requires, in words.
    Unmet(&'a str),
}

/// What the check of one session comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionVerdict<'a> {
    /// Nothing in it was changed.
    Holds,
    /// Nothing in it was changed, but something speaks against its ledger.
    HoldsBut(LedgerObjection<'a>),
    /// Something speaks against it.
    Against(LedgerObjection<'a>),
    /// Nothing does, and that nothing was changed is not proven.
    NotProven,
}

/// What the check of a ledger leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenQuestion {
    /// What is before this line, which was not read again.
    Before(u64),
    /// By whom it is signed.
    ByWhom,
    /// Since when it is there, and why that is not known.
    Since(Option<NoTime>),
    /// Until when it was written.
    Until,
    /// Until when what is behind this line was written.
    UntilBehind(u64),
    /// Both, and why that is not known.
    When(Option<NoTime>),
    /// Whether there is another history behind this line.
    OtherHistoryBehind(u64),
    /// Whether there is another or a longer history.
    OtherHistory,
    /// The texts: no database is here.
    Texts,
    /// So many commits are newer than what was given of the log.
    NewerCommits(u64),
    /// So many records are newer, and being written.
    NewerRecords(u64),
}

/// Why blocks tell no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// They are of a test network.
    TestNetwork(Network),
    /// There is none.
    NoBlock,
}

impl LedgerVerdict<'_> {
    /// In one word.
    pub const fn mark(&self) -> VerdictMark {
        match self {
            LedgerVerdict::Holds => VerdictMark::Yes,
            LedgerVerdict::Against(_) => VerdictMark::No,
            LedgerVerdict::NotProven | LedgerVerdict::Unmet(_) => VerdictMark::Open,
        }
    }
}

impl SessionVerdict<'_> {
    /// Of one session of a ledger that was checked.
    pub fn of<'a>(report: &'a Report, session: &SessionReport) -> SessionVerdict<'a> {
        let found = gravest(report.findings_of(session).into_iter(), 0);
        let found = found.or_else(|| beside_findings(report));
        match (session.chain_valid && session.all_verified, found) {
            (true, None) => SessionVerdict::Holds,
            (true, Some(objection)) => SessionVerdict::HoldsBut(objection),
            (false, Some(objection)) => SessionVerdict::Against(objection),
            (false, None) => SessionVerdict::NotProven,
        }
    }

    /// In one word.
    pub const fn mark(&self) -> VerdictMark {
        match self {
            SessionVerdict::Holds => VerdictMark::Yes,
            SessionVerdict::Against(_) => VerdictMark::No,
            SessionVerdict::HoldsBut(_) | SessionVerdict::NotProven => VerdictMark::Open,
        }
    }
}

impl VerifyResult {
    /// What it comes to.
    pub fn verdict(&self) -> LedgerVerdict<'_> {
        let report = &self.report;
        let against = gravest(report.findings.iter(), report.more_findings);
        match (against.or_else(|| beside_findings(report)), &self.unmet) {
            (Some(objection), _) => LedgerVerdict::Against(objection),
            (None, _) if !report.holds() => LedgerVerdict::NotProven,
            (None, Some(unmet)) => LedgerVerdict::Unmet(unmet),
            (None, None) => LedgerVerdict::Holds,
        }
    }

    /// Whether the check has passed. What speaks against its time, its signer or there being no
    /// other history fails only where the caller requires an answer to that; the verdict names it
    /// all the same.
    pub fn passes(&self) -> bool {
        self.report.holds() && self.report.contradicted_by.is_empty() && self.unmet.is_none()
    }
}

/// The gravest of what was found; none where nothing was.
fn gravest<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    more: u64,
) -> Option<LedgerObjection<'a>> {
    let findings: Vec<&Finding> = findings.collect();
    // What was changed says more than what follows from it.
    let of = |question| findings.iter().find(|finding| finding.question == question);
    let first = AuditQuestion::ALL.into_iter().find_map(of)?;
    Some(LedgerObjection::Found {
        first,
        others: findings.len() as u64 - 1 + more,
    })
}

/// What speaks against a ledger and is no finding.
fn beside_findings(report: &Report) -> Option<LedgerObjection<'_>> {
    let signed = report.extents.signed_by;
    if report.unsigned > 0 {
        return Some(LedgerObjection::Unsigned {
            first: signed + 1,
            last: signed + report.unsigned,
        });
    }
    if !report.contradicted_by.is_empty() {
        return Some(LedgerObjection::Contradicted(&report.contradicted_by));
    }
    let faults = report.schema.as_deref().unwrap_or_default();
    if let Some((first, others)) = faults.split_first() {
        return Some(LedgerObjection::MadeOtherwise {
            first,
            others: others.len(),
        });
    }
    let no = |question: &AuditQuestion| report.answers.to(*question).answer == CheckAnswer::No;
    let question = AuditQuestion::ALL.into_iter().find(no);
    question.map(LedgerObjection::AnsweredNo)
}

/// What the check of a ledger leaves open.
pub fn left_open(report: &Report) -> Vec<OpenQuestion> {
    if let Scope::Since { line, .. } = &report.scope {
        return vec![OpenQuestion::Before(*line)];
    }
    let answer = |question| report.answers.to(question).answer;
    let mut open = Vec::new();
    if answer(AuditQuestion::SignedBy) != CheckAnswer::Yes && report.extents.signed_by > 0 {
        open.push(OpenQuestion::ByWhom);
    }
    open.extend(time_left_open(report));
    match answer(AuditQuestion::Unique) {
        CheckAnswer::Yes => {}
        CheckAnswer::Partly => open.push(OpenQuestion::OtherHistoryBehind(report.extents.unique)),
        _ => open.push(OpenQuestion::OtherHistory),
    }
    if report.database.is_none() {
        open.push(OpenQuestion::Texts);
    }
    if report.commits_without_line > 0 {
        open.push(OpenQuestion::NewerCommits(report.commits_without_line));
    }
    if report.newer > 0 {
        open.push(OpenQuestion::NewerRecords(report.newer));
    }
    open
}

/// What is not proven of the time.
fn time_left_open(report: &Report) -> Option<OpenQuestion> {
    let network = report.network.filter(|_| report.proves_nothing);
    let why = match (network, report.btc_anchors) {
        (Some(network), _) => Some(NoTime::TestNetwork(network)),
        (None, 0) => Some(NoTime::NoBlock),
        (None, _) => None,
    };
    let is_yes = |question| report.answers.to(question).answer == CheckAnswer::Yes;
    let (since, until) = (
        is_yes(AuditQuestion::NotBefore),
        is_yes(AuditQuestion::NotAfter),
    );
    let is_partly = report.answers.not_after.answer == CheckAnswer::Partly;
    match (since, until) {
        (true, true) => None,
        (_, false) if is_partly => Some(OpenQuestion::UntilBehind(report.extents.not_after)),
        (true, false) => Some(OpenQuestion::Until),
        (false, true) => Some(OpenQuestion::Since(why)),
        (false, false) => Some(OpenQuestion::When(why)),
    }
}
