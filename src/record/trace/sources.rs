//! How far apart the sources of a turn were: what `IDMA_RESULT` is computed from.
//!
//! A turn has one source for its model, and one for each injected artifact but the kernel. Two
//! sources of one origin can be wrong together, so they count for less than two:
//!
//! ```text
//! ρ = pairs of one origin / all pairs          none for fewer than two sources
//! k_eff = k / (1 + ρ(k − 1))                   = k² / (k + 2 · pairs of one origin)
//! ```

use std::collections::BTreeMap;

use super::value::TraceNumber;
use crate::record::ledger::exchange::ArtifactEntry;
use crate::record::ledger::prompt::{KERNEL, TURN};

/// What the id of a look at this machine begins with; its type is the tool's name.
const TOOL_ID: &str = "tool:";
/// The kind of source that the model is.
const MODEL: &str = "model";
/// The kind of source that a tool is.
const TOOL: &str = "tool";

/// Where what a model was shown comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceOrigin {
    /// The model itself, and its earlier answers.
    Model,
    /// This machine, as tools saw it.
    Host,
    /// The person: earlier questions.
    Person,
    /// The `source` of a fact or a note.
    Named(String),
}

/// How many sources a turn had, and how many pairs of them are of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceCount {
    /// The model and the injected artifacts; 0 when no model was to be called.
    pub sources: u32,
    /// Pairs of one origin.
    pub same_pairs: u64,
}

/// What the model's sources come to, in the document's three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePhase {
    /// Something that was injected is in conflict.
    Chaos,
    /// All are of one origin.
    Rigidity,
    /// Neither.
    Healthy,
}

impl SourcePhase {
    /// The spelling in traces.
    pub const fn name(self) -> &'static str {
        match self {
            SourcePhase::Chaos => "chaos",
            SourcePhase::Rigidity => "rigidity",
            SourcePhase::Healthy => "healthy",
        }
    }
}

impl SourceCount {
    /// Of a turn that called no model.
    pub const NONE: SourceCount = SourceCount {
        sources: 0,
        same_pairs: 0,
    };

    /// Counts the model and what was injected, each by its origin.
    pub fn of(injected: &[SourceOrigin]) -> SourceCount {
        let mut origins: BTreeMap<&SourceOrigin, u64> = BTreeMap::new();
        for origin in injected.iter().chain([&SourceOrigin::Model]) {
            *origins.entry(origin).or_default() += 1;
        }
        let pairs = |count: &u64| count * (count - 1) / 2;
        SourceCount {
            sources: u32::try_from(injected.len() + 1).unwrap_or(u32::MAX),
            same_pairs: origins.values().map(pairs).sum(),
        }
    }

    /// As the store has it; none where there are more pairs of one origin than pairs.
    pub fn new(sources: u32, same_pairs: u64) -> Option<SourceCount> {
        let count = SourceCount {
            sources,
            same_pairs,
        };
        (same_pairs <= count.pairs()).then_some(count)
    }

    /// All pairs.
    fn pairs(self) -> u64 {
        let sources = u64::from(self.sources);
        sources * sources.saturating_sub(1) / 2
    }

    /// k².
    fn squared(self) -> u128 {
        u128::from(self.sources).pow(2)
    }

    /// k + 2 · pairs of one origin: what k² is divided by; 1 without sources, where k² is 0.
    fn divisor(self) -> u128 {
        (u128::from(self.sources) + 2 * u128::from(self.same_pairs)).max(1)
    }

    /// ρ: the share of pairs that are of one origin; none for fewer than two sources.
    pub fn correlation(self) -> Option<TraceNumber> {
        TraceNumber::ratio(u128::from(self.same_pairs), u128::from(self.pairs()))
    }

    /// To how many independent sources they come; 0 when there are none.
    pub fn effective(self) -> TraceNumber {
        TraceNumber::ratio(self.squared(), self.divisor()).expect("k² / k is below 2³²")
    }

    /// What they come to; none when there are none.
    pub fn phase(self, is_in_conflict: bool) -> Option<SourcePhase> {
        match (self.sources, is_in_conflict) {
            (0, _) => None,
            (_, true) => Some(SourcePhase::Chaos),
            _ if self.same_pairs == self.pairs() => Some(SourcePhase::Rigidity),
            _ => Some(SourcePhase::Healthy),
        }
    }

    /// Whether k_eff < 2, ρ > 0.7, or all are of one origin (which is the one or the other).
    pub fn is_fragile(self) -> bool {
        let is_few = self.squared() < 2 * self.divisor();
        let is_alike = 10 * u128::from(self.same_pairs) > 7 * u128::from(self.pairs());
        is_few || is_alike
    }
}

