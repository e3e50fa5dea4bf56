//! Passwords said in sentences: "the wifi password is …", "use … as the password", "log in with … /
//! …".

use super::words::{
    QUOTES, SentenceWord, has_hump, is_english, last_words, reach_after, reach_before, words,
};
use crate::govern::sanitize::cue_words::{CueClass, CueWord, is_a_kind_of_name, is_common};
use crate::govern::sanitize::rules::window::boundary;
use crate::govern::sanitize::token::kind::TokenKind;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::TokenContext;
use crate::govern::sanitize::vocabulary::vocabulary;

/// Most words between "password" and its verb: "the password for the guest network is".
const MAX_BETWEEN: usize = 6;

/// What may follow the word that calls a password, and one that calls a token.
const LINKS: [char; 12] = [' ', ':', '\t', '*', '`', '"', '\'', ')', '(', '=', '-', ','];
const TOKEN_LINKS: [char; 5] = [' ', ':', '*', '`', '"'];

/// For every word, where the next one begins that reads on as this one would: no word reads past it
/// for a verb.
pub fn nexts(text: &str, words: &[CueWord]) -> Vec<usize> {
    let mut nexts = vec![usize::MAX; words.len()];
    let (mut password, mut token) = (usize::MAX, usize::MAX);
    for (next, word) in nexts.iter_mut().zip(words).rev() {
        let rest = text.get(word.end..).unwrap_or_default();
        if word.class.is_password() {
            *next = password;
            if rest.strip_prefix('s').unwrap_or(rest).starts_with(LINKS) {
                password = word.start;
            }
        } else {
            *next = token;
            if calls_a_token(text, word.start, word.class) && rest.starts_with(TOKEN_LINKS) {
                token = word.start;
            }
        }
    }
    nexts
}

/// The password that is said around the word `start..end`; `next` is where another word of its kind
/// begins.
pub fn look(text: &str, start: usize, end: usize, next: usize) -> Option<(usize, usize)> {
    let before = reach_before(text, start);
    forward(text, start, end, next)
        .or_else(|| backward(text, before, end))
        .or_else(|| direct(text, before.1, end))
        .or_else(|| follows_user(before.1).then(|| pair(text, end))?)
}

/// "with password X", "login bob password X": what follows at once, unless it could be any word.
fn direct(text: &str, before: &str, end: usize) -> Option<(usize, usize)> {
    let (before, rest) = (before.trim_end(), reach_after(text, end));
    let called = calls_at_once(before);
    let apart = rest.starts_with([' ', '\t', ':']);
    // `password=…` is an assignment, whose sign is no part of the value.
    if !(called || apart) || rest.starts_with('=') {
        return None;
    }
    let word = words(rest, end).next()?;
    let shape = word.shape();
    if !(called || (apart && is_odd(&shape) && names_a_user(before))) {
        return None;
    }
    let counts = shape.counts();
    let odd = counts.digits > 0 || counts.others > 0 || shape.is(TokenKind::MixedCase);
    let fits = counts.letters() > 0 && odd && word.may_be_password(|| false);
    fits.then(|| word.place())
}

/// Whether the words before a word for a password let the password come at once.
fn calls_at_once(before: &str) -> bool {
    let said = &vocabulary().sentences;
    let mut last = glance(before).rsplit(|c: char| c.is_ascii_whitespace());
    last.next().is_some_and(|word| said.direct.has(word))
        || last.next().is_some_and(|word| said.direct_before.has(word))
}

fn is_odd(shape: &TokenShape<'_>) -> bool {
    shape.is(TokenKind::Listed)
        || shape.is_secret(TokenContext::GivenPassword) && !shape.is(TokenKind::NumberedMethod)
}

/// Whether a line names who logs in, or where: "user is deploy, password …".
fn names_a_user(before: &str) -> bool {
    let users = &vocabulary().sentences.users;
    let mut words = before.split(|c: char| !c.is_alphanumeric());
    words.any(|word| users.has(word))
}

/// Whether the word is the second of two names: `user/pw`, "ID PW", "username and password".
fn follows_user(before: &str) -> bool {
    let before = before
        .get(boundary(before, before.len().saturating_sub(32))..)
        .unwrap_or_default();
    let before = before.to_ascii_lowercase();
    let before = before.trim_end_matches(|c: char| {
        c.is_whitespace() || matches!(c, '/' | ',' | '|' | '&' | '-' | '_')
    });
    let before = before.strip_suffix("and").map_or(before, str::trim_end);
    vocabulary().sentences.user_endings.ends(before.as_bytes())
}

