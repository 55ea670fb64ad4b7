//! The doors for hosts: driving pass by pass, waiting with the loop served, and contexts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::Lua;
use panto_luv::{CallbackContext, ContextToken, Options};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::support::Bench;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_host_drives_the_loop_beside_its_own_inbox() {
    runtime().block_on(async {
        let bench = Bench::with(Options::hosted(Handle::current()));
        let mut driver = bench.uv.driver().unwrap();
        let (inbox, mut messages) = tokio::sync::mpsc::unbounded_channel();
        let said = bench
            .lua
            .create_function(move |_, text: String| inbox.send(text).map_err(mlua::Error::external))
            .unwrap();
        bench.lua.globals().set("say", said).unwrap();
        bench.eval::<()>(
            r#"
            local check = uv.new_check()
            check:start(function() log("check") check:stop() end)
            uv.new_timer():start(3, 0, function() log("timer") say("from a callback") end)
            "#,
        );
        let mut heard = None;
        while heard.is_none() {
            tokio::select! {
                () = driver.ready() => driver.pass(),
                message = messages.recv() => heard = message,
            }
        }
        assert_eq!(heard.as_deref(), Some("from a callback"));
        assert!(!driver.is_alive());
        assert_eq!(
            bench.eval::<String>("return table.concat(lines, ' ')"),
            "timer check"
        );
    });
}

#[test]
fn run_is_refused_while_a_host_drives() {
    runtime().block_on(async {
        let bench = Bench::with(Options::hosted(Handle::current()));
        let driver = bench.uv.driver().unwrap();
        assert!(bench.uv.driver().is_err());
        let answer: (Option<bool>, String) = bench.eval("return uv.run()");
        assert_eq!(answer, (None, "loop already running".to_owned()));
        drop(driver);
        assert!(bench.uv.driver().is_ok());
    });
}

#[test]
fn what_starts_while_a_host_waits_is_noticed() {
    runtime().block_on(async {
        let bench = Bench::with(Options::hosted(Handle::current()));
        let mut driver = bench.uv.driver().unwrap();
        for start in [
            "uv.new_timer():start(1, 0, function() log('x') end)",
            "local idle = uv.new_idle() idle:start(function() log('x') idle:stop() end)",
            "uv.new_timer():close(function() log('x') end)",
            "uv.new_async(function() log('x') end):send()",
        ] {
            bench.eval::<()>("lines = {}");
            {
                let mut ready = std::pin::pin!(driver.ready());
                assert!(futures_util::poll!(ready.as_mut()).is_pending());
                bench.eval::<()>(start);
                ready.await;
            }
            driver.pass();
            assert_eq!(bench.eval::<i64>("return #lines"), 1, "{start}");
        }
    });
}

#[test]
fn a_post_from_another_thread_wakes_a_host() {
    runtime().block_on(async {
        let bench = Bench::with(Options::hosted(Handle::current()));
        let mut driver = bench.uv.driver().unwrap();
        let remote = bench.uv.remote();
        let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seeing = std::sync::Arc::clone(&seen);
        std::thread::spawn(move || {
            remote.post(move |_| seeing.store(true, std::sync::atomic::Ordering::SeqCst));
        });
        while !seen.load(std::sync::atomic::Ordering::SeqCst) {
            driver.ready().await;
            driver.pass();
        }
    });
}

#[test]
fn a_future_can_be_awaited_with_the_loop_served() {
    let bench = Bench::new();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = RefCell::new(Some(sender));
    let settle = bench
        .lua
        .create_function(move |_, text: String| {
            sender.take().unwrap().send(text).unwrap();
            Ok(())
        })
        .unwrap();
    bench.lua.globals().set("settle", settle).unwrap();
    bench.eval::<()>("uv.new_timer():start(2, 0, function() log(uv.run()) settle('done') end)");
    assert_eq!(bench.uv.run_until(receiver).unwrap().unwrap(), "done");
    assert_eq!(
        bench.eval::<String>("return lines[1]"),
        "nil loop already running"
    );
}

#[test]
fn what_is_to_happen_after_a_future_keeps_the_loop_alive() {
    let bench = Bench::new();
    let (sender, receiver) = tokio::sync::oneshot::channel::<u8>();
    let got = Rc::new(Cell::new(None));
    let seen = Rc::clone(&got);
    bench
        .uv
        .when(receiver, move |_, number| seen.set(number.ok()));
    assert!(bench.uv.is_alive());
    std::thread::spawn(move || sender.send(7));
    assert!(!bench.eval::<bool>("return uv.run()"));
    assert_eq!(got.get(), Some(7));
}

#[test]
fn or_not() {
    let bench = Bench::new();
    let (sender, receiver) = tokio::sync::oneshot::channel::<u8>();
    let got = Rc::new(Cell::new(None));
    let seen = Rc::clone(&got);
    bench
        .uv
        .when_unreferenced(receiver, move |_, number| seen.set(number.ok()));
    assert!(!bench.uv.is_alive());
    assert!(!bench.eval::<bool>("return uv.run()"));
    sender.send(7).unwrap();
    bench.eval::<()>("uv.update_time() uv.new_timer():start(50, 0, function() end) uv.run()");
    assert_eq!(got.get(), Some(7));
}

#[test]
fn an_error_in_a_callback_ends_the_run_if_the_host_says_so() {
    let script = r#"
        local timer = uv.new_timer()
        timer:start(0, 1, function() error("again") end)
        return uv.run()
    "#;
    let bench = Bench::with(Options::new().stop_on_error());
    assert!(bench.eval::<bool>(script));
    assert_eq!(*bench.errors.borrow(), ["test:3: again"]);
}

