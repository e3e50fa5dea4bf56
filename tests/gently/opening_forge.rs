//! A ledger of somebody who can write whatever he likes: lines, documents, keys and tree heads as
//! they are asked for, and opening files of them. What a writer would refuse is made here, so that
//! it can be seen that a reader does.

use std::collections::BTreeMap;

use ed25519_dalek::{Signer as _, SigningKey};
use gently::record::bitcoin::block::{Block, Header, Network, Source};
use gently::record::canon;
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::{
    Role, Salt, Scheme, TextOpening, commit_with_key, opening_key,
};
use gently::record::ledger::documents::{
    AuthorityState, Close, Format, Genesis, Record, Rotate, SessionDoc, ValidatorFlags,
};
use gently::record::ledger::opening::{Document, Entry, EntryExtra, HeaderAt, OpeningFile, Stamp};
use gently::record::log::chain::{chain_entry, session_close_hash, session_id};
use gently::record::log::entry::{Event, Line};
use gently::record::ots::{Attestation, FileHash, Op, Proof, ProofNode};
use gently::record::signature::{PublicKey, Signature};
use gently::record::time::Seconds;
use gently::record::tree::proof::ProofMaker;
use gently::record::tree::{Frontier, leaf, note};

pub const ORIGIN: &str = "gently/forge";
/// 2024-02-15: the known block of the height rule.
pub const NOW: u64 = 1_708_008_110;

pub fn at(seconds: u64) -> Seconds {
    Seconds::new(seconds).unwrap()
}

/// A turn: its texts, its salt, and the key that opens its prompt when that is none of the salt's.
#[derive(Clone)]
struct Turn {
    prompt: String,
    response: Option<String>,
    salt: Salt,
    prompt_key: Option<Hash32>,
}

#[derive(Clone)]
pub struct Forge {
    pub genesis: Genesis,
    pub keys: Vec<SigningKey>,
    pub log: Vec<Line>,
    documents: BTreeMap<u64, Document>,
    headers: BTreeMap<u64, HeaderAt>,
    turns: BTreeMap<u64, Turn>,
    session: Hash32,
    chain: Hash32,
    answers: u64,
    height: u32,
    /// Which model answers.
    pub model: String,
    /// How exchange documents are changed that name a request and a reply; without it they name none.
    pub exchange: Option<fn(String) -> String>,
    /// The key that opens prompts from now on: nobody sees that no salt gives it.
    pub prompt_key: Option<Hash32>,
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

/// A block of regtest with this Merkle root: found in two tries or so.
pub fn mined(root: [u8; 32], time: u64) -> Header {
    for nonce in 0u32.. {
        let time = u32::try_from(time).unwrap().to_le_bytes();
        let parts = [
            &[0, 0, 0, 0x20][..],
            &[9; 32],
            &root,
            &time,
            &0x207f_ffffu32.to_le_bytes(),
            &nonce.to_le_bytes(),
        ];
        let header = Header::from_bytes(parts.concat().try_into().unwrap());
        if header.hash().as_bytes()[0] < 0x7f {
            return header;
        }
    }
    unreachable!()
}

pub fn block(header: &Header, height: u32, network: Network) -> Block {
    Block {
        hash: header.hash(),
        height,
        network,
        source: Source::File,
        time: header.fields().time,
    }
}

impl Forge {
    pub fn new(network: Network, commitments: Scheme, time: u64) -> Forge {
        let keys = vec![key(0x11)];
        let genesis = Genesis {
            commitments,
            created_at: at(time),
            format: Format,
            genesis: Hash32::GENESIS,
            network,
            origin: ORIGIN.to_owned(),
            signer: public(&keys[0]),
        };
        let mut forge = Forge {
            genesis: genesis.clone(),
            keys,
            log: Vec::new(),
            documents: BTreeMap::new(),
            headers: BTreeMap::new(),
            turns: BTreeMap::new(),
            session: Hash32::ZERO,
            chain: Hash32::ZERO,
            answers: 0,
            height: 0,
            model: "honest-1b".to_owned(),
            exchange: None,
            prompt_key: None,
        };
        let record = canon::digest(&genesis).unwrap();
        forge.line(
            time,
            None,
            Event::Genesis { record },
            Some(Document::Genesis(genesis)),
        );
        forge
    }

