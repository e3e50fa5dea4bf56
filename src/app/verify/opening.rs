//! Checking one opened text, which needs no ledger and no home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::anchor::headers_store::HeadersStore;
use crate::record::bitcoin::block::{Header, Network};
use crate::record::ledger::commitment::{Role, TextOpening};
use crate::record::ledger::opening::{MAX_FILE, OpeningFile};
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::verify::{
    About, HeaderRequests, OpeningReport, QuestionAnswer, Trust, check_opening, wanted_headers,
};

use super::headers;
use super::outside::read_policy;
use super::target::{TargetError, read_signers};

/// An opening file, and what a checker brings along.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// The file.
    pub file: PathBuf,
    /// Keys that the ledger may be signed by, or files of them, the newest last.
    pub signers: Vec<String>,
    /// A file of witnesses that count.
    pub policy: Option<PathBuf>,
    /// A folder of kept headers.
    pub headers: Option<PathBuf>,
    /// A test network whose blocks are to show times.
    pub network: Option<Network>,
    /// Answers that must be yes.
    pub require: Vec<About>,
}

/// What a check of an opening file found.
pub struct CheckResult {
    /// The file.
    pub file: OpeningFile,
    /// The answers.
    pub report: OpeningReport,
    /// Required answers that are not *yes*.
    pub missing: Vec<(About, QuestionAnswer)>,
    /// Whether it opens, is signed by a key that was named, and has every required answer.
    pub holds: bool,
}

/// Checks an opening file.
pub fn check(request: &CheckRequest) -> Result<CheckResult, String> {
    let input = read(request)?;
    let trust = Trust {
        pinned: input.pinned.as_deref(),
        policy: input.policy.as_ref(),
        chain: input.chain.as_ref(),
        network: request.network,
    };
    let report = check_opening(&input.file, trust);
    let signed = input.pinned.is_none() || report.to(About::SignedBy).answer == QuestionAnswer::Yes;
    let missing: Vec<(About, QuestionAnswer)> = request
        .require
        .iter()
        .map(|about| (*about, report.to(*about).answer))
        .filter(|(_, answer)| *answer != QuestionAnswer::Yes)
        .collect();
    Ok(CheckResult {
        holds: report.opens() && signed && missing.is_empty(),
        file: input.file,
        report,
        missing,
    })
}

/// The file, and what the checker brings along.
struct CheckInput {
    file: OpeningFile,
    pinned: Option<Vec<PublicKey>>,
    policy: Option<WitnessPolicy>,
    chain: Option<BTreeMap<u32, Header>>,
}

fn read(request: &CheckRequest) -> Result<CheckInput, String> {
    let place = request.file.display();
    let bytes = crate::os::read_regular(&request.file, MAX_FILE as u64);
    let file =
        OpeningFile::parse(&bytes.map_err(|e| format!("{place}: {e}; an opening file is wanted"))?);
    let file = file.map_err(|e| format!("{place} is no opening file: {e}"))?;
    let told = |e: TargetError| e.to_string();
    let pinned = request
        .signers
        .iter()
        .map(|text| read_signers(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(told)?;
    let pinned = Some(pinned.concat()).filter(|keys| !keys.is_empty());
    let policy = request
        .policy
        .as_deref()
        .map(read_policy)
        .transpose()
        .map_err(told)?;
    request
        .headers
        .as_deref()
        .map(headers::folder)
        .transpose()
        .map_err(told)?;
    let chain = request.headers.as_deref().zip(wanted_headers(&file));
    let chain = chain
        .map(|(folder, wanted)| kept(folder, &wanted))
        .transpose()?;
    Ok(CheckInput {
        file,
        pinned,
        policy,
        chain,
    })
}

/// The headers at some heights, of a folder of kept ones whose whole chain is checked.
fn kept(folder: &Path, wanted: &HeaderRequests) -> Result<BTreeMap<u32, Header>, String> {
    let heights: Vec<u32> = wanted.attested.union(&wanted.named).copied().collect();
    let store =
        HeadersStore::open(folder, wanted.network, &heights).map_err(|fault| fault.to_string())?;
    let store = store.ok_or_else(|| {
        format!(
            "{} holds no headers of {}; fill one with: gently anchor sync",
            folder.display(),
            wanted.network.name()
        )
    })?;
    Ok(heights
        .iter()
        .filter_map(|height| Some((*height, store.header(*height)?)))
        .collect())
}

/// Each opening with its line: the outcome's, where the file has it.
pub fn opened(file: &OpeningFile) -> impl Iterator<Item = (&TextOpening, Option<Line>)> {
    let lines: Vec<Line> = file
        .lines
        .iter()
        .filter_map(|entry| Line::parse(entry.text.as_bytes()).ok())
        .collect();
    let mut artifacts = 0;
    file.openings.iter().map(move |opening| {
        let carries = |line: &&Line| match (&line.event, opening.role) {
            (Event::Response { .. }, Role::Prompt | Role::Response | Role::Exchange)
            | (Event::Prompt { .. }, Role::Prompt)
            | (Event::ResponseFail { .. } | Event::Denied { .. }, Role::Exchange) => {
                line.event.seq() == opening.seq
            }
            _ => false,
        };
        let line = if opening.role == Role::Artifact {
            artifacts += 1;
            lines
                .iter()
                .filter(|line| matches!(line.event, Event::Artifact { .. }))
                .nth(artifacts - 1)
        } else {
            lines.iter().find(carries)
        };
        (opening, line.cloned())
    })
}
