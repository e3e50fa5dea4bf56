//! The request: what was sent to a model, as messages made of parts (format, section 8, role
//! `request`).
//!
//! ```text
//! {"format":"gently/1",
//!  "messages":[{"parts":[{"kernel":"sha256:…"},"owner"],"role":"system"},
//!              {"parts":[{"turn":"UUID"}],"role":"user"},
//!              {"parts":[{"turn":"UUID"}],"role":"assistant"},
//!              {"parts":["brief",{"earlier":["UUID",…]},"question"],"role":"user"}],
//!  "model":"openai/NAME","settings":{"max_tokens":64},"tools":[]}              canonical JSON
//! ```
//! Texts that are on record stand by the id of their turn, so that one erased is erased everywhere.
//! Put in again they give the messages that were sent, whose canonical list is the compiled prompt.
//! What a client brought in its own words ([`ClientRequest`]) stands as it was sent, in place of
//! turns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::record::canon;
use crate::record::canon::CanonError;

use super::bundle::{Bundle, NamedHash};
use super::bundle_text::{brief_text, bundle_text};
use super::client_request::{ClientRequest, ToolCall, ToolChoice, ToolDefinition, ToolResult};
use super::documents::Format;
use super::image::ImageEntry;
use super::params::{Params, ResponseFormat, Temperature};
use super::prompt::{ChatMessage, ChatRole, PriorTurn, PromptMessages, SystemPrompt};

/// What stands where an answer is shown, and its question is not.
const NOT_SHOWN: &str = "(The question is not shown.)";
/// Begins the mark before and behind an answer that is reviewed.
const MARK: &str = "[reference ";
/// What stands before turns of other conversations.
const EARLIER: &str = "Earlier in this project:";
/// The setting that says whether and which tool is to be called.
const TOOL_CHOICE: &str = "tool_choice";

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestPart {
    /// What a kernel says to a model.
    Kernel(NamedHash),
    /// The owner's text, as `params.system` has it.
    Owner,
    /// What the exchange's bundle says to a model, measurements in words ([`brief_text`]).
    Brief,
    /// The same with measurements by their names ([`bundle_text`]), as it was sent at first.
    Bundle,
    /// Turns of other conversations, as a list.
    Earlier(Vec<Uuid>),
    /// The text of a turn of this conversation.
    Turn(Uuid),
    /// What is asked.
    Question,
    /// What the model is told of the shape that `params.expect` declares
    /// ([`shape_told`](super::params::shape_told)). In exchanges from before, the owner's text
    /// begins with it.
    Shape,
    /// A text that is nowhere else on record.
    Text(String),
    /// An image; the question names it in words, too, or a client's message has it.
    Image(ImageEntry),
    /// A tool that an assistant wants called.
    ToolCall(ToolCall),
    /// What came of a call.
    ToolResult(ToolResult),
}

/// A message of the prompt, by its role and the commitments to its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestMessage {
    /// In their order; an empty line stands between two.
    pub parts: Vec<RequestPart>,
    /// Who says it.
    pub role: ChatRole,
}

/// The document of a prompt: what was sent to the model, as commitments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestDoc {
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// The system message first; then user and assistant by turns, a user's last, or a client's as
    /// they are.
    pub messages: Vec<RequestMessage>,
    /// Which model is asked.
    pub model: String,
    /// Whatever is sent beside messages and tools; fractions stand as texts.
    pub settings: BTreeMap<String, Value>,
    /// What a model may call: none, unless a client brought some.
    pub tools: Vec<ToolDefinition>,
}

/// A turn of the conversation that is sent as a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpokenTurn<'a> {
    /// Id of the turn's row.
    pub turn: Uuid,
    /// Whether a person said it.
    pub by_user: bool,
    /// The stored text.
    pub text: &'a str,
}

