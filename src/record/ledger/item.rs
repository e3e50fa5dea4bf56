//! What artifacts say is so: facts, notes, decisions, intents, corrections, each with the state that
//! later artifacts gave it.
//!
//! ```text
//! kind fact, id ledger:000183        proposed
//! kind fact_ratified, the same id    ratified     a fact counts from here on
//! kind fact_retired, the same id     retired
//! kind conflict_resolved             what its `superseded` names: superseded
//! kind correction                    declared, when a person made it ([`correction`](super::correction))
//! ```
//! The store follows these rules in the transaction that writes an artifact, and keeps the items in a
//! table; [`Items`] are those that all artifacts give, for checking it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::correction::{CORRECTION_RATIFIED, DecayClass, MANUAL};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// A claim that counts once a person ratified it.
    Fact,
    /// Something to keep in mind; nobody vouches for it.
    Note,
    /// What a person decided.
    Decision,
    /// What the work at hand is for.
    Intent,
    /// What is right in the place of what was said.
    Correction,
}

impl ItemKind {
    /// All of them.
    pub const ALL: [ItemKind; 5] = [
        ItemKind::Fact,
        ItemKind::Note,
        ItemKind::Decision,
        ItemKind::Intent,
        ItemKind::Correction,
    ];

    /// The artifact's kind.
    pub const fn name(self) -> &'static str {
        match self {
            ItemKind::Fact => "fact",
            ItemKind::Note => "note",
            ItemKind::Decision => "decision",
            ItemKind::Intent => "intent",
            ItemKind::Correction => "correction",
        }
    }

    /// What stands before the number in its id: `ledger:000183`.
    pub const fn prefix(self) -> &'static str {
        match self {
            ItemKind::Fact => "ledger",
            other => other.name(),
        }
    }

    /// The kind of the artifact that takes it out of force.
    pub const fn ended(self) -> &'static str {
        match self {
            ItemKind::Fact => "fact_retired",
            ItemKind::Note => "note_retired",
            ItemKind::Decision => "decision_retired",
            ItemKind::Intent => "intent_cleared",
            ItemKind::Correction => "correction_retired",
        }
    }

    /// The kind of the artifact that makes a proposed one count; none where none is proposed.
    pub const fn ratified(self) -> Option<&'static str> {
        match self {
            ItemKind::Fact => Some(FACT_RATIFIED),
            ItemKind::Correction => Some(CORRECTION_RATIFIED),
            ItemKind::Note | ItemKind::Decision | ItemKind::Intent => None,
        }
    }
}

/// The kind of the artifact that makes a fact count.
pub const FACT_RATIFIED: &str = "fact_ratified";
/// The kind of the artifact with which a person says which of several holds.
pub const CONFLICT_RESOLVED: &str = "conflict_resolved";

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// A fact or correction that nobody ratified: a theory.
    Proposed,
    /// A fact or correction that a person made count.
    Ratified,
    /// A note, decision or intent in force, or a person's own correction.
    Declared,
    /// Taken back by a person.
    Retired,
    /// Another holds in its place.
    Superseded,
    /// An intent that is over.
    Cleared,
    /// Its text is gone.
    Erased,
}

impl ItemState {
    /// All of them.
    pub const ALL: [ItemState; 7] = [
        ItemState::Proposed,
        ItemState::Ratified,
        ItemState::Declared,
        ItemState::Retired,
        ItemState::Superseded,
        ItemState::Cleared,
        ItemState::Erased,
    ];

    /// The spelling in the database and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            ItemState::Proposed => "proposed",
            ItemState::Ratified => "ratified",
            ItemState::Declared => "declared",
            ItemState::Retired => "retired",
            ItemState::Superseded => "superseded",
            ItemState::Cleared => "cleared",
            ItemState::Erased => "erased",
        }
    }

    /// Whether it counts, or could yet.
    pub const fn is_open(self) -> bool {
        self.is_in_force() || matches!(self, ItemState::Proposed)
    }

    /// Whether it counts.
    pub const fn is_in_force(self) -> bool {
        matches!(self, ItemState::Ratified | ItemState::Declared)
    }
}

/// A text that is none of a list of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no word of the list")]
pub struct NoSuchWord(pub(super) String);

