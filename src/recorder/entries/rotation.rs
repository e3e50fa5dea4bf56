//! Key rotation: one signing key gives way to the next (format, section 6).

use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN, Subject};
use crate::record::ledger::documents::{Format, Rotate};
use crate::record::log::entry::Event;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use crate::recorder::batch::transaction::{
    EntryFiles, LedgerTransaction, NewCommit, document, oid,
};
use crate::recorder::{Recorder, RecorderError};
use crate::store::ReadStore;

impl Recorder {
    /// Puts a new signing key in force; the rotation and its tree head are signed by the old one.
    ///
    /// Every session must be closed. This recorder signs with the old key and takes nothing more:
    /// drop it, and open another with the new key.
    pub async fn rotate(&self, new: PublicKey, now: Seconds) -> Result<(), RecorderError> {
        self.record(now, move |transaction| rotate(transaction, new, now))
            .await
    }
}

fn rotate(
    transaction: &mut LedgerTransaction<'_>,
    new: PublicKey,
    now: Seconds,
) -> Result<(), RecorderError> {
    let open = transaction.tx.open_sessions()?.len();
    if open > 0 {
        return Err(RecorderError::SessionsOpen { open });
    }
    let mut signers = signers(&*transaction.tx)?;
    let new_line = new.allowed_signers_line();
    if signers
        .split_inclusive(|byte| *byte == b'\n')
        .any(|known| known == new_line.as_bytes())
    {
        return Err(RecorderError::KeyNotNew { key: new });
    }
    let time = transaction.line_time(now)?;
    let doc = Rotate {
        created_at: time,
        format: Format,
        new_signer: new,
        old_signer: transaction.head.signer,
    };
    let (bytes, record) = document("rotate.json", &doc)?;
    signers.extend_from_slice(new_line.as_bytes());
    let height = transaction.head.height;
    let line = transaction.line_at(time, height, None, Event::KeyRotate { record })?;
    let segment = Some(transaction.take_segment());
    let files = EntryFiles::from([
        ("allowed_signers", signers),
        ("checkpoint", transaction.tree_head()?.into_bytes()),
        ("rotate.json", bytes),
    ]);
    let new_commit = NewCommit {
        subject: Subject::KeyRotate {
            key: Hash32::digest(new.as_bytes()),
        },
        record,
        line,
        files: &files,
        reference: MAIN.to_owned(),
        parents: vec![oid(&transaction.main_tip()?)?],
        segment,
        tree_of: None,
    };
    transaction.commit(CommitKind::KeyRotate, new_commit)?;
    transaction.head.signer = new;
    Ok(())
}

/// The `allowed_signers` of now, as the newest commit that carries it has it: every key, in the
/// order in which they came into force.
pub fn signers(store: &ReadStore) -> Result<Vec<u8>, RecorderError> {
    let rotated = store.last_of_kind(MAIN, CommitKind::KeyRotate)?;
    let carrier = match rotated {
        Some(n) => Some(n),
        None => store.last_of_kind(MAIN, CommitKind::Genesis)?,
    };
    let missing = || RecorderError::Unrecordable {
        what: "allowed_signers",
        reason: "no commit carries it".to_owned(),
    };
    store
        .files(carrier.ok_or_else(missing)?)?
        .remove("allowed_signers")
        .ok_or_else(missing)
}
