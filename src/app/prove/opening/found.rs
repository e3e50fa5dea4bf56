//! What is to be opened: turns of a session, or artifacts, with the texts that give their
//! commitments.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::app::find;
use crate::app::home::open::OpenHome;
use crate::app::look::show;
use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::ask::stored_text::kernel_of;
use crate::ask::withheld::{WITHHELD, Withheld};
use crate::govern::kernel::Kernel;
use crate::record::canon;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, TextOpening, commit, opening_key};
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::ledger::short_name::{record_name, short_name};
use crate::record::log::entry::Line;
use crate::recorder::{ACTION, tombstone_of};
use crate::store::{
    ArtifactFilter, ArtifactRow, ExchangeRow, ExchangeRows, SessionRow, Store, StoreError,
};

use super::{OpenTextsError, OpeningRequest, TurnText, broken};
use crate::app::prove::because;

/// Why a question is not opened that somebody changed.
pub(in crate::app::prove) const CHANGED_QUESTION: &str = "the question in gently.db is another than what was recorded: \
     gently audit verify says what else differs";
/// The same of an answer.
pub(in crate::app::prove) const CHANGED_ANSWER: &str = "the answer in gently.db, or what belongs to it there, is another \
     than what was recorded: gently audit verify says what differs";
/// The same of what stands beside both.
const CHANGED_ROWS: &str = "what gently.db has of this turn is another than what was recorded: gently audit verify says \
     what differs";

/// One text that is opened, and where its lines are.
pub(super) struct OpenedText {
    pub opening: TextOpening,
    /// Number of the line that carries the commitment, from 0.
    pub line: u64,
    /// The line of the turn's outcome, if it has one.
    pub outcome: Option<u64>,
    pub exchange: Option<Uuid>,
}

/// What is opened, in the order of lines, and the session that all of it is of.
pub(super) struct OpeningContent {
    pub pieces: Vec<OpenedText>,
    pub session: Option<SessionRow>,
}

/// The turns of a session, each number and each role once.
pub(super) fn find_turns(
    opened: &OpenHome,
    request: &OpeningRequest,
) -> Result<OpeningContent, OpenTextsError> {
    let Some(id) = &request.session else {
        return because("name an exchange");
    };
    let (session, numbers) = turns_named(&opened.store, id, &request.seq)?;
    let mut roles: BTreeSet<TurnText> = request.texts.iter().copied().collect();
    if roles.is_empty() {
        roles.insert(TurnText::Response);
    }
    // Nothing but the exchange document has the commitments of these.
    if roles.contains(&TurnText::Request) || roles.contains(&TurnText::Reply) {
        roles.insert(TurnText::Exchange);
    }
    let mut found = OpeningContent {
        pieces: Vec::new(),
        session: None,
    };
    for seq in numbers {
        let row = find::exchange(&opened.store, &format!("{session}/{seq}"))?;
        let Some(around) = opened.store.session_of(row.session)? else {
            return because("the session of this turn is not in the database");
        };
        // The last one first: why there is no request says more than why the exchange document,
        // which would only come along, can't be made.
        let texts = roles.iter().rev();
        let texts = texts.map(|role| find_turn(opened, &around, &row, *role, request.withheld));
        let texts: Vec<OpenedText> = texts.collect::<Result<_, _>>()?;
        found.pieces.extend(texts.into_iter().rev());
        found.session = Some(around);
    }
    // Numbers are in the order of prompts, and a later prompt may have been answered first.
    found.pieces.sort_by_key(|piece| piece.line);
    Ok(found)
}

/// The session that an id is of, and the numbers in it: of an exchange its own, with those behind
/// it.
fn turns_named(
    store: &Store,
    id: &str,
    behind: &[u64],
) -> Result<(String, BTreeSet<u64>), OpenTextsError> {
    let mut numbers: BTreeSet<u64> = behind.iter().copied().collect();
    if !numbers.is_empty() && !id.contains('/') {
        return Ok((id.to_owned(), numbers));
    }
    let row = match find::exchange(store, id) {
        Ok(row) => row,
        Err(unfound) => {
            return match find::session(store, id) {
                Ok(_) if !id.contains('/') => because(format!(
                    "'{id}' is a session: name an exchange of it, such as {id}/1"
                )),
                _ => Err(unfound.into()),
            };
        }
    };
    let Some(around) = store.session_of(row.session)? else {
        return because("the session of this turn is not in the database");
    };
    numbers.insert(row.seq);
    Ok((around.id.to_string(), numbers))
}

