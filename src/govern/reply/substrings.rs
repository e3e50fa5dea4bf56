//! Which of many texts stand in one text: both are read once, whatever they hold.
//!
//! A prompt and a reply may have a megabyte each, and a reply may state a hundred thousand things.
//! Looking for them one by one would read the prompt a hundred thousand times.

use std::collections::HashMap;

use crate::govern::sanitize::count;

/// What stands before a place is no letter and no digit; no text has this noncharacter (Unicode
/// 23.7).
const BEFORE: char = '\u{fdd0}';
/// What stands behind it is none.
const AFTER: char = '\u{fdd1}';
/// So few texts are looked for one by one, which is faster.
const FEW: usize = 24;

/// Where a sought text is read letter by letter.
#[derive(Clone, Copy, Default)]
struct TrieNode {
    parent: u32,
    /// The node of the longest end of this node's text that is a node, too.
    shorter: u32,
    depth: u32,
    byte: u8,
    /// Whether this node's text was met.
    met: bool,
}

/// The texts that are sought, as a tree of their beginnings (Aho and Corasick).
///
/// This is not the automaton of the `aho-corasick` crate, because that one keeps with each node all
/// texts that end there: a hostile reply of one megabyte, of `/a`, `/a/a` and so on, would
/// make it keep 60 million of them, which is half a gigabyte. Here a node points to the next
/// shorter one.
struct Trie {
    nodes: Vec<TrieNode>,
    next: HashMap<(u32, u8), u32>,
    /// Nodes by depth, the root left out.
    order: Vec<u32>,
}

const ROOT: u32 = 0;

/// Says of each sought text, in their order, whether it stands in `text`; an empty one stands in
/// every text.
pub(in crate::govern) fn occurring<T: AsRef<str>>(text: &str, sought: &[T]) -> Vec<bool> {
    if sought.len() <= FEW {
        count(text.len() * sought.len());
        return sought
            .iter()
            .map(|one| text.contains(one.as_ref()))
            .collect();
    }
    all_at_once(text, sought)
}

fn all_at_once<T: AsRef<str>>(text: &str, sought: &[T]) -> Vec<bool> {
    let mut tree = Trie {
        nodes: vec![TrieNode::default()],
        next: HashMap::new(),
        order: Vec::new(),
    };
    let ends: Vec<u32> = sought
        .iter()
        .map(|one| tree.add(one.as_ref().as_bytes()))
        .collect();
    tree.add_suffix_links();
    tree.meet(text.as_bytes());
    ends.into_iter().map(|end| tree.node(end).met).collect()
}

impl Trie {
    fn node(&self, at: u32) -> TrieNode {
        usize::try_from(at)
            .ok()
            .and_then(|at| self.nodes.get(at))
            .copied()
            .unwrap_or_default()
    }

    fn change(&mut self, at: u32, change: impl FnOnce(&mut TrieNode)) {
        if let Some(node) = usize::try_from(at)
            .ok()
            .and_then(|at| self.nodes.get_mut(at))
        {
            change(node);
        }
    }

    fn add(&mut self, text: &[u8]) -> u32 {
        count(text.len());
        text.iter().fold(ROOT, |parent, byte| {
            if let Some(known) = self.next.get(&(parent, *byte)) {
                return *known;
            }
            // More than four thousand million bytes of sought text would not fit into memory.
            let at = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
            let depth = self.node(parent).depth.saturating_add(1);
            self.nodes.push(TrieNode {
                parent,
                depth,
                byte: *byte,
                ..TrieNode::default()
            });
            self.next.insert((parent, *byte), at);
            self.order.push(at);
            at
        })
    }

    /// The node after `byte`, from a node or from the longest end of it that goes on so.
    fn next_node(&self, mut from: u32, byte: u8) -> u32 {
        loop {
            count(1);
            match self.next.get(&(from, byte)) {
                Some(next) => return *next,
                None if from == ROOT => return ROOT,
                None => from = self.node(from).shorter,
            }
        }
    }

    /// Gives each node the longest end of its text that is a node, too.
    fn add_suffix_links(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_key(|at| self.node(*at).depth);
        for at in &order {
            let TrieNode { parent, byte, .. } = self.node(*at);
            let shorter = if parent == ROOT {
                ROOT
            } else {
                self.next_node(self.node(parent).shorter, byte)
            };
            self.change(*at, |node| node.shorter = shorter);
        }
        self.order = order;
    }

