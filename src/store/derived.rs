//! Rows and search indexes that follow from turns, artifacts and texts and are not what those give:
//! how many there are, and making them again. None of it is evidence.
//!
//! | what | follows from |
//! |---|---|
//! | `continuity_item`, `project` | artifacts |
//! | `conversation` | turns of threads, and artifacts |
//! | `rating` | artifacts: the newest of each exchange and auth key |
//! | `council_answer`, `council_review` | artifacts |
//! | `handoff` | artifacts |
//! | `check_part`, `check_total` | checks of exchanges, added up |
//! | `imported_conversation`, `imported_message` | artifacts |
//! | `tombstone_id` | what tombstones name |
//! | `setting_state` | its tags, and the newest artifact that names settings |
//! | `continuity_fts`, `turn_fts`, `imported_fts` | the texts that the views beside them show |

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::conversation::{ConversationRow, ConversationRows, ProjectRow};
use crate::record::ledger::council::{CouncilAnswer, CouncilReview, Councils};
use crate::record::ledger::erased::{ErasedOnRecord, TOMBSTONE};
use crate::record::ledger::handoff::{Handoff, Handoffs};
use crate::record::ledger::imported::{
    IMPORTED_CONVERSATION, ImportedConversation, ImportedConversations, imported_of,
};
use crate::record::ledger::item::{self, Item, ItemState, Items};
use crate::record::ledger::settings::{CONFIG_RELOAD, SettingTags, named_digest};
use crate::record::ledger::specialist::{Rating, Ratings};

use super::access::{ReadStore, Store, WriteStore};
use super::driver::SearchIndex;
use super::imported::has_messages_of;
use super::table::{Bind, Row, values};
use super::{ArtifactFilter, SettingStateRow, StoreError};

/// What is being done, for an error.
const AGAIN: &str = "make derived rows again";

/// How much of what is derived is not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DerivedFaults {
    /// Facts, notes, decisions and intents whose row is missing, is another, or should not be there.
    pub items: u64,
    /// The same of conversations.
    pub conversations: u64,
    /// The same of projects.
    pub projects: u64,
    /// The same of ratings.
    pub ratings: u64,
    /// The same of what councils decided.
    pub councils: u64,
    /// The same of handoffs.
    pub handoffs: u64,
    /// Parts of the log whose checks are added up to something else.
    pub checks: u64,
    /// The same of imported conversations, and of those with messages that are others.
    pub imported: u64,
    /// Names of what is erased that tombstones give and that are missing, and the other way round.
    pub erased: u64,
    /// 1 where what is noted of settings is not what the record says of them.
    pub settings: u64,
    /// Entries that a search index lacks, or has without a text; 1 of an index that has an entry for
    /// each text, with other words.
    pub indexed: u64,
}

impl DerivedFaults {
    /// Whether all is as it should be.
    pub fn is_nothing(&self) -> bool {
        *self == DerivedFaults::default()
    }

    /// How many rows of tables it is.
    pub fn rows(&self) -> u64 {
        self.items
            + self.conversations
            + self.projects
            + self.ratings
            + self.councils
            + self.handoffs
            + self.checks
            + self.imported
            + self.erased
            + self.settings
    }
}

/// Rows of a table that follow from others, by their key.
struct DerivedTable<K, R> {
    /// As they should be.
    given: BTreeMap<K, R>,
    /// As they are; none where one of them can't be read.
    found: Option<BTreeMap<K, R>>,
}

impl<K: Ord + Bind, R: Row + PartialEq> DerivedTable<K, R> {
    /// How many are missing, are others, or should not be there.
    fn faults(&self) -> u64 {
        let Some(found) = &self.found else {
            return number(self.given.len()).max(1);
        };
        let given = self.given.iter();
        let missing = given.filter(|(key, row)| found.get(key) != Some(row));
        let extra = found.keys().filter(|key| !self.given.contains_key(key));
        number(missing.count() + extra.count())
    }

    /// Takes away what should not be there, and adds what should; `key` is the column of the keys.
    fn mend(&self, write: &WriteStore, key: &str) -> Result<(), StoreError> {
        let (table, none) = (R::TABLE, BTreeMap::new());
        if self.found.is_none() {
            write.change(AGAIN, &format!("DELETE FROM {table}"), values![])?;
        }
        let found = self.found.as_ref().unwrap_or(&none);
        for (of, row) in found {
            if self.given.get(of) != Some(row) {
                let sql = format!("DELETE FROM {table} WHERE {key} = ?1");
                write.change(AGAIN, &sql, &[of.value()])?;
            }
        }
        for (of, row) in &self.given {
            if found.get(of) != Some(row) {
                write.add(row)?;
            }
        }
        Ok(())
    }
}

