//! Whether a prompt may go to a model, decided on normative inputs alone (AEGIS 4.1, 5.2).

use crate::record::documents::AuthorityState;

use super::actuation;
use super::kernel::Kernel;
use super::sanitize::Clean;

/// What policy may look at: the person's text after redaction, names and counts.
///
/// It has no place for a model's output, so a reply can't argue its way into a decision:
///
/// ```compile_fail
/// # use gently::govern::{authority::{decide, Normative}, kernel::Kernel, sanitize::redact};
/// let kernel = Kernel::genesis();
/// let reply = "the last model said that it is allowed";
/// let inputs = Normative { prompt: &redact("hi").clean, model: "observer", earlier_turns: 0, reply };
/// decide(&kernel, &inputs);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Normative<'a> {
    /// The prompt.
    pub prompt: &'a Clean,
    /// Id of the model that is to be asked.
    pub model: &'a str,
    /// How many prompts this session had before.
    pub earlier_turns: u64,
}

/// The decision about one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a prompt without a decision must not reach a model"]
pub enum Decision {
    /// A model may be asked.
    Allow {
        /// `ok`, or `insufficient` when the prompt asks for an act that nobody here may do.
        authority_state: AuthorityState,
    },
    /// No model is asked; the denial is recorded.
    Deny {
        /// A code: `[a-z0-9_.]+`.
        reason: &'static str,
        /// `blocked`.
        authority_state: AuthorityState,
    },
}

impl Decision {
    /// The state that the turn is recorded with.
    pub fn authority_state(&self) -> AuthorityState {
        match self {
            Decision::Allow { authority_state } | Decision::Deny { authority_state, .. } => *authority_state,
        }
    }

    /// The reason code of a denial.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Decision::Allow { .. } => None,
            Decision::Deny { reason, .. } => Some(reason),
        }
    }
}

/// Nothing but white space was asked.
pub const EMPTY_PROMPT: &str = "policy.empty_prompt";
/// The prompt is longer than the kernel's `prompt.max_bytes`.
pub const PROMPT_TOO_LARGE: &str = "policy.prompt_too_large";
/// No pattern of the kernel's `models.allowed` fits the model.
pub const MODEL_NOT_ALLOWED: &str = "policy.model_not_allowed";

/// Decides; a function of its two arguments and nothing else.
pub fn decide(kernel: &Kernel, inputs: &Normative<'_>) -> Decision {
    let deny = |reason| Decision::Deny { reason, authority_state: AuthorityState::Blocked };
    let prompt = inputs.prompt.as_str();
    if prompt.trim().is_empty() {
        return deny(EMPTY_PROMPT);
    }
    if u64::try_from(prompt.len()).map_or(true, |bytes| bytes > kernel.rules().prompt.max_bytes) {
        return deny(PROMPT_TOO_LARGE);
    }
    if !kernel.rules().models.allowed.iter().any(|pattern| fits(pattern, inputs.model)) {
        return deny(MODEL_NOT_ALLOWED);
    }
    let asks_to_act = !actuation::requested(prompt).acts.is_empty();
    let authority_state = if asks_to_act { AuthorityState::Insufficient } else { AuthorityState::Ok };
    Decision::Allow { authority_state }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    let mut left = text;
    for piece in pieces {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::GENESIS_KERNEL;
    use super::super::sanitize::redact;
    use super::*;

    fn ask(kernel: &Kernel, prompt: &str, model: &str) -> Decision {
        decide(kernel, &Normative { prompt: &redact(prompt).clean, model, earlier_turns: 0 })
    }

    #[test]
    fn what_is_denied_and_why() {
        let kernel = Kernel::genesis();
        assert_eq!(ask(&kernel, " \n\t", "observer").reason(), Some(EMPTY_PROMPT));
        assert_eq!(ask(&kernel, &"word ".repeat(300_000), "observer").reason(), Some(PROMPT_TOO_LARGE));
        assert_eq!(ask(&kernel, "How are you?", "any/model:8b").reason(), None);
        let narrow = GENESIS_KERNEL.replacen("allowed = [\"*\"]", "allowed = [\"observer\", \"openai/*:8b\"]", 1);
        let narrow = Kernel::from_toml(&narrow).unwrap();
        assert_eq!(ask(&narrow, "Hi", "observer").reason(), None);
        assert_eq!(ask(&narrow, "Hi", "openai/llama:8b").reason(), None);
        let denied = ask(&narrow, "Hi", "openai/llama:70b");
        assert_eq!((denied.reason(), denied.authority_state()), (Some(MODEL_NOT_ALLOWED), AuthorityState::Blocked));
    }

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*b", "ab", true),
            ("a*b", "acb", true),
            ("a*b", "acbd", false),
            ("a*b*c", "axbybc", true),
            ("a*ba", "aba", true),
            ("a*ba", "ab", false),
            ("abc", "abcd", false),
            ("*x*", "x", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_request_to_act_is_allowed_with_insufficient_authority() {
        for prompt in [
            "Restart the nginx service.",
            "please delete all files in the folder",
            "The load is high. Could you kill that process?",
            "Remove /etc/hosts",
            "Can you reboot this machine now",
        ] {
            let decision = ask(&Kernel::genesis(), prompt, "observer");
            assert_eq!(decision, Decision::Allow { authority_state: AuthorityState::Insufficient }, "{prompt}");
        }
        for prompt in [
            "How do I restart nginx?",
            "How is this machine doing?",
            "Remove the comma from this sentence",
            "What happens when I delete a file?",
            "Why did the service stop?",
            "Summarise the meeting",
        ] {
            let decision = ask(&Kernel::genesis(), prompt, "observer");
            assert_eq!(decision, Decision::Allow { authority_state: AuthorityState::Ok }, "{prompt}");
        }
    }
}
