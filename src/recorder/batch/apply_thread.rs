//! A second thread behind the door: applies batches to git and log while the next ones are
//! committed.
//!
//! Under company only; who is alone is served by the writer's thread from end to end. What is
//! applied, and the code that does it, are the same. The writer's lock is held by the writer until
//! everything that was handed on has landed.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use crate::store::{AppliedMark, LedgerHead, Store};

use super::failpoint::FailpointWatch;
use super::request::{BatchFault, WriteRequest, WriterMessage, finish_all};
use crate::recorder::RecorderError;
use crate::recorder::apply;
use crate::recorder::apply::{GitKnowledge, Paths, UnsyncedWrites};

/// What became of one batch, told to the writer whatever happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// In git and log, and durable there up to this mark.
    Durable(AppliedMark),
    /// In git and log; a later batch, which landed together with it, says how far all is durable.
    Together,
    /// Not applied, or not known to be durable: nothing more may be handed on before the writer has
    /// caught up.
    Unsound,
}

/// A committed batch that waits to be applied, with those who wait for it.
pub struct PendingBatch {
    requests: Vec<Box<dyn WriteRequest>>,
    /// The head after it.
    head: LedgerHead,
    /// What is applied before it.
    from: AppliedMark,
    /// Whether the writer had caught up just before it.
    is_first: bool,
    report: DropNotice,
}

/// Tells the writer when it is dropped, so that a thread that dies with a batch is noticed.
struct DropNotice {
    landed: BatchOutcome,
    tell: mpsc::Sender<WriterMessage>,
}

impl Drop for DropNotice {
    fn drop(&mut self) {
        // The writer is gone only when nobody waits any more.
        let _ = self.tell.send(WriterMessage::Landed(self.landed));
    }
}

/// The handle of the applying thread.
pub struct ApplyThread {
    batches: Option<mpsc::Sender<PendingBatch>>,
    thread: Option<JoinHandle<()>>,
    tell: mpsc::Sender<WriterMessage>,
}

impl ApplyThread {
    /// Starts the thread, with a connection of its own to the database, which it only reads.
    pub fn start(
        paths: &Paths,
        watch: &FailpointWatch,
        tell: mpsc::Sender<WriterMessage>,
    ) -> Result<Self, RecorderError> {
        let store = Store::open_read_only(&paths.database())?;
        let (batches, queue) = mpsc::channel();
        let work = Work {
            store,
            paths: paths.clone(),
            watch: watch.clone(),
            broken: None,
            behind: None,
        };
        let thread = std::thread::Builder::new()
            .name("applier".to_owned())
            .spawn(move || work.run(&queue))
            .map_err(|e| RecorderError::Lock {
                path: paths.lock(),
                reason: format!("no thread: {e}"),
            })?;
        Ok(ApplyThread {
            batches: Some(batches),
            thread: Some(thread),
            tell,
        })
    }

    /// Hands a committed batch on. Its requests are answered when it is in git and log, or can't be;
    /// then, after the sync, [`WriterMessage::Landed`] comes. False when the thread has died: then all of
    /// that has happened already, and another one has to be started.
    #[must_use = "a thread that has died takes nothing more"]
    pub fn hand(
        &self,
        requests: Vec<Box<dyn WriteRequest>>,
        head: LedgerHead,
        from: AppliedMark,
        is_first: bool,
    ) -> bool {
        let report = DropNotice {
            landed: BatchOutcome::Unsound,
            tell: self.tell.clone(),
        };
        let batch = PendingBatch {
            requests,
            head,
            from,
            is_first,
            report,
        };
        let sent = match &self.batches {
            Some(batches) => batches.send(batch),
            None => Err(mpsc::SendError(batch)),
        };
        match sent {
            Ok(()) => true,
            // What is committed is applied by the writer, or by the next start.
            Err(mpsc::SendError(batch)) => {
                finish_all(
                    batch.requests,
                    Err(BatchFault::Unapplied(Arc::new(RecorderError::Stopped))),
                );
                false
            }
        }
    }
}

impl Drop for ApplyThread {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Work {
    store: Store,
    paths: Paths,
    watch: FailpointWatch,
    /// Why a batch could not be applied: those after it can't be, either, until the writer has
    /// caught up.
    broken: Option<Arc<RecorderError>>,
    /// Where what is applied, and not known to be durable, begins: a sync failed.
    behind: Option<AppliedMark>,
}

impl Work {
    fn run(mut self, queue: &mpsc::Receiver<PendingBatch>) {
        while let Ok(first) = queue.recv() {
            // What came meanwhile goes together: one pack, one sync.
            let batches: Vec<PendingBatch> =
                std::iter::once(first).chain(queue.try_iter()).collect();
            self.land(batches);
        }
    }

    fn land(&mut self, mut batches: Vec<PendingBatch>) {
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else {
            return;
        };
        if first.is_first {
            (self.broken, self.behind) = (None, None);
        }
        let from = self.behind.unwrap_or(first.from);
        let head = LedgerHead {
            applied: from,
            ..last.head.clone()
        };
        let requests: Vec<_> = batches
            .iter_mut()
            .flat_map(|batch| std::mem::take(&mut batch.requests))
            .collect();
        let mut written = match self.apply(&head) {
            Ok(written) => written,
            Err(cause) => {
                self.broken = Some(cause.clone());
                return finish_all(requests, Err(BatchFault::Unapplied(cause)));
            }
        };
        finish_all(requests, Ok(()));
        if written.sync(&self.watch).is_err() {
            self.behind = Some(from);
            return;
        }
        self.behind = None;
        let landed = std::iter::repeat_n(BatchOutcome::Together, batches.len() - 1);
        for (batch, landed) in batches
            .iter_mut()
            .zip(landed.chain([BatchOutcome::Durable(apply::all_applied(&head))]))
        {
            batch.report.landed = landed;
        }
        // Before it is told: whoever heals or writes next, here or in another process, must meet no
        // pack that is half there. Those who ask have their answers.
        written.tidy();
        drop(batches);
    }

    fn apply(&self, head: &LedgerHead) -> Result<UnsyncedWrites, Arc<RecorderError>> {
        match &self.broken {
            Some(cause) => Err(cause.clone()),
            None => {
                let from = if self.behind.is_none() {
                    GitKnowledge::Mark
                } else {
                    GitKnowledge::Anywhere
                };
                let apply = |store: &_| apply::apply(store, head, (&self.paths, &self.watch), from);
                self.store.reading(apply).map_err(Arc::new)
            }
        }
    }
}
