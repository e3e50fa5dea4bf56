//! The one integration test binary.

#![allow(clippy::unwrap_used)]

mod floors;
mod keys;
mod ledger;
mod vectors;
