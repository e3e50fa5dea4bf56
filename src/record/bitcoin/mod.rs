//! Bitcoin blocks and headers: what a block proves of a time (format, sections 4 and 8).

pub mod block;
pub mod epochs;
pub mod fit;
pub mod header;
pub mod headers;
