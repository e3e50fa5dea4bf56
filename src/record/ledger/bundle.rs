//! `context_bundle.json`: the only continuity that is put before a model (AEGIS 6.6), as plain
//! data.
//!
//! ```json
//! {"compiled_at":"2026-01-08T00:00:00Z","constraints":[…],"exclusions":[…],"facts":[…],"host_role":"brain",
//!  "intent":[…],"kernel_hash":"sha256:…","model_id":"observer","open_items":[…],"phase":"beta",
//!  "session_id":"…","sight":{"sys_health":{…}},"tier":2}
//! ```
//! Alone among the documents it may hold fractions: what was measured is not always whole.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// A hash spelled `sha256:` and 64 digits, as AEGIS writes it inside the bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedHash(pub Hash32);

const NAMED_HASH_PREFIX: &str = "sha256:";

impl Serialize for NamedHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; NAMED_HASH_PREFIX.len() + 64];
        let (prefix, digits) = text.split_at_mut(NAMED_HASH_PREFIX.len());
        prefix.copy_from_slice(NAMED_HASH_PREFIX.as_bytes());
        digits.copy_from_slice(&self.0.digits());
        serializer.serialize_str(std::str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
    }
}

impl std::fmt::Display for NamedHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAMED_HASH_PREFIX}{}", self.0)
    }
}

impl<'de> Deserialize<'de> for NamedHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix(NAMED_HASH_PREFIX).ok_or_else(|| {
            serde::de::Error::custom(format!("expected 'sha256:' and 64 digits, got '{text}'"))
        })?;
        digits
            .parse()
            .map(NamedHash)
            .map_err(serde::de::Error::custom)
    }
}

/// A time spelled `2026-01-08T00:00:00Z`, as AEGIS writes it inside the bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Seconds);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map(Moment)
            .map_err(serde::de::Error::custom)
    }
}

/// One measured value: a whole number, a fraction of two places, or a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Measurement {
    /// A whole number.
    Count(u64),
    /// Finite; made by [`Measurement::fraction`].
    Fraction(f64),
    /// A short text.
    Text(String),
}

impl Measurement {
    /// Rounds to two places; a whole result becomes a count, so that one value has one spelling.
    /// `None` for what is not finite: an unmeasured value is an unknown, not a number.
    pub fn fraction(value: f64) -> Option<Measurement> {
        let rounded = (value * 100.0).round() / 100.0;
        if !rounded.is_finite() {
            return None;
        }
        // Below 2^53 every whole f64 is exact, so the text of it is the integer.
        if rounded >= 0.0 && rounded.fract() == 0.0 && rounded < 9_007_199_254_740_992.0 {
            return format!("{rounded:.0}").parse().ok().map(Measurement::Count);
        }
        Some(Measurement::Fraction(rounded))
    }

    /// The value as a number, for comparing; `None` for a text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Measurement::Count(n) => n.to_string().parse().ok(),
            Measurement::Fraction(x) => Some(*x),
            Measurement::Text(_) => None,
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measurement::Count(n) => n.fmt(f),
            Measurement::Fraction(x) => x.fmt(f),
            Measurement::Text(t) => t.fmt(f),
        }
    }
}

/// Why a tool shows nothing (AEGIS 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSight {
    /// There is no such tool here.
    NotInstalled,
    /// The kernel's tier does not allow it; it was not run.
    BlockedByTier,
    /// It ran and failed, or did not end in time.
    ToolError,
    /// It was not run: the question is not about what it shows, or whoever asked wanted no sight.
    /// With the time of its newest earlier values, where the record has one at hand.
    NotLooked(Option<Moment>),
}

/// The spelling of a [`NoSight`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoSightName {
    NotInstalled,
    BlockedByTier,
    ToolError,
    NotLooked,
}

impl NoSight {
    /// The spelling in documents.
    pub const fn name(self) -> &'static str {
        match self {
            NoSight::NotInstalled => "not_installed",
            NoSight::BlockedByTier => "blocked_by_tier",
            NoSight::ToolError => "tool_error",
            NoSight::NotLooked(_) => "not_looked",
        }
    }

    /// The spelling, and the time that goes with it.
    const fn parts(self) -> (NoSightName, Option<Moment>) {
        match self {
            NoSight::NotInstalled => (NoSightName::NotInstalled, None),
            NoSight::BlockedByTier => (NoSightName::BlockedByTier, None),
            NoSight::ToolError => (NoSightName::ToolError, None),
            NoSight::NotLooked(last) => (NoSightName::NotLooked, last),
        }
    }

    /// From the spelling; only a tool that was not looked at has a time.
    const fn of(name: NoSightName, last: Option<Moment>) -> Option<NoSight> {
        match (name, last) {
            (NoSightName::NotInstalled, None) => Some(NoSight::NotInstalled),
            (NoSightName::BlockedByTier, None) => Some(NoSight::BlockedByTier),
            (NoSightName::ToolError, None) => Some(NoSight::ToolError),
            (NoSightName::NotLooked, last) => Some(NoSight::NotLooked(last)),
            (_, Some(_)) => None,
        }
    }
}

