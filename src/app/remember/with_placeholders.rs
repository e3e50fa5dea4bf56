//! Putting texts on record under the numbers of the open session: a secret that was taken out of one
//! text has the same placeholder in all texts of a session.

use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::govern::sanitize::Placeholders;
use crate::record::hash::Hash32;
use crate::recorder::{NewArtifact, RecordedArtifact, RecorderError, always};
use crate::store::SessionRow;

use super::items::newest_session;

/// So many times it is redacted again because a turn of the session named a secret meanwhile.
const ATTEMPTS: u32 = 16;

/// Records an artifact in the newest open session of an auth key, or in none. `make` takes the
/// secrets out under the numbers that it is given, and is called again when a turn was first; what
/// it returns beside the artifact comes back from the time that was recorded.
pub async fn record_with_placeholders<T>(
    opened: &OpenHome,
    key: Hash32,
    mut make: impl FnMut(
        &mut Placeholders,
        Option<&SessionRow>,
    ) -> Result<(NewArtifact, T), OpenHomeError>,
) -> Result<(RecordedArtifact, T), OpenHomeError> {
    let mut attempt = 1;
    loop {
        let session = newest_session(opened, key)?;
        let mut numbers = match &session {
            Some(session) => opened.recorder.placeholders(&opened.store, session.uuid)?,
            None => Placeholders::new([0; 32]),
        };
        let (new, kept) = make(&mut numbers, session.as_ref())?;
        let recording = match session {
            Some(session) => {
                let recorder = &opened.recorder;
                recorder
                    .artifact_with_placeholders(new, session.uuid, numbers)
                    .await
            }
            None => opened.recorder.artifact(new, always).await,
        };
        match recording {
            Err(RecorderError::PlaceholdersChanged) if attempt < ATTEMPTS => attempt += 1,
            recorded => return Ok((recorded?, kept)),
        }
    }
}
