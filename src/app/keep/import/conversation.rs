//! One conversation of a source, without its secrets, as the record takes it.

use std::borrow::Cow;
use std::ops::Range;

use crate::govern::sanitize::{Clean, Placeholders, redact, redact_with};
use crate::import::{SourceConversation, SourceMessage};
use crate::keys::ImportKey;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::imported::{HIDDEN_ID, ImportFormat, MAX_MESSAGES};
use crate::record::time::Seconds;
use crate::recorder::{ArtifactField, ArtifactFields, SourceTag};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Longest id of a source that stands on record as it is, in bytes.
const LONGEST_ID: usize = 200;
/// So short a word of letters and digits is never taken for a secret.
const SHORT_ID: usize = 16;
/// So many digits of a tag tell one hidden id from others.
const HIDDEN: usize = 32;

/// A conversation as it is recorded, but for who received it, with which import, and in whose place.
pub struct CleanConversation {
    /// What its document says.
    pub said: Vec<(&'static str, ArtifactField)>,
    /// SHA-256 of that.
    pub digest: Hash32,
    /// How many secrets were removed.
    pub removed: u64,
    /// About how many bytes it has.
    pub bytes: usize,
}

/// A time of a source, where the record can hold it: from 1970 to the end of 9999.
pub fn time_of(at: Option<i64>) -> Option<Seconds> {
    Seconds::new(u64::try_from(at?).ok()?).ok()
}

/// What looking for secrets over parts of messages may still cost in one conversation.
struct SeamSearch<'a> {
    /// So many bytes may still be looked at.
    left: usize,
    cancelled: &'a CancellationToken,
}

impl SeamSearch<'_> {
    /// So many bytes are looked at in any conversation, whatever it is made of: some seconds of work.
    const LEAST: usize = 16 << 20;
    /// So many more for each byte of its texts: what stands around a place where two parts meet, in each of the
    /// ways in which they may.
    const EACH: usize = 8;

    /// How many bytes of a text are secrets; none where it costs too much to see, or nobody wants to know any
    /// more.
    fn taken(&mut self, text: &str) -> Option<usize> {
        self.left = self.left.checked_sub(text.len())?;
        (!self.cancelled.is_cancelled()).then(|| taken(text))
    }

    /// How many bytes are secrets at most, of what stands before two parts that meet in a way, and behind them.
    fn most(&mut self, left: &str, between: &str, behind: &[String]) -> Option<usize> {
        behind.iter().try_fold(0, |most, right| {
            let taken = self.taken(&format!("{left}{between}{right}"))?;
            Some(most.max(taken))
        })
    }

    /// What is put between two parts so that most is taken out; `seams` begins with the one between them.
    fn way(&mut self, before: &str, text: &str, seams: &[Range<usize>]) -> Option<String> {
        let here = text.get(seams.first()?.clone()).unwrap_or_default();
        let left = near_end(before);
        let behind = ways_behind(text, seams, left.contains(KEY_BLOCK));
        let (mut best, mut most) = (here.to_owned(), self.most(left, here, &behind)?);
        for way in ways_between(here) {
            let taken = self.most(left, &way, &behind)?;
            if taken > most {
                (best, most) = (way, taken);
            }
        }
        Some(best)
    }
}

/// A text whose parts meet so that most is taken out of it: where a secret is split over some of them, what
/// stands between them goes, and marks of what is no text come behind. None where that costs too much to see.
fn joined<'t>(
    text: &'t str,
    seams: &[Range<usize>],
    search: &mut SeamSearch<'_>,
) -> Option<Cow<'t, str>> {
    let [first, ..] = seams else {
        return Some(Cow::Borrowed(text));
    };
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut whole = part(0..first.start).to_owned();
    let mut marks: Vec<&str> = Vec::new();
    for (n, seam) in seams.iter().enumerate() {
        let here = part(seam.clone());
        let way = search.way(&whole, text, &seams[n..])?;
        match way == here {
            true => {
                put_marks(&mut whole, &mut marks);
                whole.push_str(here);
            }
            false => {
                whole.push_str(&way);
                marks.extend(here.lines().map(str::trim).filter(|mark| !mark.is_empty()));
            }
        }
        let end = seams.get(n + 1).map_or(text.len(), |next| next.start);
        whole.push_str(part(seam.end..end));
    }
    put_marks(&mut whole, &mut marks);
    Some(Cow::Owned(whole))
}

/// Puts marks, each on a line of its own, behind a text from between whose parts they were taken.
fn put_marks(text: &mut String, marks: &mut Vec<&str>) {
    for mark in marks.drain(..) {
        text.push('\n');
        text.push_str(mark);
    }
}

