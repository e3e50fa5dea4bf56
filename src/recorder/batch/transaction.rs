//! One transaction being filled: lines and commits are appended to a draft of the head.

use std::collections::BTreeMap;

use crate::keys::Signer;
use crate::ledger::Oid;
use crate::ledger::write::{CommitPlan, encode};
use crate::os;
use crate::record::bitcoin::block::{Anchor, Block};
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, CommitMessage, MAIN, Subject};
use crate::record::ledger::commitment::{Role, Salt, commit};
use crate::record::ledger::documents::{CheckpointDoc, Format, Genesis};
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::log::entry::{EntryError, Event, Line};
use crate::record::time::Seconds;
use crate::record::tree::{Frontier, note};
use crate::store::{ArtifactRow, CommitRow, LedgerHead, SessionRow, StoreError, WriteStore};

use crate::recorder::RecorderError;
use crate::recorder::entries::content_policy::WriterContext;
use crate::recorder::entries::sessions::open_session;

/// A checkpoint is due after this many lines outside `main` (format, section 6).
const CHECKPOINT_LINES: u64 = 200;
/// … or after this many bytes of them, whether or not a session is open: a segment is read whole.
const CHECKPOINT_BYTES: u64 = 2 << 20;
/// … or after this many seconds.
const CHECKPOINT_SECONDS: u64 = 3600;
/// A last line further ahead of the clock than this stops the writer (format, section 4).
const AHEAD_LIMIT: u64 = 3600;

/// Files of a commit, by name; `audit.log` is added from the lines.
pub type EntryFiles = BTreeMap<&'static str, Vec<u8>>;

/// A transaction with the head as it will be.
pub struct LedgerTransaction<'a> {
    /// The open transaction of the database.
    pub tx: &'a mut WriteStore,
    /// The head as it will be.
    pub head: LedgerHead,
    /// What the ledger is.
    pub genesis: &'a Genesis,
    /// What is kept of texts, as this writer was told.
    pub writer_context: &'a WriterContext,
    key: &'a Signer,
    frontier: Frontier,
    /// The tree head that was signed last, with its size: a batch that ends in a commit on `main`
    /// has one signature.
    signed: Option<(u64, String)>,
    begun: LedgerHead,
    /// Open sessions of this transaction's records, as their rows are.
    sessions: BTreeMap<Hash32, SessionRow>,
}

/// A line that was appended, and its number.
#[derive(Clone, Copy, Debug)]
pub struct NewLine {
    /// Place of the line in the log, from 0.
    pub n: u64,
    /// HASH of the line.
    pub hash: Hash32,
    /// TIMESTAMP of the line.
    pub time: Seconds,
}

/// A commit to be made.
pub struct NewCommit<'a> {
    /// What it is about; the trailers follow from it.
    pub subject: Subject,
    /// H of its document.
    pub record: Hash32,
    /// The line it belongs to.
    pub line: NewLine,
    /// Its files, but for `audit.log`.
    pub files: &'a EntryFiles,
    /// The ref it becomes the tip of.
    pub reference: String,
    /// In the order of the format.
    pub parents: Vec<Oid>,
    /// Lines `from..to` are its `audit.log`.
    pub segment: Option<(u64, u64)>,
    /// Shares the stored files of that commit.
    pub tree_of: Option<u64>,
}

fn record_error(what: &'static str) -> impl Fn(canon::CanonError) -> RecorderError {
    move |e| RecorderError::Unrecordable {
        what,
        reason: e.to_string(),
    }
}

/// Prints a document and hashes it.
pub fn document<T: serde::Serialize>(
    what: &'static str,
    value: &T,
) -> Result<(Vec<u8>, Hash32), RecorderError> {
    let bytes = canon::print(value)
        .map_err(record_error(what))?
        .into_bytes();
    let hash = Hash32::digest(&bytes);
    Ok((bytes, hash))
}

impl<'a> LedgerTransaction<'a> {
    /// Starts from the head that the transaction sees.
    pub fn begin(
        tx: &'a mut WriteStore,
        head: LedgerHead,
        genesis: &'a Genesis,
        key: &'a Signer,
        writer_context: &'a WriterContext,
    ) -> Result<Self, RecorderError> {
        let frontier =
            Frontier::from_bytes(&head.frontier).map_err(|e| RecorderError::Unrecordable {
                what: "head.frontier",
                reason: e.to_string(),
            })?;
        let (begun, sessions) = (head.clone(), BTreeMap::new());
        Ok(LedgerTransaction {
            tx,
            begun,
            head,
            genesis,
            writer_context,
            key,
            frontier,
            signed: None,
            sessions,
        })
    }

