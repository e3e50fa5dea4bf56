//! Sharing turns with somebody: an opening file of question and answer, and the page that shows the
//! same file and checks it in a browser.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use uuid::Uuid;

use crate::app::prove::because;
use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::ask::withheld::{WITHHELD, Withheld};
use crate::record::context::event::EventKind;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Scheme, commit};
use crate::record::ledger::conversation::LAST;
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ExchangeRow, ReadStore, SessionRow, StoreError};

use super::opening::{
    CHANGED_ANSWER, CHANGED_QUESTION, NewOpening, OpenTextsError, OpeningRequest, PlannedOpening,
    TurnText, open_planned, plan, why_gone,
};
use super::revealed;
use crate::app::ask::denial::reason_words;
use crate::app::find::{self, FindError, IdKind, MeantId};
use crate::app::home::open::OpenHome;
use crate::app::look::show;

/// The page, with places for what is put in.
const PAGE: &str = include_str!("../../../genesis/share.html");
/// The verifier that runs in it.
const SCRIPT: &str = include_str!("../../../genesis/share.js");
/// What the work of Bitcoin blocks was when.
const EPOCHS: &str = include_str!("../../../genesis/btc-epochs.csv");

/// A turn that would be shared.
pub struct SharedTurn {
    /// Row of the exchange that the turn is part of.
    pub exchange: ExchangeRow,
    /// What was asked.
    pub question: String,
    /// The answer; none when there is none that is shown.
    pub answer: Option<String>,
}

/// So many questions are looked at that came behind the one that is shared.
const PASSED_OVER: u32 = 8;
/// So many answers are looked at for one that can be shared, where nobody named one.
const LOOKED_AT: usize = 256;

/// What is said where there is nothing on record.
const NOTHING_ASKED: &str = "nothing was asked yet: gently ask \"…\"";

/// What would be shared: turns of one session.
pub struct ShareSelection {
    /// Row of the session whose turns are shared.
    pub session: SessionRow,
    /// Its turns, in their order.
    pub turns: Vec<SharedTurn>,
    /// Sentences on later questions without an answer, where the newest answer was asked for.
    pub passed_over: Vec<String>,
    /// Sentences on turns that can't be shared.
    pub left_out: Vec<String>,
    /// Sentences on turns of the same conversation that other models answered, in sessions of their
    /// own.
    pub elsewhere: Vec<String>,
    /// Lines on what somebody learns beside the texts.
    pub reveals: Vec<String>,
    /// Whether with the file somebody can try what other turns said: the ledger commits with plain
    /// SHA-256.
    pub neighbours_can_be_guessed: bool,
    planned: PlannedOpening,
}

/// What turns are all of.
#[derive(Clone, PartialEq, Eq)]
enum SharedWhole {
    /// Of nothing: one exchange was named.
    Exchange,
    /// A session.
    Session,
    /// What a session has of a conversation, by the first digits of its id.
    Conversation(String),
}

/// Turns of one session that somebody means.
struct MeantTurns {
    session: SessionRow,
    rows: Vec<ExchangeRow>,
    /// What all of was asked for.
    whole: SharedWhole,
    passed_over: Vec<String>,
}

impl MeantTurns {
    /// Those that an id means: `last`, an exchange, a session, a conversation; without one the
    /// newest answer.
    fn of(
        opened: &OpenHome,
        id: Option<&str>,
        session: Option<&str>,
        withheld: bool,
    ) -> Result<MeantTurns, OpenTextsError> {
        let store = &opened.store;
        let Some(id) = id else {
            return MeantTurns::newest(opened, withheld);
        };
        if let Some(session) = session {
            let thread = find::conversation::conversation(store, id, None)?.thread;
            let session = find::session(store, session)?;
            return MeantTurns::of_conversation(store, thread, Some(session.uuid));
        }
        if id.trim().eq_ignore_ascii_case(LAST) {
            return MeantTurns::last(store);
        }
        match find::exchange(store, id) {
            Ok(row) => MeantTurns::one(store, row, Vec::new()),
            // `SESSION/9` and `interaction-9` name one exchange, or none: never a session.
            Err(nothing) if nothing.is_nothing() => MeantTurns::all(store, id, nothing),
            Err(error) => Err(error.into()),
        }
    }

