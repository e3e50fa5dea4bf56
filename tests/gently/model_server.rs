//! A local model server that behaves as a test tells it to, wrongly when asked.
//!
//! ```text
//! let server = ModelServer::start(Behaviour::Good);
//! … base_url = server.base_url() …
//! assert_eq!(server.requests().len(), 1);
//! ```
//!
//! Plain sockets rather than a web framework, because half of the behaviours are what a framework
//! prevents: answers that end early, no answer at all, bytes that are not HTTP. One thread a
//! connection; all of them end when the server is dropped.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// What [`Behaviour::Good`] and its like answer.
pub const ANSWER: &str = "The capital of France is Paris.";
/// The longest that a test waits for what must happen; reached only when it does not.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the server treats a request.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Answers [`ANSWER`] with usage 11 and 7.
    Good,
    /// Answers this text.
    Says(String),
    /// Answers [`ANSWER`] after this time.
    Slow(Duration),
    /// Answers [`ANSWER`] once the test has called [`ModelServer::release`].
    Gate,
    /// Nobody listens at all.
    Refused,
    /// Takes the request and never answers.
    NeverBegins,
    /// Sends half of an answer and never the rest.
    StallsInBody,
    /// Takes the request and closes the connection.
    HangsUp,
    /// Closes every connection before reading anything.
    ClosesAtOnce,
    /// Sends half of an answer whose length it announced, then closes.
    CutBody,
    /// Sends one chunk of a chunked answer, then closes.
    CutChunked,
    /// Sends half of an answer of unannounced length, then closes.
    CutJson,
    /// Sends something that is not HTTP.
    NotHttp,
    /// 200, `application/json`, and a body that is no JSON.
    BrokenJson,
    /// 200, `application/json`, and no byte of body.
    EmptyBody,
    /// An answer of so many `x`.
    Big(usize),
    /// Announces a body of so many bytes and sends none.
    Announces(u64),
    /// Sends so many bytes of JSON white space, chunked and unannounced.
    Endless(usize),
    /// A good answer under another content type; empty: none at all.
    ContentType(&'static str),
    /// A good answer whose `choices[0].message` is this.
    Message(Value),
    /// 200 with this body.
    Json(String),
    /// This status, these headers, and an error object with these words, as the provider asked for
    /// would word it.
    Fails(u16, Vec<(&'static str, String)>, String),
    /// This status, these headers, this body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// 401 with the Authorization header it received in the error text.
    EchoesKey,
    /// Answers these texts one after the other, with a pause between, where it is asked to stream;
    /// all of them at once elsewhere.
    Pieces(Vec<String>, Duration),
    /// The same, and closes the connection before the end where it streams.
    BrokenPieces(Vec<String>),
    /// As this says for the body of a request: several are asked at once, in no order.
    By(fn(&Value) -> Behaviour),
    /// Refuses to stream with this status, and answers [`ANSWER`] to whoever does not ask for it.
    NoStream(u16),
}

impl Behaviour {
    /// 401 as OpenAI words it.
    pub fn unauthorized() -> Self {
        Self::error(
            401,
            "Incorrect API key provided: sk-ab***yz. You can find your API key on your account page.",
        )
    }

    /// 404 for a model that is not there.
    pub fn no_such_model() -> Self {
        Self::error(
            404,
            "The model `nobody-7b` does not exist or you do not have access to it.",
        )
    }

    /// 429 with Retry-After.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::Fails(
            429,
            vec![("retry-after", retry_after.to_owned())],
            "Rate limit reached for requests.".to_owned(),
        )
    }

    /// A status with an error object as the provider sends it.
    pub fn error(status: u16, message: &str) -> Self {
        Self::Fails(status, Vec::new(), message.to_owned())
    }

    /// An answer that asks for a tool, and says nothing.
    pub fn tool_calls() -> Self {
        let call = json!({"type": "function", "id": "call_1", "function": {"name": "look", "arguments": "{}"}});
        Self::Message(json!({"role": "assistant", "content": null, "tool_calls": [call]}))
    }

    /// An answer of two parts.
    pub fn parts() -> Self {
        let parts = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
        Self::Message(json!({"role": "assistant", "content": parts}))
    }
}