impl FromStr for ItemKind {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<ItemKind, NoSuchWord> {
        ItemKind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

impl FromStr for ItemState {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<ItemState, NoSuchWord> {
        ItemState::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One item without its text, which stands in its artifact's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Line of the artifact that made it.
    pub line: u64,
    /// Name of the item, such as `ledger:000183`.
    pub id: String,
    /// What it is.
    pub kind: ItemKind,
    /// Where it stands.
    pub state: ItemState,
    /// Line of the artifact that gave it that state.
    pub state_line: u64,
    /// What it is about, in lower case: two in force with one subject and different texts disagree.
    pub subject: Option<String>,
    /// Where it is from.
    pub source: Option<String>,
    /// When it was observed.
    pub observed_at: Option<Seconds>,
    /// Of a fact: `high`, `medium` or `low`.
    pub confidence: Option<String>,
    /// Of a correction: in thousandths, when it was observed.
    pub confidence_milli: Option<u16>,
    /// Of a correction: how fast it loses that.
    pub decay: Option<DecayClass>,
    /// Of a correction: the field that it is of.
    pub domain: Option<String>,
    /// The phase in which it may be shown.
    pub phase: Option<String>,
    /// The tier from which on it may be shown.
    pub tier: Option<u8>,
    /// The session that was open when it was recorded.
    pub session: Option<Hash32>,
    /// The artifact's commitment.
    pub hash: Hash32,
}

/// Which artifact makes an item.
#[derive(Clone, Copy)]
pub struct ItemArtifact<'a> {
    /// Number of the artifact's line, from 0.
    pub line: u64,
    /// Kind of the artifact, which is the item's.
    pub kind: ItemKind,
    /// Name of the artifact, which is the item's.
    pub id: &'a str,
}

impl Item {
    /// The item that an artifact makes; `content` is that of its document, none once erased.
    pub fn made(origin: ItemArtifact<'_>, content: Option<&Value>, hash: Hash32) -> Item {
        let ItemArtifact { line, kind, id } = origin;
        let text = |key: &str| content?.get(key)?.as_str().map(str::to_owned);
        let number = |key: &str| content?.get(key)?.as_u64();
        Item {
            line,
            id: id.to_owned(),
            kind,
            state: match (content, kind) {
                (None, _) => ItemState::Erased,
                (Some(_), ItemKind::Fact) => ItemState::Proposed,
                (Some(_), ItemKind::Correction) if text("source").as_deref() != Some(MANUAL) => {
                    ItemState::Proposed
                }
                (Some(_), _) => ItemState::Declared,
            },
            state_line: line,
            subject: text("subject"),
            source: text("source"),
            observed_at: number("observed_at").and_then(|at| Seconds::new(at).ok()),
            confidence: text("confidence"),
            confidence_milli: number("confidence").and_then(|milli| u16::try_from(milli).ok()),
            decay: text("decay").and_then(|class| class.parse().ok()),
            domain: text("domain"),
            phase: text("phase"),
            tier: number("tier").and_then(|tier| u8::try_from(tier).ok()),
            session: text("session").and_then(|id| id.parse().ok()),
            hash,
        }
    }

    /// What is left of a correction's confidence at a moment, in thousandths; 0 where it has none, or
    /// nothing says how it decays.
    pub fn confidence_left(&self, now: Seconds) -> u16 {
        let (Some(confidence), Some(decay)) = (self.confidence_milli, self.decay) else {
            return 0;
        };
        let age = self.observed_at.map_or(u64::MAX, |at| now.since(at));
        decay.left_of(confidence, age)
    }

    /// The state that an artifact of a kind gives it, when the artifact is about it; none when it
    /// stays as it is.
    pub fn state_after(&self, artifact: &str) -> Option<ItemState> {
        let is_intent = self.kind == ItemKind::Intent;
        let declared = self.state == ItemState::Declared;
        let open = self.state.is_open();
        match artifact {
            ratified if self.kind.ratified() == Some(ratified) => {
                (self.state == ItemState::Proposed).then_some(ItemState::Ratified)
            }
            CONFLICT_RESOLVED => {
                (!is_intent && self.state.is_in_force()).then_some(ItemState::Superseded)
            }
            // One intent holds at a time: the next one takes its place.
            "intent" => (is_intent && declared).then_some(ItemState::Superseded),
            ended if ended != self.kind.ended() => None,
            _ if is_intent => declared.then_some(ItemState::Cleared),
            _ => open.then_some(ItemState::Retired),
        }
    }
}

/// The `content` of an artifact's document; none when it is erased or holds none.
pub fn content(document: Option<&str>) -> Option<Value> {
    let mut document: Value = serde_json::from_str(document?).ok()?;
    document.get_mut("content").map(Value::take)
}

/// The ids of the items that an artifact is about; none when its kind gives no item a state. An
/// intent is about those before it, too, which it can't name.
pub fn items_of(kind: &str, id: &str, content: Option<&Value>) -> Vec<String> {
    if kind == CONFLICT_RESOLVED {
        let named = content.and_then(|content| content["superseded"].as_array());
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        return named.map(str::to_owned).collect();
    }
    let is_about = |item: &ItemKind| item.ended() == kind || item.ratified() == Some(kind);
    let about = ItemKind::ALL.iter().any(is_about);
    about.then(|| id.to_owned()).into_iter().collect()
}

/// The items that artifacts give, in the order of their lines.
#[derive(Clone, Debug, Default)]
pub struct Items(BTreeMap<String, Item>);

impl Items {
    /// Takes the next artifact; `document` is its canonical JSON, none once erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>, hash: Hash32) {
        let content = content(document);
        let about = items_of(kind, id, content.as_ref());
        for item in self.0.values_mut() {
            let is_about = kind == ItemKind::Intent.name() || about.contains(&item.id);
            if let Some(state) = item.state_after(kind).filter(|_| is_about) {
                (item.state, item.state_line) = (state, line);
            }
        }
        if let Ok(kind) = kind.parse() {
            let origin = ItemArtifact { line, kind, id };
            self.0
                .entry(id.to_owned())
                .or_insert_with(|| Item::made(origin, content.as_ref(), hash));
        }
    }

