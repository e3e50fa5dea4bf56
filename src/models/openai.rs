//! (coming in this branch)

/// Bytes of a model's name: longer than any provider's, short enough for a log line.
pub const MAX_NAME: usize = 200;