/// A lane that is whatever number stands in a cell.
struct Lane(Rc<Cell<ContextToken>>);

impl CallbackContext for Lane {
    fn capture(&self, _: &Lua) -> ContextToken {
        self.0.get()
    }

    fn enter(&self, _: &Lua, token: ContextToken) -> ContextToken {
        self.0.replace(token)
    }

    fn leave(&self, _: &Lua, previous: ContextToken) {
        self.0.set(previous);
    }
}

#[test]
fn callbacks_run_in_the_context_they_were_registered_in() {
    let ambient = Rc::new(Cell::new(0));
    let bench = Bench::with(Options::new().context(Lane(Rc::clone(&ambient))));
    let lane = Rc::clone(&ambient);
    let lane = bench
        .lua
        .create_function(move |_, ()| Ok(lane.get()))
        .unwrap();
    bench.lua.globals().set("lane", lane).unwrap();
    for token in [7, 8] {
        ambient.set(token);
        bench.eval::<()>(
            r#"
            uv.new_timer():start(0, 0, function()
              log("timer", lane())
              uv.new_async(function() log("async", lane()) end):send()
              error("does not leak the lane")
            end)
            "#,
        );
    }
    ambient.set(1);
    bench.eval::<()>("uv.run('nowait') uv.run('nowait')");
    assert_eq!(ambient.get(), 1);
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '\\n')"),
        "timer 7\ntimer 8\nasync 7\nasync 8"
    );
}

/// Drives a loop until nothing in it is alive, and counts the passes.
async fn drive(bench: &Bench) -> usize {
    let mut driver = bench.uv.driver().unwrap();
    let mut passes = 0;
    while driver.is_alive() {
        driver.ready().await;
        driver.pass();
        passes += 1;
    }
    passes
}

#[test]
fn everything_that_waits_works_under_a_host() {
    runtime().block_on(async {
        let variables = [("PATH".into(), "/bin:/usr/bin".into())];
        let options = Options::hosted(Handle::current()).environment(variables);
        let bench = Bench::with(options);
        bench.eval::<()>(
            r#"
            local results = {}
            local function done(name) results[#results + 1] = name end
            uv.fs_stat("/", function(err, stat) done("stat:" .. stat.type) end)
            local out, handle = uv.new_pipe(), nil
            handle = uv.spawn("echo", { args = { "hi" }, stdio = { nil, out } }, function(code) done("exit:" .. code) handle:close() end)
            out:read_start(function(_, data) if data then done("out:" .. data:sub(1, -2)) else out:close() end end)
            local server, client = uv.new_tcp(), uv.new_tcp()
            server:bind("127.0.0.1", 0)
            server:listen(1, function()
              local peer = uv.new_tcp()
              server:accept(peer)
              peer:write("over tcp", function() peer:close() server:close() end)
            end)
            client:connect("127.0.0.1", server:getsockname().port, function()
              client:read_start(function(_, data) if data then done(data) else client:close() end end)
            end)
            local pipe = uv.pipe()
            local poll = uv.new_poll(pipe.read)
            poll:start("r", function() done("poll:" .. uv.fs_read(pipe.read, 1)) poll:close() end)
            uv.fs_write(pipe.write, "!", nil, function() done("wrote") end)
            uv.new_work(function(n) return n + 1 end, function(n) done("work:" .. n) end):queue(1)
            local signal = uv.new_signal()
            signal:start("sigwinch", function(name) done(name) signal:close() end)
            uv.kill(uv.os_getpid(), "sigwinch")
            local co = coroutine.create(function(co)
              uv.getaddrinfo("127.0.0.1", nil, { numerichost = true, socktype = "stream" }, function(err, list)
                assert(coroutine.resume(co, list[1].addr))
              end)
              done("resumed:" .. coroutine.yield())
            end)
            assert(coroutine.resume(co, co))
            function report() table.sort(results) return table.concat(results, " ") end
            "#,
        );
        drive(&bench).await;
        assert_eq!(*bench.errors.borrow(), [""; 0]);
        assert_eq!(
            bench.eval::<String>("return report()"),
            "exit:0 out:hi over tcp poll:! resumed:127.0.0.1 sigwinch stat:directory work:2 wrote"
        );
    });
}

#[test]
fn a_loop_that_waits_does_not_turn() {
    runtime().block_on(async {
        let bench = Bench::with(Options::hosted(Handle::current()));
        // What is open and has nothing to tell costs nothing.
        bench.eval::<()>(
            r#"
            local quiet = uv.new_poll(uv.pipe().read)
            quiet:start("r", print)
            local timer = uv.new_timer()
            uv.update_time()
            timer:start(20, 0, function() quiet:close() timer:close() end)
            "#,
        );
        let passes = drive(&bench).await;
        assert!(passes <= 6, "{passes} passes");
    });
    let bench = Bench::new();
    let turns: i64 = bench.eval(
        r#"
        local quiet = uv.new_poll(uv.pipe().read)
        quiet:start("r", print)
        local timer = uv.new_timer()
        uv.update_time()
        timer:start(20, 0, function() quiet:close() timer:close() end)
        uv.run()
        return uv.metrics_info().loop_count
        "#,
    );
    assert!(turns <= 6, "{turns} turns");
}
