//! The first records of a new ledger: genesis, its kernel, its auth key.

use crate::keys::SigningKey;
use crate::ledger::write::Ledger;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN, Subject};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Genesis;
use crate::record::log::entry::Event;
use crate::record::time::Seconds;
use crate::record::tree::Frontier;
use crate::store::{AppliedMark, AuthKeyRow, LedgerHead, Store};

use super::content_policy::WriterContext;
use super::kernel;
use crate::recorder::RecorderError;
use crate::recorder::apply::Paths;
use crate::recorder::batch::transaction::{EntryFiles, LedgerTransaction, NewCommit, document};
use crate::recorder::batch::writer::Writer;
use crate::recorder::lock::WAIT;
use crate::recorder::sync_policy::SyncPolicy;

/// What a new ledger's first records are made from.
#[derive(Clone, Debug)]
pub struct FirstRecords {
    /// First document of the ledger: `genesis.json`.
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
pub fn create(
    paths: &Paths,
    key: SigningKey,
    first: &FirstRecords,
) -> Result<LedgerHead, RecorderError> {
    let store = Store::create(&paths.database())?;
    Ledger::create(&paths.ledger())?.sync()?;
    let (text, record) = document("genesis.json", &first.genesis)?;
    let text = String::from_utf8(text).map_err(|e| RecorderError::Unrecordable {
        what: "genesis.json",
        reason: e.to_string(),
    })?;
    let watch = crate::recorder::unwatched();
    let writer_context = WriterContext::new(None, None)?;
    let mut writer = Writer {
        known_head: None,
        paths: paths.clone(),
        store,
        genesis: first.genesis.clone(),
        key: std::sync::Arc::new(key.into()),
        watch,
        writer_context,
        wait: WAIT,
        sync_policy: SyncPolicy::EachBatch,
    };
    let empty = empty_head(&first.genesis);
    writer
        .store
        .transact(&mut |tx| tx.create_head(&empty, &text))?;
    let head = writer.transact(|transaction| first_records(transaction, first, &text, record))?;
    writer.finish(&head)?;
    writer.store.checkpoint()?;
    Ok(head)
}

fn empty_head(genesis: &Genesis) -> LedgerHead {
    LedgerHead {
        signer: genesis.signer,
        lines: 0,
        hash: Hash32::GENESIS,
        time: Seconds::ZERO,
        height: 0,
        bytes: 0,
        frontier: Frontier::new().to_bytes(),
        commits: 0,
        segment_lines: 0,
        segment_bytes: 0,
        segment_at: genesis.created_at,
        last_branch: None,
        checkpoint: None,
        applied: AppliedMark::default(),
        boot: None,
    }
}

fn first_records(
    transaction: &mut LedgerTransaction<'_>,
    first: &FirstRecords,
    text: &str,
    record: Hash32,
) -> Result<(), RecorderError> {
    let now = first.genesis.created_at;
    let line = transaction.line_at(now, 0, None, Event::Genesis { record })?;
    let signers = first.genesis.signer.allowed_signers_line().into_bytes();
    let files = EntryFiles::from([
        ("allowed_signers", signers),
        ("genesis.json", text.as_bytes().to_vec()),
    ]);
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
    transaction.commit(CommitKind::Genesis, new)?;
    let (hash, canonical) = &first.kernel;
    let (auth, name) = &first.auth_key;
    transaction.tx.put(&AuthKeyRow {
        hash: *auth,
        name: name.clone(),
        added_at: now,
        revoked_at: None,
    })?;
    kernel::put(transaction, (*hash, canonical), first.salt.clone(), now)
}
