//! What somebody meant who typed a word that is no command.

use std::ffi::OsString;
use std::path::Path;
use std::slice;

use clap::Command;

use crate::app::find::IdKind;
use crate::app::keep::import::looks_like;
use crate::app::words::nearest;
use crate::govern::sanitize::redact;
use crate::record::ledger::imported::ImportFormat;

use super::{
    COLUMNS, EXCERPT, GROUPS, TOPICS, in_quotes, names_below, program, shell_quoted, topics,
};
use crate::cli::screen::line_break::words_in;
use crate::cli::screen::{beginning, quiet};

/// A longer question is not repeated.
const QUESTION: usize = 300;

/// What other programs have commands for, and which commands show it here.
const OTHER_WORDS: [(&[&str], &[&str]); 10] = [
    (
        &["find", "grep"],
        &["search \"…\"", "conversation list", "show last"],
    ),
    (
        &["list", "ls", "history"],
        &["conversation list", "show last", "search \"…\""],
    ),
    (
        &["conversations", "conv", "convs", "chats"],
        &["conversation list", "conversation show last", "chat"],
    ),
    (&["sessions"], &["session list", "session show last"]),
    (&["models", "providers"], &["model list"]),
    (&["projects"], &["project list"]),
    (&["threads"], &["thread list", "conversation list"]),
    (
        &["logs"],
        &["conversation show last", "log", "log --since today"],
    ),
    (&["version"], &["--version"]),
    (
        &["status", "state", "info", "health"],
        &["doctor", "session list", "show last"],
    ),
];

/// Commands of other programs by their words, and what is typed here in their place; what was typed
/// behind them is typed behind that.
const OTHER_COMMANDS: [(&[&str], &str); 13] = [
    (&["config", "show"], "config get"),
    (&["config", "list"], "config get"),
    (&["model", "default"], MODEL_IN_USE),
    (&["model", "set"], MODEL_IN_USE),
    (&["model", "use"], MODEL_IN_USE),
    (&["models", "default"], MODEL_IN_USE),
    (&["models", "set"], MODEL_IN_USE),
    (&["models", "use"], MODEL_IN_USE),
    (&["project", "show"], "conversation list --project"),
    (&["projects", "show"], "conversation list --project"),
    (&["correct"], "correction add"),
    (&["rm"], "erase"),
    (&["trace", "last"], "trace show last"),
];
/// What says which model answers where none is named.
const MODEL_IN_USE: &str = "config set model.default";

/// Other names of commands behind a group, where it has the command.
const OTHER_NAMES: [(&str, &str); 17] = [
    ("acknowledge", "ack"),
    // Behind `import`: by whom a program is, where its name was asked for.
    ("anthropic", "claude"),
    ("chat-gpt", "chatgpt"),
    ("chat_gpt", "chatgpt"),
    ("claude.ai", "claude"),
    ("gpt", "chatgpt"),
    ("json", "jsonl"),
    ("open-ai", "chatgpt"),
    ("openai", "chatgpt"),
    ("delete", "retire"),
    ("delete", "revoke"),
    ("delete", "withdraw"),
    ("remove", "retire"),
    ("remove", "revoke"),
    ("remove", "withdraw"),
    ("revoke", "withdraw"),
    ("title", "rename"),
];

/// Groups whose commands people leave out, with the one that takes a text.
const TAKE_A_TEXT: [(&str, &str); 5] = [
    ("fact", "add"),
    ("correction", "add"),
    ("note", "add"),
    ("decision", "add"),
    ("intent", "set"),
];

/// A word that stands where a command should.
struct StrayWord<'a> {
    root: &'a Command,
    /// The command that it stands behind, and its words.
    behind: &'a Command,
    path: Vec<String>,
    word: String,
    /// What was typed after it.
    rest: Vec<String>,
}

/// What is wrong with these arguments and what was most likely meant, if a word in them is no
/// command. With `can_quote` a question is repeated as it is typed in a shell.
pub fn answer(root: &Command, args: &[OsString], can_quote: bool) -> Option<String> {
    let stray = StrayWord::of(root, args)?;
    Some(format!("error: {}", stray.words(can_quote)))
}

