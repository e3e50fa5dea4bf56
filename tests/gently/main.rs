//! The one integration test binary.

mod floors;
mod vectors;
