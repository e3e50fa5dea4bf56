//! The database against ledger and log: head, lines, commits and sessions (format, section 12 step 6).
//!
//! The database is written before git and log, and read after them: what it holds beyond them was
//! committed and not applied yet, which the next open finishes. What they hold beyond it came from
//! another copy of it.

use std::fmt::Display;

use uuid::Uuid;

use crate::ledger::Oid;
use crate::ledger::read::blob_id;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::commitment::Scheme;
use crate::record::ledger::exchange::row_id;
use crate::record::log::end::EndDifference;
use crate::record::log::entry::Line;
use crate::record::log::rules::PromptOutcome;
use crate::record::tree::{SignedNote, parse_note};
use crate::store::{CommitRow, LedgerHead, ReadStore, SessionRow, StoreError};

use super::artifacts::Tombstones;
use super::content_policy::ContentPolicies;
use super::stored_lines::{self, RowComparison};
use crate::verify::VerifyError;
use crate::verify::ledger::history::{CommitChain, branch_name};
use crate::verify::progress::CheckStage;
use crate::verify::report::{AuditQuestion, Findings, counted};
use crate::verify::{CheckedLedger, DatabaseSummary};

/// Commits are read in portions of this many rows.
const PORTION: u64 = 500;

/// What is said of a tree head that is not there.
const TAKEN_AWAY: &str = "none: it was taken away; gently audit rebuild, or in a restored home gently audit adopt, has \
                          it signed again";

/// What was checked of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatabaseCounts {
    pub exchanges: u64,
    pub artifacts: u64,
    /// Artifacts among them that hold an imported conversation.
    pub imported: u64,
    /// Exchanges and artifacts whose text and salt were erased, with their tombstone on record.
    pub erased: u64,
    /// Exchanges whose compiled prompt is gone with something erased that stood in it.
    pub contexts: u64,
    /// Texts that are not there as they were shown: secrets were removed before they were stored.
    pub redacted: u64,
    /// Exchanges and artifacts whose texts were never kept, by a policy on record: they were not
    /// checked.
    pub not_kept: u64,
}

impl std::fmt::Display for DatabaseCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DatabaseCounts {
            exchanges,
            artifacts,
            imported,
            erased,
            contexts,
            redacted,
            not_kept,
        } = self;
        let (exchanges, artifacts) = (
            counted(*exchanges, "exchange"),
            counted(*artifacts, "artifact"),
        );
        let are = |n: u64| if n == 1 { "is" } else { "are" };
        write!(
            f,
            "{exchanges} and {artifacts} were checked; {erased} of them {} erased; ",
            are(*erased)
        )?;
        if *imported > 0 {
            write!(
                f,
                "{} {} among them; ",
                counted(*imported, "imported conversation"),
                are(*imported)
            )?;
        }
        if *not_kept > 0 {
            write!(
                f,
                "the texts of {not_kept} of them were not kept, and so not checked; "
            )?;
        }
        if *contexts > 0 {
            write!(
                f,
                "{} could not be put together again, as something in {} is erased; ",
                counted(*contexts, "prompt"),
                if *contexts == 1 { "it" } else { "them" }
            )?;
        }
        write!(
            f,
            "secrets were taken out of {} before anything was stored",
            counted(*redacted, "text")
        )
    }
}

/// Holds the rows of a database against what was read of its ledger.
pub(crate) struct RowCheck<'c> {
    pub store: &'c ReadStore,
    pub ledger: &'c CheckedLedger<'c>,
    pub findings: &'c mut Findings,
    /// Rows of stored lines, as far as they were held against the log.
    stored_lines: RowComparison,
    pub tombstones: Tombstones,
    /// What was kept of texts, by line.
    pub policies: ContentPolicies,
    pub counts: DatabaseCounts,
    /// Turns that exchanges refer to and that are there.
    pub turns: u64,
    /// What of the database is not as gently makes it, in words.
    schema: Vec<String>,
    /// Whether all that is missing of it holds no evidence, and a rebuild makes it again.
    is_made_again: bool,
    /// Exchanges of which something was measured.
    pub measured: u64,
}

/// A row that is otherwise than log or ledger say.
pub(crate) struct RowDifference<'a> {
    /// Where the row is, without `database, ` before it.
    pub place: &'a str,
    pub expected: String,
    pub actual: String,
}

