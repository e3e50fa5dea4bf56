//! A council: several specialists answer one question at once, review each other, and one answer is
//! chosen (`docs/specialists.md`). Each answer and each review is an exchange of its own; what was
//! decided is an artifact, after the last.

use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt, monotonic_millis};
use crate::app::look::conversation::{ConversationScope, join_project};
use crate::app::look::not_shown::{UnshownReference, kept_out};
use crate::app::prove::tree_heads;
use crate::app::remember::correction::{CorrectionInput, ProposalEnd, propose};
use crate::app::remember::project;
use crate::app::set_up::specialist::choice::{ChosenSpecialist, NOTHING_RATED, nobody, of_council};
use crate::ask::recall::{DeclaredContext, Reference};
use crate::ask::refer::{CHANGED, ParentTurn, ReferRules, ThreadPosition, refer};
use crate::ask::{AskError, TurnControl, TurnEnd};
use crate::continuity::declared::{TurnContext, TurnPlace};
use crate::govern::council::{
    CouncilBid, CouncilChoice, CouncilPlan, DecidedBy, ReviewSaying, VoteCount, answer_name,
    choose, read_review, review_shape,
};
use crate::govern::reply::output::Shape;
use crate::govern::sight_rules::SightWish;
use crate::record::context::event::{EventKind, ThreadEvent};
use crate::record::context::spec::{ResolvedContext, RuleEffect};
use crate::record::hash::Hash32;
use crate::record::ledger::correction::ARBITER;
use crate::record::ledger::council::{AccuracyLevel, COUNCIL, CouncilPlace};
use crate::record::ledger::measures::{CouncilRound, QuestionDoor};
use crate::record::ledger::params::Cost;
use crate::record::ledger::short_name::short_name;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError, thread_id};
use crate::session;
use crate::store::{ReadStore, StoreError};

use super::model_choice::CallOptions;
use super::seat::TurnSeat;
use super::{AskRequest, AskResult, AskSetup, BegunConversation, from_handoff, prepare, put_right};

/// Who is asked for an answer, and how sure it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CouncilWish {
    /// Names or ids of specialists; all that are on record where none are named.
    pub members: Option<Vec<String>>,
    /// How sure.
    pub level: AccuracyLevel,
}

impl CouncilWish {
    /// What somebody asks for who names members, a level, or both: named members all answer, where no
    /// level is named. None where neither is named, and for the level that asks one of them
    /// ([`SpecialistWish::Best`](super::SpecialistWish::Best)).
    pub fn of(members: Option<Vec<String>>, level: Option<AccuracyLevel>) -> Option<CouncilWish> {
        match (members, level) {
            (None, None) | (_, Some(AccuracyLevel::Fast)) => None,
            (members, level) => Some(CouncilWish {
                members,
                level: level.unwrap_or(AccuracyLevel::Maximum),
            }),
        }
    }
}

/// What came of asking somebody in a council.
pub enum MemberEnd {
    /// It is on record.
    Asked(Box<AskResult>),
    /// Its answer was erased before the council decided.
    Erased(Box<AskResult>),
    /// Nobody was asked, and why.
    Unasked(String),
}

impl MemberEnd {
    /// The turn on record.
    pub fn asked(&self) -> Option<&AskResult> {
        match self {
            MemberEnd::Asked(asked) | MemberEnd::Erased(asked) => Some(asked),
            MemberEnd::Unasked(_) => None,
        }
    }

    /// What becomes of it in the council, where its answer can't be chosen.
    fn without_answer(&self) -> Option<CouncilPlace> {
        let asked = match self {
            MemberEnd::Asked(asked) => asked,
            MemberEnd::Erased(_) => return Some(CouncilPlace::Erased),
            MemberEnd::Unasked(_) => return None,
        };
        match &asked.turn.turn {
            TurnEnd::Answered(_) if asked.is_withheld() => Some(CouncilPlace::Withheld),
            TurnEnd::Answered(_) => None,
            TurnEnd::Refused(..) => Some(CouncilPlace::Denied),
            TurnEnd::Failed(..) | TurnEnd::Interrupted(_) => Some(CouncilPlace::Failed),
        }
    }

    /// Why there is no answer to be chosen, in words; none where there is one.
    pub fn why_unanswered(&self) -> Option<String> {
        match self {
            MemberEnd::Unasked(why) => Some(why.clone()),
            MemberEnd::Erased(_) => Some("its answer was erased meanwhile".to_owned()),
            MemberEnd::Asked(asked) if asked.is_withheld() => {
                Some("the kernel keeps its answer back".to_owned())
            }
            MemberEnd::Asked(asked) => asked.why_unanswered(),
        }
    }
}

/// One specialist of a council.
pub struct CouncilMember {
    /// Who it is, and what is expected of it.
    pub chosen: ChosenSpecialist,
    /// What came of asking it; none of one that only reviews.
    pub end: Option<MemberEnd>,
    /// The votes on its answer.
    pub votes: VoteCount,
}

impl CouncilMember {
    /// Its welfare, in millionths.
    pub fn welfare(&self) -> u64 {
        self.chosen.bid().map_or(0, |bid| bid.welfare)
    }

    /// What is expected of it in the likeliest domain, in thousandths.
    pub fn utility(&self) -> u64 {
        self.chosen.utility()
    }

