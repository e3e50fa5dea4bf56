//! The digests of a turn, each with the document that it is over.
//!
//! Every digest is SHA-256 of the canonical text of the `hashed` beside it: keys sorted by code
//! point, no spaces, everything outside printable ASCII escaped.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::look::digests::{ContextTexts, DecisionDigest, TurnDigests};
use crate::audit::rows::contexts::Documents;
use crate::record::context::event::{EventKind, NormativeFields};
use crate::record::context::spec::{AssembledContext, ContextSpec, Transformation};
use crate::record::context::turn::Counts;
use crate::record::ledger::bundle::NamedHash;
use crate::store::EventRow;

/// What is hashed of one turn, beside the digests on record.
#[derive(Clone, Debug, Serialize)]
pub struct TurnDigestsView {
    /// Id of the thread.
    pub thread_id: Uuid,
    /// Id of the turn, which is the exchange's.
    pub turn_id: Uuid,
    /// Id of the turn that it replies to; null for the first of its thread.
    pub parent_turn_id: Option<Uuid>,
    /// Type of the intent: always `chat.message`.
    pub intent_type: String,
    /// Ids as the client declared them.
    pub declared: Vec<String>,
    /// Counts that policy saw.
    pub inputs: Counts,
    /// Events of the turn, sorted by `event_index`.
    pub events: Vec<EventDigestView>,
    /// The context configuration.
    pub configuration: DocumentDigestView,
    /// What was declared, resolved and put together.
    pub context: ContextDigestView,
    /// What the rules changed.
    pub transformations: Vec<Transformation>,
    /// What was sent to the model.
    pub prompt: DocumentDigestView,
    /// What was decided.
    pub decision: DecisionDigestView,
    /// The assembled context as it was sent; null when a text of it is erased.
    pub sent: Option<AssembledContext>,
    /// Why documents are missing; null when none is.
    pub not_here: Option<&'static str>,
}

/// An event with its digest.
#[derive(Clone, Debug, Serialize)]
pub struct EventDigestView {
    /// Id of the event.
    pub event: Uuid,
    /// Its place in the thread, from 0.
    pub event_index: u64,
    /// INTENT, DECISION or EXECUTION.
    pub kind: EventKind,
    /// Digest on record; null once it was destroyed with its text.
    pub event_digest: Option<NamedHash>,
    /// Number of its line in the log, from 1.
    pub line: u64,
}

/// A digest on record, and the document that it is over.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentDigestView {
    /// Digest on record; null when there is none.
    pub digest: Option<NamedHash>,
    /// The document; null when it can't be made again.
    pub hashed: Option<Value>,
}

/// The digest of a context, and the documents that it is over.
#[derive(Clone, Debug, Serialize)]
pub struct ContextDigestView {
    /// Digest on record; null when the references could not be resolved.
    pub digest: Option<NamedHash>,
    /// What the digest is over.
    pub hashed: Option<HashedContextView>,
    /// The specification with what the rules changed, which is not hashed.
    pub spec: Option<ContextSpec>,
}

/// The two documents that a context digest is over.
#[derive(Clone, Debug, Serialize)]
pub struct HashedContextView {
    /// What was put together.
    pub assembled_context: AssembledContext,
    /// What was declared and resolved.
    pub context_spec: ContextSpec,
}

/// The digest of a DECISION, and what it is over.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionDigestView {
    /// Digest on record; null when a text of the context is erased.
    pub digest: Option<NamedHash>,
    /// What the digest is over.
    pub hashed: Option<HashedDecisionView>,
    /// Whether the digest is that of these fields; left out where they can't be made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
}

/// What the digest of a DECISION is over.
#[derive(Clone, Debug, Serialize)]
pub struct HashedDecisionView {
    /// Id of the event.
    pub correlation_id: Uuid,
    /// Its normative fields.
    pub data: NormativeFields,
    /// Kind of the event: always `DECISION`.
    pub event_kind: &'static str,
}

impl TurnDigestsView {
    /// Of what is on record and was made again.
    pub fn of(digests: &TurnDigests) -> Self {
        let row = &digests.rows.row;
        let documents = digests.texts.as_ref();
        let documents = documents.and_then(|texts| texts.documents.as_ref());
        TurnDigestsView {
            thread_id: row.thread,
            turn_id: row.turn,
            parent_turn_id: row.parent,
            intent_type: row.intent.name().to_owned(),
            declared: digests
                .declared
                .iter()
                .map(|one| one.ref_id.clone())
                .collect(),
            inputs: digests.counts,
            events: digests
                .rows
                .events
                .iter()
                .map(EventDigestView::of)
                .collect(),
            configuration: DocumentDigestView {
                digest: Some(NamedHash(row.config_digest)),
                hashed: Some(digests.config.document().clone()),
            },
            context: ContextDigestView {
                digest: row.context_digest.map(NamedHash),
                hashed: documents.map(HashedContextView::of),
                spec: documents.map(|documents| documents.spec.clone()),
            },
            transformations: digests.transformations.clone(),
            prompt: DocumentDigestView {
                digest: row.prompt_digest.map(NamedHash),
                hashed: digests.prompt.clone(),
            },
            decision: DecisionDigestView::of(digests.texts.as_ref()),
            sent: documents.map(|documents| documents.sent.clone()),
            not_here: digests.texts.is_none().then_some("a text in it is erased"),
        }
    }
}

impl EventDigestView {
    fn of(row: &EventRow) -> Self {
        EventDigestView {
            event: row.event,
            event_index: row.index,
            kind: row.kind,
            event_digest: row.digest.map(NamedHash),
            line: row.line + 1,
        }
    }
}

impl HashedContextView {
    fn of(documents: &Documents) -> Self {
        HashedContextView {
            assembled_context: documents.hashed.clone(),
            context_spec: documents.spec.hashed(),
        }
    }
}

impl DecisionDigestView {
    fn of(texts: Option<&ContextTexts>) -> Self {
        let decision: Option<&DecisionDigest> = texts.map(|texts| &texts.decision);
        DecisionDigestView {
            digest: decision.and_then(|decision| decision.digest.map(NamedHash)),
            hashed: decision.map(|decision| HashedDecisionView {
                correlation_id: decision.event,
                data: decision.fields.clone(),
                event_kind: EventKind::Decision.name(),
            }),
            holds: decision.map(|decision| decision.holds),
        }
    }
}
