use std::rc::Rc;
use std::sync::Arc;

use insta::assert_snapshot;
use mlua::{Function, Lua};
use panto_lua::{Lender, LocalTools};
use pantograph::{
    Agent, Submission, Timing, ToolBatch, ToolContext, ToolDeclaration, ToolOutput, ToolRegistry,
    ToolSource,
};
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Machine, machine, machine_with, talking};

fn weather() -> ToolRegistry {
    let schema = json!({
        "type": "object",
        "required": ["city"],
        "properties": {"zone": {"type": "string"}, "city": {"type": "string"}},
    });
    let declaration = ToolDeclaration::new("weather", "The weather.", schema).unwrap();
    ToolRegistry::new()
        .tool(declaration, async |context: ToolContext| {
            ToolOutput::text(format!("rain for {}", context.input.as_str()))
        })
        .unwrap()
}

/// A machine whose agents can call `weather`; Lua has its declaration as `weather`.
fn with_weather(script: Script) -> Machine {
    let machine = machine_with(script, |embedding| embedding.tools(Arc::new(weather())));
    machine.exec(
        r#"
        weather = {
          name = "weather", description = "The weather.",
          schema = { type = "object", required = { "city" },
            properties = { zone = { type = "string" }, city = { type = "string" } } },
        }
        "#,
    );
    machine
}

