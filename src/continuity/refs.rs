//! Resolving what a client declared: pure, and never more than was declared (DBL, declared references).

use std::collections::BTreeMap;

use crate::record::context::config::{ContextConfig, EmptyRefs};
use crate::record::context::event::{Event, Intent, Kind};
use crate::record::context::spec::{AdmittedFor, DeclaredRef, Effect, RefType, Resolved, ResolvedRef, Transformation};

/// Why declared references could not be resolved; no model is called then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefFault {
    /// No event and no turn has this id, in any thread.
    #[error("REF_NOT_FOUND: nothing on record is called {id}; `gently thread show` lists what can be referred to")]
    NotFound {
        /// As declared.
        id: String,
    },
    /// The event belongs to another thread.
    #[error(
        "CROSS_THREAD_REF: {id} belongs to thread {actual}, this turn to {expected}; a turn refers to its own \
             thread only: ask there (--thread {actual}), or quote it in the question"
    )]
    CrossThread {
        /// As declared.
        id: String,
        /// The turn's thread.
        expected: String,
        /// The event's thread.
        actual: String,
    },
    /// More references than the configuration allows.
    #[error(
        "MAX_REFS_EXCEEDED: {actual} references, context.json allows {limit}; declare fewer, or raise context.max_refs"
    )]
    TooMany {
        /// The limit.
        limit: u64,
        /// How many were declared.
        actual: u64,
    },
    /// None was declared, and the configuration wants one.
    #[error(
        "EMPTY_REFS_DENIED: no reference was declared (limit: at least 1), and context.json denies that; \
             name one (--ref ID, --ref last:1), or set context.empty_refs_policy to ALLOW"
    )]
    Empty,
}

impl RefFault {
    /// The document's code.
    pub const fn code(&self) -> &'static str {
        match self {
            RefFault::NotFound { .. } => "REF_NOT_FOUND",
            RefFault::CrossThread { .. } => "CROSS_THREAD_REF",
            RefFault::TooMany { .. } => "MAX_REFS_EXCEEDED",
            RefFault::Empty => "EMPTY_REFS_DENIED",
        }
    }

    /// The code that is recorded: `[a-z0-9_.]+`.
    pub const fn reason(&self) -> &'static str {
        match self {
            RefFault::NotFound { .. } => "refs.not_found",
            RefFault::CrossThread { .. } => "refs.cross_thread",
            RefFault::TooMany { .. } => "refs.max_exceeded",
            RefFault::Empty => "refs.empty_denied",
        }
    }
}

/// Looks an id up, in all threads: an event's own id, else a turn's, which stands for its INTENT.
pub trait Lookup {
    /// Why a look-up failed; not why nothing was found.
    type Error;

    /// The event of this id, if there is one.
    fn event(&self, id: &str) -> Result<Option<Event>, Self::Error>;
}

/// Resolves the references of a turn in `thread`.
///
/// The outer error is the look-up's. Order and repetition of `declared` make no difference.
pub fn resolve<L: Lookup>(
    declared: &[DeclaredRef],
    thread: &str,
    config: &ContextConfig,
    events: &L,
) -> Result<Result<Resolved, RefFault>, L::Error> {
    let mut sorted = declared.to_vec();
    sorted.sort();
    sorted.dedup();
    let rules = config.rules();
    let actual = u64::try_from(sorted.len()).unwrap_or(u64::MAX);
    if actual > rules.max_refs {
        return Ok(Err(RefFault::TooMany { limit: rules.max_refs, actual }));
    }
    if sorted.is_empty() && rules.empty_refs_policy == EmptyRefs::Deny {
        return Ok(Err(RefFault::Empty));
    }
    let mut found: BTreeMap<u64, (ResolvedRef, Event)> = BTreeMap::new();
    let mut transformations = Vec::new();
    for reference in &sorted {
        let id = &reference.ref_id;
        let Some(event) = events.event(id)? else { return Ok(Err(RefFault::NotFound { id: id.clone() })) };
        let place = event.place();
        if place.thread_id != thread {
            let (expected, actual) = (thread.to_owned(), place.thread_id.clone());
            return Ok(Err(RefFault::CrossThread { id: id.clone(), expected, actual }));
        }
        let index = place.index;
        if found.contains_key(&index) {
            transformations.push(made(Effect::NamedTwice, id, "SORT_CANONICAL"));
            continue;
        }
        let admitted_for = match event.kind() {
            Kind::Intent => AdmittedFor::Governance,
            Kind::Execution if !rules.allow_execution_refs_for_prompt => {
                transformations.push(made(Effect::LeftOut, id, "allow_execution_refs_for_prompt"));
                continue;
            }
            Kind::Decision | Kind::Execution => {
                transformations.push(made(Effect::ExecutionOnly, id, "FILTER_INTENT_ONLY"));
                AdmittedFor::ExecutionOnly
            }
        };
        let (event_digest, ref_type) = (event.digest(), RefType::Event);
        let resolved = ResolvedRef { admitted_for, event_digest, event_index: index, ref_id: id.clone(), ref_type };
        found.insert(index, (resolved, event));
    }
    Ok(Ok(Resolved { declared: sorted, refs: found.into_values().collect(), transformations }))
}

fn made(effect: Effect, id: &str, rule: &str) -> Transformation {
    Transformation { effect, ref_id: id.to_owned(), rule: rule.to_owned() }
}

/// What policy may see of the references: INTENTs, by `event_index`.
pub fn governed(resolved: &Resolved) -> Vec<&Intent> {
    let intents = resolved.refs.iter().filter_map(|(_, event)| match event {
        Event::Intent(intent) => Some(intent),
        Event::Decision(_) | Event::Execution(_) => None,
    });
    intents.collect()
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;