/// What a request is made from, and rendered with.
#[derive(Clone, Copy, Debug)]
pub struct RequestTexts<'a> {
    /// Kernel that the question was asked under.
    pub kernel: SystemPrompt<'a>,
    /// The owner's text.
    pub owner: Option<&'a str>,
    /// Everything that was put before the model beside the question.
    pub bundle: &'a Bundle,
    /// Turns of other conversations.
    pub earlier: &'a [PriorTurn],
    /// Turns of this one, oldest first.
    pub spoken: &'a [SpokenTurn<'a>],
    /// What is asked.
    pub question: &'a str,
    /// What the model is told of the answer's shape ([`Params::shape_beside`]).
    pub shape: Option<&'a str>,
    /// What a client brought in its own words, in the place of earlier turns.
    pub client: Option<&'a ClientRequest>,
}

/// A request names a turn whose text was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request names turn {0}, which is not among the turns of its exchange")]
pub struct UnknownTurn(pub Uuid);

impl RequestDoc {
    /// The request that these texts make.
    pub fn new(texts: &RequestTexts<'_>, model: &str, params: &Params) -> RequestDoc {
        let mut doc = RequestDoc {
            format: Format,
            messages: Vec::with_capacity(texts.spoken.len() + 2),
            model: model.to_owned(),
            settings: settings(params),
            tools: Vec::new(),
        };
        doc.say(
            ChatRole::System,
            RequestPart::Kernel(NamedHash(texts.kernel.kernel)),
        );
        if texts.owner.is_some() {
            doc.say(ChatRole::System, RequestPart::Owner);
        }
        if let Some(client) = texts.client {
            doc.bring(client, texts, params);
            return doc;
        }
        // Some servers refuse a message without a word.
        let said = texts
            .spoken
            .iter()
            .filter(|one| !one.text.trim().is_empty());
        // Questions that stand there without an answer so far: two may have been asked at once.
        let mut open: usize = 0;
        for spoken in said {
            let role = match spoken.by_user {
                true => ChatRole::User,
                false => ChatRole::Assistant,
            };
            // Servers want a conversation to begin with a user, and two answers would be one.
            let last = doc.messages.last().map(|message| message.role);
            if role == ChatRole::Assistant && last != Some(ChatRole::User) && open == 0 {
                doc.say(ChatRole::User, RequestPart::Text(NOT_SHOWN.to_owned()));
            }
            open = match spoken.by_user {
                true => open + 1,
                false => open.saturating_sub(1),
            };
            doc.say(role, RequestPart::Turn(spoken.turn));
        }
        for part in asked(texts, &[RequestPart::Question], params) {
            doc.say(ChatRole::User, part);
        }
        doc
    }

    /// Adds what a client brought: its first words of the system's behind gently's own, and its
    /// messages as they are, with what gently says around the question.
    fn bring(&mut self, client: &ClientRequest, texts: &RequestTexts<'_>, params: &Params) {
        let client = client.recorded();
        let (heads, others) = client.heads();
        for part in heads.iter().flat_map(|message| &message.parts) {
            self.say(ChatRole::System, part.clone());
        }
        for message in others {
            let parts = match message.parts.contains(&RequestPart::Question) {
                true => asked(texts, &message.parts, params),
                false => message.parts.clone(),
            };
            self.messages.push(RequestMessage {
                parts,
                role: message.role,
            });
        }
        let choice = client.tool_choice.as_ref().map(serde_json::to_value);
        let choice = choice.and_then(Result::ok);
        self.settings
            .extend(choice.map(|choice| (TOOL_CHOICE.to_owned(), choice)));
        self.settings.extend(client.settings);
        self.tools = client.tools;
    }