/// What may be taken to stand between two parts, beside what does: nothing; the blanks at their ends, and no
/// break; a blank in the place of marks.
fn ways_between(here: &str) -> Vec<String> {
    let is_marked = !here.trim().is_empty();
    let blanks: String = match is_marked {
        true => " ".to_owned(),
        false => here.chars().filter(|c| !matches!(c, '\n' | '\r')).collect(),
    };
    let blanks = Some(blanks).filter(|blanks| !blanks.is_empty());
    [String::new()].into_iter().chain(blanks).collect()
}

/// The last place up to `at` where a character begins.
fn boundary_before(text: &str, at: usize) -> usize {
    let places = (0..=at).rev();
    let mut begins = places.filter(|at| text.is_char_boundary(*at));
    begins.next().unwrap_or_default()
}

/// How a key begins that stands on several lines, and takes more room than any other secret.
const KEY_BLOCK: &str = "-----BEGIN";
/// So much is looked at of a word that is not ended, and of such a key.
const FAR: usize = 4 << 10;
/// So much around such a word.
const NEAR: usize = 400;

/// The end of a text in which a secret may begin that goes on behind it: its last word, with what stands before
/// that, or the key that it is in.
fn near_end(text: &str) -> &str {
    let tail = |most: usize| {
        let from = boundary_before(text, text.len().saturating_sub(most));
        text.get(from..).unwrap_or_default()
    };
    let far = tail(FAR);
    if let Some(begin) = far.rfind(KEY_BLOCK) {
        return far.get(begin..).unwrap_or_default();
    }
    let word = far.rsplit(char::is_whitespace).next().unwrap_or_default();
    tail((word.len() + NEAR).min(FAR))
}

/// How much of a text a secret can go on in that began before it: its first word, with what stands behind that.
fn near_begin(text: &str, is_key: bool) -> usize {
    match text.find(char::is_whitespace) {
        Some(end) if !is_key => (end + NEAR).min(FAR),
        _ => FAR,
    }
}

/// What may stand behind the first of some seams: one part, two that meet without a break, three, and so
/// on, each with the beginning of the part behind it.
fn ways_behind(text: &str, seams: &[Range<usize>], is_key: bool) -> Vec<String> {
    /// A secret is looked for in so many parts at most.
    const MOST_PARTS: usize = 24;
    let (mut met, mut ways) = (String::new(), Vec::new());
    for (n, seam) in seams.iter().enumerate().take(MOST_PARTS) {
        let room = FAR.saturating_sub(met.len());
        let next = seams.get(n + 1);
        let end = next.map_or(text.len(), |next| next.start);
        let end = boundary_before(text, end.min(seam.end + room));
        met.push_str(text.get(seam.end..end).unwrap_or_default());
        let most = near_begin(&met, is_key);
        if met.len() >= most {
            met.truncate(boundary_before(&met, most));
            ways.push(met);
            break;
        }
        let rest = next.filter(|next| next.start == end).map(|next| {
            let end = next.end + most - met.len();
            let end = boundary_before(text, text.len().min(end));
            text.get(next.start..end).unwrap_or_default()
        });
        ways.push(format!("{met}{}", rest.unwrap_or_default()));
    }
    ways
}

/// How many bytes of a text are secrets.
fn taken(text: &str) -> usize {
    let found = redact(text).found.into_iter();
    found.map(|one| one.end - one.start).sum()
}

/// The id of a conversation or a message as it stands on record. One that looks like a secret, or is no
/// plain word, stands there as a hash under the home's own key: the same id is the same there, and
/// nobody else can guess it.
pub fn id_on_record(key: &ImportKey, id: &str) -> String {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:#/".contains(&byte);
    let is_plain = id.len() <= LONGEST_ID && !id.is_empty() && id.bytes().all(is_letter);
    // One that begins like a hash is hashed, so that none is taken for another's.
    let is_plain = is_plain && !id.starts_with(HIDDEN_ID);
    let is_known = id.len() <= SHORT_ID || id.parse::<Uuid>().is_ok();
    match is_plain && (is_known || redact(id).found.is_empty()) {
        true => id.to_owned(),
        false => {
            let tag = key.tag([id.as_bytes()].into_iter());
            let digits = Hash32::from_bytes(tag).to_string();
            format!("{HIDDEN_ID}{}", digits.get(..HIDDEN).unwrap_or(&digits))
        }
    }
}

