//! What a reply states that has to come from somewhere: numbers, dates, versions, paths, addresses, quotes, ids;
//! each held against bundle and prompt (AEGIS 9, *evidence*).

use std::sync::OnceLock;

use regex::Regex;

use crate::record::bundle::Bundle;

use super::numbers::{Known, Number, numbers};
use super::prose::{plain, without_code, without_mark};

/// A quote of fewer words is a way of speaking.
const QUOTE_WORDS: usize = 3;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

struct Expressions {
    own_id: Regex,
    foreign_id: Regex,
    address: Regex,
    quote: Regex,
    path: Regex,
    date: Regex,
    version: Regex,
}

fn expressions() -> &'static Expressions {
    static ONCE: OnceLock<Expressions> = OnceLock::new();
    ONCE.get_or_init(|| {
        let new = |pattern: &str| Regex::new(pattern).expect("a test compiles it");
        const MONTH: &str = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
        Expressions {
            own_id: new(r"\b(?:ledger|driftwatch|note|decision|intent|conflict|action|fact):[0-9]{2,}\b|\btool:[a-z_]+:[0-9]+\b|\bkernel:[0-9a-f]{16}\b"),
            foreign_id: new(r"\bsha256:[0-9a-f]{8,64}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b"),
            address: new(r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s<>"'`)\]]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b|\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b|\bwww\.[^\s<>"'`)\]]+"#),
            quote: new(r#""([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»"#),
            path: new(r#"(?:^|[\s`"'(])((?:~|/(?:etc|var|home|usr|opt|srv|root|tmp|mnt|dev|boot|proc|sys|run|lib))/[^\s`"'),;:]+)"#),
            date: new(&format!(
                r"(?i)\b(?:(?P<y>[0-9]{{4}})-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}})(?:[t ](?P<time>[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?)z?)?|(?P<mn>{MONTH})\.? (?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<y2>[0-9]{{4}}))?|(?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?(?P<mn3>{MONTH})\.?(?:,? (?P<y3>[0-9]{{4}}))?|(?P<mn4>{MONTH}) (?P<y4>[0-9]{{4}})|(?P<clock>[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?)|(?P<y5>(?:1[0-9]|20)[0-9]{{2}})s?)(?:\b|$)"
            )),
            version: new(r"\b[vV]?[0-9]+(?:\.[0-9]+){2,}(?:-[0-9A-Za-z.]+)?\b|\b[vV][0-9]+(?:\.[0-9]+)*\b|(?i:\bversion )[0-9]+(?:\.[0-9]+)*\b"),
        }
    })
}

/// How many of each kind have no source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unsourced {
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

impl Unsourced {
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
        let some: Vec<String> = kinds.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{kind}={n}")).collect();
        (!some.is_empty()).then(|| some.join(" "))
    }
}

/// Counts what stands in the reply and in neither bundle nor prompt.
///
/// Ids and addresses are looked for everywhere; the rest not in fenced code, which is an example and states
/// nothing. What is the same in another spelling is the same: case, separators, the forms of a date, rounding and
/// units of a number (see [`super::numbers`]).
pub(super) fn unsourced(bundle: &Bundle, prompt: &str, reply: &str) -> Unsourced {
    let all = expressions();
    let sources = Sources::of(bundle, prompt);
    let mut out = Unsourced::default();
    let (rest, found) = take(&all.own_id, reply, 0);
    out.artifacts = found.iter().filter(|id| !sources.names(id)).count();
    let (rest, found) = take(&all.foreign_id, &rest, 0);
    out.ids = found.iter().filter(|id| !sources.names(id)).count();
    let (rest, found) = take(&all.address, &rest, 0);
    out.addresses = found.iter().filter(|text| !sources.holds(text)).count();
    let prose = without_code(&rest);
    let lines: Vec<&str> = prose.lines().map(|line| without_mark(line.trim_start())).collect();
    let prose = lines.join("\n");
    let (rest, found) = take(&all.path, &prose, 1);
    out.paths = found.iter().filter(|text| !sources.holds(text)).count();
    let quoted = all.quote.captures_iter(&rest).filter_map(|c| c.iter().skip(1).flatten().next());
    out.quotes =
        quoted.filter(|m| m.as_str().split_whitespace().count() >= QUOTE_WORDS && !sources.holds(m.as_str())).count();
    let rest = all.quote.replace_all(&rest, " ").into_owned();
    let (rest, found) = take(&all.version, &rest, 0);
    out.versions = found.iter().filter(|text| !sources.has_version(text)).count();
    let dates = dates(&rest);
    out.dates = dates.iter().filter(|date| !sources.dated(date)).count();
    let rest = all.date.replace_all(&rest, " ");
    out.numbers = numbers(&rest).iter().filter(|number| !sources.numbers.explains(number)).count();
    out
}

/// The text without what an expression finds, and that, without final punctuation.
fn take(regex: &Regex, text: &str, group: usize) -> (String, Vec<String>) {
    let end = |text: &str| text.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']).to_owned();
    let found = regex.captures_iter(text).filter_map(|c| c.get(group)).map(|m| end(m.as_str())).collect();
    (regex.replace_all(text, " ").into_owned(), found)
}

/// `1.2.3` of `v1.2.3` and of `version 1.2.3`.
fn version(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_ascii_digit())
}

