//! Nothing is left of what was closed: no descriptor, no thread, no memory of Lua's.
//!
//! A binary of its own, and one test at a time: what is counted is the process's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use mlua::Lua;
use panto_luv::Options;

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn state() -> Lua {
    let lua = Lua::new();
    let options = Options::new().on_error(|error| panic!("{error}\n{}", error.traceback));
    panto_luv::install(&lua, options).unwrap();
    lua.load("uv = require('luv')").exec().unwrap();
    lua
}

/// Runs a round, which must close all that it opens, again and again, and compares what the process has before and after.
fn leaves_nothing(rounds: usize, round: &str) {
    let _alone = alone();
    let lua = state();
    let round = lua.load(round).set_name("=round").into_function().unwrap();
    let run = lua.load("uv.run()").into_function().unwrap();
    let turn = |rounds: usize| {
        for _ in 0..rounds {
            round.call::<()>(()).unwrap();
            run.call::<()>(()).unwrap();
        }
        lua.gc_collect().unwrap();
        lua.gc_collect().unwrap();
        (descriptors(), lua.used_memory())
    };
    // The first rounds fill pools and start the runtime.
    turn(rounds / 10 + 1);
    let (descriptors_before, memory_before) = turn(rounds / 10 + 1);
    let (mut descriptors_after, memory_after) = turn(rounds);
    // Threads of a pool may still be closing what the last round gave them.
    for _ in 0..1_000 {
        if descriptors_after == descriptors_before {
            break;
        }
        std::thread::yield_now();
        (descriptors_after, _) = turn(1);
    }
    assert_eq!(descriptors_after, descriptors_before, "descriptors");
    assert!(
        memory_after <= memory_before + 8 * 1024,
        "Lua's memory grew from {memory_before} to {memory_after}"
    );
}

#[test]
fn of_ten_thousand_handles_without_descriptors() {
    leaves_nothing(
        1000,
        r"
        for _ = 1, 2 do
          local timer = uv.new_timer()
          timer:start(0, 0, function() timer:close() end)
          local idle = uv.new_idle()
          idle:start(function() idle:close(function() idle = nil end) end)
          local async
          async = uv.new_async(function(text) async:close() end)
          async:send('text')
          uv.new_check():close()
          local prepare = uv.new_prepare()
          prepare:start(function() prepare:close() end)
        end
        ",
    );
}

#[test]
fn of_ten_thousand_pipes_and_polls() {
    leaves_nothing(
        2500,
        r"
        local fds = uv.pipe({ nonblock = true }, { nonblock = true })
        local reader, writer, poll = uv.new_pipe(), uv.new_pipe(), uv.new_poll(fds.read)
        uv.new_poll(fds.write):close()
        poll:start('r', function() poll:close() end)
        reader:open(fds.read)
        writer:open(fds.write)
        writer:write('text', function() writer:close() end)
        reader:read_start(function(_, data) if not data then reader:close() end end)
        ",
    );
}

#[test]
fn of_servers_clients_and_what_they_leave_unfinished() {
    leaves_nothing(
        200,
        r"
        local server, client, late = uv.new_tcp(), uv.new_tcp(), uv.new_tcp()
        server:bind('127.0.0.1', 0)
        local port = server:getsockname().port
        server:listen(8, function()
          local peer = uv.new_tcp()
          server:accept(peer)
          -- Made once: it is the end of a write that is under way that matters.
          text = text or ('x'):rep(4000000)
          peer:write(text)
          peer:close() server:close()
        end)
        client:connect('127.0.0.1', port, function() client:close() end)
        late:connect('127.0.0.1', port, function() end)
        late:close()
        local udp = uv.new_udp()
        udp:bind('127.0.0.1', 0)
        udp:recv_start(function() end)
        udp:close()
        ",
    );
}

#[test]
fn of_files_folders_and_their_requests() {
    leaves_nothing(
        300,
        r"
        uv.fs_open('/dev/null', 'r', 0, function(_, fd)
          uv.fs_fstat(fd, function() uv.fs_close(fd, function() end) end)
        end)
        uv.fs_scandir('/', function(_, found) uv.fs_scandir_next(found) end)
        uv.fs_opendir('/', function(_, dir) dir:readdir(function() dir:closedir(function() end) end) end)
        uv.fs_stat('/none', function() end):cancel()
        local event = uv.new_fs_event()
        event:start('/', {}, function() end)
        event:close()
        local poll = uv.new_fs_poll()
        poll:start('/', 1, function() end)
        poll:close()
        ",
    );
}

#[test]
fn of_children() {
    leaves_nothing(
        50,
        r"
        local out, handle = uv.new_pipe(), nil
        handle = uv.spawn('/bin/echo', { args = { 'text' }, stdio = { nil, out } }, function() handle:close() end)
        out:read_start(function(_, data) if not data then out:close() end end)
        local cat, input = nil, uv.new_pipe()
        cat = uv.spawn('/bin/cat', { stdio = { input } }, function() error('never') end)
        cat:close()
        input:close()
        ",
    );
}

#[test]
fn of_work_and_threads() {
    leaves_nothing(
        50,
        r"
        uv.new_work(function(n) return n end, function() end):queue(1)
        local thread, sem = nil, uv.new_sem()
        thread = uv.new_thread(function(sem) sem:post() end, sem)
        sem:wait()
        thread:join()
        ",
    );
}

#[test]
fn of_a_state_with_everything_still_open() {
    let _alone = alone();
    let open = || {
        let lua = state();
        let held = std::rc::Rc::new(());
        let holder = std::rc::Rc::clone(&held);
        let holds = lua
            .create_function(move |_, ()| Ok(std::rc::Rc::strong_count(&holder)))
            .unwrap();
        lua.globals().set("holds", holds).unwrap();
        lua.load(
            r"
            local function hold() return holds() end
            local timer = uv.new_timer()
            timer:start(100000, 0, function() return timer, hold end)
            local server, client = uv.new_tcp(), uv.new_tcp()
            server:bind('127.0.0.1', 0)
            server:listen(1, hold)
            client:connect('127.0.0.1', server:getsockname().port, hold)
            uv.new_poll(uv.pipe().read):start('r', hold)
            uv.new_fs_event():start('/', {}, hold)
            uv.new_signal():start('sigusr2', hold)
            uv.spawn('/bin/true', {}, hold)
            uv.fs_stat('/', hold)
            uv.run('nowait')
            ",
        )
        .exec()
        .unwrap();
        drop(lua);
        assert_eq!(std::rc::Rc::strong_count(&held), 1);
    };
    open();
    let before = descriptors();
    for _ in 0..50 {
        open();
    }
    // A thread of a pool that is told to end may hold its runtime, and its three descriptors, for a moment.
    let after = (0..1000).find_map(|_| {
        let now = descriptors();
        (now <= before).then_some(now).or_else(|| {
            std::thread::yield_now();
            None
        })
    });
    assert!(
        after.is_some(),
        "{before} descriptors before, {} after",
        descriptors()
    );
}