    /// The turn with an answer that can be chosen.
    pub fn answered(&self) -> Option<&AskResult> {
        let end = self.end.as_ref()?;
        let asked = end.asked()?;
        end.without_answer().is_none().then_some(asked)
    }
}

/// What one review says of one answer.
pub struct ReviewedAnswer {
    /// Place of the member whose answer it is.
    pub of: usize,
    /// What it says, or why that is no vote.
    pub saying: Result<ReviewSaying, String>,
}

/// A review of what others answered.
pub struct PeerReview {
    /// Place of the member who reviews.
    pub by: usize,
    /// What came of asking it.
    pub end: MemberEnd,
    /// What it says of each answer that it was asked about.
    pub answers: Vec<ReviewedAnswer>,
}

impl PeerReview {
    /// Of who is not asked, as it would be shown none of the answers, and why.
    fn unasked(by: usize, of: &[usize], whys: &[String]) -> PeerReview {
        let answers = of.iter().zip(whys).map(|(of, why)| ReviewedAnswer {
            of: *of,
            saying: Err(format!("not asked; {}", no_vote(why))),
        });
        PeerReview {
            by,
            end: MemberEnd::Unasked("there is no answer that it may be shown".to_owned()),
            answers: answers.collect(),
        }
    }
}

/// What reviews would have put right.
pub struct ReviewProposal {
    /// Places of the members who propose it in their reviews.
    pub by: Vec<usize>,
    /// What they say is right.
    pub text: String,
    /// What became of it.
    pub end: ProposalEnd,
}

/// A council that is over.
pub struct CouncilResult {
    /// Id of its artifact; none where nothing could be decided, and where it was interrupted.
    pub id: Option<String>,
    /// How sure the answer was to be.
    pub level: AccuracyLevel,
    /// The members, of whom most is expected first.
    pub members: Vec<CouncilMember>,
    /// What the reviews say.
    pub reviews: Vec<PeerReview>,
    /// Place of the chosen member, and its payment.
    pub choice: Option<CouncilChoice>,
    /// What decided between the answers; none where nothing could be decided.
    pub decided_by: Option<DecidedBy>,
    /// The corrections that reviews propose.
    pub proposals: Vec<ReviewProposal>,
    /// Milliseconds from the first question to the decision.
    pub took_ms: u64,
    /// What all of it cost, by currency.
    pub costs: Vec<Cost>,
    /// Whether somebody gave it up.
    pub is_interrupted: bool,
}

impl CouncilResult {
    /// The chosen member.
    pub fn winner(&self) -> Option<&CouncilMember> {
        self.choice.map(|choice| &self.members[choice.winner])
    }

    /// Ids of the corrections that are on record by it.
    pub fn corrections(&self) -> Vec<&str> {
        let ends = self.proposals.iter().map(|proposal| &proposal.end);
        let ids = ends.filter_map(|end| match end {
            ProposalEnd::Recorded(id) => Some(id.as_str()),
            ProposalEnd::Known { .. } | ProposalEnd::Refused(_) => None,
        });
        ids.collect()
    }

    /// Who proposes something: `lawyer proposes`, `lawyer and swe propose`.
    pub fn proposing(&self, proposal: &ReviewProposal) -> String {
        let members = proposal.by.iter().filter_map(|at| self.members.get(*at));
        let names: Vec<&str> = members.map(|one| one.chosen.name.as_str()).collect();
        match names.split_last() {
            Some((last, before)) if !before.is_empty() => {
                format!("{} and {last} propose", before.join(", "))
            }
            _ => format!("{} proposes", names.concat()),
        }
    }

    /// Why what a review proposes is not on record by it, in a sentence; none of what is.
    pub fn why_unrecorded(&self, proposal: &ReviewProposal) -> Option<String> {
        let who = self.proposing(proposal);
        match &proposal.end {
            ProposalEnd::Recorded(_) => None,
            ProposalEnd::Known { id, is_in_force } => {
                let stands = match is_in_force {
                    true => "it is in force",
                    false => "it waits to be ratified",
                };
                let known = short_name(id);
                Some(format!("{who} what {known} says already; {stands}"))
            }
            ProposalEnd::Refused(why) => Some(format!("what {who} can't be a correction: {why}")),
        }
    }

    /// The turn that is shown: that of the chosen member, else of the first that is on record and is not
    /// erased.
    pub fn shown(&self) -> Option<&AskResult> {
        let winner = self.winner().and_then(CouncilMember::on_record);
        let here = |member: &&CouncilMember| !matches!(member.end, Some(MemberEnd::Erased(_)));
        let mut others = self.members.iter().filter(here);
        winner.or_else(|| others.find_map(CouncilMember::on_record))
    }

    /// The same turn alone.
    pub fn into_shown(self) -> Option<AskResult> {
        let winner = self.choice.map(|choice| choice.winner);
        let members = self.members.into_iter().enumerate();
        let mut asked = members.filter_map(|(at, member)| match member.end {
            Some(MemberEnd::Asked(asked)) if winner.is_none_or(|winner| winner == at) => {
                Some(asked)
            }
            _ => None,
        });
        asked.next().map(|asked| *asked)
    }
}

