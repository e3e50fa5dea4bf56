//! Texts that were never kept: what the ledger says of it, and what can be checked without them.
//!
//! Without a text nothing holds it against its commitment: that is told as *not checked*, and is no
//! fault.

use std::collections::BTreeMap;

use crate::record::ledger::commitment::{Role, Scheme, commit};
use crate::record::ledger::content_policy::{CONTENT_POLICY, ContentPolicy};
use crate::record::ledger::item::ItemKind;
use crate::record::ledger::params::Params;
use crate::store::{
    ArtifactFilter, ArtifactRow, ExchangeRows, MissingCommitments, StoreError, TurnRow,
};

use super::database::RowCheck;
use crate::verify::VerifyError;

/// What was kept, by the line from which on it was so; true: openings.
#[derive(Default)]
pub(crate) struct ContentPolicies(BTreeMap<u64, Option<bool>>);

impl ContentPolicies {
    /// Every policy that opens its commitment.
    pub fn of(rows: Vec<ArtifactRow>, scheme: Scheme) -> ContentPolicies {
        let mut policies = ContentPolicies::default();
        for row in rows {
            let (Some(text), Some(salt)) = (&row.document, &row.salt) else {
                // It is lost with the database that held it: from here on nobody knows, and nothing
                // is excused.
                policies.0.insert(row.line, None);
                continue;
            };
            if commit(scheme, salt, Role::Artifact, text.as_bytes()) != row.commitment {
                continue;
            }
            let openings = match ContentPolicy::read(text) {
                Some(ContentPolicy::Nothing { openings }) => Some(openings),
                // What can't be read excuses nothing either.
                Some(ContentPolicy::Sanitized) | None => None,
            };
            policies.0.insert(row.line, openings);
        }
        policies
    }

    /// Whether texts were not kept at a line, and if so, whether salts were.
    pub fn at(&self, line: u64) -> Option<bool> {
        self.0
            .range(..line)
            .next_back()
            .and_then(|(_, policy)| *policy)
    }
}

impl RowCheck<'_> {
    /// Reads every policy that opens its commitment.
    pub fn read_policies(&mut self) -> Result<(), VerifyError> {
        let Some(scheme) = self.scheme() else {
            return Ok(());
        };
        let rows = self.rows(self.store.artifacts(ArtifactFilter::Kind(CONTENT_POLICY)))?;
        self.policies = ContentPolicies::of(rows.unwrap_or_default(), scheme);
        Ok(())
    }

    /// An exchange whose texts were not kept: the ledger says that none were, and none are here.
    pub fn check_unkept(&mut self, rows: &ExchangeRows<'_>, not_kept: MissingCommitments) {
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let Some(openings) = self.policies.at(row.prompt_line) else {
            let expected = "its texts, or a policy on record that keeps none";
            self.fault(id, place, expected, "neither");
            return;
        };
        let text = |turn: &TurnRow| turn.content.is_some();
        let params = row.params.as_deref().map(Params::parse).transpose();
        let told = params.map_or(true, |p| {
            p.is_some_and(|p| p.system.is_some() || p.expect.is_some())
        });
        let here = [&rows.user, &rows.aurora].into_iter().flatten().any(text)
            || row.bundle_json.is_some()
            || row.has_texts_beside()
            || told;
        self.cell(
            id,
            &place,
            "texts, which the policy keeps none of:",
            "none",
            if here { "some" } else { "none" },
        );
        self.cell(
            id,
            &place,
            "compiled, by its commitments",
            not_kept.bundle.is_some(),
            not_kept.compiled_prompt.is_some(),
        );
        if self.tombstones.has(&row.exchange_id.to_string()) {
            self.check_erased(rows);
            return;
        }
        self.cell(
            id,
            &place,
            "salt and digests, as the policy keeps them",
            openings,
            row.salt.is_some(),
        );
        let digests = rows
            .user
            .as_ref()
            .is_some_and(|turn| turn.content_hash.is_some());
        self.cell(
            id,
            &place,
            "content_hash, as the policy keeps it",
            openings,
            digests,
        );
        self.counts.not_kept += 1;
    }

    /// An exchange whose texts are here, or erased: no policy forbade it.
    pub fn check_policy(&mut self, rows: &ExchangeRows<'_>) {
        let forbidden = self.policies.at(rows.exchange.prompt_line).is_some();
        if forbidden && !self.tombstones.has(&rows.exchange.exchange_id.to_string()) {
            let expected = "no text, as the policy on record keeps none";
            self.fault(Some(rows.session.id), rows.place(), expected, "a text");
        }
    }

    /// Whether an artifact without a document was never kept, by the policy at its line; counts it.
    pub fn is_unkept(&mut self, row: &ArtifactRow) -> bool {
        let policy = self
            .policies
            .at(row.line)
            .filter(|_| row.kind.parse::<ItemKind>().is_ok());
        let is =
            policy.is_some_and(|openings| row.document.is_none() && row.salt.is_some() == openings);
        if is {
            self.counts.not_kept += 1;
        }
        is
    }

    /// Compares the search indexes with what they are of. They are no evidence: what a search
    /// selected is on record.
    pub fn check_search(&self) -> Result<Option<Vec<String>>, VerifyError> {
        match self.store.search_faults(MOST_FAULTS) {
            Ok(faults) => Ok(Some(faults)),
            Err(
                error @ (StoreError::Busy { .. }
                | StoreError::Missing { .. }
                | StoreError::NoFile { .. }),
            ) => Err(error.into()),
            Err(error) => Ok(Some(vec![format!(
                "the search indexes can't be read: {error}"
            )])),
        }
    }
}

/// So many differences of the search indexes are named.
const MOST_FAULTS: u32 = 20;
