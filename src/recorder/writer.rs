//! The thread behind the door: batches, one transaction each, applied, answered, synced, marked.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use crate::keys::SigningKey;
use crate::ledger::write::Ledger;
use crate::record::commit::{CommitKind, MAIN, Subject};
use crate::record::commitment::Salt;
use crate::record::documents::Genesis;
use crate::record::entry::Event;
use crate::record::exchange::ArtifactDoc;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::record::tree::Frontier;
use crate::record::{canon, signature::PublicKey};
use crate::store::sqlite::Sqlite;
use crate::store::{Applied, AuthKeyRow, Head, Read, Store, StoreError};

use super::RecorderError;
use super::apply::{self, Paths, Written};
use super::draft::{Draft, Files, NewCommit, document};
use super::lock::WriterLock;
use super::step::{Step, Watch, pass};

/// How many records are committed together; a transaction stays small enough to be quick.
const MAX_BATCH: usize = 256;
/// Auth failures are gathered for this many seconds (format, section 3).
const GATHER_SECONDS: u64 = 60;

/// One thing to record.
pub trait Job: Send {
    /// The clock of whoever asked.
    fn now(&self) -> Seconds;
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
    work: W,
    value: Option<Result<T, RecorderError>>,
    reply: oneshot::Sender<Result<T, RecorderError>>,
}

impl<T, W> Task<T, W> {
    /// Wraps work and the place of its answer.
    pub fn new(now: Seconds, work: W, reply: oneshot::Sender<Result<T, RecorderError>>) -> Self {
        Task { now, work, value: None, reply }
    }
}

