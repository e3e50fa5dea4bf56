//! Installing the hooks into a bare repository.

use std::path::{Path, PathBuf};

use crate::app::home::secrets::program;
use crate::app::prove::git::{git, output, run};
use crate::app::prove::verify::target::read_signer;
use crate::ledger::read::Repository;
use crate::os;
use crate::record::ledger::commit::MAIN;
use crate::record::limits;

/// The hooks, as they are installed.
const REFERENCE_TRANSACTION: &str = include_str!("../../../../hooks/reference-transaction");
const PRE_RECEIVE: &str = include_str!("../../../../hooks/pre-receive");
/// Where the pinned key stands in a repository that receives a ledger.
const SIGNER_FILE: &str = "gently-signer";

/// Hooks that were written.
pub struct InstallResult {
    /// Folder of the repository that got the hooks.
    pub repository: PathBuf,
    /// Path of each hook that was written.
    pub installed: Vec<PathBuf>,
    /// Whether there is no ledger yet, and nothing checks what is pushed here.
    pub is_unchecked: bool,
    /// Where git looks for hooks instead, if some configuration says so.
    pub elsewhere: Option<String>,
}

impl InstallResult {
    /// The folder of the hooks.
    pub fn hooks(&self) -> PathBuf {
        self.repository.join("hooks")
    }
}

/// Installs the hooks into a bare repository: a ledger, or with a key a host's copy of one that
/// began with it.
pub fn install(path: &Path, signer: Option<&str>) -> Result<InstallResult, String> {
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
        let key = read_signer(signer).map_err(|e| e.to_string())?;
        let file = path.join(SIGNER_FILE);
        os::replace_file(&file, format!("{key}\n").as_bytes(), 0o644)
            .map_err(|e| format!("write {}: {e}", file.display()))?;
        installed.push(write_hook(&hooks.join("pre-receive"), PRE_RECEIVE)?);
    }
    keep_objects(&path)?;
    Ok(InstallResult {
        is_unchecked: signer.is_none() && !path.join(MAIN).exists(),
        elsewhere: hooks_elsewhere(&path, &hooks)?,
        repository: path,
        installed,
    })
}

/// git throws away what no ref leads to, two weeks later; here, where refs only grow, what no ref
/// leads to was cut off.
fn keep_objects(path: &Path) -> Result<(), String> {
    for (key, value) in [
        ("gc.pruneExpire", "never"),
        ("gc.cruftPacks", "false"),
        ("receive.denyDeletes", "true"),
    ] {
        let mut set = git();
        set.arg("--git-dir").arg(path).args(["config", key, value]);
        output(&mut set, &format!("config {key} {value}"))?;
    }
    Ok(())
}

/// Where git looks for hooks instead, if some configuration says so.
fn hooks_elsewhere(path: &Path, hooks: &Path) -> Result<Option<String>, String> {
    // Not `git()`, which sets the very value that is asked for.
    let mut git = program("git");
    git.arg("--git-dir").arg(path).args([
        "config",
        "--show-origin",
        "--type=path",
        "--get",
        "core.hooksPath",
    ]);
    let asked = run(&mut git)?;
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
