//! Texts that were erased.

use serde::Serialize;
use uuid::Uuid;

use crate::app::keep::erase::{ErasurePlan, NamedExchange};
use crate::app::words::counted;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::ErasureResult;

use super::plan::PlanView;

/// So many ids are named in a sentence; `--json` has all of them.
const NAMED: usize = 3;

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
    /// Other exchanges of which what was sent can't be put together any more.
    pub contexts: Vec<NamedExchangeView>,
    /// Those among them that only refer to what goes: their model was shown none of its words.
    pub referring: Vec<NamedExchangeView>,
}

/// An exchange without a word of it.
#[derive(Clone, Debug, Serialize)]
pub struct NamedExchangeView {
    /// What screens call it.
    pub id: String,
    /// Id of the exchange that would be erased.
    pub exchange: Uuid,
    /// When it was asked.
    pub asked_at: String,
    /// Which model was asked.
    pub model: String,
    /// Whether it has an answer.
    pub answered: bool,
}

impl NamedExchangeView {
    fn of_all(all: &[NamedExchange]) -> Vec<NamedExchangeView> {
        let view = |one: &NamedExchange| NamedExchangeView {
            id: one.id.clone(),
            exchange: one.exchange,
            asked_at: one.asked_at.to_string(),
            model: one.model.clone(),
            answered: one.is_answered,
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
            referring: NamedExchangeView::of_all(&plan.referring),
        };
        PlanView::new(!plan.is_empty(), sentences(plan), details)
    }
}

fn sentences(plan: &ErasurePlan) -> Vec<String> {
    if plan.is_empty() {
        return vec![
            "nothing to erase: it was erased before, was never kept, or nothing is that old"
                .to_owned(),
        ];
    }
    let names = plan
        .artifact_names
        .iter()
        .map(|name| spelled_on_a_line(name));
    let (artifacts, exchanges) = (named(names), plan.exchanges.as_slice());
    let destroyed = match exchanges {
        [] => format!("destroys {artifacts}"),
        [one] => one_destroyed(one),
        several => several_destroyed(several),
    };
    let asked_for = !exchanges.is_empty() && !plan.artifacts.is_empty();
    let asked_for = asked_for
        .then(|| format!("destroys what somebody wanted to have done in them: {artifacts}"));
    let quoting: Vec<String> = plan.quoting().map(|one| one.id.clone()).collect();
    let referring = plan.referring.iter().map(|one| one.id.clone());
    let stays = "times, numbers and commitments stay; there is no way back to the texts";
    [
        Some(destroyed),
        asked_for,
        words_also_in(&quoting),
        only_referring(referring),
        Some(stays.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn one_destroyed(one: &NamedExchange) -> String {
    let question = format!(
        "destroys the question of {}, asked {}",
        one.id, one.asked_at
    );
    match one.is_answered {
        true => format!(
            "{question}, and the answer of {}",
            spelled_on_a_line(&one.model)
        ),
        false => format!("{question}; it has no answer"),
    }
}

fn several_destroyed(several: &[NamedExchange]) -> String {
    let count = several.len();
    let what = match several.iter().filter(|one| one.is_answered).count() {
        0 => format!("the questions of {count} exchanges without an answer"),
        answered if answered == count => format!("questions and answers of {count} exchanges"),
        answered => format!(
            "the questions of {count} exchanges and {}",
            counted(answered, "answer")
        ),
    };
    let times = several.iter().map(|one| one.asked_at);
    let asked = times.clone().min().zip(times.max());
    let asked = asked.map_or_else(String::new, |(first, last)| {
        format!(", asked from {first} to {last}")
    });
    let ids = named(several.iter().map(|one| one.id.clone()));
    format!("destroys {what}{asked}: {ids}")
}

/// Where else the words stood that are erased: they go from there, too.
pub fn words_also_in(quoting: &[String]) -> Option<String> {
    let count = quoting.len();
    let exchanges = match count {
        0 => return None,
        1 => "another exchange, and go",
        _ => "other exchanges, and go",
    };
    let many = if count == 1 {
        String::new()
    } else {
        format!("{count} ")
    };
    Some(format!(
        "the words were also sent to the model in {many}{exchanges} from there, too: {}",
        named(quoting.iter().cloned())
    ))
}

/// What becomes of exchanges that only refer to what is erased.
fn only_referring(ids: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let count = ids.len();
    let refer = match count {
        0 => return None,
        1 => "1 other exchange refers to it and keeps its".to_owned(),
        several => format!("{several} other exchanges refer to it and keep their"),
    };
    Some(format!(
        "{refer} texts; only hashes go from which the erased words could be guessed: {}",
        named(ids)
    ))
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
