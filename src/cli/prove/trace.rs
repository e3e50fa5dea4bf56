//! `gently trace`: what a turn was, field by field, for those who may not see its texts: shown,
//! exported, checked, and the key that signs it.
//!
//! Exit codes of `verify`: 0 no answer is *no*, and of each trace one is *yes*; 1 one is *no*; 2 the file
//! holds no trace, could not be read, or has a trace of which nothing could be checked. Of `export`: 1 where no consent covers the texts.

mod value_text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::prove::trace::consent_cover::{NarrowestConsent, NoConsent};
use crate::app::prove::trace::export::{
    ExportForm, ExportRequest, NewExport, TraceExportError, plan, record,
};
use crate::app::prove::trace::key::key;
use crate::app::prove::trace::select::TraceSelection;
use crate::app::prove::trace::show::{ShownTrace, show};
use crate::app::prove::trace::verify::{
    CheckedTrace, TraceCheckRequest, TraceQuestion, TracesOutcome, check,
};
use crate::app::words::and_more;
use crate::cli::flags::spelled;
use crate::home::Home;
use crate::os::{UnnamedFile, shell_word};
use crate::record::ledger::short_name::short_name;
use crate::record::trace::field::{TraceField, TraceStep};
use crate::record::trace::level::{TraceLevel, TraceProfile};
use crate::record::trace::mapping::TraceRequest;
use crate::verify::{CheckAnswer, CheckVerdict};
use crate::view::prove::consent::no_consent_words;
use crate::view::prove::trace::{
    CheckedTraceView, CheckedTracesView, NewExportView, ShownTraceView, TraceKeyView,
    absence_words, step_words,
};

use crate::cli::screen::confirm::{self, ConfirmWords};
use crate::cli::screen::new_file::judge_name;
use crate::cli::screen::{beginning, counted, mark, quiet};
use crate::cli::{
    COULD_NOT, FINE, NEGATIVE, could_not, present, present_as_is, present_or_tell, present_report,
    program, refusal, say,
};

/// So much is shown of how a trace names itself.
const ID_MOST: usize = 80;
/// So many traces of a file are told one by one.
const TOLD: usize = 10;
/// Permissions of an exported file.
const MODE: u32 = 0o600;

/// What `gently trace` is asked to do.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show the trace of a turn, and of each absent field why it is absent
    Show(TraceShowArgs),
    /// Write signed traces to a file; that they were exported goes on record first
    ///
    /// gently sends it to nobody. Exit 1: texts would be shown that no consent covers.
    Export(TraceExportArgs),
    /// Check traces, of gently or of anybody: envelopes, traces, batches
    ///
    /// Each question has its own answer: yes, no, or not checked and why. Exit 1: an answer is no.
    Verify(TraceVerifyArgs),
    /// Print the key that signs traces, and what registers it
    Key,
}

/// Flags of `gently trace show`.
#[derive(Debug, Args)]
pub struct TraceShowArgs {
    /// An exchange as gently show takes it
    #[arg(default_value = "last")]
    exchange: String,
    /// How much: generic, detailed, full_traces
    #[arg(long, value_name = "LEVEL", value_parser = level, default_value = "generic")]
    level: TraceLevel,
    /// Which profile of the form: v1.9.3 (seven components), v1.9.1 (six)
    #[arg(long, value_name = "PROFILE", value_parser = profile, default_value = "v1.9.3")]
    profile: TraceProfile,
    /// Show an answer that the kernel withholds, too
    #[arg(long)]
    withheld: bool,
}

/// What the file of an export holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceFileForm {
    /// An envelope a line: the trace, its ids, times and place signed around it
    Envelope,
    /// A trace a line
    Trace,
    /// A body for the other project's receiver a line
    Batch,
}

