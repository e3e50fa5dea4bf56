//! The commitments to the exchange document and to the trace of an exchange that is being written
//! (format, section 8).

use crate::govern::kernel::Kernel;
use crate::record::Exchange;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, opening_key};
use crate::record::ledger::measures::TurnMeasures;
use crate::record::trace::ended_turn::EndedTurn;
use crate::record::trace::mapping::TraceMapping;
use crate::store::{
    AssertionRow, DriftRow, ExchangeRow, ExchangeRows, MeasureRow, OutcomeUpdate, SessionRow,
};

use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::turn::TurnSteps;

/// Who records.
const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// Texts of an answered exchange that its document commits to.
#[derive(Clone, Copy)]
pub struct ExchangeTexts<'a> {
    /// The stored answer.
    pub aurora: &'a str,
    /// The compiled prompt's canonical JSON.
    pub compiled: &'a str,
}

/// What a turn came to beside its outcome: texts, the rows of a judgement, and what was measured on
/// the way to it.
#[derive(Clone, Copy)]
pub struct JudgedRows<'a> {
    /// Of an answered one.
    pub texts: Option<ExchangeTexts<'a>>,
    /// What drifted.
    pub drift: &'a [DriftRow],
    /// Every check that was made.
    pub checks: &'a [AssertionRow],
    /// None of a prompt that nobody waited for any more.
    pub steps: Option<TurnSteps>,
}

/// The commitment to the exchange document that the rows give, and the row of what was measured.
pub fn exchange_hash(
    transaction: &LedgerTransaction<'_>,
    session: &SessionRow,
    (row, salt): (&ExchangeRow, &Salt),
    update: &OutcomeUpdate,
    judged: JudgedRows<'_>,
) -> Result<(Hash32, Option<MeasureRow>), RecorderError> {
    let ended = ExchangeRow {
        outcome: Some(update.clone()),
        ..row.clone()
    };
    let mut rows = ExchangeRows {
        drift: judged.drift.to_vec(),
        ..ExchangeRows::read(transaction.tx, session, &ended)?
    };
    if let Some(steps) = &judged.steps {
        rows.measures = Some(measured(transaction, &rows, salt, (steps, judged.checks))?);
    }
    let mut exchange = rows.record();
    // A question that was erased while it waited is committed to as an empty text, which nobody can
    // open: its salt is gone too.
    exchange.user.get_or_insert_default();
    let texts = judged.texts.as_ref();
    let compiled = match texts {
        Some(texts) => Some(texts.compiled.to_owned()),
        None => compiled_again(transaction, &exchange)?,
    };
    if let (Some(texts), Some(end)) = (texts, &mut exchange.outcome) {
        (end.has_answer, end.answer) = (true, Some(texts.aurora.to_owned()));
    }
    let scheme = transaction.genesis.commitments;
    let record_error = |reason: String| RecorderError::Unrecordable {
        what: "the exchange document",
        reason,
    };
    let document = exchange
        .document(scheme, salt, compiled.as_deref())
        .map_err(|e| record_error(e.to_string()))?;
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
    let commitment = document.commitment(scheme, salt);
    let commitment = commitment.map_err(|e| record_error(e.to_string()))?;
    Ok((commitment, rows.measures))
}

/// What was measured of an exchange with its outcome, and the commitment to its trace.
fn measured(
    transaction: &LedgerTransaction<'_>,
    rows: &ExchangeRows<'_>,
    salt: &Salt,
    (steps, checks): (&TurnSteps, &[AssertionRow]),
) -> Result<MeasureRow, RecorderError> {
    let record_error = |reason: String| RecorderError::Unrecordable {
        what: "the trace",
        reason,
    };
    let (row, scheme) = (rows.exchange, transaction.genesis.commitments);
    let context = rows.context.as_ref().map(|context| &context.row);
    let conflicts = rows.conflicts();
    let is_in_conflict = !conflicts
        .map_err(|e| record_error(e.to_string()))?
        .is_empty();
    let origin = steps.entry.origin;
    let measures = TurnMeasures {
        compile_ms: steps.entry.compile_ms,
        depth: transaction
            .tx
            .depth_after(context.and_then(|context| context.parent))?,
        attempt: origin.attempt,
        door: origin.door,
        first_byte_ms: steps.body.map(|body| body.first_byte_ms),
        is_in_conflict,
        judge_ms: steps.judge_ms,
        model_ms: steps.body.map(|body| body.last_byte_ms),
        program: PROGRAM.to_owned(),
        same_pairs: steps.sources.same_pairs,
        sources: steps.sources.sources,
        domain_alignment: origin.specialist.map(|asked| asked.alignment),
        round: origin.round,
        specialist: origin.specialist.map(|asked| asked.id),
        utility: origin.specialist.map(|asked| asked.utility),
    };
    let prompt_line = transaction.tx.line_hash(row.prompt_line)?;
    let turn = row.ended_turn(
        prompt_line.ok_or_else(|| record_error("its prompt has no line".to_owned()))?,
        context,
        &rows.refs,
        checks,
    );
    let turn = EndedTurn {
        measures: Some(measures.clone()),
        ..turn.ok_or_else(|| record_error("the exchange has no outcome".to_owned()))?
    };
    let facts = turn.facts(&transaction.genesis.origin);
    let facts = facts.map_err(|e| record_error(e.to_string()))?;
    let mapping = TraceMapping::of(&facts);
    let commitment = mapping.commitment(&facts, scheme, salt);
    // Where no openings are kept, nobody is to open anything.
    let is_opened = scheme == Scheme::HmacSha256 && row.salt.is_some();
    Ok(MeasureRow {
        line: row.prompt_line,
        exchange: row.exchange_id,
        measures,
        trace_mapping: mapping.name().to_owned(),
        trace_commitment: commitment.map_err(|e| record_error(e.to_string()))?,
        trace_key: is_opened.then(|| *opening_key(salt, Role::Trace).as_bytes()),
    })
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
    let kernel = Kernel::stored(json.as_deref()).map_err(wrong)?;
    match exchange.prompt_to_commit(Ok(kernel.system_prompt())) {
        Ok(text) => Ok(text),
        Err(fault) if fault.is_gone() => Ok(None),
        Err(fault) => Err(wrong(fault.to_string())),
    }
}
