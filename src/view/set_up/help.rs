//! Help on a command or a topic, and what is made of it: completions and manual pages.

use serde::Serialize;

/// Help on one command or topic.
#[derive(Clone, Debug, Serialize)]
pub struct HelpView {
    /// `command`, `topic`, or `topics` for a list of these.
    pub kind: &'static str,
    /// What stands behind `gently help`; empty for all of it.
    pub words: String,
    /// What a person reads.
    pub text: String,
    /// What is typed, and what it does.
    pub examples: Vec<ExampleView>,
    /// The commands below this one, each with all its words.
    pub commands: Vec<String>,
    /// The topics beside the commands.
    pub topics: Vec<&'static str>,
}

/// One example of a command.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ExampleView {
    /// What is typed.
    pub command: &'static str,
    /// What it does.
    pub does: &'static str,
}

/// A shell's script that completes commands.
#[derive(Clone, Debug, Serialize)]
pub struct CompletionView {
    /// `bash`, `zsh` or `fish`.
    pub shell: &'static str,
    /// Script that the shell reads.
    pub script: String,
}

/// Manual pages in a folder.
#[derive(Clone, Debug, Serialize)]
pub struct ManPagesView {
    /// Folder that the pages were written to.
    pub folder: String,
    /// The names of the files written.
    pub pages: Vec<String>,
    /// Pages of an earlier gently that are there no more.
    pub removed: Vec<String>,
}

/// The commands of a chat, as `/help` lists them.
#[derive(Clone, Debug, Serialize)]
pub struct ChatHelpView {
    /// Each with what it does.
    pub commands: Vec<ChatCommandView>,
    /// What keys do, and signs in a line; a sentence or two each.
    pub keys: [&'static str; 4],
}

/// A command of a chat.
#[derive(Clone, Debug, Serialize)]
pub struct ChatCommandView {
    /// Its name, which is typed behind a slash.
    pub name: &'static str,
    /// What can be typed behind it; empty when nothing can.
    pub takes: &'static str,
    /// What it does.
    pub does: &'static str,
}
