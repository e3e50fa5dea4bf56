//! The exchange document of one exchange, put together again for whoever wants to show it.

use crate::govern::kernel::Kernel;
use crate::record::canon;
use crate::record::ledger::commitment::Scheme;
use crate::store::{ExchangeRow, ReadStore, SessionRow, StoreError};

use super::exchange_rows::ExchangeRows;

/// The canonical JSON of an exchange document, from the rows; or why it can't be made again.
///
/// Whether it is the one that was recorded, its commitment tells.
pub fn exchange_document(
    store: &ReadStore,
    scheme: Scheme,
    session: &SessionRow,
    exchange: &ExchangeRow,
) -> Result<Result<String, String>, StoreError> {
    let Some(salt) = &exchange.salt else {
        return Ok(Err("its salt is not here: erased, or not kept".to_owned()));
    };
    let kernel = store.kernel(session.kernel_hash)?;
    let kernel = kernel.map(|json| Kernel::from_canonical(&json).map_err(|e| e.to_string()));
    let rows = ExchangeRows::read(store, session, exchange, &kernel)?;
    Ok(rows
        .document(scheme, salt)
        .and_then(|document| canon::print(&document).map_err(|e| e.to_string())))
}
