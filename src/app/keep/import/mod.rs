//! Imports: conversations of other programs, taken from a file and put on record as they were received.
//!
//! | file | what is in it |
//! |---|---|
//! | `conversation` | one conversation without its secrets |
//! | `look` | the list of imports, and one of them |
//!
//! The file is read by a thread of its own, a few pieces ahead. What was recorded stays, whatever stops
//! the rest: the next run sees it as unchanged, and goes on.

mod conversation;
mod look;

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::sync::CancellationToken;

pub use look::{ImportSummary, imports, shown};

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::moment::when;
use crate::app::redacted::clean;
use crate::app::sentence::RequestField;
use crate::app::set_up::rules_in_force::{fingerprint, put_in_force};
use crate::config::Config;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::import::{
    ImportOptions, RefusedPiece, SourceConversation, SourceError, SourceFile, SourcePiece, read,
};
use crate::keys::ImportKey;
use crate::record::hash::Hash32;
use crate::record::ledger::imported::{IMPORT, IMPORTED_CONVERSATION, ImportFormat};
use crate::record::time::Seconds;
use crate::recorder::{
    ArtifactField, ArtifactId, ImportBatch, NewArtifact, NewImportedConversation, Recorder,
    RecorderError, SourceTag,
};
use crate::store::ReadStore;
use conversation::{CleanConversation, cleaned, id_on_record, tag_of, time_of};

/// So much text is recorded in one transaction, in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// So many conversations are.
const BATCH: usize = 256;
/// So many pieces are read ahead.
const AHEAD: usize = 2;
/// Where the adaptive utility agent has the key of its texts.
const AUA_KEY: &str = "AUA_ENCRYPTION_KEY";

/// What is to be imported.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// Whose file it is.
    pub format: ImportFormat,
    /// The file.
    pub file: PathBuf,
    /// Nothing that was last changed before: a time, a day or an age.
    pub since: Option<String>,
    /// Only what is called so.
    pub only: Option<String>,
}

/// What became of a file. Of what was read each is recorded, unchanged, refused or skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// What the file has: conversations, and what else it holds.
    pub read: u64,
    /// Put on record.
    pub recorded: u64,
    /// Of those recorded, how many took the place of an earlier import.
    pub replaced: u64,
    /// On record already, as they are.
    pub unchanged: u64,
    /// Can't be taken, by reasons.
    pub refused: BTreeMap<String, u64>,
    /// Not wanted, by reasons.
    pub skipped: BTreeMap<String, u64>,
    /// Messages of what is recorded.
    pub messages: u64,
    /// Messages of what is recorded that are left out, by reasons.
    pub left_out: BTreeMap<String, u64>,
    /// Secrets that were removed.
    pub removed: u64,
}

/// How an import ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportEnd {
    /// All of the file was gone through.
    Whole,
    /// Somebody stopped it.
    Interrupted,
    /// Something stopped it.
    Stopped,
}

impl ImportEnd {
    /// The word on record.
    pub const fn name(self) -> &'static str {
        match self {
            ImportEnd::Whole => "whole",
            ImportEnd::Interrupted => "interrupted",
            ImportEnd::Stopped => "stopped",
        }
    }
}

/// What came of an import.
pub struct ImportOutcome {
    /// The import on record; none where nothing was recorded.
    pub id: Option<String>,
    /// Whose file it was.
    pub format: ImportFormat,
    /// What is known of the file; none where it could not be read to its end.
    pub file: Option<SourceFile>,
    /// What became of what it has.
    pub counts: ImportCounts,
    /// Each thing that is refused.
    pub refusals: Vec<RefusedPiece>,
    /// How it ended.
    pub end: ImportEnd,
    /// What stopped it.
    pub fault: Option<OpenHomeError>,
    /// That the import could not be put on record, as well.
    pub unrecorded: Option<OpenHomeError>,
}

