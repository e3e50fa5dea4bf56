//! Comparing phrases with prose: lower case, any white space between words, at word borders.

/// A text as its words: lower case, typographic apostrophes made plain, everything that is not a
/// letter, a digit, an apostrophe, `%` or `-` taken as a border.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = text.replace(['\u{2019}', '\u{02bc}'], "'").to_lowercase();
    pieces(&text).map(str::to_owned).collect()
}

/// What stands between the borders.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '%' | '-')))
        .map(|word| word.trim_matches(['\'', '-']))
        .filter(|word| !word.is_empty())
}

/// Position, in words, of the first place where the phrase stands.
pub(super) fn find(words: &[String], phrase: &str) -> Option<usize> {
    // Most phrases of a list are not there: that is seen at their first word, without taking them
    // apart.
    if phrase.is_ascii() {
        let first = pieces(phrase).next()?;
        if !words.iter().any(|word| word.eq_ignore_ascii_case(first)) {
            return None;
        }
    }
    let wanted = self::words(phrase);
    if wanted.is_empty() {
        return None;
    }
    words
        .windows(wanted.len())
        .position(|window| window == wanted.as_slice())
}

/// Whether any phrase of a list stands in the words.
pub(super) fn any(words: &[String], phrases: &[String]) -> bool {
    phrases.iter().any(|phrase| find(words, phrase).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_in_any_case_and_spacing() {
        let text = words("I don\u{2019}t  have\naccess to YOUR machine; 71% used.");
        assert_eq!(find(&text, "don't have access"), Some(1));
        assert_eq!(find(&text, "your machine"), Some(5));
        assert_eq!(find(&text, "71%"), Some(7));
        for absent in [
            "on't have",
            "have access to you",
            "",
            "machine used",
            "acces",
        ] {
            assert_eq!(find(&text, absent), None, "{absent}");
        }
        assert!(any(&text, &["nothing".into(), "used".into()]));
    }
}
