//! Texts that were erased.

use serde::Serialize;
use uuid::Uuid;

use crate::app::erase::{ErasurePlan, NamedExchange};
use crate::app::words::counted;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::ErasureResult;

use super::plan::PlanView;

/// So many ids are named in a sentence; `--json` has all of them.
const NAMED: usize = 8;

/// What an erasure came to.
#[derive(Clone, Debug, Serialize)]
pub struct ErasureView {
    /// Exchanges whose texts are gone.
    pub exchanges: Vec<Uuid>,
    /// Artifacts and names of threads that are gone.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them, and are gone with them.
    pub contexts: Vec<Uuid>,
    /// Whether anything was erased.
    pub erased: bool,
    /// Whether no copy stands in the database's own log.
    pub scrubbed: bool,
}

impl ErasureView {
    /// Of a result.
    pub fn of(result: &ErasureResult) -> Self {
        ErasureView {
            exchanges: result.exchanges.clone(),
            artifacts: result.artifacts.clone(),
            contexts: result.contexts.clone(),
            erased: !(result.exchanges.is_empty() && result.artifacts.is_empty()),
            scrubbed: result.scrubbed,
        }
    }
}

/// What an erasure would reach.
#[derive(Clone, Debug, Serialize)]
pub struct ErasureReachView {
    /// Exchanges whose texts go.
    pub exchanges: Vec<NamedExchangeView>,
    /// Artifacts and names of threads that go.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them, and go with them.
    pub contexts: Vec<NamedExchangeView>,
}

/// An exchange without a word of it.
#[derive(Clone, Debug, Serialize)]
pub struct NamedExchangeView {
    /// What screens call it.
    pub id: String,
    /// It.
    pub exchange: Uuid,
    /// When it was asked.
    pub asked_at: String,
    /// Which model was asked.
    pub model: String,
}

impl NamedExchangeView {
    fn of_all(all: &[NamedExchange]) -> Vec<NamedExchangeView> {
        let view = |one: &NamedExchange| NamedExchangeView {
            id: one.id.clone(),
            exchange: one.exchange,
            asked_at: one.asked_at.to_string(),
            model: one.model.clone(),
        };
        all.iter().map(view).collect()
    }
}

impl ErasureReachView {
    /// Of a plan.
    pub fn plan(plan: &ErasurePlan) -> PlanView<ErasureReachView> {
        let details = ErasureReachView {
            exchanges: NamedExchangeView::of_all(&plan.exchanges),
            artifacts: plan.artifacts.clone(),
            contexts: NamedExchangeView::of_all(&plan.contexts),
        };
        PlanView::new(!plan.is_empty(), sentences(plan), details)
    }
}

fn sentences(plan: &ErasurePlan) -> Vec<String> {
    let ids = |all: &[NamedExchange]| named(all.iter().map(|one| one.id.clone()));
    let mut said = Vec::new();
    match plan.exchanges.as_slice() {
        [] if plan.artifacts.is_empty() => {
            return vec![
                "nothing to erase: it was erased before, was never kept, or nothing is that old"
                    .to_owned(),
            ];
        }
        [] => said.push(format!(
            "destroys {}",
            named(
                plan.artifact_names
                    .iter()
                    .map(|name| spelled_on_a_line(name))
            )
        )),
        [one] => said.push(format!(
            "destroys the question of {}, asked {}, and the answer of {}",
            one.id,
            one.asked_at,
            spelled_on_a_line(&one.model)
        )),
        [first, .., last] => said.push(format!(
            "destroys questions and answers of {} exchanges, asked from {} to {}: {}",
            plan.exchanges.len(),
            first.asked_at,
            last.asked_at,
            ids(&plan.exchanges)
        )),
    }
    if !plan.exchanges.is_empty() && !plan.artifacts.is_empty() {
        said.push(format!(
            "destroys what somebody wanted to have done in them: {}",
            named(
                plan.artifact_names
                    .iter()
                    .map(|name| spelled_on_a_line(name))
            )
        ));
    }
    if !plan.contexts.is_empty() {
        said.push(format!(
            "destroys the prompt, as it was sent, of {}, which quoted it: {}",
            counted(plan.contexts.len(), "other exchange"),
            ids(&plan.contexts)
        ));
    }
    said.push("times, numbers and commitments stay; there is no way back to the texts".to_owned());
    said
}

/// `a, b, c and 12 more`.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let count = all.len();
    let first: Vec<String> = all.take(NAMED).collect();
    match count.saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
