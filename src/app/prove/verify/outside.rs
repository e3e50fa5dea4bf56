//! What a checker brings along: a witness policy, and tree heads from elsewhere.

use std::path::{Path, PathBuf};

use crate::app::prove::history::first_parents;
use crate::ledger::read::Repository;
use crate::os::read_regular_text;
use crate::record::ledger::commit::MAIN;
use crate::record::ledger::receipt::{MAX_RECEIPT, Receipt};
use crate::record::tree::note::CosignedNote;
use crate::record::tree::witness_policy::{MAX_POLICY, WitnessPolicy};
use crate::verify::{KeptReceipt, OutsideHead, Report};

use super::target::{OpenedRepository, TargetError};

/// Largest tree head with all its signatures: 64 lines of at most 8 KiB.
const MAX_HEAD: u64 = 1 << 20;

/// Reads a policy file (c2sp tlog-policy).
pub fn read_policy(path: &Path) -> Result<WitnessPolicy, TargetError> {
    let failed = |reason: String| TargetError::Policy {
        path: path.to_owned(),
        reason,
    };
    let text = read_regular_text(path, MAX_POLICY as u64).map_err(|e| failed(e.to_string()))?;
    WitnessPolicy::parse(&text).map_err(|e| failed(e.to_string()))
}

/// Reads a tree head that somebody kept: a `checkpoint` file, a note, what a witness gave.
pub fn read_head(path: &Path) -> Result<OutsideHead, TargetError> {
    let failed = |reason: String| TargetError::Head {
        place: path.display().to_string(),
        reason,
    };
    let text = read_regular_text(path, MAX_HEAD).map_err(|e| failed(e.to_string()))?;
    let note = CosignedNote::parse(&text).map_err(|e| failed(e.to_string()))?;
    Ok(OutsideHead {
        place: path.display().to_string(),
        note,
    })
}

/// The tree heads on `main` of another copy: a repository, a bundle, or an address.
pub fn read_copy(copy: &Path) -> Result<Vec<OutsideHead>, TargetError> {
    let name = super::copy::shown(copy);
    let failed = |reason: String| TargetError::Head {
        place: name.clone(),
        reason,
    };
    let opened = OpenedRepository::find(copy)?;
    let repository = Repository::open(&opened.repository()).map_err(|e| failed(e.to_string()))?;
    let tips = crate::app::prove::history::refs(&repository).map_err(|e| failed(e.to_string()))?;
    let main = tips
        .get(MAIN)
        .ok_or_else(|| failed("it has no main".to_owned()))?;
    let chain =
        first_parents(&repository, main).map_err(|e| failed(format!("main: {}", e.actual())))?;
    let mut heads = Vec::new();
    for (id, commit) in chain.iter().rev().skip(1) {
        let tree = repository
            .tree(&commit.tree)
            .map_err(|e| failed(format!("commit {id}: {}", e.actual())))?;
        let entry = tree.iter().find(|entry| entry.is_file("checkpoint"));
        let entry = entry.ok_or_else(|| failed(format!("commit {id} has no tree head")))?;
        let bytes = repository
            .file(entry)
            .map_err(|e| failed(format!("commit {id}: {}", e.actual())))?;
        let text = String::from_utf8_lossy(&bytes);
        let note = CosignedNote::parse(&text).map_err(|e| failed(format!("commit {id}: {e}")))?;
        heads.push(OutsideHead {
            place: format!("{name}, commit {id}"),
            note,
        });
    }
    if heads.is_empty() {
        Err(failed("it has no tree head to compare with".to_owned()))
    } else {
        Ok(heads)
    }
}

/// Tree heads of another log say nothing of this one.
pub fn same_log(report: &Report, heads: &[OutsideHead]) -> Result<(), TargetError> {
    let Some(origin) = &report.origin else {
        return Ok(());
    };
    match heads.iter().find(|head| head.note.head.origin != *origin) {
        None => Ok(()),
        Some(other) => {
            let reason = format!(
                "it is of the log '{}', and this one is '{origin}'",
                other.note.head.origin
            );
            Err(TargetError::Head {
                place: other.place.clone(),
                reason,
            })
        }
    }
}

/// Reads receipts that somebody kept; each signature holds, whoever made it.
pub fn read_receipts(files: &[PathBuf]) -> Result<Vec<KeptReceipt>, String> {
    let one = |path: &PathBuf| {
        let name = path.display().to_string();
        let failed = |why: String| format!("receipt {name}: {why}");
        let bytes =
            crate::os::read_regular(path, MAX_RECEIPT as u64).map_err(|e| failed(e.to_string()))?;
        let receipt = Receipt::parse(&bytes).map_err(|e| failed(e.to_string()))?;
        Ok(KeptReceipt { name, receipt })
    };
    files.iter().map(one).collect()
}
