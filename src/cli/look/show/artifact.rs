//! What is kept beside questions and answers and has no list of its own.

use serde_json::Value;

use crate::app::home::open::OpenHomeError;
use crate::app::look::artifact::{self, ArtifactDetails};
use crate::app::words::{and_more, short_uuids};
use crate::home::Home;
use crate::record::ledger::short_name::short_name;
use crate::view::look::artifact::ArtifactDetailsView;

use crate::cli::present;
use crate::cli::screen::quiet;

/// Shows one.
pub fn run(home: &Home, id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let details = artifact::show(home, id)?;
    let view = || ArtifactDetailsView::of(&details);
    Ok(present(json, view, || text(&details)))
}

/// So many of a list are told, the others counted.
const TOLD: usize = 20;

/// What stands there, as screens call it.
fn words_of(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(words) => short_name(words),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => {
            let mut told: Vec<String> = items.iter().take(TOLD).map(words_of).collect();
            told.extend(and_more(items.len().saturating_sub(TOLD)));
            told.join(", ")
        }
        other => other.to_string(),
    }
}

fn text(details: &ArtifactDetails) -> String {
    let at = details.recorded_at.as_deref().unwrap_or("unknown time");
    let mut text = format!(
        "{}  recorded {at}, line {} of the log\n",
        short_name(&details.id),
        details.line
    );
    match &details.content {
        None => text.push_str("    (erased)\n"),
        Some(Value::Object(fields)) => {
            for (name, value) in fields {
                let value = match &details.by_key {
                    Some(key) if name == "by" => key.clone(),
                    _ => short_uuids(&words_of(value)),
                };
                text.push_str(&format!("    {:10}  {}\n", quiet(name), quiet(&value)));
            }
        }
        Some(other) => text.push_str(&format!("    {}\n", quiet(&other.to_string()))),
    }
    text
}
