//! Replay: what was declared, resolved, decided and compiled, computed again from what is stored
//! (DBL, replay modes).
//!
//! Twice: from the database as it stands (*ledger replay*), and from the order of `audit.log`
//! alone, in which the events of all threads are numbered again (*stream replay*). Both must give
//! what is on record, and so agree. Nothing is mended: an event that is removed or changed is
//! named, and stays so.

mod counts;
mod parts;
mod source;
mod stream;
mod together;
mod trial;
mod turn;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use uuid::Uuid;

use crate::govern::authority::Judge;
use crate::govern::kernel::Kernel;
use crate::govern::sanitize;
use crate::log::read::ReadError;
use crate::record::canon;
use crate::record::context::config::ContextConfig;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Scheme;
use crate::record::ledger::documents::Genesis;
use crate::record::ledger::exchange::{ArtifactDoc, row_id};
use crate::store::{
    ArtifactFilter, ArtifactRow, ContextRows, ExchangeRow, ReadStore, SessionRow, StoreError,
};

use super::rows::contexts::ContextFault;
use counts::IntentIndex;
use source::EventCache;
use stream::Stream;

pub use trial::{Cause, DenyingRule, Total, Trial, TrialDifference};

/// One thing that replay asserts of an exchange; the first four are the document's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assertion {
    /// The stored configuration has the digest that the DECISION pins.
    SameConfiguration,
    /// What was declared resolves to the same events, with the same digests.
    SameReferences,
    /// Specification and assembled context give the stored context digest.
    SameContext,
    /// Normative inputs are INTENTs, and the policy's counts are counts of INTENTs.
    NoObservation,
    /// The kernel decides the same on the same inputs.
    SameDecision,
    /// Ring 0 compiles again to the same; the bundle has its hash.
    SameBundle,
    /// The compiled prompt and its digest are the same.
    SamePrompt,
    /// The events are those that the log's order gives: none is missing, moved or changed.
    SameEvents,
    /// The rows give the exchange document that the ledger commits to.
    SameRecord,
}

impl Assertion {
    /// All, in the order in which they are shown.
    pub const ALL: [Assertion; 9] = [
        Assertion::SameConfiguration,
        Assertion::SameReferences,
        Assertion::SameContext,
        Assertion::NoObservation,
        Assertion::SameDecision,
        Assertion::SameBundle,
        Assertion::SamePrompt,
        Assertion::SameEvents,
        Assertion::SameRecord,
    ];

    /// Its name in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Assertion::SameConfiguration => "same_configuration",
            Assertion::SameReferences => "same_references",
            Assertion::SameContext => "same_context",
            Assertion::NoObservation => "no_observation",
            Assertion::SameDecision => "same_decision",
            Assertion::SameBundle => "same_bundle",
            Assertion::SamePrompt => "same_prompt",
            Assertion::SameEvents => "same_events",
            Assertion::SameRecord => "same_record",
        }
    }

    /// What it says, for a person.
    pub const fn says(self) -> &'static str {
        match self {
            Assertion::SameConfiguration => "the same configuration was used",
            Assertion::SameReferences => "the same references were resolved",
            Assertion::SameContext => "the same context was assembled",
            Assertion::NoObservation => "no observation leaked into policy",
            Assertion::SameDecision => "the same decision is made",
            Assertion::SameBundle => "the same bundle is compiled",
            Assertion::SamePrompt => "the same prompt is compiled",
            Assertion::SameEvents => "the log's order gives the same events",
            Assertion::SameRecord => "the record's commitment holds",
        }
    }
}

/// How an assertion came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssertionOutcome {
    /// It was computed again, and is the same.
    Holds,
    /// It is another: where, expected, found.
    Fails(String),
    /// There was nothing to compute it from; never a pass.
    NotChecked(String),
}

/// One exchange, replayed.
#[derive(Clone, Debug)]
pub struct ExchangeReplay {
    /// Id of the exchange that was replayed.
    pub exchange: Uuid,
    /// Session that the exchange is part of.
    pub session: Hash32,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// Its thread; none for an exchange from before threads.
    pub thread: Option<Uuid>,
    /// Each assertion, in the order of [`Assertion::ALL`].
    pub outcomes: Vec<(Assertion, AssertionOutcome)>,
}

