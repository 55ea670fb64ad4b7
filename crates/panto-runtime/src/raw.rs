//! What mlua has no door for: the word that each coroutine carries, which coroutine runs, and
//! how to stop one that does not come back.
//!
//! Everything here is of the thread that owns the Lua state. Lua keeps one word free for its
//! host beside every coroutine (`lua_getextraspace`), and mlua leaves it alone; a new coroutine
//! gets that of the main one. `coroutine.create` and `wrap` are replaced so that it gets that of
//! its creator instead, and `resume`, `wrap` and `close` so that it is known which coroutine runs.
//! What they do is otherwise what Lua's own do.
//!
//! A coroutine is stopped as Lua's own interpreter does it on SIGINT: a signal handler on the
//! owner thread sets a hook, which is the one call that Lua allows there. Another thread must
//! not set it, since Lua may be changing what the hook is written to. Hooks are of one coroutine:
//! whoever goes on when that one has failed gets one too.
#![allow(
    unsafe_code,
    reason = "the coroutine's word, its hook and the coroutine library are only in Lua's C API"
)]

use std::ffi::{CStr, c_int};
use std::io;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table, Thread};

thread_local! {
    /// The coroutine that Lua runs on this thread; null if none.
    static RUNNING: AtomicPtr<lua_State> = const { AtomicPtr::new(null_mut()) };
    /// The step that runs on this thread; 0 if none.
    static STEP: AtomicU64 = const { AtomicU64::new(0) };
    /// Whether the step has had its time.
    static EXPIRED: AtomicBool = const { AtomicBool::new(false) };
    /// Whether what runs is a state that is closed.
    static CLOSING: AtomicBool = const { AtomicBool::new(false) };
    /// Whether an interrupt of the user's has come that was not raised yet.
    static INTERRUPTED: AtomicBool = const { AtomicBool::new(false) };
}

/// The main coroutine of a state, on which the loop calls back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Main(*mut lua_State);

impl Main {
    /// Finds it, and replaces `coroutine.create`, `wrap`, `resume` and `close`. Gives also a `create` for
    /// coroutines that must not wait.
    pub(crate) fn install(lua: &Lua) -> mlua::Result<(Self, Function)> {
        // SAFETY: the functions keep to Lua's calling convention, and hold no Rust value.
        let (create, wrap, resume, close, synchronous) = unsafe {
            (
                lua.create_c_function(create)?,
                lua.create_c_function(wrap)?,
                lua.create_c_function(resume)?,
                lua.create_c_function(close)?,
                lua.create_c_function(create_synchronous)?,
            )
        };
        let coroutines: Table = lua.globals().get("coroutine")?;
        coroutines.set("create", create)?;
        coroutines.set("wrap", wrap)?;
        coroutines.set("resume", resume)?;
        coroutines.set("close", close)?;
        find_hook_switch(lua)?;
        keep_last_finalizer(lua)?;
        let mut main = null_mut();
        // SAFETY: a state always has its main coroutine in the registry, and what is pushed is
        // popped. Lua leaves the main coroutine's word as the allocator gave it.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                ffi::lua_rawgeti(state, ffi::LUA_REGISTRYINDEX, ffi::LUA_RIDX_MAINTHREAD);
                main = ffi::lua_tothread(state, -1);
                ffi::lua_pop(state, 1);
                *word_at(main) = 0;
                *word_at(state) = 0;
            })?;
        }
        Ok((Self(main), synchronous))
    }

    /// Sets the word that the loop's callbacks and new coroutines see; gives the one before.
    pub(crate) fn replace_word(self, _lua: &Lua, word: Word) -> Word {
        // SAFETY: `_lua` shows that the state is there.
        Word(unsafe { word_at(self.0).replace(word.0) })
    }

    /// Marks it as what runs while its state is closed, until its finalizers are through. `None` if it is not known
    /// when that is.
    pub(crate) fn closing(self, lua: &Lua) -> Option<Running> {
        if !has_last_finalizer(lua) {
            return None;
        }
        CLOSING.with(|closing| closing.store(true, Ordering::Relaxed));
        Some(self.running(None))
    }

    /// Marks it as what runs, or `thread`, until the guard goes.
    pub(crate) fn running(self, thread: Option<&Thread>) -> Running {
        Running(runs(thread.map_or(self.0, Thread::state)))
    }
}

