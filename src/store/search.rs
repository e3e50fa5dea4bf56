//! What people look for: texts of turns and of items, newest first.
//!
//! An index gives the numbers of the texts that fit in their order, and a search goes along it until
//! it has what it wants; nothing is sorted, and nothing read of what is not shown. Where many have
//! the words, and a filter has let none or few of the newest pass, the search begins again at the
//! newest turn that the filter could let pass, and where that does not help, the filter's turns are
//! gathered, and the index is held against them.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use uuid::Uuid;

use crate::record::ledger::item::ItemKind;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;

use super::StoreError;
use super::access::ReadStore;
use super::artifacts::ITEM_TEXT;
use super::councils::IS_MESSAGE;
use super::driver::{
    IndexMatch, SearchIndex, SearchTerm, SqlValue, TextCheck, TextQuery, TextSpan,
};
use super::table::{Bind, Cells, Columns, row, values};

/// How much is looked at before a search goes another way.
///
/// Whichever way it goes, it finds the same: this says only what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEffort {
    /// So many of the newest that have the words are looked at one by one, whether a filter lets
    /// them pass.
    pub looked_at: u32,
    /// So many turns of a filter are gathered at most, so that the others are passed over unseen.
    pub gathered: u32,
}

/// Looking a turn up and gathering one take about as long; a page of hits is most often among the
/// first few hundred.
impl Default for SearchEffort {
    fn default() -> Self {
        SearchEffort {
            looked_at: 2000,
            gathered: 25_000,
        }
    }
}

row! {
    /// A turn that fits a search.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TurnMatch {
        /// Its place in the order of turns.
        n: u64 = "n",
        /// Id of the turn's row.
        turn: Uuid = "turn_id",
        /// Time of its line.
        created_at: Seconds = "created_at",
        /// Text of the turn.
        text: String = "content",
    }
}

row! {
    /// An item that fits a search.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ItemMatch {
        /// Number of its line.
        line: u64 = "line",
        /// Name of the item, such as `ledger:000183`.
        id: String = "id",
        /// What it is.
        kind: ItemKind = "kind",
        /// Text of the item.
        text: String = "text",
        /// What it is about; none of one that says nothing of it.
        subject: Option<String> = "subject",
    }
}

impl ItemMatch {
    /// The texts of it that the index has the words of, and something that parts them.
    fn indexed(&self) -> String {
        let subject = self.subject.as_deref().unwrap_or_default();
        format!("{}\n{subject}", self.text)
    }
}

/// The threads whose turns are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadFilter {
    /// One of them.
    One(Uuid),
    /// Those of a project, by its id.
    Project(String),
}

/// Which turns are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnFilter {
    /// Their places in the order of turns.
    pub numbers: Range<u64>,
    /// Time of the oldest turn that is searched; none searches all.
    pub since: Option<Seconds>,
    /// None as young or younger.
    pub until: Option<Seconds>,
    /// Questions alone, or answers alone.
    pub by_user: Option<bool>,
    /// Asked of a model whose name is like this, in the words of SQL's LIKE, with `\` before what is
    /// to be taken as it is.
    pub model: Option<String>,
    /// Of these threads.
    pub threads: Option<ThreadFilter>,
}

/// What is done with each text that fits; it says when there are enough.
pub type TakeMatch<'a, M> = dyn FnMut(M) -> Result<ControlFlow<()>, StoreError> + 'a;

/// What a filter asks of a turn `t`, with parameters from `?4`.
struct TurnConditions<'a> {
    /// Rows beside it.
    joins: String,
    /// What holds of them, each behind `AND`.
    holds: String,
    values: Vec<SqlValue<'a>>,
}

