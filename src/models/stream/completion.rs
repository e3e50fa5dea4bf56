//! A chat completion of OpenAI's as its pieces come: each brings what is added to the one message, a
//! late one why it ended, the last one what it used, and `[DONE]` is the end.
//!
//! What is put together has the shape of a completion that comes at once: texts and lists go on, the
//! calls of tools under the index that only the pieces have, and of whatever else stands around the
//! message the newest counts. What does not fit is `malformed`, as it is anywhere else.

use serde_json::{Map, Value};

use super::{gather, kind_of, unlike};
use crate::models::wire::{WireError, malformed};

/// What ends a stream.
pub(super) const END: &[u8] = b"[DONE]";
/// What a piece calls itself, and what a whole completion does.
const KINDS: (&str, &str) = ("chat.completion.chunk", "chat.completion");

/// A completion as far as it has come.
#[derive(Default)]
pub(super) struct GrowingCompletion {
    /// What stands around its choice.
    whole: Map<String, Value>,
    /// What stands around its message; none before any came.
    choice: Option<Map<String, Value>>,
    message: Map<String, Value>,
    tools: Vec<GrowingCall>,
    is_done: bool,
}

/// A call of a tool.
struct GrowingCall {
    index: u64,
    call: Map<String, Value>,
}

impl GrowingCompletion {
    /// Takes the end.
    pub(super) fn end(&mut self) -> Result<(), WireError> {
        self.open()?;
        self.is_done = true;
        Ok(())
    }

