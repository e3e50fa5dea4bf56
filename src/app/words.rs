//! Words that lists and messages share.

use crate::record::unseen::spelled_on_a_line;

/// The first `most` characters of a text on one line, with `…` behind them when there are more.
///
/// What moves a cursor or turns the direction of writing is spelled out.
pub fn beginning(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(most).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    format!("{}{more}", spelled_on_a_line(&cut))
}

/// Whether a character is one of those that are written without blanks between words: the signs of
/// Chinese and Japanese with their punctuation. Korean has blanks.
pub const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// A text with each UUID in it as its first eight digits, which commands take.
pub fn short_uuids(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(from) = rest.find(is_part) {
        let (before, id) = rest.split_at(from);
        let end = id.find(|c| !is_part(c)).unwrap_or(id.len());
        let (id, after) = id.split_at(end);
        let is_uuid = id.len() == 36 && id.matches('-').count() == 4;
        out.push_str(before);
        out.push_str(if is_uuid {
            id.get(..8).unwrap_or(id)
        } else {
            id
        });
        rest = after;
    }
    out + rest
}

/// `1 line`, `2 lines`.
pub fn counted(n: impl TryInto<u64>, one: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

/// An age in the unit of which there are at least two: `90 s`, `3 minutes`, `3 years`.
pub fn age_words(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (31_557_600, "year"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let unit = UNITS.into_iter().find(|(unit, _)| seconds / unit >= 2);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(unit, word)| counted(seconds / unit, word),
    )
}

/// `and 3 more`, behind the first of a list; none where all of it was named.
pub fn and_more(more: impl TryInto<u64>) -> Option<String> {
    let more = more.try_into().unwrap_or(u64::MAX);
    (more > 0).then(|| format!("and {more} more"))
}

/// The same behind a blank, and nothing where all of it was named.
pub fn with_more(more: usize) -> String {
    and_more(more).map_or_else(String::new, |more| format!(" {more}"))
}

/// `'a'`, `'a', 'b' or 'c'`.
pub fn either(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((one, [])) => format!("'{one}'"),
        Some((last, others)) => format!("'{}' or '{last}'", others.join("', '")),
    }
}

/// `1 entry of the search index`, `2 entries of the search index`.
pub fn counted_entries(n: u64) -> String {
    let entries = match n {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    format!("{entries} of the search index")
}

/// A longer word is no misspelt name.
const LONGEST_NAME: usize = 40;

/// The names that a word was most likely meant for, each with what it is a name of, the nearest
/// first: spelled almost so, or beginning so.
pub fn near<'a, T>(word: &str, names: impl Iterator<Item = (&'a str, T)>) -> Vec<(&'a str, T)> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let most = match length {
        0 | 1 => 0,
        2..=5 => 1,
        6..=8 => 2,
        9..=LONGEST_NAME => 3,
        _ => return Vec::new(),
    };
    let distance = |(name, of): (&'a str, T)| {
        let spelled = name.to_lowercase();
        let distance = strsim::damerau_levenshtein(&word, &spelled);
        // A beginning is nearer than most misspellings; of two, what is left out least.
        let begins = length >= 3 && spelled.starts_with(&word);
        let rank = if begins { distance.min(1) } else { distance };
        (begins || distance <= most).then_some(((rank, distance), (name, of)))
    };
    let mut found: Vec<_> = names.filter_map(distance).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, name)| name).collect()
}

/// The name that a word was most likely meant for.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let found = near(word, names.map(|name| (name, ())));
    found.first().map(|(name, ())| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_one_line_and_says_when_there_is_more() {
        assert_eq!(beginning(" a \n b\tc", 3), "a b…");
        assert_eq!(beginning("abc", 3), "abc");
        assert_eq!(beginning("\u{202e}abc", 2), "\\u202ea…");
    }

    #[test]
    fn a_uuid_is_short_and_nothing_else_is() {
        for (text, short) in [
            (
                "turn 6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77, as é",
                "turn 6d1c0c30, as é",
            ),
            ("6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77", "6d1c0c30"),
            ("a-b de-facto 2026-01-08 abc", "a-b de-facto 2026-01-08 abc"),
            ("", ""),
        ] {
            assert_eq!(short_uuids(text), short);
        }
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [
                counted(0_u64, "turn"),
                counted(1_usize, "turn"),
                counted(2_u64, "turn")
            ],
            ["0 turns", "1 turn", "2 turns"]
        );
    }
}
