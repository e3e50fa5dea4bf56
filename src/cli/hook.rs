//! `gently hook`: what the git hooks of a ledger, and of a host that receives one, run.
//!
//! The hooks themselves (`hooks/`) are a line of shell that execs these.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::os;
use crate::record::ledger::commit::{MAIN, NOTES_OTS, NOTES_WITNESS};
use crate::record::limits;
use crate::record::ots::{Attestation, Leaf, Proof};
use crate::record::signature::PublicKey;
use crate::verify::{AuditQuestion, Evidence, QuestionAnswer, Report, verify};

use super::stranger::bounded;
use super::{COULD_NOT, FINE, NEGATIVE, print, say, say_finding};
use crate::app::git::git;
use crate::app::history::{first_parents, is_ancestor, is_ledger_ref, refs};
use crate::app::overlay::Overlay;

/// What a signature line of a note begins with.
const SIGNATURE: char = '\u{2014}';

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
    /// The other ref that it would be an alias of.
    alias: Option<String>,
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
        // A person typed this path, and may have typed a secret; what git runs names objects, which
        // have to stay whole.
        HookCommand::Install { path, signer } => {
            return install(&path, signer.as_deref()).unwrap_or_else(|why| {
                say(&format!("gently hook: {why}"));
                COULD_NOT
            });
        }
    };
    done.unwrap_or_else(|why| {
        say_finding(&format!("gently hook: {why}"));
        COULD_NOT
    })
}

fn verdict(refusals: Vec<String>) -> u8 {
    for refusal in &refusals {
        say_finding(&format!("gently: refused: {refusal}"));
    }
    if refusals.is_empty() { FINE } else { NEGATIVE }
}

/// The repository that git runs the hook for.
fn git_dir() -> PathBuf {
    std::env::var_os("GIT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn updates() -> Result<Vec<Update>, String> {
    let lines = std::io::stdin()
        .lock()
        .lines()
        .collect::<Result<Vec<_>, _>>();
    lines
        .map_err(|e| format!("reading from git: {e}"))?
        .iter()
        .map(|line| parse_update(line))
        .collect()
}

/// `OLD NEW REF`, where forty zeros are no commit; a symbolic value (`ref:…`) is none either, and
/// is kept apart: a ref of a ledger that becomes an alias is lost to git, whatever is packed under
/// its name.
fn parse_update(line: &str) -> Result<Update, String> {
    let mut words = line.splitn(3, ' ');
    let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("git said '{line}', expected OLD NEW REF"));
    };
    let id = |word: &str| -> Result<Option<Oid>, String> {
        if word.bytes().all(|b| b == b'0') || word.starts_with("ref:") {
            return Ok(None);
        }
        word.parse()
            .map(Some)
            .map_err(|e: crate::ledger::OidError| e.to_string())
    };
    let alias = new.strip_prefix("ref:").map(str::to_owned);
    Ok(Update {
        old: id(old)?,
        new: id(new)?,
        name: name.to_owned(),
        alias,
    })
}

/// What is not growth: other refs than the format's, deletions, moves that are not forward.
fn growth(
    git_dir: &Path,
    repository: &Repository,
    known: &BTreeMap<String, Oid>,
    updates: &[Update],
) -> Result<Vec<String>, String> {
    let mut refusals = Vec::new();
    for update in updates
        .iter()
        .filter(|update| update.name.starts_with("refs/"))
    {
        let name = &update.name;
        let before = known.get(name).copied().or(update.old);
        match (before, update.new) {
            // What a host made of its own may go again.
            (_, None) if !is_ledger_ref(name) && update.alias.is_none() => {}
            _ if !is_ledger_ref(name) => refusals.push(format!("{name} is no ref of a ledger")),
            _ if update.alias.is_some() => {
                let to = update.alias.as_deref().unwrap_or_default();
                refusals.push(format!(
                    "{name} would become an alias of {to}; a ledger's refs name commits"
                ));
            }
            (Some(old), None) if is_only_packed(git_dir, name, &old) => {}
            (_, None) => refusals.push(format!("{name} would be deleted; a ledger only grows")),
            (Some(old), Some(new)) => {
                if !is_ancestor(repository, &old, &new)
                    .map_err(|e| format!("{name} at {new}: {}", e.actual()))?
                {
                    refusals.push(format!(
                        "{name} would leave {old} for {new}, which does not continue it"
                    ));
                }
            }
            (None, Some(new)) => refusals.extend(copied_from_main(repository, known, name, &new)?),
        }
    }
    Ok(refusals)
}

