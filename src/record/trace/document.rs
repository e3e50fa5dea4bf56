//! What an exchange document says of the trace of its exchange: where the document is opened, a trace
//! is held against it, without the home.
//!
//! The document holds no text, no check of a reply by itself, and no place in the log. What a trace
//! says of those is compared with nothing here.

use super::ended_turn::{EndedTurn, TurnThread};
use super::envelope::EnvelopeHead;
use super::field::{TASK_ID, TraceField, profile_of};
use super::level::{Absence, TraceLevel};
use super::mapping::{BuiltTrace, TraceMapping, TraceRequest, task_id};
use super::signed::{TraceFault, UnsignedTrace};
use super::value::TraceValue;
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::exchange::{ExchangeEnd, ExchangeOutcome};
use crate::record::hash::Hash32;
use crate::record::ledger::exchange::ExchangeDoc;

/// Fields that follow from the document of any exchange.
pub const TOLD: [TraceField; 20] = [
    TraceField::RoundNumber,
    TraceField::ThoughtDepth,
    TraceField::ThoughtType,
    TraceField::DomainAlignment,
    TraceField::HasConflicts,
    TraceField::Conflicts,
    TraceField::EffectiveSources,
    TraceField::CorrelationRisk,
    TraceField::Phase,
    TraceField::FragilityFlag,
    TraceField::SourcesIdentified,
    TraceField::SelectedAction,
    TraceField::ActionRationale,
    TraceField::HumilityUncertainties,
    TraceField::ExecutionTimeMs,
    TraceField::TokensInput,
    TraceField::TokensOutput,
    TraceField::TokensTotal,
    TraceField::CostCents,
    TraceField::ModelsUsed,
];
/// Fields that follow from it where there is no answer: whether one is withheld, its checks say, which
/// are not in the document.
pub const TOLD_WITHOUT_ANSWER: [TraceField; 4] = [
    TraceField::ActionWasOverridden,
    TraceField::FacultiesSkipped,
    TraceField::ExecutionSuccess,
    TraceField::ActionExecuted,
];
/// So many characters of a value are shown.
const SHOWN: usize = 80;

