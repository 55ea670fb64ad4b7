//! A sandbox that is over leaves nothing: no thread, no memory. In a process of its own, since it counts those.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use std::fs;
use std::time::{Duration, Instant};

use panto_runtime::sandbox::{Given, Limits, Outcome, Sandbox};

/// Threads of sandboxes in this process.
fn threads() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.trim() == "lua-sandbox")
        .count()
}

/// Waits until so many threads are left. A thread ends after its sandbox, soon.
fn wait_for_threads(count: usize) {
    let begun = Instant::now();
    while threads() != count {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", threads());
        std::thread::yield_now();
    }
}

fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Runs a chunk whose `__close` handlers would go on for ever.
fn run(source: &str) -> (Sandbox, Outcome) {
    let limits = Limits {
        instructions: 200_000,
        time: Duration::from_secs(30),
        ..Limits::default()
    };
    let mut sandbox = Sandbox::new(limits, Given::new().parking("park")).unwrap();
    let source = format!(
        "local c <close> = setmetatable({{}}, {{ __close = function() while true do pcall(error) end end }}) {source}"
    );
    let outcome = sandbox.run("chunk", source, vec![]).wait();
    (sandbox, outcome)
}

#[test]
fn threads_and_memory_are_given_back() {
    let parked: Vec<(Sandbox, Outcome)> = (0..8).map(|_| run("park()")).collect();
    assert!(
        parked
            .iter()
            .all(|(_, outcome)| matches!(outcome, Outcome::Parked(_)))
    );
    wait_for_threads(8);
    drop(parked);
    wait_for_threads(0);

    let hungry = "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end";
    run(hungry);
    wait_for_threads(0);
    let before = resident_bytes();
    for _ in 0..30 {
        // The first is killed while it holds all that it may.
        assert!(matches!(run(hungry), (_, Outcome::Killed(_))));
        assert!(matches!(run("while true do end"), (_, Outcome::Killed(_))));
    }
    wait_for_threads(0);
    // Less than what four of them held.
    assert!(resident_bytes() < before + (32 << 20));

    // In the middle of a single instruction that takes long, it ends when that does.
    let limits = Limits {
        instructions: u64::MAX,
        time: Duration::from_millis(50),
        memory: 512 << 10,
        ..Limits::default()
    };
    let mut sandbox = Sandbox::new(limits, Given::new()).unwrap();
    let source = "local f = setmetatable({}, {}) getmetatable(f).__call = f f()";
    let outcome = sandbox.run("chunk", source, vec![]).wait();
    assert!(matches!(outcome, Outcome::Killed(_)));
    wait_for_threads(0);
}
