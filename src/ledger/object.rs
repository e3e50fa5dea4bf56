//! Commits and trees in the one spelling that a writer gives them (format, section 6).
//!
//! ```text
//! tree 40HEX                                                        commit, in this order
//! parent 40HEX                                                      none, one or two
//! author gently <ledger@gently.invalid> SECONDS +0000
//! committer gently <ledger@gently.invalid> SECONDS +0000            the same SECONDS
//! gpgsig -----BEGIN SSH SIGNATURE-----                              exactly one
//!  …
//!                                                                   empty line, message
//! 100644 NAME\0 20 BYTES                                            tree entry
//! ```

use super::Oid;
use super::budget::BudgetExceeded;
use crate::record::ledger::commit::{AUTHOR_EMAIL, AUTHOR_NAME};
use crate::record::limits;
use crate::record::signature::{PublicKey, Signature, parse_armor, signed_data};
use crate::record::time::Seconds;

/// What is wrong with one object; a finding, never a panic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFault {
    /// Not in the repository.
    #[error("not in the repository")]
    Missing,
    /// Larger than its place allows.
    #[error("{size} bytes, more than {limit}")]
    TooLarge {
        /// What its header says.
        size: u64,
        /// That of its place.
        limit: u64,
    },
    /// So much was read before that nothing more is.
    #[error("not read: {0}")]
    Refused(BudgetExceeded),
    /// Its file, or the pack around it, can't be read.
    #[error("unreadable: {reason}")]
    Unreadable {
        /// What git's library said.
        reason: String,
    },
    /// A tree where a commit should be, and so on.
    #[error("a {actual}, not a {expected}")]
    Kind {
        /// The kind that its place asks for.
        expected: &'static str,
        /// The kind it is.
        actual: String,
    },
    /// Its content has another id: changed after it was named.
    #[error("its content is that of object {actual}")]
    Content {
        /// SHA-1 of kind, length and content.
        actual: String,
    },
    /// Spelled otherwise than a writer does.
    #[error("{part}: {actual}, not {expected}")]
    Form {
        /// Which part of the object.
        part: &'static str,
        /// What it should be.
        expected: String,
        /// What it is, shortened.
        actual: String,
    },
}

impl ObjectFault {
    /// What should have been found, for a report.
    pub fn expected(&self) -> String {
        match self {
            ObjectFault::Missing => "an object of this id".to_owned(),
            ObjectFault::TooLarge { limit, .. } => format!("at most {limit} bytes"),
            ObjectFault::Refused(_) => "a repository of the size of a ledger".to_owned(),
            ObjectFault::Unreadable { .. } => "a readable object".to_owned(),
            ObjectFault::Kind { expected, .. } => format!("a {expected}"),
            ObjectFault::Content { .. } => "content that hashes to the object's id".to_owned(),
            ObjectFault::Form { part, expected, .. } => format!("{part}: {expected}"),
        }
    }

    /// What was found, for a report.
    pub fn actual(&self) -> String {
        match self {
            ObjectFault::Form { actual, .. } => actual.clone(),
            other => other.to_string(),
        }
    }
}

/// A commit that is spelled as a writer spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Id of the commit's tree.
    pub tree: Oid,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// Author date and commit date, which are the same.
    pub time: Seconds,
    /// The key that the signature names.
    pub key: PublicKey,
    /// SSH signature over the commit's other bytes.
    pub signature: Signature,
    /// What is signed: the commit without its `gpgsig` header.
    pub payload: Vec<u8>,
    /// Subject and trailers.
    pub message: String,
}

impl Commit {
    /// Whether the signature is `key`'s over this commit.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.key == *key && key.verifies(&signed_data(&self.payload), &self.signature)
    }
}

/// A commit that is spelled otherwise: what it calls itself, which shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoncanonicalCommit {
    /// Id of the commit's tree.
    pub tree: Oid,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// What may be subject and trailers.
    pub message: String,
    /// Whether it has a `gpgsig` header at all.
    pub has_signature: bool,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// As the tree spells it, `100644`.
    pub mode: String,
    /// File name, without folders.
    pub name: String,
    /// Id of the object that the entry names.
    pub id: Oid,
}

impl TreeEntry {
    /// Whether it is a file of this name, in the one mode that a writer gives.
    pub fn is_file(&self, name: &str) -> bool {
        self.mode == "100644" && self.name == name
    }
}

