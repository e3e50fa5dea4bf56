//! How large what a stranger hands over may be (format, section 2), in one place.
//!
//! Each limit is by the role of a thing, and is held before the thing is in memory: an object that
//! says in its header that it is larger, or that could not be inflated within it, is *unreadable*.

/// Most bytes of a commit object: 16 KiB.
pub const COMMIT: u64 = 16 << 10;
/// Most bytes of a tree object: 16 KiB.
pub const TREE: u64 = 16 << 10;
/// A JSON document, `allowed_signers`, the content of a note.
pub const DOCUMENT: u64 = 64 << 10;
/// A file of one hash: 64 digits and a newline.
pub const HASH_FILE: u64 = 65;
/// `btc_header`: 160 digits and a newline.
pub const BTC_HEADER: u64 = 161;
/// A tree head with its signatures, in a commit and beside the log.
pub const CHECKPOINT: u64 = 16 << 10;
/// The lines of one segment; a writer makes at most 4 MiB.
pub const SEGMENT: u64 = 64 << 20;
/// The shortest line, with its newline: HASH, five bars, a height, a TIMESTAMP and three fields of
/// one character.
pub const SHORTEST_LINE: u64 = 64 + 5 + 1 + 20 + 3 + 1;
/// The file of one ref.
pub const REF_FILE: u64 = 4 << 10;
/// `packed-refs`: room for a hundred thousand refs of a host.
pub const PACKED_REFS: u64 = 16 << 20;
/// Refs that are listed; a host makes two for each of its pull requests.
pub const REFS: usize = 200_000;
/// Folders of a notes tree, one in the other.
pub const NOTES_DEPTH: usize = 2;
/// Parents of a commit that is not ours: git's own merges of many branches have fewer.
pub const PARENTS: usize = 16;
/// Commits of a ref of notes, with their trees and contents, that are looked at.
pub const NOTE_OBJECTS: usize = 1 << 20;
/// Repositories that a repository borrows objects from, one from the other: git's own limit.
pub const BORROWED: usize = 5;

/// What verifying may keep in memory beside what it keeps of answers, some 300 bytes each. The page
/// says 512 MiB: the rest is for what is read just now, by two threads.
pub const HELD: u64 = 320 << 20;
/// What files that wait to be checked may take.
pub const READ_AHEAD: usize = 32 << 20;
/// What may be inflated beside [`PER_BYTE`] for each byte of the repository's objects.
pub const INFLATED: u64 = 1 << 30;
/// How often the bytes on the disk may be inflated; an honest ledger is far below a tenth of it.
pub const PER_BYTE: u64 = 64;

/// The limit of a file of a commit, by its name; one of another name is in no commit of a ledger.
pub fn of_file(name: &str) -> u64 {
    match name {
        "audit.log" => SEGMENT,
        "checkpoint" => CHECKPOINT,
        "btc_header" => BTC_HEADER,
        "prompt_hash" | "response_hash" | "chain_entry" | "session" => HASH_FILE,
        _ => DOCUMENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::commit::CommitKind;

    #[test]
    fn every_file_of_a_commit_has_its_limit() {
        for kind in CommitKind::ALL {
            for name in kind.files(true) {
                let limit = of_file(name);
                assert!(
                    limit == DOCUMENT
                        || [SEGMENT, CHECKPOINT, BTC_HEADER, HASH_FILE].contains(&limit),
                    "{name}"
                );
                assert_eq!(
                    limit == DOCUMENT,
                    name.ends_with(".json") || name == "allowed_signers",
                    "{name}"
                );
            }
        }
        assert_eq!(
            SHORTEST_LINE,
            format!("{}|0|2025-12-31T04:25:37Z|a|-|-\n", "0".repeat(64)).len() as u64
        );
    }
}
