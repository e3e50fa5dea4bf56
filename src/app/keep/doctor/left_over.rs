//! What a killed process or an older backup leaves, and nobody has seen to yet; where there is nothing of
//! it, there is no check.

use std::path::Path;

use crate::keys::ImportKey;
use crate::record::canon;
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::imported::IMPORTED_CONVERSATION;
use crate::recorder::{self, ADOPT, LOST_WITH_DATABASE, Paths, RecorderError};
use crate::store::{ReadStore, Store, StoreError};

use super::DoctorCheck;
use crate::app::home::open::OpenHomeError;
use crate::app::keep::import::forgotten;
use crate::app::words::counted;

/// What the check of the key of imports is called.
const IMPORT_KEY_CHECK: &str = "import key";
/// So many questions are named.
const MOST: usize = 5;

/// All of them.
pub fn all(store: &Store, paths: &Paths) -> Vec<DoctorCheck> {
    let failed = |name: &'static str| {
        move |e: RecorderError| {
            Some(DoctorCheck::fail(
                name,
                e.to_string(),
                "gently audit verify",
            ))
        }
    };
    let waited = unanswered(store, paths).unwrap_or_else(failed("questions"));
    let erased = came_back(store).map_err(RecorderError::from);
    let erased = erased.unwrap_or_else(failed("erasings"));
    let hidden = key_of_imports(store, &paths.root).unwrap_or_else(|error| {
        let found = error.to_string();
        Some(DoctorCheck::fail(IMPORT_KEY_CHECK, found, KEY_BACK))
    });
    let lost = lost_imports(store).map_err(RecorderError::from);
    let lost = lost.unwrap_or_else(failed("imported texts"));
    let all = waited.into_iter().chain(erased).chain(hidden);
    all.chain(lost).collect()
}

/// What brings the key of imports back.
const KEY_BACK: &str = "put keys/import.key back from a backup before you import again";

/// The key under which ids of imported conversations stand on record as hashes, where it is gone.
fn key_of_imports(store: &ReadStore, root: &Path) -> Result<Option<DoctorCheck>, OpenHomeError> {
    let keys = root.join("keys");
    let hidden = forgotten(&keys, store)?;
    if hidden == 0 {
        return Ok(None);
    }
    let state = match ImportKey::is_whole(&keys) {
        true => "is another one than it was",
        false => "is missing, or is no key",
    };
    let found = format!(
        "keys/import.key {state}: {} whose ids stand on record as hashes can't be known again, and the next \
         import records the same a second time",
        counted(hidden, "imported conversation")
    );
    Ok(Some(DoctorCheck::warn(IMPORT_KEY_CHECK, found, KEY_BACK)))
}

/// Imported conversations whose text is gone, and no erasing is on record: nothing else holds it.
fn lost_imports(store: &ReadStore) -> Result<Option<DoctorCheck>, StoreError> {
    let lost = store.not_kept(IMPORTED_CONVERSATION)?;
    let found = format!(
        "{} without a text, and no record says that it was erased",
        counted(lost, "imported conversation")
    );
    let mend = "gently audit verify names them; restore a backup, or import the same file again";
    Ok((lost > 0).then(|| DoctorCheck::fail("imported texts", found, mend)))
}

/// Questions without an answer for which no process waits.
fn unanswered(store: &Store, paths: &Paths) -> Result<Option<DoctorCheck>, RecorderError> {
    let mut left = Vec::new();
    for session in store.open_sessions()? {
        for exchange in store.in_flight(session.uuid)? {
            let name = format!("{}/{}", session.id.short8(), exchange.seq);
            left.push((exchange.exchange_id, name));
        }
    }
    if left.is_empty() {
        return Ok(None);
    }
    let waited_for = recorder::waited_for(paths)?;
    left.retain(|(id, _)| !waited_for.contains(id));
    // One that was answered between the two looks waits for nobody.
    let still = |(id, _): &(_, String)| {
        store
            .exchange(*id)
            .map(|row| row.is_some_and(|row| row.outcome.is_none()))
    };
    let mut names = Vec::new();
    for one in left {
        if still(&one)? {
            names.push(one.1);
        }
    }
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let found = format!(
        "{} without an answer, and no process waits for one any more: {}{more}",
        counted(names.len(), "question"),
        shown.join(", ")
    );
    let mend = "gently session close puts on record that it was given up; or ask again";
    Ok((!names.is_empty()).then(|| DoctorCheck::warn("questions", found, mend)))
}

/// Texts that were erased, and that a backup from before brought back: what was adopted says that there
/// was an erasing, and nobody has erased since.
fn came_back(store: &ReadStore) -> Result<Option<DoctorCheck>, StoreError> {
    let Some(adopted) = store.newest_artifact(ADOPT)? else {
        return Ok(None);
    };
    let erasings = document(adopted.document.as_deref())
        .and_then(|doc| doc.content.get("erasings")?.as_u64())
        .unwrap_or_default();
    let newest = store.newest_artifact(TOMBSTONE)?;
    let erased_since = newest.is_some_and(|row| {
        let reason =
            document(row.document.as_deref()).and_then(|doc| doc.content.get("reason").cloned());
        row.line > adopted.line && reason != Some(LOST_WITH_DATABASE.into())
    });
    if erasings == 0 || erased_since {
        return Ok(None);
    }
    let found = format!(
        "{} on record from after the backup: the texts that went then are here again with the backup, if it had them",
        counted(erasings, "erasing")
    );
    Ok(Some(DoctorCheck::warn(
        "erasings",
        found,
        "gently erase EXCHANGE, for each that had been erased",
    )))
}

fn document(text: Option<&str>) -> Option<ArtifactDoc> {
    canon::parse(text?.as_bytes()).ok()
}
