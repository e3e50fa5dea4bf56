//! Python as the oracle: M is what its `json.dumps` prints.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{requests, turns};
use crate::record::signature::{PublicKey, Signature};
use crate::record::trace::mapping::TraceMapping;
use crate::record::trace::read::read;
use crate::record::trace::signed::{Trace, TraceVerifier, UnsignedTrace};
use crate::record::trace::value::{TraceNumber, TraceValue};

/// Prints each line again, as the other project makes the bytes that it signs.
const AGAIN: &str = r#"
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")))
"#;

/// Prints M of each trace, after what is empty is stripped as signer and verifier there may do.
const SIGNED: &str = r#"
import json, sys
def stripped(value):
    if isinstance(value, dict):
        return {k: stripped(v) for k, v in value.items() if v is not None and v != "" and v != [] and v != {}}
    if isinstance(value, list):
        return [stripped(v) for v in value]
    return value
for line in sys.stdin:
    trace = json.loads(line)
    parts = [{k: c[k] for k in ("component_type", "data", "event_type", "timestamp")} for c in trace["components"]]
    m = [json.dumps({"components": parts, "trace_level": trace["trace_level"]}, sort_keys=True, separators=(",", ":"))
         for parts in (parts, stripped(parts))]
    print(m[0] if m[0] == m[1] else "stripping changes it")
"#;

fn python(script: &str, lines: &[String]) -> Vec<String> {
    let mut child = Command::new("python3")
        .args(["-c", script])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(done.status.success());
    let out = String::from_utf8(done.stdout).unwrap();
    out.lines().map(str::to_owned).collect()
}

fn printed(value: &TraceValue) -> String {
    let mut out = Vec::new();
    value.write(&mut out);
    String::from_utf8(out).unwrap()
}

/// Values as other projects may have them, deep and odd.
fn values() -> impl Strategy<Value = TraceValue> {
    let number = |number: TraceNumber| TraceValue::Number(number);
    let leaf = prop_oneof![
        Just(TraceValue::Null),
        any::<bool>().prop_map(TraceValue::Flag),
        any::<u64>().prop_map(TraceValue::count),
        any::<String>().prop_map(TraceValue::Text),
        "[a-z\"/\\\\\u{7f}é\u{2028}😀]{0,8}".prop_map(TraceValue::Text),
        any::<f64>()
            .prop_filter_map("finite", TraceNumber::double)
            .prop_map(number),
        (-400.0..400.0f64)
            .prop_map(|power| 10f64.powf(power / 10.0))
            .prop_filter_map("finite", TraceNumber::double)
            .prop_map(number),
        (any::<u64>(), 1..=u64::MAX)
            .prop_filter_map("below 10^12", |(a, b)| {
                TraceNumber::ratio(u128::from(a), u128::from(b))
            })
            .prop_map(number),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(TraceValue::List),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(TraceValue::Map),
        ]
    })
}

fn drawn<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    let draw = |_| strategy.new_tree(&mut runner).unwrap().current();
    (0..count).map(draw).collect()
}

#[test]
fn values_are_printed_as_python_does_and_read_back() {
    let drawn = drawn(&values(), 1500);
    let lines: Vec<String> = drawn.iter().map(printed).collect();
    for (value, line) in drawn.iter().zip(&lines) {
        assert!(line.bytes().all(|b| (b' '..=b'~').contains(&b)), "{line}");
        assert_eq!(read(line.as_bytes()).as_ref(), Ok(value), "{line}");
    }
    assert_eq!(python(AGAIN, &lines), lines);
}

#[test]
fn numbers_of_others_are_printed_again_as_python_does() {
    let spelled = (any::<f64>(), any::<i64>(), 0..7u8).prop_map(|(double, whole, form)| {
        let double = if double.is_finite() { double } else { 0.5 };
        match form {
            0 => format!("{double:e}"),
            1 => format!("{double:E}").replace("E-", "E-0"),
            2 => format!("{double:.3e}"),
            3 => whole.to_string(),
            4 => format!("{whole}{}", whole.unsigned_abs()),
            5 => format!("{whole}e-{}", whole.unsigned_abs() % 40),
            _ => format!("{}.{}", whole % 1000, whole.unsigned_abs()),
        }
    });
    let mut lines: Vec<String> = drawn(&spelled, 3000);
    // Borders of the two forms, and what rounds at the end of a double.
    lines.extend(
        [
            "0.0001",
            "0.00001",
            "0.00009999999999999999",
            "9999999999999999.0",
            "1e16",
            "1e15",
            "9999999999999998",
            "9007199254740993.0",
            "2e23",
            "5e-324",
            "2.5e-324",
            "1.7976931348623157e308",
            "2.2250738585072011e-308",
            "-0",
            "-0.0",
            "0e5",
            "-1E+02",
            "100000000000000000000.0",
            "123456789012345678",
            "5684341886080801.5",
        ]
        .map(str::to_owned),
    );
    let ours: Vec<String> = lines
        .iter()
        .map(|line| printed(&read(line.as_bytes()).unwrap()))
        .collect();
    let theirs = python(AGAIN, &lines);
    for ((line, ours), theirs) in lines.iter().zip(&ours).zip(&theirs) {
        assert_eq!(ours, theirs, "{line}");
    }
    assert_eq!(ours.len(), theirs.len());
}

/// What is signed is what Python makes of the trace that a file holds, whether it strips what is
/// empty or not.
#[test]
fn the_signed_bytes_are_those_that_python_makes_of_the_trace() {
    let every: Vec<UnsignedTrace> = turns()
        .iter()
        .flat_map(|(_, facts)| {
            requests()
                .into_iter()
                .map(|request| TraceMapping::First.build(facts, request).unwrap().trace)
        })
        .collect();
    let bytes: Vec<String> = every
        .iter()
        .map(|trace| String::from_utf8(trace.to_be_signed().unwrap()).unwrap())
        .collect();
    let key = TraceVerifier::new(PublicKey::from_bytes([1; 32]));
    let lines: Vec<String> = every
        .into_iter()
        .map(|trace| trace.signed(&key, Signature::from_bytes([0; 64])).print())
        .collect();
    assert_eq!(python(AGAIN, &lines), lines);
    assert_eq!(python(SIGNED, &lines), bytes);
    for line in &lines {
        assert_eq!(&Trace::parse(line.as_bytes()).unwrap().print(), line);
    }
}
