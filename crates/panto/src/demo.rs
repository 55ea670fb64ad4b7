//! `panto demo`: a scripted agent hands work to children, in a real session.
//!
//! The script is the models; loop, extensions, tools, files and store are what a run with real
//! ones has. Nothing of the person's counts: neither configuration, nor extensions.

mod narrator;
mod stage;

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use panto_host::Config;
use panto_host::compose::{ComposeError, Composer, Kept, LiveSession};
use panto_host::extensions::Level;
use panto_host::headless::Output;
use panto_host::host::{ACTIVATION_LIMIT, NobodyToAsk, Themes};
use panto_host::models::{LateProtocols, Models, ProtocolRegistry};
use pantograph::{Agent, AgentOptions, Model, ModelRef, SessionId};
use pantograph_scripted::{Script, ScriptedProtocol};
use tokio::runtime::Handle;

use crate::args::{CommonArgs, DemoArgs, OutputFormat};
use crate::compose::environment;
use crate::failure::{Exit, Failure};
use crate::place::{Place, own};
use crate::prompt::Prompt;
use crate::run::{Ask, Ended, Running, finish};
use crate::signals::{Signals, leave};
use crate::{shipped, streams};
use narrator::Narrator;
use stage::Stage;

/// What the script answers.
const PROMPT: &str = "Review this directory.";

pub(crate) fn run(args: &DemoArgs, common: &CommonArgs) -> Exit {
    let format = args.output.unwrap_or(OutputFormat::Text);
    let mut output = streams::output(format, common.verbose && format != OutputFormat::Text);
    if format == OutputFormat::Text {
        introduce();
        output = Box::new(Narrator::new(output));
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
        "panto demo: one agent, three children. A script stands in for the models; the loop, the \
         tools,\nthe files and the sessions are real, and no file here is changed.\n\n\
         > {PROMPT}\n\n"
    );
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

struct Played {
    exit: Exit,
    where_it_lies: String,
}

fn play(common: &CommonArgs, output: &mut dyn Output) -> Result<Played, Failure> {
    let place = Place::find(common)?;
    let stage = Stage::set(&place)?;
    own(async |agents: Handle| {
        let signals = {
            let _workers = agents.enter();
            Signals::listen()?
        };
        let composer = composer(&place, &stage, agents);
        let store = composer.store().map_err(ComposeError::from)?;
        let found = composer.find();
        let host = composer.host(&found).map_err(ComposeError::from)?;
        let live =
            LiveSession::start(&composer, host, &found, Kept::New(store), builder()?).await?;
        let id = live.handle.agent().session_id();
        let file = live.store.as_ref().map(|store| store.path(id));
        let mut running = Running::of(live, place.cwd());
        let ask = Ask::Prompt(Prompt::of(PROMPT));
        let ended = running.carry_out(ask, &signals, output).await;
        let remains = running.end().await;
        signals.turn_is_over();
        Ok(Played {
            // Inside the runtime: a signal must end a write that nobody reads.
            exit: leave(finish(&ended, output), remains),
            where_it_lies: match file.filter(|_| stage.is_kept()) {
                Some(file) => where_it_lies(&file, id),
                None => String::new(),
            },
        })
    })
}

/// What panto ships, and nothing else.
fn composer(place: &Place, stage: &Stage, agents: Handle) -> Composer {
    let config = Arc::new(Config::default());
    Composer {
        agents,
        os: env::consts::OS,
        dirs: stage.dirs.clone(),
        home: None,
        project_root: place.root.clone(),
        trusted: false,
        bundle: None,
        staged: Some(stage.shipped.clone()),
        rocks: None,
        no_extensions: false,
        models: Arc::new(Models::new(
            Arc::clone(&config),
            ProtocolRegistry::default(),
        )),
        late: LateProtocols::default(),
        environment: environment(&config),
        settings: BTreeMap::new(),
        shown_tools: None,
        hidden_tools: Vec::new(),
        agent_options: AgentOptions::default(),
        asker: Arc::new(NobodyToAsk),
        base_prompt: Some(shipped::BASE_PROMPT.to_owned()),
        themes: Arc::new(Themes::new()),
        activation_limit: ACTIVATION_LIMIT,
        report: Arc::new(|diagnostic| match diagnostic.level {
            Level::Error | Level::Warning => streams::warn(diagnostic),
            Level::Info => {}
        }),
        print: Arc::new(streams::pass_on),
        config,
    }
}

/// An agent whose model is the script; so are its children's, which have the session's model.
fn builder() -> Result<pantograph::AgentBuilder, Failure> {
    let internal = |error: anyhow::Error| Failure::new(Exit::TurnFailed, "internal", error);
    let script = Script::from_toml(shipped::DEMO).map_err(|error| internal(error.into()))?;
    // A person sees it arrive as a model's answer would, a pipe need not wait.
    let script = match io::stdout().is_terminal() {
        true => script,
        false => script.unpaced(),
    };
    let model = ModelRef::parse("demo:script").map_err(|error| internal(error.into()))?;
    Ok(Agent::builder(
        Arc::new(ScriptedProtocol::new(script)),
        Model::new(model),
    ))
}

/// Where the session and those of its children are, and what can be done with them.
fn where_it_lies(file: &Path, id: SessionId) -> String {
    let mut text = format!("\nThe conversation:  {}\n", file.display());
    if let Some((children, count)) = children_of(file, id) {
        text.push_str(&format!(
            "its children's:    {}/ ({count} files)\n",
            children.display()
        ));
    }
    text.push_str(&format!(
        "\nWhat to do next:\n  \
         panto session show {id}      reads it again\n  \
         panto session children {id}  lists its children\n  \
         panto -p \"…\" --resume {id}   goes on with it, once a model is configured\n"
    ));
    text
}

/// The directory beside a session's file that is named after the session, and how many sessions
/// are in it. Who puts them there is the extension's business.
fn children_of(file: &Path, id: SessionId) -> Option<(PathBuf, usize)> {
    let beside = file.parent()?.read_dir().ok()?;
    let mut named = beside.filter_map(|entry| Some(entry.ok()?.path().join(id.to_string())));
    let dir = named.find(|dir| dir.is_dir())?;
    let files = dir.read_dir().ok()?.filter_map(Result::ok);
    let is_session = |path: PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let count = files.filter(|entry| is_session(entry.path())).count();
    Some((dir, count))
}