/// The command that was typed, as far as its words go.
pub struct TypedPath<'a> {
    /// The last command that was named; the root where none was.
    pub command: &'a Command,
    /// Its words.
    pub path: Vec<String>,
    /// The next word, and what was typed after it.
    stray: Option<(String, Vec<String>)>,
}

impl<'a> TypedPath<'a> {
    /// Of the arguments of the program, with its name in front.
    pub fn of(root: &'a Command, args: &[OsString]) -> Self {
        let texts = args.iter().skip(1);
        let mut texts = texts.map(|arg| arg.to_string_lossy().into_owned());
        let (mut command, mut path, mut stray) = (root, Vec::new(), None);
        while let Some(text) = texts.next() {
            if text == "--" {
                break;
            }
            if let Some(option) = text.strip_prefix("--") {
                // Its value is the next word, and no command.
                if takes_value(root, option) {
                    texts.next();
                }
            } else if text.starts_with('-') && text.len() > 1 {
                continue;
            } else if let Some(below) = command.find_subcommand(&text) {
                command = below;
                path.push(text);
            } else {
                stray = Some((text, texts.collect()));
                break;
            }
        }
        TypedPath {
            command,
            path,
            stray,
        }
    }
}

impl<'a> StrayWord<'a> {
    fn of(root: &'a Command, args: &[OsString]) -> Option<Self> {
        let TypedPath {
            command: behind,
            path,
            stray,
        } = TypedPath::of(root, args);
        let (word, rest) = stray?;
        Some(StrayWord {
            root,
            behind,
            path,
            word,
            rest,
        })
    }

    fn words(&self, can_quote: bool) -> String {
        let program = program();
        let near = self.other_name();
        let near = near.or_else(|| nearest(&self.word, names_below(self.behind)));
        if self.is_question(near.is_some()) {
            let words = [slice::from_ref(&self.word), &self.rest].concat();
            return format!(
                "a question comes behind 'ask':\n    {program} ask {}",
                asked(&words, can_quote)
            );
        }
        if let Some(told) = self.file_to_import(can_quote) {
            return told;
        }
        let there_is_none = format!("there is no command '{}'", self.named(&self.word));
        if let Some(told) = self.model_key() {
            return told;
        }
        if let Some(told) = self.other_command(can_quote) {
            return told;
        }
        if let Some(line) = self.of_its_id(can_quote) {
            return format!("{there_is_none}; did you mean this?\n    {line}");
        }
        let other = self.other_words(near.is_some());
        if let Some([way]) = other {
            return format!("{there_is_none}; did you mean this?\n    {program} {way}");
        }
        if let Some(ways) = other {
            let line = |way: &&str| format!("\n    {program} {way}");
            let lines: String = ways.iter().map(line).collect();
            return format!("{there_is_none}; one of these does it:{lines}");
        }
        if let Some(near) = near {
            return format!(
                "{there_is_none}; did you mean '{}'?\n    {}",
                self.named(near),
                self.corrected(near, can_quote)
            );
        }
        if self.word == "help" {
            let below = self.rest.iter().take_while(|word| !word.starts_with('-'));
            let words: Vec<&str> = self.path.iter().chain(below).map(String::as_str).collect();
            let words = beginning(&quiet(&words.join(" ")), EXCERPT);
            return format!("{there_is_none}; did you mean '{program} help {words}'?");
        }
        let elsewhere = self.elsewhere();
        if !elsewhere.is_empty() {
            return format!(
                "{there_is_none}; did you mean '{}'?",
                elsewhere.join("' or '")
            );
        }
        if let Some(alone) = self.alone(can_quote) {
            return format!("{there_is_none}; did you mean this?\n    {alone}");
        }
        let put = self.put_on_record(can_quote);
        if let Some(line) = put
            .as_ref()
            .filter(|_| self.word.contains(char::is_whitespace))
        {
            let group = self.path.join(" ");
            return format!(
                "a text does not stand behind '{group}' alone; did you mean this?\n    {line}"
            );
        }
        if !self.path.is_empty() {
            let names: Vec<&str> = names_below(self.behind).collect();
            let group = self.path.join(" ");
            return format!(
                "{there_is_none}; behind '{group}' there is: {}{}",
                names.join(", "),
                put.map_or_else(String::new, |line| format!(
                    "\n    to put it on record: {line}"
                ))
            );
        }
        let question = match self.rest.is_empty() || self.has_options() {
            true => "\"…\"".to_owned(),
            false => {
                let words = [slice::from_ref(&self.word), &self.rest].concat();
                asked(&words, can_quote)
            }
        };
        format!(
            "{there_is_none}\n    all commands: {program} help\n    to ask a model: {program} ask {question}"
        )
    }

