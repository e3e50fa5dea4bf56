//! What a person says of a conversation: one artifact each.

use std::path::Path;

use uuid::Uuid;

use crate::app::ask::model_choice::{CallOptions, choose};
use crate::app::find::short_thread;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::remember::named_artifact::{NamedArtifact, record_named};
use crate::app::remember::project;
use crate::config::Config;
use crate::record::hash::Hash32;
use crate::record::ledger::conversation::{
    CONVERSATION_ARCHIVED, CONVERSATION_PROJECT, CONVERSATION_RESTORED, CONVERSATION_TITLE,
    ConversationRow, ConversationState, NO_PROJECT, check_title,
};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError};
use crate::session::resume_or_open;
use crate::store::ReadStore;

use super::conversation;
use super::list::{ListedConversation, listed, row_of};

/// A title as it is recorded: what stands around it is none of it.
fn title_in(text: &str) -> Result<&str, OpenHomeError> {
    let title = text.trim();
    check_title(title).map_err(|e| OpenHomeError::Refused(e.to_string()))?;
    Ok(title)
}

/// Other conversations that are named to somebody who gave one the same title.
const SAME_TITLE: u32 = 9;

/// A conversation as it is after it was given a title.
pub struct TitledConversation {
    /// The conversation.
    pub of: ListedConversation,
    /// Kinds of secrets that were removed from the title.
    pub removed: Vec<String>,
    /// Other conversations that have the same title, by the first digits of their ids.
    pub same_title: Vec<String>,
}

/// The conversation as it is now, and whether another one has its title: that is allowed, and is
/// said, as the title alone no longer tells which is meant.
fn titled(
    opened: &OpenHome,
    thread: Uuid,
    removed: Vec<String>,
    notice: &dyn Fn(&str),
) -> Result<TitledConversation, OpenHomeError> {
    let (of, store) = (after(opened, thread)?, &opened.store);
    let mut same_title = Vec::new();
    if let Some(title) = &of.title.text {
        let others = store.conversations_titled(title, SAME_TITLE)?;
        for other in others.iter().filter(|other| other.thread != thread) {
            same_title.push(short_thread(store, other.thread)?);
        }
    }
    let said = match same_title.as_slice() {
        [] => None,
        [one] => Some(format!("another conversation has this title: {one}")),
        several => Some(format!(
            "other conversations have this title: {}",
            several.join(", ")
        )),
    };
    if let Some(said) = said {
        notice(&format!(
            "{said}; their ids tell them apart (this one: {})",
            of.short
        ));
    }
    Ok(TitledConversation {
        of,
        removed,
        same_title,
    })
}

/// The conversation that somebody means.
fn meant(opened: &OpenHome, id: &str) -> Result<ConversationRow, OpenHomeError> {
    let in_use = project::id_in_use(&opened.store, &opened.config)?;
    conversation(&opened.store, id, in_use.as_deref())
}

fn after(opened: &OpenHome, thread: Uuid) -> Result<ListedConversation, OpenHomeError> {
    Ok(listed(&opened.store, row_of(&opened.store, thread)?)?)
}

/// Refuses what [`begin`] would refuse whatever is on record, before a home is made for it: a title
/// that is none, a model that there is not.
pub async fn check_begin(
    title: &str,
    model: Option<&str>,
    home: &Path,
) -> Result<(), OpenHomeError> {
    title_in(title)?;
    let config = Config::load(home, &open::env)?;
    match choose(model, &CallOptions::default(), &config, Path::new("")).await {
        Err(error @ (OpenHomeError::Setting { .. } | OpenHomeError::UnknownModel { .. })) => {
            Err(error)
        }
        // What else is wrong is said when the home is made, as it is of a question.
        _ => Ok(()),
    }
}

/// Begins a conversation with a title, in the session of a model; it joins the project in use.
pub async fn begin(
    opened: &OpenHome,
    title: &str,
    model: Option<&str>,
    notice: &dyn Fn(&str),
) -> Result<TitledConversation, OpenHomeError> {
    let title = title_in(title)?;
    let key = opened.authorize().await?;
    let joins = project::joined_by_new(&opened.store, &opened.config, notice)?;
    let database = opened.home.paths().database();
    let choice = choose(model, &CallOptions::default(), &opened.config, &database).await?;
    let environment = opened.environment(choice.model.id(), notice);
    let session = resume_or_open(&environment, key).await?.session;
    let thread = opened
        .recorder
        .begin_thread(session.id, None, fresh_salt()?, open::clock()?)
        .await?
        .thread;
    let removed = give_title(opened, key, thread, title, notice).await?;
    if let Some(project) = joins {
        put_into(opened, key, thread, Some(&project.row.id)).await?;
    }
    titled(opened, thread, removed, notice)
}

