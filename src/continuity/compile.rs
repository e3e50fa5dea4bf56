//! Compiling the context bundle: what is put before the model, from explicit artifacts (AEGIS 6).
//!
//! Ring 0 always: phase, tier, kernel hash, constraints, sight, the system's intent. Rings 1 and 2,
//! and the turns that the client declared, from what was found on record ([`super::select`]). What
//! is not given is not inferred.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::govern::authority::SentBeside;
use crate::govern::kernel::{Kernel, RingCaps};
use crate::govern::sanitize::{Clean, redact};
use crate::record::canon::{self, CanonError};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{
    ArtifactRef, Bundle, BundleIntent, Constraint, Exclusion, Fact, Measurement, Moment, NamedHash,
    NoSight, SightEntry,
};
use crate::record::ledger::prompt::{KERNEL, PriorTurn, TURN};
use crate::record::ledger::request::SpokenTurn;
use crate::record::time::Seconds;
use crate::record::trace::sources::{SourceCount, SourceOrigin};

use super::candidate::{CandidateClass, Confidence, RecallResult};
use super::select::select;

/// Everything a compile looks at; observations were taken before it.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The row id of the session.
    pub session_id: Uuid,
    /// What the person asks; selects artifacts of ring 1.
    pub user_input: &'a Clean,
    /// The kernel in force.
    pub kernel: &'a Kernel,
    /// What this host is for.
    pub host_role: &'a str,
    /// The model that is to be asked.
    pub model_id: &'a str,
    /// The time of the compile.
    pub now: Seconds,
    /// What each tool showed.
    pub sight: BTreeMap<String, SightEntry>,
    /// What was found on record for the question.
    pub recalled: &'a RecallResult,
}

/// Why no bundle was compiled; no model is called then (AEGIS 10.3).
#[derive(Debug, thiserror::Error)]
pub enum CompileFault {
    /// A tool that the tier allows gave neither values nor a reason: completeness drift (AEGIS
    /// 7.2).
    #[error(
        "the tool {tool} is in the kernel's tools.tier{tier}, and gave neither values nor a reason; take it off that list, or mend the tool"
    )]
    SightWithoutValues {
        /// Name of the tool whose entry has no values.
        tool: String,
        /// The kernel's tier.
        tier: u8,
    },
    /// A tool that the tier does not allow was run.
    #[error(
        "the tool {tool} gave values, and tier {tier} does not allow it; expected available:false, blocked_by_tier"
    )]
    SightNotAllowed {
        /// Name of the tool that the kernel does not allow.
        tool: String,
        /// The kernel's tier.
        tier: u8,
    },
    /// Ring 0 is past the kernel's cap.
    #[error(
        "what every prompt holds comes to {actual} {unit}, the kernel allows {expected}; raise rings.ring0.{unit}, or take out tools or constraints"
    )]
    Ring0TooLarge {
        /// `items` or `tokens`.
        unit: &'static str,
        /// Most tokens that ring 0 may have.
        expected: u64,
        /// What it came to.
        actual: u64,
    },
    /// The question does not fit into the model's window, whatever is left out of it.
    #[error(
        "the question has about {question} tokens and {beside} stand beside it, but {model} takes {window} in all (model.window in gently.toml): ask about less, or ask a model with a larger window"
    )]
    Window {
        /// Tokens of the question.
        question: u64,
        /// Tokens of what is sent whatever it is: kernel, owner's text, what is on record.
        beside: u64,
        /// Name of the model whose window is too small.
        model: String,
        /// The most that it takes.
        window: u64,
    },
    /// A value has no canonical form.
    #[error("bundle: {0}")]
    Canon(#[from] CanonError),
}

impl CompileFault {
    /// The code that is recorded: `[a-z0-9_.]+`.
    pub fn code(&self) -> &'static str {
        match self {
            CompileFault::SightWithoutValues { .. } => "compile.sight_without_values",
            CompileFault::SightNotAllowed { .. } => "compile.sight_not_allowed",
            CompileFault::Ring0TooLarge { .. } => "compile.ring0_too_large",
            CompileFault::Window { .. } => "compile.window",
            CompileFault::Canon(_) => "compile.not_canonical",
        }
    }
}

