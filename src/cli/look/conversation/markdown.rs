//! A conversation in Markdown: what was said stands in fenced code, which nothing in it can end.
//!
//! A fence is longer than any run of backticks in its text (CommonMark, 4.5). Titles and names are
//! escaped character by character (2.4), and everything that would move a cursor is spelled out.

use crate::app::look::conversation::{AnswerEvidence, ConversationPage, Message};
use crate::record::unseen::{spelled, spelled_on_a_line};

use super::{said, unanswered};

/// The shortest fence that there is.
const FENCE: usize = 3;

/// The page as a document.
pub fn document(page: &ConversationPage) -> String {
    let listed = &page.conversation;
    let mut text = format!("# {}\n\n", escaped(&listed.title.shown()));
    text.push_str(&format!("- Conversation: `{}`\n", listed.row.thread));
    if let Some(project) = &listed.project {
        text.push_str(&format!("- Project: {}\n", escaped(&project.called())));
    }
    text.push_str(&format!("- Questions: {}\n", listed.row.turns));
    for message in &page.messages {
        text.push_str(&section(message));
    }
    text
}

fn section(message: &Message) -> String {
    let who = match message.by_user {
        true => "question".to_owned(),
        false => format!("answer of {}", escaped(&message.model)),
    };
    let mut text = format!("\n## {} · {who} · {}\n\n", message.id, message.at);
    match &message.text {
        Some(words) => text.push_str(&fenced(words)),
        None => text.push_str(&format!("*{}*\n", escaped(&said(message)))),
    }
    text.extend(unanswered(message).map(|why| format!("\n*{}*\n", escaped(&why))));
    text.extend(message.evidence.as_ref().map(evidence));
    text
}

fn evidence(of: &AnswerEvidence) -> String {
    let mut lines = vec![format!(
        "- Interaction: {} of session `{}`",
        of.interaction, of.session
    )];
    lines.extend(
        of.chain_entry
            .map(|hash| format!("- Chain entry: `{hash}`")),
    );
    let commit = of.commit.as_ref();
    lines.extend(commit.map(|id| format!("- Commit: `{}`", id.replace('`', ""))));
    lines.push(match (of.block, of.block_hash) {
        (Some(height), Some(hash)) => format!("- Block: {height} `{hash}`"),
        (Some(height), None) => format!("- Block: {height}"),
        (None, _) => "- Block: none".to_owned(),
    });
    format!("\n{}\n", lines.join("\n"))
}

/// A text in fenced code.
pub(super) fn fenced(text: &str) -> String {
    let text = spelled(text);
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().saturating_add(1).max(FENCE));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}text\n{text}{end}{fence}\n")
}

/// A text on one line that is nothing but its characters. Escaped is what a reader of Markdown, also
/// of its usual extensions, may take for a sign of its own: everywhere, or where a line or a word
/// begins or ends; nothing else, so that a name such as `openai/gpt-4o-mini` stays one.
pub(super) fn escaped(text: &str) -> String {
    let text = spelled_on_a_line(text);
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied();
        if is_sign(c, before, after) && !(c == ':' && ends_a_word(&out, after)) {
            out.push('\\');
        }
        out.push(c);
        before = Some(c);
    }
    out
}

/// Whether a colon stands behind a word and nothing else, as in a sentence: no sign by itself, and not
/// the end of one such as `:smile:`.
fn ends_a_word(text: &str, after: Option<char>) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(char::is_alphanumeric);
    is_word && after.is_none_or(char::is_whitespace)
}

/// Whether a character, between those beside it, may be a sign of Markdown. What stands between two
/// letters or digits is none, but for those that are signs wherever they stand, and the dots of an
/// address, of which some readers make a link.
fn is_sign(c: char, before: Option<char>, after: Option<char>) -> bool {
    const ALWAYS: &str = "\\`*_[]<>&|~$^{}@#";
    const NEVER: &str = "/,;?%'\"(";
    let stands_between = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    match c {
        _ if ALWAYS.contains(c) => true,
        _ if NEVER.contains(c) => false,
        '.' => !stands_between(|beside| beside.is_ascii_digit()),
        // Of a list, as in 1); that of a link stands behind a bracket, which is a sign.
        ')' => before.is_some_and(|beside| beside.is_ascii_digit()),
        _ => c.is_ascii_punctuation() && !stands_between(char::is_alphanumeric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_fence() {
        for text in [
            "plain",
            "```\n# not a heading\n```",
            "~~~\n````\n`````x",
            "a\r```\rb",
            "ends\n",
            "",
            "```",
        ] {
            let block = fenced(text);
            let lines: Vec<&str> = block.lines().collect();
            let fence = lines[0].strip_suffix("text").unwrap();
            assert!(fence.len() >= FENCE && fence.bytes().all(|b| b == b'`'));
            assert_eq!(lines[lines.len() - 1], fence, "{text:?}");
            let inner = &lines[1..lines.len() - 1];
            // What closes a fence is a line of as many backticks or more, and nothing else.
            assert!(inner.iter().all(|line| !line.contains(fence)), "{block}");
            assert!(!block.contains('\r'), "{block:?}");
        }
        assert_eq!(fenced("a\u{1b}[2J"), "```text\na\\u001b[2J\n```\n");
    }

    #[test]
    fn a_title_is_nothing_but_its_characters() {
        assert_eq!(
            escaped("*a* <b> [x](y) `c` # _d_ \\"),
            "\\*a\\* \\<b\\> \\[x\\](y) \\`c\\` \\# \\_d\\_ \\\\"
        );
        for (name, in_markdown) in [
            ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
            ("ollama/llama3.1:8b", "ollama/llama3.1:8b"),
            (
                "Really? Yes, \"so\"; 5 % off",
                "Really? Yes, \"so\"; 5 % off",
            ),
            ("snake_case", "snake\\_case"),
            // What would begin a list, a heading or a rule, or end a heading.
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("1) a", "1\\) a"),
            ("+ a", "\\+ a"),
            ("# a #", "\\# a \\#"),
            ("---", "\\-\\-\\-"),
            ("===", "\\=\\=\\="),
            ("![x](y)", "\\!\\[x\\](y)"),
            ("(not kept)", "(not kept)"),
            ("denied: secret_seal", "denied: secret\\_seal"),
            (":smile: a:b: :", "\\:smile\\: a:b\\: \\:"),
            ("a&amp;b", "a\\&amp;b"),
            ("www.a.example", "www\\.a\\.example"),
            ("https://a", "https\\://a"),
            ("a@b c#1 @d", "a\\@b c\\#1 \\@d"),
            ("~~a~~ | b", "\\~\\~a\\~\\~ \\| b"),
        ] {
            assert_eq!(escaped(name), in_markdown);
        }
        assert_eq!(escaped("été\u{202e}"), "été\\\\u202e");
        assert_eq!(escaped("two\nlines"), "two\\\\nlines");
    }
}
