//! The person's own git: it knows how to reach a place, with the person's keys and passwords.
//!
//! Its settings are the person's and the machine's, and none of a ledger's repository: a restored
//! home, a copy or a folder that somebody handed over would otherwise say which program git runs
//! (`core.sshCommand`, `core.fsmonitor`, hooks, credential helpers, `url.*.insteadOf`). So git
//! never works in such a repository, but in an overlay of it.

use std::path::Path;
use std::process::{Command, Output};

use super::overlay::Overlay;
use crate::app::home::secrets::program;

/// How git may reach a place: nothing here runs a program that an address names.
pub(crate) const PROTOCOLS: [&str; 5] = ["https", "http", "ssh", "git", "file"];

/// What another git, or the shell it was started from, may have left in the environment: which
/// repository it works in.
const OF_A_REPOSITORY: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_QUARANTINE_PATH",
];

/// git, in no repository that it would find by itself.
pub(crate) fn git() -> Command {
    let mut git = program("git");
    for name in OF_A_REPOSITORY {
        git.env_remove(name);
    }
    git.env("GIT_ALLOW_PROTOCOL", PROTOCOLS.join(":"))
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C");
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        // A host that moved is named by its new address, and not followed to wherever it says.
        "http.followRedirects=false",
        "gc.autoDetach=false",
        "maintenance.autoDetach=false",
    ] {
        git.args(["-c", setting]);
    }
    git
}

/// git in an overlay, whose configuration is ours; paths that it is given are those of the current
/// folder.
pub(crate) fn git_in(overlay: &Overlay) -> Command {
    let mut git = git();
    git.arg("--git-dir").arg(overlay.repository());
    git
}

/// How a git command ended, or that there is no git.
pub(crate) fn run(git: &mut Command) -> Result<Output, String> {
    let done = git.output();
    done.map_err(|e| format!("git does not run ({e}); install git"))
}

/// What a git command prints; `what` names the command in the words of a failure.
pub(crate) fn output(git: &mut Command, what: &str) -> Result<String, String> {
    let done = run(git)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("git {what}: {}", said.trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Where a ledger is pushed: an address as it was typed, a path from the current folder on.
///
/// What begins with `-` is taken for an option by no command behind `--`; what names a helper
/// program is refused.
pub(crate) fn place(typed: &str) -> Result<String, String> {
    let helper = typed
        .split(['/', '@'])
        .next()
        .is_some_and(|start| start.contains("::"));
    if helper {
        return Err(format!(
            "'::' names a helper program; git reaches places by {}",
            PROTOCOLS.join(", ")
        ));
    }
    if typed.contains("://") || (!Path::new(typed).exists() && is_short_address(typed)) {
        return Ok(typed.to_owned());
    }
    let path = std::path::absolute(typed).map_err(|e| format!("{typed}: {e}"))?;
    if path.exists() {
        return Ok(path.display().to_string());
    }
    Err(format!(
        "there is nothing at {}. For another machine give an address (https://…, ssh://…, host:path); for a new place \
         here: git init --bare {}",
        path.display(),
        path.display()
    ))
}

/// `host:path`, as ssh takes it: a colon before the first slash.
fn is_short_address(typed: &str) -> bool {
    typed
        .split('/')
        .next()
        .is_some_and(|start| start.contains(':') && !start.starts_with([':', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_path_from_here() {
        for address in [
            "https://host/x.git",
            "ssh://git@host/x",
            "git@host:x.git",
            "host:x",
            "file:///x",
        ] {
            assert_eq!(place(address).unwrap(), address);
        }
        let dir = tempfile::tempdir().unwrap();
        let typed = dir.path().join("pub.git");
        std::fs::create_dir(&typed).unwrap();
        assert_eq!(
            place(typed.to_str().unwrap()).unwrap(),
            typed.display().to_string()
        );
        let here = place("src").unwrap();
        assert!(
            Path::new(&here).is_absolute() && here.ends_with("/src"),
            "{here}"
        );
        for wrong in [
            "origin",
            "nothing/here.git",
            "ext::sh -c x",
            "--upload-pack=x",
            ":x",
        ] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
