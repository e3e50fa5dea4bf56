//! Conversations and projects: rows that follow from turns and artifacts, and what is read of them.
//!
//! A conversation is a thread; its messages are the texts of its turns, and no title or name stands
//! in a row. Lists go along the log, so that a page begins at a line ([`PageCursor`]) and stays
//! right while others write.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::conversation::{
    ArtifactSaying, CONVERSATION_PROJECT, ConversationRow, ConversationState, PROJECT, ProjectRow,
    ProjectState, ThreadTurns, is_of_conversation, is_of_project,
};
use crate::record::ledger::item;
use crate::record::log::entry::Line;
use crate::record::log::page_cursor::PageCursor;

use super::access::{PrefixLookup, ReadStore, WriteStore};
use super::table::{Row, values};
use super::{ArtifactFilter, ArtifactRow, MessageRow, StoreError};

/// Which conversations are listed.
#[derive(Clone, Copy, Debug)]
pub struct ConversationFilter<'a> {
    /// The state that they are in.
    pub state: ConversationState,
    /// The project that they belong to, by its id; none lists those of all projects and of none.
    pub project: Option<&'a str>,
}

/// Which messages of a conversation are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePage {
    /// The newest messages.
    Newest,
    /// The newest messages before a place.
    Before(PageCursor),
    /// The oldest messages after a place.
    After(PageCursor),
}

/// What a conversation is called by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenTitle {
    /// This title, or the name of its thread.
    Text(String),
    /// It was given a title that is erased, or was never kept.
    Gone,
    /// Nobody gave it one: its first question is what it is known by.
    Nothing,
}

/// The conversations of a state, or of a project in a state, before a line, newest first: `?1` is
/// the line, `?2` the state, `?3` how many, `?4` the project.
fn listing(in_project: bool) -> String {
    let columns = ConversationRow::columns_of("c");
    // By the plus not along the index of states, in which all other projects stand, too.
    let rest = match in_project {
        true => "c.project = ?4 AND c.last_line < ?1 AND +c.state = ?2",
        false => "c.state = ?2 AND c.last_line < ?1",
    };
    format!("SELECT {columns} FROM conversation c WHERE {rest} ORDER BY c.last_line DESC LIMIT ?3")
}

/// The newest open conversation that an auth key (`?1`) began, of a project (`?2`) if one is given.
fn newest_of_key(in_project: bool) -> String {
    let columns = ConversationRow::columns_of("c");
    let rest = match in_project {
        true => "c.project = ?2 AND +c.state = 'open'",
        false => "c.state = 'open'",
    };
    format!(
        "SELECT {columns} FROM conversation c CROSS JOIN thread h ON h.thread_id = c.thread_id
           CROSS JOIN chat_session s ON s.session_id = h.session_id
          WHERE {rest} AND s.auth_key_hash = ?1 ORDER BY c.last_line DESC LIMIT 1"
    )
}

/// The conversations that are called so (`?1`), the one asked in last first; up to `?2`.
fn titled() -> String {
    let columns = ConversationRow::columns_of("c");
    format!(
        "SELECT * FROM (
           SELECT {columns} FROM artifact a CROSS JOIN conversation c ON c.thread_id = a.id AND c.title_line = a.line
            WHERE a.kind = 'conversation_title' AND a.document IS NOT NULL
              AND json_extract(a.document, '$.content.title') = ?1
           UNION ALL
           SELECT {columns} FROM thread h CROSS JOIN conversation c ON c.thread_id = h.thread_id
            WHERE h.name = ?1 AND h.name IS NOT NULL AND c.title_line IS NULL)
          ORDER BY last_line DESC LIMIT ?2"
    )
}

