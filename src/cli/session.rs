//! `gently session`: open, close, list; and `gently audit clock-set`.

use serde_json::{Value, json};

use crate::record::bitcoin::block::Block;
use crate::session;
use crate::store::sqlite::Sqlite;
use crate::store::{ExchangeOutcome, ExchangeRow, Find, ReadStore, SessionRow};

use super::args::SessionCommand;
use super::choose::{self, CallArgs};
use super::wire::{self, OpenHome, OpenHomeError};
use super::{FINE, Notices, could_not, find, heads, init, print, say};

/// Runs one of the verbs.
pub async fn run(command: SessionCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        SessionCommand::Open { model } => open(model, json).await,
        SessionCommand::Close { session } => close(session, json).await,
        SessionCommand::List { open } => list(open, json),
        SessionCommand::Summary { session } => super::summary::run(&session, json),
        SessionCommand::Show { session } => super::show::session::run(&session, json),
    }
}

async fn open(model: Option<String>, json: bool) -> Result<u8, OpenHomeError> {
    let (home, made) = wire::home_or_new()?;
    let opened = OpenHome::open(home)?;
    let told = Notices::default();
    if made {
        init::welcome(&opened.home, &opened.config, &told);
    }
    let key = opened.authorize().await?;
    let none = CallArgs::default();
    let chosen = choose::choose(
        model.as_deref(),
        &none,
        &opened.config,
        &opened.home.paths().database(),
    )
    .await?;
    chosen.notes.iter().for_each(|note| told.say(note));
    let say_on = |line: &str| told.say(line);
    let environment = opened.environment(chosen.model.id(), &say_on);
    let row = session::open(&environment, key).await?;
    if json {
        return Ok(print(&format!("{}\n", facts(&row))));
    }
    Ok(print(&format!("{}\n", line(&row))))
}

async fn close(prefix: Option<String>, json: bool) -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(wire::existing_home()?)?;
    opened.authorize().await?;
    let chosen = match choose(
        &opened.store,
        opened.store.open_sessions()?,
        prefix.as_deref(),
    ) {
        Ok(chosen) => chosen,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let told = Notices::default();
    let say_once = |line: &str| told.say(line);
    let environment = opened.environment("", &say_once);
    let before = heads::main_tip(&opened)?;
    let mut closed = Vec::new();
    for row in chosen {
        let done = session::close(&environment, row.id).await?;
        if json {
            let mut facts = facts(&done.session);
            facts["close_hash"] = json!(done.close_hash.to_string());
            facts["commit"] = json!(done.commit.to_string());
            closed.push(facts);
        } else {
            print(&format!("{}\n", line(&done.session)));
        }
    }
    let outside = heads::after(&opened, before, &told).await;
    if let Some(last) = closed.last_mut() {
        if !outside.ots.is_null() {
            last["ots"] = outside.ots;
        }
        // One tree head for all that were closed: the newest.
        last["witnesses"] = outside.witnesses;
    }
    Ok(if json {
        print(&format!("{}\n", Value::Array(closed)))
    } else {
        FINE
    })
}

