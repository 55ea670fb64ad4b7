//! `panto demo`: a scripted conversation through the real loop, store and output.
//!
//! The script is the model; everything else is what a run with a real one uses.

mod tools;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use panto_host::session::SessionHandle;
use pantograph::{Agent, Model, ModelRef};
use pantograph_scripted::{Script, ScriptedProtocol};

use crate::args::{CommonArgs, DemoArgs, OutputFormat};
use crate::failure::{Exit, Failure};
use crate::place::{Place, Workers, wait_for};
use crate::prompt::Prompt;
use crate::run::{self, Ended, Running, finish};
use crate::signals::Signals;
use crate::streams;

const SCRIPT: &str = include_str!("demo/script.toml");
const PROMPT: &str = "Two friends share a garden. How much fence does it need, and how much seed?";

pub(crate) fn run(args: &DemoArgs, common: &CommonArgs) -> Exit {
    let format = args.output.unwrap_or(OutputFormat::Text);
    // The tools are half of what there is to see.
    let mut output = streams::output(format, true);
    if format == OutputFormat::Text {
        introduce();
    }
    let played = play(common, &mut *output).unwrap_or_else(|failure| Played {
        exit: finish(&Ended::early(failure), &mut *output),
        where_it_lies: String::new(),
    });
    if played.exit == Exit::Done && format == OutputFormat::Text {
        let _ = io::stderr()
            .lock()
            .write_all(played.where_it_lies.as_bytes());
    }
    played.exit
}

fn introduce() {
    let text = format!(
        "panto demo: a script stands in for the model; loop, tools and session are real.\n\n\
         > {PROMPT}\n\n"
    );
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

struct Played {
    exit: Exit,
    where_it_lies: String,
}

fn play(
    common: &CommonArgs,
    output: &mut dyn panto_host::headless::Output,
) -> Result<Played, Failure> {
    let place = Place::find(common)?;
    let internal = |error: anyhow::Error| Failure::new(Exit::TurnFailed, "internal", error);
    let script = Script::from_toml(&script()).map_err(|error| internal(error.into()))?;
    let model = ModelRef::parse("demo:script").map_err(|error| internal(error.into()))?;
    let builder = Agent::builder(Arc::new(ScriptedProtocol::new(script)), Model::new(model))
        .system_prompt("You are a demonstration.")
        .tool_source(Arc::new(
            tools::registry().map_err(|error| internal(error.into()))?,
        ));
    wait_for(Workers::Few, async {
        let signals = Signals::listen()?;
        let (agent, store, path) = match place.store() {
            Ok(store) => {
                let agent = builder.create(&store, place.cwd()).await?;
                let path = store.path(agent.session_id());
                (agent, Some(store), Some(path))
            }
            // The demo needs nothing, not even a home.
            Err(failure) => {
                let why = failure.to_run_error().message;
                streams::warn(format!("the conversation is not kept: {why}"));
                (builder.ephemeral(), None, None)
            }
        };
        let id = agent.session_id();
        let ask = run::Ask::Prompt(Prompt::of(PROMPT));
        let mut running = Running {
            host: None,
            handle: SessionHandle::open(agent),
            store,
            cwd: place.cwd().to_owned(),
        };
        let ended = running.carry_out(ask, &signals, output).await;
        Ok(Played {
            // Inside the runtime: a signal must end a write that nobody reads.
            exit: finish(&ended, output),
            where_it_lies: path.map_or_else(String::new, |path| {
                format!(
                    "\nThe conversation is kept in {}\n  \
                     read it again: panto session show {id}\n  \
                     go on with it, once a model is configured: panto -p \"…\" --resume {id}\n",
                    path.display()
                )
            }),
        })
    })
}

/// The script; a person sees it arrive as a model's answer would, a pipe need not wait.
fn script() -> String {
    if io::stdout().is_terminal() {
        return SCRIPT.to_owned();
    }
    SCRIPT
        .split_inclusive(", pace_ms = 25")
        .map(|part| part.trim_end_matches(", pace_ms = 25"))
        .collect()
}
