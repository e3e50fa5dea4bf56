//! `gently audit rebuild`: a lost log or ledger from the database, and its own lists and search
//! indexes, or why not.
//!
//! Exit codes: 0 nothing to do, or restored and sound; 1 the sources contradict each other,
//! something is lost (`--dry-run`), or what is there now does not hold; 2 could not, which includes
//! that the database is lost.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::keep::rebuild::{RebuildError, RebuildResult, RebuiltSignature, losses, rebuild};
use crate::app::prove::verify::home::holds;
use crate::app::words::counted_entries;
use crate::recorder::{Contradiction, MissingParts, RebuildOutcome};
use crate::store::{DerivedFaults, UnsignedLines};
use crate::verify::{AuditQuestion, CheckAnswer};
use crate::view::keep::rebuild::{ContradictionView, LossesView, RebuildView};

use crate::cli::args::RebuildArgs;
use crate::cli::prove::audit::answers::report_lines;
use crate::cli::screen::counted;
use crate::cli::screen::view_or_words::view_before_words;
use crate::cli::{FINE, NEGATIVE, present, say};

/// `gently audit rebuild`.
pub fn run(args: &RebuildArgs, json: bool) -> Result<u8, OpenHomeError> {
    let root = open::home_path()?;
    let done = if args.dry_run {
        losses(&root).map(|lost| show_losses(&lost, json))
    } else {
        rebuild(&root, &name_unsigned).map(|result| show(&result, args.verbose, json))
    };
    match done {
        Ok(code) => Ok(code),
        Err(RebuildError::Contradiction(difference)) => Ok(refused(&difference, json)),
        Err(RebuildError::Home(error)) => Err(error),
    }
}

fn show_losses(lost: &MissingParts, json: bool) -> u8 {
    let code = if lost.is_nothing() { FINE } else { NEGATIVE };
    let text = || {
        let mut lines = words(lost, "would restore", "would set aside");
        if lost.is_nothing() {
            let fine = "nothing to do: audit.log and ledger.git are what gently.db says, and so are its own lists and \
                        search indexes";
            lines.push(fine.to_owned());
        }
        joined(&lines)
    };
    code.max(present(json, || LossesView::of(lost, code), text))
}

/// Said before it is signed.
pub(in crate::cli) fn name_unsigned(unsigned: &UnsignedLines) {
    say(&format!(
        "{}: in a database whose tree head was taken away, whoever took it could add them",
        unsigned_words(unsigned, "signed now, and covered by no signature before")
    ));
}

fn unsigned_words(unsigned: &UnsignedLines, signed: &str) -> String {
    let lines = counted(unsigned.count(), "line");
    format!("{signed}: {lines}, {}", unsigned.list())
}

fn show(result: &RebuildResult, verbose: bool, json: bool) -> u8 {
    match &result.signature {
        RebuiltSignature::Signed => {}
        RebuiltSignature::Restored => say(
            "this home was restored from a backup, and its files are as that has them again; it writes nothing \
             before gently audit adopt says whether there is newer history",
        ),
        RebuiltSignature::NoWriter(why) => say(&format!(
            "every line is signed, and nothing can be recorded here before this is mended: {why}"
        )),
        RebuiltSignature::Unsigned(why) => say(&format!(
            "the newest line is signed by nobody before something is recorded here: {why}"
        )),
    }
    let code = if holds(&result.report) && !lacks(result) {
        FINE
    } else {
        NEGATIVE
    };
    let view = || RebuildView::of(result, code);
    present(json, view, || joined(&told(result, verbose)));
    if result.rebuilt.lost.repository {
        say(NOTES);
    }
    code
}

/// What the database can't bring back.
const NOTES: &str = "not in the database: notes (refs/notes/ots, refs/notes/witness) and hooks of ledger.git. Fetch notes \
                     from where they were published: git -C LEDGER fetch REMOTE 'refs/notes/*:refs/notes/*'; hooks: \
                     gently hook install LEDGER";

