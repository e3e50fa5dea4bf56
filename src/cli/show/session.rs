//! `gently session show SESSION`: what it ran under, its exchanges, its blocks, its commits.

use serde_json::{Value, json};

use crate::app::find;
use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::cli::print;
use crate::cli::screen::{beginning, quiet};
use crate::cli::session::{facts, turn_name};
use crate::record::bitcoin::block::Block;
use crate::record::canon;
use crate::record::ledger::documents::{Close, SessionDoc};
use crate::store::sqlite::Sqlite;
use crate::store::{CommitRow, ExchangeRow, Find, SessionRow, StoreError};

/// How much of a prompt stands in the list.
const EXCERPT: usize = 60;

/// What is on record around a session.
struct SessionDetails {
    row: SessionRow,
    start: Option<CommitRow>,
    opened: Option<SessionDoc>,
    end: Option<CommitRow>,
    closed: Option<Close>,
    /// The close on `main`.
    merge: Option<CommitRow>,
    /// With the beginning of its prompt and its interaction's commit.
    exchanges: Vec<(ExchangeRow, String, Option<String>)>,
}

/// Shows one session.
pub fn run(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let store = Sqlite::open_read_only(&home.paths().database())?;
    store.begin_read()?;
    let account = SessionDetails::of(&store, find::session(&store, id)?)?;
    Ok(print(&if json {
        format!("{}\n", account.facts())
    } else {
        account.text()
    }))
}

/// The block that a session started under; none when its start can't be found.
pub fn start_block(store: &dyn Find, row: &SessionRow) -> Result<Option<Block>, StoreError> {
    let first = store
        .exchange_at(row.uuid, 1)?
        .map(|first| first.prompt_line);
    let from = first.map_or_else(|| store.head().map(|head| head.lines), Ok)?;
    let Some(start) = store.start_commit(row, from)? else {
        return Ok(None);
    };
    let document: Option<SessionDoc> =
        file(store, &start, "session.json")?.and_then(|bytes| canon::parse(&bytes).ok());
    Ok(document.map(|document| document.block))
}

impl SessionDetails {
    fn of(store: &dyn Find, row: SessionRow) -> Result<SessionDetails, StoreError> {
        let mut exchanges = Vec::new();
        let mut rows = Vec::new();
        store.each_exchange(Some(row.uuid), &mut |exchange| {
            rows.push(exchange);
            Ok(())
        })?;
        let from = rows
            .first()
            .map_or(store.head()?.lines, |first| first.prompt_line);
        for exchange in rows {
            let prompt = store
                .turn(exchange.turn_user)?
                .and_then(|turn| turn.content);
            let gone = if exchange.not_kept.is_some() {
                "(not kept)"
            } else {
                "(erased)"
            };
            let words = prompt.map_or_else(|| gone.to_owned(), |text| beginning(&text, EXCERPT));
            let line = exchange
                .outcome
                .as_ref()
                .filter(|o| o.chain_entry.is_some())
                .map(|o| o.outcome_line);
            let commit = line.map(|line| store.commits_of_line(line)).transpose()?;
            let commit = commit
                .and_then(|found| found.into_iter().next())
                .map(|commit| commit.id);
            exchanges.push((exchange, words, commit));
        }
        let start = store.start_commit(&row, from)?;
        let end = match (&start, row.ended_at) {
            (Some(start), Some(_)) => store.end_commit(&row, start.n)?,
            _ => None,
        };
        let merge = end
            .as_ref()
            .map(|end| store.commits_of_line(end.line))
            .transpose()?;
        let merge = merge.and_then(|found| {
            found
                .into_iter()
                .find(|commit| Some(commit) != end.as_ref())
        });
        let opened = start
            .as_ref()
            .map(|start| file(store, start, "session.json"))
            .transpose()?
            .flatten();
        let opened = opened.and_then(|bytes| canon::parse(&bytes).ok());
        let closed = end
            .as_ref()
            .map(|end| file(store, end, "close.json"))
            .transpose()?
            .flatten();
        let closed = closed.and_then(|bytes| canon::parse(&bytes).ok());
        Ok(SessionDetails {
            row,
            start,
            opened,
            end,
            closed,
            merge,
            exchanges,
        })
    }

