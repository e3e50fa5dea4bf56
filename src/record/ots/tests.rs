//! Known proofs, one-byte mistakes, and trees of all shapes.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

/// A folder of real proofs that lies beside the checkout, if it does.
fn examples() -> Option<PathBuf> {
    let shared = std::env::var_os("GENTLY_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("data/ots/client-examples");
    if !folder.is_dir() {
        eprintln!("skipped: no {} to read", folder.display());
        return None;
    }
    Some(folder)
}

const MAGIC: &str = "004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e89294";

/// A proof over the digest `11…11`, after its head.
fn proof(tree: &str) -> Vec<u8> {
    hex::decode(format!(
        "{MAGIC}0108{}{}",
        "11".repeat(32),
        tree.replace(' ', "")
    ))
    .unwrap()
}

const BITCOIN: &str = "00 0588960d73d71901";
const PENDING: &str = "00 83dfe30d2ef90c8e";

fn reason(bytes: &[u8]) -> OtsReason {
    Proof::read(bytes).unwrap_err().reason
}

#[test]
fn a_small_proof_reads_computes_and_prints() {
    let bytes = proof(&format!(
        "f0 02 aabb 08 ff {PENDING} 06 05 613a2f2f62 {BITCOIN} 03 e68715"
    ));
    let read = Proof::read(&bytes).unwrap();
    let leaves = read.leaves().unwrap();
    let message = Op::Sha256
        .apply(&[&[0x11; 32][..], &[0xaa, 0xbb]].concat())
        .unwrap();
    assert_eq!(
        leaves
            .iter()
            .map(|leaf| leaf.message.clone())
            .collect::<Vec<_>>(),
        [message.clone(), message]
    );
    assert_eq!(
        *leaves[0].attestation,
        Attestation::Pending {
            uri: "a://b".to_owned()
        }
    );
    assert_eq!(
        *leaves[1].attestation,
        Attestation::Bitcoin { height: 0x5_43e6 }
    );
    // By tag: Bitcoin's 05… comes before the calendar's 83….
    let sorted = proof(&format!(
        "f0 02 aabb 08 ff {BITCOIN} 03 e68715 {PENDING} 06 05 613a2f2f62"
    ));
    assert_eq!(read.print(), sorted);
    assert_eq!(Proof::read(&sorted).unwrap(), read);
}

#[test]
fn one_byte_mistakes_have_names() {
    let good = proof(&format!("08 {BITCOIN} 03 e68715"));
    assert!(Proof::read(&good).is_ok());
    for cut in 31..good.len() {
        assert!(
            matches!(reason(&good[..cut]), OtsReason::Truncated),
            "{cut}"
        );
    }
    for (tree, expected) in [
        (format!("08 {BITCOIN} 03 e68715 00"), OtsReason::Trailing),
        (format!("09 {BITCOIN} 03 e68715"), OtsReason::Operation(9)),
        (format!("f0 00 {BITCOIN} 03 e68715"), OtsReason::Operand(0)),
        (
            format!("f0 8120 {} {BITCOIN} 03 e68715", "00".repeat(4097)),
            OtsReason::Operand(4097),
        ),
        (
            format!("f0 8020 {} {BITCOIN} 03 e68715", "00".repeat(4096)),
            OtsReason::Message(4128),
        ),
        (
            format!("f3 f3 f3 f3 f3 f3 f3 f3 {BITCOIN} 03 e68715"),
            OtsReason::Message(8192),
        ),
        (format!("08 {BITCOIN} 04 e6871500"), OtsReason::Payload),
        (format!("08 {BITCOIN} 02 e687"), OtsReason::Payload),
        (
            format!("08 {BITCOIN} 0a ffffffffffffffffff7f"),
            OtsReason::Number,
        ),
        (
            format!("f0 ffffffffffffffffff7f {BITCOIN} 03 e68715"),
            OtsReason::Number,
        ),
        (
            format!("f0 ffffffffffffffff7f {BITCOIN} 03 e68715"),
            OtsReason::Operand((1 << 63) - 1),
        ),
        (
            format!("08 {BITCOIN} 8140 {}", "00".repeat(8193)),
            OtsReason::Payload,
        ),
        (format!("08 {PENDING} 02 0120"), OtsReason::Uri),
        (format!("08 {PENDING} 02 01c3"), OtsReason::Uri),
        (format!("08 {PENDING} 03 0161 62"), OtsReason::Payload),
        (
            format!("08 {PENDING} eb07 e907 {}", "61".repeat(1001)),
            OtsReason::Uri,
        ),
        ("08".repeat(256), OtsReason::Depth),
    ] {
        assert_eq!(
            reason(&proof(&tree)),
            expected,
            "{}",
            &tree[..tree.len().min(60)]
        );
    }
    for (at, wrong, expected) in [
        (0, 1, OtsReason::Magic),
        (30, 0x95, OtsReason::Magic),
        (31, 2, OtsReason::Version(2)),
        (32, 0xf3, OtsReason::FileHash(0xf3)),
    ] {
        let mut bytes = good.clone();
        bytes[at] = wrong;
        assert_eq!(reason(&bytes), expected);
    }
    assert_eq!(
        reason(&[good, vec![0; MAX_PROOF]].concat()),
        OtsReason::TooLarge
    );
}

#[test]
fn the_deepest_tree_that_is_read() {
    let deepest = proof(&format!("{} {BITCOIN} 01 01", "08".repeat(255)));
    assert_eq!(Proof::read(&deepest).unwrap().print(), deepest);
    assert_eq!(
        reason(&proof(&format!("{} {BITCOIN} 01 01", "08".repeat(256)))),
        OtsReason::Depth
    );
}

#[test]
fn a_pending_proof_takes_in_what_the_calendar_says_later() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ots");
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let (mut pending, whole) = (
        Proof::read(&file("f.pending.ots")).unwrap(),
        Proof::read(&file("f.txt.ots")).unwrap(),
    );
    assert_eq!(pending.digest, Op::Sha256.apply(&file("f.txt")).unwrap());
    let leaves = pending.leaves().unwrap();
    let [leaf] = leaves.as_slice() else {
        panic!("{leaves:?}")
    };
    let (path, message): (Vec<Op>, Vec<u8>) = (
        leaf.path.iter().copied().cloned().collect(),
        leaf.message.clone(),
    );
    // What the calendar would answer is what the whole proof has below the same message.
    let answer = whole.tree.clone().node(&path).unwrap().print();
    let answer = ProofNode::read(&answer, &message).unwrap();
    pending.tree.node(&path).unwrap().merge(answer);
    let bitcoin: Vec<Leaf<'_>> = pending
        .leaves()
        .unwrap()
        .into_iter()
        .filter(|leaf| matches!(leaf.attestation, Attestation::Bitcoin { height: 102 }))
        .collect();
    assert_eq!(bitcoin.len(), 1);
    let headers = String::from_utf8(file("regtest-headers.csv")).unwrap();
    let header = headers
        .lines()
        .find(|line| line.starts_with("102,"))
        .unwrap()
        .rsplit(',')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(hex::encode(&bitcoin[0].message), header[72..136]);
}

