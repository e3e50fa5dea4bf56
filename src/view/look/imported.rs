//! Imported conversations, and what stands in one.

use serde::Serialize;

use crate::app::look::imported::{
    ImportedLine, ImportedList, ImportedPage, ListedImport, origin_word, origin_words,
};

/// An imported conversation in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedImportView {
    /// Its id, such as `imported:000001`.
    pub conversation: String,
    /// Where it is from: `imported:chatgpt`.
    pub origin: String,
    /// The same in words, with the day on which it was put on record.
    pub origin_words: String,
    /// What its source called it; null without a title.
    pub title: Option<String>,
    /// The name of its project in the source.
    pub project: Option<String>,
    /// Its id in the source; null once erased.
    pub source_id: Option<String>,
    /// How many messages it has.
    pub messages: u64,
    /// When it was put on record.
    pub recorded_at: Option<String>,
    /// When it began, as the source says.
    pub created_at: Option<String>,
    /// When it was changed, as the source says.
    pub updated_at: Option<String>,
    /// The models that its source names.
    pub models: Vec<String>,
    /// The import that it came with.
    pub import: Option<String>,
    /// SHA-256 of what it says, without with which import it came.
    pub digest: Option<String>,
    /// `current`, `replaced` or `erased`.
    pub state: &'static str,
    /// Id of the newest version of it, where this is an older one.
    pub replaced_by: Option<String>,
}

impl ListedImportView {
    /// Of a conversation.
    pub fn of(listed: &ListedImport) -> Self {
        let row = &listed.row;
        ListedImportView {
            conversation: row.id.clone(),
            origin: origin_word(row.format),
            origin_words: origin_words(row.format, listed.at),
            title: listed.title.clone(),
            project: listed.project.clone(),
            source_id: row.source_id.clone(),
            messages: row.messages,
            recorded_at: listed.at.map(|at| at.to_string()),
            created_at: row.created_at.map(|at| at.to_string()),
            updated_at: row.updated_at.map(|at| at.to_string()),
            models: listed.models.clone(),
            import: row.import.clone(),
            digest: row.digest.map(|digest| digest.to_string()),
            state: row.state.name(),
            replaced_by: listed.replaced_by.clone(),
        }
    }
}

/// A page of the list.
#[derive(Clone, Debug, Serialize)]
pub struct ImportedListView {
    /// Those first that their sources say were changed last.
    pub imported: Vec<ListedImportView>,
    /// What `--before` takes for the next page; null when this is the last one.
    pub next: Option<String>,
}

impl ImportedListView {
    /// Of a page.
    pub fn of(list: &ImportedList) -> Self {
        ImportedListView {
            imported: list
                .conversations
                .iter()
                .map(ListedImportView::of)
                .collect(),
            next: list.next.map(|cursor| cursor.to_string()),
        }
    }
}

/// A message of an imported conversation.
#[derive(Clone, Debug, Serialize)]
pub struct ImportedLineView {
    /// Its place in the conversation, from 1.
    pub number: u64,
    /// Its id in the source.
    pub id: String,
    /// The id of the message that it replies to.
    pub parent: Option<String>,
    /// `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// The model, as the source names it.
    pub model: Option<String>,
    /// When, as the source says.
    pub at: Option<String>,
    /// What it says.
    pub text: String,
    /// Whether it stands on the way that its source showed last; else it is of another branch.
    pub on_way: bool,
}

impl ImportedLineView {
    fn of(line: &ImportedLine) -> Self {
        ImportedLineView {
            number: line.number,
            id: line.id.clone(),
            parent: line.parent.clone(),
            role: line.role.clone(),
            model: line.model.clone(),
            at: line.at.map(|at| at.to_string()),
            text: line.text.clone(),
            on_way: line.is_on_way,
        }
    }
}

/// What stands in an imported conversation.
#[derive(Clone, Debug, Serialize)]
pub struct ImportedPageView {
    /// The conversation.
    #[serde(flatten)]
    pub listed: ListedImportView,
    /// All of its messages, in the order of the source.
    pub lines: Vec<ImportedLineView>,
    /// Whether its text is not what was recorded.
    pub changed: bool,
    /// Why nothing of it is here: when and why it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl ImportedPageView {
    /// Of a page.
    pub fn of(page: &ImportedPage) -> Self {
        ImportedPageView {
            listed: ListedImportView::of(&page.listed),
            lines: page.messages.iter().map(ImportedLineView::of).collect(),
            changed: page.is_changed,
            missing: page.missing(),
        }
    }
}

/// An imported conversation that was written to a file.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedImportView {
    /// The conversation.
    #[serde(flatten)]
    pub listed: ListedImportView,
    /// Path of the file that was written.
    pub file: String,
    /// `md` or `json`.
    pub format: &'static str,
}
