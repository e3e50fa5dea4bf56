//! What artifacts and turns say of conversations and projects.
//!
//! A conversation is a thread, and has its id. What a person says of one later is an artifact:
//!
//! | kind | id | content, beside `by`, the hash of the auth key |
//! |---|---|---|
//! | `conversation_title` | the thread's | `title`: 1 to 120 characters on one line, or null where texts are not kept |
//! | `conversation_project` | the thread's | `project`: `project:000001`, or null for none |
//! | `conversation_archived`, `conversation_restored` | the thread's | |
//! | `project`, `project_renamed` | `project:000001` | `name`: 1 to 80 characters on one line, or null |
//! | `project_retired` | the same | |
//!
//! Of each the newest holds. The store follows these rules in the transaction that writes a turn or
//! an artifact, and keeps what comes of them in a table; [`ConversationRows`] are the rows that all
//! turns and artifacts give, for checking it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use uuid::Uuid;

use super::item::content;
use super::short_name::record_name;
use crate::record::unseen::is_plain_name;

/// The kind of the artifact that a thread of its own is begun with.
pub const THREAD: &str = "thread";
/// The kind of the artifact that gives a conversation its title.
pub const CONVERSATION_TITLE: &str = "conversation_title";
/// The kind of the artifact that puts a conversation into a project, or into none.
pub const CONVERSATION_PROJECT: &str = "conversation_project";
/// The kind of the artifact that puts a conversation away.
pub const CONVERSATION_ARCHIVED: &str = "conversation_archived";
/// The kind of the artifact that takes it out again.
pub const CONVERSATION_RESTORED: &str = "conversation_restored";
/// The kind of the artifact that makes a project, and what stands before its number.
pub const PROJECT: &str = "project";
/// The kind of the artifact that gives a project another name.
pub const PROJECT_RENAMED: &str = "project_renamed";
/// The kind of the artifact that ends a project.
pub const PROJECT_RETIRED: &str = "project_retired";

/// Characters of a title.
pub const TITLE_MOST: usize = 120;
/// Characters of a project's name.
pub const PROJECT_NAME_MOST: usize = 80;
/// Digits of a session before a slash: with fewer, as in 24/7, it is no question's id that anything
/// prints.
const SESSION_LEAST: usize = 8;
/// What commands take for the newest conversation.
pub const LAST: &str = "last";
/// What commands take for no project.
pub const NO_PROJECT: &str = "none";

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationState {
    /// It is listed.
    Open,
    /// Somebody put it away.
    Archived,
}

impl ConversationState {
    /// Both states.
    pub const ALL: [ConversationState; 2] = [ConversationState::Open, ConversationState::Archived];

    /// The spelling in the database and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            ConversationState::Open => "open",
            ConversationState::Archived => "archived",
        }
    }

    /// The state that an artifact of a kind gives; none when its kind gives none.
    pub fn given_by(artifact: &str) -> Option<ConversationState> {
        match artifact {
            CONVERSATION_ARCHIVED => Some(ConversationState::Archived),
            CONVERSATION_RESTORED => Some(ConversationState::Open),
            _ => None,
        }
    }
}

impl fmt::Display for ConversationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a project stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectState {
    /// Conversations can be put into it.
    Open,
    /// It is over, for good.
    Retired,
}

impl ProjectState {
    /// Both states.
    pub const ALL: [ProjectState; 2] = [ProjectState::Open, ProjectState::Retired];

    /// The spelling in the database and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            ProjectState::Open => "open",
            ProjectState::Retired => "retired",
        }
    }
}

impl fmt::Display for ProjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One conversation without its texts, which stand in turns and artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationRow {
    /// Its id, the thread's.
    pub thread: Uuid,
    /// Line of its newest prompt, from 0; before the first, of the artifact that began it.
    pub last_line: u64,
    /// Number of its exchanges that are messages.
    pub turns: u64,
    /// Line of the newest artifact that gives it a title, also when the title is gone.
    pub title_line: Option<u64>,
    /// Its project's id.
    pub project: Option<String>,
    /// Whether it is listed or put away.
    pub state: ConversationState,
    /// Line of the artifact that gave it that state; of what began it where none did.
    pub state_line: u64,
}

