//! The Lua state of one sandbox: its library, its hook, and the coroutine of its chunk.
//!
//! Runs on the sandbox's own thread and never leaves it.

use std::rc::Rc;

use mlua::{
    Function, HookTriggers, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table, Thread, VmState,
};

use super::border::all_inward;
use super::limits::Reason;
use super::natives::{self, Exchange};
use super::value::Value;

/// Instructions between two calls of the hook; the count of each coroutine is short by less than this.
const HOOK_EVERY: u32 = 32;

/// How often the hook may ask a dead sandbox to yield before it raises instead. Each coroutine that
/// waits for another takes one; Lua nests no more than 200.
const YIELDS_BEFORE_ERRORS: u32 = 1000;

/// How long a message may be.
const LONGEST_MESSAGE: usize = 4096;

/// The library, in the order in which its parts build on each other.
const LIBRARY: [&str; 4] = [
    include_str!("lua/base.lua"),
    include_str!("lua/text.lua"),
    include_str!("lua/tables.lua"),
    include_str!("lua/coroutines.lua"),
];

/// How a slice ended, on this side of the border.
pub(super) enum Ended {
    Finished(Vec<Value>),
    /// The function that parked the chunk, by its place among the given ones, and its arguments.
    Parked(usize, Vec<Value>),
    Failed(String),
    Killed(Reason),
}

/// A Lua state that runs one chunk at a time.
pub(super) struct State {
    lua: Lua,
    exchange: Rc<Exchange>,
    compile: Function,
    enter: Function,
    /// The coroutine of the chunk that is parked.
    parked: Option<Thread>,
}

impl State {
    /// Builds the library. `given` are the names of the host's functions, and whether they park.
    pub(super) fn new(exchange: Rc<Exchange>, given: &[(String, bool)]) -> mlua::Result<Self> {
        let libraries =
            StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::UTF8 | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let kit = lua.create_table()?;
        let environment = lua.create_table()?;
        let natives = natives::table(&lua, &exchange)?;
        for part in LIBRARY {
            lua.load(part)
                .set_name("=[sandbox]")
                .call::<()>((&natives, &environment, &kit))?;
        }
        let give: Function = kit.get("give")?;
        for (id, (name, parks)) in given.iter().enumerate() {
            let path: Vec<&str> = name.split('.').collect();
            give.call::<()>((id, *parks, path))?;
        }
        // The library holds what it needs; nobody else shall find it here.
        let globals: Table = lua.globals();
        globals.clear()?;
        install_hook(&lua, &exchange)?;
        let memory = exchange.budget.limits().memory;
        lua.set_memory_limit(lua.used_memory().saturating_add(memory))?;
        Ok(Self {
            compile: kit.get("compile")?,
            enter: kit.get("enter")?,
            exchange,
            lua,
            parked: None,
        })
    }

    /// Compiles a chunk and runs it until it ends or parks.
    pub(super) fn run(&mut self, name: &str, source: Vec<u8>, values: &[Value]) -> Ended {
        self.exchange.budget.refill();
        let most = self.exchange.budget.limits().source;
        if source.len() > most {
            return Ended::Failed(format!("{name}: the source is longer than {most} bytes"));
        }
        self.exchange.set_source(source);
        let compiled = self
            .compile
            .call::<(Option<Function>, Option<LuaString>)>(format!("={name}"));
        self.exchange.set_source(Vec::new());
        if let Some(reason) = self.exchange.budget.dead() {
            return Ended::Killed(reason);
        }
        let chunk = match compiled {
            Ok((Some(chunk), _)) => chunk,
            Ok((None, message)) => return self.not_compiled(name, message),
            Err(error) => return self.broken(&error),
        };
        let started = self
            .lua
            .create_thread(self.enter.clone())
            .and_then(|thread| {
                let mut arguments = all_inward(&self.lua, values, &self.exchange.budget)?;
                arguments.push_front(mlua::Value::Function(chunk));
                Ok((thread, arguments))
            });
        match started {
            Ok((thread, arguments)) => self.step(thread, arguments),
            Err(error) => self.broken(&error),
        }
    }