/// What one observational tool showed: values, or a reason (AEGIS 3 and 7.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireSight", into = "WireSight")]
pub enum SightEntry {
    /// `available: true`. A compile fails when `values` is empty: sight by claim is no sight.
    Seen {
        /// When the values were taken.
        observed_at: Moment,
        /// Age of the values when the bundle was compiled, in seconds.
        freshness_s: u64,
        /// Name and value; the unit is the name's ending (`_mb`, `_pct`, `_s`).
        values: BTreeMap<String, Measurement>,
        /// What the tool could not tell.
        unknowns: Vec<String>,
    },
    /// The tool saw nothing; in JSON `available: false`.
    Unavailable {
        /// Why nothing was seen.
        reason: NoSight,
        /// What is therefore not known.
        unknowns: Vec<String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSight {
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    freshness_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<NoSightName>,
    unknowns: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<BTreeMap<String, Measurement>>,
}

impl From<SightEntry> for WireSight {
    fn from(entry: SightEntry) -> WireSight {
        match entry {
            SightEntry::Seen {
                observed_at,
                freshness_s,
                values,
                unknowns,
            } => WireSight {
                available: true,
                observed_at: Some(observed_at),
                freshness_s: Some(freshness_s),
                values: Some(values),
                reason: None,
                unknowns,
            },
            SightEntry::Unavailable { reason, unknowns } => {
                let (name, observed_at) = reason.parts();
                WireSight {
                    available: false,
                    observed_at,
                    freshness_s: None,
                    values: None,
                    reason: Some(name),
                    unknowns,
                }
            }
        }
    }
}

impl TryFrom<WireSight> for SightEntry {
    type Error = String;

    fn try_from(wire: WireSight) -> Result<SightEntry, String> {
        let WireSight {
            available,
            observed_at,
            freshness_s,
            values,
            reason,
            unknowns,
        } = wire;
        match (available, observed_at, freshness_s, values, reason) {
            (true, Some(observed_at), Some(freshness_s), Some(values), None) => {
                Ok(SightEntry::Seen {
                    observed_at,
                    freshness_s,
                    values,
                    unknowns,
                })
            }
            (false, last, None, None, Some(name)) => {
                let reason = NoSight::of(name, last).ok_or_else(|| {
                    "of unavailable sight only not_looked has observed_at".to_owned()
                })?;
                Ok(SightEntry::Unavailable { reason, unknowns })
            }
            (true, ..) => Err(
                "available sight has exactly observed_at, freshness_s, values, unknowns".to_owned(),
            ),
            (false, ..) => Err(
                "unavailable sight has exactly reason, unknowns and, with not_looked, observed_at"
                    .to_owned(),
            ),
        }
    }
}

/// One rule in force, and who set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// The rule's name.
    pub rule: String,
    /// Where the constraint comes from: always `kernel`.
    pub source: String,
}

/// One ratified fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// What is held to be so.
    pub claim: String,
    /// `high`, `medium` or `low`.
    pub confidence: String,
    /// Name of the item on record, such as `ledger:000183`.
    pub id: String,
    /// When it was observed.
    pub observed_at: Moment,
    /// Where it stands.
    pub source: String,
}

/// One open DriftWatch item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenItem {
    /// Name of the event on record, such as `driftwatch:0042`.
    pub id: String,
    /// What is open.
    pub issue: String,
    /// State of the event: always `open`.
    pub status: String,
}

/// One declared intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleIntent {
    /// What this turn is for.
    pub intent: String,
    /// `system` or `user`.
    pub source: String,
}

/// One artifact that was not let in, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Name of the artifact that was left out.
    pub artifact: String,
    /// Code that says why, such as `unratified`.
    pub reason: String,
}

