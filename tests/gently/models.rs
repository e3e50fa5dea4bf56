//! The OpenAI-compatible client against a server that does everything a server can do wrong.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gently::models::http::MAX_RESPONSE;
use gently::models::remote::{Remote, RemoteConfig};
use gently::models::wire::Wire;
use gently::models::{Backend, CallStage, ModelFault, Request, Usage};
use gently::record::ledger::params::Params;
use gently::record::ledger::prompt::{ChatMessage, ChatRole};
use zeroize::Zeroizing;

use crate::model_server::{ANSWER, Behaviour, ModelServer};

const KEY: &str = "test.key-Zq8_wert77uio";
const SYSTEM: &str = "Be brief.";
const QUESTION: &str = "What is the capital of \"France\"?";

fn request() -> Request<'static> {
    static MESSAGES: LazyLock<[ChatMessage; 2]> = LazyLock::new(|| {
        [
            ChatMessage::new(ChatRole::System, SYSTEM),
            ChatMessage::new(ChatRole::User, QUESTION),
        ]
    });
    Request {
        messages: MESSAGES.as_slice(),
        images: &[],
        settings: &[],
        tools: &[],
        tool_choice: None,
        stream: false,
    }
}

fn cold() -> Params {
    Params {
        temperature: Some("0".parse().unwrap()),
        ..Params::default()
    }
}

fn config(base_url: &str) -> RemoteConfig {
    RemoteConfig {
        base_url: base_url.to_owned(),
        ..RemoteConfig::new(Wire::OpenAi, "small-1b")
    }
}

fn with_key(base_url: &str) -> RemoteConfig {
    RemoteConfig {
        api_key: Some(Zeroizing::new(format!(" {KEY}\n"))),
        ..config(base_url)
    }
}

/// Asks a server of this behaviour once, with a key, and limits short enough to be waited for.
async fn ask(behaviour: Behaviour) -> Result<gently::models::Answer, ModelFault> {
    let server = ModelServer::start(behaviour);
    let model = Remote::new(RemoteConfig {
        total_timeout: Duration::from_secs(20),
        ..with_key(&server.base_url())
    })
    .unwrap();
    model.call(request()).await
}

#[tokio::test]
async fn an_answer_comes_with_its_exact_bytes() {
    let server = ModelServer::start(Behaviour::Good);
    for base_url in [
        server.base_url(),
        format!("{}/", server.base_url()),
        server.base_url().replace("127.0.0.1", "localhost"),
    ] {
        let model = Remote::new(RemoteConfig {
            params: cold(),
            ..with_key(&base_url)
        })
        .unwrap();
        assert_eq!((model.id(), model.warning()), ("openai/small-1b", None));
        let answer = model.call(request()).await.unwrap();
        assert_eq!(answer.text, ANSWER);
        assert_eq!(
            answer.usage,
            Usage {
                prompt_tokens: Some(11),
                completion_tokens: Some(7)
            }
        );
        assert_eq!(answer.beside.finish_reason.as_deref(), Some("stop"));
        assert_eq!(answer.beside.model.as_deref(), Some("small-1b"));

        let received = server.requests().pop().unwrap();
        assert_eq!(received.line, "POST /v1/chat/completions");
        assert_eq!(received.body, answer.wire_request);
        assert_eq!(
            received.header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(received.header("accept-encoding"), None);
        let expected = serde_json::json!({
            "model": "small-1b", "stream": false, "temperature": 0.0,
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
        });
        assert_eq!(received.json(), expected);
        let response: serde_json::Value = serde_json::from_slice(&answer.wire_response).unwrap();
        assert_eq!(response["choices"][0]["message"]["content"], ANSWER);
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 3));
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let server = ModelServer::start(Behaviour::Good);
    for key in [None, Some(Zeroizing::new(" \n".to_owned()))] {
        let model = Remote::new(RemoteConfig {
            api_key: key,
            ..config(&server.base_url())
        })
        .unwrap();
        model.call(request()).await.unwrap();
        let received = server.requests().pop().unwrap();
        assert_eq!(received.header("authorization"), None);
        assert!(
            !received
                .json()
                .as_object()
                .unwrap()
                .contains_key("temperature")
        );
    }
}

