//! One conversation of a source, without its secrets, as the record takes it.

use std::borrow::Cow;
use std::ops::Range;

use crate::govern::sanitize::{Clean, Placeholders, redact, redact_with};
use crate::import::{SourceConversation, SourceMessage};
use crate::keys::ImportKey;
use crate::record::hash::Hash32;
use crate::record::ledger::imported::{HIDDEN_ID, ImportFormat, MAX_MESSAGES, digest_of};
use crate::record::time::Seconds;
use crate::recorder::{ArtifactField, SourceTag};

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

/// A text whose parts meet so that most is taken out of it: where a secret is split over some of them, the
/// breaks between them go. Where there are very many parts no break stays.
fn joined<'t>(text: &'t str, seams: &[Range<usize>]) -> Cow<'t, str> {
    /// So much before a seam is looked at.
    const BEFORE_SEAM: usize = 4 << 10;
    /// So many seams are looked at, one by one.
    const MOST_SEAMS: usize = 200;
    let [first, ..] = seams else {
        return Cow::Borrowed(text);
    };
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut whole = part(0..first.start).to_owned();
    for (n, seam) in seams.iter().enumerate() {
        let break_here = part(seam.clone());
        let is_kept = seams.len() <= MOST_SEAMS && {
            let from = boundary_before(&whole, whole.len().saturating_sub(BEFORE_SEAM));
            let left = whole.get(from..).unwrap_or_default();
            let behind = ways_behind(text, &seams[n..]);
            let most = |between: &str| {
                let all = behind.iter();
                let all = all.map(|right| taken(&format!("{left}{between}{right}")));
                all.max().unwrap_or_default()
            };
            most(break_here) >= most("")
        };
        if is_kept {
            whole.push_str(break_here);
        }
        let end = seams.get(n + 1).map_or(text.len(), |next| next.start);
        whole.push_str(part(seam.end..end));
    }
    Cow::Owned(whole)
}

/// The last place up to `at` where a character begins.
fn boundary_before(text: &str, at: usize) -> usize {
    let places = (0..=at).rev();
    let mut begins = places.filter(|at| text.is_char_boundary(*at));
    begins.next().unwrap_or_default()
}

/// What may stand behind the first of some seams: one part, two that meet without a break, three, and so
/// on, each with the beginning of the part behind it.
fn ways_behind(text: &str, seams: &[Range<usize>]) -> Vec<String> {
    /// So much behind a seam is looked at.
    const BEHIND_SEAM: usize = 4 << 10;
    /// A secret is looked for in so many parts at most.
    const MOST_PARTS: usize = 24;
    let (mut met, mut ways) = (String::new(), Vec::new());
    for (n, seam) in seams.iter().enumerate().take(MOST_PARTS) {
        let room = BEHIND_SEAM.saturating_sub(met.len());
        if room == 0 {
            break;
        }
        let next = seams.get(n + 1);
        let end = next.map_or(text.len(), |next| next.start);
        let end = boundary_before(text, end.min(seam.end + room));
        met.push_str(text.get(seam.end..end).unwrap_or_default());
        let rest = next.filter(|next| next.start == end).map(|next| {
            let end = boundary_before(text, text.len().min(next.end + room));
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
        let mut parts = vec![message.role.name().as_bytes().to_vec()];
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
    key.tag(parts.iter().map(Vec::as_slice).chain(messages))
}

/// Takes the secrets out of a conversation; why it can't be recorded, in a word and a sentence.
pub fn cleaned(
    key: &ImportKey,
    format: ImportFormat,
    source: &SourceConversation,
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
    };
    let time = |at| time_of(at).map_or(ArtifactField::Null, |at| ArtifactField::Number(at.get()));
    let title = cleaner.optional(source.title.as_deref());
    let project = cleaner.optional(source.project.as_deref());
    let messages = source
        .messages
        .iter()
        .map(|message| cleaner.message(message));
    let messages = messages.collect();
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
    let content = ArtifactField::Map(said.clone()).to_json();
    let digest = digest_of(&content);
    let digest = digest.ok_or_else(|| {
        let why = "it can't be written as canonical JSON".to_owned();
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

    fn message(&mut self, message: &SourceMessage) -> ArtifactField {
        /// About so many bytes stand around a text.
        const AROUND: usize = 200;
        self.bytes += AROUND;
        let at = time_of(message.at).map(|at| ArtifactField::Number(at.get()));
        ArtifactField::Map(vec![
            ("at", at.unwrap_or(ArtifactField::Null)),
            ("id", self.id(Some(&message.id))),
            ("model", self.optional(message.model.as_deref())),
            ("parent", self.id(message.parent.as_deref())),
            ("role", ArtifactField::Word(message.role.name().to_owned())),
            (
                "text",
                ArtifactField::Text(self.text(&joined(&message.text, &message.seams))),
            ),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts with a break between each two, as they are put together.
    fn of(parts: &[&str]) -> String {
        let (mut text, mut seams) = (String::new(), Vec::new());
        for part in parts {
            if !text.is_empty() {
                seams.push(text.len()..text.len() + 1);
                text.push('\n');
            }
            text.push_str(part);
        }
        joined(&text, &seams).into_owned()
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
        let long = "ü".repeat(9_000);
        assert_eq!(of(&[&long, &long, "end"]), format!("{long}\n{long}\nend"));
    }
}
