//! Topics of `gently help`: what is asked of no single command, each at most one screen.

/// A topic of `gently help`: a page on no single command.
#[derive(Debug)]
pub struct Topic {
    /// What stands behind `gently help`.
    pub name: &'static str,
    /// What it is about, in a line of the list.
    pub about: &'static str,
    /// What it says, of at most 80 columns.
    pub text: &'static str,
}

/// All of them.
pub const TOPICS: [Topic; 4] = [
    Topic {
        name: "exit-codes",
        about: "what the number means with which a command ends",
        text: include_str!("exit-codes.txt"),
    },
    Topic {
        name: "ids",
        about: "how a question, a session or a fact is named",
        text: include_str!("ids.txt"),
    },
    Topic {
        name: "privacy",
        about: "what stays here, what is public, and what others get",
        text: include_str!("privacy.txt"),
    },
    Topic {
        name: "verify",
        about: "how your record, or somebody else's, is checked",
        text: include_str!("verify.txt"),
    },
];

/// The topic of a name.
pub fn named(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}
