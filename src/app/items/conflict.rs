//! What is in force on one subject and does not say the same, and a person's word on which of it
//! holds (AEGIS 6.4, 12.2).

use crate::app::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::continuity::conflict::disagreeing;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::record::ledger::item::{CONFLICT_RESOLVED, Item};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, StoreError};

use super::session;

/// So many subjects are listed.
const MOST: u32 = 1000;
/// So many items in force on one subject are looked at.
const MOST_ON_ONE: u32 = 100;

/// Items in force on one subject that do not say the same.
pub struct Conflict {
    /// The subject.
    pub subject: String,
    /// Each with what it says.
    pub items: Vec<(Item, String)>,
}

/// All conflicts of a home.
pub fn list(home: &Home) -> Result<Vec<Conflict>, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let mut found = Vec::new();
    for subject in store.shared_subjects(MOST)? {
        found.extend(on(&store, &subject)?.map(|items| Conflict { subject, items }));
    }
    Ok(found)
}

/// What is in force on a subject, if it disagrees.
fn on(store: &ReadStore, subject: &str) -> Result<Option<Vec<(Item, String)>>, StoreError> {
    let items = store.items_on(subject, MOST_ON_ONE)?;
    let texts: Vec<(&str, &str)> = items
        .iter()
        .map(|(item, text)| (item.id.as_str(), text.as_str()))
        .collect();
    Ok((!disagreeing(&texts).is_empty()).then_some(items))
}

/// A conflict that was resolved.
pub struct ResolvedConflict {
    /// The record.
    pub recorded: RecordedArtifact,
    /// The item that holds.
    pub holds: Item,
    /// Ids of those that do not hold any more.
    pub superseded: Vec<String>,
}

/// Says, on record, which of those that disagree on a subject holds.
pub async fn resolve(
    opened: &OpenHome,
    holds: &str,
    reason: Option<&str>,
) -> Result<ResolvedConflict, OpenHomeError> {
    let key = opened.authorize().await?;
    let (item, others) = sides(&opened.store, holds)?.map_err(OpenHomeError::Refused)?;
    let session = session(opened, key)?;
    let all: Vec<String> = std::iter::once(&item)
        .chain(&others)
        .map(|item| item.id.clone())
        .collect();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        for id in &all {
            if !store.item(id)?.is_some_and(|item| item.state.in_force()) {
                return Ok(Some(format!(
                    "{id} is not in force any more: look again with gently conflict list"
                )));
            }
        }
        Ok(None)
    };
    let superseded: Vec<String> = others.into_iter().map(|item| item.id).collect();
    let content = vec![
        ("by", ArtifactField::Hash(key)),
        ("holds", ArtifactField::Word(item.id.clone())),
        (
            "reason",
            reason.map_or(ArtifactField::Null, |reason| {
                ArtifactField::Text(redact(reason.trim()).clean)
            }),
        ),
        (
            "subject",
            item.subject
                .as_deref()
                .map_or(ArtifactField::Null, |subject| {
                    ArtifactField::Text(redact(subject).clean)
                }),
        ),
        (
            "superseded",
            ArtifactField::List(
                superseded
                    .iter()
                    .map(|id| ArtifactField::Word(id.clone()))
                    .collect(),
            ),
        ),
    ];
    let (id, salt, now) = (
        ArtifactId::Next { prefix: "conflict" },
        fresh_salt()?,
        open::clock()?,
    );
    let new = NewArtifact {
        kind: CONFLICT_RESOLVED,
        id,
        content,
        session,
        salt,
        now,
    };
    let recorded = opened.recorder.artifact(new, allowed).await?;
    Ok(ResolvedConflict {
        recorded,
        holds: item,
        superseded,
    })
}

/// The one that is to hold, and the others on its subject; or why there is nothing to resolve.
fn sides(store: &ReadStore, holds: &str) -> Result<Result<(Item, Vec<Item>), String>, StoreError> {
    let Some(item) = store.item(holds)? else {
        return Ok(Err(format!(
            "no {holds} is on record: gently conflict list names what disagrees"
        )));
    };
    if !item.state.in_force() {
        return Ok(Err(format!(
            "{holds} is {}: only what is in force can hold",
            item.state
        )));
    }
    let Some(subject) = item.subject.as_deref() else {
        return Ok(Err(format!(
            "{holds} names no subject, so that nothing disagrees with it"
        )));
    };
    Ok(match on(store, subject)? {
        None => Err(format!(
            "nothing in force disagrees with {holds} on '{subject}'"
        )),
        Some(all) => {
            let others = all
                .into_iter()
                .map(|(other, _)| other)
                .filter(|other| other.id != item.id)
                .collect();
            Ok((item, others))
        }
    })
}
