//! Resolving what a client declared: pure, and never more than was declared (DBL, declared references).

use std::collections::BTreeMap;

use crate::govern::kernel::RingCaps;
use crate::record::context::config::{ContextConfig, EmptyRefs};
use crate::record::context::event::{Event, Intent, Kind, Place};
use crate::record::context::spec::{AdmittedFor, DeclaredRef, Effect, RefType, Resolved, ResolvedRef, Transformation};

use super::gates::Kept;
use super::select::Room;

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

/// The document's codes of what can't be resolved.
pub const CODES: [&str; 4] = ["REF_NOT_FOUND", "CROSS_THREAD_REF", "MAX_REFS_EXCEEDED", "EMPTY_REFS_DENIED"];

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

    /// The id that it is about, as declared.
    pub fn id(&self) -> Option<&str> {
        match self {
            RefFault::NotFound { id } | RefFault::CrossThread { id, .. } => Some(id),
            RefFault::TooMany { .. } | RefFault::Empty => None,
        }
    }

    /// The limit that it breaks: a thread, or a number of references.
    pub fn limit(&self) -> Option<String> {
        match self {
            RefFault::CrossThread { expected, .. } => Some(expected.clone()),
            RefFault::TooMany { limit, .. } => Some(limit.to_string()),
            RefFault::Empty => Some("1".to_owned()),
            RefFault::NotFound { .. } => None,
        }
    }

    /// What whoever asked can do.
    pub fn remedy(&self) -> String {
        match self {
            RefFault::NotFound { .. } => "gently thread show lists what can be referred to".to_owned(),
            RefFault::CrossThread { actual, .. } => {
                format!("ask in its thread (--thread {actual}), or quote it in the question")
            }
            RefFault::TooMany { .. } => "declare fewer, or raise context.max_refs in context.json".to_owned(),
            RefFault::Empty => {
                "name one (--ref ID, --ref last:1), or set context.empty_refs_policy to ALLOW".to_owned()
            }
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

/// What an id was found to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// It, or why it is kept out of contexts: erased, denied, withheld.
    pub event: Result<Event, Kept>,
}

impl From<Event> for Found {
    fn from(event: Event) -> Self {
        Found { place: event.place().clone(), kind: event.kind(), event: Ok(event) }
    }
}

/// Looks an id up, in all threads: an event's own id, else a turn's, which stands for its INTENT.
pub trait Lookup {
    /// Why a look-up failed; not why nothing was found.
    type Error;

    /// The event of this id, if there is one.
    fn event(&self, id: &str) -> Result<Option<Found>, Self::Error>;
}

/// Nothing on record.
pub struct Nothing;

impl Lookup for Nothing {
    type Error = std::convert::Infallible;

    fn event(&self, _id: &str) -> Result<Option<Found>, Self::Error> {
        Ok(None)
    }
}

/// What is being resolved.
struct Resolving<'a> {
    thread: &'a str,
    config: &'a ContextConfig,
    found: BTreeMap<u64, (ResolvedRef, Event)>,
    transformations: Vec<Transformation>,
}

/// Resolves the references of a turn in `thread`; `caps` are those of the kernel on declared turns.
///
/// The outer error is the look-up's. Order and repetition of `declared` make no difference. What is kept out is on
/// record as a transformation; beyond the caps the oldest are.
pub fn resolve<L: Lookup>(
    declared: &[DeclaredRef],
    thread: &str,
    config: &ContextConfig,
    caps: RingCaps,
    events: &L,
) -> Result<Result<Resolved, RefFault>, L::Error> {
    let sorted = sorted(declared);
    let rules = config.rules();
    let actual = u64::try_from(sorted.len()).unwrap_or(u64::MAX);
    if actual > rules.max_refs {
        return Ok(Err(RefFault::TooMany { limit: rules.max_refs, actual }));
    }
    if sorted.is_empty() && rules.empty_refs_policy == EmptyRefs::Deny {
        return Ok(Err(RefFault::Empty));
    }
    let mut resolving = Resolving { thread, config, found: BTreeMap::new(), transformations: Vec::new() };
    for reference in &sorted {
        let id = &reference.ref_id;
        let taken = match events.event(id)? {
            Some(found) => resolving.take(id, found),
            None => Err(RefFault::NotFound { id: id.clone() }),
        };
        if let Err(fault) = taken {
            return Ok(Err(fault));
        }
    }
    let (refs, transformations) = resolving.within(caps);
    Ok(Ok(Resolved { declared: sorted, refs, transformations }))
}

/// References in the order of their ids, each once.
pub fn sorted(declared: &[DeclaredRef]) -> Vec<DeclaredRef> {
    let mut sorted = declared.to_vec();
    sorted.sort();
    sorted.dedup();
    sorted
}

impl Resolving<'_> {
    fn take(&mut self, id: &str, found: Found) -> Result<(), RefFault> {
        let Found { place, kind, event } = found;
        if place.thread_id != self.thread {
            let (expected, actual) = (self.thread.to_owned(), place.thread_id);
            return Err(RefFault::CrossThread { id: id.to_owned(), expected, actual });
        }
        if self.found.contains_key(&place.index) {
            self.transformations.push(made(Effect::NamedTwice, id, "SORT_CANONICAL"));
            return Ok(());
        }
        let allowed =
            kind == Kind::Intent || kind == Kind::Decision || self.config.rules().allow_execution_refs_for_prompt;
        let event = match event {
            _ if !allowed => return self.leave_out(id, "allow_execution_refs_for_prompt"),
            Err(kept) => return self.leave_out(id, kept.code()),
            Ok(event) => event,
        };
        let admitted_for = if kind == Kind::Intent {
            AdmittedFor::Governance
        } else {
            self.transformations.push(made(Effect::ExecutionOnly, id, "FILTER_INTENT_ONLY"));
            AdmittedFor::ExecutionOnly
        };
        let reference = ResolvedRef {
            admitted_for,
            event_digest: event.digest(),
            event_index: place.index,
            ref_id: id.to_owned(),
            ref_type: RefType::Event,
        };
        self.found.insert(place.index, (reference, event));
        Ok(())
    }

    fn leave_out(&mut self, id: &str, rule: &str) -> Result<(), RefFault> {
        self.transformations.push(made(Effect::LeftOut, id, rule));
        Ok(())
    }

    /// The newest that there is room for, by `event_index`.
    fn within(mut self, caps: RingCaps) -> (Vec<(ResolvedRef, Event)>, Vec<Transformation>) {
        let mut room = Room::of(caps);
        let mut kept = Vec::new();
        for (_, (reference, event)) in std::mem::take(&mut self.found).into_iter().rev() {
            match room.take(event.text().unwrap_or_default().len()) {
                Ok(()) => kept.push((reference, event)),
                Err(why) => {
                    self.transformations.retain(|t| t.ref_id != reference.ref_id);
                    self.transformations.push(made(Effect::LeftOut, &reference.ref_id, why.code()));
                }
            }
        }
        kept.reverse();
        self.transformations.sort_by(|a, b| a.ref_id.cmp(&b.ref_id));
        (kept, self.transformations)
    }
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
