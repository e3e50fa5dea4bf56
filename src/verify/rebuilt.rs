//! The exchange document of one exchange, put together again for whoever wants to show it.

use crate::continuity::prompt::PriorTurn;
use crate::continuity::turns::TURN;
use crate::govern::kernel::Kernel;
use crate::record::canon;
use crate::record::commitment::Scheme;
use crate::store::{ExchangeRow, Read, SessionRow, StoreError};

use super::rows::Rows;

/// The canonical JSON of an exchange document, from the rows; or why it can't be made again.
///
/// Whether it is the one that was recorded, its commitment tells.
pub fn exchange_document(
    store: &dyn Read,
    scheme: Scheme,
    session: &SessionRow,
    exchange: &ExchangeRow,
) -> Result<Result<String, String>, StoreError> {
    let Some(salt) = &exchange.salt else { return Ok(Err("its salt is not here: erased, or not kept".to_owned())) };
    let refs = store.artifact_refs(exchange.exchange_id)?;
    let mut turns = Vec::new();
    for row in refs.iter().filter(|row| row.artifact_type == TURN) {
        let turn = row.artifact_id.parse().ok().map(|id| store.turn(id)).transpose()?.flatten();
        turns.push(
            turn.and_then(|turn| PriorTurn::new(turn.turn_id, turn.by_user, turn.created_at, turn.content.as_deref())),
        );
    }
    let aurora = exchange.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
    let kernel = store.kernel(session.kernel_hash)?;
    let kernel = kernel.map(|json| Kernel::from_canonical(&json).map_err(|e| e.to_string()));
    let rows = Rows {
        session,
        exchange,
        user: store.turn(exchange.turn_user)?,
        aurora: aurora.map(|id| store.turn(id)).transpose()?.flatten(),
        refs,
        drift: store.drift(exchange.exchange_id)?,
        kernel: &kernel,
        turns,
    };
    Ok(rows.document(scheme, salt).and_then(|document| canon::print(&document).map_err(|e| e.to_string())))
}
