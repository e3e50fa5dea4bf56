//! `gently conversation`: what was asked and answered, as people look for it, name it and take it
//! along.

mod imported;
mod markdown;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::app::ask::denial::reason_words;
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::look::conversation::{
    ConversationList, ConversationPage, ListRequest, ListedConversation, Message, MissingText,
    MovedConversation, PageRequest, TitledConversation, archive, begin, check_begin, delete,
    export, list, messages, move_to, plan_deletion, rename, restore,
};
use crate::app::look::imported::{count, find};
use crate::app::words::short_uuids;
use crate::ask::withheld::WITHHELD;
use crate::os::shell_word;
use crate::record::exchange::ExchangeOutcome;
use crate::record::ledger::conversation::ConversationState;
use crate::record::ledger::short_name::short_name;
use crate::record::unseen::spelled;
use crate::view::keep::erasure::words_also_in;
use crate::view::look::conversation::{
    ConversationDeletionView, ConversationListView, ConversationPageView, DeletedConversationView,
    ExportedConversationView, ListedConversationView, MovedConversationView,
    TitledConversationView, given_up, still_waiting,
};

use super::{below_row, zone_line};
use crate::cli::args::EraseArgs;
use crate::cli::keep::erase::{self, say_what_is_left};
use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::new_file::{NewFile, judge_name};
use crate::cli::screen::{block, counted, minute, quiet, row};
use crate::cli::set_up::init;
use crate::cli::{
    NEGATIVE, Notices, could_not, json_line, present, present_as_is, present_or_tell, program,
    refusal, say,
};
pub(in crate::cli) use imported::listed_lines as imported_lines;

const WORDS: ConfirmWords = ConfirmWords {
    does: "delete it",
    done: "deleted",
};
/// What is typed before a conversation is deleted.
const DELETE: &str = "delete";
/// Conversations of one page, unless another number is asked for.
const CONVERSATIONS: u32 = 20;
/// Messages of one page, unless another number is asked for.
const MESSAGES: u32 = 50;
/// Where what was said stands in from the margin.
const INDENT: &str = "    ";

/// What `gently conversation` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ConversationCommand {
    /// List conversations, the one that was asked in last first
    List(ListArguments),
    /// Show what was said in a conversation, the newest at the end
    Show(ShowArguments),
    /// Begin a conversation with a title; ask in it with --conversation
    New {
        /// What to call it
        title: String,
        /// In the session of which model it begins; any other can be asked in it
        #[arg(long, short, value_name = "ID")]
        model: Option<String>,
    },
    /// Give a conversation another title
    Rename {
        #[command(flatten)]
        which: WhichConversation,
        /// What to call it from now on
        title: String,
    },
    /// Put a conversation into a project, or into none
    Move {
        #[command(flatten)]
        which: WhichConversation,
        /// A project's name, its id as in project-1, or none
        project: String,
    },
    /// Put a conversation away; nothing of it is lost
    Archive(WhichConversation),
    /// Take a conversation out of the archive
    Restore(WhichConversation),
    /// Write a conversation to a new file, .md or .json, with what binds each answer to the record
    Export {
        #[command(flatten)]
        which: WhichConversation,
        /// The new file; its ending says which format
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
    },
    /// Erase all questions and answers of a conversation, for ever, and put it away
    Delete {
        #[command(flatten)]
        which: WhichConversation,
        /// Why; it stays on record, without secrets
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
}

/// Which conversation.
#[derive(Debug, Args)]
pub struct WhichConversation {
    /// The first digits of its id, its title or how that begins, a question in it, or last
    id: String,
}

/// `gently conversation list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Those of this project, instead of the one in use
    #[arg(long, value_name = "P", conflicts_with = "all")]
    project: Option<String>,
    /// Those of all projects, and of none
    #[arg(long)]
    all: bool,
    /// Those that were put away
    #[arg(long)]
    archived: bool,
    /// How many
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = CONVERSATIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    number: u32,
    /// The page behind this place, as the page before named it
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
    /// Those that came from files of other programs, recorded last first
    #[arg(long, conflicts_with_all = ["project", "all", "archived"])]
    imported: bool,
}

/// `gently conversation show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The first digits of its id, its title or how that begins, a question in it, or last
    #[arg(default_value = "last")]
    id: String,
    /// How many questions and answers
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = MESSAGES, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    number: u32,
    /// What was said before this place
    #[arg(long, value_name = "CURSOR", conflicts_with = "after")]
    before: Option<String>,
    /// What was said behind this place
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// As text, as Markdown, or as JSON
    #[arg(
        short,
        long = "output",
        value_enum,
        value_name = "FORMAT",
        default_value = "text"
    )]
    output: OutputFormat,
}