    /// What a client brought to it, with numbers as they are recorded; none where all of it is
    /// gently's own.
    pub fn client(&self, params: &Params) -> Option<ClientRequest> {
        let mut parts = self.messages.iter().flat_map(|message| &message.parts);
        if parts.any(|part| matches!(part, RequestPart::Turn(_))) {
            return None;
        }
        let own = settings(params);
        let mut others = self.settings.clone();
        others.retain(|name, _| !own.contains_key(name));
        let choice = others.remove(TOOL_CHOICE);
        let choice = choice.and_then(|choice| serde_json::from_value::<ToolChoice>(choice).ok());
        let mut messages = Vec::new();
        for message in &self.messages {
            let mut parts = message.parts.clone();
            if parts.contains(&RequestPart::Question) {
                parts.truncate(parts.len().saturating_sub(params.images.len()));
            }
            parts.retain(|part| !is_own(part));
            // The first one may have nothing of the client's.
            if !parts.is_empty() {
                messages.push(RequestMessage {
                    parts,
                    role: message.role,
                });
            }
        }
        let is_alone = |message: &RequestMessage| message.parts == [RequestPart::Question];
        let is_plain = matches!(messages.as_slice(), [only] if is_alone(only))
            && others.is_empty()
            && choice.is_none()
            && self.tools.is_empty();
        (!is_plain).then(|| ClientRequest {
            messages,
            settings: others,
            tool_choice: choice,
            tools: self.tools.clone(),
            images: Vec::new(),
        })
    }

    /// The same request as it was made before each answer had a question: answers whose questions
    /// are not shown were one message, and only the first of them all had a stand-in.
    pub fn with_answers_joined(&self) -> RequestDoc {
        let mut joined = RequestDoc {
            messages: Vec::with_capacity(self.messages.len()),
            ..self.clone()
        };
        let stand_in = [RequestPart::Text(NOT_SHOWN.to_owned())];
        for message in &self.messages {
            let last = joined.messages.last().map(|last| last.role);
            if last == Some(ChatRole::Assistant) && message.parts == stand_in {
                continue;
            }
            for part in &message.parts {
                joined.say(message.role, part.clone());
            }
        }
        joined
    }

    /// The same for a review: where each answer begins and ends is said, with the reference by which the
    /// question names it.
    ///
    /// ```text
    /// [reference 1a2b3c4d begins]
    ///
    /// | The answer, each of its lines behind a bar, so that none of them can be such a mark.
    ///
    /// [reference 1a2b3c4d ends]
    /// ```
    /// A reference follows from the session and its count, so that an answer may well know another's.
    pub fn with_answers_marked(&self) -> RequestDoc {
        const DIGITS: usize = 8;
        let mut marked = self.clone();
        let answers = marked.messages.iter_mut();
        for message in answers.filter(|message| message.role == ChatRole::Assistant) {
            for part in std::mem::take(&mut message.parts) {
                let RequestPart::Turn(turn) = &part else {
                    message.parts.push(part);
                    continue;
                };
                let reference: String = turn.to_string().chars().take(DIGITS).collect();
                let mark = |what| RequestPart::Text(format!("{MARK}{reference} {what}]"));
                message.parts.extend([mark("begins"), part, mark("ends")]);
            }
        }
        marked
    }

    /// Adds a part to the last message, or begins another: many servers take no two messages of one
    /// role in a row.
    fn say(&mut self, role: ChatRole, part: RequestPart) {
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.parts.push(part),
            _ => self.messages.push(RequestMessage {
                parts: vec![part],
                role,
            }),
        }
    }

    /// The messages as they are sent.
    pub fn messages(&self, texts: &RequestTexts<'_>) -> Result<PromptMessages, UnknownTurn> {
        let rendered = self.messages.iter().map(|message| {
            let is_text = |part: &&RequestPart| {
                !matches!(part, RequestPart::Image(_) | RequestPart::ToolCall(_))
            };
            let is_marked =
                message.role == ChatRole::Assistant && message.parts.iter().any(is_mark);
            let parts = message.parts.iter().filter(is_text);
            let parts = parts.map(|part| match (part, rendered(part, texts)?) {
                (RequestPart::Turn(_), text) if is_marked => Ok(behind_bars(&text)),
                (_, text) => Ok(text),
            });
            let parts: Vec<String> = parts.collect::<Result<_, _>>()?;
            let mut said = ChatMessage::new(message.role, parts.join("\n\n"));
            for part in &message.parts {
                match part {
                    RequestPart::ToolCall(call) => said.tool_calls.push(call.clone()),
                    RequestPart::ToolResult(result) => said.tool_call_id = Some(result.id.clone()),
                    _ => {}
                }
            }
            Ok(said)
        });
        rendered.collect::<Result<_, _>>().map(PromptMessages::new)
    }

    /// Whether it tells of the answer's shape.
    pub fn tells_shape(&self) -> bool {
        let mut parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.any(|part| *part == RequestPart::Shape)
    }

    /// The canonical print, as it is stored and committed to.
    pub fn canonical(&self) -> Result<String, CanonError> {
        canon::print(self)
    }

    /// Reads what [`RequestDoc::canonical`] printed.
    pub fn parse(text: &str) -> Result<RequestDoc, CanonError> {
        canon::parse(text.as_bytes())
    }
}

