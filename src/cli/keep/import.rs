//! `gently import`: conversations of other programs, from a file, as they were received.
//!
//! Exit 1 when something of the file is refused or missing, 2 when it could not be gone through to its end.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::keep::erase::{self, EraseTarget};
use crate::app::keep::import::{
    ImportCounts, ImportEnd, ImportOutcome, ImportRequest, ImportSource, ImportSummary, import,
    imports, look_through, refuse_running, shown,
};
use crate::app::words::and_more;
use crate::os::shell_word;
use crate::record::ledger::imported::{IMPORT, ImportFormat};
use crate::record::ledger::short_name::short_name;
use crate::view::keep::erasure::{ErasureReachView, ErasureView};
use crate::view::keep::import::{ImportListView, ImportSummaryView, ImportView, ShownImportView};

use super::erase::say_what_is_left;
use crate::cli::look::conversation::imported_lines;
use crate::cli::look::{LISTED, below_row, say_older, zone_line};
use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::signals::Wait;
use crate::cli::screen::terminal::Spinner;
use crate::cli::screen::{counted, minute, quiet};
use crate::cli::set_up::init;
use crate::cli::{COULD_NOT, NEGATIVE, Notices, could_not, error_words, present, program, say};

const WORDS: ConfirmWords = ConfirmWords {
    does: "erase them",
    done: "erased",
};
/// The reason of times that are left out, which leaves their messages there.
const TIME: &str = "time";
/// So many refused pieces, or missing parts, are named on the screen; `--json` names more.
const NAMED: usize = 20;
/// Between two looks at how far it is.
const FRAME: Duration = Duration::from_millis(200);

/// What `gently import` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// What ChatGPT exports: its ZIP, or conversations.json
    Chatgpt(ImportArgs),
    /// What Claude exports: its ZIP, or conversations.json
    Claude(ImportArgs),
    /// The database of the program llm: logs.db
    Llm(ImportArgs),
    /// The state store of the adaptive utility agent, 1.x
    Aua(ImportArgs),
    /// A message a line, as JSON: for everything else
    Jsonl(ImportArgs),
    /// List imports, newest last
    List {
        /// So many at most, the newest
        #[arg(long, short = 'n', value_name = "N", default_value_t = LISTED, value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
    },
    /// Show an import, and its conversations
    Show {
        /// As in import-3
        id: String,
    },
    /// Erase all conversations of an import, for ever
    Erase {
        /// As in import-3
        id: String,
        /// Why; it stays on record, without secrets
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
}

/// What is imported.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file; it is only read
    file: PathBuf,
    /// Go through all of it, say what would be recorded, and record nothing
    #[arg(long)]
    dry_run: bool,
    /// Only what was changed since: 2025-12-31T04:25:37Z, 2025-12-31, or an age like 2h or 3d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what has this title, in whatever case
    #[arg(long, value_name = "TITLE", value_parser = NonEmptyStringValueParser::new())]
    only: Option<String>,
}

impl ImportCommand {
    /// Whether it may make a key in the home.
    pub fn writes(&self) -> bool {
        match self {
            ImportCommand::Chatgpt(args)
            | ImportCommand::Claude(args)
            | ImportCommand::Llm(args)
            | ImportCommand::Aua(args)
            | ImportCommand::Jsonl(args) => !args.dry_run,
            ImportCommand::List { .. }
            | ImportCommand::Show { .. }
            | ImportCommand::Erase { .. } => false,
        }
    }
}

/// `gently config migrate`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct MigrateArgs {
    /// The version that the state is of: 0.7
    #[arg(long, value_name = "VERSION")]
    from: String,
    /// The version that it is taken to: 0.8
    #[arg(long, value_name = "VERSION")]
    to: String,
    /// The folder of the project, with .aua/state/promotions.jsonl, or with dpo_pairs or .aua/state/dpo_pairs
    folder: PathBuf,
    /// Go through all of it, say what would be recorded, and record nothing
    #[arg(long)]
    dry_run: bool,
}

