//! What a typed id means: one resolver for every command.
//!
//! | typed | means |
//! |---|---|
//! | `last` | the session used last, or the newest exchange |
//! | `interaction-3`, `prompt-3` | that prompt of the newest session that has so many |
//! | `8923fa34/3`, `8923fa34/interaction-3`, `last/3` | that prompt of a session |
//! | hexadecimal digits, with or without hyphens | a session or a conversation (4 and more), an exchange, an event of it or a chain entry (8 and more), a commit (7 and more) |
//! | a title, or how the only one begins | the conversation that is called so |
//!
//! Which conversation is meant where one is asked for: [`conversation`].
//!
//! Facts and the like have [short names](crate::record::ledger::short_name) of their own. [`any`] is
//! for commands that take an id of whatever kind; what takes one kind says of the others what they
//! are, and which command is theirs ([`IdKind`]).
//!
//! `8923fa34/3` is what screens print of an exchange ([`short_id`]), and means the same for ever: of
//! several sessions that begin with eight digits or more, the oldest is meant, and for a later one
//! more digits are printed.

pub mod conversation;

use std::path::Path;

use crate::app::words::counted;
use crate::ask::recall::Reference;
use crate::os::shell_word;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, trailer};
use crate::record::ledger::conversation::ConversationRow;
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::unseen::spelled_on_a_line;
use crate::store::{
    CommitRow, DriftState, EventRow, ExchangeRow, PrefixLookup, ReadStore, SessionRow, StoreError,
    ThreadRow,
};
use uuid::Uuid;

/// So many digits of a commit's id are shown by git, and are enough.
const COMMIT_DIGITS: usize = 7;
/// So many digits of a session, an exchange, a thread or the chain are printed, unless another one
/// begins with them, and are enough to find it.
const SHORT_DIGITS: usize = 8;
/// Fewer digits than these are no conversation's and no session's: they are soon typed for something
/// else.
const CONVERSATION_DIGITS: usize = 4;
/// How many of the things that an id could mean are looked up, and named.
const NAMED: u32 = 8;

/// Why an id names nothing, or too much.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Not a form of an id.
    #[error(
        "'{text}' is no id: say last, SESSION/3 as in 81bb5b35/3, interaction-3, or the first digits of a session, an exchange \
         ({SHORT_DIGITS} or more) or a commit ({COMMIT_DIGITS} or more)"
    )]
    Form {
        /// What was typed.
        text: String,
    },
    /// Nothing of that name.
    #[error("no {what} '{text}' here: {hint}")]
    Unknown {
        /// What it was looked up as: `session`, `exchange`, `thread` or `drift event`.
        what: &'static str,
        /// What was typed.
        text: String,
        /// The next command.
        hint: String,
    },
    /// Digits that nothing begins with.
    #[error(
        "{}{}; what there is: gently conversation list",
        none_of(text),
        wanted_for(text)
    )]
    Nowhere {
        /// What was typed.
        text: String,
    },
    /// Words that nothing is called.
    #[error(
        "'{text}' is no id, and no conversation has a title that begins so: say last, SESSION/3, fact-1, the first \
         digits of a session or a conversation, or a title; what there is: gently conversation list"
    )]
    NoName {
        /// What was typed.
        text: String,
    },
    /// Something, and nothing of the kind that is asked for.
    #[error("'{text}' is {}: {command}", kind.called())]
    OtherKind {
        /// What was typed.
        text: String,
        /// What it is.
        kind: IdKind,
        /// The next command.
        command: String,
    },
    /// Several of that name.
    #[error("'{text}' could be any of: {}; type more digits", could_be.join(", "))]
    Ambiguous {
        /// What was typed.
        text: String,
        /// What it could mean.
        could_be: Vec<String>,
    },
    /// Several that more digits would not tell apart.
    #[error("'{text}' could be any of: {}; say which by its id", could_be.join(", "))]
    Several {
        /// What was typed.
        text: String,
        /// What it could mean.
        could_be: Vec<String>,
    },
    /// The database could not be searched.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// That nothing is called so, as far as so few digits are looked up.
fn none_of(digits: &str) -> String {
    match digits.len() {
        0..CONVERSATION_DIGITS => format!("nothing on record is named by '{digits}'"),
        CONVERSATION_DIGITS..COMMIT_DIGITS => {
            format!("no session and no conversation begins with '{digits}'")
        }
        COMMIT_DIGITS..SHORT_DIGITS => {
            format!("no session, no conversation and no commit begins with '{digits}'")
        }
        _ => format!("nothing on record begins with '{digits}'"),
    }
}