/// What a council listens to while it goes on.
pub struct CouncilListener<'a> {
    /// Whoever asks.
    pub control: &'a TurnControl,
    /// Told what people should know.
    pub notice: &'a dyn Fn(&str),
    /// Told what was declared and is not shown.
    pub lost: &'a dyn Fn(&[UnshownReference]),
}

/// A council for which everything is at hand, and nothing is on record.
pub struct CouncilSetup<'a> {
    opened: &'a OpenHome,
    request: &'a AskRequest,
    key: Hash32,
    level: AccuracyLevel,
    plan: CouncilPlan,
    members: Vec<ChosenSpecialist>,
    /// Where `main` was.
    main_before: Option<u64>,
}

/// Why a council of these can't be.
fn refused(why: String) -> OpenHomeError {
    OpenHomeError::Refused(why)
}

/// Looks up who is to be asked.
pub async fn convene<'a>(
    opened: &'a OpenHome,
    request: &'a AskRequest,
    wish: &CouncilWish,
    notice: &dyn Fn(&str),
) -> Result<CouncilSetup<'a>, OpenHomeError> {
    let key = opened.authorize().await?;
    if !opened.keeps_text() {
        return Err(refused(
            "this home keeps no texts (store.content is \"none\"), so no specialist can be shown what another one \
             answered: --accuracy fast asks one, and nobody reviews it"
                .to_owned(),
        ));
    }
    let question = (request.text.as_str(), request.domain.as_deref());
    let members = of_council(&opened.store, wish.members.as_deref(), question)?;
    let plan = CouncilPlan::of(wish.level, members.len());
    let first = members.first().ok_or_else(nobody)?;
    if plan.missing > 0 {
        notice(&format!(
            "accuracy {} wants {} more: asked are those there are",
            wish.level.name(),
            match plan.missing {
                1 => "1 specialist".to_owned(),
                more => format!("{more} specialists"),
            },
        ));
    }
    notice(&told_of(&members, plan, first));
    Ok(CouncilSetup {
        opened,
        request,
        key,
        level: wish.level,
        plan,
        members,
        main_before: tree_heads::main_tip(opened)?,
    })
}

/// `asked: lawyer, swe; each reviews the others (law 1.000; no answer of theirs is rated yet)`
fn told_of(members: &[ChosenSpecialist], plan: CouncilPlan, first: &ChosenSpecialist) -> String {
    let names = |of: &[ChosenSpecialist]| {
        let names: Vec<&str> = of.iter().map(|one| one.name.as_str()).collect();
        names.join(", ")
    };
    let (answering, others) = members.split_at(plan.answering);
    let reviews = match others.first().filter(|_| plan.next_reviews) {
        Some(next) => format!("; {} reviews", next.name),
        None if answering.len() > 1 => "; each reviews the others".to_owned(),
        None => String::new(),
    };
    let asked = members
        .iter()
        .take(plan.answering + usize::from(plan.next_reviews));
    let unrated = asked.filter(|one| one.bid().is_none_or(|bid| bid.rated == 0));
    let unrated: Vec<&str> = unrated.map(|one| one.name.as_str()).collect();
    let known = match (first.is_prior(), unrated.as_slice()) {
        (true, _) => NOTHING_RATED.to_owned(),
        (false, []) => "by ratings".to_owned(),
        (false, names) => format!("by ratings; nothing of {} is rated yet", names.join(", ")),
    };
    let known = match first.is_prior() || !first.is_unrated_here() {
        true => known,
        false => format!(
            "nothing is rated in {} yet, so {}",
            first.domain_names(),
            match answering.len() {
                1 => "the oldest answers",
                _ => "the votes decide",
            }
        ),
    };
    let (names, domains) = (names(answering), first.domains_told());
    format!("asked: {names}{reviews} ({domains}; {known})")
}

/// Where the members of a council stand.
struct CouncilGround {
    thread: Uuid,
    parent: ParentTurn,
    /// What all of them are shown in place of the last turns; none where that is what a question
    /// declares by itself.
    declared: Option<DeclaredContext>,
}

