//! `gently drift`: what the validator found, what became of it, and a kernel tried on replies.

mod bundle;
mod trial;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::govern::sanitize::redact;
use crate::keys::os_random;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::time::Seconds;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact};
use crate::store::{DriftState, ExchangeRow, ReadStore, SessionRow, Store};

use super::screen::quiet;
use super::{print, say};
use crate::app::find;
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};

/// Events of one list, unless another number is asked for.
const USUAL: u32 = 1000;

/// `gently drift`.
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
    },
    /// Show one drift event with every field, and who looked at it
    Show {
        /// `driftwatch:0042`, 42, or the first digits of its id
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
    /// `driftwatch:0042`, 42, or the first digits of an id
    #[arg(required = true)]
    pub events: Vec<String>,
    /// Why; on record, secrets removed
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// A later state of a drift event: the kind of its artifact, and its word.
#[derive(Clone, Copy)]
struct DriftTransition {
    kind: &'static str,
    word: &'static str,
}

const ACK: DriftTransition = DriftTransition {
    kind: "drift_ack",
    word: "acked",
};
const CLOSE: DriftTransition = DriftTransition {
    kind: "drift_close",
    word: "closed",
};

/// Runs the command.
pub async fn run(command: DriftCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        DriftCommand::List {
            all,
            number,
            before,
        } => list(all, number, before.as_deref(), json),
        DriftCommand::Show { event } => show(&event, json),
        DriftCommand::Ack(stated) => step(&stated, ACK, json).await,
        DriftCommand::Close(stated) => step(&stated, CLOSE, json).await,
        DriftCommand::Test { jsonl: _, kernel } => Ok(trial::run(kernel.as_deref(), json)),
    }
}

/// An event with the exchange and session that it belongs to.
struct DriftDetails {
    state: DriftState,
    exchange: Option<ExchangeRow>,
    session: Option<SessionRow>,
}

impl DriftDetails {
    fn of(store: &ReadStore, state: DriftState) -> Result<DriftDetails, OpenHomeError> {
        let exchange = store.exchange(state.event.exchange)?;
        let session = exchange
            .as_ref()
            .map(|row| store.sessions_like(&row.session.to_string(), 1))
            .transpose()?;
        Ok(DriftDetails {
            state,
            exchange,
            session: session.and_then(|mut found| found.pop()),
        })
    }

    /// `8923fa34/interaction-3`, as every command takes it.
    fn place(&self) -> String {
        let turn = self
            .exchange
            .as_ref()
            .map(ExchangeRow::name)
            .unwrap_or_default();
        self.session.as_ref().map_or(turn.clone(), |session| {
            format!("{}/{turn}", session.id.short8())
        })
    }

    fn facts(&self, now: Seconds) -> Value {
        let event = &self.state.event;
        json!({
            "id": self.state.id(), "drift_id": event.drift_id, "kind": "DRIFTWATCH", "state": self.state.state(),
            "class": event.class, "severity": event.severity, "level": self.state.level, "summary": event.summary,
            "exchange": event.exchange.to_string(), "place": self.place(),
            "prompt_hash": event.prompt_hash.to_string(), "response_hash": event.response_hash.to_string(),
            "created_at": event.created_at.to_string(), "age_s": now.since(event.created_at),
        })
    }
}

fn list(all: bool, number: u32, before: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let store = Store::open_read_only(&home.paths().database())?;
    store.begin_read()?;
    let before = before
        .map(|id| find::drift(&store, id))
        .transpose()?
        .map(|state| state.number);
    let (mut states, older) = store.drift_states(!all, before, number)?;
    states.reverse();
    let placed = states
        .into_iter()
        .map(|state| DriftDetails::of(&store, state))
        .collect::<Result<Vec<_>, _>>()?;
    let now = open::clock()?;
    if let Some(first) = placed.first().filter(|_| older > 0) {
        let flags = if all { " --all" } else { "" };
        let next = format!(
            "{} drift list{flags} --before {}",
            super::program(),
            first.state.id()
        );
        say(&format!("{older} older not listed: {next}"));
    }
    if json {
        let facts: Vec<Value> = placed.iter().map(|event| event.facts(now)).collect();
        return Ok(print(&format!(
            "{}\n",
            json!({ "drift": facts, "older_not_listed": older })
        )));
    }
    if placed.is_empty() {
        say(if all {
            "no drift on record"
        } else {
            "no open drift; closed ones: gently drift list --all"
        });
    }
    Ok(print(
        &placed
            .iter()
            .map(|event| line(event, now))
            .collect::<String>(),
    ))
}

