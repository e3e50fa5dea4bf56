//! `gently thread`: the threads of a home, what was said in one, and beginning another.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::conversation::MissingText;
use crate::app::look::thread::{ListedThread, ThreadDetails, ThreadEntry, begin, list, show};
use crate::ask::withheld::WITHHELD;
use crate::record::context::event::EventKind;
use crate::store::ThreadRow;
use crate::view::look::thread::{ListedThreadView, NewThreadView, ThreadView};
use clap::Subcommand;

use super::conversation::was_changed;
use crate::cli::screen::{beginning, minute, quiet, row};
use crate::cli::{NEGATIVE, Notices, present, program, say};

/// How much of a text stands in a line.
const EXCERPT: usize = 70;

/// What `gently thread` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// List threads, newest last
    List,
    /// Begin a thread beside the one that every session has; ask in it with --thread
    New {
        /// What to call it
        name: Option<String>,
        /// For which model's session
        #[arg(long, short, value_name = "ID")]
        model: Option<String>,
    },
    /// Show what was asked, decided and answered in a thread, with the ids that --ref takes
    Show {
        /// Its name, the first digits of its id, or an exchange in it; the newest one when not given
        thread: Option<String>,
    },
}

/// Makes, lists or shows threads.
pub async fn run(command: ThreadCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ThreadCommand::List => print_list(json),
        ThreadCommand::New { name, model } => put(name.as_deref(), model.as_deref(), json).await,
        ThreadCommand::Show { thread } => print_events(thread.as_deref(), json),
    }
}

fn print_list(json: bool) -> Result<u8, OpenHomeError> {
    let threads = list(&open::existing_home()?)?;
    let views = || threads.iter().map(ListedThreadView::of).collect::<Vec<_>>();
    let text = || {
        if threads.is_empty() {
            say("no thread yet: a session's own begins with its first question");
        }
        threads.iter().map(thread_line).collect()
    };
    Ok(present(json, views, text))
}

fn thread_line(listed: &ListedThread) -> String {
    let thread = &listed.row;
    let own = if thread.number == 0 {
        "(its session's own)"
    } else {
        ""
    };
    let head = format!(
        "{}  {}  {:>3} asked  {}",
        listed.short,
        minute(thread.created_at),
        listed.turns,
        quiet(thread.name.as_deref().unwrap_or(own))
    );
    row(
        head.trim_end(),
        listed.first_question.as_deref().unwrap_or_default(),
    )
}

async fn put(name: Option<&str>, model: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let told = Notices::default();
    let new = begin(open::existing_home()?, name, model, &|line| told.say(line)).await?;
    let text = || format!("{}\n", new.short);
    Ok(present(json, || NewThreadView::of(&new), text))
}

fn print_events(id: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let thread = show(&open::existing_home()?, id)?;
    let view = || ThreadView::of(&thread.row, &thread.events);
    let printed = present(json, view, || text(&thread));
    let changed = thread.changed();
    if changed.is_empty() {
        return Ok(printed);
    }
    say(&was_changed(&changed));
    Ok(NEGATIVE.max(printed))
}

fn text(thread: &ThreadDetails) -> String {
    if thread.events.is_empty() {
        say(&format!(
            "nothing was asked in it yet: {} ask --thread {}",
            program(),
            thread.short
        ));
    }
    let mut text = format!("thread {}{}\n", thread.short, name(&thread.row));
    let mut last = None;
    for event in &thread.events {
        if last != Some(event.row.turn) {
            let parent = event.parent_exchange.as_ref();
            let parent = parent.map_or("the first".to_owned(), |parent| format!("after {parent}"));
            text.push_str(&format!("\n{}  {parent}\n", event.exchange));
            last = Some(event.row.turn);
        }
        text.push_str(&line(event));
    }
    text
}

fn name(thread: &ThreadRow) -> String {
    thread
        .name
        .as_deref()
        .map_or(String::new(), |name| format!("  {}", quiet(name)))
}

fn line(event: &ThreadEntry) -> String {
    let gone = if event.withheld {
        format!("({WITHHELD})")
    } else if event.changed {
        format!("({})", MissingText::Changed.name())
    } else {
        "(erased)".to_owned()
    };
    let said = event.decided.as_deref().or(event.said.as_deref());
    let said = said.map_or(gone, |said| beginning(said, EXCERPT));
    let what = match event.row.kind {
        EventKind::Intent => "question",
        EventKind::Decision => "decision",
        EventKind::Execution => "answer",
    };
    row(&format!("    {what:8}"), &said)
}