impl<'c> RowCheck<'c> {
    /// Before the first row.
    pub fn new(
        store: &'c ReadStore,
        ledger: &'c CheckedLedger<'c>,
        findings: &'c mut Findings,
    ) -> Self {
        RowCheck {
            store,
            ledger,
            findings,
            stored_lines: RowComparison::default(),
            tombstones: Tombstones::default(),
            policies: ContentPolicies::default(),
            counts: DatabaseCounts::default(),
            turns: 0,
            schema: Vec::new(),
            is_made_again: false,
            measured: 0,
        }
    }

    /// How commitments are made here; none without `genesis.json`.
    pub fn scheme(&self) -> Option<Scheme> {
        self.ledger.genesis.map(|genesis| genesis.commitments)
    }

    /// Checks every row that is evidence against what ledger and log say of it; none where the
    /// database has no head.
    pub fn check(mut self) -> Result<Option<DatabaseSummary>, VerifyError> {
        let kinds = &self.ledger.commits.kinds;
        let exchanges = kinds.get(&CommitKind::Interaction).copied();
        let stage = CheckStage::Database;
        self.ledger
            .progress
            .begin(stage, exchanges.unwrap_or_default());
        let faults = self.rows(self.store.schema_faults())?.unwrap_or_default();
        self.schema = faults.iter().map(ToString::to_string).collect();
        self.is_made_again =
            !faults.is_empty() && !faults.iter().any(|fault| fault.is_lost_evidence());
        let Some(head) = self.rows(self.store.head())? else {
            let is_told = !self.schema.is_empty();
            return Ok(is_told.then(|| self.summary(None)));
        };
        let genesis = self.rows(self.store.genesis())?;
        self.read_tombstones()?;
        self.read_policies()?;
        self.check_genesis_row(genesis);
        let level = self.check_head(&head);
        self.check_log_rows(&head)?;
        self.check_commit_rows(&head)?;
        if let Some((lines, commits)) = self.rows(self.store.beyond_head(&head))? {
            self.cell(None, "log_line", "rows beyond those of the head", 0, lines);
            let what = "rows beyond those of the head";
            self.cell(None, "ledger_commit", what, 0, commits);
        }
        let open: Vec<Hash32> = self
            .rows(self.store.open_sessions())?
            .unwrap_or_default()
            .iter()
            .map(|row| row.id)
            .collect();
        let mut sessions = 0;
        let mut failed = Ok(());
        let each = self.store.each_session(&mut |row| {
            sessions += 1;
            let place = format!("chat_session {}", row.uuid);
            self.cell(
                Some(row.id),
                &place,
                "status is open",
                row.ended_at.is_none(),
                open.contains(&row.id),
            );
            let checked = self.check_session_row(&row, level);
            let checked = checked.and_then(|()| self.check_exchanges(&row));
            failed = checked;
            failed.as_ref().map_err(|_| stop()).copied()
        });
        failed?;
        self.rows(each)?;
        let logged = self.ledger.lines.state.sessions().count();
        if level {
            self.cell(None, "chat_session", "rows", logged, sessions);
        }
        self.check_turn_places()?;
        self.check_orphans()?;
        self.check_measure_rows()?;
        self.check_sums()?;
        self.check_artifacts(level)?;
        self.check_tombstone_ids()?;
        let search = self.check_search()?;
        self.check_threads()?;
        Ok(Some(self.summary(search)))
    }

    fn summary(self, search: Option<Vec<String>>) -> DatabaseSummary {
        DatabaseSummary {
            words: self.counts.to_string(),
            imported: self.counts.imported,
            erased: self.counts.erased,
            not_kept: self.counts.not_kept,
            search,
            schema: self.schema,
        }
    }

    /// A row that can't be read as what its columns promise is a finding; a locked database is an
    /// error.
    pub fn rows<T>(&mut self, read: Result<T, StoreError>) -> Result<Option<T>, VerifyError> {
        match read {
            Ok(rows) => Ok(Some(rows)),
            Err(
                error @ (StoreError::Busy { .. }
                | StoreError::Missing { .. }
                | StoreError::NoFile { .. }),
            ) => Err(error.into()),
            Err(StoreError::Corrupt {
                place,
                expected,
                actual,
            }) => {
                self.fault(None, place, expected, actual);
                Ok(None)
            }
            // What is said of the schema says it, and that a rebuild makes it readable again.
            Err(StoreError::Altered { .. }) if self.is_made_again => Ok(None),
            Err(error) => {
                self.findings
                    .inconsistent(None, "database", "readable rows", error.to_string());
                Ok(None)
            }
        }
    }

