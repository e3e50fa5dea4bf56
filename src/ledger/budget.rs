//! How much of a repository may be inflated, and kept in memory: what somebody's few bytes can make
//! of work and room.
//!
//! Objects are stored compressed, and as differences to others: some kilobytes can name thousands
//! of objects of 64 MiB. An honest ledger is hashes and signatures, which do not compress, so what
//! its objects are together is a small multiple of what is on the disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::record::limits;

use super::object::ObjectFault;
use super::{Oid, folder};

/// What may be inflated and kept, shared by all that read one repository.
#[derive(Clone, Debug)]
pub struct ReadBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    objects: Vec<PathBuf>,
    inflated: AtomicU64,
    kept: AtomicU64,
    /// Looked up when it is first needed: a small ledger never asks.
    allowed: OnceLock<u64>,
    refused: OnceLock<BudgetExceeded>,
}

/// What was too much: then nothing more is read, and nothing is judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused at {place}: {reason}")]
pub struct BudgetExceeded {
    /// The object, or the line, at which it was.
    pub place: String,
    /// What it would take, and what it may.
    pub reason: String,
}

impl ReadBudget {
    /// For a repository with these folders of objects.
    pub(super) fn new(objects: Vec<PathBuf>) -> Self {
        let (inflated, kept) = (AtomicU64::new(0), AtomicU64::new(0));
        ReadBudget(Arc::new(BudgetState {
            objects,
            inflated,
            kept,
            allowed: OnceLock::new(),
            refused: OnceLock::new(),
        }))
    }

    /// How many bytes of objects are on the disk.
    pub fn on_disk(&self) -> u64 {
        folder::bytes_of(&self.0.objects)
    }

    /// What was too much, if something was.
    pub fn refused(&self) -> Option<&BudgetExceeded> {
        self.0.refused.get()
    }

    /// Refuses when nothing more may be read.
    pub(super) fn check(&self) -> Result<(), ObjectFault> {
        self.refused()
            .map_or(Ok(()), |refusal| Err(ObjectFault::Refused(refusal.clone())))
    }

    /// Takes what an object had.
    pub(super) fn spend(&self, id: &Oid, bytes: u64) -> Result<(), ObjectFault> {
        let inflated = self
            .0
            .inflated
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        if inflated <= limits::INFLATED || inflated <= self.allowed() {
            return Ok(());
        }
        let reason = format!(
            "its objects make more than {} bytes when they are inflated, a bomb and no ledger: its files have a \
             sixty-fourth of that at most",
            self.allowed()
        );
        self.refuse(format!("object {id}"), reason);
        self.check()
    }

    /// Takes what is kept in memory of something, beyond what an answer takes.
    pub fn keep(&self, place: impl FnOnce() -> String, bytes: u64) {
        let kept = self
            .0
            .kept
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        if kept > limits::HELD {
            let most = limits::HELD >> 20;
            self.refuse(
                place(),
                format!("checking it would keep more than {most} MiB in memory"),
            );
        }
    }

    /// Says that nothing more is read; the first that says so is named.
    fn refuse(&self, place: String, reason: String) {
        self.0
            .refused
            .get_or_init(|| BudgetExceeded { place, reason });
    }

    fn allowed(&self) -> u64 {
        let sum = || folder::bytes_of(&self.0.objects).saturating_mul(limits::PER_BYTE);
        *self
            .0
            .allowed
            .get_or_init(|| limits::INFLATED.saturating_add(sum()))
    }
}
