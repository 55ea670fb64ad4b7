//! `panto lua`: the embedded interpreter, as the reference's program `lua`.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{PathBuf, absolute};

use panto_host::headless::sanitize;
use panto_host::rocks::{RocksTree, stage_headers};
use panto_runtime::standalone::{Failure as LuaFailure, Options, Standalone, Step};

use crate::args::{Before, CommonArgs, LuaArgs};
use crate::failure::{Exit, Failure};
use crate::place::{Place, Workers, runtime};
use crate::streams;

/// Runs what the arguments say; gives what the process ends with.
pub(crate) fn run(args: LuaArgs, common: &CommonArgs) -> Exit {
    match prepared(args, common) {
        Ok(Some(run)) => run.perform(),
        Ok(None) => Exit::Done,
        Err(failure) => streams::report(&failure),
    }
}

/// Prints where the headers are, once they are there.
fn print_headers(place: &Place) -> Result<(), Failure> {
    let data_home = place.dirs.data_home().map_err(Failure::config)?;
    let include = stage_headers(data_home)
        .map_err(|error| Failure::new(Exit::TurnFailed, "internal", error))?;
    let mut line = include.into_os_string().into_encoded_bytes();
    line.push(b'\n');
    streams::print_file(&line)
}

/// Everything that is to be done.
struct Run {
    options: Options,
    /// The command line, and the place in it of the script.
    words: Vec<OsString>,
    zero: usize,
    steps: Vec<Step>,
}

fn prepared(args: LuaArgs, common: &CommonArgs) -> Result<Option<Run>, Failure> {
    if args.version {
        streams::print_text(&format!(
            "Lua {}, in panto {}\n",
            panto_runtime::LUA_RELEASE,
            env!("CARGO_PKG_VERSION")
        ))?;
    }
    if args.headers {
        print_headers(&Place::find(common)?)?;
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    let zero = place_of_script(&words, args.script.len());
    let script = match args.script.first() {
        Some(word) if word == "-" => Some(Step::StandardInput),
        Some(word) => {
            if common.cwd.is_some() {
                // Relative to where the person is, whatever `--cwd` says.
                words[zero] = absolute(word).map_err(Failure::usage)?.into();
            }
            Some(Step::Script(PathBuf::from(&words[zero])))
        }
        None => None,
    };
    let nothing_else = args.before.is_empty() && !args.version && !args.headers;
    let script = match script {
        None if nothing_else && io::stdin().is_terminal() => {
            return Err(Failure::usage("nothing to run")
                .with_hint("panto lua FILE, panto lua -e CHUNK, or a chunk on standard input"));
        }
        None if nothing_else => Some(Step::StandardInput),
        script => script,
    };
    if script.is_none() && args.before.is_empty() {
        return Ok(None);
    }
    let place = Place::find(common)?;
    let mut options = Options::new(agents_runtime)
        .environment(env::vars_os())
        .cwd(place.cwd());
    if let Ok(data_home) = place.dirs.data_home() {
        let rocks = RocksTree::of_data_home(data_home);
        options = options.modules(rocks.modules(), rocks.native_modules());
    }
    if args.without_variables {
        options = options.without_lua_variables();
    }
    if common.cwd.is_some() {
        // A chunk's paths are relative to what the process has.
        env::set_current_dir(place.cwd()).map_err(|error| {
            Failure::new(Exit::Usage, "usage", error).context("could not change the directory")
        })?;
    }
    let before = args.before.into_iter().map(|before| match before {
        Before::Chunk(chunk) => Step::Chunk(chunk),
        Before::Library(name) => Step::Library(name),
    });
    Ok(Some(Run {
        options,
        words,
        zero,
        steps: before.chain(script).collect(),
    }))
}

impl Run {
    fn perform(self) -> Exit {
        let lua = match Standalone::new(self.options) {
            Ok(lua) => lua,
            Err(failure) => return tell(&failure),
        };
        lua.take_signals();
        let ran = lua
            .set_arguments(&self.words, self.zero)
            .and_then(|()| lua.run_init())
            .and_then(|()| self.steps.iter().try_for_each(|step| lua.run(step)));
        // Before the state is closed, whose finalizers may say something too.
        let exit = ran.err().map(|failure| tell(&failure));
        let closed = lua.finish().err().map(|failure| tell(&failure));
        exit.or(closed).unwrap_or(Exit::Done)
    }
}

/// Says what went wrong, as the reference's program does.
fn tell(failure: &LuaFailure) -> Exit {
    let text = format!("panto lua: {}\n", sanitize(&failure.message));
    // Nothing is left to do if nobody can be told.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    if failure.interrupted {
        Exit::Interrupted
    } else {
        Exit::TurnFailed
    }
}

fn agents_runtime() -> io::Result<tokio::runtime::Runtime> {
    runtime(Workers::Few).map_err(|failure| io::Error::other(failure.to_line()))
}

/// Where the script stands among the words: they end with it and its arguments. Without one its place is that of the
/// command's own name.
fn place_of_script(words: &[OsString], count: usize) -> usize {
    if count > 0 {
        return words.len().saturating_sub(count);
    }
    let is_value = |at: usize| words[at - 1] == "--cwd" || words[at - 1] == "--config";
    let command = (1..words.len()).find(|at| words[*at] == "lua" && !is_value(*at));
    command.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_found_among_the_words() {
        let place = |line: &str, count| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            place_of_script(&words, count)
        };
        assert_eq!(place("panto lua -e x file a b", 3), 4);
        assert_eq!(place("panto --cwd lua lua -e x", 0), 3);
        assert_eq!(place("panto -v lua", 0), 2);
    }
}
