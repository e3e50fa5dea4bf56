//! What the validator found, what became of it, and a kernel tried on replies.

mod bundle;
pub mod trial;

use serde_json::Value;
use uuid::Uuid;

use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::keys::os_random;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact};
use crate::store::{DriftState, ExchangeRow, ReadStore, SessionRow, StoreError};

use crate::ask::withheld::Withheld;
use crate::record::ledger::short_name::short_name;

use crate::app::ask::warnings::{self, DriftWarning};
use crate::app::find;
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::look::conversation::{self, ConversationScope};
use crate::app::remember::project;

/// A later state of a drift event: the kind of its artifact, and its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriftTransition {
    kind: &'static str,
    /// The word for it, for programs.
    pub word: &'static str,
    /// The same for people.
    pub called: &'static str,
}

/// Somebody has seen it; it stays open.
pub const ACK: DriftTransition = DriftTransition {
    kind: "drift_ack",
    word: "acked",
    called: "marked as seen",
};
/// It is dealt with.
pub const CLOSE: DriftTransition = DriftTransition {
    kind: "drift_close",
    word: "closed",
    called: "closed",
};

/// An event with the exchange and session that it belongs to.
pub struct DriftDetails {
    /// The event, and what became of it.
    pub state: DriftState,
    /// Exchange whose answer drifted; none for a change of state alone.
    pub exchange: Option<ExchangeRow>,
    /// Session of that exchange.
    pub session: Option<SessionRow>,
    /// How screens call its exchange.
    pub short: String,
    /// What it comes to, for a person; with the words of the answer where one event is shown.
    pub warning: DriftWarning,
}

impl DriftDetails {
    fn of(store: &ReadStore, state: DriftState) -> Result<DriftDetails, OpenHomeError> {
        let exchange = store.exchange(state.event.exchange)?;
        let session = exchange
            .as_ref()
            .map(|row| store.session_of(row.session))
            .transpose()?;
        let short = exchange
            .as_ref()
            .map(|row| find::short_id_of_row(store, row));
        Ok(DriftDetails {
            warning: DriftWarning::without_excerpt(&state.event.class, &state.event.summary),
            short: short.transpose()?.unwrap_or_default(),
            state,
            exchange,
            session: session.flatten(),
        })
    }

    /// `8923fa34/interaction-3`, as every command takes it.
    pub fn place(&self) -> String {
        let turn = self
            .exchange
            .as_ref()
            .map(ExchangeRow::name)
            .unwrap_or_default();
        self.session.as_ref().map_or(turn.clone(), |session| {
            format!("{}/{turn}", session.id.short8())
        })
    }
}

/// Which events are listed.
#[derive(Clone, Debug)]
pub struct DriftFilter {
    /// Closed ones too.
    pub all: bool,
    /// So many at most, the newest.
    pub number: u32,
    /// Only older ones than this event.
    pub before: Option<String>,
    /// Only those of a conversation: the first digits of its id, its title, or `last`.
    pub conversation: Option<String>,
}

/// Drift events of a home.
pub struct DriftList {
    /// Events on record, oldest first.
    pub events: Vec<DriftDetails>,
    /// How many older ones are not listed.
    pub older: u64,
    /// How many are of other conversations; none where they are listed.
    pub elsewhere: Option<u64>,
}

/// Lists drift events.
pub fn list(home: &Home, filter: &DriftFilter) -> Result<DriftList, OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let before = match &filter.before {
        Some(id) => Some(find::drift(&store, id)?.number),
        None => None,
    };
    let found = match &filter.conversation {
        None => {
            let (states, older) = store.drift_states(!filter.all, before, filter.number)?;
            (states, older, None)
        }
        Some(text) => {
            let thread = conversation::named(&store, Some(text), &ConversationScope::default())?;
            in_conversation(&store, thread, (filter, before))?
        }
    };
    let (mut states, older, elsewhere) = found;
    states.reverse();
    let events = states
        .into_iter()
        .map(|state| DriftDetails::of(&store, state))
        .collect::<Result<_, _>>()?;
    Ok(DriftList {
        events,
        older,
        elsewhere,
    })
}

/// The newest events of a conversation, how many older ones it has, and how many there are elsewhere.
fn in_conversation(
    store: &ReadStore,
    thread: Uuid,
    (filter, before): (&DriftFilter, Option<u64>),
) -> Result<(Vec<DriftState>, u64, Option<u64>), StoreError> {
    let (all, _) = store.drift_states(!filter.all, before, u32::MAX)?;
    let (mut here, mut older, mut elsewhere) = (Vec::new(), 0, 0);
    for state in all {
        if thread_of(store, &state)? != Some(thread) {
            elsewhere += 1;
        } else if here.len() < usize::try_from(filter.number).unwrap_or(usize::MAX) {
            here.push(state);
        } else {
            older += 1;
        }
    }
    Ok((here, older, Some(elsewhere)))
}

/// What somebody said of a drift event.
pub struct DriftStep {
    /// `acked` or `closed`, and the same for people.
    pub of: DriftTransition,
    /// Number of its line, from 0.
    pub line: u64,
    /// What was committed to; null once erased.
    pub said: Value,
}

