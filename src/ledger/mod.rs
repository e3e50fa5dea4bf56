//! The git ledger: reading (every object re-hashed) and writing (deterministic signed commits).
//!
//! gix stays inside this folder: what the rest of the house sees are [`Oid`]s, bytes and names.

mod budget;
mod error;
mod folder;
mod listing;
mod notes;
mod object;
mod pack;
pub mod read;
mod refs;
pub mod whole;
pub mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use error::LedgerError;
pub use folder::{head_of, put_away};
pub use notes::NoteMap;

/// The only object format of a ledger (format, section 2): every host and tool reads SHA-1.
pub(in crate::ledger) const OBJECT_FORMAT: gix::hash::Kind = gix::hash::Kind::Sha1;

/// The name under which a file that can't be used is kept: `NAME.torn`, or with a number when that
/// is taken.
///
/// Nothing that was set aside earlier is replaced. The numbers end at 4,294,967,295.
pub fn aside_of(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let numbered = |n: u32| {
        if n == 0 {
            format!("{name}.torn")
        } else {
            format!("{name}.torn-{n}")
        }
    };
    let free = (0..=u32::MAX).map(|n| path.with_file_name(numbered(n)));
    let mut free = free.filter(|to| std::fs::symlink_metadata(to).is_err());
    free.next()
        .unwrap_or_else(|| path.with_file_name(numbered(0)))
}

/// A git object id: 20 bytes, spelled as 40 lower-case hexadecimal digits.
///
/// It addresses an object and proves nothing: all integrity rests on SHA-256 (format, section 2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid([u8; 20]);

/// Why a text is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{actual}' is not a git object id: 40 lower-case hexadecimal digits")]
pub struct OidError {
    /// What was found, shortened.
    pub actual: String,
}

impl Oid {
    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Oid(bytes)
    }

    /// The raw 20 bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    pub(in crate::ledger) fn to_gix(self) -> gix::ObjectId {
        gix::ObjectId::Sha1(self.0)
    }

    pub(in crate::ledger) fn from_gix(id: &gix::oid) -> Self {
        Oid(id
            .as_bytes()
            .try_into()
            .expect("the object format of a ledger is SHA-1, checked when it is opened"))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 40];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Oid {
    type Err = OidError;

    fn from_str(text: &str) -> Result<Self, OidError> {
        let wrong = || OidError {
            actual: text.chars().take(80).collect(),
        };
        if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(wrong());
        }
        let mut bytes = [0; 20];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| wrong())?;
        Ok(Oid(bytes))
    }
}

impl Serialize for Oid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let text = "935f032f00000000000000000000000000000abc";
        let id: Oid = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
        assert_eq!(
            serde_json::from_str::<Oid>(&format!("\"{text}\"")).unwrap(),
            id
        );
        for wrong in [
            "",
            "935f",
            &text.to_uppercase(),
            &format!("{text}0"),
            &format!(" {}", &text[1..]),
            &text[1..],
        ] {
            assert!(wrong.parse::<Oid>().is_err(), "{wrong}");
        }
        assert!(Oid::from_bytes([1; 20]) < Oid::from_bytes([2; 20]));
    }
}
