//! Lua by itself: the interpreter without a session, as the reference's program `lua` is one.
//!
//! For a program that runs Lua scripts with `require("luv")` and `require("panto")`. The thread that makes a
//! [`Standalone`] owns its state, and no loop runs but in `uv.run()` and in waits. It reads no environment, no arguments
//! and no directory: all of that is given, and what went wrong is given back as text.
//!
//! ```
//! use panto_runtime::standalone::{Options, Standalone, Step};
//!
//! let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
//! let lua = Standalone::new(Options::new(runtime))?;
//! lua.run(&Step::Chunk("answer = 6 * 7".into()))?;
//! lua.run(&Step::Chunk("assert(answer == 42)".into()))?;
//! let failure = lua.run(&Step::Chunk("error('no luck')".into())).unwrap_err();
//! assert!(failure.message.starts_with("(command line):1: no luck\nstack traceback:\n"));
//! lua.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod failures;
mod modules;
mod raw;
mod search;
#[cfg(test)]
mod tests;
mod waiting;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Function, IntoLuaMulti, Lua, LuaString, StdLib, Table};
use tokio::runtime::Runtime;

use failures::Failures;
use modules::Modules;
use raw::Interrupts;

use crate::raw::Main;

/// What an interpreter is made with.
pub struct Options {
    runtime: Box<dyn FnOnce() -> io::Result<Runtime>>,
    environment: Vec<(OsString, OsString)>,
    uses_variables: bool,
    cwd: PathBuf,
    modules: Option<(PathBuf, PathBuf)>,
}

impl Options {
    /// `runtime` makes the runtime for agents when `panto` is first required: one with threads of its own, and with
    /// I/O and time enabled.
    pub fn new(runtime: impl FnOnce() -> io::Result<Runtime> + 'static) -> Self {
        Self {
            runtime: Box::new(runtime),
            environment: Vec::new(),
            uses_variables: true,
            cwd: PathBuf::from("/"),
            modules: None,
        }
    }

    /// The environment that `luv` has, as a copy, and in which Lua's own variables are looked up: `LUA_PATH`,
    /// `LUA_CPATH` and `LUA_INIT`, each also with `_5_4` behind it, which counts more.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment = variables.into_iter().collect();
        self
    }

    /// Leaves Lua's own variables out of account.
    #[must_use]
    pub fn without_lua_variables(mut self) -> Self {
        self.uses_variables = false;
        self
    }

    /// The directory that new sessions name.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// Where modules in Lua and in C are looked for by default, before the places that Lua itself knows.
    #[must_use]
    pub fn modules(mut self, lua: impl Into<PathBuf>, native: impl Into<PathBuf>) -> Self {
        self.modules = Some((lua.into(), native.into()));
        self
    }

    /// The value of the variable, and its whole name.
    fn variable(&self, name: &str) -> Option<(String, &OsStr)> {
        if !self.uses_variables {
            return None;
        }
        [format!("{name}_5_4"), name.to_owned()]
            .into_iter()
            .find_map(|name| {
                let mut variables = self.environment.iter();
                let (_, value) = variables.find(|(key, _)| *key == *name)?;
                Some((name, value.as_os_str()))
            })
    }
}

/// Something to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Lua source.
    Chunk(OsString),
    /// A module to require into the global of its name, or as `global=module` into another.
    Library(OsString),
    /// A file, with the arguments that the global `arg` has by then.
    Script(PathBuf),
    /// Standard input, in the same way.
    StandardInput,
}

/// What a chunk could not do, or the interpreter for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Failure {
    /// What was raised, and the traceback if there is one.
    pub message: String,
    /// Whether it came after SIGINT.
    pub interrupted: bool,
}

