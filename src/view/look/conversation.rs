//! Conversations, and what was said in one.

use std::path::Path;

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::conversation::{
    ConversationDeletion, ConversationList, ConversationPage, DeletionResult, ListedConversation,
    Message, MissingText, MovedConversation, TitledConversation,
};
use crate::app::words::counted;
use crate::record::hash::Hash32;
use crate::record::unseen::spelled_on_a_line;

use crate::view::keep::erasure::{ErasureReachView, ErasureView};
use crate::view::keep::plan::PlanView;
use crate::view::look::outcome::outcome_word;
use crate::view::remember::project::ProjectView;

/// A conversation in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedConversationView {
    /// Its id, which is its thread's.
    pub conversation: Uuid,
    /// The first digits of it, as commands take them.
    pub id: String,
    /// What it is called; null where that is not here.
    pub title: Option<String>,
    /// Where the title is from: `title`, `name`, `question`; or why there is none: `erased`, `not
    /// kept`, `nothing asked`.
    pub title_from: &'static str,
    /// Its project; null without one.
    pub project: Option<ProjectView>,
    /// Questions in it.
    pub questions: u64,
    /// When it was asked in last; when it was begun, before that.
    pub last_at: Option<String>,
    /// The models that answered in it, the one that answered last first; where none did, those that
    /// were asked.
    pub models: Vec<String>,
    /// `open` or `archived`.
    pub state: &'static str,
    /// Whether it was put away, and nothing of it is left: no text, and no title.
    pub deleted: bool,
}

impl ListedConversationView {
    /// Of a conversation.
    pub fn of(listed: &ListedConversation) -> Self {
        ListedConversationView {
            conversation: listed.row.thread,
            id: listed.short.clone(),
            title: listed.title.text.clone(),
            title_from: listed.title.source.name(),
            project: listed.project.as_ref().map(ProjectView::of),
            questions: listed.row.turns,
            last_at: listed.last_at.map(|at| at.to_string()),
            models: listed.models.clone(),
            state: listed.row.state.name(),
            deleted: listed.is_deleted,
        }
    }
}

/// A conversation that was put into a project, or into none.
#[derive(Clone, Debug, Serialize)]
pub struct MovedConversationView {
    /// The conversation as it is now.
    #[serde(flatten)]
    pub conversation: ListedConversationView,
    /// Whether it was elsewhere before: else nothing was recorded.
    pub moved: bool,
}

impl MovedConversationView {
    /// Of a conversation that was moved.
    pub fn of(moved: &MovedConversation) -> Self {
        MovedConversationView {
            conversation: ListedConversationView::of(&moved.of),
            moved: moved.is_moved,
        }
    }
}

/// A conversation that was given a title.
#[derive(Clone, Debug, Serialize)]
pub struct TitledConversationView {
    /// The conversation as it is now.
    #[serde(flatten)]
    pub conversation: ListedConversationView,
    /// Kinds of secrets that were removed from the title.
    pub removed: Vec<String>,
    /// Other conversations that have the same title.
    pub same_title: Vec<String>,
}

impl TitledConversationView {
    /// Of a conversation that was given a title.
    pub fn of(titled: &TitledConversation) -> Self {
        TitledConversationView {
            conversation: ListedConversationView::of(&titled.of),
            removed: titled.removed.clone(),
            same_title: titled.same_title.clone(),
        }
    }
}

/// A page of the list.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationListView {
    /// Last asked first.
    pub conversations: Vec<ListedConversationView>,
    /// What `--before` takes for the next page; null when this is the last one.
    pub next: Option<String>,
    /// The project whose conversations are listed; null for all.
    pub project: Option<ProjectView>,
    /// How many imported conversations there are beside them, on the first page; 0 on others.
    pub imported: u64,
}

impl ConversationListView {
    /// Of a page, with how many imported conversations there are beside it.
    pub fn of(list: &ConversationList, imported: u64) -> Self {
        let all = list.conversations.iter();
        ConversationListView {
            conversations: all.map(ListedConversationView::of).collect(),
            next: list.next.map(|cursor| cursor.to_string()),
            project: list.project.as_ref().map(ProjectView::of),
            imported,
        }
    }
}

