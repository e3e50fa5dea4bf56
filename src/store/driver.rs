//! The seam to a database: what the store asks of one, and nothing else.
//!
//! Queries are written against [`Driver`] in SQL with numbered parameters, `?1`. What databases do
//! in ways of their own is a method: beginning and ending a transaction, how durable it is, search,
//! the upkeep of a file. Beside standard SQL the queries use a hidden number of each row (`rowid`,
//! in the order of insertion), `json_extract`, `instr` and `ifnull`; a database without them needs
//! a column and three functions of these names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use super::{SchemaDifference, StoreError};

/// A value of a column, or of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue<'a> {
    /// No value: NULL in SQL.
    Null,
    /// Whole numbers, times, and 0 or 1.
    Integer(i64),
    /// A floating-point number, such as the rank of a search result.
    Real(f64),
    /// A text in UTF-8.
    Text(Cow<'a, str>),
    /// Bytes; a text that is no UTF-8, too.
    Blob(Cow<'a, [u8]>),
}

/// As an error names it.
impl fmt::Display for SqlValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlValue::Null => f.write_str("null"),
            SqlValue::Integer(number) => write!(f, "{number}"),
            SqlValue::Real(number) => write!(f, "{number}"),
            SqlValue::Text(text) => f.write_str(text),
            SqlValue::Blob(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

/// One row of an answer.
pub trait ResultRow {
    /// The value of a column, counted from 0; null behind the last one.
    fn value(&self, at: usize) -> SqlValue<'_>;
    /// The name of a column, for an error.
    fn column(&self, at: usize) -> String;
}

/// What is done with each row of an answer.
pub type EachRow<'a> = dyn FnMut(&dyn ResultRow) -> Result<ControlFlow<()>, StoreError> + 'a;

/// What a transaction is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMode {
    /// All queries in it see one state.
    Read,
    /// No other writer gets in between; it waits for one that is at it.
    Write,
}

/// Whether somebody who reads is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderWait {
    /// For some seconds.
    Seconds,
    /// Not at all: whoever else works with the home does not wait, either.
    None,
}

/// An index of words over texts, which stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchIndex {
    /// Items of continuity that are open, by the number of their line.
    Items,
    /// Turns, by their number.
    Turns,
    /// Messages of imported conversations that no later import took the place of, by their number.
    Imported,
}

impl SearchIndex {
    /// All of them.
    pub const ALL: [SearchIndex; 3] = [
        SearchIndex::Items,
        SearchIndex::Turns,
        SearchIndex::Imported,
    ];
}

/// Which texts are looked for.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    /// Which index is searched.
    pub index: SearchIndex,
    /// A text with any of them fits.
    pub words: &'a [String],
    /// Only so many of the newest that fit are ranked.
    pub newest: Option<u32>,
}

/// One word, or words that follow one another, that a text has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchTerm {
    /// As it was typed; signs in it only part words.
    pub text: String,
    /// The last word of it may go on.
    pub is_beginning: bool,
}

/// What a text has and has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextQuery {
    /// Of each list it has one or more; there is one list, and none is empty.
    pub all: Vec<Vec<SearchTerm>>,
    /// It has none of these.
    pub without: Vec<SearchTerm>,
}

/// How a query asks an index for texts.
#[derive(Clone, Debug)]
pub struct IndexMatch {
    /// The table of the index, whose `rowid` are the numbers of texts.
    pub table: &'static str,
    /// What holds of its rows, with the parameter `?1`.
    pub holds: String,
    /// The value of the parameter.
    pub value: SqlValue<'static>,
    /// How well a row fits, by BM25: lower is better.
    pub rank: &'static str,
}

/// Says of a text that an index gave whether it is one that is wanted.
pub trait TextCheck {
    /// Whether it is.
    fn holds(&self, text: &str) -> Result<bool, StoreError>;
}

/// Where something stands in a text, in bytes.
pub type TextSpan = std::ops::Range<usize>;

