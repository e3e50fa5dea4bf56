//! The one integration test binary.
mod anchor;
mod esplora_server;
mod headers;
