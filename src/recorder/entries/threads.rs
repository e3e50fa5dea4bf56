//! What a turn leaves in its thread: INTENT and DECISION with its prompt, EXECUTION with its answer
//! (DBL).

use uuid::Uuid;

use crate::continuity::declared::TurnContext;
use crate::govern::sanitize::unnumbered;
use crate::record::canon;
use crate::record::context::event::{
    Boundary, DecisionPayload, EventKind, EventPosition, Execution, IntentPayload, NormativeFields,
    PolicyName, PolicyVerdict, Reason,
};
use crate::record::context::json::JsonFault;
use crate::record::context::spec::ResolvedContext;
use crate::record::context::turn::{Counts, TurnIntent};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::conversation::THREAD;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::{ArtifactDoc, row_id};
use crate::record::time::Seconds;
use crate::store::{
    ConfigRow, ContextRefRow, EventRow, ExchangeRow, SessionRow, ThreadRow, ThreadTurnRow,
};

use super::settings::settle_settings;
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::{LedgerTransaction, NewLine};

/// Names the kernel in a DECISION.
pub const POLICY: &str = "kernel";

/// The id of a session's thread of this number; 0 is the one that every session has.
pub fn thread_id(session: Hash32, number: u64) -> Uuid {
    row_id("thread", session, number)
}

/// Why a digest can't be made.
pub fn digest_error(e: JsonFault) -> RecorderError {
    RecorderError::Unrecordable {
        what: "a context digest",
        reason: e.to_string(),
    }
}

fn print_error(e: canon::CanonError) -> RecorderError {
    RecorderError::Unrecordable {
        what: "a turn's context",
        reason: e.to_string(),
    }
}

/// What was decided about a turn, and on what.
pub struct TurnDecision<'a> {
    /// What was declared, resolved.
    pub context: &'a TurnContext,
    /// What policy counted.
    pub counts: Counts,
    /// Why it was denied, by code; nothing when it was allowed.
    pub reasons: &'a [String],
    /// Whether the model may be called.
    pub allowed: bool,
    /// Of everything that is to be sent.
    pub prompt_digest: Option<NamedHash>,
}

/// The normative fields of a turn's DECISION.
fn normative(
    decided: &TurnDecision<'_>,
    kernel: Hash32,
    context_digest: Option<NamedHash>,
) -> NormativeFields {
    NormativeFields {
        boundary: Boundary {
            context_config_digest: decided.context.config().digest(),
        },
        context_digest,
        policy: PolicyName {
            policy_id: POLICY.to_owned(),
            policy_version: NamedHash(kernel),
        },
        reasons: decided
            .reasons
            .iter()
            .map(|code| Reason { code: code.clone() })
            .collect(),
        result: if decided.allowed {
            PolicyVerdict::Allow
        } else {
            PolicyVerdict::Deny
        },
    }
}

/// A question on record, with what was decided about it.
pub struct QuestionContext<'a> {
    /// The session that it is asked in.
    pub session: &'a SessionRow,
    /// Its exchange.
    pub row: &'a ExchangeRow,
    /// The stored text; none where texts are not kept: then no digest that is made from it is, either.
    pub text: Option<&'a str>,
    /// What was decided, and on what.
    pub decided: &'a TurnDecision<'a>,
    /// The prompt's line.
    pub line: NewLine,
}