/// A date as far as it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Date {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    clock: Option<String>,
}

impl Date {
    /// Whether another date says all that this one says.
    fn within(&self, other: &Date) -> bool {
        let same = |mine: Option<u32>, theirs: Option<u32>| mine.is_none() || mine == theirs;
        let clock = self.clock.as_ref().is_none_or(|mine| {
            other
                .clock
                .as_ref()
                .is_some_and(|theirs| theirs.trim_start_matches('0').starts_with(mine.trim_start_matches('0')))
        });
        same(self.year, other.year) && same(self.month, other.month) && same(self.day, other.day) && clock
    }
}

fn dates(text: &str) -> Vec<Date> {
    let number = |text: Option<regex::Match<'_>>| text.and_then(|m| m.as_str().parse().ok());
    let month = |text: Option<regex::Match<'_>>| {
        let name = text?.as_str().to_lowercase();
        let at = MONTHS.iter().position(|known| name.starts_with(known))?;
        u32::try_from(at + 1).ok()
    };
    let one = |c: regex::Captures<'_>| Date {
        year: ["y", "y2", "y3", "y4", "y5"].into_iter().find_map(|name| number(c.name(name))),
        month: number(c.name("m")).or_else(|| ["mn", "mn3", "mn4"].into_iter().find_map(|name| month(c.name(name)))),
        day: ["d", "d2", "d3"].into_iter().find_map(|name| number(c.name(name))),
        clock: c.name("time").or_else(|| c.name("clock")).map(|m| m.as_str().to_owned()),
    };
    expressions().date.captures_iter(text).map(one).collect()
}

/// What a reply may draw on.
struct Sources {
    text: String,
    dates: Vec<Date>,
    numbers: Known,
}

impl Sources {
    fn of(bundle: &Bundle, prompt: &str) -> Sources {
        // A bundle that can't be printed has been printed before: it was rendered into the prompt.
        let shown = bundle.print().unwrap_or_default();
        let told: Vec<Number> = numbers(prompt);
        let both = format!("{shown}\n{prompt}");
        Sources { text: plain(&both), dates: dates(&both), numbers: Known::of(bundle, &shown, told) }
    }

    /// Whether the text stands there, in any case and spacing.
    fn holds(&self, text: &str) -> bool {
        self.text.contains(&plain(text))
    }

    /// Whether the text stands there by itself, not as a part of a longer name.
    fn names(&self, id: &str) -> bool {
        let id = plain(id);
        let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        self.text.match_indices(&id).any(|(at, found)| {
            let before = self.text.get(..at).and_then(|head| head.chars().next_back());
            let after = self.text.get(at + found.len()..).and_then(|tail| tail.chars().next());
            outside(before) && outside(after)
        })
    }

    /// A version with its `v` or without.
    fn has_version(&self, text: &str) -> bool {
        let number = version(text);
        self.names(number) || self.names(&format!("v{number}"))
    }

    fn dated(&self, date: &Date) -> bool {
        self.dates.iter().any(|known| date.within(known))
    }
}

#[cfg(test)]
mod tests {
    use super::super::validate::tests::BUNDLE;
    use super::*;

    fn counts(prompt: &str, reply: &str) -> String {
        let found = unsourced(&Bundle::parse(BUNDLE).unwrap(), prompt, reply);
        let artifacts = if found.artifacts > 0 { format!("artifacts={}", found.artifacts) } else { String::new() };
        [found.counts().unwrap_or_default(), artifacts].join("")
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
