//! The forms in which an act is asked for or announced, by [`Clause`] and the words of
//! [`super::super::clauses::lexicon`].
//!
//! | form | as in |
//! |---|---|
//! | order | *please restart nginx*, *if it hangs, kill it*, *check the disk and delete the old logs* |
//! | order inside of a sentence | *the disk is full so delete the old logs*, *it hangs, could you kill it* |
//! | need | *nginx needs a restart*, *the logs have to go* |
//! | state | *I want the firewall off*, *have the server rebooted*, *make sure port 22 is closed* |
//! | verb of two words | *take the site down*, *clean up /tmp*, *kick off the backup* |
//! | errand | *book a table for two*, *cancel my 3 o'clock meeting*, *email Bob that it is down* |
//! | access | *give alice sudo*, *add bob to the docker group* |
//! | command | *sudo systemctl restart nginx*, *rm -rf /srv/cache* |
//! | other languages | *starte nginx neu*, *peux-tu redémarrer le serveur* |
//! | announcement | *I'll restart nginx now*, *shall I delete it?*, *we're stopping the service* |

use crate::govern::clauses::clause::{Clause, Speaker};
use crate::govern::clauses::lexicon::{ActClass, ActPhrases, ActWords, REACH, lexicon};
use crate::govern::sanitize::count;
use crate::govern::word_list::PhraseList;

/// So many parts of a sentence are looked at one after the other: more are a list, and no order.
const MOST_PARTS: usize = 16;
/// So many polite words are passed over: "hey, could you please just now" are six. More are no
/// sentence.
const MOST_HEADS: usize = 16;

/// The words around a request.
fn known() -> &'static ActWords {
    &lexicon().requests.words
}

fn phrases() -> &'static ActPhrases {
    &lexicon().requests.phrases
}

/// Words as a clause that may be a request.
fn clause(words: &[String]) -> Clause<'_> {
    Clause::new(words, &lexicon().requests.function_words)
}

/// The act that a sentence of a prompt asks for.
pub(super) fn requested_act(words: &[String]) -> Option<ActClass> {
    order(clause(words))
        .or_else(|| wish(without_heads(clause(words)).words))
        .or_else(|| wish(words))
}

/// An imperative, after polite words, after a condition, or after another imperative.
fn order(clause: Clause<'_>) -> Option<ActClass> {
    let mut rest = clause;
    for _ in 0..MOST_PARTS {
        count(rest.words.len());
        match SentencePart::of(rest) {
            SentencePart::Act(class) => return Some(class),
            SentencePart::Other => return None,
            SentencePart::GoesOn(next) => rest = next,
        }
    }
    None
}

/// What a part of a sentence is.
enum SentencePart<'a> {
    /// An order or announcement to act, of this class.
    Act(ActClass),
    /// None, and nothing behind it is.
    Other,
    /// An order that acts on nothing; behind it there may be one.
    GoesOn(Clause<'a>),
}

impl SentencePart<'_> {
    fn of(clause: Clause<'_>) -> SentencePart<'_> {
        let comma = || clause.words.iter().position(|word| word == ",");
        let from = if clause.is_condition() {
            comma().map(|comma| comma + 1)
        } else {
            Some(0)
        };
        let Some(clause) = from.map(|from| clause.from(from)) else {
            return SentencePart::Other;
        };
        let order = without_heads(clause);
        // "mind restarting it?"
        let minds = order.word(0) == "mind" && order.words.len() > 1;
        let order = order.from(usize::from(minds));
        let Some((verb, after)) = order.words.split_first() else {
            return SentencePart::Other;
        };
        let gerund = || {
            lexicon()
                .of_gerund(verb)
                .filter(|_| clause.has(|word| word == "mind"))
        };
        let verb = if lexicon().is_verb(verb) {
            verb.as_str()
        } else {
            gerund().unwrap_or(verb.as_str())
        };
        let act = lexicon().act_of(verb, part(after));
        if let Some(class) = act.or_else(|| embedded(clause)) {
            return SentencePart::Act(class);
        }
        if !(lexicon().is_verb(verb) || known().looks.has(verb)) || known().writing.has(verb) {
            return SentencePart::Other;
        }
        // "Check the disk and delete the old logs".
        let next = after
            .iter()
            .position(|word| matches!(word.as_str(), "and" | "then" | ","));
        next.map_or(SentencePart::Other, |next| {
            SentencePart::GoesOn(order.from(1 + next + 1))
        })
    }
}

