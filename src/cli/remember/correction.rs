//! `gently correction`: what is right in the place of what was said, and what is left of it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::correction::import::{CorrectionImport, import};
use crate::app::remember::correction::{
    Correction, CorrectionInput, DEFAULT_DECAY, DomainName, MOST_LISTED, RecordedCorrection,
    Thousandths, add, check, list, one,
};
use crate::app::remember::items::{RecordedItem, end};
use crate::record::ledger::correction::{ARBITER, DecayClass, IMPORT, MANUAL, MEDIUM};
use crate::record::ledger::item::ItemKind;
use crate::record::ledger::short_name::short_name;
use crate::record::ledger::specialist::GENERAL;
use crate::view::remember::correction::{
    CorrectionImportView, CorrectionView, RecordedCorrectionView,
};
use crate::view::remember::item::RecordedItemView;

use super::items::{EndArgs, ListArgs, ratify_each, said_changed, say_unkept, with_brackets};
use crate::app::words::counted;
use crate::cli::screen::quiet;
use crate::cli::{FINE, NEGATIVE, present, program, say};

/// Subcommands of `gently correction`.
#[derive(Debug, Subcommand)]
pub enum CorrectionCommand {
    /// Say what is right; it counts at once, and fades with time
    Add(CorrectionArgs),
    /// Make an imported or reviewed correction count
    Ratify {
        /// As in correction-3; again for more
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Take a correction back
    Retire(EndArgs),
    /// List corrections, with what is left of each
    List(ListArgs),
    /// Propose the corrections of a file of JSON lines
    ///
    /// A line is {"prompt":…,"chosen":…,"rejected":…,"domain":…,"confidence":…,"source":…}; only
    /// "chosen" has to be there. What is on record already is left as it is.
    Import {
        /// The file
        file: PathBuf,
    },
}

/// `gently correction add`.
#[derive(Debug, Args)]
pub struct CorrectionArgs {
    /// What is right
    claim: String,
    /// What is wrong: an answer that says it again is warned of
    #[arg(long = "not", value_name = "TEXT", default_value = "")]
    rejected: String,
    /// The question whose answer was wrong
    #[arg(long, value_name = "ID")]
    about: Option<String>,
    /// What it is about: what else is in force on it and claims another thing is a conflict
    #[arg(long, value_name = "WORDS")]
    subject: Option<String>,
    /// Its field, such as law.immigration
    #[arg(long, value_name = "NAME")]
    domain: Option<DomainName>,
    /// How sure it is, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value = "0.9")]
    confidence: Thousandths,
    /// How fast it falls to a third: A not at all, B in ten years, C in three, D in half a year
    #[arg(long, value_name = "CLASS", value_parser = decay)]
    decay: Option<DecayClass>,
    /// A fact, note, decision or correction that it takes the place of
    #[arg(long, value_name = "ID")]
    replaces: Option<String>,
    /// When it was observed, if not now: 2025-12-31T04:25:37Z, 2025-12-31, yesterday, or an age like
    /// 2h or 3d
    #[arg(long, value_name = "TIME")]
    observed_at: Option<String>,
    /// The tier from which on it may be put before a model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: u8,
}

/// A class as `--decay` takes it, in small letters, too.
pub fn decay(typed: &str) -> Result<DecayClass, String> {
    let class = typed.to_ascii_uppercase().parse();
    class.map_err(|_| format!("'{}' is none of A, B, C, D", quiet(typed)))
}

impl CorrectionArgs {
    /// The same as the desk takes it.
    fn input(self) -> CorrectionInput {
        CorrectionInput {
            claim: self.claim,
            rejected: self.rejected,
            about: self.about,
            subject: self.subject,
            domain: self.domain,
            confidence: self.confidence.0,
            decay: self.decay,
            replaces: self.replaces,
            observed_at: self.observed_at,
            tier: self.tier,
        }
    }
}

/// Carries out `gently correction`.
pub async fn run(command: CorrectionCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        CorrectionCommand::Add(args) => put(&args.input(), json).await,
        CorrectionCommand::Ratify { ids } => ratify_each(ItemKind::Correction, &ids, json).await,
        CorrectionCommand::Retire(args) => {
            let (id, reason) = args.named();
            let opened = open::open_home()?;
            let ended = end(&opened, ItemKind::Correction, id, reason).await?;
            Ok(told(&ended, json))
        }
        CorrectionCommand::List(args) => print_list(args.all(), json),
        CorrectionCommand::Import { file } => {
            let made = import(&open::open_home()?, &file).await?;
            Ok(imported(&made, json))
        }
    }
}

async fn put(said: &CorrectionInput, json: bool) -> Result<u8, OpenHomeError> {
    // What says nothing needs no home to be refused.
    check(said)?;
    let made = add(&open::open_home()?, said).await?;
    for kind in &made.removed {
        say(&format!("removed before it was stored: {kind}"));
    }
    let text = || {
        let id = short_name(&made.recorded.document.id);
        let (state, claim) = (made.state_name(), quiet(&made.text()));
        format!("{id}  {state}  {claim}\n")
    };
    let printed = present(json, || RecordedCorrectionView::of(&made), text);
    after(&made);
    Ok(printed)
}

/// What else a person should know of what was put on record.
fn after(made: &RecordedCorrection) {
    if !made.recorded.is_kept {
        say(
            "its text is not kept (store.content is \"none\"): what is on record is a commitment to it, and nothing that \
             could be put before a model",
        );
        return;
    }
    if let Some(replaced) = &made.replaced {
        say(&format!("{} is out of force", short_name(replaced)));
    }
    if let Some(conflict) = &made.conflict {
        say(conflict);
    }
    if made.left < MEDIUM {
        say("it is put before no model: of its confidence less than a half is left");
        return;
    }
    let until = match made.decay.lifetime() {
        None => "",
        Some(_) => ", until it fades",
    };
    say(&format!(
        "it goes with questions that it fits from now on{until}; to take it back: {} correction retire {}",
        program(),
        short_name(&made.recorded.document.id)
    ));
}