/// The exchanges of a thread, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTurns {
    /// Number of the exchanges that are messages.
    pub count: u64,
    /// Line of the first exchange's prompt, message or not; none without any.
    pub first: Option<u64>,
    /// Line of the newest message's prompt.
    pub last: Option<u64>,
}

impl ThreadTurns {
    /// Counts an exchange by the line of its prompt; in any order. Reviews, handoffs and answers that
    /// a council decided against are no messages.
    pub fn take(&mut self, line: u64, is_message: bool) {
        self.count += u64::from(is_message);
        self.first = Some(self.first.map_or(line, |first| first.min(line)));
        if is_message {
            self.last = self.last.max(Some(line));
        }
    }
}

/// What an artifact says that is about a conversation or a project.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactSaying<'a> {
    /// Number of the artifact's line, from 0.
    pub line: u64,
    /// Kind of the artifact.
    pub kind: &'a str,
    /// The `content` of its document; none when it is erased or lost.
    pub content: Option<&'a Value>,
}

impl ConversationRow {
    /// The row of a thread that these turns and artifacts give, the artifacts in the order of their
    /// lines, other ones among them; none when nothing began it.
    pub fn derive<'a>(
        thread: Uuid,
        turns: ThreadTurns,
        artifacts: impl IntoIterator<Item = ArtifactSaying<'a>>,
    ) -> Option<ConversationRow> {
        let mut begun = None;
        let mut said = Vec::new();
        for artifact in artifacts {
            match artifact.kind {
                THREAD => begun = begun.or(Some(artifact.line)),
                _ => said.push(artifact),
            }
        }
        let first = begun.or(turns.first)?;
        let mut row = ConversationRow {
            thread,
            last_line: turns.last.unwrap_or(first),
            turns: turns.count,
            title_line: None,
            project: None,
            state: ConversationState::Open,
            state_line: first,
        };
        for artifact in said {
            row.take(artifact);
        }
        Some(row)
    }

    /// Takes its next exchange, by the line of its prompt.
    pub fn ask(&mut self, line: u64, is_message: bool) {
        self.turns += u64::from(is_message);
        if is_message {
            self.last_line = line;
        }
    }

    /// Takes the next artifact about it.
    pub fn take(&mut self, artifact: ArtifactSaying<'_>) {
        let line = artifact.line;
        if let Some(state) = ConversationState::given_by(artifact.kind) {
            (self.state, self.state_line) = (state, line);
        }
        match artifact.kind {
            CONVERSATION_TITLE => self.title_line = Some(line),
            CONVERSATION_PROJECT => {
                let project = artifact
                    .content
                    .and_then(|content| content["project"].as_str());
                self.project = project.map(str::to_owned);
            }
            _ => {}
        }
    }
}

/// Whether an artifact of a kind says something of a conversation.
pub fn is_of_conversation(kind: &str) -> bool {
    matches!(kind, CONVERSATION_TITLE | CONVERSATION_PROJECT)
        || ConversationState::given_by(kind).is_some()
}

/// One project without its name, which stands in an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRow {
    /// Name of the project on record, such as `project:000001`.
    pub id: String,
    /// Line of the artifact that made it.
    pub line: u64,
    /// Line of the newest artifact that names it, also when the name is gone.
    pub name_line: u64,
    /// Whether it is open or over.
    pub state: ProjectState,
}

impl ProjectRow {
    /// The row of a project that artifacts with its id give, in the order of their lines, other ones
    /// among them; none when none of them made it.
    pub fn derive<'a>(
        id: &str,
        artifacts: impl IntoIterator<Item = ArtifactSaying<'a>>,
    ) -> Option<ProjectRow> {
        let mut row: Option<ProjectRow> = None;
        for artifact in artifacts {
            match &mut row {
                Some(row) => row.take(artifact),
                None if artifact.kind == PROJECT => row = Some(ProjectRow::made(id, artifact.line)),
                None => {}
            }
        }
        row
    }

    /// The row of a project that an artifact makes.
    pub fn made(id: &str, line: u64) -> ProjectRow {
        ProjectRow {
            id: id.to_owned(),
            line,
            name_line: line,
            state: ProjectState::Open,
        }
    }

    /// Takes the next artifact about it.
    pub fn take(&mut self, artifact: ArtifactSaying<'_>) {
        match artifact.kind {
            PROJECT_RENAMED => self.name_line = artifact.line,
            PROJECT_RETIRED => self.state = ProjectState::Retired,
            _ => {}
        }
    }
}

