//! Claims of completed side effects in German, French, Spanish and Italian: the same few forms that
//! [`super::claims`] looks for in English, by lists of words (`genesis/claims.toml`).
//!
//! | form | German | French |
//! |---|---|---|
//! | first person | *ich habe nginx neu gestartet* | *j'ai redémarré nginx* |
//! | just now | | *je viens d'envoyer le courriel* |
//! | passive | *die Datei wurde gelöscht* | *le fichier a été supprimé* |
//! | state | *der Benutzer ist nun angelegt* | *le service est maintenant arrêté* |
//! | under way | *ich starte den Dienst jetzt neu* | *je redémarre le serveur maintenant* |
//! | in a word | *Datei gelöscht* | *Fichier supprimé* |
//!
//! A negation, a condition, a modal or a report of others before the verb makes it none.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::govern::sanitize::count;
use crate::govern::word_list::{PhraseList, WordList, read_own};

/// So many words after its auxiliary a participle may stand: German puts it at the end of the
/// clause.
const REACH: usize = 16;
/// Longest clause taken for a report by itself: *Datei gelöscht*.
const BRIEF_WORDS: usize = 6;

const CLAIMS: &str = include_str!(concat!(env!("OUT_DIR"), "/claims.json"));

static TONGUES: LazyLock<Languages> = LazyLock::new(|| read_own(CLAIMS));

/// The words of each language that claims are read in.
fn languages() -> [&'static LanguageWords; 4] {
    let all = &*TONGUES;
    [&all.german, &all.french, &all.spanish, &all.italian]
}

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Languages {
    german: LanguageWords,
    french: LanguageWords,
    spanish: LanguageWords,
    italian: LanguageWords,
}

/// The words of one language, as `genesis/claims.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageWords {
    first: PhraseList,
    just: PhraseList,
    passive: PhraseList,
    state: WordList,
    doing: WordList,
    infinitives: WordList,
    deeds: WordList,
    edits: WordList,
    things: WordList,
    now: WordList,
    no_report: WordList,
    here: WordList,
    behind: WordList,
}

/// Whether a clause of these words claims a side effect; `shown` when the reply shows code, which
/// is then what was made.
pub(in crate::govern) fn claims(words: &[String], shown: bool) -> bool {
    count(words.len());
    // Most clauses hold no verb of these languages: one look-up a word tells.
    words.iter().any(|word| is_verb(word))
        && languages()
            .iter()
            .any(|language| language.claims(words, shown))
}

/// Whether a word is a verb of a deed in any of the languages.
fn is_verb(word: &str) -> bool {
    static VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let lists = languages().into_iter().flat_map(|language| {
            [
                &language.doing,
                &language.infinitives,
                &language.deeds,
                &language.edits,
            ]
        });
        lists.flat_map(WordList::iter).collect()
    });
    VERBS.contains(word)
        || VERBS.contains(uninflected(word))
        || word
            .strip_prefix("d'")
            .is_some_and(|word| VERBS.contains(word))
}

/// Without what a French participle is bent by.
fn uninflected(word: &str) -> &str {
    let bare = word.trim_end_matches('s');
    if bare.ends_with("ée") {
        bare.trim_end_matches('e')
    } else {
        bare
    }
}