    fn one(
        store: &ReadStore,
        row: ExchangeRow,
        passed_over: Vec<String>,
    ) -> Result<MeantTurns, OpenTextsError> {
        let Some(session) = store.session_of(row.session)? else {
            return because("the session of this exchange is not in the database");
        };
        Ok(MeantTurns {
            session,
            rows: vec![row],
            whole: SharedWhole::Exchange,
            passed_over,
        })
    }

    /// The last exchange, if it has an answer: another one is shared of nobody who said *last*.
    fn last(store: &ReadStore) -> Result<MeantTurns, OpenTextsError> {
        match store.newest_exchange()? {
            Some(row) if !row.is_answered() => {
                let id = find::short_id_of_row(store, &row)?;
                because(format!(
                    "nothing was shared: the last question is {id}, and {}. The newest answer: gently share. \
                     The question alone: gently share {id}",
                    unanswered(&row)
                ))
            }
            Some(row) => MeantTurns::one(store, row, Vec::new()),
            None => because(NOTHING_ASKED),
        }
    }

    /// The newest exchange that has an answer, and can be shared; where none can, the newest answer.
    fn newest(opened: &OpenHome, withheld: bool) -> Result<MeantTurns, OpenTextsError> {
        let store = &opened.store;
        let Some(newest) = store.newest_answered()? else {
            return because(match store.newest_exchange()? {
                None => NOTHING_ASKED.to_owned(),
                Some(asked) => format!(
                    "no question has an answer yet; to share one without it: gently share {}",
                    find::short_id_of_row(store, &asked)?
                ),
            });
        };
        let mut next = Some(newest.clone());
        let mut chosen = None;
        for _ in 0..LOOKED_AT {
            let Some(row) = next.take() else { break };
            if shared(opened, row.clone(), withheld)?.is_ok() {
                chosen = Some(row);
                break;
            }
            next = store.answered_before(row.prompt_line)?;
        }
        let row = chosen.unwrap_or(newest);
        let mut passed_over = Vec::new();
        for behind in store.exchanges_behind(row.prompt_line, PASSED_OVER)? {
            let id = find::short_id_of_row(store, &behind)?;
            let why = match behind.is_answered() {
                false => unanswered(&behind),
                // One that could be shared by now was asked meanwhile.
                true => match shared(opened, behind, withheld)? {
                    Err(why) => why.to_string(),
                    Ok(_) => continue,
                },
            };
            passed_over.push(format!("{id}: {why}"));
        }
        MeantTurns::one(store, row, passed_over)
    }

    /// All of a session, or what one session has of a conversation; of what is neither, what a person
    /// does instead.
    fn all(store: &ReadStore, id: &str, unfound: FindError) -> Result<MeantTurns, OpenTextsError> {
        let (kind, meant) = match find::any(store, id) {
            Ok(MeantId { kind, id }) => (kind, id),
            Err(_) if id.contains('/') => return Err(unfound.into()),
            Err(other) => return Err(other.into()),
        };
        match kind {
            IdKind::Session => {
                let session = find::session(store, &meant)?;
                let mut rows = Vec::new();
                store.each_exchange(Some(session.uuid), &mut |row| {
                    rows.push(row);
                    Ok(())
                })?;
                Ok(MeantTurns {
                    session,
                    rows,
                    whole: SharedWhole::Session,
                    passed_over: Vec::new(),
                })
            }
            IdKind::Conversation => {
                let thread = find::thread(store, &meant)?.thread;
                MeantTurns::of_conversation(store, thread, None)
            }
            IdKind::Exchange | IdKind::Drift => Err(unfound.into()),
            _ => because(format!(
                "'{}' is {}: gently audit open --artifact {meant} --out FILE.json opens it to others",
                spelled_on_a_line(id.trim()),
                kind.called()
            )),
        }
    }