/// An order or a plea inside of a sentence.
///
/// One pass: what stands before a word is summed up, not looked at again.
fn embedded(clause: Clause<'_>) -> Option<ActClass> {
    let (mut able, mut unasked, mut unasked_here, mut border) = (false, false, false, None);
    for at in 1..clause.words.len() {
        count(1);
        let last = clause.word(at - 1);
        if known().told.has(last) {
            return None;
        }
        let against = clause.is_against(at - 1);
        able |= known().able.has(last);
        unasked |= against;
        let at_border = known().parts.has(last);
        if at_border {
            border = Some(at);
        }
        unasked_here = !at_border && (unasked_here || against);
        let rest = clause.from(at);
        let body = match phrases().asked.behind(rest.words) {
            Some(body) if !unasked_here => self::clause(body),
            None if border == Some(at) && !able && !unasked => rest,
            _ => continue,
        };
        if let Some(class) = embedded_act(without_heads(body).words) {
            return Some(class);
        }
    }
    None
}

fn embedded_act(body: &[String]) -> Option<ActClass> {
    let (verb, after) = body.split_first()?;
    let names_something = after.first().is_some_and(|word| word != ",");
    let near = after.get(..after.len().min(2 * REACH)).unwrap_or_default();
    if known().writing.has(verb) || !names_something {
        None
    } else {
        lexicon().act_of(verb, part(near))
    }
}

/// Up to the next part of the sentence.
fn part(words: &[String]) -> &[String] {
    let end = words.iter().position(|word| word == "then");
    words.get(..end.unwrap_or(words.len())).unwrap_or(words)
}

fn without_heads(mut clause: Clause<'_>) -> Clause<'_> {
    for _ in 0..MOST_HEADS {
        let Some(rest) = phrases().heads.behind(clause.words) else {
            break;
        };
        let passed = clause.words.len() - rest.len();
        count(passed);
        clause = clause.from(passed);
    }
    clause
}

/// The act that a sentence of a reply announces, offers for approval, or is under way with.
pub(super) fn announced_act(words: &[String]) -> Option<ActClass> {
    let clause = clause(words);
    let at_start = lexicon()
        .of_gerund(clause.word(0))
        .filter(|_| clause.has(|word| word == "now"));
    if let Some(class) = at_start.and_then(|verb| lexicon().act_of(verb, words.get(1..)?)) {
        return Some(class);
    }
    (0..words.len()).find_map(|at| {
        count(1);
        under_way(clause, at)
            .or_else(|| announced(self::clause(phrases().announced.behind(words.get(at..)?)?)))
    })
}

/// "I'm restarting it".
fn under_way(clause: Clause<'_>, at: usize) -> Option<ActClass> {
    if clause.speaker(at) != Some(Speaker::IsAbout) {
        return None;
    }
    let verb = lexicon().of_gerund(clause.word(at + 1))?;
    lexicon().act_of(verb, clause.from(at + 2).words)
}

/// What follows an announcement, when it is an act.
fn announced(rest: Clause<'_>) -> Option<ActClass> {
    let found = rest.verb();
    count(found.map_or(rest.words.len(), |(at, _)| at + 1));
    let (at, word) = found?;
    let verb = if lexicon().is_verb(word) {
        word
    } else {
        lexicon().of_gerund(word)?
    };
    lexicon().act_of(verb, rest.from(at + 1).words)
}

/// The act that a sentence wishes for in another form than an order of one verb.
fn wish(words: &[String]) -> Option<ActClass> {
    count(words.len());
    let first = words.first()?;
    shell(words)
        .or_else(|| abroad(words))
        .or_else(|| at_head(words))
        .or_else(|| {
            (!known().asking.has(first))
                .then(|| state(words).or_else(|| need(words)))
                .flatten()
        })
}

/// The first thing among some words, before any text is named.
fn thing(words: &[String]) -> Option<ActClass> {
    let near = words.get(..words.len().min(REACH))?;
    count(near.len());
    near.iter()
        .take_while(|word| !lexicon().is_text(word))
        .find_map(|word| lexicon().class_of(word))
}

fn behind<'a>(words: &'a [String], phrases: &PhraseList) -> Option<&'a [String]> {
    count(phrases.len());
    phrases.behind(words)
}

