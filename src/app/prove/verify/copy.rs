//! Copies of somebody else's ledger: cloned by the user's own git into a cache, fetched again the
//! next time.
//!
//! ```text
//! CACHE/gently/copies/HASH16/     HASH of the address; mode 0700
//!   ledger.git                    git clone --mirror, so that notes come along
//!   verified.json                 how far the last check came that found nothing wrong
//!   seen.json                     where each ref was then
//!   lock
//! ```
//!
//! The cache is the platform's ($XDG_CACHE_HOME, else ~/.cache). Nothing in it is evidence, and it
//! may be removed; a rewritten history is then seen only by who kept something else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use etcetera::BaseStrategy as _;

use crate::app::prove::git::{PROTOCOLS, run};
use crate::app::prove::history::{is_ancestor, is_ledger_ref, refs};
use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{NOTES_OTS, NOTES_WITNESS};
use crate::verify::{AuditQuestion, Finding, Report};

use super::FetchedCopy;
use super::target::TargetError;

/// Where each ref was, in the cache.
const SEEN: &str = "seen.json";

/// Whether a text names a place that git has to fetch from, and no path.
pub fn is_address(text: &str) -> bool {
    text.contains("://") || text.contains("::") || is_scp(text)
}

/// `user@host:path` or `host:path`, as ssh's copy command has it; no path begins so.
fn is_scp(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, path)| !host.is_empty() && !host.contains('/') && !path.is_empty())
}

/// An address as it may be shown: without a name or password in it.
pub fn shown(address: &Path) -> String {
    without_user(&address.to_string_lossy())
}

fn without_user(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let Some((scheme, rest)) = clean.split_once("://") else {
        return clean;
    };
    let (host, path) = rest
        .split_once('/')
        .map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host
        .rsplit_once('@')
        .map_or(host.to_owned(), |(_, host)| format!("…@{host}"));
    // A token may stand in a query, too.
    let path = path.map(|path| path.split(['?', '#']).next().unwrap_or_default());
    path.map_or(format!("{scheme}://{host}"), |path| {
        format!("{scheme}://{host}/{path}")
    })
}

/// Why an address is not fetched from.
fn refused(text: &str) -> Option<String> {
    if text.starts_with('-') {
        return Some("an address that begins with '-' would be an option".to_owned());
    }
    let known = format!("git reaches copies by {}", PROTOCOLS.join(", "));
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Some("it holds white space or a control character".to_owned());
    }
    match text.split_once("://") {
        _ if text
            .split(['/', '@'])
            .next()
            .is_some_and(|start| start.contains("::")) =>
        {
            Some(format!("'::' names a helper program; {known}"))
        }
        Some((scheme, rest)) if !PROTOCOLS.contains(&scheme) => Some(format!(
            "'{scheme}' with '{}' is unknown; {known}",
            shown(Path::new(rest))
        )),
        Some((_, rest)) if rest.starts_with('-') || rest.contains("@-") => {
            Some("a host that begins with '-' would be an option".to_owned())
        }
        Some((_, "")) => Some("it names no place".to_owned()),
        None if text.contains("@-") => {
            Some("a host that begins with '-' would be an option".to_owned())
        }
        _ => None,
    }
}

/// A copy in the cache, fetched just now, and held until it is dropped.
pub struct Copy {
    folder: PathBuf,
    address: String,
    _lock: File,
}

impl Copy {
    /// Clones or fetches; the user's own git settings say how a place is reached.
    pub fn fetch(address: &str) -> Result<Self, TargetError> {
        let failed = |reason: String| TargetError::Copy {
            address: without_user(address),
            reason,
        };
        if let Some(why) = refused(address) {
            return Err(failed(why));
        }
        let base =
            etcetera::base_strategy::choose_base_strategy().map_err(|e| failed(e.to_string()))?;
        let name = Hash32::digest(address.as_bytes()).short16();
        let folder = base.cache_dir().join("gently").join("copies").join(name);
        make_private(&folder).map_err(|e| failed(format!("make {}: {e}", folder.display())))?;
        let lock = File::create(folder.join("lock")).map_err(|e| failed(e.to_string()))?;
        lock.lock().map_err(|e| failed(e.to_string()))?;
        let copy = Copy {
            folder,
            address: address.to_owned(),
            _lock: lock,
        };
        copy.bring().map_err(failed)?;
        Ok(copy)
    }

    /// Folder of the copied repository.
    pub fn repository(&self) -> PathBuf {
        self.folder.join("ledger.git")
    }

    /// Where the position of its checks is kept.
    pub fn position(&self) -> PathBuf {
        self.folder.join("verified.json")
    }

    /// What people may know of it.
    pub fn facts(&self) -> FetchedCopy {
        FetchedCopy {
            address: without_user(&self.address),
            repository: self.repository(),
        }
    }

    fn bring(&self) -> Result<(), String> {
        let (repository, beside) = (self.repository(), self.folder.join("new.git"));
        let there = repository.is_dir();
        let mut git = self.git();
        if there {
            // As a mirror: what is gone or rewritten there is so here, and is found by comparing.
            git.arg("-C")
                .arg(&repository)
                .args(["fetch", "--quiet", "--prune", "--no-tags", "--"]);
            git.args([self.address.as_str(), "+refs/*:refs/*"]);
        } else {
            let _ = fs::remove_dir_all(&beside);
            git.args(["clone", "--quiet", "--mirror", "--template=", "--"])
                .arg(&self.address)
                .arg(&beside);
        }
        let output = run(&mut git)?;
        if !output.status.success() {
            return Err(self.words(&output));
        }
        if !there {
            // git has kept the address in the configuration, with whatever stood in it.
            let mut forget = self.git();
            forget
                .arg("-C")
                .arg(&beside)
                .args(["config", "--remove-section", "remote.origin"]);
            let done = forget.output().map_err(|e| e.to_string())?;
            if !done.status.success() {
                return Err(self.words(&done));
            }
            fs::rename(&beside, &repository)
                .map_err(|e| format!("rename to {}: {e}", repository.display()))?;
        }
        Ok(())
    }