/// Flags of `gently trace export`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("of").args(["exchanges", "session", "thread", "since", "all"])))]
pub struct TraceExportArgs {
    /// Exchanges as gently show takes them; or one of the four options below
    #[arg(value_name = "EXCHANGE")]
    exchanges: Vec<String>,
    /// All of a session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// All of a conversation
    #[arg(long, value_name = "ID|TITLE", visible_alias = "conversation")]
    thread: Option<String>,
    /// What was asked since then: 2025-12-31T04:25:37Z, 2025-12-31, or an age like 2h or 3d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Everything that was asked
    #[arg(long)]
    all: bool,
    /// How much: generic, detailed, full_traces (shows texts, and needs a consent)
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: TraceLevel,
    /// Which profile of the form: v1.9.3 (seven components), v1.9.1 (six)
    #[arg(long, value_name = "PROFILE", value_parser = profile, default_value = "v1.9.3")]
    profile: TraceProfile,
    /// What the file holds
    #[arg(
        long = "as",
        value_enum,
        value_name = "FORM",
        default_value = "envelope"
    )]
    form: TraceFileForm,
    /// With --as batch: so many traces in one body
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    batch: u32,
    /// Put the proof of each exchange into its envelope: whoever has the file needs no ledger
    #[arg(long)]
    with_proof: bool,
    /// Show answers that the kernel withholds, too; with full_traces
    #[arg(long)]
    withheld: bool,
    /// The new file
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Don't ask before texts are written: with full_traces somebody at a terminal is asked
    #[arg(long)]
    yes: bool,
}

/// Flags of `gently trace verify`.
#[derive(Debug, Args)]
pub struct TraceVerifyArgs {
    /// What gently trace export wrote, or traces of anybody: one a line, or one in all
    file: PathBuf,
    /// The key that signed the traces: the public_key_base64 that gently trace key prints
    #[arg(long, value_name = "BASE64")]
    key: Option<String>,
    /// A key that the ledger may be signed by: 'ssh-ed25519 AAAA…', or a file of them
    #[arg(long, value_name = "KEY-OR-FILE")]
    signer: Vec<String>,
    /// Every answer of every trace, with its reason
    #[arg(long, short)]
    verbose: bool,
}

fn level(text: &str) -> Result<TraceLevel, String> {
    TraceLevel::named(text).ok_or_else(|| {
        let mut all = TraceLevel::ALL.into_iter().map(TraceLevel::name);
        let meant = all.find(|name| !text.is_empty() && name.starts_with(&text.to_lowercase()));
        let meant = meant.map(|name| format!("; did you mean {name}?"));
        let meant = meant.unwrap_or_default();
        format!("no level '{text}': generic, detailed or full_traces{meant}")
    })
}

fn profile(text: &str) -> Result<TraceProfile, String> {
    TraceProfile::named(text).ok_or_else(|| format!("no profile '{text}': v1.9.3 or v1.9.1"))
}

/// Shows, exports, checks, or prints the key.
pub async fn run(command: TraceCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        TraceCommand::Show(args) => {
            let request = TraceRequest {
                level: args.level,
                profile: args.profile,
                withheld_too: args.withheld,
            };
            let shown = show(&open::existing_home()?, &args.exchange, request)?;
            let exit = present(json, || ShownTraceView::of(&shown), || shown_text(&shown));
            if shown.changed.is_empty() {
                return Ok(exit);
            }
            say(&format!(
                "{} {} is not as it was recorded ({}), and no trace of it is exported: {} audit verify",
                mark("no"),
                shown.short,
                shown.changed.join(", "),
                program()
            ));
            Ok(exit.max(NEGATIVE))
        }
        TraceCommand::Export(args) => match export(&args, json).await {
            Ok(code) => Ok(code),
            Err(TraceExportError::NoConsent(why)) => {
                Ok(refusal(&without_consent(&why), json, NEGATIVE))
            }
            Err(TraceExportError::Refused(why)) => Ok(could_not(&spelled(&why), json)),
            Err(TraceExportError::Failed(error)) => Err(error),
        },
        TraceCommand::Verify(args) => Ok(verify(&args, json)),
        TraceCommand::Key => print_key(json),
    }
}

