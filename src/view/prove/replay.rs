//! Exchanges that were computed again.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::app::prove::replay::{ReplayCount, ReplayFailure, ReplayResult};
use crate::audit::replay::{
    Assertion, AssertionOutcome, Cause, DenyingRule, ExchangeReplay, ReplayFault, Trial,
    TrialDifference,
};
use crate::record::hash::Hash32;

/// An assertion over all exchanges.
#[derive(Clone, Debug, Serialize)]
pub struct AssertionCountView {
    /// Name of the assertion.
    pub assertion: &'static str,
    /// How often it holds.
    pub holds: u64,
    /// How often it does not.
    pub fails: u64,
    /// How often it could not be checked, by why; null where it was never tried.
    pub not_checked: Option<BTreeMap<String, u64>>,
}

impl AssertionCountView {
    fn of(assertion: Assertion, count: Option<&ReplayCount>) -> Self {
        AssertionCountView {
            assertion: assertion.name(),
            holds: count.map_or(0, |count| count.holds),
            fails: count.map_or(0, |count| count.fails),
            not_checked: count.map(|count| count.not_checked.clone()),
        }
    }
}

/// An assertion that does not hold.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayFailureView {
    /// Name of the exchange, such as `8e96540d/5`.
    pub exchange: String,
    /// Name of the assertion that failed.
    pub assertion: &'static str,
    /// What is otherwise.
    pub what: String,
}

impl ReplayFailureView {
    fn of(failure: &ReplayFailure) -> Self {
        ReplayFailureView {
            exchange: failure.exchange.to_string(),
            assertion: failure.assertion.name(),
            what: failure.what.clone(),
        }
    }
}

/// Something that is wrong with the record beside exchanges.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayFaultView {
    /// Part of the record where it was found.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl ReplayFaultView {
    fn of(fault: &ReplayFault) -> Self {
        ReplayFaultView {
            place: fault.place.clone(),
            what: fault.what.clone(),
        }
    }
}

/// What came of replaying all exchanges.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayView {
    /// How many were computed again.
    pub exchanges: u64,
    /// How often each assertion held.
    pub assertions: Vec<AssertionCountView>,
    /// Those that do not hold.
    pub failures: Vec<ReplayFailureView>,
    /// What is wrong beside exchanges.
    pub faults: Vec<ReplayFaultView>,
    /// The exit code.
    pub exit: u8,
    /// What another kernel would have decided.
    #[serde(flatten)]
    pub trial: TrialView,
}

impl ReplayView {
    /// Of a result.
    pub fn of(result: &ReplayResult, exit: u8) -> Self {
        let count = |assertion| AssertionCountView::of(assertion, result.counts.get(&assertion));
        ReplayView {
            exchanges: result.exchanges,
            assertions: Assertion::ALL.into_iter().map(count).collect(),
            failures: result.failures.iter().map(ReplayFailureView::of).collect(),
            faults: result.faults.iter().map(ReplayFaultView::of).collect(),
            exit,
            trial: TrialView::of(result.trial.as_ref()),
        }
    }
}

/// An assertion of one exchange.
#[derive(Clone, Debug, Serialize)]
pub struct AssertionView {
    /// Name of the assertion.
    pub assertion: &'static str,
    /// The same in words.
    pub says: &'static str,
    /// Whether it holds; null where it could not be checked.
    pub holds: Option<bool>,
    /// Why it failed or could not be tried; null when it held.
    pub why: Option<String>,
}

impl AssertionView {
    fn of((assertion, outcome): &(Assertion, AssertionOutcome)) -> Self {
        let (holds, why) = match outcome {
            AssertionOutcome::Holds => (Some(true), None),
            AssertionOutcome::Fails(what) => (Some(false), Some(what.clone())),
            AssertionOutcome::NotChecked(why) => (None, Some(why.clone())),
        };
        AssertionView {
            assertion: assertion.name(),
            says: assertion.says(),
            holds,
            why,
        }
    }
}