/// What the source of a conversation is like, under these rules for secrets.
pub fn tag_of(
    key: &ImportKey,
    rules: Hash32,
    format: ImportFormat,
    source: &SourceConversation,
) -> SourceTag {
    let time = |at: Option<i64>| at.map(i64::to_be_bytes);
    let (created, updated) = (time(source.created_at), time(source.updated_at));
    let text = |text: &'_ Option<String>| text.clone();
    let mut parts: Vec<Vec<u8>> = vec![
        rules.to_string().into_bytes(),
        format.name().as_bytes().to_vec(),
        source.source_id.clone().into_bytes(),
    ];
    let optional = |parts: &mut Vec<Vec<u8>>, value: Option<&[u8]>| {
        parts.push(vec![u8::from(value.is_some())]);
        parts.push(value.unwrap_or_default().to_vec());
    };
    for word in [&source.title, &source.project, &source.current] {
        optional(&mut parts, text(word).as_deref().map(str::as_bytes));
    }
    optional(&mut parts, created.as_ref().map(|at| &at[..]));
    optional(&mut parts, updated.as_ref().map(|at| &at[..]));
    let mut small: Vec<Vec<Vec<u8>>> = Vec::with_capacity(source.messages.len());
    for message in &source.messages {
        let mut role = message.role.name().as_bytes().to_vec();
        // How its parts meet says which secrets are looked for: where a reader finds more parts in what was recorded
        // before, it is cleaned anew.
        for seam in &message.seams {
            let ends = [seam.start, seam.end].map(|end| u64::try_from(end).unwrap_or(u64::MAX));
            role.extend(ends.map(u64::to_be_bytes).as_flattened());
        }
        let mut parts = vec![role];
        optional(&mut parts, message.parent.as_deref().map(str::as_bytes));
        optional(&mut parts, message.model.as_deref().map(str::as_bytes));
        optional(&mut parts, time(message.at).as_ref().map(|at| &at[..]));
        small.push(parts);
    }
    let messages = source
        .messages
        .iter()
        .zip(&small)
        .flat_map(|(message, parts)| {
            let texts = [message.id.as_bytes(), message.text.as_bytes()];
            texts.into_iter().chain(parts.iter().map(Vec::as_slice))
        });
    let of_source = key.tag(parts.iter().map(Vec::as_slice).chain(messages));
    let mut tag: SourceTag = [0; size_of::<SourceTag>()];
    let (source, mark) = tag.split_at_mut(of_source.len());
    source.copy_from_slice(&of_source);
    mark.copy_from_slice(&key.mark());
    tag
}

/// Takes the secrets out of a conversation; why it can't be recorded, in a word and a sentence.
pub fn cleaned(
    key: &ImportKey,
    format: ImportFormat,
    source: &SourceConversation,
    cancelled: &CancellationToken,
) -> Result<CleanConversation, (&'static str, String)> {
    let count = source.messages.len();
    if count > MAX_MESSAGES {
        let why = format!("it has {count} messages, at most {MAX_MESSAGES} are taken");
        return Err(("too_large", why));
    }
    let mut cleaner = ConversationCleaner {
        key,
        numbers: Placeholders::new([0; 32]),
        removed: 0,
        bytes: 0,
        search: SeamSearch {
            left: SeamSearch::LEAST
                + SeamSearch::EACH
                    * source
                        .messages
                        .iter()
                        .map(|one| one.text.len())
                        .sum::<usize>(),
            cancelled,
        },
    };
    let time = |at| time_of(at).map_or(ArtifactField::Null, |at| ArtifactField::Number(at.get()));
    let title = cleaner.optional(source.title.as_deref());
    let project = cleaner.optional(source.project.as_deref());
    let messages = source
        .messages
        .iter()
        .map(|message| cleaner.message(message));
    let messages = messages.collect::<Option<_>>().ok_or_else(|| {
        let why =
            "its messages have too many parts to look for secrets over each two of them".to_owned();
        ("too_many_parts", why)
    })?;
    let current = cleaner.id(source.current.as_deref());
    let said = vec![
        ("created_at", time(source.created_at)),
        ("current", current),
        ("format", ArtifactField::Word(format.name().to_owned())),
        ("messages", ArtifactField::List(messages)),
        ("project", project),
        ("source_id", cleaner.id(Some(&source.source_id))),
        ("title", title),
        ("updated_at", time(source.updated_at)),
    ];
    // What stands beside it on record is no part of what it says; see `record::ledger::imported::digest_of`.
    let digest = canon::digest(&ArtifactFields(&said)).map_err(|error| {
        let why = format!("it can't be written as canonical JSON: {error}");
        ("not_json", why)
    })?;
    Ok(CleanConversation {
        said,
        digest,
        removed: cleaner.removed,
        bytes: cleaner.bytes,
    })
}

