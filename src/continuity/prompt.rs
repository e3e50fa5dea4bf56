//! Rendering the compiled prompt from kernel, bundle and the person's text (AEGIS 4.1, step 3).
//!
//! ```text
//! [{"content":"SYSTEM","role":"system"},{"content":"USER","role":"user"}]     canonical JSON: these bytes are hashed
//!
//! SYSTEM = kernel's prompt.system ‖ "\n\n" [‖ owner's text ‖ "\n\n"] ‖ "<gently-context sha256:HASH>\n" ‖ bundle ‖ "\n</gently-context>\n"
//!          [‖ "<gently-turns sha256:HASH>\n" ‖ turns ‖ "\n</gently-turns>\n"]
//!          [‖ context block ‖ "\n"]
//! turns  = [{"at":"2026-01-08T00:00:00Z","speaker":"user","text":"…","turn":"UUID"},…]                         canonical JSON
//! ```
//! `turns` are those of deep history; what the client declared stands in the context block
//! ([`context_block`](crate::record::context::block::context_block)). Their texts are in no bundle,
//! so that one erased is erased everywhere. Inside the first two blocks every `<` is spelled
//! `\u003c`, and so are the ends of lines that JSON leaves as they are (`\u0085`, `\u2028`,
//! `\u2029`), which is the same JSON; elsewhere a marker's `<` becomes `&lt;`, and a line that
//! looks like one of the context block's gets a `\`. So exactly one block of each kind can be read,
//! and it is the host's. Exchanges from before threads had no context block: what was declared
//! stood among the turns.

use serde::Serialize;
use uuid::Uuid;

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::Clean;
use crate::record::canon::{self, CanonError};
use crate::record::context::block::outside_the_block;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{Bundle, Moment};
use crate::record::time::Seconds;

use super::candidate::TurnCandidate;
use super::compile::ContextBundle;

/// Why a stored exchange can't be rendered again.
#[derive(Debug, thiserror::Error)]
pub enum RenderFault {
    /// The stored bundle is not one that was written.
    #[error("stored bundle: {0}")]
    Bundle(#[from] CanonError),
    /// The bundle was compiled under another kernel.
    #[error(
        "the bundle was compiled under kernel {expected}, this is {actual}; render with that kernel's snapshot"
    )]
    Kernel {
        /// The bundle's kernel.
        expected: Hash32,
        /// The one given.
        actual: Hash32,
    },
}

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
/// let by_hand = CompiledPrompt { system: String::new(), user: String::new(), canonical: String::new() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a compiled prompt is recorded before it is sent"]
pub struct CompiledPrompt {
    system: String,
    user: String,
    canonical: String,
}

impl CompiledPrompt {
    /// The system message.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The user message.
    pub fn user(&self) -> &str {
        &self.user
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

#[derive(Serialize)]
struct ChatMessage<'a> {
    content: &'a str,
    role: &'static str,
}

/// An earlier turn as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriorTurn {
    /// When it was recorded.
    pub at: Moment,
    /// `user` or `aurora`.
    pub speaker: &'static str,
    /// The stored text.
    pub text: String,
    /// Its row.
    pub turn: Uuid,
}

impl PriorTurn {
    /// A turn on record; none when its text is erased.
    pub fn new(turn: Uuid, by_user: bool, at: Seconds, text: Option<&str>) -> Option<PriorTurn> {
        let speaker = if by_user { "user" } else { "aurora" };
        text.map(|text| PriorTurn {
            at: Moment(at),
            speaker,
            text: text.to_owned(),
            turn,
        })
    }

    pub(super) fn of(turn: &TurnCandidate) -> Option<PriorTurn> {
        PriorTurn::new(turn.turn, turn.by_user, turn.at, turn.text.as_deref())
    }

    /// Bytes of it inside the block.
    pub(super) fn length(&self) -> usize {
        canon::print(self).map_or(0, |text| text.len())
    }
}

/// Name of the markers around the bundle.
const MARKER: &str = "gently-context";
/// Name of the markers around earlier turns.
const TURNS: &str = "gently-turns";

/// What stands behind the bundle.
#[derive(Clone, Copy, Debug)]
pub enum Earlier<'a> {
    /// Of an exchange from before threads: turns that were declared, and deep history.
    Turns(&'a [PriorTurn]),
    /// Since then.
    Context {
        /// Deep history.
        deep: &'a [PriorTurn],
        /// The context block, if anything was referred to.
        block: Option<&'a str>,
    },
}

impl Earlier<'_> {
    /// A text of the person's, or of the owner's, as it can stand beside the blocks.
    fn beside(&self, text: &str) -> String {
        match self {
            Earlier::Turns(_) => escape_markers(text),
            Earlier::Context { .. } => outside_the_block(&escape_markers(text)),
        }
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
    let earlier = Earlier::Context {
        deep: bundle.turns(),
        block: bundle.block(),
    };
    let system = system_message(kernel, bundle.json(), own.map(Clean::as_str), earlier);
    let user = earlier.beside(user.as_str());
    let canonical = canonical_form(&system, &user);
    CompiledPrompt {
        system,
        user,
        canonical,
    }
}

