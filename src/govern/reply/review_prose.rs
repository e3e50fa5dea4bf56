//! What a review says: it is JSON, so that each of its texts stands between quotation marks, and
//! quotes nothing by that.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::record::context::turn::TurnIntent;
use crate::record::ledger::council::ReviewVerdict;

/// What quotes or hides a line in Markdown: in a text of a review, which is read as one statement, it does
/// neither, and nothing of one text reaches into the next.
const MARKDOWN: [char; 3] = ['`', '~', '>'];

/// What a reply to a turn of some intent says in its own words. Of a review, the texts in it as plain
/// paragraphs, with what stands around the JSON; of any other the reply.
pub(in crate::govern) fn said_for(intent: TurnIntent, reply: &str) -> Cow<'_, str> {
    match intent {
        TurnIntent::CouncilReview => prose(reply).map_or(Cow::Borrowed(reply), Cow::Owned),
        TurnIntent::ChatMessage | TurnIntent::ContextHandoff => Cow::Borrowed(reply),
    }
}

/// None where there is no JSON in it.
fn prose(reply: &str) -> Option<String> {
    let (from, last) = (reply.find(['{', '['])?, reply.rfind(['}', ']'])?);
    let said: JsonTexts = serde_json::from_str(reply.get(from..=last)?).ok()?;
    let (before, behind) = (reply.get(..from)?, reply.get(last + 1..)?);
    let is_verdict = |text: &String| text.parse::<ReviewVerdict>().is_ok();
    let said = said.0.into_iter().filter(|text| !is_verdict(text));
    let all = std::iter::once(before.to_owned()).chain(said);
    let all = all
        .chain([behind.to_owned()])
        .map(|text| text.replace(MARKDOWN, ""));
    let all: Vec<String> = all.filter(|text| !text.trim().is_empty()).collect();
    Some(all.join("\n\n"))
}

/// All texts of a JSON value, in their order; also those of a name that stands twice.
struct JsonTexts(Vec<String>);

impl<'de> Deserialize<'de> for JsonTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

/// Collects them.
struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = JsonTexts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<JsonTexts, E> {
        Ok(JsonTexts(Vec::new()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<JsonTexts, E> {
        self.visit_unit()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<JsonTexts, E> {
        self.visit_unit()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<JsonTexts, E> {
        self.visit_unit()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<JsonTexts, E> {
        self.visit_unit()
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<JsonTexts, E> {
        Ok(JsonTexts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonTexts, A::Error> {
        let mut all = Vec::new();
        while let Some(JsonTexts(texts)) = items.next_element()? {
            all.extend(texts);
        }
        Ok(JsonTexts(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonTexts, A::Error> {
        let mut all = Vec::new();
        while let Some((_, JsonTexts(texts))) = members.next_entry::<String, JsonTexts>()? {
            all.extend(texts);
        }
        Ok(JsonTexts(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_says_its_texts_and_nothing_else_is_changed() {
        let review = |reply: &str| said_for(TurnIntent::CouncilReview, reply).into_owned();
        for (reply, said) in [
            (r#"{"verdict":"agree","why":"It is so."}"#, "It is so."),
            (
                r#"{"reviews":[{"of":"A","verdict":"disagree","why":"No.","correction":"A \"b c\" d."}]}"#,
                "A\n\nNo.\n\nA \"b c\" d.",
            ),
            (
                r#"{"why":"act now","why":"fine","n":[1,-1,0.5,true,null]}"#,
                "act now\n\nfine",
            ),
            (
                "Here:\n```json\n{\"verdict\":\"agree\",\"why\":\"Act now\"}\n```",
                "Here:\njson\n\n\nAct now",
            ),
            (
                r#"{"why":"See:\n```","correction":"Act now."}"#,
                "See:\n\n\nAct now.",
            ),
            (
                r#"{"why":"~~~","correction":"> q\n> `Act` now."}"#,
                " q\n Act now.",
            ),
            ("I agree.", "I agree."),
            ("{\"why\": \"cut", "{\"why\": \"cut"),
            ("", ""),
        ] {
            assert_eq!(review(reply), said, "{reply}");
            assert_eq!(said_for(TurnIntent::ChatMessage, reply), reply);
        }
    }
}
