//! All that is on record of one turn, and whether it still is what was recorded.

use std::cell::OnceCell;

use crate::ask::stored_text::{document_commitment, kernel_of};
use crate::ask::withheld::Withheld;
use crate::audit::rows::content_policy::ContentPolicies;
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::has_placeholder;
use crate::govern::stored_kernel::StoredKernels;
use crate::home::Home;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, commit};
use crate::record::ledger::content_policy::CONTENT_POLICY;
use crate::record::ledger::documents::{Genesis, Record};
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::prompt::SystemPrompt;
use crate::record::log::entry::Line;
use crate::recorder::tombstone_of;
use crate::store::{
    ArtifactFilter, ArtifactRefRow, CommitRow, DriftRow, ExchangeRow, ExchangeRows, ReadStore,
    SessionRow, Store, StoreError, TurnRow,
};

use crate::app::ask::warnings::{self, DriftWarning};
use crate::app::find::{self, MeantId};
use crate::app::home::open::{self, OpenHomeError};

use super::assertion::{RunUtility, run_utility};

/// What an id means, of whatever kind it is.
pub fn meant(home: &Home, id: &str) -> Result<MeantId, OpenHomeError> {
    Ok(find::any(&*open::store(home)?, id)?)
}

/// All that is on record of one exchange of a home; `uncover` also shows an answer that is withheld.
pub fn exchange(home: &Home, id: &str, uncover: bool) -> Result<ExchangeDetails, OpenHomeError> {
    let store = open::store(home)?;
    let genesis = Home::genesis(&store)?;
    store.begin_read()?;
    let mut turn = ExchangeDetails::of(&store, &genesis, find::exchange(&store, id)?)?;
    turn.uncovered = turn.withheld && uncover;
    turn.warnings = warnings::on_record(&store, &turn.exchange, !turn.is_covered())?;
    let of = (&turn.exchange, &turn.session);
    turn.utility = Some(run_utility(&store, of, turn.prompt_text())?);
    Ok(turn)
}

/// The compiled prompt of an exchange, rendered again; none when there is none, or something in it
/// is gone.
pub fn compiled(store: &Store, exchange: &ExchangeRow) -> Result<Option<String>, OpenHomeError> {
    let genesis = Home::genesis(store)?;
    let account = ExchangeDetails::of(store, &genesis, exchange.clone())?;
    Ok(account.compiled.and_then(Result::ok))
}

/// What of an exchange is not as it was recorded; nothing where all of it is.
pub fn changed(store: &Store, exchange: &ExchangeRow) -> Result<Vec<&'static str>, StoreError> {
    RecordCheck::new(store)?.changed(exchange)
}

/// Holds many exchanges against what was recorded with them: ledger and kernels are read once.
pub struct RecordCheck<'a> {
    store: &'a ReadStore,
    genesis: Genesis,
    kernels: StoredKernels,
    policies: OnceCell<ContentPolicies>,
}

impl<'a> RecordCheck<'a> {
    /// On a store.
    pub fn new(store: &'a ReadStore) -> Result<RecordCheck<'a>, StoreError> {
        let genesis = Home::genesis(store).map_err(|e| StoreError::Corrupt {
            place: "head.genesis".to_owned(),
            expected: "a genesis document".to_owned(),
            actual: e.to_string(),
        })?;
        Ok(RecordCheck {
            store,
            genesis,
            kernels: StoredKernels::default(),
            policies: OnceCell::new(),
        })
    }

    /// What of an exchange is not as it was recorded; nothing where all of it is.
    pub fn changed(&self, exchange: &ExchangeRow) -> Result<Vec<&'static str>, StoreError> {
        let session = session_around(self.store, exchange)?;
        let rows = ExchangeRows::read(self.store, &session, exchange)?;
        let kernel = self
            .kernels
            .get(session.kernel_hash, |hash| self.store.kernel(hash))?;
        let kernel = kernel.as_ref().as_ref().map_err(Clone::clone);
        let erased = erased_where_gone(self.store, exchange, (&rows.user, &rows.aurora))?;
        let checked = CheckedRows::of(
            (self.store, &self.genesis),
            &rows,
            kernel.map(Kernel::system_prompt),
            erased.is_some(),
        )?;
        let mut changed = broken(&checked.checks);
        if exchange.not_kept.is_some() && !self.kept_none(exchange.prompt_line)? {
            changed.push("its texts, which were kept by the policy on record");
        }
        Ok(changed)
    }