impl CouncilSetup<'_> {
    /// Where `main` is, for what is done after the answer.
    pub fn main_before(&self) -> Option<u64> {
        self.main_before
    }

    /// The members' models, for whoever waits.
    pub fn called(&self) -> String {
        let most = match self.plan.next_reviews {
            true => self.plan.answering + 1,
            false => self.plan.answering,
        };
        let names: Vec<&str> = self.members.iter().map(|one| one.name.as_str()).collect();
        names.get(..most).unwrap_or(&names).join(", ")
    }

    /// Asks all of them, has the answers reviewed, and decides.
    pub async fn ask(self, listener: &CouncilListener<'_>) -> Result<CouncilResult, CouncilError> {
        let begun = monotonic_millis();
        let (ground, conversation) = self.ground(listener).await?;
        let mut members: Vec<CouncilMember> = Vec::new();
        let (answering, others) = self.members.split_at(self.plan.answering);
        let ends = self.answers(answering, &ground, listener).await?;
        for (chosen, end) in answering.iter().zip(ends) {
            members.push(CouncilMember::of(chosen, Some(end)));
        }
        if let Some(next) = others.first().filter(|_| self.plan.next_reviews) {
            let is_needed = members.iter().all(|one| one.answered().is_none());
            // Whoever was to review answers, where there is nothing to review.
            let end = match is_needed && !listener.control.cancelled.is_cancelled() {
                true => {
                    let next = std::slice::from_ref(next);
                    self.answers(next, &ground, listener).await?.pop()
                }
                false => None,
            };
            members.push(CouncilMember::of(next, end));
        }
        if let (Some(project), None) = (&conversation.project, conversation.before)
            && members.iter().any(|member| member.on_record().is_some())
        {
            self.join(ground.thread, project, listener).await;
        }
        let mut reviews = self.reviews(&members, &ground, listener).await?;
        leave_out_erased(&self.opened.store, &mut members, &mut reviews)?;
        for said in reviews.iter().flat_map(|review| &review.answers) {
            if let Ok(saying) = &said.saying {
                members[said.of].votes.take(saying.verdict);
            }
        }
        let mut result = CouncilResult {
            id: None,
            level: self.level,
            costs: costs(&members, &reviews),
            choice: None,
            decided_by: None,
            proposals: Vec::new(),
            took_ms: 0,
            is_interrupted: listener.control.cancelled.is_cancelled(),
            members,
            reviews,
        };
        if !result.is_interrupted {
            (result.choice, result.decided_by) = chosen(&result.members).unzip();
            self.decide(&mut result).await?;
        }
        result.took_ms = monotonic_millis().saturating_sub(begun);
        Ok(result)
    }

    /// The thread that all members stand in, and the turn that they reply to.
    async fn ground(
        &self,
        listener: &CouncilListener<'_>,
    ) -> Result<(CouncilGround, BegunConversation), CouncilError> {
        let (opened, store) = (self.opened, &self.opened.store);
        let scope = ConversationScope {
            key: Some(self.key),
            project: project::id_in_use(store, &opened.config)?,
        };
        let position = self.request.thread.standing(store, &scope)?;
        let model = self.first_model().await?;
        let begun = BegunConversation::of(
            opened,
            (self.key, &model),
            (self.request, position),
            listener.notice,
        )?;
        put_right(opened, &self.request.text, begun.before, listener.notice).await?;
        let thread = match begun.before {
            Some(thread) => thread,
            None => self.own_thread(&model, begun.anew, listener).await?,
        };
        let parent = position
            .parent
            .of(store, thread)
            .map_err(OpenHomeError::from)?;
        let declared =
            self.request
                .context
                .declared(&opened.config, opened.context.rules(), store)?;
        let is_talk = position.parent == ParentTurn::Newest && self.request.client.is_none();
        let goes_on = begun.before.filter(|_| is_talk);
        let instead = from_handoff(opened, goes_on, (self.request, &declared), listener.notice)?;
        let ground = CouncilGround {
            thread,
            parent: parent.map_or(ParentTurn::Nothing, ParentTurn::Turn),
            declared: instead,
        };
        Ok((ground, begun))
    }

    /// The id of the model of the first member, as sessions have it.
    async fn first_model(&self) -> Result<String, OpenHomeError> {
        let opened = self.opened;
        let database = opened.home.paths().database();
        let bound = self.members.first().map(|one| one.model.as_str());
        let call = CallOptions::default();
        let choice = super::model_choice::choose(bound, &call, &opened.config, &database).await?;
        Ok(choice.model.id().to_owned())
    }

    /// The thread of a session of the first member's model, which has none yet: the first of them that
    /// is on record begins it.
    async fn own_thread(
        &self,
        model: &str,
        anew: bool,
        listener: &CouncilListener<'_>,
    ) -> Result<Uuid, CouncilError> {
        let environment = self.opened.environment(model, listener.notice);
        let opening = async {
            match anew {
                true => session::open(&environment, self.key).await,
                false => {
                    let resumed = session::resume_or_open(&environment, self.key).await;
                    resumed.map(|active| active.session)
                }
            }
        };
        let opened = listener.control.cancelled.run_until_cancelled(opening);
        let session = opened.await.ok_or(AskError::Interrupted)?;
        let session = session.map_err(AskError::Prompt)?;
        Ok(thread_id(session.id, 0))
    }

    async fn join(
        &self,
        thread: Uuid,
        project: &project::ProjectDetails,
        listener: &CouncilListener<'_>,
    ) {
        // The turns are on record: nothing that comes of this keeps anybody from them.
        match join_project(self.opened, self.key, thread, project).await {
            Ok(word) => word.iter().for_each(|word| (listener.notice)(word)),
            Err(e) => (listener.notice)(&format!(
                "the conversation could not be put into {}: {e}",
                project.called()
            )),
        }
    }

    /// Asks some of the members at once.
    async fn answers(
        &self,
        members: &[ChosenSpecialist],
        ground: &CouncilGround,
        listener: &CouncilListener<'_>,
    ) -> Result<Vec<MemberEnd>, CouncilError> {
        let requests = members.iter().map(|chosen| AskRequest {
            seat: Some(TurnSeat {
                position: ThreadPosition {
                    thread: Some(ground.thread),
                    parent: ground.parent,
                    intent: QuestionDoor::Council.intent(),
                },
                specialist: Some(chosen.clone()),
                is_from_handoff: ground.declared.is_some(),
                declared: ground.declared.clone(),
                round: Some(CouncilRound::Answer),
            }),
            door: QuestionDoor::Council,
            model: None,
            ..self.request.clone()
        });
        let requests: Vec<AskRequest> = requests.collect();
        self.round(&requests, listener).await
    }

    /// Asks several questions at once; they end in the order in which they are given.
    async fn round(
        &self,
        requests: &[AskRequest],
        listener: &CouncilListener<'_>,
    ) -> Result<Vec<MemberEnd>, CouncilError> {
        let mut setups: Vec<Result<AskSetup<'_>, String>> = Vec::new();
        for request in requests {
            let setup = prepare(self.opened, request, listener.notice).await;
            // A model that can't be asked is one member's; what is wrong with the home is everybody's.
            setups.push(match setup {
                Ok(setup) => Ok(setup),
                Err(
                    error @ (OpenHomeError::Refused(_)
                    | OpenHomeError::Setting { .. }
                    | OpenHomeError::UnknownModel { .. }
                    | OpenHomeError::Wanting(_)),
                ) => Err(error.to_string()),
                Err(other) => return Err(other.into()),
            });
        }
        listener.control.thinking.send_replace(true);
        let asked = setups.into_iter().map(|setup| async {
            // Each thinks by itself: the spinner turns until the last of them is done.
            let control = TurnControl {
                cancelled: listener.control.cancelled.clone(),
                ..TurnControl::default()
            };
            match setup {
                Ok(setup) => setup
                    .ask(&control, listener.notice, listener.lost)
                    .await
                    .map(|asked| MemberEnd::Asked(Box::new(asked))),
                Err(why) => Ok(MemberEnd::Unasked(why)),
            }
        });
        let ends = join_all(asked).await;
        listener.control.thinking.send_replace(false);
        let is_given_up =
            |end: &Result<MemberEnd, AskError>| matches!(end, Err(AskError::Interrupted));
        let all_given_up = ends.iter().all(is_given_up);
        let ends = ends.into_iter().map(|end| match end {
            Err(AskError::Interrupted) if !all_given_up => Ok(MemberEnd::Unasked(
                "given up before its question was recorded".to_owned(),
            )),
            other => other.map_err(CouncilError::from),
        });
        ends.collect()
    }

    /// Has the answers reviewed by whoever answered, or by the one that only reviews.
    async fn reviews(
        &self,
        members: &[CouncilMember],
        ground: &CouncilGround,
        listener: &CouncilListener<'_>,
    ) -> Result<Vec<PeerReview>, CouncilError> {
        let answered = |at: &usize| members[*at].answered().is_some();
        let answers: Vec<usize> = (0..members.len()).filter(answered).collect();
        let answers = as_shown(&self.opened.store, members, answers)?;
        let reviews = |at: &usize| members[*at].end.is_none() || answered(at);
        let mut asked: Vec<(usize, Vec<usize>)> = Vec::new();
        for by in (0..members.len()).filter(reviews) {
            let of: Vec<usize> = answers.iter().copied().filter(|of| *of != by).collect();
            if !of.is_empty() {
                asked.push((by, of));
            }
        }
        if asked.is_empty() || listener.control.cancelled.is_cancelled() {
            return Ok(Vec::new());
        }
        let (mut reviews, mut requests, mut asking) = (Vec::new(), Vec::new(), Vec::new());
        for (by, of) in asked {
            let shown: Vec<&AskResult> =
                of.iter().filter_map(|of| members[*of].answered()).collect();
            let request = self.review_request(&members[by].chosen, &shown, ground.thread)?;
            match self.all_unshown(&request, &shown)? {
                Some(whys) => reviews.push(PeerReview::unasked(by, &of, &whys)),
                None => {
                    requests.push(request);
                    asking.push((by, of));
                }
            }
        }
        let ends = self.round(&requests, listener).await?;
        for ((by, of), end) in asking.into_iter().zip(ends) {
            let said = sayings(&self.opened.store, &end, &of, members)?;
            let answers = of.into_iter().zip(said);
            let answers = answers.map(|(of, saying)| ReviewedAnswer { of, saying });
            reviews.push(PeerReview {
                by,
                end,
                answers: answers.collect(),
            });
        }
        Ok(reviews)
    }

    /// Why a reviewer would be shown none of the answers that it is to be asked about, of each; none where
    /// it is shown one, as far as that can be told before its model is looked at.
    fn all_unshown(
        &self,
        request: &AskRequest,
        answers: &[&AskResult],
    ) -> Result<Option<Vec<String>>, OpenHomeError> {
        let opened = self.opened;
        let Some((seat, declared)) = request
            .seat
            .as_ref()
            .and_then(|seat| Some((seat, seat.declared.as_ref()?)))
        else {
            return Ok(None);
        };
        let Some(thread) = seat.position.thread else {
            return Ok(None);
        };
        let place = TurnPlace {
            thread,
            parent: seat.position.parent.of(&opened.store, thread)?,
            intent: seat.position.intent,
        };
        let rules = ReferRules {
            kernel: &opened.kernel,
            config: &opened.context,
            room: None,
        };
        let referred = refer(&opened.store, rules, place, declared)?;
        let whys = answers
            .iter()
            .map(|answer| why_unshown(&referred.context, answer));
        Ok(whys.collect())
    }

    /// The question that a review is.
    fn review_request(
        &self,
        by: &ChosenSpecialist,
        of: &[&AskResult],
        thread: Uuid,
    ) -> Result<AskRequest, OpenHomeError> {
        let exchanges: Vec<Uuid> = of.iter().map(|asked| asked.exchange()).collect();
        let references = references(&self.opened.store, &exchanges)?;
        let shape = Shape::schema(&review_shape(&references).to_string());
        let shape = shape.map_err(|e| refused(format!("the shape of a review: {e}")))?;
        let parent = exchanges.first().copied();
        // The question stands there once, with the first answer.
        let others = answer_ids(&self.opened.store, exchanges.get(1..).unwrap_or_default())?;
        let shown = parent.map(Reference::Exchange).into_iter();
        let shown = shown.chain(others.into_iter().map(Reference::Id)).collect();
        Ok(AskRequest {
            text: review_text(&references),
            call: CallOptions {
                shape: Some(shape),
                ..CallOptions::default()
            },
            sight: SightWish::Nothing,
            door: QuestionDoor::Review,
            seat: Some(TurnSeat {
                position: ThreadPosition {
                    thread: Some(thread),
                    parent: parent.map_or(ParentTurn::Nothing, ParentTurn::Turn),
                    intent: QuestionDoor::Review.intent(),
                },
                specialist: Some(by.clone()),
                declared: Some(DeclaredContext {
                    refs: shown,
                    none: false,
                    deep: false,
                }),
                is_from_handoff: false,
                round: Some(CouncilRound::PeerReview),
            }),
            ..AskRequest::default()
        })
    }

    /// Puts on record what was decided, and what reviews would have put right.
    async fn decide(&self, result: &mut CouncilResult) -> Result<(), CouncilError> {
        let Some(choice) = result.choice else {
            return Ok(());
        };
        let exchanges: Vec<Uuid> = result
            .members
            .iter()
            .filter_map(CouncilMember::on_record)
            .map(AskResult::exchange)
            .collect();
        let voting = result.reviews.iter().filter(|review| {
            let mut said = review.answers.iter();
            said.any(|answer| answer.saying.is_ok())
        });
        let voting = voting.filter_map(|review| review.end.asked());
        let answers = result.members.iter().filter_map(CouncilMember::answered);
        let answers: Vec<Uuid> = answers.chain(voting).map(AskResult::exchange).collect();
        let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
            for exchange in &exchanges {
                if store.council_answer(*exchange)?.is_some() {
                    return Ok(Some(format!("{exchange} is of another council already")));
                }
            }
            for exchange in &answers {
                if is_erased(store, *exchange)? {
                    return Ok(Some(format!("{exchange} was erased meanwhile")));
                }
            }
            Ok(None)
        };
        let new = NewArtifact {
            kind: COUNCIL,
            id: ArtifactId::Next { prefix: COUNCIL },
            content: content(self.key, result, choice),
            session: None,
            salt: fresh_salt()?,
            now: open::clock()?,
        };
        let recorded = self.opened.recorder.artifact(new, allowed).await;
        result.id = Some(recorded.map_err(OpenHomeError::from)?.document.id);
        self.propose(result).await
    }

    /// Proposes what reviews say is right in the place of an answer: the same text once, about the first
    /// answer of which it is said.
    async fn propose(&self, result: &mut CouncilResult) -> Result<(), CouncilError> {
        let mut from: Vec<Vec<usize>> = Vec::new();
        let mut made: Vec<CorrectionInput> = Vec::new();
        let reviews = result.reviews.iter();
        let said = reviews.flat_map(|one| one.answers.iter().map(|said| (one.by, said)));
        for (by, said) in said {
            let Ok(saying) = &said.saying else { continue };
            let (Some(text), Some(about)) =
                (&saying.correction, result.members[said.of].answered())
            else {
                continue;
            };
            match made.iter().position(|known| known.claim == text.trim()) {
                Some(at) if from[at].contains(&by) => {}
                Some(at) => from[at].push(by),
                None => {
                    from.push(vec![by]);
                    made.push(CorrectionInput {
                        about: Some(about.exchange().to_string()),
                        domain: result.members[said.of].chosen.domain().parse().ok(),
                        ..CorrectionInput::of(text.trim())
                    });
                }
            }
        }
        let ends = propose(self.opened, self.key, &made, ARBITER).await?;
        let proposals = from.into_iter().zip(made).zip(ends);
        let proposals = proposals.map(|((by, made), end)| ReviewProposal {
            by,
            text: made.claim,
            end,
        });
        result.proposals = proposals.collect();
        Ok(())
    }
}

