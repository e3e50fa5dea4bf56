//! A conversation that goes on with another provider: what was said to one is sent to another then.

use crate::models::Model;
use crate::store::{ReadStore, StoreError};

use super::refer::ResolvedRefs;

/// Earlier turns that are sent to another provider than the one that answered them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderChange {
    /// How many earlier turns the new provider would be sent.
    turns: u64,
    /// The model that answered the newest of them.
    from: String,
    /// The one that they go to.
    to: String,
}

impl ProviderChange {
    /// Whether the newest answer that a model is shown is another provider's; none as soon as one
    /// of its own stands behind it, and for a model to which nothing is sent.
    pub fn of(
        store: &ReadStore,
        model: &Model,
        referred: &ResolvedRefs,
    ) -> Result<Option<Self>, StoreError> {
        if !model.is_over_a_wire() {
            return Ok(None);
        }
        let (mut turns, mut from) = (0, None);
        for answer in referred.turns.iter().rev().filter(|turn| !turn.by_user) {
            let Some(exchange) = store.exchange_of_turn(answer.turn)? else {
                continue;
            };
            let is_own = provider(&exchange.model) == provider(model.id());
            if is_own && from.is_none() {
                return Ok(None);
            }
            turns += u64::from(!is_own);
            from.get_or_insert(exchange.model);
        }
        Ok(from.map(|from| ProviderChange {
            turns,
            from,
            to: model.id().to_owned(),
        }))
    }

    /// The same for a person.
    pub fn sentence(&self) -> String {
        let ProviderChange { turns, from, to } = self;
        let turns = match turns {
            1 => format!("1 earlier turn with {from} goes"),
            _ => format!("{turns} earlier turns with {from} go"),
        };
        format!("{turns} to {to} (gently ask --new begins another conversation)")
    }
}

/// What stands before the slash of a model's id.
fn provider(model: &str) -> &str {
    model
        .split_once('/')
        .map_or(model, |(provider, _)| provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_told_in_one_sentence() {
        let change = |turns| ProviderChange {
            turns,
            from: "ollama/m:1".to_owned(),
            to: "anthropic/c-1".to_owned(),
        };
        assert_eq!(
            change(3).sentence(),
            "3 earlier turns with ollama/m:1 go to anthropic/c-1 (gently ask --new begins another conversation)"
        );
        assert!(
            change(1)
                .sentence()
                .starts_with("1 earlier turn with ollama/m:1 goes to ")
        );
        assert_eq!(
            ["openai/a/b", "observer"].map(provider),
            ["openai", "observer"]
        );
    }
}