/// The bundle, exactly the keys of AEGIS 6.6, in their canonical order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// When it was compiled.
    pub compiled_at: Moment,
    /// Rules in force.
    pub constraints: Vec<Constraint>,
    /// What was kept out, and why.
    pub exclusions: Vec<Exclusion>,
    /// Ratified facts (ring 1).
    pub facts: Vec<Fact>,
    /// What this host is for.
    pub host_role: String,
    /// Intents that a person declared.
    pub intent: Vec<BundleIntent>,
    /// Hash of the kernel's canonical JSON.
    pub kernel_hash: NamedHash,
    /// The model that is to be asked.
    pub model_id: String,
    /// Open DriftWatch items (ring 1).
    pub open_items: Vec<OpenItem>,
    /// The kernel's phase.
    pub phase: String,
    /// The row id of the session.
    pub session_id: Uuid,
    /// One entry for each tool.
    pub sight: BTreeMap<String, SightEntry>,
    /// The kernel's tier, 1 to 3.
    pub tier: u8,
}

/// A bundle as it is stored; read once, and only when somebody asks.
#[derive(Clone, Debug)]
pub struct StoredBundle {
    json: String,
    read: OnceCell<Result<Bundle, String>>,
}

impl StoredBundle {
    /// From its text.
    pub fn new(json: String) -> StoredBundle {
        StoredBundle {
            json,
            read: OnceCell::new(),
        }
    }

    /// The text as it was stored.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What it says; or why it is not what [`Bundle::print`] wrote.
    pub fn read(&self) -> Result<&Bundle, &str> {
        let parse = || Bundle::parse(&self.json).map_err(|e| e.to_string());
        self.read
            .get_or_init(parse)
            .as_ref()
            .map_err(String::as_str)
    }
}

impl Bundle {
    /// Reads a stored bundle: only what [`canon::print`] would have written.
    pub fn parse(text: &str) -> Result<Bundle, CanonError> {
        canon::parse(text.as_bytes())
    }

    /// Reads a stored bundle that is printed again and compared by whoever asks: in any spelling.
    pub fn parse_unprinted(text: &str) -> Result<Bundle, CanonError> {
        serde_json::from_str(text).map_err(|e| CanonError::Shape {
            reason: e.to_string(),
        })
    }

    /// Prints the bundle as canonical JSON.
    pub fn print(&self) -> Result<String, CanonError> {
        canon::print(self)
    }

    /// What is in it that people wrote, and not the kernel or this program: claims, and the intents
    /// that no kernel set. Passages of imported conversations are none: a model may have said them.
    pub fn texts_of_people(&self) -> impl Iterator<Item = &str> {
        let facts = self.facts.iter().filter(|fact| !fact.is_imported());
        let facts = facts.map(|fact| fact.claim.as_str());
        let intents = self
            .intent
            .iter()
            .filter(|intent| intent.source != "system")
            .map(|intent| intent.intent.as_str());
        facts.chain(intents)
    }

    /// What tools found under names that somebody gave: mount points, units.
    pub fn names_by_people(&self) -> impl Iterator<Item = &str> {
        self.sight.values().flat_map(SightEntry::named_by_people)
    }
}

impl Fact {
    /// Whether it is a passage of an imported conversation, for which nobody vouches.
    pub fn is_imported(&self) -> bool {
        self.id.starts_with("imported:")
    }
}

impl SightEntry {
    /// When the tool was looked at last, as far as this entry says.
    pub fn last_look(&self) -> Option<Moment> {
        match self {
            SightEntry::Seen { observed_at, .. } => Some(*observed_at),
            SightEntry::Unavailable {
                reason: NoSight::NotLooked(last),
                ..
            } => *last,
            SightEntry::Unavailable { .. } => None,
        }
    }

    /// Whether the tool was left alone for this question.
    pub fn was_not_looked_at(&self) -> bool {
        matches!(
            self,
            SightEntry::Unavailable {
                reason: NoSight::NotLooked(_),
                ..
            }
        )
    }

    /// Texts among the values, and names with a dot: a unit's name has one, and none of the tools'
    /// own names has.
    fn named_by_people(&self) -> impl Iterator<Item = &str> {
        let (values, unknowns) = match self {
            SightEntry::Seen {
                values, unknowns, ..
            } => (Some(values), unknowns),
            SightEntry::Unavailable { unknowns, .. } => (None, unknowns),
        };
        let texts = values
            .into_iter()
            .flatten()
            .filter_map(|(_, value)| match value {
                Measurement::Text(text) => Some(text.as_str()),
                Measurement::Count(_) | Measurement::Fraction(_) => None,
            });
        let names = values
            .into_iter()
            .flat_map(BTreeMap::keys)
            .chain(unknowns)
            .map(String::as_str);
        texts.chain(names.filter(|name| name.contains('.')))
    }
}

