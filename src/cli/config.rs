//! `gently config`: shows and edits `gently.toml`.

use std::fmt::Write as _;
use std::path::Path;

use clap::Subcommand;
use serde_json::{Map, Value as Json, json};
use toml_edit::{Item, Table};

use crate::app::settings::{edit, set};
use crate::config::table::{KEYS, Key, Value};
use crate::config::{ConfigError, Environment, FILE, Settings, ValueSource, file_text};

/// What `gently config` is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Print the value of a key, or of all keys and where each is from
    Get {
        /// Section and name, such as anchor.mode
        key: Option<String>,
    },
    /// Change one key in gently.toml; comments and order stay
    Set {
        /// Section and name, such as anchor.mode
        key: String,
        /// A TOML value; a bare word is a string
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Print where gently.toml is
    Path,
}

/// Does it, with the process's environment, and returns what stdout shows.
pub fn run(command: &ConfigCommand, home: &Path, json: bool) -> Result<String, ConfigError> {
    run_in(command, home, json, &|name| std::env::var_os(name))
}

/// Does it in a given environment.
pub fn run_in(
    command: &ConfigCommand,
    home: &Path,
    json: bool,
    environment: Environment<'_>,
) -> Result<String, ConfigError> {
    let path = home.join(FILE);
    match command {
        ConfigCommand::Path if json => Ok(format!(
            "{}\n",
            json!({ "path": path.display().to_string() })
        )),
        ConfigCommand::Path => Ok(format!("{}\n", path.display())),
        ConfigCommand::Get { key: Some(name) } if alias_of(name).is_some() => {
            get_alias(name, &path, json, environment)
        }
        ConfigCommand::Set { key, value } if alias_of(key).is_some() => {
            set_alias(key, value, home, json)
        }
        ConfigCommand::Get { key: Some(name) } => get(
            Key::find(name, "gently config get")?,
            &path,
            json,
            environment,
        ),
        ConfigCommand::Get { key: None } => list(&path, json, environment),
        ConfigCommand::Set { key, value } => {
            let key = Key::find(key, "gently config set")?;
            let value = set(key, value, home)?;
            Ok(confirmed(key, &value, json, environment))
        }
    }
}

/// The alias that `model.alias.NAME` is about.
fn alias_of(key: &str) -> Option<&str> {
    key.strip_prefix("model.alias.")
}

fn get_alias(
    key: &str,
    path: &Path,
    json: bool,
    environment: Environment<'_>,
) -> Result<String, ConfigError> {
    let settings = settings(path, environment)?;
    let id = alias_of(key).and_then(|alias| settings.named().aliases.get(alias));
    if json {
        return Ok(format!("{}\n", json!({ "key": key, "value": id })));
    }
    Ok(id.map_or(String::new(), |id| format!("{id}\n")))
}

/// Names a model; the file is read again as a home would, so that what is no alias or no model is
/// refused.
fn set_alias(key: &str, id: &str, home: &Path, json: bool) -> Result<String, ConfigError> {
    if !home.is_dir() {
        return Err(ConfigError::NoHome {
            path: home.to_owned(),
        });
    }
    let alias = alias_of(key).unwrap_or_default();
    edit(home, &|document| {
        let model = document
            .entry("model")
            .or_insert_with(|| Item::Table(Table::new()));
        let Some(model) = model.as_table_like_mut() else {
            return;
        };
        let table = model
            .entry("alias")
            .or_insert_with(|| Item::Table(Table::new()));
        if let Some(table) = table.as_table_like_mut() {
            table.insert(alias, toml_edit::value(id));
        }
    })?;
    Ok(if json {
        format!("{}\n", json!({ "key": key, "value": id }))
    } else {
        format!("{key} = \"{id}\"\n")
    })
}

fn get(
    key: &Key,
    path: &Path,
    json: bool,
    environment: Environment<'_>,
) -> Result<String, ConfigError> {
    let settings = settings(path, environment)?;
    if json {
        return Ok(format!("{}\n", described(key, &settings)));
    }
    Ok(match settings.get(key.name) {
        // A plain string is printed plain, for scripts.
        Some((Value::Text(text), _)) => format!("{text}\n"),
        Some((value, _)) => format!("{value}\n"),
        None => String::new(),
    })
}

/// What was written; and that it is not in force, if the environment wins over it.
fn confirmed(key: &Key, value: &Value, json: bool, environment: Environment<'_>) -> String {
    let over = environment(&key.variable()).map(|_| key.variable());
    if json {
        return format!(
            "{}\n",
            json!({ "key": key.name, "value": as_json(value), "overridden_by": over })
        );
    }
    let note = over
        .map(|variable| format!("  # not in force: {variable} is set and wins"))
        .unwrap_or_default();
    format!("{} = {value}{note}\n", key.name)
}

