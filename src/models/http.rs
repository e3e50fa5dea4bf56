//! The HTTP half of every model's wire: one connection, limits, the key, and the words of faults.
//!
//! The client is ours over reqwest because the record keeps the exact bytes. What it does on the
//! wire:
//! - one connection a call, HTTP/1.1, never reused ([`Repetition::Never`]);
//! - one more try after [`RETRY_PAUSE`] when no connection came about, never after a byte of the
//!   prompt was sent;
//! - no redirect is followed: the prompt goes to the configured address or nowhere;
//! - `https` anywhere; `http` to this machine (`localhost`, `127.0.0.0/8`, `::1`) with or without a
//!   key; `http` to other machines only without a key, with [`Endpoint::warning`].

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use tokio::time::{Instant, sleep, timeout_at};
use zeroize::Zeroizing;

use super::fault::KeySent;
use super::quote::{KeyPieces, quote};
use super::wire::{self, Wire, WireError};
use super::{BodyTimes, CallStage, ModelFault};
use crate::net;
use crate::net::{AddressFault, BodyFault, Repetition, is_loopback};
use crate::record::time::whole_millis;

/// Bytes of a response: a thousand times a long answer, and still no danger to memory.
pub const MAX_RESPONSE: usize = 32 * 1024 * 1024;
/// Bytes of an error response that are read; only [`super::quote::MAX_QUOTE`] characters of it are
/// ever shown.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// What is asked for, usually and where an answer may come piece by piece.
const WHOLE: &str = "application/json";
const PIECES: &str = "text/event-stream, application/x-ndjson, application/json";
/// How streams are called.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];
/// The pause before the second try for a connection: a server that restarts is back by then.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Where a server is, and how long it may take.
pub struct ServerAddress<'a> {
    /// Whose shapes it speaks.
    pub wire: Wire,
    /// The API's address, with or without a slash at the end.
    pub base_url: &'a str,
    /// What follows it.
    pub path: &'a [&'a str],
    /// The API key; `None` or blank sends none. White space around it is not part of it.
    pub key: Option<Zeroizing<String>>,
    /// Where a key comes from, for error messages.
    pub key_variable: &'a str,
    /// The limit for one connection.
    pub connect_timeout: Duration,
    /// The limit for the whole call, tries and pause included.
    pub total_timeout: Duration,
}

/// What is given the bytes of a response as they come.
type PieceHandler<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// The body of a response, and how it came.
pub struct ResponseBody {
    /// Byte for byte.
    pub bytes: Vec<u8>,
    /// Whether it is the pieces of an answer.
    pub is_stream: bool,
    /// How long it took to come.
    pub times: BodyTimes,
}

/// A server's address, ready to be asked.
pub struct Endpoint {
    wire: Wire,
    endpoint: Url,
    key: Option<Zeroizing<String>>,
    key_variable: String,
    connect_timeout: Duration,
    total_timeout: Duration,
    client: reqwest::Client,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "[removed]");
        f.debug_struct("Link")
            .field("endpoint", &self.shown())
            .field("key", &key)
            .finish()
    }
}

impl Endpoint {
    /// Checks the address and the key and makes the client; contacts nobody.
    ///
    /// # Errors
    /// [`ModelFault::BadUrl`] (not http(s), or with user info, query or fragment, which tend to
    /// hold secrets), [`ModelFault::RefusedKey`], [`ModelFault::NoClient`].
    pub fn new(place: ServerAddress<'_>) -> Result<Self, ModelFault> {
        let endpoint = endpoint(place.wire, place.base_url, place.path)?;
        let key = place
            .key
            .map(|key| Zeroizing::new(key.trim().to_owned()))
            .filter(|key| !key.is_empty());
        if let Some(key) = &key {
            check_key(key, &endpoint, place.key_variable)?;
        }
        Ok(Endpoint {
            wire: place.wire,
            client: net::client(&endpoint, place.connect_timeout, Repetition::Never).map_err(
                |error| ModelFault::NoClient {
                    url: endpoint.to_string(),
                    detail: causes(&error),
                },
            )?,
            endpoint,
            key,
            key_variable: place.key_variable.to_owned(),
            connect_timeout: place.connect_timeout,
            total_timeout: place.total_timeout,
        })
    }

    /// One line for the person when prompts and answers can be read on the way.
    pub fn warning(&self) -> Option<String> {
        let open = self.endpoint.scheme() == "http" && !is_loopback(&self.endpoint);
        open.then(|| {
            format!(
                "prompts and answers travel unencrypted to {}: use https",
                self.shown()
            )
        })
    }

