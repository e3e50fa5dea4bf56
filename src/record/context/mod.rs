//! Deterministic context: what was declared, resolved and decided, as documents that anybody hashes
//! again.
//!
//! The digests are those of the DBL context system: SHA-256 over canonical JSON with keys sorted by
//! code point, no spaces, everything outside printable ASCII escaped, and whole numbers only;
//! spelled `sha256:` and 64 digits. They are made from texts, so they stand in the private
//! database, and in the exchange document as commitments.

pub mod block;
pub mod config;
pub mod event;
pub mod json;
pub mod spec;
pub mod turn;