/// Gives a conversation another title.
pub async fn rename(
    opened: &OpenHome,
    id: &str,
    title: &str,
    notice: &dyn Fn(&str),
) -> Result<TitledConversation, OpenHomeError> {
    let title = title_in(title)?;
    let key = opened.authorize().await?;
    let row = meant(opened, id)?;
    let removed = give_title(opened, key, row.thread, title, notice).await?;
    titled(opened, row.thread, removed, notice)
}

/// Records a title, and gives the kinds of secrets that were removed from it.
async fn give_title(
    opened: &OpenHome,
    key: Hash32,
    thread: Uuid,
    title: &str,
    notice: &dyn Fn(&str),
) -> Result<Vec<String>, OpenHomeError> {
    let named = NamedArtifact {
        kind: CONVERSATION_TITLE,
        id: ArtifactId::Of(thread.to_string()),
        name_key: "title",
        name: title,
        beside: Vec::new(),
    };
    let (_, removed) = record_named(opened, key, named, notice).await?;
    Ok(removed)
}

/// A conversation that was put into a project, or into none.
pub struct MovedConversation {
    /// The conversation as it is now.
    pub of: ListedConversation,
    /// Whether it was elsewhere: else nothing is recorded.
    pub is_moved: bool,
}

/// Puts a conversation into a project, or into none.
pub async fn move_to(
    opened: &OpenHome,
    id: &str,
    project: &str,
) -> Result<MovedConversation, OpenHomeError> {
    let key = opened.authorize().await?;
    let row = meant(opened, id)?;
    let target = match project.trim().eq_ignore_ascii_case(NO_PROJECT) {
        true => None,
        false => Some(project::find_open(&opened.store, project)?.row.id),
    };
    let is_moved = row.project != target;
    if is_moved {
        put_into(opened, key, row.thread, target.as_deref()).await?;
    }
    Ok(MovedConversation {
        of: after(opened, row.thread)?,
        is_moved,
    })
}

/// Records in which project a conversation is.
pub(super) async fn put_into(
    opened: &OpenHome,
    key: Hash32,
    thread: Uuid,
    project: Option<&str>,
) -> Result<(), OpenHomeError> {
    let field = project.map_or(ArtifactField::Null, |id| ArtifactField::Word(id.to_owned()));
    let (target, thread_id) = (project.map(str::to_owned), thread);
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let row = row_of(store, thread_id)?;
        if row.project == target {
            let short = short_thread(store, thread_id)?;
            return Ok(Some(match &target {
                Some(_) => format!("conversation {short} is in that project already"),
                None => format!("conversation {short} is in no project"),
            }));
        }
        match &target {
            Some(id) => project::why_not_open(store, id),
            None => Ok(None),
        }
    };
    let new = NewArtifact {
        kind: CONVERSATION_PROJECT,
        id: ArtifactId::Of(thread.to_string()),
        content: vec![("by", ArtifactField::Hash(key)), ("project", field)],
        session: None,
        salt: fresh_salt()?,
        now: open::clock()?,
    };
    opened.recorder.artifact(new, allowed).await?;
    Ok(())
}

/// Puts a conversation away: it is listed no more, unless somebody asks for the archive.
pub async fn archive(opened: &OpenHome, id: &str) -> Result<ListedConversation, OpenHomeError> {
    let key = opened.authorize().await?;
    let row = meant(opened, id)?;
    give_state(opened, key, row.thread, ConversationState::Archived).await?;
    after(opened, row.thread)
}

/// Takes a conversation out of the archive.
pub async fn restore(opened: &OpenHome, id: &str) -> Result<ListedConversation, OpenHomeError> {
    let key = opened.authorize().await?;
    let row = meant(opened, id)?;
    give_state(opened, key, row.thread, ConversationState::Open).await?;
    after(opened, row.thread)
}

/// Records where a conversation stands.
pub(super) async fn give_state(
    opened: &OpenHome,
    key: Hash32,
    thread: Uuid,
    state: ConversationState,
) -> Result<(), OpenHomeError> {
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        let row = row_of(store, thread)?;
        if row.state != state {
            return Ok(None);
        }
        let short = short_thread(store, thread)?;
        Ok(Some(format!("conversation {short} is {state} already")))
    };
    let new = NewArtifact {
        kind: match state {
            ConversationState::Archived => CONVERSATION_ARCHIVED,
            ConversationState::Open => CONVERSATION_RESTORED,
        },
        id: ArtifactId::Of(thread.to_string()),
        content: vec![("by", ArtifactField::Hash(key))],
        session: None,
        salt: fresh_salt()?,
        now: open::clock()?,
    };
    opened.recorder.artifact(new, allowed).await?;
    Ok(())
}
