//! A model behind a server, in any of the three dialects.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use super::http::{Endpoint, ResponseBody, ServerAddress};
use super::stream::{self, PieceCounter};
use super::window::{self, ServerWindow};
use super::wire::{Completion, Wire, WireError};
use super::{Answer, Backend, ModelFault, Request};
use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::params::Params;
use crate::record::unseen::is_plain_name;

/// Bytes of a model's name: longer than any provider's, short enough for a log line.
pub const MAX_NAME: usize = 200;
/// How long a connection may take: three lost SYN packets.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call may take in all: a small model without a GPU writes a long answer in this time.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(300);

/// What a model behind a server is made from.
pub struct RemoteConfig {
    /// Whose shapes the server speaks.
    pub wire: Wire,
    /// The model's name as the server knows it, without `openai/`.
    pub model: String,
    /// The API's address, with or without a slash at the end.
    pub base_url: String,
    /// The API key; `None` or blank sends none. White space around it is not part of it.
    pub api_key: Option<Zeroizing<String>>,
    /// The environment variable a key comes from, or the option or setting, for error messages.
    pub key_variable: String,
    /// What is sent beside the messages; what is not given is the server's choice.
    pub params: Params,
    /// The limit for one connection.
    pub connect_timeout: Duration,
    /// The limit for the whole call, tries and pause included.
    pub total_timeout: Duration,
}

impl RemoteConfig {
    /// The defaults for a model: the provider's own address, no key, [`CONNECT_TIMEOUT`],
    /// [`TOTAL_TIMEOUT`].
    pub fn new(wire: Wire, model: impl Into<String>) -> Self {
        Self {
            wire,
            model: model.into(),
            base_url: wire.base_url().to_owned(),
            api_key: None,
            key_variable: "OPENAI_API_KEY".to_owned(),
            params: Params::default(),
            connect_timeout: CONNECT_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
        }
    }
}

/// A model behind a server, ready to be asked.
pub struct Remote {
    id: String,
    wire: Wire,
    model: String,
    params: Params,
    link: Endpoint,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("id", &self.id)
            .field("link", &self.link)
            .finish()
    }
}

impl Remote {
    /// Checks the configuration and makes the client; contacts nobody.
    ///
    /// # Errors
    /// [`ModelFault::BadName`], and what [`Endpoint::new`] finds wrong.
    pub fn new(config: RemoteConfig) -> Result<Self, ModelFault> {
        check_name(&config.model)?;
        let link = Endpoint::new(ServerAddress {
            wire: config.wire,
            base_url: &config.base_url,
            path: config.wire.path(),
            key: config.api_key,
            key_variable: &config.key_variable,
            connect_timeout: config.connect_timeout,
            total_timeout: config.total_timeout,
        })?;
        let id = format!("{}/{}", config.wire.name(), config.model);
        Ok(Self {
            id,
            wire: config.wire,
            model: config.model,
            params: config.params,
            link,
        })
    }

    /// One line for the person when prompts and answers can be read on the way.
    pub fn warning(&self) -> Option<String> {
        self.link.warning()
    }

    fn body(&self, request: Request<'_>) -> Vec<u8> {
        let host = self.link.host();
        self.wire
            .request_body(&self.model, request, &self.params, host)
    }

    async fn ask(&self, request: Request<'_>) -> Result<Answer, ModelFault> {
        let wire_request = self.body(request);
        let response = self.link.post(&wire_request).await?;
        let read = self.wire.read_completion(&response.bytes);
        self.answer(wire_request, response, read)
    }

    async fn ask_watched(
        &self,
        request: Request<'_>,
        came: &(dyn Fn(u64) + Sync),
    ) -> Result<Answer, ModelFault> {
        let wire_request = self.body(Request {
            stream: true,
            ..request
        });
        let mut counter = PieceCounter::new(self.wire, came);
        let each: &mut (dyn FnMut(&[u8]) + Send) = &mut |bytes| counter.take(bytes);
        let response = match self.link.post_for_pieces(&wire_request, each).await {
            // A server that has no streams, or knows nothing of their options, has refused the
            // prompt before it looked at it.
            Err(fault) if self.wire == Wire::OpenAi && is_refused(&fault) => {
                return match self.ask(request).await {
                    Ok(mut answer) => {
                        answer.beside.unstreamed = true;
                        Ok(answer)
                    }
                    Err(fault) => Err(ModelFault::Unstreamed(Box::new(fault))),
                };
            }
            done => done?,
        };
        // A server need not stream because it was asked to.
        let read = match response.is_stream {
            true => stream::whole(self.wire, &response.bytes)
                .and_then(|body| self.wire.read_completion(&body)),
            false => self.wire.read_completion(&response.bytes),
        };
        self.answer(wire_request, response, read)
    }

    fn answer(
        &self,
        wire_request: Vec<u8>,
        response: ResponseBody,
        read: Result<Completion, WireError>,
    ) -> Result<Answer, ModelFault> {
        let mut read = read.map_err(|error| self.link.wire_fault(error))?;
        let mut held_key = false;
        if let Some(pieces) = self.link.key_pieces() {
            let mut without = |text: &str| {
                let kept = pieces.taken_out(text);
                held_key |= kept.is_some();
                kept
            };
            if let Some(text) = without(&read.text) {
                read.text = text;
            }
            read.beside = read.beside.with_texts(&mut without);
        }
        Ok(Answer {
            text: read.text,
            usage: read.usage,
            beside: read.beside,
            held_key,
            wire_request,
            wire_response: response.bytes,
            times: Some(response.times),
        })
    }
}

/// Whether a server says that a request is none that it takes.
fn is_refused(fault: &ModelFault) -> bool {
    matches!(
        fault,
        ModelFault::Status {
            status: 400 | 422,
            ..
        }
    )
}

impl Backend for Remote {
    fn id(&self) -> &str {
        &self.id
    }

    fn call<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Answer, ModelFault>> {
        Box::pin(self.ask(request))
    }

    fn refuses(&self, client: &ClientRequest) -> Option<String> {
        self.wire.refuses(client)
    }

    fn window(&self) -> BoxFuture<'_, ServerWindow> {
        Box::pin(window::look_up(self.wire, &self.link, &self.model))
    }

    fn window_by_itself(&self) -> Option<u64> {
        window::by_itself(self.wire).by_itself
    }

    fn leaves_machine(&self) -> bool {
        !self.link.is_loopback()
    }

    fn streams(&self) -> bool {
        true
    }

    fn watch<'a>(
        &'a self,
        request: Request<'a>,
        came: &'a (dyn Fn(u64) + Sync),
    ) -> BoxFuture<'a, Result<Answer, ModelFault>> {
        Box::pin(self.ask_watched(request, came))
    }
}

fn check_name(name: &str) -> Result<(), ModelFault> {
    let bad = |detail: &str| {
        Err(ModelFault::BadName {
            detail: detail.to_owned(),
        })
    };
    match name {
        "" => bad("empty"),
        _ if name.len() > MAX_NAME => bad(&format!("{} bytes long", name.len())),
        _ if name.chars().any(char::is_whitespace) => bad("one with white space in it"),
        _ if !is_plain_name(name) => bad("one with characters that nobody sees"),
        _ => Ok(()),
    }
}
