//! Under which settings the newest record was made.

use crate::record::ledger::settings::{CONFIG_RELOAD, SettingTags, named_digest};

use super::access::{ReadStore, WriteStore};
use super::table::values;
use super::{ArtifactRow, SettingStateRow, SettingTag, StoreError};

impl ReadStore {
    /// The settings that the newest record was made under; none before the first.
    pub fn setting_state(&self) -> Result<Option<SettingStateRow>, StoreError> {
        self.row("WHERE id = 1", values![])
    }

    /// A tag of each of them.
    pub fn setting_tags(&self) -> Result<SettingTags, StoreError> {
        let rows: Vec<SettingTag> = self.rows("ORDER BY name", values![])?;
        let tags = rows.into_iter().map(|row| (row.name, row.tag));
        Ok(SettingTags(tags.collect()))
    }
}

impl WriteStore {
    /// Notes the settings that the next record is made under, in place of those noted before.
    pub fn put_settings(
        &mut self,
        state: &SettingStateRow,
        tags: &SettingTags,
    ) -> Result<(), StoreError> {
        let what = "note the settings";
        for all in ["DELETE FROM setting_state", "DELETE FROM setting_tag"] {
            self.change(what, all, values![])?;
        }
        self.add(state)?;
        let row = |(name, tag): (&String, &_)| SettingTag {
            name: name.clone(),
            tag: *tag,
        };
        self.add_all(&tags.0.iter().map(row).collect::<Vec<_>>(), &[])
    }

    /// What an artifact says of settings.
    pub(super) fn follow_settings(&self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        if artifact.kind != CONFIG_RELOAD {
            return Ok(());
        }
        let named = named_digest(artifact.document.as_deref());
        let sql = "UPDATE setting_state SET line = ?1, named = ?2";
        self.change("note settings", sql, values![artifact.line, named])
            .map(drop)
    }
}
