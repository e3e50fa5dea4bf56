//! The thread behind the door: batches, one transaction each, applied, answered, synced, marked.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::keys::Signer;
use crate::record::documents::Genesis;
use crate::record::entry::Event;
use crate::record::time::Seconds;
use crate::record::{canon, signature::PublicKey};
use crate::store::sqlite::Sqlite;
use crate::store::{Head, Read, Store, StoreError};

use super::RecorderError;
use super::apply::{self, Paths, Written};
use super::draft::Draft;
use super::keeping::Told;
use super::lock::WriterLock;
use super::step::{Step, Watch, pass};

/// How many records are committed together; a transaction stays small enough to be quick.
const MAX_BATCH: usize = 256;
/// How long a batch waits for as many records as the one before it had: its answers set askers free who are about
/// to bring more, and a batch of one costs as many syncs as a batch of a hundred. Who is alone never waits.
const LINGER: Duration = Duration::from_millis(2);
/// Pages of the database's write-ahead log from which on it is copied back, when nobody waits.
const WAL_PAGES: u32 = 1000;
/// Auth failures are gathered for this many seconds (format, section 3).
const GATHER_SECONDS: u64 = 60;

/// One thing to record.
pub trait Job: Send {
    /// The clock of whoever asked.
    fn now(&self) -> Seconds;
    /// Whether this is the outcome of a prompt on record: worth keeping in the database even while git
    /// and log are out of reach. Anything else is refused then, before a model is called for nothing.
    fn is_outcome(&self) -> bool;
    /// Fills the draft; keeps its value until [`Job::finish`].
    fn run(&mut self, draft: &mut Draft<'_>);
    /// Whether [`Job::run`] failed, so that the draft has to be restored.
    fn failed(&self) -> bool;
    /// Answers: with the value, or with why the batch failed.
    fn finish(self: Box<Self>, batch: Result<(), BatchFault>);
}

/// Why a whole batch failed; every job of it is told.
#[derive(Clone, Debug)]
pub enum BatchFault {
    /// Nothing was written.
    NotRecorded(Arc<RecorderError>),
    /// Written to the database, and not to git and log.
    Unapplied(Arc<RecorderError>),
}

impl From<BatchFault> for RecorderError {
    fn from(fault: BatchFault) -> Self {
        match fault {
            BatchFault::NotRecorded(cause) => RecorderError::NotRecorded(cause),
            BatchFault::Unapplied(cause) => RecorderError::Unfinished(cause),
        }
    }
}

/// A job that sends a value to whoever waits.
pub struct Task<T, W> {
    now: Seconds,
    is_outcome: bool,
    work: W,
    value: Option<Result<T, RecorderError>>,
    reply: oneshot::Sender<Result<T, RecorderError>>,
}

impl<T, W> Task<T, W> {
    /// Wraps work and the place of its answer.
    pub fn new(now: Seconds, is_outcome: bool, work: W, reply: oneshot::Sender<Result<T, RecorderError>>) -> Self {
        Task { now, is_outcome, work, value: None, reply }
    }
}

impl<T: Send, W: FnMut(&mut Draft<'_>) -> Result<T, RecorderError> + Send> Job for Task<T, W> {
    fn now(&self) -> Seconds {
        self.now
    }

    fn is_outcome(&self) -> bool {
        self.is_outcome
    }

    fn run(&mut self, draft: &mut Draft<'_>) {
        self.value = Some((self.work)(draft));
    }

    fn failed(&self) -> bool {
        !matches!(self.value, Some(Ok(_)))
    }

    fn finish(self: Box<Self>, batch: Result<(), BatchFault>) {
        let answer = match (batch, self.value) {
            (Ok(()), Some(value)) => value,
            // What the job itself found wrong says more than what became of its batch.
            (Err(_), Some(Err(own))) => Err(own),
            (Err(fault), _) => Err(fault.into()),
            (Ok(()), None) => Err(RecorderError::Stopped),
        };
        // Whoever asked may be gone (Ctrl-C); the record stands all the same.
        let _ = self.reply.send(answer);
    }
}

/// The writer of one home.
pub struct Writer {
    pub(super) paths: Paths,
    pub(super) store: Sqlite,
    pub(super) genesis: Genesis,
    /// The recorder's handle signs receipts with it.
    pub(super) key: Arc<Signer>,
    pub(super) watch: Watch,
    /// What is kept of texts.
    pub(super) told: Told,
    /// How long another writer is waited for.
    pub(super) wait: Duration,
}

impl Writer {
    /// Opens the database and checks that the key at hand is the one in force.
    pub fn open(
        paths: Paths,
        key: Arc<Signer>,
        told: Told,
        watch: Watch,
        wait: Duration,
    ) -> Result<Self, RecorderError> {
        let store = Sqlite::open(&paths.database())?;
        let genesis = canon::parse(store.genesis()?.as_bytes())
            .map_err(|e| RecorderError::Unrecordable { what: "head.genesis", reason: e.to_string() })?;
        check_signer(&store.head()?.signer, &key)?;
        Ok(Writer { paths, store, genesis, key, watch, told, wait })
    }

