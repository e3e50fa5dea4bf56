//! `gently hook`: what the git hooks of a ledger, and of a host that receives one, run.
//!
//! The hooks themselves (`hooks/`) are a line of shell that execs these.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::commit::MAIN;
use crate::record::signature::PublicKey;
use crate::verify::{Evidence, Question, Report, verify};

use super::overlay::Overlay;
use super::walk::{is_ancestor, is_ledger_ref, refs};
use super::{COULD_NOT, FINE, NEGATIVE, print, say};

/// The hooks, as they are installed.
const REFERENCE_TRANSACTION: &str = include_str!("../../hooks/reference-transaction");
const PRE_RECEIVE: &str = include_str!("../../hooks/pre-receive");
/// Where the pinned key stands in a repository that receives a ledger.
const SIGNER_FILE: &str = "gently-signer";
/// How many findings a refused push shows; the pusher can run the whole check.
const SHOWN: usize = 10;

/// What a hook runs, and how hooks are installed.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Refuse ref changes that are not growth (run by git in a ledger)
    ReferenceTransaction {
        /// prepared, committed or aborted
        state: String,
    },
    /// Check what is pushed, and refuse what is no continuation (run by git on a host)
    PreReceive {
        /// The ledger's first key: 'ssh-ed25519 AAAA…' or a file that begins with it
        #[arg(long, value_name = "KEY-OR-FILE")]
        signer: String,
    },
    /// Install the hooks into a bare repository
    Install {
        /// The repository: a ledger, or with --signer a host's copy of one
        path: PathBuf,
        /// Also check what is pushed there against this key
        #[arg(long, value_name = "KEY-OR-FILE")]
        signer: Option<String>,
    },
}

/// One line of what git tells a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Update {
    old: Option<Oid>,
    new: Option<Oid>,
    name: String,
}

/// Runs one of them; the exit code is what git obeys.
pub fn run(command: HookCommand) -> u8 {
    let done = match command {
        HookCommand::ReferenceTransaction { state } if state != "prepared" => Ok(FINE),
        HookCommand::ReferenceTransaction { .. } => updates().and_then(|updates| {
            let git_dir = git_dir();
            let repository = Repository::open(&git_dir).map_err(|e| e.to_string())?;
            let known = refs(&repository).map_err(|e| e.to_string())?;
            Ok(verdict(growth(&git_dir, &repository, &known, &updates)?))
        }),
        HookCommand::PreReceive { signer } => pre_receive(&signer),
        HookCommand::Install { path, signer } => install(&path, signer.as_deref()),
    };
    done.unwrap_or_else(|why| {
        say(&format!("gently hook: {why}"));
        COULD_NOT
    })
}

fn verdict(refusals: Vec<String>) -> u8 {
    for refusal in &refusals {
        say(&format!("gently: refused: {refusal}"));
    }
    if refusals.is_empty() { FINE } else { NEGATIVE }
}

/// The repository that git runs the hook for.
fn git_dir() -> PathBuf {
    std::env::var_os("GIT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn updates() -> Result<Vec<Update>, String> {
    let lines = std::io::stdin().lock().lines().collect::<Result<Vec<_>, _>>();
    lines.map_err(|e| format!("reading from git: {e}"))?.iter().map(|line| parse_update(line)).collect()
}

/// `OLD NEW REF`, where forty zeros are no commit; a symbolic value (`ref:…`) is none either.
fn parse_update(line: &str) -> Result<Update, String> {
    let mut words = line.splitn(3, ' ');
    let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("git said '{line}', expected OLD NEW REF"));
    };
    let id = |word: &str| -> Result<Option<Oid>, String> {
        if word.bytes().all(|b| b == b'0') || word.starts_with("ref:") {
            return Ok(None);
        }
        word.parse().map(Some).map_err(|e: crate::ledger::OidError| e.to_string())
    };
    Ok(Update { old: id(old)?, new: id(new)?, name: name.to_owned() })
}

/// What is not growth: other refs than the format's, deletions, moves that are not forward.
fn growth(
    git_dir: &Path,
    repository: &Repository,
    known: &BTreeMap<String, Oid>,
    updates: &[Update],
) -> Result<Vec<String>, String> {
    let mut refusals = Vec::new();
    for update in updates.iter().filter(|update| update.name.starts_with("refs/")) {
        let name = &update.name;
        let before = known.get(name).copied().or(update.old);
        match (before, update.new) {
            _ if !is_ledger_ref(name) => refusals.push(format!("{name} is no ref of a ledger")),
            (Some(old), None) if is_only_packed(git_dir, name, &old) => {}
            (_, None) => refusals.push(format!("{name} would be deleted; a ledger only grows")),
            (Some(old), Some(new)) => {
                if !is_ancestor(repository, &old, &new).map_err(|e| format!("{name} at {new}: {}", e.actual()))? {
                    refusals.push(format!("{name} would leave {old} for {new}, which does not continue it"));
                }
            }
            (None, Some(_)) => {}
        }
    }
    Ok(refusals)
}

