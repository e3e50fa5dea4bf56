//! Requests to act: a prompt that wants something done to a machine, a reply that is about to do it
//! (AEGIS 7.1).
//!
//! Nothing here acts, and nothing of gently does: what is found is put on record as an *actuation
//! intent* that awaits a person's approval. Rules of form, and plain: they know imperatives, offers
//! and blocks in the form of tool calls. They miss paraphrase; what they find changes a word on
//! record, and never whether a prompt is answered. Commands that a reply tells the reader to run
//! are the reader's to run, and no intent.

use super::forms::{announced_act, requested_act};
use super::tool_calls::tool_calls;
pub use crate::govern::clauses::lexicon::ActClass;
use crate::govern::clauses::text::{SentenceEnds, order_words, own_prose, sentences};
use crate::govern::sanitize::unmasked_text;
use crate::record::attached::without_files;

/// One wish to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// What kind of act.
    pub class: ActClass,
    /// The sentence, on one line, of at most 160 characters.
    pub what: String,
}

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acts {
    /// The first of them, at most [`MAX_ACTS`].
    pub acts: Vec<Act>,
    /// How many there are beyond those.
    pub more: usize,
}

/// How many intents one text can put on record: a text of a thousand orders is one nuisance, and
/// not a thousand.
pub const MAX_ACTS: usize = 4;
/// Longest excerpt, in characters.
const MAX_WHAT: usize = 160;

impl Acts {
    fn add(&mut self, class: ActClass, sentence: &str) {
        if self.acts.len() == MAX_ACTS {
            self.more += 1;
            return;
        }
        let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        self.acts.push(Act {
            class,
            what: line.chars().take(MAX_WHAT).collect(),
        });
    }

    /// Adds the sentences of a text that are an act.
    fn add_sentences(&mut self, text: &str, act: fn(&[String]) -> Option<ActClass>) {
        let own = own_prose(&unmasked_text(text));
        for sentence in sentences(&own, SentenceEnds::Asked) {
            if let Some(class) = act(&order_words(sentence)) {
                self.add(class, sentence);
            }
        }
    }
}

/// What a prompt asks to have done. Questions, quotations and wishes for a text are no requests;
/// neither is what stands in the files behind it.
pub fn requested(prompt: &str) -> Acts {
    requested_anywhere(without_files(prompt))
}

/// The same with the words of its files: how prompts were read before.
pub fn requested_anywhere(prompt: &str) -> Acts {
    let mut found = Acts::default();
    found.add_sentences(prompt, requested_act);
    found
}

/// What a reply announces or offers to do, and every block in the form of a tool call.
pub fn proposed(reply: &str) -> Acts {
    let mut found = Acts::default();
    for block in tool_calls(reply) {
        found.add(ActClass::ToolCall, block);
    }
    found.add_sentences(reply, announced_act);
    found
}

#[cfg(test)]
#[path = "actuation_tests.rs"]
mod tests;
