//! Rendering the compiled prompt from kernel, bundle and the person's text (AEGIS 4.1, step 3). Its
//! form is [`record::ledger::prompt`](crate::record::ledger::prompt)'s.

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::Clean;
use crate::record::hash::Hash32;
use crate::record::ledger::prompt::{PromptContext, PromptMessages, PromptParts};

use super::compile::ContextBundle;

/// The prompt exactly as it goes to the model.
///
/// Only [`render`] makes one, from a compiled bundle and a clean text:
///
/// ```compile_fail
/// # use gently::continuity::prompt::render;
/// # use gently::govern::{kernel::Kernel, sanitize::redact};
/// # use gently::continuity::compile::ContextBundle;
/// fn without_redaction(kernel: &Kernel, bundle: &ContextBundle) {
///     let _ = render(kernel, bundle, None, "password=hunter2");
/// }
/// ```
///
/// ```compile_fail
/// # use gently::continuity::prompt::CompiledPrompt;
/// let by_hand = CompiledPrompt { messages: todo!(), canonical: String::new() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a compiled prompt is recorded before it is sent"]
pub struct CompiledPrompt {
    messages: PromptMessages,
    canonical: String,
}

impl CompiledPrompt {
    /// The system message.
    pub fn system(&self) -> &str {
        &self.messages.system
    }

    /// The user message.
    pub fn user(&self) -> &str {
        &self.messages.user
    }

    /// Both messages as canonical JSON.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// SHA-256 of the canonical JSON: `prompt_hash` of AEGIS.
    pub fn hash(&self) -> Hash32 {
        Hash32::digest(self.canonical.as_bytes())
    }
}

/// Renders the prompt; a function of its arguments and nothing else.
///
/// `own` is the owner's own part of the system message: after the kernel's, before the context.
pub fn render(
    kernel: &Kernel,
    bundle: &ContextBundle,
    own: Option<&Clean>,
    user: &Clean,
) -> CompiledPrompt {
    let parts = PromptParts {
        kernel: kernel.system_prompt(),
        own: own.map(Clean::as_str),
        bundle: bundle.json(),
        context: PromptContext::Thread {
            deep: bundle.turns(),
            block: bundle.block(),
        },
        user: user.as_str(),
    };
    let messages = parts.messages();
    CompiledPrompt {
        canonical: messages.canonical(),
        messages,
    }
}
