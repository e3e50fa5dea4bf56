//! Which conversation somebody means: the first digits of its id, its title, `last`, what was asked in
//! it, or the session in which that was. Of a title a beginning is enough that no other one has.

use uuid::Uuid;

use super::{
    CONVERSATION_DIGITS, FindError, IdForm, IdKind, NAMED, SHORT_DIGITS, is_digits, short_thread,
};
use crate::app::home::open::OpenHomeError;
use crate::app::look::conversation::title_of;
use crate::record::ledger::conversation::{ConversationRow, ConversationState, LAST};
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ConversationFilter, ReadStore, SessionRow, StoreError, ThreadRow};

/// So many conversations without a title are looked through for one whose first question begins so.
pub const LOOKED_THROUGH: u32 = 10_000;
/// A beginning of fewer characters is typed by mistake.
pub const LEAST: usize = 3;

/// The conversation that a text means. `last` is the one that was asked in last, of those that are
/// listed: the open ones, of the project in use.
pub fn conversation(
    store: &ReadStore,
    text: &str,
    project: Option<&str>,
) -> Result<ConversationRow, OpenHomeError> {
    let typed = text.trim();
    if typed.eq_ignore_ascii_case(LAST) {
        return last(store, project);
    }
    let mut found = by_id(store, typed)?;
    if found.is_empty() || typed.len() < SHORT_DIGITS {
        // So few digits were never printed: of what else begins so, nothing is guessed.
        for row in of_session(store, typed)? {
            if found.iter().all(|known| known.thread != row.thread) {
                found.push(row);
            }
        }
    }
    if found.is_empty() {
        found = by_title(store, typed)?;
    }
    if found.is_empty() {
        found.extend(around(store, typed)?);
    }
    if found.is_empty() {
        found = by_beginning(store, typed)?;
    }
    only(store, typed, found)?.ok_or_else(|| unknown(store, typed))
}

/// The id of the thread that a text names, or of the conversation that it means.
pub fn thread_or_conversation(store: &ReadStore, text: &str) -> Result<Uuid, OpenHomeError> {
    match super::thread(store, text) {
        Ok(thread) => Ok(thread.thread),
        Err(_) => Ok(conversation(store, text, None)?.thread),
    }
}

/// The conversation that has this title, or the only one whose title begins so.
pub(super) fn titled(store: &ReadStore, text: &str) -> Result<Option<ConversationRow>, FindError> {
    let typed = text.trim();
    let mut found = by_title(store, typed)?;
    if found.is_empty() {
        found = by_beginning(store, typed)?;
    }
    only(store, typed, found)
}

/// The only conversation whose id begins with these digits; none where they are too few.
pub(super) fn begun_with(
    store: &ReadStore,
    digits: &str,
) -> Result<Option<ConversationRow>, FindError> {
    if digits.len() < CONVERSATION_DIGITS {
        return Ok(None);
    }
    only(store, digits, by_id(store, digits)?)
}

fn last(store: &ReadStore, project: Option<&str>) -> Result<ConversationRow, OpenHomeError> {
    let which = ConversationFilter {
        state: ConversationState::Open,
        project,
    };
    let newest = store.conversations(which, None, 1)?.pop();
    newest.ok_or_else(|| {
        let why = match project {
            Some(_) => "there is no open conversation in the project in use: gently conversation list --all",
            None => "there is no open conversation: gently ask begins one, gently conversation list --archived has the others",
        };
        OpenHomeError::Refused(why.to_owned())
    })
}

fn by_id(store: &ReadStore, typed: &str) -> Result<Vec<ConversationRow>, StoreError> {
    let digits = typed.trim_end_matches('…').to_ascii_lowercase();
    if !is_digits(&digits) {
        return Ok(Vec::new());
    }
    let mut threads: Vec<ThreadRow> = store.like(&digits, NAMED)?;
    if digits.len() >= SHORT_DIGITS {
        // What was printed of the oldest that begins so keeps its meaning.
        threads.truncate(1);
    }
    let rows = threads
        .into_iter()
        .map(|thread| store.conversation(thread.thread));
    rows.filter_map(Result::transpose).collect()
}

