//! `panto -p`: one prompt, answered without a screen.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;

use panto_host::Config;
use panto_host::config::Provider;
use panto_host::headless::{self, Output, Run, RunInfo, RunResult, RunStatus};
use panto_host::models::{ChoiceRequest, Models};
use panto_host::session::{SessionCommand, SessionHandle};
use pantograph::session::{FileSystemJsonlStore, OpenSession, Session, SessionStore};
use pantograph::{
    Agent, AgentBuilder, AgentOptions, Conversation, Origin, StopReason, Submission, TurnError,
};

use crate::args::{CommonArgs, OutputFormat, RunArgs};
use crate::failure::{self, Exit, Failure, WayOn};
use crate::keys::Keys;
use crate::place::{Place, Workers, wait_for};
use crate::prompt::{MOST_BYTES, PromptSource, too_large};
use crate::protocols;
use crate::session::warn_if_torn;
use crate::signals::Signals;
use crate::streams;

/// How often a model is asked that goes on to call tools that it does not have.
const MAX_ROUNDS: u32 = 16;

/// Answers the prompt, and says what the process ends with.
pub(crate) fn run(args: RunArgs, common: &CommonArgs) -> Exit {
    let format = args.output.unwrap_or(OutputFormat::Text);
    let mut output = streams::output(format, common.verbose);
    answer(args, common, &mut *output)
        .unwrap_or_else(|failure| finish(&Ended::early(failure), &mut *output))
}

/// Shows that a run, or the demo, could not even begin.
pub(crate) fn refuse(failure: Failure, format: OutputFormat) -> Exit {
    finish(&Ended::early(failure), &mut *streams::output(format, false))
}

/// How a run ended: for programs, and for people.
pub(crate) struct Ended {
    result: RunResult,
    failure: Option<Failure>,
    exit: Exit,
}

impl Ended {
    /// The run failed before it had a session.
    pub(crate) fn early(failure: Failure) -> Self {
        Self {
            result: RunResult::failed_early(failure.to_run_error(), failure.exit.code()),
            exit: failure.exit,
            failure: Some(failure),
        }
    }

    /// A signal came before the run had a session.
    fn interrupted(exit: Exit) -> Self {
        Self {
            result: RunResult::cancelled_early(exit.code()),
            exit,
            failure: None,
        }
    }
}

/// Shows the end of a run; gives what the process ends with.
pub(crate) fn finish(ended: &Ended, output: &mut dyn Output) -> Exit {
    let written = output.finish(&ended.result);
    if let Some(failure) = &ended.failure {
        streams::report(failure);
    }
    match written {
        Err(error) if ended.exit == Exit::Done && error.kind() != io::ErrorKind::BrokenPipe => {
            streams::report(&Failure::output(error))
        }
        _ => ended.exit,
    }
}

fn answer(args: RunArgs, common: &CommonArgs, output: &mut dyn Output) -> Result<Exit, Failure> {
    let place = Place::find(common)?;
    let config = place.load_config(common)?;
    let keys = Keys::new(&place, &config);
    let stdin = io::stdin();
    let source = PromptSource {
        argument: args.print.clone().unwrap_or_default(),
        piped: (!stdin.is_terminal()).then_some(stdin),
    };
    wait_for(Workers::Few, async {
        let signals = Signals::listen()?;
        let prepared = async {
            let kept = open_session(&args, &place).await?;
            let (builder, provider) = choose(&args, &config, &keys, kept.origin())?;
            // First: a person without a key need not write a prompt.
            keys.prepare(&provider).await?;
            let ask = to_ask(source.read().await?, &args)?;
            Ok((kept, builder, ask))
        };
        let prepared = tokio::select! {
            prepared = prepared => prepared.map(Some),
            _ = signals.first() => Ok(None),
        };
        let ended = match prepared {
            Ok(Some((kept, builder, ask))) => match kept.agent(builder, &place).await {
                Ok((agent, store)) => drive(agent, ask, store, &place, &signals, output).await,
                Err(failure) => Ended::early(failure),
            },
            Ok(None) => Ended::interrupted(signals.first().await),
            Err(failure) => Ended::early(failure),
        };
        signals.turn_is_over();
        // Inside the runtime: a signal must end a write that nobody reads.
        Ok(finish(&ended, output))
    })
}

