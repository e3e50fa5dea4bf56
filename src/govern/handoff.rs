//! Handoffs: when one is due, what is asked for it, and whether a reply is one.

use crate::record::ledger::handoff::HandoffTrigger;

/// What a model is asked.
pub const INSTRUCTION: &str = include_str!("../../genesis/handoff.txt");
/// Tokens that the reply may have.
pub const MOST_TOKENS: u64 = 900;
/// What a reply has to have.
pub const HEADINGS: [&str; 6] = [
    "GOAL",
    "DECISIONS",
    "STATUS",
    "ACTIVE FILE",
    "PREFERENCES",
    "RESUME",
];
/// Of the model's window, in hundredths, so much is filled when a handoff is due.
const FULL: u64 = 70;
/// So many messages since the newest handoff are too many.
pub const MANY: u64 = 30;
/// So many seconds without a message are long.
pub const LONG: u64 = 24 * 60 * 60;
/// A conversation of fewer messages is short enough to be read.
pub const FEW: u64 = 5;
/// Characters of a token, as it is estimated.
const CHARACTERS: u64 = 4;

/// How many tokens a text of so many characters has, as it is estimated: a fourth.
pub const fn token_estimate(characters: u64) -> u64 {
    characters / CHARACTERS
}

/// What was said in a conversation since its newest handoff, to and by whoever answers in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextPressure {
    /// Tokens of the messages, as they are estimated.
    pub tokens: u64,
    /// How many messages.
    pub messages: u64,
    /// Tokens of the model's window, prompt and answer together; none where nobody knows.
    pub window: Option<u64>,
    /// How long nobody said anything before the question, in seconds; none where nothing was said.
    pub silence: Option<u64>,
    /// How many messages there were before that.
    pub before: u64,
}

impl ContextPressure {
    /// Why a handoff is due, if one is; of several reasons the first.
    pub fn due(&self) -> Option<HandoffTrigger> {
        let is_full =
            |window: u64| u128::from(self.tokens) * 100 >= u128::from(window) * u128::from(FULL);
        if self.window.is_some_and(is_full) {
            return Some(HandoffTrigger::TokenThreshold);
        }
        if self.messages >= MANY {
            return Some(HandoffTrigger::MessageCount);
        }
        let is_long = self.silence.is_some_and(|silence| silence >= LONG);
        (is_long && self.before >= FEW).then_some(HandoffTrigger::TimeGap)
    }
}

/// The headings that a reply lacks. Each begins a line of its own, in capitals; marks of a list or of
/// emphasis may stand around it, and a colon with text behind it.
pub fn missing_headings(reply: &str) -> Vec<&'static str> {
    let found: Vec<&str> = reply.lines().filter_map(heading_of).collect();
    let is_missing = |heading: &&str| !found.contains(heading);
    HEADINGS.into_iter().filter(is_missing).collect()
}

/// The heading that a line is or begins with.
fn heading_of(line: &str) -> Option<&'static str> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | '-' | '.' | ')');
    let words = line.trim_start_matches(|c: char| is_mark(c) || c.is_ascii_digit());
    HEADINGS.into_iter().find(|heading| {
        let behind = words.strip_prefix(heading);
        behind.is_some_and(|behind| {
            let behind = behind.trim_start_matches(['*', '_', ' ']);
            behind.trim_end_matches(is_mark).is_empty() || behind.starts_with(':')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::actions::actuation::{Acts, requested};

    #[test]
    fn what_is_due_comes_in_its_order() {
        let all = ContextPressure {
            tokens: 700,
            messages: 30,
            window: Some(1000),
            silence: Some(LONG),
            before: 5,
        };
        let tokens = ContextPressure { tokens: 699, ..all };
        let messages = ContextPressure {
            messages: 29,
            ..tokens
        };
        for (pressure, expected) in [
            (all, Some(HandoffTrigger::TokenThreshold)),
            (tokens, Some(HandoffTrigger::MessageCount)),
            (messages, Some(HandoffTrigger::TimeGap)),
            // Nobody knows the window.
            (
                ContextPressure {
                    window: None,
                    ..messages
                },
                Some(HandoffTrigger::TimeGap),
            ),
            (
                ContextPressure {
                    before: 4,
                    ..messages
                },
                None,
            ),
            (
                ContextPressure {
                    silence: Some(LONG - 1),
                    ..messages
                },
                None,
            ),
            (
                ContextPressure {
                    silence: None,
                    ..messages
                },
                None,
            ),
            (ContextPressure::default(), None),
            (
                ContextPressure {
                    tokens: u64::MAX,
                    window: Some(u64::MAX),
                    ..messages
                },
                Some(HandoffTrigger::TokenThreshold),
            ),
        ] {
            assert_eq!(pressure.due(), expected, "{pressure:?}");
        }
        assert_eq!([3, 4, 4000].map(token_estimate), [0, 1, 1000]);
    }

    #[test]
    fn a_handoff_has_six_headings() {
        let plain = HEADINGS
            .map(|heading| format!("{heading}\nnone\n"))
            .concat();
        let marked = HEADINGS
            .map(|heading| format!("## **{heading}:** none\n"))
            .concat();
        let numbered = HEADINGS
            .map(|heading| format!("1. {heading}: none\r\n"))
            .concat();
        for reply in [&plain, &marked, &numbered] {
            assert_eq!(missing_headings(reply), Vec::<&str>::new(), "{reply}");
        }
        assert_eq!(missing_headings(""), HEADINGS);
        assert_eq!(
            missing_headings(&plain.replace("RESUME", "Resume").replace("GOAL", "GOALS")),
            ["GOAL", "RESUME"]
        );
        // Words of a sentence are no heading.
        let sentence = "The GOAL is this.\nSTATUS quo ante\nGOAL GOAL\n";
        assert_eq!(missing_headings(sentence), HEADINGS);
        // What is asked for names each of them, and asks for nothing to be done.
        let is_named = |heading| INSTRUCTION.contains(&format!(" \"{heading}\" "));
        assert!(HEADINGS.into_iter().all(is_named), "{INSTRUCTION}");
        assert_eq!(requested(INSTRUCTION), Acts::default());
    }
}
