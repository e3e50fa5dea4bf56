//! Policies of a kernel beyond the prompt itself: limits, models per tier, forbidden topics,
//! required references, budget.
//!
//! ```toml
//! [policy.thread]                       # at most so many questions in one thread
//! intents = 100
//! [policy.rate]                         # … and in all threads within so many seconds
//! intents = 60
//! seconds = 3600
//! [policy.budget]                       # tokens of questions, four bytes each, in all threads within so many seconds
//! tokens = 200000
//! seconds = 86400
//! [policy.refs]                         # so many earlier questions must be referred to, once the thread has them
//! intents = 1
//! [policy.models]                       # patterns of models per tier
//! tier1 = ["observer"]
//! tier2 = ["*"]
//! tier3 = ["*"]
//! [[policy.forbidden]]                  # nothing that is sent fits this regular expression, however it is spelled,
//!                                       # and no question that is referred to and was allowed
//! name = "weapons"
//! pattern = "(?i)\\bexplosives?\\b"
//! ```
//! All of it is counted and matched on INTENTs, on every one that is referred to: also on those
//! that no model is shown, as they are long, dumps, denied, or not here any more. What models
//! answered, or cost, is an observation and decides nothing.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::record::context::turn::{Counts, tokens};

use super::authority::{PolicyInput, SentBeside, fits};
use super::forms::{Forms, loose};
use super::kernel::KernelError;
use super::sanitize::{Clean, unnumbered};

/// The thread has as many questions as the kernel allows.
pub const THREAD_LIMIT: &str = "policy.thread_limit";
/// As many questions were asked as the kernel allows in that time.
pub const RATE_LIMIT: &str = "policy.rate_limit";
/// Questions came to as many tokens as the kernel allows in that time.
pub const BUDGET: &str = "policy.budget";
/// Too few earlier questions are referred to.
pub const REFS_REQUIRED: &str = "policy.refs_required";
/// No pattern of this tier fits the model.
pub const TIER_NOT_ALLOWED: &str = "policy.tier_not_allowed";
/// How the code of a forbidden topic begins; its name follows.
pub const FORBIDDEN: &str = "policy.forbidden.";

/// Largest number of forbidden topics: each is searched for in every question.
const MAX_FORBIDDEN: usize = 200;
/// Largest window, 10 years in seconds.
const MAX_SECONDS: u64 = 315_360_000;

/// A number of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentLimit {
    /// INTENTs, from 1.
    pub intents: u64,
}

/// A number of questions in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// INTENTs, from 1.
    pub intents: u64,
    /// The window, from 1.
    pub seconds: u64,
}

/// Tokens of questions in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBudget {
    /// Four bytes each, rounded up for each text; from 1.
    pub tokens: u64,
    /// The window, from 1.
    pub seconds: u64,
}

/// Patterns of models per tier; `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierModels {
    /// At tier 1.
    pub tier1: Vec<String>,
    /// At tier 2.
    pub tier2: Vec<String>,
    /// At tier 3.
    pub tier3: Vec<String>,
}

/// A topic that is not to be asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicPattern {
    /// `[a-z0-9_.]+`; ends its code.
    pub name: String,
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: String,
}

/// The section `[policy]` of a kernel; what is left out limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRules {
    /// Of all threads, in a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<TokenBudget>,
    /// Topics that no question may touch, each with its patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<TopicPattern>,
    /// Models per tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<TierModels>,
    /// Of all threads, in a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Earlier questions that must be referred to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<IntentLimit>,
    /// Of one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<IntentLimit>,
}

/// Windows in which INTENTs are counted, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWindows {
    /// Of the rate.
    pub rate: Option<u64>,
    /// Of the budget.
    pub budget: Option<u64>,
}

