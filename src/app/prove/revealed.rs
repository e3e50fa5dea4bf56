//! What somebody learns from an opening file beside its texts, in plain words: every field of it is
//! named here, so that nobody hands on what he did not know was in it.

use std::collections::BTreeSet;

use crate::record::ledger::documents::{Close, Genesis, Record, SessionDoc};
use crate::record::ledger::opening::{Document, OpeningFile};
use crate::record::time::Seconds;
use crate::record::tree::note::CosignedNote;

use crate::app::words::{beginning, counted};

/// So many characters of a name are shown.
const NAME: usize = 20;
/// So many characters are shown of a word that stands beside others.
const WORD: usize = 12;

/// Lines of at most 78 characters, for a list.
pub fn beside_the_texts(file: &OpeningFile) -> Vec<String> {
    let documents = || file.documents.iter();
    let records: Vec<&Record> = documents()
        .filter_map(|document| match document {
            Document::Record(record) => Some(record),
            _ => None,
        })
        .collect();
    let close = documents().find_map(|document| match document {
        Document::Close(close) => Some(close),
        _ => None,
    });
    let start = documents().find_map(|document| match document {
        Document::Session(start) => Some(start),
        _ => None,
    });
    let of_start = start.map(|start| of_session(start, close, &records));
    let mut lines = of_start.unwrap_or_default();
    if !records.is_empty() {
        lines.push("how gently judged each answer: refused, allowed, what it warns of".to_owned());
    }
    lines.extend(documents().find_map(|document| match document {
        Document::Genesis(genesis) => Some(of_ledger(genesis, file)),
        _ => None,
    }));
    lines.push(of_keys(file));
    lines.push(of_evidence(file));
    lines
}

fn of_session(start: &SessionDoc, close: Option<&Close>, records: &[&Record]) -> Vec<String> {
    let models: BTreeSet<&str> = records.iter().map(|record| record.model.as_str()).collect();
    let model = match models.iter().collect::<Vec<_>>().as_slice() {
        [] => beginning(&start.model, NAME),
        [one] => beginning(one, NAME),
        several => counted(several.len(), "model"),
    };
    let closed = close.map(|close| {
        let answers = counted(close.interactions, "answer");
        format!(", closed {} after {answers}", minute(close.closed_at))
    });
    vec![
        format!("when each was asked and answered, its number, the model {model}"),
        format!(
            "words of your settings: role {}, {}, {}, level {}",
            beginning(&start.host_role, WORD),
            beginning(&start.branch, WORD),
            beginning(&start.phase, WORD),
            start.tier
        ),
        format!(
            "its times: opened {}{}",
            minute(start.opened_at),
            closed.unwrap_or_default()
        ),
        "as hashes, which show no text: your auth key, your rules, what the model got".to_owned(),
    ]
}

/// A time, to the minute.
fn minute(time: Seconds) -> String {
    let text = time.to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

fn of_ledger(genesis: &Genesis, file: &OpeningFile) -> String {
    let size = CosignedNote::parse(&file.head).map_or(0, |note| note.head.size);
    format!(
        "your record: {}, made {}, {} so far",
        beginning(&genesis.origin, NAME + 4),
        minute(genesis.created_at),
        counted(size, "record")
    )
}

fn of_keys(file: &OpeningFile) -> String {
    let rotations = file
        .documents
        .iter()
        .filter(|document| matches!(document, Document::Rotate(_)))
        .count();
    match rotations {
        0 => "your public key, and where on record these stand".to_owned(),
        n => format!(
            "your public keys, when you changed them ({}), and where these stand",
            counted(n, "time")
        ),
    }
}

fn of_evidence(file: &OpeningFile) -> String {
    let witnesses = CosignedNote::parse(&file.head).map_or(0, |note| note.others.len());
    let blocks = file.headers.len();
    let there = [
        (blocks > 0).then(|| counted(blocks, "Bitcoin block")),
        file.stamp.is_some().then(|| "a timestamp".to_owned()),
        (witnesses > 0).then(|| format!("{} of witnesses", counted(witnesses, "signature"))),
    ];
    let there: Vec<String> = there.into_iter().flatten().collect();
    match there.is_empty() {
        true => "proof of time: none".to_owned(),
        false => format!("proof of time: {}", there.join(", ")),
    }
}
