//! The one way to call a model: with a recorded prompt.

use crate::recorder::{RecordedPrompt, Reply, Usage};

use super::{Backend, ModelFault, Request, observer};

/// Something that can be asked, over whatever wire.
pub struct Model(Answerer);

enum Answerer {
    /// Built in: answers from the bundle alone.
    Observer,
    /// Over a wire.
    Wire(Box<dyn Backend>),
}

/// The id of the built-in model.
const OBSERVER: &str = "observer";

impl Model {
    /// The built-in model that is no language model: it tells what is in the bundle.
    pub fn observer() -> Self {
        Model(Answerer::Observer)
    }

    /// A model behind a backend.
    pub fn over(backend: Box<dyn Backend>) -> Self {
        Model(Answerer::Wire(backend))
    }

    /// The id as it is recorded.
    pub fn id(&self) -> &str {
        match &self.0 {
            Answerer::Observer => OBSERVER,
            Answerer::Wire(backend) => backend.id(),
        }
    }

    /// Asks once; takes nothing but a recorded prompt, and gives nothing that can be shown as it is.
    pub async fn invoke(&self, prompt: &RecordedPrompt) -> Result<Reply, ModelFault> {
        match &self.0 {
            Answerer::Observer => {
                let text = observer::answer(prompt.bundle().bundle(), prompt.text().as_str());
                Ok(Reply::new(text, Usage::default()))
            }
            Answerer::Wire(backend) => {
                let compiled = prompt.compiled();
                let answer = backend.call(Request { system: compiled.system(), user: compiled.user() }).await?;
                Ok(Reply::new(answer.text, answer.usage))
            }
        }
    }
}
