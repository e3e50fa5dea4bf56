//! `gently audit rebuild`: a lost log or ledger from the database, or why not.
//!
//! Exit codes: 0 nothing to do, or restored and sound; 1 the sources contradict each other,
//! something is lost (`--dry-run`), or what is there now does not hold; 2 could not, which includes
//! that the database is lost.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config::Config;
use crate::ledger::read::{RefTarget, Repository};
use crate::log::read::{LogPiece, LogReader};
use crate::record::ledger::commit::MAIN;
use crate::recorder::{
    Contradiction, MissingParts, Paths, Rebuilt, Recorder, RecorderError, is_marked,
    look_for_losses, rebuild, unwatched,
};
use crate::verify::Report;

use super::super::args::RebuildArgs;
use super::super::backup::{answers, check, holds, report_lines};
use super::super::screen::counted;
use super::super::{FINE, NEGATIVE, could_not, print, say};
use crate::app::history::first_parents;
use crate::app::open;
use crate::app::open::OpenHomeError;

/// `gently audit rebuild`.
pub fn run(args: &RebuildArgs, json: bool) -> Result<u8, OpenHomeError> {
    let root = open::home_path()?;
    let paths = Paths { root };
    if [paths.database(), paths.ledger(), paths.log()]
        .iter()
        .all(|part| !part.exists())
    {
        return Err(OpenHomeError::NoHome { path: paths.root });
    }
    if !paths.database().is_file() {
        return Ok(could_not(&without_database(&paths), json));
    }
    let done = if args.dry_run {
        would(&paths, json)
    } else {
        does(&paths, json)
    };
    match done {
        Err(OpenHomeError::Recorder(RecorderError::Differ(difference))) => {
            Ok(refused(&difference, json))
        }
        // Nothing was asked that could be withheld: it could not be done, that is all.
        Err(OpenHomeError::Recorder(error)) => Ok(could_not(&error.to_string(), json)),
        other => other,
    }
}

fn would(paths: &Paths, json: bool) -> Result<u8, OpenHomeError> {
    let lost = look_for_losses(paths)?;
    let code = if lost.is_nothing() { FINE } else { NEGATIVE };
    if json {
        let facts = json!({ "dry_run": true, "lost": facts(&lost), "set_aside": names(&lost.aside), "exit": code });
        print(&format!("{facts}\n"));
        return Ok(code);
    }
    let mut lines = words(&lost, "would restore", "would set aside");
    if lost.is_nothing() {
        lines.push("nothing to do: audit.log and ledger.git are what gently.db says".to_owned());
    }
    Ok(code.max(print(&joined(&lines))))
}

fn does(paths: &Paths, json: bool) -> Result<u8, OpenHomeError> {
    let rebuilt = rebuild(paths, open::clock()?)?;
    if is_marked(paths) {
        say(
            "this home was restored from a backup, and its files are as that has them again; it writes nothing \
             before gently audit adopt says whether there is newer history",
        );
    } else if let Err(why) = sign(paths) {
        say(&format!(
            "the newest line is signed by nobody before something is recorded here: {why}"
        ));
    }
    let report = check(paths, &paths.ledger(), Some(&paths.log()), true)?;
    let code = if holds(&report) { FINE } else { NEGATIVE };
    if json {
        let facts = json!({
            "dry_run": false, "restored": facts(&rebuilt.lost), "set_aside": names(&rebuilt.lost.aside),
            "recover_line": rebuilt.recover, "lines": rebuilt.lines, "commits": rebuilt.commits,
            "head": rebuilt.head.to_string(), "answers": answers(&report), "exit": code,
        });
        print(&format!("{facts}\n"));
    } else {
        print(&joined(&told(&rebuilt, &report)));
    }
    if rebuilt.lost.repository {
        say(NOTES);
    }
    Ok(code)
}

/// Has a writer start once: it signs the lines that no tree head covers yet.
fn sign(paths: &Paths) -> Result<(), OpenHomeError> {
    let home = open::existing_home()?;
    let signer = open::signer(&home, &Config::load(home.root(), &open::env)?)?;
    drop(Recorder::open(
        paths.clone(),
        signer,
        open::clock()?,
        unwatched(),
    )?);
    Ok(())
}

/// What the database can't bring back.
const NOTES: &str = "not in the database: notes (refs/notes/ots, refs/notes/witness) and hooks of ledger.git. Fetch notes \
                     from where they were published: git -C LEDGER fetch REMOTE 'refs/notes/*:refs/notes/*'; hooks: \
                     gently hook install LEDGER";

fn told(rebuilt: &Rebuilt, report: &Report) -> Vec<String> {
    let Rebuilt {
        lost,
        recover,
        lines: count,
        commits,
        head,
    } = rebuilt;
    let mut lines = words(lost, "restored", "set aside");
    if lost.is_nothing() {
        lines.push(format!(
            "nothing to do: audit.log has all {count} lines and ledger.git all {commits} commits that gently.db has"
        ));
    }
    if let Some(number) = recover {
        lines.push(format!(
            "on record: recover, applied:{} (log line {number})",
            lost.count()
        ));
    }
    lines.push(format!(
        "{count} lines, {commits} commits, head {}…; checked:",
        head.short16()
    ));
    lines.extend(report_lines(report));
    lines
}

