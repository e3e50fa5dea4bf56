//! Actuation intents on record: what somebody wanted to have done (AEGIS 7.1). Nothing executes
//! them.

use crate::govern::actions::actuation::{ActClass, Acts};
use crate::govern::sanitize::redact;
use crate::record::ledger::commitment::Salt;
use crate::record::time::Seconds;

use super::artifacts::{ArtifactField, ArtifactId, NewArtifact, put};
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::turn::TurnIds;

/// The kind of their artifacts.
pub const KIND: &str = "action";
/// The only state there is: a person has to approve, and there is no way yet to go on from there.
pub const AWAITING: &str = "awaiting approval";

/// The source of an intent that a model announced.
pub const REPLY: &str = "reply";

/// An intent that was put on record with a prompt or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Name of the action, such as `action:000001`.
    pub id: String,
    /// What kind of act.
    pub class: ActClass,
    /// What was said, without secrets.
    pub what: String,
    /// Who said it: `prompt`, or [`REPLY`].
    pub source: &'static str,
}

/// Records the intents of a text, in the batch that records the text: `source` is `prompt` or
/// `reply`.
///
/// `salts` is fresh randomness, and gives up one for each.
pub(in crate::recorder) fn record(
    transaction: &mut LedgerTransaction<'_>,
    ids: &TurnIds,
    source: &'static str,
    found: &Acts,
    salts: &mut Vec<Salt>,
    now: Seconds,
) -> Result<Vec<Action>, RecorderError> {
    let mut recorded = Vec::new();
    for act in &found.acts {
        let salt = salts.pop().ok_or_else(|| RecorderError::Unrecordable {
            what: "an actuation intent",
            reason: "the turn brought no salt for it".to_owned(),
        })?;
        let what = redact(&act.what).clean;
        let text = what.as_str().to_owned();
        let new = NewArtifact {
            kind: KIND,
            id: ArtifactId::Next { prefix: KIND },
            content: vec![
                ("class", ArtifactField::Word(act.class.name().to_owned())),
                ("exchange", ArtifactField::Word(ids.exchange.to_string())),
                (
                    "more_in_text",
                    ArtifactField::Number(u64::try_from(found.more).unwrap_or(u64::MAX)),
                ),
                ("seq", ArtifactField::Number(ids.seq)),
                ("source", ArtifactField::Word(source.to_owned())),
                ("state", ArtifactField::Word(AWAITING.to_owned())),
                ("what", ArtifactField::Text(what)),
            ],
            session: Some(ids.session),
            salt,
            now,
        };
        recorded.push(Action {
            id: put(transaction, new)?.document.id,
            class: act.class,
            what: text,
            source,
        });
    }
    Ok(recorded)
}