/// The message of the question: what a client's, or gently's, has in it, and what stands around that.
fn asked(texts: &RequestTexts<'_>, own: &[RequestPart], params: &Params) -> Vec<RequestPart> {
    let mut parts = Vec::new();
    if brief_text(texts.bundle).is_some() {
        parts.push(RequestPart::Brief);
    }
    if !texts.earlier.is_empty() {
        let turns = texts.earlier.iter().map(|turn| turn.turn).collect();
        parts.push(RequestPart::Earlier(turns));
    }
    parts.extend_from_slice(own);
    // Behind the question, so that the messages before it stay as they were.
    if texts.shape.is_some() {
        parts.push(RequestPart::Shape);
    }
    parts.extend(params.images.iter().cloned().map(RequestPart::Image));
    parts
}

/// Whether a part is said by gently around what is asked.
fn is_own(part: &RequestPart) -> bool {
    matches!(
        part,
        RequestPart::Kernel(_)
            | RequestPart::Owner
            | RequestPart::Brief
            | RequestPart::Bundle
            | RequestPart::Earlier(_)
            | RequestPart::Shape
    )
}

/// The settings of a call that are not part of its messages.
fn settings(params: &Params) -> BTreeMap<String, Value> {
    let temperature = params.temperature.as_ref().map(Temperature::to_string);
    // Its schema is in the words about the shape, which a request names and does not repeat.
    let format = params.response_format.map(ResponseFormat::name);
    let settings = [
        ("max_tokens", params.max_tokens.map(Value::from)),
        ("num_ctx", params.num_ctx.map(Value::from)),
        ("response_format", format.map(Value::from)),
        ("seed", params.seed.map(Value::from)),
        ("stream", params.stream.then_some(Value::Bool(true))),
        ("temperature", temperature.map(Value::from)),
    ];
    let sent = settings
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    sent.collect()
}

fn rendered(part: &RequestPart, texts: &RequestTexts<'_>) -> Result<String, UnknownTurn> {
    Ok(match part {
        RequestPart::Kernel(_) => texts.kernel.text.trim_end().to_owned(),
        RequestPart::Owner => texts.owner.unwrap_or_default().to_owned(),
        RequestPart::Brief => brief_text(texts.bundle).unwrap_or_default(),
        RequestPart::Bundle => bundle_text(texts.bundle).unwrap_or_default(),
        RequestPart::Earlier(turns) => {
            let mut lines = vec![EARLIER.to_owned()];
            for turn in turns {
                lines.push(earlier_line(*turn, texts.earlier)?);
            }
            lines.join("\n")
        }
        RequestPart::Turn(turn) => {
            let found = texts.spoken.iter().find(|spoken| spoken.turn == *turn);
            found.ok_or(UnknownTurn(*turn))?.text.to_owned()
        }
        RequestPart::Question => texts.question.to_owned(),
        RequestPart::Shape => texts.shape.unwrap_or_default().to_owned(),
        RequestPart::Text(text) => text.clone(),
        RequestPart::ToolResult(result) => result.text.clone(),
        RequestPart::Image(_) | RequestPart::ToolCall(_) => String::new(),
    })
}

/// Whether it says where an answer begins or ends.
fn is_mark(part: &RequestPart) -> bool {
    matches!(part, RequestPart::Text(text) if text.starts_with(MARK))
}

