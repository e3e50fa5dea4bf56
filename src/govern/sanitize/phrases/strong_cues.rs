//! What can be nothing but a password where one is spoken of: "I pasted Tiger#2063x in the chat,
//! it's our password".

use super::words::{QUOTES, reach_after, reach_before};
use crate::govern::sanitize::text::passes::OPAQUE;
use crate::govern::sanitize::text::work;
use crate::govern::sanitize::token::kind::PASSWORD_SIGNS;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::TokenContext;
use crate::govern::sanitize::vocabulary::vocabulary;

/// How far behind a word about logging in one is looked for.
const BEHIND: usize = 80;
/// What stands around a word and is no part of it.
const EDGES: &[char] = &['*', '_', '.', ':'];

/// `Maple#8670`: how some services tell users of one name apart.
fn is_tag(text: &str) -> bool {
    let parts = text.split_once('#');
    parts.is_some_and(|(name, number)| {
        number.len() == 4
            && number.bytes().all(|b| b.is_ascii_digit())
            && !name.contains(PASSWORD_SIGNS)
    })
}

/// How far one text was read for them, so that many words near each other don't have the same line
/// read many times.
#[derive(Default)]
pub struct CueScan<'a> {
    /// Where the reading ended.
    seen: usize,
    /// The last word that was read there.
    last: &'a str,
}

impl<'a> CueScan<'a> {
    /// All of them in the line of the word `start..end` that were not told before, unless something
    /// was taken out of it. The words that it is called for come in the order of the text.
    pub fn around(&mut self, text: &'a str, start: usize, end: usize) -> Vec<(usize, usize)> {
        if is_part_of_a_name(text.as_bytes(), start, end) {
            return Vec::new();
        }
        let ((from, before), after) = (reach_before(text, start), reach_after(text, end));
        if before.contains(OPAQUE) || after.contains(OPAQUE) {
            return Vec::new();
        }
        let mut found = Vec::new();
        if self.seen < from {
            (self.seen, self.last) = (from, "");
        }
        self.read(text, start, &mut found);
        self.seen = self.seen.max(end);
        let mut to = end + after.len();
        if text.as_bytes().get(to).is_some_and(|b| *b != b'\n')
            && let Some(new) = text.get(self.seen..to)
        {
            // A word that the reach cuts in two is left to the next one, unless it is too long for
            // one of them.
            let rest = new
                .rfind(is_apart)
                .or((new.len() < vocabulary().lengths.made_up + EDGES.len()).then_some(0));
            to = self.seen + rest.unwrap_or(new.len());
        }
        self.read(text, to, &mut found);
        found
    }

    /// Reads on from where the reading ended.
    fn read(&mut self, text: &'a str, to: usize, found: &mut Vec<(usize, usize)>) {
        let Some(piece) = text.get(self.seen..to) else {
            return;
        };
        self.last = among(piece, self.seen, false, self.last, found);
        self.seen += piece.len();
    }
}

/// `password_hash`, `user.password`: whether a word stands in a name in code, which says what it
/// holds by itself.
fn is_part_of_a_name(bytes: &[u8], start: usize, end: usize) -> bool {
    let joins =
        |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || b"_-$(".contains(b));
    let dotted = |dot: Option<&u8>, other: Option<&u8>| {
        dot == Some(&b'.') && other.is_some_and(u8::is_ascii_alphanumeric)
    };
    let at = |place: Option<usize>| place.and_then(|place| bytes.get(place));
    let behind = end + usize::from(bytes.get(end) == Some(&b's'));
    let before = at(start.checked_sub(1));
    joins(before)
        || joins(bytes.get(behind))
        || dotted(before, at(start.checked_sub(2)))
        || dotted(bytes.get(behind), bytes.get(behind + 1))
}

/// The first one behind a word about logging in that ends at `end`; it must have a sign.
pub fn behind(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    let to = (0..=BEHIND.min(rest.len()))
        .rev()
        .find(|at| rest.is_char_boundary(*at))?;
    let rest = rest.get(..to)?;
    let mut found = Vec::new();
    if !rest.contains(OPAQUE) {
        among(rest, end, true, "", &mut found);
    }
    found.first().copied()
}

/// `admin/Tiger2063!`, `root:…`: behind the sign that ends at `end`, when a user's name begins a
/// word at `start`.
pub fn joined(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let before = text
        .get(..start)
        .and_then(|before| before.chars().next_back());
    if before.is_some_and(|c| !c.is_whitespace() && !['(', '"', '\'', '`', ','].contains(&c)) {
        return None;
    }
    let word = first_word(reach_after(text, end))?;
    TokenShape::of(word)
        .is_secret(TokenContext::NearPassword)
        .then_some((end, end + word.len()))
}

/// `ann@example.org:Tiger2063`: behind the colon that ends at `end`, when an address of mail stands
/// before it.
pub fn of_mail(text: &str, end: usize) -> Option<(usize, usize)> {
    let (_, before) = reach_before(text, end);
    let address = before
        .trim_end_matches([':', ' '])
        .rsplit(|c: char| !c.is_ascii_alphanumeric() && !"._%+-@".contains(c))
        .next()?;
    let (user, host) = address.split_once('@')?;
    if user.is_empty() || !host.contains('.') || user == "git" {
        return None;
    }
    let rest = reach_after(text, end);
    let apart = rest.len() - rest.trim_start_matches(' ').len();
    let word = first_word(rest.get(apart..)?)?;
    let fits = if apart == 0 {
        looks_random(word)
    } else {
        TokenShape::of(word).is_secret(TokenContext::NearPassword)
    };
    fits.then_some((end + apart, end + apart + word.len()))
}

