//! What holds for every handle: closing, references, and the loop's list of them.

use crate::support::{Bench, logs};

#[test]
fn close_calls_back_once_with_the_handle_in_a_later_phase() {
    logs(
        r#"
        local timer = uv.new_timer()
        timer:close(function(handle)
          log("closed", rawequal(handle, timer), handle:is_closing(), handle:is_active())
        end)
        log("closing", timer:is_closing())
        "#,
        &["closing true", "closed true true false"],
    );
}

#[test]
fn a_second_close_is_an_error_at_the_caller() {
    logs(
        r#"
        local timer = uv.new_timer()
        timer:close()
        log(pcall(timer.close, timer))
        log(select(2, pcall(function() timer:close() end)))
        "#,
        &[
            "false handle is already closing",
            "test:5: handle is already closing",
        ],
    );
}

#[test]
fn nothing_is_called_back_after_close() {
    logs(
        r#"
        local timer, idle, async = uv.new_timer(), uv.new_idle(), nil
        async = uv.new_async(function() log("async") end)
        timer:start(0, 0, function() log("timer") end)
        idle:start(function() log("idle") end)
        async:send()
        for _, handle in ipairs { timer, idle, async } do
          handle:close(function() log("closed", handle:get_type()) end)
        end
        log(timer:start(0, 0, print))
        log(idle:start(print))
        "#,
        &[
            "nil EINVAL: invalid argument EINVAL",
            "nil EINVAL: invalid argument EINVAL",
            "closed timer 13",
            "closed idle 6",
            "closed async 1",
        ],
    );
}

#[test]
fn the_loop_ends_when_only_what_is_unreferenced_is_left() {
    logs(
        r#"
        local long, short = uv.new_timer(), uv.new_timer()
        long:start(1000000, 0, print)
        log(uv.loop_alive(), long:has_ref())
        long:unref() long:unref()
        log(uv.loop_alive(), long:has_ref(), long:is_active())
        short:start(1, 0, function() log("short") end)
        "#,
        &["true true", "false false true", "short"],
    );
}

#[test]
fn a_reference_given_back_counts_again() {
    logs(
        r#"
        local timer = uv.new_timer()
        timer:unref()
        timer:start(1, 0, function() log("ran") end)
        log(uv.loop_alive())
        timer:ref()
        log(uv.loop_alive())
        "#,
        &["false", "true", "ran"],
    );
}

#[test]
fn walk_sees_every_handle_that_is_not_closed() {
    logs(
        r#"
        local timer, check = uv.new_timer(), uv.new_check()
        local closed = uv.new_prepare()
        closed:close()
        uv.run("nowait")
        local seen = {}
        uv.walk(function(handle)
          seen[#seen + 1] = handle == timer or handle == check
          log((handle:get_type()))
          if not handle:is_closing() then handle:close() end
        end)
        log(seen[1], seen[2], #seen)
        log(uv.loop_close())
        "#,
        &[
            "timer",
            "check",
            "true true 2",
            "nil EBUSY: resource busy or locked EBUSY",
        ],
    );
}

#[test]
fn an_error_in_walk_is_the_callers() {
    let bench = Bench::new();
    let message: String = bench.eval(
        "uv.new_timer() return select(2, pcall(function() uv.walk(function() error('no further') end) end))",
    );
    assert_eq!(message, "test:1: no further");
}

#[test]
fn a_handle_lives_as_long_as_it_is_open_whoever_holds_it() {
    logs(
        r#"
        do uv.new_timer():start(2, 0, function() log("ran") end) end
        collectgarbage() collectgarbage()
        "#,
        &["ran"],
    );
}

#[test]
fn a_handle_of_another_kind_is_refused_by_name() {
    logs(
        r#"
        log(pcall(uv.timer_stop, uv.new_check()))
        log(pcall(uv.close, {}))
        log((tostring(uv.new_timer()):gsub("0x%x+", "…")))
        "#,
        &[
            "false bad argument #1 to 'timer_stop' (uv_timer expected, got userdata)",
            "false bad argument #1 to 'close' (uv_handle expected, got table)",
            "uv_timer_t: …",
        ],
    );
}

#[test]
fn only_handles_with_a_descriptor_have_a_number() {
    logs(
        r#"log(uv.new_timer():fileno())"#,
        &["nil EINVAL: invalid argument EINVAL"],
    );
}
