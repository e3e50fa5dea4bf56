//! The documents that a turn's digests are over, exactly as they are hashed: anybody computes them
//! again.

use serde_json::{Value, json};

use crate::audit::rows::contexts::ContextFault;
use crate::record::context::event::{EventKind, event_digest};
use crate::record::context::turn::prompt_document;
use crate::record::ledger::bundle::NamedHash;
use crate::store::{ContextRows, ExchangeRow, Store};

/// What is hashed of one turn, beside the digests on record; none for an exchange without a thread.
///
/// Every digest is SHA-256 of the canonical text of the `hashed` beside it: keys sorted by code
/// point, no spaces, everything outside printable ASCII escaped.
pub struct TurnDigests(pub Value);

/// The digests of an exchange and what they are over.
pub fn digests(
    store: &Store,
    exchange: &ExchangeRow,
    compiled: Option<&str>,
) -> Result<Option<TurnDigests>, ContextFault> {
    let Some(context) = ContextRows::read(store, exchange.exchange_id)? else {
        return Ok(None);
    };
    let config = context.config(store)?;
    let row = &context.row;
    let named = |digest: Option<_>| digest.map(NamedHash);
    let events = context.events.iter().map(|event| {
        json!({
            "event": event.event, "event_index": event.index, "kind": event.kind,
            "event_digest": named(event.digest), "line": event.line + 1,
        })
    });
    let mut facts = json!({
        "thread_id": row.thread, "turn_id": row.turn, "parent_turn_id": row.parent, "intent_type": row.intent_type,
        "declared": context.declared()?.iter().map(|one| &one.ref_id).collect::<Vec<_>>(),
        "inputs": context.counts()?,
        "events": events.collect::<Vec<_>>(),
        "configuration": {"digest": named(Some(row.config_digest)), "hashed": config.document()},
        "context": {"digest": named(row.context_digest), "hashed": Value::Null, "spec": Value::Null},
        "transformations": context.transformations()?,
        "prompt": {"digest": named(row.prompt_digest), "hashed": Value::Null},
        "decision": {"digest": Value::Null, "hashed": Value::Null},
        "sent": Value::Null, "not_here": Value::Null,
    });
    match texts(store, exchange, &context) {
        Ok(texts) => {
            facts["context"]["hashed"] = texts.hashed;
            facts["context"]["spec"] = texts.spec;
            facts["sent"] = texts.sent;
            facts["decision"] = texts.decision;
        }
        Err(ContextFault::Gone) => facts["not_here"] = json!("a text in it is erased"),
        Err(other) => return Err(other),
    }
    if let Some(compiled) = compiled {
        let document = prompt_document(compiled, &exchange.model, exchange.params.as_deref());
        facts["prompt"]["hashed"] = document.map_err(|e| ContextFault::Wrong(e.to_string()))?;
    }
    Ok(Some(TurnDigests(facts)))
}

/// What needs every text of the context.
struct ContextTexts {
    hashed: Value,
    /// The specification with what the rules changed, which is not hashed.
    spec: Value,
    sent: Value,
    decision: Value,
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
    let (hashed, spec, sent) = match &documents {
        Some(made) => {
            let hashed =
                json!({"assembled_context": made.hashed, "context_spec": made.spec.hashed()});
            (hashed, json!(made.spec), json!(made.sent))
        }
        None => (Value::Null, Value::Null, Value::Null),
    };
    let gone = || ContextFault::Wrong("the session of the exchange is not here".to_owned());
    let session = store.session_of(exchange.session)?.ok_or_else(gone)?;
    let event = context
        .event(EventKind::Decision)
        .ok_or_else(|| ContextFault::Wrong("its DECISION is gone".to_owned()))?;
    let mut normative = context.normative(&session, exchange, digest)?;
    normative.reasons.sort();
    let data = json!(normative);
    let again = event_digest(EventKind::Decision, &event.event.to_string(), data.clone());
    let again = again.map_err(|e| ContextFault::Wrong(e.to_string()))?;
    let hashed_decision =
        json!({"correlation_id": event.event, "data": data, "event_kind": "DECISION"});
    let decision = json!({
        "digest": event.digest.map(NamedHash), "hashed": hashed_decision, "holds": event.digest == Some(again.0),
    });
    Ok(ContextTexts {
        hashed,
        spec,
        sent,
        decision,
    })
}
