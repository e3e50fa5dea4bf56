//! What a question declares as its context, and where it stands: what was typed, looked up.

use crate::app::sentence::RequestField;
use crate::ask::recall::{DeclaredContext, Reference};
use crate::ask::refer::{ParentTurn, ThreadPosition};
use crate::config::Config;
use crate::record::context::config::{ContextRules, EmptyRefs};
use crate::record::ledger::conversation::{ConversationRow, ConversationState};
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ReadStore, StoreError, ThreadRow};
use uuid::Uuid;

use crate::app::find;
use crate::app::home::open::OpenHomeError;
use crate::app::look::conversation::{self, ConversationScope};
use crate::app::words::short_uuids;

/// What a question declares, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// `last:N`, exchanges, ids of events; they win over `context.refs`.
    pub refs: Vec<String>,
    /// Whether no earlier turns are shown.
    pub no_refs: bool,
    /// Whether the turns of all sessions are searched, too.
    pub deep: bool,
}

/// Where a question stands, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct ThreadRequest {
    /// A thread; that of the conversation that goes on without it.
    pub thread: Option<String>,
    /// A conversation: the first digits of its id, its title, or `last`.
    pub conversation: Option<String>,
    /// Whether it is the newest open conversation of who asks.
    pub goes_on: bool,
    /// Whether somebody is talking there: the model that answered last answers again.
    pub is_talk: bool,
    /// The earlier exchange that it replies to.
    pub parent: Option<String>,
    /// Whether it begins another conversation, in a session of its own.
    pub anew: bool,
}

/// An id's beginning of fewer digits is a word.
const FEWEST_DIGITS: usize = 4;

