//! A Lua state with its runtime and scripted models, all on one thread whose clock is paused: it
//! moves on when there is nothing else to do, so no test waits for time.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{FromLuaMulti, Function, Lua, Table};
use panto_runtime::{Failure, LuaRuntime, Options, Progress};
use pantograph::protocol::ToolChoice;
use pantograph::{Agent, AgentConfig, Model, ModelRef, Outcome, Protocol, ToolDeclaration};
use pantograph_scripted::{Call, Script, ScriptedProtocol, Step};
use serde_json::{Value, json};
use tokio::runtime::Handle;

pub(crate) struct Machine {
    pub(crate) runtime: LuaRuntime,
    pub(crate) lua: Lua,
    pub(crate) failures: Rc<RefCell<Vec<Failure>>>,
    pub(crate) progress: Rc<RefCell<Vec<Progress>>>,
}

/// A machine on the tokio runtime of the test.
pub(crate) fn machine() -> Machine {
    machine_with(|options| options)
}

pub(crate) fn machine_with(change: impl FnOnce(Options) -> Options) -> Machine {
    machine_in(Lua::new(), change)
}

pub(crate) fn machine_in(lua: Lua, change: impl FnOnce(Options) -> Options) -> Machine {
    let failures: Rc<RefCell<Vec<Failure>>> = Rc::default();
    let progress: Rc<RefCell<Vec<Progress>>> = Rc::default();
    let (failed, told) = (Rc::clone(&failures), Rc::clone(&progress));
    let options = Options::new(Handle::current())
        // A loaded machine is no reason to stop a step.
        .step_limit(Duration::from_secs(60))
        .on_error(move |failure| failed.borrow_mut().push(failure.clone()))
        .on_progress(move |progress| told.borrow_mut().push(progress.clone()));
    let runtime = LuaRuntime::open(lua.clone(), change(options)).unwrap();
    lua.load(PRELUDE).set_name("=prelude").exec().unwrap();
    Machine {
        runtime,
        lua,
        failures,
        progress,
    }
}

const PRELUDE: &str = r#"
panto = require("panto")
uv = require("luv")
-- Parks the coroutine for some milliseconds.
function sleep(ms)
  local co = coroutine.running()
  local timer = uv.new_timer()
  timer:start(ms, 0, function()
    timer:close()
    assert(coroutine.resume(co))
  end)
  coroutine.yield()
