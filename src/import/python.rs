//! JSON as Python's `json.dumps(…, sort_keys=True)` prints it: what a program in Python hashed can
//! only be hashed again as it was printed.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// Prints an object.
pub(super) fn python_json(object: &Map<String, Value>) -> String {
    let mut out = String::new();
    print_object(object, &mut out);
    out
}

fn print_object(object: &Map<String, Value>, out: &mut String) {
    out.push('{');
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    for (at, (name, value)) in entries.into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        print_text(name, out);
        out.push_str(": ");
        print_value(value, out);
    }
    out.push('}');
}

/// Values are at most as deep as `json::MAX_DEPTH`.
fn print_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => print_number(number, out),
        Value::String(text) => print_text(text, out),
        Value::Array(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                print_value(value, out);
            }
            out.push(']');
        }
        Value::Object(object) => print_object(object, out),
    }
}

/// Shortest digits, with an exponent below 10^-4 and from 10^16 on.
fn print_number(number: &Number, out: &mut String) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        let _ = write!(out, "{number}");
        return;
    };
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) || float == 0.0 {
        let _ = write!(out, "{float:?}");
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
}

fn print_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_what_python_prints() {
        // From json.dumps of Python 3.11.
        let object = serde_json::from_str::<Map<String, Value>>(
            r#"{"b":[1,2.0,0.1,1e-5,1.5e-7,1e16,123456789012345680.0,1e15,0.0001,-0.0,true,null],
                "a":{"z":"","ä":"\u0001\u007f\"\\\n\t😀","y":{}}}"#,
        )
        .unwrap();
        let expected = concat!(
            r#"{"a": {"y": {}, "z": "", "\u00e4": "\u0001\u007f\"\\\n\t\ud83d\ude00"}, "#,
            r#""b": [1, 2.0, 0.1, 1e-05, 1.5e-07, 1e+16, 1.2345678901234568e+17, 1000000000000000.0, "#,
            r#"0.0001, -0.0, true, null]}"#
        );
        assert_eq!(python_json(&object), expected);
    }
}