    /// What a failed request returns to.
    pub fn snapshot(&self) -> (LedgerHead, Frontier) {
        (self.head.clone(), self.frontier.clone())
    }

    /// Undoes everything since the snapshot, which was taken at the transaction's mark.
    pub fn restore(
        &mut self,
        (head, frontier): (LedgerHead, Frontier),
    ) -> Result<(), RecorderError> {
        self.head = head;
        self.frontier = frontier;
        self.signed = None;
        self.sessions.clear();
        self.tx.rollback_to_mark()?;
        Ok(())
    }

    /// Moves the head by compare-and-swap from where the draft began, with the signed tree head
    /// over its lines; without new lines, and with those there signed, there is nothing to move.
    pub fn finish(mut self) -> Result<LedgerHead, RecorderError> {
        self.head.frontier = self.frontier.to_bytes();
        if !is_signed(&self.head) {
            self.head.checkpoint = Some(self.tree_head()?);
        }
        if self.head != self.begun {
            self.head.boot = os::boot_id().map(str::to_owned);
            self.tx.move_head(&self.begun, &self.head)?;
        }
        Ok(self.head)
    }

    /// The time of a line written now: never before the last line's, and not with a clock that is
    /// far behind.
    pub fn line_time(&self, now: Seconds) -> Result<Seconds, RecorderError> {
        if self.head.time.since(now) > AHEAD_LIMIT {
            return Err(RecorderError::ClockBehind {
                last: self.head.time,
                now,
            });
        }
        Ok(self.head.time.max(now))
    }

    /// Appends a line with the clock's time.
    pub fn line(
        &mut self,
        now: Seconds,
        height: u32,
        session: Option<Hash32>,
        event: Event,
    ) -> Result<NewLine, RecorderError> {
        let time = self.line_time(now)?;
        self.line_at(time, height, session, event)
    }

    /// Appends a line with a given time (only `clock_set` goes back).
    pub fn line_at(
        &mut self,
        time: Seconds,
        height: u32,
        session: Option<Hash32>,
        event: Event,
    ) -> Result<NewLine, RecorderError> {
        let line = Line::new(self.head.hash, height, time, session, event);
        if !self.may_sign() {
            let (expected, actual) = (self.head.signer.to_string(), self.key.public().to_string());
            return Err(RecorderError::WrongSigner { expected, actual });
        }
        let wrong = |e: EntryError| RecorderError::Unrecordable {
            what: "a log line",
            reason: e.to_string(),
        };
        let text = line.checked_text().map_err(wrong)?;
        let n = append(self.tx, &mut self.head, &mut self.frontier, &line, &text)?;
        Ok(NewLine {
            n,
            hash: line.hash,
            time,
        })
    }

    /// Whether the key at hand is the one in force: not behind a rotation of the same transaction,
    /// whose own line is the last that the old key signs.
    pub fn may_sign(&self) -> bool {
        self.head.signer == self.key.public()
    }

    /// An open session by its ledger id.
    pub fn open_session(&mut self, id: Hash32) -> Result<SessionRow, RecorderError> {
        if let Some(known) = self.sessions.get(&id) {
            return Ok(known.clone());
        }
        let row = open_session(self.tx, id)?;
        self.sessions.insert(id, row.clone());
        Ok(row)
    }

    /// Moves a session's running state; one that has ended is no open one any more.
    pub fn move_session(&mut self, session: &SessionRow) -> Result<(), RecorderError> {
        self.sessions.remove(&session.id);
        self.tx.move_session(session.uuid, &session.progress())?;
        if session.ended_at.is_none() {
            self.sessions.insert(session.id, session.clone());
        }
        Ok(())
    }

    /// The tip of a ref, with the commits of this draft.
    pub fn tip(&self, reference: &str) -> Result<Option<CommitRow>, RecorderError> {
        Ok(self.tx.tip(reference, self.head.commits)?)
    }

