//! Many sources, one block: everybody asked at once, every header checked, liars named.

mod known;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::Instant;

use super::{BlockSource, SourceFault};
use crate::record::bitcoin::block::{Anchor, Block, HeaderFault, Network, Source};
use crate::record::bitcoin::epochs::is_cheap;
use crate::record::bitcoin::fit::CLOCKS_APART;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use known::{BlockClaims, contradictions};

/// How old a block may be, by this machine's clock, to be stood on: on mainnet six blocks an hour
/// are found.
const MAX_BEHIND: u64 = 24 * 60 * 60;

/// Explorers lag each other by a block or two for minutes; an hour's worth of blocks is not lag.
const USUAL_LAG: u32 = 6;

/// Whose word is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// Of those that answer, only what all of them have counts; one that answers alone is enough.
    All,
    /// So many sources must name the same block; 0 and 1 both mean that one is enough.
    Of(usize),
}

impl std::fmt::Display for Quorum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Quorum::All => f.write_str("auto"),
            Quorum::Of(count) => write!(f, "{count}"),
        }
    }
}

/// How many sources have to agree, and how long they may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreementPolicy {
    /// Whose word is enough.
    pub quorum: Quorum,
    /// The time for everything together.
    pub deadline: Duration,
}

impl Default for AgreementPolicy {
    /// All that answer, within 3 seconds.
    fn default() -> Self {
        AgreementPolicy {
            quorum: Quorum::All,
            deadline: Duration::from_secs(3),
        }
    }
}

/// What one source said about its tip.
#[derive(Clone, Debug)]
pub struct SourceTip {
    /// The source's name.
    pub name: String,
    /// The source's kind.
    pub kind: Source,
    /// Its block, with an accepted header; or why it doesn't count.
    pub outcome: Result<Block, SourceFault>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of asking.
#[derive(Clone, Debug)]
#[must_use = "its notices name the sources that lied, and say when there is no anchor"]
pub struct Observation {
    /// The block to stand on; `local` when nobody could be believed.
    pub anchor: Anchor,
    /// Why nobody could be; none where somebody was, or nobody was asked.
    pub lack: Option<BlockLack>,
    /// Every source's answer, in the order of configuration.
    pub answers: Vec<SourceTip>,
    /// Lines for stderr; empty when all is as usual.
    pub notices: Vec<String>,
}

/// Why there is no block to stand on, though somebody was asked for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLack {
    /// A word for programs: `offline`, `refused`, `none_given`, `not_agreed`.
    pub reason: &'static str,
    /// The same for people, as it goes on after *no block:*.
    pub says: &'static str,
    /// What each source did, in a line.
    pub why: String,
}

impl BlockLack {
    fn of(heard: &[SourceAnswer], why: String) -> Self {
        let refused =
            |one: &&SourceAnswer| one.outcome.as_ref().is_err_and(SourceFault::is_refused);
        let refused = heard.iter().filter(refused).count();
        let (reason, says) = if heard.iter().all(SourceAnswer::is_silent) {
            ("offline", "offline")
        } else if heard.iter().any(|one| one.outcome.is_ok()) {
            ("not_agreed", "too few sources agree on one")
        } else {
            match (refused, heard.len()) {
                (0, _) => ("none_given", "no source gave one"),
                (1, 1) => ("refused", "the source's answer was refused"),
                (1, _) => ("refused", "a source's answer was refused"),
                _ => ("refused", "the sources' answers were refused"),
            }
        };
        BlockLack { reason, says, why }
    }

    fn is_offline(&self) -> bool {
        self.reason == "offline"
    }

    /// What a person is told of it.
    fn notice(&self) -> String {
        let why = &self.why;
        match self.is_offline() {
            true => format!("{OFFLINE}: {why}. To stop asking: gently config set anchor.mode off"),
            false => format!("{NO_BLOCK}: {why}"),
        }
    }
}

