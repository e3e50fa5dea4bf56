//! The one table of configuration keys; it drives parsing, `get`, `set`, every error message, and
//! the plain values that the program reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::rules::{
    COMMAND, DECIMAL, EXEMPT, MODEL, OPTIONAL, PATH, PROJECT, REFS, ROLE, SOURCE, UNIT, URL, USER,
    VARIABLE,
};
pub use super::value::Value;
use super::value::ValueInForce;
use super::words::nearest;
use super::{AnchorMode, ConfigError, ConfiguredWitness, NamedTables, Settings};
use crate::record::ledger::params::Temperature;

/// One key of `gently.toml`.
#[derive(Debug)]
pub struct Key {
    /// Section and name, joined by a dot.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ValueKind,
    /// What it holds when nothing else says so.
    pub default: Default,
    /// One sentence for a person.
    pub doc: &'static str,
}

/// What a key may hold.
#[derive(Debug)]
pub enum ValueKind {
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A string that passes a check.
    Text(TextRule),
    /// A list of strings that each pass a check.
    List(TextRule),
    /// A text of several lines, of at most so many bytes.
    Prose(usize),
    /// A whole number in a range, both ends included.
    Number(u64, u64),
    /// A word that leaves it open, or a whole number in a range.
    WordOrNumber(&'static str, u64, u64),
    /// Yes or no.
    Flag,
}

/// A check of strings, and the words that describe what passes.
#[derive(Clone, Copy, Debug)]
pub struct TextRule {
    pub(super) says: &'static str,
    pub(super) accepts: fn(&str) -> bool,
    /// Whether a refused text is shown: a key pasted where its variable's name belongs must not be.
    pub(super) shows: bool,
}

/// A default as the table spells it.
#[derive(Debug)]
pub enum Default {
    /// The key has none.
    Unset,
    /// A string, spelled as in the file.
    Text(&'static str),
    /// A list of strings.
    List(&'static [&'static str]),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}

/// All sources are asked at once; more than this is a mistake, and a burden on others.
pub(super) const MAX_LIST: usize = 16;
/// Two lists of addresses and a file: there can't be more sources to agree.
const MOST_QUORUM: u64 = 2 * MAX_LIST as u64 + 1;
/// As many as may be configured.
const MOST_WITNESSES: u64 = super::witnesses::MAX_WITNESSES as u64;
/// A page or two of instructions.
const MAX_PROSE: usize = 16 * 1024;
/// What every server's signed 32 bits hold.
pub const MAX_SEED: u64 = 2_147_483_647;

/// Makes [`KEYS`] and [`Config`] from the table of keys: the only place where a key is named.
///
/// A row has the field that holds the key's value, the field's type and the method of
/// [`ValueInForce`] that gives it; the key's name in its section, what the key may hold, its
/// default, and one sentence for a person. Behind `+` stands what is taken from the tables that
/// people give names in.
macro_rules! key_table {
    ($(
        $(#[$about:meta])*
        $section:ident: $Settings:ident {
            $(
                $field:ident: $type:ty = $read:ident, $name:literal,
                $kind:ident $(($($of:tt)*))?, $default:ident $(($($value:tt)*))?,
                $doc:literal;
            )+
        } $(+ {
            $(#[$named_about:meta])*
            $named:ident: $named_type:ty = $named_read:expr;
        })?
    )+) => {
        /// Every key, in the order of the file.
        pub static KEYS: &[Key] = &[$($(
            Key {
                name: concat!(stringify!($section), ".", $name),
                kind: ValueKind::$kind $(($($of)*))?,
                default: Default::$default $(($($value)*))?,
                doc: $doc,
            },
        )+)+];

        /// All configuration as plain values.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $($(#[$about])* pub $section: $Settings,)+
        }

        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $Settings {
                $(#[doc = $doc] pub $field: $type,)+
                $($(#[$named_about])* pub $named: $named_type,)?
            }
        )+

        impl Config {
            /// The plain values of some settings; relative paths start at the home.
            pub fn from_settings(settings: &Settings, home: &Path) -> Self {
                let in_force = |name| ValueInForce {
                    value: settings.get(name).map(|(value, _)| value),
                    home,
                };
                Config {
                    $($section: $Settings {
                        $($field: in_force(concat!(stringify!($section), ".", $name)).$read(),)+
                        $($named: ($named_read)(settings.named()),)?
                    },)+
                }
            }
        }
    };
}

key_table! {
    /// Where blocks are from.
    anchor: AnchorSettings {
        mode: AnchorMode = anchor_mode, "mode", Choice(&["auto", "off"]), Text("auto"),
            "whether block sources are asked; off contacts nobody";
        esplora: Vec<String> = addresses, "esplora", List(SOURCE),
            List(&["https://blockstream.info/api", "https://mempool.space/api"]),
            "block explorers with the Esplora interface, all asked at once";
        headers: Option<PathBuf> = path, "headers", Text(PATH), Unset,
            "a file of height,hash,header lines for hosts without network; relative to the home";
        bitcoind: Vec<String> = addresses, "bitcoind", List(SOURCE), List(&[]),
            "your own Bitcoin nodes (JSON-RPC), asked together with the explorers";
        bitcoind_cookie: Option<PathBuf> = path, "bitcoind_cookie", Text(PATH), Unset,
            "the node's .cookie file; relative to the home";
        bitcoind_user: Option<String> = some_text, "bitcoind_user", Text(USER), Unset,
            "the node's rpcuser, where there is no cookie file";
        bitcoind_password_env: String = text, "bitcoind_password_env", Text(VARIABLE),
            Text("BITCOIND_PASSWORD"),
            "the environment variable that holds that user's password";
        quorum: Option<usize> = some_count, "quorum", WordOrNumber("auto", 1, MOST_QUORUM),
            Text("auto"),
            "how many sources must name the same block; auto: all that answer";
        look_again: Duration = seconds, "look_again_s", Number(0, 86_400), Number(60),
            "a session quiet for this many seconds looks for a newer block before its next prompt; 0: always";
        deadline: Duration = millis, "deadline_ms", Number(100, 60_000), Number(3000),
            "how long all block sources together may take, in milliseconds";
    }
    /// Who is sent heads of the log.
    ots: Ots {
        calendars: Vec<String> = addresses, "calendars", List(SOURCE),
            List(&[
                "https://a.pool.opentimestamps.org",
                "https://b.pool.opentimestamps.org",
                "https://a.pool.eternitywall.com",
                "https://ots.btc.catallaxy.com",
            ]),
            "OpenTimestamps calendars that are sent the log's head when a session closes; anchor.mode off asks none";
        quorum: usize = count, "quorum", Number(1, MAX_LIST as u64), Number(2),
            "how many of them must accept a head";
    }
    /// Which model answers, and how it is reached.
    model: ModelSettings {
        default: String = text, "default", Text(MODEL), Text("auto"),
            "who answers: auto (the first that is there), observer (built in, no language model), PROVIDER/NAME or an alias";
        base_url: String = address, "base_url", Text(URL), Text("https://api.openai.com/v1"),
            "where the server of an openai/ model is";
        timeout: Duration = seconds, "timeout_s", Number(1, 3600), Number(120),
            "how long one answer may take, in seconds";
        connect_timeout: Duration = seconds, "connect_timeout_s", Number(1, 600), Number(10),
            "how long a connection may take to stand, in seconds";
        api_key_env: String = text, "api_key_env", Text(VARIABLE), Text("OPENAI_API_KEY"),
            "the environment variable that holds the key of an openai/ model's server";
        ollama_url: Option<String> = some_address, "ollama_url", Text(URL), Unset,
            "where an Ollama is; unset: $OLLAMA_HOST, else http://127.0.0.1:11434";
        anthropic_url: String = address, "anthropic_url", Text(URL),
            Text("https://api.anthropic.com"),
            "where the server of an anthropic/ model is, without /v1";
        anthropic_key_env: String = text, "anthropic_key_env", Text(VARIABLE),
            Text("ANTHROPIC_API_KEY"),
            "the environment variable that holds the key of an anthropic/ model's server";
        system: Option<String> = prose, "system", Prose(MAX_PROSE), Unset,
            "your own part of the system message, after the kernel's";
        temperature: Option<Temperature> = temperature, "temperature", Text(DECIMAL), Unset,
            "how freely words are chosen, as a decimal in quotes; unset: the server's choice";
        max_tokens: Option<u64> = some_number, "max_tokens", Number(1, 1_000_000), Unset,
            "the most tokens of an answer; unset: the server's choice, and 4096 for anthropic/";
        seed: Option<u64> = some_number, "seed", Number(0, MAX_SEED), Unset,
            "where sampling starts, for servers that take a seed; unset: the server's choice";
        response_format: bool = flag, "response_format", Flag, Flag(true),
            "whether --expect also goes to a server that has a response format of its own; off for servers that refuse it";
        key_cmd: Option<String> = some_text, "key_cmd", Text(COMMAND), Unset,
            "a shell command whose first line is the server's key";
        key_file: Option<PathBuf> = path, "key_file", Text(PATH), Unset,
            "a file of mode 0600 whose first line is the server's key; relative to the home";
    } + {
        /// Aliases and prices.
        named: NamedTables = NamedTables::clone;
    }
    /// How sessions are kept.
    session: SessionSettings {
        idle: Duration = minutes, "idle_minutes", Number(1, 10_080), Number(30),
            "after how many idle minutes a session is closed before the next prompt";
        host_role: String = text, "host_role", Text(ROLE), Unset,
            "what this machine is, in place of what the kernel says; public in the ledger";
    }
    /// What a turn declares.
    context: ContextSettings {
        refs: Option<String> = some_text, "refs", Text(REFS), Unset,
            "which earlier turns of the thread gently ask declares as context, unless --ref or --no-ref says so: none, or last:N; unset: last:40, or what context.json says where it expands";
    }
    /// Which conversations are at hand.
    conversation: ConversationSettings {
        project: Option<String> = some_text, "project", Text(PROJECT), Unset,
            "the project in use, by its id or name: its conversations are listed, and new ones join it; gently project use sets it";
    }
    /// Conversations, summed up.
    handoff: HandoffSettings {
        auto: bool = flag, "auto", Flag, Flag(false),
            "whether a handoff that is due is made after the answer, by the model that gave it; else one line says that it is due";
    }
    /// What may be looked at.
    sight: SightSettings {
        units: Vec<String> = texts, "units", List(UNIT), List(&[]),
            "systemd units whose state service_status shows; read only";
    }
    /// How long texts are kept.
    retention: RetentionSettings {
        content_days: Option<u64> = some_number, "content_days", Number(1, 36_500), Unset,
            "texts of exchanges older than so many days are erased after a turn; unset: kept";
    }
    /// What is kept of texts.
    store: StoreSettings {
        content: String = text, "content", Choice(&["sanitized", "none"]), Text("sanitized"),
            "what the database keeps of texts from now on: all, secrets removed; or none, hashes and commitments only";
        openings: bool = flag, "openings", Flag, Flag(true),
            "with store.content none: whether salts are kept, so that who has a text can show that it is on record";
        encrypted: bool = flag, "encrypted", Flag, Flag(false),
            "whether the database has to be encrypted: a plain one in its place is refused; gently store encrypt sets it";
        key_cmd: Option<String> = some_text, "key_cmd", Text(COMMAND), Unset,
            "a shell command whose first line is the key of an encrypted database, 64 hexadecimal digits";
    }
    /// What is taken out of texts.
    sanitize: SanitizeSettings {
        rules: Vec<PathBuf> = paths, "rules", List(PATH), List(&[]),
            "rule files in the format of gitleaks that are in force beside our own; relative to the home";
        allow: Vec<String> = texts, "allow", List(EXEMPT), List(&[]),
            "what is no secret although it looks like one: exact texts, and expressions between slashes; on record";
        optional: Vec<String> = texts, "optional", List(OPTIONAL), List(&[]),
            "kinds that are taken out only where they are named here: card, iban, email, phone";
    }
    /// Who cosigns tree heads.
    witness: Witnesses {
        quorum: usize = count, "quorum", Number(1, MOST_WITNESSES), Number(1),
            "how many of the witnesses must cosign a tree head";
        deadline: Duration = millis, "deadline_ms", Number(100, 60_000), Number(2000),
            "how long all witnesses together may take, in milliseconds";
    } + {
        /// By their names.
        named: BTreeMap<String, ConfiguredWitness> = |named: &NamedTables| named.witnesses.clone();
    }
    /// Where keys are from.
    keys: KeySettings {
        signer: String = text, "signer", Choice(&["file", "agent"]), Text("file"),
            "what signs the ledger: keys/signing.key, or an SSH agent at $SSH_AUTH_SOCK";
        agent_wait: Duration = seconds, "agent_wait_s", Number(1, 3600), Number(60),
            "seconds that an SSH agent has for one signature; it may ask somebody (ssh-add -c)";
        passphrase_cmd: Option<String> = some_text, "passphrase_cmd", Text(COMMAND), Unset,
            "a shell command whose first line is the passphrase of keys/auth.key and of backups";
    }
    /// What signs traces.
    trace: TraceSettings {
        key_file: Option<PathBuf> = path, "key_file", Text(PATH), Unset,
            "a file of mode 0600 with the raw 32-byte seed of the key that signs traces; relative to the home; unset: the key that signs the ledger";
    }
}

/// What people write who look for a place for the node's password.
const PASSWORDS: &[&str] = &[
    "anchor.bitcoind_password",
    "anchor.bitcoind_pass",
    "anchor.bitcoind_rpcpassword",
    "anchor.password",
    "anchor.rpcpassword",
];

impl Key {
    /// Finds a key; an unknown one is refused with the nearest name.
    ///
    /// A key that would hold a password is refused by name, with the way that a password can go.
    pub fn find(name: &str, place: &str) -> Result<&'static Key, ConfigError> {
        if PASSWORDS.contains(&name) {
            return Err(ConfigError::Password {
                place: place.to_owned(),
                key: name.to_owned(),
            });
        }
        KEYS.iter()
            .find(|key| key.name == name)
            .ok_or_else(|| ConfigError::Unknown {
                place: place.to_owned(),
                key: name.to_owned(),
                nearest: nearest(name),
            })
    }

    /// The environment variable that wins over the file: `anchor.mode` is `GENTLY_ANCHOR_MODE`.
    pub fn variable(&self) -> String {
        format!(
            "GENTLY_{}",
            self.name.to_ascii_uppercase().replace('.', "_")
        )
    }

    /// Section and name apart.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.name
            .split_once('.')
            .expect("every name of the table has a dot, held by a test")
    }

    /// The default, if there is one.
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            Default::Unset => None,
            Default::Text(text) => Some(Value::Text(text.to_owned())),
            Default::List(list) => Some(Value::List(
                list.iter().map(|text| (*text).to_owned()).collect(),
            )),
            Default::Number(number) => Some(Value::Number(number)),
            Default::Flag(flag) => Some(Value::Flag(flag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_together() {
        for key in KEYS {
            assert_eq!(key.name.matches('.').count(), 1, "{}", key.name);
            assert_eq!(
                KEYS.iter().filter(|other| other.name == key.name).count(),
                1,
                "{}",
                key.name
            );
            if let Some(value) = key.default_value() {
                assert_eq!(
                    key.accept(&value.to_toml(), "table").unwrap(),
                    value,
                    "{}",
                    key.name
                );
                assert_eq!(
                    key.accept_typed(&value.to_string(), "table").unwrap(),
                    value,
                    "{}",
                    key.name
                );
            }
        }
    }

    #[test]
    fn the_nearest_name_is_offered_and_nonsense_is_not() {
        for (typed, meant) in [
            ("anchor.mod", Some("anchor.mode")),
            ("anchr.mode", Some("anchor.mode")),
            ("esplora", Some("anchor.esplora")),
            ("model.timeout", Some("model.timeout_s")),
            ("session.idle_minuets", Some("session.idle_minutes")),
            ("zzzzzzzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed), meant, "{typed}");
        }
    }

    #[test]
    fn values_as_typed() {
        let key = |name| Key::find(name, "t").unwrap();
        let text = |text: &str| Value::Text(text.to_owned());
        for (name, typed, expected) in [
            ("anchor.mode", "off", text("off")),
            ("anchor.mode", "\"off\"", text("off")),
            ("session.host_role", "my brain", text("my brain")),
            ("session.host_role", "42", text("42")),
            ("anchor.headers", "/a b.csv", text("/a b.csv")),
            (
                "model.default",
                "openai/smollm2:135m",
                text("openai/smollm2:135m"),
            ),
            ("model.default", "auto", text("auto")),
            ("model.default", "sonnet", text("sonnet")),
            (
                "model.default",
                "replay:00000000-0000-8000-8000-000000000000",
                text("replay:00000000-0000-8000-8000-000000000000"),
            ),
            ("context.refs", "none", text("none")),
            ("context.refs", "last:64", text("last:64")),
            (
                "conversation.project",
                "project:000001",
                text("project:000001"),
            ),
            ("conversation.project", "My Travels", text("My Travels")),
            ("store.content", "none", text("none")),
            ("store.openings", "false", Value::Flag(false)),
            ("model.temperature", "0.2", text("0.2")),
            ("model.system", "be\nbrief", text("be\nbrief")),
            ("anchor.deadline_ms", "5_000", Value::Number(5000)),
            ("anchor.esplora", "[]", Value::List(Vec::new())),
            (
                "sight.units",
                "['getty@tty1.service']",
                Value::List(vec!["getty@tty1.service".to_owned()]),
            ),
            (
                "anchor.esplora",
                "['http://127.0.0.1:3000']",
                Value::List(vec!["http://127.0.0.1:3000".to_owned()]),
            ),
        ] {
            assert_eq!(
                key(name).accept_typed(typed, "t").unwrap(),
                expected,
                "{name} {typed}"
            );
        }
        for (name, typed) in [
            ("anchor.quorum", "0"),
            ("anchor.quorum", "34"),
            ("anchor.bitcoind", "['http://u:p@127.0.0.1:8332']"),
            ("anchor.bitcoind_user", "u:p"),
            ("anchor.look_again_s", "86401"),
            ("anchor.mode", "on"),
            ("anchor.mode", ""),
            ("anchor.mode", "\"off"),
            ("anchor.mode", "[\"off\"]"),
            ("anchor.deadline_ms", "99"),
            ("anchor.deadline_ms", "60001"),
            ("anchor.deadline_ms", "-3000"),
            ("anchor.deadline_ms", "3.5"),
            ("anchor.deadline_ms", "3s"),
            ("anchor.deadline_ms", "\"3000\""),
            ("anchor.deadline_ms", "99999999999999999999"),
            ("anchor.esplora", "https://one"),
            ("anchor.esplora", "[1]"),
            ("anchor.esplora", "[\"ftp://one\"]"),
            ("model.default", "openai/"),
            ("model.default", "GPT"),
            ("model.default", "mistral/large"),
            ("model.default", "ollama/a b"),
            ("context.refs", "last"),
            ("context.refs", "last:0"),
            ("context.refs", "last:65"),
            ("context.refs", "last:06"),
            ("context.refs", "all"),
            ("conversation.project", ""),
            ("conversation.project", "a\u{202e}b"),
            ("model.temperature", "warm"),
            ("model.temperature", "2.5"),
            ("model.seed", "-1"),
            ("model.system", "bell \u{7}"),
            ("model.base_url", "127.0.0.1"),
            ("model.base_url", "https://"),
            ("model.api_key_env", "A=B"),
            ("session.host_role", " "),
            ("session.host_role", "two\nlines"),
            ("sight.units", "nginx.service"),
            ("sight.units", "['nginx']"),
            ("sight.units", "['.service']"),
            ("sight.units", "['--all.service']"),
            ("sight.units", "['a b.service']"),
            ("sight.units", "['nginx.service;id']"),
            ("store.content", "all"),
            ("store.openings", "no"),
            ("store.openings", "\"true\""),
        ] {
            let error = key(name).accept_typed(typed, "t").unwrap_err();
            let said = error.to_string();
            assert!(
                matches!(error, ConfigError::Wrong { .. } | ConfigError::Empty { .. })
                    && said.contains(name),
                "{said}"
            );
        }
        for typed in ["", " ", "\"\"", "''"] {
            let said = key("store.key_cmd").accept_typed(typed, "t").unwrap_err();
            assert_eq!(
                said.to_string(),
                "t: store.key_cmd can't be empty; to take it out: gently config unset store.key_cmd",
                "{typed}"
            );
        }
        let pasted = key("model.api_key_env")
            .accept_typed("sk-proj-0123", "t")
            .unwrap_err()
            .to_string();
        assert!(
            !pasted.contains("sk-proj") && !pasted.contains("0123"),
            "{pasted}"
        );
        for (name, typed) in [
            ("anchor.bitcoind", "['http://u:hunter2@127.0.0.1:8332']"),
            ("anchor.esplora", "['https://u:hunter2@example.org']"),
            ("anchor.bitcoind_user", "u:hunter2"),
        ] {
            let said = key(name).accept_typed(typed, "t").unwrap_err().to_string();
            assert!(
                !said.contains("hunter2") && said.contains("password"),
                "{said}"
            );
        }
    }
}
