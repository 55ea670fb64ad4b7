//! Lua on other threads.

use crate::support::{Bench, logs};

#[test]
fn work_runs_elsewhere_and_its_results_come_back() {
    logs(
        r#"
        local outer = "not there"
        local work = uv.new_work(function(a, b, text, none)
          seen = (seen or 0) + 1
          return a + b, text:upper(), none, outer, seen, type(require("luv").hrtime)
        end, function(...) log(...) end)
        log(work:queue(1, 2.5, "text", nil))
        uv.run()
        log(uv.queue_work(work, 3, 4, "more"))
        uv.run()
        log(pcall(work.queue, work, {}))
        log(pcall(uv.new_work, print, print))
        uv.new_work(function()
          local uv, fired = require("luv"), false
          uv.new_timer():start(1, 0, function() fired = true end)
          return uv.run(), fired
        end, function(...) log("loop", ...) end):queue()
        uv.run()
        uv.new_work("return (...) * 2", function(n) log("source", n) end):queue(21)
        "#,
        &[
            "true",
            "3.5 TEXT nil nil 1 function",
            "true",
            "7 MORE nil nil 1 function",
            "false bad argument #2 to 'queue_work' (a table cannot go to another thread)",
            "false bad argument #1 to 'new_work' (a Lua function is needed, not one of C or Rust)",
            "loop false true",
            "source 42",
        ],
    );
}

#[test]
fn an_error_in_work_goes_to_the_host_and_its_end_is_told() {
    let bench = Bench::new();
    bench.eval::<()>(
        r#"
        uv.new_work(function() error("went wrong", 0) end, function(...) log("after", ... == nil) end):queue()
        uv.new_work(string.dump(function() end), function() log("after bytecode") end):queue()
        uv.run()
        table.sort(lines)
        "#,
    );
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '|')"),
        "after bytecode|after true"
    );
    let errors = bench.errors.borrow();
    assert!(
        errors.iter().any(|error| error == "went wrong"),
        "{errors:?}"
    );
    assert!(
        errors
            .iter()
            .any(|error| error.contains("attempt to load a binary chunk")),
        "{errors:?}"
    );
    assert_eq!(errors.len(), 2);
}

#[test]
fn a_thread_wakes_the_loop_by_an_async_handle() {
    logs(
        r#"
        local async, thread
        async = uv.new_async(function(text, number)
          log(text, number, thread:join())
          async:close()
        end)
        thread = uv.new_thread(function(async, start)
          local uv = require("luv")
          local timer = uv.new_timer()
          timer:start(1, 0, function() timer:close() end)
          uv.run()
          uv.async_send(async, "from the thread", start + 1)
        end, async, 41)
        log((tostring(thread):gsub(":.*", "")), thread:equal(thread), thread:equal(uv.thread_self()))
        log(uv.thread_equal(uv.thread_self(), uv.thread_self()), (select(3, uv.thread_self():join())))
        "#,
        &[
            "luv_thread_t true false",
            "true EINVAL",
            "from the thread 42 true",
        ],
    );
}

#[test]
fn semaphores_are_shared() {
    logs(
        r#"
        local sem, back = uv.new_sem(1), uv.new_sem()
        log(sem:trywait(), sem:trywait())
        local thread = uv.new_thread({ stack_size = 1000000 }, function(sem, back)
          sem:wait()
          back:post()
        end, sem, back)
        sem:post()
        back:wait()
        log(thread:join(), (select(3, thread:join())), (select(3, thread:detach())))
        log(pcall(uv.new_sem, -1))
        "#,
        &[
            "true false",
            "true EINVAL EINVAL",
            "false bad argument #1 to 'new_sem' (out of range)",
        ],
    );
}

#[test]
fn an_error_in_a_thread_goes_to_the_host() {
    let bench = Bench::new();
    bench.eval::<()>("uv.new_thread(function() error('in the thread', 0) end):join() uv.run()");
    let errors = bench.errors.borrow();
    assert_eq!(*errors, ["in the thread"]);
}

#[test]
fn threads_have_names_and_processors() {
    logs(
        r##"
        local named, over = uv.new_sem(), uv.new_sem()
        local thread = uv.new_thread(function(named, over)
          require("luv").thread_setname("a name that is too long")
          named:post()
          over:wait()
        end, named, over)
        named:wait()
        log(thread:getname())
        local cpus = thread:getaffinity()
        log(#cpus == uv.cpumask_size(), cpus[uv.thread_getcpu()], thread:setaffinity(cpus))
        log(#thread:setaffinity(cpus, true) == #cpus, (select(3, thread:setaffinity({}))))
        log(select(3, thread:getaffinity(1)))
        over:post()
        thread:join()
        log(select(3, thread:getname()), (select(3, thread:setaffinity(cpus))))
        "##,
        &[
            "a name that is ",
            "true true true",
            "true EINVAL",
            "EINVAL",
            "ESRCH ESRCH",
        ],
    );
}