impl PolicyRules {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == PolicyRules::default()
    }

    /// What has to be counted.
    pub fn windows(&self) -> RateWindows {
        RateWindows {
            rate: self.rate.map(|rate| rate.seconds),
            budget: self.budget.map(|budget| budget.seconds),
        }
    }

    /// Checks ranges and spellings.
    pub(super) fn check(&self) -> Result<(), KernelError> {
        let fault = |key: &str, expected, actual: String| {
            Err(KernelError::Value {
                key: format!("policy.{key}"),
                expected,
                actual,
            })
        };
        for (key, count) in [
            ("thread.intents", self.thread.map(|limit| limit.intents)),
            ("rate.intents", self.rate.map(|rate| rate.intents)),
            ("refs.intents", self.refs.map(|refs| refs.intents)),
            ("budget.tokens", self.budget.map(|budget| budget.tokens)),
        ] {
            if count == Some(0) {
                return fault(
                    key,
                    "a number from 1; leave the section out for no limit",
                    "0".to_owned(),
                );
            }
        }
        for (key, seconds) in [
            ("rate.seconds", self.windows().rate),
            ("budget.seconds", self.windows().budget),
        ] {
            if let Some(seconds) = seconds.filter(|seconds| !(1..=MAX_SECONDS).contains(seconds)) {
                return fault(key, "1 to 315360000 seconds", seconds.to_string());
            }
        }
        if self.forbidden.len() > MAX_FORBIDDEN {
            return fault(
                "forbidden",
                "at most 200 topics",
                self.forbidden.len().to_string(),
            );
        }
        for (at, topic) in self.forbidden.iter().enumerate() {
            let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
            if topic.name.is_empty() || !topic.name.bytes().all(plain) {
                return fault(
                    "forbidden.name",
                    "a name of a-z, 0-9, '_' and '.'",
                    format!("'{}'", topic.name),
                );
            }
            if self
                .forbidden
                .iter()
                .take(at)
                .any(|known| known.name == topic.name)
            {
                return fault(
                    "forbidden.name",
                    "each name once",
                    format!("'{}' twice", topic.name),
                );
            }
            let wrong = regex_syntax::parse(&topic.pattern)
                .err()
                .map(|e| e.to_string());
            if let Some(wrong) =
                wrong.or_else(|| topic.pattern.is_empty().then(|| "an empty one".to_owned()))
            {
                let actual = wrong.split_whitespace().collect::<Vec<_>>().join(" ");
                return fault("forbidden.pattern", "a regular expression", actual);
            }
        }
        Ok(())
    }
}

/// A forbidden topic, ready to be looked for.
struct ForbiddenTopic {
    name: String,
    /// As it was written, for expressions.
    source: String,
    /// None for an expression that compiles to more than is allowed: then it fits everything.
    pattern: Option<Regex>,
    /// The same for texts that can be read in more than one way, once there was one; none where it
    /// would come to more than is allowed: then it fits each of these.
    loose: OnceLock<Option<Regex>>,
}

impl ForbiddenTopic {
    fn of(topic: &TopicPattern) -> Self {
        let (name, source) = (topic.name.clone(), topic.pattern.clone());
        ForbiddenTopic {
            name,
            pattern: Regex::new(&source).ok(),
            source,
            loose: OnceLock::new(),
        }
    }

    fn fits(&self, forms: &Forms) -> bool {
        let Some(pattern) = &self.pattern else {
            return true;
        };
        forms.plain.iter().any(|form| pattern.is_match(form)) || {
            let loosened = || loose(&self.source).and_then(|source| Regex::new(&source).ok());
            let any = |pattern: &Regex| forms.loose.iter().any(|form| pattern.is_match(form));
            !forms.loose.is_empty() && self.loose.get_or_init(loosened).as_ref().is_none_or(any)
        }
    }
}

/// The forbidden topics of one kernel.
pub struct Topics(Vec<ForbiddenTopic>);

impl Topics {
    /// Of checked rules.
    pub fn of(rules: &PolicyRules) -> Self {
        Topics(rules.forbidden.iter().map(ForbiddenTopic::of).collect())
    }

