//! Go's regular expressions, which rule files are written in, as the `regex` crate reads them.

/// Spells an expression of Go for the `regex` crate, with the same meaning.
///
/// In Go a brace that repeats nothing and a bracket inside a class are themselves, and a class has
/// no operators. That `\w`, `\d`, `\s` and `\b` know ASCII only is said where an expression is
/// compiled.
pub fn from_go(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    let mut rest = text.char_indices();
    let (mut in_class, mut repeats) = (false, false);
    while let Some((at, c)) = rest.next() {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '\\' => {
                let escaped = rest.next().map(|(_, escaped)| escaped);
                let code = matches!(escaped, Some('p' | 'P' | 'x'));
                repeats |= code && after.get(1..).is_some_and(|rest| rest.starts_with('{'));
                push_escape(&mut out, escaped);
            }
            '[' if in_class && !after.starts_with(':') => out.push_str("\\["),
            '[' if in_class => {
                out.push('[');
                // [:alpha:] up to its own end.
                for (_, c) in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => {
                in_class = true;
                out.push('[');
                // A negation, and a bracket that comes first, belong to the opening.
                let first = after.strip_prefix('^').unwrap_or(after);
                for _ in 0..after.len() - first.len() + usize::from(first.starts_with(']')) {
                    out.extend(rest.next().map(|(_, c)| c));
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' | '-' if in_class && after.starts_with(c) => out.extend(['\\', c]),
            '{' if !in_class => {
                repeats |= is_count(after) && follows_something(&out);
                out.push_str(if repeats { "{" } else { "\\{" });
            }
            '}' if !in_class => {
                out.push_str(if repeats { "}" } else { "\\}" });
                repeats = false;
            }
            c => out.push(c),
        }
    }
    out
}

fn push_escape(out: &mut String, escaped: Option<char>) {
    match escaped {
        // Borders of words in Rust, themselves in Go.
        Some(sign @ ('<' | '>')) => out.push(sign),
        Some(other) => out.extend(['\\', other]),
        None => out.push('\\'),
    }
}

/// Whether what follows a brace is a number of repetitions: `3}`, `2,}`, `2,5}`.
fn is_count(after: &str) -> bool {
    let inside = after.split_once('}').map_or("", |(inside, _)| inside);
    inside.starts_with(|c: char| c.is_ascii_digit())
        && inside.bytes().all(|b| b.is_ascii_digit() || b == b',')
}

/// Whether there is something before a brace that can be repeated.
fn follows_something(out: &str) -> bool {
    let opens = out.ends_with(['(', '|', '^'])
        && !out.ends_with(r"\(")
        && !out.ends_with(r"\|")
        && !out.ends_with(r"\^");
    !out.is_empty() && !opens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_stays() {
        for (go, ours) in [
            (r"\bkey-[a-z]{2,3}\b", r"\bkey-[a-z]{2,3}\b"),
            (r"[\w.-]\d\S", r"[\w.-]\d\S"),
            (r"^\$(?:\d+|{\d+})$", r"^\$(?:\d+|\{\d+\})$"),
            (r"[[a]&&b", r"[\[a]&&b"),
            (r"[a&&b]", r"[a\&&b]"),
            (r"[[:alnum:]_]{3}", r"[[:alnum:]_]{3}"),
            (r"[^]]", r"[^]]"),
            (r"\p{Greek}{2}\x{10FFFF}", r"\p{Greek}{2}\x{10FFFF}"),
            (r"a{,3}{x}", r"a\{,3\}\{x\}"),
            (r"\<a\>", "<a>"),
        ] {
            assert_eq!(from_go(go), ours, "{go}");
            assert!(regex::Regex::new(ours).is_ok(), "{ours}");
        }
    }
}