    /// What was asked of a conversation in a session: a file is of one. Without a session it is that
    /// in which it was answered last.
    fn of_conversation(
        store: &ReadStore,
        thread: Uuid,
        session: Option<Uuid>,
    ) -> Result<MeantTurns, OpenTextsError> {
        let mut rows = Vec::new();
        let exchanges = match find::exchanges_of(store, thread)? {
            Ok(exchanges) => exchanges,
            Err(words) => return because(words),
        };
        for exchange in exchanges {
            rows.extend(store.exchange(exchange)?);
        }
        let answered = rows.iter().rev().find(|row| row.is_answered());
        let last = answered.or(rows.last()).map(|row| row.session);
        let Some(of) = session.or(last) else {
            return because("nothing was asked in this conversation yet");
        };
        rows.retain(|row| row.session == of);
        if rows.is_empty() {
            return because("nothing of this conversation was asked in that session");
        }
        let Some(session) = store.session_of(of)? else {
            return because("the session of this conversation is not in the database");
        };
        Ok(MeantTurns {
            session,
            rows,
            whole: SharedWhole::Conversation(find::short_thread(store, thread)?),
            passed_over: Vec::new(),
        })
    }
}

/// What is shared for an id, of the newest answer without one: an exchange, all of a session, or what one session has of a conversation.
/// With a session, `id` is a conversation, of which that session's part is shared. `withheld` shares
/// answers that the kernel withholds, too.
///
/// Nothing is on record of a selection.
pub fn select(
    opened: &OpenHome,
    id: Option<&str>,
    of_session: Option<&str>,
    withheld: bool,
) -> Result<ShareSelection, OpenTextsError> {
    let store = &opened.store;
    let MeantTurns {
        session,
        rows,
        whole,
        passed_over,
    } = MeantTurns::of(opened, id, of_session, withheld)?;
    let elsewhere = match &whole {
        SharedWhole::Exchange => Vec::new(),
        whole => elsewhere(store, &session, &rows, whole)?,
    };
    let (mut turns, mut left_out) = (Vec::new(), Vec::new());
    let is_conversation = rows.len() > 1;
    for exchange in rows {
        let seq = exchange.seq;
        match shared(opened, exchange, withheld)? {
            Ok(turn) if is_conversation && turn.answer.is_none() => {
                let (why, id) = (turn.unanswered(), session.id.short8());
                left_out.push(format!("question {seq}: {why}; by itself: {id}/{seq}"));
            }
            Ok(turn) => turns.push(turn),
            Err(why) => left_out.push(format!("question {seq}: {why}")),
        }
    }
    if turns.is_empty() {
        return because(match left_out.as_slice() {
            [] => "nothing was asked in this session".to_owned(),
            some => format!("nothing can be shared: {}", some.join("; ")),
        });
    }
    let rows: Vec<&ExchangeRow> = turns.iter().map(|turn| &turn.exchange).collect();
    let planned = plan(opened, &request(&session, &turns, withheld))?.of_these(&rows)?;
    Ok(ShareSelection {
        reveals: revealed::beside_the_texts(&planned.file),
        neighbours_can_be_guessed: opened.genesis.commitments == Scheme::Sha256,
        session,
        turns,
        passed_over,
        left_out,
        elsewhere,
        planned,
    })
}

/// What else was said in the conversations of some turns of a session, by session: a conversation
/// goes on when another model is asked, and a session does not.
fn elsewhere(
    store: &ReadStore,
    session: &SessionRow,
    rows: &[ExchangeRow],
    whole: &SharedWhole,
) -> Result<Vec<String>, StoreError> {
    let mut threads = BTreeSet::new();
    for row in rows {
        threads.extend(store.thread_turn(row.exchange_id)?.map(|turn| turn.thread));
    }
    let mut asked = Vec::new();
    for thread in threads {
        store.each_event(thread, &mut |event| {
            if event.kind == EventKind::Intent {
                asked.push(event.turn);
            }
            Ok(())
        })?;
    }
    let mut others: BTreeMap<Uuid, u64> = BTreeMap::new();
    for turn in asked {
        let exchange = store.exchange(turn)?;
        if let Some(other) = exchange.filter(|exchange| exchange.session != session.uuid) {
            *others.entry(other.session).or_default() += 1;
        }
    }
    let mut sentences = Vec::new();
    for (other, turns) in others {
        let Some(other) = store.session_of(other)? else {
            continue;
        };
        let (id, model) = (other.id.short8(), other.model);
        let turns = match turns {
            1 => "1 turn".to_owned(),
            several => format!("{several} turns"),
        };
        let command = match whole {
            SharedWhole::Conversation(of) => format!("gently share {of} --session {id}"),
            _ => format!("gently share {id}"),
        };
        sentences.push(format!(
            "{turns} of this conversation with {model}, in another session: {command}"
        ));
    }
    Ok(sentences)
}

