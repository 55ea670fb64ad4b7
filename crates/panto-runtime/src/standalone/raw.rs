//! The places where the compiler cannot see what holds: a state whose chunks may do what mlua cannot check, and signal
//! handlers. Signals arrive on any thread; all else is on the owner thread.
#![expect(
    unsafe_code,
    reason = "Lua's C modules and debug library, and what handlers of signals do"
)]

use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use libc::c_int;
use mlua::{Lua, LuaOptions, StdLib, ffi};
use nix::errno::Errno;

use crate::raw::{Main, Running};

/// A state with all libraries of these, C modules and `debug` among them if they are.
pub(super) fn new_state(libraries: StdLib) -> Lua {
    // SAFETY: what mlua cannot check is what the state's chunks do with the `debug` library, with bytecode and with
    // modules in C. Whoever runs a chunk here runs it with all the rights of the process, as a program in C.
    unsafe { Lua::unsafe_new_with(libraries, LuaOptions::new()) }
}

/// A function that tells whether writing to a file of Lua's has failed, at any time before.
pub(super) fn output_failed(lua: &Lua) -> mlua::Result<mlua::Function> {
    // SAFETY: the function keeps to Lua's calling convention, and holds no Rust value.
    unsafe { lua.create_c_function(has_failed) }
}

unsafe extern "C-unwind" fn has_failed(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: what Lua knows as a file begins with the C library's, which is there while it is open.
    unsafe {
        let file = ffi::luaL_checkudata(state, 1, c"FILE*".as_ptr());
        let failed = libc::ferror(*file.cast::<*mut libc::FILE>()) != 0;
        ffi::lua_pushboolean(state, c_int::from(failed));
    }
    1
}

/// Adds libraries to such a state.
pub(super) fn add_libraries(lua: &Lua, libraries: StdLib) -> mlua::Result<()> {
    lua.load_std_libs(libraries)
}

/// Whether an interpreter has the interrupts.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that owns its state.
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// Whether it was interrupted.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The writing end of the pipe that wakes its loop; -1 if it has none.
static BELL: AtomicI32 = AtomicI32::new(-1);

/// While it lives, SIGINT raises an error in the Lua code that runs; the second one ends the process.
pub(super) struct Interrupts {
    previous: libc::sigaction,
    bell: Option<OwnedFd>,
    /// The main coroutine runs when no other one does.
    _running: Running,
}

impl Interrupts {
    /// Takes SIGINT for the state, whose owner thread this must be. `None` if the process was started to ignore it,
    /// or another state has it.
    pub(super) fn take(main: Main) -> Option<Self> {
        let previous = action(libc::SIGINT);
        if previous.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        if TAKEN.swap(true, Ordering::SeqCst) {
            return None;
        }
        let running = main.running(None);
        OWNER.store(this_thread(), Ordering::SeqCst);
        INTERRUPTED.store(false, Ordering::SeqCst);
        // Without SA_RESTART, so that a chunk that waits for input hears of it.
        set_handler(libc::SIGINT, on_interrupt as *const () as usize, 0);
        Some(Self {
            previous,
            bell: None,
            _running: running,
        })
    }

    /// Has an interrupt also write a byte to `bell`.
    pub(super) fn ring(&mut self, bell: OwnedFd) {
        BELL.store(bell.as_raw_fd(), Ordering::SeqCst);
        self.bell = Some(bell);
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if action(libc::SIGINT).sa_sigaction == on_interrupt as *const () as usize {
            // SAFETY: the action is one that the system gave.
            unsafe { libc::sigaction(libc::SIGINT, &self.previous, ptr::null_mut()) };
        }
        // Before the pipe is closed and the state goes. A handler runs on this thread only, so none is under way.
        BELL.store(-1, Ordering::SeqCst);
        crate::raw::forget_interrupt();
        TAKEN.store(false, Ordering::SeqCst);
    }
}

/// Whether an interrupt came since they were taken last.
pub(super) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

extern "C" fn on_interrupt(_signal: c_int) {
    let errno = Errno::last_raw();
    interrupt();
    Errno::set_raw(errno);
}

fn interrupt() {
    // Who handles the signal by now calls what handled it before, and means something else by it.
    let is_ours = action(libc::SIGINT).sa_sigaction == on_interrupt as *const () as usize;
    if !TAKEN.load(Ordering::SeqCst) || !is_ours {
        return;
    }
    let owner = OWNER.load(Ordering::SeqCst);
    if this_thread() != owner {
        // SAFETY: the owner thread lives at least until it takes the handler back, and made the number itself.
        unsafe { libc::pthread_kill(owner as libc::pthread_t, libc::SIGINT) };
        return;
    }
    INTERRUPTED.store(true, Ordering::SeqCst);
    set_handler(libc::SIGINT, libc::SIG_DFL, 0);
    crate::raw::interrupt();
    let bell = BELL.load(Ordering::SeqCst);
    if bell >= 0 {
        // SAFETY: the descriptor is open, since its owner clears `BELL` before it closes it, on this thread; one byte is
        // read from a constant. The pipe has room: this happens once.
        unsafe { libc::write(bell, [0_u8].as_ptr().cast(), 1) };
    }
}

/// From now on a write that nobody can read fails, unless it is standard output that nobody reads: then the process ends
/// as by SIGPIPE, which it is not told of otherwise. Programs that it starts are as ever.
pub(super) fn end_with_standard_output() {
    set_handler(
        libc::SIGPIPE,
        on_broken_pipe as *const () as usize,
        libc::SA_RESTART,
    );
}

extern "C" fn on_broken_pipe(_signal: c_int) {
    let errno = Errno::last_raw();
    let mut output = libc::pollfd {
        fd: libc::STDOUT_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one `pollfd` is given, and outlives the call; the number need not be open.
    let found = unsafe { libc::poll(&mut output, 1, 0) };
    if found > 0 && output.revents & (libc::POLLERR | libc::POLLHUP) != 0 {
        set_handler(libc::SIGPIPE, libc::SIG_DFL, 0);
        // SAFETY: raising a signal has no conditions; it is heard when this handler returns.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
    Errno::set_raw(errno);
}

/// What the process does when it gets the signal.
fn action(signal: c_int) -> libc::sigaction {
    // SAFETY: all zeros are an action, which the call below fills in.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: only the second pointer is written to.
    unsafe { libc::sigaction(signal, ptr::null(), &mut action) };
    action
}

/// Has the process call `handler`, which is one of this file's or the system's own, when it gets the signal.
fn set_handler(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: all zeros are an action, without a handler and with an empty mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: the handlers of this file call only what may be called at any time: they allocate nothing and take no lock.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
}

fn this_thread() -> usize {
    // SAFETY: it has no conditions.
    unsafe { libc::pthread_self() as usize }
}
