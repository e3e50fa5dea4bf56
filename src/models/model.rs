//! The one way to call a model: with a recorded prompt.

use std::sync::OnceLock;

use serde_json::Value;

use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::image::ImageFile;
use crate::record::ledger::params::{Params, Price};
use crate::record::ledger::reply::SENT_KEY;
use crate::record::ledger::request::{RequestDoc, RequestPart};
use crate::recorder::{RecordedPrompt, Reply, Usage};

use super::replay::ReplayModel;
use super::{Backend, ModelFault, Request, ServerWindow, observer};

/// Something that can be asked, over whatever wire.
pub struct Model {
    answerer: Answerer,
    settings: Params,
    price: Option<Price>,
    window: Option<u64>,
    told: OnceLock<ServerWindow>,
    /// The bytes of all images that its requests may name.
    images: Vec<ImageFile>,
}

enum Answerer {
    /// Built in: answers from the bundle alone.
    Observer,
    /// Over a wire.
    Wire(Box<dyn Backend>),
    /// From the record.
    Replay(ReplayModel),
}

impl Model {
    fn new(answerer: Answerer) -> Self {
        Model {
            answerer,
            settings: Params::default(),
            price: None,
            window: None,
            told: OnceLock::new(),
            images: Vec::new(),
        }
    }

    /// The built-in model that is no language model: it tells what is in the bundle.
    pub fn observer() -> Self {
        Self::new(Answerer::Observer)
    }

    /// A model behind a backend.
    pub fn over(backend: Box<dyn Backend>) -> Self {
        Self::new(Answerer::Wire(backend))
    }

    /// Recorded answers, given again.
    pub fn replay(replay: ReplayModel) -> Self {
        Self::new(Answerer::Replay(replay))
    }

    /// With the settings that its backend was made with, and the owner's part of the system
    /// message.
    pub fn set(self, settings: Params) -> Self {
        Model { settings, ..self }
    }

    /// With the price of its tokens.
    pub fn priced(self, price: Option<Price>) -> Self {
        Model { price, ..self }
    }

    /// With the tokens that its window holds, prompt and answer together.
    pub fn within(self, window: Option<u64>) -> Self {
        Model { window, ..self }
    }

    /// With images to look at beside the question. Only for models behind a wire.
    pub fn showing(self, images: Vec<ImageFile>) -> Self {
        let named = images.iter().map(|image| image.named.clone()).collect();
        Model {
            settings: Params {
                images: named,
                ..self.settings
            },
            images,
            ..self
        }
    }

    /// With the images that a client's own messages name.
    pub fn holding(mut self, images: &[ImageFile]) -> Self {
        self.images.extend_from_slice(images);
        self
    }

    /// Why it can't be asked so, in words for a person; none where it can.
    pub fn refuses(&self, client: &ClientRequest) -> Option<String> {
        if let Answerer::Wire(backend) = &self.answerer {
            return backend.refuses(client);
        }
        let has = match (client.tools.is_empty(), client.images.is_empty()) {
            (false, _) => "tools",
            (_, false) => "images",
            _ if !client.settings.is_empty() => "settings",
            _ => return None,
        };
        Some(format!(
            "{} is no language model behind a server and takes no {has}: name one that is",
            self.id()
        ))
    }

    /// Asks its server how many tokens its window holds, where nobody said so and it was not asked
    /// yet.
    pub async fn look_at_window(&self) {
        if self.told.get().is_some() {
            return;
        }
        if let (None, Answerer::Wire(backend)) = (self.window, &self.answerer) {
            let told = backend.window().await;
            // Whoever looked first is right as well.
            let _ = self.told.set(told);
        }
    }

    /// How many tokens its window holds, where that is known: somebody said so, or its server did.
    pub fn window(&self) -> Option<u64> {
        self.window
            .or_else(|| self.told.get().and_then(|told| told.most))
    }

    /// How many tokens its server takes unless it is told of more; none where a server takes as
    /// many as the model can.
    pub fn window_by_itself(&self) -> Option<u64> {
        match (self.told.get(), &self.answerer) {
            (Some(told), _) => told.by_itself,
            (None, Answerer::Wire(backend)) => backend.window_by_itself(),
            (None, _) => None,
        }
    }

    /// Whether its server is asked to answer piece by piece where somebody watches.
    pub fn streams(&self) -> bool {
        matches!(&self.answerer, Answerer::Wire(backend) if backend.streams())
    }

