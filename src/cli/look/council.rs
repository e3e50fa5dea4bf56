//! `gently council`: what several specialists answered, and which answer was chosen.

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::council::{RecordedCouncil, RecordedMember, list, one};
use crate::app::set_up::specialist::choice::{BY_WORDS, thousandths};
use crate::govern::council::{DecidedBy, confidence_label};
use crate::record::ledger::council::{AccuracyLevel, CouncilPlace, ReviewVerdict};
use crate::record::ledger::reply::readable;
use crate::record::ledger::short_name::short_name;
use crate::record::ledger::specialist::GENERAL;
use crate::view::look::council::CouncilView;

use super::{LISTED, say_older, zone_line};
use crate::cli::screen::side_by_side::side_by_side;
use crate::cli::screen::{beginning, columns, quiet, row_or_below};
use crate::cli::{NEGATIVE, present, present_report, program, refusal, say};

/// Subcommands of `gently council`.
#[derive(Debug, Subcommand)]
pub enum CouncilCommand {
    /// Show all answers of one, what reviews say of them, and which was chosen
    Show {
        /// Its id as in council-1; the newest one without it, or last
        id: Option<String>,
    },
    /// List councils, newest first
    List {
        /// So many at most, the newest
        #[arg(long, short = 'n', value_name = "N", default_value_t = LISTED, value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
    },
}

/// Runs the command.
pub fn run(command: &CouncilCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        CouncilCommand::Show { id } => print_one(id.as_deref(), json),
        CouncilCommand::List { number } => print_list(*number, json),
    }
}

/// Prints the council of an id, or the newest one.
pub fn print_one(id: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let Some(council) = one(&open::existing_home()?, id)? else {
        let why = format!(
            "{NONE}: {} ask --council NAME,NAME \"…\" asks one",
            program()
        );
        return Ok(refusal(&why, json, NEGATIVE));
    };
    Ok(present_report(
        json,
        || CouncilView::of(&council),
        || text(&council),
    ))
}

/// What is said where there is none.
const NONE: &str = "no council is on record";

fn print_list(number: u32, json: bool) -> Result<u8, OpenHomeError> {
    let (councils, older) = list(&open::existing_home()?, number)?;
    say_older(older, number, "council list");
    let lines = || {
        if councils.is_empty() {
            say(NONE);
            return String::new();
        }
        let lines = councils
            .iter()
            .map(|one| row_or_below(&line(one), &asked(one)));
        format!("{}{}", zone_line(), lines.collect::<String>())
    };
    let views = || councils.iter().map(CouncilView::of).collect::<Vec<_>>();
    Ok(present(json, views, lines))
}

/// The beginning of its question.
fn asked(council: &RecordedCouncil) -> String {
    /// Longer ones are cut.
    const EXCERPT: usize = 80;
    match &council.question {
        Some(question) => beginning(&readable(question), EXCERPT),
        None => format!("({GONE})"),
    }
}

/// What is said of a question that is erased.
const GONE: &str = "the question is not here any more";

/// `council-1  2026-11-26 21:00  lawyer of 3  2 of 2 agree (High)  accuracy high`
fn line(council: &RecordedCouncil) -> String {
    let time = council.recorded_at.as_deref().unwrap_or_default();
    let time = time.get(..16).unwrap_or(time).replace('T', " ");
    let of = council.members.len();
    let won = council.winner().map_or_else(String::new, |winner| {
        format!("{} of {of}  {}  ", quiet(&winner.name), votes(winner))
    });
    // Those that somebody names without a level are on record so, too.
    let how = match council.accuracy == AccuracyLevel::Maximum.name() {
        true => "each reviews the others".to_owned(),
        false => format!("accuracy {}", quiet(&council.accuracy)),
    };
    format!("{}  {time}  {won}{how}", short_name(&council.id))
}

/// `2 of 3 agree (Medium)`
fn votes(member: &RecordedMember) -> String {
    match member.of.confidence {
        None => "no votes".to_owned(),
        Some(confidence) => format!(
            "{} of {} agree ({})",
            member.votes.agree,
            member.votes.all,
            confidence_label(confidence)
        ),
    }
}

