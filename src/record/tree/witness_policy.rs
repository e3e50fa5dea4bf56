//! Whom to believe that there is one history: logs, witnesses and a quorum (c2sp tlog-policy).
//!
//! ```text
//! log     VKEY [URL]
//! witness NAME VKEY [URL]
//! group   NAME all|any|K MEMBER…
//! quorum  NAME|none
//! ```
//! Names are defined above the lines that use them; a name is a member of one group at most.

use std::collections::{BTreeMap, BTreeSet};

use super::SignedNote;
use super::note::{CosignedNote, KeyKind, VerifierKey};

/// Largest policy, in bytes.
pub const MAX_POLICY: usize = 256 * 1024;
/// The quorum that asks nobody.
const NONE: &str = "none";

/// Why a text is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("policy, line {line}: {reason}")]
pub struct PolicyError {
    /// From 1; the last one and more for what is missing.
    pub line: usize,
    /// What is wrong, and what is expected.
    pub reason: String,
}

/// A witness that a policy names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its name in the policy.
    pub name: String,
    /// Public key of the witness, with its name.
    pub key: VerifierKey,
    /// Where to ask it.
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    needed: usize,
    members: Vec<String>,
}

/// A policy that reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WitnessPolicy {
    logs: Vec<VerifierKey>,
    witnesses: Vec<Witness>,
    groups: BTreeMap<String, Group>,
    quorum: Option<String>,
}

/// What the lines so far have used up.
#[derive(Default)]
struct PolicyUse {
    members: BTreeSet<String>,
    quorum: bool,
}

impl WitnessPolicy {
    /// A policy of some witnesses of any log, of which so many must cosign; more than there are is
    /// never reached.
    pub fn of(witnesses: Vec<Witness>, needed: usize) -> WitnessPolicy {
        // No name in a file has a space.
        let all = "all of them".to_owned();
        let members = witnesses
            .iter()
            .map(|witness| witness.name.clone())
            .collect();
        let groups = BTreeMap::from([(all.clone(), Group { needed, members })]);
        WitnessPolicy {
            logs: Vec::new(),
            witnesses,
            groups,
            quorum: Some(all),
        }
    }

    /// Reads a policy file.
    pub fn parse(text: &str) -> Result<WitnessPolicy, PolicyError> {
        let (mut policy, mut used) = (WitnessPolicy::default(), PolicyUse::default());
        let fault = |line, reason: String| PolicyError { line, reason };
        if text.len() > MAX_POLICY {
            return Err(fault(
                1,
                format!("{} bytes; at most {MAX_POLICY} are read", text.len()),
            ));
        }
        for (at, line) in text.split('\n').enumerate() {
            if let Some(c) = line.chars().find(|c| c.is_ascii_control() && *c != '\t') {
                return Err(fault(at + 1, format!("control character {c:?}")));
            }
            let line = line.trim_matches([' ', '\t']);
            if !line.is_empty() && !line.starts_with('#') {
                let items: Vec<&str> = line
                    .split([' ', '\t'])
                    .filter(|item| !item.is_empty())
                    .collect();
                policy
                    .take(&items, &mut used)
                    .map_err(|reason| fault(at + 1, reason))?;
            }
        }
        if !used.quorum {
            return Err(fault(
                text.split('\n').count() + 1,
                "no quorum line; expected 'quorum NAME' or 'quorum none'".into(),
            ));
        }
        Ok(policy)
    }

    fn take(&mut self, items: &[&str], used: &mut PolicyUse) -> Result<(), String> {
        match items {
            ["log", key] | ["log", key, _] => self.take_log(key),
            ["witness", name, key] => self.take_witness(name, key, None),
            ["witness", name, key, url] => self.take_witness(name, key, Some((*url).to_owned())),
            ["group", name, needed, members @ ..] if !members.is_empty() => {
                self.take_group(name, needed, members, used)
            }
            ["quorum", name] if used.quorum => {
                Err(format!("a second quorum, '{name}'; expected one"))
            }
            ["quorum", name] => {
                used.quorum = true;
                self.quorum = (*name != NONE).then(|| (*name).to_owned());
                if self.quorum.is_some() {
                    self.known(name)
                } else {
                    Ok(())
                }
            }
            [verb, ..] => Err(format!(
                "'{verb}' with {} items; expected log, witness, group or quorum",
                items.len() - 1
            )),
            [] => Ok(()),
        }
    }