/// Decides which model answers, and says what there is to say about it; gives an agent with it,
/// and its provider. `origin` is of the last answer in the session that goes on.
fn choose(
    args: &RunArgs,
    config: &Arc<Config>,
    keys: &Keys,
    origin: Option<&Origin>,
) -> Result<(AgentBuilder, Provider), Failure> {
    let protocols = protocols::built_in(keys.credentials());
    let models = Models::new(Arc::clone(config), protocols).with_keys(keys.clone());
    let chosen = models.choose(&ChoiceRequest {
        model: args.model.as_deref(),
        reasoning: args.reasoning.as_deref(),
        base_url: args.base_url.as_deref(),
        session: origin,
    })?;
    for note in &chosen.notes {
        streams::note(note);
    }
    for warning in &chosen.warnings {
        streams::warn(warning);
    }
    let mut builder = Agent::builder(chosen.protocol, chosen.model).options(AgentOptions {
        auto_compact: *config.compaction.auto,
        // There are no tools yet: a model that calls some all the same does not stop by itself.
        max_rounds: Some(MAX_ROUNDS),
        ..AgentOptions::default()
    });
    if let Some(file) = &args.system {
        builder = builder.system_prompt(read_system_prompt(file)?);
    }
    Ok((builder, chosen.provider))
}

/// What is asked for, with the prompt that was given, if one was.
fn to_ask(prompt: Option<String>, args: &RunArgs) -> Result<Ask, Failure> {
    match prompt {
        Some(prompt) => Ok(Ask::Prompt(prompt)),
        None if args.continue_latest || args.resume.is_some() => Ok(Ask::GoOn),
        None => Err(Failure::usage("the prompt is empty").with_hint(
            "write it behind -p, or pipe it: panto -p \"…\", or: panto -p < question.txt",
        )),
    }
}

/// Where a conversation is kept, before it is known who answers.
enum Kept {
    /// In no file.
    Nowhere,
    /// In a session that begins with it.
    New(FileSystemJsonlStore),
    /// In a session that is there already.
    Open {
        store: FileSystemJsonlStore,
        session: Box<dyn Session>,
        messages: Conversation,
        /// Of its last answer.
        origin: Option<Arc<Origin>>,
    },
}

impl Kept {
    fn origin(&self) -> Option<&Origin> {
        match self {
            Kept::Open { origin, .. } => origin.as_deref(),
            Kept::Nowhere | Kept::New(_) => None,
        }
    }

    /// The agent that goes on with it, and where it is kept, if anywhere.
    async fn agent(
        self,
        builder: AgentBuilder,
        place: &Place,
    ) -> Result<(Agent, Option<FileSystemJsonlStore>), Failure> {
        Ok(match self {
            Kept::Nowhere => (builder.ephemeral(), None),
            Kept::New(store) => (builder.create(&store, place.cwd()).await?, Some(store)),
            Kept::Open {
                store,
                session,
                messages,
                ..
            } => (builder.build(session, messages), Some(store)),
        })
    }
}

/// Finds and opens the session that the arguments name, if they name one.
async fn open_session(args: &RunArgs, place: &Place) -> Result<Kept, Failure> {
    if args.no_session {
        return Ok(Kept::Nowhere);
    }
    let store = place.store()?;
    let id = if let Some(wanted) = &args.resume {
        place.resolve(&store, wanted).await?
    } else if args.continue_latest {
        store.latest().await?.ok_or_else(|| {
            let here = place.cwd().display();
            Failure::new(
                Exit::Usage,
                "session",
                anyhow::anyhow!("there is no session of `{here}` to go on with"),
            )
            .with_hint("leave --continue out to begin one, or name the directory with --cwd")
        })?
    } else {
        return Ok(Kept::New(store));
    };
    let OpenSession { session, tree } = store.open(id).await?;
    warn_if_torn(&tree);
    let branch = tree.branch();
    let origin = branch
        .iter()
        .rev()
        .find_map(|message| message.origin.clone());
    Ok(Kept::Open {
        store,
        session,
        messages: tree.conversation(),
        origin,
    })
}

/// What a session is to do.
pub(crate) enum Ask {
    /// Answer this.
    Prompt(String),
    /// Go on from its last complete message.
    GoOn,
}

