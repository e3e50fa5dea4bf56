//! Whether a token is a password, by its shape and by how surely the text around it says so.

use super::shape::TokenShape;
use crate::govern::sanitize::phrases::lexicon::{NUMBERED, says};
use crate::govern::sanitize::public::{is_algorithm, is_colour};
use crate::govern::sanitize::vocabulary::vocabulary;

/// Signs that people put into passwords, and seldom into other words.
pub(in crate::govern::sanitize) const SIGNS: &[char] = &['!', '@', '#', '$', '%', '^', '&', '?'];
/// What else is in them.
const OTHERS: &[char] = &['_', '-', '~', '*', '.'];

/// How surely the text around a token says that it is a password, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::govern::sanitize) enum ContextStrength {
    /// It is given for one: "creds: ann castle1057", "is castle1057 a good password?"
    Assigned,
    /// It stands behind a user, or behind the word for a password: "ann / Kd93mfpq2".
    Named,
    /// A sentence says that somebody uses it: "use Kd93mfpq2 to log in".
    Said,
    /// A word for a password is in its line: "I pasted castle911River here, it's our password".
    Near,
    /// No such word is there, only one about accounts and networks.
    Bare,
}

impl TokenShape<'_> {
    /// Whether it is a password in such a context.
    pub(in crate::govern::sanitize) fn is_password(&self, context: ContextStrength) -> bool {
        match context {
            ContextStrength::Assigned => self.is_mixed(),
            ContextStrength::Named => self.is_chosen() || self.is_listed() || self.is_strong(),
            ContextStrength::Said => {
                self.is_signed() || self.is_chosen() || self.is_phrase() || self.is_mixed_case()
            }
            ContextStrength::Near => self.is_made_up(false),
            ContextStrength::Bare => self.is_made_up(true),
        }
    }

    /// Whether it has letters and digits, and is nothing else: `castle1057`.
    fn is_mixed(&self) -> bool {
        let made = self.made();
        self.text.len() >= 6 && made.digits >= 2 && made.letters() >= 2 && !self.is_other()
    }

    /// Letters and digits with a sign or both cases among them, and no version, date or name.
    pub(in crate::govern::sanitize) fn is_strong(&self) -> bool {
        let made = self.made();
        let both_cases = made.lower > 0 && made.upper > 0;
        self.text.chars().count() >= 6
            && made.digits > 0
            && made.letters() > 0
            && (made.others > 0 || both_cases)
            && !self.is_prose_sign()
            && !self.is_code()
            && !self.is_path()
            && !self.stands_in()
    }

    /// Whether it is none of the methods that have numbers in their names.
    pub(in crate::govern::sanitize) fn is_listed(&self) -> bool {
        if !self.may_be_chosen() {
            return self.is_mixed_case();
        }
        self.made().letters() >= 2
            && self.has_digits_inside()
            && !vocabulary().values.method_starts.starts(self.text)
            && !self.is_other()
    }

    /// Whether it is none that a sentence would say, and no name of a method or version (`OAuth2`,
    /// `Ed25519`): letters after its digits, and few of them in words.
    fn is_chosen(&self) -> bool {
        if !self.may_be_chosen() {
            return false;
        }
        let made = self.made();
        let signs = self.text.contains(SIGNS) || self.text.contains('+');
        let long = self.text.len() >= 10 && made.others == 0 && made.upper != 1;
        made.letters() >= 2
            && ((self.has_digits_inside() && made.digits >= 2)
                || (signs && made.digits > 0)
                || long)
            && self.wordiness() <= vocabulary().wordiness.chosen
            && !self.is_other()
    }

    fn may_be_chosen(&self) -> bool {
        self.text.len() >= vocabulary().lengths.chosen
            && self.text.bytes().any(|b| b.is_ascii_digit())
    }

    /// Whether a letter stands behind a digit.
    fn has_digits_inside(&self) -> bool {
        self.text
            .find(|c: char| c.is_ascii_digit())
            .is_some_and(|at| self.text[at..].contains(|c: char| c.is_ascii_alphabetic()))
    }

    /// `Tiger2063@`: a sign among letters and digits.
    fn is_signed(&self) -> bool {
        let made = self.made();
        let signs = self.text.contains(SIGNS) || self.text.contains(['*', '+']);
        signs && self.text.len() >= 6 && made.digits > 0 && made.letters() >= 3 && !self.is_other()
    }

    /// `River-Stone-4711`: words with capitals and a number, as a generator of passwords joins
    /// them.
    fn is_phrase(&self) -> bool {
        let is_word = |part: &str| {
            part.len() >= 4
                && part.starts_with(|c: char| c.is_ascii_uppercase())
                && part[1..].bytes().all(|b| b.is_ascii_lowercase())
        };
        let is_number =
            |part: &str| (2..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let parts = || self.text.split(['-', '.']);
        parts().filter(|part| is_word(part)).count() >= 2
            && parts().any(is_number)
            && parts().all(|part| is_word(part) || is_number(part))
    }

    /// Whether it is something else: an address, a path, code, a stand-in, a digest, a date.
    fn is_other(&self) -> bool {
        self.is_mail()
            || self.stands_in()
            || self.is_code()
            || self.is_path()
            || self.is_name()
            || self.is_dated()
            || self.is_uuid()
            || self.is_hex()
            || self.is_prose_sign()
    }

    /// `ann@example.org`.
    pub(in crate::govern::sanitize) fn is_mail(&self) -> bool {
        self.text
            .split_once('@')
            .is_some_and(|(_, host)| host.contains('.'))
    }

    /// `12-character`, `SHA-256`, `v1.2.3`, `2024-01-01`: words and numbers joined by signs.
    pub(in crate::govern::sanitize) fn is_prose_sign(&self) -> bool {
        const JOINTS: [char; 6] = ['-', '.', '/', '\'', ':', ','];
        let joined = self.text.contains(JOINTS)
            && self
                .text
                .chars()
                .all(|c| c.is_alphanumeric() || JOINTS.contains(&c));
        let plain = |part: &str| {
            let part = TokenShape::of(part);
            let made = part.made();
            made.letters() == 0
                || part.text.len() <= 3
                || (made.digits <= 3 && part.wordiness() >= vocabulary().wordiness.mixed)
        };
        joined && self.text.split(JOINTS).all(plain) && !self.is_phrase()
    }

    /// Whether it is none that a sentence says, no name and no number: letters, digits and signs in
    /// a mixture that somebody made up. `signed` asks for one of the signs inside.
    pub(in crate::govern::sanitize) fn is_made_up(&self, signed: bool) -> bool {
        self.is_mixture(signed)
            && !(is_colour(self.text) || self.is_numbered_name() || is_algorithm(self.text))
    }

    fn is_mixture(&self, signed: bool) -> bool {
        let (text, lengths) = (self.text, &vocabulary().lengths);
        let known =
            |c: char| c.is_ascii_alphanumeric() || SIGNS.contains(&c) || OTHERS.contains(&c);
        if !lengths.made_up.contains(&text.len())
            || !text.bytes().any(|b| b.is_ascii_digit())
            || !text.chars().all(known)
        {
            return false;
        }
        let made = self.made();
        if made.letters() < 2 || self.is_other() || self.is_method() || self.is_account() {
            return false;
        }
        // What ends the sentence may be no part of it.
        let inner = text.trim_end_matches(['!', '?']);
        if inner.contains(SIGNS) {
            return made.digits >= 2 && made.letters() >= 3 && !is_counted_by_sign(inner);
        }
        if inner.len() < text.len()
            && !inner.contains('.')
            && (turns(inner) >= 3
                || (made.digits >= 3 && text.starts_with(|c: char| c.is_ascii_alphabetic())))
        {
            return true;
        }
        !signed
            && made.others == 0
            && text.len() >= lengths.made_up_plain
            && turns(text) >= 2
            && (is_two_words(text) || self.is_jumbled())
    }

    /// Letters and digits by turns, and hardly a word among them.
    fn is_jumbled(&self) -> bool {
        let (made, wordy, most) = (self.made(), self.wordiness(), &vocabulary().wordiness);
        let length = self.text.len();
        let cases = made.upper >= 2 && made.lower >= 2 && (made.digits >= 2 || length >= 10);
        let turned =
            made.letters() >= 4 && made.digits >= 2 && length >= 9 && turns(self.text) >= 3;
        (cases && wordy <= most.chosen) || (turned && wordy <= most.turned)
    }

    /// Whether it is such a method and its number, and nothing more: `SHA256`, `TLS1.3`, `UTF-8`.
    pub(in crate::govern::sanitize) fn is_numbered_method(&self) -> bool {
        self.is_method()
            && self
                .text
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .bytes()
                .all(|b| !b.is_ascii_alphabetic())
    }

    fn is_method(&self) -> bool {
        let name = self.text.find(|c: char| !c.is_ascii_alphabetic());
        let name = name.and_then(|at| self.text.get(..at));
        vocabulary().values.methods.has(name.unwrap_or_default())
    }

    /// `Windows11`, `Firefox131`, `May2019`: the name of something with its number.
    pub(in crate::govern::sanitize) fn is_numbered_name(&self) -> bool {
        let name = self
            .text
            .trim_end_matches(['!', '?', '.'])
            .trim_end_matches(|c: char| c.is_ascii_digit() || ".-_".contains(c));
        name.len() < self.text.len() && says(name).any(NUMBERED)
    }

    /// `root@db01`: a user and a host.
    pub(in crate::govern::sanitize) fn is_account(&self) -> bool {
        self.text.split_once('@').is_some_and(|(user, host)| {
            user.len() >= 2
                && host.starts_with(|c: char| c.is_ascii_alphabetic())
                && !host.contains(SIGNS)
        })
    }
}