/// How the notice begins that nobody could be asked,
const OFFLINE: &str = "Offline: no Bitcoin block, so your clock alone says when";
/// and the one that somebody could, and that no block came of it.
const NO_BLOCK: &str = "No Bitcoin block, so your clock alone says when";

impl Observation {
    /// The notices but the one that nobody could be asked, for somebody who knows that already.
    pub fn notices_beside_offline(&self) -> impl Iterator<Item = &str> {
        let notices = self.notices.iter().map(String::as_str);
        notices.filter(|notice| !notice.starts_with(OFFLINE))
    }
}

/// What an answer is held against.
#[derive(Clone, Copy)]
struct AnswerBasis<'a> {
    network: Network,
    now: Seconds,
    known: RecordedHeight<'a>,
}

/// The height of a block that is on record, if it is another than this one.
pub type RecordedHeight<'a> = &'a dyn Fn(Hash32, u32) -> Option<u32>;

/// Asks every source at once, and chooses the block to stand on; nothing is on record yet.
pub async fn observe(
    sources: &[Box<dyn BlockSource>],
    network: Network,
    policy: AgreementPolicy,
    now: Seconds,
) -> Observation {
    observe_beside(sources, network, policy, now, &|_, _| None).await
}

/// Asks every source at once, and chooses the block to stand on.
///
/// Every answer is checked as format section 9 says; one that fails is a lie, is named in `notices`
/// and dropped: a header without its work, a height that does not fit its time, a block that is on
/// record at another height, or that another source has at another height (then both are dropped).
/// So is a block that is more than a day behind the clock, but for test networks and header files.
///
/// With [`Quorum::All`] a block counts that every source has which answers: sources are compared at
/// the lowest of their tips, and if they differ there (a block that will be orphaned) a few blocks
/// lower. With a quorum of 1 the highest valid block wins, tips that differ by a few blocks being
/// usual. Two valid blocks at one height are named in a notice, and that of the source configured
/// first is taken: either is a sound *not before*, since neither could exist before its proof of
/// work was done, and that one of them is orphaned later does not change when that was.
///
/// With a quorum of k, k sources of different names must say the same block. They are compared at
/// the lowest of their tips, first among those with the k highest tips, then with one more source,
/// and so on: a source that lags or lies low can't hold the others back, and one that is caught is
/// asked no more. Where several are compared, tips get half of the deadline, so that one slow
/// source leaves time for that.
///
/// Nobody believed: the `local` block at `now`, and one notice that there is no anchor, and why for
/// each source. Never fails, never panics, and takes `policy.deadline` at most.
pub async fn observe_beside(
    sources: &[Box<dyn BlockSource>],
    network: Network,
    policy: AgreementPolicy,
    now: Seconds,
    known: RecordedHeight<'_>,
) -> Observation {
    let start = Instant::now();
    let basis = AnswerBasis {
        network,
        now,
        known,
    };
    let compares = match policy.quorum {
        Quorum::All => sources.len() > 1,
        Quorum::Of(count) => count > 1,
    };
    let wait = if compares {
        policy.deadline / 2
    } else {
        policy.deadline
    };
    let mut heard = join_all(
        sources
            .iter()
            .map(|s| ask(&**s, s.tip(), basis, None, wait)),
    )
    .await;
    let mut told = BlockClaims::default();
    contradictions(&mut heard, &mut told);
    let mut notices: Vec<String> = heard.iter().filter_map(SourceAnswer::dropped).collect();
    let valid_tips: Vec<ValidTip> = heard.iter().filter_map(SourceAnswer::valid_tip).collect();
    notices.extend(disagreements(&valid_tips));
    let left = policy.deadline.saturating_sub(start.elapsed());
    let chosen = match policy.quorum {
        Quorum::All if valid_tips.is_empty() => Err(reasons(&heard)),
        Quorum::All => {
            let mut round = Round {
                basis,
                left,
                told,
                notices: &mut notices,
            };
            everybodys(&fresh(&valid_tips, now), &mut round).await
        }
        Quorum::Of(count) if count > 1 => {
            let mut round = Round {
                basis,
                left,
                told,
                notices: &mut notices,
            };
            agreed(&valid_tips, count, &mut round)
                .await
                .map_err(|why| format!("{why}{}", silent(&heard)))
        }
        Quorum::Of(_) => highest(&valid_tips).cloned().ok_or_else(|| reasons(&heard)),
    };
    let (anchor, lack) = match chosen {
        Ok(anchor) => (anchor, None),
        // Whom nobody is to ask has chosen so, and is not told every time.
        Err(_) if sources.is_empty() => (Anchor::local(network, now), None),
        Err(why) => (
            Anchor::local(network, now),
            Some(BlockLack::of(&heard, why)),
        ),
    };
    notices.extend(lack.as_ref().map(BlockLack::notice));
    notices.extend(clock_warning(&anchor.block, now));
    Observation {
        anchor,
        lack,
        answers: heard.into_iter().map(SourceAnswer::into_answer).collect(),
        notices,
    }
}

