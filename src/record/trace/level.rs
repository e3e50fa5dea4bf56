//! How much a trace tells, in whose form, and why a field of it is absent.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a trace tells; each level has all of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceLevel {
    /// Numbers, verdicts and words of lists.
    Generic,
    /// And names: tools, checks, models, ids.
    Detailed,
    /// And texts; only with consent.
    FullTraces,
}

impl TraceLevel {
    /// All of them, from the least to the most.
    pub const ALL: [TraceLevel; 3] = [
        TraceLevel::Generic,
        TraceLevel::Detailed,
        TraceLevel::FullTraces,
    ];

    /// The spelling in traces.
    pub const fn name(self) -> &'static str {
        match self {
            TraceLevel::Generic => "generic",
            TraceLevel::Detailed => "detailed",
            TraceLevel::FullTraces => "full_traces",
        }
    }

    /// The level that is spelled so, if there is one.
    pub fn named(name: &str) -> Option<TraceLevel> {
        TraceLevel::ALL
            .into_iter()
            .find(|level| level.name() == name)
    }
}

impl fmt::Display for TraceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which of the two profiles of the document's form a trace is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TraceProfile {
    /// The document's seven components.
    #[serde(rename = "v1.9.3")]
    SevenComponents,
    /// Six: what IDMA_RESULT holds is `idma` in DMA_RESULTS, as in the schema that the document
    /// names.
    #[serde(rename = "v1.9.1")]
    SixComponents,
}

impl TraceProfile {
    /// Both of them, the usual one first.
    pub const ALL: [TraceProfile; 2] = [TraceProfile::SevenComponents, TraceProfile::SixComponents];

    /// The spelling on the command line and on record.
    pub const fn name(self) -> &'static str {
        match self {
            TraceProfile::SevenComponents => "v1.9.3",
            TraceProfile::SixComponents => "v1.9.1",
        }
    }

    /// The profile that is spelled so, if there is one.
    pub fn named(name: &str) -> Option<TraceProfile> {
        TraceProfile::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
    }
}

/// Why a field is not in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// Nothing here measures it, and a model's own score of itself is no measurement.
    NotMeasured,
    /// This turn has no such thing.
    NoSuchThing,
    /// The model's server did not say.
    NotReported,
    /// The check that would tell was not made.
    NoJudgement,
    /// No specialist of a domain took part.
    NoSpecialist,
    /// It is known in another currency.
    NotUsd,
    /// It was erased.
    Erased,
    /// The home keeps no texts.
    NotKept,
    /// The turn is from before this was recorded.
    FromBefore,
}

impl Absence {
    /// All of them.
    pub const ALL: [Absence; 9] = [
        Absence::NotMeasured,
        Absence::NoSuchThing,
        Absence::NotReported,
        Absence::NoJudgement,
        Absence::NoSpecialist,
        Absence::NotUsd,
        Absence::Erased,
        Absence::NotKept,
        Absence::FromBefore,
    ];

    /// The code in envelopes.
    pub const fn code(self) -> &'static str {
        match self {
            Absence::NotMeasured => "not_measured",
            Absence::NoSuchThing => "no_such_thing",
            Absence::NotReported => "not_reported",
            Absence::NoJudgement => "no_judgement",
            Absence::NoSpecialist => "no_specialist",
            Absence::NotUsd => "not_usd",
            Absence::Erased => "erased",
            Absence::NotKept => "not_kept",
            Absence::FromBefore => "from_before",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_the_one_in_documents() {
        let spelled = |name: &str| format!("\"{name}\"");
        for level in TraceLevel::ALL {
            assert_eq!(
                serde_json::to_string(&level).unwrap(),
                spelled(level.name())
            );
            assert_eq!(TraceLevel::named(level.name()), Some(level));
        }
        for profile in TraceProfile::ALL {
            let name = profile.name();
            assert_eq!(serde_json::to_string(&profile).unwrap(), spelled(name));
            assert_eq!(TraceProfile::named(name), Some(profile));
        }
        for absence in Absence::ALL {
            let code = serde_json::to_string(&absence).unwrap();
            assert_eq!(code, spelled(absence.code()));
        }
        assert_eq!(TraceLevel::named("full"), None);
        assert_eq!(TraceProfile::named("1.9.3"), None);
        assert!(TraceLevel::Generic < TraceLevel::Detailed);
        assert!(TraceLevel::Detailed < TraceLevel::FullTraces);
    }
}
