//! After a restore: taking over a newer ledger, or saying that there is none.

use std::path::{Path, PathBuf};

use crate::home::Home;
use crate::recorder::{
    self, AdoptFault, AdoptionResult, NewerLedger, RecorderError, is_marked, taken_over,
};
use crate::store::UnsignedLines;
use crate::verify::Report;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::verify::home::{check_newer, holds};
use crate::app::set_up::keys::is_known;

/// A ledger that is to be taken over.
pub struct AdoptSource {
    /// Folder of the bare repository that has the newer history.
    pub repository: PathBuf,
    /// The log that belongs to it.
    log: Option<PathBuf>,
    /// Whether it is the home's own, and the database the older one.
    is_own: bool,
}

/// What a check of such a ledger found.
pub enum AdoptCheck {
    /// It holds together; this is what is in it.
    Holds(NewerLedger),
    /// It does not, or is not signed by the home's key.
    Fails(Box<Report>),
}

/// Which ledger is meant: the one that is named, or the home's own. Checks the auth key.
pub fn source(
    home: &Home,
    from: Option<&Path>,
    log: Option<&Path>,
) -> Result<AdoptSource, OpenHomeError> {
    is_known(home, &open::config(home)?)?;
    let Some(from) = from else {
        let paths = home.paths();
        return Ok(AdoptSource {
            repository: paths.ledger(),
            log: Some(paths.log()),
            is_own: true,
        });
    };
    if !from.exists() {
        let from = from.display().to_string();
        let address = if is_address(&from) { &from } else { "URL" };
        return Err(OpenHomeError::Refused(format!(
            "no ledger at {from}; fetch it first: git clone --mirror {address} LEDGER"
        )));
    }
    Ok(AdoptSource {
        repository: from.to_owned(),
        log: log.map(Path::to_owned),
        is_own: false,
    })
}

/// Whether somebody gave an address, which is fetched with git first.
fn is_address(text: &str) -> bool {
    text.contains("://") || (text.contains('@') && text.contains(':'))
}

/// Checks such a ledger, and reads it.
pub fn check(home: &Home, source: &AdoptSource) -> Result<AdoptCheck, OpenHomeError> {
    let log = source.log.as_deref();
    let report = check_newer(&home.paths(), &source.repository, log)?;
    if !holds(&report) {
        return Ok(AdoptCheck::Fails(Box::new(report)));
    }
    let newer = NewerLedger::read(&source.repository, log)?;
    if newer.unsigned > 0 && source.is_own {
        let (unsigned, signed) = (newer.unsigned, newer.lines.len());
        return Err(RecorderError::from(AdoptFault::Unsigned { unsigned, signed }).into());
    }
    Ok(AdoptCheck::Holds(newer))
}

/// Takes over what is newer.
pub fn take_over(home: &Home, newer: &NewerLedger) -> Result<AdoptionResult, OpenHomeError> {
    let config = open::config(home)?;
    let mut salts = || {
        open::fresh_salt().map_err(|e| RecorderError::Unrecordable {
            what: "a salt",
            reason: e.to_string(),
        })
    };
    let signer = open::signer(home, &config)?;
    let now = open::clock()?;
    Ok(taken_over(&home.paths(), newer, signer, &mut salts, now)?)
}

/// Puts on record that nothing newer than the backup was ever published; what nobody had signed is told
/// before it is signed. Checks the auth key.
pub async fn nothing_newer(
    home: &Home,
    tell: &dyn Fn(&UnsignedLines),
) -> Result<Option<UnsignedLines>, OpenHomeError> {
    let config = open::config(home)?;
    is_known(home, &config)?;
    let paths = home.paths();
    if !is_marked(&paths) {
        return Err(OpenHomeError::Refused(
            "this home was not restored from a backup: there is nothing to say".to_owned(),
        ));
    }
    let signer = open::signer(home, &config)?;
    let (salt, now) = (open::fresh_salt()?, open::clock()?);
    Ok(recorder::nothing_newer(&paths, signer, salt, now, tell).await?)
}
