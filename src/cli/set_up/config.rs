//! `gently config`: shows and edits `gently.toml`.

use std::path::Path;

use clap::Subcommand;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::keep::store_encryption::fits_database;
use crate::app::set_up::settings::{self, ChangedSetting, NamedSetting, SettingState};
use crate::config::table::Value;
use crate::config::{ConfigError, Environment, ValueSource};
use crate::home::Home;
use crate::view::set_up::setting::{
    ChangedSettingView, ConfigPathView, NamedSettingView, SettingView,
};

use crate::cli::keep::import::{self, MigrateArgs};
use crate::cli::screen::ScreenFilter;
use crate::cli::{Notices, paged, print, rendered, say};

use super::init;

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
        /// Section and name, such as anchor.mode, model.alias.fast or price.openai/gpt-4o-mini
        key: String,
        /// A TOML value; a bare word is a string, and a price is "IN OUT", for a million tokens each
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Take one key out of gently.toml, so that its default is in force; comments and order stay
    Unset {
        /// Section and name, such as anchor.mode
        key: String,
    },
    /// Print where gently.toml is
    Path,
    /// Take over the state of an adaptive utility agent: promotions and corrections from its files
    ///
    /// Corrections are proposed, and promotions are on record for the view alone: they bind nothing. What is
    /// on record already is not recorded again.
    Migrate(MigrateArgs),
}

impl ConfigCommand {
    /// Whether it changes gently.toml.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            ConfigCommand::Set { .. } | ConfigCommand::Unset { .. } | ConfigCommand::Migrate(_)
        )
    }
}

/// Does it, with the process's environment.
pub async fn run(command: &ConfigCommand, json: bool) -> Result<u8, OpenHomeError> {
    if let ConfigCommand::Migrate(args) = command {
        return import::migrate(args, json).await;
    }
    let home = open::home_path()?;
    let meant = match command {
        ConfigCommand::Set { key, value } => settings::default_meant(key, value, &home).await?,
        _ => None,
    };
    let whole = meant.as_ref().map(|meant| ConfigCommand::Set {
        key: settings::DEFAULT_MODEL.to_owned(),
        value: meant.id.clone(),
    });
    let command = whole.as_ref().unwrap_or(command);
    let notice = match command {
        ConfigCommand::Set { key, value } => settings::authorize(key, Some(value), &home)?,
        ConfigCommand::Unset { key } => settings::authorize(key, None, &home)?,
        _ => None,
    };
    match command {
        ConfigCommand::Set { key, value } => fits_database(&home, key, Some(value))?,
        ConfigCommand::Unset { key } => fits_database(&home, key, None)?,
        _ => {}
    }
    let made = match command {
        ConfigCommand::Set { key, value } => home_for(key, value, &home)?,
        _ => None,
    };
    let said = run_noted((command, notice), &home, json, &open::env);
    if let Some(made) = made {
        // Under what was just set.
        init::welcome(&made, &open::config(&made)?, &Notices::default());
        open::note_files();
    }
    let said = said?;
    meant.iter().for_each(|meant| say(&meant.why));
    // One value is for scripts; all of them are for reading.
    Ok(match command {
        ConfigCommand::Get { key: None } if !json => paged(&said, ScreenFilter::told),
        _ => print(&said),
    })
}

/// Makes a home for the first setting, as the first question does, and gives it; none for what can't be
/// set, and where there is one.
fn home_for(key: &str, value: &str, path: &Path) -> Result<Option<Home>, OpenHomeError> {
    // An empty folder is no home yet; what is wrong with one that is, the setting does not mend.
    if !matches!(Home::open(path), Ok(None)) {
        return Ok(None);
    }
    settings::check_typed(key, value, path)?;
    let (home, is_new) = open::home_at(path)?;
    Ok(is_new.then_some(home))
}

/// Does it in a given environment, and returns what stdout shows.
fn run_noted(
    (command, found): (&ConfigCommand, Option<String>),
    home: &Path,
    json: bool,
    environment: Environment<'_>,
) -> Result<String, ConfigError> {
    Ok(match command {
        // Done before: it is about a record, and no setting.
        ConfigCommand::Migrate(_) => String::new(),
        ConfigCommand::Path => {
            let view = ConfigPathView::of(home);
            rendered(json, || &view, || format!("{}\n", view.path))
        }
        ConfigCommand::Get { key: Some(name) } => match settings::get(name, home, environment)? {
            NamedSetting::Key(state) => {
                rendered(json, || SettingView::of(&state), || plain(&state))
            }
            NamedSetting::Named(value) => {
                let view = NamedSettingView::of(name, value.as_deref());
                rendered(
                    json,
                    || view,
                    || value.map_or(String::new(), |text| text + "\n"),
                )
            }
        },
        ConfigCommand::Get { key: None } => {
            let all = settings::list(home, environment)?;
            rendered(json, || SettingView::all(&all), || list(&all))
        }
        ConfigCommand::Set { key, value } => {
            let mut changed = settings::set(key, value, home, environment)?;
            changed.notice = found.or(changed.notice);
            changed.notice.iter().for_each(|notice| say(notice));
            let view = || ChangedSettingView::of(&changed);
            rendered(json, view, || confirmed(&changed))
        }
        ConfigCommand::Unset { key } => {
            let changed = settings::unset(key, home, environment)?;
            let view = || ChangedSettingView::of(&changed);
            rendered(json, view, || confirmed(&changed))
        }
    })
}

