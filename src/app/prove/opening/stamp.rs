//! The timestamp over what is opened: the first tree head of `main` over it that is in a Bitcoin
//! block.

use std::path::Path;

use crate::anchor::headers_store::HeadersStore;
use crate::ledger::read::Repository;
use crate::record::bitcoin::block::{Header, Network};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::NOTES_OTS;
use crate::record::ledger::opening::{AttestedBlock, Stamp, one_path};
use crate::record::ots::Proof;
use crate::record::tree::parse_note;
use crate::store::Store;

use super::head::file;
use super::notes::noted;
use super::{MAX_EVIDENCE, OpenTextsError, broken};

/// Where proofs and headers are, and what has to be under the stamped tree head.
pub(super) struct StampSources<'a> {
    pub store: &'a Store,
    pub repository: &'a Repository,
    pub headers: &'a Path,
    pub network: Network,
    /// The last line that has to be under it.
    pub line: u64,
}

/// The stamp and the size of its tree, if there is one.
type FoundStamp = Option<(Stamp, u64)>;

/// The stamp, if there is one; and in words which can't be taken along.
pub(super) fn find(place: &StampSources<'_>) -> Result<(FoundStamp, Vec<String>), OpenTextsError> {
    let all = match noted(place.store, place.repository, NOTES_OTS)? {
        Ok(all) => all,
        Err(why) => return Ok((None, vec![format!("the OpenTimestamps proof: {why}")])),
    };
    let mut unusable = Vec::new();
    let covers = |segment: Option<(u64, u64)>| segment.is_some_and(|(_, to)| to > place.line);
    for noted in all.iter().filter(|noted| covers(noted.commit.segment)) {
        let of = |why: String| {
            format!(
                "the OpenTimestamps proof on commit {}: {why}",
                noted.commit.id
            )
        };
        let checkpoint = file(place.store, &noted.commit, "checkpoint")?;
        let size = parse_note(&checkpoint).map_err(broken)?.size;
        let read = noted
            .text(place.repository)
            .and_then(|bytes| Proof::read(&bytes).map_err(|e| e.to_string()));
        match read.map(|proof| one_path(&proof)) {
            Err(why) => unusable.push(of(why)),
            // Pending still.
            Ok(None) => {}
            Ok(Some((ots, _))) if ots.len() > MAX_EVIDENCE => {
                unusable.push(of(format!(
                    "{} bytes are too many for an opening",
                    ots.len()
                )));
            }
            Ok(Some((ots, block))) => {
                let stamp = Stamp {
                    header: header(place, &block)?,
                    ots,
                    checkpoint,
                };
                let own = Hash32::digest(stamp.checkpoint.as_bytes());
                if stamp.read().is_some_and(|stamped| stamped.digest == own) {
                    return Ok((Some((stamp, size)), Vec::new()));
                }
                unusable.push(of("it is of another tree head".to_owned()));
            }
        }
    }
    Ok((None, unusable))
}

/// The attested block's header, if this home has it.
fn header(
    place: &StampSources<'_>,
    block: &AttestedBlock,
) -> Result<Option<Header>, OpenTextsError> {
    let kept = HeadersStore::open(place.headers, place.network, &[block.height]).map_err(broken)?;
    let kept = kept.and_then(|kept| kept.header(block.height));
    let known = place
        .store
        .blocks_at(block.height)?
        .into_iter()
        .filter_map(|anchor| anchor.header);
    let fits = |header: &Header| header.fields().merkle_root == block.merkle_root;
    Ok(kept.into_iter().chain(known).find(fits))
}