/// A command as it is typed.
fn shell(words: &[String]) -> Option<ActClass> {
    let [program, next, ..] = words else {
        return None;
    };
    let changes = lexicon().shell.get(program)?;
    let acts = if changes.is_empty() {
        is_argument(next)
    } else {
        changes.has(next)
    };
    acts.then_some(ActClass::Command)
}

/// "rm -rf", "sudo systemctl": no word of a sentence about the program.
fn is_argument(word: &str) -> bool {
    word.starts_with('-')
        || lexicon().is_path(word)
        || word.contains('=')
        || lexicon().shell.contains_key(word)
        || word == "rf"
}

/// Verbs of two words, errands and access, where a request begins.
fn at_head(words: &[String]) -> Option<ActClass> {
    let (verb, after) = words.split_first()?;
    let near = after.get(..after.len().min(REACH))?;
    count(near.len());
    let has = |wanted: &str| near.iter().any(|word| word == wanted);
    if known().messages.has(verb) {
        return near
            .first()
            .filter(|next| !known().nouns.has(next))
            .map(|_| ActClass::Message);
    }
    let errand = lexicon().errand(verb);
    if errand.is_some_and(|about| near.iter().any(|word| about.has(word)) && !has("by")) {
        return Some(ActClass::Errand);
    }
    let gives = matches!(verb.as_str(), "give" | "grant" | "revoke")
        && near.iter().skip(1).any(|word| known().rights.has(word));
    if gives || (verb == "add" && has("group") && has("to")) {
        return Some(ActClass::Configuration);
    }
    if near
        .first()
        .is_some_and(|next| matches!(next.as_str(), "me" | "us"))
    {
        return None;
    }
    let second = lexicon().second_words(verb);
    if second.is_some_and(|some| some.is_empty() || near.iter().any(|word| some.has(word))) {
        return thing(near);
    }
    // "have the server rebooted", "get htop installed"
    matches!(verb.as_str(), "have" | "get")
        .then(|| done(near))
        .flatten()
}

/// A thing, and behind it what is to be done with it.
fn done(words: &[String]) -> Option<ActClass> {
    count(words.len());
    let at = words.iter().position(|word| lexicon().is_past(word))?;
    let installs = words
        .get(at)
        .is_some_and(|word| word == "installed" || word == "uninstalled");
    let before = words.get(..at)?;
    thing(before).or_else(|| (installs && !before.is_empty()).then_some(ActClass::Package))
}

/// "I want the firewall off", "make sure nginx is running".
fn state(words: &[String]) -> Option<ActClass> {
    let rest = behind(words, &phrases().wanted).or_else(|| behind(words, &phrases().seen_to))?;
    let near = rest.get(..rest.len().min(REACH))?;
    count(near.len());
    let at = near
        .iter()
        .rposition(|word| known().states.has(word))
        .filter(|at| *at > 0);
    at.and_then(|at| thing(near.get(..at)?))
        .or_else(|| done(near))
}