    fn take_log(&mut self, key: &str) -> Result<(), String> {
        let key = typed(key, KeyKind::Log)?;
        if self.logs.iter().any(|log| log.key == key.key) {
            return Err("the same log twice".to_owned());
        }
        self.logs.push(key);
        Ok(())
    }

    fn take_witness(&mut self, name: &str, key: &str, url: Option<String>) -> Result<(), String> {
        self.new_name(name)?;
        let key = typed(key, KeyKind::Cosigner)?;
        if self
            .witnesses
            .iter()
            .any(|witness| witness.key.key == key.key)
        {
            return Err("the same witness key twice".to_owned());
        }
        self.witnesses.push(Witness {
            name: name.to_owned(),
            key,
            url,
        });
        Ok(())
    }

    fn take_group(
        &mut self,
        name: &str,
        needed: &str,
        members: &[&str],
        used: &mut PolicyUse,
    ) -> Result<(), String> {
        self.new_name(name)?;
        for member in members {
            self.known(member)?;
            if !used.members.insert((*member).to_owned()) {
                return Err(format!(
                    "'{member}' is a member for the second time; each counts once"
                ));
            }
        }
        let number = |text: &str| text.parse::<usize>().ok().filter(|n| n.to_string() == text);
        let needed = match needed {
            "all" => Some(members.len()),
            "any" => Some(1),
            number_of => number(number_of),
        };
        let needed = needed.filter(|needed| (1..=members.len()).contains(needed));
        let needed = needed.ok_or(format!(
            "expected all, any, or 1 to {} members",
            members.len()
        ))?;
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        self.groups
            .insert(name.to_owned(), Group { needed, members });
        Ok(())
    }

    fn is_known(&self, name: &str) -> bool {
        self.groups.contains_key(name) || self.witnesses.iter().any(|witness| witness.name == name)
    }

    fn known(&self, name: &str) -> Result<(), String> {
        if self.is_known(name) {
            Ok(())
        } else {
            Err(format!("'{name}' is not defined above"))
        }
    }

    fn new_name(&self, name: &str) -> Result<(), String> {
        if name == NONE || self.is_known(name) {
            Err(format!("the name '{name}' is taken"))
        } else {
            Ok(())
        }
    }

    /// The logs that it is about; none: whichever is at hand.
    pub fn logs(&self) -> &[VerifierKey] {
        &self.logs
    }

    /// All witnesses that it names.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// The lines of a note that are in the name and with the key id of a witness: the witness, and
    /// when it cosigned by its own clock; none for a line that its key did not sign.
    pub fn cosigners<'a>(
        &'a self,
        note: &'a CosignedNote,
    ) -> impl Iterator<Item = (&'a Witness, Option<u64>)> {
        self.witnesses.iter().flat_map(move |witness| {
            let id = witness.key.id();
            let claims = move |line: &&super::note::NoteSignature| {
                line.name == witness.key.name && line.key_id == id
            };
            let lines = note.others.iter().filter(claims);
            lines.map(move |line| (witness, line.cosigned_at(&note.head, &witness.key)))
        })
    }

    /// Whether it is about the log that signed a tree head: a listed one, or any when none is
    /// listed.
    pub fn knows(&self, head: &SignedNote) -> bool {
        self.logs.is_empty()
            || self
                .logs
                .iter()
                .any(|log| log.name == head.origin && head.verify(&log.key))
    }

    /// The earliest time by which enough had cosigned, of witnesses' names and times; those before
    /// `from` don't count.
    pub fn reached_at(&self, cosigned: &[(&str, u64)], from: u64) -> Option<u64> {
        let mut times: Vec<(u64, &str)> =
            cosigned.iter().map(|(name, time)| (*time, *name)).collect();
        times.retain(|(time, _)| *time >= from);
        times.sort_unstable();
        let mut names = BTreeSet::new();
        let enough = times.into_iter().find(|(_, name)| {
            names.insert(*name);
            self.asks_somebody() && self.is_reached_by(&names)
        });
        enough.map(|(time, _)| time)
    }

    /// Whether it asks for a cosignature at all.
    pub fn asks_somebody(&self) -> bool {
        self.quorum.is_some()
    }

    /// Whether these witnesses, by name, are enough.
    #[must_use = "an unchecked quorum proves nothing"]
    pub fn is_reached_by(&self, cosigned: &BTreeSet<&str>) -> bool {
        self.quorum
            .as_deref()
            .is_none_or(|name| self.has_witnessed(name, cosigned))
    }

    fn has_witnessed(&self, name: &str, cosigned: &BTreeSet<&str>) -> bool {
        match self.groups.get(name) {
            None => cosigned.contains(name),
            Some(group) => {
                let witnessed = group
                    .members
                    .iter()
                    .filter(|member| self.has_witnessed(member, cosigned));
                witnessed.count() >= group.needed
            }
        }
    }
}

