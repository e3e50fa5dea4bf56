//! The database of the program `llm` (`logs.db`), in both of its shapes.
//!
//! The older has one row for each answer (`responses`, with `conversations`); the newer has a tree of
//! messages, each chained to the one before by its hash (`threads`, `turns`, `messages`, `parts`).
//! Fragments are put in. An answer that stands in both is taken once, by its id; and where a
//! conversation was begun in the older and went on in the newer, which then holds its beginning again,
//! a message that says the same at the same place is taken once.
//!
//! What is no text becomes a mark: `[image]`, `[audio]`, `[file: NAME]`, `[tool: NAME]` where a tool
//! is called, `[reasoning]` for what a model thought.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::database::{
    DatabaseFault, ForeignDatabase, ForeignRow, QueryValue, RowGroups, SeenIds, group_rows,
    group_rows_but, of_piece,
};
use super::draft::{ConversationDraft, JoinedText, MAX_MESSAGES, PieceFeed, role_of, short_hash};
use super::fault::ImportFault;
use super::file::ForeignFile;
use super::json::{JsonFields, parse};
use super::{MAX_CONVERSATION, SourceConversation, SourceError, SourceMessage};
use crate::record::ledger::imported::ImportedRole;

/// Tables by their place in a group of rows.
const THREADS: u8 = 0;
const TURNS: u8 = 1;
const RESPONSES: u8 = 2;
/// A query without rows.
const NONE: &str = "SELECT NULL WHERE 0";
/// The tables that are read.
const READ: [&str; 15] = [
    "_llm_migrations",
    "attachments",
    "conversations",
    "fragments",
    "logs",
    "messages",
    "parts",
    "prompt_attachments",
    "prompt_fragments",
    "responses",
    "system_fragments",
    "threads",
    "tool_calls",
    "tool_results",
    "turns",
];
/// Conversations of the older shape without an answer; behind all others, which say more of one.
const CONVERSATIONS: u8 = 3;
/// Columns without which the older shape is not read.
const OLD_COLUMNS: [&str; 7] = [
    "id",
    "model",
    "prompt",
    "system",
    "response",
    "conversation_id",
    "datetime_utc",
];

/// Reads a database.
pub(super) fn read(file: &ForeignFile, feed: &mut PieceFeed<'_>) -> Result<String, SourceError> {
    let mut log = LlmLog::open(file)?;
    let torn = |fault: DatabaseFault| fault.of_file(file);
    log.older_than_both(feed).map_err(torn)?;
    let mut groups = log.groups(feed).map_err(torn)?;
    for rows in groups.sorted() {
        if feed.is_over() {
            break;
        }
        let mut name = None;
        let read = of_piece(log.conversation(rows, &mut name)).map_err(torn)?;
        let table = match rows[0].1 {
            THREADS => "threads",
            TURNS => "turns",
            CONVERSATIONS => "conversations",
            _ => "responses",
        };
        let place = format!("table {table}, row {}", rows[0].2);
        feed.conversation(&place, name.as_deref(), read);
    }
    log.version().map_err(torn)
}

/// An open database of `llm`.
struct LlmLog {
    database: ForeignDatabase,
    has_old: bool,
    has_new: bool,
    /// Calls of tools and what they gave, by the answer that they belong to.
    tool_calls: RowGroups,
    tool_results: RowGroups,
}

/// One message, before it is known what is left out.
struct TreeMessage {
    id: String,
    parent: Option<usize>,
    role: ImportedRole,
    text: String,
    seams: Vec<Range<usize>>,
    model: Option<String>,
    at: Option<String>,
}

/// The messages of one conversation, a parent before its replies.
#[derive(Default)]
struct MessageTree {
    messages: Vec<TreeMessage>,
    by_hash: HashMap<String, usize>,
    /// By what is replied to, role and text.
    same: HashMap<(Option<usize>, ImportedRole, u64), usize>,
    held: usize,
}

impl MessageTree {
    /// Adds a message, or finds the one that says the same at the same place.
    fn fold(&mut self, message: TreeMessage) -> Result<usize, ImportFault> {
        let key = (message.parent, message.role, short_hash(&message.text));
        if let Some(at) = self.same.get(&key) {
            let known = &mut self.messages[*at];
            known.at = message.at.or(known.at.take());
            known.model = message.model.or(known.model.take());
            return Ok(*at);
        }
        self.held = self.held.saturating_add(message.text.len());
        if self.held > MAX_CONVERSATION || self.messages.len() == MAX_MESSAGES {
            let detail = format!(
                "it has more than {MAX_MESSAGES} messages or {MAX_CONVERSATION} bytes of text"
            );
            return Err(ImportFault::new("too_large", detail));
        }
        self.messages.push(message);
        let at = self.messages.len() - 1;
        self.same.insert(key, at);
        Ok(at)
    }
}

/// What a turn says of the messages that it added.
#[derive(Default)]
struct TurnFacts {
    /// The message before its answer.
    input: Option<String>,
    model: Option<String>,
    at: Option<String>,
}

impl LlmLog {
    fn open(file: &ForeignFile) -> Result<LlmLog, SourceError> {
        let database = ForeignDatabase::open(file)?;
        database.has_none_strange(file, &READ)?;
        let has_old = database.has("responses", &OLD_COLUMNS);
        let has_new = database.has("threads", &["id", "name", "tip_message_hash"])
            && database.has(
                "turns",
                &[
                    "id",
                    "thread_id",
                    "parent_message_hash",
                    "tip_message_hash",
                    "model",
                ],
            )
            && database.has("messages", &["hash", "parent_hash", "role"])
            && database.has(
                "parts",
                &["message_hash", "position", "type", "text", "payload"],
            );
        if !has_old && !has_new {
            return Err(file.error(
                "it has neither the tables threads, turns, messages and parts nor responses with the columns \
                 that llm gives them",
                "Name the logs.db of llm (`llm logs path` prints where it is)",
            ));
        }
        Ok(LlmLog {
            database,
            has_old,
            has_new,
            tool_calls: RowGroups::of_some(),
            tool_results: RowGroups::of_some(),
        })
    }

