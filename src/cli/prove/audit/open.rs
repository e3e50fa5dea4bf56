//! `gently audit open`: texts of one session with all that somebody without the ledger needs to
//! check them, in one file.
//!
//! That they were opened is on record before the file is written: an `artifact` line of kind
//! `opening` for each. Exit codes: 0 written; 2 there is nothing to open, or it can't be opened any
//! more; 3 not recorded, so nothing was written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::opening::{
    NewOpening, OpenTextsError, OpeningRequest, TurnText, open_texts,
};
use crate::cli::flags::spelled;
use crate::os::shell_word;
use crate::record::ledger::commitment::Role;
use crate::view::prove::opening::NewOpeningView;

use crate::cli::screen::new_file::{NewFile, judge_name};
use crate::cli::{FINE, could_not, present_or_tell, print_or_tell, program, say};

/// `gently audit open`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("opened").required(true).args(["session", "artifact"])))]
pub struct OpenArgs {
    /// The exchange: `last`, or as screens call it, 81bb5b35/16; or a session, with numbers behind it
    #[arg(value_name = "ID")]
    pub session: Option<String>,
    /// Numbers of prompts of the same session; all are opened in one file
    pub seq: Vec<u64>,
    /// Which text of the turn; given again, several of them [default: response]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub role: Vec<TurnRole>,
    /// An artifact instead of a turn: its id, such as fact-183
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "seq", "role"])]
    pub artifact: Vec<String>,
    /// Which of the artifact's lines, as `gently log` numbers them, when it has several
    #[arg(long, value_name = "N", requires = "artifact")]
    pub line: Option<u64>,
    /// Open it even if it is an answer that is withheld, or quotes one
    #[arg(long)]
    pub withheld: bool,
    /// A new file to write; standard output when not given
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Which text of a turn `--role` opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum TurnRole {
    /// What was asked, as it was sent
    Prompt,
    /// The answer
    Response,
    /// The exchange document: how the turn came about, without its texts
    Exchange,
    /// What was sent: messages by the ids of their turns, tools, settings; with the exchange document
    Request,
    /// What came beside the answer's text: why it ended, tool calls; with the exchange document
    Reply,
}

impl From<TurnRole> for TurnText {
    fn from(role: TurnRole) -> TurnText {
        match role {
            TurnRole::Prompt => TurnText::Prompt,
            TurnRole::Response => TurnText::Response,
            TurnRole::Exchange => TurnText::Exchange,
            TurnRole::Request => TurnText::Request,
            TurnRole::Reply => TurnText::Reply,
        }
    }
}

/// Opens one text.
pub async fn run(args: OpenArgs, json: bool) -> Result<u8, OpenHomeError> {
    match open(&args, json).await {
        Ok(code) => Ok(code),
        Err(OpenTextsError::Refused(why)) => Ok(could_not(&spelled(&why), json)),
        Err(OpenTextsError::Failed(error)) => Err(error),
    }
}

async fn open(args: &OpenArgs, json: bool) -> Result<u8, OpenTextsError> {
    let home = open::open_home()?;
    let key = home.authorize().await?;
    let new = args.out.as_deref().map(named).transpose();
    let new = new.map_err(|why| OpenTextsError::Refused(why.into()))?;
    let request = OpeningRequest {
        session: args.session.clone(),
        seq: args.seq.clone(),
        texts: args.role.iter().copied().map(TurnText::from).collect(),
        artifacts: args.artifact.clone(),
        line: args.line,
        withheld: args.withheld,
    };
    let opening = open_texts(&home, key, &request).await?;
    let code = match new {
        None => print_or_tell(&opening.text, GONE),
        Some(new) => new
            .fill(&opening.text)
            .map(|()| FINE)
            .map_err(|why| OpenTextsError::Refused(why.into()))?,
    };
    tell(&opening);
    let said = recorded(&opening);
    let Some(out) = &args.out else {
        said.iter().for_each(|line| say(line));
        return Ok(code);
    };
    let view = || NewOpeningView::of(&opening, out);
    let outcome = format!("written, and on record: {}", out.display());
    let text = || {
        said.iter().for_each(|line| say(line));
        written(&opening, out)
    };
    Ok(code.max(present_or_tell(json, view, text, &outcome)))
}

/// What is so when standard output did not take the file.
const GONE: &str =
    "the opening is on record, and its file was not written whole; open it again with --out FILE";

/// A new file of this name.
fn named(path: &Path) -> Result<NewFile, String> {
    judge_name(path)?;
    NewFile::create(path)
}

/// What was written, for somebody who looks on.
fn written(opening: &NewOpening, out: &Path) -> String {
    format!(
        "{}: {} bytes; check it with: {} check {}\n",
        out.display(),
        opening.text.len(),
        program(),
        shell_word(out)
    )
}

/// So many texts are named one by one.
const FEW: usize = 2;

/// What was put on record of it, in sentences.
pub(in crate::cli) fn recorded(opening: &NewOpening) -> Vec<String> {
    let count = opening.recorded.len();
    if count > FEW {
        return vec![format!(
            "on your record now: these {count} texts were opened"
        )];
    }
    let said = opening.file.openings.iter().map(|opened| {
        let name = named_text(opened.role, opened.seq);
        format!("on your record now: {name} was opened")
    });
    said.collect()
}

/// What a text is called on a screen.
pub(in crate::cli) fn named_text(role: Role, seq: Option<u64>) -> String {
    let word = match role {
        Role::Prompt => "question",
        Role::Response => "answer",
        Role::Exchange => "the document of turn",
        Role::Request => "what was sent for question",
        Role::Reply => "what came beside answer",
        Role::Artifact => "the artifact",
        other => other.name(),
    };
    seq.map_or_else(|| word.to_owned(), |seq| format!("{word} {seq}"))
}

/// Says what whoever hands the file on should know of it.
pub(in crate::cli) fn tell(opening: &NewOpening) {
    for note in &opening.left_out {
        say(&format!("left out: {note}"));
    }
    if opening.neighbours_can_be_guessed {
        say(
            "this ledger commits with plain SHA-256: with the file somebody can try what the turns beside this one said",
        );
    }
}
