//! `gently thread`: the threads of a home, what was said in one, and beginning another.

use clap::Subcommand;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ask::withheld::{WITHHELD, Withheld};
use crate::govern::sanitize::redact;
use crate::record::context::event::EventKind;
use crate::record::unseen::is_plain_name;
use crate::session::resume_or_open;
use crate::store::{EventRow, Store, StoreError, ThreadRow};

use super::screen::{beginning, counted, quiet};
use super::{Notices, could_not, print, program, say};
use crate::app::find;
use crate::app::model_choice;
use crate::app::model_choice::CallOptions;
use crate::app::open;
use crate::app::open::{OpenHome, OpenHomeError};

/// How much of a text stands in a line.
const EXCERPT: usize = 70;
/// So many threads are listed.
const MOST: u32 = 10_000;
/// Characters of a name.
const MAX_NAME: usize = 60;

/// What `gently thread` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// List threads, newest last
    List,
    /// Begin a thread beside the one that every session has; ask in it with --thread
    New {
        /// What to call it
        name: Option<String>,
        /// For which model's session
        #[arg(long, short, value_name = "ID")]
        model: Option<String>,
    },
    /// Show the events of a thread with their ids, which --ref takes
    Show {
        /// Its name, or the first digits of its id; the newest one when not given
        thread: Option<String>,
    },
}

/// Does it.
pub async fn run(command: ThreadCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ThreadCommand::List => list(json),
        ThreadCommand::New { name, model } => new(name, model.as_deref(), json).await,
        ThreadCommand::Show { thread } => show(thread.as_deref(), json),
    }
}

fn list(json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    store.begin_read()?;
    let mut threads = store.newest_threads(MOST)?;
    threads.reverse();
    let mut lines = Vec::new();
    let mut all = Vec::new();
    for thread in &threads {
        let events = store.next_index(thread.thread)?;
        let turns = store.intents_before(thread.thread, u64::MAX)?;
        let session = store
            .session_of(thread.session)?
            .map(|session| session.id.to_string());
        let name = thread.name.as_deref().unwrap_or(if thread.number == 0 {
            "(session's own)"
        } else {
            ""
        });
        lines.push(format!(
            "{}  {}  {}, {}  {}\n",
            thread.thread,
            thread.created_at,
            counted(turns, "turn"),
            counted(events, "event"),
            quiet(name)
        ));
        all.push(json!({
            "thread": thread.thread, "number": thread.number, "name": thread.name, "session": session,
            "created_at": thread.created_at.to_string(), "turns": turns, "events": events,
        }));
    }
    if json {
        return Ok(print(&format!("{}\n", Value::Array(all))));
    }
    if lines.is_empty() {
        say("no thread yet: a session's own begins with its first question");
    }
    Ok(print(&lines.concat()))
}

async fn new(name: Option<String>, model: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    if let Some(why) = name.as_deref().and_then(unfit) {
        return Ok(could_not(&why, json));
    }
    let opened = OpenHome::open(open::existing_home()?)?;
    let key = opened.authorize().await?;
    let (told, none) = (Notices::default(), CallOptions::default());
    let chosen = model_choice::choose(
        model,
        &none,
        &opened.config,
        &opened.home.paths().database(),
    )
    .await?;
    let say_on = |line: &str| told.say(line);
    let environment = opened.environment(chosen.model.id(), &say_on);
    let session = resume_or_open(&environment, key).await?.session;
    let salt = open::fresh_salt()?;
    let name = name.map(|name| redact(&name).clean);
    let row = opened
        .recorder
        .begin_thread(session.id, name, salt, open::clock()?)
        .await?;
    if json {
        let facts =
            json!({"thread": row.thread, "name": row.name, "session": session.id.to_string()});
        return Ok(print(&format!("{facts}\n")));
    }
    Ok(print(&format!("{}\n", row.thread)))
}

/// Why a name is none.
fn unfit(name: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let fits = !name.trim().is_empty() && name.trim() == name && name.chars().count() <= MAX_NAME;
    let id = name.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if fits && name.chars().all(plain) && is_plain_name(name) && !id {
        return None;
    }
    Some(format!(
        "'{}' is no name of a thread: at most {MAX_NAME} letters, digits, '-', '_', '.' and spaces between, and not \
         hexadecimal digits alone, which are an id's",
        name.escape_debug()
    ))
}

