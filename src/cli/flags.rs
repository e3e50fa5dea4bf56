//! How the terminal spells what a request names: by the flag that takes it.

use crate::app::home::open::OpenHomeError;
use crate::app::sentence::{FieldSentence, RequestField};

/// `--older-than`.
fn flag_of(field: RequestField) -> String {
    match field {
        RequestField::Place => "--in".to_owned(),
        RequestField::Limit => "-n".to_owned(),
        field => format!("--{}", field.name().replace('_', "-")),
    }
}

/// A sentence of the desk with the flags in it.
pub(super) fn spelled(sentence: &FieldSentence) -> String {
    sentence.spelled(flag_of)
}

/// Why a command could not be done, with the flags in it.
pub(super) fn error_words(error: &OpenHomeError) -> String {
    spelled(&error.sentence())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::args::Cli;

    #[test]
    fn every_flag_is_one_of_a_command() {
        let (mut flags, mut commands) = (BTreeSet::new(), vec![Cli::command()]);
        while let Some(command) = commands.pop() {
            for arg in command.get_arguments() {
                flags.extend(
                    arg.get_long_and_visible_aliases()
                        .into_iter()
                        .flatten()
                        .map(|long| format!("--{long}")),
                );
                flags.extend(arg.get_short().map(|short| format!("-{short}")));
            }
            commands.extend(command.get_subcommands().cloned());
        }
        for field in RequestField::ALL {
            let flag = flag_of(field);
            assert!(
                flags.contains(&flag),
                "{field:?} is {flag}, which no command takes"
            );
        }
    }
}