    /// That it has to be said whose file is to be imported, and what it looks like.
    fn file_to_import(&self, can_quote: bool) -> Option<String> {
        let file = Path::new(&self.word);
        if self.path != ["import"] || !file.is_file() {
            return None;
        }
        let program = program();
        let typed = typed(&self.word).filter(|_| can_quote);
        let typed = typed.as_deref().unwrap_or("FILE");
        Some(match looks_like(file) {
            Some(format) => format!(
                "whose file it is stands before it; this looks like {}:\n    {program} import {} {typed}",
                format.shown_file(),
                format.name()
            ),
            None => {
                let names = ImportFormat::ALL.map(ImportFormat::name).join("|");
                format!("whose file it is stands before it:\n    {program} import {names} {typed}")
            }
        })
    }

    /// What was meant by a command whose group was left out, where an id behind it tells the group:
    /// `gently retire correction-15`.
    fn of_its_id(&self, can_quote: bool) -> Option<String> {
        let group = IdKind::word_of(self.rest.first()?)?;
        let below = self.root.find_subcommand(group)?;
        below.find_subcommand(&self.word)?;
        let start = format!("{} {group} {}", program(), self.word);
        let rest: Option<Vec<String>> = self.rest.iter().map(|word| typed(word)).collect();
        let rest = rest.filter(|_| can_quote)?;
        self.path
            .is_empty()
            .then(|| format!("{start} {}", rest.join(" ")))
    }

