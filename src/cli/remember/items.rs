//! `gently fact`, `note`, `decision`, `intent`: what a person puts on record for continuity (AEGIS
//! 6).

use clap::{Args, Subcommand, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::items::list::{
    ItemList, MOST, intent as declared_intent, list, no_intent, one,
};
use crate::app::remember::items::{
    CountingItem, ItemInput, ItemOrigin, RecordedItem, ToRatify, add, check, clear_intent, end,
    ratifiable, ratify,
};
use crate::ask::stored_text::changed_words;
use crate::continuity::candidate::Confidence;
use crate::record::ledger::item::{Item, ItemKind};
use crate::record::ledger::short_name::short_name;
use crate::view::remember::item::{CountingItemView, ItemView, RecordedItemView};

use crate::cli::screen::quiet;
use crate::cli::{FINE, NEGATIVE, present, program, say, stopped};

/// Subcommands of `gently fact`.
#[derive(Debug, Subcommand)]
pub enum FactCommand {
    /// Propose a fact; it counts once it is ratified
    Add(FactArgs),
    /// Make a proposed fact count: from now on it may be put before a model
    Ratify {
        /// As in fact-183; again for more
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Take a fact back
    Retire(EndArgs),
    /// List facts
    List(ListArgs),
}

/// Subcommands of `gently note`.
#[derive(Debug, Subcommand)]
pub enum NoteCommand {
    /// Put a note on record
    Add(NoteArgs),
    /// Take a note back
    Retire(EndArgs),
    /// List notes
    List(ListArgs),
}

/// Subcommands of `gently decision`.
#[derive(Debug, Subcommand)]
pub enum DecisionCommand {
    /// Put a decision on record
    Add(DecisionArgs),
    /// Take a decision back
    Retire(EndArgs),
    /// List decisions
    List(ListArgs),
}

/// Subcommands of `gently intent`.
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
    confidence: ConfidenceArg,
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
    /// When it was observed, if not now: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age
    /// like 2h or 3d
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
    /// Why it no longer holds
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
}

/// Options that all listings of items share.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Those that are no longer in force, too
    #[arg(long)]
    all: bool,
}

impl EndArgs {
    /// What is taken back, and why.
    pub(super) fn named(&self) -> (&str, Option<&str>) {
        (&self.id, self.reason.as_deref())
    }
}

impl ListArgs {
    /// Whether those that are no longer in force are listed, too.
    pub(super) fn all(&self) -> bool {
        self.all
    }
}

impl CommonArgs {
    /// The same as the desk takes it.
    fn origin(self) -> ItemOrigin {
        ItemOrigin {
            source: self.source,
            observed_at: self.observed_at,
            tier: self.tier,
        }
    }
}

/// How sure the person is of a fact, as `--confidence` takes it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConfidenceArg {
    High,
    Medium,
    Low,
}

impl ConfidenceArg {
    fn confidence(self) -> Confidence {
        match self {
            ConfidenceArg::High => Confidence::High,
            ConfidenceArg::Medium => Confidence::Medium,
            ConfidenceArg::Low => Confidence::Low,
        }
    }
}

/// Carries out `gently fact`.
pub async fn fact(command: FactCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        FactCommand::Add(args) => {
            let subject = args.subject.as_deref();
            let origin = args.common.origin();
            let said = ItemInput::new(ItemKind::Fact, &args.text, subject, origin);
            put(&said, Some(args.confidence.confidence()), json).await
        }
        FactCommand::Ratify { ids } => ratify_each(ItemKind::Fact, &ids, json).await,
        FactCommand::Retire(args) => retire(ItemKind::Fact, args, json).await,
        FactCommand::List(args) => print_list(ItemKind::Fact, args.all, json),
    }
}

/// Carries out `gently note`.
pub async fn note(command: NoteCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        NoteCommand::Add(args) => {
            let origin = args.common.origin();
            let said = ItemInput::new(ItemKind::Note, &args.text, None, origin);
            put(&said, None, json).await
        }
        NoteCommand::Retire(args) => retire(ItemKind::Note, args, json).await,
        NoteCommand::List(args) => print_list(ItemKind::Note, args.all, json),
    }
}

/// Carries out `gently decision`.
pub async fn decision(command: DecisionCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        DecisionCommand::Add(args) => {
            let subject = args.subject.as_deref();
            let origin = args.common.origin();
            let said = ItemInput::new(ItemKind::Decision, &args.text, subject, origin);
            put(&said, None, json).await
        }
        DecisionCommand::Retire(args) => retire(ItemKind::Decision, args, json).await,
        DecisionCommand::List(args) => print_list(ItemKind::Decision, args.all, json),
    }
}

/// Carries out `gently intent`.
pub async fn intent(command: IntentCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        IntentCommand::Set { text } => {
            let said = ItemInput::new(ItemKind::Intent, &text, None, ItemOrigin::default());
            put(&said, None, json).await
        }
        IntentCommand::Show => print_intent(json),
        IntentCommand::Clear => Ok(told(&clear_intent(&open::open_home()?).await?, json)),
    }
}

