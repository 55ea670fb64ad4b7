//! `require("luv")` for [mlua]: libuv's API as Lua knows it, in Rust on tokio.
//!
//! For any program that embeds Lua 5.4 with mlua. Names, arguments, callbacks and failures are those of
//! [luv]; `docs/luv.md` lists what is there, what is not, and where the two differ. There is one loop for a
//! Lua state, and it runs on the thread that owns the state: nothing here ever touches Lua from another thread.
//!
//! # A program of its own
//!
//! ```
//! let lua = mlua::Lua::new();
//! panto_luv::install(&lua, panto_luv::Options::new())?;
//! lua.load(r#"
//!     local uv = require("luv")
//!     local timer = uv.new_timer()
//!     timer:start(5, 0, function()
//!         done = true
//!         timer:close()
//!     end)
//!     uv.run()
//!     assert(done)
//! "#).exec()?;
//! # Ok::<(), mlua::Error>(())
//! ```
//!
//! # A host with a loop of its own
//!
//! A host whose thread already runs a tokio runtime installs with [`Options::hosted`] and takes the
//! [`Driver`]: it waits for [`Driver::ready`] beside whatever else it waits for, and calls [`Driver::pass`]
//! when that resolves. `uv.run` then answers `nil, "loop already running"`.
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let lua = mlua::Lua::new();
//! let options = panto_luv::Options::hosted(tokio::runtime::Handle::current());
//! let uv = panto_luv::install(&lua, options)?;
//! let mut driver = uv.driver()?;
//! lua.load(r#"require("luv").new_timer():start(1, 0, function() fired = true end)"#).exec()?;
//! while driver.is_alive() {
//!     tokio::select! {
//!         () = driver.ready() => driver.pass(),
//!         // … and the host's own inbox.
//!     }
//! }
//! assert!(lua.globals().get::<bool>("fired")?);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A host that must know on whose behalf a callback runs gives a [`CallbackContext`]; one that shows
//! errors itself gives [`Options::on_error`]. An error that a callback raises never ends the process.
//!
//! [luv]: https://github.com/luvit/luv

mod install;
pub use install::{InstallError, Options, install};
pub use process::kill_children;

mod event_loop;
pub use event_loop::{AlreadyRunning, Driver, Mode, Remote, Uv};

mod callback;
pub use callback::{CallbackContext, CallbackError, ContextToken};

// How Lua meets Rust: what a function is given, what it answers, how it fails.
mod api;
mod call;
mod errno;
mod failure;

// What the loop keeps.
mod clock;
mod closing;
mod handle;
mod outcomes;
mod queue;
mod request;
mod tasks;

// Descriptors that Lua names by number.
mod descriptors;
mod raw;

// The families of functions.
mod address;
mod async_handle;
mod constants;
mod dns;
mod families;
mod fs;
mod fs_event;
mod fs_poll;
mod isolated;
mod loop_functions;
mod machine;
mod os;
mod pipe;
mod poll;
mod process;
mod random;
mod semaphore;
mod signal_handle;
mod signals;
mod socket_options;
mod sockets;
mod steps;
mod stream;
mod tcp;
mod thread;
mod thread_value;
mod time;
mod timer;
mod tty;
mod udp;
mod wide_text;
mod work;
