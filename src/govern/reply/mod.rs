//! What a reply claims, refuses or states, held against what its model was shown (AEGIS 9).

pub(in crate::govern) mod arithmetic;
pub(in crate::govern) mod claims;
pub(in crate::govern) mod completeness;
pub(in crate::govern) mod dates;
pub mod found_on;
pub(in crate::govern) mod languages;
pub mod output;
mod phrase_pattern;
pub(in crate::govern) mod refusal;
pub(in crate::govern) mod refusal_families;
mod rejected;
mod reply_words;
mod review_prose;
pub(in crate::govern) mod sentences;
pub(in crate::govern) mod side_effects;
pub(in crate::govern) mod sight_figures;
pub(in crate::govern) mod sources;
pub(in crate::govern) mod substrings;
pub mod validate;
pub mod warning_words;