/// Whether an artifact of a kind says something of a project.
pub fn is_of_project(kind: &str) -> bool {
    matches!(kind, PROJECT | PROJECT_RENAMED | PROJECT_RETIRED)
}

/// An artifact that is kept until all turns are counted.
#[derive(Clone, Debug)]
struct KeptSaying {
    line: u64,
    kind: String,
    content: Option<Value>,
}

impl KeptSaying {
    fn saying(&self) -> ArtifactSaying<'_> {
        ArtifactSaying {
            line: self.line,
            kind: &self.kind,
            content: self.content.as_ref(),
        }
    }
}

/// The rows that all turns and artifacts give.
#[derive(Clone, Debug, Default)]
pub struct ConversationRows {
    /// By id: of threads, and of projects.
    artifacts: BTreeMap<String, Vec<KeptSaying>>,
    turns: BTreeMap<Uuid, ThreadTurns>,
}

impl ConversationRows {
    /// Takes the next artifact, in the order of lines; `document` is its canonical JSON, none once
    /// erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>) {
        if kind == THREAD || is_of_conversation(kind) || is_of_project(kind) {
            let kept = KeptSaying {
                line,
                kind: kind.to_owned(),
                content: content(document),
            };
            self.artifacts.entry(id.to_owned()).or_default().push(kept);
        }
    }

    /// Takes an exchange of a thread, by the line of its prompt.
    pub fn ask(&mut self, thread: Uuid, line: u64, is_message: bool) {
        self.turns.entry(thread).or_default().take(line, is_message);
    }

    /// The row of a thread that is on record.
    pub fn conversation(&self, thread: Uuid) -> Option<ConversationRow> {
        let turns = self.turns.get(&thread).copied().unwrap_or_default();
        let artifacts = self.artifacts.get(&thread.to_string());
        let said = artifacts.into_iter().flatten().map(KeptSaying::saying);
        ConversationRow::derive(thread, turns, said)
    }

    /// The rows of all projects, by id.
    pub fn projects(&self) -> BTreeMap<String, ProjectRow> {
        let row = |(id, kept): (&String, &Vec<KeptSaying>)| {
            let row = ProjectRow::derive(id, kept.iter().map(KeptSaying::saying))?;
            Some((id.clone(), row))
        };
        self.artifacts.iter().filter_map(row).collect()
    }
}

/// Why a text is no title of a conversation, and no name of a project.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitName {
    /// Nothing stands there.
    #[error("{what} has at least one character")]
    Empty {
        /// What it was to be.
        what: &'static str,
    },
    /// Too many characters.
    #[error("{what} has at most {most} characters, this one has {actual}")]
    TooLong {
        /// What it was to be.
        what: &'static str,
        /// Most characters that a name may have.
        most: usize,
        /// How many characters there are.
        actual: usize,
    },
    /// It holds what nobody sees, or begins or ends with a blank.
    #[error(
        "{what} is one line of characters that can be seen, without blanks at its ends: not '{}'",
        .actual.escape_debug()
    )]
    Unseen {
        /// What it was to be.
        what: &'static str,
        /// What was found.
        actual: String,
    },
    /// It would be taken for an id, or a word that commands know.
    #[error(
        "{what} can't be '{actual}': that looks like an id, or is a word that commands know, so it would mean something \
         else. Add a word to it"
    )]
    Taken {
        /// What it was to be.
        what: &'static str,
        /// What was found.
        actual: String,
    },
}

