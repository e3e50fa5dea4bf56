//! Imported conversations: the rows that follow from their artifacts, and what is read of them.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

use crate::record::hash::Hash32;
use crate::record::ledger::imported::{
    HIDDEN_ID, IMPORTED_AUDIT, IMPORTED_CONVERSATION, IMPORTED_PROMOTION, ImportFormat,
    ImportedConversation, ImportedMessage, ImportedRole, ImportedState, gone, imported_of,
    line_of_message, message_number,
};
use crate::record::time::Seconds;

use super::access::{ReadStore, WriteStore};
use super::driver::{IndexMatch, SearchIndex, SqlValue, TextQuery};
use super::search::{TakeMatch, fitting, holds, ranked};
use super::table::{Bind, Row, row, values};
use super::{ArtifactRow, StoreError};

row! {
    /// An imported message that fits a search.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ImportedMatch {
        /// Its number among all imported messages.
        n: u64 = "n",
        /// Line of its conversation.
        line: u64 = "line",
        /// Its place in the conversation, from 0.
        i: u64 = "i",
        /// Id of its conversation.
        id: String = "id",
        /// Whose file that came from.
        format: ImportFormat = "format",
        /// Who wrote it.
        role: ImportedRole = "role",
        /// The model, as the source names it.
        model: Option<String> = "model",
        /// Its text.
        text: String = "text",
        /// What its conversation is called.
        title: Option<String> = "title",
        /// When it was said, as its source says.
        at: Option<Seconds> = "at",
    }
}

row! {
    /// The conversation that a source had before, as it is on record.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct KnownImport {
        /// Id of the conversation.
        id: String = "id",
        /// SHA-256 of what it says.
        digest: Option<Hash32> = "digest",
        /// What its source was like, as a hint.
        tag: Option<Vec<u8>> = "source_tag",
        /// When it was changed last, as its source says: its own time or that of its newest message, the later
        /// one; else when it began.
        changed_at: Option<Seconds> = "changed_at",
    }
}

/// Which imported messages are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFilter {
    /// Of conversations recorded in these lines.
    pub lines: Range<u64>,
    /// A person's alone, or all others.
    pub by_user: Option<bool>,
    /// Of models whose name is like this, in the words of SQL's LIKE.
    pub model: Option<String>,
}

/// The numbers of the messages in a conversation's line.
const OF_LINE: &str = "n >= ?1 << 20 AND n < (?1 + 1) << 20";

pub(super) const MATCH: &str =
    "m.n, m.line, m.i, c.id, c.format, m.role, m.model, json_extract(a.document, '$.content.messages[' || m.i || '].text'),
     json_extract(a.document, '$.content.title'), m.at";
const WITH: &str = "CROSS JOIN imported_message m ON m.n = imported_fts.rowid
     CROSS JOIN imported_conversation c ON c.line = m.line AND c.state = 'current'
     CROSS JOIN artifact a ON a.line = m.line AND a.document IS NOT NULL";

/// The messages that fit, along the index: `?1` is what is looked for, `?2` to `?3` the numbers, and `?4`
/// what a model is like.
fn along_imported(
    columns: &str,
    IndexMatch { table, holds, .. }: &IndexMatch,
    filter: &ImportedFilter,
) -> String {
    let by = match filter.by_user {
        Some(true) => " AND m.role = 'user'",
        Some(false) => " AND m.role <> 'user'",
        None => "",
    };
    let model = match filter.model {
        Some(_) => r" AND m.model LIKE ?4 ESCAPE '\'",
        None => "",
    };
    format!(
        "SELECT {columns} FROM {table} {WITH}
          WHERE {holds} AND {table}.rowid >= ?2 AND {table}.rowid < ?3{by}{model} ORDER BY {table}.rowid DESC"
    )
}

/// When a conversation was changed last, as its source says; without a time it is older than all.
const CHANGED: &str = "ifnull(updated_at, ifnull(created_at, -1))";