/// The drift event that `id` means, and who looked at it.
pub fn show(home: &Home, id: &str) -> Result<(DriftDetails, Vec<DriftStep>), OpenHomeError> {
    let store = open::store(home)?;
    store.begin_read()?;
    let mut details = DriftDetails::of(&store, find::drift(&store, id)?)?;
    if let Some(row) = &details.exchange {
        let is_shown = !Withheld::of(&store).answer_of(row)?;
        let all = warnings::on_record(&store, row, is_shown)?;
        let (class, reason) = (&details.warning.class, &details.warning.reason);
        let mut same = all.into_iter();
        let same = same.find(|one| one.class == *class && one.reason == *reason);
        details.warning = same.unwrap_or(details.warning);
    }
    let lines = [(ACK, details.state.acked), (CLOSE, details.state.closed)];
    let mut steps = Vec::new();
    for (step, line) in lines {
        let Some(line) = line else { continue };
        let document = store.artifact_of_line(line)?.and_then(|row| row.document);
        let document: Value = document
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        steps.push(DriftStep {
            of: step,
            line,
            said: document["content"].clone(),
        });
    }
    Ok((details, steps))
}

/// Which events somebody has seen, or dealt with.
#[derive(Clone, Debug)]
pub enum DriftChoice {
    /// These, as they were typed.
    These(Vec<String>),
    /// All that are open.
    All,
    /// All of a conversation that are open: the first digits of its id, its title, or `last`.
    Of(String),
}

impl DriftChoice {
    /// The events; of all, or of a conversation, those that this was not said of yet.
    fn states(
        &self,
        (opened, key): (&OpenHome, Hash32),
        step: DriftTransition,
    ) -> Result<Vec<DriftState>, OpenHomeError> {
        let store = &opened.store;
        let thread = match self {
            DriftChoice::These(events) => {
                let states = events.iter().map(|id| find::drift(store, id));
                return Ok(states.collect::<Result<_, _>>()?);
            }
            DriftChoice::All => None,
            DriftChoice::Of(text) => {
                let scope = ConversationScope {
                    key: Some(key),
                    project: project::id_in_use(store, &opened.config)?,
                };
                Some(conversation::named(store, Some(text), &scope)?)
            }
        };
        let (states, _) = store.drift_states(true, None, u32::MAX)?;
        let mut chosen = Vec::new();
        for state in states.into_iter().rev() {
            let is_new = step != ACK || state.acked.is_none();
            let is_there = match thread {
                None => true,
                Some(_) => thread_of(store, &state)? == thread,
            };
            if is_new && is_there {
                chosen.push(state);
            }
        }
        Ok(chosen)
    }
}

/// The conversation that an event is of; none where that is not here.
pub fn thread_of(store: &ReadStore, state: &DriftState) -> Result<Option<Uuid>, StoreError> {
    let turn = store.thread_turn(state.event.exchange)?;
    Ok(turn.map(|turn| turn.thread))
}

/// Says, on record, that drift events were seen or are dealt with; gives their names.
pub async fn state(
    opened: &OpenHome,
    choice: &DriftChoice,
    reason: Option<&str>,
    step: DriftTransition,
) -> Result<Vec<String>, OpenHomeError> {
    let key = opened.authorize().await?;
    let states = choice.states((opened, key), step)?;
    let mut done = Vec::new();
    for state in states {
        let new = artifact(&state, step, key, reason, &opened.store)?;
        let (id, name, kind) = (state.event.drift_id.clone(), state.id(), step.kind);
        let allowed = move |store: &ReadStore| {
            let known = |kind: &str| store.has_artifact(kind, &id);
            // What is closed is not looked at again; a state is told once.
            let closed = known(CLOSE.kind)?;
            let again = closed || known(kind)?;
            let is = if closed { CLOSE.called } else { step.called };
            let name = short_name(&name);
            Ok(again.then(|| format!("{name} is {is} already; gently drift show {name}")))
        };
        opened.recorder.artifact(new, allowed).await?;
        done.push(state.id());
    }
    Ok(done)
}

/// What is recorded: which event, by whose key, when and why. The artifact has the event's own id.
fn artifact(
    state: &DriftState,
    step: DriftTransition,
    key: Hash32,
    reason: Option<&str>,
    store: &ReadStore,
) -> Result<NewArtifact, OpenHomeError> {
    let mut salt = [0; 32];
    os_random(&mut salt)?;
    let name = store
        .auth_keys()?
        .into_iter()
        .find(|row| row.hash == key)
        .map(|row| row.name);
    let now = open::clock()?;
    Ok(NewArtifact {
        kind: step.kind,
        id: ArtifactId::Of(state.event.drift_id.clone()),
        content: vec![
            ("at", ArtifactField::Time(now)),
            ("auth_key_hash", ArtifactField::Hash(key)),
            (
                "by",
                name.map_or(ArtifactField::Null, |name| {
                    ArtifactField::Text(redact(&name).clean)
                }),
            ),
            ("driftwatch", ArtifactField::Word(state.id())),
            (
                "exchange",
                ArtifactField::Word(state.event.exchange.to_string()),
            ),
            (
                "reason",
                reason.map_or(ArtifactField::Null, |text| {
                    ArtifactField::Text(redact(text).clean)
                }),
            ),
        ],
        session: None,
        salt: Salt::new(salt),
        now,
    })
}
