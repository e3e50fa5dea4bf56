//! What continuity put before a model, and what it selects from, against the artifacts on record.

use std::collections::{BTreeMap, HashSet};

use crate::record::canon;
use crate::record::exchange::MissingTurn;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{OpenItem, StoredBundle};
use crate::record::ledger::item::{Item, ItemState};
use crate::record::ledger::prompt::{IMPORTED, ON_RECORD, PriorTurn, TURN};
use crate::store::{ArtifactFilter, ArtifactRefRow, SessionRow};

use super::database::RowCheck;
use super::derived::{DerivedFields, column};
use super::exchange_rows::ExchangeEvidence;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// The earlier turns that references name and that stand beside the context block; one that is
    /// not here is a finding, one that is erased is none.
    pub fn prior_turns(
        &mut self,
        session: &SessionRow,
        refs: &[ArtifactRefRow],
        has_context: bool,
    ) -> Result<Vec<Result<PriorTurn, MissingTurn>>, VerifyError> {
        let mut turns = Vec::new();
        for row in refs.iter().filter(|row| row.is_in_turns(has_context)) {
            let turn = match row.artifact_id.parse() {
                Ok(id) => self.rows(self.store.turn(id))?.flatten(),
                Err(_) => None,
            };
            match turn {
                Some(turn) => {
                    let erased = || MissingTurn::Erased(row.artifact_id.clone());
                    turns.push(turn.prior().ok_or_else(erased));
                }
                None => {
                    let place = format!("context_artifact_ref {}", row.ref_id);
                    let expected = "the id of a turn that is here";
                    self.fault(Some(session.id), place, expected, row.artifact_id.clone());
                }
            }
        }
        Ok(turns)
    }

    /// `artifact_hash` is that of the kernel, of the artifact as it stands in the bundle, or what
    /// its line commits to.
    pub fn check_injected(&mut self, evidence: &ExchangeEvidence<'_>) -> Result<(), VerifyError> {
        let (rows, bundle) = (&evidence.rows, evidence.record.bundle.as_ref());
        let bundle = match bundle.map(StoredBundle::read) {
            Some(Ok(bundle)) => Some(bundle),
            // The finding is that of the exchange document.
            Some(Err(_)) => return Ok(()),
            None => None,
        };
        let place = rows.place();
        for row in &rows.refs {
            let expected = match (row.artifact_type.as_str(), &bundle) {
                ("kernel", _) => Some(rows.session.kernel_hash),
                (TURN, _) => self.turn_hash(row)?,
                (IMPORTED, _) => {
                    let which = ArtifactFilter::Id(&row.artifact_id);
                    match self.rows(self.store.artifacts(which))? {
                        Some(artifacts) => artifacts.first().map(|artifact| artifact.commitment),
                        None => continue,
                    }
                }
                (kind, _) if ON_RECORD.contains(&kind) => {
                    match self.rows(self.store.item(&row.artifact_id))? {
                        Some(item) => item.map(|item| item.hash),
                        None => continue,
                    }
                }
                // Nothing says what it was: it was never kept.
                (_, None) if rows.exchange.not_kept.is_some() => continue,
                // Erased with the bundle.
                (_, None) => None,
                ("driftwatch", Some(bundle)) => {
                    let is_it = |item: &&OpenItem| item.id == row.artifact_id;
                    bundle
                        .open_items
                        .iter()
                        .find(is_it)
                        .and_then(|item| canon::digest(item).ok())
                }
                (tool, Some(bundle)) => bundle
                    .sight
                    .get(tool)
                    .and_then(|entry| canon::digest(entry).ok()),
            };
            let what = format!("context_artifact_ref.artifact_hash of {}", row.artifact_id);
            self.cell_opt(
                Some(rows.session.id),
                &place,
                &what,
                expected,
                row.artifact_hash,
            );
        }
        Ok(())
    }

    /// The ledger's commitment to a turn.
    fn turn_hash(&mut self, row: &ArtifactRefRow) -> Result<Option<Hash32>, VerifyError> {
        let Ok(turn) = row.artifact_id.parse() else {
            return Ok(None);
        };
        let exchange = self.rows(self.store.exchange_of_turn(turn))?.flatten();
        Ok(
            exchange.and_then(|exchange| match exchange.turn_user == turn {
                true => Some(exchange.prompt_commitment),
                false => exchange
                    .outcome
                    .and_then(|outcome| outcome.response_commitment),
            }),
        )
    }

    /// Every item is what the artifacts give.
    pub fn check_items(&mut self, mut expected: BTreeMap<String, Item>) -> Result<(), VerifyError> {
        let mut found = Vec::new();
        let read = self.store.each_item(&mut |item| {
            found.push((item.id.clone(), item));
            Ok(())
        });
        if self.rows(read)?.is_none() {
            return Ok(());
        }
        // An artifact whose document was lost before it came into this database has no row.
        let known: HashSet<&String> = found.iter().map(|(id, _)| id).collect();
        expected.retain(|id, item| item.state != ItemState::Erased || known.contains(id));
        self.compare_derived("continuity_item", expected, found);
        Ok(())
    }
}

impl DerivedFields for Item {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("line", self.line.to_string()),
            ("kind", self.kind.name().to_owned()),
            ("state", self.state.name().to_owned()),
            ("state_line", self.state_line.to_string()),
            ("subject", column(self.subject.as_ref())),
            ("source", column(self.source.as_ref())),
            ("observed_at", column(self.observed_at)),
            ("confidence", column(self.confidence.as_ref())),
            ("confidence_milli", column(self.confidence_milli)),
            ("decay", column(self.decay)),
            ("domain", column(self.domain.as_ref())),
            ("phase", column(self.phase.as_ref())),
            ("tier", column(self.tier)),
            ("session", column(self.session)),
            ("hash", self.hash.to_string()),
        ]
    }
}
