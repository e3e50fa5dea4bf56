//! What would be done: what `--dry-run` prints, and what stands before the question whether it may
//! be done.

use serde::Serialize;

/// A plan, in words and as values.
#[derive(Clone, Debug, Serialize)]
pub struct PlanView<D> {
    /// Always true: nothing was done.
    pub dry_run: bool,
    /// Whether it is asked before it is done.
    pub asks: bool,
    /// What is done, a sentence each.
    pub would: Vec<String>,
    /// The same as values.
    #[serde(flatten)]
    pub details: D,
}

impl<D> PlanView<D> {
    /// A plan that is done without a question where it does nothing that can't be undone.
    pub fn new(asks: bool, would: Vec<String>, details: D) -> Self {
        PlanView {
            dry_run: true,
            asks,
            would,
            details,
        }
    }
}