/// What is needed to compare sources.
struct Round<'a> {
    basis: AnswerBasis<'a>,
    /// The time that is left.
    left: Duration,
    told: BlockClaims,
    notices: &'a mut Vec<String>,
}

/// One source's checked answer.
struct SourceAnswer<'a> {
    source: &'a dyn BlockSource,
    outcome: Result<Anchor, SourceFault>,
    elapsed: Duration,
}

/// A source with a valid tip.
#[derive(Clone, Copy)]
struct ValidTip<'a> {
    source: &'a dyn BlockSource,
    tip: &'a Anchor,
}

impl<'a> SourceAnswer<'a> {
    /// Whether nothing came of asking it: no answer, of whatever kind.
    fn is_silent(&self) -> bool {
        matches!(
            self.outcome,
            Err(SourceFault::Unreachable { .. } | SourceFault::Timeout { .. })
        )
    }

    fn valid_tip(&self) -> Option<ValidTip<'_>> {
        self.outcome.as_ref().ok().map(|tip| ValidTip {
            source: self.source,
            tip,
        })
    }

    fn dropped(&self) -> Option<String> {
        let fault = self
            .outcome
            .as_ref()
            .err()
            .filter(|fault| fault.is_dropped())?;
        Some(format!("block source dropped: {fault}"))
    }

    fn into_answer(self) -> SourceTip {
        SourceTip {
            name: self.source.name().to_owned(),
            kind: self.source.kind(),
            outcome: self.outcome.map(|anchor| anchor.block),
            elapsed: self.elapsed,
        }
    }
}

async fn ask<'a>(
    source: &'a dyn BlockSource,
    question: BoxFuture<'a, Result<Anchor, SourceFault>>,
    basis: AnswerBasis<'_>,
    height: Option<u32>,
    wait: Duration,
) -> SourceAnswer<'a> {
    let start = Instant::now();
    let outcome = match tokio::time::timeout(wait, question).await {
        Ok(answer) => answer.and_then(|anchor| accept(source, anchor, basis, height)),
        Err(_) => Err(SourceFault::Timeout {
            at: source.name().to_owned(),
            after: wait,
        }),
    };
    SourceAnswer {
        source,
        outcome,
        elapsed: start.elapsed(),
    }
}