/// Each line of a text behind a bar; lines end wherever somebody could see an end of one.
fn behind_bars(text: &str) -> String {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let text = text.replace("\r\n", "\n");
    let lines = text.split(ends).map(|line| format!("| {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A turn of another conversation on one line, so that nothing in it looks like the question.
fn earlier_line(turn: Uuid, earlier: &[PriorTurn]) -> Result<String, UnknownTurn> {
    let found = earlier.iter().find(|prior| prior.turn == turn);
    let prior = found.ok_or(UnknownTurn(turn))?;
    let who = match prior.is_by_user() {
        true => "the person",
        false => "the assistant",
    };
    Ok(format!("- {}, {who}: {}", prior.at, one_line(&prior.text)))
}

/// A text without ends of lines.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:02Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":true,"freshness_s":0,"observed_at":"2026-01-08T00:00:00Z","unknowns":[],"values":{"mem_used_mb":1024,"uptime_s":5000}}},"tier":2}"#;

    /// No two answers are one message: what stands for a question that is not shown is said each
    /// time.
    #[test]
    fn each_answer_has_its_question_or_what_stands_for_it() {
        let bundle = Bundle::parse(BUNDLE).unwrap();
        let said = |n: u128, by_user, text| SpokenTurn {
            turn: Uuid::from_u128(n),
            by_user,
            text,
        };
        let spoken = [
            said(1, false, "First answer."),
            said(2, true, "Second?"),
            said(3, false, "Second answer."),
            said(4, false, "Third answer."),
        ];
        let texts = RequestTexts {
            kernel: SystemPrompt {
                kernel: bundle.kernel_hash.0,
                text: "Be brief.\n",
            },
            owner: None,
            bundle: &bundle,
            earlier: &[],
            spoken: &spoken,
            question: "How long?",
            shape: None,
            client: None,
        };
        let new = RequestDoc::new(&texts, "m", &Params::default());
        let roles = |doc: &RequestDoc| {
            let roles = doc.messages.iter().skip(1);
            roles.map(|message| message.role).collect::<Vec<_>>()
        };
        let (user, assistant) = (ChatRole::User, ChatRole::Assistant);
        let turns = [user, assistant, user, assistant, user, assistant, user];
        assert_eq!(roles(&new), turns);
        let messages = new.messages(&texts).unwrap();
        let sent: Vec<&str> = messages.list().iter().map(|one| &*one.content).collect();
        assert_eq!(
            sent[1..6],
            [
                NOT_SHOWN,
                "First answer.",
                "Second?",
                "Second answer.",
                NOT_SHOWN
            ]
        );
        let before = new.with_answers_joined();
        assert_eq!(roles(&before), [user, assistant, user, assistant, user]);
        assert_eq!(before.messages[4].parts.len(), 2);
    }

    /// A request on record says by its part how its bundle was told.
    #[test]
    fn old_requests_give_the_messages_that_were_sent() {
        let bundle = Bundle::parse(BUNDLE).unwrap();
        let texts = RequestTexts {
            kernel: SystemPrompt {
                kernel: bundle.kernel_hash.0,
                text: "Be brief.\n",
            },
            owner: None,
            bundle: &bundle,
            earlier: &[],
            spoken: &[],
            question: "How long?",
            shape: None,
            client: None,
        };
        let new = RequestDoc::new(&texts, "m", &Params::default())
            .canonical()
            .unwrap();
        assert!(new.contains(r#""parts":["brief","question"]"#), "{new}");
        let old = new.replace(r#""brief""#, r#""bundle""#);
        for (doc, told) in [
            (&new, "mem used 1,024 MB"),
            (&old, "mem_used_mb 1024, uptime_s 5000"),
        ] {
            let doc = RequestDoc::parse(doc).unwrap();
            let messages = doc.messages(&texts).unwrap();
            let user = &messages.list()[1].content;
            let line = "This machine:\n- sys_health, 0 s old: ";
            assert!(
                user.starts_with(line) && user.ends_with("\n\nHow long?"),
                "{user}"
            );
            assert!(user.contains(told), "{user}");
        }
    }
}
