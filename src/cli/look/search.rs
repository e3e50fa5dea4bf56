//! `gently search`: questions, answers and what was put on record, by their words.
//!
//! Exit 1 when nothing is found.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::imported::origin_words;
use crate::app::look::search::{
    HitSource, SearchHit, SearchPlace, SearchRequest, SearchResult, Snippet, TitleHit, TypedSearch,
    count, search,
};
use crate::app::words::{and_more, is_ideograph};
use crate::ask::withheld::WITHHELD;
use crate::record::ledger::short_name::short_name;
use crate::view::look::search::{HitCountView, SearchView};

use crate::cli::screen::pager;
use crate::cli::screen::{self, ScreenFilter, counted, minute, quiet, row};
use crate::cli::{FINE, NEGATIVE, could_not, not_printed, present, program, rendered, say};
use crate::os::shell_word;

/// Hits of one page, unless another number is asked for.
const USUAL: u32 = 20;
/// So many titles are named.
const TITLES: usize = 5;
/// More are no page, and each is read whole.
const MOST: i64 = 1000;

/// `gently search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words that all occur; "a phrase", polic* (3 letters or more, or 2 Chinese or Japanese characters), -without, this OR that
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// What does not occur; -WORD is the same
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub without: Vec<String>,
    /// Nothing older: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h or 3d; of imported
    /// messages, the day they were imported
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only what is older than that; of imported messages, the day they were imported
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Of one conversation: its first digits, its title, or last
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Of one project: its name, or project-1
    #[arg(long, value_name = "PROJECT", conflicts_with = "conversation")]
    pub project: Option<String>,
    /// Questions, or answers
    #[arg(long, value_name = "WHO")]
    pub by: Option<Author>,
    /// Of models whose name holds this; a * stands for anything
    #[arg(long, value_name = "PATTERN")]
    pub model: Option<String>,
    /// Questions and answers, what was put on record, or both
    #[arg(long = "in", value_name = "WHAT", default_value = "all")]
    pub place: Place,
    /// Only what has exactly what is typed: same case, same accents, same signs
    #[arg(long)]
    pub exact: bool,
    /// Only say how many there are
    #[arg(long)]
    pub count: bool,
    /// So many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub number: u32,
    /// The next page: what the one before it said
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["best", "count"])]
    pub before: Option<String>,
    /// The best first: all that fit are read and compared
    #[arg(long, conflicts_with = "count")]
    pub best: bool,
}

/// Whose words are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Author {
    /// Questions
    // As the hits call who asked.
    #[value(alias = "you")]
    User,
    /// Answers
    Model,
}

/// What is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// Questions and answers
    Turns,
    /// Facts, notes and decisions
    Items,
    /// Both
    All,
}

/// Looks, and prints what it finds.
pub fn run(args: SearchArgs, json: bool) -> Result<u8, OpenHomeError> {
    let words = match TypedSearch::of_arguments(&args.words, &args.without) {
        Ok(words) => words,
        Err(why) => return Ok(could_not(&why.to_string(), json)),
    };
    let again = search_again(&args);
    let is_in_time = args.place != Place::Items && (args.since.is_some() || args.until.is_some());
    let request = SearchRequest {
        words,
        exact: args.exact,
        place: match args.place {
            Place::Turns => SearchPlace::Turns,
            Place::Items => SearchPlace::Items,
            Place::All => SearchPlace::All,
        },
        since: args.since,
        until: args.until,
        conversation: args.conversation,
        project: args.project,
        by_user: args.by.map(|by| by == Author::User),
        model: args.model,
        number: args.number,
        before: args.before,
        best: args.best,
    };
    let home = open::existing_home()?;
    if args.count {
        let count = count(&home, &request)?;
        let printed = present(json, || HitCountView { count }, || format!("{count}\n"));
        return Ok(if count == 0 { NEGATIVE } else { printed });
    }
    let result = search(&home, &request)?;
    Ok(print_result(
        &result,
        request.before.is_some(),
        (&again, &args.words, is_in_time),
        json,
    ))
}