/// Imported conversations that count, those changed last first; up to `?1`.
fn listing(is_behind: bool) -> String {
    // Behind the one of line `?2`, and its time.
    let behind = match is_behind {
        true => format!(
            " AND ({CHANGED}, line) < (SELECT {CHANGED}, line FROM imported_conversation WHERE line = ?2)"
        ),
        false => String::new(),
    };
    format!("WHERE state = 'current'{behind} ORDER BY {CHANGED} DESC, line DESC LIMIT ?1")
}

impl ImportedFilter {
    fn values<'a>(&'a self, fits: &IndexMatch) -> Vec<SqlValue<'a>> {
        let number = |line: u64| message_number(line.min(u64::MAX >> 24), 0);
        let numbers = number(self.lines.start)..number(self.lines.end);
        let model: Vec<SqlValue<'a>> = self.model.iter().map(Bind::value).collect();
        fitting(fits, &numbers, &model)
    }
}

impl ReadStore {
    /// Calls `each` for every imported conversation, in the order of lines.
    pub fn each_imported(
        &self,
        each: &mut dyn FnMut(ImportedConversation) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY line", values![], each)
    }

    /// The rows of the messages of the imported conversation of a line, in their order.
    pub fn imported_messages(&self, line: u64) -> Result<Vec<ImportedMessage>, StoreError> {
        self.rows(&format!("WHERE {OF_LINE} ORDER BY n"), values![line])
    }

