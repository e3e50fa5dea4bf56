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
    let part = Stamp { checkpoint: String::new(), header: None, ots };
    assert_eq!(part.read(), Some(stamped));
    // What has more than one way, or none to a block, is no stamp.
    assert_eq!(Stamp { ots: proof.print(), ..part.clone() }.read(), None);
    let pending = Proof {
        tree: Tree::chain([].into_iter(), Attestation::Pending { uri: "https://c.example".to_owned() }),
        ..proof
    };
    assert_eq!(one_path(&pending), None);
    assert_eq!(Stamp { ots: pending.print(), ..part.clone() }.read(), None);
    for cut in 0..part.ots.len() {
        assert_eq!(Stamp { ots: part.ots[..cut].to_vec(), ..part.clone() }.read(), None, "{cut}");
    }
}

#[test]
fn an_entry_has_three_members_or_a_last_one_of_two_kinds() {
    let hash = Hash32::digest(b"x");
    let read = |text: &str| canon::parse::<Entry>(text.as_bytes());
    let entry = |more| Entry { index: 3, text: "line".to_owned(), proof: vec![hash], more };
    for (more, text) in [
        (More::Nothing, format!("[3,\"line\",[\"{hash}\"]]")),
        (More::Stamped(vec![]), format!("[3,\"line\",[\"{hash}\"],[]]")),
        (More::Stamped(vec![hash, hash]), format!("[3,\"line\",[\"{hash}\"],[\"{hash}\",\"{hash}\"]]")),
        (
            More::Rotation { checkpoint: "note".to_owned(), proof: vec![] },
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
    OpeningFile {
        documents: Vec::new(),
        format: Format,
        head: "note".to_owned(),
        headers: Vec::new(),
        lines: Vec::new(),
        openings: Vec::new(),
        stamp: None,
    }
}

#[test]
fn a_file_has_so_many_bytes_beside_its_texts_and_no_more() {
    let opening = |text: String| Opening {
        commitment: Hash32::ZERO,
        format: Format,
        key: None,
        role: crate::record::commitment::Role::Prompt,
        seq: Some(1),
        session_id: "-".to_owned(),
        text,
    };
    // Texts don't count, however they are spelled.
    let texts = OpeningFile { openings: vec![opening("\u{1}\"é".repeat(100_000)); 2], ..small() };
    let print = texts.print().unwrap();
    assert!(print.len() > 2 * MAX_AROUND && OpeningFile::parse(print.as_bytes()).is_ok());
    let base = small().around().unwrap();
    for (openings, most) in [(0, MAX_AROUND), (2, MAX_AROUND + 2 * MAX_EACH)] {
        let mut file = OpeningFile { openings: vec![opening(String::new()); openings], ..small() };
        let room = most - file.around().unwrap() + file.head.len();
        file.head = "x".repeat(room);
        assert_eq!(file.around().unwrap(), most);
        assert_eq!(OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap(), file);
        file.head.push('x');
        let fault = OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap_err();
        assert!(matches!(fault, OpeningFault::TooMuch { actual, .. } if actual == most + 1), "{base}: {fault}");
    }
}

/// A small file that would be large in memory is not unfolded at all.
#[test]
fn much_structure_is_refused_before_it_is_read() {
    let many = format!("{{\"documents\":[{}0]}}\n", "0,".repeat(3 << 20));
    let fault = OpeningFile::parse(many.as_bytes()).unwrap_err();
    assert!(matches!(fault, OpeningFault::TooMuch { most: MAX_STRUCTURE, .. }), "{fault}");
    assert_eq!(outside_strings(b"[\"a\\\"],,\",1]"), 6);
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