    /// Whether a text is about any of them, in any form in which it can be read.
    pub fn forbid(&self, text: &str) -> bool {
        !self.broken(std::iter::once(text)).is_empty()
    }

    /// The codes of those that any of the texts is about.
    fn broken<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let texts: Vec<Forms> = texts.map(|text| Forms::of(&unnumbered(text))).collect();
        let broken = self
            .0
            .iter()
            .filter(|topic| texts.iter().any(|forms| topic.fits(forms)));
        broken
            .map(|topic| format!("{FORBIDDEN}{}", topic.name))
            .collect()
    }
}

/// The policies of one kernel, ready to be asked often.
pub(super) struct PolicyEngine {
    rules: PolicyRules,
    tier: u8,
    topics: Topics,
}

impl PolicyEngine {
    /// Of checked rules, at a tier.
    pub(super) fn of(rules: &PolicyRules, tier: u8) -> Self {
        PolicyEngine {
            rules: rules.clone(),
            tier,
            topics: Topics::of(rules),
        }
    }

    /// The forbidden topics.
    pub(super) fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The codes of all that is not kept, in a fixed order.
    pub(super) fn broken(&self, inputs: &PolicyInput<'_>) -> Vec<String> {
        let (rules, counts) = (&self.rules, inputs.counts);
        let prompt = unnumbered(inputs.prompt.as_str());
        let asked = tokens(u64::try_from(prompt.len()).unwrap_or(u64::MAX));
        let referred = u64::try_from(inputs.intents.len()).unwrap_or(u64::MAX);
        let mut codes = Vec::new();
        if rules
            .models
            .as_ref()
            .is_some_and(|models| !self.allows(models, inputs.model))
        {
            codes.push(TIER_NOT_ALLOWED.to_owned());
        }
        if rules
            .thread
            .is_some_and(|limit| counts.thread.max(referred) >= limit.intents)
        {
            codes.push(THREAD_LIMIT.to_owned());
        }
        if rules.rate.is_some_and(|rate| counts.recent >= rate.intents) {
            codes.push(RATE_LIMIT.to_owned());
        }
        if rules
            .budget
            .is_some_and(|budget| counts.spent.saturating_add(asked) > budget.tokens)
        {
            codes.push(BUDGET.to_owned());
        }
        // The first questions of a thread have nothing to refer to.
        if rules
            .refs
            .is_some_and(|refs| referred < refs.intents.min(counts.thread))
        {
            codes.push(REFS_REQUIRED.to_owned());
        }
        // What policy denied no model was shown, and none ever is: it counts, and forbids nothing
        // again, so that one forbidden question does not end its thread.
        let referred = inputs.intents.iter().filter(|intent| !intent.is_denied());
        let said = referred.filter_map(|intent| intent.message());
        codes.extend(
            self.topics
                .broken(std::iter::once(inputs.prompt.as_str()).chain(said)),
        );
        codes
    }

    /// The codes of what texts that are sent beside the question do not keep.
    pub(super) fn broken_beside(
        &self,
        prompt: &Clean,
        counts: Counts,
        beside: &SentBeside<'_>,
    ) -> Vec<String> {
        let of = |text: &str| tokens(u64::try_from(unnumbered(text).len()).unwrap_or(u64::MAX));
        let all = beside
            .texts
            .iter()
            .map(|text| of(text))
            .fold(of(prompt.as_str()), u64::saturating_add);
        let over = self
            .rules
            .budget
            .is_some_and(|budget| counts.spent.saturating_add(all) > budget.tokens);
        let mut codes: Vec<String> = over.then(|| BUDGET.to_owned()).into_iter().collect();
        let sent = beside.texts.iter().chain(&beside.names);
        codes.extend(self.topics.broken(sent.copied()));
        codes
    }

    fn allows(&self, models: &TierModels, model: &str) -> bool {
        let patterns = match self.tier {
            1 => &models.tier1,
            2 => &models.tier2,
            _ => &models.tier3,
        };
        patterns.iter().any(|pattern| fits(pattern, model))
    }
}
