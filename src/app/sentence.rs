//! Sentences for a person in which what a request names stands as a type: each door spells it its
//! own way, a terminal as the flag that takes it.

use std::fmt;

/// Something that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestField {
    /// Where the next page of a search begins.
    Before,
    /// The best of a search instead of the newest.
    Best,
    /// Whose words are searched.
    By,
    /// Which conversation.
    Conversation,
    /// The shape of an answer.
    Expect,
    /// A key that traces are held against.
    Key,
    /// How many of a list.
    Limit,
    /// Which line of an artifact.
    Line,
    /// Which model.
    Model,
    /// When something was observed.
    ObservedAt,
    /// What is older.
    OlderThan,
    /// The name of a ledger.
    Origin,
    /// Which question a question follows.
    Parent,
    /// Where a search looks.
    Place,
    /// Which project.
    Project,
    /// For what texts may be used.
    Purpose,
    /// What a question refers to.
    Reference,
    /// Which text of a turn.
    Role,
    /// What is since then.
    Since,
    /// Where something is known from.
    Source,
    /// What something is about.
    Subject,
    /// How much a model is left to chance.
    Temperature,
    /// What is until then.
    Until,
    /// A proof beside each trace.
    WithProof,
    /// What the kernel withholds, too.
    Withheld,
}

impl RequestField {
    /// All of them.
    pub const ALL: [RequestField; 25] = [
        RequestField::Before,
        RequestField::Best,
        RequestField::By,
        RequestField::Conversation,
        RequestField::Expect,
        RequestField::Key,
        RequestField::Limit,
        RequestField::Line,
        RequestField::Model,
        RequestField::ObservedAt,
        RequestField::OlderThan,
        RequestField::Origin,
        RequestField::Parent,
        RequestField::Place,
        RequestField::Project,
        RequestField::Purpose,
        RequestField::Reference,
        RequestField::Role,
        RequestField::Since,
        RequestField::Source,
        RequestField::Subject,
        RequestField::Temperature,
        RequestField::Until,
        RequestField::WithProof,
        RequestField::Withheld,
    ];

    /// Its name, for a door that has no spelling of its own.
    pub const fn name(self) -> &'static str {
        match self {
            RequestField::Before => "before",
            RequestField::Best => "best",
            RequestField::By => "by",
            RequestField::Conversation => "conversation",
            RequestField::Expect => "expect",
            RequestField::Key => "key",
            RequestField::Limit => "limit",
            RequestField::Line => "line",
            RequestField::Model => "model",
            RequestField::ObservedAt => "observed_at",
            RequestField::OlderThan => "older_than",
            RequestField::Origin => "origin",
            RequestField::Parent => "parent",
            RequestField::Place => "place",
            RequestField::Project => "project",
            RequestField::Purpose => "purpose",
            RequestField::Reference => "ref",
            RequestField::Role => "role",
            RequestField::Since => "since",
            RequestField::Source => "source",
            RequestField::Subject => "subject",
            RequestField::Temperature => "temperature",
            RequestField::Until => "until",
            RequestField::WithProof => "with_proof",
            RequestField::Withheld => "withheld",
        }
    }
}

/// A sentence for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSentence(Vec<FieldSentencePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldSentencePart {
    Words(String),
    Field(RequestField),
}

impl FieldSentence {
    /// It, and what follows.
    pub fn and(mut self, next: impl Into<FieldSentence>) -> FieldSentence {
        self.0.extend(next.into().0);
        self
    }

    /// Its text, as a door spells what a request names.
    pub fn spelled(&self, spell: impl Fn(RequestField) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
            FieldSentencePart::Words(words) => words.clone(),
            FieldSentencePart::Field(field) => spell(*field),
        });
        parts.collect()
    }
}

impl fmt::Display for FieldSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(|field| field.name().to_owned()))
    }
}

impl From<&str> for FieldSentence {
    fn from(words: &str) -> Self {
        FieldSentence::from(words.to_owned())
    }
}

impl From<String> for FieldSentence {
    fn from(words: String) -> Self {
        FieldSentence(vec![FieldSentencePart::Words(words)])
    }
}

impl From<RequestField> for FieldSentence {
    fn from(field: RequestField) -> Self {
        FieldSentence(vec![FieldSentencePart::Field(field)])
    }
}

/// A [`FieldSentence`] of words and of what a request names.
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => {
        $crate::app::sentence::FieldSentence::default()$(.and($part))+
    };
}
pub(crate) use sentence;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_spells_what_a_request_names() {
        let made = sentence![
            "say ",
            RequestField::Role,
            format!(" {}; or ", 1),
            RequestField::OlderThan
        ];
        assert_eq!(made.to_string(), "say role 1; or older_than");
        let flags = made.spelled(|field| format!("--{}", field.name()));
        assert_eq!(flags, "say --role 1; or --older_than");
    }

    #[test]
    fn no_two_have_one_name() {
        let names: std::collections::BTreeSet<_> = RequestField::ALL.map(RequestField::name).into();
        assert_eq!(names.len(), RequestField::ALL.len());
    }
}
