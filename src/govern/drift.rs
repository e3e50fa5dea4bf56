//! Drift: its five classes, what an event holds, and what a judgement is made of (AEGIS 9).

use serde::{Deserialize, Serialize};

use crate::record::canon;
use crate::record::ledger::documents::ValidatorFlags;
pub use crate::record::log::entry::DriftClass;

use super::kernel::Kernel;
use super::reply_rule::ReplyRule;

/// What drift of a class does to the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftEffect {
    /// It stands on record.
    Record,
    /// One line beside the reply.
    Warn,
    /// The reply is withheld.
    Block,
}

impl DriftEffect {
    /// The spelling in kernel and documents.
    pub const fn name(self) -> &'static str {
        match self {
            DriftEffect::Record => "record",
            DriftEffect::Warn => "warn",
            DriftEffect::Block => "block",
        }
    }

    /// What a failure of a check with this effect is called among assertions: `info`, `soft`,
    /// `blocking`.
    pub const fn level(self) -> &'static str {
        match self {
            DriftEffect::Record => "info",
            DriftEffect::Warn => "soft",
            DriftEffect::Block => "blocking",
        }
    }
}

/// One check that was made: an assertion event. A check that does not apply is not made, so it has
/// not passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriftCheck {
    /// Class and rule: `authority.claimed_side_effect`.
    pub name: String,
    /// What its failure does: `info`, `soft` or `blocking`.
    pub level: &'static str,
    /// Whether nothing was found. What was found is a drift event whose rule is this one's.
    pub passed: bool,
}

/// One finding of the validator; it gets its id and its links when it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftEvent {
    /// Which of the classes of drift it is.
    pub class: DriftClass,
    /// The kernel's severity for it: `[a-z0-9_.]+`.
    pub severity: String,
    /// What it does.
    pub effect: DriftEffect,
    /// Machine-parseable and free of the reply's words: the rule, then `key=value`, each separated
    /// by a space, as in `claimed_side_effect count=1 sentences=0`.
    pub summary: String,
}

impl DriftEvent {
    /// The rule's name: the summary's first word.
    pub fn rule(&self) -> &str {
        rule_of(&self.summary)
    }
}

/// How many checks a judgement's notes tell of; none for notes from before checks were recorded.
pub fn checks_told(notes: &str) -> Option<usize> {
    let (head, _) = notes.split_once(" check")?;
    head.rsplit(' ').next()?.parse().ok()
}

/// The rule that a summary names.
pub fn rule_of(summary: &str) -> &str {
    summary.split(' ').next().unwrap_or_default()
}

impl Kernel {
    /// Whether a drift event on record withholds its answer; one of an unknown class does, so that
    /// nothing is shown on a guess.
    pub fn blocks(&self, class: &str, summary: &str) -> bool {
        let known = DriftClass::ALL.into_iter().find(|one| one.name() == class);
        known.is_none_or(|class| self.drift(class, rule_of(summary)).1 == DriftEffect::Block)
    }
}

/// What happens to a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyVerdict {
    /// It is shown.
    Show,
    /// It is shown, and a person is warned: [`Judgement::told`].
    Warn,
    /// It is withheld, and a person is told why.
    Block,
}

/// The validator's whole answer about one reply.
///
/// Flags are computed from the events, so a flag without an event, or an event without its flag,
/// can't be expressed. Only [`super::reply::validate`] makes one:
///
/// ```compile_fail
/// # use gently::govern::drift::Judgement;
/// let waved_through = Judgement { events: vec![], checks: vec![], refusal: false };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a reply without its judgement must not be shown"]
pub struct Judgement {
    events: Vec<DriftEvent>,
    checks: Vec<DriftCheck>,
    refusal: bool,
}

/// One rule that was held against a reply, and what it found.
pub(super) struct RuleResult {
    pub rule: ReplyRule,
    /// What stands behind the rule's name in the summary, when it found something.
    pub found: Option<String>,
}

/// `validator_summary` (AEGIS 9.1), as canonical JSON.
#[derive(Serialize, Deserialize)]
pub struct ValidatorSummary {
    /// What drifted.
    #[serde(flatten)]
    pub flags: ValidatorFlags,
    /// The same for people.
    pub notes: String,
}