/// Those of the conversations asked in last (`?2`) of a state (`?1`) that somebody gave a title or a
/// name, with it.
fn with_titles() -> String {
    let columns = ConversationRow::columns_of("c");
    format!(
        "SELECT * FROM (
           SELECT {columns},
                  CASE WHEN c.title_line IS NULL THEN h.name ELSE json_extract(a.document, '$.content.title') END AS title
             FROM conversation c CROSS JOIN thread h ON h.thread_id = c.thread_id
             LEFT JOIN artifact a ON a.line = c.title_line
            WHERE c.state = ?1 ORDER BY c.last_line DESC LIMIT ?2)
          WHERE title IS NOT NULL"
    )
}

/// The projects that are called so (`?1`), the oldest first; up to `?2`.
fn named() -> String {
    let columns = ProjectRow::columns_of("p");
    format!(
        "SELECT {columns} FROM artifact a CROSS JOIN project p ON p.id = a.id AND p.name_line = a.line
          WHERE a.kind IN ('project', 'project_renamed') AND a.document IS NOT NULL
            AND json_extract(a.document, '$.content.name') = ?1 ORDER BY p.line LIMIT ?2"
    )
}

/// Messages of a conversation (`?1`) on one side of a line (`?2`), the nearest first; up to `?3`. An event
/// that is none of an exchange of this conversation shows nothing.
fn messages(after: bool) -> String {
    let (side, order) = match after {
        true => (">", "ASC"),
        false => ("<", "DESC"),
    };
    format!(
        "SELECT t.turn_id, t.speaker, t.content, v.created_at, v.line, e.exchange_id, e.model
           FROM thread_event v CROSS JOIN chat_turn t ON t.turn_id = v.event_id
           CROSS JOIN llm_exchange e ON e.exchange_id = v.turn_id
           CROSS JOIN thread_turn h ON h.line = e.prompt_line AND h.thread_id = v.thread_id AND h.turn_id = v.turn_id
          WHERE v.thread_id = ?1 AND v.line {side} ?2 AND v.kind IN ('INTENT', 'EXECUTION')
            AND v.event_id = iif(v.kind = 'INTENT', e.turn_user_id, e.turn_aurora_id)
            AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = e.prompt_line)
          ORDER BY v.line {order} LIMIT ?3"
    )
}

/// The exchanges of a thread, counted.
const TURNS: &str = "SELECT ifnull(sum(EXISTS (SELECT 1 FROM message_turn m WHERE m.line = v.line)), 0), min(v.line),
       max(CASE WHEN EXISTS (SELECT 1 FROM message_turn m WHERE m.line = v.line) THEN v.line END)
       FROM thread_event v WHERE v.thread_id = ?1 AND v.kind = 'INTENT'";

/// The models of the newest exchanges (`?2`) of a thread, and whether they answered: the one that did
/// last first, those that never did at the end.
const MODELS: &str = "SELECT e.model, ifnull(max(e.outcome = 'answered'), 0) FROM
      (SELECT i.turn_id, i.line FROM thread_event i WHERE i.thread_id = ?1 AND i.kind = 'INTENT'
          AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = i.line) ORDER BY i.line DESC LIMIT ?2) v
      CROSS JOIN llm_exchange e ON e.exchange_id = v.turn_id GROUP BY e.model
      ORDER BY max(iif(e.outcome = 'answered', v.line, -1)) DESC, max(v.line) DESC";

/// The models of the newest exchanges (`?1`) that were answered, or refused by their servers.
const ANSWERS: &str = "SELECT model, outcome = 'answered' FROM llm_exchange
      WHERE outcome = 'answered' OR (outcome = 'failed' AND reason LIKE 'http_4%') ORDER BY prompt_line DESC LIMIT ?1";

/// Behind the last line there can be.
const END: u64 = i64::MAX.unsigned_abs();

impl ReadStore {
    /// One conversation by its thread.
    pub fn conversation(&self, thread: Uuid) -> Result<Option<ConversationRow>, StoreError> {
        self.row("WHERE thread_id = ?1", values![thread])
    }

    /// Up to `most` conversations that are called exactly so: by their title, else by their
    /// thread's name; the one asked in last first.
    pub fn conversations_titled(
        &self,
        title: &str,
        most: u32,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        self.list(ConversationRow::READING, &titled(), values![title, most])
    }

