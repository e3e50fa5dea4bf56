//! What of an opening file is of use and fits into 8 KiB beside the text: the timestamp, the way to the close,
//! cosignatures.

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::note::{CosignedNote, NoteSignature, VerifierKey};
use crate::record::opening::{MAX_AROUND, OpeningFile, StampPart};
use crate::record::proof::TlogProof;
use crate::record::time::Seconds;

use super::stamp::Stamp;
use super::{Stop, broken};

/// Bytes of an Ed25519 cosignature: a time and a signature. Lines of other kinds count for nobody yet.
const COSIGNATURE: usize = 72;

/// The session's answers behind the opened one.
pub(super) type Later = Vec<(Hash32, Hash32, Seconds)>;

/// Whose cosignatures come first, and how many of them weigh as much as a timestamp.
pub(super) struct Believed {
    pub keys: Vec<VerifierKey>,
    pub quorum: usize,
}

/// Takes in what is of use and fits, and says in sentences what is left out.
///
/// All cosignatures and the timestamp with the way to it, if there is room; else the timestamp, and cosignatures down
/// to the quorum; else cosignatures and the way to the close; else cosignatures alone, as many as fit.
pub(super) fn fill(
    file: &mut OpeningFile,
    later: Option<Later>,
    stamp: Stamp,
    believed: &Believed,
) -> Result<Vec<String>, Stop> {
    let mut left_out = Vec::new();
    let turns = later.as_ref().map(Vec::len);
    let stamp = match stamp {
        Stamp::Found(part) => Some(part),
        Stamp::None => None,
        Stamp::Unusable(why) => {
            left_out.push(why);
            None
        }
    };
    let stamped = stamp.is_some();
    let cosigned = Cosigned::of(file, believed)?;
    let mut away = Vec::new();
    for (later, stamp, least) in choices(later, stamp, &cosigned) {
        if let Some(close) = &mut file.close {
            close.later = later;
        }
        file.stamp = stamp;
        let (taken, left) = cosigned.put(file)?;
        away = left;
        if taken >= least && file.around().map_err(broken)? <= MAX_AROUND {
            break;
        }
    }
    if file.stamp.is_none() && stamped {
        left_out.push("the OpenTimestamps proof: with the way to it the file would be too large".to_owned());
    }
    if let (Some(turns), Some(None)) = (turns, file.close.as_ref().map(|close| &close.later)) {
        left_out
            .push(format!("how the session's close covers this turn: {turns} later turns are too many for the file"));
    }
    if !away.is_empty() {
        left_out.push(format!("cosignatures, with which the file would be too large: of {}", away.join(", ")));
    }
    Ok(left_out)
}

/// What may be in the file, best first, and how many cosignatures have to fit beside it.
fn choices(
    later: Option<Later>,
    stamp: Option<StampPart>,
    cosigned: &Cosigned,
) -> [(Option<Later>, Option<StampPart>, usize); 8] {
    let by_lines = stamp.clone().filter(|stamp| stamp.lines.is_some());
    // Behind the last answer the way is no way, and costs nothing.
    let free = later.clone().filter(Vec::is_empty);
    let (all, some) = (cosigned.all, cosigned.quorum);
    [
        (later.clone(), stamp.clone(), all),
        (free.clone(), by_lines.clone(), all),
        (later.clone(), stamp, some),
        (free.clone(), by_lines, some),
        (later.clone(), None, all),
        (free.clone(), None, all),
        (later, None, some),
        (free, None, 0),
    ]
}

/// The tree head's signature lines by others.
struct Cosigned {
    proof: TlogProof,
    note: CosignedNote,
    /// Places in the note: first those that the owner believes, then other cosignatures, then what nobody reads.
    order: Vec<usize>,
    /// How many are cosignatures.
    all: usize,
    /// How many of the first have to be there.
    quorum: usize,
}

