//! Whether a reply says what a correction in its bundle rejects (AEGIS 9, *evidence*).
//!
//! The rejected words stand in one sentence of the reply's own, in their order; they are compared as
//! the kernel's phrases are. A sentence that has any other word that speaks against them, asks, or says
//! the correction itself is left alone.

use super::reply_words::reply_words;
use crate::govern::phrase;
use crate::record::ledger::bundle::Bundle;
use crate::record::ledger::correction::correction_parts;
use crate::record::ledger::prompt::CORRECTION;

/// A correction that rejects something.
#[derive(Clone, Copy)]
pub(super) struct Rejection<'a> {
    id: &'a str,
    claim: &'a str,
    rejected: &'a str,
}

/// Those of a bundle.
pub(super) fn rejections(bundle: &Bundle) -> Vec<Rejection<'_>> {
    let of = |fact: &&crate::record::ledger::bundle::Fact| {
        fact.id
            .strip_prefix(CORRECTION)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    let facts = bundle.facts.iter().filter(of);
    let parts = facts.filter_map(|fact| {
        let (claim, rejected) = correction_parts(&fact.claim);
        let id = fact.id.as_str();
        rejected.map(|rejected| Rejection {
            id,
            claim,
            rejected,
        })
    });
    parts.collect()
}

/// The first correction of a bundle against which something is said: its id, and what it claims.
pub(super) fn put_right_by<'b>(bundle: &'b Bundle, text: &str) -> Option<(&'b str, &'b str)> {
    let words = phrase::words(text);
    let mut all = rejections(bundle).into_iter();
    let found = all.find(|one| one.is_said(&words))?;
    Some((found.id, found.claim))
}

/// Numbers of the sentences, from 0, in which one of them is said.
pub(super) fn said(rejections: &[Rejection<'_>], sentences: &[&str]) -> Vec<usize> {
    let places = sentences.iter().enumerate();
    let says = |sentence: &str| {
        !sentence.trim_end().ends_with('?') && {
            let words = phrase::words(sentence);
            rejections.iter().any(|one| one.is_said(&words))
        }
    };
    places
        .filter(|(_, sentence)| says(sentence))
        .map(|(place, _)| place)
        .collect()
}

impl Rejection<'_> {
    fn is_said(self, words: &[String]) -> bool {
        let Some(at) = phrase::find(words, self.rejected) else {
            return false;
        };
        let length = phrase::words(self.rejected).len();
        let (before, after) = (&words[..at], words.get(at + length..).unwrap_or_default());
        let speaks_against = |word: &String| {
            let known = reply_words();
            known.against.has(word) || word.ends_with("n't")
        };
        // A claim that goes on where the rejected one ends.
        let goes_on = phrase::find(&phrase::words(self.claim), self.rejected).is_some();
        let is_claim = goes_on && phrase::find(words, self.claim).is_some();
        !is_claim && !before.iter().chain(after).any(speaks_against)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_it_and_what_does_not() {
        let all = [Rejection {
            id: "correction:000001",
            claim: "Canberra is the capital of Australia.",
            rejected: "Sydney is the capital",
        }];
        for (sentence, is_said) in [
            ("Sydney is the capital of Australia.", true),
            ("As you know, sydney  is the\ncapital.", true),
            ("Sydney is not the capital.", false),
            ("It is wrong that Sydney is the capital.", false),
            ("Many believe that Sydney is the capital.", false),
            ("Sydney isn't it; Sydney is the capital of nothing.", false),
            ("Is it that Sydney is the capital?", false),
            ("Sydney is the largest city, Canberra the capital.", false),
            ("Sydney is the capitalist's dream.", false),
            ("", false),
        ] {
            let said = said(&all, &[sentence]);
            assert_eq!(!said.is_empty(), is_said, "{sentence}");
        }
        assert_eq!(said(&all, &["No.", "Sydney is the capital."]), [1]);
    }

    /// A correction whose own words hold what it rejects is not its own offence.
    #[test]
    fn the_claim_itself_is_no_rejected_one() {
        let all = [Rejection {
            id: "correction:000001",
            claim: "The limit is 5 MB per file",
            rejected: "The limit is 5 MB",
        }];
        assert_eq!(
            said(&all, &["The limit is 5 MB per file."]),
            [] as [usize; 0]
        );
        assert_eq!(said(&all, &["The limit is 5 MB."]), [0]);
        let negative = [Rejection {
            id: "correction:000001",
            claim: "Reboot it",
            rejected: "do not reboot it",
        }];
        assert_eq!(said(&negative, &["So do not reboot it."]), [0]);
    }
}
