//! The model server's key: from a command, the environment, or a private file; never from the
//! configuration.

use zeroize::Zeroizing;

use crate::config::Config;
use crate::keys::{KeyError, read_secret};
use crate::models::wire::Wire;

use crate::app::home::open::{OpenHomeError, env};
use crate::app::home::secrets::{first_line, from_command, offered};

/// A provider's key, from the first of: `--key-cmd`, the environment variable, and for the
/// `openai/` server `[model] key_cmd` and `[model] key_file`; none when none of them is there.
///
/// Command and file of the configuration are one server's: they never go to another. The key is
/// wiped when dropped, and no error shows any of it. A variable that is set to nothing is not set.
pub fn provider_key(
    wire: Wire,
    variable: &str,
    config: &Config,
) -> Result<Option<Zeroizing<String>>, OpenHomeError> {
    if wire == Wire::Ollama {
        return Ok(None);
    }
    if let Some(command) = offered().key_cmd {
        return Ok(Some(from_command(&command, "--key-cmd")?));
    }
    if let Some(key) = environment_key(variable)? {
        return Ok(Some(key));
    }
    if wire != Wire::OpenAi {
        return Ok(None);
    }
    if let Some(command) = &config.model.key_cmd {
        return Ok(Some(from_command(command, "[model] key_cmd")?));
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
    Ok(Some(key))
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