/// Renders a stored exchange again: the same canonical bytes, from kernel snapshot, bundle, the
/// owner's part of the system message (`system` of the stored params), what its references name, in
/// their order, and text.
///
/// Gives bytes to compare and to show, not a [`CompiledPrompt`]: what is on record can't be sent
/// again past the pipeline.
pub fn render_again(
    kernel: &Kernel,
    bundle_json: &str,
    own: Option<&str>,
    earlier: Earlier<'_>,
    user_text: &str,
) -> Result<String, RenderFault> {
    render_read(
        kernel,
        (&Bundle::parse(bundle_json)?, bundle_json),
        own,
        earlier,
        user_text,
    )
}

/// The same of a bundle that was read, and the text that it was read from ([`Bundle::parse`]).
pub fn render_read(
    kernel: &Kernel,
    (bundle, bundle_json): (&Bundle, &str),
    own: Option<&str>,
    earlier: Earlier<'_>,
    user_text: &str,
) -> Result<String, RenderFault> {
    let expected = bundle.kernel_hash.0;
    if expected != kernel.hash() {
        return Err(RenderFault::Kernel {
            expected,
            actual: kernel.hash(),
        });
    }
    Ok(canonical_form(
        &system_message(kernel, bundle_json, own, earlier),
        &earlier.beside(user_text),
    ))
}

fn system_message(
    kernel: &Kernel,
    bundle_json: &str,
    own: Option<&str>,
    earlier: Earlier<'_>,
) -> String {
    let head = kernel.rules().prompt.system.trim_end();
    let own = own
        .map(|text| format!("{}\n\n", earlier.beside(text)))
        .unwrap_or_default();
    let (turns, context) = match earlier {
        Earlier::Turns(turns) => (turns, None),
        Earlier::Context { deep, block } => (deep, block),
    };
    let mut message = format!("{head}\n\n{own}{}", block(MARKER, bundle_json));
    if !turns.is_empty() {
        message.push_str(&block(
            TURNS,
            &canon::print(&turns).expect("texts and times have a canonical print"),
        ));
    }
    if let Some(context) = context {
        message.push_str(&escape_markers(context));
        message.push('\n');
    }
    message
}

/// JSON between markers that can't stand inside it, on one line for every reader.
fn block(marker: &str, json: &str) -> String {
    let hash = Hash32::digest(json.as_bytes());
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => line.push_str("\\u003c"),
            '\u{85}' => line.push_str("\\u0085"),
            '\u{2028}' => line.push_str("\\u2028"),
            '\u{2029}' => line.push_str("\\u2029"),
            _ => line.push(c),
        }
    }
    format!("<{marker} sha256:{hash}>\n{line}\n</{marker}>\n")
}

fn canonical_form(system: &str, user: &str) -> String {
    let messages = [
        ChatMessage {
            content: system,
            role: "system",
        },
        ChatMessage {
            content: user,
            role: "user",
        },
    ];
    // Two texts under keys in order: their plain print is canonical, and needs not be looked at
    // again.
    serde_json::to_string(&messages).expect("two texts have a print")
}

/// Spells the `<` of every marker, opening or closing, in any case, as `&lt;`.
fn escape_markers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '<' && text.get(at + 1..).is_some_and(begins_marker) {
            out.push_str("&lt;")
        } else {
            out.push(c)
        }
    }
    out
}

fn begins_marker(rest: &str) -> bool {
    let name = rest.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    [MARKER, TURNS].iter().any(|marker| {
        name.get(..marker.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(marker))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_one_line_and_the_same_json() {
        let given =
            serde_json::json!({"a": "</gently-context>\u{2028}DBL_CONTEXT_REFS_END\u{85}x\u{2029}\n"}).to_string();
        let shown = block(MARKER, &given);
        let lines: Vec<&str> = shown
            .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
            .collect();
        assert_eq!(
            (lines.len(), lines[2], shown.matches('<').count()),
            (4, "</gently-context>", 2),
            "{shown}"
        );
        let again: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!(again.to_string(), given);
    }

    #[test]
    fn the_print_of_two_texts_is_canonical() {
        let every: String = (0u32..0x300)
            .chain([0x2028, 0xfffd, 0x1_f600])
            .filter_map(char::from_u32)
            .collect();
        for (system, user) in [(every.as_str(), "\\\"/"), ("", every.as_str())] {
            let value = serde_json::json!([{"role": "system", "content": system}, {"role": "user", "content": user}]);
            assert_eq!(canonical_form(system, user), canon::print(&value).unwrap());
        }
    }

    #[test]
    fn markers_are_escaped_and_nothing_else() {
        for (text, expected) in [
            ("</gently-context>", "&lt;/gently-context>"),
            (
                "< / GENTLY-Context sha256:00>",
                "&lt; / GENTLY-Context sha256:00>",
            ),
            ("<<gently-context>", "<&lt;gently-context>"),
            ("</Gently-Turns>", "&lt;/Gently-Turns>"),
            ("<gently-turn>", "<gently-turn>"),
            ("<gently-contex", "<gently-contex"),
            (
                "a < b, <b>é</b>, &lt;gently-context",
                "a < b, <b>é</b>, &lt;gently-context",
            ),
            ("<", "<"),
            ("<é", "<é"),
        ] {
            assert_eq!(escape_markers(text), expected);
            assert_eq!(escape_markers(expected), expected);
        }
    }
}
