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
    /// A key that traces are held against.
    Key,
    /// How many of a list.
    Limit,
    /// Which line of an artifact.
    Line,
    /// When something was observed.
    ObservedAt,
    /// What is older.
    OlderThan,
    /// Where a search looks.
    Place,
    /// Which project.
    Project,
    /// For what texts may be used.
    Purpose,
    /// Which text of a turn.
    Role,
    /// What is since then.
    Since,
    /// Where something is known from.
    Source,
    /// What something is about.
    Subject,
    /// What is until then.
    Until,
    /// A proof beside each trace.
    WithProof,
    /// What the kernel withholds, too.
    Withheld,
}

impl RequestField {
    /// All of them.
    pub const ALL: [RequestField; 19] = [
        RequestField::Before,
        RequestField::Best,
        RequestField::By,
        RequestField::Conversation,
        RequestField::Key,
        RequestField::Limit,
        RequestField::Line,
        RequestField::ObservedAt,
        RequestField::OlderThan,
        RequestField::Place,
        RequestField::Project,
        RequestField::Purpose,
        RequestField::Role,
        RequestField::Since,
        RequestField::Source,
        RequestField::Subject,
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
            RequestField::Key => "key",
            RequestField::Limit => "limit",
            RequestField::Line => "line",
            RequestField::ObservedAt => "observed_at",
            RequestField::OlderThan => "older_than",
            RequestField::Place => "place",
            RequestField::Project => "project",
            RequestField::Purpose => "purpose",
            RequestField::Role => "role",
            RequestField::Since => "since",
            RequestField::Source => "source",
            RequestField::Subject => "subject",
            RequestField::Until => "until",
            RequestField::WithProof => "with_proof",
            RequestField::Withheld => "withheld",
        }
    }
}

/// A sentence for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(Vec<SentencePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SentencePart {
    Words(String),
    Field(RequestField),
}

impl Sentence {
    /// It, and what follows.
    pub fn and(mut self, next: impl Into<Sentence>) -> Sentence {
        self.0.extend(next.into().0);
        self
    }

    /// Its text, as a door spells what a request names.
    pub fn spelled(&self, spell: impl Fn(RequestField) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
            SentencePart::Words(words) => words.clone(),
            SentencePart::Field(field) => spell(*field),
        });
        parts.collect()
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(|field| field.name().to_owned()))
    }
}

impl From<&str> for Sentence {
    fn from(words: &str) -> Self {
        Sentence::from(words.to_owned())
    }
}

impl From<String> for Sentence {
    fn from(words: String) -> Self {
        Sentence(vec![SentencePart::Words(words)])
    }
}

impl From<RequestField> for Sentence {
    fn from(field: RequestField) -> Self {
        Sentence(vec![SentencePart::Field(field)])
    }
}

/// A [`Sentence`] of words and of what a request names.
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => {
        $crate::app::sentence::Sentence::default()$(.and($part))+
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