    /// Whether the policy on record at a line keeps no texts.
    fn kept_none(&self, line: u64) -> Result<bool, StoreError> {
        if let Some(known) = self.policies.get() {
            return Ok(known.at(line).is_some());
        }
        let rows = self.store.artifacts(ArtifactFilter::Kind(CONTENT_POLICY))?;
        let read = || ContentPolicies::of(rows, self.genesis.commitments);
        Ok(self.policies.get_or_init(read).at(line).is_some())
    }
}

fn session_around(store: &ReadStore, exchange: &ExchangeRow) -> Result<SessionRow, StoreError> {
    let session = store.session_of(exchange.session)?;
    session.ok_or_else(|| StoreError::Corrupt {
        place: "llm_exchange.session_id".to_owned(),
        expected: "a session".to_owned(),
        actual: exchange.session.to_string(),
    })
}

/// When and why its text was erased, where a text is not here.
fn erased_where_gone(
    store: &ReadStore,
    exchange: &ExchangeRow,
    (prompt, answer): (&Option<TurnRow>, &Option<TurnRow>),
) -> Result<Option<(String, String)>, StoreError> {
    let is_gone = |turn: &Option<TurnRow>| turn.as_ref().is_none_or(|turn| turn.content.is_none());
    match is_gone(prompt) || (exchange.is_answered() && is_gone(answer)) {
        true => erased(store, &exchange.exchange_id.to_string()),
        false => Ok(None),
    }
}

/// What the rows of an exchange give, held against what was recorded.
struct CheckedRows {
    compiled: Option<Result<String, String>>,
    checks: Vec<HashCheck>,
}

impl CheckedRows {
    fn of(
        (store, genesis): (&ReadStore, &Genesis),
        rows: &ExchangeRows<'_>,
        system: Result<SystemPrompt<'_>, String>,
        is_erased: bool,
    ) -> Result<CheckedRows, StoreError> {
        let (exchange, record) = (rows.exchange, rows.record());
        let compiled = record.compiled_prompt(system);
        let compiled = compiled.map_err(|e| e.to_string()).transpose();
        let document = document_commitment(
            &record,
            genesis.commitments,
            exchange.salt.as_ref(),
            &compiled,
        );
        let mut checks = HashChecks {
            list: Vec::new(),
            is_explained: is_erased || exchange.not_kept.is_some(),
        };
        checks.texts(
            genesis,
            exchange,
            (rows.user.as_ref(), rows.aurora.as_ref()),
        );
        checks.made_again(exchange, compiled.as_ref(), document);
        checks.lines(store, exchange)?;
        Ok(CheckedRows {
            compiled,
            checks: checks.list,
        })
    }
}

/// What of these does not hold.
fn broken(checks: &[HashCheck]) -> Vec<&'static str> {
    let broken = checks.iter().filter(|check| check.holds == Some(false));
    broken.map(|check| check.what).collect()
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
    /// Row of the session that the exchange is part of.
    pub session: SessionRow,
    /// Row of the exchange as the database has it.
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
    /// What it was worth, or why nobody can say; none where that was not asked.
    pub utility: Option<Result<RunUtility, &'static str>>,
}

