//! `gently drift`: what the validator found, what became of it, and a kernel tried on replies.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::drift::trial::{judge_line, kernel};
use crate::app::look::drift::{
    ACK, CLOSE, DriftChoice, DriftDetails, DriftFilter, DriftStep, DriftTransition, list, show,
    state,
};
use crate::os::shell_word;
use crate::record::ledger::short_name::short_name;
use crate::record::time::Seconds;
use crate::store::DriftState;
use crate::view::look::drift::{
    DriftDetailsView, DriftListView, DriftTransitionView, TrialVerdictView,
};

use crate::cli::screen::quiet;
use crate::cli::{FINE, NEGATIVE, could_not, present, print_view, program, say};

/// Events of one list, unless another number is asked for.
const USUAL: u32 = 1000;

/// Subcommands of `gently drift`.
#[derive(Debug, Subcommand)]
pub enum DriftCommand {
    /// List drift events that are not closed, newest last
    List {
        /// Closed ones too
        #[arg(long)]
        all: bool,
        /// So many at most, the newest
        #[arg(long, short = 'n', value_name = "N", default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
        /// Only older ones than this event: the next page, by the first event of this one
        #[arg(long, value_name = "EVENT")]
        before: Option<String>,
        /// Only those of this conversation: the first digits of its id, its title, or last
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
    },
    /// Show one drift event with every field, and who looked at it
    Show {
        /// drift-42, 42, or the first digits of its id
        event: String,
    },
    /// Say, on record, that you have seen drift events; they stay open
    Ack(DriftStatement),
    /// Say, on record, that drift events are dealt with
    Close(DriftStatement),
    /// Judge replies from standard input, a JSON object a line; records nothing
    Test {
        /// One `{"id","prompt","reply","bundle"?,"expect"?}` in, one
        /// `{"id","refusal","validator","events"}` out, a line each
        #[arg(long, required = true)]
        jsonl: bool,
        /// The kernel to try; else this home's, else the built-in one
        #[arg(long, value_name = "FILE")]
        kernel: Option<PathBuf>,
    },
}

/// Which events, and why.
#[derive(Debug, Args)]
pub struct DriftStatement {
    /// drift-42, 42, or the first digits of an id; --all takes all that are open
    #[arg(required_unless_present_any = ["all", "conversation"])]
    pub events: Vec<String>,
    /// All that are open
    #[arg(long, conflicts_with_all = ["events", "conversation"])]
    pub all: bool,
    /// All of this conversation that are open: the first digits of its id, its title, or last
    #[arg(long, value_name = "ID", conflicts_with = "events")]
    pub conversation: Option<String>,
    /// Why; on record, secrets removed
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

impl DriftStatement {
    fn choice(&self) -> DriftChoice {
        match &self.conversation {
            Some(text) => DriftChoice::Of(text.clone()),
            None if self.all || self.events == ["all"] => DriftChoice::All,
            None => DriftChoice::These(self.events.clone()),
        }
    }
}

/// Runs the command.
pub async fn run(command: DriftCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        DriftCommand::List {
            all,
            number,
            before,
            conversation,
        } => {
            let filter = DriftFilter {
                all,
                number,
                before,
                conversation,
            };
            print_list(&filter, json)
        }
        DriftCommand::Show { event } => print_event(&event, json),
        DriftCommand::Ack(stated) => put(&stated, ACK, json).await,
        DriftCommand::Close(stated) => put(&stated, CLOSE, json).await,
        DriftCommand::Test { jsonl: _, kernel } => Ok(try_kernel(kernel.as_deref(), json)),
    }
}

