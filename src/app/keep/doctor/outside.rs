//! What gently rests on: clock, disk, block sources, the model, git and ssh-keygen.

use std::path::Path;
use std::process::Stdio;

use crate::anchor::SourceFault;
use crate::anchor::agree::{host, observe};
use crate::app::ask::model_choice::{CallOptions, choose, server};
use crate::app::home::{open, secrets};
use crate::app::redacted::clean;
use crate::app::set_up::model_list::reachable;
use crate::config::{AnchorMode, Config};
use crate::models::wire::Wire;
use crate::os::free_bytes;
use crate::record::bitcoin::block::Network;
use crate::record::ledger::bundle::{Measurement, SightEntry};
use crate::sight::Tool as _;
use crate::sight::sys_health::SysHealth;
use crate::store::Store;

use super::DoctorCheck;

/// A writer refuses when the last line is further ahead than this (format, section 4).
const AHEAD_S: u64 = 3600;
/// Less than this and a transaction may not fit.
const DISK_FAIL_MB: u64 = 64;
/// Less than this deserves a look: some ten thousand turns.
const DISK_WARN_MB: u64 = 1024;
/// The first git that verifies SSH signatures, as major and minor number.
const GIT: (u64, u64) = (2, 34);

/// The clock is not behind the last line.
pub fn clock(store: &Store) -> DoctorCheck {
    const NAME: &str = "clock";
    let (now, last) = match (open::clock(), store.head()) {
        (Ok(now), Ok(head)) => (now, head.time),
        (Err(error), _) => return DoctorCheck::fail(NAME, error.to_string(), "timedatectl"),
        (_, Err(error)) => {
            return DoctorCheck::fail(NAME, error.to_string(), "gently audit verify");
        }
    };
    match last.since(now) {
        0 => DoctorCheck::ok(NAME, format!("{now}, not earlier than the last line")),
        behind if behind <= AHEAD_S => {
            let found = format!(
                "{now}, {behind} s earlier than the last line ({last}); new lines keep its time until then"
            );
            DoctorCheck::warn(NAME, found, "timedatectl")
        }
        behind => {
            let found = format!(
                "{now}, {behind} s earlier than the last line ({last}): nothing can be recorded"
            );
            DoctorCheck::fail(
                NAME,
                found,
                "correct the clock; or if the line was wrong: gently audit clock-set",
            )
        }
    }
}

/// Whether anybody sets the clock right.
pub fn clock_sync() -> DoctorCheck {
    const NAME: &str = "clock sync";
    if Path::new("/run/systemd/timesync/synchronized").exists() {
        return DoctorCheck::ok(NAME, "systemd-timesyncd says that it is synchronised");
    }
    DoctorCheck::skipped(
        NAME,
        "unknown whether the clock is synchronised; ask: timedatectl, or chronyc tracking",
    )
}

/// Room on the disk of the home.
pub fn disk(root: &Path) -> DoctorCheck {
    const NAME: &str = "disk";
    // The tools know the disks that are mounted as such, and a home may lie on another.
    if let Ok(free) = free_bytes(root) {
        return room(free >> 20);
    }
    let SightEntry::Seen { values, .. } = (SysHealth {
        home: root.to_owned(),
    })
    .observe(open::clock_or_epoch()) else {
        return DoctorCheck::skipped(NAME, "the system does not say how much is free");
    };
    let Some(Measurement::Count(free)) = values.get("disk_free_mb") else {
        return DoctorCheck::skipped(NAME, "the system does not say how much is free");
    };
    room(*free)
}

fn room(free: u64) -> DoctorCheck {
    let found = format!("{free} MiB free where the home is");
    match free {
        ..DISK_FAIL_MB => DoctorCheck::fail(
            "disk",
            found,
            "free some space: nothing can be recorded on a full disk",
        ),
        DISK_FAIL_MB..DISK_WARN_MB => DoctorCheck::warn("disk", found, "free some space soon"),
        _ => DoctorCheck::ok("disk", found),
    }
}

