//! The command line: what can be said.

mod extension;
mod host;
mod lua;
mod prompt;
mod request;
mod short;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use extension::{ExtensionCommand, ListArgs};
pub(crate) use host::HostArgs;
pub(crate) use lua::{Before, LuaArgs};
pub(crate) use request::Request;

/// A terminal coding agent that its users extend in Lua.
#[derive(Debug, Parser)]
#[command(
    name = "panto",
    version,
    max_term_width = 100,
    after_help = "Run `panto --help` for examples, exit codes and environment variables.",
    after_long_help = AFTER_HELP
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Examples:
  panto -p \"why does the build fail?\"
  git diff | panto -p \"review this\"
  panto -p --continue < question.txt
  panto -p \"list the todos\" --output json | jq -r .text
  panto login anthropic
  panto -p \"hello\" --base-url http://127.0.0.1:8080/v1 --model qwen3
  panto models opus
  panto sessions
  panto trust
  panto extension list
  panto NAME ARGS       a command that an extension registers, as `panto x NAME ARGS`
  panto doctor
  panto lua script.lua
  panto demo

Exit codes:
  0    done (also: the reader of the output closed it)
  1    the turn failed, was cut by a limit, or the model answered with nothing
  2    usage or configuration; a session that is unknown, corrupt or in use
  3    the provider refused the credentials
  130  interrupted (Ctrl+C); 143 if terminated, 129 if the terminal is gone

Environment:
  PANTO_SESSION_DIR  where sessions lie [${XDG_DATA_HOME:-~/.local/share}/panto/sessions]
  XDG_CONFIG_HOME    where panto/config.toml lies [~/.config]
  XDG_DATA_HOME      where panto keeps its data [~/.local/share]
  LUA_PATH, LUA_CPATH, LUA_INIT  what `panto lua` makes of them is in docs/lua.md
  PANTO_LOG          what to log to standard error, such as `debug` or `pantograph=trace`";

/// Answering one prompt without a screen.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// Answer PROMPT and exit
    ///
    /// Without PROMPT it is read from standard input. With both, what comes from standard input
    /// follows the prompt.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "", help_heading = HEADING)]
    pub(crate) print: Option<String>,

    /// Ask this model: `provider:alias`, or a part of it that only one model has
    ///
    /// Without it the model of the session that is gone on with answers, else `model` of a
    /// configuration file, else the first provider that has a key. `panto models` lists what
    /// there is.
    #[arg(long, value_name = "MODEL", help_heading = HEADING)]
    pub(crate) model: Option<String>,

    /// Reach the model of `--model`, or of the session, at this URL
    ///
    /// A model without a provider is then asked as servers on one's own machine are: over Chat
    /// Completions, without a key.
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    pub(crate) base_url: Option<String>,

    /// Reason so much: off, minimal, low, medium, high, xhigh or max, or a level of an extension's
    /// protocol
    #[arg(long, value_name = "LABEL", help_heading = HEADING)]
    pub(crate) reasoning: Option<String>,

    /// Take the system prompt from a file
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) system: Option<PathBuf>,

    /// Go on with the latest session of the directory
    #[arg(short, long = "continue", conflicts_with = "resume", help_heading = HEADING)]
    pub(crate) continue_latest: bool,

    /// Go on with the session of this id, or of the only id that begins so
    #[arg(short, long, value_name = "ID", help_heading = HEADING)]
    pub(crate) resume: Option<String>,

    /// Keep nothing of the conversation
    #[arg(long, conflicts_with_all = ["continue_latest", "resume"], help_heading = HEADING)]
    pub(crate) no_session: bool,

    /// How to write the answer [default: text]
    #[arg(short, long, value_name = "FORMAT", help_heading = HEADING)]
    pub(crate) output: Option<OutputFormat>,

    /// Ask the model at most so often in one turn; more ends it with exit code 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = HEADING)]
    pub(crate) max_rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) host: HostArgs,
}

const HEADING: &str = "Answering one prompt";

impl RunArgs {
    /// The first flag that makes sense only with `--print`, if one was given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        self.first_of_prompt().or(self.host.first_given())
    }

    /// The same without those that choose extensions and tools.
    fn first_of_prompt(&self) -> Option<&'static str> {
        let given = [
            (self.print.is_some(), "--print"),
            (self.model.is_some(), "--model"),
            (self.base_url.is_some(), "--base-url"),
            (self.reasoning.is_some(), "--reasoning"),
            (self.system.is_some(), "--system"),
            (self.continue_latest, "--continue"),
            (self.resume.is_some(), "--resume"),
            (self.no_session, "--no-session"),
            (self.output.is_some(), "--output"),
            (self.max_rounds.is_some(), "--max-rounds"),
        ];
        given
            .into_iter()
            .find(|(given, _)| *given)
            .map(|(_, name)| name)
    }
}

