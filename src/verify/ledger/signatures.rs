//! Many signatures, checked in batches by whichever thread is free: each by the one predicate
//! ([`crate::record::equation`]), with a table of multiples for a key that many of them are by.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::traits::Identity as _;

use crate::record::equation::{Verifier, is_r};
use crate::record::signature::{PublicKey, Signature, signed_data};

use super::multiples::Multiples;
use crate::verify::progress::Progress;

/// Signatures of one batch: their encodings are computed with one inversion.
const BATCH: usize = 512;
/// Batches that wait; whoever brings one more checks it himself.
const WAITING: usize = 8;
/// From so many signatures of one batch on a key's table is worth making.
const WORTH: usize = 128;
/// Tables that are kept; a ledger has few keys, and a stranger's thousand get none.
const TABLES: usize = 4;

/// Multiples of the base point, the same for every key.
static BASE: LazyLock<Multiples> = LazyLock::new(|| Multiples::of(&ED25519_BASEPOINT_POINT));

/// One signature to be checked.
pub(crate) struct SignatureClaim {
    /// Who asks; given back when the signature is bad.
    pub of: u32,
    pub key: PublicKey,
    pub signature: Signature,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// A key with what is known of it; none when nothing can be signed with it.
#[derive(Clone)]
struct KeyState {
    key: PublicKey,
    verifier: Option<Verifier>,
    /// Multiples of −A.
    table: Option<Arc<Multiples>>,
}

/// Keys that many signatures are by.
#[derive(Default)]
pub(crate) struct Tables(Mutex<Vec<KeyState>>);

impl Tables {
    /// A key of which so many signatures are to be checked.
    fn key(&self, key: PublicKey, count: usize) -> KeyState {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().iter().find(|known| known.key == key) {
            return known.clone();
        }
        let verifier = Verifier::of(&key);
        let worth = count >= WORTH && kept().len() < TABLES;
        let table = verifier
            .filter(|_| worth)
            .map(|verifier| Arc::new(Multiples::of(verifier.negated())));
        let known = KeyState {
            key,
            verifier,
            table,
        };
        let mut kept = kept();
        if known.table.is_some()
            && kept.len() < TABLES
            && !kept.iter().any(|other| other.key == key)
        {
            kept.push(known.clone());
        }
        known
    }

    /// Checks some signatures; returns who asked for those that are bad, in their order.
    fn check(&self, claims: &[SignatureClaim]) -> Vec<u32> {
        let mut known: Vec<KeyState> = Vec::new();
        // Points with their claims, in the order of the signatures; none for one that is bad
        // already.
        let mut claimed = Vec::with_capacity(claims.len());
        let mut points = Vec::with_capacity(claims.len());
        for claim in claims {
            let at = known
                .iter()
                .rposition(|known| known.key == claim.key)
                .unwrap_or_else(|| {
                    let count = claims.iter().filter(|other| other.key == claim.key).count();
                    known.push(self.key(claim.key, count));
                    known.len() - 1
                });
            let of = known
                .get(at)
                .and_then(|known| Some((known.verifier.as_ref()?, known.table.as_deref())));
            let equation = of.and_then(|(key, table)| {
                let parts = key.claim(&signed_data(&claim.payload), &claim.signature)?;
                let point = match table {
                    Some(table) => {
                        table.add_to(BASE.add_to(EdwardsPoint::identity(), &parts.s), &parts.h)
                    }
                    None => key.point(&parts),
                };
                Some((parts, point))
            });
            points.extend(equation.map(|(_, point)| point));
            claimed.push((claim.of, equation.map(|(parts, _)| parts)));
        }
        let encoded = EdwardsPoint::compress_batch_alloc(&points);
        let mut computed = points.iter().zip(&encoded);
        let mut holds = |parts: Option<_>| {
            let parts = parts?;
            let (point, encoded) = computed.next()?;
            Some(is_r(point, encoded, &parts))
        };
        let bad = claimed
            .into_iter()
            .filter(|(_, parts)| holds(*parts) != Some(true));
        bad.map(|(of, _)| of).collect()
    }
}

/// Batches that wait for whichever thread is free.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<QueuedSignature>,
    changed: Condvar,
    tables: Tables,
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
        let bad = self.tables.check(batch);
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
        let tables = Tables::default();
        for vector in &vectors {
            let claim = claim_of(1, vector);
            for run in 0..200 {
                let alone = claim
                    .key
                    .verifies(&signed_data(&claim.payload), &claim.signature);
                assert_eq!(alone, vector.holds, "{} alone, run {run}", vector.name);
                let batch = tables.check(std::slice::from_ref(&claim)).is_empty();
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
        let (vectors, tables) = (vectors(), Tables::default());
        let mut many = honest(512 - 16, &SigningKey::from_bytes(&[0x11; 32]));
        // Each vector's key often enough that its table is made, as far as tables are kept.
        for portion in vectors.chunks(4) {
            for repeated in [1, WORTH / 4] {
                for vector in portion {
                    many.extend((0..repeated).map(|_| claim_of(100_000, vector)));
                }
                let bad = tables.check(&many).len();
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
    fn a_key_with_a_table_and_one_without_refuse_the_same() {
        for vector in vectors() {
            let tables = Tables::default();
            let many: Vec<SignatureClaim> = (0..u32::try_from(WORTH).unwrap())
                .map(|n| claim_of(n, &vector))
                .collect();
            let bad = tables.check(&many).len();
            assert_eq!(bad, if vector.holds { 0 } else { WORTH }, "{}", vector.name);
        }
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
        assert_eq!(
            Tables::default().check(&claims),
            (2000..2512).collect::<Vec<u32>>()
        );
        let other = PublicKey::from_bytes(
            SigningKey::from_bytes(&[0x34; 32])
                .verifying_key()
                .to_bytes(),
        );
        for at in [0, 100, 199] {
            let mut claims = honest(200, &signer);
            claims[at].key = other;
            assert_eq!(
                Tables::default().check(&claims),
                [u32::try_from(at).unwrap()]
            );
        }
    }
}