fn words(lost: &MissingParts, restored: &str, aside: &str) -> Vec<String> {
    let mut lines: Vec<String> = lost
        .aside
        .iter()
        .map(|path| format!("{aside}: {}", path.display()))
        .collect();
    if lost.repository {
        lines.push(format!("{restored}: ledger.git, made anew"));
    }
    if lost.head {
        lines.push(format!("{restored}: HEAD of ledger.git"));
    }
    if lost.commits > 0 {
        lines.push(format!(
            "{restored}: objects of {} of ledger.git",
            counted(lost.commits, "commit")
        ));
    }
    if !lost.refs.is_empty() {
        lines.push(format!(
            "{restored}: {} of ledger.git",
            lost.refs.join(", ")
        ));
    }
    if lost.checkpoint {
        lines.push(format!("{restored}: audit.checkpoint"));
    }
    if let Some((from, to)) = lost.lines {
        let torn = if lost.torn_bytes == 0 {
            String::new()
        } else {
            format!(
                ", {} bytes of an unfinished line written anew",
                lost.torn_bytes
            )
        };
        lines.push(format!(
            "{restored}: lines {from} to {to} of audit.log{torn}"
        ));
    }
    lines
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn facts(lost: &MissingParts) -> Value {
    json!({
        "lines": lost.lines.map(|(from, to)| json!({ "from": from, "to": to })), "torn_bytes": lost.torn_bytes,
        "checkpoint": lost.checkpoint, "made_anew": lost.repository, "head": lost.head, "commits": lost.commits, "refs": lost.refs,
    })
}

fn refused(difference: &Contradiction, json: bool) -> u8 {
    if json {
        let Contradiction {
            place,
            database,
            holder,
            found,
            next,
        } = difference;
        let facts = json!({
            "error": difference.to_string(), "exit": NEGATIVE,
            "difference": { "place": place, "database": database, "in": holder, "found": found, "next": next },
        });
        print(&format!("{facts}\n"));
    }
    say(&format!("refused: {difference}"));
    NEGATIVE
}

/// Why nothing can be rebuilt without the database, and what there is.
fn without_database(paths: &Paths) -> String {
    let (root, ledger, log) = (paths.root.display(), paths.ledger(), paths.log());
    let of_ledger = in_ledger(&ledger).map_or_else(
        |why| format!("ledger.git can't be read ({why})"),
        |(commits, lines)| {
            format!("main in ledger.git has {commits} commits, with lines 1 to {lines} of the log")
        },
    );
    let of_log = in_log(&log).map_or_else(
        |why| format!("audit.log can't be read ({why})"),
        |lines| format!("audit.log has {lines} lines"),
    );
    let if_log = |words: String| if log.is_file() { words } else { String::new() };
    let with_log = if_log(format!(" --log {root}.lost/audit.log"));
    let own_log = if_log(format!(" --log {}", log.display()));
    format!(
        "gently.db is missing, and can't be rebuilt: texts, salts and the state of sessions were in it alone. {of_ledger}; \
         {of_log}. What is there can be verified for ever: `gently audit verify --repo {}{own_log}`. To go on, a backup \
         is needed: `mv {root} {root}.lost`, `gently restore FILE`, then \
         `gently audit adopt --from {root}.lost/ledger.git{with_log}` takes over what is newer than the backup, without \
         its texts. With no backup: keep this home as it is, and go on in a new one, GENTLY_HOME=DIR gently init",
        ledger.display()
    )
}

/// Commits on `main`, and lines in its segments.
fn in_ledger(path: &Path) -> Result<(usize, usize), String> {
    let repository = Repository::open(path).map_err(|e| e.to_string())?;
    let refs = repository.refs().map_err(|e| e.to_string())?;
    let main = refs
        .into_iter()
        .find(|found| found.name == MAIN)
        .map(|found| found.target);
    let Some(RefTarget::Direct(main)) = main else {
        return Err("it has no main".to_owned());
    };
    let chain = first_parents(&repository, &main).map_err(|e| e.actual())?;
    let mut lines = 0;
    for (_, commit) in &chain {
        let tree = repository.tree(&commit.tree).map_err(|e| e.actual())?;
        if let Some(entry) = tree.iter().find(|entry| entry.name == "audit.log") {
            let segment = repository.segment(&entry.id).map_err(|e| e.actual())?;
            lines += segment.iter().filter(|byte| **byte == b'\n').count();
        }
    }
    Ok((chain.len(), lines))
}

/// Whole lines of the log.
fn in_log(path: &Path) -> Result<usize, String> {
    let pieces = LogReader::open(path).map_err(|e| e.to_string())?;
    Ok(pieces
        .filter(|piece| matches!(piece, Ok(LogPiece::Line(_))))
        .count())
}
