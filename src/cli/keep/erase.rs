//! `gently erase`: text and salt are destroyed, what is committed to them stays, a tombstone says
//! so.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::keep::erase::{EraseTarget, ErasedNames, ErasurePlan, erase, names, plan};
use crate::recorder::ErasureResult;
use crate::view::keep::erasure::{
    ErasureReachView, ErasureView, READER_HOLDS_THE_LOG, words_also_in,
};

use crate::cli::args::EraseArgs;
use crate::cli::screen::confirm::{self, ConfirmWords};
use crate::cli::screen::quiet;
use crate::cli::screen::view_or_words::view_or_words;
use crate::cli::{FINE, WITHHELD, could_not, print_words, program, say};

const WORDS: ConfirmWords = ConfirmWords {
    does: "erase it",
    done: "erased",
};

/// Erases what is named, or what is old, once somebody said yes to it.
pub async fn run(args: &EraseArgs, json: bool) -> Result<u8, OpenHomeError> {
    let target = match (&args.id, &args.older_than) {
        (Some(id), _) => EraseTarget::One(id.clone()),
        (None, Some(typed)) => EraseTarget::OlderThan(typed.clone()),
        (None, None) if args.due => EraseTarget::Due,
        (None, None) => return Ok(could_not(&no_target(), json)),
    };
    if args.consent.dry_run {
        let home = open::existing_home()?;
        let planned = plan(&*open::store(&home)?, &open::config(&home)?, &target)?;
        return Ok(confirm::dry_run(&ErasureReachView::plan(&planned), json));
    }
    let opened = open::open_home()?;
    opened.authorize().await?;
    let planned = plan(&opened.store, &opened.config, &target)?;
    let view = ErasureReachView::plan(&planned);
    if let Err(why) = args.consent.ask(&view, WORDS) {
        return Ok(could_not(&why, json));
    }
    let reason = args.reason.as_deref().unwrap_or("asked for");
    let erased = erase(&opened, &planned, reason).await?;
    let names = names(&opened, &planned, &erased)?;
    let view = ErasureView {
        newer: planned.newer.clone(),
        ..ErasureView::of(&erased)
    };
    report((&erased, &planned), view, &names, json)
}

/// The three forms.
fn no_target() -> String {
    let program = program();
    format!(
        "say what is to be erased: one question with its answer (or a fact, a note, …), all that is older than \
         so many days, or what retention.content_days is over for\n    {program} erase last\n    \
         {program} erase --older-than DAYS\n    {program} erase --due"
    )
}

fn report(
    (erased, planned): (&ErasureResult, &ErasurePlan),
    view: ErasureView,
    names: &ErasedNames,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let code = say_what_is_left(erased);
    Ok(code.max(view_or_words(
        json,
        || view,
        || show_erased((erased, planned), names),
    )))
}

/// What of erased words may still be found in the home, and until when; the exit code of that.
pub(in crate::cli) fn say_what_is_left(erased: &ErasureResult) -> u8 {
    if let Some(why) = &erased.unscrubbed {
        say(&format!(
            "erased; its words are still in gently.db-wal until there is room: the next command that records \
             empties it ({})",
            quiet(why)
        ));
    } else if !erased.scrubbed {
        say(&format!("erased; {READER_HOLDS_THE_LOG}"));
    }
    if let Some(why) = &erased.unwritten {
        say(&format!(
            "erased; the search indexes could not be written anew, and may hold erased words: gently audit rebuild ({})",
            quiet(why)
        ));
    } else if erased.letters_stay {
        say(
            "first letters of erased words may stand in a search index until it is written anew: gently audit rebuild",
        );
    }
    if erased.unscrubbed.is_some() || erased.unwritten.is_some() {
        WITHHELD
    } else {
        FINE
    }
}

fn show_erased((erased, planned): (&ErasureResult, &ErasurePlan), names: &ErasedNames) -> u8 {
    if erased.exchanges.is_empty() && erased.artifacts.is_empty() {
        say(planned.nothing);
        return FINE;
    }
    let gone = names.exchanges.iter().chain(&names.artifacts);
    let mut lines: Vec<String> = gone.map(|name| format!("erased {}", quiet(name))).collect();
    lines.extend(words_also_in(&names.quoting));
    let elsewhere = match !planned.imported.is_empty() {
        true => {
            "so do the file that it came from, whose next import brings it back, and whoever was sent it"
        }
        false => "so does whoever was sent it",
    };
    say(&format!(
        "an older backup still holds what it held; {elsewhere}"
    ));
    print_words(&format!("{}\n", lines.join("\n")))
}
