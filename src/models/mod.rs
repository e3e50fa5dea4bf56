//! Who answers: the contract of a model, its answers and its faults.
//!
//! A [`Backend`] is told some messages and gives one answer or says why not. It keeps the exact bytes
//! that went over the wire, never a credential. Nothing here records anything: a call is possible
//! only with a recorded prompt, which is the concern of the typed `Model` around it.

mod anthropic;
mod fault;
pub mod http;
pub mod listing;
mod model;
pub mod observer;
mod ollama;
mod openai;
pub mod quote;
pub mod remote;
pub mod replay;
mod source;
mod stream;
mod window;
pub mod wire;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::record::ledger::client_request::{ClientRequest, ToolChoice, ToolDefinition};
use crate::record::ledger::image::ImageFile;
use crate::record::ledger::prompt::ChatMessage;
use crate::record::ledger::reply::ReplyDoc;
pub use crate::recorder::{BodyTimes, Usage};
pub use fault::{CallStage, ModelFault, UNSTREAMED};
pub use model::Model;
pub use window::ServerWindow;

/// The messages of one compiled prompt, exactly as they are sent: system first, then user and
/// assistant by turns, a user's last; or those of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// In their order; after secrets were removed.
    pub messages: &'a [ChatMessage],
    /// Images, each with the place of its message among them.
    pub images: &'a [(usize, &'a ImageFile)],
    /// What the model may call.
    pub tools: &'a [ToolDefinition],
    /// Whether and which of them; the server's choice without it.
    pub tool_choice: Option<&'a ToolChoice>,
    /// What else is set for this call, by the names of the server's wire; it wins over what the
    /// backend was made with.
    pub settings: &'a [(String, Value)],
    /// Whether the answer is asked for piece by piece.
    pub stream: bool,
}

/// One answer, with the bytes it was read from.
///
/// `text` has the role `response` (format, section 3): the answer exactly as the model gave it but for the
/// key that was sent, and the JCS list of its parts when it has several or asks for tools. It may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the model answered, unjudged.
    pub text: String,
    /// Token counts, where the model gave them.
    pub usage: Usage,
    /// All that came beside it.
    pub beside: ReplyDoc,
    /// Whether the server repeated the key that it was sent, which then is in neither of them.
    pub held_key: bool,
    /// The body of the request, byte for byte. Headers, and with them the API key, are not part of
    /// it.
    pub wire_request: Vec<u8>,
    /// The body of the response, byte for byte.
    pub wire_response: Vec<u8>,
    /// How long it took to come; none where it came over no wire.
    pub times: Option<BodyTimes>,
}

/// Something that answers a prompt.
///
/// Contract: `call` may run any number of times at once. It returns within the backend's own total
/// timeout, with the whole answer or with a fault, never with part of an answer. It sends the
/// messages of the request unchanged and sends them at most once; once more where a server refuses a
/// stream before it answers. Dropping the future abandons the
/// call. No fault, no `Debug` print and no kept request holds a credential. Network backends want a
/// tokio runtime with time and I/O.
pub trait Backend: Send + Sync {
    /// The model's identifier as it is recorded, `openai/NAME` or `observer`. Never changes, never
    /// empty.
    fn id(&self) -> &str;

    /// Asks once.
    ///
    /// # Errors
    /// [`ModelFault`], when there is no whole answer.
    fn call<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Answer, ModelFault>>;

    /// Why its server can't be asked so, in words for a person; none where it can.
    fn refuses(&self, client: &ClientRequest) -> Option<String> {
        let _ = client;
        None
    }

    /// What the server says of the model's window. Never fails, and takes no longer than a person
    /// can wait for what need not be known.
    fn window(&self) -> BoxFuture<'_, ServerWindow> {
        Box::pin(async { ServerWindow::default() })
    }

    /// What is known of that without asking.
    fn window_by_itself(&self) -> Option<u64> {
        None
    }

    /// Whether what it is asked leaves this machine.
    fn leaves_machine(&self) -> bool {
        false
    }

    /// Whether [`Backend::watch`] asks the server for its answer piece by piece.
    fn streams(&self) -> bool {
        false
    }

    /// The same for somebody who waits: `came` is told how many characters of the answer there are,
    /// where the server sends it piece by piece. The answer is the same as without.
    ///
    /// # Errors
    /// As [`Backend::call`].
    fn watch<'a>(
        &'a self,
        request: Request<'a>,
        came: &'a (dyn Fn(u64) + Sync),
    ) -> BoxFuture<'a, Result<Answer, ModelFault>> {
        let _ = came;
        self.call(request)
    }
}