impl ValidatorSummary {
    /// As it is stored.
    pub fn canonical(&self) -> String {
        canon::print(self).expect("booleans and a text have a print")
    }
}

/// What a judgement's notes are, by how many checks were made, and class and summary of each event in
/// the order of the classes.
pub fn notes_of(checks: usize, events: &[(&str, &str)]) -> String {
    let checks = match checks {
        1 => "1 check".to_owned(),
        n => format!("{n} checks"),
    };
    if events.is_empty() {
        return format!("no drift in {checks}");
    }
    let told = events
        .iter()
        .map(|(class, summary)| format!("{class}: {summary}"));
    let told: Vec<String> = told.collect();
    format!("{} of {checks}: {}", told.len(), told.join("; "))
}

impl Judgement {
    pub(super) fn new(kernel: &Kernel, mut ran: Vec<RuleResult>, refusal: bool) -> Judgement {
        ran.sort_by_key(|ran| ran.rule.class());
        let check = |ran: &RuleResult| DriftCheck {
            name: format!("{}.{}", ran.rule.class().name(), ran.rule.name()),
            level: kernel.drift(ran.rule.class(), ran.rule.name()).1.level(),
            passed: ran.found.is_none(),
        };
        let event = |ran: &RuleResult| {
            let (class, rule) = (ran.rule.class(), ran.rule.name());
            let details = ran.found.as_ref()?;
            let (severity, effect) = kernel.drift(class, rule);
            let summary = format!("{rule} {details}").trim_end().to_owned();
            Some(DriftEvent {
                class,
                severity: severity.to_owned(),
                effect,
                summary,
            })
        };
        Judgement {
            events: ran.iter().filter_map(event).collect(),
            checks: ran.iter().map(check).collect(),
            refusal,
        }
    }

    /// Every check that was made, in the order of the classes.
    pub fn checks(&self) -> &[DriftCheck] {
        &self.checks
    }

    /// What was found, in the order of the classes.
    pub fn events(&self) -> &[DriftEvent] {
        &self.events
    }

    /// Whether the reply refuses.
    pub fn refusal(&self) -> bool {
        self.refusal
    }

    /// The five flags.
    pub fn flags(&self) -> ValidatorFlags {
        let has = |class| self.events.iter().any(|e| e.class == class);
        ValidatorFlags {
            authority_drift: has(DriftClass::Authority),
            completeness_drift: has(DriftClass::Completeness),
            evidence_drift: has(DriftClass::Evidence),
            schema_ok: !has(DriftClass::Schema),
            tone_drift: has(DriftClass::Tone),
        }
    }

    /// A short text for people: `no drift in 9 checks`, or `1 of 9 checks: ` and class and summary
    /// of each event. Holds no word of the reply. How many checks were made stands in it so that
    /// none can be taken away unseen.
    pub fn notes(&self) -> String {
        let events = self.events.iter();
        let events = events.map(|event| (event.class.name(), event.summary.as_str()));
        notes_of(self.checks.len(), &events.collect::<Vec<_>>())
    }

    /// `validator_summary` (AEGIS 9.1): flags and notes as canonical JSON.
    pub fn summary_json(&self) -> String {
        ValidatorSummary {
            flags: self.flags(),
            notes: self.notes(),
        }
        .canonical()
    }

    /// What a person is told of, in the order of the classes.
    pub fn told(&self) -> impl Iterator<Item = &DriftEvent> {
        self.events
            .iter()
            .filter(|event| event.effect >= DriftEffect::Warn)
    }