/// How a conversation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For a terminal.
    Text,
    /// For a page.
    Md,
    /// For a program.
    Json,
}

/// Does it.
pub async fn run(command: ConversationCommand, json: bool) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let notice = |line: &str| told.say(line);
    let changed = match command {
        ConversationCommand::List(args) => return print_list(args, json),
        ConversationCommand::Show(args) => return print_messages(args, json),
        ConversationCommand::Export { which, out } => return write(&which.id, &out, json),
        ConversationCommand::Delete {
            which,
            reason,
            consent,
        } => return erase_all(&which.id, reason.as_deref(), consent, json).await,
        ConversationCommand::New { title, model } => {
            let path = open::home_path()?;
            if !path.exists() {
                check_begin(&title, model.as_deref(), &path).await?;
            }
            // A home is made for it, as for a first question.
            let (home, is_new) = open::home_or_new()?;
            let opened = OpenHome::open(home)?;
            if is_new {
                init::welcome(&opened.home, &opened.config, &told);
            }
            let begun = begin(&opened, &title, model.as_deref(), &notice).await;
            if is_new {
                open::close_and_note(opened);
            }
            return Ok(print_titled(&begun?, json));
        }
        ConversationCommand::Rename { which, title } => {
            let renamed = rename(&open::open_home()?, &which.id, &title, &notice).await?;
            return Ok(print_titled(&renamed, json));
        }
        ConversationCommand::Move { which, project } => {
            let moved = move_to(&open::open_home()?, &which.id, &project).await?;
            return Ok(print_moved(&moved, json));
        }
        ConversationCommand::Archive(which) => archive(&open::open_home()?, &which.id).await?,
        ConversationCommand::Restore(which) => restore(&open::open_home()?, &which.id).await?,
    };
    let view = || ListedConversationView::of(&changed);
    Ok(present(json, view, || listed_lines(&changed)))
}

fn print_moved(moved: &MovedConversation, json: bool) -> u8 {
    if !moved.is_moved {
        say(match moved.of.project {
            Some(_) => "it is in that project already; nothing was recorded",
            None => "it is in no project as it is; nothing was recorded",
        });
    }
    let view = || MovedConversationView::of(moved);
    present(json, view, || listed_lines(&moved.of))
}

fn print_titled(titled: &TitledConversation, json: bool) -> u8 {
    let view = || TitledConversationView::of(titled);
    present(json, view, || listed_lines(&titled.of))
}

fn print_list(args: ListArguments, json: bool) -> Result<u8, OpenHomeError> {
    if args.imported {
        return imported::print_list(&open::existing_home()?, &args, json);
    }
    let again = list_again(&args);
    let request = ListRequest {
        project: args.project,
        all: args.all,
        archived: args.archived,
        most: args.number,
        before: args.before,
    };
    let home = open::existing_home()?;
    let found = list(&home, &request)?;
    let imported = match request.before {
        None => count(&home)?,
        Some(_) => 0,
    };
    let text = || {
        say_what_is_listed(&found, args.archived);
        let lines: String = found.conversations.iter().map(listed_lines).collect();
        match lines.is_empty() {
            true => lines,
            false => format!("{}{lines}", zone_line()),
        }
    };
    let printed = present(json, || ConversationListView::of(&found, imported), text);
    if let Some(next) = found.next.filter(|_| !json) {
        say(&format!("earlier: {again} --before {next}"));
    }
    if imported > 0 && !json {
        say(&format!(
            "{} beside them: {} conversation list --imported",
            counted(imported, "imported conversation"),
            program()
        ));
    }
    Ok(printed)
}

/// The command that lists the same again.
fn list_again(args: &ListArguments) -> String {
    let mut command = format!("{} conversation list", program());
    if let Some(project) = &args.project {
        command.push_str(&format!(" --project {}", shell_word(Path::new(project))));
    }
    for (is_given, flag) in [(args.all, " --all"), (args.archived, " --archived")] {
        if is_given {
            command.push_str(flag);
        }
    }
    if args.number != CONVERSATIONS {
        command.push_str(&format!(" -n {}", args.number));
    }
    quiet(&command)
}

fn say_what_is_listed(found: &ConversationList, archived: bool) {
    let of = found.project.as_ref();
    let of = of.map_or_else(String::new, |project| format!(" of {}", project.called()));
    if found.is_in_use {
        say(&format!(
            "only those{of}, which is in use; --all lists the others, too"
        ));
    }
    if found.conversations.is_empty() {
        say(&match archived {
            true => format!("none{of} was put away"),
            false if found.are_put_away => format!(
                "every conversation{of} was put away: {} conversation list --archived",
                program()
            ),
            false => format!(
                "no conversation{of} yet: {} ask \"…\" begins one",
                program()
            ),
        });
    }
}

