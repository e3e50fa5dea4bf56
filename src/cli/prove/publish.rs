//! `gently audit publish` and `gently audit export`: giving the evidence to others.

use std::path::PathBuf;

use clap::Args;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::publish::{PushSetup, export, prepare_push};

use crate::cli::{COULD_NOT, NEGATIVE, print, say, say_finding};

/// `gently audit publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Where to push: anything git takes for a remote
    pub remote: String,
}

/// `gently audit export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A closed session: the first digits of its id
    pub session: String,
    /// A directory that does not exist yet, or is empty
    pub dir: PathBuf,
}

/// Pushes the ledger.
///
/// 1 when the remote holds a history that ours does not continue (of notes: everything else is
/// pushed); 2 when git can't push.
pub fn push(args: &PublishArgs) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let pushed = prepare_push(home.root(), &args.remote).and_then(push_prepared);
    Ok(pushed.unwrap_or_else(|why| failed(&why)))
}

fn failed(why: &str) -> u8 {
    say(&format!("error: {why}"));
    COULD_NOT
}

fn push_prepared(setup: PushSetup) -> Result<u8, String> {
    for tip in &setup.refused {
        say_finding(&format!(
            "refused: {} is at {} there, which our history does not continue",
            tip.name, tip.id
        ));
    }
    if setup.is_refused() {
        say("nothing was pushed. If this home was restored from a backup: gently audit adopt");
        return Ok(NEGATIVE);
    }
    let refused = setup.refused.clone();
    let pushed = setup.push()?;
    let lines = pushed
        .iter()
        .map(|tip| format!("published {} {}\n", tip.name, tip.id));
    let printed = print(&lines.collect::<String>());
    for tip in &refused {
        let name = &tip.name;
        say(&format!(
            "left out: {name}. Somebody else began it there, or this home lost its own notes. Whoever runs that host looks \
             with `git log {name}`, and takes it away with `git -c core.hooksPath=/dev/null update-ref -d {name}`; then \
             publish again"
        ));
    }
    Ok(if refused.is_empty() {
        printed
    } else {
        printed.max(NEGATIVE)
    })
}

/// Writes the files of one session.
pub fn write_files(args: &ExportArgs) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let done = match export(home.root(), &args.session, &args.dir) {
        Ok(done) => done,
        Err(why) => return Ok(failed(&why)),
    };
    for line in &done.left_out {
        say(&format!("left out: {line}"));
    }
    let lines = done
        .files
        .iter()
        .map(|file| format!("{}\n", file.display()));
    Ok(print(&lines.collect::<String>()))
}
