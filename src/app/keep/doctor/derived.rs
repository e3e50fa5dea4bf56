//! What the database makes of itself: its schema, its lists, its search indexes. None is evidence, and
//! a rebuild makes all of it again.

use crate::store::{DerivedFaults, SchemaDifference, Store, StoreError};

use super::DoctorCheck;
use crate::app::words::{and_more, counted, counted_entries};

const REBUILD: &str = "gently audit rebuild";
/// Why lists are not looked at; the check of the schema says what is missing, and what to do.
const UNREADABLE: &str = "what they are read from is missing or damaged: see schema";
/// So many parts of a schema are named.
const MOST: usize = 3;

/// Whether tables, views, indexes and triggers are as this build makes them.
pub fn schema(store: &Store) -> DoctorCheck {
    const NAME: &str = "schema";
    match store.schema_faults() {
        Ok(faults) if faults.is_empty() => DoctorCheck::ok(
            NAME,
            "tables, views, indexes, triggers and search indexes are as gently makes them",
        ),
        Ok(faults) => DoctorCheck::fail(NAME, named(&faults), mend(&faults)),
        Err(error) => broken(NAME, &error),
    }
}

/// The first of them, and how many more there are.
fn named(faults: &[SchemaDifference]) -> String {
    let shown = faults.iter().take(MOST).map(ToString::to_string);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match and_more(faults.len().saturating_sub(MOST)) {
        None => shown,
        Some(more) => format!("{shown}, {more}"),
    }
}

fn mend(faults: &[SchemaDifference]) -> String {
    let cures: Vec<String> = faults.iter().filter_map(SchemaDifference::cure).collect();
    let words = match faults.iter().all(SchemaDifference::is_mendable) {
        true => REBUILD,
        false if cures.len() == faults.len() => return cures.join("; "),
        false if faults.iter().any(SchemaDifference::is_lost_evidence) && !cures.is_empty() => {
            "gently audit rebuild says how a table that was renamed gets its name back"
        }
        false if faults.iter().any(SchemaDifference::is_lost_evidence) => {
            "what was in a table of evidence can't be made again: keep this home as it is, and bring back the newest \
             backup in another place, GENTLY_HOME=DIR gently restore FILE"
        }
        false => {
            "gently audit rebuild makes again what holds no evidence; of other tables it says what to do"
        }
    };
    words.to_owned()
}

/// Whether lists and search indexes are what turns, artifacts and texts give.
pub fn lists(store: &Store) -> DoctorCheck {
    const NAME: &str = "lists";
    match store.reading(|store| store.derived_faults()) {
        Ok(faults) if faults.is_nothing() => DoctorCheck::ok(
            NAME,
            "conversations, projects, what is erased and search indexes are what the record gives",
        ),
        Ok(faults) => DoctorCheck::fail(NAME, words(&faults), REBUILD),
        Err(error) => broken(NAME, &error),
    }
}

fn words(faults: &DerivedFaults) -> String {
    let rows = faults.rows();
    let rows = (rows > 0).then(|| format!("{} of a list", counted(rows, "row")));
    let entries = (faults.indexed > 0).then(|| counted_entries(faults.indexed));
    let both: Vec<String> = rows.into_iter().chain(entries).collect();
    let is = match faults.rows() + faults.indexed {
        1 => "is",
        _ => "are",
    };
    format!("{} {is} not what the record gives", both.join(" and "))
}

fn broken(name: &'static str, error: &StoreError) -> DoctorCheck {
    match error {
        StoreError::Busy { .. } => DoctorCheck::warn(name, error.to_string(), "gently doctor"),
        StoreError::Altered { .. } => DoctorCheck::skipped(name, UNREADABLE),
        _ => DoctorCheck::fail(name, error.to_string(), REBUILD),
    }
}
