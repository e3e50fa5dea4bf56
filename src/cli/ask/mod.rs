//! `gently ask`: the answer on stdout and nothing else there; one line on stderr.

pub(super) mod call_args;
pub(super) mod chat;
mod council;
pub(super) mod receipt;
pub(super) mod sight_args;
pub(super) mod turn;

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::app::ask::attachment::Attachment;
use crate::app::ask::council::CouncilWish;
use crate::app::ask::references::names_open_conversation;
use crate::app::ask::{AskRequest, beyond_without_a_home};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::cli::flags::spelled;
use crate::os::shell_word;
use crate::record::ledger::measures::QuestionDoor;

use super::args::AskArgs;
use super::remember::handoff;
use super::screen::quiet;
use super::set_up::init;
use super::{Notices, could_not, program, say};
use receipt::ReceiptFile;
use turn::{TurnScreen, settled};

/// Standard input past this is no prompt; the kernel's own limit is far below.
pub(super) const MAX_INPUT: u64 = 16 * 1024 * 1024;
/// Standard input that takes longer is worth a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks one question and prints what came of it.
pub async fn run(args: AskArgs, json: bool) -> Result<u8, OpenHomeError> {
    if let Some(why) = file_among_words(&args) {
        return Ok(could_not(&why, json));
    }
    let files = args.files.iter().map(|path| Attachment::read(path));
    let mut files: Vec<Attachment> = match files.collect() {
        Ok(files) => files,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let behind = word_behind_continue(std::env::args_os());
    let behind = behind.filter(|_| args.place.goes_on && args.words.len() > 1);
    let (text, piped) = match question(&args.words, !files.is_empty()) {
        Ok(asked) => asked,
        Err(why) => return Ok(could_not(&why, json)),
    };
    files.splice(..0, piped.map(Attachment::piped));
    let council = args.specialist.council();
    if args.specialist.domain.is_some() && args.specialist.wish().is_none() && council.is_none() {
        let why = "--domain says what a question is of, for --specialist NAME, --council NAMES or --accuracy LEVEL, which \
                   goes beside it: gently ask --accuracy high --domain law \"QUESTION\"";
        return Ok(could_not(why, json));
    }
    let place = args.receipt.as_deref().map(ReceiptFile::reserve);
    let place = match place.transpose() {
        Ok(place) => place,
        Err(why) => return Ok(could_not(&why, json)),
    };
    let request = AskRequest {
        text,
        files,
        specialist: args.specialist.wish(),
        domain: args.specialist.domain,
        attempt: args.retries.filter(|_| council.is_none()).map(|_| 0),
        seat: None,
        model: args.model,
        call: args.call.options(),
        context: args.refs.request(),
        thread: args.place.request(),
        sight: args.sight.wish(),
        client: None,
        door: QuestionDoor::Ask,
    };
    let path = open::home_path()?;
    if !path.exists()
        && let Some(why) = beyond_without_a_home(&request, &path).await
    {
        return Ok(could_not(&spelled(&why), json));
    }
    let told = Notices::default();
    let (home, made) = open::home_or_new()?;
    let touched = home.log_is_touched();
    let opened = OpenHome::open_for_turns(home).inspect_err(|_| open::note_files())?;
    if let Some(why) = taken_for_question(&opened, behind.as_deref())? {
        open::close_and_note(opened);
        return Ok(could_not(&why, json));
    }
    if made {
        init::welcome(&opened.home, &opened.config, &told);
    }
    let door = TurnScreen {
        json,
        verbose: args.verbose,
        made,
        names_place: true,
        told: &told,
    };
    let whom = Asked {
        council,
        retries: args.retries.unwrap_or(0),
    };
    let done = answer(&door, &opened, (&request, &whom), (place, touched)).await;
    open::close_and_note(opened);
    done
}

/// Why nothing is asked where the first or the last of several words names a file: somebody meant `-f`.
fn file_among_words(args: &AskArgs) -> Option<String> {
    let [first, .., last] = args.words.as_slice() else {
        return None;
    };
    let is_file = |word: &&String| word.contains(['.', '/']) && Path::new(word).is_file();
    let ends = [(first, "begins"), (last, "ends")];
    let (word, at) = ends.into_iter().find(|(word, _)| is_file(word))?;
    let goes_on = if args.place.goes_on { " -c" } else { "" };
    let (program, file) = (program(), shell_word(Path::new(word)));
    Some(format!(
        "nothing was asked: {} is a file, and stands where the question {at}. To ask about what is in it: \
         {program} ask{goes_on} -f {file} \"…\"; to ask these words as they are, put all of them in one pair of \
         quotation marks",
        quiet(word)
    ))
}

/// The word that stands right behind `-c`, if one does: clap takes it for the question's first.
fn word_behind_continue(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let mut behind = arguments.skip_while(|argument| argument != "-c" && argument != "--continue");
    let word = behind.nth(1)?.into_string().ok()?;
    (!word.starts_with('-')).then_some(word)
}

/// Why nothing is asked where what stands behind `-c` names a conversation.
fn taken_for_question(
    opened: &OpenHome,
    behind: Option<&str>,
) -> Result<Option<String>, OpenHomeError> {
    let Some(word) = behind else { return Ok(None) };
    if !names_open_conversation(&opened.store, word)? {
        return Ok(None);
    }
    let shown = shell_word(Path::new(word));
    Ok(Some(format!(
        "nothing was asked: -c takes nothing behind it. To go on in \"{word}\": {} ask --conversation {shown} \"…\"",
        program()
    )))
}

/// Whom a question goes to, and how often.
struct Asked {
    /// A council in the place of one.
    council: Option<CouncilWish>,
    /// How often it is asked again where the kernel blocks the answer.
    retries: u8,
}

/// Asks, and does what can wait until the answer is there.
async fn answer(
    door: &TurnScreen<'_>,
    opened: &OpenHome,
    (request, whom): (&AskRequest, &Asked),
    (place, is_touched): (Option<ReceiptFile>, bool),
) -> Result<u8, OpenHomeError> {
    let report = match &whom.council {
        Some(council) => door.council(opened, (request, council), place).await?,
        None => {
            door.ask_until_shown(opened, (request, whom.retries), place)
                .await?
        }
    };
    if let Some(asked) = &report.asked {
        handoff::run_after(opened, asked, door.told).await;
    }
    settled(opened, &report, is_touched, door.told).await?;
    Ok(report.code)
}

/// The question, from arguments or standard input, and what was piped in behind one that was typed:
/// a text like those of files, and no words of the person.
fn question(words: &[String], with_files: bool) -> Result<(String, Option<String>), String> {
    let nothing = || format!("nothing asked: {} ask \"QUESTION\"", program());
    let text = words.join(" ");
    if std::io::stdin().is_terminal() {
        return if words.is_empty() && !with_files {
            Err(nothing())
        } else {
            Ok((text, None))
        };
    }
    let piped = plain_text(piped()?, "standard input")?;
    if words.is_empty() && piped.is_empty() && !with_files {
        return Err(nothing());
    }
    Ok(match (words.is_empty(), piped.is_empty()) {
        (true, _) => (piped, None),
        (false, true) => (text, None),
        (false, false) => (text, Some(piped)),
    })
}

/// What somebody piped in, as the text of a question; `place` is what a refusal names.
pub(super) fn plain_text(bytes: Vec<u8>, place: &str) -> Result<String, String> {
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!(
            "{place} holds more than {MAX_INPUT} bytes; ask about less"
        ));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("{place} is not UTF-8 at byte {at}; convert it first, for example with iconv")
    })?;
    match text.find('\0') {
        Some(at) => Err(format!(
            "{place} has a NUL byte at byte {at}: it is binary, or UTF-16; a prompt is UTF-8 text"
        )),
        None => Ok(text),
    }
}

/// All of standard input; says so when it takes long, since a pipe that nobody closes looks like a
/// hang.
fn piped() -> Result<Vec<u8>, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_end(&mut bytes);
        // Nobody listens only when the program is ending.
        let _ = sender.send(
            read.map(|_| bytes)
                .map_err(|e| format!("reading standard input: {e}")),
        );
    });
    let gone = || "reading standard input: it could not be read".to_owned();
    match receiver.recv_timeout(PATIENCE) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout) => {
            say(
                "waiting for the end of standard input, which is no terminal (with < /dev/null there is none)",
            );
            receiver.recv().map_err(|_| gone())?
        }
        Err(RecvTimeoutError::Disconnected) => Err(gone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_behind_continue_is_the_next_argument() {
        for (typed, expected) in [
            ("gently ask -c Lisbon more", Some("Lisbon")),
            ("gently ask --continue Lisbon more", Some("Lisbon")),
            ("gently ask Lisbon -c", None),
            ("gently ask -c -m parrot", None),
            ("gently ask Lisbon", None),
        ] {
            let arguments = typed.split(' ').map(OsString::from);
            let found = word_behind_continue(arguments);
            assert_eq!(found.as_deref(), expected, "{typed}");
        }
    }
}
