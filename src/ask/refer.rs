//! What a question declares as its context, and what the record has of it: the client's part, and
//! the looking up.
//!
//! The client declares ids; the core resolves them and adds none. `last:N` is declared here, as the
//! ids of what was said in the last N turns before the question, on its way back to the thread's
//! first.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::continuity::candidate::TurnCandidate;
use crate::continuity::declared::{TurnContext, TurnPlace};
use crate::continuity::gates::{ExclusionReason, gate_turn};
use crate::continuity::refs::{Lookup, NamedRecord};
use crate::govern::kernel::Kernel;
use crate::govern::policy::Topics;
use crate::govern::sanitize::redact;
use crate::record::context::config::{ContextConfig, EmptyRefs};
use crate::record::context::event::{
    Boundary, DecisionPayload, EventKind, EventPosition, Execution, IntentPayload, NormativeFields,
    PolicyName, PolicyVerdict, Reason, ThreadEvent,
};
use crate::record::context::json::JsonFault;
use crate::record::context::spec::{DeclaredRef, ResolvedContext, RuleEffect};
use crate::record::context::turn::{Counts, TurnIntent};
use crate::record::exchange::ExchangeOutcome;
use crate::record::ledger::bundle::NamedHash;
use crate::record::time::Seconds;
use crate::recorder::POLICY;
use crate::store::{EventRow, ReadStore, StoreError};

use super::recall::{DeclaredContext, Reference, Turns};
use super::referred_rows::ReferredRows;
use super::stored_text::StoredTexts;

/// Where a question stands, as it was asked for; else in the conversation that goes on, behind its
/// newest turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadPosition {
    /// The thread; none for that of the conversation ([`super::conversation`]).
    pub thread: Option<Uuid>,
    /// What it replies to.
    pub parent: ParentTurn,
    /// What it is for.
    pub intent: TurnIntent,
}

/// What a turn replies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParentTurn {
    /// The newest turn of its thread, if it has one.
    #[default]
    Newest,
    /// This turn.
    Turn(Uuid),
    /// Nothing: it begins its thread beside others.
    Nothing,
}

impl ParentTurn {
    /// The turn in a thread.
    pub fn of(self, store: &ReadStore, thread: Uuid) -> Result<Option<Uuid>, StoreError> {
        match self {
            ParentTurn::Newest => store.newest_message(thread),
            ParentTurn::Turn(turn) => Ok(Some(turn)),
            ParentTurn::Nothing => Ok(None),
        }
    }
}

/// What was declared for a question, resolved, with what people are told of it.
#[derive(Clone, Debug)]
pub struct ResolvedRefs {
    /// The turn's context: what was declared, resolved and taken from the thread.
    pub context: TurnContext,
    /// The resolved turns, by `event_index`.
    pub turns: Vec<TurnCandidate>,
    /// Ids that were kept out, with the rule.
    pub kept: Vec<(String, String)>,
    /// How many turns of `last:N` were not declared, as the configuration allows no more
    /// references.
    pub unfit: u64,
    /// Events that were not declared, as their text is not the one on record: no model sees it.
    pub changed: Vec<ChangedEvent>,
}

/// A question or an answer whose text is not the one on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedEvent {
    /// Its id.
    pub event: Uuid,
    /// Its exchange.
    pub turn: Uuid,
    /// Whether a person asked it.
    pub by_user: bool,
}

/// The rule by which such a text is kept from a model.
pub const CHANGED: &str = "changed";

/// How far back `last:N` goes at most, in turns.
const MOST_BACK: usize = 2048;

/// Under what references are declared and resolved.
#[derive(Clone, Copy)]
pub struct ReferRules<'a> {
    /// Kernel in force, with its caps and topics.
    pub kernel: &'a Kernel,
    /// Context configuration in force.
    pub config: &'a ContextConfig,
    /// What a model's window leaves for earlier turns, in tokens, where that is known to be less
    /// than the kernel allows.
    pub room: Option<u64>,
}

