//! `gently share`: question and answer for somebody else, as an opening file and as a page that
//! shows and checks it.
//!
//! What is revealed is listed and asked before anything is written. Exit codes as of `gently audit
//! open`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::opening::OpenTextsError;
use crate::app::prove::share::{ShareSelection, SharedTurn, page, select, share};
use crate::app::words::beginning;
use crate::cli::flags::spelled;
use crate::os::shell_word;
use crate::view::keep::plan::PlanView;
use crate::view::prove::share::{ShareNotices, ShareView};

use super::audit::open::{recorded, tell};
use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::new_file::{NewFile, judge_name};
use crate::cli::{could_not, present_or_tell, program, say};

/// So many characters of a text are shown before it is handed on.
const EXCERPT: usize = 44;

/// Arguments of `gently share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// An exchange as gently show takes it, or a session, a conversation or its title for all of it;
    /// last is the last question, which has to have an answer; without an ID it is the newest that has
    /// one. A file is of one session: what other models answered in the same conversation is named, and
    /// shared by itself
    pub id: Option<String>,
    /// Of a conversation, what was asked in this session
    #[arg(long, value_name = "SESSION", requires = "id")]
    pub session: Option<String>,
    /// The new file; the page stands beside it, with the ending .html. With --html the page's own name
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the page alone; it holds the file
    #[arg(long)]
    pub html: bool,
    /// Share an answer that the kernel withholds, too
    #[arg(long)]
    pub withheld: bool,
    /// Whether it is asked before it is written.
    #[command(flatten)]
    pub consent: ConfirmArgs,
}

/// Publishes the chosen turns of a session after the person agreed.
pub async fn run(args: ShareArgs, json: bool) -> Result<u8, OpenHomeError> {
    match shared(&args, json).await {
        Ok(code) => Ok(code),
        Err(OpenTextsError::Refused(why)) => Ok(could_not(&spelled(&why), json)),
        Err(OpenTextsError::Failed(error)) => Err(error),
    }
}

/// Where what is written.
struct Places {
    file: Option<PathBuf>,
    page: PathBuf,
}

impl Places {
    /// # Errors
    /// A sentence for a person.
    fn of(args: &ShareArgs, selection: &ShareSelection) -> Result<Places, String> {
        let session = selection.session.id.short8();
        let name = match selection.turns.as_slice() {
            [one] => format!("gently-{session}-{}", one.exchange.seq),
            _ => format!("gently-{session}"),
        };
        let ending = if args.html { "html" } else { "json" };
        let out = args.out.clone();
        let out = out.unwrap_or_else(|| PathBuf::from(format!("{name}.{ending}")));
        judge_name(&out)?;
        if args.html {
            if !is_page(&out) {
                return Err(format!(
                    "{}: with --html the page alone is written, and a browser wants it to end with .html",
                    out.display()
                ));
            }
            return Ok(Places {
                file: None,
                page: out,
            });
        }
        if is_page(&out) {
            return Err(format!(
                "{}: --out names the file, and its page stands beside it with the ending .html: name the file with another ending (.json), or say --html for the page alone",
                out.display()
            ));
        }
        let page = out.with_extension("html");
        judge_name(&page)?;
        Ok(Places {
            file: Some(out),
            page,
        })
    }

    fn list(&self) -> String {
        let both = self.file.iter().chain([&self.page]);
        let named: Vec<String> = both.map(|path| path.display().to_string()).collect();
        named.join(" and ")
    }
}

/// Whether a name has the ending of a page, as any file system compares it.
fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ["html", "htm"]
            .iter()
            .any(|page| ending.eq_ignore_ascii_case(page))
    })
}

async fn shared(args: &ShareArgs, json: bool) -> Result<u8, OpenTextsError> {
    let home = open::open_home()?;
    let key = home.authorize().await?;
    let id = args.id.as_deref();
    let selection = select(&home, id, args.session.as_deref(), args.withheld)?;
    let places = Places::of(args, &selection).map_err(|why| OpenTextsError::Refused(why.into()))?;
    let mut lines = revealed_by(&selection);
    if args.consent.dry_run {
        lines.push(format!("It would be written to {}", places.list()));
        let plan = PlanView::new(true, lines, ShareNotices::of(&selection));
        return Ok(confirm::dry_run(&plan, json));
    }
    lines.iter().for_each(|line| say(line));
    let words = ConfirmWords {
        does: "write it",
        done: "written, and nothing is on record of it",
    };
    confirm::ask(args.consent.yes, words).map_err(|why| OpenTextsError::Refused(why.into()))?;
    // Both places are taken before anything is on record.
    let new_file = places.file.as_deref().map(NewFile::create).transpose();
    let new_file = new_file.map_err(|why| OpenTextsError::Refused(why.into()))?;
    let new_page =
        NewFile::create(&places.page).map_err(|why| OpenTextsError::Refused(why.into()))?;
    let notices = ShareNotices::of(&selection);
    let opening = share(&home, key, selection).await?;
    if let Some(new) = new_file {
        new.fill(&opening.text)
            .map_err(|why| OpenTextsError::Refused(why.into()))?;
    }
    let made = page(&opening.text);
    new_page
        .fill(&made)
        .map_err(|why| OpenTextsError::Refused(why.into()))?;
    tell(&opening);
    let view = || ShareView::of(&opening, places.file.as_deref(), &places.page, notices);
    let text = || {
        recorded(&opening).iter().for_each(|line| say(line));
        written(&places)
    };
    let outcome = format!("written, and on record: {}", places.list());
    Ok(present_or_tell(json, view, text, &outcome))
}

/// What was written, and what somebody does with it.
fn written(places: &Places) -> String {
    let page = places.page.display();
    let mut text =
        format!("{page}\n    a page that checks itself in any browser, without a network\n");
    if let Some(file) = &places.file {
        text.push_str(&format!(
            "{}\n    the same as a file; check it with\n    {} check {}\n",
            file.display(),
            program(),
            shell_word(file)
        ));
    }
    text
}

/// What somebody who gets the file can read, and what is not in it.
fn revealed_by(selection: &ShareSelection) -> Vec<String> {
    let told = |word: &'static str, lines: &[String]| -> Vec<String> {
        let line = |line| format!("{word}{line}");
        lines.iter().map(line).collect()
    };
    let neighbours = match selection.neighbours_can_be_guessed {
        true => "and can try what your other turns said: this ledger commits with plain SHA-256.",
        false => "No other turn can be read from it, and that you opened it goes on your record.",
    };
    [
        told("passed over: ", &selection.passed_over),
        told("not in it: ", &selection.elsewhere),
        vec!["Whoever gets this can read:".to_owned()],
        selection.turns.iter().flat_map(revealed).collect(),
        vec!["and beside that:".to_owned()],
        told("  ", &selection.reveals),
        vec![neighbours.to_owned()],
        told("left out: ", &selection.left_out),
    ]
    .concat()
}

fn revealed(turn: &SharedTurn) -> Vec<String> {
    let seq = turn.exchange.seq;
    let mut lines = vec![format!("  question {seq}: {}", begins(&turn.question))];
    match &turn.answer {
        Some(answer) => lines.push(format!("  answer   {seq}: {}", begins(answer))),
        None => lines.push(format!("  that {}", turn.unanswered())),
    }
    lines
}

/// How a text begins, on one line.
fn begins(text: &str) -> String {
    let start = beginning(text, EXCERPT);
    match start.ends_with('…') {
        true => format!("{start} ({} bytes)", text.len()),
        false => start,
    }
}