    fn head(&self) -> Hash32 {
        self.log.last().map_or(Hash32::GENESIS, |line| line.hash)
    }

    fn line(
        &mut self,
        time: u64,
        session: Option<Hash32>,
        event: Event,
        document: Option<Document>,
    ) -> u64 {
        let n = self.log.len() as u64;
        self.log.push(Line::new(
            self.head(),
            self.height,
            at(time),
            session,
            event,
        ));
        self.documents
            .extend(document.map(|document| (n, document)));
        n
    }

    /// Starts the session on a block; a local one without a header.
    pub fn start(&mut self, anchor: Option<(Header, u32, Network)>, time: u64) -> &mut Self {
        let block = anchor.map(|(header, height, network)| block(&header, height, network));
        let block = block.unwrap_or_else(|| Block::local(self.genesis.network, at(time)));
        let auth = Hash32::digest(b"auth");
        self.session = session_id(auth, &block.hash.to_string(), self.head());
        (self.chain, self.height) = (self.session, block.height);
        let document = SessionDoc {
            auth_key_hash: auth,
            branch: block.branch(),
            block: block.clone(),
            format: Format,
            host_role: "workstation".to_owned(),
            kernel_hash: Hash32::digest(b"kernel"),
            model: self.model.clone(),
            opened_at: at(time),
            phase: "active".to_owned(),
            prev_log: self.head(),
            session_id: self.session,
            tier: 2,
        };
        let record = canon::digest(&document).unwrap();
        let event = Event::SessionStart {
            btc: block.height,
            branch: block.branch(),
            block: block.hash,
            auth,
            record,
        };
        let n = self.line(
            time,
            Some(self.session),
            event,
            Some(Document::Session(document)),
        );
        self.headers
            .extend(anchor.map(|(header, height, _)| (n, HeaderAt(height, header))));
        self
    }

    pub fn commitment(&self, seq: u64, role: Role) -> Hash32 {
        let text = self.text(seq, role);
        match self.genesis.commitments {
            Scheme::HmacSha256 => commit_with_key(self.key_of(seq, role), text.as_bytes()),
            Scheme::Sha256 => Hash32::digest(text.as_bytes()),
        }
    }

    fn key_of(&self, seq: u64, role: Role) -> Hash32 {
        let turn = &self.turns[&seq];
        let own = turn.prompt_key.filter(|_| role == Role::Prompt);
        own.unwrap_or_else(|| opening_key(&turn.salt, role))
    }

    fn text(&self, seq: u64, role: Role) -> String {
        let turn = &self.turns[&seq];
        match role {
            Role::Prompt => turn.prompt.clone(),
            Role::Response => turn.response.clone().unwrap(),
            Role::Request => format!("{{\"messages\":[],\"seq\":{seq}}}"),
            Role::Reply => format!("{{\"other\":{{}},\"seq\":{seq}}}"),
            _ => self.exchange.map_or_else(
                || format!("{{\"seq\":{seq}}}"),
                |change| change(self.exchange_with_both(seq)),
            ),
        }
    }

    /// An exchange document that names a request and a reply.
    fn exchange_with_both(&self, seq: u64) -> String {
        let [reply, request] = [Role::Reply, Role::Request].map(|role| self.commitment(seq, role));
        format!("{{\"reply\":\"{reply}\",\"request\":\"{request}\",\"seq\":{seq}}}")
    }

