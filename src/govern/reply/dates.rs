//! Dates and times of day in a text, and whether other dates say the same (AEGIS 9, *evidence*).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use regex::Regex;

use crate::govern::sanitize::count;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

fn expression() -> &'static Regex {
    const MONTH: &str = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
    static ONCE: OnceLock<Regex> = OnceLock::new();
    ONCE.get_or_init(|| {
        Regex::new(&format!(
                r"(?i-u)\b(?:(?P<y>[0-9]{{4}})-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}})(?:[t ](?P<time>[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?)z?)?|(?P<mn>{MONTH})\.? (?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<y2>[0-9]{{4}}))?|(?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?(?P<mn3>{MONTH})\.?(?:,? (?P<y3>[0-9]{{4}}))?|(?P<mn4>{MONTH}) (?P<y4>[0-9]{{4}})|(?P<clock>[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?)|(?P<y5>(?:1[0-9]|20)[0-9]{{2}})s?)(?:\b|$)"
        ))
        .expect("a test compiles it")
    })
}

/// A date as far as it is said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::govern) struct Date {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Without leading zeros.
    clock: Option<String>,
}

fn date(found: &regex::Captures<'_>) -> Date {
    let number = |name: &&str| found.name(name).and_then(|m| m.as_str().parse().ok());
    let month = |name: &&str| {
        let name = found.name(name)?.as_str().to_lowercase();
        let at = MONTHS.iter().position(|known| name.starts_with(known))?;
        u32::try_from(at + 1).ok()
    };
    let clock = found.name("time").or_else(|| found.name("clock"));
    Date {
        year: ["y", "y2", "y3", "y4", "y5"].iter().find_map(number),
        month: number(&"m").or_else(|| ["mn", "mn3", "mn4"].iter().find_map(month)),
        day: ["d", "d2", "d3"].iter().find_map(number),
        clock: clock.map(|m| m.as_str().trim_start_matches('0').to_owned()),
    }
}

/// Whether a text has what every date has one of, beside digits: four of them together, a colon
/// between two, or the name of a month. Without it there is nothing to compile an expression for.
fn may_have_dates(text: &str) -> bool {
    let text = text.as_bytes();
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let month = |part: &[u8]| {
        MONTHS
            .iter()
            .any(|m| part.eq_ignore_ascii_case(m.as_bytes()))
    };
    let clock = |part: &[u8]| matches!(part, [a, b':', c] if digits(&[*a, *c]));
    text.iter().any(u8::is_ascii_digit)
        && (text.windows(4).any(digits) || text.windows(3).any(|part| clock(part) || month(part)))
}

/// The dates of a text.
pub(in crate::govern) fn dates(text: &str) -> Vec<Date> {
    if !may_have_dates(text) {
        return Vec::new();
    }
    expression()
        .captures_iter(text)
        .map(|found| date(&found))
        .collect()
}

/// The text without its dates, and those.
pub(in crate::govern) fn take_dates(text: &str) -> (String, Vec<Date>) {
    if !may_have_dates(text) {
        return (text.to_owned(), Vec::new());
    }
    (
        expression().replace_all(text, " ").into_owned(),
        dates(text),
    )
}

/// Which parts a date says.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DateParts {
    year: bool,
    month: bool,
    day: bool,
    /// How many characters of the time of day; none when it says none.
    clock: Option<usize>,
}

impl Date {
    fn parts(&self) -> DateParts {
        DateParts {
            year: self.year.is_some(),
            month: self.month.is_some(),
            day: self.day.is_some(),
            clock: self.clock.as_ref().map(String::len),
        }
    }

    /// As far as those parts; none when it does not say the time of day so far.
    fn cut(&self, parts: DateParts) -> Option<Date> {
        let clock = match parts.clock {
            None => None,
            Some(length) => Some(self.clock.as_ref()?.get(..length)?.to_owned()),
        };
        let kept = |part: Option<u32>, is_said: bool| part.filter(|_| is_said);
        Some(Date {
            year: kept(self.year, parts.year),
            month: kept(self.month, parts.month),
            day: kept(self.day, parts.day),
            clock,
        })
    }
}

/// Dates that were shown or said.
pub(in crate::govern) struct Dates {
    all: HashSet<Date>,
    /// They, cut to the parts that some date says: made when first asked for.
    cut: RefCell<HashMap<DateParts, HashSet<Date>>>,
}

impl Dates {
    /// Of a list.
    pub fn of(list: Vec<Date>) -> Dates {
        Dates {
            all: list.into_iter().collect(),
            cut: RefCell::default(),
        }
    }

    /// How many dates say what none of these does: a date has its source in one that says all that
    /// it says.
    pub fn missing(&self, dates: &[Date]) -> usize {
        dates.iter().filter(|date| !self.say(date)).count()
    }

    fn say(&self, date: &Date) -> bool {
        count(1);
        let parts = date.parts();
        let mut cut = self.cut.borrow_mut();
        let known = cut.entry(parts).or_insert_with(|| {
            count(self.all.len());
            self.all
                .iter()
                .filter_map(|known| known.cut(parts))
                .collect()
        });
        known.contains(date)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::steps;

    #[test]
    fn a_date_is_said_by_one_that_says_as_much() {
        let known = Dates::of(dates(
            "It was at 14:35:10 on 3 March 1998, and once in 2004; 2026-01-08T09:05:00Z.",
        ));
        for said in [
            "3 March",
            "1998-03-03",
            "March 1998",
            "1998",
            "14:35",
            "14:35:10",
            "2004",
            "9:05",
            "8 January 2026",
        ] {
            assert_eq!(known.missing(&dates(said)), 0, "{said}");
        }
        for other in [
            "4 March",
            "March 2004",
            "1997",
            "14:36",
            "14:35:11",
            "10:05",
            "9 January",
        ] {
            assert_eq!(known.missing(&dates(other)), 1, "{other}");
        }
        assert_eq!(Dates::of(vec![]).missing(&dates("1998 and 14:35")), 2);
    }

    #[test]
    fn what_has_a_date_may_have_one() {
        for text in [
            "1998-03-03",
            "MAR 3",
            "3rd of march",
            "Sept. 4",
            "May 2004",
            "9:05",
            "in the 1990s",
            "2004",
            "12 dec",
            "a 7",
            "17%",
            "v1.2.3",
            "10 000",
            "5:a",
            "20:15:00",
            "August",
            "999",
        ] {
            assert!(
                may_have_dates(text) || !expression().is_match(text),
                "{text}"
            );
        }
        for text in ["", "March", "17% of 3.2 GB", "a: 7", "123,456"] {
            assert!(!may_have_dates(text), "{text}");
        }
    }

    #[test]
    fn twice_as_many_dates_are_twice_the_work() {
        let text = |many: u32| {
            (0..many).map(|n| {
                format!(
                    "{}:{:02} on {} May {} ",
                    n % 24,
                    n % 60,
                    n % 28 + 1,
                    1000 + n % 1000
                )
            })
        };
        let spent = |many: u32| {
            let (known, told) = (
                text(many).collect::<String>(),
                text(2 * many).skip(many as usize).collect::<String>(),
            );
            let before = steps();
            let _ = Dates::of(dates(&known)).missing(&dates(&told));
            steps() - before
        };
        let (one, two) = (spent(1000), spent(2000));
        assert!(two <= 2 * one + 100, "{one} and {two}");
    }
}