    /// What the strongest effect of all events comes to.
    pub fn verdict(&self) -> ReplyVerdict {
        match self.events.iter().map(|e| e.effect).max() {
            None | Some(DriftEffect::Record) => ReplyVerdict::Show,
            Some(DriftEffect::Warn) => ReplyVerdict::Warn,
            Some(DriftEffect::Block) => ReplyVerdict::Block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::GENESIS_KERNEL;
    use super::*;

    /// The first rule of a class, which found something.
    fn ran(class: DriftClass) -> RuleResult {
        let of_class = |rule: &ReplyRule| rule.class() == class;
        RuleResult {
            rule: ReplyRule::ALL.into_iter().find(of_class).unwrap(),
            found: Some("count=1".into()),
        }
    }

    /// A kernel with these effects, by class.
    fn kernel(effects: &[(&str, &str)]) -> Kernel {
        let mut text = GENESIS_KERNEL.to_owned();
        for (class, effect) in effects {
            let at = text.find(&format!("[drift.{class}]")).unwrap();
            let (head, tail) = text.split_at(at);
            let from = tail.find("effect = ").unwrap();
            let end = from + tail[from..].find('\n').unwrap();
            text = format!(
                "{head}{}effect = \"{effect}\"{}",
                &tail[..from],
                &tail[end..]
            );
        }
        Kernel::from_toml(&text).unwrap()
    }

    #[test]
    fn each_flag_has_its_event_and_each_event_its_flag() {
        let kernel = Kernel::genesis();
        let none = Judgement::new(&kernel, vec![], false);
        let clean = none.flags();
        assert!(clean.schema_ok && !clean.authority_drift && !clean.tone_drift);
        assert_eq!(none.verdict(), ReplyVerdict::Show);
        assert_eq!(
            none.summary_json(),
            r#"{"authority_drift":false,"completeness_drift":false,"evidence_drift":false,"notes":"no drift in 0 checks","schema_ok":true,"tone_drift":false}"#
        );
        for class in DriftClass::ALL {
            let judgement = Judgement::new(&kernel, vec![ran(class)], false);
            let flags = judgement.flags();
            let raised = [
                (flags.authority_drift, DriftClass::Authority),
                (flags.completeness_drift, DriftClass::Completeness),
                (flags.evidence_drift, DriftClass::Evidence),
                (!flags.schema_ok, DriftClass::Schema),
                (flags.tone_drift, DriftClass::Tone),
            ];
            for (on, of) in raised {
                assert_eq!(on, of == class);
            }
            assert_eq!(
                judgement.notes(),
                format!(
                    "1 of 1 check: {}: {} count=1",
                    class.name(),
                    ran(class).rule.name()
                )
            );
            assert_eq!(checks_told(&judgement.notes()), Some(1));
        }
    }

    #[test]
    fn each_check_is_an_assertion_and_each_failed_one_an_event() {
        let passed = RuleResult {
            rule: ReplyRule::Urgency,
            found: None,
        };
        let judgement = Judgement::new(
            &kernel(&[("authority", "block")]),
            vec![passed, ran(DriftClass::Authority)],
            false,
        );
        let checks: Vec<(&str, &str, bool)> = judgement
            .checks()
            .iter()
            .map(|c| (c.name.as_str(), c.level, c.passed))
            .collect();
        assert_eq!(
            checks,
            [
                ("authority.claimed_side_effect", "blocking", false),
                ("tone.urgency", "info", true)
            ]
        );
        assert_eq!(judgement.events().len(), 1);
        assert_eq!(judgement.events()[0].summary, "claimed_side_effect count=1");
    }

    #[test]
    fn the_strongest_effect_decides_and_names_what_is_told() {
        let all = || {
            vec![
                ran(DriftClass::Tone),
                ran(DriftClass::Evidence),
                ran(DriftClass::Authority),
            ]
        };
        let judged = |effects: &[(&str, &str)]| Judgement::new(&kernel(effects), all(), false);
        let told = |judgement: &Judgement| -> Vec<DriftClass> {
            judgement.told().map(|event| event.class).collect()
        };
        let quiet = judged(&[
            ("tone", "record"),
            ("evidence", "record"),
            ("authority", "record"),
        ]);
        assert_eq!(
            (quiet.verdict(), told(&quiet)),
            (ReplyVerdict::Show, vec![])
        );
        let warned = judged(&[
            ("tone", "record"),
            ("evidence", "warn"),
            ("authority", "record"),
        ]);
        assert_eq!(
            (warned.verdict(), told(&warned)),
            (ReplyVerdict::Warn, vec![DriftClass::Evidence])
        );
        let blocked = judged(&[
            ("tone", "record"),
            ("evidence", "warn"),
            ("authority", "block"),
        ]);
        assert_eq!(
            (blocked.verdict(), told(&blocked)),
            (
                ReplyVerdict::Block,
                vec![DriftClass::Authority, DriftClass::Evidence]
            )
        );
    }
}
