//! The kernel: what is allowed, what the model is told, what counts as drift.
//!
//! Written by a person as TOML, identified by the SHA-256 of its canonical JSON (the *kernel hash*,
//! which stands in every session and record). Integers and texts only, so that the hash needs no
//! rule about fractions. A home starts from `genesis/kernel.toml` and may keep its own copy.

use serde::{Deserialize, Serialize};

use crate::record::canon;
use crate::record::context::turn::TurnIntent;
use crate::record::hash::Hash32;
use crate::record::ledger::prompt::SystemPrompt;

use super::drift::{DriftClass, DriftEffect};
use super::policy::PolicyRules;
use super::reply_rule::ReplyRule;
use super::sight_rules::SightRules;

/// The kernel that every home starts from.
pub const GENESIS_KERNEL: &str = include_str!("../../genesis/kernel.toml");

/// Largest kernel file: it is read whole, and goes into every audit of a session.
const MAX_KERNEL_BYTES: usize = 256 * 1024;

/// Why a text is not a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// Larger than a kernel may be.
    #[error("kernel: {actual} bytes, at most {expected} are read; shorten it")]
    Size {
        /// The limit in bytes.
        expected: usize,
        /// Size of the document that was given, in bytes.
        actual: usize,
    },
    /// Not TOML or JSON of this shape: a key unknown, missing, repeated, or of another type.
    #[error("kernel: {reason}; compare with genesis/kernel.toml")]
    Shape {
        /// The parser's words, with the place.
        reason: String,
    },
    /// A value outside its range.
    #[error("kernel: {key}: expected {expected}, got {actual}")]
    Value {
        /// The key, dotted.
        key: String,
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        actual: String,
    },
}

/// What the prompt is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRules {
    /// Largest prompt in bytes, 1 to 16 MiB.
    pub max_bytes: u64,
    /// The system's intent line of ring 0.
    pub intent: String,
    /// Head of the system message, before the context block.
    pub system: String,
}

/// Which models may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRules {
    /// Patterns; `*` stands for any text.
    pub allowed: Vec<String>,
}

/// Caps of one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingCaps {
    /// Number of artifacts.
    pub items: u64,
    /// Tokens, counted as four bytes each, rounded up.
    pub tokens: u64,
}

impl RingCaps {
    /// What a turn may be shown that is about many others.
    pub const LONG: RingCaps = RingCaps {
        items: 60,
        tokens: 16384,
    };

    /// The same within so many tokens, where there are no more.
    pub fn within(self, tokens: Option<u64>) -> RingCaps {
        RingCaps {
            tokens: tokens.map_or(self.tokens, |most| most.min(self.tokens)),
            ..self
        }
    }
}

/// Caps of the three rings (AEGIS 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rings {
    /// Caps of what every prompt has.
    pub ring0: RingCaps,
    /// Caps of what a prompt has when its question touches it.
    pub ring1: RingCaps,
    /// Deep history, only when asked for.
    pub ring2: RingCaps,
    /// Turns that the client declared; as ring 1 where a kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<RingCaps>,
    /// The same of a review in a council; [`RingCaps::LONG`] where a kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<RingCaps>,
    /// The same of a handoff; [`RingCaps::LONG`] where a kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<RingCaps>,
}

impl Rings {
    /// Caps on turns that are declared for a turn of some intent.
    pub fn of(&self, intent: TurnIntent) -> RingCaps {
        match intent {
            TurnIntent::ChatMessage => self.refs.unwrap_or(self.ring1),
            TurnIntent::CouncilReview => self.review.unwrap_or(RingCaps::LONG),
            TurnIntent::ContextHandoff => self.handoff.unwrap_or(RingCaps::LONG),
        }
    }
}

/// What a check of a reply is worth to who answered, in thousandths of a utility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtilityRules {
    /// One of level `soft` that failed.
    pub soft: i32,
    /// One of level `blocking` that failed.
    pub blocking: i32,
    /// One of level `info`, however it ended.
    pub info: i32,
    /// Any other that passed.
    pub passed: i32,
}

impl UtilityRules {
    /// Those of a kernel that does not say.
    pub const SHIPPED: UtilityRules = UtilityRules {
        soft: -50,
        blocking: -1000,
        info: 0,
        passed: 0,
    };
}

/// Observational tools that run by themselves, per tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// At tier 1.
    pub tier1: Vec<String>,
    /// At tier 2.
    pub tier2: Vec<String>,
    /// At tier 3.
    pub tier3: Vec<String>,
}

/// A file that holds `[policy]` and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fragment {
    policy: PolicyRules,
}

