//! What is known of an exchange for its trace, from its rows as they are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use uuid::Uuid;

use crate::govern::kernel::Kernel;
use crate::govern::stored_kernel::{StoredKernel, StoredKernels};
use crate::record::canon;
use crate::record::exchange::{ExchangeFault, MissingTurn};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::StoredBundle;
use crate::record::ledger::commitment::Scheme;
use crate::record::ledger::documents::Genesis;
use crate::record::trace::ended_turn::EndedTurn;
use crate::record::trace::envelope::CommittedTrace;
use crate::record::trace::facts::{Known, TraceFacts, TraceTexts, looks};
use crate::record::trace::level::{Absence, TraceLevel};
use crate::store::{
    DriftRow, ExchangeRow, ExchangeRows, ReadStore, SessionRow, StoreError, TurnRow,
};

/// All that is known of an exchange for its trace.
#[derive(Clone, Debug)]
pub struct TraceSource {
    /// What a trace is made from. Texts are read only for `full_traces`; otherwise they count as gone.
    pub facts: TraceFacts,
    /// The ledger's session id.
    pub session: Hash32,
    /// HASH of the outcome's line.
    pub line: Hash32,
    /// The key of the session in which it was asked.
    pub auth_key: Hash32,
    /// Whether its exchange document can't be made again: it is erased, or was taken over from a ledger
    /// alone.
    pub is_gone: bool,
    /// What its exchange document commits to; none for an exchange from before traces, and for one
    /// that was abandoned.
    pub recorded: Option<RecordedCommitment>,
}

/// The commitment to a trace, as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCommitment {
    /// How facts became fields: `gently.trace/1`.
    pub mapping: String,
    /// The commitment.
    pub commitment: Hash32,
    /// As an envelope shows it; none where no openings are kept, so that nobody can open it.
    pub committed: Option<CommittedTrace>,
}

/// What was found for an id.
#[derive(Clone, Debug)]
pub enum TraceLookup {
    /// An exchange with its outcome.
    Found(Box<TraceSource>),
    /// An exchange that waits for its outcome: it has no trace yet.
    Waits,
    /// There is no such exchange.
    NoSuchExchange,
}

/// Why the rows of an exchange give no facts.
#[derive(Debug, thiserror::Error)]
pub enum TraceFactsFault {
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its rows are not what was written.
    #[error(
        "the rows of exchange {exchange} give no trace: {reason}; what is wrong says: gently audit verify"
    )]
    Rows {
        /// Id of the exchange.
        exchange: Uuid,
        /// What is wrong.
        reason: String,
    },
}

/// Reads the facts of many exchanges: ledger, sessions and kernels once.
pub struct TraceFactsReader<'a> {
    store: &'a ReadStore,
    genesis: Genesis,
    sessions: RefCell<HashMap<Uuid, Rc<SessionRow>>>,
    kernels: StoredKernels,
}

/// All facts of one exchange, with its texts; see [`TraceFactsReader::facts_of`] for many.
pub fn facts_of(store: &ReadStore, exchange: Uuid) -> Result<TraceLookup, TraceFactsFault> {
    TraceFactsReader::new(store)?.facts_of(exchange, TraceLevel::FullTraces)
}

