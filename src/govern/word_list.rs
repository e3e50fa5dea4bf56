//! Lists of words, as the data files under `genesis/` have them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Longest word of a list, in bytes.
const MAX_LISTED: usize = 32;
/// So many groups of first letters: the English ones, and all others together.
const FIRST_LETTERS: usize = 27;

/// Reads one of the data files that are built in, as JSON (`scripts/words.rs`). A test reads each of
/// them.
pub fn read_own<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("our own words are read by a test of this build")
}

/// Words in lower case, each of them once.
///
/// A text is compared with those alone that have its first letter and its length: most have none.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct WordList {
    /// Sorted by first letter, length and text.
    words: Vec<String>,
    /// For each first letter, and each length, where the words begin that are so long or longer;
    /// [`SLOTS`] lengths for a letter, the last of which is where its words end.
    places: Vec<u16>,
    /// A bit for each letter that a word ends with.
    last_letters: u32,
}

/// Lengths for each first letter: none to the longest, and one for where its words end.
const SLOTS: usize = MAX_LISTED + 1;

impl TryFrom<Vec<String>> for WordList {
    type Error = String;

    fn try_from(mut words: Vec<String>) -> Result<Self, String> {
        words.sort_unstable_by(|a, b| in_order(a).cmp(&in_order(b)));
        let mut list = WordList::default();
        for (at, word) in words.iter().enumerate() {
            if word.is_empty() || word.len() >= MAX_LISTED || !is_lower(word) {
                return Err(format!("{word:?} is too long, or not in lower case"));
            }
            if words.get(at + 1) == Some(word) {
                return Err(format!("{word:?} is listed twice"));
            }
            list.last_letters |= 1 << letter(word.bytes().last());
        }
        let count = u16::try_from(words.len())
            .map_err(|_| format!("{} words are too many", words.len()))?;
        list.places = vec![count; FIRST_LETTERS * SLOTS];
        let mut from = 0;
        for (at, word) in (0..count).zip(&words) {
            // A word begins what is as long as it is, and whatever was left open before.
            let slot = first_letter(word) * SLOTS + word.len();
            if slot >= from {
                list.places[from..=slot].fill(at);
                from = slot + 1;
            }
        }
        list.words = words;
        Ok(list)
    }
}

impl WordList {
    /// Whether a text is one of the words, in capitals or small letters of ASCII.
    pub fn has(&self, text: &str) -> bool {
        self.has_bytes(text.as_bytes())
    }

    /// The same of a text's bytes.
    pub fn has_bytes(&self, text: &[u8]) -> bool {
        let Some(places) = self.places_of(letter(text.first().copied())) else {
            return false;
        };
        let (Some(from), Some(to)) = (places.get(text.len()), places.get(text.len() + 1)) else {
            return false;
        };
        self.words[usize::from(*from)..usize::from(*to)]
            .iter()
            .any(|word| word.as_bytes().eq_ignore_ascii_case(text))
    }

    /// Where the words of a first letter begin, by length; nothing in an empty list.
    fn places_of(&self, letter: usize) -> Option<&[u16]> {
        self.places.get(letter * SLOTS..(letter + 1) * SLOTS)
    }

