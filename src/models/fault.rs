//! Why there is no answer: what happened, where, and how to mend it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::remote;
use super::wire::Wire;

/// What stands behind the code of a fault whose prompt was sent twice.
pub const UNSTREAMED: &str = ".unstreamed";

/// What a call was waiting for when its time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStage {
    /// Connecting to the server.
    Connection,
    /// The head of the response: usually the model was still thinking.
    Head,
    /// The rest of the response.
    Body,
}

impl fmt::Display for CallStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallStage::Connection => "a connection",
            CallStage::Head => "the answer to begin",
            CallStage::Body => "the rest of the answer",
        })
    }
}

/// Why there is no answer.
///
/// `url` never holds user info, query or fragment; `said` is the provider's own text, bounded and
/// with secrets removed ([`super::quote::quote`]). [`ModelFault::reason`] is the code of the log's
/// `response_fail` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelFault {
    /// No connection: refused, no such host, no route, TLS failed. Nothing was sent.
    #[error(
        "the model's server at {url} can't be reached: {detail}; nothing was sent. Start the server, or name another: \
         gently config set {} URL", wire.setting()
    )]
    Unreachable {
        /// Protocol of the server.
        wire: Wire,
        /// Address that was called.
        url: String,
        /// The system's words.
        detail: String,
    },
    /// The time ran out. The server may have seen the prompt.
    #[error(
        "the model's server at {url} took too long: waited {} s in all, at the end for {stage}. Ask again, ask a faster \
         model, or allow more time: gently config set model.timeout_s N", .limit.as_secs_f64()
    )]
    Timeout {
        /// Address that was called.
        url: String,
        /// What was waited for.
        stage: CallStage,
        /// The limit that was reached.
        limit: Duration,
    },
    /// The server answered with a status other than 200.
    #[error("{}. {}", status_clause(.url, *.status, .said, .retry_after), mend_status(*.wire, *.status, .said, .key))]
    Status {
        /// Protocol of the server.
        wire: Wire,
        /// Address that was called.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The provider's words; may be empty.
        said: String,
        /// The `Retry-After` header: seconds or a date, as it was given.
        retry_after: Option<String>,
        /// The key that was sent, or was not.
        key: KeySent,
    },
    /// The server said 200, and reported an error in the body.
    #[error("the model's server at {url} reported an error instead of an answer{}. Ask again, or ask another model with --model", said_clause(.said))]
    Provider {
        /// Address that was called.
        url: String,
        /// The provider's words.
        said: String,
    },
    /// The response ended before its end.
    #[error("the answer from {url} was cut off: {detail}. What came was thrown away. Ask again")]
    Cut {
        /// Address that was called.
        url: String,
        /// Where it ended.
        detail: String,
    },
    /// The response is whole, and is not a chat completion.
    #[error(
        "the answer from {url} is not {}: {detail}. Check that {} is the address of {}: gently config get {}",
        wire.answer(), wire.setting(), wire.server(), wire.setting()
    )]
    Malformed {
        /// Protocol of the server.
        wire: Wire,
        /// Address that was called.
        url: String,
        /// What was expected, what was found.
        detail: String,
    },
    /// The response is whole, and there is no answer in it.
    #[error(
        "there is no answer in the response from {url}: {detail}. Ask again, or ask another model with --model"
    )]
    Empty {
        /// Address that was called.
        url: String,
        /// What was there instead.
        detail: String,
    },
    /// The response is larger than any answer may be.
    #[error(
        "the answer from {url} is larger than {limit} bytes, and was thrown away. Ask for less"
    )]
    TooLarge {
        /// Address that was called.
        url: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The response says that it is not JSON.
    #[error(
        "the answer from {url} is {found}, expected application/json: most likely not a model's API. Name the address \
         of {}: gently config set {} URL", wire.server(), wire.setting()
    )]
    WrongContentType {
        /// Protocol of the server.
        wire: Wire,
        /// Address that was called.
        url: String,
        /// The content type that was given.
        found: String,
    },
    /// The API key is not fit to be sent, or the place is not fit to be sent a key.
    #[error("the API key {} is not sent to {url}: {detail}", key_place(.variable))]
    RefusedKey {
        /// Where it would have gone.
        url: String,
        /// The environment variable, option or setting it came from.
        variable: String,
        /// Why, and how to mend it.
        detail: String,
    },
    /// The base URL is not one.
    #[error(
        "{} is not usable: {detail}; expected http(s)://HOST[:PORT]/PATH, as in {}. Mend it: gently config set {} URL",
        wire.setting(), wire.base_url(), wire.setting()
    )]
    BadUrl {
        /// Protocol of the server.
        wire: Wire,
        /// What is wrong with it.
        detail: String,
    },
    /// The model's name is not one.
    #[error(
        "the model's name is {detail}; expected 1 to {} printable characters, as in openai/gpt-4o-mini. \
         Mend it: gently config set model.default openai/NAME, or --model openai/NAME",
        remote::MAX_NAME
    )]
    BadName {
        /// What is wrong with it.
        detail: String,
    },
    /// Nothing on record answers a replay.
    #[error(
        "no recording: {detail}. List what is recorded: gently session list; or ask a model: gently model list"
    )]
    NoRecording {
        /// What was looked for.
        detail: String,
    },
    /// No client could be made on this machine.
    #[error(
        "no connection to {url} can be secured on this machine: {detail}. Install the system's certificates: \
         apt-get install ca-certificates"
    )]
    NoClient {
        /// Address that was to be called.
        url: String,
        /// The library's words.
        detail: String,
    },
    /// The server refused to answer piece by piece, and gave no answer without that either: the
    /// prompt was sent twice.
    #[error(transparent)]
    Unstreamed(Box<ModelFault>),
}

