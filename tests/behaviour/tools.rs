//! Tools in a headless run: which the model sees, what of them is told, and what bounds them.

use serde_json::Value;

use crate::support::{Machine, Ran};

/// A machine with two tools, whose model calls both and one that is not there.
fn machine() -> Machine {
    let machine = Machine::with_script(
        "[[steps]]\nplay = [{ text = \"Both.\" }, { tool = \"good\", input = { n = 1 } }, { tool = \"bad\", input = {} },\n\
         { tool = \"gone\", input = {} }, { usage = { input = 10, output = 5 } }]\n\
         [[steps]]\nwhen = { last_role = \"tool\" }\nplay = [{ text = \"Done.\" }, { usage = { input = 20, output = 2 } }]\n",
    );
    machine.extension(
        "tools",
        "local function tool(name, handler)\n\
           panto.ext.register_tool { name = name, description = 'd', schema = { type = 'object' }, handler = handler }\n\
         end\n\
         tool('good', function(input, context)\n\
           context.output('working')\n\
           context.progress({ percent = 50 })\n\
           -- What is told at the very end of a run may come too late.\n\
           local uv, co = require('luv'), coroutine.running() uv.new_timer():start(10, 0, function() coroutine.resume(co) end) coroutine.yield()\n\
           return 'got ' .. input.n\n\
         end)\n\
         tool('bad', function() error('broken') end)",
    );
    machine
}

fn objects(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Of one type, in any order.
fn of(ran: &Ran, kind: &str) -> Vec<Value> {
    let mut objects = objects(ran);
    objects.retain(|object| object["type"] == kind);
    objects
}

fn tools(machine: &Machine, arguments: &[&str]) -> Vec<String> {
    let ran = machine.run(&[&["-p", "go", "-o", "stream-json"], arguments].concat());
    let tools = objects(&ran)[0]["tools"].clone();
    let tools: Vec<String> = serde_json::from_value(tools).unwrap();
    // Others are shipped.
    tools
        .into_iter()
        .filter(|name| ["good", "bad"].contains(&name.as_str()))
        .collect()
}

#[test]
fn a_turn_with_tools_is_told_whole() {
    let machine = machine();
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    let mut results = of(&ran, "tool_result");
    results.sort_by_key(|object| object["id"].to_string());
    let results: Vec<String> = results
        .iter()
        .map(|it| {
            let output = machine.readable(it["output"].as_str().unwrap());
            // Which others there are is told, too.
            let output = output.split(" Available").next().unwrap();
            format!(
                "{} {} {}: {output}",
                it["id"], it["result_ok"], it["status"]
            )
        })
        .collect();
    insta::assert_snapshot!(results.join("\n"), @r#"
    "call_1" true "ok": got 1
    "call_2" false "error": ROOT/home/.config/panto/extensions/tools.lua:13: broken
    "call_3" false "error": There is no tool `gone`.
    "#);
    let output = &of(&ran, "tool_output_delta")[0];
    assert_eq!(output["delta"], "working");
    let progress = &of(&ran, "custom")[0];
    assert_eq!(progress["name"], "tool_progress");
    assert_eq!(progress["data"]["data"]["percent"], 50);
    assert_eq!(progress["data"]["id"], "call_1");
    let batches = of(&ran, "tool_dispatch_start");
    assert!(batches.len() >= 2);
    assert!(
        batches
            .iter()
            .all(|it| it["batch_id"] == batches[0]["batch_id"])
    );
    assert_eq!(of(&ran, "usage").len(), 2);
    let result = ran.result();
    assert_eq!(
        result["usage"],
        serde_json::json!({ "input": 30, "output": 7 })
    );
    assert_eq!(
        (&result["requests"], &result["turns"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn the_model_sees_the_tools_that_it_is_to_see() {
    let machine = machine();
    let none: [&str; 0] = [];
    assert_eq!(tools(&machine, &[]), ["good", "bad"]);
    assert_eq!(tools(&machine, &["--tools", "good"]), ["good"]);
    assert_eq!(
        tools(
            &machine,
            &["--tools", "good,bad", "--exclude-tools", "good"]
        ),
        ["bad"]
    );
    assert_eq!(tools(&machine, &["--exclude-tools", "good"]), ["bad"]);
    assert_eq!(tools(&machine, &["--no-extensions"]), none);
    let ran = machine.run(&["-p", "go", "--tools", "goood"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is no tool `goood`; did you mean `good`?
    ");
    let ran = machine.run(&["-p", "go", "--exclude-tools", "xyz", "-o", "json"]);
    assert_eq!(ran.result()["error"]["kind"], "usage");
}

#[test]
fn rounds_are_bounded() {
    let machine = machine();
    assert_eq!(
        machine.run(&["-p", "go", "--max-rounds", "2"]).answer(),
        "Both.\nDone.\n"
    );
    let ran = machine.run(&["-p", "go", "--max-rounds", "1"]);
    insta::assert_snapshot!(ran.shown(), @r#"
    exit 1
    -- stdout
    Both.
    -- stderr
    warning: the tool `bad` failed: ROOT/home/.config/panto/extensions/tools.lua:13: broken
    error: the turn was ended by its limit of requests (`--max-rounds`)
      hint: `panto -p "go on" --resume ID` asks for the rest
    "#);
    let ran = machine.run(&["-p", "go", "--max-rounds", "1", "-o", "json"]);
    let result = ran.result();
    assert_eq!(
        (&result["status"], &result["requests"]),
        (&"limit".into(), &1.into())
    );
    assert_eq!(
        machine.run(&["-p", "go", "--max-rounds", "0"]).code,
        Some(2)
    );
}

#[test]
fn a_tool_that_wants_a_yes_is_not_run_without_a_person() {
    let machine = machine();
    let config = std::fs::read_to_string(machine.config_dir().join("config.toml")).unwrap();
    machine.write_config(&format!("{config}\n[tools]\nask = [\"good\"]\n"));
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    let results = of(&ran, "tool_result");
    let good = results.iter().find(|it| it["tool_name"] == "good").unwrap();
    assert_eq!(good["result_ok"], false);
    insta::assert_snapshot!(good["output"].as_str().unwrap(), @"The call was not run: `good` wants a yes from a person before each call, and without the interactive terminal, as with `-p`, panto does not ask. To allow it, take `good` out of `tools.ask` in the configuration.");
    assert!(of(&ran, "tool_output_delta").is_empty());
    assert_eq!(ran.result()["text"], "Done.");
}

#[test]
fn lists_of_tools_are_taken_as_people_write_them() {
    let machine = machine();
    let tools = |arguments: &[&str]| {
        let ran = machine.run(&[&["-p", "go", "-o", "stream-json"], arguments].concat());
        let init: serde_json::Value =
            serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
        init["tools"].clone()
    };
    assert_eq!(
        tools(&["--tools", "read, ls,"]),
        serde_json::json!(["ls", "read"])
    );
    assert_eq!(tools(&["--tools", ""]), serde_json::json!([]));
}
