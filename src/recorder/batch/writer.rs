//! What is done with a batch: one transaction, applied, answered, synced, marked.

use std::sync::Arc;
use std::time::Duration;

use crate::keys::Signer;
use crate::record::ledger::documents::Genesis;
use crate::record::log::entry::Event;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::store::{AppliedMark, LedgerHead, ReadStore, Store, StoreError, remove_unfinished};

use super::failpoint::{Failpoint, FailpointWatch, pass};
use super::request::{BatchFault, WriteRequest, finish_all};
use super::transaction::{LedgerTransaction, is_signed};
use crate::recorder::RecorderError;
use crate::recorder::apply;
use crate::recorder::apply::{GitKnowledge, Paths, UnsyncedWrites};
use crate::recorder::entries::content_policy::WriterContext;
use crate::recorder::lock::WriterLock;
use crate::recorder::recovery::unsigned;
use crate::recorder::sync_policy::SyncPolicy;

/// Auth failures are gathered for this many seconds (format, section 4).
const GATHER_SECONDS: u64 = 60;

/// The writer of one home.
pub struct Writer {
    pub(in crate::recorder) paths: Paths,
    pub(in crate::recorder) store: Store,
    pub(in crate::recorder) genesis: Genesis,
    /// The recorder's handle signs receipts with it.
    pub(in crate::recorder) key: Arc<Signer>,
    pub(in crate::recorder) watch: FailpointWatch,
    /// What is kept of texts.
    pub(in crate::recorder) writer_context: WriterContext,
    /// How long another writer is waited for.
    pub(in crate::recorder) wait: Duration,
    /// When git and log are synced, after a batch that is alone.
    pub(in crate::recorder) sync_policy: SyncPolicy,
    /// The tree head that was looked at last, or made.
    pub(in crate::recorder) known_head: Option<String>,
}

impl Writer {
    /// Opens the database and checks that the key at hand is the one in force.
    pub fn open(
        paths: Paths,
        key: Arc<Signer>,
        writer_context: WriterContext,
        watch: FailpointWatch,
        (wait, sync_policy): (Duration, SyncPolicy),
    ) -> Result<Self, RecorderError> {
        let store = Store::open(&paths.database())?;
        let genesis = unsigned::genesis_of(&store)?;
        check_signer(&store.head()?.signer, &key)?;
        Ok(Writer {
            paths,
            store,
            genesis,
            key,
            watch,
            writer_context,
            wait,
            sync_policy,
            known_head: None,
        })
    }

    /// Refuses a database that has a line which no writer signed; a tree head that this writer knows
    /// is not looked at again.
    fn look_for_unsigned(&mut self) -> Result<(), RecorderError> {
        let known = &self.known_head;
        let head = self.store.reading::<_, RecorderError>(|store| {
            let head = store.head()?;
            unsigned_but(known, store, &head)?;
            Ok(head)
        })?;
        self.known_head = head.checkpoint;
        Ok(())
    }

    /// Signs all lines of a database whose tree head was taken away, and writes what is behind: for a
    /// rebuild that has named what nobody signed.
    pub fn sign_anew(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let lock = WriterLock::acquire_within(&self.paths.lock(), self.wait)?;
        if self.store.head()?.lacks_tree_head() {
            self.transact(|_| Ok(()))?;
        }
        drop(lock);
        self.recover(now)
    }

    /// Finishes what a crash left unapplied, and says so in the log.
    pub fn recover(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let _lock = WriterLock::acquire_within(&self.paths.lock(), self.wait)?;
        remove_unfinished(&self.paths.database())?;
        self.catch_up(now)?;
        self.sign_the_rest()
    }

    /// Signs lines that the database holds and no tree head covers: what was adopted or rebuilt
    /// without a key.
    fn sign_the_rest(&mut self) -> Result<(), RecorderError> {
        if is_signed(&self.store.head()?) {
            return Ok(());
        }
        let head = self.transact(|_| Ok(()))?;
        self.finish(&head).map(drop)
    }

    /// One batch from end to end.
    pub(in crate::recorder) fn batch(&mut self, requests: Vec<Box<dyn WriteRequest>>) {
        let now = requests
            .iter()
            .map(|request| request.now())
            .max()
            .unwrap_or(Seconds::ZERO);
        match self.begin(now) {
            Ok((_lock, written)) => self.record_and_apply(requests, now, written),
            Err((Some(_lock), e @ RecorderError::Unapplied { .. })) => {
                self.record_outcomes(requests, now, e)
            }
            Err((_, e)) => finish_all(requests, Err(BatchFault::NotRecorded(Arc::new(e)))),
        }
    }