/// "nginx needs a restart", "the logs have to go", "the server must be rebooted".
fn need(words: &[String]) -> Option<ActClass> {
    let at = words
        .iter()
        .take(REACH)
        .position(|word| known().needing.has(word))?;
    let (before, rest) = (words.get(..at)?, words.get(at + 1..)?);
    count(at + rest.len());
    let rest: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .filter(|word| !matches!(*word, "a" | "an" | "now" | "urgently"))
        .collect();
    let wanted = match rest.as_slice() {
        ["to", "go", ..] | ["go", ..] => true,
        ["to", "be", verb, ..] | ["be", verb, ..] => lexicon().is_past(verb),
        [noun, ..] => {
            words.get(at).is_some_and(|word| word.starts_with("need")) && known().needed.has(noun)
        }
        [] => false,
    };
    if wanted { thing(before) } else { None }
}

/// German and French.
fn abroad(words: &[String]) -> Option<ActClass> {
    let rest = behind(words, &phrases().polite).unwrap_or(words);
    let (verb, after) = match behind(rest, &phrases().can_you) {
        Some(rest) => {
            count(rest.len().min(2 * REACH));
            let mut near = rest.iter().take(2 * REACH);
            (near.find(|word| known().infinitives.has(word))?, rest)
        }
        None => rest
            .split_first()
            .filter(|(verb, _)| known().orders.has(verb))?,
    };
    let installs = verb.contains("install");
    thing(after).or_else(|| (installs && !after.is_empty()).then_some(ActClass::Package))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::steps;

    fn of(text: &str) -> Option<ActClass> {
        let text = text.to_lowercase();
        wish(
            &text
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn forms_and_their_classes() {
        for (text, class) in [
            ("nginx needs a restart", ActClass::Service),
            ("the logs have to go", ActClass::File),
            ("I want the firewall off", ActClass::Firewall),
            ("have the server rebooted tonight", ActClass::Power),
            ("clean up /tmp", ActClass::File),
            ("book a table for two", ActClass::Errand),
            ("email bob that it is down", ActClass::Message),
            ("give alice sudo", ActClass::Configuration),
            ("rm -rf /srv/cache", ActClass::Command),
            ("starte nginx neu", ActClass::Service),
            ("peux-tu redémarrer le serveur", ActClass::Command),
        ] {
            assert_eq!(of(text), Some(class), "{text}");
        }
        for text in [
            "bring me up to speed on the cluster",
            "email the template",
            "order these names by length",
            "does nginx need a restart",
            "the server has more memory",
            "rm is a program",
            "wie starte ich nginx neu",
            "i have a server",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    /// Counted, not timed: each word is looked at a few times, whatever stands around it and
    /// however much there is of it.
    #[test]
    fn twice_the_text_is_twice_the_work() {
        for unit in [
            "nginx ",
            "needs ",
            "a ",
            "now urgently ",
            "make sure that ",
            "i want ",
            "have the server ",
            "take the site ",
            "sudo ",
            "rm -rf ",
            "email bob ",
            "give alice ",
            "add bob to ",
            "the logs have to ",
            "must be ",
            "could you ",
            "bitte ",
            "könntest du ",
            "peux-tu ",
            "s'il te plaît ",
            "starte ",
            "10.0.0.1 ",
            "/srv/a ",
            ", ",
            "and ",
            "please ",
            "the firewall off ",
        ] {
            for head in [
                "",
                "i want ",
                "make sure ",
                "kannst du ",
                "nginx needs ",
                "clean ",
                "book ",
                "have ",
            ] {
                let spent = |times: usize| {
                    let text = format!("{head}{}", unit.repeat(times));
                    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                    let before = steps();
                    let _ = wish(&words);
                    (steps() - before, words.len() as u64)
                };
                let ((one, words), (two, _)) = (spent(1000), spent(2000));
                assert!(
                    two <= 2 * one && one >= words,
                    "{head}{unit}: {one} and {two} steps"
                );
                assert!(
                    one <= 4 * words + 400,
                    "{head}{unit}: {one} steps for {words} words"
                );
            }
        }
    }
}
