//! A question that is asked again, as the kernel blocks its answer: a reply to the same turn, to whoever
//! was asked before.

use crate::ask::refer::{ParentTurn, ThreadPosition};
use crate::record::context::turn::TurnIntent;

use super::seat::TurnSeat;
use super::{AskRequest, AskResult};

/// Most times that a question is asked again.
pub const MOST_RETRIES: u8 = 3;

/// The same question once more; none where its answer is not blocked, or it was asked often enough.
pub fn again(request: &AskRequest, asked: &AskResult, retries: u8) -> Option<AskRequest> {
    let attempt = request.attempt?;
    if !asked.is_withheld() || attempt >= retries.min(MOST_RETRIES) {
        return None;
    }
    let referred = &asked.turn.referred;
    Some(AskRequest {
        attempt: Some(attempt + 1),
        model: Some(asked.model().to_owned()),
        seat: Some(TurnSeat {
            position: ThreadPosition {
                thread: Some(referred.thread()),
                parent: referred
                    .parent()
                    .map_or(ParentTurn::Nothing, ParentTurn::Turn),
                intent: TurnIntent::ChatMessage,
            },
            specialist: asked.specialist.clone(),
            declared: Some(asked.declared.clone()),
            is_from_handoff: asked.from_handoff,
            round: None,
        }),
        ..request.clone()
    })
}
