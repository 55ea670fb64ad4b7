//! The functions that a chunk finds do what Lua's do.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{failure, returned};

/// The names that `docs/sandbox.md` lists: plain ones, and those of a table behind its name.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/sandbox.md");
    let (_, rest) = page.split_once("```text\n").unwrap();
    let (list, _) = rest.split_once("```").unwrap();
    list.lines()
        .flat_map(|line| match line.split_once(": ") {
            Some((table, names)) => names
                .split_whitespace()
                .map(|name| format!("{table}.{name}"))
                .collect::<Vec<_>>(),
            None => line.split_whitespace().map(str::to_owned).collect(),
        })
        .collect()
}

#[test]
fn what_is_there_is_what_the_page_lists() {
    let names = returned(
        "local names = {}
         for name, value in pairs(_G) do
           if type(value) == 'table' and value ~= _G then
             for inner in pairs(value) do names[#names + 1] = name .. '.' .. inner end
           else
             names[#names + 1] = name
           end
         end
         return names",
    );
    let there: BTreeSet<String> = serde_json::from_value(names[0].clone()).unwrap();
    assert_eq!(there, documented());
}

#[test]
fn tables_work_as_in_lua() {
    let results = returned(
        "local t = { 3, 1, 2 }
         table.sort(t)
         local sorted = table.concat(t, ',')
         table.sort(t, function(a, b) return a > b end)
         local backwards = table.concat(t, ',')
         table.insert(t, 'end')
         table.insert(t, 1, 'start')
         local removed = { table.remove(t), table.remove(t, 1), table.remove({}) }
         local moved = table.move({ 1, 2, 3 }, 1, 3, 2)
         local packed = table.pack(1, nil, 3)
         return sorted, backwards, removed, moved, packed.n, select('#', table.unpack({ 1, nil, 3 }, 1, 3)),
           table.concat({ 'a', 1, 2.5 }, '-', 2, 3)",
    );
    assert_eq!(
        results,
        json!([
            "1,2,3",
            "3,2,1",
            ["end", "start"],
            [1, 1, 2, 3],
            3,
            3,
            "1-2.5"
        ])
    );
}

#[test]
fn a_sort_ends_with_any_comparator() {
    let results = returned(
        "local t = {}
         for i = 1, 200 do t[i] = i % 7 end
         table.sort(t, function() return true end)
         table.sort(t, function() return false end)
         table.sort(t, function(a, b) return a <= b end)
         return #t, t[1], t[200]",
    );
    assert_eq!(results, json!([200, 0, 6]));
}

#[test]
fn texts_work_as_in_lua() {
    let results = returned(
        "return ('x'):rep(3, ','), ('%5.1f|%-4d|%q|%s|%%|%x'):format(2.25, 7, 'a\\n', true, 255),
           ('hello world'):find('o w'), ('hello'):find('l', 1, true), ('key = value'):match('(%w+) = (%w+)'),
           (('abc'):gsub('%w', '<%0>')), (('abc'):gsub('b', { b = 'B' })), ('abc'):upper():reverse()",
    );
    assert_eq!(
        results,
        json!([
            "x,x,x",
            "  2.2|7   |\"a\\\n\"|true|%|ff",
            5,
            3,
            "key",
            "<a><b><c>",
            "aBc",
            "CBA"
        ])
    );
}

#[test]
fn metatables_and_strings_as_numbers_work_as_in_lua() {
    let results = returned(
        "local V = {}
         V.__index = V
         V.__add = function(a, b) return 'sum' end
         V.__tostring = function(v) return 'V' .. v.n end
         V.__len = function() return 5 end
         V.__call = function(self, x) return self.n + x end
         V.__lt = function(a, b) return a.n < b.n end
         V.__close = function(v) v.n = v.n + 100 end
         function V.new(n) return setmetatable({ n = n }, V) end
         local a, b = V.new(1), V.new(2)
         local closed = V.new(0)
         do local c <close> = closed end
         return '10' + 5, '3' * '4', 2 - '1', -'7', '10' + a, a + '10', tostring(a), #a, a(41), a < b,
           getmetatable(a) == V, ('%s'):format(b), closed.n, pcall(function() return 'x' + 1 end)",
    );
    assert_eq!(
        results,
        json!([
            15,
            12,
            1,
            -7,
            "sum",
            "sum",
            "V1",
            5,
            42,
            true,
            true,
            "V2",
            100,
            false,
            "chunk:14: attempt to perform arithmetic on a string value"
        ])
    );
}

#[test]
fn coroutines_work_as_in_lua() {
    let results = returned(
        "local function numbers(n)
           return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end)
         end
         local sum = 0
         for i in numbers(10) do sum = sum + i end
         local co = coroutine.create(function(a)
           local b = coroutine.yield(a + 1)
           error('no ' .. b, 0)
         end)
         local _, first = coroutine.resume(co, 1)
         local ok, message = coroutine.resume(co, 'more')
         local main, is_main = coroutine.running()
         return sum, first, ok, message, coroutine.status(co), is_main, coroutine.isyieldable(),
           pcall(coroutine.yield)",
    );
    assert_eq!(
        results,
        json!([
            55,
            2,
            false,
            "no more",
            "dead",
            true,
            false,
            false,
            "attempt to yield from outside a coroutine"
        ])
    );
}

#[test]
fn a_handler_of_xpcall_gets_the_error() {
    let results = returned("return xpcall(error, function(m) return m .. '!' end, 'oh', 0)");
    assert_eq!(results, json!([false, "oh!"]));
}

#[test]
fn errors_say_where_they_are() {
    let messages = [
        "local x\nx.y = 1",
        "\nerror('mine')",
        "('x'):rep({})",
        "return ('x'):find('[')",
        "return ('%d'):format({})\n",
        "table.concat({ {} })",
        "table.insert({}, 5, 1)",
        "table.sort({ 1, 'x' })",
        "setmetatable(1, {})",
        "for i in pairs(nil) do end",
        "error { code = 7 }",
        "error(setmetatable({}, { __tostring = function() return 'never asked' end }))",
        "error()",
        "error(42, 0)",
        "return function() end",
        "x =",
        "goto nowhere",
    ]
    .map(failure);
    // Where in its own library is the library's matter.
    let lines = vec![(r"\[sandbox\]:\d+", "[sandbox]:N")];
    insta::with_settings!({ filters => lines }, {
        insta::assert_snapshot!(messages.join("\n"), @"
        chunk:2: attempt to index a nil value (local 'x')
        chunk:2: mine
        chunk:1: bad argument #2 to 'rep' (integer expected, got table)
        malformed pattern (missing ']')
        bad argument #2 to 'format' (number expected, got table)
        chunk:1: invalid value (at index 1) in table for 'concat'
        chunk:1: bad argument #2 to 'insert' (position out of bounds)
        [sandbox]:N: attempt to compare string with number
        chunk:1: bad argument #1 to 'setmetatable' (table expected, got number)
        chunk:1: bad argument #1 to 'pairs' (table expected, got nil)
        (the error is a table value)
        (the error is a table value)
        (the error is a nil value)
        42
        cannot return this: the value: a function cannot leave the sandbox
        chunk:1: unexpected symbol near <eof>
        chunk:1: no visible label 'nowhere' for <goto> at line 1
        ");
    });
}
