//! A turn that was just asked: what `gently ask --json` prints.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::anchor::agree::BlockLack;
use crate::app::ask::AskResult;
use crate::app::ask::attachment::AttachmentNotice;
use crate::app::ask::removed::{RemovalSource, RemovedSecrets};
use crate::app::ask::warnings::DriftWarning;
use crate::app::redacted::clean;
use crate::ask::{TurnEnd, TurnResult};
use crate::continuity::refs::RefFault;
use crate::govern::drift::{DriftCheck, Judgement};
use crate::govern::sanitize::Clean;
use crate::record::bitcoin::block::Block;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::ArtifactRef;
use crate::record::ledger::documents::ValidatorFlags;
use crate::record::ledger::image::ImageType;
use crate::recorder::{RecordedAnswer, Refusal};
use crate::store::SessionRow;
use crate::view::set_up::specialist::ChosenSpecialistView;

use super::warning::{CarriedWarningView, WarningView};
use crate::view::look::action::ActionView;
use crate::view::look::exchange::UsageView;
use crate::view::remember::context::TurnContextView;
use crate::view::remember::handoff::DueHandoffView;
use crate::view::remember::item::ShownConflictView;

/// A turn on record.
#[derive(Clone, Debug, Serialize)]
pub struct TurnView {
    /// What screens call it, and every command takes: `8923fa34/3`.
    pub id: String,
    /// `answered`, `failed` or `denied`.
    pub outcome: &'static str,
    /// Id of the session.
    pub session: Hash32,
    /// The same as the database names it.
    pub session_uuid: Uuid,
    /// Whether the session was opened for it.
    pub session_opened: bool,
    /// Its number in the session.
    pub seq: u64,
    /// Id of the exchange.
    pub exchange: Uuid,
    /// Name of the model that was asked.
    pub model: String,
    /// The specialist that it went to, and why; left out where a model was asked by its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<ChosenSpecialistView>,
    /// How many tokens its window holds, prompt and answer together; null where nobody knows.
    pub model_window: Option<u64>,
    /// The branch of its commits.
    pub branch: String,
    /// The newest block.
    pub block: Block,
    /// Why there is none; null where there is one, or none was looked for in this turn.
    pub no_block: Option<NoBlockView>,
    /// Commitment to the prompt.
    pub prompt_hash: Hash32,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
    /// Id of the thread.
    pub thread_id: Uuid,
    /// The conversation, which is that thread as a person knows it; null where it can't be looked up.
    pub conversation: Option<QuestionPlaceView>,
    /// The turn's id in its thread, which is the exchange's.
    pub turn_id: Uuid,
    /// The turn that it replies to.
    pub parent_turn_id: Option<Uuid>,
    /// Kinds of secrets that were removed from the prompt.
    pub removed_from_prompt: Vec<String>,
    /// Where these secrets stood.
    pub removed: Vec<RemovedSecretView>,
    /// The files that stand behind the question.
    pub files: Vec<AttachmentView>,
    /// How it ended.
    #[serde(flatten)]
    pub ending: EndingView,
    /// What people were told on the way.
    pub notes: Vec<String>,
    /// Its receipt; null when none was taken.
    pub receipt: Value,
    /// About how many tokens the question has; a token is counted as four bytes. Null when no model
    /// was to be called.
    pub prompt_tokens_own: Option<u64>,
    /// About how many are sent beside it: kernel, owner's text, bundle, earlier turns.
    pub prompt_tokens_added: Option<u64>,
    /// What was declared as its context, and what was put before the model.
    pub context: TurnContextView,
    /// The tools whose values were sent to the model's server.
    pub sight_sent: Vec<SentToolView>,
    /// What somebody wanted to have done.
    pub actions: Vec<ActionView>,
    /// What a person is told of the answer.
    pub warnings: Vec<WarningView>,
    /// The open warnings of earlier answers that the model was told of for the first time here.
    pub carried_warnings: Vec<CarriedWarningView>,
    /// What disagrees among what the model was shown.
    pub conflicts: Vec<ShownConflictView>,
    /// Why the conversation is to be summed up; null where it is not.
    pub handoff_due: Option<DueHandoffView>,
}

/// Why there is no block.
#[derive(Clone, Debug, Serialize)]
pub struct NoBlockView {
    /// `offline`, `refused`, `none_given` or `not_agreed`.
    pub reason: &'static str,
    /// The same for people.
    pub says: &'static str,
    /// What each source did.
    pub why: String,
}