impl From<mlua::Error> for Failure {
    fn from(error: mlua::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl Failure {
    fn new(message: String) -> Self {
        Self {
            message,
            interrupted: raw::was_interrupted(),
        }
    }
}

/// A Lua state with all of Lua's libraries, for chunks that are trusted with everything: they may
/// load modules in C, and use `debug`.
pub fn trusting_state() -> Lua {
    raw::new_state(StdLib::ALL)
}

/// An interpreter. Dropping it closes the state at once; [`finish`](Self::finish) ends its turns first.
pub struct Standalone {
    lua: Lua,
    main: Main,
    prelude: Table,
    failures: Rc<Failures>,
    modules: Rc<Modules>,
    init: Option<(String, OsString)>,
}

/// How long turns that a script leaves behind may take to settle.
const GRACE: Duration = Duration::from_secs(2);

impl Standalone {
    /// Makes a state with all of Lua's libraries, modules in C included, `luv` and `panto`.
    ///
    /// # Errors
    ///
    /// The system has no memory for it.
    pub fn new(options: Options) -> Result<Self, Failure> {
        let lua = raw::new_state(StdLib::ALL ^ StdLib::PACKAGE);
        search::open(
            &lua,
            options.variable("LUA_PATH").map(|(_, path)| path),
            options.variable("LUA_CPATH").map(|(_, path)| path),
            options.modules.as_ref(),
        )?;
        let (main, _) = Main::install(&lua)?;
        let init = options.variable("LUA_INIT");
        let init = init.map(|(name, value)| (name, value.to_owned()));
        let failures = Rc::<Failures>::default();
        let untold = Rc::clone(&failures);
        let take_failure = lua.create_function(move |_, ()| {
            let failure = untold.take();
            Ok(failure.map_or((None, None), |(message, traceback)| {
                (Some(message), Some(traceback))
            }))
        })?;
        let prelude: Table = lua
            .load(include_str!("standalone/prelude.lua"))
            .set_name("=[panto]")
            .call((take_failure, raw::output_failed(&lua)?))?;
        let modules = Modules::offer(&lua, &prelude, &failures, options)?;
        Ok(Self {
            lua,
            main,
            prelude,
            failures,
            modules,
            init,
        })
    }

    /// Lets the interpreter have the signals of the process, whose only purpose it must be; SIGINT until it is finished.
    ///
    /// SIGINT raises an error in the Lua code that runs, in whichever coroutine, or ends its wait; the second one ends the process, as does the
    /// first while no chunk runs. When nobody reads standard output any more, writing to it ends the process as by SIGPIPE.
    pub fn take_signals(&self) {
        raw::end_with_standard_output();
        if let Some(interrupts) = Interrupts::take(self.main) {
            self.modules.set_interrupts(interrupts);
        }
    }

    /// Sets the global `arg`: `words` are those of the whole command line, `zero` is the place of the one that is
    /// `arg[0]`, the script. Those before it have negative indices.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn set_arguments(&self, words: &[OsString], zero: usize) -> Result<(), Failure> {
        let arg = self.lua.create_table()?;
        let zero = i64::try_from(zero).unwrap_or(i64::MAX);
        for (index, word) in (-zero..).zip(words) {
            arg.raw_set(index, self.lua.create_string(word.as_bytes())?)?;
        }
        Ok(self.lua.globals().raw_set("arg", arg)?)
    }

    /// Runs what `LUA_INIT` says, if it says something: a chunk, or behind `@` the path of a file.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_init(&self) -> Result<(), Failure> {
        let Some((name, value)) = &self.init else {
            return Ok(());
        };
        match value.as_bytes().strip_prefix(b"@") {
            Some(path) => self.call("file", self.text(OsStr::from_bytes(path))?),
            None => self.call("chunk", (self.text(value)?, name.as_str())),
        }
    }

    /// Runs something to its end.
    ///
    /// # Errors
    ///
    /// What was raised, as the reference's program says it.
    pub fn run(&self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Chunk(chunk) => self.call("chunk", (self.text(chunk)?, "(command line)")),
            Step::Library(name) => self.call("library", self.text(name)?),
            Step::Script(path) => self.call("script", self.text(path.as_os_str())?),
            Step::StandardInput => self.call("script", ()),
        }
    }

    /// Ends the turns that are still live, writes out what is buffered and closes the state, which runs its finalizers.
    ///
    /// # Errors
    ///
    /// Errors in callbacks that `uv.run()` has not raised; or standard output could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        self.modules.take_interrupts();
        // What still runs meanwhile may fail too.
        self.modules.settle(GRACE);
        let untold: Vec<String> = std::iter::from_fn(|| self.failures.take())
            .map(|(message, traceback)| format!("{message}\n{traceback}"))
            .collect();
        let flushed = self.call("flush", ());
        if untold.is_empty() {
            return flushed;
        }
        Err(Failure::new(untold.join("\n")))
    }

    fn call(&self, name: &str, arguments: impl IntoLuaMulti) -> Result<(), Failure> {
        let function: Function = self.prelude.raw_get(name)?;
        match function.call::<Option<LuaString>>(arguments)? {
            Some(message) => Err(Failure::new(message.to_string_lossy())),
            None => Ok(()),
        }
    }

    fn text(&self, text: &OsStr) -> mlua::Result<LuaString> {
        self.lua.create_string(text.as_bytes())
    }
}

impl Drop for Standalone {
    fn drop(&mut self) {
        // While the state is there.
        self.modules.take_interrupts();
    }
}