    /// Takes the lock and applies what is behind; returns the lock with what is written then, synced
    /// or not.
    ///
    /// With an error comes the lock, when it was to be had.
    pub(in crate::recorder) fn begin(
        &mut self,
        now: Seconds,
    ) -> Result<(WriterLock, AppliedMark), (Option<WriterLock>, RecorderError)> {
        let lock =
            WriterLock::acquire_within(&self.paths.lock(), self.wait).map_err(|e| (None, e))?;
        match pass(&self.watch, Failpoint::Lock).and_then(|()| self.catch_up(now)) {
            Ok(applied) => Ok((lock, applied)),
            Err(e) => Err((Some(lock), e)),
        }
    }

    /// `before` is what was written before.
    fn record_and_apply(
        &mut self,
        mut requests: Vec<Box<dyn WriteRequest>>,
        now: Seconds,
        before: AppliedMark,
    ) {
        let outcome = self
            .commit(&mut requests, now)
            .and_then(|head| Ok((self.apply(&head, before)?, head)));
        match outcome {
            Ok((written, head)) => {
                finish_all(requests, Ok(()));
                self.settle(written, &head, before);
            }
            Err(fault) => finish_all(requests, Err(fault)),
        }
    }

    /// Git or log are out of reach: what models have answered is kept in the database and applied
    /// later, everything else is refused.
    pub(in crate::recorder) fn record_outcomes(
        &mut self,
        requests: Vec<Box<dyn WriteRequest>>,
        now: Seconds,
        cause: RecorderError,
    ) {
        let cause = Arc::new(cause);
        let (mut outcomes, others): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .partition(|request| request.is_outcome());
        finish_all(others, Err(BatchFault::NotRecorded(cause.clone())));
        if !outcomes.is_empty() {
            let fault = self
                .commit(&mut outcomes, now)
                .err()
                .unwrap_or(BatchFault::Unapplied(cause));
            finish_all(outcomes, Err(fault));
        }
    }

    /// The commit point: everything before it leaves no trace, everything after it is finished
    /// sooner or later.
    pub(in crate::recorder) fn commit(
        &mut self,
        requests: &mut [Box<dyn WriteRequest>],
        now: Seconds,
    ) -> Result<LedgerHead, BatchFault> {
        // Asked before a model is: an agent that has lost the key would have nothing to sign the
        // answer with.
        if requests.iter().any(|request| !request.is_outcome()) {
            self.key
                .ready()
                .map_err(|e| BatchFault::NotRecorded(Arc::new(e.into())))?;
        }
        let filled = match self.fill(requests, now, run_unmarked) {
            Err(RecorderError::Spoiled) => self.fill(requests, now, run_marked),
            filled => filled,
        };
        filled.map_err(|e| BatchFault::NotRecorded(Arc::new(e)))
    }

