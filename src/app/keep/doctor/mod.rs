//! What a home and what it rests on are like, with the command that mends what is not as it should
//! be; writes nothing. A check that could not be made is `skipped`, and never `ok`.

pub mod audit_log;
mod derived;
mod evidence;
mod files;
mod heads;
mod left_over;
mod outside;
mod secrets;

use std::path::{Path, PathBuf};

use crate::app::prove::verify::conclusion::VerdictMark;
use crate::config::Config;
use crate::config::table::KEYS;
use crate::home::{CONTEXT, Home, HomeError};
use crate::keys::{AUTH_KEY_ENV, STORE_KEY_ENV};
use crate::ledger::aside_of;
use crate::os::shell_word;
use crate::recorder::Paths;
use crate::store::Store;

use crate::app::home::open;
use crate::app::redacted::clean;
use crate::app::set_up::rules_in_force;

/// The checks that a database is there for.
const OF_A_DATABASE: [&str; 10] = [
    "schema",
    "lists",
    "log",
    "ledger",
    "writer",
    "signing key",
    "auth key",
    "clock",
    "calendars",
    "witnesses",
];

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// As it should be.
    Ok,
    /// Works, and deserves a look.
    Warn,
    /// Does not work, or is not what it should be.
    Fail,
    /// Not looked at.
    Skipped,
}

impl CheckState {
    /// The word that people see.
    pub const fn word(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Warn => "warn",
            CheckState::Fail => "FAIL",
            CheckState::Skipped => "skipped",
        }
    }
}

/// A check, and what came of it.
#[derive(Debug)]
pub struct DoctorCheck {
    /// What is looked at.
    pub name: &'static str,
    /// What came of it.
    pub state: CheckState,
    /// What was found.
    pub found: String,
    /// The next command, where there is one.
    pub mend: Option<String>,
    /// What the system said of it, word for word, where `found` says it plainly.
    pub raw: Option<String>,
}

impl DoctorCheck {
    fn new(name: &'static str, state: CheckState, found: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            name,
            state,
            found: clean(&found.into()),
            mend: None,
            raw: None,
        }
    }

    fn ok(name: &'static str, found: impl Into<String>) -> DoctorCheck {
        DoctorCheck::new(name, CheckState::Ok, found)
    }

    fn warn(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            mend: Some(clean(&mend.into())),
            ..DoctorCheck::new(name, CheckState::Warn, found)
        }
    }

    fn fail(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            mend: Some(clean(&mend.into())),
            ..DoctorCheck::new(name, CheckState::Fail, found)
        }
    }

    fn skipped(name: &'static str, why: impl Into<String>) -> DoctorCheck {
        DoctorCheck::new(name, CheckState::Skipped, why)
    }
}

/// What was found.
pub struct DoctorReport {
    /// Where the home is, or would be.
    pub home: PathBuf,
    /// Every check in the order in which it was made.
    pub checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    /// Whether no check fails.
    pub fn is_ok(&self) -> bool {
        self.mark() != VerdictMark::No
    }

    /// What it comes to: *no* where a check fails, *open* where one asks for a look.
    pub fn mark(&self) -> VerdictMark {
        let has = |state| self.checks.iter().any(|check| check.state == state);
        match (has(CheckState::Fail), has(CheckState::Warn)) {
            (true, _) => VerdictMark::No,
            (false, true) => VerdictMark::Open,
            (false, false) => VerdictMark::Yes,
        }
    }
}

/// Looks at everything.
pub async fn examine(root: &Path) -> DoctorReport {
    let mut checks = Vec::new();
    let paths = Paths {
        root: root.to_owned(),
    };
    if home(root, &mut checks) {
        checks.push(files::modes(root));
        let config = configuration(root, &mut checks);
        checks.push(match &config {
            Some(config) => files::encryption(&paths, config),
            None => DoctorCheck::skipped("encryption", "the settings can't be read"),
        });
        checks.extend(files::copies(&paths, config.as_ref()));
        let store = files::database(&paths, &mut checks);
        stored(&paths, store.as_ref(), config.as_ref(), &mut checks);
        outside_of(config.as_ref(), store.as_ref(), &mut checks).await;
    } else {
        let why = "there is no home to look at";
        let of_a_home = ["modes", "config", "encryption", "database"].into_iter();
        let of_a_home = of_a_home.chain(OF_A_DATABASE).chain(["sources", "model"]);
        checks.extend(of_a_home.map(|name| DoctorCheck::skipped(name, why)));
        checks.extend(files::copies(&paths, None));
    }
    checks.push(outside::disk(root));
    checks.push(outside::clock_sync());
    checks.push(outside::git());
    checks.push(outside::ssh_keygen());
    DoctorReport {
        home: root.to_owned(),
        checks,
    }
}