impl NoBlockView {
    fn of(lack: &BlockLack) -> Self {
        NoBlockView {
            reason: lack.reason,
            says: lack.says,
            why: clean(&lack.why),
        }
    }
}

/// The conversation that a question was asked in.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionPlaceView {
    /// The first digits of its id, as commands take them.
    pub id: String,
    /// What it is called; null where that is not here.
    pub title: Option<String>,
    /// Where the title is from: `title`, `name`, `question`; or why there is none: `erased`, `not
    /// kept`.
    pub title_from: &'static str,
    /// How many questions were asked in it before.
    pub earlier: u64,
}

/// A file that stands behind a question.
#[derive(Clone, Debug, Serialize)]
pub struct AttachmentView {
    /// Its own name; what nobody sees in it is spelled out.
    pub name: String,
    /// How many bytes it has; null where secrets were removed from its text.
    pub bytes: Option<u64>,
    /// SHA-256 of these bytes; null then, too.
    pub sha256: Option<Hash32>,
    /// Whether they were.
    pub secrets_removed: bool,
    /// Its media type where it is an image, which is sent beside the text.
    pub image: Option<&'static str>,
}

impl AttachmentView {
    /// Of all files of a question.
    pub fn of_all(files: &[AttachmentNotice]) -> Vec<AttachmentView> {
        let view = |file: &AttachmentNotice| AttachmentView {
            name: file.name.clone(),
            bytes: file.intact.map(|(bytes, _)| bytes),
            sha256: file.intact.map(|(_, sha256)| sha256),
            secrets_removed: file.intact.is_none(),
            image: file.image.map(ImageType::name),
        };
        files.iter().map(view).collect()
    }
}

/// A secret that was removed before anything else saw it.
#[derive(Clone, Debug, Serialize)]
pub struct RemovedSecretView {
    /// What it is, such as `github-pat`.
    pub kind: String,
    /// Where it stood: `question`, `file`, `messages` (a client's) or `system` (the owner's part of
    /// the system message).
    pub from: &'static str,
    /// Name of the file; null elsewhere.
    pub file: Option<String>,
    /// Its line in the file, from one; null elsewhere.
    pub line: Option<usize>,
}

impl RemovedSecretView {
    /// All of one place.
    fn of(removed: &RemovedSecrets) -> impl Iterator<Item = RemovedSecretView> + '_ {
        let file = match &removed.from {
            RemovalSource::File(name) => Some(name),
            _ => None,
        };
        let secrets = removed.secrets.iter();
        secrets.map(move |(line, kind)| RemovedSecretView {
            kind: kind.clone(),
            from: removed.from.name(),
            file: file.cloned(),
            line: *line,
        })
    }
}

/// A tool whose values were sent.
#[derive(Clone, Debug, Serialize)]
pub struct SentToolView {
    /// Name of the tool.
    pub tool: String,
    /// When it was looked at.
    pub observed_at: Option<String>,
    /// How many seconds before the prompt was compiled that was.
    pub freshness_s: Option<u64>,
}

