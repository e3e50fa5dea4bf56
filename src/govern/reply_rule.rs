//! The rules of the validator: what a reply can be found to do, each with its class.

use super::drift::DriftClass;

/// A rule that a reply is held against.
///
/// Whatever tells people of one matches on it, so that a new rule can't be without its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyRule {
    /// The reply claims to have done something.
    ClaimedSideEffect,
    /// It names an id of gently's own making that it was not shown.
    UnknownArtifact,
    /// It gives a figure of this machine that no value comes to.
    ContradictsSight,
    /// It says what a correction that it was shown rejects.
    RejectedClaim,
    /// It states something of this machine that has no source.
    Unsourced,
    /// It states something else that has no source.
    GeneralUnsourced,
    /// A tool that the tier allows gave neither values nor a reason.
    SightWithoutValues,
    /// The reply says that it can't see.
    DeniesSight,
    /// It refuses, and the values were there.
    RefusesSight,
    /// It has no value of what was asked.
    NoValueGiven,
    /// The reply presses the person to hurry.
    Urgency,
    /// The reply flatters the person.
    Flattery,
    /// It speaks as a friend.
    Intimacy,
    /// It is surer than anybody can be.
    Certainty,
    /// It is no JSON, and was to be.
    NotJson,
    /// It is JSON of another shape.
    OtherShape,
}

impl ReplyRule {
    /// All of them.
    pub const ALL: [ReplyRule; 16] = [
        ReplyRule::ClaimedSideEffect,
        ReplyRule::UnknownArtifact,
        ReplyRule::ContradictsSight,
        ReplyRule::RejectedClaim,
        ReplyRule::Unsourced,
        ReplyRule::GeneralUnsourced,
        ReplyRule::SightWithoutValues,
        ReplyRule::DeniesSight,
        ReplyRule::RefusesSight,
        ReplyRule::NoValueGiven,
        ReplyRule::Urgency,
        ReplyRule::Flattery,
        ReplyRule::Intimacy,
        ReplyRule::Certainty,
        ReplyRule::NotJson,
        ReplyRule::OtherShape,
    ];

    /// The spelling in the first word of a summary.
    pub const fn name(self) -> &'static str {
        match self {
            ReplyRule::ClaimedSideEffect => "claimed_side_effect",
            ReplyRule::UnknownArtifact => "unknown_artifact",
            ReplyRule::ContradictsSight => "contradicts_sight",
            ReplyRule::RejectedClaim => "rejected_claim",
            ReplyRule::Unsourced => "unsourced",
            ReplyRule::GeneralUnsourced => "general_unsourced",
            ReplyRule::SightWithoutValues => "sight_without_values",
            ReplyRule::DeniesSight => "denies_sight",
            ReplyRule::RefusesSight => "refuses_sight",
            ReplyRule::NoValueGiven => "no_value_given",
            ReplyRule::Urgency => "urgency",
            ReplyRule::Flattery => "flattery",
            ReplyRule::Intimacy => "intimacy",
            ReplyRule::Certainty => "certainty",
            ReplyRule::NotJson => "not_json",
            ReplyRule::OtherShape => "other_shape",
        }
    }

    /// The class of what it finds.
    pub const fn class(self) -> DriftClass {
        match self {
            ReplyRule::ClaimedSideEffect => DriftClass::Authority,
            ReplyRule::UnknownArtifact
            | ReplyRule::ContradictsSight
            | ReplyRule::RejectedClaim
            | ReplyRule::Unsourced
            | ReplyRule::GeneralUnsourced => DriftClass::Evidence,
            ReplyRule::SightWithoutValues
            | ReplyRule::DeniesSight
            | ReplyRule::RefusesSight
            | ReplyRule::NoValueGiven => DriftClass::Completeness,
            ReplyRule::Urgency
            | ReplyRule::Flattery
            | ReplyRule::Intimacy
            | ReplyRule::Certainty => DriftClass::Tone,
            ReplyRule::NotJson | ReplyRule::OtherShape => DriftClass::Schema,
        }
    }

    /// The rule that is spelled so; none for one of another version.
    pub fn named(name: &str) -> Option<ReplyRule> {
        ReplyRule::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_read_by_its_own_name() {
        for rule in ReplyRule::ALL {
            assert_eq!(ReplyRule::named(rule.name()), Some(rule));
        }
        assert_eq!(ReplyRule::named("rule"), None);
        for class in DriftClass::ALL {
            assert!(ReplyRule::ALL.iter().any(|rule| rule.class() == class));
        }
    }
}
