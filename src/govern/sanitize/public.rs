//! What everybody may know although it looks random: methods, licences, colours, files, publishable
//! keys.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::token::kind::TokenKind;
use super::token::shape::{TokenShape, wordiness};
use super::vocabulary::vocabulary;

/// Whether a word is the name of a method, or made of such names and words: `ChaCha20_Poly1305`,
/// `X25519PublicKey`.
pub fn is_algorithm(text: &str) -> bool {
    static NAMES: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let mut builder = AhoCorasickBuilder::new();
        builder
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest);
        builder
            .build(vocabulary().values.algorithms.iter())
            .expect("a short list of short words")
    });
    if text.len() > 64 || !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let plain = |part: &str| {
        part.is_empty()
            || part.bytes().all(|b| b.is_ascii_digit()) && part.len() <= 4
            || part.bytes().all(|b| b.is_ascii_alphabetic())
                && (part.len() <= 4 || wordiness(part) >= 40)
    };
    let (mut at, mut named) = (0, false);
    let are_plain = |from: usize, to: usize| {
        text.get(from..to)
            .unwrap_or("0x")
            .split(|c: char| !c.is_ascii_alphanumeric())
            .all(plain)
    };
    for hit in NAMES.find_iter(text) {
        if !are_plain(at, hit.start()) {
            return false;
        }
        (named, at) = (true, hit.end());
    }
    named && are_plain(at, text.len())
}

/// `#d8dee9`: a colour.
pub fn is_colour(text: &str) -> bool {
    text.strip_prefix('#').is_some_and(|rest| {
        matches!(rest.len(), 3 | 4 | 6 | 8) && rest.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Tokens that their makers give to everybody: they name an account and open nothing.
pub fn is_public_token(text: &str) -> bool {
    let known = &vocabulary().values;
    let small_letters = &known.public_tokens_with_small_letters;
    known.public_tokens.starts(text)
        || small_letters
            .start_of(text.as_bytes())
            .is_some_and(|start| {
                let mut rest = text.bytes().skip(start.len());
                rest.any(|b| b.is_ascii_lowercase())
            })
}

/// `MIT/Apache-2.0`, `GPL-3.0-or-later OR Artistic-1.0-Perl`.
pub fn is_licence(text: &str) -> bool {
    let mut parts = text
        .split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ')' | ','))
        .filter(|part| !part.is_empty());
    parts.all(|part| vocabulary().values.licences.starts(part))
}

/// Whether a word is the name of a file or of a host: it ends as those do.
pub fn is_file(text: &str) -> bool {
    let Some((name, end)) = text.rsplit_once('.') else {
        return false;
    };
    !name.is_empty() && vocabulary().values.file_endings.has(end)
}

/// How much before a word is looked at for the name of its field.
const FIELD: usize = 48;

/// `PublicKey = …`, `Content-MD5: …`: whether the name before a word says that everybody may know
/// it.
pub fn is_called_public(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    let before = &bytes[start.saturating_sub(FIELD)..start];
    let line = before
        .iter()
        .rposition(|b| matches!(b, b'\n' | b';' | b',' | b'{'))
        .map_or(before, |at| &before[at + 1..]);
    let name = line.trim_ascii_end();
    let name = match name.iter().rposition(|b| b.is_ascii_alphanumeric()) {
        Some(last) if name.len() - last <= 5 => &name[..=last],
        _ => return false,
    };
    if name.len() == line.len() {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    vocabulary().names.called_public.iter().any(|known| {
        lower
            .windows(known.len())
            .any(|window| window == known.as_bytes())
    })
}

/// Longest of them.
const MAX_MEMBER: usize = 512;

/// `self._lib.PEM_write_bio_PKCS8PrivateKey`: a member of something in code.
pub fn is_member(word: &str) -> bool {
    let owners = &vocabulary().names.owners;
    let Some((first, rest)) = (word.len() <= MAX_MEMBER)
        .then(|| word.split_once('.'))
        .flatten()
    else {
        return false;
    };
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    (owners.has(first) || rest.starts_with('_') || rest.contains("._"))
        && part(first)
        && rest.split('.').all(part)
}

/// Whether a word is the path of an archive, such as
/// `authors/id/L/LE/LEONT/Crypt-Passwd-XS-0.601.tar.gz`.
pub fn is_archive(word: &str) -> bool {
    let endings = &vocabulary().values.archive_endings;
    endings
        .end_of(word)
        .is_some_and(|end| word.len() > end.len())
}

/// Whether what our own rule matches only shows how such a secret looks: `sk-xxxxxxxx`,
/// `pk_live_publishable`.
pub fn is_example(secret: &str) -> bool {
    TokenShape::of(secret).is(TokenKind::StandIn)
        || is_public_token(secret)
        || (secret.matches('_').count() >= 3
            && secret.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        || (secret.len() >= 16
            && !secret.bytes().any(|b| b.is_ascii_digit() || b == b' ')
            && wordiness(secret) >= 75)
}