fn line(event: &DriftDetails, now: Seconds) -> String {
    let DriftState { event: row, .. } = &event.state;
    let (id, state) = (event.state.id(), event.state.state());
    let what = format!("{} {}", quiet(&row.class), quiet(&row.summary));
    let (severity, age) = (quiet(&row.severity), age(now.since(row.created_at)));
    format!(
        "{id}  {state:6}  {severity:6}  {what}  {}  {age}\n",
        event.place()
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

fn show(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let store = Store::open_read_only(&home.paths().database())?;
    store.begin_read()?;
    let placed = DriftDetails::of(&store, find::drift(&store, id)?)?;
    let steps = [(ACK, placed.state.acked), (CLOSE, placed.state.closed)];
    let steps: Vec<(DriftTransition, u64)> = steps
        .into_iter()
        .filter_map(|(step, line)| Some((step, line?)))
        .collect();
    let mut said = Vec::new();
    for (step, line) in steps {
        let document = store.artifact_of_line(line)?.and_then(|row| row.document);
        let document: Value = document
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        said.push((step.word, line, document["content"].clone()));
    }
    let mut facts = placed.facts(open::clock()?);
    facts["steps"] = said
        .iter()
        .map(|(word, line, by)| json!({"state": word, "log_line": line + 1, "said": by}))
        .collect();
    if json {
        return Ok(print(&format!("{facts}\n")));
    }
    let mut text = String::new();
    for key in [
        "id", "drift_id", "kind", "state", "class", "severity", "level", "summary", "exchange",
        "place",
    ] {
        text.push_str(&format!(
            "{key:13}  {}\n",
            quiet(facts[key].as_str().unwrap_or("unknown"))
        ));
    }
    for key in ["prompt_hash", "response_hash", "created_at"] {
        text.push_str(&format!(
            "{key:13}  {}\n",
            facts[key].as_str().unwrap_or_default()
        ));
    }
    for (word, line, by) in &said {
        let field = |key: &str| quiet(by[key].as_str().unwrap_or("-"));
        text.push_str(&format!(
            "{word:13}  {} by {} (line {}): {}\n",
            field("at"),
            field("by"),
            line + 1,
            field("reason")
        ));
    }
    Ok(print(&text))
}

async fn step(
    stated: &DriftStatement,
    step: DriftTransition,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(open::existing_home()?)?;
    let key = opened.authorize().await?;
    let states = stated
        .events
        .iter()
        .map(|id| find::drift(&opened.store, id))
        .collect::<Result<Vec<_>, _>>()?;
    let mut done = Vec::new();
    for state in states {
        let new = artifact(&state, step, key, stated.reason.as_deref(), &opened.store)?;
        let (id, name, kind) = (state.event.drift_id.clone(), state.id(), step.kind);
        let allowed = move |store: &ReadStore| {
            let known = |kind: &str| store.has_artifact(kind, &id);
            // What is closed is not looked at again; a state is told once.
            let closed = known(CLOSE.kind)?;
            let again = closed || known(kind)?;
            let is = if closed { CLOSE.word } else { step.word };
            Ok(again.then(|| format!("{name} is {is} already; gently drift show {name}")))
        };
        opened.recorder.artifact(new, allowed).await?;
        done.push(state.id());
    }
    if json {
        return Ok(print(&format!(
            "{}\n",
            json!({ "state": step.word, "drift": done })
        )));
    }
    Ok(print(
        &done
            .iter()
            .map(|id| format!("{id} {}\n", step.word))
            .collect::<String>(),
    ))
}

/// What is recorded: which event, by whose key, when and why. The artifact has the event's own id.
fn artifact(
    state: &DriftState,
    step: DriftTransition,
    key: Hash32,
    reason: Option<&str>,
    store: &ReadStore,
) -> Result<NewArtifact, OpenHomeError> {
    let mut salt = [0; 32];
    os_random(&mut salt)?;
    let name = store
        .auth_keys()?
        .into_iter()
        .find(|row| row.hash == key)
        .map(|row| row.name);
    let now = open::clock()?;
    Ok(NewArtifact {
        kind: step.kind,
        id: ArtifactId::Of(state.event.drift_id.clone()),
        content: vec![
            ("at", ArtifactField::Time(now)),
            ("auth_key_hash", ArtifactField::Hash(key)),
            (
                "by",
                name.map_or(ArtifactField::Null, |name| {
                    ArtifactField::Text(redact(&name).clean)
                }),
            ),
            ("driftwatch", ArtifactField::Word(state.id())),
            (
                "exchange",
                ArtifactField::Word(state.event.exchange.to_string()),
            ),
            (
                "reason",
                reason.map_or(ArtifactField::Null, |text| {
                    ArtifactField::Text(redact(text).clean)
                }),
            ),
        ],
        session: None,
        salt: Salt::new(salt),
        now,
    })
}
