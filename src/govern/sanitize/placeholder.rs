//! What stands in place of a secret, and which number a secret has.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ring::hmac;

use super::text::span::SecretSpan;

/// How a placeholder begins.
pub(super) const OPEN: &str = "[redacted:";
/// Longest name inside a placeholder, with its number.
const MAX_NAME: usize = super::rules::file::MAX_ID + 8;
/// Most digits of a number.
const MAX_DIGITS: usize = 6;

/// HMAC-SHA-256 of a secret under a session's key: says that two secrets are the same, and nothing
/// else.
pub type SecretTag = [u8; 32];

/// The numbers that a session has given to secrets.
///
/// Holds no secret: only tags under a key that is forgotten when the session closes. The same
/// secret has the same kind and number for as long as one of these lives, or is read back
/// ([`Placeholders::known`]).
#[derive(Clone)]
pub struct Placeholders {
    key: [u8; 32],
    /// HMAC-SHA-256 that has read the key: half of what a tag costs. None where nothing outlives
    /// one text.
    keyed: Option<hmac::Key>,
    by_tag: HashMap<SecretTag, (Arc<str>, u32)>,
    highest: HashMap<Arc<str>, u32>,
    new: Vec<NewPlaceholder>,
}

/// A number that was given and is not on record yet.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPlaceholder {
    /// What kind of secret: `aws-access-key`.
    pub kind: String,
    /// From 1, within the kind.
    pub number: u32,
    /// Fingerprint of the secret that it stands for.
    pub tag: SecretTag,
}

impl fmt::Debug for Placeholders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Placeholders({} known, {} new)",
            self.by_tag.len(),
            self.new.len()
        )
    }
}

impl fmt::Debug for NewPlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewPlaceholder({} {})", self.kind, self.number)
    }
}