impl<T: Send, W: FnMut(&mut Draft<'_>) -> Result<T, RecorderError> + Send> Job for Task<T, W> {
    fn now(&self) -> Seconds {
        self.now
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
    paths: Paths,
    store: Sqlite,
    genesis: Genesis,
    key: SigningKey,
    watch: Watch,
}

impl Writer {
    /// Opens the database and checks that the key at hand is the one in force.
    pub fn open(paths: Paths, key: SigningKey, watch: Watch) -> Result<Self, RecorderError> {
        let store = Sqlite::open(&paths.database())?;
        let genesis = canon::parse(store.genesis()?.as_bytes())
            .map_err(|e| RecorderError::Unrecordable { what: "head.genesis", reason: e.to_string() })?;
        check_signer(&store.head()?.signer, &key)?;
        Ok(Writer { paths, store, genesis, key, watch })
    }

    /// Finishes what a crash left unapplied, and says so in the log.
    pub fn heal(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let _lock = WriterLock::acquire(&self.paths.lock())?;
        self.catch_up(now)
    }

    /// Takes jobs until every handle is gone.
    pub fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            while batch.len() < MAX_BATCH
                && let Ok(next) = jobs.try_recv()
            {
                batch.push(next);
            }
            self.batch(batch);
        }
    }

    fn batch(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let lock = match WriterLock::acquire(&self.paths.lock()) {
            Ok(lock) => lock,
            Err(e) => return finish_all(jobs, Err(BatchFault::NotRecorded(Arc::new(e)))),
        };
        let outcome = self.commit(&mut jobs).and_then(|head| Ok((self.apply(&head)?, head)));
        match outcome {
            Ok((written, head)) => {
                finish_all(jobs, Ok(()));
                self.settle(written, &head);
            }
            Err(fault) => finish_all(jobs, Err(fault)),
        }
        drop(lock);
    }

    /// The commit point: everything before it leaves no trace, everything after it is finished sooner or later.
    fn commit(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Head, BatchFault> {
        let not_recorded = |e: RecorderError| BatchFault::NotRecorded(Arc::new(e));
        pass(&self.watch, Step::Lock).map_err(not_recorded)?;
        let now = jobs.iter().map(|job| job.now()).max().unwrap_or(Seconds::ZERO);
        self.catch_up(now).map_err(not_recorded)?;
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
            }
            if jobs.iter().any(|job| !job.failed()) {
                draft.checkpoint_if_due(now)?;
            }
            pass(&watch, Step::BeforeCommit)
        })
        .map_err(not_recorded)
    }

    /// Fills one transaction; returns the head after it.
    fn transact(
        &mut self,
        mut fill: impl FnMut(&mut Draft<'_>) -> Result<(), RecorderError>,
    ) -> Result<Head, RecorderError> {
        let (genesis, key) = (&self.genesis, &self.key);
        let mut outcome = None;
        let committed = self.store.transact(&mut |tx| {
            let filled = tx.head().map_err(RecorderError::from).and_then(|head| {
                check_signer(&head.signer, key)?;
                let mut draft = Draft::begin(tx, head, genesis, key)?;
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
            (Err(_), Some(Ok(head))) if self.store.head()? == head => Ok(head),
            (Err(_), Some(Err(own))) => Err(own),
            (Err(e), _) => Err(e.into()),
            (Ok(()), None) => Err(RecorderError::Stopped),
        }
    }

    fn apply(&mut self, head: &Head) -> Result<Written, BatchFault> {
        let behind = |e: RecorderError| BatchFault::Unapplied(Arc::new(e));
        pass(&self.watch, Step::AfterCommit).map_err(behind)?;
        apply::apply(&self.store, head, &self.paths, &self.watch).map_err(behind)
    }

    /// Syncs and marks. A failure here costs nothing: the mark stays, and the next batch applies again.
    fn settle(&mut self, mut written: Written, head: &Head) {
        let settled = written
            .sync()
            .and_then(|()| pass(&self.watch, Step::AfterSync))
            .and_then(|()| Ok(self.store.mark_applied(&apply::all_applied(head))?))
            .and_then(|()| pass(&self.watch, Step::AfterMark));
        if settled.is_ok() {
            written.tidy();
        }
    }

    /// Applies what is behind the head, and logs `recover` when something was missing.
    fn catch_up(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let head = self.store.head()?;
        if head.applied == apply::all_applied(&head) {
            return apply::check(&self.store, &head, &self.paths);
        }
        apply::set_aside_torn(&self.paths)?;
        let mut written = apply::apply(&self.store, &head, &self.paths, &super::unwatched())?;
        let missing = written.missing;
        written.sync()?;
        self.store.mark_applied(&apply::all_applied(&head))?;
        if missing == 0 {
            return Ok(());
        }
        let head = self.transact(|draft| {
            // A clock that is behind stops new records, and must not stop the mending of old ones.
            let (time, height) = (draft.head.time.max(now), draft.head.height);
            draft.line_at(time, height, None, Event::Recover { applied: missing }).map(|_| ())
        })?;
        apply::apply(&self.store, &head, &self.paths, &super::unwatched())?.sync()?;
        Ok(self.store.mark_applied(&apply::all_applied(&head))?)
    }
}

fn finish_all(jobs: Vec<Box<dyn Job>>, outcome: Result<(), BatchFault>) {
    for job in jobs {
        job.finish(outcome.clone());
    }
}

fn check_signer(in_force: &PublicKey, key: &SigningKey) -> Result<(), RecorderError> {
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
        if count > 0 && now.since(since) >= GATHER_SECONDS {
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
    draft.line_at(now, height, None, Event::ClockSet { to: now }).map(|_| ())
}

/// What a new ledger's first records are made from.
#[derive(Clone, Debug)]
pub struct FirstRecords {
    /// `genesis.json`.
    pub genesis: Genesis,
    /// The kernel's hash and canonical JSON.
    pub kernel: (Hash32, String),
    /// Salt of the kernel's artifact.
    pub salt: Salt,
    /// Hash of the first auth key, and its name.
    pub auth_key: (Hash32, String),
}

/// Makes database, ledger and log of a new home, with genesis and the kernel on record.
///
/// The paths must not exist. Durable on return; a failure leaves files that the caller removes.
pub fn create(paths: &Paths, key: SigningKey, first: &FirstRecords) -> Result<Head, RecorderError> {
    let store = Sqlite::create(&paths.database())?;
    Ledger::create(&paths.ledger())?.sync()?;
    let (text, record) = document("genesis.json", &first.genesis)?;
    let text = String::from_utf8(text)
        .map_err(|e| RecorderError::Unrecordable { what: "genesis.json", reason: e.to_string() })?;
    let watch = super::unwatched();
    let mut writer = Writer { paths: paths.clone(), store, genesis: first.genesis.clone(), key, watch };
    let empty = empty_head(&first.genesis);
    writer.store.transact(&mut |tx| tx.create_head(&empty, &text))?;
    let head = writer.transact(|draft| first_records(draft, first, &text, record))?;
    apply::apply(&writer.store, &head, paths, &writer.watch)?.sync()?;
    writer.store.mark_applied(&apply::all_applied(&head))?;
    Ok(head)
}

fn empty_head(genesis: &Genesis) -> Head {
    Head {
        signer: genesis.signer,
        lines: 0,
        hash: Hash32::GENESIS,
        time: Seconds::ZERO,
        height: 0,
        bytes: 0,
        frontier: Frontier::new().to_bytes(),
        commits: 0,
        segment_lines: 0,
        segment_at: genesis.created_at,
        last_branch: None,
        applied: Applied::default(),
    }
}

fn first_records(draft: &mut Draft<'_>, first: &FirstRecords, text: &str, record: Hash32) -> Result<(), RecorderError> {
    let now = first.genesis.created_at;
    let line = draft.line_at(now, 0, None, Event::Genesis { record })?;
    let signers = first.genesis.signer.allowed_signers_line().into_bytes();
    let files = Files::from([("allowed_signers", signers), ("genesis.json", text.as_bytes().to_vec())]);
    let new = NewCommit {
        subject: Subject::Genesis,
        record,
        line,
        files: &files,
        reference: MAIN.to_owned(),
        parents: Vec::new(),
        segment: None,
        tree_of: None,
    };
    draft.commit(CommitKind::Genesis, new)?;
    let (hash, kernel) = &first.kernel;
    draft.tx.put_kernel(*hash, kernel)?;
    let (auth, name) = &first.auth_key;
    draft.tx.put_auth_key(&AuthKeyRow { hash: *auth, name: name.clone(), added_at: now, revoked_at: None })?;
    let doc = ArtifactDoc {
        content: serde_json::from_str(kernel)
            .map_err(|e| RecorderError::Unrecordable { what: "the kernel", reason: e.to_string() })?,
        format: crate::record::documents::Format,
        id: format!("kernel-{}", hash.short16()),
        kind: "kernel".to_owned(),
    };
    draft.artifact(now, None, &doc, first.salt.clone()).map(|_| ())
}
