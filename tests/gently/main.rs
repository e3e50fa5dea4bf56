//! The one integration test binary.

#![allow(clippy::unwrap_used)]

mod ledger;
mod floors;
mod vectors;
