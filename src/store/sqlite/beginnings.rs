//! Words that begin as somebody typed: what the index is asked for them, and whether a text has one.
//!
//! The index holds stems, and takes what it is asked for to its stem as well: `hous*` would ask for
//! all that begins with *hou*, and find *hour*; `generaliz*` would find no *generalization*, whose
//! stem is *gener*. So it is asked for more than what is wanted, and each text that it gives is held
//! against what was typed, word by word:
//!
//! ```text
//! typed     asked                           because
//! hous*     "housness"* OR "hous"           the stem of housness is hous, that of hous is hou
//! hopin*    "hopinness"* OR "hoping"        the stem of hoping is hope
//! ```

use std::collections::HashSet;

use rusqlite::Connection;

use super::failed;
use crate::store::StoreError;
use crate::store::driver::{SearchTerm, TextCheck, TextQuery};

/// What Porter's rules take from the end of a word, as it is written: what follows a beginning is
/// one of these, or the rest of one.
const ENDINGS: [&str; 79] = [
    "s", "es", "ies", "sses", "ed", "eed", "ing", "y", "i", "e", "al", "ance", "ence", "er", "ic",
    "able", "ible", "ant", "ement", "ment", "ent", "ion", "sion", "tion", "ou", "ous", "ously",
    "ism", "ate", "ated", "ating", "iti", "ity", "ive", "ize", "ized", "izing", "ational",
    "tional", "enci", "ency", "anci", "ancy", "izer", "logi", "logy", "bli", "bly", "bled",
    "bling", "alli", "ally", "entli", "ently", "eli", "ely", "ousli", "ization", "ation", "ator",
    "alism", "iveness", "fulness", "ousness", "aliti", "ality", "iviti", "ivity", "biliti",
    "bility", "ical", "ness", "ful", "icate", "iciti", "icity", "ative", "alize", "alized",
];

