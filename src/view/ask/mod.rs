//! What one asks and is told.

pub mod turn;
pub mod unrecorded;
pub mod warning;
