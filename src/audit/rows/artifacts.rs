//! Artifacts of the database against their lines and commitments; what was erased (format, section
//! 12 step 6).

use std::collections::{BTreeSet, HashSet};

use crate::record::canon;
use crate::record::ledger::commitment::{Role, commit};
use crate::record::ledger::conversation::ConversationRows;
use crate::record::ledger::council::Councils;
use crate::record::ledger::erased::{ErasedOnRecord, TOMBSTONE};
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::handoff::Handoffs;
use crate::record::ledger::imported::{IMPORTED_CONVERSATION, ImportedConversations};
use crate::record::ledger::item::Items;
use crate::record::ledger::specialist::Ratings;
use crate::record::log::entry::Event;
use crate::store::{ArtifactFilter, ArtifactRow};

use super::database::RowCheck;
use super::exchanges::describe;
use crate::verify::VerifyError;

/// What is expected of a row that a tombstone on record says is erased …
pub(super) const ERASED: &str =
    "no text and no salt, as a tombstone on record says that it was erased";
/// … and what is found when somebody put it there again.
pub(super) const PUT_BACK: &str = "it was erased on record, and its text is there again";

/// What follows from artifacts, gathered while they are gone through.
#[derive(Default)]
struct ArtifactsGiven {
    items: Items,
    said: ConversationRows,
    ratings: Ratings,
    councils: Councils,
    handoffs: Handoffs,
    imported: ImportedConversations,
}