    /// The host's name.
    pub fn host(&self) -> &str {
        self.endpoint.host_str().unwrap_or_default()
    }

    /// Sends a body, at most once, and gives the whole body of the response.
    ///
    /// # Errors
    /// [`ModelFault`], when the response is not 200, not JSON by its own word, or not whole.
    pub async fn post(&self, body: &[u8]) -> Result<ResponseBody, ModelFault> {
        let request = || self.posting(body).header(ACCEPT, WHOLE);
        self.exchange(&request, None).await
    }

    /// The same for a body that asks for an answer piece by piece; `each` is given what has come.
    ///
    /// # Errors
    /// As [`Endpoint::post`]; a response that is no stream is whole.
    pub async fn post_for_pieces(
        &self,
        body: &[u8],
        each: &mut PieceHandler<'_>,
    ) -> Result<ResponseBody, ModelFault> {
        let request = || self.posting(body).header(ACCEPT, PIECES);
        self.exchange(&request, Some(each)).await
    }

    /// The same server at another place below its address, with a limit of its own for the whole
    /// call.
    pub(super) fn beside(&self, path: &[&str], limit: Duration) -> Endpoint {
        let mut endpoint = self.endpoint.clone();
        if let Ok(mut segments) = endpoint.path_segments_mut() {
            self.wire.path().iter().for_each(|_| {
                segments.pop();
            });
            segments.extend(path);
        }
        Endpoint {
            wire: self.wire,
            endpoint,
            key: self.key.clone(),
            key_variable: self.key_variable.clone(),
            connect_timeout: limit,
            total_timeout: limit,
            client: self.client.clone(),
        }
    }

    /// Looks something up: posts a body, or fetches a document without one. A connection is tried
    /// for once, as nobody waits for what need not be known.
    ///
    /// # Errors
    /// As [`Endpoint::post`].
    pub(super) async fn look_up(&self, body: Option<&[u8]>) -> Result<Vec<u8>, ModelFault> {
        let request = match body {
            Some(body) => self.posting(body),
            None => self.client.get(self.endpoint.clone()),
        };
        let begun = Instant::now();
        let deadline = begun + self.total_timeout;
        let response = self.send_once(request.header(ACCEPT, WHOLE), deadline);
        let body = self.read(response.await?, (begun, deadline), None).await?;
        Ok(body.bytes)
    }

    /// Whether it is on this machine, or so near that nobody encrypts on the way.
    pub(super) fn is_near(&self) -> bool {
        self.endpoint.scheme() == "http" || self.is_loopback()
    }

