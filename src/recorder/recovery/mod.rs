//! The ways back: a lost log or ledger rebuilt, a published ledger adopted, a backup restored.

pub(in crate::recorder) mod adopt;
mod commit_row;
pub(in crate::recorder) mod rebuild;
pub(in crate::recorder) mod restored;
pub(in crate::recorder) mod unsigned;
