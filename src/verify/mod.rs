//! Can it be trusted: checks of ledger, log, anchors and database.

mod history;
pub mod report;
