//! The line that a check begins with: what it comes to, and what it leaves open.

use serde::Serialize;

use crate::app::keep::doctor::{CheckState, DoctorReport};
use crate::app::prove::verify::VerifyResult;
use crate::app::prove::verify::conclusion::{
    LedgerObjection, LedgerVerdict, NoTime, OpenQuestion, SessionVerdict, VerdictMark, left_open,
};
use crate::app::words::{and_more, counted};
use crate::record::signature::PublicKey;
use crate::verify::{AuditQuestion, Report, Scope, SessionReport};

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
    /// With nothing left open.
    pub fn new(mark: VerdictMark, text: String) -> Self {
        HeadlineView {
            mark: mark.name(),
            text,
            not_proven: Vec::new(),
        }
    }

    /// Of a ledger that was checked.
    pub fn of_ledger(checked: &VerifyResult) -> Self {
        let (report, verdict) = (&checked.report, checked.verdict());
        let text = match &verdict {
            LedgerVerdict::Holds => unchanged(report),
            LedgerVerdict::Against(objection) => {
                return Self::new(verdict.mark(), objected(report, objection));
            }
            LedgerVerdict::NotProven => "Not proven: that all is here, unchanged".to_owned(),
            LedgerVerdict::Unmet(unmet) => format!("Not proven, as you require it: {unmet}"),
        };
        HeadlineView {
            not_proven: left_open(report).into_iter().map(open_words).collect(),
            ..Self::new(verdict.mark(), text)
        }
    }

    /// Of one session of it.
    pub fn of_session(report: &Report, session: &SessionReport) -> Self {
        let verdict = SessionVerdict::of(report, session);
        let text = match &verdict {
            SessionVerdict::Holds => {
                let answers = counted(session.interactions, "answer");
                let asked = session
                    .prompts
                    .filter(|asked| *asked > session.interactions);
                let asked = asked.map(|asked| format!("{}, ", counted(asked, "question")));
                let asked = asked.unwrap_or_default();
                format!("Nothing in this session was changed: {asked}{answers}")
            }
            SessionVerdict::HoldsBut(objection) => format!(
                "Nothing in this session was changed, but of its ledger: {}",
                objected(report, objection)
            ),
            SessionVerdict::Against(objection) => objected(report, objection),
            SessionVerdict::NotProven => "Not proven: that nothing was changed".to_owned(),
        };
        Self::new(verdict.mark(), text)
    }

    /// Of a home.
    pub fn of_home(report: &DoctorReport) -> Self {
        let checks = &report.checks;
        let of = |state| checks.iter().filter(move |check| check.state == state);
        let skipped: Vec<&str> = of(CheckState::Skipped).map(|check| check.name).collect();
        let all = checks.len() - skipped.len();
        let mark = report.mark();
        let text = match mark {
            VerdictMark::Yes => format!("All is well: {all} checks"),
            VerdictMark::Open => {
                let n = of(CheckState::Warn).count();
                format!("{n} of {all} checks ask for a look")
            }
            VerdictMark::No => format!("{} of {all} checks fail", of(CheckState::Fail).count()),
        };
        HeadlineView {
            not_proven: each_once(&skipped),
            ..Self::new(mark, text)
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

/// `Changed: log line 5; and 3 more findings`.
fn objected(report: &Report, objection: &LedgerObjection<'_>) -> String {
    match objection {
        LedgerObjection::Found { first, others } => {
            let what = match first.question {
                AuditQuestion::Consistent => "Changed",
                AuditQuestion::Complete => "Not complete",
                AuditQuestion::Unique => "There is a second history",
                AuditQuestion::NotBefore | AuditQuestion::NotAfter => "Wrong about the time",
                AuditQuestion::SignedBy => "Signed by another key",
            };
            let others = match *others {
                0 => String::new(),
                n => format!("; and {}", counted(n, "more finding")),
            };
            format!("{what}: {}{others}", first.place)
        }
        LedgerObjection::Unsigned { first, last } => {
            format!("Not signed: log lines {first} to {last} are signed by nobody")
        }
        LedgerObjection::Contradicted(by) => {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            format!("What was kept of it says otherwise: {}", by.join(", "))
        }
        LedgerObjection::MadeOtherwise { first, others } => {
            let more = and_more(*others).map_or_else(String::new, |more| format!("; {more}"));
            format!("The database is not as gently makes it: {first}{more}")
        }
        LedgerObjection::AnsweredNo(question) => {
            let reason = &report.answers.to(*question).reason;
            let name = question.name().replace('_', " ");
            format!("The answer to \"{name}\" is no: {reason}")
        }
    }
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
fn open_words(open: OpenQuestion) -> String {
    let why = |why: Option<NoTime>| match why {
        Some(NoTime::TestNetwork(network)) => format!(" ({} is a test network)", network.name()),
        Some(NoTime::NoBlock) => " (no block)".to_owned(),
        None => String::new(),
    };
    match open {
        OpenQuestion::Before(line) => {
            format!("what is before line {line}, which was not read again")
        }
        OpenQuestion::ByWhom => "by whom (--signer KEY)".to_owned(),
        OpenQuestion::Since(no_time) => format!("since when{}", why(no_time)),
        OpenQuestion::Until => "until when".to_owned(),
        OpenQuestion::UntilBehind(line) => format!("until when, behind line {line}"),
        OpenQuestion::When(no_time) => format!("when{}", why(no_time)),
        OpenQuestion::OtherHistoryBehind(line) => {
            format!("that there is no other history behind line {line} (no witness)")
        }
        OpenQuestion::OtherHistory => {
            "that there is no other or longer history (no witness)".to_owned()
        }
        OpenQuestion::Texts => "the texts (no database here)".to_owned(),
        OpenQuestion::NewerCommits(n) => format!("{} (--log FILE)", counted(n, "newer commit")),
        OpenQuestion::NewerRecords(n) => format!("{} (being written)", counted(n, "newer record")),
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
