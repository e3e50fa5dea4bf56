//! The one table of configuration keys; it drives parsing, `get`, `set` and every error message.

use super::ConfigError;
use super::rules::{
    COMMAND, DECIMAL, EXEMPT, MODEL, OPTIONAL, PATH, REFS, ROLE, SOURCE, UNIT, URL, USER, VARIABLE,
};
pub use super::value::Value;
use super::words::nearest;

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
    /// A string.
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

/// Every key, in the order of the file.
pub static KEYS: &[Key] = &[
    Key {
        name: "anchor.mode",
        kind: ValueKind::Choice(&["auto", "off"]),
        default: Default::Text("auto"),
        doc: "whether block sources are asked; off contacts nobody",
    },
    Key {
        name: "anchor.esplora",
        kind: ValueKind::List(SOURCE),
        default: Default::List(&["https://blockstream.info/api", "https://mempool.space/api"]),
        doc: "block explorers with the Esplora interface, all asked at once",
    },
    Key {
        name: "anchor.headers",
        kind: ValueKind::Text(PATH),
        default: Default::Unset,
        doc: "a file of height,hash,header lines for hosts without network; relative to the home",
    },
    Key {
        name: "anchor.bitcoind",
        kind: ValueKind::List(SOURCE),
        default: Default::List(&[]),
        doc: "your own Bitcoin nodes (JSON-RPC), asked together with the explorers",
    },
    Key {
        name: "anchor.bitcoind_cookie",
        kind: ValueKind::Text(PATH),
        default: Default::Unset,
        doc: "the node's .cookie file; relative to the home",
    },
    Key {
        name: "anchor.bitcoind_user",
        kind: ValueKind::Text(USER),
        default: Default::Unset,
        doc: "the node's rpcuser, where there is no cookie file",
    },
    Key {
        name: "anchor.bitcoind_password_env",
        kind: ValueKind::Text(VARIABLE),
        default: Default::Text("BITCOIND_PASSWORD"),
        doc: "the environment variable that holds that user's password",
    },
    Key {
        name: "anchor.quorum",
        kind: ValueKind::WordOrNumber("auto", 1, MOST_QUORUM),
        default: Default::Text("auto"),
        doc: "how many sources must name the same block; auto: all that answer",
    },
    Key {
        name: "anchor.look_again_s",
        kind: ValueKind::Number(0, 86_400),
        default: Default::Number(60),
        doc: "a session quiet for this many seconds looks for a newer block before its next prompt; 0: always",
    },
    Key {
        name: "anchor.deadline_ms",
        kind: ValueKind::Number(100, 60_000),
        default: Default::Number(3000),
        doc: "how long all block sources together may take, in milliseconds",
    },
    Key {
        name: "ots.calendars",
        kind: ValueKind::List(SOURCE),
        default: Default::List(&[
            "https://a.pool.opentimestamps.org",
            "https://b.pool.opentimestamps.org",
            "https://a.pool.eternitywall.com",
            "https://ots.btc.catallaxy.com",
        ]),
        doc: "OpenTimestamps calendars that are sent the log's head when a session closes; anchor.mode off asks none",
    },
    Key {
        name: "ots.quorum",
        kind: ValueKind::Number(1, MAX_LIST as u64),
        default: Default::Number(2),
        doc: "how many of them must accept a head",
    },
    Key {
        name: "model.default",
        kind: ValueKind::Text(MODEL),
        default: Default::Text("auto"),
        doc: "who answers: auto (the first that is there), observer (built in, no language model), PROVIDER/NAME or an alias",
    },
    Key {
        name: "model.base_url",
        kind: ValueKind::Text(URL),
        default: Default::Text("https://api.openai.com/v1"),
        doc: "where the server of an openai/ model is",
    },
    Key {
        name: "model.timeout_s",
        kind: ValueKind::Number(1, 3600),
        default: Default::Number(120),
        doc: "how long one answer may take, in seconds",
    },
    Key {
        name: "model.connect_timeout_s",
        kind: ValueKind::Number(1, 600),
        default: Default::Number(10),
        doc: "how long a connection may take to stand, in seconds",
    },
    Key {
        name: "model.api_key_env",
        kind: ValueKind::Text(VARIABLE),
        default: Default::Text("OPENAI_API_KEY"),
        doc: "the environment variable that holds the key of an openai/ model's server",
    },
    Key {
        name: "model.ollama_url",
        kind: ValueKind::Text(URL),
        default: Default::Unset,
        doc: "where an Ollama is; unset: $OLLAMA_HOST, else http://127.0.0.1:11434",
    },
    Key {
        name: "model.anthropic_url",
        kind: ValueKind::Text(URL),
        default: Default::Text("https://api.anthropic.com"),
        doc: "where the server of an anthropic/ model is, without /v1",
    },
    Key {
        name: "model.anthropic_key_env",
        kind: ValueKind::Text(VARIABLE),
        default: Default::Text("ANTHROPIC_API_KEY"),
        doc: "the environment variable that holds the key of an anthropic/ model's server",
    },
    Key {
        name: "model.system",
        kind: ValueKind::Prose(MAX_PROSE),
        default: Default::Unset,
        doc: "your own part of the system message, after the kernel's",
    },
    Key {
        name: "model.temperature",
        kind: ValueKind::Text(DECIMAL),
        default: Default::Unset,
        doc: "how freely words are chosen, as a decimal in quotes; unset: the server's choice",
    },
    Key {
        name: "model.max_tokens",
        kind: ValueKind::Number(1, 1_000_000),
        default: Default::Unset,
        doc: "the most tokens of an answer; unset: the server's choice, and 4096 for anthropic/",
    },
    Key {
        name: "model.seed",
        kind: ValueKind::Number(0, MAX_SEED),
        default: Default::Unset,
        doc: "where sampling starts, for servers that take a seed; unset: the server's choice",
    },
    Key {
        name: "model.key_cmd",
        kind: ValueKind::Text(COMMAND),
        default: Default::Unset,
        doc: "a shell command whose first line is the server's key",
    },
    Key {
        name: "model.key_file",
        kind: ValueKind::Text(PATH),
        default: Default::Unset,
        doc: "a file of mode 0600 whose first line is the server's key; relative to the home",
    },
    Key {
        name: "session.idle_minutes",
        kind: ValueKind::Number(1, 10_080),
        default: Default::Number(30),
        doc: "after how many idle minutes a session is closed before the next prompt",
    },
    Key {
        name: "session.host_role",
        kind: ValueKind::Text(ROLE),
        default: Default::Unset,
        doc: "what this machine is, in place of what the kernel says; public in the ledger",
    },
    Key {
        name: "context.refs",
        kind: ValueKind::Text(REFS),
        default: Default::Unset,
        doc: "which earlier turns of the thread gently ask declares as context, unless --ref or --no-ref says so: none, or last:N; unset: last:6, or what context.json says where it expands",
    },
    Key {
        name: "sight.units",
        kind: ValueKind::List(UNIT),
        default: Default::List(&[]),
        doc: "systemd units whose state service_status shows; read only",
    },
    Key {
        name: "retention.content_days",
        kind: ValueKind::Number(1, 36_500),
        default: Default::Unset,
        doc: "texts of exchanges older than so many days are erased after a turn; unset: kept",
    },
    Key {
        name: "store.content",
        kind: ValueKind::Choice(&["sanitized", "none"]),
        default: Default::Text("sanitized"),
        doc: "what the database keeps of texts from now on: all, secrets removed; or none, hashes and commitments only",
    },
    Key {
        name: "store.openings",
        kind: ValueKind::Flag,
        default: Default::Flag(true),
        doc: "with store.content none: whether salts are kept, so that who has a text can show that it is on record",
    },
    Key {
        name: "sanitize.rules",
        kind: ValueKind::List(PATH),
        default: Default::List(&[]),
        doc: "rule files in the format of gitleaks that are in force beside our own; relative to the home",
    },
    Key {
        name: "sanitize.allow",
        kind: ValueKind::List(EXEMPT),
        default: Default::List(&[]),
        doc: "what is no secret although it looks like one: exact texts, and expressions between slashes; on record",
    },
    Key {
        name: "sanitize.optional",
        kind: ValueKind::List(OPTIONAL),
        default: Default::List(&[]),
        doc: "kinds that are taken out only where they are named here: card, iban, email, phone",
    },
    Key {
        name: "witness.quorum",
        kind: ValueKind::Number(1, MOST_WITNESSES),
        default: Default::Number(1),
        doc: "how many of the witnesses must cosign a tree head",
    },
    Key {
        name: "witness.deadline_ms",
        kind: ValueKind::Number(100, 60_000),
        default: Default::Number(2000),
        doc: "how long all witnesses together may take, in milliseconds",
    },
    Key {
        name: "keys.signer",
        kind: ValueKind::Choice(&["file", "agent"]),
        default: Default::Text("file"),
        doc: "what signs the ledger: keys/signing.key, or an SSH agent at $SSH_AUTH_SOCK",
    },
    Key {
        name: "keys.agent_wait_s",
        kind: ValueKind::Number(1, 3600),
        default: Default::Number(60),
        doc: "seconds that an SSH agent has for one signature; it may ask somebody (ssh-add -c)",
    },
    Key {
        name: "keys.passphrase_cmd",
        kind: ValueKind::Text(COMMAND),
        default: Default::Unset,
        doc: "a shell command whose first line is the passphrase of keys/auth.key and of backups",
    },
];

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
                matches!(error, ConfigError::Wrong { .. }) && said.contains(name),
                "{said}"
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
