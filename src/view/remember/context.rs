//! What is put before a model, why, and what is kept out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::ask::AskResult;
use crate::app::look::not_shown::UnshownReference;
use crate::app::remember::context::{ContextDetails, ContextPreview, preview_texts};
use crate::ask::recall::DeclaredContext;
use crate::continuity::compile::ContextBundle;
use crate::continuity::score::ScoreParts;
use crate::continuity::turns::disclosure;
use crate::govern::sanitize::redact;
use crate::record::context::spec::Transformation;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{ArtifactRef, Bundle, Exclusion};

use crate::view::look::digests::TurnDigestsView;

/// One thing that is put before a model.
#[derive(Clone, Debug, Serialize)]
pub struct InjectedView {
    /// What it is.
    pub artifact_type: String,
    /// Name of the artifact, such as `ledger:000183`.
    pub artifact_id: String,
    /// Commitment to the artifact; null when it has none.
    pub artifact_hash: Option<Hash32>,
    /// Why it is there.
    pub included_reason: String,
    /// The parts of its score, and their total; null when it was not chosen by one.
    pub score: Option<BTreeMap<&'static str, i64>>,
    /// How old it is, in seconds.
    pub freshness_s: Option<u64>,
    /// When it was observed.
    pub observed_at: Option<String>,
    /// What is to be known of it.
    pub risk_flags: Vec<String>,
    /// What it says; left out where only its name is told, null when its text is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Option<String>>,
}

impl InjectedView {
    /// Of a reference.
    pub fn of(one: &ArtifactRef) -> Self {
        InjectedView {
            artifact_type: one.artifact_type.clone(),
            artifact_id: one.artifact_id.clone(),
            artifact_hash: one.artifact_hash,
            included_reason: one.included_reason.clone(),
            score: score(one),
            freshness_s: one.freshness_s,
            observed_at: one.observed_at.map(|at| at.to_string()),
            risk_flags: one.risk_flags.clone(),
            text: None,
        }
    }

    /// The same with what it says.
    pub fn with_text(one: &ArtifactRef, text: Option<&str>) -> Self {
        InjectedView {
            text: Some(text.map(str::to_owned)),
            ..Self::of(one)
        }
    }
}

fn score(reference: &ArtifactRef) -> Option<BTreeMap<&'static str, i64>> {
    let (_, parts) = ScoreParts::read(&reference.included_reason)?;
    let whole = |part: u64| i64::try_from(part).unwrap_or(i64::MAX);
    let named = parts
        .named()
        .into_iter()
        .map(|(name, value)| (name, whole(value)));
    Some(named.chain([("total", parts.total())]).collect())
}

/// The sentence that tells of deep history, if any is among what is put.
pub fn disclosed(refs: &[ArtifactRef]) -> Option<String> {
    disclosure(
        refs.iter()
            .map(|one| (one.artifact_id.as_str(), one.included_reason.as_str())),
    )
}

/// An event that was declared and is not shown.
#[derive(Clone, Debug, Serialize)]
pub struct UnshownView {
    /// Id of the reference, as the client declared it.
    pub ref_id: String,
    /// Its exchange, as screens call it: `81bb5b35/16`.
    pub id: Option<String>,
    /// `question`, `decision` or `answer`.
    pub what: &'static str,
    /// The rule that kept it out.
    pub reason: String,
    /// The same for a person.
    pub says: &'static str,
    /// Names of the files behind it, which are shown again where they are attached again.
    pub files: Vec<String>,
}

impl UnshownView {
    fn of(one: &UnshownReference) -> Self {
        UnshownView {
            ref_id: one.ref_id.clone(),
            id: one.exchange.clone(),
            what: one.what,
            reason: one.rule.clone(),
            says: one.why,
            files: one.files.clone(),
        }
    }

    /// All of a turn.
    pub fn all(not_shown: &[UnshownReference]) -> Vec<Self> {
        not_shown.iter().map(Self::of).collect()
    }
}

/// What was declared, as it was typed and without secrets.
pub fn declared(context: &DeclaredContext) -> Vec<String> {
    let typed = |one: &crate::ask::recall::Reference| redact(&one.to_string()).clean;
    let typed = context.refs.iter().map(typed);
    typed.map(|text| text.as_str().to_owned()).collect()
}

/// What was declared for a question that was asked, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct TurnContextView {
    /// What was declared, as it was typed.
    pub declared: Vec<String>,
    /// Whether deep history was searched.
    pub deep: bool,
    /// What was put before the model.
    pub injected: Vec<InjectedView>,
    /// What is told of deep history.
    pub disclosure: Option<String>,
    /// Ids that were declared.
    pub declared_refs: Vec<String>,
    /// What the rules did to them.
    pub transformations: Vec<Transformation>,
    /// What was declared and not shown.
    pub not_shown: Vec<UnshownView>,
    /// Turns of `last:N` that had no place.
    pub not_declared: u64,
    /// Turns that the model is shown something of.
    pub turns_shown: u64,
    /// Questions that were asked in the thread before.
    pub turns_earlier: u64,
}

