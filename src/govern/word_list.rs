//! Lists of words, as the data files under `genesis/` have them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Longest word of a list, in bytes.
const MAX_LISTED: usize = 32;
/// So many groups of first letters: the English ones, and all others together.
const FIRST_LETTERS: usize = 27;

/// Reads one of the data files that are built in. A test reads each of them.
pub fn read_own<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("our own words are read by a test of this build")
}

/// Words in lower case, each of them once.
///
/// Most texts that are looked up are in no list, which their first letter and their length tell.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct WordList {
    /// Sorted.
    words: Vec<String>,
    /// For each first letter a bit for every length.
    lengths: [u32; FIRST_LETTERS],
    /// For each first letter, where its words begin and end.
    places: [(usize, usize); FIRST_LETTERS],
}

impl TryFrom<Vec<String>> for WordList {
    type Error = String;

    fn try_from(mut words: Vec<String>) -> Result<Self, String> {
        words.sort_unstable();
        let mut list = WordList::default();
        for (at, word) in words.iter().enumerate() {
            if word.is_empty() || word.len() >= MAX_LISTED || *word != word.to_lowercase() {
                return Err(format!("{word:?} is too long, or not in lower case"));
            }
            if words.get(at + 1) == Some(word) {
                return Err(format!("{word:?} is listed twice"));
            }
            let first = first_letter(word);
            if list.lengths[first] == 0 {
                list.places[first].0 = at;
            }
            list.places[first].1 = at + 1;
            list.lengths[first] |= 1 << word.len();
        }
        list.words = words;
        Ok(list)
    }
}

impl WordList {
    /// Whether a text is one of the words, in capitals or small letters of ASCII.
    pub fn has(&self, text: &str) -> bool {
        let first = first_letter(text);
        if text.is_empty()
            || text.len() >= MAX_LISTED
            || self.lengths[first] & (1 << text.len()) == 0
        {
            return false;
        }
        let mut lower = [0; MAX_LISTED];
        let lower = &mut lower[..text.len()];
        lower.copy_from_slice(text.as_bytes());
        lower.make_ascii_lowercase();
        let (from, to) = self.places[first];
        self.words[from..to]
            .binary_search_by(|word| word.as_bytes().cmp(lower))
            .is_ok()
    }

    /// The length of the word that a text begins with, in capitals or small letters of ASCII.
    pub fn start_of(&self, text: &str) -> Option<usize> {
        let begins = |word: &&String| {
            text.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        let (from, to) = self.places[first_letter(text)];
        self.words[from..to].iter().find(begins).map(String::len)
    }

    /// Whether a text begins with one of the words.
    pub fn starts(&self, text: &str) -> bool {
        self.start_of(text).is_some()
    }

    /// Whether bytes end with one of the words.
    pub fn ends(&self, text: &[u8]) -> bool {
        self.words.iter().any(|word| {
            text.len()
                .checked_sub(word.len())
                .is_some_and(|at| text[at..].eq_ignore_ascii_case(word.as_bytes()))
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, sorted.
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

    /// The phrases.
    pub fn iter(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The group of a text's first letter.
fn first_letter(text: &str) -> usize {
    match text.bytes().next().map(|b| b.to_ascii_lowercase()) {
        Some(b @ b'a'..=b'z') => usize::from(b - b'a'),
        _ => FIRST_LETTERS - 1,
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
            ["->", "is", "ist", "war", "wäre"]
        );
    }

    #[test]
    fn a_word_twice_or_in_capitals_is_refused() {
        for words in [&["a", "b", "a"][..], &["A"], &[""]] {
            assert!(list(words).is_err(), "{words:?}");
        }
    }
}