/// How often letters and digits take turns.
fn turns(text: &str) -> usize {
    let sort = |b: &u8| (b.is_ascii_digit(), b.is_ascii_alphabetic());
    text.as_bytes()
        .windows(2)
        .filter(|two| sort(&two[0]) != sort(&two[1]))
        .count()
}

/// `castle911River`: two words around a number.
fn is_two_words(text: &str) -> bool {
    let mut parts = text
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let (first, second) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    parts.next().is_none()
        && digits >= 3
        && first.len() >= 3
        && second.len() >= 3
        && second.starts_with(char::is_uppercase)
}

/// `issue#1234`, `50%off`, `USD$1200`: a number that a sign belongs to.
fn is_counted_by_sign(text: &str) -> bool {
    let numbered = text.split_once('#').is_some_and(|(name, number)| {
        number.bytes().all(|b| b.is_ascii_digit()) && name.bytes().all(|b| b.is_ascii_lowercase())
    });
    let share = text
        .split_once('%')
        .is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    let price = text.split_once('$').is_some_and(|(name, number)| {
        name.bytes().all(|b| b.is_ascii_uppercase())
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    numbered || share || price
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_told_from_what_is_named() {
        for word in ["Kd93mfpq2", "x7!kqRwp", "r4zbq8vt"] {
            assert!(TokenShape::of(word).is_chosen(), "{word}");
        }
        for word in [
            "OAuth2",
            "Ed25519",
            "argon2id",
            "TLSv1.3",
            "user2024",
            "base64url",
            "ISO-3166",
            "bob@example.org",
            "deadbeef12",
        ] {
            assert!(!TokenShape::of(word).is_chosen(), "{word}");
        }
    }

    #[test]
    fn what_is_made_up_is_told_from_names_and_numbers() {
        for word in [
            "Tiger#2063",
            "Purple6162?",
            "R0ck3t_600!",
            "castle911River",
            "aB2F2I3RfLlQ",
            "sosf1715!y7Q",
            "P@ssw0rd1",
            "Cookie321&",
            "Shadow$3958",
            "4dm1n_900!",
        ] {
            assert!(TokenShape::of(word).is_made_up(false), "{word}");
        }
        for word in [
            "Windows11!",
            "iOS17!",
            "SHA256sum",
            "sha512crypt",
            "argon2id",
            "Python3.11",
            "WH-1000XM4",
            "root@db01",
            "bob@example.org",
            "issue#1234",
            "50%off",
            "USD$1200",
            "v1.2.3-rc.1",
            "2024-11-22",
            "deadbeef12",
            "user2024",
            "YubiKey5C",
            "SCRAM-SHA-256",
            "iPhone15Pro",
            "802.11ax?",
            "PBKDF2",
            "x86_64",
            "utf8mb4",
            "C3-PO",
            "LH1234",
            "ISO-8859-1",
            "10.0.0.1:8080",
        ] {
            assert!(!TokenShape::of(word).is_made_up(false), "{word}");
        }
        assert!(
            TokenShape::of("Tiger#2063").is_made_up(true)
                && !TokenShape::of("castle911River").is_made_up(true)
        );
    }
}