/// A connection to the database of a home.
///
/// Each statement stands by itself unless a transaction is open on the connection. Statements are
/// compiled once and kept. `what` says in an error what could not be done.
pub trait Driver: Send {
    /// Calls `each` for the rows of an answer, until it says that it has enough.
    fn query(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        each: &mut EachRow<'_>,
    ) -> Result<(), StoreError>;
    /// Runs a statement that answers nothing, and says how many rows it changed.
    fn execute(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<usize, StoreError>;

    /// Begins a transaction.
    fn begin(&self, mode: TransactionMode) -> Result<(), StoreError>;
    /// Ends it; what it wrote is durable on return, unless [`Driver::set_durable`] said otherwise.
    fn commit(&self) -> Result<(), StoreError>;
    /// Undoes it, if it is still open.
    fn roll_back(&self);
    /// Whether what is committed from now on is on the disk when the commit returns.
    fn set_durable(&self, durable: bool) -> Result<(), StoreError>;
    /// A number that is another one as soon as anything was written; fails when the database has
    /// ended the transaction by itself.
    fn written(&self) -> Result<u64, StoreError>;
    /// The version of its schema.
    fn version(&self) -> Result<u32, StoreError>;

    /// Puts the texts of these numbers, both included, into an index.
    fn index_texts(&self, index: SearchIndex, numbers: (u64, u64)) -> Result<(), StoreError>;
    /// Takes the words of the texts of these numbers, both included, out of an index, as far as they are in
    /// it; the texts are still there.
    fn forget_texts(&self, index: SearchIndex, numbers: (u64, u64)) -> Result<(), StoreError>;
    /// How many texts hold a word; it is not counted further than `most`.
    fn count_texts(&self, index: SearchIndex, word: &str, most: u32) -> Result<u64, StoreError>;
    /// The beginning of a query, `WITH hit (n, score) AS …`, over what fits, with its parameter
    /// `?1`. A lower score is a better fit, by BM25.
    fn hits(&self, query: &SearchQuery<'_>) -> (String, SqlValue<'static>);
    /// How a query asks an index for the texts that fit; whatever its terms hold, they are words to
    /// it. Where there is a [`Driver::text_check`], it gives others, too.
    fn fits(&self, index: SearchIndex, wanted: &TextQuery) -> Result<IndexMatch, StoreError>;
    /// What each text that an index gives has to be held against; none where the index answers for
    /// all that is wanted.
    fn text_check(&self, wanted: &TextQuery) -> Result<Option<Box<dyn TextCheck>>, StoreError>;
    /// Where texts have any of these terms, as the indexes know words; of a long text maybe only
    /// the places in a part of it.
    fn marks(&self, terms: &[SearchTerm], texts: &[&str])
    -> Result<Vec<Vec<TextSpan>>, StoreError>;
    /// The words of each text as an index of turns stems them, each once.
    fn stems(&self, texts: &[&str]) -> Result<Vec<BTreeSet<String>>, StoreError>;
    /// Which of some short texts a search finds, as an index of turns finds texts.
    fn fitting(&self, wanted: &TextQuery, texts: &[&str]) -> Result<Vec<bool>, StoreError>;
    /// How many texts are in an index.
    fn indexed(&self, index: SearchIndex) -> Result<u64, StoreError>;
    /// Up to `most` differences between an index and its texts, in words; it reads all of both, and takes
    /// no lock.
    fn search_faults(&self, index: SearchIndex, most: u32) -> Result<Vec<String>, StoreError>;
    /// How many texts have no entry there, and entries no text.
    fn count_search_faults(&self, index: SearchIndex) -> Result<u64, StoreError>;
    /// Whether an index has the words of its texts, and no others, by SQLite's own check. It reads all of
    /// both, and has to be able to write; no transaction is open.
    fn has_words_of_texts(&self, index: SearchIndex) -> Result<bool, StoreError>;
    /// Takes all words out of an index, and puts in those of the texts that are there.
    fn index_again(&self, index: SearchIndex) -> Result<(), StoreError>;
    /// Whether a search comes to all pages of an index, and there are as many words on them as it has noted.
    /// It reads all of it, and no text.
    fn is_index_sound(&self, index: SearchIndex) -> Result<bool, StoreError>;
    /// Writes an index anew from its own words, so that what it kept of others, to find its way by,
    /// goes. One that is not sound is made again from its texts.
    fn rewrite_index(&self, index: SearchIndex) -> Result<(), StoreError>;

    /// Where tables, views, indexes and triggers are not those that this build makes.
    fn schema_faults(&self) -> Result<Vec<SchemaDifference>, StoreError>;
    /// Makes those of these again that hold nothing by themselves, within the open transaction.
    fn make_schema_again(&self, faults: &[SchemaDifference]) -> Result<(), StoreError>;

    /// Whether its file is encrypted.
    fn is_encrypted(&self) -> bool;
    /// Copies the database, as the open transaction sees it, to a new private file. Durable on
    /// return.
    fn copy_to(&self, path: &Path) -> Result<(), StoreError>;
    /// Brings all that was written into the database file itself, so that no copy of an erased text
    /// is left beside it; false while a reader is in the way, which may be waited for.
    fn checkpoint(&self, wait: ReaderWait) -> Result<bool, StoreError>;
    /// The same as far as it disturbs nobody, once so many pages are beside the file.
    fn shorten_wal(&self, pages: u32) -> Result<(), StoreError>;
    /// The database's own check of its file: its words, `ok` when it is sound.
    fn integrity(&self) -> Result<String, StoreError>;
    /// How many rows refer to rows that are not there.
    fn broken_references(&self) -> Result<u64, StoreError>;
}