/// What holds for every command.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Work in this directory
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,

    /// Read this configuration file instead of the user's
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,

    /// Tell on standard error about tools, usage and the session
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The text of the answer
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object a line, for each event; docs/stream-json.md describes them
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Store a provider's key, read without showing it
    Login(LoginArgs),
    /// Remove a provider's stored key
    Logout(LogoutArgs),
    /// List the models that can be asked
    Models(ModelsArgs),
    /// List the sessions of the directory, latest first
    Sessions(SessionsArgs),
    /// Show, export or repair one session
    #[command(
        subcommand,
        after_help = "Another NAME is the command `session:NAME`, if an extension registers it."
    )]
    Session(SessionCommand),
    /// Run a command that an extension registers, or list them
    ///
    /// `panto NAME` is the same, unless panto itself has a command of that name.
    X(XArgs),
    /// List extensions; install, update and remove rocks that bring some
    #[command(subcommand)]
    Extension(ExtensionCommand),
    /// Trust a project: its extensions, skills and settings count from now on
    Trust(TrustArgs),
    /// Say what is configured, what is found, and what is wrong with it
    Doctor(DoctorArgs),
    /// Run Lua, as extensions have it: a script, chunks, or standard input
    Lua(LuaArgs),
    /// Show an agent that hands work to children: no key, no network, no configuration
    Demo(DemoArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
The key is asked for, or taken from the first line of standard input if that is no terminal:
  panto login anthropic
  pass show anthropic | panto login anthropic

It is kept in ${XDG_DATA_HOME:-~/.local/share}/panto/auth/credentials.json, for you alone.")]
pub(crate) struct LoginArgs {
    /// The provider's name, such as `anthropic`
    pub(crate) provider: String,
    // A key that stands here is refused by the command itself: clap would repeat it.
    #[arg(hide = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The provider's name
    pub(crate) provider: String,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// List only models with all of these words in their reference or name
    pub(crate) query: Vec<String>,
    /// List the models of providers without a key too
    #[arg(long)]
    pub(crate) all: bool,
    /// Print a JSON array of all models
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// List at most so many [default: 20; all with --json]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("not a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[derive(Debug, Args)]
pub(crate) struct XArgs {
    /// The command's name, without its slash, and its own arguments; without it they are listed
    // One list: what stands behind its first word is never read as a flag.
    #[arg(value_name = "NAME [ARGUMENTS]", trailing_var_arg = true)]
    pub(crate) words: Vec<String>,
    /// Print the command's data as JSON, or the list
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[arg(skip)]
    pub(crate) form: Form,
}

impl XArgs {
    /// The command's name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    /// What stands behind the name, and behind a `--` there.
    pub(crate) fn arguments(&self) -> String {
        let behind = self.words.get(1..).unwrap_or_default();
        let own = match behind.split_first() {
            Some((first, rest)) if first == "--" => rest,
            _ => behind,
        };
        own.join(" ")
    }
}

/// How a command of an extension was called for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// `panto x NAME`.
    #[default]
    Long,
    /// `panto NAME`.
    Short,
    /// `panto session NAME`, which is the command `session:NAME`.
    Session,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The project, or a directory in it [default: the working directory's]
    pub(crate) path: Option<PathBuf>,
    /// List the projects that are trusted
    #[arg(long, conflicts_with_all = ["path", "revoke"])]
    pub(crate) list: bool,
    /// Trust the project no more
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How to write the conversation [default: text]
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) output: Option<OutputFormat>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Print the conversation, readable
    Show {
        /// The session's id, or the beginning of it
        id: String,
    },
    /// Write the conversation in a format for other programs
    Export {
        /// The session's id, or the beginning of it
        id: String,
        /// The format
        #[arg(long, value_name = "FORMAT", default_value = "md")]
        format: ExportFormat,
    },
    /// Examine a session's file, and say what is wrong with it
    Doctor {
        /// The session's id, or the beginning of it
        id: String,
        /// Write what can be saved into the session's file, and keep the old one beside it
        #[arg(long)]
        repair: bool,
    },
}

/// What a session is exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown
    Md,
    /// One JSON object: the session and its messages
    Json,
    /// The session's file as it is
    Jsonl,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    /// `docs/cli.md` names every command, flag and choice.
    #[test]
    fn the_page_names_everything() {
        let page = include_str!("../../../docs/cli.md");
        let mut missing = Vec::new();
        check(&Cli::command(), "panto", page, &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }

    fn check(command: &clap::Command, path: &str, page: &str, missing: &mut Vec<String>) {
        let mut need = |word: String| {
            if !page.contains(&word) {
                missing.push(format!("{path}: {word}"));
            }
        };
        need(format!("`{path}"));
        for argument in command.get_arguments() {
            if let Some(long) = argument.get_long() {
                need(format!("--{long}"));
            }
            if let Some(short) = argument.get_short() {
                need(format!("-{short}"));
            }
            let is_flag = !argument.get_action().takes_values();
            for value in argument.get_possible_values().iter().filter(|_| !is_flag) {
                need(format!("`{}`", value.get_name()));
            }
        }
        for sub in command.get_subcommands() {
            check(sub, &format!("{path} {}", sub.get_name()), page, missing);
        }
    }
}