/// Asks every block source, as a session would.
pub async fn sources(config: &Config, network: Network) -> DoctorCheck {
    const NAME: &str = "sources";
    if config.anchor.mode == AnchorMode::Off {
        return DoctorCheck::skipped(
            NAME,
            "anchor.mode is off: no source is asked, and no session is anchored",
        );
    }
    let sources = match open::sources(config, network) {
        Ok(sources) => sources,
        Err(error) => {
            return DoctorCheck::fail(NAME, error.to_string(), "gently config get anchor.esplora");
        }
    };
    if sources.is_empty() {
        return DoctorCheck::warn(
            NAME,
            "none is configured: no session is anchored",
            "gently config set anchor.esplora \"['URL']\"",
        );
    }
    let seen = observe(
        &sources,
        network,
        open::policy(config),
        open::clock_or_epoch(),
    )
    .await;
    let faults = seen.answers.iter().filter_map(|a| a.outcome.as_ref().err());
    let faults: Vec<&SourceFault> = faults.collect();
    let all = seen.answers.len();
    let good = all - faults.len();
    let mut found = format!("{good} of {all} give a valid block");
    if !seen.anchor.block.is_local() {
        found.push_str(&format!(", and {} is used", seen.anchor.block.height));
    }
    if !faults.is_empty() {
        found.push_str(&format!(": {}", told(&faults)));
    }
    const MEND: &str = "gently config set anchor.esplora \"['URL']\"; or without a network: gently config set anchor.mode off";
    let is_local = seen.anchor.block.is_local();
    let check = match is_local && !is_only_offline(&faults) {
        true => DoctorCheck::fail(NAME, found, MEND),
        false if faults.is_empty() => DoctorCheck::ok(NAME, found),
        false => DoctorCheck::warn(NAME, found, MEND),
    };
    let raw = faults.iter().filter(|fault| nobody_at(fault).is_some());
    let raw: Vec<String> = raw.map(|fault| clean(&fault.to_string())).collect();
    DoctorCheck {
        raw: (!raw.is_empty()).then(|| raw.join("; ")),
        ..check
    }
}

/// What is wrong with sources: those whose name or network is not there share one plain sentence.
fn told(faults: &[&SourceFault]) -> String {
    let silent: Vec<&str> = faults.iter().filter_map(|fault| nobody_at(fault)).collect();
    let others = faults.iter().filter(|fault| nobody_at(fault).is_none());
    let mut told: Vec<String> = others.map(ToString::to_string).collect();
    if !silent.is_empty() {
        told.push(no_answer_from(&silent.join(" and ")));
    }
    told.join("; ")
}

/// Whether nothing is wrong but that there is no network: everything goes on without one.
fn is_only_offline(faults: &[&SourceFault]) -> bool {
    !faults.is_empty() && faults.iter().all(|fault| nobody_at(fault).is_some())
}

/// The host of a source that could not be found at all.
fn nobody_at(fault: &SourceFault) -> Option<&str> {
    match fault {
        SourceFault::Unreachable { at, reason } if is_offline(reason) => Some(host(at)),
        _ => None,
    }
}

/// Whether a transport's words say that there is no way to a host: its name is not known, or its
/// network is not there.
fn is_offline(reason: &str) -> bool {
    let signs = ["dns error", "Network is unreachable", "No route to host"];
    signs.iter().any(|sign| reason.contains(sign))
}

fn no_answer_from(host: &str) -> String {
    format!("no answer from {host}: are you offline?")
}

