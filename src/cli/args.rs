//! What can be typed.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::app::ask::SpecialistWish;
use crate::app::ask::council::CouncilWish;

use crate::record::bitcoin::block::Network;
use crate::record::ledger::commitment::Scheme;
use crate::record::ledger::council::AccuracyLevel;

use super::ask::call_args::CallArgs;
use super::ask::chat::ChatArgs;
use super::ask::sight_args::SightArgs;
use super::help::HelpArgs;
use super::help::completions::CompletionArgs;
use super::help::man::ManArgs;
use super::keep::import::ImportCommand;
use super::look::assertion::AssertionCommand;
use super::look::conversation::ConversationCommand;
use super::look::council::CouncilCommand;
use super::look::drift::DriftCommand;
use super::look::search::SearchArgs;
use super::look::stats::StatsArgs;
use super::look::thread::ThreadCommand;
use super::prove::anchor_sync::SyncArgs;
use super::prove::audit::AuditCommand;
use super::prove::audit::check::CheckArgs;
use super::prove::audit::open::OpenArgs;
use super::prove::audit::replay::ReplayArgs;
use super::prove::consent::ConsentCommand;
use super::prove::publish::{ExportArgs, PublishArgs};
use super::prove::share::ShareArgs;
use super::prove::trace::TraceCommand;
use super::prove::witness::WitnessCommand;
use super::remember::conflict::ConflictCommand;
use super::remember::context::{ContextCommand, PlaceArgs, RefArgs};
use super::remember::correction::CorrectionCommand;
use super::remember::handoff::HandoffCommand;
use super::remember::items::{DecisionCommand, FactCommand, IntentCommand, NoteCommand};
use super::remember::project::ProjectCommand;
use super::remember::rate::RateArgs;
use super::screen::confirm::ConfirmArgs;
use super::set_up::config::ConfigCommand;
use super::set_up::hook::HookCommand;
use super::set_up::model::ModelCommand;
use super::set_up::specialist::{DomainCommand, SpecialistCommand};

