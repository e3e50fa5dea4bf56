//! Which settings bear on what is recorded: a change of one of them is put on record.

use std::collections::BTreeMap;

use super::Settings;

/// Keys that say who answers, what a model is shown and told, when a session ends, whether a block
/// is looked for, and what is kept.
///
/// Not among them is where something is (files, programs, block sources, names of variables), how
/// long it is waited for, who is asked about tree heads afterwards, which project is in use, and
/// whether a handoff follows an answer by itself: records don't become other ones by those, or say themselves what came of them.
pub(super) const RECORDED: &[&str] = &[
    "anchor.look_again_s",
    "anchor.mode",
    "anchor.quorum",
    "context.refs",
    "model.anthropic_url",
    "model.base_url",
    "model.default",
    "model.max_tokens",
    "model.ollama_url",
    "model.response_format",
    "model.seed",
    "model.system",
    "model.temperature",
    "retention.content_days",
    "sanitize.allow",
    "sanitize.optional",
    "sanitize.rules",
    "session.host_role",
    "session.idle_minutes",
    "sight.units",
    "store.content",
    "store.openings",
];

/// One value for all names that people gave in a table.
fn joined<V>(table: &BTreeMap<String, V>, value: impl Fn(&V) -> String) -> String {
    let line = |(name, given): (&String, &V)| format!("{name}={}\n", value(given));
    table.iter().map(line).collect()
}

impl Settings {
    /// The settings that bear on what is recorded, with their values as the file would hold them; a
    /// key without a value is absent. A table in which people give names is one setting.
    pub fn recorded(&self) -> BTreeMap<&'static str, String> {
        let key = |name: &&'static str| Some((*name, self.get(name)?.0.to_string()));
        let mut all: BTreeMap<_, _> = RECORDED.iter().filter_map(key).collect();
        let named = self.named();
        all.insert("model.alias", joined(&named.aliases, String::clone));
        all.insert("model.window", joined(&named.windows, u64::to_string));
        let price = joined(&named.prices, |price| {
            let (input, output) = (price.input_per_mtok, price.output_per_mtok);
            format!("{input} {output} {}", price.currency)
        });
        all.insert("price", price);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::table::KEYS;
    use super::*;

    /// What is not put on record, by key: see [`RECORDED`].
    const BESIDE: &[&str] = &[
        "anchor.bitcoind",
        "anchor.bitcoind_cookie",
        "anchor.bitcoind_password_env",
        "anchor.bitcoind_user",
        "anchor.deadline_ms",
        "anchor.esplora",
        "anchor.headers",
        "conversation.project",
        "handoff.auto",
        "keys.agent_wait_s",
        "keys.passphrase_cmd",
        "keys.signer",
        "model.anthropic_key_env",
        "model.api_key_env",
        "model.connect_timeout_s",
        "model.key_cmd",
        "model.key_file",
        "model.timeout_s",
        "ots.calendars",
        "ots.quorum",
        "store.encrypted",
        "store.key_cmd",
        "trace.key_file",
        "witness.deadline_ms",
        "witness.quorum",
    ];

    #[test]
    fn of_every_key_it_is_decided_whether_its_change_is_put_on_record() {
        let decided = RECORDED.iter().chain(BESIDE).copied();
        let keys = KEYS.iter().map(|key| key.name);
        assert_eq!(RECORDED.len() + BESIDE.len(), KEYS.len());
        assert_eq!(
            decided.collect::<BTreeSet<_>>(),
            keys.collect::<BTreeSet<_>>()
        );
    }

    #[test]
    fn tables_of_names_are_one_setting_each() {
        let read = |text: &str| {
            let settings = Settings::read(text, "gently.toml", &|_| None);
            settings.unwrap().recorded()
        };
        let before = read("");
        for (text, key) in [
            ("[model]\nseed = 4", "model.seed"),
            ("[model.alias]\nmine = 'ollama/a:8b'", "model.alias"),
            ("[model.window]\n'ollama/a:8b' = 4096", "model.window"),
            (
                "[price.'openai/x']\ninput_per_mtok = '1'\noutput_per_mtok = '2'",
                "price",
            ),
        ] {
            let after = read(text);
            let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            let changed = names
                .into_iter()
                .filter(|name| before.get(*name) != after.get(*name));
            assert_eq!(changed.collect::<Vec<_>>(), [&key]);
        }
        assert_eq!(read("[model]\ntimeout_s = 9"), before);
    }
}
