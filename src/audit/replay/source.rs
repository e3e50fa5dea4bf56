//! Looking ids up as they were looked up then: in the database, or in the log's order.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use uuid::Uuid;

use crate::continuity::gates::{ExclusionReason, gate_said, holds_secret};
use crate::continuity::refs::{Lookup, NamedRecord};
use crate::govern::authority::Judge;
use crate::govern::kernel::Kernel;
use crate::record::context::event::{EventKind, EventPosition, ThreadEvent};
use crate::record::hash::Hash32;
use crate::store::{
    DriftRow, EventRow, ExchangeRow, ExchangeRows, ReferredText, StoreError, TurnRow,
};

use super::parts::worst;
use super::{AssertionOutcome, Replay, ReplayError};
use crate::audit::rows::contexts::{ContextFault, event_again, event_of, place_of};

/// What an event is now.
pub(super) struct CurrentEvent {
    place: EventPosition,
    kind: EventKind,
    /// The exchange that left it.
    exchange: Uuid,
    /// It, digested from its text.
    pub event: Result<ThreadEvent, EventFault>,
    /// What its exchange came to; none where that or the turn is not here.
    standing: Option<GateSubject>,
    /// Why it is kept out of contexts, once that was asked.
    kept: OnceCell<Option<ExclusionReason>>,
    /// Whether a kernel forbids what a model said, by the kernel that was asked last.
    forbidden: Cell<Option<(Hash32, bool)>>,
}

/// Why an event can't be made again.
pub(super) enum EventFault {
    /// Its text is erased, or was not kept.
    Gone,
    /// It contradicts itself; `same_events` names it.
    Wrong(String),
}

/// What continuity's gate asks of an event, beside its text.
#[derive(Clone, Copy)]
struct GateSubject {
    not_kept: bool,
    withheld: bool,
    denied: bool,
    /// The sanitizer was asked about the text, and found nothing.
    is_clean: bool,
}

/// So many events are kept at hand …
const EVENTS: usize = 2048;
/// … and so many bytes of their texts.
const BYTES: usize = 16 * 1024 * 1024;

/// Events that were made again in this run, so that none is made twice soon.
#[derive(Default)]
pub(super) struct EventCache {
    events: HashMap<Uuid, Rc<CurrentEvent>>,
    bytes: usize,
}

impl EventCache {
    fn put(&mut self, id: Uuid, said: CurrentEvent) -> Rc<CurrentEvent> {
        let bytes = said.text().map_or(0, str::len);
        if self.events.len() >= EVENTS || self.bytes + bytes > BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        let said = Rc::new(said);
        self.events.insert(id, said.clone());
        said
    }
}

impl CurrentEvent {
    fn text(&self) -> Option<&str> {
        self.event.as_ref().ok().and_then(ThreadEvent::text)
    }

    /// Why it is kept out of contexts, as continuity's gate says.
    fn kept(&self) -> Option<ExclusionReason> {
        *self.kept.get_or_init(|| match self.standing {
            None => Some(ExclusionReason::Erased),
            Some(GateSubject {
                not_kept,
                withheld,
                is_clean,
                ..
            }) => gate_said(self.text(), (not_kept, withheld), |text| {
                !is_clean && holds_secret(text)
            }),
        })
    }

    /// Whether it is an answer about a topic that a kernel forbids.
    fn is_forbidden(&self, (kernel, judge): (Hash32, &Judge)) -> bool {
        if let Some((_, known)) = self.forbidden.get().filter(|(of, _)| *of == kernel) {
            return known;
        }
        let forbidden = self.kind == EventKind::Execution
            && self.text().is_some_and(|text| judge.forbids(text));
        self.forbidden.set(Some((kernel, forbidden)));
        forbidden
    }

    /// The event as a turn may refer to it, at a place.
    fn found(&self, place: EventPosition) -> NamedRecord {
        let denied = self.standing.is_some_and(|standing| standing.denied);
        match &self.event {
            Ok(event) => NamedRecord {
                event: event.clone().with_denied(denied).at(place),
                kept: self.kept(),
            },
            Err(_) => {
                let event = ThreadEvent::without_text(self.kind, place).with_denied(denied);
                NamedRecord {
                    event,
                    kept: Some(self.kept().unwrap_or(ExclusionReason::Erased)),
                }
            }
        }
    }
}

/// What an id names, and its place in the log's order where that was asked for.
type EventLookup = (Rc<CurrentEvent>, Option<EventPosition>);