/// Why texts are not handed on, and the command that gives the consent.
fn without_consent(why: &NoConsent) -> String {
    let words = no_consent_words(why);
    let NoConsent::Uncovered { narrowest, .. } = why else {
        return words;
    };
    let narrowest = match narrowest {
        NarrowestConsent::Exchange(id) => format!("--exchange {id}"),
        NarrowestConsent::Thread(id) => format!("--thread {id} --past"),
        NarrowestConsent::All => "--past".to_owned(),
    };
    format!(
        "{words}. gently consent give --purpose \"…\" {narrowest}, or --level detailed, which shows none"
    )
}

/// The trace by component; of what is absent the reason in words.
fn shown_text(shown: &ShownTrace) -> String {
    let trace = &shown.built.trace;
    let mut text = format!(
        "trace of {}: {} ({}, {})\n    {}\n    asked {}, ended {}\n",
        shown.short,
        shown.request.level,
        shown.request.profile.name(),
        shown.mapping.name(),
        trace.trace_id,
        trace.started_at,
        trace.completed_at
    );
    for step in TraceStep::ALL {
        let places = TraceField::ALL
            .iter()
            .filter(|field| field.row().level <= shown.request.level)
            .map(|field| (field, field.place(shown.request.profile)))
            .filter(|(_, place)| place.step == step);
        let mut lines = String::new();
        for (field, place) in places {
            let path = place.path();
            let name = path.split_once('.').map_or(path.as_str(), |(_, name)| name);
            match field.find(shown.request.profile, trace) {
                Some(value) => match value_text::inline(value) {
                    Some(value) => lines.push_str(&format!("    {name:33} {value}\n")),
                    None => {
                        lines.push_str(&format!("    {name}\n"));
                        value_text::put(&mut lines, value, 8);
                    }
                },
                None => {
                    let absence = shown.built.absent.get(&path);
                    let words = absence.map_or("", |absence| absence_words(*absence));
                    lines.push_str(&format!("    {name:33} absent: {words}\n"));
                }
            }
        }
        if !lines.is_empty() {
            let (event, kind) = (step.event_type(), step.component_type());
            let words = step_words(step);
            text.push_str(&format!("{event} ({kind}): {words}\n{lines}"));
        }
    }
    text
}

fn selection(args: &TraceExportArgs) -> Result<TraceSelection, String> {
    Ok(match (&args.session, &args.thread, &args.since) {
        (Some(id), ..) => TraceSelection::Session(id.clone()),
        (_, Some(id), _) => TraceSelection::Thread(id.clone()),
        (.., Some(time)) => TraceSelection::Since(time.clone()),
        _ if args.all => TraceSelection::All,
        _ if args.exchanges.is_empty() => {
            return Err(format!(
                "say which traces: exchanges such as last or 81bb5b35/16, or --session ID, --thread ID, --since TIME, \
                 --all; as in: {} trace export last --level {} --out {}",
                program(),
                args.level,
                shell_word(&args.out)
            ));
        }
        _ => TraceSelection::Named(args.exchanges.clone()),
    })
}

/// Why a file of this name can't be written.
fn judge_out(args: &TraceExportArgs) -> Result<(), String> {
    match args.out.symlink_metadata() {
        Ok(found) if args.force && found.is_file() => Ok(()),
        Ok(_) if args.force => Err(format!(
            "{} is no regular file, and is not replaced; name another one with --out",
            args.out.display()
        )),
        Ok(_) => Err(format!(
            "{} exists, and is not written over without --force",
            args.out.display()
        )),
        Err(_) => judge_name(&args.out),
    }
}

