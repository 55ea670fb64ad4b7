//! The phases of an iteration, and the modes of a run.

use crate::support::{Bench, logs};

#[test]
fn phases_come_in_libuvs_order() {
    logs(
        r#"
        local function step(kind, name)
          local handle = uv["new_" .. kind]()
          handle:start(function() log(name) handle:close(function() log("closed " .. name) end) end)
        end
        local async
        step("check", "check") step("prepare", "prepare") step("idle", "idle")
        uv.new_timer():start(0, 0, function() log("timer") end)
        async = uv.new_async(function() log("pending") async:close() end)
        async:send()
        "#,
        &[
            "timer",
            "pending",
            "idle",
            "prepare",
            "check",
            "closed idle",
            "closed prepare",
            "closed check",
        ],
    );
}

#[test]
fn an_idle_handle_keeps_the_loop_turning() {
    logs(
        r#"
        local idle, n = uv.new_idle(), 0
        idle:start(function()
          n = n + 1
          if n == 1000 then idle:stop() log(n) end
        end)
        log(uv.backend_timeout())
        "#,
        &["0", "1000"],
    );
}

#[test]
fn a_run_without_anything_alive_ends_at_once() {
    let bench = Bench::new();
    let answers: (bool, bool, bool, bool) =
        bench.eval(r#"return uv.run(), uv.run("once"), uv.run("nowait"), uv.loop_alive()"#);
    assert_eq!(answers, (false, false, false, false));
}

#[test]
fn nowait_does_not_wait_and_once_waits_for_one_event() {
    logs(
        r#"
        local timer = uv.new_timer()
        timer:start(1000000, 0, print)
        log(uv.run("nowait"), #lines)
        timer:start(1, 0, function() log("timer") end)
        log(uv.run("once"))
        "#,
        &["true 0", "timer", "false"],
    );
}

#[test]
fn stop_ends_the_run_and_the_next_goes_on() {
    logs(
        r#"
        local n = 0
        local timer = uv.new_timer()
        timer:start(0, 1, function()
          n = n + 1
          log(n)
          if n == 2 then uv.stop() end
          if n == 3 then timer:close() end
        end)
        log(uv.run())
        log(uv.run())
        "#,
        &["1", "2", "true", "3", "false"],
    );
}

#[test]
fn a_run_in_a_run_is_refused() {
    logs(
        r#"
        uv.new_timer():start(0, 0, function() log(uv.run()) log(uv.loop_mode()) end)
        uv.run("once")
        log(uv.loop_mode())
        "#,
        &["nil loop already running", "once", "nil"],
    );
}

#[test]
fn a_mode_that_is_none_is_misuse() {
    logs(
        r#"log(pcall(uv.run, "forever"))"#,
        &["false bad argument #1 to 'run' (invalid option 'forever')"],
    );
}

#[test]
fn backend_timeout_tells_how_long_the_wait_may_last() {
    logs(
        r#"
        log(uv.backend_timeout())
        uv.new_async(print)
        log(uv.backend_timeout())
        local timer = uv.new_timer()
        timer:start(60000, 0, print)
        local timeout = uv.backend_timeout()
        log(timeout > 50000 and timeout <= 60000)
        uv.walk(function(handle) handle:close() end)
        "#,
        &["0", "-1", "true"],
    );
}

#[test]
fn a_run_inside_another_runtime_is_refused_in_words() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let bench = Bench::new();
    let refused: (Option<bool>, String) = runtime.block_on(async { bench.eval("return uv.run()") });
    assert_eq!(refused.0, None);
    assert!(refused.1.contains("another tokio runtime"), "{}", refused.1);
}

#[test]
fn metrics_count_iterations_and_idle_time() {
    logs(
        r#"
        log(uv.metrics_idle_time())
        log(uv.loop_configure("metrics_idle_time"))
        local timer = uv.new_timer()
        timer:start(1, 1, function() if uv.metrics_idle_time() > 0 then timer:close() end end)
        uv.run()
        log(uv.metrics_idle_time() > 0, uv.metrics_info().loop_count > 0)
        "#,
        &["0", "0", "true true"],
    );
}
