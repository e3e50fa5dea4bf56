//! Resolving what a client declared: pure, and never more than was declared (DBL, declared
//! references).

use std::collections::BTreeMap;

use crate::govern::kernel::RingCaps;
use crate::record::context::config::{ContextConfig, EmptyRefs};
use crate::record::context::event::{EventKind, IntentPayload, ThreadEvent};
use crate::record::context::spec::{
    AdmittedFor, DeclaredRef, RefType, ResolvedContext, ResolvedRef, RuleEffect, Transformation,
};

use super::gates::ExclusionReason;
use super::select::Room;

/// Why declared references could not be resolved; no model is called then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefFault {
    /// No event and no turn has this id, in any thread.
    #[error(
        "REF_NOT_FOUND: nothing on record is called {id}; `gently thread show` lists what can be referred to"
    )]
    NotFound {
        /// Id as the client declared it.
        id: String,
    },
    /// The event belongs to another thread.
    #[error(
        "CROSS_THREAD_REF: {id} belongs to thread {actual}, this turn to {expected}; a turn refers to its own \
             thread only: ask there (--thread {actual}), or quote it in the question"
    )]
    CrossThread {
        /// Id as the client declared it.
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
        /// Most references that the kernel allows.
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
pub const CODES: [&str; 4] = [
    "REF_NOT_FOUND",
    "CROSS_THREAD_REF",
    "MAX_REFS_EXCEEDED",
    "EMPTY_REFS_DENIED",
];

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
            RefFault::NotFound { .. } => {
                "gently thread show lists what can be referred to".to_owned()
            }
            RefFault::CrossThread { actual, .. } => {
                format!("ask in its thread (--thread {actual}), or quote it in the question")
            }
            RefFault::TooMany { .. } => {
                "declare fewer, or raise context.max_refs in context.json".to_owned()
            }
            RefFault::Empty => {
                "name one (--ref ID, --ref last:1), or set context.empty_refs_policy to ALLOW"
                    .to_owned()
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
pub struct NamedRecord {
    /// The event that the name stands for.
    pub event: ThreadEvent,
    /// Why no model is shown it, if none is: erased, denied, withheld, a dump. Policy sees an
    /// INTENT all the same.
    pub kept: Option<ExclusionReason>,
}

impl From<ThreadEvent> for NamedRecord {
    fn from(event: ThreadEvent) -> Self {
        NamedRecord { event, kept: None }
    }
}

/// Looks an id up, in all threads: an event's own id, else a turn's, which stands for its INTENT.
pub trait Lookup {
    /// Why a look-up failed; not why nothing was found.
    type Error;

    /// The event of this id, if there is one.
    fn event(&self, id: &str) -> Result<Option<NamedRecord>, Self::Error>;
}

/// Nothing on record.
pub struct EmptyRecord;

impl Lookup for EmptyRecord {
    type Error = std::convert::Infallible;

    fn event(&self, _id: &str) -> Result<Option<NamedRecord>, Self::Error> {
        Ok(None)
    }
}

/// What is being resolved.
struct Resolution<'a> {
    thread: &'a str,
    config: &'a ContextConfig,
    refs: Vec<(ResolvedRef, ThreadEvent)>,
    /// Why no model is shown an event, by its index; those that stand here were met before.
    met: BTreeMap<u64, Option<ExclusionReason>>,
    transformations: Vec<Transformation>,
}

/// Resolves the references of a turn in `thread`; `caps` are those of the kernel on declared turns.
///
/// The outer error is the look-up's. The order of `declared` makes no difference; each of its
/// entries counts, and is resolved. What is resolved is what policy sees: gates and caps keep
/// something from the model alone, which is on record as a transformation. Beyond the caps it is
/// the oldest.
pub fn resolve<L: Lookup>(
    declared: &[DeclaredRef],
    thread: &str,
    config: &ContextConfig,
    caps: RingCaps,
    events: &L,
) -> Result<Result<ResolvedContext, RefFault>, L::Error> {
    let declared = sorted(declared);
    let (actual, rules) = (
        u64::try_from(declared.len()).unwrap_or(u64::MAX),
        config.rules(),
    );
    if actual > rules.max_refs {
        return Ok(Err(RefFault::TooMany {
            limit: rules.max_refs,
            actual,
        }));
    }
    if declared.is_empty() && rules.empty_refs_policy == EmptyRefs::Deny {
        return Ok(Err(RefFault::Empty));
    }
    let mut resolving = Resolution {
        thread,
        config,
        refs: Vec::new(),
        met: BTreeMap::new(),
        transformations: Vec::new(),
    };
    for DeclaredRef { ref_id: id, .. } in &declared {
        let taken = match events.event(id)? {
            Some(found) => resolving.take(id, found),
            None => Err(RefFault::NotFound { id: id.clone() }),
        };
        if let Err(fault) = taken {
            return Ok(Err(fault));
        }
    }
    let (refs, transformations) = resolving.within(caps);
    Ok(Ok(ResolvedContext {
        declared,
        refs,
        transformations,
    }))
}

/// References in the order of their ids; one that is declared twice stands there twice.
pub fn sorted(declared: &[DeclaredRef]) -> Vec<DeclaredRef> {
    let mut sorted = declared.to_vec();
    sorted.sort();
    sorted
}

impl Resolution<'_> {
    fn take(&mut self, id: &str, found: NamedRecord) -> Result<(), RefFault> {
        let NamedRecord { event, kept } = found;
        let (place, kind) = (event.place(), event.kind());
        if place.thread_id != self.thread {
            let (expected, actual) = (self.thread.to_owned(), place.thread_id.clone());
            return Err(RefFault::CrossThread {
                id: id.to_owned(),
                expected,
                actual,
            });
        }
        if kind == EventKind::Execution && !self.config.rules().allow_execution_refs_for_prompt {
            self.transformations.push(made(
                RuleEffect::LeftOut,
                id,
                "allow_execution_refs_for_prompt",
            ));
            return Ok(());
        }
        let event_index = place.index;
        let admitted_for = match kind {
            EventKind::Intent => AdmittedFor::Governance,
            EventKind::Decision | EventKind::Execution => AdmittedFor::ExecutionOnly,
        };
        let is_first = !self.met.contains_key(&event_index);
        if is_first {
            self.met.insert(event_index, kept);
        }
        match (is_first, admitted_for) {
            (false, _) => {
                self.transformations
                    .push(made(RuleEffect::NamedTwice, id, "SORT_CANONICAL"))
            }
            (true, AdmittedFor::ExecutionOnly) => {
                self.transformations.push(made(
                    RuleEffect::ExecutionOnly,
                    id,
                    "FILTER_INTENT_ONLY",
                ));
            }
            (true, AdmittedFor::Governance) => {}
        }
        let reference = ResolvedRef {
            admitted_for,
            event_digest: event.digest(),
            event_index,
            ref_id: id.to_owned(),
            ref_type: RefType::Event,
        };
        self.refs.push((reference, event));
        Ok(())
    }

    /// The same by `event_index`, with what no model is shown: what is kept out, and turns that
    /// there is no room for. The newest come first, and a turn has room as a whole or not at all:
    /// an answer without its question says little.
    fn within(mut self, caps: RingCaps) -> (Vec<(ResolvedRef, ThreadEvent)>, Vec<Transformation>) {
        let by_place = |(reference, _): &(ResolvedRef, ThreadEvent)| {
            (reference.event_index, reference.ref_id.clone())
        };
        self.refs.sort_by_key(by_place);
        let mut room = Room::of(caps);
        let mut left = Vec::new();
        let mut turns: Vec<DeclaredTurn<'_>> = Vec::new();
        for (at, (reference, event)) in self.refs.iter().enumerate().rev() {
            let before = at.checked_sub(1).and_then(|at| self.refs.get(at));
            // An event is shown under the first of its ids; a DECISION takes no room, as it says
            // nothing.
            if before.is_some_and(|(other, _)| other.event_index == reference.event_index) {
                continue;
            }
            match self.met.get(&reference.event_index).copied().flatten() {
                None if event.kind() == EventKind::Decision => {}
                None => add(&mut turns, reference, event),
                Some(kept) => {
                    left.push(made(RuleEffect::LeftOut, &reference.ref_id, kept.code()));
                }
            }
        }
        for turn in turns {
            let Err(kept) = room.take_all(&turn.bytes) else {
                continue;
            };
            let all = turn.ref_ids.into_iter();
            left.extend(all.map(|id| made(RuleEffect::LeftOut, id, kept.code())));
        }
        for one in left {
            self.transformations
                .retain(|t| t.ref_id != one.ref_id || t.effect == RuleEffect::NamedTwice);
            self.transformations.push(one);
        }
        self.transformations
            .sort_by(|a, b| (&a.ref_id, a.effect).cmp(&(&b.ref_id, b.effect)));
        (self.refs, self.transformations)
    }
}