fn show(id: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let store = Store::open_read_only(&open::existing_home()?.paths().database())?;
    store.begin_read()?;
    let thread = match id {
        Some(id) => find::thread(&store, id)?,
        None => match store.newest_threads(1)?.pop() {
            Some(thread) => thread,
            None => return Ok(could_not("there is no thread yet: gently ask", json)),
        },
    };
    let mut events = Vec::new();
    let each = store.each_event(thread.thread, &mut |event| {
        events.push(event);
        Ok(())
    });
    each?;
    let gate = Withheld::of(&store);
    let told = events
        .iter()
        .map(|event| EventView::of(&store, &gate, event))
        .collect::<Result<Vec<_>, _>>()?;
    if json {
        let events: Vec<Value> = told.iter().map(EventView::facts).collect();
        return Ok(print(&format!("{}\n", facts(&thread, events))));
    }
    if told.is_empty() {
        say(&format!(
            "nothing was asked in it yet: {} ask --thread {}",
            program(),
            thread.thread
        ));
    }
    let mut text = format!("thread {}{}\n", thread.thread, named(&thread));
    let mut last: Option<Uuid> = None;
    for event in &told {
        if last != Some(event.row.turn) {
            let parent = event
                .parent
                .map_or("the first".to_owned(), |parent| format!("after {parent}"));
            text.push_str(&format!("\nturn {}  {parent}\n", event.row.turn));
            last = Some(event.row.turn);
        }
        text.push_str(&event.line());
    }
    Ok(print(&text))
}

fn named(thread: &ThreadRow) -> String {
    thread
        .name
        .as_deref()
        .map_or(String::new(), |name| format!("  {}", quiet(name)))
}

fn facts(thread: &ThreadRow, events: Vec<Value>) -> Value {
    json!({
        "thread": thread.thread, "name": thread.name, "number": thread.number,
        "created_at": thread.created_at.to_string(), "events": events,
    })
}

/// One event as it is shown.
struct EventView<'a> {
    row: &'a EventRow,
    parent: Option<Uuid>,
    /// What was said, or what was decided; none once erased, and none when withheld.
    said: Option<String>,
    /// An answer that the kernel blocks: `gently show --withheld` shows it.
    withheld: bool,
}

impl<'a> EventView<'a> {
    fn of(store: &Store, gate: &Withheld<'_>, row: &'a EventRow) -> Result<Self, StoreError> {
        let turn = store.thread_turn(row.turn)?;
        let said = match row.kind {
            EventKind::Decision => {
                let exchange = store.exchange(row.turn)?;
                let reasons = turn
                    .as_ref()
                    .map(|turn| turn.reasons.as_str())
                    .filter(|reasons| *reasons != "[]");
                exchange.map(|exchange| match reasons {
                    Some(reasons) => format!("{} {reasons}", exchange.decision),
                    None => exchange.decision,
                })
            }
            EventKind::Intent | EventKind::Execution => {
                store.turn(row.event)?.and_then(|turn| turn.content)
            }
        };
        let withheld = row.kind == EventKind::Execution && gate.turn(row.event)?;
        let said = said.filter(|_| !withheld);
        Ok(EventView {
            row,
            parent: turn.and_then(|turn| turn.parent),
            said,
            withheld,
        })
    }

    fn line(&self) -> String {
        let gone = if self.withheld {
            format!("({WITHHELD})")
        } else {
            "(erased)".to_owned()
        };
        let said = self
            .said
            .as_deref()
            .map_or(gone, |said| beginning(said, EXCERPT));
        format!(
            "{:6}  {:9}  {}  {said}\n",
            self.row.index,
            self.row.kind.name(),
            self.row.event
        )
    }

    fn facts(&self) -> Value {
        let row = self.row;
        json!({
            "event": row.event, "event_index": row.index, "kind": row.kind, "turn": row.turn,
            "parent_turn_id": self.parent, "event_digest": row.digest.map(|digest| format!("sha256:{digest}")),
            "line": row.line + 1, "created_at": row.created_at.to_string(), "text": self.said,
            "withheld": self.withheld,
        })
    }
}
