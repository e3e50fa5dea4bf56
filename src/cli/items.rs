//! `gently fact`, `note`, `decision`, `intent`: what a person puts on record for continuity (AEGIS
//! 6).

mod add;
mod list;

pub use list::{facts, line};

use add::{ItemInput, add};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::continuity::candidate::Confidence;
use crate::govern::sanitize::redact;
use crate::record::hash::Hash32;
use crate::record::ledger::item::{FACT_RATIFIED, Item, ItemKind, ItemState};
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, SessionRow};

use super::screen::quiet;
use super::{could_not, print};
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError, fresh_salt};

/// `gently fact`.
#[derive(Debug, Subcommand)]
pub enum FactCommand {
    /// Propose a fact; it counts once it is ratified
    Add(FactArgs),
    /// Make a proposed fact count: from now on it may be put before a model
    Ratify {
        /// As in ledger:000183
        id: String,
    },
    /// Take a fact back
    Retire(EndArgs),
    /// List facts
    List(ListArgs),
}

/// `gently note`.
#[derive(Debug, Subcommand)]
pub enum NoteCommand {
    /// Put a note on record
    Add(NoteArgs),
    /// Take a note back
    Retire(EndArgs),
    /// List notes
    List(ListArgs),
}

/// `gently decision`.
#[derive(Debug, Subcommand)]
pub enum DecisionCommand {
    /// Put a decision on record
    Add(DecisionArgs),
    /// Take a decision back
    Retire(EndArgs),
    /// List decisions
    List(ListArgs),
}

/// `gently intent`.
#[derive(Debug, Subcommand)]
pub enum IntentCommand {
    /// Declare what the work at hand is for; in force until another one is set, or it is cleared
    Set {
        /// The intent
        text: String,
    },
    /// Show the intent in force
    Show,
    /// Take it out of force
    Clear,
}

/// `gently fact add`.
#[derive(Debug, Args)]
pub struct FactArgs {
    /// The claim
    text: String,
    /// What it is about: two facts in force on one subject that do not say the same are a conflict
    #[arg(long, value_name = "WORDS")]
    subject: Option<String>,
    /// How sure it is
    #[arg(long, value_enum, default_value = "medium")]
    confidence: Sure,
    #[command(flatten)]
    common: CommonArgs,
}

/// `gently note add`.
#[derive(Debug, Args)]
pub struct NoteArgs {
    /// The note
    text: String,
    #[command(flatten)]
    common: CommonArgs,
}

/// `gently decision add`.
#[derive(Debug, Args)]
pub struct DecisionArgs {
    /// What was decided
    text: String,
    /// What it is about: what else is in force on it and does not say the same is a conflict
    #[arg(long, value_name = "WORDS")]
    subject: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// What every one of them takes.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Where it is from: a person, a document, an exchange
    #[arg(long, value_name = "WORDS", default_value = "user")]
    source: String,
    /// When it was observed, if not now: 2025-12-31T04:25:37Z, 2025-12-31, or an age like 2h or 3d
    #[arg(long, value_name = "TIME")]
    observed_at: Option<String>,
    /// The tier from which on it may be put before a model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: u8,
}

/// Taking something back.
#[derive(Debug, Args)]
pub struct EndArgs {
    /// Its id
    id: String,
    /// Why
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
}

/// Listing.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Those that are no longer in force, too
    #[arg(long)]
    all: bool,
}

/// `--confidence`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sure {
    High,
    Medium,
    Low,
}

impl Sure {
    fn confidence(self) -> Confidence {
        match self {
            Sure::High => Confidence::High,
            Sure::Medium => Confidence::Medium,
            Sure::Low => Confidence::Low,
        }
    }
}

/// `gently fact`.
pub async fn fact(command: FactCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        FactCommand::Add(args) => {
            let said = ItemInput::new(
                ItemKind::Fact,
                &args.text,
                args.subject.as_deref(),
                Some(args.common),
            );
            add(said, Some(args.confidence.confidence()), json).await
        }
        FactCommand::Ratify { id } => ratify(id, json).await,
        FactCommand::Retire(args) => end(ItemKind::Fact, args, json).await,
        FactCommand::List(args) => list::run(ItemKind::Fact, args.all, json),
    }
}

/// `gently note`.
pub async fn note(command: NoteCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        NoteCommand::Add(args) => {
            add(
                ItemInput::new(ItemKind::Note, &args.text, None, Some(args.common)),
                None,
                json,
            )
            .await
        }
        NoteCommand::Retire(args) => end(ItemKind::Note, args, json).await,
        NoteCommand::List(args) => list::run(ItemKind::Note, args.all, json),
    }
}

/// `gently decision`.
pub async fn decision(command: DecisionCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        DecisionCommand::Add(args) => {
            let said = ItemInput::new(
                ItemKind::Decision,
                &args.text,
                args.subject.as_deref(),
                Some(args.common),
            );
            add(said, None, json).await
        }
        DecisionCommand::Retire(args) => end(ItemKind::Decision, args, json).await,
        DecisionCommand::List(args) => list::run(ItemKind::Decision, args.all, json),
    }
}

