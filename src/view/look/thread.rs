//! Threads and their events.

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::thread::{ListedThread, NewThread, ThreadEntry};
use crate::record::context::event::EventKind;
use crate::record::hash::Hash32;
use crate::store::ThreadRow;

/// A thread in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedThreadView {
    /// Id of the thread.
    pub thread: Uuid,
    /// Its number in its session; 0 is the session's own.
    pub number: u64,
    /// What it is called.
    pub name: Option<String>,
    /// The session that it was begun in.
    pub session: Option<Hash32>,
    /// When the thread was begun, in RFC 3339.
    pub created_at: String,
    /// Questions in it.
    pub turns: u64,
    /// Events in it.
    pub events: u64,
    /// The beginning of its first question; null before that.
    pub first_question: Option<String>,
}

impl ListedThreadView {
    /// Of a thread in a list.
    pub fn of(listed: &ListedThread) -> Self {
        let row = &listed.row;
        ListedThreadView {
            thread: row.thread,
            number: row.number,
            name: row.name.clone(),
            session: listed.session,
            created_at: row.created_at.to_string(),
            turns: listed.turns,
            events: listed.events,
            first_question: listed.first_question.clone(),
        }
    }
}

/// A thread that was begun.
#[derive(Clone, Debug, Serialize)]
pub struct NewThreadView {
    /// Id of the thread.
    pub thread: Uuid,
    /// What it is called.
    pub name: Option<String>,
    /// Id of the session that the thread was begun in.
    pub session: Hash32,
}

impl NewThreadView {
    /// Of a new thread.
    pub fn of(new: &NewThread) -> Self {
        NewThreadView {
            thread: new.row.thread,
            name: new.row.name.clone(),
            session: new.session,
        }
    }
}

/// One event of a thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadEventView {
    /// Id of the event.
    pub event: Uuid,
    /// Its place in the thread, from 0.
    pub event_index: u64,
    /// INTENT, DECISION or EXECUTION.
    pub kind: EventKind,
    /// The turn that it belongs to.
    pub turn: Uuid,
    /// The turn that this one replies to.
    pub parent_turn_id: Option<Uuid>,
    /// `sha256:` and its digest.
    pub event_digest: Option<String>,
    /// Its line in the log, from 1.
    pub line: u64,
    /// When the event went on record, in RFC 3339.
    pub created_at: String,
    /// What was said, or decided; null once erased, and when withheld.
    pub text: Option<String>,
    /// Whether it is an answer that the kernel blocks.
    pub withheld: bool,
    /// Whether its text is not the one on record.
    pub changed: bool,
}

impl ThreadEventView {
    fn of(event: &ThreadEntry) -> Self {
        let row = &event.row;
        ThreadEventView {
            event: row.event,
            event_index: row.index,
            kind: row.kind,
            turn: row.turn,
            parent_turn_id: event.parent,
            event_digest: row.digest.map(|digest| format!("sha256:{digest}")),
            line: row.line + 1,
            created_at: row.created_at.to_string(),
            text: event.said.clone(),
            withheld: event.withheld,
            changed: event.changed,
        }
    }
}

/// A thread with its events.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadView {
    /// Id of the thread.
    pub thread: Uuid,
    /// What it is called.
    pub name: Option<String>,
    /// Its number in its session.
    pub number: u64,
    /// When it was begun.
    pub created_at: String,
    /// What was said and decided in it.
    pub events: Vec<ThreadEventView>,
}

impl ThreadView {
    /// Of a thread and its events.
    pub fn of(row: &ThreadRow, events: &[ThreadEntry]) -> Self {
        ThreadView {
            thread: row.thread,
            name: row.name.clone(),
            number: row.number,
            created_at: row.created_at.to_string(),
            events: events.iter().map(ThreadEventView::of).collect(),
        }
    }
}
