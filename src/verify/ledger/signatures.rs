//! Many signatures, checked in batches by whichever thread is free: each by the one predicate
//! ([`Verifier`]).

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::record::signature::{PublicKey, Signature, Verifier, signed_data};
use crate::verify::progress::Progress;

/// Signatures of one batch: few enough that no thread waits long for the last one.
const BATCH: usize = 512;
/// Batches that wait; whoever brings one more checks it himself.
const WAITING: usize = 8;

/// One signature to be checked.
pub(crate) struct SignatureClaim {
    /// Who asks; given back when the signature is bad.
    pub of: u32,
    pub key: PublicKey,
    pub signature: Signature,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// Checks some signatures; returns who asked for those that are bad, in their order.
fn bad(claims: &[SignatureClaim]) -> Vec<u32> {
    // A key is taken apart once: nearly all signatures of a ledger are by one.
    let mut keys: Vec<(PublicKey, Option<Verifier>)> = Vec::new();
    let mut bad = Vec::new();
    for claim in claims {
        let at = keys.iter().rposition(|(key, _)| *key == claim.key);
        let at = at.unwrap_or_else(|| {
            keys.push((claim.key, Verifier::of(&claim.key)));
            keys.len() - 1
        });
        let message = signed_data(&claim.payload);
        let verifier = keys.get(at).and_then(|(_, verifier)| verifier.as_ref());
        if !verifier.is_some_and(|verifier| verifier.holds(&message, &claim.signature)) {
            bad.push(claim.of);
        }
    }
    bad
}

/// Batches that wait for whichever thread is free.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<QueuedSignature>,
    changed: Condvar,
}

#[derive(Default)]
struct QueuedSignature {
    batches: VecDeque<Vec<SignatureClaim>>,
    /// No more will come.
    closed: bool,
    bad: Vec<u32>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, QueuedSignature> {
        // What it guards is whole at every moment: a panic of another thread is told by its join.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a batch for whoever is free; checks it here and now when too many wait.
    pub fn put(&self, batch: Vec<SignatureClaim>) {
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

    fn check(&self, batch: &[SignatureClaim]) {
        let bad = bad(batch);
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
                waiting = self
                    .changed
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            drop(waiting);
            self.check(&batch);
        }
    }

    /// Who asked for the signatures that are bad, when all have been checked.
    pub fn into_bad(self) -> Vec<u32> {
        self.waiting
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .bad
    }
}

/// Says that no batch will come any more when the one who brings them ends, however he ends.
pub(crate) struct CloseOnDrop<'a>(pub &'a Queue);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Gathers signatures into batches and hands them on.
pub(crate) struct Outbox<'a> {
    batch: Vec<SignatureClaim>,
    queue: &'a Queue,
    progress: Option<&'a Progress>,
}

impl<'a> Outbox<'a> {
    pub fn new(queue: &'a Queue) -> Self {
        Outbox {
            batch: Vec::with_capacity(BATCH),
            queue,
            progress: None,
        }
    }

    /// Each claim is a step.
    pub fn telling(mut self, progress: &'a Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Takes one more.
    pub fn put(&mut self, claim: SignatureClaim) {
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

    /// One case of `tests/vectors/ours/signatures.json`.
    #[derive(serde::Deserialize)]
    struct Vector {
        name: String,
        key: String,
        message: String,
        signature: String,
        holds: bool,
    }

    fn vectors() -> Vec<Vector> {
        serde_json::from_str(include_str!("../../../tests/vectors/ours/signatures.json")).unwrap()
    }

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        hex::decode(text).unwrap().try_into().unwrap()
    }

    fn claim_of(of: u32, vector: &Vector) -> SignatureClaim {
        SignatureClaim {
            of,
            key: PublicKey::from_bytes(bytes(&vector.key)),
            signature: Signature::from_bytes(bytes(&vector.signature)),
            payload: hex::decode(&vector.message).unwrap(),
        }
    }

    /// Good signatures by one key, beside which a vector stands in a full batch.
    fn honest(count: u32, signer: &SigningKey) -> Vec<SignatureClaim> {
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let one = |n: u32| {
            let payload = n.to_be_bytes().to_vec();
            let signature = Signature::from_bytes(signer.sign(&signed_data(&payload)).to_bytes());
            SignatureClaim {
                of: n,
                key,
                signature,
                payload,
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn every_vector_gets_its_answer_on_each_of_200_runs() {
        let vectors = vectors();
        assert!(vectors.len() >= 40, "{}", vectors.len());
        assert!(vectors.iter().any(|v| v.holds) && vectors.iter().any(|v| !v.holds));
        for vector in &vectors {
            let claim = claim_of(1, vector);
            for run in 0..200 {
                let alone = claim
                    .key
                    .verifies(&signed_data(&claim.payload), &claim.signature);
                assert_eq!(alone, vector.holds, "{} alone, run {run}", vector.name);
                let batch = bad(std::slice::from_ref(&claim)).is_empty();
                assert_eq!(
                    batch, vector.holds,
                    "{} in a batch of one, run {run}",
                    vector.name
                );
            }
        }
    }

    #[test]
    fn every_vector_gets_its_answer_among_ten_thousand() {
        let vectors = vectors();
        let mut many = honest(512 - 16, &SigningKey::from_bytes(&[0x11; 32]));
        for portion in vectors.chunks(4) {
            for repeated in [1, 32] {
                for vector in portion {
                    many.extend((0..repeated).map(|_| claim_of(100_000, vector)));
                }
                let bad = bad(&many).len();
                let expected = repeated * portion.iter().filter(|vector| !vector.holds).count();
                assert_eq!(
                    bad,
                    expected,
                    "{:?}",
                    portion.iter().map(|v| &v.name).collect::<Vec<_>>()
                );
                many.truncate(512 - 16);
            }
        }
        // Ten thousand of one key, with every vector's own place among them.
        let signer = SigningKey::from_bytes(&[0x22; 32]);
        let mut all = honest(10_000, &signer);
        for (n, vector) in (0..).zip(&vectors) {
            all.insert(97 * (n as usize + 1), claim_of(20_000 + n, vector));
        }
        let queue = Queue::default();
        let mut out = Outbox::new(&queue);
        all.into_iter().for_each(|claim| out.put(claim));
        out.send();
        queue.close();
        queue.help();
        let mut bad = queue.into_bad();
        bad.sort_unstable();
        let expected: Vec<u32> = (20_000..)
            .zip(&vectors)
            .filter(|(_, vector)| !vector.holds)
            .map(|(of, _)| of)
            .collect();
        assert_eq!(bad, expected);
    }

    #[test]
    fn a_batch_names_exactly_the_signatures_that_are_bad() {
        let signer = SigningKey::from_bytes(&[0x33; 32]);
        let good = |payload: &[u8]| signer.sign(&signed_data(payload)).to_bytes();
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let mut claims = honest(200, &signer);
        for bit in 0..512u32 {
            let mut changed = good(b"c");
            changed[(bit / 8) as usize] ^= 1 << (bit % 8);
            claims.push(SignatureClaim {
                of: 2000 + bit,
                key,
                signature: Signature::from_bytes(changed),
                payload: b"c".to_vec(),
            });
        }
        assert_eq!(bad(&claims), (2000..2512).collect::<Vec<u32>>());
        let other = PublicKey::from_bytes(
            SigningKey::from_bytes(&[0x34; 32])
                .verifying_key()
                .to_bytes(),
        );
        for at in [0, 100, 199] {
            let mut claims = honest(200, &signer);
            claims[at].key = other;
            assert_eq!(bad(&claims), [u32::try_from(at).unwrap()]);
        }
    }
}
