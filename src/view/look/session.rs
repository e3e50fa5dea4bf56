//! A session.

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::session::{
    ClosingSession, ListedExchange, ListedSession, PendingPrompt, SessionClosePlan, SessionDetails,
};
use crate::app::words::counted;
use crate::record::bitcoin::block::Block;
use crate::record::hash::Hash32;
use crate::recorder::SessionClose;
use crate::store::{CommitRow, ExchangeRow, SessionRow};

use crate::view::keep::plan::PlanView;
use crate::view::look::outcome::outcome_word;
use crate::view::prove::stamp::StampingView;
use crate::view::prove::tree_heads::{AttemptView, ThirdPartyView};
use crate::view::prove::witness::WitnessRoundView;

/// A session as it is on record.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// Its id, 64 digits.
    pub session: Hash32,
    /// Its id in the database.
    pub session_uuid: Uuid,
    /// `open` or `closed`.
    pub status: &'static str,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The branch of its commits.
    pub branch: String,
    /// The newest block that it is anchored to.
    pub block: Block,
    /// The model of its newest turn.
    pub model: String,
    /// What the host is for.
    pub host_role: String,
    /// Phase of its kernel.
    pub phase: String,
    /// Tier of its kernel.
    pub tier: u8,
    /// Hash of the kernel that the session is under.
    pub kernel_hash: Hash32,
    /// How many questions were asked.
    pub prompts: u64,
    /// How many of them were answered.
    pub interactions: u64,
    /// The last entry of its chain.
    pub chain_head: Hash32,
}

impl SessionView {
    /// Of a row.
    pub fn of(row: &SessionRow) -> SessionView {
        SessionView {
            session: row.id,
            session_uuid: row.uuid,
            status: if row.ended_at.is_some() {
                "closed"
            } else {
                "open"
            },
            started_at: row.started_at.to_string(),
            ended_at: row.ended_at.map(|at| at.to_string()),
            branch: row.branch.clone(),
            block: row.anchor.block.clone(),
            model: row.model.clone(),
            host_role: row.host_role.clone(),
            phase: row.phase.clone(),
            tier: row.tier,
            kernel_hash: row.kernel_hash,
            prompts: row.prompts,
            interactions: row.interactions,
            chain_head: row.chain_head,
        }
    }
}

/// A session in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedSessionView {
    /// The session as every view has it.
    #[serde(flatten)]
    pub session: SessionView,
    /// The block that it started under; null when its start can't be found.
    pub start_block: Option<Block>,
    /// What screens call it.
    pub id: String,
    /// The beginning of its first question; null before that.
    pub first_question: Option<String>,
}

impl ListedSessionView {
    /// Of a session in a list.
    pub fn of(listed: &ListedSession) -> ListedSessionView {
        ListedSessionView {
            session: SessionView::of(&listed.row),
            start_block: listed.start_block.clone(),
            id: listed.short.clone(),
            first_question: listed.first_question.clone(),
        }
    }
}

/// A session that would be closed.
#[derive(Clone, Debug, Serialize)]
pub struct ClosingSessionView {
    /// The session that would be closed.
    #[serde(flatten)]
    pub session: SessionView,
    /// Its prompts without an outcome.
    pub unanswered: Vec<PendingPromptView>,
}

/// A prompt without an outcome.
#[derive(Clone, Debug, Serialize)]
pub struct PendingPromptView {
    /// What screens call it.
    pub id: String,
    /// Id of the exchange whose prompt has no answer yet.
    pub exchange: Uuid,
    /// When it was asked.
    pub asked_at: String,
    /// Whether a living process waits for its answer.
    pub is_waited_for: bool,
}

/// The sessions that would be closed.
#[derive(Clone, Debug, Serialize)]
pub struct SessionClosePlanView {
    /// Each of them.
    pub closes: Vec<ClosingSessionView>,
}

impl SessionClosePlanView {
    /// Of a plan.
    pub fn of(plan: &SessionClosePlan) -> SessionClosePlanView {
        let prompt = |one: &PendingPrompt| PendingPromptView {
            id: one.id.clone(),
            exchange: one.exchange,
            asked_at: one.asked_at.to_string(),
            is_waited_for: one.is_waited_for,
        };
        let view = |closing: &ClosingSession| ClosingSessionView {
            session: SessionView::of(&closing.row),
            unanswered: closing.unanswered.iter().map(prompt).collect(),
        };
        SessionClosePlanView {
            closes: plan.sessions.iter().map(view).collect(),
        }
    }

    /// The same with what is asked: whether a turn is in flight.
    pub fn plan(plan: &SessionClosePlan) -> PlanView<SessionClosePlanView> {
        let asks = plan.unanswered().next().is_some();
        PlanView::new(
            asks,
            closing_sentences(plan),
            SessionClosePlanView::of(plan),
        )
    }
}

