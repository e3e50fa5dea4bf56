//! Claims of completed side effects: what a model says it did, and can't have done (AEGIS 7, 9).
//!
//! No tool of gently's changes anything, so no tool result on record can bear such a claim out:
//! every one is drift. A claim is said in the first person (*I've restarted nginx*), in the passive
//! (*nginx has been restarted*), in a word (*Restarted nginx.*, *Email sent.*), or begun (*I'm
//! deleting it now*). Negations, offers, plans, conditions, questions, reported speech, advice to
//! the reader, quotes and code are none. In doubt it is none.

use std::cell::OnceCell;

use super::languages;
use super::phrase_pattern::PhrasePattern;
use super::sentences::{CODE, QUOTED, plain, without_mark};
use super::side_effects::Deeds;
use crate::govern::clauses::clause::{Clause, Speaker};
use crate::govern::clauses::lexicon::{DeedWords, lexicon};
use crate::govern::clauses::text::parts;
use crate::govern::phrase;
use crate::govern::sanitize::count;

/// Longest passive clause taken for a report: longer ones mostly tell of something else.
const PASSIVE_WORDS: usize = 14;
/// Longest clause taken for a terse report.
const TERSE_WORDS: usize = 12;
/// Longest report without a verb of its own: *Email sent.*
const BRIEF_WORDS: usize = 6;
/// Longest clause looked at as a whole. In a longer one, which nobody would read as one, parts of
/// so many words are looked at for what their speaker did, up to the first word that makes it no
/// report.
const CLAUSE_WORDS: usize = 120;

/// The words around a claim.
fn known() -> &'static DeedWords {
    &lexicon().claims.words
}

/// Words as a clause that may be a claim.
fn clause(words: &[String]) -> Clause<'_> {
    Clause::new(words, &lexicon().claims.function_words)
}

fn is_thing(word: &str) -> bool {
    lexicon().is_thing(word)
}

/// Numbers of the sentences that claim a side effect.
///
/// `sentences` are those of the reply's own words. A reply that was asked for a story tells one.
/// `code` when it shows code: what was *created* or *updated* is then the code.
pub(in crate::govern) fn side_effects(prompt: &str, sentences: &[&str], code: bool) -> Vec<usize> {
    if asks_for_fiction(prompt) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut done = false;
    for (at, sentence) in sentences.iter().enumerate() {
        let (claimed, still) = claims(sentence, done, code);
        if claimed {
            found.push(at);
        }
        done = still;
    }
    found
}

fn asks_for_fiction(prompt: &str) -> bool {
    static FICTION: PhrasePattern = PhrasePattern::new(
        r"\b(?:write|tell|compose|invent|continue|translate|role-?play)\b[^.?!]{0,60}\b(?:story|stories|poem|essay|song|lyrics|dialogue|joke|scene|speech|novel|monologue|letter|play|fiction)\b|\b(?:write|compose|draft|translate|say)\b[^.?!]{0,60}\b(?:sentences?|phrase|announcement|e-?mail|reply|english|german|french|spanish)\b",
    );
    FICTION.is_match(&plain(prompt))
}

/// Whether a sentence claims one, and whether it ends by saying that something is done.
fn claims(sentence: &str, done_before: bool, code: bool) -> (bool, bool) {
    let mut parts = parts(without_mark(sentence));
    // What begins with a condition tells of what comes after it, to its end.
    if parts.first().is_some_and(|part| is_condition(part)) {
        return (false, false);
    }
    let question = sentence
        .trim_end_matches(['*', '_', ')', '"'])
        .ends_with('?');
    if question {
        // What stands before the last comma may be a statement: "I've sent it, anything else?"
        let asked = parts.pop().unwrap_or_default();
        parts.extend(asked.rsplit_once(", ").map(|(said, _)| said));
    }
    let heading = sentence.trim_end_matches(['*', '_', ' ']).ends_with(':');
    let mut done = done_before;
    let mut claimed = false;
    let mut named = false;
    for part in parts {
        let words = phrase::words(part);
        let is_done = is_done_word(&words);
        claimed |= !is_done
            && (claim(
                &words,
                ClauseSetting {
                    after_done: done,
                    is_heading: heading,
                    shows_code: code,
                },
            ) || (!question && languages::claims(&words, code)));
        // "service restarted, cache cleared"
        claimed |= !question
            && part.contains(", ")
            && part.split(", ").any(|one| {
                let words = phrase::words(one);
                brief(clause(&words), Deeds::of(&words, code))
            });
        // "nginx: restarted"
        let only = matches!(words.as_slice(), [verb] if Deeds::of(&words, true).past(verb));
        claimed |= named && only && !question;
        named = words.len() <= 2 && words.last().is_some_and(|word| is_thing(word));
        done = is_done;
    }
    (claimed, done && !question)
}

/// "Done", "All set", "Finished successfully".
fn is_done_word(words: &[String]) -> bool {
    let say = |word: &String| known().done.has(word);
    words.len() <= 5
        && words.iter().any(say)
        && words
            .iter()
            .all(|word| say(word) || known().beside_done.has(word))
}

