use super::*;

/// A proof is cut to its earliest block, by the operations that both verifiers know, and still
/// reads as a file.
#[test]
fn a_proof_is_cut_to_one_path() {
    let chain = |operand: u8, height| {
        ProofNode::chain(
            [Op::Append(vec![operand]), Op::Sha256].into_iter(),
            Attestation::Bitcoin { height },
        )
    };
    let mut tree = chain(1, 7);
    tree.merge(chain(2, 5));
    tree.merge(ProofNode::chain(
        [Op::Sha1, Op::Sha256].into_iter(),
        Attestation::Bitcoin { height: 3 },
    ));
    tree.merge(ProofNode::chain(
        [Op::Sha256].into_iter(),
        Attestation::Pending {
            uri: "https://c.example".to_owned(),
        },
    ));
    let proof = Proof {
        file_hash: FileHash::Sha256,
        digest: vec![9; 32],
        tree,
    };
    let (ots, block) = one_path(&proof).unwrap();
    assert_eq!(block.height, 5);
    let digest = Hash32::from_bytes([9; 32]);
    let part = Stamp {
        checkpoint: String::new(),
        header: None,
        ots,
    };
    assert_eq!(
        part.read(),
        Some(TimestampStatement {
            digest,
            blocks: vec![block]
        })
    );
    // A proof that was not cut says all that it leads to.
    let whole = Stamp {
        ots: proof.print(),
        ..part.clone()
    }
    .read()
    .unwrap();
    let mut heights: Vec<u32> = whole.blocks.iter().map(|block| block.height).collect();
    heights.sort_unstable();
    assert_eq!((whole.digest, heights), (digest, vec![3, 5, 7]));
    let pending = Proof {
        tree: ProofNode::chain(
            [].into_iter(),
            Attestation::Pending {
                uri: "https://c.example".to_owned(),
            },
        ),
        ..proof
    };
    assert_eq!(one_path(&pending), None);
    assert_eq!(
        Stamp {
            ots: pending.print(),
            ..part.clone()
        }
        .read()
        .unwrap()
        .blocks,
        []
    );
    for cut in 0..part.ots.len() {
        assert_eq!(
            Stamp {
                ots: part.ots[..cut].to_vec(),
                ..part.clone()
            }
            .read(),
            None,
            "{cut}"
        );
    }
}

