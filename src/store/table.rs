//! How rows stand in tables: each is declared once, by [`row!`], and read, written and listed from
//! that declaration.
//!
//! ```text
//! row! {
//!     pub struct SessionRow of "chat_session" {
//!         branch: String = "branch",              a column
//!         anchor: Anchor = "block" | "header",    a value in two
//!         progress: SessionProgress,              a part that names its own columns
//!         by_user: bool as Speaker = "speaker",   a field that its column spells in a way of its own
//!     } derived {
//!         "status" = |row| …                      written from the row, and compared when read
//!     }
//! }
//! ```

use std::borrow::Cow;

use uuid::Uuid;

use crate::record::bitcoin::block::{Anchor, Block, Header};
use crate::record::canon;
use crate::record::context::event::EventKind;
use crate::record::context::spec::AdmittedFor;
use crate::record::context::turn::TurnIntent;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::commitment::{Role, Salt};
use crate::record::ledger::conversation::{ConversationState, ProjectState};
use crate::record::ledger::correction::DecayClass;
use crate::record::ledger::council::{CouncilPlace, ReviewVerdict};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::handoff::HandoffTrigger;
use crate::record::ledger::imported::{ImportFormat, ImportedRole, ImportedState};
use crate::record::ledger::item::{ItemKind, ItemState};
use crate::record::ledger::params::Cost;
use crate::record::ledger::specialist::{RatingVerdict, SpecialistId};
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::StoreError;
use super::driver::{ResultRow, SqlValue};

/// What can be the value of a parameter.
pub trait Bind {
    /// It, as a column holds it.
    fn value(&self) -> SqlValue<'_>;
}

/// What stands in one column.
pub trait Scalar: Bind + Sized {
    /// What belongs into such a column, for an error.
    const EXPECTED: &'static str;
    /// Reads it; none when the column holds something else.
    fn of(value: &SqlValue<'_>) -> Option<Self>;
}

/// What stands in one column or several.
pub trait Columns: Sized {
    /// In how many.
    const WIDTH: usize;
    /// Adds their names; `given` are those that the declaration of its row has for it.
    fn columns(given: &[&'static str], out: &mut Vec<&'static str>);
    /// Adds their values.
    fn put<'a>(&'a self, out: &mut Vec<SqlValue<'a>>);
    /// Reads the next columns.
    fn take(cells: &mut Cells<'_>) -> Result<Self, StoreError>;
}

/// A row of a table.
pub trait Row: Columns {
    /// Name of the table.
    const TABLE: &'static str;
    /// What is being done when a row is read, for an error.
    const READING: &'static str;
    /// The same when one is added.
    const ADDING: &'static str;

    /// The names of its columns.
    fn names() -> Vec<&'static str> {
        let mut names = Vec::with_capacity(Self::WIDTH);
        Self::columns(&[], &mut names);
        names
    }

    /// Its columns in a query that calls the table so.
    fn columns_of(alias: &str) -> String {
        let names = Self::names();
        let qualified = names.iter().map(|name| format!("{alias}.{name}"));
        qualified.collect::<Vec<_>>().join(", ")
    }
}

/// The columns of a row of an answer, read from left to right.
pub struct Cells<'a> {
    row: &'a dyn ResultRow,
    next: usize,
    table: &'static str,
}

impl<'a> Cells<'a> {
    /// Of a row.
    pub fn of(row: &'a dyn ResultRow) -> Self {
        Cells {
            row,
            next: 0,
            table: "",
        }
    }

    /// Says of which table the next columns are, for errors.
    pub(super) fn enter(&mut self, table: &'static str) {
        self.table = table;
    }

    fn corrupt(&self, expected: &str, actual: &SqlValue<'_>) -> StoreError {
        let column = self.row.column(self.next);
        let place = match self.table {
            "" => column,
            table => format!("{table}.{column}"),
        };
        StoreError::Corrupt {
            place,
            expected: expected.to_owned(),
            actual: actual.to_string(),
        }
    }

    /// Reads the next column.
    fn scalar<T: Scalar>(&mut self) -> Result<T, StoreError> {
        let value = self.row.value(self.next);
        let read = T::of(&value).ok_or_else(|| self.corrupt(T::EXPECTED, &value))?;
        self.next += 1;
        Ok(read)
    }

    /// Passes over so many columns if none of them holds anything.
    pub(super) fn skip_nulls(&mut self, width: usize) -> bool {
        let end = self.next + width;
        let none = (self.next..end).all(|at| self.row.value(at) == SqlValue::Null);
        if none {
            self.next = end;
        }
        none
    }

