//! Kernels: what is in force, what a file would change, and putting it in force.

use std::path::Path;

use crate::govern::kernel::Kernel;
use crate::govern::kernel_diff::{KernelChange, changes};
use crate::home::{Home, HomeError};
use crate::os::why_unread;
use crate::record::hash::Hash32;
use crate::recorder::{SessionClose, SyncPolicy};
use crate::session;

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::prove::tree_heads::{self, ThirdPartyReport};
use crate::app::redacted::no_secret;

/// Why a file gives no kernel, in words.
#[derive(Debug)]
pub enum KernelFileError {
    /// There is nothing to be read.
    Unreadable(String),
    /// It is no kernel.
    Invalid(String),
}

/// A file's kernel beside the one in force.
pub struct KernelCheck {
    /// Kernel that the file holds.
    pub kernel: Kernel,
    /// The one in force; of a new home, where there is none.
    pub compared_with: Kernel,
    /// Whether there is a home.
    pub has_home: bool,
    /// Keys whose values differ from the kernel in force.
    pub changes: Vec<KernelChange>,
}

/// What came of putting a kernel in force.
pub enum KernelSetResult {
    /// It was in force already; nothing was recorded.
    Unchanged(Hash32),
    /// It is in force now.
    Set(Box<NewKernel>),
}

/// A kernel that was put in force.
pub struct NewKernel {
    /// Hash of the kernel's canonical JSON.
    pub hash: Hash32,
    /// What differs from the one before.
    pub changes: Vec<KernelChange>,
    /// Sessions that were closed for it.
    pub closed: Vec<SessionClose>,
    /// What calendars and witnesses said of the new tree head.
    pub outside: ThirdPartyReport,
}

/// The kernel in force.
pub fn current_kernel(home: &Home) -> Result<Kernel, HomeError> {
    Home::kernel(&open::store(home)?)
}

/// Reads a file.
pub fn read(file: &Path) -> Result<Kernel, KernelFileError> {
    let place = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|e| KernelFileError::Unreadable(format!("{place}: {}", why_unread(&e))))?;
    Kernel::from_toml(&text).map_err(|e| KernelFileError::Invalid(format!("{place}: {e}")))
}

/// Compares a kernel with the one in force; `root` is where the home is, if there is one.
pub fn check(root: &Path, kernel: Kernel) -> Result<KernelCheck, OpenHomeError> {
    let home = Home::open(root)?;
    let compared_with = match &home {
        Some(home) => current_kernel(home)?,
        None => Kernel::genesis(),
    };
    Ok(KernelCheck {
        changes: changes(&compared_with, &kernel),
        kernel,
        compared_with,
        has_home: home.is_some(),
    })
}

/// Puts a kernel in force; closes the sessions that are open under another one.
pub async fn set(
    home: Home,
    kernel: &Kernel,
    say: &dyn Fn(&str),
) -> Result<KernelSetResult, OpenHomeError> {
    no_secret("the kernel", kernel.canonical_json())?;
    let hash = kernel.hash();
    let known = current_kernel(&home).ok();
    if known.as_ref().is_some_and(|known| known.hash() == hash) {
        return Ok(KernelSetResult::Unchanged(hash));
    }
    // Under the new one: the kernel in force may be lost (a home that adopted a newer ledger), and
    // this mends it.
    let opened = OpenHome::open_under(
        home,
        |_| Ok::<_, OpenHomeError>(kernel.clone()),
        SyncPolicy::EachBatch,
    )?;
    opened.authorize().await?;
    let before = tree_heads::main_tip(&opened)?;
    let environment = opened.environment("", say);
    let closed = session::set_kernel(&environment, kernel, &open::fresh_salt()?).await?;
    Ok(KernelSetResult::Set(Box::new(NewKernel {
        hash,
        changes: known.map_or_else(Vec::new, |known| changes(&known, kernel)),
        closed,
        outside: tree_heads::after(&opened, before).await,
    })))
}
