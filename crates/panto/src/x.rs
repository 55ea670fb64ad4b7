//! `panto x`: what extensions register as slash commands, for scripts.

use clap::CommandFactory;
use panto_host::compose::{ComposeError, GRACE, Kept, LiveSession};
use panto_host::did_you_mean;
use panto_host::host::{CommandOutput, Host};
use panto_host::models::ChoiceRequest;
use pantograph::Agent;
use serde_json::json;
use tokio::runtime::Handle;

use crate::args::{Cli, CommonArgs, Form, OutputFormat, XArgs};
use crate::compose::{Composition, command_failure};
use crate::failure::{Exit, Failure};
use crate::place::{Place, own};
use crate::run::{Ask, Running, finish};
use crate::signals::{Signals, leave};
use crate::streams;

/// Runs a command, or lists them; gives what the process ends with.
///
/// # Errors
///
/// There is no such command, or it failed.
pub(crate) fn run(args: &XArgs, common: &CommonArgs) -> Result<Exit, Failure> {
    let place = Place::find_for(common, &args.host)?;
    own(async |agents: Handle| {
        let composition = Composition::prepare(place, common, &args.host, agents.clone())?;
        let signals = {
            let _workers = agents.enter();
            Signals::listen()?
        };
        let started = tokio::select! {
            started = start(&composition) => started?,
            exit = signals.first() => return Ok(exit),
        };
        // Lua that was being loaded let nobody look.
        if let Some(exit) = signals.heard() {
            return Ok(exit);
        }
        if let Some(name) = args.name() {
            let host = match &started {
                Started::Session(live) => &live.host,
                Started::Alone(host) => host,
            };
            check_short(args.form, bare(name), host)?;
        }
        let mut host = match (started, args.name()) {
            // What it asks of the model is answered here, too.
            (Started::Session(live), Some(name)) if !args.json => {
                let mut output = streams::output(OutputFormat::Text, common.verbose);
                let mut running = Running::of(*live, composition.place.cwd());
                let ask = Ask::Command(bare(name).to_owned(), args.arguments());
                let ended = running.carry_out(ask, &signals, &mut *output).await;
                let remains = running.end().await;
                return Ok(leave(finish(&ended, &mut *output), remains));
            }
            (Started::Session(live), _) => live.host,
            (Started::Alone(host), _) => *host,
        };
        let Some(name) = args.name() else {
            list(&host, args.json)?;
            let remains = host.end(GRACE).await;
            return Ok(leave(Exit::Done, Some(remains)));
        };
        let arguments = args.arguments();
        let ran = tokio::select! {
            ran = host.command(bare(name), arguments.trim()) => ran,
            exit = signals.first() => return Ok(exit),
        };
        let remains = host.end(GRACE).await;
        let output = ran.map_err(|error| command_failure(&error))?;
        if output.prompted {
            return Err(Failure::usage(format!(
                "`/{}` asks the model, which has no data to print",
                bare(name)
            ))
            .with_hint("leave `--json` out, or use panto -p \"/NAME\" -o json"));
        }
        let exit = show(&output, args.json)?;
        Ok(leave(exit, Some(remains)))
    })
}

/// People write the slash, too.
fn bare(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

/// A word that nobody knows may be a built-in command that was mistyped.
fn check_short(form: Form, name: &str, host: &Host) -> Result<(), Failure> {
    let commands = host.commands();
    let registered = || commands.iter().map(|command| command.name.as_str());
    if form == Form::Long || registered().any(|known| known == name) {
        return Ok(());
    }
    let root = Cli::command();
    let session = "session:";
    let (said, near, mut hint) = match (form, root.find_subcommand("session")) {
        (Form::Session, Some(own)) => {
            let short = name.strip_prefix(session).unwrap_or(name);
            let others = registered().filter_map(|known| known.strip_prefix(session));
            let known = own.get_subcommands().map(clap::Command::get_name);
            (
                format!("session {short}"),
                did_you_mean(short, known.chain(others)),
                "`panto session --help` lists what panto does with a session, `panto x` the \
                 commands of extensions"
                    .to_owned(),
            )
        }
        _ => {
            let known = root.get_subcommands().map(clap::Command::get_name);
            (
                name.to_owned(),
                did_you_mean(name, known.chain(registered())),
                "`panto --help` lists panto's own commands, `panto x` those of extensions"
                    .to_owned(),
            )
        }
    };
    if form == Form::Short && near.is_empty() {
        hint.push_str("; a prompt stands behind `-p`, in quotes: panto -p \"…\"");
    }
    let message = format!(
        "there is no `panto {said}`, and no extension registers the command `{name}`{near}"
    );
    Err(Failure::usage(message).with_hint(hint))
}

enum Started {
    /// With a session whose model can be asked.
    Session(Box<LiveSession>),
    /// Many commands need none.
    Alone(Box<Host>),
}

async fn start(composition: &Composition) -> Result<Started, Failure> {
    let composer = &composition.composer;
    let found = composition.find();
    let mut host = composer.host(&found).map_err(ComposeError::from)?;
    let chosen = composer.models.choose(&ChoiceRequest::default());
    if let Ok(chosen) = chosen
        && composition.keys.prepare(&chosen.provider).await.is_ok()
    {
        let kept = composer.store().map_or(Kept::Nowhere, Kept::New);
        let builder = Agent::builder(chosen.protocol, chosen.model);
        let live = LiveSession::start(composer, host, &found, kept, builder).await?;
        return Ok(Started::Session(Box::new(live)));
    }
    host.load(&found.sources).await;
    composer.check_names(&host);
    host.ready();
    Ok(Started::Alone(Box::new(host)))
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