/// Where ids are looked up.
pub(super) struct EventSource<'r, 'a> {
    pub replay: &'r Replay<'a>,
    /// The turn's prompt line, for the log's order: what comes later is not there yet. None for the
    /// database.
    pub before: Option<u64>,
    /// Ids that are on record as left out since they were erased.
    pub were_erased: HashSet<String>,
    /// Ids that are on record as left out since they got no answer, and that had got none.
    pub unanswered: HashSet<String>,
    /// The kernel that the turn was under, or that is tried on it.
    pub kernel: Hash32,
    /// Judge that makes the decisions of a turn anew.
    pub judge: Rc<Judge>,
}

impl Lookup for EventSource<'_, '_> {
    type Error = ReplayError;

    fn event(&self, id: &str) -> Result<Option<NamedRecord>, ReplayError> {
        let Some(uuid) = id
            .parse::<Uuid>()
            .ok()
            .filter(|uuid| uuid.to_string() == id)
        else {
            return Ok(None);
        };
        let Some((said, place)) = self.find(uuid)? else {
            return Ok(None);
        };
        let mut found = said.found(place.unwrap_or_else(|| said.place.clone()));
        if found.kept.is_none() && said.is_forbidden((self.kernel, &self.judge)) {
            found.kept = Some(ExclusionReason::Forbidden);
        }
        // Before this was kept out, it was shown: then the record does not name it.
        if found.kept.is_none() && self.unanswered.contains(id) {
            found.kept = Some(ExclusionReason::Unanswered);
        }
        if found.kept == Some(ExclusionReason::Erased) && !self.were_erased.contains(id) {
            let absent = self.replay.absent_event(uuid, said.exchange)?;
            let mut gone = self.replay.gone.borrow_mut();
            *gone = gone
                .take()
                .into_iter()
                .chain([absent])
                .reduce(|one, other| worst([one, other]));
        }
        Ok(Some(found))
    }
}

impl EventSource<'_, '_> {
    /// What an id names, and where the log's order puts it.
    fn find(&self, id: Uuid) -> Result<Option<EventLookup>, ReplayError> {
        let Some(line) = self.before else {
            if let Some(said) = self.replay.current_event(id)? {
                return Ok(Some((said, None)));
            }
            let events = self.replay.store.events_of(id)?;
            let Some(intent) = events.iter().find(|event| event.kind == EventKind::Intent) else {
                return Ok(None);
            };
            return Ok(self
                .replay
                .current_event(intent.event)?
                .map(|said| (said, None)));
        };
        let stream = &self.replay.stream;
        let own = stream.before(id, line).map(|placed| (id, placed));
        let of_turn = || {
            let intent = stream.intent_of(id)?;
            Some((intent, stream.before(intent, line)?))
        };
        let Some((event, placed)) = own.or_else(of_turn) else {
            return Ok(None);
        };
        let place = EventPosition {
            index: placed.index,
            id: event.to_string(),
            turn_id: placed.turn.to_string(),
            thread_id: placed.thread.to_string(),
        };
        Ok(self
            .replay
            .current_event(event)?
            .map(|said| (said, Some(place))))
    }
}