/// Checks a title: 1 to [`TITLE_MOST`] characters on one line, all of them seen, and nothing that
/// commands take for an id or for the newest conversation.
pub fn check_title(title: &str) -> Result<(), UnfitName> {
    let what = "a title";
    check_seen(title, what, TITLE_MOST)?;
    match is_for_an_id(title) {
        true => Err(UnfitName::Taken {
            what,
            actual: title.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Checks a project's name: 1 to [`PROJECT_NAME_MOST`] characters on one line, all of them seen, and
/// nothing that commands take for an id or for no project.
pub fn check_project_name(name: &str) -> Result<(), UnfitName> {
    let what = "a project's name";
    check_seen(name, what, PROJECT_NAME_MOST)?;
    match is_word(name, NO_PROJECT) || is_number(name) {
        true => Err(UnfitName::Taken {
            what,
            actual: name.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Whether commands take a text for the newest, for the first digits of an id, for the number of
/// something on record, or for a question: `81bb5b35/16`, `interaction-16`.
pub fn is_for_an_id(text: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let lower = text.to_ascii_lowercase();
    let rest = |word: &str| lower.strip_prefix(word);
    let is_question = match lower.split_once('/') {
        Some((session, n)) => {
            let is_session =
                session == LAST || session.len() >= SESSION_LEAST && is_digits(session);
            is_session && is_count(rest_of_number(n))
        }
        None => rest("interaction-")
            .or_else(|| rest("prompt-"))
            .is_some_and(is_count),
    };
    is_digits(text) || is_word(text, LAST) || is_number(text) || is_question
}

/// A question's number without the word that may stand before it.
fn rest_of_number(text: &str) -> &str {
    let named = text
        .strip_prefix("interaction-")
        .or_else(|| text.strip_prefix("prompt-"));
    named.unwrap_or(text)
}

/// Whether it is the number of something on record: `project-1`, `note:000001`.
fn is_number(text: &str) -> bool {
    record_name(text).is_some()
}

fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

fn check_seen(text: &str, what: &'static str, most: usize) -> Result<(), UnfitName> {
    if text.is_empty() {
        return Err(UnfitName::Empty { what });
    }
    let actual = text.chars().count();
    if actual > most {
        return Err(UnfitName::TooLong { what, most, actual });
    }
    match is_plain_name(text) && text.trim() == text {
        true => Ok(()),
        false => Err(UnfitName::Unseen {
            what,
            actual: text.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> Uuid {
        Uuid::from_u128(7)
    }

    /// Artifacts of the thread and of project 1, by line.
    fn rows(said: &[(u64, &str, Option<&str>)], turns: &[u64]) -> ConversationRows {
        let mut rows = ConversationRows::default();
        for (line, kind, content) in said {
            let document = content.map(|content| format!(r#"{{"content":{content}}}"#));
            let id = match is_of_project(kind) {
                true => "project:000001".to_owned(),
                false => thread().to_string(),
            };
            rows.take(*line, kind, &id, document.as_deref());
        }
        for line in turns {
            rows.ask(thread(), *line, true);
        }
        rows
    }

    #[test]
    fn of_each_kind_the_newest_holds() {
        let to = |id| Some(id);
        let open = |last_line, turns, state_line| ConversationRow {
            thread: thread(),
            last_line,
            turns,
            title_line: None,
            project: None,
            state: ConversationState::Open,
            state_line,
        };
        for (said, turns, expected) in [
            (vec![], vec![], None),
            (vec![], vec![9, 5], Some(open(9, 2, 5))),
            (vec![(3, THREAD, None)], vec![], Some(open(3, 0, 3))),
            (vec![(3, THREAD, None)], vec![8], Some(open(8, 1, 3))),
            (vec![(4, CONVERSATION_TITLE, None)], vec![], None),
            (
                vec![
                    (6, CONVERSATION_TITLE, None),
                    (7, CONVERSATION_TITLE, to("{}")),
                ],
                vec![5],
                Some(ConversationRow {
                    title_line: Some(7),
                    ..open(5, 1, 5)
                }),
            ),
            (
                vec![
                    (
                        6,
                        CONVERSATION_PROJECT,
                        to(r#"{"project":"project:000001"}"#),
                    ),
                    (7, CONVERSATION_ARCHIVED, None),
                    (8, CONVERSATION_ARCHIVED, None),
                ],
                vec![5],
                Some(ConversationRow {
                    project: Some("project:000001".to_owned()),
                    state: ConversationState::Archived,
                    state_line: 8,
                    ..open(5, 1, 5)
                }),
            ),
            (
                vec![
                    (
                        6,
                        CONVERSATION_PROJECT,
                        to(r#"{"project":"project:000001"}"#),
                    ),
                    (7, CONVERSATION_PROJECT, None),
                    (8, CONVERSATION_ARCHIVED, None),
                    (9, CONVERSATION_RESTORED, None),
                    (10, "note", None),
                ],
                vec![5],
                Some(open(5, 1, 9)),
            ),
        ] {
            let rows = rows(&said, &turns);
            assert_eq!(rows.conversation(thread()), expected, "{said:?} {turns:?}");
            assert!(rows.projects().is_empty());
        }
    }

    #[test]
    fn a_project_is_made_renamed_and_retired() {
        for (said, expected) in [
            (vec![(4, PROJECT_RENAMED, None)], None),
            (vec![(4, PROJECT, None)], Some((4, 4, ProjectState::Open))),
            (
                vec![
                    (4, PROJECT, None),
                    (5, PROJECT_RENAMED, None),
                    (6, PROJECT, None),
                ],
                Some((4, 5, ProjectState::Open)),
            ),
            (
                vec![
                    (4, PROJECT, None),
                    (5, PROJECT_RETIRED, None),
                    (6, PROJECT_RENAMED, None),
                ],
                Some((4, 6, ProjectState::Retired)),
            ),
        ] {
            let rows = rows(&said, &[]).projects();
            let row = rows.get("project:000001");
            let found = row.map(|row| (row.line, row.name_line, row.state));
            assert_eq!(found, expected, "{said:?}");
        }
    }

    /// What the writer does step by step is what all of it gives.
    #[test]
    fn steps_and_the_whole_give_one_row() {
        let content = serde_json::json!({"project": "project:000002"});
        let said: Vec<ArtifactSaying<'_>> = [
            (3, CONVERSATION_ARCHIVED),
            (5, CONVERSATION_TITLE),
            (6, CONVERSATION_PROJECT),
            (9, CONVERSATION_RESTORED),
        ]
        .map(|(line, kind)| ArtifactSaying {
            line,
            kind,
            content: Some(&content),
        })
        .to_vec();
        let mut turns = ThreadTurns::default();
        turns.take(2, true);
        let mut row = ConversationRow::derive(thread(), turns, []).unwrap();
        for one in &said {
            row.take(*one);
        }
        row.ask(12, true);
        turns.take(12, true);
        assert_eq!(ConversationRow::derive(thread(), turns, said), Some(row));
    }

    #[test]
    fn titles_and_names_can_be_seen_and_named() {
        let long = "x".repeat(121);
        for fit in [
            "Rust borrow rules",
            "été 2026",
            "日本",
            "dead beef",
            "Q",
            "x--y",
            "24/7",
            "interaction design",
            "interaction-three",
            &long[..120],
        ] {
            assert_eq!(check_title(fit), Ok(()), "{fit}");
        }
        for unfit in [
            "",
            " ",
            " a",
            "a ",
            "a\nb",
            "a\tb",
            "a\u{1b}[2J",
            "a\u{202e}b",
            "a\u{200b}",
            "cafe",
            "CAFE",
            "4e62-36",
            "0",
            "-",
            "last",
            "Last",
            "project-1",
            "note:000001",
            "81bb5b35/16",
            "81BB5B35/interaction-16",
            "last/2",
            "interaction-3",
            "prompt-3",
            &long,
        ] {
            assert!(check_title(unfit).is_err(), "{unfit:?}");
        }
        for fit in ["cafe", "Immigration Law", "last", &long[..80]] {
            assert_eq!(check_project_name(fit), Ok(()), "{fit}");
        }
        for unfit in [
            "",
            "none",
            "NONE",
            "project-1",
            "project:000001",
            "a\u{7}",
            &long[..81],
        ] {
            assert!(check_project_name(unfit).is_err(), "{unfit:?}");
        }
        let words = check_title(&long).unwrap_err().to_string();
        assert_eq!(
            words,
            "a title has at most 120 characters, this one has 121"
        );
    }
}
