//! Timers.

use crate::support::{Bench, logs};

#[test]
fn timers_run_in_the_order_in_which_they_are_due_and_then_of_their_start() {
    logs(
        r#"
        local function at(ms, name)
          uv.new_timer():start(ms, 0, function() log(name) end)
        end
        at(8, "late") at(0, "first") at(4, "b") at(4, "c") at(0, "second")
        "#,
        &["first", "second", "b", "c", "late"],
    );
}

#[test]
fn a_repeating_timer_runs_until_it_is_stopped() {
    logs(
        r#"
        local timer, n = uv.new_timer(), 0
        timer:start(1, 1, function()
          n = n + 1
          log(n)
          if n == 3 then log(timer:stop(), timer:is_active()) end
        end)
        "#,
        &["1", "2", "3", "0 false"],
    );
}

#[test]
fn a_timer_started_by_a_callback_waits_for_the_next_round() {
    logs(
        r#"
        local check = uv.new_check()
        check:start(function() log("check") check:stop() end)
        uv.new_timer():start(0, 0, function()
          uv.new_timer():start(0, 0, function() log("inner") end)
          log("outer")
        end)
        "#,
        &["outer", "check", "inner"],
    );
}

#[test]
fn a_callback_may_stop_a_timer_that_is_due_with_it() {
    logs(
        r#"
        local a, b = uv.new_timer(), uv.new_timer()
        a:start(0, 0, function() log("a") b:stop() end)
        b:start(0, 0, function() log("b") end)
        "#,
        &["a"],
    );
}

#[test]
fn again_needs_a_start_before_and_a_repeat() {
    logs(
        r#"
        local timer = uv.new_timer()
        log(timer:again())
        timer:start(1000, 0, function() end)
        log(timer:again(), timer:is_active(), timer:get_repeat())
        timer:set_repeat(3)
        log(timer:again(), timer:get_due_in(), timer:get_repeat())
        timer:stop()
        log(timer:get_due_in())
        "#,
        &[
            "nil EINVAL: invalid argument EINVAL",
            "0 true 0",
            "0 3 3",
            "0",
        ],
    );
}

#[test]
fn arguments_are_checked_at_the_callers_line() {
    let bench = Bench::new();
    let message: String = bench.eval(
        "local ok, message = pcall(function()\n\
         uv.new_timer():start('soon', 0, print)\nend)\nreturn message",
    );
    assert_eq!(
        message,
        "test:2: bad argument #2 to 'timer_start' (integer expected, got string)"
    );
}

#[test]
fn what_can_be_called_is_a_callback() {
    logs(
        r##"
        local it = setmetatable({}, { __call = function(self, ...) log("called", select("#", ...)) end })
        uv.new_timer():start(0, 0, it)
        log(pcall(uv.timer_start, uv.new_timer(), 0, 0, {}))
        "##,
        &[
            "false bad argument #4 to 'timer_start' (function expected, got table)",
            "called 0",
        ],
    );
}

#[test]
fn the_time_is_that_of_the_iteration_until_it_is_updated() {
    logs(
        r#"
        local before = uv.now()
        local from = uv.hrtime()
        while uv.hrtime() - from < 3e6 do end
        log(uv.now() == before)
        uv.update_time()
        log(uv.now() - before >= 3, math.type(uv.now()), math.type(uv.hrtime()))
        "#,
        &["true", "true integer integer"],
    );
}