    /// Takes in that a row is not as it should be.
    pub fn fault(
        &mut self,
        session: Option<Hash32>,
        place: impl Display,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        let place = format!("database, {place}");
        self.findings.inconsistent(session, place, expected, actual);
    }

    /// The same of a row that may only be newer than what it is held against: then it is not
    /// applied yet.
    pub fn fault_unless_newer(
        &mut self,
        is_newer: bool,
        session: Option<Hash32>,
        difference: RowDifference<'_>,
    ) {
        let RowDifference {
            place,
            expected,
            actual,
        } = difference;
        let question = if is_newer {
            AuditQuestion::Complete
        } else {
            AuditQuestion::Consistent
        };
        let place = format!("database, {place}");
        self.findings
            .add(question, session, place, expected, actual);
    }

    /// Compares one value of a row with what ledger or log say.
    pub fn cell<T: PartialEq + Display>(
        &mut self,
        session: Option<Hash32>,
        place: &str,
        what: &str,
        expected: T,
        actual: T,
    ) {
        self.findings.same(
            session,
            || format!("database, {place}"),
            what,
            &expected,
            &actual,
        );
    }

    /// Compares one value that may be missing.
    pub fn cell_opt<T: PartialEq + Display>(
        &mut self,
        session: Option<Hash32>,
        place: &str,
        what: &str,
        expected: Option<T>,
        actual: Option<T>,
    ) {
        // Some fifty values an exchange: they are spelled when they differ.
        if expected == actual {
            return;
        }
        let text = |value: Option<T>| value.map_or("none".to_owned(), |value| value.to_string());
        self.cell(session, place, what, text(expected), text(actual));
    }

    fn check_genesis_row(&mut self, row: Option<String>) {
        let document = self
            .ledger
            .genesis
            .and_then(|genesis| canon::print(genesis).ok());
        if let (Some(row), Some(document)) = (row, document) {
            self.cell(None, "head", "genesis", document, row);
        }
    }

    /// What the database says that log and ledger have follows from its own lines. No evidence, and
    /// nothing is written where it does not.
    fn check_mark(&mut self, head: &LedgerHead) {
        let Ok(after) = self.store.lines(head.applied.lines, head.lines) else {
            return;
        };
        if !head.fits_mark(&after) {
            let mark = &head.applied;
            let (lines, bytes, commits) = (mark.lines, mark.bytes, mark.commits);
            self.fault(
                None,
                "head, applied_lines, applied_bytes, applied_commits",
                "what is in log and ledger, by the lines here: gently audit rebuild makes it again",
                format!("{lines} lines, {bytes} bytes, {commits} commits"),
            );
        }
    }

    /// Whether the database stands where the log does; only then running totals can be compared.
    fn check_head(&mut self, head: &LedgerHead) -> bool {
        self.check_mark(head);
        let lines = self.ledger.lines.state.count();
        if head.lines > lines {
            let expected = format!("{} lines, as the database has", head.lines);
            let newer = match head.lacks_tree_head() {
                true => "nobody has signed the newer ones",
                false => "the newer ones are applied when the home is next written to",
            };
            let actual = format!("{lines} lines; {newer}");
            self.findings.add(
                AuditQuestion::Complete,
                None,
                "database, head, ahead of audit.log",
                expected,
                actual,
            );
            let keys = &self.ledger.keys;
            let before = |note: &SignedNote| {
                let key = keys.of_size(note.size);
                Ok::<_, StoreError>(key.is_some_and(|key| note.verify(&key)))
            };
            if let Ok(Some(unsigned)) = self.store.unsigned_lines(head, before) {
                let place = format!("log line {}", unsigned.from);
                let signed =
                    "lines under a tree head by the key in force, as each transaction signs them";
                self.fault(
                    None,
                    &place,
                    signed,
                    format!("signed by nobody: {}", unsigned.list()),
                );
            }
            if head.lacks_tree_head() {
                let signed = format!("a signed tree head of {} lines", head.lines);
                self.fault(None, "head, checkpoint", signed, TAKEN_AWAY);
            }
            return false;
        }
        let end = self.ledger.lines.end(self.ledger.in_segments);
        for EndDifference { what, given, said } in end.differences(&head.log_end()) {
            self.cell(None, "head", what, given, said);
        }
        if head.lines < lines {
            return false;
        }
        self.cell_opt(
            None,
            "head",
            "signer",
            self.ledger.keys.known.last().map(|known| known.key),
            Some(head.signer),
        );
        let commits = u64::try_from(self.ledger.history.graph.len()).unwrap_or(u64::MAX);
        self.cell(None, "head", "commits", commits, head.commits);
        let tip = self.ledger.history.on_main().last().map(|node| node.time);
        self.cell_opt(None, "head", "segment_at", tip, Some(head.segment_at));
        self.check_stored_tree_head(head);
        self.check_segment_bytes(head);
        true
    }

