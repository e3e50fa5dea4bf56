//! How many tokens a server's model takes in all, prompt and answer together, as the server itself
//! tells it.
//!
//! - Ollama: `POST /api/show`. `model_info` has `ARCHITECTURE.context_length`, what the model was made
//!   for, and `parameters` a line `num_ctx N` where the model is set to take so many by itself.
//! - OpenAI-compatible servers: the model's entry in `GET /models`. llama.cpp has `meta.n_ctx`, what
//!   the server was started with, and `meta.n_ctx_train`; vLLM `max_model_len`; others
//!   `context_length` or `context_window`.
//!
//! Servers of these two kinds refuse what is too long, so only those are asked that are near: the lists
//! of the others are long, and a connection to them takes its time. An Ollama cuts what is too long, so
//! any is asked. Anthropic says nothing of it.
//!
//! A server is asked at most once in a process for each of its models, for [`LIMIT`] at the longest,
//! and nothing depends on its answer but how much of a conversation is sent. What it says otherwise
//! than here, or not at all, leaves the window unknown.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::http::Endpoint;
use super::wire::{self, Wire};

/// The longest that a question waits for it: much longer than a server on this machine takes.
const LIMIT: Duration = Duration::from_millis(500);
/// A number out of this range is no window; no model's is larger.
const SENSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;
/// What every Ollama takes if nobody tells it anything; newer ones take more.
const OLLAMA_BY_ITSELF: u64 = 2048;

/// What a server says of a model's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerWindow {
    /// The most tokens that it can take.
    pub most: Option<u64>,
    /// What it takes unless a request asks for more.
    pub by_itself: Option<u64>,
}

/// What servers have said in this process, by address and model.
static KNOWN: LazyLock<Mutex<BTreeMap<(String, String), ServerWindow>>> =
    LazyLock::new(Mutex::default);

/// Asks the server behind `link` for the window of its model; what it said once is known.
pub(super) async fn look_up(wire: Wire, link: &Endpoint, model: &str) -> ServerWindow {
    let path: &[&str] = match wire {
        Wire::Ollama => &["api", "show"],
        Wire::OpenAi if link.is_near() => &["models"],
        Wire::OpenAi | Wire::Anthropic => return ServerWindow::default(),
    };
    let place = (link.address().to_owned(), model.to_owned());
    if let Some(said) = known().get(&place) {
        return *said;
    }
    let question = (wire == Wire::Ollama).then(|| json!({ "model": model }).to_string());
    let link = link.beside(path, LIMIT);
    let body = link.look_up(question.as_ref().map(String::as_bytes)).await;
    let said = match &body {
        Ok(body) => read(wire, model, body),
        Err(_) => by_itself(wire),
    };
    known().insert(place, said);
    said
}

fn known() -> MutexGuard<'static, BTreeMap<(String, String), ServerWindow>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a wire's servers without asking any.
pub(super) fn by_itself(wire: Wire) -> ServerWindow {
    ServerWindow {
        most: None,
        by_itself: (wire == Wire::Ollama).then_some(OLLAMA_BY_ITSELF),
    }
}

fn read(wire: Wire, model: &str, body: &[u8]) -> ServerWindow {
    let Ok(told) = wire::parse::<Value>(body, "what a server says of a model") else {
        return by_itself(wire);
    };
    match wire {
        Wire::Ollama => of_ollama(&told),
        Wire::OpenAi => ServerWindow {
            most: of_catalogue(&told, model),
            by_itself: None,
        },
        Wire::Anthropic => ServerWindow::default(),
    }
}

fn of_ollama(told: &Value) -> ServerWindow {
    let info = told.get("model_info").and_then(Value::as_object);
    let lengths = info.into_iter().flatten();
    let mut lengths = lengths.filter(|(key, _)| key.ends_with(".context_length"));
    let parameters = told.get("parameters").and_then(Value::as_str);
    let mut lines = parameters.unwrap_or_default().lines();
    let set = lines.find_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "num_ctx")?;
        words.next()?.parse::<u64>().ok()
    });
    let set = set.filter(|tokens| SENSIBLE.contains(tokens));
    ServerWindow {
        most: lengths.find_map(|(_, value)| tokens(Some(value))).or(set),
        by_itself: set.or(by_itself(Wire::Ollama).by_itself),
    }
}

