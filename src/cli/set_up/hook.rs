//! `gently hook`: what the git hooks of a ledger, and of a host that receives one, run.
//!
//! The hooks themselves (`hooks/`) are a line of shell that execs these.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::app::set_up::hook::{self, ReceivedPush, read_updates};

use crate::cli::prove::foreign_ledger_limits::bounded;
use crate::cli::{COULD_NOT, FINE, NEGATIVE, print, say, say_finding};

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

/// Runs one of them; the exit code is what git obeys.
pub fn run(command: HookCommand) -> u8 {
    let refusals = match command {
        HookCommand::ReferenceTransaction { state } if state != "prepared" => Ok(Vec::new()),
        HookCommand::ReferenceTransaction { .. } => reference_transaction(),
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
    refusals.map_or_else(
        |why| {
            say_finding(&format!("gently hook: {why}"));
            COULD_NOT
        },
        |refusals| verdict(&refusals),
    )
}

fn verdict(refusals: &[String]) -> u8 {
    for refusal in refusals {
        say_finding(&format!("gently: refused: {refusal}"));
    }
    if refusals.is_empty() { FINE } else { NEGATIVE }
}

/// The repository that git runs the hook for.
fn git_dir() -> PathBuf {
    std::env::var_os("GIT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn reference_transaction() -> Result<Vec<String>, String> {
    hook::refusals(&git_dir(), &read_updates(std::io::stdin().lock())?)
}

fn pre_receive(signer: &str) -> Result<Vec<String>, String> {
    let updates = read_updates(std::io::stdin().lock())?;
    let push = ReceivedPush::new(&git_dir(), updates, signer)?;
    let repository = push.repository();
    let folder = repository.parent().map(Path::to_owned);
    let _deadline = bounded(&repository, folder).map_err(|e| e.to_string())?;
    push.refusals()
}

fn install(path: &Path, signer: Option<&str>) -> Result<u8, String> {
    let done = hook::install(path, signer)?;
    if done.is_unchecked {
        say(
            "no main here yet: to check what is pushed to this repository, install with --signer KEY",
        );
    }
    if let Some(elsewhere) = &done.elsewhere {
        say(&format!(
            "the hooks are written, and git does not run them: core.hooksPath is {elsewhere}"
        ));
        say(&format!(
            "for this repository alone: git --git-dir {} config core.hooksPath {}",
            done.repository.display(),
            done.hooks().display()
        ));
        return Ok(COULD_NOT);
    }
    let lines = done
        .installed
        .iter()
        .map(|path| format!("installed {}\n", path.display()));
    Ok(print(&lines.collect::<String>()))
}