/// Marks a coroutine as what runs; gives what ran before.
fn runs(state: *mut lua_State) -> *mut lua_State {
    RUNNING.with(|running| running.swap(state, Ordering::Relaxed))
}

/// What ran before goes on. The interruption of a step reaches it, too: else it could start again
/// and again what runs for too long. So does an interrupt that came too late for what ran.
fn goes_on(before: *mut lua_State) {
    RUNNING.with(|running| running.store(before, Ordering::Relaxed));
    // In this order, so that an interruption meanwhile is not missed.
    let is_to_stop = EXPIRED.with(|expired| expired.load(Ordering::Relaxed)) || is_interrupted();
    if !before.is_null() && is_to_stop {
        // SAFETY: what goes on is there, and this is its thread.
        unsafe { ffi::lua_sethook(before, Some(stop), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// Something runs. Dropped in reverse order of making.
#[must_use]
pub(crate) struct Running(*mut lua_State);

impl Drop for Running {
    fn drop(&mut self) {
        goes_on(self.0);
    }
}

/// Where a state's registry has [`keep_last_finalizer`]'s value. Its identity is its address.
static LAST: u8 = 4;

/// Has the state tell when it has run the finalizers of all that came after this: it runs the first one last. What
/// watches them must not touch a coroutine that is about to go.
fn keep_last_finalizer(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: what is pushed is stored or popped, and the finalizer holds no Rust value.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_newuserdatauv(state, 0, 0);
            ffi::lua_createtable(state, 0, 1);
            ffi::lua_pushcclosure(state, finalized, 0);
            ffi::lua_setfield(state, -2, c"__gc".as_ptr());
            ffi::lua_setmetatable(state, -2);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, (&raw const LAST).cast());
        })
    }
}

fn has_last_finalizer(lua: &Lua) -> bool {
    let mut found = false;
    // SAFETY: what is pushed is popped.
    let looked = unsafe {
        lua.exec_raw::<()>((), |state| {
            let kind = ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, (&raw const LAST).cast());
            found = kind == ffi::LUA_TUSERDATA;
            ffi::lua_pop(state, 1);
        })
    };
    looked.is_ok() && found
}

unsafe extern "C-unwind" fn finalized(_: *mut lua_State) -> c_int {
    if CLOSING.with(|closing| closing.swap(false, Ordering::Relaxed)) {
        RUNNING.with(|running| running.store(null_mut(), Ordering::Relaxed));
    }
    0
}

/// What a coroutine carries: whose it is, and whether its caller waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(usize);

/// Set in the words of coroutines that must not wait. Those that they create may.
const SYNCHRONOUS: usize = 1;

impl Word {
    /// The word of a lane's coroutines.
    pub(crate) fn of_lane(lane: usize) -> Self {
        Self(lane << 1)
    }

    /// Of the coroutine that calls the Rust function that runs.
    pub(crate) fn current(lua: &Lua) -> Self {
        // SAFETY: mlua gives a state that is there, for as long as `lua` is.
        Self(unsafe { *word_at(lua.state()) })
    }

    pub(crate) fn of(thread: &Thread) -> Self {
        // SAFETY: a `Thread` keeps its coroutine from being collected.
        Self(unsafe { *word_at(thread.state()) })
    }

    pub(crate) fn give_to(self, thread: &Thread) {
        // SAFETY: as in `of`.
        unsafe { *word_at(thread.state()) = self.0 }
    }

    pub(crate) fn lane(self) -> usize {
        self.0 >> 1
    }

    pub(crate) fn is_synchronous(self) -> bool {
        self.0 & SYNCHRONOUS != 0
    }
}

unsafe fn word_at(state: *mut lua_State) -> *mut usize {
    // SAFETY: Lua keeps a pointer's space there, and `Main::install` and every new coroutine
    // have written it.
    unsafe { ffi::lua_getextraspace(state).cast() }
}

unsafe extern "C-unwind" fn create(state: *mut lua_State) -> c_int {
    // SAFETY: as in Lua's own `coroutine.create`.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TFUNCTION);
        let coroutine = ffi::lua_newthread(state);
        *word_at(coroutine) = *word_at(state) & !SYNCHRONOUS;
        ffi::lua_pushvalue(state, 1);
        ffi::lua_xmove(state, coroutine, 1);
    }
    1
}