#[test]
fn an_entry_has_three_members_or_a_last_one_of_two_kinds() {
    let hash = Hash32::digest(b"x");
    let read = |text: &str| canon::parse::<Entry>(text.as_bytes());
    let entry = |more| Entry {
        index: 3,
        text: "line".to_owned(),
        proof: vec![hash],
        more,
    };
    for (more, text) in [
        (EntryExtra::Nothing, format!("[3,\"line\",[\"{hash}\"]]")),
        (
            EntryExtra::Stamped(vec![]),
            format!("[3,\"line\",[\"{hash}\"],[]]"),
        ),
        (
            EntryExtra::Stamped(vec![hash, hash]),
            format!("[3,\"line\",[\"{hash}\"],[\"{hash}\",\"{hash}\"]]"),
        ),
        (
            EntryExtra::Rotation {
                checkpoint: "note".to_owned(),
                proof: vec![],
            },
            format!("[3,\"line\",[\"{hash}\"],[\"note\",[]]]"),
        ),
    ] {
        assert_eq!(canon::print(&entry(more.clone())).unwrap(), text);
        assert_eq!(read(&text).unwrap(), entry(more));
    }
    for wrong in [
        "[]",
        "[3,\"line\"]",
        "[-1,\"line\",[]]",
        "[3,\"line\",[],null]",
        "[3,\"line\",[],[\"note\"]]",
        "[3,\"line\",[],[\"note\",[],[]]]",
        "[3,\"line\",[],[],[]]",
        "[3,\"line\",[],[\"note\",[]],[]]",
        "[3,\"line\",[3]]",
        "{\"index\":3,\"proof\":[],\"text\":\"line\"}",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

fn small() -> OpeningFile {
    let opening = TextOpening {
        commitment: Hash32::ZERO,
        format: Format,
        key: None,
        role: Role::Prompt,
        seq: Some(1),
        session_id: "-".to_owned(),
        text: String::new(),
    };
    OpeningFile {
        documents: vec![Document::Other(BTreeMap::new())],
        format: Format,
        head: "note".to_owned(),
        headers: Vec::new(),
        lines: vec![Entry {
            index: 0,
            text: String::new(),
            proof: Vec::new(),
            more: EntryExtra::Nothing,
        }],
        openings: vec![opening],
        stamp: None,
    }
}

#[test]
fn a_file_has_so_many_bytes_beside_its_texts_and_no_more() {
    // Texts don't count, however they are spelled.
    let mut texts = small();
    texts.openings[0].text = "\u{1}\"é".repeat(100_000);
    let print = texts.print().unwrap();
    assert!(print.len() > 2 * MAX_AROUND && OpeningFile::parse(print.as_bytes()).is_ok());
    for (openings, rotations) in [(1, 0), (3, 0), (2, 1)] {
        let mut file = small();
        file.openings = vec![file.openings[0].clone(); openings];
        file.lines[0].text = "|key_rotate|".repeat(rotations);
        let most = MAX_AROUND + (openings + rotations) * MAX_EACH;
        let room = most - file.around().unwrap() + file.head.len();
        file.head = "x".repeat(room);
        assert_eq!(file.around().unwrap(), most);
        assert_eq!(
            OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap(),
            file
        );
        file.head.push('x');
        let fault = OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap_err();
        assert!(
            matches!(fault, OpeningFault::TooMuch { actual, .. } if actual == most + 1),
            "{fault}"
        );
    }
}

#[test]
fn a_file_has_something_to_check() {
    let refused = |change: &dyn Fn(&mut OpeningFile)| {
        let mut file = small();
        change(&mut file);
        let fault = OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap_err();
        assert!(matches!(fault, OpeningFault::Form { .. }), "{fault}");
    };
    refused(&|file| file.openings.clear());
    refused(&|file| file.lines.clear());
    refused(&|file| file.documents.clear());
    refused(&|file| file.openings[0].role = Role::Bundle);
    refused(&|file| file.openings[0].session_id = "x".to_owned());
    refused(&|file| file.lines[0].proof = vec![Hash32::ZERO; 65]);
    refused(&|file| file.lines[0].more = EntryExtra::Stamped(vec![Hash32::ZERO; 65]));
}

/// A small file that would be large in memory is not unfolded at all.
#[test]
fn much_structure_is_refused_before_it_is_read() {
    let values = |count: usize| format!("[{}0]\n", "0,".repeat(count));
    let border = values((MAX_STRUCTURE - 4) / 2);
    assert_eq!(outside_strings(border.as_bytes()), MAX_STRUCTURE);
    let fault = OpeningFile::parse(border.as_bytes()).unwrap_err();
    assert!(matches!(fault, OpeningFault::Document(_)), "{fault}");
    let fault = OpeningFile::parse(values(MAX_STRUCTURE / 2).as_bytes()).unwrap_err();
    assert!(matches!(fault, OpeningFault::TooMuch { .. }), "{fault}");
    let many = format!("{{\"documents\":[{}0]}}\n", "0,".repeat(3 << 20));
    let fault = OpeningFile::parse(many.as_bytes()).unwrap_err();
    assert!(
        matches!(
            fault,
            OpeningFault::TooMuch {
                most: MAX_STRUCTURE,
                ..
            }
        ),
        "{fault}"
    );
    assert_eq!(outside_strings(b"[\"a\\\"],,\",1]"), 6);
}

/// As large as readers take, and one byte larger.
#[test]
fn a_file_has_so_many_bytes_and_no_more() {
    let mut file = small();
    let around = file.print().unwrap().len();
    file.openings[0].text = "x".repeat(MAX_FILE - around);
    let print = file.print().unwrap();
    assert_eq!(print.len(), MAX_FILE);
    assert_eq!(OpeningFile::parse(print.as_bytes()).unwrap(), file);
    file.openings[0].text.push('x');
    let fault = OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap_err();
    assert!(
        matches!(fault, OpeningFault::TooLarge { actual } if actual == MAX_FILE + 1),
        "{fault}"
    );
}

/// What has room is read whatever changes around its texts: as much as there may be.
#[test]
fn a_file_with_room_is_read_when_it_has_all_that_may_stand_around() {
    let mut file = small();
    // Two quotes stand around it.
    file.openings[0].text = "x".repeat(MAX_FILE - MAX_AROUND - 2 * MAX_EACH - 2);
    file.has_room().unwrap();
    let mut full = file.clone();
    full.head = "x".repeat(full.head.len() + full.most_around() - full.around().unwrap());
    assert!(OpeningFile::parse(full.print().unwrap().as_bytes()).is_ok());
    file.openings[0].text.push('x');
    let fault = file.has_room().unwrap_err();
    assert!(matches!(fault, OpeningFault::TooLarge { .. }), "{fault}");
    // And as many lines as leave room for what is outside of strings.
    let mut many = small();
    many.openings = vec![many.openings[0].clone(); 600];
    many.has_room().unwrap();
    many.lines = vec![many.lines[0].clone(); 100_000];
    let fault = many.has_room().unwrap_err();
    assert!(
        matches!(
            fault,
            OpeningFault::TooMuch {
                most: MAX_STRUCTURE,
                ..
            }
        ),
        "{fault}"
    );
}

#[test]
fn one_spelling_is_read() {
    let text = small().print().unwrap();
    assert_eq!(OpeningFile::parse(text.as_bytes()).unwrap(), small());
    for wrong in [
        text.trim_end().to_owned(),
        format!("{text}\n"),
        text.replacen("\"stamp\":null", "\"stamp\":null,\"stand\":null", 1),
        text.replacen(",\"stamp\":null", "", 1),
        text.replacen(':', ": ", 1),
        text.replacen("gently/1", "gently/2", 1),
    ] {
        assert!(OpeningFile::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
