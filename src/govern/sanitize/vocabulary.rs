//! The words and lengths by which secrets are told from other text, as `genesis/cues.toml` has
//! them: each list is explained there.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::govern::word_list::{PieceList, WordList, read_own};

const CUES: &str = include_str!(concat!(env!("OUT_DIR"), "/cues.json"));

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| read_own(CUES));

/// All of it.
pub fn vocabulary() -> &'static Vocabulary {
    &VOCABULARY
}

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vocabulary {
    pub called: SecretWords,
    pub names: NameWords,
    pub values: ValueWords,
    pub sentences: SentenceWords,
    pub triggers: TriggerWords,
    pub markup: MarkupWords,
    pub lengths: TokenLengths,
    pub wordiness: WordShares,
}

/// Words that call the value behind them secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretWords {
    pub password: WordList,
    pub short_password: WordList,
    pub token: WordList,
    pub key: WordList,
    pub weak: WordList,
    pub cue: WordList,
}

/// Parts of names of fields, variables and columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameWords {
    pub about: WordList,
    pub public: WordList,
    pub setters: PieceList,
    pub secret: WordList,
    pub called_public: WordList,
    pub owners: PieceList,
    pub otherwise: PieceList,
}

/// Marks inside of a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkupWords {
    pub tags: WordList,
    pub bracketed: WordList,
    pub unseen: PieceList,
}

/// What a value may be instead of a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueWords {
    pub stand_ins: WordList,
    pub stand_in_starts: WordList,
    pub common: WordList,
    pub common_endings: WordList,
    pub algorithms: WordList,
    pub methods: WordList,
    pub method_starts: WordList,
    pub licences: WordList,
    pub file_endings: WordList,
    pub archive_endings: PieceList,
    pub build_endings: PieceList,
    pub public_starts: PieceList,
    pub public_tokens: PieceList,
    pub public_tokens_with_small_letters: PieceList,
    pub harmless_before: WordList,
    pub objects: WordList,
    pub digest_starts: WordList,
    pub code_parts: Vec<String>,
    pub expression_parts: Vec<String>,
}

/// Words around a password in a sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentenceWords {
    pub verbs: WordList,
    pub setters: WordList,
    pub weak_verbs: WordList,
    pub demands: WordList,
    pub fillers: WordList,
    pub particles: PieceList,
    pub articles: WordList,
    pub links: WordList,
    pub judged: WordList,
    pub given: WordList,
    pub used_before: WordList,
    pub direct: WordList,
    pub direct_before: WordList,
    pub users: WordList,
    pub user_endings: WordList,
    pub asks: Vec<String>,
    pub sets: Vec<String>,
    pub aims: WordList,
    pub with: WordList,
    pub between: PieceList,
    pub joins: Vec<String>,
    pub opens: WordList,
    pub examples: WordList,
    pub tickets: WordList,
    pub password_words: WordList,
    pub password_stems: WordList,
    pub password_endings: WordList,
    pub foreign_stems: WordList,
    pub owned: WordList,
}

/// What is looked for where a word stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerWords {
    pub blocks: Vec<String>,
    pub addresses: Vec<String>,
    pub bearer: Vec<String>,
    pub basic: Vec<String>,
    pub authorization: Vec<String>,
    pub user_flags: Vec<String>,
    pub pairs: Vec<String>,
    pub logins: Vec<String>,
    pub purposes: Vec<String>,
    pub codes: Vec<String>,
    pub told_codes: Vec<String>,
    pub pins: Vec<String>,
    pub accounts: Vec<String>,
    pub joined: Vec<String>,
    pub mail: Vec<String>,
    pub password_sentences: Vec<String>,
    pub network_sentences: Vec<String>,
    pub login_sentences: Vec<String>,
    pub opens: Vec<String>,
}

/// Lengths of what is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenLengths {
    pub password: usize,
    pub made_up: usize,
    pub phrase: RangeInclusive<usize>,
    pub disordered: RangeInclusive<usize>,
    pub encoded: RangeInclusive<usize>,
}

/// Shares of a token, in hundredths, that stand in words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordShares {
    pub mixed: usize,
    pub word: usize,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    /// What is no [`WordList`], because case counts in it, has no word twice either.
    #[test]
    fn the_file_is_read_and_no_list_has_a_word_twice() {
        let file: BTreeMap<String, Value> = read_own(CUES);
        let lists = file.values().filter_map(Value::as_object).flatten();
        for (name, words) in lists.filter_map(|(name, list)| Some((name, list.as_array()?))) {
            let mut once: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            once.sort_unstable();
            once.dedup();
            assert!(!once.is_empty() && once.len() == words.len(), "{name}");
        }
        assert!(vocabulary().values.common.has("the"));
    }
}