    /// A turn that is answered, or fails.
    pub fn turn(&mut self, prompt: &str, response: Option<&str>, time: u64) -> &mut Self {
        let seq = self.turns.len() as u64 + 1;
        let salt = Salt::new([u8::try_from(seq).unwrap(); 32]);
        let (prompt, response) = (prompt.to_owned(), response.map(str::to_owned));
        self.turns.insert(
            seq,
            Turn {
                prompt,
                response: response.clone(),
                salt,
                prompt_key: self.prompt_key,
            },
        );
        let session = Some(self.session);
        self.line(
            time,
            session,
            Event::Prompt {
                hash: self.commitment(seq, Role::Prompt),
                seq,
            },
            None,
        );
        let (exchange, model) = (self.commitment(seq, Role::Exchange), self.model.clone());
        if response.is_none() {
            let event = Event::ResponseFail {
                seq,
                model,
                reason: "model.gone".to_owned(),
                exchange,
            };
            self.line(time, session, event, None);
            return self;
        }
        let (prompt_hash, response_hash) = (
            self.commitment(seq, Role::Prompt),
            self.commitment(seq, Role::Response),
        );
        let chain = chain_entry(self.chain, prompt_hash, response_hash, at(time));
        let document = Record {
            asked_at: at(time),
            authority_state: AuthorityState::Ok,
            chain_entry: chain,
            exchange_hash: exchange,
            format: Format,
            kernel_hash: Hash32::digest(b"kernel"),
            model: model.clone(),
            prev: self.chain,
            prompt_hash,
            refusal: false,
            response_hash,
            seq,
            session_id: self.session,
            timestamp: at(time),
            validator: ValidatorFlags {
                authority_drift: false,
                completeness_drift: false,
                evidence_drift: false,
                schema_ok: true,
                tone_drift: false,
            },
        };
        let record = canon::digest(&document).unwrap();
        let event = Event::Response {
            hash: response_hash,
            seq,
            model,
            chain,
            record,
        };
        self.line(time, session, event, Some(Document::Record(document)));
        (self.chain, self.answers) = (chain, self.answers + 1);
        self
    }

    /// Ends the session on a block.
    pub fn end(&mut self, anchor: Option<(Header, u32, Network)>, time: u64) -> &mut Self {
        let block = anchor.map(|(header, height, network)| block(&header, height, network));
        let block = block.unwrap_or_else(|| Block::local(self.genesis.network, at(time)));
        let last = (self.answers > 0).then_some(self.chain);
        let hash = session_close_hash(self.session, &block.hash.to_string(), last);
        let document = Close {
            block: block.clone(),
            closed_at: at(time),
            final_chain_hash: last.unwrap_or(Hash32::ZERO),
            format: Format,
            interactions: self.answers,
            session_close_hash: hash,
            session_id: self.session,
        };
        self.height = block.height;
        let record = canon::digest(&document).unwrap();
        let event = Event::SessionEnd {
            btc: block.height,
            interactions: self.answers,
            block: block.hash,
            close: hash,
            record,
        };
        let n = self.line(
            time,
            Some(self.session),
            event,
            Some(Document::Close(document)),
        );
        self.headers
            .extend(anchor.map(|(header, height, _)| (n, HeaderAt(height, header))));
        self
    }

    pub fn rotate(&mut self, seed: u8, time: u64) -> &mut Self {
        let old = public(self.keys.last().unwrap());
        self.keys.push(key(seed));
        let new = public(self.keys.last().unwrap());
        let document = Rotate {
            created_at: at(time),
            format: Format,
            new_signer: new,
            old_signer: old,
        };
        let record = canon::digest(&document).unwrap();
        self.line(
            time,
            None,
            Event::KeyRotate { record },
            Some(Document::Rotate(document)),
        );
        self
    }

    /// Any line beside.
    pub fn other(&mut self, time: u64) -> &mut Self {
        self.line(
            time,
            None,
            Event::AuthFail {
                reason: "wrong".to_owned(),
                count: 1,
            },
            None,
        );
        self
    }

    pub fn size(&self) -> u64 {
        self.log.len() as u64
    }

    /// The key in force at the last of so many lines, by its place.
    fn key_at(&self, size: u64) -> usize {
        let behind = self.log.iter().take(usize::try_from(size - 1).unwrap());
        behind
            .filter(|line| matches!(line.event, Event::KeyRotate { .. }))
            .count()
    }

    /// The signed tree head over so many lines.
    pub fn tree_head(&self, size: u64) -> String {
        self.signed(size, self.key_at(size))
    }

    /// The same by a key of one's choice.
    pub fn signed(&self, size: u64, key: usize) -> String {
        let mut tree = Frontier::new();
        self.log
            .iter()
            .take(usize::try_from(size).unwrap())
            .for_each(|line| tree.push(line.text().as_bytes()));
        note_by(&self.keys[key], &self.genesis.origin, size, tree.root())
    }

    pub fn proof(&self, index: u64, size: u64) -> Vec<Hash32> {
        let mut maker = ProofMaker::inclusion(index, size).unwrap();
        let lines = self.log.iter().take(usize::try_from(size).unwrap());
        lines.for_each(|line| maker.push(leaf(line.text().as_bytes())));
        maker.finish().unwrap()
    }