fn typed(text: &str, kind: KeyKind) -> Result<VerifierKey, String> {
    let key = VerifierKey::parse(text).map_err(|e| e.to_string())?;
    if key.kind == kind {
        Ok(key)
    } else {
        Err("a key of the wrong kind: logs have 01, witnesses 04".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::signature::PublicKey;

    fn vkey(seed: u8, kind: KeyKind) -> String {
        VerifierKey {
            name: format!("k{seed}"),
            kind,
            key: PublicKey::from_bytes([seed; 32]),
        }
        .print()
    }

    fn policy() -> String {
        let witness =
            |name: &str, seed| format!("witness {name} {}\n", vkey(seed, KeyKind::Cosigner));
        format!(
            "# two of three, and one of two\nlog {} https://a.example\n\n{}{}{}\tgroup  X 2 X1 X2\tX3\n{}{}group Y any Y1 Y2\n\
             group both all X Y\nquorum both\n",
            vkey(1, KeyKind::Log),
            witness("X1", 2),
            witness("X2", 3),
            witness("X3", 4),
            witness("Y1", 5),
            witness("Y2", 6),
        )
    }

    #[test]
    fn quorums_count_as_they_say() {
        let policy = WitnessPolicy::parse(&policy()).unwrap();
        assert_eq!((policy.logs().len(), policy.witnesses().len()), (1, 5));
        for (who, reached) in [
            (&["X1", "X2", "Y1"][..], true),
            (&["X1", "X3", "Y2"], true),
            (&["X1", "X2", "X3", "Y1", "Y2"], true),
            (&["X1", "Y1", "Y2"], false),
            (&["X1", "X2", "X3"], false),
            (&["X", "Y"], false),
            (&["both"], false),
            (&[], false),
        ] {
            assert_eq!(
                policy.is_reached_by(&who.iter().copied().collect()),
                reached,
                "{who:?}"
            );
        }
        let nobody = WitnessPolicy::parse("quorum none").unwrap();
        assert!(nobody.is_reached_by(&BTreeSet::new()) && !nobody.asks_somebody());
    }

    #[test]
    fn one_mistake_is_no_policy() {
        let good = policy();
        let twice = format!("witness Z {}\n", vkey(2, KeyKind::Cosigner));
        for (from, to) in [
            ("quorum both", "quorum Z"),
            ("quorum both", "quorum both\nquorum both"),
            ("quorum both\n", ""),
            ("group both", "group X"),
            ("group both", "group none"),
            ("group both all X Y", "group both all X X1"),
            ("group both all X Y", "group both all"),
            (" 2 X1", " 0 X1"),
            (" 2 X1", " 4 X1"),
            (" 2 X1", " 02 X1"),
            (" 2 X1", " two X1"),
            ("X1 X2\tX3", "X1 X2\u{b}X3"),
            ("log ", "logs "),
            ("log ", "log log "),
            ("witness X1", "witness X1 X1 X1"),
            ("witness X2", "witness X1"),
            ("group  X", &format!("{twice}group  X")),
            ("quorum both", "quorum both \r"),
        ] {
            assert!(good.contains(from), "{from:?}");
            assert!(
                WitnessPolicy::parse(&good.replacen(from, to, 1)).is_err(),
                "{from:?} -> {to:?}"
            );
        }
        let swapped =
            |from: KeyKind, to: KeyKind, seed| good.replacen(&vkey(seed, from), &vkey(seed, to), 1);
        assert!(WitnessPolicy::parse(&swapped(KeyKind::Log, KeyKind::Cosigner, 1)).is_err());
        assert!(WitnessPolicy::parse(&swapped(KeyKind::Cosigner, KeyKind::Log, 2)).is_err());
        assert!(
            WitnessPolicy::parse("").is_err()
                && WitnessPolicy::parse(&format!("{good}{}", "#".repeat(MAX_POLICY))).is_err()
        );
        let ahead = good.replacen("quorum both\n", "", 1);
        let fault = WitnessPolicy::parse(&format!("quorum both\n{ahead}")).unwrap_err();
        assert_eq!(
            (fault.line, fault.reason.contains("not defined above")),
            (1, true)
        );
    }
}
