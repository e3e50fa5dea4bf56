//! Who was told of the log's heads: calendars and witnesses, by what they said last; nobody is
//! asked.

use crate::anchor::calendar::Calendar;
use crate::app::home::open;
use crate::app::prove::witness::{hopeless, state_words};
use crate::config::{AnchorMode, Config};
use crate::record::time::Seconds;
use crate::recorder::Paths;
use crate::stamp::ProofCounts;
use crate::store::{CalendarState, Store, WitnessState};
use crate::witness::{LatestTreeHead, WitnessError, newest_head, standing};

use super::DoctorCheck;

const CALENDARS: &str = "calendars";
const CALENDAR: &str = "calendar";
const WITNESSES: &str = "witnesses";
const WITNESS: &str = "witness";

const STAMP: &str = "gently audit stamp";
const UPGRADE: &str = "gently audit upgrade";
const ASK: &str = "gently witness ask";
const VERIFY: &str = "gently audit verify";

/// How the heads stand with the calendars, and what each calendar said last.
pub fn calendars(store: &Store, paths: &Paths, config: &Config) -> Vec<DoctorCheck> {
    let addresses = config.calendars();
    if addresses.is_empty() {
        let off = config.anchor.mode == AnchorMode::Off;
        let why = if off {
            "anchor.mode is off"
        } else {
            "ots.calendars is empty"
        };
        return vec![DoctorCheck::skipped(
            CALENDARS,
            format!("{why}: no head of the log is stamped"),
        )];
    }
    let states = match store.calendar_states() {
        Ok(states) => states,
        Err(error) => return vec![DoctorCheck::fail(CALENDARS, error.to_string(), VERIFY)],
    };
    let mut checks = vec![match ProofCounts::read(paths, store) {
        Ok(standing) => stamped(&standing, config, open::clock_or_epoch()),
        Err(error) => DoctorCheck::fail(CALENDARS, error.to_string(), VERIFY),
    }];
    checks.extend(addresses.iter().map(|address| calendar(address, &states)));
    checks
}

/// The heads together.
fn stamped(standing: &ProofCounts, config: &Config, now: Seconds) -> DoctorCheck {
    let (here, quorum) = (config.calendars().len(), config.ots.quorum);
    let found = format!(
        "{} must accept a head; {}",
        of(quorum, here),
        counts(standing, now)
    );
    if here < quorum {
        return DoctorCheck::warn(
            CALENDARS,
            found,
            format!("gently config set ots.quorum {here}, or add calendars"),
        );
    }
    if let Some(spoiled) = standing.spoiled.first() {
        let found = format!(
            "{found}; the note on commit {} does not prove its head",
            spoiled.commit
        );
        return DoctorCheck::warn(CALENDARS, found, VERIFY);
    }
    if standing.unstamped > 0 {
        return DoctorCheck::warn(CALENDARS, found, STAMP);
    }
    if standing.is_late(now) {
        return DoctorCheck::warn(
            CALENDARS,
            found,
            format!("{UPGRADE}; a later proof covers the same lines"),
        );
    }
    DoctorCheck::ok(CALENDARS, found)
}

fn of(quorum: usize, here: usize) -> String {
    format!("{quorum} of {here}")
}

/// `3 heads: 1 without a proof, 2 pending (the oldest for 5 h), 0 in a block`.
fn counts(standing: &ProofCounts, now: Seconds) -> String {
    let heads = standing.unstamped + standing.pending + standing.complete + standing.spoiled.len();
    let heads = if heads == 1 {
        "1 head".to_owned()
    } else {
        format!("{heads} heads")
    };
    let oldest = standing.waits(now).map_or_else(String::new, |waits| {
        format!(" (the oldest for {})", hours(waits))
    });
    format!(
        "{heads}: {} without a proof, {} pending{oldest}, {} in a block",
        standing.unstamped, standing.pending, standing.complete
    )
}

/// Whole hours, minutes below one.
fn hours(seconds: u64) -> String {
    if seconds < 3600 {
        format!("{} min", seconds / 60)
    } else {
        format!("{} h", seconds / 3600)
    }
}

