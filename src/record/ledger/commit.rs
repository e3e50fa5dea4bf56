//! What a commit of the ledger says: subject, trailers and files of each kind (format, section 6).
//!
//! ```text
//! interaction-3                      subject
//!                                    empty line
//! Session: a7f3…                     trailers, in the order of the table, one a line
//! Seq: 3
//! Chain: 8923…
//! Record: 77b1…                      H of the JSON document's bytes
//! Log: 1f0c…                         HASH of the line whose `record:` is this commit's Record
//! ```

use crate::record::hash::Hash32;

/// Author and committer of every commit.
pub const AUTHOR_NAME: &str = "gently";
/// Mail address of author and committer of every commit.
pub const AUTHOR_EMAIL: &str = crate::record::signature::PRINCIPAL;
/// The integration branch.
pub const MAIN: &str = "refs/heads/main";
/// OpenTimestamps proofs, unsigned.
pub const NOTES_OTS: &str = "refs/notes/ots";
/// Witnesses' cosignatures, unsigned.
pub const NOTES_WITNESS: &str = "refs/notes/witness";

/// The full ref name of a session branch such as `branch-4`.
pub fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// The seven kinds of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommitKind {
    /// Root of `main`.
    Genesis,
    /// First commit of a session.
    SessionStart,
    /// One answered prompt.
    Interaction,
    /// Last commit of a session.
    SessionEnd,
    /// Merge of a session's end into `main`.
    Close,
    /// A segment on `main` while sessions are open.
    Checkpoint,
    /// A new signing key, on `main`.
    KeyRotate,
}

impl CommitKind {
    /// All kinds, in the order of the page.
    pub const ALL: [CommitKind; 7] = [
        CommitKind::Genesis,
        CommitKind::SessionStart,
        CommitKind::Interaction,
        CommitKind::SessionEnd,
        CommitKind::Close,
        CommitKind::Checkpoint,
        CommitKind::KeyRotate,
    ];

    /// The kind that a subject names, if any.
    pub fn of_subject(subject: &str) -> Option<Self> {
        let head = subject.split(':').next()?;
        Some(match head {
            "genesis" => CommitKind::Genesis,
            "session_start" => CommitKind::SessionStart,
            "session_end" => CommitKind::SessionEnd,
            "close" => CommitKind::Close,
            "checkpoint" => CommitKind::Checkpoint,
            "key_rotate" => CommitKind::KeyRotate,
            _ if head.starts_with("interaction-") => CommitKind::Interaction,
            _ => return None,
        })
    }

    /// The kind of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        use CommitKind::{
            Checkpoint, Close, Genesis, Interaction, KeyRotate, SessionEnd, SessionStart,
        };
        [
            Genesis,
            SessionStart,
            Interaction,
            SessionEnd,
            Close,
            Checkpoint,
            KeyRotate,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }

    /// The word findings and counts use.
    pub const fn name(self) -> &'static str {
        match self {
            CommitKind::Genesis => "genesis",
            CommitKind::SessionStart => "session_start",
            CommitKind::Interaction => "interaction",
            CommitKind::SessionEnd => "session_end",
            CommitKind::Close => "close",
            CommitKind::Checkpoint => "checkpoint",
            CommitKind::KeyRotate => "key_rotate",
        }
    }

    /// The file whose hash is the `Record` trailer.
    pub const fn document(self) -> &'static str {
        match self {
            CommitKind::Genesis => "genesis.json",
            CommitKind::SessionStart => "session.json",
            CommitKind::Interaction => "record.json",
            CommitKind::SessionEnd | CommitKind::Close => "close.json",
            CommitKind::Checkpoint => "checkpoint.json",
            CommitKind::KeyRotate => "rotate.json",
        }
    }

    /// Exactly the files of its tree, sorted as git sorts them; `anchored` says whether the
    /// document's block is a real one (a `local` block has no `btc_header`).
    pub fn files(self, anchored: bool) -> Vec<&'static str> {
        let all: &[&'static str] = match self {
            CommitKind::Genesis => &["allowed_signers", "genesis.json"],
            CommitKind::SessionStart => &["btc_header", "session.json"],
            CommitKind::Interaction => &[
                "chain_entry",
                "prompt_hash",
                "record.json",
                "response_hash",
                "session",
            ],
            CommitKind::SessionEnd | CommitKind::Close => {
                &["audit.log", "btc_header", "checkpoint", "close.json"]
            }
            CommitKind::Checkpoint => &["audit.log", "checkpoint", "checkpoint.json"],
            CommitKind::KeyRotate => &["allowed_signers", "audit.log", "checkpoint", "rotate.json"],
        };
        all.iter()
            .copied()
            .filter(|name| anchored || *name != "btc_header")
            .collect()
    }
}