/// What binds an answer to the record.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerEvidenceView {
    /// Subject of the commit, such as `interaction-3`.
    pub interaction: String,
    /// Its session's id.
    pub session: Hash32,
    /// Its entry in the session's chain.
    pub chain_entry: Option<Hash32>,
    /// The ledger's commit.
    pub commit: Option<String>,
    /// The height of the block under which it was recorded; null for the local one.
    pub block: Option<u32>,
    /// That block's hash; null where it is not kept.
    pub block_hash: Option<Hash32>,
}

/// A question or an answer.
#[derive(Clone, Debug, Serialize)]
pub struct MessageView {
    /// Its id: the turn's.
    pub message: Uuid,
    /// Id of the exchange that the message is part of.
    pub exchange: Uuid,
    /// How screens call that: `8923fa34/3`.
    pub id: String,
    /// `user` or `assistant`.
    pub role: &'static str,
    /// When it was recorded.
    pub created_at: String,
    /// Its place, as `--before` and `--after` take it.
    pub cursor: String,
    /// What it says; null where that is not shown.
    pub text: Option<String>,
    /// Why not: `erased`, `not kept`, `withheld`, `changed since it was recorded`.
    pub missing: Option<&'static str>,
    /// Whether it is an answer that the kernel blocks.
    pub withheld: bool,
    /// The model that was asked.
    pub model: String,
    /// `answered`, `failed`, `denied`, or `in flight`.
    pub outcome: &'static str,
    /// Why there is no answer, by its code.
    pub reason: Option<String>,
    /// What binds it to the record; null for a question.
    pub evidence: Option<AnswerEvidenceView>,
}

impl MessageView {
    /// Of a message.
    pub fn of(message: &Message) -> Self {
        let evidence = message.evidence.as_ref();
        MessageView {
            message: message.turn,
            exchange: message.exchange,
            id: message.id.clone(),
            role: match message.by_user {
                true => "user",
                false => "assistant",
            },
            created_at: message.at.to_string(),
            cursor: message.cursor.to_string(),
            text: message.text.clone(),
            missing: message.missing.map(MissingText::name),
            withheld: message.missing == Some(MissingText::Withheld),
            model: message.model.clone(),
            outcome: outcome_word(message.outcome),
            reason: message.reason.clone(),
            evidence: evidence.map(|evidence| AnswerEvidenceView {
                interaction: evidence.interaction.clone(),
                session: evidence.session,
                chain_entry: evidence.chain_entry,
                commit: evidence.commit.clone(),
                block: evidence.block,
                block_hash: evidence.block_hash,
            }),
        }
    }
}

/// A page of what was said in a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationPageView {
    /// The conversation that the messages are of.
    #[serde(flatten)]
    pub conversation: ListedConversationView,
    /// Its messages, oldest first.
    pub messages: Vec<MessageView>,
    /// What `--before` takes for the page before; null when this is the first.
    pub earlier: Option<String>,
    /// What `--after` takes for the page behind; null when there is none yet.
    pub later: Option<String>,
}

impl ConversationPageView {
    /// Of a page.
    pub fn of(page: &ConversationPage) -> Self {
        ConversationPageView {
            conversation: ListedConversationView::of(&page.conversation),
            messages: page.messages.iter().map(MessageView::of).collect(),
            earlier: page.earlier.map(|cursor| cursor.to_string()),
            later: page.later.map(|cursor| cursor.to_string()),
        }
    }
}

/// A conversation that was written to a file.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedConversationView {
    /// The conversation that was exported.
    #[serde(flatten)]
    pub conversation: ListedConversationView,
    /// Path of the file that was written.
    pub file: String,
    /// `md` or `json`.
    pub format: &'static str,
    /// How many questions and answers stand in it.
    pub messages: usize,
}

impl ExportedConversationView {
    /// Of what was written where.
    pub fn of(page: &ConversationPage, file: &Path, format: &'static str) -> Self {
        ExportedConversationView {
            conversation: ListedConversationView::of(&page.conversation),
            file: file.display().to_string(),
            format,
            messages: page.messages.len(),
        }
    }
}