fn error_body(received: &Received, message: &str) -> String {
    match received.line.as_str() {
        OLLAMA => json!({"error": message}),
        ANTHROPIC => json!({"type": "error", "error": {"type": "test", "message": message}, "request_id": "req_1"}),
        _ => json!({"error": {"message": message, "type": "test", "param": null, "code": null}}),
    }
    .to_string()
}

/// The three places where a model is asked.
const OPENAI: &str = "POST /v1/chat/completions";
const OLLAMA: &str = "POST /api/chat";
const ANTHROPIC: &str = "POST /v1/messages";
/// The two places where a server is asked for the window of a model.
const LOOKS: [&str; 2] = ["GET /v1/models", "POST /api/show"];
/// The models that every server lists, not in order.
pub const MODELS: [&str; 2] = ["small-1b", "other:2b"];

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// `POST /v1/chat/completions`.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl Received {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Default)]
struct State {
    requests: Vec<Received>,
    looks: Vec<Received>,
    connections: usize,
    released: bool,
    stopped: bool,
    open: Vec<TcpStream>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    script: Vec<Behaviour>,
    /// Whether the models are listed, whatever the behaviour.
    lists: bool,
    /// What it tells of the window of its model: to `POST /api/show`, and beside each name of its
    /// list.
    told: [Value; 2],
    state: Mutex<State>,
    changed: Condvar,
}