/// Governed exchanges with AI models, with evidence that outsiders verify
#[derive(Debug, Parser)]
#[command(
    name = "gently",
    version,
    disable_help_subcommand = true,
    after_help = "The home is $GENTLY_HOME, else ~/.local/share/gently (or the platform's own).\n\
                  Exit codes: 0 fine · 1 the verdict is no · 2 could not do it · 3 not recorded."
)]
pub struct Cli {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Colour what is said of checks; auto: on a terminal, unless $NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Print what is longer than the screen without a pager ($PAGER, else less)
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// A shell command whose first line is the passphrase (wins over $GENTLY_PASSPHRASE)
    #[arg(long, global = true, value_name = "CMD")]
    pub passphrase_cmd: Option<String>,
    /// A shell command whose first line is the model server's key (wins over the environment)
    #[arg(long, global = true, value_name = "CMD")]
    pub key_cmd: Option<String>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask a model; the answer is recorded before it is shown
    Ask(AskArgs),
    /// Talk with a model: each line is a question of one conversation
    Chat(ChatArgs),
    /// Make the home (the first `ask` does it too, with these defaults)
    Init(InitArgs),
    /// Open, close and list sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Check the evidence
    #[command(subcommand)]
    Audit(Audit),
    /// Facts that may be put before a model, once a person ratified them
    #[command(subcommand)]
    Fact(FactCommand),
    /// What is right in the place of what a model said; it fades with time
    #[command(subcommand)]
    Correction(CorrectionCommand),
    /// Notes for the questions to come
    #[command(subcommand)]
    Note(NoteCommand),
    /// What was decided
    #[command(subcommand)]
    Decision(DecisionCommand),
    /// What the work at hand is for
    #[command(subcommand)]
    Intent(IntentCommand),
    /// Conversations, summed up for whoever goes on in them
    #[command(subcommand)]
    Handoff(HandoffCommand),
    /// Say whether an answer was good, for where --accuracy fast chooses
    Rate(RateArgs),
    /// Fields of questions, known by their words
    #[command(subcommand)]
    Domain(DomainCommand),
    /// Specialists: names that are bound to models, and answer in domains
    #[command(subcommand)]
    Specialist(SpecialistCommand),
    /// Councils: what several specialists answered, and which answer was chosen
    #[command(subcommand)]
    Council(CouncilCommand),
    /// What disagrees, and which of it holds
    #[command(subcommand)]
    Conflict(ConflictCommand),
    /// Threads: what was said after what, with the ids that --ref takes
    #[command(subcommand)]
    Thread(ThreadCommand),
    /// Conversations: list, read, name, put away, take along, delete
    #[command(subcommand)]
    Conversation(ConversationCommand),
    /// Projects: conversations that belong together
    #[command(subcommand)]
    Project(ProjectCommand),
    /// What was put before a model, or would be
    #[command(subcommand)]
    Context(ContextCommand),
    /// Show and edit gently.toml
    #[command(subcommand)]
    Config(ConfigCommand),
    /// The keys of this home: who may ask, what signs the record, a passphrase on them
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show, check and set the kernel: what is allowed, what is drift
    ///
    /// It also says what the model is told.
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Write the whole home, keys included, to one encrypted file
    ///
    /// The home may be in use.
    Backup(BackupArgs),
    /// Bring a backup back as a new home
    Restore(RestoreArgs),
    /// Show which models are reachable
    #[command(subcommand)]
    Model(ModelCommand),
    /// What git hooks run, and installing them
    #[command(subcommand)]
    Hook(HookCommand),
    /// Block sources: where the newest Bitcoin block is from
    #[command(subcommand)]
    Anchor(AnchorCommand),
    /// Show the newest lines of audit.log, decoded and checked
    Log(LogArgs),
    /// Show a question, its answer, and whether they are as recorded; or whatever an id is of
    Show(ShowArgs),
    /// Find what was said: questions, answers, facts, notes, decisions
    ///
    /// The newest come first. Words must all occur, in any form, and accents don't count; what else
    /// is typed is taken as it is. Nothing is recorded, no model asked. Exit 1: nothing found.
    Search(SearchArgs),
    /// Numbers: what was asked, what became of it, what it took
    ///
    /// They are counted from the record each time. A day without a question is a gap, and what no
    /// model reported has no number.
    Stats(StatsArgs),
    /// Checks of replies: how they came out, and what they were worth
    #[command(subcommand)]
    Assertion(AssertionCommand),
    /// Hand question and answer on, as a file and a page that prove them
    Share(ShareArgs),
    /// What a turn was, for those who may not see its texts: show, export, verify
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Consent that texts are handed on in traces: give, withdraw, list
    #[command(subcommand)]
    Consent(ConsentCommand),
    /// Check what somebody shared with you: genuine or not, by whom
    ///
    /// It says since when, too. It needs no home, no ledger and no network.
    Check(CheckArgs),
    /// What was wrong with answers: list, look, acknowledge, close, try
    #[command(subcommand)]
    Drift(DriftCommand),
    /// Bring ledger and log to the disk now
    ///
    /// Both may wait a little after an answer: the database has each record before, and restores
    /// them after a power loss. Closing a session does this, too, as do 64 records, a minute, and
    /// any other command that records.
    Sync,
    /// Whether the database is encrypted, encrypting it, and back
    #[command(subcommand)]
    Store(StoreCommand),
    /// Destroy texts and their salts for ever; the commitments stay
    Erase(EraseArgs),
    /// Bring conversations of other programs along, from a file
    #[command(subcommand)]
    Import(ImportCommand),
    /// What somebody asked to have done; gently does none of it
    #[command(subcommand)]
    Action(ActionCommand),
    /// Show what gently sees of this machine and this home, or why not
    Sight {
        /// One tool; all of them when not given. Exit 1 when it shows nothing
        tool: Option<String>,
    },
    /// Take secrets out of standard input
    ///
    /// The text goes to stdout, what was found to stderr.
    Sanitize(SanitizeArgs),
    /// Check this home: what is wrong, and the command that mends it
    Doctor {
        /// One line for each check
        #[arg(long, short)]
        verbose: bool,
        /// Walk along the log in the database instead: each line follows from the one before. Exit 1
        /// where it breaks
        #[arg(long, conflicts_with = "verbose")]
        check_audit: bool,
    },
    /// Witnesses, who remember how long the log was: add, list, ask
    #[command(subcommand)]
    Witness(WitnessCommand),
    /// Print a script by which a shell completes commands and options
    Completions(CompletionArgs),
    /// Write a manual page for every command into a folder
    Man(ManArgs),
    /// Show the help of a command, or a topic
    Help(HelpArgs),
}

