//! What a person puts on record for continuity (AEGIS 6): facts, notes, decisions and intents.

mod add;
pub mod conflict;
pub mod list;
pub mod summary;

pub(in crate::app::remember) use add::RedactedItem;
pub use add::{ItemInput, ItemOrigin, add, check};

use crate::ask::stored_text::{StoredTexts, changed_words};
use crate::govern::sanitize::redact;
use crate::record::hash::Hash32;
use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::record::ledger::short_name::{record_name_of, short_name};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, SessionRow};

use crate::app::find::IdKind;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};

/// An item whose new state is on record.
pub struct RecordedItem {
    /// What went on record, with its line of the log.
    pub recorded: RecordedArtifact,
    /// The state that it gives.
    pub state: ItemState,
    /// What it says, without its secrets; empty when that is not here.
    pub text: String,
    /// Kinds of secrets that were removed from it.
    pub removed: Vec<String>,
}

impl RecordedItem {
    fn of(recorded: RecordedArtifact, state: ItemState, text: String) -> RecordedItem {
        RecordedItem {
            recorded,
            state,
            text,
            removed: Vec::new(),
        }
    }

    /// The state in a word. What is not kept can't be ratified, shown or taken back: it is in no
    /// state.
    pub fn state_name(&self) -> &'static str {
        if self.recorded.is_kept {
            self.state.name()
        } else {
            "not kept"
        }
    }
}

/// The newest open session of a key.
pub(in crate::app) fn newest_session(
    opened: &OpenHome,
    key: Hash32,
) -> Result<Option<SessionRow>, OpenHomeError> {
    Ok(opened
        .store
        .open_sessions()?
        .into_iter()
        .rev()
        .find(|session| session.auth_key_hash == key))
}

/// The id of the newest open session of a key.
fn session(opened: &OpenHome, key: Hash32) -> Result<Option<Hash32>, OpenHomeError> {
    Ok(newest_session(opened, key)?.map(|session| session.id))
}

/// The id on record that a person typed: `fact-183`, or 183 where a fact is meant.
fn item_id(kind: ItemKind, typed: &str) -> String {
    record_name_of(kind.name(), typed).unwrap_or_else(|| typed.to_owned())
}

/// Those that somebody wants ratified, each once, in the order in which they were named.
pub enum ToRatify {
    /// It can be ratified.
    Proposed(String),
    /// It counts already.
    InForce(CountingItem),
}

/// An item that counted before somebody wanted it ratified.
pub struct CountingItem {
    /// Its id.
    pub id: String,
    /// Its state, in which it counts.
    pub state: ItemState,
    /// What it says; empty when that is not here.
    pub text: String,
}

