//! An answered prompt in log and ledger: the `response` line and the interaction's commit (format,
//! sections 5 to 8).

use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, Subject, branch_ref, hash_file};
use crate::record::ledger::documents::{Format, Record};
use crate::record::log::entry::Event;
use crate::store::{ExchangeRow, OutcomeUpdate, SessionRow};

use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::{
    EntryFiles, LedgerTransaction, NewCommit, NewLine, document, oid,
};
use crate::recorder::turn::JudgedReply;

/// The `response` line and the interaction's commit; moves the session's chain.
pub(in crate::recorder) fn interaction(
    transaction: &mut LedgerTransaction<'_>,
    session: &mut SessionRow,
    row: &ExchangeRow,
    update: &OutcomeUpdate,
    judged: &JudgedReply,
    chain: Hash32,
) -> Result<(NewLine, String), RecorderError> {
    let response_hash = update.response_commitment.unwrap_or(Hash32::ZERO);
    let record = Record {
        asked_at: row.created_at,
        authority_state: row.authority_state,
        chain_entry: chain,
        exchange_hash: update.exchange_commitment,
        format: Format,
        kernel_hash: session.kernel_hash,
        model: row.model.clone(),
        prev: session.chain_head,
        prompt_hash: row.prompt_commitment,
        refusal: judged.judgement.refusal(),
        response_hash,
        seq: row.seq,
        session_id: session.id,
        timestamp: update.answered_at,
        validator: judged.judgement.flags(),
    };
    let (bytes, record) = document("record.json", &record)?;
    let event = Event::Response {
        hash: response_hash,
        seq: row.seq,
        model: row.model.clone(),
        chain,
        record,
    };
    let line = transaction.line_at(
        update.answered_at,
        session.anchor.block.height,
        Some(session.id),
        event,
    )?;
    let files = EntryFiles::from([
        ("chain_entry", hash_file(chain)),
        ("prompt_hash", hash_file(row.prompt_commitment)),
        ("record.json", bytes),
        ("response_hash", hash_file(response_hash)),
        ("session", hash_file(session.id)),
    ]);
    let reference = branch_ref(&session.branch);
    let tip = transaction.tip(&reference)?.ok_or(RecorderError::NotOpen {
        session: session.id,
    })?;
    let new = NewCommit {
        subject: Subject::Interaction {
            session: session.id,
            seq: row.seq,
            chain,
        },
        record,
        line,
        files: &files,
        reference,
        parents: vec![oid(&tip)?],
        segment: None,
        tree_of: None,
    };
    let (_, id) = transaction.commit(CommitKind::Interaction, new)?;
    session.chain_head = chain;
    session.interactions += 1;
    session.last_at = line.time;
    Ok((line, id.to_string()))
}
