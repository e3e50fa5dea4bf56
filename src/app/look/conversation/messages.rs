//! What was said in a conversation, a page at a time: each question and each answer, in the order in
//! which they were recorded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use uuid::Uuid;

use crate::app::find::short_session;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::project;
use crate::ask::stored_text::StoredTexts;
use crate::ask::withheld::Withheld;
use crate::home::Home;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::conversation::ConversationRow;
use crate::record::log::entry::Line;
use crate::record::log::page_cursor::PageCursor;
use crate::record::time::Seconds;
use crate::store::{ExchangeRow, MessagePage, MessageRow, ReadStore, SessionRow, StoreError};

use super::conversation;
use super::list::{ListedConversation, listed, of_another, read};

/// Messages that are read at once when all are.
const AT_ONCE: u32 = 500;

/// A page of a conversation, as it was typed.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Name or id of the conversation.
    pub id: String,
    /// How many messages.
    pub most: u32,
    /// The newest of those before this place.
    pub before: Option<String>,
    /// The oldest of those behind this place.
    pub after: Option<String>,
}

/// Why a text is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingText {
    /// It was destroyed.
    Erased,
    /// This home did not keep it.
    NotKept,
    /// The kernel blocks its drift.
    Withheld,
    /// What is here is not what was recorded.
    Changed,
    /// It sums up something that was destroyed since.
    SumsUpErased,
}

impl MissingText {
    /// The words for it.
    pub const fn name(self) -> &'static str {
        match self {
            MissingText::Erased => "erased",
            MissingText::NotKept => "not kept",
            MissingText::Withheld => "withheld",
            MissingText::Changed => "changed since it was recorded",
            MissingText::SumsUpErased => "not used any more, as part of what it sums up is erased",
        }
    }
}

/// What binds an answer to the record.
#[derive(Clone, Debug)]
pub struct AnswerEvidence {
    /// Subject of the commit, such as `interaction-3`.
    pub interaction: String,
    /// Its session's id.
    pub session: Hash32,
    /// Its entry in the session's chain.
    pub chain_entry: Option<Hash32>,
    /// The commit of the ledger.
    pub commit: Option<String>,
    /// The height of the block under which it was recorded; none for the local one.
    pub block: Option<u32>,
    /// That block's hash, where it is kept.
    pub block_hash: Option<Hash32>,
}

/// A question or an answer.
#[derive(Clone, Debug)]
pub struct Message {
    /// The turn, which is the message's id.
    pub turn: Uuid,
    /// Id of the exchange that the message is part of.
    pub exchange: Uuid,
    /// How screens call that: `8923fa34/3`.
    pub id: String,
    /// Whether a person wrote it.
    pub by_user: bool,
    /// When it was recorded.
    pub at: Seconds,
    /// Its place in the conversation.
    pub cursor: PageCursor,
    /// What it says; none where that is not shown.
    pub text: Option<String>,
    /// Why the text is not there; none when it is.
    pub missing: Option<MissingText>,
    /// The model that was asked.
    pub model: String,
    /// What became of the question; none while it waits.
    pub outcome: Option<ExchangeOutcome>,
    /// Why there is no answer, by its code.
    pub reason: Option<String>,
    /// What binds it to the record, if it is an answer.
    pub evidence: Option<AnswerEvidence>,
}

/// A page of what was said in a conversation.
pub struct ConversationPage {
    /// The conversation that the messages are of.
    pub conversation: ListedConversation,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// With `--before` it gives the page before; none when this is the first.
    pub earlier: Option<PageCursor>,
    /// With `--after` it gives the page behind; none when there is nothing behind yet.
    pub later: Option<PageCursor>,
}

impl ConversationPage {
    /// Exchanges with a text that is not the one on record, each once, as screens call them.
    pub fn changed(&self) -> Vec<&str> {
        let changed = |one: &&Message| one.missing == Some(MissingText::Changed);
        let changed = self.messages.iter().filter(changed);
        let mut ids: Vec<&str> = changed.map(|message| message.id.as_str()).collect();
        ids.dedup();
        ids
    }
}

/// A page of what was said in a conversation of a home.
pub fn messages(home: &Home, request: &PageRequest) -> Result<ConversationPage, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.begin_read()?;
    let in_use = project::id_in_use(&store, &config)?;
    let row = conversation(&store, &request.id, in_use.as_deref())?;
    let range = match (&request.before, &request.after) {
        (Some(text), _) => MessagePage::Before(place(&store, &row, text)?),
        (None, Some(text)) => MessagePage::After(place(&store, &row, text)?),
        (None, None) => MessagePage::Newest,
    };
    let rows = store.messages(row.thread, range, request.most)?;
    page(&store, row, rows, range)
}

/// All that was said in a conversation of a home: what is written to a file.
pub fn export(home: &Home, id: &str) -> Result<ConversationPage, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    store.begin_read()?;
    let in_use = project::id_in_use(&store, &config)?;
    let row = conversation(&store, id, in_use.as_deref())?;
    let mut rows: Vec<MessageRow> = Vec::new();
    let mut range = MessagePage::Newest;
    loop {
        let mut before = store.messages(row.thread, range, AT_ONCE)?;
        let Some(first) = before.first() else { break };
        range = MessagePage::Before(place_of(first));
        before.append(&mut rows);
        rows = before;
    }
    page(&store, row, rows, MessagePage::Newest)
}

