//! The one integration test binary.

mod verify;
