//! What ends with a state, and what does not run then.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::sandbox::budget::Budget;
use crate::sandbox::limits::Limits;

/// Everything that runs when something ends, in each place where it could be found: the main
/// function, a coroutine, under a protected call. All of it tells the host.
const ENDINGS: &str = "
    local how = ...
    local function ending() return setmetatable({}, { __close = told, __mode = 'k' }) end
    outer = ending()
    local first <close> = ending()
    inner = coroutine.wrap(function()
      local second <close> = ending()
      coroutine.yield()
    end)
    inner()
    local metatable = {}
    finalized = setmetatable({}, metatable)
    metatable.__gc = told
    pcall(function()
      local third <close> = ending()
      for _ in next, { 1 }, nil, ending() do
        if how == 'park' then park() end
        if how == 'spin' then while true do end end
        if how == 'wrap' then coroutine.wrap(function() local c <close> = ending() park() end)() end
      end
    end)";

/// A state whose only given functions are `told`, which counts its calls, and `park`.
fn state(told: &Rc<Cell<u32>>) -> State {
    let limits = Limits {
        instructions: 100_000,
        time: Duration::from_secs(30),
        ..Limits::default()
    };
    let told = Rc::clone(told);
    let ask = Box::new(move |_, _| {
        told.set(told.get() + 1);
        Some(Ok(Vec::new()))
    });
    let budget = Budget::new(limits, Arc::new(AtomicBool::new(false)));
    let given = [("told".to_owned(), false), ("park".to_owned(), true)];
    State::new(Rc::new(Exchange::new(budget, ask)), &given).unwrap()
}

/// What a chunk came to, and how often it told the host anything when its state was dropped.
fn dropped(argument: &str) -> (Ended, u32) {
    let told = Rc::new(Cell::new(0));
    let mut state = state(&told);
    let ended = state.run("endings", ENDINGS.into(), &[argument.into()]);
    told.set(0);
    drop(state);
    (ended, told.get())
}

#[test]
fn a_dropped_state_runs_nothing_of_its_chunk() {
    assert!(matches!(dropped("park"), (Ended::Parked(..), 0)));
    assert!(matches!(dropped("wrap"), (Ended::Parked(..), 0)));
    assert!(matches!(dropped("nothing"), (Ended::Finished(_), 0)));
}

#[test]
fn a_killed_state_runs_nothing_more_of_its_chunk() {
    assert!(matches!(
        dropped("spin"),
        (Ended::Killed(Reason::Instructions), 0)
    ));
    let told = Rc::new(Cell::new(0));
    let mut state = state(&told);
    let ended = state.run("endings", ENDINGS.into(), &["spin".into()]);
    assert!(matches!(ended, Ended::Killed(Reason::Instructions)));
    state.lua.gc_collect().unwrap();
    assert_eq!(told.get(), 0);
}

#[test]
fn what_a_chunk_closes_itself_does_run() {
    let told = Rc::new(Cell::new(0));
    state(&told).run("endings", ENDINGS.into(), &["nothing".into()]);
    assert_eq!(told.get(), 3);
}

#[test]
fn the_memory_of_a_chunk_is_free_when_its_state_is() {
    let told = Rc::new(Cell::new(0));
    let mut state = state(&told);
    let before = state.lua.used_memory();
    let eaten = "all = {} for i = 1, 1000 do all[i] = ('x'):rep(1000) .. i end";
    assert!(matches!(
        state.run("eat", eaten.into(), &[]),
        Ended::Finished(_)
    ));
    state.lua.gc_collect().unwrap();
    assert!(state.lua.used_memory() > before + 1_000_000);
    assert!(matches!(
        state.run("free", b"all = nil".to_vec(), &[]),
        Ended::Finished(_)
    ));
    state.lua.gc_collect().unwrap();
    // A little of what grew stays as it is: the table of strings, the stack.
    assert!(state.lua.used_memory() < before + 50_000);
}
