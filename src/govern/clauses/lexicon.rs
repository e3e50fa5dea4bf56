//! English words of acts on a machine, as `genesis/acts.toml` has them: things, verbs with what each
//! acts on, and the words around them in requests and in claims (AEGIS 7.1, 9).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::verbs::{ActVerb, ClaimScope, VerbTable};
use crate::govern::word_list::{PhraseList, WordList, read_own};

const ACTS: &str = include_str!(concat!(env!("OUT_DIR"), "/acts.json"));

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::from(read_own::<LexiconFile>(ACTS)));

/// All of them.
pub(in crate::govern) fn lexicon() -> &'static Lexicon {
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
struct LexiconFile {
    things: Vec<ThingList>,
    acts: Vec<ActRule>,
    verbs: BTreeMap<String, ActVerb>,
    shell: BTreeMap<String, WordList>,
    requests: RequestWords,
    claims: ClaimWords,
}

/// Things of one kind, apart by who counts them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThingList {
    name: String,
    /// What an act on one of them is; none where nothing but its verb tells.
    class: Option<ActClass>,
    #[serde(default)]
    both: Vec<String>,
    #[serde(default)]
    requests: Vec<String>,
    #[serde(default)]
    claims: Vec<String>,
}

/// What an act has to be on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActRule {
    name: String,
    class: ActClass,
    /// Names of lists of things.
    things: Vec<String>,
    /// Whether a path or a file's name is a thing, too.
    paths: bool,
}

/// Words that have the same part in every clause: where requests and claims have other ones, each
/// brings its own to the reader.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct FunctionWords {
    /// They may stand between a subject, or what announces a verb, and the verb.
    pub between: WordList,
    /// A clause that begins with one is a condition.
    pub conditions: PhraseList,
    /// They speak against what a clause would be: negations, questions, plans.
    pub against: WordList,
    /// How other words end that do.
    pub against_endings: WordList,
}

/// The words around a verb that is asked for or announced.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct RequestWords {
    pub function_words: FunctionWords,
    pub phrases: ActPhrases,
    pub words: ActWords,
}

/// The words around a verb that is claimed to be done.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct ClaimWords {
    pub function_words: FunctionWords,
    pub words: DeedWords,
}

/// Phrases around a verb of acting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct ActPhrases {
    pub heads: PhraseList,
    pub asked: PhraseList,
    pub announced: PhraseList,
    pub wanted: PhraseList,
    pub seen_to: PhraseList,
    pub polite: PhraseList,
    pub can_you: PhraseList,
}

/// Words around a verb of acting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct ActWords {
    texts: WordList,
    borders: WordList,
    installs: WordList,
    pub looks: WordList,
    pub parts: WordList,
    pub told: WordList,
    pub able: WordList,
    pub writing: WordList,
    pub messages: WordList,
    pub nouns: WordList,
    pub asking: WordList,
    pub needed: WordList,
    pub needing: WordList,
    pub states: WordList,
    pub rights: WordList,
    file_endings: WordList,
    unit_endings: WordList,
    pub orders: WordList,
    pub infinitives: WordList,
}

/// Words around the verb of a deed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::govern) struct DeedWords {
    pub shown_here: WordList,
    pub just_now: WordList,
    pub finite: WordList,
    pub done: WordList,
    pub beside_done: WordList,
    pub wished: WordList,
    pub objects: WordList,
    pub no_start: WordList,
    pub determiners: WordList,
    pub after_brief: WordList,
}

/// How far from its verb an object may stand, in words.
pub(in crate::govern) const REACH: usize = 8;

/// The file, put in order for those who ask it.
pub(in crate::govern) struct Lexicon {
    /// Things that requests count, by kind.
    kinds: Vec<ThingKind>,
    claimed_things: WordList,
    rules: Vec<ActRule>,
    verbs: VerbTable,
    pub shell: BTreeMap<String, WordList>,
    pub requests: RequestWords,
    pub claims: ClaimWords,
}

/// Things of one kind that an act may be on.
struct ThingKind {
    name: String,
    class: Option<ActClass>,
    words: WordList,
}

