//! The line that a check begins with: what it comes to, and what it leaves open.

use serde::Serialize;

use crate::app::keep::doctor::{CheckState, DoctorReport};
use crate::app::prove::verify::VerifyResult;
use crate::app::words::counted;
use crate::record::bitcoin::block::Network;
use crate::record::signature::PublicKey;
use crate::verify::{AuditQuestion, CheckAnswer, Finding, Report, Scope, SessionReport};

use super::report::touching;

/// What a check comes to, in one sentence.
#[derive(Clone, Debug, Serialize)]
pub struct HeadlineView {
    /// `yes`, `no`, or `open` for what is neither.
    pub mark: &'static str,
    /// The verdict, as one sentence.
    pub text: String,
    /// What the check leaves open, each with its reason.
    pub not_proven: Vec<String>,
}

impl HeadlineView {
    fn no(text: String) -> Self {
        HeadlineView {
            mark: "no",
            text,
            not_proven: Vec::new(),
        }
    }

    /// Of a ledger that was checked.
    ///
    /// The mark is `yes` only where the answers to *consistent* and *complete* are, and nothing at
    /// all was found.
    pub fn of_ledger(checked: &VerifyResult) -> Self {
        let report = &checked.report;
        let against = of_findings(report.findings.iter(), report.more_findings);
        let against = against.or_else(|| of_all(report));
        if let Some(text) = against {
            return Self::no(text);
        }
        let not_proven = not_proven(report);
        let (mark, text) = if !report.holds() {
            ("open", "Not proven: that all is here, unchanged".to_owned())
        } else if let Some(unmet) = &checked.unmet {
            ("open", format!("Not proven, as you require it: {unmet}"))
        } else {
            ("yes", unchanged(report))
        };
        HeadlineView {
            mark,
            text,
            not_proven,
        }
    }

    /// Of one session of it.
    pub fn of_session(report: &Report, session: &SessionReport) -> Self {
        let found = of_findings(touching(report, session).into_iter(), 0);
        let found = found.or_else(|| of_all(report));
        let holds = session.chain_valid && session.all_verified;
        let (mark, text) = match (holds, found) {
            (true, None) => {
                let answers = counted(session.interactions, "answer");
                let asked = session
                    .prompts
                    .filter(|asked| *asked > session.interactions);
                let asked = asked.map(|asked| format!("{}, ", counted(asked, "question")));
                let asked = asked.unwrap_or_default();
                let text = format!("Nothing in this session was changed: {asked}{answers}");
                ("yes", text)
            }
            (true, Some(found)) => (
                "open",
                format!("Nothing in this session was changed, but of its ledger: {found}"),
            ),
            (false, Some(found)) => ("no", found),
            (false, None) => ("open", "Not proven: that nothing was changed".to_owned()),
        };
        HeadlineView {
            mark,
            text,
            not_proven: Vec::new(),
        }
    }

    /// Of a home.
    pub fn of_home(report: &DoctorReport) -> Self {
        let checks = &report.checks;
        let of = |state| checks.iter().filter(move |check| check.state == state);
        let failed = of(CheckState::Fail).count();
        let warned = of(CheckState::Warn).count();
        let skipped: Vec<&str> = of(CheckState::Skipped).map(|check| check.name).collect();
        let all = checks.len() - skipped.len();
        let (mark, text) = match (failed, warned) {
            (0, 0) => ("yes", format!("All is well: {all} checks")),
            (0, n) => ("open", format!("{n} of {all} checks ask for a look")),
            (n, _) => ("no", format!("{n} of {all} checks fail")),
        };
        HeadlineView {
            mark,
            text,
            not_proven: each_once(&skipped),
        }
    }
}

/// Names, each once, with how many there are of those that come several times: `4 calendars`.
fn each_once(names: &[&str]) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if names.iter().position(|other| other == name) != Some(at) {
            continue;
        }
        once.push(match names.iter().filter(|other| *other == name).count() {
            1 => (*name).to_owned(),
            n if name.ends_with('s') => format!("{n} {name}es"),
            n => format!("{n} {name}s"),
        });
    }
    once
}

/// `Changed: log line 5; 3 more findings`; none where nothing was found.
fn of_findings<'a>(findings: impl Iterator<Item = &'a Finding>, more: u64) -> Option<String> {
    let findings: Vec<&Finding> = findings.collect();
    // What was changed says more than what follows from it.
    let of = |question| findings.iter().find(|finding| finding.question == question);
    let first = AuditQuestion::ALL.into_iter().find_map(of)?;
    let what = match first.question {
        AuditQuestion::Consistent => "Changed",
        AuditQuestion::Complete => "Not complete",
        AuditQuestion::Unique => "There is a second history",
        AuditQuestion::NotBefore | AuditQuestion::NotAfter => "Wrong about the time",
        AuditQuestion::SignedBy => "Signed by another key",
    };
    let others = findings.len() as u64 - 1 + more;
    let others = match others {
        0 => String::new(),
        n => format!("; and {}", counted(n, "more finding")),
    };
    Some(format!("{what}: {}{others}", first.place))
}

/// What speaks against a ledger and is no finding.
fn of_all(report: &Report) -> Option<String> {
    unsigned(report)
        .or_else(|| contradiction(report))
        .or_else(|| altered(report))
        .or_else(|| answered_no(report))
}

