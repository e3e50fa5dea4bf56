//! Can it be trusted: checks of ledger, log, anchors and database.

pub mod report;