async fn put(
    said: &ItemInput,
    confidence: Option<Confidence>,
    json: bool,
) -> Result<u8, OpenHomeError> {
    // What says nothing needs no home to be refused.
    check(said)?;
    let item = add(&open::open_home()?, said, confidence).await?;
    for kind in &item.removed {
        say(&format!("removed before it was stored: {kind}"));
    }
    let printed = told(&item, json);
    if !item.recorded.is_kept {
        say(
            "its text is not kept (store.content is \"none\"): what is on record is a commitment to it, and nothing that \
             could be put before a model",
        );
    } else if item.recorded.document.kind == ItemKind::Fact.name() {
        say(&format!(
            "it counts once it is ratified: {} fact ratify {}",
            program(),
            short_name(&item.recorded.document.id)
        ));
    }
    Ok(printed)
}

/// Ratifies them one by one, and says of each what became of it: one that can't be keeps none of the
/// others from it, and one that counts already is left as it is.
pub async fn ratify_each(kind: ItemKind, ids: &[String], json: bool) -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let named = ratifiable(&opened, kind, ids).await?;
    let mut worst = FINE;
    for one in &named {
        let code = match one {
            ToRatify::InForce(item) => told_in_force(kind, item, json),
            ToRatify::Proposed(id) => match ratify(&opened, kind, id).await {
                Ok(item) => told(&item, json),
                Err(error) => stopped(&error, json),
            },
        };
        worst = worst.max(code);
    }
    Ok(worst)
}

fn told_in_force(kind: ItemKind, item: &CountingItem, json: bool) -> u8 {
    let (id, state) = (short_name(&item.id), item.state.name());
    say(&format!(
        "{id} is {state} already: nothing new is recorded of it"
    ));
    let text = || format!("{id}  {state}  {}\n", quiet(&item.text));
    present(json, || CountingItemView::of(kind, item), text)
}

async fn retire(kind: ItemKind, args: EndArgs, json: bool) -> Result<u8, OpenHomeError> {
    let item = end(&open::open_home()?, kind, &args.id, args.reason.as_deref()).await?;
    Ok(told(&item, json))
}

fn told(item: &RecordedItem, json: bool) -> u8 {
    let id = short_name(&item.recorded.document.id);
    let text = || format!("{id}  {}  {}\n", item.state_name(), quiet(&item.text));
    present(json, || RecordedItemView::of(item), text)
}

fn print_list(kind: ItemKind, all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let found: ItemList = list(&open::existing_home()?, kind, all)?;
    if found.has_more {
        say(&format!("only the newest {MOST} are listed"));
    }
    say_unkept(kind, found.not_kept);
    let text = || {
        if found.items.is_empty() && found.not_kept == 0 {
            say(&format!("no {} is on record", kind.name()));
        }
        let items = found.items.iter();
        items
            .map(|(item, text)| line(item, text.as_deref()) + "\n")
            .collect()
    };
    let printed = present(json, || ItemView::all(&found), text);
    Ok(said_changed(&found.changed, printed))
}

/// Says how many are on record whose text was never kept.
pub(super) fn say_unkept(kind: ItemKind, not_kept: u64) {
    let name = kind.name();
    match not_kept {
        0 => {}
        1 => say(&format!(
            "1 {name} is on record by its commitment only: its text was not kept"
        )),
        n => say(&format!(
            "{n} {name}s are on record by their commitments only: their texts were not kept"
        )),
    }
}

/// Prints the item of an id.
pub fn print_one(kind: ItemKind, id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let (item, text) = one(&open::existing_home()?, kind, id)?;
    let text = text.as_deref();
    let view = || ItemView::of(&item, text);
    Ok(present(json, view, || line(&item, text) + "\n"))
}

fn print_intent(json: bool) -> Result<u8, OpenHomeError> {
    let declared = declared_intent(&open::existing_home()?)?;
    let Some((item, text)) = declared.intent else {
        say_unkept(ItemKind::Intent, declared.not_kept);
        return Err(no_intent());
    };
    let text = text.as_deref();
    let view = || ItemView::of(&item, text);
    Ok(present(json, view, || line(&item, text) + "\n"))
}

/// An item as people read it: its id, where it stands, what it says, what it is about, where it is
/// from.
pub fn line(item: &Item, text: Option<&str>) -> String {
    let line = format!(
        "{}  {:10}  {}",
        short_name(&item.id),
        item.state.name(),
        quiet(text.unwrap_or("(erased)"))
    );
    let mut more = Vec::new();
    more.extend(
        item.subject
            .as_deref()
            .map(|subject| format!("on '{}'", quiet(subject))),
    );
    more.extend(
        item.confidence
            .as_deref()
            .map(|sure| format!("{} confidence", quiet(sure))),
    );
    more.extend(
        item.source
            .as_deref()
            .map(|source| format!("from {}", quiet(source))),
    );
    more.extend(item.observed_at.map(|at| format!("observed {at}")));
    more.extend(
        item.tier
            .filter(|tier| *tier > 1)
            .map(|tier| format!("from tier {tier} on")),
    );
    with_brackets(line, &more)
}

/// A line with what else is to be known behind it, if there is anything.
pub(super) fn with_brackets(line: String, more: &[String]) -> String {
    match more.is_empty() {
        true => line,
        false => format!("{line}  ({})", more.join(", ")),
    }
}

/// Says which of a list are not what was recorded, and gives the exit code of a list that was printed.
pub(super) fn said_changed(changed: &[String], printed: u8) -> u8 {
    if changed.is_empty() {
        return printed;
    }
    say(&changed_words(changed));
    match printed {
        FINE => NEGATIVE,
        other => other,
    }
}