/// Whether anything is there to be looked at.
fn home(root: &Path, checks: &mut Vec<DoctorCheck>) -> bool {
    let place = root.display().to_string();
    let (check, there) = match Home::open(root) {
        Ok(Some(_)) => (DoctorCheck::ok("home", place), true),
        Ok(None) => (
            DoctorCheck::fail("home", format!("there is none at {place}"), "gently init"),
            false,
        ),
        Err(HomeError::Incomplete { part, .. }) => {
            let mend = match part {
                "audit.log" | "ledger.git" => "gently audit rebuild".to_owned(),
                _ => format!(
                    "restore {part} from the backup that the other parts are from; leave the others as they are"
                ),
            };
            (
                DoctorCheck::fail("home", format!("{place} lacks {part}"), mend),
                true,
            )
        }
        Err(error) => (
            DoctorCheck::fail("home", error.to_string(), "GENTLY_HOME=DIR gently init"),
            false,
        ),
    };
    checks.push(check);
    there
}

/// Names of variables that look like ours and are nobody's: a slip in a name.
fn unknown_variables() -> Vec<String> {
    /// Those that are no key of `gently.toml`.
    const OTHERS: [&str; 4] = [
        "GENTLY_HOME",
        AUTH_KEY_ENV,
        "GENTLY_PASSPHRASE",
        STORE_KEY_ENV,
    ];
    let is_known = |name: &str| {
        OTHERS.contains(&name) || KEYS.iter().any(|key| key.variable().as_str() == name)
    };
    let mut unknown: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("GENTLY_") && !name.starts_with("GENTLY_TEST_"))
        .filter(|name| !is_known(name))
        .collect();
    unknown.sort();
    unknown
}

/// The command that puts away what is in the way, under a name that is free.
fn away(path: &Path) -> String {
    format!("mv {} {}", shell_word(path), shell_word(&aside_of(path)))
}

fn configuration(root: &Path, checks: &mut Vec<DoctorCheck>) -> Option<Config> {
    match Config::load(root, &open::env) {
        Ok(config) => {
            let context = Home::context_in(root);
            checks.push(match (unknown_variables().as_slice(), context) {
                (_, Err(fault)) => {
                    DoctorCheck::fail("config", fault.to_string(), away(&root.join(CONTEXT)))
                }
                ([], Ok(_)) => DoctorCheck::ok(
                    "config",
                    "every setting in gently.toml and the environment is known and in range",
                ),
                (unknown, Ok(_)) => DoctorCheck::warn(
                    "config",
                    format!(
                        "no setting has this variable, so it has no effect: {}",
                        unknown.join(", ")
                    ),
                    "gently config get",
                ),
            });
            checks.push(match rules_in_force::described(&config) {
                Ok(words) => DoctorCheck::ok("sanitizer", words),
                Err(fault) => DoctorCheck::fail(
                    "sanitizer",
                    fault.to_string(),
                    "gently config get sanitize.rules",
                ),
            });
            Some(config)
        }
        Err(error) => {
            let mend = format!(
                "edit {}, or unset the variable that is named",
                shell_word(&root.join(crate::config::FILE))
            );
            checks.push(DoctorCheck::fail("config", error.to_string(), mend));
            None
        }
    }
}

/// What is compared with the database.
fn stored(
    paths: &Paths,
    store: Option<&Store>,
    config: Option<&Config>,
    checks: &mut Vec<DoctorCheck>,
) {
    let Some(store) = store else {
        let why = "the database can't be read";
        checks.extend(OF_A_DATABASE.map(|name| DoctorCheck::skipped(name, why)));
        return;
    };
    checks.push(derived::schema(store));
    checks.push(derived::lists(store));
    checks.extend(evidence::all(store, paths));
    checks.extend(left_over::all(store, paths));
    checks.push(match config {
        Some(config) => secrets::signing(&paths.root, store, config.keys.signer()),
        None => DoctorCheck::skipped(
            "signing key",
            "the configuration, which says who signs, can't be read",
        ),
    });
    checks.push(secrets::auth(&paths.root, store));
    checks.push(outside::clock(store));
    match config {
        Some(config) => {
            checks.extend(heads::calendars(store, paths, config));
            checks.extend(heads::witnesses(store, paths, config));
        }
        None => {
            let why = "the configuration, which names calendars and witnesses, can't be read";
            checks.extend(["calendars", "witnesses"].map(|name| DoctorCheck::skipped(name, why)));
        }
    }
}

async fn outside_of(config: Option<&Config>, store: Option<&Store>, checks: &mut Vec<DoctorCheck>) {
    match (config, store.and_then(|store| Home::genesis(store).ok())) {
        (Some(config), Some(genesis)) => {
            checks.push(outside::sources(config, genesis.network).await)
        }
        _ => checks.push(DoctorCheck::skipped(
            "sources",
            "configuration or database can't be read",
        )),
    }
    checks.push(match config {
        Some(config) => outside::model(config).await,
        None => DoctorCheck::skipped("model", "the configuration can't be read"),
    });
}