/// What to type where so few digits are not looked up.
fn wanted_for(digits: &str) -> String {
    match digits.len() {
        0..CONVERSATION_DIGITS => format!(
            "; type {CONVERSATION_DIGITS} digits of a conversation's id, or {SHORT_DIGITS} of a question's"
        ),
        CONVERSATION_DIGITS..SHORT_DIGITS => {
            format!("; of a question's id type {SHORT_DIGITS} digits")
        }
        _ => String::new(),
    }
}

impl FindError {
    /// Whether nothing of the kind that is asked for is called so.
    pub fn is_nothing(&self) -> bool {
        matches!(
            self,
            FindError::Unknown { .. }
                | FindError::Form { .. }
                | FindError::OtherKind { .. }
                | FindError::Nowhere { .. }
                | FindError::NoName { .. }
        )
    }
}

/// The kinds of things that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// A question and what became of it.
    Exchange,
    /// A session.
    Session,
    /// A conversation, by its thread's id.
    Conversation,
    /// A fact.
    Fact,
    /// A correction.
    Correction,
    /// A note.
    Note,
    /// A decision of a person.
    Decision,
    /// An intent.
    Intent,
    /// A request to act.
    Action,
    /// A warning about an answer.
    Drift,
    /// A project.
    Project,
    /// That a conflict was settled.
    Conflict,
    /// That a text was opened to others.
    Opening,
    /// That texts may be handed on in traces.
    Consent,
    /// That traces were handed on.
    Export,
    /// A field of questions.
    Domain,
    /// Somebody who answers.
    Specialist,
    /// That a specialist was bound to another model.
    Promotion,
    /// What a person said of an answer.
    Rating,
    /// What several specialists decided.
    Council,
    /// A conversation, summed up.
    Handoff,
    /// That a file was imported.
    Import,
    /// A conversation that came from a file.
    Imported,
    /// A promotion of another program's specialist.
    ImportedPromotion,
    /// Another program's audit log, as it was received.
    ImportedAudit,
}

/// What there is to say of a kind of ids.
struct IdKindRow {
    kind: IdKind,
    /// What stands before its number; empty where digits are the id.
    word: &'static str,
    /// What it is, in a sentence.
    called: &'static str,
    /// What shows it; an id stands behind.
    shown_by: &'static str,
}

const fn id_kind(
    kind: IdKind,
    word: &'static str,
    called: &'static str,
    shown_by: &'static str,
) -> IdKindRow {
    IdKindRow {
        kind,
        word,
        called,
        shown_by,
    }
}

/// All kinds of ids.
const ID_KINDS: [IdKindRow; 25] = {
    use IdKind::*;
    const SHOW: &str = "gently show";
    [
        id_kind(Exchange, "", "a question with its answer", SHOW),
        id_kind(Session, "", "a session", "gently session show"),
        id_kind(
            Conversation,
            "",
            "a conversation",
            "gently conversation show",
        ),
        id_kind(Fact, "fact", "a fact", SHOW),
        id_kind(Correction, "correction", "a correction", SHOW),
        id_kind(Note, "note", "a note", SHOW),
        id_kind(Decision, "decision", "a decision", SHOW),
        id_kind(Intent, "intent", "an intent", SHOW),
        id_kind(Action, "action", "a request to act", "gently action show"),
        id_kind(
            Drift,
            "drift",
            "a warning about an answer",
            "gently drift show",
        ),
        id_kind(Project, "project", "a project", SHOW),
        id_kind(
            Conflict,
            "conflict",
            "the record that a conflict was settled",
            SHOW,
        ),
        id_kind(
            Opening,
            "opening",
            "the record that a text was handed on",
            SHOW,
        ),
        id_kind(
            Consent,
            "consent",
            "a consent to hand texts on in traces",
            SHOW,
        ),
        id_kind(
            Export,
            "export",
            "the record that traces were handed on",
            SHOW,
        ),
        id_kind(Domain, "domain", "a domain", SHOW),
        id_kind(
            Specialist,
            "specialist",
            "a specialist",
            "gently specialist show",
        ),
        id_kind(
            Promotion,
            "promotion",
            "the record that a specialist was bound to another model",
            SHOW,
        ),
        id_kind(
            Rating,
            "rating",
            "the record of what was said of an answer",
            SHOW,
        ),
        id_kind(
            Council,
            "council",
            "what several specialists decided",
            "gently council show",
        ),
        id_kind(
            Handoff,
            "handoff",
            "a conversation, summed up",
            "gently handoff show",
        ),
        id_kind(
            Import,
            "import",
            "the record of an import",
            "gently import show",
        ),
        id_kind(
            Imported,
            "imported",
            "an imported conversation",
            "gently conversation show",
        ),
        id_kind(
            ImportedPromotion,
            "imported_promotion",
            "a promotion that came from a file, and binds nothing",
            SHOW,
        ),
        id_kind(
            ImportedAudit,
            "audit",
            "another program's audit log, not verified",
            SHOW,
        ),
    ]
};