end
-- Runs a job of an agent to its end, parked meanwhile. Gives its result and its events.
function run_job(agent, options, started)
  local co = coroutine.running()
  local fds = assert(uv.pipe({ nonblock = true }, { nonblock = true }))
  local poll = uv.new_poll(fds.read)
  options.wake_fd = fds.write
  local job, message = agent:run_async(options)
  if not job then return nil, message end
  if started then started(job) end
  local events, result = {}, nil
  poll:start("r", function()
    uv.fs_read(fds.read, 4096, -1)
    for event in job.next_event, job do events[#events + 1] = event end
    if not result and job:result() then
      result = job:result()
      for event in job.next_event, job do events[#events + 1] = event end
      poll:stop()
      poll:close()
      uv.fs_close(fds.read)
      uv.fs_close(fds.write)
      job:close()
      assert(coroutine.resume(co))
    end
  end)
  coroutine.yield()
  return result, events
end
function new_agent(config, tools)
  local agent = assert(panto.agent { config = config, store = panto.null_store() })
  local declarations = {}
  for i, name in ipairs(tools or {}) do
    declarations[i] = { name = name, description = "x", schema = { type = "object" } }
  end
  agent:set_tools(declarations)
  return agent
end
-- What ran, in order.
log = {}
function note(text) log[#log + 1] = text end
"#;

impl Machine {
    /// Runs a Lua chunk outside any coroutine.
    #[track_caller]
    pub(crate) fn eval<R: FromLuaMulti>(&self, source: &str) -> R {
        let chunk = self.lua.load(source).set_name("=test");
        chunk.eval().unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub(crate) fn exec(&self, source: &str) {
        self.eval::<()>(source);
    }

    /// Registers a tool whose handler is a Lua function of `input` and `context`.
    #[track_caller]
    pub(crate) fn tool(&self, name: &str, body: &str) {
        let source = format!("return function(input, context) {body} end");
        let handler: Function = self.eval(&source);
        self.runtime
            .handle()
            .register_tool("test", declaration(name), handler)
            .unwrap();
    }

    /// Gives Lua `register_protocol`, as a host would.
    pub(crate) fn protocols(&self) {
        let module = self.runtime.module();
        let handle = self.runtime.handle().clone();
        let register = module.function(&self.lua, "register_protocol", move |lua, mut args| {
            panto_lua::values(
                lua,
                handle.register_protocol("test", args.next("protocol"))?,
            )
        });
        self.lua
            .globals()
            .set("register_protocol", register.unwrap())
            .unwrap();
    }

    /// An agent of the host's that plays `script` with all tools.
    pub(crate) fn agent(&self, script: Script) -> Agent {
        let protocol = Arc::new(ScriptedProtocol::new(script));
        self.agent_of(protocol)
    }

    pub(crate) fn agent_of(&self, protocol: Arc<dyn Protocol>) -> Agent {
        Agent::builder(protocol, model())
            .tool_source(self.runtime.tool_source())
            .ephemeral()
    }

    /// Gives Lua a configuration that plays `script`, as a global.
    pub(crate) fn config(&self, name: &str, script: Script) {
        let config = AgentConfig {
            protocol: Arc::new(ScriptedProtocol::new(script)),
            model: Arc::new(model()),
            tool_choice: ToolChoice::Auto,
        };
        let config = self.runtime.module().config(&self.lua, config).unwrap();
        self.lua.globals().set(name, config).unwrap();
    }

    /// Runs a prompt to its end.
    pub(crate) async fn ask(&mut self, agent: &Agent) -> Arc<Outcome> {
        self.runtime.run_until(agent.ask("Go.")).await.unwrap()
    }

    /// Runs a Lua function that may wait to its end.
    pub(crate) async fn drive<R: FromLuaMulti>(&mut self, source: &str) -> R {
        let function = self.lua.load(source).set_name("=test").into_function();
        let drive = self
            .runtime
            .handle()
            .drive("the test", function.unwrap(), ());
        let values = self.runtime.run_until(drive.unwrap()).await;
        let values = values.unwrap_or_else(|failure| panic!("{failure}\n{}", failure.traceback));
        R::from_lua_multi(values, &self.lua).unwrap()
    }

    /// What `note` was given.
    pub(crate) fn log(&self) -> Vec<String> {
        let log: Table = self.lua.globals().get("log").unwrap();
        log.sequence_values().map(Result::unwrap).collect()
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        let failures = self.failures.borrow();
        failures.iter().map(ToString::to_string).collect()
    }
}

pub(crate) fn model() -> Model {
    Model::new(ModelRef::parse("scripted:demo").unwrap())
}

/// A tool that takes anything.
pub(crate) fn declaration(name: &str) -> ToolDeclaration {
    ToolDeclaration::new(name, "For tests.", json!({ "type": "object" })).unwrap()
}

/// A script that calls a tool once with each input, in one batch, and then says that it is done.
pub(crate) fn calling(tool: &str, inputs: impl IntoIterator<Item = Value>) -> Script {
    let step = inputs
        .into_iter()
        .fold(Step::new(), |step, input| step.then(Call::new(tool, input)));
    Script::new().step(step).step(Step::text("Done."))
}

/// The results of the tools of an agent's last batch: status and text.
pub(crate) fn results(agent: &Agent) -> Vec<(String, String)> {
    let conversation = agent.conversation();
    let message = conversation
        .messages()
        .iter()
        .rev()
        .find(|message| message.role == pantograph::Role::Tool)
        .expect("a message of results");
    let results = message.blocks.iter().filter_map(|block| match block {
        pantograph::Block::ToolResult(result) => {
            Some((result.status.as_str().to_owned(), result.output()))
        }
        _ => None,
    });
    results.collect()
}
