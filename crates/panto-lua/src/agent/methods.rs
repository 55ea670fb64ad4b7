//! What Lua can ask of an agent.

use std::rc::Rc;

use mlua::{Function, Lua, Value};
use pantograph::{
    Block, EditError, Metadata, Outcome, Prompt, Sender, StopReason, Submission, Timing, ToolSet,
    with_causes,
};

use super::tools::{tool, tool_set, tool_tables};
use super::{LuaAgent, Owned};
use crate::args::Options;
use crate::class::{Class, Methods};
use crate::config::{Config, tool_choice};
use crate::conversation::{LuaConversation, message_at, metadata};
use crate::fault::{Fault, Reply, values};
use crate::job::{self, Job};
use crate::message::blocks_argument;
use crate::module::State;
use crate::store::Reach;
use crate::stream::Stream;

impl Class for LuaAgent {
    const NAME: &'static str = "panto.Agent";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        turns(methods)?;
        settings(methods)?;
        conversation(methods)
    }
}

fn turns(methods: &Methods<'_, LuaAgent>) -> mlua::Result<()> {
    methods.add("run", |lua, state, this, mut args| {
        let prompt = args.next("prompt");
        let prompt = match &prompt.value {
            Value::String(_) => Prompt::new(blocks_argument(&prompt)?).by_code(),
            Value::Table(table) if table.raw_len() > 0 => {
                Prompt::new(blocks_argument(&prompt)?).by_code()
            }
            _ => read_prompt(
                state,
                &prompt.options(&["prompt", "blocks", "metadata", "dispatch_tools"])?,
            )?,
        };
        let owned = this.own("run")?;
        let agent = owned.free()?;
        let turn = agent.run(prompt).map_err(|error| Fault::of(&error))?;
        values(lua, Stream::new(lua, state, Rc::clone(owned), agent, turn))
    })?;
    methods.add("run_async", |lua, state, this, mut args| {
        let options =
            args.options(&["prompt", "blocks", "metadata", "dispatch_tools", "wake_fd"])?;
        let prompt = read_prompt(state, &options)?;
        let wake = job::wake_argument(&state.wakes, &options)?;
        let owned = this.own("run_async")?;
        let agent = owned.free()?;
        if owned.router.has_local() {
            return Err(Fault::expected(
                "run_async is refused: the agent has tools of its own (register_tool); use run, \
                 or register the tools in the shared source and name them with set_tools",
            ));
        }
        let job = Job::start(lua, state, &agent, prompt, wake?)?;
        *owned.job.borrow_mut() = job.downgrade();
        values(lua, job)
    })?;
    methods.add("submit", |lua, _, this, mut args| {
        let argument = args.next("prompt");
        let blocks = blocks_argument(&argument)?;
        let is_blank =
            |block: &Block| matches!(block, Block::Text { text, .. } if text.trim().is_empty());
        if blocks.iter().all(is_blank) {
            return Err(argument.wrong("a message must not be empty"));
        }
        let mut timing = Timing::Steering;
        if let Some(options) = args.next("options").given() {
            let options = options.options(&["followup"])?;
            if let Some(followup) = options.given("followup")?
                && followup.boolean()?
            {
                timing = Timing::FollowUp;
            }
        }
        let LuaAgent::Borrowed(lender) = this else {
            return Err(Fault::expected(
                "submit is for the session's own agent, panto.ext.agent; start a turn of this \
                 agent with run or run_async, and steer a job with job:control():steer()",
            ));
        };
        let submission = Submission {
            blocks,
            metadata: Metadata::new(),
            timing,
            sender: Sender::Code,
        };
        lender.submit(&super::lent(&**lender)?, submission);
        values(lua, true)
    })?;
    methods.add("compact", |lua, state, this, mut args| {
        let instructions = args.next("instructions").given();
        let instructions = instructions.map(|text| text.text()).transpose()?;
        let owned = this.own("compact")?;
        let turn = owned.free()?.compact(instructions);
        let turn = turn.map_err(|error| Fault::of(&error))?;
        let entry = state.turns.enter(turn.control());
        let outcome = async move {
            let outcome = turn.outcome().await;
            drop(entry);
            outcome
        };
        // The model may be one that Lua implements.
        state.run(lua, Reach::Host, outcome, |lua, outcome| {
            compacted(lua, &outcome)
        })
    })?;
    methods.add("close", |lua, _, this, _| {
        this.own("close")?.close();
        values(lua, true)
    })
}

fn compacted(lua: &Lua, outcome: &Outcome) -> Reply {
    match (outcome.stop, &outcome.error) {
        (_, Some(error)) => Err(Fault::expected(with_causes(error))),
        (StopReason::Cancelled, None) => Err(Fault::expected("the compaction was cancelled")),
        _ => values(lua, true),
    }
}