impl IdKind {
    fn row(self) -> &'static IdKindRow {
        let row = ID_KINDS.iter().find(|row| row.kind == self);
        row.expect("each kind has a row")
    }

    /// What it is, in a sentence: `a session`.
    pub fn called(self) -> &'static str {
        self.row().called
    }

    /// What is typed to see one: `gently session show 8923fa34`.
    pub fn shown_by(self, id: &str) -> String {
        format!("{} {}", self.row().shown_by, shell_word(Path::new(id)))
    }

    /// The kind of an id that has its word in front: `fact-183`, `ledger:000183`.
    fn of_word(typed: &str) -> Option<IdKind> {
        let named =
            record_name(typed).map_or_else(|| typed.to_ascii_lowercase(), |id| short_name(&id));
        let (word, rest) = named.split_once(['-', ':'])?;
        let word = if word == "driftwatch" { "drift" } else { word };
        let row = ID_KINDS
            .iter()
            .find(|row| !row.word.is_empty() && row.word == word)?;
        let is_number = rest.bytes().all(|b| b.is_ascii_digit());
        let fits = is_number || row.kind == IdKind::Drift && is_digits(rest);
        (fits && !rest.is_empty()).then_some(row.kind)
    }

    /// The word before the number of such an id: `correction` of `correction-15`.
    pub fn word_of(typed: &str) -> Option<&'static str> {
        IdKind::of_word(typed).map(|kind| kind.row().word)
    }

    /// The error of a command that takes another kind.
    fn in_place_of_another(self, text: &str) -> FindError {
        let text = spelled_on_a_line(text.trim());
        FindError::OtherKind {
            command: self.shown_by(&text),
            text,
            kind: self,
        }
    }
}

/// What a text names, whatever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeantId {
    /// The kind of thing.
    pub kind: IdKind,
    /// The same for the commands of that kind: of what has a word and a number its short name, of a
    /// session, a conversation and an exchange all digits.
    pub id: String,
}

/// What a text means, of whatever kind: an exchange, if one is called so, else a session, else a
/// conversation, by its id or its title. Whether there is something of a number, its command says.
pub fn any(store: &ReadStore, text: &str) -> Result<MeantId, FindError> {
    if let Some(kind) = IdKind::of_word(text.trim()) {
        let id = match record_name(text) {
            Some(named) => short_name(&named),
            None => text.trim().to_ascii_lowercase(),
        };
        return Ok(MeantId { kind, id });
    }
    let meant = |kind, id| Ok(MeantId { kind, id });
    let other = match exchange(store, text) {
        Ok(row) => return meant(IdKind::Exchange, row.exchange_id.to_string()),
        Err(other) if other.is_nothing() => other,
        Err(other) => return Err(other),
    };
    if let Some(IdForm::Digits(digits)) = IdForm::read(text) {
        match session(store, &digits) {
            Ok(row) => return meant(IdKind::Session, row.id.to_string()),
            Err(error) if !error.is_nothing() => return Err(error),
            Err(_) => {}
        }
    }
    // What is listed of a thread that somebody named is its name.
    if let Ok(row) = thread(store, text)
        && is_whole(&row, text)
    {
        return meant(IdKind::Conversation, row.thread.to_string());
    }
    if let Some(IdForm::Digits(digits)) = IdForm::read(text)
        && let Some(row) = conversation::begun_with(store, &digits)?
    {
        return meant(IdKind::Conversation, row.thread.to_string());
    }
    // No title is last, or a session and a number.
    if matches!(IdForm::read(text), None | Some(IdForm::Digits(_)))
        && let Some(row) = conversation::titled(store, text)?
    {
        return meant(IdKind::Conversation, row.thread.to_string());
    }
    Err(match (IdForm::read(text), other) {
        (Some(IdForm::Digits(digits)), FindError::Unknown { .. } | FindError::Form { .. }) => {
            FindError::Nowhere { text: digits }
        }
        (None, FindError::Form { text }) => FindError::NoName { text },
        (_, other) => other,
    })
}

