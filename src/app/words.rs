//! Words that lists and messages share.

use crate::record::unseen::spelled_on_a_line;

/// The first `most` characters of a text on one line, with `…` behind them when there are more.
///
/// What moves a cursor or turns the direction of writing is spelled out.
pub fn beginning(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(most).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    format!("{}{more}", spelled_on_a_line(&cut))
}

/// `1 line`, `2 lines`.
pub fn counted(n: impl TryInto<u64>, one: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_one_line_and_says_when_there_is_more() {
        assert_eq!(beginning(" a \n b\tc", 3), "a b…");
        assert_eq!(beginning("abc", 3), "abc");
        assert_eq!(beginning("\u{202e}abc", 2), "\\u202ea…");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [
                counted(0_u64, "turn"),
                counted(1_usize, "turn"),
                counted(2_u64, "turn")
            ],
            ["0 turns", "1 turn", "2 turns"]
        );
    }
}
