//! What was typed for a search, read into what texts must have and must not have.
//!
//! | typed | means |
//! |---|---|
//! | `nginx port` | both words occur, in any order and form |
//! | `"web server"` | the words occur in this order, nothing between |
//! | `polic*` | a word begins so |
//! | `-apache`, `-"web server"` | it does not occur |
//! | `nginx OR apache` | one of the two, or both |
//!
//! There is no mistake in how something is typed: what is no sign of these is part of a word, or
//! parts words. Only what can't be looked for at all is refused.

use crate::app::words::is_ideograph;
use crate::store::{SearchTerm, TextQuery};

/// Words of one search; more are pasted, not typed.
const MOST_TERMS: usize = 64;
/// Characters of one search.
const MOST_CHARACTERS: usize = 4096;
/// A beginning of fewer letters is that of too many words.
const LEAST_LETTERS: usize = 3;
/// Stands between words of which one is enough.
const OR: &str = "OR";

/// What texts must have and must not have, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedSearch {
    /// Of each list one or more.
    all: Vec<Vec<SearchTerm>>,
    /// None of these.
    without: Vec<SearchTerm>,
}

/// Why nothing can be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSearch {
    /// There is no word.
    #[error("say what to look for: gently search WORDS")]
    Nothing,
    /// Only signs are there.
    #[error(
        "there is no letter and no digit in what is looked for, only signs, and signs are in no index: add a word that \
         stands in the text; with --exact the signs must stand there, too"
    )]
    Signs,
    /// All of it is to be left out.
    #[error(
        "there is only what is to be left out: say what is to be found, too, such as nginx {left_out}"
    )]
    Negations {
        /// The first of it, as it was typed.
        left_out: String,
    },
    /// A beginning is too short.
    #[error(
        "{typed}: a beginning has {LEAST_LETTERS} letters or more (two characters of Chinese or Japanese), so that it is not \
         that of half of all words"
    )]
    Short {
        /// As it was typed.
        typed: String,
    },
    /// There are too many words.
    #[error(
        "{actual} words are more than a search takes: {MOST_TERMS} at most; look for a few that are rare, or for one \
         \"phrase\""
    )]
    Words {
        /// How many there are.
        actual: usize,
    },
    /// It is too long.
    #[error("{actual} characters are more than a search takes: {MOST_CHARACTERS} at most")]
    Characters {
        /// How many there are.
        actual: usize,
    },
    /// There is a NUL in it.
    #[error("there is a NUL in what is looked for, which stands in no word: leave it out")]
    Nul,
}

/// One thing of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TypedToken {
    term: SearchTerm,
    is_negated: bool,
    /// It is the bare word OR.
    is_or: bool,
}

impl TypedSearch {
    /// Reads the arguments of a command, where a shell has taken the quotes away: an argument of
    /// several plain words is a phrase. `without` is what must not occur, an argument each.
    ///
    /// # Errors
    /// Why nothing can be looked for.
    pub fn of_arguments(arguments: &[String], without: &[String]) -> Result<Self, NoSearch> {
        within_limits(arguments.iter().chain(without))?;
        let mut tokens: Vec<TypedToken> = arguments
            .iter()
            .flat_map(|text| of_argument(text))
            .collect();
        let left_out = without.iter().map(|text| TypedToken {
            term: term(text.trim_matches('"')),
            is_negated: true,
            is_or: false,
        });
        tokens.extend(left_out);
        Self::of_tokens(tokens)
    }

    /// Reads one line, quotes and all.
    ///
    /// # Errors
    /// The same.
    pub fn of_line(line: &str) -> Result<Self, NoSearch> {
        within_limits(std::iter::once(line))?;
        Self::of_tokens(tokens(line))
    }

