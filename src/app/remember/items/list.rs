//! Listing what is on record for continuity.

use crate::app::home::open::{self, OpenHomeError};
use crate::ask::stored_text::StoredTexts;
use crate::home::Home;
use crate::record::ledger::item::{Item, ItemKind, ItemState};

use super::{item_id, known};

/// So many items are listed at most.
pub const MOST: u32 = 1000;

/// Items of one kind.
pub struct ItemList {
    /// Each with what it says, where that is here; oldest first.
    pub items: Vec<(Item, Option<String>)>,
    /// Whether there are older ones that are not listed.
    pub has_more: bool,
    /// How many are on record whose text was never kept.
    pub not_kept: u64,
    /// Ids of those that are not what was recorded.
    pub changed: Vec<String>,
}

/// Items of a kind that are in force or proposed, or `all` of them.
pub fn list(home: &Home, kind: ItemKind, all: bool) -> Result<ItemList, OpenHomeError> {
    let store = open::store(home)?;
    let is_listed = |state: &ItemState| all || state.is_in_force() || *state == ItemState::Proposed;
    let states: Vec<ItemState> = ItemState::ALL.into_iter().filter(is_listed).collect();
    let mut items = store.items_of(&[kind], &states, MOST + 1)?;
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let has_more = items.len() > most;
    items.truncate(most);
    items.reverse();
    let texts = StoredTexts::of(&store)?;
    let mut changed = Vec::new();
    for (item, _) in &items {
        if item.state != ItemState::Erased && !texts.holds_item(item)? {
            changed.push(item.id.clone());
        }
    }
    Ok(ItemList {
        items,
        has_more,
        not_kept: store.not_kept(kind.name())?,
        changed,
    })
}

/// One item of a kind, with what it says, where that is here.
pub fn one(home: &Home, kind: ItemKind, id: &str) -> Result<(Item, Option<String>), OpenHomeError> {
    let store = open::store(home)?;
    let item = known(&store, kind, &item_id(kind, id))?.map_err(OpenHomeError::Refused)?;
    let text = store.item_text(item.line)?;
    Ok((item, text))
}

/// The intent in force with what it says, and how many intents are on record without their text.
pub struct DeclaredIntent {
    /// None when none is declared.
    pub intent: Option<(Item, Option<String>)>,
    /// How many are on record whose text was never kept.
    pub not_kept: u64,
}

/// The intent in force.
pub fn intent(home: &Home) -> Result<DeclaredIntent, OpenHomeError> {
    let store = open::store(home)?;
    let intent = store
        .items_of(&[ItemKind::Intent], &[ItemState::Declared], 1)?
        .pop();
    let not_kept = store.not_kept(ItemKind::Intent.name())?;
    Ok(DeclaredIntent { intent, not_kept })
}

/// That no intent is declared.
pub fn no_intent() -> OpenHomeError {
    OpenHomeError::Refused("no intent is declared: gently intent set \"…\"".to_owned())
}
