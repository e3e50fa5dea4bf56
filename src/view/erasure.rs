//! Texts that were erased.

use serde::Serialize;
use uuid::Uuid;

use crate::recorder::ErasureResult;

/// What an erasure came to.
#[derive(Clone, Debug, Serialize)]
pub struct ErasureView {
    /// Exchanges whose texts are gone.
    pub exchanges: Vec<Uuid>,
    /// Artifacts and names of threads that are gone.
    pub artifacts: Vec<String>,
    /// Exchanges whose prompts quoted them, and are gone with them.
    pub contexts: Vec<Uuid>,
    /// Whether anything was erased.
    pub erased: bool,
    /// Whether no copy stands in the database's own log.
    pub scrubbed: bool,
}

impl ErasureView {
    /// Of a result.
    pub fn of(result: &ErasureResult) -> Self {
        ErasureView {
            exchanges: result.exchanges.clone(),
            artifacts: result.artifacts.clone(),
            contexts: result.contexts.clone(),
            erased: !(result.exchanges.is_empty() && result.artifacts.is_empty()),
            scrubbed: result.scrubbed,
        }
    }
}