/// Whether a "deletion" is `git pack-refs` removing the loose copy of a ref that stays.
///
/// Older gits show it to the hook like any deletion. It is one of a loose copy exactly when the packed
/// refs hold the same commit and are not locked: a real deletion locks them first, to take it out there.
fn is_only_packed(git_dir: &Path, name: &str, id: &Oid) -> bool {
    if git_dir.join("packed-refs.lock").exists() {
        return false;
    }
    let packed = std::fs::read_to_string(git_dir.join("packed-refs")).unwrap_or_default();
    packed.lines().any(|line| line.split_once(' ').is_some_and(|(at, of)| of == name && at == id.to_string()))
}

/// Checks the repository as it would be after the push; the pushed objects are still in quarantine.
fn pre_receive(signer: &str) -> Result<u8, String> {
    let pinned = super::audit::read_signer(signer).map_err(|e| e.to_string())?;
    let updates = updates()?;
    let git_dir = std::path::absolute(git_dir()).map_err(|e| e.to_string())?;
    let known = refs(&Repository::open(&git_dir).map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    let mut after = known.clone();
    for update in &updates {
        match update.new {
            Some(new) => after.insert(update.name.clone(), new),
            None => after.remove(&update.name),
        };
    }
    let overlay = Overlay::new(&object_dirs(&git_dir), &after).map_err(|e| e.to_string())?;
    let repository = Repository::open(&overlay.repository()).map_err(|e| e.to_string())?;
    let mut refusals = growth(&git_dir, &repository, &known, &updates)?;
    if refusals.is_empty() {
        refusals = findings(&overlay.repository(), pinned)?;
    }
    Ok(verdict(refusals))
}

/// Where git keeps what is pushed until the hook agrees, and all that was there before.
fn object_dirs(git_dir: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![git_dir.join("objects")];
    for name in ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"] {
        let value = std::env::var_os(name).unwrap_or_default();
        dirs.extend(std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()));
    }
    let mut dirs: Vec<PathBuf> = dirs.into_iter().filter_map(|dir| std::path::absolute(dir).ok()).collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

fn findings(repository: &Path, pinned: PublicKey) -> Result<Vec<String>, String> {
    let evidence = Evidence { repository, log: None, checkpoint: None, signers: &[], database: None };
    let report = verify(&evidence).map_err(|e| e.to_string())?;
    let asked = [Question::Consistent, Question::SignedBy];
    // The ledger began with the pinned key; its rotations lead from there to the newest.
    if report.begins_with(&pinned) {
        return Ok(Vec::new());
    }
    Ok(refusals(&report, &asked))
}

fn refusals(report: &Report, asked: &[Question]) -> Vec<String> {
    let counted = report.findings.iter().filter(|finding| asked.contains(&finding.question)).take(SHOWN);
    let mut lines: Vec<String> = counted
        .map(|f| format!("{}: {}: expected {}, found {}", f.question.name(), f.place, f.expected, f.actual))
        .collect();
    if lines.is_empty() {
        lines = asked.iter().map(|q| format!("{}: {}", q.name(), report.answers.to(*q).reason)).collect();
        lines.push(format!("the ledger begins with {}", report.signers.first().map_or("no key", String::as_str)));
    }
    lines
}

fn install(path: &Path, signer: Option<&str>) -> Result<u8, String> {
    let repository = Repository::open(path).map_err(|e| e.to_string())?;
    drop(repository);
    let hooks = path.join("hooks");
    std::fs::create_dir_all(&hooks).map_err(|e| format!("make {}: {e}", hooks.display()))?;
    let mut installed = vec![write_hook(&hooks.join("reference-transaction"), REFERENCE_TRANSACTION)?];
    if let Some(signer) = signer {
        let key = super::audit::read_signer(signer).map_err(|e| e.to_string())?;
        let file = path.join(SIGNER_FILE);
        std::fs::write(&file, format!("{key}\n")).map_err(|e| format!("write {}: {e}", file.display()))?;
        installed.push(write_hook(&hooks.join("pre-receive"), PRE_RECEIVE)?);
    } else if !path.join(MAIN).exists() {
        say("no main here yet: to check what is pushed to this repository, install with --signer KEY");
    }
    Ok(print(&installed.iter().map(|path| format!("installed {}\n", path.display())).collect::<String>()))
}

/// Writes one hook, executable; never over somebody else's.
fn write_hook(path: &Path, text: &str) -> Result<PathBuf, String> {
    match std::fs::read_to_string(path) {
        Ok(found) if found != text => {
            return Err(format!("{} is there already and is not ours; move it away first", path.display()));
        }
        _ => {}
    }
    std::fs::write(path, text).map_err(|e| format!("write {}: {e}", path.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).map_err(|e| format!("make {} executable: {e}", path.display()))?;
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_tells_a_hook() {
        let (zero, id) = ("0".repeat(40), "935f032f00000000000000000000000000000abc");
        let update = parse_update(&format!("{zero} {id} refs/heads/main")).unwrap();
        assert_eq!(update, Update { old: None, new: Some(id.parse().unwrap()), name: "refs/heads/main".into() });
        assert_eq!(parse_update(&format!("{id} {zero} refs/heads/main")).unwrap().new, None);
        assert_eq!(parse_update(&format!("{zero} ref:refs/heads/main HEAD")).unwrap().new, None);
        for wrong in ["", "a b", &format!("{id} {id}"), &format!("{id} xyz refs/heads/main")] {
            assert!(parse_update(wrong).is_err(), "{wrong}");
        }
    }
}
