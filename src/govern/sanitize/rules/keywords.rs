//! Keywords while they are gathered, in the forms that a text may have them in.

use std::collections::HashMap;

use super::triggers::TriggerTask;

/// Keywords while they are gathered: each once, with all that it calls for.
#[derive(Default)]
pub struct KeywordTable {
    index: HashMap<String, usize>,
    pub words: Vec<String>,
    pub actions: Vec<Vec<TriggerTask>>,
}

impl KeywordTable {
    pub fn add(&mut self, word: &str, action: TriggerTask) {
        let at = *self.index.entry(word.to_owned()).or_insert_with(|| {
            self.words.push(word.to_owned());
            self.actions.push(Vec::new());
            self.words.len() - 1
        });
        if !self.actions[at].contains(&action) {
            self.actions[at].push(action);
        }
    }
}

/// A word as it is written: letters outside ASCII have two forms that the search does not know to
/// be one.
pub fn forms(word: &str) -> Vec<String> {
    if word.is_ascii() {
        return vec![word.to_owned()];
    }
    let mut rest = word.chars();
    let first: String = rest
        .next()
        .map(|c| c.to_uppercase().collect())
        .unwrap_or_default();
    let mut forms = vec![
        word.to_owned(),
        format!("{first}{}", rest.as_str()),
        word.to_uppercase(),
    ];
    forms.sort_unstable();
    forms.dedup();
    forms
}
