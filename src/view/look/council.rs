//! Councils on record: what `gently council --json` prints.

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::council::{RecordedCouncil, RecordedMember, RecordedReview};
use crate::govern::council::{DecidedBy, confidence_label};
use crate::view::ask::council::{NO_VOTES, VoteCountView};
use crate::view::set_up::specialist::DomainShareView;

/// A council on record.
#[derive(Clone, Debug, Serialize)]
pub struct CouncilView {
    /// Its id.
    pub id: String,
    /// Number of its line of the log, from 1.
    pub log_line: u64,
    /// When it was recorded.
    pub recorded_at: Option<String>,
    /// How sure the answer was to be.
    pub accuracy: String,
    /// `ratings`, or `prior` where nobody had rated any answer of those that could be asked.
    pub basis: String,
    /// How the question's domains were found: `words/1` or `named`.
    pub method: String,
    /// What the question is of.
    pub domains: Vec<DomainShareView>,
    /// The question; null once erased.
    pub question: Option<String>,
    /// Name of the specialist whose answer was chosen.
    pub winner: Option<String>,
    /// What decided: `expected`, `votes` between those of whom the same was expected, `age` where those
    /// were even, too, `alone` with one answer.
    pub decided_by: Option<&'static str>,
    /// The members, of whom most was expected first.
    pub members: Vec<RecordedMemberView>,
    /// What the reviews say.
    pub reviews: Vec<RecordedReviewView>,
}

/// One member of a council on record.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedMemberView {
    /// Its id.
    pub specialist: String,
    /// What it is called now.
    pub name: String,
    /// The model that was asked.
    pub model: Option<String>,
    /// Its exchange as screens call it.
    pub id: String,
    /// Its exchange.
    pub exchange: Uuid,
    /// `won`, `lost`, `failed`, `denied`, `withheld` or `erased`.
    pub place: &'static str,
    /// What was expected of it in the likeliest domain, in thousandths.
    pub utility: u64,
    /// Its welfare, in millionths.
    pub welfare: u64,
    /// Its payment, in millionths.
    pub payment: u64,
    /// What it answered; null where it did not, or that is not here, or withheld.
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

/// What one review on record says of one answer.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedReviewView {
    /// Name of the specialist who reviews.
    pub by: String,
    /// Its exchange as screens call it.
    pub id: String,
    /// Name of the specialist whose answer it is.
    pub of: String,
    /// Exchange of that answer.
    pub of_exchange: Uuid,
    /// `agree` or `disagree`; null where it was no vote.
    pub verdict: Option<&'static str>,
    /// Why, in the reviewer's words; null where that is not here.
    pub why: Option<String>,
    /// What it proposes as right in the answer's place; null where it proposes nothing.
    pub correction: Option<String>,
}

impl CouncilView {
    /// Of a council.
    pub fn of(council: &RecordedCouncil) -> CouncilView {
        CouncilView {
            id: council.id.clone(),
            log_line: council.line + 1,
            recorded_at: council.recorded_at.clone(),
            accuracy: council.accuracy.clone(),
            basis: council.basis.clone(),
            method: council.method.clone(),
            domains: DomainShareView::of_all(&council.domains),
            question: council.question.clone(),
            winner: council.winner().map(|member| member.name.clone()),
            decided_by: council.decided_by().map(DecidedBy::name),
            members: council.members.iter().map(RecordedMemberView::of).collect(),
            reviews: council.reviews.iter().map(RecordedReviewView::of).collect(),
        }
    }
}

impl RecordedMemberView {
    fn of(member: &RecordedMember) -> RecordedMemberView {
        let of = &member.of;
        RecordedMemberView {
            specialist: of.specialist.to_string(),
            name: member.name.clone(),
            model: member.model.clone(),
            id: member.id.clone(),
            exchange: of.exchange,
            place: of.place.name(),
            utility: of.utility,
            welfare: of.welfare,
            payment: of.payment,
            answer: member.answer.clone(),
            votes: VoteCountView {
                agree: member.votes.agree,
                all: member.votes.all,
            },
            confidence: of.confidence,
            confidence_label: of.confidence.map(confidence_label),
            no_confidence: match of.confidence {
                None => Some(NO_VOTES),
                Some(_) => None,
            },
        }
    }
}

impl RecordedReviewView {
    fn of(review: &RecordedReview) -> RecordedReviewView {
        RecordedReviewView {
            by: review.by.clone(),
            id: review.id.clone(),
            of: review.about.clone(),
            of_exchange: review.of.of,
            verdict: review.of.verdict.map(|verdict| verdict.name()),
            why: review.why.clone(),
            correction: review.correction.clone(),
        }
    }
}
