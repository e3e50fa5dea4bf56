//! The context block of a prompt: what is referred to, in a text that nothing in it can end.

use super::event::EventKind;
use super::spec::{AdmittedFor, ContextForm, ResolvedContext};

/// How the context block begins and ends.
const BEGIN: &str = "DBL_CONTEXT_REFS_BEGIN";
const END: &str = "DBL_CONTEXT_REFS_END";
const EXPLAINED: &str =
    "The following is referenced context from previous events in this conversation.";
/// What ends one reference.
const RULE: &str = "---";
/// How the head of one reference begins.
const HEAD: &str = "[ref_id=";
/// What is put before a line of content that looks like one of ours.
const ESCAPE: char = '\\';

/// White space as the reference implementation strips it.
pub(super) fn stripped(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// The context block of a prompt; none when nothing is referred to.
///
/// ```text
/// DBL_CONTEXT_REFS_BEGIN
/// The following is referenced context from previous events in this conversation.
///
/// [ref_id=ID kind=INTENT]
/// the stored text
/// ---
/// DBL_CONTEXT_REFS_END
/// ```
/// In the sent form a line of content that looks like one of these gets a `\` before it, so no
/// content can end its block. The hashed form is never read by a model, and escapes nothing. A
/// DECISION says nothing, and has no part in either.
pub fn context_block(resolved: &ResolvedContext, form: ContextForm) -> Option<String> {
    match form {
        ContextForm::Sent => block_again(resolved.shown().map(|(reference, event)| {
            (
                reference.ref_id.as_str(),
                event.kind(),
                event.text().unwrap_or_default(),
            )
        })),
        ContextForm::Hashed => block(resolved.refs.iter().map(|(reference, event)| {
            let content = match (reference.admitted_for, event.kind()) {
                (_, EventKind::Decision) => String::new(),
                (AdmittedFor::ExecutionOnly, _) => reference
                    .event_digest
                    .map(|d| d.to_string())
                    .unwrap_or_default(),
                (AdmittedFor::Governance, _) => {
                    stripped(event.text().unwrap_or_default()).to_owned()
                }
            };
            (reference.ref_id.as_str(), event.kind(), content)
        })),
    }
}

/// The sent form of the block from parts: of each reference that is shown its id, kind and text, in
/// their order.
pub fn block_again<'a>(
    parts: impl Iterator<Item = (&'a str, EventKind, &'a str)>,
) -> Option<String> {
    block(parts.map(|(id, kind, text)| {
        let content = if kind == EventKind::Decision {
            String::new()
        } else {
            escaped(stripped(text))
        };
        (id, kind, content)
    }))
}

fn block<'a>(parts: impl Iterator<Item = (&'a str, EventKind, String)>) -> Option<String> {
    let mut lines = vec![BEGIN.to_owned(), EXPLAINED.to_owned(), String::new()];
    let before = lines.len();
    for (id, kind, content) in parts {
        if content.is_empty() {
            continue;
        }
        lines.push(format!("{HEAD}{id} kind={}]", kind.name()));
        lines.push(content);
        lines.push(RULE.to_owned());
    }
    if lines.len() == before {
        return None;
    }
    lines.push(END.to_owned());
    Some(lines.join("\n"))
}

/// A text outside of the block, in which no line looks like the block's beginning, end, or the head
/// of a reference.
pub fn outside_the_block(text: &str) -> String {
    escaped_where(text, |line| {
        [HEAD, BEGIN, END].iter().any(|own| line.starts_with(own))
    })
}

/// Puts a `\` before every line that looks like one of the block's own, or like an escaped one.
fn escaped(text: &str) -> String {
    escaped_where(text, |line| {
        line == RULE || [HEAD, BEGIN, END].iter().any(|own| line.starts_with(own))
    })
}

fn escaped_where(text: &str, is_ours: impl Fn(&str) -> bool) -> String {
    // Not only \n ends a line for a reader.
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive(ends) {
        if is_ours(line.trim_start_matches(ESCAPE).trim()) {
            out.push(ESCAPE);
        }
        out.push_str(line);
    }
    out
}
