//! Tokens by themselves: what they are made of, and from which context on each is a password.

pub(in crate::govern::sanitize) mod password;
pub(in crate::govern::sanitize) mod shape;
