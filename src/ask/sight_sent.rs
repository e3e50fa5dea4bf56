//! What of this machine a model is shown, and how it is told to whoever asks.

use crate::continuity::compile::SIGHT_REASON;
use crate::models::Model;
use crate::record::ledger::bundle::ArtifactRef;

/// The tools whose values are among what a model is shown.
pub fn tools_shown(context: &[ArtifactRef]) -> Vec<&ArtifactRef> {
    let seen =
        |one: &&ArtifactRef| one.included_reason == SIGHT_REASON && one.observed_at.is_some();
    context.iter().filter(seen).collect()
}

/// `disk_usage, sys_health (looked at just now)`; none when no tool shows anything.
pub fn tools_named(context: &[ArtifactRef]) -> Option<String> {
    let shown = tools_shown(context);
    let oldest = shown.iter().filter_map(|tool| tool.freshness_s).max()?;
    let names = shown.iter().map(|tool| tool.artifact_type.as_str());
    let names: Vec<&str> = names.collect();
    let when = match oldest {
        0 | 1 => "just now".to_owned(),
        seconds => format!("{seconds} seconds before"),
    };
    Some(format!("{} (looked at {when})", names.join(", ")))
}

/// What whoever asks is told before anything of this machine leaves it; none where nothing does.
pub(super) fn notice(model: &Model, context: &[ArtifactRef]) -> Option<String> {
    let named = tools_named(context).filter(|_| model.leaves_machine())?;
    let id = model.id();
    Some(format!(
        "sending what gently sees of this machine to {id}: {named}. To send nothing of it: gently ask --no-sight"
    ))
}