    pub fn opening(&self, seq: u64, role: Role) -> TextOpening {
        let key = self.key_of(seq, role);
        TextOpening {
            commitment: self.commitment(seq, role),
            format: Format,
            key: (self.genesis.commitments == Scheme::HmacSha256).then_some(key),
            role,
            seq: Some(seq),
            session_id: self.session.to_string(),
            text: self.text(seq, role),
        }
    }

    /// The file of some openings, under the tree head over all lines.
    pub fn file(&self, openings: &[(u64, Role)]) -> OpeningFile {
        let size = self.size();
        let needed = |line: &Line| match &line.event {
            Event::Genesis { .. } | Event::KeyRotate { .. } => true,
            Event::SessionStart { .. } | Event::SessionEnd { .. } => {
                line.session == Some(self.session)
            }
            Event::Response { seq, .. } | Event::ResponseFail { seq, .. } => {
                openings.iter().any(|(of, _)| of == seq)
            }
            Event::Prompt { seq, .. } => {
                self.turns[seq].response.is_none() && openings.contains(&(*seq, Role::Prompt))
            }
            _ => false,
        };
        let (mut lines, mut documents, mut headers) = (Vec::new(), Vec::new(), Vec::new());
        for (index, line) in (0..).zip(&self.log).filter(|(_, line)| needed(line)) {
            let more = match line.event {
                Event::KeyRotate { .. } => EntryExtra::Rotation {
                    checkpoint: self.tree_head(index + 1),
                    proof: self.proof(index, index + 1),
                },
                _ => EntryExtra::Nothing,
            };
            lines.push(Entry {
                index,
                text: line.text(),
                proof: self.proof(index, size),
                more,
            });
            documents.extend(self.documents.get(&index).cloned());
            headers.extend(self.headers.get(&index).copied());
        }
        OpeningFile {
            documents,
            format: Format,
            head: self.tree_head(size),
            headers,
            lines,
            openings: openings
                .iter()
                .map(|(seq, role)| self.opening(*seq, *role))
                .collect(),
            stamp: None,
        }
    }

    /// Puts a stamp of the tree head over so many lines into a file; gives the block.
    pub fn stamp(&self, file: &mut OpeningFile, size: u64, (height, time): (u32, u64)) {
        let checkpoint = self.tree_head(size);
        self.stamp_of(file, checkpoint, size, (height, time));
    }

    /// The same of another tree head, whose proofs are those of this log.
    pub fn stamp_of(
        &self,
        file: &mut OpeningFile,
        checkpoint: String,
        size: u64,
        (height, time): (u32, u64),
    ) {
        let (ots, root) = ots(checkpoint.as_bytes(), height);
        file.stamp = Some(Stamp {
            checkpoint,
            header: Some(mined(root, time)),
            ots,
        });
        for entry in &mut file.lines {
            let event = Line::parse(entry.text.as_bytes()).unwrap().event;
            let stamped = !matches!(event, Event::KeyRotate { .. } | Event::SessionEnd { .. });
            if stamped && entry.index < size {
                entry.more = EntryExtra::Stamped(self.proof(entry.index, size));
            }
        }
    }
}

pub fn note_by(key: &SigningKey, origin: &str, size: u64, root: Hash32) -> String {
    let sign = |body: &[u8]| {
        Ok::<_, std::convert::Infallible>(Signature::from_bytes(key.sign(body).to_bytes()))
    };
    note(origin, size, root, &public(key), &sign).unwrap()
}

/// A proof that these bytes are in a block of this height, by a few operations; and the root.
pub fn ots(bytes: &[u8], height: u32) -> (Vec<u8>, [u8; 32]) {
    let digest = Hash32::digest(bytes).as_bytes().to_vec();
    let path = [
        Op::Append(vec![7; 32]),
        Op::Sha256,
        Op::Prepend(b"in front".to_vec()),
        Op::Sha256,
    ];
    let root = path
        .iter()
        .fold(digest.clone(), |message, op| op.apply(&message).unwrap());
    let tree = ProofNode::chain(
        path.into_iter(),
        Attestation::Bitcoin {
            height: u64::from(height),
        },
    );
    (
        Proof {
            file_hash: FileHash::Sha256,
            digest,
            tree,
        }
        .print(),
        root.try_into().unwrap(),
    )
}