    fn of_tokens(tokens: Vec<TypedToken>) -> Result<Self, NoSearch> {
        if tokens.len() > MOST_TERMS {
            return Err(NoSearch::Words {
                actual: tokens.len(),
            });
        }
        let mut search = TypedSearch::default();
        let mut rest = tokens.into_iter().peekable();
        let mut is_alternative = false;
        let mut can_go_on = false;
        while let Some(token) = rest.next() {
            let follows = rest
                .peek()
                .is_some_and(|next| !next.is_or && !next.is_negated);
            if token.is_or && can_go_on && follows {
                is_alternative = true;
                can_go_on = false;
                continue;
            }
            if token.term.is_beginning && last_letters(&token.term.text) < LEAST_LETTERS {
                let typed = format!("{}*", token.term.text);
                return Err(NoSearch::Short { typed });
            }
            can_go_on = !token.is_negated;
            match (token.is_negated, search.all.last_mut()) {
                (true, _) => search.without.push(token.term),
                (false, Some(list)) if is_alternative => list.push(token.term),
                (false, _) => search.all.push(vec![token.term]),
            }
            is_alternative = false;
        }
        search.judged()
    }

    /// It, if it can be looked for.
    fn judged(self) -> Result<Self, NoSearch> {
        if self.positive().any(|term| has_words(&term.text)) {
            return Ok(self);
        }
        match (self.all.is_empty(), self.without.first()) {
            (false, _) => Err(NoSearch::Signs),
            (true, Some(term)) if has_words(&term.text) => Err(NoSearch::Negations {
                left_out: format!("-{}", term.text),
            }),
            (true, Some(_)) => Err(NoSearch::Signs),
            (true, None) => Err(NoSearch::Nothing),
        }
    }

    /// What is to occur, all of it.
    pub fn positive(&self) -> impl Iterator<Item = &SearchTerm> {
        self.all.iter().flatten()
    }

    /// What an index is asked. With `exact` it gives more than what fits: what must not occur is
    /// looked for in the text itself, and so are signs.
    pub fn query(&self, exact: bool) -> TextQuery {
        let worded = |terms: &[SearchTerm]| -> Vec<SearchTerm> {
            let worded = terms.iter().filter(|term| has_words(&term.text));
            worded.cloned().collect()
        };
        // A list with signs alone in it can be met by a text without any of its words.
        let counts = |list: &&Vec<SearchTerm>| !exact || worded(list).len() == list.len();
        let all: Vec<_> = self
            .all
            .iter()
            .filter(counts)
            .map(|list| worded(list))
            .collect();
        let mut all: Vec<_> = all.into_iter().filter(|list| !list.is_empty()).collect();
        if all.is_empty() {
            // Every list has signs among its words: any of the words, or what can't be found so.
            all.push(
                self.positive()
                    .filter(|term| has_words(&term.text))
                    .cloned()
                    .collect(),
            );
        }
        TextQuery {
            all,
            without: if exact {
                Vec::new()
            } else {
                worded(&self.without)
            },
        }
    }

    /// Whether a text has and has not literally what was typed.
    pub fn is_literally_in(&self, text: &str) -> bool {
        let has = |term: &SearchTerm| text.contains(&term.text);
        self.all.iter().all(|list| list.iter().any(has)) && !self.without.iter().any(has)
    }

    /// It, spelled in one way.
    pub fn spelling(&self) -> String {
        let terms = |terms: &[SearchTerm]| {
            let spelled = terms
                .iter()
                .map(|term| format!("{:?}{}", term.text, u8::from(term.is_beginning)));
            spelled.collect::<Vec<_>>().join("|")
        };
        let all: Vec<String> = self.all.iter().map(|list| terms(list)).collect();
        format!("{}-{}", all.join("&"), terms(&self.without))
    }
}

fn within_limits<'t>(texts: impl Iterator<Item = impl AsRef<str> + 't>) -> Result<(), NoSearch> {
    let (mut characters, mut words) = (0, 0);
    for text in texts {
        let text = text.as_ref();
        if text.contains('\0') {
            return Err(NoSearch::Nul);
        }
        characters += text.chars().count();
        words += text.split_whitespace().count();
    }
    if words > MOST_TERMS {
        return Err(NoSearch::Words { actual: words });
    }
    if characters > MOST_CHARACTERS {
        return Err(NoSearch::Characters { actual: characters });
    }
    Ok(())
}

