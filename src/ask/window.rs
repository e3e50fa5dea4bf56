//! Whether a prompt fits into its model's window, and what has to stay out of it if it does not.
//!
//! A server that gets more than its model takes cuts the beginning off without a word, or refuses
//! it. So earlier turns get what question, bundle and answer leave of the window, whole turns and
//! the newest first; a question that is too long by itself goes to nobody. A token is counted as
//! four bytes, as everywhere.

use crate::continuity::compile::{CompileFault, ContextBundle, tokens};
use crate::continuity::prompt::CompiledPrompt;
use crate::models::Model;

/// Kept free for an answer that nobody gave a length to: a long one.
const ANSWER: u64 = 1024;
/// At most this part of a window is kept free for it.
const PART: u64 = 4;

/// How a prompt and a window fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFit {
    /// All of it.
    Fits,
    /// If earlier turns have no more than so many tokens.
    Within(u64),
}

/// A prompt's parts, in tokens.
#[derive(Clone, Copy, Debug)]
struct WindowShares {
    /// What is sent in any case.
    fixed: u64,
    /// Tokens of the earlier turns.
    turns: u64,
    /// Kept free for the answer.
    answer: u64,
}

/// How a compiled prompt fits into its model's window; all of it does where nobody knows how large
/// that is. `room` is what earlier turns were given already.
pub fn fit(
    model: &Model,
    compiled: &CompiledPrompt,
    bundle: &ContextBundle,
    room: Option<u64>,
) -> Result<WindowFit, CompileFault> {
    let Some(window) = model.window() else {
        return Ok(WindowFit::Fits);
    };
    let turns: u64 = bundle
        .spoken()
        .iter()
        .map(|one| tokens(one.text.len()))
        .sum();
    let sent = compiled.tokens();
    let fixed = sent.own.saturating_add(sent.added).saturating_sub(turns);
    let answer = answer_of(model, window);
    let parts = WindowShares {
        fixed,
        turns,
        answer,
    };
    within(window, parts, room).ok_or_else(|| CompileFault::Window {
        question: sent.own,
        beside: fixed.saturating_sub(sent.own),
        model: model.id().to_owned(),
        window,
    })
}

/// Tokens that are kept free for the answer.
fn answer_of(model: &Model, window: u64) -> u64 {
    model.most_of_answer().unwrap_or(ANSWER.min(window / PART))
}

/// How many tokens the server of a model has to be told to take for a prompt and its answer; none
/// where it takes them by itself, or where nobody knows how many the model can take.
pub fn to_ask_for(model: &Model, compiled: &CompiledPrompt) -> Option<u64> {
    let (most, by_itself) = (model.window()?, model.window_by_itself()?);
    let sent = compiled.tokens();
    let prompt = sent.own.saturating_add(sent.added);
    larger_window(most, by_itself, prompt, answer_of(model, most))
}

/// A server loads its model again for another window, so there are few: powers of two.
fn larger_window(most: u64, by_itself: u64, prompt: u64, answer: u64) -> Option<u64> {
    // Many texts have more tokens than one for four bytes.
    let prompt = prompt.saturating_add(prompt / 2);
    let needed = prompt.saturating_add(answer);
    if needed <= by_itself || most <= by_itself {
        return None;
    }
    let window = needed.checked_next_power_of_two().unwrap_or(most);
    Some(window.min(most))
}

/// None for what is too long even without earlier turns.
fn within(window: u64, parts: WindowShares, room: Option<u64>) -> Option<WindowFit> {
    let WindowShares {
        fixed,
        turns,
        answer,
    } = parts;
    if fixed > window {
        return None;
    }
    let left = window.saturating_sub(fixed.saturating_add(answer));
    // What was narrowed once is not widened, so this comes to an end.
    let fits = turns <= left || room.is_some_and(|known| known <= left);
    Some(match fits {
        true => WindowFit::Fits,
        false => WindowFit::Within(left),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_of_what_it_does_not_take_by_itself() {
        for (most, by_itself, prompt, expected) in [
            (131_072, 2048, 600, None),
            (131_072, 2048, 699, None),
            (131_072, 2048, 700, Some(4096)),
            (131_072, 8192, 4000, None),
            (131_072, 2048, 2000, Some(4096)),
            (131_072, 2048, 10_000, Some(16_384)),
            // No more than the model can take, and nothing where that is what its server takes.
            (6000, 2048, 5000, Some(6000)),
            (2048, 2048, 5000, None),
            (2000, 2048, 5000, None),
            (131_072, 2048, u64::MAX, Some(131_072)),
        ] {
            let found = larger_window(most, by_itself, prompt, 999);
            assert_eq!(found, expected, "{most}, {by_itself}, {prompt}");
        }
    }

    #[test]
    fn earlier_turns_get_what_is_left() {
        let parts = |fixed, turns| WindowShares {
            fixed,
            turns,
            answer: 100,
        };
        for (fixed, turns, room, expected) in [
            (50, 850, None, Some(WindowFit::Fits)),
            (50, 851, None, Some(WindowFit::Within(850))),
            (50, 851, Some(850), Some(WindowFit::Fits)),
            (60, 851, Some(850), Some(WindowFit::Within(840))),
            (900, 0, None, Some(WindowFit::Fits)),
            (950, 1, None, Some(WindowFit::Within(0))),
            // The answer gets what is left, then.
            (1000, 0, None, Some(WindowFit::Fits)),
            (1001, 0, None, None),
            (u64::MAX, u64::MAX, None, None),
        ] {
            let found = within(1000, parts(fixed, turns), room);
            assert_eq!(found, expected, "{fixed}, {turns}, {room:?}");
        }
    }
}
