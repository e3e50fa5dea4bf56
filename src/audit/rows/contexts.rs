//! Thread and context of a turn, made again from the rows (DBL; format, section 12 step 6).
//!
//! Nothing stored is believed: events are digested from their texts, references are put together
//! from them, and what comes out is compared with what stands in the columns and in the exchange
//! document's commitments.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::continuity::declared::TurnPlace;
use crate::continuity::gates::ExclusionReason;
use crate::continuity::refs::CODES;
use crate::record::canon;
use crate::record::context::config::ContextConfig;
use crate::record::context::event::{
    Boundary, DecisionPayload, EventKind, EventPosition, Execution, IntentPayload, NormativeFields,
    PolicyName, PolicyVerdict, Reason, ThreadEvent,
};
use crate::record::context::spec::{
    AssembledContext, ContextForm, ContextSpec, DeclaredRef, Identity, RefType, ResolvedContext,
    ResolvedRef, Transformation, context_digest,
};
use crate::record::context::turn::Counts;
use crate::record::ledger::bundle::NamedHash;
use crate::store::{
    ContextRefRow, ContextRows, EventRow, ExchangeRow, ReadStore, ReferredText, SessionRow,
    StoreError, TurnRow,
};

/// Why something can't be made again.
#[derive(Debug, thiserror::Error)]
pub enum ContextFault {
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A text that it needs is erased or was never kept.
    #[error("a text in it is erased, or was not kept")]
    Gone,
    /// It contradicts itself.
    #[error("{0}")]
    Wrong(String),
}

fn wrong(what: impl std::fmt::Display) -> ContextFault {
    ContextFault::Wrong(what.to_string())
}

/// The documents that a turn's digests are over.
#[derive(Clone, Debug)]
pub struct Documents {
    /// What was declared and resolved.
    pub spec: ContextSpec,
    /// What was put together, as it is hashed.
    pub hashed: AssembledContext,
    /// … and as it is sent.
    pub sent: AssembledContext,
}

impl Documents {
    /// `context_digest` over both.
    pub fn digest(&self) -> Result<NamedHash, ContextFault> {
        context_digest(&self.spec, &self.hashed).map_err(wrong)
    }
}

impl ContextRows {
    /// Its event of a kind.
    pub fn event(&self, kind: EventKind) -> Option<&EventRow> {
        self.events.iter().find(|event| event.kind == kind)
    }

    /// The configuration that it was resolved with, by its own digest.
    pub fn config(&self, store: &ReadStore) -> Result<ContextConfig, ContextFault> {
        let text = store.context_config(self.row.config_digest)?;
        let text = text.ok_or_else(|| {
            wrong(format!(
                "configuration {} is not here",
                self.row.config_digest
            ))
        })?;
        ContextConfig::parse(&text).map_err(wrong)
    }

    /// Where it stands in its thread, and what it is for.
    pub fn place(&self) -> TurnPlace {
        TurnPlace {
            thread: self.row.thread,
            parent: self.row.parent,
            intent: self.row.intent,
        }
    }

    /// Ids as they were declared.
    pub fn declared(&self) -> Result<Vec<DeclaredRef>, ContextFault> {
        let ids: Vec<String> = parsed(&self.row.declared)?;
        Ok(ids.into_iter().map(DeclaredRef::event).collect())
    }

    /// What policy counted.
    pub fn counts(&self) -> Result<Counts, ContextFault> {
        parsed(&self.row.inputs)
    }

    /// Codes of the DECISION.
    pub fn reasons(&self) -> Result<Vec<String>, ContextFault> {
        parsed(&self.row.reasons)
    }

    /// What the rules changed.
    pub fn transformations(&self) -> Result<Vec<Transformation>, ContextFault> {
        parsed(&self.row.transformations)
    }

    /// The references as they stand in the rows, with events that are digested again.
    fn resolved(&self, store: &ReadStore) -> Result<ResolvedContext, ContextFault> {
        let (declared, transformations) = (self.declared()?, self.transformations()?);
        let mut refs = Vec::new();
        for ReferredText {
            reference, kind, ..
        } in &self.refs
        {
            let missing = || wrong(format!("event {} is not here", reference.event));
            let row = store.event(reference.event)?.ok_or_else(missing)?;
            let event = match event_again(store, &row) {
                Err(ContextFault::Gone)
                    if was_gone(store, &transformations, reference, row.turn)? =>
                {
                    ThreadEvent::without_text(*kind, place_of(&row))
                }
                event => event?,
            };
            let (own, turn) = (reference.event.to_string(), row.turn.to_string());
            let names = |id: &str| {
                id == reference.ref_id || id == own || (*kind == EventKind::Intent && id == turn)
            };
            for one in declared.iter().filter(|one| names(&one.ref_id)) {
                let reference = ContextRefRow {
                    ref_id: one.ref_id.clone(),
                    ..reference.clone()
                };
                refs.push((resolved_ref(&reference, &event), event.clone()));
            }
        }
        refs.sort_by(|(a, _), (b, _)| (a.event_index, &a.ref_id).cmp(&(b.event_index, &b.ref_id)));
        Ok(ResolvedContext {
            declared,
            refs,
            transformations,
        })
    }

    /// The documents that its digests are over, from the user's text; none when nothing was
    /// resolved.
    pub fn documents(
        &self,
        store: &ReadStore,
        text: &str,
    ) -> Result<Option<Documents>, ContextFault> {
        if self
            .reasons()?
            .iter()
            .any(|code| CODES.contains(&code.as_str()))
        {
            return Ok(None);
        }
        self.documents_of(&self.config(store)?, text, &self.resolved(store)?)
            .map(Some)
    }