/// "password … is X".
fn forward(text: &str, start: usize, end: usize, next: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    let rest_start = end + rest.len() - rest.strip_prefix('s').unwrap_or(rest).len();
    let rest = text.get(rest_start..end + rest.len())?;
    // A particle may follow without a blank: パスワードはX, PW는X.
    let said = &vocabulary().sentences;
    if let Some(particle) = said.particles.start_of(rest.as_bytes()) {
        let after = rest.get(particle.len()..)?;
        let word = words(after, rest_start + particle.len()).next()?;
        return word.may_be_password(|| true).then(|| word.place());
    }
    if !rest.starts_with(LINKS) {
        return None;
    }
    let (mut verb, mut sets, mut weak) = (false, false, false);
    for (nth, word) in words(rest, rest_start).take(MAX_BETWEEN + 5).enumerate() {
        if weak && word.shape().is_secret(TokenContext::UsedPassword) {
            return Some(word.place());
        }
        if verb {
            let setter = word.is(&said.setters);
            sets |= setter;
            if setter || word.is(&said.fillers) || word.text.is_empty() {
                continue;
            }
            let plain = || {
                !sets
                    && (is_english(text, start, end) || has_hump(word.text))
                    && !is_part_of_name(text, start)
                    && !holds_before(text, start, &said.asks)
            };
            return word.may_be_password(plain).then(|| word.place());
        }
        // "password manager is", "password policy:": something about passwords.
        // "the password must contain: digits": what it has to be like.
        if word.is(&said.demands) {
            return None;
        }
        weak = word.is(&said.weak_verbs);
        let verbal = word.colon || weak || word.is(&said.setters);
        let at = word.text.eq_ignore_ascii_case("at");
        let about = nth == 0 && !verbal && is_a_kind_of_name(word.text) && !at;
        if about || word.start + word.text.len() > next {
            return None;
        }
        sets = word.is(&said.aims) && holds_before(text, start, &said.sets);
        verb = sets
            || word.is(&said.verbs)
            || (word.colon && nth <= 3)
            || (word.text.is_empty() && nth > 0);
        let sentence_ends = text
            .get(word.start + word.text.len()..)
            .is_some_and(|after| after.starts_with(['.', '?', '!', ';']));
        if !verb && (sentence_ends || nth >= MAX_BETWEEN) {
            return None;
        }
    }
    None
}

/// Whether a word is the end of a name in code: `confirm_password`.
fn is_part_of_name(text: &str, start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'))
}

/// Whether the sentence before a place holds one of those.
fn holds_before(text: &str, start: usize, phrases: &[String]) -> bool {
    let before = reach_before(text, start).1.to_lowercase();
    phrases
        .iter()
        .any(|phrase| before.contains(phrase.as_str()))
}

/// Most words between a verb and "password": "is my password".
const MAX_ARTICLES: usize = 4;
/// How much before a word is looked at to see whether its sentence is worth reading.
const GLANCE: usize = 64;

/// The end of what stands before a word.
fn glance(before: &str) -> &str {
    before
        .get(boundary(before, before.len().saturating_sub(GLANCE))..)
        .unwrap_or_default()
}

/// Whether the words before a place may say what a password is or is used as: a glance that costs
/// little.
fn leads_back(before: &str, ends: bool) -> bool {
    let tail = glance(before);
    let is_cut = tail.len() < before.len();
    let words = tail.trim_ascii_end();
    let words = words.rsplit(|c: char| c.is_ascii_whitespace());
    let mut last = words.filter(|word| !word.is_empty());
    let said = &vocabulary().sentences;
    let mut link = None;
    for _ in 0..=MAX_ARTICLES {
        let Some(word) = last.next() else {
            return is_cut;
        };
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '=');
        if !said.articles.has(plain) {
            link = Some(plain);
            break;
        }
    }
    let Some(link) = link else { return false };
    if !said.links.has(link) {
        return ends && TokenShape::of(link).is_secret(TokenContext::UsedPassword);
    }
    last.next().map_or(is_cut, |value| {
        value.contains(QUOTES)
            || !(is_common(value) || TokenShape::of(value).is(TokenKind::StandIn))
    })
}