    /// The lines that are inside `main` end where those begin that are not; by their length the next
    /// checkpoint is due.
    fn check_segment_bytes(&mut self, head: &LedgerHead) {
        let Ok(outside) = self.store.lines(head.segment_lines, head.lines) else {
            return;
        };
        let outside = outside.iter().map(|line| line.len() + 1).sum::<usize>();
        let outside = u64::try_from(outside).unwrap_or(u64::MAX);
        let expected = head.bytes.saturating_sub(outside);
        self.cell(None, "head", "segment_bytes", expected, head.segment_bytes);
    }

    /// The tree head that the database would put beside the log is over all its lines, and of this
    /// ledger.
    fn check_stored_tree_head(&mut self, head: &LedgerHead) {
        let (size, root) = (self.ledger.lines.tree.size(), self.ledger.lines.tree.root());
        let note = head.checkpoint.as_deref().map(parse_note);
        let expected = format!("a signed tree head of {size} lines, root {root}");
        let (question, actual) = match note {
            None if head.lacks_tree_head() => (AuditQuestion::Consistent, TAKEN_AWAY.to_owned()),
            None => (
                AuditQuestion::Complete,
                "none; the next writer signs it".to_owned(),
            ),
            Some(Err(fault)) => (AuditQuestion::Consistent, fault.to_string()),
            Some(Ok(note)) if note.size < size => (
                AuditQuestion::Complete,
                format!(
                    "one of {} lines; the next writer signs the others",
                    note.size
                ),
            ),
            // A rotation's own is by the key before.
            Some(Ok(note))
                if (note.size, note.root) == (size, root)
                    && self
                        .ledger
                        .keys
                        .known
                        .iter()
                        .rev()
                        .take(2)
                        .any(|known| note.verify(&known.key)) =>
            {
                return;
            }
            Some(Ok(note)) => (
                AuditQuestion::Consistent,
                format!(
                    "one of {} lines, root {}, or another signer",
                    note.size, note.root
                ),
            ),
        };
        self.findings.add(
            question,
            None,
            "database, head, checkpoint",
            expected,
            actual,
        );
    }

    /// Every stored line is the log's line of its number.
    fn check_log_rows(&mut self, head: &LedgerHead) -> Result<(), VerifyError> {
        let count = self.ledger.lines.state.count().min(head.lines);
        for from in (0..count).step_by(usize::try_from(stored_lines::PORTION).unwrap_or(1)) {
            let Some(rows) = self.rows(
                self.store
                    .lines(from, (from + stored_lines::PORTION).min(count)),
            )?
            else {
                return Ok(());
            };
            let expected =
                usize::try_from((count - from).min(stored_lines::PORTION)).unwrap_or(usize::MAX);
            if rows.len() != expected {
                self.cell(
                    None,
                    "log_line",
                    "rows from that of the first line here on",
                    expected,
                    rows.len(),
                );
            }
            let lines = self.ledger.lines;
            let repository = self.ledger.repository;
            for (n, hash) in self.stored_lines.take((from, &rows), lines, repository) {
                let row = usize::try_from(n - from).ok().and_then(|at| rows.get(at));
                let place = format!("log_line {n} (line {} of the log)", n + 1);
                let expected = format!(
                    "the log's line {}",
                    hash.map_or("?".to_owned(), |hash| hash.to_string())
                );
                let actual = row.map_or(String::new(), |row| row.chars().take(100).collect());
                self.fault(None, place, expected, actual);
            }
        }
        Ok(())
    }

    /// The line of a row, counted from 0, if the log has it and the database agrees.
    pub fn line_of(&mut self, n: u64) -> Result<Option<Line>, VerifyError> {
        if !self.stored_lines.is_same(n) {
            return Ok(None);
        }
        let Some(rows) = self.rows(self.store.lines(n, n.saturating_add(1)))? else {
            return Ok(None);
        };
        Ok(rows
            .first()
            .and_then(|row| Line::parse(row.as_bytes()).ok()))
    }

