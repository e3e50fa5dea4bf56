//! Conversations as people use them: the threads of a home, with the titles and projects that
//! somebody gave them, and what was said in each.
//!
//! | file | what is in it |
//! |---|---|
//! | `title` | what a conversation is called |
//! | `list` | the page of a list |
//! | `messages` | a page of what was said in one |
//! | `change` | beginning one, a title, a project, the archive: one artifact each |
//! | `delete` | erasing all exchanges of one |
//! | `standing` | which conversation a question goes on with, and what is said of that |

mod change;
mod delete;
mod list;
mod messages;
mod placement;
mod title;

pub use crate::app::find::conversation::conversation;
pub use change::{
    MovedConversation, TitledConversation, archive, begin, check_begin, move_to, rename, restore,
};
pub use delete::{ConversationDeletion, DeletionResult, delete, plan as plan_deletion};
pub use list::{ConversationList, ListRequest, ListedConversation, list, listed};
pub use messages::{
    AnswerEvidence, ConversationPage, Message, MissingText, PageRequest, export, messages,
};
pub use placement::{
    ConversationScope, QuestionPlace, begins_anew, going_on, is_archived, join_project, named,
};
pub use title::{ConversationTitle, GivenText, TitleSource, said_in, title_of};