    /// Lets the call that parked the chunk return, or raise.
    pub(super) fn resume(&mut self, answer: Result<Vec<Value>, String>) -> Ended {
        self.exchange.budget.refill();
        let Some(thread) = self.parked.take() else {
            return Ended::Failed("nothing is parked here".to_owned());
        };
        let arguments = match &answer {
            Ok(values) => all_inward(&self.lua, values, &self.exchange.budget).map(|mut values| {
                values.push_front(mlua::Value::Boolean(true));
                values
            }),
            Err(message) => self.lua.create_string(message).map(|message| {
                MultiValue::from_iter([mlua::Value::Boolean(false), mlua::Value::String(message)])
            }),
        };
        match arguments {
            Ok(arguments) => self.step(thread, arguments),
            Err(error) => self.broken(&error),
        }
    }

    fn step(&mut self, thread: Thread, arguments: MultiValue) -> Ended {
        let stepped = thread.resume::<(mlua::Value, Option<LuaString>)>(arguments);
        if let Some(reason) = self.exchange.budget.dead() {
            return Ended::Killed(reason);
        }
        match stepped {
            // Only the library yields outside of coroutines of the chunk's, and with a request.
            Ok((mlua::Value::String(_), _)) => match self.exchange.request.take() {
                Some((function, arguments)) => {
                    self.parked = Some(thread);
                    Ended::Parked(function, arguments)
                }
                None => Ended::Failed("the chunk stopped without a reason".to_owned()),
            },
            Ok((mlua::Value::Boolean(true), _)) => Ended::Finished(self.exchange.results.take()),
            Ok((_, message)) => Ended::Failed(shortened(message)),
            Err(error) => self.broken(&error),
        }
    }

    fn not_compiled(&self, name: &str, message: Option<LuaString>) -> Ended {
        match message {
            Some(message) if message == "not enough memory" => {
                self.exchange.budget.end(Reason::Memory);
                Ended::Killed(Reason::Memory)
            }
            Some(message) if message == "C stack overflow" => {
                Ended::Failed(format!("{name}: the source is nested too deeply"))
            }
            message => Ended::Failed(shortened(message)),
        }
    }

    /// An error outside of the chunk's protected call: memory ran out, or the C stack did.
    fn broken(&self, error: &mlua::Error) -> Ended {
        if is_memory(error) {
            self.exchange.budget.end(Reason::Memory);
            return Ended::Killed(Reason::Memory);
        }
        Ended::Failed("the chunk could not be run: it is nested too deeply".to_owned())
    }
}

/// Counts instructions in every coroutine of the state: those that are made later inherit the hook.
fn install_hook(lua: &Lua, exchange: &Rc<Exchange>) -> mlua::Result<()> {
    let exchange = Rc::clone(exchange);
    let asked = std::cell::Cell::new(0_u32);
    let triggers = HookTriggers::new().every_nth_instruction(HOOK_EVERY);
    lua.set_global_hook(triggers, move |_, _| {
        if exchange.budget.spend(HOOK_EVERY.into()) {
            return Ok(VmState::Continue);
        }
        asked.set(asked.get() + 1);
        if asked.get() > YIELDS_BEFORE_ERRORS {
            // Nothing here calls Lua from where it cannot yield; if something did, this is for it.
            return Err(mlua::Error::runtime("stopped"));
        }
        Ok(VmState::Yield)
    })
}

fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_memory(cause),
        _ => false,
    }
}

/// A message as text, of a length that fits on a screen.
fn shortened(message: Option<LuaString>) -> String {
    let Some(message) = message else {
        return "the chunk failed without a message".to_owned();
    };
    let bytes = message.as_bytes();
    if bytes.len() <= LONGEST_MESSAGE {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut text = String::from_utf8_lossy(&bytes[..LONGEST_MESSAGE]).into_owned();
    text.push('…');
    text
}

#[cfg(test)]
mod tests;
