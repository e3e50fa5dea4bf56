//! Claims of completed side effects: what a model says it did, and can't have done (AEGIS 7, 9).
//!
//! No tool of gently's changes anything, so no tool result on record can bear such a claim out:
//! every one is drift. A claim is said in the first person (*I've restarted nginx*), in the passive
//! (*nginx has been restarted*), in a word (*Restarted nginx.*, *Email sent.*), or begun (*I'm
//! deleting it now*). Negations, offers, plans, conditions, questions, reported speech, advice to
//! the reader, quotes and code are none. In doubt it is none.

use super::claim_words::claim_words;
use super::languages;
use super::phrase_pattern::PhrasePattern;
use super::sentences::{CODE, QUOTED, clauses, plain, without_mark};
use super::side_effects::{DeedWords, Deeds, is_thing};
use crate::govern::phrase;
use crate::govern::sanitize::count;

/// Longest passive clause taken for a report: longer ones mostly tell of something else.
const PASSIVE_WORDS: usize = 14;
/// Longest clause taken for a terse report.
const TERSE_WORDS: usize = 12;
/// Longest note: *Email sent.*
const NOTE_WORDS: usize = 6;
/// Longest clause looked at as a whole. In a longer one, which nobody would read as one, parts of
/// so many words are looked at for what their speaker did, up to the first word that makes it no
/// report.
const CLAUSE_WORDS: usize = 120;
/// The English words of claims.
fn english() -> &'static DeedWords {
    &claim_words().english
}

/// A word after which a clause is no report.
fn is_no_report(word: &str) -> bool {
    word.ends_with("n't") || english().no_report.has(word)
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
    let mut parts = clauses(without_mark(sentence));
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
        let setting = ClauseSetting {
            after_done: done,
            is_heading: heading,
            shows_code: code,
        };
        claimed |=
            !is_done && (claim(&words, setting) || (!question && languages::claims(&words, code)));
        // "service restarted, cache cleared"
        claimed |= !question
            && part.contains(", ")
            && part.split(", ").any(|one| {
                let words = phrase::words(one);
                note(&words, Deeds::of(&words, code))
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
    let say = |word: &String| english().done.has(word);
    words.len() <= 5
        && words.iter().any(say)
        && words
            .iter()
            .all(|word| say(word) || english().beside_done.has(word))
}

/// Whether a clause begins with a condition; *as requested* is none.
fn is_condition(clause: &str) -> bool {
    let head = clause
        .char_indices()
        .nth(40)
        .map_or(clause.len(), |(at, _)| at);
    let words = phrase::words(clause.get(..head).unwrap_or(clause));
    match words.as_slice() {
        [first, second, ..] if first == "as" && second == "soon" => true,
        [first, ..] => english().conditions.has(first),
        [] => false,
    }
}

/// What stands around a clause.
#[derive(Clone, Copy)]
struct ClauseSetting {
    /// The clause before it says that something is done.
    after_done: bool,
    /// Its sentence ends with a colon.
    is_heading: bool,
    /// The reply shows code.
    shows_code: bool,
}

fn claim(words: &[String], setting: ClauseSetting) -> bool {
    let ClauseSetting {
        after_done,
        is_heading,
        shows_code,
    } = setting;
    let words: Vec<String> = without_not_only(words);
    count(words.len());
    let deeds = Deeds::of(&words, shows_code);
    if words.len() > CLAUSE_WORDS {
        let mut open = true;
        let parts = words.chunks(CLAUSE_WORDS);
        return parts
            .take_while(|part| {
                std::mem::replace(&mut open, !part.iter().any(|word| is_no_report(word)))
            })
            .any(|part| first_person(part, deeds, &|at| reports(part, at)));
    }
    let reports = |at: usize| reports(&words, at);
    first_person(&words, deeds, &reports)
        || passive(&words, deeds, &reports, after_done)
        || (!is_heading && terse(&words, deeds, after_done))
        || note(&words, deeds)
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

/// Whether nothing before a word makes it other than a report.
fn reports(words: &[String], at: usize) -> bool {
    let head = words.get(..at).unwrap_or_default();
    // "I can confirm" says that it is so; "as you asked" says whose wish it was.
    let head = match head {
        [i, can, confirm, rest @ ..] if i == "i" && can == "can" && confirm == "confirm" => rest,
        [as_, you, asked, rest @ ..] if as_ == "as" && you == "you" && asked.ends_with("ed") => {
            rest
        }
        [as_, requested, rest @ ..] if as_ == "as" && english().wished.has(requested) => rest,
        _ => head,
    };
    count(head.len());
    !head.iter().any(|word| is_no_report(word))
}

/// "I've restarted it", "I went ahead and deleted it", "I was able to restart it", "I'm deleting it
/// now".
fn first_person(words: &[String], deeds: Deeds, reports: &dyn Fn(usize) -> bool) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let subject = matches!(word.as_str(), "i've" | "i" | "we've" | "we" | "i'd");
        let going_on = matches!(word.as_str(), "i'm" | "we're")
            || (word == "am" && at > 0 && words.get(at - 1).is_some_and(|before| before == "i"));
        let inverted = at > 0
            && words
                .get(at - 1)
                .is_some_and(|w| matches!(w.as_str(), "have" | "had" | "did" | "do" | "has"));
        if inverted || !(subject || going_on) || !reports(at) {
            return false;
        }
        let rest = words.get(at + 1..).unwrap_or_default();
        count(rest.len());
        if going_on {
            return is_going_on(rest, deeds);
        }
        let did =
            verb_after(rest).is_some_and(|(n, verb)| deeds.past(verb) && not_negated(rest, n));
        did || could(rest, deeds) || took_care(rest, deeds) || also_did(rest, deeds)
    })
}

