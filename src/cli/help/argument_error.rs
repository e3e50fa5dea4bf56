//! What is said where a command is known and its arguments don't fit: what is missing or too much,
//! an example that can be copied, and where more stands.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::unknown_command::TypedPath;
use super::{EXCERPT, examples_of, program, with_option};
use crate::app::words::nearest;
use crate::cli::screen::{beginning, quiet};

/// So many options that begin with a letter are named for it.
const LETTERS: usize = 4;
/// What other programs call the number of what is listed.
const AS_MANY: [&str; 7] = ["limit", "max", "count", "lines", "last", "top", "l"];

/// What is wrong with the arguments of a command, with the next step; none of an error that says it
/// better itself. With `can_quote` what was typed is repeated.
pub fn answer(
    mut root: Command,
    args: &[OsString],
    error: &clap::Error,
    can_quote: bool,
) -> Option<String> {
    // Arguments have names to be printed by once they are built.
    root.build();
    let TypedPath { command, path, .. } = TypedPath::of(&root, args);
    let called = match path.as_slice() {
        [] => "gently".to_owned(),
        path => format!("'{}'", path.join(" ")),
    };
    let of = ArgumentFault {
        command,
        called: &called,
        error,
        can_quote,
    };
    let mut lines = of.said()?;
    if let Some((typed, _)) = of.example(&path.join(" ")) {
        lines.push("  for example:".to_owned());
        let own = typed.strip_prefix("gently").map(|rest| program() + rest);
        lines.push(format!("    {}", own.as_deref().unwrap_or(typed)));
    }
    let words = path.join(" ");
    lines.push(
        format!("  more: {} help {words}", program())
            .trim_end()
            .to_owned(),
    );
    Some(format!("error: {}", lines.join("\n")))
}

/// `4 is not in 0..=3`, as a person says it: `it takes 0 to 3`.
fn in_words(why: &str) -> String {
    let range = why.rsplit_once(" is not in ").map(|(_, range)| range);
    match range.and_then(|range| range.split_once("..=")) {
        Some((least, "")) => format!("it takes {least} or more"),
        Some((least, most)) => format!("it takes {least} to {most}"),
        None => why.to_owned(),
    }
}

/// Arguments that don't fit their command.
struct ArgumentFault<'a> {
    command: &'a Command,
    /// `'conversation export'`.
    called: &'a str,
    error: &'a clap::Error,
    can_quote: bool,
}

