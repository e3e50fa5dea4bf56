//! A council that was just asked: what `gently ask --json` prints beside the turn that was chosen.

use serde::Serialize;
use uuid::Uuid;

use crate::app::ask::AskResult;
use crate::app::ask::council::{CouncilMember, CouncilResult, MemberEnd, PeerReview};
use crate::app::redacted::clean;
use crate::ask::TurnEnd;
use crate::govern::council::{DecidedBy, VoteCount, confidence_label};
use crate::record::ledger::params::Cost;
use crate::view::set_up::specialist::DomainShareView;

use super::turn::TurnView;

/// A turn on record, with the council that it is of.
#[derive(Clone, Debug, Serialize)]
pub struct AskedView {
    /// The turn; of a council the chosen one, else the first on record.
    #[serde(flatten)]
    pub turn: TurnView,
    /// What the council decided; left out where none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub council: Option<CouncilTurnView>,
}

/// What a council decided.
#[derive(Clone, Debug, Serialize)]
pub struct CouncilTurnView {
    /// Id of its artifact; null where nothing could be decided.
    pub id: Option<String>,
    /// How sure the answer was to be: `balanced`, `high` or `maximum`.
    pub accuracy: &'static str,
    /// `ratings`, or `prior` where nobody rated any answer of those that could have been asked.
    pub basis: &'static str,
    /// How the question's domains are found: `words/1` or `named`.
    pub method: &'static str,
    /// What the question is of.
    pub domains: Vec<DomainShareView>,
    /// Name of the specialist whose answer was chosen.
    pub winner: Option<String>,
    /// What decided: `expected`, `votes` between those of whom the same is expected, `age` where those are
    /// even, too, `alone` with one answer; null where nothing could be decided.
    pub decided_by: Option<&'static str>,
    /// The winner's payment, in millionths.
    pub payment: Option<u64>,
    /// The members, of whom most is expected first.
    pub members: Vec<CouncilMemberView>,
    /// What the reviews say.
    pub reviews: Vec<PeerReviewView>,
    /// Ids of the corrections that reviews proposed.
    pub corrections: Vec<String>,
    /// Why others were not put on record.
    pub refused_corrections: Vec<String>,
    /// Milliseconds from the first question to the decision.
    pub took_ms: u64,
    /// What all of it cost.
    pub costs: Vec<Cost>,
    /// Whether somebody gave it up.
    pub interrupted: bool,
}

/// One specialist of a council.
#[derive(Clone, Debug, Serialize)]
pub struct CouncilMemberView {
    /// Its id.
    pub specialist: String,
    /// What it is called.
    pub name: String,
    /// The model that it is bound to.
    pub model: String,
    /// Its welfare, in millionths.
    pub welfare: u64,
    /// What is expected of it in the likeliest domain, in thousandths.
    pub utility: u64,
    /// `won`, `lost`, `failed`, `denied`, `withheld`, `erased`; `unasked` where nothing is on record, `reviewer`
    /// of one that only reviews, `open` where nothing was decided.
    pub place: &'static str,
    /// Why there is no answer to choose; null where there is one.
    pub why: Option<String>,
    /// Its exchange as screens call it.
    pub id: Option<String>,
    /// Its exchange.
    pub exchange: Option<Uuid>,
    /// Its answer; null where there is none, and where it is withheld.
    pub answer: Option<String>,
    /// The votes on it.
    pub votes: VoteCountView,
    /// Agreeing votes among all, in thousandths; null without votes.
    pub confidence: Option<u16>,
    /// `High`, `Medium` or `Uncertain`; null likewise.
    pub confidence_label: Option<&'static str>,
    /// Why there is no confidence; null where there is one.
    pub no_confidence: Option<&'static str>,
}

/// The votes on an answer.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VoteCountView {
    /// How many agree.
    pub agree: u64,
    /// How many there are.
    pub all: u64,
}

/// What one review says.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReviewView {
    /// Name of the specialist who reviews.
    pub by: String,
    /// Its exchange as screens call it; null where nothing is on record.
    pub id: Option<String>,
    /// What it says of each answer.
    pub answers: Vec<ReviewedAnswerView>,
}

/// What a review says of one answer.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewedAnswerView {
    /// Name of the specialist whose answer it is.
    pub of: String,
    /// `agree` or `disagree`; null where it is no vote.
    pub verdict: Option<&'static str>,
    /// Why, in the reviewer's words, or why it is no vote.
    pub why: String,
    /// What it says is right in its place.
    pub correction: Option<String>,
}

