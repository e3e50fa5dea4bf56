//! A text as its prose, its sentences, their parts and their words.

use std::sync::LazyLock;

use regex::Regex;

use super::quotations::{Quotes, replaced};

/// Both are compiled when a text has a fence.
static FENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)(?:^|\n)[ \t]*(?:```.*?\n[ \t]*```|~~~.*?\n[ \t]*~~~)[^\n]*")
        .expect("a test compiles it")
});
static OPEN_FENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)(?:^|\n)[ \t]*(?:```|~~~).*$").expect("a test compiles it"));

/// What ends a sentence: a mark before white space, so that `0.42` and `nginx.conf` stay whole. The
/// end of a line always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::govern) enum SentenceEnds {
    /// In what somebody tells: also behind what closes a quotation, a bracket or an emphasis. The
    /// marks stay with their sentence, for they say whether it is a question.
    Told,
    /// In what somebody asks for or announces: semicolons and ellipses as well, since another order
    /// may follow. The marks are no part of their sentence, which is what people are shown.
    Asked,
}

impl SentenceEnds {
    fn is_mark(self, c: char) -> bool {
        matches!(c, '.' | '!' | '?') || (self == SentenceEnds::Asked && matches!(c, ';' | '…'))
    }

    fn is_closing(self, c: char) -> bool {
        self == SentenceEnds::Told && matches!(c, '"' | '\'' | ')' | '*' | '_' | '”')
    }
}

/// The text without fenced code; a fence that nobody closes ends with the text.
pub(in crate::govern) fn without_code(text: &str) -> String {
    if !text.contains("```") && !text.contains("~~~") {
        return text.to_owned();
    }
    let closed = FENCE.replace_all(text, "\n");
    OPEN_FENCE.replace_all(&closed, "\n").into_owned()
}

/// What a text says by itself: no fenced code, and no quoted lines.
pub(in crate::govern) fn own_prose(text: &str) -> String {
    let prose = without_code(text);
    let own = prose
        .lines()
        .filter(|line| !line.trim_start().starts_with('>'));
    own.collect::<Vec<_>>().join("\n")
}

/// The sentences of a text that have a letter or a digit.
pub(in crate::govern) fn sentences(text: &str, ends: SentenceEnds) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut ended) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\n' || (ended && c.is_whitespace()) {
            out.extend(text.get(start..at));
            start = at;
        }
        ended = ends.is_mark(c) || (ended && ends.is_closing(c));
    }
    out.extend(text.get(start..));
    out.into_iter()
        .map(str::trim)
        .map(|sentence| match ends {
            SentenceEnds::Told => sentence,
            SentenceEnds::Asked => sentence
                .trim_end_matches(|c: char| ends.is_mark(c))
                .trim_end(),
        })
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect()
}

/// The parts of a sentence that stand by themselves: a *no* in one says nothing about another.
pub(in crate::govern) fn parts(sentence: &str) -> Vec<&str> {
    let mut out = vec![sentence];
    for border in [
        "; ",
        ": ",
        " \u{2014} ",
        "\u{2014}",
        " \u{2013} ",
        " - ",
        " -- ",
        ", but ",
        " but ",
        ", and ",
    ] {
        out = out
            .into_iter()
            .flat_map(|part| part.split(border))
            .collect();
    }
    out.into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Words in lower case, as an order has them: paths and names with dots stay whole, for they are what
/// it acts on; quotations of several words are cut out; a comma is a word, for it ends a part of the
/// sentence.
///
/// Elsewhere a text's words are those of [`crate::govern::phrase`].
pub(in crate::govern) fn order_words(sentence: &str) -> Vec<String> {
    let spaced = Quotes {
        spaced: true,
        ..Quotes::default()
    };
    let plain = replaced(sentence, spaced, " ")
        .replace(['\u{2019}', '\u{02bc}'], "'")
        .to_lowercase();
    let parts = plain.replace(',', " , ").replace(['`', ':'], " ");
    let trimmed = |word: &str| {
        let edge = |c: char| {
            !(c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '*' | '_' | ',' | '\\'))
        };
        word.trim_matches(edge).trim_end_matches('.').to_owned()
    };
    parts
        .split_whitespace()
        .map(trimmed)
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_keep_figures_whole() {
        let told = |text| sentences(text, SentenceEnds::Told);
        assert_eq!(
            told("Load 0.42. Fine!\nA list\n\nEnd?"),
            ["Load 0.42.", "Fine!", "A list", "End?"]
        );
        assert_eq!(told("**Done.** Yes."), ["**Done.**", "Yes."]);
        assert!(told("  \n -- \n").is_empty());
        assert_eq!(told("Stop it; now"), ["Stop it; now"]);
    }

    #[test]
    fn orders_end_at_semicolons_and_lose_their_marks() {
        let asked = |text| sentences(text, SentenceEnds::Asked);
        assert_eq!(
            asked("Stop it; delete a.b … \"Go.\" Now?! \r\n. ! end ."),
            ["Stop it", "delete a.b", "\"Go.\" Now", "end"]
        );
        assert!(asked("... ; !").is_empty());
    }

    #[test]
    fn what_a_text_says_by_itself() {
        for (text, own) in [
            ("a\n```sh\nrm x\n```\nb", "a\n\nb"),
            ("a\n~~~\nrm x\n```\ny\n~~~\nb", "a\n\nb"),
            ("a\n  > b\nc", "a\nc"),
            ("a\n```\nrm x", "a"),
        ] {
            assert_eq!(own_prose(text), own, "{text}");
        }
    }

    #[test]
    fn parts_of_a_sentence() {
        assert_eq!(
            parts("Done \u{2014} marked read: it, but no"),
            ["Done", "marked read", "it", "no"]
        );
        assert_eq!(parts("one-way 10:30"), ["one-way 10:30"]);
    }

    #[test]
    fn words_of_an_order() {
        assert_eq!(
            order_words("Don\u{2019}t, “ever again”: delete `/srv/A.conf`."),
            ["don't", ",", "delete", "/srv/a.conf"]
        );
    }
}
