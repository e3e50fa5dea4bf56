//! Listing what is on record for continuity.

use serde_json::{Value, json};

use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::cli::screen::quiet;
use crate::cli::{could_not, print, say};
use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::store::Store;

/// No screen holds more.
const MOST: u32 = 1000;

/// `gently fact list` and its like.
pub fn run(kind: ItemKind, all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    let open = |state: &ItemState| all || state.in_force() || *state == ItemState::Proposed;
    let states: Vec<ItemState> = ItemState::ALL.into_iter().filter(open).collect();
    let mut rows = store.items_of(&[kind], &states, MOST + 1)?;
    let more = rows.len() > usize::try_from(MOST).unwrap_or(usize::MAX);
    rows.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
    rows.reverse();
    if more {
        say(&format!("only the newest {MOST} are listed"));
    }
    let not_kept = say_unkept(&store, kind)?;
    if json {
        let list = rows
            .iter()
            .map(|(item, text)| facts(item, text.as_deref()))
            .collect();
        return Ok(print(&format!("{}\n", Value::Array(list))));
    }
    if rows.is_empty() && not_kept == 0 {
        say(&format!("no {} is on record", kind.name()));
    }
    Ok(print(
        &rows
            .iter()
            .map(|(item, text)| line(item, text.as_deref()) + "\n")
            .collect::<String>(),
    ))
}

/// Says how many are on record whose text was never kept.
fn say_unkept(store: &Store, kind: ItemKind) -> Result<u64, OpenHomeError> {
    let name = kind.name();
    let not_kept = store.not_kept(name)?;
    match not_kept {
        0 => {}
        1 => say(&format!(
            "1 {name} is on record by its commitment only: its text was not kept"
        )),
        n => say(&format!(
            "{n} {name}s are on record by their commitments only: their texts were not kept"
        )),
    }
    Ok(not_kept)
}

/// `gently intent show`.
pub fn intent(json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    let Some((item, text)) = store
        .items_of(&[ItemKind::Intent], &[ItemState::Declared], 1)?
        .pop()
    else {
        say_unkept(&store, ItemKind::Intent)?;
        return Ok(could_not(
            "no intent is declared: gently intent set \"…\"",
            json,
        ));
    };
    if json {
        return Ok(print(&format!("{}\n", facts(&item, text.as_deref()))));
    }
    Ok(print(&format!("{}\n", line(&item, text.as_deref()))))
}

/// An item as people read it: its id, where it stands, what it says, what it is about, where it is
/// from.
pub fn line(item: &Item, text: Option<&str>) -> String {
    let mut line = format!(
        "{}  {:10}  {}",
        item.id,
        item.state.name(),
        quiet(text.unwrap_or("(erased)"))
    );
    let mut more = Vec::new();
    more.extend(
        item.subject
            .as_deref()
            .map(|subject| format!("on '{}'", quiet(subject))),
    );
    more.extend(
        item.confidence
            .as_deref()
            .map(|sure| format!("{} confidence", quiet(sure))),
    );
    more.extend(
        item.source
            .as_deref()
            .map(|source| format!("from {}", quiet(source))),
    );
    more.extend(item.observed_at.map(|at| format!("observed {at}")));
    more.extend(
        item.tier
            .filter(|tier| *tier > 1)
            .map(|tier| format!("from tier {tier} on")),
    );
    if !more.is_empty() {
        line.push_str(&format!("  ({})", more.join(", ")));
    }
    line
}

/// The same and more as JSON.
pub fn facts(item: &Item, text: Option<&str>) -> Value {
    json!({
        "id": item.id, "kind": item.kind.name(), "state": item.state.name(), "text": text, "subject": item.subject,
        "source": item.source, "observed_at": item.observed_at.map(|at| at.to_string()),
        "confidence": item.confidence, "phase": item.phase, "tier": item.tier,
        "session": item.session.map(|id| id.to_string()), "hash": item.hash.to_string(),
        "log_line": item.line + 1, "state_log_line": item.state_line + 1,
    })
}