    /// Whether it is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_loopback(&self.endpoint)
    }

    /// Where it is.
    pub(super) fn address(&self) -> &str {
        self.endpoint.as_str()
    }

    fn posting(&self, body: &[u8]) -> RequestBuilder {
        let request = self.client.post(self.endpoint.clone()).body(body.to_vec());
        request.header(CONTENT_TYPE, "application/json")
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// As [`Endpoint::post`].
    pub async fn get(&self) -> Result<Vec<u8>, ModelFault> {
        let request = || {
            let request = self.client.get(self.endpoint.clone());
            request.header(ACCEPT, WHOLE)
        };
        Ok(self.exchange(&request, None).await?.bytes)
    }

    /// What a body that is no answer is called.
    pub fn wire_fault(&self, error: WireError) -> ModelFault {
        let (wire, url) = (self.wire, self.shown());
        let detail = self.quote(&error.to_string());
        match error {
            WireError::Cut { .. } | WireError::Unfinished => ModelFault::Cut { url, detail },
            WireError::Malformed { .. } => ModelFault::Malformed { wire, url, detail },
            WireError::Empty { .. } => ModelFault::Empty { url, detail },
            WireError::Provider { said } => ModelFault::Provider {
                url,
                said: self.quote(&said),
            },
        }
    }

    fn timeout(&self, stage: CallStage) -> ModelFault {
        ModelFault::Timeout {
            url: self.shown(),
            stage,
            limit: self.total_timeout,
        }
    }

    fn shown(&self) -> String {
        self.endpoint.to_string()
    }

    /// The key that is sent, for what the server said to be looked through for it.
    pub(super) fn key_pieces(&self) -> Option<KeyPieces> {
        KeyPieces::of(self.key.as_ref()?)
    }

    fn quote(&self, words: &str) -> String {
        quote(words, self.key.as_ref().map(|key| key.as_str()))
    }

    async fn exchange(
        &self,
        request: &(dyn Fn() -> RequestBuilder + Sync),
        pieces: Option<&mut PieceHandler<'_>>,
    ) -> Result<ResponseBody, ModelFault> {
        let begun = Instant::now();
        let deadline = begun + self.total_timeout;
        let response = self.send(request, deadline).await?;
        self.read(response, (begun, deadline), pieces).await
    }

    async fn read(
        &self,
        response: Response,
        (begun, deadline): (Instant, Instant),
        pieces: Option<&mut PieceHandler<'_>>,
    ) -> Result<ResponseBody, ModelFault> {
        if response.status() != StatusCode::OK {
            return Err(self.status_fault(response, deadline).await);
        }
        let is_stream = self.is_stream(response.headers(), pieces.is_some())?;
        let nobody: &mut PieceHandler<'_> = &mut |_| ();
        let each = pieces.unwrap_or(nobody);
        let (mut first, so_far) = (None, || whole_millis(begun.elapsed()));
        let mut timed = |bytes: &[u8]| {
            first.get_or_insert_with(so_far);
            each(bytes);
        };
        let bytes = self.body(response, deadline, &mut timed).await?;
        let last_byte_ms = so_far();
        Ok(ResponseBody {
            bytes,
            is_stream,
            times: BodyTimes {
                first_byte_ms: first.unwrap_or(last_byte_ms),
                last_byte_ms,
            },
        })
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        let key = self.key.as_ref();
        match self.wire {
            Wire::OpenAi | Wire::Ollama => match key {
                Some(key) => request.header(
                    AUTHORIZATION,
                    secret(&Zeroizing::new(format!("Bearer {}", key.as_str()))),
                ),
                None => request,
            },
            Wire::Anthropic => {
                let request = request.header("anthropic-version", super::anthropic::VERSION);
                match key {
                    Some(key) => request.header("x-api-key", secret(key)),
                    None => request,
                }
            }
        }
    }

    /// Sends the request, at most once, and waits for the head of the response.
    async fn send(
        &self,
        request: &(dyn Fn() -> RequestBuilder + Sync),
        deadline: Instant,
    ) -> Result<Response, ModelFault> {
        match self.send_once(request(), deadline).await {
            Err(ModelFault::Unreachable { .. }) => {
                if timeout_at(deadline, sleep(RETRY_PAUSE)).await.is_err() {
                    return Err(self.timeout(CallStage::Connection));
                }
                self.send_once(request(), deadline).await
            }
            done => done,
        }
    }

    async fn send_once(
        &self,
        request: RequestBuilder,
        deadline: Instant,
    ) -> Result<Response, ModelFault> {
        match timeout_at(deadline, self.with_key(request).send()).await {
            Err(_) => Err(self.timeout(CallStage::Head)),
            Ok(Err(error)) => Err(self.send_fault(error)),
            Ok(Ok(response)) => Ok(response),
        }
    }

    fn send_fault(&self, error: reqwest::Error) -> ModelFault {
        let (wire, url, detail) = (self.wire, self.shown(), self.quote(&causes(&error)));
        if error.is_connect() && error.is_timeout() {
            ModelFault::Timeout {
                url,
                stage: CallStage::Connection,
                limit: self.connect_timeout,
            }
        } else if error.is_connect() && detail.contains("peer certificate") {
            let mend = "if you trust its issuer, add it to the system's certificates, or name its file in SSL_CERT_FILE";
            ModelFault::Unreachable {
                wire,
                url,
                detail: format!("{detail} ({mend})"),
            }
        } else if error.is_connect() {
            let detail = match detail.contains("Connection refused") {
                true => "nobody listens there".to_owned(),
                false => detail,
            };
            ModelFault::Unreachable { wire, url, detail }
        } else if broke_off(&error) {
            ModelFault::Cut {
                url,
                detail: format!("the connection ended before the answer began ({detail})"),
            }
        } else {
            ModelFault::Malformed {
                wire,
                url,
                detail: format!("expected HTTP, found something else ({detail})"),
            }
        }
    }

    async fn body(
        &self,
        mut response: Response,
        deadline: Instant,
        each: &mut PieceHandler<'_>,
    ) -> Result<Vec<u8>, ModelFault> {
        let reading = net::body_in_pieces(&mut response, MAX_RESPONSE, each);
        let read = timeout_at(deadline, reading).await;
        let read = read.map_err(|_| self.timeout(CallStage::Body))?;
        read.map_err(|fault| match fault {
            BodyFault::TooLong => ModelFault::TooLarge {
                url: self.shown(),
                limit: MAX_RESPONSE,
            },
            BodyFault::Broken { received, error } => ModelFault::Cut {
                url: self.shown(),
                detail: format!("{received} bytes came ({})", self.quote(&causes(&error))),
            },
        })
    }

    async fn status_fault(&self, mut response: Response, deadline: Instant) -> ModelFault {
        let header = |name: HeaderName| {
            response
                .headers()
                .get(name)
                .map(|v| self.quote(&header_text(v)))
        };
        let retry_after = header(RETRY_AFTER).filter(|text| !text.is_empty());
        let location = header(LOCATION).filter(|_| response.status().is_redirection());
        let mut body = Vec::new();
        // Best effort: the status is the news, a body that breaks off takes nothing away from it.
        while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        let said = location.map_or_else(
            || self.quote(&wire::error_text(&body)),
            |to| format!("go to {to}"),
        );
        ModelFault::Status {
            wire: self.wire,
            url: self.shown(),
            status: response.status().as_u16(),
            said,
            retry_after,
            key: KeySent {
                was_sent: self.key.is_some(),
                variable: self.key_variable.clone(),
            },
        }
    }

    /// Whether what comes is a stream, where it says that it is an answer at all.
    fn is_stream(&self, headers: &HeaderMap, was_asked_for: bool) -> Result<bool, ModelFault> {
        let given = headers
            .get(CONTENT_TYPE)
            .map(header_text)
            .unwrap_or_default();
        let essence = given
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        if essence == "application/json"
            || (essence.starts_with("application/") && essence.ends_with("+json"))
        {
            return Ok(false);
        }
        if was_asked_for && STREAMS.contains(&essence.as_str()) {
            return Ok(true);
        }
        let found = if essence.is_empty() {
            "of no stated type".to_owned()
        } else {
            self.quote(&essence)
        };
        Err(ModelFault::WrongContentType {
            wire: self.wire,
            url: self.shown(),
            found,
        })
    }
}