impl ArgumentFault<'_> {
    /// What is wrong, and below it what an argument is, if one is missing.
    fn said(&self) -> Option<Vec<String>> {
        match self.error.kind() {
            ErrorKind::MissingRequiredArgument => self.missing(),
            ErrorKind::UnknownArgument => self.unknown(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::NoEquals => {
                self.unfit()
            }
            ErrorKind::ArgumentConflict => self.conflict().map(|line| vec![line]),
            ErrorKind::TooManyValues | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
                let line = format!("{} takes another number of values", self.argument()?);
                Some(vec![line])
            }
            _ => None,
        }
    }

    /// The example that has the option which is wrong, or which was meant, and none where no example
    /// has it; the first one where it is no option.
    fn example(&self, path: &str) -> Option<&'static (&'static str, &'static str)> {
        let all = examples_of(path);
        let named = self.text(ContextKind::InvalidArg).unwrap_or_default();
        let option = named.split([' ', '=']).next().unwrap_or_default();
        let is_missing = self.error.kind() == ErrorKind::MissingRequiredArgument;
        if !option.starts_with('-') || is_missing {
            let has = |(typed, _): &&(&str, &str)| typed.split(' ').any(|word| word == option);
            return all.iter().find(has).or(all.first());
        }
        let meant = match self.error.kind() {
            ErrorKind::UnknownArgument => self.meant_by(option),
            _ => vec![option.to_owned()],
        };
        if meant.is_empty() {
            return all.first();
        }
        let spelled: Vec<String> = meant.iter().flat_map(|one| self.spellings(one)).collect();
        with_option(path, &spelled)
    }

    /// An option in its long and in its short form.
    fn spellings(&self, option: &str) -> Vec<String> {
        let mut all = vec![option.to_owned()];
        let long = |arg: &&Arg| {
            arg.get_long()
                .is_some_and(|long| option.strip_prefix("--") == Some(long))
        };
        let short = self
            .command
            .get_arguments()
            .find(long)
            .and_then(Arg::get_short);
        all.extend(short.map(|short| format!("-{short}")));
        all
    }

    fn missing(&self) -> Option<Vec<String>> {
        let missing: Vec<&str> = match self.error.get(ContextKind::InvalidArg)? {
            ContextValue::Strings(names) => names.iter().map(String::as_str).collect(),
            ContextValue::String(name) => vec![name],
            _ => return None,
        };
        let mut names: Vec<String> = missing.iter().map(|name| plain(name)).collect();
        // As they are typed: options stand behind.
        names.sort_by_key(|name| name.starts_with('-'));
        let (last, before) = names.split_last()?;
        let all = match before {
            [] => last.clone(),
            some => format!("{} and {last}", some.join(", ")),
        };
        let mut lines = vec![format!("{} needs {all}", self.called)];
        if let [one] = missing.as_slice() {
            lines.extend(self.described(one).map(|what| format!("  {last}: {what}")));
        }
        Some(lines)
    }

    /// The options that somebody meant who typed one that is none.
    fn meant_by(&self, typed: &str) -> Vec<String> {
        let name = typed.trim_start_matches('-');
        let has_number = self
            .command
            .get_arguments()
            .any(|arg| arg.get_short() == Some('n'));
        if has_number && AS_MANY.contains(&name) {
            return vec!["-n".to_owned()];
        }
        if let Some(suggested) = self.text(ContextKind::SuggestedArg) {
            return vec![suggested.to_owned()];
        }
        let own = self.command.get_arguments();
        let own = own.filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
        let names: Vec<&str> = own.filter_map(Arg::get_long).collect();
        let option = |name: &str| format!("--{name}");
        let is_letter = !typed.starts_with("--") && name.chars().count() == 1;
        if !is_letter {
            return nearest(name, names.into_iter())
                .map(option)
                .into_iter()
                .collect();
        }
        let begin = names.into_iter().filter(|long| long.starts_with(name));
        let begin: Vec<String> = begin.map(option).collect();
        match begin.len() {
            ..=LETTERS => begin,
            _ => Vec::new(),
        }
    }

    fn unknown(&self) -> Option<Vec<String>> {
        let typed = self.text(ContextKind::InvalidArg)?;
        let shown = self.repeated(typed);
        if !typed.starts_with('-') {
            let takes = self.command.get_positionals().count();
            let line = match takes {
                0 => format!("nothing stands behind {}, and here is {shown}", self.called),
                _ => format!(
                    "{shown} is one word too many for {}: put words that belong together in quotes",
                    self.called
                ),
            };
            return Some(vec![line]);
        }
        let meant = self.meant_by(typed);
        let near = match meant.as_slice() {
            [] => String::new(),
            [one] => format!("; did you mean {one}?"),
            [before @ .., last] => format!("; did you mean {} or {last}?", before.join(", ")),
        };
        let mut lines = vec![format!("{} has no option {shown}{near}", self.called)];
        let args = self.command.get_arguments();
        let is_meant = |arg: &&Arg| {
            let long = arg.get_long().map(|name| format!("--{name}"));
            let short = arg.get_short().map(|name| format!("-{name}"));
            let mut names = long.iter().chain(&short);
            names.any(|name| meant.contains(name))
        };
        for arg in args.filter(is_meant) {
            let named = arg.to_string();
            let what = self.described(&named);
            lines.extend(what.map(|what| format!("  {}: {what}", plain(&named))));
        }
        Some(lines)
    }

    fn unfit(&self) -> Option<Vec<String>> {
        let argument = self.argument()?;
        let value = self.text(ContextKind::InvalidValue).unwrap_or_default();
        let allowed = match self.error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(names)) => names.join(", "),
            _ => String::new(),
        };
        let why = match (self.error.source(), allowed.as_str()) {
            (Some(why), _) => format!(": {}", quiet(&in_words(&why.to_string()))),
            (None, "") => String::new(),
            (None, allowed) => format!(": it takes {allowed}"),
        };
        if value.is_empty() {
            let of = self.text(ContextKind::InvalidArg).unwrap_or_default();
            let mut lines = vec![format!("{argument} needs a value{why}")];
            lines.extend(self.described(of).map(|what| format!("  {what}")));
            return Some(lines);
        }
        let shown = self.repeated(value);
        Some(vec![format!("{shown} does not fit {argument}{why}")])
    }

    fn conflict(&self) -> Option<String> {
        let one = self.argument()?;
        let other = match self.error.get(ContextKind::PriorArg)? {
            ContextValue::String(name) => plain(name),
            ContextValue::Strings(names) => {
                let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
                names.join(" and ")
            }
            _ => return None,
        };
        Some(match one == other {
            true => format!("{one} can be given once only"),
            false => format!("{one} and {other} don't go together: give one of them"),
        })
    }

    fn argument(&self) -> Option<String> {
        self.text(ContextKind::InvalidArg).map(plain)
    }

    fn text(&self, kind: ContextKind) -> Option<&str> {
        match self.error.get(kind)? {
            ContextValue::String(text) => Some(text),
            ContextValue::Strings(texts) => texts.first().map(String::as_str),
            _ => None,
        }
    }

    /// A word that was typed, in quotes.
    fn repeated(&self, typed: &str) -> String {
        match self.can_quote {
            true => format!("'{}'", beginning(&quiet(typed), EXCERPT)),
            false => "what was typed".to_owned(),
        }
    }

    /// What an argument is, by how the parser names it: `<ID>`, `--out <FILE>`.
    fn described(&self, named: &str) -> Option<String> {
        // What may be left out in some cases stands in other brackets.
        let bare = |text: &str| {
            let text = text.trim_end_matches("...");
            text.trim_matches(['<', '>', '[', ']']).to_owned()
        };
        let is_it = |arg: &&Arg| bare(&arg.to_string()) == bare(named);
        let arg = self.command.get_arguments().find(is_it)?;
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> = arg
            .get_possible_values()
            .iter()
            .map(|value| value.get_name().to_owned())
            .collect();
        match (help.is_empty(), values.is_empty()) {
            (true, true) => None,
            (false, true) => Some(help),
            (true, false) => Some(values.join(", ")),
            (false, false) => Some(format!("{help}: {}", values.join(", "))),
        }
    }
}

/// An argument as a person is told of it: `ID`, `--out FILE`.
fn plain(named: &str) -> String {
    quiet(&named.replace(['<', '>'], "").replace('|', " or "))
}
