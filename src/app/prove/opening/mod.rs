//! Opening texts to somebody who has no ledger: the file with all that is needed to check them, and
//! the lines on record that say so.

mod evidence;
mod found;
mod head;
mod notes;
mod stamp;

use crate::app::prove::{NotHandedOn, because};
use crate::app::sentence::FieldSentence;
use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Scheme, TextOpening};
use crate::record::ledger::opening::OpeningFile;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ArtifactFilter, ExchangeRow, ReadStore};

use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
pub(super) use found::{CHANGED_ANSWER, CHANGED_QUESTION, why_gone};
use found::{OpenedText, OpeningContent, find_artifacts, find_turns};

/// Most bytes of a cosigned tree head, and of a timestamp's proof, that an opening takes along.
/// Real ones have a few hundred; two of this size leave half of [`MAX_AROUND`] for the rest.
///
/// [`MAX_AROUND`]: crate::record::ledger::opening::MAX_AROUND
const MAX_EVIDENCE: usize = 12 * 1024;

/// The kind of the artifact that says what was opened.
pub const KIND: &str = "opening";

/// Which text of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnText {
    /// What was asked, as it was sent.
    Prompt,
    /// The text that the model answered.
    Response,
    /// The exchange document: how the turn came about, without its texts.
    Exchange,
    /// What was sent, message by message. The exchange document comes along: its commitment stands
    /// there and nowhere else.
    Request,
    /// What came beside the answer's text; likewise.
    Reply,
}

/// What is to be opened: texts of turns of one session, or artifacts.
#[derive(Clone, Debug, Default)]
pub struct OpeningRequest {
    /// An exchange, or a session with `seq`.
    pub session: Option<String>,
    /// Numbers of prompts in the session; none where an exchange is named.
    pub seq: Vec<u64>,
    /// Which texts of each turn; none means the answer.
    pub texts: Vec<TurnText>,
    /// Ids of artifacts, instead of a session.
    pub artifacts: Vec<String>,
    /// Which line of an artifact, from 1, when it has several.
    pub line: Option<u64>,
    /// Also an answer that is withheld, or what quotes one.
    pub withheld: bool,
}

/// A file that opens texts; that they are opened is on record.
pub struct NewOpening {
    /// Opening that was made, before it is written anywhere.
    pub file: OpeningFile,
    /// The same as text, as it is written.
    pub text: String,
    /// What was put on record, one entry for each text.
    pub recorded: Vec<RecordedArtifact>,
    /// Sentences on what could not be put in.
    pub left_out: Vec<String>,
    /// Whether with the file somebody can try what neighbouring turns said: the ledger commits with
    /// plain SHA-256.
    pub neighbours_can_be_guessed: bool,
}

/// Why nothing was opened.
#[derive(Debug)]
pub enum OpenTextsError {
    /// A sentence for a person.
    Refused(FieldSentence),
    /// Something is broken.
    Failed(OpenHomeError),
}

impl<E> From<E> for OpenTextsError
where
    OpenHomeError: From<E>,
{
    fn from(error: E) -> Self {
        OpenTextsError::Failed(error.into())
    }
}

impl From<NotHandedOn> for OpenTextsError {
    fn from(why: NotHandedOn) -> Self {
        OpenTextsError::Refused(why.0)
    }
}

fn broken(error: impl std::fmt::Display) -> OpenTextsError {
    OpenTextsError::Refused(format!("{error}; look with: gently audit verify").into())
}

/// What will be opened, and the file as it would be now. Nothing is on record of it yet.
pub struct PlannedOpening {
    found: OpeningContent,
    /// The file under the newest tree head that is signed. The one that is written is under a later
    /// one, and says the same.
    pub file: OpeningFile,
}

impl PlannedOpening {
    /// Refuses turns that had another outcome when they were read than they have in the plan.
    pub fn of_these(self, turns: &[&ExchangeRow]) -> Result<Self, OpenTextsError> {
        let line = |row: &ExchangeRow| row.outcome.as_ref().map(|outcome| outcome.outcome_line);
        let is_one = |piece: &OpenedText| {
            let mut rows = turns.iter();
            rows.any(|row| piece.exchange == Some(row.exchange_id) && piece.outcome == line(row))
        };
        if self.found.pieces.iter().all(is_one) {
            Ok(self)
        } else {
            because(OVERTAKEN)
        }
    }
}

