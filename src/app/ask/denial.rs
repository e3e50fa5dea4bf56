//! Why a question was not put to a model, in words.

use uuid::Uuid;

use crate::continuity::refs::RefFault;
use crate::govern::authority;
use crate::govern::policy;
use crate::models::UNSTREAMED;
use crate::recorder::Refusal;
use crate::store::ReadStore;

use crate::app::find;

/// Why a turn was refused, whose references were resolved.
pub fn refusal_words(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Denied { codes, .. } => denial_words(codes),
        Refusal::CompileFailed { reason, .. } => format!(
            "what a model is to be shown could not be put together ({reason}); look with: gently doctor"
        ),
    }
}

/// Why references could not be resolved, with the ids that screens have, and the document's code.
pub fn fault_words(store: &ReadStore, fault: &RefFault) -> String {
    let words = match fault {
        RefFault::NotFound { id } => format!(
            "nothing on record is called {id}; gently thread show lists what can be referred to"
        ),
        RefFault::CrossThread { id, actual, .. } => {
            let thread = thread_name(store, actual);
            let what = event_name(store, id).unwrap_or_else(|| "what is referred to".to_owned());
            format!(
                "{what} stands in thread {thread}, and a question refers to its own thread only; ask there \
                 (--thread {thread}), or quote it in the question"
            )
        }
        RefFault::TooMany { limit, actual } => format!(
            "the question refers to {actual} questions and answers, and context.json allows {limit}; name fewer, or \
             raise context.max_refs"
        ),
        RefFault::Empty => {
            "the question refers to no earlier one, and context.json wants that; name one (--ref ID, --ref last:1), \
             or set context.empty_refs_policy to ALLOW"
                .to_owned()
        }
    };
    format!("{words} ({})", fault.code())
}

/// `answer c183ced8/2`; none where it is not here.
fn event_name(store: &ReadStore, id: &str) -> Option<String> {
    let id: Uuid = id.parse().ok()?;
    let of = match store.exchange_of_turn(id).ok()? {
        Some(exchange) => exchange,
        // A decision, or a turn by the id of its exchange.
        None => find::exchange(store, &id.to_string()).ok()?,
    };
    let answer = of.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
    let what = match (of.turn_user == id, answer == Some(id)) {
        (true, _) => "question",
        (false, true) => "answer",
        (false, false) => "exchange",
    };
    let name = find::short_id_of_row(store, &of).ok()?;
    Some(format!("{what} {name}"))
}

fn thread_name(store: &ReadStore, id: &str) -> String {
    let known: Option<Uuid> = id.parse().ok();
    let short = known.and_then(|thread| find::short_thread(store, thread).ok());
    short.unwrap_or_else(|| id.to_owned())
}

/// The words of a server's status, by the code on record.
macro_rules! statuses {
    ($($status:literal $name:literal),* $(,)?) => {
        [$((
            concat!("http_", $status),
            concat!("the server answered ", $status, " (", $name, ")"),
        )),*]
    };
}

/// The statuses that servers of models and what stands before them answer with.
const STATUSES: [(&str, &str); 33] = statuses![
    204 "nothing",
    300 "another address",
    301 "another address",
    302 "another address",
    303 "another address",
    304 "not changed",
    307 "another address",
    308 "another address",
    400 "not understood",
    401 "key not accepted",
    402 "payment needed",
    403 "not allowed",
    404 "not found",
    405 "not answered in this way",
    406 "no answer of this kind",
    408 "waited too long for the question",
    409 "in conflict",
    410 "gone",
    411 "length missing",
    413 "too long",
    415 "kind of question not known",
    418 "not answered",
    421 "another server's",
    422 "not accepted as it is",
    423 "locked",
    424 "something before it failed",
    451 "not allowed by law",
    500 "error of the server",
    501 "not able to do that",
    502 "server behind it fails",
    503 "not ready",
    504 "server behind it too slow",
    529 "too much to do",
];

/// Why a question got no answer, in a few words, by the code on record; the code itself where a
/// later version knows more.
pub fn reason_words(code: &str) -> &str {
    let code = code.strip_suffix(UNSTREAMED).unwrap_or(code);
    if let Some((_, words)) = STATUSES.iter().find(|(known, _)| *known == code) {
        return words;
    }
    match code {
        status if status.starts_with("http_") => "the server answered with a status of its own",
        "interrupted" => "given up",
        "abandoned" => "nobody waited for it",
        "refs.not_found" => "it refers to what is not on record",
        "refs.cross_thread" => "it refers to another thread",
        "refs.max_exceeded" => "it refers to too much",
        "refs.empty_denied" => "it refers to nothing",
        "compile.sight_without_values" | "compile.sight_not_allowed" => {
            "a tool that looks at this machine gave no values"
        }
        "compile.ring0_too_large" => "what every prompt holds is too long",
        "compile.window" => "too long for the model",
        "timeout" => "the model took too long",
        "unreachable" => "the server was not reached",
        "rate_limited" => "the server had too much to do",
        "provider_error" => "the server answered with an error",
        "cut" => "the answer broke off",
        "malformed" | "wrong_content_type" => "the server answered with something else",
        "empty" => "the answer was empty",
        "too_large" => "the answer was too long",
        "refused_key" => "the server did not take the key",
        "bad_url" => "the server's address is none",
        "bad_name" => "the model's name is none",
        "no_recording" => "there is no recorded answer",
        "no_client" => "no connection could be made",
        _ => denial(code).map_or(code, |words| words.split("; ").next().unwrap_or(words)),
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
            include_str!("../../govern/policy.rs"),
            include_str!("../../govern/authority.rs"),
        ];
        let lines = sources.into_iter().flat_map(str::lines);
        lines
            .filter(|line| line.starts_with("pub const"))
            .filter_map(|line| line.split('"').nth(1))
            .filter(|code| code.starts_with("policy."))
            .collect()
    }

    #[test]
    fn a_code_of_a_model_s_server_is_told_in_words() {
        for (code, words) in [
            ("http_404", "the server answered 404 (not found)"),
            ("http_500", "the server answered 500 (error of the server)"),
            (
                "http_422.unstreamed",
                "the server answered 422 (not accepted as it is)",
            ),
            ("http_599", "the server answered with a status of its own"),
            ("timeout", "the model took too long"),
            ("timeout.unstreamed", "the model took too long"),
            ("something.new", "something.new"),
        ] {
            assert_eq!(reason_words(code), words);
        }
        for (code, words) in STATUSES {
            assert!(words.contains(&code["http_".len()..]), "{code}: {words}");
        }
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
