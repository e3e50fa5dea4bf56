//! Envelopes, batches and files of them.

use super::*;
use crate::record::ledger::opening::OpeningFile;

const SALT: [u8; 32] = [5; 32];

/// What is done to an envelope before it is signed.
type EnvelopeChange = &'static dyn Fn(&mut EnvelopeHead, &mut Trace);

pub(super) fn envelope(level: TraceLevel) -> Envelope {
    envelope_of(&facts(), level)
}

fn envelope_of(facts: &TraceFacts, level: TraceLevel) -> Envelope {
    let BuiltTrace { trace, absent } = built(facts, level);
    let bytes = trace.signed_bytes();
    let salt = Salt::new(SALT);
    let head = EnvelopeHead {
        absent,
        committed: (level == TraceLevel::Generic).then(|| CommittedTrace {
            key: Some(opening_key(&salt, Role::Trace)),
            value: commit(Scheme::HmacSha256, &salt, Role::Trace, &bytes),
        }),
        consent: (level == TraceLevel::FullTraces).then(|| "consent:000001".to_owned()),
        exchange: facts.exchange,
        format: Format,
        kind: EnvelopeKind::Trace,
        line: Hash32::digest(b"outcome"),
        mapping: TraceMapping::First,
        origin: facts.origin.clone(),
        prompt_line: facts.prompt_line,
        proof: None,
        seq: facts.seq,
        session_id: Hash32::digest(b"session"),
        sha256: Hash32::digest(&bytes),
    };
    bound(head, signed(trace))
}

fn bound(head: EnvelopeHead, trace: Trace) -> Envelope {
    let key = secret(7);
    let signature = sign(&key, &head.to_be_signed(&trace).unwrap());
    head.signed(trace, public(&key), signature)
}

fn read_all(file: &[u8]) -> Result<Vec<TraceDocument>, TraceFileFault> {
    texts_of(file)?.map(|text| text.read()).collect()
}

/// The names of the answers that are no.
fn noes(envelope: &Envelope) -> Vec<&'static str> {
    let answers = envelope.answers(None);
    [
        ("signature", answers.signature),
        ("key id", answers.key_id),
        ("bound", answers.bound),
        ("committed", answers.committed),
        ("fields", answers.fields),
        ("consent", answers.consent),
    ]
    .into_iter()
    .filter(|(_, answer)| answer.is_no())
    .map(|(name, _)| name)
    .collect()
}

#[test]
fn what_is_printed_is_read_and_holds() {
    for (turn, facts) in turns() {
        for level in TraceLevel::ALL {
            let made = envelope_of(&facts, level);
            let text = made.print().unwrap();
            assert_eq!(Envelope::parse(text.as_bytes()).unwrap(), made);
            assert_eq!(noes(&made), [""; 0], "{turn}: {level}");
            // The trace stands in it as it is by itself.
            let printed = made.trace.print();
            assert!(text.ends_with(&format!(",\"trace\":{printed}}}\n")));
            let bytes = text_of(made.trace.unsigned.signed_bytes());
            let components = bytes.split_once(",\"trace_level\"").unwrap().0;
            assert!(text.contains(components.strip_prefix('{').unwrap()));
        }
    }
    let answers = envelope(TraceLevel::Detailed).answers(None);
    assert!(matches!(answers.committed, TraceAnswer::NotChecked(_)));
    assert!(matches!(answers.consent, TraceAnswer::NotChecked(_)));
}

/// What the envelope's signature is over, made of its file by other code.
#[test]
fn what_binds_is_the_canonical_json_without_the_signature() {
    for (_, facts) in turns() {
        let made = envelope_of(&facts, TraceLevel::Detailed);
        let mut file: serde_json::Value = serde_json::from_str(&made.print().unwrap()).unwrap();
        file.as_object_mut().unwrap().remove("signature").unwrap();
        let canonical = serde_json_canonicalizer::to_string(&file).unwrap();
        let bytes = made.head.to_be_signed(&made.trace).unwrap();
        assert_eq!(bytes, signed_data(canonical.as_bytes()));
    }
}

