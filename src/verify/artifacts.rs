//! Artifacts of the database against their lines and commitments; what was erased (format, section 11.6).

use crate::record::commitment::{Role, commit};
use crate::record::entry::Event;
use crate::record::item::Items;
use crate::store::Read;

use super::VerifyError;
use super::checker::Checker;
use super::database::DatabaseCounts;
use super::exchanges::describe;
use super::report::Question;

impl Checker<'_> {
    /// Every artifact against its line and its commitment.
    pub(super) fn check_artifacts(
        &mut self,
        store: &dyn Read,
        level: bool,
        counts: &mut DatabaseCounts,
    ) -> Result<(), VerifyError> {
        let Some(rows) = self.rows(store.artifacts())? else { return Ok(()) };
        if level {
            self.cell(None, "artifact", "rows", self.lines.artifacts, u64::try_from(rows.len()).unwrap_or(u64::MAX));
        }
        let mut items = Items::default();
        for row in rows {
            items.take(row.line, &row.kind, &row.id, row.document.as_deref(), row.commitment);
            counts.artifacts += 1;
            let place = format!("artifact of line {}", row.line);
            if let Some(line) = self.line_of(store, row.line)? {
                let event = Event::Artifact { kind: row.kind.clone(), id: row.id.clone(), hash: row.commitment };
                self.cell(line.session, &place, "line", describe(&line.event), describe(&event));
            } else if level {
                self.cell(None, &place, "line", "a line of the log".to_owned(), "none".to_owned());
            }
            let scheme = self.genesis.as_ref().map(|genesis| genesis.commitments);
            match (&row.document, &row.salt, scheme) {
                (Some(document), Some(salt), Some(scheme)) => {
                    let found = commit(scheme, salt, Role::Artifact, document.as_bytes());
                    self.cell(None, &place, "commitment of its document", found, row.commitment);
                }
                (None, None, _) if self.has_tombstone(store, &row.id)? => counts.erased += 1,
                (_, _, None) => {}
                _ => {
                    let expected = "its document and salt, or a tombstone on record";
                    self.findings.add(Question::Consistent, None, format!("database, {place}"), expected, "neither");
                }
            }
        }
        self.check_items(store, items.into_map())
    }

    /// Whether a `tombstone` artifact whose document is there names this id.
    pub(super) fn has_tombstone(&mut self, store: &dyn Read, id: &str) -> Result<bool, VerifyError> {
        let rows = self.rows(store.artifacts())?.unwrap_or_default();
        let named = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(&format!("\"{id}\"")));
        Ok(rows.iter().any(|row| row.kind == "tombstone" && named(&row.document)))
    }
}
