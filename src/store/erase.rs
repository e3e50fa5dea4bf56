//! Destroying texts, and every digest that is made from them.

use uuid::Uuid;

use super::access::{ReadStore, Store, WriteStore};
use super::driver::SearchIndex;
use super::exchanges::must_change;
use super::ledger::PARTS;
use super::table::values;
use super::threads::OF_EXCHANGE;
use super::{ErasureCommitmentRow, ExchangeRow, StoreError};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::prompt::ON_RECORD;

impl WriteStore {
    /// Destroys the texts of an exchange, its salt, and every digest made from its text; what it
    /// was called with becomes `params`. Notes that the write-ahead log is to be emptied.
    pub fn erase_exchange(
        &mut self,
        exchange: &ExchangeRow,
        params: Option<&str>,
    ) -> Result<(), StoreError> {
        let (what, id) = ("erase an exchange", exchange.exchange_id);
        let outcome = exchange.outcome.as_ref();
        let aurora = outcome.and_then(|outcome| outcome.turn_aurora);
        for turn in [Some(exchange.turn_user), aurora].into_iter().flatten() {
            let number = "SELECT n FROM chat_turn WHERE turn_id = ?1";
            if let Some(n) = self.one(what, number, values![turn])? {
                self.driver.forget_text(SearchIndex::Turns, n)?;
            }
            let sql = "UPDATE chat_turn SET content = NULL, content_hash = NULL WHERE turn_id = ?1";
            self.change(what, sql, values![turn])?;
        }
        let changed = self.change(
            what,
            "UPDATE llm_exchange SET salt = NULL, prompt_hash = NULL, response_hash = NULL, context_bundle_hash = NULL,
               context_bundle_json = NULL, request = NULL, reply = NULL, params = ?2 WHERE exchange_id = ?1",
            values![id, params],
        )?;
        must_change(changed, "llm_exchange.exchange_id", "an exchange", id)?;
        let sql = "UPDATE context_artifact_ref SET risk_flags = NULL WHERE exchange_id = ?1";
        self.change(what, sql, values![id])?;
        self.erase_bundle_digests(id)?;
        self.erase_context_digests(id)?;
        self.erase_event_digests(id, "")?;
        self.must_scrub()
    }

    /// Leaves of an exchange's salt what is given: the keys that may still be used.
    pub fn leave_keys(&self, exchange: Uuid, left: &Salt) -> Result<(), StoreError> {
        let sql = "UPDATE llm_exchange SET salt = ?2 WHERE exchange_id = ?1 AND salt IS NOT NULL";
        self.change("destroy opening keys", sql, values![exchange, left])?;
        self.must_scrub()
    }

    /// Destroys the digests of an exchange's compiled prompt: an artifact in it is erased
    /// (`bundle_too`: then the bundle and its digest go, too), or a turn (then those of its context
    /// and DECISION go, too).
    pub fn erase_context(&mut self, exchange: Uuid, bundle_too: bool) -> Result<(), StoreError> {
        let what = "erase a context";
        let digests = match bundle_too {
            true => "prompt_hash = NULL, context_bundle_hash = NULL, context_bundle_json = NULL",
            false => "prompt_hash = NULL",
        };
        let sql = format!("UPDATE llm_exchange SET {digests} WHERE exchange_id = ?1");
        let changed = self.change(what, &sql, values![exchange])?;
        must_change(changed, "llm_exchange.exchange_id", "an exchange", exchange)?;
        if bundle_too {
            self.erase_bundle_digests(exchange)?;
            let sql = "UPDATE thread_turn SET prompt_digest = NULL WHERE line = ?1";
            let line = self.line_of(exchange)?;
            return self.change(what, sql, values![line]).map(drop);
        }
        self.erase_context_digests(exchange)?;
        self.erase_event_digests(exchange, "AND v.kind = 'DECISION'")
    }

    /// Destroys the digests of what only the bundle told.
    fn erase_bundle_digests(&self, exchange: Uuid) -> Result<(), StoreError> {
        let kept = ON_RECORD.map(|kind| format!("'{kind}'")).join(", ");
        let sql = format!(
            "UPDATE context_artifact_ref SET artifact_hash = NULL
              WHERE exchange_id = ?1 AND artifact_type NOT IN ({kept})"
        );
        self.change("erase a bundle's digests", &sql, values![exchange])
            .map(drop)
    }

    /// Destroys the digests of a turn's context and of everything that was sent in it.
    fn erase_context_digests(&self, turn: Uuid) -> Result<(), StoreError> {
        let sql =
            "UPDATE thread_turn SET context_digest = NULL, prompt_digest = NULL WHERE line = ?1";
        let line = self.line_of(turn)?;
        self.change("erase a context's digests", sql, values![line])
            .map(drop)
    }

    /// Destroys the digests of a turn's events, and those in references to them. That of a DECISION
    /// covers its context.
    fn erase_event_digests(&self, turn: Uuid, which: &str) -> Result<(), StoreError> {
        let what = "erase a turn's digests";
        let sql = format!(
            "UPDATE thread_event SET event_digest = NULL
              WHERE (thread_id, event_index) IN (SELECT v.thread_id, v.event_index {OF_EXCHANGE} {which})"
        );
        self.change(what, &sql, values![turn])?;
        let sql = format!(
            "{PARTS} UPDATE context_ref SET event_digest = NULL WHERE (line, event_index) IN (
               SELECT r.line, r.event_index FROM part CROSS JOIN context_ref r
                WHERE r.line >> 15 = part.p AND r.event_id IN (SELECT v.event_id {OF_EXCHANGE} {which}))"
        );
        self.change(what, &sql, values![turn]).map(drop)
    }

    /// Notes that the write-ahead log is to be emptied.
    pub(super) fn must_scrub(&self) -> Result<(), StoreError> {
        let sql = "INSERT INTO scrub (id) VALUES (1) ON CONFLICT DO NOTHING";
        self.change("note what is to be emptied", sql, values![])
            .map(drop)
    }
}

impl ReadStore {
    /// What stands in the place of what an exchange was shown and is erased.
    pub fn erasure_commitments(
        &self,
        exchange: &ExchangeRow,
    ) -> Result<Vec<ErasureCommitmentRow>, StoreError> {
        let (line, id) = (exchange.prompt_line, exchange.exchange_id);
        self.rows("WHERE line = ?1 AND exchange_id = ?2", values![line, id])
    }

    /// Whether erased texts may still stand in the write-ahead log.
    pub fn is_to_scrub(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM scrub)";
        self.sole("look for erased texts", sql, values![])
    }
}

impl Store {
    /// Writes the search indexes anew from their own words, where anything was ever erased: the first
    /// letters of words that are erased go from them. What is written over stands in the write-ahead
    /// log until [`Store::scrub`].
    pub fn forget_first_letters(&mut self) -> Result<(), StoreError> {
        let any = "SELECT EXISTS (SELECT 1 FROM tombstone_id)";
        if !self.sole("look for what is erased", any, values![])? {
            return Ok(());
        }
        self.transact(&mut |write| {
            for index in SearchIndex::ALL {
                write.driver.rewrite_index(index)?;
            }
            write.must_scrub()
        })
    }

    /// Empties the write-ahead log, so that no copy of an erased text is left; false while a reader
    /// holds it.
    pub fn scrub(&mut self) -> Result<bool, StoreError> {
        if !self.driver.checkpoint()? {
            return Ok(false);
        }
        let emptied = "DELETE FROM scrub";
        self.driver
            .execute("empty the write-ahead log", emptied, values![])?;
        Ok(true)
    }
}