/// A running server; it stops when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// A server that treats requests for its list of models as the behaviour says, too.
    pub fn silent(behaviour: Behaviour) -> Self {
        Self::begin(vec![behaviour], false)
    }

    /// A server that tells of the window of its model: Ollama's words, and those that stand beside
    /// each name in OpenAI's list.
    pub fn telling(script: Vec<Behaviour>, show: Value, entry: Value) -> Self {
        Self::made(Shared {
            script,
            lists: true,
            told: [show, entry],
            ..Shared::default()
        })
    }

    /// A server that treats every request alike.
    pub fn start(behaviour: Behaviour) -> Self {
        Self::script(vec![behaviour])
    }

    /// A server that treats the first request as the first behaviour says, and so on; the last one
    /// stays.
    pub fn script(script: Vec<Behaviour>) -> Self {
        Self::begin(script, true)
    }

    fn begin(script: Vec<Behaviour>, lists: bool) -> Self {
        Self::made(Shared {
            script,
            lists,
            ..Shared::default()
        })
    }

    fn made(shared: Shared) -> Self {
        assert!(!shared.script.is_empty());
        let refused = matches!(shared.script.first(), Some(Behaviour::Refused));
        let shared = Arc::new(shared);
        if refused {
            // Loopback, the discard port, an address of its own: no test listens there.
            let address = SocketAddr::from(([127, 0, 0, 77], 9));
            return Self {
                address,
                shared,
                listener: None,
            };
        }
        let socket = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.listen(&socket)
        });
        Self {
            address,
            shared,
            listener: Some(listener),
        }
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// `http://127.0.0.1:PORT`, for those who add the version themselves.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Questions about the window of a model, in order.
    pub fn looks(&self) -> Vec<Received> {
        self.shared.lock().looks.clone()
    }

    /// What has come so far beside them, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.lock().requests.clone()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// Waits until so many requests have come.
    pub fn wait_for(&self, requests: usize) {
        self.shared
            .wait(PATIENCE, |state| state.requests.len() >= requests);
        let came = self.requests().len();
        assert!(
            came >= requests,
            "the model server got {came} requests, expected {requests}"
        );
    }

    /// Opens the gate, for the requests that wait and for all later ones.
    pub fn release(&self) {
        self.shared.change(|state| state.released = true);
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.change(|state| state.stopped = true);
        let Some(listener) = self.listener.take() else {
            return;
        };
        // One last connection wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
        let _ = listener.join();
        let (open, workers) = {
            let mut state = self.shared.lock();
            (
                std::mem::take(&mut state.open),
                std::mem::take(&mut state.workers),
            )
        };
        open.iter()
            .for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        workers.into_iter().for_each(|worker| drop(worker.join()));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits for the condition, the end of the server or of patience, whichever is first.
    fn wait(&self, patience: Duration, until: impl Fn(&State) -> bool) {
        let going_on = |state: &mut State| !until(state) && !state.stopped;
        drop(
            self.changed
                .wait_timeout_while(self.lock(), patience, going_on),
        );
    }

    fn listen(self: &Arc<Self>, socket: &TcpListener) {
        for stream in socket.incoming() {
            let Ok(stream) = stream else { continue };
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            state.connections += 1;
            state.open.extend(stream.try_clone());
            let shared = Arc::clone(self);
            // Errors here are clients that went away, which is theirs to do.
            state
                .workers
                .push(std::thread::spawn(move || drop(shared.serve(stream))));
        }
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        if !matches!(self.script.first(), Some(Behaviour::ClosesAtOnce)) {
            let received = receive(&stream)?;
            let is_look = self.lists && LOOKS.contains(&received.line.as_str());
            let mut number = 0;
            self.change(|state| {
                number = state.requests.len();
                let came = match is_look {
                    true => &mut state.looks,
                    false => &mut state.requests,
                };
                came.push(received.clone());
            });
            let last = self.script.len() - 1;
            self.answer(&self.script[number.min(last)], &received, &mut stream)?;
        }
        // The other handle of `open` would keep the connection.
        stream.shutdown(Shutdown::Both)
    }

    fn answer(
        &self,
        behaviour: &Behaviour,
        received: &Received,
        stream: &mut TcpStream,
    ) -> std::io::Result<()> {
        let good = completion(received, &json!({"role": "assistant", "content": ANSWER}));
        let (first, _) = good.split_at(good.len() / 2);
        let json = |body: &str| reply(200, &[("content-type", "application/json".into())], body);
        let announced = |length: u64| format!("{HEAD}content-length: {length}\r\n\r\n");
        match behaviour {
            _ if self.lists && received.line == "GET /api/tags" => {
                let models = MODELS.map(|name| json!({"name": name, "model": name, "size": 1}));
                return stream.write_all(&json(&json!({"models": models}).to_string()));
            }
            _ if self.lists && received.line == "GET /v1/models" => {
                let models = MODELS.map(|id| {
                    let mut entry = self.told[1].clone();
                    entry["id"] = json!(id);
                    entry["object"] = json!("model");
                    entry
                });
                return stream.write_all(&json(
                    &json!({"object": "list", "data": models}).to_string(),
                ));
            }
            _ if self.lists && received.line == "POST /api/show" && !self.told[0].is_null() => {
                return stream.write_all(&json(&self.told[0].to_string()));
            }
            Behaviour::By(choose) if received.line.starts_with("POST") => {
                return self.answer(&choose(&received.json()), received, stream);
            }
            _ if self.lists && ![OPENAI, OLLAMA, ANTHROPIC].contains(&received.line.as_str()) => {
                return stream.write_all(&reply(
                    404,
                    &[],
                    &format!("no such place: {}", received.line),
                ));
            }
            Behaviour::Refused
            | Behaviour::ClosesAtOnce
            | Behaviour::HangsUp
            | Behaviour::By(_) => {}
            Behaviour::NeverBegins => self.wait(PATIENCE * 4, |_| false),
            Behaviour::Slow(time) => self.wait(*time, |_| false),
            Behaviour::Gate => self.wait(PATIENCE * 4, |state| state.released),
            _ => {}
        }
        let streams = || serde_json::from_slice::<Value>(&received.body).unwrap()["stream"] == true;
        match behaviour {
            Behaviour::Pieces(texts, pause) if streams() => {
                for piece in pieces(received, texts) {
                    stream.write_all(piece.as_bytes())?;
                    self.wait(*pause, |_| false);
                }
                return Ok(());
            }
            Behaviour::NoStream(status) if streams() => {
                let words = "Unsupported parameter: 'stream_options'.";
                return stream.write_all(&reply(*status, &[], &error_body(received, words)));
            }
            Behaviour::BrokenPieces(texts) if streams() => {
                let pieces = pieces(received, texts);
                let mut begun = pieces.iter().take(pieces.len() - 1);
                return begun.try_for_each(|piece| stream.write_all(piece.as_bytes()));
            }
            _ => {}
        }
        let bytes = match behaviour {
            Behaviour::Refused
            | Behaviour::ClosesAtOnce
            | Behaviour::HangsUp
            | Behaviour::By(_)
            | Behaviour::NeverBegins => Vec::new(),
            Behaviour::Good | Behaviour::Slow(_) | Behaviour::Gate | Behaviour::NoStream(_) => {
                json(&good)
            }
            Behaviour::Pieces(texts, _) | Behaviour::BrokenPieces(texts) => json(&completion(
                received,
                &json!({"role": "assistant", "content": texts.concat()}),
            )),
            Behaviour::Says(text) => json(&completion(
                received,
                &json!({"role": "assistant", "content": text}),
            )),
            Behaviour::StallsInBody | Behaviour::CutBody => {
                let length = u64::try_from(good.len()).unwrap();
                [announced(length).as_bytes(), first.as_bytes()].concat()
            }
            Behaviour::CutChunked => format!(
                "{HEAD}transfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n",
                first.len()
            )
            .into_bytes(),
            Behaviour::CutJson => format!("{HEAD}\r\n{first}").into_bytes(),
            Behaviour::NotHttp => b"220 mail.invalid ESMTP\r\n".to_vec(),
            Behaviour::BrokenJson => json(&good.replacen(':', "=", 1)),
            Behaviour::EmptyBody => json(""),
            Behaviour::Big(size) => json(&completion(
                received,
                &json!({"role": "assistant", "content": "x".repeat(*size)}),
            )),
            Behaviour::Announces(length) => announced(*length).into_bytes(),
            Behaviour::Endless(size) => format!(
                "{HEAD}transfer-encoding: chunked\r\n\r\n{size:x}\r\n{}",
                " ".repeat(*size)
            )
            .into_bytes(),
            Behaviour::ContentType("") => reply(200, &[], &good),
            Behaviour::ContentType(kind) => reply(200, &[("content-type", (*kind).into())], &good),
            Behaviour::Message(message) => json(&completion(received, message)),
            Behaviour::Json(body) => json(body),
            Behaviour::Status(status, headers, body) => reply(*status, headers, body),
            Behaviour::Fails(status, headers, words) => {
                reply(*status, headers, &error_body(received, words))
            }
            Behaviour::EchoesKey => {
                let key = received
                    .header("authorization")
                    .or(received.header("x-api-key"))
                    .unwrap_or_default();
                reply(
                    401,
                    &[("www-authenticate", key.into())],
                    &error_body(received, &format!("I don't know `{key}` here")),
                )
            }
        };
        stream.write_all(&bytes)?;
        if matches!(behaviour, Behaviour::StallsInBody) {
            self.wait(PATIENCE * 4, |_| false);
        }
        Ok(())
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";

fn reply(status: u16, headers: &[(&str, String)], body: &str) -> Vec<u8> {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!(
        "HTTP/1.1 {status} X\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

fn completion(received: &Received, message: &Value) -> String {
    let asked = serde_json::from_slice::<Value>(&received.body).unwrap_or_default();
    match received.line.as_str() {
        OLLAMA => {
            return json!({
                "model": asked["model"], "created_at": "2026-01-02T03:04:05.678901Z", "message": ollama_message(message),
                "done": true, "done_reason": "stop", "total_duration": 5_191_566_416_u64, "load_duration": 2_154_458,
                "prompt_eval_count": 11, "prompt_eval_duration": 383_809_000, "eval_count": 7,
                "eval_duration": 4_799_921_000_u64,
            })
            .to_string();
        }
        ANTHROPIC => {
            return json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"],
                "content": anthropic_content(message), "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 0},
            })
            .to_string();
        }
        _ => {}
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_154_300, "model": asked["model"],
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    })
    .to_string()
}

/// The response to a request that asks for a stream: its head, then a piece for each text, then the
/// end.
fn pieces(received: &Received, texts: &[String]) -> Vec<String> {
    let whole = completion(
        received,
        &json!({"role": "assistant", "content": texts.concat()}),
    );
    let mut last: Value = serde_json::from_str(&whole).unwrap();
    if received.line == OLLAMA {
        let said = |text: &str| json!({"role": "assistant", "content": text});
        let piece = |text: &String| {
            let (model, message) = (&last["model"], said(text));
            let at = "2026-01-02T03:04:04.000000Z";
            let piece =
                json!({"model": model, "created_at": at, "message": message, "done": false});
            format!("{piece}\n")
        };
        let head = HEAD.replace("application/json", "application/x-ndjson") + "\r\n";
        let said_so_far: Vec<String> = texts.iter().map(piece).collect();
        last["message"] = said("");
        return [vec![head], said_so_far, vec![format!("{last}\n")]].concat();
    }
    if received.line == OPENAI {
        return openai_pieces(received, texts, last);
    }
    let event = |event: Value| {
        let kind = event["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    let (reason, usage) = (last["stop_reason"].take(), last["usage"].clone());
    (last["content"], last["usage"]["output_tokens"]) = (json!([]), json!(1));
    let add = |text: &String| {
        let delta = json!({"type": "text_delta", "text": text});
        event(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
    };
    let part = json!({"type": "text", "text": ""});
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": usage["output_tokens"]});
    let head = HEAD.replace("application/json", "text/event-stream; charset=utf-8") + "\r\n";
    let begin = [
        event(json!({"type": "message_start", "message": last})),
        event(json!({"type": "content_block_start", "index": 0, "content_block": part})),
        event(json!({"type": "ping"})),
    ];
    let end = [
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "message_delta", "delta": delta, "usage": usage})),
        event(json!({"type": "message_stop"})),
    ];
    let said: Vec<String> = texts.iter().map(add).collect();
    [vec![head], begin.to_vec(), said, end.to_vec()].concat()
}

/// The same as OpenAI words it: the message grows piece by piece, and what it used comes last if
/// that is asked for.
fn openai_pieces(received: &Received, texts: &[String], mut whole: Value) -> Vec<String> {
    let usage = whole["usage"].take();
    whole["object"] = json!("chat.completion.chunk");
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = whole.clone();
        (chunk["choices"], chunk["usage"]) = (choices, usage);
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        chunk(json!([choice]), Value::Null)
    };
    let head = HEAD.replace("application/json", "text/event-stream") + "\r\n";
    let begin = delta(json!({"role": "assistant", "content": ""}), Value::Null);
    let said = texts
        .iter()
        .map(|text| delta(json!({"content": text}), Value::Null));
    let mut pieces = vec![head, begin];
    pieces.extend(said);
    pieces.push(delta(json!({}), json!("stop")));
    if received.json()["stream_options"]["include_usage"] == true {
        pieces.push(chunk(json!([]), usage));
    }
    pieces.push("data: [DONE]\n\n".to_owned());
    pieces
}

/// A message of OpenAI's as Ollama words it: arguments are an object, calls have no type.
fn ollama_message(message: &Value) -> Value {
    let mut message = message.clone();
    if message["content"].is_null() {
        message["content"] = json!("");
    }
    if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            *call = json!({"function": {"name": call["function"]["name"], "arguments": arguments}});
        }
    }
    message
}

/// A message of OpenAI's as the parts of Anthropic.
fn anthropic_content(message: &Value) -> Value {
    let mut parts = match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let input: Value =
            serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        parts.push(json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input}));
    }
    json!(parts)
}

fn receive(stream: &TcpStream) -> std::io::Result<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let first = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let mut received = Received {
        line: first,
        headers,
        body: Vec::new(),
    };
    let length = received
        .header("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    reader.take(length).read_to_end(&mut received.body)?;
    Ok(received)
}
