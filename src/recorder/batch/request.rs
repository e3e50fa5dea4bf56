//! What the writer's thread is given: things to record, each with somebody who waits for its
//! answer.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::record::time::Seconds;

use super::apply_thread::BatchOutcome;
use super::transaction::LedgerTransaction;
use crate::recorder::RecorderError;

/// What arrives at the writer's thread.
pub enum WriterMessage {
    /// Something to record.
    Write(Box<dyn WriteRequest>),
    /// What became of a batch that was handed to the applier.
    Landed(BatchOutcome),
    /// The handle is gone: what was taken is finished, and nothing more is.
    Close,
}

/// One thing to record.
pub trait WriteRequest: Send {
    /// The clock of whoever asked.
    fn now(&self) -> Seconds;
    /// Whether this is the outcome of a prompt on record: worth keeping in the database even while
    /// git and log are out of reach. Anything else is refused then, before a model is called for
    /// nothing.
    fn is_outcome(&self) -> bool;
    /// Fills the draft; keeps its value until [`WriteRequest::finish`]. May be called again, with the
    /// draft of another try.
    fn run(&mut self, transaction: &mut LedgerTransaction<'_>);
    /// Whether [`WriteRequest::run`] failed, so that the draft has to be restored.
    fn failed(&self) -> bool;
    /// Answers: with the value, or with why the batch failed.
    fn finish(self: Box<Self>, batch: Result<(), BatchFault>);
}

/// Why a whole batch failed; every request of it is told.
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

/// A request that sends a value to whoever waits.
pub struct Task<T, W> {
    now: Seconds,
    is_outcome: bool,
    work: W,
    value: Option<Result<T, RecorderError>>,
    reply: oneshot::Sender<Result<T, RecorderError>>,
}

impl<T, W> Task<T, W> {
    /// Wraps work and the place of its answer.
    pub fn new(
        now: Seconds,
        is_outcome: bool,
        work: W,
        reply: oneshot::Sender<Result<T, RecorderError>>,
    ) -> Self {
        Task {
            now,
            is_outcome,
            work,
            value: None,
            reply,
        }
    }
}

impl<T: Send, W: FnMut(&mut LedgerTransaction<'_>) -> Result<T, RecorderError> + Send> WriteRequest
    for Task<T, W>
{
    fn now(&self) -> Seconds {
        self.now
    }

    fn is_outcome(&self) -> bool {
        self.is_outcome
    }

    fn run(&mut self, transaction: &mut LedgerTransaction<'_>) {
        self.value = Some((self.work)(transaction));
    }

    fn failed(&self) -> bool {
        !matches!(self.value, Some(Ok(_)))
    }

    fn finish(self: Box<Self>, batch: Result<(), BatchFault>) {
        let Task {
            work, value, reply, ..
        } = *self;
        // Whoever gets the answer may want back what the work was on.
        drop(work);
        let answer = match (batch, value) {
            (Ok(()), Some(value)) => value,
            // What the request itself found wrong says more than what became of its batch.
            (Err(_), Some(Err(own))) => Err(own),
            (Err(fault), _) => Err(fault.into()),
            (Ok(()), None) => Err(RecorderError::Stopped),
        };
        // Whoever asked may be gone (Ctrl-C); the record stands all the same.
        let _ = reply.send(answer);
    }
}

/// Tells all of them the same.
pub fn finish_all(requests: Vec<Box<dyn WriteRequest>>, outcome: Result<(), BatchFault>) {
    for request in requests {
        request.finish(outcome.clone());
    }
}
