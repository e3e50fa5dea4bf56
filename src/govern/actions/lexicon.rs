//! Words of acts on a machine, as `genesis/acts.toml` has them: verbs, the things that each acts on,
//! and what only looks like one (AEGIS 7.1).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::govern::word_list::{PhraseList, WordList, read_own};

const ACTS: &str = include_str!(concat!(env!("OUT_DIR"), "/acts.json"));

static LEXICON: LazyLock<ActLexicon> = LazyLock::new(|| read_own(ACTS));

/// All of them.
pub(super) fn lexicon() -> &'static ActLexicon {
    &LEXICON
}

/// What is wanted to be done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
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

/// What the file holds; each list is explained there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActLexicon {
    things: Vec<ThingList>,
    verbs: Vec<VerbRule>,
    pub(super) pairs: BTreeMap<String, WordList>,
    pub(super) errands: BTreeMap<String, WordList>,
    pub(super) shell: BTreeMap<String, WordList>,
    pub(super) phrases: ActPhrases,
    pub(super) words: ActWords,
}

/// Things of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThingList {
    name: String,
    /// What an act on one of them is; none where nothing but its verb tells.
    class: Option<ActClass>,
    words: WordList,
}

/// What a verb has to act on for its sentence to be an act.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerbRule {
    class: ActClass,
    verbs: WordList,
    /// Names of lists of things.
    things: Vec<String>,
    /// Whether a path or a file's name is a thing, too.
    paths: bool,
}

/// Phrases around a verb of acting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActPhrases {
    pub(super) heads: PhraseList,
    pub(super) asked: PhraseList,
    pub(super) announced: PhraseList,
    pub(super) wanted: PhraseList,
    pub(super) seen_to: PhraseList,
    pub(super) polite: PhraseList,
    pub(super) can_you: PhraseList,
}

/// Words around a verb of acting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActWords {
    texts: WordList,
    borders: WordList,
    installs: WordList,
    pub(super) between: WordList,
    pub(super) looks: WordList,
    pub(super) parts: WordList,
    pub(super) told: WordList,
    pub(super) unasked: WordList,
    pub(super) able: WordList,
    pub(super) writing: WordList,
    pub(super) conditions: WordList,
    other_things: WordList,
    pub(super) messages: WordList,
    pub(super) nouns: WordList,
    pub(super) asking: WordList,
    pub(super) needed: WordList,
    pub(super) needing: WordList,
    pub(super) states: WordList,
    pub(super) done: WordList,
    pub(super) rights: WordList,
    file_endings: WordList,
    unit_endings: WordList,
    pub(super) orders: WordList,
    pub(super) infinitives: WordList,
}

/// How far from its verb an object may stand, in words.
pub(super) const REACH: usize = 8;

impl ActLexicon {
    /// The act of a verb on what follows it; none when it acts on nothing of a machine.
    pub(super) fn act_of(&self, verb: &str, after: &[String]) -> Option<ActClass> {
        // Right after the verb it points at something: "kill that process".
        let end = after
            .iter()
            .take(REACH)
            .skip(1)
            .position(|word| self.words.borders.has(word))
            .map(|at| at + 1);
        let objects = after.get(..end.unwrap_or(after.len().min(REACH)))?;
        let first = |is: &dyn Fn(&str) -> bool| objects.iter().position(|word| is(word));
        let text = first(&|word| self.words.texts.has(word)).unwrap_or(usize::MAX);
        if self.words.installs.has(verb) && !objects.is_empty() && text == usize::MAX {
            return Some(ActClass::Package);
        }
        if verb == "reboot" && objects.len() <= 1 {
            return Some(ActClass::Power);
        }
        let acts_on = |rule: &&VerbRule| {
            // The text comes first: "remove the word 'file' from the sentence" is about a text.
            first(&|word| self.is_object(rule, word)).is_some_and(|at| at < text)
                && (rule.class != ActClass::Message || objects.iter().any(|word| word == "to"))
        };
        self.verbs
            .iter()
            .filter(|rule| rule.verbs.has(verb))
            .find(acts_on)
            .map(|rule| rule.class)
    }

    fn is_object(&self, rule: &VerbRule, word: &str) -> bool {
        self.things
            .iter()
            .any(|list| list.words.has(word) && rule.things.contains(&list.name))
            || (rule.paths && self.is_path(word))
            || (rule.class == ActClass::Service && self.is_unit(word))
    }

    /// Whether any rule knows the verb.
    pub(super) fn is_verb(&self, word: &str) -> bool {
        self.verbs.iter().any(|rule| rule.verbs.has(word))
    }

    /// The verb of a form in `-ing`: `stopping` is `stop`.
    pub(super) fn of_gerund(&self, word: &str) -> Option<&str> {
        let stem = word.strip_suffix("ing")?;
        let fits = |verb: &&str| {
            let doubled = || {
                verb.chars()
                    .next_back()
                    .is_some_and(|last| stem.strip_suffix(last) == Some(verb))
            };
            *verb == stem || verb.strip_suffix('e') == Some(stem) || doubled()
        };
        self.verbs
            .iter()
            .flat_map(|rule| rule.verbs.iter())
            .find(fits)
    }

    /// Whether an act on a word would be one on a text.
    pub(super) fn is_text(&self, word: &str) -> bool {
        self.words.texts.has(word)
    }

    /// What an act on a thing is, by the thing alone.
    pub(super) fn class_of(&self, word: &str) -> Option<ActClass> {
        let listed = self
            .things
            .iter()
            .find_map(|list| list.class.filter(|_| list.words.has(word)));
        let address = || {
            let parts = || word.split('.');
            parts().count() == 4 && parts().all(|part| part.parse::<u8>().is_ok())
        };
        listed
            .or_else(|| self.is_path(word).then_some(ActClass::File))
            .or_else(|| address().then_some(ActClass::Firewall))
            .or_else(|| {
                self.words
                    .other_things
                    .has(word)
                    .then_some(ActClass::Command)
            })
    }

    fn is_unit(&self, word: &str) -> bool {
        let endings = &self.words.unit_endings;
        endings.ends(word.as_bytes()) && !endings.has(word)
    }

    /// A path, or a file's name with an ending that files have.
    pub(super) fn is_path(&self, word: &str) -> bool {
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
            .is_some_and(|(name, end)| !name.is_empty() && self.words.file_endings.has(end));
        rooted || named || word.as_bytes().get(1..3) == Some(b":\\")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_every_verb_acts_on_things_that_are_listed() {
        let known = |name: &String| lexicon().things.iter().any(|list| list.name == *name);
        for rule in &lexicon().verbs {
            assert!(rule.things.iter().all(known), "{:?}", rule.things);
            assert!(rule.paths || !rule.things.is_empty());
        }
        assert!(lexicon().is_unit("nginx.service") && !lexicon().is_unit(".service"));
    }
}