impl Placeholders {
    /// None given yet, under a fresh random key.
    pub fn new(key: [u8; 32]) -> Self {
        let keyed = Some(hmac::Key::new(hmac::HMAC_SHA256, &key));
        Placeholders {
            key,
            keyed,
            by_tag: HashMap::new(),
            highest: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// Numbers for one text only: nothing is remembered of its secrets.
    pub fn of_one_text() -> Self {
        Placeholders {
            key: [0; 32],
            keyed: None,
            by_tag: HashMap::new(),
            highest: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// Those of an open session, as they are on record.
    pub fn known(key: [u8; 32], given: impl IntoIterator<Item = NewPlaceholder>) -> Self {
        let mut all = Placeholders::new(key);
        for NewPlaceholder { kind, number, tag } in given {
            let kind = all.saw(&kind, number);
            all.by_tag.insert(tag, (kind, number));
        }
        all
    }

    /// A number that is nobody's any more, and must not be given again: its secret was forgotten.
    pub fn taken(&mut self, kind: &str, number: u32) {
        self.saw(kind, number);
    }

    /// The key of the tags.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// What was given since these were made or last taken: to be recorded with the text it stands
    /// in.
    pub fn take_new(&mut self) -> Vec<NewPlaceholder> {
        std::mem::take(&mut self.new)
    }

    /// A placeholder stands in a text: its number is nobody else's.
    pub(super) fn saw(&mut self, kind: &str, number: u32) -> Arc<str> {
        let known = self
            .highest
            .get_key_value(kind)
            .map(|(kind, _)| kind.clone());
        let kind = known.unwrap_or_else(|| Arc::from(kind));
        let highest = self.highest.entry(kind.clone()).or_default();
        *highest = number.max(*highest);
        kind
    }

    /// The placeholder of a secret: the one it has, or a new one of its kind.
    pub(super) fn of(&mut self, secret: &str, kind: &str) -> String {
        let tag = self.tag(secret);
        if let Some((kind, number)) = tag.and_then(|tag| self.by_tag.get(&tag)) {
            return spelled(kind, *number);
        }
        let number = self.highest.get(kind).map_or(1, |highest| highest + 1);
        let name = self.saw(kind, number);
        if let Some(tag) = tag {
            self.by_tag.insert(tag, (name, number));
            self.new.push(NewPlaceholder {
                kind: kind.to_owned(),
                number,
                tag,
            });
        }
        spelled(kind, number)
    }

    fn tag(&self, secret: &str) -> Option<SecretTag> {
        let tag = hmac::sign(self.keyed.as_ref()?, secret.as_bytes());
        Some(tag.as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes"))
    }
}

fn spelled(kind: &str, number: u32) -> String {
    if number == 1 {
        format!("{OPEN}{kind}]")
    } else {
        format!("{OPEN}{kind}-{number}]")
    }
}

/// Whether something may have been taken out of a text.
pub fn has_placeholder(text: &str) -> bool {
    text.contains(OPEN)
}

/// A text as policy sees it: placeholders without their numbers.
///
/// Which number a secret has depends on what was named before it in its session, also by replies.
/// So that no answer changes what policy matches, or how long a question is,
/// `[redacted:password-3]` is `[redacted:password]` to it.
pub fn unnumbered(text: &str) -> Cow<'_, str> {
    let (mut out, mut done) = (String::new(), 0);
    for (at, _) in text.match_indices(OPEN) {
        let Some(name) = text
            .get(at + OPEN.len()..)
            .and_then(|rest| rest.split(']').next())
        else {
            continue;
        };
        let Some((kind, digits)) = name.rsplit_once('-') else {
            continue;
        };
        let is_number =
            (1..=MAX_DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let ends = text.as_bytes().get(at + OPEN.len() + name.len()) == Some(&b']');
        if is_number && ends && name.len() <= MAX_NAME && at >= done {
            out.push_str(
                text.get(done..at + OPEN.len() + kind.len())
                    .unwrap_or_default(),
            );
            done = at + OPEN.len() + name.len();
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Kind, number and length of the placeholder that a text begins with.
///
/// Only of known kinds, so that a text can't hide a secret inside brackets.
fn at_start<'a>(text: &'a str, is_kind: &dyn Fn(&str) -> bool) -> Option<(&'a str, u32, usize)> {
    let rest = text.strip_prefix(OPEN)?;
    let name = rest.get(..rest.bytes().take(MAX_NAME).position(|b| b == b']')?)?;
    let length = OPEN.len() + name.len() + 1;
    if is_kind(name) {
        return Some((name, 1, length));
    }
    let (kind, digits) = name.rsplit_once('-')?;
    let is_number = (1..=MAX_DIGITS).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|b| b.is_ascii_digit());
    let number = digits
        .parse()
        .ok()
        .filter(|number| is_number && *number > 1)?;
    is_kind(kind).then_some((kind, number, length))
}

/// All placeholders of a text: place, kind, number.
pub(super) fn all<'a>(
    text: &'a str,
    is_kind: &dyn Fn(&str) -> bool,
) -> Vec<((usize, usize), &'a str, u32)> {
    text.match_indices(OPEN)
        .filter_map(|(at, _)| {
            let (kind, number, length) = at_start(text.get(at..)?, is_kind)?;
            Some(((at, at + length), kind, number))
        })
        .collect()
}

/// The text with a placeholder for every span.
pub(super) fn rebuilt(
    text: &str,
    found: &[SecretSpan],
    kinds: &[String],
    placeholders: &mut Placeholders,
) -> String {
    let mut names: HashMap<&str, String> = HashMap::new();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for span in found {
        out.push_str(text.get(done..span.start).unwrap_or_default());
        let secret = text.get(span.start..span.end).unwrap_or_default();
        let kind = kinds.get(span.kind).map_or("secret", String::as_str);
        out.push_str(
            names
                .entry(secret)
                .or_insert_with(|| placeholders.of(secret, kind)),
        );
        done = span.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_sees_no_number() {
        for (text, seen) in [
            ("", ""),
            ("plain -2]", "plain -2]"),
            ("a [redacted:password-2] b", "a [redacted:password] b"),
            (
                "[redacted:aws-access-key-12][redacted:aws-access-key]",
                "[redacted:aws-access-key][redacted:aws-access-key]",
            ),
            (
                "[redacted:[redacted:password-7]",
                "[redacted:[redacted:password]",
            ),
            ("[redacted:password-2", "[redacted:password-2"),
            ("[redacted:password-]", "[redacted:password-]"),
            ("[redacted:password-1234567]", "[redacted:password-1234567]"),
            ("é [redacted:pin-3] é", "é [redacted:pin] é"),
        ] {
            assert_eq!(unnumbered(text), seen);
            assert_eq!(unnumbered(seen), seen);
        }
    }
}
