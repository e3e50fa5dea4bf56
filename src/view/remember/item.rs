//! Facts, notes, decisions and intents.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::remember::items::conflict::{Conflict, ResolvedConflict};
use crate::app::remember::items::list::ItemList;
use crate::app::remember::items::summary::{SessionSummary, SummarySection};
use crate::app::remember::items::{CountingItem, RecordedItem};
use crate::record::hash::Hash32;
use crate::record::ledger::item::{Item, ItemKind};

/// An item and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct ItemView {
    /// Name of the item, such as `ledger:000183`.
    pub id: String,
    /// `fact`, `note`, `decision` or `intent`.
    pub kind: &'static str,
    /// Where it stands.
    pub state: &'static str,
    /// What it says; null once erased.
    pub text: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// Where it is from.
    pub source: Option<String>,
    /// When it was observed.
    pub observed_at: Option<String>,
    /// Of a fact: `high`, `medium` or `low`.
    pub confidence: Option<String>,
    /// The phase in which it may be shown.
    pub phase: Option<String>,
    /// The tier from which on it may be shown.
    pub tier: Option<u8>,
    /// The session that was open when it was recorded.
    pub session: Option<Hash32>,
    /// Commitment to the item.
    pub hash: Hash32,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// The line that gave it its state.
    pub state_log_line: u64,
    /// In a summary: how sure what stands under its heading is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'static str>,
}

impl ItemView {
    /// Of an item and what it says.
    pub fn of(item: &Item, text: Option<&str>) -> Self {
        ItemView {
            id: item.id.clone(),
            kind: item.kind.name(),
            state: item.state.name(),
            text: text.map(str::to_owned),
            subject: item.subject.clone(),
            source: item.source.clone(),
            observed_at: item.observed_at.map(|at| at.to_string()),
            confidence: item.confidence.clone(),
            phase: item.phase.clone(),
            tier: item.tier,
            session: item.session,
            hash: item.hash,
            log_line: item.line + 1,
            state_log_line: item.state_line + 1,
            label: None,
        }
    }

    /// Of all in a list.
    pub fn all(list: &ItemList) -> Vec<Self> {
        let view = |(item, text): &(Item, Option<String>)| Self::of(item, text.as_deref());
        list.items.iter().map(view).collect()
    }
}

/// An item whose new state is on record.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedItemView {
    /// Name of the item, such as `ledger:000183`.
    pub id: String,
    /// The kind of the record.
    pub kind: String,
    /// The state that it gives.
    pub state: &'static str,
    /// What was committed to.
    pub content: Value,
    /// When it went on record, in RFC 3339.
    pub recorded_at: String,
    /// Its line in the log, from 1.
    pub log_line: u64,
    /// The secrets that were removed, each by its kind.
    pub removed: Vec<String>,
    /// Whether its text is kept.
    pub kept: bool,
}

impl RecordedItemView {
    /// Of what was recorded.
    pub fn of(item: &RecordedItem) -> Self {
        let recorded = &item.recorded;
        RecordedItemView {
            id: recorded.document.id.clone(),
            kind: recorded.document.kind.clone(),
            state: item.state_name(),
            content: recorded.document.content.clone(),
            recorded_at: recorded.time.to_string(),
            log_line: recorded.line + 1,
            removed: item.removed.clone(),
            kept: recorded.is_kept,
        }
    }
}

/// An item that counted before it was to be ratified.
#[derive(Clone, Debug, Serialize)]
pub struct CountingItemView {
    /// Name of the item, such as `correction:000002`.
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// The state in which it was before.
    pub state: &'static str,
    /// What it says; empty when that is not here.
    pub text: String,
    /// Whether anything was recorded of it now: false.
    pub recorded: bool,
}

impl CountingItemView {
    /// Of an item of a kind.
    pub fn of(kind: ItemKind, item: &CountingItem) -> Self {
        CountingItemView {
            id: item.id.clone(),
            kind: kind.name(),
            state: item.state.name(),
            text: item.text.clone(),
            recorded: false,
        }
    }
}

/// What disagrees among what a model was shown.
#[derive(Clone, Debug, Serialize)]
pub struct ShownConflictView {
    /// Subject that the items share.
    pub subject: String,
    /// Ids of those that disagree.
    pub items: Vec<String>,
    /// What a person is told.
    pub sentence: String,
}

impl ShownConflictView {
    /// Of a conflict.
    pub fn of(conflict: &Conflict) -> Self {
        let ids = conflict.items.iter().map(|(item, _)| item.id.clone());
        ShownConflictView {
            subject: conflict.subject.clone(),
            items: ids.collect(),
            sentence: conflict.sentence(),
        }
    }
}

/// Items in force on one subject that do not say the same.
#[derive(Clone, Debug, Serialize)]
pub struct ConflictView {
    /// Subject that the items share.
    pub subject: String,
    /// Items in force that share the subject.
    pub items: Vec<ItemView>,
}

impl ConflictView {
    /// Of a conflict.
    pub fn of(conflict: &Conflict) -> Self {
        let items = conflict.items.iter();
        ConflictView {
            subject: conflict.subject.clone(),
            items: items
                .map(|(item, text)| ItemView::of(item, Some(text)))
                .collect(),
        }
    }
}

/// A conflict that was resolved.
#[derive(Clone, Debug, Serialize)]
pub struct ResolvedConflictView {
    /// The id of the record.
    pub id: String,
    /// The item that holds.
    pub holds: String,
    /// Those that do not hold any more.
    pub superseded: Vec<String>,
    /// What they are about.
    pub subject: Option<String>,
    /// When the conflict's end went on record, in RFC 3339.
    pub recorded_at: String,
    /// Its line in the log, from 1.
    pub log_line: u64,
}

impl ResolvedConflictView {
    /// Of what was recorded.
    pub fn of(resolved: &ResolvedConflict) -> Self {
        ResolvedConflictView {
            id: resolved.recorded.document.id.clone(),
            holds: resolved.holds.id.clone(),
            superseded: resolved.superseded.clone(),
            subject: resolved.holds.subject.clone(),
            recorded_at: resolved.recorded.time.to_string(),
            log_line: resolved.recorded.line + 1,
        }
    }
}

/// What a session came to.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSummaryView {
    /// Id of the session.
    pub session: Hash32,
    /// The same as the database names it.
    pub session_uuid: Uuid,
    /// How many questions were asked.
    pub prompts: u64,
    /// How many of them were answered.
    pub interactions: u64,
    /// Facts that are ratified.
    pub facts: Vec<ItemView>,
    /// Facts that are not.
    pub theories: Vec<ItemView>,
    /// Decisions that were recorded in the session.
    pub decisions: Vec<ItemView>,
}

impl SessionSummaryView {
    /// Of a summary.
    pub fn of(summary: &SessionSummary) -> Self {
        let [facts, theories, decisions] = summary.sections.each_ref().map(section);
        SessionSummaryView {
            session: summary.session.id,
            session_uuid: summary.session.uuid,
            prompts: summary.session.prompts,
            interactions: summary.session.interactions,
            facts,
            theories,
            decisions,
        }
    }
}

fn section(section: &SummarySection) -> Vec<ItemView> {
    let view = |(item, text): &(Item, Option<String>)| ItemView {
        label: Some(section.label),
        ..ItemView::of(item, text.as_deref())
    };
    section.items.iter().map(view).collect()
}
