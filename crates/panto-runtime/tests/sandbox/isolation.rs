//! What a chunk cannot get at.

use panto_runtime::sandbox::{Outcome, Sandbox, Value};
use serde_json::json;

use crate::support::{failure, patient, returned, sandbox};

#[test]
fn what_leads_out_is_not_there() {
    let names = [
        "os",
        "io",
        "debug",
        "package",
        "require",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "collectgarbage",
        "print",
        "warn",
        "string.dump",
        "string.pack",
        "coroutine.close",
        "_ENV.os",
        "rawget(_G, 'io')",
    ];
    let source = format!(
        "return {}",
        names.map(|name| format!("tostring({name})")).join(", ")
    );
    assert_eq!(returned(&source), json!(vec!["nil"; names.len()]));
}

#[test]
fn the_metatable_of_strings_is_out_of_reach() {
    let results = returned(
        "local found = getmetatable('')
         local ok = pcall(setmetatable, '', {})
         return tostring(found), ok, tostring(('').__index), tostring(('').x)",
    );
    assert_eq!(results, json!(["nil", false, "nil", "nil"]));
}

#[test]
fn finalizers_are_refused_now_and_never_run_later() {
    assert_eq!(
        failure("setmetatable({}, { __gc = function() end })"),
        "chunk:1: '__gc' is not available here"
    );
    // Set later, it is not looked for.
    let results = returned(
        "local ran = 0
         local metatable = {}
         for i = 1, 100 do setmetatable({}, metatable) end
         metatable.__gc = function() ran = ran + 1 end
         for i = 1, 200000 do local garbage = {} end
         return ran",
    );
    assert_eq!(results, json!([0]));
}

#[test]
fn bytecode_is_refused() {
    let bytecode = mlua::Lua::new()
        .load("return 1")
        .into_function()
        .unwrap()
        .dump(false);
    let outcome = sandbox(patient()).run("chunk", bytecode, vec![]).wait();
    let message = "attempt to load a binary chunk (mode is 't')";
    let Outcome::Failed(said) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(said.ends_with(message), "{said}");
}

#[test]
fn sandboxes_do_not_see_each_other() {
    let mut first = sandbox(patient());
    let poison = "string.upper = function() return 'poisoned' end
        math.max = nil
        _G.secret = 1
        getmetatable(setmetatable({}, {})).x = 1";
    first.run("poison", poison, vec![]).wait();
    let results = returned("return ('x'):upper(), math.max(1, 2), tostring(secret)");
    assert_eq!(results, json!(["X", 2, "nil"]));
}

#[test]
fn a_library_that_a_chunk_breaks_is_only_its_own() {
    let results = returned(
        "for name in pairs(string) do string[name] = nil end
         for name in pairs(table) do table[name] = nil end
         for name in pairs(coroutine) do coroutine[name] = nil end
         for name in pairs(math) do math[name] = nil end
         local kept = { pcall = pcall, tostring = tostring, setmetatable = setmetatable }
         for name in pairs(_G) do if name ~= '_G' then _G[name] = nil end end
         local ok, message = kept.pcall(function() return nil + 1 end)
         return ok, message, kept.tostring(1)",
    );
    assert_eq!(
        results,
        json!([
            false,
            "chunk:7: attempt to perform arithmetic on a nil value",
            "1"
        ])
    );
}

#[test]
fn no_address_of_the_host_is_told() {
    let results = returned(
        "return tostring({}), tostring(print or error), tostring(coroutine.running()), tostring(math.floor),
           ('%s'):format({}), pcall(string.format, '%p', {})",
    );
    assert_eq!(
        results,
        json!([
            "table",
            "function",
            "thread",
            "function",
            "table",
            false,
            "invalid conversion '%p' to 'format'"
        ])
    );
}

#[test]
fn tags_of_the_library_cannot_be_forged() {
    let results = returned(
        "local co = coroutine.wrap(function() coroutine.yield('parked') coroutine.yield() return 'parked' end)
         return tostring(co()), tostring(co()), tostring(co())",
    );
    assert_eq!(results, json!(["parked", "nil", "parked"]));
}

#[test]
fn error_values_are_flattened_without_running_anything() {
    let endless =
        "setmetatable({}, { __tostring = function() while true do end end, __name = 'x' })";
    assert_eq!(
        failure(&format!("error({endless})")),
        "(the error is a table value)"
    );
    // Inside they stay what they are.
    let results = returned("local _, e = pcall(error, { code = 7 }) return e.code");
    assert_eq!(results, json!([7]));
}

#[test]
fn messages_have_a_bound() {
    let message = failure("error(('x'):rep(1e6))");
    assert!(message.len() < 5000);
}

#[test]
fn a_sandbox_can_be_held_by_any_thread() {
    fn is_send<T: Send>() {}
    is_send::<Sandbox>();
    is_send::<Value>();
}
