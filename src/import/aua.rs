//! The state store of the adaptive utility agent: the database of 1.x, and the files of 0.7.
//!
//! Texts that it has encrypted (`enc:v1:`, AES-256-GCM) are opened with its key, or refused; they are
//! never handed on as they are. Of its audit log the rows are handed on as they were received. What
//! was hashed is not all in them, so a hash that can't be computed again shows nothing by itself.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::database::{
    DatabaseFault, ForeignDatabase, ForeignRow, QueryValue, RowGroups, group_rows, of_piece,
};
use super::draft::{ConversationDraft, PieceFeed, is_text, role_of, seconds_of, whole_seconds};
use super::fault::ImportFault;
use super::file::{ForeignFile, LimitedLine, next_line, trimmed};
use super::json::{JsonFields, MAX_PIECE, parse};
use super::python::python_json;
use super::{
    ImportOptions, MAX_CONVERSATION, SourceAudit, SourceConversation, SourceCorrection,
    SourceError, SourceFile, SourceMessage, SourcePiece, SourcePromotion, TakePiece,
};
use crate::os;
use crate::record::hash::Hash32;

/// How an encrypted text begins.
const ENCRYPTED: &str = "enc:v1:";
/// Tables by their place in a group of rows.
const CONVERSATIONS: u8 = 0;
const MESSAGES: u8 = 1;
/// Most rows of an audit log; all of it is one piece, and in memory.
const MAX_AUDIT_ROWS: usize = 50_000;
/// Most columns of it.
const MAX_AUDIT_COLUMNS: usize = 64;
/// Most values of it.
const MAX_AUDIT_VALUES: usize = 500_000;
/// Most bytes of all texts of a promotion.
const MAX_PROMOTION: usize = 1 << 20;
/// What the row before is called in the first row of an audit log.
const AUDIT_BEGIN: &str = "genesis";

/// The tables that are read.
const READ: [&str; 6] = [
    "audit_log",
    "conversations",
    "corrections",
    "messages",
    "projects",
    "promotions",
];

/// Opens encrypted texts.
struct TextOpener(Result<LessSafeKey, &'static str>);

impl TextOpener {
    fn new(key: Option<&str>) -> TextOpener {
        let made = match key.map(|key| hex::decode(key.trim_ascii())) {
            None => Err("its key, AUA_ENCRYPTION_KEY, was not given"),
            Some(Ok(bytes)) => UnboundKey::new(&AES_256_GCM, &bytes)
                .map(LessSafeKey::new)
                .map_err(|_| "AUA_ENCRYPTION_KEY has not the 64 hexadecimal digits of a key"),
            Some(Err(_)) => Err("AUA_ENCRYPTION_KEY is not hexadecimal"),
        };
        TextOpener(made)
    }

    /// A text as it was before it was encrypted.
    fn open(&self, what: &str, text: String) -> Result<String, ImportFault> {
        let Some(sealed) = text.strip_prefix(ENCRYPTED) else {
            is_text(what, &text)?;
            return Ok(text);
        };
        let closed =
            |why: &str| ImportFault::new("encrypted", format!("{what} is encrypted, and {why}"));
        let key = self.0.as_ref().map_err(|why| closed(why))?;
        let mut bytes = STANDARD
            .decode(sealed)
            .map_err(|_| closed("what is written of it is no base64"))?;
        let wrong = || closed("it does not open under the key AUA_ENCRYPTION_KEY");
        let (nonce, _) = bytes.split_at_checked(NONCE_LEN).ok_or_else(wrong)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| wrong())?;
        let opened = key.open_within(nonce, Aad::empty(), &mut bytes, NONCE_LEN..);
        let opened = opened.map_err(|_| wrong())?.to_vec();
        let text = String::from_utf8(opened).map_err(|_| {
            ImportFault::new("not_text", format!("{what}, opened, is no UTF-8 text"))
        })?;
        is_text(what, &text)?;
        Ok(text)
    }

    /// [`TextOpener::open`], where there is a text.
    fn open_some(&self, what: &str, text: Option<String>) -> Result<Option<String>, ImportFault> {
        text.map(|text| self.open(what, text)).transpose()
    }
}

/// Reads a database of 1.x.
pub(super) fn read(
    file: &ForeignFile,
    options: &ImportOptions<'_>,
    feed: &mut PieceFeed<'_>,
) -> Result<String, SourceError> {
    let store = AuaStore {
        database: ForeignDatabase::open(file)?,
        opener: TextOpener::new(options.aua_key),
    };
    store.database.has_none_strange(file, &READ)?;
    let columns = [
        "message_id",
        "conversation_id",
        "role",
        "content",
        "created_at",
    ];
    let titled = ["conversation_id", "title"];
    let missing = [("conversations", &titled[..]), ("messages", &columns)]
        .into_iter()
        .flat_map(|(table, columns)| store.missing(table, columns));
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        return Err(file.error(
            format!(
                "it has not what the state store of 1.x has: {}",
                missing.join(", ")
            ),
            "Name the database of an agent of version 1 (.aua/state/aua.db)",
        ));
    }
    let torn = |fault: DatabaseFault| fault.of_file(file);
    store.conversations(feed).map_err(torn)?;
    store.corrections(feed).map_err(torn)?;
    store.promotions(feed).map_err(torn)?;
    store.audit(feed).map_err(torn)?;
    Ok("1".to_owned())
}

/// An open database of 1.x.
struct AuaStore {
    database: ForeignDatabase,
    opener: TextOpener,
}

