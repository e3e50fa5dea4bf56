//! What a reply states that has to come from somewhere: numbers, dates, versions, paths, addresses,
//! quotes, ids; each held against bundle and prompt (AEGIS 9, *evidence*).

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::record::ledger::bundle::Bundle;

use super::arithmetic::{KnownNumbers, Number, numbers};
use super::dates::{Date, Dates, dates, take_dates};
use super::sentences::{plain, without_mark};
use super::substrings::{bordered, occurring};
use crate::govern::clauses::quotations::{Quotes, quotations, replaced, unquoted};
use crate::govern::clauses::text::without_code;

/// A quote of fewer words is a way of speaking.
const QUOTE_WORDS: usize = 3;

/// What the ids begin with that gently itself makes.
const OWN_IDS: [&str; 11] = [
    "correction:",
    "ledger:",
    "driftwatch:",
    "note:",
    "decision:",
    "intent:",
    "conflict:",
    "action:",
    "fact:",
    "tool:",
    "kernel:",
];
/// The top-level folders whose paths are looked for.
const TOP_FOLDERS: [&str; 15] = [
    "etc", "var", "home", "usr", "opt", "srv", "root", "tmp", "mnt", "dev", "boot", "proc", "sys",
    "run", "lib",
];
/// Stands in every text.
const ANY: [&str; 1] = [""];

struct SourcePatterns {
    own_id: LazyLock<Regex>,
    foreign_id: LazyLock<Regex>,
    url: LazyLock<Regex>,
    mail: LazyLock<Regex>,
    ip: LazyLock<Regex>,
    path: LazyLock<Regex>,
    version: LazyLock<Regex>,
}

fn new(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles it")
}

