//! The ledger: commits, their documents, commitments to texts, and what opens them (format, sections 3, 6 to 8 and 11).

pub mod auth_key;
pub mod bundle;
pub mod bundle_text;
pub mod client_request;
pub mod commit;
pub mod commitment;
pub mod consent;
pub mod content_policy;
pub mod conversation;
pub mod correction;
pub mod documents;
pub mod erased;
pub mod exchange;
pub mod image;
pub mod item;
pub mod measurement_words;
pub mod measures;
pub mod opening;
pub mod params;
pub mod prompt;
pub mod receipt;
pub mod reply;
pub mod request;
pub mod settings;
pub mod short_name;
pub mod specialist;