/// RFC 8785 has one spelling for `1.0` and `1`; the trace in a file has two, and only one is signed.
#[test]
fn a_whole_fraction_stays_one_in_a_file() {
    let alone = TraceFacts {
        sources: Ok(SourceCount::new(1, 0).unwrap()),
        ..facts()
    };
    let text = envelope_of(&alone, TraceLevel::Generic).print().unwrap();
    assert!(text.contains("\"k_eff\":1.0,"));
    let integer = text.replace("\"k_eff\":1.0,", "\"k_eff\":1,");
    let integer = Envelope::parse(integer.as_bytes()).unwrap();
    let expected = ["signature", "bound", "committed", "fields"];
    assert_eq!(noes(&integer), expected);
}

#[test]
fn a_proof_is_an_opening_file() {
    let opening =
        include_bytes!("../../../../tests/vectors/ledgers/honest/openings/whole_turns.json");
    let Envelope { head, trace, .. } = envelope(TraceLevel::Generic);
    let head = EnvelopeHead {
        proof: Some(OpeningFile::parse(opening).unwrap()),
        ..head
    };
    let made = bound(head, trace);
    let text = made.print().unwrap();
    let line = opening.strip_suffix(b"\n").unwrap();
    assert!(text.contains(&format!(
        ",\"proof\":{},",
        std::str::from_utf8(line).unwrap()
    )));
    assert_eq!(Envelope::parse(text.as_bytes()).unwrap(), made);
    assert_eq!(noes(&made), [""; 0]);
    // A role that no opening file has.
    let changed = text.replace("\"role\":\"prompt\"", "\"role\":\"bundle\"");
    assert_ne!(changed, text);
    let refused = Envelope::parse(changed.as_bytes()).unwrap_err();
    assert!(refused.to_string().starts_with("proof: role"), "{refused}");
}

#[test]
fn it_has_exactly_the_keys_of_the_page() {
    let text = envelope(TraceLevel::Generic).print().unwrap();
    let TraceValue::Map(members) = read(text.as_bytes()).unwrap() else {
        panic!("no object");
    };
    let keys: Vec<&str> = members.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "absent",
            "committed",
            "consent",
            "exchange",
            "format",
            "kind",
            "line",
            "mapping",
            "origin",
            "prompt_line",
            "proof",
            "seq",
            "session_id",
            "sha256",
            "signature",
            "trace"
        ]
    );
}