/// What the numbers of each answer are.
const MEASURES: &str = "
W is what is expected of the answer by people's ratings, from 0 to 1, over all domains of the question. Utility is \
the same in the likeliest domain alone. Payment, which only the chosen answer has, is the highest W of the other \
answers.
";

/// All of a council, as people read it.
fn text(council: &RecordedCouncil) -> String {
    let mut text = format!(
        "{}\n{}; {}\n",
        line(council),
        domains(council),
        decided(council)
    );
    text.push_str(&match &council.question {
        Some(question) => format!("\n{}\n", readable(question).trim_end()),
        None => format!("\n({GONE})\n"),
    });
    text.push_str(MEASURES);
    text.push('\n');
    let members = council.members.iter();
    let members: Vec<Vec<String>> = members.map(|member| column(council, member)).collect();
    text.push_str(&side_by_side(&members, width()));
    text
}

/// What the question is of, with shares.
fn domains(council: &RecordedCouncil) -> String {
    let is_by_words = council.method == BY_WORDS;
    if let [one] = council.domains.as_slice()
        && one.domain == GENERAL
        && is_by_words
    {
        return format!("no domain's words are in the question, so it counts as {GENERAL}");
    }
    let domains = council.domains.iter();
    let domains = domains.map(|one| format!("{} {}", quiet(&one.domain), thousandths(one.share)));
    let domains: Vec<String> = domains.collect();
    format!("the question is of {}", domains.join(", "))
}

/// What decided between the answers.
fn decided(council: &RecordedCouncil) -> &'static str {
    match (council.basis.as_str(), council.decided_by()) {
        ("prior", Some(DecidedBy::Votes)) => {
            "nobody's answers were rated yet, and the votes decided"
        }
        ("prior", Some(DecidedBy::Age)) => {
            "nobody's answers were rated yet, and of those with as many votes the older was chosen"
        }
        ("prior", _) => "nobody's answers were rated yet",
        (_, Some(DecidedBy::Votes)) => "the same was expected of another, and the votes decided",
        (_, Some(DecidedBy::Age)) => {
            "the same was expected of another with as many votes, and the older was chosen"
        }
        _ => "ratings decided",
    }
}

/// How wide the columns are together: as the screen, and as a common one where there is none.
fn width() -> usize {
    const COMMON: usize = 80;
    columns(&std::io::stdout()).unwrap_or(COMMON)
}

/// A member in its parts: who it is, its answer, what reviews say of it.
fn column(council: &RecordedCouncil, member: &RecordedMember) -> Vec<String> {
    let of = &member.of;
    let model = member.model.as_deref().map(quiet).unwrap_or_default();
    let head = format!(
        "{}, {}\n{model}\n{}\nW {}\nutility {}\npayment {}\n{}",
        quiet(&member.name),
        of.place.name(),
        member.id,
        thousandths(of.welfare / 1000),
        thousandths(of.utility),
        thousandths(of.payment / 1000),
        votes(member)
    );
    let said = match (&member.answer, of.place) {
        (Some(answer), _) => readable(answer).trim_end().to_owned(),
        (None, CouncilPlace::Won | CouncilPlace::Lost | CouncilPlace::Erased) => {
            "(the answer is not here any more)".to_owned()
        }
        (None, CouncilPlace::Withheld) => "(the kernel keeps the answer back)".to_owned(),
        (None, CouncilPlace::Failed | CouncilPlace::Denied) => "(there is no answer)".to_owned(),
    };
    let mut reviews = String::new();
    for review in council
        .reviews
        .iter()
        .filter(|one| one.of.of == of.exchange)
    {
        let says = match review.of.verdict {
            Some(ReviewVerdict::Agree) => "agrees",
            Some(ReviewVerdict::Disagree) => "disagrees",
            None => "gave no vote",
        };
        let why = review.why.as_deref().map(|why| format!(": {}", quiet(why)));
        let why = why.unwrap_or_default();
        reviews.push_str(&format!(
            "{} {says} ({}){why}\n",
            quiet(&review.by),
            review.id
        ));
        if let Some(right) = &review.correction {
            reviews.push_str(&format!("  right, it proposes: {}\n", quiet(right)));
        }
    }
    vec![head, said, reviews]
}
