//! Imported conversations, as people look at them: which they are, and what stands in one.
//!
//! None of it was governed or judged when it was said: wherever one is shown, it is said where it is
//! from.

use serde_json::Value;

use crate::app::find::conversation::{LEAST, LOOKED_THROUGH, conversation};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::show::erased;
use crate::app::remember::project;
use crate::app::words::beginning;
use crate::ask::stored_text::StoredTexts;
use crate::home::Home;
use crate::record::ledger::conversation::LAST;
use crate::record::ledger::imported::{
    ImportFormat, ImportedConversation, ImportedState, format_of, messages_of, way_shown,
};
use crate::record::ledger::item::content;
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::log::page_cursor::PageCursor;
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ReadStore, StoreError};

/// So many conversations of one title are named.
const NAMED: u32 = 5;
/// So much of a first message stands for a title.
const TITLE: usize = 60;

/// `imported from ChatGPT on 2026-11-27, not verified`.
pub fn origin_words(format: Option<ImportFormat>, at: Option<Seconds>) -> String {
    const DAY: usize = "2026-11-27".len();
    let day = at.map(|at| at.to_string());
    let day = day.as_deref().and_then(|at| at.get(..DAY));
    let on = day.map_or_else(String::new, |day| format!(" on {day}"));
    match format {
        Some(format) => format!("imported from {}{on}, not verified", format.shown()),
        None => format!("imported{on}; nothing of it is here"),
    }
}

/// The word for where it is from, as the database's views have it: `imported:chatgpt`.
pub fn origin_word(format: Option<ImportFormat>) -> String {
    format!("imported:{}", format.map_or("", |format| format.name()))
}

/// An imported conversation in a list.
pub struct ListedImport {
    /// Its row.
    pub row: ImportedConversation,
    /// When it was put on record.
    pub at: Option<Seconds>,
    /// What its source called it.
    pub title: Option<String>,
    /// The name of its project in the source.
    pub project: Option<String>,
    /// How its first message begins, for one without a title.
    pub begins: Option<String>,
    /// The models that its source names, each once.
    pub models: Vec<String>,
    /// Id of the newest version of it, where this is an older one.
    pub replaced_by: Option<String>,
}

impl ListedImport {
    /// What a list calls it.
    pub fn called(&self) -> String {
        let titled = self
            .title
            .as_deref()
            .filter(|title| !title.trim().is_empty());
        match (titled, &self.begins) {
            (Some(title), _) => title.to_owned(),
            (None, Some(begins)) => begins.clone(),
            (None, None) => "(no text is here)".to_owned(),
        }
    }
}

/// A message of an imported conversation.
pub struct ImportedLine {
    /// Its place in the conversation, from 1.
    pub number: u64,
    /// Its id in the source.
    pub id: String,
    /// The id of the message that it replies to.
    pub parent: Option<String>,
    /// `user`, `assistant`, `system`, `tool`.
    pub role: String,
    /// The model, as the source names it.
    pub model: Option<String>,
    /// When, as the source says.
    pub at: Option<Seconds>,
    /// What it says.
    pub text: String,
    /// Whether it stands on the way that its source showed last; else it is of another branch.
    pub is_on_way: bool,
}

/// What stands in an imported conversation.
pub struct ImportedPage {
    /// The conversation.
    pub listed: ListedImport,
    /// Its messages, in the order of the source.
    pub messages: Vec<ImportedLine>,
    /// Whether its text is not what was recorded.
    pub is_changed: bool,
    /// When and why it was erased.
    erased: Option<(String, String)>,
}

/// A page of the list of imported conversations.
pub struct ImportedList {
    /// Those first that their sources say were changed last.
    pub conversations: Vec<ListedImport>,
    /// Where the next page begins; none when this is the last one.
    pub next: Option<PageCursor>,
}

/// How many imported conversations are listed.
pub fn count(home: &Home) -> Result<u64, OpenHomeError> {
    Ok(open::store(home)?.count_imported()?)
}

