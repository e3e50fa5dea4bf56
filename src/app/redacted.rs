//! Texts that others wrote, on their way to a screen or to a record that everybody may read.

use crate::govern::sanitize::redact;

use super::home::open_error::OpenHomeError;
use super::sentence::FieldSentence;

/// What a person, a vendor or the system wrote, for a line or a value on stdout that is no answer.
pub fn clean(text: &str) -> String {
    redact(text).clean.as_str().to_owned()
}

/// Refuses what would stand in ledger or log for everybody to read, if there is a secret in it.
pub fn no_secret(place: impl Into<FieldSentence>, text: &str) -> Result<(), OpenHomeError> {
    match redact(text).found.first() {
        None => Ok(()),
        Some(found) => Err(OpenHomeError::Setting {
            place: place.into(),
            reason: format!(
                "there is a secret in it ({}), and it would stand on record for good",
                found.kind
            ),
        }),
    }
}
