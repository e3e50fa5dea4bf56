//! `gently audit open`: texts of one session with all that somebody without the ledger needs to check them, in one file.
//!
//! That they were opened is on record before the file is written: an `artifact` line of kind `opening` for each. Exit
//! codes: 0 written; 2 there is nothing to open, or it can't be opened any more; 3 not recorded, so nothing was written.

mod evidence;
mod head;
mod notes;
mod stamp;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use uuid::Uuid;

use crate::ledger::read::Repository;
use crate::record::commitment::{Opening, Role, Salt, Scheme, commit, opening_key};
use crate::record::documents::Format;
use crate::record::entry::Line;
use crate::record::hash::Hash32;
use crate::record::opening::OpeningFile;
use crate::recorder::{ArtifactId, Field, NewArtifact, RecordedArtifact, RecorderError, tombstone_of};
use crate::store::sqlite::Sqlite;
use crate::store::{ArtifactRow, ExchangeRow, Find, Outcome, Read, SessionRow};
use crate::verify::exchange_document;

use super::super::wire::{self, Opened, WireError, fresh_salt};
use super::super::{FINE, could_not, find, print, program, say};

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

/// One text that is opened, and where its lines are.
struct Piece {
    opening: Opening,
    /// Number of the line that carries the commitment, from 0.
    line: u64,
    /// The line of the turn's outcome, if it has one.
    outcome: Option<u64>,
    exchange: Option<Uuid>,
}

/// What is opened, in the order of lines, and the session that all of it is of.
struct Found {
    pieces: Vec<Piece>,
    session: Option<SessionRow>,
}

/// Why there is nothing to show, or what went wrong.
enum Stop {
    /// A sentence for a person.
    Because(String),
    /// Something is broken.
    Broken(WireError),
}

impl<E> From<E> for Stop
where
    WireError: From<E>,
{
    fn from(error: E) -> Self {
        Stop::Broken(error.into())
    }
}

fn because<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Because(why.into()))
}

/// Opens one text.
pub async fn run(args: OpenArgs, json: bool) -> Result<u8, WireError> {
    match open(&args, json).await {
        Ok(code) => Ok(code),
        Err(Stop::Because(why)) => Ok(could_not(&why, json)),
        Err(Stop::Broken(error)) => Err(error),
    }
}

async fn open(args: &OpenArgs, json: bool) -> Result<u8, Stop> {
    let opened = Opened::open(wire::existing_home()?)?;
    if let Some(out) = args.out.as_deref().filter(|out| out.exists()) {
        return because(format!("{} exists, and is not written over; name a new file", out.display()));
    }
    let key = opened.authorize().await?;
    let found = if args.artifact.is_empty() { find_turns(&opened, args)? } else { find_artifacts(&opened, args)? };
    let repository = Repository::open(&opened.home.paths().ledger()).map_err(broken)?;
    let (recorded, newest) = record(&opened, &found, key).await?;
    let witnesses = &opened.config.witness;
    let keys = witnesses.named.values().map(|witness| witness.key.clone()).collect();
    let ledger = evidence::Ledger {
        store: &opened.store,
        repository: &repository,
        headers: &opened.home.root().join("headers"),
        genesis: &opened.genesis,
        believed: &head::Believed { keys, quorum: witnesses.quorum },
    };
    let (file, notes) = evidence::assemble(&ledger, &found, newest)?;
    let text = file.print().map_err(|e| Stop::Because(e.to_string()))?;
    let code = match &args.out {
        None => print(&text),
        Some(out) => write(out, &text).map_err(Stop::Because)?,
    };
    tell(&opened, &notes);
    let Some(out) = &args.out else {
        recorded.iter().for_each(|recorded| say(&on_record(recorded)));
        return Ok(code);
    };
    if json {
        let facts = facts(out, &text, &file, &recorded, &notes);
        return Ok(code.max(print(&format!("{facts}\n"))));
    }
    recorded.iter().for_each(|recorded| say(&on_record(recorded)));
    let checked = format!("{} audit check {}", program(), out.display());
    Ok(code.max(print(&format!("{}: {} bytes; check it with: {checked}\n", out.display(), text.len()))))
}

fn on_record(recorded: &RecordedArtifact) -> String {
    format!("on record: {} (log line {})", recorded.document.id, recorded.line + 1)
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
fn tell(opened: &Opened, notes: &[String]) {
    notes.iter().for_each(|note| say(&format!("left out: {note}")));
    if opened.genesis.commitments == Scheme::Sha256 {
        say(
            "this ledger commits with plain SHA-256: with the file somebody can try what the turns beside this one said",
        );
    }
}

fn write(out: &Path, text: &str) -> Result<u8, String> {
    let failed =
        |e: std::io::Error| format!("{}: {e}; the opening is on record, and no file was written", out.display());
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(out).map_err(failed)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|e| {
        // Half a file opens nothing.
        let _ = std::fs::remove_file(out);
        failed(e)
    })?;
    Ok(FINE)
}