/// The command that searches the same again, without the place at which it begins.
fn search_again(args: &SearchArgs) -> String {
    let word = |text: &str| shell_word(Path::new(text));
    let mut command = vec![program(), "search".to_owned()];
    // Behind two signs nothing is an option, and a word that begins so needs them.
    let (odd, plain): (Vec<&String>, Vec<&String>) =
        args.words.iter().partition(|text| text.starts_with('-'));
    command.extend(plain.into_iter().map(|text| word(text)));
    command.extend(
        args.without
            .iter()
            .map(|text| format!("--without={}", word(text))),
    );
    for (option, value) in [
        ("--since", &args.since),
        ("--until", &args.until),
        ("--conversation", &args.conversation),
        ("--project", &args.project),
        ("--model", &args.model),
    ] {
        command.extend(
            value
                .iter()
                .map(|value| format!("{option} {}", word(value))),
        );
    }
    let by = args.by.map(|by| match by {
        Author::User => "--by user",
        Author::Model => "--by model",
    });
    let place = match args.place {
        Place::Turns => Some("--in turns"),
        Place::Items => Some("--in items"),
        Place::All => None,
    };
    let exact = args.exact.then_some("--exact");
    command.extend([by, place, exact].into_iter().flatten().map(str::to_owned));
    if args.number != USUAL {
        command.push(format!("-n {}", args.number));
    }
    // What ends the options comes last, behind the place of a page.
    command.push(PAGE.to_owned());
    if !odd.is_empty() {
        command.push("--".to_owned());
        command.extend(odd.into_iter().map(|text| word(text)));
    }
    quiet(&command.join(" "))
}

/// Where the place of a page is put into a command.
const PAGE: &str = "--before=PLACE";

/// Prints what was found; `again` is the command with [`PAGE`] for the place.
fn print_result(
    result: &SearchResult,
    is_later_page: bool,
    (again, words, is_in_time): (&str, &[String], bool),
    json: bool,
) -> u8 {
    let text = rendered(json, || SearchView::of(result), || lines(&result.hits));
    let gate = if json {
        ScreenFilter::out
    } else {
        ScreenFilter::hits
    };
    let printed = match pager::write(&text, gate) {
        Ok(()) => FINE,
        Err(e) => not_printed(&e),
    };
    if let Some(ranked) = result.ranked {
        say(&format!(
            "compared {} with one another, of {} that can be searched",
            counted(ranked.hits, "text"),
            ranked.texts
        ));
    }
    if let Some(older) = &result.older {
        let next = again.replacen(PAGE, &format!("--before {older}"), 1);
        say(&format!("older ones: {next}"));
    }
    if result.hits.is_empty() {
        say(match (is_later_page, result.titles.is_empty()) {
            (true, _) => "nothing older has these words",
            (false, true) => "nothing found",
            (false, false) => "no text has these words",
        });
        if is_in_time {
            say(
                "imported messages, if there are any, are found by when they were imported, and not by when they were said",
            );
        }
        if let Some(how) = without_blanks(words) {
            say(&how);
        }
    }
    if !json {
        say_titles(&result.titles);
    }
    match result.hits.is_empty() {
        true => NEGATIVE.max(printed),
        false => printed,
    }
}

/// How words of a script without blanks are found, where some were typed: a whole run of signs is one word.
fn without_blanks(words: &[String]) -> Option<String> {
    // A beginning of one sign is too short, and one that ends with punctuation is none.
    let is_of_two = |word: &&str| {
        word.chars().all(char::is_alphanumeric)
            && word.chars().filter(|sign| is_ideograph(*sign)).count() > 1
    };
    let mut typed = words.iter().flat_map(|argument| argument.split(' '));
    let word = typed.find(is_of_two)?;
    Some(format!(
        "text without blanks counts as one word up to the next punctuation mark: it is found whole or by its beginning, and \
         nothing in the middle of it is found. By its beginning: {} search {}",
        program(),
        quiet(&shell_word(Path::new(&format!("{word}*"))))
    ))
}

/// Says which conversations are called so.
fn say_titles(titles: &[TitleHit]) {
    if titles.is_empty() {
        return;
    }
    say("conversations whose title has them:");
    for hit in titles.iter().take(TITLES) {
        let origin = match hit.format {
            Some(format) => format!("  ({})", origin_words(Some(format), None)),
            None => String::new(),
        };
        say(&format!("    {}  {}{origin}", hit.short, quiet(&hit.title)));
    }
    if let Some(more) = and_more(titles.len().saturating_sub(TITLES)) {
        say(&format!("    {more}: --json lists them"));
    }
}

fn lines(hits: &[SearchHit]) -> String {
    hits.iter().map(hit_lines).collect()
}

