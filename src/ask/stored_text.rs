//! Whether a text that is here is the one on record: whoever hands on what was said, to a person, a
//! file or a model, asks here first.
//!
//! The database alone holds texts, and who can write it can change them. Their commitments stand in
//! the log.

use std::cell::OnceCell;

use crate::govern::kernel::Kernel;
use crate::govern::sanitize::has_placeholder;
use crate::govern::stored_kernel::StoredKernel;
use crate::home::Home;
use crate::record::canon;
use crate::record::exchange::Exchange;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::Record;
use crate::record::ledger::item::{CONFLICT_RESOLVED, Item, ItemKind, Items, content, items_of};
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::{Event, Line};
use crate::store::{
    ArtifactFilter, ArtifactRow, ExchangeRow, ExchangeRows, ReadStore, SessionRow, StoreError,
};

/// Holds texts against the record.
pub struct StoredTexts<'a> {
    store: &'a ReadStore,
    scheme: Scheme,
    resolutions: OnceCell<Vec<ArtifactRow>>,
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
        Ok(StoredTexts {
            store,
            scheme,
            resolutions: OnceCell::new(),
        })
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

    /// Whether the document of an artifact opens its commitment, and that is the one of its line, which
    /// stands between its neighbours. What is erased, or was never kept, says nothing that could be
    /// wrong; what is erased and here again does not hold.
    pub fn holds_artifact(&self, row: &ArtifactRow) -> Result<bool, StoreError> {
        let Some(document) = &row.document else {
            return Ok(true);
        };
        let Some(salt) = &row.salt else {
            return Ok(false);
        };
        let opened = commit(self.scheme, salt, Role::Artifact, document.as_bytes());
        if opened != row.commitment || self.store.is_erased(&row.id, row.line)? {
            return Ok(false);
        }
        let named = Event::Artifact {
            kind: row.kind.clone(),
            id: row.id.clone(),
            hash: row.commitment,
        };
        let line = self.line_in_place(row.line)?;
        Ok(line.is_some_and(|line| line.event == named))
    }

    /// A line of the log, if its HASH follows from the line before, and that of the next from it.
    fn line_in_place(&self, number: u64) -> Result<Option<Line>, StoreError> {
        let from = number.saturating_sub(1);
        let read = |text: &String| Line::parse(text.as_bytes()).ok();
        let lines = self.store.lines(from, number.saturating_add(2))?;
        let mut lines = lines.iter().map(read);
        let before = match number {
            0 => Some(Hash32::GENESIS),
            _ => lines.next().flatten().map(|line| line.hash),
        };
        let (line, next) = (lines.next().flatten(), lines.next());
        let Some((line, before)) = line.zip(before) else {
            return Ok(None);
        };
        let goes_on = match next {
            None => true,
            Some(next) => next.is_some_and(|next| next.follows(line.hash)),
        };
        Ok((goes_on && line.follows(before)).then_some(line))
    }

    /// Whether an item is what artifacts say of it: its text, all that it is told by, and its state.
    pub fn holds_item(&self, item: &Item) -> Result<bool, StoreError> {
        let mut about = self.store.artifacts(ArtifactFilter::Id(&item.id))?;
        for row in self.resolutions()? {
            let content = content(row.document.as_deref());
            if items_of(&row.kind, &row.id, content.as_ref()).contains(&item.id) {
                about.push(row.clone());
            }
        }
        if item.kind == ItemKind::Intent {
            about.extend(
                self.store
                    .next_artifact(ItemKind::Intent.name(), item.line)?,
            );
        }
        about.sort_by_key(|row| row.line);
        let mut items = Items::default();
        for row in about {
            if !self.holds_artifact(&row)? {
                return Ok(false);
            }
            let document = row.document.as_deref();
            items.take(row.line, &row.kind, &row.id, document, row.commitment);
        }
        Ok(items.into_map().get(&item.id) == Some(item))
    }

    /// What people said of conflicts; read once.
    fn resolutions(&self) -> Result<&[ArtifactRow], StoreError> {
        if let Some(known) = self.resolutions.get() {
            return Ok(known);
        }
        let read = self
            .store
            .artifacts(ArtifactFilter::Kind(CONFLICT_RESOLVED))?;
        Ok(self.resolutions.get_or_init(|| read))
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