async fn export(args: &TraceExportArgs, json: bool) -> Result<u8, TraceExportError> {
    judge_out(args).map_err(|why| TraceExportError::Refused(why.into()))?;
    let request = ExportRequest {
        selection: selection(args).map_err(|why| TraceExportError::Refused(why.into()))?,
        trace: TraceRequest {
            level: args.level,
            profile: args.profile,
            withheld_too: args.withheld,
        },
        form: match args.form {
            TraceFileForm::Envelope => ExportForm::Envelope,
            TraceFileForm::Trace => ExportForm::Trace,
            TraceFileForm::Batch => {
                ExportForm::Batch(usize::try_from(args.batch).unwrap_or(usize::MAX))
            }
        },
        with_proof: args.with_proof,
    };
    let opened = open::open_home()?;
    if let Some(why) = opened.own_file(&args.out) {
        return Err(TraceExportError::Refused(why.into()));
    }
    let key = opened.authorize().await?;
    if args.level == TraceLevel::FullTraces {
        confirm_texts(args.yes).map_err(|why| TraceExportError::Refused(why.into()))?;
    }
    let planned = plan(&opened, key, &request).await?;
    let unwritten = |state: &'static str| {
        let place = args.out.display().to_string();
        move |e: std::io::Error| TraceExportError::Refused(format!("{place}: {e}; {state}").into())
    };
    // All of it is on the disk before it is on record, and has its name only then.
    let state = match planned.has_proofs {
        true => "nothing was written; that the exchange documents were opened is on record",
        false => "nothing was written, and nothing is on record of it",
    };
    let file = UnnamedFile::write(&args.out, planned.text.as_bytes(), MODE);
    let file = file.map_err(unwritten(state))?;
    let new = record(&opened, key, planned).await?;
    file.name(args.force).map_err(unwritten(
        "the export is on record, and this file was not written",
    ))?;
    tell_export(&new);
    let outcome = format!("written, and on record as {}", short_name(&new.id));
    Ok(present_or_tell(
        json,
        || NewExportView::of(&new, &args.out),
        || export_text(&new, &args.out),
        &outcome,
    ))
}

/// Asks whoever is at the terminal before questions and answers are handed on. Elsewhere the level that
/// was typed, and the consent on record, are the answer.
fn confirm_texts(yes: bool) -> Result<(), String> {
    if yes || !confirm::can_ask() {
        return Ok(());
    }
    say(
        "The file shows questions and answers word for word to whoever has it. That they were handed on \
         stays on record, and can't be taken back.",
    );
    let words = ConfirmWords {
        does: "write it",
        done: "written, and nothing is on record of it",
    };
    confirm::ask(false, words)
}

/// Says what is not in the file, and what whoever gets it can read.
fn tell_export(new: &NewExport) {
    let planned = &new.planned;
    if planned.waiting > 0 {
        say(&format!(
            "left out: {} that wait for their outcome",
            counted(planned.waiting, "exchange")
        ));
    }
    if planned.unproven > 0 {
        let erased = counted(planned.unproven, "exchange");
        say(&format!(
            "without a proof: {erased}, whose exchange documents are erased"
        ));
    }
    if planned.has_proofs {
        say(
            "with the proof whoever gets this file reads the exchange document, too: model, ids, reasons, measures, and \
             the hash of the auth key, at every level",
        );
    }
    if planned.trace.level == TraceLevel::FullTraces {
        let names: Vec<String> = planned.consents.iter().map(|id| short_name(id)).collect();
        let under = names.join(", ");
        let all = planned.exchanges.len() as u64;
        say(&match planned.worded {
            0 => format!(
                "no word is in the file: the texts are erased, or were not kept (under {under})"
            ),
            worded if worded == all => format!(
                "whoever gets this file reads what was asked, shown and answered (under {under})"
            ),
            worded => format!(
                "whoever gets this file reads what was asked, shown and answered in {worded} of {all}; the texts of the \
                 others are erased, or were not kept (under {under})"
            ),
        });
    }
}

