//! The known answers, and mistakes of one character in them.
//!
//! `tests/vectors/ciris/known_answer.json` is for the form of CIRIS's *Covenant Trace Format*, its own
//! example first; other code than ours made it.

use super::*;

fn member<'a>(value: &'a TraceValue, key: &str) -> &'a TraceValue {
    match value {
        TraceValue::Map(entries) => &entries[key],
        other => panic!("{other:?} has no {key}"),
    }
}

fn text(value: &TraceValue, key: &str) -> String {
    match member(value, key) {
        TraceValue::Text(text) => text.clone(),
        other => panic!("{key}: {other:?}"),
    }
}

fn vectors() -> TraceValue {
    read(include_bytes!(
        "../../../../tests/vectors/ciris/known_answer.json"
    ))
    .unwrap()
}

/// The trace of a case: labels are not signed, so that it has any.
pub(super) fn traces() -> Vec<(TraceValue, Trace)> {
    let vectors = vectors();
    let TraceValue::List(cases) = member(&vectors, "cases").clone() else {
        panic!("no cases");
    };
    let labels = [
        "agent_id_hash",
        "completed_at",
        "started_at",
        "thought_id",
        "trace_id",
    ];
    let made = |case: TraceValue| {
        let mut members: BTreeMap<String, TraceValue> = labels
            .map(|label| (label.to_owned(), TraceValue::text("x")))
            .into();
        for key in ["components", "signature", "trace_level"] {
            members.insert(key.to_owned(), member(&case, key).clone());
        }
        let id = member(&vectors, "signature_key_id").clone();
        members.insert("signature_key_id".to_owned(), id);
        let trace = Trace::of(TraceValue::Map(members)).unwrap();
        (case, trace)
    };
    cases.into_iter().map(made).collect()
}

pub(super) fn key() -> PublicKey {
    parse_public_key(&text(&vectors(), "public_key_base64")).unwrap()
}

#[test]
fn answers() {
    let vectors = vectors();
    let seed = hex::decode(text(&vectors, "secret_key_hex")).unwrap();
    let secret = SigningKey::from_bytes(&seed.try_into().unwrap());
    let key = public(&secret);
    assert_eq!(key, self::key());
    assert_eq!(public_key_base64(&key), text(&vectors, "public_key_base64"));
    assert_eq!(key_id(&key), text(&vectors, "signature_key_id"));
    let registration = KeyRegistration::new(&key, "of gently".to_owned());
    assert_eq!(
        serde_json::to_string(&registration).unwrap(),
        r#"{"algorithm":"ed25519","description":"of gently","key_id":"agent-56475aa75463","public_key_base64":"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="}"#
    );
    let traces = traces();
    let names: Vec<String> = traces.iter().map(|(case, _)| text(case, "name")).collect();
    assert_eq!(names, ["document_example", "strip_and_escape", "numbers"]);
    for (case, trace) in traces {
        let bytes = trace.unsigned.signed_bytes();
        assert_eq!(
            Hash32::digest(&bytes).to_string(),
            text(&case, "payload_sha256")
        );
        let signature = sign(&secret, &bytes);
        assert_eq!(print_signature(&signature), text(&case, "signature"));
        assert_eq!(text_of(bytes), text(&case, "payload"));
        let answers = TraceVerifier::new(key).answers(&trace);
        assert_eq!(answers.signature, TraceAnswer::Yes);
        assert_eq!(answers.key_id, TraceAnswer::Yes);
        assert_eq!(Trace::parse(trace.print().as_bytes()), Ok(trace));
    }
}

/// One of another project may hold what ours may not: it is read, and never signed.
#[test]
fn what_is_empty_or_of_another_form_is_not_signed() {
    let faults: Vec<Result<(), TraceFault>> = traces()
        .iter()
        .map(|(_, trace)| trace.unsigned.check_form())
        .collect();
    assert_eq!(faults[0], Ok(()));
    assert!(matches!(&faults[1], Err(TraceFault::Empty { path }) if path == "THOUGHT_START/i/0"));
    assert!(
        matches!(&faults[2], Err(TraceFault::Number { path }) if path.starts_with("DMA_RESULTS/"))
    );
}

