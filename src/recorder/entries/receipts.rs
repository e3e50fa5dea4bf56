//! What the ledger signs for somebody outside: receipts, and the tree head of an opening.

use crate::record::hash::Hash32;
use crate::record::ledger::documents::Format;
use crate::record::ledger::receipt::{Receipt, Statement};
use crate::record::log::entry::Line;
use crate::record::tree::parse_note;
use crate::store::ReadStore;

use super::artifacts::{NewArtifact, RecordedArtifact, put};
use crate::recorder::{Recorder, RecorderError, TurnIds};

impl Recorder {
    /// Signs for whoever asked that the turn's outcome is under the tree head that stands beside
    /// the log.
    ///
    /// `store` is read as it stands: lines that others have recorded since are under the head, too.
    /// Writes nothing and waits for no disk; with an SSH agent it is one more signature.
    pub fn receipt(&self, store: &ReadStore, ids: &TurnIds) -> Result<Receipt, RecorderError> {
        let record_error = |reason: String| RecorderError::Unrecordable {
            what: "a receipt",
            reason,
        };
        let head = store.head()?;
        if head.signer != self.key.public() {
            let (expected, actual) = (head.signer.to_string(), self.key.public().to_string());
            return Err(RecorderError::WrongSigner { expected, actual });
        }
        let hash_of = |n: u64| -> Result<Hash32, RecorderError> {
            let line = store
                .lines(n, n + 1)?
                .pop()
                .and_then(|line| Line::parse(line.as_bytes()).ok());
            line.map(|line| line.hash)
                .ok_or_else(|| record_error(format!("log line {} can't be read", n + 1)))
        };
        let outcome = store.exchange(ids.exchange)?.and_then(|row| row.outcome);
        let outcome = outcome.ok_or_else(|| record_error("the turn has no outcome".to_owned()))?;
        let checkpoint = head
            .checkpoint
            .ok_or_else(|| record_error("no tree head is signed yet".to_owned()))?;
        let size = parse_note(&checkpoint)
            .map_err(|e| record_error(e.to_string()))?
            .size;
        let last = size
            .checked_sub(1)
            .filter(|last| outcome.outcome_line <= *last);
        let last = last.ok_or_else(|| {
            record_error("the signed tree head is not over the outcome yet".to_owned())
        })?;
        let statement = Statement {
            chain_entry: outcome.chain_entry,
            checkpoint,
            format: Format,
            line: hash_of(outcome.outcome_line)?,
            log_head: hash_of(last)?,
            seq: ids.seq,
            session_id: ids.session,
        };
        let bytes = statement
            .to_be_signed()
            .map_err(|e| record_error(e.to_string()))?;
        let receipt = statement.signed(self.key.public(), self.key.sign(&bytes)?);
        receipt.map_err(|e| record_error(e.to_string()))
    }

    /// Puts artifacts on record in one step, as [`Recorder::artifact`] does one, and gives the
    /// signed tree head over all lines up to theirs.
    pub async fn artifacts_with_head(
        &self,
        new: Vec<NewArtifact>,
        mut allowed: impl FnMut(&ReadStore) -> Result<Option<String>, RecorderError> + Send + 'static,
    ) -> Result<(Vec<RecordedArtifact>, String), RecorderError> {
        let Some(now) = new.iter().map(|new| new.now).max() else {
            let reason = "there are none".to_owned();
            return Err(RecorderError::Unrecordable {
                what: "artifacts",
                reason,
            });
        };
        self.record(now, move |transaction| {
            if let Some(reason) = allowed(&*transaction.tx)? {
                return Err(RecorderError::NotAllowed { reason });
            }
            let recorded = new
                .iter()
                .map(|new| put(transaction, new.clone()))
                .collect::<Result<_, _>>()?;
            Ok((recorded, transaction.tree_head()?))
        })
        .await
    }
}