/// Walks over a commit's text, naming the part that is not as it should be.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn wrong(&self, part: &'static str, expected: impl Into<String>) -> ObjectFault {
        let actual = self.rest.chars().take(80).collect::<String>();
        ObjectFault::Form {
            part,
            expected: expected.into(),
            actual: format!("'{}'", actual.escape_debug()),
        }
    }

    fn line(&mut self, part: &'static str, start: &str) -> Result<&'a str, ObjectFault> {
        let (line, rest) = self
            .rest
            .strip_prefix(start)
            .and_then(|after| after.split_once('\n'))
            .ok_or_else(|| self.wrong(part, format!("a line '{start}…'")))?;
        self.rest = rest;
        Ok(line)
    }

    fn id_line(&mut self, start: &'static str) -> Result<Oid, ObjectFault> {
        let before = self.rest;
        let text = self.line(start.trim_end(), start)?;
        text.parse().map_err(|_| {
            Reader { rest: before }.wrong(start.trim_end(), "40 lower-case hexadecimal digits")
        })
    }

    fn parents(&mut self) -> Result<Vec<Oid>, ObjectFault> {
        let mut parents = Vec::new();
        while self.rest.starts_with("parent ") {
            if parents.len() == limits::PARENTS {
                return Err(self.wrong("parents", format!("at most {} of them", limits::PARENTS)));
            }
            parents.push(self.id_line("parent ")?);
        }
        Ok(parents)
    }

    fn person(&mut self, role: &'static str) -> Result<Seconds, ObjectFault> {
        let before = self.rest;
        let wrong = || {
            Reader { rest: before }.wrong(
                role,
                format!("{role} {AUTHOR_NAME} <{AUTHOR_EMAIL}> SECONDS +0000"),
            )
        };
        let text = self.line(role, &format!("{role} {AUTHOR_NAME} <{AUTHOR_EMAIL}> "))?;
        let number = text.strip_suffix(" +0000").ok_or_else(wrong)?;
        let time = number
            .parse()
            .ok()
            .and_then(|n| Seconds::new(n).ok())
            .ok_or_else(wrong)?;
        if time.get().to_string() == number {
            Ok(time)
        } else {
            Err(wrong())
        }
    }

    fn signature(&mut self) -> Result<(PublicKey, Signature), ObjectFault> {
        let mut armor = self.line("gpgsig", "gpgsig ")?.to_owned();
        while self.rest.starts_with(' ') {
            armor.push('\n');
            armor.push_str(self.line("gpgsig", " ")?);
        }
        parse_armor(&armor).map_err(|e| ObjectFault::Form {
            part: "signature",
            expected: "an Ed25519 SSH signature as git writes it".to_owned(),
            actual: e.to_string(),
        })
    }
}

pub(super) fn parse_commit(bytes: &[u8]) -> Result<Commit, ObjectFault> {
    let text = std::str::from_utf8(bytes).map_err(|e| ObjectFault::Form {
        part: "commit",
        expected: "UTF-8".to_owned(),
        actual: e.to_string(),
    })?;
    let mut reader = Reader { rest: text };
    let tree = reader.id_line("tree ")?;
    let parents = reader.parents()?;
    let time = reader.person("author")?;
    let committed = reader.person("committer")?;
    if time != committed {
        return Err(ObjectFault::Form {
            part: "committer",
            expected: format!("the author's date {}", time.get()),
            actual: committed.get().to_string(),
        });
    }
    let headers = text.strip_suffix(reader.rest).unwrap_or_default();
    let (key, signature) = reader.signature()?;
    let payload = [headers.as_bytes(), reader.rest.as_bytes()].concat();
    reader
        .line("end of headers", "")?
        .is_empty()
        .then_some(())
        .ok_or_else(|| ObjectFault::Form {
            part: "end of headers",
            expected: "an empty line after gpgsig".to_owned(),
            actual: "another header".to_owned(),
        })?;
    Ok(Commit {
        tree,
        parents,
        time,
        key,
        signature,
        payload,
        message: reader.rest.to_owned(),
    })
}

pub(super) fn parse_misspelt(bytes: &[u8]) -> Result<NoncanonicalCommit, ObjectFault> {
    let (tree, parents) = parse_foreign(bytes)?;
    let text = String::from_utf8_lossy(bytes);
    let (headers, message) = text.split_once("\n\n").unwrap_or((&text, ""));
    Ok(NoncanonicalCommit {
        tree,
        parents,
        message: message.to_owned(),
        has_signature: headers.contains("\ngpgsig "),
    })
}

pub(super) fn parse_tree(bytes: &[u8]) -> Result<Vec<TreeEntry>, ObjectFault> {
    let wrong = |at: usize| ObjectFault::Form {
        part: "tree entry",
        expected: "MODE, a space, a name, a zero byte, 20 bytes".to_owned(),
        actual: format!("something else at byte {at}"),
    };
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let entry = next_entry(rest).ok_or_else(|| wrong(at))?;
        rest = entry.1;
        entries.push(entry.0);
    }
    Ok(entries)
}

/// The objects of a tree that is spelled so: each of these names with mode 100644, and nothing
/// else.
pub(super) fn parse_files<const N: usize>(bytes: &[u8], names: &[&str; N]) -> Option<[Oid; N]> {
    let mut ids = [Oid::from_bytes([0; 20]); N];
    let mut rest = bytes;
    for (place, name) in ids.iter_mut().zip(names) {
        let after = rest
            .strip_prefix(b"100644 ")?
            .strip_prefix(name.as_bytes())?
            .strip_prefix(b"\0")?;
        let (id, left) = after.split_first_chunk::<20>()?;
        (*place, rest) = (Oid::from_bytes(*id), left);
    }
    rest.is_empty().then_some(ids)
}

