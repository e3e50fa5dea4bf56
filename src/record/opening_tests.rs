use super::*;

/// A proof is cut to its earliest block, by the operations that both verifiers know, and still reads as a file.
#[test]
fn a_proof_is_cut_to_one_path() {
    let chain = |operand: u8, height| {
        Tree::chain([Op::Append(vec![operand]), Op::Sha256].into_iter(), Attestation::Bitcoin { height })
    };
    let mut tree = chain(1, 7);
    tree.merge(chain(2, 5));
    tree.merge(Tree::chain([Op::Sha1, Op::Sha256].into_iter(), Attestation::Bitcoin { height: 3 }));
    tree.merge(Tree::chain([Op::Sha256].into_iter(), Attestation::Pending { uri: "https://c.example".to_owned() }));
    let proof = Proof { file_hash: FileHash::Sha256, digest: vec![9; 32], tree };
    let (ots, stamped) = one_path(&proof).unwrap();
    assert_eq!((stamped.height, stamped.digest), (5, Hash32::from_bytes([9; 32])));
    let part = StampPart { header: None, lines: None, ots };
    assert_eq!(part.read(), Some(stamped));
    // What has more than one way, or none to a block, is no stamp.
    assert_eq!(StampPart { ots: proof.print(), ..part.clone() }.read(), None);
    let pending = Proof {
        tree: Tree::chain([].into_iter(), Attestation::Pending { uri: "https://c.example".to_owned() }),
        ..proof
    };
    assert_eq!(one_path(&pending), None);
    assert_eq!(StampPart { ots: pending.print(), ..part.clone() }.read(), None);
    for cut in 0..part.ots.len() {
        assert_eq!(StampPart { ots: part.ots[..cut].to_vec(), ..part.clone() }.read(), None, "{cut}");
    }
}

#[test]
fn an_object_has_one_name() {
    let good = "8f84f3d425f037cad8ff71c0b1bb3d1d4e847900";
    assert!(ObjectName::parse(good).is_some());
    for wrong in ["", &good[1..], &good.to_uppercase(), &format!("{good}0"), &good.replace('8', "g")] {
        assert!(ObjectName::parse(wrong).is_none(), "{wrong}");
    }
}
