//! Clauses that ask for an act, or announce one: one reader for all the forms that they have, with
//! the words of [`super::lexicon`].
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

use super::lexicon::{ActClass, REACH, lexicon};
use crate::govern::reply::side_effects::is_past;
use crate::govern::sanitize::count;
use crate::govern::word_list::PhraseList;

/// So many parts of a sentence are looked at one after the other: more are a list, and no order.
const MOST_PARTS: usize = 16;
/// So many polite words are passed over: "hey, could you please just now" are six. More are no
/// sentence.
const MOST_HEADS: usize = 16;

/// The act that a sentence of a prompt asks for.
pub(super) fn requested_act(words: &[String]) -> Option<ActClass> {
    order(words)
        .or_else(|| wish(without_heads(words)))
        .or_else(|| wish(words))
}

/// An imperative, after polite words, after a condition, or after another imperative.
fn order(words: &[String]) -> Option<ActClass> {
    let mut rest = words;
    for _ in 0..MOST_PARTS {
        count(rest.len());
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
    GoesOn(&'a [String]),
}

impl SentencePart<'_> {
    fn of(words: &[String]) -> SentencePart<'_> {
        let known = &lexicon().words;
        let conditional = words.first().is_some_and(|word| known.conditions.has(word));
        let comma = || words.iter().position(|word| word == ",");
        let from = if conditional {
            comma().map(|comma| comma + 1)
        } else {
            Some(0)
        };
        let Some(words) = from.and_then(|from| words.get(from..)) else {
            return SentencePart::Other;
        };
        let Some((verb, after)) = without_heads(words).split_first() else {
            return SentencePart::Other;
        };
        // "mind restarting it?"
        let (verb, after) = match (verb.as_str(), after.split_first()) {
            ("mind", Some((verb, after))) => (verb, after),
            _ => (verb, after),
        };
        let gerund = || {
            lexicon()
                .of_gerund(verb)
                .filter(|_| words.iter().any(|word| word == "mind"))
        };
        let verb = if lexicon().is_verb(verb) {
            verb.as_str()
        } else {
            gerund().unwrap_or(verb.as_str())
        };
        let act = lexicon().act_of(verb, part(after));
        if let Some(class) = act.or_else(|| embedded(words)) {
            return SentencePart::Act(class);
        }
        if !(lexicon().is_verb(verb) || known.looks.has(verb)) || known.writing.has(verb) {
            return SentencePart::Other;
        }
        // "Check the disk and delete the old logs".
        let next = after
            .iter()
            .position(|word| matches!(word.as_str(), "and" | "then" | ","));
        next.and_then(|next| after.get(next + 1..))
            .map_or(SentencePart::Other, SentencePart::GoesOn)
    }
}

/// An order or a plea inside of a sentence.
///
/// One pass: what stands before a word is summed up, not looked at again.
fn embedded(words: &[String]) -> Option<ActClass> {
    let (known, asked) = (&lexicon().words, &lexicon().phrases.asked);
    let (mut able, mut unasked, mut unasked_here, mut border) = (false, false, false, None);
    for at in 1..words.len() {
        count(1);
        let (before, rest) = words.split_at(at);
        let last = before.last()?.as_str();
        if known.told.has(last) {
            return None;
        }
        able |= known.able.has(last);
        unasked |= known.unasked.has(last);
        let at_border = known.parts.has(last);
        if at_border {
            border = Some(at);
        }
        unasked_here = !at_border && (unasked_here || known.unasked.has(last));
        let body = match asked.behind(rest) {
            Some(body) if !unasked_here => body,
            None if border == Some(at) && !able && !unasked => rest,
            _ => continue,
        };
        if let Some(class) = embedded_act(without_heads(body)) {
            return Some(class);
        }
    }
    None
}

fn embedded_act(body: &[String]) -> Option<ActClass> {
    let (verb, after) = body.split_first()?;
    let names_something = after.first().is_some_and(|word| word != ",");
    let near = after.get(..after.len().min(2 * REACH)).unwrap_or_default();
    if lexicon().words.writing.has(verb) || !names_something {
        None
    } else {
        lexicon().act_of(verb, part(near))
    }
}

/// Up to the next part of the sentence.
fn part(words: &[String]) -> &[String] {
    let end = words
        .iter()
        .position(|word| matches!(word.as_str(), "then" | ":"))
        .unwrap_or(words.len());
    words.get(..end).unwrap_or(words)
}

fn without_heads(mut words: &[String]) -> &[String] {
    for _ in 0..MOST_HEADS {
        let Some(rest) = lexicon().phrases.heads.behind(words) else {
            break;
        };
        count(words.len() - rest.len());
        words = rest;
    }
    words
}

/// The act that a sentence of a reply announces, offers for approval, or is under way with.
pub(super) fn announced_act(words: &[String]) -> Option<ActClass> {
    let at_start = words
        .first()
        .and_then(|first| lexicon().of_gerund(first))
        .filter(|_| words.iter().any(|word| word == "now"));
    if let Some(class) = at_start.and_then(|verb| lexicon().act_of(verb, words.get(1..)?)) {
        return Some(class);
    }
    (0..words.len()).find_map(|at| {
        count(1);
        let rest = words.get(at..)?;
        if let [subject, doing, after @ ..] = rest
            && matches!(subject.as_str(), "i'm" | "we're")
            && let Some(verb) = lexicon().of_gerund(doing)
            && let Some(class) = lexicon().act_of(verb, after)
        {
            return Some(class);
        }
        announced(lexicon().phrases.announced.behind(rest)?)
    })
}