    /// All items, by id.
    pub fn into_map(self) -> BTreeMap<String, Item> {
        self.0
    }
}

/// A text with one space between its words, and none at the ends.
pub fn evenly_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A subject as it is compared and recorded: lower case, one space between words, none at the ends.
pub fn subject(text: &str) -> String {
    evenly_spaced(text).to_lowercase()
}

/// Whether two texts on one subject say the same: case, white space and a last full stop don't
/// count.
pub fn same_claim(one: &str, other: &str) -> bool {
    let plain = |text: &str| subject(text).trim_end_matches('.').to_owned();
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(artifacts: &[(&str, &str, Option<&str>)]) -> BTreeMap<String, Item> {
        let mut items = Items::default();
        for (n, (kind, id, content)) in (1..).zip(artifacts) {
            let document = content.map(|content| format!(r#"{{"content":{content}}}"#));
            items.take(
                n,
                kind,
                id,
                document.as_deref(),
                Hash32::digest(kind.as_bytes()),
            );
        }
        items.into_map()
    }

    #[test]
    fn later_artifacts_give_the_state() {
        let some = Some(r#"{"text":"x"}"#);
        for (artifacts, state, line) in [
            (vec![("fact", "l:1", some)], ItemState::Proposed, 1),
            (
                vec![("fact", "l:1", some), ("fact_ratified", "l:1", some)],
                ItemState::Ratified,
                2,
            ),
            (
                vec![("fact_ratified", "l:1", some), ("fact", "l:1", some)],
                ItemState::Proposed,
                2,
            ),
            (
                vec![("fact", "l:1", some), ("fact_ratified", "l:2", some)],
                ItemState::Proposed,
                1,
            ),
            (
                vec![("fact", "l:1", some), ("fact_retired", "l:1", some)],
                ItemState::Retired,
                2,
            ),
            (
                vec![("fact", "l:1", some), ("note_retired", "l:1", some)],
                ItemState::Proposed,
                1,
            ),
            (
                vec![
                    ("fact", "l:1", some),
                    ("fact_retired", "l:1", some),
                    ("fact_ratified", "l:1", some),
                ],
                ItemState::Retired,
                2,
            ),
            (vec![("note", "l:1", some)], ItemState::Declared, 1),
            (
                vec![("note", "l:1", some), ("note_retired", "l:1", some)],
                ItemState::Retired,
                2,
            ),
            (
                vec![("note", "l:1", some), ("fact_ratified", "l:1", some)],
                ItemState::Declared,
                1,
            ),
            (
                vec![("intent", "l:1", some), ("intent_cleared", "l:1", None)],
                ItemState::Cleared,
                2,
            ),
            (
                vec![("intent", "l:1", some), ("intent", "l:2", some)],
                ItemState::Superseded,
                2,
            ),
            (
                vec![
                    ("decision", "l:1", some),
                    (
                        "conflict_resolved",
                        "c:1",
                        Some(r#"{"superseded":["l:1"]}"#),
                    ),
                ],
                ItemState::Superseded,
                2,
            ),
            (
                vec![
                    ("fact", "l:1", some),
                    (
                        "conflict_resolved",
                        "c:1",
                        Some(r#"{"superseded":["l:1"]}"#),
                    ),
                ],
                ItemState::Proposed,
                1,
            ),
            (
                vec![("fact", "l:1", None), ("fact_ratified", "l:1", some)],
                ItemState::Erased,
                1,
            ),
        ] {
            let item = &after(&artifacts)["l:1"];
            assert_eq!(
                (item.state, item.state_line),
                (state, line),
                "{artifacts:?}"
            );
        }
        let (manual, import) = (
            Some(r#"{"source":"manual"}"#),
            Some(r#"{"source":"import"}"#),
        );
        for (content, ratified, state) in [
            (manual, None, ItemState::Declared),
            (manual, Some("correction_ratified"), ItemState::Declared),
            (import, None, ItemState::Proposed),
            (import, Some("correction_ratified"), ItemState::Ratified),
            (import, Some("fact_ratified"), ItemState::Proposed),
            (manual, Some("correction_retired"), ItemState::Retired),
            (None, Some("correction_ratified"), ItemState::Erased),
        ] {
            let mut artifacts = vec![("correction", "c:1", content)];
            artifacts.extend(ratified.map(|kind| (kind, "c:1", some)));
            assert_eq!(after(&artifacts)["c:1"].state, state, "{artifacts:?}");
        }
        assert!(after(&[("kernel", "l:1", some), ("fact_ratified", "l:1", some)]).is_empty());
    }

    #[test]
    fn what_is_the_same_claim() {
        for (one, other, same) in [
            ("Port 80 is open.", "port  80 is OPEN", true),
            ("Port 80 is open", "Port 81 is open", false),
            ("Port 80 is open", "Port 80 is not open", false),
            ("", ".", true),
        ] {
            assert_eq!(same_claim(one, other), same, "{one} / {other}");
        }
        assert_eq!(subject("  The \n Backup Host"), "the backup host");
    }
}