    /// The last change of its tables that the database knows.
    fn version(&self) -> Result<String, DatabaseFault> {
        let mut version = "without migrations".to_owned();
        if self.database.has("_llm_migrations", &["name"]) {
            let sql = "SELECT max(name) FROM _llm_migrations WHERE octet_length(name) <= 200";
            let found = of_piece(self.database.row(sql, &[], |row| row.text(0)))?;
            version = found.ok().flatten().flatten().unwrap_or(version);
        }
        Ok(version)
    }

    /// Says that there are rows of an `llm` before 0.10, which are not read.
    fn older_than_both(&self, feed: &mut PieceFeed<'_>) -> Result<(), DatabaseFault> {
        if !self.database.has("logs", &["prompt", "response"]) {
            return Ok(());
        }
        // One by one: SQLite's own count can't be stopped, wherever the pages of a torn table lead.
        let mut rows = 0_u64;
        self.database.rows("SELECT 1 FROM logs", &[], |_| {
            rows += 1;
            Ok(())
        })?;
        if rows > 0 {
            let detail =
                format!("its {rows} rows are of a version of llm before 0.10; they are not read");
            feed.refuse("table logs", None, ImportFault::new("too_old", detail));
        }
        Ok(())
    }

    /// Which rows belong to which conversation; without an index, which would order them by ids.
    fn groups(&mut self, feed: &mut PieceFeed<'_>) -> Result<RowGroups, DatabaseFault> {
        let mut groups = RowGroups::of_all();
        let database = &self.database;
        // A turn that leads to no message says nothing of an answer.
        let turns = match self.has_old && self.has_new {
            true => "SELECT id FROM turns NOT INDEXED WHERE tip_message_hash IS NOT NULL",
            false => NONE,
        };
        let turns = SeenIds::of(database, turns)?;
        // What has an answer is known by that, wherever the answer is taken from.
        let answered = match self.has_old {
            true => "SELECT coalesce(conversation_id, id) FROM responses NOT INDEXED",
            false => NONE,
        };
        let answered = SeenIds::of(database, answered)?;
        let mut add = |table: u8, name: &str, sql: &str, known: Option<(usize, &SeenIds)>| {
            let is_known = |row: &ForeignRow<'_>| match known {
                None => Ok(false),
                // What is no text is refused where it is read.
                Some((column, ids)) => {
                    let id = of_piece(row.text(column))?.ok().flatten();
                    Ok(id.is_some_and(|id| ids.has(&id)))
                }
            };
            group_rows_but(database, sql, (table, name), &mut groups, feed, &is_known)
        };
        if self.has_old {
            let sql = "SELECT rowid, coalesce(conversation_id, id) AS conversation_id, id FROM responses NOT INDEXED";
            add(RESPONSES, "responses", sql, Some((2, &turns)))?;
        }
        if database.has("conversations", &["id"]) {
            let sql = "SELECT rowid, id FROM conversations NOT INDEXED";
            add(CONVERSATIONS, "conversations", sql, Some((1, &answered)))?;
        }
        if self.has_new {
            add(
                THREADS,
                "threads",
                "SELECT rowid, id FROM threads NOT INDEXED",
                None,
            )?;
            add(
                TURNS,
                "turns",
                "SELECT rowid, coalesce(thread_id, id) AS thread_id FROM turns NOT INDEXED",
                None,
            )?;
        }
        for (table, into) in [
            ("tool_calls", &mut self.tool_calls),
            ("tool_results", &mut self.tool_results),
        ] {
            if !database.has(table, &["response_id", "name"]) {
                continue;
            }
            let sql =
                format!("SELECT rowid, response_id FROM {table} WHERE response_id IS NOT NULL");
            group_rows(database, &sql, (0, table), into, feed)?;
            let _ = into.sorted();
        }
        Ok(groups)
    }

    /// Reads the rows of one conversation; its title or id goes into `name`.
    fn conversation(
        &self,
        rows: &[(u32, u8, i64)],
        name: &mut Option<String>,
    ) -> Result<SourceConversation, DatabaseFault> {
        let mut tree = MessageTree::default();
        let mut named = LlmName::default();
        let mut tip = None;
        let mut last = None;
        for (_, table, row) in rows {
            match *table {
                THREADS => tip = self.thread(*row, &mut named)?,
                TURNS => self.turn(*row, &mut tree, &mut named)?,
                // One that went on in the newer shape is named there.
                CONVERSATIONS if named.id.is_some() => {}
                CONVERSATIONS => self.unanswered(*row, &mut named)?,
                _ => self.response(*row, &mut tree, &mut last, &mut named)?,
            }
            *name = named.title.clone().or(named.id.clone());
        }
        let tip = match tip {
            Some(tip) => self.walk(&tip, &TurnFacts::default(), &mut tree)?,
            None => None,
        };
        let mut draft = ConversationDraft::new(named.id.as_deref().unwrap_or_default())?;
        draft.title(named.title.as_deref())?;
        let created = draft.utc_moment(named.times.iter().min().map(String::as_str));
        let updated = draft.utc_moment(named.times.iter().max().map(String::as_str));
        draft.whole_times(created, updated);
        let mut kept: Vec<Option<String>> = Vec::new();
        for message in tree.messages {
            let parent = message.parent.and_then(|at| kept[at].clone());
            if message.text.is_empty() {
                draft.skip("empty");
                kept.push(parent);
                continue;
            }
            kept.push(Some(message.id.clone()));
            let at = draft.utc_moment(message.at.as_deref());
            draft.add(SourceMessage {
                id: message.id,
                parent,
                role: message.role,
                text: message.text,
                model: message.model,
                seams: message.seams,
                at,
            })?;
        }
        draft.current(tip.and_then(|at| kept[at].clone()));
        Ok(draft.finish())
    }

    /// Notes what a conversation is called in which nothing was answered.
    fn unanswered(&self, row: i64, named: &mut LlmName) -> Result<(), DatabaseFault> {
        let title = self.database.column_or_null("conversations", "name");
        let sql = format!("SELECT id, {title}, NULL FROM conversations WHERE rowid = ?1");
        let value = [QueryValue::Row(row)];
        self.database.row(&sql, &value, |row| named.see(row))?;
        Ok(())
    }

    /// The message at the end of a thread.
    fn thread(&self, row: i64, named: &mut LlmName) -> Result<Option<String>, DatabaseFault> {
        let at = self.database.column_or_null("threads", "datetime_utc");
        let sql = format!("SELECT id, name, {at}, tip_message_hash FROM threads WHERE rowid = ?1");
        let tip = self.database.row(&sql, &[QueryValue::Row(row)], |row| {
            named.see(row)?;
            row.text(3)
        })?;
        Ok(tip.flatten())
    }

    /// Adds the messages of a turn.
    fn turn(
        &self,
        row: i64,
        tree: &mut MessageTree,
        named: &mut LlmName,
    ) -> Result<(), DatabaseFault> {
        let at = self.database.column_or_null("turns", "datetime_utc");
        let resolved = self.database.column_or_null("turns", "resolved_model");
        let sql = format!(
            "SELECT coalesce(thread_id, id), NULL, {at}, coalesce({resolved}, model), parent_message_hash,
             tip_message_hash FROM turns WHERE rowid = ?1"
        );
        let found = self.database.row(&sql, &[QueryValue::Row(row)], |row| {
            named.see(row)?;
            let facts = TurnFacts {
                input: row.text(4)?,
                model: row.text(3)?,
                at: row.text(2)?,
            };
            Ok((facts, row.text(5)?))
        })?;
        if let Some((facts, Some(tip))) = found {
            self.walk(&tip, &facts, tree)?;
        }
        Ok(())
    }

    /// Adds a message and all before it that are not there yet; where it is in the tree.
    fn walk(
        &self,
        tip: &str,
        turn: &TurnFacts,
        tree: &mut MessageTree,
    ) -> Result<Option<usize>, DatabaseFault> {
        let mut chain = Vec::new();
        let mut on_it = HashSet::new();
        let mut next = Some(tip.to_owned());
        // What a turn was answered with, then what it was asked: both are of its time.
        let (mut is_answer, mut is_question) = (true, false);
        while let Some(hash) = next.take_if(|hash| !tree.by_hash.contains_key(hash)) {
            if !on_it.insert(hash.clone()) {
                let detail = format!("message {hash} stands before itself");
                return Err(ImportFault::new("loop", detail).into());
            }
            if chain.len() == MAX_MESSAGES {
                let detail = format!("it has more than {MAX_MESSAGES} messages");
                return Err(ImportFault::new("too_large", detail).into());
            }
            let sql = "SELECT role, parent_hash FROM messages WHERE hash = ?1";
            let found = self.database.row(sql, &[QueryValue::Text(&hash)], |row| {
                Ok((row.needed_text(0)?, row.text(1)?))
            })?;
            let (word, parent) = found.ok_or_else(|| {
                let detail = format!("message {hash} is named, and is not there");
                ImportFault::new("missing_parent", detail)
            })?;
            let role = role_of(&word)?;
            if is_answer && turn.input.as_ref() == Some(&hash) {
                (is_answer, is_question) = (false, true);
            }
            is_question &= role != ImportedRole::Assistant;
            chain.push((hash, role, is_answer || is_question));
            next = parent;
        }
        let mut above = next.and_then(|hash| tree.by_hash.get(&hash).copied());
        for (hash, role, is_own) in chain.into_iter().rev() {
            let model = turn.model.clone();
            let (text, seams) = self.parts(&hash)?.finish();
            let at = tree.fold(TreeMessage {
                id: hash.clone(),
                parent: above,
                role,
                text,
                seams,
                model: model.filter(|_| is_own && role == ImportedRole::Assistant),
                at: turn.at.clone().filter(|_| is_own),
            })?;
            tree.by_hash.insert(hash, at);
            above = Some(at);
        }
        Ok(above)
    }

    /// What a message of the newer shape says.
    fn parts(&self, hash: &str) -> Result<JoinedText, DatabaseFault> {
        let of = [QueryValue::Text(hash)];
        // Looked at first, since all of them are in memory before the first one is given.
        let sql = "SELECT count(*), ifnull(sum(octet_length(type) + ifnull(octet_length(text), 0)
                     + ifnull(octet_length(payload), 0)), 0) FROM parts WHERE message_hash = ?1";
        let sizes = |row: &ForeignRow<'_>| Ok((row.integer(0)?, row.integer(1)?));
        let (count, bytes) = self.database.row(sql, &of, sizes)?.unwrap_or_default();
        let most = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        if count > most(MAX_MESSAGES) || bytes > most(2 * MAX_CONVERSATION) {
            let detail = format!(
                "message {hash} has {count} parts with {bytes} bytes; {MAX_MESSAGES} and {} are read",
                2 * MAX_CONVERSATION
            );
            return Err(ImportFault::new("too_large", detail).into());
        }
        let sql = "SELECT type, text, payload FROM parts WHERE message_hash = ?1 ORDER BY position";
        let mut rows = Vec::new();
        self.database.rows(sql, &of, |row| {
            rows.push((row.needed_text(0)?, row.text(1)?, row.text(2)?));
            Ok(())
        })?;
        let mut said = JoinedText::new("\n");
        for (kind, text, payload) in rows {
            let payload = payload.map_or(Ok(Value::Null), |text| parse(text.as_bytes()))?;
            self.part(&kind, text, &payload, &mut said)?;
        }
        Ok(said)
    }

    fn part(
        &self,
        kind: &str,
        text: Option<String>,
        payload: &Value,
        said: &mut JoinedText,
    ) -> Result<(), DatabaseFault> {
        let field = |key: &str| payload.get(key).and_then(Value::as_str);
        match kind {
            "text" => match text {
                Some(text) => said.text(&text),
                None => said.text(&self.referring(payload)?),
            },
            "tool_call" => {
                let name = field("name").unwrap_or("without a name");
                said.mark(&format!("[tool: {name}]"));
            }
            "tool_result" => {
                said.text(field("output").unwrap_or_default());
                let attached = payload.get("attachments").and_then(Value::as_array);
                for one in attached.into_iter().flatten() {
                    said.mark(&self.attachment(one.get("id").and_then(Value::as_str))?);
                }
            }
            "attachment" => {
                let one = payload.get("attachment");
                let id = one.and_then(|one| one.get("id")).and_then(Value::as_str);
                said.mark(&self.attachment(id)?);
            }
            other => {
                said.mark(&format!("[{other}]"));
            }
        }
        Ok(())
    }

    /// A text that is made of fragments and words between them.
    fn referring(&self, payload: &Value) -> Result<String, DatabaseFault> {
        let mut text = String::new();
        for piece in payload
            .get("text_ref")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let piece = JsonFields::of(piece, "a piece of a text")?;
            match piece.text("literal")? {
                Some(words) => text.push_str(words),
                None => {
                    let id = piece.0.get("fragment").and_then(Value::as_i64);
                    text.push_str(&self.fragment(JsonFields::needed("fragment", id)?)?);
                }
            }
            if text.len() > MAX_CONVERSATION {
                let detail =
                    format!("a text with its fragments has more than {MAX_CONVERSATION} bytes");
                return Err(ImportFault::new("too_large", detail).into());
            }
        }
        Ok(text)
    }

    fn fragment(&self, id: i64) -> Result<String, DatabaseFault> {
        let sql = "SELECT content FROM fragments WHERE id = ?1";
        let found = match self.database.has("fragments", &["id", "content"]) {
            true => self
                .database
                .row(sql, &[QueryValue::Row(id)], |row| row.text(0))?,
            false => None,
        };
        found.flatten().ok_or_else(|| {
            let detail = format!("fragment {id} is named, and is not there");
            ImportFault::new("missing_fragment", detail).into()
        })
    }

    /// The mark of an attachment.
    fn attachment(&self, id: Option<&str>) -> Result<String, DatabaseFault> {
        let sql = "SELECT type, coalesce(path, url) FROM attachments WHERE id = ?1";
        let one = QueryValue::Text(id.unwrap_or_default());
        let found = match self
            .database
            .has("attachments", &["id", "type", "path", "url"])
        {
            true => self
                .database
                .row(sql, &[one], |row| Ok((row.text(0)?, row.text(1)?)))?,
            false => None,
        };
        let (kind, place) = found.unwrap_or_default();
        let kind = kind.unwrap_or_default();
        Ok(if kind.starts_with("image/") {
            "[image]".to_owned()
        } else if kind.starts_with("audio/") {
            "[audio]".to_owned()
        } else {
            let place = place.unwrap_or_default();
            let name = place
                .rsplit(['/', '\\'])
                .next()
                .filter(|name| !name.is_empty());
            format!("[file: {}]", name.unwrap_or("without a name"))
        })
    }

    /// Adds an answer of the older shape, with what was asked, behind `last`.
    fn response(
        &self,
        row: i64,
        tree: &mut MessageTree,
        last: &mut Option<usize>,
        named: &mut LlmName,
    ) -> Result<(), DatabaseFault> {
        let title = match self.database.has("conversations", &["id", "name"]) {
            true => "(SELECT name FROM conversations c WHERE c.id = conversation_id)",
            false => "NULL",
        };
        let resolved = self.database.column_or_null("responses", "resolved_model");
        let reasoning = self.database.column_or_null("responses", "reasoning");
        let sql = format!(
            "SELECT coalesce(conversation_id, id) AS conversation_id, {title} AS name, datetime_utc, id,
             coalesce({resolved}, model) AS model, system, prompt, response, {reasoning} FROM responses WHERE rowid = ?1"
        );
        let found = self.database.row(&sql, &[QueryValue::Row(row)], |row| {
            named.see(row)?;
            let texts = [row.text(5)?, row.text(6)?, row.text(7)?, row.text(8)?];
            Ok((
                row.needed_text(3)?,
                row.text(4)?,
                row.text(2)?,
                texts.map(Option::unwrap_or_default),
            ))
        })?;
        let Some((id, model, at, [system, prompt, answer, reasoning])) = found else {
            return Ok(());
        };
        let mut fold = |role: ImportedRole, said: JoinedText, of: &str| {
            let is_answer = role == ImportedRole::Assistant;
            let (text, seams) = said.finish();
            // An empty question is none; an empty answer is counted.
            if text.is_empty() && !is_answer {
                return Ok(());
            }
            *last = Some(tree.fold(TreeMessage {
                id: format!("{id}{of}"),
                parent: *last,
                role,
                text,
                seams,
                model: model.clone().filter(|_| is_answer),
                at: at.clone(),
            })?);
            Ok::<(), ImportFault>(())
        };
        let system = self.with_fragments("system_fragments", &id, system.trim(), "\n\n")?;
        fold(ImportedRole::System, system, ":system")?;
        fold(ImportedRole::Tool, self.results(&id)?, ":tools")?;
        let mut asked = self.with_fragments("prompt_fragments", &id, &prompt, "\n")?;
        for mark in self.attached(&id)? {
            asked.mark(&mark);
        }
        fold(ImportedRole::User, asked, ":prompt")?;
        let mut said = JoinedText::new("\n");
        if !reasoning.is_empty() {
            said.mark("[reasoning]");
        }
        said.text(&answer);
        for mark in self.calls(&id)? {
            said.mark(&mark);
        }
        fold(ImportedRole::Assistant, said, "")?;
        Ok(())
    }

    /// Fragments before a text, as the program joins them.
    fn with_fragments(
        &self,
        table: &str,
        response: &str,
        text: &str,
        between: &'static str,
    ) -> Result<JoinedText, DatabaseFault> {
        let mut ids = Vec::new();
        if self
            .database
            .has(table, &["response_id", "fragment_id", "order"])
        {
            let sql = format!(
                "SELECT fragment_id FROM {table} WHERE response_id = ?1 ORDER BY \"order\" LIMIT {}",
                MAX_MESSAGES + 1
            );
            self.database
                .rows(&sql, &[QueryValue::Text(response)], |row| {
                    ids.push(row.integer(0)?);
                    not_too_many(ids.len(), "fragments")
                })?;
        }
        let mut joined = JoinedText::new(between);
        for id in ids {
            joined.text(&self.fragment(id)?);
            if joined.len() > MAX_CONVERSATION {
                let detail = format!("its fragments have more than {MAX_CONVERSATION} bytes");
                return Err(ImportFault::new("too_large", detail).into());
            }
        }
        joined.text(text);
        Ok(joined)
    }

    /// The marks of what was attached to a question.
    fn attached(&self, response: &str) -> Result<Vec<String>, DatabaseFault> {
        let mut ids = Vec::new();
        if self.database.has(
            "prompt_attachments",
            &["response_id", "attachment_id", "order"],
        ) {
            let sql = format!(
                "SELECT attachment_id FROM prompt_attachments WHERE response_id = ?1 ORDER BY \"order\" LIMIT {}",
                MAX_MESSAGES + 1
            );
            self.database
                .rows(&sql, &[QueryValue::Text(response)], |row| {
                    ids.push(row.needed_text(0)?);
                    not_too_many(ids.len(), "attachments")
                })?;
        }
        ids.iter().map(|id| self.attachment(Some(id))).collect()
    }

    /// What tools gave before a question.
    fn results(&self, response: &str) -> Result<JoinedText, DatabaseFault> {
        let mut said = JoinedText::new("\n");
        let mut held = 0;
        for row in self.tool_results.of(response) {
            let sql = "SELECT output FROM tool_results WHERE rowid = ?1";
            let found = self
                .database
                .row(sql, &[QueryValue::Row(row)], |row| row.text(0))?;
            let text = found.flatten().unwrap_or_default();
            held += text.len();
            if held > MAX_CONVERSATION {
                let detail = format!("what tools gave has more than {MAX_CONVERSATION} bytes");
                return Err(ImportFault::new("too_large", detail).into());
            }
            said.text(&text);
        }
        Ok(said)
    }

    /// The marks of tools that an answer calls.
    fn calls(&self, response: &str) -> Result<Vec<String>, DatabaseFault> {
        let mut said = Vec::new();
        for row in self.tool_calls.of(response) {
            let sql = "SELECT name FROM tool_calls WHERE rowid = ?1";
            let found = self
                .database
                .row(sql, &[QueryValue::Row(row)], |row| row.text(0))?;
            let name = found
                .flatten()
                .unwrap_or_else(|| "without a name".to_owned());
            said.push(format!("[tool: {name}]"));
        }
        Ok(said)
    }
}

