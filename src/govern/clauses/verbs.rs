//! Verbs of acting and their forms: the base, as it is asked for (*restart*), the past, as it is
//! claimed (*restarted*), and the form of what is under way (*restarting*).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::govern::word_list::WordList;

/// Where a claim to have done something is one of a side effect.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(in crate::govern) enum ClaimScope {
    /// Whatever it was done to.
    Always,
    /// Where it was done to a thing of a machine.
    OnAThing,
}

/// One verb, as `genesis/acts.toml` explains it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActVerb {
    claim: Option<ClaimScope>,
    #[serde(default)]
    past: Vec<String>,
    /// Names of the acts that a request with it may be.
    #[serde(default)]
    pub(super) acts: Vec<String>,
    pub(super) with: Option<WordList>,
    pub(super) about: Option<WordList>,
}

/// All verbs by their base, and those that are claimed by their other forms.
pub(super) struct VerbTable {
    verbs: BTreeMap<String, ActVerb>,
    past: BTreeMap<String, ClaimScope>,
    under_way: BTreeMap<String, ClaimScope>,
}

impl From<BTreeMap<String, ActVerb>> for VerbTable {
    fn from(verbs: BTreeMap<String, ActVerb>) -> Self {
        let (mut past, mut under_way) = (BTreeMap::new(), BTreeMap::new());
        for (base, verb) in &verbs {
            let Some(scope) = verb.claim else { continue };
            let pasts = if verb.past.is_empty() {
                vec![regular(base)]
            } else {
                verb.past.clone()
            };
            for form in pasts {
                under_way.insert(ing(base, &form), scope);
                past.insert(form, scope);
            }
        }
        VerbTable {
            verbs,
            past,
            under_way,
        }
    }
}

impl VerbTable {
    /// The verb of a base.
    pub(super) fn get(&self, base: &str) -> Option<&ActVerb> {
        self.verbs.get(base)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &ActVerb)> {
        self.verbs.iter().map(|(base, verb)| (base.as_str(), verb))
    }

    /// The base of a verb that requests may be made with, of a form in `-ing` in whatever spelling:
    /// `stopping` is `stop`, and so is `stoping`.
    pub(super) fn requested_in(&self, word: &str) -> Option<&str> {
        let stem = word.strip_suffix("ing")?;
        let mut ends = stem.chars().rev();
        let doubled = ends.next().filter(|last| ends.next() == Some(*last));
        let undoubled = doubled.and_then(|last| stem.strip_suffix(last));
        [
            Some(stem.to_owned()),
            Some(format!("{stem}e")),
            undoubled.map(str::to_owned),
        ]
        .into_iter()
        .flatten()
        .filter_map(|base| self.verbs.get_key_value(&base))
        .find(|(_, verb)| !verb.acts.is_empty())
        .map(|(base, _)| base.as_str())
    }

    /// What a claim is with the past of a verb: `restarted`.
    pub(super) fn past(&self, word: &str) -> Option<ClaimScope> {
        self.past.get(word).copied()
    }

    /// The same of its base, as in *I was able to restart it*.
    pub(super) fn base(&self, word: &str) -> Option<ClaimScope> {
        self.verbs.get(word)?.claim
    }

    /// The same of what is under way: `restarting`.
    pub(super) fn under_way(&self, word: &str) -> Option<ClaimScope> {
        self.under_way.get(word).copied()
    }
}

/// The past of a verb that is bent like most.
fn regular(base: &str) -> String {
    match base.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ied"),
        _ if base.ends_with('e') => format!("{base}d"),
        _ => format!("{base}ed"),
    }
}

/// The form in `-ing`.
fn ing(base: &str, past: &str) -> String {
    let doubled = past
        .strip_suffix("ed")
        .filter(|stem| stem.len() == base.len() + 1 && stem.starts_with(base));
    match (doubled, base.strip_suffix('e')) {
        (Some(stem), _) | (None, Some(stem)) => format!("{stem}ing"),
        (None, None) if past != format!("{base}ed") && is_short(base) => base
            .chars()
            .next_back()
            .map_or_else(String::new, |last| format!("{base}{last}ing")),
        (None, None) => format!("{base}ing"),
    }
}

/// Consonant, vowel, consonant at the end, as in *run*: the last is doubled.
fn is_short(base: &str) -> bool {
    let vowel = |c: Option<char>| c.is_some_and(|c| "aeiou".contains(c));
    let mut back = base.chars().rev();
    let (last, middle, first) = (back.next(), back.next(), back.next());
    !vowel(last) && vowel(middle) && !vowel(first) && last.is_some_and(|c| !"wxy".contains(c))
}
