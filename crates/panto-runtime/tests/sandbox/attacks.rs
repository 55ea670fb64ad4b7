//! Code that means to go on for ever, or to take all there is. Nothing here is timed closely: what is
//! proved is which limit ended it, and so that it was not the last one, the thread that nobody waits for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use panto_runtime::sandbox::{Given, Limits, Outcome, Reason, Sandbox};

use crate::support::{outcome, patient, sandbox};

/// What a chunk is stopped by while time is not short.
fn stopped_by(source: &str, instructions: u64) -> Reason {
    let limits = Limits {
        instructions,
        ..patient()
    };
    match sandbox(limits).run("chunk", source, vec![]).wait() {
        Outcome::Killed(reason) => reason,
        other => panic!("{source}\n{other:?}"),
    }
}

/// Enough to see that code goes on for ever.
const FEW: u64 = 200_000;

/// Enough to use up the memory.
const MANY: u64 = 1_000_000;

/// An outcome on one line, of which the start is enough.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Finished(values) => format!("{:.60}", format!("{values:?}")),
        Outcome::Failed(message) => format!("{message:.120}"),
        other => format!("{other:?}"),
    }
}

/// All of these run code of their own without end, wherever Lua lets code run.
#[track_caller]
fn all_stopped_by(reason: Reason, sources: &[&str]) {
    let instructions = if reason == Reason::Memory { MANY } else { FEW };
    for source in sources {
        assert_eq!(stopped_by(source, instructions), reason, "{source}");
    }
}

#[test]
fn loops() {
    all_stopped_by(
        Reason::Instructions,
        &[
            "while true do end",
            "repeat until false",
            "::again:: goto again",
            "for i = 1, math.maxinteger do end",
            "for i = 1, 2, 0.0000000000001 do end",
            "local function f() return f() end return f()",
            "for _ in function() return 1 end do end",
            "local t = { 1 } while true do local _ = next(t) end",
            "while true do ({}).x = select('#', 1, 2, 3) end",
        ],
    );
}

#[test]
fn loops_behind_a_protected_call() {
    all_stopped_by(
        Reason::Instructions,
        &[
            "local function spin() while true do end end while true do pcall(spin) end",
            "while true do pcall(error) end",
            "while true do xpcall(error, function() while true do end end) end",
            "xpcall(function() while true do end end, function() while true do end end)",
            "local function f() return pcall(f) end while true do f() end",
            "local function h() error(h) end while true do xpcall(error, h) end",
            "local function f() error(setmetatable({}, { __tostring = f })) end while true do pcall(f) end",
            "local function f() local ok, e = pcall(f) error(e) end while true do pcall(f) end",
        ],
    );
}

#[test]
fn loops_in_coroutines() {
    all_stopped_by(
        Reason::Instructions,
        &[
            "coroutine.wrap(function() while true do end end)()",
            "local co = coroutine.create(function() while true do coroutine.yield() end end)
             while true do coroutine.resume(co) end",
            "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
            "while true do pcall(coroutine.wrap(function() while true do end end)) end",
            "local function nest(n)
               if n == 0 then while true do end end
               while true do pcall(coroutine.wrap(function() nest(n - 1) end)) end
             end
             nest(6)",
            "local function nest() while true do coroutine.resume(coroutine.create(nest)) end end nest()",
            "local function nest() pcall(coroutine.wrap(nest)) while true do end end nest()",
            "local co
             co = coroutine.create(function() while true do coroutine.resume(co) end end)
             while true do coroutine.resume(co) end",
            "local main = coroutine.running() while true do pcall(coroutine.resume, main) end",
            "table.sort({ 3, 2, 1 }, coroutine.wrap(function() while true do coroutine.yield(true) pcall(error) end end))
             while true do end",
        ],
    );
}

#[test]
fn loops_in_functions_that_lua_calls_from_c() {
    all_stopped_by(
        Reason::Instructions,
        &[
            "table.sort({ 3, 2, 1 }, function() while true do end end)",
            "pcall(table.sort, { 3, 2, 1 }, function() while true do pcall(error) end end) while true do end",
            "('x'):gsub('x', function() while true do end end)",
            "pcall(string.gsub, 'x', 'x', setmetatable({}, { __index = function() while true do end end }))",
            "for _ in ('x'):rep(10000):gmatch('') do while true do end end",
            "tostring(setmetatable({}, { __tostring = function() while true do end end }))",
            "('%s'):format(setmetatable({}, { __tostring = function() while true do end end }))",
            "return '1' + setmetatable({}, { __add = function() while true do end end })",
            "return '1' // setmetatable({}, { __idiv = function() while true do pcall(error) end end })",
            "return -setmetatable({}, { __unm = function() while true do end end })",
            "for _ in pairs(setmetatable({}, { __pairs = function() while true do end end })) do end",
            "for _ in ipairs(setmetatable({}, { __index = function() return 1 end })) do end",
        ],
    );
}