impl ExchangeDetails {
    fn of(
        store: &ReadStore,
        genesis: &Genesis,
        exchange: ExchangeRow,
    ) -> Result<ExchangeDetails, StoreError> {
        let session = session_around(store, &exchange)?;
        let rows = ExchangeRows::read(store, &session, &exchange)?;
        let kernel = kernel_of(store, &session)?;
        let kernel = kernel.as_ref().map_err(Clone::clone);
        let erased = erased_where_gone(store, &exchange, (&rows.user, &rows.aurora))?;
        let CheckedRows { compiled, checks } = CheckedRows::of(
            (store, genesis),
            &rows,
            kernel.map(Kernel::system_prompt),
            erased.is_some(),
        )?;
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
            utility: None,
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

    /// Whether question and answer are here, so that what holds is about them.
    pub fn is_whole(&self) -> bool {
        self.prompt_text().is_some() && self.answer_text().is_some()
    }

    /// What is not as it was recorded.
    pub fn changed(&self) -> Vec<&'static str> {
        broken(&self.checks)
    }

    /// Whether the answer stays covered.
    pub fn is_covered(&self) -> bool {
        self.withheld && !self.uncovered
    }

    /// `interaction-3` of an answered prompt, else `prompt-3`.
    pub fn name(&self) -> String {
        self.exchange.name()
    }
}

/// Time and reason of the tombstone that names an exchange or an artifact.
pub fn erased(store: &ReadStore, id: &str) -> Result<Option<(String, String)>, StoreError> {
    let Some((line, tombstone)) = tombstone_of(store, id)? else {
        return Ok(None);
    };
    let line = store
        .lines(line, line + 1)?
        .first()
        .and_then(|line| Line::parse(line.as_bytes()).ok());
    // A row alone erases nothing: its line says that something was erased.
    let is_recorded = line.as_ref().is_some_and(|line| {
        let mut fields = line.event.fields().into_iter();
        fields.any(|(key, value)| key == "kind" && value == TOMBSTONE)
    });
    if !is_recorded {
        return Ok(None);
    }
    let at = line.map_or_else(
        || "at an unknown time".to_owned(),
        |line| line.time.to_string(),
    );
    Ok(Some((at, tombstone.reason)))
}

/// What is stored, held against what was recorded with it.
///
/// What can't be checked holds only where the record says why: its text is erased, or was never
/// kept. Otherwise whoever changes a row so that it can't be read would have it pass.
struct HashChecks {
    list: Vec<HashCheck>,
    /// Whether a tombstone or a policy on record says why a text is not here.
    is_explained: bool,
}

impl HashChecks {
    fn add(&mut self, what: &'static str, recorded: Option<Hash32>, found: Option<Hash32>) {
        let Some(recorded) = recorded else {
            return;
        };
        let found = found.map(|found| found == recorded);
        let holds = found.or((!self.is_explained).then_some(false));
        self.list.push(HashCheck {
            what,
            recorded,
            holds,
        });
    }

    /// Question and answer against their commitments and digests.
    fn texts(
        &mut self,
        genesis: &Genesis,
        exchange: &ExchangeRow,
        (prompt, answer): (Option<&TurnRow>, Option<&TurnRow>),
    ) {
        let opened = |role, text: &str| {
            let salt = exchange.salt.as_ref()?;
            Some(commit(genesis.commitments, salt, role, text.as_bytes()))
        };
        let text = prompt.and_then(|turn| turn.content.as_deref());
        let stored = answer.and_then(|turn| turn.content.as_deref());
        let found = text.map(|text| opened(Role::Prompt, text));
        self.opened("prompt commitment", Some(exchange.prompt_commitment), found);
        let outcome = exchange.outcome.as_ref();
        let digest = stored.map(|text| Hash32::digest(text.as_bytes()));
        self.add(
            "stored answer",
            outcome.and_then(|o| o.response_hash),
            digest,
        );
        let recorded = outcome.and_then(|o| o.response_commitment);
        let found = stored.map(|text| opened(Role::Response, text));
        let is_as_it_came = found.flatten() == recorded;
        if let Some(recorded) = recorded.filter(|_| !is_as_it_came)
            && exchange.salt.is_some()
            && stored.is_some_and(has_placeholder)
        {
            // It is over the answer as it came; the stored one has lost a secret. The exchange
            // document commits to the stored one.
            self.list.push(HashCheck {
                what: "answer commitment",
                recorded,
                holds: None,
            });
        } else {
            self.opened("answer commitment", recorded, found);
        }
    }