/// The one place where a claim becomes a block that counts.
fn accept(
    source: &dyn BlockSource,
    anchor: Anchor,
    basis: AnswerBasis<'_>,
    height: Option<u32>,
) -> Result<Anchor, SourceFault> {
    let network = basis.network;
    let at = || source.name().to_owned();
    let block = &anchor.block;
    if let Some(expected) = height.filter(|expected| *expected != block.height) {
        return Err(SourceFault::OtherHeight {
            at: at(),
            expected,
            actual: block.height,
        });
    }
    // A local block passes the check as what it is; as a source's answer it is no block.
    let missing = || HeaderFault::Missing {
        height: block.height,
        hash: block.hash,
    };
    let checked = if block.is_local() {
        Err(missing())
    } else {
        anchor.check(network)
    };
    checked.map_err(|fault| SourceFault::Lie {
        at: at(),
        height: block.height,
        fault,
    })?;
    if block.height == 0 {
        return Err(SourceFault::NoBlockYet { at: at() });
    }
    let bits = anchor.header.map(|header| header.fields().bits);
    if let Some(bits) = bits.filter(|bits| is_cheap(network, *bits)) {
        return Err(SourceFault::Cheap {
            at: at(),
            height: block.height,
            bits,
        });
    }
    if let Some(other) = (basis.known)(block.hash, block.height) {
        let (hash, height, who) = (block.hash, block.height, "this ledger has it".to_owned());
        return Err(SourceFault::TwoHeights {
            at: at(),
            hash,
            height,
            who,
            other,
        });
    }
    if network == Network::Bitcoin
        && source.kind() != Source::File
        && basis.now.since(block.time) > MAX_BEHIND
    {
        return Err(SourceFault::Old {
            at: at(),
            height: block.height,
            time: block.time,
            now: basis.now,
        });
    }
    Ok(anchor)
}

/// The highest tip; of several at one height that of the source configured first.
fn highest<'a>(valid_tips: &[ValidTip<'a>]) -> Option<&'a Anchor> {
    valid_tips
        .iter()
        .map(|valid_tip| valid_tip.tip)
        .reduce(|best, tip| {
            if tip.block.height > best.block.height {
                tip
            } else {
                best
            }
        })
}

/// Forks between valid tips, and tips further apart than lag explains.
fn disagreements(valid_tips: &[ValidTip]) -> Vec<String> {
    let mut notices = Vec::new();
    for (at, first) in valid_tips.iter().enumerate() {
        for second in valid_tips.iter().skip(at + 1) {
            notices.extend(disagreement(first, second));
        }
    }
    notices
}

fn disagreement(first: &ValidTip, second: &ValidTip) -> Option<String> {
    let (a, b) = (&first.tip.block, &second.tip.block);
    let said = |valid_tip: &ValidTip| {
        format!(
            "{} says {}",
            valid_tip.source.name(),
            valid_tip.tip.block.hash
        )
    };
    if a.height == b.height && a.hash != b.hash {
        let (first, second) = (said(first), said(second));
        return Some(format!(
            "two valid blocks at height {}, one of which will be orphaned: {first}, {second}; either shows 'not before'",
            a.height
        ));
    }
    let (low, high) = if a.height <= b.height {
        (first, second)
    } else {
        (second, first)
    };
    let apart = high.tip.block.height - low.tip.block.height;
    (apart > USUAL_LAG).then(|| {
        format!(
            "block source {} is at height {}, {} at {}: {apart} blocks apart is no lag, one of them is wrong or far behind",
            low.source.name(),
            low.tip.block.height,
            high.source.name(),
            high.tip.block.height
        )
    })
}

/// The tips that are within a day of the clock, if any is: a file of old headers does not hold
/// explorers back.
fn fresh<'a>(valid_tips: &[ValidTip<'a>], now: Seconds) -> Vec<ValidTip<'a>> {
    let is_fresh = |valid_tip: &&ValidTip<'_>| now.since(valid_tip.tip.block.time) <= MAX_BEHIND;
    let fresh: Vec<ValidTip<'a>> = valid_tips.iter().filter(is_fresh).copied().collect();
    if fresh.is_empty() {
        valid_tips.to_vec()
    } else {
        fresh
    }
}

