//! Sharing turns with somebody: an opening file of question and answer, and the page that shows the
//! same file and checks it in a browser.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use uuid::Uuid;

use crate::ask::withheld::{WITHHELD, Withheld};
use crate::record::context::event::EventKind;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Scheme, commit};
use crate::record::unseen::spelled_on_a_line;
use crate::store::{ExchangeOutcome, ExchangeRow, ReadStore, SessionRow, StoreError};

use super::opening::{
    CHANGED_ANSWER, CHANGED_QUESTION, NewOpening, OpenTextsError, OpeningRequest, PlannedOpening,
    TurnText, open_planned, plan, why_gone,
};
use super::revealed;
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

/// What would be shared: turns of one session.
pub struct ShareSelection {
    /// Row of the session whose turns are shared.
    pub session: SessionRow,
    /// Its turns, in their order.
    pub turns: Vec<SharedTurn>,
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

/// What is shared for an id: an exchange, or all of a session. `withheld` shares answers that the
/// kernel withholds, too.
///
/// Nothing is on record of a selection.
pub fn select(
    opened: &OpenHome,
    id: &str,
    withheld: bool,
) -> Result<ShareSelection, OpenTextsError> {
    let store = &opened.store;
    let (session, rows, is_whole) = match find::exchange(store, id) {
        Ok(row) => {
            let Some(session) = store.session_of(row.session)? else {
                return because("the session of this exchange is not in the database");
            };
            (session, vec![row], false)
        }
        // `SESSION/9` and `interaction-9` name one exchange, or none: never a session.
        Err(nothing) if nothing.is_nothing() => {
            let session = whole(store, id, nothing)?;
            let mut rows = Vec::new();
            while let Some(row) = store.exchange_at(session.uuid, rows.len() as u64 + 1)? {
                rows.push(row);
            }
            (session, rows, true)
        }
        Err(error) => return Err(error.into()),
    };
    let elsewhere = match is_whole {
        true => elsewhere(store, &session, &rows)?,
        false => Vec::new(),
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
        sentences.push(format!(
            "{turns} of this conversation with {model}, in another session: gently share {id}"
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
        match &self.exchange.outcome {
            None => "it is not answered yet".to_owned(),
            Some(outcome) => format!(
                "it has no answer: it is {} ({})",
                outcome.outcome.name(),
                outcome.reason.as_deref().unwrap_or("no reason")
            ),
        }
    }
}

/// The session that is shared as a whole; of what is none, what a person does instead.
fn whole(store: &ReadStore, id: &str, unfound: FindError) -> Result<SessionRow, OpenTextsError> {
    let Ok(MeantId { kind, id: meant }) = find::any(store, id) else {
        return match may_be_session(id) {
            true => Ok(find::session(store, id)?),
            false => Err(unfound.into()),
        };
    };
    let shown = spelled_on_a_line(id.trim());
    let command = match kind {
        IdKind::Session => return Ok(find::session(store, &meant)?),
        IdKind::Conversation => {
            let newest = find::newest_in(store, &meant)?;
            let one = newest.map(|id| format!("; gently share {id} proves one answer of it"));
            let one = one.unwrap_or_default();
            format!("gently conversation export {shown} --out FILE.md writes all of it{one}")
        }
        IdKind::Exchange | IdKind::Drift => return Err(unfound.into()),
        _ => format!("gently audit open --artifact {meant} --out FILE.json opens it to others"),
    };
    because(format!("'{shown}' is {}: {command}", kind.called()))
}

/// Whether an id can be the first digits of a session's.
fn may_be_session(id: &str) -> bool {
    let digits = id.trim().trim_end_matches('…');
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn because<T>(why: impl Into<String>) -> Result<T, OpenTextsError> {
    Err(OpenTextsError::Because(why.into()))
}

/// A turn with its texts; or why it can't be shared.
fn shared(
    opened: &OpenHome,
    exchange: ExchangeRow,
    withheld: bool,
) -> Result<Result<SharedTurn, String>, OpenTextsError> {
    let store = &opened.store;
    let Some(salt) = &exchange.salt else {
        return Ok(Err(why_gone(store, &exchange)?));
    };
    let opens = |role, text: &str, commitment| {
        commit(opened.genesis.commitments, salt, role, text.as_bytes()) == commitment
    };
    let text = |id| -> Result<Option<String>, OpenTextsError> {
        Ok(store.turn(id)?.and_then(|turn| turn.content))
    };
    let Some(question) = text(exchange.turn_user)? else {
        return Ok(Err(why_gone(store, &exchange)?));
    };
    if !opens(Role::Prompt, &question, exchange.prompt_commitment) {
        return Ok(Err(CHANGED_QUESTION.to_owned()));
    }
    let outcome = exchange.outcome.as_ref();
    let answered = outcome.filter(|outcome| outcome.outcome == ExchangeOutcome::Answered);
    if answered.is_some() && !withheld && Withheld::of(store).answer_of(&exchange)? {
        return Ok(Err(format!(
            "its answer is {WITHHELD}; --withheld shares it all the same"
        )));
    }
    let answer = answered.and_then(|outcome| outcome.turn_aurora);
    let answer = answer.map(text).transpose()?.flatten();
    if answered.is_some() && answer.is_none() {
        return Ok(Err(why_gone(store, &exchange)?));
    }
    let committed = answered.and_then(|outcome| outcome.response_commitment);
    if let (Some(answer), Some(committed)) = (&answer, committed)
        && !opens(Role::Response, answer, committed)
    {
        if !show::changed(store, &exchange)?.is_empty() {
            return Ok(Err(CHANGED_ANSWER.to_owned()));
        }
        return Ok(Err(
            "its answer was stored without its secrets, and on record is what came: nothing opens that"
                .to_owned(),
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
