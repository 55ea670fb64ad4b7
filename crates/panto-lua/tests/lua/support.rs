//! A Lua state with the module, a runtime with threads of its own, and a scripted model.

use std::sync::Arc;

use mlua::{FromLuaMulti, Lua};
use panto_lua::{Embedding, Module};
use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, Model, ModelRef};
use pantograph_scripted::{Script, ScriptedProtocol, Step};
use tokio::runtime::Runtime;

pub(crate) struct Machine {
    pub(crate) lua: Lua,
    pub(crate) module: Module,
    pub(crate) protocol: ScriptedProtocol,
    pub(crate) runtime: Runtime,
}

/// A machine whose model plays `script`; Lua finds it as `config`, and the module as `panto`.
pub(crate) fn machine(script: Script) -> Machine {
    machine_with(script, |embedding| embedding)
}

/// A machine whose model says the same to whatever it is asked.
pub(crate) fn talking(text: &str) -> Machine {
    machine(Script::new().step(Step::text(text).repeated()))
}

pub(crate) fn machine_with(script: Script, change: impl FnOnce(Embedding) -> Embedding) -> Machine {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let lua = Lua::new();
    let embedding = change(Embedding::new(runtime.handle().clone()));
    let module = panto_lua::open(&lua, embedding).unwrap();
    lua.globals().set("panto", module.table().clone()).unwrap();
    let protocol = ScriptedProtocol::new(script);
    let config = module.config(&lua, config(&protocol)).unwrap();
    lua.globals().set("config", config).unwrap();
    lua.load(PRELUDE).exec().unwrap();
    Machine {
        lua,
        module,
        protocol,
        runtime,
    }
}

pub(crate) fn config(protocol: &ScriptedProtocol) -> AgentConfig {
    AgentConfig {
        protocol: Arc::new(protocol.clone()),
        model: Arc::new(Model::new(ModelRef::parse("scripted:demo").unwrap())),
        tool_choice: ToolChoice::Auto,
    }
}

/// Helpers for the Lua side of the tests.
const PRELUDE: &str = r#"
function new_agent(fields)
  local options = { config = config, store = panto.null_store() }
  for key, value in pairs(fields or {}) do options[key] = value end
  return assert(panto.agent(options))
end

-- What `f` raises, which must be a string.
function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "nothing was raised")
  assert(type(message) == "string", type(message))
  return message
end

-- Reads a job of the wake pipe to its end; gives its events.
function drain(job)
  local events = {}
  repeat
    pipe.wait()
    local event = job:next_event()
    while event do
      events[#events + 1] = event
      event = job:next_event()
    end
  until job:result()
  -- What came between the last look and the result.
  for event in job.next_event, job do events[#events + 1] = event end
  return events
end

-- What `f` gives instead of a value.
function refused(...)
  local value, message = ...
  assert(value == nil, "not refused")
  assert(type(message) == "string")
  return message
end
"#;

impl Machine {
    /// What a Lua chunk gives.
    #[track_caller]
    pub(crate) fn eval<R: FromLuaMulti>(&self, source: &str) -> R {
        let chunk = self.lua.load(source).set_name("=test");
        chunk.eval().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs a Lua chunk that asserts by itself.
    #[track_caller]
    pub(crate) fn exec(&self, source: &str) {
        self.eval::<()>(source);
    }

    /// What a Lua chunk gives, as text.
    #[track_caller]
    pub(crate) fn text(&self, source: &str) -> String {
        self.eval(source)
    }
}

impl Machine {
    /// Gives Lua a pipe: `pipe.fd` is its writing end, `pipe.wait()` blocks for bytes and gives
    /// how many there were, 0 at the end; `pipe.close_reader()`, `pipe.close_writer()`.
    pub(crate) fn pipe(&self) {
        let (reader, writer) = std::io::pipe().unwrap();
        self.wake_ends(
            std::os::fd::AsRawFd::as_raw_fd(&writer),
            Box::new(reader),
            Box::new(writer),
        );
    }

    /// The same with a pair of sockets.
    pub(crate) fn sockets(&self) {
        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        self.wake_ends(
            std::os::fd::AsRawFd::as_raw_fd(&writer),
            Box::new(reader),
            Box::new(writer),
        );
    }

    fn wake_ends(&self, fd: i32, reader: Box<dyn std::io::Read>, writer: Box<dyn std::any::Any>) {
        let reader = std::rc::Rc::new(std::cell::RefCell::new(Some(reader)));
        let writer = std::cell::RefCell::new(Some(writer));
        let table = self.lua.create_table().unwrap();
        table.set("fd", fd).unwrap();
        let waiting = std::rc::Rc::clone(&reader);
        let wait = self.lua.create_function(move |_, ()| {
            let mut bytes = [0; 4096];
            let mut reader = waiting.borrow_mut();
            Ok(std::io::Read::read(reader.as_mut().unwrap(), &mut bytes)?)
        });
        table.set("wait", wait.unwrap()).unwrap();
        let close = self.lua.create_function(move |_, ()| {
            reader.borrow_mut().take();
            Ok(())
        });
        table.set("close_reader", close.unwrap()).unwrap();
        let close = self.lua.create_function(move |_, ()| {
            writer.borrow_mut().take();
            Ok(())
        });
        table.set("close_writer", close.unwrap()).unwrap();
        self.lua.globals().set("pipe", table).unwrap();
    }

    /// Waits until no job is live.
    pub(crate) fn all_settled(&self) {
        self.runtime.block_on(self.module.turns().settled());
    }
}
