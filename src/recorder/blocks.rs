//! Which block a line may name: none from the line's own future, and none that another line names
//! at another height (format, section 9). Either would make the ledger inconsistent for ever.

use crate::record::bitcoin::block::Anchor;
use crate::record::bitcoin::fit::line_fits;
use crate::record::hash::Hash32;
use crate::record::log::entry::{Event, Line};
use crate::record::time::Seconds;
use crate::store::{ReadStore, StoreError};

use super::RecorderError;
use super::batch::transaction::LedgerTransaction;

/// Refuses a block that a line with this TIMESTAMP can't name.
pub fn check(
    transaction: &LedgerTransaction<'_>,
    anchor: &Anchor,
    now: Seconds,
) -> Result<(), RecorderError> {
    let (Some(header), block) = (&anchor.header, &anchor.block) else {
        return Ok(());
    };
    let time = header.fields().time;
    if !line_fits(now, time) {
        return Err(RecorderError::ClockSlow {
            height: block.height,
            time,
            now,
        });
    }
    match block_elsewhere(&*transaction.tx, block.hash, block.height)? {
        None => Ok(()),
        Some(known) => Err(RecorderError::BlockElsewhere {
            hash: block.hash,
            height: block.height,
            known,
        }),
    }
}

/// The height at which a line of this ledger names a block, if it is another than this one.
///
/// What is kept of blocks beside the lines only says where to look: it is no evidence, and a lie in
/// it stops nobody.
pub fn block_elsewhere(
    store: &ReadStore,
    hash: Hash32,
    height: u32,
) -> Result<Option<u32>, StoreError> {
    if store
        .blocks_of(hash)?
        .iter()
        .all(|known| known.block.height == height)
    {
        return Ok(None);
    }
    let lines = store.lines_naming(hash)?;
    let named = lines
        .iter()
        .filter_map(|text| match Line::parse(text.as_bytes()).ok()?.event {
            Event::SessionStart { btc, block, .. }
            | Event::SessionEnd { btc, block, .. }
            | Event::BtcAnchor { btc, block, .. } => {
                (block == hash && btc != height).then_some(btc)
            }
            _ => None,
        });
    Ok({ named }.next())
}
