//! Between which blocks a session, and the whole ledger, came to be (format, section 12).

use crate::ledger::Oid;
use crate::record::bitcoin::block::Network;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::proofs::{AttestedLine, BlockStanding};
use crate::verify::checker::Checker;
use crate::verify::report::{AuditQuestion, CheckAnswer, CheckVerdict, counted};

/// One end of a session's bracket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionBound {
    /// A block of the chain.
    Block {
        /// Height of the block in the chain.
        height: u32,
        /// What its header says.
        time: Seconds,
        /// Whether the height was checked in the kept chain of headers; else it is somebody's word.
        proven: bool,
    },
    /// None, and why.
    None(String),
}

/// How closely the ledger is tied to blocks outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerBounds {
    /// Heads of the log that a block attests.
    pub proofs: u64,
    /// Heads that only blocks attest whose headers are not at hand.
    pub unchecked: u64,
    /// Heads whose proof waits for a block.
    pub pending: u64,
    /// The oldest of them.
    pub waits: Option<PendingProof>,
    /// Lines after the last head that a block attests.
    pub tail: u64,
    /// The widest bracket around any line that has both ends.
    pub longest: Option<TimeBounds>,
    /// Lines that are attested and before which no block is named.
    pub unbounded: u64,
    /// Of the blocks that the ledger names, those at their height in the kept chain.
    pub placed: u64,
    /// Those beside it, on top of one that is in it.
    pub orphaned: u64,
    /// Those that it does not reach.
    pub claimed: u64,
}

/// From this age on a pending proof is named: calendars need hours.
const LATE: u64 = 48 * 60 * 60;

/// A head whose proof waits for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingProof {
    /// The commit that the proof is on.
    pub commit: Oid,
    /// When the proof was put there, by the notes' own, unsigned, history.
    pub since: Seconds,
}

impl PendingProof {
    /// Whether it waits longer than calendars take.
    pub fn is_late(&self, now: Seconds) -> bool {
        now.since(self.since) > LATE
    }
}

/// The blocks between which a line came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBounds {
    /// The first line with this bracket.
    pub line: u64,
    /// The highest block named up to it.
    pub after: u32,
    /// The lowest block that attests it.
    pub before: u32,
}

impl TimeBounds {
    /// How many blocks wide it is.
    pub const fn blocks(&self) -> u32 {
        self.before.saturating_sub(self.after)
    }
}

