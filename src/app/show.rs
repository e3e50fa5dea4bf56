//! All that is on record of one turn, and whether it still is what was recorded.

use crate::ask::withheld::Withheld;
use crate::govern::kernel::Kernel;
use crate::home::Home;
use crate::record::exchange::Exchange;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, commit};
use crate::record::ledger::documents::Genesis;
use crate::record::log::entry::Line;
use crate::recorder::tombstone_of;
use crate::store::{
    ArtifactRefRow, CommitRow, DriftRow, ExchangeRow, ExchangeRows, ReadStore, SessionRow, Store,
    StoreError, TurnRow,
};

use super::find;
use super::open::{self, OpenHomeError};
use super::warnings::{self, DriftWarning};

/// All that is on record of one exchange of a home; `uncover` also shows an answer that is withheld.
pub fn exchange(home: &Home, id: &str, uncover: bool) -> Result<ExchangeDetails, OpenHomeError> {
    let store = open::store(home)?;
    let genesis = Home::genesis(&store)?;
    store.begin_read()?;
    let mut turn = ExchangeDetails::of(&store, &genesis, find::exchange(&store, id)?)?;
    turn.uncovered = turn.withheld && uncover;
    turn.warnings = warnings::on_record(&store, &turn.exchange, !turn.is_covered())?;
    Ok(turn)
}

/// The compiled prompt of an exchange, rendered again; none when there is none, or something in it
/// is gone.
pub fn compiled(store: &Store, exchange: &ExchangeRow) -> Result<Option<String>, OpenHomeError> {
    let genesis = Home::genesis(store)?;
    let account = ExchangeDetails::of(store, &genesis, exchange.clone())?;
    Ok(account.compiled.and_then(Result::ok))
}

/// One thing that was recorded with a hash.
pub struct HashCheck {
    /// What: `prompt commitment`.
    pub what: &'static str,
    /// The hash on record.
    pub recorded: Hash32,
    /// Whether what is here has it; none when it is erased, or was never kept as it came.
    pub holds: Option<bool>,
}

/// All that is on record of one exchange.
pub struct ExchangeDetails {
    /// How screens call it: `8923fa34/3`.
    pub id: String,
    /// Its session.
    pub session: SessionRow,
    /// Its row.
    pub exchange: ExchangeRow,
    /// What was asked.
    pub prompt: Option<TurnRow>,
    /// What was answered.
    pub answer: Option<TurnRow>,
    /// Rendered again from kernel, bundle and text; or why it can't be.
    pub compiled: Option<Result<String, String>>,
    /// What is stored, held against the hashes that were recorded with it.
    pub checks: Vec<HashCheck>,
    /// What was injected, and why.
    pub refs: Vec<ArtifactRefRow>,
    /// What the validator found.
    pub drift: Vec<DriftRow>,
    /// The same for a person.
    pub warnings: Vec<DriftWarning>,
    /// The interaction's commit.
    pub commits: Vec<CommitRow>,
    /// When and why its text was erased, if a tombstone says so.
    pub erased: Option<(String, String)>,
    /// The kernel blocks a drift of this answer, so it is not shown unasked.
    pub withheld: bool,
    /// It is shown all the same: somebody asked for it by name.
    pub uncovered: bool,
}

