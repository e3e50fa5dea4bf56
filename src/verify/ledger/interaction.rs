//! The commit of an answer, as far as its own files tell whether it is right: read and compared by
//! whichever thread is free, so that what has to be done in order is little.

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitMessage, Subject, is_hash_file};
use crate::record::ledger::documents::Record;
use crate::record::log::chain::chain_entry;

use super::commit_graph::{HalfHash, half};
use crate::verify::log::records::DocumentDigest;

/// The files of an answer's tree.
const FILES: [&str; 5] = [
    "chain_entry",
    "prompt_hash",
    "record.json",
    "response_hash",
    "session",
];
/// Files named `session` that are remembered; more sessions than these are seldom open at once.
const SESSIONS: usize = 8;

/// An answer's commit that is right in itself: a tree of exactly its five files, each read and
/// hashed again, a canonical document, small files and a chain entry that follow from it, and the
/// message that it asks for.
///
/// Of its line, its session and its parents nothing is known yet.
pub(crate) struct InteractionCommit {
    pub document: Record,
    /// H of the document's bytes.
    pub record: Hash32,
    pub said: DocumentDigest,
}

/// Reads such commits, each into the same memory.
pub(crate) struct InteractionReader<'a> {
    repository: &'a Repository,
    buffer: Vec<u8>,
    /// The sessions whose file was read last: all answers of a session have one and the same.
    sessions: [Option<(Oid, Hash32)>; SESSIONS],
    next: usize,
}

impl<'a> InteractionReader<'a> {
    pub fn new(repository: &'a Repository) -> Self {
        InteractionReader {
            repository,
            buffer: Vec::new(),
            sessions: [None; SESSIONS],
            next: 0,
        }
    }

    /// The answer of a commit with this tree, `Log` and half of H of its message; none when
    /// anything is not right, and whoever checks it finds out what.
    pub fn read(
        &mut self,
        tree: &Oid,
        log: Hash32,
        message: HalfHash,
    ) -> Option<InteractionCommit> {
        let [entry, prompt, document, response, session] = self
            .repository
            .files(tree, &FILES, &mut self.buffer)
            .ok()??;
        self.repository
            .file_into(&document, "record.json", &mut self.buffer)
            .ok()?;
        let record = Hash32::digest(&self.buffer);
        let document: Record = canon::parse_in_order(&self.buffer).ok()?;
        let small = [
            (entry, document.chain_entry),
            (prompt, document.prompt_hash),
            (response, document.response_hash),
        ];
        let whole = small
            .into_iter()
            .all(|(file, hash)| self.is_file_of(&file, hash))
            && self.is_session(session, document.session_id);
        let (prev, prompt, response) =
            (document.prev, document.prompt_hash, document.response_hash);
        if !whole || chain_entry(prev, prompt, response, document.timestamp) != document.chain_entry
        {
            return None;
        }
        let (session, seq, chain) = (document.session_id, document.seq, document.chain_entry);
        let asked_for = CommitMessage {
            subject: Subject::Interaction {
                session,
                seq,
                chain,
            },
            record,
            log,
        }
        .render();
        let said = DocumentDigest::by(&document, record);
        (half(Hash32::digest(asked_for.as_bytes())) == message).then_some(InteractionCommit {
            document,
            record,
            said,
        })
    }

    fn is_file_of(&mut self, file: &Oid, hash: Hash32) -> bool {
        self.repository
            .file_into(file, "session", &mut self.buffer)
            .is_ok()
            && is_hash_file(&self.buffer, hash)
    }

    fn is_session(&mut self, file: Oid, session: Hash32) -> bool {
        if self.sessions.contains(&Some((file, session))) {
            return true;
        }
        let is_it = self.is_file_of(&file, session);
        if is_it && let Some(place) = self.sessions.get_mut(self.next) {
            *place = Some((file, session));
            self.next = (self.next + 1) % SESSIONS;
        }
        is_it
    }
}
