//! The words in which replies claim deeds, language by language, as `genesis/claims.toml` has them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::languages::LanguageWords;
use super::side_effects::DeedWords;
use crate::govern::word_list::read_own;

const CLAIMS: &str = include_str!(concat!(env!("OUT_DIR"), "/claims.json"));

static CLAIM_WORDS: LazyLock<ClaimWords> = LazyLock::new(|| read_own(CLAIMS));

/// All of them.
pub(super) fn claim_words() -> &'static ClaimWords {
    &CLAIM_WORDS
}

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimWords {
    pub(super) english: DeedWords,
    german: LanguageWords,
    french: LanguageWords,
    spanish: LanguageWords,
    italian: LanguageWords,
}

impl ClaimWords {
    /// The languages beside English.
    pub(super) fn languages(&'static self) -> [&'static LanguageWords; 4] {
        [&self.german, &self.french, &self.spanish, &self.italian]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        assert_eq!(claim_words().languages().len(), 4);
    }
}