/// That an answer has not more of something than is read.
fn not_too_many(count: usize, what: &str) -> Result<(), DatabaseFault> {
    if count <= MAX_MESSAGES {
        return Ok(());
    }
    let detail = format!("one of its questions has more than {MAX_MESSAGES} {what}");
    Err(ImportFault::new("too_large", detail).into())
}

/// What the rows of a conversation call it, and their times.
#[derive(Default)]
struct LlmName {
    id: Option<String>,
    title: Option<String>,
    times: Vec<String>,
}

impl LlmName {
    /// Notes the id, the title and the time of a row, its first three columns.
    fn see(&mut self, row: &ForeignRow<'_>) -> Result<(), DatabaseFault> {
        self.id = self.id.take().or(row.text(0)?);
        self.title = self.title.take().or(row.text(1)?);
        self.times.extend(row.text(2)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::database::tests::read_made;
    use crate::import::tests::{conversations, refusals};
    use crate::record::ledger::imported::ImportFormat::Llm;

    /// The tables of `llm` 0.36 that are read, as its migrations make them.
    const OLD: &str = "
        CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
        CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,
            options_json TEXT, response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER,
            datetime_utc TEXT, resolved_model TEXT, reasoning TEXT);
        CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
        CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, \"order\" INTEGER);
        CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
        CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, \"order\" INTEGER);
        CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, \"order\" INTEGER);
        CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT);
        CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT);
        CREATE TABLE _llm_migrations (name TEXT PRIMARY KEY, applied_at TEXT);
        INSERT INTO _llm_migrations VALUES ('m022_response_reasoning', '');";
    const NEW: &str = "
        CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
        CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT,
            tool_name TEXT, text TEXT, payload TEXT);
        CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT,
            datetime_utc TEXT);
        CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
            tip_message_hash TEXT, model TEXT, resolved_model TEXT, datetime_utc TEXT);";

    fn read(more: &str) -> crate::import::tests::ReadPieces {
        read_made(Llm, &format!("{OLD}{NEW}{more}"))
    }

    /// Id, parent and text of each message.
    fn said(conversation: &SourceConversation) -> Vec<(&str, Option<&str>, &str)> {
        let messages = conversation.messages.iter();
        messages
            .map(|m| (m.id.as_str(), m.parent.as_deref(), m.text.as_str()))
            .collect()
    }

    #[test]
    fn the_older_shape_is_read_with_fragments_tools_and_attachments() {
        let read = read(
            "INSERT INTO conversations VALUES ('c', 'Title', 'm');
             INSERT INTO responses VALUES
              ('r1', 'm', 'ask', 'sys', NULL, NULL, 'answer', NULL, 'c', 1, '2024-01-02T03:04:05.5', 'm-1', 'hm'),
              ('r3', 'm', 'alone', NULL, NULL, NULL, 'reply', NULL, NULL, 1, 'yesterday', NULL, NULL),
              ('r2', 'm', '', NULL, NULL, NULL, '', NULL, 'c', 1, '2024-01-02T03:04:07+00:00', NULL, NULL);
             INSERT INTO fragments VALUES (1, 'h', 'first'), (2, 'i', 'second');
             INSERT INTO prompt_fragments VALUES ('r1', 2, 1), ('r1', 1, 0);
             INSERT INTO system_fragments VALUES ('r1', 1, 0);
             INSERT INTO attachments VALUES ('a', 'image/png', '/x/y.png', NULL, x'00'), ('b', 'text/x', '/x/z.txt', NULL, NULL);
             INSERT INTO prompt_attachments VALUES ('r1', 'a', 0), ('r1', 'b', 1), ('r1', 'gone', 2);
             INSERT INTO tool_results VALUES (1, 'r2', 'search', 'found'), (2, 'r2', 'search', 'more');
             INSERT INTO tool_calls VALUES (1, 'r1', 'search', '{}');",
        );
        assert_eq!(read.end.unwrap().version, "m022_response_reasoning");
        let [c, alone] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        assert_eq!(
            (c.source_id.as_str(), c.title.as_deref()),
            ("c", Some("Title"))
        );
        assert_eq!(
            (c.created_at, c.updated_at),
            (Some(1_704_164_645), Some(1_704_164_647))
        );
        let expected = [
            ("r1:system", None, "first\n\nsys"),
            (
                "r1:prompt",
                Some("r1:system"),
                "first\nsecond\nask\n[image]\n[file: z.txt]\n[file: without a name]",
            ),
            (
                "r1",
                Some("r1:prompt"),
                "[reasoning]\nanswer\n[tool: search]",
            ),
            ("r2:tools", Some("r1"), "found\nmore"),
        ];
        assert_eq!(said(c), expected);
        assert_eq!(c.skipped["empty"], 1);
        assert_eq!(c.messages[2].model.as_deref(), Some("m-1"));
        assert_eq!(c.messages[1].model, None);
        assert_eq!(alone.source_id, "r3");
        assert_eq!(alone.skipped["time"], 4);
    }

    #[test]
    fn the_newer_shape_is_read_as_a_tree() {
        let read = read(
            "INSERT INTO threads VALUES ('t', 'Name', 'a2', NULL, '2024-01-02 03:04:00+00:00');
             INSERT INTO turns VALUES ('1', 't', 'u1', 'a1', 'm', NULL, '2024-01-02T03:04:05'),
              ('2', 't', 'u2', 'a2', 'm', 'm-2', '2024-01-02T03:05:05'), ('3', 't', 'u1', 'b1', 'n', NULL, NULL),
              ('4', NULL, NULL, 'u1', 'm', NULL, NULL);
             INSERT INTO messages VALUES ('s', NULL, 'system', NULL), ('u1', 's', 'user', NULL),
              ('a1', 'u1', 'assistant', NULL), ('u2', 'a1', 'user', NULL), ('a2', 'u2', 'assistant', NULL),
              ('b1', 'u1', 'assistant', NULL);
             INSERT INTO fragments VALUES (5, 'h', 'FRAGMENT');
             INSERT INTO attachments VALUES ('x', 'audio/wav', NULL, NULL, NULL);
             INSERT INTO parts(message_hash, position, type, text, payload) VALUES
              ('s', 0, 'text', 'sys', NULL), ('u1', 0, 'text', NULL, '{\"text_ref\":[{\"literal\":\"<\"},{\"fragment\":5},{\"literal\":\">\"}]}'),
              ('a1', 1, 'tool_call', NULL, '{\"name\":\"search\",\"arguments\":{}}'), ('a1', 0, 'reasoning', 'hm', NULL),
              ('u2', 0, 'tool_result', NULL, '{\"name\":\"search\",\"output\":\"found\",\"attachments\":[{\"id\":\"x\"}]}'),
              ('u2', 1, 'attachment', NULL, '{\"attachment\":{\"id\":\"x\"}}'),
              ('a2', 0, 'text', 'done', NULL), ('b1', 0, 'text', 'other', NULL);",
        );
        read.end.unwrap();
        let [t, four] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        let expected = [
            ("s", None, "sys"),
            ("u1", Some("s"), "<FRAGMENT>"),
            ("a1", Some("u1"), "[reasoning]\n[tool: search]"),
            ("u2", Some("a1"), "found\n[audio]\n[audio]"),
            ("a2", Some("u2"), "done"),
            ("b1", Some("u1"), "other"),
        ];
        assert_eq!(said(t), expected);
        assert_eq!(
            (t.title.as_deref(), t.current.as_deref()),
            (Some("Name"), Some("a2"))
        );
        let models: Vec<_> = t.messages.iter().map(|m| m.model.as_deref()).collect();
        assert_eq!(
            models,
            [None, None, Some("m"), None, Some("m-2"), Some("n")]
        );
        let times: Vec<_> = t
            .messages
            .iter()
            .map(|m| m.at.map(|at| at - 1_704_164_640))
            .collect();
        assert_eq!(times, [Some(5), Some(5), Some(5), Some(65), Some(65), None]);
        assert_eq!((four.source_id.as_str(), four.messages.len()), ("4", 2));
    }

    #[test]
    fn what_stands_in_both_shapes_is_taken_once() {
        let read = read(
            "INSERT INTO conversations VALUES ('c', 'Old name', 'm');
             INSERT INTO threads VALUES ('c', 'New name', 'a2', NULL, '2024-01-02 03:04:00+00:00');
             INSERT INTO turns VALUES ('r2', 'c', 'u2', 'a2', 'm', NULL, '2024-01-02T03:06:05');
             INSERT INTO responses(id, model, prompt, response, conversation_id, datetime_utc) VALUES
              ('r1', 'm', 'one', 'eins', 'c', '2024-01-02T03:04:05'), ('r2', 'm', 'two', 'zwei', 'c', NULL);
             INSERT INTO messages VALUES ('u1', NULL, 'user', NULL), ('a1', 'u1', 'assistant', NULL),
              ('u2', 'a1', 'user', NULL), ('a2', 'u2', 'assistant', NULL);
             INSERT INTO parts(message_hash, position, type, text) VALUES ('u1', 0, 'text', 'one'),
              ('a1', 0, 'text', 'eins'), ('u2', 0, 'text', 'two'), ('a2', 0, 'text', 'zwei');",
        );
        read.end.unwrap();
        let [c] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        let texts: Vec<_> = c.messages.iter().map(|m| m.text.as_str()).collect();
        assert_eq!(texts, ["one", "eins", "two", "zwei"]);
        // The older row knows when its messages were, and by which model.
        assert_eq!(c.messages[1].at, Some(1_704_164_645));
        assert_eq!(c.messages[1].model.as_deref(), Some("m"));
        assert_eq!(c.title.as_deref(), Some("New name"));
    }

    #[test]
    fn a_conversation_without_a_message_is_handed_on_once() {
        let read = read(
            "INSERT INTO conversations VALUES ('empty', 'Nothing said', 'm'), ('both', 'Begun', 'm'), ('full', 'Old', 'm'),
              ('went on', x'00', 'm'), ('answered', 'A', 'm'), (NULL, 'Without an id', 'm'), ('blob', x'00', 'm');
             INSERT INTO responses(id, model, prompt, response, conversation_id) VALUES
              ('r', 'm', 'one', 'eins', 'answered'), ('s', 'm', 'two', 'zwei', 'full'), ('u', 'm', 'alone', 'x', NULL);
             INSERT INTO threads VALUES ('both', NULL, NULL, NULL, NULL), ('new', 'New', NULL, NULL, NULL),
              ('went on', 'On', 'a', NULL, NULL);
             INSERT INTO turns VALUES ('s', 'went on', NULL, 'a', 'm', NULL, NULL);
             INSERT INTO messages VALUES ('a', NULL, 'user', NULL);
             INSERT INTO parts(message_hash, position, type, text) VALUES ('a', 0, 'text', 'said');",
        );
        read.end.unwrap();
        let mut found: Vec<_> = conversations(&read.pieces)
            .iter()
            .map(|c| (c.source_id.as_str(), c.title.as_deref(), c.messages.len()))
            .collect();
        found.sort_unstable();
        // All answers of `full` stand in a thread of another id, with which they are counted.
        let expected = [
            ("answered", Some("A"), 2),
            ("both", None, 0),
            ("empty", Some("Nothing said"), 0),
            ("new", Some("New"), 0),
            ("u", None, 2),
            ("went on", Some("On"), 1),
        ];
        assert_eq!(found, expected);
        let expected = [
            ("shape", "table conversations, row 6"),
            ("shape", "table conversations, row 7"),
        ];
        assert_eq!(refusals(&read.pieces), expected);
        // Nor is one lost where no table of answers is there.
        let alone = read_made(
            Llm,
            &format!(
                "{NEW} CREATE TABLE conversations (id TEXT); INSERT INTO conversations VALUES ('c')"
            ),
        );
        alone.end.unwrap();
        assert_eq!(conversations(&alone.pieces)[0].source_id, "c");
    }

    #[test]
    fn a_name_that_is_no_text_is_named_as_its_column_is() {
        let read = read(
            "INSERT INTO conversations VALUES ('c', x'ff00', 'm');
             INSERT INTO responses(id, model, prompt, response, conversation_id) VALUES ('r', 'm', 'p', 'a', 'c')",
        );
        let [crate::import::SourcePiece::Refused(refused)] = &read.pieces[..] else {
            panic!("one is refused");
        };
        assert!(
            refused.detail.contains("its column \"name\""),
            "{}",
            refused.detail
        );
    }

    #[test]
    fn an_answer_whose_turn_leads_to_no_message_is_taken_from_its_row() {
        let read = read(
            "INSERT INTO turns VALUES ('r', 'c', NULL, NULL, 'm', NULL, NULL);
             INSERT INTO responses(id, model, prompt, response, conversation_id) VALUES ('r', 'm', 'two', 'zwei', 'c');",
        );
        read.end.unwrap();
        let [c] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        let texts: Vec<_> = c.messages.iter().map(|m| m.text.as_str()).collect();
        assert_eq!(texts, ["two", "zwei"]);
    }

    #[test]
    fn what_stands_between_two_parts_is_told() {
        let read = read(
            "INSERT INTO threads VALUES ('c', NULL, 'u', NULL, NULL);
             INSERT INTO messages VALUES ('u', NULL, 'user', NULL);
             INSERT INTO parts(message_hash, position, type, text) VALUES ('u', 0, 'text', 'one '),
              ('u', 1, 'picture', NULL), ('u', 2, 'text', ' '), ('u', 3, 'text', 'two'), ('u', 4, 'text', 'three');
             INSERT INTO fragments VALUES (1, 'h', 'four');
             INSERT INTO responses(id, model, prompt, response, conversation_id) VALUES ('a', 'm', 'five', 'six', 'd');
             INSERT INTO prompt_fragments VALUES ('a', 1, 0);",
        );
        read.end.unwrap();
        let read = conversations(&read.pieces);
        let messages = read.iter().flat_map(|c| &c.messages);
        let between: Vec<&str> = messages
            .flat_map(|m| m.seams.iter().map(|seam| &m.text[seam.clone()]))
            .collect();
        assert_eq!(between.len(), 3, "{between:?}");
        for one in [" \n[picture]\n \n", "\n"] {
            assert!(between.contains(&one), "{between:?}");
        }
    }

    #[test]
    fn broken_chains_cost_their_conversation() {
        let read = read(
            "INSERT INTO threads VALUES ('loop', NULL, 'x', NULL, NULL), ('gone', NULL, 'z', NULL, NULL),
              ('role', NULL, 'r', NULL, NULL), ('part', NULL, 'p', NULL, NULL), ('lost', NULL, 'f', NULL, NULL),
              ('good', NULL, 'g', NULL, NULL), ('none', NULL, NULL, NULL, NULL);
             INSERT INTO messages VALUES ('x', 'y', 'user', NULL), ('y', 'x', 'user', NULL), ('z', 'q', 'user', NULL),
              ('r', NULL, 'critic', NULL), ('p', NULL, 'user', NULL), ('f', NULL, 'user', NULL), ('g', NULL, 'user', NULL);
             INSERT INTO parts(message_hash, position, type, text, payload) VALUES ('p', 0, 'text', NULL, '{'),
              ('f', 0, 'text', NULL, '{\"text_ref\":[{\"fragment\":9}]}'), ('g', 0, 'text', 'good', NULL);
             INSERT INTO responses(id, model, response) VALUES ('b', 'm', x'00');
             CREATE TABLE logs (prompt TEXT, response TEXT); INSERT INTO logs VALUES ('a', 'b');",
        );
        read.end.unwrap();
        let expected = [
            ("too_old", "table logs"),
            ("shape", "table responses, row 1"),
            ("loop", "table threads, row 1"),
            ("missing_parent", "table threads, row 2"),
            ("shape", "table threads, row 3"),
            ("not_json", "table threads, row 4"),
            ("missing_fragment", "table threads, row 5"),
        ];
        assert_eq!(refusals(&read.pieces), expected);
        let ids: Vec<_> = conversations(&read.pieces)
            .iter()
            .map(|c| c.source_id.as_str())
            .collect();
        assert_eq!(ids, ["good", "none"]);
    }

    #[test]
    fn a_row_that_belongs_to_nothing_costs_itself_alone() {
        let read = read(
            "INSERT INTO responses(id, model, prompt, response) VALUES ('a', 'm', 'one', 'eins');
             INSERT INTO responses(id, model) VALUES (NULL, 'm'), (x'00', 'm');
             INSERT INTO threads(id) VALUES (x'ff'); INSERT INTO turns(id) VALUES (CAST(x'ff' AS TEXT));
             INSERT INTO tool_calls(response_id, name) VALUES (x'07', 'search');",
        );
        read.end.unwrap();
        let expected = [
            ("shape", "table responses, row 2"),
            ("shape", "table responses, row 3"),
            ("shape", "table threads, row 1"),
            ("not_text", "table turns, row 1"),
            ("shape", "table tool_calls, row 1"),
        ];
        let mut found = refusals(&read.pieces);
        found.sort_by_key(|(_, place)| expected.iter().position(|(_, known)| known == place));
        assert_eq!(found, expected);
        assert_eq!(conversations(&read.pieces).len(), 1);
    }

    #[test]
    fn a_message_of_very_many_parts_is_not_read_into_memory() {
        let read = read(&format!(
            "INSERT INTO threads VALUES ('t', NULL, 'p', NULL, NULL);
             INSERT INTO messages VALUES ('p', NULL, 'user', NULL);
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
             INSERT INTO parts(message_hash, position, type, text)
               SELECT 'p', i, 'text', printf('%.*c', {}, 'x') FROM n;",
            MAX_CONVERSATION / 4
        ));
        assert_eq!(
            refusals(&read.pieces),
            [("too_large", "table threads, row 1")]
        );
    }

    /// A database whose table `logs` has pages that lead to one another: on each of 18 levels both halves lead to
    /// the same page below, so that its rows would be read 2^18 times and more, each time anew.
    fn leading_around(path: &std::path::Path) {
        use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
        let database = rusqlite::Connection::open(path).unwrap();
        database
            .execute_batch(&format!(
                "PRAGMA page_size = 512; {OLD} CREATE TABLE logs(prompt, response);
                 CREATE TABLE spare(a);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
                 INSERT INTO logs SELECT 'a', 'b' FROM n;
                 INSERT INTO spare SELECT printf('%.*c', 400, 'x') FROM logs;"
            ))
            .unwrap();
        let root = |name: &str| -> u64 {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            let page = database.query_row(sql, [name], |row| row.get::<_, i64>(0));
            page.unwrap().try_into().unwrap()
        };
        let (logs, spare) = (root("logs"), root("spare"));
        let pages: i64 = database
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap();
        database.close().unwrap();
        let mut file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let page = |n: u64| SeekFrom::Start((n - 1) * 512);
        let mut rows = [0; 512];
        file.seek(page(logs)).unwrap();
        file.read_exact(&mut rows).unwrap();
        // Pages of the spare table become the levels; the last of them holds the rows.
        let levels: Vec<u64> = (spare + 1..=pages.unsigned_abs()).take(18).collect();
        let chain: Vec<u64> = std::iter::once(logs).chain(levels).collect();
        for pair in chain.windows(2) {
            let below = u32::try_from(pair[1]).unwrap().to_be_bytes();
            let mut bytes = [0; 512];
            // An inner page of a table with one cell: a page below, and a number; then the page to the right.
            bytes[..8].copy_from_slice(&[5, 0, 0, 0, 1, 1, 0xf8, 0]);
            bytes[8..12].copy_from_slice(&below);
            bytes[12..14].copy_from_slice(&504_u16.to_be_bytes());
            bytes[504..508].copy_from_slice(&below);
            bytes[508] = 1;
            file.seek(page(pair[0])).unwrap();
            file.write_all(&bytes).unwrap();
        }
        file.seek(page(chain[chain.len() - 1])).unwrap();
        file.write_all(&rows).unwrap();
    }

    #[test]
    fn pages_that_lead_around_end_the_reading_and_so_does_whoever_stops_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs.db");
        leading_around(&path);
        let read = crate::import::tests::read_path(Llm, &path);
        let why = read.end.unwrap_err().to_string();
        assert!(
            why.contains("its pages lead to one another again and again"),
            "{why}"
        );
        let options = crate::import::ImportOptions::default();
        let stop = options.stop.clone();
        // The first thing that is read of it is where it leads around.
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.cancel();
        });
        let read = crate::import::read(Llm, &path, &options, &mut |_| {
            std::ops::ControlFlow::Continue(())
        });
        stopper.join().unwrap();
        let why = read.unwrap_err().to_string();
        let is_either = why.contains("was stopped") || why.contains("again and again");
        assert!(is_either, "{why}");
    }

    #[test]
    fn each_shape_is_read_without_the_other() {
        let old = read_made(Llm, OLD);
        old.end.unwrap();
        let new = read_made(Llm, NEW);
        assert_eq!(new.end.unwrap().version, "without migrations");
        let later = read_made(Llm, "CREATE TABLE responses (id TEXT, model TEXT)");
        assert!(later.end.unwrap_err().reason.contains("neither the tables"));
    }

    #[test]
    fn a_conversation_has_a_limit() {
        let read = read(&format!(
            "INSERT INTO fragments VALUES (1, 'h', printf('%.*c', {}, 'x'));
             INSERT INTO responses(id, model, prompt, response, conversation_id) VALUES
              ('a', 'm', 'one', 'a', 'c'), ('b', 'm', 'two', 'a', 'c');
             INSERT INTO prompt_fragments VALUES ('a', 1, 0), ('b', 1, 0);
             INSERT INTO threads VALUES ('t', NULL, 'p', NULL, NULL);
             INSERT INTO messages VALUES ('p', NULL, 'user', NULL);
             INSERT INTO parts(message_hash, position, type, payload) VALUES
              ('p', 0, 'text', '{{\"text_ref\":[{{\"fragment\":1}},{{\"fragment\":1}}]}}');",
            MAX_CONVERSATION / 2 + 1
        ));
        let expected = [
            ("too_large", "table responses, row 1"),
            ("too_large", "table threads, row 1"),
        ];
        assert_eq!(refusals(&read.pieces), expected);
    }
}
