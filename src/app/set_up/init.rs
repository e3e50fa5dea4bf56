//! Making a home.

use std::path::Path;

use crate::app::sentence::RequestField;
use crate::home::{Home, InitOptions};
use crate::keys::os_random;
use crate::record::ledger::documents::Genesis;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::redacted::no_secret;

/// A home that was made.
pub struct NewHome {
    /// The home that was made.
    pub home: Home,
    /// The first document of its ledger.
    pub genesis: Genesis,
}

/// Makes a home where there is none yet.
pub fn init(root: &Path, options: &InitOptions) -> Result<NewHome, OpenHomeError> {
    if Home::open(root)?.is_some() {
        return Err(OpenHomeError::Refused(format!(
            "there is a home at {} already; another place: GENTLY_HOME=DIR gently init",
            root.display()
        )));
    }
    no_secret(
        RequestField::Origin,
        options.origin.as_deref().unwrap_or_default(),
    )?;
    let home = Home::init(root, options, &mut os_random, open::clock()?)?;
    let genesis = Home::genesis(&*open::store(&home)?)?;
    Ok(NewHome { home, genesis })
}