/// What the log has and the database lacks, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFault {
    /// Part of the record where it was found, such as a row or a log line.
    pub place: String,
    /// Expected and found.
    pub what: String,
}

/// Why nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// `genesis.json` of the ledger is missing or malformed.
    #[error("genesis.json in the database can't be read: {0}; run gently audit verify")]
    Genesis(String),
}

/// A history opened for replay.
pub struct Replay<'a> {
    store: &'a ReadStore,
    scheme: Scheme,
    stream: Arc<Stream>,
    /// What policy counts, by the database.
    intents: Arc<IntentIndex>,
    kernels: RefCell<HashMap<Hash32, Rc<KernelOnRecord>>>,
    judges: RefCell<HashMap<Hash32, Rc<Judge>>>,
    configs: RefCell<HashMap<Hash32, Rc<ConfigOnRecord>>>,
    sessions: RefCell<HashMap<Uuid, Option<Rc<SessionRow>>>>,
    at_hand: RefCell<EventCache>,
    /// What is wrong with a thread, once it was looked at.
    threads: RefCell<HashMap<Uuid, Option<String>>>,
    /// Exchanges and contexts that some tombstone names, once they were looked for.
    erased: OnceCell<HashSet<String>>,
    /// Set when something was resolved that needs a text that is gone.
    gone: RefCell<Option<AssertionOutcome>>,
    /// From which line on the sanitizer had which list of what it leaves: the one that is in force
    /// now, or another.
    lists: OnceCell<Vec<(u64, bool)>>,
}

/// The order of the log and what was counted, for all threads that replay.
#[derive(Clone)]
pub(super) struct ReplayHistory {
    scheme: Scheme,
    stream: Arc<Stream>,
    intents: Arc<IntentIndex>,
}

impl ReplayHistory {
    /// The same history in a store that shows the same state.
    pub(super) fn over<'a>(self, store: &'a ReadStore) -> Replay<'a> {
        let ReplayHistory {
            scheme,
            stream,
            intents,
        } = self;
        Replay {
            store,
            scheme,
            stream,
            intents,
            kernels: RefCell::default(),
            judges: RefCell::default(),
            configs: RefCell::default(),
            sessions: RefCell::default(),
            at_hand: RefCell::default(),
            threads: RefCell::default(),
            erased: OnceCell::new(),
            lists: OnceCell::new(),
            gone: RefCell::default(),
        }
    }
}

/// A kernel on record, or what is wrong with it; none where it is lost (a session that was taken
/// over).
type KernelOnRecord = Option<Result<Kernel, String>>;
/// A configuration on record, or what is wrong with it.
type ConfigOnRecord = Result<ContextConfig, String>;

/// Why nothing of a text is checked.
const ABSENT: &str = "a text in it is not here: erased, lost, or never kept";

/// Nothing accounts for it.
const MISSING: &str =
    "something that it was compiled from is not here, and its texts are: it was taken away";

impl<'a> Replay<'a> {
    /// Reads the log's order.
    ///
    /// `store` must show one state for as long as this lives.
    pub fn open(store: &'a ReadStore, log: &Path) -> Result<Self, ReplayError> {
        let genesis: Genesis = canon::parse(store.genesis()?.as_bytes())
            .map_err(|e| ReplayError::Genesis(e.to_string()))?;
        let share = ReplayHistory {
            scheme: genesis.commitments,
            stream: Arc::new(Stream::read(store, log)?),
            intents: Arc::new(IntentIndex::of(store.intents()?)),
        };
        Ok(share.over(store))
    }

    /// What another thread needs to replay a part of the same history.
    pub(super) fn share(&self) -> ReplayHistory {
        let (stream, intents) = (Arc::clone(&self.stream), Arc::clone(&self.intents));
        ReplayHistory {
            scheme: self.scheme,
            stream,
            intents,
        }
    }