    /// The most tokens that its answer is to have, where somebody said so.
    pub fn most_of_answer(&self) -> Option<u64> {
        self.settings.max_tokens
    }

    /// The id as it is recorded.
    pub fn id(&self) -> &str {
        match &self.answerer {
            Answerer::Observer => observer::ID,
            Answerer::Wire(backend) => backend.id(),
            Answerer::Replay(_) => super::replay::ID,
        }
    }

    /// Whether it is the built-in voice that is no language model.
    pub fn is_observer(&self) -> bool {
        matches!(self.answerer, Answerer::Observer)
    }

    /// Whether what it is shown is sent to a server.
    pub fn is_over_a_wire(&self) -> bool {
        matches!(self.answerer, Answerer::Wire(_))
    }

    /// Whether that server is another machine, as far as its address tells.
    pub fn leaves_machine(&self) -> bool {
        matches!(&self.answerer, Answerer::Wire(backend) if backend.leaves_machine())
    }

    /// The owner's part of the system message, as it was written.
    pub fn system(&self) -> Option<&str> {
        self.settings.system.as_deref()
    }

    /// What is recorded of the settings, with the owner's text as the compiled prompt holds it.
    pub fn params(&self, system: Option<&str>) -> Params {
        Params {
            system: system.map(str::to_owned),
            ..self.settings.clone()
        }
    }

    /// What a person is told beside the answer: the exchange that was replayed, for one.
    pub fn source(&self) -> Option<String> {
        match &self.answerer {
            Answerer::Replay(replay) => replay.source(),
            Answerer::Observer | Answerer::Wire(_) => None,
        }
    }

    /// The images that a request names, each with the place of its message.
    fn placed(&self, request: &RequestDoc) -> Vec<(usize, &ImageFile)> {
        let mut placed = Vec::new();
        for (at, message) in request.messages.iter().enumerate() {
            for part in &message.parts {
                if let RequestPart::Image(named) = part {
                    let file = self.images.iter().find(|image| image.named == *named);
                    placed.extend(file.map(|file| (at, file)));
                }
            }
        }
        placed
    }

    /// Asks once; takes nothing but a recorded prompt, and gives nothing that can be shown as it
    /// is.
    pub async fn invoke(&self, prompt: &RecordedPrompt) -> Result<Reply, ModelFault> {
        self.invoke_watched(prompt, None).await
    }

    /// The same while somebody waits, who is told how many characters of the answer have come.
    pub async fn invoke_watched(
        &self,
        prompt: &RecordedPrompt,
        came: Option<&(dyn Fn(u64) + Sync)>,
    ) -> Result<Reply, ModelFault> {
        match &self.answerer {
            Answerer::Observer => {
                let text = observer::answer(prompt.bundle().bundle(), prompt.text().as_str());
                Ok(Reply::new(text, None, Usage::default()))
            }
            Answerer::Wire(backend) => {
                let compiled = prompt.compiled();
                let num_ctx = prompt.params().num_ctx;
                let num_ctx = num_ctx.map(|tokens| ("num_ctx".to_owned(), Value::from(tokens)));
                let client = compiled.client();
                let others = client.into_iter().flat_map(|client| &client.settings);
                let others = others.map(|(name, value)| (name.clone(), value.clone()));
                let settings: Vec<(String, Value)> = num_ctx.into_iter().chain(others).collect();
                let images = self.placed(compiled.request());
                let request = Request {
                    messages: compiled.messages(),
                    images: &images,
                    tools: client.map_or(&[], |client| &client.tools),
                    tool_choice: client.and_then(|client| client.tool_choice.as_ref()),
                    settings: &settings,
                    stream: false,
                };
                let answer = match came {
                    Some(came) => backend.watch(request, came).await?,
                    None => backend.call(request).await?,
                };
                let tokens = answer
                    .usage
                    .prompt_tokens
                    .zip(answer.usage.completion_tokens);
                let cost = self
                    .price
                    .as_ref()
                    .zip(tokens)
                    .and_then(|(price, (input, output))| price.cost(input, output));
                let beside = Some(answer.beside);
                let without = answer.held_key.then_some(SENT_KEY);
                let reply = Reply::new(answer.text, beside, answer.usage);
                Ok(reply.costing(cost).without(without).taking(answer.times))
            }
            Answerer::Replay(replay) => {
                let text = replay.answer(prompt.compiled().hash(), prompt.text().as_str())?;
                Ok(Reply::new(text, None, Usage::default()))
            }
        }
    }
}