/// Each is compiled when it is first needed: few replies need all of them, and a process judges
/// one.
static ALL: SourcePatterns = SourcePatterns {
    own_id: LazyLock::new(|| {
        new(
            r"(?-u)\b(?:ledger|driftwatch|note|decision|intent|conflict|action|fact|correction):[0-9]{2,}\b|\btool:[a-z_]+:[0-9]+\b|\bkernel:[0-9a-f]{16}\b",
        )
    }),
    foreign_id: LazyLock::new(|| {
        new(
            r"(?-u)\bsha256:[0-9a-f]{8,64}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b",
        )
    }),
    url: LazyLock::new(|| {
        new(r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s<>"'`)\]]+|(?i-u:\bwww\.)[^\s<>"'`)\]]+"#)
    }),
    mail: LazyLock::new(|| new(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")),
    ip: LazyLock::new(|| new(r"(?-u)\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b")),
    path: LazyLock::new(|| {
        let folders = TOP_FOLDERS.join("|");
        new(&format!(
            r#"(?:^|[\s`"'(])((?:~|/(?:{folders}))/[^\s`"'),;:]+)"#
        ))
    }),
    version: LazyLock::new(|| {
        new(
            r"(?-u)\b[vV]?[0-9]+(?:\.[0-9]+){2,}(?:-[0-9A-Za-z.]+)?\b|\b[vV][0-9]+(?:\.[0-9]+)*\b|(?i:\bversion )[0-9]+(?:\.[0-9]+)*\b",
        )
    }),
};

/// How many of each kind have no source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::govern) struct SourcelessCounts {
    pub numbers: usize,
    pub dates: usize,
    pub versions: usize,
    pub paths: usize,
    pub addresses: usize,
    pub quotes: usize,
    /// Hashes and UUIDs.
    pub ids: usize,
    /// Ids of gently's own making, such as `ledger:000183`: nobody else could have told them.
    pub artifacts: usize,
}

impl SourcelessCounts {
    /// `numbers=3 dates=1`: the kinds beside artifacts that have any; none when there is nothing.
    pub fn counts(&self) -> Option<String> {
        let kinds = [
            ("numbers", self.numbers),
            ("dates", self.dates),
            ("versions", self.versions),
            ("paths", self.paths),
            ("addresses", self.addresses),
            ("quotes", self.quotes),
            ("ids", self.ids),
        ];
        let some: Vec<String> = kinds
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(kind, n)| format!("{kind}={n}"))
            .collect();
        (!some.is_empty()).then(|| some.join(" "))
    }
}

/// Counts what stands in the reply and in neither bundle nor prompt.
///
/// Ids and addresses are looked for everywhere; the rest not in fenced code, which is an example
/// and states nothing. What is the same in another spelling is the same: case, separators, the
/// forms of a date, rounding and units of a number (see [`super::arithmetic`]).
pub(in crate::govern) fn unsourced(bundle: &Bundle, prompt: &str, reply: &str) -> SourcelessCounts {
    let (rest, artifacts) = take(&ALL.own_id, reply, 0, &OWN_IDS);
    let (rest, ids) = if may_have_hash(&rest) {
        take(&ALL.foreign_id, &rest, 0, &ANY)
    } else {
        (rest, Vec::new())
    };
    let (rest, addresses) = take_addresses(&rest);
    let prose = without_code(&rest);
    let lines: Vec<&str> = prose
        .lines()
        .map(|line| without_mark(line.trim_start()))
        .collect();
    let rest = lines.join("\n");
    let (rest, paths) = if may_have_path(&rest) {
        take(&ALL.path, &rest, 1, &ANY)
    } else {
        (rest, Vec::new())
    };
    let (rest, quotes) = take_quotes(&rest);
    let (rest, versions) = if may_have_version(&rest) {
        take(&ALL.version, &rest, 0, &ANY)
    } else {
        (rest, Vec::new())
    };
    let (rest, dates) = take_dates(&rest);
    let numbers = numbers(&rest);
    let stated = [&versions, &paths, &addresses, &quotes, &ids, &artifacts];
    if numbers.is_empty() && dates.is_empty() && stated.iter().all(|list| list.is_empty()) {
        return SourcelessCounts::default();
    }
    let sources = Sources::of(bundle, prompt);
    SourcelessCounts {
        numbers: sources.unexplained(&numbers),
        dates: sources.missing_dates(&dates),
        versions: sources.missing_versions(&versions),
        paths: sources.missing(&paths),
        addresses: sources.missing(&addresses),
        quotes: sources.missing(&quotes),
        ids: sources.missing_names(&ids),
        artifacts: sources.missing_names(&artifacts),
    }
}

/// Whether a path may be in a text: `~/`, or a top-level folder behind a slash.
fn may_have_path(text: &str) -> bool {
    let mut behind = text.split('/').skip(1);
    text.contains("~/") || behind.any(|part| TOP_FOLDERS.contains(&part))
}

/// Whether a text has a *v* before a digit, the word *version*, or two points between digits.
fn may_have_version(text: &str) -> bool {
    let text = text.as_bytes();
    let is_marked = |pair: &[u8]| matches!(pair, [b'v' | b'V', digit] if digit.is_ascii_digit());
    let point =
        |part: &&[u8]| matches!(part, [a, b'.', c] if [a, c].iter().all(|b| b.is_ascii_digit()));
    text.windows(2).any(is_marked)
        || text
            .windows(8)
            .any(|word| word.eq_ignore_ascii_case(b"version "))
        || text.windows(3).filter(point).nth(1).is_some()
}

/// Whether a text has eight hexadecimal digits together, as every hash and every UUID has.
fn may_have_hash(text: &str) -> bool {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    text.as_bytes()
        .split(|b| !digit(*b))
        .any(|run| run.len() >= 8)
}

/// Quotes of several words, without their marks.
fn take_quotes(text: &str) -> (String, Vec<String>) {
    let what = Quotes {
        line: true,
        full: true,
        ..Quotes::default()
    };
    let all = quotations(text, what)
        .into_iter()
        .filter_map(|place| text.get(place))
        .map(unquoted);
    let several = |quote: &&str| quote.split_whitespace().nth(QUOTE_WORDS - 1).is_some();
    (
        replaced(text, what, " "),
        all.filter(several).map(str::to_owned).collect(),
    )
}

/// An address is a part of one word, so words are looked at one by one; of a longer one its parts
/// are, since nobody reads an address of such a length, and a search in it would be given up at its
/// end again and again.
fn take_addresses(text: &str) -> (String, Vec<String>) {
    const MOST: usize = 2048;
    let (mut rest, mut found) = (String::with_capacity(text.len()), Vec::new());
    for mut word in text.split_inclusive(char::is_whitespace) {
        while !word.is_empty() {
            let end = (0..=MOST.min(word.len()))
                .rev()
                .find(|at| word.is_char_boundary(*at))
                .unwrap_or_default();
            let (part, after) = word.split_at(end);
            rest.push_str(&addresses(part, &mut found));
            word = after;
        }
    }
    (rest, found)
}

/// A word without its addresses, links first.
fn addresses<'a>(word: &'a str, found: &mut Vec<String>) -> Cow<'a, str> {
    let mut rest = Cow::Borrowed(word);
    let is_link = word.contains("://")
        || word
            .as_bytes()
            .windows(4)
            .any(|four| four.eq_ignore_ascii_case(b"www."));
    let kinds = [
        (is_link, &ALL.url),
        (word.contains('@'), &ALL.mail),
        (
            word.bytes().filter(|b| *b == b'.').nth(2).is_some(),
            &ALL.ip,
        ),
    ];
    for (_, expression) in kinds.into_iter().filter(|(may_be, _)| *may_be) {
        let (left, some) = take(expression, &rest, 0, &ANY);
        rest = Cow::Owned(left);
        found.extend(some);
    }
    rest
}

