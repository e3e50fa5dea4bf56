//! Whether the parts of an opening file are of one turn, and carry what is opened.

use crate::record::canon::CanonError;
use crate::record::chain::{chain_entry, session_close_hash, session_id};
use crate::record::commit::Message;
use crate::record::commitment::Role;
use crate::record::entry::{Event, Line};
use crate::record::hash::Hash32;
use crate::record::opening::{ClosePart, CommitPart, RecordPart, StartPart};
use crate::record::time::Seconds;

use super::{About, Check};

impl Check<'_> {
    /// The line, its HASH, and that it is the opening's.
    pub(super) fn line(&mut self) -> Option<Line> {
        let (part, opening) = (&self.file.line, &self.file.opening);
        let line = match Line::parse(part.text.as_bytes()) {
            Ok(line) => line,
            Err(error) => {
                self.find(About::Consistent, "line", "a line of the log", error);
                return None;
            }
        };
        if !line.follows(part.prev) {
            self.find(About::Consistent, "line", format!("a HASH that follows {}", part.prev), line.hash);
        }
        let expected = match opening.role {
            Role::Artifact => matches!(line.event, Event::Artifact { .. }),
            Role::Prompt => matches!(line.event, Event::Response { .. } | Event::Prompt { .. }),
            Role::Response => matches!(line.event, Event::Response { .. }),
            Role::Exchange => {
                matches!(line.event, Event::Response { .. } | Event::ResponseFail { .. } | Event::Denied { .. })
            }
            _ => false,
        };
        if !expected {
            let wanted = format!("a line that carries a commitment of role {}", opening.role.name());
            self.find(About::Consistent, "line", wanted, line.event.name());
        }
        let session = line.session.map_or_else(|| "-".to_owned(), |id| id.to_string());
        self.same("opening", "session_id", session, opening.session_id.clone());
        let number = |seq: Option<u64>| seq.map_or_else(|| "null".to_owned(), |seq| seq.to_string());
        self.same("opening", "seq", number(line.event.seq()), number(opening.seq));
        Some(line)
    }

    /// Which parts there are, and that each is the line's.
    pub(super) fn parts(&mut self, line: Option<&Line>) {
        let Some(line) = line else { return };
        let has = |part: bool| if part { "there" } else { "null" };
        let answered = matches!(line.event, Event::Response { .. });
        self.same("record", "the record is", has(answered), has(self.file.record.is_some()));
        self.same("start", "the start is", has(line.session.is_some()), has(self.file.start.is_some()));
        if let Some(record) = &self.file.record {
            self.record(line, record);
        }
        if let Some(start) = &self.file.start {
            self.start(line, start);
        }
        if let Some(close) = &self.file.close {
            self.close(line, close);
        }
    }

    fn record(&mut self, line: &Line, part: &RecordPart) {
        let document = &part.document;
        let Event::Response { hash, seq, model, chain, record } = &line.event else { return };
        let place = "record";
        let entry = chain_entry(document.prev, document.prompt_hash, document.response_hash, document.timestamp);
        self.same(place, "chain_entry", entry, document.chain_entry);
        self.same(place, "chain_entry", *chain, document.chain_entry);
        self.same(place, "response_hash", *hash, document.response_hash);
        self.same(place, "seq", *seq, document.seq);
        self.same(place, "model", model.clone(), document.model.clone());
        self.same(place, "timestamp", line.time, document.timestamp);
        self.same(place, "session_id", line.session.unwrap_or(Hash32::ZERO), document.session_id);
        let message = part.message(line.hash);
        if let Ok(message) = &message {
            self.same(place, "SHA-256", *record, message.record);
        }
        self.commit(place, &part.commit, message, document.timestamp);
    }

    fn start(&mut self, line: &Line, part: &StartPart) {
        let (place, document) = ("start", &part.document);
        let id = session_id(document.auth_key_hash, &document.block.hash.to_string(), document.prev_log);
        self.same(place, "session_id", id, document.session_id);
        self.same(place, "session_id", line.session.unwrap_or(Hash32::ZERO), document.session_id);
        self.same(place, "branch", document.block.branch(), document.branch.clone());
        if document.opened_at > line.time {
            self.find(About::Consistent, place, format!("opened at {} or before", line.time), document.opened_at);
        }
        self.commit(place, &part.commit, part.message(), document.opened_at);
    }

    fn close(&mut self, line: &Line, part: &ClosePart) {
        let (place, document) = ("close", &part.document);
        self.same(place, "session_id", line.session.unwrap_or(Hash32::ZERO), document.session_id);
        let last = (document.interactions > 0).then_some(document.final_chain_hash);
        let hash = session_close_hash(document.session_id, &document.block.hash.to_string(), last);
        self.same(place, "session_close_hash", hash, document.session_close_hash);
        if document.closed_at < line.time {
            self.find(About::Consistent, place, format!("closed at {} or later", line.time), document.closed_at);
        }
        if let Some(later) = &part.later {
            let later = u64::try_from(later.len()).unwrap_or(u64::MAX);
            let end = self.file.record.as_ref().and_then(|record| part.end_of_chain(record.document.chain_entry));
            match end {
                Some(end) => self.same(place, "final_chain_hash", document.final_chain_hash, end),
                None => self.find(About::Consistent, place, "later null, as the turn has no answer", "turns"),
            }
            if later >= document.interactions {
                let most = format!("{} interactions", later.saturating_add(1));
                self.find(About::Consistent, place, format!("at least {most}"), document.interactions);
            }
        }
        self.commit(place, &part.commit, part.message(), document.closed_at);
    }

    fn commit(&mut self, place: &'static str, part: &CommitPart, message: Result<Message, CanonError>, time: Seconds) {
        let key = &self.file.head.key;
        if message.is_ok_and(|message| part.is_signed_by(key, &message, time)) {
            return;
        }
        for about in [About::Consistent, About::SignedBy] {
            self.find(about, place, format!("a commit signed by {}", self.file.head.key), "a signature that is not");
        }
    }

    /// Key and text give the commitment, and line or record carry it.
    pub(super) fn commitment(&mut self, line: Option<&Line>) {
        let opening = &self.file.opening;
        let record = self.file.record.as_ref().map(|part| &part.document);
        let carried = line.and_then(|line| match (&line.event, opening.role) {
            (Event::Artifact { hash, .. }, Role::Artifact) | (Event::Prompt { hash, .. }, Role::Prompt) => Some(*hash),
            (Event::ResponseFail { exchange, .. } | Event::Denied { exchange, .. }, Role::Exchange) => Some(*exchange),
            (Event::Response { .. }, Role::Prompt) => record.map(|record| record.prompt_hash),
            (Event::Response { hash, .. }, Role::Response) => Some(*hash),
            (Event::Response { .. }, Role::Exchange) => record.map(|record| record.exchange_hash),
            _ => None,
        });
        if carried != Some(opening.commitment) {
            let carried = carried.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
            self.find(About::Commitment, "opening", format!("commitment {carried}"), opening.commitment);
        }
        if !opening.holds() {
            let expected = format!("key and text that give {}", opening.commitment);
            self.find(About::Commitment, "opening", expected, "others");
        }
    }
}