/// An argument: a phrase where it is several plain words, else a line.
fn of_argument(text: &str) -> Vec<TypedToken> {
    let tokens = tokens(text);
    let is_plain =
        |token: &TypedToken| !(token.is_negated || token.is_or || token.term.is_beginning);
    let is_phrase = tokens.len() > 1 && !text.contains('"') && tokens.iter().all(is_plain);
    if !is_phrase {
        return tokens;
    }
    vec![TypedToken {
        term: term(text.trim()),
        is_negated: false,
        is_or: false,
    }]
}

fn tokens(line: &str) -> Vec<TypedToken> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let negated = rest
            .strip_prefix('-')
            .filter(|after| !begins_with_space(after));
        let (is_negated, begun) = (negated.is_some(), negated.unwrap_or(rest));
        let (text, after, is_phrase) = match begun.strip_prefix('"') {
            Some(phrase) => {
                let (text, after) = phrase.split_once('"').unwrap_or((phrase, ""));
                (text, after, true)
            }
            None => {
                let end = begun.find(char::is_whitespace).unwrap_or(begun.len());
                let (text, after) = begun.split_at(end);
                (text, after, false)
            }
        };
        let token = TypedToken {
            term: match is_phrase {
                true => SearchTerm {
                    text: text.to_owned(),
                    is_beginning: false,
                },
                false => term(text),
            },
            is_negated,
            is_or: !is_phrase && !is_negated && text == OR,
        };
        if !token.term.text.is_empty() {
            tokens.push(token);
        }
        rest = after.trim_start();
    }
    tokens
}

fn begins_with_space(text: &str) -> bool {
    text.is_empty() || text.starts_with(char::is_whitespace)
}

/// A word or phrase that stands by itself.
fn term(text: &str) -> SearchTerm {
    let stem = text.trim_end_matches('*');
    let beginning = (stem.len() < text.len() && has_words(stem)).then_some(stem);
    SearchTerm {
        text: beginning.unwrap_or(text).to_owned(),
        is_beginning: beginning.is_some(),
    }
}

