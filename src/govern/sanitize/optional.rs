//! Kinds that a home asks for: numbers of cards and accounts, addresses of mail, telephone numbers.

use std::sync::LazyLock;

use regex::Regex;

use super::text::work;

/// A kind that is looked for where the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Optional {
    /// The number of a payment card: 13 to 19 digits whose check digit is right (Luhn).
    Card,
    /// The number of a bank account by ISO 13616, whose check digits are right (mod 97).
    Iban,
    /// An address of mail.
    Email,
    /// A telephone number with the code of its country, or in groups behind a zero.
    Phone,
}

/// All of them, by the name that the configuration has for each, and by the kind of what is found.
pub const OPTIONAL: [(&str, &str, Optional); 4] = [
    ("card", "card-number", Optional::Card),
    ("iban", "iban", Optional::Iban),
    ("email", "email", Optional::Email),
    ("phone", "phone-number", Optional::Phone),
];

/// All places of one kind.
pub fn look(text: &str, kind: Optional) -> Vec<(usize, usize)> {
    static CARD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[0-9](?:[ -]?[0-9]){12,18}").ok());
    static IBAN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,8}").ok());
    static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}")
            .ok()
    });
    static PHONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:\+[1-9][0-9]{0,2}|00[1-9][0-9]?)[ ./-]?(?:\(0?\)[ ]?)?(?:\(?[0-9]{1,5}\)?[ ./-]?){2,6}[0-9]{2,5}|\(?0[1-9][0-9]{1,4}\)?[ ]?[ /-][ ]?(?:[0-9]{2,8}[ /-]?){1,4}[0-9]{2,4}").ok()
    });
    work::count(text.len());
    let expression = match kind {
        Optional::Card => &CARD,
        Optional::Iban => &IBAN,
        Optional::Email => &EMAIL,
        Optional::Phone => &PHONE,
    };
    // Ours, and read by a test; if one could not be used, nothing must pass.
    let Some(expression) = expression.as_ref() else {
        return vec![(0, text.len())];
    };
    let apart = |found: &regex::Match<'_>| {
        let before = text
            .get(..found.start())
            .and_then(|before| before.chars().next_back());
        let after = text
            .get(found.end()..)
            .and_then(|after| after.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    };
    let fits = |found: &regex::Match<'_>| match kind {
        Optional::Card => apart(found) && is_card(found.as_str()),
        Optional::Phone => {
            apart(found)
                && (8..=15).contains(&found.as_str().bytes().filter(u8::is_ascii_digit).count())
        }
        Optional::Iban | Optional::Email => true,
    };
    let places = expression.find_iter(text).filter(fits);
    match kind {
        Optional::Iban => places
            .filter(apart_before(text))
            .filter_map(|found| iban(found.as_str(), found.start()))
            .collect(),
        _ => places.map(|found| (found.start(), found.end())).collect(),
    }
}

fn apart_before(text: &str) -> impl Fn(&regex::Match<'_>) -> bool + '_ {
    |found| {
        !text
            .get(..found.start())
            .and_then(|before| before.chars().next_back())
            .is_some_and(char::is_alphanumeric)
    }
}

/// Whether the last digit is the one that the others ask for (Luhn).
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            if at % 2 == 0 {
                *digit
            } else if *digit > 4 {
                digit * 2 - 9
            } else {
                digit * 2
            }
        })
        .sum();
    (13..=19).contains(&digits.len())
        && sum.is_multiple_of(10)
        && digits.iter().any(|digit| *digit != digits[0])
}

/// The longest account number that begins there: words of the sentence may stand behind it in
/// capitals.
fn iban(text: &str, base: usize) -> Option<(usize, usize)> {
    let ends = text
        .char_indices()
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .map(|(at, _)| at + 1);
    let fits = |end: &usize| {
        let whole: String = text
            .get(..*end)
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        (15..=34).contains(&whole.len()) && remainder(&whole) == 1
    };
    let end = ends.filter(fits).max()?;
    Some((base, base + end))
}

/// The number modulo 97, its first four characters at the end, letters as two digits.
fn remainder(whole: &str) -> u32 {
    let (head, tail) = whole.split_at(4);
    tail.chars()
        .chain(head.chars())
        .filter_map(|c| c.to_digit(36))
        .fold(0, |rest, digit| {
            if digit > 9 {
                (rest * 100 + digit) % 97
            } else {
                (rest * 10 + digit) % 97
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_tell_numbers_from_numbers() {
        let of = |text: &str, kind| {
            look(text, kind)
                .iter()
                .map(|(a, b)| text[*a..*b].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("card 4111 1111 1111 1111 ok", Optional::Card),
            ["4111 1111 1111 1111"]
        );
        assert_eq!(
            of("5500005555555559.", Optional::Card),
            ["5500005555555559"]
        );
        assert!(
            of(
                "order 4111 1111 1111 1112, 0000 0000 0000 0000",
                Optional::Card
            )
            .is_empty()
        );
        assert_eq!(
            of("to DE89 3704 0044 0532 0130 00 BY MAY", Optional::Iban),
            ["DE89 3704 0044 0532 0130 00"]
        );
        assert_eq!(
            of("GB29NWBK60161331926819", Optional::Iban),
            ["GB29NWBK60161331926819"]
        );
        assert!(
            of(
                "DE88 3704 0044 0532 0130 00, version AB12 CDEF",
                Optional::Iban
            )
            .is_empty()
        );
        assert_eq!(
            of("mail ann.bee+x@mail.example.org, thanks", Optional::Email),
            ["ann.bee+x@mail.example.org"]
        );
        assert!(of("user@host, @name, a@b", Optional::Email).is_empty());
        for phone in [
            "+49 30 901820",
            "+1-202-555-0143",
            "0041 44 668 18 00",
            "030 / 901820",
            "(0711) 12345678",
        ] {
            assert_eq!(of(&format!("call {phone} now"), Optional::Phone), [phone]);
        }
        assert!(
            of(
                "2026-11-23 10:00, 12.5 of 4711, 0.25, 192.168.0.1",
                Optional::Phone
            )
            .is_empty()
        );
    }
}