/// A plain string is printed plain, for scripts.
fn plain(state: &SettingState) -> String {
    match &state.value {
        Some(Value::Text(text)) => format!("{text}\n"),
        Some(value) => format!("{value}\n"),
        None => String::new(),
    }
}

/// What was written; and that it is not in force, if the environment wins over it.
fn confirmed(changed: &ChangedSetting) -> String {
    let note = changed
        .overridden_by
        .as_ref()
        .map(|variable| format!("  # not in force: {variable} is set and wins"))
        .unwrap_or_default();
    match &changed.value {
        Some(value) => format!("{} = {value}{note}\n", changed.name),
        None => format!("{} (unset){note}\n", changed.name),
    }
}

fn list(all: &[SettingState]) -> String {
    let line = |state: &SettingState| {
        let SettingState { key, value, source } = state;
        let value = value
            .as_ref()
            .map_or("(unset)".to_owned(), ToString::to_string);
        let source = match source {
            ValueSource::Environment => key.variable(),
            other => other.name().to_owned(),
        };
        format!("{} = {value}  # {source}; {}\n", key.name, key.doc)
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value as Json;

    use super::*;
    use crate::config::table::{KEYS, Key};
    use crate::config::{FILE, GENESIS};

    fn run_in(
        command: &ConfigCommand,
        home: &Path,
        json: bool,
        environment: Environment<'_>,
    ) -> Result<String, ConfigError> {
        run_noted((command, None), home, json, environment)
    }

    fn set_command(key: &str, value: &str) -> ConfigCommand {
        ConfigCommand::Set {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    fn run_without_environment(
        command: &ConfigCommand,
        home: &Path,
        json: bool,
    ) -> Result<String, ConfigError> {
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
            let said =
                run_without_environment(&set_command(key, typed), home.path(), false).unwrap();
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
            run_without_environment(&set_command(key, typed), home.path(), false).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
        fs::remove_file(&path).unwrap();
        run_without_environment(&set_command("anchor.mode", "off"), home.path(), false).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            GENESIS.replacen("mode = \"auto\"", "mode = \"off\"", 1)
        );
    }

    fn unset_command(key: &str) -> ConfigCommand {
        ConfigCommand::Unset {
            key: key.to_owned(),
        }
    }

    #[test]
    fn names_that_people_give_are_set_and_taken_out() {
        let home = home();
        let path = home.path().join(FILE);
        let run =
            |command: &ConfigCommand| run_without_environment(command, home.path(), false).unwrap();
        let get = |key: &str| {
            run(&ConfigCommand::Get {
                key: Some(key.to_owned()),
            })
        };
        let before = fs::read_to_string(&path).unwrap();
        run(&set_command("model.alias.fast", "openai/gpt-4.1"));
        assert_eq!(get("model.alias.fast"), "openai/gpt-4.1\n");
        run(&set_command("price.openai/gpt-4.1", "2.00 8.00"));
        run(&set_command("price.openai/gpt-4.1.currency", "EUR"));
        assert_eq!(get("price.openai/gpt-4.1"), "2 8 EUR\n");
        assert_eq!(get("price.\"openai/gpt-4.1\".output_per_mtok"), "8\n");
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(
                "[price.\"openai/gpt-4.1\"]\ninput_per_mtok = \"2.00\"\noutput_per_mtok = \"8.00\"\ncurrency = \"EUR\"\n"
            ) && !text.contains("[price]"),
            "{text}"
        );
        run(&set_command("price.openai/gpt-4.1", "1 2 USD"));
        assert_eq!(get("price.openai/gpt-4.1"), "1 2 USD\n");
        run(&unset_command("price.openai/gpt-4.1"));
        assert_eq!(get("price.openai/gpt-4.1"), "");
        assert_eq!(
            run(&unset_command("model.alias.fast")),
            "model.alias.fast (unset)\n"
        );
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after.trim_end(), before.trim_end());
        // One that is shipped is again what it was.
        run(&set_command("model.alias.gpt", "openai/other"));
        assert_eq!(
            run(&unset_command("model.alias.gpt")),
            "model.alias.gpt = \"openai/gpt-4o-mini\"\n"
        );
        only_file(home.path());
    }

    #[test]
    fn a_table_says_what_is_in_it_and_what_is_needed_stays() {
        let home = home();
        let said = |command: &ConfigCommand| {
            run_without_environment(command, home.path(), false)
                .unwrap_err()
                .to_string()
        };
        let get = |key: &str| ConfigCommand::Get {
            key: Some(key.to_owned()),
        };
        run_without_environment(
            &set_command("model.alias.fast", "openai/gpt-4.1"),
            home.path(),
            false,
        )
        .unwrap();
        let aliases = said(&get("model.alias"));
        assert!(
            aliases
                .contains("'model.alias' is a table: in it are model.alias.fast, model.alias.gpt"),
            "{aliases}"
        );
        assert!(said(&get("anchor")).contains("'anchor' is a table: in it are anchor.mode"));
        assert!(said(&get("price")).ends_with("'price' is a table: nothing stands in it yet"));
        assert!(said(&set_command("model.alias", "x")).contains("is a table"));
        assert!(said(&get("model.alia")).contains("unknown key"));
        run_without_environment(&set_command("model.default", "fast"), home.path(), false).unwrap();
        assert_eq!(
            said(&unset_command("model.alias.fast")),
            "gently config unset: model.alias.fast stays, as it is what model.default is. \
             First: gently config unset model.default"
        );
    }

    #[test]
    fn unset_brings_the_default_back_and_keeps_what_people_wrote() {
        let home = home();
        let path = home.path().join(FILE);
        fs::write(
            &path,
            "# mine\n[anchor]\n# offline\nmode = \"off\" # since May\nquorum = 2\n",
        )
        .unwrap();
        let said =
            run_without_environment(&unset_command("anchor.mode"), home.path(), false).unwrap();
        assert_eq!(said, "anchor.mode = \"auto\"\n");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\n[anchor]\n# offline\n# since May\nquorum = 2\n"
        );
        let view =
            run_without_environment(&unset_command("anchor.headers"), home.path(), true).unwrap();
        let view: Json = serde_json::from_str(&view).unwrap();
        assert_eq!(
            (&view["key"], &view["value"]),
            (&"anchor.headers".into(), &Json::Null)
        );
        let set = |_: &str| Some("off".into());
        let said = run_in(&unset_command("anchor.mode"), home.path(), false, &set).unwrap();
        assert!(
            said.contains("GENTLY_ANCHOR_MODE is set and wins"),
            "{said}"
        );
        let unknown =
            run_without_environment(&unset_command("anchor.mod"), home.path(), false).unwrap_err();
        assert!(unknown.to_string().contains("did you mean 'anchor.mode'"));
        // All keys of the file of a new home go, and its comments stay.
        fs::write(&path, GENESIS).unwrap();
        for key in KEYS {
            run_without_environment(&unset_command(key.name), home.path(), false).unwrap();
        }
        let left = fs::read_to_string(&path).unwrap();
        let comments = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(comments(&left), comments(GENESIS));
        assert!(
            !left.contains("mode = \"auto\"") && !left.contains("calendars = ["),
            "{left}"
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
            (
                GENESIS,
                "model.default",
                "toy",
                "or an alias: gpt, haiku, opus, sonnet; gently config set model.alias.toy ID makes one",
            ),
            (GENESIS, "model.alias.auto", "openai/x", "none of auto"),
            (GENESIS, "model.alias.fast", "toy", "a model's full id"),
            (GENESIS, "price.toy", "1 2", "a model's full id in quotes"),
            (
                GENESIS,
                "price.openai/x",
                "1",
                "output_per_mtok is a decimal",
            ),
            (GENESIS, "price.openai/x", "1 2 U$", "letters, as in"),
            (
                GENESIS,
                "price.openai/x.input_per_mtok",
                "1",
                "each: gently config set price.openai/x \"1 2\"",
            ),
            (
                GENESIS,
                "witness.desk.url",
                "https://x.example",
                "a verifier key",
            ),
        ] {
            let home = home();
            fs::write(home.path().join(FILE), before).unwrap();
            let error = run_without_environment(&set_command(key, typed), home.path(), false)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
            assert_eq!(fs::read_to_string(home.path().join(FILE)).unwrap(), before);
            only_file(home.path());
        }
        let gone = home().path().join("gone");
        let error =
            run_without_environment(&set_command("anchor.mode", "off"), &gone, false).unwrap_err();
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
        run_without_environment(&set_command("anchor.mode", "off"), home.path(), false).unwrap();
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
            run_without_environment(
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
        assert_eq!(one["value"], 500);
        assert_eq!(one["default"], 3000);
        assert_eq!(one["source"], "file");
        let all: Json = serde_json::from_str(&get(None, true)).unwrap();
        assert_eq!(all["anchor.headers"]["value"], Json::Null);
        assert_eq!(all.as_object().unwrap().len(), KEYS.len());

        let unknown = run_without_environment(
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
        let path = run_without_environment(&ConfigCommand::Path, home.path(), false).unwrap();
        assert_eq!(path, format!("{}\n", home.path().join(FILE).display()));
    }
}