/// `gently kernel`.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Print the kernel in force as TOML, to be edited: gently kernel show > kernel.toml
    Show,
    /// Say whether a file is a kernel, and what it would change; exit 1 when it is none
    Check {
        /// A kernel in TOML
        file: PathBuf,
    },
    /// Put a file's kernel in force: closes the open sessions, and records it
    Set {
        /// A kernel in TOML
        file: PathBuf,
    },
}

/// `gently erase`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").args(["id", "older_than", "due"])))]
pub struct EraseArgs {
    /// An exchange, as gently show takes it, or what you put on record or imported, such as note-1 or imported-1
    pub id: Option<String>,
    /// All exchanges begun more than so many days ago, or before a TIME: 2w, 2025-12-31
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<String>,
    /// All exchanges that retention.content_days is over for
    #[arg(long)]
    pub due: bool,
    /// Why; it stays on record, without secrets
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub consent: ConfirmArgs,
}

/// `gently action`.
#[derive(Debug, Subcommand)]
pub enum ActionCommand {
    /// List the intents on record, newest last
    List,
    /// Show one intent
    Show {
        /// Such as action-1
        id: String,
        /// Show it even if it is of an answer that is withheld
        #[arg(long)]
        withheld: bool,
    },
}

/// `gently anchor`.
#[derive(Debug, Subcommand)]
pub enum AnchorCommand {
    /// Ask every source now; exit 0 when a session could be anchored, 1 when not
    Status,
    /// Keep headers of Bitcoin blocks, each checked on the one before: from a file, a node or an
    /// explorer
    Sync(SyncArgs),
}

/// `gently audit`: what looks, and what mends.
#[derive(Debug, Subcommand)]
pub enum Audit {
    #[command(flatten)]
    Look(AuditCommand),
    /// Send tree heads that have no proof to the OpenTimestamps calendars; a hash is all that is
    /// sent
    Stamp,
    /// Ask the calendars for the proofs that they promised
    Upgrade,
    /// Push main, branches and notes to a remote with your own git, never by force
    Publish(PublishArgs),
    /// Open one text of a turn, or an artifact, to somebody who has no ledger: one file with all
    /// that proves it
    Open(OpenArgs),
    /// Write one closed session with all that an outsider needs to check it
    Export(ExportArgs),
    /// Set the clock back on record, when the last line was written with a clock that ran ahead
    ClockSet,
    /// Restore a lost or cut audit.log or ledger.git from the database, and make its own lists and
    /// search indexes again; refuses where they contradict each other
    Rebuild(RebuildArgs),
    /// Compute exchanges again from the record: configuration, references, contexts, decisions,
    /// prompts
    Replay(ReplayArgs),
    /// After a restore: take over what was published after the backup, or say that nothing was
    Adopt(AdoptArgs),
}

/// `gently ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question; standard input is added to it, or is all of it
    pub words: Vec<String>,
    /// Which model answers: ollama/NAME, anthropic/NAME, openai/NAME, observer, replay, or an alias
    #[arg(long, short, value_name = "ID")]
    pub model: Option<String>,
    #[command(flatten)]
    pub specialist: SpecialistWishArgs,
    /// A text file, put behind the question under its name, size and SHA-256; again for more. Its
    /// part of the prompt is recorded as the question is. Standard input needs no -f; a file called -
    /// is ./-
    #[arg(long = "file", short, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub call: CallArgs,
    #[command(flatten)]
    pub refs: RefArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub sight: SightArgs,
    /// After the answer say model, branch, chain, earlier turns, tokens and cost, too
    #[arg(long, short)]
    pub verbose: bool,
    /// Keep a signed receipt in a new file: gently audit verify --receipt FILE finds a ledger that
    /// lost the turn
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// How often it is asked again where the kernel blocks the answer: 0 to 3
    #[arg(long, value_name = "N", conflicts_with = "council", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub retries: Option<u8>,
}

