//! Opened texts: what was written, and what a check of it found.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::app::prove::opening::NewOpening;
use crate::app::prove::verify::opening::{CheckResult, PageOrigin, opened};
use crate::record::bitcoin::block::Network;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, TextOpening};
use crate::record::log::entry::{Event, Line};
use crate::verify::{CheckAnswer, OpeningQuestion};

use super::report::FindingView;

/// An opened text, as a file of them has it.
#[derive(Clone, Debug, Serialize)]
pub struct OpenedTextView {
    /// Which text it is.
    pub role: &'static str,
    /// The session; `-` outside of sessions.
    pub session: String,
    /// The prompt's number in it.
    pub seq: Option<u64>,
    /// The text that the opening shows.
    pub text: String,
    /// Whether it is the text that was put on record; of a file whose parts contradict each other, none
    /// is known to be.
    pub opens: bool,
    /// The line of the log that carries it.
    pub line: Option<String>,
    /// Who answered, by that line.
    pub model: Option<String>,
}

impl OpenedTextView {
    fn of(opening: &TextOpening, line: Option<&Line>, opens: bool) -> Self {
        let model = line.and_then(|line| match &line.event {
            Event::Response { model, .. } => Some(model.clone()),
            _ => None,
        });
        OpenedTextView {
            role: opening.role.name(),
            session: opening.session_id.clone(),
            seq: opening.seq,
            text: opening.text.clone(),
            opens,
            line: line.map(Line::text),
            model,
        }
    }
}

/// Genuine or not, by whom, when between: in a word, and a sentence each.
#[derive(Clone, Debug, Serialize)]
pub struct OpeningVerdictView {
    /// `yes`, `no`, or `open` for what is not proven.
    pub mark: &'static str,
    /// `Genuine`, `Changed`, `Not signed`, `Wrong about the time`, `Another key`, `Not proven`.
    pub word: &'static str,
    /// Why the answer is what it is.
    pub text: String,
    /// Who vouches for it.
    pub by: String,
    /// When it was put on record, as far as that is proven.
    pub when: String,
}

/// What is said of a file, before its sentences on signer and time.
type OpeningVerdictText = (&'static str, &'static str, String);

impl OpeningVerdictView {
    /// Of a check.
    pub fn of(checked: &CheckResult) -> Self {
        let (mark, word, text) = Self::changed(checked)
            .or_else(|| Self::untrue(checked))
            .or_else(|| Self::unproven(checked))
            .unwrap_or_else(|| {
                let texts = match checked.file.openings.len() {
                    1 => "this is the text that was".to_owned(),
                    n => format!("these {n} texts are those that were"),
                };
                let text = format!("{texts} put on record, to the character");
                ("yes", "Genuine", text)
            });
        OpeningVerdictView {
            mark,
            word,
            text,
            by: by(checked),
            when: when(checked),
        }
    }

    /// What is not as it was put on record.
    fn changed(checked: &CheckResult) -> Option<OpeningVerdictText> {
        let (report, openings) = (&checked.report, &checked.file.openings);
        let is_no = |about| report.to(about).answer == CheckAnswer::No;
        let other = (0..openings.len()).find(|at| !report.text_opens(*at));
        let text = openings.get(
            other
                .filter(|_| is_no(OpeningQuestion::Commitment))
                .unwrap_or(openings.len()),
        );
        if let Some(opening) = text {
            let seq = opening
                .seq
                .map_or_else(String::new, |seq| format!(" {seq}"));
            let what = match opening.role {
                Role::Prompt => "question",
                Role::Response => "the answer to question",
                Role::Exchange => "the document of turn",
                Role::Request => "what was sent for question",
                Role::Reply => "what came beside answer",
                _ => "the text of the artifact",
            };
            let text = format!("{what}{seq} is not the text that was put on record");
            return Some(("no", "Changed", text));
        }
        is_no(OpeningQuestion::Consistent)
            .then(|| ("no", "Changed", first(checked, OpeningQuestion::Consistent)))
    }

