//! Traces: what a turn was, field by field, at three levels, for those who may not see its texts.
//!
//! The format is that of CIRIS (*Covenant Trace Format*), so that its own verifier checks a trace
//! of ours. What is signed, M, is a part of it, one line of printable ASCII:
//!
//! ```text
//! {"components":[{"component_type":"observation","data":{"round_number":1,"thought_depth":0},
//!  "event_type":"THOUGHT_START","timestamp":"2026-02-08T12:34:56Z"},…],"trace_level":"generic"}
//!
//! trace      {"agent_id_hash":…,"completed_at":…,"components":[…],"signature":…,"signature_key_id":…,"started_at":…,
//!             "task_id":…,"thought_id":…,"trace_id":…,"trace_level":…}
//! envelope   {"absent":{…},"committed":…,…,"signature":"-----BEGIN SSH SIGNATURE-----\n…","trace":{…}}
//! ```
//!
//! M is what Python's `json.dumps(…, sort_keys=True, separators=(",",":"))` prints: keys in the order
//! of code points, everything outside printable ASCII escaped, `1.0` with its fraction. A trace
//! stands in files in the same spelling, so that M's parts are found there byte for byte. What M
//! leaves open (ids, times, place in the ledger) is bound by an envelope around it.
//!
//! | file | what |
//! |---|---|
//! | `value.rs`, `read.rs` | the JSON of traces: printed as Python does, and read without losing how a number was meant |
//! | `level.rs` | levels, profiles, and why a field is absent |
//! | `field.rs` | the table of components and fields, and holding a trace against it |
//! | `facts.rs`, `sources.rs` | what a trace is made from; how far apart its sources were |
//! | `ended_turn.rs` | what is on record of an exchange, and which facts follow from it |
//! | `document.rs` | what an exchange document says of the trace of its exchange |
//! | `mapping.rs` | the builders, each by the name of its mapping |
//! | `signed.rs` | M, its signature, traces of anybody |
//! | `envelope.rs` | the envelope, and what it answers by itself |
//! | `file.rs` | batches, and files that hold any of these |
//! | `export.rs` | how the record says that traces were handed on |

pub mod document;
pub mod ended_turn;
pub mod envelope;
pub mod export;
pub mod facts;
pub mod field;
pub mod file;
pub mod level;
pub mod mapping;
pub mod read;
pub mod signed;
pub mod sources;
pub mod value;

#[cfg(test)]
mod tests;
