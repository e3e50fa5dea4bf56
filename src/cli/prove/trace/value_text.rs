//! The values of a trace for people: short ones on the line of their field, others in lines below it.

use crate::cli::screen::quiet;
use crate::record::trace::value::TraceValue;

/// So many characters stand on the line of a field.
const SHORT: usize = 42;

/// A value that is short enough for the line of its field; none for the others.
pub fn inline(value: &TraceValue) -> Option<String> {
    let text = match value {
        TraceValue::Text(text) if text.contains('\n') || structure_in(text).is_some() => {
            return None;
        }
        TraceValue::List(all) => {
            let all: Option<Vec<String>> = all.iter().map(of_list).collect();
            match all? {
                none if none.is_empty() => "none".to_owned(),
                all => all.join(", "),
            }
        }
        TraceValue::Map(all) if all.is_empty() => "none".to_owned(),
        TraceValue::Map(_) => return None,
        one => scalar(one),
    };
    (text.chars().count() <= SHORT).then_some(text)
}

/// Puts the lines of a value, in from the margin.
pub fn put(out: &mut String, value: &TraceValue, margin: usize) {
    let pad = " ".repeat(margin);
    match value {
        TraceValue::Map(all) => {
            for (name, value) in all {
                put_named(out, &format!("{pad}{}:", quiet(name)), value, margin);
            }
        }
        TraceValue::List(all) => {
            for value in all {
                put_named(out, &format!("{pad}-"), value, margin);
            }
        }
        TraceValue::Text(text) => match structure_in(text) {
            Some(value) => put(out, &value, margin),
            None => {
                for line in text.lines() {
                    out.push_str(&format!("{pad}{}\n", quiet(line)));
                }
            }
        },
        one => out.push_str(&format!("{pad}{}\n", scalar(one))),
    }
}

/// A name, and its value behind it or below it.
fn put_named(out: &mut String, name: &str, value: &TraceValue, margin: usize) {
    match inline(value) {
        Some(value) => out.push_str(&format!("{name} {value}\n")),
        None => {
            out.push_str(&format!("{name}\n"));
            put(out, value, margin + 2);
        }
    }
}

/// What a text holds that is itself JSON, as the prompt of a turn is.
fn structure_in(text: &str) -> Option<TraceValue> {
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let value: TraceValue = serde_json::from_str(text).ok()?;
    matches!(value, TraceValue::List(_) | TraceValue::Map(_)).then_some(value)
}

/// A member of a list that is short as a whole.
fn of_list(value: &TraceValue) -> Option<String> {
    match value {
        TraceValue::List(_) | TraceValue::Map(_) => None,
        one => inline(one),
    }
}

/// A value without parts; a text as it is.
fn scalar(value: &TraceValue) -> String {
    match value {
        TraceValue::Text(text) => quiet(text),
        other => {
            let mut out = Vec::new();
            other.write(&mut out);
            quiet(&String::from_utf8_lossy(&out))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_or_has_parts_stands_below_its_name() {
        let value: TraceValue = serde_json::from_str(
            r#"{"empty":[],"flag":false,"list":["a","b"],"prompt":"[{\"role\":\"user\",\"content\":\"one\\ntwo\"}]"}"#,
        )
        .unwrap();
        assert_eq!(inline(&value), None);
        let mut out = String::new();
        put(&mut out, &value, 2);
        assert_eq!(
            out,
            "  empty: none\n  flag: false\n  list: a, b\n  prompt:\n    -\n      content:\n        one\n        two\n      role: user\n"
        );
        let escape = TraceValue::Text("\u{1b}[2J".to_owned());
        assert_eq!(inline(&escape).unwrap(), "\\u001b[2J");
        assert_eq!(inline(&TraceValue::Text("x".repeat(43))), None);
    }
}
