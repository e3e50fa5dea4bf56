//! The words that call a value secret, and the everyday words that are none.

use super::vocabulary::vocabulary;
use crate::govern::word_list::WordList;

/// What a word says about the value that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CueClass {
    /// Something a person may have chosen: any four characters.
    Password,
    /// The same, as a word so short that it stands in others.
    ShortPassword,
    /// Something a machine made: eight random characters.
    Token,
    /// A key of any kind.
    Key,
    /// A word that secrets and much else have in their names.
    Weak,
    /// Only a sign that a secret is near.
    Cue,
}

/// A word that calls something secret, where it stands.
#[derive(Clone, Copy, Debug)]
pub struct CueWord {
    pub start: usize,
    pub end: usize,
    pub class: CueClass,
}

impl CueClass {
    /// Every class with its words.
    pub fn all() -> [(CueClass, &'static WordList); 6] {
        let called = &vocabulary().called;
        [
            (CueClass::Password, &called.password),
            (CueClass::ShortPassword, &called.short_password),
            (CueClass::Token, &called.token),
            (CueClass::Key, &called.key),
            (CueClass::Weak, &called.weak),
            (CueClass::Cue, &called.cue),
        ]
    }

    /// Whether the word calls a password.
    pub fn is_password(self) -> bool {
        matches!(self, CueClass::Password | CueClass::ShortPassword)
    }

    /// Whether the word must stand at the start of a part of its name.
    pub fn is_short(self) -> bool {
        matches!(self, CueClass::ShortPassword | CueClass::Key)
    }
}

/// Whether a part of a name says that the value is about a secret, and none itself.
pub fn is_a_kind_of_name(part: &str) -> bool {
    vocabulary().names.about.has(part)
}

/// Whether a word is one for a password, in any of the languages and cases.
pub fn names_password(word: &str) -> bool {
    if word.len() < 2 || word.len() > 40 {
        return false;
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    let words = &vocabulary().sentences;
    words.password_stems.starts(word)
        || words.password_endings.ends(word.as_bytes())
        || words.password_words.has(word)
        || !word.is_ascii() && word.to_lowercase().starts_with("has")
}

/// The same as [`is_common`], without the signs around the word.
pub fn is_common_inside(text: &str) -> bool {
    is_common(text.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a word of prose is an everyday one, or has the form of one (`…ed`, `…ing`, `…able`).
pub fn is_common(word: &str) -> bool {
    let values = &vocabulary().values;
    values.common.has(word)
        || (word.len() >= 6
            && word.bytes().all(|b| b.is_ascii_alphabetic())
            && values.common_endings.ends(word.as_bytes()))
}
