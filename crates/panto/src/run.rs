//! `panto -p`: one prompt, answered without a screen.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use panto_host::compose::{ComposeError, GRACE, Kept, LiveSession};
use panto_host::config::Provider;
use panto_host::headless::{self, Output, Run, RunInfo, RunResult, RunStatus};
use panto_host::host::{Call, CommandOutput, Host, Remains, Untold};
use panto_host::models::{ChoiceRequest, Models};
use panto_host::session::{SessionCommand, SessionHandle};
use pantograph::session::{FileSystemJsonlStore, SessionStore};
use pantograph::{Agent, AgentBuilder, Origin, Role, StopReason, Submission, TurnError};
use tokio::runtime::Handle;

use crate::args::{CommonArgs, OutputFormat, RunArgs};
use crate::compose::{Composition, command_failure};
use crate::failure::{self, Exit, Failure, WayOn};
use crate::place::{Place, own};
use crate::prompt::{MOST_BYTES, Prompt, PromptSource, too_large};
use crate::session::warn_if_torn;
use crate::signals::{Signals, leave};
use crate::streams;

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
    /// What people hear although nothing failed.
    note: Option<String>,
    exit: Exit,
}

impl Ended {
    /// The run failed before it had a session.
    pub(crate) fn early(failure: Failure) -> Self {
        Self {
            result: RunResult::failed_early(failure.to_run_error(), failure.exit.code()),
            exit: failure.exit,
            failure: Some(failure),
            note: None,
        }
    }

    /// The prompt was a command, and nothing was asked of the model.
    fn command(command: CommandOutput, info: &RunInfo, signal: Option<Exit>) -> Self {
        let exit = signal.unwrap_or(match command.exit_code {
            0 => Exit::Done,
            code => Exit::Command(code),
        });
        let result = RunResult {
            status: match exit {
                Exit::Done => RunStatus::Completed,
                _ => RunStatus::Failed,
            },
            text: command.text.unwrap_or_default(),
            session_id: Some(info.session_id),
            model: Some(info.model.clone()),
            ..RunResult::cancelled_early(exit.code())
        };
        Self {
            result,
            failure: None,
            note: None,
            exit,
        }
    }

    /// A signal came before the run had a session.
    fn interrupted(exit: Exit) -> Self {
        Self {
            result: RunResult::cancelled_early(exit.code()),
            exit,
            failure: None,
            note: Some("interrupted; nothing was asked".to_owned()),
        }
    }
}

/// Shows the end of a run; gives what the process ends with.
pub(crate) fn finish(ended: &Ended, output: &mut dyn Output) -> Exit {
    let written = output.finish(&ended.result);
    if let Some(failure) = &ended.failure {
        streams::report(failure);
    }
    if let Some(note) = &ended.note {
        streams::note(note);
    }
    match written {
        Err(error) if ended.exit == Exit::Done && error.kind() != io::ErrorKind::BrokenPipe => {
            streams::report(&Failure::output(error))
        }
        _ => ended.exit,
    }
}

fn answer(args: RunArgs, common: &CommonArgs, output: &mut dyn Output) -> Result<Exit, Failure> {
    let place = Place::find_for(common, &args.host)?;
    let stdin = io::stdin();
    let source = PromptSource {
        argument: args.print.clone().unwrap_or_default(),
        piped: (!stdin.is_terminal()).then_some(stdin),
    };
    own(async |agents: Handle| {
        let mut composition = Composition::prepare(place, common, &args.host, agents.clone())?;
        composition.composer.agent_options.max_rounds = args.max_rounds;
        if args.system.is_some() {
            composition.composer.base_prompt = None;
        }
        let signals = {
            let _workers = agents.enter();
            Signals::listen()?
        };
        let prepared = tokio::select! {
            prepared = prepare(&args, &composition, source) => prepared.map(Some),
            _ = signals.first() => Ok(None),
        };
        let (ended, remains) = match prepared {
            Ok(Some((live, ask))) => {
                let mut running = Running::of(live, composition.place.cwd());
                // Lua that was being loaded let nobody look.
                let ended = match signals.heard() {
                    Some(exit) => Ended::interrupted(exit),
                    None => running.carry_out(ask, &signals, output).await,
                };
                (ended, running.end().await)
            }
            Ok(None) => (Ended::interrupted(signals.first().await), None),
            Err(failure) => (Ended::early(failure), None),
        };
        signals.turn_is_over();
        // Inside the runtime: a signal must end a write that nobody reads.
        Ok(leave(finish(&ended, output), remains))
    })
}

