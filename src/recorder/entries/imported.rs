//! Imported conversations on record: a batch at a time, each batch whole or not at all.

use crate::keys::IMPORT_KEY_MARK;
use crate::record::ledger::imported::{IMPORT, ImportFormat};
use crate::record::time::Seconds;

use super::artifacts::{NewArtifact, RecordedArtifact, put};
use crate::recorder::{Recorder, RecorderError};

/// What a source was like, under a key, and by which that key is known: a hint for the next import, and
/// no evidence.
pub type SourceTag = [u8; 32 + IMPORT_KEY_MARK];

/// A conversation that is to be put on record.
#[derive(Clone, Debug)]
pub struct NewImportedConversation {
    /// What is recorded.
    pub artifact: NewArtifact,
    /// Whose file it came from.
    pub format: ImportFormat,
    /// Its id in the source.
    pub source_id: String,
    /// The id of the one whose place it takes.
    pub replaces: Option<String>,
    /// What its source is like.
    pub tag: SourceTag,
}

/// Some conversations of one import.
#[derive(Clone, Debug, Default)]
pub struct ImportBatch {
    /// The import that they belong to, which is not on record yet.
    pub import: String,
    /// Those that are recorded.
    pub new: Vec<NewImportedConversation>,
    /// Ids of those that are on record as they are, with what their sources are like.
    pub unchanged: Vec<(String, SourceTag)>,
}

impl Recorder {
    /// Records conversations, all or none.
    ///
    /// [`RecorderError::NotAllowed`] when another import or an erasure was at it meanwhile, and nothing is recorded
    /// then.
    pub async fn imported(
        &self,
        batch: ImportBatch,
        now: Seconds,
    ) -> Result<Vec<RecordedArtifact>, RecorderError> {
        self.record(now, move |transaction| {
            let is_taken = transaction.tx.has_artifact(IMPORT, &batch.import)?;
            if is_taken {
                return Err(meanwhile());
            }
            let mut recorded = Vec::new();
            for one in &batch.new {
                let known = transaction.tx.known_import(one.format, &one.source_id)?;
                if known.map(|known| known.id) != one.replaces {
                    return Err(meanwhile());
                }
                let artifact = put(transaction, one.artifact.clone())?;
                transaction.tx.tag_import(artifact.line, &one.tag)?;
                recorded.push(artifact);
            }
            for (id, tag) in &batch.unchanged {
                if let Some(row) = transaction.tx.imported(id)? {
                    transaction.tx.tag_import(row.line, tag)?;
                }
            }
            Ok(recorded)
        })
        .await
    }
}

fn meanwhile() -> RecorderError {
    RecorderError::NotAllowed {
        reason: "another import was recorded, or a conversation of this one erased, meanwhile; what this one recorded \
                 before, and was not erased, stays: give the same command again, and it goes on with what is missing"
            .to_owned(),
    }
}