/// To which specialist a question goes.
#[derive(Debug, Args)]
pub struct SpecialistWishArgs {
    /// The specialist that it goes to, with its model and its part of the system message
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    pub specialist: Option<String>,
    /// Specialists who answer it at once and review each other, between commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["model", "specialist"])]
    pub council: Option<Vec<String>>,
    /// How sure the answer is to be: fast asks the specialist of whom most is expected, balanced has
    /// the next one review that answer, high asks three who review each other, maximum all
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, conflicts_with_all = ["model", "specialist"])]
    pub accuracy: Option<AccuracyArg>,
    /// The domain that it is of; without it, its words decide
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,
}

/// How sure an answer is to be.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AccuracyArg {
    /// One specialist answers.
    Fast,
    /// One answers, the next reviews that.
    Balanced,
    /// Three answer and review each other.
    High,
    /// All answer and review each other.
    Maximum,
}

impl From<AccuracyArg> for AccuracyLevel {
    fn from(arg: AccuracyArg) -> AccuracyLevel {
        match arg {
            AccuracyArg::Fast => AccuracyLevel::Fast,
            AccuracyArg::Balanced => AccuracyLevel::Balanced,
            AccuracyArg::High => AccuracyLevel::High,
            AccuracyArg::Maximum => AccuracyLevel::Maximum,
        }
    }
}

impl SpecialistWishArgs {
    /// The same as the desk takes it.
    pub fn wish(&self) -> Option<SpecialistWish> {
        let level = self.accuracy.map(AccuracyLevel::from);
        match (&self.specialist, level, &self.council) {
            (Some(name), ..) => Some(SpecialistWish::Named(name.clone())),
            (None, Some(AccuracyLevel::Fast), among) => Some(SpecialistWish::Best(among.clone())),
            _ => None,
        }
    }

    /// The council that is asked, if one is.
    pub fn council(&self) -> Option<CouncilWish> {
        CouncilWish::of(self.council.clone(), self.accuracy.map(AccuracyLevel::from))
    }
}

/// `gently sanitize`.
#[derive(Debug, Args)]
pub struct SanitizeArgs {
    /// One {"id","text"} a line in, one {"id","text","found":[{"kind","start","end"}]} a line out
    #[arg(long, conflicts_with = "json")]
    pub jsonl: bool,
}

/// `gently init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Which chain the ledger's blocks are of: bitcoin, testnet4, signet, regtest
    #[arg(long, value_name = "NAME", default_value = "bitcoin")]
    pub network: Network,
    /// How the ledger commits to text; sha256 lets short texts be guessed
    #[arg(long, value_name = "SCHEME", default_value = "hmac-sha256", value_parser = scheme)]
    pub commitments: Scheme,
    /// The ledger's name, for ever; derived from its first key when not given
    #[arg(long, value_name = "NAME")]
    pub origin: Option<String>,
}

/// `gently session`.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Open a session on the newest block
    Open {
        /// Which model it is for
        #[arg(long, short, value_name = "ID")]
        model: Option<String>,
    },
    /// Close all open sessions against the newest block, or one of them
    Close {
        /// The session, or the first digits of its id; all open ones when not given
        session: Option<String>,
        /// A line for each session, however many are closed
        #[arg(long, short)]
        verbose: bool,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
    /// List sessions, newest last
    List {
        /// Only open ones
        #[arg(long)]
        open: bool,
    },
    /// Facts, theories and decisions of a session, as they are on record; no model is asked
    Summary {
        /// As `session show` takes it
        #[arg(default_value = "last")]
        session: String,
    },
    /// Show one session: what it ran under, its exchanges, blocks and commits
    Show {
        /// `last`, the first digits of its id or UUID, or the id of something in it
        #[arg(default_value = "last")]
        session: String,
    },
}

