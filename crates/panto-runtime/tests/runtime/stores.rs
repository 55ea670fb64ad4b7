//! Session stores that are Lua tables.

mod conformance;
mod failures;
mod waiting;

use std::sync::Arc;

use mlua::Table;
use pantograph::SessionStore;
use pantograph_scripted::{Call, Script, Step};
use serde_json::json;

use crate::support::{Machine, machine};

/// A store that keeps each session as lines of JSON.
const STORE: &str = include_str!("stores/store.lua");

/// A machine whose Lua has such a store, and a model that plays `script`.
fn with_store(script: Script) -> Machine {
    let machine = machine();
    machine.lua.load(STORE).set_name("=store").exec().unwrap();
    machine.config("config", script);
    machine
}

fn saying(text: &str) -> Machine {
    with_store(Script::new().step(Step::text(text).repeated()))
}

/// A global table as a store for Rust.
fn store_of(machine: &Machine, name: &str) -> Arc<dyn SessionStore> {
    let table: Table = machine.lua.globals().get(name).unwrap();
    machine.runtime.handle().session_store(table).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_kept_by_lua_and_gone_on_with() {
    let picture = |n: u32| Step::new().then(Call::new("picture", json!({ "n": n })));
    let script = Script::new()
        .step(picture(1).then(Call::new("picture", json!({ "n": 2 }))))
        .step("Seen.")
        .step(picture(3))
        .step("Again.")
        .step("A summary.")
        .step(Step::text("After all.").repeated());
    let mut machine = with_store(script);
    machine.tool(
        "picture",
        "sleep(1) return { text = 'n' .. input.n, attachments = { { media_type = 'image/png', data = '\\0\\xff' } } }",
    );
    let declared = r#"{ { name = "picture", description = "x", schema = { type = "object" } } }"#;
    machine
        .drive::<()>(&format!(
            r#"
            local agent = new_agent()
            assert(agent:set_tools({declared}))
            id = agent:session_id()
            assert(agent:add_system_message("Be brief.", {{ manifest = {{ v = 1, list = json.array {{}} }} }}))
            assert(#store.ids == 0, "nothing is kept before the first answer")
            local picture = {{ type = "attachment", media_type = "image/jpeg", data = "\xff\xd8" }}
            assert(finish(agent:run {{ blocks = {{ {{ type = "text", text = "Look." }}, picture }}, metadata = {{ big = 2^53 }} }}).stop == "end")
            assert(finish(agent:run("Once more.")).stop == "end")
            assert(agent:set_message_metadata(2, {{ seen = true, none = json.null }}))
            assert(agent:compact())
            assert(finish(agent:run("And now?")).stop == "end")
            before = agent:conversation():messages()
            agent:close()

            local again = new_agent {{ session_id = store:resolve(id:sub(1, 30)) }}
            after = again:conversation():messages()
            assert(same(before, after))
            assert(again:session_id() == id and store:latest() == id)
            assert(again:set_tools({declared}))
            assert(finish(again:run("Go on.")).stop == "end")
            again:close()
            "#
        ))
        .await;
    insta::assert_snapshot!(machine.log().join("\n"), @"
    create session /project
    append system user assistant
    append tool
    append assistant
    append user
    append assistant
    append tool
    append assistant
    append metadata
    append compaction
    append user
    append assistant
    append user
    append assistant
    ");
    let text: String = machine.eval(
        r#"
        local lines = {}
        for _, message in ipairs(after) do
          local blocks = {}
          for _, block in ipairs(message.blocks) do
            blocks[#blocks + 1] = block.text or block.type
          end
          lines[#lines + 1] = message.role .. ": " .. table.concat(blocks, ", ")
        end
        return table.concat(lines, "\n")
        "#,
    );
    insta::assert_snapshot!(text, @"
    system: Be brief.
    user: A summary.
    user: Once more.
    assistant: tool_call
    tool: tool_result
    assistant: Again.
    user: And now?
    assistant: After all.
    ");
    // Every line is the same after a program that knows nothing of it.
    machine.exec(
        r#"
        for _, line in ipairs(store.lines[id]) do
          assert(json.encode(assert(json.decode(line))) == line)
        end
        "#,
    );
    assert_eq!(machine.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_an_answer_is_never_heard_of() {
    let mut machine = saying("Hi.");
    machine
        .drive::<()>(
            r#"
            local agent = new_agent()
            assert(agent:add_user_message("Is anybody there?"))
            agent:close()
            assert(#store:list() == 0 and #log == 0)
            "#,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn one_agent_at_a_time_writes_to_a_session() {
    let mut machine = saying("Hi.");
    machine
        .drive::<()>(
            r#"
            local agent = new_agent()
            finish(agent:run("x"))
            local id = agent:session_id()
            local none, message, code = panto.agent { config = config, store = store, session_id = id }
            assert(not none and message:find("in use by this process", 1, true), message)
            assert(code == "in_use_here", code)
            -- Another table is another store, and reading needs no lock.
            local other = new_store()
            other.lines = store.lines
            new_agent { store = other, session_id = id }:close()
            -- Who lets go lets the next one in, also without saying so.
            agent:close()
            agent = new_agent { session_id = id }
            agent = nil
            collectgarbage()
            collectgarbage()
            new_agent { session_id = id }:close()
            -- One that does not open holds nothing.
            local unknown = "0198c0de-0000-7000-8000-00000000abcd"
            for _ = 1, 2 do
              none, message = panto.agent { config = config, store = store, session_id = unknown }
              assert(not none and message == "no session `" .. unknown .. "`", message)
            end
            "#,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_may_be_an_object_of_a_class() {
    let mut machine = saying("Hi.");
    machine
        .drive::<()>(
            r#"
            local object = setmetatable({ lines = {}, ids = {} }, { __index = new_store() })
            local agent = new_agent { store = object }
            finish(agent:run("x"))
            assert(#object.lines[agent:session_id()] == 3 and object:latest() == agent:session_id())
            "#,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_no_store_is_refused_where_it_is_given() {
    let machine = saying("Hi.");
    let text: String = machine.eval(
        r#"
        local lines = {}
        local function try(store)
          local ok, message = pcall(function()
            panto.agent { config = config, store = store }
          end)
          lines[#lines + 1] = message
        end
        for _, name in ipairs { "create", "load", "append", "list", "resolve", "latest" } do
          local store = new_store()
          store[name] = nil
          try(store)
        end
        local store = new_store()
        store.append = "x"
        try(store)
        try(setmetatable({}, { __index = function() error("none") end }))
        try(setmetatable({}, { __index = function() coroutine.yield() end }))
        return table.concat(lines, "\n")
        "#,
    );
    insta::assert_snapshot!(text, @"
    test:5: bad argument 'store' to 'agent' (a store needs a function `create`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `load`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `append`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `list`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `resolve`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `latest`, got nil; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a store needs a function `append`, got string; it has `create`, `load`, `append`, `list`, `resolve`, `latest`)
    test:5: bad argument 'store' to 'agent' (a method could not be read from it: test:17: none)
    test:5: bad argument 'store' to 'agent' (a method could not be read from it: yielded, but this entrypoint must not await; its caller needs the result now)
    ");
}

#[tokio::test(start_paused = true)]
async fn the_example_of_the_page_runs() {
    const PAGE: &str = include_str!("../../../../docs/lua.md");
    let examples = PAGE.split("```lua store\n").skip(1);
    let examples: Vec<&str> = examples
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        saying("Hello.").drive::<()>(example).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_nobody_uses_is_collected() {
    let mut machine = saying("Hi.");
    machine
        .drive::<()>(
            r#"
            weak = setmetatable({}, { __mode = "v" })
            local store = new_store()
            weak[1] = store
            local agent = new_agent { store = store }
            store = nil
            collectgarbage()
            assert(finish(agent:run("x")).stop == "end")
            assert(weak[1], "an agent needs it")
            agent:close()
            "#,
        )
        .await;
    // The last agent's task lets go of it.
    let lua = machine.lua.clone();
    let collected = async {
        while !lua
            .load("collectgarbage() return #weak == 0")
            .eval::<bool>()
            .unwrap()
        {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    machine.runtime.run_until(collected).await;
}