/// A compiled bundle with its canonical text, hash and references.
///
/// Only [`compile`] makes one, so a prompt without continuity can't be rendered:
///
/// ```compile_fail
/// # use gently::continuity::compile::ContextBundle;
/// let remembered = ContextBundle { bundle: todo!(), json: String::new(), ..todo!() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ContextBundle {
    bundle: Bundle,
    json: String,
    refs: Vec<ArtifactRef>,
    turns: Vec<PriorTurn>,
    declared: Vec<PriorTurn>,
}

impl ContextBundle {
    /// The bundle as data.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// What of people is sent beside the question: `own` is the owner's part of the system message,
    /// `shape` what is told of the answer's shape.
    pub fn beside<'a>(&'a self, own: Option<&'a Clean>, shape: Option<&'a str>) -> SentBeside<'a> {
        let own = own.map(Clean::as_str).into_iter().chain(shape);
        SentBeside {
            texts: own.chain(self.bundle.texts_of_people()).collect(),
            names: self.bundle.names_by_people().collect(),
        }
    }

    /// The bundle as canonical JSON, as it is hashed and stored.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 of the canonical JSON.
    pub fn hash(&self) -> Hash32 {
        Hash32::digest(self.json.as_bytes())
    }

    /// What was injected, and why: the rows of `context_artifact_ref`.
    pub fn refs(&self) -> &[ArtifactRef] {
        &self.refs
    }

    /// All that the model is shown, for judging its reply: the bundle with the earlier turns among
    /// its facts, since a reply may repeat what was said.
    pub fn shown(&self) -> Bundle {
        let mut shown = self.bundle.clone();
        shown
            .facts
            .extend(self.declared.iter().chain(&self.turns).map(|turn| Fact {
                id: format!("turn:{}", turn.turn),
                claim: turn.text.clone(),
                source: turn.speaker.to_owned(),
                observed_at: turn.at,
                confidence: Confidence::Low.name().to_owned(),
            }));
        shown
    }

    /// Turns that the client declared, by `event_index`.
    pub fn declared(&self) -> &[PriorTurn] {
        &self.declared
    }

    /// The same as what is said in messages.
    pub fn spoken(&self) -> Vec<SpokenTurn<'_>> {
        let spoken = self.declared.iter().map(|prior| SpokenTurn {
            turn: prior.turn,
            by_user: prior.is_by_user(),
            text: &prior.text,
        });
        spoken.collect()
    }

    /// Turns of deep history that are shown beside it, oldest first; its `refs` name them, in this
    /// order.
    pub fn turns(&self) -> &[PriorTurn] {
        &self.turns
    }

    /// How many sources it comes from, the model among them, and how many pairs of them are of one
    /// origin.
    pub fn sources(&self) -> SourceCount {
        let turns = || self.declared.iter().chain(&self.turns);
        let origin = |one: &ArtifactRef| match one.artifact_type.as_str() {
            KERNEL => None,
            TURN => Some(
                match turns().find(|turn| turn.turn.to_string() == one.artifact_id) {
                    Some(turn) if !turn.is_by_user() => SourceOrigin::Model,
                    _ => SourceOrigin::Person,
                },
            ),
            _ => {
                let mut facts = self.bundle.facts.iter();
                let fact = facts.find(|fact| fact.id == one.artifact_id);
                Some(match fact {
                    Some(fact) => SourceOrigin::Named(fact.source.clone()),
                    // An intent was declared by the person; the rest gently found out by itself.
                    None if one.artifact_type == CandidateClass::Intent.artifact_type() => {
                        SourceOrigin::Person
                    }
                    None => SourceOrigin::Host,
                })
            }
        };
        let origins: Vec<SourceOrigin> = self.refs.iter().filter_map(origin).collect();
        SourceCount::of(&origins)
    }

    /// What was kept out, and why.
    pub fn exclusions(&self) -> &[Exclusion] {
        &self.bundle.exclusions
    }
}

