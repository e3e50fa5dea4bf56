//! What others' blocks say: OpenTimestamps proofs of heads of the log, and where the ledger's own blocks stand in
//! Bitcoin's chain (format, sections 8 and 11.5).
//!
//! A proof's end must be the Merkle root of the block that it names; a header of it is asked for outside: one of a
//! chain that was checked from built-in blocks on, or what block sources say. Without any the proof is *not checked*.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Oid;
use crate::record::block::{Header, Network};
use crate::record::commit::NOTES_OTS;
use crate::record::hash::Hash32;
use crate::record::limits;
use crate::record::ots::{Attestation, FileHash, Proof};
use crate::record::time::Seconds;

use super::blocks::Named;
use super::bracket::Waits;
use super::checker::Checker;
use super::report::Question;

/// Which headers a check would like to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The ledger's chain.
    pub network: Network,
    /// Heights that proofs name: a source's word will do.
    pub attested: BTreeSet<u32>,
    /// Heights that the ledger names, and those before them: only a checked chain says something about them.
    pub named: BTreeSet<u32>,
}

/// The headers that are at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// In a chain that was checked from a built-in block on, each at its height.
    pub chain: BTreeMap<u32, Header>,
    /// What block sources say stands at a height; each shows its work.
    pub said: BTreeMap<u32, Vec<Header>>,
    /// Why the kept chain can't be used, if it can't.
    pub fault: Option<String>,
}

/// Finds headers; called once, when it is known which are wanted.
pub type FindHeaders<'a> = dyn Fn(&Wanted) -> Headers + 'a;

/// How a block of the ledger stands to the checked chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is the block of its height.
    There,
    /// It is on top of the block before its height: it was orphaned, and was real.
    Orphaned,
    /// The chain does not reach its height.
    NotReached,
}

/// A head of the log with the lowest block that attests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attested {
    /// Number of its line.
    pub line: u64,
    pub height: u32,
    /// The block's time.
    pub time: Seconds,
}

/// What was found of proofs and places.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    /// Heads that a block attests, in the order of lines.
    pub attested: Vec<Attested>,
    /// Heads that only blocks attest whose headers are not at hand: the lowest height of each, by line.
    pub unchecked: BTreeMap<u64, u32>,
    /// Heads whose proof waits for a block.
    pub pending: u64,
    /// The oldest of them, when the notes say since when.
    pub waits: Option<Waits>,
    pub placed: BTreeMap<(u32, Hash32), Placed>,
    pub fault: Option<String>,
}

/// One proof that is on a commit of `main`, read and computed.
struct Claim {
    line: u64,
    commit: Oid,
    /// Heights and messages of its Bitcoin attestations.
    blocks: Vec<(u32, Vec<u8>)>,
}

