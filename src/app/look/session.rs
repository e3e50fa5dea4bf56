//! Sessions: opening and closing them, listing them, and all that is on record around one.

use uuid::Uuid;

use crate::record::attached::without_files;
use crate::record::bitcoin::block::Block;
use crate::record::canon;
use crate::record::ledger::documents::{Close, SessionDoc};
use crate::record::time::Seconds;
use crate::recorder::{Paths, SessionClose, waited_for};
use crate::session;
use crate::store::{CommitRow, ExchangeRow, ReadStore, SessionRow, Store, StoreError};

use crate::app::ask::model_choice::{self, CallOptions};
use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError, clock};
use crate::app::prove::tree_heads::{self, ThirdPartyReport};
use crate::app::words::beginning;
use crate::home::Home;

/// How much of a prompt stands in the list of a session's exchanges.
const EXCERPT: usize = 60;

/// Opens a session for a model; `notice` is told what people should know on the way.
pub async fn open(
    opened: &OpenHome,
    model: Option<&str>,
    notice: &dyn Fn(&str),
) -> Result<SessionRow, OpenHomeError> {
    let key = opened.authorize().await?;
    let database = opened.home.paths().database();
    let choice =
        model_choice::choose(model, &CallOptions::default(), &opened.config, &database).await?;
    let told = choice.why.iter().chain(&choice.notices);
    told.for_each(|line| notice(line));
    let environment = opened.environment(choice.model.id(), notice);
    Ok(session::open(&environment, key).await?)
}

/// Puts on record that the clock is right, when the last line is further ahead than a writer takes;
/// gives the time at which the log goes on.
pub async fn clock_set(opened: &OpenHome) -> Result<Seconds, OpenHomeError> {
    opened.authorize().await?;
    let now = clock()?;
    opened.recorder.clock_set(now).await?;
    Ok(now)
}

/// What closing would do: looked up, and nothing done yet.
#[derive(Clone, Debug)]
pub struct SessionClosePlan {
    /// The sessions that would be closed.
    pub sessions: Vec<ClosingSession>,
}

/// A session that would be closed.
#[derive(Clone, Debug)]
pub struct ClosingSession {
    /// Row of the session that would be closed.
    pub row: SessionRow,
    /// Its prompts that have no outcome.
    pub unanswered: Vec<PendingPrompt>,
}

/// A prompt without an outcome.
#[derive(Clone, Debug)]
pub struct PendingPrompt {
    /// Id of the exchange whose prompt has no answer yet.
    pub exchange: Uuid,
    /// What screens call it: `8923fa34/3`.
    pub id: String,
    /// When it was asked.
    pub asked_at: Seconds,
    /// Whether a living process waits for its answer. A close waits for that process; what nobody
    /// waits for is abandoned.
    pub is_waited_for: bool,
}

impl SessionClosePlan {
    /// All prompts without an outcome.
    pub fn unanswered(&self) -> impl Iterator<Item = &PendingPrompt> {
        let sessions = self.sessions.iter();
        sessions.flat_map(|session| &session.unanswered)
    }

    /// What closing these sessions would do.
    pub fn of(
        paths: &Paths,
        store: &ReadStore,
        rows: Vec<SessionRow>,
    ) -> Result<SessionClosePlan, OpenHomeError> {
        let waited_for = waited_for(paths)?;
        let closing = |row: SessionRow| {
            let unanswered = store.in_flight(row.uuid)?.into_iter().map(|exchange| {
                Ok(PendingPrompt {
                    id: find::short_id(store, row.id, exchange.seq)?,
                    exchange: exchange.exchange_id,
                    asked_at: exchange.created_at,
                    is_waited_for: waited_for.contains(&exchange.exchange_id),
                })
            });
            let unanswered = unanswered.collect::<Result<_, StoreError>>()?;
            Ok(ClosingSession { row, unanswered })
        };
        let sessions = rows.into_iter().map(closing);
        Ok(SessionClosePlan {
            sessions: sessions.collect::<Result<_, StoreError>>()?,
        })
    }
}

/// How screens call a session.
pub fn short(opened: &OpenHome, row: &SessionRow) -> String {
    find::short_session(&opened.store, row.id).unwrap_or_else(|_| row.id.to_string())
}