fn list(path: &Path, json: bool, environment: Environment<'_>) -> Result<String, ConfigError> {
    let settings = settings(path, environment)?;
    if json {
        let all: Map<_, _> = KEYS
            .iter()
            .map(|key| (key.name.to_owned(), described(key, &settings)))
            .collect();
        return Ok(format!("{}\n", Json::Object(all)));
    }
    let mut out = String::new();
    for key in KEYS {
        let (value, source) = match settings.get(key.name) {
            Some((value, ValueSource::Environment)) => (value.to_string(), key.variable()),
            Some((value, source)) => (value.to_string(), source.name().to_owned()),
            None => ("(unset)".to_owned(), ValueSource::Default.name().to_owned()),
        };
        writeln!(out, "{} = {value}  # {source}; {}", key.name, key.doc)
            .expect("a string takes every byte");
    }
    Ok(out)
}

fn described(key: &Key, settings: &Settings) -> Json {
    let found = settings.get(key.name);
    let default = key.default_value();
    json!({
        "key": key.name,
        "value": found.map(|(value, _)| as_json(value)),
        "default": default.as_ref().map(as_json),
        "source": found.map_or(ValueSource::Default, |(_, source)| source).name(),
        "takes": key.kind.describe(),
    })
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::List(list) => json!(list),
        Value::Number(number) => json!(number),
        Value::Flag(flag) => json!(flag),
    }
}

