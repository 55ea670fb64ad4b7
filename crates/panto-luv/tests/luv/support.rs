//! A Lua state with luv in it, and how a test runs a script.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{FromLuaMulti, Lua};
use panto_luv::{Options, Uv};

/// A state, its loop, and the errors that callbacks raised.
pub(crate) struct Bench {
    pub(crate) lua: Lua,
    pub(crate) uv: Uv,
    pub(crate) errors: Rc<RefCell<Vec<String>>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Options::new())
    }

    pub(crate) fn with(options: Options) -> Self {
        let lua = Lua::new();
        let errors = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&errors);
        let options = options.on_error(move |error| heard.borrow_mut().push(error.message.clone()));
        let uv = panto_luv::install(&lua, options).unwrap();
        lua.load(PRELUDE).set_name("=prelude").exec().unwrap();
        Self { lua, uv, errors }
    }

    /// Runs a chunk, and returns what it returns.
    pub(crate) fn eval<R: FromLuaMulti>(&self, script: &str) -> R {
        self.lua
            .load(script)
            .set_name("=test")
            .eval()
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Runs a script in a state of its own, then its loop to the end, and returns its log: what it gave to `log`, a line a call.
#[track_caller]
pub(crate) fn log_of(script: &str) -> String {
    let bench = Bench::new();
    bench.eval::<()>(script);
    bench.eval::<()>("uv.run()");
    assert_eq!(*bench.errors.borrow(), [""; 0]);
    bench.eval("return table.concat(lines, '\\n')")
}

/// Runs a script as [`log_of`] and compares its log with lines.
#[track_caller]
pub(crate) fn logs(script: &str, expected: &[&str]) {
    assert_eq!(log_of(script), expected.join("\n"));
}

const PRELUDE: &str = r#"
uv = require("luv")
lines = {}
--- Adds a line to the log.
function log(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = tostring(words[i]) end
  lines[#lines + 1] = table.concat(words, " ")
end
"#;