/// Says of a correction whose state was given what it is now.
fn told(item: &RecordedItem, json: bool) -> u8 {
    let id = short_name(&item.recorded.document.id);
    let text = || format!("{id}  {}  {}\n", item.state_name(), quiet(&item.text));
    present(json, || RecordedItemView::of(item), text)
}

fn print_list(all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let found = list(&open::existing_home()?, all)?;
    if found.has_more {
        say(&format!("only the newest {MOST_LISTED} are listed"));
    }
    say_unkept(ItemKind::Correction, found.not_kept);
    let text = || {
        if found.corrections.is_empty() && found.not_kept == 0 {
            say("no correction is on record");
        }
        let all = found.corrections.iter();
        all.map(|correction| line(correction) + "\n").collect()
    };
    let printed = present(json, || CorrectionView::all(&found), text);
    Ok(said_changed(&found.changed, printed))
}

/// Prints the correction of an id.
pub fn print_one(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let found = one(&open::existing_home()?, id)?;
    Ok(present(
        json,
        || CorrectionView::of(&found),
        || line(&found) + "\n",
    ))
}

/// A correction as people read it: its id, where it stands, what is right and what is wrong, what is
/// left of its confidence, what it is about. What most have is left out: a person made it, of no
/// domain, and it fades as most do.
fn line(correction: &Correction) -> String {
    let item = &correction.item;
    let said = match &correction.texts {
        None => "(erased)".to_owned(),
        Some((claim, rejected)) if rejected.is_empty() => quiet(claim),
        Some((claim, rejected)) => format!("{} (not: {})", quiet(claim), quiet(rejected)),
    };
    let line = format!("{}  {:10}  {said}", short_name(&item.id), item.state.name());
    let mut more = Vec::new();
    more.extend(
        item.subject
            .as_deref()
            .map(|subject| format!("on '{}'", quiet(subject))),
    );
    more.extend(
        correction
            .about
            .as_deref()
            .map(|about| format!("about {about}")),
    );
    if let (Some(confidence), Some(decay)) = (item.confidence_milli, item.decay) {
        more.push(format!(
            "confidence {}",
            confidence_words(confidence, correction.left)
        ));
        more.extend((decay != DEFAULT_DECAY).then(|| format!("decay {decay}")));
    }
    more.extend(
        item.domain
            .as_deref()
            .filter(|domain| *domain != GENERAL)
            .map(|domain| format!("domain {}", quiet(domain))),
    );
    more.extend(
        item.source
            .as_deref()
            .filter(|source| *source != MANUAL)
            .map(|source| match source {
                ARBITER => "from a review in a council".to_owned(),
                IMPORT => "from a file".to_owned(),
                other => format!("from {}", quiet(other)),
            }),
    );
    more.extend(item.observed_at.map(|at| format!("observed {at}")));
    with_brackets(line, &more)
}

/// `0.900, now 0.645`; `0.900, now 0.300: faded` where too little is left.
fn confidence_words(confidence: u16, left: u16) -> String {
    let number = |milli: u16| format!("{}.{:03}", milli / 1000, milli % 1000);
    let faded = if left < MEDIUM { ": faded" } else { "" };
    match confidence == left {
        true => format!("{}{faded}", number(confidence)),
        false => format!("{}, now {}{faded}", number(confidence), number(left)),
    }
}

/// So many lines that are none are said one by one.
const REFUSED_SAID: usize = 10;

/// So many corrections of a file stand in the command that ratifies them.
const RATIFIED_AT_ONCE: usize = 8;

/// Says what became of a file.
fn imported(made: &CorrectionImport, json: bool) -> u8 {
    for (line, reason) in made.refused.iter().take(REFUSED_SAID) {
        say(&format!("line {line} is no correction: {}", quiet(reason)));
    }
    if let more @ 1.. = made.refused.len().saturating_sub(REFUSED_SAID) {
        let lines = counted(more, "line");
        say(&format!("and {lines} more; --json names them all"));
    }
    if made.removed > 0 {
        say(&format!(
            "removed before they were stored: {}",
            counted(made.removed, "secret")
        ));
    }
    let text = || {
        format!(
            "{}: {} proposed, {} on record already, {} refused\n",
            counted(made.read, "line"),
            made.recorded.len(),
            made.unchanged,
            made.refused.len()
        )
    };
    let printed = present(json, || CorrectionImportView::of(made), text);
    if !made.recorded.is_empty() {
        let named = made
            .recorded
            .iter()
            .take(RATIFIED_AT_ONCE)
            .map(|id| short_name(id));
        let named: Vec<String> = named.collect();
        say(&format!(
            "each counts once it is ratified: {} correction ratify {}",
            program(),
            named.join(" ")
        ));
        if made.recorded.len() > named.len() {
            say(&format!(
                "the others are listed by: {} correction list",
                program()
            ));
        }
    }
    match made.refused.is_empty() && made.read > 0 {
        true => printed,
        false if printed == FINE => NEGATIVE,
        false => printed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_in_words() {
        for (confidence, left, words) in [
            (900, 900, "0.900"),
            (1000, 645, "1.000, now 0.645"),
            (900, 499, "0.900, now 0.499: faded"),
            (400, 400, "0.400: faded"),
        ] {
            assert_eq!(confidence_words(confidence, left), words);
        }
    }
}
