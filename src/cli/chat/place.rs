//! Conversations and projects as a chat needs them: the only calls to them here.

use uuid::Uuid;

use crate::app::find;
use crate::app::open::{OpenHome, OpenHomeError};
use crate::home::Home;
use crate::store::{ReadStore, StoreError};

/// The conversation that a text means.
pub fn find(opened: &OpenHome, text: &str) -> Result<Uuid, OpenHomeError> {
    Ok(find::thread(&opened.store, text)?.thread)
}

/// Newest.
pub async fn newest(opened: &OpenHome) -> Result<Uuid, OpenHomeError> {
    let newest = opened.store.newest_threads(1)?.pop();
    newest
        .map(|row| row.thread)
        .ok_or_else(|| OpenHomeError::Refused("none".to_owned()))
}

/// A conversation in a line.
pub fn described(store: &ReadStore, thread: Uuid) -> Result<String, StoreError> {
    Ok(format!(
        "going on in {}",
        find::short_thread(store, thread)?
    ))
}

/// Begins one with a title.
pub async fn begin(
    _: &OpenHome,
    _: &str,
    _: Option<&str>,
    _: &dyn Fn(&str),
) -> Result<Uuid, OpenHomeError> {
    Err(OpenHomeError::Refused("not yet".to_owned()))
}

/// Project.
pub fn join_project(_: &mut OpenHome, _: &str) -> Result<(), OpenHomeError> {
    Ok(())
}

/// Titles.
pub fn titles(_: &ReadStore) -> Result<Vec<String>, StoreError> {
    Ok(Vec::new())
}

/// Projects.
pub fn projects(_: &Home) -> Result<Vec<String>, StoreError> {
    Ok(Vec::new())
}