impl CouncilMember {
    fn of(chosen: &ChosenSpecialist, end: Option<MemberEnd>) -> CouncilMember {
        CouncilMember {
            chosen: chosen.clone(),
            end,
            votes: VoteCount::default(),
        }
    }

    /// Its turn of the first round, whatever became of it.
    pub fn on_record(&self) -> Option<&AskResult> {
        self.end.as_ref()?.asked()
    }
}

/// Members whose answers are reviewed, in the order in which a reviewer is shown the answers: that in
/// which those are on record.
fn as_shown(
    store: &ReadStore,
    members: &[CouncilMember],
    answers: Vec<usize>,
) -> Result<Vec<usize>, OpenHomeError> {
    let placed = answers.into_iter().map(|at| {
        let asked = members[at].answered();
        let events = asked.map(|asked| store.events_of(asked.exchange()));
        let events = events.transpose()?.unwrap_or_default();
        let answer = events
            .iter()
            .find(|event| event.kind == EventKind::Execution);
        Ok((answer.map(|event| event.index), at))
    });
    let mut placed = placed.collect::<Result<Vec<_>, OpenHomeError>>()?;
    placed.sort_unstable();
    Ok(placed.into_iter().map(|(_, at)| at).collect())
}

/// Leaves out of the choice what somebody erased while others answered or reviewed: answers, with what
/// reviews say of them, and what erased reviews say.
fn leave_out_erased(
    store: &ReadStore,
    members: &mut [CouncilMember],
    reviews: &mut [PeerReview],
) -> Result<(), OpenHomeError> {
    for member in members.iter_mut() {
        let Some(answered) = member.answered().map(AskResult::exchange) else {
            continue;
        };
        if is_erased(store, answered)? {
            member.end = match member.end.take() {
                Some(MemberEnd::Asked(asked)) => Some(MemberEnd::Erased(asked)),
                other => other,
            };
        }
    }
    for review in reviews.iter_mut() {
        let erased = match &review.end {
            MemberEnd::Asked(asked) => is_erased(store, asked.exchange())?,
            MemberEnd::Unasked(_) | MemberEnd::Erased(_) => false,
        };
        for said in review.answers.iter_mut().filter(|_| erased) {
            said.saying = Err("no vote: the review was erased meanwhile".to_owned());
        }
    }
    for said in reviews.iter_mut().flat_map(|review| &mut review.answers) {
        if matches!(members[said.of].end, Some(MemberEnd::Erased(_))) {
            said.saying = Err("no vote: the answer was erased meanwhile".to_owned());
        }
    }
    Ok(())
}

