//! Lua functions that run on another thread: each in a state of its own, to which it goes as bytecode, without its upvalues.

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, MultiValue, Value};

use crate::call::Call;
use crate::callback::Raised;
use crate::errno::UvError;
use crate::failure::{Failure, text_and_traceback};
use crate::install::{self, Options};
use crate::thread_value::{self, Arguments, ThreadValue};

/// What another thread is to run.
#[derive(Clone)]
pub(crate) struct Program {
    code: Vec<u8>,
    mode: Mode,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

#[derive(Clone, Copy)]
enum Mode {
    /// Source that Lua gave.
    Text,
    /// Bytecode of a function of ours. Bytecode as a string is refused: what Lua made up could crash the process.
    Dumped,
}

impl Program {
    /// A function, or the source of one, from an argument.
    pub(crate) fn from_argument(call: &Call<'_>, position: usize) -> Result<Self, Failure> {
        let (code, mode) = match call.value(position) {
            Value::String(source) => (source.as_bytes().to_vec(), Mode::Text),
            Value::Function(function) => (dump(call, position, function)?, Mode::Dumped),
            _ => return Err(call.bad(position, "function or string expected")),
        };
        let environment = call.uv.environment().borrow();
        Ok(Self {
            code,
            mode,
            environment: environment
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        })
    }

    /// Runs it on this thread in a new state, and returns what it returns, or what it raised.
    pub(crate) fn run(self, arguments: Vec<ThreadValue>) -> Result<Vec<ThreadValue>, Raised> {
        self.try_run(arguments).map_err(|error| {
            let (message, traceback) = text_and_traceback(&error);
            Raised { message, traceback }
        })
    }

    fn try_run(self, arguments: Vec<ThreadValue>) -> mlua::Result<Vec<ThreadValue>> {
        let lua = Lua::new();
        let options = Options::on_worker().environment(self.environment);
        if arguments.iter().any(ThreadValue::is_userdata) {
            // Their methods are luv's, and must be there before they are.
            lua.register_module("luv", install::module(&lua, options)?.1)?;
        } else {
            // Most programs need no loop, which would cost more than the rest of the state.
            let mut options = Some(options);
            let load = lua.create_function_mut(move |lua, ()| match options.take() {
                Some(options) => Ok(install::module(lua, options)?.1),
                None => Err(mlua::Error::runtime("luv is loaded already")),
            })?;
            lua.preload_module("luv", load)?;
        }
        let mode = match self.mode {
            Mode::Text => ChunkMode::Text,
            Mode::Dumped => ChunkMode::Binary,
        };
        let chunk = lua.load(self.code).set_name("=thread").set_mode(mode);
        let results: MultiValue = chunk.call(Arguments(arguments))?;
        results
            .iter()
            .map(|value| {
                ThreadValue::from_lua(value).ok_or_else(|| {
                    let kind = value.type_name();
                    mlua::Error::runtime(format!("a {kind} cannot go to another thread"))
                })
            })
            .collect()
    }
}

fn dump(call: &Call<'_>, position: usize, function: &Function) -> Result<Vec<u8>, Failure> {
    let code = function.dump(false);
    if code.is_empty() {
        return Err(call.bad(position, "a Lua function is needed, not one of C or Rust"));
    }
    Ok(code)
}

/// The values for another thread, from an argument on.
pub(crate) fn arguments(call: &Call<'_>, position: usize) -> Result<Vec<ThreadValue>, Failure> {
    thread_value::from_call(call, position)
}

/// What became of a program: its error, or its results. The outer failure is that it never ran.
pub(crate) type Outcome = Result<Result<Vec<ThreadValue>, Raised>, UvError>;
