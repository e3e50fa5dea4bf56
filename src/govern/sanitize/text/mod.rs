//! How a text is read: in which spellings, in how many passes, and where a finding is in the original.

pub(in crate::govern::sanitize) mod markup;
pub(in crate::govern::sanitize) mod normalize;
pub(in crate::govern::sanitize) mod passes;
pub(in crate::govern::sanitize) mod span;
pub(in crate::govern::sanitize) mod statistics;
pub(in crate::govern::sanitize) mod view;
pub(in crate::govern::sanitize) mod work;