/// Has a session do one thing, to the end; `store` keeps its conversation, if anything does.
pub(crate) async fn drive(
    agent: Agent,
    ask: Ask,
    store: Option<FileSystemJsonlStore>,
    place: &Place,
    signals: &Signals,
    output: &mut dyn Output,
) -> Ended {
    let model = agent.config().model;
    let info = RunInfo {
        session_id: agent.session_id(),
        saved: store.is_some(),
        model: model.reference.to_string(),
        reasoning: model.reasoning.clone(),
        cwd: place.cwd().to_owned(),
        tools: agent
            .tools()
            .iter()
            .map(|tool| tool.name.to_string())
            .collect(),
    };
    let handle = SessionHandle::open(agent);
    let mut events = handle.events();
    let begun = output.begin(&info);
    // Nobody else has the handle, so it is open; what it refuses would show as no outcome.
    let _ = match ask {
        Ask::Prompt(prompt) => handle.submit(Submission::follow_up(prompt)).map(drop),
        Ask::GoOn => handle.command(SessionCommand::Continue),
    };
    signals.watch(&handle);
    if begun.is_err() {
        handle.interrupt();
    }
    let mut run = headless::follow(&handle, &mut events, output).await;
    run.output_error = begun.err().or(run.output_error);
    handle.close().await;
    let way_on = match store {
        None => WayOn::NotKept,
        Some(store) if store.path(info.session_id).is_file() => WayOn::Resume(info.session_id),
        Some(_) => WayOn::NotSavedYet,
    };
    judge(run, &info, way_on, signals.turn_is_over())
}

/// Decides what a run came to.
fn judge(run: Run, info: &RunInfo, way_on: WayOn, signal: Option<Exit>) -> Ended {
    let stop = run.outcome.as_ref().map(|outcome| outcome.stop);
    let text = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.text.clone());
    let turn_error = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.error.clone());
    let saved =
        matches!(way_on, WayOn::Resume(_)) && !matches!(turn_error, Some(TurnError::Session(_)));
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    let reader_is_gone = run.output_error.as_ref().is_some_and(is_gone);
    let output_error = run.output_error.filter(|error| !is_gone(error));
    let (status, failure, exit) = match (stop, turn_error) {
        (_, Some(error)) => {
            let failure = failure::of_turn(&error, &info.model, way_on);
            let exit = failure.exit;
            (RunStatus::Failed, Some(failure), exit)
        }
        (Some(StopReason::Failed), None) => {
            failed("internal", "the turn failed without saying why")
        }
        _ if output_error.is_some() => {
            let failure = output_error.map(Failure::output);
            (RunStatus::Failed, failure, Exit::TurnFailed)
        }
        (Some(StopReason::Cancelled) | None, None) => match signal {
            Some(exit) => (RunStatus::Cancelled, None, exit),
            // Whoever read the output has seen enough.
            None if reader_is_gone => (RunStatus::Cancelled, None, Exit::Done),
            None if stop.is_none() => failed("internal", "the session ended before the turn did"),
            None => (RunStatus::Cancelled, None, Exit::Interrupted),
        },
        (Some(StopReason::Limit), None) => {
            let (_, failure, exit) = failed("limit", "a limit cut the answer");
            let failure = failure.map(|failure| match way_on {
                WayOn::Resume(id) => failure.with_hint(format!(
                    "`panto -p \"go on\" --resume {id}` asks for the rest"
                )),
                WayOn::NotSavedYet | WayOn::NotKept => failure,
            });
            (RunStatus::Limit, failure, exit)
        }
        (Some(StopReason::End | StopReason::ToolCalls), None)
            if text.as_deref().unwrap_or_default().trim().is_empty() =>
        {
            failed("empty_answer", "the model answered with nothing")
        }
        (Some(StopReason::End | StopReason::ToolCalls), None) => {
            (RunStatus::Completed, None, Exit::Done)
        }
    };
    let result = RunResult {
        status,
        stop,
        text: text.unwrap_or_default(),
        error: failure.as_ref().map(Failure::to_run_error),
        session_id: Some(info.session_id),
        saved,
        model: Some(info.model.clone()),
        usage: run.usage,
        turns: run.turns,
        duration: run.duration,
        exit_code: exit.code(),
    };
    Ended {
        result,
        failure,
        exit,
    }
}

fn failed(kind: &'static str, message: &'static str) -> (RunStatus, Option<Failure>, Exit) {
    let failure = Failure::new(Exit::TurnFailed, kind, anyhow::anyhow!(message));
    (RunStatus::Failed, Some(failure), Exit::TurnFailed)
}

fn read_system_prompt(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read =
        File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    if text.len() as u64 > MOST_BYTES {
        let what = format!("the system prompt `{}`", file.display());
        return Err(too_large(&what, MOST_BYTES));
    }
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::new(Exit::Usage, "usage", error).context(format!(
            "could not read the system prompt `{}`",
            file.display()
        ))),
    }
}