fn unsigned(report: &Report) -> Option<String> {
    let first = report.extents.signed_by + 1;
    let last = report.extents.signed_by + report.unsigned;
    (report.unsigned > 0)
        .then(|| format!("Not signed: log lines {first} to {last} are signed by nobody"))
}

/// How a headline begins that names tables and the like, as they are called in the database.
pub const MADE_OTHERWISE: &str = "The database is not as gently makes it";

/// The database is made otherwise; that is no word against what is on record in it.
fn altered(report: &Report) -> Option<String> {
    let faults = report.schema.as_deref().unwrap_or_default();
    let (first, more) = faults.split_first()?;
    let more = match more.len() as u64 {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    Some(format!("{MADE_OTHERWISE}: {first}{more}"))
}

fn contradiction(report: &Report) -> Option<String> {
    let by: Vec<&str> = report.contradicted_by.iter().map(String::as_str).collect();
    let by = by.join(", ");
    (!by.is_empty()).then(|| format!("What was kept of it says otherwise: {by}"))
}

/// A *no* that no finding stands for.
fn answered_no(report: &Report) -> Option<String> {
    let no = |question: &AuditQuestion| report.answers.to(*question).answer == CheckAnswer::No;
    let question = AuditQuestion::ALL.into_iter().find(no)?;
    let reason = &report.answers.to(question).reason;
    let name = question.name().replace('_', " ");
    Some(format!("The answer to \"{name}\" is no: {reason}"))
}

fn unchanged(report: &Report) -> String {
    let sessions = u64::try_from(report.sessions.len()).unwrap_or(u64::MAX);
    let (records, sessions) = (
        counted(report.entries, "record"),
        counted(sessions, "session"),
    );
    let erased = match report.erased {
        0 => String::new(),
        n => format!(", {n} erased"),
    };
    let by = signer(report).map(|key| format!(", signed by {key}"));
    let by = by.unwrap_or_default();
    match &report.scope {
        Scope::Since { line, .. } if *line > 0 => {
            format!("Nothing was changed or dropped since line {line}: {records} read{erased}{by}")
        }
        _ => format!("Nothing was changed or dropped: {records}, {sessions}{erased}{by}"),
    }
}

/// The newest key's fingerprint without its middle: `AbCd…fb10`.
fn signer(report: &Report) -> Option<String> {
    let key: PublicKey = report.signers.last()?.parse().ok()?;
    let fingerprint = key.fingerprint();
    let digits = fingerprint.strip_prefix("SHA256:")?;
    Some(format!("{}…{}", digits.get(..4)?, digits.get(39..)?))
}

/// What is not proven of a ledger, and why in a word or two.
fn not_proven(report: &Report) -> Vec<String> {
    if let Scope::Since { line, .. } = &report.scope {
        return vec![format!(
            "what is before line {line}, which was not read again"
        )];
    }
    let answer = |question| report.answers.to(question).answer;
    let is_yes = |question| matches!(answer(question), CheckAnswer::Yes);
    let mut open = Vec::new();
    if !is_yes(AuditQuestion::SignedBy) && report.extents.signed_by > 0 {
        open.push("by whom (--signer KEY)".to_owned());
    }
    open.extend(time(report, is_yes));
    match answer(AuditQuestion::Unique) {
        CheckAnswer::Yes => {}
        CheckAnswer::Partly => open.push(format!(
            "that there is no other history behind line {} (no witness)",
            report.extents.unique
        )),
        _ => open.push("that there is no other or longer history (no witness)".to_owned()),
    }
    if report.database.is_none() {
        open.push("the texts (no database here)".to_owned());
    }
    if report.commits_without_line > 0 {
        let commits = counted(report.commits_without_line, "newer commit");
        open.push(format!("{commits} (--log FILE)"));
    }
    if report.newer > 0 {
        let lines = counted(report.newer, "newer record");
        open.push(format!("{lines} (being written)"));
    }
    open
}

/// What is not proven of the time.
fn time(report: &Report, is_yes: impl Fn(AuditQuestion) -> bool) -> Option<String> {
    let network = report.network.filter(|_| report.proves_nothing);
    let why = match (network.map(Network::name), report.btc_anchors) {
        (Some(network), _) => format!(" ({network} is a test network)"),
        (None, 0) => " (no block)".to_owned(),
        (None, _) => String::new(),
    };
    let partly = report.answers.not_after.answer == CheckAnswer::Partly;
    let (since, until) = (
        is_yes(AuditQuestion::NotBefore),
        is_yes(AuditQuestion::NotAfter),
    );
    match (since, until) {
        (true, true) => None,
        (_, false) if partly => {
            let line = report.extents.not_after;
            Some(format!("until when, behind line {line}"))
        }
        (true, false) => Some("until when".to_owned()),
        (false, true) => Some(format!("since when{why}")),
        (false, false) => Some(format!("when{why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_of_a_name_are_counted() {
        let names = [
            "calendar",
            "witnesses",
            "calendar",
            "witness",
            "sources",
            "witness",
        ];
        assert_eq!(
            each_once(&names),
            ["2 calendars", "witnesses", "2 witnesses", "sources"]
        );
        assert!(each_once(&[]).is_empty());
    }
}
