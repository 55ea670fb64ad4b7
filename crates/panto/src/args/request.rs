//! What a command line asks for, and what of it contradicts itself.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use super::{Cli, Command, CommonArgs, RunArgs};

/// What a command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// `panto -p`.
    Run(RunArgs, CommonArgs),
    /// A subcommand.
    Command(Command, CommonArgs),
}

impl Cli {
    /// Reads the process's arguments.
    ///
    /// # Errors
    ///
    /// A usage error, or text that was asked for: help, the version.
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Request, clap::Error> {
        let cli = Self::try_parse_from(arguments).map_err(explain)?;
        match cli.command {
            Some(command) => match cli.run.first_given() {
                Some(flag) => Err(conflict(&format!(
                    "`{flag}` is about answering a prompt and cannot stand before a command"
                ))),
                None => Ok(Request::Command(command, cli.common)),
            },
            None if cli.run.print.is_some() => Ok(Request::Run(cli.run, cli.common)),
            None => Err(match cli.run.first_given() {
                Some(flag) => conflict(&format!("`{flag}` needs `-p`, with the prompt behind it")),
                None => no_terminal_yet(),
            }),
        }
    }
}

fn no_terminal_yet() -> clap::Error {
    Cli::command().error(
        ErrorKind::MissingSubcommand,
        "the interactive terminal is not there yet\n\n  \
         Ask one thing:       panto -p \"what does this project do?\"\n  \
         Go on with it:       panto -p \"and how is it tested?\" --continue\n  \
         See it without keys: panto demo",
    )
}

fn conflict(message: &str) -> clap::Error {
    Cli::command().error(ErrorKind::ArgumentConflict, message)
}

/// Adds what clap cannot know: a word that is no command is often a prompt in the wrong place.
fn explain(mut error: clap::Error) -> clap::Error {
    let is_word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => !argument.starts_with('-'),
        _ => error.kind() == ErrorKind::InvalidSubcommand,
    };
    let is_unknown = matches!(
        error.kind(),
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument
    );
    if is_unknown && is_word {
        let tip = "a prompt stands directly behind `-p`, in quotes: panto -p \"…\"";
        let tip = clap::builder::StyledStr::from(tip);
        let suggested = match error.remove(ContextKind::Suggested) {
            Some(ContextValue::StyledStrs(mut tips)) => {
                tips.push(tip);
                tips
            }
            _ => vec![tip],
        };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(suggested));
    }
    error
}