    fn check_commit_rows(&mut self, head: &LedgerHead) -> Result<(), VerifyError> {
        let mut found = 0;
        for from in (0..head.commits).step_by(usize::try_from(PORTION).unwrap_or(1)) {
            let Some(rows) =
                self.rows(self.store.commits(from, (from + PORTION).min(head.commits)))?
            else {
                return Ok(());
            };
            for row in rows {
                found += 1;
                self.check_commit_row(&row)?;
            }
        }
        self.cell(None, "ledger_commit", "rows", head.commits, found);
        Ok(())
    }

    fn check_commit_row(&mut self, row: &CommitRow) -> Result<(), VerifyError> {
        let place = format!("ledger_commit {}", row.n);
        let id = row
            .id
            .parse::<Oid>()
            .ok()
            .filter(|id| self.ledger.history.node(id).is_some());
        let Some(id) = id else {
            // Committed and not applied yet, or not this ledger's.
            let applied = row.line < self.ledger.lines.state.count();
            let expected = "the id of a commit in the ledger".to_owned();
            let difference = RowDifference {
                place: &place,
                expected,
                actual: row.id.clone(),
            };
            self.fault_unless_newer(!applied, None, difference);
            return Ok(());
        };
        if let Ok(commit) = self.ledger.repository.commit_bytes(&id)
            && commit != row.raw
        {
            let expected = format!("the bytes of commit {id}");
            self.fault(None, format!("{place}, raw"), expected, "others");
        }
        let Some(node) = self.ledger.history.node(&id) else {
            return Ok(());
        };
        let (tree, kind) = (node.tree, node.kind.map_or("none", |kind| kind.name()));
        let reference = match node.chain {
            Some(CommitChain::Branch(n, _)) => branch_name(n),
            _ => crate::record::ledger::commit::MAIN.to_owned(),
        };
        let line = node
            .log
            .and_then(|log| self.ledger.lines.records.number(&log))
            .map(|number| number - 1);
        self.cell(None, &place, "kind", kind, row.kind.name());
        self.cell(None, &place, "ref", reference, row.reference.clone());
        if line.is_some() {
            self.cell_opt(None, &place, "line", line, Some(row.line));
        }
        if let Some(shared) = row.tree_of.filter(|shared| *shared >= row.n) {
            let (place, expected) = (format!("{place}, tree_of"), "an earlier commit, or none");
            self.fault(None, place, expected, shared.to_string());
        }
        self.check_file_rows(row, &tree)
    }

    /// The stored files of a commit are those of its tree; `audit.log` stands in lines.
    fn check_file_rows(&mut self, row: &CommitRow, tree: &Oid) -> Result<(), VerifyError> {
        let place = format!("ledger_file of commit {}", row.tree_of.unwrap_or(row.n));
        let Some(files) = self.rows(self.store.files(row.tree_of.unwrap_or(row.n)))? else {
            return Ok(());
        };
        let Ok(entries) = self.ledger.repository.tree(tree) else {
            return Ok(());
        };
        let stored: Vec<String> = files
            .iter()
            .map(|(name, bytes)| format!("{name} {}", blob_id(bytes)))
            .collect();
        let held = entries.iter().filter(|entry| entry.name != "audit.log");
        let held: Vec<String> = held
            .map(|entry| format!("{} {}", entry.name, entry.id))
            .collect();
        self.cell(None, &place, "files", held.join(", "), stored.join(", "));
        let has_segment = entries.iter().any(|entry| entry.name == "audit.log");
        self.cell(
            None,
            &place,
            "has a segment",
            has_segment,
            row.segment.is_some(),
        );
        if let (Some((from, to)), Some(entry)) = (
            row.segment,
            entries.iter().find(|entry| entry.name == "audit.log"),
        ) {
            let lines = self.rows(self.store.lines(from, to))?.unwrap_or_default();
            let text: String = lines
                .iter()
                .flat_map(|line| [line.as_str(), "\n"])
                .collect();
            self.cell(None, &place, "segment", entry.id, blob_id(text.as_bytes()));
        }
        Ok(())
    }

    /// Compares a session's row with its document in the ledger, where that can be read.
    fn check_session_document(&mut self, place: &str, row: &SessionRow) {
        let id = Some(row.id);
        if let Some(document) = self
            .ledger
            .sessions
            .get(row.id)
            .and_then(|session| session.document.clone())
        {
            self.cell(id, place, "phase", document.phase, row.phase.clone());
            self.cell(id, place, "tier", document.tier, row.tier);
            self.cell(
                id,
                place,
                "kernel_hash",
                document.kernel_hash,
                row.kernel_hash,
            );
            self.cell(
                id,
                place,
                "host_role",
                document.host_role,
                row.host_role.clone(),
            );
            self.cell(id, place, "model_id", document.model, row.model.clone());
        }
    }