impl<'a> TurnConditions<'a> {
    /// Messages alone are looked at; with `some_aside` there are turns that are none.
    fn of(filter: &'a TurnFilter, some_aside: bool) -> Self {
        let mut conditions = TurnConditions {
            joins: String::new(),
            holds: match some_aside {
                true => format!(" AND {IS_MESSAGE}"),
                false => String::new(),
            },
            values: Vec::new(),
        };
        conditions.add("t.created_at >=", filter.since.as_ref());
        conditions.add("t.created_at <", filter.until.as_ref());
        conditions.holds.push_str(match filter.by_user {
            Some(true) => " AND t.speaker = 'user'",
            Some(false) => " AND t.speaker = 'aurora'",
            None => "",
        });
        if let Some(model) = &filter.model {
            let session = " CROSS JOIN chat_session s ON s.session_id = t.session_id";
            conditions.joins.push_str(session);
            conditions.add("s.model_id LIKE", Some(model));
            conditions.holds.push_str(r" ESCAPE '\'");
        }
        if let Some(threads) = &filter.threads {
            let thread = " CROSS JOIN thread_turn h ON h.line = t.line";
            conditions.joins.push_str(thread);
            match threads {
                ThreadFilter::One(thread) => conditions.add("h.thread_id =", Some(thread)),
                ThreadFilter::Project(project) => {
                    let row = " CROSS JOIN conversation c ON c.thread_id = h.thread_id";
                    conditions.joins.push_str(row);
                    conditions.add("c.project =", Some(project));
                }
            }
        }
        conditions
    }

    fn add(&mut self, what: &str, value: Option<&'a (impl Bind + ?Sized)>) {
        if let Some(value) = value {
            self.values.push(value.value());
            let number = self.values.len() + 3;
            self.holds.push_str(&format!(" AND {what} ?{number}"));
        }
    }

    fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }
}

/// The columns of a [`TurnMatch`].
const TURN: &str = "t.n, t.turn_id, t.created_at, t.content";

/// The turns that fit, along the index: `?1` is what is looked for, and `?2` to `?3` the places.
fn along_index(IndexMatch { table, holds, .. }: &IndexMatch, of: &TurnConditions<'_>) -> String {
    let TurnConditions {
        joins,
        holds: conditions,
        ..
    } = of;
    format!(
        "SELECT {TURN} FROM {table} CROSS JOIN chat_turn t ON t.n = {table}.rowid{joins}
          WHERE {holds} AND {table}.rowid >= ?2 AND {table}.rowid < ?3 AND t.content IS NOT NULL{conditions}
          ORDER BY {table}.rowid DESC"
    )
}

/// The places of the turns that fit, in the same way.
fn numbers_along_index(IndexMatch { table, holds, .. }: &IndexMatch) -> String {
    format!(
        "SELECT rowid FROM {table} WHERE {holds} AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid DESC"
    )
}

/// Which of a filter's two halves few turns may pass: that of threads, or that of models.
struct NarrowFilter<'a> {
    /// The places of its turns, in no order, from `?2` and before `?3`, up to `?4`.
    numbers: &'static str,
    /// The number of its newest line; none where that is not known without reading all of it.
    newest: Option<&'static str>,
    /// The thread, the project, or what a model is like: `?1`.
    value: SqlValue<'a>,
    /// Whether it is so narrow that its turns are gathered before any hit is looked at.
    is_one: bool,
}

impl<'a> NarrowFilter<'a> {
    fn of(filter: &'a TurnFilter) -> Option<Self> {
        match (&filter.threads, &filter.model) {
            (Some(ThreadFilter::One(thread)), _) => Some(NarrowFilter {
                numbers: of_thread(),
                newest: Some(newest_of_thread()),
                value: thread.value(),
                is_one: true,
            }),
            (Some(ThreadFilter::Project(project)), _) => Some(NarrowFilter {
                numbers: of_project(),
                newest: Some(newest_of_project()),
                value: project.value(),
                is_one: false,
            }),
            (None, Some(model)) => Some(NarrowFilter {
                numbers: of_model(),
                newest: None,
                value: model.value(),
                is_one: false,
            }),
            (None, None) => None,
        }
    }
}

fn of_thread() -> &'static str {
    "SELECT t.n FROM thread_event v CROSS JOIN chat_turn t ON t.turn_id = v.event_id
      WHERE v.thread_id = ?1 AND v.kind IN ('INTENT', 'EXECUTION') AND t.n >= ?2 AND t.n < ?3 LIMIT ?4"
}