/// `gently intent`.
pub async fn intent(command: IntentCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        IntentCommand::Set { text } => {
            add(
                ItemInput::new(ItemKind::Intent, &text, None, None),
                None,
                json,
            )
            .await
        }
        IntentCommand::Show => list::intent(json),
        IntentCommand::Clear => {
            let opened = OpenHome::open(open::existing_home()?)?;
            let found = opened
                .store
                .items_of(&[ItemKind::Intent], &[ItemState::Declared], 1)?
                .pop();
            match found {
                None => Ok(could_not(
                    "no intent is declared: gently intent set \"…\"",
                    json,
                )),
                Some((item, _)) => {
                    end_in(
                        &opened,
                        ItemKind::Intent,
                        EndArgs {
                            id: item.id,
                            reason: None,
                        },
                        json,
                    )
                    .await
                }
            }
        }
    }
}

/// The newest open session of a key.
fn newest(opened: &OpenHome, key: Hash32) -> Result<Option<SessionRow>, OpenHomeError> {
    Ok(opened
        .store
        .open_sessions()?
        .into_iter()
        .rev()
        .find(|session| session.auth_key_hash == key))
}

/// The id of the newest open session of a key.
pub fn session(opened: &OpenHome, key: Hash32) -> Result<Option<Hash32>, OpenHomeError> {
    Ok(newest(opened, key)?.map(|session| session.id))
}

fn told(
    recorded: &RecordedArtifact,
    state: ItemState,
    text: &str,
    removed: &[String],
    json: bool,
) -> u8 {
    let id = &recorded.document.id;
    // What is not kept can't be ratified, shown or taken back: it is in no state.
    let state = if recorded.is_kept {
        state.name()
    } else {
        "not kept"
    };
    if json {
        let facts = json!({
            "id": id, "kind": recorded.document.kind, "state": state, "content": recorded.document.content,
            "recorded_at": recorded.time.to_string(), "log_line": recorded.line + 1, "removed": removed,
            "kept": recorded.is_kept,
        });
        return print(&format!("{facts}\n"));
    }
    print(&format!("{id}  {state}  {}\n", quiet(text)))
}

async fn ratify(id: String, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    let key = opened.authorize().await?;
    let text = text_of(&opened, &id)?;
    let named = id.clone();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        Ok(match known(store, ItemKind::Fact, &named)? {
            Err(fault) => Some(fault),
            Ok(item) if item.state == ItemState::Proposed => None,
            Ok(item) => Some(format!(
                "{named} is {} already; only a proposed fact can be ratified",
                item.state
            )),
        })
    };
    let session = session(&opened, key)?;
    let content = vec![("by", ArtifactField::Hash(key))];
    let (id, salt, now) = (ArtifactId::Of(id), fresh_salt()?, open::clock()?);
    let new = NewArtifact {
        kind: FACT_RATIFIED,
        id,
        content,
        session,
        salt,
        now,
    };
    let recorded = opened.recorder.artifact(new, allowed).await?;
    Ok(told(&recorded, ItemState::Ratified, &text, &[], json))
}

async fn end(kind: ItemKind, args: EndArgs, json: bool) -> Result<u8, OpenHomeError> {
    end_in(&OpenHome::open(open::existing_home()?)?, kind, args, json).await
}

async fn end_in(
    opened: &OpenHome,
    kind: ItemKind,
    args: EndArgs,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let key = opened.authorize().await?;
    let text = text_of(opened, &args.id)?;
    let named = args.id.clone();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        Ok(match known(store, kind, &named)? {
            Err(fault) => Some(fault),
            Ok(item) if item.state.in_force() || item.state == ItemState::Proposed => None,
            Ok(item) => Some(format!("{named} is {} already", item.state)),
        })
    };
    let session = session(opened, key)?;
    let reason = args.reason.map_or(ArtifactField::Null, |reason| {
        ArtifactField::Text(redact(reason.trim()).clean)
    });
    let content = vec![("by", ArtifactField::Hash(key)), ("reason", reason)];
    let (id, salt, now) = (ArtifactId::Of(args.id), fresh_salt()?, open::clock()?);
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
    Ok(told(&recorded, state, &text, &[], json))
}

/// The text of an item, for saying what was done to it; empty when there is none such.
fn text_of(opened: &OpenHome, id: &str) -> Result<String, OpenHomeError> {
    let Some(item) = opened.store.item(id)? else {
        return Ok(String::new());
    };
    Ok(opened.store.item_text(item.line)?.unwrap_or_default())
}

/// An item of a kind by its id, or why there is none such.
pub fn known(
    store: &ReadStore,
    kind: ItemKind,
    id: &str,
) -> Result<Result<Item, String>, RecorderError> {
    let name = kind.name();
    Ok(match store.item(id)? {
        Some(item) if item.kind == kind => Ok(item),
        Some(item) => Err(format!(
            "{id} is a {}, no {name}: {name}s are called {}:NUMBER",
            item.kind.name(),
            kind.prefix()
        )),
        None if store.has_artifact(name, id)? => Err(format!(
            "{name} {id} is on record by its commitment only: its text was not kept (store.content was \"none\"), so it \
             is in no state"
        )),
        None => Err(format!("no {name} {id} is on record: gently {name} list")),
    })
}