/// A list of words of the file, which a test of this build reads.
fn list(words: Vec<String>) -> WordList {
    WordList::try_from(words).expect("our own words are read by a test of this build")
}

impl From<LexiconFile> for Lexicon {
    fn from(file: LexiconFile) -> Self {
        let claimed = file
            .things
            .iter()
            .flat_map(|kind| [&kind.both, &kind.claims]);
        let claimed_things = list(claimed.flatten().cloned().collect());
        let kinds = file.things.into_iter().map(|kind| ThingKind {
            name: kind.name,
            class: kind.class,
            words: list([kind.both, kind.requests].concat()),
        });
        Lexicon {
            kinds: kinds.collect(),
            claimed_things,
            rules: file.acts,
            verbs: file.verbs.into(),
            shell: file.shell,
            requests: file.requests,
            claims: file.claims,
        }
    }
}

/// What is asked for.
impl Lexicon {
    /// The act of a verb on what follows it; none when it acts on nothing of a machine.
    pub fn act_of(&self, verb: &str, after: &[String]) -> Option<ActClass> {
        let known = &self.requests.words;
        // Right after the verb it points at something: "kill that process".
        let end = after
            .iter()
            .take(REACH)
            .skip(1)
            .position(|word| known.borders.has(word))
            .map(|at| at + 1);
        let objects = after.get(..end.unwrap_or(after.len().min(REACH)))?;
        let first = |is: &dyn Fn(&str) -> bool| objects.iter().position(|word| is(word));
        let text = first(&|word| known.texts.has(word)).unwrap_or(usize::MAX);
        if known.installs.has(verb) && !objects.is_empty() && text == usize::MAX {
            return Some(ActClass::Package);
        }
        if verb == "reboot" && objects.len() <= 1 {
            return Some(ActClass::Power);
        }
        let acts = &self.verbs.get(verb)?.acts;
        let acts_on = |rule: &&ActRule| {
            // The text comes first: "remove the word 'file' from the sentence" is about a text.
            first(&|word| self.is_object(rule, word)).is_some_and(|at| at < text)
                && (rule.class != ActClass::Message || objects.iter().any(|word| word == "to"))
        };
        self.rules
            .iter()
            .filter(|rule| acts.contains(&rule.name))
            .find(acts_on)
            .map(|rule| rule.class)
    }

    fn is_object(&self, rule: &ActRule, word: &str) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.words.has(word) && rule.things.contains(&kind.name))
            || (rule.paths && self.is_path(word))
            || (rule.class == ActClass::Service && self.is_unit(word))
    }

    /// Whether a request may be made with the verb.
    pub fn is_verb(&self, word: &str) -> bool {
        self.verbs
            .get(word)
            .is_some_and(|verb| !verb.acts.is_empty())
    }

    /// The verb of a form in `-ing`, in whatever spelling: `stopping` is `stop`.
    pub fn of_gerund(&self, word: &str) -> Option<&str> {
        self.verbs.requested_in(word)
    }

    /// The second words of a verb of two; none in the list of a verb that needs none.
    pub fn second_words(&self, verb: &str) -> Option<&WordList> {
        self.verbs.get(verb)?.with.as_ref()
    }

    /// What an errand of the verb is about.
    pub fn errand(&self, verb: &str) -> Option<&WordList> {
        self.verbs.get(verb)?.about.as_ref()
    }

    /// Whether an act on a word would be one on a text.
    pub fn is_text(&self, word: &str) -> bool {
        self.requests.words.texts.has(word)
    }

    /// What an act on a thing is, by the thing alone.
    pub fn class_of(&self, word: &str) -> Option<ActClass> {
        let listed = self
            .kinds
            .iter()
            .find_map(|kind| kind.class.filter(|_| kind.words.has(word)));
        let address = || {
            let parts = || word.split('.');
            parts().count() == 4 && parts().all(|part| part.parse::<u8>().is_ok())
        };
        listed
            .or_else(|| self.is_path(word).then_some(ActClass::File))
            .or_else(|| address().then_some(ActClass::Firewall))
    }

    fn is_unit(&self, word: &str) -> bool {
        let endings = &self.requests.words.unit_endings;
        endings.ends(word.as_bytes()) && !endings.has(word)
    }

    /// A path, or a file's name with an ending that files have.
    pub fn is_path(&self, word: &str) -> bool {
        let endings = &self.requests.words.file_endings;
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
            .is_some_and(|(name, end)| !name.is_empty() && endings.has(end));
        rooted || named || word.as_bytes().get(1..3) == Some(b":\\")
    }
}

