//! Corrections from a file of JSON lines, as preference pairs are kept elsewhere: each is proposed, and
//! counts once a person ratified it. What is on record already is not recorded again.
//!
//! ```text
//! {"prompt":"capital of Australia","chosen":"Canberra","rejected":"Sydney","domain":"geography","confidence":0.8,"source":"arbiter"}
//! ```
//! `prompt` becomes the subject and `chosen` the claim; only `chosen` has to be there.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Number;

use super::{CheckPlace, CheckedCorrection, CorrectionInput, DomainName, Thousandths};
use crate::app::home::open::{self, OpenHome, OpenHomeError};
use crate::govern::sanitize::{Clean, Placeholders, unnumbered};
use crate::os::read_regular;
use crate::record::hash::Hash32;
use crate::record::ledger::correction::{ARBITER, IMPORT};
use crate::record::ledger::item::{ItemKind, content, evenly_spaced};
use crate::record::ledger::specialist::GENERAL;
use crate::recorder::RecorderError;
use crate::store::{ArtifactFilter, ReadStore, StoreError};

use crate::app::remember::with_placeholders::record_all_with_placeholders;
use crate::app::set_up::specialist;

/// Largest file, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Longest line, in bytes.
const MAX_LINE: usize = 1 << 20;
/// So many are recorded in one transaction.
const BATCH: usize = 64;
/// Why no more of a file is recorded.
const MEANWHILE: &str = "other corrections were recorded meanwhile; what of the file is on record stays: import it again";
/// How sure a line is that doesn't say it, in thousandths.
const DEFAULT_CONFIDENCE: u16 = 700;

/// One line of the file.
#[derive(Deserialize)]
struct CorrectionLine {
    prompt: Option<String>,
    chosen: String,
    rejected: Option<String>,
    domain: Option<String>,
    confidence: Option<Number>,
    source: Option<String>,
}

/// What became of a file.
#[derive(Debug, Default)]
pub struct CorrectionImport {
    /// Lines that are not empty.
    pub read: u64,
    /// Ids of those that were recorded.
    pub recorded: Vec<String>,
    /// How many are on record already.
    pub unchanged: u64,
    /// Numbers of the lines that are none, from 1, each with the reason.
    pub refused: Vec<(u64, String)>,
    /// How many secrets were removed.
    pub removed: u64,
}

/// What two corrections that are the same have in common: subject, claim, what is rejected, domain. A
/// secret that was taken out is one like any other.
type Sameness = (Option<String>, String, String, String);

/// Records what a file has and the record does not.
pub async fn import(opened: &OpenHome, path: &Path) -> Result<CorrectionImport, OpenHomeError> {
    let key = opened.authorize().await?;
    if !opened.keeps_text() {
        return Err(OpenHomeError::Refused(
            "this home keeps no texts (store.content is \"none\"): imported corrections could be neither read nor \
             ratified"
                .to_owned(),
        ));
    }
    let text = read_regular(path, MAX_FILE).map_err(|error| {
        OpenHomeError::Refused(format!("{} can't be read: {error}", path.display()))
    })?;
    let mut proposals = CorrectionProposals::begin(&opened.store)?;
    let mut made = CorrectionImport::default();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        made.read += 1;
        let read = read_line(line).and_then(|(said, source)| proposals.offer(&said, source));
        match read {
            Err(reason) => made.refused.push((number, reason)),
            Ok(true) => {}
            Ok(false) => made.unchanged += 1,
        }
    }
    proposals.record(opened, key).await?;
    (made.recorded, made.removed) = (proposals.recorded, proposals.removed);
    Ok(made)
}

/// Corrections of others on their way to the record: each is proposed once.
pub struct CorrectionProposals<'a> {
    place: CheckPlace<'a>,
    newest: Option<u64>,
    known: HashSet<Sameness>,
    waiting: Vec<CheckedCorrection>,
    /// Ids of those that are on record by now.
    pub recorded: Vec<String>,
    /// How many secrets were removed from them.
    pub removed: u64,
}

impl<'a> CorrectionProposals<'a> {
    /// Beside what a store has.
    pub fn begin(store: &'a ReadStore) -> Result<Self, OpenHomeError> {
        Ok(CorrectionProposals {
            place: CheckPlace {
                store,
                now: open::clock()?,
                domains: specialist::on_record(store)?,
            },
            newest: newest_line(store)?,
            known: on_record(store)?,
            waiting: Vec::new(),
            recorded: Vec::new(),
            removed: 0,
        })
    }

    /// Has one wait to be recorded; false for one that is on record already, or waits. Else why it is none.
    pub fn offer(&mut self, said: &CorrectionInput, source: &'static str) -> Result<bool, String> {
        let checked = CheckedCorrection::of(said, source, &self.place);
        let checked = checked.map_err(|error| error.to_string())?;
        let is_new = self.known.insert(checked.sameness());
        if is_new {
            self.waiting.push(checked);
        }
        Ok(is_new)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Records those that wait.
    pub async fn record(&mut self, opened: &OpenHome, key: Hash32) -> Result<(), OpenHomeError> {
        let (phase, now) = (opened.kernel.phase(), self.place.now);
        let waiting = std::mem::take(&mut self.waiting);
        for batch in waiting.chunks(BATCH) {
            // Another import may have recorded the same since it was looked at what is on record.
            let seen = self.newest;
            let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
                let is_same = newest_line(store)? == seen;
                Ok((!is_same).then(|| MEANWHILE.to_owned()))
            };
            let (recorded, removed) =
                record_all_with_placeholders(opened, key, allowed, |numbers, session| {
                    let (mut all, mut removed) = (Vec::new(), 0);
                    for checked in batch {
                        let clean = checked.clean(numbers);
                        removed += u64::try_from(clean.0.removed.len()).unwrap_or(u64::MAX);
                        all.push(checked.artifact((&clean.0, &clean.1), session, (phase, now))?);
                    }
                    Ok((all, removed))
                })
                .await?;
            self.newest = recorded.last().map(|one| one.line);
            self.removed += removed;
            let ids = recorded.into_iter().map(|one| one.document.id);
            self.recorded.extend(ids);
        }
        Ok(())
    }
}