/// `{base_url}/{path}`. Errors never repeat the address: it may hold a password.
fn endpoint(wire: Wire, base_url: &str, path: &[&str]) -> Result<Url, ModelFault> {
    let bad = |detail: &str| ModelFault::BadUrl {
        wire,
        detail: detail.to_owned(),
    };
    let mut url = net::parse_address(base_url.trim()).map_err(|fault| match fault {
        AddressFault::NotUrl(detail) => bad(&detail),
        AddressFault::Scheme => bad("neither http nor https"),
        AddressFault::Credentials => {
            bad("a user name or password is in it; an API key belongs into the environment")
        }
        AddressFault::Query => bad("a `?` or `#` is in it"),
    })?;
    url.path_segments_mut()
        .map_err(|()| bad("it has no path"))?
        .pop_if_empty()
        .extend(path);
    Ok(url)
}

fn check_key(key: &str, endpoint: &Url, variable: &str) -> Result<(), ModelFault> {
    let refused = |detail: &str| {
        let (url, variable) = (endpoint.to_string(), variable.to_owned());
        Err(ModelFault::RefusedKey {
            url,
            variable,
            detail: detail.to_owned(),
        })
    };
    if !key.bytes().all(|b| b.is_ascii_graphic()) {
        return refused(
            "it holds white space or characters outside ASCII, which no key has. Set it anew",
        );
    }
    if endpoint.scheme() == "http" && !is_loopback(endpoint) {
        return refused(
            "http is not encrypted, so others could read it. Use https, or a tunnel to this machine (ssh -L), or \
             unset the variable if the server wants no key",
        );
    }
    Ok(())
}

fn secret(text: &str) -> HeaderValue {
    let mut value = HeaderValue::from_str(text).expect("check_key lets only graphic ASCII through");
    value.set_sensitive(true);
    value
}

fn header_text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// What caused an error, each thing once.
fn causes(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for text in net::causes(error) {
        // The HTTP library's own layer says nothing that its cause does not say better; others
        // repeat each other.
        if !text.starts_with("client error") && !words.iter().any(|earlier| earlier.contains(&text))
        {
            words.push(text);
        }
    }
    if words.is_empty() {
        "no cause given".to_owned()
    } else {
        words.join(": ")
    }
}

/// Whether the other side ended the connection, rather than answering in another protocol.
fn broke_off(error: &reqwest::Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        // hyper's own kind is not public through reqwest; its words are.
        let words = cause.to_string();
        if cause.downcast_ref::<std::io::Error>().is_some()
            || words.contains("before message completed")
        {
            return true;
        }
        next = cause.source();
    }
    false
}