/// Whether a word is the title of an open conversation, or begins its id: somebody who put it behind
/// `-c` means that one. A word without a figure is no id.
pub fn names_open_conversation(store: &ReadStore, word: &str) -> Result<bool, StoreError> {
    const NAMED: u32 = 8;
    let is_open = |row: &ConversationRow| row.state == ConversationState::Open;
    if store.conversations_titled(word, NAMED)?.iter().any(is_open) {
        return Ok(true);
    }
    let digits = word.trim_end_matches('…').to_ascii_lowercase();
    let is_id = digits.len() >= FEWEST_DIGITS && digits.contains(|c: char| c.is_ascii_digit());
    if !is_id {
        return Ok(false);
    }
    let threads: Vec<ThreadRow> = store.like(&digits, NAMED)?;
    for thread in threads {
        if store
            .conversation(thread.thread)?
            .as_ref()
            .is_some_and(is_open)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// So many of the last turns can be declared at once.
const MOST: u32 = 64;
/// The turns that are declared when nothing says otherwise.
const USUAL: u32 = 40;

impl ContextRequest {
    /// What is declared: the request, else `gently.toml`, else what `context.json` expands, else
    /// the usual.
    pub fn declared(
        &self,
        config: &Config,
        rules: &ContextRules,
        store: &ReadStore,
    ) -> Result<DeclaredContext, OpenHomeError> {
        let typed = |text: &str| reference(store, text);
        let refs = match (config.context.refs.as_deref(), rules.empty_refs_policy) {
            _ if self.no_refs => Vec::new(),
            _ if !self.refs.is_empty() => self
                .refs
                .iter()
                .map(|text| typed(text))
                .collect::<Result<_, _>>()?,
            (Some("none"), _) => Vec::new(),
            (Some(configured), _) => vec![typed(configured)?],
            (None, EmptyRefs::Expand) => vec![Reference::Last(
                u32::try_from(rules.expand_last_n).unwrap_or(u32::MAX),
            )],
            (None, EmptyRefs::Allow | EmptyRefs::Deny) => vec![Reference::Last(USUAL)],
        };
        Ok(DeclaredContext {
            refs,
            none: self.no_refs,
            deep: self.deep,
        })
    }
}

/// Refuses what is no reference, or is not of a conversation, where one is given: that is known before
/// anything is asked with it.
pub fn check(
    store: &ReadStore,
    texts: &[String],
    thread: Option<Uuid>,
) -> Result<(), OpenHomeError> {
    for text in texts {
        let own = match reference(store, text)? {
            Reference::Last(_) => continue,
            Reference::Exchange(id) => Some(store.thread_turn(id)?.map(|turn| turn.thread)),
            Reference::Id(id) => match id.parse() {
                Ok(id) => store.event(id)?.map(|event| Some(event.thread)),
                Err(_) => None,
            },
        };
        let what = match own {
            None => "is nothing on record: last:N, none, usual, or ids as in 81bb5b35/3",
            Some(own) if own.is_some() && own != thread => "is of another conversation",
            Some(_) => continue,
        };
        let name = spelled_on_a_line(text);
        return Err(OpenHomeError::Refused(format!("'{name}' {what}")));
    }
    Ok(())
}

fn reference(store: &ReadStore, text: &str) -> Result<Reference, OpenHomeError> {
    let Some(count) = text.strip_prefix("last:") else {
        return Ok(find::reference(store, text)?);
    };
    let most = count
        .parse()
        .ok()
        .filter(|n: &u32| (1..=MOST).contains(n) && n.to_string() == count);
    most.map(Reference::Last)
        .ok_or_else(|| OpenHomeError::Setting {
            place: RequestField::Reference.into(),
            reason: format!("last:N takes N from 1 to {MOST}; not '{text}'"),
        })
}

impl ThreadRequest {
    /// Whether it says where the question stands.
    pub fn is_named(&self) -> bool {
        self.goes_on
            || self.thread.is_some()
            || self.conversation.is_some()
            || self.parent.is_some()
    }

    /// Whether the model that answered there last answers again, where no other one is named.
    pub fn keeps_model(&self) -> bool {
        self.is_talk || self.goes_on || self.conversation.is_some()
    }

    /// Looks thread and parent up; a conversation among those of the scope.
    pub fn standing(
        &self,
        store: &ReadStore,
        scope: &ConversationScope,
    ) -> Result<ThreadPosition, OpenHomeError> {
        let thread = match &self.thread {
            Some(text) => Some(find::thread(store, text)?.thread),
            None if self.goes_on || self.conversation.is_some() => Some(conversation::named(
                store,
                self.conversation.as_deref(),
                scope,
            )?),
            None => None,
        };
        let parent = self
            .parent
            .as_deref()
            .map(|text| find::exchange(store, text))
            .transpose()?;
        let parent = parent.map(|exchange| exchange.exchange_id);
        let of = parent.map(|parent| store.thread_turn(parent)).transpose()?;
        let wrong = |reason: String| OpenHomeError::Setting {
            place: RequestField::Parent.into(),
            reason,
        };
        match (thread, of) {
            (thread, None) => Ok(ThreadPosition {
                thread,
                ..ThreadPosition::default()
            }),
            (_, Some(None)) => {
                let why = "that exchange has no thread here, as it is from before there were threads or was taken over \
                           from a ledger alone: quote it instead";
                Err(wrong(why.to_owned()))
            }
            (Some(thread), Some(Some(turn))) if thread != turn.thread => {
                let (of, not) = (turn.thread.to_string(), thread.to_string());
                let flag = match (&self.thread, self.goes_on) {
                    (Some(_), _) => "--thread",
                    (None, true) => "-c",
                    (None, false) => "--conversation",
                };
                Err(wrong(short_uuids(&format!(
                    "that exchange belongs to thread {of}, not to {not}: leave {flag} out"
                ))))
            }
            (_, Some(Some(turn))) => Ok(ThreadPosition {
                thread: Some(turn.thread),
                parent: ParentTurn::Turn(turn.turn),
                ..ThreadPosition::default()
            }),
        }
    }
}
