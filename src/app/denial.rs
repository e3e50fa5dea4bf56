//! Why a question was not put to a model, in words.

use crate::ask::TurnResult;
use crate::govern::authority;
use crate::govern::policy;
use crate::recorder::Refusal;

use super::words::short_uuids;

/// Why a turn was refused.
pub fn refusal_words(asked: &TurnResult, refusal: &Refusal) -> String {
    if let Err(fault) = asked.referred.resolved() {
        return short_uuids(&fault.to_string());
    }
    match refusal {
        Refusal::Denied { codes, .. } => denial_words(codes),
        Refusal::CompileFailed { reason, .. } => format!(
            "what a model is to be shown could not be put together ({reason}); look with: gently doctor"
        ),
    }
}

/// Why policy denies a question, by all codes.
pub fn denial_words(codes: &[String]) -> String {
    let words = codes.iter().map(|code| {
        let words = denial(code).unwrap_or("the kernel's policy denies it: gently kernel show");
        format!("{words} ({code})")
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Why policy denied it, for a person, and what to do.
fn denial(code: &str) -> Option<&'static str> {
    Some(match code {
        authority::EMPTY_PROMPT => "the prompt is empty; say what you want to know",
        authority::PROMPT_TOO_LARGE => {
            "the prompt is longer than the kernel's prompt.max_bytes allows; ask about less"
        }
        authority::MODEL_NOT_ALLOWED => {
            "the kernel's models.allowed has no place for this model; ask another one: gently model list"
        }
        policy::TIER_NOT_ALLOWED => {
            "the kernel's policy.models has no place for this model at its tier; ask another one: gently model list"
        }
        policy::THREAD_LIMIT => {
            "the thread has as many questions as policy.thread allows; begin another: gently thread new"
        }
        policy::RATE_LIMIT => {
            "as many questions were asked as policy.rate allows in its time; wait, then ask again"
        }
        policy::BUDGET => {
            "the questions came to as many tokens as policy.budget allows in its time; wait, or ask about less"
        }
        policy::REFS_REQUIRED => {
            "the kernel's policy.refs wants more earlier questions to be referred to; name them: --ref last:N"
        }
        topic if topic.starts_with(policy::FORBIDDEN) => {
            "the kernel forbids this topic, in the question, in what it refers to, or in what is sent with it; ask \
             about something else"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each code that the two files of policy declare, as their source has them.
    fn declared() -> Vec<&'static str> {
        let sources = [
            include_str!("../govern/policy.rs"),
            include_str!("../govern/authority.rs"),
        ];
        let lines = sources.into_iter().flat_map(str::lines);
        lines
            .filter(|line| line.starts_with("pub const"))
            .filter_map(|line| line.split('"').nth(1))
            .filter(|code| code.starts_with("policy."))
            .collect()
    }

    #[test]
    fn every_code_of_policy_has_a_sentence_that_says_what_to_do() {
        let codes = declared();
        assert!(codes.len() >= 9, "{codes:?}");
        for code in codes {
            let words = denial(code).unwrap_or_else(|| panic!("{code} has no sentence"));
            assert!(words.contains("; "), "{code}: {words}");
            let told = denial_words(&[code.to_owned()]);
            assert!(told.ends_with(&format!(" ({code})")), "{told}");
        }
        assert_eq!(
            denial_words(&["policy.new".to_owned(), "policy.empty_prompt".to_owned()]),
            "the kernel's policy denies it: gently kernel show (policy.new); \
             the prompt is empty; say what you want to know (policy.empty_prompt)"
        );
    }
}