    /// Lines with rows of messages that are of no imported conversation with a text, and rows that
    /// stand elsewhere than their number says.
    pub fn stray_imported_lines(&self) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT DISTINCT m.n >> 20 FROM imported_message m
                     LEFT JOIN imported_conversation c ON c.line = m.n >> 20
                    WHERE c.line IS NULL OR c.state = 'erased' OR m.line <> m.n >> 20 OR m.i <> m.n & 1048575";
        self.list("look for stray messages", sql, values![])
    }

    /// An imported conversation by its id.
    pub fn imported(&self, id: &str) -> Result<Option<ImportedConversation>, StoreError> {
        self.row("WHERE id = ?1 ORDER BY line LIMIT 1", values![id])
    }

    /// What is on record and counts of the conversation that a source calls so.
    pub fn known_import(
        &self,
        format: ImportFormat,
        source_id: &str,
    ) -> Result<Option<KnownImport>, StoreError> {
        let sql = "SELECT id, digest, source_tag, ifnull(nullif(max(ifnull(updated_at, -1),
                           ifnull((SELECT max(m.at) FROM imported_message m WHERE m.n >= c.line << 20 AND m.n < (c.line + 1) << 20), -1)),
                           -1), created_at) AS changed_at
                     FROM imported_conversation c
                    WHERE format = ?1 AND source_id = ?2 AND state = 'current' ORDER BY line DESC LIMIT 1";
        let what = ImportedConversation::READING;
        self.one(what, sql, values![format, source_id])
    }

    /// Ids of the conversation of an id and of those whose place it took, oldest first. Itself alone, once
    /// erased.
    pub fn imported_versions(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let mut found = self.versions_where("o.line <= c.line", id)?;
        if found.is_empty() {
            found.push(id.to_owned());
        }
        Ok(found)
    }

    /// Ids of those that took the place of the conversation of an id, oldest first.
    pub fn newer_versions(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.versions_where("o.line > c.line", id)
    }

    fn versions_where(&self, place: &str, id: &str) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "SELECT o.id FROM imported_conversation c JOIN imported_conversation o
                 ON o.format = c.format AND o.source_id = c.source_id
              WHERE c.id = ?1 AND {place} ORDER BY o.line"
        );
        self.list(ImportedConversation::READING, &sql, values![id])
    }

    /// Ids of all that an import recorded and whose text is here, but for corrections.
    pub fn texts_of_import(&self, import: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM imported_conversation WHERE import_id = ?1
                   UNION ALL SELECT id FROM artifact WHERE kind IN (?2, ?3) AND document IS NOT NULL
                     AND json_extract(document, '$.content.import') = ?1";
        let beside = values![import, IMPORTED_PROMOTION, IMPORTED_AUDIT];
        self.list("look for what an import recorded", sql, beside)
    }

    /// The import that an artifact came with; none of one that came with none, or whose text is not here.
    pub fn import_of(&self, id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT json_extract(document, '$.content.import') FROM artifact
                    WHERE id = ?1 AND kind IN (?2, ?3, ?4) AND document IS NOT NULL LIMIT 1";
        let kinds = values![
            id,
            IMPORTED_CONVERSATION,
            IMPORTED_PROMOTION,
            IMPORTED_AUDIT
        ];
        let found: Option<Option<String>> = self.one("look for an import", sql, kinds)?;
        Ok(found.flatten())
    }

    /// How many imported conversations count whose ids stand on record as hashes.
    pub fn count_hidden_imports(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM imported_conversation
                    WHERE state = 'current' AND substr(source_id, 1, length(?1)) = ?1";
        self.sole("count imported conversations", sql, values![HIDDEN_ID])
    }

    /// Of these, how many were noted under another key than the one that is known by a mark; what an earlier
    /// build noted says nothing of its key.
    pub fn count_hidden_elsewhere(&self, mark: &[u8]) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM imported_conversation
                    WHERE state = 'current' AND substr(source_id, 1, length(?1)) = ?1
                      AND length(source_tag) = 32 + length(?2) AND substr(source_tag, 33) <> ?2";
        self.sole(
            "count imported conversations",
            sql,
            values![HIDDEN_ID, mark],
        )
    }

    /// Up to `most` imported conversations that count, behind the one of a line, those first that their
    /// sources say were changed last.
    pub fn imported_behind(
        &self,
        line: Option<u64>,
        most: u32,
    ) -> Result<Vec<ImportedConversation>, StoreError> {
        let sql = listing(line.is_some());
        match line {
            Some(line) => self.rows(&sql, values![most, line]),
            None => self.rows(&sql, values![most]),
        }
    }

    /// The imported conversation of a line, if its text is here.
    pub fn imported_of_line(&self, line: u64) -> Result<Option<ImportedConversation>, StoreError> {
        self.row("WHERE line = ?1 AND state <> 'erased'", values![line])
    }

    /// How many imported conversations count.
    pub fn count_imported(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM imported_conversation WHERE state = 'current'";
        self.sole("count imported conversations", sql, values![])
    }

    /// Those that an import recorded and whose text is here, oldest first.
    pub fn imported_with(&self, import: &str) -> Result<Vec<ImportedConversation>, StoreError> {
        self.rows("WHERE import_id = ?1 ORDER BY line", values![import])
    }

    /// Imports that conversations name, each once.
    pub fn named_imports(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT import_id FROM imported_conversation WHERE import_id IS NOT NULL ORDER BY 1";
        self.list("look for imports", sql, values![])
    }

    /// Up to `most` imported conversations that count and are called exactly so, newest first.
    pub fn imported_titled(
        &self,
        title: &str,
        most: u32,
    ) -> Result<Vec<ImportedConversation>, StoreError> {
        let columns = ImportedConversation::columns_of("c");
        let sql = format!(
            "SELECT {columns} FROM artifact a CROSS JOIN imported_conversation c ON c.line = a.line
              WHERE a.kind = 'imported_conversation' AND a.document IS NOT NULL
                AND json_extract(a.document, '$.content.title') = ?1 AND c.state = 'current'
              ORDER BY c.line DESC LIMIT ?2"
        );
        self.list(ImportedConversation::READING, &sql, values![title, most])
    }

    /// Gives the imported messages that fit to `take`, those of the conversation recorded last first,
    /// until it has enough.
    pub fn search_imported(
        &self,
        wanted: &TextQuery,
        filter: &ImportedFilter,
        take: &mut TakeMatch<'_, ImportedMatch>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Imported, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let sql = along_imported(MATCH, &fits, filter);
        self.until_enough::<ImportedMatch>(&sql, &filter.values(&fits), &mut |found| match holds(
            check.as_deref(),
            &found.text,
        )? {
            true => take(found),
            false => Ok(ControlFlow::Continue(())),
        })
    }

    /// The same, best first, each with its score.
    pub fn rank_imported(
        &self,
        wanted: &TextQuery,
        filter: &ImportedFilter,
        take: &mut TakeMatch<'_, (f64, ImportedMatch)>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Imported, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let sql = ranked(&fits, &along_imported(MATCH, &fits, filter));
        self.until_enough::<(f64, ImportedMatch)>(&sql, &filter.values(&fits), &mut |found| {
            match holds(check.as_deref(), &found.1.text)? {
                true => take(found),
                false => Ok(ControlFlow::Continue(())),
            }
        })
    }

    /// Of the `among` imported conversations recorded last those with a title: id, whose file it came from,
    /// and title, newest first.
    pub fn imported_titles(
        &self,
        among: u32,
    ) -> Result<Vec<(String, ImportFormat, String)>, StoreError> {
        let sql = "SELECT id, format, title FROM (
                     SELECT c.id, c.format, c.line, json_extract(a.document, '$.content.title') AS title
                       FROM imported_conversation c CROSS JOIN artifact a ON a.line = c.line
                      WHERE c.state = 'current' ORDER BY c.line DESC LIMIT ?1)
                    WHERE title IS NOT NULL ORDER BY line DESC";
        self.list("read titles", sql, values![among])
    }

    /// How many imported conversations have a message that fits.
    pub fn count_imported_hits(
        &self,
        wanted: &TextQuery,
        filter: &ImportedFilter,
    ) -> Result<u64, StoreError> {
        if self.driver.text_check(wanted)?.is_some() {
            let mut lines = BTreeSet::new();
            self.search_imported(wanted, filter, &mut |found| {
                lines.insert(found.line);
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(u64::try_from(lines.len()).unwrap_or(u64::MAX));
        }
        let fits = self.driver.fits(SearchIndex::Imported, wanted)?;
        let along = along_imported("m.line AS line", &fits, filter);
        let sql = format!("SELECT count(DISTINCT line) FROM ({along})");
        self.sole("count hits", &sql, &filter.values(&fits))
    }

    /// The number of the newest imported message; 0 before the first.
    pub(super) fn last_imported(&self) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(n), 0) FROM imported_message";
        self.sole("count imported messages", sql, values![])
    }
}