impl QuestionContext<'_> {
    fn thread(&self) -> Uuid {
        self.decided.context.thread()
    }

    fn context_digest(&self) -> Result<Option<NamedHash>, RecorderError> {
        match self.text {
            Some(text) => self
                .decided
                .context
                .digest(self.row.exchange_id, text)
                .map_err(digest_error),
            None => Ok(None),
        }
    }

    /// Where it stands in its thread, and what it was decided on.
    fn turn_row(&self, context_digest: Option<NamedHash>) -> Result<ThreadTurnRow, RecorderError> {
        let (decided, context) = (self.decided, self.decided.context);
        let declared = context.declared().iter().map(|one| one.ref_id.as_str());
        let prompt_digest = decided.prompt_digest.filter(|_| self.text.is_some());
        Ok(ThreadTurnRow {
            turn: self.row.exchange_id,
            thread: self.thread(),
            parent: context.parent(),
            intent: context.intent(),
            config_digest: context.config().digest().0,
            declared: canon::print(&declared.collect::<Vec<_>>()).map_err(print_error)?,
            transformations: canon::print(&context.transformations()).map_err(print_error)?,
            inputs: canon::print(&decided.counts).map_err(print_error)?,
            reasons: canon::print(&decided.reasons).map_err(print_error)?,
            context_digest: context_digest.map(|digest| digest.0),
            prompt_digest: prompt_digest.map(|digest| digest.0),
        })
    }

    fn position(&self, index: u64, event: Uuid) -> EventPosition {
        EventPosition {
            index,
            id: event.to_string(),
            turn_id: self.row.exchange_id.to_string(),
            thread_id: self.thread().to_string(),
        }
    }

    /// An event of this turn, without what only its kind has.
    fn event_row(&self, index: u64, event: Uuid, kind: EventKind) -> EventRow {
        EventRow {
            event,
            thread: self.thread(),
            index,
            kind,
            turn: self.row.exchange_id,
            line: self.line.n,
            created_at: self.line.time,
            bytes: None,
            digest: None,
        }
    }

    fn intent_row(&self, index: u64) -> Result<EventRow, RecorderError> {
        let event = self.row.turn_user;
        let payload = |text: &str| IntentPayload::new(self.position(index, event), text.to_owned());
        let intent = self.text.map(payload).transpose().map_err(digest_error)?;
        let bytes = |text| u64::try_from(unnumbered(text).len()).ok();
        Ok(EventRow {
            bytes: self.text.and_then(bytes),
            digest: intent.and_then(|it| it.digest()).map(|digest| digest.0),
            ..self.event_row(index, event, EventKind::Intent)
        })
    }

    fn decision_row(
        &self,
        index: u64,
        context_digest: Option<NamedHash>,
    ) -> Result<EventRow, RecorderError> {
        let event = row_id("decision", self.session.id, self.row.seq);
        let normative = normative(self.decided, self.session.kernel_hash, context_digest);
        let payload = |_| DecisionPayload::new(self.position(index, event), &normative);
        let decision = self.text.map(payload).transpose().map_err(digest_error)?;
        Ok(EventRow {
            digest: decision.and_then(|it| it.digest()).map(|digest| digest.0),
            ..self.event_row(index, event, EventKind::Decision)
        })
    }
}

/// Writes the turn's context, its INTENT and its DECISION.
pub fn record_question(
    transaction: &mut LedgerTransaction<'_>,
    question: &QuestionContext<'_>,
) -> Result<(), RecorderError> {
    let (context, thread) = (question.decided.context, question.thread());
    begin_if_default(transaction, question.session, thread, question.line.time)?;
    transaction.tx.remember(&ConfigRow {
        digest: context.config().digest().0,
        document: context.config().document().to_string(),
    })?;
    let context_digest = question.context_digest()?;
    transaction.tx.put(&question.turn_row(context_digest)?)?;
    let index = transaction.tx.next_index(thread)?;
    transaction.tx.put_all(&[
        question.intent_row(index)?,
        question.decision_row(index + 1, context_digest)?,
    ])?;
    // A handoff is about a conversation, and no message in it.
    if context.intent() == TurnIntent::ChatMessage {
        transaction.tx.conversation_asked(thread, question.line.n)?;
    }
    refer(transaction, question.row.exchange_id, context)
}