impl Checker<'_> {
    /// The lowest block that attests a line.
    fn attested(&self, line: u64) -> Option<&AttestedLine> {
        let covering = self
            .proofs
            .attested
            .iter()
            .filter(|proof| proof.line >= line);
        covering.min_by_key(|proof| proof.height)
    }

    /// The bracket of the whole ledger.
    pub(crate) fn bounds(&self) -> LedgerBounds {
        let count = |placed: BlockStanding| {
            self.proofs
                .placed
                .values()
                .filter(|of| **of == placed)
                .count() as u64
        };
        let last = self.proofs.attested.last().map_or(0, |proof| proof.line);
        let mut bounds = LedgerBounds {
            proofs: self.proofs.attested.len() as u64,
            unchecked: self.proofs.unchecked.len() as u64,
            pending: self.proofs.pending,
            waits: self.proofs.waits,
            tail: self
                .log
                .lines
                .state
                .count()
                .saturating_sub(last.max(self.outside.covered_lines())),
            placed: count(BlockStanding::There),
            orphaned: count(BlockStanding::Orphaned),
            claimed: count(BlockStanding::NotReached),
            ..LedgerBounds::default()
        };
        // Blocks that don't hold bound nothing.
        if self.findings.count(AuditQuestion::NotBefore) == 0 {
            self.longest(&mut bounds);
        }
        bounds
    }

    /// A bracket is widest at the first line behind a proof: later ones are after more blocks, and
    /// before the same.
    fn longest(&self, bounds: &mut LedgerBounds) {
        let mut from = 1;
        for proof in &self.proofs.attested {
            let first_named = self
                .log
                .lines
                .rises
                .first()
                .map_or(u64::MAX, |(line, _)| *line);
            bounds.unbounded += (proof.line + 1).min(first_named).saturating_sub(from);
            let line = from.max(first_named);
            let at = self.log.lines.rises.partition_point(|(of, _)| *of <= line);
            let named = at
                .checked_sub(1)
                .and_then(|at| self.log.lines.rises.get(at));
            if let (Some((_, after)), Some(before)) =
                (named, self.attested(line).filter(|_| line <= proof.line))
            {
                let span = TimeBounds {
                    line,
                    after: *after,
                    before: before.height,
                };
                if bounds
                    .longest
                    .is_none_or(|longest| longest.blocks() < span.blocks())
                {
                    bounds.longest = Some(span);
                }
            }
            from = proof.line + 1;
        }
    }

    /// What the kept chain says of the blocks that the ledger names; nothing when none is kept.
    pub(crate) fn placed_words(&self) -> String {
        let bounds = self.bounds();
        if bounds.placed + bounds.orphaned == 0 {
            return self
                .proofs
                .fault
                .as_ref()
                .map(|fault| format!("; heights are claimed ({fault})"))
                .unwrap_or_default();
        }
        let blocks = |n: u64| counted(n, "block");
        let mut words = format!(
            "; {} at the height that the kept headers prove",
            blocks(bounds.placed)
        );
        if bounds.orphaned > 0 {
            words.push_str(&format!(", {} orphaned later", blocks(bounds.orphaned)));
        }
        if bounds.claimed > 0 {
            words.push_str(&format!(", {} beyond them", blocks(bounds.claimed)));
        }
        words
    }

    /// After which block a session began.
    pub(crate) fn not_before_of(&self, id: Hash32) -> SessionBound {
        let Some(document) = self
            .sessions
            .get(id)
            .and_then(|session| session.document.as_ref())
        else {
            return SessionBound::None("its start was not looked at".to_owned());
        };
        let block = &document.block;
        if block.is_local() {
            return SessionBound::None("it starts on no block".to_owned());
        }
        if self.proves_nothing() {
            return SessionBound::None(format!(
                "not checked: block {} of a test network",
                block.height
            ));
        }
        if self.findings.touching(id, AuditQuestion::NotBefore)
            + self.findings.touching(id, AuditQuestion::Consistent)
            > 0
        {
            return SessionBound::None("something is wrong with it".to_owned());
        }
        let placed = self.proofs.placed.get(&(block.height, block.hash));
        let proven = matches!(placed, Some(BlockStanding::There | BlockStanding::Orphaned));
        if !proven && self.proofs.kept && block.network == Network::Bitcoin {
            return SessionBound::None(format!(
                "not checked: the kept headers end below block {}",
                block.height
            ));
        }
        if !self.proofs.kept && self.log.lines.cheap.contains(&id) {
            return SessionBound::None(format!(
                "not checked: cheap work at block {}",
                block.height
            ));
        }
        SessionBound::Block {
            height: block.height,
            time: block.time,
            proven,
        }
    }

    /// Before which block a session had ended.
    pub(crate) fn not_after_of(&self, id: Hash32) -> SessionBound {
        let none = |words: &str| SessionBound::None(words.to_owned());
        let Some(end) = self
            .log
            .lines
            .state
            .session(id)
            .and_then(|session| session.end.as_ref())
        else {
            return none("it is open");
        };
        if self.findings.count(AuditQuestion::NotAfter) > 0 {
            return none("something is wrong with the proofs");
        }
        if self.proves_nothing() {
            return none("not checked: a test network");
        }
        if let Some(proof) = self.attested(end.line) {
            return SessionBound::Block {
                height: proof.height,
                time: proof.time,
                proven: self.proofs.chained.contains(&proof.height),
            };
        }
        if let Some((_, time)) = self.outside.timed.filter(|(lines, _)| *lines >= end.line) {
            return SessionBound::None(format!(
                "no block attests it; witnesses had seen it by {time}"
            ));
        }
        match self
            .proofs
            .unchecked
            .range(end.line..)
            .map(|(_, height)| *height)
            .min()
        {
            Some(height) => SessionBound::None(format!(
                "not checked: no header of block {height}, which attests it, is at hand"
            )),
            None if self.proofs.pending > 0 => none("not proven: proofs wait for a block"),
            None if self.start.is_saved() => {
                none("not checked: proofs on older commits are not looked at with --since")
            }
            None => none("not proven: no OpenTimestamps proof of the log after its end"),
        }
    }

    /// The last line that a block, or witnesses, show to have been there.
    pub(crate) fn not_after_line(&self) -> u64 {
        let attested = self.proofs.attested.last().map_or(0, |proof| proof.line);
        attested.max(self.outside.timed.map_or(0, |(lines, _)| lines))
    }

    /// The answer to *not after*.
    pub(crate) fn not_after(&self, bounds: &LedgerBounds) -> CheckVerdict {
        if let Some(verdict) = self.on_test_network() {
            return verdict;
        }
        let count = self.findings.count(AuditQuestion::NotAfter);
        if count > 0 {
            return CheckVerdict::new(CheckAnswer::No, counted(count, "finding"));
        }
        let pending = match self.proofs.pending {
            0 => String::new(),
            1 => "; 1 proof waits for a block".to_owned(),
            n => format!("; {n} proofs wait for a block"),
        };
        match self.not_after_line() {
            0 => {
                let why = self.why_not_after_unchecked(bounds, &pending);
                CheckVerdict::new(CheckAnswer::NotChecked, why)
            }
            through => self.not_after_through(through, bounds, &pending),
        }
    }

    /// The answer where a block, or witnesses, show the lines up to one to have been there.
    fn not_after_through(
        &self,
        through: u64,
        bounds: &LedgerBounds,
        pending: &str,
    ) -> CheckVerdict {
        let answer = if through >= self.log.lines.state.count() {
            CheckAnswer::Yes
        } else {
            CheckAnswer::Partly
        };
        let mut reasons = Vec::new();
        if let Some(last) = self.proofs.attested.last() {
            let lowest = self.attested(last.line).unwrap_or(last);
            let (proofs, line) = (counted(bounds.proofs, "proof"), last.line);
            reasons.push(format!(
                "{proofs}; lines up to {line} were there before block {} ({})",
                lowest.height, lowest.time
            ));
        }
        if let Some((lines, time)) = self.outside.timed {
            reasons.push(format!(
                "witnesses had seen {} by {time}",
                counted(lines, "line")
            ));
        }
        CheckVerdict::new(
            answer,
            format!("through line {through}: {}{pending}", reasons.join("; ")),
        )
    }

    /// Why nothing shows of any line that it was there.
    fn why_not_after_unchecked(&self, bounds: &LedgerBounds, pending: &str) -> String {
        if self.proofs.cheap > 0 {
            let proofs = counted(self.proofs.cheap, "proof");
            return format!(
                "cheap work: {proofs} by a header that shows less than a sixteenth of what the built-in table ends with{pending}"
            );
        }
        if let Some(height) = self.proofs.unchecked.values().min() {
            let why = self
                .proofs
                .fault
                .as_ref()
                .map(|fault| format!(" ({fault})"))
                .unwrap_or_default();
            let proofs = counted(bounds.unchecked, "proof");
            return format!(
                "{proofs}, and no header of the blocks they name is at hand, the lowest {height}{why}: gently anchor \
                 sync, or a block source{pending}"
            );
        }
        let (part, older) = match self.start.is_saved() {
            true => (
                "what is new",
                "; proofs on older commits are not looked at with --since",
            ),
            false => ("the ledger", ""),
        };
        if self.proofs.pending > 0 {
            let waiting = pending.trim_start_matches("; ");
            return format!("{waiting} yet{older}");
        }
        let plain = if self.history.plain && self.history.notes.is_empty() {
            "; a plain clone leaves out what its origin may have: git fetch origin '+refs/notes/*:refs/notes/*'"
        } else {
            ""
        };
        format!(
            "{part} carries no OpenTimestamps proof, and no tree head in it carries cosignatures that count for a \
             time{older}{plain}"
        )
    }

    /// The words on lines that no proof covers.
    pub(crate) fn tail_words(&self, bounds: &LedgerBounds) -> String {
        let lines = counted(bounds.tail, "line");
        let last = self.proofs.attested.last().map_or(0, |proof| proof.line);
        match self.outside.covered_lines() {
            0 if last == 0 => format!("unanchored tail: {lines}, as no outside proof was checked"),
            covered if covered > last => {
                format!("unanchored tail: {lines}, after the {covered} that witnesses cosigned")
            }
            _ => format!("unanchored tail: {lines} after line {last}"),
        }
    }
}
