//! Between which blocks an opened text was made.

use crate::record::block::{Block, Header, Network, Source, check_anchor, check_header};
use crate::record::entry::Line;
use crate::record::hash::Hash32;
use crate::record::opening::Stamped;
use crate::record::time::Seconds;

use super::super::report::{Answer, Verdict};
use super::{About, Check};

impl Check<'_> {
    /// The block that the session started on.
    pub(super) fn not_before(&mut self) -> Verdict {
        let Some(part) = &self.file.start else {
            return Verdict::new(Answer::NotChecked, "the line is outside any session, so no block is bound to it");
        };
        let block = &part.document.block;
        if let Err(fault) = check_anchor(part.header.as_ref(), block, block.network) {
            let expected = format!("a header that shows the work of block {}", block.height);
            self.find(About::NotBefore, "start", expected, fault);
        }
        if block.is_local() {
            return Verdict::new(Answer::NotChecked, "the session started on no block");
        }
        let name = named(block);
        let Some(header) = &part.header else { return Verdict::new(Answer::NotChecked, "the block has no header") };
        let height = self.height(About::NotBefore, "start", header, block.height, block.network);
        match height.lacks() {
            Some(why) => Verdict::new(Answer::NotChecked, format!("the session says that it started on {name}: {why}")),
            None => Verdict::new(Answer::Yes, format!("the session started on {name}{}", height.words())),
        }
    }

    /// The block that a later head of the log is in; none when no proof is there.
    pub(super) fn stamp(&mut self, line: Option<&Line>) -> Option<Verdict> {
        let stamp = self.file.stamp.as_ref()?;
        let Some(Stamped { digest, merkle_root, height }) = stamp.read() else {
            let expected = "an OpenTimestamps proof that is one path to one Bitcoin block";
            self.find(About::NotAfter, "stamp", expected, "another proof");
            return None;
        };
        let end = self.stamped_head(line);
        if end != Some(digest) {
            let expected =
                end.map_or_else(|| "a way to the stamped head".to_owned(), |end| format!("a stamp of {end}"));
            self.find(About::NotAfter, "stamp", expected, digest);
        }
        let Some(network) = self.file.start.as_ref().map(|start| start.document.block.network) else {
            self.find(About::NotAfter, "stamp", "a start, which says which network", "none");
            return None;
        };
        let words = "an OpenTimestamps proof is there, and not its block's header";
        // Kept headers stand in for one that the file does not bring.
        let kept = || self.chain.and_then(|chain| chain.get(&height)).copied();
        let Some(header) = stamp.header.or_else(kept) else { return Some(Verdict::new(Answer::NotChecked, words)) };
        Some(self.attested(&header, merkle_root, height, network))
    }

    /// HASH of the line that the stamp is to be of.
    fn stamped_head(&self, line: Option<&Line>) -> Option<Hash32> {
        let (stamp, line) = (self.file.stamp.as_ref()?, line?);
        match (stamp.end_of_lines(line.hash), &self.file.close, &self.file.record) {
            (Some(end), ..) => Some(end),
            (None, Some(close), Some(_)) if close.later.is_some() => close.line().ok().map(|line| line.hash),
            _ => None,
        }
    }

    fn attested(&mut self, header: &Header, root: Hash32, height: u32, network: Network) -> Verdict {
        let fields = header.fields();
        let block = Block { hash: header.hash(), height, network, source: Source::File, time: fields.time };
        if fields.merkle_root != root {
            self.find(About::NotAfter, "stamp", format!("a header with Merkle root {root}"), fields.merkle_root);
        }
        if let Err(fault) = check_header(header, &block, network) {
            let expected = format!("a header that shows the work of block {height}");
            self.find(About::NotAfter, "stamp", expected, fault);
        }
        // The proof of work shows the time of the header; which height it has, only a chain of headers shows.
        let name = named(&block);
        let height = self.height(About::NotAfter, "stamp", header, height, network);
        match height.lacks() {
            Some(why) => Verdict::new(Answer::NotChecked, format!("an OpenTimestamps proof names {name}: {why}")),
            None => Verdict::new(Answer::Yes, format!("a later head of the log is in {name}{}", height.words())),
        }
    }
}

/// How a block is called.
fn named(block: &Block) -> String {
    let test = if block.network == Network::Bitcoin { "" } else { ", a test network, which shows no time" };
    format!("block {} of {} ({}{test})", block.height, block.network.name(), block.time)
}

/// By a block, by the policy's witnesses, or by neither.
pub(super) fn not_after(stamped: Option<Verdict>, cosigned: Option<Seconds>) -> Verdict {
    match (stamped, cosigned) {
        (Some(block), None) => block,
        (Some(block), Some(time)) if block.answer == Answer::Yes => {
            Verdict::new(Answer::Yes, format!("{}; witnesses saw the tree by {time}", block.reason))
        }
        (_, Some(time)) => Verdict::new(Answer::Yes, format!("witnesses saw the tree by {time}")),
        (None, None) => Verdict::new(
            Answer::NotChecked,
            "the file carries no OpenTimestamps proof, and no witness of a policy was counted",
        ),
    }
}