    /// Where log and database do not fit together, beside what exchanges themselves say.
    pub fn faults(&self) -> Result<Vec<ReplayFault>, ReplayError> {
        let mut faults = self.stream.faults.clone();
        faults.extend(self.stream.threads_against(self.store)?);
        Ok(faults)
    }

    /// Tries a kernel on the history, or on one exchange after all that came before it.
    pub fn tried(&self, other: &Kernel, only: Option<Uuid>) -> Result<Trial, ReplayError> {
        trial::run(self, other, only)
    }

    /// Replays one exchange.
    pub fn exchange(&self, row: &ExchangeRow) -> Result<ExchangeReplay, ReplayError> {
        turn::replay(self, row)
    }

    /// Replays every exchange, in the order of their lines.
    pub fn all(&self, each: &mut dyn FnMut(ExchangeReplay)) -> Result<(), ReplayError> {
        self.walk(None, each)
    }

    /// The same on two threads, session by session; the second has a store of its own, which shows
    /// the same state.
    pub fn all_beside(
        &self,
        other: &mut ReadStore,
        each: &mut dyn FnMut(ExchangeReplay),
    ) -> Result<(), ReplayError> {
        together::all(self, other, each)
    }

    /// Replays the exchanges of a session, or all.
    fn walk(
        &self,
        session: Option<Uuid>,
        each: &mut dyn FnMut(ExchangeReplay),
    ) -> Result<(), ReplayError> {
        let mut failed = Ok(());
        let walked = self
            .store
            .each_exchange(session, &mut |row| match self.exchange(&row) {
                Ok(replayed) => {
                    each(replayed);
                    Ok(())
                }
                Err(error) => {
                    failed = Err(error);
                    Err(StoreError::Stopped)
                }
            });
        failed?;
        Ok(walked?)
    }

    /// A kernel by its hash.
    fn kernel(&self, hash: Hash32) -> Result<Rc<KernelOnRecord>, ReplayError> {
        if let Some(known) = self.kernels.borrow().get(&hash) {
            return Ok(known.clone());
        }
        let kernel = match self.store.kernel(hash)? {
            None => Some(Err(format!("kernel {hash} is not in the database"))),
            Some(json) if json.is_empty() => None,
            Some(json) => Some(match Kernel::from_canonical(&json) {
                Ok(kernel) if kernel.hash() == hash => Ok(kernel),
                Ok(kernel) => Err(format!("kernel: expected {hash}, found {}", kernel.hash())),
                Err(e) => Err(e.to_string()),
            }),
        };
        let kernel = Rc::new(kernel);
        self.kernels.borrow_mut().insert(hash, kernel.clone());
        Ok(kernel)
    }

    /// What is said where a text of an exchange is needed; looked for only where one is not here.
    fn absent_if(
        &self,
        gone: bool,
        exchange: &ExchangeRow,
    ) -> Result<AssertionOutcome, ReplayError> {
        if gone {
            self.absent(exchange)
        } else {
            Ok(AssertionOutcome::Fails(MISSING.to_owned()))
        }
    }

    /// What is said where a text of an exchange is not here: that nothing was checked, if the
    /// record says why it is gone; else that it is missing.
    fn absent(&self, exchange: &ExchangeRow) -> Result<AssertionOutcome, ReplayError> {
        let id = exchange.exchange_id.to_string();
        Ok(
            match exchange.not_kept.is_some() || self.erased()?.contains(&id) {
                true => AssertionOutcome::NotChecked(ABSENT.to_owned()),
                false => AssertionOutcome::Fails(format!(
                    "a text of exchange {id} is not here, and no tombstone names it"
                )),
            },
        )
    }