#[test]
fn loops_in_metamethods() {
    let spin = "local spin = function() while true do end end local function with(event)
        return setmetatable({}, { [event] = spin }) end ";
    for source in [
        "return with('__index').x",
        "with('__newindex').x = 1",
        "return with('__call')()",
        "return with('__eq') == with('__eq')",
        "return with('__lt') < 1",
        "return 1 <= with('__le')",
        "return with('__concat') .. 'x'",
        "return 'x' .. with('__concat')",
        "return #with('__len')",
        "return ~with('__bnot')",
        "return 1 & with('__band')",
        "do local c <close> = with('__close') end",
        "pcall(function() local c <close> = with('__close') error() end)",
        "local co = coroutine.wrap(function() local c <close> = with('__close') error() end) pcall(co) spin()",
        "local c <close> = with('__close') local t = {} while true do t = { t } end",
        "for _ in next, {}, nil, with('__close') do end",
        "table.concat(with('__len'))",
        "table.insert(with('__len'), 1)",
        "table.remove(with('__index'), 1)",
        "table.unpack(with('__index'), 1, 2)",
        "table.move(with('__index'), 1, 2, 3)",
        "table.move({ 1 }, 1, 1, 3, with('__newindex'))",
        "table.sort(with('__len'))",
        "local t = {} for i = 1, 150 do t = setmetatable({}, { __index = t }) end while true do local _ = t.x end",
        "local t = {} setmetatable(t, { __index = t }) while true do pcall(function() return t.x end) end",
    ] {
        let source = format!("{spin}{source}");
        assert_eq!(stopped_by(&source, FEW), Reason::Instructions, "{source}");
    }
}

#[test]
fn lists_that_lie_about_their_length() {
    let lying = "local function lying(value, more)
           return setmetatable({}, {
             __len = function() return 1 << 60 end,
             __index = function() return value end,
             __newindex = function() end,
           })
         end ";
    for source in [
        "table.insert(lying(), 1, 'x')",
        "table.remove(lying(), 1)",
        "table.move(lying(), 1, math.maxinteger - 10, 2)",
        "table.sort(lying(1))",
        "table.concat(lying(''))",
    ] {
        let reason = stopped_by(&format!("{lying}{source}"), FEW);
        let is_expected = matches!(reason, Reason::Instructions | Reason::Memory);
        assert!(is_expected, "{source} {reason:?}");
    }
}

#[test]
fn patterns_that_never_end() {
    all_stopped_by(
        Reason::Instructions,
        &[
            "('x'):rep(40):find(('.-'):rep(12) .. 'y')",
            "('x'):rep(40):match(('.-'):rep(12) .. 'y')",
            "('x'):rep(40):gmatch(('.-'):rep(12) .. 'y')()",
            "('x'):rep(40):gsub(('.-'):rep(12) .. 'y', '')",
            "pcall(string.find, ('x'):rep(40), ('x*'):rep(20) .. 'y') while true do end",
            "('a'):rep(1e6):find(('a?'):rep(100) .. 'b')",
            "('('):rep(1e6):find('%b()')",
            "('('):rep(1e6):gsub('%b()', '')",
            "('a '):rep(5e5):find('%f[%w]%w+%f[%W]x')",
            "('a'):rep(1e6):find('(a*)%1b')",
            "('a'):rep(1e6):find('[' .. ('b'):rep(1e5) .. ']')",
            "('a'):rep(1e6):find('.-b')",
            "('a'):rep(2e6):find(('a'):rep(1e6) .. 'b', 1, true) while true do end",
            "for i = 1, 1e9 do ('a'):rep(1e5):find('b', 1, true) end",
        ],
    );
}

