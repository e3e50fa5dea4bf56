//! The model server's key: from a command, the environment, or a private file; never from the
//! configuration.

use zeroize::Zeroizing;

use crate::config::Config;
use crate::keys::{KeyError, read_secret};
use crate::models::wire::Wire;

use crate::app::home::open::{OpenHomeError, env};
use crate::app::home::secrets::{first_line, from_command, offered};

/// The option that gives a key.
const KEY_CMD: &str = "--key-cmd";
/// The setting.
const OWN_KEY_CMD: &str = "[model] key_cmd";

/// A provider's key, and where it is from.
pub struct ProviderKey {
    /// The key; wiped when dropped.
    pub key: Zeroizing<String>,
    /// The environment variable, option or setting that it is from.
    pub place: String,
}

/// A provider's key, from the first of: `--key-cmd`, the environment variable, and for the
/// `openai/` server `[model] key_cmd` and `[model] key_file`; none when none of them is there.
///
/// Command and file of the configuration are one server's: they never go to another. The key is
/// wiped when dropped, and no error shows any of it. A variable that is set to nothing is not set.
pub fn provider_key(
    wire: Wire,
    variable: &str,
    config: &Config,
) -> Result<Option<ProviderKey>, OpenHomeError> {
    let from = |place: &str| {
        let place = place.to_owned();
        move |key| ProviderKey { key, place }
    };
    if wire == Wire::Ollama {
        return Ok(None);
    }
    if let Some(command) = offered().key_cmd {
        let key = from_command(&command, KEY_CMD)?;
        return Ok(Some(from(KEY_CMD)(key)));
    }
    if let Some(key) = environment_key(variable)? {
        return Ok(Some(from(variable)(key)));
    }
    if wire != Wire::OpenAi {
        return Ok(None);
    }
    if let Some(command) = &config.model.key_cmd {
        let key = from_command(command, OWN_KEY_CMD)?;
        return Ok(Some(from(OWN_KEY_CMD)(key)));
    }
    let Some(path) = &config.model.key_file else {
        return Ok(None);
    };
    let bytes = read_secret(path).map_err(|e| match e {
        KeyError::Missing { path } => KeyError::NoSecretFile {
            key: "model.key_file",
            path,
        },
        other => other,
    })?;
    let place = format!("the key file {}", path.display());
    let key = first_line(&bytes).map_err(|reason| KeyError::Command {
        place,
        reason: reason.to_owned(),
    })?;
    Ok(Some(from("[model] key_file")(key)))
}

/// The key in an environment variable.
pub fn environment_key(variable: &str) -> Result<Option<Zeroizing<String>>, OpenHomeError> {
    let Some(text) = env(variable).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.into_string().map_err(|_| KeyError::Command {
        place: format!("${variable}"),
        reason: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(Zeroizing::new(text)))
}