    /// What is not so of a text that was put on record.
    fn untrue(checked: &CheckResult) -> Option<OpeningVerdictText> {
        let is_no = |about| checked.report.to(about).answer == CheckAnswer::No;
        if is_no(OpeningQuestion::TreeHead) {
            return Some((
                "no",
                "Not signed",
                first(checked, OpeningQuestion::TreeHead),
            ));
        }
        if let Some(about) = [OpeningQuestion::NotBefore, OpeningQuestion::NotAfter]
            .into_iter()
            .find(|about| is_no(*about))
        {
            let text = format!("text and signature hold, but {}", first(checked, about));
            return Some(("no", "Wrong about the time", text));
        }
        if is_no(OpeningQuestion::SignedBy) {
            let text = "this is not signed by any of the keys that you gave".to_owned();
            return Some(("no", "Another key", text));
        }
        is_no(OpeningQuestion::CosignedBy).then(|| {
            let text = "text and signature hold, but a witness's signature is forged".to_owned();
            ("no", "Wrong about a witness", text)
        })
    }

    /// What whoever checks asked for, and the file does not show.
    fn unproven(checked: &CheckResult) -> Option<OpeningVerdictText> {
        let is_yes = checked.report.to(OpeningQuestion::SignedBy).answer == CheckAnswer::Yes;
        if checked.pinned > 0 && !is_yes {
            let text = "this is signed by an older key than the newest that you gave".to_owned();
            return Some(("open", "Not proven", text));
        }
        let missing: Vec<String> = checked
            .missing
            .iter()
            .map(|(about, _)| about.name().replace('_', " "))
            .collect();
        let text = format!("you asked for more than this shows: {}", missing.join(", "));
        (!missing.is_empty()).then_some(("open", "Not proven", text))
    }
}

/// The first finding about a question, in a sentence.
fn first(checked: &CheckResult, about: OpeningQuestion) -> String {
    let found = checked
        .report
        .findings
        .iter()
        .find(|finding| finding.about == about);
    found.map_or_else(
        || checked.report.to(about).reason,
        |found| {
            format!(
                "{}: expected {}, found {}",
                found.place, found.expected, found.actual
            )
        },
    )
}

/// Whether the parts fit together, so that they say anything.
pub fn is_whole(checked: &CheckResult) -> bool {
    let needed = [OpeningQuestion::Consistent, OpeningQuestion::TreeHead];
    needed
        .iter()
        .all(|about| checked.report.to(*about).answer == CheckAnswer::Yes)
}

fn by(checked: &CheckResult) -> String {
    let Some(key) = checked.report.signer.filter(|_| is_whole(checked)) else {
        return "nobody: no signature of the record's own key holds for all of this".to_owned();
    };
    let whose = match (
        checked.pinned,
        checked.report.to(OpeningQuestion::SignedBy).answer,
    ) {
        (0, _) => " (whose key?)",
        (_, CheckAnswer::Yes) => ", the key that you gave",
        (_, CheckAnswer::No) => ", no key that you gave",
        _ => ", an older key of yours",
    };
    format!("{}{whose}", key.fingerprint())
}

fn when(checked: &CheckResult) -> String {
    let report = &checked.report;
    if !is_whole(checked) {
        return "not judged: the parts of this contradict each other".to_owned();
    }
    let time = match (report.since, report.until) {
        (Some(since), Some(until)) => format!("put on record between {since} and {until}"),
        (Some(since), None) => format!("put on record after {since}; before when, is not proven"),
        (None, Some(until)) => format!("put on record before {until}; after when, is not proven"),
        (None, None) => {
            let times = opened(&checked.file).filter_map(|(_, line)| Some(line?.time));
            let last = times
                .max()
                .map(|time| format!("; {time} by the writer's clock"));
            format!("not proven{}", last.unwrap_or_default())
        }
    };
    let network = report
        .network
        .filter(|network| *network != Network::Bitcoin);
    let test = network.map(|network| format!(" ({}, a test network)", network.name()));
    format!("{time}{}", test.unwrap_or_default())
}

