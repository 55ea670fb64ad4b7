//! `panto x`: what extensions register as slash commands, for scripts.

use std::sync::Arc;

use panto_host::host::{CommandOutput, Host, NobodyToAsk};
use panto_host::models::ChoiceRequest;
use pantograph::{Agent, AgentOptions};
use serde_json::json;
use tokio::runtime::Handle;

use crate::args::{CommonArgs, OutputFormat, XArgs};
use crate::compose::{Composition, command_failure};
use crate::failure::{Exit, Failure};
use crate::place::own;
use crate::run::{Ask, GRACE, Kept, Live, begin, finish};
use crate::signals::Signals;
use crate::streams;

/// Runs a command, or lists them; gives what the process ends with.
///
/// # Errors
///
/// There is no such command, or it failed.
pub(crate) fn run(args: &XArgs, common: &CommonArgs) -> Result<Exit, Failure> {
    let composition = Composition::prepare(common, &args.host)?;
    own(async |agents: Handle| {
        let signals = {
            let _workers = agents.enter();
            Signals::listen()?
        };
        let options = AgentOptions::default();
        let prompt = Some(composition.prompt());
        let (mut host, sources) =
            composition.open(agents.clone(), options, Arc::new(NobodyToAsk), prompt)?;
        let loaded = async {
            let session = session(&composition, &agents, &mut host).await;
            host.load(&sources).await;
            composition.late.find(|name| host.protocol(name));
            host.ready();
            session
        };
        let session = tokio::select! {
            session = loaded => session,
            exit = signals.first() => return Ok(exit),
        };
        let Some(name) = &args.name else {
            list(&host, args.json)?;
            host.end(GRACE).await;
            return Ok(Exit::Done);
        };
        let name = name.strip_prefix('/').unwrap_or(name);
        let arguments = args.arguments.join(" ");
        let prompt = format!("/{name} {arguments}");
        match session {
            // What it asks of the model is answered here, too.
            Some((handle, store)) if host.command_in(&prompt).is_some() && !args.json => {
                let mut output = streams::output(OutputFormat::Text, common.verbose);
                let mut live = Live {
                    host: Some(host),
                    handle,
                    store,
                    cwd: composition.place.cwd().to_owned(),
                };
                let ended = live
                    .carry_out(Ask::Prompt(prompt), &signals, &mut *output)
                    .await;
                live.end().await;
                Ok(finish(&ended, &mut *output))
            }
            _ => {
                let ran = tokio::select! {
                    ran = host.command(name, arguments.trim()) => ran,
                    exit = signals.first() => return Ok(exit),
                };
                host.end(GRACE).await;
                let output = ran.map_err(|error| command_failure(&error))?;
                show(&output, args.json)
            }
        }
    })
}

type Session = (
    panto_host::session::SessionHandle,
    Option<pantograph::session::FileSystemJsonlStore>,
);

/// A session for the command, if a model can be asked: many commands need none.
async fn session(composition: &Composition, agents: &Handle, host: &mut Host) -> Option<Session> {
    let chosen = composition.models.choose(&ChoiceRequest::default()).ok()?;
    composition.keys.prepare(&chosen.provider).await.ok()?;
    let builder = Agent::builder(chosen.protocol, chosen.model);
    let kept = match composition.place.store() {
        Ok(store) => Kept::New(store),
        Err(_) => Kept::Nowhere,
    };
    begin(composition, agents, host, kept, builder).await.ok()
}

fn show(output: &CommandOutput, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        streams::print_json(&output.data)?;
    } else if let Some(text) = &output.text {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        streams::print_text(&format!("{text}{end}"))?;
    }
    Ok(match output.exit_code {
        0 => Exit::Done,
        code => Exit::Command(code),
    })
}

fn list(host: &Host, as_json: bool) -> Result<(), Failure> {
    let commands = host.commands();
    if as_json {
        let list: Vec<_> = commands
            .iter()
            .map(|command| {
                json!({
                    "name": command.name,
                    "description": command.description,
                    "source": command.source,
                })
            })
            .collect();
        return streams::print_json(&list);
    }
    let width = commands
        .iter()
        .map(|command| command.name.chars().count())
        .max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for command in &commands {
        let first = command.description.lines().next().unwrap_or_default();
        text.push_str(&format!("{:width$}  {first}\n", command.name));
    }
    if text.is_empty() {
        streams::note("no extension registers a command");
    }
    streams::print_text(&text)
}