/// Declares and resolves, for a turn of a thread.
pub fn refer(
    store: &ReadStore,
    rules: ReferRules<'_>,
    place: TurnPlace,
    declared: &DeclaredContext,
) -> Result<ResolvedRefs, StoreError> {
    let ReferRules {
        kernel,
        config,
        room,
    } = rules;
    let rows = ReferredRows::of(store);
    let Declaration {
        ids: labelled,
        unfit,
        unanswered,
    } = declare(&rows, config, place.parent, declared)?;
    let (labelled, changed) = on_record(&rows, labelled)?;
    let refs: Vec<DeclaredRef> = labelled
        .iter()
        .map(|(id, _)| DeclaredRef::event(id.clone()))
        .collect();
    let topics = Topics::of(kernel.policy());
    let record = RecordLookup {
        turns: Turns::of(store),
        rows: &rows,
        topics,
        unanswered,
        found: RefCell::default(),
    };
    let context = TurnContext::resolve(
        config,
        place,
        &refs,
        kernel.rules().rings.of(place.intent).within(room),
        &record,
    )?;
    let mut found = record.found.into_inner();
    let mut turns = Vec::new();
    for (reference, event) in context
        .resolved()
        .into_iter()
        .flat_map(ResolvedContext::shown)
    {
        let label = labelled
            .iter()
            .find(|(id, _)| *id == reference.ref_id)
            .map(|(_, label)| label.clone());
        let candidate = event
            .place()
            .id
            .parse()
            .ok()
            .and_then(|id| found.remove(&id));
        turns.extend(candidate.map(|turn| TurnCandidate {
            declared: label.unwrap_or_default(),
            ..turn
        }));
    }
    let left = context
        .transformations()
        .iter()
        .filter(|made| made.effect == RuleEffect::LeftOut);
    let kept = left
        .map(|made| (made.ref_id.clone(), made.rule.clone()))
        .collect();
    Ok(ResolvedRefs {
        context,
        turns,
        kept,
        unfit,
        changed,
    })
}

/// Ids of what is declared, each with the label under which it was.
type Labelled = Vec<(String, String)>;

/// What is declared, without what is not as it was recorded: its digest would stand on record as
/// that of what was said.
fn on_record(
    rows: &ReferredRows<'_>,
    labelled: Labelled,
) -> Result<(Labelled, Vec<ChangedEvent>), StoreError> {
    let texts = StoredTexts::of(rows.store())?;
    let (mut holding, mut changed) = (Vec::new(), Vec::new());
    for (id, label) in labelled {
        match changed_event(rows, &texts, &id)? {
            None => holding.push((id, label)),
            Some(event) if changed.contains(&event) => {}
            Some(event) => changed.push(event),
        }
    }
    Ok((holding, changed))
}

/// The question or answer that an id means, if it was changed.
fn changed_event(
    rows: &ReferredRows<'_>,
    texts: &StoredTexts<'_>,
    id: &str,
) -> Result<Option<ChangedEvent>, StoreError> {
    let Ok(id) = id.parse::<Uuid>() else {
        return Ok(None);
    };
    let event = match rows.event(id)? {
        Some(row) => Some((row.event, row.kind)),
        // A turn stands for its INTENT.
        None => rows
            .store()
            .exchange(id)?
            .map(|row| (row.turn_user, EventKind::Intent)),
    };
    let Some((event, kind)) = event.filter(|(_, kind)| *kind != EventKind::Decision) else {
        return Ok(None);
    };
    let (Some(turn), Some(exchange)) = (rows.turn(event)?, rows.exchange_of_turn(event)?) else {
        return Ok(None);
    };
    let Some(text) = &turn.content else {
        return Ok(None);
    };
    let by_user = kind == EventKind::Intent;
    let holds = texts.holds(&exchange, by_user, text)?;
    Ok((!holds).then_some(ChangedEvent {
        event,
        turn: exchange.exchange_id,
        by_user,
    }))
}

/// What a question declares.
struct Declaration {
    /// Ids with how each was declared.
    ids: Vec<(String, String)>,
    /// How many turns of `last:N` had no place among the references that the configuration allows.
    unfit: u64,
    /// INTENTs of turns that ended without an answer, which `last:N` alone names: policy sees them,
    /// and no model is shown them again.
    unanswered: HashSet<Uuid>,
}