impl ModelFault {
    /// Whether the server may not know the model that it was asked for.
    pub fn may_miss_model(&self) -> bool {
        match self {
            ModelFault::Status { status: 404, .. } => true,
            ModelFault::Status {
                status: 400 | 422,
                said,
                ..
            } => is_about_model(said),
            ModelFault::Unstreamed(fault) => fault.may_miss_model(),
            _ => false,
        }
    }

    /// Whether the server refused what it was asked, and would again: neither the key nor the moment
    /// is what it refused.
    pub fn is_refusal(&self) -> bool {
        match self {
            ModelFault::Status { status, .. } => {
                (400..500).contains(status) && !matches!(status, 401 | 403 | 407 | 408 | 413 | 429)
            }
            ModelFault::Unstreamed(fault) => fault.is_refusal(),
            _ => false,
        }
    }

    /// What happened, with what a person can do about it in other words than its own.
    pub fn mended(&self, how: &str) -> String {
        match self {
            ModelFault::Status {
                url,
                status,
                said,
                retry_after,
                ..
            } => format!("{}. {how}", status_clause(url, *status, said, retry_after)),
            ModelFault::Unstreamed(fault) => fault.mended(how),
            other => format!("{other}. {how}"),
        }
    }

    /// The reason code of the log, `[a-z0-9_.]+`: stable, and free of anything a server said.
    pub fn reason(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ModelFault::Unreachable { .. } => "unreachable",
            ModelFault::Timeout { .. } => "timeout",
            ModelFault::Status { status: 429, .. } => "rate_limited",
            ModelFault::Status { status, .. } => return Cow::Owned(format!("http_{status}")),
            ModelFault::Provider { .. } => "provider_error",
            ModelFault::Cut { .. } => "cut",
            ModelFault::Malformed { .. } => "malformed",
            ModelFault::Empty { .. } => "empty",
            ModelFault::TooLarge { .. } => "too_large",
            ModelFault::WrongContentType { .. } => "wrong_content_type",
            ModelFault::RefusedKey { .. } => "refused_key",
            ModelFault::BadUrl { .. } => "bad_url",
            ModelFault::BadName { .. } => "bad_name",
            ModelFault::NoRecording { .. } => "no_recording",
            ModelFault::NoClient { .. } => "no_client",
            ModelFault::Unstreamed(fault) => {
                return Cow::Owned(format!("{}{UNSTREAMED}", fault.reason()));
            }
        })
    }
}

/// Whether a key was sent with a prompt, and where one comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySent {
    /// Whether one was.
    pub was_sent: bool,
    /// The environment variable it comes from, or the option or setting; empty where none is taken.
    pub variable: String,
}

/// Where a key comes from: `in $OPENAI_API_KEY`, `of --key-cmd`.
fn key_place(variable: &str) -> String {
    let is_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match variable.chars().all(is_variable) {
        true => format!("in ${variable}"),
        false => format!("of {variable}"),
    }
}

/// What a person can do where a server lets nobody in, or not with this key.
fn mend_key(key: &KeySent) -> String {
    match (key.was_sent, key.variable.as_str()) {
        (true, place) => format!(
            "The key {} was refused: check that it is valid for this server and this model",
            key_place(place)
        ),
        (false, "") => {
            "No key was sent: gently has none for such a server. Ask another model with --model"
                .to_owned()
        }
        (false, variable) => format!("No key was sent: export {variable}=…"),
    }
}

fn status_clause(url: &str, status: u16, said: &str, retry_after: &Option<String>) -> String {
    let (said, retry) = (said_clause(said), retry_clause(retry_after));
    format!("the model's server at {url} said {status}{said}{retry}")
}

fn said_clause(said: &str) -> String {
    if said.is_empty() {
        " and gave no reason".to_owned()
    } else {
        format!(": {}", said.trim_end_matches('.'))
    }
}

fn retry_clause(after: &Option<String>) -> String {
    match after {
        Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => {
            format!(" (it asks to wait {text} s)")
        }
        Some(text) => format!(" (it asks to wait until {text})"),
        None => String::new(),
    }
}

/// Whether a server says that it has no such model, as the usual ones word it.
fn is_about_model(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let about = [
        "not found",
        "unknown",
        "not exist",
        "invalid model",
        "no such",
    ];
    said.contains("model") && about.iter().any(|words| said.contains(words))
}

