//! What screens call things that the record calls by longer ids: `fact-183` for `ledger:000183`.
//!
//! | on record | on a screen |
//! |---|---|
//! | `ledger:000183` | `fact-183` |
//! | `note:000001`, and likewise `decision:`, `intent:`, `conflict:`, `action:`, `opening:`, `project:`, `consent:`, `export:`, `correction:`, `domain:`, `specialist:`, `promotion:`, `rating:`, `handoff:`, `import:`, `imported:`, `imported_promotion:`, `audit:` | `note-1` |
//! | `driftwatch:0042` | `drift-42` |
//! | `driftwatch:` and an event's id | `drift-` and its first eight digits |
//!
//! A number is never given to another thing, so a short name means the same for ever. Both forms are
//! typed.

/// The word on screens, what stands before the colon on record, and the width of its number there.
const KINDS: [(&str, &str, usize); 22] = [
    ("fact", "ledger", 6),
    ("note", "note", 6),
    ("decision", "decision", 6),
    ("intent", "intent", 6),
    ("conflict", "conflict", 6),
    ("action", "action", 6),
    ("project", "project", 6),
    ("drift", "driftwatch", 4),
    ("opening", "opening", 6),
    ("consent", "consent", 6),
    ("export", "export", 6),
    ("correction", "correction", 6),
    ("domain", "domain", 6),
    ("specialist", "specialist", 6),
    ("promotion", "promotion", 6),
    ("rating", "rating", 6),
    ("council", "council", 6),
    ("handoff", "handoff", 6),
    ("import", "import", 6),
    ("imported", "imported", 6),
    ("imported_promotion", "imported_promotion", 6),
    ("audit", "audit", 6),
];
/// So many digits of an id are enough.
const DIGITS: usize = 8;

/// What screens call an id; one of another form as it is.
pub fn short_name(id: &str) -> String {
    let short = || {
        let (prefix, rest) = id.split_once(':')?;
        let (word, ..) = KINDS.into_iter().find(|(_, known, _)| *known == prefix)?;
        if let Some(number) = number(rest) {
            return Some(format!("{word}-{number}"));
        }
        let digits = rest.get(..DIGITS)?;
        let is_id = prefix == "driftwatch" && digits.bytes().all(|b| b.is_ascii_hexdigit());
        is_id.then(|| format!("{word}-{digits}"))
    };
    short().unwrap_or_else(|| id.to_owned())
}

/// The same of every id in a sentence.
pub fn short_names(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // "conflict:ledger:000001": what it is of stands behind.
        let id = match word.strip_prefix("conflict:") {
            Some(of) if of.contains(':') => {
                out.push_str("conflict:");
                of
            }
            _ => word,
        };
        // A colon that ends a clause is no part of an id.
        let colons = id.len() - id.trim_end_matches(':').len();
        out.push_str(&short_name(id.trim_end_matches(':')));
        out.push_str(&":".repeat(colons));
        let other = after.find(is_part).unwrap_or(after.len());
        let (between, next) = after.split_at(other);
        out.push_str(between);
        rest = next;
    }
    out
}

/// The id on record that was typed in a short form: `fact-183`, `fact:183`, `ledger:183`, and so of
/// every kind; none where it is of no such form.
pub fn record_name(typed: &str) -> Option<String> {
    let typed = typed.trim().to_ascii_lowercase();
    let (word, rest) = typed.split_once([':', '-'])?;
    let of = |(name, prefix, _): &(&str, &str, usize)| *name == word || *prefix == word;
    let (_, prefix, width) = KINDS.into_iter().find(of)?;
    let number = number(rest)?;
    Some(format!("{prefix}:{number:0width$}"))
}

/// The same where things of one kind are meant, whose number alone is enough: `fact-183`, or 183.
pub fn record_name_of(word: &str, typed: &str) -> Option<String> {
    let typed = typed.trim();
    record_name(typed).or_else(|| record_name(&format!("{word}-{typed}")))
}

/// A number from 1; one of more than seven digits is the beginning of an id.
fn number(digits: &str) -> Option<u64> {
    let is_number = digits.len() < DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|number| is_number && *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_short_name_that_is_read_again() {
        for (id, short) in [
            ("ledger:000183", "fact-183"),
            ("ledger:1000000", "fact-1000000"),
            ("note:000001", "note-1"),
            ("decision:000012", "decision-12"),
            ("intent:000003", "intent-3"),
            ("conflict:000002", "conflict-2"),
            ("action:000004", "action-4"),
            ("project:000001", "project-1"),
            ("driftwatch:0042", "drift-42"),
            ("driftwatch:12345", "drift-12345"),
            ("opening:000001", "opening-1"),
            ("consent:000001", "consent-1"),
            ("export:000012", "export-12"),
            ("correction:000001", "correction-1"),
            ("domain:000001", "domain-1"),
            ("specialist:000012", "specialist-12"),
            ("promotion:000001", "promotion-1"),
            ("rating:000001", "rating-1"),
            ("council:000001", "council-1"),
            ("handoff:000001", "handoff-1"),
        ] {
            assert_eq!(short_name(id), short);
            for typed in [short, id, &short.replace('-', ":"), &short.to_uppercase()] {
                assert_eq!(record_name(typed).as_deref(), Some(id), "{typed}");
            }
        }
        assert_eq!(
            short_name("driftwatch:1c9e4a60-0000-8000-8000-000000000000"),
            "drift-1c9e4a60"
        );
        for same in [
            "kernel:39d8668c9e1c1883",
            "tool:sys_health:1767830400",
            "ledger:",
            "ledger:0",
            "ledger:x",
            "driftwatch:x",
            "turn:1",
            "",
        ] {
            assert_eq!(short_name(same), same);
        }
        for other in [
            "",
            "fact",
            "fact-",
            "fact-0",
            "fact-x",
            "fact--1",
            "fact-+1",
            "8923fa34-0000",
            "interaction-3",
            "8923fa34/3",
            "drift-1c9e4a60",
            "last",
            "ledger:000183:1",
        ] {
            assert_eq!(record_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_number_alone_is_of_the_kind_that_is_meant() {
        for (typed, id) in [
            ("3", Some("import:000003")),
            (" 3 ", Some("import:000003")),
            ("import-3", Some("import:000003")),
            ("fact-3", Some("ledger:000003")),
            ("0", None),
            ("-3", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(record_name_of("import", typed).as_deref(), id, "{typed}");
        }
    }

    #[test]
    fn ids_in_a_sentence_are_short_and_the_rest_is_as_it_was() {
        for (text, told) in [
            (
                "ledger:000001 and ledger:000002 disagree on 'a port'; all are shown: none",
                "fact-1 and fact-2 disagree on 'a port'; all are shown: none",
            ),
            (
                "conflict:decision:000001+ledger:000002",
                "conflict:decision-1+fact-2",
            ),
            ("[note:000001], (ledger:000002): é", "[note-1], (fact-2): é"),
            ("a -- b: c::d ", "a -- b: c::d "),
            ("", ""),
        ] {
            assert_eq!(short_names(text), told);
        }
    }
}
