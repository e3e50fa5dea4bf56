//! One table over the three dialects: what comes back, whatever the server does; and two of the
//! three for real.

#![allow(clippy::unwrap_used)]

use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gently::models::http::MAX_RESPONSE;
use gently::models::remote::{Remote, RemoteConfig};
use gently::models::wire::Wire;
use gently::models::{Answer, Backend, CallStage, ModelFault, Request, ServerWindow, Usage};
use gently::record::ledger::params::Params;
use gently::record::ledger::prompt::{ChatMessage, ChatRole};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::llama;
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

/// The address of a test's server as each dialect wants it.
fn base_url(wire: Wire, root: &str) -> String {
    if wire == Wire::OpenAi {
        format!("{root}/v1")
    } else {
        root.to_owned()
    }
}

fn config(wire: Wire, root: &str) -> RemoteConfig {
    let key = (wire != Wire::Ollama).then(|| Zeroizing::new(KEY.to_owned()));
    let total_timeout = Duration::from_secs(20);
    RemoteConfig {
        base_url: base_url(wire, root),
        api_key: key,
        total_timeout,
        ..RemoteConfig::new(wire, "small-1b")
    }
}

async fn ask(wire: Wire, behaviour: Behaviour) -> Result<Answer, ModelFault> {
    let server = ModelServer::start(behaviour);
    Remote::new(config(wire, &server.root_url()))
        .unwrap()
        .call(request())
        .await
}

