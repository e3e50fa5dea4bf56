//! What only the owner can check: the database against log and ledger, and turns computed again.

pub mod replay;
pub mod rows;