/// `6d1c0c30  2026-11-24 02:15    3 asked  What should I pack?`, and below it project and models.
fn listed_lines(listed: &ListedConversation) -> String {
    let at = listed.last_at.map(minute).unwrap_or_default();
    let head = format!("{}  {at:16}  {:>3} asked", listed.short, listed.row.turns);
    let mut beside: Vec<String> = Vec::new();
    if listed.is_deleted {
        beside.push("deleted".to_owned());
    } else if listed.row.state == ConversationState::Archived {
        beside.push("archived".to_owned());
    }
    beside.extend(listed.project.as_ref().map(|project| project.called()));
    beside.extend((!listed.models.is_empty()).then(|| quiet(&listed.models.join(", "))));
    let mut lines = row(&head, &quiet(&listed.title.shown()));
    if !beside.is_empty() {
        lines.push_str(&format!("{}{}\n", below_row(), beside.join(" · ")));
    }
    lines
}

/// Prints the newest of what was said in a conversation.
pub fn print_newest(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let args = ShowArguments {
        id: id.to_owned(),
        number: MESSAGES,
        before: None,
        after: None,
        output: OutputFormat::Text,
    };
    print_messages(args, json)
}

fn print_messages(args: ShowArguments, json: bool) -> Result<u8, OpenHomeError> {
    if json && args.output == OutputFormat::Md {
        let why = "--json prints JSON, and -o md Markdown: say one of them";
        return Ok(could_not(why, json));
    }
    let home = open::existing_home()?;
    if let Some(found) = find(&home, &args.id)? {
        return imported::print_page(&home, found, &args, json);
    }
    let request = PageRequest {
        id: args.id,
        most: args.number,
        before: args.before,
        after: args.after,
    };
    let page = messages(&home, &request)?;
    let view = || ConversationPageView::of(&page);
    let printed = match args.output {
        OutputFormat::Md => {
            let printed = present_as_is(false, view, || markdown::document(&page));
            say_pages(&page);
            printed
        }
        OutputFormat::Text if !json => {
            let printed = present(false, view, || messages_text(&page));
            say_pages(&page);
            printed
        }
        OutputFormat::Text | OutputFormat::Json => present(true, view, String::new),
    };
    let changed = page.changed();
    if changed.is_empty() {
        return Ok(printed);
    }
    say(&was_changed(&changed));
    Ok(NEGATIVE.max(printed))
}

/// Which exchanges have a text that is not the one on record, and the next command.
pub(super) fn was_changed(ids: &[&str]) -> String {
    let first = ids.first().copied().unwrap_or_default();
    format!(
        "changed since it was recorded: {}; look with: {} show {first}, and {} audit verify",
        ids.join(", "),
        program(),
        program()
    )
}

/// Where the pages before and behind begin.
fn say_pages(page: &ConversationPage) {
    let show = format!(
        "{} conversation show {}",
        program(),
        page.conversation.short
    );
    let places = [
        ("earlier", "--before", page.earlier),
        ("later", "--after", page.later),
    ];
    for (word, flag, cursor) in places {
        if let Some(cursor) = cursor {
            say(&format!("{word}: {show} {flag} {cursor}"));
        }
    }
}

fn messages_text(page: &ConversationPage) -> String {
    if page.messages.is_empty() {
        say(&match page.conversation.row.turns {
            0 => format!(
                "nothing was asked in it yet: {} ask --conversation {} \"…\"",
                program(),
                page.conversation.short
            ),
            _ => "nothing was said there".to_owned(),
        });
    }
    let mut text = format!("{}{}", zone_line(), listed_lines(&page.conversation));
    for message in &page.messages {
        let who = match message.by_user {
            true => "you".to_owned(),
            false => quiet(&message.model),
        };
        text.push_str(&format!(
            "\n{}  {}  {who}\n",
            message.id,
            minute(message.at)
        ));
        text.push_str(&block(&said(message), INDENT));
        text.extend(unanswered(message).map(|why| format!("{INDENT}({why})\n")));
    }
    text
}

/// What a message says, or in brackets why that is not shown.
fn said(message: &Message) -> String {
    match (&message.text, message.missing) {
        (Some(text), _) => text.clone(),
        (None, Some(MissingText::Withheld)) => format!("({WITHHELD})"),
        (None, Some(missing)) => format!("({})", missing.name()),
        (None, None) => String::new(),
    }
}

