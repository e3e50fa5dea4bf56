//! `gently action`: actuation intents on record. They are shown; there is nothing that carries them
//! out.

use serde_json::{Value, json};

use crate::ask::withheld::{WITHHELD, Withheld};
use crate::record::canon;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::log::entry::Line;
use crate::recorder::{ACTION, AWAITING, Action, REPLY};
use crate::store::{ArtifactFilter, ArtifactRow, Store, StoreError};

use super::args::ActionCommand;
use super::screen::{beginning, quiet};
use super::{could_not, print, say};
use crate::app::open;
use crate::app::open::OpenHomeError;

/// How much of an intent stands in the list.
const EXCERPT: usize = 80;

/// Runs one of the verbs.
pub fn run(command: &ActionCommand, json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    let rows = store.artifacts(ArtifactFilter::Kind(ACTION))?;
    match command {
        ActionCommand::List => list(&store, &rows, json),
        ActionCommand::Show { id, withheld } => match rows.iter().find(|row| row.id == *id) {
            Some(row) => show(
                &ActionIntent::of(&store, &Withheld::of(&store), row)?.uncovered(*withheld),
                json,
            ),
            None => Ok(could_not(
                &format!("no intent is called '{}': gently action list", quiet(id)),
                json,
            )),
        },
    }
}

/// An intent as it is on record.
struct ActionIntent {
    id: String,
    line: u64,
    at: Option<String>,
    session: Option<String>,
    /// None once erased.
    content: Option<Value>,
    /// It quotes an answer that is withheld.
    covered: bool,
}

impl ActionIntent {
    fn of(
        store: &Store,
        gate: &Withheld<'_>,
        row: &ArtifactRow,
    ) -> Result<ActionIntent, StoreError> {
        let line = store.lines(row.line, row.line + 1)?;
        let line = line
            .first()
            .and_then(|line| Line::parse(line.as_bytes()).ok());
        let document = row
            .document
            .as_ref()
            .and_then(|text| canon::parse::<ArtifactDoc>(text.as_bytes()).ok());
        let covered = document
            .as_ref()
            .map_or(Ok(false), |document| gate.is_quoted_in(&document.content))?;
        Ok(ActionIntent {
            covered,
            id: row.id.clone(),
            line: row.line + 1,
            at: line.as_ref().map(|line| line.time.to_string()),
            session: line.and_then(|line| line.session).map(|id| id.to_string()),
            content: document.map(|document| document.content),
        })
    }

    /// Itself, for somebody who asked for what is withheld.
    fn uncovered(mut self, by_name: bool) -> ActionIntent {
        self.covered &= !by_name;
        self
    }

    /// What was said.
    fn what(&self) -> &str {
        if self.covered {
            WITHHELD
        } else {
            self.word("what")
        }
    }

    fn word(&self, key: &str) -> &str {
        let Some(content) = &self.content else {
            return "erased";
        };
        content[key].as_str().unwrap_or("not kept")
    }

    fn facts(&self) -> Value {
        let of = |key: &str| {
            self.content
                .as_ref()
                .map_or(Value::Null, |content| content[key].clone())
        };
        json!({
            "id": self.id, "state": of("state"), "class": of("class"), "source": of("source"),
            "what": if self.covered { Value::Null } else { of("what") }, "withheld": self.covered,
            "exchange": of("exchange"), "seq": of("seq"), "more_in_text": of("more_in_text"), "session": self.session,
            "recorded_at": self.at, "log_line": self.line, "erased": self.content.is_none(),
            "kept": self.content.as_ref().is_some_and(|content| content["what"].is_string()),
        })
    }
}

fn list(store: &Store, rows: &[ArtifactRow], json: bool) -> Result<u8, OpenHomeError> {
    let gate = Withheld::of(store);
    let intents: Vec<ActionIntent> = rows
        .iter()
        .map(|row| ActionIntent::of(store, &gate, row))
        .collect::<Result<_, _>>()?;
    if json {
        return Ok(print(&format!(
            "{}\n",
            Value::Array(intents.iter().map(ActionIntent::facts).collect())
        )));
    }
    if intents.is_empty() {
        say("nobody asked to have anything done");
    }
    let line = |intent: &ActionIntent| {
        format!(
            "{}  {}  {}  {:13}  {:6}  {}\n",
            intent.id,
            intent.at.as_deref().unwrap_or("unknown time"),
            intent.word("state"),
            intent.word("class"),
            intent.word("source"),
            beginning(intent.what(), EXCERPT)
        )
    };
    Ok(print(&intents.iter().map(line).collect::<String>()))
}

fn show(intent: &ActionIntent, json: bool) -> Result<u8, OpenHomeError> {
    if json {
        return Ok(print(&format!("{}\n", intent.facts())));
    }
    let lines = [
        ("state", intent.word("state").to_owned()),
        ("what", quiet(intent.what())),
        ("class", intent.word("class").to_owned()),
        ("said by", intent.word("source").to_owned()),
        ("exchange", intent.word("exchange").to_owned()),
        (
            "recorded",
            intent
                .at
                .clone()
                .unwrap_or_else(|| "unknown time".to_owned()),
        ),
        ("log line", intent.line.to_string()),
    ];
    let text: String = lines
        .iter()
        .map(|(name, value)| format!("    {name:10}{value}\n"))
        .collect();
    Ok(print(&format!("{}\n{text}", intent.id)))
}

/// What a person is told when an intent was recorded with a turn; `withheld` when its answer is.
pub fn line_of(action: &Action, withheld: bool) -> String {
    let what = if withheld && action.source == REPLY {
        WITHHELD
    } else {
        &action.what
    };
    format!(
        "{} on record, {AWAITING}, done by nobody: {}",
        action.id,
        quiet(what)
    )
}
