//! What a question declares where its conversation was summed up: the handoff, and what came after it,
//! in place of the last turns.

use uuid::Uuid;

use super::HandoffReader;
use crate::app::words::counted;
use crate::ask::recall::{DeclaredContext, Reference};
use crate::ask::withheld::Withheld;
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
    let after = after(store, thread, &handoff)?;
    let mut refs = vec![Reference::Exchange(handoff.exchange)];
    refs.extend((after.turns > 0).then_some(Reference::Last(after.turns)));
    let name = short_name(&handoff.id);
    let all = counted(messages, "message");
    let sentence = match after.messages {
        0 if messages == 0 => format!("shown: {name}"),
        shown if shown >= messages => format!("shown: {name} and {all} after it"),
        0 => format!("shown: {name}, and of {all} after it none, as no text of them can be shown"),
        shown => {
            format!("shown: {name} and, of {all} after it, the {shown} whose text can be shown")
        }
    };
    Ok(Some(DeclaredHandoff {
        declared: DeclaredContext {
            refs,
            ..declared.clone()
        },
        sentence,
    }))
}

/// What was said behind what a handoff is about, on the way back from the newest message.
#[derive(Default)]
struct SaidAfter {
    /// How many turns have a message there.
    turns: u32,
    /// How many messages there have a text that a model can be shown.
    messages: u64,
}

fn after(store: &ReadStore, thread: Uuid, handoff: &Handoff) -> Result<SaidAfter, StoreError> {
    let gate = Withheld::of(store);
    let (mut after, mut next) = (SaidAfter::default(), store.newest_message(thread)?);
    while let Some(turn) = next.filter(|_| after.turns < MOST_BACK) {
        let Some(row) = store.exchange(turn)? else {
            break;
        };
        if row.newest_message_line() <= handoff.upto {
            break;
        }
        after.turns += 1;
        if row.prompt_line > handoff.upto {
            after.messages += u64::from(has_text(store, row.turn_user)?);
        }
        if let Some(answer) = row.outcome.as_ref().and_then(|end| end.turn_aurora) {
            let is_shown = has_text(store, answer)? && !gate.answer_of(&row)?;
            after.messages += u64::from(is_shown);
        }
        next = store.thread_turn(turn)?.and_then(|row| row.parent);
    }
    Ok(after)
}

fn has_text(store: &ReadStore, turn: Uuid) -> Result<bool, StoreError> {
    Ok(store.turn(turn)?.is_some_and(|turn| turn.content.is_some()))
}
