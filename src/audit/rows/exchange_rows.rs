//! All rows of one exchange, and the documents that they give again.

use std::cell::OnceCell;

use crate::continuity::prompt::{Earlier, PriorTurn, render_read};
use crate::continuity::turns::{DEEP, TURN};
use crate::govern::kernel::Kernel;
use crate::govern::reply::output::told;
use crate::record::canon::{self, CanonError};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{Bundle, Exclusion};
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::{ArtifactNamed, DriftNamed, ExchangeDoc};
use crate::record::ledger::params::Params;
use crate::store::{
    ArtifactRefRow, DriftRow, ExchangeRow, MissingCommitments, ReadStore, SessionRow, StoreError,
    TurnRow,
};

use super::contexts::Context;

/// All rows of one exchange.
pub(crate) struct ExchangeRows<'a> {
    pub session: &'a SessionRow,
    pub exchange: &'a ExchangeRow,
    pub user: Option<TurnRow>,
    pub aurora: Option<TurnRow>,
    pub refs: Vec<ArtifactRefRow>,
    pub drift: Vec<DriftRow>,
    /// The session's, or why it can't be read; none when it is not there.
    pub kernel: &'a Option<Result<Kernel, String>>,
    /// Thread and declared context; none for an exchange from before threads.
    pub context: Option<Context>,
    /// Earlier turns that stand in a block of their own, in their order; none for one that is
    /// erased.
    pub turns: Vec<Option<PriorTurn>>,
    /// The bundle, once it was read.
    pub read: OnceCell<Result<Bundle, CanonError>>,
}

impl<'a> ExchangeRows<'a> {
    pub fn place(&self) -> String {
        format!(
            "llm_exchange {} (prompt {} of session {})",
            self.exchange.exchange_id, self.exchange.seq, self.session.id
        )
    }

    /// The compiled prompt, rendered again; none when nothing was compiled.
    pub fn compiled(&self, user: &str) -> Result<Option<String>, String> {
        let turns = self.prior()?;
        match self
            .context
            .as_ref()
            .map(Context::block)
            .transpose()
            .map_err(|e| e.to_string())?
        {
            Some(block) => self.compiled_with(block, user),
            None => self.rendered(Earlier::Turns(&turns), user),
        }
    }

    /// The same with a context block that was made again.
    pub fn compiled_with(
        &self,
        block: Option<String>,
        user: &str,
    ) -> Result<Option<String>, String> {
        let deep = self.prior()?;
        self.rendered(
            Earlier::Context {
                deep: &deep,
                block: block.as_deref(),
            },
            user,
        )
    }

    fn prior(&self) -> Result<Vec<PriorTurn>, String> {
        let turns: Option<Vec<PriorTurn>> = self.turns.iter().cloned().collect();
        turns.ok_or_else(|| {
            "an earlier turn in it is erased, and no tombstone names it for that".to_owned()
        })
    }

    /// The bundle and its text, which is what the bundle prints; none where there is none.
    pub fn bundle(&self) -> Result<Option<(&Bundle, &str)>, &CanonError> {
        let Some(json) = self.exchange.bundle_json.as_deref() else {
            return Ok(None);
        };
        let bundle = self.read.get_or_init(|| Bundle::parse(json)).as_ref()?;
        Ok(Some((bundle, json)))
    }

    fn rendered(&self, earlier: Earlier<'_>, user: &str) -> Result<Option<String>, String> {
        if self.exchange.bundle_json.is_none() {
            return Ok(None);
        }
        let kernel = self
            .kernel
            .as_ref()
            .ok_or("its kernel is not in the database")?;
        let kernel = kernel.as_ref().map_err(Clone::clone)?;
        let system = self.params()?.and_then(|params| params.system);
        let Some(bundle) = self.bundle().map_err(|e| format!("stored bundle: {e}"))? else {
            return Ok(None);
        };
        render_read(kernel, bundle, system.as_deref(), earlier, user)
            .map(Some)
            .map_err(|e| e.to_string())
    }

    /// Whether a text that its document commits to is erased, or was not kept.
    pub fn has_gone(&self) -> bool {
        let row = self.exchange;
        let gone =
            |turn: &Option<TurnRow>| turn.as_ref().is_some_and(|turn| turn.content.is_none());
        let sent = row.params.is_some() && (row.bundle_json.is_none() || row.prompt_hash.is_none());
        gone(&self.user) || gone(&self.aurora) || sent
    }

