//! `replay`: answers that are on record, given again.
//!
//! The answer is the stored one, secrets removed, of the newest answered exchange with the same
//! compiled prompt, else with the same words of the user; or of one exchange that is named.
//! Compiled prompts hold times and what was seen, so the words are the usual way. Replays of
//! replays are not looked for, and the id on record is `replay`: it never stands for the model
//! whose words it repeats.

use std::sync::Mutex;

use uuid::Uuid;

use crate::record::hash::Hash32;

use super::ModelFault;

/// The model's id as it is recorded.
pub const ID: &str = "replay";

/// An answer on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The exchange it is of.
    pub exchange: Uuid,
    /// The model that gave it.
    pub model: String,
    /// When, as a person reads it.
    pub at: String,
    /// The stored answer.
    pub text: String,
}

/// How the record is searched: compiled prompt's digest, then the user's words; an error in the
/// store's words.
pub type AnswerLookup = dyn Fn(Hash32, &str) -> Result<Option<StoredAnswer>, String>;

/// Recorded answers, given again.
pub struct ReplayModel {
    find: Box<AnswerLookup>,
    wanted: String,
    told: Mutex<Option<StoredAnswer>>,
}

impl ReplayModel {
    /// Over a search; `wanted` is what is said when it finds nothing, as in "an answer to these
    /// words".
    pub fn new(wanted: impl Into<String>, find: Box<AnswerLookup>) -> Self {
        ReplayModel {
            find,
            wanted: wanted.into(),
            told: Mutex::new(None),
        }
    }

    /// Looks it up.
    pub(super) fn answer(&self, prompt: Hash32, words: &str) -> Result<String, ModelFault> {
        let none = |detail: String| ModelFault::NoRecording { detail };
        let found = (self.find)(prompt, words).map_err(none)?;
        let recording = found.ok_or_else(|| none(format!("{} is not on record", self.wanted)))?;
        let text = recording.text.clone();
        *self
            .told
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(recording);
        Ok(text)
    }

    /// Whose answer was given.
    pub(super) fn source(&self) -> Option<String> {
        let told = self
            .told
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        told.as_ref()
            .map(|r| format!("replay of exchange {} ({}, {})", r.exchange, r.model, r.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_given_and_named() {
        let recording = StoredAnswer {
            exchange: Uuid::from_u128(5),
            model: "openai/m".into(),
            at: "2026-01-02T03:04:05Z".into(),
            text: "Paris.".into(),
        };
        let known = recording.clone();
        let find = move |prompt: Hash32, words: &str| match words {
            "broken" => Err("the disk is gone".to_owned()),
            _ => Ok((words == "capital?" || prompt == Hash32::digest(b"p")).then(|| known.clone())),
        };
        let replay = ReplayModel::new("an answer to these words", Box::new(find));
        assert_eq!(replay.source(), None);
        assert_eq!(replay.answer(Hash32::ZERO, "capital?").unwrap(), "Paris.");
        let source = replay.source().unwrap();
        assert!(
            source.contains("00000000-0000-0000-0000-000000000005 (openai/m, 2026-01-02"),
            "{source}"
        );
        assert_eq!(
            replay.answer(Hash32::digest(b"p"), "other").unwrap(),
            "Paris."
        );
        for (words, said) in [
            ("other", "these words is not on record"),
            ("broken", "the disk is gone"),
        ] {
            let fault = replay.answer(Hash32::ZERO, words).unwrap_err();
            assert_eq!(fault.reason(), "no_recording");
            assert!(fault.to_string().contains(said), "{fault}");
        }
    }
}
