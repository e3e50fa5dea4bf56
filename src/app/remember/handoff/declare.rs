//! What a question declares where its conversation was summed up: the handoff, and what came after it,
//! in place of the last turns.

use uuid::Uuid;

use super::HandoffReader;
use crate::app::words::counted;
use crate::ask::recall::{DeclaredContext, Reference};
use crate::record::ledger::handoff::Handoff;
use crate::record::ledger::short_name::short_name;
use crate::store::{ReadStore, StoreError};

/// A longer way back is longer than a question can declare.
const MOST_BACK: u32 = 2048;

/// What is declared in the place of the last turns.
pub struct DeclaredHandoff {
    /// The references.
    pub declared: DeclaredContext,
    /// The same in a sentence: `shown: handoff-1 and 3 messages after it`.
    pub sentence: String,
}

/// What a question behind the newest message of a thread declares in place of the last turns; none
/// where it names turns, declares none, or no handoff can be read.
pub fn in_place_of_last(
    store: &ReadStore,
    thread: Uuid,
    declared: &DeclaredContext,
) -> Result<Option<DeclaredHandoff>, StoreError> {
    if !matches!(declared.refs.as_slice(), [Reference::Last(_)]) {
        return Ok(None);
    }
    let Some(handoff) = HandoffReader::of(store)?.newest(thread)? else {
        return Ok(None);
    };
    let messages = store.messages_behind(thread, Some(handoff.upto))?;
    let turns = turns_after(store, thread, &handoff)?;
    let mut refs = vec![Reference::Exchange(handoff.exchange)];
    refs.extend((turns > 0).then_some(Reference::Last(turns)));
    let name = short_name(&handoff.id);
    let sentence = match messages {
        0 => format!("shown: {name}"),
        after => format!("shown: {name} and {} after it", counted(after, "message")),
    };
    Ok(Some(DeclaredHandoff {
        declared: DeclaredContext {
            refs,
            ..declared.clone()
        },
        sentence,
    }))
}

/// How many turns, on the way back from the newest message, have a message behind what a handoff is
/// about.
fn turns_after(store: &ReadStore, thread: Uuid, handoff: &Handoff) -> Result<u32, StoreError> {
    let (mut turns, mut next) = (0, store.newest_message(thread)?);
    while let Some(turn) = next.filter(|_| turns < MOST_BACK) {
        let Some(row) = store.exchange(turn)? else {
            break;
        };
        if row.newest_message_line() <= handoff.upto {
            break;
        }
        turns += 1;
        next = store.thread_turn(turn)?.and_then(|row| row.parent);
    }
    Ok(turns)
}