unsafe extern "C-unwind" fn create_synchronous(state: *mut lua_State) -> c_int {
    // SAFETY: `create` leaves the coroutine on top.
    unsafe {
        create(state);
        *word_at(ffi::lua_tothread(state, -1)) |= SYNCHRONOUS;
    }
    1
}

unsafe extern "C-unwind" fn wrap(state: *mut lua_State) -> c_int {
    // SAFETY: `create` leaves the coroutine on top, which becomes the closure's one upvalue.
    unsafe {
        create(state);
        ffi::lua_pushcclosure(state, wrapped, 1);
    }
    1
}

unsafe extern "C-unwind" fn resume(state: *mut lua_State) -> c_int {
    // SAFETY: as in Lua's own `coroutine.resume`; indices are within what `continue_with` left.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTHREAD);
        let coroutine = ffi::lua_tothread(state, 1);
        match continue_with(state, coroutine, ffi::lua_gettop(state) - 1) {
            Some(results) => {
                ffi::lua_pushboolean(state, 1);
                ffi::lua_insert(state, -(results + 1));
                results + 1
            }
            None => {
                ffi::lua_pushboolean(state, 0);
                ffi::lua_insert(state, -2);
                2
            }
        }
    }
}

unsafe extern "C-unwind" fn wrapped(state: *mut lua_State) -> c_int {
    // SAFETY: as in Lua's own: the upvalue is the coroutine, and no Rust value is live when the
    // error is raised.
    unsafe {
        let coroutine = ffi::lua_tothread(state, ffi::lua_upvalueindex(1));
        if let Some(results) = continue_with(state, coroutine, ffi::lua_gettop(state)) {
            return results;
        }
        let mut status = ffi::lua_status(coroutine);
        if status != ffi::LUA_OK && status != ffi::LUA_YIELD {
            status = close_running(state, coroutine);
            ffi::lua_xmove(coroutine, state, 1);
        }
        if status != ffi::LUA_ERRMEM && ffi::lua_type(state, -1) == ffi::LUA_TSTRING {
            ffi::luaL_where(state, 1);
            ffi::lua_insert(state, -2);
            ffi::lua_concat(state, 2);
        }
        ffi::lua_error(state)
    }
}

unsafe extern "C-unwind" fn close(state: *mut lua_State) -> c_int {
    // SAFETY: as in Lua's own `coroutine.close`; no Rust value is live when an error is raised.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTHREAD);
        let coroutine = ffi::lua_tothread(state, 1);
        let status = match coroutine == state {
            true => c"running",
            false => match ffi::lua_status(coroutine) {
                ffi::LUA_YIELD => c"suspended",
                ffi::LUA_OK if is_normal(coroutine) => c"normal",
                _ => c"dead",
            },
        };
        if status == c"running" || status == c"normal" {
            ffi::luaL_where(state, 1);
            ffi::lua_pushstring(state, c"cannot close a ".as_ptr());
            ffi::lua_pushstring(state, status.as_ptr());
            ffi::lua_pushstring(state, c" coroutine".as_ptr());
            ffi::lua_concat(state, 4);
            ffi::lua_error(state);
        }
        if close_running(state, coroutine) == ffi::LUA_OK {
            ffi::lua_pushboolean(state, 1);
            return 1;
        }
        ffi::lua_pushboolean(state, 0);
        ffi::lua_xmove(coroutine, state, 1);
        2
    }
}

/// Whether a coroutine that has not yielded runs another one.
unsafe fn is_normal(coroutine: *mut lua_State) -> bool {
    // SAFETY: `ar` is written only if there is a level.
    unsafe {
        let mut ar: ffi::lua_Debug = std::mem::zeroed();
        ffi::lua_getstack(coroutine, 0, &mut ar) > 0
    }
}

/// Closes a coroutine; what its to-be-closed variables do can be stopped like all else.
unsafe fn close_running(state: *mut lua_State, coroutine: *mut lua_State) -> c_int {
    let before = runs(coroutine);
    // SAFETY: the caller has two coroutines of one state, and the closed one does not run.
    let status = unsafe { ffi::lua_closethread(coroutine, state) };
    goes_on(before);
    status
}

