//! What a declared reference loses: events that were declared and are not shown to a model, with
//! the reason.

use uuid::Uuid;

use crate::ask::refer::{CHANGED, ChangedEvent};
use crate::continuity::declared::TurnContext;
use crate::continuity::gates::ExclusionReason;
use crate::record::attached::file_names;
use crate::record::context::event::{EventKind, ThreadEvent};
use crate::record::context::spec::{RuleEffect, Transformation};
use crate::store::ReadStore;

use crate::app::find;

/// Why a text that is not the one on record is shown to no model.
const CHANGED_WORDS: &str = "its text was changed since it was recorded: gently audit verify";
/// What an INTENT is called.
const QUESTION: &str = "question";

/// One event that was declared and is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnshownReference {
    /// Id of the reference, as the client declared it.
    pub ref_id: String,
    /// Its exchange, as screens call it; none where that is not here.
    pub exchange: Option<String>,
    /// `question`, `decision` or `answer`.
    pub what: &'static str,
    /// The rule that kept it out.
    pub rule: String,
    /// The same for a person.
    pub why: &'static str,
    /// Names of the files behind it, which are not shown with it: attached again they are.
    pub files: Vec<String>,
    /// Whether it is of the turn right before.
    is_newest: bool,
}

impl UnshownReference {
    /// Whether a person has to be told, who did not ask for it by itself: once, right behind its
    /// turn, and of a question that has no answer never.
    pub fn is_news(&self) -> bool {
        self.is_newest && !self.is_spent()
    }

    /// Whether it is a question that there is nothing to go on with: policy denied it, or it got no
    /// answer.
    fn is_spent(&self) -> bool {
        let spent = [
            ExclusionReason::AuthorityIncompatible,
            ExclusionReason::Unanswered,
        ];
        self.what == QUESTION && spent.iter().any(|kept| kept.code() == self.rule)
    }
}

/// What was declared for a turn and is not shown to its model, in the order of the rules.
pub fn not_shown(store: &ReadStore, context: &TurnContext) -> Vec<UnshownReference> {
    let mut all = unshown(context);
    for one in &mut all {
        one.exchange = event_name(store, context, &one.ref_id);
        one.files = files_behind(store, context, one);
    }
    all
}

/// What was to be declared for a turn and is not shown to its model, as its text is not the one on
/// record.
pub fn changed(store: &ReadStore, events: &[ChangedEvent]) -> Vec<UnshownReference> {
    let unshown = |event: &ChangedEvent| UnshownReference {
        ref_id: event.event.to_string(),
        exchange: find::short_id_of(store, event.turn).ok().flatten(),
        what: match event.by_user {
            true => QUESTION,
            false => "answer",
        },
        rule: CHANGED.to_owned(),
        why: why(CHANGED),
        files: Vec::new(),
        // Whoever asks has to hear of it each time.
        is_newest: true,
    };
    events.iter().map(unshown).collect()
}

/// The exchange of a declared event, as screens call it.
fn event_name(store: &ReadStore, context: &TurnContext, id: &str) -> Option<String> {
    let turn: Uuid = event(context, id)?.place().turn_id.parse().ok()?;
    // What can't be looked up keeps nobody from being told of the rest.
    find::short_id_of(store, turn).ok().flatten()
}

/// Names of the files that somebody put behind a question which is too much, or not fit, to be shown
/// again.
fn files_behind(store: &ReadStore, context: &TurnContext, one: &UnshownReference) -> Vec<String> {
    let again = [
        ExclusionReason::EvidenceBlob,
        ExclusionReason::RingCapTokens,
    ];
    let is_again = again.iter().any(|kept| kept.code() == one.rule);
    let place = event(context, &one.ref_id).filter(|_| is_again && one.what == QUESTION);
    let id = place.and_then(|event| event.place().id.parse().ok());
    // As above.
    let turn = id.and_then(|id| store.turn(id).ok().flatten());
    let text = turn.and_then(|turn| turn.content);
    text.as_deref().map(file_names).unwrap_or_default()
}

