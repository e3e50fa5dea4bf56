//! Topics of `gently help`: what is asked of no single command, each at most one screen.

/// A topic of `gently help`: a page on no single command.
#[derive(Debug)]
pub struct Topic {
    /// What stands behind `gently help`.
    pub name: &'static str,
    /// What it says, of at most 80 columns.
    pub text: &'static str,
}

/// All of them.
pub const TOPICS: [Topic; 4] = [
    Topic {
        name: "exit-codes",
        text: include_str!("exit-codes.txt"),
    },
    Topic {
        name: "ids",
        text: include_str!("ids.txt"),
    },
    Topic {
        name: "privacy",
        text: include_str!("privacy.txt"),
    },
    Topic {
        name: "verify",
        text: include_str!("verify.txt"),
    },
];

/// The topic of a name.
pub fn named(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}