/// Why an entry of a tool is let in.
pub const SIGHT_REASON: &str = "ring0.sight";
/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// Tokens of so many bytes.
pub fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// Ring 0 alone, held against the kernel's cap; the other rings are empty.
pub fn ring0(inputs: &Inputs<'_>) -> Result<Bundle, CompileFault> {
    let sight = sight(inputs)?;
    let bundle = Bundle {
        session_id: inputs.session_id,
        phase: inputs.kernel.phase().to_owned(),
        tier: inputs.kernel.tier(),
        kernel_hash: NamedHash(inputs.kernel.hash()),
        host_role: inputs.host_role.to_owned(),
        model_id: inputs.model_id.to_owned(),
        compiled_at: Moment(inputs.now),
        sight,
        constraints: constraints(inputs.kernel),
        facts: Vec::new(),
        open_items: Vec::new(),
        intent: vec![BundleIntent {
            intent: inputs.kernel.rules().prompt.intent.clone(),
            source: "system".to_owned(),
        }],
        exclusions: Vec::new(),
    };
    cap(&bundle, &bundle.print()?, inputs.kernel.rules().rings.ring0)?;
    Ok(bundle)
}

/// Compiles the bundle; a function of its inputs and nothing else.
pub fn compile(inputs: &Inputs<'_>) -> Result<ContextBundle, CompileFault> {
    let mut bundle = ring0(inputs)?;
    let mut refs = refs(&bundle)?;
    let chosen = select(
        inputs.kernel,
        inputs.user_input,
        inputs.recalled,
        inputs.now,
    );
    bundle.facts = chosen.facts;
    bundle.open_items = chosen.open_items;
    bundle.intent.extend(chosen.intent);
    bundle.exclusions = chosen.exclusions;
    refs.extend(chosen.refs);
    let json = bundle.print()?;
    let (turns, declared) = (chosen.turns, chosen.declared);
    Ok(ContextBundle {
        bundle,
        json,
        refs,
        turns,
        declared,
    })
}

/// Says of the tools that were not looked at when they last were, by the newest earlier bundle.
pub fn note_last_looks(sight: &mut BTreeMap<String, SightEntry>, earlier: &Bundle) {
    for (tool, entry) in sight {
        let last = earlier.sight.get(tool).and_then(SightEntry::last_look);
        if let SightEntry::Unavailable {
            reason: reason @ NoSight::NotLooked(_),
            ..
        } = entry
        {
            *reason = NoSight::NotLooked(last);
        }
    }
}

/// Takes secrets out of what a tool read: a folder, a disk, a unit may have been named by anybody.
pub fn without_secrets(entry: &mut SightEntry) {
    let clean = |text: &str| redact(text).clean.as_str().to_owned();
    let (SightEntry::Seen { unknowns, .. } | SightEntry::Unavailable { unknowns, .. }) = entry;
    unknowns.iter_mut().for_each(|name| *name = clean(name));
    let SightEntry::Seen { values, .. } = entry else {
        return;
    };
    *values = std::mem::take(values)
        .into_iter()
        .map(|(name, value)| match value {
            Measurement::Text(text) => (clean(&name), Measurement::Text(clean(&text))),
            number => (clean(&name), number),
        })
        .collect();
}

/// Holds each tool's entry against the tier, and sets its age at this moment.
fn sight(inputs: &Inputs<'_>) -> Result<BTreeMap<String, SightEntry>, CompileFault> {
    let (kernel, tier) = (inputs.kernel, inputs.kernel.tier());
    if let Some(silent) = kernel
        .tools()
        .iter()
        .find(|tool| !inputs.sight.contains_key(*tool))
    {
        return Err(CompileFault::SightWithoutValues {
            tool: silent.clone(),
            tier,
        });
    }
    let mut sight = inputs.sight.clone();
    sight.values_mut().for_each(without_secrets);
    for (tool, entry) in &mut sight {
        if let SightEntry::Seen {
            observed_at,
            freshness_s,
            values,
            ..
        } = entry
        {
            if values.is_empty() {
                return Err(CompileFault::SightWithoutValues {
                    tool: tool.clone(),
                    tier,
                });
            }
            if !kernel.tools().contains(tool) {
                return Err(CompileFault::SightNotAllowed {
                    tool: tool.clone(),
                    tier,
                });
            }
            *freshness_s = inputs.now.since(observed_at.0);
        }
    }
    Ok(sight)
}