    /// The tip of `main`, which every ledger has.
    pub fn main_tip(&self) -> Result<CommitRow, RecorderError> {
        self.tip(MAIN)?.ok_or(RecorderError::Unrecordable {
            what: "main",
            reason: "the ledger has no genesis".into(),
        })
    }

    /// Signs a commit and appends it; returns its number and id.
    pub fn commit(
        &mut self,
        kind: CommitKind,
        new: NewCommit<'_>,
    ) -> Result<(u64, Oid), RecorderError> {
        let mut files = new.files.clone();
        if let Some((from, to)) = new.segment {
            files.insert("audit.log", segment(&self.tx.lines(from, to)?));
        }
        let message = CommitMessage {
            subject: new.subject,
            record: new.record,
            log: new.line.hash,
        };
        let plan = CommitPlan {
            message,
            files,
            parents: new.parents,
            time: new.line.time,
        };
        let key = self.key;
        let encoded = encode(&plan, &key.public(), &|bytes| key.sign(bytes))?;
        let n = self.head.commits;
        let row = CommitRow {
            n,
            line: new.line.n,
            kind,
            reference: new.reference,
            id: encoded.id.to_string(),
            raw: encoded.commit,
            tree_of: new.tree_of,
            segment: new.segment,
        };
        let stored = if new.tree_of.is_some() {
            BTreeMap::new()
        } else {
            new.files
                .iter()
                .map(|(name, bytes)| ((*name).to_owned(), bytes.clone()))
                .collect()
        };
        self.tx.put_commit(&row, &stored)?;
        self.head.commits += 1;
        Ok((n, encoded.id))
    }

    /// The signed tree head over all lines so far.
    pub fn tree_head(&mut self) -> Result<String, RecorderError> {
        if let Some((_, text)) = self
            .signed
            .as_ref()
            .filter(|(size, _)| *size == self.frontier.size())
        {
            return Ok(text.clone());
        }
        let text = sign_tree(&self.frontier, &self.genesis.origin, self.key)?;
        self.signed = Some((self.frontier.size(), text.clone()));
        Ok(text)
    }

    /// Lines that are not inside `main` yet, up to the newest; and marks them as inside.
    pub fn take_segment(&mut self) -> (u64, u64) {
        let segment = (self.head.segment_lines, self.head.lines);
        self.head.segment_lines = self.head.lines;
        self.head.segment_bytes = self.head.bytes;
        self.head.segment_at = self.head.time;
        segment
    }

    /// Records an artifact: its line, and its document with a salt in the database.
    pub fn artifact(
        &mut self,
        now: Seconds,
        session: Option<(Hash32, u32)>,
        doc: &ArtifactDoc,
        salt: Salt,
    ) -> Result<NewLine, RecorderError> {
        self.artifact_kept(now, session, doc, salt, (true, true))
    }

    /// The same where document or salt may not be kept.
    pub fn artifact_kept(
        &mut self,
        now: Seconds,
        session: Option<(Hash32, u32)>,
        doc: &ArtifactDoc,
        salt: Salt,
        (keeps_document, keeps_salt): (bool, bool),
    ) -> Result<NewLine, RecorderError> {
        let (bytes, _) = document("an artifact", doc)?;
        let hash = commit(self.genesis.commitments, &salt, Role::Artifact, &bytes);
        let height = session.map_or(self.head.height, |(_, height)| height);
        let event = Event::Artifact {
            kind: doc.kind.clone(),
            id: doc.id.clone(),
            hash,
        };
        let line = self.line(now, height, session.map(|(id, _)| id), event)?;
        let document = String::from_utf8(bytes).map_err(|e| RecorderError::Unrecordable {
            what: "an artifact",
            reason: e.to_string(),
        })?;
        self.tx.put_artifact(&ArtifactRow {
            line: line.n,
            kind: doc.kind.clone(),
            id: doc.id.clone(),
            document: keeps_document.then_some(document),
            salt: keeps_salt.then_some(salt),
            commitment: hash,
        })?;
        Ok(line)
    }

    /// Writes a checkpoint when lines have gathered that would make a long segment.
    pub fn checkpoint_if_long(&mut self, now: Seconds) -> Result<(), RecorderError> {
        if self.head.bytes.saturating_sub(self.head.segment_bytes) < CHECKPOINT_BYTES {
            return Ok(());
        }
        self.checkpoint_now(now).map(drop)
    }

