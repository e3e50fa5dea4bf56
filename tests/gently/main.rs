//! The one integration test binary.
mod anchor;
mod bitcoind;
mod esplora_server;
mod headers;
mod headers_file;