/// Runs a coroutine with the topmost values; gives how many it left, or `None` and its error on
/// top.
unsafe fn continue_with(
    state: *mut lua_State,
    coroutine: *mut lua_State,
    arguments: c_int,
) -> Option<c_int> {
    // SAFETY: both are coroutines of one state, with the space that is checked.
    unsafe {
        let refused = |message: &CStr| {
            ffi::lua_pushstring(state, message.as_ptr());
            None
        };
        if ffi::lua_checkstack(coroutine, arguments) == 0 {
            return refused(c"too many arguments to resume");
        }
        ffi::lua_xmove(state, coroutine, arguments);
        let mut results = 0;
        let before = runs(coroutine);
        let status = ffi::lua_resume(coroutine, state, arguments, &mut results);
        goes_on(before);
        if status != ffi::LUA_OK && status != ffi::LUA_YIELD {
            ffi::lua_xmove(coroutine, state, 1);
            return None;
        }
        if ffi::lua_checkstack(state, results + 1) == 0 {
            ffi::lua_pop(coroutine, results);
            return refused(c"too many results to resume");
        }
        ffi::lua_xmove(coroutine, state, results);
        Some(results)
    }
}

/// The thread that owns a Lua state, for the one that watches it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerThread(libc::pthread_t);

// SAFETY: the handle is a number that any thread may send a signal to.
unsafe impl Send for OwnerThread {}

// SAFETY: as above; nothing about it changes.
unsafe impl Sync for OwnerThread {}

/// What the watcher sends. Programs and children ignore it unless they ask for it.
const SIGNAL: c_int = libc::SIGURG;

impl OwnerThread {
    /// The thread that calls, which will understand [`OwnerThread::interrupt`].
    ///
    /// # Errors
    ///
    /// The system takes no signal handler.
    pub(crate) fn current() -> io::Result<Self> {
        static INSTALLED: OnceLock<Result<(), Option<i32>>> = OnceLock::new();
        let installed = INSTALLED.get_or_init(|| {
            // SAFETY: the handler reads and writes thread-local atomics without destructors, and
            // calls `lua_sethook`, which Lua allows in a signal handler.
            let installed = unsafe { signal_hook_registry::register(SIGNAL, expire) };
            installed.map(drop).map_err(|error| error.raw_os_error())
        });
        if let Err(code) = installed {
            return Err(match code {
                Some(code) => io::Error::from_raw_os_error(*code),
                None => io::ErrorKind::Other.into(),
            });
        }
        // SAFETY: always allowed.
        Ok(Self(unsafe { libc::pthread_self() }))
    }

    /// Makes what Lua runs in this step fail, at its next instruction and every one after it
    /// until the step ends. Nothing happens to another step. The thread must be there.
    pub(crate) fn interrupt(self, step: u64) {
        EXPIRING.store(step, Ordering::SeqCst);
        // SAFETY: the caller keeps the thread.
        unsafe { libc::pthread_kill(self.0, SIGNAL) };
    }
}

/// The step that was interrupted last, on whichever thread.
static EXPIRING: AtomicU64 = AtomicU64::new(0);

/// A step begins on this thread; gives its number, which no other step of the process has.
pub(crate) fn begin_step() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let step = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    STEP.with(|current| current.store(step, Ordering::Relaxed));
    step
}

/// The step of this thread ends.
pub(crate) fn end_step() {
    STEP.with(|current| current.store(0, Ordering::Relaxed));
    EXPIRED.with(|expired| expired.store(false, Ordering::Relaxed));
}

/// Whether the step of this thread has had its time.
pub(crate) fn has_expired() -> bool {
    EXPIRED.with(|expired| expired.load(Ordering::Relaxed))
}

/// The signal handler.
fn expire() {
    let running = RUNNING.with(|running| running.load(Ordering::Relaxed));
    let step = STEP.with(|step| step.load(Ordering::Relaxed));
    if running.is_null() || step == 0 || step != EXPIRING.load(Ordering::SeqCst) {
        return;
    }
    EXPIRED.with(|expired| expired.store(true, Ordering::Relaxed));
    // SAFETY: the coroutine runs on this very thread, so it is there.
    unsafe {
        ffi::lua_sethook(running, Some(stop), ffi::LUA_MASKCOUNT, 1);
        // A finalizer runs without hooks.
        allow_hooks(running);
    }
}