/// What a check of an opening file found.
#[derive(Clone, Debug, Serialize)]
pub struct OpeningReportView {
    /// The three lines that say it in short.
    pub verdict: OpeningVerdictView,
    /// The page that the file was taken from: `ours` or `foreign`.
    pub page: Option<&'static str>,
    /// The answers, by question.
    pub answers: BTreeMap<&'static str, &'static str>,
    /// Why each answer is what it is, by the name of the question.
    pub reasons: BTreeMap<&'static str, String>,
    /// What is wrong.
    pub findings: Vec<FindingView>,
    /// What the file opens.
    pub openings: Vec<OpenedTextView>,
    /// Most files have one opening: its parts stand beside the list, too.
    #[serde(flatten)]
    pub first: Option<OpenedTextView>,
    /// The ledger's network.
    pub network: Option<&'static str>,
    /// The key that genesis and rotations lead to.
    pub signer: Option<String>,
}

impl OpeningReportView {
    /// Of a check.
    pub fn of(checked: &CheckResult) -> Self {
        let report = &checked.report;
        let verdicts = OpeningQuestion::ALL.map(|about| (about.name(), report.to(about)));
        let openings: Vec<OpenedTextView> = opened(&checked.file)
            .enumerate()
            .map(|(at, (opening, line))| {
                OpenedTextView::of(
                    opening,
                    line.as_ref(),
                    report.text_opens(at) && is_whole(checked),
                )
            })
            .collect();
        let findings = report.findings.iter().map(|finding| FindingView {
            question: finding.about.name(),
            place: finding.place.clone(),
            expected: finding.expected.clone(),
            actual: finding.actual.clone(),
        });
        OpeningReportView {
            verdict: OpeningVerdictView::of(checked),
            page: checked.page.map(PageOrigin::name),
            answers: verdicts
                .iter()
                .map(|(name, verdict)| (*name, verdict.answer.word()))
                .collect(),
            reasons: verdicts
                .iter()
                .map(|(name, verdict)| (*name, verdict.reason.clone()))
                .collect(),
            findings: findings.collect(),
            first: openings.first().cloned(),
            openings,
            network: report.network.map(|network| network.name()),
            signer: report.signer.map(|key| key.to_string()),
        }
    }
}

/// A text that was opened.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedOpeningView {
    /// The id of the record of it.
    pub opening: String,
    /// The number of its log line, from 1.
    pub log_line: u64,
    /// The session; `-` outside of sessions.
    pub session: String,
    /// The prompt's number in it.
    pub seq: Option<u64>,
    /// Which text it is.
    pub role: &'static str,
}

/// An opening file that was written.
#[derive(Clone, Debug, Serialize)]
pub struct NewOpeningView {
    /// Where it is.
    pub file: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// How many of them are not the texts'.
    pub bytes_without_text: Option<usize>,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// What it opens.
    pub openings: Vec<RecordedOpeningView>,
    /// Sentences on what could not be put in.
    pub left_out: Vec<String>,
}

impl NewOpeningView {
    /// Of a file, and where it was written.
    pub fn of(opening: &NewOpening, file: &Path) -> Self {
        let pairs = opening.file.openings.iter().zip(&opening.recorded);
        let openings = pairs.map(|(opened, recorded)| RecordedOpeningView {
            opening: recorded.document.id.clone(),
            log_line: recorded.line + 1,
            session: opened.session_id.clone(),
            seq: opened.seq,
            role: opened.role.name(),
        });
        NewOpeningView {
            file: file.display().to_string(),
            bytes: opening.text.len(),
            bytes_without_text: opening.file.around().ok(),
            sha256: Hash32::digest(opening.text.as_bytes()).to_string(),
            openings: openings.collect(),
            left_out: opening.left_out.clone(),
        }
    }
}