/// What closing does, a sentence each.
pub fn closing_sentences(plan: &SessionClosePlan) -> Vec<String> {
    let ids: Vec<String> = plan
        .sessions
        .iter()
        .map(|one| one.row.id.short8())
        .collect();
    let mut said = vec![format!(
        "closes {}: {}",
        counted(ids.len(), "session"),
        ids.join(", ")
    )];
    said.extend(plan.unanswered().map(|prompt| {
        let PendingPrompt { id, asked_at, .. } = prompt;
        match prompt.is_waited_for {
            true => format!(
                "waits for the answer to {id}, asked {asked_at}: its model is still thinking"
            ),
            false => format!(
                "gives up {id}, asked {asked_at}: nobody waits for its answer any more, and it stays on record without one"
            ),
        }
    }));
    said
}

/// A session that was closed.
#[derive(Clone, Debug, Serialize)]
pub struct ClosedSessionView {
    /// The session that was closed.
    #[serde(flatten)]
    pub session: SessionView,
    /// What its close commits to.
    pub close_hash: Hash32,
    /// The commit that ended it.
    pub commit: String,
    /// What calendars said, on the last of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ots: Option<AttemptView<StampingView>>,
    /// What witnesses said, on the last of several; null there when none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Option<AttemptView<WitnessRoundView>>>,
}

impl ClosedSessionView {
    /// Of what was closed; the last carries what was said outside, once for all.
    pub fn of_all(closed: &[SessionClose], outside: ThirdPartyView) -> Vec<ClosedSessionView> {
        let view = |close: &SessionClose| ClosedSessionView {
            session: SessionView::of(&close.session),
            close_hash: close.close_hash,
            commit: close.commit.to_string(),
            ots: None,
            witnesses: None,
        };
        let mut views: Vec<ClosedSessionView> = closed.iter().map(view).collect();
        if let Some(last) = views.last_mut() {
            last.ots = outside.ots;
            last.witnesses = Some(outside.witnesses);
        }
        views
    }
}

/// The commits of a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionCommitsView {
    /// The one that started it.
    pub start: Option<String>,
    /// The one that ended it.
    pub end: Option<String>,
    /// Its close on `main`.
    pub close: Option<String>,
}

/// An exchange as a line of its session.
#[derive(Clone, Debug, Serialize)]
pub struct ListedExchangeView {
    /// Id of the exchange.
    pub exchange: Uuid,
    /// `interaction-3`, or `prompt-3` without an answer.
    pub name: String,
    /// Its number in the session.
    pub seq: u64,
    /// When it was asked.
    pub asked_at: String,
    /// `answered`, `failed`, `denied`, or `in flight`.
    pub outcome: &'static str,
    /// Why it has no answer.
    pub reason: Option<String>,
    /// The beginning of its prompt.
    pub prompt_begins: String,
    /// The commit of its interaction.
    pub commit: Option<String>,
}

impl ListedExchangeView {
    fn of(listed: &ListedExchange) -> ListedExchangeView {
        let row: &ExchangeRow = &listed.row;
        let outcome = row.outcome.as_ref();
        ListedExchangeView {
            exchange: row.exchange_id,
            name: row.name(),
            seq: row.seq,
            asked_at: row.created_at.to_string(),
            outcome: outcome_word(row.ended()),
            reason: outcome.and_then(|outcome| outcome.reason.clone()),
            prompt_begins: listed.prompt_begins.clone(),
            commit: listed.commit.clone(),
        }
    }
}

/// All that is on record around a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionDetailsView {
    /// The session as every view has it.
    #[serde(flatten)]
    pub session: SessionView,
    /// The auth key that it was opened with, as a hash.
    pub auth_key_hash: Hash32,
    /// The block that it started under.
    pub start_block: Option<Block>,
    /// The block that it was closed under.
    pub end_block: Option<Block>,
    /// What its close commits to.
    pub close_hash: Option<Hash32>,
    /// Commits of the ledger that begin and end the session.
    pub commits: SessionCommitsView,
    /// Its exchanges, oldest first.
    pub exchanges: Vec<ListedExchangeView>,
}

impl SessionDetailsView {
    /// Of all that is on record.
    pub fn of(details: &SessionDetails) -> SessionDetailsView {
        let id = |commit: &Option<CommitRow>| commit.as_ref().map(|commit| commit.id.clone());
        let closed = details.closed.as_ref();
        SessionDetailsView {
            session: SessionView::of(&details.row),
            auth_key_hash: details.row.auth_key_hash,
            start_block: details.opened.as_ref().map(|opened| opened.block.clone()),
            end_block: closed.map(|closed| closed.block.clone()),
            close_hash: closed.map(|closed| closed.session_close_hash),
            commits: SessionCommitsView {
                start: id(&details.start),
                end: id(&details.end),
                close: id(&details.merge),
            },
            exchanges: details
                .exchanges
                .iter()
                .map(ListedExchangeView::of)
                .collect(),
        }
    }
}
