//! The one integration test binary.

mod pipeline;