impl Replay<'_> {
    /// What an event is, digested from its text; none when its row is not here.
    pub(super) fn current_event(&self, id: Uuid) -> Result<Option<Rc<CurrentEvent>>, ReplayError> {
        if let Some(known) = self.at_hand(id) {
            return Ok(Some(known));
        }
        let Some(row) = self.store.event(id)? else {
            return Ok(None);
        };
        self.said_by(&row).map(Some)
    }

    /// The same by its row.
    pub(super) fn said_by(&self, row: &EventRow) -> Result<Rc<CurrentEvent>, ReplayError> {
        if let Some(known) = self.at_hand(row.event) {
            return Ok(known);
        }
        if row.kind == EventKind::Decision {
            let event = unmade(event_again(self.store, row))?;
            return Ok(self.put(row, event, None, OnceCell::from(None)));
        }
        let (turn, exchange) = (self.store.turn(row.event)?, self.store.exchange(row.turn)?);
        let drift = exchange
            .as_ref()
            .map(|_| self.store.drift(row.turn))
            .transpose()?
            .unwrap_or_default();
        self.take(
            row,
            turn.as_ref(),
            exchange.as_ref().map(|exchange| (exchange, &drift[..])),
            false,
        )
    }

    /// Makes the events of an exchange from its rows, which later turns refer to; `is_clean` of the
    /// user's text.
    pub(super) fn keep(&self, rows: &ExchangeRows<'_>, is_clean: bool) -> Result<(), ReplayError> {
        let events = rows.context.iter().flat_map(|context| &context.events);
        for row in events.filter(|row| self.at_hand(row.event).is_none()) {
            let turn = match row.kind {
                EventKind::Intent => &rows.user,
                EventKind::Execution => &rows.aurora,
                EventKind::Decision => continue,
            };
            let Some(turn) = turn.as_ref().filter(|turn| turn.turn_id == row.event) else {
                continue;
            };
            let is_clean = is_clean && row.kind == EventKind::Intent;
            self.take(
                row,
                Some(turn),
                Some((rows.exchange, &rows.drift)),
                is_clean,
            )?;
        }
        Ok(())
    }

    /// What a turn refers to, with texts that are at hand.
    pub(super) fn referred(&self, exchange: Uuid) -> Result<Vec<ReferredText>, StoreError> {
        let mut referred = Vec::new();
        for reference in self.store.context_refs(exchange)? {
            match self
                .at_hand(reference.event)
                .filter(|said| said.event.is_ok())
            {
                Some(said) => {
                    let text = said.text().map(str::to_owned);
                    referred.push(ReferredText {
                        reference,
                        kind: said.kind,
                        text,
                    });
                }
                None => return self.store.referred_texts(exchange),
            }
        }
        Ok(referred)
    }

    fn at_hand(&self, id: Uuid) -> Option<Rc<CurrentEvent>> {
        self.at_hand.borrow().events.get(&id).cloned()
    }

    /// An INTENT or an EXECUTION from the rows that it is made of; an exchange has its drift beside
    /// it.
    fn take(
        &self,
        row: &EventRow,
        turn: Option<&TurnRow>,
        exchange: Option<(&ExchangeRow, &[DriftRow])>,
        is_clean: bool,
    ) -> Result<Rc<CurrentEvent>, ReplayError> {
        let event = unmade(event_of(row, turn, exchange.map(|(exchange, _)| exchange)))?;
        let (mut standing, kept) = (None, OnceCell::new());
        if let (Some(turn), Some((exchange, drift))) = (turn, exchange) {
            let denied = exchange.decision == "deny";
            let withheld = denied || (!turn.by_user && self.is_withheld(exchange, drift)?);
            let not_kept = exchange.not_kept.is_some();
            standing = Some(GateSubject {
                not_kept,
                withheld,
                denied,
                is_clean,
            });
            if event.is_err() {
                // Its text, if it is here, is no event's.
                let found = gate_said(turn.content.as_deref(), (not_kept, withheld), holds_secret);
                kept.get_or_init(|| found);
            }
        }
        Ok(self.put(row, event, standing, kept))
    }

    fn put(
        &self,
        row: &EventRow,
        event: Result<ThreadEvent, EventFault>,
        standing: Option<GateSubject>,
        kept: OnceCell<Option<ExclusionReason>>,
    ) -> Rc<CurrentEvent> {
        let said = CurrentEvent {
            place: place_of(row),
            kind: row.kind,
            exchange: row.turn,
            event,
            standing,
            kept,
            forbidden: Cell::default(),
        };
        self.at_hand.borrow_mut().put(row.event, said)
    }

    fn absent_event(&self, event: Uuid, exchange: Uuid) -> Result<AssertionOutcome, ReplayError> {
        match self.store.exchange(exchange)? {
            Some(exchange) => self.absent(&exchange),
            None => Ok(AssertionOutcome::Fails(format!(
                "the exchange of event {event} is not here"
            ))),
        }
    }

    fn is_withheld(&self, exchange: &ExchangeRow, drift: &[DriftRow]) -> Result<bool, ReplayError> {
        if drift.is_empty() {
            return Ok(false);
        }
        let Some(session) = self.session(exchange.session)? else {
            return Ok(true);
        };
        let kernel = self.kernel(session.kernel_hash)?;
        let kernel = kernel
            .as_ref()
            .as_ref()
            .and_then(|kernel| kernel.as_ref().ok());
        let events = drift.iter().map(DriftRow::class_and_summary);
        Ok(Kernel::withholds(kernel, events))
    }
}

/// What was made; a fault of the database is nobody's but the caller's.
fn unmade(
    made: Result<ThreadEvent, ContextFault>,
) -> Result<Result<ThreadEvent, EventFault>, ReplayError> {
    Ok(match made {
        Ok(event) => Ok(event),
        Err(ContextFault::Gone) => Err(EventFault::Gone),
        Err(ContextFault::Wrong(words)) => Err(EventFault::Wrong(words)),
        Err(ContextFault::Store(error)) => return Err(error.into()),
    })
}