/// The highest block that all of them have, looked for from the lowest of their tips down, or why
/// there is none.
async fn everybodys(valid_tips: &[ValidTip<'_>], round: &mut Round<'_>) -> Result<Anchor, String> {
    let start = Instant::now();
    let mut left = valid_tips.to_vec();
    let mut lower = 0;
    let mut last = Err("every source was dropped".to_owned());
    while let Some(lowest) = left
        .iter()
        .map(|valid_tip| valid_tip.tip.block.height)
        .min()
    {
        if let [only] = left.as_slice() {
            return Ok(only.tip.clone());
        }
        let height = lowest.saturating_sub(lower);
        if lower > USUAL_LAG || height == 0 {
            return last;
        }
        let wait = round.left.saturating_sub(start.elapsed());
        let mut heard = join_all(
            left.iter()
                .map(|valid_tip| at_height(*valid_tip, height, round.basis, wait)),
        )
        .await;
        contradictions(&mut heard, &mut round.told);
        round
            .notices
            .extend(heard.iter().filter_map(SourceAnswer::dropped));
        let dropped: BTreeSet<&str> = heard
            .iter()
            .filter(|one| one.dropped().is_some())
            .map(|one| one.source.name())
            .collect();
        if !dropped.is_empty() {
            last = Err(reasons(&heard));
            left.retain(|valid_tip| !dropped.contains(valid_tip.source.name()));
            continue;
        }
        if heard.iter().any(|one| one.outcome.is_err()) {
            return Err(format!(
                "not every source that answered has block {height}: {}",
                reasons(&heard)
            ));
        }
        let said: BTreeSet<Hash32> = heard
            .iter()
            .filter_map(|one| one.outcome.as_ref().ok())
            .map(|anchor| anchor.block.hash)
            .collect();
        match heard.into_iter().find_map(|one| one.outcome.ok()) {
            Some(anchor) if said.len() == 1 => return Ok(anchor),
            _ => {
                last = Err(format!(
                    "the sources that answer name {} different blocks at height {height}",
                    said.len()
                ));
                lower += 1;
            }
        }
    }
    last
}

/// The block that k sources agree on, or why there is none.
async fn agreed(
    valid_tips: &[ValidTip<'_>],
    quorum: usize,
    round: &mut Round<'_>,
) -> Result<Anchor, String> {
    let start = Instant::now();
    let mut ranked = valid_tips.to_vec();
    // Stable: sources of one height stay in the order of configuration.
    ranked.sort_by_key(|valid_tip| std::cmp::Reverse(valid_tip.tip.block.height));
    let mut tried = Vec::new();
    let mut count = quorum;
    while let Some((top, height)) = ranked
        .get(..count)
        .and_then(|top| Some((top, top.last()?.tip.block.height)))
    {
        // The next round has this height too, and one source more.
        if ranked
            .get(count)
            .is_some_and(|next| next.tip.block.height == height)
        {
            count += 1;
            continue;
        }
        let wait = round.left.saturating_sub(start.elapsed());
        let mut heard = join_all(
            top.iter()
                .map(|valid_tip| at_height(*valid_tip, height, round.basis, wait)),
        )
        .await;
        contradictions(&mut heard, &mut round.told);
        round
            .notices
            .extend(heard.iter().filter_map(SourceAnswer::dropped));
        if let Some(anchor) = majority(&heard, quorum) {
            return Ok(anchor);
        }
        tried.push(format!("at height {height}: {}", reasons(&heard)));
        let liars: BTreeSet<&str> = heard
            .iter()
            .filter(|one| one.dropped().is_some())
            .map(|one| one.source.name())
            .collect();
        // Who lied once is believed no more, and those after it move up.
        let before = ranked.len();
        ranked.retain(|valid_tip| !liars.contains(valid_tip.source.name()));
        count = (count + 1)
            .saturating_sub(before - ranked.len())
            .max(quorum);
    }
    let names: BTreeSet<&str> = valid_tips
        .iter()
        .map(|valid_tip| valid_tip.source.name())
        .collect();
    tried.push(format!(
        "{} of {quorum} sources needed gave a valid block",
        names.len()
    ));
    Err(format!(
        "no {quorum} sources name the same block; {}",
        tried.join("; ")
    ))
}

async fn at_height<'a>(
    valid_tip: ValidTip<'a>,
    height: u32,
    basis: AnswerBasis<'_>,
    wait: Duration,
) -> SourceAnswer<'a> {
    if valid_tip.tip.block.height == height {
        return SourceAnswer {
            source: valid_tip.source,
            outcome: Ok(valid_tip.tip.clone()),
            elapsed: Duration::ZERO,
        };
    }
    ask(
        valid_tip.source,
        valid_tip.source.at(height),
        basis,
        Some(height),
        wait,
    )
    .await
}