fn print_list(filter: &DriftFilter, json: bool) -> Result<u8, OpenHomeError> {
    let found = list(&open::existing_home()?, filter)?;
    let now = open::clock()?;
    if let Some(first) = found.events.first().filter(|_| found.older > 0) {
        let flags = if filter.all { " --all" } else { "" };
        let of = match &filter.conversation {
            None => String::new(),
            Some(text) => format!(" --conversation {}", shell_word(Path::new(text))),
        };
        let next = format!(
            "{} drift list{flags}{of} --before {}",
            program(),
            short_name(&first.state.id())
        );
        say(&format!("{} older not listed: {next}", found.older));
    }
    let all_listed = format!(
        "{} drift list{}",
        program(),
        if filter.all { " --all" } else { "" }
    );
    let text = || {
        if found.events.is_empty() {
            let there = found.elsewhere.map_or("", |_| " in this conversation");
            say(&match filter.all {
                true => format!("no warning of an answer is on record{there}"),
                false => format!(
                    "no warning of an answer is open{there}; closed ones: {} drift list --all",
                    program()
                ),
            });
        }
        match found.elsewhere {
            None | Some(0) => {}
            Some(1) => say(&format!(
                "1 more warning is of another conversation: {all_listed}"
            )),
            Some(more) => say(&format!(
                "{more} more warnings are of other conversations: {all_listed}"
            )),
        }
        found.events.iter().map(|event| line(event, now)).collect()
    };
    Ok(present(json, || DriftListView::of(&found, now), text))
}

/// One event: what can be typed, where it stands, and under it the sentence.
fn line(event: &DriftDetails, now: Seconds) -> String {
    let DriftState { event: row, .. } = &event.state;
    let id = short_name(&event.state.id());
    let state = match event.state.state() {
        state if state == ACK.word => "seen",
        state => state,
    };
    let age = age(now.since(row.created_at));
    format!(
        "{id}  {state}  {}, {}  {}  {age} ago\n    {}\n",
        quiet(&row.class),
        quiet(&row.severity),
        event.short,
        quiet(&event.warning.sentence)
    )
}

/// `3 h`: the largest unit of an age.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Prints the event of an id.
pub fn print_event(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let (details, steps) = show(&open::existing_home()?, id)?;
    let now = open::clock()?;
    let view = || DriftDetailsView::of(&details, &steps, now);
    Ok(present(json, view, || text(&details, &steps, now)))
}

fn text(details: &DriftDetails, steps: &[DriftStep], now: Seconds) -> String {
    let event = &details.state.event;
    let mut text = line(details, now);
    let fields = [
        ("found", event.created_at.to_string()),
        ("by rule", event.summary.clone()),
        ("see", format!("{} show {}", program(), details.short)),
    ];
    for (name, value) in fields {
        text.push_str(&format!("    {name:8}  {}\n", quiet(&value)));
    }
    for step in steps {
        let field = |key: &str| quiet(step.said[key].as_str().unwrap_or("-"));
        let (at, by, reason) = (field("at"), field("by"), field("reason"));
        let name = match step.of {
            ACK => "seen",
            other => other.called,
        };
        text.push_str(&format!("    {name:8}  {at} by {by}: {reason}\n"));
    }
    text
}

async fn put(
    stated: &DriftStatement,
    step: DriftTransition,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let done = state(&opened, &stated.choice(), stated.reason.as_deref(), step).await?;
    let is_none = done.is_empty();
    let view = DriftTransitionView {
        state: step.word,
        drift: done,
    };
    let line = |id: &String| {
        let id = short_name(id);
        match step {
            ACK => format!(
                "{id} is {}, and stays open; to close it: {} drift close {id}\n",
                step.called,
                program()
            ),
            _ => format!("{id} is {}\n", step.called),
        }
    };
    let text = || {
        if is_none {
            let there = stated.conversation.as_ref().map_or("", |_| " there");
            say(&format!(
                "no warning of an answer is open{there}: nothing was recorded"
            ));
        }
        view.drift.iter().map(line).collect()
    };
    let code = present(json, || &view, text);
    Ok(if is_none { code.max(NEGATIVE) } else { code })
}

/// Judges standard input line by line; the first line that can't be read ends it.
fn try_kernel(file: Option<&Path>, json: bool) -> u8 {
    let kernel = match kernel(file) {
        Ok(kernel) => kernel,
        Err(why) => return could_not(&why, json),
    };
    for (at, line) in std::io::stdin().lock().lines().enumerate() {
        let verdict = match line.map_err(|e| e.to_string()) {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => judge_line(&kernel, &line),
            Err(why) => Err(why),
        };
        let code = match verdict {
            Ok(verdict) => print_view(&TrialVerdictView::of(&verdict)),
            Err(why) => could_not(&format!("standard input, line {}: {why}", at + 1), json),
        };
        if code != FINE {
            return code;
        }
    }
    FINE
}
