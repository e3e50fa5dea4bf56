//! The blocks that the session started and ended on, and what they show of time.

use crate::record::bitcoin::block::{Block, Header, Network, check_anchor};
use crate::record::bitcoin::fit::{check_height, line_fits};
use crate::record::hash::Hash32;
use crate::record::ledger::documents::Genesis;
use crate::record::ledger::opening::Document;
use crate::record::time::Seconds;

use super::super::report::{CheckAnswer, CheckVerdict};
use super::height;
use super::lines::OpeningEntry;
use super::{OpeningCheck, OpeningQuestion, OpeningSubject};

/// The block that the session started on, if its header shows it.
pub(super) struct StartBlock {
    pub height: u32,
    pub time: Seconds,
    pub name: String,
}

/// One of the session's two blocks, and the header that the file has for it.
struct AnchorBlock<'a> {
    what: &'static str,
    shown: &'a OpeningEntry<'a>,
    block: &'a Block,
    header: Option<Header>,
}

impl<'a> OpeningCheck<'a> {
    /// The block that the session started on. The end's is held against the same rules.
    pub(super) fn not_before(
        &mut self,
        read: &OpeningSubject<'a>,
    ) -> (CheckVerdict, Option<StartBlock>) {
        let Some(genesis) = read.genesis() else {
            return (
                CheckVerdict::new(CheckAnswer::NotChecked, "no genesis"),
                None,
            );
        };
        let anchored = self.anchored(read);
        for anchor in &anchored {
            self.anchor(anchor, genesis);
        }
        if let [start, end] = anchored.as_slice()
            && start.block.hash == end.block.hash
        {
            // One hash at two heights is a lie.
            self.same(
                "close.json",
                "one block, and height",
                start.block.height,
                end.block.height,
            );
        }
        let Some(start) = anchored.first().filter(|anchor| anchor.what == "start") else {
            let words = "the line is outside any session, so no block is bound to it";
            return (CheckVerdict::new(CheckAnswer::NotChecked, words), None);
        };
        if start.block.is_local() {
            return (
                CheckVerdict::new(
                    CheckAnswer::NotChecked,
                    "no anchor: the session started on no block",
                ),
                None,
            );
        }
        let Some(header) = start.header else {
            return (
                CheckVerdict::new(CheckAnswer::NotChecked, "the block has no header"),
                None,
            );
        };
        let name = named(start.block);
        let height = self.height(
            OpeningQuestion::NotBefore,
            "headers",
            &header,
            start.block.height,
            genesis.network,
        );
        let known = (self.count(OpeningQuestion::NotBefore) == 0).then(|| StartBlock {
            height: start.block.height,
            time: start.block.time,
            name: name.clone(),
        });
        if !self.shows_time(genesis.network) {
            return (
                CheckVerdict::new(CheckAnswer::NotChecked, height::of_no_time(genesis.network)),
                known,
            );
        }
        let verdict = match height.lacks() {
            Some(why) => CheckVerdict::new(
                CheckAnswer::NotChecked,
                format!("the session says that it started on {name}: {why}"),
            ),
            None => CheckVerdict::new(
                CheckAnswer::Yes,
                format!("the session started on {name}{}", height.words()),
            ),
        };
        (verdict, known)
    }

    /// Gives the file's headers to the blocks of start and end: one to each that is not local, in
    /// that order.
    fn anchored<'r>(&mut self, read: &'r OpeningSubject<'a>) -> Vec<AnchorBlock<'r>> {
        let mut headers = self.file.headers.iter();
        let mut anchored = Vec::new();
        for shown in &read.lines {
            let (what, block) = match shown.document {
                Some(Document::Session(document)) => ("start", &document.block),
                Some(Document::Close(document)) => ("end", &document.block),
                _ => continue,
            };
            let mut header = None;
            if !block.is_local() {
                header = headers.next();
                let height = header.map_or_else(|| "none".to_owned(), |found| found.0.to_string());
                self.same(
                    "headers",
                    &format!("the {what}'s, of block"),
                    block.height.to_string(),
                    height,
                );
            }
            anchored.push(AnchorBlock {
                what,
                shown,
                block,
                header: header.map(|found| found.1),
            });
        }
        if let Some(more) = headers.next() {
            let expected = "one for each block of start and end that is not local";
            self.find(
                OpeningQuestion::Consistent,
                "headers",
                expected,
                format!("one more, of {}", more.0),
            );
        }
        anchored
    }

    /// Header, network, and the line's own time.
    fn anchor(&mut self, anchor: &AnchorBlock<'_>, genesis: &Genesis) {
        let AnchorBlock {
            what,
            shown,
            block,
            header,
        } = anchor;
        if block.network != genesis.network {
            self.same(
                &shown.place(),
                "network",
                genesis.network.name(),
                block.network.name(),
            );
        }
        let local = [
            block.is_local(),
            block.height == 0,
            block.hash == Hash32::ZERO,
        ];
        if local.iter().any(|is| *is) && !local.iter().all(|is| *is) {
            for about in [OpeningQuestion::Consistent, OpeningQuestion::NotBefore] {
                let expected = "hash zero, height 0 and source local together, or none of them";
                self.find(about, shown.place(), expected, named(block));
            }
        }
        if let Err(fault) = check_anchor(header.as_ref(), block, genesis.network) {
            let expected = format!(
                "a header that shows the work of block {}, of the session's {what}",
                block.height
            );
            self.find(OpeningQuestion::NotBefore, "headers", expected, fault);
        }
        let Some(header) = header else { return };
        let time = header.fields().time;
        let whose = format!("the header of the session's {what}");
        self.same(&whose, "block", block.hash, header.hash());
        self.same(&whose, "time", block.time, time);
        if !line_fits(shown.line.time, time) {
            let expected = format!("a line that is not before its block, of {time}");
            self.find(
                OpeningQuestion::Consistent,
                shown.place(),
                expected,
                shown.line.time,
            );
        }
        let claimed = Block {
            time,
            ..(*block).clone()
        };
        if let Err(fault) = check_height(&claimed) {
            self.find(
                OpeningQuestion::Consistent,
                shown.place(),
                "a block whose height and time belong together",
                fault,
            );
        }
    }
}

/// How a block is called.
pub(super) fn named(block: &Block) -> String {
    let test = if block.network == Network::Bitcoin {
        ""
    } else {
        ", a test network"
    };
    format!(
        "block {} of {} ({}{test})",
        block.height,
        block.network.name(),
        block.time
    )
}

/// By a block, by the policy's witnesses, or by neither.
pub(super) fn not_after(stamped: Option<CheckVerdict>, cosigned: Option<Seconds>) -> CheckVerdict {
    match (stamped, cosigned) {
        (Some(block), None) => block,
        (Some(block), Some(time)) if block.answer == CheckAnswer::Yes => CheckVerdict::new(
            CheckAnswer::Yes,
            format!("{}; witnesses saw the tree by {time}", block.reason),
        ),
        (_, Some(time)) => CheckVerdict::new(
            CheckAnswer::Yes,
            format!("witnesses saw the tree by {time}"),
        ),
        (None, None) => CheckVerdict::new(
            CheckAnswer::NotChecked,
            "the file carries no OpenTimestamps proof, and no witness of a policy was counted",
        ),
    }
}