/// Puts on record what is opened, unless it was erased meanwhile; gives the signed tree head over all lines then.
async fn record(opened: &Opened, found: &Found, key: Hash32) -> Result<(Vec<RecordedArtifact>, String), Stop> {
    let now = wire::clock()?;
    let one = |piece: &Piece| -> Result<NewArtifact, Stop> {
        let Opening { commitment, role, seq, session_id, .. } = &piece.opening;
        let content = vec![
            ("by", Field::Hash(key)),
            ("commitment", Field::Hash(*commitment)),
            ("line", Field::Number(piece.line + 1)),
            ("role", Field::Word(role.name().to_owned())),
            ("seq", seq.map_or(Field::Null, Field::Number)),
            ("session_id", Field::Word(session_id.clone())),
        ];
        let id = ArtifactId::Next { prefix: KIND };
        Ok(NewArtifact { kind: KIND, id, content, session: None, salt: fresh_salt()?, now })
    };
    let new = found.pieces.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let places: Vec<_> = found.pieces.iter().map(|piece| (piece.exchange, piece.line)).collect();
    let allowed = move |store: &dyn Read| -> Result<Option<String>, RecorderError> {
        for (exchange, line) in &places {
            let here = match exchange {
                Some(id) => store.exchange(*id)?.is_some_and(|row| row.salt.is_some()),
                None => store.artifacts()?.iter().any(|row| row.line == *line && row.salt.is_some()),
            };
            if !here {
                return Ok(Some("it was erased just now; nothing is opened".to_owned()));
            }
        }
        Ok(None)
    };
    Ok(opened.recorder.artifacts_with_head(new, allowed).await?)
}

/// The turns of a session, each number and each role once.
fn find_turns(opened: &Opened, args: &OpenArgs) -> Result<Found, Stop> {
    let Some(session) = &args.session else { return because("name a session and a number") };
    let numbers: BTreeSet<u64> = args.seq.iter().copied().collect();
    let mut roles: BTreeSet<TurnRole> = args.role.iter().copied().collect();
    if roles.is_empty() {
        roles.insert(TurnRole::Response);
    }
    let mut found = Found { pieces: Vec::new(), session: None };
    for seq in numbers {
        let row = find::exchange(&opened.store, &format!("{session}/{seq}"))?;
        let around = opened.store.sessions_like(&row.session.to_string(), 1)?.pop();
        let Some(around) = around else { return because("the session of this turn is not in the database") };
        for role in &roles {
            found.pieces.push(find_turn(opened, &around, &row, *role)?);
        }
        found.session = Some(around);
    }
    // Numbers are in the order of prompts, and a later prompt may have been answered first.
    found.pieces.sort_by_key(|piece| piece.line);
    Ok(found)
}

fn find_turn(opened: &Opened, around: &SessionRow, row: &ExchangeRow, asked: TurnRole) -> Result<Piece, Stop> {
    let (store, seq) = (&opened.store, row.seq);
    let (role, commitment, line) = place(row, asked, seq)?;
    let Some(salt) = &row.salt else { return because(erased(store, row)?) };
    let scheme = opened.genesis.commitments;
    let text = match asked {
        TurnRole::Prompt => store.turn(row.turn_user)?.and_then(|turn| turn.content),
        TurnRole::Response => {
            let turn = row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
            turn.map(|id| store.turn(id)).transpose()?.flatten().and_then(|turn| turn.content)
        }
        TurnRole::Exchange => match exchange_document(store, scheme, around, row)? {
            Ok(document) => Some(document),
            Err(why) => return because(format!("the exchange document can't be put together again: {why}")),
        },
    };
    let Some(text) = text else { return because(erased(store, row)?) };
    let Some(opening) = opening(scheme, salt, role, commitment, text, (Some(seq), around.id.to_string())) else {
        return because(match asked {
            TurnRole::Response => {
                "the answer was stored without its secrets, and the commitment is over the answer as it came: nothing \
                 here opens it. --role prompt and --role exchange can be opened"
            }
            TurnRole::Exchange => {
                "the exchange document does not give its commitment: something that stood before the model is erased, \
                 or a row was changed (gently audit verify)"
            }
            TurnRole::Prompt => "the stored prompt does not give its commitment: it was changed (gently audit verify)",
        });
    };
    let outcome = row.outcome.as_ref().map(|outcome| outcome.outcome_line);
    Ok(Piece { opening, line, outcome, exchange: Some(row.exchange_id) })
}