/// One mistake for each key: what it is replaced by, and the answers that turn to no. Where
/// there are none, such bytes are no envelope.
#[test]
fn one_character_of_every_key() {
    let generic = envelope(TraceLevel::Generic).print().unwrap();
    let full = envelope(TraceLevel::FullTraces).print().unwrap();
    let key = opening_key(&Salt::new(SALT), Role::Trace).to_string();
    let value = envelope(TraceLevel::Generic).head.committed.unwrap().value;
    let swapped = |digits: &str| {
        let other = if digits.starts_with('0') { "1" } else { "0" };
        format!("{other}{}", &digits[1..])
    };
    let value = value.to_string();
    let bytes = envelope(TraceLevel::Generic).trace.unsigned.signed_bytes();
    let sha256 = Hash32::digest(&bytes).to_string();
    let texts: [(&str, &str, &str, &[&str]); 21] = [
        (
            "absent",
            "no_specialist",
            "not_measured",
            &["bound", "fields"],
        ),
        (
            "absent",
            "csdma.plausibility",
            "csdma.plausibilitz",
            &["bound", "fields"],
        ),
        (
            "consent",
            "\"consent\":null",
            "\"consent\":\"\"",
            &["bound"],
        ),
        (
            "exchange",
            "\"exchange\":\"0",
            "\"exchange\":\"1",
            &["bound"],
        ),
        ("format", "gently/1\"", "gently/2\"", &[]),
        ("kind", "\"kind\":\"trace\"", "\"kind\":\"tracf\"", &[]),
        ("line", "\"line\":\"", "\"line\":\"0", &[]),
        (
            "mapping",
            "gently.trace/1",
            "gently.trace/2",
            &["bound", "fields"],
        ),
        ("mapping", "gently.trace/1", "gently.trace/3", &[]),
        ("origin", "gently/0", "gently/1", &["bound"]),
        (
            "prompt_line",
            "\"prompt_line\":\"39",
            "\"prompt_line\":\"38",
            &["bound"],
        ),
        ("proof", "\"proof\":null", "\"proof\":{}", &[]),
        ("seq", "\"seq\":7", "\"seq\":8", &["bound"]),
        (
            "M",
            "0.3571",
            "0.3572",
            &["signature", "bound", "committed"],
        ),
        (
            "M",
            "\"k_eff\":2.2857",
            "\"k_eff\":2",
            &["signature", "bound", "committed", "fields"],
        ),
        (
            "trace_level",
            "\"trace_level\":\"generic\"",
            "\"trace_level\":\"detailed\"",
            &["signature", "bound", "committed", "fields"],
        ),
        ("trace id", "trace-th_0", "trace-th_1", &["bound"]),
        ("key id", "\"agent-", "\"agenu-", &["key id", "bound"]),
        (
            "time",
            "\"started_at\":\"2026",
            "\"started_at\":\"2027",
            &["bound"],
        ),
        ("task", "task_7", "task_8", &["bound"]),
        (
            "agent",
            "\"agent_id_hash\":\"",
            "\"agent_id_hash\":\"0",
            &["bound"],
        ),
    ];
    let hashes: [(&str, String, String, &[&str]); 5] = [
        (
            "committed",
            key.clone(),
            swapped(&key),
            &["bound", "committed"],
        ),
        (
            "committed",
            value.clone(),
            swapped(&value),
            &["bound", "committed"],
        ),
        ("sha256", sha256.clone(), swapped(&sha256), &["bound"]),
        (
            "line",
            Hash32::digest(b"outcome").to_string(),
            Hash32::digest(b"other").to_string(),
            &["bound"],
        ),
        (
            "session_id",
            Hash32::digest(b"session").to_string(),
            Hash32::digest(b"other").to_string(),
            &["bound"],
        ),
    ];
    let texts = texts
        .into_iter()
        .map(|(what, from, to, noes)| (what, from.to_owned(), to.to_owned(), noes));
    let cases = texts.chain(hashes);
    for (what, from, to, expected) in cases {
        assert!(generic.contains(&from), "{what}: {from}");
        let changed = generic.replacen(&from, &to, 1);
        match Envelope::parse(changed.as_bytes()) {
            Ok(other) => assert_eq!(noes(&other), expected, "{what}: {from} -> {to}"),
            Err(_) => assert!(expected.is_empty(), "{what}: {from} -> {to}"),
        }
    }
    let unconsented = full.replace("\"consent:000001\"", "null");
    let unconsented = Envelope::parse(unconsented.as_bytes()).unwrap();
    assert_eq!(noes(&unconsented), ["bound", "consent"]);
}

#[test]
fn every_changed_byte_is_refused_or_a_no() {
    let text = envelope(TraceLevel::Generic).print().unwrap().into_bytes();
    for at in 0..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 0x01;
        if let Ok(other) = Envelope::parse(&changed) {
            assert!(other.answers(None).bound.is_no(), "byte {at}");
        }
    }
    let cut = text.strip_suffix(b"\n").unwrap();
    for wrong in [
        cut,
        &[&text[..], b"\n"].concat(),
        &[b" ", &text[..]].concat(),
    ] {
        assert!(Envelope::parse(wrong).is_err());
    }
}

