//! Asking for a passphrase on the terminal.

use zeroize::{Zeroize as _, Zeroizing};

use crate::keys::KeyError;

/// Asks; nothing that is typed is shown. `place` is what it is the passphrase of.
pub fn ask(prompt: &str, place: &str) -> Result<Zeroizing<String>, KeyError> {
    let reason = |reason: String| KeyError::NoPassphrase {
        place: place.to_owned(),
        reason,
    };
    let mut typed = rpassword::prompt_password(super::quiet(prompt)).map_err(|e| {
        reason(format!(
            "no passphrase given: there is no terminal to ask on, {e}"
        ))
    })?;
    if typed.is_empty() {
        typed.zeroize();
        return Err(reason("nothing was typed".to_owned()));
    }
    Ok(Zeroizing::new(typed))
}
