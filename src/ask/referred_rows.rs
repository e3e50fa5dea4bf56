//! Rows that the references of a question are looked up by, each read once: a reference is looked
//! at when it is declared, when its text is held against the record, and when it is resolved.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use uuid::Uuid;

use crate::store::{EventRow, ExchangeRow, ReadStore, StoreError, TurnRow};

/// What was read for one question so far. It is as old as the first reading of each row, so it
/// serves one question and goes with it.
pub(super) struct ReferredRows<'a> {
    store: &'a ReadStore,
    events: RefCell<HashMap<Uuid, EventRow>>,
    turns: RefCell<HashMap<Uuid, Rc<TurnRow>>>,
    /// By the ids of their two turns.
    exchanges: RefCell<HashMap<Uuid, Rc<ExchangeRow>>>,
}

impl<'a> ReferredRows<'a> {
    /// Over a store.
    pub(super) fn of(store: &'a ReadStore) -> Self {
        ReferredRows {
            store,
            events: RefCell::default(),
            turns: RefCell::default(),
            exchanges: RefCell::default(),
        }
    }

    /// The store, for what is read once anyway.
    pub(super) fn store(&self) -> &'a ReadStore {
        self.store
    }

    /// The events of a turn, by index.
    pub(super) fn events_of(&self, turn: Uuid) -> Result<Vec<EventRow>, StoreError> {
        let events = self.store.events_of(turn)?;
        let mut known = self.events.borrow_mut();
        known.extend(events.iter().map(|event| (event.event, event.clone())));
        Ok(events)
    }

    /// The event of an id.
    pub(super) fn event(&self, id: Uuid) -> Result<Option<EventRow>, StoreError> {
        if let Some(known) = self.events.borrow().get(&id) {
            return Ok(Some(known.clone()));
        }
        let read = self.store.event(id)?;
        let mut known = self.events.borrow_mut();
        known.extend(read.iter().map(|event| (id, event.clone())));
        Ok(read)
    }

    /// What was said in a turn.
    pub(super) fn turn(&self, id: Uuid) -> Result<Option<Rc<TurnRow>>, StoreError> {
        if let Some(known) = self.turns.borrow().get(&id) {
            return Ok(Some(Rc::clone(known)));
        }
        let read = self.store.turn(id)?.map(Rc::new);
        let mut known = self.turns.borrow_mut();
        known.extend(read.iter().map(|turn| (id, Rc::clone(turn))));
        Ok(read)
    }

    /// The exchange in which a turn is the question or the answer.
    pub(super) fn exchange_of_turn(
        &self,
        turn: Uuid,
    ) -> Result<Option<Rc<ExchangeRow>>, StoreError> {
        if let Some(known) = self.exchanges.borrow().get(&turn) {
            return Ok(Some(Rc::clone(known)));
        }
        let read = self.store.exchange_of_turn(turn)?.map(Rc::new);
        let mut known = self.exchanges.borrow_mut();
        if let Some(row) = &read {
            let answer = row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
            let both = [Some(row.turn_user), answer];
            known.extend(both.into_iter().flatten().map(|id| (id, Rc::clone(row))));
        }
        Ok(read)
    }
}
