//! Questions to the person: `panto.ext.ask`, and tools that want a yes.

use std::rc::Rc;
use std::sync::Arc;

use mlua::Lua;
use panto_lua::{Args, Fault, Module, Reply, values};
use pantograph::async_trait;
use tokio::sync::oneshot;

use super::shared::{Owner, Shared};

/// Something to ask a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The agent that asks, by its label, if it is not the session's own.
    pub agent: Option<String>,
    /// What is asked. Text from outside.
    pub text: String,
    /// The answers to choose from; none for free text.
    pub choices: Vec<String>,
}

/// Asks the person. Questions queue: one is shown at a time.
#[async_trait]
pub trait Asker: Send + Sync {
    /// The answer: one of the choices, or text.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in words. It must not wait for a person who is not there.
    async fn ask(&self, question: Question) -> Result<String, String>;
}

/// Nobody is there: every question fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyToAsk;

#[async_trait]
impl Asker for NobodyToAsk {
    async fn ask(&self, question: Question) -> Result<String, String> {
        Err(format!(
            "nobody is asked “{}”: without the interactive terminal, as with `-p`, panto does not \
             ask",
            question.text
        ))
    }
}

/// What a tool that wants a yes is answered with.
pub(super) const YES: &str = "yes";
const NO: &str = "no";

/// Whether the person allows a call; if not, why, in words for the model.
pub(super) async fn allow(
    asker: &dyn Asker,
    agent: Option<String>,
    tool: &str,
    input: &str,
) -> Result<(), String> {
    let question = Question {
        agent,
        text: format!("Run `{tool}` with {input}?"),
        choices: vec![YES.to_owned(), NO.to_owned()],
    };
    match asker.ask(question).await {
        Ok(answer) if answer == YES => Ok(()),
        Ok(_) => Err(format!(
            "The call was not run: the person does not allow this call of `{tool}`."
        )),
        Err(_) => Err(format!(
            "The call was not run: `{tool}` wants a yes from a person before each call, and \
             without the interactive terminal, as with `-p`, panto does not ask. To allow it, \
             take `{tool}` out of `tools.ask` in the configuration."
        )),
    }
}

/// `ask{ question, choices? }`: the answer, or `nil, message`. Waits.
pub(super) fn ask(shared: &Rc<Shared>, _: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let options = args.options(&["question", "choices"])?;
    let choices = match options.given("choices")? {
        Some(choices) => choices
            .list()?
            .iter()
            .map(panto_lua::Arg::text)
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let surroundings = shared.module.surroundings();
    let enclosing = surroundings.and_then(|surroundings| surroundings.enclosing(lua));
    let question = Question {
        agent: enclosing.and_then(|enclosing| enclosing.label),
        text: options.get("question")?.text()?,
        choices,
    };
    let asker = Arc::clone(&shared.options.asker);
    let (sender, receiver) = oneshot::channel();
    shared.options.agents.spawn(async move {
        // Whoever asked may be gone.
        let _ = sender.send(asker.ask(question).await);
    });
    Module::later(lua, receiver, |lua, answer| match answer {
        Ok(Ok(answer)) => values(lua, answer),
        Ok(Err(why)) => Err(Fault::expected(why)),
        Err(_) => Err(Fault::expected("the session is over")),
    })
}