fn request(session: &SessionRow, turns: &[SharedTurn], withheld: bool) -> OpeningRequest {
    let mut texts = vec![TurnText::Prompt];
    // A turn without an answer is selected alone.
    if turns.iter().all(|turn| turn.answer.is_some()) {
        texts.push(TurnText::Response);
    }
    OpeningRequest {
        session: Some(session.id.to_string()),
        seq: turns.iter().map(|turn| turn.exchange.seq).collect(),
        texts,
        withheld,
        ..OpeningRequest::default()
    }
}

impl SharedTurn {
    /// Why there is no answer.
    pub fn unanswered(&self) -> String {
        unanswered(&self.exchange)
    }
}

fn unanswered(exchange: &ExchangeRow) -> String {
    match &exchange.outcome {
        None => "it is not answered yet".to_owned(),
        Some(outcome) => {
            let reason = outcome.reason.as_deref();
            let why = reason.map_or(outcome.outcome.name(), reason_words);
            format!("it has no answer ({why})")
        }
    }
}

/// A turn with its texts; or why it can't be shared.
fn shared(
    opened: &OpenHome,
    exchange: ExchangeRow,
    withheld: bool,
) -> Result<Result<SharedTurn, FieldSentence>, OpenTextsError> {
    let store = &opened.store;
    let Some(salt) = &exchange.salt else {
        return Ok(Err(why_gone(store, &exchange)?.into()));
    };
    let opens = |role, text: &str, commitment| {
        commit(opened.genesis.commitments, salt, role, text.as_bytes()) == commitment
    };
    let text = |id| -> Result<Option<String>, OpenTextsError> {
        Ok(store.turn(id)?.and_then(|turn| turn.content))
    };
    let Some(question) = text(exchange.turn_user)? else {
        return Ok(Err(why_gone(store, &exchange)?.into()));
    };
    if !opens(Role::Prompt, &question, exchange.prompt_commitment) {
        return Ok(Err(CHANGED_QUESTION.into()));
    }
    let outcome = exchange.outcome.as_ref();
    let answered = outcome.filter(|outcome| outcome.outcome == ExchangeOutcome::Answered);
    if answered.is_some() && !withheld && Withheld::of(store).answer_of(&exchange)? {
        return Ok(Err(sentence![
            format!("its answer is {WITHHELD}; "),
            RequestField::Withheld,
            " shares it all the same"
        ]));
    }
    let answer = answered.and_then(|outcome| outcome.turn_aurora);
    let answer = answer.map(text).transpose()?.flatten();
    if answered.is_some() && answer.is_none() {
        return Ok(Err(why_gone(store, &exchange)?.into()));
    }
    let committed = answered.and_then(|outcome| outcome.response_commitment);
    if let (Some(answer), Some(committed)) = (&answer, committed)
        && !opens(Role::Response, answer, committed)
    {
        if !show::changed(store, &exchange)?.is_empty() {
            return Ok(Err(CHANGED_ANSWER.into()));
        }
        return Ok(Err(
            "its answer was stored without its secrets, and on record is what came: nothing opens that"
                .into(),
        ));
    }
    Ok(Ok(SharedTurn {
        exchange,
        question,
        answer,
    }))
}

/// Opens what was selected, in the name of an auth key. That it is opened is durably on record
/// before this returns. Nothing is opened of a turn that is erased or answered by now.
pub async fn share(
    opened: &OpenHome,
    key: Hash32,
    selection: ShareSelection,
) -> Result<NewOpening, OpenTextsError> {
    open_planned(opened, key, selection.planned).await
}

/// The page of an opening file: one HTML file that needs nothing beside itself.
pub fn page(opening: &str) -> String {
    let allowed = BASE64.encode(Hash32::digest(SCRIPT.as_bytes()).as_bytes());
    PAGE.replace("@@SCRIPT_SHA256@@", &allowed)
        .replace("@@EPOCHS@@", EPOCHS)
        .replace("@@OPENINGS@@", &BASE64.encode(opening))
        .replace("@@SCRIPT@@", SCRIPT)
}
