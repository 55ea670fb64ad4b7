//! Async handles, and posts from other threads.

use crate::support::{Bench, logs};

#[test]
fn sends_before_the_callback_coalesce_and_the_last_one_wins() {
    logs(
        r#"
        local async
        async = uv.new_async(function(...)
          log("got", ...)
          async:close()
        end)
        log(async:is_active())
        log(async:send("first"), async:send(1, 2.5, "text\0", true, nil))
        "#,
        &["true", "0 0", "got 1 2.5 text\0 true nil"],
    );
}

#[test]
fn a_send_after_the_callback_calls_again() {
    logs(
        r#"
        local async, n = nil, 0
        async = uv.new_async(function()
          n = n + 1
          log(n)
          if n < 3 then async:send() else async:close() end
        end)
        async:send()
        "#,
        &["1", "2", "3"],
    );
}

#[test]
fn what_cannot_go_to_another_thread_is_refused() {
    logs(
        r#"
        local async = uv.new_async(print)
        log(pcall(uv.async_send, async, 1, {}))
        async:close()
        "#,
        &["false bad argument #3 to 'async_send' (a table cannot go to another thread)"],
    );
}

#[test]
fn a_post_from_another_thread_wakes_a_loop_that_waits() {
    let bench = Bench::new();
    bench.eval::<()>("keep = uv.new_timer() keep:start(1000000, 0, print)");
    let remote = bench.uv.remote();
    let lua = bench.lua.clone();
    let thread = std::thread::spawn(move || remote.post(|uv| uv.stop()));
    let alive: bool = lua.load("return uv.run()").eval().unwrap();
    thread.join().unwrap();
    assert!(alive);
}