/// Whether a part of a sentence begins with a condition; *as requested* is none.
fn is_condition(part: &str) -> bool {
    let head = part.char_indices().nth(40).map_or(part.len(), |(at, _)| at);
    clause(&phrase::words(part.get(..head).unwrap_or(part))).is_condition()
}

/// What stands around a clause.
#[derive(Clone, Copy)]
struct ClauseSetting {
    /// The clause before it says that something is done.
    after_done: bool,
    /// It is the heading of what follows.
    is_heading: bool,
    /// The reply shows code.
    shows_code: bool,
}

fn claim(words: &[String], setting: ClauseSetting) -> bool {
    let words: Vec<String> = without_not_only(words);
    count(words.len());
    let deeds = Deeds::of(&words, setting.shows_code);
    if words.len() > CLAUSE_WORDS {
        let mut open = true;
        let parts = words.chunks(CLAUSE_WORDS);
        return parts
            .take_while(|part| {
                std::mem::replace(&mut open, clause(part).opposed_at(0) == part.len())
            })
            .any(|part| DeedReport::of(part, deeds).first_person());
    }
    let report = DeedReport::of(&words, deeds);
    report.first_person()
        || report.passive(setting.after_done)
        || (!setting.is_heading && report.terse(setting.after_done))
        || brief(report.clause, deeds)
}

/// "I've not only restarted it but …" negates nothing.
fn without_not_only(words: &[String]) -> Vec<String> {
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [not, only] if not == "not" && only == "only"));
    words
        .iter()
        .enumerate()
        .filter(|(i, _)| at.is_none_or(|at| *i != at && *i != at + 1))
        .map(|(_, w)| w.clone())
        .collect()
}

/// A clause that may tell of a deed.
struct DeedReport<'w> {
    clause: Clause<'w>,
    deeds: Deeds,
    /// Up to here nothing makes it other than a report; most clauses need not be looked at for it.
    open_to: OnceCell<usize>,
}

impl<'w> DeedReport<'w> {
    fn of(words: &'w [String], deeds: Deeds) -> Self {
        DeedReport {
            clause: clause(words),
            deeds,
            open_to: OnceCell::new(),
        }
    }

    fn open_to(&self) -> usize {
        let find = || {
            count(self.clause.words.len());
            self.clause.opposed_at(opening(self.clause.words))
        };
        *self.open_to.get_or_init(find)
    }

    /// Whether nothing before a word makes it other than a report.
    fn is_open(&self, at: usize) -> bool {
        at <= self.open_to()
    }

    /// "I've restarted it", "I went ahead and deleted it", "I was able to restart it", "I'm deleting
    /// it now".
    fn first_person(&self) -> bool {
        let clause = self.clause;
        (0..clause.words.len()).any(|at| {
            let Some(speaker) = clause.speaker(at) else {
                return false;
            };
            if clause.is_inverted(at) || !self.is_open(at) {
                return false;
            }
            let rest = clause.from(at + 1);
            count(rest.words.len());
            match speaker {
                Speaker::IsAbout | Speaker::Am => self.is_under_way(rest),
                Speaker::Acts => {
                    self.did(rest)
                        || self.could(rest)
                        || self.took_care(rest)
                        || self.also_did(rest, self.open_to() - at)
                }
            }
        })
    }

    fn is_under_way(&self, rest: Clause<'_>) -> bool {
        rest.verb().is_some_and(|(at, verb)| {
            let now = rest.has(|word| matches!(word, "now" | "currently"));
            self.deeds.under_way(verb)
                && (now || rest.from(at + 1).has(is_thing))
                && !names_nothing(rest.from(at + 1))
        })
    }

    fn did(&self, rest: Clause<'_>) -> bool {
        rest.verb()
            .is_some_and(|(at, verb)| self.deeds.past(verb) && !names_nothing(rest.from(at + 1)))
    }

    /// "was able to restart", "managed to delete".
    fn could(&self, rest: Clause<'_>) -> bool {
        rest.words.windows(2).take(3).enumerate().any(|(at, pair)| {
            let able = matches!(pair, [able, to] if matches!(able.as_str(), "able" | "managed") && to == "to");
            let denies = |word: &str| word == "not" || word.ends_with("n't") || word == "am";
            able && !rest.until(at).has(denies) && self.deeds.base(rest.word(at + 2))
        })
    }

    /// "took care of restarting it".
    fn took_care(&self, rest: Clause<'_>) -> bool {
        let took = |word: &String| matches!(word.as_str(), "took" | "taken");
        rest.words.windows(5).take(3).any(|five| {
            matches!(five, [one, the, liberty, of, verb]
                if took(one) && the == "the" && liberty == "liberty" && of == "of" && self.deeds.under_way(verb))
        }) || rest.words.windows(4).take(3).any(|four| {
            matches!(four, [one, care, of, verb]
                if took(one) && care == "care" && of == "of" && self.deeds.under_way(verb))
        })
    }

