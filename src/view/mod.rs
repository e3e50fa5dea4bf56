//! What people see of each thing, as plain values: what `--json` prints, and what other doors send.
//!
//! A view says nothing that is not in what it is made of, decides nothing, and asks nobody.

pub mod ask;
pub mod keep;
pub mod look;
pub mod prove;
pub mod remember;
pub mod set_up;