impl<'a> TraceFactsReader<'a> {
    /// On a store; inside one read transaction where all facts have to be of one moment.
    pub fn new(store: &'a ReadStore) -> Result<TraceFactsReader<'a>, TraceFactsFault> {
        let genesis = canon::parse(store.genesis()?.as_bytes());
        let genesis = genesis.map_err(|e| StoreError::Corrupt {
            place: "head.genesis".to_owned(),
            expected: "genesis.json".to_owned(),
            actual: e.to_string(),
        })?;
        Ok(TraceFactsReader {
            store,
            genesis,
            sessions: RefCell::default(),
            kernels: StoredKernels::default(),
        })
    }

    /// The ledger's `genesis.json`.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The facts of an exchange, as far as a level tells them.
    pub fn facts_of(
        &self,
        exchange: Uuid,
        level: TraceLevel,
    ) -> Result<TraceLookup, TraceFactsFault> {
        let Some(row) = self.store.exchange(exchange)? else {
            return Ok(TraceLookup::NoSuchExchange);
        };
        let found = self.facts_of_row(&row, level)?;
        Ok(found.map_or(TraceLookup::Waits, |found| {
            TraceLookup::Found(Box::new(found))
        }))
    }

    /// The same where its row was read; none while it waits for its outcome.
    pub fn facts_of_row(
        &self,
        row: &ExchangeRow,
        level: TraceLevel,
    ) -> Result<Option<TraceSource>, TraceFactsFault> {
        let Some(outcome) = &row.outcome else {
            return Ok(None);
        };
        let (store, id) = (self.store, row.exchange_id);
        let session = self.session(row)?;
        let context = store.thread_turn(id)?;
        let (refs, checks) = (store.artifact_refs(id)?, store.assertions(id)?);
        let measures = store.measures(row)?;
        let prompt_line = self.line_hash(row, row.prompt_line)?;
        let Some(turn) = row.ended_turn(prompt_line, context.as_ref(), &refs, &checks) else {
            return Ok(None);
        };
        let turn = EndedTurn {
            measures: measures.as_ref().map(|row| row.measures.clone()),
            is_erased: row.salt.is_none() && store.tombstone_of(&id.to_string())?.is_some(),
            is_withheld_by_drift: checks.is_empty() && self.is_withheld(row, &session)?,
            ..turn
        };
        let facts = turn.facts(&self.genesis.origin);
        let mut facts = facts.map_err(|e| wrong(row, e))?;
        if level >= TraceLevel::Detailed
            && let Some(json) = &row.bundle_json
        {
            let bundle = StoredBundle::new(json.clone());
            facts.looks = Ok(looks(bundle.read().map_err(|e| wrong(row, e))?));
        }
        if level == TraceLevel::FullTraces {
            facts.texts = self.texts(row, &session, facts.texts)?;
        }
        Ok(Some(TraceSource {
            facts,
            session: session.id,
            line: self.line_hash(row, outcome.outcome_line)?,
            auth_key: session.auth_key_hash,
            is_gone: row.salt.is_none(),
            recorded: measures.map(|row| RecordedCommitment {
                committed: self.committed(row.opening(), row.trace_commitment),
                commitment: row.trace_commitment,
                mapping: row.trace_mapping,
            }),
        }))
    }

    /// A commitment with what opens it; none where that is not kept.
    fn committed(&self, key: Option<Hash32>, value: Hash32) -> Option<CommittedTrace> {
        let is_open = key.is_some() || self.genesis.commitments == Scheme::Sha256;
        is_open.then_some(CommittedTrace { key, value })
    }

    fn texts(
        &self,
        row: &ExchangeRow,
        session: &SessionRow,
        gone: TraceTexts,
    ) -> Result<TraceTexts, TraceFactsFault> {
        let all = ExchangeRows::read(self.store, session, row)?;
        let told = |turn: &Option<TurnRow>, gone: Known<String>| {
            let text = turn.as_ref().and_then(|turn| turn.content.clone());
            text.map_or(gone, Ok)
        };
        let compiled_prompt = match gone.compiled_prompt {
            Err(Absence::NoSuchThing) => Err(Absence::NoSuchThing),
            gone => self.compiled(session, &all)?.map_or(gone, Ok),
        };
        Ok(TraceTexts {
            question: told(&all.user, gone.question),
            bundle: row.bundle_json.clone().map_or(gone.bundle, Ok),
            compiled_prompt,
            answer: told(&all.aurora, gone.answer),
        })
    }

    /// The compiled prompt, rendered again; none where something in it is erased or was not kept.
    fn compiled(
        &self,
        session: &SessionRow,
        all: &ExchangeRows<'_>,
    ) -> Result<Option<String>, TraceFactsFault> {
        let record = all.record();
        if record.bundle.is_none() || record.erasure.compiled_prompt.is_some() {
            return Ok(None);
        }
        let kernel = self.kernel(session.kernel_hash)?;
        let kernel = kernel.as_ref().as_ref();
        let system = kernel.map(Kernel::system_prompt).map_err(Clone::clone);
        match record.compiled_prompt(system) {
            Ok(text) => Ok(text),
            Err(ExchangeFault::Turn(MissingTurn::Unknown(_))) => Ok(None),
            Err(fault) if fault.is_gone() => Ok(None),
            Err(fault) => Err(wrong(all.exchange, fault)),
        }
    }

    /// Whether its drift withholds the answer.
    fn is_withheld(
        &self,
        row: &ExchangeRow,
        session: &SessionRow,
    ) -> Result<bool, TraceFactsFault> {
        let drift = self.store.drift(row.exchange_id)?;
        if drift.is_empty() {
            return Ok(false);
        }
        let kernel = self.kernel(session.kernel_hash)?;
        let events = drift.iter().map(DriftRow::class_and_summary);
        Ok(Kernel::withholds(kernel.as_ref().as_ref().ok(), events))
    }

    fn line_hash(&self, row: &ExchangeRow, n: u64) -> Result<Hash32, TraceFactsFault> {
        let hash = self.store.line_hash(n)?;
        hash.ok_or_else(|| wrong(row, format!("line {n} is no line of the log")))
    }

    fn session(&self, row: &ExchangeRow) -> Result<Rc<SessionRow>, TraceFactsFault> {
        if let Some(known) = self.sessions.borrow().get(&row.session) {
            return Ok(known.clone());
        }
        let session = self.store.session_of(row.session)?;
        let session = Rc::new(session.ok_or_else(|| wrong(row, "its session is not there"))?);
        self.sessions
            .borrow_mut()
            .insert(row.session, session.clone());
        Ok(session)
    }

    fn kernel(&self, hash: Hash32) -> Result<Rc<StoredKernel>, StoreError> {
        self.kernels.get(hash, |hash| self.store.kernel(hash))
    }
}

fn wrong(row: &ExchangeRow, reason: impl std::fmt::Display) -> TraceFactsFault {
    TraceFactsFault::Rows {
        exchange: row.exchange_id,
        reason: reason.to_string(),
    }
}
