//! What is noted of settings, which is derived, against the artifacts that name them.

use crate::record::ledger::settings::{CONFIG_RELOAD, named_digest};
use crate::store::ArtifactRow;

use super::database::RowCheck;
use crate::verify::VerifyError;

/// What a database without these rows has in their place.
const NONE: &str = "none";

impl RowCheck<'_> {
    /// Tags give the digest beside them, and line and digest are those of the newest artifact that
    /// names settings; `artifacts` are all.
    pub fn check_settings(&mut self, artifacts: &[ArtifactRow]) -> Result<(), VerifyError> {
        let state = self.rows(self.store.setting_state())?;
        let (Some(state), Some(tags)) = (state, self.rows(self.store.setting_tags())?) else {
            return Ok(());
        };
        let mut newest = artifacts.iter().rev();
        let newest = newest.find(|row| row.kind == CONFIG_RELOAD);
        let named = newest.and_then(|row| named_digest(row.document.as_deref()));
        let place = "settings of the newest record";
        let Some(state) = state else {
            // A ledger that was taken over brings lines, and no rows.
            if named.is_some() || !tags.0.is_empty() {
                self.fault(None, place, "a row", NONE);
            }
            return Ok(());
        };
        let told = |value: Option<String>| value.unwrap_or_else(|| NONE.to_owned());
        let given = tags.digest(state.key).ok();
        self.cell(
            None,
            place,
            "digest, as their tags give it",
            told(given.map(|digest| digest.to_string())),
            state.digest.to_string(),
        );
        self.cell(
            None,
            place,
            "line of what names them",
            told(newest.map(|row| row.line.to_string())),
            told(state.line.map(|line| line.to_string())),
        );
        self.cell(
            None,
            place,
            "digest, as it was named",
            told(named.map(|digest| digest.to_string())),
            told(state.named.map(|digest| digest.to_string())),
        );
        Ok(())
    }
}