/// Why a question has no answer.
fn unanswered(message: &Message) -> Option<String> {
    if !message.by_user {
        return None;
    }
    let reason = message.reason.as_deref().map(reason_words).map(short_uuids);
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", quiet(&reason)));
    match message.outcome {
        Some(ExchangeOutcome::Answered) => None,
        None => Some("no answer yet".to_owned()),
        Some(ExchangeOutcome::Denied) => Some(format!("denied{reason}")),
        Some(ExchangeOutcome::Failed) => Some(format!("no answer{reason}")),
    }
}

/// The format that a file's name says.
fn format_of(path: &Path) -> Result<OutputFormat, String> {
    let ending = path.extension().unwrap_or_default();
    let is = |name: &str| ending.eq_ignore_ascii_case(name);
    match (is("md"), is("json")) {
        (true, _) => Ok(OutputFormat::Md),
        (_, true) => Ok(OutputFormat::Json),
        _ => Err(format!(
            "{}: the ending says how it is written; name a file that ends with .md or .json",
            quiet(&path.display().to_string())
        )),
    }
}

fn write(id: &str, path: &Path, json: bool) -> Result<u8, OpenHomeError> {
    let refused = |why: String| Ok(could_not(&why, json));
    let format = match judge_name(path).and_then(|()| format_of(path)) {
        Ok(format) => format,
        Err(why) => return refused(why),
    };
    let home = open::existing_home()?;
    if let Some(found) = find(&home, id)? {
        return imported::write(&home, found, (path, format), json);
    }
    let page = export(&home, id)?;
    let changed = page.changed();
    if !changed.is_empty() {
        // A file would be handed on as if all of it were on record.
        let why = format!("nothing was written: {}", was_changed(&changed));
        return Ok(refusal(&why, json, NEGATIVE));
    }
    let text = match format {
        OutputFormat::Md => markdown::document(&page),
        // The same document, whatever a terminal would do with a character.
        _ => spelled(&json_line(&ConversationPageView::of(&page))).into_owned(),
    };
    let written = NewFile::create(path).and_then(|file| file.fill_or(&text, "nothing was written"));
    if let Err(why) = written {
        return refused(why);
    }
    let name = match format {
        OutputFormat::Md => "md",
        _ => "json",
    };
    let view = || ExportedConversationView::of(&page, path, name);
    Ok(written_to(path, page.messages.len(), json, view))
}

/// Says how many messages were written to a file.
fn written_to<V: serde::Serialize>(
    path: &Path,
    messages: usize,
    json: bool,
    view: impl FnOnce() -> V,
) -> u8 {
    let count = counted(messages, "message");
    let outcome = format!("{count} written to {}", quiet(&path.display().to_string()));
    present_or_tell(json, view, || format!("{outcome}\n"), &outcome)
}

async fn erase_all(
    id: &str,
    reason: Option<&str>,
    consent: ConfirmArgs,
    json: bool,
) -> Result<u8, OpenHomeError> {
    if let Some(found) = find(&open::existing_home()?, id)? {
        let args = EraseArgs {
            id: Some(short_name(&found.id)),
            older_than: None,
            due: false,
            reason: reason.map(str::to_owned),
            consent,
        };
        return erase::run(&args, json).await;
    }
    if consent.dry_run {
        let home = open::existing_home()?;
        let store = open::store(&home)?;
        let planned = plan_deletion((&home, &store), &open::config(&home)?, id)?;
        return Ok(confirm::dry_run(
            &ConversationDeletionView::plan(&planned),
            json,
        ));
    }
    let opened = open::open_home()?;
    opened.authorize().await?;
    let planned = plan_deletion((&opened.home, &opened.store), &opened.config, id)?;
    let view = ConversationDeletionView::plan(&planned);
    if let Err(why) = consent.ask_for(DELETE, &view, WORDS) {
        return Ok(could_not(&why, json));
    }
    let result = delete(&opened, &planned, reason.unwrap_or("asked for")).await?;
    let left = say_what_is_left(&result.erased);
    let text = || {
        let short = &result.conversation.short;
        let mut lines = vec![match result.erased.exchanges.len() {
            0 => format!("deleted {short}: it is off the list"),
            n => format!(
                "deleted {short}: {} erased, and it is off the list",
                counted(n, "question")
            ),
        }];
        let quoting = planned.erasure.quoting().map(|one| one.id.clone());
        lines.extend(words_also_in(&quoting.collect::<Vec<_>>()));
        lines.extend(still_waiting(&result.waiting));
        lines.extend(given_up(&result.given_up));
        say("an older backup still holds what it held; so does whoever was sent it");
        format!("{}\n", lines.join("\n"))
    };
    Ok(left.max(present(json, || DeletedConversationView::of(&result), text)))
}