/// `gently show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Any id: `last`, SESSION/3, fact-1, drift-1, the first digits of what has no number, a
    /// conversation's title
    #[arg(default_value = "last")]
    pub id: String,
    /// Show all that is on record of it: context, what was sent, hashes, commit
    #[arg(long)]
    pub full: bool,
    /// Show an answer that the kernel withholds for its drift
    #[arg(long)]
    pub withheld: bool,
}

/// `gently log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// How many lines, the newest ones; 20, or with --since all
    #[arg(short = 'n', long = "number", value_name = "N")]
    pub number: Option<usize>,
    /// Only lines of this session: `last`, or the first digits of its id
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only lines since then: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h
    /// or 3d
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
}

fn scheme(text: &str) -> Result<Scheme, String> {
    [Scheme::HmacSha256, Scheme::Sha256]
        .into_iter()
        .find(|scheme| scheme.name() == text)
        .ok_or_else(|| format!("unknown scheme '{text}': hmac-sha256 or sha256"))
}

/// `gently key`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make another auth key; it is printed once and kept nowhere
    Add {
        /// What to call it; public in the log
        #[arg(value_parser = super::set_up::key::name)]
        name: String,
    },
    /// List auth keys
    List,
    /// Print the signing keys that others pin, and how they check with them
    Show,
    /// Revoke an auth key, for ever
    Revoke {
        /// Its name
        name: String,
        /// Even if no key is left that opens this home
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
    /// Put a new signing key in force; closes all sessions first
    Rotate {
        /// The public key file of the new key, when an SSH agent signs ([keys] signer = "agent")
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        #[command(flatten)]
        consent: ConfirmArgs,
    },
    /// Put a passphrase on keys/auth.key
    Protect,
    /// Take the passphrase off keys/auth.key
    Unprotect,
}

/// `gently backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file to write; age format, `age -d FILE | tar t` lists it
    pub file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// `gently store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Say whether the database is encrypted, and where its key comes from; exit 1 when it can't be
    /// opened, or a plain copy lies beside it
    Status,
    /// Encrypt the database, its search index and its log of writes
    ///
    /// The key is from the first of $GENTLY_STORE_KEY, [store] key_cmd, and keys/store.key, which is
    /// made here under a passphrase where there is none. --key-cmd is for the key of a model's server.
    Encrypt {
        /// Only print a new key, for what [store] key_cmd asks; nothing is encrypted
        #[arg(long)]
        new_key: bool,
    },
    /// Make an encrypted database a plain one again
    Decrypt,
}

/// `gently restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// What `gently backup` wrote
    pub file: PathBuf,
    /// A copy of keys/store.key, which opens an encrypted database and is put back, too
    #[arg(long, value_name = "COPY")]
    pub store_key: Option<PathBuf>,
}

/// `gently audit rebuild`.
#[derive(Debug, Args)]
pub struct RebuildArgs {
    /// Only say what is lost and would be restored; exit 1 when anything is
    #[arg(long)]
    pub dry_run: bool,
    /// Say, too, what the check of all of it found
    #[arg(long, short)]
    pub verbose: bool,
}

/// `gently audit adopt`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("said").required(true).args(["from", "own", "nothing_newer"])))]
pub struct AdoptArgs {
    /// A newer copy of this home's ledger: what `git clone --mirror URL LEDGER` made
    #[arg(long, value_name = "LEDGER")]
    pub from: Option<PathBuf>,
    /// The log that belongs to it, for what no segment on main holds yet
    #[arg(long, value_name = "FILE", requires = "from")]
    pub log: Option<PathBuf>,
    /// This home's own ledger.git and audit.log, when the database is the older one
    #[arg(long)]
    pub own: bool,
    /// Say, on record, that nothing newer than the backup was ever published
    #[arg(long)]
    pub nothing_newer: bool,
}