/// Whether a thread is named by its whole name, or by eight digits or more: fewer are soon typed for
/// something else.
pub fn is_whole(thread: &ThreadRow, text: &str) -> bool {
    let text = text.trim().trim_end_matches('…');
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    thread.name.as_deref() == Some(text) || is_digits(text) && digits >= SHORT_DIGITS
}

/// The forms of an id.
#[derive(Debug, PartialEq, Eq)]
enum IdForm {
    Last,
    Number(u64),
    In(String, u64),
    Digits(String),
}

impl IdForm {
    /// What a text stands for, or why it is no id of a session or an exchange.
    fn of(text: &str) -> Result<IdForm, FindError> {
        IdForm::read(text).ok_or_else(|| match IdKind::of_word(text.trim()) {
            Some(kind) => kind.in_place_of_another(text),
            None => FindError::Form {
                text: spelled_on_a_line(text),
            },
        })
    }

    fn read(text: &str) -> Option<IdForm> {
        // Screens shorten hashes with an ellipsis, and people copy it.
        let text = text.trim().trim_end_matches('…').to_ascii_lowercase();
        if text == "last" {
            return Some(IdForm::Last);
        }
        if let Some((session, number)) = text.split_once('/') {
            let fits = session == "last" || is_digits(session);
            return number_of(number, true)
                .filter(|_| fits)
                .map(|n| IdForm::In(session.to_owned(), n));
        }
        number_of(&text, false)
            .map(IdForm::Number)
            .or_else(|| is_digits(&text).then_some(IdForm::Digits(text)))
    }
}

fn is_digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_hexdigit())
        && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn number_of(text: &str, bare: bool) -> Option<u64> {
    let named = text
        .strip_prefix("interaction-")
        .or_else(|| text.strip_prefix("prompt-"));
    let digits = named.or(bare.then_some(text))?;
    digits
        .parse()
        .ok()
        .filter(|n: &u64| n.to_string() == digits && *n > 0)
}

/// The session that a text means: its own id, or that of something in it.
pub fn session(store: &ReadStore, text: &str) -> Result<SessionRow, FindError> {
    match IdForm::of(text)? {
        IdForm::Last => newest_session(store),
        IdForm::Number(n) => match store.newest_numbered(n)? {
            Some(row) => Ok(store
                .session_of(row.session)?
                .ok_or_else(|| no_number(text))?),
            None => newest_session(store),
        },
        IdForm::In(session, _) => by_prefix(store, &session),
        IdForm::Digits(digits) => match by_prefix(store, &digits) {
            Err(nothing) if nothing.is_nothing() && digits.len() >= CONVERSATION_DIGITS => {
                session_around(store, &digits)
            }
            found => found,
        },
    }
}

/// The exchange that a text means.
pub fn exchange(store: &ReadStore, text: &str) -> Result<ExchangeRow, FindError> {
    match IdForm::of(text)? {
        IdForm::Last => store
            .newest_exchange()?
            .ok_or_else(|| unknown("exchange", text, "nothing was asked yet: gently ask")),
        IdForm::Number(n) => store.newest_numbered(n)?.ok_or_else(|| no_number(text)),
        IdForm::In(session, n) => at(store, &by_prefix(store, &session)?, n, text),
        IdForm::Digits(digits) => exchange_by_digits(store, &digits),
    }
}

/// The exchanges of a thread, in the order in which they were asked, where its events and its turns
/// name the same ones; else why nothing is to be done with them.
pub fn exchanges_of(
    store: &ReadStore,
    thread: Uuid,
) -> Result<Result<Vec<Uuid>, String>, StoreError> {
    let (by_events, by_turns) = (store.exchanges_in(thread)?, store.turns_in(thread)?);
    if by_events == by_turns {
        return Ok(Ok(by_events));
    }
    let (events, turns) = (by_events.len(), by_turns.len());
    Ok(Err(format!(
        "gently.db contradicts itself about what was asked in this conversation: its events name {events}, its turns \
         {turns}, and not the same ones. Nothing was done. `gently audit verify` names what was changed"
    )))
}

/// What a text declares: an exchange by any of its forms, an event by the digits of its id. What
/// names nothing, whatever its form, is declared as it was typed: the record says so.
pub fn reference(store: &ReadStore, text: &str) -> Result<Reference, FindError> {
    let typed = text.trim().trim_end_matches('…').to_ascii_lowercase();
    let is_digits = is_digits(&typed);
    if is_digits && typed.len() >= SHORT_DIGITS {
        let events: Vec<EventRow> = store.like(&typed, NAMED)?;
        // The oldest, as of a session: what named one event once names it for ever.
        if let Some(event) = events.iter().min_by_key(|event| (event.line, event.index)) {
            return Ok(Reference::Id(event.event.to_string()));
        }
    }
    match exchange(store, text) {
        Ok(found) => Ok(Reference::Exchange(found.exchange_id)),
        Err(nothing) if nothing.is_nothing() => Ok(Reference::Id(match is_digits {
            true => typed,
            false => text.to_owned(),
        })),
        Err(other) => Err(other),
    }
}