impl AuaStore {
    /// What of a table is not there: the table, or columns of it.
    fn missing(&self, table: &str, columns: &[&str]) -> Vec<String> {
        if self.database.columns(table).is_none() {
            return vec![format!("the table {table}")];
        }
        let gone = columns
            .iter()
            .filter(|column| !self.database.has(table, &[**column]));
        gone.map(|column| format!("the column {column} of the table {table}"))
            .collect()
    }

    fn conversations(&self, feed: &mut PieceFeed<'_>) -> Result<(), DatabaseFault> {
        let mut groups = RowGroups::of_all();
        for (table, name) in [(CONVERSATIONS, "conversations"), (MESSAGES, "messages")] {
            let sql = format!("SELECT rowid, conversation_id FROM {name} NOT INDEXED");
            group_rows(&self.database, &sql, (table, name), &mut groups, feed)?;
        }
        for rows in groups.sorted() {
            if feed.is_over() {
                break;
            }
            let mut name = None;
            let read = of_piece(self.conversation(rows, &mut name))?;
            let table = if rows[0].1 == CONVERSATIONS {
                "conversations"
            } else {
                "messages"
            };
            let place = format!("table {table}, row {}", rows[0].2);
            feed.conversation(&place, name.as_deref(), read);
        }
        Ok(())
    }

    /// Reads the rows of one conversation; its title or id goes into `name`.
    fn conversation(
        &self,
        rows: &[(u32, u8, i64)],
        name: &mut Option<String>,
    ) -> Result<SourceConversation, DatabaseFault> {
        let mut draft = None;
        for (_, table, row) in rows {
            let value = [QueryValue::Row(*row)];
            if *table == CONVERSATIONS {
                let project = match self.database.has("projects", &["project_id", "name"]) {
                    true => "(SELECT name FROM projects p WHERE p.project_id = c.project_id)",
                    false => "NULL",
                };
                let sql = format!(
                    "SELECT conversation_id, title, {project}, created_at, updated_at FROM conversations c \
                     WHERE rowid = ?1"
                );
                let found = self.database.row(&sql, &value, |row| {
                    let id = row.needed_text(0)?;
                    *name = Some(id.clone());
                    let mut draft = ConversationDraft::new(&id)?;
                    let title = self.opener.open_some("its title", row.text(1)?)?;
                    let project = self.opener.open_some("its project", row.text(2)?)?;
                    draft.title(title.as_deref())?;
                    draft.project(project.as_deref())?;
                    draft.times(row.number(3)?, row.number(4)?);
                    *name = title.filter(|title| !title.is_empty()).or(Some(id));
                    Ok(draft)
                })?;
                draft = found;
                continue;
            }
            let models = self.database.column_or_null("messages", "models_used");
            let sql = format!(
                "SELECT message_id, conversation_id, role, content, created_at, {models} FROM messages \
                 WHERE rowid = ?1"
            );
            self.database.row(&sql, &value, |row| {
                // Messages of a conversation that is not there are a conversation without a title.
                let draft = match &mut draft {
                    Some(draft) => draft,
                    None => {
                        let id = row.needed_text(1)?;
                        *name = Some(id.clone());
                        draft.insert(ConversationDraft::new(&id)?)
                    }
                };
                let word = row.needed_text(2)?;
                let content = row.text(3)?;
                let text = self
                    .opener
                    .open_some("a message", content)?
                    .unwrap_or_default();
                if text.is_empty() {
                    draft.skip("empty");
                    return Ok(());
                }
                let at = draft.moment(row.number(4)?);
                let message = SourceMessage {
                    id: row.needed_text(0)?,
                    parent: draft.last_id().map(str::to_owned),
                    role: role_of(&word)?,
                    text,
                    seams: Vec::new(),
                    model: models_of(self.text(row, "its model", 5)?),
                    at,
                };
                Ok(draft.add(message)?)
            })?;
        }
        let draft = draft.ok_or_else(|| ImportFault::shape("it has no rows any more"))?;
        Ok(draft.finish())
    }

    fn corrections(&self, feed: &mut PieceFeed<'_>) -> Result<(), DatabaseFault> {
        let columns = [
            "subject",
            "domain",
            "claim",
            "rejected",
            "confidence",
            "created_at",
        ];
        if !self.database.has("corrections", &columns) {
            return Ok(());
        }
        let decay = self.database.column_or_null("corrections", "decay_class");
        let sql = format!(
            "SELECT subject, domain, claim, rejected, confidence, created_at, {decay} FROM corrections \
             WHERE rowid = ?1"
        );
        self.each_of("corrections", &sql, feed, |row| {
            let text = |what, column| self.text(row, what, column);
            let correction = SourceCorrection {
                subject: text("its subject", 0)?.filter(|text| !text.is_empty()),
                domain: text("its domain", 1)?.filter(|text| !text.is_empty()),
                claim: text("its claim", 2)?.unwrap_or_default(),
                rejected: text("what it rejects", 3)?.unwrap_or_default(),
                confidence: thousandths(row.number(4)?)?,
                decay: decay_of(text("its decay class", 6)?)?,
                at: row.number(5)?.and_then(whole_seconds),
            };
            Ok(SourcePiece::Correction(whole(correction)?))
        })
    }

    fn promotions(&self, feed: &mut PieceFeed<'_>) -> Result<(), DatabaseFault> {
        let columns = [
            "id",
            "created_at",
            "specialist",
            "event",
            "from_model",
            "to_model",
            "reverted",
            "metadata",
        ];
        if !self.database.has("promotions", &columns) {
            return Ok(());
        }
        let sql = format!(
            "SELECT {} FROM promotions WHERE rowid = ?1",
            columns.join(", ")
        );
        self.each_of("promotions", &sql, feed, |row| {
            let text = |what, column| self.text(row, what, column);
            let metadata = text("its metadata", 7)?;
            Ok(whole_promotion(SourcePromotion {
                id: row.needed_text(0)?,
                at: row.number(1)?.and_then(whole_seconds),
                specialist: text("its specialist", 2)?.unwrap_or_default(),
                event: event_of(&text("its event", 3)?.unwrap_or_default())?,
                from_model: text("the model before", 4)?,
                to_model: text("the model after", 5)?,
                is_reverted: row.number(6)?.is_some_and(|n| n != 0.0),
                metadata: metadata.filter(|text| !matches!(text.trim(), "" | "{}")),
            })?)
        })
    }

