//! What a specialist is bound to: promoted to another model, and rolled back.

use serde_json::Value;

use super::{KnownSpecialist, called, find, known, model_id, must_keep_text, on_record, put};
use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::govern::sanitize::redact;
use crate::record::ledger::specialist::{PROMOTION, PromotionEvent, Specialists};
use crate::recorder::{ArtifactField, ArtifactId};

/// Longest metadata, in bytes.
const MAX_METADATA: usize = 16 * 1024;

/// A binding that was changed.
pub struct ChangedBinding {
    /// The specialist as it is now.
    pub specialist: KnownSpecialist,
    /// Id of the record.
    pub id: String,
    /// What it was bound to before.
    pub from: String,
    /// The promotion that was undone.
    pub reverts: Option<String>,
}

/// JSON that somebody wants to keep beside a promotion, as one line.
fn checked(metadata: &str) -> Result<String, String> {
    if metadata.len() > MAX_METADATA {
        return Err(format!(
            "the metadata have {} bytes, at most {MAX_METADATA}",
            metadata.len()
        ));
    }
    let read: Value = serde_json::from_str(metadata).map_err(|_| {
        "the metadata are no JSON: an object is wanted, such as {\"eval\":0.9}".to_owned()
    })?;
    match read.is_object() {
        true => Ok(read.to_string()),
        false => Err("the metadata are a JSON object, such as {\"eval\":0.9}".to_owned()),
    }
}

/// Binds a specialist to another model.
pub async fn promote(
    opened: &OpenHome,
    typed: &str,
    (model, metadata): (&str, Option<&str>),
) -> Result<ChangedBinding, OpenHomeError> {
    must_keep_text(opened, "what a specialist is bound to")?;
    let metadata = metadata
        .map(checked)
        .transpose()
        .map_err(OpenHomeError::Refused)?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let to = model_id(opened, model).await?;
    let from = found.model.clone().unwrap_or_default();
    if to == from {
        return Err(OpenHomeError::Refused(format!(
            "{} is bound to {to} already",
            called(&found)
        )));
    }
    let change = BindingChange {
        event: PromotionEvent::Promote,
        from,
        to,
        metadata,
        reverts: None,
    };
    change.record(opened, &found.id.to_string(), &all).await
}

/// Undoes the newest promotion of a specialist.
pub async fn rollback(opened: &OpenHome, typed: &str) -> Result<ChangedBinding, OpenHomeError> {
    must_keep_text(opened, "what a specialist is bound to")?;
    let all = on_record(&opened.store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let Some(last) = all.last_promotion(found.id) else {
        return Err(OpenHomeError::Refused(format!(
            "{} was never promoted, or all of it is undone: it is bound to {}",
            called(&found),
            found.model.as_deref().unwrap_or("nothing")
        )));
    };
    let change = BindingChange {
        event: PromotionEvent::Rollback,
        from: found.model.clone().unwrap_or_default(),
        to: last.from_model.clone(),
        metadata: None,
        reverts: Some(last.id.clone()),
    };
    change.record(opened, &found.id.to_string(), &all).await
}

struct BindingChange {
    event: PromotionEvent,
    from: String,
    to: String,
    metadata: Option<String>,
    reverts: Option<String>,
}

impl BindingChange {
    async fn record(
        self,
        opened: &OpenHome,
        specialist: &str,
        seen: &Specialists,
    ) -> Result<ChangedBinding, OpenHomeError> {
        let key = opened.authorize().await?;
        let word = |text: &str| ArtifactField::Word(text.to_owned());
        let or_null = |field: Option<ArtifactField>| field.unwrap_or(ArtifactField::Null);
        let metadata = self.metadata.as_deref();
        let content = vec![
            ("by", ArtifactField::Hash(key)),
            ("event", word(self.event.name())),
            ("from_model", word(&self.from)),
            (
                "metadata",
                or_null(metadata.map(|text| ArtifactField::Text(redact(text).clean))),
            ),
            ("reverts", or_null(self.reverts.as_deref().map(word))),
            ("specialist", word(specialist)),
            ("to_model", word(&self.to)),
        ];
        let next = ArtifactId::Next { prefix: PROMOTION };
        let recorded = put(opened, (PROMOTION, next), content, seen).await?;
        Ok(ChangedBinding {
            specialist: known(&opened.store, specialist)?,
            id: recorded.document.id,
            from: self.from,
            reverts: self.reverts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_an_object() {
        assert_eq!(
            checked(" {\"eval\": 0.9} "),
            Ok("{\"eval\":0.9}".to_owned())
        );
        for wrong in [
            "",
            "1",
            "[]",
            "{",
            "null",
            &format!("{{\"a\":\"{}\"}}", "x".repeat(20_000)),
        ] {
            assert!(checked(wrong).is_err(), "{wrong:.20}");
        }
    }
}