#[tokio::test]
async fn every_kind_of_answer_is_read() {
    let big = 10 * 1024 * 1024;
    let table = [
        (Behaviour::Says(String::new()), String::new()),
        (
            Behaviour::Says(" é\n\u{1F980} ".into()),
            " é\n\u{1F980} ".into(),
        ),
        (Behaviour::Slow(Duration::from_millis(300)), ANSWER.into()),
        (Behaviour::Big(big), "x".repeat(big)),
        (
            Behaviour::ContentType("application/json; charset=utf-8"),
            ANSWER.into(),
        ),
        (
            Behaviour::parts(),
            r#"[{"text":"one","type":"text"},{"text":"two","type":"text"}]"#.into(),
        ),
        (
            Behaviour::tool_calls(),
            r#"[{"function":{"arguments":"{}","name":"look"},"id":"call_1","type":"function"}]"#
                .into(),
        ),
    ];
    for (behaviour, text) in table {
        let name = format!("{behaviour:?}");
        let answer = ask(behaviour)
            .await
            .unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert!(answer.text == text, "{name}");
    }
}

#[tokio::test]
async fn every_fault_has_its_reason_and_its_words() {
    let html = || {
        Behaviour::Status(
            502,
            vec![("content-type", "text/html".into())],
            "<h1>Bad Gateway</h1>".into(),
        )
    };
    let elsewhere = |to: &str| Behaviour::Status(307, vec![("location", to.into())], String::new());
    let table = [
        (Behaviour::Refused, "unreachable", "nobody listens there"),
        (Behaviour::HangsUp, "cut", "before the answer began"),
        (Behaviour::ClosesAtOnce, "cut", "before the answer began"),
        (Behaviour::CutBody, "cut", "bytes came"),
        (Behaviour::CutChunked, "cut", "bytes came"),
        (Behaviour::CutJson, "cut", "unfinished after"),
        (Behaviour::NotHttp, "malformed", "expected HTTP"),
        (
            Behaviour::BrokenJson,
            "malformed",
            "expected JSON, found: expected `:` at line 1",
        ),
        (Behaviour::Json("{}".into()), "malformed", "choices"),
        (Behaviour::EmptyBody, "empty", "0 bytes"),
        (
            Behaviour::Message(serde_json::json!({"role": "assistant", "content": null})),
            "empty",
            "stopped for `stop`",
        ),
        (
            Behaviour::Json(r#"{"error":{"message":"overloaded"}}"#.into()),
            "provider_error",
            "overloaded",
        ),
        (Behaviour::Announces(40_000_000), "too_large", "33554432"),
        (
            Behaviour::Endless(MAX_RESPONSE + 1),
            "too_large",
            "33554432",
        ),
        (
            Behaviour::ContentType("text/html; charset=utf-8"),
            "wrong_content_type",
            "is text/html, expected",
        ),
        (
            Behaviour::ContentType("text/event-stream"),
            "wrong_content_type",
            "is text/event-stream",
        ),
        (
            Behaviour::ContentType(""),
            "wrong_content_type",
            "of no stated type",
        ),
        (
            Behaviour::unauthorized(),
            "http_401",
            "Incorrect API key provided: [removed] You can find",
        ),
        (
            Behaviour::EchoesKey,
            "http_401",
            "I don't know `Bearer [removed]` here",
        ),
        (
            Behaviour::no_such_model(),
            "http_404",
            "The model `nobody-7b` does not exist",
        ),
        (
            Behaviour::rate_limited("17"),
            "rate_limited",
            "429: Rate limit reached for requests (it asks to wait 17 s)",
        ),
        (
            Behaviour::error(500, "The server had an error"),
            "http_500",
            "500: The server had an error. The fault is on",
        ),
        (html(), "http_502", "502: <h1>Bad Gateway</h1>"),
        (
            Behaviour::Status(503, Vec::new(), String::new()),
            "http_503",
            "503 and gave no reason",
        ),
        (
            Behaviour::Status(204, Vec::new(), String::new()),
            "http_204",
            "204",
        ),
        (
            elsewhere("http://127.0.0.1:9/v1"),
            "http_307",
            "go to http://127.0.0.1:9/v1",
        ),
    ];
    let asked = table.map(|(behaviour, reason, words)| async move {
        let name = format!("{behaviour:?}");
        let fault = ask(behaviour).await.expect_err(&name);
        let message = fault.to_string();
        assert_eq!(fault.reason(), reason, "{name}: {message}");
        assert!(message.contains(words), "{name}: {message}");
        assert!(
            message.contains("http://127.0.0."),
            "{name} says where: {message}"
        );
        assert!(
            !format!("{message} {fault:?}").contains("Zq8_wert"),
            "{name} shows the key: {message}"
        );
        assert!(message.chars().count() < 1000, "{name}: {message}");
    });
    join_all(asked).await;
}

#[tokio::test]
async fn time_runs_out_at_every_stage() {
    let table = [
        (Behaviour::NeverBegins, CallStage::Head),
        (Behaviour::StallsInBody, CallStage::Body),
    ];
    let asked = table.map(|(behaviour, stage)| async move {
        let server = ModelServer::start(behaviour);
        let limit = Duration::from_secs(2);
        let model = Remote::new(RemoteConfig {
            total_timeout: limit,
            ..config(&server.base_url())
        })
        .unwrap();
        let begun = Instant::now();
        let fault = model.call(request()).await.unwrap_err();
        let url = format!("{}/chat/completions", server.base_url());
        assert_eq!(fault, ModelFault::Timeout { url, stage, limit });
        assert_eq!(fault.reason(), "timeout");
        assert!(begun.elapsed() >= limit);
        assert_eq!(server.connections(), 1);
    });
    join_all(asked).await;
}

#[tokio::test]
async fn a_prompt_is_sent_at_most_once() {
    for behaviour in [
        Behaviour::HangsUp,
        Behaviour::ClosesAtOnce,
        Behaviour::CutBody,
        Behaviour::error(503, "busy"),
    ] {
        let server = ModelServer::start(behaviour);
        Remote::new(config(&server.base_url()))
            .unwrap()
            .call(request())
            .await
            .unwrap_err();
        assert_eq!(server.connections(), 1);
    }
}

/// TLS that fails is a connection that never came about: tried twice, and no byte of the prompt
/// sent.
#[tokio::test]
async fn a_connection_is_tried_twice() {
    let server = ModelServer::start(Behaviour::ClosesAtOnce);
    let base_url = server.base_url().replace("http:", "https:");
    let model = match Remote::new(with_key(&base_url)) {
        Err(ModelFault::NoClient { detail, .. }) => {
            return eprintln!("skipped: no TLS on this machine: {detail}");
        }
        made => made.unwrap(),
    };
    let fault = model.call(request()).await.unwrap_err();
    assert_eq!(fault.reason(), "unreachable", "{fault}");
    assert_eq!((server.connections(), server.requests().len()), (2, 0));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = ModelServer::start(Behaviour::Good);
    let to = format!("{}/chat/completions", other.base_url());
    let server = ModelServer::start(Behaviour::Status(
        308,
        vec![("location", to)],
        String::new(),
    ));
    let fault = Remote::new(with_key(&server.base_url()))
        .unwrap()
        .call(request())
        .await
        .unwrap_err();
    assert_eq!(fault.reason(), "http_308");
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let server = ModelServer::start(Behaviour::Gate);
    let model = Remote::new(config(&server.base_url())).unwrap();
    let opened = async {
        let done = tokio::task::spawn_blocking(move || {
            server.wait_for(2);
            server.release();
            server
        });
        done.await.unwrap()
    };
    let (one, two, server) =
        futures_util::future::join3(model.call(request()), model.call(request()), opened).await;
    assert_eq!(
        (one.unwrap().text.as_str(), two.unwrap().text.as_str()),
        (ANSWER, ANSWER)
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_script_is_played_in_order() {
    let server = ModelServer::script(vec![Behaviour::error(500, "once"), Behaviour::Good]);
    let model = Remote::new(config(&server.base_url())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    assert_eq!(
        runtime
            .block_on(model.call(request()))
            .unwrap_err()
            .reason(),
        "http_500"
    );
    assert!((0..2).all(|_| runtime.block_on(model.call(request())).is_ok()));
}

#[test]
fn what_can_be_configured() {
    let made = |base_url: &str, key: Option<&str>| {
        Remote::new(RemoteConfig {
            api_key: key.map(|k| Zeroizing::new(k.to_owned())),
            ..config(base_url)
        })
    };
    for (base_url, key, reason) in [
        ("http://127.0.0.1:1", Some(KEY), None),
        ("http://127.9.9.9:1/v1", Some(KEY), None),
        ("http://[::1]:1/v1/", Some(KEY), None),
        ("http://localhost:1/v1", Some(KEY), None),
        ("http://192.0.2.1/v1", None, None),
        ("http://192.0.2.1/v1", Some(KEY), Some("refused_key")),
        (
            "http://127.0.0.1.example.org/v1",
            Some(KEY),
            Some("refused_key"),
        ),
        (
            "http://localhost.example.org/v1",
            Some(KEY),
            Some("refused_key"),
        ),
        ("http://127.0.0.1:1", Some("two words"), Some("refused_key")),
        ("http://127.0.0.1:1", Some("schlüssel"), Some("refused_key")),
        ("", None, Some("bad_url")),
        ("api.openai.com/v1", None, Some("bad_url")),
        ("ftp://127.0.0.1/v1", None, Some("bad_url")),
        ("file:///etc/passwd", None, Some("bad_url")),
        ("http://me:hidden@127.0.0.1/v1", None, Some("bad_url")),
        ("http://127.0.0.1/v1?key=hidden", None, Some("bad_url")),
        ("http://127.0.0.1/v1#hidden", None, Some("bad_url")),
    ] {
        match (made(base_url, key), reason) {
            (Ok(model), None) => {
                let debug = format!("{model:?}");
                assert!(
                    debug.contains("/chat/completions") && !debug.contains(KEY),
                    "{debug}"
                );
                assert_eq!(model.warning().is_some(), base_url.contains("192.0.2.1"));
            }
            (Err(fault), Some(reason)) => {
                assert_eq!(fault.reason(), reason, "{base_url}: {fault}");
                let shown = format!("{fault} {fault:?}");
                assert!(
                    !shown.contains("hidden") && !key.is_some_and(|key| shown.contains(key)),
                    "{shown}"
                );
            }
            (made, _) => panic!("{base_url}: {made:?}"),
        }
    }
    for (name, fine) in [
        ("a", true),
        ("org/m:7b@q4", true),
        ("", false),
        ("a b", false),
        ("a\n", false),
    ] {
        assert_eq!(
            Remote::new(RemoteConfig {
                base_url: "http://127.0.0.1:1".into(),
                ..RemoteConfig::new(Wire::OpenAi, name)
            })
            .is_ok(),
            fine
        );
    }
    assert!(
        Remote::new(RemoteConfig {
            base_url: "http://127.0.0.1:1".into(),
            ..RemoteConfig::new(Wire::OpenAi, "x".repeat(201))
        })
        .is_err()
    );
}
