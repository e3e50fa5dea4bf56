//! Imports: conversations of other programs, taken from a file and put on record as they were received.
//!
//! | file | what is in it |
//! |---|---|
//! | `conversation` | one conversation without its secrets |
//! | `beside` | promotions and the audit log of an AUA state store |
//! | `look` | the list of imports, and one of them |
//!
//! The file is read by a thread of its own, a few pieces ahead. What was recorded stays, whatever stops
//! the rest: the next run sees it as unchanged, and goes on.

mod beside;
mod conversation;
mod look;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::sync::CancellationToken;

pub use look::{ImportSummary, imports, refuse_running, shown};

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::moment::when;
use crate::app::redacted::clean;
use crate::app::remember::correction::import::CorrectionProposals;
use crate::app::remember::correction::{CorrectionInput, DomainName};
use crate::app::sentence::RequestField;
use crate::app::set_up::rules_in_force::{fingerprint, put_in_force};
use crate::config::Config;
use crate::govern::sanitize::redact;
use crate::home::Home;
pub use crate::import::looks_like;
use crate::import::{
    ImportOptions, RefusedPiece, SourceConversation, SourceCorrection, SourceError, SourceFile,
    SourcePiece, look_at, read, read_flat_aua,
};
use crate::keys::ImportKey;
use crate::record::hash::Hash32;
use crate::record::ledger::correction::{DecayClass, IMPORT as FROM_A_FILE};
use crate::record::ledger::imported::{
    IMPORT, IMPORTED_CONVERSATION, IMPORTED_PROMOTION, ImportFormat,
};
use crate::record::ledger::item::evenly_spaced;
use crate::record::ledger::specialist::GENERAL;
use crate::record::time::Seconds;
use crate::recorder::{
    ArtifactField, ArtifactId, ImportBatch, NewArtifact, NewImportedConversation, RecorderError,
    SourceTag, always,
};
use crate::store::ReadStore;
use beside::{BesideArtifact, BesideOnRecord, BesideState};
use conversation::{CleanConversation, cleaned, id_on_record, tag_of, time_of};

/// So much text is recorded in one transaction, in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// So many conversations are.
const BATCH: usize = 256;
/// So many pieces are read ahead.
const AHEAD: usize = 1;
/// A conversation that takes so many bytes is put on record before anything is read behind it: it is in memory
/// several times meanwhile.
const LARGE: usize = BATCH_BYTES;
/// About so many bytes a message takes beside its text.
const AROUND_MESSAGE: usize = 200;
/// So many things that are refused are named each; more are counted alone, since all names are in memory.
const MOST_NAMED: usize = 50_000;
/// All names together take so many bytes at most, for the same reason.
const MOST_NAMED_BYTES: usize = 4 << 20;
/// Most characters of what a refused thing is called, and of where it stands.
const MOST_OF_NAME: usize = 200;
/// Most characters of why it is refused.
const MOST_OF_REASON: usize = 1_000;
/// Where the adaptive utility agent has the key of its texts.
const AUA_KEY: &str = "AUA_ENCRYPTION_KEY";

/// What is to be imported.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// Whose file it is.
    pub format: ImportFormat,
    /// Where it lies.
    pub source: ImportSource,
    /// Nothing that was last changed before: a time, a day or an age.
    pub since: Option<String>,
    /// Only what is called so.
    pub only: Option<String>,
}

/// Where what is imported lies.
#[derive(Clone, Debug)]
pub enum ImportSource {
    /// A file.
    File(PathBuf),
    /// The folder of a project of the adaptive utility agent 0.7, whose state is files.
    FlatFolder(PathBuf),
}

impl ImportSource {
    /// Refuses a file that can't be read, before a home is opened for it and a passphrase asked.
    pub fn is_there(&self) -> Result<(), OpenHomeError> {
        match self {
            ImportSource::File(path) => {
                look_at(path).map_err(|error| OpenHomeError::Refused(error.to_string()))
            }
            ImportSource::FlatFolder(_) => Ok(()),
        }
    }