impl ExchangeDetails {
    fn of(
        store: &ReadStore,
        genesis: &Genesis,
        exchange: ExchangeRow,
    ) -> Result<ExchangeDetails, StoreError> {
        let lost = || StoreError::Corrupt {
            place: "llm_exchange.session_id".to_owned(),
            expected: "a session".to_owned(),
            actual: exchange.session.to_string(),
        };
        let session = store.session_of(exchange.session)?.ok_or_else(lost)?;
        let rows = ExchangeRows::read(store, &session, &exchange)?;
        let kernel = kernel_of(store, &session)?;
        let kernel = kernel.as_ref().map_err(Clone::clone);
        let record = rows.record();
        let compiled = record.compiled_prompt(kernel.map(Kernel::system_prompt));
        let compiled = compiled.map_err(|e| e.to_string()).transpose();
        let document = document_commitment(&record, genesis, exchange.salt.as_ref(), &compiled);
        let ExchangeRows {
            user: prompt,
            aurora: answer,
            refs,
            drift,
            ..
        } = rows;
        let answered = exchange.outcome.as_ref().filter(|_| exchange.is_answered());
        let commits = match answered {
            Some(outcome) => store.commits_of_line(outcome.outcome_line)?,
            None => Vec::new(),
        };
        let withheld = Withheld::of(store).answer_of(&exchange)?;
        let mut checks = checks(
            genesis,
            &exchange,
            prompt.as_ref(),
            answer.as_ref(),
            compiled.as_ref(),
        );
        checks.extend(exchange.outcome.as_ref().map(|outcome| HashCheck {
            what: "exchange commitment",
            recorded: outcome.exchange_commitment,
            holds: document.map(|found| found == outcome.exchange_commitment),
        }));
        checks.extend(line_checks(store, &exchange)?);
        let erased = if prompt.as_ref().is_none_or(|turn| turn.content.is_none()) {
            erased(store, &exchange)?
        } else {
            None
        };
        Ok(ExchangeDetails {
            id: find::short_id(store, session.id, exchange.seq)?,
            session,
            exchange,
            prompt,
            answer,
            compiled,
            checks,
            refs,
            drift,
            warnings: Vec::new(),
            commits,
            erased,
            withheld,
            uncovered: false,
        })
    }

    /// What was asked; none when it is not here any more.
    pub fn prompt_text(&self) -> Option<&str> {
        self.prompt.as_ref()?.content.as_deref()
    }

    /// What was answered; none when there is no answer, or it is not here any more.
    pub fn answer_text(&self) -> Option<&str> {
        self.answer.as_ref()?.content.as_deref()
    }

    /// What stands in the place of a text that is not here.
    pub fn gone(&self) -> &'static str {
        match (&self.erased, self.exchange.not_kept) {
            (None, Some(_)) => {
                "not kept: only the commitment is on record (store.content was \"none\")"
            }
            _ => "erased",
        }
    }

    /// Whether the answer stays covered.
    pub fn is_covered(&self) -> bool {
        self.withheld && !self.uncovered
    }

    /// `answered`, `failed`, `denied`, or `in flight`.
    pub fn outcome(&self) -> &'static str {
        self.exchange
            .outcome
            .as_ref()
            .map_or("in flight", |outcome| outcome.outcome.name())
    }

    /// `interaction-3` of an answered prompt, else `prompt-3`.
    pub fn name(&self) -> String {
        self.exchange.name()
    }
}

/// A session's kernel, or why it can't be read.
pub fn kernel_of(
    store: &ReadStore,
    session: &SessionRow,
) -> Result<Result<Kernel, String>, StoreError> {
    Ok(match store.kernel(session.kernel_hash)? {
        Some(json) => Kernel::from_canonical(&json).map_err(|e| e.to_string()),
        None => Err("its kernel is not here".to_owned()),
    })
}

/// Time and reason of the tombstone that names an exchange.
fn erased(
    store: &ReadStore,
    exchange: &ExchangeRow,
) -> Result<Option<(String, String)>, StoreError> {
    let id = exchange.exchange_id.to_string();
    let Some((line, tombstone)) = tombstone_of(store, &id)? else {
        return Ok(None);
    };
    let line = store
        .lines(line, line + 1)?
        .first()
        .and_then(|line| Line::parse(line.as_bytes()).ok());
    let at = line.map_or_else(
        || "at an unknown time".to_owned(),
        |line| line.time.to_string(),
    );
    Ok(Some((at, tombstone.reason)))
}