    /// Reads the text and marks what is met; a node's shorter ones are met with it.
    fn meet(&mut self, text: &[u8]) {
        self.change(ROOT, |root| root.met = true);
        let mut here = ROOT;
        for byte in text {
            here = self.next_node(here, *byte);
            self.change(here, |node| node.met = true);
        }
        let order = std::mem::take(&mut self.order);
        for at in order.iter().rev() {
            let TrieNode { met, shorter, .. } = self.node(*at);
            self.change(shorter, |node| node.met |= met);
        }
    }
}

/// A text with its borders of words spelled out, so that a name stands in another text *by itself*,
/// and not inside of a longer one, exactly where the spelled name stands in the spelled text.
pub(in crate::govern) fn bordered(text: &str) -> String {
    let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut out = String::with_capacity(text.len().saturating_mul(2));
    let mut before = None;
    for c in text
        .chars()
        .filter(|c| !matches!(*c, BEFORE | AFTER))
        .map(Some)
        .chain([None])
    {
        out.extend(outside(c).then_some(AFTER));
        out.extend(outside(before).then_some(BEFORE));
        out.extend(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::govern::sanitize::steps;

    #[test]
    fn what_stands_in_a_text() {
        let text = "the quick brown fox";
        let sought = [
            "quick",
            "brow",
            "x",
            "the quick brown fox",
            "",
            "quic k",
            "foxx",
            "uic",
            "he q",
            "z",
        ];
        let expected = [
            true, true, true, true, true, false, false, true, true, false,
        ];
        assert_eq!(all_at_once(text, &sought), expected);
        assert_eq!(all_at_once("", &["", "a"]), [true, false]);
        assert!(occurring::<&str>("a", &[]).is_empty());
    }

    #[test]
    fn names_by_themselves() {
        for (text, name, stands) in [
            ("see ledger:01.", "ledger:01", true),
            ("ledger:012", "ledger:01", false),
            ("xledger:01", "ledger:01", false),
            ("ledger:01", "ledger:01", true),
            ("(1.2.3)", "1.2.3", true),
            ("1.2.34 1.2.3", "1.2.3", true),
            ("é1", "1", false),
            ("-1-", "1", true),
            ("a.b", ".b", false),
            ("a .b", ".b", true),
        ] {
            assert_eq!(
                occurring(&bordered(text), &[bordered(name)]),
                [stands],
                "{name} in {text}"
            );
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_a_search_one_by_one_finds(
            text in "[ab1. ]{0,60}",
            sought in prop::collection::vec("[ab1. ]{0,6}", 0..12),
        ) {
            let one_by_one: Vec<bool> = sought.iter().map(|one| text.contains(one.as_str())).collect();
            prop_assert_eq!(all_at_once(&text, &sought), one_by_one.clone());
            prop_assert_eq!(occurring(&text, &sought), one_by_one);
            let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            let names: Vec<&String> = sought.iter().filter(|one| !one.is_empty()).collect();
            let alone: Vec<bool> = names.iter().map(|name| {
                text.char_indices().any(|(at, _)| text[at..].starts_with(name.as_str())
                    && outside(text[..at].chars().next_back()) && outside(text[at + name.len()..].chars().next()))
            }).collect();
            let spelled: Vec<String> = names.iter().map(|name| bordered(name)).collect();
            prop_assert_eq!(occurring(&bordered(&text), &spelled), alone);
        }
    }

    /// Each byte is a step forward, and each step back was one forward before.
    #[test]
    fn many_texts_cost_no_more_than_their_bytes() {
        for (unit, end) in [("a", "b"), ("ab", "c"), ("a1.", "é")] {
            let sought: Vec<String> = (1..300)
                .map(|n| format!("{}{end}", unit.repeat(n)))
                .collect();
            let text = unit.repeat(20_000);
            let bytes = text.len() + sought.iter().map(String::len).sum::<usize>();
            let before = steps();
            occurring(&text, &sought);
            let spent = steps() - before;
            assert!(
                spent <= 5 * bytes as u64,
                "{unit}: {spent} steps for {bytes} bytes"
            );
        }
    }
}