    fn check_session_row(&mut self, row: &SessionRow, level: bool) -> Result<(), VerifyError> {
        let (id, place) = (Some(row.id), format!("chat_session {}", row.uuid));
        self.cell::<Uuid>(
            id,
            &place,
            "session_id",
            row_id("session", row.id, 0),
            row.uuid,
        );
        if let Some(kernel) = self.rows(self.store.kernel(row.kernel_hash))? {
            let digest = kernel.map(|document| Hash32::digest(document.as_bytes()));
            self.cell_opt(id, "kernel", "kernel_hash", Some(row.kernel_hash), digest);
        }
        if let Some(keys) = self.rows(self.store.auth_keys())?
            && !keys.iter().any(|key| key.hash == row.auth_key_hash)
        {
            let expected = format!("auth_key_hash {} of session {}", row.auth_key_hash, row.id);
            self.fault(id, "auth_key", expected, "none");
        }
        self.check_session_document(&place, row);
        let Some(logged) = self.ledger.lines.state.session(row.id).cloned() else {
            let (expected, actual) = ("a session of the log".to_owned(), "none".to_owned());
            let difference = RowDifference {
                place: &place,
                expected,
                actual,
            };
            self.fault_unless_newer(!level, id, difference);
            return Ok(());
        };
        self.cell(id, &place, "started_at", logged.start.time, row.started_at);
        self.cell(
            id,
            &place,
            "auth_key_hash",
            logged.start.auth,
            row.auth_key_hash,
        );
        self.cell(
            id,
            &place,
            "branch",
            logged.start.branch.clone(),
            row.branch.clone(),
        );
        if level {
            let end = logged.end.as_ref();
            self.cell_opt(
                id,
                &place,
                "ended_at",
                end.map(|end| end.time),
                row.ended_at,
            );
            self.cell(
                id,
                &place,
                "block.height",
                end.map_or(logged.height, |end| end.btc),
                row.anchor.block.height,
            );
            self.cell(id, &place, "prompts", logged.next_seq() - 1, row.prompts);
            self.cell(
                id,
                &place,
                "interactions",
                logged.answered,
                row.interactions,
            );
            self.cell(
                id,
                &place,
                "chain_head",
                logged.last_chain.unwrap_or(row.id),
                row.chain_head,
            );
            self.check_last_line(&place, &logged, row);
            self.check_session_block(&place, row);
        }
        Ok(())
    }

    /// `last_at` moves with the session's lines, and not with the drift and artifact lines among
    /// them. After a `clock_set` the last line may be earlier than the first.
    fn check_last_line(
        &mut self,
        place: &str,
        logged: &crate::record::log::rules::SessionState,
        row: &SessionRow,
    ) {
        let earliest = logged.start.time.min(logged.last_time);
        if row.last_at > logged.last_time || row.last_at < earliest {
            let expected = format!("{earliest} to {}", logged.last_time);
            let (place, actual) = (format!("{place}, last_at"), row.last_at.to_string());
            self.fault(Some(row.id), place, expected, actual);
        }
    }

    fn check_session_block(&mut self, place: &str, row: &SessionRow) {
        let block = &row.anchor.block;
        let hashed = row.anchor.header.map(|header| header.hash());
        self.cell_opt(
            Some(row.id),
            place,
            "header",
            (block.height > 0).then_some(block.hash),
            hashed,
        );
        let named = self
            .ledger
            .lines
            .blocks
            .get(&block.height)
            .is_some_and(|hashes| hashes.contains(&block.hash));
        if !named {
            let actual = format!("block {} of height {}", block.hash, block.height);
            let expected = "the last block the session has seen";
            self.fault(Some(row.id), format!("{place}, block"), expected, actual);
        }
    }

    /// An exchange without an outcome has none in the log: the database is written first, so what
    /// the log has of it, the database has.
    pub fn check_no_outcome(&mut self, session: Hash32, seq: u64, place: &str) {
        let turn = self
            .ledger
            .lines
            .state
            .session(session)
            .and_then(|session| session.turn(seq));
        if let Some(PromptOutcome::Ended(logged)) = turn.map(|turn| turn.outcome) {
            let expected = format!("{logged:?}, as the log says");
            self.fault(Some(session), format!("{place}, outcome"), expected, "none");
        }
    }
}

/// Ends an iteration whose failure is kept beside it.
pub fn stop() -> StoreError {
    StoreError::Stopped
}