/// Takes over the state of a project of the adaptive utility agent.
pub(in crate::cli) async fn migrate(args: &MigrateArgs, json: bool) -> Result<u8, OpenHomeError> {
    if (args.from.as_str(), args.to.as_str()) != ("0.7", "0.8") {
        let why = "only the state of 0.7 can be taken over, to 0.8: --from 0.7 --to 0.8. A database of 1.x: gently import aua";
        return Ok(could_not(why, json));
    }
    let request = ImportRequest {
        format: ImportFormat::Aua,
        source: ImportSource::FlatFolder(args.folder.clone()),
        since: None,
        only: None,
    };
    take(&request, args.dry_run, json).await
}

/// Does it.
pub async fn run(command: ImportCommand, json: bool) -> Result<u8, OpenHomeError> {
    let (format, args) = match command {
        ImportCommand::Chatgpt(args) => (ImportFormat::ChatGpt, args),
        ImportCommand::Claude(args) => (ImportFormat::Claude, args),
        ImportCommand::Llm(args) => (ImportFormat::Llm, args),
        ImportCommand::Aua(args) => (ImportFormat::Aua, args),
        ImportCommand::Jsonl(args) => (ImportFormat::JsonLines, args),
        ImportCommand::List { number } => return print_list(number, json),
        ImportCommand::Show { id } => return print_one(&id, json),
        ImportCommand::Erase {
            id,
            reason,
            consent,
        } => return erase_all(&id, reason.as_deref(), consent, json).await,
    };
    let request = ImportRequest {
        format,
        source: ImportSource::File(args.file),
        since: args.since,
        only: args.only,
    };
    take(&request, args.dry_run, json).await
}

/// How far an import is, on a line that is drawn anew.
struct ImportProgress {
    spinner: Spinner,
    told: Cell<Instant>,
}

impl ImportProgress {
    fn start() -> Self {
        ImportProgress {
            spinner: Spinner::start("reading the file"),
            told: Cell::new(Instant::now()),
        }
    }

    fn tell(&self, counts: &ImportCounts) {
        if self.told.get().elapsed() >= FRAME {
            self.told.set(Instant::now());
            self.spinner.say(&format!(
                "{} read, {} recorded, {} unchanged; Ctrl-C stops and keeps them",
                counts.read, counts.recorded, counts.unchanged
            ));
        }
    }
}

/// Goes through a file, and shows how far it is; the first Ctrl-C ends it, and what was recorded stays.
async fn take(request: &ImportRequest, dry_run: bool, json: bool) -> Result<u8, OpenHomeError> {
    request.source.is_there()?;
    let cancelled = CancellationToken::new();
    let wait = Wait::begin(cancelled.clone()).map_err(|error| OpenHomeError::Signals {
        reason: error.to_string(),
    })?;
    let outcome = match dry_run {
        true => {
            let home = open::existing_home()?;
            let progress = ImportProgress::start();
            let tell = |counts: &ImportCounts| progress.tell(counts);
            look_through(&home, request, &cancelled, &tell).await
        }
        false => {
            // A home is made for it, as for a first question.
            let (home, is_new) = open::home_or_new()?;
            let opened = OpenHome::open(home)?;
            if is_new {
                init::welcome(&opened.home, &opened.config, &Notices::default());
            }
            let progress = ImportProgress::start();
            let tell = |counts: &ImportCounts| progress.tell(counts);
            let outcome = import(&opened, request, &cancelled, &tell).await;
            drop(progress);
            if is_new {
                open::close_and_note(opened);
            }
            outcome
        }
    };
    let outcome = outcome?;
    Ok(report(request, (&outcome, dry_run), wait.exit_code(), json))
}