/// Makes what Lua runs on this thread raise [`INTERRUPT`] once, at its next instruction. May be called in the handler
/// of a signal.
pub(crate) fn interrupt() {
    INTERRUPTED.with(|interrupted| interrupted.store(true, Ordering::Relaxed));
    let running = RUNNING.with(|running| running.load(Ordering::Relaxed));
    if !running.is_null() {
        // SAFETY: the coroutine runs on this very thread, so it is there.
        unsafe { ffi::lua_sethook(running, Some(stop), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// Whether an interrupt has come on this thread that was not raised yet.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.with(|interrupted| interrupted.load(Ordering::Relaxed))
}

/// Forgets an interrupt that was not raised yet.
pub(crate) fn forget_interrupt() {
    INTERRUPTED.with(|interrupted| interrupted.store(false, Ordering::Relaxed));
}

/// What an interrupt raises.
const INTERRUPT: &CStr = c"interrupted!";

/// Where a coroutine keeps whether its hook may run; 0 if that was not found. Lua turns it off
/// in finalizers and in hooks, and has no function that turns it on.
static HOOK_SWITCH: AtomicUsize = AtomicUsize::new(0);

/// Where Lua 5.4 has it: behind the links of the collector, the kind, the mark and the status.
const EXPECTED_SWITCH: usize = size_of::<usize>() + 3;

/// What the switch was while a hook ran.
static IN_HOOK: AtomicU8 = AtomicU8::new(u8::MAX);

/// Looks whether the switch is where it is expected: 1, but 0 while a hook runs. If it is not,
/// what runs without hooks is not stopped.
fn find_hook_switch(lua: &Lua) -> mlua::Result<()> {
    let chunk = lua.load("local x = 0 for i = 1, 9 do x = x + i end");
    let function = chunk.set_name("=[panto]").into_function()?;
    // SAFETY: the function runs to its end in a coroutine of its own, which stays on the stack
    // meanwhile; the byte that is read is well within a coroutine's state.
    unsafe {
        lua.exec_raw::<()>(function, |state| {
            let coroutine = ffi::lua_newthread(state);
            ffi::lua_insert(state, -2);
            ffi::lua_xmove(state, coroutine, 1);
            let before = *switch_of(coroutine, EXPECTED_SWITCH);
            ffi::lua_sethook(coroutine, Some(look), ffi::LUA_MASKCOUNT, 1);
            let mut results = 0;
            let status = ffi::lua_resume(coroutine, state, 0, &mut results);
            ffi::lua_sethook(coroutine, None, 0, 0);
            let after = *switch_of(coroutine, EXPECTED_SWITCH);
            let within = IN_HOOK.load(Ordering::Relaxed);
            let found = status == ffi::LUA_OK && (before, within, after) == (1, 0, 1);
            HOOK_SWITCH.store(if found { EXPECTED_SWITCH } else { 0 }, Ordering::Relaxed);
            ffi::lua_settop(state, 0);
        })
    }
}

unsafe extern "C-unwind" fn look(state: *mut lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: as in `find_hook_switch`.
    let within = unsafe { *switch_of(state, EXPECTED_SWITCH) };
    IN_HOOK.store(within, Ordering::Relaxed);
}

unsafe fn switch_of(state: *mut lua_State, place: usize) -> *mut u8 {
    // SAFETY: a coroutine's state is much larger than this.
    unsafe { state.cast::<u8>().add(place) }
}

/// Lets the hook of a coroutine run, also in a finalizer and in another hook.
unsafe fn allow_hooks(state: *mut lua_State) {
    let place = HOOK_SWITCH.load(Ordering::Relaxed);
    if place != 0 {
        // SAFETY: the place was found by `find_hook_switch`; this is the thread that runs the
        // coroutine, and Lua reads the byte anew for each hook.
        unsafe { switch_of(state, place).write_volatile(1) };
    }
}

/// What is said of a step that took too long.
pub(crate) const TOO_LONG: &str = "ran too long without a pause, and held up everything else; long work belongs in a process \
     (uv.spawn) or on another thread (uv.new_work)";

/// Where a state's registry has [`exempt`]'s table. Its identity is its address.
static OURS: u8 = 3;

/// Lets the functions that stand round every step come to their end, since they tell of it: these, those that they call,
/// and those that are made where they are. An interruption then reaches what they called or return to.
///
/// They are known by their upvalues: one that a function shares has the same identity in both, and code from elsewhere
/// cannot come to share it. Names of chunks tell nothing, since whoever loads one chooses its name.
pub(crate) fn exempt(lua: &Lua, roots: &[&Function]) -> mlua::Result<()> {
    for root in roots {
        // SAFETY: the closure runs in a protected call with the function on its stack, and holds no value to drop when
        // Lua raises an error.
        unsafe {
            lua.exec_raw::<()>(*root, |state| {
                if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, (&raw const OURS).cast())
                    != ffi::LUA_TTABLE
                {
                    ffi::lua_pop(state, 1);
                    ffi::lua_newtable(state);
                    ffi::lua_pushvalue(state, -1);
                    ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, (&raw const OURS).cast());
                }
                ffi::lua_insert(state, 1);
                note_upvalues(state);
            })?;
        }
    }
    Ok(())
}

/// Notes the upvalues of the topmost function, and those of the functions in them, in the table at 1. An upvalue lives
/// as long as a function that has it, and that is noted, too.
unsafe fn note_upvalues(state: *mut lua_State) {
    // SAFETY: the caller has a table at 1 and a function on top, in a protected call.
    unsafe {
        ffi::luaL_checkstack(state, 4, null());
        let function = ffi::lua_gettop(state);
        if ffi::lua_iscfunction(state, function) != 0 {
            return;
        }
        for n in 1.. {
            let id = ffi::lua_upvalueid(state, function, n);
            if id.is_null() {
                return;
            }
            if ffi::lua_rawgetp(state, 1, id) == ffi::LUA_TNIL {
                ffi::lua_pushvalue(state, function);
                ffi::lua_rawsetp(state, 1, id);
                ffi::lua_getupvalue(state, function, n);
                if ffi::lua_type(state, -1) == ffi::LUA_TFUNCTION {
                    note_upvalues(state);
                }
            }
            ffi::lua_settop(state, function);
        }
    }
}

/// Whether the function that runs is one of [`exempt`]'s.
unsafe fn is_ours(state: *mut lua_State, running: *mut ffi::lua_Debug) -> bool {
    // SAFETY: in a hook there is stack for this, all of which is popped; nothing here raises an error.
    unsafe {
        let top = ffi::lua_gettop(state);
        let mut found = false;
        if ffi::lua_getinfo(state, c"f".as_ptr(), running) != 0
            && ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, (&raw const OURS).cast())
                == ffi::LUA_TTABLE
        {
            for n in 1.. {
                let id = ffi::lua_upvalueid(state, top + 1, n);
                if id.is_null() {
                    break;
                }
                found = ffi::lua_rawgetp(state, top + 2, id) != ffi::LUA_TNIL;
                ffi::lua_pop(state, 1);
                if found {
                    break;
                }
            }
        }
        ffi::lua_settop(state, top);
        found
    }
}

unsafe extern "C-unwind" fn stop(state: *mut lua_State, running: *mut ffi::lua_Debug) {
    // SAFETY: a hook may raise an error; no Rust value is live then. Coroutines inherit hooks,
    // so one may find this set after the step that it was meant for.
    unsafe {
        if !EXPIRED.with(|expired| expired.load(Ordering::Relaxed)) {
            ffi::lua_sethook(state, None, 0, 0);
            if is_interrupted() {
                forget_interrupt();
                ffi::lua_pushstring(state, INTERRUPT.as_ptr());
                ffi::lua_error(state);
            }
            return;
        }
        if is_ours(state, running) {
            return;
        }
        // Lua would run the message handler of an `xpcall`, and what is to be closed in a coroutine
        // that this ends, as parts of this hook: without hooks, so that neither could be stopped.
        allow_hooks(state);
        ffi::luaL_where(state, 0);
        ffi::lua_pushlstring(state, TOO_LONG.as_ptr().cast(), TOO_LONG.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}
