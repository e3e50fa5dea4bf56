//! The documents that a turn's digests are over, exactly as they are hashed: anybody computes them
//! again.

use serde_json::Value;
use uuid::Uuid;

use crate::audit::rows::contexts::{ContextFault, Documents};
use crate::record::context::config::ContextConfig;
use crate::record::context::event::{EventKind, NormativeFields, event_digest};
use crate::record::context::spec::{DeclaredRef, Transformation};
use crate::record::context::turn::{Counts, prompt_document};
use crate::record::hash::Hash32;
use crate::store::{ContextRows, ExchangeRow, Store};

/// What is hashed of one turn, beside the digests on record.
pub struct TurnDigests {
    /// Rows of the turn's context, with its digests.
    pub rows: ContextRows,
    /// References that the client declared.
    pub declared: Vec<DeclaredRef>,
    /// Counts that policy saw.
    pub counts: Counts,
    /// Configuration that the references were resolved with.
    pub config: ContextConfig,
    /// What the rules changed.
    pub transformations: Vec<Transformation>,
    /// Document of the prompt; none when no model got one.
    pub prompt: Option<Value>,
    /// What needs every text of the context; none when one is erased.
    pub texts: Option<ContextTexts>,
}

/// The digests of an exchange and what they are over; none for one without a thread.
pub fn digests(
    store: &Store,
    exchange: &ExchangeRow,
    compiled: Option<&str>,
) -> Result<Option<TurnDigests>, ContextFault> {
    let Some(rows) = ContextRows::read(store, exchange.exchange_id)? else {
        return Ok(None);
    };
    let texts = match texts(store, exchange, &rows) {
        Ok(texts) => Some(texts),
        Err(ContextFault::Gone) => None,
        Err(other) => return Err(other),
    };
    let prompt = compiled
        .map(|compiled| prompt_document(compiled, &exchange.model, exchange.params.as_deref()))
        .transpose()
        .map_err(|e| ContextFault::Wrong(e.to_string()))?;
    Ok(Some(TurnDigests {
        declared: rows.declared()?,
        counts: rows.counts()?,
        config: rows.config(store)?,
        transformations: rows.transformations()?,
        prompt,
        texts,
        rows,
    }))
}

/// What needs every text of the context.
pub struct ContextTexts {
    /// Specification and assembled context; none when the references could not be resolved.
    pub documents: Option<Documents>,
    /// What was decided.
    pub decision: DecisionDigest,
}

/// The digest of a DECISION, computed again.
pub struct DecisionDigest {
    /// Id of the event.
    pub event: Uuid,
    /// Digest on record.
    pub digest: Option<Hash32>,
    /// What the digest is over.
    pub fields: NormativeFields,
    /// Whether the digest on record is the one of these fields.
    pub holds: bool,
}

fn texts(
    store: &Store,
    exchange: &ExchangeRow,
    context: &ContextRows,
) -> Result<ContextTexts, ContextFault> {
    let user = store
        .turn(exchange.turn_user)?
        .and_then(|turn| turn.content)
        .ok_or(ContextFault::Gone)?;
    let documents = context.documents(store, &user)?;
    let digest = documents
        .as_ref()
        .map(|documents| documents.digest())
        .transpose()?;
    let gone = || ContextFault::Wrong("the session of the exchange is not here".to_owned());
    let session = store.session_of(exchange.session)?.ok_or_else(gone)?;
    let event = context
        .event(EventKind::Decision)
        .ok_or_else(|| ContextFault::Wrong("its DECISION is gone".to_owned()))?;
    let mut fields = context.normative(&session, exchange, digest)?;
    fields.reasons.sort();
    let data = serde_json::to_value(&fields).map_err(|e| ContextFault::Wrong(e.to_string()))?;
    let again = event_digest(EventKind::Decision, &event.event.to_string(), data);
    let again = again.map_err(|e| ContextFault::Wrong(e.to_string()))?;
    Ok(ContextTexts {
        documents,
        decision: DecisionDigest {
            event: event.event,
            digest: event.digest,
            fields,
            holds: event.digest == Some(again.0),
        },
    })
}