fn find_turn(
    opened: &OpenHome,
    around: &SessionRow,
    row: &ExchangeRow,
    asked: TurnText,
    withheld: bool,
) -> Result<OpenedText, OpenTextsError> {
    let (store, seq) = (&opened.store, row.seq);
    let committed = CommittedText::of(row, asked, seq)?;
    let is_answer = matches!(committed.role, Role::Response | Role::Reply);
    if is_answer && !withheld && Withheld::of(store).answer_of(row)? {
        return because(sentence![
            format!("the answer is {WITHHELD}; "),
            RequestField::Withheld,
            " opens it all the same"
        ]);
    }
    let Some(salt) = &row.salt else {
        return because(why_gone(store, row)?);
    };
    let scheme = opened.genesis.commitments;
    let text = match asked {
        TurnText::Exchange => {
            let document = exchange_document(store, (scheme, salt), around, row)?;
            match document {
                Ok(document) => Some(document),
                Err(why) => {
                    return because(format!(
                        "the exchange document can't be put together again: {why}"
                    ));
                }
            }
        }
        _ => stored_text(store, row, asked)?,
    };
    let Some(text) = text else {
        return because(why_gone(store, row)?);
    };
    // Of request and reply the exchange document has it, which is opened with them, and gives its
    // own commitment with just these texts.
    let commitment = committed
        .commitment
        .unwrap_or_else(|| commit(scheme, salt, committed.role, text.as_bytes()));
    let unopened = TextOpening {
        commitment,
        format: Format,
        key: None,
        role: committed.role,
        seq: Some(seq),
        session_id: around.id.to_string(),
        text,
    };
    let Some(opening) = with_key(unopened, scheme, salt) else {
        let is_changed = !show::changed(store, row)?.is_empty();
        return because(why_unopened(asked, is_changed));
    };
    let outcome = row.outcome.as_ref().map(|outcome| outcome.outcome_line);
    Ok(OpenedText {
        opening,
        line: committed.line,
        outcome,
        exchange: Some(row.exchange_id),
    })
}

/// A text of a turn as it is stored; none where it is not here.
fn stored_text(
    store: &Store,
    row: &ExchangeRow,
    asked: TurnText,
) -> Result<Option<String>, OpenTextsError> {
    let turn = match asked {
        TurnText::Prompt => Some(row.turn_user),
        TurnText::Response => row.outcome.as_ref().and_then(|outcome| outcome.turn_aurora),
        // They stand in no turn, and where nothing is kept nowhere.
        TurnText::Request if row.not_kept.is_none() => return request_text(row).map(Some),
        TurnText::Reply if row.not_kept.is_none() => return reply_text(row).map(Some),
        TurnText::Exchange | TurnText::Request | TurnText::Reply => None,
    };
    let turn = turn.map(|id| store.turn(id)).transpose()?.flatten();
    Ok(turn.and_then(|turn| turn.content))
}

/// Roles that can be opened, as a request names them.
fn roles(named: &[Role], between: &str) -> FieldSentence {
    let mut all = FieldSentence::default();
    for (at, role) in named.iter().enumerate() {
        if at > 0 {
            all = all.and(between);
        }
        all = all.and(RequestField::Role).and(format!(" {}", role.name()));
    }
    all
}

/// Why what is stored does not give its commitment.
fn why_unopened(asked: TurnText, is_changed: bool) -> FieldSentence {
    match asked {
        TurnText::Prompt => CHANGED_QUESTION.into(),
        TurnText::Response if is_changed => CHANGED_ANSWER.into(),
        TurnText::Exchange if is_changed => CHANGED_ROWS.into(),
        TurnText::Response => sentence![
            "the answer was stored without its secrets, and the commitment is over the answer as it came: nothing \
             here opens it. ",
            roles(&[Role::Prompt, Role::Exchange], " and "),
            " can be opened"
        ],
        TurnText::Exchange => {
            "the exchange document does not give its commitment: something that stood before the model is erased"
                .into()
        }
        TurnText::Request | TurnText::Reply => CHANGED_ROWS.into(),
    }
}

