//! Errors that callbacks raise.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::Lua;
use panto_luv::Options;

use crate::support::Bench;

#[test]
fn an_uncaught_error_goes_to_the_host_and_the_loop_goes_on() {
    let bench = Bench::new();
    bench.eval::<()>(
        r#"
        uv.new_timer():start(0, 0, function() error("text") end)
        uv.new_timer():start(0, 0, function() error({ code = 7 }) end)
        uv.new_timer():start(0, 0, function() error(setmetatable({}, { __tostring = function() return "shown" end })) end)
        uv.new_timer():start(0, 0, function() error(nil) end)
        uv.new_timer():start(0, 0, function() error(setmetatable({}, { __tostring = function() error("worse") end })) end)
        uv.new_timer():start(0, 0, function() coroutine.yield() end)
        uv.new_timer():start(0, 0, function() log("still here") end)
        uv.run()
        "#,
    );
    let errors = bench.errors.borrow();
    assert_eq!(errors.len(), 6, "{errors:?}");
    assert_eq!(errors[0], "test:2: text");
    assert!(errors[1].starts_with("table: "), "{}", errors[1]);
    assert_eq!(errors[2], "shown");
    assert_eq!(errors[3], "nil");
    assert!(errors[5].contains("yield"), "{}", errors[5]);
    assert_eq!(bench.eval::<String>("return lines[1]"), "still here");
}

#[test]
fn the_host_learns_origin_and_traceback() {
    let lua = Lua::new();
    let heard = Rc::new(RefCell::new(None));
    let hearing = Rc::clone(&heard);
    let options = Options::new().on_error(move |error| *hearing.borrow_mut() = Some(error.clone()));
    panto_luv::install(&lua, options).unwrap();
    lua.load(
        r#"
        local uv = require("luv")
        local function inner() error("here") end
        uv.new_timer():start(0, 0, function() inner() end)
        uv.run()
        "#,
    )
    .set_name("=test")
    .exec()
    .unwrap();
    let error = heard.borrow_mut().take().unwrap();
    assert_eq!(error.origin, "timer_start");
    assert_eq!(error.message, "test:3: here");
    assert!(
        error.traceback.contains("test:3: in upvalue 'inner'"),
        "{}",
        error.traceback
    );
}

#[test]
fn a_panic_in_a_callback_is_an_error_of_that_callback() {
    let bench = Bench::new();
    let panics = bench
        .lua
        .create_function(|_, ()| -> mlua::Result<()> { panic!("a bug") })
        .unwrap();
    bench.lua.globals().set("panics", panics).unwrap();
    bench.eval::<()>(
        "uv.new_timer():start(0, 0, panics) uv.new_timer():start(1, 0, function() log('on') end) uv.run()",
    );
    assert_eq!(bench.errors.borrow().len(), 1);
    assert_eq!(bench.eval::<i64>("return #lines"), 1);
}

#[test]
fn a_loop_whose_state_is_gone_does_nothing() {
    let Bench { lua, uv, errors } = Bench::new();
    lua.load("uv.new_timer():start(0, 0, print)")
        .exec()
        .unwrap();
    drop(lua);
    uv.run(panto_luv::Mode::NoWait).unwrap();
    assert!(errors.borrow().is_empty());
}
