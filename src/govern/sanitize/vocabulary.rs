//! The words and lengths by which secrets are told from other text, as `genesis/cues.toml` has
//! them: each list is explained there.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::govern::word_list::{WordList, read_own};

const CUES: &str = include_str!("../../../genesis/cues.toml");

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| read_own(CUES));

/// All of it.
pub(super) fn vocabulary() -> &'static Vocabulary {
    &VOCABULARY
}

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vocabulary {
    pub(super) called: SecretWords,
    pub(super) names: NameWords,
    pub(super) values: ValueWords,
    pub(super) sentences: SentenceWords,
    pub(super) triggers: TriggerWords,
    pub(super) markup: MarkupWords,
    pub(super) lengths: TokenLengths,
    pub(super) wordiness: WordShares,
}

/// Words that call the value behind them secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretWords {
    pub(super) password: WordList,
    pub(super) short_password: WordList,
    pub(super) token: WordList,
    pub(super) key: WordList,
    pub(super) weak: WordList,
    pub(super) cue: WordList,
}

/// Parts of names of fields, variables and columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameWords {
    pub(super) about: WordList,
    pub(super) public: WordList,
    pub(super) setters: Vec<String>,
    pub(super) secret: WordList,
    pub(super) called_public: WordList,
    pub(super) owners: Vec<String>,
    pub(super) otherwise: Vec<String>,
}

/// Marks inside of a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkupWords {
    pub(super) tags: WordList,
    pub(super) bracketed: WordList,
    pub(super) unseen: Vec<String>,
}

/// What a value may be instead of a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueWords {
    pub(super) stand_ins: WordList,
    pub(super) stand_in_starts: WordList,
    pub(super) common: WordList,
    pub(super) common_endings: WordList,
    pub(super) algorithms: WordList,
    pub(super) methods: WordList,
    pub(super) method_starts: WordList,
    pub(super) licences: WordList,
    pub(super) file_endings: WordList,
    pub(super) archive_endings: Vec<String>,
    pub(super) build_endings: Vec<String>,
    pub(super) public_starts: Vec<String>,
    pub(super) public_tokens: Vec<String>,
    pub(super) public_tokens_with_small_letters: Vec<String>,
    pub(super) harmless_before: WordList,
    pub(super) objects: WordList,
    pub(super) digest_starts: WordList,
    pub(super) code_parts: Vec<String>,
    pub(super) expression_parts: Vec<String>,
}

/// Words around a password in a sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SentenceWords {
    pub(super) verbs: WordList,
    pub(super) setters: WordList,
    pub(super) weak_verbs: WordList,
    pub(super) demands: WordList,
    pub(super) fillers: WordList,
    pub(super) particles: Vec<String>,
    pub(super) articles: WordList,
    pub(super) links: WordList,
    pub(super) judged: WordList,
    pub(super) given: WordList,
    pub(super) used_before: WordList,
    pub(super) direct: WordList,
    pub(super) direct_before: WordList,
    pub(super) users: WordList,
    pub(super) user_endings: WordList,
    pub(super) asks: Vec<String>,
    pub(super) sets: Vec<String>,
    pub(super) with: WordList,
    pub(super) between: Vec<String>,
    pub(super) joins: Vec<String>,
    pub(super) opens: WordList,
    pub(super) examples: WordList,
    pub(super) tickets: WordList,
    pub(super) password_words: WordList,
    pub(super) password_stems: WordList,
    pub(super) password_endings: WordList,
    pub(super) foreign_stems: WordList,
    pub(super) owned: WordList,
}

/// What is looked for where a word stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TriggerWords {
    pub(super) blocks: Vec<String>,
    pub(super) addresses: Vec<String>,
    pub(super) bearer: Vec<String>,
    pub(super) basic: Vec<String>,
    pub(super) authorization: Vec<String>,
    pub(super) user_flags: Vec<String>,
    pub(super) pairs: Vec<String>,
    pub(super) logins: Vec<String>,
    pub(super) purposes: Vec<String>,
    pub(super) codes: Vec<String>,
    pub(super) told_codes: Vec<String>,
    pub(super) pins: Vec<String>,
    pub(super) accounts: Vec<String>,
    pub(super) joined: Vec<String>,
    pub(super) mail: Vec<String>,
    pub(super) password_sentences: Vec<String>,
    pub(super) network_sentences: Vec<String>,
    pub(super) login_sentences: Vec<String>,
    pub(super) opens: Vec<String>,
}

/// Lengths of what is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenLengths {
    pub(super) password: usize,
    pub(super) made_up: usize,
    pub(super) phrase: RangeInclusive<usize>,
    pub(super) disordered: RangeInclusive<usize>,
    pub(super) encoded: RangeInclusive<usize>,
}

/// Shares of a token, in hundredths, that stand in words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordShares {
    pub(super) mixed: usize,
    pub(super) word: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is no [`WordList`], because case counts in it, has no word twice either.
    #[test]
    fn the_file_is_read_and_no_list_has_a_word_twice() {
        let file: toml::Table = CUES.parse().unwrap();
        let lists = file.values().filter_map(toml::Value::as_table).flatten();
        for (name, words) in lists.filter_map(|(name, list)| Some((name, list.as_array()?))) {
            let mut once: Vec<&str> = words.iter().filter_map(toml::Value::as_str).collect();
            once.sort_unstable();
            once.dedup();
            assert!(!once.is_empty() && once.len() == words.len(), "{name}");
        }
        assert!(vocabulary().values.common.has("the"));
    }
}