/// Says what came of it, and gives the exit code.
fn report(
    request: &ImportRequest,
    (outcome, dry_run): (&ImportOutcome, bool),
    signalled: Option<u8>,
    json: bool,
) -> u8 {
    let error = outcome.fault.as_ref().map(error_words);
    let view = || ImportView::of(outcome, dry_run, error.clone());
    let printed = present(json, view, || outcome_text(outcome, dry_run));
    for refused in outcome.refusals.iter().take(NAMED) {
        let name = refused.name.as_deref().map(quiet);
        let name = name.map_or_else(String::new, |name| format!(" \"{name}\""));
        let (place, detail) = (quiet(&refused.place), quiet(&refused.detail));
        // Of one thing it is said in one sentence.
        let sentence = detail
            .strip_prefix("it ")
            .filter(|_| !place.contains(", lines "));
        match sentence {
            Some(rest) => say(&format!("refused: {place}{name} {rest}")),
            None => say(&format!("refused: {place}{name}: {detail}")),
        }
    }
    if outcome.forgotten > 0 {
        let those = counted(outcome.forgotten, "imported conversation");
        say(&format!(
            "keys/import.key was lost, or is another one: {those} whose ids stand on record as hashes can't be known again, so the same \
             conversation is recorded a second time; gently erase imported-N takes the older one away"
        ));
    }
    let refused = usize::try_from(outcome.counts.all_refused()).unwrap_or(usize::MAX);
    if let Some(more) = and_more(refused.saturating_sub(NAMED)) {
        let named = match outcome.refusals.len() {
            named if named < refused => format!("the first {named}"),
            _ => "all of them".to_owned(),
        };
        say(&format!("{more} refused: --json names {named}"));
    }
    if refused > 0 && outcome.end == ImportEnd::Whole {
        say(
            "what is refused stays out, and all else comes along. What can be mended in the file, or exported again, comes \
             along with the same command: what is on record is not recorded twice",
        );
    }
    if !outcome.missing.is_empty() {
        say(&missing_words(&outcome.missing));
    }
    if outcome.is_without_title() {
        say(&no_such_title(&request.source, outcome));
        return NEGATIVE.max(printed);
    }
    match (&error, outcome.end) {
        (Some(why), _) => {
            // A file that is broken is so when it is read again.
            let goes_on = match outcome.is_torn {
                true => "",
                false => "; the same command goes on with what is missing",
            };
            say(&format!(
                "error: {why}. What was recorded before stays{goes_on}"
            ));
            if let Some(why) = &outcome.unrecorded {
                let why = error_words(why);
                say(&format!(
                    "what became of the file could not be put on record either: {why}"
                ));
            }
            COULD_NOT
        }
        (None, ImportEnd::Interrupted) => {
            say(
                "interrupted: what was recorded stays, and the same command goes on with what is missing",
            );
            signalled.unwrap_or(COULD_NOT)
        }
        (None, _) if outcome.counts.read == 0 => {
            say("there is no conversation in the file, and nothing else that comes along");
            NEGATIVE.max(printed)
        }
        (None, _) if outcome.counts.all_refused() > 0 || !outcome.missing.is_empty() => {
            NEGATIVE.max(printed)
        }
        (None, _) => printed,
    }
}

/// That parts of the file are not there.
fn missing_words(missing: &[String]) -> String {
    let named: Vec<String> = missing.iter().take(NAMED).map(|part| quiet(part)).collect();
    let more = and_more(missing.len().saturating_sub(NAMED));
    let more = more.map_or_else(String::new, |more| {
        format!(" {more} (--json names all of them)")
    });
    format!(
        "missing: by the numbers of the lists in the file there should be more, which are not in it: {}{more}. What \
         stood in them did not come along; download the export again, and import that: what is on record is not \
         recorded twice",
        named.join(", ")
    )
}

/// That nothing is called as `--only` says.
fn no_such_title(source: &ImportSource, outcome: &ImportOutcome) -> String {
    let none = "no conversation in the file has this title: --only takes the whole title, in whatever case";
    let format = outcome.format.name();
    match outcome.near.as_slice() {
        [] => {
            let (ImportSource::File(path) | ImportSource::FlatFolder(path)) = source;
            let (program, file) = (program(), shell_word(path));
            format!(
                "{none}. Without --only all of the file comes along: {program} import {format} {file}"
            )
        }
        near => {
            let near: Vec<String> = near
                .iter()
                .map(|title| format!("\"{}\"", quiet(title)))
                .collect();
            format!("{none}. Titles with these words: {}", near.join(", "))
        }
    }
}

