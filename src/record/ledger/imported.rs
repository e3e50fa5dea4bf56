//! Conversations that were held elsewhere and came as a file: what their documents say.
//!
//! ```text
//! kind import,                 id import:000001      what was read from a file, and what became of it
//! kind imported_conversation,  id imported:000001    one conversation, with its messages, as it was received
//! kind imported_audit,         id audit:000001       rows of another program's audit log, as they were received
//! ```
//! None of them is evidence of what was said: they are evidence of what was received, and when.

/// The kind of the artifact that says what became of a file.
pub const IMPORT: &str = "import";
/// The kind of the artifact that holds one conversation.
pub const IMPORTED_CONVERSATION: &str = "imported_conversation";
/// The kind of the artifact that holds another program's audit log.
pub const IMPORTED_AUDIT: &str = "imported_audit";

/// Whose file a conversation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportFormat {
    /// ChatGPT's export.
    ChatGpt,
    /// Claude's export.
    Claude,
    /// The database of the program `llm`.
    Llm,
    /// The state store of the adaptive utility agent, 1.x.
    Aua,
    /// A message a line.
    JsonLines,
}

impl ImportFormat {
    /// All of them, in the order in which help lists them.
    pub const ALL: [ImportFormat; 5] = [
        ImportFormat::ChatGpt,
        ImportFormat::Claude,
        ImportFormat::Llm,
        ImportFormat::Aua,
        ImportFormat::JsonLines,
    ];

    /// The word in documents, in the database and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ImportFormat::ChatGpt => "chatgpt",
            ImportFormat::Claude => "claude",
            ImportFormat::Llm => "llm",
            ImportFormat::Aua => "aua",
            ImportFormat::JsonLines => "jsonl",
        }
    }
}

/// Who wrote an imported message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportedRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// What the model was told beforehand.
    System,
    /// What a tool gave.
    Tool,
}

impl ImportedRole {
    /// All of them.
    pub const ALL: [ImportedRole; 4] = [
        ImportedRole::User,
        ImportedRole::Assistant,
        ImportedRole::System,
        ImportedRole::Tool,
    ];

    /// The word in documents and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            ImportedRole::User => "user",
            ImportedRole::Assistant => "assistant",
            ImportedRole::System => "system",
            ImportedRole::Tool => "tool",
        }
    }
}