/// Whether there is something in a text that an index knows.
fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// How many letters and digits the last word of a text has; a sign of Chinese or Japanese says as much as two.
fn last_letters(text: &str) -> usize {
    let from_end = text.chars().rev();
    let letters = from_end.take_while(|c| c.is_alphanumeric());
    letters.map(|c| 1 + usize::from(is_ideograph(c))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<String, NoSearch> {
        TypedSearch::of_line(line).map(|search| search.spelling())
    }

    fn typed(arguments: &[&str]) -> Result<String, NoSearch> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        TypedSearch::of_arguments(&arguments, &[]).map(|search| search.spelling())
    }

    #[test]
    fn a_line_is_read() {
        for (line, expected) in [
            ("nginx", r#""nginx"0-"#),
            ("  nginx   port ", r#""nginx"0&"port"0-"#),
            (r#""web server" port"#, r#""web server"0&"port"0-"#),
            (r#""web server"#, r#""web server"0-"#),
            ("polic*", r#""polic"1-"#),
            ("polic**", r#""polic"1-"#),
            ("東京*", r#""東京"1-"#),
            ("nginx -apache", r#""nginx"0-"apache"0"#),
            (r#"nginx -"web server""#, r#""nginx"0-"web server"0"#),
            ("a OR b c", r#""a"0|"b"0&"c"0-"#),
            ("a b OR c OR polic*", r#""a"0&"b"0|"c"0|"polic"1-"#),
            // OR that joins nothing is a word, and a small one always is.
            ("OR", r#""OR"0-"#),
            ("a OR", r#""a"0&"OR"0-"#),
            ("OR a", r#""OR"0&"a"0-"#),
            ("a OR -b", r#""a"0&"OR"0-"b"0"#),
            ("a or b", r#""a"0&"or"0&"b"0-"#),
            (r#"a "OR" b"#, r#""a"0&"OR"0&"b"0-"#),
            // What means something to the index means nothing here.
            ("NEAR(a b, 2)", r#""NEAR(a"0&"b,"0&"2)"0-"#),
            ("col:x ^y", r#""col:x"0&"^y"0-"#),
            ("a AND NOT b", r#""a"0&"AND"0&"NOT"0&"b"0-"#),
            ("a - b", r#""a"0&"-"0&"b"0-"#),
            (r#"a"b"#, r#""a\"b"0-"#),
            ("C++ ++", r#""C++"0&"++"0-"#),
        ] {
            assert_eq!(read(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn an_argument_of_several_words_is_a_phrase() {
        for (arguments, expected) in [
            (&["web server", "port"][..], r#""web server"0&"port"0-"#),
            (&["web", "server"], r#""web"0&"server"0-"#),
            (&["this", "OR", "that"], r#""this"0|"that"0-"#),
            (&["this OR that"], r#""this"0|"that"0-"#),
            (&["nginx -apache"], r#""nginx"0-"apache"0"#),
            (&[r#""web server" port"#], r#""web server"0&"port"0-"#),
            (&["web polic*"], r#""web"0&"polic"1-"#),
        ] {
            assert_eq!(typed(arguments).as_deref(), Ok(expected), "{arguments:?}");
        }
        let without = TypedSearch::of_arguments(&["a".to_owned()], &["web server".to_owned()]);
        assert_eq!(without.unwrap().spelling(), r#""a"0-"web server"0"#);
    }

    #[test]
    fn what_can_not_be_looked_for_is_said_in_words() {
        let many = "word ".repeat(10_000);
        let long = "w".repeat(5000);
        for (line, said) in [
            ("", "say what to look for"),
            ("\"\"", "say what to look for"),
            ("... ?! \"--\"", "only signs"),
            ("-", "only signs"),
            ("-?", "only signs"),
            ("-a -b", "such as nginx -a"),
            ("--x", "such as nginx --x"),
            ("*a* b**", "*a*: a beginning"),
            ("po*", "po*: a beginning has 3 letters"),
            ("foo-b*", "foo-b*: a beginning"),
            ("東*", "東*: a beginning"),
            (&many, "10000 words are more"),
            (&long, "5000 characters are more"),
            ("a\0b", "NUL"),
        ] {
            let why = read(line).unwrap_err().to_string();
            assert!(why.contains(said), "{line:.20}: {why}");
        }
    }

    #[test]
    fn exact_words_are_held_against_the_text_itself() {
        let search = TypedSearch::of_line("C++ OR ++ OR Rust -GC").unwrap();
        assert!(search.is_literally_in("I write C++."));
        assert!(!search.is_literally_in("I write c plus plus, rust."));
        assert!(!search.is_literally_in("Rust without GC"));
        assert!(search.is_literally_in("Rust without gc"));
        let asked = search.query(true);
        assert!(asked.without.is_empty() && asked.all.len() == 1);
        assert_eq!(search.query(false).without.len(), 1);
    }

    proptest::proptest! {
        /// Whatever is typed: it is refused in words, or there is something to look for, and nothing
        /// in it is empty or a bare sign.
        #[test]
        fn nothing_typed_is_a_mistake(line in "[\\PC\"*\\- \\n\\t]{0,60}", exact: bool) {
            match TypedSearch::of_line(&line) {
                Err(why) => proptest::prop_assert!(!why.to_string().is_empty()),
                Ok(search) => {
                    let query = search.query(exact);
                    proptest::prop_assert!(!query.all.is_empty());
                    for term in query.all.iter().flatten().chain(&query.without) {
                        proptest::prop_assert!(has_words(&term.text), "{:?}", term);
                        proptest::prop_assert!(!term.is_beginning || last_letters(&term.text) >= LEAST_LETTERS);
                    }
                    proptest::prop_assert!(query.all.iter().all(|list| !list.is_empty()));
                }
            }
        }

        /// Words of letters alone are looked for as they are, whatever they are called.
        #[test]
        fn plain_words_are_themselves(words in proptest::collection::vec("[a-z]{1,9}|NEAR|AND|NOT", 1..6)) {
            let search = TypedSearch::of_line(&words.join(" ")).unwrap();
            let all: Vec<&str> = search.positive().map(|term| term.text.as_str()).collect();
            proptest::prop_assert_eq!(all, words);
        }
    }
}
