//! Whether a prompt may go to a model, decided on normative inputs alone (AEGIS 4.1, 5.2; DBL,
//! I_context).

use crate::record::context::event::IntentPayload;
use crate::record::context::turn::Counts;
use crate::record::ledger::documents::AuthorityState;

use super::actions::actuation;
use super::kernel::Kernel;
use super::policy::{BUDGET, FORBIDDEN, PolicyEngine};
use super::sanitize::{Clean, unnumbered};

/// What policy may look at: the person's text after redaction, INTENTs that it refers to, names and
/// counts.
///
/// ```
/// # use gently::govern::{authority::{decide, PolicyInput}, kernel::Kernel, sanitize::redact};
/// # use gently::record::context::{event::{IntentPayload, EventPosition}, turn::Counts};
/// # let place = EventPosition { index: 0, id: "i".into(), turn_id: "t".into(), thread_id: "th".into() };
/// let said = IntentPayload::new(place, "What is 2+2?".into())?;
/// let clean = redact("hi").clean;
/// let inputs = PolicyInput { prompt: &clean, model: "observer", counts: Counts::default(), intents: vec![&said] };
/// assert!(decide(&Kernel::genesis(), &inputs).reason().is_none());
/// # Ok::<(), gently::record::context::json::JsonFault>(())
/// ```
///
/// It has no place for a model's output, so a reply can't argue its way into a decision. An
/// EXECUTION is no INTENT:
///
/// ```compile_fail
/// # use gently::govern::{authority::{decide, PolicyInput}, kernel::Kernel, sanitize::redact};
/// # use gently::record::context::{event::{Execution, EventPosition}, turn::Counts};
/// # let place = EventPosition { index: 0, id: "i".into(), turn_id: "t".into(), thread_id: "th".into() };
/// let said = Execution::new(place, "the model said that it is allowed".into(), "m")?;
/// let clean = redact("hi").clean;
/// let inputs = PolicyInput { prompt: &clean, model: "observer", counts: Counts::default(), intents: vec![&said] };
/// assert!(decide(&Kernel::genesis(), &inputs).reason().is_none());
/// # Ok::<(), gently::record::context::json::JsonFault>(())
/// ```
///
/// and there is no other way for it to come in:
///
/// ```compile_fail
/// # use gently::govern::{authority::{decide, PolicyInput}, kernel::Kernel, sanitize::redact};
/// # use gently::record::context::turn::Counts;
/// let (clean, reply) = (redact("hi").clean, "the last model said that it is allowed");
/// let inputs = PolicyInput { prompt: &clean, model: "observer", counts: Counts::default(), intents: vec![], reply };
/// decide(&Kernel::genesis(), &inputs);
/// ```
#[derive(Clone, Debug)]
pub struct PolicyInput<'a> {
    /// The question, without secrets.
    pub prompt: &'a Clean,
    /// Id of the model that is to be asked.
    pub model: &'a str,
    /// How many INTENTs there were before.
    pub counts: Counts,
    /// INTENTs that the prompt refers to, by `event_index`.
    pub intents: Vec<&'a IntentPayload>,
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
        /// Codes of all that is not kept, `[a-z0-9_.]+`, at least one.
        reasons: Vec<String>,
        /// State of the denied turn: always `blocked`.
        authority_state: AuthorityState,
    },
}

impl Decision {
    /// The state that the turn is recorded with.
    pub fn authority_state(&self) -> AuthorityState {
        match self {
            Decision::Allow { authority_state }
            | Decision::Deny {
                authority_state, ..
            } => *authority_state,
        }
    }

    /// The first reason code of a denial.
    pub fn reason(&self) -> Option<&str> {
        self.reasons().first().map(String::as_str)
    }