/// Writes what the declared references stand for.
fn refer(
    transaction: &mut LedgerTransaction<'_>,
    turn: Uuid,
    context: &TurnContext,
) -> Result<(), RecorderError> {
    for (reference, event) in context
        .resolved()
        .into_iter()
        .flat_map(ResolvedContext::events)
    {
        let id =
            event
                .place()
                .id
                .parse()
                .map_err(|e: uuid::Error| RecorderError::Unrecordable {
                    what: "a reference",
                    reason: format!("{}: {e}", event.place().id),
                })?;
        transaction.tx.put(&ContextRefRow {
            turn,
            event: id,
            ref_id: reference.ref_id.clone(),
            admitted_for: reference.admitted_for,
            index: reference.event_index,
            digest: reference.event_digest.map(|digest| digest.0),
        })?;
    }
    Ok(())
}

/// A session's own thread begins with its first turn; any other must be there.
fn begin_if_default(
    transaction: &mut LedgerTransaction<'_>,
    session: &SessionRow,
    thread: Uuid,
    now: Seconds,
) -> Result<(), RecorderError> {
    if transaction.tx.thread(thread)?.is_some() {
        return Ok(());
    }
    // Writing the row again would hide that it was taken away.
    if transaction.tx.next_index(thread)? > 0 {
        let reason = format!(
            "thread {thread} has events and no row in the database: gently audit verify says what is wrong"
        );
        return Err(RecorderError::NotAllowed { reason });
    }
    if thread != thread_id(session.id, 0) {
        let reason =
            format!("there is no thread {thread}; gently thread list shows those there are");
        return Err(RecorderError::NotAllowed { reason });
    }
    let row = ThreadRow {
        thread,
        session: session.uuid,
        number: 0,
        name: None,
        created_at: now,
    };
    Ok(transaction.tx.put_thread(&row)?)
}

/// Begins a thread of its own in an open session, on record as an artifact with its id.
pub fn begin(
    transaction: &mut LedgerTransaction<'_>,
    session: &SessionRow,
    name: Option<&str>,
    salt: Salt,
    now: Seconds,
) -> Result<ThreadRow, RecorderError> {
    settle_settings(transaction, now)?;
    let number = transaction.tx.thread_count(session.uuid)?.max(1);
    let thread = thread_id(session.id, number);
    let content =
        serde_json::json!({"name": name, "number": number, "session": session.id.to_string()});
    let doc = ArtifactDoc {
        content,
        format: Format,
        id: thread.to_string(),
        kind: THREAD.to_owned(),
    };
    let height = session.anchor.block.height;
    let line = transaction.artifact(now, Some((session.id, height)), &doc, salt)?;
    let name = name.map(str::to_owned);
    let row = ThreadRow {
        thread,
        session: session.uuid,
        number,
        name,
        created_at: line.time,
    };
    transaction.tx.put_thread(&row)?;
    Ok(row)
}

/// Writes the EXECUTION of a turn; nothing for a turn from before threads.
pub fn answered(
    transaction: &mut LedgerTransaction<'_>,
    row: &ExchangeRow,
    aurora: Uuid,
    stored: Option<&str>,
    time: Seconds,
) -> Result<(), RecorderError> {
    let Some(turn) = transaction.tx.thread_turn(row.exchange_id)? else {
        return Ok(());
    };
    let index = transaction.tx.next_index(turn.thread)?;
    let place = EventPosition {
        index,
        id: aurora.to_string(),
        turn_id: turn.turn.to_string(),
        thread_id: turn.thread.to_string(),
    };
    let execution = stored.map(|text| Execution::new(place, text.to_owned(), &row.model));
    let digest = execution
        .transpose()
        .map_err(digest_error)?
        .and_then(|execution| execution.digest());
    let event = EventRow {
        event: aurora,
        thread: turn.thread,
        index,
        kind: EventKind::Execution,
        turn: turn.turn,
        line: transaction.head.lines,
        created_at: time,
        bytes: None,
        digest: digest.map(|digest| digest.0),
    };
    Ok(transaction.tx.put(&event)?)
}
