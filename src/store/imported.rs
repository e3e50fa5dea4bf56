//! Imported conversations: the rows that follow from their artifacts, and what is read of them.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use crate::record::hash::Hash32;
use crate::record::ledger::imported::{
    HIDDEN_ID, IMPORT, IMPORTED_AUDIT, IMPORTED_CONVERSATION, IMPORTED_PROMOTION, ImportFormat,
    ImportedConversation, ImportedMessage, ImportedRole, ImportedState, gone, imported_of,
    line_of_message, message_number,
};
use crate::record::time::Seconds;

use super::access::{ReadStore, WriteStore};
use super::driver::{IndexMatch, SearchIndex, SqlValue, TextCheck, TextQuery};
use super::search::{SEARCHING, TakeMatch, fitting, holds};
use super::table::{Bind, Row, row, values};
use super::{ArtifactRow, StoreError};

/// An imported message that fits a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMatch {
    /// Its number among all imported messages.
    pub n: u64,
    /// Line of its conversation.
    pub line: u64,
    /// Its place in the conversation, from 0.
    pub i: u64,
    /// Id of its conversation.
    pub id: String,
    /// Whose file that came from.
    pub format: ImportFormat,
    /// Who wrote it.
    pub role: ImportedRole,
    /// When it was said, as its source says.
    pub at: Option<Seconds>,
    /// Its text.
    pub text: String,
    /// What its conversation is called.
    pub title: Option<String>,
}

row! {
    /// What an index and the rows say of a message that fits: all but what stands in the document.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ImportedHit {
        /// How well it fits; lower is better.
        score: f64 = "score",
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

/// The first and the last number that messages of the conversation of a line have.
fn numbers_of_line(line: u64) -> (u64, u64) {
    (message_number(line, 0), message_number(line + 1, 0) - 1)
}

/// An erased conversation has no hint of its source: whatever stands there is none of ours.
const ERASED_WITH_HINT: &str = "state = 'erased' AND source_tag IS NOT NULL";

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

/// Which messages of imported conversations are looked for.
pub struct ImportedSearch<'a> {
    /// What their texts have and have not.
    pub wanted: &'a TextQuery,
    /// Which of them are looked at.
    pub filter: &'a ImportedFilter,
    /// What else is asked of a text that has the words; none where that is enough.
    pub also: Option<&'a dyn Fn(&str) -> bool>,
}

/// The numbers of the messages in a conversation's line.
const OF_LINE: &str = "n >= ?1 << 20 AND n < (?1 + 1) << 20";

/// The columns of an [`ImportedHit`] behind its score. None is of the document: that may have megabytes, and
/// each of its messages would have it read.
pub(super) const HIT: &str = "m.n, m.line, m.i, c.id, c.format, m.role, m.at";
/// The rows of a message beside it, where its conversation counts and its text is here.
pub(super) const OF_HIT: &str =
    "CROSS JOIN imported_conversation c ON c.line = m.line AND c.state = 'current'
     CROSS JOIN artifact a ON a.line = m.line AND a.document IS NOT NULL";

/// The texts of all messages of the conversation of a line, by their places: its document is read once.
const TEXTS: &str =
    "SELECT e.key, CASE e.type WHEN 'object' THEN json_extract(e.value, '$.text') END
      FROM artifact a CROSS JOIN json_each(a.document, '$.content.messages') e
     WHERE a.line = ?1 AND a.document IS NOT NULL";

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
        "SELECT {columns} FROM {table} CROSS JOIN imported_message m ON m.n = {table}.rowid {OF_HIT}
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

impl ImportedSearch<'_> {
    /// Whether a message that the index gave is one that is wanted; its text is read only where that has to
    /// be known.
    fn is_it(
        &self,
        check: Option<&dyn TextCheck>,
        texts: &mut ConversationTexts<'_>,
        hit: &ImportedHit,
    ) -> Result<bool, StoreError> {
        if check.is_none() && self.also.is_none() {
            return Ok(true);
        }
        let text = texts.text(hit.line, hit.i)?;
        Ok(holds(check, text)? && self.also.is_none_or(|also| also(text)))
    }
}