    /// How the file is called; none of a folder, whose files are named each.
    fn file_name(&self) -> Option<String> {
        match self {
            ImportSource::File(path) => Some(path.file_name()?.to_string_lossy().into_owned()),
            ImportSource::FlatFolder(_) => None,
        }
    }
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
    /// Of those recorded, how many are corrections, which are proposed.
    pub corrections: u64,
    /// Of those recorded, how many are promotions, which bind nothing.
    pub promotions: u64,
    /// Of those recorded, how many are another program's audit log.
    pub audits: u64,
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
    /// The import on record; none where nothing was recorded, or what became of the file could not be.
    pub id: Option<String>,
    /// Whose file it was.
    pub format: ImportFormat,
    /// What is known of the file, or of several by their names in their folder; none where they could not be
    /// read to their end.
    pub files: Vec<(String, SourceFile)>,
    /// What became of what it has.
    pub counts: ImportCounts,
    /// Each thing that is refused; of very many the first 50,000.
    pub refusals: Vec<RefusedPiece>,
    /// How it ended.
    pub end: ImportEnd,
    /// What stopped it.
    pub fault: Option<OpenHomeError>,
    /// Whether that is the file itself, so that the same command comes no further.
    pub is_torn: bool,
    /// Where only one title was wanted: others that have its words, up to a few.
    pub near: Vec<String>,
    /// Whether something is refused that has the title that was wanted.
    is_title_refused: bool,
    /// Parts that the file should have by the numbers of others, and has not.
    pub missing: Vec<String>,
    /// That the import could not be put on record, as well.
    pub unrecorded: Option<OpenHomeError>,
    /// How many conversations on record can't be known again: their ids are hashes under a key that is lost.
    pub forgotten: u64,
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
    refuse_without_texts(open::keeps_text(&config))?;
    let keys = home.root().join("keys");
    let forgotten = forgotten(&keys, &store)?;
    let key = ImportKey::peek(&keys)?;
    let mut run = ImportRun::begin((&store, &config), (key, None), request)?;
    run.forgotten = forgotten;
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
    refuse_without_texts(opened.keeps_text())?;
    let keys = opened.home.root().join("keys");
    let forgotten = forgotten(&keys, &opened.store)?;
    let key = ImportKey::take(&keys)?;
    let mut key = key.ok_or_else(|| {
        let why = "another import into this home is running: wait until it is over, and give the same command again";
        OpenHomeError::Refused(why.to_owned())
    })?;
    let writer = ImportWriter {
        opened,
        by,
        import: next_import(&opened.store)?,
    };
    key.name_running(&keys, &writer.import)?;
    let place = (&*opened.store, &opened.config);
    let mut run = ImportRun::begin(place, (key, Some(writer)), request)?;
    run.forgotten = forgotten;
    run.go_through(request, cancelled, tell).await
}

fn refuse_without_texts(keeps_text: bool) -> Result<(), OpenHomeError> {
    match keeps_text {
        true => Ok(()),
        false => Err(OpenHomeError::Refused(
            "this home keeps no texts (store.content is \"none\"), and an imported conversation is nothing but its \
             text: nothing was imported. To keep texts from now on: gently config set store.content sanitized"
                .to_owned(),
        )),
    }
}

