//! What only the owner can check: the database against log and ledger, and turns computed again.
//!
//! [`DatabaseAudit`] takes part in a check of `crate::verify`: it holds every row that is evidence
//! against what the public checks have read, and adds its findings to theirs. [`replay`] computes
//! turns again, from the database and from the order of the log.

pub mod replay;
pub mod rows;
pub mod trace_facts;

use crate::store::{ReadStore, StoreError};
use crate::verify::report::Findings;
use crate::verify::{CheckedLedger, DatabaseSummary, OwnerCheck, VerifyError};

use rows::database::RowCheck;

/// Opens the database, hands it to the check inside one read transaction, and closes it.
///
/// The transaction begins after git and log were read: the database is written before them, so it
/// holds all that they held.
pub type Database<'a> = dyn Fn(&mut WithDatabase<'_>) -> Result<(), VerifyError> + 'a;

/// What the check does with the database.
pub type WithDatabase<'a> = dyn FnMut(&ReadStore) -> Result<(), VerifyError> + 'a;

/// The check of a database beside its ledger.
pub struct DatabaseAudit<'a>(pub &'a Database<'a>);

impl OwnerCheck for DatabaseAudit<'_> {
    fn check(
        &self,
        ledger: &CheckedLedger<'_>,
        findings: &mut Findings,
    ) -> Result<Option<DatabaseSummary>, VerifyError> {
        let mut summary = None;
        (self.0)(&mut |store| {
            summary = RowCheck::new(store, ledger, findings).check()?;
            Ok(())
        })?;
        Ok(summary)
    }
}

impl From<StoreError> for VerifyError {
    fn from(error: StoreError) -> Self {
        VerifyError::Owned(Box::new(error))
    }
}
