use insta::assert_snapshot;
use mlua::{Lua, Table};
use panto_lua::{Embedding, TableStores};
use pantograph::{FileSystemJsonlStore, SessionStore};
use pantograph_scripted::{Script, Step};
use std::rc::Rc;
use std::sync::Arc;

use crate::support::{Machine, machine_with, talking};

fn in_directory(machine: &Machine) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions");
    machine.lua.globals().set("dir", path).unwrap();
    machine
        .lua
        .globals()
        .set("pid", std::process::id())
        .unwrap();
    machine.exec("store = panto.file_system_jsonl_store { dir = dir }");
    directory
}

#[test]
fn a_session_is_made_listed_loaded_and_gone_on_with() {
    let machine = talking("Hello.");
    let _directory = in_directory(&machine);
    machine.exec(
        r#"
        assert(#store:list() == 0)
        assert(store:latest() == nil and select('#', store:latest()) == 1)
        local agent = new_agent { store = store, cwd = "/project" }
        local id = agent:session_id()
        -- Nothing is on disk before the first answer.
        assert(#store:list() == 0)
        for _ in agent:run { prompt = "Say hello.", metadata = { key = "v", n = 1 } }:events() do end
        agent:set_message_metadata(2, { kind = "answer" })
        assert(store:latest() == id and store:resolve(id:sub(1, 35)) == id)
        local info = store:list()[1]
        assert(info.id == id and info.message_count == 2 and info.last_user_message == "Say hello.")
        assert(info.api_style == "scripted" and info.model == "scripted:demo")
        assert(info.created:match("^%d+%-%d+%-%d+T%d+:%d+:%d+.*Z$") and info.modified >= info.created)
        assert(#store:list_bounded(0) == 0 and #store:list_bounded { limit = 5 } == 1)

        -- In use until the agent goes.
        assert(store:holder(id) == pid or store:holder(id) == true)
        assert(refused(panto.agent { config = config, store = store, session_id = id })
          :find("in use by this process", 1, true))
        local conv = store:load(id)
        assert(conv:len() == 2 and conv:message_metadata(1).n == 1)
        assert(conv:message_metadata(2).kind == "answer")
        conv:add_user_message("Only here.")
        agent:close()
        assert(store:holder(id) == nil and select('#', store:holder(id)) == 1)
        local again = new_agent { store = store, session_id = id }
        assert(again:conversation():len() == 2)
        assert(again:conversation():message_metadata(2).kind == "answer")
        for _ in again:run("And again."):events() do end

        local function roles(options)
          local list = {}
          for _, message in ipairs(store:load_messages(id, options)) do
            list[#list + 1] = message.role .. ":" .. message.blocks[1].text
          end
          return table.concat(list, " ")
        end
        assert(roles() == "user:Say hello. assistant:Hello. user:And again. assistant:Hello.")
        assert(roles { limit = 1 } == "user:Say hello.")
        assert(roles { limit = 1, from_end = true, role = "user" } == "user:And again.")
        assert(roles { metadata_key = "key" } == "user:Say hello.")
        assert(roles { max_bytes = 1, from_end = true } == "assistant:Hello.")
        "#,
    );
}

#[test]
fn what_a_store_cannot_do_is_told() {
    let machine = talking("");
    let _directory = in_directory(&machine);
    let text = machine.text(
        r#"
        local id = "0198c0de-0000-7000-8000-00000000abcd"
        return table.concat({
          refused(store:load(id)), refused(store:load("nope")), refused(store:resolve("x")),
          refused(store:load_messages(id)), refused(panto.null_store():load(id)),
          raised(function() store:load() end), raised(function() store:list_bounded(-1) end),
          raised(function() store:list_bounded(1.5) end), raised(function() store:list_bounded() end),
          raised(function() store:list_bounded { limits = 1 } end),
          raised(function() store:load_messages(id, { role = "x" }) end),
          raised(function() store:load_messages(id, { from_end = 1 }) end),
          raised(function() panto.file_system_jsonl_store() end),
          raised(function() panto.file_system_jsonl_store { dir = "" } end),
          raised(function() panto.file_system_jsonl_store { dir = 1 } end),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    no session `0198c0de-0000-7000-8000-00000000abcd`
    `nope` is not a session id: expected a UUID in lower-case, hyphenated form
    no session `x`
    no session `0198c0de-0000-7000-8000-00000000abcd`
    no session `0198c0de-0000-7000-8000-00000000abcd`
    test:6: bad argument 'id' to 'load' (string expected, got nil)
    test:6: bad argument 'limit' to 'list_bounded' (must not be negative, got -1)
    test:7: bad argument 'limit' to 'list_bounded' (integer expected, got 1.5)
    test:7: bad argument 'limit' to 'list_bounded' (integer expected, got nil)
    test:8: bad argument 'limit' to 'list_bounded' (unknown field `limits`; it takes `limit`)
    test:9: bad argument 'role' to 'load_messages' (expected one of system, user, assistant, tool)
    test:10: bad argument 'from_end' to 'load_messages' (boolean expected, got number)
    test:11: bad argument 'options' to 'file_system_jsonl_store' (table expected, got nil)
    test:12: bad argument 'dir' to 'file_system_jsonl_store' (a path expected)
    test:13: bad argument 'dir' to 'file_system_jsonl_store' (string expected, got number)
    ");
}

#[test]
fn failures_of_sessions_have_a_code() {
    let machine = talking("Hello.");
    let _directory = in_directory(&machine);
    machine.exec(
        r#"
        local function code(...)
          assert(select('#', ...) == 3, "no third value")
          refused(...)
          return (select(3, ...))
        end
        local function write(name, text)
          local file = assert(io.open(dir .. "/" .. name .. ".jsonl", "w"))
          assert(file:write(text))
          file:close()
        end
        local unknown = "0198c0de-0000-7000-8000-00000000abcd"
        assert(code(store:load(unknown)) == "not_found")
        assert(code(store:load_messages(unknown)) == "not_found")
        assert(code(store:resolve("x")) == "not_found")
        assert(code(store:holder(unknown)) == "not_found")
        assert(code(store:holder("nope")) == "bad_id")
        assert(code(panto.null_store():holder(unknown)) == "store")
        assert(code(store:load("nope")) == "bad_id")
        assert(code(panto.agent { config = config, store = store, session_id = unknown }) == "not_found")
        assert(code(panto.agent { config = config, store = store, session_id = "nope" }) == "bad_id")

        local agent = new_agent { store = store, cwd = "/project" }
        for _ in agent:run("Say hello."):events() do end
        local id = agent:session_id()
        assert(code(panto.agent { config = config, store = store, session_id = id }) == "in_use_here")
        agent:close()
        local file = assert(io.open(dir .. "/" .. id .. ".jsonl"))
        local text = file:read("a")
        file:close()

        local other = id:sub(1, -2) .. (id:sub(-1) == "0" and "1" or "0")
        local pattern = id:gsub("%-", "%%-")
        text = text:gsub(pattern, other)
        write(other, text)
        assert(code(store:resolve(id:sub(1, -2))) == "ambiguous")
        local header, rest = text:match("^(.-\n)(.*)$")
        write(other, header .. "garbage\n" .. rest)
        assert(code(store:load(other)) == "corrupt")
        write(other, header:gsub('"version":%d+', '"version":99') .. rest)
        assert(code(store:load(other)) == "newer_version")
        local broken = panto.file_system_jsonl_store { dir = dir .. "/" .. id .. ".jsonl" }
        assert(code(broken:list()) == "io")

        -- What cannot be stored, however deep the session's failure lies.
        agent = new_agent { store = broken }
        assert(agent:add_user_message("Waits for an answer."))
        local event
        for next in agent:run("Say hello."):events() do event = next end
        assert(event.error_kind == "session", event.error_kind)
        assert(code(agent:add_system_message("More.")) == "io")

        -- Another kind of failure has none.
        assert(select('#', agent:compact()) == 2)
        agent:close()
        assert(select('#', agent:session_id()) == 2)
        "#,
    );
}

#[test]
fn stores_that_reach_their_limits_do_not_break_lists() {
    let machine = talking("");
    machine.exec(
        r#"
        local store = panto.null_store()
        assert(#store:list() == 0 and #store:list_bounded(math.maxinteger) == 0)
        assert(#store:list_bounded(3.0) == 0 and store:latest() == nil)
        "#,
    );
}

/// Takes a table for the store in the directory that it names.
struct Directories;

impl TableStores for Directories {
    fn adopt(&self, _: &Lua, table: Table) -> Result<Arc<dyn SessionStore>, String> {
        match table.raw_get::<Option<String>>("directory") {
            Ok(Some(directory)) => Ok(Arc::new(FileSystemJsonlStore::new(directory))),
            _ => Err("a store needs a `directory`".to_owned()),
        }
    }
}

#[test]
fn a_host_may_make_stores_of_tables() {
    let script = Script::new().step(Step::text("Hi.").repeated());
    let adopting = |embedding: Embedding| embedding.table_stores(Rc::new(Directories));
    let machine = machine_with(script, adopting);
    let _directory = in_directory(&machine);
    machine.exec(
        r#"
        local agent = new_agent { store = { directory = dir } }
        for _ in agent:run("x"):events() do end
        assert(store:latest() == agent:session_id())
        assert(agent:set_message_metadata(1, { a = 1 }))
        assert(store:load(store:latest()):message_metadata(1).a == 1)
        assert(raised(function() panto.agent { config = config, store = {} } end)
          == "test:7: bad argument 'store' to 'agent' (a store needs a `directory`)")
        "#,
    );
    let files: Arc<dyn SessionStore> = Arc::new(pantograph::session::NullStore);
    let store = machine.module.store(&machine.lua, files).unwrap();
    machine.lua.globals().set("lent", store).unwrap();
    machine.exec("assert(#lent:list() == 0)");
}