fn settings(path: &Path, environment: Environment<'_>) -> Result<Settings, ConfigError> {
    Settings::read(
        &file_text(path)?.unwrap_or_default(),
        &path.display().to_string(),
        environment,
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::GENESIS;

    fn set_command(key: &str, value: &str) -> ConfigCommand {
        ConfigCommand::Set {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    fn bare(command: &ConfigCommand, home: &Path, json: bool) -> Result<String, ConfigError> {
        run_in(command, home, json, &|_| None)
    }

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), GENESIS).unwrap();
        home
    }

    fn only_file(home: &Path) {
        assert_eq!(
            fs::read_dir(home).unwrap().count(),
            1,
            "a temporary file was left"
        );
    }

    #[test]
    fn set_changes_one_value_and_nothing_else() {
        for (key, typed, old, new) in [
            ("anchor.mode", "off", "mode = \"auto\"", "mode = \"off\""),
            (
                "anchor.deadline_ms",
                "5000",
                "deadline_ms = 3000",
                "deadline_ms = 5000",
            ),
            (
                "model.default",
                "openai/qwen",
                "default = \"auto\"",
                "default = \"openai/qwen\"",
            ),
            (
                "anchor.esplora",
                "['http://127.0.0.1:3000']",
                "esplora = [\"https://blockstream.info/api\", \"https://mempool.space/api\"]",
                "esplora = [\"http://127.0.0.1:3000\"]",
            ),
        ] {
            let home = home();
            let said = bare(&set_command(key, typed), home.path(), false).unwrap();
            let text = fs::read_to_string(home.path().join(FILE)).unwrap();
            assert_eq!(text, GENESIS.replacen(old, new, 1), "{key}");
            assert_ne!(text, GENESIS, "{key}");
            assert_eq!(
                said,
                format!("{key} = {}\n", new.split_once(" = ").unwrap().1)
            );
            only_file(home.path());
            // A broken environment does not break what writes the file, and is named.
            let said = run_in(&set_command(key, typed), home.path(), false, &|_| {
                Some("\n".into())
            })
            .unwrap();
            assert!(
                said.contains(&format!(
                    "{} is set and wins",
                    Key::find(key, "t").unwrap().variable()
                )),
                "{said}"
            );
        }
    }

    #[test]
    fn set_keeps_comments_and_adds_what_is_missing() {
        let home = home();
        let path = home.path().join(FILE);
        for (before, key, typed, after) in [
            (
                "[anchor]\nmode = 'auto'   # mine\n",
                "anchor.mode",
                "off",
                "[anchor]\nmode = \"off\"   # mine\n",
            ),
            (
                "# top\n\n[anchor] # a\n",
                "anchor.headers",
                "h.csv",
                "# top\n\n[anchor] # a\nheaders = \"h.csv\"\n",
            ),
            (
                "[anchor]\nmode = 'off'\n",
                "session.host_role",
                "brain",
                "[anchor]\nmode = 'off'\n\n[session]\nhost_role = \"brain\"\n",
            ),
            (
                "anchor = { mode = 'off' }\n",
                "anchor.mode",
                "auto",
                "anchor = { mode = \"auto\" }\n",
            ),
            (
                "anchor.mode = 'off'\n",
                "anchor.mode",
                "auto",
                "anchor.mode = \"auto\"\n",
            ),
            (
                "[anchor]\r\nmode = 'off' # mine\r\n",
                "anchor.mode",
                "auto",
                "[anchor]\r\nmode = \"auto\" # mine\r\n",
            ),
        ] {
            fs::write(&path, before).unwrap();
            bare(&set_command(key, typed), home.path(), false).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
        fs::remove_file(&path).unwrap();
        bare(&set_command("anchor.mode", "off"), home.path(), false).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            GENESIS.replacen("mode = \"auto\"", "mode = \"off\"", 1)
        );
    }

    #[test]
    fn a_refused_set_leaves_the_file_as_it_was() {
        for (before, key, typed, said) in [
            (GENESIS, "anchor.mod", "off", "did you mean 'anchor.mode'"),
            (GENESIS, "anchor.mode", "on", "\"auto\" or \"off\""),
            (GENESIS, "anchor.deadline_ms", "soon", "from 100 to 60000"),
            (GENESIS, "anchor.esplora", "[", "a list"),
            (
                "[anchor]\nmod = 1\n",
                "anchor.mode",
                "off",
                "line 2: unknown key 'anchor.mod'",
            ),
            ("[anchor\n", "anchor.mode", "off", "not TOML"),
        ] {
            let home = home();
            fs::write(home.path().join(FILE), before).unwrap();
            let error = bare(&set_command(key, typed), home.path(), false)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
            assert_eq!(fs::read_to_string(home.path().join(FILE)).unwrap(), before);
            only_file(home.path());
        }
        let gone = home().path().join("gone");
        let error = bare(&set_command("anchor.mode", "off"), &gone, false).unwrap_err();
        assert!(matches!(error, ConfigError::NoHome { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn set_keeps_the_mode_and_a_link() {
        use std::os::unix::fs::PermissionsExt;
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = elsewhere.path().join("my.toml");
        fs::write(&target, GENESIS).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&target, home.path().join(FILE)).unwrap();
        bare(&set_command("anchor.mode", "off"), home.path(), false).unwrap();
        assert!(
            fs::symlink_metadata(home.path().join(FILE))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(
            fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(
            bare(
                &ConfigCommand::Get {
                    key: Some("anchor.mode".into())
                },
                home.path(),
                false
            )
            .unwrap(),
            "off\n"
        );
    }

    #[test]
    fn get_shows_values_and_where_they_are_from() {
        let home = home();
        fs::write(home.path().join(FILE), "[anchor]\ndeadline_ms = 500\n").unwrap();
        let environment = |name: &str| (name == "GENTLY_MODEL_DEFAULT").then(|| "openai/x".into());
        let get = |key: Option<&str>, json| {
            run_in(
                &ConfigCommand::Get {
                    key: key.map(str::to_owned),
                },
                home.path(),
                json,
                &environment,
            )
            .unwrap()
        };
        assert_eq!(get(Some("anchor.deadline_ms"), false), "500\n");
        assert_eq!(get(Some("anchor.headers"), false), "");
        assert_eq!(get(Some("model.default"), false), "openai/x\n");
        let all = get(None, false);
        assert_eq!(all.lines().count(), KEYS.len());
        for line in [
            "anchor.deadline_ms = 500  # file;",
            "anchor.mode = \"auto\"  # default;",
            "anchor.headers = (unset)  # default;",
            "model.default = \"openai/x\"  # GENTLY_MODEL_DEFAULT;",
        ] {
            assert!(all.contains(line), "{all}");
        }
        let one: Json = serde_json::from_str(&get(Some("anchor.deadline_ms"), true)).unwrap();
        assert_eq!(
            (&one["value"], &one["default"], &one["source"]),
            (&json!(500), &json!(3000), &json!("file"))
        );
        let all: Json = serde_json::from_str(&get(None, true)).unwrap();
        assert_eq!(all["anchor.headers"]["value"], Json::Null);
        assert_eq!(all.as_object().unwrap().len(), KEYS.len());

        let unknown = bare(
            &ConfigCommand::Get {
                key: Some("anchor.mod".into()),
            },
            home.path(),
            false,
        )
        .unwrap_err();
        assert!(
            unknown.to_string().contains("did you mean 'anchor.mode'"),
            "{unknown}"
        );
        let path = bare(&ConfigCommand::Path, home.path(), false).unwrap();
        assert_eq!(path, format!("{}\n", home.path().join(FILE).display()));
    }
}