/// The first block that `quorum` sources of different names say.
fn majority(heard: &[SourceAnswer], quorum: usize) -> Option<Anchor> {
    let named = |hash: Hash32| {
        let said = |one: &&SourceAnswer| {
            one.outcome
                .as_ref()
                .is_ok_and(|anchor| anchor.block.hash == hash)
        };
        heard
            .iter()
            .filter(said)
            .map(|one| one.source.name())
            .collect::<BTreeSet<_>>()
            .len()
    };
    heard
        .iter()
        .filter_map(|one| one.outcome.as_ref().ok())
        .find(|anchor| named(anchor.block.hash) >= quorum)
        .cloned()
}

/// One clause for each thing that went wrong, with the sources it happened to.
fn reasons(heard: &[SourceAnswer]) -> String {
    if heard.is_empty() {
        return "no block source is configured".to_owned();
    }
    let mut clauses: Vec<(Vec<&str>, String)> = Vec::new();
    for one in heard {
        let (name, what) = (host(one.source.name()), reason(one));
        match clauses.iter_mut().find(|(_, same)| *same == what) {
            Some((names, _)) => names.push(name),
            None => clauses.push((vec![name], what)),
        }
    }
    clauses
        .iter()
        .map(|(names, what)| format!("{} {what}", names.join(" and ")))
        .collect::<Vec<_>>()
        .join("; ")
}

/// What one address did, in a few words for one line.
pub fn in_short(fault: &SourceFault) -> String {
    match fault {
        SourceFault::Unreachable { at, reason } => {
            format!("{} can't be reached: {}", host(at), briefly(reason))
        }
        SourceFault::Timeout { at, after } => {
            format!("{} says nothing within {} s", host(at), after.as_secs())
        }
        other => other.to_string(),
    }
}

/// What one source did, as it goes on after its name.
fn reason(one: &SourceAnswer) -> String {
    match &one.outcome {
        Ok(anchor) => format!("says {}", anchor.block.hash),
        Err(SourceFault::Unreachable { reason, .. }) => {
            format!("can't be reached ({})", briefly(reason))
        }
        Err(SourceFault::Timeout { after, .. }) => {
            format!("gave no answer within {} ms", after.as_millis())
        }
        Err(fault) if fault.is_lie() => "gave a false answer".to_owned(),
        Err(fault) => format!("gave no block ({fault})"),
    }
}

/// The innermost of a transport's nested reasons; the outer ones say only where it happened.
fn briefly(reason: &str) -> &str {
    if reason.contains("dns error") {
        return "name not resolved";
    }
    reason.rsplit(": ").next().unwrap_or(reason)
}

/// The host of an address, as messages name it; a path as it is.
pub fn host(name: &str) -> &str {
    let address = name
        .strip_prefix("https://")
        .or_else(|| name.strip_prefix("http://"));
    address.map_or(name, |rest| rest.split('/').next().unwrap_or(rest))
}

