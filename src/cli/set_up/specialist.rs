//! `gently domain` and `gently specialist`: fields of questions, and who answers in them.

use clap::{Args, Subcommand};

use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::app::remember::correction::DomainName;
use crate::app::set_up::specialist::domain::{self, DomainInput, called};
use crate::app::set_up::specialist::promote::{ChangedBinding, promote, rollback};
use crate::app::set_up::specialist::{
    KnownSpecialist, SpecialistChange, SpecialistInput, add, change, find, list, on_record, retire,
    unlisted,
};
use crate::record::ledger::correction::DecayClass;
use crate::record::ledger::short_name::short_name;
use crate::record::ledger::specialist::Domain;
use crate::view::set_up::specialist::{ChangedBindingView, DomainView, SpecialistView};

use super::specialist_report::{SpecialistReportArgs, report};
use crate::cli::remember::correction::decay;
use crate::cli::screen::quiet;
use crate::cli::{could_not, present, say};

/// Subcommands of `gently domain`.
#[derive(Debug, Subcommand)]
pub enum DomainCommand {
    /// Make a field of questions
    Add {
        /// What to call it, such as law.immigration; it is part of law then
        name: DomainName,
        /// Words by which a question is known to be of it, between commas
        #[arg(long, value_name = "WORDS")]
        words: String,
        /// How fast its corrections fade that don't say it: A not at all, B in ten years, C in three,
        /// D in half a year
        #[arg(long, value_name = "CLASS", value_parser = decay)]
        decay: Option<DecayClass>,
    },
    /// List domains
    List {
        /// Those that are retired, too
        #[arg(long)]
        all: bool,
    },
    /// Give a domain other words, or another decay
    Change {
        /// Its name, or its id as in domain-1
        domain: String,
        /// All of its words from now on, between commas
        #[arg(long, value_name = "WORDS")]
        words: Option<String>,
        /// How fast its corrections fade that don't say it: A, B, C or D
        #[arg(long, value_name = "CLASS", value_parser = decay)]
        decay: Option<DecayClass>,
    },
    /// End a domain: no question is of it any more
    Retire {
        /// Its name, or its id as in domain-1
        domain: String,
    },
}

/// Subcommands of `gently specialist`.
#[derive(Debug, Subcommand)]
pub enum SpecialistCommand {
    /// Make a specialist: a name that is bound to a model
    Add(SpecialistArgs),
    /// List specialists
    List {
        /// Those that are retired, too
        #[arg(long)]
        all: bool,
    },
    /// Show one
    Show {
        /// Its name, or its id as in specialist-1
        specialist: String,
    },
    /// Change all of one but its model
    Change(SpecialistChangeArgs),
    /// End one: it is not asked any more
    Retire {
        /// Its name, or its id as in specialist-1
        specialist: String,
    },
    /// Bind one to another model
    Promote {
        /// Its name, or its id as in specialist-1
        specialist: String,
        /// The model
        #[arg(long, value_name = "MODEL")]
        to: String,
        /// A JSON object to keep with it: results of a trial, notes
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
    },
    /// Undo the newest promotion of one
    Rollback {
        /// Its name, or its id as in specialist-1
        specialist: String,
    },
    /// What came of each, and of models: answers, ratings, drift, times, cost. Exit 1 when there is
    /// nothing
    Report(SpecialistReportArgs),
}

/// `gently specialist add`.
#[derive(Debug, Args)]
pub struct SpecialistArgs {
    /// What to call it, such as swe
    name: DomainName,
    /// The model that it is bound to, such as ollama/llama3.2
    #[arg(long, short, value_name = "MODEL")]
    model: String,
    /// The domains that it answers in, between commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    domains: Vec<String>,
    /// Tokens of its model's window
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(256..=100_000_000))]
    window: Option<u64>,
    /// Its part of the system message
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

/// `gently specialist change`.
#[derive(Debug, Args)]
pub struct SpecialistChangeArgs {
    /// Its name, or its id as in specialist-1
    specialist: String,
    /// What to call it from now on
    #[arg(long, value_name = "NAME")]
    name: Option<DomainName>,
    /// All domains that it answers in from now on, between commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    domains: Option<Vec<String>>,
    /// Tokens of its model's window
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(256..=100_000_000))]
    window: Option<u64>,
    /// Its part of the system message; empty for none
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

/// Carries out `gently domain`.
pub async fn domain(command: DomainCommand, json: bool) -> Result<u8, OpenHomeError> {
    let made = match command {
        DomainCommand::List { all } => return print_domains(all, json),
        DomainCommand::Add {
            name,
            words,
            decay: class,
        } => {
            let input = DomainInput {
                words: Some(words),
                decay: class,
            };
            domain::add(&open::open_home()?, &name, &input).await?
        }
        DomainCommand::Change {
            domain: typed,
            words,
            decay: class,
        } => {
            if words.is_none() && class.is_none() {
                return Ok(could_not(
                    "say what is to be changed: --words, --decay",
                    json,
                ));
            }
            let input = DomainInput {
                words,
                decay: class,
            };
            domain::change(&open::open_home()?, &typed, &input).await?
        }
        DomainCommand::Retire { domain: typed } => {
            domain::retire(&open::open_home()?, &typed).await?
        }
    };
    let text = || domain_line(&made) + "\n";
    Ok(present(json, || DomainView::of(&made), text))
}