/// What came of replaying one exchange.
#[derive(Clone, Debug, Serialize)]
pub struct ExchangeReplayView {
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Id of the session.
    pub session: Hash32,
    /// Its number in it.
    pub seq: u64,
    /// Id of the thread; null for an exchange of none.
    pub thread_id: Option<Uuid>,
    /// What came of each assertion.
    pub assertions: Vec<AssertionView>,
    /// The exit code.
    pub exit: u8,
    /// What another kernel would have decided.
    #[serde(flatten)]
    pub trial: TrialView,
    /// The same of this exchange.
    pub difference: Option<TrialDifferenceView>,
}

impl ExchangeReplayView {
    /// Of an exchange.
    pub fn of(one: &ExchangeReplay, exit: u8, trial: Option<&Trial>) -> Self {
        let trial = TrialView::of(trial);
        let first = trial.differences.as_ref().and_then(|all| all.first());
        ExchangeReplayView {
            exchange: one.exchange,
            session: one.session,
            seq: one.seq,
            thread_id: one.thread,
            assertions: one.outcomes.iter().map(AssertionView::of).collect(),
            exit,
            difference: first.cloned(),
            trial,
        }
    }
}

/// A rule by which a question would be denied.
#[derive(Clone, Debug, Serialize)]
pub struct DenyingRuleView {
    /// Code of the rule.
    pub code: String,
    /// What it is about.
    pub cause: &'static str,
    /// The turn that it is about.
    pub turn: Option<Uuid>,
}

impl DenyingRuleView {
    fn of(rule: &DenyingRule) -> Self {
        let turn = match &rule.cause {
            Cause::Referred(turn) => Some(*turn),
            _ => None,
        };
        DenyingRuleView {
            code: rule.code.clone(),
            cause: rule.cause.name(),
            turn,
        }
    }
}

/// An exchange that another kernel would have decided otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct TrialDifferenceView {
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Id of the session.
    pub session: Hash32,
    /// Its number in it.
    pub seq: u64,
    /// Question of that exchange.
    pub question: String,
    /// The codes on record.
    pub was: Vec<String>,
    /// The codes that there would be.
    pub would: Vec<String>,
    /// The same with their causes.
    pub rules: Vec<DenyingRuleView>,
}

impl TrialDifferenceView {
    fn of(one: &TrialDifference) -> Self {
        TrialDifferenceView {
            exchange: one.exchange,
            session: one.session,
            seq: one.seq,
            question: one.question.as_str().to_owned(),
            was: one.was.clone(),
            would: one.would.iter().map(|rule| rule.code.clone()).collect(),
            rules: one.would.iter().map(DenyingRuleView::of).collect(),
        }
    }
}

/// How often a rule would deny.
#[derive(Clone, Debug, Serialize)]
pub struct TrialTotalView {
    /// Questions that it denies.
    pub questions: u64,
    /// By their own text.
    pub own_text: u64,
    /// By a text referred to.
    pub referred_text: u64,
}

/// What another kernel would have decided; all null where none was tried.
#[derive(Clone, Debug, Serialize)]
pub struct TrialView {
    /// How many questions it was tried on.
    pub tried: Option<u64>,
    /// How many it could not be tried on, by why.
    pub not_tried: Option<BTreeMap<String, u64>>,
    /// Those that it decides otherwise.
    pub differences: Option<Vec<TrialDifferenceView>>,
    /// How many questions each rule denies, by its code.
    pub totals: Option<BTreeMap<String, TrialTotalView>>,
}

impl TrialView {
    fn of(trial: Option<&Trial>) -> Self {
        let totals = trial.map(|trial| {
            let totals = trial.totals.iter().map(|(code, total)| {
                let view = TrialTotalView {
                    questions: total.questions,
                    own_text: total.own,
                    referred_text: total.referred,
                };
                (code.clone(), view)
            });
            totals.collect()
        });
        let not_tried = trial.map(|trial| {
            let whys = trial.untried.iter();
            whys.map(|(why, n)| (why.to_string(), *n)).collect()
        });
        let differences = trial.map(|trial| {
            let all = trial.differences.iter();
            all.map(TrialDifferenceView::of).collect()
        });
        TrialView {
            tried: trial.map(|trial| trial.tried),
            not_tried,
            differences,
            totals,
        }
    }
}