/// The thread that a text means: its name, the first digits of its id, or an exchange in it.
pub fn thread(store: &ReadStore, text: &str) -> Result<ThreadRow, FindError> {
    let typed = text.trim().trim_end_matches('…');
    let mut found: Vec<ThreadRow> = store.like(typed, NAMED)?;
    if is_digits(typed) && typed.len() >= SHORT_DIGITS {
        // As of a session: what was printed of the oldest that begins so keeps its meaning.
        found.truncate(1);
    }
    let name = |row: &ThreadRow| name_thread(store, row.thread);
    match one_of(found, spelled_on_a_line(text), name)? {
        Some(found) => Ok(found),
        None => thread_around(store, text),
    }
}

/// The thread in which an exchange stands.
fn thread_around(store: &ReadStore, text: &str) -> Result<ThreadRow, FindError> {
    let none = || unknown("thread", text, "gently thread list shows them");
    let around = match exchange(store, text) {
        Ok(around) => around,
        Err(nothing) if nothing.is_nothing() => return thread_of_session(store, text),
        Err(other) => return Err(other),
    };
    let turn = store.thread_turn(around.exchange_id)?.ok_or_else(none)?;
    store.thread(turn.thread)?.ok_or_else(none)
}

/// The thread in which the questions of a session stand.
fn thread_of_session(store: &ReadStore, text: &str) -> Result<ThreadRow, FindError> {
    let none = || unknown("thread", text, "gently thread list shows them");
    let Some(IdForm::Digits(digits)) = IdForm::read(text) else {
        return Err(none());
    };
    let session = match by_prefix(store, &digits) {
        Ok(session) => session,
        Err(nothing) if nothing.is_nothing() => return Err(none()),
        Err(other) => return Err(other),
    };
    let threads = store.threads_asked_in(session.uuid, NAMED)?;
    match threads.as_slice() {
        [] => Err(none()),
        [one] => store.thread(*one)?.ok_or_else(none),
        several => {
            let could_be: Result<_, StoreError> =
                several.iter().map(|id| name_thread(store, *id)).collect();
            Err(FindError::Several {
                text: digits,
                could_be: could_be?,
            })
        }
    }
}

/// The drift event that a text means: `drift-42`, `driftwatch:0042`, its number, or the first digits
/// of its id.
pub fn drift(store: &ReadStore, text: &str) -> Result<DriftState, FindError> {
    let typed = text.trim().trim_end_matches('…').to_ascii_lowercase();
    let prefixes = ["driftwatch:", "drift-", "drift:"];
    let digits = prefixes
        .iter()
        .find_map(|prefix| typed.strip_prefix(prefix))
        .unwrap_or(&typed);
    let is_number = !digits.is_empty()
        && digits.len() < SHORT_DIGITS
        && digits.bytes().all(|b| b.is_ascii_digit());
    let none = || unknown("drift event", text, "gently drift list --all shows them");
    if let Some(number) = is_number.then(|| digits.parse::<u64>().ok()).flatten() {
        let (newest, _) = store.drift_states(false, Some(number + 1), 1)?;
        let found = newest.into_iter().find(|state| state.number == number);
        return found.ok_or_else(none);
    }
    // As it stands in a context: driftwatch: and the event's id.
    if !is_digits(digits) || digits.len() < SHORT_DIGITS {
        return Err(none());
    }
    let found: Vec<DriftState> = store.like(digits, NAMED)?;
    let name = |state: &DriftState| Ok(short_name(&state.id()));
    one_of(found, text.to_owned(), name)?.ok_or_else(none)
}

/// The only one of what was found, if anything was; of several, their names.
fn one_of<T>(
    mut found: Vec<T>,
    text: String,
    name: impl Fn(&T) -> Result<String, StoreError>,
) -> Result<Option<T>, FindError> {
    if found.len() <= 1 {
        return Ok(found.pop());
    }
    Err(ambiguous(text, found.iter().map(name))?)
}