/// One row of `context_artifact_ref`: an artifact that was injected, and why (AEGIS 5.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// `kernel`, `sys_health`, `ledger_fact`, …
    pub artifact_type: String,
    /// The artifact's own id.
    pub artifact_id: String,
    /// SHA-256 of the artifact's canonical JSON.
    pub artifact_hash: Option<Hash32>,
    /// A code: why it was let in.
    pub included_reason: String,
    /// When it was observed.
    pub observed_at: Option<Seconds>,
    /// Its age at the compile, in seconds.
    pub freshness_s: Option<u64>,
    /// Codes: `unknown:gpu_health`, `conflict`.
    pub risk_flags: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[{"rule":"evidence_first","source":"kernel"}],"exclusions":[{"artifact":"raw_journal_logs","reason":"evidence_blob_disallowed"}],"facts":[{"claim":"c","confidence":"high","id":"ledger:000183","observed_at":"2026-01-07T23:31:44Z","source":"ledger"}],"host_role":"brain","intent":[{"intent":"i","source":"system"}],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"ollama llama3.1:8b","open_items":[{"id":"driftwatch:0042","issue":"x","status":"open"}],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"gone":{"available":false,"reason":"blocked_by_tier","unknowns":[]},"sys_health":{"available":true,"freshness_s":3,"observed_at":"2026-01-08T00:00:00Z","unknowns":["gpu_health"],"values":{"cpu_load":0.42,"disk_free_pct":71,"mem_used_mb":3812}}},"tier":2}"#;

    #[test]
    fn reads_only_what_it_writes() {
        let bundle = Bundle::parse(SAMPLE).unwrap();
        assert_eq!(bundle.print().unwrap(), SAMPLE);
        for (from, to) in [
            ("\"tier\":2", "\"tier\":2,\"zzz\":1"),
            ("\"tier\":2", "\"tier\":2.5"),
            ("sha256:39", "39"),
            (
                "T00:00:00Z\",\"constraints",
                "T00:00:00+00:00\",\"constraints",
            ),
            ("\"available\":false", "\"available\":true"),
            ("\"available\":true", "\"available\":false"),
            ("blocked_by_tier", "not_looked_at"),
            (
                "\"reason\":\"blocked_by_tier\"",
                "\"observed_at\":\"2026-01-08T00:00:00Z\",\"reason\":\"blocked_by_tier\"",
            ),
            ("blocked_by_tier", "tired"),
            (",\"reason\":\"blocked_by_tier\"", ""),
            ("0.42", "0.420"),
            ("\"freshness_s\":3,", ""),
        ] {
            assert!(SAMPLE.contains(from), "{from}");
            assert!(
                Bundle::parse(&SAMPLE.replacen(from, to, 1)).is_err(),
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn a_tool_that_was_not_looked_at_may_say_when_it_was() {
        let last = "2026-01-07T00:00:00Z".parse().map(Moment).unwrap();
        for (reason, text) in [
            (NoSight::NotLooked(None), ""),
            (
                NoSight::NotLooked(Some(last)),
                r#""observed_at":"2026-01-07T00:00:00Z","#,
            ),
        ] {
            let entry = SightEntry::Unavailable {
                reason,
                unknowns: Vec::new(),
            };
            let printed =
                format!(r#"{{"available":false,{text}"reason":"not_looked","unknowns":[]}}"#);
            assert_eq!(canon::print(&entry).unwrap(), printed);
            let read: SightEntry = canon::parse(printed.as_bytes()).unwrap();
            assert_eq!(read, entry);
            assert_eq!(read.last_look(), entry.last_look());
            assert!(read.was_not_looked_at());
        }
        let bundle = Bundle::parse(SAMPLE).unwrap();
        let looks = ["gone", "sys_health"].map(|tool| bundle.sight[tool].last_look().is_some());
        assert_eq!(looks, [false, true]);
    }

    #[test]
    fn one_number_has_one_spelling() {
        assert_eq!(Measurement::fraction(2.0), Some(Measurement::Count(2)));
        assert_eq!(
            Measurement::fraction(0.4249),
            Some(Measurement::Fraction(0.42))
        );
        assert_eq!(Measurement::fraction(0.0), Some(Measurement::Count(0)));
        assert_eq!(Measurement::fraction(f64::NAN), None);
        assert_eq!(Measurement::fraction(f64::INFINITY), None);
        assert_eq!(Measurement::Count(7).number(), Some(7.0));
        assert_eq!(Measurement::Text("x".into()).number(), None);
    }
}
