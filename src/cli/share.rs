//! `gently share`: question and answer for somebody else, as an opening file and as a page that
//! shows and checks it.
//!
//! What is revealed is listed and asked before anything is written. Exit codes as of `gently audit
//! open`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;

use crate::app::open::{self, OpenHomeError};
use crate::app::opening::OpenTextsError;
use crate::app::share::{ShareSelection, SharedTurn, page, select, share};
use crate::view::share::ShareView;

use super::audit::open::{say_recorded, tell};
use super::new_file::NewFile;
use super::screen::quiet;
use super::{could_not, present, program, say};

/// So many characters of a text are shown before it is handed on.
const EXCERPT: usize = 44;

/// `gently share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// An exchange as gently show takes it, or a session for all of it
    #[arg(default_value = "last")]
    pub id: String,
    /// The new file; the page stands beside it, with the ending .html. With --html the page's own name
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the page alone; it holds the file
    #[arg(long)]
    pub html: bool,
    /// Share an answer that the kernel withholds, too
    #[arg(long)]
    pub withheld: bool,
    /// Don't ask before it is written
    #[arg(long)]
    pub yes: bool,
}

/// Shares.
pub async fn run(args: ShareArgs, json: bool) -> Result<u8, OpenHomeError> {
    match shared(&args, json).await {
        Ok(code) => Ok(code),
        Err(OpenTextsError::Because(why)) => Ok(could_not(&why, json)),
        Err(OpenTextsError::Broken(error)) => Err(error),
    }
}

/// Where what is written.
struct Places {
    file: Option<PathBuf>,
    page: PathBuf,
}

impl Places {
    fn of(args: &ShareArgs, selection: &ShareSelection) -> Result<Places, OpenTextsError> {
        let session = selection.session.id.short8();
        let name = match selection.turns.as_slice() {
            [one] => format!("gently-{session}-{}", one.exchange.seq),
            _ => format!("gently-{session}"),
        };
        let ending = if args.html { "html" } else { "json" };
        let out = args.out.clone();
        let out = out.unwrap_or_else(|| PathBuf::from(format!("{name}.{ending}")));
        let places = if args.html {
            Places {
                file: None,
                page: out,
            }
        } else {
            let page = out.with_extension("html");
            Places {
                file: Some(out),
                page,
            }
        };
        if places.file.as_ref() == Some(&places.page) {
            return Err(OpenTextsError::Because(
                "the file would be where its page is: name it with another ending, or say --html"
                    .to_owned(),
            ));
        }
        Ok(places)
    }
}

async fn shared(args: &ShareArgs, json: bool) -> Result<u8, OpenTextsError> {
    let home = open::open_home()?;
    let key = home.authorize().await?;
    let selection = select(&home, &args.id, args.withheld)?;
    let places = Places::of(args, &selection)?;
    // Both places are taken before anything is on record.
    let new_file = places.file.as_deref().map(NewFile::create).transpose();
    let new_file = new_file.map_err(OpenTextsError::Because)?;
    let new_page = NewFile::create(&places.page).map_err(OpenTextsError::Because)?;
    reveal(&selection);
    if !args.yes && !is_confirmed()? {
        return Err(OpenTextsError::Because(
            "not confirmed: nothing was shared, and nothing is on record of it".to_owned(),
        ));
    }
    let opening = share(&home, key, &selection, args.withheld).await?;
    if let Some(new) = new_file {
        new.fill(&opening.text).map_err(OpenTextsError::Because)?;
    }
    let made = page(&opening.text);
    new_page.fill(&made).map_err(OpenTextsError::Because)?;
    tell(&opening);
    let view = || ShareView::of(&opening, places.file.as_deref(), &places.page);
    let text = || {
        say_recorded(&opening);
        written(&places)
    };
    Ok(present(json, view, text))
}

/// What was written, and what somebody does with it.
fn written(places: &Places) -> String {
    let page = places.page.display();
    let mut text =
        format!("{page}\n    a page that checks itself in any browser, without a network\n");
    if let Some(file) = &places.file {
        let file = file.display();
        text.push_str(&format!(
            "{file}\n    the same as a file; check it with\n    {} audit check {file}\n",
            program()
        ));
    }
    text
}

/// Says what somebody who gets the file can read.
fn reveal(selection: &ShareSelection) {
    say("Whoever gets this can read:");
    for turn in &selection.turns {
        revealed(turn).iter().for_each(|line| say(line));
    }
    say("  when it was asked and answered, the model's name, your public key and the blocks");
    say("and can prove that it is on your record. No other turn can be read from it.");
    for note in &selection.left_out {
        say(&format!("left out: {note}"));
    }
}

fn revealed(turn: &SharedTurn) -> Vec<String> {
    let seq = turn.exchange.seq;
    let mut lines = vec![format!("  question {seq}: {}", begins(&turn.question))];
    match &turn.answer {
        Some(answer) => lines.push(format!("  answer   {seq}: {}", begins(answer))),
        None => lines.push("  that it has no answer".to_owned()),
    }
    lines
}

/// How a text begins, on one line.
fn begins(text: &str) -> String {
    let quiet = quiet(text);
    let count = quiet.chars().count();
    if count <= EXCERPT {
        return quiet;
    }
    let start: String = quiet.chars().take(EXCERPT).collect();
    format!("{start}… ({} bytes)", text.len())
}

/// Whether the person at the terminal types yes.
fn is_confirmed() -> Result<bool, OpenTextsError> {
    if !std::io::stdin().is_terminal() {
        return Err(OpenTextsError::Because(
            "nobody is here to be asked: say --yes to share it; nothing was written".to_owned(),
        ));
    }
    say("Type yes to write it, anything else to stop:");
    let mut typed = String::new();
    let read = std::io::stdin().read_line(&mut typed);
    Ok(read.is_ok() && typed.trim().eq_ignore_ascii_case("yes"))
}
