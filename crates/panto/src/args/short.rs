//! The short form of `panto x`: `panto NAME`, and `panto session NAME`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use panto_host::host::is_command_name;

use super::{Cli, Command, CommonArgs, Form, Request, RunArgs, XArgs};

/// The command of an extension that a command line asks for, if `error` is that panto has none
/// of that name, and the word can name one.
pub(super) fn read(arguments: &[OsString], error: &clap::Error) -> Option<Request> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let lenient = Cli::command()
        .allow_external_subcommands(true)
        .mut_subcommand("session", |session| {
            session.allow_external_subcommands(true)
        });
    let matches = lenient.try_get_matches_from(arguments).ok()?;
    let (form, name, matches_behind) = match matches.subcommand()? {
        ("session", session) => {
            let (name, behind) = session.subcommand()?;
            (Form::Session, format!("session:{name}"), behind)
        }
        (name, behind) => (Form::Short, name.to_owned(), behind),
    };
    // A built-in command of that name would have been read before.
    let words = matches_behind.try_get_many::<OsString>("").ok()?;
    let words = words.into_iter().flatten();
    let words: Option<Vec<String>> = words.map(|word| Some(word.to_str()?.to_owned())).collect();
    let run = RunArgs::from_arg_matches(&matches).ok()?;
    let common = CommonArgs::from_arg_matches(&matches).ok()?;
    let bare = name.strip_prefix('/').unwrap_or(&name);
    if run.first_of_prompt().is_some() || !is_command_name(bare) {
        return None;
    }
    let mut arguments = words?;
    let json = take_json(&mut arguments);
    // What is left behind it is the command's own, also a further `--`.
    arguments.splice(0..0, [name, "--".to_owned()]);
    let command = XArgs {
        words: arguments,
        json,
        host: run.host,
        form,
    };
    Some(Request::Command(Command::X(command), common))
}

/// Takes the flag from where it may stand: everything between is the command's own, and all
/// that follows `--`, as in the long form.
fn take_json(arguments: &mut Vec<String>) -> bool {
    let first = arguments.first().map(String::as_str);
    if first == Some("--") {
        arguments.remove(0);
        false
    } else if first == Some("--json") {
        arguments.remove(0);
        true
    } else if arguments.last().is_some_and(|word| word == "--json") {
        arguments.pop();
        true
    } else {
        false
    }
}
