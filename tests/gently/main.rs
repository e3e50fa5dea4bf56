//! The one integration test binary.

mod llama;
mod model_server;
mod models;
