//! A Lua state with the standard tools, whose working directory is a folder of the test's.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, Table, Value as LuaValue};
use panto_runtime::{LuaRuntime, Options};
use pantograph::{Agent, Block, Event, Model, ModelRef, Role, ToolContent};
use pantograph_scripted::{Call, Script, ScriptedProtocol, Step};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

const TOOLS: [&str; 7] = ["edit", "find", "grep", "ls", "read", "shell", "write"];

pub(crate) struct Machine {
    pub(crate) runtime: LuaRuntime,
    pub(crate) lua: Lua,
    folder: TempDir,
    failures: Rc<RefCell<Vec<String>>>,
    agent: Option<Agent>,
}

/// What a call came to.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) text: String,
    pub(crate) details: Value,
    /// Media type and size of each.
    pub(crate) attachments: Vec<(String, usize)>,
}

impl Answer {
    /// As a snapshot shows it.
    pub(crate) fn shown(&self) -> String {
        match self.status.as_str() {
            "ok" => self.text.clone(),
            status => format!("{status}: {}", self.text),
        }
    }
}

/// A machine with these files.
pub(crate) fn machine(files: &[(&str, &[u8])]) -> Machine {
    let failures: Rc<RefCell<Vec<String>>> = Rc::default();
    let failed = Rc::clone(&failures);
    let options = Options::new(Handle::current())
        // A loaded machine is no reason to stop a step.
        .step_limit(Duration::from_secs(60))
        .environment([("PATH".into(), std::env::var_os("PATH").unwrap_or_default())])
        .on_error(move |failure| {
            failed
                .borrow_mut()
                .push(format!("{failure}\n{}", failure.traceback));
        });
    let lua = Lua::new();
    let runtime = LuaRuntime::open(lua.clone(), options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine {
        runtime,
        lua,
        folder,
        failures,
        agent: None,
    };
    for (name, bytes) in files {
        machine.write(name, bytes);
    }
    machine.install();
    machine
}

impl Machine {
    /// Gives the state what a host gives, and registers the tools.
    fn install(&self) {
        let (lua, module) = (&self.lua, self.runtime.module());
        let ext = lua.create_table().unwrap();
        let files = panto_kit::files(lua, module, Handle::current()).unwrap();
        ext.set("files", files).unwrap();
        let cwd = self.root().to_str().unwrap().to_owned();
        let cwd = lua.create_function(move |_, ()| Ok(cwd.clone())).unwrap();
        ext.set("cwd", cwd).unwrap();
        module.table().set("ext", ext).unwrap();
        let rocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rocks");
        let package: Table = lua.globals().get("package").unwrap();
        let path = format!("{}/?.lua", rocks.display());
        package.set("path", path).unwrap();
        for name in TOOLS {
            let source = std::fs::read_to_string(rocks.join(format!("agent/tools/{name}.lua")));
            let chunk = lua.load(source.unwrap()).set_name(format!("@{name}.lua"));
            let tool: Table = chunk.eval().unwrap();
            self.register(tool);
        }
    }

    fn register(&self, tool: Table) {
        let text = |name: &str| tool.get::<String>(name).unwrap();
        let schema = self
            .runtime
            .module()
            .json()
            .encode(&tool.get::<LuaValue>("schema").unwrap())
            .unwrap();
        let schema = serde_json::from_str(&schema).unwrap();
        let declaration =
            pantograph::ToolDeclaration::new(&text("name"), text("description"), schema);
        let handler = tool.get("handler").unwrap();
        let registered =
            self.runtime
                .handle()
                .register_tool("agent", declaration.unwrap(), handler);
        registered.unwrap();
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The agent whose model calls the tools; the same for all calls until `forget`.
    pub(crate) fn agent(&mut self, script: Script) -> Agent {
        let protocol = Arc::new(ScriptedProtocol::new(script));
        let model = Model::new(ModelRef::parse("scripted:demo").unwrap());
        match &self.agent {
            Some(agent) => {
                agent.set_config(pantograph::AgentConfig {
                    protocol,
                    model: Arc::new(model),
                    tool_choice: pantograph::protocol::ToolChoice::Auto,
                });
                agent.clone()
            }
            None => {
                let agent = Agent::builder(protocol, model)
                    .tool_source(self.runtime.tool_source())
                    .ephemeral();
                self.agent = Some(agent.clone());
                agent
            }
        }
    }

    /// The next calls are another agent's.
    pub(crate) fn forget(&mut self) {
        self.agent = None;
    }

    /// Calls one tool.
    pub(crate) async fn call(&mut self, tool: &str, input: Value) -> Answer {
        self.batch(vec![(tool, input)]).await.remove(0)
    }

    /// Calls one tool, and gives what a snapshot shows.
    pub(crate) async fn shown(&mut self, tool: &str, input: Value) -> String {
        let root = self.root().display().to_string();
        let answer = self.call(tool, input).await;
        answer.shown().replace(&root, "ROOT")
    }

    /// Calls tools in one batch.
    pub(crate) async fn batch(&mut self, calls: Vec<(&str, Value)>) -> Vec<Answer> {
        let step = calls.into_iter().fold(Step::new(), |step, (tool, input)| {
            step.then(Call::new(tool, input))
        });
        let agent = self.agent(Script::new().step(step).step(Step::text("Done.")));
        self.runtime.run_until(agent.ask("Go.")).await.unwrap();
        let failures = self.failures.borrow();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        answers(&agent)
    }

    /// Calls one tool, and cancels the turn once its output has `sign`. Gives the answer and what
    /// was shown meanwhile.
    pub(crate) async fn cancel_at(
        &mut self,
        tool: &str,
        input: Value,
        sign: &str,
    ) -> (Answer, String) {
        let script = Script::new().step(Step::new().then(Call::new(tool, input)));
        let agent = self.agent(script);
        let mut turn = agent.run("Go.").unwrap();
        let mut shown = String::new();
        self.runtime
            .run_until(async {
                while let Some(event) = turn.next().await {
                    if let Event::ToolOutputDelta { delta, .. } = event {
                        shown.push_str(&delta);
                        if shown.contains(sign) {
                            turn.cancel();
                        }
                    }
                }
            })
            .await;
        (answers(&agent).remove(0), shown)
    }
}

/// The results of an agent's last batch.
fn answers(agent: &Agent) -> Vec<Answer> {
    let conversation = agent.conversation();
    let message = conversation
        .messages()
        .iter()
        .rev()
        .find(|message| message.role == Role::Tool)
        .expect("a message of results");
    let details = message.metadata.get(pantograph::TOOL_DETAILS);
    let results = message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    });
    let attachments = |content: &[ToolContent]| {
        let found = content.iter().filter_map(|part| match part {
            ToolContent::Attachment(attachment) => {
                let size = attachment.bytes().unwrap().len();
                Some((attachment.media_type.clone(), size))
            }
            ToolContent::Text(_) => None,
        });
        found.collect()
    };
    results
        .map(|result| Answer {
            status: result.status.as_str().to_owned(),
            text: result.output(),
            details: details
                .and_then(|details| details.get(&*result.call).cloned())
                .unwrap_or(json!({})),
            attachments: attachments(&result.content),
        })
        .collect()
}

/// What each call shows, one below the other.
pub(crate) async fn all(
    machine: &mut Machine,
    tool: &str,
    inputs: impl IntoIterator<Item = Value>,
) -> String {
    let mut shown = Vec::new();
    for input in inputs {
        let answer = machine.shown(tool, input.clone()).await;
        shown.push(format!("== {input}\n{answer}"));
    }
    shown.join("\n")
}
