//! Kernels.

use serde::Serialize;
use serde_json::Value;

use crate::app::set_up::kernel::{KernelCheck, NewKernel};
use crate::govern::kernel::Kernel;
use crate::govern::kernel_diff::KernelChange;
use crate::record::canon;
use crate::record::hash::Hash32;

use crate::view::prove::tree_heads::ThirdPartyView;

/// The kernel in force.
#[derive(Clone, Debug, Serialize)]
pub struct KernelView {
    /// Hash of the kernel's canonical JSON.
    pub kernel_hash: Hash32,
    /// The kernel's document as JSON.
    pub kernel: Value,
}

impl KernelView {
    /// Of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        KernelView {
            kernel_hash: kernel.hash(),
            kernel: canon::parse(kernel.canonical_json().as_bytes()).unwrap_or(Value::Null),
        }
    }
}

/// One key that differs between two kernels.
#[derive(Clone, Debug, Serialize)]
pub struct KernelChangeView {
    /// Dotted name of the key, such as `rings.ring0.items`.
    pub key: String,
    /// Its value in the first.
    pub from: Option<Value>,
    /// Its value in the second.
    pub to: Option<Value>,
}

impl KernelChangeView {
    /// Of all changes.
    pub fn all(changes: &[KernelChange]) -> Vec<Self> {
        let view = |change: &KernelChange| KernelChangeView {
            key: change.key.clone(),
            from: change.from.clone(),
            to: change.to.clone(),
        };
        changes.iter().map(view).collect()
    }
}

/// A kernel's file that was checked.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum KernelCheckView {
    /// It is a kernel.
    Valid {
        /// Whether the file is a kernel: always true.
        valid: bool,
        /// Hash of the kernel's canonical JSON.
        kernel_hash: Hash32,
        /// The kernel that it was compared with.
        compared_with: Hash32,
        /// Whether they are the same.
        identical: bool,
        /// Keys whose values differ from the kernel in force.
        changes: Vec<KernelChangeView>,
    },
    /// It is none.
    Invalid {
        /// Whether the file is a kernel: always false.
        valid: bool,
        /// What is wrong with it.
        error: String,
    },
}

impl KernelCheckView {
    /// Of a kernel and the one that it was compared with.
    pub fn of(checked: &KernelCheck) -> Self {
        KernelCheckView::Valid {
            valid: true,
            kernel_hash: checked.kernel.hash(),
            compared_with: checked.compared_with.hash(),
            identical: checked.changes.is_empty(),
            changes: KernelChangeView::all(&checked.changes),
        }
    }

    /// Of a file that is no kernel.
    pub fn invalid(error: String) -> Self {
        KernelCheckView::Invalid {
            valid: false,
            error,
        }
    }
}

/// A kernel that was put in force, or was already.
#[derive(Clone, Debug, Serialize)]
pub struct KernelSetView {
    /// Hash of the kernel's canonical JSON.
    pub kernel_hash: Hash32,
    /// Whether it was not in force before.
    pub set: bool,
    /// What differs from the one before.
    pub changes: Vec<KernelChangeView>,
    /// Sessions that were closed for it.
    pub closed: Vec<Hash32>,
    /// Answers of each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_interactions: Option<Vec<u64>>,
    /// What calendars and witnesses said.
    #[serde(flatten)]
    pub outside: Option<ThirdPartyView>,
}

impl KernelSetView {
    /// Of a kernel that was in force already.
    pub fn unchanged(kernel_hash: Hash32) -> Self {
        KernelSetView {
            kernel_hash,
            set: false,
            changes: Vec::new(),
            closed: Vec::new(),
            closed_interactions: None,
            outside: None,
        }
    }

    /// Of a kernel that is in force now.
    pub fn of(new: &NewKernel) -> Self {
        let sessions = || new.closed.iter().map(|closed| &closed.session);
        KernelSetView {
            kernel_hash: new.hash,
            set: true,
            changes: KernelChangeView::all(&new.changes),
            closed: sessions().map(|session| session.id).collect(),
            closed_interactions: Some(sessions().map(|session| session.interactions).collect()),
            outside: Some(ThirdPartyView::of(&new.outside)),
        }
    }
}
