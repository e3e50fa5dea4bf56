//! The OpenTimestamps proof over a line: the one of its session's close, else the first over a later head.

use std::path::Path;

use crate::anchor::headers_store::HeadersStore;
use crate::ledger::read::Repository;
use crate::record::block::{Header, Network};
use crate::record::commit::NOTES_OTS;
use crate::record::entry::Line;
use crate::record::opening::{OpeningFile, StampPart, Stamped, one_path};
use crate::record::ots::Proof;
use crate::store::sqlite::Sqlite;
use crate::store::{CommitRow, Read};

use super::evidence::{Ended, line};
use super::head::covering;
use super::notes::note;
use super::{Found, Stop};

/// More lines than fit beside everything else.
const MOST_LINES: u64 = 32;

/// Where proofs and headers are.
pub(super) struct Place<'a> {
    pub store: &'a Sqlite,
    pub repository: &'a Repository,
    pub headers: &'a Path,
    pub found: &'a Found,
    pub ended: Option<&'a Ended>,
}

/// What there is.
pub(super) enum Stamp {
    /// A proof with a way to it.
    Found(StampPart),
    /// No proof yet.
    None,
    /// A proof that can't be taken along, and why.
    Unusable(String),
}

/// Looks for a proof; `chain` says whether the close can be reached by the session's chain.
pub(super) fn find(place: &Place<'_>, chain: bool, file: &mut OpeningFile) -> Result<Stamp, Stop> {
    let Some(network) = file.start.as_ref().map(|start| start.document.block.network) else { return Ok(Stamp::None) };
    let mut unusable = None;
    let by_close = place.ended.filter(|_| chain).map(|ended| &ended.merge);
    let mut candidates: Vec<(CommitRow, bool)> = by_close.map(|commit| (commit.clone(), true)).into_iter().collect();
    candidates.extend(covering(place.store, place.found.line)?.into_iter().map(|commit| (commit, false)));
    for (commit, by_chain) in candidates {
        let log = Line::parse(line(place.store, commit.line)?.as_bytes()).map_err(super::broken)?.hash;
        match proof_on(place.repository, &commit) {
            Ok(None) => {}
            Err(why) => unusable = Some(why),
            Ok(Some((_, stamped))) if stamped.digest != log => {
                unusable = Some(format!("the OpenTimestamps proof on commit {}: it is of another head", commit.id));
            }
            Ok(Some((ots, stamped))) => {
                let far = commit.line.saturating_sub(place.found.line) > MOST_LINES;
                if !by_chain && far {
                    unusable = Some("the OpenTimestamps proof: too many lines lie before the stamped one".to_owned());
                    continue;
                }
                let lines = if by_chain { None } else { Some(between(place, &commit)?) };
                let header = header(place, network, &stamped)?;
                return Ok(Stamp::Found(StampPart { header, lines, ots }));
            }
        }
    }
    Ok(unusable.map_or(Stamp::None, Stamp::Unusable))
}

/// The proof on a commit, cut to its way to one Bitcoin block; none while there is none, or it is pending.
fn proof_on(repository: &Repository, commit: &CommitRow) -> Result<Option<(Vec<u8>, Stamped)>, String> {
    let Some(bytes) = note(repository, NOTES_OTS, &commit.id)? else { return Ok(None) };
    let proof = Proof::read(&bytes).map_err(|e| format!("the OpenTimestamps proof on commit {}: {e}", commit.id))?;
    Ok(one_path(&proof))
}

/// The lines behind the opened one up to a commit's, each behind its first `|`.
fn between(place: &Place<'_>, commit: &CommitRow) -> Result<Vec<String>, Stop> {
    let mut rests = Vec::new();
    for n in place.found.line + 1..=commit.line {
        let text = line(place.store, n)?;
        rests.push(text.split_once('|').map_or_else(String::new, |(_, rest)| rest.to_owned()));
    }
    Ok(rests)
}

/// The attested block's header, if this home has it.
fn header(place: &Place<'_>, network: Network, stamped: &Stamped) -> Result<Option<Header>, Stop> {
    let kept = HeadersStore::open(place.headers, network, &[stamped.height]).map_err(super::broken)?;
    let kept = kept.and_then(|kept| kept.header(stamped.height));
    let known = place.store.block_at(stamped.height)?.and_then(|anchor| anchor.header);
    let fits = |header: &Header| header.fields().merkle_root == stamped.merkle_root;
    Ok([kept, known].into_iter().flatten().find(fits))
}
