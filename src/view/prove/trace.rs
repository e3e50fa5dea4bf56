//! Traces: what a check of them found, and the key that signs them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::app::prove::trace::key::TraceKey;
use crate::app::prove::trace::verify::CheckedTrace;
use crate::record::trace::signed::KeyRegistration;

/// The key that signs traces.
#[derive(Clone, Debug, Serialize)]
pub struct TraceKeyView {
    /// What the other project's receiver takes to register it.
    #[serde(flatten)]
    pub registration: KeyRegistration,
    /// The file of `trace.key_file`; null where the ledger's key signs.
    pub key_file: Option<String>,
}

impl TraceKeyView {
    /// Of a key.
    pub fn of(key: &TraceKey) -> Self {
        TraceKeyView {
            registration: key.registration.clone(),
            key_file: key.file.clone(),
        }
    }
}

/// A file of traces that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedTracesView {
    /// Each of them, in the file's order.
    pub traces: Vec<CheckedTraceView>,
    /// The exit code.
    pub exit: u8,
}

/// One trace with the answers to all questions.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedTraceView {
    /// As it names itself.
    pub trace_id: String,
    /// `generic`, `detailed` or `full_traces`.
    pub trace_level: &'static str,
    /// The key that it names.
    pub signature_key_id: String,
    /// Whether it came in an envelope.
    pub in_envelope: bool,
    /// The ledger key around it, as OpenSSH spells it; null without an envelope.
    pub signed_by: Option<String>,
    /// By the name of the question.
    pub answers: BTreeMap<&'static str, TraceAnswerView>,
}

/// An answer with its reason.
#[derive(Clone, Debug, Serialize)]
pub struct TraceAnswerView {
    /// `yes`, `no` or `not checked`.
    pub answer: &'static str,
    /// Why, in one line.
    pub reason: String,
}

impl CheckedTraceView {
    /// Of one trace.
    pub fn of(checked: &CheckedTrace) -> Self {
        let answers = checked.answers.iter().map(|(question, verdict)| {
            let answer = TraceAnswerView {
                answer: verdict.answer.word(),
                reason: verdict.reason.clone(),
            };
            (question.name(), answer)
        });
        CheckedTraceView {
            trace_id: checked.trace_id.clone(),
            trace_level: checked.level.name(),
            signature_key_id: checked.key_id.clone(),
            in_envelope: checked.in_envelope,
            signed_by: checked.signed_by.map(|key| key.to_string()),
            answers: answers.collect(),
        }
    }
}
