//! Handoffs: a conversation summed up by a model, for whoever goes on in it.
//!
//! | file | what is in it |
//! |---|---|
//! | `make` | asking for one, and putting it on record |
//! | `pressure` | when one is due |
//! | `declare` | what a question declares where there is one |
//!
//! Rows of handoffs are derived: what is not as its artifact says, or does not open its commitment, is
//! used for nothing.

pub mod declare;
pub mod make;
pub mod pressure;

use std::cell::RefCell;
use std::collections::BTreeMap;

use uuid::Uuid;

use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::conversation::{ConversationScope, MissingText, QuestionPlace, named};
use crate::app::remember::project;
use crate::ask::stored_text::StoredTexts;
use crate::ask::withheld::Withheld;
use crate::home::Home;
use crate::record::ledger::handoff::{HANDOFF, Handoff, handoff_of};
use crate::record::ledger::short_name::{record_name_of, short_name};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ReadStore, StoreError};

/// Whether a handoff can be gone on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffState {
    /// It is about all that was said.
    Valid,
    /// There are messages after it.
    Stale {
        /// How many.
        after: u64,
    },
    /// Its text is not there, or is not the one on record.
    Gone(MissingText),
}

impl HandoffState {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            HandoffState::Valid => "valid",
            HandoffState::Stale { .. } => "stale",
            HandoffState::Gone(_) => "not valid",
        }
    }

    /// Whether its text is there.
    pub const fn is_readable(self) -> bool {
        !matches!(self, HandoffState::Gone(_))
    }
}

/// A handoff as people look at it.
pub struct ShownHandoff {
    /// What its artifact says.
    pub handoff: Handoff,
    /// Whether it can be gone on from.
    pub state: HandoffState,
    /// Whether it is the one that the next question of its conversation is shown.
    pub is_next: bool,
    /// What it says; none where that is not there.
    pub text: Option<String>,
    /// What screens call its exchange.
    pub exchange: String,
    /// The model that wrote it.
    pub model: String,
    /// When it was asked for.
    pub at: Seconds,
    /// The conversation that it sums up.
    pub place: QuestionPlace,
}

impl ShownHandoff {
    /// What screens call it: `handoff-1`.
    pub fn name(&self) -> String {
        short_name(&self.handoff.id)
    }
}

/// Reads handoffs; only those that are on record as their rows say.
pub struct HandoffReader<'a> {
    store: &'a ReadStore,
    texts: StoredTexts<'a>,
    gate: Withheld<'a>,
    /// Lines of handoffs' prompts, with whether something that they sum up is erased.
    known: RefCell<BTreeMap<u64, bool>>,
}

impl<'a> HandoffReader<'a> {
    /// Over a store.
    pub fn of(store: &'a ReadStore) -> Result<Self, StoreError> {
        Ok(HandoffReader {
            store,
            texts: StoredTexts::of(store)?,
            gate: Withheld::of(store),
            known: RefCell::default(),
        })
    }

    /// Whether a row is what its artifact says, and that the one on record.
    fn holds(&self, handoff: &Handoff) -> Result<bool, StoreError> {
        let Some(row) = self.store.artifact_of_line(handoff.line)? else {
            return Ok(false);
        };
        let said = handoff_of(row.line, &row.kind, &row.id, row.document.as_deref());
        Ok(said.as_ref() == Some(handoff) && self.texts.holds_artifact(&row)?)
    }

    /// What a handoff says, or why that is not there.
    fn text(&self, handoff: &Handoff) -> Result<Result<String, MissingText>, StoreError> {
        let Some(row) = self.store.exchange(handoff.exchange)? else {
            return Ok(Err(MissingText::Changed));
        };
        let turn = row.outcome.as_ref().and_then(|end| end.turn_aurora);
        let turn = turn
            .map(|turn| self.store.turn(turn))
            .transpose()?
            .flatten();
        let Some(text) = turn.and_then(|turn| turn.content) else {
            return Ok(Err(match row.not_kept {
                Some(_) => MissingText::NotKept,
                None => MissingText::Erased,
            }));
        };
        if !self.holds(handoff)? || !self.texts.holds(&row, false, &text)? {
            return Ok(Err(MissingText::Changed));
        }
        let known = &mut self.known.borrow_mut();
        if self.store.refers_to_erased(row.prompt_line, known)? {
            return Ok(Err(MissingText::SumsUpErased));
        }
        match self.gate.answer_of(&row)? {
            true => Ok(Err(MissingText::Withheld)),
            false => Ok(Ok(text)),
        }
    }

    /// The newest handoff of a conversation whose text is there and holds.
    pub fn newest(&self, thread: Uuid) -> Result<Option<Handoff>, StoreError> {
        for handoff in self.store.handoffs(Some(thread))? {
            if self.text(&handoff)?.is_ok() {
                return Ok(Some(handoff));
            }
        }
        Ok(None)
    }

    /// A handoff with its state; its conversation can be looked up by whoever looks at it.
    pub fn shown(&self, handoff: Handoff) -> Result<ShownHandoff, StoreError> {
        let text = self.text(&handoff)?;
        let after = self
            .store
            .messages_behind(handoff.conversation, Some(handoff.upto))?;
        let state = match (&text, after) {
            (Err(missing), _) => HandoffState::Gone(*missing),
            (Ok(_), 0) => HandoffState::Valid,
            (Ok(_), after) => HandoffState::Stale { after },
        };
        let row = self.store.exchange(handoff.exchange)?;
        let exchange = find::short_id_of(self.store, handoff.exchange)?;
        let newest = match state.is_readable() {
            true => self.newest(handoff.conversation)?,
            false => None,
        };
        Ok(ShownHandoff {
            state,
            is_next: newest.is_some_and(|newest| newest.id == handoff.id),
            text: text.ok(),
            exchange: exchange.unwrap_or_else(|| handoff.exchange.to_string()),
            at: row.as_ref().map_or(Seconds::ZERO, |row| row.created_at),
            model: row.map(|row| row.model).unwrap_or_default(),
            place: QuestionPlace::of(self.store, handoff.conversation)?,
            handoff,
        })
    }
}

/// All handoffs of a home, or of one conversation, newest first.
pub fn list(home: &Home, conversation: Option<&str>) -> Result<Vec<ShownHandoff>, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let thread = conversation.map(|name| {
        let scope = ConversationScope {
            key: None,
            project: project::id_in_use(&store, &open::config(home)?)?,
        };
        named(&store, Some(name), &scope)
    });
    let thread = thread.transpose()?;
    let reader = HandoffReader::of(&store)?;
    let all = store.handoffs(thread)?.into_iter();
    let shown: Result<_, StoreError> = all.map(|one| reader.shown(one)).collect();
    Ok(shown?)
}

/// The handoff that a text means; the newest without one.
pub fn one(home: &Home, typed: Option<&str>) -> Result<ShownHandoff, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let found = match typed {
        None => store.handoffs(None)?.into_iter().next(),
        Some(typed) => {
            let id = record_name_of(HANDOFF, typed).unwrap_or_else(|| typed.to_owned());
            store.handoff(&id)?
        }
    };
    let Some(found) = found else {
        return Err(OpenHomeError::Refused(match typed {
            None => "there is no handoff yet: gently handoff run makes one".to_owned(),
            Some(typed) => format!(
                "there is no handoff '{}': gently handoff list shows them",
                spelled_on_a_line(typed)
            ),
        }));
    };
    Ok(HandoffReader::of(&store)?.shown(found)?)
}
