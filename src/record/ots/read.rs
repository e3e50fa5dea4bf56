//! Reading a proof, within limits.

use super::{Attestation, FileHash, MAX_DEPTH, MAX_MESSAGE, MAX_PAYLOAD, MAX_PROOF, MAX_URI};
use super::{Op, OtsFault, OtsReason, Proof, ProofNode};

/// How every proof begins.
pub(super) const MAGIC: &[u8; 31] =
    b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94";
/// The version that follows.
pub(super) const VERSION: u8 = 1;
/// Another branch follows this one.
pub(super) const FORK: u8 = 0xff;
/// An attestation follows.
pub(super) const ATTESTATION: u8 = 0x00;
/// Tags by which a proof names each kind of attestation.
pub(super) const PENDING: [u8; 8] = [0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e];
pub(super) const BITCOIN: [u8; 8] = [0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01];
pub(super) const LITECOIN: [u8; 8] = [0x06, 0x86, 0x9a, 0x0d, 0x73, 0xd7, 0x1b, 0x45];
pub(super) const ETHEREUM: [u8; 8] = [0x30, 0xfe, 0x80, 0x87, 0xb5, 0xc7, 0xea, 0xd7];

/// Bytes and how far they were read.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn fault<T>(&self, reason: OtsReason) -> Result<T, OtsFault> {
        Err(OtsFault {
            at: self.at,
            reason,
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], OtsFault> {
        let taken = self
            .at
            .checked_add(count)
            .and_then(|end| self.bytes.get(self.at..end));
        let Some(taken) = taken else {
            return self.fault(OtsReason::Truncated);
        };
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, OtsFault> {
        let [byte] = self.array::<1>()?;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], OtsFault> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// LEB128, at most nine bytes: 63 bits.
    fn number(&mut self) -> Result<u64, OtsFault> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(OtsFault {
            at: start,
            reason: OtsReason::Number,
        })
    }

    /// A length within a range, and so many bytes.
    fn string(
        &mut self,
        range: std::ops::RangeInclusive<usize>,
        wrong: fn(u64) -> OtsReason,
    ) -> Result<&'a [u8], OtsFault> {
        let start = self.at;
        let length = self.number()?;
        match usize::try_from(length)
            .ok()
            .filter(|length| range.contains(length))
        {
            Some(length) => self.take(length),
            None => Err(OtsFault {
                at: start,
                reason: wrong(length),
            }),
        }
    }

    fn end(&self) -> Result<(), OtsFault> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            self.fault(OtsReason::Trailing)
        }
    }
}

fn input(bytes: &[u8]) -> Result<Input<'_>, OtsFault> {
    let input = Input { bytes, at: 0 };
    if bytes.len() > MAX_PROOF {
        input.fault(OtsReason::TooLarge)
    } else {
        Ok(input)
    }
}

/// Reads a whole file.
pub(super) fn proof(bytes: &[u8]) -> Result<Proof, OtsFault> {
    let mut input = input(bytes)?;
    if !bytes.starts_with(MAGIC) {
        return input.fault(OtsReason::Magic);
    }
    input.at = MAGIC.len();
    let version = input.number()?;
    if version != u64::from(VERSION) {
        return Err(OtsFault {
            at: MAGIC.len(),
            reason: OtsReason::Version(version),
        });
    }
    let at = input.at;
    let tag = input.byte()?;
    let file_hash = FileHash::of_tag(tag).ok_or(OtsFault {
        at,
        reason: OtsReason::FileHash(tag),
    })?;
    let digest = input.take(file_hash.length())?.to_vec();
    let tree = branches(&mut input, &digest, MAX_DEPTH)?;
    input.end()?;
    Ok(Proof {
        file_hash,
        digest,
        tree,
    })
}

/// Reads a tree over a message, and nothing after it.
pub(super) fn tree(bytes: &[u8], message: &[u8]) -> Result<ProofNode, OtsFault> {
    let mut input = input(bytes)?;
    let tree = branches(&mut input, message, MAX_DEPTH)?;
    input.end()?;
    Ok(tree)
}

fn branches(input: &mut Input<'_>, message: &[u8], levels: usize) -> Result<ProofNode, OtsFault> {
    let Some(levels) = levels.checked_sub(1) else {
        return input.fault(OtsReason::Depth);
    };
    let mut tree = ProofNode::default();
    loop {
        let at = input.at;
        let tag = input.byte()?;
        let (more, tag, at) = if tag == FORK {
            (true, input.byte()?, at + 1)
        } else {
            (false, tag, at)
        };
        if tag == ATTESTATION {
            tree.attestations.insert(attestation(input)?);
        } else {
            let op = operation(input, tag, at)?;
            let made = op
                .apply(message)
                .map_err(|reason| OtsFault { at, reason })?;
            let below = branches(input, &made, levels)?;
            tree.branches.entry(op).or_default().merge(below);
        }
        if !more {
            return Ok(tree);
        }
    }
}

fn operation(input: &mut Input<'_>, tag: u8, at: usize) -> Result<Op, OtsFault> {
    let mut operand = || Ok(input.string(1..=MAX_MESSAGE, OtsReason::Operand)?.to_vec());
    match tag {
        0x02 => Ok(Op::Sha1),
        0x03 => Ok(Op::Ripemd160),
        0x08 => Ok(Op::Sha256),
        0x67 => Ok(Op::Keccak256),
        0xf0 => operand().map(Op::Append),
        0xf1 => operand().map(Op::Prepend),
        0xf2 => Ok(Op::Reverse),
        0xf3 => Ok(Op::Hexlify),
        _ => Err(OtsFault {
            at,
            reason: OtsReason::Operation(tag),
        }),
    }
}

fn attestation(input: &mut Input<'_>) -> Result<Attestation, OtsFault> {
    let tag = input.array()?;
    let payload = input.string(0..=MAX_PAYLOAD, |_| OtsReason::Payload)?;
    let mut inside = Input {
        bytes: payload,
        at: 0,
    };
    let from = input.at - payload.len();
    let outside = |fault: OtsFault| OtsFault {
        at: from + fault.at,
        reason: payload_reason(fault.reason),
    };
    let mut height = || {
        let height = inside.number().map_err(outside)?;
        inside.end().map_err(outside).map(|()| height)
    };
    match tag {
        BITCOIN => Ok(Attestation::Bitcoin { height: height()? }),
        LITECOIN => Ok(Attestation::Litecoin { height: height()? }),
        ETHEREUM => Ok(Attestation::Ethereum { height: height()? }),
        PENDING => {
            let uri = inside
                .string(0..=MAX_URI, |_| OtsReason::Uri)
                .map_err(outside)?;
            inside.end().map_err(outside)?;
            let uri = std::str::from_utf8(uri).ok().filter(|uri| is_address(uri));
            let uri = uri
                .ok_or(OtsFault {
                    at: from,
                    reason: OtsReason::Uri,
                })?
                .to_owned();
            Ok(Attestation::Pending { uri })
        }
        _ => Ok(Attestation::Unknown {
            tag,
            payload: payload.to_vec(),
        }),
    }
}

/// A payload that ends early or late has a wrong length; the proof around it goes on.
fn payload_reason(reason: OtsReason) -> OtsReason {
    match reason {
        OtsReason::Truncated | OtsReason::Trailing => OtsReason::Payload,
        other => other,
    }
}

/// The characters that calendars' addresses have: an address is shown, and asked.
pub(super) fn is_address(uri: &str) -> bool {
    uri.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._/:".contains(&b))
}