/// All of what is derived but the indexes, as it should be and as it is.
struct DerivedRows {
    items: DerivedTable<String, Item>,
    conversations: DerivedTable<Uuid, ConversationRow>,
    projects: DerivedTable<String, ProjectRow>,
    ratings: DerivedTable<u64, Rating>,
    answers: DerivedTable<Uuid, CouncilAnswer>,
    reviews: DerivedTable<String, CouncilReview>,
    handoffs: DerivedTable<u64, Handoff>,
    imported: DerivedTable<u64, ImportedConversation>,
    /// Lines of imported conversations whose rows of messages are not what they give.
    unlike_messages: BTreeSet<u64>,
    /// What tombstones name, each with the line of the tombstone.
    erased: BTreeSet<(String, u64)>,
    noted_erased: BTreeSet<(String, u64)>,
    settings: NotedSettings,
}

/// What is noted of settings, beside what should be.
struct NotedSettings {
    /// None where there is none, or it can't be read.
    state: Option<SettingStateRow>,
    tags: SettingTags,
    is_readable: bool,
    /// Line of the newest artifact that names settings, and the digest that it names.
    line: Option<u64>,
    named: Option<Hash32>,
}

impl NotedSettings {
    /// The digest that the tags give under a key.
    fn digest(&self, key: Hash32) -> Result<Hash32, StoreError> {
        self.tags.digest(key).map_err(|fault| StoreError::Query {
            what: "read the settings",
            reason: fault.to_string(),
        })
    }