impl WriteStore {
    /// The conversation that an artifact gives, with its messages; the one whose place it takes is in no
    /// list and no index from now on. The words of new ones are put into the index with the transaction.
    pub(super) fn follow_imported(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        let (kind, id) = (artifact.kind.as_str(), artifact.id.as_str());
        let given = imported_of(artifact.line, kind, id, artifact.document.as_deref());
        let Some(given) = given else {
            return Ok(());
        };
        if let Some(replaced) = &given.replaces
            && let Some(before) = self.imported(replaced)?
            && before.state == ImportedState::Current
        {
            self.set_imported_state(before.line, ImportedState::Replaced)?;
        }
        self.add(&given.conversation)?;
        self.add_all(&given.messages, &[])
    }

    /// Gives a conversation another state than current; its words leave the index before.
    fn set_imported_state(&self, line: u64, state: ImportedState) -> Result<(), StoreError> {
        self.forget_imported_words(line)?;
        let sql = "UPDATE imported_conversation SET state = ?2 WHERE line = ?1";
        self.change("give a conversation its state", sql, values![line, state])
            .map(drop)
    }

    pub(super) fn forget_imported_words(&self, line: u64) -> Result<(), StoreError> {
        for message in self.imported_messages(line)? {
            self.driver.forget_text(SearchIndex::Imported, message.n)?;
        }
        Ok(())
    }