    /// The same from references that were resolved again.
    pub fn documents_of(
        &self,
        config: &ContextConfig,
        text: &str,
        resolved: &ResolvedContext,
    ) -> Result<Documents, ContextFault> {
        let identity = Identity {
            parent_turn_id: self.row.parent.map(|parent| parent.to_string()),
            thread_id: self.row.thread.to_string(),
            turn_id: self.row.turn.to_string(),
        };
        Ok(Documents {
            spec: ContextSpec::new(config, identity, self.row.intent.name(), text, resolved),
            hashed: AssembledContext::new(text, resolved, ContextForm::Hashed),
            sent: AssembledContext::new(text, resolved, ContextForm::Sent),
        })
    }

    /// The normative fields of its DECISION, with a context digest that was computed again.
    pub fn normative(
        &self,
        session: &SessionRow,
        exchange: &ExchangeRow,
        context_digest: Option<NamedHash>,
    ) -> Result<NormativeFields, ContextFault> {
        let reasons = self
            .reasons()?
            .into_iter()
            .map(|code| Reason { code })
            .collect();
        Ok(NormativeFields {
            boundary: Boundary {
                context_config_digest: NamedHash(self.row.config_digest),
            },
            context_digest,
            policy: PolicyName {
                policy_id: "kernel".to_owned(),
                policy_version: NamedHash(session.kernel_hash),
            },
            reasons,
            result: if exchange.decision == "deny" {
                PolicyVerdict::Deny
            } else {
                PolicyVerdict::Allow
            },
        })
    }
}

/// Whether the text of a reference was not here when it was resolved: erased before, or never kept.
fn was_gone(
    store: &ReadStore,
    made: &[Transformation],
    reference: &ContextRefRow,
    turn: Uuid,
) -> Result<bool, ContextFault> {
    let said = |one: &Transformation| {
        one.ref_id == reference.ref_id && one.rule == ExclusionReason::Erased.code()
    };
    let not_kept = store
        .exchange(turn)?
        .is_some_and(|exchange| exchange.not_kept.is_some());
    Ok(reference.digest.is_none() && (not_kept || made.iter().any(said)))
}

fn resolved_ref(reference: &ContextRefRow, event: &ThreadEvent) -> ResolvedRef {
    ResolvedRef {
        admitted_for: reference.admitted_for,
        event_digest: event.digest(),
        event_index: reference.index,
        ref_id: reference.ref_id.clone(),
        ref_type: RefType::Event,
    }
}

fn parsed<T: Serialize + DeserializeOwned>(text: &str) -> Result<T, ContextFault> {
    canon::parse(text.as_bytes()).map_err(wrong)
}

/// Where an event's row says that it stands.
pub(crate) fn place_of(row: &EventRow) -> EventPosition {
    EventPosition {
        index: row.index,
        id: row.event.to_string(),
        turn_id: row.turn.to_string(),
        thread_id: row.thread.to_string(),
    }
}

/// An event from its texts, not from its stored digest.
pub fn event_again(store: &ReadStore, row: &EventRow) -> Result<ThreadEvent, ContextFault> {
    if row.kind == EventKind::Decision {
        return decision_again(store, row, place_of(row));
    }
    let turn = store.turn(row.event)?;
    let exchange = match (&turn, row.kind) {
        (Some(_), EventKind::Execution) => store.exchange(row.turn)?,
        _ => None,
    };
    event_of(row, turn.as_ref(), exchange.as_ref())
}

/// The same of an INTENT or an EXECUTION from the rows that it is made of.
pub(crate) fn event_of(
    row: &EventRow,
    turn: Option<&TurnRow>,
    exchange: Option<&ExchangeRow>,
) -> Result<ThreadEvent, ContextFault> {
    let missing = |what: &str| wrong(format!("{what} of event {} is not here", row.event));
    let turn = turn.ok_or_else(|| missing("the turn"))?;
    if turn.by_user != (row.kind == EventKind::Intent) {
        return Err(wrong(format!(
            "event {} is {}, and its turn is the other speaker's",
            row.event,
            row.kind.name()
        )));
    }
    let (place, text) = (
        place_of(row),
        turn.content.clone().ok_or(ContextFault::Gone)?,
    );
    Ok(match row.kind {
        EventKind::Execution => {
            let exchange = exchange.ok_or_else(|| missing("the exchange"))?;
            ThreadEvent::Execution(Execution::new(place, text, &exchange.model).map_err(wrong)?)
        }
        _ => ThreadEvent::Intent(IntentPayload::new(place, text).map_err(wrong)?),
    })
}

/// A DECISION; its context digest is the stored one, which its own turn's check computes again.
fn decision_again(
    store: &ReadStore,
    row: &EventRow,
    place: EventPosition,
) -> Result<ThreadEvent, ContextFault> {
    if row.digest.is_none() {
        return Err(ContextFault::Gone);
    }
    let missing = || wrong(format!("the turn of event {} is not here", row.event));
    let turn = store.thread_turn(row.turn)?.ok_or_else(missing)?;
    let exchange = store.exchange(row.turn)?.ok_or_else(missing)?;
    let session = store.session_of(exchange.session)?.ok_or_else(missing)?;
    let digest = turn.context_digest.map(NamedHash);
    let context = ContextRows {
        row: turn,
        events: Vec::new(),
        refs: Vec::new(),
    };
    let normative = context.normative(&session, &exchange, digest)?;
    Ok(ThreadEvent::Decision(
        DecisionPayload::new(place, &normative).map_err(wrong)?,
    ))
}
