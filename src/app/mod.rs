//! The desk: what every door asks for, as functions that take an open home and a request, and
//! return a value. Nothing here prints, asks or exits.

pub mod ask;
pub mod find;
pub mod home;
pub mod keep;
pub mod look;
pub mod moment;
pub mod prove;
pub mod redacted;
pub mod remember;
pub mod sentence;
pub mod set_up;
pub mod words;
