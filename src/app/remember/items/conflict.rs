//! What is in force on one subject and does not say the same, and a person's word on which of it
//! holds (AEGIS 6.4, 12.2).

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::continuity::conflict::{claim_of, disagreeing};
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::record::ledger::bundle::ArtifactRef;
use crate::record::ledger::item::{CONFLICT_RESOLVED, Item, ItemKind};
use crate::record::ledger::short_name::short_name;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, StoreError};

use super::{item_id, session};
use crate::app::words::beginning;

/// So many subjects are listed.
const MOST: u32 = 1000;
/// So many items in force on one subject are looked at.
const MOST_ON_ONE: u32 = 100;

/// Items in force on one subject that do not say the same.
pub struct Conflict {
    /// Subject that two or more items in force share.
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
        found.extend(on(&store, &subject)?);
    }
    Ok(found)
}

/// How the risk flag of an artifact begins that another one in force disagrees with.
const FLAG: &str = "conflict:";
/// So much of a text stands in a line.
const EXCERPT: usize = 40;

/// What disagrees among what was put before a model.
pub fn in_context(store: &ReadStore, refs: &[ArtifactRef]) -> Result<Vec<Conflict>, StoreError> {
    let is_disputed = |one: &&ArtifactRef| one.risk_flags.iter().any(|flag| flag.starts_with(FLAG));
    let mut found: Vec<Conflict> = Vec::new();
    for disputed in refs.iter().filter(is_disputed) {
        let subject = store
            .item(&disputed.artifact_id)?
            .and_then(|item| item.subject);
        let Some(subject) = subject else { continue };
        if found.iter().all(|known| known.subject != subject) {
            found.extend(on(store, &subject)?);
        }
    }
    Ok(found)
}

impl Conflict {
    /// `the record disagrees on 'port': "Port 80." (fact-1), "Port 81." (fact-2)`, and how that ends.
    pub fn sentence(&self) -> String {
        let said = |(item, text): &(Item, String)| {
            let text = beginning(text, EXCERPT).replace('"', "'");
            format!("\"{text}\" ({})", short_name(&item.id))
        };
        let said: Vec<String> = self.items.iter().map(said).collect();
        format!(
            "The record disagrees on '{}': {}. Say which one holds: {}",
            spelled_on_a_line(&self.subject),
            said.join(", "),
            self.ways("gently")
        )
    }

    /// What is typed to say which one holds: `gently conflict resolve fact-1 (or fact-2)`.
    pub fn ways(&self, program: &str) -> String {
        let mut ids = self.items.iter().map(|(item, _)| short_name(&item.id));
        let first = ids.next().unwrap_or_default();
        let others: Vec<String> = ids.collect();
        match others.is_empty() {
            true => format!("{program} conflict resolve {first}"),
            false => format!(
                "{program} conflict resolve {first} (or {})",
                others.join(", ")
            ),
        }
    }
}

/// What disagrees on a subject.
pub fn on(store: &ReadStore, subject: &str) -> Result<Option<Conflict>, StoreError> {
    let items = disagreeing_on(store, subject)?;
    Ok(items.map(|items| Conflict {
        subject: subject.to_owned(),
        items,
    }))
}

/// What is in force on a subject, if it disagrees.
fn disagreeing_on(
    store: &ReadStore,
    subject: &str,
) -> Result<Option<Vec<(Item, String)>>, StoreError> {
    let items = store.items_on(subject, MOST_ON_ONE)?;
    let texts: Vec<(&str, &str)> = items
        .iter()
        .map(|(item, text)| (item.id.as_str(), claim_of(&item.id, text)))
        .collect();
    Ok((!disagreeing(&texts).is_empty()).then_some(items))
}

/// A conflict that was resolved.
pub struct ResolvedConflict {
    /// The record that says which item holds.
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
            if !store.item(id)?.is_some_and(|item| item.state.is_in_force()) {
                return Ok(Some(format!(
                    "{} is not in force any more: look again with gently conflict list",
                    short_name(id)
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
fn sides(store: &ReadStore, typed: &str) -> Result<Result<(Item, Vec<Item>), String>, StoreError> {
    // A number by itself is a fact's.
    let holds = &item_id(ItemKind::Fact, typed);
    let short = short_name(holds);
    let Some(item) = store.item(holds)? else {
        return Ok(Err(format!(
            "no '{short}' is on record: gently conflict list names what disagrees"
        )));
    };
    if !item.state.is_in_force() {
        return Ok(Err(format!(
            "{short} is {}: only what is in force can hold",
            item.state
        )));
    }
    let Some(subject) = item.subject.as_deref() else {
        return Ok(Err(format!(
            "{short} names no subject, so that nothing disagrees with it"
        )));
    };
    Ok(match disagreeing_on(store, subject)? {
        None => Err(format!(
            "nothing in force disagrees with {short} on '{subject}'"
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