/// Everything a commit's message says; [`CommitMessage::render`] is the only spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMessage {
    /// What the commit is about.
    pub subject: Subject,
    /// H of the JSON document's bytes.
    pub record: Hash32,
    /// HASH of the log line that names this record.
    pub log: Hash32,
}

/// The variable part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The root of `main`: `genesis`.
    Genesis,
    /// A session begins: `session_start:ID16:btc-HEIGHT`.
    SessionStart {
        /// Id of the session.
        session: Hash32,
        /// Height of the start block.
        height: u32,
    },
    /// A question was answered: `interaction-SEQ`.
    Interaction {
        /// Id of the session.
        session: Hash32,
        /// The prompt's number.
        seq: u64,
        /// The chain entry.
        chain: Hash32,
    },
    /// A session ends: `session_end:CLOSE16:btc-HEIGHT`.
    SessionEnd {
        /// Id of the session.
        session: Hash32,
        /// The close hash.
        close: Hash32,
        /// Height of the block at the close.
        height: u32,
    },
    /// The log up to a session's end: `close:ID16`.
    Close {
        /// Id of the session.
        session: Hash32,
        /// The close hash.
        close: Hash32,
    },
    /// The log up to a tree head: `checkpoint:HEAD16`.
    Checkpoint {
        /// The log's head just before the `checkpoint` line.
        head: Hash32,
    },
    /// A new signing key: `key_rotate:KEY16`.
    KeyRotate {
        /// H of the new public key's 32 bytes.
        key: Hash32,
    },
}

impl CommitMessage {
    /// Subject, empty line, trailers, final newline; nothing else.
    pub fn render(&self) -> String {
        let CommitMessage {
            subject,
            record,
            log,
        } = self;
        let (subject, own) = match subject {
            Subject::Genesis => ("genesis".to_owned(), String::new()),
            Subject::SessionStart { session, height } => (
                format!("session_start:{}:btc-{height}", session.short16()),
                format!("Session: {session}\n"),
            ),
            // Most messages are this one.
            Subject::Interaction {
                session,
                seq,
                chain,
            } => {
                return format!(
                    "interaction-{seq}\n\nSession: {session}\nSeq: {seq}\nChain: {chain}\nRecord: {record}\nLog: {log}\n"
                );
            }
            Subject::SessionEnd {
                session,
                close,
                height,
            } => (
                format!("session_end:{}:btc-{height}", close.short16()),
                format!("Session: {session}\nClose: {close}\n"),
            ),
            Subject::Close { session, close } => (
                format!("close:{}", session.short16()),
                format!("Session: {session}\nClose: {close}\n"),
            ),
            Subject::Checkpoint { head } => {
                (format!("checkpoint:{}", head.short16()), String::new())
            }
            Subject::KeyRotate { key } => (format!("key_rotate:{}", key.short16()), String::new()),
        };
        format!("{subject}\n\n{own}Record: {record}\nLog: {log}\n")
    }
}

/// The value of a trailer in a message, if it is there exactly once.
pub fn trailer<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    // Not `lines`, which takes a carriage return for a part of the line's end.
    let mut found = message
        .split('\n')
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    let value = found.next()?;
    found.next().is_none().then_some(value)
}

/// A file of one line: the hash in hexadecimal and a newline.
pub fn hash_file(hash: Hash32) -> Vec<u8> {
    format!("{hash}\n").into_bytes()
}

/// Whether a file is [`hash_file`] of a hash.
pub fn is_hash_file(bytes: &[u8], hash: Hash32) -> bool {
    bytes
        .strip_suffix(b"\n")
        .is_some_and(|digits| *digits == hash.digits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_as_the_format_page_spells_them() {
        let h = |b: u8| Hash32::from_bytes([b; 32]);
        let message = CommitMessage {
            subject: Subject::Interaction {
                session: h(1),
                seq: 3,
                chain: h(2),
            },
            record: h(3),
            log: h(4),
        };
        let text = message.render();
        assert_eq!(
            text,
            format!(
                "interaction-3\n\nSession: {}\nSeq: 3\nChain: {}\nRecord: {}\nLog: {}\n",
                h(1),
                h(2),
                h(3),
                h(4)
            )
        );
        assert_eq!(trailer(&text, "Log"), Some(h(4).to_string().as_str()));
        assert_eq!(trailer(&format!("{text}{text}"), "Log"), None);
        assert_eq!(
            CommitKind::of_subject("interaction-3"),
            Some(CommitKind::Interaction)
        );
        assert_eq!(
            CommitKind::of_subject("close:0101010101010101"),
            Some(CommitKind::Close)
        );
        assert_eq!(CommitKind::of_subject("merge"), None);
    }
}