impl Cosigned {
    fn of(file: &OpeningFile, believed: &Believed) -> Result<Self, Stop> {
        let proof = TlogProof::parse(&file.head.proof).map_err(broken)?;
        let note = CosignedNote::parse(&proof.checkpoint).map_err(broken)?;
        let ours = |line: &NoteSignature| believed.keys.iter().any(|key| line.cosigned_at(&note.head, key).is_some());
        let rank = |line: &NoteSignature| (!ours(line), line.signature.len() != COSIGNATURE);
        let mut order: Vec<(_, usize)> = note.others.iter().enumerate().map(|(at, line)| (rank(line), at)).collect();
        order.sort_unstable();
        let quorum = order.iter().filter(|((others, _), _)| !others).count().min(believed.quorum);
        let all = order.iter().filter(|((_, unread), _)| !unread).count();
        Ok(Cosigned { order: order.into_iter().map(|(_, at)| at).collect(), proof, note, all, quorum })
    }

    /// Puts as many lines into the file as fit; gives how many, and the names of the others.
    fn put(&self, file: &mut OpeningFile) -> Result<(usize, Vec<String>), Stop> {
        file.head.proof = self.with(&[]);
        let mut room = MAX_AROUND.saturating_sub(file.around().map_err(broken)?);
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for at in &self.order {
            let Some(line) = self.note.others.get(*at) else { continue };
            // As the file spells it, without the quotes around it.
            let bytes = canon::print(&line.print()).map_err(broken)?.len() - 2;
            match room.checked_sub(bytes) {
                Some(rest) => {
                    room = rest;
                    taken.push(*at);
                }
                None => left.push(line.name.clone()),
            }
        }
        taken.sort_unstable();
        file.head.proof = self.with(&taken);
        Ok((taken.len(), left))
    }