fn export_text(new: &NewExport, out: &Path) -> String {
    let planned = &new.planned;
    format!(
        "{}\n    {}, {} ({}), signed by {}; on record as {}\n    check it with: {} trace verify {}\n",
        out.display(),
        counted(planned.exchanges.len(), "trace"),
        planned.trace.level,
        planned.trace.profile.name(),
        planned.key_id,
        short_name(&new.id),
        program(),
        shell_word(out)
    )
}

/// The home of this machine, if there is one that can be looked at.
fn home() -> Option<Home> {
    let path = open::home_path().ok()?;
    Home::open(&path).ok().flatten()
}

fn verify(args: &TraceVerifyArgs, json: bool) -> u8 {
    let request = TraceCheckRequest {
        file: args.file.clone(),
        key: args.key.clone(),
        signers: args.signer.clone(),
    };
    let checked = match check(&request, home().as_ref()) {
        Ok(checked) => checked,
        Err(why) => return could_not(&spelled(&why), json),
    };
    let outcome = TracesOutcome::of(&checked);
    let exit = match outcome {
        TracesOutcome::Wrong { .. } => NEGATIVE,
        TracesOutcome::Hold => FINE,
        TracesOutcome::Unchecked { .. } => COULD_NOT,
    };
    let view = || CheckedTracesView {
        traces: checked.iter().map(CheckedTraceView::of).collect(),
        exit,
    };
    let printed = present_report(json, view, || {
        let rest = match args.verbose {
            true => checked.iter().map(one_text).collect(),
            false => checked_text(&checked),
        };
        format!(
            "{}{}{rest}",
            headline(outcome, &checked),
            signers_text(&checked)
        )
    });
    if exit == COULD_NOT {
        say("say whose key it is: --key BASE64, as gently trace key prints it");
    }
    exit.max(printed)
}

/// What a check comes to, in one line.
fn headline(outcome: TracesOutcome, checked: &[CheckedTrace]) -> String {
    let all = counted(checked.len(), "trace");
    match outcome {
        TracesOutcome::Wrong { count: 1 } if checked.len() == 1 => {
            format!("{} The trace does not hold\n", mark("no"))
        }
        TracesOutcome::Wrong { count } => {
            format!("{} {count} of {all}: something does not hold\n", mark("no"))
        }
        TracesOutcome::Unchecked { count } => {
            format!(
                "{} Not checked: {count} of {all}, of which nobody knows the key\n",
                mark("open")
            )
        }
        TracesOutcome::Hold => {
            let open: Vec<String> = TraceQuestion::ALL
                .into_iter()
                .filter_map(|question| unchecked(question, checked))
                .collect();
            let rest = match open.is_empty() {
                true => String::new(),
                false => format!("; not checked: {}", open.join(", ")),
            };
            let them = if checked.len() == 1 { "it" } else { "them" };
            format!(
                "{} {all}: nothing in {them} was changed{rest}\n",
                mark("yes")
            )
        }
    }
}

/// A question that was not answered of all traces, and of how many; none where nothing is open.
///
/// A trace without texts needs no consent.
fn unchecked(question: TraceQuestion, checked: &[CheckedTrace]) -> Option<String> {
    let needs = |one: &&CheckedTrace| {
        question != TraceQuestion::Consent || one.level == TraceLevel::FullTraces
    };
    let asked = checked.iter().filter(needs).count();
    let open = checked.iter().filter(needs);
    let open = open.filter(|one| one.answer(question) != CheckAnswer::Yes);
    match open.count() {
        0 => None,
        all if all == asked => Some(said(question)),
        some => Some(format!("{} ({some} of {asked})", said(question))),
    }
}

/// Who bound what, each once.
fn signers_text(checked: &[CheckedTrace]) -> String {
    let mut told = BTreeSet::new();
    for one in checked {
        let bound = one.answers.iter().filter(|(question, verdict)| {
            *question == TraceQuestion::Bound && verdict.answer == CheckAnswer::Yes
        });
        told.extend(bound.map(|(_, verdict)| verdict.reason.as_str()));
    }
    told.into_iter()
        .map(|by| format!("    {}\n", quiet(by)))
        .collect()
}