/// What drift of one class is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftRule {
    /// Severity at tiers 1, 2, 3: `[a-z0-9_.]+`.
    pub severity: [String; 3],
    /// What happens to the reply.
    pub effect: DriftEffect,
}

/// The five classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftRules {
    /// A claim of authority or action.
    pub authority: DriftRule,
    /// Declared sight not used.
    pub completeness: DriftRule,
    /// Claims without a source.
    pub evidence: DriftRule,
    /// A declared output shape not met.
    pub schema: DriftRule,
    /// Tone outside the kernel.
    pub tone: DriftRule,
    /// Evidence drift that contradicts nothing, in an answer that is not about this machine:
    /// statements without a source. A kernel that does not say records it, at severity `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsourced: Option<DriftRule>,
}

/// Phrases that the validator compares with: lower case, at word borders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phrases {
    /// How a reply denies sight.
    pub no_access: Vec<String>,
    /// What a question calls the machine.
    pub machine: Vec<String>,
    /// What a question calls the things that sight measures.
    pub measured: Vec<String>,
    /// How a refusal begins.
    pub refusal: Vec<String>,
}

/// Tone outside of what the host speaks; each list is a rule of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tone {
    /// Phrases that press the person to hurry.
    pub urgency: Vec<String>,
    /// Praising the reader.
    pub flattery: Vec<String>,
    /// Closeness that is not there.
    pub intimacy: Vec<String>,
    /// More certain than anybody can be.
    pub certainty: Vec<String>,
}

/// The kernel's content, as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Development phase that the kernel is for, such as `beta`.
    pub phase: String,
    /// 1 to 3.
    pub tier: u8,
    /// What this host is for.
    pub host_role: String,
    /// Names of rules in force.
    pub constraints: Vec<String>,
    /// What the prompt is made of.
    pub prompt: PromptRules,
    /// Which models may be called.
    pub models: ModelRules,
    /// Limits, models per tier, topics, references, budget; a kernel that does not say has none.
    #[serde(default, skip_serializing_if = "PolicyRules::is_empty")]
    pub policy: PolicyRules,
    /// Most items and tokens that each ring may have.
    pub rings: Rings,
    /// What checks are worth; [`UtilityRules::SHIPPED`] where a kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility: Option<UtilityRules>,
    /// Observational tools per tier.
    pub tools: Tools,
    /// When they are looked at; a kernel that does not say looks always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sight: Option<SightRules>,
    /// What drift is worth.
    pub drift: DriftRules,
    /// Phrases of the validator.
    pub phrases: Phrases,
    /// Phrases that the tone of a reply is judged by.
    pub tone: Tone,
}

/// A checked kernel, with its canonical JSON and hash.
///
/// Made only by parsing, so its hash is always that of its content:
///
/// ```compile_fail
/// # use gently::govern::kernel::Kernel;
/// let forged = Kernel { rules: todo!(), canonical: String::new(), hash: todo!() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    rules: Rules,
    canonical: String,
    hash: Hash32,
}

impl Kernel {
    /// The embedded kernel.
    pub fn genesis() -> Kernel {
        Kernel::from_toml(GENESIS_KERNEL).expect("a test parses the embedded kernel")
    }

    /// Reads a kernel file.
    pub fn from_toml(text: &str) -> Result<Kernel, KernelError> {
        limit(text)?;
        let rules: Rules = toml::from_str(text).map_err(|e| KernelError::Shape {
            reason: one_fault(text, &e),
        })?;
        Kernel::checked(rules)
    }

    /// Reads a file to be tried: a whole kernel, or `[policy]` alone, which then stands in the
    /// place of this one's.
    pub fn tried(&self, text: &str) -> Result<Kernel, KernelError> {
        limit(text)?;
        let shape = |e: toml::de::Error| KernelError::Shape {
            reason: one_line(&e.to_string()),
        };
        let sections: toml::Table = toml::from_str(text).map_err(shape)?;
        if !sections.keys().eq(["policy"]) {
            return Kernel::from_toml(text);
        }
        let Fragment { policy } = toml::from_str(text).map_err(shape)?;
        Kernel::checked(Rules {
            policy,
            ..self.rules.clone()
        })
    }

    /// Reads a stored kernel snapshot, which an older release may have written.
    ///
    /// A key that it has no place for has its default; the hash stays that of the text as it is
    /// stored.
    pub fn from_canonical(json: &str) -> Result<Kernel, KernelError> {
        limit(json)?;
        let shape = |reason: String| KernelError::Shape { reason };
        let stored: serde_json::Value =
            canon::parse(json.as_bytes()).map_err(|e| shape(e.to_string()))?;
        let rules: Rules = serde_json::from_value(stored).map_err(|e| shape(e.to_string()))?;
        rules.check()?;
        Ok(Kernel {
            rules,
            canonical: json.to_owned(),
            hash: Hash32::digest(json.as_bytes()),
        })
    }