/// What is claimed to be done.
impl Lexicon {
    /// Whether a word is a thing of a machine.
    pub fn is_thing(&self, word: &str) -> bool {
        self.claimed_things.has(word)
    }

    /// Whether a word is the past of a deed: what a quotation of one word may be.
    pub fn is_past(&self, word: &str) -> bool {
        self.verbs.past(word).is_some()
    }

    /// What a claim is with `restarted`.
    pub fn past(&self, word: &str) -> Option<ClaimScope> {
        self.verbs.past(word)
    }

    /// What a claim is with `restart`, after *I was able to*.
    pub fn base(&self, word: &str) -> Option<ClaimScope> {
        self.verbs.base(word)
    }

    /// What a claim is with `restarting`.
    pub fn under_way(&self, word: &str) -> Option<ClaimScope> {
        self.verbs.under_way(word)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_file_is_read_and_every_verb_acts_on_things_that_are_listed() {
        let lexicon = lexicon();
        for rule in &lexicon.rules {
            let known = |name: &String| lexicon.kinds.iter().any(|kind| kind.name == *name);
            assert!(rule.things.iter().all(known), "{:?}", rule.things);
            assert!(rule.paths || !rule.things.is_empty());
            assert!(
                lexicon
                    .verbs
                    .iter()
                    .any(|(_, verb)| verb.acts.contains(&rule.name))
            );
        }
        for (base, verb) in lexicon.verbs.iter() {
            let known = |name: &String| lexicon.rules.iter().any(|rule| rule.name == *name);
            assert!(verb.acts.iter().all(known), "{base}: {:?}", verb.acts);
        }
        assert!(lexicon.is_unit("nginx.service") && !lexicon.is_unit(".service"));
    }

    #[test]
    fn a_thing_is_listed_once() {
        let file: LexiconFile = read_own(ACTS);
        let mut seen = BTreeSet::new();
        for kind in &file.things {
            for word in [&kind.both, &kind.requests, &kind.claims]
                .into_iter()
                .flatten()
            {
                assert!(seen.insert(word), "{word} in {}", kind.name);
            }
        }
    }

    #[test]
    fn forms_of_the_verbs() {
        for (past, scope) in [
            ("restarted", ClaimScope::Always),
            ("stopped", ClaimScope::Always),
            ("sent", ClaimScope::Always),
            ("notified", ClaimScope::Always),
            ("overwritten", ClaimScope::Always),
            ("created", ClaimScope::OnAThing),
            ("wrote", ClaimScope::OnAThing),
        ] {
            assert_eq!(lexicon().past(past), Some(scope), "{past}");
        }
        for (form, verb) in [
            ("stopping", Some("stop")),
            ("stoping", Some("stop")),
            ("deleting", Some("delete")),
            ("running", Some("run")),
            ("king", None),
            ("starring", None),
            ("ing", None),
        ] {
            assert_eq!(lexicon().of_gerund(form), verb, "{form}");
        }
        assert_eq!(lexicon().under_way("stopping"), Some(ClaimScope::Always));
        assert_eq!(lexicon().under_way("stoping"), None);
        assert!(lexicon().base("restart").is_some() && lexicon().base("restarted").is_none());
        assert!(!lexicon().is_past("restart") && !lexicon().is_verb("restarted"));
    }

    #[test]
    fn requests_and_claims_count_things_of_their_own() {
        for (word, claimed, class) in [
            ("nginx", true, Some(ActClass::Service)),
            ("postgres", false, Some(ActClass::Service)),
            ("calendar", true, None),
            ("repo", true, None),
            ("/etc/x.conf", false, Some(ActClass::File)),
            ("10.0.0.1", false, Some(ActClass::Firewall)),
            ("joke", false, None),
        ] {
            assert_eq!(lexicon().is_thing(word), claimed, "{word}");
            assert_eq!(lexicon().class_of(word), class, "{word}");
        }
    }
}