fn of_project() -> &'static str {
    "SELECT t.n FROM conversation c CROSS JOIN thread_event v ON v.thread_id = c.thread_id
       CROSS JOIN chat_turn t ON t.turn_id = v.event_id
      WHERE c.project = ?1 AND v.kind IN ('INTENT', 'EXECUTION') AND t.n >= ?2 AND t.n < ?3 LIMIT ?4"
}

fn of_model() -> &'static str {
    r"SELECT t.n FROM chat_session s CROSS JOIN chat_turn t ON t.session_id = s.session_id
      WHERE s.model_id LIKE ?1 ESCAPE '\' AND t.n >= ?2 AND t.n < ?3 LIMIT ?4"
}

fn newest_of_thread() -> &'static str {
    "SELECT max(line) FROM thread_event WHERE thread_id = ?1"
}

fn newest_of_project() -> &'static str {
    "SELECT max((SELECT max(v.line) FROM thread_event v WHERE v.thread_id = c.thread_id))
       FROM conversation c WHERE c.project = ?1"
}

/// How a search along an index ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AlongEnd {
    /// There is enough, or there is no more.
    Whole,
    /// So much was looked at; what comes next is before this place.
    Before(u64),
}

/// The number of the line that a turn was recorded with, of the turn at the place `?1` or behind it.
const OWN_LINE: &str = "SELECT CASE t.speaker WHEN 'user' THEN t.line ELSE ifnull(e.outcome_line, t.line) END
      FROM chat_turn t LEFT JOIN llm_exchange e ON e.prompt_line = t.line WHERE t.n >= ?1 ORDER BY t.n LIMIT 1";

pub(super) const SEARCHING: &str = "search";

/// The first number of a range for which something holds that holds of all behind it; its end when
/// it holds of none.
fn first_that(
    range: Range<u64>,
    holds: impl Fn(u64) -> Result<bool, StoreError>,
) -> Result<u64, StoreError> {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle)? {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    Ok(from)
}

impl ReadStore {
    /// All places in the order of turns.
    pub fn turn_numbers(&self) -> Result<Range<u64>, StoreError> {
        Ok(0..self.last_turn()? + 1)
    }

    /// The place of the first turn that was recorded at a line or behind it.
    pub fn turn_number_from(&self, line: u64) -> Result<u64, StoreError> {
        first_that(self.turn_numbers()?, |n| {
            let own: Option<u64> = self.one("look for a turn", OWN_LINE, values![n])?;
            Ok(own.is_none_or(|own| own >= line))
        })
    }

    /// The first line of the log that is as young as this or younger, from 0.
    ///
    /// Times go back only where somebody put on record that a clock had run ahead: of lines from
    /// before that, those may be passed over that are dated later than what follows them.
    pub fn line_from(&self, time: Seconds) -> Result<u64, StoreError> {
        first_that(0..self.head()?.lines, |line| {
            Ok(self.time_of_line(line)?.is_none_or(|at| at >= time))
        })
    }

    /// When a line was written; none when it is not here, or is no line.
    pub fn time_of_line(&self, line: u64) -> Result<Option<Seconds>, StoreError> {
        let text = self.lines(line, line.saturating_add(1))?.pop();
        let line = text.and_then(|text| Line::parse(text.as_bytes()).ok());
        Ok(line.map(|line| line.time))
    }

    /// The number of the line that a turn was recorded with.
    pub fn line_of_turn(&self, n: u64) -> Result<u64, StoreError> {
        self.sole("look for a turn", OWN_LINE, values![n])
    }

    /// Gives the turns that fit to `take`, newest first, until it has enough.
    pub fn search_turns(
        &self,
        wanted: &TextQuery,
        filter: &TurnFilter,
        take: &mut TakeMatch<'_, TurnMatch>,
    ) -> Result<(), StoreError> {
        self.search_turns_with(SearchEffort::default(), wanted, filter, take)
    }

