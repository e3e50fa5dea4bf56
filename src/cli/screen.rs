//! Foreign text on a screen: it may say anything, and move nothing.

/// A text on one line; what moves the cursor, or turns the direction of writing, is spelled out.
pub fn quiet(text: &str) -> String {
    text.chars().map(|c| if moves(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// A text of several lines, each behind `indent`; tabs stay.
pub fn block(text: &str, indent: &str) -> String {
    let safe = |line: &str| line.split('\t').map(quiet).collect::<Vec<_>>().join("\t");
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{}\n", safe(line)) })
        .collect()
}

/// The beginning of a text, on one line.
pub fn beginning(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(most).collect();
    if cut.len() < words.len() { format!("{}…", quiet(&cut)) } else { quiet(&cut) }
}

/// `1 line`, `2 lines`.
pub fn counted(n: impl TryInto<u64>, one: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

fn moves(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_write_elsewhere_on_the_screen() {
        assert_eq!(quiet("a\u{1b}[2J\r\nb\u{202e}é"), "a\\u{1b}[2J\\r\\nb\\u{202e}é");
        assert_eq!(block("one\n\ttwo\u{7}\n\nthree\n", "  "), "  one\n  \ttwo\\u{7}\n\n  three\n");
        assert_eq!(beginning(" a \n b\tc", 3), "a b…");
        assert_eq!(beginning("abc", 3), "abc");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [counted(0_u64, "turn"), counted(1_usize, "turn"), counted(2_u64, "turn")],
            ["0 turns", "1 turn", "2 turns"]
        );
    }
}