impl Checker<'_> {
    /// Reads the proofs, asks for headers, and holds both against each other.
    ///
    /// Behind a saved position only proofs on the commits that are read: which line an older one is of is not known.
    pub fn check_proofs(&mut self, find: Option<&FindHeaders<'_>>) {
        let claims = self.read_proofs();
        let named = self.named_blocks();
        let headers = self.headers(find, &claims, &named);
        for claim in claims {
            self.judge(&claim, &headers);
        }
        self.proofs.attested.sort_by_key(|proof| proof.line);
        for (block, named) in named {
            self.place(block, &named, &headers);
        }
        self.chained = headers.chain.into_keys().collect();
        self.proofs.fault = headers.fault;
    }

    /// Every note under `refs/notes/ots` that is on a commit of `main` whose line is known.
    fn read_proofs(&mut self) -> Vec<Claim> {
        let tip = self.history.notes.iter().find(|(name, _)| name == NOTES_OTS).map(|(_, tip)| *tip);
        // What can't be read was named when the notes were walked.
        let most = if self.saved_base() { limits::NOTE_OBJECTS } else { self.main_lines.len() };
        let Some(notes) = tip.and_then(|tip| self.repository.notes_within(&tip, most).ok()) else { return Vec::new() };
        let mut heads = Vec::new();
        for (node, line) in self.history.on_main().zip(&self.main_lines) {
            if let (Some(blob), Some(head), Some(line)) = (notes.get(&node.id), node.log, line) {
                heads.push((node.id, *blob, head, *line));
            }
        }
        let (mut claims, mut oldest) = (Vec::new(), None);
        for (commit, blob, head, line) in heads {
            let Ok(bytes) = self.repository.blob(&blob) else { continue };
            match claim(&bytes, head) {
                Ok((blocks, _)) if !blocks.is_empty() => {
                    let kept = u64::try_from(blocks.len()).unwrap_or(u64::MAX).saturating_mul(256);
                    self.repository.budget().keep(|| format!("{NOTES_OTS}, object {blob}"), kept);
                    claims.push(Claim { line, commit, blocks });
                }
                Ok((_, promised)) => {
                    self.proofs.pending += u64::from(promised);
                    oldest = oldest.or(promised.then_some(commit));
                }
                Err(actual) => {
                    let place = format!("{NOTES_OTS}, note {commit}");
                    let expected = format!("an OpenTimestamps proof of the log's head {head}");
                    self.findings.add(Question::NotAfter, None, place, expected, actual);
                }
            }
        }
        self.proofs.waits = oldest.zip(tip).and_then(|(commit, tip)| {
            let since = self.repository.noted_since(&tip, &commit).ok()??;
            Some(Waits { commit, since: Seconds::new(since).ok()? })
        });
        claims
    }

    /// The blocks that commits and lines name, each once.
    fn named_blocks(&mut self) -> BTreeMap<(u32, Hash32), Named> {
        let mut named = std::mem::take(&mut self.named);
        for (block, by) in std::mem::take(&mut self.lines.anchors) {
            named.entry(block).or_insert(by);
        }
        named
    }

    fn headers(
        &self,
        find: Option<&FindHeaders<'_>>,
        claims: &[Claim],
        named: &BTreeMap<(u32, Hash32), Named>,
    ) -> Headers {
        let (Some(find), Some(genesis)) = (find, &self.genesis) else { return Headers::default() };
        let heights = named.keys().flat_map(|(height, _)| [height.checked_sub(1), Some(*height)]);
        let wanted = Wanted {
            network: genesis.network,
            attested: claims.iter().flat_map(|claim| claim.blocks.iter().map(|(height, _)| *height)).collect(),
            named: heights.flatten().collect(),
        };
        if wanted.attested.is_empty() && wanted.named.is_empty() { Headers::default() } else { find(&wanted) }
    }

    /// Holds a proof against the headers of the blocks that it names.
    fn judge(&mut self, claim: &Claim, headers: &Headers) {
        let mut lowest: Option<Attested> = None;
        for (height, message) in &claim.blocks {
            let known = match headers.chain.get(height) {
                Some(header) => std::slice::from_ref(header),
                None => headers.said.get(height).map(Vec::as_slice).unwrap_or_default(),
            };
            let is_root = |header: &&Header| header.as_bytes().get(36..68) == Some(message);
            match known.iter().find(is_root) {
                Some(header) => {
                    let proof = Attested { line: claim.line, height: *height, time: header.fields().time };
                    lowest = Some(lowest.filter(|low| low.height <= *height).unwrap_or(proof));
                }
                None if known.is_empty() => {
                    let low = self.proofs.unchecked.entry(claim.line).or_insert(*height);
                    *low = (*low).min(*height);
                }
                None => {
                    let place = format!("{NOTES_OTS}, note {}", claim.commit);
                    let roots: Vec<String> = known.iter().map(|h| hex::encode(&h.as_bytes()[36..68])).collect();
                    let expected = format!("the Merkle root of block {height}, {}", roots.join(" or "));
                    self.findings.add(Question::NotAfter, None, place, expected, hex::encode(message));
                }
            }
        }
        if let Some(proof) = lowest {
            self.proofs.unchecked.remove(&claim.line);
            self.proofs.attested.push(proof);
        }
    }

    /// Says where a named block stands; one that is neither in the chain nor on top of it is a finding.
    fn place(&mut self, (height, hash): (u32, Hash32), named: &Named, headers: &Headers) {
        let chain = &headers.chain;
        let placed = match chain.get(&height) {
            None => Placed::NotReached,
            Some(header) if header.hash() == hash => Placed::There,
            Some(header) => {
                let before = height.checked_sub(1).and_then(|before| chain.get(&before));
                if before.is_none_or(|before| before.hash() != named.prev) {
                    let expected = format!("block {} at height {height}, or one beside it", header.hash());
                    let actual = format!("block {hash}, which is not in the chain there");
                    self.findings.add(Question::NotBefore, named.session, named.place.clone(), expected, actual);
                    return;
                }
                Placed::Orphaned
            }
        };
        self.proofs.placed.insert((height, hash), placed);
    }
}

/// The Bitcoin attestations of a note, and whether a calendar's promise is in it; or why it is no proof of the head.
#[allow(clippy::type_complexity, reason = "a pair that one caller takes apart")]
fn claim(bytes: &[u8], head: Hash32) -> Result<(Vec<(u32, Vec<u8>)>, bool), String> {
    let proof = Proof::read(bytes).map_err(|fault| fault.to_string())?;
    if proof.file_hash != FileHash::Sha256 || proof.digest != head.as_bytes() {
        return Err(format!("a proof of digest {}", hex::encode(&proof.digest)));
    }
    let (mut blocks, mut promised) = (Vec::new(), false);
    for leaf in proof.leaves().map_err(|reason| reason.to_string())? {
        match leaf.attestation {
            Attestation::Bitcoin { height } => {
                let height = u32::try_from(*height).map_err(|_| format!("block {height}, which is none"))?;
                blocks.push((height, leaf.message));
            }
            Attestation::Pending { .. } => promised = true,
            _ => {}
        }
    }
    Ok((blocks, promised))
}