    /// Of an artifact that is erased nothing is left but its id. The one whose place it took counts again,
    /// unless another one took it, too.
    pub(super) fn follow_erased_imported(
        &mut self,
        erased: &ArtifactRow,
        replaced: Option<String>,
    ) -> Result<(), StoreError> {
        let what = "erase an imported conversation";
        let line = erased.line;
        if self.imported(&erased.id)?.is_none() {
            return Ok(());
        }
        let sql = format!("DELETE FROM imported_message WHERE {OF_LINE}");
        self.change(what, &sql, values![line])?;
        self.change(
            what,
            "DELETE FROM imported_conversation WHERE line = ?1",
            values![line],
        )?;
        self.add(&gone(line, &erased.id))?;
        let Some(before) = replaced.map(|id| self.imported(&id)).transpose()?.flatten() else {
            return Ok(());
        };
        let others = "SELECT EXISTS (SELECT 1 FROM artifact WHERE kind = 'imported_conversation'
                        AND document IS NOT NULL AND json_extract(document, '$.content.replaces') = ?1)";
        if before.state != ImportedState::Replaced || self.sole(what, others, values![before.id])? {
            return Ok(());
        }
        let sql = "UPDATE imported_conversation SET state = 'current' WHERE line = ?1";
        self.change(what, sql, values![before.line])?;
        let numbers = (
            message_number(before.line, 0),
            message_number(before.line + 1, 0) - 1,
        );
        self.driver.index_texts(SearchIndex::Imported, numbers)
    }

    /// Notes what the source of a conversation was like: a hint for the next import, and no evidence.
    pub fn tag_import(&mut self, line: u64, tag: &[u8]) -> Result<(), StoreError> {
        let sql = "UPDATE imported_conversation SET source_tag = ?2 WHERE line = ?1";
        self.change("note what a source was like", sql, values![line, tag])
            .map(drop)
    }

    /// Makes the rows of the messages of a line again.
    pub(super) fn mend_imported_messages(
        &self,
        line: u64,
        messages: &[ImportedMessage],
    ) -> Result<(), StoreError> {
        let what = "make derived rows again";
        let sql = format!("DELETE FROM imported_message WHERE {OF_LINE}");
        self.change(what, &sql, values![line])?;
        self.add_all(messages, &[])
    }

    /// Puts the words of messages behind a number into the index.
    pub(super) fn index_imported_since(&self, before: u64) -> Result<(), StoreError> {
        match self.last_imported()? > before {
            true => self
                .driver
                .index_texts(SearchIndex::Imported, (before + 1, u64::MAX)),
            false => Ok(()),
        }
    }
}

/// Of what a conversation's text gives, whether it is what the rows of its messages say.
pub(super) fn has_messages_of(
    store: &ReadStore,
    line: u64,
    given: &[ImportedMessage],
) -> Result<bool, StoreError> {
    debug_assert!(given.iter().all(|one| line_of_message(one.n) == line));
    match store.imported_messages(line) {
        Ok(found) => Ok(found == given),
        Err(StoreError::Corrupt { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    /// Every look goes along an index, whatever was imported.
    #[test]
    fn imported_conversations_are_found_by_indexes() {
        let fits = IndexMatch {
            table: "imported_fts",
            holds: "imported_fts MATCH ?1".to_owned(),
            value: SqlValue::Text("\"a\"".into()),
            rank: "bm25(imported_fts)",
        };
        let filter = ImportedFilter {
            lines: 0..9,
            by_user: Some(false),
            model: Some("%a%".to_owned()),
        };
        let along = plan(&along_imported(MATCH, &fits, &filter));
        assert!(
            along.starts_with("SCAN imported_fts VIRTUAL TABLE INDEX"),
            "{along}"
        );
        // All that count are sorted by time: some ten thousands are at hand at once.
        for is_behind in [false, true] {
            let list = plan(&format!(
                "SELECT * FROM imported_conversation {}",
                listing(is_behind)
            ));
            assert!(
                list.contains("idx_imported_conversation_state (state=?)"),
                "{list}"
            );
        }
        let of_line = plan(&format!(
            "SELECT * FROM imported_message WHERE {OF_LINE} ORDER BY n"
        ));
        assert!(
            of_line.contains("USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            "{of_line}"
        );
        for plan in [along, of_line] {
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