fn is_erased(store: &ReadStore, exchange: Uuid) -> Result<bool, StoreError> {
    Ok(store.exchange(exchange)?.is_some_and(|row| row.is_erased()))
}

/// The ids of the answers of exchanges.
fn answer_ids(store: &ReadStore, exchanges: &[Uuid]) -> Result<Vec<String>, StoreError> {
    let answer_id = |exchange: &Uuid| -> Result<String, StoreError> {
        let row = store.exchange(*exchange)?;
        let answer = row.and_then(|row| row.outcome?.turn_aurora);
        Ok(answer.unwrap_or(*exchange).to_string())
    };
    exchanges.iter().map(answer_id).collect()
}

/// The first digits of the references by which a reviewer is shown answers.
pub fn references(store: &ReadStore, answers: &[Uuid]) -> Result<Vec<String>, StoreError> {
    const DIGITS: usize = 8;
    let ids = answer_ids(store, answers)?.into_iter();
    Ok(ids.map(|id| id.chars().take(DIGITS).collect()).collect())
}

/// What a reviewer is asked, behind the answers that it is shown by these references.
fn review_text(of: &[String]) -> String {
    let named = (0..).zip(of);
    let named = named.map(|(at, id)| format!("{} is the reference {id}", answer_name(at)));
    let named: Vec<String> = named.collect();
    let (what, which) = match of.len() {
        0 | 1 => (
            "Is the answer above right? It is what another model said to the question above, each line behind a bar.",
            String::new(),
        ),
        _ => (
            "Are the answers above right? Each is what another model said to the question above, each line behind a bar.",
            format!(" {}.", named.join(", ")),
        ),
    };
    format!(
        "{what}{which} Give for each the verdict \"agree\" or \"disagree\", and why in a sentence or two. Where \
         something in it is wrong, give as \"correction\" one sentence that says what is right."
    )
}

