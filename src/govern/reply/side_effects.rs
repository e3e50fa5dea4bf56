//! The verbs of side effects, and the things of a machine: what [`super::claims`] looks for.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::claim_words::claim_words;
use crate::govern::word_list::WordList;

/// The English verbs of deeds, as `genesis/claims.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeedWords {
    deeds: WordList,
    edits: WordList,
    things: WordList,
    shown_here: WordList,
    pub(super) between: WordList,
    pub(super) no_report: WordList,
    pub(super) just_now: WordList,
    pub(super) finite: WordList,
    pub(super) done: WordList,
    pub(super) beside_done: WordList,
    pub(super) conditions: WordList,
    pub(super) wished: WordList,
    pub(super) objects: WordList,
    pub(super) no_start: WordList,
    pub(super) determiners: WordList,
    pub(super) after_note: WordList,
}

/// Which forms a verb has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerbForms {
    Deed,
    Edit,
}

struct Verbs {
    past: BTreeMap<String, VerbForms>,
    base: BTreeMap<String, VerbForms>,
    going_on: BTreeMap<String, VerbForms>,
}

fn verbs() -> &'static Verbs {
    static ONCE: OnceLock<Verbs> = OnceLock::new();
    ONCE.get_or_init(|| {
        let words = &claim_words().english;
        let mut all = Verbs {
            past: BTreeMap::new(),
            base: BTreeMap::new(),
            going_on: BTreeMap::new(),
        };
        for (list, kind) in [
            (&words.edits, VerbForms::Edit),
            (&words.deeds, VerbForms::Deed),
        ] {
            for verb in list.iter() {
                let (base, past) = verb
                    .split_once('/')
                    .map_or_else(|| (verb, regular(verb)), |(b, p)| (b, p.to_owned()));
                all.going_on.insert(ing(base, &past), kind);
                all.past.insert(past, kind);
                all.base.insert(base.to_owned(), kind);
            }
        }
        all
    })
}

fn regular(base: &str) -> String {
    match base.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ied"),
        _ if base.ends_with('e') => format!("{base}d"),
        _ => format!("{base}ed"),
    }
}

fn ing(base: &str, past: &str) -> String {
    let doubled = past
        .strip_suffix("ed")
        .filter(|stem| stem.len() == base.len() + 1 && stem.starts_with(base));
    match (doubled, base.strip_suffix('e')) {
        (Some(stem), _) | (None, Some(stem)) => format!("{stem}ing"),
        (None, None) if past != format!("{base}ed") && is_short(base) => base
            .chars()
            .next_back()
            .map_or_else(String::new, |last| format!("{base}{last}ing")),
        (None, None) => format!("{base}ing"),
    }
}

/// Consonant, vowel, consonant at the end, as in *run*: the last is doubled.
fn is_short(base: &str) -> bool {
    let vowel = |c: Option<char>| c.is_some_and(|c| "aeiou".contains(c));
    let mut back = base.chars().rev();
    let (last, middle, first) = (back.next(), back.next(), back.next());
    !vowel(last) && vowel(middle) && !vowel(first) && last.is_some_and(|c| !"wxy".contains(c))
}

/// What a clause is about decides which verbs are side effects in it.
#[derive(Clone, Copy, Debug)]
pub(in crate::govern) struct Deeds {
    on_a_thing: bool,
}

impl Deeds {
    /// For a clause of these words; `code` when the reply shows code, which is then what was made
    /// or changed.
    pub fn of(words: &[String], code: bool) -> Deeds {
        let shown = code
            || words
                .iter()
                .any(|w| claim_words().english.shown_here.has(w));
        Deeds {
            on_a_thing: !shown && words.iter().any(|word| is_thing(word)),
        }
    }

    fn is(self, kind: Option<&VerbForms>) -> bool {
        kind.is_some_and(|kind| *kind == VerbForms::Deed || self.on_a_thing)
    }

    /// Whether a word is the past form of one of these verbs, such as `restarted`.
    pub fn past(self, word: &str) -> bool {
        self.is(verbs().past.get(word))
    }

    /// `restart`, after *I was able to*
    pub fn base(self, word: &str) -> bool {
        self.is(verbs().base.get(word))
    }

    /// Whether a word is the progressive form of one of these verbs, such as `restarting`.
    pub fn going_on(self, word: &str) -> bool {
        self.is(verbs().going_on.get(word))
    }
}

/// Whether a word is the past of a deed: what a quotation of one word may be.
pub(in crate::govern) fn is_past(word: &str) -> bool {
    verbs().past.contains_key(word)
}

/// Whether a word is a thing of a machine.
pub(in crate::govern) fn is_thing(word: &str) -> bool {
    claim_words().english.things.has(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_verbs() {
        let any = Deeds { on_a_thing: true };
        let none = Deeds { on_a_thing: false };
        for past in [
            "restarted",
            "deleted",
            "stopped",
            "sent",
            "ran",
            "notified",
            "deployed",
            "committed",
            "archived",
        ] {
            assert!(none.past(past), "{past}");
        }
        for edit in ["created", "updated", "wrote", "set", "modified", "moved"] {
            assert!(any.past(edit) && !none.past(edit), "{edit}");
        }
        for going in [
            "restarting",
            "deleting",
            "stopping",
            "sending",
            "running",
            "committing",
            "notifying",
        ] {
            assert!(none.going_on(going), "{going}");
        }
        assert!(none.base("restart") && !none.base("restarted") && !none.past("restart"));
    }
}
