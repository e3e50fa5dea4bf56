//! When a handoff is due: what was said in a conversation since the newest one.

use uuid::Uuid;

use super::HandoffReader;
use crate::app::words::counted;
use crate::ask::{TurnEnd, TurnResult};
use crate::govern::handoff::{ContextPressure, LONG, token_estimate};
use crate::record::ledger::handoff::HandoffTrigger;
use crate::record::ledger::specialist::SpecialistId;
use crate::record::time::Seconds;
use crate::store::{ReadStore, SaidCount, StoreError};

/// A handoff that is due after an answer.
#[derive(Clone, Debug)]
pub struct DueHandoff {
    /// The reason.
    pub trigger: HandoffTrigger,
    /// The conversation.
    pub thread: Uuid,
    /// What was counted.
    pub pressure: ContextPressure,
    /// The model that answered.
    pub model: String,
    /// Whether it is made after the answer, as the settings say.
    pub is_automatic: bool,
}

impl DueHandoff {
    /// That it is due, and why, in a sentence without its end: `a handoff is due: 31 messages without
    /// one`.
    pub fn sentence(&self) -> String {
        let ContextPressure {
            tokens,
            messages,
            window,
            silence,
            ..
        } = self.pressure;
        let why = match self.trigger {
            HandoffTrigger::TokenThreshold => format!(
                "about {tokens} tokens were said without one, of a window of {}",
                window.unwrap_or_default()
            ),
            HandoffTrigger::TimeGap => format!(
                "nobody had said anything for {}",
                counted(silence.unwrap_or_default() / 3600, "hour")
            ),
            _ => format!("{} without one", counted(messages, "message")),
        };
        format!("a handoff is due: {why}")
    }
}

/// Who was asked: a specialist, else a model by its own name.
#[derive(Clone, Copy)]
pub struct AskedOne<'a> {
    /// The specialist.
    pub specialist: Option<SpecialistId>,
    /// The model.
    pub model: &'a str,
}

impl AskedOne<'_> {
    /// What was said to and by this one.
    fn counted(self, counts: &[SaidCount]) -> (u64, u64) {
        let is_it = |one: &&SaidCount| match (self.specialist, one.specialist) {
            (None, None) => one.model == self.model,
            (asked, counted) => asked == counted,
        };
        let own = counts.iter().find(is_it);
        own.map_or((0, 0), |one| (one.characters, one.messages))
    }
}

/// Whether a handoff is due after an answer of `asked`, whose model has a window; and whether one that is
/// due is made then.
pub fn due_after(
    store: &ReadStore,
    turn: &TurnResult,
    asked: AskedOne<'_>,
    (window, is_automatic): (Option<u64>, bool),
) -> Result<Option<DueHandoff>, StoreError> {
    let TurnEnd::Answered(answer) = &turn.turn else {
        return Ok(None);
    };
    let thread = turn.referred.thread();
    let Some(row) = store.exchange(answer.ids.exchange)? else {
        return Ok(None);
    };
    let handoff = HandoffReader::of(store)?.newest(thread)?;
    let upto = handoff.map(|handoff| handoff.upto);
    let counts = |before| store.said_between(thread, (upto, before));
    let (characters, messages) = asked.counted(&counts(u64::MAX >> 1)?);
    let newest = store.message_before(thread, row.prompt_line)?;
    let silence = newest.map(|(_, at): (u64, Seconds)| row.created_at.since(at));
    // Most questions follow the answer before, and nobody counts twice for them.
    let before = match silence.is_some_and(|silence| silence >= LONG) {
        true => asked.counted(&counts(row.prompt_line)?).1,
        false => 0,
    };
    let pressure = ContextPressure {
        tokens: token_estimate(characters),
        messages,
        window,
        silence,
        before,
    };
    Ok(pressure.due().map(|trigger| DueHandoff {
        trigger,
        thread,
        pressure,
        model: asked.model.to_owned(),
        is_automatic,
    }))
}