    /// A text of a column, opened.
    fn text(
        &self,
        row: &ForeignRow<'_>,
        what: &'static str,
        column: usize,
    ) -> Result<Option<String>, DatabaseFault> {
        Ok(self.opener.open_some(what, row.text(column)?)?)
    }

    /// Hands on what each row of a table is; one that can't be taken is refused by its number.
    fn each_of(
        &self,
        table: &str,
        sql: &str,
        feed: &mut PieceFeed<'_>,
        make: impl Fn(&ForeignRow<'_>) -> Result<SourcePiece, DatabaseFault>,
    ) -> Result<(), DatabaseFault> {
        for row in self.numbers(table)? {
            if feed.is_over() {
                break;
            }
            let read = self.database.row(sql, &[QueryValue::Row(row)], &make);
            match of_piece(read)? {
                Ok(Some(piece)) => feed.piece(piece),
                Ok(None) => {}
                Err(fault) => feed.refuse(&format!("table {table}, row {row}"), None, fault),
            }
        }
        Ok(())
    }

    /// The numbers of all rows of a table.
    fn numbers(&self, table: &str) -> Result<Vec<i64>, DatabaseFault> {
        let mut groups = RowGroups::of_some();
        self.database
            .rows(&format!("SELECT rowid FROM {table}"), &[], |row| {
                groups.add("", 0, row.integer(0)?)
            })?;
        let _ = groups.sorted();
        Ok(groups.of("").collect())
    }

    fn audit(&self, feed: &mut PieceFeed<'_>) -> Result<(), DatabaseFault> {
        if feed.is_over()
            || !self
                .database
                .has("audit_log", &["id", "prev_hash", "curr_hash"])
        {
            return Ok(());
        }
        match of_piece(self.audit_rows())? {
            Ok(rows) if rows.is_empty() => {}
            Ok(rows) => feed.piece(SourcePiece::Audit(audited(rows))),
            Err(fault) => feed.refuse("table audit_log", None, fault),
        }
        Ok(())
    }

    fn audit_rows(&self) -> Result<Vec<Map<String, Value>>, DatabaseFault> {
        let columns = self.database.columns("audit_log").unwrap_or_default();
        if columns.len() > MAX_AUDIT_COLUMNS {
            let detail = format!(
                "it has {} columns; {MAX_AUDIT_COLUMNS} are read",
                columns.len()
            );
            return Err(ImportFault::new("too_large", detail).into());
        }
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let list: Vec<String> = columns.iter().map(quoted).collect();
        let sql = format!("SELECT {} FROM audit_log NOT INDEXED", list.join(", "));
        let (mut rows, mut held) = (Vec::new(), 0);
        self.database.rows(&sql, &[], |row| {
            let mut values = Map::new();
            for (at, name) in columns.iter().enumerate() {
                let value = match row.json(at)? {
                    Value::String(text) => {
                        let text = self.opener.open("a text of the audit log", text)?;
                        held += text.len();
                        Value::String(text)
                    }
                    other => other,
                };
                values.insert(name.clone(), value);
            }
            rows.push(values);
            let is_too_long =
                rows.len() > MAX_AUDIT_ROWS || rows.len() * columns.len() > MAX_AUDIT_VALUES;
            if is_too_long || held > MAX_CONVERSATION {
                let detail = format!(
                    "it has more than {MAX_AUDIT_ROWS} rows, {MAX_AUDIT_VALUES} values or {MAX_CONVERSATION} bytes of text"
                );
                return Err(ImportFault::new("too_large", detail).into());
            }
            Ok(())
        })?;
        Ok(rows)
    }
}

/// Rows of an audit log, with what can be computed of them.
fn audited(rows: Vec<Map<String, Value>>) -> SourceAudit {
    fn text<'a>(row: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
        row.get(name).and_then(Value::as_str)
    }
    let pairs = rows.windows(2).filter(|pair| {
        let before = text(&pair[0], "curr_hash");
        before.is_some() && before == text(&pair[1], "prev_hash")
    });
    let linked = pairs.count() as u64;
    let same = rows.iter().filter(|row| {
        let before = text(row, "prev_hash").unwrap_or(AUDIT_BEGIN);
        text(row, "curr_hash").is_some_and(|hash| {
            let of = |event: &Map<String, Value>| {
                let hashed = format!("{before}:{}", python_json(event));
                Hash32::digest(hashed.as_bytes()).to_string() == hash
            };
            events_of(row).iter().any(of)
        })
    });
    let same = same.count() as u64;
    let other = rows.len() as u64 - same;
    SourceAudit {
        rows,
        linked,
        computed: (same, other),
    }
}

/// What may have been hashed of a row: the columns that were given, with details as an object, as a
/// text, or not given; with the id and the time, or without.
fn events_of(row: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut given = row.clone();
    given.retain(|name, value| {
        !value.is_null() && !matches!(name.as_str(), "prev_hash" | "curr_hash")
    });
    let mut events = vec![given.clone()];
    if let Some(Value::String(text)) = given.get("details") {
        if let Ok(details) = parse(text.as_bytes()) {
            let mut as_object = given.clone();
            as_object.insert("details".to_owned(), details);
            events.push(as_object);
        }
        given.remove("details");
        events.push(given);
    }
    let mut without = events.clone();
    for event in &mut without {
        event.remove("id");
        event.remove("created_at");
    }
    events.extend(without);
    events
}

