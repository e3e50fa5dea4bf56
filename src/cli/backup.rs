//! `gently backup`, `gently restore`, `gently audit adopt`: the way out of a loss.

use std::path::Path;

use serde_json::{Value, json};

use crate::audit::{DatabaseAudit, WithDatabase};
use crate::backup::{BackupError, BackupOptions, backup, restore};
use crate::config::Config;
use crate::home::Home;
use crate::keys::Signer;
use crate::recorder::{
    AdoptFault, Newer, Paths, RecorderError, TakenOver, is_marked, nothing_newer, taken_over,
};
use crate::store::Store;
use crate::verify::{
    AuditQuestion, Evidence, Finding, OwnerCheck, QuestionAnswer, Report, VerifyError,
    VerifyOptions, verify_as,
};

use super::args::{AdoptArgs, BackupArgs, RestoreArgs};
use super::screen::counted;
use super::stranger::bounded;
use super::{FINE, NEGATIVE, could_not, print, say};
use crate::app::keys::is_known;
use crate::app::open;
use crate::app::open::{OpenHomeError, env};
use crate::app::secrets::{new_passphrase, passphrase, work_factor};
use crate::app::verify::target::own_signers;

/// Findings shown before one is sent to `gently audit verify`.
const SHOWN_FINDINGS: usize = 5;

/// `gently backup FILE`.
pub fn make(args: &BackupArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = Config::load(home.root(), &env)?;
    is_known(&home, &config)?;
    let place = args.file.display().to_string();
    if !args.force && args.file.exists() {
        return Err(BackupError::Exists {
            path: args.file.clone(),
        }
        .into());
    }
    let passphrase = new_passphrase(&config, &place)?;
    let terms = BackupOptions {
        passphrase: &passphrase,
        work: work_factor(),
        force: args.force,
        now: open::clock()?,
    };
    let made = backup(&home, &args.file, &terms)?;
    if json {
        return Ok(print(&format!(
            "{}\n",
            json!({ "file": place, "backup": made })
        )));
    }
    let (lines, head) = (made.lines, made.head.short16());
    say(&format!(
        "backed up {} as it was at {}: {lines} lines, head {head}…",
        home.root().display(),
        made.made_at
    ));
    say(&format!(
        "{place} holds keys and texts, encrypted; without its passphrase nobody can open it, you neither"
    ));
    Ok(FINE)
}

/// `gently restore FILE`.
pub fn bring_back(args: &RestoreArgs, json: bool) -> Result<u8, OpenHomeError> {
    let root = open::home_path()?;
    if Home::open(&root)?.is_some() {
        return Err(BackupError::HomeThere { path: root }.into());
    }
    let config = Config::load(&root, &env)?;
    let place = args.file.display().to_string();
    let passphrase = passphrase(&config, &place)?;
    let back = restore(&args.file, &root, &passphrase, open::clock()?)?;
    let home = open::existing_home()?;
    let paths = home.paths();
    let report = check(&paths, &paths.ledger(), Some(&paths.log()), true)?;
    let sound = back.database == "ok";
    let code = if sound && holds(&report) {
        FINE
    } else {
        NEGATIVE
    };
    if json {
        let facts = json!({
            "home": root.display().to_string(), "backup": back.manifest, "files": back.files,
            "database": back.database, "answers": answers(&report), "next": "gently audit adopt",
        });
        print(&format!("{facts}\n"));
        return Ok(code);
    }
    let made = &back.manifest;
    say(&format!(
        "restored {} files to {}: the home as it was at {}",
        back.files,
        root.display(),
        made.made_at
    ));
    say(&format!(
        "{} lines, head {}…, database {}",
        made.lines,
        made.head.short16(),
        back.database
    ));
    say_report(&report);
    say("nothing is written here before you say what was published after this backup; one of:");
    say(
        "  gently audit adopt --from LEDGER     a newer published ledger (git clone --mirror URL LEDGER)",
    );
    say("  gently audit adopt --nothing-newer   there is none");
    Ok(code)
}

