//! Whether the artifacts in the database are those that the log names.

use std::collections::BTreeMap;

use crate::home::Home;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Scheme, commit};
use crate::recorder::CONTENT_POLICY;
use crate::store::{ArtifactFilter, ArtifactRow, ReadStore, StoreError};

/// A line, from 0, at which row and log do not agree on an artifact of a kind; none where all do. Reads all
/// lines.
pub(super) fn unrecorded(store: &ReadStore, kind: &str) -> Result<Option<u64>, StoreError> {
    let genesis = Home::genesis(store).map_err(|e| StoreError::Corrupt {
        place: "head.genesis".to_owned(),
        expected: "a genesis document".to_owned(),
        actual: e.to_string(),
    })?;
    let rows = store.artifacts(ArtifactFilter::Kind(kind))?;
    let lines: BTreeMap<u64, String> = store.artifact_lines(kind)?.into_iter().collect();
    // Without openings no salt is kept, and nobody can tell.
    let can_open = store.artifact_lines(CONTENT_POLICY)?.is_empty();
    let is_recorded = |row: &ArtifactRow| {
        let line = lines.get(&row.line);
        let is_named = line.is_some_and(|line| is_named_in(row, line));
        is_named && opens(row, genesis.commitments).unwrap_or(!can_open)
    };
    let wrong = rows.iter().find(|row| !is_recorded(row));
    let missing = || {
        let is_there = |line: &&u64| rows.iter().any(|row| row.line == **line);
        lines.keys().find(|line| !is_there(line)).copied()
    };
    Ok(wrong.map(|row| row.line).or_else(missing))
}

fn is_named_in(row: &ArtifactRow, line: &str) -> bool {
    line.ends_with(&format!("id:{},hash:{}", row.id, row.commitment))
}

/// Whether a document gives its commitment; none where it has no salt. What is erased is in no doubt.
fn opens(row: &ArtifactRow, scheme: Scheme) -> Option<bool> {
    let Some(document) = &row.document else {
        return Some(true);
    };
    let found = match (scheme, &row.salt) {
        (Scheme::Sha256, _) => Hash32::digest(document.as_bytes()),
        (Scheme::HmacSha256, Some(salt)) => {
            commit(scheme, salt, Role::Artifact, document.as_bytes())
        }
        (Scheme::HmacSha256, None) => return None,
    };
    Some(found == row.commitment)
}