/// The models of an answer, which the store has as a list.
fn models_of(text: Option<String>) -> Option<String> {
    let text = text?;
    let Ok(Value::Array(list)) = parse(text.as_bytes()) else {
        return Some(text).filter(|text| !text.is_empty());
    };
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}

/// A part of one in thousandths.
fn thousandths(part: Option<f64>) -> Result<u16, ImportFault> {
    let part = JsonFields::needed("confidence", part)?;
    if !(0.0..=1.0).contains(&part) {
        return Err(ImportFault::shape(format!(
            "its confidence is {part}; a number from 0 to 1 was expected"
        )));
    }
    Ok((part * 1000.0).round() as u16)
}

fn decay_of(word: Option<String>) -> Result<Option<char>, ImportFault> {
    let Some(word) = word else { return Ok(None) };
    match word.as_bytes() {
        [class @ b'A'..=b'D'] => Ok(Some(char::from(*class))),
        _ => Err(ImportFault::shape(format!(
            "its decay class is {word:?}; A, B, C or D was expected"
        ))),
    }
}

fn event_of(word: &str) -> Result<String, ImportFault> {
    match word {
        "promote" | "rollback" => Ok(word.to_owned()),
        _ => Err(ImportFault::shape(format!(
            "its event is {word:?}; promote or rollback was expected"
        ))),
    }
}

/// A promotion whose texts are texts, and not too much.
fn whole_promotion(promotion: SourcePromotion) -> Result<SourcePiece, ImportFault> {
    let texts = [
        Some(&promotion.id),
        Some(&promotion.specialist),
        promotion.from_model.as_ref(),
        promotion.to_model.as_ref(),
        promotion.metadata.as_ref(),
    ];
    let mut held = 0;
    for text in texts.into_iter().flatten() {
        is_text("the promotion", text)?;
        held += text.len();
    }
    if held > MAX_PROMOTION {
        let detail = format!("its texts have {held} bytes; {MAX_PROMOTION} are read");
        return Err(ImportFault::new("too_large", detail));
    }
    Ok(SourcePiece::Promotion(promotion))
}

/// A correction that says something, and not too much.
fn whole(correction: SourceCorrection) -> Result<SourceCorrection, ImportFault> {
    if correction.claim.is_empty() {
        return Err(ImportFault::new("empty", "its claim is empty"));
    }
    let held = correction.claim.len() + correction.rejected.len();
    if held > MAX_CONVERSATION {
        let detail = format!("its texts have more than {MAX_CONVERSATION} bytes");
        return Err(ImportFault::new("too_large", detail));
    }
    Ok(correction)
}

/// Where the promotions of 0.7 are, in the folder of a project.
const PROMOTIONS: &str = ".aua/state/promotions.jsonl";
/// Where its pairs of texts are, one better than the other: its document doesn't say whether beside the state or
/// among it.
const PAIRS: [&str; 2] = ["dpo_pairs", ".aua/state/dpo_pairs"];
/// What people do about one of them that can't be read.
const MEND: &str =
    "Mend that, and give the same command again: what is on record already is not recorded twice";

/// Reads the files of 0.7 in a folder: `.aua/state/promotions.jsonl` and `*.jsonl` in [`PAIRS`], each
/// line one piece. What is known of each file that could be read comes back, by its name in the folder;
/// one that could not is handed on as refused.
///
/// # Errors
///
/// [`SourceError`] if there is none of them, or none can be read.
pub(super) fn read_flat(
    folder: &Path,
    stop: &CancellationToken,
    take: TakePiece<'_>,
) -> Result<Vec<(String, SourceFile)>, SourceError> {
    let mut feed = PieceFeed::new(take);
    let mut faults = Vec::new();
    let is_file = folder.metadata().is_ok_and(|found| !found.is_dir());
    let paths = match is_file {
        true => Vec::new(),
        false => flat_files(folder, &mut faults),
    };
    if paths.is_empty() && faults.is_empty() {
        return Err(SourceError {
            file: None,
            place: folder.display().to_string(),
            reason: match folder.is_dir() {
                true => nothing_found(folder),
                false if is_file => "it is no folder".to_owned(),
                false => "there is no such folder".to_owned(),
            },
            remedy: "Name the folder of a project of version 0.7".to_owned(),
        });
    }
    let mut read = Vec::new();
    for path in paths {
        if feed.is_over() {
            break;
        }
        let name = name_in(folder, &path);
        match flat_file(&path, &name, stop, &mut feed) {
            Ok(file) => read.push((name, file)),
            Err(error) => {
                // What was handed on before came from it.
                read.extend(error.file.clone().map(|file| (name.clone(), *file)));
                faults.push((name, error));
            }
        }
    }
    match faults.is_empty() || !read.is_empty() {
        true => {
            for (name, error) in faults {
                let why = format!("{}. {MEND}", error.reason);
                feed.refuse(&name, None, ImportFault::new("unread", why));
            }
            Ok(read)
        }
        false => Err(faults.swap_remove(0).1),
    }
}

/// That a folder has none of the files, with the whole path of each that was looked for.
fn nothing_found(folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let pairs = PAIRS.map(|pairs| whole.join(pairs).join("*.jsonl"));
    let sought = [whole.join(PROMOTIONS)].into_iter().chain(pairs);
    let sought: Vec<String> = sought.map(|path| path.display().to_string()).collect();
    format!("none of these files is there: {}", sought.join(", "))
}

