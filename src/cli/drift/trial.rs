//! `gently drift test`: the validator on replies from standard input, with any kernel.

use std::io::BufRead;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::cli::{FINE, could_not, print};
use crate::govern::kernel::Kernel;
use crate::govern::reply::output::{ANY_JSON, Shape};
use crate::govern::reply::validate::judge;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::store::Store;

/// One line in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: Value,
    #[serde(default)]
    prompt: String,
    reply: String,
    #[serde(default)]
    bundle: Option<Value>,
    /// `"json"`, or a JSON Schema.
    #[serde(default)]
    expect: Option<Value>,
}

/// Judges line by line; the first line that can't be read ends it.
pub fn run(kernel: Option<&Path>, json: bool) -> u8 {
    let kernel = match in_force(kernel) {
        Ok(kernel) => kernel,
        Err(why) => return could_not(&why, json),
    };
    for (at, line) in std::io::stdin().lock().lines().enumerate() {
        let judged = line.map_err(|e| e.to_string()).and_then(|line| {
            if line.trim().is_empty() {
                Ok(None)
            } else {
                judged(&kernel, &line).map(Some)
            }
        });
        match judged {
            Ok(None) => {}
            Ok(Some(facts)) => {
                let code = print(&format!("{facts}\n"));
                if code != FINE {
                    return code;
                }
            }
            Err(why) => return could_not(&format!("standard input, line {}: {why}", at + 1), json),
        }
    }
    FINE
}

/// The file's kernel, else this home's, else the built-in one.
fn in_force(file: Option<&Path>) -> Result<Kernel, String> {
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .map_err(|e| format!("cannot read the kernel {}: {e}", path.display()))?;
        return Kernel::from_toml(&text).map_err(|e| format!("{}: {e}", path.display()));
    }
    let of_home = || -> Result<Option<Kernel>, OpenHomeError> {
        let Some(home) = Home::open(&open::home_path()?)? else {
            return Ok(None);
        };
        Ok(Some(Home::kernel(&Store::open_read_only(
            &home.paths().database(),
        )?)?))
    };
    Ok(of_home()
        .map_err(|e| e.to_string())?
        .unwrap_or_else(Kernel::genesis))
}

fn judged(kernel: &Kernel, line: &str) -> Result<Value, String> {
    let case: Case = serde_json::from_str(line).map_err(|e| {
        format!("{e}; expected {{\"id\",\"prompt\",\"reply\",\"bundle\"?,\"expect\"?}}")
    })?;
    let bundle = super::bundle::lenient(case.bundle.unwrap_or(Value::Null))
        .map_err(|e| format!("bundle: {e}"))?;
    let shape = case
        .expect
        .map(shape)
        .transpose()
        .map_err(|e| format!("expect: {e}"))?;
    let judgement = judge(
        kernel,
        &bundle,
        &redact(&case.prompt).clean,
        shape.as_ref(),
        &case.reply,
    );
    let summary: Value =
        serde_json::from_str(&judgement.summary_json()).map_err(|e| e.to_string())?;
    let events = judgement.events().iter().map(|event| {
        json!({
            "kind": "DRIFTWATCH", "class": event.class.name(), "severity": event.severity,
            "effect": event.effect.name(), "summary": event.summary,
        })
    });
    Ok(json!({
        "id": case.id, "refusal": judgement.refusal(), "validator": summary,
        "events": events.collect::<Vec<_>>(), "checks": judgement.checks(),
    }))
}

fn shape(value: Value) -> Result<Shape, String> {
    if value == ANY_JSON {
        return Ok(Shape::any_json());
    }
    Shape::schema(&value.to_string()).map_err(|e| e.to_string())
}
