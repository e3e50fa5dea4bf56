//! How much text was looked at: what the tests hold to be linear, on any machine at any load.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Notes that so many bytes were looked at.
pub fn count(bytes: usize) {
    STEPS.with(|steps| steps.set(steps.get().wrapping_add(bytes as u64)));
}

/// Bytes that this thread has looked at so far, each as often as it was looked at.
///
/// A search is counted with the text it was given up to its hit; what a look at one place costs is
/// counted by the longest text it may read.
pub fn steps() -> u64 {
    STEPS.with(Cell::get)
}