/// A question as screens call it.
fn said(question: TraceQuestion) -> String {
    question.name().replace('_', " ")
}

/// A few traces in some lines each; of many how often each answer came, and those with a *no*.
fn checked_text(checked: &[CheckedTrace]) -> String {
    if checked.len() <= TOLD {
        return checked.iter().map(short_text).collect();
    }
    let mut text = String::new();
    for question in TraceQuestion::ALL {
        let of = |answer: CheckAnswer| {
            let is = |one: &&CheckedTrace| one.answer(question) == answer;
            checked.iter().filter(is).count()
        };
        let (yes, no) = (of(CheckAnswer::Yes), of(CheckAnswer::No));
        let sign = match (yes, no) {
            (_, 1..) => "no",
            (yes, 0) if yes == checked.len() => "yes",
            _ => "not checked",
        };
        let open = checked.len() - yes - no;
        let counts = [(yes, "yes"), (no, "no"), (open, "not checked")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        text.push_str(&format!(
            "{} {:12} {}\n",
            mark(sign),
            said(question),
            counts.join(", ")
        ));
    }
    let wrong = checked.iter().filter(|one| one.has(CheckAnswer::No));
    let told: String = wrong.clone().take(TOLD).map(short_text).collect();
    text.push_str(&told);
    if let Some(more) = and_more(wrong.count().saturating_sub(TOLD)) {
        text.push_str(&format!("… {more} with a no: --json has all of them\n"));
    }
    text
}

/// Its name: how screens call its exchange, where this home has that.
fn title(one: &CheckedTrace) -> String {
    let form = match one.in_envelope {
        true => "in its envelope",
        false => "by itself",
    };
    let id = beginning(&quiet(&one.trace_id), ID_MOST);
    match &one.exchange {
        Some(short) => format!("{short} ({}, {form}): {id}\n", one.level),
        None => format!("{id} ({}, {form})\n", one.level),
    }
}

/// One trace: what holds in one line, and each other answer with its reason.
fn short_text(one: &CheckedTrace) -> String {
    let held: Vec<String> = one
        .answers
        .iter()
        .filter(|(_, verdict)| verdict.answer == CheckAnswer::Yes)
        .map(|(question, _)| said(*question))
        .collect();
    let mut text = title(one);
    if !held.is_empty() {
        text.push_str(&format!("{} {}\n", mark("yes"), held.join(", ")));
    }
    let others = one.answers.iter();
    let others = others.filter(|(_, verdict)| verdict.answer != CheckAnswer::Yes);
    text.extend(others.map(|(question, verdict)| answer_text(*question, verdict)));
    text
}

/// One trace, an answer a line.
fn one_text(one: &CheckedTrace) -> String {
    let answers = one.answers.iter();
    let answers = answers.map(|(question, verdict)| answer_text(*question, verdict));
    title(one) + &answers.collect::<String>()
}

fn answer_text(question: TraceQuestion, verdict: &CheckVerdict) -> String {
    let word = verdict.answer.word();
    let reason = quiet(&verdict.reason);
    let rest = match reason.is_empty() {
        true => String::new(),
        false => format!(": {reason}"),
    };
    format!("{} {:12} {word}{rest}\n", mark(word), said(question))
}

fn print_key(json: bool) -> Result<u8, OpenHomeError> {
    let key = key(&open::existing_home()?)?;
    if !json {
        say(&match &key.file {
            Some(file) => format!("from {file} (trace.key_file)"),
            None => "the key that signs the ledger".to_owned(),
        });
    }
    let view = || TraceKeyView::of(&key);
    let text = || {
        let body = serde_json::to_string_pretty(&key.registration);
        let body = body.expect("four texts are JSON");
        format!(
            "{}\n{}\n{body}\n",
            key.registration.key_id, key.registration.public_key_base64
        )
    };
    Ok(present_as_is(json, view, text))
}
