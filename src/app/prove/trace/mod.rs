//! Traces for those who may not see the texts: showing, exporting and checking them, and the key that
//! signs them.

pub mod export;
pub mod key;
mod own;
pub mod select;
pub mod show;
pub mod verify;
