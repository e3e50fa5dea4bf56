//! Imports: what became of a file, and what is on record of it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::app::keep::import::{ImportOutcome, ImportSummary};
use crate::app::look::imported::ListedImport;
use crate::view::look::imported::ListedImportView;

/// Something of a file that can't be taken.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedPieceView {
    /// Where it stands.
    pub place: String,
    /// Its title or id, where it could be read.
    pub name: Option<String>,
    /// A word for counting.
    pub reason: &'static str,
    /// What is wrong, in a sentence.
    pub detail: String,
}

/// What became of a file: of what was read each is recorded, unchanged, refused or skipped.
#[derive(Clone, Debug, Serialize)]
pub struct ImportView {
    /// The import on record; null where nothing was recorded, or what became of the file could not be (a full disk).
    pub import: Option<String>,
    /// Whether the file was only looked through, and what is recorded is what would be.
    pub dry_run: bool,
    /// `chatgpt`, `claude`, `llm`, `aua` or `jsonl`.
    pub format: &'static str,
    /// SHA-256 of the file; null where it could not be read.
    pub sha256: Option<String>,
    /// How many bytes it has.
    pub bytes: Option<u64>,
    /// What the file says of its version.
    pub version: Option<String>,
    /// `whole`, `interrupted` or `stopped`.
    pub end: &'static str,
    /// What stopped it.
    pub error: Option<String>,
    /// What the file has, as far as it was gone through: of it each is recorded, unchanged, refused or skipped.
    pub read: u64,
    /// Put on record.
    pub recorded: u64,
    /// Of those recorded, how many took the place of an earlier import.
    pub replaced: u64,
    /// On record already, as they are.
    pub unchanged: u64,
    /// Can't be taken, by reasons.
    pub refused: BTreeMap<String, u64>,
    /// Not wanted, by reasons.
    pub skipped: BTreeMap<String, u64>,
    /// Of those recorded, how many are corrections, which are proposed.
    pub corrections: u64,
    /// Of those recorded, how many are promotions, which bind nothing.
    pub promotions: u64,
    /// Of those recorded, how many are another program's audit log, which is not verified.
    pub audits: u64,
    /// Messages of what is recorded.
    pub messages: u64,
    /// Messages of what is recorded that are left out, by reasons; `time` counts times.
    pub left_out: BTreeMap<String, u64>,
    /// Secrets that were removed.
    pub removed: u64,
    /// How many conversations on record can't be known again, as the key of their ids was lost.
    pub forgotten: u64,
    /// Each thing that is refused; of very many the first, up to 50,000 or 4 MiB of names.
    pub refusals: Vec<RefusedPieceView>,
    /// Where one title was wanted that no conversation has: titles with its words.
    pub near: Vec<String>,
    /// Parts that the file should have by the numbers of others, and has not; several on end as `FIRST to LAST`.
    pub missing: Vec<String>,
}

impl ImportView {
    /// Of what came of an import; `error` is what stopped it, in words.
    pub fn of(outcome: &ImportOutcome, dry_run: bool, error: Option<String>) -> Self {
        let (file, counts) = (outcome.file(), &outcome.counts);
        let refusals = outcome.refusals.iter().map(|piece| RefusedPieceView {
            place: piece.place.clone(),
            name: piece.name.clone(),
            reason: piece.reason,
            detail: piece.detail.clone(),
        });
        ImportView {
            import: outcome.id.clone(),
            dry_run,
            format: outcome.format.name(),
            sha256: outcome.sha256(),
            bytes: file.map(|file| file.bytes),
            version: outcome.files.first().map(|(_, file)| file.version.clone()),
            end: outcome.end.name(),
            error,
            read: counts.read,
            recorded: counts.recorded,
            replaced: counts.replaced,
            unchanged: counts.unchanged,
            refused: counts.refused.clone(),
            skipped: counts.skipped.clone(),
            corrections: counts.corrections,
            promotions: counts.promotions,
            audits: counts.audits,
            messages: counts.messages,
            left_out: counts.left_out.clone(),
            removed: counts.removed,
            forgotten: outcome.forgotten,
            refusals: refusals.collect(),
            near: outcome.near.clone(),
            missing: outcome.missing.clone(),
        }
    }
}

/// An import on record.
#[derive(Clone, Debug, Serialize)]
pub struct ImportSummaryView {
    /// Its id, such as `import:000001`.
    pub import: String,
    /// When it was put on record; null of one that was ended before.
    pub at: Option<String>,
    /// What its artifact says; null of one that was ended before it was on record, or is erased.
    pub content: Option<Value>,
    /// Whether it runs now, in this process or in another one.
    pub running: bool,
    /// Whether what its artifact said is gone: no text of it was left.
    pub erased: bool,
    /// When all of it was erased; null of one of which something is here, or was lost.
    pub erased_at: Option<String>,
    /// How many of its conversations are on record with their texts.
    pub conversations: u64,
    /// How many of these a later import replaced.
    pub replaced: u64,
}

impl ImportSummaryView {
    /// Of an import.
    pub fn of(import: &ImportSummary) -> Self {
        ImportSummaryView {
            import: import.id.clone(),
            at: import.at.map(|at| at.to_string()),
            content: import.content.clone(),
            running: import.running.is_some(),
            erased: import.at.is_some() && import.content.is_none(),
            erased_at: import.erased.map(|at| at.to_string()),
            conversations: import.conversations,
            replaced: import.replaced,
        }
    }
}

/// All imports of a home.
#[derive(Clone, Debug, Serialize)]
pub struct ImportListView {
    /// The oldest first.
    pub imports: Vec<ImportSummaryView>,
    /// How many older ones are not listed.
    pub older: usize,
}

/// One import, with its conversations.
#[derive(Clone, Debug, Serialize)]
pub struct ShownImportView {
    /// The import.
    #[serde(flatten)]
    pub import: ImportSummaryView,
    /// Its conversations whose texts are here, oldest first.
    pub imported: Vec<ListedImportView>,
}

impl ShownImportView {
    /// Of an import.
    pub fn of((import, conversations): &(ImportSummary, Vec<ListedImport>)) -> Self {
        ShownImportView {
            import: ImportSummaryView::of(import),
            imported: conversations.iter().map(ListedImportView::of).collect(),
        }
    }
}
