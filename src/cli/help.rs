//! What `--help` and `gently help` say: the commands of `args.rs`, in groups, each with examples,
//! and the options of every command apart.
//!
//! Parsing needs none of it, so a command that was typed well never makes it.

mod argument_error;
pub(super) mod completions;
pub mod examples;
pub(super) mod man;
pub mod parse_error;
mod topics;
mod unknown_command;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal as _;

use clap::builder::styling::Style;
use clap::{Arg, ArgAction, Args, ColorChoice, Command, CommandFactory as _, Id};

use crate::view::set_up::help::{ExampleView, HelpView};

use super::args::Cli;
use super::screen::line_break::words_in;
use super::screen::view_or_words::view_or_words;
use super::screen::{ScreenFilter, columns, is_coloured};
use super::{could_not, paged, present, program};

pub use examples::{of as examples_of, with_option};
pub(super) use parse_error::run as answer_usage;
pub use topics::TOPICS;

/// The columns that help is made for. A wider terminal gets no longer lines, which are read badly.
const COLUMNS: usize = 80;
/// The heading of the options that every command has.
const SHARED: &str = "Options of every command";
/// Where the descriptions of commands begin.
const MARGIN: usize = 15;
/// Stands for a space in the command of an example, until its help is rendered: no line is broken there.
const HELD: &str = "\u{a0}";
/// So much of a word that was typed is repeated.
const EXCERPT: usize = 60;