    /// A commitment against a text that is here: without its salt that is anybody's word.
    fn opened(
        &mut self,
        what: &'static str,
        recorded: Option<Hash32>,
        found: Option<Option<Hash32>>,
    ) {
        match (recorded, found) {
            (Some(recorded), Some(None)) => self.list.push(HashCheck {
                what,
                recorded,
                holds: Some(false),
            }),
            (recorded, found) => self.add(what, recorded, found.flatten()),
        }
    }

    /// What the rows give, made again.
    fn made_again(
        &mut self,
        exchange: &ExchangeRow,
        compiled: Option<&Result<String, String>>,
        document: Option<Hash32>,
    ) {
        let digest = |text: &str| Hash32::digest(text.as_bytes());
        let bundle = exchange.bundle_json.as_deref().map(digest);
        self.add("context bundle", exchange.bundle_hash, bundle);
        let rendered = compiled.and_then(|compiled| compiled.as_ref().ok());
        let rendered = rendered.map(|text| digest(text));
        self.add("compiled prompt", exchange.prompt_hash, rendered);
        let outcome = exchange.outcome.as_ref();
        let recorded = outcome.map(|outcome| outcome.exchange_commitment);
        self.add("exchange commitment", recorded, document);
    }

    /// The hashes of an exchange against its lines of the log, as the database has them, and that
    /// of its document against `record.json` of its commit.
    fn lines(&mut self, store: &ReadStore, exchange: &ExchangeRow) -> Result<(), StoreError> {
        let prompt = (
            "prompt's line",
            exchange.prompt_line,
            "hash",
            Some(exchange.prompt_commitment),
        );
        let outcome = exchange.outcome.as_ref().filter(|_| exchange.is_answered());
        let record = outcome.map(|outcome| store.record_of_line(outcome.outcome_line));
        let record = record.transpose()?.flatten();
        let unanswered = exchange
            .outcome
            .as_ref()
            .filter(|_| !exchange.is_answered());
        let unanswered = unanswered.map(|outcome| {
            let recorded = Some(outcome.exchange_commitment);
            ("outcome's line", outcome.outcome_line, "exchange", recorded)
        });
        let answer = outcome.into_iter().flat_map(|outcome| {
            let line = outcome.outcome_line;
            let record = record.as_deref().map(Hash32::digest);
            [
                ("answer's line, record", line, "record", record),
                ("answer's line", line, "hash", outcome.response_commitment),
                (
                    "answer's line, chain entry",
                    line,
                    "chain",
                    outcome.chain_entry,
                ),
            ]
        });
        for (what, number, field, recorded) in
            std::iter::once(prompt).chain(answer).chain(unanswered)
        {
            let Some(recorded) = recorded else {
                continue;
            };
            let line = store.lines(number, number + 1)?;
            let line = line
                .first()
                .and_then(|line| Line::parse(line.as_bytes()).ok());
            let fields = line.map(|line| line.event.fields()).unwrap_or_default();
            let found = fields.into_iter().find(|(key, _)| key == field);
            let holds = Some(found.is_some_and(|(_, value)| value == recorded.to_string()));
            self.list.push(HashCheck {
                what,
                recorded,
                holds,
            });
        }
        if let Some(outcome) = outcome {
            let record = record.and_then(|bytes| canon::parse_in_order::<Record>(&bytes).ok());
            let recorded = outcome.exchange_commitment;
            self.list.push(HashCheck {
                what: "answer's record",
                recorded,
                holds: Some(record.is_some_and(|record| record.exchange_hash == recorded)),
            });
        }
        Ok(())
    }
}
