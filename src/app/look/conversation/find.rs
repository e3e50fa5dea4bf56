//! Which conversation somebody means: the first digits of its id, its exact title, or `last`.

use crate::app::find::short_thread;
use crate::app::home::open::OpenHomeError;
use crate::record::ledger::conversation::{ConversationRow, ConversationState, LAST};
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ConversationFilter, ReadStore, StoreError, ThreadRow};

use super::title::title_of;

/// How many that a text could mean are named.
const NAMED: u32 = 8;
/// So many conversations without a title are looked through for one whose first question begins so.
const LOOKED_THROUGH: u32 = 10_000;
/// So many digits of an id are printed, and are enough.
const DIGITS: usize = 8;

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
    if found.is_empty() {
        found = store.conversations_titled(typed, NAMED)?;
    }
    if found.is_empty() {
        found = by_question(store, typed)?;
    }
    match found.len() {
        0 => Err(unknown(typed)),
        1 => found.pop().ok_or_else(|| unknown(typed)),
        _ => Err(several(store, typed, &found)?),
    }
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
    let is_id = digits.starts_with(|c: char| c.is_ascii_hexdigit())
        && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !is_id {
        return Ok(Vec::new());
    }
    let mut threads: Vec<ThreadRow> = store.like(&digits, NAMED)?;
    if digits.len() >= DIGITS {
        // What was printed of the oldest that begins so keeps its meaning.
        threads.truncate(1);
    }
    let rows = threads
        .into_iter()
        .map(|thread| store.conversation(thread.thread));
    rows.filter_map(Result::transpose).collect()
}

/// Those that are listed by the beginning of their first question, with or without the `…` behind it.
fn by_question(store: &ReadStore, typed: &str) -> Result<Vec<ConversationRow>, StoreError> {
    let mut found = Vec::new();
    for state in ConversationState::ALL {
        for row in store.untitled_conversations(state, LOOKED_THROUGH)? {
            let title = title_of(store, &row)?.text.unwrap_or_default();
            let is_meant = title == typed || title.strip_suffix('…') == Some(typed);
            if is_meant && !title.is_empty() {
                found.push(row);
            }
        }
    }
    found.truncate(NAMED as usize);
    Ok(found)
}

fn unknown(typed: &str) -> OpenHomeError {
    OpenHomeError::Refused(format!(
        "no conversation '{}' here: its first digits, its whole title, or last; gently conversation list --all \
         shows them, with --archived those that were put away",
        spelled_on_a_line(typed)
    ))
}

/// That a text names several, each by its id and title.
fn several(
    store: &ReadStore,
    typed: &str,
    found: &[ConversationRow],
) -> Result<OpenHomeError, StoreError> {
    let named = found.iter().map(|row| {
        let id = short_thread(store, row.thread)?;
        let title = spelled_on_a_line(&title_of(store, row)?.shown());
        Ok(format!("{id} \"{title}\" ({} asked)", row.turns))
    });
    let named: Vec<String> = named.collect::<Result<_, StoreError>>()?;
    Ok(OpenHomeError::Refused(format!(
        "'{}' could be any of: {}; say which by its id",
        spelled_on_a_line(typed),
        named.join(", ")
    )))
}