fn next_entry(bytes: &[u8]) -> Option<(TreeEntry, &[u8])> {
    let zero = bytes.iter().position(|b| *b == 0)?;
    let (head, rest) = bytes.split_at_checked(zero)?;
    let (mode, name) = std::str::from_utf8(head).ok()?.split_once(' ')?;
    let (id, rest) = rest.strip_prefix(&[0])?.split_first_chunk::<20>()?;
    Some((
        TreeEntry {
            mode: mode.to_owned(),
            name: name.to_owned(),
            id: Oid::from_bytes(*id),
        },
        rest,
    ))
}

/// Tree and parents of a commit that is not ours.
pub(super) fn parse_foreign(bytes: &[u8]) -> Result<(Oid, Vec<Oid>), ObjectFault> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader { rest: &text };
    let tree = reader.id_line("tree ")?;
    Ok((tree, reader.parents()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::signature::armor;
    use ed25519_dalek::{Signer, SigningKey};

    fn signed(headers: &str, message: &str) -> String {
        let key = SigningKey::from_bytes(&[0x11; 32]);
        let payload = format!("{headers}\n{message}");
        let signature =
            Signature::from_bytes(key.sign(&signed_data(payload.as_bytes())).to_bytes());
        let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
        let armor = armor(&public, &signature).replace('\n', "\n ");
        format!("{headers}gpgsig {armor}\n\n{message}")
    }

    const HEADERS: &str = "tree 586461d984dae868b8f9babe1f4a3187824101e2\n\
        parent 8f84f3d425f037cad8ff71c0b1bb3d1d4e847900\n\
        author gently <ledger@gently.invalid> 1707113642 +0000\n\
        committer gently <ledger@gently.invalid> 1707113642 +0000\n";

    #[test]
    fn a_commit_has_one_spelling() {
        let text = signed(HEADERS, "genesis\n\nRecord: x\n");
        let commit = parse_commit(text.as_bytes()).unwrap();
        assert_eq!(commit.message, "genesis\n\nRecord: x\n");
        assert_eq!(
            commit.payload,
            format!("{HEADERS}\ngenesis\n\nRecord: x\n").as_bytes()
        );
        assert_eq!(commit.time.get(), 1_707_113_642);
        assert_eq!(commit.parents.len(), 1);
        assert!(commit.is_signed_by(&commit.key));
        for (from, to) in [
            ("tree 5", "tree F"),
            ("tree 5", "tree  5"),
            ("parent 8", "parent 8 "),
            ("author gently", "author Gently"),
            ("1707113642 +0000\ngpgsig", "1707113643 +0000\ngpgsig"),
            (
                "1707113642 +0000\ncommitter",
                "01707113642 +0000\ncommitter",
            ),
            ("+0000\ncommitter", "+0100\ncommitter"),
            ("gpgsig", "gpgsig2"),
            ("gpgsig ", "encoding UTF-8\ngpgsig "),
            ("\n\ngenesis", "\nencoding UTF-8\n\ngenesis"),
            ("\n\ngenesis", "\ngenesis"),
            ("BEGIN SSH", "BEGIN PGP"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(parse_commit(changed.as_bytes()).is_err(), "{from} → {to}");
        }
    }

    #[test]
    fn every_changed_byte_of_a_commit_is_refused_or_unsigned() {
        let text = signed(HEADERS, "genesis\n\nRecord: x\n").into_bytes();
        for at in 0..text.len() {
            for flip in [0x01, 0x80] {
                let mut changed = text.clone();
                changed[at] ^= flip;
                let holds =
                    parse_commit(&changed).is_ok_and(|commit| commit.is_signed_by(&commit.key));
                assert!(!holds, "byte {at} ^ {flip}");
            }
        }
    }

    #[test]
    fn a_tree_is_read_to_its_last_byte() {
        let entry = |mode: &str, name: &str| {
            [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat()
        };
        let bytes = [entry("100644", "a"), entry("100755", "b c")].concat();
        let entries = parse_tree(&bytes).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            (entries[1].mode.as_str(), entries[1].name.as_str()),
            ("100755", "b c")
        );
        assert_eq!(parse_tree(b""), Ok(Vec::new()));
        for cut in (1..bytes.len()).filter(|cut| *cut != 29) {
            assert!(parse_tree(&bytes[..cut]).is_err(), "{cut}");
        }
        // Exactly these files, or none of it.
        let plain = [entry("100644", "a"), entry("100644", "b")].concat();
        assert_eq!(
            parse_files(&plain, &["a", "b"]),
            Some([Oid::from_bytes([7; 20]); 2])
        );
        assert_eq!(
            (
                parse_files(&plain, &["a"]),
                parse_files(&plain, &["b", "a"])
            ),
            (None, None)
        );
        assert_eq!(
            (
                parse_files(&plain, &["a", "b", "c"]),
                parse_files(&bytes, &["a", "b c"])
            ),
            (None, None)
        );
        for at in (0..plain.len()).filter(|at| !(9..29).contains(at) && !(38..58).contains(at)) {
            let mut changed = plain.clone();
            changed[at] ^= 1;
            assert_eq!(parse_files(&changed, &["a", "b"]), None, "{at}");
        }
    }
}