/// The open sessions that an id means; all of them without one.
///
/// Open ones go first: a prefix that is theirs alone is theirs, whatever closed ones begin with it.
fn choose(
    store: &dyn Find,
    open: Vec<SessionRow>,
    prefix: Option<&str>,
) -> Result<Vec<SessionRow>, String> {
    let Some(prefix) = prefix else {
        return if open.is_empty() {
            Err("no session is open".to_owned())
        } else {
            Ok(open)
        };
    };
    let names = |rows: &[SessionRow]| {
        rows.iter()
            .map(|s| s.id.short16())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let fits: Vec<SessionRow> = open
        .iter()
        .filter(|s| s.id.to_string().starts_with(prefix))
        .cloned()
        .collect();
    match fits.len() {
        1 => Ok(fits),
        0 if open.is_empty() => Err("no session is open".to_owned()),
        0 => match find::session(store, prefix) {
            Ok(row) if row.ended_at.is_none() => Ok(vec![row]),
            Ok(row) => Err(format!(
                "session {} is closed; open are: {}",
                row.id.short16(),
                names(&open)
            )),
            Err(error) => Err(format!("{error}; open are: {}", names(&open))),
        },
        _ => Err(format!(
            "'{prefix}' could be any of: {}; give more digits",
            names(&fits)
        )),
    }
}

fn list(only_open: bool, json: bool) -> Result<u8, OpenHomeError> {
    let home = wire::existing_home()?;
    let store = Sqlite::open_read_only(&home.paths().database())?;
    let mut rows = Vec::new();
    store.each_session(&mut |row| {
        if !only_open || row.ended_at.is_none() {
            rows.push(row);
        }
        Ok(())
    })?;
    let mut starts = Vec::new();
    for row in &rows {
        starts.push(super::show::session::start_block(&store, row)?);
    }
    let listed = rows.iter().zip(&starts);
    if json {
        let with_start = |(row, start): (&SessionRow, &Option<Block>)| {
            let mut facts = facts(row);
            facts["start_block"] = json!(start);
            facts
        };
        return Ok(print(&format!(
            "{}\n",
            Value::Array(listed.map(with_start).collect())
        )));
    }
    if rows.is_empty() {
        say(if only_open {
            "no session is open"
        } else {
            "no sessions"
        });
    }
    let text = listed.map(|(row, start)| format!("{}\n", line_from(row, start.as_ref())));
    Ok(print(&text.collect::<String>()))
}

fn line(row: &SessionRow) -> String {
    let state = row
        .ended_at
        .map_or("open  ".to_owned(), |_| "closed".to_owned());
    let block = block_name(row);
    format!(
        "{}  {state}  {}  {}  {} of {} answered  {}  {block}",
        row.id.short16(),
        row.started_at,
        row.branch,
        row.interactions,
        row.prompts,
        row.model
    )
}

/// The same with the block that it started under, where it is another than the last.
fn line_from(row: &SessionRow, start: Option<&Block>) -> String {
    let last = &row.anchor.block;
    match start.filter(|start| (start.height, start.hash) != (last.height, last.hash)) {
        Some(start) => line(row).replace(
            &block_name(row),
            &format!("{} to {}", named(start), number(last)),
        ),
        None => line(row),
    }
}

/// `interaction-3` of an answered prompt, else `prompt-3`.
pub fn turn_name(exchange: &ExchangeRow) -> String {
    let answered = exchange
        .outcome
        .as_ref()
        .is_some_and(|outcome| outcome.outcome == ExchangeOutcome::Answered);
    format!(
        "{}-{}",
        if answered { "interaction" } else { "prompt" },
        exchange.seq
    )
}

/// `block 930226`, or `block local` when there is no anchor.
pub fn block_name(row: &SessionRow) -> String {
    named(&row.anchor.block)
}

fn named(block: &Block) -> String {
    format!("block {}", number(block))
}

fn number(block: &Block) -> String {
    if block.is_local() {
        "local".to_owned()
    } else {
        block.height.to_string()
    }
}

/// A session as JSON.
pub fn facts(row: &SessionRow) -> Value {
    json!({
        "session": row.id.to_string(), "session_uuid": row.uuid.to_string(),
        "status": if row.ended_at.is_some() { "closed" } else { "open" },
        "started_at": row.started_at.to_string(), "ended_at": row.ended_at.map(|t| t.to_string()),
        "branch": row.branch, "block": row.anchor.block, "model": row.model, "host_role": row.host_role,
        "phase": row.phase, "tier": row.tier, "kernel_hash": row.kernel_hash.to_string(),
        "prompts": row.prompts, "interactions": row.interactions, "chain_head": row.chain_head.to_string(),
    })
}

/// `gently audit clock-set`.
pub async fn clock_set() -> Result<u8, OpenHomeError> {
    let opened = OpenHome::open(wire::existing_home()?)?;
    opened.authorize().await?;
    let now = wire::clock()?;
    opened.recorder.clock_set(now).await?;
    say(&format!("the log goes on at {now}"));
    Ok(FINE)
}
