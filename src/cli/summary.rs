//! `gently session summary`: facts, theories and decisions of a session, by rule from what is on
//! record (AEGIS 12.1).
//!
//! Of a session is what was recorded while it was open, and what was put before a model in it. No
//! model is asked.

use serde_json::json;

use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::store::{ReadStore, Store, StoreError};

use super::items::{facts, line};
use super::print;
use crate::app::find;
use crate::app::open;
use crate::app::open::OpenHomeError;

/// A heading with what stands under it.
struct SummarySection {
    name: &'static str,
    /// What the label means.
    label: &'static str,
    items: Vec<(Item, Option<String>)>,
}

/// Which heading an item stands under; none for what is no longer held, and for notes and intents.
fn heading(item: &Item) -> Option<usize> {
    match (item.kind, item.state) {
        (ItemKind::Fact, ItemState::Ratified) => Some(0),
        (ItemKind::Fact, ItemState::Proposed) => Some(1),
        (ItemKind::Decision, ItemState::Declared) => Some(2),
        _ => None,
    }
}

/// Prints it.
pub fn run(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    store.begin_read()?;
    let session = find::session(&store, id)?;
    let mut items = store.items_in(session.id)?;
    for id in put_before_a_model(&store, session.uuid)? {
        if items.iter().all(|(known, _)| known.id != id)
            && let Some(item) = store.item(&id)?
        {
            let text = store.item_text(item.line)?;
            items.push((item, text));
        }
    }
    items.sort_by_key(|(item, _)| item.line);
    let mut parts = [
        ("facts", "ratified"),
        ("theories", "unratified"),
        ("decisions", "explicit"),
    ]
    .map(|(name, label)| SummarySection {
        name,
        label,
        items: Vec::new(),
    });
    for (item, text) in items {
        if let Some(part) = heading(&item).and_then(|at| parts.get_mut(at)) {
            part.items.push((item, text));
        }
    }
    if json {
        let mut told = json!({
            "session": session.id.to_string(), "session_uuid": session.uuid.to_string(),
            "prompts": session.prompts, "interactions": session.interactions,
        });
        for part in &parts {
            told[part.name] = part
                .items
                .iter()
                .map(|(item, text)| facts(item, text.as_deref()))
                .collect();
            told[part.name]
                .as_array_mut()
                .into_iter()
                .flatten()
                .for_each(|fact| fact["label"] = json!(part.label));
        }
        return Ok(print(&format!("{told}\n")));
    }
    let mut out = format!(
        "session {} · {} of {} answered\n",
        session.id.short16(),
        session.interactions,
        session.prompts
    );
    for part in &parts {
        out.push_str(&format!("\n{} ({})\n", part.name, part.label));
        if part.items.is_empty() {
            out.push_str("    none\n");
        }
        out.extend(
            part.items
                .iter()
                .map(|(item, text)| format!("    {}\n", line(item, text.as_deref()))),
        );
    }
    Ok(print(&out))
}

/// Ids of the facts and decisions that were put before a model in a session.
fn put_before_a_model(store: &ReadStore, session: uuid::Uuid) -> Result<Vec<String>, StoreError> {
    let mut exchanges = Vec::new();
    store.each_exchange(Some(session), &mut |exchange| {
        exchanges.push(exchange.exchange_id);
        Ok(())
    })?;
    let mut ids: Vec<String> = Vec::new();
    for exchange in exchanges {
        let refs = store.artifact_refs(exchange)?;
        let of = refs
            .into_iter()
            .filter(|one| matches!(one.artifact_type.as_str(), "ledger_fact" | "decision"));
        ids.extend(of.map(|one| one.artifact_id));
    }
    ids.sort();
    ids.dedup();
    Ok(ids)
}
