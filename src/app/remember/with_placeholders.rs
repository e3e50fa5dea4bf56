//! Putting texts on record under the numbers of the open session: a secret that was taken out of one
//! text has the same placeholder in all texts of a session.

use crate::app::home::open::{OpenHome, OpenHomeError};
use crate::govern::sanitize::Placeholders;
use crate::record::hash::Hash32;
use crate::recorder::{NewArtifact, RecordedArtifact, RecorderError, always};
use crate::store::{ReadStore, SessionRow};

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
    let (recorded, kept) = record_all_with_placeholders(opened, key, always, |numbers, session| {
        let (new, kept) = make(numbers, session)?;
        Ok((vec![new], kept))
    })
    .await?;
    let one = recorded.into_iter().next();
    Ok((one.expect("one was given to be recorded"), kept))
}

/// The same of several artifacts, all or none, where `allowed` says nothing against it under the
/// writer's lock.
pub async fn record_all_with_placeholders<T>(
    opened: &OpenHome,
    key: Hash32,
    allowed: impl Fn(&ReadStore) -> Result<Option<String>, RecorderError> + Clone + Send + 'static,
    mut make: impl FnMut(
        &mut Placeholders,
        Option<&SessionRow>,
    ) -> Result<(Vec<NewArtifact>, T), OpenHomeError>,
) -> Result<(Vec<RecordedArtifact>, T), OpenHomeError> {
    let mut attempt = 1;
    loop {
        let session = newest_session(opened, key)?;
        let mut numbers = match &session {
            Some(session) => opened.recorder.placeholders(&opened.store, session.uuid)?,
            None => Placeholders::new([0; 32]),
        };
        let (new, kept) = make(&mut numbers, session.as_ref())?;
        let numbers = session.map(|session| (session.uuid, numbers));
        let recorder = &opened.recorder;
        match recorder.artifacts(new, numbers, allowed.clone()).await {
            Err(RecorderError::PlaceholdersChanged) if attempt < ATTEMPTS => attempt += 1,
            recorded => return Ok((recorded?, kept)),
        }
    }
}
