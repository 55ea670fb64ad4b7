//! Slash commands: registered by extensions, run by whoever shows the session.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Value};
use panto_lua::{Args, Fault, Reply, values};
use panto_runtime::Failure;

use super::Host;
use super::events::Event;
use super::shared::{Owner, Shared};
use crate::nearest::did_you_mean;
use crate::session::SessionRefusal;

/// A registered command.
pub(super) struct Command {
    pub(super) owner: Owner,
    pub(super) description: String,
    handler: Function,
}

/// A command, as front ends list it. Text is from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// What stands behind the `/`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The extension that registered it.
    pub source: String,
}

/// What a command gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandOutput {
    /// For people.
    pub text: Option<String>,
    /// For programs.
    pub data: Option<serde_json::Value>,
    /// What a process that ran only the command ends with.
    pub exit_code: u8,
    /// What is submitted as the person's prompt; the host has done that.
    pub prompted: bool,
}

/// Why a command gave nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunCommandError {
    /// There is none of that name.
    #[error("there is no command `/{name}`{near}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, as the end of a sentence.
        near: String,
    },
    /// It raised an error.
    #[error("{0}")]
    Failed(Failure),
    /// It gave nil and what went wrong.
    #[error("the command `/{name}` failed: {wrong}")]
    Gave {
        /// The command.
        name: String,
        /// What went wrong. Its text is from outside.
        wrong: String,
    },
    /// It returned something that is no output.
    #[error("the command `/{name}` returned {wrong}")]
    Output {
        /// The command.
        name: String,
        /// What is wrong with it.
        wrong: String,
    },
    /// The session takes nothing more.
    #[error(transparent)]
    Refused(SessionRefusal),
}

/// `register_command{ name, description, handler }`.
pub(super) fn register(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let options = args.options(&["name", "description", "handler"])?;
    let argument = options.get("name")?;
    let name = argument.text()?;
    if !is_command_name(&name) {
        return Err(argument.wrong(
            "a name has letters, digits, `-`, `_`, `.` and `:`, and begins with a letter or digit",
        ));
    }
    let owner = shared.acting(owner);
    let command = Command {
        owner: Rc::clone(&owner),
        description: options.get("description")?.text()?,
        handler: options.get("handler")?.function()?.clone(),
    };
    let mut commands = shared.commands.borrow_mut();
    if let Some(other) = commands.get(&name).filter(|other| other.owner != owner) {
        return Err(Fault::misuse(format!(
            "the command `{name}` is registered by `{}` already, so `{owner}` cannot register it",
            other.owner
        )));
    }
    let previous = commands.insert(name, Rc::new(command));
    drop(commands);
    drop(previous);
    values(lua, ())
}

/// `commands()`: a list of `{ name, description, source }`.
pub(super) fn list(shared: &Rc<Shared>, _: &Owner, lua: &Lua, _: Args) -> Reply {
    let list = lua.create_table()?;
    for info in shared.command_infos() {
        let entry = lua.create_table()?;
        entry.raw_set("name", info.name)?;
        entry.raw_set("description", info.description)?;
        entry.raw_set("source", info.source)?;
        list.raw_push(entry)?;
    }
    values(lua, list)
}

/// Whether a command can have the name.
pub fn is_command_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphanumeric())
        && name.len() <= 128
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.:".contains(c))
}

impl Shared {
    pub(super) fn command_infos(&self) -> Vec<CommandInfo> {
        let commands = self.commands.borrow();
        let infos = commands.iter().map(|(name, command)| CommandInfo {
            name: name.clone(),
            description: command.description.clone(),
            source: command.owner.to_string(),
        });
        infos.collect()
    }

