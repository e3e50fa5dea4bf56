//! The shapes of secrets: one rule a kind.
