//! Key blocks: `-----BEGIN … PRIVATE KEY-----` with its whole body, also cut off, quoted or
//! escaped; certificates.

use super::text::span::SecretSpan;

/// Most characters between the dashes of a marker.
const MAX_LABEL: usize = 64;
/// Fewest letters and digits of a body: a mention of the marker in prose has none.
const MIN_BODY: usize = 16;
/// Most bytes that a block may have.
const MAX_BLOCK: usize = 64 * 1024;

/// One `BEGIN` or `END` line of a text.
struct Marker {
    start: usize,
    end: usize,
    begins: bool,
    secret: Option<PemBlock>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PemBlock {
    Key,
    Certificate,
}

/// What a text's blocks are: secrets, and places of public blocks where no line is looked at by
/// itself.
#[derive(Default)]
pub struct Blocks {
    pub secret: Vec<SecretSpan>,
    pub public: Vec<(usize, usize)>,
}

/// Finds all blocks; `key` and `certificate` are the indexes of the two kinds.
pub fn blocks(text: &str, key: usize, certificate: usize) -> Blocks {
    let markers = markers(text);
    let mut found = Blocks::default();
    for (at, marker) in markers
        .iter()
        .enumerate()
        .filter(|(_, marker)| marker.begins)
    {
        let next = markers.get(at + 1);
        let closed = next.filter(|next| !next.begins && next.end - marker.start <= MAX_BLOCK);
        // Two markers may share their dashes: -----BEGIN A-----END A-----.
        let limit = next.map_or(text.len(), |next| next.start.max(marker.end));
        let body_end = closed.map_or_else(|| cut_off(text, marker.end, limit), |_| limit);
        let body = &text.as_bytes()[marker.end..body_end];
        if body
            .iter()
            .filter(|b| b.is_ascii_alphanumeric())
            .take(MIN_BODY)
            .count()
            < MIN_BODY
        {
            continue;
        }
        let end = closed.map_or(body_end, |next| next.end);
        match marker.secret {
            Some(PemBlock::Key) => found.secret.push(SecretSpan {
                start: marker.start,
                end,
                kind: key,
            }),
            Some(PemBlock::Certificate) => found.secret.push(SecretSpan {
                start: marker.start,
                end,
                kind: certificate,
            }),
            None => found.public.push((marker.start, end)),
        }
    }
    found
}

/// All markers in the order of the text.
fn markers(text: &str) -> Vec<Marker> {
    let mut found: Vec<Marker> = Vec::new();
    for (word, begins) in [("BEGIN ", true), ("END ", false)] {
        found.extend(
            text.match_indices(word)
                .filter_map(|(at, _)| marker(text, at, at + word.len(), begins)),
        );
    }
    found.sort_unstable_by_key(|marker| marker.start);
    found
}

/// The marker around the word at `word..label`, if there are dashes on both sides.
fn marker(text: &str, word: usize, label: usize, begins: bool) -> Option<Marker> {
    let bytes = text.as_bytes();
    let before = bytes[..word]
        .iter()
        .rev()
        .take_while(|b| **b == b' ')
        .take(2)
        .count();
    let dashes = bytes[..word - before]
        .iter()
        .rev()
        .take(8)
        .take_while(|b| **b == b'-')
        .count();
    let length = bytes[label..]
        .iter()
        .take(MAX_LABEL)
        .position(|b| *b == b'-')?;
    let name = text.get(label..label + length)?;
    let after = bytes[label + length..]
        .iter()
        .take(8)
        .take_while(|b| **b == b'-')
        .count();
    let is_label = name
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
    if dashes < 2 || after < 2 || !is_label {
        return None;
    }
    let secret = if name.contains("PRIVATE KEY") || name.contains("SEED") {
        Some(PemBlock::Key)
    } else {
        (name.contains("CERTIFICATE") && !name.contains("REQUEST")).then_some(PemBlock::Certificate)
    };
    Some(Marker {
        start: word - before - dashes,
        end: label + length + after,
        begins,
        secret,
    })
}

/// Where the body of a block without an end ends: at the first line that is no part of a body.
fn cut_off(text: &str, from: usize, limit: usize) -> usize {
    let limit = limit.min(from + MAX_BLOCK);
    let body = text.as_bytes().get(from..limit).unwrap_or_default();
    let (mut end, mut at) = (from, 0);
    while at < body.len() {
        let line = body[at..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(body.len() - at, |n| n + 1);
        let Some(used) = body_part(&body[at..at + line]) else {
            break;
        };
        if used > 0 {
            end = from + at + used;
        }
        at += line;
        if used > 0
            && used < line
            && body[at - line + used..at]
                .iter()
                .any(u8::is_ascii_alphanumeric)
        {
            break;
        }
    }
    end
}

/// How much of a line is body: base64 in pieces, quotes and escaped line ends among them; none ends
/// the block.
fn body_part(line: &[u8]) -> Option<usize> {
    let header = [
        &b"Proc-Type:"[..],
        b"DEK-Info:",
        b"Version:",
        b"Comment:",
        b"Charset:",
    ];
    let trimmed = line.trim_ascii_start();
    if header.iter().any(|name| trimmed.starts_with(name)) {
        return Some(line.trim_ascii_end().len());
    }
    let (mut used, mut at) = (0, 0);
    while at < line.len() {
        let piece = line[at..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count();
        // A short piece before anything else is a word of prose, unless the line is nothing else.
        let word =
            piece > 0 && piece < MIN_BODY && used == 0 && line.trim_ascii().len() > piece + 4;
        if word {
            return None;
        }
        at += piece;
        used = if piece > 0 { at } else { used };
        match line.get(at) {
            Some(
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'+' | b'.' | b',' | b'|'
                | b'>' | b'\\' | b'#' | b'*',
            ) => at += 1,
            _ => break,
        }
        let next = line[at..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count();
        if used > 0 && (1..MIN_BODY).contains(&next) && line[at - 1] == b' ' {
            break;
        }
    }
    Some(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Vec<&str> {
        blocks(text, 0, 1)
            .secret
            .iter()
            .map(|span| &text[span.start..span.end])
            .collect()
    }

    #[test]
    fn blocks_go_whole_however_they_are_written() {
        let label = ["PRIVATE", " KEY"].concat();
        let line = "MIIEpAIBAAKCAQEA7bqK3x9Zt1Qd8Lw2";
        let (begin, end) = (
            format!("-----BEGIN RSA {label}-----"),
            format!("-----END RSA {label}-----"),
        );
        for block in [
            format!("{begin}\n{line}\n{line}=\n{end}"),
            format!("{begin}\\n{line}\\n{line}=\\n{end}"),
            format!("{begin}\" +\n  \"{line}\" +\n  \"{line}\" +\n  \"{end}"),
            format!("{begin}\n    {line}\n    {line}\n    {end}"),
            format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{line}\n{end}"),
            format!("{begin}\n{line}\n{line}"),
            format!("{begin}\\n{line}\\n{line}"),
            format!(
                "---- BEGIN SSH2 ENCRYPTED {label} ----\n{line}\n---- END SSH2 ENCRYPTED {label} ----"
            ),
        ] {
            assert_eq!(
                whole(&format!("a {block}\nplain words after it\n")),
                [block.as_str()],
                "{block}"
            );
        }
        assert!(whole(&format!("it starts with {begin} and then comes text\n")).is_empty());
        assert!(whole(&format!("{begin}\n...\n{end}")).is_empty());
        // Found by the fuzzer: the dashes of one marker are those of the next.
        assert!(
            whole(&format!(
                "-----BEGIN RSA {label}-----END RSA {label}-----\n"
            ))
            .is_empty()
        );
        let public = format!("-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----");
        assert_eq!(blocks(&public, 0, 1).public, [(0, public.len())]);
    }
}