/// Takes secrets out of the texts of one conversation: a secret has the same placeholder in all of them.
struct ConversationCleaner<'a> {
    key: &'a ImportKey,
    numbers: Placeholders,
    removed: u64,
    bytes: usize,
    search: SeamSearch<'a>,
}

impl ConversationCleaner<'_> {
    fn text(&mut self, text: &str) -> Clean {
        let redacted = redact_with(text, &mut self.numbers);
        self.removed += u64::try_from(redacted.found.len()).unwrap_or(u64::MAX);
        self.bytes += redacted.clean.as_str().len();
        redacted.clean
    }

    fn optional(&mut self, text: Option<&str>) -> ArtifactField {
        match text {
            Some(text) => ArtifactField::Text(self.text(text)),
            None => ArtifactField::Null,
        }
    }

    fn id(&self, id: Option<&str>) -> ArtifactField {
        match id {
            Some(id) => ArtifactField::Word(id_on_record(self.key, id)),
            None => ArtifactField::Null,
        }
    }

    /// A message without its secrets; none where looking for them was given up.
    fn message(&mut self, message: &SourceMessage) -> Option<ArtifactField> {
        /// About so many bytes stand around a text.
        const AROUND: usize = 200;
        self.bytes += AROUND;
        let at = time_of(message.at).map(|at| ArtifactField::Number(at.get()));
        let text = joined(&message.text, &message.seams, &mut self.search)?;
        Some(ArtifactField::Map(vec![
            ("at", at.unwrap_or(ArtifactField::Null)),
            ("id", self.id(Some(&message.id))),
            ("model", self.optional(message.model.as_deref())),
            ("parent", self.id(message.parent.as_deref())),
            ("role", ArtifactField::Word(message.role.name().to_owned())),
            ("text", ArtifactField::Text(self.text(&text))),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a message.
    enum Part<'a> {
        Written(&'a str),
        Mark(&'a str),
    }

    /// Parts with a break between each two, as they are put together.
    fn meeting(parts: &[Part<'_>]) -> String {
        let (mut text, mut seams) = (String::new(), Vec::new());
        let mut written_to = None;
        for part in parts {
            if !text.is_empty() {
                text.push('\n');
            }
            let (Part::Written(part) | Part::Mark(part), is_written) = (
                part,
                matches!(part, Part::Written(part) if !part.trim().is_empty()),
            );
            if is_written {
                let begin = text.len() + part.len() - part.trim_start().len();
                let before = written_to.replace(begin + part.trim().len());
                seams.extend(before.map(|before: usize| before..begin));
            }
            text.push_str(part);
        }
        let cancelled = CancellationToken::new();
        let mut search = SeamSearch {
            left: SeamSearch::LEAST,
            cancelled: &cancelled,
        };
        joined(&text, &seams, &mut search).unwrap().into_owned()
    }

    fn of(parts: &[&str]) -> String {
        let parts: Vec<Part<'_>> = parts.iter().map(|part| Part::Written(part)).collect();
        meeting(&parts)
    }

    #[test]
    fn parts_meet_where_a_secret_is_split_over_them() {
        let key = ["AKIAIO", "SFODNN7", "ZQRSTUV"];
        assert_eq!(taken(&key.concat()), 20);
        assert_eq!(of(&["one", "two"]), "one\ntwo");
        assert_eq!(
            of(&["see", key[0], key[1], key[2], "end"]),
            "see\nAKIAIOSFODNN7ZQRSTUV\nend"
        );
        let each: Vec<String> = key.concat().chars().map(String::from).collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        assert_eq!(of(&each), key.concat());
        // After a break it would not be known as one.
        assert_eq!(
            of(&["password:", "hunter2hunter2x"]),
            "password:hunter2hunter2x"
        );
        let blank = ["AKIAIO \n", "\n ", " SFODNN7ZQRSTUV"];
        assert_eq!(meeting(&blank.map(Part::Written)), key.concat());
        let split = [
            Part::Written("see AKIAIO"),
            Part::Mark("[image]"),
            Part::Written("SFODNN7ZQRSTUV"),
            Part::Written("end"),
        ];
        assert_eq!(meeting(&split), "see AKIAIOSFODNN7ZQRSTUV\n[image]\nend");
        let whole = [
            Part::Written("see"),
            Part::Mark("[image]"),
            Part::Written("end"),
        ];
        assert_eq!(meeting(&whole), "see\n[image]\nend");
        let long = "ü".repeat(9_000);
        assert_eq!(of(&[&long, &long, "end"]), format!("{long}\n{long}\nend"));
    }

    #[test]
    fn a_secret_meets_over_whatever_stands_between_its_parts() {
        let (one, other) = ("see AKIAIO", "SFODNN7ZQRSTUV");
        let between = [
            &["[image]"][..],
            &["[image]", "[audio]", "[file: a.pdf]"],
            &["[file: a.txt]"],
            &["[end of file: a.txt]", "[file: b.txt]"],
            &["[tool: search]", "[result: search]", "[thinking]"],
        ];
        for marks in between {
            let marks = marks.iter().map(|mark| Part::Mark(mark));
            let parts: Vec<Part<'_>> = [Part::Written(one)]
                .into_iter()
                .chain(marks)
                .chain([Part::Written(other), Part::Mark("[end]")])
                .collect();
            assert!(
                meeting(&parts).starts_with("see AKIAIOSFODNN7ZQRSTUV\n"),
                "{}",
                meeting(&parts)
            );
        }
        // What somebody wrote is a part, whatever it looks like.
        let typed = of(&[one, "[image]", other]);
        assert_eq!(typed, "see AKIAIO\n[image]\nSFODNN7ZQRSTUV");
    }

    #[test]
    fn where_parts_meet_is_told_by_the_tag() {
        let key = ImportKey::of_nobody().unwrap();
        let message = |seams| SourceMessage {
            id: "m".to_owned(),
            parent: None,
            role: crate::record::ledger::imported::ImportedRole::User,
            text: "one\ntwo".to_owned(),
            seams,
            model: None,
            at: None,
        };
        let tag = |seams| {
            let source = SourceConversation {
                source_id: "c".to_owned(),
                title: None,
                project: None,
                created_at: None,
                updated_at: None,
                messages: vec![message(seams)],
                current: None,
                skipped: std::collections::BTreeMap::new(),
            };
            let rules = Hash32::from_bytes([0; 32]);
            tag_of(&key, rules, ImportFormat::Claude, &source)
        };
        let seam = 3..4;
        let with = tag(vec![seam.clone()]);
        assert_eq!(with, tag(vec![seam]));
        assert_ne!(with, tag(Vec::new()));
        let other = 3..5;
        assert_ne!(with, tag(vec![other]));
    }

    /// How many bytes are looked at to put so many parts of a length together.
    fn looked_at(parts: usize, length: usize) -> Option<usize> {
        let part = "some words of a text ".repeat(length / 21 + 1);
        let (mut text, mut seams) = (part.clone(), Vec::new());
        for _ in 1..parts {
            seams.push(text.len() - 1..text.len() + 1);
            text.push('\n');
            text.push_str(&part);
        }
        let cancelled = CancellationToken::new();
        let most = 200 << 20;
        let mut search = SeamSearch {
            left: most,
            cancelled: &cancelled,
        };
        let text = joined(&text, &seams, &mut search);
        text.map(|_| most - search.left)
    }

    #[test]
    fn what_is_looked_at_grows_with_the_text_and_not_with_its_square() {
        let (few, many) = (looked_at(50, 500).unwrap(), looked_at(200, 500).unwrap());
        assert!(many <= 5 * few, "{few} {many}");
        assert!(many <= 20 * 200 * 500, "{many}");
        let long = looked_at(50, 20_000).unwrap();
        assert!(long <= 50 * 20_000, "{long}");
    }

    #[test]
    fn looking_is_given_up_where_it_costs_too_much_or_nobody_wants_to_know() {
        let cancelled = CancellationToken::new();
        let mut search = SeamSearch {
            left: 10,
            cancelled: &cancelled,
        };
        let text = "one two\nthree four";
        let seam = 7..8;
        assert!(joined(text, std::slice::from_ref(&seam), &mut search).is_none());
        search.left = SeamSearch::LEAST;
        assert!(joined(text, std::slice::from_ref(&seam), &mut search).is_some());
        cancelled.cancel();
        assert!(joined(text, std::slice::from_ref(&seam), &mut search).is_none());
    }

    #[test]
    fn a_key_over_several_parts_meets() {
        let body = "MIIEowIBAAKCAQEA7bq2Yb8u9dC1x0kq3ZsP".repeat(20);
        let parts: Vec<&str> = [&body[..300], &body[300..600], &body[600..]].into();
        let block = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            body
        );
        assert!(taken(&block) > 600, "{}", taken(&block));
        let all = [
            "-----BEGIN RSA PRIVATE KEY-----",
            parts[0],
            parts[1],
            parts[2],
            "-----END RSA PRIVATE KEY-----",
        ];
        let text = of(&all);
        assert!(taken(&text) >= body.len(), "{text}");
    }
}
