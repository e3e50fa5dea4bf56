//! The one integration test binary.

#![allow(clippy::unwrap_used)]

mod anchor;
mod anchored;
mod at_hand;
mod auth;
mod backup;
mod bitcoind;
mod by_hand;
mod cli;
mod concurrency;
mod doctor;
mod esplora_server;
mod faults;
mod floors;
mod hand;
mod headers;
mod headers_file;
mod hooks;
mod journey;
mod keys;
mod ledger;
mod llama;
mod log;
mod log_rules;
mod manners;
mod model_choice;
mod model_server;
mod models;
mod node;
mod person;
mod pipeline;
mod private;
mod quorum;
mod readme;
mod recorder;
mod replay;
mod rotation;
mod second;
mod store;
mod tamper;
mod tamper_database;
mod vectors;
mod verify;
mod wires;
mod written_log;