fn settings(methods: &Methods<'_, LuaAgent>) -> mlua::Result<()> {
    methods.add("tools", |lua, state, this, _| {
        values(lua, tool_tables(lua, &state.json, &this.read()?.tools())?)
    })?;
    methods.add("set_tools", |lua, state, this, mut args| {
        let argument = args.next("tools");
        let agent = this.change()?;
        let mut known: Vec<_> = agent.tools().iter().cloned().collect();
        known.extend(state.embedding.tools.declarations());
        agent.set_tools(tool_set(&state.json, &argument, &known)?);
        values(lua, true)
    })?;
    methods.add("register_tool", |lua, state, this, mut args| {
        let (declared, handler) = tool(&state.json, args.next("tool"))?;
        let owned = this.own("register_tool")?;
        register_tool(lua, state, owned, declared, handler)
    })?;
    methods.add("set_config", |lua, _, this, mut args| {
        let argument = args.next("config");
        let agent = this.change()?;
        let config = match argument.value {
            Value::UserData(_) => argument.object::<Config>(Config::NAME)?.0.clone(),
            _ => {
                let options = argument.options(&["config", "tool_choice"])?;
                let mut config = match options.given("config")? {
                    Some(config) => config.object::<Config>(Config::NAME)?.0.clone(),
                    None => agent.config(),
                };
                if let Some(choice) = options.given("tool_choice")? {
                    config.tool_choice = tool_choice(choice)?;
                }
                config
            }
        };
        agent.set_config(config);
        values(lua, true)
    })?;
    methods.add("system_prompt", |lua, _, this, _| {
        values(lua, this.read()?.system_prompt().as_deref())
    })?;
    methods.add("set_system_prompt", |lua, _, this, mut args| {
        let text = args.next("text").given();
        let text = text.map(|text| text.text()).transpose()?;
        this.change()?.set_system_prompt(text.map(Into::into));
        values(lua, true)
    })
}

fn register_tool(
    lua: &Lua,
    state: &State,
    owned: &Owned,
    declared: pantograph::ToolDeclaration,
    handler: Function,
) -> Reply {
    let agent = owned.free()?;
    let Some(local) = &state.embedding.local_tools else {
        return Err(Fault::expected(
            "register_tool is refused: this host runs no Lua tools of one agent alone",
        ));
    };
    let tools = agent.tools();
    let others = tools.iter().filter(|tool| tool.name != declared.name);
    let mut declarations: Vec<_> = others.cloned().collect();
    declarations.push(declared.clone());
    let tools = ToolSet::new(declarations).map_err(|error| Fault::of(&error))?;
    let source = local.adopt(lua, &declared, handler);
    owned
        .router
        .insert(declared.name.as_str(), source.map_err(Fault::expected)?);
    agent.set_tools(tools);
    values(lua, true)
}

fn conversation(methods: &Methods<'_, LuaAgent>) -> mlua::Result<()> {
    methods.add("session_id", |lua, _, this, _| {
        values(lua, this.read()?.session_id().to_string())
    })?;
    methods.add("conversation", |lua, _, this, _| {
        values(lua, LuaConversation::new(this.read()?.conversation()))
    })?;
    methods.add("add_system_message", |lua, state, this, mut args| {
        let text = args.next("text").text()?;
        let metadata = metadata(state, &mut args)?;
        let agent = this.change()?;
        let edit = async move { agent.add_system_message(text, metadata).await };
        edited(lua, state, this, edit)
    })?;
    methods.add("add_user_message", |lua, state, this, mut args| {
        let blocks = blocks_argument(&args.next("blocks"))?;
        let metadata = metadata(state, &mut args)?;
        let agent = this.change()?;
        let edit = async move { agent.add_user_message(blocks, metadata).await };
        edited(lua, state, this, edit)
    })?;
    methods.add("set_message_metadata", |lua, state, this, mut args| {
        let position = args.next("position");
        let metadata = metadata(state, &mut args)?;
        let agent = this.change()?;
        let id = message_at(&agent.conversation(), &position)?.id.clone();
        let edit = async move { agent.set_message_metadata(&id, metadata).await };
        edited(lua, state, this, edit)
    })
}

/// True, once a conversation has been changed.
fn edited<T: Send + 'static>(
    lua: &Lua,
    state: &State,
    this: &LuaAgent,
    edit: impl Future<Output = Result<T, EditError>> + Send + 'static,
) -> Reply {
    state.run(lua, this.reach(), edit, |lua, edited| match edited {
        Ok(_) => values(lua, true),
        Err(error) => Err(Fault::of(&error)),
    })
}

/// Reads `prompt` or `blocks`, `metadata` and `dispatch_tools`.
fn read_prompt(state: &State, options: &Options) -> Result<Prompt, Fault> {
    let blocks = match (options.given("prompt")?, options.given("blocks")?) {
        (Some(prompt), None) => blocks_argument(&prompt)?,
        (None, Some(blocks)) => {
            blocks.table()?;
            blocks_argument(&blocks)?
        }
        (Some(prompt), Some(_)) => {
            return Err(prompt.wrong("give either `prompt` or `blocks`, not both"));
        }
        (None, None) => {
            return Err(options
                .get("prompt")?
                .wrong("`prompt` or `blocks` expected, got neither"));
        }
    };
    let mut prompt = Prompt::new(blocks).by_code();
    if let Some(metadata) = options.given("metadata")? {
        prompt = prompt.with_metadata(state.json.object_argument(&metadata)?);
    }
    if let Some(dispatch) = options.given("dispatch_tools")?
        && !dispatch.boolean()?
    {
        prompt = prompt.without_dispatch();
    }
    Ok(prompt)
}
