//! Whether a text that is here is the one on record: whoever hands on what was said, to a person, a
//! file or a model, asks here first.
//!
//! The database alone holds texts, and who can write it can change them. Their commitments stand in
//! the log.

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::has_placeholder;
use crate::govern::stored_kernel::StoredKernel;
use crate::home::Home;
use crate::record::canon;
use crate::record::exchange::Exchange;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::Record;
use crate::record::ledger::item::{Item, ItemArtifact, content};
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::{Event, Line};
use crate::store::{
    ArtifactFilter, ArtifactRow, ExchangeRow, ExchangeRows, ReadStore, SessionRow, StoreError,
};

/// Holds texts against the record.
pub struct StoredTexts<'a> {
    store: &'a ReadStore,
    scheme: Scheme,
}

/// That items are not what was recorded.
pub fn changed_words(ids: &[String]) -> String {
    let names: Vec<String> = ids.iter().map(|id| short_name(id)).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    format!(
        "{} {are} not what was recorded: gently audit verify",
        names.join(", ")
    )
}

impl<'a> StoredTexts<'a> {
    /// Over a store.
    pub fn of(store: &'a ReadStore) -> Result<Self, StoreError> {
        let genesis = Home::genesis(store).map_err(|e| StoreError::Corrupt {
            place: "head.genesis".to_owned(),
            expected: "a genesis document".to_owned(),
            actual: e.to_string(),
        })?;
        let scheme = genesis.commitments;
        Ok(StoredTexts { store, scheme })
    }

    /// Whether a question's text opens its commitment, and that is the one of its line; and whether
    /// an answer's does, or, where a secret was taken out of it, the exchange document is the one of
    /// its record.
    ///
    /// A text that is here without its salt is anybody's word, and does not hold.
    pub fn holds(
        &self,
        exchange: &ExchangeRow,
        by_user: bool,
        text: &str,
    ) -> Result<bool, StoreError> {
        let Some(salt) = &exchange.salt else {
            return Ok(false);
        };
        let opened = |role| commit(self.scheme, salt, role, text.as_bytes());
        if by_user {
            let recorded = exchange.prompt_commitment;
            return Ok(opened(Role::Prompt) == recorded
                && self.is_on_line(exchange.prompt_line, recorded)?);
        }
        let outcome = exchange.outcome.as_ref();
        let Some((outcome, recorded)) = outcome.and_then(|o| Some((o, o.response_commitment?)))
        else {
            return Ok(false);
        };
        let digest = Hash32::digest(text.as_bytes());
        if outcome.response_hash != Some(digest)
            || !self.is_on_line(outcome.outcome_line, recorded)?
        {
            return Ok(false);
        }
        Ok(opened(Role::Response) == recorded
            || (has_placeholder(text) && self.has_its_document(exchange, salt)?))
    }

    /// Whether the document of an artifact opens its commitment, and that is the one of its line. What
    /// is erased, or was never kept, says nothing that could be wrong.
    pub fn holds_artifact(&self, row: &ArtifactRow) -> Result<bool, StoreError> {
        let Some(document) = &row.document else {
            return Ok(true);
        };
        let Some(salt) = &row.salt else {
            return Ok(false);
        };
        let opened = commit(self.scheme, salt, Role::Artifact, document.as_bytes());
        if opened != row.commitment {
            return Ok(false);
        }
        let line = self
            .store
            .lines(row.line, row.line.saturating_add(1))?
            .pop();
        let line = line.and_then(|line| Line::parse(line.as_bytes()).ok());
        let named = Event::Artifact {
            kind: row.kind.clone(),
            id: row.id.clone(),
            hash: row.commitment,
        };
        Ok(line.is_some_and(|line| line.event == named))
    }

    /// Whether an item is what the artifacts of its id say of it: its text, all that it is told by, and
    /// that nothing took it out of force.
    pub fn holds_item(&self, item: &Item) -> Result<bool, StoreError> {
        let mut is_made = false;
        for row in self.store.artifacts(ArtifactFilter::Id(&item.id))? {
            if !self.holds_artifact(&row)? {
                return Ok(false);
            }
            if row.line == item.line && row.kind == item.kind.name() {
                let content = content(row.document.as_deref());
                let origin = ItemArtifact {
                    line: row.line,
                    kind: item.kind,
                    id: &item.id,
                };
                let made = Item::made(origin, content.as_ref(), row.commitment);
                let (state, state_line) = (item.state, item.state_line);
                is_made = Item {
                    state,
                    state_line,
                    ..made
                } == *item;
            }
            if row.kind == item.kind.ended() && item.state.is_open() {
                return Ok(false);
            }
        }
        Ok(is_made)
    }

    /// Whether a line of the log has this hash.
    fn is_on_line(&self, line: u64, recorded: Hash32) -> Result<bool, StoreError> {
        let line = self.store.lines(line, line.saturating_add(1))?.pop();
        let line = line.and_then(|line| Line::parse(line.as_bytes()).ok());
        let fields = line.map(|line| line.event.fields()).unwrap_or_default();
        let hash = fields.into_iter().find(|(key, _)| key == "hash");
        Ok(hash.is_some_and(|(_, hash)| hash == recorded.to_string()))
    }

    /// Whether the rows of an answered exchange give the document that its record commits to.
    fn has_its_document(&self, exchange: &ExchangeRow, salt: &Salt) -> Result<bool, StoreError> {
        let (Some(outcome), Some(session)) =
            (&exchange.outcome, self.store.session_of(exchange.session)?)
        else {
            return Ok(false);
        };
        let rows = ExchangeRows::read(self.store, &session, exchange)?;
        let kernel = kernel_of(self.store, &session)?;
        let record = rows.record();
        let kernel = kernel.as_ref().map_err(Clone::clone);
        let compiled = record.compiled_prompt(kernel.map(Kernel::system_prompt));
        let compiled = compiled.map_err(|e| e.to_string()).transpose();
        let made = document_commitment(&record, self.scheme, Some(salt), &compiled);
        let bytes = self.store.record_of_line(outcome.outcome_line)?;
        let of_record = bytes.and_then(|bytes| canon::parse_in_order::<Record>(&bytes).ok());
        let recorded = outcome.exchange_commitment;
        let is_recorded = of_record.is_some_and(|record| record.exchange_hash == recorded);
        Ok(is_recorded && made == Some(recorded))
    }
}

/// A session's kernel, or why it can't be read.
pub fn kernel_of(store: &ReadStore, session: &SessionRow) -> Result<StoredKernel, StoreError> {
    let json = store.kernel(session.kernel_hash)?;
    Ok(Kernel::stored(json.as_deref()))
}

/// The commitment to the exchange document, made again from the rows; none where a part of it is
/// erased.
pub fn document_commitment(
    record: &Exchange,
    scheme: Scheme,
    salt: Option<&Salt>,
    compiled: &Option<Result<String, String>>,
) -> Option<Hash32> {
    let compiled = match compiled {
        Some(Ok(text)) => Some(text.as_str()),
        Some(Err(_)) if record.not_kept.is_none() && record.erasure.compiled_prompt.is_none() => {
            return None;
        }
        _ => None,
    };
    let salt = salt?;
    let document = record.document(scheme, salt, compiled).ok()?;
    document.commitment(scheme, salt).ok()
}