    /// Whether the sanitizer was told to leave what it is told to leave now, when something of this
    /// line was asked.
    fn has_same_list(&self, line: u64) -> Result<bool, ReplayError> {
        let now = sanitize::current_engine().exemptions();
        if self.lists.get().is_none() {
            let content = now.content();
            let is_now = |row: &ArtifactRow| {
                let doc = row
                    .document
                    .as_deref()
                    .and_then(|text| canon::parse::<ArtifactDoc>(text.as_bytes()).ok());
                doc.is_some_and(|doc| doc.content == content)
            };
            let rows = self
                .store
                .artifacts(ArtifactFilter::Kind(sanitize::SANITIZE_POLICY))?;
            let mut lists: Vec<(u64, bool)> =
                rows.iter().map(|row| (row.line, is_now(row))).collect();
            lists.sort_unstable();
            let _ = self.lists.set(lists);
        }
        let lists = self.lists.get().map_or(&[][..], Vec::as_slice);
        // Before the first such artifact there was no list.
        Ok(lists
            .iter()
            .rfind(|(at, _)| *at < line)
            .map_or(now.count == 0, |(_, same)| *same))
    }

    /// Ids in tombstones.
    fn erased(&self) -> Result<&HashSet<String>, ReplayError> {
        if let Some(known) = self.erased.get() {
            return Ok(known);
        }
        let mut ids = HashSet::new();
        for row in self.store.artifacts(ArtifactFilter::Kind("tombstone"))? {
            let Some(text) = &row.document else { continue };
            let content = canon::parse::<ArtifactDoc>(text.as_bytes())
                .map(|doc| doc.content)
                .unwrap_or_default();
            let named = ["ids", "contexts"]
                .into_iter()
                .filter_map(|key| content[key].as_array())
                .flatten();
            ids.extend(named.filter_map(|id| id.as_str()).map(str::to_owned));
        }
        Ok(self.erased.get_or_init(|| ids))
    }

    /// A kernel's decisions.
    fn judge(&self, kernel: &Kernel) -> Rc<Judge> {
        let mut judges = self.judges.borrow_mut();
        judges
            .entry(kernel.hash())
            .or_insert_with(|| Rc::new(Judge::of(kernel)))
            .clone()
    }

    /// The configuration that a turn was resolved with.
    fn config(&self, context: &ContextRows) -> Result<Rc<ConfigOnRecord>, ReplayError> {
        let digest = context.row.config_digest;
        if let Some(known) = self.configs.borrow().get(&digest) {
            return Ok(known.clone());
        }
        let config = match context.config(self.store) {
            Ok(config) => Ok(config),
            Err(ContextFault::Store(error)) => return Err(error.into()),
            Err(fault) => Err(fault.to_string()),
        };
        let config = Rc::new(config);
        self.configs.borrow_mut().insert(digest, config.clone());
        Ok(config)
    }

    /// What is wrong with the row of a thread, if anything is.
    fn thread_fault(&self, id: Uuid) -> Result<Option<String>, ReplayError> {
        if let Some(known) = self.threads.borrow().get(&id) {
            return Ok(known.clone());
        }
        let fault = match self.store.thread(id)? {
            None => Some(format!(
                "thread {id}: it has events in the log's order, and is not in the database"
            )),
            Some(row) => {
                let derived = self
                    .session(row.session)?
                    .map(|session| row_id("thread", session.id, row.number));
                let other = derived.map_or("no session".to_owned(), |derived| derived.to_string());
                (derived != Some(id))
                    .then(|| format!("thread {id}: session and number on record give {other}"))
            }
        };
        self.threads.borrow_mut().insert(id, fault.clone());
        Ok(fault)
    }

    /// A session by the id of its row.
    fn session(&self, uuid: Uuid) -> Result<Option<Rc<SessionRow>>, ReplayError> {
        if let Some(known) = self.sessions.borrow().get(&uuid) {
            return Ok(known.clone());
        }
        let session = self.store.session_of(uuid)?.map(Rc::new);
        self.sessions.borrow_mut().insert(uuid, session.clone());
        Ok(session)
    }
}

impl From<ContextFault> for AssertionOutcome {
    fn from(fault: ContextFault) -> Self {
        match fault {
            ContextFault::Gone => AssertionOutcome::NotChecked(ABSENT.to_owned()),
            other => AssertionOutcome::Fails(other.to_string()),
        }
    }
}