    /// Takes a piece.
    pub(super) fn take(&mut self, mut piece: Map<String, Value>) -> Result<(), WireError> {
        self.open()?;
        let choices = piece.remove("choices");
        for (key, value) in piece {
            // Nothing at all takes nothing away.
            if !value.is_null() || !self.whole.contains_key(&key) {
                self.whole.insert(key, value);
            }
        }
        match choices {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(choices)) => {
                let mut choices = choices.into_iter();
                match (choices.next(), choices.next()) {
                    (None, _) => Ok(()),
                    (Some(Value::Object(choice)), None) => self.choose(choice),
                    (Some(other), None) => Err(unlike("an object", "choices", Some(&other))),
                    (Some(_), Some(_)) => Err(malformed("expected one choice, found several")),
                }
            }
            other => Err(unlike("a list", "choices", other.as_ref())),
        }
    }

    /// The completion, once it has come to its end.
    pub(super) fn whole(self) -> Result<Map<String, Value>, WireError> {
        if !self.is_done {
            return Err(WireError::Unfinished);
        }
        let (mut whole, mut message) = (self.whole, self.message);
        if whole.get("object").is_some_and(|kind| kind == KINDS.0) {
            whole.insert("object".to_owned(), KINDS.1.into());
        }
        if !self.tools.is_empty() {
            let calls = self.tools.into_iter();
            let calls = calls.map(|one| Value::Object(one.call)).collect();
            message.insert("tool_calls".to_owned(), calls);
        }
        if let Some(mut choice) = self.choice {
            choice.insert("message".to_owned(), Value::Object(message));
            let choices = Value::Array(vec![Value::Object(choice)]);
            whole.insert("choices".to_owned(), choices);
        }
        Ok(whole)
    }

    fn open(&self) -> Result<(), WireError> {
        match self.is_done {
            true => Err(malformed("expected nothing behind the end of the stream")),
            false => Ok(()),
        }
    }

    fn choose(&mut self, mut piece: Map<String, Value>) -> Result<(), WireError> {
        match piece.get("index") {
            None | Some(Value::Null) => {}
            Some(index) if index == 0 => {}
            Some(other) => {
                let found = format!("expected one choice, found one of the index {other}");
                return Err(malformed(&found));
            }
        }
        let delta = piece.remove("delta");
        let choice = self.choice.get_or_insert_with(Map::new);
        let reason = |of: &Map<String, Value>| of.get("finish_reason").cloned();
        let (was, is) = (reason(choice), reason(&piece));
        if let (Some(Value::String(was)), Some(Value::String(is))) = (&was, &is)
            && was != is
        {
            let found = format!("expected one `finish_reason`, found `{was}` and `{is}`");
            return Err(malformed(&found));
        }
        for (key, value) in piece {
            match (choice.get_mut(&key), value) {
                (Some(_), Value::Null) => {}
                (Some(Value::Object(known)), Value::Object(newer)) => gather(known, newer)?,
                (_, value) => drop(choice.insert(key, value)),
            }
        }
        match delta {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(delta)) => self.grow(delta),
            other => Err(unlike("an object", "delta", other.as_ref())),
        }
    }

    fn grow(&mut self, mut delta: Map<String, Value>) -> Result<(), WireError> {
        match delta.get("role") {
            None | Some(Value::Null) => {}
            // Some servers leave it empty in all pieces but the first.
            Some(Value::String(role)) if role.is_empty() => drop(delta.remove("role")),
            Some(Value::String(role)) if role == "assistant" => {}
            Some(Value::String(role)) => {
                let found = format!("expected pieces of the role `assistant`, found `{role}`");
                return Err(malformed(&found));
            }
            other => return Err(unlike("text", "role", other)),
        }
        match delta.remove("tool_calls") {
            None | Some(Value::Null) => {}
            Some(Value::Array(calls)) => {
                for call in calls {
                    self.call(call)?;
                }
            }
            other => return Err(unlike("a list", "tool_calls", other.as_ref())),
        }
        gather(&mut self.message, delta)
    }

    /// Adds to the call of its index, or begins it.
    fn call(&mut self, piece: Value) -> Result<(), WireError> {
        let Value::Object(mut piece) = piece else {
            return Err(unlike("an object", "tool_calls", Some(&piece)));
        };
        let index = match piece.remove("index") {
            Some(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        let index = index.ok_or_else(|| {
            malformed("expected a whole number as `index` of a tool's call, found none")
        })?;
        let last = self.tools.last().map(|call| call.index);
        if let Some(known) = self.tools.iter_mut().find(|call| call.index == index) {
            return known.grow(piece);
        }
        if let Some(last) = last.filter(|last| *last > index) {
            return Err(malformed(&format!(
                "expected the next call's index to be above {last}, found {index}"
            )));
        }
        self.tools.push(GrowingCall { index, call: piece });
        Ok(())
    }
}

impl GrowingCall {
    fn grow(&mut self, mut piece: Map<String, Value>) -> Result<(), WireError> {
        match piece.remove("function") {
            None | Some(Value::Null) => {}
            Some(Value::Object(mut more)) => match self.call.get_mut("function") {
                Some(Value::Object(known)) => {
                    if let Some(arguments) = more.remove("arguments") {
                        let arguments = Map::from_iter([("arguments".to_owned(), arguments)]);
                        gather(known, arguments)?;
                    }
                    stay(known, more)?;
                }
                None | Some(Value::Null) => {
                    self.call.insert("function".to_owned(), more.into());
                }
                other => return Err(unlike("an object", "function", other.as_deref())),
            },
            other => return Err(unlike("an object", "function", other.as_ref())),
        }
        stay(&mut self.call, piece)
    }
}

/// Takes what is said of a call once and for all: said again it is what it was.
fn stay(known: &mut Map<String, Value>, newer: Map<String, Value>) -> Result<(), WireError> {
    for (key, value) in newer {
        let says_nothing = value.is_null() || value == "";
        match known.get(&key) {
            Some(_) if says_nothing => {}
            Some(old) if *old == value => {}
            None | Some(Value::Null) => drop(known.insert(key, value)),
            Some(old) if *old == "" && value.is_string() => drop(known.insert(key, value)),
            Some(old) => {
                let (was, is) = (kind_of(Some(old)), kind_of(Some(&value)));
                let found = match was == is {
                    true => "it changed".to_owned(),
                    false => is.to_owned(),
                };
                let expected = format!("expected `{key}` of a tool's call to stay, found {found}");
                return Err(malformed(&expected));
            }
        }
    }
    Ok(())
}
