//! The one integration test binary.

#![allow(clippy::unwrap_used)]

mod floors;
mod keys;
mod ledger;
mod vectors;
mod llama;
mod model_server;
mod models;
mod pipeline;
mod log;
mod log_rules;
mod written_log;
mod anchor;
mod bitcoind;
mod esplora_server;
mod headers;
mod headers_file;
