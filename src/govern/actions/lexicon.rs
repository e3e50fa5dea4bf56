//! Words of acts on a machine: verbs, the things that each acts on, and what only looks like one
//! (AEGIS 7.1).

use super::objects::{BORDERS, INSTALLS, ObjectRule, RULES, TEXTS};

/// What is wanted to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActClass {
    /// `systemctl restart`, containers.
    Service,
    /// The machine off, or off and on.
    Power,
    /// A process ended.
    Process,
    /// Packages installed, removed, upgraded.
    Package,
    /// Files and disks.
    File,
    /// Configuration written; users, names, schedules.
    Configuration,
    /// Ports and addresses let through, or not.
    Firewall,
    /// A command or script run; something deployed or pushed.
    Command,
    /// Something sent to somebody.
    Message,
    /// Something bought, booked, paid or cancelled; an account of a person's.
    Errand,
    /// A block in the form of a call of a tool.
    ToolCall,
}

impl ActClass {
    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            ActClass::Service => "service",
            ActClass::Power => "power",
            ActClass::Process => "process",
            ActClass::Package => "package",
            ActClass::File => "file",
            ActClass::Configuration => "configuration",
            ActClass::Firewall => "firewall",
            ActClass::Command => "command",
            ActClass::Message => "message",
            ActClass::Errand => "errand",
            ActClass::ToolCall => "tool_call",
        }
    }
}

/// How far from its verb an object may stand, in words.
pub(in crate::govern) const REACH: usize = 8;

/// The act of a verb on what follows it; none when it acts on nothing of a machine.
pub(in crate::govern) fn of_verb(verb: &str, after: &[String]) -> Option<ActClass> {
    // Right after the verb it points at something: "kill that process".
    let end = after
        .iter()
        .take(REACH)
        .skip(1)
        .position(|word| BORDERS.contains(&word.as_str()))
        .map(|at| at + 1);
    let objects = after.get(..end.unwrap_or(after.len().min(REACH)))?;
    let first = |is: &dyn Fn(&str) -> bool| objects.iter().position(|word| is(word));
    let text = first(&|word| TEXTS.contains(&word)).unwrap_or(usize::MAX);
    if INSTALLS.contains(&verb) && !objects.is_empty() && text == usize::MAX {
        return Some(ActClass::Package);
    }
    if verb == "reboot" && objects.len() <= 1 {
        return Some(ActClass::Power);
    }
    let acts_on = |rule: &&ObjectRule| {
        let thing = first(&|word| {
            rule.things.iter().any(|list| list.contains(&word))
                || (rule.paths && is_path(word))
                || is_unit(rule, word)
        });
        // The text comes first: "remove the word 'file' from the sentence" is about a text.
        thing.is_some_and(|at| at < text)
            && (rule.class != ActClass::Message || objects.iter().any(|word| word == "to"))
    };
    RULES
        .iter()
        .filter(|rule| rule.verbs.contains(&verb))
        .find(acts_on)
        .map(|rule| rule.class)
}

/// Whether any rule knows the verb.
pub(in crate::govern) fn is_verb(word: &str) -> bool {
    RULES.iter().any(|rule| rule.verbs.contains(&word))
}

/// The verb of a form in `-ing`: `stopping` is `stop`.
pub(in crate::govern) fn of_gerund(word: &str) -> Option<&'static str> {
    let stem = word.strip_suffix("ing")?;
    let fits = |verb: &&str| {
        let doubled = || {
            verb.chars()
                .next_back()
                .is_some_and(|last| stem.strip_suffix(last) == Some(verb))
        };
        *verb == stem || verb.strip_suffix('e') == Some(stem) || doubled()
    };
    RULES
        .iter()
        .flat_map(|rule| rule.verbs.iter().copied())
        .find(|verb| fits(verb))
}

fn is_unit(rule: &ObjectRule, word: &str) -> bool {
    let ends = [".service", ".socket", ".timer", ".target", ".mount"];
    rule.class == ActClass::Service
        && ends
            .iter()
            .any(|end| word.len() > end.len() && word.ends_with(end))
}

/// A path, or a file's name with an ending that files have.
pub(in crate::govern) fn is_path(word: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        "conf", "cfg", "toml", "yaml", "yml", "ini", "json", "txt", "log", "md", "csv", "sh", "py",
        "service", "db", "sqlite", "bak", "tmp", "gz", "zip", "tar", "xml", "env", "key", "pem",
        "sql", "html", "iso", "img", "lock",
    ];
    let rooted = ["/", "~/", "./", "../"].iter().any(|start| {
        word.strip_prefix(start).is_some_and(|rest| {
            rest.len() > 1
                && rest.starts_with(|c: char| {
                    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '*')
                })
        })
    });
    let named = word
        .rsplit_once('.')
        .is_some_and(|(name, end)| !name.is_empty() && ENDINGS.contains(&end));
    rooted || named || word.as_bytes().get(1..3) == Some(b":\\")
}