    /// The commands that do what other programs call by this word, or by one that is spelled nearly so
    /// where no command is.
    fn other_words(&self, is_near: bool) -> Option<&'static [&'static str]> {
        let word = self.word.to_lowercase();
        let known = || {
            OTHER_WORDS
                .iter()
                .flat_map(|(words, _)| words.iter().copied())
        };
        let word = match is_near || known().any(|known| known == word) {
            true => word.as_str(),
            false => nearest(&word, known())?,
        };
        let of = |(words, _): &&(&[&str], _)| words.contains(&word);
        let (_, ways) = OTHER_WORDS.iter().find(of)?;
        self.path.is_empty().then_some(*ways)
    }

    /// The command behind a group that is also known by this word.
    fn other_name(&self) -> Option<&'static str> {
        let has = |name: &str| self.behind.find_subcommand(name).is_some();
        let typed = self.word.to_lowercase();
        let is_it = |(word, name): &&(&str, &str)| *word == typed && has(name);
        let (_, name) = OTHER_NAMES.iter().find(is_it)?;
        (!self.path.is_empty()).then_some(*name)
    }

    /// That a command is another program's, and what is typed in its place, with what was typed behind it.
    fn other_command(&self, can_quote: bool) -> Option<String> {
        let typed_words = self.path.iter().chain([&self.word]).chain(&self.rest);
        let typed_words: Vec<&String> = typed_words.collect();
        let is_it = |(words, _): &&(&[&str], _)| {
            let begins = words.iter().zip(&typed_words);
            typed_words.len() >= words.len() && begins.into_iter().all(|(a, b)| a == b)
        };
        let (words, way) = OTHER_COMMANDS.iter().find(is_it)?;
        let behind = typed_words.get(words.len()..).unwrap_or_default();
        let behind: Option<Vec<String>> = behind.iter().map(|word| typed(word)).collect();
        let start = vec![program(), (*way).to_owned()];
        let line = match behind.filter(|_| can_quote) {
            Some(behind) => [start, behind].concat().join(" "),
            None => format!("{} …", start.join(" ")),
        };
        Some(format!(
            "there is no command '{}'; did you mean this?\n    {line}",
            words.join(" ")
        ))
    }

    /// Where the key of a model's server goes, for which other programs have a command: gently's own
    /// keys are other ones.
    fn model_key(&self) -> Option<String> {
        let next = self.rest.first().map_or("", String::as_str);
        let is_set = match self.path.as_slice() {
            [] => self.word == "keys" && matches!(next, "set" | "add"),
            [group] => group == "key" && self.word == "set",
            _ => false,
        };
        let program = program();
        is_set.then(|| {
            format!(
                "there is no command that keeps the key of a model's server; it is in the environment, or for openai/ \
                 models in a file of mode 0600\n    export OPENAI_API_KEY=…    (or ANTHROPIC_API_KEY)\n    \
                 {program} config set model.key_file FILE\n    the keys of gently itself: {program} key list"
            )
        })
    }

    /// The command that takes what stands behind a group as its text.
    fn put_on_record(&self, can_quote: bool) -> Option<String> {
        let [group] = self.path.as_slice() else {
            return None;
        };
        let (_, takes) = TAKE_A_TEXT.iter().find(|(name, _)| name == group)?;
        let words = [slice::from_ref(&self.word), &self.rest].concat();
        Some(format!(
            "{} {group} {takes} {}",
            program(),
            asked(&words, can_quote)
        ))
    }

    /// A command as it is named to a person, behind the words that were right.
    fn named(&self, word: &str) -> String {
        let word = beginning(&quiet(word), EXCERPT);
        [self.path.as_slice(), &[word]].concat().join(" ")
    }

    fn has_options(&self) -> bool {
        self.rest.iter().any(|word| word.starts_with('-'))
    }

    /// Whether it reads like a question or a sentence, quoted or not.
    fn is_question(&self, is_near: bool) -> bool {
        let is_sentence =
            self.word.trim().contains(char::is_whitespace) || self.word.ends_with('?');
        let is_capital = self.word.starts_with(char::is_uppercase) && !self.is_in_capitals();
        let goes_on = !self.rest.is_empty() && !self.has_options();
        let ends = self.rest.last().is_some_and(|last| last.ends_with('?'));
        let is_unquoted = goes_on && (is_capital || ends && !is_near);
        self.path.is_empty() && (is_sentence || is_unquoted)
    }

    /// Whether it is a command in capitals, and no beginning of a sentence: `ASK`, `Session list`.
    fn is_in_capitals(&self) -> bool {
        let Some(below) = self.behind.find_subcommand(self.word.to_lowercase()) else {
            return false;
        };
        let next = self.rest.first();
        self.word == self.word.to_uppercase()
            || next.is_some_and(|next| below.find_subcommand(next).is_some())
    }

    /// The whole line with the right word in it.
    fn corrected(&self, right: &str, can_quote: bool) -> String {
        let start = format!("{} {}", program(), self.named(right));
        let rest: Option<Vec<String>> = self.rest.iter().map(|word| typed(word)).collect();
        match rest {
            Some(rest) if rest.is_empty() => start,
            Some(_) if can_quote && self.path.is_empty() && right == "ask" => {
                format!("{start} {}", asked(&self.rest, can_quote))
            }
            Some(rest) if can_quote => format!("{start} {}", rest.join(" ")),
            _ => format!("{start} …"),
        }
    }

    /// The command of this name that stands behind no other one: `gently fact show fact-1`.
    fn alone(&self, can_quote: bool) -> Option<String> {
        let is_command = self.root.find_subcommand(&self.word).is_some();
        if self.path.is_empty() || !is_command {
            return None;
        }
        let start = format!("{} {}", program(), self.word);
        let rest: Option<Vec<String>> = self.rest.iter().map(|word| typed(word)).collect();
        Some(match rest.filter(|_| can_quote) {
            Some(rest) => [&[start], rest.as_slice()].concat().join(" "),
            None => format!("{start} …"),
        })
    }

    /// Commands of this name that stand behind another one, and topics; none when there are many.
    fn elsewhere(&self) -> Vec<String> {
        if !self.path.is_empty() {
            return Vec::new();
        }
        let program = program();
        let groups = self.behind.get_subcommands();
        let behind = groups.filter(|group| names_below(group).any(|name| name == self.word));
        let mut found: Vec<String> = behind
            .map(|group| format!("{program} {} {}", group.get_name(), self.word))
            .collect();
        if let Some(topic) = topics::named(&self.word) {
            found.push(format!("{program} help {}", topic.name));
        }
        if found.len() > 3 { Vec::new() } else { found }
    }
}

