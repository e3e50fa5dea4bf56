//! `index_changed`: whether anything of this home changed behind gently's back since it last wrote.
//! It only looks.
//!
//! | value | |
//! |---|---|
//! | `log` | whether `audit.log` ends with the line that the database knows, at the length it knows |
//! | `ledger` | whether every ref of `ledger.git` is where the database knows it, and there is no other |
//! | `kernel` | whether the kernel in force opens the commitment that its line carries |
//! | `config`, `keys` | whether `gently.toml` and the files of `keys/` are what they were |
//! | `noted_at` | when those files were last looked at: at the end of the newest turn, or when gently changed them itself |
//!
//! Each is `same` or `changed`. Rows and older lines are not read here: `gently audit verify` does
//! that.

use std::sync::Arc;

use crate::record::ledger::bundle::SightEntry;
use crate::record::time::Seconds;

use super::{Tool, ToolReadings};

/// The tool's name in kernel and bundle.
pub const NAME: &str = "index_changed";

/// What is not looked at.
const NEVER_KNOWN: [&str; 2] = ["database_rows", "older_lines_and_commits"];

/// One part of the home, compared with what the database knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomePart {
    /// As it was.
    Same,
    /// Not as it was, or gone.
    Changed,
    /// It could not be told.
    Unknown,
}

/// Each part of the home, compared with what is on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexComparison {
    /// How `audit.log` stands to the database.
    pub log: HomePart,
    /// How `ledger.git` stands to the database.
    pub ledger: HomePart,
    /// The kernel in force.
    pub kernel: HomePart,
    /// How `gently.toml` stands to what was noted of it.
    pub config: HomePart,
    /// The files of `keys/`.
    pub keys: HomePart,
    /// When the files were noted; none when they never were.
    pub noted_at: Option<Seconds>,
}

/// Compares; an error in words when the database can't be read.
pub type Compare = Arc<dyn Fn() -> Result<IndexComparison, String> + Send + Sync>;

/// The tool `index_changed`: what of the home was changed by others.
#[derive(Clone)]
pub struct IndexChanged {
    /// Compares the home with its database.
    pub compare: Compare,
}

impl Tool for IndexChanged {
    fn name(&self) -> &'static str {
        NAME
    }

    fn observe(&self, now: Seconds) -> SightEntry {
        let mut looked = ToolReadings::default();
        let compared = (self.compare)().ok();
        let mut part = |name: &str, of: fn(&IndexComparison) -> HomePart| match compared
            .as_ref()
            .map_or(HomePart::Unknown, of)
        {
            HomePart::Same => looked.text(name, "same"),
            HomePart::Changed => looked.text(name, "changed"),
            HomePart::Unknown => looked.unknowns.push(name.to_owned()),
        };
        part("log", |c| c.log);
        part("ledger", |c| c.ledger);
        part("kernel", |c| c.kernel);
        part("config", |c| c.config);
        part("keys", |c| c.keys);
        if let Some(noted) = compared.and_then(|compared| compared.noted_at) {
            looked.text("noted_at", &noted.to_string());
        }
        looked.unknowns.extend(NEVER_KNOWN.map(str::to_owned));
        looked.entry(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::bundle::NoSight;

    #[test]
    fn same_changed_or_unknown() {
        let compared = IndexComparison {
            log: HomePart::Same,
            ledger: HomePart::Changed,
            kernel: HomePart::Same,
            config: HomePart::Unknown,
            keys: HomePart::Unknown,
            noted_at: None,
        };
        let entry = IndexChanged {
            compare: Arc::new(move || Ok(compared)),
        }
        .observe(Seconds::ZERO);
        let SightEntry::Seen {
            values, unknowns, ..
        } = entry
        else {
            panic!("{entry:?}")
        };
        assert_eq!(
            (values["log"].to_string(), values["ledger"].to_string()),
            ("same".into(), "changed".into())
        );
        assert_eq!(
            unknowns,
            ["config", "keys", "database_rows", "older_lines_and_commits"]
        );
        let entry = IndexChanged {
            compare: Arc::new(|| Err("locked".into())),
        }
        .observe(Seconds::ZERO);
        assert!(matches!(
            entry,
            SightEntry::Unavailable {
                reason: NoSight::ToolError,
                ..
            }
        ));
    }
}
