//! All rows of one exchange, and the plain exchange that they give.

use uuid::Uuid;

use crate::record::Exchange;
use crate::record::canon::CanonError;
use crate::record::context::turn::{EventEntry, RefEntry};
use crate::record::exchange::{
    ErasureCommitments, ExchangeContext, ExchangeEnd, MissingTurn, ReferredEvent, TextCommitments,
};
use crate::record::ledger::bundle::StoredBundle;
use crate::record::ledger::exchange::{ArtifactEntry, DriftEntry};
use crate::record::ledger::prompt::{PriorTurn, is_in_turns};
use crate::record::trace::facts::RiskFlags;

use super::{
    ArtifactRefRow, DriftRow, ErasureCommitmentRow, EventRow, ExchangeRow, MeasureRow,
    OutcomeUpdate, ReadStore, ReferredText, SessionRow, StoreError, ThreadTurnRow, TurnRow,
};

/// All rows of one exchange.
pub struct ExchangeRows<'a> {
    /// Row of the session that the exchange is part of.
    pub session: &'a SessionRow,
    /// Row of the exchange.
    pub exchange: &'a ExchangeRow,
    /// Row of the question's turn, if the database has it.
    pub user: Option<TurnRow>,
    /// Row of the answer's turn, if the database has it.
    pub aurora: Option<TurnRow>,
    /// What was injected, in order.
    pub refs: Vec<ArtifactRefRow>,
    /// What the validator found.
    pub drift: Vec<DriftRow>,
    /// What was measured, if anything was.
    pub measures: Option<MeasureRow>,
    /// Thread and declared context; none for an exchange from before threads.
    pub context: Option<ContextRows>,
    /// What stands in the place of what it was shown and is erased since.
    pub erasure: Vec<ErasureCommitmentRow>,
    /// The turns that stood in a block of their own, in their order.
    pub prior: Vec<Result<PriorTurn, MissingTurn>>,
}

/// The rows of one exchange's thread and declared context.
#[derive(Clone, Debug)]
pub struct ContextRows {
    /// What was declared and decided.
    pub row: ThreadTurnRow,
    /// Its events, by index.
    pub events: Vec<EventRow>,
    /// What it refers to, by index.
    pub refs: Vec<ReferredText>,
}

impl<'a> ExchangeRows<'a> {
    /// Reads all rows of an exchange.
    pub fn read(
        store: &ReadStore,
        session: &'a SessionRow,
        exchange: &'a ExchangeRow,
    ) -> Result<ExchangeRows<'a>, StoreError> {
        let context = ContextRows::read(store, exchange.exchange_id)?;
        Self::read_with(store, session, exchange, context)
    }

    /// The same where the context was read.
    pub fn read_with(
        store: &ReadStore,
        session: &'a SessionRow,
        exchange: &'a ExchangeRow,
        context: Option<ContextRows>,
    ) -> Result<ExchangeRows<'a>, StoreError> {
        let refs = store.artifact_refs(exchange.exchange_id)?;
        let mut prior = Vec::new();
        for row in refs.iter().filter(|row| row.is_in_turns(context.is_some())) {
            prior.push(prior_turn(store, &row.artifact_id)?);
        }
        let outcome = exchange.outcome.as_ref();
        let aurora = outcome.and_then(|outcome| outcome.turn_aurora);
        Ok(ExchangeRows {
            session,
            exchange,
            user: store.turn(exchange.turn_user)?,
            aurora: aurora.map(|id| store.turn(id)).transpose()?.flatten(),
            drift: store.drift(exchange.exchange_id)?,
            measures: store.measures(exchange)?,
            erasure: store.erasure_commitments(exchange)?,
            prior,
            refs,
            context,
        })
    }

    /// How a finding names it.
    pub fn place(&self) -> String {
        format!(
            "llm_exchange {} (prompt {} of session {})",
            self.exchange.exchange_id, self.exchange.seq, self.session.id
        )
    }

    /// What something injected is in conflict with: ids, sorted.
    pub fn conflicts(&self) -> Result<Vec<String>, CanonError> {
        let artifacts: Vec<_> = self.refs.iter().map(ArtifactRefRow::named).collect();
        Ok(RiskFlags::of(&artifacts)?.conflicts)
    }

    /// Whether its own question or answer is erased, or was not kept.
    pub fn has_own_gone(&self) -> bool {
        let turns = [&self.user, &self.aurora];
        let mut turns = turns.into_iter().flatten();
        turns.any(|turn| turn.content.is_none())
    }

    /// Whether a text that its document commits to is erased, or was not kept.
    pub fn has_gone(&self) -> bool {
        let row = self.exchange;
        let sent = row.params.is_some() && (row.bundle_json.is_none() || row.prompt_hash.is_none());
        self.has_own_gone() || sent
    }

    /// The exchange that they give.
    pub fn record(&self) -> Exchange {
        let (session, row) = (self.session, self.exchange);
        let text = |turn: &Option<TurnRow>| turn.as_ref().and_then(|turn| turn.content.clone());
        let outcome = row.outcome.as_ref();
        Exchange {
            id: row.exchange_id,
            session: session.id,
            seq: row.seq,
            kernel_hash: session.kernel_hash,
            model: row.model.clone(),
            asked_at: row.created_at,
            decision: row.decision.clone(),
            authority_state: row.authority_state,
            params: row.params.clone(),
            exclusions: row.exclusions.clone(),
            artifacts: self.refs.iter().map(ArtifactRefRow::named).collect(),
            context: self.context.as_ref().map(ContextRows::record),
            prior: self.prior.clone(),
            request: row.request.clone(),
            bundle: row.bundle_json.clone().map(StoredBundle::new),
            user: text(&self.user),
            not_kept: row.not_kept.map(|texts| TextCommitments {
                user_text: texts.user_text,
                bundle: texts.bundle,
                compiled_prompt: texts.compiled_prompt,
                aurora_text: outcome.and_then(|outcome| outcome.aurora_text),
                request: texts.request,
                reply: outcome.and_then(|outcome| outcome.reply_commitment),
            }),
            erasure: self.erasure(),
            drift: self.drift.iter().map(DriftRow::named).collect(),
            measures: self.measures.as_ref().map(|row| row.measures.clone()),
            trace: self.measures.as_ref().map(MeasureRow::named),
            outcome: outcome.map(|outcome| outcome.end(self.aurora.is_some(), text(&self.aurora))),
        }
    }
}