fn page(
    store: &ReadStore,
    row: ConversationRow,
    rows: Vec<MessageRow>,
    range: MessagePage,
) -> Result<ConversationPage, OpenHomeError> {
    let ends = rows.first().zip(rows.last());
    let ends = ends.map(|(first, last)| (place_of(first), place_of(last)));
    // What an empty page lies between is what was typed.
    let lines = match (ends, range) {
        (Some((first, last)), _) => (first.line, last.line),
        (None, MessagePage::Before(at)) => (at.line, at.line.saturating_sub(1)),
        (None, MessagePage::After(at)) => (at.line.saturating_add(1), at.line),
        (None, MessagePage::Newest) => (0, u64::MAX),
    };
    let (has_earlier, has_later) = store.messages_around(row.thread, lines)?;
    let mut reader = MessageReader::of(store)?;
    let messages = rows.into_iter().map(|row| reader.message(row));
    Ok(ConversationPage {
        messages: messages.collect::<Result<_, _>>()?,
        conversation: listed(store, row)?,
        earlier: ends.map(|(first, _)| first).filter(|_| has_earlier),
        later: ends.map(|(_, last)| last).filter(|_| has_later),
    })
}

/// The line that a cursor of this conversation names.
fn place(
    store: &ReadStore,
    row: &ConversationRow,
    text: &str,
) -> Result<PageCursor, OpenHomeError> {
    let cursor = read(text)?;
    match store.message_time(row.thread, cursor.line)? {
        Some(time) if time == cursor.time => Ok(cursor),
        _ => Err(of_another(text, "gently conversation show of this one")),
    }
}

/// Reads messages; sessions are looked up once each.
struct MessageReader<'a> {
    store: &'a ReadStore,
    gate: Withheld<'a>,
    texts: StoredTexts<'a>,
    sessions: HashMap<Uuid, (SessionRow, String)>,
}

impl<'a> MessageReader<'a> {
    fn of(store: &'a ReadStore) -> Result<Self, StoreError> {
        Ok(MessageReader {
            store,
            gate: Withheld::of(store),
            texts: StoredTexts::of(store)?,
            sessions: HashMap::new(),
        })
    }

    fn session(&mut self, id: Uuid) -> Result<&(SessionRow, String), StoreError> {
        match self.sessions.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let row = self.store.session_of(id)?;
                let row = row.ok_or_else(|| lost("llm_exchange.session_id", id))?;
                let short = short_session(self.store, row.id)?;
                Ok(place.insert((row, short)))
            }
        }
    }

    fn message(&mut self, row: MessageRow) -> Result<Message, StoreError> {
        let exchange = self.store.exchange(row.exchange)?;
        let exchange = exchange.ok_or_else(|| lost("thread_event.turn_id", row.exchange))?;
        let (session, short) = self.session(exchange.session)?.clone();
        let missing = match (&row.content, exchange.not_kept) {
            (None, Some(_)) => Some(MissingText::NotKept),
            (None, None) => Some(MissingText::Erased),
            (Some(_), _) if !row.by_user && self.gate.answer_of(&exchange)? => {
                Some(MissingText::Withheld)
            }
            (Some(text), _) => {
                let holds = self.texts.holds(&exchange, row.by_user, text)?;
                (!holds).then_some(MissingText::Changed)
            }
        };
        let evidence = match row.by_user {
            true => None,
            false => Some(self.evidence(&exchange, &session)?),
        };
        let outcome = exchange.outcome.as_ref();
        Ok(Message {
            turn: row.turn,
            exchange: row.exchange,
            id: format!("{short}/{}", exchange.seq),
            by_user: row.by_user,
            at: row.created_at,
            cursor: place_of(&row),
            text: row.content.filter(|_| missing.is_none()),
            missing,
            outcome: exchange.ended(),
            reason: outcome.and_then(|end| end.reason.clone()),
            model: row.model,
            evidence,
        })
    }

    fn evidence(
        &self,
        exchange: &ExchangeRow,
        session: &SessionRow,
    ) -> Result<AnswerEvidence, StoreError> {
        let outcome = exchange.outcome.as_ref();
        let line = outcome.map(|end| end.outcome_line);
        let (commits, lines) = match line {
            Some(line) => (
                self.store.commits_of_line(line)?,
                self.store.lines(line, line.saturating_add(1))?,
            ),
            None => (Vec::new(), Vec::new()),
        };
        let height = lines
            .first()
            .and_then(|text| Line::parse(text.as_bytes()).ok())
            .map(|line| line.height)
            .filter(|height| *height > 0);
        Ok(AnswerEvidence {
            interaction: exchange.name(),
            session: session.id,
            chain_entry: outcome.and_then(|end| end.chain_entry),
            commit: commits.into_iter().next().map(|commit| commit.id),
            block: height,
            block_hash: match height {
                Some(height) => self.block_hash(session, height)?,
                None => None,
            },
        })
    }

    /// The hash of the block of a height, if one alone is kept.
    fn block_hash(&self, session: &SessionRow, height: u32) -> Result<Option<Hash32>, StoreError> {
        let own = &session.anchor.block;
        if own.height == height {
            return Ok(Some(own.hash));
        }
        let kept = self.store.blocks_at(height)?;
        Ok(match kept.as_slice() {
            [one] => Some(one.block.hash),
            _ => None,
        })
    }
}

/// Where a message stands.
fn place_of(row: &MessageRow) -> PageCursor {
    PageCursor {
        line: row.line,
        time: row.created_at,
    }
}

fn lost(place: &str, id: Uuid) -> StoreError {
    StoreError::Corrupt {
        place: place.to_owned(),
        expected: "something that is here".to_owned(),
        actual: id.to_string(),
    }
}
