//! Secrets that are said in sentences: passwords, codes and logins, in several languages.

pub(in crate::govern::sanitize) mod chat;
pub(in crate::govern::sanitize) mod codes;
pub(in crate::govern::sanitize) mod lexicon;
pub(in crate::govern::sanitize) mod logins;
pub(in crate::govern::sanitize) mod passwords;
pub(in crate::govern::sanitize) mod strong_cues;
pub(in crate::govern::sanitize) mod words;