    /// Finishes what a crash left unapplied, and says so in the log.
    pub fn heal(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let _lock = WriterLock::acquire_within(&self.paths.lock(), self.wait)?;
        self.catch_up(now)
    }

    /// Takes jobs until every handle is gone.
    pub fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut company = 0;
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            let until = Instant::now() + if company > 1 { LINGER } else { Duration::ZERO };
            while batch.len() < MAX_BATCH {
                let wait = if batch.len() < company {
                    until.saturating_duration_since(Instant::now())
                } else {
                    Duration::ZERO
                };
                let Ok(next) = jobs.recv_timeout(wait) else { break };
                batch.push(next);
            }
            company = batch.len();
            // More wait when more came together; a longer log is read again by the next process only.
            let alone = batch.len() == 1;
            self.batch(batch);
            if alone {
                self.shorten_wal();
            }
        }
        self.shorten_wal();
    }

    /// What fails here is tried again next time, and costs nobody a record.
    fn shorten_wal(&self) {
        let _ = self.store.shorten_wal(WAL_PAGES);
    }

    fn batch(&mut self, jobs: Vec<Box<dyn Job>>) {
        let lock = match WriterLock::acquire_within(&self.paths.lock(), self.wait) {
            Ok(lock) => lock,
            Err(e) => return finish_all(jobs, Err(BatchFault::NotRecorded(Arc::new(e)))),
        };
        let now = jobs.iter().map(|job| job.now()).max().unwrap_or(Seconds::ZERO);
        match pass(&self.watch, Step::Lock).and_then(|()| self.catch_up(now)) {
            Ok(()) => self.record_and_apply(jobs, now),
            Err(e @ RecorderError::Unapplied { .. }) => self.record_outcomes(jobs, now, e),
            Err(e) => finish_all(jobs, Err(BatchFault::NotRecorded(Arc::new(e)))),
        }
        drop(lock);
    }

    fn record_and_apply(&mut self, mut jobs: Vec<Box<dyn Job>>, now: Seconds) {
        let outcome = self.commit(&mut jobs, now).and_then(|head| Ok((self.apply(&head)?, head)));
        match outcome {
            Ok((written, head)) => {
                finish_all(jobs, Ok(()));
                self.settle(written, &head);
            }
            Err(fault) => finish_all(jobs, Err(fault)),
        }
    }

    /// Git or log are out of reach: what models have answered is kept in the database and applied later,
    /// everything else is refused.
    fn record_outcomes(&mut self, jobs: Vec<Box<dyn Job>>, now: Seconds, cause: RecorderError) {
        let cause = Arc::new(cause);
        let (mut outcomes, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.is_outcome());
        finish_all(others, Err(BatchFault::NotRecorded(cause.clone())));
        if !outcomes.is_empty() {
            let fault = self.commit(&mut outcomes, now).err().unwrap_or(BatchFault::Unapplied(cause));
            finish_all(outcomes, Err(fault));
        }
    }

    /// The commit point: everything before it leaves no trace, everything after it is finished sooner or later.
    fn commit(&mut self, jobs: &mut [Box<dyn Job>], now: Seconds) -> Result<Head, BatchFault> {
        // Asked before a model is: an agent that has lost the key would have nothing to sign the answer with.
        if jobs.iter().any(|job| !job.is_outcome()) {
            self.key.ready().map_err(|e| BatchFault::NotRecorded(Arc::new(e.into())))?;
        }
        let watch = self.watch.clone();
        self.transact(|draft| {
            for job in jobs.iter_mut() {
                draft.tx.mark()?;
                let before = draft.snapshot();
                flush_auth_failures(draft, job.now())?;
                job.run(draft);
                if job.failed() {
                    draft.restore(before)?;
                }
                draft.tx.take_mark()?;
            }
            if jobs.iter().any(|job| !job.failed()) {
                draft.checkpoint_if_due(now)?;
            }
            pass(&watch, Step::BeforeCommit)
        })
        .map_err(|e| BatchFault::NotRecorded(Arc::new(e)))
    }

    /// Fills one transaction; returns the head after it.
    pub(super) fn transact(
        &mut self,
        mut fill: impl FnMut(&mut Draft<'_>) -> Result<(), RecorderError>,
    ) -> Result<Head, RecorderError> {
        let (genesis, key, told) = (&self.genesis, &self.key, &self.told);
        let mut outcome = None;
        let committed = self.store.transact(&mut |tx| {
            let filled = tx.head().map_err(RecorderError::from).and_then(|head| {
                check_signer(&head.signer, key)?;
                let mut draft = Draft::begin(tx, head, genesis, key, told)?;
                fill(&mut draft)?;
                draft.finish()
            });
            let failed = filled.is_err();
            outcome = Some(filled);
            // The store only has to know that it must roll back; what was wrong is in `outcome`.
            if failed { Err(StoreError::Sqlite { what: "fill", reason: String::new() }) } else { Ok(()) }
        });
        match (committed, outcome) {
            (Ok(()), Some(filled)) => filled,
            // A commit may be reported as failed and stand all the same; the head tells.
            (Err(e), Some(Ok(head))) => match self.store.head() {
                Ok(found) if found == head => Ok(head),
                Ok(_) => Err(e.into()),
                Err(_) => Err(RecorderError::Unknown { reason: e.to_string() }),
            },
            (Err(_), Some(Err(own))) => Err(own),
            (Err(e), _) => Err(e.into()),
            (Ok(()), None) => Err(RecorderError::Stopped),
        }
    }

    fn apply(&mut self, head: &Head) -> Result<Written, BatchFault> {
        let behind = |e: RecorderError| BatchFault::Unapplied(Arc::new(e));
        pass(&self.watch, Step::AfterCommit).map_err(behind)?;
        self.reading(|store| apply::apply(store, head, &self.paths, &self.watch)).map_err(behind)
    }

    /// Runs many queries on one state, without a lock of the file for each.
    fn reading<T>(&self, work: impl FnOnce(&Sqlite) -> Result<T, RecorderError>) -> Result<T, RecorderError> {
        self.store.begin_read()?;
        let done = work(&self.store);
        let ended = self.store.end_read();
        let value = done?;
        ended?;
        Ok(value)
    }

    /// Syncs and marks. A failure here costs nothing: the mark stays, and the next batch applies again.
    fn settle(&mut self, mut written: Written, head: &Head) {
        if self.sync_and_mark(&mut written, head).is_ok() {
            written.tidy();
        }
    }

    fn sync_and_mark(&mut self, written: &mut Written, head: &Head) -> Result<(), RecorderError> {
        let failed = |e: RecorderError| RecorderError::Unapplied { what: "syncing", reason: e.to_string() };
        written.sync(&self.watch)?;
        pass(&self.watch, Step::AfterSync).map_err(failed)?;
        self.store.mark_applied(&apply::all_applied(head))?;
        pass(&self.watch, Step::AfterMark).map_err(failed)
    }

    /// Applies everything up to a head, durably; returns how much was missing.
    pub(super) fn finish(&mut self, head: &Head) -> Result<u64, RecorderError> {
        let mut written = self.reading(|store| apply::apply(store, head, &self.paths, &self.watch))?;
        let missing = written.missing;
        self.sync_and_mark(&mut written, head)?;
        Ok(missing)
    }

    /// Applies what is behind the head, and logs `recover` when something was missing.
    fn catch_up(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let (head, in_place) = self.reading(|store| {
            let head = store.head()?;
            let applied = head.applied == apply::all_applied(&head);
            let in_place = applied && apply::is_in_place(store, &head, &self.paths)?;
            Ok((head, in_place))
        })?;
        if in_place {
            return Ok(());
        }
        apply::set_aside_torn(&self.paths)?;
        let missing = self.finish(&head)?;
        if missing == 0 {
            return Ok(());
        }
        let watch = self.watch.clone();
        let head = self.transact(|draft| {
            // A clock that is behind stops new records, and must not stop the mending of old ones.
            let (time, height) = (draft.head.time.max(now), draft.head.height);
            draft.line_at(time, height, None, Event::Recover { applied: missing })?;
            pass(&watch, Step::BeforeCommit)
        })?;
        self.finish(&head).map(|_| ())
    }
}