/// Those in which something was asked in the session that a text names, or in the sessions that begin so.
fn of_session(store: &ReadStore, typed: &str) -> Result<Vec<ConversationRow>, FindError> {
    let Some(IdForm::Digits(digits)) = IdForm::read(typed) else {
        return Ok(Vec::new());
    };
    let mut sessions: Vec<SessionRow> = store.like(&digits, NAMED)?;
    if digits.len() >= SHORT_DIGITS {
        sessions.truncate(1);
    }
    let mut threads = Vec::new();
    for session in sessions {
        threads.extend(store.threads_asked_in(session.uuid, NAMED)?);
    }
    threads.sort_unstable();
    threads.dedup();
    let rows = threads.into_iter().map(|thread| store.conversation(thread));
    Ok(rows
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?)
}

/// Those that are called exactly so, with the beginning of their first question for a title too.
fn by_title(store: &ReadStore, typed: &str) -> Result<Vec<ConversationRow>, StoreError> {
    let titled = store.conversations_titled(typed, NAMED)?;
    if !titled.is_empty() {
        return Ok(titled);
    }
    let is_meant = |title: &str| title == typed || title.strip_suffix('…') == Some(typed);
    by_question(store, &is_meant)
}

/// Those that are listed by the beginning of their first question, where that fits.
fn by_question(
    store: &ReadStore,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Vec<ConversationRow>, StoreError> {
    let mut found = Vec::new();
    for state in ConversationState::ALL {
        for row in store.untitled_conversations(state, LOOKED_THROUGH)? {
            let title = title_of(store, &row)?.text.unwrap_or_default();
            if !title.is_empty() && is_meant(&title) {
                found.push(row);
            }
        }
    }
    found.truncate(NAMED as usize);
    Ok(found)
}

/// The one in which what was typed stands: an exchange, or a part of it.
fn around(store: &ReadStore, typed: &str) -> Result<Option<ConversationRow>, OpenHomeError> {
    let exchange = match super::exchange(store, typed) {
        Ok(exchange) => exchange,
        Err(error) if error.is_nothing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let turn = store.thread_turn(exchange.exchange_id)?;
    let row = turn
        .map(|turn| store.conversation(turn.thread))
        .transpose()?;
    Ok(row.flatten())
}

/// Those whose title begins so, in whatever case.
fn by_beginning(store: &ReadStore, typed: &str) -> Result<Vec<ConversationRow>, StoreError> {
    if typed.chars().count() < LEAST {
        return Ok(Vec::new());
    }
    let typed = typed.to_lowercase();
    let is_meant = |title: &str| title.to_lowercase().starts_with(&typed);
    let titled = store.titled_among(LOOKED_THROUGH)?.into_iter();
    let mut found: Vec<ConversationRow> = titled
        .filter(|(_, title)| is_meant(title))
        .map(|(row, _)| row)
        .collect();
    for row in by_question(store, &is_meant)? {
        if found.iter().all(|known| known.thread != row.thread) {
            found.push(row);
        }
    }
    found.truncate(NAMED as usize);
    Ok(found)
}

/// That no conversation is called so, and what else is.
fn unknown(store: &ReadStore, typed: &str) -> OpenHomeError {
    let shown = spelled_on_a_line(typed);
    let other = super::any(store, typed).ok();
    OpenHomeError::Refused(match other.map(|meant| meant.kind) {
        Some(IdKind::Imported) => format!(
            "'{shown}' came from a file and stays as it was received: nobody goes on in it, gives it another name or puts \
             it away. To have it shown to a model, ask in a conversation of your own: gently ask --deep \"…\""
        ),
        Some(kind @ IdKind::Session) => format!(
            "'{shown}' is {} in which nothing was asked, and no conversation: {}",
            kind.called(),
            kind.shown_by(&shown)
        ),
        Some(kind) => format!(
            "'{shown}' is {}, and no conversation: {}",
            kind.called(),
            kind.shown_by(&shown)
        ),
        None => format!(
            "no conversation '{shown}' here: its first digits, its title or how that begins, a question in it, or last; \
             gently conversation list --all shows them, with --archived those that were put away, with --imported \
             those that came from files"
        ),
    })
}

/// The only one of what was found, if anything was; of several, each by its id and title.
fn only(
    store: &ReadStore,
    typed: &str,
    mut found: Vec<ConversationRow>,
) -> Result<Option<ConversationRow>, FindError> {
    if found.len() <= 1 {
        return Ok(found.pop());
    }
    let named = found.iter().map(|row| {
        let id = short_thread(store, row.thread)?;
        let title = spelled_on_a_line(&title_of(store, row)?.shown());
        Ok(format!("{id} \"{title}\" ({} asked)", row.turns))
    });
    Err(FindError::Several {
        text: spelled_on_a_line(typed),
        could_be: named.collect::<Result<_, StoreError>>()?,
    })
}
