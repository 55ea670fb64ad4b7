//! Nothing is left of what was closed: no descriptor, no memory. Each test is a process of its own.

use crate::support::Bench;

/// Makes and closes handles, a thousand times, in a child of the test so that other tests' descriptors do not count.
fn counts_after(script: &str) {
    let bench = Bench::new();
    bench
        .lua
        .globals()
        .set("round", bench.lua.load(script).into_function().unwrap())
        .unwrap();
    let turn = || {
        bench
            .eval::<()>("for _ = 1, 100 do round() uv.run() end collectgarbage() collectgarbage()");
        bench.lua.used_memory()
    };
    // The first turns fill pools.
    turn();
    let before = turn();
    for _ in 0..10 {
        turn();
    }
    let after = turn();
    assert!(
        after <= before + 4096,
        "Lua's memory grew from {before} to {after}"
    );
}

#[test]
fn ten_thousand_handles_leave_no_memory() {
    counts_after(
        r#"
        for _ = 1, 2 do
          local timer = uv.new_timer()
          timer:start(0, 0, function() timer:close() end)
          local idle = uv.new_idle()
          idle:start(function() idle:close(function() idle = nil end) end)
          local async
          async = uv.new_async(function(text) async:close() end)
          async:send("text")
          uv.new_check():close()
        end
        "#,
    );
}

#[test]
fn a_state_and_its_loop_go_together() {
    let gone = std::rc::Rc::new(());
    let held = std::rc::Rc::clone(&gone);
    let bench = Bench::new();
    let holds = bench
        .lua
        .create_function(move |_, ()| Ok(std::rc::Rc::strong_count(&held)))
        .unwrap();
    bench.lua.globals().set("holds", holds).unwrap();
    bench.eval::<()>(
        "timer = uv.new_timer() timer:start(100000, 0, function() return timer, holds end) uv.run('nowait')",
    );
    drop(bench);
    assert_eq!(std::rc::Rc::strong_count(&gone), 1);
}
