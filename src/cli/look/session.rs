//! `gently session`: open, close, list; and `gently audit clock-set`.

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::look::session::{self, ListedSession};
use crate::recorder::SessionClose;
use crate::store::SessionRow;
use crate::view::look::session::{
    ClosedSessionView, ListedSessionView, SessionClosePlanView, SessionView,
};
use crate::view::prove::tree_heads::ThirdPartyView;

use crate::cli::args::SessionCommand;
use crate::cli::prove::tree_heads;
use crate::cli::screen::confirm::{self, ConfirmArgs, ConfirmWords};
use crate::cli::screen::view_or_words::view_or_words;
use crate::cli::screen::{self, counted, minute, quiet};
use crate::cli::set_up::init;
use crate::cli::{FINE, Notices, could_not, present, print_words, say};

const WORDS: ConfirmWords = ConfirmWords {
    does: "close it",
    done: "closed",
};

/// Runs one of the verbs.
pub async fn run(command: SessionCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        SessionCommand::Open { model } => open(model, json).await,
        SessionCommand::Close {
            session,
            verbose,
            consent,
        } => close(session, verbose, consent, json).await,
        SessionCommand::List { open } => list(open, json),
        SessionCommand::Summary { session } => super::summary::run(&session, json),
        SessionCommand::Show { session } => super::show::session::run(&session, json),
    }
}

async fn open(model: Option<String>, json: bool) -> Result<u8, OpenHomeError> {
    let (home, made) = open::home_or_new()?;
    let opened = OpenHome::open(home)?;
    let told = Notices::default();
    if made {
        init::welcome(&opened.home, &opened.config, &told);
    }
    let row = session::open(&opened, model.as_deref(), &|line| told.say(line)).await?;
    Ok(present(
        json,
        || SessionView::of(&row),
        || line(&row, &session::short(&opened, &row)) + "\n",
    ))
}

async fn close(
    prefix: Option<String>,
    verbose: bool,
    consent: ConfirmArgs,
    json: bool,
) -> Result<u8, OpenHomeError> {
    let prefix = prefix.as_deref();
    if consent.dry_run {
        let home = open::existing_home()?;
        let planned = session::plan_close(&home.paths(), &open::store(&home)?, prefix)?;
        let view = SessionClosePlanView::plan(&planned);
        return Ok(confirm::dry_run(&view, json));
    }
    let opened = open::open_home()?;
    opened.authorize().await?;
    let planned = session::plan_close(&opened.home.paths(), &opened.store, prefix)?;
    if let Err(why) = consent.ask(&SessionClosePlanView::plan(&planned), WORDS) {
        return Ok(could_not(&why, json));
    }
    let told = Notices::default();
    let mut closed: Vec<SessionClose> = Vec::new();
    // Many lines would hide what else is said.
    let is_listed = !json && (verbose || planned.sessions.len() == 1);
    let outside = session::close(&opened, &planned, &|line| told.say(line), &mut |done| {
        if is_listed {
            let short = session::short(&opened, &done.session);
            print_words(&format!("{}\n", line(&done.session, &short)));
        }
        closed.push(done);
    })
    .await;
    if !json && !is_listed && !closed.is_empty() {
        print_words(&format!("{}\n", how_many(&closed)));
    }
    let outside = outside?;
    tree_heads::say(&outside, &told);
    let view = || ClosedSessionView::of_all(&closed, ThirdPartyView::of(&outside));
    // Words came before: line by line, as sessions closed, or how many they were.
    Ok(view_or_words(json, view, || FINE))
}

/// How many sessions were closed, and what became of their questions.
fn how_many(closed: &[SessionClose]) -> String {
    let rows = closed.iter().map(|done| &done.session);
    let asked: u64 = rows.clone().map(|row| row.prompts).sum();
    let answered: u64 = rows.map(|row| row.interactions).sum();
    format!(
        "{} closed, {answered} of {} answered",
        counted(closed.len(), "session"),
        counted(asked, "question")
    )
}

fn list(only_open: bool, json: bool) -> Result<u8, OpenHomeError> {
    let sessions = session::list(&open::existing_home()?, only_open)?;
    let views = || {
        sessions
            .iter()
            .map(ListedSessionView::of)
            .collect::<Vec<_>>()
    };
    let text = || {
        if sessions.is_empty() {
            say(if only_open {
                "no session is open"
            } else {
                "no sessions"
            });
        }
        rows(&sessions)
    };
    Ok(present(json, views, text))
}

fn line(row: &SessionRow, short: &str) -> String {
    let (state, since) = match row.ended_at {
        Some(at) => ("closed", at),
        None => ("open  ", row.started_at),
    };
    let block = block_name(row);
    format!(
        "{short}  {state}  {since}  {}  {} of {} answered  {}  {block}",
        row.branch, row.interactions, row.prompts, row.model
    )
}

/// `81bb5b35  open    2026-11-24 02:15   3 asked  qwen3:4b  What is …`: what a person looks for stands
/// last, and has the room that is left.
fn rows(sessions: &[ListedSession]) -> String {
    let model = |listed: &ListedSession| {
        let id = &listed.row.model;
        quiet(id.split_once('/').map_or(id.as_str(), |(_, name)| name))
    };
    let asked = |listed: &ListedSession| listed.row.prompts.to_string();
    let widest = |of: &dyn Fn(&ListedSession) -> String| {
        let widths = sessions.iter().map(|one| of(one).chars().count());
        widths.max().unwrap_or_default()
    };
    let (ids, counts) = (widest(&|one| one.short.clone()), widest(&asked));
    let models = widest(&model);
    let line = |listed: &ListedSession| {
        let row = &listed.row;
        let state = row.ended_at.map_or("open", |_| "closed");
        let head = format!(
            "{:ids$}  {state:6}  {}  {:>counts$} asked  {:models$}",
            listed.short,
            minute(row.started_at),
            asked(listed),
            model(listed),
        );
        screen::row(&head, listed.first_question.as_deref().unwrap_or_default())
    };
    let lines: String = sessions.iter().map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("{}{lines}", super::zone_line()),
    }
}

/// `block 930226`, or `no block` when there is no anchor.
pub fn block_name(row: &SessionRow) -> String {
    let block = &row.anchor.block;
    match block.is_local() {
        true => "no block".to_owned(),
        false => format!("block {}", block.height),
    }
}

/// `gently audit clock-set`.
pub async fn clock_set() -> Result<u8, OpenHomeError> {
    let opened = open::open_home()?;
    let now = session::clock_set(&opened).await?;
    say(&format!("the log goes on at {now}"));
    Ok(FINE)
}
