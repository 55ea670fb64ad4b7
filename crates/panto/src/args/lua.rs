//! The arguments of `panto lua`, which are those of the reference's program `lua`.

use std::ffi::OsString;

use clap::{ArgMatches, Args, Command, FromArgMatches};

/// What `panto lua` is asked for.
#[derive(Debug)]
pub(crate) struct LuaArgs {
    /// What to run before the script, in this order.
    pub(crate) before: Vec<Before>,
    /// Whether to print the version.
    pub(crate) version: bool,
    /// Whether to print where the headers for modules in C are.
    pub(crate) headers: bool,
    /// Whether to leave Lua's own variables out of account.
    pub(crate) without_variables: bool,
    /// The script, or `-`, and its arguments.
    pub(crate) script: Vec<OsString>,
}

/// What runs before the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    Chunk(OsString),
    Library(OsString),
}

#[derive(Debug, Args)]
#[command(
    override_usage = "panto lua [OPTIONS] [FILE [ARGS]...]",
    after_help = "\
Examples:
  panto lua -e 'print(_VERSION)'
  panto lua script.lua one two
  echo 'print(#arg)' | panto lua - one two

require(\"luv\") and require(\"panto\") are there; nothing runs the loop but uv.run().
LUA_INIT, LUA_PATH and LUA_CPATH are heeded. docs/lua.md says more."
)]
struct Flags {
    /// Run CHUNK; may be given several times
    #[arg(short = 'e', value_name = "CHUNK", allow_hyphen_values = true)]
    chunk: Vec<OsString>,

    /// Require MODULE into the global of its name, or into NAME with NAME=MODULE
    #[arg(short = 'l', value_name = "MODULE")]
    library: Vec<OsString>,

    // Under the name of the flag of all commands, whose letter it takes.
    /// Print the version of Lua
    #[arg(id = "verbose", short = 'v')]
    version: bool,

    /// Print the directory of Lua's headers, for modules in C
    #[arg(long)]
    headers: bool,

    /// Ignore LUA_INIT, LUA_PATH and LUA_CPATH
    #[arg(short = 'E')]
    without_variables: bool,

    /// The file to run, or `-` for standard input; what follows is its own
    #[arg(value_name = "FILE", trailing_var_arg = true)]
    script: Vec<OsString>,
}

impl Args for LuaArgs {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for LuaArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let flags = Flags::from_arg_matches(matches)?;
        // Only the matches know in which order the two came.
        let places = |name| matches.indices_of(name).into_iter().flatten();
        let chunks = flags.chunk.into_iter().map(Before::Chunk);
        let libraries = flags.library.into_iter().map(Before::Library);
        let mut before: Vec<(usize, Before)> = places("chunk").zip(chunks).collect();
        before.extend(places("library").zip(libraries));
        before.sort_by_key(|(place, _)| *place);
        Ok(Self {
            before: before.into_iter().map(|(_, before)| before).collect(),
            version: flags.version,
            headers: flags.headers,
            without_variables: flags.without_variables,
            script: flags.script,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command as Commands};

    fn read(words: &[&str]) -> LuaArgs {
        let words = ["panto", "lua"].iter().chain(words);
        match Cli::try_parse_from(words).unwrap().command {
            Some(Commands::Lua(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_runs_before_the_script_keeps_its_order() {
        let args = read(&["-e", "a", "-l", "b", "-ec", "-e", "-d", "file"]);
        let chunk = |text: &str| Before::Chunk(text.into());
        let library = Before::Library("b".into());
        assert_eq!(args.before, [chunk("a"), library, chunk("c"), chunk("-d")]);
        assert_eq!(args.script, ["file"]);
    }

    #[test]
    fn everything_behind_the_script_is_its_own() {
        let words = ["file", "-e", "x", "-v", "--cwd", "/", "--", "-h"];
        let args = read(&words);
        assert_eq!(args.script, words);
        assert!(args.before.is_empty() && !args.version);
        assert_eq!(read(&["-", "-v"]).script, ["-", "-v"]);
        assert!(read(&["-v"]).version);
    }
}
