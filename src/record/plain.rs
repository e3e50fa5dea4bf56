//! Whether JSON as `serde_json` prints it is canonical already (RFC 8785), seen in one pass.
//!
//! Both prints have no white space and escape strings alike. They differ in the order of keys,
//! which RFC 8785 sorts; in integers beyond 2^53; and in numbers that have a fraction of zero or an
//! exponent (`1.0` for `1`, `1e-6` for `0.000001`). What is not surely the same is said not to be.

/// Digits of a number that is surely below 2^53.
const SMALL: usize = 15;

/// Whether a text that `serde_json` has printed is what RFC 8785 prints; false also where that is
/// not certain.
pub(super) fn plain_is_canonical(text: &[u8]) -> bool {
    let mut left = text;
    // For each object that is open its last key; none for a list.
    let mut open: Vec<Option<&[u8]>> = Vec::new();
    let mut is_key = false;
    while let Some((&first, rest)) = left.split_first() {
        match first {
            b'"' => {
                let Some((inside, after)) = string(rest) else {
                    return false;
                };
                if is_key {
                    let Some(Some(last)) = open.last_mut() else {
                        return false;
                    };
                    if !follows(inside, last) {
                        return false;
                    }
                    (*last, is_key) = (inside, false);
                }
                left = after;
                continue;
            }
            b'{' => {
                open.push(Some(&[]));
                is_key = true;
            }
            b'[' => open.push(None),
            b'}' | b']' => {
                open.pop();
                is_key = false;
            }
            b',' => is_key = matches!(open.last(), Some(Some(_))),
            b'-' | b'0'..=b'9' => {
                let end = left
                    .iter()
                    .position(|b| matches!(b, b',' | b']' | b'}'))
                    .unwrap_or(left.len());
                let (number, after) = left.split_at(end);
                if !number_is_canonical(number) {
                    return false;
                }
                left = after;
                continue;
            }
            _ => {}
        }
        left = rest;
    }
    true
}

/// What stands in a string, still escaped, and what comes behind it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some((text.get(..at)?, text.get(at + 1..)?)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Whether a key stands behind the one before it; keys that are not plain ASCII sort in ways of
/// their own. An empty key is first, and the same key twice is in no document.
fn follows(key: &[u8], last: &[u8]) -> bool {
    let is_plain = key.iter().all(|b| b.is_ascii() && *b != b'\\');
    is_plain && !key.is_empty() && last < key
}

fn number_is_canonical(number: &[u8]) -> bool {
    let mut parts = number
        .strip_prefix(b"-")
        .unwrap_or(number)
        .splitn(2, |b| *b == b'.');
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    match (parts.next(), parts.next()) {
        (Some(whole), None) => digits(whole) && whole.len() <= SMALL,
        // Without an exponent both print the same shortest digits.
        (Some(whole), Some(part)) => {
            digits(whole) && whole.len() <= SMALL && digits(part) && part != b"0"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;

    use super::*;

    /// What is taken as it is, is what the library sorts it into.
    fn holds<T: Serialize>(value: &T) -> bool {
        let plain = serde_json::to_string(value).unwrap();
        let canonical = serde_json_canonicalizer::to_string(value).unwrap();
        !plain_is_canonical(plain.as_bytes()) || plain == canonical
    }

    #[test]
    fn what_is_in_order_is_seen_and_what_is_not_is_sorted() {
        for canonical in [
            "{}",
            "[]",
            "null",
            "true",
            "7",
            "-7",
            "0.42",
            "-0.5",
            "\"\"",
            "\"a\\\"b\\\\\"",
            "[1,\"b\",{\"a\":[]}]",
            "{\"a\":1,\"b\":{\"c\":[{\"d\":1},{\"a\":2}]},\"c\":\",{\\\"a\"}",
            "{\"A\":1,\"_\":2,\"a\":3,\"aa\":4}",
            "123456789012345",
            "{\"a\":{},\"b\":[{}],\"c\":null}",
        ] {
            assert!(plain_is_canonical(canonical.as_bytes()), "{canonical}");
            let value: Value = serde_json::from_str(canonical).unwrap();
            assert_eq!(
                serde_json_canonicalizer::to_string(&value).unwrap(),
                canonical
            );
        }
        for other in [
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"a\":2}",
            "[{\"a\":{\"c\":1,\"b\":1}}]",
            "1.0",
            "-0.0",
            "1e-7",
            "1e21",
            "[1.5e300]",
            "1234567890123456",
            "{\"\u{e4}\":1}",
            "{\"a\\n\":1}",
            "{\"\":1}",
            "{\"a\":1,\"\":1}",
            "\"open",
            "{\"a\":{\"b\":1},\"A\":1}",
        ] {
            assert!(!plain_is_canonical(other.as_bytes()), "{other}");
        }
    }

    #[derive(Serialize)]
    struct PlainPrinter {
        b: f64,
        a: Vec<i64>,
        c: String,
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1000_i64..1000).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1e6_f64..1e6).prop_map(Value::from),
            (0_u32..1_000_000, 1_u32..10_000)
                .prop_map(|(a, b)| Value::from(f64::from(a) / f64::from(b))),
            "\\PC{0,8}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(
                    "[a-cA-C_\u{e4}\u{10ffff}\u{ffff}]{0,3}",
                    inner,
                    0..6
                )
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_is_taken_that_is_not_canonical(value in value()) {
            prop_assert!(holds(&value), "{value}");
        }

        #[test]
        fn keys_out_of_order_are_never_taken(b in any::<f64>(), a in proptest::collection::vec(any::<i64>(), 0..3), c in any::<String>()) {
            let value = PlainPrinter { b: if b.is_finite() { b } else { 0.5 }, a, c };
            prop_assert!(!plain_is_canonical(serde_json::to_string(&value).unwrap().as_bytes()));
        }
    }
}