    fn checked(rules: Rules) -> Result<Kernel, KernelError> {
        rules.check()?;
        let canonical = canon::print(&rules).map_err(|e| KernelError::Shape {
            reason: e.to_string(),
        })?;
        let hash = Hash32::digest(canonical.as_bytes());
        Ok(Kernel {
            rules,
            canonical,
            hash,
        })
    }

    /// The kernel as a file that [`Kernel::from_toml`] takes, to be edited by a person.
    pub fn to_toml(&self) -> Result<String, KernelError> {
        toml::to_string_pretty(&self.rules).map_err(|e| KernelError::Shape {
            reason: e.to_string(),
        })
    }

    /// What the document says, parsed.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Canonical JSON: what is hashed, and what is stored.
    pub fn canonical_json(&self) -> &str {
        &self.canonical
    }

    /// What it says to a model.
    pub fn system_prompt(&self) -> SystemPrompt<'_> {
        SystemPrompt {
            kernel: self.hash,
            text: &self.rules.prompt.system,
        }
    }

    /// SHA-256 of the canonical JSON.
    pub fn hash(&self) -> Hash32 {
        self.hash
    }

    /// Development phase that the kernel is for, such as `beta`.
    pub fn phase(&self) -> &str {
        &self.rules.phase
    }

    /// 1 to 3.
    pub fn tier(&self) -> u8 {
        self.rules.tier
    }

    /// What this host is for.
    pub fn host_role(&self) -> &str {
        &self.rules.host_role
    }

    /// Its policies beyond the prompt itself.
    pub fn policy(&self) -> &PolicyRules {
        &self.rules.policy
    }

    /// Names of the observational tools that this kernel's tier allows.
    pub fn tools(&self) -> &[String] {
        match self.rules.tier {
            1 => &self.rules.tools.tier1,
            2 => &self.rules.tools.tier2,
            _ => &self.rules.tools.tier3,
        }
    }

    /// Severity at this kernel's tier, and effect, of one class and rule.
    pub fn drift(&self, class: DriftClass, rule: &str) -> (&str, DriftEffect) {
        let drift = &self.rules.drift;
        let rule = match class {
            DriftClass::Authority => &drift.authority,
            DriftClass::Completeness => &drift.completeness,
            DriftClass::Evidence if rule == ReplyRule::GeneralUnsourced.name() => {
                match &drift.unsourced {
                    Some(rule) => rule,
                    None => return ("low", DriftEffect::Record),
                }
            }
            DriftClass::Evidence => &drift.evidence,
            DriftClass::Schema => &drift.schema,
            DriftClass::Tone => &drift.tone,
        };
        let [first, second, third] = &rule.severity;
        let severity = match self.rules.tier {
            1 => first,
            2 => second,
            _ => third,
        };
        (severity, rule.effect)
    }
}

fn limit(text: &str) -> Result<(), KernelError> {
    if text.len() > MAX_KERNEL_BYTES {
        return Err(KernelError::Size {
            expected: MAX_KERNEL_BYTES,
            actual: text.len(),
        });
    }
    Ok(())
}

