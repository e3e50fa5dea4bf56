//! `gently audit open`: texts of one session with all that somebody without the ledger needs to
//! check them, in one file.
//!
//! That they were opened is on record before the file is written: an `artifact` line of kind
//! `opening` for each. Exit codes: 0 written; 2 there is nothing to open, or it can't be opened any
//! more; 3 not recorded, so nothing was written.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::app::open::{self, OpenHomeError};
use crate::app::opening::{NewOpening, OpenTextsError, OpeningRequest, TurnText, open_texts};
use crate::recorder::RecordedArtifact;
use crate::view::opening::NewOpeningView;

use super::super::{FINE, could_not, present, print, program, say};

/// `gently audit open`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("opened").required(true).args(["session", "artifact"])))]
pub struct OpenArgs {
    /// The session: `last`, or the first digits of its id
    #[arg(requires = "seq")]
    pub session: Option<String>,
    /// The prompt's number in it; several are opened in one file
    pub seq: Vec<u64>,
    /// Which text of the turn; given again, several of them [default: response]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub role: Vec<TurnRole>,
    /// An artifact instead of a turn: its id, such as ledger:000183
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

/// `--role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum TurnRole {
    /// What was asked, as it was sent
    Prompt,
    /// The answer
    Response,
    /// The exchange document: how the turn came about, without its texts
    Exchange,
}

impl From<TurnRole> for TurnText {
    fn from(role: TurnRole) -> TurnText {
        match role {
            TurnRole::Prompt => TurnText::Prompt,
            TurnRole::Response => TurnText::Response,
            TurnRole::Exchange => TurnText::Exchange,
        }
    }
}

/// Opens one text.
pub async fn run(args: OpenArgs, json: bool) -> Result<u8, OpenHomeError> {
    match open(&args, json).await {
        Ok(code) => Ok(code),
        Err(OpenTextsError::Because(why)) => Ok(could_not(&why, json)),
        Err(OpenTextsError::Broken(error)) => Err(error),
    }
}

async fn open(args: &OpenArgs, json: bool) -> Result<u8, OpenTextsError> {
    let home = open::open_home()?;
    if let Some(out) = args.out.as_deref().filter(|out| out.exists()) {
        return Err(OpenTextsError::Because(format!(
            "{} exists, and is not written over; name a new file",
            out.display()
        )));
    }
    let key = home.authorize().await?;
    let request = OpeningRequest {
        session: args.session.clone(),
        seq: args.seq.clone(),
        texts: args.role.iter().copied().map(TurnText::from).collect(),
        artifacts: args.artifact.clone(),
        line: args.line,
        withheld: args.withheld,
    };
    let opening = open_texts(&home, key, &request).await?;
    let code = match &args.out {
        None => print(&opening.text),
        Some(out) => write(out, &opening.text).map_err(OpenTextsError::Because)?,
    };
    tell(&opening);
    let Some(out) = &args.out else {
        say_recorded(&opening);
        return Ok(code);
    };
    let view = || NewOpeningView::of(&opening, out);
    Ok(code.max(present(json, view, || written(&opening, out))))
}

/// What was written, for somebody who looks on.
fn written(opening: &NewOpening, out: &Path) -> String {
    say_recorded(opening);
    let place = out.display();
    format!(
        "{place}: {} bytes; check it with: {} audit check {place}\n",
        opening.text.len(),
        program()
    )
}

/// Says what was put on record of it.
pub(in crate::cli) fn say_recorded(opening: &NewOpening) {
    let lines = opening.recorded.iter().map(on_record);
    lines.for_each(|line| say(&line));
}

fn on_record(recorded: &RecordedArtifact) -> String {
    format!(
        "on record: {} (log line {})",
        recorded.document.id,
        recorded.line + 1
    )
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

/// Writes a new file that only its owner reads, whole or not at all.
pub(in crate::cli) fn write(out: &Path, text: &str) -> Result<u8, String> {
    let failed = |e: std::io::Error| {
        format!(
            "{}: {e}; the opening is on record, and no file was written",
            out.display()
        )
    };
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(out).map_err(failed)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(|e| {
        // Half a file opens nothing.
        let _ = std::fs::remove_file(out);
        failed(e)
    })?;
    Ok(FINE)
}
