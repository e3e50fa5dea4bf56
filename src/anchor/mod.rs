//! When: block sources, and how they agree.

pub mod agree;
pub mod esplora;
pub mod headers_file;