/// The texts of one imported conversation at a time. Of several messages of it that are asked for behind one
/// another its document is read once, and no more than one of these is in memory.
pub(super) struct ConversationTexts<'s> {
    store: &'s ReadStore,
    /// Line of the one whose texts are at hand.
    line: Option<u64>,
    texts: HashMap<u64, String>,
    /// How often a document was read.
    #[cfg(test)]
    reads: usize,
}

impl<'s> ConversationTexts<'s> {
    /// None at hand yet.
    pub(super) fn of(store: &'s ReadStore) -> Self {
        ConversationTexts {
            store,
            line: None,
            texts: HashMap::new(),
            #[cfg(test)]
            reads: 0,
        }
    }

    /// The text of the message at a place, from 0, of the conversation of a line.
    fn text(&mut self, line: u64, i: u64) -> Result<&str, StoreError> {
        if self.line != Some(line) {
            self.read(line)?;
        }
        let text = self.texts.get(&i).ok_or_else(|| StoreError::Corrupt {
            place: format!("artifact.document of line {line}, the text of message {i}"),
            expected: "a text".to_owned(),
            actual: SqlValue::Null.to_string(),
        })?;
        Ok(text)
    }

    fn read(&mut self, line: u64) -> Result<(), StoreError> {
        // Those of the one before go first.
        (self.line, self.texts) = (None, HashMap::new());
        let texts = &mut self.texts;
        self.store
            .each(SEARCHING, TEXTS, values![line], &mut |(i, text)| {
                let text: Option<String> = text;
                texts.extend(text.map(|text| (i, text)));
                Ok(())
            })?;
        self.line = Some(line);
        #[cfg(test)]
        {
            self.reads += 1;
        }
        Ok(())
    }

