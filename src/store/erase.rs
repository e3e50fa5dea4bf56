//! Destroying texts, and every digest that is made from them.

use uuid::Uuid;

use super::access::{ReadStore, Store, WriteStore};
use super::driver::{ReaderWait, SearchIndex, TransactionMode};
use super::exchanges::must_change;
use super::ledger::PARTS;
use super::table::values;
use super::threads::OF_EXCHANGE;
use super::{ErasureCommitmentRow, ExchangeRow, StoreError};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::prompt::ON_RECORD;

/// What is being done, for an error.
const SCRUBBING: &str = "empty the write-ahead log";

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
                self.driver.forget_texts(SearchIndex::Turns, (n, n))?;
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
    /// Whether all search indexes are such that what was erased is out of them: words are taken out only
    /// where a search comes to them.
    pub fn are_indexes_sound(&self) -> Result<bool, StoreError> {
        for index in SearchIndex::ALL {
            if !self.driver.is_index_sound(index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

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
    /// letters of words that are erased go from them. One that is not sound is made again from its texts. What is
    /// written over stands in the write-ahead log until [`Store::scrub`].
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
    /// holds it, or others write all the time.
    pub fn scrub(&mut self, wait: ReaderWait) -> Result<bool, StoreError> {
        self.scrub_and(wait, &mut || {})
    }

    /// The same with something done between the emptying and the note that it is done. Another process may
    /// erase there: then the log is emptied once more, as the note would say the same of its words.
    fn scrub_and(
        &mut self,
        wait: ReaderWait,
        between: &mut dyn FnMut(),
    ) -> Result<bool, StoreError> {
        /// More often than others write while one empties.
        const MOST: usize = 4;
        for _ in 0..MOST {
            let before = self.version_of_others()?;
            if !self.driver.checkpoint(wait)? {
                return Ok(false);
            }
            between();
            self.driver.begin(TransactionMode::Write)?;
            let noted = self.note_scrubbed(before);
            if !matches!(noted, Ok(true)) {
                self.driver.roll_back();
            }
            if noted? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Within a transaction: whether nobody else has written since, and then it is noted and committed.
    fn note_scrubbed(&self, before: u64) -> Result<bool, StoreError> {
        if self.version_of_others()? != before {
            return Ok(false);
        }
        self.driver
            .execute(SCRUBBING, "DELETE FROM scrub", values![])?;
        self.driver.commit()?;
        Ok(true)
    }

    /// A number that is another one once any other connection has written.
    fn version_of_others(&self) -> Result<u64, StoreError> {
        self.sole(SCRUBBING, "PRAGMA data_version", values![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What another process erases while the log is emptied is emptied, too, before it is noted.
    #[test]
    fn what_is_erased_while_the_log_is_emptied_is_not_taken_for_emptied() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        let mut store = Store::create(&path).unwrap();
        let mut other = Store::open(&path).unwrap();
        // Its row alone would be there already: an erasing writes more than that.
        let mut erase = || {
            let erased = other.transact(&mut |write| {
                write.change(SCRUBBING, "DELETE FROM scrub", values![])?;
                write.must_scrub()
            });
            erased.unwrap();
        };
        erase();
        let log = || {
            std::fs::metadata(crate::store::cipher::log_beside(&path))
                .unwrap()
                .len()
        };
        let (mut times, mut left) = (0, Vec::new());
        let done = store.scrub_and(ReaderWait::Seconds, &mut || {
            times += 1;
            left.push(log());
            if times == 1 {
                erase();
            }
        });
        assert!(done.unwrap());
        assert_eq!((times, left), (2, vec![0, 0]));
        assert!(!store.is_to_scrub().unwrap());
        // With no end of it nothing is noted.
        assert!(!store.scrub_and(ReaderWait::Seconds, &mut erase).unwrap());
        assert!(store.is_to_scrub().unwrap());
    }

    /// A reader is not waited for where others would wait, too, and what it held up is done later.
    #[test]
    fn a_reader_is_waited_for_only_where_that_is_said() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        let mut store = Store::create(&path).unwrap();
        store.transact(&mut |write| write.must_scrub()).unwrap();
        let reader = Store::open_read_only(&path).unwrap();
        reader.begin_read().unwrap();
        assert!(reader.is_to_scrub().unwrap());
        store.transact(&mut |write| write.must_scrub()).unwrap();
        let begun = std::time::Instant::now();
        assert!(!store.scrub(ReaderWait::None).unwrap());
        assert!(begun.elapsed() < std::time::Duration::from_secs(4));
        assert!(store.is_to_scrub().unwrap());
        reader.end_read().unwrap();
        assert!(store.scrub(ReaderWait::None).unwrap());
        assert!(!store.is_to_scrub().unwrap());
    }
}