/// Whoever has the key can bind what does not fit, and is still told.
#[test]
fn what_is_signed_and_does_not_agree_is_not_bound() {
    let good = envelope(TraceLevel::Generic);
    let told = |change: EnvelopeChange| {
        let (mut head, mut trace) = (good.head.clone(), good.trace.clone());
        change(&mut head, &mut trace);
        let envelope = bound(head, trace);
        let envelope = Envelope::parse(envelope.print().unwrap().as_bytes()).unwrap();
        match envelope.answers(None).bound {
            TraceAnswer::No(reason) => reason,
            other => panic!("{other:?}"),
        }
    };
    let changes: [(EnvelopeChange, &str); 8] = [
        (&|head, _| head.exchange = Uuid::nil(), "exchange"),
        (&|head, _| head.origin = "gently/x".to_owned(), "origin"),
        (&|head, _| head.seq = 8, "seq"),
        (&|head, _| head.prompt_line = Hash32::ZERO, "prompt_line"),
        (&|head, _| head.sha256 = Hash32::ZERO, "sha256"),
        (&|_, trace| trace.unsigned.trace_id.push('0'), "trace_id"),
        (
            &|_, trace| trace.unsigned.started_at = "yesterday".to_owned(),
            "trace_id",
        ),
        (
            &|_, trace| {
                let others = &mut trace.unsigned.others;
                others.insert("mood".to_owned(), TraceValue::text("good"));
            },
            "a member that",
        ),
    ];
    for (change, expected) in changes {
        let reason = told(change);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_trace_with_a_key_of_its_own_is_checked_with_that_key() {
    let made = envelope(TraceLevel::Generic);
    let own = secret(8);
    let unsigned = made.trace.unsigned.clone();
    let signature = sign(&own, &unsigned.signed_bytes());
    let made = bound(
        made.head,
        unsigned.signed(&TraceVerifier::new(public(&own)), signature),
    );
    let answers = made.answers(None);
    assert!(matches!(answers.signature, TraceAnswer::NotChecked(_)));
    assert!(matches!(answers.key_id, TraceAnswer::NotChecked(_)));
    assert_eq!(answers.bound, TraceAnswer::Yes);
    let answers = made.answers(Some(&TraceVerifier::new(public(&own))));
    assert_eq!(answers.signature, TraceAnswer::Yes);
    assert_eq!(answers.key_id, TraceAnswer::Yes);
    let answers = made.answers(Some(&TraceVerifier::new(public(&secret(9)))));
    assert!(answers.signature.is_no() && answers.key_id.is_no());
}

#[test]
fn a_commitment_by_plain_hashes_opens_without_a_key() {
    let Envelope { head, trace, .. } = envelope(TraceLevel::Generic);
    let plain = |value| EnvelopeHead {
        committed: Some(CommittedTrace { key: None, value }),
        ..head.clone()
    };
    let good = bound(plain(head.sha256), trace.clone());
    assert_eq!(noes(&good), [""; 0]);
    assert_eq!(noes(&bound(plain(Hash32::ZERO), trace)), ["committed"]);
}

#[test]
fn files_hold_one_document_or_one_a_line() {
    let envelopes = TraceLevel::ALL.map(envelope);
    let traces: Vec<Trace> = known::traces()
        .into_iter()
        .map(|(_, trace)| trace)
        .collect();
    let time: Seconds = "2026-02-09T00:00:00Z".parse().unwrap();
    let generic = vec![traces[0].clone(), envelopes[0].trace.clone()];
    let batch = TraceBatch::new(generic, TraceLevel::Generic, time, None);
    let mut text = String::new();
    for envelope in &envelopes {
        text.push_str(&envelope.print().unwrap());
    }
    text.push_str(&format!("\n{}\n{}", traces[0].print(), batch.print()));
    let found = read_all(text.as_bytes()).unwrap();
    let expected: Vec<TraceDocument> = envelopes
        .into_iter()
        .map(|envelope| TraceDocument::Envelope(Box::new(envelope)))
        .chain([
            TraceDocument::Trace(Box::new(traces[0].clone())),
            TraceDocument::Batch(batch.clone()),
        ])
        .collect();
    assert_eq!(found, expected);
    // One document over many lines, as others print it.
    let value: serde_json::Value = serde_json::from_str(&traces[0].print()).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(read_all(pretty.as_bytes()).unwrap(), [expected[3].clone()]);
}

#[test]
fn files_without_traces_say_what_is_wrong() {
    let trace = known::traces().remove(0).1;
    let time: Seconds = "2026-02-09T00:00:00Z".parse().unwrap();
    let batch = TraceBatch::new(vec![trace.clone()], TraceLevel::Generic, time, Some(time));
    let batch = batch.print();
    for (text, fault) in [
        (String::new(), "there is no trace in it"),
        (" \n\n".to_owned(), "there is no trace in it"),
        ("7".to_owned(), "line 1: trace: expected an object"),
        (format!("{}\n{{}}\n", trace.print()), "line 2: components"),
        (
            "{\"format\":1}\n".to_owned(),
            "line 1: signature: expected a text",
        ),
        ("{\"format\":1}".to_owned(), "does not end so"),
        (batch.replace("complete_trace", "trace"), "event_type"),
        (
            batch.replace(
                "}],\"trace_level\":\"generic\"",
                "}],\"trace_level\":\"detailed\"",
            ),
            "events/0/trace_level: expected the level of the batch",
        ),
        (
            batch.replace("batch_timestamp", "batch_time"),
            "batch_timestamp",
        ),
    ] {
        let refused = read_all(text.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(fault), "{text}: {refused}");
    }
    assert!(matches!(
        read_all(&vec![b'\n'; MAX_TRACE_FILE + 1]),
        Err(TraceFileFault::TooLarge { .. })
    ));
}
