//! Flags of what a call is made with.

use clap::Args;

use crate::app::ask::model_choice::CallOptions;

/// What a call is made with, as flags; each wins over its key of `[model]`.
#[derive(Clone, Debug, Default, Args)]
pub struct CallArgs {
    /// Your own part of the system message; recorded
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// How freely words are chosen, 0 to 2; recorded
    #[arg(long, value_name = "DECIMAL")]
    pub temperature: Option<String>,
    /// The most tokens of the answer; recorded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub max_tokens: Option<u64>,
    /// Where sampling starts, for servers that take a seed; recorded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=crate::config::table::MAX_SEED))]
    pub seed: Option<u64>,
    /// The answer's shape: `json`, or the file of a JSON Schema; the model is told, the answer is
    /// checked; recorded
    #[arg(long, value_name = "SHAPE")]
    pub expect: Option<String>,
}

impl CallArgs {
    /// The same as the desk takes it.
    pub fn options(&self) -> CallOptions {
        CallOptions {
            shape: None,
            system: self.system.clone(),
            temperature: self.temperature.clone(),
            max_tokens: self.max_tokens,
            seed: self.seed,
            expect: self.expect.clone(),
        }
    }
}
