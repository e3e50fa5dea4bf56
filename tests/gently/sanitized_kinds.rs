//! Made-up secrets of every kind that has a documented form, and texts that look like them: what is
//! removed, what stays.
//!
//! `tests/data/sanitizer/secrets.txt` and `plain.txt` hold the forms; the characters are made here,
//! from a seed, so that no token stands in this repository and no rule can know one.

use std::collections::BTreeMap;

use gently::govern::sanitize::redact;

const SECRETS: &str = include_str!("../data/sanitizer/secrets.txt");
const PLAIN: &str = include_str!("../data/sanitizer/plain.txt");
/// How often each form is made.
const TIMES: usize = 6;

/// Numbers that look random and are the same everywhere (xorshift).
pub struct Dice(pub u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % most
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn letters(&mut self, alphabet: &str, count: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..count)
            .map(|_| alphabet[self.below(alphabet.len())])
            .collect()
    }
}

/// `A-Za-z0-9_`: every character of a class.
fn class(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while at < all.len() {
        if at + 2 < all.len() && all[at + 1] == '-' {
            out.extend(all[at]..=all[at + 2]);
            at += 3;
        } else {
            out.push(all[at]);
            at += 1;
        }
    }
    out
}

const WORDS: &[&str] = &[
    "river", "stone", "monkey", "dragon", "summer", "london", "tiger", "guitar", "silver", "coffee",
];

/// A password as people choose them.
fn password(dice: &mut Dice) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let (one, two, sign) = (
        dice.of(WORDS),
        dice.of(WORDS),
        dice.of(&["!", "#", "%", "?", "*", "+", "@"]),
    );
    let number = 10 + dice.below(9990);
    let mixed = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    match dice.below(7) {
        0 => format!("{}{number}{sign}", capital(one)),
        1 => format!("{one}{number}"),
        2 => dice.letters(mixed, 12),
        3 => format!("{}{sign}{}{number}", &one[..4], capital(two)),
        4 => dice.letters(&format!("{mixed}!#%?*"), 10),
        5 => format!("{}-{}-{number}", capital(one), capital(two)),
        _ => format!("{}{number}", one.replace('o', "0").replace('e', "3")),
    }
}

/// Fills a form: the text, and the secret in it.
pub fn filled(form: &str, dice: &mut Dice) -> (String, String) {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('‹') {
        let (inside, after) = after.split_once('›').unwrap();
        text.push_str(before);
        match inside {
            "pw" => text.push_str(&password(dice)),
            "host" => text.push_str(dice.of(&["db.example.org", "10.0.0.4", "srv01"])),
            "user" => text.push_str(dice.of(&["bob", "admin", "deploy", "svc_ci"])),
            letters => {
                let (letters, count) = letters.rsplit_once(':').unwrap();
                text.push_str(&dice.letters(&class(letters), count.parse().unwrap()));
            }
        }
        rest = after;
    }
    text.push_str(rest);
    let text = text
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\\\", "\\");
    let secret = text
        .split_once('«')
        .and_then(|(_, rest)| rest.split_once('»'))
        .map_or("", |(secret, _)| secret);
    (text.replace(['«', '»'], ""), secret.to_owned())
}

pub fn forms(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        line.split_once('\t')
            .unwrap_or_else(|| panic!("no tab: {line}"))
    })
}

#[test]
fn secrets_of_every_documented_form_are_removed() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (kind, form) in forms(SECRETS) {
        let mut removed = 0;
        for _ in 0..TIMES {
            let (text, secret) = filled(form, &mut dice);
            assert!(!secret.is_empty() && text.contains(&secret), "{form}");
            removed += usize::from(!redact(&text).clean.as_str().contains(&secret));
        }
        let count = counts.entry(kind).or_default();
        *count = (count.0 + removed, count.1 + TIMES);
        if removed < TIMES {
            println!("{removed} of {TIMES}: {form}");
        }
    }
    println!("{counts:?}");
    for (kind, least) in [
        ("vendor", 99),
        ("password", 97),
        ("secret", 97),
        ("prose", 93),
    ] {
        let (removed, all) = counts[kind];
        assert!(removed * 100 >= all * least, "{kind}: {removed} of {all}");
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut alarms, mut all) = (Vec::new(), 0);
    for (_, form) in forms(PLAIN) {
        for _ in 0..TIMES / 2 {
            let (text, _) = filled(form, &mut dice);
            let clean = redact(&text).clean;
            all += 1;
            if clean.as_str() != text {
                alarms.push(clean.as_str().to_owned());
            }
        }
    }
    println!("{} of {all}", alarms.len());
    assert!(alarms.len() * 100 <= all, "{alarms:#?}");
}