/// Whether a word has letters and digits, and is no file and no path.
fn looks_random(word: &str) -> bool {
    let shape = TokenShape::of(word);
    (shape.is_secret(TokenContext::GivenPassword) || shape.is_secret(TokenContext::NearPassword))
        && !word.contains(['/', ':'])
        && (!word.contains('.') || word.contains(PASSWORD_SIGNS))
}

/// What stands between words.
fn is_apart(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | ',' | ';' | '|' | '/' | '(' | ')' | '"' | '\'' | '`'
    )
}

fn without_edges(word: &str) -> &str {
    let opened = word.trim_start_matches(QUOTES).trim_start_matches(EDGES);
    opened.trim_end_matches(QUOTES).trim_end_matches(EDGES)
}

fn first_word(text: &str) -> Option<&str> {
    let ends = |c: char| {
        matches!(
            c,
            ' ' | '\t' | '\r' | ',' | ';' | '|' | '"' | '\'' | '`' | ')' | '<'
        )
    };
    let word = text.split(ends).next()?;
    let word = word.trim_end_matches(EDGES);
    (!word.is_empty()).then_some(word)
}

/// Those among the words of a piece of a line that begins at `base`, behind the word `last`;
/// returns its last word.
fn among<'a>(
    piece: &'a str,
    base: usize,
    signed: bool,
    mut last: &'a str,
    found: &mut Vec<(usize, usize)>,
) -> &'a str {
    work::count(piece.len());
    let sign = |b: u8| PASSWORD_SIGNS.contains(&char::from(b));
    if !piece.bytes().any(|b| b.is_ascii_digit()) || (signed && !piece.bytes().any(sign)) {
        return piece
            .rsplit(is_apart)
            .find(|word| !word.is_empty())
            .map_or(last, without_edges);
    }
    let mut at = 0;
    for raw in piece.split(is_apart) {
        let word = without_edges(raw);
        let start = base + at + raw.len()
            - raw
                .trim_start_matches(QUOTES)
                .trim_start_matches(EDGES)
                .len();
        at += raw.len() + 1;
        let shows = vocabulary().sentences.examples.has(last);
        // `$2b$12$…`: a digest of a password.
        let other = shows || word.starts_with('$') || (signed && is_tag(word));
        let context = if signed {
            TokenContext::BarePassword
        } else {
            TokenContext::NearPassword
        };
        if !other && TokenShape::of(word).is_secret(context) {
            found.push((start, start + word.len()));
        }
        if !word.is_empty() {
            last = word;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use crate::govern::sanitize::redact;

    #[test]
    fn what_is_said_near_a_password_is_read() {
        for text in [
            "he told me the root password, it's Kd93mfpq2, keep it",
            "I use the same password everywhere (Kd93mfpq2). Is that bad?",
            "our shared password at work is Kd93mfpq2* and everybody knows it",
            "test credentials (for us only): tester1 / Kd93!mfpq2",
            "The db password changed from Kd93mfpq2 to something else",
            "I keep entering Kd93mfpq2 but the router won't accept the password.",
            "I pasted Kd93mfpq2 in the chat, it's our database password",
            "Could you check how secure Kd93mfpq2 is as a password?",
            "is Kd93mfpq2 a strong enough password for a bank?",
            "my mail account (bob@example.org, Kd93!mfpq2) got locked",
            "the default login for the camera is admin and Kd93!mfpq2",
            "I logged in with user bob and Kd93!mfpq2 and got a 403",
            "the panel is at 10.0.0.4, admin/Kd93mfpq2",
            "bob@example.org:Kd93mfpq2",
            "the key for the wifi is Kd93!mfpq2",
            "try signing in as admin with Kd93mfpq2",
            "net use Z: \\\\nas\\share Kd93mfpq2 /user:bob",
        ] {
            let clean = redact(text).clean;
            assert!(!clean.as_str().contains("mfpq2"), "{text}: {clean}");
        }
    }

    #[test]
    fn what_only_stands_near_a_password_stays() {
        for text in [
            "Boarding pass: seat 14C, gate B22",
            "The password must contain: digits, letters and signs.",
            "What password hashing does Django4 use: PBKDF2 or Argon2?",
            "passwords like Summer2024! are weak",
            "I log in from Windows11! The password works on Android14 and with TLS1.3, see issue#1234 and root@db01.",
            "git clone git@github.com:acme/tool2024.git",
            "mail bob@example.org: see you at 10",
            "FEN r1bqkbnr/1ppp1ppp/p1n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 4",
            "my account on the chat is Maple#8670, add me",
            "the password reset for bob was done at 14:32",
            "the password is weaker than four words",
            "the key of the account A1b2-3344 is in the safe",
            "net use Z: \\\\nas\\share /user:bob",
        ] {
            assert_eq!(redact(text).clean.as_str(), text);
        }
    }
}
