//! Ranges and spellings of a kernel's values.

use super::kernel::{KernelError, Rules, UtilityRules};
use crate::record::context::turn::TurnIntent;

/// Largest prompt cap a kernel may set, 16 MiB: a prompt is held in memory several times.
const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;
/// Largest ring caps a kernel may set; beyond them no model reads the prompt.
const MAX_RING: u64 = 1_000_000;
/// Largest number of phrases in one list: each is searched for in every reply.
const MAX_PHRASES: usize = 1000;

impl UtilityRules {
    fn check(&self) -> Result<(), KernelError> {
        for (key, value) in [
            ("utility.soft", self.soft),
            ("utility.blocking", self.blocking),
            ("utility.info", self.info),
            ("utility.passed", self.passed),
        ] {
            if !(-1000..=1000).contains(&value) {
                return Err(KernelError::Value {
                    key: key.to_owned(),
                    expected: "-1000 to 1000 thousandths",
                    actual: value.to_string(),
                });
            }
        }
        Ok(())
    }
}

impl Rules {
    /// Checks ranges and spellings; the message names key, expected and actual.
    pub(super) fn check(&self) -> Result<(), KernelError> {
        name("phase", &self.phase)?;
        range("tier", u64::from(self.tier), 1, 3, "1, 2 or 3")?;
        name("host_role", &self.host_role)?;
        names("constraints", &self.constraints)?;
        range(
            "prompt.max_bytes",
            self.prompt.max_bytes,
            1,
            MAX_PROMPT_BYTES,
            "1 to 16777216 bytes",
        )?;
        filled("prompt.intent", &self.prompt.intent)?;
        filled("prompt.system", &self.prompt.system)?;
        for pattern in &self.models.allowed {
            filled("models.allowed", pattern)?;
        }
        for (key, caps) in [
            ("rings.ring0", self.rings.ring0),
            ("rings.ring1", self.rings.ring1),
            ("rings.ring2", self.rings.ring2),
            ("rings.refs", self.rings.of(TurnIntent::ChatMessage)),
            ("rings.review", self.rings.of(TurnIntent::CouncilReview)),
            ("rings.handoff", self.rings.of(TurnIntent::ContextHandoff)),
        ] {
            range(
                &format!("{key}.items"),
                caps.items,
                1,
                MAX_RING,
                "1 to 1000000 artifacts",
            )?;
            range(
                &format!("{key}.tokens"),
                caps.tokens,
                1,
                MAX_RING,
                "1 to 1000000 tokens",
            )?;
        }
        names("tools.tier1", &self.tools.tier1)?;
        names("tools.tier2", &self.tools.tier2)?;
        names("tools.tier3", &self.tools.tier3)?;
        if let Some(utility) = &self.utility {
            utility.check()?;
        }
        self.policy.check()?;
        self.check_sight()?;
        self.check_drift()?;
        self.check_phrases()
    }

    fn check_drift(&self) -> Result<(), KernelError> {
        let drift = &self.drift;
        for (key, rule) in [
            ("drift.authority.severity", &drift.authority),
            ("drift.completeness.severity", &drift.completeness),
            ("drift.evidence.severity", &drift.evidence),
            ("drift.schema.severity", &drift.schema),
            ("drift.tone.severity", &drift.tone),
        ] {
            for severity in &rule.severity {
                name(key, severity)?;
            }
        }
        for severity in drift.unsourced.iter().flat_map(|rule| &rule.severity) {
            name("drift.unsourced.severity", severity)?;
        }
        Ok(())
    }

    fn check_sight(&self) -> Result<(), KernelError> {
        let Some(sight) = &self.sight else {
            return Ok(());
        };
        for tool in sight.words.keys() {
            name("sight.words", tool)?;
        }
        for tool in sight.loose.keys() {
            name("sight.loose", tool)?;
        }
        sight
            .lists()
            .try_for_each(|(key, list)| phrases(&key, list))
    }

    fn check_phrases(&self) -> Result<(), KernelError> {
        phrases("phrases.no_access", &self.phrases.no_access)?;
        phrases("phrases.machine", &self.phrases.machine)?;
        phrases("phrases.measured", &self.phrases.measured)?;
        phrases("phrases.refusal", &self.phrases.refusal)?;
        phrases("tone.urgency", &self.tone.urgency)?;
        phrases("tone.flattery", &self.tone.flattery)?;
        phrases("tone.intimacy", &self.tone.intimacy)?;
        phrases("tone.certainty", &self.tone.certainty)
    }
}

fn fault(key: &str, expected: &'static str, actual: impl ToString) -> KernelError {
    KernelError::Value {
        key: key.to_owned(),
        expected,
        actual: actual.to_string(),
    }
}

fn range(
    key: &str,
    actual: u64,
    low: u64,
    high: u64,
    expected: &'static str,
) -> Result<(), KernelError> {
    if (low..=high).contains(&actual) {
        Ok(())
    } else {
        Err(fault(key, expected, actual))
    }
}

fn filled(key: &str, text: &str) -> Result<(), KernelError> {
    if text.trim().is_empty() {
        Err(fault(key, "a text that is not empty", "an empty text"))
    } else {
        Ok(())
    }
}

fn name(key: &str, text: &str) -> Result<(), KernelError> {
    let fits = !text.is_empty()
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'));
    if fits {
        Ok(())
    } else {
        Err(fault(
            key,
            "a name of a-z, 0-9, '_' and '.'",
            format!("'{text}'"),
        ))
    }
}

fn names(key: &str, list: &[String]) -> Result<(), KernelError> {
    for (at, item) in list.iter().enumerate() {
        name(key, item)?;
        if list.iter().take(at).any(|earlier| earlier == item) {
            return Err(fault(key, "each name once", format!("'{item}' twice")));
        }
    }
    Ok(())
}

fn phrases(key: &str, list: &[String]) -> Result<(), KernelError> {
    if list.len() > MAX_PHRASES {
        return Err(fault(key, "at most 1000 phrases", list.len()));
    }
    for phrase in list {
        filled(key, phrase)?;
        if phrase.to_lowercase() != *phrase || phrase.trim() != phrase {
            return Err(fault(
                key,
                "lower case, no white space at the ends",
                format!("'{phrase}'"),
            ));
        }
    }
    Ok(())
}
