//! Which conversation goes on with a question that names no thread.
//!
//! A session is of one model, and a conversation is not: the one that was asked in or begun last by
//! the same auth key is gone on with, however it was named then and whatever model is asked next, for
//! as long as the session of that is open. A session that somebody opened beforehand begins another
//! one. A thread that was begun by a name of its own, and has no title, is entered by that alone.

use crate::models::{observer, replay};
use crate::recorder::thread_id;
use crate::session::ActiveSession;
use crate::store::{ReadStore, SessionRow, StoreError};
use uuid::Uuid;

/// The thread of a question that is asked in a session and names none.
///
/// It depends on questions alone, never on an answer.
pub fn thread_of(store: &ReadStore, active: &ActiveSession) -> Result<Uuid, StoreError> {
    let session = &active.session;
    let own = thread_id(session.id, 0);
    let begins = !active.is_new && is_opened_beforehand(store, session)?;
    if begins || stands_beside(&session.model) {
        return Ok(own);
    }
    let open = store.open_sessions()?;
    let of_one_person = open
        .iter()
        .filter(|other| other.auth_key_hash == session.auth_key_hash);
    Ok(newest(store, of_one_person)?.unwrap_or(own))
}

/// Whether somebody opened a session, and neither asked nor began anything in it yet.
pub fn is_opened_beforehand(store: &ReadStore, session: &SessionRow) -> Result<bool, StoreError> {
    Ok(session.prompts == 0 && store.thread_count(session.uuid)? == 0)
}

/// The conversation that was asked in or begun last in some sessions, if any of them has one.
pub fn newest<'a>(
    store: &ReadStore,
    sessions: impl Iterator<Item = &'a SessionRow>,
) -> Result<Option<Uuid>, StoreError> {
    let mut last: Option<(u64, Uuid)> = None;
    for session in sessions.filter(|session| !stands_beside(&session.model)) {
        last = last.max(store.newest_in_conversation(session.uuid)?);
        last = last.max(store.newest_begun(session.uuid)?);
    }
    Ok(last.map(|(_, thread)| thread))
}

/// Whether a model takes no part in a conversation: what is built in answers from this machine and
/// from the record, which nobody asked to have sent to a server.
pub fn stands_beside(model: &str) -> bool {
    [observer::ID, replay::ID].contains(&model)
}