impl SentToolView {
    fn of(one: &ArtifactRef) -> Self {
        SentToolView {
            tool: one.artifact_type.clone(),
            observed_at: one.observed_at.map(|at| at.to_string()),
            freshness_s: one.freshness_s,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum EndingView {
    /// With an answer.
    Answer(Box<AnswerView>),
    /// The question ended without an answer.
    NoAnswer(NoAnswerView),
}

/// The answer of a turn.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerView {
    /// As the model gave it; null when it is withheld.
    pub answer: Option<String>,
    /// Whether the kernel blocks its drift.
    pub withheld: bool,
    /// Subject of the commit, such as `interaction-3`.
    pub interaction: String,
    /// Commitment to the answer.
    pub response_hash: Hash32,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// Its entry in the session's chain.
    pub chain_entry: Hash32,
    /// HASH of the answer's line.
    pub response_line: Hash32,
    /// Id of the commit.
    pub commit: String,
    /// Tokens and price.
    pub usage: UsageView,
    /// Kinds of secrets that the stored answer lost.
    pub removed_from_answer: Vec<String>,
    /// Tools that it wants called, which nobody offered and nobody calls.
    pub tools_wanted: Vec<String>,
    /// What the validator said.
    pub drift: JudgementView,
    /// How it misses the shape that was declared for it; null when it has it, or none was declared.
    pub shape_missed: Option<String>,
    /// Where the answer is from, if it is a replay.
    pub replayed: Option<String>,
}

/// What the validator said of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct JudgementView {
    /// Which classes of drift it has.
    pub validator: ValidatorFlags,
    /// Whether it refuses.
    pub refusal: bool,
    /// The same in a line.
    pub notes: String,
    /// Each thing that was found.
    pub events: Vec<DriftEventView>,
    /// Each rule that was held against it.
    pub checks: Vec<DriftCheck>,
}

/// One thing that the validator found, and what follows from it.
#[derive(Clone, Debug, Serialize)]
pub struct DriftEventView {
    /// Name of the event, such as `driftwatch:0042`.
    pub id: String,
    /// Class of the drift, such as `evidence_drift`.
    pub class: &'static str,
    /// How bad it is.
    pub severity: String,
    /// What the kernel makes of it.
    pub effect: &'static str,
    /// What was found.
    pub summary: String,
    /// The same in words.
    pub sentence: String,
}

/// Why a turn has no answer.
#[derive(Clone, Debug, Serialize)]
pub struct NoAnswerView {
    /// The answer: always null.
    pub answer: (),
    /// The code on record.
    pub reason: String,
    /// The same in words.
    pub message: String,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// All codes of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<String>>,
    /// The declared reference that could not be resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceFaultView>,
}

/// Why a declared reference could not be resolved.
#[derive(Clone, Debug, Serialize)]
pub struct ReferenceFaultView {
    /// The code on record.
    pub code: &'static str,
    /// What was declared.
    pub id: Option<String>,
    /// The limit that it is past.
    pub limit: Option<String>,
    /// What the person can do about it.
    pub remedy: String,
}

impl ReferenceFaultView {
    fn of(fault: &RefFault) -> Self {
        ReferenceFaultView {
            code: fault.code(),
            id: fault.id().map(str::to_owned),
            limit: fault.limit(),
            remedy: fault.remedy(),
        }
    }
}

/// What a door adds to a turn.
pub struct TurnNotices {
    /// What people were told on the way.
    pub notes: Vec<String>,
    /// Its receipt, if one was taken.
    pub receipt: Value,
    /// The files that stand behind the question.
    pub files: Vec<AttachmentView>,
}

impl TurnView {
    /// Of what came of asking.
    pub fn of(asked: &AskResult, beside: TurnNotices) -> TurnView {
        let (turn, ids) = (&asked.turn, asked.ids());
        let session = session_of(turn);
        let withheld = asked.is_withheld();
        TurnView {
            id: asked.id.clone(),
            outcome: turn.turn.outcome().name(),
            session: ids.session,
            session_uuid: ids.session_uuid,
            session_opened: turn.resumed.opened,
            seq: ids.seq,
            exchange: ids.exchange,
            model: session.model.clone(),
            specialist: asked.specialist.as_ref().map(ChosenSpecialistView::of),
            model_window: asked.window,
            branch: session.branch.clone(),
            block: session.anchor.block.clone(),
            no_block: asked.lack().map(NoBlockView::of),
            prompt_hash: ids.prompt_hash,
            prompt_line: ids.prompt_line,
            thread_id: turn.referred.thread(),
            conversation: asked.place.as_ref().map(|place| QuestionPlaceView {
                id: place.short.clone(),
                title: place.title.text.clone(),
                title_from: place.title.source.name(),
                earlier: turn.earlier,
            }),
            turn_id: ids.exchange,
            parent_turn_id: turn.referred.parent(),
            removed_from_prompt: removed_kinds(turn).into_iter().map(str::to_owned).collect(),
            removed: asked
                .removed
                .iter()
                .flat_map(RemovedSecretView::of)
                .collect(),
            files: beside.files,
            ending: ending(asked),
            notes: beside.notes,
            receipt: beside.receipt,
            prompt_tokens_own: turn.tokens.map(|tokens| tokens.own),
            prompt_tokens_added: turn.tokens.map(|tokens| tokens.added),
            context: TurnContextView::of(asked),
            sight_sent: asked
                .sent_sight()
                .into_iter()
                .map(SentToolView::of)
                .collect(),
            actions: turn
                .actions
                .iter()
                .map(|action| ActionView::of(action, withheld))
                .collect(),
            warnings: asked.warnings.iter().map(WarningView::of).collect(),
            carried_warnings: asked.carried.iter().map(CarriedWarningView::of).collect(),
            conflicts: asked.conflicts.iter().map(ShownConflictView::of).collect(),
            handoff_due: asked.due.as_ref().map(DueHandoffView::of),
        }
    }
}

/// Kinds of secrets that were removed from a prompt, in the order in which they stood.
fn removed_kinds(turn: &TurnResult) -> Vec<&str> {
    let mut kinds: Vec<&str> = turn
        .removed
        .iter()
        .map(|finding| finding.kind.as_str())
        .collect();
    kinds.dedup();
    kinds
}

/// The sentence on tools that an answer wants called; none when it wants none.
pub fn tools_wanted(answer: &RecordedAnswer) -> Option<String> {
    let names: Vec<&str> = answer.tools.iter().map(Clean::as_str).collect();
    let tools = match names.len() {
        0 => return None,
        1 => "a tool that nobody offered",
        _ => "tools that nobody offered",
    };
    let names = names.join(", ");
    Some(format!(
        "The answer asks for {tools} ({names}). gently calls none."
    ))
}

/// Kinds of secrets that a stored answer lost, each once.
pub fn answer_kinds(answer: &RecordedAnswer) -> Vec<&str> {
    let mut kinds: Vec<&str> = answer.redacted.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn session_of(turn: &TurnResult) -> &SessionRow {
    match &turn.turn {
        TurnEnd::Answered(answer) => &answer.session,
        TurnEnd::Refused(refusal, _) => &refusal.session,
        TurnEnd::Failed(failure, _) | TurnEnd::Interrupted(failure) => &failure.session,
    }
}

fn ending(asked: &AskResult) -> EndingView {
    let (reason, exchange_hash, reasons) = match &asked.turn.turn {
        TurnEnd::Answered(answer) => {
            return EndingView::Answer(Box::new(AnswerView::of(asked, answer)));
        }
        TurnEnd::Refused(refusal, _) => match &refusal.refusal {
            Refusal::Denied { reason, codes } => {
                (reason, refusal.exchange_hash, Some(codes.clone()))
            }
            Refusal::CompileFailed { reason, .. } => (reason, refusal.exchange_hash, None),
        },
        TurnEnd::Failed(failure, _) | TurnEnd::Interrupted(failure) => {
            (&failure.reason, failure.exchange_hash, None)
        }
    };
    let reference = asked.turn.referred.resolved().err();
    EndingView::NoAnswer(NoAnswerView {
        answer: (),
        reason: reason.clone(),
        message: asked.why_unanswered().unwrap_or_default(),
        exchange_hash,
        reasons,
        reference: reference.map(ReferenceFaultView::of),
    })
}

impl AnswerView {
    fn of(asked: &AskResult, answer: &RecordedAnswer) -> AnswerView {
        AnswerView {
            answer: asked.answer().map(str::to_owned),
            withheld: asked.is_withheld(),
            interaction: format!("interaction-{}", answer.ids.seq),
            response_hash: answer.response_hash,
            exchange_hash: answer.exchange_hash,
            chain_entry: answer.chain_entry,
            response_line: answer.response_line,
            commit: answer.commit.clone(),
            usage: UsageView {
                prompt_tokens: answer.usage.prompt_tokens,
                completion_tokens: answer.usage.completion_tokens,
                cost: answer.cost.clone(),
            },
            tools_wanted: answer
                .tools
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect(),
            removed_from_answer: answer_kinds(answer)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            drift: JudgementView::of(&answer.judgement, &answer.drift_ids),
            shape_missed: asked.shape_missed(),
            replayed: asked.replayed.clone(),
        }
    }
}

impl JudgementView {
    fn of(judgement: &Judgement, ids: &[String]) -> JudgementView {
        let event = |(event, id): (&crate::govern::drift::DriftEvent, &String)| DriftEventView {
            id: id.clone(),
            class: event.class.name(),
            severity: event.severity.clone(),
            effect: event.effect.name(),
            summary: event.summary.clone(),
            sentence: DriftWarning::without_excerpt(event.class.name(), &event.summary).sentence,
        };
        JudgementView {
            validator: judgement.flags(),
            refusal: judgement.refusal(),
            notes: judgement.notes(),
            events: judgement.events().iter().zip(ids).map(event).collect(),
            checks: judgement.checks().to_vec(),
        }
    }
}
