//! Facts, theories and decisions of a session, by rule from what is on record (AEGIS 12.1).
//!
//! Of a session is what was recorded while it was open, and what was put before a model in it. No
//! model is asked.

use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::home::Home;
use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::store::{ReadStore, SessionRow, StoreError};

/// A heading with what stands under it.
pub struct SummarySection {
    /// `facts`, `theories` or `decisions`.
    pub name: &'static str,
    /// How sure what stands under it is: `ratified`, `unratified` or `explicit`.
    pub label: &'static str,
    /// Each item with what it says, where that is here.
    pub items: Vec<(Item, Option<String>)>,
}

/// What a session came to.
pub struct SessionSummary {
    /// Row of the session that is summed up.
    pub session: SessionRow,
    /// Facts, theories and decisions.
    pub sections: [SummarySection; 3],
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

/// The summary of the session that `id` means.
pub fn summary(home: &Home, id: &str) -> Result<SessionSummary, OpenHomeError> {
    let store = open::store(home)?;
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
    let mut sections = [
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
        if let Some(section) = heading(&item).and_then(|at| sections.get_mut(at)) {
            section.items.push((item, text));
        }
    }
    Ok(SessionSummary { session, sections })
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
