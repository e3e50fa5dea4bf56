//! Putting a name on record that a person gave something: without its secrets, under the numbers of
//! the session that is open.

use crate::govern::sanitize::redact_with;
use crate::record::hash::Hash32;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact};

use super::with_placeholders::record_with_placeholders;
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};

/// A name that a person gives something.
pub struct NamedArtifact<'a> {
    /// The artifact's kind.
    pub kind: &'static str,
    /// Name of the artifact.
    pub id: ArtifactId,
    /// The key of the name in what it says.
    pub name_key: &'static str,
    /// The name, as it was typed; it has been checked.
    pub name: &'a str,
    /// What else it says, beside who gave the name.
    pub beside: Vec<(&'static str, ArtifactField)>,
}

/// Something as it is after it was given a name.
pub struct NamedThing<T> {
    /// The thing.
    pub of: T,
    /// Kinds of secrets that were removed from the name.
    pub removed: Vec<String>,
}

/// Records it, and gives the kinds of secrets that were removed. `notice` is told the same, and that
/// the name is not kept where no texts are.
pub async fn record_named(
    opened: &OpenHome,
    key: Hash32,
    named: NamedArtifact<'_>,
    notice: &dyn Fn(&str),
) -> Result<(RecordedArtifact, Vec<String>), OpenHomeError> {
    let (recorded, found) = record_with_placeholders(opened, key, |numbers, session| {
        let name = redact_with(named.name, numbers);
        let mut content = vec![
            ("by", ArtifactField::Hash(key)),
            (named.name_key, ArtifactField::Text(name.clean)),
        ];
        content.extend(named.beside.iter().cloned());
        let new = NewArtifact {
            kind: named.kind,
            id: named.id.clone(),
            content,
            session: session.map(|session| session.id),
            salt: fresh_salt()?,
            now: open::clock()?,
        };
        Ok((new, name.found))
    })
    .await?;
    let removed: Vec<String> = found
        .iter()
        .map(|finding| finding.kind.to_string())
        .collect();
    for kind in &removed {
        notice(&format!("removed before it was stored: {kind}"));
    }
    let is_kept = recorded.document.content[named.name_key].is_string();
    if !is_kept {
        let key = named.name_key;
        notice(&format!(
            "the {key} is not kept (store.content is \"none\"): it is called by its id"
        ));
    }
    Ok((recorded, removed))
}