/// The kinds of a turn's sources with their counts, as `sources_identified` names them:
/// `ledger_fact:2`, `model:1`, `tool:4`.
pub fn source_kinds(artifacts: &[ArtifactEntry]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::from([(MODEL, 1)]);
    for artifact in artifacts {
        let kind = match artifact.artifact_type.as_str() {
            // It is no source: it is the rules.
            KERNEL => continue,
            TURN => TURN,
            _ if artifact.artifact_id.starts_with(TOOL_ID) => TOOL,
            other => other,
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let named = kinds.into_iter().map(|(kind, n)| format!("{kind}:{n}"));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(sources: u32, same_pairs: u64) -> SourceCount {
        SourceCount::new(sources, same_pairs).unwrap()
    }

    #[test]
    fn figures_are_those_of_the_formulas() {
        for (sources, same_pairs, correlation, effective, phase, fragile) in [
            (0, 0, None, "0.0", None, true),
            (1, 0, None, "1.0", Some(SourcePhase::Rigidity), true),
            (2, 0, Some("0.0"), "2.0", Some(SourcePhase::Healthy), false),
            (2, 1, Some("1.0"), "1.0", Some(SourcePhase::Rigidity), true),
            (
                3,
                1,
                Some("0.3333"),
                "1.8",
                Some(SourcePhase::Healthy),
                true,
            ),
            (
                4,
                1,
                Some("0.1667"),
                "2.6667",
                Some(SourcePhase::Healthy),
                false,
            ),
            (
                5,
                6,
                Some("0.6"),
                "1.4706",
                Some(SourcePhase::Healthy),
                true,
            ),
            (6, 15, Some("1.0"), "1.0", Some(SourcePhase::Rigidity), true),
        ] {
            let found = count(sources, same_pairs);
            let text = found.correlation().map(|number| number.to_string());
            assert_eq!(text.as_deref(), correlation, "{found:?}");
            assert_eq!(found.effective().as_str(), effective, "{found:?}");
            assert_eq!(found.phase(false), phase, "{found:?}");
            assert_eq!(found.is_fragile(), fragile, "{found:?}");
        }
        assert_eq!(count(4, 1).phase(true), Some(SourcePhase::Chaos));
        assert_eq!(count(0, 0).phase(true), None);
        assert_eq!(SourceCount::new(3, 4), None);
        assert_eq!(SourceCount::new(0, 1), None);
    }

    /// The short form of k_eff is the document's: k / (1 + ρ(k − 1)).
    #[test]
    fn the_short_form_is_the_long_one() {
        for sources in 2..40_u32 {
            for same_pairs in 0..=count(sources, 0).pairs() {
                let found = count(sources, same_pairs);
                let (k, pairs) = (u128::from(sources), u128::from(found.pairs()));
                let long = TraceNumber::ratio(k * pairs, pairs + u128::from(same_pairs) * (k - 1));
                assert_eq!(Some(found.effective()), long);
            }
        }
        let most = SourceCount {
            sources: u32::MAX,
            same_pairs: 0,
        };
        assert_eq!(most.effective().as_str(), "4294967295.0");
    }

    #[test]
    fn origins_are_counted_in_pairs() {
        use SourceOrigin::{Host, Model, Named, Person};
        let named = |name: &str| Named(name.to_owned());
        for (injected, sources, same_pairs) in [
            (vec![], 1, 0),
            (vec![Model], 2, 1),
            (vec![Host, Host, Host], 4, 3),
            (vec![named("model"), named("host"), Person], 4, 0),
            (
                vec![named("a"), named("a"), Model, Host, Person, Person],
                7,
                3,
            ),
        ] {
            assert_eq!(SourceCount::of(&injected), count(sources, same_pairs));
        }
    }

    #[test]
    fn kinds_of_sources_have_counts_and_the_kernel_is_none() {
        let artifact = |kind: &str, id: &str| ArtifactEntry {
            artifact_id: id.to_owned(),
            artifact_type: kind.to_owned(),
            freshness_s: None,
            included_reason: "x".to_owned(),
            observed_at: None,
            risk_flags: None,
        };
        let artifacts = [
            artifact("kernel", "kernel:0123456789abcdef"),
            artifact("sys_health", "tool:sys_health:1"),
            artifact("disk_usage", "tool:disk_usage:1"),
            artifact("ledger_fact", "ledger:000001"),
            artifact("turn", "00000000-0000-8000-8000-000000000000"),
        ];
        assert_eq!(
            source_kinds(&artifacts),
            ["ledger_fact:1", "model:1", "tool:2", "turn:1"]
        );
    }
}