    /// A hit with what its document says.
    pub(super) fn whole(&mut self, hit: ImportedHit) -> Result<ImportedMatch, StoreError> {
        Ok(ImportedMatch {
            text: self.text(hit.line, hit.i)?.to_owned(),
            title: self.store.said_in(hit.line, "$.content.title")?,
            n: hit.n,
            line: hit.line,
            i: hit.i,
            id: hit.id,
            format: hit.format,
            role: hit.role,
            at: hit.at,
        })
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

    /// Lines of erased conversations beside which something stands where a hint of their source was.
    pub fn erased_with_hint(&self) -> Result<Vec<u64>, StoreError> {
        let sql = format!("SELECT line FROM imported_conversation WHERE {ERASED_WITH_HINT}");
        self.list("look for hints of what is erased", &sql, values![])
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

    /// Other imports of the same file, or the same files, that are on record.
    pub fn imports_of_same_file(&self, import: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT o.id FROM artifact i CROSS JOIN artifact o
                    WHERE i.kind = ?2 AND i.id = ?1 AND o.kind = ?2 AND o.id <> i.id
                      AND json_extract(i.document, '$.content.file') IS NOT NULL
                      AND json_extract(o.document, '$.content.file') = json_extract(i.document, '$.content.file')
                    ORDER BY o.line";
        self.list("look for imports of a file", sql, values![import, IMPORT])
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

    /// Gives the newest message that fits of each imported conversation to `take`, the conversation recorded
    /// last first, until it has enough.
    pub fn search_imported(
        &self,
        search: &ImportedSearch<'_>,
        take: &mut TakeMatch<'_, ImportedMatch>,
    ) -> Result<(), StoreError> {
        self.newest_imported(search, &mut ConversationTexts::of(self), take)
    }

    fn newest_imported(
        &self,
        search: &ImportedSearch<'_>,
        texts: &mut ConversationTexts<'_>,
        take: &mut TakeMatch<'_, ImportedMatch>,
    ) -> Result<(), StoreError> {
        let check = self.driver.text_check(search.wanted)?;
        let mut taken = None;
        self.each_imported_hit(search, "0.0", &mut |hit| {
            if taken == Some(hit.line) || !search.is_it(check.as_deref(), texts, &hit)? {
                return Ok(ControlFlow::Continue(()));
            }
            taken = Some(hit.line);
            take(texts.whole(hit)?)
        })
    }

    /// Gives the best message that fits of each imported conversation to `take`, best first, each with its
    /// score, until it has enough.
    pub fn rank_imported(
        &self,
        search: &ImportedSearch<'_>,
        take: &mut TakeMatch<'_, (f64, ImportedMatch)>,
    ) -> Result<(), StoreError> {
        self.best_imported(search, &mut ConversationTexts::of(self), take)
    }

    /// Along the index the hits of a conversation follow one another, so that its texts are at hand while
    /// they are looked at; by rank they would alternate with those of others.
    fn best_imported(
        &self,
        search: &ImportedSearch<'_>,
        texts: &mut ConversationTexts<'_>,
        take: &mut TakeMatch<'_, (f64, ImportedMatch)>,
    ) -> Result<(), StoreError> {
        let check = self.driver.text_check(search.wanted)?;
        let fits = self.driver.fits(SearchIndex::Imported, search.wanted)?;
        let mut best: Vec<(f64, u64)> = Vec::new();
        let mut of_line: Vec<ImportedHit> = Vec::new();
        let mut close = |of_line: &mut Vec<ImportedHit>| {
            of_line.sort_by(|one, other| one.score.total_cmp(&other.score));
            for hit in of_line.drain(..) {
                if search.is_it(check.as_deref(), texts, &hit)? {
                    best.push((hit.score, hit.n));
                    break;
                }
            }
            Ok(())
        };
        self.each_imported_hit(search, fits.rank, &mut |hit| {
            if of_line.first().is_some_and(|first| first.line != hit.line) {
                close(&mut of_line)?;
            }
            of_line.push(hit);
            Ok(ControlFlow::Continue(()))
        })?;
        close(&mut of_line)?;
        best.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        for (score, n) in best {
            let sql = format!("SELECT 0.0, {HIT} FROM imported_message m {OF_HIT} WHERE m.n = ?1");
            let hit: Option<ImportedHit> = self.one(SEARCHING, &sql, values![n])?;
            if let Some(hit) = hit
                && take((score, texts.whole(hit)?))?.is_break()
            {
                break;
            }
        }
        Ok(())
    }

    /// Gives all that the index has to `take`, the newest message first, with a score.
    fn each_imported_hit(
        &self,
        search: &ImportedSearch<'_>,
        score: &str,
        take: &mut TakeMatch<'_, ImportedHit>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Imported, search.wanted)?;
        let sql = along_imported(&format!("{score}, {HIT}"), &fits, search.filter);
        self.until_enough(&sql, &search.filter.values(&fits), take)
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
    pub fn count_imported_hits(&self, search: &ImportedSearch<'_>) -> Result<u64, StoreError> {
        let check = self.driver.text_check(search.wanted)?;
        if check.is_some() || search.also.is_some() {
            let (mut texts, mut count, mut counted) = (ConversationTexts::of(self), 0, None);
            self.each_imported_hit(search, "0.0", &mut |hit| {
                if counted != Some(hit.line) && search.is_it(check.as_deref(), &mut texts, &hit)? {
                    counted = Some(hit.line);
                    count += 1;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        let fits = self.driver.fits(SearchIndex::Imported, search.wanted)?;
        let along = along_imported("m.line AS line", &fits, search.filter);
        let sql = format!("SELECT count(DISTINCT line) FROM ({along})");
        self.sole("count hits", &sql, &search.filter.values(&fits))
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
        self.driver
            .forget_texts(SearchIndex::Imported, numbers_of_line(line))
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
        self.driver
            .index_texts(SearchIndex::Imported, numbers_of_line(before.line))
    }

    /// Notes what the source of a conversation was like: a hint for the next import, and no evidence.
    pub fn tag_import(&mut self, line: u64, tag: &[u8]) -> Result<(), StoreError> {
        let sql = "UPDATE imported_conversation SET source_tag = ?2 WHERE line = ?1";
        self.change("note what a source was like", sql, values![line, tag])
            .map(drop)
    }

    /// Takes away what stands where hints of the sources of erased conversations were.
    pub(super) fn forget_hints_of_erased(&self) -> Result<(), StoreError> {
        let sql =
            format!("UPDATE imported_conversation SET source_tag = NULL WHERE {ERASED_WITH_HINT}");
        self.change("make derived rows again", &sql, values![])
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

    /// Puts the words of conversations behind the one that a message is of into the index.
    pub(super) fn index_imported_since(&self, before: u64) -> Result<(), StoreError> {
        // From the next line on: the one of the message is in the index, and need not be read again.
        let next = message_number(line_of_message(before) + 1, 0);
        match self.last_imported()? > before {
            true => self
                .driver
                .index_texts(SearchIndex::Imported, (next, u64::MAX)),
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
    use serde_json::json;

    use super::*;
    use crate::store::driver::SearchTerm;
    use crate::store::{Store, plan};

    /// So many messages have the conversations of these tests, which makes them large: see `Fts::large`.
    const MESSAGES: u64 = 600;

    /// Message `i` of a conversation: each has the word, and by rank those of several conversations
    /// alternate.
    fn said(i: u64) -> String {
        let rest = usize::try_from(i * 7 % MESSAGES).unwrap();
        format!("wombat number {i} {}", "and so on ".repeat(rest))
    }

    /// A database with imported conversations of such messages, in these lines.
    fn imported(home: &tempfile::TempDir, lines: &[u64]) -> Store {
        let mut store = Store::create(&home.path().join("gently.db")).unwrap();
        for line in lines {
            let messages = (0..MESSAGES)
                .map(|i| json!({"id": i.to_string(), "role": "user", "text": said(i)}));
            let content = json!({"format": "jsonl", "import": "import:000001", "source_id": line.to_string(),
                "messages": messages.collect::<Vec<_>>(), "title": format!("Of line {line}")});
            let artifact = ArtifactRow {
                line: *line,
                kind: IMPORTED_CONVERSATION.to_owned(),
                id: format!("imported:{line:06}"),
                document: Some(json!({"content": content}).to_string()),
                salt: None,
                commitment: Hash32::digest(b"whatever"),
            };
            let put = &mut |write: &mut WriteStore| write.put_artifact(&artifact);
            store.transact(put).unwrap();
        }
        store
    }

    fn word(text: &str) -> TextQuery {
        let term = SearchTerm {
            text: text.to_owned(),
            is_beginning: false,
        };
        TextQuery {
            all: vec![vec![term]],
            without: Vec::new(),
        }
    }

    const ALL: ImportedFilter = ImportedFilter {
        lines: 0..u64::MAX,
        by_user: None,
        model: None,
    };

    /// Line, place and title of what a search takes, newest or best first, and how often it read a document.
    fn found(
        store: &Store,
        search: &ImportedSearch<'_>,
        by_rank: bool,
    ) -> (Vec<(u64, u64, String)>, usize) {
        let (mut texts, mut found) = (ConversationTexts::of(store), Vec::new());
        let mut take = |hit: ImportedMatch| {
            assert_eq!(hit.text, said(hit.i));
            found.push((hit.line, hit.i, hit.title.unwrap()));
            Ok(ControlFlow::Continue(()))
        };
        match by_rank {
            true => store.best_imported(search, &mut texts, &mut |(_, hit)| take(hit)),
            false => store.newest_imported(search, &mut texts, &mut take),
        }
        .unwrap();
        (found, texts.reads)
    }

    /// However many of its messages are looked at, a document is read once, and by rank once more for what
    /// is shown of it.
    #[test]
    fn a_search_reads_a_document_once_for_all_of_its_messages() {
        let home = tempfile::tempdir().unwrap();
        let store = imported(&home, &[3, 5]);
        let wanted = word("wombat");
        let of = |line: u64, i: u64| (line, i, format!("Of line {line}"));
        // Most of them have the word, and are not what is wanted.
        let also = |text: &str| text.contains("number 7 ") || text.contains("number 11 ");
        let all = |also| ImportedSearch {
            wanted: &wanted,
            filter: &ALL,
            also,
        };
        let (newest, reads) = found(&store, &all(Some(&also)), false);
        assert_eq!(newest, [of(5, 11), of(3, 11)]);
        assert_eq!(reads, 2);
        // The shorter one fits better.
        let (best, reads) = found(&store, &all(Some(&also)), true);
        assert_eq!(best, [of(5, 7), of(3, 7)]);
        assert!(reads <= 4, "{reads}");
        let (best, reads) = found(&store, &all(None), true);
        assert_eq!(best, [of(5, 0), of(3, 0)]);
        assert_eq!(reads, 2);
        assert_eq!(store.count_imported_hits(&all(None)).unwrap(), 2);
        assert_eq!(store.count_imported_hits(&all(Some(&also))).unwrap(), 2);
        let nothing = |_: &str| false;
        assert_eq!(store.count_imported_hits(&all(Some(&nothing))).unwrap(), 0);
    }

    /// Whether the index of imported messages is that of their texts: by what verify asks, by what a rebuild
    /// asks, and by what anybody's SQLite says with the view of the migrations.
    fn is_sound(store: &Store) -> bool {
        let faults = store
            .driver
            .search_faults(SearchIndex::Imported, 9)
            .unwrap();
        let own = store
            .driver
            .has_words_of_texts(SearchIndex::Imported)
            .unwrap();
        let check = "INSERT INTO imported_fts (imported_fts, rank) VALUES ('integrity-check', 1)";
        let anybody = store.driver.execute("check", check, values![]).is_ok();
        assert_eq!(
            (own, anybody),
            (faults.is_empty(), faults.is_empty()),
            "{faults:?}"
        );
        own
    }

    #[test]
    fn what_leaves_the_index_leaves_no_word_and_what_is_made_again_is_as_before() {
        let home = tempfile::tempdir().unwrap();
        let mut store = imported(&home, &[3, 5]);
        let indexed = |store: &Store| store.driver.indexed(SearchIndex::Imported).unwrap();
        assert_eq!(indexed(&store), 2 * MESSAGES);
        assert!(is_sound(&store));

        let erase = &mut |write: &mut WriteStore| write.erase_artifact(3);
        store.transact(erase).unwrap();
        assert_eq!(indexed(&store), MESSAGES);
        assert!(is_sound(&store));

        // One word is another one, and there are as many as before.
        let n = message_number(5, 9);
        let is = said(9);
        let out =
            "INSERT INTO imported_fts (imported_fts, rowid, content) VALUES ('delete', ?1, ?2)";
        store.driver.execute("alter", out, values![n, is]).unwrap();
        let put = "INSERT INTO imported_fts (rowid, content) VALUES (?1, ?2)";
        let other = is.replacen("wombat", "quokka", 1);
        store
            .driver
            .execute("alter", put, values![n, other])
            .unwrap();
        assert!(!is_sound(&store));
        store.driver.index_again(SearchIndex::Imported).unwrap();
        assert_eq!(indexed(&store), MESSAGES);
        assert!(is_sound(&store));
        assert_eq!(
            store
                .driver
                .count_texts(SearchIndex::Imported, "quokka", 9)
                .unwrap(),
            0
        );
        assert_eq!(
            store
                .driver
                .count_texts(SearchIndex::Imported, "wombat", 9999)
                .unwrap(),
            MESSAGES
        );
    }

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
        let along = plan(&along_imported(HIT, &fits, &filter));
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
        // What is read of the document would be read for each of its messages.
        let along = along_imported(HIT, &fits, &filter);
        assert!(!along.contains("json"), "{along}");
    }
}