/// What deleting a conversation would do.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationDeletionView {
    /// The conversation that would be deleted.
    pub conversation: ListedConversationView,
    /// What of it would be erased.
    pub erasure: ErasureReachView,
    /// Exchanges that wait for their answer, and would stay.
    pub waiting: Vec<String>,
    /// Exchanges that nobody waits for any more, and would stay until their session is closed.
    pub given_up: Vec<String>,
}

impl ConversationDeletionView {
    /// Of what is planned.
    pub fn plan(planned: &ConversationDeletion) -> PlanView<ConversationDeletionView> {
        let erasure = ErasureReachView::plan(&planned.erasure);
        let listed = &planned.conversation;
        let mut would = vec![format!(
            "deletes conversation {} \"{}\": {}, and puts it into the archive",
            listed.short,
            spelled_on_a_line(&listed.title.shown()),
            questions_of(planned)
        )];
        // That nothing is left of its texts was said.
        if !planned.erasure.is_empty() {
            would.extend(erasure.would);
        }
        if planned.has_name {
            would.push("destroys its title, too, and what else was said of it".to_owned());
        }
        would.extend(still_waiting(&planned.waiting));
        would.extend(given_up(&planned.given_up));
        let details = ConversationDeletionView {
            conversation: ListedConversationView::of(listed),
            erasure: erasure.details,
            waiting: planned.waiting.clone(),
            given_up: planned.given_up.clone(),
        };
        let asks = !planned.erasure.is_empty() || planned.has_name;
        PlanView::new(asks, would, details)
    }
}

/// How many questions it has, and of how many the texts are not here any more.
fn questions_of(planned: &ConversationDeletion) -> String {
    let turns = planned.conversation.row.turns;
    if turns == 0 {
        return "nothing was asked in it".to_owned();
    }
    let gone = [
        (planned.erased_before, "erased before"),
        (planned.not_kept, "never kept"),
    ];
    let gone = gone.into_iter().filter(|(count, _)| *count > 0);
    let gone = gone.map(|(count, how)| format!(", {count} of them {how}"));
    format!("{}{}", counted(turns, "question"), gone.collect::<String>())
}

/// Which exchanges stay, as nobody knows yet what their answer is.
pub fn still_waiting(waiting: &[String]) -> Option<String> {
    let first = waiting.first()?;
    let wait = match waiting.len() {
        1 => "waits for its answer, and stays",
        _ => "wait for their answers, and stay",
    };
    Some(format!(
        "{} {wait}; once it is there: gently erase {first}",
        waiting.join(", ")
    ))
}

/// Which exchanges stay because their process ended, until a close of their session gives them up.
pub fn given_up(exchanges: &[String]) -> Option<String> {
    let first = exchanges.first()?;
    let (is, it) = match exchanges.len() {
        1 => (
            "has no answer, and stays: the gently that asked it was ended",
            "it",
        ),
        _ => (
            "have no answers, and stay: the gently that asked them was ended",
            "them",
        ),
    };
    Some(format!(
        "{} {is}; to erase {it}: gently session close, then gently erase {first}",
        exchanges.join(", ")
    ))
}

/// A conversation that was deleted.
#[derive(Clone, Debug, Serialize)]
pub struct DeletedConversationView {
    /// The conversation as it is now.
    pub conversation: ListedConversationView,
    /// What was erased.
    #[serde(flatten)]
    pub erasure: ErasureView,
    /// Exchanges that wait for their answer, and stayed.
    pub waiting: Vec<String>,
    /// Exchanges that nobody waits for any more, and stayed.
    pub given_up: Vec<String>,
}

impl DeletedConversationView {
    /// Of what was done.
    pub fn of(result: &DeletionResult) -> Self {
        DeletedConversationView {
            conversation: ListedConversationView::of(&result.conversation),
            erasure: ErasureView::of(&result.erased),
            waiting: result.waiting.clone(),
            given_up: result.given_up.clone(),
        }
    }
}