fn ambiguous(
    text: String,
    names: impl Iterator<Item = Result<String, StoreError>>,
) -> Result<FindError, StoreError> {
    Ok(FindError::Ambiguous {
        text,
        could_be: names.collect::<Result<_, _>>()?,
    })
}

fn unknown(what: &'static str, text: &str, hint: impl Into<String>) -> FindError {
    FindError::Unknown {
        what,
        text: spelled_on_a_line(text),
        hint: hint.into(),
    }
}

/// The session that was used last: that of the newest exchange, unless one was opened and nothing
/// asked in it yet.
fn newest_session(store: &ReadStore) -> Result<SessionRow, FindError> {
    let opened = store
        .newest_session()?
        .ok_or_else(|| unknown("session", "last", "there is none yet: gently ask"))?;
    match store
        .newest_exchange()?
        .filter(|newest| opened.prompts > 0 && newest.session != opened.uuid)
    {
        None => Ok(opened),
        Some(newest) => Ok(store.session_of(newest.session)?.unwrap_or(opened)),
    }
}

fn by_prefix(store: &ReadStore, prefix: &str) -> Result<SessionRow, FindError> {
    if prefix == "last" {
        return newest_session(store);
    }
    if prefix.len() < CONVERSATION_DIGITS {
        let hint = format!(
            "type {CONVERSATION_DIGITS} digits of its id or more; gently session list shows them"
        );
        return Err(unknown("session", prefix, hint));
    }
    let mut found: Vec<SessionRow> = store.like(prefix, NAMED)?;
    if prefix.len() >= SHORT_DIGITS {
        // Oldest first: what was printed of the first that began so keeps its meaning.
        found.truncate(1);
    }
    one_of(found, prefix.to_owned(), |row| Ok(name_session(row.id)))?
        .ok_or_else(|| unknown("session", prefix, "gently session list shows them"))
}

/// How screens call an exchange: its session's first digits and its number, `8923fa34/3`.
pub fn short_id(store: &ReadStore, session: Hash32, seq: u64) -> Result<String, StoreError> {
    Ok(format!("{}/{seq}", short_session(store, session)?))
}

/// How screens call a session: its first digits, as many as no older one begins with.
pub fn short_session(store: &ReadStore, session: Hash32) -> Result<String, StoreError> {
    let digits = session.to_string();
    let mut lengths = SHORT_DIGITS..digits.len();
    loop {
        let beginning = lengths.next().and_then(|length| digits.get(..length));
        let beginning = beginning.unwrap_or(&digits);
        let oldest: Vec<SessionRow> = store.like(beginning, 1)?;
        let is_taken = oldest.first().is_some_and(|row| row.id != session);
        if !is_taken || beginning.len() == digits.len() {
            return Ok(beginning.to_owned());
        }
    }
}

/// How screens call an exchange ([`short_id`]), by its own id; none when it is not here.
pub fn short_id_of(store: &ReadStore, exchange: Uuid) -> Result<Option<String>, StoreError> {
    let Some(row) = store.exchange(exchange)? else {
        return Ok(None);
    };
    short_id_of_row(store, &row).map(Some)
}

/// How screens call an exchange at hand ([`short_id`]).
pub fn short_id_of_row(store: &ReadStore, row: &ExchangeRow) -> Result<String, StoreError> {
    match store.session_of(row.session)? {
        Some(session) => short_id(store, session.id, row.seq),
        // A home that `audit verify` has to look at.
        None => short_digits::<ExchangeRow>(store, row.exchange_id),
    }
}

/// How screens call a thread without a name: the first digits of its id, as many as no other one
/// begins with.
pub fn short_thread(store: &ReadStore, thread: Uuid) -> Result<String, StoreError> {
    short_digits::<ThreadRow>(store, thread)
}

/// The first digits of an id, eight or as many more as it takes for no other one to begin so.
fn short_digits<T: PrefixLookup>(store: &ReadStore, id: Uuid) -> Result<String, StoreError> {
    let digits = id.to_string();
    for length in SHORT_DIGITS..digits.len() {
        let beginning = digits.get(..length).unwrap_or(&digits);
        let found: Vec<T> = store.like(beginning, 2)?;
        if found.len() <= 1 && !beginning.ends_with('-') {
            return Ok(beginning.to_owned());
        }
    }
    Ok(digits)
}

fn no_number(text: &str) -> FindError {
    let hint = "no session has so many questions; gently session list shows them";
    unknown("exchange", text, hint)
}

fn name_session(session: Hash32) -> String {
    format!("session {}", session.short16())
}

fn name_thread(store: &ReadStore, thread: Uuid) -> Result<String, StoreError> {
    Ok(format!("thread {}", short_thread(store, thread)?))
}