    /// One transaction with what all requests write, and a checkpoint if one is due.
    fn fill(
        &mut self,
        requests: &mut [Box<dyn WriteRequest>],
        now: Seconds,
        run: fn(&mut LedgerTransaction<'_>, &mut dyn WriteRequest) -> Result<(), RecorderError>,
    ) -> Result<LedgerHead, RecorderError> {
        let watch = self.watch.clone();
        self.transact(|transaction| {
            for request in requests.iter_mut() {
                run(transaction, request.as_mut())?;
                transaction.checkpoint_if_long(now)?;
            }
            if requests.iter().any(|request| !request.failed()) {
                transaction.checkpoint_if_due(now)?;
            }
            pass(&watch, Failpoint::BeforeCommit)
        })
    }

    /// Fills one transaction; returns the head after it.
    pub(in crate::recorder) fn transact(
        &mut self,
        mut fill: impl FnMut(&mut LedgerTransaction<'_>) -> Result<(), RecorderError>,
    ) -> Result<LedgerHead, RecorderError> {
        let (genesis, key, writer_context) = (&self.genesis, &self.key, &self.writer_context);
        let known = &self.known_head;
        let mut outcome = None;
        let committed = self.store.transact(&mut |tx| {
            let filled = tx.head().map_err(RecorderError::from).and_then(|head| {
                check_signer(&head.signer, key)?;
                unsigned_but(known, tx, &head)?;
                let mut transaction =
                    LedgerTransaction::begin(tx, head, genesis, key, writer_context)?;
                fill(&mut transaction)?;
                transaction.finish()
            });
            let failed = filled.is_err();
            outcome = Some(filled);
            // The store only has to know that it must roll back; what was wrong is in `outcome`.
            if failed {
                Err(StoreError::RolledBack)
            } else {
                Ok(())
            }
        });
        match (committed, outcome) {
            (Ok(()), Some(filled)) => {
                filled.inspect(|head| self.known_head.clone_from(&head.checkpoint))
            }
            // A commit may be reported as failed and stand all the same; the head tells.
            (Err(e), Some(Ok(head))) => match self.store.head() {
                Ok(found) if found == head => Ok(head),
                Ok(_) => Err(e.into()),
                Err(_) => Err(RecorderError::Unknown {
                    reason: e.to_string(),
                }),
            },
            (Err(_), Some(Err(own))) => Err(own),
            (Err(e), _) => Err(e.into()),
            (Ok(()), None) => Err(RecorderError::Stopped),
        }
    }

    fn apply(
        &mut self,
        head: &LedgerHead,
        before: AppliedMark,
    ) -> Result<UnsyncedWrites, BatchFault> {
        let behind = |e: RecorderError| BatchFault::Unapplied(Arc::new(e));
        pass(&self.watch, Failpoint::AfterCommit).map_err(behind)?;
        let head = LedgerHead {
            applied: before,
            ..head.clone()
        };
        let apply =
            |store: &_| apply::apply(store, &head, (&self.paths, &self.watch), GitKnowledge::Mark);
        self.store.reading(apply).map_err(behind)
    }

    /// Syncs and marks, unless that may wait. A failure here costs nothing: the mark stays, and the
    /// next batch applies again.
    fn settle(&mut self, mut written: UnsyncedWrites, head: &LedgerHead, before: AppliedMark) {
        let waits = |store: &_| self.sync_policy.may_wait(store, head, head.time);
        if !written.ends_session && self.store.reading(waits).unwrap_or(false) {
            return;
        }
        if before != head.applied {
            // Batches before this one wait, too.
            let _ = self.finish(head);
            return;
        }
        if self.sync_and_mark(&mut written, head).is_ok() {
            written.tidy();
        }
    }

    fn sync_and_mark(
        &mut self,
        written: &mut UnsyncedWrites,
        head: &LedgerHead,
    ) -> Result<(), RecorderError> {
        written.sync(&self.watch)?;
        self.mark(&apply::all_applied(head))
    }

    /// Moves the mark, after git and log are synced up to it.
    pub(in crate::recorder) fn mark(&mut self, applied: &AppliedMark) -> Result<(), RecorderError> {
        let failed = |e: RecorderError| RecorderError::Unapplied {
            what: "syncing",
            reason: e.to_string(),
        };
        pass(&self.watch, Failpoint::AfterSync).map_err(failed)?;
        self.store.mark_applied(applied)?;
        pass(&self.watch, Failpoint::AfterMark).map_err(failed)
    }

    /// Applies everything up to a head, durably; returns how much was missing.
    pub(in crate::recorder) fn finish(&mut self, head: &LedgerHead) -> Result<u64, RecorderError> {
        let apply = |store: &_| {
            apply::apply(
                store,
                head,
                (&self.paths, &self.watch),
                GitKnowledge::Anywhere,
            )
        };
        let mut written = self.store.reading(apply)?;
        self.sync_and_mark(&mut written, head)?;
        let missing = written.missing;
        written.tidy();
        Ok(missing)
    }

    /// Applies what is behind the head, and logs `recover` when something was missing; returns what
    /// is written then.
    fn catch_up(&mut self, now: Seconds) -> Result<AppliedMark, RecorderError> {
        self.look_for_unsigned()?;
        let (head, in_place) = self.store.reading::<_, RecorderError>(|store| {
            let head = store.head()?;
            if head.lacks_tree_head() {
                let lines = head.lines;
                return Err(RecorderError::NoTreeHead { lines });
            }
            let may_go_on = head.applied == apply::all_applied(&head)
                || self.sync_policy.may_wait(store, &head, now)?;
            let compared = || apply::EvidenceComparison::of(store, &head, &self.paths);
            let in_place = may_go_on && compared()?.is_in_place(&head)?;
            Ok((head, in_place))
        })?;
        if in_place {
            return Ok(apply::all_applied(&head));
        }
        apply::set_aside_torn(&self.paths)?;
        let missing = self.finish(&head)?;
        if missing == 0 {
            return Ok(apply::all_applied(&head));
        }
        let watch = self.watch.clone();
        let head = self.transact(|transaction| {
            // A clock that is behind stops new records, and must not stop the mending of old ones.
            let (time, height) = (transaction.head.time.max(now), transaction.head.height);
            transaction.line_at(time, height, None, Event::Recover { applied: missing })?;
            pass(&watch, Failpoint::BeforeCommit)
        })?;
        self.finish(&head).map(|_| apply::all_applied(&head))
    }
}

/// Runs a request that mostly succeeds, or fails before it has written anything: a mark for each request
/// would have every page copied that the request then writes to.
fn run_unmarked(
    transaction: &mut LedgerTransaction<'_>,
    request: &mut dyn WriteRequest,
) -> Result<(), RecorderError> {
    let before = transaction.tx.written()?;
    flush_auth_failures(transaction, request.now())?;
    request.run(transaction);
    let after = transaction.tx.written()?;
    if request.failed() && after != before {
        Err(RecorderError::Spoiled)
    } else {
        Ok(())
    }
}

/// Runs a request so that what it has written before it failed is undone, and nothing else.
fn run_marked(
    transaction: &mut LedgerTransaction<'_>,
    request: &mut dyn WriteRequest,
) -> Result<(), RecorderError> {
    transaction.tx.mark()?;
    let before = transaction.snapshot();
    flush_auth_failures(transaction, request.now())?;
    request.run(transaction);
    if request.failed() {
        transaction.restore(before)?;
    }
    Ok(transaction.tx.take_mark()?)
}

/// Refuses lines that nobody signed, and a head that does not fit its lines; a tree head that is known,
/// and over all lines, is not looked at again.
fn unsigned_but(
    known: &Option<String>,
    store: &ReadStore,
    head: &LedgerHead,
) -> Result<(), RecorderError> {
    if is_signed(head) && head.checkpoint == *known {
        return unsigned::refuse_column(store.head_fault(head)?);
    }
    unsigned::refuse(store, head)
}

fn check_signer(in_force: &PublicKey, key: &Signer) -> Result<(), RecorderError> {
    if *in_force == key.public() {
        return Ok(());
    }
    Err(RecorderError::WrongSigner {
        expected: in_force.to_string(),
        actual: key.public().to_string(),
    })
}

/// Counts a failure; the first of its minute gets a line at once.
pub fn auth_fail(
    transaction: &mut LedgerTransaction<'_>,
    reason: &str,
    now: Seconds,
) -> Result<(), RecorderError> {
    let known = transaction
        .tx
        .auth_failures()?
        .into_iter()
        .find(|(known, ..)| known == reason);
    if let Some((_, since, pending)) = known
        && now.since(since) < GATHER_SECONDS
        && since <= now
    {
        return Ok(transaction
            .tx
            .set_auth_failure(reason, since, pending + 1)?);
    }
    let height = transaction.head.height;
    transaction.line(
        now,
        height,
        None,
        Event::AuthFail {
            reason: reason.to_owned(),
            count: 1,
        },
    )?;
    Ok(transaction.tx.set_auth_failure(reason, now, 0)?)
}

/// Gives the failures of a minute that is over their line.
fn flush_auth_failures(
    transaction: &mut LedgerTransaction<'_>,
    now: Seconds,
) -> Result<(), RecorderError> {
    if transaction.line_time(now).is_err() || !transaction.may_sign() {
        return Ok(());
    }
    for (reason, since, count) in transaction.tx.auth_failures()? {
        // A clock that was set back ends the minute, too.
        if count > 0 && (since > now || now.since(since) >= GATHER_SECONDS) {
            let height = transaction.head.height;
            transaction.line(
                now,
                height,
                None,
                Event::AuthFail {
                    reason: reason.clone(),
                    count,
                },
            )?;
            transaction.tx.set_auth_failure(&reason, now, 0)?;
        }
    }
    Ok(())
}

/// Sets the clock back on record; only when the last line stops the writer.
pub fn clock_set(
    transaction: &mut LedgerTransaction<'_>,
    now: Seconds,
) -> Result<(), RecorderError> {
    if transaction.line_time(now).is_ok() {
        return Err(RecorderError::ClockFine {
            last: transaction.head.time,
            now,
        });
    }
    let height = transaction.head.height;
    transaction.line_at(now, height, None, Event::ClockSet { to: now })?;
    // Else the next checkpoint would wait for the wrong clock's hour.
    transaction.head.segment_at = transaction.head.segment_at.min(now);
    Ok(())
}
