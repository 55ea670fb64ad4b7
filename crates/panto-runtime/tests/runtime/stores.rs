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
const STORE: &str = r#"
json = panto.json
function new_store()
  local store = { lines = {}, ids = {} }
  function store:create(header)
    note("create " .. header.type .. " " .. header.cwd)
    assert(not self.lines[header.id])
    self.lines[header.id] = { assert(json.encode(header)) }
    table.insert(self.ids, 1, header.id)
  end
  function store:append(id, records)
    local roles = {}
    for _, record in ipairs(records) do
      table.insert(self.lines[id], (assert(json.encode(record))))
      roles[#roles + 1] = record.role or record.type
    end
    note("append " .. table.concat(roles, " "))
    return true
  end
  function store:load(id)
    local lines = self.lines[id]
    if not lines then
      return nil
    end
    local records = {}
    for i = 2, #lines do
      records[i - 1] = assert(json.decode(lines[i]))
    end
    return { header = assert(json.decode(lines[1])), records = records }
  end
  function store:list()
    local list = {}
    for i, id in ipairs(self.ids) do
      list[i] = { id = id }
    end
    return list
  end
  function store:resolve(prefix)
    for _, id in ipairs(self.ids) do
      if id:sub(1, #prefix) == prefix then
        return id
      end
    end
  end
  function store:latest()
    return self.ids[1]
  end
  return store
end
store = new_store()
-- Runs a turn to its end, and gives how.
function finish(stream)
  local last
  for event in assert(stream):events() do
    last = event
  end
  assert(last.type == "settled")
  return last
end
-- Whether two values are equal, tables by what they hold.
function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if not same(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end
function new_agent(options)
  options = options or {}
  return assert(panto.agent {
    config = config, store = options.store or store, session_id = options.session_id, cwd = "/project",
  })
end
"#;

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
            local none, message = panto.agent { config = config, store = store, session_id = id }
            assert(not none and message:find("in use by this process", 1, true), message)
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
    test:5: bad argument 'store' to 'agent' (the store raised an error: the store failed: test:17: none)
    test:5: bad argument 'store' to 'agent' (the store raised an error: the store failed: yielded, but this entrypoint must not await; its caller needs the result now)
    ");
}