/// What closing the open session that `prefix` means would do, or all open ones without it; changes
/// nothing.
pub fn plan_close(
    paths: &Paths,
    store: &Store,
    prefix: Option<&str>,
) -> Result<SessionClosePlan, OpenHomeError> {
    SessionClosePlan::of(paths, store, choose(store, prefix)?)
}

/// Closes the sessions of a plan, and has calendars and witnesses asked about the new tree head.
/// The auth key was asked for.
///
/// `each` is given a session as soon as its close is on record: those outside may take seconds.
pub async fn close(
    opened: &OpenHome,
    plan: &SessionClosePlan,
    notice: &dyn Fn(&str),
    each: &mut dyn FnMut(SessionClose),
) -> Result<ThirdPartyReport, OpenHomeError> {
    let environment = opened.environment("", notice);
    let before = tree_heads::main_tip(opened)?;
    for session in &plan.sessions {
        each(session::close(&environment, session.row.id).await?);
    }
    Ok(tree_heads::after(opened, before).await)
}

/// The open sessions that an id means; all of them without one.
///
/// Open ones go first: a prefix that is theirs alone is theirs, whatever closed ones begin with it.
fn choose(store: &Store, prefix: Option<&str>) -> Result<Vec<SessionRow>, OpenHomeError> {
    let open = store.open_sessions()?;
    let none = |why: String| Err(OpenHomeError::Refused(why));
    if open.is_empty() {
        return none("no session is open".to_owned());
    }
    let Some(prefix) = prefix else {
        return Ok(open);
    };
    let names = |rows: &[SessionRow]| {
        let names: Vec<String> = rows.iter().map(|row| row.id.short16()).collect();
        names.join(", ")
    };
    let fits: Vec<SessionRow> = open
        .iter()
        .filter(|row| row.id.to_string().starts_with(prefix))
        .cloned()
        .collect();
    match fits.len() {
        1 => Ok(fits),
        0 => match find::session(store, prefix) {
            Ok(row) if row.ended_at.is_none() => Ok(vec![row]),
            Ok(row) => none(format!(
                "session {} is closed; open are: {}",
                row.id.short16(),
                names(&open)
            )),
            Err(error) => none(format!("{error}; open are: {}", names(&open))),
        },
        _ => none(format!(
            "'{prefix}' could be any of: {}; give more digits",
            names(&fits)
        )),
    }
}

/// A session with the block that it started under; none when its start can't be found.
pub struct ListedSession {
    /// Row of the session as the database has it.
    pub row: SessionRow,
    /// Its first block.
    pub start_block: Option<Block>,
    /// The first digits of its id, as commands take them.
    pub short: String,
    /// The beginning of its first question, or that it is not here any more; none before that.
    pub first_question: Option<String>,
}

/// All sessions of a home, oldest first, or the open ones alone.
pub fn list(home: &Home, only_open: bool) -> Result<Vec<ListedSession>, OpenHomeError> {
    let store = open::store(home)?;
    let mut rows = Vec::new();
    store.each_session(&mut |row| {
        if !only_open || row.ended_at.is_none() {
            rows.push(row);
        }
        Ok(())
    })?;
    let listed = |row: SessionRow| {
        let first = store.exchange_at(row.uuid, 1)?;
        Ok(ListedSession {
            start_block: start_block(&store, &row, first.as_ref())?,
            short: find::short_session(&store, row.id)?,
            first_question: first_question(&store, &row)?,
            row,
        })
    };
    rows.into_iter().map(listed).collect()
}

fn start_block(
    store: &ReadStore,
    row: &SessionRow,
    first: Option<&ExchangeRow>,
) -> Result<Option<Block>, StoreError> {
    let first = first.map(|first| first.prompt_line);
    let from = first.map_or_else(|| store.head().map(|head| head.lines), Ok)?;
    let Some(start) = store.start_commit(row, from)? else {
        return Ok(None);
    };
    let document: Option<SessionDoc> =
        file(store, &start, "session.json")?.and_then(|bytes| canon::parse(&bytes).ok());
    Ok(document.map(|document| document.block))
}

/// All that is on record around a session.
pub struct SessionDetails {
    /// Row of the session as the database has it.
    pub row: SessionRow,
    /// The commit that started it.
    pub start: Option<CommitRow>,
    /// What that commit says.
    pub opened: Option<SessionDoc>,
    /// The commit that ended it.
    pub end: Option<CommitRow>,
    /// What that commit says.
    pub closed: Option<Close>,
    /// The close on `main`.
    pub merge: Option<CommitRow>,
    /// Its exchanges, oldest first.
    pub exchanges: Vec<ListedExchange>,
}

