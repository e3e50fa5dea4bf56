//! The validator on replies from elsewhere, with any kernel; records nothing.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::app::home::open::{self, OpenHomeError};
use crate::govern::drift::Judgement;
use crate::govern::kernel::Kernel;
use crate::govern::reply::output::Shape;
use crate::govern::reply::validate::judge;
use crate::govern::sanitize::redact;
use crate::home::Home;
use crate::os::why_unread;
use crate::record::ledger::params::ANY_JSON;
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

/// What the validator said of one reply.
pub struct TrialVerdict {
    /// The line's own id.
    pub id: Value,
    /// What the judge found in the reply.
    pub judgement: Judgement,
}

/// The file's kernel, else this home's, else the built-in one.
pub fn kernel(file: Option<&Path>) -> Result<Kernel, String> {
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .map_err(|e| format!("{}: {}; a kernel is wanted", path.display(), why_unread(&e)))?;
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

/// Judges the reply of one line of input.
pub fn judge_line(kernel: &Kernel, line: &str) -> Result<TrialVerdict, String> {
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
    Ok(TrialVerdict {
        id: case.id,
        judgement,
    })
}

fn shape(value: Value) -> Result<Shape, String> {
    if value == ANY_JSON {
        return Ok(Shape::any_json());
    }
    Shape::schema(&value.to_string()).map_err(|e| e.to_string())
}