    /// Holds the next column against what follows from the columns before.
    pub(super) fn expect(&mut self, expected: &SqlValue<'_>) -> Result<(), StoreError> {
        let actual = self.row.value(self.next);
        if actual != *expected {
            return Err(self.corrupt(&expected.to_string(), &actual));
        }
        self.next += 1;
        Ok(())
    }
}

/// The values of a query's parameters, in their order.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::table::Bind::value(&$value)),*] as &[$crate::store::driver::SqlValue<'_>]
    };
}
pub(super) use values;

/// A type that has columns: see the head of this file.
macro_rules! stored {
    (@put $value:expr, $out:ident) => {
        $crate::store::table::Columns::put(&$value, $out)
    };
    (@put $value:expr, $out:ident, $as:ty) => {
        $out.push(<$as>::value_of(&$value))
    };
    (@take $cells:ident) => {
        $crate::store::table::Columns::take($cells)?
    };
    (@take $cells:ident, $as:ty) => {
        <$as as $crate::store::table::Columns>::take($cells)?.into()
    };
    ($name:ident $(of $table:literal)? {
        $($field:ident: $type:ty $(as $as:ty)? $(= $($column:literal)|+)?,)*
    } $(derived { $($derived:literal = |$row:ident| $value:expr,)* })?) => {
        impl $crate::store::table::Columns for $name {
            const WIDTH: usize = 0
                $(+ <$type as $crate::store::table::Columns>::WIDTH)*
                $(+ [$($derived),*].len())?;

            fn columns(_: &[&'static str], out: &mut Vec<&'static str>) {
                $(<$type as $crate::store::table::Columns>::columns(&[$($($column),+)?], out);)*
                $(out.extend([$($derived),*]);)?
            }

            fn put<'a>(&'a self, out: &mut Vec<$crate::store::driver::SqlValue<'a>>) {
                $($crate::store::table::stored!(@put self.$field, out $(, $as)?);)*
                $($({ let $row = self; out.push($value); })*)?
            }

            fn take(
                cells: &mut $crate::store::table::Cells<'_>,
            ) -> Result<Self, $crate::store::StoreError> {
                $(cells.enter($table);)?
                let read = $name {
                    $($field: $crate::store::table::stored!(@take cells $(, $as)?),)*
                };
                $($({ let $row = &read; cells.expect(&$value)?; })*)?
                Ok(read)
            }
        }

        $(impl $crate::store::table::Row for $name {
            const TABLE: &'static str = $table;
            const READING: &'static str = concat!("read ", $table);
            const ADDING: &'static str = concat!("add to ", $table);
        })?
    };
}
pub(super) use stored;

/// A struct and its columns: see the head of this file.
macro_rules! row {
    ($(#[$meta:meta])* pub struct $name:ident $(of $table:literal)? {
        $($(#[$doc:meta])* $field:ident: $type:ty $(as $as:ty)? $(= $($column:literal)|+)?,)*
    } $($derived:tt)*) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }
        $crate::store::table::stored! {
            $name $(of $table)? {
                $($field: $type $(as $as)? $(= $($column)|+)?,)*
            } $($derived)*
        }
    };
}
pub(super) use row;

/// Parts that a row has as a whole, or not at all: then all of their columns are null.
macro_rules! optional {
    ($($part:ty),* $(,)?) => {$(
        impl $crate::store::table::Columns for Option<$part> {
            const WIDTH: usize = <$part as $crate::store::table::Columns>::WIDTH;

            fn columns(given: &[&'static str], out: &mut Vec<&'static str>) {
                <$part as $crate::store::table::Columns>::columns(given, out);
            }

            fn put<'a>(&'a self, out: &mut Vec<$crate::store::driver::SqlValue<'a>>) {
                match self {
                    Some(part) => part.put(out),
                    None => out.extend([const { $crate::store::driver::SqlValue::Null }; Self::WIDTH]),
                }
            }

            fn take(
                cells: &mut $crate::store::table::Cells<'_>,
            ) -> Result<Self, $crate::store::StoreError> {
                if cells.skip_nulls(Self::WIDTH) {
                    return Ok(None);
                }
                <$part as $crate::store::table::Columns>::take(cells).map(Some)
            }
        }
    )*};
}
pub(super) use optional;

impl<T: Scalar> Columns for T {
    const WIDTH: usize = 1;

