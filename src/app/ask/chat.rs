//! What a chat needs of the record beside asking: the questions that are offered again, and what of
//! a conversation can be named.

use std::collections::{BTreeSet, HashSet};

use uuid::Uuid;

use crate::home::Home;
use crate::record::attached::without_files;
use crate::record::hash::Hash32;
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::signature::PublicKey;
use crate::record::unseen::spelled;
use crate::store::{ReadStore, StoreError};

use crate::app::find;
use crate::app::home::secrets::auth_key_file;

/// The kind of a kernel's artifacts.
const KERNEL: &str = "kernel";
/// So many questions are offered again.
const MOST: u32 = 500;
/// A longer question is not offered: nobody edits it in a line.
const LONGEST: usize = 10_000;
/// So many of a conversation's newest exchanges can be completed.
const NAMED: u32 = 50;

/// The questions that are offered again, oldest first: the newest of all conversations, then those
/// of this one. None says what another one says, and none is erased or not kept.
pub fn history(store: &ReadStore, thread: Option<Uuid>) -> Result<Vec<String>, StoreError> {
    let own = match thread {
        Some(thread) => store.newest_questions_of(thread, MOST)?,
        None => Vec::new(),
    };
    let others = store.newest_questions(MOST)?;
    let mut offered: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for text in own.into_iter().chain(others) {
        let question = without_files(&text);
        if is_offered(question) && seen.insert(question.to_owned()) {
            offered.push(question.to_owned());
        }
    }
    offered.reverse();
    Ok(offered)
}

/// The text of a question that is on record, as it is offered again; none where it is not.
pub fn offered(store: &ReadStore, exchange: Uuid) -> Result<Option<String>, StoreError> {
    let turn = store.exchange(exchange)?.map(|row| row.turn_user);
    let turn = turn.map(|turn| store.turn(turn)).transpose()?.flatten();
    let text = turn.and_then(|turn| turn.content);
    let question = text.as_deref().map(without_files);
    Ok(question.filter(|text| is_offered(text)).map(str::to_owned))
}

/// Whether a question, or another line, is one to edit in a line: a line editor writes what moves or hides to the
/// terminal as it is.
pub fn is_offered(question: &str) -> bool {
    let is_a_line = !question.trim().is_empty() && question.len() <= LONGEST;
    is_a_line && spelled(question) == question
}

/// The thread of an exchange; none for one that has none.
pub fn thread_of(store: &ReadStore, exchange: Uuid) -> Result<Option<Uuid>, StoreError> {
    Ok(store.thread_turn(exchange)?.map(|turn| turn.thread))
}

/// The newest exchanges of a conversation as screens call them, newest first.
pub fn exchanges(store: &ReadStore, thread: Uuid) -> Result<Vec<String>, StoreError> {
    let turns = store.newest_messages(thread, NAMED)?;
    let ids = turns
        .into_iter()
        .map(|turn| find::short_id_of(store, turn).transpose());
    ids.flatten().collect()
}

/// The exchange of a conversation that was asked last, as screens call it.
pub fn last_exchange(store: &ReadStore, thread: Uuid) -> Result<Option<String>, StoreError> {
    let turn = store.newest_message(thread)?;
    Ok(turn
        .map(|turn| find::short_id_of(store, turn))
        .transpose()?
        .flatten())
}

/// What a home is asked under, and what another process may change: a home that was opened under
/// something else has to be opened anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeTerms {
    /// The kernel in force, by the id of its artifact.
    kernel: Option<String>,
    /// The signing key in force.
    signer: PublicKey,
    /// The file of the auth key that is presented, by its digest.
    auth_key: Option<Hash32>,
}

impl HomeTerms {
    /// Those in force.
    pub fn of(home: &Home, store: &ReadStore) -> Result<HomeTerms, StoreError> {
        Ok(HomeTerms {
            kernel: store.newest_artifact(KERNEL)?.map(|row| row.id),
            signer: store.head()?.signer,
            auth_key: auth_key_file(home),
        })
    }

    /// What these have that the earlier ones had not, as a sentence begins; none when they are the
    /// same.
    ///
    /// A file of an auth key that is gone is no other key: the next question says that there is none.
    pub fn changed_since(&self, earlier: &HomeTerms) -> Option<&'static str> {
        let is_same_kernel = self.kernel == earlier.kernel;
        let is_same_key = self.auth_key.is_none() || self.auth_key == earlier.auth_key;
        match (is_same_kernel, self.signer == earlier.signer, is_same_key) {
            (true, true, true) => None,
            (true, true, false) => Some("another auth key is in its file now"),
            (_, _, false) => Some(
                "another auth key is in its file now, and kernel or signing key were changed by another gently",
            ),
            (false, true, _) => Some("the kernel was changed by another gently"),
            (true, false, _) => Some("the signing key was changed by another gently"),
            (false, false, _) => Some("kernel and signing key were changed by another gently"),
        }
    }
}

/// What was erased last, so that somebody who offers texts again knows when to read them anew.
pub fn last_erasure(store: &ReadStore) -> Result<Option<String>, StoreError> {
    Ok(store.newest_artifact(TOMBSTONE)?.map(|row| row.id))
}

/// The models that were asked, each once.
pub fn models_asked(store: &ReadStore) -> Result<Vec<String>, StoreError> {
    let mut models = BTreeSet::new();
    store.each_session(&mut |session| {
        models.insert(session.model);
        Ok(())
    })?;
    Ok(models.into_iter().collect())
}
