//! `gently store`: whether the database is encrypted, encrypting it, and making it plain again.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::home::store_key::{OWN_FILE, command_place, key_file, key_variable};
use crate::app::keep::store_encryption::{
    KeyPlace, StoreConversion, StoreStatus, UnfinishedCopy, decrypt, encrypt, new_key,
};
use crate::home::{Home, LeftCopy};
use crate::keys::STORE_KEY_ENV;
use crate::os::shell_word;
use crate::store::{DatabaseForm, unfinished_file};
use crate::view::keep::store::{NewStoreKeyView, StoreConversionView, StoreStatusView};

use crate::cli::args::StoreCommand;
use crate::cli::screen::signals::clear_up_when_ended;
use crate::cli::screen::terminal::wanted;
use crate::cli::{FINE, NEGATIVE, present, present_as_is, say};

/// Runs one of the verbs.
pub fn run(command: &StoreCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        StoreCommand::Status => status(json),
        StoreCommand::Encrypt { new_key: true } => print_key(json),
        StoreCommand::Encrypt { new_key: false } => convert(json, encrypt),
        StoreCommand::Decrypt => convert(json, decrypt),
    }
}

fn status(json: bool) -> Result<u8, OpenHomeError> {
    let status = StoreStatus::of(&open::existing_home()?)?;
    let code = match status.fault.is_some() || status.has_open_texts() {
        true => NEGATIVE,
        false => FINE,
    };
    let printed = present(json, || StoreStatusView::of(&status), || words(&status));
    Ok(code.max(printed))
}

fn words(status: &StoreStatus) -> String {
    let database = status.database.display();
    let mut lines = vec![match (status.form, status.is_wanted) {
        (DatabaseForm::Plain, false) => {
            format!("{database} is not encrypted: whoever has the disk can read it")
        }
        (DatabaseForm::Plain, true) => {
            format!("{database} is not encrypted, although store.encrypted is true")
        }
        (DatabaseForm::Encrypted, true) => format!("{database} is encrypted"),
        (DatabaseForm::Encrypted, false) => format!(
            "{database} is encrypted, but store.encrypted is false, so that a plain file in its place would not be \
             refused; set it with: gently store encrypt"
        ),
    }];
    match (status.form, status.key) {
        (DatabaseForm::Plain, KeyPlace::Nowhere) => {}
        (DatabaseForm::Plain, place) => {
            lines.push(format!("its key would come from {}", place.words()));
        }
        (DatabaseForm::Encrypted, KeyPlace::Nowhere) => {
            lines.push("its key is nowhere to be had".to_owned());
        }
        (DatabaseForm::Encrypted, place) => {
            lines.push(format!("its key comes from {}", place.words()));
        }
    }
    lines.push(match (&status.fault, status.form) {
        (Some(fault), _) => fault.clone(),
        (None, DatabaseForm::Plain) => "encrypt it with: gently store encrypt".to_owned(),
        (None, DatabaseForm::Encrypted) if !status.is_tried => {
            "not tried: the passphrase would have to be asked for; gently doctor asks, and tries it"
                .to_owned()
        }
        (None, DatabaseForm::Encrypted) => "that key opens it".to_owned(),
    });
    let is_refused = status.form == DatabaseForm::Plain && status.is_wanted;
    let rest = status.rest.as_ref();
    lines.extend(rest.map(|rest| rest_words(rest, is_refused)));
    lines.extend(status.copies.iter().map(LeftCopy::words));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What a conversion left, and what takes it away; where the database is refused as it is, nothing else
/// does.
fn rest_words(rest: &UnfinishedCopy, is_refused: bool) -> String {
    let file = rest.path.display();
    if let Some(kind) = rest.foreign {
        return format!(
            "{file} is {kind}, which no conversion left. Put it away with: mv -n {0} {0}.away",
            shell_word(&rest.path)
        );
    }
    match rest.is_plain {
        true => format!(
            "{file} is not encrypted and has texts in it: a gently store decrypt did not come to its end, unless it runs \
             now. Take it away with: gently store encrypt"
        ),
        false if is_refused => format!(
            "{file} is an encrypted copy: a gently store encrypt did not come to its end, unless it runs now. Give it \
             again: gently store encrypt"
        ),
        false => format!(
            "{file} is an encrypted copy: a gently store encrypt did not come to its end, unless it runs now. Give it \
             again, or leave it: the next command that records something takes the copy away"
        ),
    }
}

fn print_key(json: bool) -> Result<u8, OpenHomeError> {
    let key = new_key()?;
    // The variable is read first.
    let place = match key_variable() {
        Some(_) => format!(
            "into ${STORE_KEY_ENV}, which is set and read before any command (what is encrypted under the key that \
             stands there now needs that one)"
        ),
        None => format!("where {} finds it", command_place()),
    };
    say(&format!(
        "a new key, shown this once and kept nowhere: put it {place}, then give the command gently store encrypt"
    ));
    let view = || NewStoreKeyView {
        key: key.text().to_string(),
    };
    Ok(present_as_is(json, view, || format!("{}\n", *key.text())))
}

fn convert(
    json: bool,
    done: impl FnOnce(&Home) -> Result<StoreConversion, OpenHomeError>,
) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let database = home.paths().database();
    let ended = database.clone();
    clear_up_when_ended(move || {
        match DatabaseForm::of(&ended) {
            Ok(DatabaseForm::Encrypted) => "the database is whole, and encrypted",
            Ok(DatabaseForm::Plain) => "the database is whole, and not encrypted",
            Err(_) => "the database is whole; gently store status tells whether it is encrypted",
        }
        .to_owned()
    })?;
    let bar = GrowthBar::of(database);
    let done = done(&home);
    drop(bar);
    let done = done?;
    let view = || StoreConversionView::of(&done);
    let code = present(json, view, || converted(&done));
    if done.is_changed {
        tell_what_stays(&done);
    }
    Ok(code)
}

