//! Files that are part of a recorded question: what of it somebody typed, and the lines above the
//! texts behind it.
//!
//! ```text
//! --- file 1 of 2: "notes.txt" (1,234 bytes, sha256 9f86d081…) ---
//! ```

use std::ops::Range;

/// What stands behind the dashes of a line above a file's text.
const FRAME_WORD: &str = "file ";
/// A line with more dashes looks like no line of ours.
const MOST_DASHES: usize = 80;

/// A recorded question without the files behind it: what somebody typed.
pub fn without_files(text: &str) -> &str {
    files_begin(text).map_or(text, |(_, at)| text[..at].trim_end())
}

/// The names of the files behind a recorded question, as the lines above their texts have them.
pub fn file_names(text: &str) -> Vec<String> {
    let Some((dashes, at)) = files_begin(text) else {
        return Vec::new();
    };
    let dashes = "-".repeat(dashes);
    let lines = text[at..].lines();
    let names = lines.filter_map(|line| {
        let head = line.strip_prefix(&dashes)?.strip_prefix(' ')?;
        let (_, name) = head
            .strip_prefix(FRAME_WORD)?
            .strip_suffix(&dashes)?
            .split_once('"')?;
        let (name, _) = name.rsplit_once("\" (")?;
        Some(name.replace("\\\"", "\"").replace("\\\\", "\\"))
    });
    names.collect()
}

/// Where the texts of the files behind a recorded question lie in it, each without the line above it.
pub fn file_texts(text: &str) -> Vec<Range<usize>> {
    let Some((dashes, begin)) = files_begin(text) else {
        return Vec::new();
    };
    let mut texts: Vec<Range<usize>> = Vec::new();
    let mut at = begin;
    for line in text[begin..].split_inclusive('\n') {
        let is_above = dashes_like_ours(line) == Some(dashes);
        if let Some(last) = texts.last_mut().filter(|_| is_above) {
            last.end = at;
        }
        at += line.len();
        if is_above {
            texts.push(at..text.len());
        }
    }
    texts
}

/// Where the line above the first file begins, and with how many dashes; none where there is no
/// file.
fn files_begin(text: &str) -> Option<(usize, usize)> {
    let is_first = |line: &str| {
        let word = format!(" {FRAME_WORD}1 of ");
        let told = line.contains("sha256 ") || line.contains("secrets removed");
        line.trim_start_matches('-').starts_with(&word) && told && line.ends_with("---")
    };
    let mut start = 0;
    let mut longest: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let dashes = dashes_like_ours(line).filter(|_| is_first(line.trim_end()));
        // A line of the question that looks like ours has fewer.
        if let Some(dashes) = dashes
            && longest.is_none_or(|(most, _)| dashes > most)
        {
            longest = Some((dashes, start));
        }
        start += line.len();
    }
    longest
}

/// How many lines end in a text; a carriage return by itself ends one, too.
pub fn line_ends(text: &str) -> usize {
    let is_end = |(at, c): &(usize, char)| match c {
        '\n' => true,
        '\r' => !text[at + 1..].starts_with('\n'),
        _ => false,
    };
    text.char_indices().filter(is_end).count()
}

/// How many dashes a line begins with that looks like one of ours.
pub fn dashes_like_ours(line: &str) -> Option<usize> {
    let line = line.trim_start();
    let is_dash = |c: char| matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}');
    let rest = line.trim_start_matches(is_dash);
    let dashes = line.chars().take_while(|c| is_dash(*c)).count();
    let word = rest.trim_start().get(..FRAME_WORD.len())?;
    let is_ours = word.eq_ignore_ascii_case(FRAME_WORD);
    (is_ours && (1..=MOST_DASHES).contains(&dashes)).then_some(dashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        for (text, ends) in [
            ("", 0),
            ("one", 0),
            ("one\ntwo\n", 2),
            ("one\r\ntwo\r\n", 2),
            ("one\rtwo\r", 2),
            ("one\r\rtwo\n\r", 4),
        ] {
            assert_eq!(line_ends(text), ends, "{text:?}");
        }
    }

    #[test]
    fn names_of_files_are_read_from_their_lines() {
        let text = "Why?\n\n---- file 1 of 2: \"a \\\"b\\\" (c).txt\" (1 bytes, sha256 00) ----\n\
                    --- file 9 of 9: \"no\" (secrets removed) ---\n\n\
                    ---- file 2 of 2: \"pin.txt\" (secrets removed) ----\nx\n";
        assert_eq!(file_names(text), ["a \"b\" (c).txt", "pin.txt"]);
        assert_eq!(file_names("Why?"), Vec::<String>::new());
        assert_eq!(without_files(text), "Why?");
        let text = format!("{text}y");
        let texts = file_texts(&text).into_iter().map(|at| text[at].trim());
        assert_eq!(
            texts.collect::<Vec<_>>(),
            ["--- file 9 of 9: \"no\" (secrets removed) ---", "x\ny"]
        );
        assert!(file_texts("Why?").is_empty());
    }
}
