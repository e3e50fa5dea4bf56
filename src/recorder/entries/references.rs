//! What was injected into a prompt, as rows.

use uuid::Uuid;

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::ArtifactRef;
use crate::record::ledger::exchange::row_id;
use crate::store::ArtifactRefRow;

use crate::recorder::RecorderError;

/// The row of the `i`th reference, counted from 0, of prompt `seq`.
pub(in crate::recorder) fn ref_row(
    r: &ArtifactRef,
    session: Hash32,
    exchange: Uuid,
    seq: u64,
    i: usize,
) -> Result<ArtifactRefRow, RecorderError> {
    let flags = if r.risk_flags.is_empty() {
        None
    } else {
        Some(canon::print(&r.risk_flags).map_err(|e: canon::CanonError| {
            RecorderError::Unrecordable {
                what: "risk flags",
                reason: e.to_string(),
            }
        })?)
    };
    Ok(ArtifactRefRow {
        ref_id: row_id(&format!("artifact_ref/{i}"), session, seq),
        exchange,
        artifact_type: r.artifact_type.clone(),
        artifact_id: r.artifact_id.clone(),
        artifact_hash: r.artifact_hash,
        included_reason: r.included_reason.clone(),
        observed_at: r.observed_at,
        freshness_s: r.freshness_s,
        risk_flags: flags,
    })
}