impl ExchangeRows<'_> {
    fn erasure(&self) -> ErasureCommitments {
        let mut erasure = ErasureCommitments::default();
        for row in &self.erasure {
            if let Some(place) = erasure.of_role(row.role) {
                *place = Some(row.commitment);
            }
        }
        erasure
    }
}

/// A turn that a reference names.
fn prior_turn(store: &ReadStore, id: &str) -> Result<Result<PriorTurn, MissingTurn>, StoreError> {
    let unknown = || MissingTurn::Unknown(id.to_owned());
    let Ok(turn) = id.parse() else {
        return Ok(Err(unknown()));
    };
    let Some(row) = store.turn(turn)? else {
        return Ok(Err(unknown()));
    };
    if let Some(prior) = row.prior() {
        return Ok(Ok(prior));
    }
    let exchange = store.exchange_of_turn(turn)?;
    Ok(Err(
        match exchange.is_some_and(|exchange| exchange.not_kept.is_some()) {
            true => MissingTurn::NotKept(id.to_owned()),
            false => MissingTurn::Erased(id.to_owned()),
        },
    ))
}

impl ContextRows {
    /// Reads them; none for an exchange from before threads.
    pub fn read(store: &ReadStore, exchange: Uuid) -> Result<Option<ContextRows>, StoreError> {
        Self::read_by(store, exchange, || store.referred_texts(exchange))
    }

    /// The same where `referred` gives what it refers to.
    pub fn read_by(
        store: &ReadStore,
        exchange: Uuid,
        referred: impl FnOnce() -> Result<Vec<ReferredText>, StoreError>,
    ) -> Result<Option<ContextRows>, StoreError> {
        let Some(row) = store.thread_turn(exchange)? else {
            return Ok(None);
        };
        let (events, refs) = (store.events_of(exchange)?, referred()?);
        Ok(Some(ContextRows { row, events, refs }))
    }

    fn record(&self) -> ExchangeContext {
        let row = self.row.clone();
        ExchangeContext {
            thread: row.thread,
            parent: row.parent,
            intent_type: row.intent.name().to_owned(),
            config_digest: row.config_digest,
            declared: row.declared,
            transformations: row.transformations,
            inputs: row.inputs,
            reasons: row.reasons,
            context_digest: row.context_digest,
            prompt_digest: row.prompt_digest,
            events: self.events.iter().map(EventRow::named).collect(),
            refs: self.refs.iter().map(ReferredText::record).collect(),
        }
    }
}

impl TurnRow {
    /// It as a later model sees it; none when its text is not here.
    pub fn prior(&self) -> Option<PriorTurn> {
        let text = self.content.as_deref();
        PriorTurn::new(self.turn_id, self.by_user, self.created_at, text)
    }
}

impl ArtifactRefRow {
    /// Whether it names an earlier turn that stands in the block of turns.
    pub fn is_in_turns(&self, has_context: bool) -> bool {
        is_in_turns(&self.artifact_type, &self.included_reason, has_context)
    }

    /// As the exchange document names it.
    pub fn named(&self) -> ArtifactEntry {
        ArtifactEntry {
            artifact_id: self.artifact_id.clone(),
            artifact_type: self.artifact_type.clone(),
            freshness_s: self.freshness_s,
            included_reason: self.included_reason.clone(),
            observed_at: self.observed_at,
            risk_flags: self.risk_flags.clone(),
        }
    }
}

impl DriftRow {
    /// Its class and its summary, by which a kernel says what it does to the answer.
    pub fn class_and_summary(&self) -> (&str, &str) {
        (&self.class, &self.summary)
    }

    /// As the exchange document names it.
    fn named(&self) -> DriftEntry {
        DriftEntry {
            class: self.class.clone(),
            id: self.drift_id.clone(),
            severity: self.severity.clone(),
            summary: self.summary.clone(),
        }
    }
}

impl EventRow {
    /// As the exchange document names it.
    fn named(&self) -> EventEntry {
        EventEntry {
            event_id: self.event,
            event_index: self.index,
            kind: self.kind,
        }
    }
}

impl ReferredText {
    fn record(&self) -> ReferredEvent {
        ReferredEvent {
            reference: RefEntry {
                admitted_for: self.reference.admitted_for,
                event_id: self.reference.event,
                event_index: self.reference.index,
                ref_id: self.reference.ref_id.clone(),
            },
            kind: self.kind,
            text: self.text.clone(),
        }
    }
}

impl OutcomeUpdate {
    /// How the exchange ended; the answer stands in its turn.
    pub(super) fn end(&self, has_answer: bool, answer: Option<String>) -> ExchangeEnd {
        ExchangeEnd {
            outcome: self.outcome,
            reason: self.reason.clone(),
            answered_at: self.answered_at,
            has_answer,
            answer,
            reply: self.reply.clone(),
            refusal: self.refusal,
            validator: self.validator_summary.clone(),
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            cost: self.cost.clone(),
        }
    }
}