/// Line of the newest correction.
fn newest_line(store: &ReadStore) -> Result<Option<u64>, StoreError> {
    let newest = store.newest_artifact(ItemKind::Correction.name())?;
    Ok(newest.map(|row| row.line))
}

impl CheckedCorrection {
    fn sameness(&self) -> Sameness {
        let (item, rejected) = self.clean(&mut Placeholders::new([0; 32]));
        let plain = |text: &Clean| unnumbered(text.as_str()).into_owned();
        (
            item.subject.as_ref().map(plain),
            plain(&item.text),
            plain(&rejected),
            self.domain.clone(),
        )
    }
}

/// What each correction on record says, whatever became of it; an erased one says nothing any more.
fn on_record(store: &ReadStore) -> Result<HashSet<Sameness>, StoreError> {
    let rows = store.artifacts(ArtifactFilter::Kind(ItemKind::Correction.name()))?;
    let said = rows.iter().filter_map(|row| {
        let content = content(row.document.as_deref())?;
        let text = |key: &str| Some(unnumbered(content.get(key)?.as_str()?).into_owned());
        Some((
            text("subject"),
            text("text")?,
            text("rejected")?,
            text("domain")?,
        ))
    });
    Ok(said.collect())
}

/// A line as a correction, with its source; or why it is none.
fn read_line(line: &[u8]) -> Result<(CorrectionInput, &'static str), String> {
    if line.len() > MAX_LINE {
        return Err(format!(
            "{} bytes, at most {MAX_LINE} are a line",
            line.len()
        ));
    }
    if line.trim_ascii().first() != Some(&b'{') {
        return Err("no JSON object".to_owned());
    }
    let read: CorrectionLine = serde_json::from_slice(line)
        .map_err(|error| format!("no JSON object with \"chosen\" ({})", of_one_line(&error)))?;
    let confidence = match read.confidence {
        None => DEFAULT_CONFIDENCE,
        Some(number) => rounded(&number)?,
    };
    let domain = read.domain.filter(|domain| domain != GENERAL);
    let domain: Option<DomainName> = domain.as_deref().map(str::parse).transpose()?;
    // What a review found is known by its name; whatever else a file calls itself came from a file.
    let source = match read.source.as_deref() {
        Some(ARBITER) => ARBITER,
        _ => IMPORT,
    };
    let about = read.prompt.as_deref().map(evenly_spaced);
    let said = CorrectionInput {
        rejected: read.rejected.unwrap_or_default(),
        subject: about.filter(|subject| !subject.is_empty()),
        domain,
        confidence,
        ..CorrectionInput::of(&read.chosen)
    };
    Ok((said, source))
}

/// What a parser says, without its place: the line has its number already.
fn of_one_line(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let end = said.rfind(" at line ").unwrap_or(said.len());
    said[..end].replace('`', "")
}

/// A number from 0 to 1, rounded to thousandths: files of other programs have more decimals.
fn rounded(number: &Number) -> Result<u16, String> {
    let value = number.as_f64().filter(|value| (0.0..=1.0).contains(value));
    let printed = value.map(|value| format!("{value:.3}"));
    let read = printed.and_then(|text| text.parse::<Thousandths>().ok());
    read.map(|Thousandths(milli)| milli)
        .ok_or_else(|| format!("confidence {number} is not from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_is_none() {
        let line = r#"{"prompt":" Capital of  Australia","chosen":"Canberra","rejected":"Sydney","domain":"geo","confidence":0.12345,"source":"arbiter","extra":1}"#;
        let (said, source) = read_line(line.as_bytes()).unwrap();
        assert_eq!(
            (said.claim.as_str(), said.rejected.as_str()),
            ("Canberra", "Sydney")
        );
        assert_eq!(
            (said.subject.as_deref(), said.confidence),
            (Some("Capital of Australia"), 123)
        );
        assert_eq!(
            (said.domain.as_ref().map(DomainName::as_str), source),
            (Some("geo"), ARBITER)
        );
        let (said, source) = read_line(br#"{"chosen":"x","source":"manual"}"#).unwrap();
        assert_eq!((said.confidence, said.subject, source), (700, None, IMPORT));
        for wrong in [
            &b"{"[..],
            b"[]",
            b"{}",
            br#"{"chosen":1}"#,
            br#"{"chosen":"x","confidence":1.5}"#,
            br#"{"chosen":"x","confidence":"0.5"}"#,
            br#"{"chosen":"x","confidence":-0.1}"#,
            br#"{"chosen":"x","domain":"A B"}"#,
            b"{\"chosen\":\"\xff\"}",
        ] {
            assert!(
                read_line(wrong).is_err(),
                "{}",
                String::from_utf8_lossy(wrong)
            );
        }
    }
}
