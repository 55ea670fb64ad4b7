//! Patterns match as Lua's own do.

use panto_runtime::sandbox::{Limits, Outcome, Sandbox, Value};
use proptest::prelude::*;

use crate::support::{patient, sandbox};

/// Does everything that patterns are for, and tells all of it as one text.
const TRIAL: &str = r##"
local text, pattern, init = ...
local function told(...)
  local values = { ... }
  for i = 1, select("#", ...) do
    values[i] = type(values[i]) == "string" and "'" .. values[i] .. "'" or tostring(values[i])
  end
  return table.concat(values, " ")
end
local lines = {}
local function try(name, f, ...)
  local results = told(pcall(f, ...))
  -- Messages name their place, and this file is not the same on both sides.
  if results:find("^false") then results = "false" end
  lines[#lines + 1] = name .. ": " .. results
end
try("find", string.find, text, pattern, init)
try("plain", string.find, text, pattern, init, true)
try("match", string.match, text, pattern, init)
try("gmatch", function()
  local all = {}
  for a, b in text:gmatch(pattern) do all[#all + 1] = told(a, b) end
  return table.concat(all, ";")
end)
try("gsub", string.gsub, text, pattern, "<%1>")
try("gsub 1", string.gsub, text, pattern, "%1", 2)
try("gsub table", string.gsub, text, pattern, { a = "A", ab = false, [1] = "one" })
try("gsub function", string.gsub, text, pattern, function(a, b) return b and told(a, b) end)
return table.concat(lines, "\n")
"##;

/// A sandbox, and Lua as it is.
struct Both {
    sandbox: Sandbox,
    lua: mlua::Lua,
}

impl Both {
    fn new() -> Self {
        Self {
            sandbox: sandbox(Limits {
                instructions: u64::MAX,
                ..patient()
            }),
            lua: mlua::Lua::new(),
        }
    }

    /// What each of them makes of a pattern: the sandbox first.
    fn told(&mut self, text: &[u8], pattern: &[u8], init: i64) -> (String, String) {
        let values = vec![
            Value::String(text.to_vec()),
            Value::String(pattern.to_vec()),
            Value::Integer(init),
        ];
        let ours = match self.sandbox.run("trial", TRIAL, values).wait() {
            Outcome::Finished(values) => match values.as_slice() {
                [Value::String(told)] => String::from_utf8_lossy(told).into_owned(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        let text = mlua::BString::from(text);
        let arguments = (text, mlua::BString::from(pattern), init);
        let theirs: mlua::LuaString = self.lua.load(TRIAL).call(arguments).unwrap();
        (ours, theirs.to_string_lossy().to_string())
    }
}

#[test]
fn a_list_of_patterns_matches_as_in_lua() {
    let texts = [
        "",
        "hello world",
        "key = value, k2=v2",
        "THE (quick) fox",
        "aaa",
        "a\0b\0",
        "x[1]",
    ];
    let patterns = [
        "",
        "l+",
        "(%w+)%s*=%s*(%w+)",
        "%f[%w]%a+",
        "%b()",
        "()",
        "(a*)(.-)",
        "^h",
        "^",
        "$",
        "d$",
        ".-",
        "a-b",
        "[a-c]+",
        "[^%s]+",
        "[]]",
        "[^]]",
        "[%]%[]",
        "(h)(e)%1",
        "(.)%1",
        "%",
        "[a",
        "(",
        ")",
        "(()",
        "%f",
        "%b",
        "%bx",
        "%1",
        "\0",
        "[%a-]",
        "[a-]",
        "[-a]",
        "%%",
        "x?y?z*",
        "(a)(b)?",
        ".",
        "..",
        "((h)(e))",
        "%x%X%u%U%l%p%g%c%d%w%s",
        "[+--]",
        "^^",
        "a$b",
        "$a",
    ];
    let mut both = Both::new();
    for text in texts {
        for pattern in patterns {
            for init in [1, -2, 4, 100] {
                let (ours, theirs) = both.told(text.as_bytes(), pattern.as_bytes(), init);
                assert_eq!(ours, theirs, "{text:?} {pattern:?} {init}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_pattern_matches_as_in_lua(
        text in "[ab1 .()-]{0,12}",
        pattern in "([ab1.^$()%*+?-]|\\[|\\]|%[abdfswAW1]|\\[\\^?[ab1%-]{1,4}\\]){0,6}",
        init in -3_i64..6,
    ) {
        let (ours, theirs) = Both::new().told(text.as_bytes(), pattern.as_bytes(), init);
        prop_assert_eq!(ours, theirs);
    }
}
