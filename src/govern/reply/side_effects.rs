//! Which verbs are side effects in a clause: some always, others where it is about a thing of a
//! machine.

use crate::govern::clauses::lexicon::lexicon;
use crate::govern::clauses::verbs::ClaimScope;

/// What a clause is about decides which verbs are side effects in it.
#[derive(Clone, Copy, Debug)]
pub(in crate::govern) struct Deeds {
    on_a_thing: bool,
}

impl Deeds {
    /// For a clause of these words; `code` when the reply shows code, which is then what was made
    /// or changed.
    pub fn of(words: &[String], code: bool) -> Deeds {
        let here = &lexicon().claims.words.shown_here;
        let shown = code || words.iter().any(|word| here.has(word));
        Deeds {
            on_a_thing: !shown && words.iter().any(|word| lexicon().is_thing(word)),
        }
    }

    fn is(self, scope: Option<ClaimScope>) -> bool {
        scope.is_some_and(|scope| scope == ClaimScope::Always || self.on_a_thing)
    }

    /// Whether a word is the past form of one of these verbs, such as `restarted`.
    pub fn past(self, word: &str) -> bool {
        self.is(lexicon().past(word))
    }

    /// `restart`, after *I was able to*
    pub fn base(self, word: &str) -> bool {
        self.is(lexicon().base(word))
    }

    /// Whether a word is the progressive form of one of these verbs, such as `restarting`.
    pub fn under_way(self, word: &str) -> bool {
        self.is(lexicon().under_way(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::phrase;

    #[test]
    fn some_verbs_are_deeds_on_a_thing_of_a_machine_only() {
        for (clause, code, deed) in [
            ("i restarted it", false, "restarted"),
            ("i restarted it", true, "restarted"),
            ("i updated the file", false, "updated"),
        ] {
            assert!(
                Deeds::of(&phrase::words(clause), code).past(deed),
                "{clause}"
            );
        }
        for (clause, code, other) in [
            ("i updated the file", true, "updated"),
            ("i updated the file below", false, "updated"),
            ("i updated the joke", false, "updated"),
            ("i restart it", false, "restart"),
        ] {
            assert!(
                !Deeds::of(&phrase::words(clause), code).past(other),
                "{clause}"
            );
        }
    }
}
