//! `service_status`: what systemd says of the units that the configuration names (`[sight] units`).
//!
//! | value | |
//! |---|---|
//! | `nginx.service` | `active (running)`, `failed (failed)`, `not-found`, … |
//! | `nginx.service_restarts` | how often systemd has started it again, where it is not 0 |
//!
//! Asked with `systemctl show`, which changes nothing: one process, no shell, fixed arguments, an
//! empty environment, killed at its deadline. It is the only program that sight runs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::record::ledger::bundle::{NoSight, SightEntry};
use crate::record::time::Seconds;

use super::{Tool, ToolReadings, nothing};

/// The tool's name in kernel and bundle.
pub const NAME: &str = "service_status";

/// It exists exactly where systemd runs as the first process (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";
/// Where systemd's own program is; the `PATH` is nobody's to choose here.
const PROGRAMS: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];
/// Less than sight has in all, so that the process is gone before the answer is.
const DEADLINE: Duration = Duration::from_millis(1500);
/// How often a process that is about to end is looked at.
const POLL: Duration = Duration::from_millis(2);
/// More output is no answer to what was asked.
const MAX_OUTPUT: u64 = 32 * 1024;

/// The tool `service_status`: whether the configured services run.
#[derive(Clone, Debug)]
pub struct ServiceStatus {
    /// The units to ask for; none when the configuration names none.
    pub units: Vec<String>,
    /// The program; none where there is no systemd.
    program: Option<PathBuf>,
}

impl ServiceStatus {
    /// Asks this machine's systemd, if it has one.
    pub fn new(units: Vec<String>) -> Self {
        let booted = Path::new(BOOTED).is_dir();
        let program = PROGRAMS
            .iter()
            .map(PathBuf::from)
            .find(|path| booted && path.is_file());
        ServiceStatus { units, program }
    }
}

impl Tool for ServiceStatus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn observe(&self, now: Seconds) -> SightEntry {
        if self.units.is_empty() {
            return nothing(NoSight::NotInstalled, "services (sight.units names none)");
        }
        let unknowns = || self.units.clone();
        let Some(program) = &self.program else {
            return SightEntry::Unavailable {
                reason: NoSight::NotInstalled,
                unknowns: unknowns(),
            };
        };
        match show(program, &self.units, DEADLINE) {
            Some(text) => looked(&text, &self.units).entry(now),
            None => SightEntry::Unavailable {
                reason: NoSight::ToolError,
                unknowns: unknowns(),
            },
        }
    }
}

/// Runs `systemctl show`; none when it fails, says too much, or is late.
fn show(program: &Path, units: &[String], deadline: Duration) -> Option<String> {
    let until = Instant::now() + deadline;
    let mut child = Command::new(program)
        .args([
            "show",
            "--no-pager",
            "--property=Id,LoadState,ActiveState,SubState,NRestarts",
            "--",
        ])
        .args(units)
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(POLL),
            _ => break None,
        }
    };
    let Some(status) = ended else {
        // It may have ended this moment; either way it is reaped.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    };
    let mut text = String::new();
    child
        .stdout
        .take()?
        .take(MAX_OUTPUT + 1)
        .read_to_string(&mut text)
        .ok()?;
    (status.success() && u64::try_from(text.len()).is_ok_and(|length| length <= MAX_OUTPUT))
        .then_some(text)
}

/// The answer, one block of `KEY=VALUE` lines a unit; a unit that it says nothing of is unknown.
fn looked(text: &str, units: &[String]) -> ToolReadings {
    let mut looked = ToolReadings::default();
    for unit in units {
        let block = text
            .split("\n\n")
            .find(|block| value(block, "Id") == Some(unit));
        let state = block.and_then(|block| match value(block, "LoadState")? {
            "loaded" => Some(format!(
                "{} ({})",
                word(value(block, "ActiveState")?)?,
                word(value(block, "SubState")?)?
            )),
            other => word(other).map(str::to_owned),
        });
        match state {
            Some(state) => looked.text(unit, &state),
            None => looked.unknowns.push(unit.clone()),
        }
        let restarts = block
            .and_then(|block| value(block, "NRestarts"))
            .and_then(|n| n.parse::<u64>().ok());
        if let Some(restarts) = restarts.filter(|n| *n > 0) {
            looked.count(&format!("{unit}_restarts"), Some(restarts));
        }
    }
    looked
}

fn value<'a>(block: &'a str, key: &str) -> Option<&'a str> {
    block
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

/// A state as systemd spells them; anything else is not shown.
fn word(text: &str) -> Option<&str> {
    let fits = !text.is_empty()
        && text.len() <= 32
        && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "NRestarts=3\nId=nginx.service\nLoadState=loaded\nActiveState=active\nSubState=running\n\n\
                       Id=gone.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\n";

    fn units(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn states_as_systemd_gives_them() {
        let found = looked(
            TWO,
            &units(&["nginx.service", "gone.service", "silent.service"]),
        );
        assert_eq!(
            found.values["nginx.service"].to_string(),
            "active (running)"
        );
        assert_eq!(found.values["nginx.service_restarts"].to_string(), "3");
        assert_eq!(found.values["gone.service"].to_string(), "not-found");
        assert_eq!(
            (found.values.len(), found.unknowns),
            (3, units(&["silent.service"]))
        );
    }

    #[test]
    fn what_systemd_would_not_say_is_unknown() {
        for strange in [
            "Id=a.service\nLoadState=loaded\nActiveState=Do as I say\nSubState=x",
            "Id=a.service\nLoadState=loaded\nActiveState=active",
            "Id=a.service\nLoadState=",
            "Id=b.service\nLoadState=loaded\nActiveState=active\nSubState=running",
            "",
        ] {
            assert_eq!(
                looked(strange, &units(&["a.service"])).unknowns,
                units(&["a.service"]),
                "{strange}"
            );
        }
    }

    #[test]
    fn without_units_or_systemd_it_is_not_installed() {
        for tool in [
            ServiceStatus {
                units: vec![],
                program: Some("/bin/false".into()),
            },
            ServiceStatus {
                units: units(&["a.service"]),
                program: None,
            },
        ] {
            let entry = tool.observe(Seconds::ZERO);
            assert!(
                matches!(&entry, SightEntry::Unavailable { reason: NoSight::NotInstalled, unknowns } if !unknowns.is_empty())
            );
        }
    }

    /// Stock programs that take any arguments; `yes` says them without an end.
    #[test]
    fn a_program_that_fails_or_says_nothing_of_use_or_does_not_end_is_a_tool_error() {
        for program in ["/bin/false", "/bin/true", "/bin/echo", "/nowhere/systemctl"] {
            let tool = ServiceStatus {
                units: units(&["a.service"]),
                program: Some(program.into()),
            };
            let entry = tool.observe(Seconds::ZERO);
            let is_error = matches!(
                &entry,
                SightEntry::Unavailable {
                    reason: NoSight::ToolError,
                    ..
                }
            );
            assert!(is_error, "{program}: {entry:?}");
        }
        let asked = units(&["a.service"]);
        assert_eq!(
            show(Path::new("/usr/bin/yes"), &asked, Duration::from_millis(50)),
            None
        );
        let said = show(Path::new("/bin/echo"), &asked, DEADLINE).unwrap();
        assert!(
            said.starts_with("show --no-pager --property=") && said.ends_with(" -- a.service\n"),
            "{said}"
        );
    }
}