/// A line that says what it is, and below it the piece of its text.
fn hit_lines(hit: &SearchHit) -> String {
    let (place, who) = match &hit.source {
        HitSource::Turn {
            by_user: true,
            short,
            ..
        } => (short.clone(), "you".to_owned()),
        HitSource::Turn { short, model, .. } => (short.clone(), quiet(model)),
        HitSource::Imported {
            id, by_user: true, ..
        } => (short_name(id), "you".to_owned()),
        HitSource::Imported { id, model, .. } => {
            let model = model.as_deref().unwrap_or("assistant");
            (short_name(id), quiet(model))
        }
        HitSource::Item { id, .. } => (short_name(id), "you".to_owned()),
    };
    let origin = match &hit.source {
        HitSource::Imported {
            format, said_at, ..
        } => {
            let said = said_at.map_or_else(String::new, |at| {
                format!("    (its source dates it {})\n", minute(at))
            });
            let origin = origin_words(Some(*format), Some(hit.at));
            format!("{said}    ({origin})\n")
        }
        _ => String::new(),
    };
    let head = format!("{}  {}  {who}", minute(hit.at), quiet(&place));
    let title = quiet(hit.title.as_deref().unwrap_or_default());
    let row = row(&head, &title).replace(screen::SET_OFF, "\u{fffd}");
    let text = match &hit.snippet {
        Some(snippet) => set_off(snippet),
        None => format!("({WITHHELD})"),
    };
    format!("{row}    {text}\n{origin}")
}

/// A snippet with its words between the signs that the gate sets off.
fn set_off(snippet: &Snippet) -> String {
    let parts = snippet.parts.iter().map(|part| {
        let text = part.text.replace(screen::SET_OFF, "\u{fffd}");
        let [begins, ends] = screen::SET_OFF;
        if part.is_marked {
            format!("{begins}{text}{ends}")
        } else {
            text
        }
    });
    parts.collect()
}

/// The options that are a letter long: what else begins with one sign is a word to leave out.
const SHORT: [&str; 2] = ["-n", "-h"];

/// The arguments of the program with `-word` behind `search` as `--without=word`, which is the same
/// and can't be taken for an option.
pub fn with_words_left_out(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut out, mut verb) = (Vec::new(), None);
    let mut is_value = true;
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        let is_option = text.starts_with('-');
        match verb {
            None if !is_value && !is_option => verb = Some(text == "search"),
            None => {}
            Some(true) if text == "--" => verb = Some(false),
            Some(true) if !is_value && is_left_out(text) => {
                let mut option = OsString::from("--without=");
                option.push(text.get(1..).unwrap_or_default());
                out.push(option);
                continue;
            }
            Some(_) => {}
        }
        is_value = is_option && takes_value(text);
        out.push(argument);
    }
    out
}

fn is_left_out(text: &str) -> bool {
    let Some(word) = text.strip_prefix('-') else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_page = word
        .strip_prefix('n')
        .is_some_and(|rest| is_number(rest.trim_start_matches('=')));
    !word.is_empty() && !word.starts_with('-') && !SHORT.contains(&text) && !is_page
}

/// Whether an option's value is the next argument: of those of every command, and of `search`.
fn takes_value(option: &str) -> bool {
    const WITH_VALUE: [&str; 12] = [
        "--color",
        "--passphrase-cmd",
        "--key-cmd",
        "--without",
        "--since",
        "--until",
        "--conversation",
        "--project",
        "--by",
        "--model",
        "--in",
        "--number",
    ];
    WITH_VALUE.contains(&option) || option == "-n" || option == "--before"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_is_called_as_the_hits_call_it() {
        for (typed, meant) in [
            ("user", Ok(Author::User)),
            ("you", Ok(Author::User)),
            ("model", Ok(Author::Model)),
        ] {
            assert_eq!(Author::from_str(typed, false), meant, "{typed}");
        }
    }

    #[test]
    fn a_word_to_leave_out_is_no_option() {
        for (typed, meant) in [
            ("gently search a -b", "gently search a --without=b"),
            (
                "gently search a -nginx -n 5 -n5 -h",
                "gently search a --without=nginx -n 5 -n5 -h",
            ),
            (
                "gently --color never search -b a",
                "gently --color never search --without=b a",
            ),
            (
                "gently --json search a --since -b -c",
                "gently --json search a --since -b --without=c",
            ),
            ("gently search a -- -b", "gently search a -- -b"),
            ("gently search a - --best", "gently search a - --best"),
            ("gently ask search -b", "gently ask search -b"),
            ("gently ask -m search -b", "gently ask -m search -b"),
            ("gently", "gently"),
        ] {
            let typed = typed.split(' ').map(OsString::from);
            let expected: Vec<OsString> = meant.split(' ').map(OsString::from).collect();
            assert_eq!(with_words_left_out(typed), expected, "{meant}");
        }
    }
}