    /// The length of the word that a text begins with, in capitals or small letters of ASCII.
    pub fn start_of(&self, text: &str) -> Option<usize> {
        let begins = |word: &&String| {
            text.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        let places = self.places_of(first_letter(text))?;
        let (from, to) = (usize::from(places[0]), usize::from(places[MAX_LISTED]));
        self.words[from..to].iter().find(begins).map(String::len)
    }

    /// Whether a text begins with one of the words.
    pub fn starts(&self, text: &str) -> bool {
        self.start_of(text).is_some()
    }

    /// Whether bytes end with one of the words.
    pub fn ends(&self, text: &[u8]) -> bool {
        let last = text.last().map(u8::to_ascii_lowercase);
        if self.last_letters & (1 << letter(last)) == 0 {
            return false;
        }
        self.words.iter().any(|word| {
            word.as_bytes().last().copied() == last
                && text
                    .len()
                    .checked_sub(word.len())
                    .is_some_and(|at| text[at..].eq_ignore_ascii_case(word.as_bytes()))
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, sorted by first letter, length and text.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }
}

/// Phrases, each as its words; where one is found before another, as the file has them.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub struct PhraseList(Vec<Vec<String>>);

impl From<Vec<String>> for PhraseList {
    fn from(phrases: Vec<String>) -> Self {
        let words = |phrase: String| phrase.split(' ').map(str::to_owned).collect();
        PhraseList(phrases.into_iter().map(words).collect())
    }
}

impl PhraseList {
    /// What follows the first of the phrases that words begin with, where something does.
    pub fn behind<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        self.0
            .iter()
            .filter(|phrase| words.len() > phrase.len())
            .find_map(|phrase| words.strip_prefix(phrase.as_slice()))
    }

    /// The phrases, each as its words.
    pub fn iter(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// By what the words of a list are sorted.
fn in_order(word: &str) -> (usize, usize, &str) {
    (first_letter(word), word.len(), word)
}

/// Whether a word has small letters alone.
fn is_lower(word: &str) -> bool {
    if word.is_ascii() {
        return !word.bytes().any(|byte| byte.is_ascii_uppercase());
    }
    word == word.to_lowercase()
}

/// The group of a text's first letter.
fn first_letter(text: &str) -> usize {
    letter(text.bytes().next())
}

/// The group of a letter; all that is none has one, and nothing is in it too.
fn letter(byte: Option<u8>) -> usize {
    match byte.map(|b| b.to_ascii_lowercase()) {
        Some(b @ b'a'..=b'z') => usize::from(b - b'a'),
        _ => FIRST_LETTERS - 1,
    }
}

/// Pieces of text in which case counts, in the order of the file; at most 64.
///
/// Most texts begin and end with a byte that no piece begins or ends with.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct PieceList {
    pieces: Vec<String>,
    /// For each byte, a bit for every piece that begins with it.
    first: Vec<u64>,
    /// The same of those that end with it.
    last: Vec<u64>,
}

impl TryFrom<Vec<String>> for PieceList {
    type Error = String;

    fn try_from(pieces: Vec<String>) -> Result<Self, String> {
        if pieces.len() > 64 {
            return Err(format!("{} pieces, where 64 are the most", pieces.len()));
        }
        let (mut first, mut last) = (vec![0; 256], vec![0; 256]);
        for (nth, piece) in pieces.iter().enumerate() {
            let (Some(begins), Some(ends)) = (piece.bytes().next(), piece.bytes().last()) else {
                return Err("a piece is empty".to_owned());
            };
            first[usize::from(begins)] |= 1 << nth;
            last[usize::from(ends)] |= 1 << nth;
        }
        Ok(PieceList {
            pieces,
            first,
            last,
        })
    }
}

impl PieceList {
    /// The first piece that bytes begin with.
    pub fn start_of(&self, bytes: &[u8]) -> Option<&str> {
        let mut begin = self.marked(&self.first, bytes.first());
        begin.find(|piece| piece.len() == 1 || bytes.starts_with(piece.as_bytes()))
    }

    /// Whether a text begins with one of them.
    pub fn starts(&self, text: &str) -> bool {
        self.start_of(text.as_bytes()).is_some()
    }

    /// The first piece that a text ends with.
    pub fn end_of(&self, text: &str) -> Option<&str> {
        let mut end = self.marked(&self.last, text.as_bytes().last());
        end.find(|piece| piece.len() == 1 || text.ends_with(piece))
    }

    /// Whether a text is one of them.
    pub fn has(&self, text: &str) -> bool {
        let mut begin = self.marked(&self.first, text.as_bytes().first());
        begin.any(|piece| piece == text)
    }

    /// The pieces, in their order, whose bits a table has for a byte.
    fn marked<'l>(&'l self, table: &'l [u64], byte: Option<&u8>) -> impl Iterator<Item = &'l str> {
        let mut left = byte.map_or(0, |byte| table[usize::from(*byte)]);
        std::iter::from_fn(move || {
            let nth = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            self.pieces.get(nth).map(String::as_str)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Result<WordList, String> {
        WordList::try_from(
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_list_knows_its_words_and_no_others() {
        let list = list(&["war", "ist", "->", "wäre", "is"]).unwrap();
        for word in ["is", "IS", "war", "->", "wäre"] {
            assert!(list.has(word), "{word}");
        }
        for word in ["", "i", "wa", "was", "WÄRE", "-", "=>"] {
            assert!(!list.has(word), "{word}");
        }
        assert!(list.starts("Isar") && !list.starts("a") && list.ends("this".as_bytes()));
        assert_eq!(
            list.iter().collect::<Vec<_>>(),
            ["is", "ist", "war", "wäre", "->"]
        );
    }

    #[test]
    fn pieces_are_found_in_their_order_and_case_counts() {
        let of = |pieces: &[&str]| {
            PieceList::try_from(pieces.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
        };
        let list = of(&["price_", "pi_", "p", "Qm", "é."]).unwrap();
        for (text, start, end) in [
            ("pi_3", Some("pi_"), None),
            ("p", Some("p"), Some("p")),
            ("Pi_", None, None),
            ("price_pi_", Some("price_"), Some("pi_")),
            ("é.", Some("é."), Some("é.")),
            ("", None, None),
        ] {
            assert_eq!(list.start_of(text.as_bytes()), start, "{text}");
            assert_eq!(list.end_of(text), end, "{text}");
            assert_eq!(list.has(text), start == Some(text), "{text}");
        }
        assert!(of(&["a", ""]).is_err() && of(&["a"; 65]).is_err() && of(&["a"; 64]).is_ok());
    }

    #[test]
    fn a_word_twice_or_in_capitals_is_refused() {
        for words in [&["a", "b", "a"][..], &["A"], &[""]] {
            assert!(list(words).is_err(), "{words:?}");
        }
    }
}
