//! What a home is set up with.

pub mod help;
pub mod home;
pub mod kernel;
pub mod key;
pub mod model;
pub mod sanitized;
pub mod setting;
pub mod specialist;
pub mod specialist_report;