/// What a review says of each of some answers, or why that is no vote.
fn sayings(
    store: &ReadStore,
    end: &MemberEnd,
    of: &[usize],
    members: &[CouncilMember],
) -> Result<Vec<Result<ReviewSaying, String>>, OpenHomeError> {
    let all = |why: String| Ok(of.iter().map(|_| Err(why.clone())).collect());
    let asked = match (end.asked(), end.why_unanswered()) {
        (Some(asked), None) => asked,
        (_, why) => return all(why.unwrap_or_default()),
    };
    let text = asked.answer().unwrap_or_default();
    let answers = of.iter().filter_map(|of| members[*of].answered());
    let answers: Vec<Uuid> = answers.map(AskResult::exchange).collect();
    let said = match read_review(text, &references(store, &answers)?) {
        Ok(said) => said,
        Err(why) => return all(format!("no vote: {why}")),
    };
    let each = said.into_iter().zip(of).map(|(said, of)| {
        let answer = members[*of].answered();
        match answer.and_then(|answer| why_unshown(&asked.turn.referred, answer)) {
            Some(why) => Err(no_vote(&why)),
            None => said.ok_or_else(|| "no vote: it says nothing of it, or two things".to_owned()),
        }
    });
    Ok(each.collect())
}

/// What is said of an answer that a reviewer is not shown.
fn no_vote(why: &str) -> String {
    format!("no vote: the answer was kept from it: {why}")
}

