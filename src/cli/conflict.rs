//! `gently conflict`: what disagrees, and a person's word on which of it holds (AEGIS 6.4, 12.2).

use clap::Subcommand;
use serde_json::{Value, json};

use crate::continuity::conflict::disagreeing;
use crate::govern::sanitize::redact;
use crate::record::ledger::item::{CONFLICT_RESOLVED, Item};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError};
use crate::store::{ReadStore, Store, StoreError};

use super::items::{facts, line, session};

use super::{could_not, print, program, say};
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError, fresh_salt};

/// So many subjects are listed.
const MOST: u32 = 1000;
/// So many items in force on one subject are looked at.
const MOST_ON_ONE: u32 = 100;

/// What `gently conflict` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ConflictCommand {
    /// List what is in force on one subject and does not say the same
    List,
    /// Say which one holds; the others on its subject are superseded
    Resolve {
        /// The id of the one that holds
        holds: String,
        /// Why
        #[arg(long, value_name = "WORDS")]
        reason: Option<String>,
    },
}

/// Does it.
pub async fn run(command: ConflictCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ConflictCommand::List => list(json),
        ConflictCommand::Resolve { holds, reason } => resolve(&holds, reason, json).await,
    }
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

fn list(json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    store.begin_read()?;
    let mut found = Vec::new();
    for subject in store.shared_subjects(MOST)? {
        found.extend(on(&store, &subject)?.map(|items| (subject, items)));
    }
    if json {
        let list = found.iter().map(|(subject, items)| {
            let items: Vec<Value> = items
                .iter()
                .map(|(item, text)| facts(item, Some(text)))
                .collect();
            json!({"subject": subject, "items": items})
        });
        return Ok(print(&format!("{}\n", list.collect::<Value>())));
    }
    if found.is_empty() {
        say("nothing in force disagrees");
    }
    let mut out = String::new();
    for (subject, items) in &found {
        out.push_str(&format!("{}\n", super::screen::quiet(subject)));
        for (item, text) in items {
            out.push_str(&format!("    {}\n", line(item, Some(text))));
        }
    }
    let printed = print(&out);
    if !found.is_empty() {
        say(&format!(
            "say which one holds: {} conflict resolve ID",
            program()
        ));
    }
    Ok(printed)
}

async fn resolve(holds: &str, reason: Option<String>, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    let key = opened.authorize().await?;
    let (item, others) = match sides(&opened.store, holds)? {
        Ok(sides) => sides,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let session = session(&opened, key)?;
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
    let superseded: Vec<&str> = others.iter().map(|item| item.id.as_str()).collect();
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
                    .map(|id| ArtifactField::Word((*id).to_owned()))
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
    if json {
        let facts = json!({
            "id": recorded.document.id, "holds": item.id, "superseded": superseded, "subject": item.subject,
            "recorded_at": recorded.time.to_string(), "log_line": recorded.line + 1,
        });
        return Ok(print(&format!("{facts}\n")));
    }
    Ok(print(&format!(
        "{}  {} holds; superseded: {}\n",
        recorded.document.id,
        item.id,
        superseded.join(", ")
    )))
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
