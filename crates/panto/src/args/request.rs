//! What a command line asks for, and what of it contradicts itself.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, Parser};

use super::{Cli, Command, CommonArgs, OutputFormat, RunArgs, prompt, short};

/// What a command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// `panto -p`.
    Run(RunArgs, CommonArgs),
    /// A subcommand.
    Command(Command, CommonArgs),
}

impl Request {
    /// How its answer is to be written, if that can be chosen.
    pub(crate) fn format(&self) -> Option<OutputFormat> {
        match self {
            Request::Run(run, _) => Some(run.output.unwrap_or(OutputFormat::Text)),
            Request::Command(Command::Demo(demo), _) => {
                Some(demo.output.unwrap_or(OutputFormat::Text))
            }
            Request::Command(..) => None,
        }
    }
}

impl Cli {
    /// The output format that a command line asks for although it cannot be read as a whole.
    pub(crate) fn wanted_format(arguments: Vec<OsString>) -> OutputFormat {
        let mut arguments = prompt::bind(arguments);
        loop {
            if let Some(format) = format_before_mistake(&arguments) {
                return format;
            }
            // The parser stops at the first mistake; the format may stand behind it.
            match Self::command().try_get_matches_from(&arguments) {
                Err(error) if drop_unknown(&mut arguments, &error) => {}
                _ => return OutputFormat::Text,
            }
        }
    }

    /// Reads the process's arguments.
    ///
    /// # Errors
    ///
    /// A usage error, or text that was asked for: help, the version.
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Request, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let arguments = prompt::bind(arguments);
        let cli = match Self::try_parse_from(&arguments) {
            Ok(cli) => cli,
            Err(error) => match prompt_at_the_end(&arguments, &error) {
                Some(cli) => cli,
                None => return short::read(&arguments, &error).ok_or(explain(error, &arguments)),
            },
        };
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

/// The output format that stands before the first mistake, if one does.
fn format_before_mistake(arguments: &[OsString]) -> Option<OutputFormat> {
    let command = Cli::command()
        .ignore_errors(true)
        .mut_subcommand("demo", |demo| demo.ignore_errors(true));
    let matches = command.try_get_matches_from(arguments).ok()?;
    let of = |matches: &ArgMatches| {
        let format = matches.try_get_one::<OutputFormat>("output");
        format.ok().flatten().copied()
    };
    of(&matches).or_else(|| of(matches.subcommand_matches("demo")?))
}

/// Drops the word that the parser did not know; false if that was not the mistake.
fn drop_unknown(arguments: &mut Vec<OsString>, error: &clap::Error) -> bool {
    let name = match error.kind() {
        ErrorKind::UnknownArgument => error.get(ContextKind::InvalidArg),
        ErrorKind::InvalidSubcommand => error.get(ContextKind::InvalidSubcommand),
        _ => None,
    };
    let Some(ContextValue::String(name)) = name else {
        return false;
    };
    let is_it = |word: &OsString| {
        let word = word.to_string_lossy();
        let value = word.strip_prefix(name.as_str());
        value.is_some_and(|value| value.is_empty() || value.starts_with('='))
    };
    match arguments.iter().skip(1).position(is_it) {
        Some(at) => {
            arguments.remove(at + 1);
            true
        }
        None => false,
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

/// Takes the last word, which is no command, as the prompt of a bare `-p`.
fn prompt_at_the_end(arguments: &[OsString], error: &clap::Error) -> Option<Cli> {
    let (last, before) = arguments.split_last()?;
    if error.kind() != ErrorKind::InvalidSubcommand || unknown_word(error)? != last.to_str()? {
        return None;
    }
    let mut cli = Cli::try_parse_from(before).ok()?;
    let is_bare = cli.command.is_none() && cli.run.print.as_deref() == Some("");
    is_bare.then(|| {
        cli.run.print = last.to_str().map(str::to_owned);
        cli
    })
}

fn unknown_word(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

/// Adds what clap cannot know: a word that is no command, nor like one, is often a prompt in
/// the wrong place, and one behind another prompt always is.
fn explain(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let lenient = Cli::command().ignore_errors(true);
    let matches = lenient.try_get_matches_from(arguments);
    let in_command = |matches: &ArgMatches| matches.subcommand_name().is_some();
    let has_prompt = |matches: &ArgMatches| matches.contains_id("print");
    let is_like_a_command = error.get(ContextKind::SuggestedSubcommand).is_some();
    let fits = matches
        .is_ok_and(|matches| !in_command(&matches) && (has_prompt(&matches) || !is_like_a_command));
    if fits {
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = "a prompt stands behind `-p`, in quotes: panto -p \"…\"";
        let tip = clap::builder::StyledStr::from(tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}
