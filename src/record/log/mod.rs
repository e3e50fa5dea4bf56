//! The log: its lines, their events, and what the lines must be to each other (format, sections 4 and 5).

pub mod chain;
pub(in crate::record) mod details;
pub mod end;
pub mod entry;
pub(in crate::record) mod event;
pub(in crate::record) mod lifecycle;
pub mod page_cursor;
pub mod resume;
pub mod rules;
pub(in crate::record) mod violation;
