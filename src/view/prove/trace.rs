//! Traces: one that is shown, what was exported, what a check found, and the key that signs them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::app::prove::trace::export::NewExport;
use crate::app::prove::trace::key::TraceKey;
use crate::app::prove::trace::show::ShownTrace;
use crate::app::prove::trace::verify::CheckedTrace;
use crate::record::trace::field::TraceStep;
use crate::record::trace::level::Absence;
use crate::record::trace::signed::KeyRegistration;
use crate::record::trace::value::TraceValue;

/// What a component of a trace tells.
pub const fn step_words(step: TraceStep) -> &'static str {
    match step {
        TraceStep::ThoughtStart => "what was asked",
        TraceStep::SnapshotAndContext => "what was looked at",
        TraceStep::DmaResults => "what speaks against it",
        TraceStep::IdmaResult => "how far apart the sources were",
        TraceStep::AspdmaResult => "what was decided",
        TraceStep::ConscienceResult => "how the answer was judged",
        TraceStep::ActionResult => "what came of it",
    }
}

/// Why a field is absent, behind *absent*.
pub const fn absence_words(absence: Absence) -> &'static str {
    match absence {
        Absence::NotMeasured => "nothing here measures it",
        Absence::NoSuchThing => "this turn has no such thing",
        Absence::NotReported => "the model's server did not say",
        Absence::NoJudgement => "the check that would tell was not made",
        Absence::NoSpecialist => "no specialist was asked",
        Absence::NotUsd => "the price is in another currency than USD",
        Absence::Erased => "it is erased",
        Absence::NotKept => "this home keeps no texts",
        Absence::FromBefore => "the turn is from before this was recorded",
    }
}

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
    /// What screens call its exchange; null where this home does not have it.
    pub exchange: Option<String>,
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
            exchange: checked.exchange.clone(),
            trace_level: checked.level.name(),
            signature_key_id: checked.key_id.clone(),
            in_envelope: checked.in_envelope,
            signed_by: checked.signed_by.map(|key| key.to_string()),
            answers: answers.collect(),
        }
    }
}

/// A trace that is shown, without a signature.
#[derive(Clone, Debug, Serialize)]
pub struct ShownTraceView {
    /// What screens call its exchange.
    pub exchange: String,
    /// How facts became fields: `gently.trace/1`.
    pub mapping: &'static str,
    /// `v1.9.3` or `v1.9.1`.
    pub profile: &'static str,
    /// By the place of a field, why it is absent.
    pub absent: BTreeMap<String, Absence>,
    /// What of the exchange is not as it was recorded, so that its trace is not exported.
    pub changed: Vec<&'static str>,
    /// Its components, as they would be signed.
    pub components: Vec<TraceComponentView>,
    /// As it would name itself.
    pub trace_id: String,
    /// `th_` and the exchange's id.
    pub thought_id: String,
    /// `task_` and the thread's id; null for exchanges from before threads.
    pub task_id: Option<String>,
    /// The first digits of the SHA-256 of the ledger's name.
    pub agent_id_hash: String,
    /// Time of the prompt's line.
    pub started_at: String,
    /// Time of the outcome's line.
    pub completed_at: String,
    /// `generic`, `detailed` or `full_traces`.
    pub trace_level: &'static str,
}

/// One component of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceComponentView {
    /// `observation`, `context`, `rationale`, `conscience`, `action`.
    pub component_type: String,
    /// Its fields.
    pub data: BTreeMap<String, TraceValue>,
    /// Which step it is.
    pub event_type: String,
    /// When it took place.
    pub timestamp: String,
}

impl ShownTraceView {
    /// Of a trace.
    pub fn of(shown: &ShownTrace) -> Self {
        let trace = shown.built.trace.clone();
        let components = trace.components.into_iter().map(|one| TraceComponentView {
            component_type: one.component_type,
            data: one.data,
            event_type: one.event_type,
            timestamp: one.timestamp,
        });
        ShownTraceView {
            exchange: shown.short.clone(),
            mapping: shown.mapping.name(),
            profile: shown.request.profile.name(),
            absent: shown.built.absent.clone(),
            changed: shown.changed.clone(),
            components: components.collect(),
            trace_id: trace.trace_id,
            thought_id: trace.thought_id,
            task_id: trace.task_id,
            agent_id_hash: trace.agent_id_hash,
            started_at: trace.started_at,
            completed_at: trace.completed_at,
            trace_level: trace.trace_level.name(),
        }
    }
}

/// Traces that were exported.
#[derive(Clone, Debug, Serialize)]
pub struct NewExportView {
    /// The record of it: `export:000001`.
    pub id: String,
    /// The file.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Ids of the exchanges, in the file's order.
    pub exchanges: Vec<String>,
    /// How many of what was selected wait for their outcome, and are left out.
    pub waiting: u64,
    /// Ids of the consents under which texts are shown.
    pub consents: Vec<String>,
    /// The key that signed the traces.
    pub key_id: String,
    /// `generic`, `detailed` or `full_traces`.
    pub level: &'static str,
    /// `v1.9.3` or `v1.9.1`.
    pub profile: &'static str,
}

impl NewExportView {
    /// Of an export, and where its file is.
    pub fn of(new: &NewExport, file: &Path) -> Self {
        let planned = &new.planned;
        NewExportView {
            id: new.id.clone(),
            file: file.display().to_string(),
            sha256: planned.sha256.to_string(),
            exchanges: planned.exchanges.iter().map(ToString::to_string).collect(),
            waiting: planned.waiting,
            consents: planned.consents.clone(),
            key_id: planned.key_id.clone(),
            level: planned.trace.level.name(),
            profile: planned.trace.profile.name(),
        }
    }
}