    fn columns(given: &[&'static str], out: &mut Vec<&'static str>) {
        out.extend_from_slice(given);
    }

    fn put<'a>(&'a self, out: &mut Vec<SqlValue<'a>>) {
        out.push(self.value());
    }

    fn take(cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        cells.scalar()
    }
}

impl<T: Scalar> Columns for Option<T> {
    const WIDTH: usize = 1;

    fn columns(given: &[&'static str], out: &mut Vec<&'static str>) {
        out.extend_from_slice(given);
    }

    fn put<'a>(&'a self, out: &mut Vec<SqlValue<'a>>) {
        out.push(self.value());
    }

    fn take(cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        let read = match cells.row.value(cells.next) {
            SqlValue::Null => None,
            value => Some(T::of(&value).ok_or_else(|| cells.corrupt(T::EXPECTED, &value))?),
        };
        cells.next += 1;
        Ok(read)
    }
}

/// Values side by side, in an answer that is no row of a table.
macro_rules! side_by_side {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Columns),*> Columns for ($($name,)*) {
            const WIDTH: usize = 0 $(+ $name::WIDTH)*;

            fn columns(given: &[&'static str], out: &mut Vec<&'static str>) {
                out.extend_from_slice(given);
            }

            fn put<'a>(&'a self, out: &mut Vec<SqlValue<'a>>) {
                $(self.$at.put(out);)*
            }

            fn take(cells: &mut Cells<'_>) -> Result<Self, StoreError> {
                Ok(($($name::take(cells)?,)*))
            }
        }
    };
}
side_by_side!(A 0, B 1);
side_by_side!(A 0, B 1, C 2);
side_by_side!(A 0, B 1, C 2, D 3);

impl<T: Bind> Bind for Option<T> {
    fn value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, Bind::value)
    }
}

impl<T: Bind + ?Sized> Bind for &T {
    fn value(&self) -> SqlValue<'_> {
        (**self).value()
    }
}

impl Bind for str {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Text(Cow::Borrowed(self))
    }
}

impl Bind for [u8] {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Blob(Cow::Borrowed(self))
    }
}

impl Bind for String {
    fn value(&self) -> SqlValue<'_> {
        self.as_str().value()
    }
}

impl Scalar for String {
    const EXPECTED: &'static str = "text";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        text(value).map(str::to_owned)
    }
}

impl Bind for Vec<u8> {
    fn value(&self) -> SqlValue<'_> {
        self.as_slice().value()
    }
}

impl Scalar for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        bytes(value).map(<[u8]>::to_vec)
    }
}

impl Bind for [u8; 32] {
    fn value(&self) -> SqlValue<'_> {
        self.as_slice().value()
    }
}

impl Scalar for [u8; 32] {
    const EXPECTED: &'static str = "32 bytes";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        bytes(value)?.try_into().ok()
    }
}

impl Bind for Salt {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Blob(Cow::Borrowed(self.as_bytes()))
    }
}

impl Scalar for Salt {
    const EXPECTED: &'static str = "32 bytes, or the keys that are left of them";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        Salt::from_stored(bytes(value)?)
    }
}

impl Bind for bool {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Integer(i64::from(*self))
    }
}

impl Scalar for bool {
    const EXPECTED: &'static str = "0 or 1";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Integer(0) => Some(false),
            SqlValue::Integer(1) => Some(true),
            _ => None,
        }
    }
}

impl Bind for f64 {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Real(*self)
    }
}

impl Scalar for f64 {
    const EXPECTED: &'static str = "a number";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Real(number) => Some(*number),
            _ => None,
        }
    }
}