/// The canonical JSON of an exchange document, from the rows; or why it can't be made again.
///
/// Whether it is the one that was recorded, its commitment tells.
fn exchange_document(
    store: &Store,
    (scheme, salt): (Scheme, &Salt),
    session: &SessionRow,
    row: &ExchangeRow,
) -> Result<Result<String, String>, StoreError> {
    let kernel = kernel_of(store, session)?;
    let kernel = kernel.as_ref().map_err(Clone::clone);
    let exchange = ExchangeRows::read(store, session, row)?.record();
    let document = exchange
        .prompt_to_commit(kernel.map(Kernel::system_prompt))
        .and_then(|compiled| exchange.document(scheme, salt, compiled.as_deref()))
        .map_err(|e| e.to_string());
    Ok(document.and_then(|document| canon::print(&document).map_err(|e| e.to_string())))
}

/// What was sent, if something was.
fn request_text(row: &ExchangeRow) -> Result<String, OpenTextsError> {
    let seq = row.seq;
    row.request.clone().map_or_else(
        || {
            because(sentence![
                format!(
                    "prompt {seq} has no request: nothing was sent for it, or it is from before conversations were \
                     sent as messages. "
                ),
                roles(&[Role::Exchange], ""),
                " can be opened"
            ])
        },
        Ok,
    )
}

/// What came beside the answer's text, if something did.
fn reply_text(row: &ExchangeRow) -> Result<String, OpenTextsError> {
    let seq = row.seq;
    let reply = row.outcome.as_ref().and_then(|found| found.reply.clone());
    reply.map_or_else(
        || {
            because(sentence![
                format!(
                    "prompt {seq} has no reply: nothing came beside the answer's text, as of the built-in models, or \
                     it is from before that was kept. "
                ),
                roles(&[Role::Response, Role::Exchange], " and "),
                " can be opened"
            ])
        },
        Ok,
    )
}

/// What the ledger carries of a text.
struct CommittedText {
    role: Role,
    /// None where no line carries it, but the exchange document.
    commitment: Option<Hash32>,
    /// The number of its line, from 0.
    line: u64,
}

impl CommittedText {
    /// Of a turn; answered ones have all roles in one line.
    fn of(row: &ExchangeRow, asked: TurnText, seq: u64) -> Result<Self, OpenTextsError> {
        let outcome = row.outcome.as_ref();
        let answered = outcome.filter(|outcome| outcome.outcome == ExchangeOutcome::Answered);
        match (asked, outcome) {
            (TurnText::Prompt, _) => Ok(CommittedText {
                role: Role::Prompt,
                commitment: Some(row.prompt_commitment),
                line: answered.map_or(row.prompt_line, |outcome| outcome.outcome_line),
            }),
            (TurnText::Exchange, Some(outcome)) => Ok(CommittedText {
                role: Role::Exchange,
                commitment: Some(outcome.exchange_commitment),
                line: outcome.outcome_line,
            }),
            (TurnText::Request, Some(outcome)) => Ok(CommittedText {
                role: Role::Request,
                commitment: None,
                line: outcome.outcome_line,
            }),
            (TurnText::Reply, Some(outcome)) if outcome.response_commitment.is_some() => {
                Ok(CommittedText {
                    role: Role::Reply,
                    commitment: None,
                    line: outcome.outcome_line,
                })
            }
            (TurnText::Response | TurnText::Reply, Some(outcome)) => {
                match outcome.response_commitment {
                    Some(commitment) => Ok(CommittedText {
                        role: Role::Response,
                        commitment: Some(commitment),
                        line: outcome.outcome_line,
                    }),
                    None => because(sentence![
                        format!(
                            "prompt {seq} has no answer: it is {} ({}). Open ",
                            outcome.outcome.name(),
                            outcome.reason.as_deref().unwrap_or("no reason")
                        ),
                        roles(&[Role::Prompt, Role::Exchange], " or ")
                    ]),
                }
            }
            (_, None) => because(sentence![
                format!("prompt {seq} has no outcome yet; only "),
                roles(&[Role::Prompt], ""),
                " can be opened"
            ]),
        }
    }
}

/// Why a text of an exchange is not here.
pub(in crate::app::prove) fn why_gone(
    store: &Store,
    row: &ExchangeRow,
) -> Result<String, OpenTextsError> {
    let id = row.exchange_id.to_string();
    let Some((line, stone)) = tombstone_of(store, &id)? else {
        if row.not_kept.is_some() {
            return Ok(
                "its text was not kept (store.content was \"none\"): what is on record is a commitment to it, and \
                       nothing here opens that"
                    .to_owned(),
            );
        }
        return Ok(
            "its text is not here any more, and no tombstone says why: gently audit verify"
                .to_owned(),
        );
    };
    let at = store
        .lines(line, line + 1)?
        .pop()
        .and_then(|line| Line::parse(line.as_bytes()).ok());
    let at = at.map_or_else(String::new, |line| format!(" at {}", line.time));
    Ok(format!(
        "it was erased{at} ({}): nobody can open it any more",
        stone.reason
    ))
}