#[tokio::test]
async fn each_dialect_sends_its_shape_and_reads_its_answer() {
    let params = Params {
        temperature: Some("0.2".parse().unwrap()),
        max_tokens: Some(64),
        seed: Some(7),
        system: Some("stands in the compiled prompt already".into()),
        ..Params::default()
    };
    let messages =
        json!([{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]);
    let only_user = json!([{"role": "user", "content": QUESTION}]);
    for (wire, line, body) in [
        (
            Wire::OpenAi,
            "POST /v1/chat/completions",
            json!({"model": "small-1b", "messages": messages, "stream": false, "temperature": 0.2, "max_tokens": 64, "seed": 7}),
        ),
        (
            Wire::Ollama,
            "POST /api/chat",
            json!({"model": "small-1b", "messages": messages, "stream": false,
                   "truncate": false, "shift": false, "options": {"temperature": 0.2, "num_predict": 64, "seed": 7}}),
        ),
        (
            Wire::Anthropic,
            "POST /v1/messages",
            json!({"model": "small-1b", "max_tokens": 64, "system": SYSTEM, "messages": only_user,
                   "stream": false, "temperature": 0.2}),
        ),
    ] {
        let server = ModelServer::start(Behaviour::Good);
        let (fit, left_out) = wire.fit(&params);
        assert_eq!(
            left_out,
            if wire == Wire::Anthropic {
                vec!["seed"]
            } else {
                vec![]
            }
        );
        let model = Remote::new(RemoteConfig {
            params: fit,
            ..config(wire, &server.root_url())
        })
        .unwrap();
        assert_eq!(model.id(), format!("{}/small-1b", wire.name()));
        let answer = model.call(request()).await.unwrap();
        assert_eq!(answer.text, ANSWER);
        assert_eq!(
            answer.usage,
            Usage {
                prompt_tokens: Some(11),
                completion_tokens: Some(7)
            }
        );
        assert_eq!(
            answer.beside.finish_reason.as_deref(),
            Some(if wire == Wire::Anthropic {
                "end_turn"
            } else {
                "stop"
            })
        );
        assert_eq!(answer.beside.model.as_deref(), Some("small-1b"));
        let received = server.requests().pop().unwrap();
        assert_eq!((received.line.as_str(), received.json()), (line, body));
        assert_eq!(received.body, answer.wire_request);
        let bearer = format!("Bearer {KEY}");
        let (authorization, api_key, version) = match wire {
            Wire::OpenAi => (Some(bearer.as_str()), None, None),
            Wire::Ollama => (None, None, None),
            Wire::Anthropic => (None, Some(KEY), Some("2023-06-01")),
        };
        assert_eq!(received.header("authorization"), authorization);
        assert_eq!(received.header("x-api-key"), api_key);
        assert_eq!(received.header("anthropic-version"), version);
    }
}

#[tokio::test]
async fn each_dialect_says_the_same_of_the_same_answers() {
    let big = 10 * 1024 * 1024;
    for wire in Wire::ALL {
        let call = match wire {
            Wire::OpenAi => {
                r#"[{"function":{"arguments":"{}","name":"look"},"id":"call_1","type":"function"}]"#
            }
            Wire::Ollama => r#"[{"function":{"arguments":{},"name":"look"}}]"#,
            Wire::Anthropic => r#"[{"id":"call_1","input":{},"name":"look","type":"tool_use"}]"#,
        };
        let mut table = vec![
            (Behaviour::Good, ANSWER.to_owned()),
            (Behaviour::Says(String::new()), String::new()),
            (
                Behaviour::Says(" é\n\u{1F980} ".into()),
                " é\n\u{1F980} ".to_owned(),
            ),
            (
                Behaviour::Slow(Duration::from_millis(100)),
                ANSWER.to_owned(),
            ),
            (Behaviour::Big(big), "x".repeat(big)),
            (
                Behaviour::ContentType("application/json; charset=utf-8"),
                ANSWER.to_owned(),
            ),
            (Behaviour::tool_calls(), call.to_owned()),
        ];
        if wire != Wire::Ollama {
            // Its messages have one text.
            let parts = r#"[{"text":"one","type":"text"},{"text":"two","type":"text"}]"#;
            table.push((Behaviour::parts(), parts.to_owned()));
        }
        for (behaviour, text) in table {
            let name = format!("{wire:?} {behaviour:?}");
            let answer = ask(wire, behaviour)
                .await
                .unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert!(answer.text == text, "{name}");
        }
    }
}

#[tokio::test]
async fn each_dialect_gives_the_same_fault_the_same_reason() {
    let table = || {
        [
            (Behaviour::Refused, "unreachable", "nobody listens there"),
            (Behaviour::HangsUp, "cut", "before the answer began"),
            (Behaviour::CutBody, "cut", "bytes came"),
            (Behaviour::CutChunked, "cut", "bytes came"),
            (Behaviour::CutJson, "cut", "unfinished after"),
            (Behaviour::NotHttp, "malformed", "expected HTTP"),
            (
                Behaviour::BrokenJson,
                "malformed",
                "expected JSON, found: expected `:` at line 1",
            ),
            (Behaviour::Json("{}".into()), "malformed", "expected a"),
            (Behaviour::EmptyBody, "empty", "0 bytes"),
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
                Behaviour::ContentType("application/x-ndjson"),
                "wrong_content_type",
                "is application/x-ndjson",
            ),
            (
                Behaviour::ContentType(""),
                "wrong_content_type",
                "of no stated type",
            ),
            (
                Behaviour::unauthorized(),
                "http_401",
                "401: Incorrect API key provided: [removed] You can find",
            ),
            (
                Behaviour::no_such_model(),
                "http_404",
                "404: The model `nobody-7b` does not exist",
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
            (
                Behaviour::error(529, "Overloaded"),
                "http_529",
                "529: Overloaded",
            ),
            (
                Behaviour::Status(503, Vec::new(), String::new()),
                "http_503",
                "503 and gave no reason",
            ),
        ]
    };
    for wire in Wire::ALL {
        let asked = table().map(|(behaviour, reason, words)| async move {
            let name = format!("{wire:?} {behaviour:?}");
            let fault = ask(wire, behaviour).await.expect_err(&name);
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
            for other in Wire::ALL.into_iter().filter(|other| *other != wire) {
                assert!(
                    !message.contains(other.setting()),
                    "{name} names another wire's setting: {message}"
                );
            }
        });
        join_all(asked).await;
    }
}

#[tokio::test]
async fn a_key_that_is_echoed_is_not_shown() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let fault = ask(wire, Behaviour::EchoesKey).await.unwrap_err();
        assert!(fault.to_string().contains("[removed]"), "{fault}");
        assert!(
            !format!("{fault} {fault:?}").contains("Zq8_wert"),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn each_dialect_runs_out_of_time_before_and_in_the_middle() {
    let limit = Duration::from_millis(1500);
    let cases = Wire::ALL.into_iter().flat_map(|wire| {
        [
            (wire, Behaviour::NeverBegins, CallStage::Head),
            (wire, Behaviour::StallsInBody, CallStage::Body),
        ]
    });
    let asked = cases.map(|(wire, behaviour, stage)| async move {
        let server = ModelServer::start(behaviour);
        let model = Remote::new(RemoteConfig {
            total_timeout: limit,
            ..config(wire, &server.root_url())
        })
        .unwrap();
        let begun = Instant::now();
        let fault = model.call(request()).await.unwrap_err();
        assert!(
            matches!(&fault, ModelFault::Timeout { stage: at, .. } if *at == stage),
            "{wire:?}: {fault}"
        );
        assert_eq!(fault.reason(), "timeout");
        assert!(begun.elapsed() >= limit);
        assert_eq!(server.connections(), 1);
    });
    join_all(asked).await;
}

#[tokio::test]
async fn half_of_an_ollama_stream_is_cut() {
    let half = r#"{"model":"m","message":{"role":"assistant","content":"The cap"},"done":false}"#;
    let fault = ask(Wire::Ollama, Behaviour::Json(half.into()))
        .await
        .unwrap_err();
    assert_eq!(fault.reason(), "cut", "{fault}");
}

/// What is asked for piece by piece is the answer, and the reply, that comes at once.
#[tokio::test]
async fn a_streamed_answer_is_the_same_and_is_counted_while_it_comes() {
    let texts = ["The capital ", "of France ", "is Paris. é"].map(str::to_owned);
    let pieces = Behaviour::Pieces(texts.to_vec(), Duration::from_millis(30));
    for wire in Wire::ALL {
        let server = ModelServer::start(pieces.clone());
        let model = Remote::new(config(wire, &server.root_url())).unwrap();
        let told = Mutex::new(Vec::new());
        let came = |characters| told.lock().unwrap().push(characters);
        let watched = model.watch(request(), &came).await.unwrap();
        let at_once = model.call(request()).await.unwrap();
        let told = told.into_inner().unwrap();
        assert_eq!(told, [12, 22, 33], "{wire:?}");
        let asked: Vec<Value> = server
            .requests()
            .iter()
            .map(|one| one.json()["stream"].clone())
            .collect();
        assert_eq!(asked, [json!(true), json!(false)]);
        assert_eq!(watched.text, texts.concat());
        assert_eq!(
            (watched.text, watched.usage, watched.beside),
            (at_once.text, at_once.usage, at_once.beside),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_never_ends_is_no_answer() {
    let came = |_| ();
    let texts = vec!["The capital ".to_owned(), "of".to_owned()];
    for wire in Wire::ALL {
        for (behaviour, reason) in [
            (Behaviour::BrokenPieces(texts.clone()), "cut"),
            (Behaviour::Endless(MAX_RESPONSE + 1), "too_large"),
            (Behaviour::ContentType("text/plain"), "wrong_content_type"),
            (Behaviour::rate_limited("7"), "rate_limited"),
        ] {
            let server = ModelServer::start(behaviour);
            let model = Remote::new(config(wire, &server.root_url())).unwrap();
            let fault = model.watch(request(), &came).await.unwrap_err();
            assert_eq!(fault.reason(), reason, "{wire:?}: {fault}");
        }
        // A server need not stream because it was asked to.
        let server = ModelServer::start(Behaviour::Good);
        let model = Remote::new(config(wire, &server.root_url())).unwrap();
        assert_eq!(model.watch(request(), &came).await.unwrap().text, ANSWER);
    }
}

/// A server that has no streams says so before it answers, and is asked once more without; what it
/// refuses then, it refuses.
#[tokio::test]
async fn a_server_that_refuses_to_stream_is_asked_once_more() {
    let came = |_| panic!("nothing came piece by piece");
    for status in [400, 422] {
        let server = ModelServer::start(Behaviour::NoStream(status));
        let model = Remote::new(config(Wire::OpenAi, &server.root_url())).unwrap();
        let answer = model.watch(request(), &came).await.unwrap();
        assert_eq!(answer.text, ANSWER);
        assert!(answer.beside.unstreamed, "it says that both were sent");
        let sent: Vec<Value> = server.requests().iter().map(|one| one.json()).collect();
        let streams: Vec<&Value> = sent.iter().map(|one| &one["stream"]).collect();
        assert_eq!(streams, [&json!(true), &json!(false)]);
        assert_eq!(sent[0]["stream_options"], json!({"include_usage": true}));
        assert_eq!(sent[1]["stream_options"], Value::Null);
        assert_eq!(sent[0]["messages"], sent[1]["messages"]);
    }
    for (wire, behaviour, times) in [
        (Wire::OpenAi, Behaviour::error(400, "too long"), 2),
        (Wire::OpenAi, Behaviour::unauthorized(), 1),
        (Wire::OpenAi, Behaviour::error(500, "down"), 1),
        (Wire::Ollama, Behaviour::error(400, "too long"), 1),
        (Wire::Anthropic, Behaviour::error(422, "no"), 1),
    ] {
        let name = format!("{wire:?} {behaviour:?}");
        let server = ModelServer::start(behaviour);
        let model = Remote::new(config(wire, &server.root_url())).unwrap();
        let fault = model.watch(request(), &came).await.unwrap_err();
        assert_eq!(server.requests().len(), times, "{name}");
        let is_twice = fault.reason().ends_with(".unstreamed");
        assert_eq!(is_twice, times == 2, "{name}: {}", fault.reason());
    }
}

/// A server is asked for a model's window once, and whatever it says is no fault.
#[tokio::test]
async fn a_window_is_asked_for_once_and_never_missed() {
    let unknown = |wire| ServerWindow {
        most: None,
        by_itself: (wire == Wire::Ollama).then_some(2048),
    };
    for wire in Wire::ALL {
        let show = json!({"model_info": {"x.context_length": 4096}, "parameters": "num_ctx 3000"});
        let entry = json!({"max_model_len": 4096});
        let server = ModelServer::telling(vec![Behaviour::Good], show, entry);
        let model = Remote::new(config(wire, &server.root_url())).unwrap();
        let expected = ServerWindow {
            most: (wire != Wire::Anthropic).then_some(4096),
            by_itself: (wire == Wire::Ollama).then_some(3000),
        };
        for _ in 0..2 {
            assert_eq!(model.window().await, expected, "{wire:?}");
        }
        let looks = server.looks();
        assert_eq!(looks.len(), usize::from(wire != Wire::Anthropic));
        let bearer = format!("Bearer {KEY}");
        let key = (wire == Wire::OpenAi).then_some(bearer.as_str());
        let sent = looks.first().map(|one| one.header("authorization"));
        assert_eq!(sent, (wire != Wire::Anthropic).then_some(key));
        let broken = [
            Behaviour::Refused,
            Behaviour::NeverBegins,
            Behaviour::HangsUp,
            Behaviour::StallsInBody,
            Behaviour::NotHttp,
            Behaviour::BrokenJson,
            Behaviour::Json("[]".into()),
            Behaviour::Announces(40_000_000),
            Behaviour::unauthorized(),
            Behaviour::Status(302, vec![("location", server.root_url())], String::new()),
        ];
        for (number, behaviour) in broken.into_iter().enumerate() {
            let name = format!("{wire:?} {behaviour:?}");
            let silent = ModelServer::silent(behaviour);
            // A port may be one that another test had: the name makes it another model.
            let model = Remote::new(RemoteConfig {
                model: format!("silent-{number}"),
                ..config(wire, &silent.root_url())
            });
            assert_eq!(model.unwrap().window().await, unknown(wire), "{name}");
        }
        assert!(server.requests().is_empty());
    }
}

/// llama.cpp speaks OpenAI's dialect and Anthropic's.
#[tokio::test]
async fn a_real_model_answers_twice_alike_in_two_dialects() {
    let Some(llama) = tokio::task::spawn_blocking(llama::llama).await.unwrap() else {
        return;
    };
    let messages = [
        ChatMessage::new(ChatRole::System, "You answer in one short sentence."),
        ChatMessage::new(ChatRole::User, "What is the capital of France?"),
    ];
    let request = Request {
        messages: &messages,
        images: &[],
        settings: &[],
        tools: &[],
        tool_choice: None,
        stream: false,
    };
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let params = Params {
            temperature: Some("0".parse().unwrap()),
            max_tokens: Some(24),
            seed: Some(1),
            ..Params::default()
        };
        let made = RemoteConfig::new(wire, llama.model.clone());
        let config = RemoteConfig {
            base_url: base_url(wire, &llama.root_url),
            params: wire.fit(&params).0,
            ..made
        };
        let model = Remote::new(config).unwrap();
        let one = model.call(request).await.unwrap();
        let two = model.call(request).await.unwrap();
        assert!(!one.text.trim().is_empty(), "{wire:?}");
        assert_eq!(one.text, two.text, "{wire:?}");
        assert!(
            one.usage.prompt_tokens.is_some_and(|n| n > 5),
            "{wire:?}: {:?}",
            one.usage
        );
        assert!(
            one.usage
                .completion_tokens
                .is_some_and(|n| (1..=24).contains(&n)),
            "{wire:?}: {:?}",
            one.usage
        );
        let stops = ["stop", "length", "end_turn", "max_tokens"];
        assert!(
            one.beside
                .finish_reason
                .as_deref()
                .is_some_and(|r| stops.contains(&r)),
            "{wire:?}: {:?}",
            one.beside.finish_reason
        );
        assert_eq!(
            one.beside.model.as_deref(),
            Some(llama.model.as_str()),
            "{wire:?}"
        );
        assert_eq!(one.wire_request, two.wire_request);
        let told = Mutex::new(0);
        let came = |characters| *told.lock().unwrap() = characters;
        let watched = model.watch(request, &came).await.unwrap();
        assert_eq!(watched.text, one.text, "{wire:?}");
        let all = u64::try_from(one.text.chars().count()).unwrap();
        assert_eq!(*told.lock().unwrap(), all);
        // Streamed or not, the reply says the same of what it is beside its text.
        assert_eq!(watched.usage, one.usage, "{wire:?}");
        assert_eq!(
            watched.beside.finish_reason, one.beside.finish_reason,
            "{wire:?}"
        );
        let body: Value = serde_json::from_slice(&one.wire_response).unwrap();
        assert!(
            body.to_string()
                .contains(&serde_json::to_string(&one.text).unwrap()),
            "{body}"
        );
    }
}

/// What our test server says in Ollama's place is read by its official client, and what that client
/// sends is ours.
#[test]
fn the_official_ollama_client_and_we_agree() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
    let run = std::process::Command::new("sh")
        .arg(script)
        .arg("ollama")
        .output()
        .expect("there is a shell");
    match run.status.code() {
        Some(0) => {}
        Some(75) => {
            return eprintln!(
                "skipped: the Ollama client can't be had here:\n{}",
                String::from_utf8_lossy(&run.stderr)
            );
        }
        _ => panic!(
            "scripts/peers.sh ollama failed: {}",
            String::from_utf8_lossy(&run.stderr)
        ),
    }
    let site = String::from_utf8(run.stdout).unwrap().trim().to_owned();
    let server = ModelServer::script(vec![
        Behaviour::Good,
        Behaviour::Good,
        Behaviour::tool_calls(),
        Behaviour::no_such_model(),
        Behaviour::error(500, "broken"),
    ]);
    let python = std::process::Command::new("python3")
        .args([
            "-c",
            OLLAMA_CLIENT,
            &site,
            &server.root_url(),
            SYSTEM,
            QUESTION,
        ])
        .env_remove("OLLAMA_HOST")
        .env_remove("OLLAMA_API_KEY")
        .output()
        .unwrap();
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let said: Value = serde_json::from_slice(&python.stdout).unwrap();
    assert_eq!(said["names"], json!(["small-1b", "other:2b"]));
    assert_eq!(said["content"], ANSWER);
    assert_eq!(
        (&said["prompt"], &said["answer"], &said["reason"]),
        (&json!(11), &json!(7), &json!("stop"))
    );
    assert_eq!(said["call"], json!(["look", {}]));
    assert_eq!(
        said["errors"],
        json!([
            [
                404,
                "The model `nobody-7b` does not exist or you do not have access to it."
            ],
            [500, "broken"]
        ])
    );

    // Their request and ours, to the same question.
    let theirs = server
        .requests()
        .into_iter()
        .find(|r| r.line == "POST /api/chat")
        .unwrap()
        .json();
    let params = Params {
        temperature: Some("0.2".parse().unwrap()),
        max_tokens: Some(64),
        seed: Some(7),
        ..Params::default()
    };
    let ours: Value = serde_json::from_slice(&Wire::Ollama.request_body(
        "small-1b",
        request(),
        &params,
        "127.0.0.1",
    ))
    .unwrap();
    for key in ["model", "messages", "stream", "options"] {
        assert_eq!(theirs[key], ours[key], "{key}");
    }
    let more: Vec<_> = theirs
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| ours.get(key).is_none())
        .collect();
    // Theirs has no such wish unless somebody has it.
    assert_eq!(
        (&ours["truncate"], &ours["shift"]),
        (&json!(false), &json!(false))
    );
    assert!(
        more.iter()
            .all(|(_, value)| value.as_array().is_some_and(Vec::is_empty)),
        "{more:?}"
    );
}

const OLLAMA_CLIENT: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import ollama
client = ollama.Client(host=sys.argv[2])
said = {"names": [m.model for m in client.list().models]}
messages = [{"role": "system", "content": sys.argv[3]}, {"role": "user", "content": sys.argv[4]}]
options = {"temperature": 0.2, "num_predict": 64, "seed": 7}
answer = client.chat(model="small-1b", messages=messages, options=options, stream=False)
assert answer.done is True and answer.model == "small-1b" and answer.message.role == "assistant"
said.update(content=answer.message.content, prompt=answer.prompt_eval_count, answer=answer.eval_count, reason=answer.done_reason)
call = client.chat(model="small-1b", messages=messages).message.tool_calls[0].function
said["call"] = [call.name, dict(call.arguments)]
said["errors"] = []
for _ in range(2):
    try:
        client.chat(model="nobody-7b", messages=messages)
    except ollama.ResponseError as error:
        said["errors"].append([error.status_code, error.error])
print(json.dumps(said))
"#;