    /// Of the open conversations and of the archived ones the `among` asked in last: those that
    /// somebody gave a title, or their thread a name, each with that; the one asked in last first.
    pub fn titled_among(&self, among: u32) -> Result<Vec<(ConversationRow, String)>, StoreError> {
        let mut found: Vec<(ConversationRow, String)> = Vec::new();
        for state in ConversationState::ALL {
            let (what, sql) = (ConversationRow::READING, with_titles());
            found.extend(self.list(what, &sql, values![state, among])?);
        }
        found.sort_by_key(|(row, _)| std::cmp::Reverse(row.last_line));
        Ok(found)
    }

    /// Up to `most` conversations, the one asked in last first; those before a place, if one is
    /// given.
    pub fn conversations(
        &self,
        filter: ConversationFilter<'_>,
        before: Option<PageCursor>,
        most: u32,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        let line = before.map_or(END, |cursor| cursor.line);
        let (what, sql) = (ConversationRow::READING, listing(filter.project.is_some()));
        match filter.project {
            Some(project) => self.list(what, &sql, values![line, filter.state, most, project]),
            None => self.list(what, &sql, values![line, filter.state, most]),
        }
    }

    /// The open conversation asked in last of those that an auth key began, in a project if one is
    /// given.
    pub fn newest_conversation_of(
        &self,
        key: Hash32,
        project: Option<&str>,
    ) -> Result<Option<ConversationRow>, StoreError> {
        let (what, sql) = (ConversationRow::READING, newest_of_key(project.is_some()));
        match project {
            Some(project) => self.one(what, &sql, values![key, project]),
            None => self.one(what, &sql, values![key]),
        }
    }

