//! Why a question was not put to a model, in words.

use crate::ask::TurnResult;
use crate::govern::authority;
use crate::govern::policy;
use crate::recorder::Refusal;

/// Why a turn was refused.
pub fn refusal_words(asked: &TurnResult, refusal: &Refusal) -> String {
    if let Err(fault) = asked.referred.resolved() {
        return fault.to_string();
    }
    match refusal {
        Refusal::Denied { codes, .. } => {
            let words = codes.iter().map(|code| match denial(code) {
                Some(words) => format!("{words} ({code})"),
                None => format!("denied by policy ({code})"),
            });
            words.collect::<Vec<_>>().join("; ")
        }
        Refusal::CompileFailed { reason, .. } => format!("no context could be compiled ({reason})"),
    }
}

/// Why policy denied it, for a person.
fn denial(reason: &str) -> Option<&'static str> {
    match reason {
        authority::EMPTY_PROMPT => Some("the prompt is empty"),
        authority::PROMPT_TOO_LARGE => {
            Some("the prompt is longer than the kernel's prompt.max_bytes allows; ask about less")
        }
        authority::MODEL_NOT_ALLOWED => {
            Some("the kernel's models.allowed has no place for this model")
        }
        policy::TIER_NOT_ALLOWED => {
            Some("the kernel's policy.models has no place for this model at its tier")
        }
        policy::THREAD_LIMIT => Some(
            "the thread has as many questions as policy.thread allows; begin another: gently thread new",
        ),
        policy::RATE_LIMIT => {
            Some("as many questions were asked as policy.rate allows in its time; wait")
        }
        policy::BUDGET => {
            Some("the questions came to as many tokens as policy.budget allows in its time; wait")
        }
        policy::REFS_REQUIRED => {
            Some("the kernel's policy.refs wants more earlier questions to be referred to: --ref")
        }
        topic if topic.starts_with(policy::FORBIDDEN) => Some(
            "the kernel forbids this topic, in the question, in what it refers to, or in what is sent with it",
        ),
        _ => None,
    }
}
