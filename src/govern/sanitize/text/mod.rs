//! How a text is read: in which spellings, in how many passes, and where a finding is in the original.

pub mod markup;
pub mod normalize;
pub mod passes;
pub mod span;
pub mod statistics;
pub mod view;
pub mod work;
