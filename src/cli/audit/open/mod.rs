//! `gently audit open`: one text with all that somebody without the ledger needs to check it, in one file.
//!
//! That it was opened is on record before the file is written: an `artifact` line of kind `opening`. Exit codes: 0
//! written; 2 there is nothing to open, or it can't be opened any more; 3 not recorded, so nothing was written.

mod evidence;
mod fit;
mod head;
mod notes;
mod stamp;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::ask::withheld::{WITHHELD, Withheld};
use crate::ledger::read::Repository;
use crate::record::canon;
use crate::record::commitment::{Opening, Role, Salt, Scheme, commit, opening_key};
use crate::record::documents::Format;
use crate::record::entry::Line;
use crate::record::exchange::ArtifactDoc;
use crate::record::hash::Hash32;
use crate::record::opening::{MAX_AROUND, OpeningFile};
use crate::recorder::{ACTION, ArtifactId, Field, NewArtifact, RecorderError, tombstone_of};
use crate::store::sqlite::Sqlite;
use crate::store::{ArtifactRow, ExchangeRow, Find, Outcome, Read, SessionRow};
use crate::verify::exchange_document;

use super::super::action::quotes_withheld;
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
    /// The prompt's number in it
    pub seq: Option<u64>,
    /// Which text of the turn
    #[arg(long, value_enum, default_value = "response")]
    pub role: TurnRole,
    /// An artifact instead of a turn: its id, such as ledger:000183
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "seq", "role"])]
    pub artifact: Option<String>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TurnRole {
    /// What was asked, as it was sent
    Prompt,
    /// The answer
    Response,
    /// The exchange document: how the turn came about, without its texts
    Exchange,
}

/// What is opened, and where its line is.
struct Found {
    opening: Opening,
    /// Number of the line, from 0.
    line: u64,
    session: Option<SessionRow>,
    exchange: Option<ExchangeRow>,
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
    let found = match &args.artifact {
        Some(id) => find_artifact(&opened, id, args)?,
        None => find_turn(&opened, args)?,
    };
    let (store, repository) = (&opened.store, Repository::open(&opened.home.paths().ledger()).map_err(broken)?);
    let published = head::published(store, &repository, found.line)?;
    let (recorded, signed) = record(&opened, &found, key, published.is_none()).await?;
    let head = match (published, signed) {
        (Some(head), _) => head,
        (None, Some(text)) => head::on_demand(store, text)?,
        (None, None) => return because("no tree head covers the line"),
    };
    let folder = opened.home.root().join("headers");
    let witnesses = &opened.config.witness;
    let keys = witnesses.named.values().map(|witness| witness.key.clone()).collect();
    let believed = fit::Believed { keys, quorum: witnesses.quorum };
    let (file, notes) = evidence::assemble(store, &repository, &folder, &found, (&head, &believed))?;
    let text = file.print().map_err(|e| Stop::Because(e.to_string()))?;
    let code = match &args.out {
        None => print(&text),
        Some(out) => write(out, &text).map_err(Stop::Because)?,
    };
    tell(&opened, &file, &notes);
    let said = format!("on record: {} (log line {})", recorded.document.id, recorded.line + 1);
    match &args.out {
        Some(out) if json => {
            let facts = json!({
                "file": out.display().to_string(), "bytes": text.len(), "bytes_without_text": file.around().ok(),
                "sha256": Hash32::digest(text.as_bytes()).to_string(), "opening": recorded.document.id,
                "log_line": recorded.line + 1, "session": file.opening.session_id, "seq": file.opening.seq,
                "role": file.opening.role.name(), "left_out": notes,
            });
            Ok(code.max(print(&format!("{facts}\n"))))
        }
        Some(out) => {
            say(&said);
            let checked = format!("{} audit check {}", program(), out.display());
            Ok(code.max(print(&format!("{}: {} bytes; check it with: {checked}\n", out.display(), text.len()))))
        }
        None => {
            say(&said);
            Ok(code)
        }
    }
}

fn broken(error: impl std::fmt::Display) -> Stop {
    Stop::Because(format!("{error}; look with: gently audit verify"))
}

