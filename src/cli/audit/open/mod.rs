//! `gently audit open`: texts of one session with all that somebody without the ledger needs to
//! check them, in one file.
//!
//! That they were opened is on record before the file is written: an `artifact` line of kind
//! `opening` for each. Exit codes: 0 written; 2 there is nothing to open, or it can't be opened any
//! more; 3 not recorded, so nothing was written.

mod evidence;
mod found;
mod head;
mod notes;
mod stamp;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Scheme, TextOpening};
use crate::record::ledger::opening::OpeningFile;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::ReadStore;

use super::super::wire::{self, OpenHome, OpenHomeError, fresh_salt};
use super::super::{FINE, could_not, print, program, say};

use found::{OpenedText, OpeningContent, find_artifacts, find_turns};

/// The kind of the artifact that says what was opened.
pub const KIND: &str = "opening";

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

/// Why there is nothing to show, or what went wrong.
enum Stop {
    /// A sentence for a person.
    Because(String),
    /// Something is broken.
    Broken(OpenHomeError),
}

impl<E> From<E> for Stop
where
    OpenHomeError: From<E>,
{
    fn from(error: E) -> Self {
        Stop::Broken(error.into())
    }
}

fn because<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Because(why.into()))
}

/// Opens one text.
pub async fn run(args: OpenArgs, json: bool) -> Result<u8, OpenHomeError> {
    match open(&args, json).await {
        Ok(code) => Ok(code),
        Err(Stop::Because(why)) => Ok(could_not(&why, json)),
        Err(Stop::Broken(error)) => Err(error),
    }
}

async fn open(args: &OpenArgs, json: bool) -> Result<u8, Stop> {
    let opened = OpenHome::open(wire::existing_home()?)?;
    if let Some(out) = args.out.as_deref().filter(|out| out.exists()) {
        return because(format!(
            "{} exists, and is not written over; name a new file",
            out.display()
        ));
    }
    let key = opened.authorize().await?;
    let found = if args.artifact.is_empty() {
        find_turns(&opened, args)?
    } else {
        find_artifacts(&opened, args)?
    };
    let repository = Repository::open(&opened.home.paths().ledger()).map_err(broken)?;
    let (recorded, newest) = record(&opened, &found, key).await?;
    let witnesses = &opened.config.witness;
    let keys = witnesses
        .named
        .values()
        .map(|witness| witness.key.clone())
        .collect();
    let ledger = evidence::LedgerSources {
        store: &opened.store,
        repository: &repository,
        headers: &opened.home.root().join("headers"),
        genesis: &opened.genesis,
        believed: &head::TrustedWitnesses {
            keys,
            quorum: witnesses.quorum,
        },
    };
    let (file, notes) = evidence::assemble(&ledger, &found, newest)?;
    let text = file.print().map_err(|e| Stop::Because(e.to_string()))?;
    let code = match &args.out {
        None => print(&text),
        Some(out) => write(out, &text).map_err(Stop::Because)?,
    };
    tell(&opened, &notes);
    let Some(out) = &args.out else {
        recorded
            .iter()
            .for_each(|recorded| say(&on_record(recorded)));
        return Ok(code);
    };
    if json {
        let facts = facts(out, &text, &file, &recorded, &notes);
        return Ok(code.max(print(&format!("{facts}\n"))));
    }
    recorded
        .iter()
        .for_each(|recorded| say(&on_record(recorded)));
    let checked = format!("{} audit check {}", program(), out.display());
    Ok(code.max(print(&format!(
        "{}: {} bytes; check it with: {checked}\n",
        out.display(),
        text.len()
    ))))
}

fn on_record(recorded: &RecordedArtifact) -> String {
    format!(
        "on record: {} (log line {})",
        recorded.document.id,
        recorded.line + 1
    )
}

fn facts(
    out: &Path,
    text: &str,
    file: &OpeningFile,
    recorded: &[RecordedArtifact],
    notes: &[String],
) -> serde_json::Value {
    let openings: Vec<serde_json::Value> = file
        .openings
        .iter()
        .zip(recorded)
        .map(|(opening, recorded)| {
            json!({
                "opening": recorded.document.id, "log_line": recorded.line + 1, "session": opening.session_id,
                "seq": opening.seq, "role": opening.role.name(),
            })
        })
        .collect();
    json!({
        "file": out.display().to_string(), "bytes": text.len(), "bytes_without_text": file.around().ok(),
        "sha256": Hash32::digest(text.as_bytes()).to_string(), "openings": openings, "left_out": notes,
    })
}

fn broken(error: impl std::fmt::Display) -> Stop {
    Stop::Because(format!("{error}; look with: gently audit verify"))
}

/// What whoever hands the file on should know of it.
fn tell(opened: &OpenHome, notes: &[String]) {
    notes
        .iter()
        .for_each(|note| say(&format!("left out: {note}")));
    if opened.genesis.commitments == Scheme::Sha256 {
        say(
            "this ledger commits with plain SHA-256: with the file somebody can try what the turns beside this one said",
        );
    }
}

fn write(out: &Path, text: &str) -> Result<u8, String> {
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

/// Puts on record what is opened, unless it was erased meanwhile; gives the signed tree head over
/// all lines then.
async fn record(
    opened: &OpenHome,
    found: &OpeningContent,
    key: Hash32,
) -> Result<(Vec<RecordedArtifact>, String), Stop> {
    let now = wire::clock()?;
    let one = |piece: &OpenedText| -> Result<NewArtifact, Stop> {
        let TextOpening {
            commitment,
            role,
            seq,
            session_id,
            ..
        } = &piece.opening;
        let content = vec![
            ("by", ArtifactField::Hash(key)),
            ("commitment", ArtifactField::Hash(*commitment)),
            ("line", ArtifactField::Number(piece.line + 1)),
            ("role", ArtifactField::Word(role.name().to_owned())),
            (
                "seq",
                seq.map_or(ArtifactField::Null, ArtifactField::Number),
            ),
            ("session_id", ArtifactField::Word(session_id.clone())),
        ];
        let id = ArtifactId::Next { prefix: KIND };
        Ok(NewArtifact {
            kind: KIND,
            id,
            content,
            session: None,
            salt: fresh_salt()?,
            now,
        })
    };
    let new = found
        .pieces
        .iter()
        .map(one)
        .collect::<Result<Vec<_>, _>>()?;
    let places: Vec<_> = found
        .pieces
        .iter()
        .map(|piece| (piece.exchange, piece.line))
        .collect();
    let allowed = move |store: &dyn ReadStore| -> Result<Option<String>, RecorderError> {
        for (exchange, line) in &places {
            let here = match exchange {
                Some(id) => store.exchange(*id)?.is_some_and(|row| row.salt.is_some()),
                None => store
                    .artifacts()?
                    .iter()
                    .any(|row| row.line == *line && row.salt.is_some()),
            };
            if !here {
                return Ok(Some("it was erased just now; nothing is opened".to_owned()));
            }
        }
        Ok(None)
    };
    Ok(opened.recorder.artifacts_with_head(new, allowed).await?)
}
