//! Traces for those who may not see the texts: showing, exporting and checking them, and the key that
//! signs them.

mod facts;
pub mod key;
pub mod own;
pub mod verify;