/// An exchange as a line of its session.
pub struct ListedExchange {
    /// Row of the exchange as the database has it.
    pub row: ExchangeRow,
    /// How screens call it.
    pub short: String,
    /// The beginning of its prompt, or that it is not here any more.
    pub prompt_begins: String,
    /// The commit of its interaction.
    pub commit: Option<String>,
}

/// All that is on record around the session that `id` means.
pub fn show(home: &Home, id: &str) -> Result<SessionDetails, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    Ok(details(&store, find::session(&store, id)?)?)
}

fn details(store: &ReadStore, row: SessionRow) -> Result<SessionDetails, StoreError> {
    let mut rows = Vec::new();
    store.each_exchange(Some(row.uuid), &mut |exchange| {
        rows.push(exchange);
        Ok(())
    })?;
    let from = rows
        .first()
        .map_or(store.head()?.lines, |first| first.prompt_line);
    let exchanges = rows
        .into_iter()
        .map(|row| listed_exchange(store, row))
        .collect::<Result<_, _>>()?;
    let start = store.start_commit(&row, from)?;
    let end = match (&start, row.ended_at) {
        (Some(start), Some(_)) => store.end_commit(&row, start.n)?,
        _ => None,
    };
    let merge = match &end {
        Some(end) => store
            .commits_of_line(end.line)?
            .into_iter()
            .find(|commit| commit != end),
        None => None,
    };
    let opened = document(store, start.as_ref(), "session.json")?;
    let closed = document(store, end.as_ref(), "close.json")?;
    Ok(SessionDetails {
        row,
        start,
        opened,
        end,
        closed,
        merge,
        exchanges,
    })
}

/// So many questions are looked at for the first one that says something.
const TRIES: u64 = 5;

/// The beginning of the first question of a session that says something; none before it was asked.
fn first_question(store: &ReadStore, row: &SessionRow) -> Result<Option<String>, StoreError> {
    for seq in 1..=row.prompts.min(TRIES) {
        let exchange = store.exchange_at(row.uuid, seq)?;
        let begins = exchange
            .map(|one| question_begins(store, &one))
            .transpose()?;
        if let Some(begins) = begins.filter(|text| !text.is_empty()) {
            return Ok(Some(begins));
        }
    }
    Ok(None)
}

/// The beginning of a question, or that it is not here any more.
pub fn question_begins(store: &ReadStore, row: &ExchangeRow) -> Result<String, StoreError> {
    let prompt = store.turn(row.turn_user)?.and_then(|turn| turn.content);
    let gone = if row.not_kept.is_some() {
        "(not kept)"
    } else {
        "(erased)"
    };
    let typed = |text: &str| match without_files(text) {
        "" => beginning(text, EXCERPT),
        typed => beginning(typed, EXCERPT),
    };
    Ok(prompt.map_or_else(|| gone.to_owned(), |text| typed(&text)))
}

fn listed_exchange(store: &ReadStore, row: ExchangeRow) -> Result<ListedExchange, StoreError> {
    let prompt_begins = question_begins(store, &row)?;
    let line = row
        .outcome
        .as_ref()
        .filter(|outcome| outcome.chain_entry.is_some())
        .map(|outcome| outcome.outcome_line);
    let commit = match line {
        Some(line) => store.commits_of_line(line)?.into_iter().next(),
        None => None,
    };
    Ok(ListedExchange {
        short: find::short_id_of_row(store, &row)?,
        row,
        prompt_begins,
        commit: commit.map(|commit| commit.id),
    })
}

/// A document in the tree of a commit; none without the commit, or when it can't be read.
fn document<T: serde::Serialize + serde::de::DeserializeOwned>(
    store: &ReadStore,
    commit: Option<&CommitRow>,
    name: &str,
) -> Result<Option<T>, StoreError> {
    let Some(commit) = commit else {
        return Ok(None);
    };
    Ok(file(store, commit, name)?.and_then(|bytes| canon::parse(&bytes).ok()))
}

fn file(store: &ReadStore, commit: &CommitRow, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let tree = commit.tree_of.unwrap_or(commit.n);
    Ok(store.files(tree)?.remove(name))
}
