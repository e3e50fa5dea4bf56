//! What others' blocks say: OpenTimestamps proofs of tree heads, and where the ledger's own blocks
//! stand in Bitcoin's chain (format, sections 9 and 12 step 5).
//!
//! A proof's end must be the Merkle root of the block that it names; a header of it is asked for
//! outside: one of a chain that was checked from built-in blocks on, or what block sources say.
//! Without any the proof is *not checked*.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::bitcoin::block::{Block, Header, Network, Source};
use crate::record::bitcoin::epochs::is_cheap;
use crate::record::bitcoin::fit::{check_height, proof_fits};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::NOTES_OTS;
use crate::record::ledger::documents::Genesis;
use crate::record::limits;
use crate::record::log::entry::Line;
use crate::record::ots::{Attestation, FileHash, Proof};
use crate::record::time::Seconds;

use super::blocks::{FirstMention, NamedBlocks};
use super::bounds::PendingProof;
use crate::verify::ledger::history::{CommitNode, History};
use crate::verify::log::segments::CheckedLog;
use crate::verify::report::{AuditQuestion, Findings};

/// Which headers a check would like to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRequests {
    /// The ledger's chain.
    pub network: Network,
    /// Heights that proofs name: a source's word will do.
    pub attested: BTreeSet<u32>,
    /// Heights that the ledger names, and those before them: only a checked chain says something
    /// about them.
    pub named: BTreeSet<u32>,
}

/// The headers that are at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// In a chain that was checked from a built-in block on, each at its height.
    pub chain: BTreeMap<u32, Header>,
    /// Whether such a chain is kept at all, of whatever heights.
    pub kept: bool,
    /// What block sources say stands at a height; each shows its work.
    pub said: BTreeMap<u32, Vec<Header>>,
    /// Why the kept chain can't be used, if it can't.
    pub fault: Option<String>,
}

/// Finds headers; called once, when it is known which are wanted.
pub type FindHeaders<'a> = dyn Fn(&HeaderRequests) -> Headers + 'a;

/// How a block of the ledger stands to the checked chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStanding {
    /// It is the block of its height.
    There,
    /// It is on top of the block before its height: it was orphaned, and was real.
    Orphaned,
    /// The chain does not reach its height.
    NotReached,
}

/// A head of the log with the lowest block that attests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttestedLine {
    /// Number of its line.
    pub line: u64,
    pub height: u32,
    /// The block's time.
    pub time: Seconds,
}

/// What was found of proofs and places.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    /// Heads that a block attests, in the order of lines.
    pub attested: Vec<AttestedLine>,
    /// Heads that only blocks attest whose headers are not at hand: the lowest height of each, by
    /// line.
    pub unchecked: BTreeMap<u64, u32>,
    /// Heads whose proof waits for a block.
    pub pending: u64,
    /// The oldest of them, when the notes say since when.
    pub waits: Option<PendingProof>,
    pub placed: BTreeMap<(u32, Hash32), BlockStanding>,
    /// Heights whose headers are in the kept chain.
    pub chained: BTreeSet<u32>,
    /// Whether a chain is kept that blocks were held against.
    pub kept: bool,
    /// Proofs that only a header with next to no work attests.
    pub cheap: u64,
    pub fault: Option<String>,
}

/// One proof that is on a commit of `main`, read and computed.
struct TimestampClaim {
    line: u64,
    commit: Oid,
    /// Heights and messages of its Bitcoin attestations.
    blocks: Vec<(u32, Vec<u8>)>,
}

/// Holds proofs and named blocks against headers from outside.
pub(crate) struct ProofCheck<'c> {
    pub repository: &'c Repository,
    pub genesis: Option<&'c Genesis>,
    pub history: &'c History,
    pub log: &'c mut CheckedLog,
    pub blocks: &'c mut NamedBlocks,
    /// Whether the check begins behind a saved position, and behind which line.
    pub is_saved: bool,
    pub first_line: u64,
    pub proofs: &'c mut Proofs,
    pub findings: &'c mut Findings,
}