/// Whether a server says that it was sent more than its model takes, as the usual ones word it.
fn is_about_length(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let about = [
        "context length",
        "context size",
        "context window",
        "prompt is too long",
        "too many tokens",
    ];
    about.iter().any(|words| said.contains(words))
}

/// What a person can do about a status.
fn mend_status(wire: Wire, status: u16, said: &str, key: &KeySent) -> String {
    let setting = wire.setting();
    match status {
        400 | 413 | 500 if is_about_length(said) => format!(
            "The conversation is longer than the model takes. Say how much that is, and earlier turns fit into it: \
             gently config set model.window.{}/NAME TOKENS; or show fewer of them: --ref last:3, or --new",
            wire.name()
        ),
        300..=399 => format!(
            "Redirects are not followed, so that a prompt goes only where it was meant to: \
             gently config set {setting} URL, with the final address"
        ),
        401 | 403 => mend_key(key),
        404 if wire == Wire::Ollama => {
            "Fetch the model (ollama pull NAME), or choose one that is there: gently model list".to_owned()
        }
        404 => format!(
            "Check the model's name (gently model list, gently config get model.default) and the address \
             (gently config get {setting})"
        ),
        413 => "The prompt is too large for this model. Ask for less, or ask another model with --model".to_owned(),
        429 => "Wait, then ask again".to_owned(),
        500..=599 => "The fault is on the server's side. Ask again, or ask another model with --model".to_owned(),
        _ => "Check the model's name and settings: gently config get".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_codes_and_messages_say_what_where_and_how_to_mend() {
        let url = || "http://127.0.0.1:1/v1/chat/completions".to_owned();
        let (said, detail) = (|| "no such thing".to_owned(), || "why".to_owned());
        let wire = Wire::OpenAi;
        let sent = |was_sent, variable: &str| KeySent {
            was_sent,
            variable: variable.to_owned(),
        };
        let status = |status, retry: Option<&str>| ModelFault::Status {
            wire,
            url: url(),
            status,
            said: said(),
            retry_after: retry.map(str::to_owned),
            key: sent(true, "K"),
        };
        let limit = Duration::from_millis(1500);
        let table = [
            (
                ModelFault::Unreachable {
                    wire,
                    url: url(),
                    detail: detail(),
                },
                "unreachable",
                "base_url",
            ),
            (
                ModelFault::Timeout {
                    url: url(),
                    stage: CallStage::Head,
                    limit,
                },
                "timeout",
                "waited 1.5 s",
            ),
            (status(307, None), "http_307", "Redirects are not followed"),
            (
                status(401, None),
                "http_401",
                "401: no such thing. The key in $K was refused",
            ),
            (status(404, None), "http_404", "model's name"),
            (
                status(429, Some("7")),
                "rate_limited",
                "(it asks to wait 7 s). Wait",
            ),
            (
                status(429, Some("Wed, 21 Oct 2026 07:28:00 GMT")),
                "rate_limited",
                "until Wed, 21 Oct",
            ),
            (status(503, None), "http_503", "server's side"),
            (status(418, None), "http_418", "settings"),
            (
                ModelFault::Provider {
                    url: url(),
                    said: String::new(),
                },
                "provider_error",
                "gave no reason",
            ),
            (
                ModelFault::Cut {
                    url: url(),
                    detail: detail(),
                },
                "cut",
                "thrown away",
            ),
            (
                ModelFault::Malformed {
                    wire,
                    url: url(),
                    detail: detail(),
                },
                "malformed",
                "/v1",
            ),
            (
                ModelFault::Empty {
                    url: url(),
                    detail: detail(),
                },
                "empty",
                "--model",
            ),
            (
                ModelFault::TooLarge {
                    url: url(),
                    limit: 3,
                },
                "too_large",
                "3 bytes",
            ),
            (
                ModelFault::WrongContentType {
                    wire,
                    url: url(),
                    found: "text/html".into(),
                },
                "wrong_content_type",
                "text/html",
            ),
            (
                ModelFault::RefusedKey {
                    url: url(),
                    variable: "K".into(),
                    detail: detail(),
                },
                "refused_key",
                "$K",
            ),
            (
                ModelFault::NoClient {
                    url: url(),
                    detail: detail(),
                },
                "no_client",
                "ca-certificates",
            ),
        ];
        for (fault, reason, part) in table {
            assert_eq!(fault.reason(), reason);
            assert!(
                reason
                    .bytes()
                    .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'))
            );
            let message = fault.to_string();
            assert!(
                message.contains(part) && message.contains("127.0.0.1:1"),
                "{message}"
            );
        }
        for (key, said) in [
            (sent(false, "K"), "No key was sent: export K=…"),
            (sent(false, ""), "No key was sent: gently has none"),
            (sent(true, "--key-cmd"), "The key of --key-cmd was refused"),
        ] {
            assert!(mend_status(wire, 403, "", &key).contains(said), "{key:?}");
        }
        let bad = ModelFault::BadUrl {
            wire,
            detail: detail(),
        };
        assert_eq!(bad.reason(), "bad_url");
        assert!(bad.to_string().contains("config set model.base_url"));
    }
}
