//! What sources have said of blocks so far: one block at two heights is a lie, and of two who say
//! so nobody here can tell which one lies.

use std::collections::BTreeMap;

use super::SourceAnswer;
use crate::anchor::SourceFault;
use crate::record::hash::Hash32;

/// Where each block is, and who said so, in the order in which they said it.
#[derive(Debug, Default)]
pub(super) struct BlockClaims(BTreeMap<Hash32, Vec<(u32, String)>>);

/// Turns answers that contradict each other, or one that was given before, into lies of all who
/// gave one of them. Who was believed in an earlier round and is contradicted now is dropped with
/// its answer of this round.
pub(super) fn contradictions(heard: &mut [SourceAnswer<'_>], told: &mut BlockClaims) {
    for one in heard.iter() {
        let Ok(anchor) = &one.outcome else { continue };
        let said = told.0.entry(anchor.block.hash).or_default();
        let new = (anchor.block.height, one.source.name().to_owned());
        if !said.contains(&new) {
            said.push(new);
        }
    }
    for one in heard.iter_mut() {
        let name = one.source.name();
        let disputed = told.0.iter().find_map(|(hash, said)| {
            let (height, _) = said.iter().find(|(_, who)| who == name)?;
            let (other, who) = said.iter().find(|(other, _)| other != height)?;
            Some((*hash, *height, *other, who.clone()))
        });
        if let Some((hash, height, other, who)) = disputed
            && one.outcome.is_ok()
        {
            let who = if who == name {
                "also".to_owned()
            } else {
                format!("by {who}")
            };
            one.outcome = Err(SourceFault::TwoHeights {
                at: name.to_owned(),
                hash,
                height,
                who,
                other,
            });
        }
    }
}