/// How a file of a folder is called.
fn name_in(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap_or(path);
    name.to_string_lossy().into_owned()
}

/// The files of 0.7 that a folder has, promotions first; what there could be and can't be looked at goes
/// into `faults`.
fn flat_files(folder: &Path, faults: &mut Vec<(String, SourceError)>) -> Vec<PathBuf> {
    let mut unread = |path: &Path, error: &io::Error| {
        let name = name_in(folder, path);
        let error = SourceError {
            file: None,
            place: name.clone(),
            reason: os::why_unread(error),
            remedy: MEND.to_owned(),
        };
        faults.push((name, error));
    };
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let promotions = folder.join(PROMOTIONS);
    let mut found = Vec::new();
    // A link that leads nowhere is there, and is no file: opening it says so.
    match promotions.symlink_metadata() {
        Ok(_) => found.push(promotions),
        Err(error) if is_gone(&error) => {}
        Err(error) => unread(&promotions, &error),
    }
    for pairs in PAIRS.map(|pairs| folder.join(pairs)) {
        let mut all = Vec::new();
        match pairs.read_dir() {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => all.push(entry.path()),
                        Err(error) => unread(&pairs, &error),
                    }
                }
            }
            Err(error) if is_gone(&error) && pairs.symlink_metadata().is_err() => {}
            Err(error) => unread(&pairs, &error),
        }
        all.retain(|path| path.as_os_str().as_encoded_bytes().ends_with(b".jsonl"));
        all.sort();
        found.extend(all);
    }
    found
}

/// Reads one file of 0.7.
fn flat_file(
    path: &Path,
    name: &str,
    stop: &CancellationToken,
    feed: &mut PieceFeed<'_>,
) -> Result<SourceFile, SourceError> {
    let file = ForeignFile::open(path, stop)?;
    let make = match name == PROMOTIONS {
        true => flat_promotion,
        false => flat_correction,
    };
    flat_lines(&file, name, make, feed)?;
    file.finish("0.7".to_owned())
}

/// Hands on each line of a file.
fn flat_lines(
    file: &ForeignFile,
    name: &str,
    make: fn(&[u8]) -> Result<SourcePiece, ImportFault>,
    feed: &mut PieceFeed<'_>,
) -> Result<(), SourceError> {
    let mut reader = file.reader()?;
    let mut line = Vec::new();
    for number in 1_u64.. {
        let kind = next_line(&mut reader, MAX_PIECE, &mut line);
        let (kind, _) = kind.map_err(|error| file.unread(&error))?;
        let read = match kind {
            _ if feed.is_over() => break,
            LimitedLine::End => break,
            LimitedLine::TooLarge(bytes) => Err(ImportFault::new(
                "too_large",
                format!("it has {bytes} bytes; {MAX_PIECE} are read"),
            )),
            LimitedLine::Whole if trimmed(&line).is_empty() => continue,
            LimitedLine::Whole => make(trimmed(&line)),
        };
        match read {
            Ok(piece) => feed.piece(piece),
            Err(fault) => feed.refuse(&format!("{name}, line {number}"), None, fault),
        }
    }
    Ok(())
}

fn flat_promotion(line: &[u8]) -> Result<SourcePiece, ImportFault> {
    let value = parse(line)?;
    let fields = JsonFields::of(&value, "the line")?;
    let owned = |name: &str| Ok::<_, ImportFault>(fields.text(name)?.map(str::to_owned));
    let mut others = fields.0.clone();
    let columns = [
        "id",
        "timestamp",
        "created_at",
        "specialist",
        "event",
        "from_model",
        "to_model",
        "reverted",
    ];
    others.retain(|name, value| !columns.contains(&name.as_str()) && !value.is_null());
    let at = ["timestamp", "created_at"]
        .into_iter()
        .find_map(|name| fields.0.get(name));
    // One without an id is known by all that it says.
    let id = match owned("id")? {
        Some(id) => id,
        None => format!("line-{}", &Hash32::digest(line).to_string()[..16]),
    };
    let is_reverted = match fields.0.get("reverted") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => fields.number("reverted")? != Some(0.0),
    };
    let promotion = SourcePromotion {
        id,
        at: at.and_then(seconds_of),
        specialist: JsonFields::needed("specialist", owned("specialist")?)?,
        event: event_of(fields.text("event")?.unwrap_or_default())?,
        from_model: owned("from_model")?,
        to_model: owned("to_model")?,
        is_reverted,
        metadata: (!others.is_empty()).then(|| Value::Object(others).to_string()),
    };
    whole_promotion(promotion)
}