/// `gently audit adopt`.
pub async fn adopt_newer(args: &AdoptArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = Config::load(home.root(), &env)?;
    is_known(&home, &config)?;
    if args.nothing_newer {
        return say_nothing_newer(&home, json).await;
    }
    let paths = home.paths();
    let (repository, log) = match &args.from {
        Some(from) if !from.exists() => {
            let why = format!(
                "no ledger at {}; fetch it first: git clone --mirror {} LEDGER",
                from.display(),
                if args.is_address() {
                    from.display().to_string()
                } else {
                    "URL".to_owned()
                }
            );
            return Ok(could_not(&why, json));
        }
        Some(from) => (from.clone(), args.log.clone()),
        None => (paths.ledger(), Some(paths.log())),
    };
    let deadline = bounded(&repository, None).map_err(VerifyError::from)?;
    let report = check(&paths, &repository, log.as_deref(), false)?;
    if !holds(&report) {
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
    let newer = Newer::read(&repository, log.as_deref())?;
    drop(deadline);
    if newer.unsigned > 0 {
        if args.from.is_none() {
            let (unsigned, signed) = (newer.unsigned, newer.lines.len());
            return Err(RecorderError::from(AdoptFault::Unsigned { unsigned, signed }).into());
        }
        let count = counted(newer.unsigned, "line");
        say(&format!(
            "left out: {count} of the log after line {}, signed by nobody",
            newer.lines.len()
        ));
    }
    let mut salts = || {
        open::fresh_salt().map_err(|e| RecorderError::Unrecordable {
            what: "a salt",
            reason: e.to_string(),
        })
    };
    let taken = taken_over(
        &paths,
        &newer,
        configured_signer(&home)?,
        &mut salts,
        open::clock()?,
    )?;
    Ok(show_taken(&taken, json))
}

fn configured_signer(home: &Home) -> Result<Signer, OpenHomeError> {
    open::signer(home, &Config::load(home.root(), &open::env)?)
}

async fn say_nothing_newer(home: &Home, json: bool) -> Result<u8, OpenHomeError> {
    let paths = home.paths();
    if !is_marked(&paths) {
        return Ok(could_not(
            "this home was not restored from a backup: there is nothing to say",
            json,
        ));
    }
    nothing_newer(
        &paths,
        configured_signer(home)?,
        open::fresh_salt()?,
        open::clock()?,
    )
    .await?;
    if json {
        return Ok(print("{\"adopted\":\"nothing_newer\"}\n"));
    }
    say("on record: nothing newer was ever published. This home writes again");
    say(
        "if that is wrong, two histories exist from here on, and whoever has the other one can show it",
    );
    Ok(FINE)
}

fn show_taken(taken: &TakenOver, json: bool) -> u8 {
    if json {
        let facts = json!({
            "adopted": "taken_over", "from_line": taken.from_line, "to_line": taken.to_line,
            "commits": taken.commits, "sessions": taken.sessions, "texts_lost": taken.texts_lost,
            "keys_lost": taken.keys_lost, "open": taken.open,
        });
        return print(&format!("{facts}\n"));
    }
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
    for key in &taken.keys_lost {
        say(&format!(
            "the auth key {key} was added after the backup and opens nothing here: add it anew"
        ));
    }
    if taken.open > 0 {
        say(&format!(
            "still open: {}; end with: gently session close",
            counted(taken.open, "session")
        ));
    }
    FINE
}

/// The checks of `gently audit verify`, against the key that this home's ledger began with; `whole`
/// also holds the home's database against it.
pub(super) fn check(
    paths: &Paths,
    repository: &Path,
    log: Option<&Path>,
    whole: bool,
) -> Result<Report, OpenHomeError> {
    let store = Store::open_read_only(&paths.database())?;
    let genesis = Home::genesis(&store)?;
    let database = |look: &mut WithDatabase<'_>| -> Result<(), VerifyError> {
        store.begin_read()?;
        look(&store)?;
        Ok(store.end_read()?)
    };
    let audit = DatabaseAudit(&database);
    let checkpoint = log.map(|log| log.with_file_name("audit.checkpoint"));
    // Of a home's own ledger the newest key is known; of one that is to be taken over only the
    // first.
    let signers = if whole {
        own_signers(&paths.root).unwrap_or_default()
    } else {
        Vec::new()
    };
    let evidence = Evidence {
        repository,
        log,
        checkpoint: checkpoint.as_deref(),
        signers: &signers,
    };
    let options = VerifyOptions {
        owner: whole.then_some(&audit as &dyn OwnerCheck),
        ..VerifyOptions::default()
    };
    let mut report = verify_as(&evidence, options)?;
    if report
        .signers
        .first()
        .is_some_and(|first| *first != genesis.signer.to_string())
    {
        report.found(Finding {
            question: AuditQuestion::SignedBy,
            place: "genesis.json".to_owned(),
            expected: format!("the key that this home began with, {}", genesis.signer),
            actual: report.signers.first().cloned().unwrap_or_default(),
            session: None,
        });
    }
    Ok(report)
}

pub(super) fn holds(report: &Report) -> bool {
    let answer = |question| report.answers.to(question).answer;
    answer(AuditQuestion::Consistent) == QuestionAnswer::Yes
        && answer(AuditQuestion::SignedBy) != QuestionAnswer::No
}

fn say_report(report: &Report) {
    report_lines(report).iter().for_each(|line| say(line));
}

/// The answers, and the first findings.
pub(super) fn report_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for question in AuditQuestion::ALL {
        let verdict = report.answers.to(question);
        let name = question.name().replace('_', " ");
        lines.push(format!(
            "  {name:<11} {:<11} {}",
            verdict.answer.word(),
            verdict.reason
        ));
    }
    for finding in report.findings.iter().take(SHOWN_FINDINGS) {
        lines.push(format!(
            "  {}: expected {}, found {}",
            finding.place, finding.expected, finding.actual
        ));
    }
    if report.findings.len() > SHOWN_FINDINGS {
        lines.push(format!(
            "  and {} more: gently audit verify",
            report.findings.len() - SHOWN_FINDINGS
        ));
    }
    lines
}

pub(super) fn answers(report: &Report) -> Value {
    let each = AuditQuestion::ALL.into_iter().map(|question| {
        let verdict = report.answers.to(question);
        (
            question.name().to_owned(),
            json!({ "answer": verdict.answer.word(), "reason": verdict.reason }),
        )
    });
    Value::Object(each.collect())
}