    /// The proof with these lines only, in the note's order.
    fn with(&self, taken: &[usize]) -> String {
        let others = taken.iter().filter_map(|at| self.note.others.get(*at).cloned()).collect();
        let note = CosignedNote { head: self.note.head.clone(), others };
        TlogProof { checkpoint: note.print(), ..self.proof.clone() }.print()
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;
    use crate::record::block::Header;
    use crate::record::note::KeyKind;
    use crate::record::ots::{Attestation, FileHash, Op, Proof, Tree};
    use crate::record::signature::PublicKey;
    use crate::record::tree::{SignedNote, note_body};

    /// Lines of a large log: its proofs have twenty hashes.
    const MILLION: u64 = 1_000_000;

    fn witness(n: u8, name: &str) -> (SigningKey, VerifierKey) {
        let secret = SigningKey::from_bytes(&[n; 32]);
        let key = PublicKey::from_bytes(secret.verifying_key().to_bytes());
        (secret, VerifierKey { name: format!("{name}.witness.example/{n:02}"), kind: KeyKind::Cosigner, key })
    }

    fn cosignature(head: &SignedNote, (secret, key): &(SigningKey, VerifierKey)) -> NoteSignature {
        let body = note_body(&head.origin, head.size, head.root);
        let signature = secret.sign(format!("cosignature/v1\ntime 1795364801\n{body}").as_bytes());
        let signature = [&1_795_364_801_u64.to_be_bytes()[..], &signature.to_bytes()].concat();
        NoteSignature { name: key.name.clone(), key_id: key.id(), signature }
    }

    /// An opening of a log of a million lines, cosigned by these, and by somebody of another kind when told.
    fn file(ours: &[(SigningKey, VerifierKey)], others: &[(SigningKey, VerifierKey)], unread: bool) -> OpeningFile {
        let text = include_str!("../../../../tests/data/opening.json");
        let mut file = OpeningFile::parse(text.as_bytes()).unwrap();
        let proof = TlogProof::parse(&file.head.proof).unwrap();
        let mut note = CosignedNote::parse(&proof.checkpoint).unwrap();
        note.head.size = MILLION;
        note.others = ours.iter().chain(others).map(|of| cosignature(&note.head, of)).collect();
        if unread {
            // As long as an ML-DSA-44 signature.
            note.others.push(NoteSignature { name: "a".to_owned(), key_id: [6; 4], signature: vec![6; 2428] });
        }
        note.others.sort();
        let path = (0..20_u8).map(|n| Hash32::digest(&[n])).collect();
        file.head.proof = TlogProof { index: 499_999, path, checkpoint: note.print() }.print();
        file
    }

    /// A timestamp as calendars make them: some twenty hashes to the transaction, it, and a dozen to the block.
    fn stamp(file: &OpeningFile) -> Stamp {
        let hash = |n: u8| Op::Append(Hash32::digest(&[n]).as_bytes().to_vec());
        let joined = |n: u8| [hash(n), Op::Sha256];
        let transaction = [Op::Prepend(vec![1; 120]), Op::Append(vec![2; 90]), Op::Sha256, Op::Sha256];
        let twice = |n: u8| [hash(n), Op::Sha256, Op::Sha256];
        let ops = (0..20).flat_map(joined).chain(transaction).chain((20..32).flat_map(twice));
        let tree = Tree::chain(ops, Attestation::Bitcoin { height: 930_231 });
        let digest = file.line.prev.as_bytes().to_vec();
        let ots = Proof { file_hash: FileHash::Sha256, digest, tree }.print();
        let header = Some(Header::from_bytes([7; 80]));
        assert!(StampPart { header, lines: None, ots: ots.clone() }.read().is_some());
        Stamp::Found(StampPart { header, lines: None, ots })
    }

    fn later(answers: u8) -> Option<Later> {
        let one = |n: u8| (Hash32::digest(&[n]), Hash32::digest(&[n, n]), Seconds::ZERO);
        Some((0..answers).map(one).collect())
    }

    fn cosigners(file: &OpeningFile) -> Vec<String> {
        let proof = TlogProof::parse(&file.head.proof).unwrap();
        CosignedNote::parse(&proof.checkpoint).unwrap().others.into_iter().map(|line| line.name).collect()
    }

    fn filled(
        (ours, others, unread): (u8, u8, bool),
        quorum: usize,
        answers: u8,
        stamped: bool,
    ) -> (OpeningFile, Vec<String>) {
        let ours: Vec<_> = (0..ours).map(|n| witness(n, "z")).collect();
        let others: Vec<_> = (100..100 + others).map(|n| witness(n, "b")).collect();
        let mut file = file(&ours, &others, unread);
        let stamp = if stamped { stamp(&file) } else { Stamp::None };
        let keys = ours.into_iter().map(|(_, key)| key).collect();
        let left_out =
            fill(&mut file, later(answers), stamp, &Believed { keys, quorum }).map_err(|_| "stopped").unwrap();
        assert!(file.around().unwrap() <= MAX_AROUND, "{} around", file.around().unwrap());
        (file, left_out)
    }

    #[test]
    fn a_line_of_a_million_with_its_timestamp_and_witnesses_fits() {
        let (file, left_out) = filled((3, 0, false), 3, 4, true);
        assert_eq!((left_out, cosigners(&file).len()), (Vec::new(), 3));
        assert!(file.stamp.is_some() && file.close.unwrap().later.is_some());
    }

    #[test]
    fn a_timestamp_comes_before_cosignatures_beyond_the_quorum() {
        for others in [0, 31] {
            let (file, left_out) = filled((32, others, false), 2, 4, true);
            let there = cosigners(&file);
            assert!(file.stamp.is_some() && (2..32).contains(&there.len()), "{there:?}");
            assert!(there.iter().all(|name| name.starts_with('z')), "the owner's own first: {there:?}");
            assert!(left_out.len() == 1 && left_out[0].contains("cosignatures"), "{left_out:?}");
            let away = 32 + usize::from(others) - there.len();
            assert_eq!(left_out[0].matches("witness.example").count(), away);
        }
    }

    #[test]
    fn the_quorum_comes_before_the_timestamp() {
        let (file, left_out) = filled((24, 0, false), 24, 4, true);
        assert_eq!((&file.stamp, cosigners(&file).len()), (&None, 24));
        assert!(left_out.iter().any(|said| said.contains("OpenTimestamps")), "{left_out:?}");
    }

    #[test]
    fn sixty_three_cosignatures_are_as_many_as_fit() {
        let (file, left_out) = filled((32, 31, false), 32, 0, false);
        let there = cosigners(&file);
        assert!(there.len() > 20 && left_out.len() == 1, "{there:?} {left_out:?}");
    }

    #[test]
    fn what_nobody_reads_gives_way() {
        let (file, left_out) = filled((2, 1, true), 1, 4, true);
        assert_eq!(cosigners(&file).len(), 3);
        assert!(file.stamp.is_some() && left_out == ["cosignatures, with which the file would be too large: of a"]);
    }
}
