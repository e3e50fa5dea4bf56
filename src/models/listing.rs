//! Which models a server has: Ollama's `/api/tags`, and `/models` of OpenAI and Anthropic.

use serde::Deserialize;

use super::ModelFault;
use super::http::{Endpoint, ServerAddress};
use super::wire::{self, Wire};
use crate::record::unseen::is_plain_name;

/// Names that are listed at most: the largest public catalogues have hundreds.
pub const MAX_NAMES: usize = 2000;

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

#[derive(Deserialize)]
struct Catalogue {
    data: Vec<ModelEntry>,
}

#[derive(Deserialize)]
struct ModelEntry {
    id: String,
}

/// What follows the address when models are listed.
pub const fn path(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::OpenAi => &["models"],
        Wire::Ollama => &["api", "tags"],
        Wire::Anthropic => &["v1", "models"],
    }
}

/// Asks a server for the names of its models, sorted.
///
/// # Errors
/// [`ModelFault`], when there is no list.
pub async fn models(place: ServerAddress<'_>) -> Result<Vec<String>, ModelFault> {
    let wire = place.wire;
    let link = Endpoint::new(ServerAddress {
        path: path(wire),
        ..place
    })?;
    let body = link.get().await?;
    names(wire, &body).map_err(|error| link.wire_fault(error))
}

fn names(wire: Wire, body: &[u8]) -> Result<Vec<String>, wire::WireError> {
    let mut names: Vec<String> = match wire {
        Wire::Ollama => wire::parse::<Tags>(body, "a list of models")?
            .models
            .into_iter()
            .map(|m| m.name)
            .collect(),
        Wire::OpenAi | Wire::Anthropic => wire::parse::<Catalogue>(body, "a list of models")?
            .data
            .into_iter()
            .map(|m| m.id)
            .collect(),
    };
    // A name that a terminal would act upon, or that could not be asked for, is none.
    names.retain(|name| {
        !name.is_empty() && !name.chars().any(char::is_whitespace) && is_plain_name(name)
    });
    names.sort();
    names.dedup();
    names.truncate(MAX_NAMES);
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_sorted() {
        let tags =
            br#"{"models":[{"name":"qwen:7b","size":1},{"name":"llama3.1:8b"},{"name":"a b"},{"name":"qwen:7b"}]}"#;
        assert_eq!(
            names(Wire::Ollama, tags).unwrap(),
            ["llama3.1:8b", "qwen:7b"]
        );
        let data = br#"{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"\u001b[31m"}]}"#;
        for wire in [Wire::OpenAi, Wire::Anthropic] {
            assert_eq!(names(wire, data).unwrap(), ["a", "b"]);
        }
        for (wire, body) in [
            (Wire::Ollama, &data[..]),
            (Wire::OpenAi, tags),
            (Wire::Anthropic, b"[]"),
            (Wire::Ollama, b""),
        ] {
            assert!(names(wire, body).is_err());
        }
    }
}
