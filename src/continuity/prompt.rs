//! Rendering the compiled prompt from kernel, bundle and the person's text (AEGIS 4.1, step 3). Its
//! form is [`record::ledger::request`](crate::record::ledger::request)'s.

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::Clean;
use crate::record::hash::Hash32;
use crate::record::ledger::params::Params;
use crate::record::ledger::prompt::{ChatMessage, PromptMessages};
use crate::record::ledger::request::{RequestDoc, RequestTexts};

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
///     let _ = render(kernel, bundle, (None, &Default::default()), "password=hunter2");
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
    own_bytes: usize,
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

    /// SHA-256 of the canonical JSON: `prompt_hash` of AEGIS.
    pub fn hash(&self) -> Hash32 {
        Hash32::digest(self.canonical.as_bytes())
    }

    /// About how many tokens the question has, and how many are sent beside it; a token is counted
    /// as four bytes.
    pub fn tokens(&self) -> PromptTokens {
        let contents = self.messages.list().iter().map(|one| one.content.len());
        let all: usize = contents.sum();
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
    /// What is sent beside it: kernel, owner's text, bundle, earlier turns, the answer's shape.
    pub added: u64,
}

/// Renders the prompt; a function of its arguments and nothing else.
///
/// `own` is the owner's own part of the system message, behind the kernel's.
pub fn render(
    kernel: &Kernel,
    bundle: &ContextBundle,
    (own, settings): (Option<&Clean>, &Params),
    question: &Clean,
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
    };
    let request = RequestDoc::new(&texts, &bundle.bundle().model_id, settings);
    let messages = request.messages(&texts);
    let messages = messages.expect("a request names the turns that it was made from");
    CompiledPrompt {
        canonical: messages.canonical(),
        messages,
        request,
        own_bytes: question.as_str().len(),
    }
}
