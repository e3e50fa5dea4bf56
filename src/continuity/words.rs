//! Which words of a text are looked for in the record.

use std::collections::HashSet;

/// So many words from the beginning of a text are looked for, and so many from its end: a question
/// stands at either.
const FIRST: usize = 16;
const LAST: usize = 8;

/// Words that say how a sentence is built and not what it is about; those of two letters and fewer
/// are left out anyway unless they hold a digit.
const STOP: &[&str] = &[
    "about", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before",
    "being", "but", "can", "could", "did", "does", "doing", "don", "for", "from", "get", "give",
    "had", "has", "have", "her", "here", "him", "his", "how", "into", "its", "just", "let", "like",
    "many", "may", "more", "most", "much", "must", "not", "now", "off", "once", "one", "only",
    "our", "out", "over", "please", "said", "say", "shall", "she", "should", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "too", "under", "until", "use", "very", "was", "were", "what", "when", "where",
    "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// The words of a text that tell what it is about: letters and digits, lower case, each once, at
/// most 24.
///
/// ```text
/// How full is the disk of web-1?   →   full, disk, web
/// ```
/// Whatever the text holds, a word of the result is letters and digits of some script and nothing
/// else.
pub fn words(text: &str) -> Vec<String> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_lowercase();
        // Lower case of a letter may hold a mark that is none.
        if tells(&word) && word.chars().all(char::is_alphanumeric) && known.insert(word.clone()) {
            all.push(word);
        }
        if all.len() > MOST_READ {
            break;
        }
    }
    let end = all.split_off(all.len().min(FIRST));
    let from = end.len().saturating_sub(LAST);
    all.extend(end.into_iter().skip(from));
    all
}

/// Of a long text no more different words are read than this.
const MOST_READ: usize = 2000;

fn tells(word: &str) -> bool {
    let short = word.is_ascii()
        && word.len() < 3
        && !word.bytes().any(|b| b.is_ascii_digit() && word.len() > 1);
    !short && !STOP.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_is_about() {
        for (text, expected) in [
            (
                "How full is the disk of web-1?",
                vec!["full", "disk", "web"],
            ),
            ("Disk, DISK and disk", vec!["disk"]),
            ("which is it", vec![]),
            ("", vec![]),
            ("md5 v2 x", vec!["md5", "v2"]),
            (
                "Wie heißt der Rechner?",
                vec!["wie", "heißt", "der", "rechner"],
            ),
            ("机器 状态", vec!["机器", "状态"]),
            (
                "NEAR(\"a\" OR *) AND col:x -- ' ; DROP TABLE artifact",
                vec!["near", "col", "drop", "table", "artifact"],
            ),
            ("\u{0}nul\u{0} \u{202e}turned", vec!["nul", "turned"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_text_gives_its_beginning_and_its_end() {
        let text: String = (0..100).map(|n| format!("word{n} ")).collect();
        let found = words(&text);
        assert_eq!(
            (found.len(), found[0].as_str(), found[15].as_str()),
            (24, "word0", "word15")
        );
        assert_eq!(
            (found[16].as_str(), found[23].as_str()),
            ("word92", "word99")
        );
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_typed_words_are_letters_and_digits(text in "\\PC{0,200}") {
            for word in words(&text) {
                proptest::prop_assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric), "{word:?}");
            }
        }
    }
}