    /// Calls `each` for every conversation, in the order of ids.
    pub fn each_conversation(
        &self,
        each: &mut dyn FnMut(ConversationRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY thread_id", values![], each)
    }

    /// What a person calls a conversation: by its title, else by its thread's name.
    pub fn given_title(&self, of: &ConversationRow) -> Result<GivenTitle, StoreError> {
        let Some(line) = of.title_line else {
            let name = self.thread(of.thread)?.and_then(|thread| thread.name);
            return Ok(name.map_or(GivenTitle::Nothing, GivenTitle::Text));
        };
        let title = self.said_in(line, "$.content.title")?;
        Ok(title.map_or(GivenTitle::Gone, GivenTitle::Text))
    }

    /// The models that were asked in the newest `most` exchanges of a conversation, each once, and
    /// whether it answered there: first those that did, the one that answered last before all.
    pub fn models_of(&self, thread: Uuid, most: u32) -> Result<Vec<(String, bool)>, StoreError> {
        self.list(
            "read a conversation's models",
            MODELS,
            values![thread, most],
        )
    }

    /// The models that answered in the newest `most` exchanges, or were refused by their servers, and
    /// which of both; the newest first.
    pub fn answers_of_models(&self, most: u32) -> Result<Vec<(String, bool)>, StoreError> {
        self.list("read who answered last", ANSWERS, values![most])
    }

    /// A page of the messages of a conversation, in the order of their lines, whichever way it goes.
    pub fn messages(
        &self,
        thread: Uuid,
        page: MessagePage,
        most: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let (after, line) = match page {
            MessagePage::Newest => (false, END),
            MessagePage::Before(cursor) => (false, cursor.line),
            MessagePage::After(cursor) => (true, cursor.line),
        };
        let values = values![thread, line, most];
        let mut found = self.list("read messages", &messages(after), values)?;
        if !after {
            found.reverse();
        }
        Ok(found)
    }

    /// The place of a line in lists that go along the log; none when there is no such line.
    pub fn cursor(&self, line: u64) -> Result<Option<PageCursor>, StoreError> {
        let text = self.lines(line, line.saturating_add(1))?.pop();
        let Some(text) = text else {
            return Ok(None);
        };
        let read = Line::parse(text.as_bytes()).map_err(|fault| StoreError::Corrupt {
            place: "log_line.line".to_owned(),
            expected: "a line of the log".to_owned(),
            actual: fault.to_string(),
        })?;
        let time = read.time;
        Ok(Some(PageCursor { line, time }))
    }

    /// Whether a place is one of this log: its line has this time.
    pub fn is_place(&self, cursor: PageCursor) -> Result<bool, StoreError> {
        Ok(self.cursor(cursor.line)? == Some(cursor))
    }

    /// One project by its id.
    pub fn project(&self, id: &str) -> Result<Option<ProjectRow>, StoreError> {
        self.row("WHERE id = ?1", values![id])
    }

    /// Up to `most` projects that are called exactly so, the oldest first, retired ones among them.
    pub fn projects_named(&self, name: &str, most: u32) -> Result<Vec<ProjectRow>, StoreError> {
        self.list(ProjectRow::READING, &named(), values![name, most])
    }

    /// All projects, the oldest first; of a state, if one is given.
    pub fn projects(&self, state: Option<ProjectState>) -> Result<Vec<ProjectRow>, StoreError> {
        match state {
            Some(state) => self.rows("WHERE state = ?1 ORDER BY line", values![state]),
            None => self.rows("ORDER BY line", values![]),
        }
    }

    /// What a project is called; none when its name is erased, or was never kept.
    pub fn project_name(&self, of: &ProjectRow) -> Result<Option<String>, StoreError> {
        self.said_in(of.name_line, "$.content.name")
    }

    /// A text in the document of the artifact of a line; none when it is not there.
    pub(super) fn said_in(&self, line: u64, path: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT json_extract(document, ?2) FROM artifact WHERE line = ?1";
        let what = "read what an artifact says";
        let text: Option<Option<String>> = self.one(what, sql, values![line, path])?;
        Ok(text.flatten())
    }

    /// The row that turns and artifacts give of a thread.
    fn derived(&self, thread: Uuid) -> Result<Option<ConversationRow>, StoreError> {
        let (count, first, last) = self.sole("count turns", TURNS, values![thread])?;
        let turns = ThreadTurns { count, first, last };
        let artifacts = self.artifacts(ArtifactFilter::Id(&thread.to_string()))?;
        let contents: Vec<_> = artifacts.iter().map(ArtifactRow::content).collect();
        let said = artifacts.iter().zip(&contents);
        let said = said.map(|(artifact, content)| ArtifactSaying {
            line: artifact.line,
            kind: &artifact.kind,
            content: content.as_ref(),
        });
        Ok(ConversationRow::derive(thread, turns, said))
    }
}

impl ArtifactRow {
    /// What its document says; none once erased, and where it is not kept.
    fn content(&self) -> Option<serde_json::Value> {
        item::content(self.document.as_deref())
    }
}

impl WriteStore {
    /// Brings a conversation forward by an exchange whose rows and events are written, by the line
    /// of its prompt, and whether it is a message.
    pub fn conversation_asked(
        &mut self,
        thread: Uuid,
        (line, is_message): (u64, bool),
    ) -> Result<(), StoreError> {
        match self.conversation(thread)? {
            Some(mut row) => {
                row.ask(line, is_message);
                self.set_conversation(&row)
            }
            None => self.derive_conversation(thread),
        }
    }

    /// Makes the row of a thread from its turns and artifacts, in place of the one there is; none
    /// where nothing on record began it.
    pub(super) fn derive_conversation(&self, thread: Uuid) -> Result<(), StoreError> {
        match self.derived(thread)? {
            Some(row) => self.set_conversation(&row),
            None => Ok(()),
        }
    }