fn flat_correction(line: &[u8]) -> Result<SourcePiece, ImportFault> {
    let value = parse(line)?;
    let fields = JsonFields::of(&value, "the line")?;
    let text = |name: &str| {
        let text = fields.text(name)?.unwrap_or_default();
        is_text(name, text)?;
        Ok::<_, ImportFault>(text.to_owned())
    };
    let domain = Some(text("domain")?).filter(|domain| !domain.is_empty());
    let at = ["timestamp", "created_at"]
        .into_iter()
        .find_map(|name| fields.0.get(name));
    let correction = SourceCorrection {
        subject: Some(text("prompt")?).filter(|subject| !subject.is_empty()),
        domain: domain.or(Some("general".to_owned())),
        claim: text("chosen")?,
        rejected: text("rejected")?,
        confidence: thousandths(fields.number("confidence")?.or(Some(0.7)))?,
        decay: decay_of(fields.text("decay_class")?.map(str::to_owned))?,
        at: at.and_then(seconds_of),
    };
    Ok(SourcePiece::Correction(whole(correction)?))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::import::database::tests::{made, read_made};
    use crate::import::tests::{conversations, refusals};
    use crate::record::ledger::imported::ImportFormat::Aua;

    const TABLES: &str = "
        CREATE TABLE conversations (conversation_id TEXT PRIMARY KEY, user_id TEXT, title TEXT, project_id TEXT,
            created_at REAL, updated_at REAL);
        CREATE TABLE messages (message_id TEXT PRIMARY KEY, conversation_id TEXT, role TEXT, content TEXT,
            models_used TEXT, created_at REAL);
        CREATE TABLE projects (project_id TEXT PRIMARY KEY, name TEXT);
        CREATE TABLE corrections (id TEXT PRIMARY KEY, created_at REAL, subject TEXT, domain TEXT, claim TEXT,
            rejected TEXT, confidence REAL, source TEXT, effective_confidence REAL, decay_class TEXT, metadata TEXT);
        CREATE TABLE promotions (id TEXT PRIMARY KEY, created_at REAL, specialist TEXT, event TEXT,
            from_model TEXT, to_model TEXT, reverted INTEGER, metadata TEXT);
        CREATE TABLE audit_log (id TEXT PRIMARY KEY, created_at REAL, event_type TEXT, u_score REAL,
            details TEXT, prev_hash TEXT, curr_hash TEXT);";
    /// By aua.encryption 1.2.0 with the package cryptography: key 00 01 … 1f, nonce 00 01 … 0b.
    const SEALED: &str = "enc:v1:AAECAwQFBgcICQoLE2qzO6KXAafjJLff1IxYjxtDoPk0zbthThxi3WmgSD8QtQ==";
    const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn with_key(more: &str, key: &str) -> Vec<SourcePiece> {
        let (_folder, path) = made(&format!("{TABLES}{more}"));
        let mut pieces = Vec::new();
        let options = ImportOptions {
            aua_key: Some(key),
            ..ImportOptions::default()
        };
        crate::import::read(Aua, &path, &options, &mut |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        })
        .unwrap();
        pieces
    }

    #[test]
    fn a_message_of_no_conversation_costs_itself_alone() {
        let read = read_made(
            Aua,
            &format!(
                "{TABLES} INSERT INTO conversations(conversation_id, title) VALUES ('c', 'T'), (NULL, 'none');
                 INSERT INTO messages(message_id, conversation_id, role, content) VALUES
                  ('1', NULL, 'user', 'lost'), ('2', 'c', 'user', 'kept');"
            ),
        );
        read.end.unwrap();
        let expected = [
            ("shape", "table conversations, row 2"),
            ("shape", "table messages, row 1"),
        ];
        assert_eq!(refusals(&read.pieces), expected);
        assert_eq!(conversations(&read.pieces)[0].messages.len(), 1);
    }

    #[test]
    fn a_file_of_an_agent_that_cannot_be_read_is_named_and_the_others_are_read() {
        use std::os::unix::ffi::OsStringExt as _;
        let folder = tempfile::tempdir().unwrap();
        let pairs = folder.path().join(PAIRS[0]);
        std::fs::create_dir_all(folder.path().join(".aua/state")).unwrap();
        std::fs::create_dir(&pairs).unwrap();
        let nowhere = folder.path().join(PROMOTIONS);
        std::os::unix::fs::symlink("nowhere", nowhere).unwrap();
        let pair = r#"{"prompt":"p","chosen":"c","rejected":"r"}"#;
        let strange = std::ffi::OsString::from_vec(b"b\xff.jsonl".to_vec());
        // What an editor puts before a text is none of it.
        std::fs::write(pairs.join(strange), format!("\u{feff}{pair}\n")).unwrap();
        std::fs::create_dir(pairs.join("a.jsonl")).unwrap();
        std::os::unix::fs::symlink("nowhere", pairs.join("c.jsonl")).unwrap();
        let mut pieces = Vec::new();
        let read = read_flat(folder.path(), &CancellationToken::new(), &mut |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        });
        let names: Vec<String> = read.unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["dpo_pairs/b\u{fffd}.jsonl"]);
        let expected = [
            ("unread", PROMOTIONS),
            ("unread", "dpo_pairs/a.jsonl"),
            ("unread", "dpo_pairs/c.jsonl"),
        ];
        assert_eq!(refusals(&pieces), expected);
        assert!(matches!(pieces[0], SourcePiece::Correction(_)));
        // With nothing that can be read it is an error of all of it; so is a folder of pairs that is none.
        std::fs::remove_dir_all(&pairs).unwrap();
        std::fs::write(&pairs, "").unwrap();
        let read = read_flat(folder.path(), &CancellationToken::new(), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(read.is_err());
    }

    #[test]
    fn a_promotion_and_an_audit_log_have_a_limit() {
        let read = read_made(
            Aua,
            &format!(
                "{TABLES} INSERT INTO promotions VALUES
                 ('p', 1, 's', 'promote', NULL, NULL, 0, printf('%.*c', {}, 'x'));",
                MAX_PROMOTION
            ),
        );
        assert_eq!(
            refusals(&read.pieces),
            [("too_large", "table promotions, row 1")]
        );
    }

    #[test]
    fn conversations_have_their_projects_and_models() {
        let read = read_made(
            Aua,
            &format!(
                "{TABLES} INSERT INTO projects VALUES ('p', 'Law');
                 INSERT INTO conversations VALUES ('c', 'local', 'Title', 'p', 1700000000.9, 1700000001.2),
                  ('d', 'local', '', NULL, 1e13, NULL), ('e', 'local', 'E', NULL, 0, 0);
                 INSERT INTO messages VALUES ('1', 'c', 'user', 'ask', NULL, 1700000000),
                  ('2', 'orphan', 'user', 'alone', NULL, 1), ('3', 'c', 'assistant', NULL, NULL, 1),
                  ('4', 'c', 'assistant', 'answer', '[\"a\",\"b\"]', 1700000001.5), ('5', 'e', 'bot', 'x', 'm', 1)"
            ),
        );
        assert_eq!(read.end.unwrap().version, "1");
        let [c, d, orphan] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        assert_eq!(
            (c.title.as_deref(), c.project.as_deref()),
            (Some("Title"), Some("Law"))
        );
        assert_eq!(
            (c.created_at, c.updated_at),
            (Some(1_700_000_000), Some(1_700_000_001))
        );
        assert_eq!(c.messages[1].parent.as_deref(), Some("1"));
        assert_eq!(c.messages[1].model.as_deref(), Some("a, b"));
        assert_eq!(c.skipped["empty"], 1);
        assert_eq!((d.title.as_deref(), d.skipped["time"]), (None, 1));
        assert_eq!(
            (orphan.source_id.as_str(), orphan.messages.len()),
            ("orphan", 1)
        );
        assert_eq!(
            refusals(&read.pieces),
            [("shape", "table conversations, row 3")]
        );
    }

    #[test]
    fn encrypted_texts_are_opened_or_refused() {
        let rows = format!(
            "INSERT INTO conversations VALUES ('c', 'local', '{SEALED}', NULL, 1, 1), ('d', 'local', 'D', NULL, 1, 1);
             INSERT INTO messages VALUES ('1', 'd', 'user', '{SEALED}', NULL, 1);
             INSERT INTO corrections VALUES ('k', 1, 's', 'd', '{SEALED}', '', 0.5, 'a', 0.5, 'B', '{{}}');
             INSERT INTO promotions VALUES ('k', 1, '{SEALED}', 'promote', NULL, NULL, 0, '{{}}');
             INSERT INTO audit_log VALUES ('a', 1, 'query', 0.5, '{SEALED}', 'genesis', 'x');"
        );
        let opened = with_key(&rows, KEY);
        assert!(refusals(&opened).is_empty(), "{opened:?}");
        let [c, d] = &conversations(&opened)[..] else {
            panic!("{opened:?}")
        };
        assert_eq!(c.title.as_deref(), Some("The grüne Tee ☕"));
        assert_eq!(d.messages[0].text, "The grüne Tee ☕");
        let keys = [
            KEY.replace("1f", "1e"),
            KEY[2..].to_owned(),
            "no".to_owned(),
        ];
        let closed = |pieces: &[SourcePiece]| {
            let reasons: Vec<_> = refusals(pieces).iter().map(|refused| refused.0).collect();
            assert_eq!(reasons, ["encrypted"; 5]);
            assert!(!format!("{pieces:?}").contains("enc:v1"), "{pieces:?}");
        };
        closed(&read_made(Aua, &format!("{TABLES}{rows}")).pieces);
        for key in &keys {
            closed(&with_key(&rows, key));
        }
        for sealed in [
            "enc:v1:",
            "enc:v1:AAEC",
            "enc:v1:!",
            &SEALED[..SEALED.len() - 4],
        ] {
            let opener = TextOpener::new(Some(KEY));
            let fault = opener.open("it", sealed.to_owned()).unwrap_err();
            assert_eq!(fault.reason, "encrypted", "{sealed}");
        }
    }

    #[test]
    fn corrections_and_promotions_are_read() {
        let read = read_made(
            Aua,
            &format!(
                "{TABLES} INSERT INTO corrections VALUES
                  ('1', 1700000000.5, 'subject', 'law', 'right', 'wrong', 0.8755, 'arbiter', 0.5, 'A', '{{}}'),
                  ('2', -1, '', '', 'right', NULL, 1, 'arbiter', 0.5, NULL, '{{}}'),
                  ('3', 1, 's', 'd', '', '', 0.5, 'arbiter', 0.5, 'C', '{{}}'),
                  ('4', 1, 's', 'd', 'c', '', 1.5, 'arbiter', 0.5, 'C', '{{}}'),
                  ('5', 1, 's', 'd', 'c', '', 0.5, 'arbiter', 0.5, 'E', '{{}}');
                 INSERT INTO promotions VALUES ('1', 5.5, 'swe', 'promote', 'a', 'b', 1, '{{}}'),
                  ('2', 6, 'swe', 'rollback', NULL, NULL, NULL, '{{\"u\":1}}'), ('3', 6, 'swe', 'demote', NULL, NULL, 0, NULL)"
            ),
        );
        read.end.unwrap();
        let [first, second, .., one, two, _] = &read.pieces[..] else {
            panic!("{:?}", read.pieces)
        };
        let expected = SourceCorrection {
            subject: Some("subject".to_owned()),
            domain: Some("law".to_owned()),
            claim: "right".to_owned(),
            rejected: "wrong".to_owned(),
            confidence: 876,
            decay: Some('A'),
            at: Some(1_700_000_000),
        };
        assert_eq!(first, &SourcePiece::Correction(expected.clone()));
        let bare = SourceCorrection {
            subject: None,
            domain: None,
            rejected: String::new(),
            confidence: 1000,
            decay: None,
            at: None,
            ..expected
        };
        assert_eq!(second, &SourcePiece::Correction(bare));
        let SourcePiece::Promotion(one) = one else {
            panic!("{one:?}")
        };
        assert_eq!(
            (one.is_reverted, one.at, &one.metadata),
            (true, Some(5), &None)
        );
        let SourcePiece::Promotion(two) = two else {
            panic!("{two:?}")
        };
        assert_eq!(
            (two.is_reverted, two.metadata.as_deref()),
            (false, Some("{\"u\":1}"))
        );
        let places = [
            ("empty", "table corrections, row 3"),
            ("shape", "table corrections, row 4"),
            ("shape", "table corrections, row 5"),
            ("shape", "table promotions, row 3"),
        ];
        assert_eq!(refusals(&read.pieces), places);
    }

    #[test]
    fn an_audit_log_has_limits() {
        let row = |n: usize| {
            format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})
            INSERT INTO audit_log(id) SELECT i FROM n;"
            )
        };
        let read = read_made(Aua, &format!("{TABLES}{}", row(MAX_AUDIT_ROWS)));
        let [SourcePiece::Audit(audit)] = &read.pieces[..] else {
            panic!("nothing")
        };
        assert_eq!(audit.rows.len(), MAX_AUDIT_ROWS);
        let read = read_made(Aua, &format!("{TABLES}{}", row(MAX_AUDIT_ROWS + 1)));
        assert_eq!(refusals(&read.pieces), [("too_large", "table audit_log")]);
        let wide: Vec<String> = (0..62).map(|n| format!("c{n}")).collect();
        let wide = format!(
            "DROP TABLE audit_log; CREATE TABLE audit_log(id, prev_hash, curr_hash, {});
            INSERT INTO audit_log(id) VALUES ('a')",
            wide.join(",")
        );
        let read = read_made(Aua, &format!("{TABLES}{wide}"));
        assert_eq!(refusals(&read.pieces), [("too_large", "table audit_log")]);
        let long = format!(
            "INSERT INTO audit_log(id, details) VALUES ('a', printf('%.*c', {}, 'x'))",
            MAX_CONVERSATION
        );
        let read = read_made(Aua, &format!("{TABLES}{long}"));
        assert_eq!(refusals(&read.pieces), [("too_large", "table audit_log")]);
    }

    #[test]
    fn files_of_0_7_are_read_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let read = |folder: &Path| {
            let mut pieces = Vec::new();
            let files = read_flat(folder, &CancellationToken::new(), &mut |piece| {
                pieces.push(piece);
                ControlFlow::Continue(())
            });
            (files, pieces)
        };
        let sought = read(folder.path()).0.unwrap_err().reason;
        for name in [
            PROMOTIONS,
            "dpo_pairs/*.jsonl",
            ".aua/state/dpo_pairs/*.jsonl",
        ] {
            let path = folder.path().join(name).display().to_string();
            assert!(sought.contains(&path), "{path}: {sought}");
        }
        let file = folder.path().join("logs.db");
        std::fs::write(&file, "a file").unwrap();
        assert_eq!(read(&file).0.unwrap_err().reason, "it is no folder");
        std::fs::create_dir_all(folder.path().join(".aua/state")).unwrap();
        std::fs::create_dir(folder.path().join("dpo_pairs")).unwrap();
        std::fs::write(
            folder.path().join(".aua/state/promotions.jsonl"),
            "{\"id\":\"1\",\"timestamp\":\"2024-01-02T03:04:05+00:00\",\"specialist\":\"swe\",\"from_model\":\"a\",\
             \"to_model\":\"b\",\"event\":\"promote\",\"u_delta\":0.25,\"reverted\":true,\"reverted_at\":null}\n\n\
             {\"created_at\":7.5,\"specialist\":\"swe\",\"event\":\"rollback\"}\n{\"event\":\"promote\"}\n{\n",
        )
        .unwrap();
        std::fs::write(
            folder.path().join("dpo_pairs/b.jsonl"),
            "{\"prompt\":\"q\",\"chosen\":\"right\",\"rejected\":\"wrong\",\"confidence\":0.9,\"source\":\"x\",\"domain\":\"law\"}\n\
             {\"prompt\":\"q\",\"chosen\":\"right\"}\n{\"prompt\":\"q\"}",
        )
        .unwrap();
        std::fs::write(folder.path().join("dpo_pairs/other.txt"), "no").unwrap();
        let (files, pieces) = read(folder.path());
        let names: Vec<_> = files
            .unwrap()
            .into_iter()
            .map(|(name, file)| (name, file.version))
            .collect();
        let name = |name: &str| (name.to_owned(), "0.7".to_owned());
        assert_eq!(
            names,
            [
                name(".aua/state/promotions.jsonl"),
                name("dpo_pairs/b.jsonl")
            ]
        );
        let SourcePiece::Promotion(one) = &pieces[0] else {
            panic!("{pieces:?}")
        };
        assert_eq!((one.at, one.is_reverted), (Some(1_704_164_645), true));
        assert_eq!(one.metadata.as_deref(), Some("{\"u_delta\":0.25}"));
        let SourcePiece::Promotion(two) = &pieces[1] else {
            panic!("{pieces:?}")
        };
        assert_eq!((two.at, two.id.starts_with("line-")), (Some(7), true));
        let SourcePiece::Correction(bare) = &pieces[5] else {
            panic!("{pieces:?}")
        };
        assert_eq!(
            (bare.confidence, bare.domain.as_deref()),
            (700, Some("general"))
        );
        let places = [
            ("shape", ".aua/state/promotions.jsonl, line 4"),
            ("not_json", ".aua/state/promotions.jsonl, line 5"),
            ("empty", "dpo_pairs/b.jsonl, line 3"),
        ];
        assert_eq!(refusals(&pieces), places);
        // Pairs among the state are taken, too.
        let among = folder.path().join(".aua/state/dpo_pairs");
        std::fs::rename(folder.path().join("dpo_pairs"), among).unwrap();
        let (files, moved) = read(folder.path());
        assert_eq!(files.unwrap().len(), 2);
        assert_eq!(moved.len(), pieces.len());
    }
}