/// Looks for what is asked for, and makes the file once before anything is on record: what can't be
/// made, or what no reader would take, is refused here.
pub fn plan(home: &OpenHome, request: &OpeningRequest) -> Result<PlannedOpening, OpenTextsError> {
    let found = if request.artifacts.is_empty() {
        find_turns(home, request)?
    } else {
        find_artifacts(home, request)?
    };
    let head = home.store.head()?;
    let newest = head.checkpoint.filter(|_| !found.pieces.is_empty());
    let Some(newest) = newest else {
        return because(
            "no tree head of this ledger is signed yet; look with: gently audit verify",
        );
    };
    let (file, _) = assemble(home, &found, newest)?;
    match file.has_room() {
        Ok(()) => Ok(PlannedOpening { found, file }),
        Err(fault) => because(format!(
            "too large for one file: {fault}. Nothing was opened. Open fewer turns at once, or question and answer apart"
        )),
    }
}

/// Opens what is asked for, in the name of an auth key. That it is opened is durably on record
/// before this returns.
pub async fn open_texts(
    home: &OpenHome,
    key: Hash32,
    request: &OpeningRequest,
) -> Result<NewOpening, OpenTextsError> {
    open_planned(home, key, plan(home, request)?).await
}

/// Opens what was planned, unless it is another turn by now: erased, or answered.
pub async fn open_planned(
    home: &OpenHome,
    key: Hash32,
    planned: PlannedOpening,
) -> Result<NewOpening, OpenTextsError> {
    let found = planned.found;
    let (recorded, newest) = record(home, &found, key).await?;
    let (file, left_out) = assemble(home, &found, newest)?;
    let text = file
        .print()
        .map_err(|e| OpenTextsError::Refused(e.to_string().into()))?;
    Ok(NewOpening {
        file,
        text,
        recorded,
        left_out,
        neighbours_can_be_guessed: home.genesis.commitments == Scheme::Sha256,
    })
}

/// The file of what was found, under a tree head or an older one that witnesses have cosigned.
fn assemble(
    home: &OpenHome,
    found: &OpeningContent,
    newest: String,
) -> Result<(OpeningFile, Vec<String>), OpenTextsError> {
    let repository = Repository::open(&home.home.paths().ledger()).map_err(broken)?;
    let witnesses = &home.config.witness;
    let keys = witnesses
        .named
        .values()
        .map(|witness| witness.key.clone())
        .collect();
    let ledger = evidence::LedgerSources {
        store: &home.store,
        repository: &repository,
        headers: &home.home.root().join("headers"),
        genesis: &home.genesis,
        believed: &head::TrustedWitnesses {
            keys,
            quorum: witnesses.quorum,
        },
    };
    evidence::assemble(&ledger, found, newest)
}

/// Why a plan is given up that was made before the turn had its outcome.
const OVERTAKEN: &str = "a turn that was not answered yet has its answer or its failure now, so what you looked at is \
                         not what would be opened; nothing is opened. Say it again to see all of it";

/// Puts on record what is opened, unless it was erased or answered meanwhile; gives the signed tree
/// head over all lines then.
async fn record(
    home: &OpenHome,
    found: &OpeningContent,
    key: Hash32,
) -> Result<(Vec<RecordedArtifact>, String), OpenTextsError> {
    let now = open::clock()?;
    let one = |piece: &OpenedText| -> Result<NewArtifact, OpenTextsError> {
        let TextOpening {
            commitment,
            role,
            seq,
            session_id,
            ..
        } = &piece.opening;
        let content = vec![
            ("by", ArtifactField::Hash(key)),
            ("commitment", ArtifactField::Hash(*commitment)),
            ("line", ArtifactField::Number(piece.line + 1)),
            ("role", ArtifactField::Word(role.name().to_owned())),
            (
                "seq",
                seq.map_or(ArtifactField::Null, ArtifactField::Number),
            ),
            ("session_id", ArtifactField::Word(session_id.clone())),
        ];
        let id = ArtifactId::Next { prefix: KIND };
        Ok(NewArtifact {
            kind: KIND,
            id,
            content,
            session: None,
            salt: fresh_salt()?,
            now,
        })
    };
    let new = found
        .pieces
        .iter()
        .map(one)
        .collect::<Result<Vec<_>, _>>()?;
    let places: Vec<_> = found
        .pieces
        .iter()
        .map(|piece| (piece.exchange, piece.line, piece.outcome))
        .collect();
    let allowed = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
        for (exchange, line, outcome) in &places {
            let row = exchange.map(|id| store.exchange(id)).transpose()?.flatten();
            let now = row.as_ref().and_then(|row| row.outcome.as_ref());
            let here = match exchange {
                Some(_) if row.is_some() && now.map(|now| now.outcome_line) != *outcome => {
                    return Ok(Some(OVERTAKEN.to_owned()));
                }
                Some(_) => row.is_some_and(|row| row.salt.is_some()),
                None => store
                    .artifacts(ArtifactFilter::All)?
                    .iter()
                    .any(|row| row.line == *line && row.salt.is_some()),
            };
            if !here {
                return Ok(Some("it was erased just now; nothing is opened".to_owned()));
            }
        }
        Ok(None)
    };
    Ok(home.recorder.artifacts_with_head(new, allowed).await?)
}