/// A branch begins with a session's own commit: one that would begin on a commit of `main` is a
/// copy somebody made.
fn copied_from_main(
    repository: &Repository,
    known: &BTreeMap<String, Oid>,
    name: &str,
    new: &Oid,
) -> Result<Option<String>, String> {
    let Some(main) = known.get(MAIN).filter(|_| name.starts_with(BRANCHES)) else {
        return Ok(None);
    };
    let chain =
        first_parents(repository, main).map_err(|e| format!("{MAIN} at {main}: {}", e.actual()))?;
    let copied = chain.iter().any(|(id, _)| id == new);
    Ok(copied.then(|| {
        format!("{name} would begin at {new}, a commit of main; a branch begins with a session")
    }))
}

/// How the refs of sessions begin.
const BRANCHES: &str = "refs/heads/branch-";

/// Whether a "deletion" is `git pack-refs` removing the loose copy of a ref that stays.
///
/// Older gits show it to the hook like any deletion. It is one of a loose copy exactly when the
/// packed refs hold the same commit and are not locked: a real deletion locks them first, to take
/// it out there.
fn is_only_packed(git_dir: &Path, name: &str, id: &Oid) -> bool {
    if git_dir.join("packed-refs.lock").exists() {
        return false;
    }
    let packed =
        os::read_regular(&git_dir.join("packed-refs"), limits::PACKED_REFS).unwrap_or_default();
    String::from_utf8_lossy(&packed).lines().any(|line| {
        line.split_once(' ')
            .is_some_and(|(at, of)| of == name && at == id.to_string())
    })
}