/// What whoever hands the file on should know of it.
fn tell(opened: &Opened, file: &OpeningFile, notes: &[String]) {
    notes.iter().for_each(|note| say(&format!("left out: {note}")));
    if file.around().is_ok_and(|around| around > MAX_AROUND) {
        say(&format!("around the text the file has more than {MAX_AROUND} bytes: names in it are long"));
    }
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

/// Puts on record what is opened, unless it was erased meanwhile; with a tree head when none covers the line yet.
async fn record(
    opened: &Opened,
    found: &Found,
    key: Hash32,
    signed: bool,
) -> Result<(crate::recorder::RecordedArtifact, Option<String>), Stop> {
    let Opening { commitment, role, seq, session_id, .. } = &found.opening;
    let content = vec![
        ("by", Field::Hash(key)),
        ("commitment", Field::Hash(*commitment)),
        ("line", Field::Number(found.line + 1)),
        ("role", Field::Word(role.name().to_owned())),
        ("seq", seq.map_or(Field::Null, Field::Number)),
        ("session_id", Field::Word(session_id.clone())),
    ];
    let (id, salt, now) = (ArtifactId::Next { prefix: KIND }, fresh_salt()?, wire::clock()?);
    let new = NewArtifact { kind: KIND, id, content, session: None, salt, now };
    let (exchange, line) = (found.exchange.as_ref().map(|row| row.exchange_id), found.line);
    let allowed = move |store: &dyn Read| -> Result<Option<String>, RecorderError> {
        let here = match exchange {
            Some(id) => store.exchange(id)?.is_some_and(|row| row.salt.is_some()),
            None => store.artifacts()?.iter().any(|row| row.line == line && row.salt.is_some()),
        };
        Ok((!here).then(|| "it was erased just now; nothing is opened".to_owned()))
    };
    Ok(opened.recorder.artifact_with_head(new, signed, allowed).await?)
}

fn find_turn(opened: &Opened, args: &OpenArgs) -> Result<Found, Stop> {
    let (Some(session), Some(seq)) = (&args.session, args.seq) else { return because("name a session and a number") };
    let store = &opened.store;
    let row = find::exchange(store, &format!("{session}/{seq}"))?;
    let around = store.sessions_like(&row.session.to_string(), 1)?.pop();
    let Some(around) = around else { return because("the session of this turn is not in the database") };
    let (role, commitment, line) = place(&row, args.role, seq)?;
    if role == Role::Response && !args.withheld && Withheld::of(store).answer_of(&row)? {
        return because(format!("the answer is {WITHHELD}; --withheld opens it all the same"));
    }
    let Some(salt) = &row.salt else { return because(erased(store, &row)?) };
    let scheme = opened.genesis.commitments;
    let text = match args.role {
        TurnRole::Prompt => store.turn(row.turn_user)?.and_then(|turn| turn.content),
        TurnRole::Response => {
            let turn = row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
            turn.map(|id| store.turn(id)).transpose()?.flatten().and_then(|turn| turn.content)
        }
        TurnRole::Exchange => match exchange_document(store, scheme, &around, &row)? {
            Ok(document) => Some(document),
            Err(why) => return because(format!("the exchange document can't be put together again: {why}")),
        },
    };
    let Some(text) = text else { return because(erased(store, &row)?) };
    let Some(opening) = opening(scheme, salt, role, commitment, text, (Some(seq), around.id.to_string())) else {
        return because(match args.role {
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
    Ok(Found { opening, line, session: Some(around), exchange: Some(row) })
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

fn find_artifact(opened: &Opened, id: &str, args: &OpenArgs) -> Result<Found, Stop> {
    let line = args.line;
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
    let quoted = canon::parse::<ArtifactDoc>(document.as_bytes()).ok().filter(|_| row.kind == ACTION && !args.withheld);
    if let Some(quoted) = quoted
        && quotes_withheld(&Withheld::of(&opened.store), &quoted.content)?
    {
        return because(format!("'{id}' quotes an answer that is {WITHHELD}; --withheld opens it all the same"));
    }
    let text = opened.store.lines(row.line, row.line + 1)?.pop();
    let parsed = text.and_then(|text| Line::parse(text.as_bytes()).ok());
    let Some(parsed) = parsed else { return because(format!("log line {} can't be read", row.line + 1)) };
    let session = parsed.session.map(|id| opened.store.session(id)).transpose()?.flatten();
    let named = parsed.session.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let scheme = opened.genesis.commitments;
    let opening = opening(scheme, salt, Role::Artifact, row.commitment, document.clone(), (None, named));
    let Some(opening) = opening else {
        return because(format!("'{id}' does not give its commitment: it was changed (gently audit verify)"));
    };
    Ok(Found { opening, line: row.line, session, exchange: None })
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