/// What is declared of one turn, and may be shown.
struct DeclaredTurn<'a> {
    turn: &'a str,
    ref_ids: Vec<&'a str>,
    bytes: Vec<usize>,
}

/// Puts an event to the others of its turn; events of one turn need not stand side by side.
fn add<'a>(turns: &mut Vec<DeclaredTurn<'a>>, reference: &'a ResolvedRef, event: &'a ThreadEvent) {
    let turn = event.place().turn_id.as_str();
    let at = turns.iter().rposition(|known| known.turn == turn);
    let at = at.unwrap_or_else(|| {
        turns.push(DeclaredTurn {
            turn,
            ref_ids: Vec::new(),
            bytes: Vec::new(),
        });
        turns.len() - 1
    });
    if let Some(of) = turns.get_mut(at) {
        of.ref_ids.push(&reference.ref_id);
        of.bytes.push(event.text().unwrap_or_default().len());
    }
}

fn made(effect: RuleEffect, id: &str, rule: &str) -> Transformation {
    Transformation {
        effect,
        ref_id: id.to_owned(),
        rule: rule.to_owned(),
    }
}

/// What policy may see of the references: INTENTs, each once, by `event_index`.
pub fn governed(resolved: &ResolvedContext) -> Vec<&IntentPayload> {
    let intents = resolved.events().filter_map(|(_, event)| match event {
        ThreadEvent::Intent(intent) => Some(intent),
        ThreadEvent::Decision(_) | ThreadEvent::Execution(_) => None,
    });
    intents.collect()
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;