/// Longest id that is declared as it was typed, in characters.
const MOST_TYPED: usize = 200;

/// The ids that are declared. Which they are depends on the turns before and what policy said of
/// them, never on whether or what a model answered: a turn takes the room of two references, and is
/// declared by two where it was allowed.
fn declare(
    rows: &ReferredRows<'_>,
    config: &ContextConfig,
    parent: Option<Uuid>,
    declared: &DeclaredContext,
) -> Result<Declaration, StoreError> {
    let mut ids: Vec<(String, String)> = Vec::new();
    let rules = config.rules();
    let expanded =
        declared.refs.is_empty() && !declared.none && rules.empty_refs_policy == EmptyRefs::Expand;
    let expansion = [Reference::Last(
        u32::try_from(rules.expand_last_n).unwrap_or(u32::MAX),
    )];
    let refs = if expanded {
        &expansion[..]
    } else {
        &declared.refs
    };
    for reference in refs {
        match reference {
            Reference::Last(_) => {}
            Reference::Exchange(id) => ids.extend(
                declared_events(rows, *id)?
                    .into_iter()
                    .map(|id| (id, "exchange".to_owned())),
            ),
            // What names nothing is declared as it was typed; it may hold anything.
            Reference::Id(id) => {
                let typed: String = redact(id).clean.as_str().chars().take(MOST_TYPED).collect();
                ids.push((typed, "event".to_owned()));
            }
        }
    }
    // What is named one by one comes first; the last turns take the room that is left, two
    // references each.
    let mut unfit = 0;
    let mut room = rules
        .max_refs
        .saturating_sub(u64::try_from(ids.len()).unwrap_or(u64::MAX));
    let named: HashSet<String> = ids.iter().map(|(id, _)| id.clone()).collect();
    let mut unanswered = HashSet::new();
    for (reference, most) in refs.iter().filter_map(|one| Some((one, one.last()?))) {
        let LastTurns {
            ids: last,
            unfit: left,
            unanswered: open,
        } = last(rows, parent, most, &mut room)?;
        unfit += left;
        ids.extend(last.into_iter().map(|id| (id, reference.to_string())));
        let open = open.into_iter().filter(|(turn, intent)| {
            ![turn, intent]
                .iter()
                .any(|id| named.contains(&id.to_string()))
        });
        unanswered.extend(open.map(|(_, intent)| intent));
    }
    Ok(Declaration {
        ids,
        unfit,
        unanswered,
    })
}

/// What a turn is declared by: its INTENT and its EXECUTION. One that was allowed and has no
/// answer, or none yet, is named twice, so that no limit tells it from one that has; what was
/// denied never has one. A turn from before threads is declared by its own id, and the core says
/// that it has no events.
fn declared_events(rows: &ReferredRows<'_>, turn: Uuid) -> Result<Vec<String>, StoreError> {
    let events = rows.events_of(turn)?;
    let of = |kind| {
        events
            .iter()
            .find(|event| event.kind == kind)
            .map(|event| event.event.to_string())
    };
    let Some(intent) = of(EventKind::Intent) else {
        return Ok(vec![turn.to_string()]);
    };
    let denied = rows
        .store()
        .exchange(turn)?
        .is_some_and(|exchange| exchange.decision == "deny");
    let answer = of(EventKind::Execution).or((!denied).then(|| turn.to_string()));
    Ok([Some(intent), answer].into_iter().flatten().collect())
}

/// What `last:N` names.
#[derive(Default)]
struct LastTurns {
    /// Ids of events.
    ids: Vec<String>,
    /// How many turns had no room.
    unfit: u64,
    /// Turns that ended without an answer, with their INTENTs.
    unanswered: Vec<(Uuid, Uuid)>,
}