/// The faults of those that gave no valid tip, as further clauses.
fn silent(heard: &[SourceAnswer]) -> String {
    heard
        .iter()
        .filter_map(|one| one.outcome.as_ref().err())
        .map(|fault| format!("; {fault}"))
        .collect()
}

fn clock_warning(block: &Block, now: Seconds) -> Option<String> {
    let seconds = block.time.since(now);
    (!block.is_local() && seconds > CLOCKS_APART).then(|| {
        format!(
            "block {} is {seconds} s ahead of this machine's clock: one of the two is wrong; see: timedatectl",
            block.height
        )
    })
}

#[cfg(test)]
mod tests {
    use futures_util::future::{FutureExt, ready};

    use super::*;
    use crate::record::bitcoin::block::Header;

    /// A source that says whatever it was told to, to every question.
    struct ScriptedSource(Anchor);

    impl BlockSource for ScriptedSource {
        fn name(&self) -> &str {
            "says"
        }
        fn kind(&self) -> Source {
            self.0.block.source
        }
        fn tip(&self) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
            ready(Ok(self.0.clone())).boxed()
        }
        fn at(&self, _height: u32) -> BoxFuture<'_, Result<Anchor, SourceFault>> {
            self.tip()
        }
    }

    fn accepted(anchor: Anchor, height: Option<u32>) -> Result<Anchor, SourceFault> {
        let source = ScriptedSource(anchor);
        let wait = Duration::from_secs(60);
        let basis = AnswerBasis {
            network: Network::Bitcoin,
            now: Seconds::ZERO,
            known: &|_, _| None,
        };
        ask(&source, source.tip(), basis, height, wait)
            .now_or_never()
            .unwrap()
            .outcome
    }

    /// A real block, with as much work as blocks have.
    fn real_block() -> Anchor {
        let rows = include_str!("../../tests/data/btc/headers.csv");
        let row = rows.lines().find(|row| row.starts_with("829619,")).unwrap();
        let [_, hash, header] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        let header: Header = header.parse().unwrap();
        let (height, network, time) = (829_619, Network::Bitcoin, header.fields().time);
        let block = Block {
            hash: hash.parse().unwrap(),
            height,
            network,
            source: Source::Esplora,
            time,
        };
        Anchor {
            block,
            header: Some(header),
        }
    }

    /// The first block of all: at its own height, or at another one where as little work was asked
    /// for.
    fn early_block(height: u32) -> Anchor {
        let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin).header;
        let header: Header = bitcoin::consensus::encode::serialize_hex(&genesis)
            .parse()
            .unwrap();
        let (hash, time) = (header.hash(), header.fields().time);
        let block = Block {
            hash,
            height,
            network: Network::Bitcoin,
            source: Source::Esplora,
            time,
        };
        Anchor {
            block,
            header: Some(header),
        }
    }

    #[tokio::test]
    async fn only_what_was_asked_for_and_proven_counts() {
        let (good, at) = (real_block(), || "says".to_owned());
        let (hash, height, time) = (good.block.hash, good.block.height, good.block.time);
        assert_eq!(accepted(good.clone(), None), Ok(good.clone()));
        assert_eq!(accepted(good.clone(), Some(height)), Ok(good.clone()));
        let other = SourceFault::OtherHeight {
            at: at(),
            expected: 2,
            actual: height,
        };
        assert_eq!(accepted(good.clone(), Some(2)), Err(other));
        // Everybody has the first block from the beginning: it shows no time.
        assert_eq!(
            accepted(early_block(0), None),
            Err(SourceFault::NoBlockYet { at: at() })
        );
        // What costs nothing shows nothing, and a height far from the block's time is nobody's.
        let cheap = SourceFault::Cheap {
            at: at(),
            height: 1,
            bits: 0x1d00_ffff,
        };
        assert_eq!(accepted(early_block(1), None), Err(cheap));
        let mut far = good.clone();
        far.block.height += 2_100;
        let far = accepted(far, None);
        let lie = |fault: &HeaderFault| {
            matches!(
                fault,
                HeaderFault::Height { .. } | HeaderFault::Epoch { .. }
            )
        };
        assert!(
            matches!(&far, Err(SourceFault::Lie { fault, .. }) if lie(fault)),
            "{far:?}"
        );
        // A day and a second behind the clock, a day exactly, and another ledger's own word.
        let known = |known: Hash32, of: u32| (known == hash && of != 829_615).then_some(829_615);
        let nobody = |_: Hash32, _: u32| None;
        for (behind, known, expected) in [
            (MAX_BEHIND, &nobody as RecordedHeight<'_>, None),
            (
                MAX_BEHIND + 1,
                &nobody,
                Some(SourceFault::Old {
                    at: at(),
                    height,
                    time,
                    now: Seconds::new(time.get() + MAX_BEHIND + 1).unwrap(),
                }),
            ),
            (
                0,
                &known,
                Some(SourceFault::TwoHeights {
                    at: at(),
                    hash,
                    height,
                    who: "this ledger has it".to_owned(),
                    other: 829_615,
                }),
            ),
        ] {
            let now = Seconds::new(time.get() + behind).unwrap();
            let source = ScriptedSource(good.clone());
            let basis = AnswerBasis {
                network: Network::Bitcoin,
                now,
                known,
            };
            assert_eq!(accept(&source, good.clone(), basis, None).err(), expected);
        }
        let naked = accepted(
            Anchor {
                header: None,
                ..good.clone()
            },
            None,
        );
        assert!(matches!(
            naked,
            Err(SourceFault::Lie {
                fault: HeaderFault::Missing { .. },
                ..
            })
        ));
        // The local block is sound in a ledger, and no answer of a source.
        let local = accepted(Anchor::local(Network::Bitcoin, Seconds::ZERO), None);
        assert!(matches!(
            local,
            Err(SourceFault::Lie {
                fault: HeaderFault::Missing { .. },
                ..
            })
        ));
    }

    #[test]
    fn a_note_is_one_line_that_can_be_read() {
        let dns = "client error (Connect): dns error: error resolving DNS: failed to lookup address information: Name or service not known";
        assert_eq!(briefly(dns), "name not resolved");
        assert_eq!(
            briefly("client error (Connect): tcp connect error: Connection refused (os error 111)"),
            "Connection refused (os error 111)"
        );
        assert_eq!(briefly("cut"), "cut");
        for (name, short) in [
            ("https://blockstream.info/api", "blockstream.info"),
            ("http://127.0.0.1:3000", "127.0.0.1:3000"),
            ("/srv/headers.csv", "/srv/headers.csv"),
        ] {
            assert_eq!(host(name), short);
        }
        let anchor = real_block();
        let sources = [
            ScriptedSource(anchor.clone()),
            ScriptedSource(anchor.clone()),
        ];
        let unreachable = || SourceFault::Unreachable {
            at: "x".to_owned(),
            reason: dns.to_owned(),
        };
        let heard: Vec<SourceAnswer> = sources
            .iter()
            .map(|source| SourceAnswer {
                source,
                outcome: Err(unreachable()),
                elapsed: Duration::ZERO,
            })
            .collect();
        assert_eq!(
            reasons(&heard),
            "says and says can't be reached (name not resolved)"
        );
    }

    #[tokio::test]
    async fn a_deadline_without_end_is_no_overflow() {
        for quorum in [Quorum::Of(1), Quorum::Of(2), Quorum::All] {
            let sources: [Box<dyn BlockSource>; 1] = [Box::new(ScriptedSource(real_block()))];
            let policy = AgreementPolicy {
                quorum,
                deadline: Duration::MAX,
            };
            let observation =
                observe(&sources, Network::Bitcoin, policy, real_block().block.time).await;
            assert_eq!(observation.anchor.block.is_local(), quorum == Quorum::Of(2));
        }
    }
}