/// What there is to ratify of what was named.
///
/// # Errors
/// What is wrong with some of them, where anything is: none is ratified then.
pub async fn ratifiable(
    opened: &OpenHome,
    kind: ItemKind,
    typed: &[String],
) -> Result<Vec<ToRatify>, OpenHomeError> {
    /// Before the command that a fault ends with.
    const NEXT: &str = ": gently ";
    opened.authorize().await?;
    let (mut ids, mut found, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for typed in typed {
        let id = item_id(kind, typed);
        if ids.contains(&id) {
            continue;
        }
        ids.push(id.clone());
        match known(&opened.store, kind, &id)? {
            Ok(item) if item.state.is_in_force() => {
                if !StoredTexts::of(&opened.store)?.holds_item(&item)? {
                    faults.push(changed_words(std::slice::from_ref(&id)));
                }
                found.push(ToRatify::InForce(CountingItem {
                    text: text_of(opened, &id)?,
                    state: item.state,
                    id,
                }));
            }
            _ => {
                faults.extend(unratifiable(&opened.store, kind, &id)?);
                found.push(ToRatify::Proposed(id));
            }
        }
    }
    let Some(last) = faults.last() else {
        return Ok(found);
    };
    // Where all of them end with one command, it stands once.
    let next = last.rsplit_once(NEXT).map(|(_, next)| next.to_owned());
    let heads = next.as_deref().and_then(|next| {
        let heads = faults.iter().map(|fault| {
            let (head, own) = fault.rsplit_once(NEXT)?;
            (own == next).then_some(head)
        });
        heads.collect::<Option<Vec<&str>>>()
    });
    let mut why = match (heads, &next) {
        (Some(heads), Some(next)) => format!("{}{NEXT}{next}", heads.join("; ")),
        _ => faults.join("; "),
    };
    if ids.len() > 1 {
        why = format!("none of the {} is ratified: {why}", ids.len());
    }
    Err(OpenHomeError::Refused(why))
}

/// Why an item can't be ratified.
fn unratifiable(
    store: &ReadStore,
    kind: ItemKind,
    id: &str,
) -> Result<Option<String>, RecorderError> {
    Ok(match known(store, kind, id)? {
        Err(fault) => Some(fault),
        Ok(item) if item.state == ItemState::Proposed => None,
        Ok(item) => Some(format!(
            "{} is {} already; only a proposed {} can be ratified",
            short_name(id),
            item.state,
            kind.name()
        )),
    })
}

/// Makes a proposed fact or correction count.
pub async fn ratify(
    opened: &OpenHome,
    kind: ItemKind,
    id: &str,
) -> Result<RecordedItem, OpenHomeError> {
    let Some(ratified) = kind.ratified() else {
        let why = format!("a {} counts without being ratified", kind.name());
        return Err(OpenHomeError::Refused(why));
    };
    let key = opened.authorize().await?;
    let id = &item_id(kind, id);
    let text = text_of(opened, id)?;
    if let Some(item) = opened.store.item(id)?
        && !StoredTexts::of(&opened.store)?.holds_item(&item)?
    {
        return Err(OpenHomeError::Refused(changed_words(std::slice::from_ref(
            id,
        ))));
    }
    let named = id.to_owned();
    let allowed = move |store: &ReadStore| unratifiable(store, kind, &named);
    let session = session(opened, key)?;
    let content = vec![("by", ArtifactField::Hash(key))];
    let (id, salt, now) = (ArtifactId::Of(id.to_owned()), fresh_salt()?, open::clock()?);
    let new = NewArtifact {
        kind: ratified,
        id,
        content,
        session,
        salt,
        now,
    };
    let recorded = opened.recorder.artifact(new, allowed).await?;
    Ok(RecordedItem::of(recorded, ItemState::Ratified, text))
}

/// Takes an item back.
pub async fn end(
    opened: &OpenHome,
    kind: ItemKind,
    id: &str,
    reason: Option<&str>,
) -> Result<RecordedItem, OpenHomeError> {
    let key = opened.authorize().await?;
    let id = &item_id(kind, id);
    let text = text_of(opened, id)?;
    let named = id.to_owned();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        Ok(match known(store, kind, &named)? {
            Err(fault) => Some(fault),
            Ok(item) if item.state.is_in_force() || item.state == ItemState::Proposed => None,
            Ok(item) => Some(format!("{} is {} already", short_name(&named), item.state)),
        })
    };
    let session = session(opened, key)?;
    let reason = reason.map_or(ArtifactField::Null, |reason| {
        ArtifactField::Text(redact(reason.trim()).clean)
    });
    let content = vec![("by", ArtifactField::Hash(key)), ("reason", reason)];
    let (id, salt, now) = (ArtifactId::Of(id.to_owned()), fresh_salt()?, open::clock()?);
    let new = NewArtifact {
        kind: kind.ended(),
        id,
        content,
        session,
        salt,
        now,
    };
    let recorded = opened.recorder.artifact(new, allowed).await?;
    let state = if kind == ItemKind::Intent {
        ItemState::Cleared
    } else {
        ItemState::Retired
    };
    Ok(RecordedItem::of(recorded, state, text))
}

/// Takes the intent in force out of force.
pub async fn clear_intent(opened: &OpenHome) -> Result<RecordedItem, OpenHomeError> {
    let found = opened
        .store
        .items_of(&[ItemKind::Intent], &[ItemState::Declared], 1)?
        .pop();
    match found {
        None => Err(list::no_intent()),
        Some((item, _)) => end(opened, ItemKind::Intent, &item.id, None).await,
    }
}

/// The text of an item, for saying what was done to it; empty when there is none such.
fn text_of(opened: &OpenHome, id: &str) -> Result<String, OpenHomeError> {
    let Some(item) = opened.store.item(id)? else {
        return Ok(String::new());
    };
    Ok(opened.store.item_text(item.line)?.unwrap_or_default())
}

/// An item of a kind by its id, or why there is none such.
fn known(
    store: &ReadStore,
    kind: ItemKind,
    id: &str,
) -> Result<Result<Item, String>, RecorderError> {
    let (name, short) = (kind.name(), short_name(id));
    Ok(match store.item(id)? {
        Some(item) if item.kind == kind => Ok(item),
        Some(item) => Err(format!(
            "{short} is a {}, no {name}: {name}s are called {name}-NUMBER",
            item.kind.name()
        )),
        None if store.has_artifact(name, id)? => Err(format!(
            "{short} is on record by its commitment only: its text was not kept (store.content was \"none\"), so it is \
             in no state"
        )),
        None if IdKind::word_of(&short).is_some_and(|word| word != name) => {
            Err(format!("{short} is no {name}: gently show {short}"))
        }
        None => Err(format!(
            "no {name} '{short}' is on record: gently {name} {}",
            match kind {
                ItemKind::Intent => "show",
                _ => "list",
            }
        )),
    })
}
