//! `gently backup`, `gently restore`, `gently audit adopt`: the way out of a loss.

use std::collections::BTreeSet;

use crate::app::home::open::{self, OpenHomeError, before_commands};
use crate::app::keep::adopt::{self, AdoptCheck};
use crate::app::keep::backup::{RestoreResult, backup, restore};
use crate::home::Home;
use crate::os::shell_word;
use crate::record::ledger::short_name::short_name;
use crate::recorder::{AdoptionResult, LostArtifact};
use crate::verify::{Report, VerifyError};
use crate::view::keep::backup::{AdoptView, BackupView, RestoreView};

use crate::cli::args::{AdoptArgs, BackupArgs, RestoreArgs};
use crate::cli::keep::rebuild::name_unsigned;
use crate::cli::prove::audit::answers::report_lines;
use crate::cli::prove::foreign_ledger_limits::bounded;
use crate::cli::screen::counted;
use crate::cli::screen::signals::clear_up_when_ended;
use crate::cli::screen::view_or_words::view_or_words;
use crate::cli::{FINE, NEGATIVE, say};

/// Of each kind of what is lost so many are named on a screen.
const NAMED: usize = 20;

/// What is said where nothing has its name yet.
const NOTHING_LEFT: &str = "what was half made is removed, and nothing else is changed";

/// `gently backup FILE`.
pub fn make(args: &BackupArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    clear_up_when_ended(|| NOTHING_LEFT.to_owned())?;
    let made = backup(&home, &args.file, args.force)?;
    let view = || BackupView::of(&made, &args.file);
    Ok(view_or_words(json, view, || {
        let (lines, head) = (made.lines, made.head.short16());
        say(&format!(
            "backed up {} as it was at {}: {lines} lines, head {head}…",
            home.root().display(),
            made.made_at
        ));
        say(&format!(
            "{} holds keys and texts, encrypted; without its passphrase nobody can open it, you neither",
            args.file.display()
        ));
        if made.encrypted {
            say(
                "its database is encrypted, and the key of that is not in it: keep a copy of the key in another place",
            );
        }
        FINE
    }))
}

/// `gently restore FILE`.
pub fn bring_back(args: &RestoreArgs, json: bool) -> Result<u8, OpenHomeError> {
    let root = open::home_path()?;
    let database = root.join("gently.db");
    let was_there = database.exists();
    let place = shell_word(&root);
    // It gets its name in one step, and what follows only looks at it.
    clear_up_when_ended(move || match !was_there && database.exists() {
        true => format!(
            "the home is restored to {place}, and was not checked; check it with: GENTLY_HOME={place} gently audit verify"
        ),
        false => NOTHING_LEFT.to_owned(),
    })?;
    let restored = restore(&root, &args.file, args.store_key.as_deref())?;
    let code = if restored.is_sound() { FINE } else { NEGATIVE };
    view_or_words(
        json,
        || RestoreView::of(&restored),
        || say_restored(&restored),
    );
    Ok(code)
}

fn say_restored(restored: &RestoreResult) -> u8 {
    let (back, made) = (&restored.back, &restored.back.manifest);
    say(&format!(
        "restored {} files to {}: the home as it was at {}",
        back.files,
        restored.root.display(),
        made.made_at
    ));
    say(&format!(
        "{} lines, head {}…, database {}",
        made.lines,
        made.head.short16(),
        back.database
    ));
    match (&restored.key_from, restored.has_key_file) {
        (None, _) => {}
        (Some(copy), true) => say(&format!(
            "its database is encrypted: the key of {copy} is in its keys/store.key again, under the same passphrase"
        )),
        (Some(_), false) if restored.has_key_command => say(
            "its database is encrypted, and the backup does not hold the key; its settings name a command for it, below",
        ),
        (Some(_), false) => say(
            "its database is encrypted, and the backup does not hold the key: where the home finds it from now on is \
             yours to say, below",
        ),
    }
    match &restored.report {
        Some(report) => say_report(report),
        None => say(&format!(
            "it could not be checked: {}",
            restored.unchecked.as_deref().unwrap_or_default()
        )),
    }
    if restored.report.is_none() || back.is_damaged() {
        say_damaged(restored);
        return FINE;
    }
    say(
        "whatever was erased after this backup was made is here again, and must be erased once more",
    );
    let home = before_commands(&restored.root);
    if !home.is_empty() {
        say("first, for all that follows:");
        say(&format!("  export {}", home.trim_end()));
    }
    match restored.key_from.as_deref() {
        Some(_) if restored.has_key_file => {}
        Some(_) if restored.has_key_command => say(
            "the key of its database comes from the command of [store] key_cmd from now on. Whether that gives it here, \
             $GENTLY_STORE_KEY not being set, is told by: gently store status",
        ),
        Some(from) => say_key_place(from),
        None => {}
    }
    say(
        "all that was recorded up to then is here; nothing new is recorded until you say whether the ledger was pushed or \
         handed out after this backup, so that no second history begins. If it was, with the place of that copy as URL:",
    );
    say("  git clone --mirror URL LEDGER && gently audit adopt --from LEDGER");
    say("if nothing was:");
    say("  gently audit adopt --nothing-newer");
    FINE
}