/// Whether an option of every command has its value in the next word.
fn takes_value(root: &Command, option: &str) -> bool {
    root.get_arguments()
        .filter(|arg| arg.get_long() == Some(option))
        .any(|arg| arg.get_action().takes_values())
}

/// A question as it is typed behind `ask`, or `"…"` where it can't be shown as it is: somebody who
/// copies the line would ask something else.
fn asked(words: &[String], can_quote: bool) -> String {
    // Options behind a quoted question stay options.
    let options = words.iter().position(|word| word.starts_with('-'));
    let (question, options) = words.split_at(options.unwrap_or(words.len()));
    let question = question.join(" ");
    let shown = typed(&question).map(|_| in_quotes(&question));
    let shown = shown.filter(|_| !question.is_empty() || options.is_empty());
    let options: Option<Vec<String>> = options.iter().map(|word| typed(word)).collect();
    match (shown, options) {
        (Some(question), Some(options)) if can_quote => {
            [&[question], options.as_slice()].concat().join(" ")
        }
        (None, Some(options)) if can_quote && question.is_empty() => options.join(" "),
        _ => "\"…\"".to_owned(),
    }
}

/// What is said where an option of `ask` was typed without it: `gently -m fast "hi"`; none where the
/// option is none of its.
pub fn ask_option(root: &Command, args: &[OsString], can_quote: bool) -> Option<String> {
    let words: Vec<String> = args
        .iter()
        .skip(1)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let first = words.first()?;
    let ask = root.find_subcommand("ask")?;
    let long = first.strip_prefix("--").map(|name| name.split('=').next());
    let is_its = ask.get_arguments().any(|arg| match long {
        Some(name) => arg.get_long() == name,
        None => {
            arg.get_short().is_some()
                && arg.get_short() == first.strip_prefix('-').and_then(|rest| rest.chars().next())
        }
    });
    if !is_its {
        return None;
    }
    let words: Option<Vec<String>> = words.iter().map(|word| typed(word)).collect();
    let words = words.filter(|_| can_quote);
    Some(format!(
        "error: {} is an option of 'ask':\n    {} ask {}",
        first.split('=').next().unwrap_or_default(),
        program(),
        words.map_or("…".to_owned(), |words| words.join(" "))
    ))
}

/// A word as it is typed in a shell; none if it is long, holds a secret, or what nobody sees.
fn typed(word: &str) -> Option<String> {
    let is_shown = word.chars().count() <= QUESTION
        && quiet(word) == word
        && redact(word).clean.as_str() == word;
    is_shown.then(|| shell_quoted(word).into_owned())
}

/// The command of these words.
///
/// # Errors
/// A sentence for a person: which word is none, what was most likely meant, and what there is.
pub fn command_named<'a>(root: &'a Command, words: &[&str]) -> Result<&'a Command, String> {
    let mut found = root;
    for (at, word) in words.iter().enumerate() {
        let Some(below) = found.find_subcommand(word) else {
            return Err(no_help(found, &words[..at], word));
        };
        found = below;
    }
    Ok(found)
}

fn no_help(behind: &Command, path: &[&str], word: &str) -> String {
    let program = program();
    let named = |word: &str| [path, &[word]].concat().join(" ");
    let topics = TOPICS.iter().map(|topic| topic.name);
    let is_root = path.is_empty();
    let names = names_below(behind).chain(topics.clone().filter(|_| is_root));
    let near = nearest(word, names);
    let near = near.map(|near| format!("; did you mean '{program} help {}'?", named(near)));
    let mut out = format!(
        "there is no help on '{}'{}",
        named(&beginning(&quiet(word), EXCERPT)),
        near.unwrap_or_default()
    );
    if is_root {
        for (group, names) in GROUPS {
            out.push_str(&format!(
                "\n  {:10}{}",
                format!("{group}:"),
                names.join(" ")
            ));
        }
        let topics: Vec<&str> = topics.collect();
        out.push_str(&format!("\n  {:10}{}", "Topics:", topics.join(" ")));
    } else {
        let names: Vec<&str> = names_below(behind).collect();
        let list = match names.is_empty() {
            true => "nothing more".to_owned(),
            false => names.join(" "),
        };
        let told = format!("behind '{}': {list}", path.join(" "));
        out.push_str(&format!(
            "\n  {}",
            words_in(&told, COLUMNS - 4).join("\n    ")
        ));
    }
    out
}