fn at(
    store: &ReadStore,
    session: &SessionRow,
    seq: u64,
    text: &str,
) -> Result<ExchangeRow, FindError> {
    store.exchange_at(session.uuid, seq)?.ok_or_else(|| {
        let has = format!(
            "{} has {}",
            name_session(session.id),
            counted(session.prompts, "question")
        );
        unknown(
            "exchange",
            text,
            format!("{has}; for another session: SESSION/{seq}, and gently session list"),
        )
    })
}

/// The session that an exchange or a commit belongs to.
fn session_around(store: &ReadStore, digits: &str) -> Result<SessionRow, FindError> {
    let (exchanges, commits) = candidates(store, digits)?;
    let mut ids: Vec<Hash32> = commits.iter().filter_map(session_of).collect();
    for exchange in &exchanges {
        ids.extend(store.session_of(exchange.session)?.map(|row| row.id));
    }
    ids.sort_unstable();
    ids.dedup();
    let none = || unknown("session", digits, "gently session list shows them");
    match one_of(ids, digits.to_owned(), |id| Ok(name_session(*id)))? {
        Some(id) => store.session(id)?.ok_or_else(none),
        None if is_of_thread(store, digits)? => {
            Err(IdKind::Conversation.in_place_of_another(digits))
        }
        None => Err(none()),
    }
}

/// Exchanges and commits that begin with enough digits.
fn candidates(
    store: &ReadStore,
    digits: &str,
) -> Result<(Vec<ExchangeRow>, Vec<CommitRow>), FindError> {
    let exchanges = if digits.len() >= SHORT_DIGITS {
        store.like(digits, NAMED)?
    } else {
        Vec::new()
    };
    let commits = if digits.len() >= COMMIT_DIGITS {
        store.like(digits, NAMED)?
    } else {
        Vec::new()
    };
    Ok((exchanges, commits))
}

fn exchange_by_digits(store: &ReadStore, digits: &str) -> Result<ExchangeRow, FindError> {
    let (mut found, commits) = candidates(store, digits)?;
    let mut others: Vec<String> = Vec::new();
    for commit in &commits {
        match exchange_of(store, commit)? {
            Some(row)
                if found
                    .iter()
                    .all(|known| known.exchange_id != row.exchange_id) =>
            {
                found.push(row)
            }
            Some(_) => {}
            None => others.push(format!(
                "the {} commit {}",
                commit.kind.name(),
                short(&commit.id)
            )),
        }
    }
    let sessions: Vec<SessionRow> = store.like(digits, NAMED)?;
    others.extend(sessions.iter().map(|row| name_session(row.id)));
    if found.is_empty() && others.is_empty() {
        found = around_event(store, digits)?;
    }
    if found.len() > 1 {
        let name = |row: &ExchangeRow| Ok(format!("exchange {}", short_id_of_row(store, row)?));
        let names = found.iter().map(name);
        let names = names.chain(others.into_iter().map(Ok));
        return Err(ambiguous(digits.to_owned(), names)?);
    }
    if let Some(row) = found.pop() {
        return Ok(row);
    }
    Err(match others.first() {
        Some(_) if !sessions.is_empty() => IdKind::Session.in_place_of_another(digits),
        Some(other) => unknown(
            "exchange",
            digits,
            format!("it is {other}: gently session show {digits}"),
        ),
        None if is_of_thread(store, digits)? => IdKind::Conversation.in_place_of_another(digits),
        None if digits.len() < COMMIT_DIGITS => FindError::Form {
            text: digits.to_owned(),
        },
        None => unknown(
            "exchange",
            digits,
            "the newest ones: gently session show last",
        ),
    })
}

/// Whether a thread's id begins with enough digits.
fn is_of_thread(store: &ReadStore, digits: &str) -> Result<bool, StoreError> {
    if digits.len() < CONVERSATION_DIGITS {
        return Ok(false);
    }
    let found: Vec<ConversationRow> = store.like(digits, 1)?;
    Ok(!found.is_empty())
}

/// The exchanges of the questions, answers and decisions that begin with enough digits: `thread show`
/// prints those.
fn around_event(store: &ReadStore, digits: &str) -> Result<Vec<ExchangeRow>, StoreError> {
    if digits.len() < SHORT_DIGITS {
        return Ok(Vec::new());
    }
    let events: Vec<EventRow> = store.like(digits, NAMED)?;
    let exchanges = events.iter().map(|event| store.exchange(event.turn));
    exchanges.filter_map(Result::transpose).collect()
}

