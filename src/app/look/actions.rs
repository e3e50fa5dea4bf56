//! Actuation intents on record. They are shown; there is nothing that carries them out.

use serde_json::Value;

use crate::ask::withheld::Withheld;
use crate::home::Home;
use crate::record::canon;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::short_name::record_name_of;
use crate::record::log::entry::Line;
use crate::record::unseen::spelled_on_a_line;
use crate::recorder::ACTION;
use crate::store::{ArtifactFilter, ArtifactRow, Store, StoreError};

use crate::app::find;
use crate::app::home::open::{self, OpenHomeError};

/// An intent as it is on record.
pub struct ActionDetails {
    /// Name of the action, such as `action:000001`.
    pub id: String,
    /// The number of its log line, from 1.
    pub line: u64,
    /// When it was recorded.
    pub recorded_at: Option<String>,
    /// The session that it was said in.
    pub session: Option<String>,
    /// The exchange that it was said in, as screens call it.
    pub exchange: String,
    /// What its document says; none once erased.
    pub content: Option<Value>,
    /// Whether it quotes an answer that is withheld.
    pub is_withheld: bool,
}

impl ActionDetails {
    fn of(store: &Store, gate: &Withheld<'_>, row: &ArtifactRow) -> Result<Self, StoreError> {
        let line = store.lines(row.line, row.line + 1)?;
        let line = line
            .first()
            .and_then(|line| Line::parse(line.as_bytes()).ok());
        let document = row
            .document
            .as_ref()
            .and_then(|text| canon::parse::<ArtifactDoc>(text.as_bytes()).ok());
        let is_withheld = match &document {
            Some(document) => gate.is_quoted_in(&document.content)?,
            None => false,
        };
        let exchange = document
            .as_ref()
            .map(|document| &document.content["exchange"]);
        let exchange = exchange.and_then(|id| id.as_str()?.parse().ok());
        let exchange = exchange.map(|id| find::short_id_of(store, id));
        let exchange = exchange.transpose()?.flatten();
        Ok(ActionDetails {
            exchange: exchange.unwrap_or_else(|| "erased".to_owned()),
            id: row.id.clone(),
            line: row.line + 1,
            recorded_at: line.as_ref().map(|line| line.time.to_string()),
            session: line.and_then(|line| line.session).map(|id| id.to_string()),
            content: document.map(|document| document.content),
            is_withheld,
        })
    }
}

/// All intents, oldest first.
pub fn list(home: &Home) -> Result<Vec<ActionDetails>, OpenHomeError> {
    let store = open::store(home)?;
    let gate = Withheld::of(&store);
    let rows = store.artifacts(ArtifactFilter::Kind(ACTION))?;
    let details = rows.iter().map(|row| ActionDetails::of(&store, &gate, row));
    Ok(details.collect::<Result<_, _>>()?)
}

/// One intent; what it quotes of a withheld answer is given to whoever asks for that by name.
pub fn show(home: &Home, id: &str, withheld: bool) -> Result<ActionDetails, OpenHomeError> {
    let named = record_name_of(ACTION, id).unwrap_or_else(|| id.to_owned());
    let found = list(home)?.into_iter().find(|details| details.id == named);
    let mut details = found.ok_or_else(|| {
        let id = spelled_on_a_line(id);
        OpenHomeError::Refused(format!(
            "no request to act is called '{id}': gently action list"
        ))
    })?;
    details.is_withheld &= !withheld;
    Ok(details)
}