#[test]
fn every_changed_byte_is_refused_or_another_trace_or_a_no() {
    let key = TraceVerifier::new(key());
    for (_, trace) in traces() {
        let text = trace.print().into_bytes();
        for at in 0..text.len() {
            for flip in [0x01, 0x20] {
                let mut changed = text.clone();
                changed[at] ^= flip;
                let Ok(other) = Trace::parse(&changed) else {
                    continue;
                };
                let answers = key.answers(&other);
                let is_same_signed = (&other.unsigned.components, other.unsigned.trace_level)
                    == (&trace.unsigned.components, trace.unsigned.trace_level)
                    && other.signature == trace.signature;
                assert_eq!(!answers.signature.is_no(), is_same_signed, "byte {at}");
                let is_same_id = other.signature_key_id == trace.signature_key_id;
                assert_eq!(!answers.key_id.is_no(), is_same_id, "byte {at}");
            }
        }
    }
}

#[test]
fn one_mistake_turns_one_answer() {
    let (_, good) = traces().remove(0);
    let key = TraceVerifier::new(key());
    let printed = good.print();
    let text = |from: &str, to: &str| {
        assert!(printed.contains(from), "{from}");
        printed.replacen(from, to, 1)
    };
    for (from, to, signature, key_id) in [
        ("0.85", "0.86", false, true),
        ("\"thought_depth\":0", "\"thought_depth\":1", false, true),
        ("\"k_eff\":1.0", "\"k_eff\":1", false, true),
        ("\"round_number\":1", "\"round_number\":1.0", false, true),
        ("56.123Z\"}", "56.124Z\"}", false, true),
        ("observation", "observatiom", false, true),
        ("\"generic\"", "\"detailed\"", false, true),
        ("FnLr2", "FnLr3", false, true),
        ("agent-5", "agent-6", true, false),
        ("\"trace_id\":\"x\"", "\"trace_id\":\"y\"", true, true),
        ("\"started_at\":\"x\"", "\"started_at\":\"y\"", true, true),
    ] {
        let changed = Trace::parse(text(from, to).as_bytes()).unwrap();
        let answers = key.answers(&changed);
        let found = (!answers.signature.is_no(), !answers.key_id.is_no());
        assert_eq!(found, (signature, key_id), "{from} -> {to}");
    }
    let other = TraceVerifier::new(public(&secret(9)));
    let answers = other.answers(&good);
    assert!(answers.signature.is_no() && answers.key_id.is_no());
    let weak = TraceVerifier::new(PublicKey::from_bytes([0; 32]));
    assert!(weak.answers(&good).signature.is_no());
    for (from, to, fault) in [
        ("KnjJxBw", "KnjJxB", "85 characters"),
        ("KnjJxBw", "KnjJxBw==", "88 characters"),
        ("KnjJxBw", "KnjJxBx", "no base64url of 64 bytes"),
        ("\"generic\"", "\"full\"", "trace_level 'full'"),
        (
            "\"signature_key_id\"",
            "\"signature_key\"",
            "signature_key_id: expected a text",
        ),
        (
            "{\"component_type\"",
            "{\"a\":1,\"component_type\"",
            "components/0/a: expected",
        ),
        (
            "\"round_number\":1",
            "\"round_number\":1,\"round_number\":1",
            "twice",
        ),
        ("\"round_number\":1", "\"round_number\":NaN", "NaN"),
        (
            "\"components\":[",
            "\"components\":[7,",
            "components/0: expected an object",
        ),
    ] {
        let refused = Trace::parse(text(from, to).as_bytes()).unwrap_err();
        assert!(refused.to_string().contains(fault), "{refused}");
    }
}

/// A signer there leaves out what is empty; who has the trace before that is told where.
#[test]
fn a_trace_with_something_empty_says_so_where_its_signature_does_not_hold() {
    let (_, mut trace) = traces().remove(0);
    let data = &mut trace.unsigned.components[0].data;
    data.insert("empty".to_owned(), TraceValue::Null);
    let TraceAnswer::No(reason) = TraceVerifier::new(key()).answers(&trace).signature else {
        panic!("the signature is over other bytes");
    };
    assert!(reason.contains("THOUGHT_START/empty is empty"), "{reason}");
}