#[test]
fn an_agent_shows_the_tools_that_it_was_given_and_dispatches_by_name() {
    let script = Script::new()
        .step(Step::call("weather", json!({"city": "Oslo"})))
        .step("Rain.");
    let machine = with_weather(script);
    machine.exec(
        r#"
        local agent = new_agent()
        assert(#agent:tools() == 0)
        assert(agent:set_tools({ weather }))
        local tools = agent:tools()
        assert(tools[1].name == "weather" and tools[1].schema.required[1] == "city")
        -- A copy: changing it changes nothing.
        tools[1].name = "other"
        assert(agent:tools()[1].name == "weather")
        local seen = {}
        for event in agent:run("Weather?"):events() do seen[event.type] = event end
        assert(seen.tool_result.output == 'rain for {"city":"Oslo"}')
        assert(seen.tool_result.result_ok and seen.tool_result.tool_name == "weather")
        assert(seen.settled.stop == "end" and seen.settled.text == "Rain.")
        "#,
    );
    // A schema that is still the source's own keeps that one's order of keys.
    let request = machine.protocol.requests().remove(0).request;
    let known = weather().declarations().remove(0).schema;
    let shown = request.tools.get("weather").unwrap().schema.to_string();
    assert_eq!(shown, known.to_string());
}

#[test]
fn a_named_tool_can_be_forced() {
    let machine = with_weather(Script::new().step(Step::call("weather", json!({}))));
    machine.exec(
        r#"
        local agent = new_agent()
        agent:set_tools({ weather })
        assert(agent:set_config { config = config, tool_choice = { name = "weather" } })
        local seen = {}
        for event in agent:run({ prompt = "?", dispatch_tools = false }):events() do
          seen[event.type] = event
        end
        assert(seen.settled.stop == "tool_calls" and not seen.tool_result)
        assert(agent:set_config(config))
        "#,
    );
    let request = machine.protocol.requests().remove(0).request;
    let named = pantograph::protocol::ToolChoice::Named("weather".to_owned());
    assert_eq!(request.tool_choice, named);
}

#[test]
fn settings_can_be_read_and_set() {
    let machine = talking("Hi.");
    machine.exec(
        r#"
        assert(config.model == "scripted:demo" and config.wire_model == "demo")
        assert(config.style == "scripted" and config.reasoning == nil)
        assert(not pcall(function() return config.protocol.key end))
        local agent = new_agent { system = "Be brief." }
        assert(#agent:session_id() == 36)
        assert(agent:system_prompt() == "Be brief.")
        assert(agent:set_system_prompt("Be long."))
        assert(agent:system_prompt() == "Be long.")
        agent:set_system_prompt(nil)
        assert(agent:system_prompt() == nil)
        assert(agent:add_system_message("Rule.", { by = "host" }))
        assert(agent:add_user_message("Said before."))
        assert(agent:conversation():message_metadata(1).by == "host")
        for _ in agent:run("Hello."):events() do end
        assert(agent:conversation():len() == 4)
        assert(agent:set_message_metadata(2, { n = 1 }))
        assert(agent:conversation():message_metadata(2).n == 1)
        -- A snapshot is Lua's own.
        agent:conversation():set_message_metadata(2, { n = 2 })
        assert(agent:conversation():message_metadata(2).n == 1)
        assert(refused(agent:set_message_metadata(9, {})) == "the conversation has only 4 messages")
        assert(refused(new_agent():compact()) == "there is nothing to compact yet")
        for _ in agent:run({ { type = "text", text = "More." } }):events() do end
        assert(agent:compact("Keep names."))
        assert(agent:conversation():transcript():find("^%[summary of earlier messages%]"))
        "#,
    );
}

#[test]
fn what_cannot_begin_says_why() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local store = panto.null_store()
        return table.concat({
          raised(function() panto.agent() end),
          raised(function() panto.agent { store = store } end),
          raised(function() panto.agent { config = {}, store = store } end),
          raised(function() panto.agent { config = config } end),
          raised(function() panto.agent { config = config, store = "x" } end),
          raised(function() panto.agent { config = config, store = store, sytem = "x" } end),
          refused(panto.agent { config = config, store = {} }),
          refused(panto.agent { config = config, store = store, session_id = "x" }),
          refused(panto.agent { config = config, store = store,
            session_id = "0198c0de-0000-7000-8000-00000000abcd" }),
          refused(new_agent():submit("x")),
          refused(new_agent():register_tool { name = "t", description = "", schema = { type = "object" },
            handler = print }),
          raised(function() new_agent():set_tools({ { name = "t" } }) end),
          raised(function() new_agent():set_tools({ { name = "a b", description = "",
            schema = { type = "object" } } }) end),
          raised(function() new_agent():set_tools({ { name = "t", description = "", schema = {} } }) end),
          raised(function() new_agent():set_config { tool_choice = "some" } end),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @r#"
    test:4: bad argument 'options' to 'agent' (table expected, got nil)
    test:5: bad argument 'config' to 'agent' (panto.Config expected, got nil)
    test:6: bad argument 'config' to 'agent' (panto.Config expected, got table)
    test:7: bad argument 'store' to 'agent' (panto.Store expected, got nil)
    test:8: bad argument 'store' to 'agent' (panto.Store expected, got string)
    test:9: bad argument 'options' to 'agent' (unknown field `sytem`; it takes `config`, `store`, `session_id`, `cwd`, `system`, `label`)
    this host takes no Lua tables as stores; use panto.null_store or panto.file_system_jsonl_store
    `x` is not a session id: expected a UUID in lower-case, hyphenated form
    no session `0198c0de-0000-7000-8000-00000000abcd`
    submit is for the session's own agent, panto.ext.agent; start a turn of this agent with run or run_async, and steer a job with job:control():steer()
    register_tool is refused: this host runs no Lua tools of one agent alone
    test:17: bad argument 'tools[1].description' to 'set_tools' (string expected, got nil)
    test:18: bad argument 'tools[1]' to 'set_tools' (`a b` is not a tool name: expected 1 to 64 letters, digits, `_`, `-` or `.`, and a letter or `_` first)
    test:20: bad argument 'tools[1]' to 'set_tools' (the schema of `t` must have `"type": "object"` at its root)
    test:21: bad argument 'tool_choice' to 'set_config' (expected "auto", "none", "required" or { name = "tool" })
    "#);
}

#[test]
fn a_closed_agent_answers_that_it_is_and_frees_its_session() {
    let machine = talking("Hi.");
    machine.exec(
        r#"
        local agent = new_agent()
        do local also <close> = new_agent() end
        assert(agent:close())
        assert(agent:close())
        assert(refused(agent:run("x")) == "the agent is closed; make another with panto.agent")
        assert(refused(agent:session_id()) == "the agent is closed; make another with panto.agent")
        "#,
    );
}

/// Answers calls with the name of the tool.
struct Named;

impl LocalTools for Named {
    fn adopt(
        &self,
        _: &Lua,
        declaration: &ToolDeclaration,
        _: Function,
    ) -> Result<Arc<dyn ToolSource>, String> {
        struct Source(ToolDeclaration);
        impl ToolSource for Source {
            fn declarations(&self) -> Vec<ToolDeclaration> {
                vec![self.0.clone()]
            }
            fn invoke_batch(&self, batch: ToolBatch) {
                for call in batch.calls {
                    call.reply
                        .finish(ToolOutput::text(format!("own {}", call.tool_name)));
                }
            }
        }
        Ok(Arc::new(Source(declaration.clone())))
    }
}

#[test]
fn an_agents_own_tool_stands_beside_the_shared_ones() {
    let script = Script::new()
        .step(
            Step::call("weather", json!({"city": "x"}))
                .then(pantograph_scripted::Call::new("own", json!({}))),
        )
        .step("Done.");
    let machine = machine_with(script, |embedding| {
        embedding
            .tools(Arc::new(weather()))
            .local_tools(Rc::new(Named))
    });
    let outputs = machine.text(
        r#"
        local agent = new_agent()
        agent:set_tools({ { name = "weather", description = "", schema = { type = "object" } } })
        assert(agent:register_tool { name = "own", description = "", schema = { type = "object" },
          handler = print })
        assert(#agent:tools() == 2)
        local outputs = {}
        for event in agent:run("x"):events() do
          if event.type == "tool_result" then outputs[event.tool_name] = event.output end
        end
        assert(refused(agent:run_async { prompt = "x" }):find("use run,", 1, true))
        return outputs.own .. ", " .. outputs.weather
        "#,
    );
    assert_eq!(outputs, r#"own own, rain for {"city":"x"}"#);
}

struct Lent(Option<Agent>);

impl Lender for Lent {
    fn agent(&self) -> Option<Agent> {
        self.0.clone()
    }

    fn submit(&self, agent: &Agent, submission: Submission) {
        agent.submit(submission);
    }
}

#[test]
fn a_borrowed_agent_can_be_read_set_and_submitted_to_but_not_run() {
    let machine = machine(Script::new());
    let protocol = machine.protocol.clone();
    let model = pantograph::Model::new(pantograph::ModelRef::parse("scripted:demo").unwrap());
    let agent = Agent::builder(Arc::new(protocol), model).ephemeral();
    let lent = Rc::new(Lent(Some(agent.clone())));
    let borrowed = machine.module.borrowed(&machine.lua, lent).unwrap();
    machine.lua.globals().set("agent", borrowed).unwrap();
    let gone = machine.module.borrowed(&machine.lua, Rc::new(Lent(None)));
    machine.lua.globals().set("gone", gone.unwrap()).unwrap();
    let text = machine.text(
        r#"
        assert(agent:set_system_prompt("x") and agent:system_prompt() == "x")
        assert(agent:set_tools({}) and #agent:tools() == 0)
        assert(agent:conversation():len() == 0)
        assert(agent:submit("now"))
        assert(agent:submit({ { type = "text", text = "later" } }, { followup = true }))
        return table.concat({
          refused(agent:run("x")), refused(agent:run_async { prompt = "x" }), refused(agent:compact()),
          refused(agent:register_tool { name = "t", description = "", schema = { type = "object" },
            handler = print }),
          refused(agent:close()), refused(gone:session_id()), refused(gone:submit("x")),
          raised(function() agent:submit(nil) end),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    run is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent
    run_async is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent
    compact is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent
    register_tool is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent
    close is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent
    there is no session agent here (any longer)
    there is no session agent here (any longer)
    test:12: bad argument 'prompt' to 'submit' (string or list of blocks expected, got nil)
    ");
    let queued = agent.queued();
    let timings: Vec<_> = queued
        .iter()
        .map(|queued| queued.submission.timing)
        .collect();
    assert_eq!(timings, [Timing::Steering, Timing::FollowUp]);
}

#[test]
fn a_label_is_short_and_on_one_line() {
    let machine = talking("Hi.");
    let text = machine.text(
        r#"
        assert(new_agent { label = "the reviewer (größer)" })
        assert(new_agent { label = ("x"):rep(100) })
        local said = {}
        for _, label in ipairs { "", ("x"):rep(101), "two\nlines", 1 } do
          said[#said + 1] = raised(function()
            panto.agent { config = config, store = panto.null_store(), label = label }
          end)
        end
        return table.concat(said, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    test:7: bad argument 'label' to 'agent' (from 1 to 100 bytes without control characters expected)
    test:7: bad argument 'label' to 'agent' (from 1 to 100 bytes without control characters expected)
    test:7: bad argument 'label' to 'agent' (from 1 to 100 bytes without control characters expected)
    test:7: bad argument 'label' to 'agent' (string expected, got number)
    ");
}
