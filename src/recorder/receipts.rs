//! What the ledger signs for somebody outside: receipts, and the tree head of an opening.

use crate::record::canon;
use crate::record::documents::{Format, Genesis};
use crate::record::entry::Line;
use crate::record::receipt::{Receipt, Statement};
use crate::record::tree::Frontier;
use crate::store::Read;

use super::artifacts::{NewArtifact, RecordedArtifact, put};
use super::{Recorder, RecorderError, TurnIds};

impl Recorder {
    /// Signs for whoever asked where the log stands behind the turn's outcome.
    ///
    /// `store` is read as it stands: lines that others have recorded since are under the signature, too. Writes
    /// nothing and waits for no disk; with an SSH agent it is one more signature.
    pub fn receipt(&self, store: &dyn Read, ids: &TurnIds) -> Result<Receipt, RecorderError> {
        let unrecordable = |what: &'static str, reason: String| RecorderError::Unrecordable { what, reason };
        let head = store.head()?;
        let genesis: Genesis =
            canon::parse(store.genesis()?.as_bytes()).map_err(|e| unrecordable("head.genesis", e.to_string()))?;
        if head.signer != self.key.public() {
            let (expected, actual) = (head.signer.to_string(), self.key.public().to_string());
            return Err(RecorderError::WrongSigner { expected, actual });
        }
        let frontier =
            Frontier::from_bytes(&head.frontier).map_err(|e| unrecordable("head.frontier", e.to_string()))?;
        let outcome = store.exchange(ids.exchange)?.and_then(|row| row.outcome);
        let outcome = outcome.ok_or_else(|| unrecordable("a receipt", "the turn has no outcome".to_owned()))?;
        let n = outcome.outcome_line;
        let line = store.lines(n, n + 1)?.pop().and_then(|line| Line::parse(line.as_bytes()).ok());
        let line = line.ok_or_else(|| unrecordable("a receipt", format!("log line {} can't be read", n + 1)))?;
        let statement = Statement {
            chain_entry: outcome.chain_entry,
            format: Format,
            line: line.hash,
            log_head: head.hash,
            origin: genesis.origin,
            root: frontier.root(),
            seq: ids.seq,
            session_id: ids.session,
            tree_size: head.lines,
        };
        let bytes = statement.to_be_signed().map_err(|e| unrecordable("a receipt", e.to_string()))?;
        Ok(statement.signed(self.key.public(), self.key.sign(&bytes)?))
    }

    /// Puts an artifact on record, as [`Recorder::artifact`] does, and with `signed` gives the signed tree head over
    /// all lines up to its own.
    pub async fn artifact_with_head(
        &self,
        new: NewArtifact,
        signed: bool,
        mut allowed: impl FnMut(&dyn Read) -> Result<Option<String>, RecorderError> + Send + 'static,
    ) -> Result<(RecordedArtifact, Option<String>), RecorderError> {
        self.record(new.now, move |draft| {
            if let Some(reason) = allowed(&*draft.tx)? {
                return Err(RecorderError::NotAllowed { reason });
            }
            let recorded = put(draft, new.clone())?;
            let head = if signed { Some(draft.tree_head()?) } else { None };
            Ok((recorded, head))
        })
        .await
    }
}