const WORDS: &str = "
    CREATE VIRTUAL TABLE stem USING fts5(t, tokenize = 'porter unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE stem_at USING fts5vocab(stem, 'instance');
    CREATE VIRTUAL TABLE word USING fts5(t, tokenize = 'unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE word_at USING fts5vocab(word, 'instance')";

/// SQLite's tokenizers, which are asked which words a text has.
struct Tokenizer(Connection);

impl Tokenizer {
    fn open() -> Result<Tokenizer, StoreError> {
        let failed = failed("read words");
        let connection = Connection::open_in_memory().map_err(&failed)?;
        connection.execute_batch(WORDS).map_err(&failed)?;
        Ok(Tokenizer(connection))
    }

    /// The words of a text in their order, in small letters without accents.
    fn words(&self, text: &str) -> Result<Vec<String>, StoreError> {
        self.tokens(
            text,
            "INSERT OR REPLACE INTO word (rowid, t) VALUES (1, ?1)",
            "SELECT term FROM word_at ORDER BY offset",
        )
    }

    /// Their stems.
    fn stems(&self, text: &str) -> Result<Vec<String>, StoreError> {
        self.tokens(
            text,
            "INSERT OR REPLACE INTO stem (rowid, t) VALUES (1, ?1)",
            "SELECT term FROM stem_at ORDER BY offset",
        )
    }

    fn tokens(&self, text: &str, put: &str, look: &str) -> Result<Vec<String>, StoreError> {
        let failed = failed("read words");
        // A NUL parts words as a blank does.
        let plain = text.replace('\0', " ");
        let mut put = self.0.prepare_cached(put).map_err(&failed)?;
        put.execute([plain]).map_err(&failed)?;
        let mut look = self.0.prepare_cached(look).map_err(&failed)?;
        let terms = look.query_map([], |row| row.get(0)).map_err(&failed)?;
        terms.collect::<Result<_, _>>().map_err(&failed)
    }
}

/// Whether a search has beginnings in it, which an index can't answer for alone.
fn has_beginnings(wanted: &TextQuery) -> bool {
    let mut all = wanted.all.iter().flatten().chain(&wanted.without);
    all.any(|term| term.is_beginning)
}

/// A search that finds all that is wanted, and maybe more: beginnings as the index can find them,
/// and none among what is to be left out.
pub(super) fn widened(wanted: &TextQuery) -> Result<TextQuery, StoreError> {
    if !has_beginnings(wanted) {
        return Ok(wanted.clone());
    }
    let tokenizer = Tokenizer::open()?;
    let wide = |list: &Vec<SearchTerm>| {
        let terms = list.iter().map(|term| match term.is_beginning {
            true => wide_terms(&tokenizer, term),
            false => Ok(vec![term.clone()]),
        });
        let terms: Vec<Vec<SearchTerm>> = terms.collect::<Result<_, StoreError>>()?;
        Ok(terms.concat())
    };
    let plain = wanted.without.iter().filter(|term| !term.is_beginning);
    Ok(TextQuery {
        all: wanted
            .all
            .iter()
            .map(wide)
            .collect::<Result<_, StoreError>>()?,
        without: plain.cloned().collect(),
    })
}

/// What the index is asked for one beginning: a word that it takes to what was typed, which may go
/// on, and words that begin so and whose stems do not.
fn wide_terms(tokenizer: &Tokenizer, term: &SearchTerm) -> Result<Vec<SearchTerm>, StoreError> {
    let words = tokenizer.words(&term.text)?;
    let Some((typed, before)) = words.split_last() else {
        return Ok(vec![term.clone()]);
    };
    let longer = longer_words(typed);
    let stems = tokenizer.stems(&longer.join(" "))?;
    let phrase = |word: &str, is_beginning| {
        let words: Vec<&str> = before.iter().map(String::as_str).chain([word]).collect();
        SearchTerm {
            text: words.join(" "),
            is_beginning,
        }
    };
    let with_stems = || longer.iter().zip(&stems);
    // The longest stem that what was typed begins with is the narrowest that has all others.
    let widest = with_stems()
        .filter(|(_, stem)| typed.starts_with(stem.as_str()))
        .max_by_key(|(_, stem)| stem.len());
    let widest = widest.map_or(typed, |(word, _)| word);
    let mut terms = vec![phrase(widest, true)];
    let mut seen = HashSet::new();
    for (word, stem) in with_stems() {
        if !stem.starts_with(typed.as_str()) && seen.insert(stem) {
            terms.push(phrase(word, false));
        }
    }
    Ok(terms)
}

/// What is taken from the end of a word before endings of which a beginning can be a part, and is no
/// such ending once more.
const OUTER: [&str; 3] = ["ness", "ful", "ize"];

/// A word, and what it becomes with each ending, and with the rest of each that it ends in.
fn longer_words(word: &str) -> Vec<String> {
    let mut longer = vec![word.to_owned()];
    for ending in ENDINGS {
        for (at, _) in ending.char_indices() {
            let (within, behind) = ending.split_at(at);
            if word.ends_with(within) {
                longer.push(format!("{word}{behind}"));
                if !within.is_empty() {
                    longer.extend(OUTER.map(|outer| format!("{word}{behind}{outer}")));
                }
            }
        }
    }
    longer.sort();
    longer.dedup();
    longer
}

/// One thing that is looked for, in words.
struct CheckedTerm {
    stems: Vec<String>,
    /// The last word as it was typed, where it may go on.
    beginning: Option<String>,
}

/// Holds texts against a search that has beginnings in it.
pub(super) struct WordCheck {
    tokenizer: Tokenizer,
    all: Vec<Vec<CheckedTerm>>,
    without: Vec<CheckedTerm>,
    /// The one beginning that is all of it, in ASCII: texts need not be read by a tokenizer for it.
    sole: Option<String>,
}

impl WordCheck {
    /// That of a search; none where the index answers for all of it.
    pub(super) fn of(wanted: &TextQuery) -> Result<Option<Box<dyn TextCheck>>, StoreError> {
        if !has_beginnings(wanted) {
            return Ok(None);
        }
        let tokenizer = Tokenizer::open()?;
        let terms = |terms: &Vec<SearchTerm>| {
            let terms = terms.iter().map(|term| CheckedTerm::of(&tokenizer, term));
            terms.collect::<Result<Vec<_>, StoreError>>()
        };
        // Of a list without a beginning the index has said that it is met.
        let lists = wanted.all.iter();
        let lists = lists.filter(|list| list.iter().any(|term| term.is_beginning));
        let all = lists.map(terms).collect::<Result<Vec<_>, StoreError>>()?;
        let left_out = wanted.without.iter().filter(|term| term.is_beginning);
        let without = terms(&left_out.cloned().collect())?;
        let sole = match (all.as_slice(), without.as_slice()) {
            ([list], []) => match list.as_slice() {
                [term] if term.stems.len() == 1 => term.beginning.clone(),
                _ => None,
            },
            _ => None,
        };
        Ok(Some(Box::new(WordCheck {
            tokenizer,
            all,
            without,
            sole: sole.filter(|word| word.is_ascii()),
        })))
    }
}

impl CheckedTerm {
    fn of(tokenizer: &Tokenizer, term: &SearchTerm) -> Result<CheckedTerm, StoreError> {
        let words = tokenizer.words(&term.text)?;
        Ok(CheckedTerm {
            stems: tokenizer.stems(&term.text)?,
            beginning: words.last().filter(|_| term.is_beginning).cloned(),
        })
    }

    fn is_in(&self, words: &[String], stems: &[String]) -> bool {
        let Some((last, before)) = self.stems.split_last() else {
            return false;
        };
        let mut places = stems.windows(self.stems.len()).enumerate();
        places.any(|(at, window)| {
            let Some((end, begin)) = window.split_last() else {
                return false;
            };
            let ends = match &self.beginning {
                Some(beginning) => {
                    let word = words.get(at + begin.len());
                    word.is_some_and(|word| word.starts_with(beginning.as_str()))
                }
                None => end == last,
            };
            ends && begin == before
        })
    }
}

impl TextCheck for WordCheck {
    fn holds(&self, text: &str) -> Result<bool, StoreError> {
        if let Some(word) = &self.sole {
            // Of ASCII it is known which signs part words.
            let found = begins_a_word(text, word);
            if found || text.is_ascii() {
                return Ok(found);
            }
        }
        let (words, stems) = (self.tokenizer.words(text)?, self.tokenizer.stems(text)?);
        let has = |term: &CheckedTerm| term.is_in(&words, &stems);
        Ok(self.all.iter().all(|list| list.iter().any(has)) && !self.without.iter().any(has))
    }
}

/// Whether a word of ASCII letters and digits in a text begins so: there is no sign before it but one
/// that parts words whatever stands around it.
fn begins_a_word(text: &str, beginning: &str) -> bool {
    let bytes = text.as_bytes();
    let mut is_boundary = true;
    for (at, byte) in bytes.iter().enumerate() {
        let ahead = bytes.get(at..at + beginning.len());
        if is_boundary
            && ahead.is_some_and(|ahead| ahead.eq_ignore_ascii_case(beginning.as_bytes()))
        {
            return true;
        }
        is_boundary = byte.is_ascii() && !byte.is_ascii_alphanumeric();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::search::expression;

    fn beginning(text: &str) -> SearchTerm {
        SearchTerm {
            text: text.to_owned(),
            is_beginning: true,
        }
    }

    fn query(text: &str) -> TextQuery {
        TextQuery {
            all: vec![vec![beginning(text)]],
            without: Vec::new(),
        }
    }

    fn index() -> Connection {
        let index = Connection::open_in_memory().unwrap();
        let table = "CREATE VIRTUAL TABLE w USING fts5(t, tokenize = 'porter unicode61 remove_diacritics 2')";
        index.execute_batch(table).unwrap();
        index
    }

    /// Puts texts into an index, each by its place.
    fn put(index: &Connection, texts: &[&str]) {
        for (n, text) in texts.iter().enumerate() {
            let put = "INSERT INTO w (rowid, t) VALUES (?1, ?2)";
            index
                .execute(put, (u32::try_from(n).unwrap(), text))
                .unwrap();
        }
    }

    /// The texts that an index gives and that hold, each by its place.
    fn found(index: &Connection, wanted: &TextQuery, texts: &[&str]) -> Vec<usize> {
        let expression = expression(&widened(wanted).unwrap());
        let mut statement = index
            .prepare_cached("SELECT rowid FROM w WHERE w MATCH ?1 ORDER BY rowid")
            .unwrap();
        let given = statement
            .query_map([expression], |row| row.get::<_, u32>(0))
            .unwrap();
        let check = WordCheck::of(wanted).unwrap().unwrap();
        let given = given.map(|n| n.unwrap() as usize);
        given.filter(|n| check.holds(texts[*n]).unwrap()).collect()
    }

    #[test]
    fn a_beginning_finds_what_begins_so_and_nothing_else() {
        let texts = [
            "a house",
            "housing",
            "an hour",
            "the hound",
            "hoping",
            "hope",
            "hopping",
            "generalization",
            "generous",
            "general",
            "policy",
            "police",
            "policies",
            "controlled",
            "ÉCOLE",
            "web-server",
            "web service",
            "relational",
            "conditionally",
            "fame, hazardous",
            "日本語",
        ];
        let index = index();
        put(&index, &texts);
        for (typed, expected) in [
            ("hous", &["a house", "housing"][..]),
            ("house", &["a house"]),
            ("housi", &["housing"]),
            ("hou", &["a house", "housing", "an hour", "the hound"]),
            ("hope", &["hope"]),
            ("hopin", &["hoping"]),
            ("hopp", &["hopping"]),
            ("generaliz", &["generalization"]),
            ("generalization", &["generalization"]),
            ("generous", &["generous"]),
            ("gener", &["generalization", "generous", "general"]),
            ("policy", &["policy"]),
            ("polici", &["policies"]),
            ("POLIC", &["policy", "police", "policies"]),
            ("controll", &["controlled"]),
            ("ecol", &["ÉCOLE"]),
            ("écol", &["ÉCOLE"]),
            ("web-serve", &["web-server"]),
            ("web serv", &["web-server", "web service"]),
            ("relatio", &["relational"]),
            ("conditional", &["conditionally"]),
            ("hazardous", &["fame, hazardous"]),
            ("日本", &["日本語"]),
        ] {
            let found = found(&index, &query(typed), &texts);
            let found: Vec<&str> = found.into_iter().map(|n| texts[n]).collect();
            assert_eq!(found, expected, "{typed}*");
        }
    }

    #[test]
    fn what_begins_so_and_is_to_be_left_out_is() {
        let wanted = TextQuery {
            all: vec![vec![SearchTerm {
                text: "a".to_owned(),
                is_beginning: false,
            }]],
            without: vec![beginning("hous")],
        };
        let texts = ["a house", "an hour", "a hour"];
        let index = index();
        put(&index, &texts);
        assert_eq!(found(&index, &wanted, &texts), [2]);
    }

    proptest::proptest! {
        /// A beginning finds the words that begin so, whatever endings they have.
        #[test]
        fn a_beginning_agrees_with_a_look_at_each_word(
            roots in proptest::collection::vec("[a-z]{1,6}", 1..6),
            ends in proptest::collection::vec((proptest::sample::select(ENDINGS.to_vec()), proptest::sample::select(vec!["", "s", "ly", "ness", "ing", "ed", "e", "ful", "fulness", "ize", "al", "ation"])), 1..8),
            letters in 3usize..12,
        ) {
            let words: Vec<String> = roots
                .iter()
                .flat_map(|root| ends.iter().map(move |(end, more)| format!("{root}{end}{more}")))
                .collect();
            let texts: Vec<&str> = words.iter().map(String::as_str).collect();
            let index = index();
            put(&index, &texts);
            for word in &texts {
                let Some(typed) = word.get(..letters.min(word.len())).filter(|typed| typed.len() >= 3) else { continue };
                let expected: Vec<usize> = (0..texts.len()).filter(|n| texts[*n].starts_with(typed)).collect();
                proptest::prop_assert_eq!(found(&index, &query(typed), &texts), expected, "{}*: {:?}", typed, texts);
            }
        }
    }
}
