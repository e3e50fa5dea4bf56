//! Tokens by themselves: what they are made of, of what kind they are, and from which context on
//! each is a secret.

pub mod kind;
mod measure;
mod resemblance;
pub mod shape;
pub mod table;
