//! What changes from one kernel to another, key by key.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kernel::Kernel;

/// One key whose value changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelChange {
    /// Dotted name of the key, such as `rings.ring0.items`.
    pub key: String,
    /// What stood there; none for a key that is new.
    pub from: Option<Value>,
    /// What comes there; none for a key that goes.
    pub to: Option<Value>,
}

impl KernelChange {
    /// Entries that come into, and entries that leave, a list; none when it is not a list on both
    /// sides.
    pub fn entries(&self) -> Option<(Vec<&Value>, Vec<&Value>)> {
        let (Some(Value::Array(from)), Some(Value::Array(to))) = (&self.from, &self.to) else {
            return None;
        };
        let missing = |list: &[Value], entry: &&Value| !list.contains(entry);
        let added: Vec<&Value> = to.iter().filter(|entry| missing(from, entry)).collect();
        let removed: Vec<&Value> = from.iter().filter(|entry| missing(to, entry)).collect();
        // Another order, or an entry twice: both lists have to be shown.
        if added.is_empty() && removed.is_empty() {
            None
        } else {
            Some((added, removed))
        }
    }
}

/// The changes from one kernel to another, by key; none when both say the same.
///
/// Compared is the canonical JSON: comments and the order of keys in a file are no change.
pub fn changes(from: &Kernel, to: &Kernel) -> Vec<KernelChange> {
    let (from, to) = (leaves(from), leaves(to));
    let keys: std::collections::BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    keys.into_iter()
        .filter(|key| from.get(*key) != to.get(*key))
        .map(|key| KernelChange {
            key: key.clone(),
            from: from.get(key).cloned(),
            to: to.get(key).cloned(),
        })
        .collect()
}

fn leaves(kernel: &Kernel) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    // A checked kernel's canonical JSON parses.
    if let Ok(value) = serde_json::from_str(kernel.canonical_json()) {
        flatten("", value, &mut found);
    }
    found
}

fn flatten(prefix: &str, value: Value, found: &mut BTreeMap<String, Value>) {
    let Value::Object(map) = value else {
        found.insert(prefix.to_owned(), value);
        return;
    };
    for (name, value) in map {
        let key = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}.{name}")
        };
        flatten(&key, value, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kernel::GENESIS_KERNEL;
    use super::*;

    fn changed(from: &str, to: &str) -> Vec<KernelChange> {
        assert!(GENESIS_KERNEL.contains(from), "{from}");
        let other = Kernel::from_toml(&GENESIS_KERNEL.replacen(from, to, 1)).unwrap();
        changes(&Kernel::genesis(), &other)
    }

    #[test]
    fn every_key_that_changes_is_named_and_no_other() {
        assert_eq!(changed("# The kernel", "# My kernel"), []);
        for (from, to, key, was, is) in [
            ("tier = 2", "tier = 3", "tier", json!(2), json!(3)),
            (
                "items = 16",
                "items = 17",
                "rings.ring0.items",
                json!(16),
                json!(17),
            ),
            (
                "effect = \"warn\"",
                "effect = \"block\"",
                "drift.authority.effect",
                json!("warn"),
                json!("block"),
            ),
            (
                "allowed = [\"*\"]",
                "allowed = []",
                "models.allowed",
                json!(["*"]),
                json!([]),
            ),
        ] {
            let expected = KernelChange {
                key: key.to_owned(),
                from: Some(was),
                to: Some(is),
            };
            assert_eq!(changed(from, to), [expected], "{from} -> {to}");
        }
    }

    #[test]
    fn of_a_list_what_comes_and_what_goes() {
        let change = |from, to| KernelChange {
            key: "k".into(),
            from,
            to,
        };
        let both = change(Some(json!(["a", "b"])), Some(json!(["b", "c"])));
        assert_eq!(both.entries(), Some((vec![&json!("c")], vec![&json!("a")])));
        assert_eq!(
            change(Some(json!(["a", "b"])), Some(json!(["b", "a"]))).entries(),
            None
        );
        assert_eq!(change(Some(json!(1)), Some(json!(["b"]))).entries(), None);
        assert_eq!(change(None, Some(json!(["b"]))).entries(), None);
    }
}
