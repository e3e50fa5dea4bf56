//! What one asks and is told.

pub mod council;
pub mod turn;
pub mod unrecorded;
pub mod warning;