impl RowCheck<'_> {
    /// Every artifact against its line and its commitment.
    pub fn check_artifacts(&mut self, level: bool) -> Result<(), VerifyError> {
        let others = ArtifactFilter::But(IMPORTED_CONVERSATION);
        let Some(rows) = self.rows(self.store.artifacts(others))? else {
            return Ok(());
        };
        self.check_auth_keys(&rows)?;
        self.check_settings(&rows)?;
        let mut given = ArtifactsGiven::default();
        let mut count = 0_u64;
        for row in rows {
            count += 1;
            self.check_artifact(row, level, &mut given)?;
        }
        // One after the other: each may have megabytes.
        let mut line = 0;
        loop {
            let next = self.store.next_artifact(IMPORTED_CONVERSATION, line);
            let Some(Some(row)) = self.rows(next)? else {
                break;
            };
            (line, count) = (row.line, count + 1);
            self.check_artifact(row, level, &mut given)?;
        }
        if level {
            let expected = self.ledger.lines.artifacts;
            self.cell(None, "artifact", "rows", expected, count);
        }
        let ArtifactsGiven {
            items,
            said,
            ratings,
            councils,
            handoffs,
            imported,
        } = given;
        self.check_items(items.into_map())?;
        self.check_ratings(ratings)?;
        self.check_councils(&councils)?;
        self.check_handoffs(handoffs)?;
        self.check_imported(imported)?;
        self.check_conversations(said, &councils)
    }

    /// One of them; what follows from it is taken.
    fn check_artifact(
        &mut self,
        row: ArtifactRow,
        level: bool,
        given: &mut ArtifactsGiven,
    ) -> Result<(), VerifyError> {
        let is_gone = self.tombstones.erased.has(&row.id, row.line);
        let document = row.document.as_deref().filter(|_| !is_gone);
        given.said.take(row.line, &row.kind, &row.id, document);
        given.ratings.take(row.line, &row.kind, document);
        given.councils.take(row.line, &row.kind, &row.id, document);
        given.handoffs.take(row.line, &row.kind, &row.id, document);
        if let Some(given) = given.imported.take(row.line, &row.kind, &row.id, document) {
            self.counts.imported += 1;
            self.check_imported_messages(row.line, given)?;
        }
        given
            .items
            .take(row.line, &row.kind, &row.id, document, row.commitment);
        self.counts.artifacts += 1;
        let place = format!("artifact of line {}", row.line);
        if is_gone && (row.document.is_some() || row.salt.is_some()) {
            self.fault(None, &place, ERASED, PUT_BACK);
        }
        if let Some(line) = self.line_of(row.line)? {
            let event = Event::Artifact {
                kind: row.kind.clone(),
                id: row.id.clone(),
                hash: row.commitment,
            };
            self.cell(
                line.session,
                &place,
                "line",
                describe(&line.event),
                describe(&event),
            );
        } else if level {
            self.cell(
                None,
                &place,
                "line",
                "a line of the log".to_owned(),
                "none".to_owned(),
            );
        }
        let scheme = self.scheme();
        match (&row.document, &row.salt, scheme) {
            (Some(document), Some(salt), Some(scheme)) => {
                let found = commit(scheme, salt, Role::Artifact, document.as_bytes());
                self.cell(
                    None,
                    &place,
                    "commitment of its document",
                    found,
                    row.commitment,
                );
            }
            (None, None, _) if self.tombstones.has(&row.id) => self.counts.erased += 1,
            (None, ..) if self.is_unkept(&row) => {}
            (_, _, None) => {}
            _ => {
                let expected = "its document and salt, or a tombstone on record";
                self.fault(None, place, expected, "neither");
            }
        }
        Ok(())
    }

    /// Reads every tombstone that opens its commitment.
    pub fn read_tombstones(&mut self) -> Result<(), VerifyError> {
        let Some(scheme) = self.scheme() else {
            return Ok(());
        };
        let rows = self
            .rows(self.store.artifacts(ArtifactFilter::Kind(TOMBSTONE)))?
            .unwrap_or_default();
        for row in rows {
            let (Some(text), Some(salt)) = (row.document, row.salt) else {
                continue;
            };
            if commit(scheme, &salt, Role::Artifact, text.as_bytes()) == row.commitment {
                self.tombstones.take(row.line, &text);
            }
        }
        Ok(())
    }

    /// What erasing looks up is what the tombstones name.
    pub fn check_tombstone_ids(&mut self) -> Result<(), VerifyError> {
        let mut expected = std::mem::take(&mut self.tombstones.named);
        let mut extra = Vec::new();
        let read = self.store.each_tombstone_id(&mut |named| {
            if !expected.remove(&named) {
                extra.push(named);
            }
            Ok(())
        });
        if self.rows(read)?.is_none() {
            return Ok(());
        }
        for (id, line) in extra {
            let place = format!("tombstone_id {id} of line {line}");
            self.fault(
                None,
                place,
                "no row: no tombstone of this line names it",
                "one",
            );
        }
        for (id, line) in expected {
            let place = format!("tombstone_id {id} of line {line}");
            self.fault(
                None,
                place,
                "a row, as the tombstone of this line names it",
                "none",
            );
        }
        Ok(())
    }
}

/// What tombstones on record name.
#[derive(Default)]
pub(crate) struct Tombstones {
    /// What was erased, which is not there any more.
    pub erased: ErasedOnRecord,
    gone: HashSet<String>,
    /// What is gone, each with the line of a tombstone that names it.
    named: BTreeSet<(String, u64)>,
    contexts: HashSet<String>,
}

impl Tombstones {
    fn take(&mut self, line: u64, document: &str) {
        self.erased.take(line, TOMBSTONE, Some(document));
        let Ok(document) = canon::parse::<ArtifactDoc>(document.as_bytes()) else {
            return;
        };
        let named = |key: &str| {
            let list = document.content[key]
                .as_array()
                .cloned()
                .unwrap_or_default();
            list.into_iter()
                .filter_map(|id| id.as_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let ids = named("ids");
        self.named.extend(ids.iter().map(|id| (id.clone(), line)));
        self.gone.extend(ids);
        self.contexts.extend(named("contexts"));
    }

    /// Whether the text of this exchange or artifact is said to be gone.
    pub fn has(&self, id: &str) -> bool {
        self.gone.contains(id)
    }

    /// Whether what stood before the model in this exchange is said to be gone.
    pub fn has_context(&self, exchange: &str) -> bool {
        self.contexts.contains(exchange)
    }
}
