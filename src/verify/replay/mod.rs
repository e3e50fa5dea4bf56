//! Replay: what was declared, resolved, decided and compiled, computed again from what is stored (DBL, replay modes).
//!
//! Twice: from the database as it stands (*ledger replay*), and from the order of `audit.log` alone, in which the events
//! of all threads are numbered again (*stream replay*). Both must give what is on record, and so agree. Nothing is
//! mended: an event that is removed or changed is named, and stays so.

mod parts;
mod source;
mod stream;
mod trial;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use uuid::Uuid;

use crate::govern::kernel::Kernel;
use crate::log::read::ReadError;
use crate::record::commitment::Scheme;
use crate::record::documents::Genesis;
use crate::record::hash::Hash32;
use crate::store::{ExchangeRow, Read, SessionRow, StoreError};

use super::contexts::ContextFault;
use source::Said;
use stream::Stream;

pub use trial::Difference;

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
pub enum Outcome {
    /// It was computed again, and is the same.
    Holds,
    /// It is another: where, expected, found.
    Fails(String),
    /// There was nothing to compute it from; never a pass.
    NotChecked(String),
}

/// One exchange, replayed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// It.
    pub exchange: Uuid,
    /// Its session.
    pub session: Hash32,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// Its thread; none for an exchange from before threads.
    pub thread: Option<Uuid>,
    /// Each assertion, in the order of [`Assertion::ALL`].
    pub outcomes: Vec<(Assertion, Outcome)>,
    /// How another kernel would have decided, where it would differ.
    pub difference: Option<Difference>,
    /// Whether another kernel was asked about it.
    pub tried: bool,
}

/// What the log has and the database lacks, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: String,
    /// Expected and found.
    pub what: String,
}

/// Why nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// `genesis.json`.
    #[error("genesis.json in the database can't be read: {0}; run gently audit verify")]
    Genesis(String),
}

/// A history opened for replay.
pub struct Replay<'a> {
    store: &'a dyn Read,
    scheme: Scheme,
    stream: Stream,
    kernels: RefCell<HashMap<Hash32, Rc<Known>>>,
    sessions: RefCell<HashMap<Uuid, Option<Rc<SessionRow>>>>,
    said: RefCell<HashMap<Uuid, Rc<Said>>>,
    other: Option<Kernel>,
    /// Set when something was resolved that needs a text that is gone.
    gone: Cell<bool>,
}

/// A kernel on record, or why it can't be read; none when it is not here.
type Known = Option<Result<Kernel, String>>;

/// So many events are kept at hand.
const KEPT: usize = 8192;

impl<'a> Replay<'a> {
    /// Reads the log's order. `other` is a kernel that is tried on the history.
    ///
    /// `store` must show one state for as long as this lives.
    pub fn open(store: &'a dyn Read, log: &Path, other: Option<Kernel>) -> Result<Self, ReplayError> {
        let genesis: Genesis = crate::record::canon::parse(store.genesis()?.as_bytes())
            .map_err(|e| ReplayError::Genesis(e.to_string()))?;
        Ok(Replay {
            store,
            scheme: genesis.commitments,
            stream: Stream::read(store, log)?,
            kernels: RefCell::default(),
            sessions: RefCell::default(),
            said: RefCell::default(),
            other,
            gone: Cell::new(false),
        })
    }

    /// Where log and database do not fit together, beside what exchanges themselves say.
    pub fn faults(&self) -> Result<Vec<Fault>, ReplayError> {
        let mut faults = self.stream.faults.clone();
        faults.extend(self.stream.threads_against(self.store)?);
        Ok(faults)
    }

    /// Replays one exchange.
    pub fn exchange(&self, row: &ExchangeRow) -> Result<Replayed, ReplayError> {
        if self.said.borrow().len() > KEPT {
            self.said.borrow_mut().clear();
        }
        turn::replay(self, row)
    }

    /// Replays every exchange, in the order of their lines.
    pub fn all(&self, each: &mut dyn FnMut(Replayed)) -> Result<(), ReplayError> {
        let mut failed = Ok(());
        let walked = self.store.each_exchange(None, &mut |row| match self.exchange(&row) {
            Ok(replayed) => {
                each(replayed);
                Ok(())
            }
            Err(error) => {
                failed = Err(error);
                Err(StoreError::Sqlite { what: "replay", reason: "stopped".to_owned() })
            }
        });
        failed?;
        Ok(walked?)
    }

    /// A kernel by its hash.
    fn kernel(&self, hash: Hash32) -> Result<Rc<Known>, ReplayError> {
        if let Some(known) = self.kernels.borrow().get(&hash) {
            return Ok(known.clone());
        }
        let json = self.store.kernel(hash)?.filter(|json| !json.is_empty());
        let kernel = Rc::new(json.map(|json| Kernel::from_canonical(&json).map_err(|e| e.to_string())));
        self.kernels.borrow_mut().insert(hash, kernel.clone());
        Ok(kernel)
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

impl From<ContextFault> for Outcome {
    fn from(fault: ContextFault) -> Self {
        match fault {
            ContextFault::Gone => Outcome::NotChecked("a text in it is erased or was not kept".to_owned()),
            other => Outcome::Fails(other.to_string()),
        }
    }
}