/// What to do with a home that came back damaged: the backup was, which is as its owner wrote it.
fn say_damaged(restored: &RestoreResult) {
    let ledger = shell_word(&restored.root.join("ledger.git"));
    let log = shell_word(&restored.root.join("audit.log"));
    say(
        "the home in this backup was damaged when the backup was made. Restore an earlier backup into another place: \
         GENTLY_HOME=DIR gently restore FILE",
    );
    say(&format!(
        "what that one lacks is taken over from this ledger: gently audit adopt --from {ledger} --log {log}"
    ));
}

/// Where the key of the restored home can be from, from now on.
fn say_key_place(from: &str) {
    say(&format!(
        "the key of its database came from {from} this time. So that the home finds it from now on, one of:"
    ));
    say("  a command that prints it: gently config set store.key_cmd 'COMMAND'");
    say("  your copy of store.key, put into its keys/: its passphrase is asked for");
    say("  for services, the key in the variable $GENTLY_STORE_KEY");
}

/// `gently audit adopt`.
pub async fn adopt_newer(args: &AdoptArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    if args.nothing_newer {
        return say_nothing_newer(&home, json).await;
    }
    let source = adopt::source(&home, args.from.as_deref(), args.log.as_deref())?;
    let deadline = bounded(&source.repository, None).map_err(VerifyError::from)?;
    let checked = adopt::check(&home, &source)?;
    drop(deadline);
    let newer = match checked {
        AdoptCheck::Holds(newer) => newer,
        AdoptCheck::Fails(report) => {
            say_report(&report);
            say(
                "nothing was taken over: the ledger does not hold together, or is not signed by this home's key",
            );
            if args.from.is_none() {
                say(
                    "if somebody pushed to ledger.git or changed it: gently audit rebuild names what, and what to do",
                );
            }
            return Ok(NEGATIVE);
        }
    };
    if newer.unsigned > 0 {
        let count = counted(newer.unsigned, "line");
        say(&format!(
            "left out: {count} of the log after line {}, signed by nobody",
            newer.lines.len()
        ));
    }
    Ok(show_taken(&adopt::take_over(&home, &newer)?, json))
}

async fn say_nothing_newer(home: &Home, json: bool) -> Result<u8, OpenHomeError> {
    let unsigned = adopt::nothing_newer(home, &name_unsigned).await?;
    Ok(view_or_words(
        json,
        || AdoptView::nothing_newer(unsigned.as_ref()),
        || {
            say("on record: nothing newer was ever published. This home writes again");
            say(
                "if that is wrong, two histories exist from here on, and whoever has the other one can show it",
            );
            FINE
        },
    ))
}

fn show_taken(taken: &AdoptionResult, json: bool) -> u8 {
    view_or_words(json, || AdoptView::of(taken), || say_taken(taken))
}

fn say_taken(taken: &AdoptionResult) -> u8 {
    say(&format!(
        "took over log lines {} to {}, {}, {}. This home writes again",
        taken.from_line,
        taken.to_line,
        counted(taken.commits, "commit"),
        counted(taken.sessions, "new session")
    ));
    if taken.texts_lost > 0 {
        say(&format!(
            "lost with the database, which alone had them: the texts of {} (a tombstone is on record)",
            counted(taken.texts_lost, "exchange")
        ));
    }
    say_artifacts_lost(&taken.artifacts_lost);
    for key in &taken.keys_lost {
        say(&format!(
            "the auth key {key} was added after the backup and opens nothing here: add it anew"
        ));
    }
    if taken.erasings > 0 {
        say(&format!(
            "{} newer than the backup: which texts they erased stood in the lost database alone, so those that were \
             in the backup are here again",
            counted(taken.erasings, "erasing")
        ));
        say("erase them once more: gently search WORDS finds them, gently erase ID erases");
    }
    if taken.open > 0 {
        say(&format!(
            "still open: {}; end with: gently session close",
            counted(taken.open, "session")
        ));
    }
    FINE
}

/// Names what is lost, kind by kind; what it said nobody knows.
fn say_artifacts_lost(lost: &[LostArtifact]) {
    if lost.is_empty() {
        return;
    }
    say(
        "lost with it, too, and to be added anew if they are wanted (what they said stood in the lost database alone):",
    );
    for (kind, ids) in by_kind(lost) {
        let named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
        let more = match ids.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more, which --json names"),
        };
        say(&format!(
            "  {}: {}{more}",
            kind.replace('_', " "),
            named.join(", ")
        ));
    }
}

/// The short names of what is lost, each once, by kind in the order of the log.
fn by_kind(lost: &[LostArtifact]) -> Vec<(&str, Vec<String>)> {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for LostArtifact { kind, id } in lost {
        if !seen.insert((kind, id)) {
            continue;
        }
        match kinds.iter_mut().find(|(known, _)| known == kind) {
            Some((_, names)) => names.push(short_name(id)),
            None => kinds.push((kind, vec![short_name(id)])),
        }
    }
    kinds
}

fn say_report(report: &Report) {
    report_lines(report).iter().for_each(|line| say(line));
}
