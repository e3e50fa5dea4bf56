//! Quoting a server's own words in an error message: one line, bounded, secrets removed.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Characters of a server's own words that an error message repeats: enough for a sentence and a
/// link.
pub const MAX_QUOTE: usize = 500;
/// Characters of a server's words that are looked at; what follows can't come into the quotation.
const QUOTE_WINDOW: usize = 16 * 1024;
/// A run of the API key this long is removed wherever it stands: providers echo keys with the
/// middle left out.
const KEY_RUN: usize = 8;
const REMOVED: &str = "[removed]";

/// What a secret looks like: (pattern, what replaces it).
static SECRETS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    let regex = |pattern| Regex::new(pattern).expect("written by hand and compiled in a test");
    [
        (regex(r"://[^/\s@]+@"), "://[removed]@"),
        (
            regex(r"(?i)\b(bearer|basic)\s+[\w~+/=*.-]{6,}"),
            "$1 [removed]",
        ),
        (
            regex(
                r#"(?i)\b(api[_ -]?key|token|secret|password)\b([^:=]{0,24})[:=]\s*["']?[^\s"',]+"#,
            ),
            "$1$2: [removed]",
        ),
        (
            regex(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|AKIA|AIza|xox[a-z])[-_][\w*.…-]{4,}"),
            REMOVED,
        ),
        (regex(r"\b(?:AKIA|AIza)[\w-]{8,}"), REMOVED),
    ]
});
/// Long words of letters and digits without a separator; model names and dates have separators.
static LONG_WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[A-Za-z0-9]{20,}").expect("written by hand and compiled in a test")
});

/// Quotes a server's words in an error message: one line, at most [`MAX_QUOTE`] characters, secrets
/// removed.
///
/// Removed are the API key and every run of eight of its characters, what follows `Bearer` or `api
/// key:`, user info in addresses, the known shapes of keys, and long words that mix letters and
/// digits.
pub fn quote(words: &str, key: Option<&str>) -> String {
    let window: String = words.chars().take(QUOTE_WINDOW).collect();
    let mut text = key.map_or(window.clone(), |key| without_key(&window, key));
    for (pattern, instead) in SECRETS.iter() {
        text = pattern.replace_all(&text, *instead).into_owned();
    }
    let mixed = |word: &str| {
        word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let hide = |found: &Captures<'_>| {
        if mixed(&found[0]) {
            REMOVED.to_owned()
        } else {
            found[0].to_owned()
        }
    };
    let text = LONG_WORD.replace_all(&text, hide);
    let line = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_QUOTE {
        return line;
    }
    line.chars().take(MAX_QUOTE - 1).chain(['…']).collect()
}

/// Removes the key, and every run of [`KEY_RUN`] or more characters of it.
fn without_key(text: &str, key: &str) -> String {
    if key.is_empty() {
        return text.to_owned();
    }
    if key.chars().count() < KEY_RUN {
        return without_word(text, key);
    }
    let text = text.replace(key, REMOVED);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let run = longest_run(rest, key);
        let (skip, shown) = if run >= KEY_RUN {
            (run, REMOVED)
        } else {
            (first.len_utf8(), "")
        };
        kept.push_str(shown);
        let (here, after) = rest.split_at(skip);
        if shown.is_empty() {
            kept.push_str(here);
        }
        rest = after;
    }
    kept
}

/// Removes a key where it is a word by itself: local servers are content with a letter, which is in
/// many words.
fn without_word(text: &str, key: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(key) {
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let alone = !is_part(text[..at].chars().next_back())
            && !is_part(text[at + key.len()..].chars().next());
        if alone {
            kept.push_str(&text[from..at]);
            kept.push_str(REMOVED);
            from = at + key.len();
        }
    }
    kept.push_str(&text[from..]);
    kept
}

/// The number of bytes at the start of `text` that stand somewhere in `key` in the same order.
fn longest_run(text: &str, key: &str) -> usize {
    let common = |tail: &str| {
        tail.chars()
            .zip(text.chars())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum::<usize>()
    };
    key.char_indices()
        .filter_map(|(at, _)| key.get(at..))
        .map(common)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_hold_no_secret() {
        const KEY: &str = "local.Zq8-wert_77/uio+pas=";
        for (words, quoted) in [
            (
                "plain words, kept: model \"SmolLM2-135M-Instruct-Q4_K_M\" not found",
                None,
            ),
            ("see https://example.org/v1/errors?code=3", None),
            ("request 0192f3c4-7a1b-7c3d-8e4f-5a6b7c8d9e0f failed", None),
            (
                "you gave local.Zq8-wert_77/uio+pas= here",
                Some("you gave [removed] here"),
            ),
            (
                "you gave local.Zq8-*** and 7/uio+pas",
                Some("you gave [removed]*** and [removed]"),
            ),
            (
                "Authorization: Bearer abc.def-123",
                Some("Authorization: Bearer [removed]"),
            ),
            (
                "Incorrect API key provided: sk-ab***yz. Find",
                Some("Incorrect API key provided: [removed] Find"),
            ),
            (
                "not sk-proj-abcdEFGH and AIzaSyA12345678 ok",
                Some("not [removed] and [removed] ok"),
            ),
            (
                "got 0123456789abcdef0123456789abcdef.",
                Some("got [removed]."),
            ),
            (
                "at http://me:pass@host/x",
                Some("at http://[removed]@host/x"),
            ),
            ("two\nlines\u{1b}[31m \u{7}red", Some("two lines [31m red")),
        ] {
            assert_eq!(quote(words, Some(KEY)), quoted.unwrap_or(words));
        }
        let long = quote(&"é ".repeat(100_000), None);
        assert_eq!(
            (long.chars().count(), long.ends_with('…')),
            (MAX_QUOTE, true)
        );
        assert_eq!(quote("ab", Some("")), "ab");
        // A key of a letter, as people give to a server of their own.
        assert_eq!(
            quote("key x of text/html does not exist: 'x'", Some("x")),
            "key [removed] of text/html does not exist: '[removed]'"
        );
    }
}