/// The text without what an expression finds, and that, without final punctuation.
///
/// What has none of the `signs` in it has none of them, and no expression is compiled for it.
fn take(
    regex: &LazyLock<Regex>,
    text: &str,
    group: usize,
    signs: &[&str],
) -> (String, Vec<String>) {
    if !signs.iter().any(|sign| text.contains(sign)) {
        return (text.to_owned(), Vec::new());
    }
    let end = |text: &str| {
        text.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_'])
            .to_owned()
    };
    let (mut rest, mut found, mut from) = (String::with_capacity(text.len()), Vec::new(), 0);
    for hit in regex.captures_iter(text) {
        let (Some(whole), Some(meant)) = (hit.get(0), hit.get(group)) else {
            continue;
        };
        rest.push_str(text.get(from..whole.start()).unwrap_or_default());
        rest.push(' ');
        from = whole.end();
        found.push(end(meant.as_str()));
    }
    rest.push_str(text.get(from..).unwrap_or_default());
    (rest, found)
}

/// `1.2.3` of `v1.2.3` and of `version 1.2.3`.
fn version(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_ascii_digit())
}

/// What a reply may draw on.
struct Sources<'a> {
    bundle: &'a Bundle,
    prompt: &'a str,
    /// As the bundle was shown.
    shown: String,
    /// Both in plain spelling.
    text: String,
}

impl<'a> Sources<'a> {
    fn of(bundle: &'a Bundle, prompt: &'a str) -> Self {
        // A bundle that can't be printed has been printed before: it was rendered into the prompt.
        let shown = bundle.print().unwrap_or_default();
        let text = plain(&format!("{shown}\n{prompt}"));
        Sources {
            bundle,
            prompt,
            shown,
            text,
        }
    }

    /// How many numbers come from nothing that is known.
    fn unexplained(&self, stated: &[Number]) -> usize {
        if stated.is_empty() {
            return 0;
        }
        let known = KnownNumbers::of(self.bundle, &self.shown, numbers(self.prompt));
        let unexplained = |number: &&Number| !known.explains(number);
        stated.iter().filter(unexplained).count()
    }

    /// How many dates stand nowhere.
    fn missing_dates(&self, stated: &[Date]) -> usize {
        if stated.is_empty() {
            return 0;
        }
        Dates::of(dates(&format!("{}\n{}", self.shown, self.prompt))).missing(stated)
    }

    /// How many texts stand nowhere, in any case and spacing.
    fn missing(&self, texts: &[String]) -> usize {
        let texts: Vec<String> = texts.iter().map(|text| plain(text)).collect();
        absent(&occurring(&self.text, &texts))
    }

    /// How many names do not stand there by themselves; a part of a longer name is another one.
    fn missing_names(&self, names: &[String]) -> usize {
        absent(&self.names(names.iter().map(String::as_str)))
    }

    /// The same of versions, with their `v` or without.
    fn missing_versions(&self, versions: &[String]) -> usize {
        let numbers: Vec<&str> = versions.iter().map(|text| version(text)).collect();
        let with_v: Vec<String> = numbers.iter().map(|number| format!("v{number}")).collect();
        let (plain, marked) = (
            self.names(numbers.into_iter()),
            self.names(with_v.iter().map(String::as_str)),
        );
        absent(
            &plain
                .into_iter()
                .zip(marked)
                .map(|(plain, marked)| plain || marked)
                .collect::<Vec<_>>(),
        )
    }

    fn names<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<bool> {
        let names: Vec<String> = names.map(|name| bordered(&plain(name))).collect();
        if names.is_empty() {
            Vec::new()
        } else {
            occurring(&bordered(&self.text), &names)
        }
    }
}