    /// Writes a checkpoint when one is due: sessions are open, and lines or time have gathered.
    pub fn checkpoint_if_due(&mut self, now: Seconds) -> Result<(), RecorderError> {
        let lines = self.head.lines - self.head.segment_lines;
        let late = self.head.time.max(now).since(self.head.segment_at) >= CHECKPOINT_SECONDS;
        if lines == 0 || (lines < CHECKPOINT_LINES && !late) {
            return Ok(());
        }
        let open = self.tx.open_sessions()?.len();
        if open == 0 {
            Ok(())
        } else {
            self.checkpoint(now, u64::try_from(open).unwrap_or(u64::MAX))
        }
    }

    /// Writes a checkpoint whether or not one is due; false when every line is inside `main`
    /// already.
    pub fn checkpoint_now(&mut self, now: Seconds) -> Result<bool, RecorderError> {
        if self.head.lines == self.head.segment_lines {
            return Ok(false);
        }
        let open = self.tx.open_sessions()?.len();
        self.checkpoint(now, u64::try_from(open).unwrap_or(u64::MAX))
            .map(|()| true)
    }

    fn checkpoint(&mut self, now: Seconds, sessions_open: u64) -> Result<(), RecorderError> {
        let time = self.line_time(now)?;
        let log_head = self.head.hash;
        let doc = CheckpointDoc {
            block: self.block_of_head(time)?,
            created_at: time,
            format: Format,
            log_head,
            sessions_open,
        };
        let (bytes, record) = document("checkpoint.json", &doc)?;
        let line = self.line_at(time, self.head.height, None, Event::Checkpoint { record })?;
        let segment = self.take_segment();
        let files = EntryFiles::from([
            ("checkpoint", self.tree_head()?.into_bytes()),
            ("checkpoint.json", bytes),
        ]);
        let parents = vec![oid(&self.main_tip()?)?];
        self.commit(
            CommitKind::Checkpoint,
            NewCommit {
                subject: Subject::Checkpoint { head: log_head },
                record,
                line,
                files: &files,
                reference: MAIN.to_owned(),
                parents,
                segment: Some(segment),
                tree_of: None,
            },
        )?;
        Ok(())
    }

    /// The block of the highest height so far; the local one when no line has named any.
    fn block_of_head(&self, time: Seconds) -> Result<Block, RecorderError> {
        let known = if self.head.height == 0 {
            None
        } else {
            self.tx.blocks_at(self.head.height)?.into_iter().next()
        };
        Ok(known.map_or_else(
            || Block::local(self.genesis.network, time),
            |Anchor { block, .. }| block,
        ))
    }
}

/// Whether the tree head that a head carries is over all its lines.
pub fn is_signed(head: &LedgerHead) -> bool {
    let size = head
        .checkpoint
        .as_deref()
        .and_then(|text| text.split('\n').nth(1)?.parse().ok());
    size.map_or(head.lines == 0, |size: u64| size == head.lines)
}

/// The signed tree head over a tree.
pub fn sign_tree(tree: &Frontier, origin: &str, key: &Signer) -> Result<String, RecorderError> {
    Ok(note(
        origin,
        tree.size(),
        tree.root(),
        &key.public(),
        &|bytes| key.sign(bytes),
    )?)
}

/// Appends a line to the database and moves a head and its tree over it; returns the line's number,
/// from 0.
///
/// `text` is the line as the log spells it. Needs no key: what a line itself promises is its HASH.
pub fn append(
    tx: &mut WriteStore,
    head: &mut LedgerHead,
    frontier: &mut Frontier,
    line: &Line,
    text: &str,
) -> Result<u64, StoreError> {
    let n = head.lines;
    tx.put_line(n, line.hash, text)?;
    frontier.push(text.as_bytes());
    head.lines += 1;
    head.hash = line.hash;
    head.time = line.time;
    head.height = head.height.max(line.height);
    head.bytes += u64::try_from(text.len())
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    Ok(n)
}

/// The object id of a stored commit.
pub fn oid(row: &CommitRow) -> Result<Oid, RecorderError> {
    row.id
        .parse()
        .map_err(|e: crate::ledger::OidError| RecorderError::Unrecordable {
            what: "ledger_commit.id",
            reason: e.to_string(),
        })
}

/// Lines as they stand in the log, each with its newline.
pub fn segment(lines: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.iter().map(|l| l.len() + 1).sum());
    for line in lines {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out
}
