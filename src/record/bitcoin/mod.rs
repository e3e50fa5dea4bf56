//! Bitcoin blocks and headers: what a block proves of a time (format, sections 5 and 9).

pub mod block;
pub mod epochs;
pub mod fit;
pub mod header;
pub mod headers;
