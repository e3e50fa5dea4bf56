//! How the record says that settings changed.
//!
//! | kind | id | content |
//! |---|---|---|
//! | `config_reload` | `config_reload-HASH16` of the head before it | `changed`, the names of keys, and `digest`, of all settings that count |
//!
//! No value stands in it. A setting is known by its tag, HMAC-SHA-256 of its name and value under a
//! key that never leaves the home's database, and `digest` is SHA-256 of the canonical JSON of all
//! tags with SHA-256 of that key: who has no key can't try values until one fits.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::commitment::commit_with_key;
use super::exchange::ArtifactDoc;
use crate::record::canon::{self, CanonError};
use crate::record::hash::Hash32;

/// The kind of the artifact that says that settings changed.
pub const CONFIG_RELOAD: &str = "config_reload";

/// What is known of settings without their values: a tag of each, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingTags(pub BTreeMap<String, Hash32>);

impl SettingTags {
    /// The tags of settings under a home's key.
    pub fn of(settings: &BTreeMap<&'static str, String>, key: Hash32) -> SettingTags {
        let tag = |(name, value): (&&'static str, &String)| {
            let text = format!("{name}={value}");
            ((*name).to_owned(), commit_with_key(key, text.as_bytes()))
        };
        SettingTags(settings.iter().map(tag).collect())
    }

    /// What an artifact names them by.
    pub fn digest(&self, key: Hash32) -> Result<Hash32, CanonError> {
        #[derive(Serialize)]
        struct Digested<'a> {
            key: Hash32,
            tags: &'a BTreeMap<String, Hash32>,
        }
        canon::digest(&Digested {
            key: Hash32::digest(key.as_bytes()),
            tags: &self.0,
        })
    }

    /// The names of settings that have another value there, or are in one of both only.
    pub fn changed(&self, other: &SettingTags) -> BTreeSet<String> {
        let names = self.0.keys().chain(other.0.keys());
        let differs = |name: &&String| self.0.get(*name) != other.0.get(*name);
        names.filter(differs).cloned().collect()
    }
}

/// The digest that an artifact's document names; none where it is gone, or names none.
pub fn named_digest(document: Option<&str>) -> Option<Hash32> {
    let document: ArtifactDoc = canon::parse(document?.as_bytes()).ok()?;
    document.content["digest"].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&'static str, &str)], key: u8) -> SettingTags {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        SettingTags::of(&pairs.collect(), Hash32::from_bytes([key; 32]))
    }

    #[test]
    fn names_of_what_is_otherwise() {
        let before = tags(&[("a", "1"), ("b", "2"), ("c", "3")], 7);
        let after = tags(&[("a", "1"), ("b", "3"), ("d", "3")], 7);
        let names: Vec<String> = before.changed(&after).into_iter().collect();
        assert_eq!(names, ["b", "c", "d"]);
        assert!(after.changed(&after).is_empty());
    }

    #[test]
    fn without_the_key_nothing_is_told() {
        let (one, other) = (Hash32::from_bytes([7; 32]), Hash32::from_bytes([8; 32]));
        let settings = [("a", "1"), ("b", "1")];
        let (mine, theirs) = (tags(&settings, 7), tags(&settings, 8));
        assert_eq!(mine.changed(&theirs).len(), 2);
        assert_ne!(mine.0["a"], mine.0["b"], "the name is in it");
        assert_ne!(mine.digest(one).unwrap(), theirs.digest(other).unwrap());
        assert_ne!(mine.digest(one).unwrap(), mine.digest(other).unwrap());
        assert_eq!(
            mine.digest(one).unwrap(),
            tags(&settings, 7).digest(one).unwrap()
        );
    }

    #[test]
    fn a_document_names_a_digest_or_none() {
        let digest = Hash32::from_bytes([9; 32]);
        let document = |content: &str| {
            format!(
                r#"{{"content":{content},"format":"gently/1","id":"x","kind":"config_reload"}}"#
            )
        };
        let named = document(&format!(r#"{{"changed":[],"digest":"{digest}"}}"#));
        assert_eq!(named_digest(Some(&named)), Some(digest));
        assert_eq!(named_digest(Some(&document(r#"{"digest":"y"}"#))), None);
        assert_eq!(named_digest(Some(&document("{}"))), None);
        assert_eq!(named_digest(Some("")), None);
        assert_eq!(named_digest(None), None);
    }
}
