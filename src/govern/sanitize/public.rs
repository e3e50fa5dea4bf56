//! What everybody may know although it looks random: methods, licences, colours, files, publishable
//! keys.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::value::{is_hex, stands_in, wordiness};

/// Names of methods of cryptography and encoding, in lower case.
#[rustfmt::skip]
const ALGORITHMS: &[&str] = &[
    "aes128", "aes192", "aes256", "argon2id", "argon2", "bcrypt", "blake2b", "blake2s", "blake2", "blake3", "chacha20", "crc32",
    "curve25519", "curve448", "ecdh", "ecdsa", "ed25519", "ed448", "es256", "gcm", "hkdf", "hmac", "hs256", "hs384", "hs512",
    "md5", "mgf1", "mlkem768", "nistp256", "nistp384", "nistp521", "pbes2", "pbkdf2", "pkcs11", "pkcs12", "pkcs1", "pkcs7",
    "pkcs8", "poly1305", "ps256", "ripemd160", "rs256", "rsa2048", "rsa4096", "salsa20", "scrypt", "secp256k1", "secp256r1",
    "secp384r1", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3", "sntrup761", "tls13", "utf8mb4", "x25519", "x448", "x509",
    "xchacha20", "xsalsa20",
];

/// Whether a word is the name of a method, or made of such names and words: `ChaCha20_Poly1305`,
/// `X25519PublicKey`.
pub(super) fn is_algorithm(text: &str) -> bool {
    static NAMES: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let mut builder = AhoCorasickBuilder::new();
        builder
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest);
        builder
            .build(ALGORITHMS)
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
pub(super) fn is_colour(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|rest| matches!(rest.len(), 3 | 4 | 6 | 8) && is_hex(rest))
}

/// Tokens that their makers give to everybody: they name an account and open nothing.
pub(super) fn is_public_token(text: &str) -> bool {
    let stripe = ["pk_live_", "pk_test_"]
        .iter()
        .find_map(|start| text.strip_prefix(start));
    stripe.is_some_and(|rest| rest.bytes().any(|b| b.is_ascii_lowercase()))
        || ["sb_publishable_", "rzp_live_", "rzp_test_"]
            .iter()
            .any(|start| text.starts_with(start))
}

/// `MIT/Apache-2.0`, `GPL-3.0-or-later OR Artistic-1.0-Perl`.
pub(super) fn is_licence(text: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "0bsd", "agpl", "apache", "artistic", "bsd", "bsl", "cc-by", "cc0", "cddl", "epl", "eupl", "gpl", "isc", "lgpl",
        "licenseref", "llvm-exception", "mit", "mpl", "openssl", "psf", "python-2", "unicode", "unlicense", "wtfpl", "zlib", "zpl",
        "gcc-exception", "classpath-exception", "or", "and", "with", "ofl", "ncsa", "postgresql", "x11", "boost",
    ];
    let mut parts = text
        .split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ')' | ','))
        .filter(|part| !part.is_empty());
    parts.all(|part| {
        let lower = part.to_ascii_lowercase();
        NAMES.iter().any(|name| lower.starts_with(name))
    })
}

/// Whether a word is the name of a file or of a host: it ends as those do.
pub(super) fn is_file(text: &str) -> bool {
    #[rustfmt::skip]
    const ENDS: &[&str] = &[
        "bz2", "c", "cfg", "com", "conf", "cpp", "crate", "crt", "cs", "css", "csv", "de", "deb", "doc", "docx", "exe", "fr", "gem", "gif", "go",
        "gz", "h", "html", "io", "iso", "jar", "java", "jpg", "js", "json", "kt", "lock", "log", "md", "mp3", "mp4", "net", "odt", "org",
        "pdf", "php", "png", "py", "rb", "rpm", "rs", "sh", "sql", "svg", "swift", "tar", "tex", "tgz", "toml", "ts", "txt", "vue",
        "whl", "xls", "xlsx", "xml", "xz", "yaml", "yml", "zip", "zst",
    ];
    let Some((name, end)) = text.rsplit_once('.') else {
        return false;
    };
    !name.is_empty() && end.len() <= 5 && ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))
}

/// How much before a word is looked at for the name of its field.
const FIELD: usize = 48;

/// `PublicKey = …`, `Content-MD5: …`: whether the name before a word says that everybody may know
/// it.
pub(super) fn is_called_public(text: &str, start: usize) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "public", "pubkey", "pub_key", "verifykey", "verify_key", "verifying", "content-md5", "digest", "checksum", "fingerprint", "etag",
        "integrity", "change-id", "sec-websocket", "sitekey", "publishable", "host key", "signify",
    ];
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
    NAMES.iter().any(|known| {
        lower
            .windows(known.len())
            .any(|window| window == known.as_bytes())
    })
}

/// Longest of them.
const MAX_MEMBER: usize = 512;

/// `self._lib.PEM_write_bio_PKCS8PrivateKey`: a member of something in code.
pub(super) fn is_member(word: &str) -> bool {
    const OWNERS: [&str; 12] = [
        "self", "this", "cls", "super", "window", "document", "process", "module", "exports",
        "backend", "torch", "args",
    ];
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
    (OWNERS.contains(&first) || rest.starts_with('_') || rest.contains("._"))
        && part(first)
        && rest.split('.').all(part)
}

/// `authors/id/L/LE/LEONT/Crypt-Passwd-XS-0.601.tar.gz`.
pub(super) fn is_archive(word: &str) -> bool {
    [
        ".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".zip", ".whl", ".deb", ".rpm", ".gem", ".crate",
        ".jar",
    ]
    .iter()
    .any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Whether what our own rule matches only shows how such a secret looks: `sk-xxxxxxxx`,
/// `pk_live_publishable`.
pub(super) fn is_example(secret: &str) -> bool {
    stands_in(secret)
        || is_public_token(secret)
        || (secret.matches('_').count() >= 3
            && secret.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        || (secret.len() >= 16
            && !secret.bytes().any(|b| b.is_ascii_digit() || b == b' ')
            && wordiness(secret) >= 75)
}