fn print_domains(all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let found = domain::list(&open::existing_home()?, all)?;
    let text = || {
        if found.is_empty() {
            say(match all {
                true => "no domain is on record: every question is general",
                false => {
                    "every question is general: no domain is on record, or all are retired (--all lists those)"
                }
            });
        }
        found.iter().map(|one| domain_line(one) + "\n").collect()
    };
    let views = || found.iter().map(DomainView::of).collect::<Vec<_>>();
    Ok(present(json, views, text))
}

fn domain_line(domain: &Domain) -> String {
    let words: Vec<String> = domain.words.iter().map(|word| quiet(word)).collect();
    let mut line = format!(
        "{}  {}  {}",
        short_name(&domain.id),
        quiet(&called(domain)),
        words.join(", ")
    );
    line.extend(domain.decay.map(|class| format!("  (decay {class})")));
    if domain.is_retired {
        line.push_str("  (retired)");
    }
    line
}

/// Carries out `gently specialist`.
pub async fn specialist(command: SpecialistCommand, json: bool) -> Result<u8, OpenHomeError> {
    let made = match command {
        SpecialistCommand::List { all } => return print_list(all, json),
        SpecialistCommand::Show { specialist } => return print_one(&specialist, json),
        SpecialistCommand::Report(args) => return report(&args, json),
        SpecialistCommand::Promote {
            specialist,
            to,
            metadata,
        } => {
            let opened = open::open_home()?;
            let changed = promote(&opened, &specialist, (&to, metadata.as_deref())).await?;
            let printed = print_binding(&changed, json);
            say_unlisted(&opened, &changed.specialist).await;
            return Ok(printed);
        }
        SpecialistCommand::Rollback { specialist } => {
            let changed = rollback(&open::open_home()?, &specialist).await?;
            return Ok(print_binding(&changed, json));
        }
        SpecialistCommand::Add(args) => {
            let input = SpecialistInput {
                name: args.name,
                model: args.model,
                domains: args.domains,
                window: args.window,
                system: args.system,
            };
            let opened = open::open_home()?;
            let made = add(&opened, &input).await?;
            say_unlisted(&opened, &made).await;
            made
        }
        SpecialistCommand::Change(args) => {
            let asked = SpecialistChange {
                name: args.name,
                domains: args.domains,
                window: args.window,
                system: args.system,
            };
            change(&open::open_home()?, &args.specialist, &asked).await?
        }
        SpecialistCommand::Retire { specialist } => {
            retire(&open::open_home()?, &specialist).await?
        }
    };
    let text = || line(&made) + "\n";
    Ok(present(json, || SpecialistView::of(&made), text))
}

/// Says that the server of a specialist's model does not list it, where it lists others.
async fn say_unlisted(opened: &OpenHome, known: &KnownSpecialist) {
    let model = known.of.model.as_deref().unwrap_or_default();
    if let Some(notice) = unlisted(opened, model).await {
        say(&quiet(&notice));
    }
}

fn print_list(all: bool, json: bool) -> Result<u8, OpenHomeError> {
    let found = list(&open::existing_home()?, all)?;
    let text = || {
        if found.is_empty() {
            say(match all {
                true => "no specialist is on record",
                false => {
                    "no specialist answers: gently specialist add NAME --model MODEL makes one; --all lists retired ones, too"
                }
            });
        }
        found.iter().map(|one| line(one) + "\n").collect()
    };
    let views = || found.iter().map(SpecialistView::of).collect::<Vec<_>>();
    Ok(present(json, views, text))
}

/// Prints the specialist of a name or id.
pub fn print_one(typed: &str, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let store = open::store(&home)?;
    let all = on_record(&store)?;
    let found = find(&all, typed).map_err(OpenHomeError::Refused)?;
    let known = KnownSpecialist::of(&store, &all, &found)?;
    let text = || {
        let rated = known.ratings.iter().map(|count| {
            let (good, rated, domain) = (count.good, count.rated, quiet(&count.domain));
            format!("  {good} of {rated} rated answers good in {domain}\n")
        });
        let rated: String = rated.collect();
        let none = "  none of its answers is rated yet\n";
        let rated = if rated.is_empty() { none } else { &rated };
        format!("{}\n{rated}", line(&known))
    };
    Ok(present(json, || SpecialistView::of(&known), text))
}

fn print_binding(changed: &ChangedBinding, json: bool) -> u8 {
    let text = || {
        let was = match changed.from.as_str() {
            "" => String::new(),
            from => format!("  (was {})", quiet(from)),
        };
        format!("{}{was}\n", line(&changed.specialist))
    };
    present(json, || ChangedBindingView::of(changed), text)
}

/// A specialist as people read it.
fn line(known: &KnownSpecialist) -> String {
    let of = &known.of;
    let model = of
        .model
        .as_deref()
        .map_or_else(|| "bound to nothing".to_owned(), quiet);
    let id = short_name(&of.id.to_string());
    let mut line = format!("{id}  {}  {model}", quiet(&known.called()));
    let mut more = Vec::new();
    if !known.domains.is_empty() {
        let domains: Vec<String> = known.domains.iter().map(|name| quiet(name)).collect();
        more.push(format!("domains {}", domains.join(", ")));
    }
    more.extend(of.window.map(|window| format!("window {window} tokens")));
    more.extend(
        of.system
            .as_deref()
            .map(|text| format!("system \"{}\"", quiet(text))),
    );
    if of.is_retired {
        more.push("retired".to_owned());
    }
    if !more.is_empty() {
        line.push_str(&format!("  ({})", more.join("; ")));
    }
    line
}
