//! Commits, packed: 120 bytes each and no allocation of their own, so that a million stay far below
//! 300 MB.

use std::collections::HashMap;

use crate::ledger::Oid;
use crate::ledger::read::{Commit, NoncanonicalCommit};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, trailer};
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::history::{CommitChain, CommitNode};

/// Commits of one portion of memory; portions never move, so growing costs no second copy.
const PORTION: usize = 1 << 14;
/// No key: the signature is good for none.
const NOBODY: u16 = u16::MAX;
/// No key either: the commit is not spelled as a writer spells it.
const MISSPELT: u16 = NOBODY - 1;
/// No session, no parent, no position.
const NONE: u32 = u32::MAX;

/// The first half of a message's SHA-256: 128 bits, of which nobody finds a second text.
pub(crate) type HalfHash = [u8; 16];

/// The first half of a hash.
pub(crate) fn half(hash: Hash32) -> HalfHash {
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

struct PackedCommit {
    id: Oid,
    tree: Oid,
    log: Option<Hash32>,
    message: HalfHash,
    time: Seconds,
    /// Its only parent, if that is a commit here; else its parents stand apart.
    parent: u32,
    session: u32,
    chain: Option<CommitChain>,
    main_reached: u32,
    signer: u16,
    kind: Option<CommitKind>,
}

/// All commits by number, and their numbers by id.
#[derive(Default)]
pub(crate) struct CommitGraph {
    portions: Vec<Vec<PackedCommit>>,
    count: usize,
    index: HashIndex,
    /// Parents of a commit that has none, several, or one that is not here.
    parents: HashMap<u32, Vec<Oid>>,
    sessions: Vec<Hash32>,
    session_numbers: HashMap<Hash32, u32>,
    keys: Vec<PublicKey>,
}

impl CommitGraph {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn packed(&self, at: usize) -> Option<&PackedCommit> {
        self.portions.get(at / PORTION)?.get(at % PORTION)
    }

    fn packed_mut(&mut self, at: usize) -> Option<&mut PackedCommit> {
        self.portions.get_mut(at / PORTION)?.get_mut(at % PORTION)
    }

    /// Takes a commit whose signature is taken for good until [`CommitGraph::unsign`].
    pub fn push(&mut self, id: Oid, commit: &Commit) -> usize {
        let packed = self.pack(id, commit.tree, &commit.message);
        let (time, signer) = (commit.time, self.key_number(commit.key));
        self.put(
            PackedCommit {
                time,
                signer,
                ..packed
            },
            &commit.parents,
        )
    }

    /// Takes a commit of which nothing counts but what it calls itself.
    pub fn push_misspelt(&mut self, id: Oid, commit: &NoncanonicalCommit) -> usize {
        let packed = self.pack(id, commit.tree, &commit.message);
        self.put(packed, &commit.parents)
    }

    fn pack(&mut self, id: Oid, tree: Oid, message: &str) -> PackedCommit {
        let hash = |key| trailer(message, key).and_then(|text| text.parse().ok());
        PackedCommit {
            id,
            tree,
            log: hash("Log"),
            message: half(Hash32::digest(message.as_bytes())),
            time: Seconds::ZERO,
            parent: NONE,
            session: hash("Session").map_or(NONE, |session| self.session_number(session)),
            chain: None,
            main_reached: NONE,
            signer: MISSPELT,
            kind: CommitKind::of_subject(message.lines().next().unwrap_or_default()),
        }
    }

    fn put(&mut self, packed: PackedCommit, parents: &[Oid]) -> usize {
        let (at, id) = (self.count, packed.id);
        if self
            .portions
            .last()
            .is_none_or(|last| last.len() == PORTION)
        {
            self.portions.push(Vec::with_capacity(PORTION));
        }
        if let Some(last) = self.portions.last_mut() {
            last.push(packed);
        }
        self.count += 1;
        self.parents.insert(number(at), parents.to_vec());
        self.index.insert(&id, number(at), |at| {
            let packed = self
                .portions
                .get(at as usize / PORTION)
                .and_then(|p| p.get(at as usize % PORTION));
            packed.map_or(Oid::from_bytes([0; 20]), |packed| packed.id)
        });
        at
    }

    /// Packs the parents of a commit whose only parent is here now.
    pub fn settle(&mut self, at: usize) {
        let Some([parent]) = self.parents.get(&number(at)).map(Vec::as_slice) else {
            return;
        };
        if let Some(parent) = self.find(parent)
            && let Some(packed) = self.packed_mut(at)
        {
            packed.parent = number(parent);
            self.parents.remove(&number(at));
        }
    }

    pub fn unsign(&mut self, at: usize) {
        if let Some(packed) = self.packed_mut(at) {
            packed.signer = NOBODY;
        }
    }

    fn session_number(&mut self, session: Hash32) -> u32 {
        *self.session_numbers.entry(session).or_insert_with(|| {
            self.sessions.push(session);
            number(self.sessions.len() - 1)
        })
    }

    /// The first keys that sign; a history with more than all numbers is signed by nobody from
    /// there on.
    fn key_number(&mut self, key: PublicKey) -> u16 {
        let known = self
            .keys
            .iter()
            .rposition(|known| *known == key)
            .unwrap_or_else(|| {
                if self.keys.len() < MAX_KEYS {
                    self.keys.push(key);
                    self.keys.len() - 1
                } else {
                    usize::from(NOBODY)
                }
            });
        u16::try_from(known).unwrap_or(NOBODY)
    }

    /// The number of a commit.
    pub fn find(&self, id: &Oid) -> Option<usize> {
        self.index
            .find(id, |at| {
                self.packed(at as usize)
                    .is_some_and(|packed| packed.id == *id)
            })
            .map(|at| at as usize)
    }

    /// One commit, unpacked.
    pub fn get(&self, at: usize) -> Option<CommitNode> {
        let packed = self.packed(at)?;
        Some(CommitNode {
            id: packed.id,
            tree: packed.tree,
            parents: self.parents(at),
            time: packed.time,
            signer: self.keys.get(usize::from(packed.signer)).copied(),
            misspelt: packed.signer == MISSPELT,
            kind: packed.kind,
            log: packed.log,
            session: self.sessions.get(packed.session as usize).copied(),
            message: packed.message,
            chain: packed.chain,
            main_reached: (packed.main_reached != NONE).then_some(packed.main_reached),
        })
    }

    /// `Log` and half of H of the message of a commit that calls itself an answer's.
    pub fn answer(&self, at: usize) -> Option<(Hash32, HalfHash)> {
        let packed = self
            .packed(at)
            .filter(|packed| packed.kind == Some(CommitKind::Interaction))?;
        Some((packed.log?, packed.message))
    }

    pub fn tree(&self, at: usize) -> Option<Oid> {
        self.packed(at).map(|packed| packed.tree)
    }

    /// What its subject names.
    pub fn kind(&self, at: usize) -> Option<CommitKind> {
        self.packed(at)?.kind
    }
    pub fn log(&self, at: usize) -> Option<Hash32> {
        self.packed(at)?.log
    }

    /// The ids of a commit's parents, in order.
    pub fn parents(&self, at: usize) -> Vec<Oid> {
        let only = self
            .packed(at)
            .and_then(|packed| self.packed(packed.parent as usize));
        match only {
            Some(parent) => vec![parent.id],
            None => self.parents.get(&number(at)).cloned().unwrap_or_default(),
        }
    }

    /// The number of the first parent, if it is here.
    pub fn first_parent(&self, at: usize) -> Option<usize> {
        let packed = self.packed(at)?;
        if packed.parent != NONE {
            return Some(packed.parent as usize);
        }
        self.find(self.parents.get(&number(at))?.first()?)
    }

    pub fn chain(&self, at: usize) -> Option<CommitChain> {
        self.packed(at)?.chain
    }

    pub fn set_chain(&mut self, at: usize, chain: CommitChain) {
        if let Some(packed) = self.packed_mut(at) {
            packed.chain = Some(chain);
        }
    }

    pub fn main_reached(&self, at: usize) -> Option<u32> {
        self.packed(at)
            .map(|packed| packed.main_reached)
            .filter(|reached| *reached != NONE)
    }

    pub fn set_main_reached(&mut self, at: usize, reached: Option<u32>) {
        if let Some(packed) = self.packed_mut(at) {
            packed.main_reached = reached.unwrap_or(NONE);
        }
    }

    /// The `Log` of every commit.
    pub fn logs(&self) -> impl Iterator<Item = Hash32> {
        self.portions
            .iter()
            .flatten()
            .filter_map(|packed| packed.log)
    }
}

/// Keys that are told apart; each rotation brings one.
const MAX_KEYS: usize = 1 << 12;

/// A place as it is packed; four thousand million commits are beyond every other limit.
pub(crate) fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

/// Numbers by hash, open addressed: four bytes a slot, half of them taken at most.
#[derive(Clone, Default)]
pub(crate) struct HashIndex {
    slots: Vec<u32>,
    count: usize,
}

impl HashIndex {
    /// The first number at whose place `is_it` says yes.
    pub fn find(&self, key: &impl HashKey, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = key.start() & mask;
        loop {
            match self.slots.get(slot) {
                Some(&at) if at != NONE => {
                    if is_it(at) {
                        return Some(at);
                    }
                }
                _ => return None,
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Takes a number that is not there yet; `key_of` tells the key of another number.
    pub fn insert<K: HashKey>(&mut self, key: &K, at: u32, key_of: impl Fn(u32) -> K) {
        if self.slots.len() < (self.count + 1) * 2 {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![NONE; (old.len() * 2).max(64)];
            for at in old.into_iter().filter(|at| *at != NONE) {
                self.put(&key_of(at), at);
            }
        }
        self.put(key, at);
        self.count += 1;
    }

    fn put(&mut self, key: &impl HashKey, at: u32) {
        let Some(mask) = self.slots.len().checked_sub(1) else {
            return;
        };
        let mut slot = key.start() & mask;
        while self.slots.get(slot).is_some_and(|taken| *taken != NONE) {
            slot = (slot + 1) & mask;
        }
        if let Some(free) = self.slots.get_mut(slot) {
            *free = at;
        }
    }
}

/// What is spread already, being a hash.
pub(crate) trait HashKey {
    /// Where the search begins.
    fn start(&self) -> usize;
}

impl HashKey for Oid {
    fn start(&self) -> usize {
        spread(self.as_bytes())
    }
}

impl HashKey for HalfHash {
    fn start(&self) -> usize {
        spread(self)
    }
}

fn spread(bytes: &[u8]) -> usize {
    let number = bytes
        .last_chunk::<4>()
        .map_or(0, |chunk| u32::from_ne_bytes(*chunk));
    usize::try_from(number).unwrap_or(0)
}