#[test]
fn patterns_that_nest_deeper_than_lua_allows_are_errors() {
    for source in [
        "return ('x'):rep(1000):find(('x?'):rep(1000))",
        "return ('x'):find(('('):rep(40))",
        "return ('x'):rep(1e5):find(('.'):rep(1e4) .. ('x-'):rep(500))",
    ] {
        let outcome = outcome(source);
        assert!(
            matches!(
                outcome,
                Outcome::Failed(_) | Outcome::Finished(_) | Outcome::Killed(Reason::Instructions)
            ),
            "{source} {outcome:?}"
        );
    }
}

#[test]
fn memory_runs_out() {
    all_stopped_by(
        Reason::Memory,
        &[
            "local t = {} while true do t[#t + 1] = {} end",
            "local s = 'x' while true do s = s .. s end",
            "local s = 'x' while true do pcall(function() s = s .. s end) end",
            "local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = { i } end end) end",
            "local f while true do local g = f f = function() return g end end",
            "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
            "local t = {} while true do t[#t + 1] = coroutine.wrap(function() coroutine.yield() end) t[#t]() end",
            "local t = {} for i = 1, 1e9 do t[i * 1.5] = i end",
            "local t = {} for i = 1, 1e9 do t[#t + 1] = ('x'):rep(1000) .. i end",
            "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1e5) end return table.concat(t)",
            "return table.concat({ ('x'):rep(3e6), ('y'):rep(3e6), ('z'):rep(3e6) })",
            // After an error a coroutine goes on with its C stack unwound, so what bounds these is memory.
            "local function f() while true do pcall(f) end end f()",
            "local function f() pcall(f) pcall(f) end while true do f() end",
            "local function f(n) return n and f(n + 1) or f(1) end f(1)",
            "local s = ('x'):rep(1e6) return (('%s'):rep(100)):format(table.unpack((function() local t = {} for i = 1, 100 do t[i] = s end return t end)()))",
            "return utf8.char(table.unpack((function() local t = {} for i = 1, 9e4 do t[i] = 0x10ffff end return t end)())):rep(20):rep(20)",
            "local function f(n) local a, b, c, d = 1, 2, 3, 4 return f(n + 1) + a end f(1)",
            "while true do pcall(function() local t = {} while true do t = { t, {}, {}, {} } end end) end",
            "while true do xpcall(function() local t = {} while true do t = { t } end end, function() end) end",
            "while true do coroutine.resume(coroutine.create(function() local t = {} while true do t = { t } end end)) end",
        ],
    );
}

