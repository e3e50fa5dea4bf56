//! The consents that traces with texts need: of each turn, and of every other one whose text stands in
//! the prompt that is shown.

use crate::app::find;
use crate::app::prove::consent::consents;
use crate::app::prove::recorded_artifacts::unrecorded;
use crate::audit::trace_facts::TraceSource;
use crate::record::hash::Hash32;
use crate::record::ledger::consent::{
    CONSENT, CONSENT_WITHDRAWN, Consent, ConsentGap, ConsentNeed, Consents,
};
use crate::record::time::Seconds;
use crate::record::trace::level::TraceLevel;
use crate::store::{ReadStore, StoreError};

use super::export::{TraceExportError, name_of};

/// Why texts can't be handed on in traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoConsent {
    /// No consent in force covers turns.
    Uncovered {
        /// Those that none covers.
        turns: Vec<UncoveredTurn>,
        /// Of so many that are asked for.
        of: usize,
        /// What would cover them.
        narrowest: NarrowestConsent,
    },
    /// A consent covers no more what it covered when the file was made.
    NoMore {
        /// Its id.
        consent: String,
        /// What the consent lacks by now.
        gap: ConsentGap,
    },
    /// Something was erased while the file was made.
    ErasedMeanwhile,
}

/// A turn that no consent in force covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncoveredTurn {
    /// As commands take it.
    pub exchange: String,
    /// The turn that is asked for, where its prompt shows this one.
    pub shown_in: Option<String>,
    /// The consent that comes nearest, and what it lacks; none where there is no consent.
    pub nearest: Option<(String, ConsentGap)>,
}

/// The narrowest consent that would cover turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NarrowestConsent {
    /// To one exchange.
    Exchange(String),
    /// To one thread, and what was asked in it before.
    Thread(String),
    /// To all, and what was asked before.
    All,
}

/// What a consent has to cover for the trace of a turn.
fn need_of(turn: &TraceSource, level: TraceLevel) -> ConsentNeed {
    ConsentNeed {
        exchange: turn.facts.exchange,
        thread: turn.facts.thread.ok(),
        asked_by: turn.auth_key,
        prompt_line: turn.facts.prompt_number.saturating_sub(1),
        level,
    }
}

/// What consents have to cover for the trace of a turn at a level that shows texts: the turn itself,
/// first, and every other one of which a text stands in the prompt that is shown.
///
/// # Errors
/// The database can't be read.
pub(super) fn needs_of(
    store: &ReadStore,
    turn: &TraceSource,
) -> Result<Vec<ConsentNeed>, StoreError> {
    let level = TraceLevel::FullTraces;
    let mut needs = vec![need_of(turn, level)];
    if turn.facts.texts.compiled_prompt.is_err() {
        return Ok(needs);
    }
    for exchange in store.shown_in(turn.facts.exchange)? {
        let Some(row) = store.exchange(exchange)? else {
            continue;
        };
        let session = store.session_of(row.session)?;
        needs.push(ConsentNeed {
            exchange,
            thread: store.thread_turn(exchange)?.map(|context| context.thread),
            // A session that is not there has no key, and nobody's consent is to it.
            asked_by: session.map_or(Hash32::ZERO, |session| session.auth_key_hash),
            prompt_line: row.prompt_line,
            level,
        });
    }
    Ok(needs)
}

/// The consents under which the texts of one turn are shown.
pub(super) struct CoveredTurn {
    /// The one that covers the turn itself.
    pub consent: Consent,
    /// All of them, each with what it has to cover.
    pub needs: Vec<(String, ConsentNeed)>,
}

/// Finds the consents that turns need, the newest of each.
///
/// # Errors
/// What no consent in force covers; consents that are others than what was recorded.
pub(super) fn cover<'a>(
    store: &ReadStore,
    turns: impl Iterator<Item = &'a TraceSource>,
    now: Seconds,
) -> Result<Vec<CoveredTurn>, TraceExportError> {
    let given = recorded_consents(store)?;
    let mut covered = Vec::new();
    let (mut uncovered, mut wanting, mut of) = (Vec::new(), Vec::new(), 0);
    for turn in turns {
        of += 1;
        let mut found = Vec::new();
        let mut gap = None;
        for need in needs_of(store, turn)? {
            match given.covering(need, now) {
                Ok(consent) => found.push((consent, need)),
                Err(gaps) => {
                    wanting.push(need);
                    gap.get_or_insert((need, gaps));
                }
            }
        }
        match (gap, found.first()) {
            (None, Some((consent, _))) => covered.push(CoveredTurn {
                consent: (*consent).clone(),
                needs: found
                    .iter()
                    .map(|(consent, need)| (consent.id.clone(), *need))
                    .collect(),
            }),
            (Some((need, gaps)), _) => {
                let own = turn.facts.exchange;
                let nearest = gaps.first();
                uncovered.push(UncoveredTurn {
                    exchange: name_of(store, need.exchange),
                    shown_in: (need.exchange != own).then(|| name_of(store, own)),
                    nearest: nearest.map(|(consent, gap)| (consent.id.clone(), *gap)),
                });
            }
            (None, None) => {}
        }
    }
    if uncovered.is_empty() {
        return Ok(covered);
    }
    Err(TraceExportError::NoConsent(NoConsent::Uncovered {
        turns: uncovered,
        of,
        narrowest: narrowest(store, &wanting)?,
    }))
}

/// The narrowest consent that would cover what none covers.
fn narrowest(store: &ReadStore, wanting: &[ConsentNeed]) -> Result<NarrowestConsent, StoreError> {
    if let [one] = wanting {
        return Ok(NarrowestConsent::Exchange(name_of(store, one.exchange)));
    }
    let thread = wanting.first().and_then(|first| first.thread);
    Ok(match thread {
        Some(thread) if wanting.iter().all(|one| one.thread == Some(thread)) => {
            NarrowestConsent::Thread(find::short_thread(store, thread)?)
        }
        _ => NarrowestConsent::All,
    })
}

/// The consents of a home, each as it was recorded, none missing and none put in.
fn recorded_consents(store: &ReadStore) -> Result<Consents, TraceExportError> {
    for kind in [CONSENT, CONSENT_WITHDRAWN] {
        if let Some(line) = unrecorded(store, kind)? {
            return Err(TraceExportError::Refused(format!(
                "gently.db has another {kind} than line {} of the log, or one of them is not there: no text is handed \
                 on under it. What differs says: gently audit verify",
                line + 1
            ).into()));
        }
    }
    Ok(consents(store)?)
}

/// Why a consent does not cover what it covered when the file was made.
pub(super) fn still_covered(
    store: &ReadStore,
    needs: &[(String, ConsentNeed)],
    now: Seconds,
) -> Result<Option<NoConsent>, StoreError> {
    if needs.is_empty() {
        return Ok(None);
    }
    let given = consents(store)?;
    for (id, need) in needs {
        let gap = match given.get(id) {
            Some(consent) => consent.covers(*need, now).err(),
            None => Some(ConsentGap::Scope),
        };
        if let Some(gap) = gap {
            let consent = id.clone();
            return Ok(Some(NoConsent::NoMore { consent, gap }));
        }
    }
    Ok(None)
}