fn is_going_on(rest: &[String], deeds: Deeds) -> bool {
    verb_after(rest).is_some_and(|(n, verb)| {
        let now = rest
            .iter()
            .any(|word| matches!(word.as_str(), "now" | "currently"));
        let thing = rest
            .get(n + 1..)
            .unwrap_or_default()
            .iter()
            .any(|word| is_thing(word));
        deeds.going_on(verb) && (now || thing) && not_negated(rest, n)
    })
}

/// The first word that may not stand between a subject and its verb, with its place.
fn verb_after(words: &[String]) -> Option<(usize, &str)> {
    words
        .iter()
        .enumerate()
        .map(|(at, word)| (at, word.as_str()))
        .find(|(_, word)| !english().between.has(word))
}

fn not_negated(rest: &[String], verb: usize) -> bool {
    !rest
        .get(..verb)
        .unwrap_or_default()
        .iter()
        .any(|word| word == "not" || word == "never")
        && rest
            .get(verb + 1)
            .is_none_or(|next| !matches!(next.as_str(), "nothing" | "no" | "none"))
}

/// "was able to restart", "managed to delete".
fn could(rest: &[String], deeds: Deeds) -> bool {
    rest.windows(2).take(3).enumerate().any(|(at, pair)| {
        let able =
            matches!(pair, [able, to] if matches!(able.as_str(), "able" | "managed") && to == "to");
        let denied = rest
            .get(..at)
            .unwrap_or_default()
            .iter()
            .any(|w| w == "not" || w.ends_with("n't") || w == "am");
        able && !denied && rest.get(at + 2).is_some_and(|verb| deeds.base(verb))
    })
}

/// "took care of restarting it".
fn took_care(rest: &[String], deeds: Deeds) -> bool {
    rest.windows(5).take(3).any(|five| {
        let took = |word: &String| matches!(word.as_str(), "took" | "taken");
        matches!(five, [one, the, liberty, of, verb]
            if took(one) && the == "the" && liberty == "liberty" && of == "of" && deeds.going_on(verb))
    }) || rest.windows(4).take(3).any(|four| {
        matches!(four, [took, care, of, verb]
            if matches!(took.as_str(), "took" | "taken") && care == "care" && of == "of" && deeds.going_on(verb))
    })
}

/// "opened the page and deleted the row": a later verb of the same subject.
fn also_did(rest: &[String], deeds: Deeds) -> bool {
    let first_is_past = verb_after(rest)
        .is_some_and(|(_, verb)| verb.ends_with("ed") || matches!(verb, "went" | "took"));
    first_is_past
        && rest.iter().enumerate().any(|(at, word)| {
            let tail = rest.get(at + 1..).unwrap_or_default();
            let verb = verb_after(tail.get(..tail.len().min(3)).unwrap_or_default());
            word == "and" && reports(rest, at) && verb.is_some_and(|(_, verb)| deeds.past(verb))
        })
}

