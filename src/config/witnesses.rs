//! `[witness.NAME]`: who is asked to cosign tree heads.
//!
//! ```text
//! [witness]
//! quorum = 1
//! [witness.desk]
//! key = "witness.example/w1+a1b2c3d4+BP…"     a verifier key (c2sp signed-note), of cosignatures
//! url = "https://witness.example/w1"          its submission prefix (c2sp tlog-witness)
//! ```

use std::collections::BTreeMap;

use toml_edit::{Item, TableLike};

use super::ConfigError;
use super::named_tables::{TablePlace, place_of};
use super::rules::SOURCE;
use crate::record::tree::note::{KeyKind, VerifierKey};

/// Name of the table that witnesses are configured in: `[witness]`.
pub const WITNESS: &str = "witness";
/// Characters of a name: it is typed, and stands in policies.
const MAX_NAME: usize = 40;
/// More are a burden on the log and on each other.
pub const MAX_WITNESSES: usize = 32;
/// A name that means something already: the section's own key, and a policy's quorum that asks
/// nobody.
const TAKEN: [&str; 2] = ["quorum", "none"];

/// One witness, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredWitness {
    /// What its cosignatures are checked with.
    pub key: VerifierKey,
    /// Where it is asked, without a slash at the end.
    pub url: String,
}

/// Whether a word may be a witness's name.
pub fn is_witness_name(text: &str) -> bool {
    let fine =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(fine) && !TAKEN.contains(&text)
}

/// What a name may be, in words.
pub fn name_rule() -> String {
    format!(
        "a name of at most {MAX_NAME} small letters, digits, '.', '-' and '_', and none of {}",
        TAKEN.join(", ")
    )
}

/// Reads a verifier key that cosigns.
pub fn read_key(text: &str) -> Result<VerifierKey, String> {
    let key = VerifierKey::parse(text).map_err(|e| e.to_string())?;
    if key.kind == KeyKind::Cosigner {
        return Ok(key);
    }
    Err("it is the key of a log (kind 01); a witness's is of kind 04".to_owned())
}

/// One `[witness.NAME]`, as it stands in a file.
pub(super) struct WitnessTable<'a> {
    pub name: &'a str,
    pub fields: &'a dyn TableLike,
    /// Where it begins.
    pub at: String,
    /// Where a part of it stands.
    pub place: TablePlace<'a>,
}

impl WitnessTable<'_> {
    fn key(&self) -> String {
        format!("{WITNESS}.{}", self.name)
    }

    fn wrong(&self, expected: impl Into<String>, actual: impl Into<String>) -> ConfigError {
        ConfigError::Wrong {
            place: self.at.clone(),
            key: self.key(),
            expected: expected.into(),
            actual: actual.into(),
        }
    }

    /// A field that holds a text of some form.
    fn text(
        &self,
        field: &str,
        expected: &str,
        accepts: impl Fn(&str) -> bool,
    ) -> Result<&str, ConfigError> {
        let found = self.fields.get(field);
        let text = found.and_then(Item::as_str).filter(|text| accepts(text));
        text.ok_or_else(|| ConfigError::Wrong {
            place: match found {
                Some(_) => place_of(self.fields, field, self.place),
                None => self.at.clone(),
            },
            key: format!("{}.{field}", self.key()),
            expected: expected.to_owned(),
            actual: found.map_or("nothing", |_| "another value").to_owned(),
        })
    }
}

/// Reads one witness.
pub(super) fn read(
    known: &mut BTreeMap<String, ConfiguredWitness>,
    table: &WitnessTable<'_>,
) -> Result<(), ConfigError> {
    if !is_witness_name(table.name) {
        return Err(table.wrong(name_rule(), format!("\"{}\"", table.name)));
    }
    let mut fields = table.fields.iter().map(|(field, _)| field);
    if let Some(other) = fields.find(|field| !["key", "url"].contains(field)) {
        return Err(ConfigError::Unknown {
            place: place_of(table.fields, other, table.place),
            key: format!("{}.{other}", table.key()),
            nearest: None,
        });
    }
    let vkey = table.text(
        "key",
        "a verifier key of cosignatures, NAME+ID+BASE64 of kind 04",
        |text| read_key(text).is_ok(),
    )?;
    let url = table.text("url", SOURCE.says, SOURCE.accepts)?;
    let Ok(key) = read_key(vkey) else {
        return Err(table.wrong("a verifier key", "another"));
    };
    let same = known.iter().find(|(_, witness)| witness.key.key == key.key);
    if let Some((other, _)) = same {
        return Err(table.wrong("a key of its own", format!("that of witness.{other}")));
    }
    if known.len() >= MAX_WITNESSES {
        let expected = format!("at most {MAX_WITNESSES} witnesses");
        return Err(table.wrong(expected, "one more"));
    }
    let url = url.trim_end_matches('/').to_owned();
    known.insert(table.name.to_owned(), ConfiguredWitness { key, url });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::record::signature::PublicKey;

    fn vkey(seed: u8, kind: KeyKind) -> String {
        VerifierKey {
            name: format!("w{seed}"),
            kind,
            key: PublicKey::from_bytes([seed; 32]),
        }
        .print()
    }

    fn read(text: &str) -> Result<BTreeMap<String, ConfiguredWitness>, ConfigError> {
        Settings::read(text, "gently.toml", &|_| None)
            .map(|settings| settings.named().witnesses.clone())
    }

    #[test]
    fn witnesses_are_read_beside_the_quorum() {
        let (a, b) = (vkey(1, KeyKind::Cosigner), vkey(2, KeyKind::Cosigner));
        let text = format!(
            "[witness]\nquorum = 2\n[witness.desk]\nkey = '{a}'\nurl = 'https://w.example/'\n\
             [witness.shed]\nurl = 'http://127.0.0.1:1'\nkey = '{b}'"
        );
        let read = read(&text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(
            (read["desk"].url.as_str(), read["shed"].key.print()),
            ("https://w.example", b)
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let good = format!(
            "key = '{}'\nurl = 'https://w.example'",
            vkey(1, KeyKind::Cosigner)
        );
        let log = vkey(1, KeyKind::Log);
        for (text, said) in [
            (
                "[witness.Desk]".to_owned(),
                "line 1: witness.Desk is a name of",
            ),
            (
                "[witness]\nquorum = { key = '' }".to_owned(),
                "witness.quorum is a name of",
            ),
            ("[witness.none]".to_owned(), "none of quorum, none"),
            (
                "[witness.desk]".to_owned(),
                "line 1: witness.desk.key is a verifier key",
            ),
            (
                format!("[witness.desk]\nkey = '{log}'"),
                "line 2: witness.desk.key is a verifier key",
            ),
            (
                good.replace("https", "ftp")
                    .replacen("key", "[witness.desk]\nkey", 1),
                "line 3: witness.desk.url is",
            ),
            (
                good.replace("w.example", "u:hunter2@w")
                    .replacen("key", "[witness.desk]\nkey", 1),
                "without a name",
            ),
            (
                format!("[witness.desk]\n{good}\nkind = 1"),
                "line 4: unknown key 'witness.desk.kind'",
            ),
            (
                format!("[witness.a]\n{good}\n[witness.b]\n{good}"),
                "line 4: witness.b is a key of its own; found that",
            ),
            (
                "[witness]\nquorum = 0".to_owned(),
                "witness.quorum is a whole number",
            ),
            (
                "[witness]\ndesk = 1".to_owned(),
                "unknown key 'witness.desk'",
            ),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(
                error.contains(said) && !error.contains("hunter2"),
                "{text:?}: {error}"
            );
        }
    }
}
