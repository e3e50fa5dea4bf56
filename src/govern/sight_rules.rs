//! When the observational tools are looked at: what a question is about, by the kernel's words.
//!
//! A tool that is not looked at does not run, and nothing of what it would show is put before a
//! model. Words decide, and nothing else: the same question under the same kernel is always about
//! the same tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kernel::Kernel;
use super::phrase;

/// When the tools that the tier allows are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SightWhen {
    /// Those that the question is about.
    Relevant,
    /// All of them, before every question: what a kernel without a word on it does.
    #[default]
    Always,
    /// None, unless whoever asks says so.
    Asked,
}

impl SightWhen {
    /// The spelling in kernels.
    pub const fn name(self) -> &'static str {
        match self {
            SightWhen::Relevant => "relevant",
            SightWhen::Always => "always",
            SightWhen::Asked => "asked",
        }
    }
}

/// `[sight]` of a kernel. Each list is of phrases, compared in lower case and at word borders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SightRules {
    /// When tools are looked at.
    pub when: SightWhen,
    /// What a question calls this machine and no other one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    /// What it calls a machine that may be any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_machine: Vec<String>,
    /// How a machine fares, or what is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub being: Vec<String>,
    /// That something is so here, or now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<String>,
    /// How a question for the state of something begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// That a question is about things in general.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub general: Vec<String>,
    /// How a task begins that no tool helps with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// By tool: what it shows, in words that hardly mean anything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, Vec<String>>,
    /// By tool: words for it that mean other things, too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loose: BTreeMap<String, Vec<String>>,
}

impl SightRules {
    /// Its lists of phrases with their keys, for whoever checks them.
    pub(super) fn lists(&self) -> impl Iterator<Item = (String, &Vec<String>)> {
        let plain = [
            ("machine", &self.machine),
            ("any_machine", &self.any_machine),
            ("being", &self.being),
            ("here", &self.here),
            ("asks", &self.asks),
            ("general", &self.general),
            ("tasks", &self.tasks),
        ];
        let plain = plain
            .into_iter()
            .map(|(name, list)| (format!("sight.{name}"), list));
        let by_tool = [("words", &self.words), ("loose", &self.loose)];
        let by_tool = by_tool.into_iter().flat_map(|(name, lists)| {
            lists
                .iter()
                .map(move |(tool, list)| (format!("sight.{name}.{tool}"), list))
        });
        plain.chain(by_tool)
    }

    /// The tools that it has words for.
    pub(super) fn tools(&self) -> impl Iterator<Item = &String> {
        let more = self
            .loose
            .keys()
            .filter(|tool| !self.words.contains_key(*tool));
        self.words.keys().chain(more)
    }
}

/// What whoever asks says about sight; it wins over the kernel's `when`, and never over its tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SightWish {
    /// Nothing: the kernel decides.
    #[default]
    Unsaid,
    /// All that the tier allows.
    All,
    /// No tool at all.
    Nothing,
}

/// Which tools are looked at for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SightPlan {
    /// Whether sight is wanted for it at all, whatever the tier allows.
    pub wanted: bool,
    /// The tools that run: all of them are allowed by the tier.
    pub tools: Vec<String>,
}

impl SightPlan {
    /// Of a question under a kernel; a function of its arguments and nothing else.
    pub fn of(kernel: &Kernel, question: &str, wish: SightWish) -> SightPlan {
        let rules = kernel.rules().sight.as_ref();
        let when = rules.map_or(SightWhen::Always, |rules| rules.when);
        let about = match (wish, when) {
            (SightWish::All, _) | (SightWish::Unsaid, SightWhen::Always) => QuestionTopic::Machine,
            (SightWish::Nothing, _) | (SightWish::Unsaid, SightWhen::Asked) => {
                QuestionTopic::Elsewhere
            }
            (SightWish::Unsaid, SightWhen::Relevant) => rules
                .map_or(QuestionTopic::Elsewhere, |rules| {
                    topic(rules, kernel.tools(), question)
                }),
        };
        let mut tools = kernel.tools().to_vec();
        match &about {
            QuestionTopic::Machine => {}
            QuestionTopic::Tools(named) => tools.retain(|tool| named.contains(tool)),
            QuestionTopic::Elsewhere => tools.clear(),
        }
        SightPlan {
            wanted: about != QuestionTopic::Elsewhere,
            tools,
        }
    }
}