/// Looks through a file and says what an import of it would do; changes nothing.
pub async fn look_through(
    home: &Home,
    request: &ImportRequest,
    cancelled: &CancellationToken,
    tell: &dyn Fn(&ImportCounts),
) -> Result<ImportOutcome, OpenHomeError> {
    let (store, config) = (open::store(home)?, open::config(home)?);
    put_in_force(&config)?;
    let key = ImportKey::peek(&home.root().join("keys"))?;
    let run = ImportRun::begin((&store, &config), (key, None), request)?;
    run.go_through(request, cancelled, tell).await
}

/// Imports a file: puts on record what is not there.
pub async fn import(
    opened: &OpenHome,
    request: &ImportRequest,
    cancelled: &CancellationToken,
    tell: &dyn Fn(&ImportCounts),
) -> Result<ImportOutcome, OpenHomeError> {
    let by = opened.authorize().await?;
    if !opened.keeps_text() {
        return Err(OpenHomeError::Refused(
            "this home keeps no texts (store.content is \"none\"), and an imported conversation is nothing but its \
             text: nothing was imported. To keep texts from now on: gently config set store.content sanitized"
                .to_owned(),
        ));
    }
    let key = ImportKey::take(&opened.home.root().join("keys"))?;
    let key = key.ok_or_else(|| {
        let why = "another import into this home is running: wait until it is over, and give the same command again";
        OpenHomeError::Refused(why.to_owned())
    })?;
    let writer = ImportWriter {
        recorder: &opened.recorder,
        by,
        import: next_import(&opened.store)?,
    };
    let place = (&*opened.store, &opened.config);
    let run = ImportRun::begin(place, (key, Some(writer)), request)?;
    run.go_through(request, cancelled, tell).await
}

/// The id of the next import: behind those on record, and behind those that were ended before they could
/// be, which conversations name.
fn next_import(store: &ReadStore) -> Result<String, OpenHomeError> {
    let newest = store.newest_artifact(IMPORT)?.map(|row| row.id);
    let named = store.named_imports()?;
    let numbers = newest.iter().chain(&named).filter_map(|id| {
        let number = id.strip_prefix(IMPORT)?.strip_prefix(':')?;
        number.parse::<u64>().ok()
    });
    Ok(format!("{IMPORT}:{:06}", numbers.max().unwrap_or(0) + 1))
}

/// Who puts on record.
struct ImportWriter<'a> {
    recorder: &'a Recorder,
    by: Hash32,
    /// The import that conversations name; it comes on record behind them.
    import: String,
}

/// One import while it runs.
struct ImportRun<'a> {
    store: &'a ReadStore,
    format: ImportFormat,
    key: ImportKey,
    rules: Hash32,
    writer: Option<ImportWriter<'a>>,
    since: Option<Seconds>,
    only: Option<String>,
    /// Ids of the source that were there already.
    seen: HashSet<String>,
    waiting: ImportBatch,
    waiting_bytes: usize,
    /// What is counted once it is recorded.
    waiting_counts: ImportCounts,
    counts: ImportCounts,
    refusals: Vec<RefusedPiece>,
}