impl TurnContextView {
    /// Of what was declared, and what came of it.
    pub fn of(asked: &AskResult) -> Self {
        let (declared_context, turn) = (&asked.declared, &asked.turn);
        let (refs, context) = (&turn.context, &turn.referred);
        let ids = context.declared().iter().map(|one| one.ref_id.clone());
        TurnContextView {
            declared: declared(declared_context),
            deep: declared_context.deep,
            injected: refs.iter().map(InjectedView::of).collect(),
            disclosure: disclosed(refs),
            declared_refs: ids.collect(),
            transformations: context.transformations().to_vec(),
            not_shown: UnshownView::all(&asked.not_shown),
            not_declared: turn.unfit,
            turns_shown: context.turns_shown(),
            turns_earlier: turn.earlier,
        }
    }
}

/// What was put before the model in an exchange: what `gently context show --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ContextView {
    /// Id of the exchange whose context this is.
    pub exchange: Uuid,
    /// What was put.
    pub injected: Vec<InjectedView>,
    /// What was kept out.
    pub exclusions: Vec<Exclusion>,
    /// What is told of deep history.
    pub disclosure: Option<String>,
    /// Hash of the bundle.
    pub bundle_hash: Option<Hash32>,
    /// The bundle as it is stored.
    pub bundle: Option<Value>,
    /// Why the bundle is not here, in a sentence; null where it is.
    pub missing: Option<&'static str>,
    /// Whether texts were kept when it was recorded.
    pub kept: bool,
    /// The documents that its digests are over.
    pub digests: Option<TurnDigestsView>,
}

impl ContextView {
    /// Of what is on record.
    pub fn of(details: &ContextDetails) -> Self {
        let exchange = &details.exchange;
        let bundle = exchange.bundle_json.as_deref();
        ContextView {
            exchange: exchange.exchange_id,
            injected: injected(&details.refs, &details.texts),
            exclusions: details.exclusions.clone(),
            disclosure: disclosed(&details.refs),
            bundle_hash: exchange.bundle_hash,
            bundle: bundle.and_then(|text| serde_json::from_str(text).ok()),
            missing: details.missing(),
            kept: exchange.not_kept.is_none(),
            digests: details.digests.as_ref().map(TurnDigestsView::of),
        }
    }
}

fn injected(refs: &[ArtifactRef], texts: &[Option<String>]) -> Vec<InjectedView> {
    refs.iter()
        .zip(texts)
        .map(|(one, text)| InjectedView::with_text(one, text.as_deref()))
        .collect()
}

/// What would be put before the model: what `gently context preview --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct PreviewView {
    /// The session that it would be asked in.
    pub session_uuid: Option<Uuid>,
    /// What would be put.
    pub injected: Vec<InjectedView>,
    /// What would be kept out.
    pub exclusions: Vec<Exclusion>,
    /// What would be told of deep history.
    pub disclosure: Option<String>,
    /// Hash of the bundle.
    pub bundle_hash: Hash32,
    /// Bundle that would be put before the model.
    pub bundle: Bundle,
    /// What was declared, as it was typed.
    pub declared: Vec<String>,
    /// Whether deep history was searched.
    pub deep: bool,
    /// What was declared and would not be shown.
    pub not_shown: Vec<UnshownView>,
    /// Turns of `last:N` that have no place.
    pub not_declared: u64,
    /// That a handoff would be shown in place of the last turns, in a sentence; null elsewhere.
    pub handoff: Option<String>,
}

impl PreviewView {
    /// Of a preview and what it compiled.
    pub fn of(preview: &ContextPreview, bundle: &ContextBundle) -> Self {
        PreviewView {
            session_uuid: preview.session,
            injected: injected(bundle.refs(), &preview_texts(bundle)),
            exclusions: bundle.exclusions().to_vec(),
            disclosure: disclosed(bundle.refs()),
            bundle_hash: bundle.hash(),
            bundle: bundle.bundle().clone(),
            declared: declared(&preview.declared),
            deep: preview.declared.deep,
            not_shown: UnshownView::all(&preview.not_shown),
            not_declared: preview.referred.unfit,
            handoff: preview.handoff.clone(),
        }
    }
}

/// That policy would deny a question.
#[derive(Clone, Debug, Serialize)]
pub struct DenialView {
    /// The first code.
    pub denied: Option<String>,
    /// All of them.
    pub reasons: Vec<String>,
    /// Why, in words.
    pub message: String,
    /// The exit code.
    pub exit: u8,
}

impl DenialView {
    /// Of its codes and words.
    pub fn of(codes: &[String], why: &str, exit: u8) -> Self {
        DenialView {
            denied: codes.first().cloned(),
            reasons: codes.to_vec(),
            message: why.to_owned(),
            exit,
        }
    }
}