/// The commands by what they are for, in the order in which they are listed.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Ask",
        &[
            "ask",
            "chat",
            "conversation",
            "project",
            "session",
            "thread",
            "model",
        ],
    ),
    (
        "Look",
        &[
            "search",
            "show",
            "log",
            "context",
            "council",
            "drift",
            "assertion",
            "action",
            "sight",
            "stats",
        ],
    ),
    (
        "Remember",
        &[
            "fact",
            "correction",
            "rate",
            "handoff",
            "note",
            "decision",
            "intent",
            "conflict",
        ],
    ),
    (
        "Prove",
        &[
            "share", "check", "audit", "trace", "consent", "anchor", "witness",
        ],
    ),
    (
        "Keep",
        &[
            "import", "backup", "restore", "sync", "store", "erase", "sanitize",
        ],
    ),
    (
        "Set up",
        &[
            "init",
            "config",
            "key",
            "kernel",
            "domain",
            "specialist",
            "hook",
            "doctor",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Arguments of `gently help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, such as audit verify, or a topic: exit-codes, ids, privacy, verify; topics lists
    /// them
    pub words: Vec<String>,
}

/// Everything that can be typed, as help, completions and manual pages show it.
pub fn command() -> Command {
    described_where(&|_| true)
}

/// The same, with the examples of no command but those that these words name: nobody is shown the
/// help of another, and all of it takes as long as everything else that `--help` does.
fn command_for(words: &[OsString]) -> Command {
    described_where(&|below| {
        let mut names = below.get_all_aliases().chain([below.get_name()]);
        names.any(|name| words.iter().any(|word| word == name))
    })
}

fn described_where(is_shown: &dyn Fn(&Command) -> bool) -> Command {
    let bare = Cli::command();
    let shared: Vec<Id> = bare
        .get_arguments()
        .filter(|arg| arg.is_global_set())
        .map(|arg| arg.get_id().clone())
        .chain([Id::from("help")])
        .collect();
    let flag = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .global(true)
        .help("Print help");
    let heading = *bare.get_styles().get_header();
    let root = bare.disable_help_flag(true).arg(flag);
    let whole = described(
        root,
        "",
        &HelpForm {
            shared: &shared,
            heading,
            is_shown,
        },
    );
    let listed = listing(&whole, heading);
    whole.max_term_width(COLUMNS).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}\
         {heading}Options:{heading:#}\n{{options}}{{after-help}}"
    ))
}

/// How help is laid out, and of which commands below the first.
struct HelpForm<'a> {
    /// The options of every command.
    shared: &'a [Id],
    heading: Style,
    is_shown: &'a dyn Fn(&Command) -> bool,
}

/// A command and those below it with their examples, and with the shared options apart.
fn described(command: Command, path: &str, form: &HelpForm) -> Command {
    let heading = form.heading;
    let apart = |arg: Arg| {
        if form.shared.contains(arg.get_id()) {
            arg.help_heading(SHARED)
        } else {
            arg
        }
    };
    let after = command.get_after_help().map(|text| text.ansi().to_string());
    let examples = example_lines(path);
    let foot: Vec<String> = [
        (!examples.is_empty()).then(|| format!("{heading}Examples:{heading:#}\n{examples}")),
        path.is_empty().then(topic_line),
        after,
    ]
    .into_iter()
    .flatten()
    .collect();
    command
        .mut_args(apart)
        .after_help(foot.join("\n\n"))
        .mut_subcommands(|below| {
            if !(form.is_shown)(&below) {
                return below;
            }
            let path = joined(path, below.get_name());
            described(below, &path, form)
        })
}

/// Which topics there are beside the commands.
fn topic_line() -> String {
    let names: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    format!(
        "More of a command: gently help audit verify\nTopics: gently help {}",
        names.join(" · ")
    )
}

/// The words of a command below another one.
fn joined(path: &str, name: &str) -> String {
    format!("{path} {name}").trim_start().to_owned()
}

/// The examples of a command, one a line; behind each what it does, or below it where the lines
/// would get too long.
fn example_lines(path: &str) -> String {
    let examples = examples_of(path);
    let widest = examples.iter().map(|(typed, _)| typed.chars().count());
    let widest = widest.max().unwrap_or_default();
    let room = columns(&std::io::stdout()).map_or(COLUMNS, |columns| columns.min(COLUMNS));
    let fits = |does: &str| 2 + widest + 3 + does.chars().count() <= room;
    let beside = examples.iter().all(|(_, does)| fits(does));
    let line = |(typed, does): &(&str, &str)| {
        let held = typed.replace(' ', HELD);
        if beside {
            format!("  {held:widest$}   {does}")
        } else {
            format!("  {held}\n      {does}")
        }
    };
    let lines: Vec<String> = examples.iter().map(line).collect();
    lines.join("\n")
}

/// The names of all commands.
pub fn commands() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// All commands in their groups, each with its description; ends with an empty line.
fn listing(root: &Command, heading: Style) -> String {
    let mut out = String::new();
    for (group, names) in GROUPS {
        out.push_str(&format!("{heading}{group}:{heading:#}\n"));
        for name in names {
            let command = root.find_subcommand(name);
            let about = command.and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let lines = words_in(&about, COLUMNS - MARGIN);
            let margin = " ".repeat(MARGIN);
            out.push_str(&format!(
                "  {name:12} {}\n",
                lines.join(&format!("\n{margin}"))
            ));
        }
        out.push('\n');
    }
    out
}

/// Prints the help of a command, or a topic.
pub fn run(args: &HelpArgs, json: bool) -> u8 {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    if let ["topics" | "topic"] = words.as_slice() {
        return present(json, topics_view, topics_text);
    }
    if let Some(topic) = topics::named(&words.join("-")) {
        return present(json, || topic_view(topic), || topic.text.to_owned());
    }
    let root = command();
    match unknown_command::command_named(&root, &words) {
        Ok(found) => command_help(found, &words, json),
        Err(why) => could_not(&why, json),
    }
}

/// All topics, a line each.
fn topics_text() -> String {
    let line = |topic: &topics::Topic| format!("  {:12} {}\n", topic.name, topic.about);
    let lines: String = TOPICS.iter().map(line).collect();
    format!("Topics\n\n{lines}\nTo read one: {} help ids\n", program())
}

fn topics_view() -> HelpView {
    HelpView {
        kind: "topics",
        words: "topics".to_owned(),
        text: topics_text(),
        examples: Vec::new(),
        commands: Vec::new(),
        topics: TOPICS.iter().map(|topic| topic.name).collect(),
    }
}

fn topic_view(topic: &topics::Topic) -> HelpView {
    HelpView {
        kind: "topic",
        words: topic.name.to_owned(),
        text: topic.text.to_owned(),
        examples: Vec::new(),
        commands: Vec::new(),
        topics: Vec::new(),
    }
}

/// The same as `--help` behind the command says, in the same colours.
fn command_help(found: &Command, words: &[&str], json: bool) -> u8 {
    let typed = std::iter::once("gently").chain(words.iter().copied());
    let args: Vec<OsString> = std::env::args_os().collect();
    let help = command_for(&words.iter().map(OsString::from).collect::<Vec<_>>())
        .color(color_choice(&args))
        .try_get_matches_from(typed.chain(["--help"]))
        .expect_err("--help ends parsing, whatever else is missing");
    let view = || command_view(found, words, help_text(&help));
    view_or_words(json, view, || print_help(&help))
}

/// Prints help, through a pager where it is longer than the screen.
fn print_help(help: &clap::Error) -> u8 {
    let text = match is_coloured(std::io::stdout().is_terminal()) {
        true => help.render().ansi().to_string().replace(HELD, " "),
        false => help_text(help),
    };
    paged(&text, ScreenFilter::help)
}

/// What the parser says, without colours.
fn help_text(said: &clap::Error) -> String {
    said.render().to_string().replace(HELD, " ")
}

fn command_view(found: &Command, words: &[&str], text: String) -> HelpView {
    let path = words.join(" ");
    let examples = examples_of(&path).iter();
    let is_root = words.is_empty();
    HelpView {
        kind: "command",
        text,
        examples: examples
            .map(|(typed, does)| ExampleView {
                command: typed,
                does,
            })
            .collect(),
        commands: names_below(found).map(|name| joined(&path, name)).collect(),
        topics: TOPICS
            .iter()
            .filter(|_| is_root)
            .map(|topic| topic.name)
            .collect(),
        words: path,
    }
}

/// Whether `--color` asks for colours, in arguments of which nothing else may be known.
fn color_choice(args: &[OsString]) -> ColorChoice {
    let options = args.iter().take_while(|arg| *arg != "--");
    let mut texts = options.map(|arg| arg.to_string_lossy());
    while let Some(text) = texts.next() {
        let value = match text.strip_prefix("--color") {
            Some("") => texts.next(),
            Some(rest) => rest.strip_prefix('=').map(|value| value.to_owned().into()),
            None => None,
        };
        if let Some(choice) = value.and_then(|value| value.parse().ok()) {
            return choice;
        }
    }
    ColorChoice::Auto
}

/// The names of the commands below one.
fn names_below(command: &Command) -> impl Iterator<Item = &str> {
    let shown = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    shown.map(Command::get_name)
}

/// A word as somebody types it in a shell: in quotes where it needs them.
fn shell_quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@=,%".contains(&b);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(in_quotes(word))
}

/// The same, in quotes in any case, as a question is.
fn in_quotes(word: &str) -> String {
    // Between double quotes these four still mean something, and '!' does to an interactive bash.
    if word.contains(['"', '$', '`', '\\', '!']) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    format!("\"{word}\"")
}

#[cfg(test)]
mod tests;
