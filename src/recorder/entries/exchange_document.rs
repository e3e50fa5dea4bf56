//! The commitment to the exchange document of an exchange that is being written (format, section 7).

use crate::govern::kernel::Kernel;
use crate::record::Exchange;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt};
use crate::store::{DriftRow, ExchangeRow, ExchangeRows, OutcomeUpdate, SessionRow};

use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

/// Texts of an answered exchange that its document commits to.
pub struct ExchangeTexts<'a> {
    /// The stored answer.
    pub aurora: &'a str,
    /// The compiled prompt's canonical JSON.
    pub compiled: &'a str,
}

/// The commitment to the exchange document that the rows give.
pub fn exchange_hash(
    transaction: &LedgerTransaction<'_>,
    session: &SessionRow,
    (row, salt): (&ExchangeRow, &Salt),
    update: &OutcomeUpdate,
    texts: Option<&ExchangeTexts<'_>>,
    drift: &[DriftRow],
) -> Result<Hash32, RecorderError> {
    let ended = ExchangeRow {
        outcome: Some(update.clone()),
        ..row.clone()
    };
    let rows = ExchangeRows {
        drift: drift.to_vec(),
        ..ExchangeRows::read(transaction.tx, session, &ended)?
    };
    let mut exchange = rows.record();
    // A question that was erased while it waited is committed to as an empty text, which nobody can
    // open: its salt is gone too.
    exchange.user.get_or_insert_default();
    let compiled = match texts {
        Some(texts) => Some(texts.compiled.to_owned()),
        None => compiled_again(transaction, &exchange)?,
    };
    if let (Some(texts), Some(end)) = (texts, &mut exchange.outcome) {
        (end.has_answer, end.answer) = (true, Some(texts.aurora.to_owned()));
    }
    let scheme = transaction.genesis.commitments;
    let unrecordable = |reason: String| RecorderError::Unrecordable {
        what: "the exchange document",
        reason,
    };
    let document = exchange
        .document(scheme, salt, compiled.as_deref())
        .map_err(|e| unrecordable(e.to_string()))?;
    // Whoever waited for the answer holds the whole salt; the row says whether something that the
    // model was shown was erased meanwhile.
    let keys = row.salt.as_ref();
    if let Some(keys) = keys.filter(|keys| keys.key_left(Role::Exchange).is_some()) {
        let answer = texts
            .filter(|_| row.not_kept.is_none())
            .map(|texts| texts.aurora)
            .zip(update.response_commitment);
        let left = keys.without(&document.unopened(scheme, salt, answer));
        transaction.tx.leave_keys(row.exchange_id, &left)?;
    }
    document
        .commitment(scheme, salt)
        .map_err(|e| unrecordable(e.to_string()))
}

/// The compiled prompt of a call that failed; none when an earlier turn in it was erased while it
/// waited for its answer: then its commitment is kept, or, where no salt is, nobody commits to it,
/// and the session can be closed.
fn compiled_again(
    transaction: &LedgerTransaction<'_>,
    exchange: &Exchange,
) -> Result<Option<String>, RecorderError> {
    if exchange.bundle.is_none() {
        return Ok(None);
    }
    let wrong = |reason: String| RecorderError::Unrecordable {
        what: "the compiled prompt",
        reason,
    };
    let json = transaction.tx.kernel(exchange.kernel_hash)?;
    let json = json.ok_or_else(|| wrong("its kernel is gone".to_owned()))?;
    let kernel = Kernel::from_canonical(&json).map_err(|e| wrong(e.to_string()))?;
    match exchange.prompt_to_commit(Ok(kernel.system_prompt())) {
        Ok(text) => Ok(text),
        Err(fault) if fault.is_gone() => Ok(None),
        Err(fault) => Err(wrong(fault.to_string())),
    }
}
