//! Quotations in a text, found in one pass.
//!
//! An expression would look for the end of each opening mark anew, and a text of opening marks
//! makes that the square of its length. Here each kind of border is looked for once: places only
//! grow, so what was found holds until it is passed.

use std::ops::Range;

use crate::govern::sanitize::count;

/// Opening marks, each with what closes it.
const MARKS: [(char, &[char]); 4] = [
    ('"', &['"']),
    ('“', &['”']),
    ('«', &['»']),
    ('„', &['“', '”']),
];

/// What counts as a quotation.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::govern) struct Quotes {
    /// It may not go over the end of a line.
    pub line: bool,
    /// It holds white space: it is of several words.
    pub spaced: bool,
    /// It holds anything at all.
    pub full: bool,
}

/// The next place where a character of some kind stands.
struct Next<'a, F> {
    text: &'a str,
    is: F,
    /// The first one at or after the place asked for last; none: there is none any more.
    at: Option<usize>,
}

impl<'a, F: Fn(char) -> bool> Next<'a, F> {
    fn new(text: &'a str, is: F) -> Self {
        let mut next = Next { text, is, at: None };
        next.at = next.search(0);
        next
    }

    fn search(&self, from: usize) -> Option<usize> {
        let found = self.text.get(from..)?.find(&self.is).map(|at| from + at);
        count(found.unwrap_or(self.text.len()).saturating_sub(from));
        found
    }

    /// The first one at or after a place, which is no smaller than the one asked for before.
    fn at_or_after(&mut self, from: usize) -> Option<usize> {
        if self.at.is_some_and(|at| at < from) {
            self.at = self.search(from);
        }
        self.at
    }
}

/// Where quotations stand, marks included; of two that begin in each other the first.
pub(in crate::govern) fn quotations(text: &str, what: Quotes) -> Vec<Range<usize>> {
    let mut ends = MARKS.map(|(_, marks)| Next::new(text, move |c| marks.contains(&c)));
    let mut line_end = Next::new(text, |c| c == '\n');
    let mut space = Next::new(text, char::is_whitespace);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut free = 0;
    count(text.len());
    for (at, mark) in text.char_indices() {
        let opening = MARKS
            .iter()
            .zip(&mut ends)
            .find(|((open, _), _)| *open == mark);
        let Some((_, closing)) = opening.filter(|_| at >= free) else {
            continue;
        };
        let inside = at + mark.len_utf8();
        let Some(end) = closing.at_or_after(inside) else {
            continue;
        };
        let within = |next: Option<usize>| next.is_some_and(|next| next < end);
        let fits = !(what.line && within(line_end.at_or_after(inside)))
            && (!what.spaced || within(space.at_or_after(inside)))
            && (!what.full || end > inside);
        if fits {
            free = end
                + text
                    .get(end..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8);
            found.push(at..free);
        }
    }
    found
}

/// The text with a word in the place of each quotation.
pub(in crate::govern) fn replaced(text: &str, what: Quotes, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for place in quotations(text, what) {
        out.push_str(text.get(from..place.start).unwrap_or_default());
        out.push_str(word);
        from = place.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// What a quotation says: without its marks.
pub(in crate::govern) fn unquoted(quotation: &str) -> &str {
    let mut inside = quotation.chars();
    inside.next();
    inside.next_back();
    inside.as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;
    use crate::govern::sanitize::steps;

    const ANY: Quotes = Quotes {
        line: false,
        spaced: false,
        full: false,
    };

    #[test]
    fn quotations_of_each_kind() {
        let line = Quotes { line: true, ..ANY };
        for (text, what, out) in [
            ("a \"b c\" d", ANY, "a Q d"),
            ("“b” «c» „d“ „e”", ANY, "Q Q Q Q"),
            ("\"\"", ANY, "Q"),
            ("\"\"\"", Quotes { full: true, ..ANY }, "\"\"\""),
            ("it's 5\" wide", ANY, "it's 5\" wide"),
            ("\"a\nb\" c\"", line, "\"a\nbQ"),
            ("\"a\nb\"", ANY, "Q"),
            (
                "\"ab\" and \"c",
                Quotes {
                    spaced: true,
                    ..ANY
                },
                "\"abQc",
            ),
            (
                "“a “b c”",
                Quotes {
                    spaced: true,
                    ..ANY
                },
                "Q",
            ),
            ("", ANY, ""),
        ] {
            assert_eq!(replaced(text, what, "Q"), out, "{text}");
        }
        assert_eq!(
            (unquoted("«a b»"), unquoted("\"\""), unquoted("")),
            ("a b", "", "")
        );
    }

    proptest! {
        /// The expressions that stood here before, as an oracle.
        #[test]
        fn it_finds_what_an_expression_finds(text in "[\"“”«»„ab \n]{0,40}") {
            for (what, expression) in [
                (Quotes { line: true, ..ANY }, "\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]"),
                (Quotes { line: true, full: true, ..ANY }, "\"[^\"\n]+\"|“[^”\n]+”|«[^»\n]+»|„[^“”\n]+[“”]"),
                (Quotes { spaced: true, ..ANY },
                    "\"[^\"]*\\s[^\"]*\"|“[^”]*\\s[^”]*”|«[^»]*\\s[^»]*»|„[^“”]*\\s[^“”]*[“”]"),
            ] {
                let oracle = Regex::new(expression).unwrap();
                prop_assert_eq!(replaced(&text, what, "Q"), oracle.replace_all(&text, "Q"));
            }
        }
    }

    #[test]
    fn twice_the_text_is_twice_the_work() {
        for unit in ["“\"a b\"", "“", "\"", "„\"a\"“x", "«“„", "\"a\n", "“a"] {
            let spent = |times: usize| {
                let text = unit.repeat(times);
                let before = steps();
                quotations(
                    &text,
                    Quotes {
                        line: true,
                        spaced: true,
                        full: true,
                    },
                );
                quotations(&text, ANY);
                (steps() - before, text.len() as u64)
            };
            let ((one, bytes), (two, _)) = (spent(4000), spent(8000));
            assert!(
                two <= 2 * one + 64 && one <= 20 * bytes,
                "{unit}: {one}, {two} steps for {bytes} bytes"
            );
        }
    }
}
