//! Secrets that are said in sentences: passwords, codes and logins, in several languages.

pub mod codes;
pub mod credentials;
pub mod lexicon;
pub mod passwords;
pub mod sentences;
pub mod strong_cues;
pub mod words;