/// Artifacts of one session, or all of none.
pub(super) fn find_artifacts(
    opened: &OpenHome,
    request: &OpeningRequest,
) -> Result<OpeningContent, OpenTextsError> {
    if request.line.is_some() && request.artifacts.len() > 1 {
        return because(sentence![
            RequestField::Line,
            " says which line of one artifact is meant; open this one alone"
        ]);
    }
    let mut pieces = Vec::new();
    for id in &request.artifacts {
        pieces.push(find_artifact(opened, id, request)?);
    }
    pieces.sort_by_key(|piece| piece.line);
    pieces.dedup_by_key(|piece| piece.line);
    let named: BTreeSet<&str> = pieces
        .iter()
        .map(|piece| piece.opening.session_id.as_str())
        .collect();
    let session = match named.into_iter().collect::<Vec<_>>().as_slice() {
        [] | ["-"] => None,
        [id] => opened.store.session(id.parse().map_err(broken)?)?,
        _ => {
            return because(
                "these artifacts are of several sessions, and a file is of one; open them apart",
            );
        }
    };
    Ok(OpeningContent { pieces, session })
}

fn find_artifact(
    opened: &OpenHome,
    id: &str,
    request: &OpeningRequest,
) -> Result<OpenedText, OpenTextsError> {
    let line = request.line;
    let named = record_name(id);
    let id = named.as_deref().unwrap_or(id);
    let short = short_name(id);
    let rows = opened.store.artifacts(ArtifactFilter::Id(id))?;
    let rows: Vec<ArtifactRow> = rows
        .into_iter()
        .filter(|row| line.is_none_or(|line| line == row.line + 1))
        .collect();
    let row = match rows.as_slice() {
        [row] => row,
        [] => {
            return because(format!(
                "no artifact '{short}' is on record there; gently log shows artifact lines"
            ));
        }
        several => {
            let listed: Vec<String> = several
                .iter()
                .map(|row| format!("{} ({})", row.line + 1, row.kind))
                .collect();
            return because(sentence![
                format!("'{short}' has several lines; say which with "),
                RequestField::Line,
                format!(": {}", listed.join(", "))
            ]);
        }
    };
    let (Some(document), Some(salt)) = (&row.document, &row.salt) else {
        if opened.store.tombstone_of(id)?.is_none() {
            return because(format!(
                "the text of '{short}' is not here: it was not kept, and nothing here opens its commitment"
            ));
        }
        return because(format!("'{short}' was erased: nobody can open it any more"));
    };
    let quoted = canon::parse::<ArtifactDoc>(document.as_bytes()).ok();
    if let Some(quoted) = quoted.filter(|_| row.kind == ACTION && !request.withheld)
        && Withheld::of(&opened.store).is_quoted_in(&quoted.content)?
    {
        return because(sentence![
            format!("'{short}' quotes an answer that is {WITHHELD}; "),
            RequestField::Withheld,
            " opens it all the same"
        ]);
    }
    let text = opened.store.lines(row.line, row.line + 1)?.pop();
    let parsed = text.and_then(|text| Line::parse(text.as_bytes()).ok());
    let Some(parsed) = parsed else {
        return because(format!("log line {} can't be read", row.line + 1));
    };
    let named = parsed
        .session
        .map_or_else(|| "-".to_owned(), |id| id.to_string());
    let scheme = opened.genesis.commitments;
    let unopened = TextOpening {
        commitment: row.commitment,
        format: Format,
        key: None,
        role: Role::Artifact,
        seq: None,
        session_id: named,
        text: document.clone(),
    };
    let Some(opening) = with_key(unopened, scheme, salt) else {
        return because(format!(
            "'{short}' does not give its commitment: it was changed (gently audit verify)"
        ));
    };
    Ok(OpenedText {
        opening,
        line: row.line,
        outcome: None,
        exchange: None,
    })
}

/// An opening with its key, if the text gives the commitment.
fn with_key(unopened: TextOpening, scheme: Scheme, salt: &Salt) -> Option<TextOpening> {
    let role = unopened.role;
    let opens = commit(scheme, salt, role, unopened.text.as_bytes()) == unopened.commitment;
    opens.then(|| TextOpening {
        key: (scheme == Scheme::HmacSha256).then(|| opening_key(salt, role)),
        ..unopened
    })
}