    fn text(&self) -> String {
        let row = &self.row;
        let mut out = format!("session {}\n", row.id);
        let mut line =
            |name: &str, value: String| out.push_str(&format!("    {name:12}  {value}\n"));
        let state = row
            .ended_at
            .map_or_else(|| "open".to_owned(), |at| format!("closed {at}"));
        line("state", format!("opened {} · {state}", row.started_at));
        line("model", quiet(&row.model));
        line(
            "under",
            format!(
                "kernel {} · phase {} · tier {}",
                row.kernel_hash.short16(),
                row.phase,
                row.tier
            ),
        );
        line("host", quiet(&row.host_role));
        line("auth key", row.auth_key_hash.short16());
        line(
            "start block",
            self.opened
                .as_ref()
                .map_or_else(unknown, |doc| block(&doc.block)),
        );
        line("last block", block(&row.anchor.block));
        line("chain head", row.chain_head.to_string());
        line(
            "start commit",
            self.start.as_ref().map_or_else(unknown, commit),
        );
        if row.ended_at.is_some() {
            line(
                "close hash",
                self.closed
                    .as_ref()
                    .map_or_else(unknown, |doc| doc.session_close_hash.to_string()),
            );
            line("end commit", self.end.as_ref().map_or_else(unknown, commit));
            line("on main", self.merge.as_ref().map_or_else(unknown, commit));
        }
        line("uuid", row.uuid.to_string());
        out.push_str(&format!(
            "\n{} prompts, {} answered\n",
            row.prompts, row.interactions
        ));
        for (exchange, words, _) in &self.exchanges {
            let (state, reason) = outcome(exchange);
            let state = reason.map_or_else(
                || state.to_owned(),
                |reason| format!("{state} ({})", quiet(reason)),
            );
            out.push_str(&format!(
                "    {:14}  {}  {state}  {words}\n",
                turn_name(exchange),
                exchange.created_at
            ));
        }
        out
    }

    fn facts(&self) -> Value {
        let mut facts = facts(&self.row);
        facts["auth_key_hash"] = json!(self.row.auth_key_hash.to_string());
        facts["start_block"] = json!(self.opened.as_ref().map(|doc| &doc.block));
        facts["end_block"] = json!(self.closed.as_ref().map(|doc| &doc.block));
        facts["close_hash"] = json!(
            self.closed
                .as_ref()
                .map(|doc| doc.session_close_hash.to_string())
        );
        let id = |commit: &Option<CommitRow>| commit.as_ref().map(|commit| commit.id.clone());
        facts["commits"] =
            json!({"start": id(&self.start), "end": id(&self.end), "close": id(&self.merge)});
        facts["exchanges"] = self
            .exchanges
            .iter()
            .map(|(exchange, words, commit)| {
                let (state, reason) = outcome(exchange);
                json!({
                    "exchange": exchange.exchange_id.to_string(), "name": turn_name(exchange), "seq": exchange.seq,
                    "asked_at": exchange.created_at.to_string(), "outcome": state, "reason": reason,
                    "prompt_begins": words, "commit": commit,
                })
            })
            .collect();
        facts
    }
}

fn outcome(exchange: &ExchangeRow) -> (&'static str, Option<&str>) {
    match &exchange.outcome {
        Some(outcome) => (outcome.outcome.name(), outcome.reason.as_deref()),
        None => ("in flight", None),
    }
}

fn unknown() -> String {
    "not found: gently audit verify".to_owned()
}

fn commit(row: &CommitRow) -> String {
    format!("{} on {}", row.id, row.reference)
}

fn block(block: &Block) -> String {
    if block.is_local() {
        return format!("local ({}): no anchor", block.time);
    }
    format!("{} {}", block.height, block.hash)
}

fn file(store: &dyn Find, commit: &CommitRow, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(store
        .files(commit.tree_of.unwrap_or(commit.n))?
        .remove(name))
}