/// Whose file it was, for people.
fn source_words(format: Option<ImportFormat>, version: Option<&str>) -> &'static str {
    match (format, version) {
        (Some(ImportFormat::Aua), Some("0.7")) => "the files of an AUA agent 0.7",
        (Some(format), _) => format.shown(),
        (None, _) => "elsewhere",
    }
}

/// A word of a count in plain words.
fn reason_words(reason: &str) -> String {
    let words = match reason {
        "only" => "another title",
        "since" => "not changed since then",
        "undated" => "no date",
        "empty" => "nothing in them",
        "hidden" => "hidden by their source",
        "older" => "older than what is here",
        "repeats" | "repeated" => "the same id again",
        "loop" => "replies in a loop",
        "roots" => "several beginnings",
        "shape" => "something that has to be there is missing, or of another kind",
        "missing_parent" => "a reply to what is not there",
        "duplicate_id" => "two messages of one id",
        "duplicate_key" => "two keys alike",
        "unknown_key" => "an unknown key",
        "not_text" => "no text",
        "not_json" => "no JSON",
        "unread" => "can't be read",
        other => return quiet(&other.replace('_', " ")),
    };
    words.to_owned()
}

/// `: another title`, and of several reasons each with its count.
fn reasons(counts: &BTreeMap<String, u64>) -> String {
    let each = counts.iter();
    match counts.len() {
        0 => String::new(),
        1 => each
            .map(|(why, _)| format!(": {}", reason_words(why)))
            .collect(),
        _ => {
            let each = each.map(|(why, n)| format!("{n} {}", reason_words(why)));
            format!(": {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What is counted of a file: conversations; where something is refused, it need not be a whole one; a state store has
/// more kinds.
fn unit(count: u64, format: Option<ImportFormat>, has_refused: bool) -> &'static str {
    match (count, format, has_refused) {
        (1, Some(ImportFormat::Aua), _) => "record",
        (_, Some(ImportFormat::Aua), _) => "records",
        (1, _, false) => "conversation",
        (_, _, false) => "conversations",
        (1, _, true) => "conversation or piece",
        (_, _, true) => "conversations or pieces",
    }
}

fn outcome_text(outcome: &ImportOutcome, dry_run: bool) -> String {
    let counts = &outcome.counts;
    let version = outcome.files.first().map(|(_, file)| file.version.as_str());
    let from = source_words(Some(outcome.format), version);
    let head = match (&outcome.id, dry_run) {
        (Some(id), _) => format!("{}  from {from}", short_name(id)),
        (None, true) => format!("dry run: nothing was recorded; what would be, from {from}:"),
        (None, false) if counts.recorded > 0 => {
            format!("from {from}; what became of the file is not on record")
        }
        (None, false) => format!("nothing was recorded from {from}"),
    };
    let mut text = format!("{head}\n");
    let mut line = |count: u64, what: &str| {
        text.push_str(&format!("    {count:>8}  {what}\n"));
    };
    let unit = unit(counts.read, Some(outcome.format), counts.all_refused() > 0);
    line(counts.read, &format!("{unit} read"));
    let recorded = match dry_run {
        true => "would be recorded",
        false => "recorded",
    };
    let conversations = counts.conversations();
    let with = match conversations {
        0 => String::new(),
        _ => format!(", with {}", counted(counts.messages, "message")),
    };
    let in_place = match counts.replaced {
        0 => String::new(),
        1 => "; one of these conversations replaces an older version of itself".to_owned(),
        n => format!("; {n} of these conversations replace older versions of themselves"),
    };
    line(counts.recorded, &format!("{recorded}{with}{in_place}"));
    let beside = [
        (
            counts.corrections,
            "of them corrections, which are proposed: gently correction list",
        ),
        (
            counts.promotions,
            "of them promotions, which bind nothing: the view promotions has them",
        ),
        (
            counts.audits,
            "of them the audit log of another program, not verified",
        ),
    ];
    for (count, what) in beside.into_iter().filter(|(count, _)| *count > 0) {
        line(count, what);
    }
    line(counts.unchanged, "unchanged: on record already");
    let refused = reasons(&counts.refused);
    line(counts.all_refused(), &format!("refused{refused}"));
    let skipped = reasons(&counts.skipped);
    line(counts.all_skipped(), &format!("skipped{skipped}"));
    let mut left_out = counts.left_out.clone();
    let times = left_out.remove(TIME).unwrap_or_default();
    let one_or_more = |count: u64, one: &str| {
        let words = counted(count, one);
        words
            .split_once(' ')
            .map_or_else(String::new, |(_, word)| word.to_owned())
    };
    if !left_out.is_empty() {
        let all = left_out.values().sum();
        let what = one_or_more(all, "message");
        line(all, &format!("{what} left out{}", reasons(&left_out)));
    }
    if times > 0 {
        let what = one_or_more(times, "time");
        line(
            times,
            &format!("{what} left out (before 1970, after 2100, or not written as a time)"),
        );
    }
    if counts.removed > 0 {
        let what = one_or_more(counts.removed, "secret");
        line(
            counts.removed,
            &format!("{what} removed before anything was stored"),
        );
    }
    if conversations > 0 && !dry_run {
        text.push_str(&format!(
            "imported texts are on record as received now, and prove nothing of when they were said\n\
             to look at them: {} conversation list --imported\n",
            program()
        ));
    }
    text
}

fn print_list(number: u32, json: bool) -> Result<u8, OpenHomeError> {
    let (all, older) = imports(&open::existing_home()?, number)?;
    say_older(older, number, "import list");
    let view = || ImportListView {
        imports: all.iter().map(ImportSummaryView::of).collect(),
        older,
    };
    let text = || {
        if all.is_empty() {
            say(&format!(
                "nothing was imported yet: {} help import says what can be",
                program()
            ));
        }
        let lines = all.iter().map(summary_line);
        [zone_line().to_owned()].into_iter().chain(lines).collect()
    };
    Ok(present(json, view, text))
}

/// `import-1      2026-11-24 02:15  ChatGPT, 10 conversations of it here`, and below it the counts. Of
/// an erased one it is said when it was erased.
fn summary_line(import: &ImportSummary) -> String {
    let (id, at) = (
        short_name(&import.id),
        import.at.map(minute).unwrap_or_default(),
    );
    if let Some(erased) = import.erased {
        let erased = minute(erased);
        return format!("{id:12}  {at:16}  it was erased {erased}, with its conversations\n");
    }
    let here = counted(import.conversations, "conversation");
    let replaced = match import.replaced {
        0 => String::new(),
        replaced => format!(", {replaced} of them replaced since"),
    };
    let format = import.content.as_ref().map(|content| {
        let version = content["version"].as_str();
        format!("{}, ", source_words(format_of(content), version))
    });
    let format = format.unwrap_or_default();
    let head = format!("{id:12}  {at:16}  {format}{here} of it here{replaced}\n");
    let said = match &import.content {
        None if import.running.is_some() => {
            let process = import.running.as_deref().unwrap_or_default();
            format!("running, in process {process}")
        }
        None if import.at.is_some() => "what became of its file is not here any more".to_owned(),
        None => "ended in the middle: the same file, imported again, goes on".to_owned(),
        Some(content) => counts_line(content),
    };
    format!("{head}{}{said}\n", below_row())
}

/// Of what format a file was, by the record of its import.
fn format_of(content: &Value) -> Option<ImportFormat> {
    let named = content["format"].as_str()?;
    let mut all = ImportFormat::ALL.into_iter();
    all.find(|one| one.name() == named)
}

/// What became of a file, with the counts that are not 0.
fn counts_line(content: &Value) -> String {
    let number = |key: &str| content[key].as_u64().unwrap_or_default();
    let all = |key: &str| {
        let counts = content[key].as_object().into_iter().flatten();
        counts.filter_map(|(_, count)| count.as_u64()).sum::<u64>()
    };
    let (read, recorded) = (number("read"), number("recorded"));
    let unit = unit(read, format_of(content), all("refused") > 0);
    let mut said = format!("{read} {unit} read, {recorded} recorded");
    for (count, word) in [
        (number("unchanged"), "unchanged"),
        (all("refused"), "refused"),
        (all("skipped"), "skipped"),
    ] {
        if count > 0 {
            said.push_str(&format!(", {count} {word}"));
        }
    }
    said.push_str(ended(content));
    said
}

/// Why what did not come along of a file did not, in a line each for what is refused and what is skipped. Which it was
/// stands nowhere on record.
fn why_not(content: &Value) -> String {
    let line = |key: &str| {
        let counts = content[key].as_object().into_iter().flatten();
        let counts = counts.filter_map(|(why, count)| Some((why.clone(), count.as_u64()?)));
        let counts: BTreeMap<String, u64> = counts.collect();
        match counts.is_empty() {
            true => String::new(),
            false => format!("{}{key}{}\n", below_row(), reasons(&counts)),
        }
    };
    ["refused", "skipped"].map(line).concat()
}

/// How an import ended, if not at the end of its file.
fn ended(content: &Value) -> &'static str {
    match content["end"].as_str() {
        Some("interrupted") => ", interrupted",
        Some("stopped") => ", stopped",
        _ => "",
    }
}

/// Shows one, with its conversations.
pub(in crate::cli) fn print_one(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let found = shown(&open::existing_home()?, id)?;
    let text = || {
        let lines: String = found.1.iter().map(imported_lines).collect();
        let why = found.0.content.as_ref().map_or_else(String::new, why_not);
        format!("{}{why}{lines}", summary_line(&found.0))
    };
    Ok(present(json, || ShownImportView::of(&found), text))
}

async fn erase_all(
    typed: &str,
    reason: Option<&str>,
    consent: ConfirmArgs,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let (found, _) = shown(&home, typed)?;
    refuse_running(&found)?;
    let target = EraseTarget::Import(found.id);
    if consent.dry_run {
        let planned = erase::plan(&*open::store(&home)?, &open::config(&home)?, &target)?;
        return Ok(confirm::dry_run(&ErasureReachView::plan(&planned), json));
    }
    let opened = OpenHome::open(home)?;
    opened.authorize().await?;
    let planned = erase::plan(&opened.store, &opened.config, &target)?;
    if let Err(why) = consent.ask(&ErasureReachView::plan(&planned), WORDS) {
        return Ok(could_not(&why, json));
    }
    let erased = erase::erase(&opened, &planned, reason.unwrap_or("asked for")).await?;
    let left = say_what_is_left(&erased);
    let is_import = |id: &&String| id.split(':').next() == Some(IMPORT);
    let imports: Vec<&String> = erased.artifacts.iter().filter(is_import).collect();
    let conversations = erased.artifacts.len() - imports.len();
    let mut gone: Vec<String> = imports.iter().map(|id| short_name(id)).collect();
    if conversations > 0 {
        gone.insert(0, counted(conversations, "imported conversation"));
    }
    let text = || match gone.is_empty() {
        true => format!("{}\n", planned.nothing),
        false => format!("erased {}\n", gone.join(", ")),
    };
    if !gone.is_empty() {
        say(
            "an older backup still holds what it held; so does the file, whose next import brings it back",
        );
    }
    let view = || ErasureView {
        newer: planned.newer.clone(),
        ..ErasureView::of(&erased)
    };
    Ok(left.max(present(json, view, text)))
}
