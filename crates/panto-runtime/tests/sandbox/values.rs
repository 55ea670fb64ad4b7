//! What crosses the border, and what does not.

use panto_runtime::sandbox::{Given, Limits, Outcome, Sandbox, Value};
use serde_json::json;

use crate::support::{failure, patient, returned, sandbox};

fn echoed(value: &serde_json::Value) -> serde_json::Value {
    let values = vec![Value::from(value)];
    match sandbox(patient()).run("echo", "return ...", values).wait() {
        Outcome::Finished(values) => values[0].to_json(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn plain_data_comes_back_as_it_was() {
    let value = json!({
        "text": "\u{0}é", "list": [1, 2.5, true, [["x"]]], "least": i64::MIN, "float": 3.0, "empty": {},
    });
    assert_eq!(echoed(&value), value);
}

#[test]
fn bytes_and_odd_numbers_cross_as_they_are() {
    let values = vec![
        Value::String(vec![0xff, 0]),
        Value::Number(f64::NEG_INFINITY),
        Value::Integer(i64::MAX),
        Value::Number(1.0),
        Value::Nil,
        Value::Boolean(false),
    ];
    let outcome = sandbox(patient())
        .run("echo", "return ...", values.clone())
        .wait();
    assert_eq!(outcome, Outcome::Finished(values));
}

#[test]
fn an_empty_table_is_an_empty_list_and_an_empty_map() {
    let Outcome::Finished(values) = sandbox(patient()).run("c", "return {}", vec![]).wait() else {
        panic!()
    };
    assert_eq!(values[0].as_list(), Some([].as_slice()));
    assert_eq!(values[0].get("name"), None);
}

#[test]
fn what_is_no_plain_data_stays_in() {
    let messages = [
        "return print, function() end",
        "return { a = { 1, { coroutine.create(error) } } }",
        "return { 1, 2, x = 3 }",
        "return { 1, nil, 3 }",
        "return { [2.5] = 1 }",
        "return { [{}] = 1 }",
        "local t = {} t.t = t return t",
        "return ('x'):rep(2 << 20)",
        "local t = {} for i = 1, 100000 do t[i] = i end return t",
    ]
    .map(failure);
    insta::assert_snapshot!(messages.join("\n"), @"
    cannot return this: value 2: a function cannot leave the sandbox
    cannot return this: the value.a[2][1]: a thread cannot leave the sandbox
    cannot return this: the value: a table with names and list entries cannot leave the sandbox
    cannot return this: the value: a list with holes cannot leave the sandbox
    cannot return this: the value: a number as a key cannot leave the sandbox
    cannot return this: the value: a table as a key cannot leave the sandbox
    cannot return this: the value….t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t.t: tables nest deeper than 64, or hold themselves
    cannot return this: the value: more than the 1048576 bytes that may leave at once
    cannot return this: the value[32768]: more than the 1048576 bytes that may leave at once
    ");
}

#[test]
fn tables_are_read_without_their_metamethods() {
    let results = returned(
        "local endless = function() while true do end end
         return setmetatable({ 'x' }, { __index = endless, __len = endless, __pairs = endless })",
    );
    assert_eq!(results, json!([["x"]]));
}

#[test]
fn what_leaves_is_counted_over_a_slice() {
    let given = Given::new().immediate("log", |_| Ok(vec![]));
    let limits = Limits {
        output: 10_000,
        ..patient()
    };
    let mut sandbox = Sandbox::new(limits, given).unwrap();
    let source = "local n = 0
        while pcall(log, ('x'):rep(968)) do n = n + 1 end
        return n";
    let outcome = sandbox.run("log", source, vec![]).wait();
    let Outcome::Failed(message) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        message,
        "cannot return this: the value: more than the 10000 bytes that may leave at once"
    );
    // The next slice has its own.
    let outcome = sandbox.run("log", "return n", vec![]).wait();
    assert_eq!(outcome, Outcome::Finished(vec![Value::Nil]));
}