/// What one calendar said last.
fn calendar(address: &str, states: &[CalendarState]) -> DoctorCheck {
    if let Err(fault) = Calendar::new(address) {
        return DoctorCheck::fail(
            CALENDAR,
            fault.to_string(),
            "gently config get ots.calendars",
        );
    }
    let Some(state) = states.iter().find(|state| state.address == address) else {
        return DoctorCheck::skipped(
            CALENDAR,
            format!("{address}: not asked yet (doctor does not ask)"),
        );
    };
    match (&state.said, state.accepted_at) {
        (None, _) => DoctorCheck::ok(
            CALENDAR,
            format!("{address}: accepted at {}", state.asked_at),
        ),
        (Some(said), accepted_at) => {
            let last = accepted_at.map_or("never accepted".to_owned(), |at| {
                format!("last accepted at {at}")
            });
            let said = brief(address, said);
            DoctorCheck::warn(
                CALENDAR,
                format!("{address}: {last}; asked at {}: {said}", state.asked_at),
                STAMP,
            )
        }
    }
}

/// What it said without its address again, and without the transport's long words for a name that
/// nobody knows.
fn brief<'a>(address: &str, said: &'a str) -> &'a str {
    let told = said.strip_prefix(address).map_or(said, |rest| {
        rest.split_once(": ").map_or(rest, |(_, rest)| rest)
    });
    if told.contains("dns error") {
        "name not resolved"
    } else {
        told
    }
}

/// How the newest tree head stands with the witnesses, and what each said last.
pub fn witnesses(store: &Store, paths: &Paths, config: &Config) -> Vec<DoctorCheck> {
    if config.witness.named.is_empty() {
        let why = "none is configured, so nobody would notice a second history (gently witness add NAME VKEY URL)";
        return vec![DoctorCheck::skipped(WITNESSES, why)];
    }
    all_of(store, paths, config)
        .unwrap_or_else(|error| vec![DoctorCheck::fail(WITNESSES, error.to_string(), VERIFY)])
}

fn all_of(store: &Store, paths: &Paths, config: &Config) -> Result<Vec<DoctorCheck>, WitnessError> {
    let (head, states) = (newest_head(store)?, store.witness_states()?);
    let held = held(paths, head.as_ref(), config)?;
    let mut checks = vec![cosigned(head.as_ref(), held, config)];
    checks.extend(config.witness.named.iter().map(|(name, witness)| {
        let state = states
            .iter()
            .find(|state| state.vkey == witness.key.print());
        one(name, state, head.as_ref().map(|head| head.note.size))
    }));
    Ok(checks)
}

/// How many of the configured witnesses have cosigned the newest tree head, by the note that stands
/// on it.
fn held(
    paths: &Paths,
    head: Option<&LatestTreeHead>,
    config: &Config,
) -> Result<usize, WitnessError> {
    let Some(head) = head else { return Ok(0) };
    let Some(note) = standing(paths, head)? else {
        return Ok(0);
    };
    Ok(config
        .witness
        .named
        .values()
        .filter(|witness| note.cosigned_at(&witness.key).is_some())
        .count())
}

fn cosigned(head: Option<&LatestTreeHead>, held: usize, config: &Config) -> DoctorCheck {
    let (here, quorum) = (config.witness.named.len(), config.witness.quorum);
    if here < quorum {
        let found = format!("the quorum can't be reached: {}", of(quorum, here));
        return DoctorCheck::warn(WITNESSES, found, hopeless(here, quorum));
    }
    let Some(head) = head else {
        return DoctorCheck::skipped(
            WITNESSES,
            "there is no tree head yet: the first one comes when a session closes",
        );
    };
    let found = format!(
        "{held} of the {quorum} that are needed have cosigned the newest tree head ({} lines)",
        head.note.size
    );
    if held < quorum {
        DoctorCheck::warn(WITNESSES, found, ASK)
    } else {
        DoctorCheck::ok(WITNESSES, found)
    }
}

/// What one witness said last.
fn one(name: &str, state: Option<&WitnessState>, head: Option<u64>) -> DoctorCheck {
    let found = format!("{name}: {}", state_words(state, head));
    match state {
        None => DoctorCheck::skipped(WITNESS, found),
        Some(WitnessState { said: Some(_), .. }) => DoctorCheck::warn(WITNESS, found, ASK),
        Some(_) => DoctorCheck::ok(WITNESS, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_told_in_whole_hours() {
        for (seconds, words) in [
            (0, "0 min"),
            (59, "0 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (48 * 3600, "48 h"),
            (720_000, "200 h"),
        ] {
            assert_eq!(hours(seconds), words);
        }
    }
}