/// How many conversations on record can't be known again, as the key of their ids is not there any more, or
/// another one is in its place.
pub fn forgotten(keys: &Path, store: &ReadStore) -> Result<u64, OpenHomeError> {
    Ok(match ImportKey::is_whole(keys) {
        true => store.count_hidden_elsewhere(&ImportKey::peek(keys)?.mark())?,
        false => store.count_hidden_imports()?,
    })
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
    opened: &'a OpenHome,
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
    /// How the file is called, where it is one.
    file: Option<String>,
    /// See [`ImportOutcome::forgotten`].
    forgotten: u64,
    corrections: CorrectionProposals<'a>,
    beside: BesideOnRecord,
    waiting: ImportBatch,
    waiting_bytes: usize,
    /// What is counted once it is recorded.
    waiting_counts: ImportCounts,
    counts: ImportCounts,
    refusals: Vec<RefusedPiece>,
    /// How many bytes these have.
    named_bytes: usize,
    is_torn: bool,
    near: Vec<String>,
    is_title_refused: bool,
    missing: Vec<String>,
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
            file: request.source.file_name(),
            forgotten: 0,
            corrections: CorrectionProposals::begin(store)?,
            beside: BesideOnRecord::of(store)?,
            waiting: ImportBatch {
                import: import.unwrap_or_default(),
                ..ImportBatch::default()
            },
            waiting_bytes: 0,
            waiting_counts: ImportCounts::default(),
            counts: ImportCounts::default(),
            refusals: Vec::new(),
            named_bytes: 0,
            is_torn: false,
            near: Vec::new(),
            is_title_refused: false,
            missing: Vec::new(),
        })
    }

    async fn go_through(
        mut self,
        request: &ImportRequest,
        cancelled: &CancellationToken,
        tell: &dyn Fn(&ImportCounts),
    ) -> Result<ImportOutcome, OpenHomeError> {
        let stop = cancelled.child_token();
        let (mut pieces, dealt_with, reader) = start_reading(request, stop.clone());
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
            let is_large = is_large(&piece);
            let taken = self.take(piece, cancelled).await;
            if is_large {
                // Where the reader is gone, the next piece says so.
                let _ = dealt_with.send(());
            }
            tell(&self.counts);
            if let Err(fault) = taken {
                end = ImportEnd::Stopped;
                break Some(fault);
            }
        };
        drop((pieces, dealt_with));
        // What stops the import stops the reading, in the middle of a piece, too.
        if fault.is_some() || end != ImportEnd::Whole {
            stop.cancel();
        }
        if fault.is_none()
            && let Err(why) = self.record().await
        {
            (end, fault) = (ImportEnd::Stopped, Some(why));
        }
        let read = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        let files = match read {
            Ok(files) => files,
            // Of a file of which nothing could be read nothing is put on record.
            Err(_) if self.counts.read == 0 && fault.is_none() && end == ImportEnd::Whole => {
                return Err(unreadable(read));
            }
            // Whoever stops the reading is told nothing new by that.
            Err(SourceError { ref file, .. }) => {
                let file = file.as_deref().cloned();
                let files = file.into_iter().map(|file| (String::new(), file));
                let files = files.collect();
                if end == ImportEnd::Whole {
                    (end, fault) = (ImportEnd::Stopped, Some(unreadable(read)));
                    self.is_torn = true;
                }
                files
            }
        };
        self.conclude(files, end, fault).await
    }

    async fn conclude(
        mut self,
        files: Vec<(String, SourceFile)>,
        end: ImportEnd,
        fault: Option<OpenHomeError>,
    ) -> Result<ImportOutcome, OpenHomeError> {
        // What waited when something stopped it is not dealt with, and is read again by the next import.
        let counts = &mut self.counts;
        counts.read =
            counts.recorded + counts.unchanged + counts.all_refused() + counts.all_skipped();
        let mut outcome = ImportOutcome {
            id: None,
            format: self.format,
            files,
            counts: self.counts,
            refusals: self.refusals,
            end,
            fault,
            is_torn: self.is_torn,
            near: self.near,
            is_title_refused: self.is_title_refused,
            missing: self.missing,
            unrecorded: None,
            forgotten: self.forgotten,
        };
        // What had nothing in it is no import, and neither is what had nothing of the title that was wanted.
        let is_import = outcome.counts.read > 0 && !outcome.is_without_title();
        if let Some(writer) = self.writer.as_ref().filter(|_| is_import) {
            match writer.record_import(&outcome).await {
                Ok(id) => outcome.id = Some(id),
                Err(why) if outcome.fault.is_some() => outcome.unrecorded = Some(why),
                Err(why) => (outcome.end, outcome.fault) = (ImportEnd::Stopped, Some(why)),
            }
        }
        Ok(outcome)
    }

    /// Takes the next piece of the file.
    async fn take(
        &mut self,
        piece: SourcePiece,
        cancelled: &CancellationToken,
    ) -> Result<(), OpenHomeError> {
        // What is missing is counted nowhere.
        self.counts.read += u64::from(!matches!(piece, SourcePiece::Missing(_)));
        match piece {
            SourcePiece::Missing(parts) => {
                self.missing.extend(parts.iter().map(|part| clean(part)));
            }
            SourcePiece::Conversation(source) => self.conversation(&source, cancelled)?,
            SourcePiece::Refused(refused) => self.refuse(refused),
            SourcePiece::Correction(source) => self.correction(&source),
            SourcePiece::Promotion(source) => {
                let made = beside::promotion(&self.key, self.format, &source);
                self.beside(made).await?;
            }
            SourcePiece::Audit(source) => {
                let made = beside::audit(self.format, source);
                self.beside(made).await?;
            }
        }
        let waits = self.waiting.new.len() + self.corrections.waiting();
        match self.waiting_bytes >= BATCH_BYTES || waits >= BATCH {
            true => self.record().await,
            false => Ok(()),
        }
    }

    /// Counts what can't be taken; it is named without secrets.
    fn refuse(&mut self, refused: RefusedPiece) {
        if self.is_another_title(&refused) {
            self.skip("only");
            return;
        }
        let counted = self.counts.refused.entry(refused.reason.to_owned());
        *counted.or_default() += 1;
        let name = refused.name.as_deref().map(str::to_lowercase);
        self.is_title_refused |= name.is_some() && name == self.only;
        if self.refusals.len() == MOST_NAMED || self.named_bytes >= MOST_NAMED_BYTES {
            return;
        }
        let named = RefusedPiece {
            place: clean(&cut(&self.in_file(&refused.place), MOST_OF_NAME)),
            name: refused.name.map(|name| clean(&cut(&name, MOST_OF_NAME))),
            reason: refused.reason,
            detail: clean(&cut(&refused.detail, MOST_OF_REASON)),
        };
        let name = named.name.as_ref().map_or(0, String::len);
        self.named_bytes += named.place.len() + name + named.detail.len();
        self.refusals.push(named);
    }

    /// Whether a conversation that can't be taken has another title than is wanted. Exports have title and id in one
    /// piece; elsewhere what names it may be its id, as its title was not read yet.
    fn is_another_title(&self, refused: &RefusedPiece) -> bool {
        let is_export = matches!(self.format, ImportFormat::ChatGpt | ImportFormat::Claude);
        match (&self.only, &refused.name) {
            (Some(only), Some(name)) => is_export && name.trim().to_lowercase() != only.trim(),
            _ => false,
        }
    }

    /// A place in the file, behind the file's name where it does not begin with one.
    fn in_file<'p>(&self, place: &'p str) -> Cow<'p, str> {
        let is_bare = ["line ", "lines ", "table ", "conversation ", "a "];
        match &self.file {
            Some(file) if is_bare.iter().any(|begin| place.starts_with(begin)) => {
                Cow::Owned(format!("{file}, {place}"))
            }
            _ => Cow::Borrowed(place),
        }
    }

    fn skip(&mut self, reason: &str) {
        *self.counts.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Has a correction wait to be proposed.
    fn correction(&mut self, source: &SourceCorrection) {
        let offered = correction_input(source).and_then(|said| {
            let offered = self.corrections.offer(&said, FROM_A_FILE);
            offered.map_err(|why| ("correction", why))
        });
        match offered {
            Ok(true) => {
                self.waiting_counts.recorded += 1;
                self.waiting_counts.corrections += 1;
            }
            Ok(false) => self.counts.unchanged += 1,
            Err((reason, detail)) => self.refuse(RefusedPiece {
                place: "a correction".to_owned(),
                name: Some(source.claim.clone()),
                reason,
                detail,
            }),
        }
    }

    /// Records what is no conversation, unless it is on record as it is.
    async fn beside(&mut self, made: BesideArtifact) -> Result<(), OpenHomeError> {
        match self.beside.known(&made) {
            BesideState::New => {}
            BesideState::Unchanged => {
                self.counts.unchanged += 1;
                return Ok(());
            }
            BesideState::Repeats => {
                self.refuse(RefusedPiece {
                    place: "a promotion".to_owned(),
                    name: Some(made.name),
                    reason: "repeats",
                    detail: "one before it in this file has its id, and says something else"
                        .to_owned(),
                });
                return Ok(());
            }
        }
        let is_promotion = made.kind == IMPORTED_PROMOTION;
        if let Some(writer) = &self.writer {
            let mut content = made.said;
            content.extend([
                ("by", ArtifactField::Hash(writer.by)),
                ("import", ArtifactField::Word(writer.import.clone())),
            ]);
            let new = NewArtifact {
                kind: made.kind,
                id: ArtifactId::Next {
                    prefix: made.prefix,
                },
                content,
                session: None,
                salt: fresh_salt()?,
                now: open::clock()?,
            };
            writer.opened.recorder.artifact(new, always).await?;
        }
        self.counts.recorded += 1;
        self.counts.promotions += u64::from(is_promotion);
        self.counts.audits += u64::from(!is_promotion);
        self.counts.removed += made.removed;
        Ok(())
    }

    /// Notes a title that has what is wanted in it, and more: the whole title was to be named.
    fn note_near(&mut self, source: &SourceConversation) {
        const NEAR: usize = 5;
        let (Some(only), Some(title)) = (&self.only, &source.title) else {
            return;
        };
        if self.near.len() < NEAR && title.to_lowercase().contains(only.trim()) {
            self.near.push(clean(title));
        }
    }

    /// Why a conversation is not wanted.
    fn unwanted(&self, source: &SourceConversation) -> Option<&'static str> {
        if let Some(only) = &self.only {
            let title = source.title.as_deref().unwrap_or_default();
            if title.trim().to_lowercase() != only.trim() {
                return Some("only");
            }
        }
        match (self.since, changed_at(source)) {
            (Some(since), Some(changed)) if changed < since => return Some("since"),
            (Some(_), None) => return Some("undated"),
            _ => {}
        }
        source.messages.is_empty().then_some("empty")
    }

    fn conversation(
        &mut self,
        source: &SourceConversation,
        cancelled: &CancellationToken,
    ) -> Result<(), OpenHomeError> {
        let place = || format!("conversation {}", source.source_id);
        let refused = |(reason, detail)| RefusedPiece {
            place: place(),
            name: source.title.clone(),
            reason,
            detail,
        };
        if let Some(reason) = self.unwanted(source) {
            if reason == "only" {
                self.note_near(source);
            }
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
        let before = known.as_ref().and_then(|known| known.changed_at);
        match (before, changed_at(source)) {
            (Some(before), Some(now)) if now < before => {
                self.skip("older");
                return Ok(());
            }
            // Nobody knows whether it is newer.
            (Some(_), None) => {
                self.skip("undated");
                return Ok(());
            }
            _ => {}
        }
        let clean = match cleaned(&self.key, self.format, source, cancelled) {
            Ok(clean) => clean,
            // It is not dealt with, and is read again by the next import.
            Err(_) if cancelled.is_cancelled() => return Ok(()),
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
        let mut waited = std::mem::take(&mut self.waiting_counts);
        let corrections = std::mem::take(&mut waited.corrections);
        waited.recorded -= corrections;
        let next = ImportBatch {
            import: self.waiting.import.clone(),
            ..ImportBatch::default()
        };
        let batch = std::mem::replace(&mut self.waiting, next);
        self.waiting_bytes = 0;
        if let Some(writer) = &self.writer
            && !(batch.new.is_empty() && batch.unchanged.is_empty())
        {
            let recorder = &writer.opened.recorder;
            recorder.imported(batch, open::clock()?).await?;
        }
        self.counts.add(waited);
        if let Some(writer) = &self.writer
            && self.corrections.waiting() > 0
        {
            let before = self.corrections.removed;
            self.corrections.record(writer.opened, writer.by).await?;
            self.counts.removed += self.corrections.removed - before;
        }
        self.counts.corrections += corrections;
        self.counts.recorded += corrections;
        Ok(())
    }
}

impl ImportOutcome {
    /// Whether all of the file was gone through, and nothing in it has the title that was wanted, not even what is
    /// refused.
    pub fn is_without_title(&self) -> bool {
        self.end == ImportEnd::Whole && self.counts.is_nothing_but("only") && !self.is_title_refused
    }

    /// The file, where it is one, and could be read.
    pub fn file(&self) -> Option<&SourceFile> {
        match self.files.as_slice() {
            [(_, file)] => Some(file),
            _ => None,
        }
    }

    /// SHA-256 of the file, as 64 digits; none where it could not be read.
    pub fn sha256(&self) -> Option<String> {
        let file = self.file()?;
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

    /// Of those recorded, how many are conversations.
    pub fn conversations(&self) -> u64 {
        let beside = self.corrections + self.promotions + self.audits;
        self.recorded.saturating_sub(beside)
    }

    /// Whether nothing could be taken of what there was, and something was skipped for this reason.
    pub fn is_nothing_but(&self, reason: &str) -> bool {
        self.recorded == 0 && self.unchanged == 0 && self.skipped.contains_key(reason)
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
        let described = |file: &SourceFile| {
            let sha256 = ArtifactField::Hash(Hash32::from_bytes(file.sha256));
            ArtifactField::Map(vec![("bytes", number(file.bytes)), ("sha256", sha256)])
        };
        let file = match outcome.files.as_slice() {
            [] => ArtifactField::Null,
            [(_, file)] => described(file),
            // Of a folder each.
            several => {
                ArtifactField::List(several.iter().map(|(_, file)| described(file)).collect())
            }
        };
        let version = outcome.files.first().map(|(_, file)| file);
        let version = version.map(|file| ArtifactField::Text(redact(&file.version).clean));
        let counts = &outcome.counts;
        let content = vec![
            ("audits", number(counts.audits)),
            ("by", ArtifactField::Hash(self.by)),
            ("corrections", number(counts.corrections)),
            ("end", ArtifactField::Word(outcome.end.name().to_owned())),
            ("file", file),
            (
                "format",
                ArtifactField::Word(outcome.format.name().to_owned()),
            ),
            ("left_out", reasons(&counts.left_out)),
            ("messages", number(counts.messages)),
            ("promotions", number(counts.promotions)),
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
        let recorder = &self.opened.recorder;
        Ok(recorder.artifact(new, is_free).await?.document.id)
    }
}

/// When a conversation was changed last, as far as its source says: its own time or that of its newest message,
/// the later one; else when it began.
fn changed_at(source: &SourceConversation) -> Option<Seconds> {
    let times = source.messages.iter().filter_map(|message| message.at);
    time_of(source.updated_at.max(times.max()).or(source.created_at))
}

/// The beginning of a text, up to so many characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", text.get(..at).unwrap_or_default())),
    }
}

/// What a reading thread gives.
type SourceReader = JoinHandle<SourceRead>;
type SourceRead = Result<Vec<(String, SourceFile)>, SourceError>;

/// Whether nothing is read behind a piece before it is dealt with.
fn is_large(piece: &SourcePiece) -> bool {
    let SourcePiece::Conversation(source) = piece else {
        return false;
    };
    let messages = source.messages.iter();
    let bytes: usize = messages.map(|one| one.text.len() + AROUND_MESSAGE).sum();
    bytes >= LARGE
}

/// Starts to read a file; it ends when nobody takes its pieces any more. Of each large one it waits to be told that
/// it is dealt with.
fn start_reading(
    request: &ImportRequest,
    stop: CancellationToken,
) -> (Receiver<SourcePiece>, Sender<()>, SourceReader) {
    let (to, pieces) = channel(AHEAD);
    let (dealt_with, is_dealt_with) = std::sync::mpsc::channel();
    let (format, source) = (request.format, request.source.clone());
    let aua_key = open::env(AUA_KEY).and_then(|key| key.into_string().ok());
    let reader = std::thread::spawn(move || {
        let options = ImportOptions {
            aua_key: aua_key.as_deref(),
            stop,
        };
        let mut take = |piece| {
            let is_large = is_large(&piece);
            let is_taken = to.blocking_send(piece).is_ok();
            match is_taken && (!is_large || is_dealt_with.recv().is_ok()) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        match &source {
            ImportSource::FlatFolder(folder) => read_flat_aua(folder, &options, &mut take),
            ImportSource::File(file) => {
                let read = read(format, file, &options, &mut take)?;
                Ok(vec![(String::new(), read)])
            }
        }
    });
    (pieces, dealt_with, reader)
}

/// A correction as the record takes it; why it can't, in a word and a sentence.
fn correction_input(source: &SourceCorrection) -> Result<CorrectionInput, (&'static str, String)> {
    let domain = source.domain.as_deref().map(str::to_lowercase);
    let domain = domain.filter(|domain| domain != GENERAL && !domain.is_empty());
    let domain = domain.as_deref().map(str::parse::<DomainName>).transpose();
    let subject = source.subject.as_deref().map(evenly_spaced);
    let decay = source.decay.map(|class| class.to_string());
    let decay = DecayClass::ALL
        .into_iter()
        .find(|class| Some(class.name()) == decay.as_deref());
    Ok(CorrectionInput {
        rejected: source.rejected.clone(),
        subject: subject.filter(|subject| !subject.is_empty()),
        domain: domain.map_err(|why| ("domain", why))?,
        confidence: source.confidence,
        decay,
        observed_at: time_of(source.at).map(|at| at.to_string()),
        ..CorrectionInput::of(&source.claim)
    })
}

fn unreadable(read: SourceRead) -> OpenHomeError {
    let why = read.err().map(|error| error.to_string());
    OpenHomeError::Refused(why.unwrap_or_default())
}