/// The same without what they are called.
fn unshown(context: &TurnContext) -> Vec<UnshownReference> {
    let unshown = |made: &Transformation| UnshownReference {
        ref_id: made.ref_id.clone(),
        exchange: None,
        files: Vec::new(),
        what: what(context, &made.ref_id),
        rule: made.rule.clone(),
        why: why(&made.rule),
        is_newest: is_newest(context, &made.ref_id),
    };
    context
        .transformations()
        .iter()
        .filter(|made| made.effect == RuleEffect::LeftOut)
        .map(unshown)
        .collect()
}

/// How many turns the model is shown nothing of, as there is nothing to go on with: policy denied
/// them, or they got no answer.
pub fn spent(context: &TurnContext) -> u64 {
    let all = unshown(context);
    let questions = all.iter().filter(|one| one.is_spent());
    u64::try_from(questions.count()).unwrap_or(u64::MAX)
}

/// What it is, in a word.
fn what(context: &TurnContext, id: &str) -> &'static str {
    match event(context, id).map(ThreadEvent::kind) {
        Some(EventKind::Intent) => QUESTION,
        Some(EventKind::Decision) => "decision",
        Some(EventKind::Execution) | None => "answer",
    }
}

/// Whether it is of the turn that this one replies to.
fn is_newest(context: &TurnContext, id: &str) -> bool {
    let parent = context.parent().map(|parent| parent.to_string());
    let event = event(context, id);
    event.is_some_and(|event| Some(&event.place().turn_id) == parent.as_ref())
}

/// The event that an id was resolved to.
fn event<'c>(context: &'c TurnContext, id: &str) -> Option<&'c ThreadEvent> {
    let resolved = context.resolved().ok()?;
    let mut refs = resolved.refs.iter();
    let found = refs.find(|(reference, _)| reference.ref_id == id);
    found.map(|(_, event)| event)
}

/// Why, for a person.
fn why(rule: &str) -> &'static str {
    match rule {
        rule if rule == ExclusionReason::AuthorityIncompatible.code() => {
            "policy denied it, or its kernel withheld it"
        }
        rule if rule == ExclusionReason::RingCapItems.code() => {
            "the kernel's rings.refs.items are used up by newer ones"
        }
        rule if rule == ExclusionReason::RingCapTokens.code() => {
            "the kernel's rings.refs.tokens leave no room for it beside newer ones"
        }
        rule if rule == ExclusionReason::EvidenceBlob.code() => {
            "logs, lists of settings, long documents and encoded data are shown once; to ask about it again, \
             give it again"
        }
        CHANGED => CHANGED_WORDS,
        rule => kept_out(rule).unwrap_or("context.json keeps answers out of prompts"),
    }
}

/// Why something that was found is kept out of a context, for a person; none for a code of another
/// version.
pub fn kept_out(code: &str) -> Option<&'static str> {
    let words = [
        (
            ExclusionReason::NotSourced,
            "it does not say where it is from",
        ),
        (
            ExclusionReason::AuthorityIncompatible,
            "it was denied or withheld, or the kernel's phase or tier does not allow it",
        ),
        (
            ExclusionReason::Forbidden,
            "it is about a topic that the kernel's policy forbids",
        ),
        (ExclusionReason::Sensitive, "a secret is found in it"),
        (
            ExclusionReason::EvidenceBlob,
            "it looks like a log, a list of settings, a long document or encoded data, and no statement",
        ),
        (ExclusionReason::Unratified, "nobody has ratified it"),
        (ExclusionReason::Erased, "its text is erased"),
        (ExclusionReason::NotKept, "its text was never kept"),
        (
            ExclusionReason::Unanswered,
            "it got no answer; name it with --ref to show it",
        ),
        (
            ExclusionReason::RingCapItems,
            "the kernel allows no more of these at once",
        ),
        (
            ExclusionReason::RingCapTokens,
            "there was no room left for it",
        ),
    ];
    if code == CHANGED {
        return Some(CHANGED_WORDS);
    }
    let of = |(reason, _): &&(ExclusionReason, &str)| reason.code() == code;
    words.iter().find(of).map(|(_, words)| *words)
}