fn absent(found: &[bool]) -> usize {
    found.iter().filter(|found| !**found).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::reply::validate::tests::BUNDLE;

    fn counts(prompt: &str, reply: &str) -> String {
        let found = unsourced(&Bundle::parse(BUNDLE).unwrap(), prompt, reply);
        let artifacts = if found.artifacts > 0 {
            format!("artifacts={}", found.artifacts)
        } else {
            String::new()
        };
        [found.counts().unwrap_or_default(), artifacts].join("")
    }

    #[test]
    fn what_is_looked_for_has_its_sign() {
        for text in [
            "v1",
            "V2.3",
            "Version 3",
            "version 3.1",
            "1.2.3",
            "10.20.30.40",
            "1.2 and 3.4",
            "vv",
            "v.1",
            "version3",
            "1.2",
            "a1.2.3-rc.1",
            "1..2",
            "3.",
            "xv1",
            "VERSION 9",
        ] {
            assert!(
                may_have_version(text) || !ALL.version.is_match(text),
                "{text}"
            );
        }
        for text in ["1.2", "v.1", "a version", "10 20"] {
            assert!(!may_have_version(text), "{text}");
        }
        let hash = "0123456789abcdef".repeat(4);
        for text in [
            format!("sha256:{}", &hash[..8]),
            hash.clone(),
            hash[..40].to_owned(),
            "abcdefab-0123-0123-0123-0123456789ab".to_owned(),
            "a".repeat(40),
        ] {
            assert!(
                ALL.foreign_id.is_match(&text) && may_have_hash(&text),
                "{text}"
            );
        }
        assert!(!may_have_hash("a faded cafe, 1234567 and 2026-01-01"));
        for id in OWN_IDS {
            let number = if id == "kernel:" { &hash[..16] } else { "00" };
            let tool = if id == "tool:" { "x:" } else { "" };
            assert!(ALL.own_id.is_match(&format!("{id}{tool}{number}")), "{id}");
        }
        for folder in TOP_FOLDERS {
            let text = format!("in /{folder}/x");
            assert!(ALL.path.is_match(&text) && may_have_path(&text), "{text}");
        }
        assert!(ALL.path.is_match("~/x") && may_have_path("~/x"));
        assert!(!may_have_path("and/or, 3/4 of it; /else/where"));
        // Each alternative of the expressions has its sign in the lists.
        let named = |text: &str| text.matches('|').count();
        assert_eq!(named(ALL.own_id.as_str()), OWN_IDS.len() - 1);
    }

    #[test]
    fn every_kind_without_a_source_is_counted() {
        for (reply, expected) in [
            ("It costs 4711 dollars.", "numbers=1"),
            ("It rose by 12% and then by 13.5 percent.", "numbers=2"),
            ("It happened on March 3, 1998.", "dates=1"),
            ("It happened on 3 March.", "dates=1"),
            ("On 1998-03-03T10:00:00Z.", "dates=1"),
            ("Since 1998.", "dates=1"),
            ("At 14:35.", "dates=1"),
            ("Use v3.2, or 1.21.4.", "versions=2"),
            ("Use Version 3.2.", "versions=1"),
            ("See /var/log/syslog and ~/notes.txt.", "paths=2"),
            ("See https://made.up/page.", "addresses=1"),
            ("Write to someone@made.up, at 10.1.2.3.", "addresses=2"),
            ("It says \"the load is far too high\".", "quotes=1"),
            ("Commit 0123456789abcdef0123456789abcdef01234567.", "ids=1"),
            ("As ledger:000184 says.", "artifacts=1"),
            ("driftwatch:0042 and driftwatch:0043.", "artifacts=2"),
        ] {
            assert_eq!(counts("Hi", reply), expected, "{reply}");
        }
    }

    #[test]
    fn what_is_in_bundle_or_prompt_has_a_source() {
        let prompt = "Why is 4,711 > 12 %? It was at 14:35 on 3 March 1998, with v1.21.4, https://a.b/C, /var/log/x, \
                      ledger:000183, \"A quoted line of words\", 0123456789abcdef0123456789abcdef01234567.";
        for reply in [
            "4711 and 4,711 and 4711.0 and 4.711 thousand are the same; 12% or 12 percent.",
            "On March 3rd, 1998; on 1998-03-03; in March 1998; in 1998; on 3 March; at 14:35.",
            "Version 1.21.4, v1.21.4.",
            "https://a.b/c. And /var/log/x.",
            "See ledger:000183.",
            "\"a quoted line\"",
            "0123456789abcdef0123456789abcdef01234567",
            "The load was 0.42 on 2026-01-08.",
        ] {
            assert_eq!(counts(prompt, reply), "", "{reply}");
        }
        assert_eq!(counts(prompt, "See ledger:0001834."), "artifacts=1");
        assert_eq!(counts(prompt, "1.21.40"), "versions=1");
        assert_eq!(counts(prompt, "4 March 1998"), "dates=1");
    }

    #[test]
    fn what_states_nothing_is_not_counted() {
        for reply in [
            "1. First\n2) Second\n(3) Third\n12. Twelfth",
            "See step 12, option 14 and figure 23.",
            "There are 3 reasons and 10 ways.",
            "The 20th century, the 1st and the 42nd.",
            "It runs 24/7 on x86 with UTF-8 and GPT-4.",
            "```\nsleep 4711; cat /etc/passwd\n```",
            "He called it \"great\".",
            "I am 100% sure.",
        ] {
            assert_eq!(counts("Hi", reply), "", "{reply}");
        }
    }
}
