//! The handles on a database, and the few ways in which every query and statement goes through them.

use std::ops::{ControlFlow, Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::StoreError;
use super::driver::{Driver, SearchIndex, SqlValue, TransactionMode};
use super::table::{Bind, Cells, Columns, Row, values};

/// Queries; the reading half that a verifier may import.
///
/// Every method sees one consistent state only inside [`Store::transact`] and [`ReadStore::reading`];
/// outside, two calls may see two states. All are proportional to what they return, never to the
/// history.
pub struct ReadStore {
    pub(super) driver: Box<dyn Driver>,
}

/// Insertions, inside one transaction only: there is one in [`Store::transact`], and nowhere else.
///
/// Nothing written here is visible or durable before [`Store::transact`] returns. An error leaves
/// the rest of the transaction usable only behind [`WriteStore::rollback_to_mark`].
pub struct WriteStore {
    read: ReadStore,
}

/// The database with its commit point.
///
/// One writer at a time: callers hold the home's writer lock. `transact` is durable when it returns
/// `Ok` (one fsync); when it returns an error nothing was written, except after an error *of the
/// commit itself*, where the next open shows which it was.
pub struct Store {
    write: WriteStore,
}

impl Deref for WriteStore {
    type Target = ReadStore;

    fn deref(&self) -> &ReadStore {
        &self.read
    }
}

impl Deref for Store {
    type Target = ReadStore;

    fn deref(&self) -> &ReadStore {
        &self.write.read
    }
}

/// So that another thread can have the reading half for a while.
impl DerefMut for Store {
    fn deref_mut(&mut self) -> &mut ReadStore {
        &mut self.write.read
    }
}

impl Store {
    /// The store on a connection to a database.
    pub(super) fn on(driver: Box<dyn Driver>) -> Store {
        Store {
            write: WriteStore {
                read: ReadStore { driver },
            },
        }
    }

    /// Runs `work` in one transaction that no other writer can interleave with.
    pub fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut WriteStore) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.driver.begin(TransactionMode::Write)?;
        let write = &mut self.write;
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let before = write.last_turn()?;
            let imported = write.last_imported()?;
            work(write)?;
            // All at once: the index writes itself out at every mark that is set after a change of
            // it, and a batch sets one for each record.
            let since = (before + 1, u64::MAX);
            write.driver.index_texts(SearchIndex::Turns, since)?;
            write.add_up_checks()?;
            write.index_imported_since(imported)?;
            write.driver.commit()
        }));
        if !matches!(worked, Ok(Ok(()))) {
            self.driver.roll_back();
        }
        worked.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The same for what is no evidence: a power cut may take it back, and nobody waits for the
    /// disk.
    pub(super) fn write_unsynced(
        &mut self,
        work: impl FnOnce(&WriteStore) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.driver.set_durable(false)?;
        let done = self.driver.begin(TransactionMode::Write).and_then(|()| {
            work(&self.write)?;
            self.driver.commit()
        });
        if done.is_err() {
            self.driver.roll_back();
        }
        self.driver.set_durable(true)?;
        done
    }
}

impl ReadStore {
    /// Begins a read transaction, so that all that follows sees one state, until
    /// [`ReadStore::end_read`].
    pub fn begin_read(&self) -> Result<(), StoreError> {
        self.driver.begin(TransactionMode::Read)
    }

    /// Ends what [`ReadStore::begin_read`] began.
    pub fn end_read(&self) -> Result<(), StoreError> {
        self.driver.commit()
    }