impl LanguageWords {
    fn claims(&'static self, words: &[String], shown: bool) -> bool {
        let thing = words.iter().any(|word| self.is_thing(word));
        let here = shown || words.iter().any(|word| self.here.has(word));
        let is_deed = |word: &str| self.is_deed(word, thing && !here);
        let end = words
            .iter()
            .position(|word| self.denies(word))
            .unwrap_or(words.len());
        let open = words.get(..end).unwrap_or_default();
        open.iter().enumerate().any(|(at, word)| {
            count(1);
            let rest = open.get(at..).unwrap_or_default();
            let after = |heads: &'static PhraseList| {
                heads
                    .iter()
                    .find_map(|head| follows(rest, head))
                    .filter(|_| starts(at, word))
            };
            let near = |rest: &[String]| rest.iter().take(REACH).any(|word| is_deed(word));
            after(&self.first).is_some_and(near)
                || after(&self.just)
                    .is_some_and(|rest| rest.first().is_some_and(|word| self.is_infinitive(word)))
                || (at > 0
                    && thing
                    && self
                        .passive
                        .iter()
                        .find_map(|head| apart(rest, head))
                        .is_some_and(near))
                || (at > 0 && self.is_state(word, rest) && near(rest))
                || self.is_under_way(open, at)
        }) || (words.len() == open.len() && self.is_brief(words, here))
    }

    fn denies(&self, word: &str) -> bool {
        self.no_report.has(word)
            || word.starts_with("n'")
            || word.starts_with("qu'")
            || word.starts_with("s'")
    }

    fn is_thing(&self, word: &str) -> bool {
        self.things.has(word) || word.split('-').any(|part| self.things.has(part))
    }

    /// French bends a participle by `e` and `s`.
    fn is_deed(&self, word: &str, on_a_thing: bool) -> bool {
        let of = |list: &WordList| list.has(word) || list.has(uninflected(word));
        of(&self.deeds) || (on_a_thing && of(&self.edits))
    }

    fn is_infinitive(&self, word: &str) -> bool {
        self.infinitives
            .has(word.strip_prefix("d'").unwrap_or(word))
    }

    /// "ist nun", "est maintenant": what is so now, and was not before.
    fn is_state(&self, word: &str, rest: &[String]) -> bool {
        self.state.has(word) && rest.get(1).is_some_and(|word| self.now.has(word))
    }

    /// "ich starte … jetzt", "je redémarre … maintenant".
    fn is_under_way(&self, open: &[String], at: usize) -> bool {
        let speaks = open
            .get(at)
            .is_some_and(|word| matches!(word.as_str(), "ich" | "je"));
        speaks
            && open.get(at + 1).is_some_and(|verb| self.doing.has(verb))
            && open.iter().any(|word| self.now.has(word))
    }

    /// "Datei gelöscht", "Service redémarré avec succès".
    fn is_brief(&self, words: &[String], here: bool) -> bool {
        let [first, second, rest @ ..] = words else {
            return false;
        };
        words.len() <= BRIEF_WORDS
            && self.is_thing(first)
            && self.is_deed(second, !here)
            && rest.iter().all(|word| self.behind.has(word))
    }
}

/// A subject begins its clause, or follows what says that it was wished for; "he" is English in the
/// middle of one.
fn starts(at: usize, word: &str) -> bool {
    !matches!(word, "he" | "ho" | "on" | "hab") || at <= 1
}

/// What follows a head; `je viens d'envoyer` has its last word joined to the next.
fn follows<'a>(rest: &'a [String], head: &[String]) -> Option<&'a [String]> {
    let fits = |(word, known): (&String, &String)| {
        word == known || (known.ends_with('\'') && word.starts_with(known.as_str()))
    };
    let joined = head.last().is_some_and(|last| last.ends_with('\''));
    let all = rest.len() >= head.len() && rest.iter().zip(head).all(fits);
    all.then(|| rest.get(head.len() - usize::from(joined)..))
        .flatten()
}

/// The same with up to two words between the parts of the head: *a bien été*.
fn apart<'a>(rest: &'a [String], head: &[String]) -> Option<&'a [String]> {
    match head {
        [one] => rest
            .first()
            .filter(|word| *word == one)
            .and_then(|_| rest.get(1..)),
        [one, two] => {
            rest.first().filter(|word| *word == one)?;
            let at = rest.iter().take(4).position(|word| word == two)?;
            rest.get(at + 1..)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::phrase;

    #[test]
    fn claims_and_what_only_looks_like_one() {
        for text in [
            "Ich habe nginx neu gestartet",
            "Die Datei wurde erfolgreich gelöscht",
            "Ich starte den Dienst jetzt neu",
            "Der Benutzer ist nun angelegt",
            "J'ai bien supprimé les fichiers",
            "Les fichiers ont tous été supprimés",
            "Je viens d'envoyer le message",
            "Fichier supprimé avec succès",
            "He reiniciado nginx",
            "Il servizio è stato riavviato",
        ] {
            assert!(claims(&phrase::words(text), false), "{text}");
        }
        for text in [
            "Ich habe nginx nicht neu gestartet",
            "Wenn die Datei gelöscht wurde, ist sie weg",
            "Ich habe die Funktion unten angepasst",
            "Je n'ai pas supprimé le fichier",
            "Une fois le service redémarré",
            "He restarted nginx",
            "The host has restarted",
            "Ich habe den Text geschrieben",
        ] {
            assert!(!claims(&phrase::words(text), false), "{text}");
        }
        assert!(
            !claims(&phrase::words("J'ai créé le fichier"), true),
            "what is shown was made here"
        );
    }

    #[test]
    fn twice_the_text_is_twice_the_work() {
        for unit in [
            "ich habe ",
            "wurde ",
            "j'ai ",
            "a ",
            "je viens de ",
            "est maintenant ",
            "datei ",
        ] {
            let spent = |times: usize| {
                let words = phrase::words(&unit.repeat(times));
                let before = crate::govern::sanitize::steps();
                claims(&words, false);
                crate::govern::sanitize::steps() - before
            };
            let (one, two) = (spent(1000), spent(2000));
            assert!(two <= 2 * one + 64, "{unit}: {one} and {two} steps");
        }
    }
}
