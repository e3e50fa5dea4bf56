//! The words by which a reply is held against its question and what its model was shown, as
//! `genesis/replies.toml` has them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::govern::word_list::{WordList, read_own};

const REPLIES: &str = include_str!(concat!(env!("OUT_DIR"), "/replies.json"));

static REPLY_WORDS: LazyLock<ReplyWords> = LazyLock::new(|| read_own(REPLIES));

/// All of them.
pub(super) fn reply_words() -> &'static ReplyWords {
    &REPLY_WORDS
}

/// What the file holds; each list is explained there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyWords {
    pub(super) here: WordList,
    pub(super) being: WordList,
    /// In their order: the first is nought.
    pub(super) counts: Vec<String>,
    pub(super) labels: WordList,
    pub(super) unended: WordList,
    pub(super) against: WordList,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let words = reply_words();
        assert!(words.here.has("right now") && words.being.has("healthy"));
        assert!(words.labels.has("#") && words.unended.has("j'ai"));
        assert_eq!(words.counts.iter().position(|word| word == "ten"), Some(10));
    }
}