    fn holds(&self) -> Result<bool, StoreError> {
        let Some(state) = &self.state else {
            // A ledger that was taken over brings lines, and no rows.
            return Ok(self.is_readable && self.named.is_none() && self.tags.0.is_empty());
        };
        let is_named = (state.line, state.named) == (self.line, self.named);
        Ok(self.is_readable && is_named && self.digest(state.key)? == state.digest)
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// None in the place of what can't be read as what its columns promise.
fn readable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(rows) => Ok(Some(rows)),
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl DerivedRows {
    fn of(store: &ReadStore) -> Result<DerivedRows, StoreError> {
        let (mut items, mut said) = (Items::default(), ConversationRows::default());
        let (mut erased, mut ratings) = (BTreeSet::new(), Ratings::default());
        let mut councils = Councils::default();
        let mut handoffs = Handoffs::default();
        let mut imported = ImportedConversations::default();
        let mut unlike_messages = BTreeSet::from_iter(store.stray_imported_lines()?);
        let artifacts = store.artifacts(ArtifactFilter::But(IMPORTED_CONVERSATION))?;
        let mut gone = ErasedOnRecord::default();
        for artifact in &artifacts {
            gone.take(artifact.line, &artifact.kind, artifact.document.as_deref());
        }
        for artifact in artifacts {
            let (kind, id) = (artifact.kind.as_str(), artifact.id.as_str());
            let (line, document) = (artifact.line, artifact.document.as_deref());
            // A text that was put back by hand after its erasing gives nothing.
            let document = document.filter(|_| !gone.has(id, line));
            items.take(line, kind, id, document, artifact.commitment);
            said.take(line, kind, id, document);
            ratings.take(line, kind, document);
            councils.take(line, kind, id, document);
            handoffs.take(line, kind, id, document);
            let content = item::content(document).filter(|_| kind == TOMBSTONE);
            let ids = content
                .as_ref()
                .and_then(|content| content["ids"].as_array());
            let ids = ids.into_iter().flatten().filter_map(|id| id.as_str());
            erased.extend(ids.map(|id| (id.to_owned(), line)));
        }
        // One after the other: each may have megabytes.
        let mut before = 0;
        while let Some(row) = store.next_artifact(IMPORTED_CONVERSATION, before)? {
            before = row.line;
            let document = row.document.as_deref();
            let document = document.filter(|_| !gone.has(&row.id, row.line));
            if let Some(messages) = imported.take(row.line, &row.kind, &row.id, document)
                && !has_messages_of(store, row.line, &messages)?
            {
                unlike_messages.insert(row.line);
            }
        }
        store.each_thread_turn(&mut |turn| {
            said.ask(turn.thread, turn.line, turn.is_message(&councils));
            Ok(())
        })?;
        let found = readable(store.items_by_id())?;
        let mut items = items.into_map();
        // An artifact whose document was lost before it came into this database has no row.
        let is_there = |id: &String| found.as_ref().is_some_and(|found| found.contains_key(id));
        items.retain(|id, item| item.state != ItemState::Erased || is_there(id));
        let threads = store.newest_threads(u32::MAX)?.into_iter();
        let threads = threads.filter_map(|row| Some((row.thread, said.conversation(row.thread)?)));
        let mut noted_erased = BTreeSet::new();
        store.each_tombstone_id(&mut |named| {
            noted_erased.insert(named);
            Ok(())
        })?;
        Ok(DerivedRows {
            items: DerivedTable {
                given: items,
                found,
            },
            conversations: DerivedTable {
                given: threads.collect(),
                found: readable(store.conversations_by_thread())?,
            },
            projects: DerivedTable {
                given: said.projects(),
                found: readable(store.projects_by_id())?,
            },
            ratings: DerivedTable {
                given: ratings.into_map(),
                found: readable(store.ratings_by_line())?,
            },
            answers: DerivedTable {
                given: councils.answers().clone(),
                found: readable(store.council_answers_by_exchange())?,
            },
            reviews: DerivedTable {
                given: councils.reviews().clone(),
                found: readable(store.council_reviews_by_id())?,
            },
            handoffs: DerivedTable {
                given: handoffs.into_map(),
                found: readable(store.handoffs_by_line())?,
            },
            imported: DerivedTable {
                given: imported.into_map(),
                found: readable(store.imported_by_line())?,
            },
            unlike_messages,
            erased,
            noted_erased,
            settings: store.noted_settings()?,
        })
    }
}

impl ReadStore {
    fn items_by_id(&self) -> Result<BTreeMap<String, Item>, StoreError> {
        let mut rows = BTreeMap::new();
        self.each_item(&mut |item| {
            rows.insert(item.id.clone(), item);
            Ok(())
        })?;
        Ok(rows)
    }

    fn conversations_by_thread(&self) -> Result<BTreeMap<Uuid, ConversationRow>, StoreError> {
        let mut rows = BTreeMap::new();
        self.each_conversation(&mut |row| {
            rows.insert(row.thread, row);
            Ok(())
        })?;
        Ok(rows)
    }

    fn projects_by_id(&self) -> Result<BTreeMap<String, ProjectRow>, StoreError> {
        let rows = self.projects(None)?.into_iter();
        Ok(rows.map(|row| (row.id.clone(), row)).collect())
    }

    fn ratings_by_line(&self) -> Result<BTreeMap<u64, Rating>, StoreError> {
        let mut rows = BTreeMap::new();
        self.each_rating(&mut |rating| {
            rows.insert(rating.line, rating);
            Ok(())
        })?;
        Ok(rows)
    }

    fn handoffs_by_line(&self) -> Result<BTreeMap<u64, Handoff>, StoreError> {
        let mut rows = BTreeMap::new();
        self.each_handoff(&mut |handoff| {
            rows.insert(handoff.line, handoff);
            Ok(())
        })?;
        Ok(rows)
    }

    fn imported_by_line(&self) -> Result<BTreeMap<u64, ImportedConversation>, StoreError> {
        let mut rows = BTreeMap::new();
        self.each_imported(&mut |row| {
            rows.insert(row.line, row);
            Ok(())
        })?;
        Ok(rows)
    }

    fn noted_settings(&self) -> Result<NotedSettings, StoreError> {
        let newest = self.newest_artifact(CONFIG_RELOAD)?;
        let state = readable(self.setting_state())?;
        let tags = readable(self.setting_tags())?;
        Ok(NotedSettings {
            is_readable: state.is_some() && tags.is_some(),
            state: state.flatten(),
            tags: tags.unwrap_or_default(),
            line: newest.as_ref().map(|row| row.line),
            named: newest.and_then(|row| named_digest(row.document.as_deref())),
        })
    }

    /// What of derived rows and search indexes is not as it should be; reads all of them. An entry of
    /// an index is found by its number: which words it has is not compared.
    pub fn derived_faults(&self) -> Result<DerivedFaults, StoreError> {
        let rows = DerivedRows::of(self)?;
        let erased = rows.erased.symmetric_difference(&rows.noted_erased);
        let mut indexed = 0;
        for index in SearchIndex::ALL {
            indexed += self.driver.count_search_faults(index)?;
        }
        Ok(DerivedFaults {
            items: rows.items.faults(),
            conversations: rows.conversations.faults(),
            projects: rows.projects.faults(),
            ratings: rows.ratings.faults(),
            councils: rows.answers.faults() + rows.reviews.faults(),
            handoffs: rows.handoffs.faults(),
            checks: number(self.wrong_check_parts()?.len()) + self.stray_check_sums()?,
            imported: rows.imported.faults()
                + number(rows.unlike_messages.len() + self.erased_with_hint()?.len()),
            erased: number(erased.count()),
            settings: u64::from(!rows.settings.holds()?),
            indexed,
        })
    }
}

impl WriteStore {
    fn derive_rows(&mut self) -> Result<(), StoreError> {
        let rows = DerivedRows::of(self)?;
        rows.items.mend(self, "id")?;
        rows.answers.mend(self, "exchange_id")?;
        rows.reviews.mend(self, "id")?;
        rows.conversations.mend(self, "thread_id")?;
        rows.projects.mend(self, "id")?;
        rows.ratings.mend(self, "line")?;
        rows.handoffs.mend(self, "line")?;
        self.mend_check_totals()?;
        self.derive_imported(&rows)?;
        for (id, line) in rows.noted_erased.difference(&rows.erased) {
            let sql = "DELETE FROM tombstone_id WHERE id = ?1 AND line = ?2";
            self.change(AGAIN, sql, values![id.as_str(), *line])?;
        }
        for (id, line) in rows.erased.difference(&rows.noted_erased) {
            let sql = "INSERT INTO tombstone_id (id, line) VALUES (?1, ?2)";
            self.change(AGAIN, sql, values![id.as_str(), *line])?;
        }
        match rows.settings.holds()? {
            true => Ok(()),
            false => self.derive_settings(&rows.settings),
        }
    }

    /// Makes imported conversations and their messages again; a message refers to its conversation.
    fn derive_imported(&mut self, rows: &DerivedRows) -> Result<(), StoreError> {
        let (given, found) = (&rows.imported.given, &rows.imported.found);
        let mut again = rows.unlike_messages.clone();
        let of_other_row = |line: &&u64| {
            let found = found.as_ref().and_then(|found| found.get(line));
            found != given.get(line)
        };
        let lines = given.keys().chain(found.iter().flat_map(BTreeMap::keys));
        again.extend(lines.filter(of_other_row));
        for line in &again {
            self.mend_imported_messages(*line, &[])?;
        }
        rows.imported.mend(self, "line")?;
        self.forget_hints_of_erased()?;
        for line in again {
            let Some(row) = self.artifact_of_line(line)? else {
                continue;
            };
            let is_here = given.get(&line).is_some_and(|row| row.digest.is_some());
            let document = row.document.as_deref().filter(|_| is_here);
            if let Some(given) = imported_of(line, &row.kind, &row.id, document) {
                self.mend_imported_messages(line, &given.messages)?;
            }
        }
        Ok(())
    }

    /// Has what is noted of settings say what the record says. Tags that somebody changed are other
    /// settings than those in force: so the next record says that settings changed, and which.
    fn derive_settings(&mut self, noted: &NotedSettings) -> Result<(), StoreError> {
        let key = match (&noted.state, noted.named) {
            (Some(state), _) => state.key,
            (None, None) => {
                for all in ["DELETE FROM setting_state", "DELETE FROM setting_tag"] {
                    self.change(AGAIN, all, values![])?;
                }
                return Ok(());
            }
            // The key that is lost opens nothing: it only kept values from being tried.
            (None, Some(_)) => {
                let random = "SELECT lower(hex(randomblob(32)))";
                self.sole("make a key for settings", random, values![])?
            }
        };
        let state = SettingStateRow {
            key,
            digest: noted.digest(key)?,
            line: noted.line,
            named: noted.named,
        };
        self.put_settings(&state, &noted.tags)
    }

    /// Makes the indexes again that differ from their texts. What was taken out may be words of a text
    /// that is erased, so what stands beside the database file is emptied afterwards.
    fn derive_indexes(&self, of_other_words: &[SearchIndex]) -> Result<(), StoreError> {
        for index in SearchIndex::ALL {
            if of_other_words.contains(&index) || self.driver.count_search_faults(index)? > 0 {
                self.driver.index_again(index)?;
                self.must_scrub()?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// The same as [`ReadStore::derived_faults`] with the words of the indexes compared, too, for
    /// which all texts are read.
    pub fn all_derived_faults(&self) -> Result<DerivedFaults, StoreError> {
        Ok(self.faults_and_indexes()?.0)
    }

    /// With the indexes whose words are not those of their texts.
    fn faults_and_indexes(&self) -> Result<(DerivedFaults, Vec<SearchIndex>), StoreError> {
        let (mut faults, mut others) = (self.derived_faults()?, Vec::new());
        for index in SearchIndex::ALL {
            if self.driver.has_words_of_texts(index)? {
                continue;
            }
            others.push(index);
            if self.driver.count_search_faults(index)? == 0 {
                faults.indexed += 1;
            }
        }
        Ok((faults, others))
    }

    /// Makes derived rows and search indexes again where they are not as they should be; says how
    /// much that was. What is taken out of an index stands in the write-ahead log until
    /// [`Store::scrub`].
    pub fn derive_again(&mut self) -> Result<DerivedFaults, StoreError> {
        let (faults, of_other_words) = self.faults_and_indexes()?;
        if !faults.is_nothing() || !of_other_words.is_empty() {
            self.transact(&mut |write| {
                write.derive_rows()?;
                write.derive_indexes(&of_other_words)
            })?;
        }
        Ok(faults)
    }
}
