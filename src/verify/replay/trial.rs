//! Another kernel, tried on history: which past decisions would differ.

use crate::continuity::declared::TurnContext;
use crate::govern::authority::{Decision, Judge, Normative};
use crate::govern::sanitize::Clean;
use crate::record::context::turn::Counts;
use crate::record::documents::AuthorityState;

/// A decision that would differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Codes on record; none when it was allowed.
    pub was: Vec<String>,
    /// Codes under the other kernel; none when it would be allowed.
    pub would: Vec<String>,
}

/// What a kernel decides about a turn: codes, none when it allows; and the authority state.
pub(super) fn decide(
    judge: &Judge,
    (text, model): (&Clean, &str),
    context: &TurnContext,
    counts: Counts,
) -> (Vec<String>, AuthorityState) {
    if let Err(fault) = context.resolved() {
        return (vec![fault.code().to_owned()], AuthorityState::Blocked);
    }
    let decision: Decision = judge.decide(&Normative { prompt: text, model, counts, intents: context.intents() });
    (decision.reasons().to_vec(), decision.authority_state())
}