fn constraints(kernel: &Kernel) -> Vec<Constraint> {
    let from_kernel = |rule: &String| Constraint {
        rule: rule.clone(),
        source: "kernel".to_owned(),
    };
    kernel.rules().constraints.iter().map(from_kernel).collect()
}

fn cap(bundle: &Bundle, json: &str, caps: RingCaps) -> Result<(), CompileFault> {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let items = count(bundle.constraints.len() + bundle.sight.len() + bundle.intent.len());
    let tokens = tokens(json.len());
    for (unit, expected, actual) in [
        ("items", caps.items, items),
        ("tokens", caps.tokens, tokens),
    ] {
        if actual > expected {
            return Err(CompileFault::Ring0TooLarge {
                unit,
                expected,
                actual,
            });
        }
    }
    Ok(())
}

/// One reference for the kernel, whose constraints and intent are injected, and one for each tool
/// that was looked at or could not be.
fn refs(bundle: &Bundle) -> Result<Vec<ArtifactRef>, CompileFault> {
    let kernel = bundle.kernel_hash.0;
    let mut refs = vec![ArtifactRef {
        artifact_type: KERNEL.to_owned(),
        artifact_id: format!("kernel:{}", kernel.short16()),
        artifact_hash: Some(kernel),
        included_reason: "ring0.constraints".to_owned(),
        observed_at: None,
        freshness_s: None,
        risk_flags: Vec::new(),
    }];
    // A tool that was not looked at puts nothing before the model.
    let looked = bundle
        .sight
        .iter()
        .filter(|(_, entry)| !entry.was_not_looked_at());
    for (tool, entry) in looked {
        let (observed_at, freshness_s, unknowns, reason) = match entry {
            SightEntry::Seen {
                observed_at,
                freshness_s,
                unknowns,
                ..
            } => (observed_at.0, Some(*freshness_s), unknowns, None),
            SightEntry::Unavailable { reason, unknowns } => {
                (bundle.compiled_at.0, None, unknowns, Some(reason))
            }
        };
        let unavailable = reason.map(|reason| format!("unavailable:{}", reason.name()));
        refs.push(ArtifactRef {
            artifact_type: tool.clone(),
            artifact_id: format!("tool:{tool}:{}", observed_at.get()),
            artifact_hash: Some(canon::digest(entry)?),
            included_reason: SIGHT_REASON.to_owned(),
            observed_at: reason.is_none().then_some(observed_at),
            freshness_s,
            risk_flags: unavailable
                .into_iter()
                .chain(unknowns.iter().map(|u| format!("unknown:{u}")))
                .collect(),
        });
    }
    Ok(refs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::kernel::GENESIS_KERNEL;
    /// The genesis kernel with one tool, and one change.
    fn narrow(from: &str, to: &str) -> Kernel {
        let tools = GENESIS_KERNEL
            .lines()
            .find(|line| line.starts_with("tier2 = "))
            .unwrap();
        let narrow = GENESIS_KERNEL.replacen(tools, "tier2 = [\"sys_health\"]", 1);
        Kernel::from_toml(&narrow.replacen(from, to, 1)).unwrap()
    }

    fn seen(values: &[(&str, u64)]) -> SightEntry {
        SightEntry::Seen {
            observed_at: Moment(Seconds::new(97).unwrap()),
            freshness_s: 0,
            values: values
                .iter()
                .map(|(name, n)| ((*name).to_owned(), Measurement::Count(*n)))
                .collect(),
            unknowns: vec!["gpu_health".to_owned()],
        }
    }

    fn with(kernel: &Kernel, sight: &[(&str, SightEntry)]) -> Result<ContextBundle, CompileFault> {
        compile(&Inputs {
            session_id: Uuid::nil(),
            user_input: &redact("How is this machine doing?").clean,
            kernel,
            host_role: kernel.host_role(),
            model_id: "observer",
            now: Seconds::new(100).unwrap(),
            sight: sight
                .iter()
                .map(|(name, entry)| ((*name).to_owned(), entry.clone()))
                .collect(),
            recalled: &RecallResult::default(),
        })
    }

    #[test]
    fn ring_0_with_its_references() {
        let kernel = narrow("", "");
        let bundle = with(&kernel, &[("sys_health", seen(&[("cores", 2)]))]).unwrap();
        assert_eq!(Bundle::parse(bundle.json()).unwrap(), *bundle.bundle());
        assert!(bundle.json().contains(r#""freshness_s":3,"#));
        assert_eq!(bundle.hash(), Hash32::digest(bundle.json().as_bytes()));
        let ids: Vec<&str> = bundle
            .refs()
            .iter()
            .map(|r| r.artifact_id.as_str())
            .collect();
        assert_eq!(
            ids,
            [
                format!("kernel:{}", kernel.hash().short16()).as_str(),
                "tool:sys_health:97"
            ]
        );
        let sight = &bundle.refs()[1];
        assert_eq!(
            sight.artifact_hash,
            Some(canon::digest(&bundle.bundle().sight["sys_health"]).unwrap())
        );
        assert_eq!(
            (sight.freshness_s, sight.risk_flags.as_slice()),
            (Some(3), &["unknown:gpu_health".to_owned()][..])
        );
        assert_eq!(bundle.exclusions(), []);
    }

    #[test]
    fn what_a_tool_read_has_no_secret_in_it() {
        let kernel = narrow("", "");
        let mut entry = seen(&[("cores", 2)]);
        let SightEntry::Seen { values, .. } = &mut entry else {
            unreachable!()
        };
        let secret = ["ghp_", "wJ8kQ2mZxV5nB7cR4tY9uL1oP3sD6fG0hA2E"].concat();
        values.insert(
            "disk1_mount".to_owned(),
            Measurement::Text(format!("/srv/{secret}")),
        );
        let bundle = with(&kernel, &[("sys_health", entry)]).unwrap();
        assert!(
            bundle.json().contains("/srv/[redacted:") && !bundle.json().contains(&secret),
            "{}",
            bundle.json()
        );
    }

    #[test]
    fn values_or_a_reason_or_no_bundle() {
        let kernel = narrow("", "");
        let reason = |reason| SightEntry::Unavailable {
            reason,
            unknowns: vec![],
        };
        assert!(with(&kernel, &[("sys_health", reason(NoSight::ToolError))]).is_ok());
        for (sight, code) in [
            (vec![], "compile.sight_without_values"),
            (
                vec![("sys_health", seen(&[]))],
                "compile.sight_without_values",
            ),
            (
                vec![
                    ("sys_health", seen(&[("n", 1)])),
                    ("spy", seen(&[("n", 1)])),
                ],
                "compile.sight_not_allowed",
            ),
        ] {
            let fault = with(&kernel, &sight).unwrap_err();
            assert_eq!(fault.code(), code, "{fault}");
        }
        let blocked = [
            ("sys_health", seen(&[("n", 1)])),
            ("spy", reason(NoSight::BlockedByTier)),
        ];
        assert_eq!(
            with(&kernel, &blocked).unwrap().refs()[1].risk_flags,
            ["unavailable:blocked_by_tier"]
        );
    }

    #[test]
    fn caps_hold() {
        for (from, to, unit) in [
            ("items = 16", "items = 4", "items"),
            ("tokens = 1024", "tokens = 100", "tokens"),
        ] {
            let kernel = narrow(from, to);
            let fault = with(&kernel, &[("sys_health", seen(&[("cores", 2)]))]).unwrap_err();
            assert_eq!(fault.code(), "compile.ring0_too_large");
            assert!(fault.to_string().contains(unit), "{fault}");
        }
    }
}
