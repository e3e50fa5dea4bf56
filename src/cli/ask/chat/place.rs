//! Conversations and projects as a chat needs them: the only calls to them here.

use uuid::Uuid;

use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::look::conversation::{self, ConversationScope, listed};
use crate::app::remember::project;
use crate::cli::screen::{counted, minute, quiet};
use crate::home::Home;
use crate::record::ledger::conversation::{ConversationState, NO_PROJECT};
use crate::store::{ConversationFilter, ReadStore};

/// So many titles can be completed.
const COMPLETED: u32 = 100;

/// The conversation that a text means.
pub fn find(opened: &OpenHome, text: &str) -> Result<Uuid, OpenHomeError> {
    let in_use = project::id_in_use(&opened.store, &opened.config)?;
    let found = conversation::conversation(&opened.store, text, in_use.as_deref())?;
    Ok(found.thread)
}

/// The open conversation that was asked in last, of the auth key of this home.
pub async fn newest(opened: &OpenHome) -> Result<Uuid, OpenHomeError> {
    let scope = ConversationScope {
        key: Some(opened.authorize().await?),
        project: project::id_in_use(&opened.store, &opened.config)?,
    };
    conversation::named(&opened.store, None, &scope)
}

/// A conversation in a line: `conversation 81bb5b35 "Rust notes" · 3 questions, the last one
/// 2026-11-24 02:15`.
pub fn described(store: &ReadStore, thread: Uuid) -> Result<String, OpenHomeError> {
    let Some(row) = store.conversation(thread)? else {
        return Ok("a new conversation".to_owned());
    };
    let found = listed(store, row)?;
    let title = match &found.title.text {
        Some(text) => format!("\"{}\"", quiet(text)),
        None => quiet(&found.title.shown()),
    };
    let asked = match (found.row.turns, found.last_at) {
        (0, _) | (_, None) => "nothing asked yet".to_owned(),
        (turns, Some(at)) => format!(
            "{}, the last one {}",
            counted(turns, "question"),
            minute(at)
        ),
    };
    let project = found
        .project
        .map(|project| format!(" · {}", project.called()));
    Ok(format!(
        "conversation {} {title} · {asked}{}",
        found.short,
        project.unwrap_or_default()
    ))
}

/// Begins a conversation with a title.
pub async fn begin(
    opened: &OpenHome,
    title: &str,
    model: Option<&str>,
    notice: &dyn Fn(&str),
) -> Result<Uuid, OpenHomeError> {
    let begun = conversation::begin(opened, title, model, notice).await?;
    Ok(begun.of.row.thread)
}

/// Has conversations that begin in this home join a project, or none: it is in use for as long as
/// the home is open.
pub fn join_project(opened: &mut OpenHome, text: &str) -> Result<(), OpenHomeError> {
    let typed = text.trim();
    let id = match typed.eq_ignore_ascii_case(NO_PROJECT) {
        true => NO_PROJECT.to_owned(),
        false => project::find_open(&opened.store, typed)?.row.id,
    };
    opened.config.conversation.project = Some(id);
    Ok(())
}

/// The titles of the open conversations, newest first, and the ids of those that have none.
pub fn titles(store: &ReadStore) -> Result<Vec<String>, OpenHomeError> {
    let which = ConversationFilter {
        state: ConversationState::Open,
        project: None,
    };
    let mut names = Vec::new();
    for row in store.conversations(which, None, COMPLETED)? {
        let found = listed(store, row)?;
        names.extend(found.title.text);
        names.push(found.short);
    }
    Ok(names)
}

/// The names of the projects that are not retired.
pub fn projects(home: &Home) -> Result<Vec<String>, OpenHomeError> {
    let listed = project::list(home, false)?.into_iter();
    let name = |one: project::ListedProject| one.project.name.unwrap_or(one.project.short);
    Ok(listed.map(name).collect())
}