/// Events of the last `most` turns on the way from a turn back to the first of its thread, as far
/// as there is room for two references a turn.
fn last(
    rows: &ReferredRows<'_>,
    parent: Option<Uuid>,
    most: u32,
    room: &mut u64,
) -> Result<LastTurns, StoreError> {
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(MOST_BACK);
    let (mut last, mut next) = (LastTurns::default(), parent);
    for _ in 0..most {
        // An answer that a council decided against is passed over: the winner's says the same question.
        while let Some(turn) = next
            && !rows.store().is_message(turn)?
        {
            next = parent_of(rows, turn)?;
        }
        let Some(turn) = next else { break };
        if *room == 0 {
            last.unfit += 1;
        } else {
            let events = rows.events_of(turn)?;
            let of = |kind| events.iter().find(|event| event.kind == kind);
            let (intent, answer) = (of(EventKind::Intent), of(EventKind::Execution));
            let intent = intent.map(|event| event.event);
            last.ids.extend(intent.map(|id| id.to_string()));
            if let (Some(intent), None) = (intent, answer)
                && has_failed(rows.store(), turn)?
            {
                last.unanswered.push((turn, intent));
            }
            if *room == 1 {
                // The question alone.
                last.unfit += 1;
            } else {
                last.ids.extend(answer.map(|event| event.event.to_string()));
            }
        }
        *room = room.saturating_sub(2);
        next = parent_of(rows, turn)?;
    }
    Ok(last)
}

/// The turn that a turn replies to.
fn parent_of(rows: &ReferredRows<'_>, turn: Uuid) -> Result<Option<Uuid>, StoreError> {
    let row = rows.store().thread_turn(turn)?;
    Ok(row.and_then(|row| row.parent))
}

/// Whether it is on record that a turn ended without an answer; one whose model still thinks has
/// not.
fn has_failed(store: &ReadStore, turn: Uuid) -> Result<bool, StoreError> {
    let outcome = store.exchange(turn)?.and_then(|exchange| exchange.outcome);
    Ok(outcome.is_some_and(|outcome| outcome.outcome == ExchangeOutcome::Failed))
}

/// What policy counts at this moment.
pub fn count(
    store: &ReadStore,
    kernel: &Kernel,
    context: &TurnContext,
    now: Seconds,
) -> Result<Counts, StoreError> {
    let as_of = store.head()?.lines;
    counted(store, kernel, context.thread(), as_of, now)
}

/// What policy would have counted when the log had so many lines and the clock showed `at`.
pub fn counted(
    store: &ReadStore,
    kernel: &Kernel,
    thread: Uuid,
    as_of: u64,
    at: Seconds,
) -> Result<Counts, StoreError> {
    let windows = kernel.policy().windows();
    let since = |seconds: u64| at.before(seconds);
    let recent = windows
        .rate
        .map(|seconds| store.intents_since(since(seconds), as_of))
        .transpose()?;
    let spent = windows
        .budget
        .map(|seconds| store.intents_since(since(seconds), as_of))
        .transpose()?;
    Ok(Counts {
        as_of,
        at,
        recent: recent.map_or(0, |(count, _)| count),
        room: None,
        spent: spent.map_or(0, |(_, tokens)| tokens),
        thread: store.intents_before(thread, as_of)?,
    })
}

/// The record as the core looks ids up in it.
struct RecordLookup<'a> {
    rows: &'a ReferredRows<'a>,
    turns: Turns<'a>,
    /// What no answer that is shown may be about; of a question policy decides.
    topics: Topics,
    /// INTENTs that are shown to no model, as they got no answer.
    unanswered: HashSet<Uuid>,
    found: RefCell<HashMap<Uuid, TurnCandidate>>,
}

impl Lookup for RecordLookup<'_> {
    type Error = StoreError;

    fn event(&self, id: &str) -> Result<Option<NamedRecord>, StoreError> {
        let Ok(uuid) = id.parse::<Uuid>() else {
            return Ok(None);
        };
        // One id has one spelling.
        if uuid.to_string() != id {
            return Ok(None);
        }
        let own = self.rows.event(uuid)?;
        let row = match own {
            Some(row) => Some(row),
            None => self
                .rows
                .events_of(uuid)?
                .into_iter()
                .find(|event| event.kind == EventKind::Intent),
        };
        row.map(|row| self.found(row)).transpose()
    }
}

