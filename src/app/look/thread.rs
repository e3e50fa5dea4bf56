//! Threads: listing them, what was said in one, and beginning another.

use uuid::Uuid;

use crate::ask::stored_text::StoredTexts;
use crate::ask::withheld::Withheld;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::record::context::event::EventKind;
use crate::record::hash::Hash32;
use crate::record::ledger::conversation::is_for_an_id;
use crate::record::unseen::is_plain_name;
use crate::session::resume_or_open;
use crate::store::{EventRow, ExchangeRow, Store, StoreError, ThreadRow};

use super::session::question_begins;
use crate::app::ask::denial::reason_words;
use crate::app::ask::model_choice::{CallOptions, choose};
use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError};

/// So many threads are listed.
const MOST: u32 = 10_000;
/// Characters of a name.
const MAX_NAME: usize = 60;

/// A thread in a list.
pub struct ListedThread {
    /// Row of the thread as the database has it.
    pub row: ThreadRow,
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// The session that it was begun in.
    pub session: Option<Hash32>,
    /// Questions in it.
    pub turns: u64,
    /// Events in it.
    pub events: u64,
    /// The beginning of its first question, or that it is not here any more; none before that.
    pub first_question: Option<String>,
}

/// The threads of a home, newest last.
pub fn list(home: &Home) -> Result<Vec<ListedThread>, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let mut threads = store.newest_threads(MOST)?;
    threads.reverse();
    let listed = |row: ThreadRow| {
        let first = store.first_message(row.thread)?;
        let first = first
            .map(|turn| store.exchange(turn))
            .transpose()?
            .flatten();
        Ok(ListedThread {
            first_question: first.map(|one| question_begins(&store, &one)).transpose()?,
            short: find::short_thread(&store, row.thread)?,
            session: store.session_of(row.session)?.map(|session| session.id),
            turns: store.intents_before(row.thread, u64::MAX)?,
            events: store.next_index(row.thread)?,
            row,
        })
    };
    threads.into_iter().map(listed).collect()
}

/// A thread that was begun.
pub struct NewThread {
    /// Row of the thread that was made.
    pub row: ThreadRow,
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// Session that the thread was begun in.
    pub session: Hash32,
}

/// Begins a thread in the session of a model.
pub async fn begin(
    home: Home,
    name: Option<&str>,
    model: Option<&str>,
    notice: &dyn Fn(&str),
) -> Result<NewThread, OpenHomeError> {
    if let Some(why) = name.and_then(unfit) {
        return Err(OpenHomeError::Refused(why));
    }
    let opened = OpenHome::open(home)?;
    let key = opened.authorize().await?;
    let database = opened.home.paths().database();
    let choice = choose(model, &CallOptions::default(), &opened.config, &database).await?;
    let environment = opened.environment(choice.model.id(), notice);
    let session = resume_or_open(&environment, key).await?.session;
    let (salt, now) = (open::fresh_salt()?, open::clock()?);
    let name = name.map(|name| redact(name).clean);
    let row = opened
        .recorder
        .begin_thread(session.id, name, salt, now)
        .await?;
    Ok(NewThread {
        short: find::short_thread(&opened.store, row.thread)?,
        row,
        session: session.id,
    })
}

/// Why a name is none.
fn unfit(name: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let fits = !name.trim().is_empty() && name.trim() == name && name.chars().count() <= MAX_NAME;
    if fits && name.chars().all(plain) && is_plain_name(name) && !is_for_an_id(name) {
        return None;
    }
    Some(format!(
        "'{}' is no name of a thread: at most {MAX_NAME} letters, digits, '-', '_', '.' and spaces between, and \
         nothing that looks like an id, as last, fact-1 or hexadecimal digits alone do",
        name.escape_debug()
    ))
}

/// One event of a thread.
pub struct ThreadEntry {
    /// Row of the event as the database has it.
    pub row: EventRow,
    /// Its exchange, as screens call it.
    pub exchange: String,
    /// The turn that its turn replies to.
    pub parent: Option<Uuid>,
    /// The same as screens call it.
    pub parent_exchange: Option<String>,
    /// What was said, or what was decided; none once erased, and none when withheld.
    pub said: Option<String>,
    /// The same of a decision, for a person.
    pub decided: Option<String>,
    /// An answer that the kernel blocks: `gently show --withheld` shows it.
    pub withheld: bool,
    /// Its text is not the one on record.
    pub changed: bool,
}