/// So many words of a question are looked at. A person says early what they ask; what comes behind
/// it is as often as not a text that they ask about.
const LOOKED_AT: usize = 64;
/// A question as short as this has no room for more than the name of what it is about.
const SHORT: usize = 2;

/// What a question is about.
#[derive(Debug, PartialEq, Eq)]
enum QuestionTopic {
    /// This machine as a whole.
    Machine,
    /// What these tools show.
    Tools(Vec<String>),
    /// Something that no tool looks at.
    Elsewhere,
}

/// What a question is about, by words:
///
/// - a tool's own name: that tool;
/// - a task, or things in general without naming this machine: something else;
/// - a tool's words, in a question that names a machine, that speaks of here or now, or that begins
///   like one for the state of something: that tool;
/// - a tool's loose words, beside a name of the machine: that tool;
/// - a name of the machine with a word for how it fares, and no tool's words: all of it.
fn topic(rules: &SightRules, allowed: &[String], question: &str) -> QuestionTopic {
    let words = first_words(question);
    let bare: Vec<String> = words.iter().map(|word| without_possessive(word)).collect();
    let by_name = |tool: &&String| is_named(question, tool);
    let known = allowed.iter().chain(rules.tools());
    let named: Vec<String> = known.filter(by_name).cloned().collect();
    if !named.is_empty() {
        return QuestionTopic::Tools(named);
    }
    let this_one = phrase::any(&bare, &rules.machine);
    let general = !this_one && phrase::any(&words, &rules.general);
    if general || begins(&words, &rules.tasks) {
        return QuestionTopic::Elsewhere;
    }
    let machine = this_one || phrase::any(&bare, &rules.any_machine);
    let state = machine
        || words.len() <= SHORT
        || phrase::any(&words, &rules.here)
        || begins(&words, &rules.asks);
    let says = |lists: &BTreeMap<String, Vec<String>>, tool: &String| {
        lists.get(tool).is_some_and(|list| phrase::any(&bare, list))
    };
    let is_about = |tool: &&String| {
        (state && says(&rules.words, tool)) || (machine && says(&rules.loose, tool))
    };
    let tools: Vec<String> = rules.tools().filter(is_about).cloned().collect();
    if !tools.is_empty() {
        QuestionTopic::Tools(tools)
    } else if machine && phrase::any(&words, &rules.being) {
        QuestionTopic::Machine
    } else {
        QuestionTopic::Elsewhere
    }
}

/// Whether a question has the name of a tool as it is spelled: *disk usage* is no name.
fn is_named(question: &str, tool: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut words = first_paragraph(question)
        .flat_map(|line| line.split(|c| !is_part(c)))
        .filter(|word| !word.is_empty())
        .take(LOOKED_AT);
    words.any(|word| word.eq_ignore_ascii_case(tool))
}

/// The lines of a question's first paragraph.
fn first_paragraph(question: &str) -> impl Iterator<Item = &str> {
    question
        .lines()
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| !line.trim().is_empty())
}

/// The first words of a question's first paragraph.
fn first_words(question: &str) -> Vec<String> {
    let mut words = Vec::new();
    for line in first_paragraph(question) {
        // A line may be a megabyte without a space; a word of this length is none of the kernel's.
        let pieces = line.split_whitespace().take(LOOKED_AT);
        words.extend(
            pieces
                .filter(|piece| piece.len() <= 256)
                .flat_map(phrase::words),
        );
        if words.len() >= LOOKED_AT {
            break;
        }
    }
    words.truncate(LOOKED_AT);
    words
}

/// A word without the ending of a possessive: *this system's*.
fn without_possessive(word: &str) -> String {
    word.strip_suffix("'s").unwrap_or(word).to_owned()
}

/// Whether a question begins with one of the phrases.
fn begins(words: &[String], phrases: &[String]) -> bool {
    phrases
        .iter()
        .any(|wanted| phrase::find(words, wanted) == Some(0))
}

#[cfg(test)]
#[path = "sight_rules_tests.rs"]
mod tests;