impl RecordLookup<'_> {
    fn found(&self, row: EventRow) -> Result<NamedRecord, StoreError> {
        let place = EventPosition {
            index: row.index,
            id: row.event.to_string(),
            turn_id: row.turn.to_string(),
            thread_id: row.thread.to_string(),
        };
        if row.kind == EventKind::Decision {
            return Ok(match decision(self.rows.store(), &row, place.clone())? {
                Some(event) => NamedRecord::from(event),
                None => NamedRecord {
                    event: ThreadEvent::without_text(row.kind, place),
                    kept: Some(ExclusionReason::Erased),
                },
            });
        }
        let missing = || StoreError::Corrupt {
            place: "thread_event.event_id".to_owned(),
            expected: "the id of a turn with its exchange".to_owned(),
            actual: row.event.to_string(),
        };
        let turn = self.rows.turn(row.event)?.ok_or_else(missing)?;
        let exchange = self.rows.exchange_of_turn(row.event)?;
        let exchange = exchange.ok_or_else(missing)?;
        let candidate = self
            .turns
            .candidate((&turn, &exchange), 0, "event")?
            .ok_or_else(missing)?;
        let kept = gate_turn(&candidate, |text| {
            row.kind == EventKind::Execution && self.topics.forbid(text)
        });
        let is_unanswered = self.unanswered.contains(&row.event);
        let kept = kept.or(is_unanswered.then_some(ExclusionReason::Unanswered));
        let event = match candidate.text.clone() {
            Some(text) => {
                said_event(row.kind, place, text, &exchange.model).map_err(undigestible)?
            }
            None => ThreadEvent::without_text(row.kind, place),
        };
        self.found.borrow_mut().insert(row.event, candidate);
        Ok(NamedRecord {
            event: event.with_denied(exchange.decision == "deny"),
            kept,
        })
    }
}

fn undigestible(e: JsonFault) -> StoreError {
    StoreError::Query {
        what: "digest an event",
        reason: e.to_string(),
    }
}

/// An INTENT or EXECUTION from its text.
pub fn said_event(
    kind: EventKind,
    place: EventPosition,
    text: String,
    model: &str,
) -> Result<ThreadEvent, JsonFault> {
    Ok(match kind {
        EventKind::Execution => ThreadEvent::Execution(Execution::new(place, text, model)?),
        _ => ThreadEvent::Intent(IntentPayload::new(place, text)?),
    })
}

/// A DECISION from its turn's row; none when its digest is erased.
fn decision(
    store: &ReadStore,
    row: &EventRow,
    place: EventPosition,
) -> Result<Option<ThreadEvent>, StoreError> {
    let (Some(turn), Some(exchange)) = (store.thread_turn(row.turn)?, store.exchange(row.turn)?)
    else {
        return Ok(None);
    };
    let session = store.session_of(exchange.session)?;
    let (Some(session), Some(_)) = (session, row.digest) else {
        return Ok(None);
    };
    let codes: Vec<String> =
        serde_json::from_str(&turn.reasons).map_err(|e| StoreError::Corrupt {
            place: "thread_turn.reasons".to_owned(),
            expected: "a list".to_owned(),
            actual: e.to_string(),
        })?;
    let normative = NormativeFields {
        boundary: Boundary {
            context_config_digest: NamedHash(turn.config_digest),
        },
        context_digest: turn.context_digest.map(NamedHash),
        policy: PolicyName {
            policy_id: POLICY.to_owned(),
            policy_version: NamedHash(session.kernel_hash),
        },
        reasons: codes.into_iter().map(|code| Reason { code }).collect(),
        result: if exchange.decision == "deny" {
            PolicyVerdict::Deny
        } else {
            PolicyVerdict::Allow
        },
    };
    Ok(Some(ThreadEvent::Decision(
        DecisionPayload::new(place, &normative).map_err(undigestible)?,
    )))
}
