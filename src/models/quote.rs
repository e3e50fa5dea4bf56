//! Quoting a server's own words in an error message: one line, bounded, secrets removed.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use zeroize::Zeroizing;

use crate::record::ledger::reply::SENT_KEY;

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

/// The key that was sent, to be taken out of what its server says.
///
/// An answer is longer than a message of an error, and what it says counts: so only a run of at
/// least half of the key goes, and of keys shorter than `KEY_RUN` (a letter, a word) nothing.
pub struct KeyPieces {
    /// The key as it stands in a text, in a JSON string, and in a JSON string within one.
    spelled: Vec<Zeroizing<String>>,
    /// Bytes that a run has at least.
    least: usize,
}

impl KeyPieces {
    /// Of a key that is long enough to be one.
    pub fn of(key: &str) -> Option<KeyPieces> {
        if key.len() < KEY_RUN || !key.is_ascii() {
            return None;
        }
        let mut spelled = vec![Zeroizing::new(key.to_owned())];
        for _ in 0..2 {
            let print =
                Zeroizing::new(serde_json::Value::from(spelled.last()?.as_str()).to_string());
            let inner = print.get(1..print.len() - 1)?;
            if inner == spelled.last()?.as_str() {
                break;
            }
            spelled.push(Zeroizing::new(inner.to_owned()));
        }
        let least = KEY_RUN.max(key.len().div_ceil(2));
        Some(KeyPieces { spelled, least })
    }

    /// The text without the key; none where it does not hold it.
    pub fn taken_out(&self, text: &str) -> Option<String> {
        // The longest spelling first: the others stand in parts of it.
        let mut kept = None;
        for key in self.spelled.iter().rev() {
            let now = kept.as_deref().unwrap_or(text);
            kept = self.runs_out(now, key).or(kept);
        }
        kept
    }

    fn runs_out(&self, text: &str, key: &str) -> Option<String> {
        let runs: HashSet<&[u8]> = key.as_bytes().windows(self.least).collect();
        let mut kept = String::new();
        // The key is ASCII, so whatever is equal to a part of it begins and ends with a character.
        let (mut done, mut at) = (0, 0);
        while let Some(window) = text.as_bytes().get(at..at + self.least) {
            if !runs.contains(window) {
                at += 1;
                continue;
            }
            let run = longest_run(text.get(at..)?, key).max(self.least);
            kept.push_str(text.get(done..at)?);
            kept.push_str("[redacted:");
            kept.push_str(SENT_KEY);
            kept.push(']');
            at += run;
            done = at;
        }
        kept.push_str(text.get(done..)?);
        (done > 0).then_some(kept)
    }
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
    fn the_key_goes_out_of_what_its_server_says() {
        let pieces = KeyPieces::of("correcthorsebattery").unwrap();
        for (text, kept) in [
            ("é correcthorsebattery.", Some("é [redacted:sent-key].")),
            (
                "correcthorsebatterycorrecthorse",
                Some("[redacted:sent-key][redacted:sent-key]"),
            ),
            (
                "ends with rsebattery",
                Some("ends with [redacted:sent-key]"),
            ),
            ("correct horse, battery", None),
            ("", None),
        ] {
            assert_eq!(pieces.taken_out(text).as_deref(), kept, "{text}");
        }
        let quoted = KeyPieces::of("ab\"cd\\efgh").unwrap();
        for text in [
            "ab\"cd\\efgh",
            "ab\\\"cd\\\\efgh",
            "ab\\\\\\\"cd\\\\\\\\efgh",
        ] {
            assert_eq!(
                quoted.taken_out(text).as_deref(),
                Some("[redacted:sent-key]"),
                "{text}"
            );
        }
        assert!(KeyPieces::of("ollama").is_none() && KeyPieces::of("").is_none());
    }

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
