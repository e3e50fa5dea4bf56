//! Many signatures, checked in batches: all at once first, each by itself when that fails.
//!
//! The equation over a batch ([`super::equation`]) is another predicate than the strict check: a sum of random
//! multiples of all signatures, which names no culprit. It can only be wider, and only by what a key's own holder
//! makes on purpose (a small-order part in R), now and then. Keys with such a part are never put into a batch, and
//! whatever a batch refuses is decided by the strict check, one by one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::record::signature::{PublicKey, Signature, signed_data};

use super::equation::{Equation, weights};
use super::progress::Progress;

/// Signatures of one batch; larger ones gain little.
const BATCH: usize = 512;
/// A batch that fails is divided into so many, until a part has so few that each is checked by itself.
const PARTS: usize = 8;
/// Batches that wait; whoever brings one more checks it himself.
const WAITING: usize = 8;

/// One signature to be checked.
pub(super) struct Claim {
    /// Who asks; given back when the signature is bad.
    pub of: u32,
    pub key: PublicKey,
    pub signature: Signature,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// Checks some signatures; returns who asked for those that are bad, in their order.
fn check(claims: &[Claim]) -> Vec<u32> {
    let messages: Vec<Vec<u8>> = claims.iter().map(|claim| signed_data(&claim.payload)).collect();
    let mut bad = Vec::new();
    check_part(claims, &messages, &mut bad);
    bad
}

fn check_part(claims: &[Claim], messages: &[Vec<u8>], bad: &mut Vec<u32>) {
    if claims.is_empty() || all_hold(claims, messages) {
        return;
    }
    if claims.len() <= PARTS * PARTS {
        let each = claims.iter().zip(messages);
        let refused = each.filter(|(claim, message)| !claim.key.verifies(message, &claim.signature));
        return bad.extend(refused.map(|(claim, _)| claim.of));
    }
    let size = claims.len().div_ceil(PARTS);
    for (claims, messages) in claims.chunks(size).zip(messages.chunks(size)) {
        check_part(claims, messages, bad);
    }
}

/// Whether the batch as a whole holds; false also when it can't be asked.
fn all_hold(claims: &[Claim], messages: &[Vec<u8>]) -> bool {
    let Some(weights) = weights(claims.len()) else { return false };
    let mut equation = Equation::default();
    let mut parts = claims.iter().zip(messages).zip(weights);
    let all = parts.all(|((claim, message), weight)| equation.add(&claim.key, message, &claim.signature, weight));
    all && equation.holds()
}

/// Batches that wait for whichever thread is free.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Vec<Claim>>,
    /// No more will come.
    closed: bool,
    bad: Vec<u32>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // What it guards is whole at every moment: a panic of another thread is told by its join.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a batch for whoever is free; checks it here and now when too many wait.
    pub fn put(&self, batch: Vec<Claim>) {
        let mut waiting = self.waiting();
        if waiting.batches.len() < WAITING {
            waiting.batches.push_back(batch);
            drop(waiting);
            self.changed.notify_one();
        } else {
            drop(waiting);
            self.check(&batch);
        }
    }

    fn check(&self, batch: &[Claim]) {
        let bad = check(batch);
        self.waiting().bad.extend(bad);
    }

    /// Says that no batch will come any more.
    pub fn close(&self) {
        self.waiting().closed = true;
        self.changed.notify_all();
    }

    /// Checks batches until none is left and none will come.
    pub fn help(&self) {
        loop {
            let mut waiting = self.waiting();
            let batch = loop {
                if let Some(batch) = waiting.batches.pop_front() {
                    break batch;
                }
                if waiting.closed {
                    return;
                }
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            };
            drop(waiting);
            self.check(&batch);
        }
    }

    /// Who asked for the signatures that are bad, when all have been checked.
    pub fn into_bad(self) -> Vec<u32> {
        self.waiting.into_inner().unwrap_or_else(PoisonError::into_inner).bad
    }
}

/// Says that no batch will come any more when the one who brings them ends, however he ends.
pub(super) struct Closing<'a>(pub &'a Queue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Gathers signatures into batches and hands them on.
pub(super) struct Outbox<'a> {
    batch: Vec<Claim>,
    queue: &'a Queue,
    progress: Option<&'a Progress>,
}

impl<'a> Outbox<'a> {
    pub fn new(queue: &'a Queue) -> Self {
        Outbox { batch: Vec::with_capacity(BATCH), queue, progress: None }
    }

    /// Each claim is a step.
    pub fn telling(mut self, progress: &'a Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Takes one more.
    pub fn put(&mut self, claim: Claim) {
        if let Some(progress) = self.progress {
            progress.step();
        }
        self.batch.push(claim);
        if self.batch.len() == BATCH {
            self.send();
        }
    }

    /// Hands on what is left.
    pub fn send(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            self.queue.put(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn claim(of: u32, key: PublicKey, signature: [u8; 64], payload: &[u8]) -> Claim {
        Claim { of, key, signature: Signature::from_bytes(signature), payload: payload.to_vec() }
    }

    #[test]
    fn a_batch_names_exactly_the_signatures_that_the_strict_check_refuses() {
        let signer = SigningKey::from_bytes(&[0x33; 32]);
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let good = |payload: &[u8]| signer.sign(&signed_data(payload)).to_bytes();
        let honest: Vec<Claim> = (0..64u8).map(|n| claim(n.into(), key, good(&[n]), &[n])).collect();
        assert_eq!(check(&honest), [] as [u32; 0]);

        // Another text; each bit of a signature; s + l, the same point in another spelling.
        let mut claims = honest;
        claims.push(claim(1000, key, good(b"a"), b"b"));
        for bit in 0..512u32 {
            let mut changed = good(b"c");
            changed[(bit / 8) as usize] ^= 1 << (bit % 8);
            claims.push(claim(2000 + bit, key, changed, b"c"));
        }
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").unwrap();
        let mut long = good(b"d");
        let mut carry = 0u16;
        for (digit, add) in long[32..].iter_mut().zip(&order) {
            let sum = u16::from(*digit) + u16::from(*add) + carry;
            (*digit, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        claims.push(claim(1001, key, long, b"d"));
        // Keys of small order (0, 1 and -1), with which anything can be signed; and bytes that are no point.
        for (n, first) in [0u8, 1, 0xec].into_iter().enumerate() {
            let mut weak = if first == 0xec { [0xff; 32] } else { [0; 32] };
            (weak[0], weak[31]) = (first, if first == 0xec { 0x7f } else { 0 });
            let mut forged = [0; 64];
            forged[0] = 1;
            claims.push(claim(1010 + u32::try_from(n).unwrap(), PublicKey::from_bytes(weak), forged, b"f"));
        }
        claims.push(claim(1020, PublicKey::from_bytes([0xff; 32]), good(b"g"), b"g"));
        let refused = |claim: &&Claim| !claim.key.verifies(&signed_data(&claim.payload), &claim.signature);
        let expected: Vec<u32> = claims.iter().filter(refused).map(|claim| claim.of).collect();
        assert_eq!(expected.len(), claims.len() - 64);
        assert_eq!(check(&claims), expected);
        // One bad signature, alone among good ones.
        for bad in claims.iter().skip(64).step_by(37) {
            let mut batch: Vec<Claim> = (0..8u8).map(|n| claim(n.into(), key, good(&[n]), &[n])).collect();
            batch.insert(3, claim(bad.of, bad.key, *bad.signature.as_bytes(), &bad.payload));
            assert_eq!(check(&batch), [bad.of]);
        }
    }
}
