//! Opening a home: what it is put together from, its secrets, and what went wrong.

pub mod open;
pub mod open_error;
pub mod secrets;
pub mod store_key;
pub mod unrecorded;