    /// Reads them; a turn that is named and not here counts as erased.
    pub fn read(
        store: &ReadStore,
        session: &'a SessionRow,
        exchange: &'a ExchangeRow,
        kernel: &'a Option<Result<Kernel, String>>,
    ) -> Result<ExchangeRows<'a>, StoreError> {
        let context = Context::read(store, exchange.exchange_id)?;
        Self::read_with(store, session, exchange, kernel, context)
    }

    /// The same where the context was read.
    pub fn read_with(
        store: &ReadStore,
        session: &'a SessionRow,
        exchange: &'a ExchangeRow,
        kernel: &'a Option<Result<Kernel, String>>,
        context: Option<Context>,
    ) -> Result<ExchangeRows<'a>, StoreError> {
        let refs = store.artifact_refs(exchange.exchange_id)?;
        let mut turns = Vec::new();
        let apart =
            |row: &&ArtifactRefRow| context.is_none() || row.included_reason.starts_with(DEEP);
        for row in refs
            .iter()
            .filter(|row| row.artifact_type == TURN)
            .filter(apart)
        {
            let turn = row
                .artifact_id
                .parse()
                .ok()
                .map(|id| store.turn(id))
                .transpose()?
                .flatten();
            turns.push(turn.and_then(|turn| {
                PriorTurn::new(
                    turn.turn_id,
                    turn.by_user,
                    turn.created_at,
                    turn.content.as_deref(),
                )
            }));
        }
        let aurora = exchange
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.turn_aurora);
        Ok(ExchangeRows {
            session,
            exchange,
            user: store.turn(exchange.turn_user)?,
            aurora: aurora.map(|id| store.turn(id)).transpose()?.flatten(),
            turns,
            drift: store.drift(exchange.exchange_id)?,
            kernel,
            refs,
            context,
            read: OnceCell::new(),
        })
    }

    /// What the call was made with; none when no call was to be made.
    fn params(&self) -> Result<Option<Params>, String> {
        let stored = self.exchange.params.as_deref();
        let params = stored
            .map(|text| Params::parse(text).map_err(|e| format!("params: {e}")))
            .transpose()?;
        // A declared shape is covered by what the model was told of it.
        let shape = params.as_ref().and_then(|params| params.expect.as_deref());
        let said = params
            .as_ref()
            .and_then(|params| params.system.as_deref())
            .unwrap_or_default();
        match shape {
            Some(shape) if !said.starts_with(&told(shape)) => {
                Err("params: a shape that the model was not told".to_owned())
            }
            _ => Ok(params),
        }
    }

    /// What the document commits to in the place of texts: made from them, or as it is stored where
    /// they are not kept.
    fn texts(
        &self,
        commit_to: &dyn Fn(Role, &str) -> Hash32,
        compiled: Option<&str>,
    ) -> Result<TextCommitments, String> {
        if let Some(asked) = self.exchange.not_kept {
            let aurora_text = self
                .exchange
                .outcome
                .as_ref()
                .and_then(|outcome| outcome.aurora_text);
            return Ok(TextCommitments { asked, aurora_text });
        }
        let user = self
            .user
            .as_ref()
            .and_then(|turn| turn.content.as_deref())
            .ok_or("the user's text is gone")?;
        let aurora = self
            .aurora
            .as_ref()
            .map(|turn| turn.content.as_deref().ok_or("the answer's text is gone"));
        let asked = MissingCommitments {
            user_text: commit_to(Role::UserText, user),
            bundle: self
                .exchange
                .bundle_json
                .as_deref()
                .map(|json| commit_to(Role::Bundle, json)),
            compiled_prompt: match compiled {
                Some(compiled) => Some(commit_to(Role::CompiledPrompt, compiled)),
                None => self
                    .compiled(user)?
                    .map(|text| commit_to(Role::CompiledPrompt, &text)),
            },
        };
        Ok(TextCommitments {
            asked,
            aurora_text: aurora
                .transpose()?
                .map(|text| commit_to(Role::AuroraText, text)),
        })
    }

    /// The exchange document that they give.
    pub fn document(&self, scheme: Scheme, salt: &Salt) -> Result<ExchangeDoc, String> {
        self.document_with(scheme, salt, None)
    }

    /// The same, where these rows were compiled before: rendering is the dearest part of it.
    pub fn document_with(
        &self,
        scheme: Scheme,
        salt: &Salt,
        compiled: Option<&str>,
    ) -> Result<ExchangeDoc, String> {
        let outcome = self
            .exchange
            .outcome
            .as_ref()
            .ok_or("the exchange has no outcome")?;
        let commit_to = |role, text: &str| commit(scheme, salt, role, text.as_bytes());
        let texts = self.texts(&commit_to, compiled)?;
        let exclusions: Vec<Exclusion> =
            canon::parse(self.exchange.exclusions.as_bytes()).map_err(|e| e.to_string())?;
        let validator = outcome
            .validator_summary
            .as_deref()
            .map(serde_json::from_str)
            .transpose();
        Ok(ExchangeDoc {
            answered_at: outcome.answered_at,
            artifacts: self.refs.iter().cloned().map(named_artifact).collect(),
            asked_at: self.exchange.created_at,
            aurora_text: texts.aurora_text,
            authority_state: self.exchange.authority_state,
            bundle: texts.asked.bundle,
            compiled_prompt: texts.asked.compiled_prompt,
            completion_tokens: outcome.completion_tokens,
            context: self
                .context
                .as_ref()
                .map(|c| c.named(scheme, salt))
                .transpose()
                .map_err(|e| e.to_string())?,
            cost: outcome.cost.clone(),
            decision: self.exchange.decision.clone(),
            drift: self.drift.iter().cloned().map(named_drift).collect(),
            exchange_id: self.exchange.exchange_id,
            exclusions,
            format: Format,
            kernel_hash: self.session.kernel_hash,
            model: self.exchange.model.clone(),
            outcome: outcome.outcome.name().to_owned(),
            params: self.params()?.map(|params| params.named()),
            prompt_tokens: outcome.prompt_tokens,
            reason: outcome.reason.clone(),
            refusal: outcome.refusal,
            seq: self.exchange.seq,
            session_id: self.session.id,
            user_text: texts.asked.user_text,
            validator: validator.map_err(|e| e.to_string())?,
        })
    }
}

fn named_artifact(row: ArtifactRefRow) -> ArtifactNamed {
    ArtifactNamed {
        artifact_id: row.artifact_id,
        artifact_type: row.artifact_type,
        freshness_s: row.freshness_s,
        included_reason: row.included_reason,
        observed_at: row.observed_at,
        risk_flags: row.risk_flags,
    }
}

fn named_drift(row: DriftRow) -> DriftNamed {
    DriftNamed {
        class: row.class,
        id: row.drift_id,
        severity: row.severity,
        summary: row.summary,
    }
}

/// Commitments to the texts of an exchange.
struct TextCommitments {
    asked: MissingCommitments,
    aurora_text: Option<Hash32>,
}
