//! Flags that say whether the observational tools are looked at for a question.

use clap::Args;

use crate::govern::sight_rules::SightWish;

/// Whether the tools are looked at; what is said wins over the kernel's `[sight] when`.
#[derive(Clone, Debug, Default, Args)]
pub struct SightArgs {
    /// Look at this machine with all tools that the kernel allows, and show the model what they see
    #[arg(long, conflicts_with = "no_sight")]
    sight: bool,
    /// Look with none of them: nothing about this machine is shown
    #[arg(long)]
    no_sight: bool,
}

impl SightArgs {
    /// The same as the desk takes it.
    pub fn wish(&self) -> SightWish {
        match (self.sight, self.no_sight) {
            (true, _) => SightWish::All,
            (false, true) => SightWish::Nothing,
            (false, false) => SightWish::Unsaid,
        }
    }
}