/// Numbers that are not negative; what is larger than a database can hold is its largest.
macro_rules! counts {
    ($($type:ty)*) => {$(
        impl Bind for $type {
            fn value(&self) -> SqlValue<'_> {
                SqlValue::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }

        impl Scalar for $type {
            const EXPECTED: &'static str = "a count";

            fn of(value: &SqlValue<'_>) -> Option<Self> {
                match value {
                    SqlValue::Integer(number) => (*number).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}
counts!(u8 u16 u32 u64);

impl Bind for Seconds {
    fn value(&self) -> SqlValue<'_> {
        SqlValue::Integer(self.as_i64())
    }
}

impl Scalar for Seconds {
    const EXPECTED: &'static str = "a time";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        u64::of(value).and_then(|seconds| Seconds::new(seconds).ok())
    }
}

/// Texts that are printed and parsed.
macro_rules! printed {
    ($($type:ty: $expected:literal,)*) => {$(
        impl Bind for $type {
            fn value(&self) -> SqlValue<'_> {
                SqlValue::Text(Cow::Owned(self.to_string()))
            }
        }

        impl Scalar for $type {
            const EXPECTED: &'static str = $expected;

            fn of(value: &SqlValue<'_>) -> Option<Self> {
                text(value)?.parse().ok()
            }
        }
    )*};
}
printed! {
    Uuid: "a UUID",
    SpecialistId: "a specialist",
    Hash32: "a hash",
    PublicKey: "a public key",
    Header: "a block header",
}

/// Words of a list.
macro_rules! words {
    ($($type:ident: $expected:literal of $all:expr,)*) => {$(
        impl $crate::store::table::Bind for $type {
            fn value(&self) -> $crate::store::driver::SqlValue<'_> {
                $crate::store::driver::SqlValue::Text(self.name().into())
            }
        }

        impl $crate::store::table::Scalar for $type {
            const EXPECTED: &'static str = $expected;

            fn of(value: &$crate::store::driver::SqlValue<'_>) -> Option<Self> {
                let word = $crate::store::table::text(value)?;
                $all.into_iter().find(|one| one.name() == word)
            }
        }
    )*};
}
pub(super) use words;
words! {
    Role: "a role of an exchange's texts" of Role::OF_EXCHANGES,
    AdmittedFor: "governance or execution_only"
        of [AdmittedFor::Governance, AdmittedFor::ExecutionOnly],
    AuthorityState: "ok, insufficient or blocked"
        of [AuthorityState::Ok, AuthorityState::Insufficient, AuthorityState::Blocked],
    CommitKind: "a kind of commit" of CommitKind::ALL,
    ConversationState: "open or archived" of ConversationState::ALL,
    DecayClass: "A, B, C or D" of DecayClass::ALL,
    EventKind: "INTENT, DECISION or EXECUTION"
        of [EventKind::Intent, EventKind::Decision, EventKind::Execution],
    ExchangeOutcome: "answered, failed or denied" of ExchangeOutcome::ALL,
    HandoffTrigger: "a trigger of a handoff" of HandoffTrigger::ALL,
    ImportFormat: "a format of imports" of ImportFormat::ALL,
    ImportedRole: "a role of an imported message" of ImportedRole::ALL,
    ImportedState: "current, replaced or erased" of ImportedState::ALL,
    ItemKind: "a kind of item" of ItemKind::ALL,
    ItemState: "a state of an item" of ItemState::ALL,
    ProjectState: "open or retired" of ProjectState::ALL,
    TurnIntent: "an intent of a turn" of TurnIntent::ALL,
    RatingVerdict: "good or bad" of RatingVerdict::ALL,
    CouncilPlace: "a place in a council" of CouncilPlace::ALL,
    ReviewVerdict: "agree or disagree" of ReviewVerdict::ALL,
}

impl Bind for Block {
    fn value(&self) -> SqlValue<'_> {
        // A block is numbers and words: nothing in it can't be printed.
        canon::print(self).map_or(SqlValue::Null, |text| SqlValue::Text(Cow::Owned(text)))
    }
}

impl Scalar for Block {
    const EXPECTED: &'static str = "a block document";

    fn of(value: &SqlValue<'_>) -> Option<Self> {
        canon::parse(text(value)?.as_bytes()).ok()
    }
}

/// The block's document, and its header.
impl Columns for Anchor {
    const WIDTH: usize = 2;

    fn columns(given: &[&'static str], out: &mut Vec<&'static str>) {
        out.extend_from_slice(given);
    }

    fn put<'a>(&'a self, out: &mut Vec<SqlValue<'a>>) {
        out.extend([self.block.value(), self.header.value()]);
    }

    fn take(cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        Ok(Anchor {
            block: Columns::take(cells)?,
            header: Columns::take(cells)?,
        })
    }
}

stored! {
    Cost { micro: u64 = "cost_micro", currency: String = "cost_currency", }
}
optional!(Cost, (u64, u64));

pub(super) fn text<'a>(value: &'a SqlValue<'_>) -> Option<&'a str> {
    match value {
        SqlValue::Text(text) => Some(text),
        _ => None,
    }
}

fn bytes<'a>(value: &'a SqlValue<'_>) -> Option<&'a [u8]> {
    match value {
        SqlValue::Blob(bytes) => Some(bytes),
        _ => None,
    }
}