/// Why a document can't be held against a trace.
#[derive(Debug, thiserror::Error)]
pub enum DocumentFault {
    /// A kind of end that is not known here.
    #[error("outcome '{0}', which this gently does not know")]
    Outcome(String),
    /// A list in it is no list.
    #[error(transparent)]
    List(#[from] CanonError),
    /// What it says gives no trace.
    #[error(transparent)]
    Trace(#[from] TraceFault),
}

/// Something of which a trace and the document of its exchange do not say the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: the trace has {said}, the exchange document {held}")]
pub struct DocumentDifference {
    /// The place of the field, or the name of what stands beside the components.
    pub what: String,
    /// As trace and envelope have it, shortened.
    pub said: String,
    /// As the document has it, shortened.
    pub held: String,
}

/// The first thing of which an envelope and the exchange document do not say the same; none where all
/// that both tell is the same in both.
///
/// # Errors
/// A document that gives no trace.
pub fn difference(
    head: &EnvelopeHead,
    trace: &UnsignedTrace,
    document: &ExchangeDoc,
) -> Result<Option<DocumentDifference>, DocumentFault> {
    let turn = ended_turn(document)?;
    let beside = beside(head, trace, document).into_iter();
    if let Some(found) = beside.flatten().next() {
        return Ok(Some(found));
    }
    let request = TraceRequest {
        level: TraceLevel::FullTraces,
        profile: profile_of(trace, &head.absent),
        withheld_too: false,
    };
    let built = head.mapping.build(&turn.facts(&head.origin)?, request)?;
    let mut fields = told(turn.end.outcome).filter(|field| field.row().level <= trace.trace_level);
    Ok(fields.find_map(|field| differing(field, (head, trace), &built, request)))
}

/// The fields that follow from the document of an exchange that ended so.
fn told(outcome: ExchangeOutcome) -> impl Iterator<Item = TraceField> {
    let is_answered = outcome == ExchangeOutcome::Answered;
    let others = TOLD_WITHOUT_ANSWER.into_iter();
    let others = others.filter(move |_| !is_answered);
    TOLD.into_iter().chain(others)
}

/// What stands beside the components, compared.
fn beside(
    head: &EnvelopeHead,
    trace: &UnsignedTrace,
    document: &ExchangeDoc,
) -> [Option<DocumentDifference>; 8] {
    let measures = document.measures.as_ref();
    let has_specialist = measures.is_some_and(|measures| measures.specialist.is_some());
    let mapping = document.trace.as_ref().map(|trace| trace.mapping.as_str());
    let thread = document.context.as_ref().map(|context| context.thread_id);
    let task = thread.map(task_id).ok_or(Absence::FromBefore);
    let said_task = trace.task_id.clone().ok_or(head.absent.get(TASK_ID));
    let said_specialist = head.mapping == TraceMapping::Second;
    [
        compared("exchange", head.exchange, document.exchange_id),
        compared("session_id", head.session_id, document.session_id),
        compared("seq", head.seq, document.seq),
        compared("started_at", &trace.started_at, document.asked_at),
        compared("completed_at", &trace.completed_at, document.answered_at),
        compared(
            "mapping",
            head.mapping.name(),
            mapping.unwrap_or(TraceMapping::First.name()),
        ),
        compared(
            "specialist",
            specialist(said_specialist),
            specialist(has_specialist),
        ),
        compared(
            TASK_ID,
            said_task.unwrap_or_else(absent),
            task.unwrap_or_else(|why| absent(Some(&why))),
        ),
    ]
}

fn specialist(is_one: bool) -> &'static str {
    match is_one {
        true => "one",
        false => "none",
    }
}

/// Two things that are the same where they are spelled alike.
fn compared(what: &str, said: impl ToString, held: impl ToString) -> Option<DocumentDifference> {
    let (said, held) = (said.to_string(), held.to_string());
    (said != held).then(|| DocumentDifference {
        what: what.to_owned(),
        said: shortened(&said),
        held: shortened(&held),
    })
}

/// A field of which the trace, or its envelope where it is absent, says something else than what is
/// built from the document.
fn differing(
    field: TraceField,
    (head, trace): (&EnvelopeHead, &UnsignedTrace),
    built: &BuiltTrace,
    request: TraceRequest,
) -> Option<DocumentDifference> {
    let path = field.place(request.profile).path();
    let value = |trace| field.find(request.profile, trace).map(printed);
    let said = value(trace).unwrap_or_else(|| absent(head.absent.get(&path)));
    let held = value(&built.trace).unwrap_or_else(|| absent(built.absent.get(&path)));
    compared(&path, said, held)
}

fn printed(value: &TraceValue) -> String {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// That nothing stands in a place, and why.
fn absent(why: Option<&Absence>) -> String {
    let code = why.map_or("without a reason", |why| why.code());
    format!("none ({code})")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.split_at(end).0),
        None => text.to_owned(),
    }
}

/// The turn that a document tells of, as far as it tells of it: of no check, and of no line.
pub(super) fn ended_turn(document: &ExchangeDoc) -> Result<EndedTurn, DocumentFault> {
    let outcome = ExchangeOutcome::named(&document.outcome);
    let outcome = outcome.ok_or_else(|| DocumentFault::Outcome(document.outcome.clone()))?;
    let thread = document.context.as_ref().map(|context| {
        let reasons = canon::print(&context.reasons)?;
        let thread = context.thread_id;
        Ok::<_, CanonError>(TurnThread { thread, reasons })
    });
    Ok(EndedTurn {
        exchange: document.exchange_id,
        thread: thread.transpose()?,
        asked_at: document.asked_at,
        seq: document.seq,
        prompt_line: Hash32::ZERO,
        prompt_number: 0,
        model: document.model.clone(),
        authority: document.authority_state,
        has_params: document.params.is_some(),
        is_not_kept: false,
        artifacts: document.artifacts.clone(),
        checks: Vec::new(),
        measures: document.measures.clone(),
        end: end(document, outcome),
        is_erased: false,
        is_withheld_by_drift: false,
    })
}

