//! A clause, and what stands where in it.
//!
//! | part | as in |
//! |---|---|
//! | condition | ***if** it hangs, kill it* |
//! | speaker | ***I've** restarted it*, ***I'm** restarting it* |
//! | verb | *I've already **restarted** it*, *I'll now **restart** it* |
//! | what speaks against it | *I have **not** restarted it*, ***should** it be restarted?* |

use super::lexicon::FunctionWords;

/// Words of a sentence, in small letters, that are read as one clause.
///
/// What a word is may depend on who asks: requests and claims have [`FunctionWords`] of their own.
#[derive(Clone, Copy)]
pub(in crate::govern) struct Clause<'w> {
    pub words: &'w [String],
    function_words: &'static FunctionWords,
}

/// Who does what a clause tells of, as its subject says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::govern) enum Speaker {
    /// *I*, *we've*, *I'd*: somebody who did it, or does.
    Acts,
    /// *I'm*, *we're*: somebody who is about it.
    IsAbout,
    /// *I am*, of which this is the second word.
    Am,
}

impl<'w> Clause<'w> {
    pub fn new(words: &'w [String], function_words: &'static FunctionWords) -> Self {
        Clause {
            words,
            function_words,
        }
    }

    /// What begins at a place; nothing behind the end.
    pub fn from(self, at: usize) -> Self {
        Clause {
            words: self.words.get(at..).unwrap_or_default(),
            ..self
        }
    }

    /// What ends before a place, or before the end.
    pub fn until(self, end: usize) -> Self {
        Clause {
            words: self.words.get(..end).unwrap_or(self.words),
            ..self
        }
    }

    /// The word at a place; an empty one behind the end.
    pub fn word(self, at: usize) -> &'w str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// Whether it begins with a condition.
    pub fn is_condition(self) -> bool {
        self.function_words.conditions.begin(self.words)
    }

    /// Whether the word at a place speaks against what the clause would be.
    pub fn is_against(self, at: usize) -> bool {
        let FunctionWords {
            against,
            against_endings,
            ..
        } = self.function_words;
        let word = self.word(at);
        against.has(word) || against_endings.ends(word.as_bytes())
    }

    /// The first place, at or behind another, whose word speaks against what the clause would be;
    /// the end if none does.
    pub fn opposed_at(self, from: usize) -> usize {
        let end = self.words.len();
        (from..end).find(|at| self.is_against(*at)).unwrap_or(end)
    }

    /// Who speaks at a place.
    pub fn speaker(self, at: usize) -> Option<Speaker> {
        match self.word(at) {
            "i've" | "i" | "we've" | "we" | "i'd" => Some(Speaker::Acts),
            "i'm" | "we're" => Some(Speaker::IsAbout),
            "am" if at > 0 && self.word(at - 1) == "i" => Some(Speaker::Am),
            _ => None,
        }
    }

    /// Whether the subject at a place stands behind its auxiliary, as in a question: *have I*.
    pub fn is_inverted(self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        matches!(before, "have" | "had" | "did" | "do" | "has")
    }

    /// The first word that may not stand between a subject and its verb, with its place.
    pub fn verb(self) -> Option<(usize, &'w str)> {
        let between = &self.function_words.between;
        let passed = |at: usize| between.has(self.word(at)) && !self.starts(at);
        let at = (0..self.words.len()).find(|at| !passed(*at))?;
        Some((at, self.word(at)))
    }

    /// "Start" is a verb of its own before a thing, and none in "start by restarting".
    fn starts(self, at: usize) -> bool {
        self.word(at) == "start" && !matches!(self.word(at + 1), "" | "by")
    }

    /// Whether any of its words is one of some.
    pub fn has(self, is: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|word| is(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::clauses::lexicon::lexicon;
    use crate::govern::phrase;

    #[test]
    fn parts_of_a_clause() {
        let (claims, requests) = (
            &lexicon().claims.function_words,
            &lexicon().requests.function_words,
        );
        let words = phrase::words("I've already restarted it, and I'm not done");
        let clause = Clause::new(&words, claims);
        assert_eq!(clause.speaker(0), Some(Speaker::Acts));
        assert_eq!(clause.speaker(5), Some(Speaker::IsAbout));
        assert_eq!(clause.from(1).verb(), Some((1, "restarted")));
        assert_eq!(
            (clause.opposed_at(0), clause.opposed_at(7)),
            (6, words.len())
        );
        assert_eq!(clause.until(6).opposed_at(0), 6);
        for (text, claimed, requested) in [
            ("as soon as it hangs", true, false),
            ("if it hangs", true, true),
            ("before it hangs", false, true),
            ("it hangs", false, false),
        ] {
            let words = phrase::words(text);
            let is = |with| Clause::new(&words, with).is_condition();
            assert_eq!((is(claims), is(requests)), (claimed, requested), "{text}");
        }
        for (text, verb) in [
            ("now start by restarting it", Some((3, "restarting"))),
            ("now start nginx", Some((1, "start"))),
            ("now start", None),
            ("", None),
        ] {
            let words = phrase::words(text);
            assert_eq!(Clause::new(&words, requests).verb(), verb, "{text}");
        }
        let words = phrase::words("have i am don't");
        let clause = Clause::new(&words, claims);
        assert!(clause.is_inverted(1) && !clause.is_inverted(0) && clause.is_against(3));
        assert_eq!(clause.speaker(2), Some(Speaker::Am));
    }
}