/// Why an answer without votes has no confidence.
pub const NO_VOTES: &str = "no review is a vote on it";

impl CouncilTurnView {
    /// Of a council.
    pub fn of(council: &CouncilResult) -> CouncilTurnView {
        let first = council.members.first();
        let is_prior = first.is_none_or(|member| member.chosen.is_prior());
        let members = council.members.iter().enumerate();
        CouncilTurnView {
            id: council.id.clone(),
            accuracy: council.level.name(),
            basis: match is_prior {
                true => "prior",
                false => "ratings",
            },
            method: first.map_or("", |member| member.chosen.method),
            domains: first.map_or_else(Vec::new, |member| {
                DomainShareView::of_all(&member.chosen.shares)
            }),
            winner: council.winner().map(|member| member.chosen.name.clone()),
            decided_by: council.decided_by.map(DecidedBy::name),
            payment: council.choice.map(|choice| choice.payment),
            members: members
                .map(|(at, member)| member_view(council, at, member))
                .collect(),
            reviews: council
                .reviews
                .iter()
                .map(|review| review_view(council, review))
                .collect(),
            corrections: council
                .corrections()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            refused_corrections: council
                .proposals
                .iter()
                .filter_map(|proposal| council.why_unrecorded(proposal))
                .map(|why| clean(&why))
                .collect(),
            took_ms: council.took_ms,
            costs: council.costs.clone(),
            interrupted: council.is_interrupted,
        }
    }
}

fn member_view(council: &CouncilResult, at: usize, member: &CouncilMember) -> CouncilMemberView {
    let chosen = &member.chosen;
    let asked = member.on_record();
    let confidence = member.votes.confidence();
    let VoteCount { agree, all } = member.votes;
    let is_answered = member.answered().is_some();
    CouncilMemberView {
        specialist: chosen.id.to_string(),
        name: chosen.name.clone(),
        model: chosen.model.clone(),
        welfare: member.welfare(),
        utility: member.utility(),
        place: place(council, at, member),
        why: member
            .end
            .as_ref()
            .and_then(MemberEnd::why_unanswered)
            .map(|why| clean(&why)),
        id: asked.map(|asked| asked.id.clone()),
        exchange: asked.map(AskResult::exchange),
        answer: match &member.end {
            Some(MemberEnd::Asked(asked)) => asked.answer().map(str::to_owned),
            _ => None,
        },
        votes: VoteCountView { agree, all },
        confidence,
        confidence_label: confidence.map(confidence_label),
        no_confidence: match (is_answered, confidence) {
            (true, None) => Some(NO_VOTES),
            _ => None,
        },
    }
}

fn place(council: &CouncilResult, at: usize, member: &CouncilMember) -> &'static str {
    match (&member.end, council.choice) {
        (None, _) => "reviewer",
        (Some(MemberEnd::Unasked(_)), _) => "unasked",
        (Some(MemberEnd::Erased(_)), _) => "erased",
        (Some(_), Some(choice)) if choice.winner == at => "won",
        (Some(MemberEnd::Asked(asked)), choice) => match &asked.turn.turn {
            TurnEnd::Answered(_) if asked.is_withheld() => "withheld",
            TurnEnd::Answered(_) if choice.is_some() => "lost",
            TurnEnd::Answered(_) => "open",
            TurnEnd::Refused(..) => "denied",
            TurnEnd::Failed(..) | TurnEnd::Interrupted(_) => "failed",
        },
    }
}

fn review_view(council: &CouncilResult, review: &PeerReview) -> PeerReviewView {
    let name = |at: usize| council.members[at].chosen.name.clone();
    let answers = review.answers.iter().map(|said| match &said.saying {
        Ok(saying) => ReviewedAnswerView {
            of: name(said.of),
            verdict: Some(saying.verdict.name()),
            why: saying.why.clone(),
            correction: saying.correction.clone(),
        },
        Err(why) => ReviewedAnswerView {
            of: name(said.of),
            verdict: None,
            why: clean(why),
            correction: None,
        },
    });
    PeerReviewView {
        by: name(review.by),
        id: review.end.asked().map(|asked| asked.id.clone()),
        answers: answers.collect(),
    }
}
