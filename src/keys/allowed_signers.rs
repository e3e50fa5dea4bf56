//! The `allowed_signers` file: every key of the ledger, in the order in which they came into force.
//!
//! ```text
//! ledger@gently.invalid namespaces="git" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…
//! ```

use std::path::Path;

use super::{KeyError, vault};
use crate::record::signature::{PRINCIPAL, PublicKey};

/// How much of a wrong line an error shows.
const SHOWN_CHARS: usize = 120;

/// The file's text: one line a key (format, section 6).
pub fn render(keys: &[PublicKey]) -> String {
    keys.iter().map(PublicKey::allowed_signers_line).collect()
}

/// Reads what [`render`] writes, and nothing else; `place` is what an error names.
pub fn parse(text: &str, place: &str) -> Result<Vec<PublicKey>, KeyError> {
    let prefix = format!("{PRINCIPAL} namespaces=\"git\" ");
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .map(|(at, line)| {
            let key = line
                .strip_suffix('\n')
                .and_then(|line| line.strip_prefix(&prefix)?.parse().ok());
            let actual = || line.chars().take(SHOWN_CHARS).collect();
            key.ok_or_else(|| KeyError::AllowedSigners {
                place: place.to_owned(),
                line: at + 1,
                actual: actual(),
            })
        })
        .collect()
}

/// Reads a file.
pub fn load(path: &Path) -> Result<Vec<PublicKey>, KeyError> {
    let bytes = vault::read_public(path)?;
    parse(
        &String::from_utf8_lossy(&bytes),
        &path.display().to_string(),
    )
}

/// Writes a file that must not exist yet, mode 0644. Durable on return.
pub fn save_new(path: &Path, keys: &[PublicKey]) -> Result<(), KeyError> {
    vault::write_new(path, render(keys).as_bytes(), vault::PUBLIC_MODE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_what_it_writes() {
        let keys = [
            PublicKey::from_bytes([1; 32]),
            PublicKey::from_bytes([2; 32]),
        ];
        let text = render(&keys);
        assert_eq!(parse(&text, "t").unwrap(), keys);
        assert_eq!(parse("", "t").unwrap(), []);
        for wrong in [
            text.trim_end().to_owned(),
            format!("{text}\n"),
            format!("# keys\n{text}"),
            text.replace(PRINCIPAL, "*"),
            text.replace("namespaces=\"git\" ", ""),
            text.replace("\"git\"", "\"file\""),
            text.replace('\n', "\r\n"),
            text.replace("ed25519 ", "ed25519  "),
        ] {
            assert!(
                matches!(parse(&wrong, "t"), Err(KeyError::AllowedSigners { .. })),
                "{wrong:?}"
            );
        }
    }
}
