//! Wishes to act in other forms than an imperative of one verb: states that are wished for, verbs
//! of two words, errands, shell commands, German and French.
//!
//! | form | as in |
//! |---|---|
//! | need | *nginx needs a restart*, *the logs have to go* |
//! | state | *I want the firewall off*, *have the server rebooted*, *make sure port 22 is closed* |
//! | verb of two words | *take the site down*, *clean up /tmp*, *kick off the backup* |
//! | errand | *book a table for two*, *cancel my 3 o'clock meeting*, *email Bob that it is down* |
//! | access | *give alice sudo*, *add bob to the docker group* |
//! | command | *sudo systemctl restart nginx*, *rm -rf /srv/cache* |
//! | other languages | *starte nginx neu*, *peux-tu redémarrer le serveur* |

use super::lexicon::{ActClass, REACH, is_path};
use super::objects::TEXTS;
use super::wish_lexicon::{
    ASKING, CAN_YOU, ERRANDS, INFINITIVES, MORE, NEEDED, NOUNS, ORDERS, PAIRS, POLITE, SHELL,
    STATES, THINGS, WRITING,
};
use crate::govern::reply::side_effects::is_past;
use crate::govern::sanitize::count;

/// The act that a sentence wishes for in one of these forms.
pub(in crate::govern) fn wish(words: &[String]) -> Option<ActClass> {
    count(words.len());
    let first = words.first()?.as_str();
    shell(words)
        .or_else(|| abroad(words))
        .or_else(|| at_head(words))
        .or_else(|| {
            (!ASKING.contains(&first))
                .then(|| state(words).or_else(|| need(words)))
                .flatten()
        })
}

/// The first thing among some words, before any text is named.
fn thing(words: &[String]) -> Option<ActClass> {
    let near = words.get(..words.len().min(REACH))?;
    count(near.len());
    near.iter()
        .take_while(|word| !TEXTS.contains(&word.as_str()))
        .find_map(|word| {
            let listed = THINGS
                .iter()
                .find(|(_, list)| list.contains(&word.as_str()))
                .map(|(class, _)| *class);
            listed
                .or_else(|| is_path(word).then_some(ActClass::File))
                .or_else(|| {
                    let address = word.split('.').count() == 4
                        && word.split('.').all(|part| part.parse::<u8>().is_ok());
                    address
                        .then_some(ActClass::Firewall)
                        .or_else(|| MORE.contains(&word.as_str()).then_some(ActClass::Command))
                })
        })
}

fn begins<'a>(words: &'a [String], heads: &[&[&str]]) -> Option<&'a [String]> {
    count(heads.len());
    let head = heads
        .iter()
        .find(|head| words.len() > head.len() && head.iter().zip(words).all(|(a, b)| a == b))?;
    words.get(head.len()..)
}

/// A command as it is typed.
fn shell(words: &[String]) -> Option<ActClass> {
    let [program, next, ..] = words else {
        return None;
    };
    let (_, what) = SHELL.iter().find(|(name, _)| name == program)?;
    let acts = if what.is_empty() {
        is_argument(next)
    } else {
        what.contains(&next.as_str())
    };
    acts.then_some(ActClass::Command)
}

/// "rm -rf", "sudo systemctl": no word of a sentence about the program.
fn is_argument(word: &str) -> bool {
    word.starts_with('-')
        || is_path(word)
        || word.contains('=')
        || SHELL.iter().any(|(name, _)| *name == word)
        || word == "rf"
}

/// Verbs of two words, errands and access, where a request begins.
fn at_head(words: &[String]) -> Option<ActClass> {
    let (verb, after) = words.split_first()?;
    let near = after.get(..after.len().min(REACH))?;
    count(near.len());
    let is = |word: &str, list: &[&str]| list.contains(&word);
    if WRITING.contains(&verb.as_str()) {
        return near
            .first()
            .filter(|next| !is(next, NOUNS))
            .map(|_| ActClass::Message);
    }
    let about = |(name, things): &&(&str, &[&str])| {
        *name == verb
            && near.iter().any(|word| is(word, things))
            && !near.iter().any(|word| word == "by")
    };
    if ERRANDS.iter().any(|errand| about(&errand)) {
        return Some(ActClass::Errand);
    }
    let rights = [
        "access",
        "sudo",
        "root",
        "admin",
        "permission",
        "permissions",
        "rights",
    ];
    if matches!(verb.as_str(), "give" | "grant" | "revoke")
        && near.iter().skip(1).any(|word| is(word, &rights))
    {
        return Some(ActClass::Configuration);
    }
    if verb == "add"
        && near.iter().any(|word| word == "group")
        && near.iter().any(|word| word == "to")
    {
        return Some(ActClass::Configuration);
    }
    if near
        .first()
        .is_some_and(|next| matches!(next.as_str(), "me" | "us"))
    {
        return None;
    }
    let fits = |(name, particles): &&(&str, &[&str])| {
        *name == verb && (particles.is_empty() || near.iter().any(|word| is(word, particles)))
    };
    if PAIRS.iter().any(|pair| fits(&pair)) {
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
    let at = words.iter().position(|word| {
        is_past(word) || matches!(word.as_str(), "rebooted" | "cleared" | "installed")
    })?;
    let installs = words
        .get(at)
        .is_some_and(|word| word == "installed" || word == "uninstalled");
    let before = words.get(..at)?;
    thing(before).or_else(|| (installs && !before.is_empty()).then_some(ActClass::Package))
}

/// "I want the firewall off", "make sure nginx is running".
fn state(words: &[String]) -> Option<ActClass> {
    const WANTED: &[&[&str]] = &[
        &["i", "want"],
        &["i", "need"],
        &["i'd", "like"],
        &["i", "would", "like"],
        &["we", "need"],
        &["we", "want"],
        &["we'd", "like"],
    ];
    const SEEN_TO: &[&[&str]] = &[
        &["make", "sure", "that"],
        &["make", "sure"],
        &["ensure", "that"],
        &["ensure"],
        &["see", "to", "it", "that"],
    ];
    let rest = begins(words, WANTED).or_else(|| begins(words, SEEN_TO))?;
    let near = rest.get(..rest.len().min(REACH))?;
    count(near.len());
    let at = near
        .iter()
        .rposition(|word| STATES.contains(&word.as_str()))
        .filter(|at| *at > 0);
    at.and_then(|at| thing(near.get(..at)?))
        .or_else(|| done(near))
}

/// "nginx needs a restart", "the logs have to go", "the server must be rebooted".
fn need(words: &[String]) -> Option<ActClass> {
    let at = words
        .iter()
        .take(REACH)
        .position(|word| matches!(word.as_str(), "needs" | "need" | "has" | "have" | "must"))?;
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
            words.get(at).is_some_and(|word| word.starts_with("need")) && NEEDED.contains(noun)
        }
        [] => false,
    };
    if wanted { thing(before) } else { None }
}

/// German and French.
fn abroad(words: &[String]) -> Option<ActClass> {
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let rest = begins(words, POLITE).unwrap_or(words);
    let asked = begins(rest, CAN_YOU);
    let (verb, after) = match asked {
        Some(rest) => {
            count(rest.len().min(2 * REACH));
            let at = rest
                .iter()
                .take(2 * REACH)
                .position(|word| has(INFINITIVES, word))?;
            (rest.get(at)?, rest)
        }
        None => rest.split_first().filter(|(verb, _)| has(ORDERS, verb))?,
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