fn end(document: &ExchangeDoc, outcome: ExchangeOutcome) -> ExchangeEnd {
    ExchangeEnd {
        outcome,
        reason: document.reason.clone(),
        answered_at: document.answered_at,
        has_answer: document.aurora_text.is_some(),
        answer: None,
        reply: None,
        refusal: document.refusal,
        validator: document.validator.as_ref().map(ToString::to_string),
        prompt_tokens: document.prompt_tokens,
        completion_tokens: document.completion_tokens,
        cost: document.cost.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::record::ledger::documents::Format;
    use crate::record::ledger::exchange::ArtifactEntry;
    use crate::record::ledger::measures::TurnMeasures;
    use crate::record::ledger::params::Cost;
    use crate::record::time::Seconds;
    use crate::record::trace::envelope::EnvelopeKind;

    /// What a document would have to say, and what is then named.
    type DocumentChange = (&'static dyn Fn(&mut ExchangeDoc), &'static str);

    /// The documents of the vectors, each with its name.
    fn documents() -> Vec<(String, ExchangeDoc)> {
        let text = include_str!("../../../tests/vectors/ours/measures.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let cases = vectors["cases"].as_array().unwrap().iter();
        cases
            .map(|case| {
                let document = case["document"].as_str().unwrap();
                let document = canon::parse(document.as_bytes()).unwrap();
                (case["name"].as_str().unwrap().to_owned(), document)
            })
            .collect()
    }

    fn answered() -> ExchangeDoc {
        documents().remove(0).1
    }

    /// A trace of what a document tells, with what stands around it.
    fn traced(document: &ExchangeDoc, level: TraceLevel) -> (EnvelopeHead, UnsignedTrace) {
        let facts = ended_turn(document).unwrap().facts("gently/x").unwrap();
        let mapping = TraceMapping::of(&facts);
        let request = TraceRequest {
            level,
            ..TraceRequest::COMMITTED
        };
        let BuiltTrace { trace, absent } = mapping.build(&facts, request).unwrap();
        let head = EnvelopeHead {
            absent,
            committed: None,
            consent: None,
            exchange: document.exchange_id,
            format: Format,
            kind: EnvelopeKind::Trace,
            line: Hash32::ZERO,
            mapping,
            origin: "gently/x".to_owned(),
            prompt_line: Hash32::ZERO,
            proof: None,
            seq: document.seq,
            session_id: document.session_id,
            sha256: Hash32::ZERO,
        };
        (head, trace)
    }

    fn measures(document: &mut ExchangeDoc) -> &mut TurnMeasures {
        document.measures.as_mut().unwrap()
    }

    #[test]
    fn a_trace_is_as_its_own_document_says_at_every_level() {
        for (name, document) in documents() {
            for level in TraceLevel::ALL {
                let (head, trace) = traced(&document, level);
                let found = difference(&head, &trace, &document).unwrap();
                assert_eq!(found, None, "{name}, {level}");
            }
        }
    }

    #[test]
    fn everything_that_both_tell_is_compared() {
        let (head, trace) = traced(&answered(), TraceLevel::Detailed);
        let changes: [DocumentChange; 22] = [
            (&|doc| doc.exchange_id = uuid::Uuid::nil(), "exchange"),
            (&|doc| doc.session_id = Hash32::ZERO, "session_id"),
            (&|doc| doc.seq = 8, "seq"),
            (
                &|doc| doc.asked_at = "2026-01-01T00:00:00Z".parse::<Seconds>().unwrap(),
                "started_at",
            ),
            (
                &|doc| doc.answered_at = "2026-01-01T00:00:00Z".parse::<Seconds>().unwrap(),
                "completed_at",
            ),
            (
                &|doc| doc.trace.as_mut().unwrap().mapping.push('1'),
                "mapping",
            ),
            (
                &|doc| measures(doc).specialist = Some("specialist:000001".parse().unwrap()),
                "specialist",
            ),
            (
                &|doc| {
                    let context = serde_json::json!({
                        "config_digest": format!("sha256:{}", Hash32::ZERO), "context_digest": null, "declared": [],
                        "events": [], "inputs": {"as_of": 1, "at": 1, "recent": 0, "spent": 0, "thread": 0},
                        "intent_type": "chat.message", "parent_turn_id": null, "prompt_digest": null,
                        "reasons": [], "refs": [], "thread_id": uuid::Uuid::nil(), "transformations": [],
                    });
                    doc.context = Some(serde_json::from_value(context).unwrap());
                },
                "task_id",
            ),
            (
                &|doc| measures(doc).depth = 3,
                "THOUGHT_START.thought_depth",
            ),
            (&|doc| doc.measures = None, "THOUGHT_START.thought_depth"),
            (
                &|doc| measures(doc).is_in_conflict = true,
                "DMA_RESULTS.pdma.has_conflicts",
            ),
            (&|doc| measures(doc).sources = 7, "IDMA_RESULT.k_eff"),
            (&|doc| measures(doc).same_pairs = 5, "IDMA_RESULT.k_eff"),
            (
                &|doc| doc.artifacts = vec![artifact()],
                "DMA_RESULTS.pdma.conflicts",
            ),
            (
                &|doc| doc.outcome = "denied".to_owned(),
                "IDMA_RESULT.k_eff",
            ),
            (
                &|doc| measures(doc).model_ms = Some(1205),
                "ACTION_RESULT.execution_time_ms",
            ),
            (
                &|doc| measures(doc).model_ms = None,
                "ACTION_RESULT.execution_time_ms",
            ),
            (
                &|doc| doc.prompt_tokens = Some(1),
                "ACTION_RESULT.tokens_input",
            ),
            (
                &|doc| doc.completion_tokens = None,
                "ACTION_RESULT.tokens_output",
            ),
            (
                &|doc| {
                    doc.cost = Some(Cost {
                        currency: "EUR".to_owned(),
                        micro: 2050,
                    });
                },
                "ACTION_RESULT.cost_cents",
            ),
            (
                &|doc| doc.model = "openai/other".to_owned(),
                "ACTION_RESULT.models_used",
            ),
            (&|doc| doc.params = None, "DMA_RESULTS.pdma.conflicts"),
        ];
        for (change, what) in changes {
            let mut document = answered();
            change(&mut document);
            let found = difference(&head, &trace, &document).unwrap();
            assert_eq!(found.map(|found| found.what).as_deref(), Some(what));
        }
    }

    fn artifact() -> ArtifactEntry {
        ArtifactEntry {
            artifact_id: "ledger:000001".to_owned(),
            artifact_type: "ledger_fact".to_owned(),
            freshness_s: None,
            included_reason: "x".to_owned(),
            observed_at: None,
            risk_flags: Some(r#"["conflict:ledger:000002"]"#.to_owned()),
        }
    }

    #[test]
    fn both_are_named_in_a_difference() {
        let (head, trace) = traced(&answered(), TraceLevel::Generic);
        let told = |change: &dyn Fn(&mut ExchangeDoc)| {
            let mut document = answered();
            change(&mut document);
            let found = difference(&head, &trace, &document).unwrap();
            found.unwrap().to_string()
        };
        assert_eq!(
            told(&|doc| doc.prompt_tokens = Some(1801)),
            "ACTION_RESULT.tokens_input: the trace has 1800, the exchange document 1801"
        );
        assert_eq!(
            told(&|doc| doc.completion_tokens = None),
            "ACTION_RESULT.tokens_output: the trace has 47, the exchange document none (not_reported)"
        );
        // The model is no part of the least level.
        let mut other = answered();
        other.model = "m".repeat(SHOWN + 1);
        assert_eq!(difference(&head, &trace, &other).unwrap(), None);
        let (head, trace) = traced(&answered(), TraceLevel::Detailed);
        let found = difference(&head, &trace, &other).unwrap().unwrap();
        assert!(found.held.ends_with('…'), "{found}");
        other.outcome = "postponed".to_owned();
        let fault = difference(&head, &trace, &other).unwrap_err();
        assert!(fault.to_string().contains("'postponed'"), "{fault}");
    }

    /// Whether an answer is withheld the document does not say, and that there is none it does.
    #[test]
    fn what_took_place_is_compared_where_there_is_no_answer() {
        for (name, is_told) in [("answered", false), ("failed", true), ("denied", true)] {
            let mut documents = documents().into_iter();
            let (_, document) = documents.find(|(known, _)| known == name).unwrap();
            let (mut head, mut trace) = traced(&document, TraceLevel::Generic);
            let place = TraceField::ExecutionSuccess;
            place.take(TraceRequest::COMMITTED.profile, &mut trace);
            let path = place.place(TraceRequest::COMMITTED.profile).path();
            head.absent.insert(path, Absence::Erased);
            let found = difference(&head, &trace, &document).unwrap();
            assert_eq!(found.is_some(), is_told, "{name}: {found:?}");
        }
    }
}