/// A page of the imported conversations of a home.
pub fn list(home: &Home, before: Option<&str>, most: u32) -> Result<ImportedList, OpenHomeError> {
    let before = before.map(|text| text.trim().parse::<PageCursor>());
    let before = before.transpose();
    let before = before.map_err(|e| OpenHomeError::Refused(e.to_string()))?;
    let store = open::store(home)?;
    store.reading(|store| {
        if let Some(cursor) = before
            && (!store.is_place(cursor)? || store.imported_of_line(cursor.line)?.is_none())
        {
            let why = "the cursor is of another home, or of a conversation that was erased: take one that gently \
                       conversation list --imported printed";
            return Err(OpenHomeError::Refused(why.to_owned()));
        }
        let line = before.map(|cursor| cursor.line);
        let mut rows = store.imported_behind(line, most.saturating_add(1))?;
        let has_more = rows.len() > usize::try_from(most).unwrap_or(usize::MAX);
        rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let last = rows.last().filter(|_| has_more).map(|row| row.line);
        let next = last.map(|line| store.cursor(line)).transpose()?.flatten();
        let conversations = rows.into_iter().map(|row| listed(store, row));
        Ok(ImportedList {
            conversations: conversations.collect::<Result<_, _>>()?,
            next,
        })
    })
}

/// The imported conversation that a text means: by its id, or by its title where no conversation of
/// one's own is meant. None where it means something else.
pub fn find(home: &Home, typed: &str) -> Result<Option<ImportedConversation>, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    if let Some(id) = record_name(typed).filter(|id| id.starts_with("imported:")) {
        let found = store.imported(&id)?.ok_or_else(|| {
            OpenHomeError::Refused(format!(
                "there is no {} here: gently conversation list --imported shows them",
                short_name(&id)
            ))
        });
        return found.map(Some);
    }
    let mut titled = store.imported_titled(typed.trim(), NAMED)?;
    if titled.is_empty() && store.count_imported()? == 0 {
        return Ok(None);
    }
    let in_use = project::id_in_use(&store, &config)?;
    let is_nothing = match conversation(&store, typed, in_use.as_deref()) {
        Ok(_) => false,
        Err(OpenHomeError::Find(error)) => error.is_nothing(),
        Err(OpenHomeError::Refused(_)) => !typed.trim().eq_ignore_ascii_case(LAST),
        Err(_) => false,
    };
    if titled.is_empty() && is_nothing {
        titled = begun_so(&store, typed.trim())?;
    } else if !is_nothing {
        return Ok(None);
    }
    match titled.len() {
        0 => Ok(None),
        1 => Ok(titled.pop()),
        _ => {
            let ids: Vec<String> = titled.iter().map(|row| short_name(&row.id)).collect();
            let more = match ids.len() < NAMED as usize {
                true => "",
                false => ", or an older one",
            };
            Err(OpenHomeError::Refused(format!(
                "'{}' is the title of several imported conversations, or how it begins: say which one, {}{more}. What \
                 they are: gently conversation list --imported",
                spelled_on_a_line(typed),
                ids.join(", ")
            )))
        }
    }
}

/// Those of the imported conversations recorded last whose title begins so, in whatever case.
fn begun_so(store: &ReadStore, typed: &str) -> Result<Vec<ImportedConversation>, StoreError> {
    if typed.chars().count() < LEAST {
        return Ok(Vec::new());
    }
    let typed = typed.to_lowercase();
    let titles = store.imported_titles(LOOKED_THROUGH)?.into_iter();
    let begun = titles.filter(|(_, _, title)| title.to_lowercase().starts_with(&typed));
    let found = begun
        .take(NAMED as usize)
        .map(|(id, ..)| store.imported(&id));
    found.filter_map(Result::transpose).collect()
}

/// What stands in an imported conversation of a home.
pub fn page(home: &Home, row: ImportedConversation) -> Result<ImportedPage, OpenHomeError> {
    let store = open::store(home)?;
    store.reading(|store| {
        let artifact = store.artifact_of_line(row.line)?;
        let is_changed = match &artifact {
            Some(artifact) => !StoredTexts::of(store)?.holds_artifact(artifact)?,
            None => false,
        };
        let document = artifact.and_then(|artifact| artifact.document);
        let said = content(document.as_deref()).unwrap_or(Value::Null);
        let erased = match row.state {
            ImportedState::Erased => erased(store, &row.id)?,
            _ => None,
        };
        Ok(ImportedPage {
            erased,
            listed: listed_as(store, row, &said)?,
            messages: messages(&said),
            is_changed,
        })
    })
}

/// A conversation with what a list shows of it.
pub fn listed(store: &ReadStore, row: ImportedConversation) -> Result<ListedImport, StoreError> {
    let document = store
        .artifact_of_line(row.line)?
        .and_then(|artifact| artifact.document);
    let said = content(document.as_deref()).unwrap_or(Value::Null);
    listed_as(store, row, &said)
}

