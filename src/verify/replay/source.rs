//! Looking ids up as they were looked up then: in the database, or in the log's order.

use std::collections::HashSet;
use std::rc::Rc;

use uuid::Uuid;

use crate::continuity::candidate::TurnCandidate;
use crate::continuity::gates::{Kept, gate_turn};
use crate::continuity::refs::{Found, Lookup};
use crate::govern::drift::{DriftClass, Effect, rule_of};
use crate::govern::kernel::Kernel;
use crate::record::context::event::{Event, Kind, Place};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::store::{DriftRow, EventRow, ExchangeRow, TurnRow};

use super::super::contexts::{ContextFault, event_again, place_of};
use super::parts::worst;
use super::{Outcome, Replay, ReplayError};

/// What an event is now.
#[derive(Clone, Debug)]
pub(super) struct Said {
    place: Place,
    kind: Kind,
    event: Result<Event, Kept>,
    /// What is said of it where its text is needed and not here.
    absent: Option<Outcome>,
}

/// What an id names, and its place in the log's order where that was asked for.
type Named = (Rc<Said>, Option<Place>);

/// Where ids are looked up.
pub(super) struct Source<'r, 'a> {
    pub replay: &'r Replay<'a>,
    /// The turn's prompt line, for the log's order: what comes later is not there yet. None for the database.
    pub before: Option<u64>,
    /// Ids that are on record as left out since they were erased.
    pub were_erased: HashSet<String>,
}

impl Lookup for Source<'_, '_> {
    type Error = ReplayError;

    fn event(&self, id: &str) -> Result<Option<Found>, ReplayError> {
        let Some(uuid) = id.parse::<Uuid>().ok().filter(|uuid| uuid.to_string() == id) else { return Ok(None) };
        let Some((said, place)) = self.find(uuid)? else { return Ok(None) };
        if !self.were_erased.contains(id) {
            let mut gone = self.replay.gone.borrow_mut();
            *gone = gone.take().into_iter().chain(said.absent.clone()).reduce(|one, other| worst([one, other]));
        }
        let place = place.unwrap_or_else(|| said.place.clone());
        Ok(Some(Found { place, kind: said.kind, event: said.event.clone() }))
    }
}

impl Source<'_, '_> {
    /// What an id names, and where the log's order puts it.
    fn find(&self, id: Uuid) -> Result<Option<Named>, ReplayError> {
        let Some(line) = self.before else {
            if let Some(said) = self.replay.said(id)? {
                return Ok(Some((said, None)));
            }
            let events = self.replay.store.events_of(id)?;
            let Some(intent) = events.iter().find(|event| event.kind == Kind::Intent) else { return Ok(None) };
            return Ok(self.replay.said(intent.event)?.map(|said| (said, None)));
        };
        let stream = &self.replay.stream;
        let own = stream.before(id, line).map(|placed| (id, placed));
        let of_turn = || {
            let intent = stream.intent_of(id)?;
            Some((intent, stream.before(intent, line)?))
        };
        let Some((event, placed)) = own.or_else(of_turn) else { return Ok(None) };
        let place = Place {
            index: placed.index,
            id: event.to_string(),
            turn_id: placed.turn.to_string(),
            thread_id: placed.thread.to_string(),
        };
        Ok(self.replay.said(event)?.map(|said| (said, Some(place))))
    }
}

impl Replay<'_> {
    /// What an event is, digested from its text; none when its row is not here.
    pub(super) fn said(&self, id: Uuid) -> Result<Option<Rc<Said>>, ReplayError> {
        if let Some(known) = self.said.borrow().get(&id) {
            return Ok(Some(known.clone()));
        }
        let Some(row) = self.store.event(id)? else { return Ok(None) };
        let event = match event_again(self.store, &row) {
            Ok(event) => match self.gate(&row)? {
                Some(kept) => Err(kept),
                None => Ok(event),
            },
            Err(ContextFault::Store(error)) => return Err(error.into()),
            // What contradicts itself is no event; `same_events` names it.
            Err(ContextFault::Gone | ContextFault::Wrong(_)) => Err(self.gate(&row)?.unwrap_or(Kept::Erased)),
        };
        let absent = match event {
            Err(Kept::Erased) => Some(self.absent_event(&row)?),
            _ => None,
        };
        let said = Rc::new(Said { place: place_of(&row), kind: row.kind, event, absent });
        self.said.borrow_mut().insert(id, said.clone());
        Ok(Some(said))
    }

    fn absent_event(&self, row: &EventRow) -> Result<Outcome, ReplayError> {
        match self.store.exchange(row.turn)? {
            Some(exchange) => self.absent(&exchange),
            None => Ok(Outcome::Fails(format!("the exchange of event {} is not here", row.event))),
        }
    }

    /// Why it is kept out of contexts, as continuity's gate says.
    fn gate(&self, row: &EventRow) -> Result<Option<Kept>, ReplayError> {
        if row.kind == Kind::Decision {
            return Ok(None);
        }
        let (Some(turn), Some(exchange)) = (self.store.turn(row.event)?, self.store.exchange(row.turn)?) else {
            return Ok(Some(Kept::Erased));
        };
        let withheld = exchange.decision == "deny" || (!turn.by_user && self.is_withheld(&exchange)?);
        Ok(gate_turn(&candidate(turn, exchange.unkept.is_some(), withheld)))
    }

    fn is_withheld(&self, exchange: &ExchangeRow) -> Result<bool, ReplayError> {
        let drift = self.store.drift(exchange.exchange_id)?;
        if drift.is_empty() {
            return Ok(false);
        }
        let Some(session) = self.session(exchange.session)? else { return Ok(true) };
        let kernel = self.kernel(session.kernel_hash)?;
        let Some(Ok(kernel)) = kernel.as_ref() else { return Ok(true) };
        Ok(drift.iter().any(|event| blocks(kernel, event)))
    }
}

fn blocks(kernel: &Kernel, event: &DriftRow) -> bool {
    let class = DriftClass::ALL.into_iter().find(|class| class.name() == event.class);
    class.is_none_or(|class| kernel.drift(class, rule_of(&event.summary)).1 == Effect::Block)
}

/// As much of a candidate as the gate looks at.
fn candidate(turn: TurnRow, unkept: bool, withheld: bool) -> TurnCandidate {
    TurnCandidate {
        turn: turn.turn_id,
        by_user: turn.by_user,
        at: Seconds::ZERO,
        line: 0,
        text: turn.content,
        unkept,
        hash: Hash32::ZERO,
        withheld,
        relevance: 0,
        declared: String::new(),
    }
}
