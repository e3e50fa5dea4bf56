//! The one integration test binary.

#![allow(clippy::unwrap_used)]

mod anchor;
mod bitcoind;
mod esplora_server;
mod floors;
mod headers;
mod headers_file;
mod keys;
mod ledger;
mod llama;
mod log;
mod log_rules;
mod model_choice;
mod model_server;
mod models;
mod pipeline;
mod replay;
mod tamper;
mod tamper_database;
mod vectors;
mod verify;
mod wires;
mod written_log;