/// The commitment to the exchange document, made again from the rows; none where a part of it is
/// erased.
fn document_commitment(
    record: &Exchange,
    genesis: &Genesis,
    salt: Option<&Salt>,
    compiled: &Option<Result<String, String>>,
) -> Option<Hash32> {
    let compiled = match compiled {
        Some(Ok(text)) => Some(text.as_str()),
        Some(Err(_)) if record.not_kept.is_none() => return None,
        _ => None,
    };
    let (scheme, salt) = (genesis.commitments, salt?);
    let document = record.document(scheme, salt, compiled).ok()?;
    document.commitment(scheme, salt).ok()
}

/// Holds the hashes of an exchange against its lines of the log, as the database has them.
fn line_checks(store: &ReadStore, exchange: &ExchangeRow) -> Result<Vec<HashCheck>, StoreError> {
    let prompt = (
        "prompt's line",
        exchange.prompt_line,
        "hash",
        Some(exchange.prompt_commitment),
    );
    let outcome = exchange.outcome.as_ref().filter(|_| exchange.is_answered());
    let answer = outcome.into_iter().flat_map(|outcome| {
        let line = outcome.outcome_line;
        [
            ("answer's line", line, "hash", outcome.response_commitment),
            (
                "answer's line, chain entry",
                line,
                "chain",
                outcome.chain_entry,
            ),
        ]
    });
    let mut checks = Vec::new();
    for (what, number, field, recorded) in std::iter::once(prompt).chain(answer) {
        let line = store.lines(number, number + 1)?;
        let line = line
            .first()
            .and_then(|line| Line::parse(line.as_bytes()).ok());
        let fields = line.map(|line| line.event.fields()).unwrap_or_default();
        let found = fields.into_iter().find(|(key, _)| key == field);
        if let Some(recorded) = recorded {
            let holds = Some(found.is_some_and(|(_, value)| value == recorded.to_string()));
            checks.push(HashCheck {
                what,
                recorded,
                holds,
            });
        }
    }
    Ok(checks)
}

/// Holds what is stored against the hashes that were recorded with it.
fn checks(
    genesis: &Genesis,
    exchange: &ExchangeRow,
    prompt: Option<&TurnRow>,
    answer: Option<&TurnRow>,
    compiled: Option<&Result<String, String>>,
) -> Vec<HashCheck> {
    let digest = |text: &str| Hash32::digest(text.as_bytes());
    let mut checks = Vec::new();
    let mut add = |what, recorded: Option<Hash32>, found: Option<Hash32>| {
        if let Some(recorded) = recorded {
            checks.push(HashCheck {
                what,
                recorded,
                holds: found.map(|found| found == recorded),
            });
        }
    };
    let text = prompt.and_then(|turn| turn.content.as_deref());
    let opened = exchange.salt.as_ref().zip(text);
    let opened =
        opened.map(|(salt, text)| commit(genesis.commitments, salt, Role::Prompt, text.as_bytes()));
    add(
        "prompt commitment",
        Some(exchange.prompt_commitment),
        opened,
    );
    add(
        "context bundle",
        exchange.bundle_hash,
        exchange.bundle_json.as_deref().map(digest),
    );
    let rendered = compiled.and_then(|compiled| compiled.as_ref().ok());
    add(
        "compiled prompt",
        exchange.prompt_hash,
        rendered.map(|text| digest(text)),
    );
    let outcome = exchange.outcome.as_ref();
    let stored = answer.and_then(|turn| turn.content.as_deref());
    add(
        "stored answer",
        outcome.and_then(|o| o.response_hash),
        stored.map(digest),
    );
    // It is over the answer as it came; the stored one may have lost secrets, and then opens
    // nothing.
    let opened = exchange.salt.as_ref().zip(stored);
    let opened = opened
        .map(|(salt, text)| commit(genesis.commitments, salt, Role::Response, text.as_bytes()));
    let recorded = outcome.and_then(|o| o.response_commitment);
    add(
        "answer commitment",
        recorded,
        opened.filter(|found| Some(*found) == recorded),
    );
    checks
}
