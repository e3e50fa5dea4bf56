//! A home's own ledger after a loss, and a ledger that a home is to take over: the checks of
//! `gently audit verify`, against the key that the home's ledger began with.

use std::path::Path;

use crate::app::home::open::OpenHomeError;
use crate::audit::{DatabaseAudit, WithDatabase};
use crate::home::Home;
use crate::recorder::Paths;
use crate::store::Store;
use crate::verify::{
    AuditQuestion, CheckAnswer, Evidence, Finding, OwnerCheck, Report, VerifyError, VerifyOptions,
    verify_as,
};

use super::target::{CHECKPOINT, own_signers};

/// Checks a home's own ledger and log, with its database held against them.
pub fn check_own(paths: &Paths) -> Result<Report, OpenHomeError> {
    let (repository, log) = (paths.ledger(), paths.log());
    let store = Store::open_read_only(&paths.database())?;
    let database = |look: &mut WithDatabase<'_>| -> Result<(), VerifyError> {
        store.begin_read()?;
        look(&store)?;
        Ok(store.end_read()?)
    };
    let signers = own_signers(&paths.root).unwrap_or_default();
    let checkpoint = log.with_file_name(CHECKPOINT);
    let evidence = Evidence {
        repository: &repository,
        log: Some(&log),
        checkpoint: Some(&checkpoint),
        signers: &signers,
    };
    checked(&store, &evidence, Some(&DatabaseAudit(&database)))
}

/// Checks a ledger that a home is to take over; of its keys only the first is known here.
pub fn check_newer(
    paths: &Paths,
    repository: &Path,
    log: Option<&Path>,
) -> Result<Report, OpenHomeError> {
    let store = Store::open_read_only(&paths.database())?;
    let checkpoint = log.map(|log| log.with_file_name(CHECKPOINT));
    let evidence = Evidence {
        repository,
        log,
        checkpoint: checkpoint.as_deref(),
        signers: &[],
    };
    checked(&store, &evidence, None)
}

fn checked(
    store: &Store,
    evidence: &Evidence<'_>,
    owner: Option<&dyn OwnerCheck>,
) -> Result<Report, OpenHomeError> {
    let first_key = Home::genesis(store)?.signer.to_string();
    let options = VerifyOptions {
        owner,
        ..VerifyOptions::default()
    };
    let mut report = verify_as(evidence, options)?;
    if let Some(first) = report.signers.first().filter(|first| **first != first_key) {
        report.found(Finding {
            question: AuditQuestion::SignedBy,
            place: "genesis.json".to_owned(),
            expected: format!("the key that this home began with, {first_key}"),
            actual: first.clone(),
            session: None,
        });
    }
    Ok(report)
}

/// Whether a ledger holds together, no line of it is signed by another key, and the database beside it
/// is made as it should be.
pub fn holds(report: &Report) -> bool {
    let answer = |question| report.answers.to(question).answer;
    answer(AuditQuestion::Consistent) == CheckAnswer::Yes
        && answer(AuditQuestion::SignedBy) != CheckAnswer::No
        && report.is_made_as_it_should_be()
}