#[test]
fn real_proofs_print_as_they_were() {
    let Some(folder) = examples() else { return };
    let mut read = 0;
    for folder in [folder.clone(), folder.join("sha1")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "ots") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let proof = Proof::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(!proof.leaves().unwrap().is_empty(), "{}", path.display());
            assert_eq!(
                Proof::read(&proof.print()).unwrap(),
                proof,
                "{}",
                path.display()
            );
            read += 1;
        }
    }
    assert_eq!(read, 14);
    for (name, expected) in [
        ("bad-major-version.ots", OtsReason::Version(1151)),
        ("exceeds-max-msg-length.ots", OtsReason::Message(4112)),
        ("invalid-file-digest-type.ots", OtsReason::FileHash(0xf3)),
    ] {
        assert_eq!(
            reason(&std::fs::read(folder.join("invalid").join(name)).unwrap()),
            expected,
            "{name}"
        );
    }
}

fn op() -> impl Strategy<Value = Op> {
    let operand = proptest::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        Just(Op::Sha1),
        Just(Op::Ripemd160),
        Just(Op::Sha256),
        Just(Op::Keccak256),
        Just(Op::Reverse),
        operand.clone().prop_map(Op::Append),
        operand.prop_map(Op::Prepend),
    ]
}

fn attestation() -> impl Strategy<Value = Attestation> {
    prop_oneof![
        (0u64..1 << 63).prop_map(|height| Attestation::Bitcoin { height }),
        (0u64..1 << 63).prop_map(|height| Attestation::Litecoin { height }),
        "[a-z]{1,5}://[a-z0-9.:/_-]{0,30}".prop_map(|uri| Attestation::Pending { uri }),
        (
            any::<[u8; 8]>(),
            proptest::collection::vec(any::<u8>(), 0..20)
        )
            .prop_filter_map("a known tag", |(tag, payload)| {
                let known =
                    [read::PENDING, read::BITCOIN, read::LITECOIN, read::ETHEREUM].contains(&tag);
                (!known).then_some(Attestation::Unknown { tag, payload })
            }),
    ]
}

fn tree() -> impl Strategy<Value = ProofNode> {
    let leaf =
        proptest::collection::btree_set(attestation(), 1..3).prop_map(|attestations| ProofNode {
            attestations,
            branches: BTreeMap::new(),
        });
    leaf.prop_recursive(6, 40, 3, |below| {
        (
            proptest::collection::btree_set(attestation(), 0..2),
            proptest::collection::btree_map(op(), below, 1..3),
        )
            .prop_map(|(attestations, branches)| ProofNode {
                attestations,
                branches,
            })
    })
}

proptest! {
    #[test]
    fn every_tree_reads_as_it_prints(tree in tree()) {
        let bytes = tree.print();
        prop_assert_eq!(&ProofNode::read(&bytes, &[7; 32]).unwrap(), &tree);
        let mut twice = tree.clone();
        twice.merge(tree.clone());
        prop_assert_eq!(twice, tree);
    }

    #[test]
    fn no_bytes_do_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), tree in tree(), at in any::<proptest::sample::Index>(), to: u8) {
        let _ = ProofNode::read(&bytes, b"m");
        let mut changed = tree.print();
        let place = at.index(changed.len());
        changed[place] = to;
        if let Ok(read) = ProofNode::read(&changed, b"m") {
            prop_assert_eq!(ProofNode::read(&read.print(), b"m").unwrap(), read);
        }
        let mut whole = proof("");
        whole.append(&mut bytes);
        let _ = Proof::read(&whole);
    }
}