fn converted(done: &StoreConversion) -> String {
    let database = done.database.display();
    let tidied = match done.is_tidied {
        true => {
            "what a conversion had left beside it, which did not come to its end, is taken away"
        }
        false => "nothing to do",
    };
    match (done.form, &done.key) {
        (DatabaseForm::Encrypted, Some(key)) => {
            let was_there = match key.is_of_old_file() {
                true => ", the key that was in that file already",
                false => "",
            };
            format!(
                "✔ {database} is encrypted; its key comes from {}{was_there}\n",
                key.from
            )
        }
        (DatabaseForm::Encrypted, None) => format!("{database} is already encrypted: {tidied}\n"),
        (DatabaseForm::Plain, _) if done.is_changed => {
            format!("✔ {database} is not encrypted any more\n")
        }
        (DatabaseForm::Plain, _) => format!("{database} is not encrypted: {tidied}\n"),
    }
}

fn tell_what_stays(done: &StoreConversion) {
    if done.form == DatabaseForm::Plain {
        say(
            "the key stays where it is: backups that were made meanwhile need it, and gently store encrypt takes it again",
        );
        return;
    }
    say(&copy_words(done));
    say(
        "the bytes of the old file may stay on the disk until they are overwritten; backups that were made before hold \
         the texts under their own passphrase",
    );
}

/// What to keep a copy of, by where the key comes from, and that another key lies where it is sought later.
fn copy_words(done: &StoreConversion) -> String {
    let from = done.key.as_ref().map_or(OWN_FILE, |key| key.from.as_str());
    if from == OWN_FILE {
        return format!(
            "without {OWN_FILE} and its passphrase nobody opens the database, you neither: keep a copy of that file in \
             another place, and remember the passphrase"
        );
    }
    let file = key_file(&done.database);
    let beside = match file.exists() {
        true => {
            let read = match key_variable() {
                Some(_) => "its passphrase is asked for wherever that variable is not set",
                None => "it is not read while the command is set",
            };
            format!(
                ". {OWN_FILE} is there, too: {read}. If it holds another key, put it away: mv -n {0} {0}.old",
                shell_word(&file)
            )
        }
        false => String::new(),
    };
    format!(
        "without the 64 digits from {from} nobody opens the database, you neither: keep a copy of them in another \
         place{beside}"
    )
}

/// How large the new file is by now, shown on a terminal beside what the old one has.
struct GrowthBar(Option<(Sender<()>, JoinHandle<()>)>);

impl GrowthBar {
    fn of(database: PathBuf) -> Self {
        let is_wanted = wanted(
            std::io::stderr().is_terminal(),
            std::env::var("TERM").ok().as_deref(),
        );
        let Some(whole) = database.metadata().ok().filter(|_| is_wanted) else {
            return GrowthBar(None);
        };
        let (end, ended) = channel();
        let show = move || {
            let new = unfinished_file(&database);
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(whole.len()), target);
            let form = "converting: {bar:24} {percent} % of {total_bytes}";
            let style = ProgressStyle::with_template(form);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            let pause = Duration::from_millis(100);
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // Nothing is drawn while somebody is asked for a passphrase.
                if let Ok(found) = new.metadata() {
                    bar.set_position(found.len());
                }
            }
            bar.finish_and_clear();
        };
        GrowthBar(Some((end, std::thread::spawn(show))))
    }
}

impl Drop for GrowthBar {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            // A bar that failed is no fault of the conversion.
            let _ = thread.join();
        }
    }
}