/// Puts the session together, and says what there is to say about it.
async fn prepare(
    args: &RunArgs,
    composition: &Composition,
    source: PromptSource<io::Stdin>,
) -> Result<(LiveSession, Ask), Failure> {
    let composer = &composition.composer;
    // On the workers, while extensions are found.
    let kept = open_session(args.clone(), composition.place.clone());
    let kept = composer.agents.spawn(kept);
    let found = composition.find();
    let host = composer.host(&found).map_err(ComposeError::from)?;
    let kept = kept
        .await
        .map_err(|error| Failure::new(Exit::TurnFailed, "internal", anyhow::Error::new(error)))??;
    let (builder, provider) = choose(args, &composer.models, kept.origin())?;
    // First: a person without a key need not write a prompt.
    composition.keys.prepare(&provider).await?;
    let ask = to_ask(source.read().await?, args)?;
    let live = LiveSession::start(composer, host, &found, kept, builder).await?;
    Ok((live, ask))
}

/// Decides which model answers, and says what there is to say about it; gives an agent with it,
/// and its provider. `origin` is of the last answer in the session that goes on.
fn choose(
    args: &RunArgs,
    models: &Models,
    origin: Option<&Origin>,
) -> Result<(AgentBuilder, Provider), Failure> {
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
    let mut builder = Agent::builder(chosen.protocol, chosen.model);
    if let Some(file) = &args.system {
        builder = builder.system_prompt(read_system_prompt(file)?);
    }
    Ok((builder, chosen.provider))
}

/// What is asked for, with the prompt that was given, if one was.
fn to_ask(prompt: Option<Prompt>, args: &RunArgs) -> Result<Ask, Failure> {
    match prompt {
        Some(prompt) => Ok(Ask::Prompt(prompt)),
        None if args.continue_latest || args.resume.is_some() => Ok(Ask::GoOn),
        None => Err(Failure::usage("the prompt is empty").with_hint(
            "write it behind -p, or pipe it: panto -p \"…\", or: panto -p < question.txt",
        )),
    }
}

/// Finds and opens the session that the arguments name, if they name one.
async fn open_session(args: RunArgs, place: Place) -> Result<Kept, Failure> {
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
    let (kept, tree) = Kept::open(store, id).await?;
    warn_if_torn(&tree);
    Ok(kept)
}

/// What a session is to do.
pub(crate) enum Ask {
    /// Answer this, or run the command that it is.
    Prompt(Prompt),
    /// Run the command of this name with these arguments.
    Command(String, String),
    /// Go on from its last complete message.
    GoOn,
}

/// A session that is ready for what it is asked.
pub(crate) struct Running {
    /// Its Lua side, if it has one.
    pub(crate) host: Option<Host>,
    pub(crate) handle: SessionHandle,
    /// What keeps its conversation, if anything does.
    pub(crate) store: Option<FileSystemJsonlStore>,
    pub(crate) cwd: PathBuf,
}

impl Running {
    /// A session with its Lua side.
    pub(crate) fn of(live: LiveSession, cwd: &Path) -> Self {
        Self {
            host: Some(live.host),
            handle: live.handle,
            store: live.store,
            cwd: cwd.to_owned(),
        }
    }