/// "is X a good password?": the word before the article that ends at `at`.
fn asked(all: &[SentenceWord<'_>], at: usize) -> Option<(usize, usize)> {
    let [.., verb, said] = all.get(..at)? else {
        return None;
    };
    let shape = said.shape();
    (at < all.len()
        && verb.is(&vocabulary().sentences.judged)
        && (shape.is_secret(TokenContext::UsedPassword)
            || shape.is_secret(TokenContext::GivenPassword)))
    .then(|| said.place())
}

/// "use X as the password", "X is my password".
fn backward(text: &str, (from, before): (usize, &str), end: usize) -> Option<(usize, usize)> {
    // "hunter2 is my password.", "is hunter2 a good password?": nothing else is said.
    let ends = text.get(end..).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['.', ',', ';', '!', '?', '\n', ')'])
    });
    if !leads_back(before, ends) {
        return None;
    }
    let words = &vocabulary().sentences;
    let all: Vec<SentenceWord<'_>> = last_words(before, from, MAX_ARTICLES + 3);
    let mut at = all.len();
    while at > 0 && all.len() - at < MAX_ARTICLES && all[at - 1].is(&words.articles) {
        at -= 1;
    }
    if let Some(asked) = asked(&all, at).filter(|_| ends) {
        return Some(asked);
    }
    let link = at.checked_sub(1).and_then(|at| all.get(at))?;
    let value = at.checked_sub(2).and_then(|at| all.get(at))?;
    if !link.is(&words.links) {
        return None;
    }
    let told = at
        .checked_sub(3)
        .and_then(|at| all.get(at))
        .is_some_and(|word| word.is(&words.given));
    let is_link = |word: &str| link.text.eq_ignore_ascii_case(word);
    let shape = value.shape();
    let counts = shape.counts();
    let mixed =
        ends && (is_link("is") || is_link("was")) && counts.digits > 0 && counts.letters() > 0;
    (value.may_be_password(|| told && is_link("as"))
        && (value.quoted || told || mixed || shape.is(TokenKind::Strong)))
    .then(|| value.place())
}

/// `user/pw: a/b`, "ID PW master iPp9", "log in with a / b": the second of two, after the word that
/// ends at `end`.
pub fn pair(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    let skipped = rest.len()
        - rest
            .trim_start_matches([' ', ':', '=', '\t', '-', 's', '"'])
            .len();
    let piece = rest.get(skipped..)?;
    let (between, lengths) = (&vocabulary().sentences.between, &vocabulary().lengths);
    let mut pieces = piece
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '/' | ',' | '|' | '(' | ')' | '"' | '\'' | '`' | ';')
        })
        .filter(|part| !part.is_empty() && !between.has(part));
    let first = pieces.next()?;
    let in_one = first
        .split_once(':')
        .filter(|(user, pass)| !user.is_empty() && !pass.is_empty());
    let (first, second) = in_one.or_else(|| Some((first, pieces.next()?)))?;
    let user = first.len() <= 64
        && !is_common(first)
        && first
            .chars()
            .all(|c| c.is_alphanumeric() || "._@-+\\".contains(c));
    let second = second
        .trim_end_matches(['.', ':', '!', '?'])
        .trim_end_matches(['.']);
    let start = end + skipped + (second.as_ptr() as usize).checked_sub(piece.as_ptr() as usize)?;
    // A slash between the two says that they are a pair: then any word but an everyday one.
    let slashed = text
        .get(..start)
        .is_some_and(|before| before.trim_end().ends_with('/'))
        && second.len() >= lengths.password;
    let shape = TokenShape::of(second);
    // "creds: a b", "creds a:b": the two are said to be a pair.
    let told =
        (in_one.is_some() || rest.starts_with(':')) && shape.is_secret(TokenContext::GivenPassword);
    let password = told
        || (slashed && !is_common(second) && !shape.is(TokenKind::Code))
        || shape.is_secret(TokenContext::NamedPassword);
    if !user || shape.is(TokenKind::StandIn) || !password {
        return None;
    }
    Some((start, start + second.len()))
}

/// Whether a word stands at the start of a name and calls a token.
fn calls_a_token(text: &str, start: usize, class: CueClass) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    matches!(class, CueClass::Token | CueClass::Key)
        && before.is_none_or(|b| !b.is_ascii_alphanumeric())
}

/// "my token is X", "the API key: X": a random word after a verb.
pub fn token(text: &str, word: CueWord, next: usize) -> Option<(usize, usize)> {
    let CueWord { start, end, class } = word;
    if !calls_a_token(text, start, class) {
        return None;
    }
    let rest = reach_after(text, end);
    if !rest.starts_with(TOKEN_LINKS) {
        return None;
    }
    let said = &vocabulary().sentences;
    let mut verb = false;
    for (nth, word) in words(rest, end).take(MAX_BETWEEN + 3).enumerate() {
        if verb && !word.is(&said.fillers) {
            let shape = word.shape();
            let id = class == CueClass::Key && shape.is(TokenKind::Uuid);
            return (!id
                && (shape.is_secret(TokenContext::SaidToken)
                    || shape.is_secret(TokenContext::BarePassword)))
            .then(|| word.place());
        }
        if !verb && word.start + word.text.len() > next {
            return None;
        }
        verb |= word.is(&said.verbs) || word.colon || word.text.is_empty();
        if nth >= MAX_BETWEEN {
            return None;
        }
    }
    None
}