    /// The user's own git and settings, and none of this process's repository; it asks nobody for a
    /// password.
    fn git(&self) -> Command {
        let mut git = crate::app::prove::git::git();
        git.env("GIT_TERMINAL_PROMPT", "0");
        git
    }

    /// git's last words, without what is secret in the address.
    fn words(&self, output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.stderr);
        secrets_of(&self.address)
            .iter()
            .fold(text.trim().to_owned(), |text, secret| {
                text.replace(secret, "…")
            })
    }

    /// What of the refs that an earlier check saw is gone, or was written anew.
    pub fn moved_back(&self) -> Result<Vec<Finding>, TargetError> {
        let failed = |reason: String| TargetError::Copy {
            address: without_user(&self.address),
            reason,
        };
        let Some(seen) = self.seen().map_err(failed)? else {
            return Ok(Vec::new());
        };
        let repository = Repository::open(&self.repository()).map_err(|e| failed(e.to_string()))?;
        let now = refs(&repository).map_err(|e| failed(e.to_string()))?;
        let mut findings = Vec::new();
        for (name, old) in seen {
            let goes_on = match now.get(&name) {
                Some(new) => is_ancestor(&repository, &old, new).unwrap_or(false),
                None => false,
            };
            if goes_on {
                continue;
            }
            let note = [NOTES_OTS, NOTES_WITNESS].contains(&name.as_str());
            let actual = now.get(&name).map_or("no such ref".to_owned(), |new| {
                format!("commit {new}, which does not")
            });
            findings.push(Finding {
                // Heads that were seen and are gone are another history; notes prove something, and
                // were taken away.
                question: if note {
                    AuditQuestion::Complete
                } else {
                    AuditQuestion::Unique
                },
                expected: format!(
                    "a ref that goes on from commit {old}, where an earlier check saw it"
                ),
                place: name,
                actual,
                session: None,
            });
        }
        Ok(findings)
    }

    fn seen(&self) -> Result<Option<BTreeMap<String, Oid>>, String> {
        let path = self.folder.join(SEEN);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| format!("{}: {e}", path.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{}: {e}", path.display())),
        }
    }

    /// Remembers where the refs are, after a check that found nothing wrong.
    pub fn remember(&self, report: &Report) -> Result<(), String> {
        if report.position.is_none() {
            return Ok(());
        }
        let repository = Repository::open(&self.repository()).map_err(|e| e.to_string())?;
        let mut now = refs(&repository).map_err(|e| e.to_string())?;
        now.retain(|name, _| is_ledger_ref(name));
        let text = serde_json::to_string(&now).map_err(|e| e.to_string())?;
        let (path, beside) = (self.folder.join(SEEN), self.folder.join("seen.new"));
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// A name that is shorter is in many words.
const SHORT: usize = 4;

/// What of an address no message may hold, longest first: git strips the name and password of some,
/// and not of all.
fn secrets_of(address: &str) -> Vec<&str> {
    let Some((_, rest)) = address.split_once("://") else {
        return Vec::new();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut secrets: Vec<&str> = path
        .find(['?', '#'])
        .map(|at| &path[at..])
        .into_iter()
        .collect();
    if let Some((user, _)) = host.rsplit_once('@') {
        secrets.push(user);
        // A name alone may be a token.
        let (name, password) = user.split_once(':').unwrap_or((user, user));
        secrets.extend(
            [password]
                .into_iter()
                .chain((name.len() >= SHORT).then_some(name)),
        );
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in [
            "https://h/x",
            "file:///x",
            "ext::sh -c x",
            "git@h:x",
            "h:x.git",
            "ssh://u@h/x",
            "weird://x",
        ] {
            assert!(is_address(address), "{address}");
        }
        for path in ["ledger.git", "/a/b", "./h:x", "../x", "a/b:c", "x"] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn hostile_addresses_are_refused_and_others_are_not() {
        for wrong in [
            "-x:y",
            "--upload-pack=x:y",
            "ext::sh -c touch% x",
            "ext::x",
            "fd::7",
            "ssh://-oProxyCommand=x/y",
            "ssh://u@-oProxyCommand=x/y",
            "u@-o:x",
            "weird://x",
            "https://h/a b",
            "https://h/a\nb",
            "file://",
            "ext::a/b",
        ] {
            assert!(refused(wrong).is_some(), "{wrong}");
        }
        for fine in [
            "https://h/x",
            "http://127.0.0.1:1/x",
            "ssh://git@h:22/x",
            "git@h:x-y",
            "file:///a-b",
            "git://h/x",
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
    }

    #[test]
    fn what_stands_before_the_host_is_not_shown() {
        assert_eq!(
            without_user("https://u:hunter2@h.example/x?token=a#b"),
            "https://…@h.example/x"
        );
        assert_eq!(
            without_user("https://u:hun@ter2@h.example"),
            "https://…@h.example"
        );
        assert_eq!(
            without_user("https://h.example/a@b"),
            "https://h.example/a@b"
        );
        assert_eq!(
            secrets_of("https://u:hunter2@h/x?token=a"),
            ["u:hunter2", "?token=a", "hunter2"]
        );
        assert_eq!(secrets_of("https://ghp_0123@h/x"), ["ghp_0123"; 3]);
        assert!(secrets_of("https://h/x@y").is_empty() && secrets_of("git@h:x").is_empty());
    }
}
