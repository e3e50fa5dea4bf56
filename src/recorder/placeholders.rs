//! The numbers of secrets within a session, between the sanitizer and the database.

use uuid::Uuid;

use crate::govern::sanitize::{
    KnownSecret, NewPlaceholder, Placeholders, Redaction, redact_document, redact_with,
};
use crate::record::hash::Hash32;
use crate::record::ledger::reply::ReplyDoc;
use crate::store::{PlaceholderRow, ReadStore};

use super::batch::transaction::LedgerTransaction;
use super::entries::content_policy::WriterContext;
use super::turn::JudgedReply;
use super::{Recorder, RecorderError};

impl Recorder {
    /// What an open session has called its secrets so far; with a fresh key, if it had none.
    ///
    /// A text that is redacted with it is recorded together with it.
    /// [`RecorderError::PlaceholdersChanged`] then says that another turn was first: read it again, redact
    /// again.
    pub fn placeholders(
        &self,
        store: &ReadStore,
        session: Uuid,
    ) -> Result<Placeholders, RecorderError> {
        known(store, session, &self.writer_context)
    }
}

/// The same inside the writer, where nobody can come between.
pub(super) fn known(
    store: &ReadStore,
    session: Uuid,
    writer_context: &WriterContext,
) -> Result<Placeholders, RecorderError> {
    let rows = store.placeholders(session)?;
    let (tagged, bare): (Vec<_>, Vec<_>) =
        rows.given.into_iter().partition(|row| row.tag.is_some());
    let given = tagged
        .into_iter()
        .filter_map(|PlaceholderRow { kind, number, tag }| {
            let tag = tag?;
            Some(NewPlaceholder { kind, number, tag })
        });
    let key = rows
        .key
        .unwrap_or_else(|| writer_context.placeholder_key(session));
    let mut numbers = Placeholders::known(key, given);
    for row in bare {
        numbers.taken(&row.kind, row.number);
    }
    Ok(numbers)
}

/// Records what a text was given; false when another turn was first.
pub(super) fn put(
    transaction: &mut LedgerTransaction<'_>,
    session: Uuid,
    numbers: &mut Placeholders,
) -> Result<bool, RecorderError> {
    let row = |NewPlaceholder { kind, number, tag }| PlaceholderRow {
        kind,
        number,
        tag: Some(tag),
    };
    let new: Vec<PlaceholderRow> = numbers.take_new().into_iter().map(row).collect();
    Ok(transaction
        .tx
        .put_placeholders(session, numbers.key(), &new)?)
}

/// The same, where it has to be.
pub(super) fn must_put(
    transaction: &mut LedgerTransaction<'_>,
    session: Uuid,
    numbers: &mut Placeholders,
) -> Result<(), RecorderError> {
    if put(transaction, session, numbers)? {
        Ok(())
    } else {
        Err(RecorderError::PlaceholdersChanged)
    }
}

/// Forgets which secrets have the numbers of an open session, as a text of it is erased.
pub(super) fn forget_tags(
    transaction: &mut LedgerTransaction<'_>,
    session: Option<Hash32>,
) -> Result<(), RecorderError> {
    let row = session
        .map(|id| transaction.tx.session(id))
        .transpose()?
        .flatten();
    match row.filter(|row| row.ended_at.is_none()) {
        Some(row) => Ok(transaction.tx.forget_tags(row.uuid)?),
        None => Ok(()),
    }
}

/// A reply without its secrets: what is stored of it.
#[derive(Clone, Debug)]
pub struct StoredReply {
    /// The answer with its placeholders.
    pub text: Redaction,
    /// What came beside it.
    pub beside: Option<ReplyDoc>,
    /// The kinds of secrets that were taken out of either.
    pub removed: Vec<String>,
}

impl StoredReply {
    /// Takes the secrets out.
    pub fn of(text: &str, beside: Option<&ReplyDoc>, numbers: &mut Placeholders) -> StoredReply {
        let given = text;
        let text = redact_with(given, numbers);
        let mut removed: Vec<String> = text.found.iter().map(|one| one.kind.clone()).collect();
        let known = text.found.iter().filter_map(|one| {
            let secret = given.get(one.start..one.end)?;
            Some((secret.to_owned(), one.kind.clone()))
        });
        let mut known: Vec<KnownSecret> = known.collect();
        let mut clean = |document| {
            let (clean, kinds) = redact_document(document, std::mem::take(&mut known), numbers);
            let more = kinds.into_iter().filter(|kind| !removed.contains(kind));
            let more: Vec<String> = more.collect();
            removed.extend(more);
            clean
        };
        let beside = beside.map(|beside| beside.clone().cleaned(&mut clean));
        StoredReply {
            text,
            beside,
            removed,
        }
    }
}

/// Gives the secrets of a reply their numbers; redacts it again when another turn was first.
pub(super) fn number(
    transaction: &mut LedgerTransaction<'_>,
    session: Uuid,
    judged: &JudgedReply,
) -> Result<Option<StoredReply>, RecorderError> {
    if put(transaction, session, &mut judged.numbers.clone())? {
        return Ok(None);
    }
    let mut numbers = known(&*transaction.tx, session, transaction.writer_context)?;
    let again = StoredReply::of(&judged.text, judged.beside.as_ref(), &mut numbers);
    must_put(transaction, session, &mut numbers).map(|()| Some(again))
}