/// Commitment and line of a role; answered turns have all roles in one line.
fn place(row: &ExchangeRow, asked: TurnRole, seq: u64) -> Result<(Role, Hash32, u64), Stop> {
    let outcome = row.outcome.as_ref();
    let answered = outcome.filter(|outcome| outcome.outcome == Outcome::Answered);
    match (asked, outcome) {
        (TurnRole::Prompt, _) => {
            Ok((Role::Prompt, row.prompt_commitment, answered.map_or(row.prompt_line, |outcome| outcome.outcome_line)))
        }
        (TurnRole::Exchange, Some(outcome)) => Ok((Role::Exchange, outcome.exchange_commitment, outcome.outcome_line)),
        (TurnRole::Response, Some(outcome)) => match outcome.response_commitment {
            Some(commitment) => Ok((Role::Response, commitment, outcome.outcome_line)),
            None => because(format!(
                "prompt {seq} has no answer: it is {} ({}). Open --role prompt or --role exchange",
                outcome.outcome.name(),
                outcome.reason.as_deref().unwrap_or("no reason")
            )),
        },
        (_, None) => because(format!("prompt {seq} has no outcome yet; only --role prompt can be opened")),
    }
}

fn erased(store: &Sqlite, row: &ExchangeRow) -> Result<String, Stop> {
    let id = row.exchange_id.to_string();
    let Some((line, stone)) = tombstone_of(store, &id)? else {
        if row.unkept.is_some() {
            return Ok(
                "its text was not kept (store.content was \"none\"): what is on record is a commitment to it, and \
                       nothing here opens that"
                    .to_owned(),
            );
        }
        return Ok("its text is not here any more, and no tombstone says why: gently audit verify".to_owned());
    };
    let at = store.lines(line, line + 1)?.pop().and_then(|line| Line::parse(line.as_bytes()).ok());
    let at = at.map_or_else(String::new, |line| format!(" at {}", line.time));
    Ok(format!("it was erased{at} ({}): nobody can open it any more", stone.reason))
}

/// Artifacts of one session, or all of none.
fn find_artifacts(opened: &Opened, args: &OpenArgs) -> Result<Found, Stop> {
    if args.line.is_some() && args.artifact.len() > 1 {
        return because("--line says which line of one artifact is meant; open this one alone");
    }
    let mut pieces = Vec::new();
    for id in &args.artifact {
        pieces.push(find_artifact(opened, id, args.line)?);
    }
    pieces.sort_by_key(|piece| piece.line);
    pieces.dedup_by_key(|piece| piece.line);
    let named: BTreeSet<&str> = pieces.iter().map(|piece| piece.opening.session_id.as_str()).collect();
    let session = match named.into_iter().collect::<Vec<_>>().as_slice() {
        [] | ["-"] => None,
        [id] => opened.store.session(id.parse().map_err(broken)?)?,
        _ => return because("these artifacts are of several sessions, and a file is of one; open them apart"),
    };
    Ok(Found { pieces, session })
}

fn find_artifact(opened: &Opened, id: &str, line: Option<u64>) -> Result<Piece, Stop> {
    let rows = opened.store.artifacts_called(id)?;
    let rows: Vec<ArtifactRow> = rows.into_iter().filter(|row| line.is_none_or(|line| line == row.line + 1)).collect();
    let row = match rows.as_slice() {
        [row] => row,
        [] => return because(format!("no artifact '{id}' is on record there; gently log shows artifact lines")),
        several => {
            let listed: Vec<String> = several.iter().map(|row| format!("{} ({})", row.line + 1, row.kind)).collect();
            return because(format!("'{id}' has several lines; say which with --line: {}", listed.join(", ")));
        }
    };
    let (Some(document), Some(salt)) = (&row.document, &row.salt) else {
        if opened.store.tombstone_of(id)?.is_none() {
            return because(format!(
                "the text of '{id}' is not here: it was not kept, and nothing here opens its commitment"
            ));
        }
        return because(format!("'{id}' was erased: nobody can open it any more"));
    };
    let text = opened.store.lines(row.line, row.line + 1)?.pop();
    let parsed = text.and_then(|text| Line::parse(text.as_bytes()).ok());
    let Some(parsed) = parsed else { return because(format!("log line {} can't be read", row.line + 1)) };
    let named = parsed.session.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let scheme = opened.genesis.commitments;
    let opening = opening(scheme, salt, Role::Artifact, row.commitment, document.clone(), (None, named));
    let Some(opening) = opening else {
        return because(format!("'{id}' does not give its commitment: it was changed (gently audit verify)"));
    };
    Ok(Piece { opening, line: row.line, outcome: None, exchange: None })
}

/// The opening, if the text gives the commitment.
fn opening(
    scheme: Scheme,
    salt: &Salt,
    role: Role,
    commitment: Hash32,
    text: String,
    (seq, session_id): (Option<u64>, String),
) -> Option<Opening> {
    let key = (scheme == Scheme::HmacSha256).then(|| opening_key(salt, role));
    let opens = commit(scheme, salt, role, text.as_bytes()) == commitment;
    opens.then_some(Opening { commitment, format: Format, key, role, seq, session_id, text })
}
