//! `gently context`: what was, or would be, put before a model, why, and what was kept out; and
//! what `ask` declares.

mod left_out;
mod text;

use clap::{Args, Subcommand};

use crate::app::ask::references::{ContextRequest, ThreadRequest};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::not_shown::spent;
use crate::app::remember::context::{
    self, ContextDetails, ContextPreview, PreviewOutcome, PreviewRequest, preview_texts,
};
use crate::ask::TurnResult;
use crate::continuity::compile::ContextBundle;
use crate::view::remember::context::{ContextView, DenialView, PreviewView};

use crate::cli::ask::sight_args::SightArgs;
use crate::cli::screen::view_or_words::view_before_words;
use crate::cli::{NEGATIVE, could_not, present, say};

pub use left_out::{LossesTold, beside_room, lines as left_out, lost_with_files};
use text::ContextText;

/// What `gently context` is asked to do.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Show what was put before the model in an exchange, and what was kept out
    Show {
        /// As gently show takes it
        #[arg(default_value = "last")]
        exchange: String,
        /// Each part of each score, too, and the record's codes
        #[arg(long, short)]
        verbose: bool,
    },
    /// Compile the context of a question; calls no model, records nothing
    Preview(PreviewArgs),
}

/// `gently context preview`.
#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// The question
    #[arg(required = true)]
    words: Vec<String>,
    /// For which model
    #[arg(long, short, value_name = "ID")]
    model: Option<String>,
    #[command(flatten)]
    refs: RefArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    sight: SightArgs,
    /// Each part of each score, too, and the record's codes
    #[arg(long, short)]
    verbose: bool,
}

/// Where a question stands.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Ask in this thread, as gently thread list shows it; else in the conversation that goes on,
    /// whatever model answered before
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// Go on in the conversation that was asked in last
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["thread", "conversation", "anew"])]
    pub goes_on: bool,
    /// Ask in this conversation: the first digits of its id, its title, or last
    #[arg(long, value_name = "ID", conflicts_with_all = ["thread", "anew"])]
    pub conversation: Option<String>,
    /// Reply to this earlier exchange, in its thread: what was said after it is not in between
    #[arg(long, value_name = "EXCHANGE")]
    pub parent: Option<String>,
    /// Begin another conversation, in a session of its own
    #[arg(long = "new", conflicts_with_all = ["thread", "parent"])]
    pub anew: bool,
}

impl PlaceArgs {
    /// The same as the desk takes it.
    pub fn request(&self) -> ThreadRequest {
        ThreadRequest {
            thread: self.thread.clone(),
            conversation: self.conversation.clone(),
            goes_on: self.goes_on,
            parent: self.parent.clone(),
            anew: self.anew,
            is_talk: false,
        }
    }
}

/// What a question declares as its context.
#[derive(Clone, Debug, Default, Args)]
pub struct RefArgs {
    /// What is shown to the model: last:N, the last N questions of the thread with their answers,
    /// an exchange, such as 81bb5b35/16, or one event of it; again for more. Wins over context.refs
    #[arg(long = "ref", value_name = "REF")]
    pub refs: Vec<String>,
    /// Show the model no earlier turns
    #[arg(long, conflicts_with = "refs")]
    pub no_ref: bool,
    /// Search the turns of all sessions, too; what was added is said
    #[arg(long)]
    pub deep: bool,
}

impl RefArgs {
    /// The same as the desk takes it.
    pub fn request(&self) -> ContextRequest {
        ContextRequest {
            refs: self.refs.clone(),
            no_refs: self.no_ref,
            deep: self.deep,
        }
    }
}

/// How many of the earlier turns of its thread a model is shown, in words; none when none was asked
/// for.
pub fn turns_in(turn: &TurnResult) -> Option<String> {
    let (shown, earlier) = (turn.referred.turns_shown(), turn.earlier);
    if turn.referred.declared().is_empty() {
        return None;
    }
    let turns = if earlier.max(shown) == 1 {
        "turn"
    } else {
        "turns"
    };
    Some(match shown < earlier {
        true => format!("showing {shown} of {earlier} earlier {turns}"),
        false => format!("{shown} earlier {turns}"),
    })
}

/// Whether a model is shown fewer of the earlier turns than there is something to go on with.
pub fn is_short_of_turns(turn: &TurnResult) -> bool {
    let shown = turn.referred.turns_shown();
    shown.saturating_add(spent(&turn.referred)) < turn.earlier
}

/// Shows or previews the context of a question.
pub async fn run(command: ContextCommand, json: bool) -> Result<u8, OpenHomeError> {
    match command {
        ContextCommand::Show { exchange, verbose } => show(&exchange, verbose, json),
        ContextCommand::Preview(args) => preview(args, json).await,
    }
}

fn show(id: &str, verbose: bool, json: bool) -> Result<u8, OpenHomeError> {
    let details = context::show(&open::existing_home()?, id)?;
    let view = || ContextView::of(&details);
    Ok(present(json, view, || text(&details, verbose)))
}

/// What was put before the model, under its headings.
pub fn parts(details: &ContextDetails) -> String {
    context_text(details, false).parts()
}

fn context_text(details: &ContextDetails, verbose: bool) -> ContextText<'_> {
    ContextText {
        title: format!("context of {}", details.names.exchange),
        names: &details.names,
        refs: &details.refs,
        texts: &details.texts,
        exclusions: &details.exclusions,
        verbose,
    }
}

fn text(details: &ContextDetails, verbose: bool) -> String {
    if let Some(why) = details.missing() {
        say(why);
    }
    context_text(details, verbose).print()
}

async fn preview(args: PreviewArgs, json: bool) -> Result<u8, OpenHomeError> {
    let request = PreviewRequest {
        text: args.words.join(" "),
        model: args.model.clone(),
        context: args.refs.request(),
        thread: args.place.request(),
        sight: args.sight.wish(),
    };
    let preview = context::preview(&open::existing_home()?, &request).await?;
    let told = || {
        let referred = &preview.referred;
        let lines = left_out(&preview.not_shown, referred.unfit);
        preview
            .handoff
            .iter()
            .chain(&lines)
            .for_each(|line| say(line));
    };
    Ok(match &preview.outcome {
        PreviewOutcome::Denied { codes, why } => {
            view_before_words(json, || DenialView::of(codes, why, NEGATIVE));
            say(why);
            NEGATIVE
        }
        PreviewOutcome::Fault(fault) => {
            told();
            could_not(&fault.to_string(), json)
        }
        PreviewOutcome::Compiled(bundle) => {
            told();
            let view = || PreviewView::of(&preview, bundle);
            present(json, view, || preview_text(&preview, bundle, args.verbose))
        }
    })
}

fn preview_text(preview: &ContextPreview, bundle: &ContextBundle, verbose: bool) -> String {
    if preview.session.is_none() {
        say("no session that fits is open: one would be opened");
    }
    let text = ContextText {
        title: "context of this question; no model was called, nothing is recorded".to_owned(),
        names: &preview.names,
        refs: bundle.refs(),
        texts: &preview_texts(bundle),
        exclusions: bundle.exclusions(),
        verbose,
    };
    text.print()
}
