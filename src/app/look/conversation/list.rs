//! The list of conversations: the one that was asked in last first, a page at a time.

use uuid::Uuid;

use crate::app::find::short_thread;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::project::{self, ProjectDetails};
use crate::config::Config;
use crate::home::Home;
use crate::record::ledger::conversation::{ConversationRow, ConversationState, THREAD};
use crate::record::log::entry::{Event, Line};
use crate::record::log::page_cursor::PageCursor;
use crate::record::time::Seconds;
use crate::store::{ConversationFilter, ReadStore, StoreError};

use super::title::{ConversationTitle, ERASED, TitleSource, title_of};

/// The newest questions of a conversation whose models are told.
const MODELS_OF: u32 = 1000;

/// What is listed.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Of this project alone, as it was typed; of the one in use without it.
    pub project: Option<String>,
    /// Of all projects, and of none.
    pub all: bool,
    /// Those that were put away.
    pub archived: bool,
    /// How many conversations are listed at most.
    pub most: u32,
    /// Those behind this place of the list, as it was printed.
    pub before: Option<String>,
}

/// A conversation in a list.
pub struct ListedConversation {
    /// Row of the conversation.
    pub row: ConversationRow,
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// What it is called.
    pub title: ConversationTitle,
    /// The project that it belongs to; none when it belongs to none.
    pub project: Option<ProjectDetails>,
    /// When it was asked in last; when it was begun, before that.
    pub last_at: Option<Seconds>,
    /// The models that answered in it, the one that answered last first; where none did, those that
    /// were asked.
    pub models: Vec<String>,
    /// Whether it was put away, and nothing of it is left: no text, and no title.
    pub is_deleted: bool,
}

/// A page of the list.
pub struct ConversationList {
    /// Last asked first.
    pub conversations: Vec<ListedConversation>,
    /// Where the next page begins; none when this is the last one.
    pub next: Option<PageCursor>,
    /// The project whose conversations are listed.
    pub project: Option<ProjectDetails>,
    /// Whether that one is in use, and nobody asked for it.
    pub is_in_use: bool,
    /// Whether none is listed because all were put away.
    pub are_put_away: bool,
}

/// A page of the list of conversations of a home.
pub fn list(home: &Home, request: &ListRequest) -> Result<ConversationList, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.begin_read()?;
    let project = chosen(&store, &config, request)?;
    let before = request.before.as_deref();
    let before = before.map(|text| place(&store, text)).transpose()?;
    let which = ConversationFilter {
        state: match request.archived {
            true => ConversationState::Archived,
            false => ConversationState::Open,
        },
        project: project.as_ref().map(|project| project.row.id.as_str()),
    };
    // One more tells whether there is another page.
    let mut rows = store.conversations(which, before, request.most.saturating_add(1))?;
    let most = usize::try_from(request.most).unwrap_or(usize::MAX);
    let has_more = rows.len() > most;
    rows.truncate(most);
    let archived = ConversationFilter {
        state: ConversationState::Archived,
        ..which
    };
    let is_first = rows.is_empty() && before.is_none() && !request.archived;
    let are_put_away = is_first && !store.conversations(archived, None, 1)?.is_empty();
    let conversations: Vec<_> = rows
        .into_iter()
        .map(|row| listed(&store, row))
        .collect::<Result<_, _>>()?;
    let last = conversations.last().filter(|_| has_more);
    let next = last.and_then(|last| {
        Some(PageCursor {
            line: last.row.last_line,
            time: last.last_at?,
        })
    });
    Ok(ConversationList {
        conversations,
        next,
        is_in_use: project.is_some() && request.project.is_none(),
        are_put_away,
        project,
    })
}

/// The project whose conversations are listed.
fn chosen(
    store: &ReadStore,
    config: &Config,
    request: &ListRequest,
) -> Result<Option<ProjectDetails>, OpenHomeError> {
    match &request.project {
        Some(text) => Ok(Some(project::find(store, text)?)),
        None if request.all => Ok(None),
        None => project::in_use(store, config),
    }
}

/// A conversation with what a list shows of it.
pub fn listed(store: &ReadStore, row: ConversationRow) -> Result<ListedConversation, StoreError> {
    let project = match &row.project {
        Some(id) => project::details(store, id)?,
        None => None,
    };
    let title = title_of(store, &row)?;
    Ok(ListedConversation {
        short: short_thread(store, row.thread)?,
        is_deleted: is_deleted(store, &row, &title)?,
        title,
        last_at: line(store, row.last_line)?.map(|line| line.time),
        models: answering(store.models_of(row.thread, MODELS_OF)?),
        project,
        row,
    })
}

/// Whether a conversation was put away with all its texts erased.
fn is_deleted(
    store: &ReadStore,
    row: &ConversationRow,
    title: &ConversationTitle,
) -> Result<bool, StoreError> {
    let is_gone = title.source == TitleSource::Gone(ERASED);
    if row.state != ConversationState::Archived || !is_gone {
        return Ok(false);
    }
    for exchange in store.exchanges_in(row.thread)? {
        if store
            .exchange(exchange)?
            .is_some_and(|row| row.salt.is_some())
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Those of the models that answered; all where none did.
fn answering(mut asked: Vec<(String, bool)>) -> Vec<String> {
    if asked.iter().any(|(_, answered)| *answered) {
        asked.retain(|(_, answered)| *answered);
    }
    asked.into_iter().map(|(model, _)| model).collect()
}

/// The line that a cursor of this list names: that of a question, or of the beginning of a thread.
fn place(store: &ReadStore, text: &str) -> Result<PageCursor, OpenHomeError> {
    let cursor = read(text)?;
    let found = line(store, cursor.line)?.filter(|line| line.time == cursor.time);
    let is_ours = found.is_some_and(|line| match line.event {
        Event::Prompt { .. } => true,
        Event::Artifact { kind, .. } => kind == THREAD,
        _ => false,
    });
    match is_ours {
        true => Ok(cursor),
        false => Err(of_another(text, "gently conversation list")),
    }
}

/// A cursor, as it was typed.
pub(super) fn read(text: &str) -> Result<PageCursor, OpenHomeError> {
    let cursor = text.trim().parse::<PageCursor>();
    cursor.map_err(|e| OpenHomeError::Refused(e.to_string()))
}

/// That a cursor is of another listing.
pub(super) fn of_another(text: &str, command: &str) -> OpenHomeError {
    OpenHomeError::Refused(format!(
        "the cursor {} is of another listing: take one that {command} printed, or leave it out to begin anew",
        text.trim()
    ))
}

fn line(store: &ReadStore, n: u64) -> Result<Option<Line>, StoreError> {
    let lines = store.lines(n, n.saturating_add(1))?;
    Ok(lines
        .first()
        .and_then(|text| Line::parse(text.as_bytes()).ok()))
}

/// The row of a conversation by its thread.
pub(super) fn row_of(store: &ReadStore, thread: Uuid) -> Result<ConversationRow, StoreError> {
    store
        .conversation(thread)?
        .ok_or_else(|| StoreError::Corrupt {
            place: "conversation.thread_id".to_owned(),
            expected: "a row for each thread".to_owned(),
            actual: format!("none for {thread}"),
        })
}