impl ThreadEntry {
    fn of(
        store: &Store,
        (gate, texts): (&Withheld<'_>, &StoredTexts<'_>),
        row: EventRow,
    ) -> Result<ThreadEntry, StoreError> {
        let turn = store.thread_turn(row.turn)?;
        let mut decided = None;
        let said = match row.kind {
            EventKind::Decision => {
                let exchange = store.exchange(row.turn)?;
                decided = exchange.as_ref().map(decision_words);
                let reasons = turn
                    .as_ref()
                    .map(|turn| turn.reasons.as_str())
                    .filter(|reasons| *reasons != "[]");
                exchange.map(|exchange| match reasons {
                    Some(reasons) => format!("{} {reasons}", exchange.decision),
                    None => exchange.decision,
                })
            }
            EventKind::Intent | EventKind::Execution => {
                store.turn(row.event)?.and_then(|turn| turn.content)
            }
        };
        let withheld = row.kind == EventKind::Execution && gate.turn(row.event)?;
        let said = said.filter(|_| !withheld);
        let changed = match (&said, row.kind) {
            (None, _) | (_, EventKind::Decision) => false,
            (Some(text), kind) => match store.exchange(row.turn)? {
                Some(exchange) => !texts.holds(&exchange, kind == EventKind::Intent, text)?,
                None => true,
            },
        };
        let said = said.filter(|_| !changed);
        let parent = turn.and_then(|turn| turn.parent);
        let named = |turn| {
            let short = find::short_id_of(store, turn)?;
            Ok::<_, StoreError>(short.unwrap_or_else(|| turn.to_string()))
        };
        Ok(ThreadEntry {
            exchange: named(row.turn)?,
            parent_exchange: parent.map(named).transpose()?,
            parent,
            row,
            said,
            decided,
            withheld,
            changed,
        })
    }
}

/// Whether an event is one of its exchange's.
fn is_of(event: &EventRow, exchange: &ExchangeRow) -> bool {
    let answer = exchange
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.turn_aurora);
    match event.kind {
        EventKind::Intent => event.event == exchange.turn_user,
        EventKind::Execution => Some(event.event) == answer,
        EventKind::Decision => true,
    }
}

/// `allowed`, or `denied: it refers to another thread`.
fn decision_words(exchange: &ExchangeRow) -> String {
    let outcome = exchange.outcome.as_ref();
    let reason = outcome.and_then(|outcome| outcome.reason.as_deref());
    match (exchange.decision.as_str(), reason) {
        ("allow", _) => "allowed".to_owned(),
        ("deny", Some(reason)) => format!("denied: {}", reason_words(reason)),
        ("deny", None) => "denied".to_owned(),
        (other, _) => other.to_owned(),
    }
}

/// A thread with its events.
pub struct ThreadDetails {
    /// Row of the thread as the database has it.
    pub row: ThreadRow,
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// What was said and decided in it.
    pub events: Vec<ThreadEntry>,
}

impl ThreadDetails {
    /// Exchanges with a text that is not the one on record, each once, as screens call them.
    pub fn changed(&self) -> Vec<&str> {
        let changed = self.events.iter().filter(|event| event.changed);
        let mut ids: Vec<&str> = changed.map(|event| event.exchange.as_str()).collect();
        ids.dedup();
        ids
    }
}

/// The thread that a text names, or that of the conversation that it means.
fn thread_of(store: &Store, text: &str) -> Result<ThreadRow, OpenHomeError> {
    let unknown = match find::thread(store, text) {
        Ok(thread) => return Ok(thread),
        Err(unknown) => unknown,
    };
    let meant = find::conversation::conversation(store, text, None).ok();
    let meant = meant.map(|meant| store.thread(meant.thread)).transpose()?;
    Ok(meant.flatten().ok_or(unknown)?)
}

/// The events of the thread that `id` means, or of the newest one.
pub fn show(home: &Home, id: Option<&str>) -> Result<ThreadDetails, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let thread = match id {
        Some(id) => thread_of(&store, id)?,
        None => store.newest_threads(1)?.pop().ok_or_else(|| {
            OpenHomeError::Refused("there is no thread yet: gently ask".to_owned())
        })?,
    };
    let mut rows = Vec::new();
    // What belongs to no exchange of this thread nobody said here: a row that somebody put there.
    store.each_event(thread.thread, &mut |event| {
        let turn = store.thread_turn(event.turn)?;
        if turn.is_some_and(|turn| turn.thread == thread.thread)
            && store
                .exchange(event.turn)?
                .is_some_and(|exchange| is_of(&event, &exchange))
        {
            rows.push(event);
        }
        Ok(())
    })?;
    let (gate, texts) = (Withheld::of(&store), StoredTexts::of(&store)?);
    let events = rows
        .into_iter()
        .map(|row| ThreadEntry::of(&store, (&gate, &texts), row))
        .collect::<Result<_, _>>()?;
    Ok(ThreadDetails {
        short: find::short_thread(&store, thread.thread)?,
        row: thread,
        events,
    })
}
