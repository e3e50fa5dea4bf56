//! Stamping tree heads at calendars, and completing proofs that were promised.

use crate::anchor::calendar::Calendar;
use crate::recorder::Paths;
use crate::stamp::{AT_LEISURE, CloseStampResult, StampError, StampResult, Stamper, UpgradeResult};
use crate::store::Store;

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::redacted::clean;

/// What stamping needs, put together.
struct StampSetup {
    calendars: Vec<Calendar>,
    paths: Paths,
}

impl StampSetup {
    fn of(opened: &OpenHome) -> Result<Self, OpenHomeError> {
        let addresses = opened.config.calendars();
        let calendars = addresses
            .iter()
            .map(|address| Calendar::new(address))
            .collect::<Result<_, _>>()?;
        let paths = opened.home.paths();
        Ok(StampSetup { calendars, paths })
    }

    fn stamper<'a>(&'a self, opened: &'a OpenHome) -> Stamper<'a> {
        Stamper {
            paths: &self.paths,
            store: &opened.store,
            calendars: &self.calendars,
            quorum: opened.config.ots.quorum,
            network: opened.genesis.network,
            sources: &opened.sources,
            clock: &open::clock_or_epoch,
        }
    }

    /// Fails when too few calendars are configured for any tree head to be stamped.
    fn check(&self, opened: &OpenHome) -> Result<(), StampingError> {
        let (calendars, quorum) = (self.calendars.len(), opened.config.ots.quorum);
        match calendars {
            0 => Err(StampingError::NoCalendar),
            _ if calendars < quorum => Err(StampingError::TooFew { calendars, quorum }),
            _ => Ok(()),
        }
    }
}

/// Why nothing could be stamped.
#[derive(Debug, thiserror::Error)]
pub enum StampingError {
    /// Nobody is to be asked.
    #[error("no calendar is to be asked: ots.calendars is empty, or anchor.mode is off")]
    NoCalendar,
    /// The quorum can't be reached.
    #[error(
        "ots.quorum is {quorum}, ots.calendars are {calendars}: no head can be stamped. Add calendars, or: gently \
         config set ots.quorum {calendars}"
    )]
    TooFew {
        /// Calendars that are configured.
        calendars: usize,
        /// How many have to accept.
        quorum: usize,
    },
    /// The home could not be opened for it, or a calendar's address is none.
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    /// Notes or tree heads that can't be read.
    #[error(transparent)]
    Stamp(#[from] StampError),
}

/// Stamps every tree head that has no proof; what is behind the newest one gets a checkpoint first.
pub async fn stamp(opened: &OpenHome, notice: &dyn Fn(&str)) -> Result<StampResult, StampingError> {
    opened.authorize().await?;
    let setup = StampSetup::of(opened)?;
    setup.check(opened)?;
    let now = open::clock()?;
    opened
        .recorder
        .checkpoint(now)
        .await
        .map_err(OpenHomeError::from)?;
    let stamper = setup.stamper(opened);
    let mut stamped = Vec::new();
    loop {
        let mut done = stamper.stamp(AT_LEISURE).await?;
        keep_answers(opened, &done)
            .iter()
            .for_each(|line| notice(line));
        let none_of_these = done.stamped.is_empty();
        stamped.append(&mut done.stamped);
        if none_of_these || done.left == 0 {
            return Ok(StampResult { stamped, ..done });
        }
    }
}

/// Asks calendars what became of every pending proof.
pub async fn upgrade(opened: &OpenHome) -> Result<UpgradeResult, StampingError> {
    let setup = StampSetup::of(opened)?;
    Ok(setup.stamper(opened).upgrade(AT_LEISURE, None).await?)
}

/// What came of stamping when `main` had moved.
pub struct StampingReport {
    /// What calendars said of new tree heads and of pending ones.
    pub results: CloseStampResult,
    /// Why what the calendars said could not be kept for `doctor`.
    pub not_kept: Option<String>,
}

/// Stamps and completes within two seconds, if `main` is not where it was; none when nobody was to
/// be asked.
pub async fn after_close(opened: &OpenHome) -> Result<Option<StampingReport>, StampingError> {
    let setup = StampSetup::of(opened)?;
    if setup.calendars.is_empty() {
        return Ok(None);
    }
    setup.check(opened)?;
    let Some(results) = setup.stamper(opened).at_close().await else {
        return Ok(None);
    };
    let not_kept = results
        .stamping
        .as_ref()
        .ok()
        .and_then(|done| keep_answers(opened, done));
    Ok(Some(StampingReport { results, not_kept }))
}

/// Keeps for `doctor` what each calendar said; a line when that can't be done.
fn keep_answers(opened: &OpenHome, done: &StampResult) -> Option<String> {
    if done.answers.is_empty() {
        return None;
    }
    let said: Vec<(&str, Option<String>)> = done
        .answers
        .iter()
        .map(|(name, fault)| {
            let fault = fault.as_ref().map(|fault| clean(&fault.to_string()));
            (name.as_str(), fault)
        })
        .collect();
    let said: Vec<(&str, Option<&str>)> = said
        .iter()
        .map(|(name, said)| (*name, said.as_deref()))
        .collect();
    let kept = Store::open(&opened.home.paths().database())
        .and_then(|mut store| store.put_calendar_answers(open::clock_or_epoch(), &said));
    kept.err()
        .map(|error| format!("what the calendars said is not kept: {error}"))
}