impl ProofCheck<'_> {
    /// Reads the proofs, asks for headers, and holds both against each other.
    ///
    /// Behind a saved position only proofs on the commits that are read: which line an older one is
    /// of is not known.
    pub fn check(&mut self, find: Option<&FindHeaders<'_>>) {
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
        self.check_stamped_times();
        self.proofs.kept = headers.kept || !headers.chain.is_empty();
        self.proofs.chained = headers.chain.into_keys().collect();
        self.proofs.fault = headers.fault;
    }

    /// Every note under `refs/notes/ots` that is on a commit of `main` whose line is known.
    fn read_proofs(&mut self) -> Vec<TimestampClaim> {
        let tip = self
            .history
            .notes
            .iter()
            .find(|(name, _)| name == NOTES_OTS)
            .map(|(_, tip)| *tip);
        // What can't be read was named when the notes were walked.
        let most = if self.is_saved {
            limits::NOTE_OBJECTS
        } else {
            self.log.main_lines.len()
        };
        let Some(notes) = tip.and_then(|tip| self.repository.notes_within(&tip, most).ok()) else {
            return Vec::new();
        };
        let mut heads = Vec::new();
        for (node, line) in self.history.on_main().zip(&self.log.main_lines) {
            if let (Some(blob), Some(line)) = (notes.get(&node.id), line) {
                heads.push((node.id, *blob, self.tree_head_of(&node), *line));
            }
        }
        let (mut claims, mut oldest) = (Vec::new(), None);
        for (commit, blob, head, line) in heads {
            let Ok(bytes) = self.repository.blob(&blob) else {
                continue;
            };
            match head
                .ok_or_else(|| "a proof of no checkpoint: the commit has none".to_owned())
                .and_then(|head| claim(&bytes, head))
            {
                Ok(NoteClaims { blocks, .. }) if !blocks.is_empty() => {
                    let kept = u64::try_from(blocks.len())
                        .unwrap_or(u64::MAX)
                        .saturating_mul(256);
                    self.repository
                        .budget()
                        .keep(|| format!("{NOTES_OTS}, object {blob}"), kept);
                    claims.push(TimestampClaim {
                        line,
                        commit,
                        blocks,
                    });
                }
                Ok(NoteClaims { is_promised, .. }) => {
                    self.proofs.pending += u64::from(is_promised);
                    oldest = oldest.or(is_promised.then_some(commit));
                }
                Err(actual) => {
                    let place = format!("{NOTES_OTS}, note {commit}");
                    let expected = "an OpenTimestamps proof of the commit's checkpoint";
                    self.findings
                        .add(AuditQuestion::NotAfter, None, place, expected, actual);
                }
            }
        }
        self.proofs.waits = oldest.zip(tip).and_then(|(commit, tip)| {
            let since = self.repository.noted_since(&tip, &commit).ok()??;
            Some(PendingProof {
                commit,
                since: Seconds::new(since).ok()?,
            })
        });
        claims
    }

    /// The blocks that commits and lines name, each once.
    fn named_blocks(&mut self) -> BTreeMap<(u32, Hash32), FirstMention> {
        let mut named = std::mem::take(&mut self.blocks.first);
        for (block, by) in std::mem::take(&mut self.log.lines.anchors) {
            named.entry(block).or_insert(by);
        }
        named
    }

    fn headers(
        &self,
        find: Option<&FindHeaders<'_>>,
        claims: &[TimestampClaim],
        named: &BTreeMap<(u32, Hash32), FirstMention>,
    ) -> Headers {
        let (Some(find), Some(genesis)) = (find, self.genesis) else {
            return Headers::default();
        };
        let heights = named
            .keys()
            .flat_map(|(height, _)| [height.checked_sub(1), Some(*height)]);
        let wanted = HeaderRequests {
            network: genesis.network,
            attested: claims
                .iter()
                .flat_map(|claim| claim.blocks.iter().map(|(height, _)| *height))
                .collect(),
            named: heights.flatten().collect(),
        };
        if wanted.attested.is_empty() && wanted.named.is_empty() {
            Headers::default()
        } else {
            find(&wanted)
        }
    }

    /// Holds a proof against the headers of the blocks that it names.
    fn judge(&mut self, claim: &TimestampClaim, headers: &Headers) {
        let mut lowest: Option<AttestedLine> = None;
        for (height, message) in &claim.blocks {
            let known = match headers.chain.get(height) {
                Some(header) => std::slice::from_ref(header),
                None => headers
                    .said
                    .get(height)
                    .map(Vec::as_slice)
                    .unwrap_or_default(),
            };
            let is_root = |header: &&Header| header.as_bytes().get(36..68) == Some(message);
            let proven = headers.chain.contains_key(height);
            match known.iter().find(is_root) {
                Some(header) if !proven && !self.may_count(claim, *height, header) => {}
                Some(header) => {
                    let proof = AttestedLine {
                        line: claim.line,
                        height: *height,
                        time: header.fields().time,
                    };
                    lowest = Some(lowest.filter(|low| low.height <= *height).unwrap_or(proof));
                }
                None if known.is_empty() => {
                    let low = self.proofs.unchecked.entry(claim.line).or_insert(*height);
                    *low = (*low).min(*height);
                }
                None => {
                    let place = format!("{NOTES_OTS}, note {}", claim.commit);
                    let roots: Vec<String> = known
                        .iter()
                        .map(|h| hex::encode(&h.as_bytes()[36..68]))
                        .collect();
                    let expected =
                        format!("the Merkle root of block {height}, {}", roots.join(" or "));
                    self.findings.add(
                        AuditQuestion::NotAfter,
                        None,
                        place,
                        expected,
                        hex::encode(message),
                    );
                }
            }
        }
        if let Some(proof) = lowest {
            self.proofs.unchecked.remove(&claim.line);
            self.proofs.attested.push(proof);
        }
    }

    /// Says where a named block stands; one that is neither in the chain nor on top of it is a
    /// finding.
    fn place(&mut self, (height, hash): (u32, Hash32), named: &FirstMention, headers: &Headers) {
        let chain = &headers.chain;
        let placed = match chain.get(&height) {
            None => BlockStanding::NotReached,
            Some(header) if header.hash() == hash => BlockStanding::There,
            Some(header) => {
                let before = height.checked_sub(1).and_then(|before| chain.get(&before));
                let beside = before.is_some_and(|before| before.hash() == named.prev);
                if !beside || header.fields().bits != named.bits {
                    let expected = format!(
                        "block {} at height {height}, or one beside it",
                        header.hash()
                    );
                    let actual = format!("block {hash}, which is not in the chain there");
                    self.findings.add(
                        AuditQuestion::NotBefore,
                        named.session,
                        named.place.clone(),
                        expected,
                        actual,
                    );
                    return;
                }
                BlockStanding::Orphaned
            }
        };
        self.proofs.placed.insert((height, hash), placed);
    }

    /// H of the `checkpoint` of a commit: what is stamped.
    fn tree_head_of(&self, node: &CommitNode) -> Option<Hash32> {
        let entries = self.repository.tree(&node.tree).ok()?;
        let entry = entries.iter().rfind(|entry| entry.is_file("checkpoint"))?;
        self.repository
            .blob(&entry.id)
            .ok()
            .map(|bytes| Hash32::digest(&bytes))
    }

    /// Whether a header that somebody says stands at a height counts: by its work, and by height
    /// and time. A stamp whose height and time don't belong together is a finding.
    fn may_count(&mut self, claim: &TimestampClaim, height: u32, header: &Header) -> bool {
        let Some(network) = self.genesis.map(|genesis| genesis.network) else {
            return false;
        };
        let fields = header.fields();
        let block = Block {
            hash: header.hash(),
            height,
            network,
            source: Source::File,
            time: fields.time,
        };
        if let Err(fault) = check_height(&block) {
            let place = format!("{NOTES_OTS}, note {}", claim.commit);
            let expected = "a block whose height and time belong together";
            self.findings.add(
                AuditQuestion::NotAfter,
                None,
                place,
                expected,
                fault.to_string(),
            );
            return false;
        }
        if is_cheap(network, fields.bits) {
            self.proofs.cheap += 1;
            return false;
        }
        true
    }

    /// A line that says that it is younger than a block that attests it was written by a clock that
    /// was fast: for it *not after* is *no*. Nearly always there is none, which the latest times
    /// before each proof show.
    fn check_stamped_times(&mut self) {
        // The earliest block that attests a line is that of one of the proofs from it on.
        let mut earliest: BTreeMap<u64, Seconds> = BTreeMap::new();
        let mut low: Option<Seconds> = None;
        for proof in self.proofs.attested.iter().rev() {
            low = Some(low.map_or(proof.time, |low| low.min(proof.time)));
            earliest.insert(proof.line, low.unwrap_or(proof.time));
        }
        let Some((last, _)) = earliest.last_key_value().map(|(line, time)| (*line, *time)) else {
            return;
        };
        let main: BTreeMap<u64, Seconds> = self
            .history
            .on_main()
            .zip(&self.log.main_lines)
            .filter_map(|(node, line)| Some(((*line)?, node.time)))
            .collect();
        let set = self
            .log
            .lines
            .clock_sets
            .iter()
            .filter(|set| set.line <= last)
            .map(|set| (set.line - 1, set.before));
        let peaks: Vec<(u64, Seconds)> = main.into_iter().chain(set).collect();
        // Times only rise between the lines that set the clock, so it is enough to look at the ends
        // of such stretches.
        let late = peaks.iter().any(|(line, time)| {
            earliest
                .range(*line..)
                .next()
                .is_some_and(|(_, block)| !proof_fits(*time, *block))
        });
        if late {
            self.name_late_lines(last, &earliest);
        }
    }

    /// Names each line that is younger than the block that attests it, with the segments read
    /// again.
    fn name_late_lines(&mut self, last: u64, earliest: &BTreeMap<u64, Seconds>) {
        let mut number = self.first_line + 1;
        while number <= last {
            let records = &self.log.lines.records;
            let Some((first, bytes)) = records.segment_of(number, self.repository) else {
                return;
            };
            let lines = bytes
                .strip_suffix(b"\n")
                .unwrap_or(&bytes)
                .split(|byte| *byte == b'\n');
            let mut end = first;
            for (number, line) in (first..).zip(lines) {
                end = number;
                let block = earliest.range(number..).next().map(|(_, block)| *block);
                let time = Line::parse(line).ok().map(|line| line.time);
                if let (Some(block), Some(time)) = (block, time)
                    && !proof_fits(time, block)
                {
                    let expected = format!("a TIMESTAMP no later than its block's, {block}");
                    let place = format!("log line {number}");
                    self.findings.add(
                        AuditQuestion::NotAfter,
                        None,
                        place,
                        expected,
                        time.to_string(),
                    );
                }
            }
            number = end.max(number) + 1;
        }
    }
}

/// What a note claims of a head.
struct NoteClaims {
    /// Its Bitcoin attestations: heights, and the messages that blocks there attest.
    blocks: Vec<(u32, Vec<u8>)>,
    /// Whether a calendar's promise is in it.
    is_promised: bool,
}

/// What a note claims; or why it is no proof of the head.
fn claim(bytes: &[u8], head: Hash32) -> Result<NoteClaims, String> {
    let proof = Proof::read(bytes).map_err(|fault| fault.to_string())?;
    if proof.file_hash != FileHash::Sha256 || proof.digest != head.as_bytes() {
        return Err(format!("a proof of digest {}", hex::encode(&proof.digest)));
    }
    let (mut blocks, mut is_promised) = (Vec::new(), false);
    for leaf in proof.leaves().map_err(|reason| reason.to_string())? {
        match leaf.attestation {
            Attestation::Bitcoin { height } => {
                let height =
                    u32::try_from(*height).map_err(|_| format!("block {height}, which is none"))?;
                blocks.push((height, leaf.message));
            }
            Attestation::Pending { .. } => is_promised = true,
            _ => {}
        }
    }
    Ok(NoteClaims {
        blocks,
        is_promised,
    })
}