    /// "opened the page and deleted the row": a later verb of the same subject, in front of whatever
    /// makes it no report.
    fn also_did(&self, rest: Clause<'_>, open_to: usize) -> bool {
        let is_past = |verb: &str| verb.ends_with("ed") || matches!(verb, "went" | "took");
        rest.verb().is_some_and(|(_, verb)| is_past(verb))
            && (0..rest.words.len().min(open_to)).any(|at| {
                let verb = rest.from(at + 1).until(3).verb();
                rest.word(at) == "and" && verb.is_some_and(|(_, verb)| self.deeds.past(verb))
            })
    }

    /// "nginx has been restarted", "your message is now starred", "the invite was sent yesterday".
    fn passive(&self, after_done: bool) -> bool {
        let clause = self.clause;
        let asked = clause.has(|word| matches!(word, "requested" | "asked" | "instructed"));
        if clause.words.len() > PASSIVE_WORDS && !asked {
            return false;
        }
        let just_now = after_done || clause.has(|word| known().just_now.has(word));
        (1..clause.words.len()).any(|at| {
            let rest = clause.from(at + 1);
            let Some(gap) = auxiliaries(clause.word(at), rest, just_now) else {
                return false;
            };
            let tail = rest.from(gap);
            self.is_open(at)
                && !rest.until(gap).has(|word| word == "not" || word == "never")
                && tail.verb().is_some_and(|(verb_at, verb)| {
                    let behind = tail.from(verb_at + 1);
                    self.deeds.past(verb) && !by_others(behind) && !holds_in_general(behind)
                })
        })
    }

    /// "Restarted nginx.", "Successfully deleted 3 files."
    fn terse(&self, after_done: bool) -> bool {
        let Some((at, verb)) = self.clause.verb() else {
            return false;
        };
        let rest = self.clause.from(at + 1);
        let object = rest.words.first().is_some_and(|next| {
            after_done
                || next.bytes().all(|b| b.is_ascii_digit())
                || known().objects.has(next)
                || matches!(next.as_str(), CODE | QUOTED)
                || is_thing(next)
        });
        // "Installed htop successfully.": whatever it is.
        let object = object
            || (rest.words.len() > 1
                && rest.words.last().is_some_and(|last| last == "successfully"));
        self.clause.words.len() <= TERSE_WORDS
            && at <= 2
            && !known().no_start.has(self.clause.word(0))
            && self.deeds.past(verb)
            && object
            && !rest.has(|word| known().finite.has(word))
            && self.is_open(self.clause.words.len())
    }
}

/// "Email sent.", "3 files deleted successfully."
fn brief(clause: Clause<'_>, deeds: Deeds) -> bool {
    let words = clause.words;
    let ends_with = words.iter().rposition(|word| deeds.past(word));
    let Some(at) = ends_with.filter(|at| *at > 0 && words.len() <= BRIEF_WORDS) else {
        return false;
    };
    let (before, after) = (clause.until(at).words, clause.from(at + 1).words);
    before.last().is_some_and(|noun| is_thing(noun))
        && before.iter().all(|word| {
            is_thing(word)
                || known().determiners.has(word)
                || word.bytes().all(|b| b.is_ascii_digit())
        })
        && after.iter().all(|word| known().after_brief.has(word))
}

/// How many words say only that it is so, or whose wish it was: *I can confirm*, *as you asked*.
fn opening(words: &[String]) -> usize {
    match words {
        [i, can, confirm, ..] if i == "i" && can == "can" && confirm == "confirm" => 3,
        [as_, you, asked, ..] if as_ == "as" && you == "you" && asked.ends_with("ed") => 3,
        [as_, requested, ..] if as_ == "as" && known().wished.has(requested) => 2,
        _ => 0,
    }
}

/// Whether what follows a verb says that it was done to nothing.
fn names_nothing(behind: Clause<'_>) -> bool {
    matches!(behind.word(0), "nothing" | "no" | "none")
}

/// How many words behind an auxiliary belong to it, when it is one of a passive: *has just been*.
fn auxiliaries(word: &str, rest: Clause<'_>, just_now: bool) -> Option<usize> {
    match word {
        // "the server's been rebooted"
        "has" | "have" | "i've" => {
            let been = rest.words.iter().take(3).position(|word| word == "been");
            been.map(|at| at + 1)
        }
        _ if word.ends_with("'s") && rest.word(0) == "been" => Some(1),
        "is" | "are" => (rest.word(0) == "now").then_some(1),
        "was" | "were" if just_now => Some(0),
        _ => None,
    }
}

/// "by the vendor", "by Alice": somebody else did it.
fn by_others(behind: Clause<'_>) -> bool {
    behind
        .words
        .windows(2)
        .any(|pair| matches!(pair, [by, who] if by == "by" && !matches!(who.as_str(), "me" | "us")))
}

/// "has been disabled by default", "has been set to expire when": what holds in general.
fn holds_in_general(behind: Clause<'_>) -> bool {
    behind.has(|word| matches!(word, "default" | "when" | "whenever" | "if"))
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
