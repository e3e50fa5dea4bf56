//! The one way to print a view in place of words, or beside them, where the words go to standard
//! error line by line.
//!
//! Text on standard output is printed by `present` and those beside it.

use serde::Serialize;

use crate::cli::print_view;

/// Prints the view with `--json`, else says it in words; whichever it was gives the exit code.
pub(in crate::cli) fn view_or_words<V: Serialize>(
    json: bool,
    view: impl FnOnce() -> V,
    words: impl FnOnce() -> u8,
) -> u8 {
    if json { print_view(&view()) } else { words() }
}

/// Prints the view with `--json`, and nothing else; words follow on standard error either way.
pub(in crate::cli) fn view_before_words<V: Serialize>(json: bool, view: impl FnOnce() -> V) {
    if json {
        print_view(&view());
    }
}