    fn set_conversation(&self, row: &ConversationRow) -> Result<(), StoreError> {
        let otherwise = "ON CONFLICT (thread_id) DO UPDATE SET last_line = excluded.last_line, turns = excluded.turns,
             title_line = excluded.title_line, project = excluded.project, state = excluded.state,
             state_line = excluded.state_line";
        let row = std::slice::from_ref(row);
        self.insert(row, &[], otherwise).map(drop)
    }

    /// What an artifact says of a conversation or a project.
    pub(super) fn follow_artifact(
        &self,
        artifact: &ArtifactRow,
        content: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        let saying = ArtifactSaying {
            line: artifact.line,
            kind: &artifact.kind,
            content,
        };
        if is_of_project(&artifact.kind) {
            return self.follow_project(&artifact.id, saying);
        }
        let thread = artifact.id.parse();
        let (true, Ok(thread)) = (is_of_conversation(&artifact.kind), thread) else {
            return Ok(());
        };
        match self.conversation(thread)? {
            Some(mut row) => {
                row.take(saying);
                self.set_conversation(&row)
            }
            // A thread that was lost with a database.
            None => Ok(()),
        }
    }

    fn follow_project(&self, id: &str, saying: ArtifactSaying<'_>) -> Result<(), StoreError> {
        let row = match self.project(id)? {
            Some(mut row) => {
                row.take(saying);
                row
            }
            None if saying.kind == PROJECT => ProjectRow::made(id, saying.line),
            None => return Ok(()),
        };
        let otherwise =
            "ON CONFLICT (id) DO UPDATE SET name_line = excluded.name_line, state = excluded.state";
        self.insert(&[row], &[], otherwise).map(drop)
    }

    /// What follows for a conversation when an artifact that says something of it is erased.
    pub(super) fn follow_erasure(&self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        match artifact.id.parse() {
            Ok(thread) if artifact.kind == CONVERSATION_PROJECT => self.derive_conversation(thread),
            _ => Ok(()),
        }
    }
}

/// By the first digits of its thread's id.
impl PrefixLookup for ConversationRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        let columns = Self::names().join(", ");
        format!(
            "SELECT {columns} FROM conversation WHERE thread_id >= ?1 AND thread_id < ?2
              ORDER BY thread_id LIMIT ?3"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    /// Every question is a search of an index that ends with what is found, whatever the history.
    #[test]
    fn conversations_and_messages_are_found_by_indexes() {
        let of_key = |in_project| newest_of_key(in_project);
        for (sql, index) in [
            (
                listing(false),
                "idx_conversation_state (state=? AND last_line<?)",
            ),
            (
                listing(true),
                "idx_conversation_project (project=? AND last_line<?)",
            ),
            (of_key(false), "idx_conversation_state (state=?)"),
            (of_key(true), "idx_conversation_project (project=?)"),
            (with_titles(), "idx_conversation_state (state=?)"),
            (titled(), "idx_artifact_title (<expr>=?)"),
            (titled(), "idx_thread_name (name=?)"),
            (named(), "idx_artifact_project_name (<expr>=?)"),
            (
                messages(false),
                "idx_thread_event_line (thread_id=? AND line<?)",
            ),
            (
                messages(true),
                "idx_thread_event_line (thread_id=? AND line>?)",
            ),
            (TURNS.to_owned(), "idx_thread_event_line (thread_id=?)"),
            (MODELS.to_owned(), "idx_thread_event_line (thread_id=?)"),
            (
                ConversationRow::by_prefix(),
                "(thread_id>? AND thread_id<?)",
            ),
        ] {
            let plan = plan(&sql);
            assert!(plan.contains(index), "{index}: {plan}");
            // Only what was found is sorted, and nothing is walked over.
            assert!(
                !plan.contains("SCAN c") && !plan.contains("SCAN t"),
                "{plan}"
            );
        }
        for sql in [
            listing(false),
            listing(true),
            messages(false),
            messages(true),
            of_key(true),
            with_titles(),
        ] {
            assert!(!plan(&sql).contains("TEMP B-TREE"), "{}", plan(&sql));
        }
    }
}