fn listed_as(
    store: &ReadStore,
    row: ImportedConversation,
    said: &Value,
) -> Result<ListedImport, StoreError> {
    let row = as_recorded(row, said);
    let text = |key: &str| said[key].as_str().map(str::to_owned);
    let messages = messages_of(said);
    let first = messages.iter().find(|message| message["role"] == "user");
    let first = first.or(messages.first());
    let begins = first.and_then(|message| message["text"].as_str());
    let first_line = begins.and_then(|text| text.trim().lines().next());
    let begins = first_line.map(|line| beginning(&spelled_on_a_line(line.trim()), TITLE));
    let mut models: Vec<String> = Vec::new();
    for model in messages
        .iter()
        .filter_map(|message| message["model"].as_str())
    {
        if models.iter().all(|known| known != model) {
            models.push(model.to_owned());
        }
    }
    let replaced_by = match row.state {
        ImportedState::Replaced => store.newer_versions(&row.id)?.pop(),
        ImportedState::Current | ImportedState::Erased => None,
    };
    Ok(ListedImport {
        replaced_by,
        at: store.time_of_line(row.line)?,
        title: text("title"),
        project: text("project"),
        begins,
        models,
        row,
    })
}

/// A row with what its document says, which is shown; what was changed in the row itself, `audit verify`
/// finds.
fn as_recorded(row: ImportedConversation, said: &Value) -> ImportedConversation {
    let time = |key: &str| said[key].as_u64().and_then(|at| Seconds::new(at).ok());
    match format_of(said) {
        Some(format) => ImportedConversation {
            format: Some(format),
            source_id: said["source_id"].as_str().map(str::to_owned),
            created_at: time("created_at"),
            updated_at: time("updated_at"),
            messages: u64::try_from(messages_of(said).len()).unwrap_or(u64::MAX),
            import: said["import"].as_str().map(str::to_owned),
            ..row
        },
        None => row,
    }
}

/// The messages of a document, with those that stand on the way to its current one.
fn messages(said: &Value) -> Vec<ImportedLine> {
    let text = |message: &Value, key: &str| message[key].as_str().map(str::to_owned);
    let way = way_shown(said);
    let is_on_way = |message: &Value| {
        let id = message["id"].as_str().unwrap_or_default();
        way.as_ref().is_none_or(|way| way.contains(id))
    };
    (1..)
        .zip(messages_of(said))
        .map(|(number, message)| ImportedLine {
            number,
            id: text(message, "id").unwrap_or_default(),
            parent: text(message, "parent"),
            role: text(message, "role").unwrap_or_default(),
            model: text(message, "model"),
            at: message["at"].as_u64().and_then(|at| Seconds::new(at).ok()),
            text: text(message, "text").unwrap_or_default(),
            is_on_way: is_on_way(message),
        })
        .collect()
}

impl ImportedPage {
    /// Why nothing of it can be shown.
    pub fn missing(&self) -> Option<String> {
        let is_here = self.listed.row.state != ImportedState::Erased;
        (!is_here).then(|| match &self.erased {
            Some((at, reason)) => format!("its text was erased at {at}: {reason}"),
            None => "its text is not here: it was lost with a database".to_owned(),
        })
    }

    /// How many messages stand on other branches.
    pub fn aside(&self) -> usize {
        self.messages.iter().filter(|line| !line.is_on_way).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(parents: &[(&str, Option<&str>)], current: Option<&str>) -> Vec<String> {
        let messages: Vec<Value> = parents
            .iter()
            .map(|(id, parent)| json!({"id": id, "parent": parent, "role": "user", "text": id}))
            .collect();
        let said = json!({"messages": messages, "current": current});
        messages_on_way(&said)
    }

    fn messages_on_way(said: &Value) -> Vec<String> {
        let lines = messages(said).into_iter().filter(|line| line.is_on_way);
        lines.map(|line| line.id).collect()
    }

    #[test]
    fn the_way_to_the_current_message_is_shown() {
        let tree = [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("a")),
            ("d", Some("c")),
        ];
        assert_eq!(shown(&tree, Some("b")), ["a", "b"]);
        assert_eq!(shown(&tree, Some("d")), ["a", "c", "d"]);
        assert_eq!(shown(&tree, None), ["a", "c", "d"]);
        assert_eq!(shown(&tree, Some("elsewhere")), ["a", "c", "d"]);
        assert_eq!(shown(&[("a", None), ("b", None)], Some("b")), ["a", "b"]);
        assert_eq!(
            shown(&[("a", Some("b")), ("b", Some("a"))], Some("a")),
            ["a", "b"]
        );
    }
}