/// One sentence with its line; without the excerpt that the parser draws over several.
fn one_fault(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(String::new(), |before| {
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    format!("{line}{}", one_line(error.message()))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_kernel_holds() {
        let kernel = Kernel::genesis();
        assert_eq!(
            (kernel.phase(), kernel.tier(), kernel.host_role()),
            ("beta", 2, "brain")
        );
        assert_eq!(
            kernel.rules().constraints,
            ["read_only_default", "evidence_first", "unknowns_are_risk"]
        );
        assert_eq!(
            kernel.hash(),
            Hash32::digest(kernel.canonical_json().as_bytes())
        );
        assert_eq!(
            Kernel::from_canonical(kernel.canonical_json()).unwrap(),
            kernel
        );
        assert_eq!(
            kernel.drift(DriftClass::Completeness, "denies_sight"),
            ("high", DriftEffect::Warn)
        );
        assert_eq!(
            kernel.drift(DriftClass::Evidence, "contradicts_sight"),
            ("medium", DriftEffect::Warn)
        );
        assert_eq!(
            kernel.drift(DriftClass::Evidence, ReplyRule::GeneralUnsourced.name()),
            ("low", DriftEffect::Record)
        );
    }

    #[test]
    fn a_kernel_from_before_unsourced_reads_and_keeps_its_hash() {
        let at = GENESIS_KERNEL.find("[drift.unsourced]").unwrap();
        let end = at + GENESIS_KERNEL[at..].find("[phrases]").unwrap();
        let old = format!("{}{}", &GENESIS_KERNEL[..at], &GENESIS_KERNEL[end..]);
        let kernel = Kernel::from_toml(&old).unwrap();
        assert!(!kernel.canonical_json().contains("unsourced"));
        assert_eq!(
            Kernel::from_canonical(kernel.canonical_json())
                .unwrap()
                .hash(),
            kernel.hash()
        );
        assert_eq!(
            kernel.drift(DriftClass::Evidence, ReplyRule::GeneralUnsourced.name()),
            ("low", DriftEffect::Record)
        );
    }

    /// The genesis kernel of the first release, as its homes keep it. A new key needs a default, or
    /// they are lost.
    const FIRST_RELEASE: &str = include_str!("../../tests/data/kernels/0.1.0.json");

    #[test]
    fn the_kernel_of_an_old_home_is_read_and_keeps_its_hash() {
        let old = Kernel::from_canonical(FIRST_RELEASE).unwrap();
        assert_eq!(old.hash(), Hash32::digest(FIRST_RELEASE.as_bytes()));
        assert_eq!(old.canonical_json(), FIRST_RELEASE);
        assert_eq!(
            old.hash().to_string(),
            "b93b2b3f62b53b8cd2501a8c27b5bd1631f2a8dbb4f93b4efc96c7ea71b96ec9"
        );
        assert_eq!(old.tools(), ["sys_health"]);
    }

    #[test]
    fn a_kernel_written_out_and_read_again_is_the_same() {
        let kernel = Kernel::genesis();
        assert_eq!(
            Kernel::from_toml(&kernel.to_toml().unwrap()).unwrap(),
            kernel
        );
    }

    #[test]
    fn comments_and_order_do_not_change_the_hash_and_values_do() {
        let kernel = Kernel::genesis();
        assert_eq!(
            Kernel::from_toml(&format!("# mine\n{GENESIS_KERNEL}"))
                .unwrap()
                .hash(),
            kernel.hash()
        );
        let other = Kernel::from_toml(&GENESIS_KERNEL.replacen("tier = 2", "tier = 1", 1)).unwrap();
        assert_ne!(other.hash(), kernel.hash());
        assert!(other.tools().is_empty());
    }

    #[test]
    fn what_is_not_a_kernel_is_refused_by_name() {
        for (from, to, named) in [
            ("tier = 2", "tier = 4", "tier: expected 1, 2 or 3, got 4"),
            ("tier = 2", "tier = 0", "tier"),
            ("tier = 2", "tier = 2.5", "2.5"),
            ("tier = 2", "tier = 2\ncolour = \"red\"", "colour"),
            ("phase = \"beta\"", "", "phase"),
            ("phase = \"beta\"", "phase = \"Beta\"", "phase"),
            ("max_bytes = 1048576", "max_bytes = 0", "prompt.max_bytes"),
            (
                "max_bytes = 1048576",
                "max_bytes = 99999999",
                "prompt.max_bytes",
            ),
            ("items = 16", "items = 0", "rings.ring0.items"),
            ("effect = \"warn\"", "effect = \"shout\"", "shout"),
            (
                "[\"low\", \"medium\", \"high\"]",
                "[\"low\", \"medium\"]",
                "invalid length 2",
            ),
            (
                "[\"low\", \"medium\", \"high\"]",
                "[\"low\", \"so so\", \"high\"]",
                "drift.authority.severity",
            ),
            ("\"no access\"", "\"No Access\"", "phrases.no_access"),
            (
                "tier2 = [\"sys_health\"",
                "tier2 = [\"sys_health\", \"sys_health\"",
                "tools.tier2",
            ),
        ] {
            assert!(GENESIS_KERNEL.contains(from), "{from}");
            let error = Kernel::from_toml(&GENESIS_KERNEL.replacen(from, to, 1))
                .unwrap_err()
                .to_string();
            assert!(error.contains(named), "{from} -> {to}: {error}");
        }
        assert!(matches!(
            Kernel::from_toml(&"#".repeat(MAX_KERNEL_BYTES + 1)),
            Err(KernelError::Size { .. })
        ));
        assert!(
            Kernel::from_canonical(&format!("{} ", Kernel::genesis().canonical_json())).is_err()
        );
    }
}
