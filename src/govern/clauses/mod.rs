//! The one reader of clauses: how a text becomes sentences, their parts and words, and what stands
//! where in a clause: who speaks, the verb and its form, what it acts on, what speaks against it.
//!
//! Two ask it, each with a table of forms of its own: [`super::actions`] for what is requested or
//! announced, and [`super::reply::claims`] for what is claimed to be done. Where they need other
//! answers, [`text::SentenceEnds`] and [`lexicon::FunctionWords`] say which.

pub(in crate::govern) mod clause;
pub(in crate::govern) mod lexicon;
pub(in crate::govern) mod quotations;
pub(in crate::govern) mod text;
pub(in crate::govern) mod verbs;