#[test]
fn closing_while_memory_runs_out_ends_too() {
    let source = "local t = {}
        local function f()
          local c <close> = setmetatable({}, { __close = function() t[#t + 1] = {} end })
          t[#t + 1] = {}
          f()
        end
        while true do pcall(f) end";
    let outcome = outcome(source);
    assert!(matches!(outcome, Outcome::Killed(_)), "{outcome:?}");
}

/// In Lua, in C, and in what Rust does for either.
#[test]
fn memory_may_run_out_anywhere() {
    let source = "
        local kept = {}
        for i = 1, 5 do
          kept[#kept + 1] = ('key = value'):rep(i * 10):gsub('(%w+) = (%w+)', '%2 = %1')
          kept[#kept + 1] = give({ list = { 'a', 'b', { i } }, name = ('x'):rep(i * 10) })
          kept[#kept + 1] = park({ kept[#kept] })
          kept[#kept + 1] = coroutine.wrap(function(...) return ... end)(('%q'):format(i))
          table.sort(kept, function(a, b) return tostring(a) < tostring(b) end)
        end
        return kept";
    let mut outcomes = BTreeSet::new();
    for memory in (0..24_000).step_by(125) {
        let given = Given::new().immediate("give", Ok).parking("park");
        let mut sandbox = Sandbox::new(
            Limits {
                memory,
                ..patient()
            },
            given,
        )
        .unwrap();
        let mut outcome = sandbox.run("chunk", source, vec!["argument".into()]).wait();
        while let Outcome::Parked(request) = outcome {
            outcome = sandbox.resume(request.arguments).wait();
        }
        outcomes.insert(match outcome {
            Outcome::Finished(_) => "finished".to_owned(),
            other => told(&other),
        });
    }
    let expected = [
        "Killed(Memory)",
        "chunk:4: resulting string too large",
        "finished",
    ];
    assert_eq!(outcomes, BTreeSet::from(expected.map(str::to_owned)));
}

#[test]
fn limits_may_be_as_large_as_they_get() {
    let limits = Limits {
        instructions: u64::MAX,
        time: Duration::MAX,
        memory: usize::MAX,
        output: usize::MAX,
        source: usize::MAX,
    };
    let outcome = sandbox(limits)
        .run("chunk", "return ('x'):rep(3)", vec![])
        .wait();
    assert_eq!(outcome, Outcome::Finished(vec!["xxx".into()]));
}

#[test]
fn garbage_is_no_use_of_memory() {
    let source = "for i = 1, 200 do local s = ('0123456789'):rep(1e5) end return 'done'";
    assert_eq!(outcome(source), Outcome::Finished(vec!["done".into()]));
}

#[test]
fn huge_results_of_single_calls_are_refused() {
    let messages = [
        "return ('x'):rep(1e9, ',')",
        "return ('x'):rep(math.maxinteger)",
        "return #(''):rep(1e15), #(''):rep(1e15, '')",
        "return ('%99999d'):format(1)",
        "return ('%.99999f'):format(1)",
        "return ('%p'):format({})",
        "return #('%99.99f'):format(1e308)",
        "return table.unpack({}, 1, 1e8)",
        "return table.unpack({}, math.mininteger, math.maxinteger)",
        "return table.move({}, 1, math.maxinteger, 2)",
        "return table.move({}, math.mininteger, math.maxinteger, 1)",
        "return ('x'):rep(2e6):byte(1, -1)",
        "return utf8.codepoint(('x'):rep(2e6), 1, -1)",
        "return select('#', ('x'):rep(1e5):byte(1, -1))",
        "return utf8.len(('é'):rep(1e6))",
        "local n = 0 for _ in utf8.codes(('é'):rep(1e4)) do n = n + 1 end return n",
        "return string.char(table.unpack({}, 1, 1e5))",
    ]
    .map(|source| told(&outcome(source)));
    insta::assert_snapshot!(messages.join("\n"), @"
    resulting string too large
    resulting string too large
    [Integer(0), Integer(0)]
    invalid conversion '%99' to 'format'
    invalid conversion '%.9' to 'format'
    invalid conversion '%p' to 'format'
    [Integer(409)]
    too many results to unpack
    too many results to unpack
    bad argument #4 to 'move' (destination wrap around)
    bad argument #3 to 'move' (too many elements to move)
    chunk:1: stack overflow (string slice too long)
    chunk:1: stack overflow (string slice too long)
    [Integer(100000)]
    [Integer(1000000)]
    [Integer(10000)]
    chunk:1: bad argument #1 to 'char' (number expected, got nil)
    ");
}

#[test]
fn deep_recursion_is_an_error() {
    let messages = [
        "local function f() return select('#', pcall(f)) end return f()",
        "local function f() return coroutine.wrap(f)() end return f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
        "local function f() return (tostring(setmetatable({}, { __tostring = f }))) end return f()",
        "local e = {} for i = 1, 300 do e = setmetatable({}, { __index = e }) end return e.x",
        "return '1' + setmetatable({}, { __add = function(a, b) return a + b end })",
    ]
    .map(|source| told(&outcome(source)));
    insta::assert_snapshot!(messages.join("\n"), @"
    [Integer(2)]
    C stack overflow
    chunk:1: C stack overflow
    Killed(Instructions)
    [Nil]
    chunk:1: C stack overflow
    ");
}

#[test]
fn sources_that_are_hard_to_compile() {
    let nested = |open: &str, close: &str, n: usize| {
        format!("return {}1{}", open.repeat(n), close.repeat(n))
    };
    let messages = [
        nested("(", ")", 10_000),
        nested("{", "}", 10_000),
        nested("- ", "", 10_000),
        nested("function() return ", " end", 5_000),
        "do ".repeat(10_000) + &" end".repeat(10_000),
        "if x then ".repeat(10_000),
        format!("return {}", "'x' .. ".repeat(10_000) + "'x'"),
        format!("return {}", "2 ^ ".repeat(10_000) + "2"),
        format!("local {} = 1", vec!["a"; 300].join(", ")),
        format!("return {{ {} }}", "1, ".repeat(80_000)),
        format!("return #'{}'", "x".repeat(200_000)),
        format!("return #[{0}[x]{0}]", "=".repeat(100_000)),
        format!("--[{0}[\n]{0}]", "=".repeat(100_000)),
        format!("return {}", "9".repeat(100_000)),
        format!("return 0x{}", "f".repeat(100_000)),
        format!("{} = 1 return 2", "a".repeat(100_000)),
        "x".repeat(300_000),
        "\u{1b}Lua\u{54}\0\u{19}\u{93}\r\n\u{1a}\n".to_owned(),
    ]
    .map(|source| told(&outcome(&source)));
    insta::assert_snapshot!(messages.join("\n"), @"
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk: the source is nested too deeply
    chunk:1: too many local variables (limit is 200) in main function near ','
    cannot return this: the value[32768]: more than the 1048576 bytes that may leave at once
    [Integer(200000)]
    [Integer(1)]
    []
    [Number(inf)]
    [Integer(-1)]
    [Integer(2)]
    chunk: the source is longer than 262144 bytes
    attempt to load a binary chunk (mode is 't')
    ");
}

/// Scopes within scopes, and in the innermost names that none of them has: each is looked for in all.
fn slow_to_compile() -> String {
    let levels = 60;
    let scope = format!("local {} = 1\nreturn function() ", vec!["a"; 190].join(","));
    let uses = "x=x ".repeat((250_000 - levels * scope.len()) / 4);
    format!("{}{uses}{}", scope.repeat(levels), " end".repeat(levels))
}

/// Single instructions, or calls into C, that take long. What ends the wait is the clock.
#[test]
fn what_takes_long_is_cut_by_the_clock() {
    let slow = slow_to_compile();
    let sources = [
        slow.as_str(),
        // Keys that all collide once the table has its next size.
        "local t = {} for i = 1, 50000 do t[i * 65535] = i end while true do end",
        // An ordered comparison calls C once for each zero byte.
        "local s = ('\\0'):rep(4e6) while true do local _ = s < s end",
        "local s = ('x'):rep(1e6) while true do s:reverse() end",
        "local s = ('x'):rep(1e6) while true do s:upper() end",
        // Weak tables that hold each other's keys, in an order that helps least.
        "local keys, all, n = {}, {}, 20000
         for i = 1, n + 1 do keys[i] = {} end
         for i = 1, n do all[(i * 7919) % n + 1] = setmetatable({ [keys[i]] = keys[i + 1] }, { __mode = 'k' }) end
         for i = 2, n + 1 do keys[i] = nil end
         while true do local garbage = {} end",
        "local s = ('x'):rep(1e6) while true do s:find('y', 1, true) end",
        "local s = ('x'):rep(1e6) while true do s:find('x-y') end",
        "while true do local s = ('x'):rep(2e6) end",
        "local t = {} while true do for i = 1, 1e5 do t[i] = {} end end",
    ];
    let limits = Limits {
        instructions: u64::MAX,
        time: Duration::from_millis(200),
        ..Limits::default()
    };
    for source in sources {
        let begun = Instant::now();
        let outcome = sandbox(limits.clone()).run("chunk", source, vec![]).wait();
        let shown: String = source.chars().take(80).collect();
        assert_eq!(outcome, Outcome::Killed(Reason::Time), "{shown}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{shown}");
    }
}

#[test]
fn memory_is_there_again_for_the_next() {
    let hungry =
        "local t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(1e5) .. #t end) end";
    for _ in 0..20 {
        let mut sandbox = sandbox(patient());
        let outcome = sandbox.run("hungry", hungry, vec![]).wait();
        assert_eq!(outcome, Outcome::Killed(Reason::Memory));
    }
    assert_eq!(outcome("return 1"), Outcome::Finished(vec![1.into()]));
}

#[test]
fn a_chunk_that_says_that_memory_ran_out_is_believed() {
    assert_eq!(
        stopped_by("pcall(error, 'not enough memory', 0)", FEW),
        Reason::Memory
    );
}

/// It is looked up in itself, with one more argument each time: one instruction, which ends long after
/// its slice does.
#[test]
fn a_table_that_is_its_own_call_is_cut_by_the_clock() {
    let limits = Limits {
        time: Duration::from_millis(50),
        memory: 2 << 20,
        ..Limits::default()
    };
    let source = "local f = setmetatable({}, {}) getmetatable(f).__call = f f()";
    let begun = Instant::now();
    let outcome = sandbox(limits).run("chunk", source, vec![]).wait();
    assert_eq!(outcome, Outcome::Killed(Reason::Time));
    assert!(begun.elapsed() < Duration::from_secs(2));
}
