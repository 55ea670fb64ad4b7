//! What a host sees of the module, and what it may get wrong.

use std::sync::Arc;

use mlua::{Lua, Value};
use panto_lua::{Embedding, Module, open, values};
use pantograph_scripted::{Script, ScriptedProtocol, Step};

use crate::support::{config, machine, talking};

#[test]
fn a_state_has_one_module() {
    let machine = talking("");
    let embedding = Embedding::new(machine.runtime.handle().clone());
    assert!(open(&machine.lua, embedding).is_err());
}

#[test]
fn a_runtime_that_waits_for_itself_is_told_and_does_not_hang() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let lua = Lua::new();
    let module = open(&lua, Embedding::new(runtime.handle().clone())).unwrap();
    let protocol = ScriptedProtocol::new(Script::new().step(Step::text("Hi.").repeated()));
    let globals = lua.globals();
    globals.set("panto", module.table().clone()).unwrap();
    globals
        .set("config", module.config(&lua, config(&protocol)).unwrap())
        .unwrap();
    runtime.block_on(async {
        lua.load(
            r#"
            local agent = panto.agent { config = config, store = panto.null_store() }
            local stream = agent:run("x")
            local ok, message = pcall(function() return stream:next() end)
            assert(not ok and message:find("driven by this thread", 1, true))
            local store = panto.file_system_jsonl_store { dir = "/nowhere" }
            local list, why = store:list()
            assert(not list and why:find("driven by this thread", 1, true))
            job = panto.agent({ config = config, store = panto.null_store() })
              :run_async { prompt = "x" }
            "#,
        )
        .exec()
        .unwrap();
        // A job needs nobody to wait.
        lua.load("stream = nil collectgarbage() collectgarbage()")
            .exec()
            .unwrap();
        module.turns().settled().await;
    });
    lua.load(r#"assert(job:result().text == "Hi.")"#)
        .exec()
        .unwrap();
}

#[test]
fn a_host_makes_functions_of_the_same_manners() {
    let machine = machine(Script::new());
    let lua = &machine.lua;
    let json = machine.module.json().clone();
    let function = machine
        .module
        .function(lua, "gather", move |lua, mut args| {
            let data = json.argument(&args.next("data"))?;
            let later = async move { data };
            let json = json.clone();
            Module::later(lua, later, move |lua, data| {
                values(lua, json.value_to_lua(lua, &data)?)
            })
        });
    lua.globals().set("gather", function.unwrap()).unwrap();
    machine.exec(
        r#"
        assert(gather({ 1, { a = "b" } })[2].a == "b")
        assert(raised(function() gather({ print }) end)
          == "test:3: bad argument 'data' to 'gather' ([1] is a function, which JSON cannot say)")
        "#,
    );
    let json = machine.module.json();
    let value = json.decode(lua, b"[1, null]").unwrap();
    assert_eq!(json.encode(&value).unwrap(), "[1,null]");
    assert!(json.encode(&Value::Nil).is_err());
}

#[test]
fn messages_and_blocks_cross_in_both_directions() {
    let machine = talking("Hi.");
    let lua = &machine.lua;
    let function = machine.module.function(lua, "blocks", |lua, mut args| {
        let blocks = Module::blocks(&args.next("blocks"))?;
        values(lua, blocks.len())
    });
    lua.globals().set("blocks", function.unwrap()).unwrap();
    machine.exec(r#"assert(blocks("x") == 1 and blocks({ { type = "text", text = "" } }) == 1)"#);
    let agent = pantograph::Agent::builder(
        Arc::new(machine.protocol.clone()),
        pantograph::Model::new(pantograph::ModelRef::parse("scripted:demo").unwrap()),
    )
    .ephemeral();
    machine.runtime.block_on(agent.ask("Hi.")).unwrap();
    let conversation = agent.conversation();
    let message = conversation.last().unwrap();
    let table = machine.module.message(lua, message).unwrap();
    assert_eq!(table.get::<String>("role").unwrap(), "assistant");
}

#[test]
fn finalizers_may_use_what_is_in_use() {
    let machine = talking("Hello there.");
    machine.pipe();
    machine.exec(
        r#"
        local conv = panto.conversation()
        local agent = new_agent()
        local job = assert(agent:run_async { prompt = "x", wake_fd = pipe.fd })
        repeat pipe.wait() until job:result()
        local stream = new_agent():run("x")
        local taken = 0
        -- A garbage collection at about every allocation, each with a finalizer.
        collectgarbage("generational")
        local function trap()
          setmetatable({}, { __gc = function()
            if job:next_event() then taken = taken + 1 end
            stream:cancel()
            conv:add_user_message("from a finalizer")
            local _ = conv:transcript(), conv:messages()
          end })
        end
        for _ = 1, 300 do
          trap()
          collectgarbage("step")
          local event = job:next_event()
          if event then taken = taken + 1 end
          local _ = event and event.text
          conv:add_user_message("x", { a = 1 })
          conv:set_message_metadata(1, { b = {} })
          _ = conv:transcript(), conv:messages()
        end
        collectgarbage()
        assert(taken > 0)
        "#,
    );
}

#[test]
fn a_long_wait_inside_a_runtime_goes_on() {
    // More events than a task may take before it has to return.
    let step = Step::new().then(pantograph_scripted::Text::new("x").count(2_000));
    let machine = machine(Script::new().step(step));
    machine.runtime.block_on(async {
        machine.exec(
            r#"
            local count = 0
            for _ in new_agent():run("x"):events() do count = count + 1 end
            assert(count > 2000)
            local store = panto.file_system_jsonl_store { dir = "/nowhere" }
            for _ = 1, 300 do assert(store:list()) end
            "#,
        );
    });
}