/// Checks the repository as it would be after the push; the pushed objects are still in quarantine.
fn pre_receive(signer: &str) -> Result<u8, String> {
    let pinned = crate::app::verify::target::read_signer(signer).map_err(|e| e.to_string())?;
    let updates = updates()?;
    let git_dir = std::path::absolute(git_dir()).map_err(|e| e.to_string())?;
    let known =
        refs(&Repository::open(&git_dir).map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    // What a host keeps of its own, such as the heads of pull requests, is no part of the ledger.
    let mut after: BTreeMap<String, Oid> = known
        .clone()
        .into_iter()
        .filter(|(name, _)| is_ledger_ref(name))
        .collect();
    for update in &updates {
        match update.new {
            Some(new) => after.insert(update.name.clone(), new),
            None => after.remove(&update.name),
        };
    }
    let overlay = Overlay::new(&object_dirs(&git_dir), &after).map_err(|e| e.to_string())?;
    let folder = overlay.repository().parent().map(Path::to_owned);
    let _deadline = bounded(&overlay.repository(), folder).map_err(|e| e.to_string())?;
    let repository = Repository::open(&overlay.repository()).map_err(|e| e.to_string())?;
    let mut refusals = growth(&git_dir, &repository, &known, &updates)?;
    if refusals.is_empty() {
        // A note that proves less may be one that proves nothing: both are said.
        refusals = fewer_notes(&repository, &known, &updates)?;
        refusals.extend(findings(&overlay.repository(), pinned)?);
    }
    Ok(verdict(refusals))
}

/// Where git keeps what is pushed until the hook agrees, and all that was there before.
fn object_dirs(git_dir: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![git_dir.join("objects")];
    for name in [
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_QUARANTINE_PATH",
    ] {
        let value = std::env::var_os(name).unwrap_or_default();
        dirs.extend(std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()));
    }
    let mut dirs: Vec<PathBuf> = dirs
        .into_iter()
        .filter_map(|dir| std::path::absolute(dir).ok())
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

/// Notes only come, and grow: one that is taken away, or stands in the place of one that said more,
/// proves less to everybody who reads this copy.
fn fewer_notes(
    repository: &Repository,
    known: &BTreeMap<String, Oid>,
    updates: &[Update],
) -> Result<Vec<String>, String> {
    let mut refusals = Vec::new();
    for name in [NOTES_OTS, NOTES_WITNESS] {
        let moved = updates
            .iter()
            .find(|update| update.name == name)
            .and_then(|update| update.new);
        let read = |tip: &Oid| {
            repository
                .notes(tip)
                .map_err(|e| format!("{name} at {tip}: {}", e.actual()))
        };
        if let Some(new) = moved
            && let Err(fault) = repository.notes_once(&new)
        {
            refusals.push(format!("{name} at {new}: {}", fault.actual()));
            continue;
        }
        let (old, new) = match (known.get(name), moved) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(new)) if read(&new)?.is_empty() => {
                refusals.push(format!(
                    "{name} would begin without a note, and be in the way of the ledger's own"
                ));
                continue;
            }
            _ => continue,
        };
        let (before, after) = (read(old)?, read(&new)?);
        for (commit, blob) in before {
            match after.get(&commit) {
                None => refusals.push(format!("{name} would lose its note on {commit}")),
                Some(other) if *other != blob && less(repository, name, &blob, other)? => {
                    refusals.push(format!(
                        "{name}: the new note on {commit} proves less than the one that is here"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    Ok(refusals)
}

/// What a note proves to whoever can check it: its signature lines, or the messages that blocks
/// attest, as text.
fn proves(repository: &Repository, name: &str, id: &Oid) -> Result<BTreeSet<String>, String> {
    let bytes = repository
        .blob(id)
        .map_err(|e| format!("{name}, note {id}: {}", e.actual()))?;
    if name == NOTES_WITNESS {
        let text = String::from_utf8_lossy(&bytes);
        return Ok(text
            .lines()
            .filter(|line| line.starts_with(SIGNATURE))
            .map(str::to_owned)
            .collect());
    }
    let Ok(proof) = Proof::read(&bytes) else {
        return Ok(BTreeSet::new());
    };
    let leaves = proof.leaves().unwrap_or_default();
    let attested = |leaf: &Leaf<'_>| match leaf.attestation {
        Attestation::Bitcoin { height } => Some(format!("{height} {}", hex::encode(&leaf.message))),
        _ => None,
    };
    Ok(leaves.iter().filter_map(attested).collect())
}

/// Whether a note lacks something that another proves. As many lines of rubbish in the place of
/// good ones are no match: a host has no list of witnesses to tell them apart, so each line that
/// was there has to stay.
fn less(repository: &Repository, name: &str, old: &Oid, new: &Oid) -> Result<bool, String> {
    Ok(!proves(repository, name, old)?.is_subset(&proves(repository, name, new)?))
}

fn findings(repository: &Path, pinned: PublicKey) -> Result<Vec<String>, String> {
    let evidence = Evidence {
        repository,
        log: None,
        checkpoint: None,
        signers: &[],
    };
    let report = verify(&evidence).map_err(|e| e.to_string())?;
    let asked = [AuditQuestion::Consistent, AuditQuestion::SignedBy];
    // Notes prove themselves before they are taken: one that does not would be a *no* for everybody
    // who reads this.
    let proven = [
        AuditQuestion::Unique,
        AuditQuestion::NotBefore,
        AuditQuestion::NotAfter,
    ];
    let denied: Vec<AuditQuestion> = proven
        .into_iter()
        .filter(|question| report.answers.to(*question).answer == QuestionAnswer::No)
        .collect();
    // The ledger began with the pinned key; its rotations lead from there to the newest.
    match (report.begins_with(&pinned), denied.is_empty()) {
        (true, true) => Ok(Vec::new()),
        (true, false) => Ok(refusals(&report, &denied)),
        (false, _) => Ok(refusals(&report, &asked)
            .into_iter()
            .chain(other_first_key(&report, &pinned))
            .collect()),
    }
}

fn refusals(report: &Report, asked: &[AuditQuestion]) -> Vec<String> {
    let counted = report
        .findings
        .iter()
        .filter(|finding| asked.contains(&finding.question))
        .take(SHOWN);
    let mut lines: Vec<String> = counted
        .map(|f| {
            format!(
                "{}: {}: expected {}, found {}",
                f.question.name(),
                f.place,
                f.expected,
                f.actual
            )
        })
        .collect();
    if lines.is_empty() {
        let is_no = |q: &&AuditQuestion| report.answers.to(**q).answer == QuestionAnswer::No;
        lines = asked
            .iter()
            .filter(is_no)
            .map(|q| format!("{}: {}", q.name(), report.answers.to(*q).reason))
            .collect();
    }
    lines
}

/// That the ledger begins with another key than the one that is pinned here.
fn other_first_key(report: &Report, pinned: &PublicKey) -> Option<String> {
    let first = report.signers.first().map_or("no key", String::as_str);
    (first != pinned.to_string()).then(|| {
        format!(
            "signed_by: the ledger begins with {first}, and this repository was installed with {pinned}: \
             gently hook install --signer takes the ledger's first key, the first of its allowed_signers"
        )
    })
}

fn install(path: &Path, signer: Option<&str>) -> Result<u8, String> {
    let path = Repository::open(path)
        .map_err(|e| e.to_string())?
        .path()
        .to_owned();
    let path = std::path::absolute(path).map_err(|e| e.to_string())?;
    let hooks = path.join("hooks");
    match std::fs::symlink_metadata(&hooks) {
        Ok(found) if !found.is_dir() => {
            let what = os::kind_of(found.file_type());
            return Err(format!(
                "{} is {what}, not a folder: nothing is written through it",
                hooks.display()
            ));
        }
        _ => {
            std::fs::create_dir_all(&hooks).map_err(|e| format!("make {}: {e}", hooks.display()))?
        }
    }
    let mut installed = vec![write_hook(
        &hooks.join("reference-transaction"),
        REFERENCE_TRANSACTION,
    )?];
    if let Some(signer) = signer {
        let key = crate::app::verify::target::read_signer(signer).map_err(|e| e.to_string())?;
        let file = path.join(SIGNER_FILE);
        os::replace_file(&file, format!("{key}\n").as_bytes(), 0o644)
            .map_err(|e| format!("write {}: {e}", file.display()))?;
        installed.push(write_hook(&hooks.join("pre-receive"), PRE_RECEIVE)?);
    } else if !path.join(MAIN).exists() {
        say(
            "no main here yet: to check what is pushed to this repository, install with --signer KEY",
        );
    }
    keep_objects(&path)?;
    if let Some(elsewhere) = hooks_elsewhere(&path, &hooks)? {
        say(&format!(
            "the hooks are written, and git does not run them: core.hooksPath is {elsewhere}"
        ));
        let command = format!(
            "git --git-dir {} config core.hooksPath {}",
            path.display(),
            hooks.display()
        );
        say(&format!("for this repository alone: {command}"));
        return Ok(COULD_NOT);
    }
    Ok(print(
        &installed
            .iter()
            .map(|path| format!("installed {}\n", path.display()))
            .collect::<String>(),
    ))
}

/// git throws away what no ref leads to, two weeks later; here, where refs only grow, what no ref
/// leads to was cut off.
fn keep_objects(path: &Path) -> Result<(), String> {
    for (key, value) in [
        ("gc.pruneExpire", "never"),
        ("gc.cruftPacks", "false"),
        ("receive.denyDeletes", "true"),
    ] {
        let set = git()
            .arg("--git-dir")
            .arg(path)
            .args(["config", key, value])
            .output();
        let set = set.map_err(|e| format!("git does not run ({e}); install git"))?;
        if !set.status.success() {
            return Err(format!(
                "git config {key} {value}: {}",
                String::from_utf8_lossy(&set.stderr).trim()
            ));
        }
    }
    Ok(())
}

/// Where git looks for hooks instead, if some configuration says so.
fn hooks_elsewhere(path: &Path, hooks: &Path) -> Result<Option<String>, String> {
    // Not `git()`, which sets the very value that is asked for.
    let asked = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(path)
        .args([
            "config",
            "--show-origin",
            "--type=path",
            "--get",
            "core.hooksPath",
        ])
        .output();
    let asked = asked.map_err(|e| format!("git does not run ({e}); install git"))?;
    let said = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let (origin, value) = said.split_once('\t').unwrap_or(("", &said));
    // A relative one is from the folder that git runs a hook in: the repository.
    let names_ours =
        std::fs::canonicalize(path.join(value)).ok() == std::fs::canonicalize(hooks).ok();
    Ok((!value.is_empty() && !names_ours).then(|| format!("{value} ({origin})")))
}

/// Writes one hook, executable; never over somebody else's.
fn write_hook(path: &Path, text: &str) -> Result<PathBuf, String> {
    match os::read_regular(path, limits::DOCUMENT) {
        Ok(found) if found != text.as_bytes() => {
            return Err(format!(
                "{} is there already and is not ours; move it away first",
                path.display()
            ));
        }
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("read {}: {e}", path.display()));
        }
        _ => {}
    }
    os::replace_file(path, text.as_bytes(), 0o755)
        .map_err(|e| format!("write {}: {e}", path.display()))?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_tells_a_hook() {
        let (zero, id) = ("0".repeat(40), "935f032f00000000000000000000000000000abc");
        let update = parse_update(&format!("{zero} {id} refs/heads/main")).unwrap();
        let name = "refs/heads/main".to_owned();
        assert_eq!(
            update,
            Update {
                old: None,
                new: Some(id.parse().unwrap()),
                name,
                alias: None
            }
        );
        let alias = parse_update(&format!("{id} ref:refs/heads/x refs/heads/main")).unwrap();
        assert_eq!(
            (alias.new, alias.alias.as_deref()),
            (None, Some("refs/heads/x"))
        );
        assert_eq!(
            parse_update(&format!("{id} {zero} refs/heads/main"))
                .unwrap()
                .new,
            None
        );
        assert_eq!(
            parse_update(&format!("{zero} ref:refs/heads/main HEAD"))
                .unwrap()
                .new,
            None
        );
        for wrong in [
            "",
            "a b",
            &format!("{id} {id}"),
            &format!("{id} xyz refs/heads/main"),
        ] {
            assert!(parse_update(wrong).is_err(), "{wrong}");
        }
    }
}
