//! Which conversation a question goes on with, and what a person should know of it.

use uuid::Uuid;

use crate::app::find::short_thread;
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::remember::project::ProjectDetails;
use crate::app::words::beginning;
use crate::ask::conversation::{is_opened_beforehand, newest, stands_beside};
use crate::record::hash::Hash32;
use crate::record::ledger::conversation::{CONVERSATION_PROJECT, ConversationState};
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{resumable, thread_id};
use crate::store::{ReadStore, SessionRow, StoreError};

use super::change::put_into;
use super::conversation;
use super::list::{listed, row_of};
use super::title::{ConversationTitle, TitleSource, title_of};

/// Among which conversations one is looked for.
#[derive(Clone, Debug, Default)]
pub struct ConversationScope {
    /// Whose; everybody's where no key is asked for.
    pub key: Option<Hash32>,
    /// Those of this project.
    pub project: Option<String>,
}

/// The thread of the conversation that somebody names, or of the newest one without a name.
pub fn named(
    store: &ReadStore,
    name: Option<&str>,
    scope: &ConversationScope,
) -> Result<Uuid, OpenHomeError> {
    let project = scope.project.as_deref();
    let row = match (name, scope.key) {
        (Some(name), _) => conversation(store, name, project)?,
        (None, None) => conversation(store, "last", project)?,
        (None, Some(key)) => store.newest_conversation_of(key, project)?.ok_or_else(|| {
            let of = match project {
                Some(_) => " of the project in use",
                None => "",
            };
            OpenHomeError::Refused(format!(
                "there is no open conversation{of} of this auth key to go on with: gently ask \"…\" begins one"
            ))
        })?,
    };
    Ok(row.thread)
}

/// That a conversation was put away, for whoever asks in it all the same.
pub fn is_archived(store: &ReadStore, thread: Uuid) -> Result<Option<String>, StoreError> {
    let row = store.conversation(thread)?;
    let Some(row) = row.filter(|row| row.state != ConversationState::Open) else {
        return Ok(None);
    };
    let listed = listed(store, row)?;
    let short = &listed.short;
    let is = match listed.is_deleted {
        true => "was deleted",
        false => "is archived",
    };
    Ok(Some(format!(
        "conversation {short} {is}, and goes on; to list it again: gently conversation restore {short}"
    )))
}

/// Why a question that names no conversation begins another one, although one is going on: that was
/// put away, or is not in the project in use. None where it goes on.
pub fn begins_anew(
    opened: &OpenHome,
    key: Hash32,
    model: &str,
    project: Option<&ProjectDetails>,
) -> Result<Option<String>, OpenHomeError> {
    let Some(thread) = going_on(opened, key, model)? else {
        return Ok(None);
    };
    let Some(row) = opened.store.conversation(thread)? else {
        return Ok(None);
    };
    let called = QuestionPlace::of(&opened.store, thread)?.called();
    if row.state == ConversationState::Archived {
        let is_deleted = listed(&opened.store, row)?.is_deleted;
        return Ok(Some(match is_deleted {
            true => "New conversation: the last one was deleted.".to_owned(),
            false => format!("New conversation: {called}, the last one, is archived."),
        }));
    }
    let in_use = project.filter(|project| row.project.as_deref() != Some(project.row.id.as_str()));
    Ok(in_use.map(|project| {
        format!(
            "New conversation: {called}, the last one, is not in {}, which is in use.",
            project.called()
        )
    }))
}

/// The conversation that a question would go on with, if there is one.
pub fn going_on(
    opened: &OpenHome,
    key: Hash32,
    model: &str,
) -> Result<Option<Uuid>, OpenHomeError> {
    let environment = opened.environment(model, &|_| ());
    let now = environment.now();
    let is_idle = |session: &SessionRow| session.is_quiet(now, environment.idle);
    let fits = resumable(&opened.store, &environment.terms(key))?;
    let fits = fits.filter(|session| !is_idle(session));
    if let Some(session) = &fits
        && is_opened_beforehand(&opened.store, session)?
    {
        // Its own conversation begins.
        return Ok(None);
    }
    let own = fits.map(|session| thread_id(session.id, 0));
    if stands_beside(model) {
        return Ok(own);
    }
    let open = opened.store.open_sessions()?;
    let mine = open
        .iter()
        .filter(|session| session.auth_key_hash == key && !is_idle(session));
    Ok(newest(&opened.store, mine)?.or(own))
}

/// The conversation that a question was asked in, as a person knows it.
pub struct QuestionPlace {
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// What it is called.
    pub title: ConversationTitle,
}

impl QuestionPlace {
    /// Of a thread; it is read by ids alone, however long the conversation is.
    pub fn of(store: &ReadStore, thread: Uuid) -> Result<QuestionPlace, StoreError> {
        Ok(QuestionPlace {
            short: short_thread(store, thread)?,
            title: title_of(store, &row_of(store, thread)?)?,
        })
    }

    /// Whether somebody gave it a title, or a name.
    pub fn is_titled(&self) -> bool {
        !matches!(
            self.title.source,
            TitleSource::Question | TitleSource::Nothing
        )
    }

    /// Its title, or where that is not here its id: `"Tax questions"`, `conversation 9e922fe3`.
    pub fn called(&self) -> String {
        match &self.title.text {
            Some(text) => format!("\"{}\"", spelled_on_a_line(text)),
            None => format!("conversation {}", self.short),
        }
    }

    /// The same in as many columns as there are, and never in fewer than a title needs to be known.
    pub fn called_within(&self, columns: usize) -> String {
        /// Fewer characters of a title say nothing.
        const LEAST: usize = 16;
        let marks = "\"…\"".chars().count();
        match &self.title.text {
            Some(text) => {
                let most = columns.saturating_sub(marks).max(LEAST);
                format!("\"{}\"", beginning(text, most))
            }
            None => self.called(),
        }
    }
}

/// Puts a conversation that has begun with a question into the project in use, unless somebody has
/// said already where it belongs.
pub async fn join_project(
    opened: &OpenHome,
    key: Hash32,
    thread: Uuid,
    project: &ProjectDetails,
) -> Result<Option<String>, OpenHomeError> {
    let store = &opened.store;
    if store.has_artifact(CONVERSATION_PROJECT, &thread.to_string())? {
        return Ok(None);
    }
    put_into(opened, key, thread, Some(&project.row.id)).await?;
    Ok(Some(format!(
        "conversation {} is in {}",
        short_thread(store, thread)?,
        project.called()
    )))
}