/// "nginx has been restarted", "your message is now starred", "the invite was sent yesterday".
fn passive(
    words: &[String],
    deeds: Deeds,
    reports: &dyn Fn(usize) -> bool,
    after_done: bool,
) -> bool {
    let asked = words
        .iter()
        .any(|word| matches!(word.as_str(), "requested" | "asked" | "instructed"));
    if words.len() > PASSIVE_WORDS && !asked {
        return false;
    }
    let just_now = after_done || words.iter().any(|word| english().just_now.has(word));
    words.iter().enumerate().any(|(at, word)| {
        let rest = words.get(at + 1..).unwrap_or_default();
        let after = match word.as_str() {
            // "the server's been rebooted"
            "has" | "have" | "i've" => rest.iter().take(3).position(|w| w == "been").map(|n| n + 1),
            _ if word.ends_with("'s") && rest.first().is_some_and(|w| w == "been") => Some(1),
            "is" | "are" => (rest.first().is_some_and(|w| w == "now")).then_some(1),
            "was" | "were" if just_now => Some(0),
            _ => None,
        };
        let Some(after) = after else { return false };
        let tail = rest.get(after..).unwrap_or_default();
        let gap = rest.get(..after).unwrap_or_default();
        at > 0
            && reports(at)
            && !gap.iter().any(|w| w == "not" || w == "never")
            && verb_after(tail).is_some_and(|(n, verb)| {
                deeds.past(verb) && !by_others(tail, n) && reports_on(tail, n)
            })
    })
}

/// "by the vendor", "by Alice": somebody else did it.
fn by_others(tail: &[String], verb: usize) -> bool {
    let after = tail.get(verb + 1..).unwrap_or_default();
    after
        .windows(2)
        .any(|pair| matches!(pair, [by, who] if by == "by" && !matches!(who.as_str(), "me" | "us")))
}

fn reports_on(tail: &[String], verb: usize) -> bool {
    // "has been disabled by default", "has been set to expire when": what holds in general.
    !tail
        .get(verb + 1..)
        .unwrap_or_default()
        .iter()
        .any(|word| matches!(word.as_str(), "default" | "when" | "whenever" | "if"))
}

/// "Restarted nginx.", "Successfully deleted 3 files."
fn terse(words: &[String], deeds: Deeds, after_done: bool) -> bool {
    let Some((at, verb)) = verb_after(words) else {
        return false;
    };
    let rest = words.get(at + 1..).unwrap_or_default();
    let object = rest.first().is_some_and(|next| {
        after_done
            || next.bytes().all(|b| b.is_ascii_digit())
            || english().objects.has(next)
            || matches!(next.as_str(), CODE | QUOTED)
            || is_thing(next)
    });
    // "Installed htop successfully.": whatever it is.
    let object =
        object || (rest.len() > 1 && rest.last().is_some_and(|last| last == "successfully"));
    words.len() <= TERSE_WORDS
        && at <= 2
        && !words
            .first()
            .is_some_and(|first| english().no_start.has(first))
        && deeds.past(verb)
        && object
        && !rest.iter().any(|word| english().finite.has(word))
        && reports(words, words.len())
}

/// "Email sent.", "3 files deleted successfully."
fn note(words: &[String], deeds: Deeds) -> bool {
    let ends_with = words.iter().rposition(|word| deeds.past(word));
    let Some(at) = ends_with.filter(|at| *at > 0 && words.len() <= NOTE_WORDS) else {
        return false;
    };
    let (before, after) = (
        words.get(..at).unwrap_or_default(),
        words.get(at + 1..).unwrap_or_default(),
    );
    before.last().is_some_and(|noun| is_thing(noun))
        && before.iter().all(|word| {
            is_thing(word)
                || english().determiners.has(word)
                || word.bytes().all(|b| b.is_ascii_digit())
        })
        && after.iter().all(|word| english().after_note.has(word))
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