/// The window in a model's entry; a server of one model need not know it by the name that it is asked
/// by.
fn of_catalogue(told: &Value, model: &str) -> Option<u64> {
    let entries = told.get("data")?.as_array()?;
    let named = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = match entries.as_slice() {
        [only] => only,
        all => all.iter().find(named)?,
    };
    let places = [
        "/meta/n_ctx",
        "/max_model_len",
        "/context_length",
        "/context_window",
        "/meta/n_ctx_train",
    ];
    let mut found = places.iter().map(|place| tokens(entry.pointer(place)));
    found.find_map(|tokens| tokens)
}

fn tokens(value: Option<&Value>) -> Option<u64> {
    let tokens = value.and_then(Value::as_u64);
    tokens.filter(|tokens| SENSIBLE.contains(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::http::ServerAddress;

    #[tokio::test]
    async fn a_server_that_is_far_is_not_asked() {
        let link = |base_url| {
            Endpoint::new(ServerAddress {
                wire: Wire::OpenAi,
                base_url,
                path: Wire::OpenAi.path(),
                key: None,
                key_variable: "",
                connect_timeout: LIMIT,
                total_timeout: LIMIT,
            })
            .unwrap()
        };
        for (url, is_near) in [
            ("https://api.openai.com/v1", false),
            ("https://gpu.example.org/v1", false),
            ("http://gpu.example.org/v1", true),
            ("http://127.0.0.1:9/v1", true),
            ("https://localhost/v1", true),
        ] {
            assert_eq!(link(url).is_near(), is_near, "{url}");
        }
        let models = link("http://gpu.example.org/v1/").beside(&["models"], LIMIT);
        assert_eq!(models.address(), "http://gpu.example.org/v1/models");
        let far = link("https://gpu.invalid/v1");
        assert_eq!(
            look_up(Wire::OpenAi, &far, "m").await,
            ServerWindow::default()
        );
        // Nothing was remembered, as nobody was asked.
        assert!(
            !known()
                .keys()
                .any(|(address, _)| address.contains("gpu.invalid"))
        );
    }

    #[test]
    fn what_an_ollama_says() {
        let said = |told: Value| {
            let said = read(Wire::Ollama, "m", told.to_string().as_bytes());
            (said.most, said.by_itself)
        };
        let length = json!({"general.architecture": "llama", "llama.context_length": 131_072,
            "llama.rope.dimension_count": 128});
        assert_eq!(
            said(json!({"model_info": length, "parameters": "stop \"x\"\nnum_ctx    8192\n"})),
            (Some(131_072), Some(8192))
        );
        assert_eq!(
            said(json!({"model_info": length, "parameters": "temperature 1"})),
            (Some(131_072), Some(2048))
        );
        assert_eq!(
            said(json!({"parameters": "num_ctx 4096"})),
            (Some(4096), Some(4096))
        );
        for nothing in [
            json!({}),
            json!([]),
            json!({"error": "model not found"}),
            json!({"model_info": {"llama.context_length": "many"}, "parameters": ["num_ctx 9"]}),
            json!({"model_info": {"llama.context_length": 3}, "parameters": "num_ctx 0"}),
            json!({"model_info": {"llama.context_length": -1}, "parameters": "num_ctx"}),
        ] {
            assert_eq!(said(nothing.clone()), (None, Some(2048)), "{nothing}");
        }
        assert_eq!(read(Wire::Ollama, "m", b"<html>"), by_itself(Wire::Ollama));
    }

    #[test]
    fn what_a_list_of_models_says() {
        let of = |told: Value| read(Wire::OpenAi, "m", told.to_string().as_bytes()).most;
        for (entry, expected) in [
            (
                json!({"meta": {"n_ctx": 4096, "n_ctx_train": 8192}}),
                Some(4096),
            ),
            (json!({"meta": {"n_ctx_train": 8192}}), Some(8192)),
            (json!({"max_model_len": 32_768}), Some(32_768)),
            (json!({"context_length": 1_000_000}), Some(1_000_000)),
            (json!({"context_window": 512}), Some(512)),
            (json!({"context_window": 5, "context_length": null}), None),
            (json!({"object": "model"}), None),
            (json!("m"), None),
        ] {
            // The only one is the one, whatever it is called; of several it is the one of the name.
            assert_eq!(of(json!({"data": [entry]})), expected, "{entry}");
            let mut named = entry.clone();
            if named.is_object() {
                named["id"] = json!("m");
                let other = json!({"id": "n", "max_model_len": 700});
                assert_eq!(of(json!({"data": [other, named]})), expected, "{entry}");
                assert_eq!(of(json!({"data": [other, other]})), None);
            }
        }
        for nothing in [
            json!({}),
            json!([]),
            json!({"data": {}}),
            json!({"data": []}),
        ] {
            assert_eq!(of(nothing.clone()), None, "{nothing}");
        }
    }
}