/// Why a reviewer is not shown an answer, as the rule has it that kept it out; none where it is shown.
fn why_unshown(context: &TurnContext, answer: &AskResult) -> Option<String> {
    let exchange = answer.exchange().to_string();
    let resolved = context.resolved().ok();
    let is_it = |event: &ThreadEvent| {
        event.kind() == EventKind::Execution && event.place().turn_id == exchange
    };
    let mut shown = resolved.into_iter().flat_map(ResolvedContext::shown);
    if shown.any(|(_, event)| is_it(event)) {
        return None;
    }
    let mut refs = resolved.into_iter().flat_map(|found| &found.refs);
    let named = refs.find(|(_, event)| is_it(event));
    let mut made = context.transformations().iter();
    let rule = made.find(|made| {
        made.effect == RuleEffect::LeftOut
            && named.is_some_and(|(reference, _)| reference.ref_id == made.ref_id)
    });
    // What was declared and is not among the references was changed since it was recorded.
    let code = rule.map_or(CHANGED, |made| made.rule.as_str());
    Some(match kept_out(code) {
        Some(words) => format!("{words} ({code})"),
        None => code.to_owned(),
    })
}

/// Which of the members' answers is chosen, and by what.
fn chosen(members: &[CouncilMember]) -> Option<(CouncilChoice, DecidedBy)> {
    let answered = |at: &usize| members[*at].answered().is_some();
    let places: Vec<usize> = (0..members.len()).filter(answered).collect();
    let bids = places.iter().map(|at| CouncilBid {
        specialist: members[*at].chosen.id,
        welfare: members[*at].welfare(),
        votes: members[*at].votes,
    });
    let bids: Vec<CouncilBid> = bids.collect();
    let choice = choose(&bids)?;
    let by = DecidedBy::of(&bids, choice.winner)?;
    let winner = places[choice.winner];
    Some((CouncilChoice { winner, ..choice }, by))
}

/// What all turns cost, by currency, in the order in which those come.
fn costs(members: &[CouncilMember], reviews: &[PeerReview]) -> Vec<Cost> {
    let answers = members.iter().filter_map(CouncilMember::on_record);
    let turns = answers.chain(reviews.iter().filter_map(|review| review.end.asked()));
    let mut all: Vec<Cost> = Vec::new();
    for turn in turns {
        let TurnEnd::Answered(answer) = &turn.turn.turn else {
            continue;
        };
        let Some(cost) = &answer.cost else { continue };
        match all.iter_mut().find(|known| known.currency == cost.currency) {
            Some(known) => known.micro = known.micro.saturating_add(cost.micro),
            None => all.push(cost.clone()),
        }
    }
    all
}

/// What is committed to.
fn content(
    key: Hash32,
    result: &CouncilResult,
    choice: CouncilChoice,
) -> Vec<(&'static str, ArtifactField)> {
    let word = |text: &str| ArtifactField::Word(text.to_owned());
    let list = |values: Vec<Value>| ArtifactField::Document(Value::Array(values));
    let (mut answers, mut unanswered) = (Vec::new(), Vec::new());
    for (at, member) in result.members.iter().enumerate() {
        let Some(asked) = member.on_record() else {
            continue;
        };
        let id = member.chosen.id.to_string();
        let (utility, welfare) = (member.utility(), member.welfare());
        match member.end.as_ref().and_then(MemberEnd::without_answer) {
            None => answers.push(json!({
                "confidence": member.votes.confidence(),
                "exchange": asked.exchange(),
                "payment": if at == choice.winner { choice.payment } else { 0 },
                "specialist": id,
                "utility": utility,
                "welfare": welfare,
            })),
            Some(place) => unanswered.push(json!({
                "exchange": asked.exchange(),
                "outcome": place.name(),
                "specialist": id,
                "utility": utility,
                "welfare": welfare,
            })),
        }
    }
    let reviews = result.reviews.iter().flat_map(|review| {
        let by = review.end.asked().map(AskResult::exchange);
        review.answers.iter().filter_map(move |said| {
            let of = result.members[said.of].answered()?.exchange();
            let verdict = said
                .saying
                .as_ref()
                .ok()
                .map(|saying| saying.verdict.name());
            Some(json!({"by": by?, "of": of, "verdict": verdict}))
        })
    });
    let winner = &result.members[choice.winner];
    let shares = winner.chosen.shares.iter();
    let shares = shares.map(|one| json!({"domain": one.domain, "share": one.share}));
    let exchange = winner.answered().map(|asked| asked.exchange().to_string());
    vec![
        ("accuracy", word(result.level.name())),
        ("answers", list(answers)),
        (
            "basis",
            word(match winner.chosen.is_prior() {
                true => "prior",
                false => "ratings",
            }),
        ),
        ("by", ArtifactField::Hash(key)),
        ("domains", list(shares.collect())),
        ("method", word(winner.chosen.method)),
        ("reviews", list(reviews.collect())),
        ("unanswered", list(unanswered)),
        ("winner", word(&exchange.unwrap_or_default())),
    ]
}

/// Why a council has no result.
#[derive(Debug, thiserror::Error)]
pub enum CouncilError {
    /// Something of the home, or of the request.
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    /// A turn could not be recorded, or whoever asked gave up before any was.
    #[error(transparent)]
    Ask(#[from] AskError),
}
