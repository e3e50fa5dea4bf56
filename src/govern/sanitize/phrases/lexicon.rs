//! What people say around passwords and codes in several languages, as `genesis/said.toml` has it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use crate::govern::word_list::read_own;

const SAID: &str = include_str!(concat!(env!("OUT_DIR"), "/said.json"));

/// What a word says, as bits: a word may say several things, also in several languages.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct WordSenses(u16);

impl WordSenses {
    /// The bits of one list by the name that it has in the file.
    const LISTS: [(&'static str, WordSenses); 14] = [
        ("strong", STRONG),
        ("weak", WEAK),
        ("as", AS),
        ("judge", JUDGE),
        ("done", DONE),
        ("change", CHANGE),
        ("user", USER),
        ("both", BOTH),
        ("key", KEY),
        ("phrase", PHRASE),
        ("code", CODE),
        ("pin", PIN),
        ("opens", OPENS),
        ("not", NOT),
    ];

    /// Whether it says one of those.
    pub fn any(self, bits: WordSenses) -> bool {
        self.0 & bits.0 != 0
    }
}

impl std::ops::BitOr for WordSenses {
    type Output = WordSenses;

    fn bitor(self, other: WordSenses) -> WordSenses {
        WordSenses(self.0 | other.0)
    }
}

pub const STRONG: WordSenses = WordSenses(1);
pub const WEAK: WordSenses = WordSenses(1 << 1);
pub const AS: WordSenses = WordSenses(1 << 2);
pub const JUDGE: WordSenses = WordSenses(1 << 3);
pub const DONE: WordSenses = WordSenses(1 << 4);
pub const CHANGE: WordSenses = WordSenses(1 << 5);
pub const USER: WordSenses = WordSenses(1 << 6);
pub const BOTH: WordSenses = WordSenses(1 << 7);
pub const KEY: WordSenses = WordSenses(1 << 8);
pub const PHRASE: WordSenses = WordSenses(1 << 9);
pub const CODE: WordSenses = WordSenses(1 << 10);
pub const PIN: WordSenses = WordSenses(1 << 11);
pub const OPENS: WordSenses = WordSenses(1 << 12);
pub const NOT: WordSenses = WordSenses(1 << 13);
pub const COUNTED: WordSenses = WordSenses(1 << 14);
/// The name of something that has a number in its name.
pub const NUMBERED: WordSenses = WordSenses(1 << 15);

/// Longest word that is looked up, in bytes.
const MAX_WORD: usize = 40;

/// FNV-1a: the words are ours, so nobody can make them collide.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

type WordTable = HashMap<Vec<u8>, WordSenses, BuildHasherDefault<Fnv>>;

static WORDS: LazyLock<WordTable> = LazyLock::new(|| {
    let file: BTreeMap<String, BTreeMap<String, Vec<String>>> = read_own(SAID);
    let mut words = WordTable::default();
    for (list, entries) in file.into_values().flatten() {
        let bits = WordSenses::LISTS
            .iter()
            .find(|(name, _)| *name == list)
            .map_or_else(
                || if list == "counted" { COUNTED } else { NUMBERED },
                |(_, bits)| *bits,
            );
        for word in entries {
            let says = words.entry(word.into_bytes()).or_default();
            says.0 |= bits.0;
        }
    }
    words
});

/// What a word says, in capitals or small letters.
pub fn says(word: &str) -> WordSenses {
    if word.is_empty() || word.len() > MAX_WORD {
        return WordSenses::default();
    }
    if !word.is_ascii() {
        return WORDS
            .get(word.to_lowercase().as_bytes())
            .copied()
            .unwrap_or_default();
    }
    let mut lower = [0; MAX_WORD];
    let lower = &mut lower[..word.len()];
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    WORDS.get(&*lower).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_of_the_file_is_known_and_in_lower_case() {
        let file: BTreeMap<String, BTreeMap<String, Vec<String>>> = read_own(SAID);
        for (name, words) in file.values().flatten() {
            let known = WordSenses::LISTS.iter().any(|(list, _)| list == name);
            assert!(known || name == "counted" || name == "numbered", "{name}");
            let mut once = words.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), words.len(), "{name}");
            for word in words {
                assert_eq!(*word, word.to_lowercase(), "{name}");
                assert!(word.len() <= MAX_WORD, "{word}");
            }
        }
        for language in ["en", "de", "fr", "es", "pl"] {
            assert!(
                file[language].len() >= 15,
                "{language}: {}",
                file[language].len()
            );
        }
        assert!(says("Lautet").any(STRONG) && says("PUK").any(PIN) && !says("lamp").any(STRONG));
    }
}
