//! The table of auth keys against the artifacts that add and revoke them: who may ask is evidence,
//! as it says who asked.

use std::collections::BTreeMap;

use crate::record::canon;
use crate::record::ledger::auth_key::{AuthKeyContent, FIRST, KIND, REVOKED};
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;
use crate::store::{ArtifactRow, AuthKeyRow};

use super::database::RowCheck;
use crate::verify::VerifyError;

/// What the artifacts say of one key.
#[derive(Default)]
struct AuthKeyRecord {
    /// Whether an artifact adds it; the key that a home was made with has none.
    is_added: bool,
    /// What that says; none where the document was lost with an older database.
    added: Option<AuthKeyContent>,
    /// The line that revokes it, and what its document says.
    revoked: Option<(u64, Option<AuthKeyContent>)>,
}

impl RowCheck<'_> {
    /// Every row is as the artifacts have it, and every key that they add has a row.
    pub fn check_auth_keys(&mut self, artifacts: &[ArtifactRow]) -> Result<(), VerifyError> {
        let mut records = auth_key_records(artifacts);
        let Some(rows) = self.rows(self.store.auth_keys())? else {
            return Ok(());
        };
        let mut unnamed = 0;
        for row in rows {
            let record = records.remove(&row.named().id()).unwrap_or_default();
            unnamed += u64::from(!record.is_added);
            self.check_auth_key(&row, &record, unnamed > 1)?;
        }
        for (id, record) in records {
            if record.added.is_some() {
                let place = format!("auth_key {id}");
                self.fault(None, place, "a row, as its artifact adds it", "none");
            }
        }
        Ok(())
    }

    fn check_auth_key(
        &mut self,
        row: &AuthKeyRow,
        record: &AuthKeyRecord,
        is_another: bool,
    ) -> Result<(), VerifyError> {
        let place = format!("auth_key {}", row.hash);
        if !record.is_added {
            if is_another {
                let expected = "a key that an artifact adds, as it is not the first";
                self.fault(None, place.clone(), expected, row.name.clone());
            } else {
                self.cell(None, &place, "name", FIRST, row.name.as_str());
            }
            // The first one is there since the ledger is.
            let made = self.line_of(0)?.map(|line| line.time);
            let made = made.unwrap_or(row.added_at);
            self.cell(None, &place, "added_at", made, row.added_at);
        }
        if let Some(added) = &record.added {
            self.cell(None, &place, "added_at", added.added_at, row.added_at);
            self.cell(None, &place, "auth_key_hash", added.hash, row.hash);
        }
        let revoked = match &record.revoked {
            Some((_, Some(named))) => {
                self.cell(None, &place, "auth_key_hash", named.hash, row.hash);
                named.revoked_at
            }
            Some((line, None)) => self.line_of(*line)?.map(|line| line.time),
            None => None,
        };
        self.cell_opt::<Seconds>(None, &place, "revoked_at", revoked, row.revoked_at);
        Ok(())
    }
}

/// By the id of the artifact that adds the key.
fn auth_key_records(artifacts: &[ArtifactRow]) -> BTreeMap<String, AuthKeyRecord> {
    let mut records: BTreeMap<String, AuthKeyRecord> = BTreeMap::new();
    for row in artifacts.iter().filter(|row| row.kind == KIND) {
        let document = row.document.as_deref().map(str::as_bytes);
        let document = document.and_then(|text| canon::parse::<ArtifactDoc>(text).ok());
        let named = document.and_then(|document| serde_json::from_value(document.content).ok());
        match row.id.strip_suffix(REVOKED) {
            Some(id) => {
                let record = records.entry(id.to_owned()).or_default();
                record.revoked.get_or_insert((row.line, named));
            }
            None => {
                let record = records.entry(row.id.clone()).or_default();
                record.is_added = true;
                record.added = named;
            }
        }
    }
    records
}