    /// The same with another effort than the usual one.
    pub fn search_turns_with(
        &self,
        effort: SearchEffort,
        wanted: &TextQuery,
        filter: &TurnFilter,
        take: &mut TakeMatch<'_, TurnMatch>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Turns, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let mut take = |turn: TurnMatch| match holds(check.as_deref(), &turn.text)? {
            true => take(turn),
            false => Ok(ControlFlow::Continue(())),
        };
        let conditions = TurnConditions::of(filter, self.has_turns_aside()?);
        let Some(narrow) = NarrowFilter::of(filter) else {
            let sql = along_index(&fits, &conditions);
            let values = fitting(&fits, &filter.numbers, &conditions.values);
            return self.until_enough(&sql, &values, &mut take);
        };
        let along = TurnsAlong {
            store: self,
            fits: &fits,
            conditions: &conditions,
        };
        let mut places = filter.numbers.clone();
        let some = Some(effort.looked_at);
        if !narrow.is_one {
            match along.look(&places, some, None, &mut take)? {
                AlongEnd::Whole => return Ok(()),
                AlongEnd::Before(end) => places.end = end,
            }
        }
        if let Some(newest) = narrow.newest {
            let newest: Option<u64> =
                self.sole(SEARCHING, newest, std::slice::from_ref(&narrow.value))?;
            let Some(newest) = newest else {
                return Ok(());
            };
            let end = self.turn_number_from(newest + 1)?;
            let is_older = end < places.end;
            places.end = places.end.min(end);
            if is_older && !narrow.is_one {
                match along.look(&places, some, None, &mut take)? {
                    AlongEnd::Whole => return Ok(()),
                    AlongEnd::Before(end) => places.end = end,
                }
            }
        }
        let most = effort.gathered.saturating_add(1);
        let Range { start, end } = places;
        let mut values = vec![narrow.value];
        values.extend([start.value(), end.value(), most.value()]);
        let numbers: Vec<u64> = self.list(SEARCHING, narrow.numbers, &values)?;
        if numbers.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return along.look(&places, None, None, &mut take).map(drop);
        }
        let numbers: HashSet<u64> = numbers.into_iter().collect();
        let (Some(least), Some(newest)) = (numbers.iter().min(), numbers.iter().max()) else {
            return Ok(());
        };
        let places = *least..*newest + 1;
        along
            .look(&places, None, Some(&numbers), &mut take)
            .map(drop)
    }

    /// How many turns fit.
    pub fn count_turns(&self, wanted: &TextQuery, filter: &TurnFilter) -> Result<u64, StoreError> {
        let conditions = TurnConditions::of(filter, self.has_turns_aside()?);
        if NarrowFilter::of(filter).is_some() || self.driver.text_check(wanted)?.is_some() {
            let mut count = 0;
            self.search_turns(wanted, filter, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        let fits = self.driver.fits(SearchIndex::Turns, wanted)?;
        let all = match conditions.is_empty() {
            true => numbers_along_index(&fits),
            false => along_index(&fits, &conditions),
        };
        let values = fitting(&fits, &filter.numbers, &conditions.values);
        self.sole(SEARCHING, &format!("SELECT count(*) FROM ({all})"), &values)
    }

    /// Gives the turns that fit to `take`, best first, until it has enough, each with its score;
    /// lower is better. All that fit are ranked first.
    pub fn rank_turns(
        &self,
        wanted: &TextQuery,
        filter: &TurnFilter,
        take: &mut TakeMatch<'_, (f64, TurnMatch)>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Turns, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let conditions = TurnConditions::of(filter, self.has_turns_aside()?);
        let sql = ranked(&fits, &along_index(&fits, &conditions));
        let values = fitting(&fits, &filter.numbers, &conditions.values);
        self.until_enough::<(f64, TurnMatch)>(&sql, &values, &mut |found| match holds(
            check.as_deref(),
            &found.1.text,
        )? {
            true => take(found),
            false => Ok(ControlFlow::Continue(())),
        })
    }

    /// Gives the items that fit to `take`, newest first, until it has enough; `lines` are those of
    /// the artifacts that made them.
    pub fn search_items(
        &self,
        wanted: &TextQuery,
        lines: &Range<u64>,
        take: &mut TakeMatch<'_, ItemMatch>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Items, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let values = fitting(&fits, lines, &[]);
        self.until_enough::<ItemMatch>(&items(&fits), &values, &mut |item| match holds(
            check.as_deref(),
            &item.indexed(),
        )? {
            true => take(item),
            false => Ok(ControlFlow::Continue(())),
        })
    }

    /// The same, best first, each with its score.
    pub fn rank_items(
        &self,
        wanted: &TextQuery,
        lines: &Range<u64>,
        take: &mut TakeMatch<'_, (f64, ItemMatch)>,
    ) -> Result<(), StoreError> {
        let fits = self.driver.fits(SearchIndex::Items, wanted)?;
        let check = self.driver.text_check(wanted)?;
        let sql = ranked(&fits, &items(&fits));
        let values = fitting(&fits, lines, &[]);
        self.until_enough::<(f64, ItemMatch)>(&sql, &values, &mut |found| match holds(
            check.as_deref(),
            &found.1.indexed(),
        )? {
            true => take(found),
            false => Ok(ControlFlow::Continue(())),
        })
    }

    /// How many items fit.
    pub fn count_items(&self, wanted: &TextQuery, lines: &Range<u64>) -> Result<u64, StoreError> {
        if self.driver.text_check(wanted)?.is_some() {
            let mut count = 0;
            self.search_items(wanted, lines, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(count);
        }
        let fits = self.driver.fits(SearchIndex::Items, wanted)?;
        let sql = format!("SELECT count(*) FROM ({})", numbers_along_index(&fits));
        self.sole(SEARCHING, &sql, &fitting(&fits, lines, &[]))
    }

    /// How many texts can be searched: of turns, of items, and of imported messages.
    pub fn searchable(&self) -> Result<(u64, u64, u64), StoreError> {
        let indexed = |index| self.driver.indexed(index);
        Ok((
            indexed(SearchIndex::Turns)?,
            indexed(SearchIndex::Items)?,
            indexed(SearchIndex::Imported)?,
        ))
    }

    /// Which of some short texts a search finds, as it would find turns.
    pub fn fitting(&self, wanted: &TextQuery, texts: &[&str]) -> Result<Vec<bool>, StoreError> {
        self.driver.fitting(wanted, texts)
    }

    /// Where texts have any of these terms.
    pub fn marks(
        &self,
        terms: &[SearchTerm],
        texts: &[&str],
    ) -> Result<Vec<Vec<TextSpan>>, StoreError> {
        self.driver.marks(terms, texts)
    }

    /// Gives what each row of an answer holds to `take`, until it has enough.
    pub(super) fn until_enough<T: Columns>(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        take: &mut TakeMatch<'_, T>,
    ) -> Result<(), StoreError> {
        self.driver.query(SEARCHING, sql, values, &mut |row| {
            take(T::take(&mut Cells::of(row))?)
        })
    }
}

/// Whether a text that an index gave is one that is wanted.
pub(super) fn holds(check: Option<&dyn TextCheck>, text: &str) -> Result<bool, StoreError> {
    check.map_or(Ok(true), |check| check.holds(text))
}

/// Turns along an index that are looked at one by one, so that it is known how many that were.
struct TurnsAlong<'a> {
    store: &'a ReadStore,
    fits: &'a IndexMatch,
    conditions: &'a TurnConditions<'a>,
}

impl TurnsAlong<'_> {
    /// Gives those between two places to `take`, until it has enough or `most` were looked at; with
    /// `among`, all others are passed over.
    fn look(
        &self,
        places: &Range<u64>,
        most: Option<u32>,
        among: Option<&HashSet<u64>>,
        take: &mut TakeMatch<'_, TurnMatch>,
    ) -> Result<AlongEnd, StoreError> {
        let TurnConditions { joins, holds, .. } = self.conditions;
        let turn = format!(
            "SELECT {TURN} FROM chat_turn t{joins} WHERE t.n = ?1 AND t.content IS NOT NULL{holds}"
        );
        let along = numbers_along_index(self.fits);
        let values = fitting(self.fits, places, &[]);
        let (mut looked_at, mut end) = (0, AlongEnd::Whole);
        self.store.until_enough::<u64>(&along, &values, &mut |n| {
            if among.is_some_and(|numbers| !numbers.contains(&n)) {
                return Ok(ControlFlow::Continue(()));
            }
            let mut values = vec![n.value(), SqlValue::Null, SqlValue::Null];
            values.extend(self.conditions.values.iter().cloned());
            let found: Option<TurnMatch> = self.store.one(SEARCHING, &turn, &values)?;
            if let Some(found) = found
                && take(found)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            looked_at += 1;
            if most.is_some_and(|most| looked_at >= most) {
                end = AlongEnd::Before(n);
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(end)
    }
}

/// What fits in an index, between two places, with the values of further parameters.
pub(super) fn fitting<'a>(
    fits: &IndexMatch,
    places: &Range<u64>,
    further: &[SqlValue<'a>],
) -> Vec<SqlValue<'a>> {
    let number = |n: u64| SqlValue::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let mut values = vec![fits.value.clone(), number(places.start), number(places.end)];
    values.extend_from_slice(further);
    values
}

/// The items that fit, along the index.
fn items(IndexMatch { table, holds, .. }: &IndexMatch) -> String {
    format!(
        "SELECT i.line, i.id, i.kind, {ITEM_TEXT}, json_extract(a.document, '$.content.subject') FROM {table}
           CROSS JOIN continuity_item i ON i.line = {table}.rowid CROSS JOIN artifact a ON a.line = i.line
          WHERE {holds} AND {table}.rowid >= ?2 AND {table}.rowid < ?3 AND a.document IS NOT NULL
          ORDER BY {table}.rowid DESC"
    )
}

/// A query that goes along an index, by rank instead.
fn ranked(IndexMatch { table, rank, .. }: &IndexMatch, along: &str) -> String {
    let newest = format!("ORDER BY {table}.rowid DESC");
    along
        .replacen("SELECT ", &format!("SELECT {rank} AS score, "), 1)
        .replacen(&newest, &format!("ORDER BY score, {table}.rowid DESC"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    fn fits() -> IndexMatch {
        IndexMatch {
            table: "turn_fts",
            holds: "turn_fts MATCH ?1".to_owned(),
            value: SqlValue::Text("\"a\"".into()),
            rank: "bm25(turn_fts)",
        }
    }

    /// Newest first is the order in which the index streams: nothing is sorted, whatever is filtered.
    #[test]
    fn a_search_goes_along_the_index_and_sorts_nothing() {
        let filter = TurnFilter {
            numbers: 0..9,
            since: Some(Seconds::new(1).unwrap()),
            until: Some(Seconds::new(2).unwrap()),
            by_user: Some(true),
            model: Some("%a%".to_owned()),
            threads: Some(ThreadFilter::One(Uuid::nil())),
        };
        for sql in [
            along_index(&fits(), &TurnConditions::of(&filter, true)),
            numbers_along_index(&fits()),
            items(&fits()),
        ] {
            let plan = plan(&sql);
            assert!(
                plan.starts_with("SCAN turn_fts VIRTUAL TABLE INDEX")
                    && !plan.contains("TEMP B-TREE"),
                "{plan}"
            );
        }
        for (sql, index) in [
            (of_thread(), "SEARCH v USING PRIMARY KEY (thread_id=?)"),
            (of_project(), "idx_conversation_project (project=?)"),
            (
                of_model(),
                "SEARCH t USING INDEX idx_chat_turn_session_time (session_id=?)",
            ),
            (newest_of_thread(), "idx_thread_event_line (thread_id=?)"),
            (newest_of_project(), "idx_conversation_project (project=?)"),
            (
                OWN_LINE,
                "SEARCH e USING INDEX idx_llm_exchange_line (prompt_line=?)",
            ),
        ] {
            assert!(plan(sql).contains(index), "{}", plan(sql));
        }
    }

    #[test]
    fn the_first_that_holds_is_found() {
        for first in 0..10 {
            let found = first_that(0..9, |n| Ok(n >= first)).unwrap();
            assert_eq!(found, first.min(9));
        }
    }
}
