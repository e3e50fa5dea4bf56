//! Rendering the compiled prompt from kernel, bundle and the person's text (AEGIS 4.1, step 3). Its
//! form is [`record::ledger::request`](crate::record::ledger::request)'s.

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::Clean;
use crate::record::context::turn::TurnIntent;
use crate::record::hash::Hash32;
use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::params::Params;
use crate::record::ledger::prompt::{ChatMessage, PromptMessages};
use crate::record::ledger::request::{RequestDoc, RequestTexts};

use super::brought::CleanRequest;
use super::compile::{ContextBundle, tokens};

/// The prompt exactly as it goes to the model.
///
/// Only [`render`] makes one, from a compiled bundle and a clean text:
///
/// ```compile_fail
/// # use gently::continuity::prompt::render;
/// # use gently::govern::{kernel::Kernel, sanitize::redact};
/// # use gently::continuity::compile::ContextBundle;
/// fn without_redaction(kernel: &Kernel, bundle: &ContextBundle) {
///     let _ = render(kernel, bundle, (None, &Default::default()), ("password=hunter2", None));
/// }
/// ```
///
/// ```compile_fail
/// # use gently::continuity::prompt::CompiledPrompt;
/// let by_hand = CompiledPrompt { messages: todo!(), canonical: String::new(), ..todo!() };
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a compiled prompt is recorded before it is sent"]
pub struct CompiledPrompt {
    messages: PromptMessages,
    canonical: String,
    request: RequestDoc,
    client: Option<CleanRequest>,
    own_bytes: usize,
    tool_bytes: usize,
}

impl CompiledPrompt {
    /// The messages, in their order.
    pub fn messages(&self) -> &[ChatMessage] {
        self.messages.list()
    }

    /// All messages as canonical JSON.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// What they are made of, part by part.
    pub fn request(&self) -> &RequestDoc {
        &self.request
    }

    /// What a client brought: its tools and settings with numbers as they are sent.
    pub fn client(&self) -> Option<&ClientRequest> {
        self.client.as_ref().map(CleanRequest::request)
    }

    /// SHA-256 of the canonical JSON: `prompt_hash` of AEGIS.
    pub fn hash(&self) -> Hash32 {
        Hash32::digest(self.canonical.as_bytes())
    }

    /// About how many tokens the question has, and how many are sent beside it; a token is counted
    /// as four bytes.
    pub fn tokens(&self) -> PromptTokens {
        let calls = |one: &ChatMessage| -> usize {
            let calls = one.tool_calls.iter();
            calls
                .map(|call| call.name.len() + call.arguments.len())
                .sum()
        };
        let contents = self.messages.list().iter();
        let contents = contents.map(|one| one.content.len() + calls(one));
        let all = contents.sum::<usize>() + self.tool_bytes;
        PromptTokens {
            own: tokens(self.own_bytes),
            added: tokens(all.saturating_sub(self.own_bytes)),
        }
    }
}

/// About how many tokens a prompt has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptTokens {
    /// Tokens of the question.
    pub own: u64,
    /// What is sent beside it: kernel, owner's text, bundle, earlier turns, the answer's shape, a
    /// client's messages and tools.
    pub added: u64,
}

/// Renders the prompt; a function of its arguments and nothing else.
///
/// `own` is the owner's own part of the system message, behind the kernel's; beside the question
/// stands what a client brought.
pub fn render(
    kernel: &Kernel,
    bundle: &ContextBundle,
    settings: (Option<&Clean>, &Params),
    question: (&Clean, Option<&CleanRequest>),
) -> CompiledPrompt {
    render_for(TurnIntent::ChatMessage, kernel, bundle, settings, question)
}

/// The same for a turn of some intent: in a review it is said where each answer begins and ends.
pub fn render_for(
    intent: TurnIntent,
    kernel: &Kernel,
    bundle: &ContextBundle,
    (own, settings): (Option<&Clean>, &Params),
    (question, client): (&Clean, Option<&CleanRequest>),
) -> CompiledPrompt {
    let (spoken, shape) = (bundle.spoken(), settings.shape_beside());
    let texts = RequestTexts {
        kernel: kernel.system_prompt(),
        owner: own.map(Clean::as_str),
        bundle: bundle.bundle(),
        earlier: bundle.turns(),
        spoken: &spoken,
        question: question.as_str(),
        shape: shape.as_deref(),
        client: client.map(CleanRequest::request),
    };
    let request = RequestDoc::new(&texts, &bundle.bundle().model_id, settings);
    let request = match intent {
        TurnIntent::CouncilReview => request.with_answers_marked(),
        TurnIntent::ChatMessage | TurnIntent::ContextHandoff => request,
    };
    let messages = request.messages(&texts);
    let messages = messages.expect("a request names the turns that it was made from");
    let tools = request.tools.iter().map(|tool| {
        let description = tool.description.as_ref().map_or(0, String::len);
        tool.name.len() + description + tool.parameters.to_string().len()
    });
    CompiledPrompt {
        canonical: messages.canonical(),
        messages,
        tool_bytes: tools.sum(),
        request,
        client: client.cloned(),
        own_bytes: question.as_str().len(),
    }
}
