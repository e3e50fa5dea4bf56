//! The hashes that tie lines, interactions and sessions together (format, sections 4 and 5).

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// The HASH of a log line: `H(prev ‖ "|" ‖ rest)`, `prev` as 64 ASCII digits, `rest` the line after
/// its first `|`, without the newline.
pub fn line_hash(prev: Hash32, rest: &[u8]) -> Hash32 {
    Hash32::of_parts(&[&prev.digits(), b"|", rest])
}

/// `H(auth_key)`: all that database, log and ledger ever hold of an auth key.
pub fn auth_key_hash(auth_key: &[u8; 32]) -> Hash32 {
    Hash32::digest(auth_key)
}

/// `H(auth_key_hash ‖ block_hash_ascii ‖ log_head)`.
///
/// `block_hash` is spelled as explorers print it: 64 ASCII digits. `log_head` is the head of the
/// log just before the `session_start` line, so two sessions of one key under one block differ.
pub fn session_id(auth_key_hash: Hash32, block_hash: &str, log_head: Hash32) -> Hash32 {
    Hash32::of_parts(&[
        auth_key_hash.as_bytes(),
        block_hash.as_bytes(),
        log_head.as_bytes(),
    ])
}

/// `H(prev ‖ prompt_hash ‖ response_hash ‖ be64(timestamp))`; `prev` of the first one is the
/// session id.
pub fn chain_entry(
    prev: Hash32,
    prompt_hash: Hash32,
    response_hash: Hash32,
    timestamp: Seconds,
) -> Hash32 {
    Hash32::of_parts(&[
        prev.as_bytes(),
        prompt_hash.as_bytes(),
        response_hash.as_bytes(),
        &timestamp.get().to_be_bytes(),
    ])
}

/// `H(session_id ‖ block_hash_ascii_at_close ‖ final)`; `last_entry` is none when nothing was
/// answered, and 32 zero bytes stand in its place.
pub fn session_close_hash(
    session_id: Hash32,
    block_hash: &str,
    last_entry: Option<Hash32>,
) -> Hash32 {
    let last = last_entry.unwrap_or(Hash32::ZERO);
    Hash32::of_parts(&[
        session_id.as_bytes(),
        block_hash.as_bytes(),
        last.as_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn hash(value: &Value) -> Hash32 {
        value.as_str().unwrap().parse().unwrap()
    }

    #[test]
    fn session_vectors() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/vectors/session.json")).unwrap();
        assert!(!vectors.is_empty());
        for v in vectors {
            let key: [u8; 32] = hex::decode(v["auth_key"].as_str().unwrap())
                .unwrap()
                .try_into()
                .unwrap();
            assert_eq!(auth_key_hash(&key), hash(&v["auth_key_hash"]));
            let id = session_id(
                hash(&v["auth_key_hash"]),
                v["block_hash"].as_str().unwrap(),
                hash(&v["log_head"]),
            );
            assert_eq!(id, hash(&v["session_id"]));
        }
    }

    #[test]
    fn chain_vectors() {
        let v: Value =
            serde_json::from_str(include_str!("../../../tests/vectors/chain.json")).unwrap();
        let mut prev = hash(&v["session_id"]);
        for step in v["steps"].as_array().unwrap() {
            assert_eq!(prev, hash(&step["prev"]));
            let time = Seconds::new(step["timestamp"].as_u64().unwrap()).unwrap();
            prev = chain_entry(
                prev,
                hash(&step["prompt_hash"]),
                hash(&step["response_hash"]),
                time,
            );
            assert_eq!(prev, hash(&step["chain_entry"]));
        }
        let block = v["block_hash_at_close"].as_str().unwrap();
        let id = hash(&v["session_id"]);
        assert_eq!(
            session_close_hash(id, block, Some(prev)),
            hash(&v["session_close_hash"])
        );
        assert_eq!(
            session_close_hash(id, block, None),
            hash(&v["close_without_interactions"])
        );
    }
}