    fn read_output(&self, name: &str, returned: &MultiValue) -> Result<Returned, RunCommandError> {
        let wrong = |wrong: &str| RunCommandError::Output {
            name: name.to_owned(),
            wrong: wrong.to_owned(),
        };
        let mut output = CommandOutput::default();
        let mut prompt = None;
        if let (Some(Value::Nil), Some(Value::String(wrong))) = (returned.front(), returned.get(1))
        {
            return Err(RunCommandError::Gave {
                name: name.to_owned(),
                wrong: wrong.to_string_lossy(),
            });
        }
        match returned.front() {
            Some(Value::String(text)) => output.text = Some(text.to_string_lossy()),
            Some(Value::Table(table)) => {
                let text = |key: &str| match table.raw_get(key) {
                    Ok(Value::Nil) => Ok(None),
                    Ok(Value::String(text)) => Ok(Some(text.to_string_lossy())),
                    _ => Err(wrong(&format!("a `{key}` that is no text"))),
                };
                output.text = text("text")?;
                prompt = text("prompt")?;
                output.data = match table.raw_get("data") {
                    Ok(Value::Nil) | Err(_) => None,
                    Ok(data) => {
                        let no_json =
                            |error: String| wrong(&format!("a `data` that is no JSON: {error}"));
                        let json = self.module.json().encode(&data);
                        let json = json.map_err(|error| no_json(error.to_string()))?;
                        Some(
                            serde_json::from_str(&json)
                                .map_err(|error| no_json(error.to_string()))?,
                        )
                    }
                };
                output.exit_code = match table.raw_get("exit_code") {
                    Ok(Value::Nil) => 0,
                    Ok(Value::Integer(code)) if u8::try_from(code).is_ok() => code as u8,
                    _ => return Err(wrong("an `exit_code` that is no number from 0 to 255")),
                };
            }
            _ => {}
        }
        Ok(Returned { output, prompt })
    }
}

struct Returned {
    output: CommandOutput,
    prompt: Option<String>,
}

impl Host {
    /// The commands, by name.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.shared.command_infos()
    }

    /// The command and its arguments that a prompt is, if one of that name is registered.
    pub fn command_in(&self, prompt: &str) -> Option<(String, String)> {
        let rest = prompt.strip_prefix('/')?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_known = self.shared.commands.borrow().contains_key(name);
        is_known.then(|| (name.to_owned(), arguments.trim().to_owned()))
    }

    /// Runs a command. It may wait; dropping the future closes it.
    ///
    /// A `prompt` that it returns is submitted as the person's.
    ///
    /// # Errors
    ///
    /// [`RunCommandError`].
    pub async fn command(
        &mut self,
        name: &str,
        arguments: &str,
    ) -> Result<CommandOutput, RunCommandError> {
        let shared = Rc::clone(&self.shared);
        let command = shared.commands.borrow().get(name).cloned();
        let Some(command) = command else {
            let infos = shared.command_infos();
            let near = did_you_mean(name, infos.iter().map(|info| info.name.as_str()));
            return Err(RunCommandError::Unknown {
                name: name.to_owned(),
                near,
            });
        };
        shared.fire_command("command_start", name, arguments);
        let what = format!("the command `/{name}`");
        let ran = match shared
            .handle
            .drive(&what, command.handler.clone(), arguments)
        {
            Ok(drive) => self.run_until(drive).await,
            Err(failure) => Err(failure),
        };
        shared.fire_command("command_end", name, arguments);
        let returned = ran.map_err(RunCommandError::Failed)?;
        let Returned { mut output, prompt } = shared.read_output(name, &returned)?;
        if let Some(prompt) = prompt {
            shared.submit_prompt(&prompt)?;
            output.prompted = true;
        }
        Ok(output)
    }
}

impl Shared {
    fn fire_command(&self, event: &'static str, command: &str, arguments: &str) {
        let fields = self.lua.create_table().and_then(|fields| {
            fields.raw_set("command", command)?;
            fields.raw_set("args", arguments)?;
            Ok(fields)
        });
        if let Ok(fields) = fields {
            self.fire(Event::notification(event, fields));
        }
    }
}
