//! Secrets in addresses and headers: user info of a URL, `Bearer …`, `Basic …`, `-u user:password`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::token::shape::TokenShape;
use super::token::table::TokenContext;

/// Longest user info.
const MAX_USER_INFO: usize = 512;
/// Longest token after `Bearer`.
const MAX_TOKEN: usize = 4096;

/// The secrets in the user info of the address whose `://` ends at `from`.
pub fn user_info(text: &str, from: usize) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    if !bytes[from..bytes.len().min(from + MAX_USER_INFO)].contains(&b'@') {
        return Vec::new();
    }
    let stops =
        |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\');
    let run = bytes[from..]
        .iter()
        .take(MAX_USER_INFO)
        .take_while(|b| !stops(**b))
        .count();
    let run = &bytes[from..from + run];
    let authority = run
        .iter()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(run.len());
    let sign = match run[..authority].iter().rposition(|b| *b == b'@') {
        Some(at) => at,
        // A password with a slash in it: what follows the colon is no port.
        None => {
            let Some(colon) = run[..authority].iter().position(|b| *b == b':') else {
                return Vec::new();
            };
            let number = &run[colon + 1..authority];
            let port = run.get(authority) != Some(&b'#')
                && !number.is_empty()
                && number.iter().all(u8::is_ascii_digit);
            match run.iter().position(|b| *b == b'@') {
                Some(at) if !port && run[at..].get(1).is_some_and(u8::is_ascii_alphanumeric) => at,
                _ => return Vec::new(),
            }
        }
    };
    if run
        .get(sign + 1)
        .is_none_or(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'[' | b'$' | b'{')))
    {
        return Vec::new();
    }
    let colon = run[..sign].iter().position(|b| *b == b':').unwrap_or(sign);
    let mut found = Vec::new();
    let mut take = |start: usize, end: usize, context: TokenContext| {
        let Some(part) = text.get(from + start..from + end) else {
            return;
        };
        if TokenShape::of(part).is_secret(context) {
            found.push((from + start, from + end));
        }
    };
    take(0, colon, TokenContext::AddressUser);
    if colon < sign {
        take(colon + 1, sign, TokenContext::AddressPassword);
    }
    found
}

fn token_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"._~+/=-:".contains(b);
    let length = rest.bytes().take(MAX_TOKEN).take_while(is_token).count();
    rest.get(..length)
        .unwrap_or_default()
        .trim_end_matches(['.', ':'])
}

fn after_blanks(text: &str, end: usize) -> Option<usize> {
    let rest = text.get(end..)?;
    let skipped = rest
        .bytes()
        .take(8)
        .take_while(|b| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'='))
        .count();
    (skipped > 0).then_some(end + skipped)
}

/// The token after `Bearer`, which ends at `end`.
pub fn bearer(text: &str, end: usize) -> Option<(usize, usize)> {
    let at = after_blanks(text, end)?;
    let token = token_at(text, at);
    let fits = TokenShape::of(token).is_secret(TokenContext::Bearer);
    fits.then_some((at, at + token.len()))
}

/// The base64 of `user:password` after `Basic`, which ends at `end`.
pub fn basic(text: &str, end: usize) -> Option<(usize, usize)> {
    let at = after_blanks(text, end)?;
    let token = token_at(text, at);
    let is_pair = decoded(token).is_some_and(|plain| plain.contains(':'));
    (token.len() >= 8 && is_pair).then_some((at, at + token.len()))
}

/// The value of an `Authorization` header whose name ends at `end`, whatever its scheme.
pub fn authorization(text: &str, end: usize) -> Option<(usize, usize)> {
    let mut at = after_blanks(text, end)?;
    let scheme = token_at(text, at);
    if scheme.len() <= 12
        && scheme.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        && !scheme.is_empty()
    {
        at = after_blanks(text, at + scheme.len())?;
    }
    let token = token_at(text, at);
    let fits = TokenShape::of(token).is_secret(TokenContext::Authorization);
    fits.then_some((at, at + token.len()))
}

/// User and password of `-u user:password` or `--user user:password`, where the flag ends at `end`:
/// together they are the credential.
pub fn user_flag(text: &str, end: usize) -> Option<(usize, usize)> {
    let at = after_blanks(text, end)?;
    let bytes = text.as_bytes();
    let quote = bytes[..at]
        .last()
        .copied()
        .filter(|b| matches!(b, b'"' | b'\''));
    let stops = |b: &u8| {
        quote.map_or(
            b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'\\'),
            |quote| *b == quote || *b == b'\n',
        )
    };
    let length = bytes[at..]
        .iter()
        .take(MAX_USER_INFO)
        .take_while(|b| !stops(b))
        .count();
    let pair = text.get(at..at + length)?;
    let colon = pair.bytes().position(|b| b == b':')?;
    let (user, password) = (pair.get(..colon)?, pair.get(colon + 1..)?);
    let fits = !user.is_empty()
        && !user.contains(['/', ' '])
        && !password.starts_with("//")
        && password != user
        && TokenShape::of(password).is_secret(TokenContext::FlagPassword);
    fits.then_some((at, at + pair.len()))
}

/// The text that a base64 word stands for, if all of it can be read.
pub fn decoded(word: &str) -> Option<String> {
    let readable = |bytes: &[u8]| {
        bytes
            .iter()
            .all(|b| b.is_ascii_graphic() || matches!(b, b' ' | b'\n' | b'\r' | b'\t'))
    };
    // Most words are not base64 of text: the first letters show it.
    let head = word.get(..word.len().min(12) & !3)?;
    let engines = [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD];
    if !engines.iter().any(|engine| {
        engine
            .decode(head.trim_end_matches('='))
            .is_ok_and(|bytes| readable(&bytes))
    }) {
        return None;
    }
    let bytes = STANDARD.decode(word).ok().or_else(|| {
        engines
            .iter()
            .find_map(|engine| engine.decode(word.trim_end_matches('=')).ok())
    })?;
    if readable(&bytes) {
        String::from_utf8(bytes).ok()
    } else {
        None
    }
}