impl<'a> ImportRun<'a> {
    fn begin(
        (store, config): (&'a ReadStore, &Config),
        (key, writer): (ImportKey, Option<ImportWriter<'a>>),
        request: &ImportRequest,
    ) -> Result<Self, OpenHomeError> {
        let since = request.since.as_deref();
        let since = since.map(|text| when(RequestField::Since, text, open::clock_or_epoch()));
        let import = writer.as_ref().map(|writer| writer.import.clone());
        Ok(ImportRun {
            store,
            format: request.format,
            key,
            rules: fingerprint(config)?,
            writer,
            since: since.transpose().map_err(OpenHomeError::Wanting)?,
            only: request.only.as_deref().map(str::to_lowercase),
            seen: HashSet::new(),
            waiting: ImportBatch {
                import: import.unwrap_or_default(),
                ..ImportBatch::default()
            },
            waiting_bytes: 0,
            waiting_counts: ImportCounts::default(),
            counts: ImportCounts::default(),
            refusals: Vec::new(),
        })
    }

    async fn go_through(
        mut self,
        request: &ImportRequest,
        cancelled: &CancellationToken,
        tell: &dyn Fn(&ImportCounts),
    ) -> Result<ImportOutcome, OpenHomeError> {
        let (mut pieces, reader) = start_reading(request);
        let mut end = ImportEnd::Whole;
        let mut fault = loop {
            let piece = tokio::select! {
                biased;
                () = cancelled.cancelled() => {
                    end = ImportEnd::Interrupted;
                    break None;
                }
                piece = pieces.recv() => piece,
            };
            let Some(piece) = piece else { break None };
            let taken = self.take(piece).await;
            tell(&self.counts);
            if let Err(fault) = taken {
                end = ImportEnd::Stopped;
                break Some(fault);
            }
        };
        drop(pieces);
        if fault.is_none()
            && let Err(why) = self.record().await
        {
            (end, fault) = (ImportEnd::Stopped, Some(why));
        }
        let read = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        let file = match read {
            Ok(file) => Some(file),
            Err(SourceError { file: None, .. }) if self.counts == ImportCounts::default() => {
                return Err(unreadable(read));
            }
            // Whoever stops the reading is told nothing new by that.
            Err(SourceError { ref file, .. }) => {
                let file = file.as_deref().cloned();
                if end == ImportEnd::Whole {
                    (end, fault) = (ImportEnd::Stopped, Some(unreadable(read)));
                }
                file
            }
        };
        self.conclude(file, end, fault).await
    }

    async fn conclude(
        self,
        file: Option<SourceFile>,
        end: ImportEnd,
        fault: Option<OpenHomeError>,
    ) -> Result<ImportOutcome, OpenHomeError> {
        let mut outcome = ImportOutcome {
            id: None,
            format: self.format,
            file,
            counts: self.counts,
            refusals: self.refusals,
            end,
            fault,
            unrecorded: None,
        };
        if let Some(writer) = &self.writer {
            match writer.record_import(&outcome).await {
                Ok(id) => outcome.id = Some(id),
                Err(why) if outcome.fault.is_some() => outcome.unrecorded = Some(why),
                Err(why) => (outcome.end, outcome.fault) = (ImportEnd::Stopped, Some(why)),
            }
        }
        Ok(outcome)
    }

    /// Takes the next piece of the file.
    async fn take(&mut self, piece: SourcePiece) -> Result<(), OpenHomeError> {
        self.counts.read += 1;
        match piece {
            SourcePiece::Conversation(source) => self.conversation(&source)?,
            SourcePiece::Refused(refused) => self.refuse(refused),
            SourcePiece::Correction(_) | SourcePiece::Promotion(_) | SourcePiece::Audit(_) => {
                self.skip("no_conversation");
            }
        }
        match self.waiting_bytes >= BATCH_BYTES || self.waiting.new.len() >= BATCH {
            true => self.record().await,
            false => Ok(()),
        }
    }

    /// Counts what can't be taken; it is named without secrets.
    fn refuse(&mut self, mut refused: RefusedPiece) {
        refused.place = clean(&refused.place);
        refused.name = refused.name.as_deref().map(clean);
        refused.detail = clean(&refused.detail);
        *self
            .counts
            .refused
            .entry(refused.reason.to_owned())
            .or_default() += 1;
        self.refusals.push(refused);
    }

    fn skip(&mut self, reason: &str) {
        *self.counts.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Why a conversation is not wanted.
    fn unwanted(&self, source: &SourceConversation) -> Option<&'static str> {
        if let Some(only) = &self.only {
            let title = source.title.as_deref().unwrap_or_default();
            if title.trim().to_lowercase() != only.trim() {
                return Some("only");
            }
        }
        let newest = source
            .messages
            .iter()
            .filter_map(|message| message.at)
            .max();
        let changed = time_of(source.updated_at.max(newest).or(source.created_at));
        if let (Some(since), Some(changed)) = (self.since, changed)
            && changed < since
        {
            return Some("since");
        }
        source.messages.is_empty().then_some("empty")
    }

    fn conversation(&mut self, source: &SourceConversation) -> Result<(), OpenHomeError> {
        let place = || format!("conversation {}", source.source_id);
        let refused = |(reason, detail)| RefusedPiece {
            place: place(),
            name: source.title.clone(),
            reason,
            detail,
        };
        if !self.seen.insert(source.source_id.clone()) {
            let detail = "another conversation before it in this file has the same id".to_owned();
            self.refuse(refused(("repeated", detail)));
            return Ok(());
        }
        if let Some(reason) = self.unwanted(source) {
            self.skip(reason);
            return Ok(());
        }
        let tag = tag_of(&self.key, self.rules, self.format, source);
        let source_id = id_on_record(&self.key, &source.source_id);
        let known = self.store.known_import(self.format, &source_id)?;
        let is_as_it_was = |known: &crate::store::KnownImport| {
            known.digest.is_some() && known.tag.as_deref() == Some(&tag[..])
        };
        if known.as_ref().is_some_and(is_as_it_was) {
            self.counts.unchanged += 1;
            return Ok(());
        }
        let clean = match cleaned(&self.key, self.format, source) {
            Ok(clean) => clean,
            Err(why) => {
                self.refuse(refused(why));
                return Ok(());
            }
        };
        match known {
            Some(known) if known.digest == Some(clean.digest) => {
                self.counts.unchanged += 1;
                self.waiting.unchanged.push((known.id, tag));
            }
            known => {
                let known = known.map(|known| known.id);
                self.wait(source, clean, (source_id, known, tag))?;
            }
        }
        Ok(())
    }

    /// Puts a conversation behind those that wait to be recorded.
    fn wait(
        &mut self,
        source: &SourceConversation,
        clean: CleanConversation,
        (source_id, replaces, tag): (String, Option<String>, SourceTag),
    ) -> Result<(), OpenHomeError> {
        let counts = &mut self.waiting_counts;
        counts.recorded += 1;
        counts.replaced += u64::from(replaces.is_some());
        counts.messages += u64::try_from(source.messages.len()).unwrap_or(u64::MAX);
        counts.removed += clean.removed;
        for (reason, count) in &source.skipped {
            *counts.left_out.entry((*reason).to_owned()).or_default() += count;
        }
        self.waiting_bytes += clean.bytes;
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let mut content = clean.said;
        let word = |text: &String| ArtifactField::Word(text.clone());
        content.extend([
            ("by", ArtifactField::Hash(writer.by)),
            ("import", word(&writer.import)),
            (
                "replaces",
                replaces.as_ref().map_or(ArtifactField::Null, word),
            ),
        ]);
        let artifact = NewArtifact {
            kind: IMPORTED_CONVERSATION,
            id: ArtifactId::Next { prefix: "imported" },
            content,
            session: None,
            salt: fresh_salt()?,
            now: open::clock()?,
        };
        self.waiting.new.push(NewImportedConversation {
            artifact,
            format: self.format,
            source_id,
            replaces,
            tag,
        });
        Ok(())
    }

    /// Records what waits.
    async fn record(&mut self) -> Result<(), OpenHomeError> {
        let waited = std::mem::take(&mut self.waiting_counts);
        let next = ImportBatch {
            import: self.waiting.import.clone(),
            ..ImportBatch::default()
        };
        let batch = std::mem::replace(&mut self.waiting, next);
        self.waiting_bytes = 0;
        if let Some(writer) = &self.writer
            && !(batch.new.is_empty() && batch.unchanged.is_empty())
        {
            writer.recorder.imported(batch, open::clock()?).await?;
        }
        self.counts.add(waited);
        Ok(())
    }
}

impl ImportOutcome {
    /// SHA-256 of the file, as 64 digits; none where it could not be read.
    pub fn sha256(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(Hash32::from_bytes(file.sha256).to_string())
    }
}

impl ImportCounts {
    fn add(&mut self, more: ImportCounts) {
        self.recorded += more.recorded;
        self.replaced += more.replaced;
        self.messages += more.messages;
        self.removed += more.removed;
        for (reason, count) in more.left_out {
            *self.left_out.entry(reason).or_default() += count;
        }
    }

    /// How many are refused, for whatever reason.
    pub fn all_refused(&self) -> u64 {
        self.refused.values().sum()
    }

    /// How many are skipped, for whatever reason.
    pub fn all_skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

impl ImportWriter<'_> {
    /// Puts on record what became of a file.
    async fn record_import(&self, outcome: &ImportOutcome) -> Result<String, OpenHomeError> {
        let number = ArtifactField::Number;
        let reasons = |counts: &BTreeMap<String, u64>| {
            let counts = counts.iter();
            let value = counts.map(|(reason, count)| (reason.clone(), (*count).into()));
            ArtifactField::Document(serde_json::Value::Object(value.collect()))
        };
        let file = outcome.file.as_ref().map(|file| {
            ArtifactField::Map(vec![
                ("bytes", number(file.bytes)),
                (
                    "sha256",
                    ArtifactField::Hash(Hash32::from_bytes(file.sha256)),
                ),
            ])
        });
        let version = outcome.file.as_ref();
        let version = version.map(|file| ArtifactField::Text(redact(&file.version).clean));
        let counts = &outcome.counts;
        let content = vec![
            ("by", ArtifactField::Hash(self.by)),
            ("end", ArtifactField::Word(outcome.end.name().to_owned())),
            ("file", file.unwrap_or(ArtifactField::Null)),
            (
                "format",
                ArtifactField::Word(outcome.format.name().to_owned()),
            ),
            ("left_out", reasons(&counts.left_out)),
            ("messages", number(counts.messages)),
            ("read", number(counts.read)),
            ("recorded", number(counts.recorded)),
            ("refused", reasons(&counts.refused)),
            ("skipped", reasons(&counts.skipped)),
            ("unchanged", number(counts.unchanged)),
            ("version", version.unwrap_or(ArtifactField::Null)),
        ];
        let id = self.import.clone();
        let new = NewArtifact {
            kind: IMPORT,
            id: ArtifactId::Of(id.clone()),
            content,
            session: None,
            salt: fresh_salt()?,
            now: open::clock()?,
        };
        let is_free = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
            let is_taken = store.has_artifact(IMPORT, &id)?;
            let why = "another import was recorded under its number meanwhile; its conversations are on record";
            Ok(is_taken.then(|| why.to_owned()))
        };
        Ok(self.recorder.artifact(new, is_free).await?.document.id)
    }
}

/// What a reading thread gives.
type SourceReader = JoinHandle<Result<SourceFile, SourceError>>;

/// Starts to read a file; it ends when nobody takes its pieces any more.
fn start_reading(request: &ImportRequest) -> (Receiver<SourcePiece>, SourceReader) {
    let (to, pieces) = channel(AHEAD);
    let (format, file) = (request.format, request.file.clone());
    let aua_key = open::env(AUA_KEY).and_then(|key| key.into_string().ok());
    let reader = std::thread::spawn(move || {
        let options = ImportOptions {
            aua_key: aua_key.as_deref(),
        };
        let mut take = |piece| match to.blocking_send(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        read(format, Path::new(&file), &options, &mut take)
    });
    (pieces, reader)
}

fn unreadable(read: Result<SourceFile, SourceError>) -> OpenHomeError {
    let why = read.err().map(|error| error.to_string());
    OpenHomeError::Refused(why.unwrap_or_default())
}