    /// Has the session do one thing, to the end, and closes it.
    pub(crate) async fn carry_out(
        &mut self,
        ask: Ask,
        signals: &Signals,
        output: &mut dyn Output,
    ) -> Ended {
        let agent = self.handle.agent();
        let model = agent.config().model;
        let info = RunInfo {
            session_id: agent.session_id(),
            saved: self.store.is_some(),
            model: model.reference.to_string(),
            reasoning: model.reasoning.clone(),
            cwd: self.cwd.clone(),
            tools: agent
                .tools()
                .iter()
                .map(|tool| tool.name.to_string())
                .collect(),
        };
        let mut events = self.handle.events();
        let begun = output.begin(&info);
        signals.watch(&self.handle);
        if begun.is_err() {
            self.handle.interrupt();
        }
        let asked_before = self.handle.asked();
        let said = match ask {
            Ask::Prompt(prompt) => self.say(prompt, signals).await,
            Ask::Command(name, arguments) => {
                let call = Call::new(&name, arguments.trim());
                self.command(call, signals).await
            }
            // Nobody else has the handle, so it is open; what it refuses would show as no outcome.
            Ask::GoOn => {
                let _ = self.handle.command(SessionCommand::Continue);
                Ok(None)
            }
        };
        // One that came before there was a turn.
        signals.watch(&self.handle);
        let command = match said {
            Ok(command) => command,
            Err(failure) => {
                let mut ended = Ended::early(failure);
                ended.result.session_id = Some(info.session_id);
                ended.result.model = Some(info.model);
                self.close().await;
                return ended;
            }
        };
        let shown = command.as_ref().map(|command| output.command(command));
        if let Some(command) = command
            && self.handle.asked() == asked_before
        {
            self.close().await;
            return Ended::command(command, &info, signals.turn_is_over());
        }
        let handle = self.handle.clone();
        let mut run = Run::default();
        match &mut self.host {
            None => {
                let untold = &mut Untold::nothing();
                headless::follow_on(&mut run, &handle, &mut events, output, untold).await;
            }
            // What extensions make of the end belongs to the run, a follow-up too.
            Some(host) => loop {
                host.catch_up().await;
                let untold = &mut host.untold();
                let following = headless::follow_on(&mut run, &handle, &mut events, output, untold);
                if !host.run_until(following).await {
                    break;
                }
            },
        }
        run.output_error = begun
            .err()
            .or(shown.and_then(Result::err))
            .or(run.output_error);
        self.close().await;
        if let Some(host) = &self.host {
            let (spent, _) = host.spent_by_others();
            run.usage.merge(&spent);
        }
        let way_on = match &self.store {
            None => WayOn::NotKept,
            Some(store) if store.path(info.session_id).is_file() => WayOn::Resume(info.session_id),
            Some(_) => WayOn::NotSavedYet,
        };
        // A turn that may not ask again ends behind the results of tools.
        let conversation = self.handle.agent().conversation();
        let last = conversation.last();
        let is_answered = last.is_some_and(|last| last.role == Role::Assistant);
        judge(run, &info, way_on, is_answered, signals.turn_is_over())
    }

    /// Gives the session what a person says; what a command gave, if it was one.
    async fn say(
        &mut self,
        prompt: Prompt,
        signals: &Signals,
    ) -> Result<Option<CommandOutput>, Failure> {
        let host = self.host.as_ref();
        let command = host.and_then(|host| host.command_in(&prompt.text));
        match command {
            Some((name, arguments)) => {
                let mut call = Call::new(&name, &arguments);
                call.behind = prompt.piped.as_deref();
                self.command(call, signals).await
            }
            None => {
                // Nobody else has the handle, so it is open.
                let _ = self.handle.submit(Submission::follow_up(prompt.whole()));
                Ok(None)
            }
        }
    }

    async fn command(
        &mut self,
        call: Call<'_>,
        signals: &Signals,
    ) -> Result<Option<CommandOutput>, Failure> {
        let Some(host) = &mut self.host else {
            return Ok(None);
        };
        tokio::select! {
            ran = host.call(call) => {
                ran.map(Some).map_err(|error| command_failure(&error))
            }
            exit = signals.first() => {
                let message = anyhow::anyhow!("`/{}` was interrupted", call.name);
                Err(Failure::new(exit, "cancelled", message))
            }
        }
    }

    async fn close(&mut self) {
        let closing = self.handle.close();
        match &mut self.host {
            Some(host) => host.run_until(closing).await,
            None => closing.await,
        }
    }

    /// Ends what the session has started. What is left of its Lua side is closed by [`leave`].
    pub(crate) async fn end(self) -> Option<Remains> {
        match self.host {
            Some(host) => Some(host.end(GRACE).await),
            None => None,
        }
    }
}

/// Decides what a run came to.
fn judge(
    run: Run,
    info: &RunInfo,
    way_on: WayOn,
    is_answered: bool,
    signal: Option<Exit>,
) -> Ended {
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
            let (_, failure, exit) = failed(
                "limit",
                match is_answered {
                    true => "the answer was cut where the model's longest ends (`max_output`)",
                    false => "the turn was ended by its limit of requests (`--max-rounds`)",
                },
            );
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
    let is_interrupted = matches!(status, RunStatus::Cancelled) && exit != Exit::Done;
    let note = is_interrupted.then(|| format!("interrupted; {}", way_on.further()));
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
        note,
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
