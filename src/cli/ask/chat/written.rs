//! `/edit`: a question that is written in an editor.
//!
//! The file lies in the home, in a folder of its own, both for nobody else to read; the folder goes
//! with all that an editor left in it: when the editor ends, when a signal ends gently, and, if it was
//! killed, when the next gently writes to the home.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::app::home::secrets::program;
use crate::cli::ask::{MAX_INPUT, plain_text};
use crate::home::{ScratchUse, make_scratch};
use crate::os::{Leftover, read_regular};

/// What the file is called: editors know by it what it is.
const NAME: &str = "question.md";

/// The text that somebody wrote in their editor, which began with `begun`; none when it says
/// nothing.
///
/// # Errors
/// A sentence for a person.
pub fn question(root: &Path, begun: &str) -> Result<Option<String>, String> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|command| !command.trim().is_empty());
    let editor = editor.ok_or(
        "neither $VISUAL nor $EDITOR says which editor: export EDITOR=nano, and begin the chat again",
    )?;
    let failed = |e: std::io::Error| format!("no file could be made to write the question in: {e}");
    let (folder, _lock) = make_scratch(root, ScratchUse::Question).map_err(failed)?;
    let folder = Leftover::folder(folder);
    let file = folder.path().join(NAME);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut file| file.write_all(begun.as_bytes()))
        .map_err(failed)?;
    // As git does it: the variable is a command with its options.
    let ended = program("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&file)
        .status();
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("the editor failed ({status}): nothing was asked")),
        Err(e) => return Err(format!("the editor does not run: {e}")),
    }
    let bytes = read_regular(&file, MAX_INPUT)
        .map_err(|e| format!("what was written can't be read: {e}"))?;
    let text = plain_text(bytes, "what was written")?;
    let text = text.trim_end();
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}