fn told(result: &RebuildResult, verbose: bool) -> Vec<String> {
    let RebuildOutcome {
        lost,
        recover,
        lines: count,
        commits,
        head,
        is_signed: _,
    } = &result.rebuilt;
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
    if holds(&result.report) && !verbose {
        let holds = match lacks(result) {
            true => "what is there holds together, and something is still to come",
            false => "all of it holds together",
        };
        lines.push(format!("checked, and {holds}; -v says what that rests on"));
        let missing = result.report.findings.iter();
        let missing =
            missing.filter(|one| lacks(result) && one.question == AuditQuestion::Complete);
        lines.extend(missing.map(|one| format!("not complete: {}: {}", one.place, one.actual)));
        return lines;
    }
    lines.push(format!(
        "{count} lines, {commits} commits, head {}…; checked:",
        head.short16()
    ));
    lines.extend(report_lines(&result.report));
    lines
}

/// Whether something is still to come, as a question's answer is. Where nobody could sign yet, that is
/// said by itself.
fn lacks(result: &RebuildResult) -> bool {
    matches!(
        result.signature,
        RebuiltSignature::Signed | RebuiltSignature::NoWriter(_)
    ) && result.report.answers.to(AuditQuestion::Complete).answer == CheckAnswer::No
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
    if lost.adoption_signs {
        lines.extend(lost.unsigned.as_ref().map(|unsigned| {
            unsigned_words(unsigned, "signed by nobody yet, and not by this command")
        }));
        lines.push(
            "no signed tree head, as the backup had none: gently audit adopt has it signed, after it named \
             what nobody signed"
                .to_owned(),
        );
    } else if let (Some(unsigned), true) = (&lost.unsigned, restored != "restored") {
        let signed = "would sign, and nothing has signed it yet";
        lines.push(unsigned_words(unsigned, signed));
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
    if lost.mark {
        lines.push(format!(
            "{restored}: what gently.db notes of how much is in audit.log and ledger.git"
        ));
    }
    lines.extend(derived_words(&lost.derived, restored));
    for fault in &lost.schema {
        lines.push(match fault.is_mendable() {
            true => format!("{restored}: as this build makes it, of gently.db: {fault}"),
            false if fault.cure().is_some() => {
                let cure = fault.cure().unwrap_or_default();
                format!("left as it is, of gently.db: {fault}: {cure}")
            }
            false => format!(
                "left as it is, of gently.db: {fault}. A table of evidence can't be made again: bring the newest backup \
                 back in another place, or take away with sqlite3 what is not gently's"
            ),
        });
    }
    lines
}

/// What is made again of what the database derives from itself.
fn derived_words(faults: &DerivedFaults, restored: &str) -> Vec<String> {
    let counts = [
        (
            faults.items,
            "facts, notes, decisions, intents and corrections",
        ),
        (faults.conversations, "conversations"),
        (faults.projects, "projects"),
        (faults.ratings, "ratings"),
        (faults.councils, "councils"),
        (faults.handoffs, "handoffs"),
        (faults.checks, "sums of checks"),
        (faults.imported, "imported conversations"),
        (faults.erased, "what is erased"),
        (faults.settings, "what is noted of settings"),
    ];
    let rows = counts.iter().filter(|(count, _)| *count > 0);
    let rows = rows.map(|(count, of)| format!("{} of {of}", counted(*count, "row")));
    let entries = (faults.indexed > 0).then(|| counted_entries(faults.indexed));
    rows.chain(entries)
        .map(|what| format!("{restored}: {what} in gently.db, from what is on record there"))
        .collect()
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn refused(difference: &Contradiction, json: bool) -> u8 {
    view_before_words(json, || ContradictionView::of(difference, NEGATIVE));
    say(&format!("refused: {difference}"));
    NEGATIVE
}