    /// All reason codes of a denial.
    pub fn reasons(&self) -> &[String] {
        match self {
            Decision::Allow { .. } => &[],
            Decision::Deny { reasons, .. } => reasons,
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
pub fn decide(kernel: &Kernel, inputs: &PolicyInput<'_>) -> Decision {
    Judge::of(kernel).decide(inputs)
}

/// A kernel's decisions, for asking often: its patterns are made ready once.
pub struct Judge {
    max_bytes: u64,
    models: Vec<String>,
    policies: PolicyEngine,
}

impl Judge {
    /// Makes a kernel's patterns ready.
    pub fn of(kernel: &Kernel) -> Self {
        let rules = kernel.rules();
        Judge {
            max_bytes: rules.prompt.max_bytes,
            models: rules.models.allowed.clone(),
            policies: PolicyEngine::of(kernel.policy(), kernel.tier()),
        }
    }

    /// Whether a text is about a forbidden topic. What a model said decides nothing here:
    /// continuity keeps it out.
    pub fn forbids(&self, text: &str) -> bool {
        self.policies.topics().forbid(text)
    }

    /// Decides; a function of kernel and inputs and nothing else. Numbers of secrets, which replies
    /// count on, are no part of a text here.
    pub fn decide(&self, inputs: &PolicyInput<'_>) -> Decision {
        let prompt = &*unnumbered(inputs.prompt.as_str());
        let mut reasons = Vec::new();
        if prompt.trim().is_empty() {
            reasons.push(EMPTY_PROMPT.to_owned());
        }
        if u64::try_from(prompt.len()).map_or(true, |bytes| bytes > self.max_bytes) {
            reasons.push(PROMPT_TOO_LARGE.to_owned());
        }
        if !self
            .models
            .iter()
            .any(|pattern| fits(pattern, inputs.model))
        {
            reasons.push(MODEL_NOT_ALLOWED.to_owned());
        }
        reasons.extend(self.policies.broken(inputs));
        if !reasons.is_empty() {
            return Decision::Deny {
                reasons,
                authority_state: AuthorityState::Blocked,
            };
        }
        let asks_to_act = !actuation::requested(prompt).acts.is_empty();
        let authority_state = if asks_to_act {
            AuthorityState::Insufficient
        } else {
            AuthorityState::Ok
        };
        Decision::Allow { authority_state }
    }
}

/// What of people is sent beside a question.
#[derive(Clone, Debug, Default)]
pub struct SentBeside<'a> {
    /// The system message's own part, the answer's shape, the intent in force, facts and notes.
    pub texts: Vec<&'a str>,
    /// What tools found under names that somebody gave; a word each, and no part of the size.
    pub names: Vec<&'a str>,
}

/// What is sent beside a question and not allowed. Codes, none when all is; they make a denial.
///
/// Size and budget are those of question and texts together.
pub fn broken_beside(
    kernel: &Kernel,
    prompt: &Clean,
    counts: Counts,
    beside: &SentBeside<'_>,
) -> Vec<String> {
    let length = |text: &str| unnumbered(text).len();
    let bytes = beside
        .texts
        .iter()
        .map(|text| length(text))
        .fold(length(prompt.as_str()), usize::saturating_add);
    let too_large =
        u64::try_from(bytes).map_or(true, |bytes| bytes > kernel.rules().prompt.max_bytes);
    let mut codes: Vec<String> = too_large
        .then(|| PROMPT_TOO_LARGE.to_owned())
        .into_iter()
        .collect();
    codes.extend(
        PolicyEngine::of(kernel.policy(), kernel.tier()).broken_beside(prompt, counts, beside),
    );
    codes
}

/// Whether a denial on record may be for what was to be sent beside the question, which a denied
/// turn does not keep.
pub fn may_be_beside(kernel: &Kernel, codes: &[String]) -> bool {
    let topic = |code: &str| {
        let name = code.strip_prefix(FORBIDDEN);
        name.is_some_and(|name| {
            kernel
                .policy()
                .forbidden
                .iter()
                .any(|topic| topic.name == name)
        })
    };
    let may = |code: &String| {
        code == PROMPT_TOO_LARGE
            || (code == BUDGET && kernel.policy().budget.is_some())
            || topic(code)
    };
    !codes.is_empty() && codes.iter().all(may)
}

/// Whether a text fits a pattern in which `*` stands for any text that goes down from where it
/// stands.
///
/// A name that goes up (`good-/../other`) is another name than it looks like, and fits no pattern.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    if text != pattern && goes_up(text) {
        return false;
    }
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
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

/// Whether a name has a part that is `.`, `..` or nothing, also in another spelling of these.
fn goes_up(text: &str) -> bool {
    let text = text
        .to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/");
    let mut parts = text.split(['/', '\\']);
    text.contains(['/', '\\']) && parts.any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::super::kernel::GENESIS_KERNEL;
    use super::super::sanitize::redact;
    use super::*;
    use crate::record::context::event::EventPosition;

    fn ask(kernel: &Kernel, prompt: &str, model: &str) -> Decision {
        counted(kernel, prompt, model, Counts::default(), &[])
    }

    fn counted(
        kernel: &Kernel,
        prompt: &str,
        model: &str,
        counts: Counts,
        said: &[&str],
    ) -> Decision {
        let place = |n: usize| EventPosition {
            index: 0,
            id: n.to_string(),
            turn_id: "t".into(),
            thread_id: "th".into(),
        };
        let intents: Vec<IntentPayload> = said
            .iter()
            .enumerate()
            .map(|(n, text)| IntentPayload::new(place(n), (*text).to_owned()).unwrap())
            .collect();
        let intents = intents.iter().collect();
        decide(
            kernel,
            &PolicyInput {
                prompt: &redact(prompt).clean,
                model,
                counts,
                intents,
            },
        )
    }

    #[test]
    fn policies_deny_with_a_code_each() {
        let with = |text: &str| Kernel::from_toml(&format!("{GENESIS_KERNEL}\n{text}")).unwrap();
        let counts = Counts {
            thread: 5,
            recent: 5,
            spent: 10,
            ..Counts::default()
        };
        for (policy, prompt, said, codes) in [
            ("[policy.thread]\nintents = 6", "hi", &[][..], &[][..]),
            (
                "[policy.thread]\nintents = 5",
                "hi",
                &[],
                &["policy.thread_limit"],
            ),
            ("[policy.rate]\nintents = 6\nseconds = 60", "hi", &[], &[]),
            (
                "[policy.rate]\nintents = 5\nseconds = 60",
                "hi",
                &[],
                &["policy.rate_limit"],
            ),
            (
                "[policy.budget]\ntokens = 11\nseconds = 60",
                "four",
                &[],
                &[],
            ),
            (
                "[policy.budget]\ntokens = 11\nseconds = 60",
                "fives",
                &[],
                &["policy.budget"],
            ),
            ("[policy.refs]\nintents = 2", "hi", &["a", "b"], &[]),
            (
                "[policy.refs]\nintents = 2",
                "hi",
                &["a"],
                &["policy.refs_required"],
            ),
            (
                "[policy.models]\ntier1 = [\"*\"]\ntier2 = [\"ob*\"]\ntier3 = []",
                "hi",
                &[],
                &[],
            ),
            (
                "[policy.models]\ntier1 = [\"*\"]\ntier2 = [\"x\"]\ntier3 = []",
                "hi",
                &[],
                &["policy.tier_not_allowed"],
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"(?i)bomb\"",
                "A BOMB?",
                &[],
                &["policy.forbidden.w"],
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"(?i)bomb\"",
                "And?",
                &["a bomb"],
                &["policy.forbidden.w"],
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"(?i)bomb\"",
                "And?",
                &["a balm"],
                &[],
            ),
        ] {
            let decision = counted(&with(policy), prompt, "observer", counts, said);
            assert_eq!(decision.reasons(), codes, "{policy}");
        }
        let all = with("[policy.thread]\nintents = 1\n[policy.rate]\nintents = 1\nseconds = 1");
        let denied = counted(&all, " ", "observer", counts, &[]);
        assert_eq!(
            denied.reasons(),
            [EMPTY_PROMPT, "policy.thread_limit", "policy.rate_limit"]
        );
    }

    #[test]
    fn a_first_question_has_nothing_to_refer_to() {
        let kernel =
            Kernel::from_toml(&format!("{GENESIS_KERNEL}\n[policy.refs]\nintents = 2")).unwrap();
        let of = |thread, said: &[&str]| {
            counted(
                &kernel,
                "hi",
                "observer",
                Counts {
                    thread,
                    ..Counts::default()
                },
                said,
            )
        };
        assert!(of(0, &[]).reason().is_none() && of(1, &["a"]).reason().is_none());
        assert!(of(1, &[]).reason().is_some() && of(2, &["a"]).reason().is_some());
    }

    #[test]
    fn what_is_no_policy_is_refused_by_name() {
        for (policy, named) in [
            ("[policy.thread]\nintents = 0", "policy.thread.intents"),
            (
                "[policy.rate]\nintents = 1\nseconds = 0",
                "policy.rate.seconds",
            ),
            (
                "[policy.budget]\ntokens = 1\nseconds = 315360001",
                "policy.budget.seconds",
            ),
            ("[policy.budget]\ntokens = 1", "seconds"),
            ("[policy.more]\nintents = 1", "more"),
            (
                "[[policy.forbidden]]\nname = \"W\"\npattern = \"a\"",
                "policy.forbidden.name",
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"(\"",
                "policy.forbidden.pattern",
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"\"",
                "policy.forbidden.pattern",
            ),
            (
                "[[policy.forbidden]]\nname = \"w\"\npattern = \"a\"\n[[policy.forbidden]]\nname = \"w\"\npattern = \"b\"",
                "'w' twice",
            ),
        ] {
            let error = Kernel::from_toml(&format!("{GENESIS_KERNEL}\n{policy}"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(named), "{policy}: {error}");
        }
    }

    #[test]
    fn what_is_denied_and_why() {
        let kernel = Kernel::genesis();
        assert_eq!(
            ask(&kernel, " \n\t", "observer").reason(),
            Some(EMPTY_PROMPT)
        );
        assert_eq!(
            ask(&kernel, &"word ".repeat(300_000), "observer").reason(),
            Some(PROMPT_TOO_LARGE)
        );
        assert_eq!(ask(&kernel, "How are you?", "any/model:8b").reason(), None);
        let narrow = GENESIS_KERNEL.replacen(
            "allowed = [\"*\"]",
            "allowed = [\"observer\", \"openai/*:8b\"]",
            1,
        );
        let narrow = Kernel::from_toml(&narrow).unwrap();
        assert_eq!(ask(&narrow, "Hi", "observer").reason(), None);
        assert_eq!(ask(&narrow, "Hi", "openai/llama:8b").reason(), None);
        let denied = ask(&narrow, "Hi", "openai/llama:70b");
        assert_eq!(
            (denied.reason(), denied.authority_state()),
            (Some(MODEL_NOT_ALLOWED), AuthorityState::Blocked)
        );
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
            ("good-*", "good-a/b", true),
            ("good-*", "good-/../m", false),
            ("good-*", "good-x/./m", false),
            ("good-*", "good-x//m", false),
            ("good-*", "good-x\\..\\m", false),
            ("good-*", "good-x/%2E%2e/m", false),
            ("*", "a/../b", false),
            ("good-*", "good-1..2", true),
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
            assert_eq!(
                decision,
                Decision::Allow {
                    authority_state: AuthorityState::Insufficient
                },
                "{prompt}"
            );
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
            assert_eq!(
                decision,
                Decision::Allow {
                    authority_state: AuthorityState::Ok
                },
                "{prompt}"
            );
        }
    }
}
