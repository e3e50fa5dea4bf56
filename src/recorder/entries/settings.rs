//! Under which settings something is recorded, and how the record says that they changed.
//!
//! An artifact of kind `config_reload` stands before the first record under other settings than the
//! newest such artifact names. The settings of a home's first record are those to begin with: they
//! are noted in the database, and no artifact names them. See [`crate::record::ledger::settings`].

use std::collections::BTreeMap;

use serde_json::json;

use crate::record::canon::CanonError;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::settings::{CONFIG_RELOAD, SettingTags, named_digest};
use crate::record::time::Seconds;
use crate::store::SettingStateRow;

use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

/// The settings in force that count: their names, and their values as `gently.toml` would hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsInForce(pub BTreeMap<&'static str, String>);

fn undigestible(error: CanonError) -> RecorderError {
    RecorderError::Unrecordable {
        what: "the settings",
        reason: error.to_string(),
    }
}

/// Puts on record that settings changed, if they did; without word of any they are as they were.
pub(in crate::recorder) fn settle_settings(
    transaction: &mut LedgerTransaction<'_>,
    now: Seconds,
) -> Result<(), RecorderError> {
    let context = transaction.writer_context;
    let Some(settings) = &context.settings else {
        return Ok(());
    };
    let known = transaction.tx.setting_state()?;
    let key = known
        .as_ref()
        .map_or_else(|| context.settings_key(), |known| known.key);
    let tags = SettingTags::of(&settings.0, key);
    let digest = tags.digest(key).map_err(undigestible)?;
    if known.as_ref().is_some_and(|known| known.holds(digest)) {
        return Ok(());
    }
    let before = transaction.tx.setting_tags()?;
    let state = match known {
        Some(known) => SettingStateRow { digest, ..known },
        // What was taken over from a newer ledger may have brought such artifacts.
        None => {
            let newest = transaction.tx.newest_artifact(CONFIG_RELOAD)?;
            SettingStateRow {
                key,
                digest,
                line: newest.as_ref().map(|row| row.line),
                named: newest.and_then(|row| named_digest(row.document.as_deref())),
            }
        }
    };
    let is_first = before.0.is_empty() && state.line.is_none();
    transaction.tx.put_settings(&state, &tags)?;
    if is_first {
        return Ok(());
    }
    let head = &transaction.head;
    let salt = context.salt("gently/1/config_reload/", &head.lines.to_be_bytes());
    let doc = ArtifactDoc {
        content: json!({"changed": before.changed(&tags), "digest": digest}),
        format: Format,
        id: format!("{CONFIG_RELOAD}-{}", head.hash.short16()),
        kind: CONFIG_RELOAD.to_owned(),
    };
    transaction.artifact(now, None, &doc, salt).map(drop)
}
