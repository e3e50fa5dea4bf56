//! Putting another kernel in force: one step that ends all sessions (AEGIS 2.1).

use crate::govern::kernel::Kernel;
use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;
use crate::store::{KernelRow, ReadStore};

use super::sessions::SessionClose;
use super::settings::settle_settings;
use super::{exchanges, sessions};
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::{Recorder, RecorderError};

/// The kind of its artifacts.
pub const KIND: &str = "kernel";

/// What the artifact of a kernel is called: `kernel-` and the first 16 digits of its hash.
pub fn artifact_id(kernel: Hash32) -> String {
    format!("kernel-{}", kernel.short16())
}

/// Refuses terms of a kernel that is not in force any more: another process changed it meanwhile.
pub(in crate::recorder) fn check_in_force(
    store: &ReadStore,
    kernel: Hash32,
) -> Result<(), RecorderError> {
    let (known, wanted) = (
        store.newest_artifact(KIND)?.map(|row| row.id),
        artifact_id(kernel),
    );
    match known {
        Some(known) if known != wanted => Err(RecorderError::KernelChanged {
            expected: known,
            actual: wanted,
        }),
        _ => Ok(()),
    }
}

impl Recorder {
    /// Puts a kernel in force: closes every open session against a block, then records the kernel.
    ///
    /// All of it or nothing. [`RecorderError::InFlight`] when a prompt still waits for its model in
    /// a process that is alive; [`RecorderError::NotAllowed`] when the kernel is in force already.
    pub async fn set_kernel(
        &self,
        kernel: Kernel,
        anchor: Anchor,
        salt: Salt,
        now: Seconds,
    ) -> Result<Vec<SessionClose>, RecorderError> {
        let prompts = self.prompts.clone();
        let setting = self.record(now, move |transaction| {
            let is_in_force = transaction
                .tx
                .newest_artifact(KIND)?
                .is_some_and(|row| row.id == artifact_id(kernel.hash()) && row.document.is_some());
            if is_in_force {
                return Err(RecorderError::NotAllowed {
                    reason: format!("kernel {} is in force already", kernel.hash()),
                });
            }
            let mut closed = Vec::new();
            for mut session in transaction.tx.open_sessions()? {
                exchanges::abandon_all(transaction, &prompts, &mut session, now)?;
                closed.push(sessions::close(transaction, session, &anchor, now)?);
            }
            put(
                transaction,
                (kernel.hash(), kernel.canonical_json()),
                salt.clone(),
                now,
            )?;
            Ok(closed)
        });
        let closed = setting.await?;
        self.forget(&closed);
        Ok(closed)
    }
}

/// Records a kernel, given by its hash and canonical JSON, and its snapshot.
pub(in crate::recorder) fn put(
    transaction: &mut LedgerTransaction<'_>,
    (hash, canonical): (Hash32, &str),
    salt: Salt,
    now: Seconds,
) -> Result<(), RecorderError> {
    settle_settings(transaction, now)?;
    let content = serde_json::from_str(canonical).map_err(|e| RecorderError::Unrecordable {
        what: "the kernel",
        reason: e.to_string(),
    })?;
    let doc = ArtifactDoc {
        content,
        format: Format,
        id: artifact_id(hash),
        kind: KIND.to_owned(),
    };
    transaction.tx.remember(&KernelRow {
        hash,
        document: canonical.to_owned(),
    })?;
    transaction.artifact(now, None, &doc, salt).map(|_| ())
}
