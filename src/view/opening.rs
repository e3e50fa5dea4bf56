//! Opened texts: what was written, and what a check of it found.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::app::opening::NewOpening;
use crate::app::verify::opening::{CheckResult, opened};
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::TextOpening;
use crate::record::log::entry::{Event, Line};
use crate::verify::About;

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
    /// The text.
    pub text: String,
    /// The line of the log that carries it.
    pub line: Option<String>,
    /// Who answered, by that line.
    pub model: Option<String>,
}

impl OpenedTextView {
    fn of(opening: &TextOpening, line: Option<&Line>) -> Self {
        let model = line.and_then(|line| match &line.event {
            Event::Response { model, .. } => Some(model.clone()),
            _ => None,
        });
        OpenedTextView {
            role: opening.role.name(),
            session: opening.session_id.clone(),
            seq: opening.seq,
            text: opening.text.clone(),
            line: line.map(Line::text),
            model,
        }
    }
}

/// What a check of an opening file found.
#[derive(Clone, Debug, Serialize)]
pub struct OpeningReportView {
    /// The answers, by question.
    pub answers: BTreeMap<&'static str, &'static str>,
    /// Their reasons.
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
        let verdicts = About::ALL.map(|about| (about.name(), report.to(about)));
        let openings: Vec<OpenedTextView> = opened(&checked.file)
            .map(|(opening, line)| OpenedTextView::of(opening, line.as_ref()))
            .collect();
        let findings = report.findings.iter().map(|finding| FindingView {
            question: finding.about.name(),
            place: finding.place.clone(),
            expected: finding.expected.clone(),
            actual: finding.actual.clone(),
        });
        OpeningReportView {
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
    /// Its hash.
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
