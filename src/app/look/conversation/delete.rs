//! Deleting a conversation: all its exchanges are erased, the one way there is, with the title that
//! somebody gave it, and it is put into the archive.

use uuid::Uuid;

use crate::app::find::{self, short_id_of_row};
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::app::keep::erase::{self, ErasurePlan, StoppedErasing};
use crate::app::remember::project;
use crate::config::Config;
use crate::home::Home;
use crate::record::ledger::conversation::ConversationState;
use crate::recorder::{ErasureResult, waited_for};
use crate::store::ReadStore;

use super::change::give_state;
use super::conversation;
use super::list::{ListedConversation, listed, row_of};

/// What deleting would do: looked up, and nothing done yet.
pub struct ConversationDeletion {
    /// The conversation that would be deleted.
    pub conversation: ListedConversation,
    /// What of it would be erased.
    pub erasure: ErasurePlan,
    /// What screens call the exchanges that wait for their answer: they stay.
    pub waiting: Vec<String>,
    /// What screens call those that nobody waits for any more: they stay until their session is closed.
    pub given_up: Vec<String>,
    /// How many of its questions were erased before.
    pub erased_before: usize,
    /// How many of its questions this home never kept.
    pub not_kept: usize,
    /// Whether a title or a name that somebody gave it goes, too.
    pub has_name: bool,
}

/// What was done.
pub struct DeletionResult {
    /// The conversation as it is now.
    pub conversation: ListedConversation,
    /// What was erased.
    pub erased: ErasureResult,
    /// What screens call the exchanges that wait for their answer, and stayed.
    pub waiting: Vec<String>,
    /// What screens call those that nobody waits for any more, and stayed.
    pub given_up: Vec<String>,
}

/// Looks up what deleting a conversation would do; changes nothing.
pub fn plan(
    (home, store): (&Home, &ReadStore),
    config: &Config,
    id: &str,
) -> Result<ConversationDeletion, OpenHomeError> {
    let in_use = project::id_in_use(store, config)?;
    let row = conversation(store, id, in_use.as_deref())?;
    let (mut exchanges, mut waiting, mut given_up) = (Vec::new(), Vec::new(), Vec::new());
    let waited_for = waited_for(&home.paths())?;
    let (mut erased_before, mut not_kept) = (0, 0);
    let of_thread = find::exchanges_of(store, row.thread)?;
    for id in of_thread.map_err(OpenHomeError::Refused)? {
        match store.exchange(id)? {
            Some(exchange) if exchange.outcome.is_none() => {
                let list = match waited_for.contains(&id) {
                    true => &mut waiting,
                    false => &mut given_up,
                };
                list.push(short_id_of_row(store, &exchange)?);
            }
            Some(exchange) if exchange.not_kept.is_some() => {
                not_kept += 1;
                exchanges.push(id);
            }
            Some(exchange) if exchange.salt.is_none() => erased_before += 1,
            _ => exchanges.push(id),
        }
    }
    let thread = store.thread(row.thread)?;
    let has_name = row.title_line.is_some() || thread.is_some_and(|thread| thread.name.is_some());
    Ok(ConversationDeletion {
        erasure: erase::plan_for(store, config, exchanges)?,
        conversation: listed(store, row)?,
        waiting,
        given_up,
        erased_before,
        not_kept,
        has_name,
    })
}

/// Deletes; the auth key was asked for. What was erased since it was planned is passed over.
///
/// The archive comes first: whatever stops the rest, the conversation is out of the way, and deleting
/// it again goes on where this ended.
pub async fn delete(
    opened: &OpenHome,
    planned: &ConversationDeletion,
    reason: &str,
) -> Result<DeletionResult, OpenHomeError> {
    let key = opened.authorize().await?;
    let thread = planned.conversation.row.thread;
    if row_of(&opened.store, thread)?.state == ConversationState::Open {
        give_state(opened, key, thread, ConversationState::Archived).await?;
    }
    let erased = erase_all(opened, planned, reason).await;
    let erased = erased.map_err(|fault| goes_on(opened, thread, fault))?;
    Ok(DeletionResult {
        conversation: listed(&opened.store, row_of(&opened.store, thread)?)?,
        erased,
        waiting: planned.waiting.clone(),
        given_up: planned.given_up.clone(),
    })
}

/// Erases the exchanges, then the title and the name.
async fn erase_all(
    opened: &OpenHome,
    planned: &ConversationDeletion,
    reason: &str,
) -> Result<ErasureResult, OpenHomeError> {
    let erased = erase::erase(opened, &planned.erasure, reason).await;
    let mut erased = erased.map_err(|fault| match fault {
        OpenHomeError::Recorder(cause) => StoppedErasing::at_once(&planned.erasure, cause).into(),
        other => other,
    })?;
    if planned.has_name {
        // What was said of the conversation has its id, and goes with its title.
        let thread = planned.conversation.row.thread.to_string();
        let names = erase::erase_named(opened, thread, reason).await;
        let names = names.map_err(|fault| match fault {
            OpenHomeError::Recorder(cause) if !erased.exchanges.is_empty() => {
                StoppedErasing::at_title(erased.exchanges.len(), cause).into()
            }
            other => other,
        })?;
        erased.artifacts.extend(names.artifacts);
        (erased.scrubbed, erased.unscrubbed) = (names.scrubbed, names.unscrubbed);
    }
    Ok(erased)
}

/// The fault with what goes on: the conversation is in the archive by now, so that `last` is another.
fn goes_on(opened: &OpenHome, thread: Uuid, fault: OpenHomeError) -> OpenHomeError {
    match (fault, find::short_thread(&opened.store, thread)) {
        (OpenHomeError::Erasing(stopped), Ok(short)) => stopped
            .goes_on_with(&format!("gently conversation delete {short}"))
            .into(),
        (other, _) => other,
    }
}
