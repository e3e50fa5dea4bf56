//! Checking one opened text, which needs no ledger and no home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::anchor::headers_store::HeadersStore;
use crate::app::prove::share::page;
use crate::os::{shell_word, why_unread};
use crate::record::bitcoin::block::{Header, Network};
use crate::record::ledger::commitment::{Role, TextOpening};
use crate::record::ledger::opening::{MAX_FILE, OpeningFault, OpeningFile};
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::trace::file::texts_of;
use crate::record::tree::witness_policy::WitnessPolicy;
use crate::verify::{
    CheckAnswer, HeaderRequests, OpeningQuestion, OpeningReport, Trust, check_opening,
    wanted_headers,
};

use super::headers;
use super::outside::read_policy;
use super::target::{TargetError, read_signers};

/// An opening file, and what a checker brings along.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// Path of the opening.
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
    pub require: Vec<OpeningQuestion>,
}

/// What a check of an opening file found.
pub struct CheckResult {
    /// Opening as it was read.
    pub file: OpeningFile,
    /// What held the file, when it came in a page.
    pub page: Option<PageOrigin>,
    /// Answers of the check, each with its reason.
    pub report: OpeningReport,
    /// How many keys the checker named.
    pub pinned: usize,
    /// Required answers that are not *yes*.
    pub missing: Vec<(OpeningQuestion, CheckAnswer)>,
    /// Whether it opens, is signed by a key that was named, and has every required answer.
    pub holds: bool,
}

/// The page that an opening file was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOrigin {
    /// It is, byte for byte, what this program makes of the file: it shows these texts.
    Ours,
    /// Another program or version made it, or it was changed: it may show anything.
    Foreign,
}

impl PageOrigin {
    /// The word that views have.
    pub const fn name(self) -> &'static str {
        match self {
            PageOrigin::Ours => "ours",
            PageOrigin::Foreign => "foreign",
        }
    }
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
    let signed =
        input.pinned.is_none() || report.to(OpeningQuestion::SignedBy).answer == CheckAnswer::Yes;
    let missing: Vec<(OpeningQuestion, CheckAnswer)> = request
        .require
        .iter()
        .map(|about| (*about, report.to(*about).answer))
        .filter(|(_, answer)| *answer != CheckAnswer::Yes)
        .collect();
    Ok(CheckResult {
        holds: report.opens() && signed && missing.is_empty(),
        pinned: input.pinned.as_ref().map_or(0, Vec::len),
        page: input.page,
        file: input.file,
        report,
        missing,
    })
}

/// The file, and what the checker brings along.
struct CheckInput {
    file: OpeningFile,
    page: Option<PageOrigin>,
    pinned: Option<Vec<PublicKey>>,
    policy: Option<WitnessPolicy>,
    chain: Option<BTreeMap<u32, Header>>,
}

fn read(request: &CheckRequest) -> Result<CheckInput, String> {
    let place = request.file.display();
    let bytes = crate::os::read_regular(&request.file, MAX_PAGE as u64);
    let bytes =
        bytes.map_err(|e| format!("{place}: {}; an opening file is wanted", why_unread(&e)))?;
    let (bytes, page) = match in_page(&bytes) {
        None => (bytes, None),
        Some(Ok((file, origin))) => (file, Some(origin)),
        Some(Err(why)) => return Err(format!("{place} is a page, and {why}")),
    };
    let file = OpeningFile::parse(&bytes);
    // The first document says enough of what the others are.
    let is_trace = || {
        let first = texts_of(&bytes).ok().and_then(|mut texts| texts.next());
        first.is_some_and(|first| first.read().is_ok())
    };
    let file = file.map_err(|fault| match is_trace() {
        true => format!(
            "{place} is a file of traces, and no opening file; check it with: gently trace verify {}",
            shell_word(&request.file)
        ),
        false => format!("{place} is {}", what_it_is(&bytes, &fault)),
    })?;
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
        page,
        pinned,
        policy,
        chain,
    })
}

/// What tells files of JSON apart, without a value being kept: a stranger's file may hold millions.
#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonMembers {
    openings: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    conversation: Option<IgnoredAny>,
}

/// Whether bytes are an opening file, or a page that holds one.
pub fn is_opening(bytes: &[u8]) -> bool {
    match in_page(bytes) {
        Some(held) => held.is_ok(),
        None => OpeningFile::parse(bytes).is_ok(),
    }
}

/// What bytes are that are no opening file, and what is wanted instead.
fn what_it_is(bytes: &[u8], fault: &OpeningFault) -> String {
    const WANTED: &str = "gently check takes what gently share or gently audit open wrote, a .json file or its \
                          .html page";
    let text = std::str::from_utf8(bytes);
    let is_json = text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let members = match is_json && bytes.trim_ascii_start().starts_with(b"{") {
        true => serde_json::from_slice(bytes).unwrap_or_default(),
        false => JsonMembers::default(),
    };
    let is_export = members.messages.is_some() && members.conversation.is_some();
    let what = match (text, is_json) {
        _ if bytes.is_empty() => "an empty file",
        (Err(_), _) => "no text",
        (Ok(text), false) if text.trim_start().starts_with('{') => {
            return format!(
                "no opening file: it is cut off, or it was changed ({fault}); {WANTED}"
            );
        }
        (Ok(_), false) => "a text",
        (Ok(_), true) if members.openings.is_some() => {
            return format!("no opening file as gently writes one: {fault}");
        }
        (Ok(_), true) if is_export => {
            return format!(
                "what gently conversation export wrote, which proves nothing by itself, and no opening file; {WANTED}"
            );
        }
        (Ok(_), true) => "JSON of another kind",
    };
    format!("{what}, and no opening file; {WANTED}")
}

/// Most bytes of a page: its file in base64, and what stands around.
const MAX_PAGE: usize = MAX_FILE / 3 * 4 + (1 << 20);
/// Where a page has its file.
const HELD: &str = "<script type=\"text/plain\" id=\"opening\">";

/// The file that a page of `gently share` holds; none when these bytes are no page.
fn in_page(bytes: &[u8]) -> Option<Result<(Vec<u8>, PageOrigin), String>> {
    let start = bytes.get(.."<!doctype html".len())?;
    if !start.eq_ignore_ascii_case(b"<!doctype html") {
        return None;
    }
    let other = "holds no file of gently share; check the .json that came with it".to_owned();
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some(Err(other));
    };
    let held = text
        .split_once(HELD)
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let Some((held, _)) = held else {
        return Some(Err(other));
    };
    let files: Vec<&str> = held.split_ascii_whitespace().collect();
    let [file] = files.as_slice() else {
        let count = files.len();
        return Some(Err(format!(
            "holds {count} files, where one is wanted; save them from it, and check each"
        )));
    };
    let Some(file) = BASE64.decode(file).ok() else {
        return Some(Err("what it holds is not base64".to_owned()));
    };
    let is_ours = std::str::from_utf8(&file).is_ok_and(|file| page(file) == text);
    let origin = if is_ours {
        PageOrigin::Ours
    } else {
        PageOrigin::Foreign
    };
    Some(Ok((file, origin)))
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
            (
                Event::Response { .. },
                Role::Prompt | Role::Response | Role::Exchange | Role::Request | Role::Reply,
            )
            | (Event::Prompt { .. }, Role::Prompt)
            | (
                Event::ResponseFail { .. } | Event::Denied { .. },
                Role::Exchange | Role::Request | Role::Reply,
            ) => line.event.seq() == opening.seq,
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
