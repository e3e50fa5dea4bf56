//! What a key may hold: the words for it, and whether a text passes.

use super::table::{Kind, MAX_LIST, Rule};

/// No name, path or address is longer.
const MAX_TEXT: usize = 1024;

impl Kind {
    pub(super) fn shows(&self) -> bool {
        match self {
            Kind::Text(rule) | Kind::List(rule) => rule.shows,
            Kind::Choice(_) | Kind::Number(..) => true,
            Kind::Prose(_) => false,
        }
    }

    /// What is accepted, in words.
    pub fn describe(&self) -> String {
        match self {
            Kind::Choice([only]) => format!("\"{only}\" (no other value is implemented)"),
            Kind::Choice(choices) => {
                choices.iter().map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>().join(" or ")
            }
            Kind::Text(rule) => format!("a string: {}", rule.says),
            Kind::Prose(most) => format!("a text of at most {most} bytes, without control characters"),
            Kind::List(rule) => format!("a list of at most {MAX_LIST} strings, each {}", rule.says),
            Kind::Number(least, most) => format!("a whole number from {least} to {most}"),
        }
    }
}

impl Rule {
    pub(super) fn takes(&self, text: &str) -> bool {
        text.len() <= MAX_TEXT && !text.chars().any(char::is_control) && (self.accepts)(text)
    }
}
