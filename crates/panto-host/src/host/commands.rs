//! Slash commands: registered by extensions, run by whoever shows the session.

use std::path::PathBuf;
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Value};
use panto_lua::{Args, Reply, values};
use panto_runtime::Failure;

use super::Host;
use super::events::Event;
use super::shared::{Owner, Shared};
use crate::extensions::{Diagnostic, LayerName};
use crate::nearest::did_you_mean;
use crate::session::SessionRefusal;

/// A registered command.
pub(super) struct Command {
    pub(super) owner: Owner,
    pub(super) description: String,
    handler: Function,
    /// Whether it makes room for any other of its name.
    is_fallback: bool,
    layer: Option<LayerName>,
    /// Where it is written, if its extension says so.
    file: Option<PathBuf>,
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

/// A command that is to run.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Its name, without the slash.
    pub name: &'a str,
    /// What stands behind the name.
    pub arguments: &'a str,
    /// What follows the prompt that it gives, if it gives one. The command does not see it.
    pub behind: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// One with nothing behind its prompt.
    pub fn new(name: &'a str, arguments: &'a str) -> Self {
        Self {
            name,
            arguments,
            behind: None,
        }
    }
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

/// `register_command{ name, description, handler, fallback?, file? }`: gives whether the command
/// counts.
pub(super) fn register(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let options = args.options(&["name", "description", "handler", "fallback", "file"])?;
    let argument = options.get("name")?;
    let name = argument.text()?;
    if !is_command_name(&name) {
        return Err(argument.wrong(
            "a name has letters, digits, `-`, `_`, `.` and `:`, and begins with a letter or digit",
        ));
    }
    let owner = shared.acting(owner);
    let command = Rc::new(Command {
        layer: shared.layers.borrow().get(&*owner).copied(),
        owner,
        description: options.get("description")?.text()?,
        handler: options.get("handler")?.function()?.clone(),
        is_fallback: match options.given("fallback")? {
            Some(flag) => flag.boolean()?,
            None => false,
        },
        file: match options.given("file")? {
            Some(file) => Some(file.text()?.into()),
            None => None,
        },
    });
    let counts = shared.add_command(&name, command);
    values(lua, counts)
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
    shared.module.json().mark(&list)?;
    values(lua, list)
}

fn not_counting(name: &str, lost: &Command, counting: &Command) -> Diagnostic {
    let of = match &counting.file {
        Some(file) => format!("`{}`", file.display()),
        None => format!("the extension `{}`", counting.owner),
    };
    let message = format!("this `/{name}` is not used: {of} has a command of that name");
    let is_overridden = lost.is_fallback == counting.is_fallback && lost.layer < counting.layer;
    let diagnostic = match is_overridden {
        true => Diagnostic::info(message),
        false => Diagnostic::warning(message),
    };
    match &lost.file {
        Some(file) => diagnostic.at(file),
        None => diagnostic.of(&*lost.owner),
    }
}

/// Whether a command can have the name.
pub fn is_command_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphanumeric())
        && name.len() <= 128
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.:".contains(c))
}

impl Command {
    /// Of two with one name, the greater counts.
    fn precedence(&self) -> (bool, Option<LayerName>) {
        (!self.is_fallback, self.layer)
    }
}

impl Shared {
    /// Gives whether the command counts: others of its name may have a higher precedence. Those
    /// that do not count are kept, since the one that counts may be taken back.
    fn add_command(&self, name: &str, command: Rc<Command>) -> bool {
        let mut commands = self.commands.borrow_mut();
        let all = commands.entry(name.to_owned()).or_default();
        let previous: Vec<_> = all
            .extract_if(.., |other| other.owner == command.owner)
            .collect();
        // Of equals, the first counts.
        let at = all.partition_point(|other| other.precedence() < command.precedence());
        all.insert(at, Rc::clone(&command));
        let counting = all.last().cloned();
        let beaten = all.len().checked_sub(2).and_then(|at| all.get(at)).cloned();
        drop(commands);
        let counts = counting
            .as_ref()
            .is_some_and(|counting| Rc::ptr_eq(counting, &command));
        let lost = if counts { beaten } else { Some(command) };
        if let (Some(counting), Some(lost), true) = (counting, lost, previous.is_empty()) {
            self.say(not_counting(name, &lost, &counting));
        }
        counts
    }

    /// The command that counts.
    fn find_command(&self, name: &str) -> Option<Rc<Command>> {
        self.commands.borrow().get(name)?.last().cloned()
    }

    /// Gives whether the owner had registered it.
    pub(super) fn remove_command(&self, owner: &Owner, name: &str) -> bool {
        let mut commands = self.commands.borrow_mut();
        let Some(all) = commands.get_mut(name) else {
            return false;
        };
        let removed: Vec<_> = all.extract_if(.., |it| it.owner == *owner).collect();
        if all.is_empty() {
            commands.remove(name);
        }
        drop(commands);
        !removed.is_empty()
    }

    pub(super) fn command_infos(&self) -> Vec<CommandInfo> {
        let commands = self.commands.borrow();
        let counting = commands
            .iter()
            .filter_map(|(name, all)| Some((name, all.last()?)));
        let infos = counting.map(|(name, command)| CommandInfo {
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
        let is_known = self.shared.find_command(name).is_some();
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
        self.call(Call::new(name, arguments)).await
    }

    /// The same, with more than a name and arguments.
    ///
    /// # Errors
    ///
    /// [`RunCommandError`].
    pub async fn call(&mut self, call: Call<'_>) -> Result<CommandOutput, RunCommandError> {
        let Call {
            name,
            arguments,
            behind,
        } = call;
        let shared = Rc::clone(&self.shared);
        let Some(command) = shared.find_command(name) else {
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
            match behind {
                Some(behind) => shared.submit_prompt(&format!("{prompt}\n\n{behind}"))?,
                None => shared.submit_prompt(&prompt)?,
            }
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