/// What follows an announcement, when it is an act.
fn announced(rest: &[String]) -> Option<ActClass> {
    let between = &lexicon().words.between;
    let verb = (0..rest.len()).find(|at| {
        count(1);
        rest.get(*at).is_some_and(|word| !between.has(word)) || starts(rest, *at)
    })?;
    let word = rest.get(verb)?;
    let verb_word = if lexicon().is_verb(word) {
        word.as_str()
    } else {
        lexicon().of_gerund(word)?
    };
    lexicon().act_of(verb_word, rest.get(verb + 1..)?)
}

/// "Start" is a verb of its own before a thing, and none in "start by restarting".
fn starts(rest: &[String], at: usize) -> bool {
    rest.get(at).is_some_and(|word| word == "start")
        && rest.get(at + 1).is_some_and(|next| next != "by")
}

/// The act that a sentence wishes for in another form than an order of one verb.
fn wish(words: &[String]) -> Option<ActClass> {
    count(words.len());
    let first = words.first()?;
    shell(words)
        .or_else(|| abroad(words))
        .or_else(|| at_head(words))
        .or_else(|| {
            (!lexicon().words.asking.has(first))
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
    let known = &lexicon().words;
    let (verb, after) = words.split_first()?;
    let near = after.get(..after.len().min(REACH))?;
    count(near.len());
    let has = |wanted: &str| near.iter().any(|word| word == wanted);
    if known.messages.has(verb) {
        return near
            .first()
            .filter(|next| !known.nouns.has(next))
            .map(|_| ActClass::Message);
    }
    let errand = lexicon().errands.get(verb);
    if errand.is_some_and(|about| near.iter().any(|word| about.has(word)) && !has("by")) {
        return Some(ActClass::Errand);
    }
    let gives = matches!(verb.as_str(), "give" | "grant" | "revoke")
        && near.iter().skip(1).any(|word| known.rights.has(word));
    if gives || (verb == "add" && has("group") && has("to")) {
        return Some(ActClass::Configuration);
    }
    if near
        .first()
        .is_some_and(|next| matches!(next.as_str(), "me" | "us"))
    {
        return None;
    }
    let pair = lexicon().pairs.get(verb);
    if pair.is_some_and(|second| second.is_empty() || near.iter().any(|word| second.has(word))) {
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
    let at = words
        .iter()
        .position(|word| is_past(word) || lexicon().words.done.has(word))?;
    let installs = words
        .get(at)
        .is_some_and(|word| word == "installed" || word == "uninstalled");
    let before = words.get(..at)?;
    thing(before).or_else(|| (installs && !before.is_empty()).then_some(ActClass::Package))
}

/// "I want the firewall off", "make sure nginx is running".
fn state(words: &[String]) -> Option<ActClass> {
    let phrases = &lexicon().phrases;
    let rest = behind(words, &phrases.wanted).or_else(|| behind(words, &phrases.seen_to))?;
    let near = rest.get(..rest.len().min(REACH))?;
    count(near.len());
    let at = near
        .iter()
        .rposition(|word| lexicon().words.states.has(word))
        .filter(|at| *at > 0);
    at.and_then(|at| thing(near.get(..at)?))
        .or_else(|| done(near))
}

/// "nginx needs a restart", "the logs have to go", "the server must be rebooted".
fn need(words: &[String]) -> Option<ActClass> {
    let known = &lexicon().words;
    let at = words
        .iter()
        .take(REACH)
        .position(|word| known.needing.has(word))?;
    let (before, rest) = (words.get(..at)?, words.get(at + 1..)?);
    count(at + rest.len());
    let rest: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .filter(|word| !matches!(*word, "a" | "an" | "now" | "urgently"))
        .collect();
    let wanted = match rest.as_slice() {
        ["to", "go", ..] | ["go", ..] => true,
        ["to", "be", verb, ..] | ["be", verb, ..] => is_past(verb) || *verb == "rebooted",
        [noun, ..] => {
            words.get(at).is_some_and(|word| word.starts_with("need")) && known.needed.has(noun)
        }
        [] => false,
    };
    if wanted { thing(before) } else { None }
}

/// German and French.
fn abroad(words: &[String]) -> Option<ActClass> {
    let (known, phrases) = (&lexicon().words, &lexicon().phrases);
    let rest = behind(words, &phrases.polite).unwrap_or(words);
    let (verb, after) = match behind(rest, &phrases.can_you) {
        Some(rest) => {
            count(rest.len().min(2 * REACH));
            let mut near = rest.iter().take(2 * REACH);
            (near.find(|word| known.infinitives.has(word))?, rest)
        }
        None => rest
            .split_first()
            .filter(|(verb, _)| known.orders.has(verb))?,
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