fn finish_all(jobs: Vec<Box<dyn Job>>, outcome: Result<(), BatchFault>) {
    for job in jobs {
        job.finish(outcome.clone());
    }
}

fn check_signer(in_force: &PublicKey, key: &Signer) -> Result<(), RecorderError> {
    if *in_force == key.public() {
        return Ok(());
    }
    Err(RecorderError::WrongSigner { expected: in_force.to_string(), actual: key.public().to_string() })
}

/// Counts a failure; the first of its minute gets a line at once.
pub fn auth_fail(draft: &mut Draft<'_>, reason: &str, now: Seconds) -> Result<(), RecorderError> {
    let known = draft.tx.auth_failures()?.into_iter().find(|(known, ..)| known == reason);
    if let Some((_, since, pending)) = known
        && now.since(since) < GATHER_SECONDS
        && since <= now
    {
        return Ok(draft.tx.set_auth_failure(reason, since, pending + 1)?);
    }
    let height = draft.head.height;
    draft.line(now, height, None, Event::AuthFail { reason: reason.to_owned(), count: 1 })?;
    Ok(draft.tx.set_auth_failure(reason, now, 0)?)
}

/// Gives the failures of a minute that is over their line.
fn flush_auth_failures(draft: &mut Draft<'_>, now: Seconds) -> Result<(), RecorderError> {
    if draft.line_time(now).is_err() {
        return Ok(());
    }
    for (reason, since, count) in draft.tx.auth_failures()? {
        // A clock that was set back ends the minute, too.
        if count > 0 && (since > now || now.since(since) >= GATHER_SECONDS) {
            let height = draft.head.height;
            draft.line(now, height, None, Event::AuthFail { reason: reason.clone(), count })?;
            draft.tx.set_auth_failure(&reason, now, 0)?;
        }
    }
    Ok(())
}

/// Sets the clock back on record; only when the last line stops the writer.
pub fn clock_set(draft: &mut Draft<'_>, now: Seconds) -> Result<(), RecorderError> {
    if draft.line_time(now).is_ok() {
        return Err(RecorderError::ClockFine { last: draft.head.time, now });
    }
    let height = draft.head.height;
    draft.line_at(now, height, None, Event::ClockSet { to: now })?;
    // Else the next checkpoint would wait for the wrong clock's hour.
    draft.head.segment_at = draft.head.segment_at.min(now);
    Ok(())
}