/// The model that answers when none is named.
pub async fn model(config: &Config) -> DoctorCheck {
    const NAME: &str = "model";
    // Replay alone reads the database, and only when it is asked.
    let chosen = match choose(None, &CallOptions::default(), config, Path::new("")).await {
        Ok(chosen) => chosen,
        Err(error) => {
            return DoctorCheck::fail(
                NAME,
                error.to_string(),
                "gently config set model.default observer",
            );
        }
    };
    let id = chosen.model.id();
    let Some(wire) = Wire::ALL.into_iter().find(|wire| {
        id.split_once('/')
            .is_some_and(|(name, _)| name == wire.name())
    }) else {
        return DoctorCheck::ok(NAME, format!("{id}, built in"));
    };
    let (url, _) = server(wire, config);
    match reachable(wire, config).await {
        Ok(models) => DoctorCheck::ok(
            NAME,
            format!("{id}: {url} lists {models} models (none was asked a question)"),
        ),
        Err(why) => {
            let is_offline = is_offline(&why);
            let plain = is_offline.then(|| no_answer_from(host(&url)));
            let mend = format!(
                "start the server at {url}, or: gently config set {} URL",
                wire.setting()
            );
            let found = format!("{id}: {}", plain.as_deref().unwrap_or(&why));
            let check = match is_offline {
                true => DoctorCheck::warn(NAME, found, mend),
                false => DoctorCheck::fail(NAME, found, mend),
            };
            DoctorCheck {
                raw: is_offline.then(|| clean(&why)),
                ..check
            }
        }
    }
}

/// git, with which others verify.
pub fn git() -> DoctorCheck {
    const MEND: &str = "apt-get install git";
    match version("git", &["--version"]) {
        None => DoctorCheck::fail(
            "git",
            "not found: gently does not need it, but verifying by hand does",
            MEND,
        ),
        Some(words) => match numbers(&words) {
            Some(found) if found < GIT => DoctorCheck::warn(
                "git",
                format!("{words}: SSH signatures need {}.{}", GIT.0, GIT.1),
                MEND,
            ),
            _ => DoctorCheck::ok("git", words),
        },
    }
}

/// The first two numbers of a version.
fn numbers(words: &str) -> Option<(u64, u64)> {
    let start = words.find(|c: char| c.is_ascii_digit())?;
    let mut parts = words.get(start..)?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// ssh-keygen, with which others verify; it has no version of its own, `ssh` of the same package
/// has.
pub fn ssh_keygen() -> DoctorCheck {
    const NAME: &str = "ssh-keygen";
    if version(NAME, &["-?"]).is_none() {
        let found = "not found: gently does not need it, but git verifies signatures with it";
        return DoctorCheck::fail(NAME, found, "apt-get install openssh-client");
    }
    DoctorCheck::ok(
        NAME,
        version("ssh", &["-V"]).unwrap_or_else(|| "installed, version unknown".to_owned()),
    )
}

/// The first line that a program prints; none when there is no such program.
fn version(program: &str, arguments: &[&str]) -> Option<String> {
    let done = secrets::program(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = if done.stdout.is_empty() {
        done.stderr
    } else {
        done.stdout
    };
    Some(
        String::from_utf8_lossy(&text)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::keep::doctor::CheckState;

    #[test]
    fn being_offline_is_no_failure_and_everything_else_is() {
        let of = |reason: &str| SourceFault::Unreachable {
            at: "https://blockstream.info/api".to_owned(),
            reason: reason.to_owned(),
        };
        let offline = of("error trying to connect: dns error: failed to lookup address");
        let refused = of("tcp connect error: Connection refused");
        for (faults, expected) in [
            (&[&offline, &offline][..], true),
            (&[&offline, &refused], false),
            (&[&refused], false),
            (&[], false),
        ] {
            assert_eq!(is_only_offline(faults), expected, "{faults:?}");
        }
    }

    #[test]
    fn little_room_is_said_before_there_is_none() {
        for (free, state) in [
            (0, CheckState::Fail),
            (63, CheckState::Fail),
            (64, CheckState::Warn),
            (1023, CheckState::Warn),
            (1024, CheckState::Ok),
        ] {
            assert_eq!(room(free).state, state, "{free}");
        }
    }

    #[test]
    fn versions_are_read_from_words() {
        for (words, expected) in [
            ("git version 2.39.5", Some((2, 39))),
            ("git version 2.20.1 (Apple Git-117)", Some((2, 20))),
            ("git version 10.0-rc1", Some((10, 0))),
            ("git", None),
            ("", None),
        ] {
            assert_eq!(numbers(words), expected, "{words}");
        }
    }
}
