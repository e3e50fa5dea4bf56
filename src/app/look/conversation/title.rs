//! What a conversation is called: the newest title that somebody gave it, else its thread's name, else
//! how its first question begins. It is read when it is shown; no copy of a text is kept.

use serde_json::Value;

use crate::app::look::session::question_begins;
use crate::record::ledger::conversation::ConversationRow;
use crate::record::ledger::item;
use crate::store::{ReadStore, StoreError};

/// Where a title is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// Somebody gave it.
    Given,
    /// The thread was begun with it.
    Name,
    /// The first question begins so.
    Question,
    /// There was one, and it is erased or was not kept.
    Gone(&'static str),
    /// Nothing was asked yet.
    Nothing,
}

impl TitleSource {
    /// The word that `--json` has for it.
    pub fn name(self) -> &'static str {
        match self {
            TitleSource::Given => "title",
            TitleSource::Name => "name",
            TitleSource::Question => "question",
            TitleSource::Gone(how) => how,
            TitleSource::Nothing => "nothing asked",
        }
    }
}

/// What a conversation is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationTitle {
    /// The words; none where they are not here.
    pub text: Option<String>,
    /// Where they are from.
    pub source: TitleSource,
}

/// A text that somebody destroyed.
pub(super) const ERASED: &str = "erased";
/// One that this home never kept.
const NOT_KEPT: &str = "not kept";

impl ConversationTitle {
    fn of(text: String, source: TitleSource) -> Self {
        ConversationTitle {
            text: Some(text),
            source,
        }
    }

    fn gone(how: &'static str) -> Self {
        ConversationTitle {
            text: None,
            source: TitleSource::Gone(how),
        }
    }

    /// The same for a list: the words, or in brackets why there are none.
    pub fn shown(&self) -> String {
        match &self.text {
            Some(text) => text.clone(),
            None => format!("({})", self.source.name()),
        }
    }
}

/// The title of a conversation, read now.
pub fn title_of(store: &ReadStore, row: &ConversationRow) -> Result<ConversationTitle, StoreError> {
    if let Some(line) = row.title_line {
        return Ok(match said_in(store, line, "title")? {
            GivenText::Words(text) => ConversationTitle::of(text, TitleSource::Given),
            GivenText::NotKept => ConversationTitle::gone(NOT_KEPT),
            GivenText::Erased => ConversationTitle::gone(ERASED),
        });
    }
    if let Some(name) = store.thread(row.thread)?.and_then(|thread| thread.name) {
        return Ok(ConversationTitle::of(name, TitleSource::Name));
    }
    let first = store.first_message(row.thread)?;
    let first = first.map(|turn| store.exchange(turn)).transpose()?;
    let Some(first) = first.flatten() else {
        return Ok(ConversationTitle {
            text: None,
            source: TitleSource::Nothing,
        });
    };
    let is_here = store
        .turn(first.turn_user)?
        .is_some_and(|turn| turn.content.is_some());
    Ok(match (is_here, first.not_kept) {
        (true, _) => ConversationTitle::of(question_begins(store, &first)?, TitleSource::Question),
        (false, Some(_)) => ConversationTitle::gone(NOT_KEPT),
        (false, None) => ConversationTitle::gone(ERASED),
    })
}

/// What an artifact says.
pub enum GivenText {
    /// The words that it says.
    Words(String),
    /// Something that this home did not keep.
    NotKept,
    /// Something that was erased.
    Erased,
}

/// What the artifact of a line says under a key.
pub fn said_in(store: &ReadStore, line: u64, key: &str) -> Result<GivenText, StoreError> {
    let artifact = store.artifact_of_line(line)?;
    let document = artifact.and_then(|artifact| artifact.document);
    Ok(match item::content(document.as_deref()) {
        None => GivenText::Erased,
        Some(content) => match content.get(key).and_then(Value::as_str) {
            Some(words) => GivenText::Words(words.to_owned()),
            None => GivenText::NotKept,
        },
    })
}
