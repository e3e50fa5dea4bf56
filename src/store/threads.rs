//! Threads, the events of their turns, and what each turn declared (DBL): rows and queries.
//!
//! A turn is an exchange, and has its id. An INTENT has the id of the user's turn, an EXECUTION
//! that of aurora's: there are their texts.

use uuid::Uuid;

use crate::record::context::event::EventKind;
use crate::record::context::spec::AdmittedFor;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::StoreError;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// Derived (version 8) from session and number.
    pub thread: Uuid,
    /// The session that it was begun in.
    pub session: Uuid,
    /// 0 for the one that every session has.
    pub number: u64,
    /// What a person calls it; none once erased.
    pub name: Option<String>,
    /// When it was begun.
    pub created_at: Seconds,
}

/// The context of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTurnRow {
    /// The exchange.
    pub turn: Uuid,
    /// Its thread.
    pub thread: Uuid,
    /// The turn that it replies to.
    pub parent: Option<Uuid>,
    /// `chat.message`.
    pub intent_type: String,
    /// The configuration that it was resolved with.
    pub config_digest: Hash32,
    /// Canonical JSON: a list of ids.
    pub declared: String,
    /// Canonical JSON: a list of `record::context::spec::Transformation`.
    pub transformations: String,
    /// Canonical JSON of `record::context::turn::Counts`.
    pub inputs: String,
    /// Canonical JSON: a list of codes.
    pub reasons: String,
    /// None when nothing was resolved, or something in it is erased.
    pub context_digest: Option<Hash32>,
    /// None when no call was to be made, or something in it is erased.
    pub prompt_digest: Option<Hash32>,
}

/// One event of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Of an INTENT the user's turn, of an EXECUTION aurora's; of a DECISION derived.
    pub event: Uuid,
    /// Its thread.
    pub thread: Uuid,
    /// From 0, in the order of recording.
    pub index: u64,
    /// What it is.
    pub kind: EventKind,
    /// Its turn.
    pub turn: Uuid,
    /// Number of its log line.
    pub line: u64,
    /// Time of that line.
    pub created_at: Seconds,
    /// Length of an INTENT's text as policy sees it: numbers of secrets are no part of it.
    pub bytes: Option<u64>,
    /// None once erased.
    pub digest: Option<Hash32>,
}

/// As much of an INTENT as policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntentRow {
    /// Its thread.
    pub thread: Uuid,
    /// Number of its log line.
    pub line: u64,
    /// Time of that line.
    pub created_at: Seconds,
    /// Length of its text.
    pub bytes: Option<u64>,
}

/// As much of an exchange as the order of the log is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedRow {
    /// The exchange.
    pub exchange: Uuid,
    /// The row of its session.
    pub session: Uuid,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// The user's turn.
    pub turn_user: Uuid,
    /// Aurora's, if there is one.
    pub turn_aurora: Option<Uuid>,
    /// The prompt's commitment.
    pub prompt: Hash32,
    /// Number of the prompt's line.
    pub line: u64,
    /// Whether it was answered.
    pub answered: bool,
    /// Its thread; none for an exchange from before threads.
    pub thread: Option<Uuid>,
    /// Length of its INTENT's text.
    pub bytes: Option<u64>,
}

/// One resolved reference of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRefRow {
    /// The turn that refers.
    pub turn: Uuid,
    /// The event that is referred to.
    pub event: Uuid,
    /// As declared.
    pub ref_id: String,
    /// What it was let in for.
    pub admitted_for: AdmittedFor,
    /// The event's place.
    pub index: u64,
    /// The event's digest as it was resolved; none once the event is erased.
    pub digest: Option<Hash32>,
}

/// A resolved reference with what its event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferredText {
    /// The reference.
    pub reference: ContextRefRow,
    /// What the event is.
    pub kind: EventKind,
    /// The text; none for a DECISION, and for what is erased.
    pub text: Option<String>,
}

/// Queries about threads.
pub trait Threads {
    /// A configuration's document by its digest.
    fn context_config(&self, digest: Hash32) -> Result<Option<String>, StoreError>;
    /// One thread.
    fn thread(&self, id: Uuid) -> Result<Option<ThreadRow>, StoreError>;
    /// Up to `most` threads, newest first.
    fn newest_threads(&self, most: u32) -> Result<Vec<ThreadRow>, StoreError>;
    /// Up to `most` threads of this name, or whose id begins so, oldest first.
    fn threads_like(&self, text: &str, most: u32) -> Result<Vec<ThreadRow>, StoreError>;
    /// How many threads a session has begun.
    fn thread_count(&self, session: Uuid) -> Result<u64, StoreError>;
    /// The context of a turn.
    fn thread_turn(&self, turn: Uuid) -> Result<Option<ThreadTurnRow>, StoreError>;
    /// The newest turn of a thread.
    fn newest_turn(&self, thread: Uuid) -> Result<Option<Uuid>, StoreError>;
    /// One event.
    fn event(&self, id: Uuid) -> Result<Option<EventRow>, StoreError>;
    /// Up to `most` events whose id begins so.
    fn events_like(&self, prefix: &str, most: u32) -> Result<Vec<EventRow>, StoreError>;
    /// The events of a turn, by index.
    fn events_of(&self, turn: Uuid) -> Result<Vec<EventRow>, StoreError>;
    /// Calls `each` for every event of a thread, by index.
    fn each_event(
        &self,
        thread: Uuid,
        each: &mut dyn FnMut(EventRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// The INTENTs of all threads, in no order.
    fn intents(&self) -> Result<Vec<IntentRow>, StoreError>;
    /// Calls `each` for every exchange, in no order; without the texts that stand in its row.
    fn each_asked(
        &self,
        each: &mut dyn FnMut(AskedRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// The index that the next event of a thread gets.
    fn next_index(&self, thread: Uuid) -> Result<u64, StoreError>;
    /// What a turn refers to, by index.
    fn context_refs(&self, turn: Uuid) -> Result<Vec<ContextRefRow>, StoreError>;
    /// The same with texts.
    fn referred_texts(&self, turn: Uuid) -> Result<Vec<ReferredText>, StoreError>;
    /// Turns that refer to an event.
    fn referring_to(&self, event: Uuid) -> Result<Vec<Uuid>, StoreError>;
    /// How many INTENTs a thread has in lines before `line`.
    fn intents_before(&self, thread: Uuid, line: u64) -> Result<u64, StoreError>;
    /// How many INTENTs all threads have in lines before `line`, recorded after `since`, and their
    /// tokens, each text counted as four bytes a token, rounded up.
    fn intents_since(&self, since: Seconds, line: u64) -> Result<(u64, u64), StoreError>;
}

/// Insertions of threads, inside a transaction only: see [`Write`](super::Write).
pub trait PutThreads {
    /// Remembers a configuration; the same one twice is fine.
    fn put_context_config(&mut self, digest: Hash32, document: &str) -> Result<(), StoreError>;
    /// Adds a thread.
    fn put_thread(&mut self, thread: &ThreadRow) -> Result<(), StoreError>;
    /// Adds the context of a turn.
    fn put_thread_turn(&mut self, turn: &ThreadTurnRow) -> Result<(), StoreError>;
    /// Adds events; fails when the place of one in its thread is taken.
    fn put_events(&mut self, events: &[EventRow]) -> Result<(), StoreError>;
    /// Adds a resolved reference.
    fn put_context_ref(&mut self, reference: &ContextRefRow) -> Result<(), StoreError>;
}
