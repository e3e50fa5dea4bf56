//! Imports on record: their list, and one of them with its conversations.

use serde_json::Value;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::imported::{ListedImport, listed};
use crate::home::Home;
use crate::keys::{ImportKey, RunningImport};
use crate::record::ledger::imported::{IMPORT, ImportedConversation, ImportedState};
use crate::record::ledger::item::content;
use crate::record::ledger::short_name::{record_name_of, short_name};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ArtifactFilter, ReadStore};

/// An import, as lists show it.
pub struct ImportSummary {
    /// Its id, such as `import:000001`.
    pub id: String,
    /// When it was put on record; none of one that was ended before.
    pub at: Option<Seconds>,
    /// What its artifact says; none of one that was ended before it was on record, and of one that has a
    /// time, but is erased.
    pub content: Option<Value>,
    /// How many conversations of it are on record with their texts.
    pub conversations: u64,
    /// How many of these a later import replaced.
    pub replaced: u64,
    /// The process that it runs in, while it does.
    pub running: Option<String>,
    /// When all of it was erased; none of one of which something is here, or was lost.
    pub erased: Option<Seconds>,
}

/// The newest imports of a home, so many at most, the oldest first, and how many older ones there are.
pub fn imports(home: &Home, most: u32) -> Result<(Vec<ImportSummary>, usize), OpenHomeError> {
    let mut all = all(home)?;
    let older = all
        .len()
        .saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    Ok((all.split_off(older), older))
}

/// All imports of a home, the oldest first.
fn all(home: &Home) -> Result<Vec<ImportSummary>, OpenHomeError> {
    let store = open::store(home)?;
    let keys = home.root().join("keys");
    // One that ends meanwhile, or begins, was at work all the same.
    let before = ImportKey::running(&keys)?;
    let mut found = all_on_record(&store)?;
    let running = ImportKey::running(&keys)?;
    for import in found.iter_mut().filter(|import| import.at.is_none()) {
        let is_it = |running: &&RunningImport| running.import == import.id;
        let running = running.iter().chain(&before).find(is_it);
        import.running = running.map(|running| running.process.clone());
    }
    Ok(found)
}

/// All imports that a home has on record, the oldest first.
fn all_on_record(store: &ReadStore) -> Result<Vec<ImportSummary>, OpenHomeError> {
    store.reading(|store| {
        let mut found: Vec<ImportSummary> = Vec::new();
        for row in store.artifacts(ArtifactFilter::Kind(IMPORT))? {
            let (conversations, replaced) = count(store, &row.id)?;
            let content = content(row.document.as_deref());
            let is_gone = content.is_none() && conversations == 0;
            let named = is_gone.then(|| store.tombstone_of(&row.id)).transpose()?;
            let erased = named.flatten().map(|line| store.time_of_line(line));
            found.push(ImportSummary {
                at: store.time_of_line(row.line)?,
                content,
                conversations,
                replaced,
                running: None,
                erased: erased.transpose()?.flatten(),
                id: row.id,
            });
        }
        for id in store.named_imports()? {
            if found.iter().all(|known| known.id != id) {
                let (conversations, replaced) = count(store, &id)?;
                found.push(ImportSummary {
                    conversations,
                    replaced,
                    running: None,
                    erased: None,
                    id,
                    at: None,
                    content: None,
                });
            }
        }
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    })
}

/// How many conversations of an import are here, and how many of them are replaced.
fn count(store: &ReadStore, id: &str) -> Result<(u64, u64), OpenHomeError> {
    let all = store.imported_with(id)?;
    let is_replaced = |row: &&ImportedConversation| row.state == ImportedState::Replaced;
    let replaced = all.iter().filter(is_replaced).count();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Ok((number(all.len()), number(replaced)))
}

/// Refuses what would be undone at once: an import that runs puts more on record.
pub fn refuse_running(import: &ImportSummary) -> Result<(), OpenHomeError> {
    let Some(process) = &import.running else {
        return Ok(());
    };
    let name = short_name(&import.id);
    Err(OpenHomeError::Refused(format!(
        "{name} is still running, in process {process}: what it reads after an erasing would be recorded all the same. \
         Wait until it has ended, or end it (Ctrl-C where it runs), and give the same command again; gently import list \
         says whether it runs"
    )))
}

/// One import, with its conversations that are on record with their texts, oldest first.
pub fn shown(
    home: &Home,
    typed: &str,
) -> Result<(ImportSummary, Vec<ListedImport>), OpenHomeError> {
    let id = record_name_of(IMPORT, typed).unwrap_or_else(|| typed.trim().to_owned());
    let found = all(home)?.into_iter().find(|one| one.id == id);
    let found = found.ok_or_else(|| {
        if id.starts_with("imported:") {
            let name = short_name(&id);
            let why =
                format!("{name} is a conversation, and no import. To see it: gently conversation show {name}; to erase it: gently erase {name}");
            return OpenHomeError::Refused(why);
        }
        OpenHomeError::Refused(format!(
            "no import '{}' here: gently import list shows them",
            spelled_on_a_line(typed)
        ))
    })?;
    let store = open::store(home)?;
    let conversations = store.reading(|store| {
        let all = store.imported_with(&found.id)?.into_iter();
        all.map(|row| Ok(listed(store, row)?))
            .collect::<Result<Vec<_>, OpenHomeError>>()
    })?;
    Ok((found, conversations))
}