fn short(id: &str) -> &str {
    id.get(..COMMIT_DIGITS).unwrap_or(id)
}

fn message_value(commit: &CommitRow, key: &str) -> Option<String> {
    let raw = std::str::from_utf8(&commit.raw).ok()?;
    trailer(raw.split_once("\n\n")?.1, key).map(str::to_owned)
}

/// The session that a commit's message names.
fn session_of(commit: &CommitRow) -> Option<Hash32> {
    message_value(commit, "Session")?.parse().ok()
}

fn exchange_of(store: &ReadStore, commit: &CommitRow) -> Result<Option<ExchangeRow>, FindError> {
    if commit.kind != CommitKind::Interaction {
        return Ok(None);
    }
    let named =
        session_of(commit).zip(message_value(commit, "Seq").and_then(|seq| seq.parse().ok()));
    let Some((id, seq)) = named else {
        return Ok(None);
    };
    let Some(session) = store.session(id)? else {
        return Ok(None);
    };
    Ok(store.exchange_at(session.uuid, seq)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_and_a_number_say_the_kind() {
        for (text, expected) in [
            ("fact-1", Some(IdKind::Fact)),
            ("FACT:183", Some(IdKind::Fact)),
            ("ledger:000183", Some(IdKind::Fact)),
            ("intent-3", Some(IdKind::Intent)),
            ("drift-42", Some(IdKind::Drift)),
            ("driftwatch:0042", Some(IdKind::Drift)),
            ("drift-1c9e4a60", Some(IdKind::Drift)),
            ("opening-1", Some(IdKind::Opening)),
            ("fact-", None),
            ("fact-1c9e4a60", None),
            ("interaction-3", None),
            ("prompt-3", None),
            ("last", None),
            ("8923fa34", None),
        ] {
            assert_eq!(IdKind::of_word(text), expected, "{text}");
        }
        for row in &ID_KINDS {
            let known = record_name(&format!("{}-1", row.word)).is_some();
            assert_eq!(known, !row.word.is_empty(), "{}", row.word);
        }
    }

    #[test]
    fn of_several_all_are_named() {
        let found = one_of(vec![1, 2], "8923".to_owned(), |n| {
            Ok(format!("session {n}"))
        });
        assert_eq!(
            found.unwrap_err().to_string(),
            "'8923' could be any of: session 1, session 2; type more digits"
        );
    }

    #[test]
    fn nothing_is_said_of_what_so_few_digits_are_not_looked_up_for() {
        let said = |text: &str| {
            let text = text.to_owned();
            FindError::Nowhere { text }.to_string()
        };
        for (text, expected) in [
            (
                "1d9",
                "nothing on record is named by '1d9'; type 4 digits of a conversation's id, or 8 of a question's; ",
            ),
            (
                "1d92",
                "no session and no conversation begins with '1d92'; of a question's id type 8 digits; ",
            ),
            (
                "1d92aaaa",
                "nothing on record begins with '1d92aaaa'; what there is: gently conversation list",
            ),
        ] {
            assert!(said(text).starts_with(expected), "{}", said(text));
        }
    }

    #[test]
    fn every_form_that_people_see_is_read_and_nothing_else() {
        let digits = |text: &str| Some(IdForm::Digits(text.to_owned()));
        let inside = |session: &str, n| Some(IdForm::In(session.to_owned(), n));
        for (text, expected) in [
            ("last", Some(IdForm::Last)),
            (" LAST ", Some(IdForm::Last)),
            ("interaction-3", Some(IdForm::Number(3))),
            ("prompt-12", Some(IdForm::Number(12))),
            ("a89ea86f/3", inside("a89ea86f", 3)),
            ("a89ea86f/interaction-3", inside("a89ea86f", 3)),
            ("A89EA86F/prompt-3", inside("a89ea86f", 3)),
            ("last/1", inside("last", 1)),
            ("8923fa34…", digits("8923fa34")),
            ("8923FA34", digits("8923fa34")),
            (
                "8923fa34-0000-8000-8000-000000000000",
                digits("8923fa34-0000-8000-8000-000000000000"),
            ),
            ("", None),
            ("interaction-", None),
            ("interaction-0", None),
            ("interaction-03", None),
            ("interaction-+3", None),
            ("a/b/3", None),
            ("/3", None),
            ("a89ea86f/", None),
            ("first/3", None),
            ("-", None),
            ("xyz", None),
            ("%", None),
            ("a' OR 1", None),
        ] {
            assert_eq!(IdForm::read(text), expected, "{text}");
        }
    }
}