    /// Runs many queries on one state, without a lock of the file for each.
    pub fn reading<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.begin_read()?;
        let done = work(self);
        let ended = self.end_read();
        let value = done?;
        ended?;
        Ok(value)
    }

    /// Calls `take` for what each row of an answer holds.
    pub(super) fn each<T: Columns>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.driver.query(what, sql, values, &mut |row| {
            take(T::take(&mut Cells::of(row))?)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// What all rows of an answer hold.
    pub(super) fn list<T: Columns>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let mut out = Vec::new();
        self.each(what, sql, values, &mut |one| {
            out.push(one);
            Ok(())
        })?;
        Ok(out)
    }

    /// What the first row of an answer holds.
    pub(super) fn one<T: Columns>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<T>, StoreError> {
        let mut first = None;
        self.driver.query(what, sql, values, &mut |row| {
            first = Some(T::take(&mut Cells::of(row))?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// What the one row of an answer holds that always has one: counts, sums, the newest of many.
    pub(super) fn sole<T: Columns>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<T, StoreError> {
        self.one(what, sql, values)?.ok_or(StoreError::Corrupt {
            place: what.to_owned(),
            expected: "one row".to_owned(),
            actual: "none".to_owned(),
        })
    }

    /// The rows of a table; `rest` is the query behind its name.
    pub(super) fn rows<R: Row>(
        &self,
        rest: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<R>, StoreError> {
        self.list(R::READING, &select::<R>(rest), values)
    }

    /// The first of them.
    pub(super) fn row<R: Row>(
        &self,
        rest: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<R>, StoreError> {
        self.one(R::READING, &select::<R>(rest), values)
    }

    /// Calls `take` for each of them.
    pub(super) fn each_row<R: Row>(
        &self,
        rest: &str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(R::READING, &select::<R>(rest), values, take)
    }

    /// Up to `most` rows an id of which begins with a prefix, oldest first. A prefix is lower-case
    /// hexadecimal digits, for a UUID with its hyphens; anything else finds nothing.
    pub fn like<T: PrefixLookup>(&self, prefix: &str, most: u32) -> Result<Vec<T>, StoreError> {
        // The first text after all that begin so: no id holds a character past `f`.
        let after = format!("{prefix}g");
        let values = values![prefix, after, most];
        self.list(T::FINDING, &T::by_prefix(), values)
    }

    /// The place of the newest turn; 0 before the first.
    pub(super) fn last_turn(&self) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(n), 0) FROM chat_turn";
        self.sole("count turns", sql, values![])
    }
}

fn select<R: Row>(rest: &str) -> String {
    format!("SELECT {} FROM {} {rest}", R::names().join(", "), R::TABLE)
}

/// What can be looked up by the first digits of an id.
pub trait PrefixLookup: Columns {
    /// What is done, for an error.
    const FINDING: &'static str;
    /// The query: the id is at least `?1` and below `?2`, and at most `?3` are found.
    fn by_prefix() -> String;
}

/// Rows of one statement. With more, there would be more different statements to keep compiled, for
/// little.
const MOST: usize = 16;

/// A column beside those of a row's declaration, with its value.
pub type ExtraColumn = (&'static str, u64);

/// A row that is added as it is; nothing else follows from it.
pub trait RowInsert: Row {
    /// The column that the store fills in by itself.
    fn beside(&self, _: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        Ok(None)
    }
}

/// A document that is known by its own hash.
pub trait HashedRow: Row {}

impl WriteStore {
    /// Runs a statement; says how many rows it changed.
    pub(super) fn change(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<usize, StoreError> {
        self.driver.execute(what, sql, values)
    }

    /// Remembers what is known by its own hash; the same one twice is fine.
    pub fn remember<R: HashedRow>(&mut self, row: &R) -> Result<(), StoreError> {
        self.insert(std::slice::from_ref(row), &[], "ON CONFLICT DO NOTHING")
            .map(drop)
    }

    /// Adds a row.
    pub fn put<R: RowInsert>(&mut self, row: &R) -> Result<(), StoreError> {
        self.put_all(std::slice::from_ref(row))
    }

    /// Adds rows of one exchange or thread, in their order.
    pub fn put_all<R: RowInsert>(&mut self, rows: &[R]) -> Result<(), StoreError> {
        let Some(first) = rows.first() else {
            return Ok(());
        };
        match first.beside(self)? {
            Some((name, value)) => self.add_all(rows, &[(name, value.value())]),
            None => self.add_all(rows, &[]),
        }
    }

    /// Adds rows, each with the columns beside it.
    pub(super) fn add_all<R: Row>(
        &self,
        rows: &[R],
        beside: &[(&'static str, SqlValue<'_>)],
    ) -> Result<(), StoreError> {
        for rows in rows.chunks(MOST) {
            self.insert(rows, beside, "")?;
        }
        Ok(())
    }

    /// Adds a row.
    pub(super) fn add<R: Row>(&self, row: &R) -> Result<(), StoreError> {
        self.insert(std::slice::from_ref(row), &[], "").map(drop)
    }

    /// Adds rows by one statement; `otherwise` says what happens to a row that is there already.
    /// Returns how many were added or changed.
    pub(super) fn insert<R: Row>(
        &self,
        rows: &[R],
        beside: &[(&'static str, SqlValue<'_>)],
        otherwise: &str,
    ) -> Result<usize, StoreError> {
        let mut names = R::names();
        names.extend(beside.iter().map(|(name, _)| *name));
        let mut values = Vec::with_capacity(names.len() * rows.len());
        for row in rows {
            row.put(&mut values);
            values.extend(beside.iter().map(|(_, value)| value.clone()));
        }
        let one = format!("({})", vec!["?"; names.len()].join(","));
        let sql = format!(
            "INSERT INTO {} ({}) VALUES {} {otherwise}",
            R::TABLE,
            names.join(", "),
            vec![one.as_str(); rows.len()].join(",")
        );
        self.change(R::ADDING, &sql, &values)
    }

    /// Sets the columns of a part of a row where `filter`, with these parameters, holds. Returns how
    /// many rows it changed.
    pub(super) fn set<P: Columns>(
        &self,
        what: &'static str,
        table: &str,
        part: &P,
        (filter, found): (&str, &[SqlValue<'_>]),
    ) -> Result<usize, StoreError> {
        let mut names = Vec::new();
        P::columns(&[], &mut names);
        let columns = (found.len() + 1..).zip(names);
        let columns = columns.map(|(n, name)| format!("{name} = ?{n}"));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let mut values = found.to_vec();
        part.put(&mut values);
        let sql = format!("UPDATE {table} SET {columns} WHERE {filter}");
        self.change(what, &sql, &values)
    }

    /// A number that is another one as soon as anything was written; fails when the transaction is
    /// over.
    pub fn written(&self) -> Result<u64, StoreError> {
        self.driver.written()
    }

    /// Sets a mark that [`WriteStore::rollback_to_mark`] returns to; one at a time, until
    /// [`WriteStore::take_mark`].
    pub fn mark(&mut self) -> Result<(), StoreError> {
        self.change("set a mark", "SAVEPOINT work", values![])
            .map(drop)
    }

    /// Undoes everything since the mark, which stays.
    pub fn rollback_to_mark(&mut self) -> Result<(), StoreError> {
        self.change("return to a mark", "ROLLBACK TO work", values![])
            .map(drop)
    }

    /// Takes the mark away: every mark that stays makes each later write dearer.
    pub fn take_mark(&mut self) -> Result<(), StoreError> {
        self.change("take a mark away", "RELEASE work", values![])
            .map(drop)
    }
}
