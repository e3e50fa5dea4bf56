//! Blocks in the forms in which models write calls of tools (AEGIS 7.1).

use std::sync::OnceLock;

use regex::Regex;

/// One of these is in every form; without any there is nothing to look for, and no expression to
/// compile.
const SIGNS: [&str; 14] = [
    "<tool_call",
    "<function",
    "<tool_use",
    "<invoke",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "tool_calls\"",
    "function_call\"",
    "\"arguments\"",
    "\"parameters\"",
    "\"args\"",
    "\"input\"",
    "action_input\"",
    "Action Input:",
];
/// So many bytes of what follows belong to a call, for people to read.
const SHOWN: usize = 120;
/// An element's first tag has no more characters.
const TAG: usize = 200;

/// How calls begin. No count of repetitions stands in it: those made it thirty times as dear to
/// compile.
fn heads() -> &'static Regex {
    static ONCE: OnceLock<Regex> = OnceLock::new();
    ONCE.get_or_init(|| {
        let forms = [
            r"<(?:tool_call|function_call|tool_use)(?-u:\b)",
            r#"<(?:function=|invoke name=")[A-Za-z0-9_.:-]+"#,
            r"\[TOOL_CALLS\]",
            r"<\|python_tag\|>",
            r#""(?:tool_calls|function_call)"[ \t\r\n]*:[ \t\r\n]*[\[{]"#,
            r#"\{[ \t\r\n]*"(?:name|tool|function)"[ \t\r\n]*:[ \t\r\n]*"[^"\n]+"[ \t\r\n]*,[ \t\r\n]*"(?:arguments|parameters|args|input)"[ \t\r\n]*:"#,
            r#""action"[ \t\r\n]*:[ \t\r\n]*"[^"\n]+"[ \t\r\n]*,[ \t\r\n]*"action_input"[ \t\r\n]*:"#,
            r"(?m)^Action:[ \t]*\S[^\n]*\nAction Input:",
        ];
        Regex::new(&forms.join("|")).expect("a test compiles it")
    })
}

/// The calls in a reply, each with the beginning of what is called.
pub(in crate::govern) fn tool_calls(reply: &str) -> Vec<&str> {
    if !SIGNS.iter().any(|sign| reply.contains(sign)) {
        return Vec::new();
    }
    let (mut calls, mut free) = (Vec::new(), 0);
    for head in heads().find_iter(reply) {
        let rest = reply.get(head.end()..).unwrap_or_default();
        let Some(length) = length(head.as_str(), rest).filter(|_| head.start() >= free) else {
            continue;
        };
        free = head.end() + length;
        calls.extend(reply.get(head.start()..free));
    }
    calls
}

/// How many bytes behind a head belong to its call; none when it is no call.
fn length(head: &str, rest: &str) -> Option<usize> {
    let until = |text: &str, end: char| {
        text.char_indices()
            .take(SHOWN + 1)
            .find(|(n, c)| *c == end || *n >= SHOWN)
            .map_or(text.len(), |(at, _)| at)
    };
    if matches!(head, "<tool_call" | "<function_call" | "<tool_use") {
        let tag = rest
            .char_indices()
            .take(TAG)
            .find(|(_, c)| *c == '>')
            .map(|(at, _)| at + 1)?;
        return Some(tag + until(rest.get(tag..)?, '<'));
    }
    let is_open = matches!(head, "[TOOL_CALLS]" | "<|python_tag|>") || head.ends_with(['[', '{']);
    Some(if is_open { until(rest, '\n') } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_the_beginning_of_what_is_called() {
        for (reply, calls) in [
            (
                "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>",
                vec!["<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n"],
            ),
            ("<tool_call id=1", vec![]),
            ("<tool_calling>", vec![]),
            ("[TOOL_CALLS] a\nb", vec!["[TOOL_CALLS] a"]),
            ("<|python_tag|>x()", vec!["<|python_tag|>x()"]),
            (
                "<function=ls> and <invoke name=\"cat\">",
                vec!["<function=ls", "<invoke name=\"cat"],
            ),
            (
                "{ \"tool\" : \"ls\" , \"input\" : 1}",
                vec!["{ \"tool\" : \"ls\" , \"input\" :"],
            ),
            (
                "{\"tool_calls\":[{\"name\":\"a\",\"args\":1}]}",
                vec!["\"tool_calls\":[{\"name\":\"a\",\"args\":1}]}"],
            ),
            (
                "Action: ls\nAction Input: x",
                vec!["Action: ls\nAction Input:"],
            ),
            ("an action: none", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(tool_calls(reply), calls, "{reply}");
        }
        let long = format!("[TOOL_CALLS] {}", "é".repeat(500));
        assert!(tool_calls(&long)[0].chars().count() <= 12 + SHOWN);
    }
}
