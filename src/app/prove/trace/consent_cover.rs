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
use crate::record::ledger::short_name::short_name;
use crate::record::time::Seconds;
use crate::record::trace::level::TraceLevel;
use crate::store::{ReadStore, StoreError};

use super::export::{TraceExportError, name_of};

/// So many exchanges without a consent are named; the others are counted.
const NAMED: usize = 3;

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
                let gap = gap_words(&name_of(store, need.exchange), &gaps);
                let own = turn.facts.exchange;
                uncovered.push(match need.exchange == own {
                    true => gap,
                    false => format!("{}, whose prompt shows {gap}", name_of(store, own)),
                });
            }
            (None, None) => {}
        }
    }
    if uncovered.is_empty() {
        return Ok(covered);
    }
    let count = uncovered.len();
    let rest = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    uncovered.truncate(NAMED);
    let narrowest = narrowest(store, &wanting)?;
    Err(TraceExportError::NoConsent(format!(
        "full_traces shows texts, and no consent in force covers {count} of {of}: {}{rest}. Nothing was written. \
         gently consent give --purpose \"…\" {narrowest}, or --level detailed, which shows none",
        uncovered.join("; ")
    )))
}

/// The narrowest consent that would cover what none covers.
fn narrowest(store: &ReadStore, wanting: &[ConsentNeed]) -> Result<String, StoreError> {
    let Some((first, rest)) = wanting.split_first() else {
        return Ok(String::new());
    };
    if rest.is_empty() {
        return Ok(format!("--exchange {}", name_of(store, first.exchange)));
    }
    match first.thread {
        Some(thread) if rest.iter().all(|other| other.thread == Some(thread)) => {
            let short = find::short_thread(store, thread)?;
            Ok(format!("--thread {short} --past"))
        }
        _ => Ok("--past".to_owned()),
    }
}

/// The consents of a home, each as it was recorded, none missing and none put in.
fn recorded_consents(store: &ReadStore) -> Result<Consents, TraceExportError> {
    for kind in [CONSENT, CONSENT_WITHDRAWN] {
        if let Some(line) = unrecorded(store, kind)? {
            return Err(TraceExportError::Refused(format!(
                "gently.db has another {kind} than line {} of the log, or one of them is not there: no text is handed \
                 on under it. What differs says: gently audit verify",
                line + 1
            )));
        }
    }
    Ok(consents(store)?)
}

/// `81bb5b35/16 (consent-1: it is withdrawn)`
fn gap_words(short: &str, gaps: &[(&Consent, ConsentGap)]) -> String {
    match gaps.first() {
        None => format!("{short} (there is none)"),
        Some((consent, gap)) => {
            format!("{short} ({}: {})", short_name(&consent.id), gap.words())
        }
    }
}

/// Why a consent does not cover what it covered when the file was made.
pub(super) fn still_covered(
    store: &ReadStore,
    needs: &[(String, ConsentNeed)],
    now: Seconds,
) -> Result<Option<String>, StoreError> {
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
            return Ok(Some(format!(
                "{} covers it no more: {}. Nothing was written",
                short_name(id),
                gap.words()
            )));
        }
    }
    Ok(None)
}
