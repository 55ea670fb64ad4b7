//! Ctrl+C while a tool waits.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Machine, Running};

/// A machine whose model calls two tools: one is done at once, the other waits for ever.
fn machine(handler: &str) -> Machine {
    let machine = Machine::with_script(
        "[[steps]]\nwhen = { last = \"go\" }\nplay = [{ tool = \"quick\", input = {} }, { tool = \"waits\", input = {} }]\n\
         [[steps]]\nwhen = { last = \"on\" }\nplay = [{ text = \"Going on.\" }]\n",
    );
    machine.extension(
        "tools",
        &format!(
            "local function tool(name, handler)\n\
               panto.ext.register_tool {{ name = name, description = 'd', schema = {{ type = 'object' }}, handler = handler }}\n\
             end\n\
             tool('quick', function() return 'done' end)\n\
             tool('waits', function(_, context) {handler} end)\n\
             panto.ext.on('turn_interrupt', function(event) print('interrupted: ' .. event.reason) end)\n\
             panto.ext.on('turn_end', function(event) print('ended: ' .. event.reason) end)"
        ),
    );
    machine
}

/// Both calls are under way, and one has its result.
fn wait(running: &mut Running<'_>) {
    let mut text = running.read_until("waiting");
    if !text.contains("\"tool_result\"") {
        text.push_str(&running.read_until("\"tool_result\""));
    }
}

/// The results that the session's file has, by call.
fn results(machine: &Machine) -> Vec<String> {
    let text = fs::read_to_string(&machine.session_files()[0]).unwrap();
    let mut found = Vec::new();
    for line in text.lines() {
        collect(&serde_json::from_str(line).unwrap(), &mut found);
    }
    found.sort();
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) if object.get("type") == Some(&"tool_result".into()) => {
            found.push(format!("{} {}", object["call"], object["status"]));
        }
        Value::Object(object) => object.values().for_each(|value| collect(value, found)),
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[test]
fn it_settles_and_each_call_has_one_result() {
    let machine = machine("context.output('waiting') coroutine.yield()");
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    wait(&mut running);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    assert_eq!(ran.result()["status"], "cancelled");
    assert_eq!(
        ran.stderr,
        "interrupted: cancelled\nended: cancelled\npanto: interrupted; `panto -p --resume ID` goes on from there\n"
    );
    assert_eq!(
        results(&machine),
        ["\"call_1\" \"ok\"", "\"call_2\" \"cancelled\""]
    );
    // The conversation is one that a provider takes.
    assert_eq!(
        machine.run(&["-p", "on", "--continue"]).answer(),
        "Going on.\n"
    );
}

#[test]
fn a_tool_that_heeds_it_gives_a_result_of_its_own() {
    let machine = machine(
        "context.output('waiting')\n\
         local uv, co = require('luv'), coroutine.running()\n\
         local timer = uv.new_timer()\n\
         timer:start(1, 1, function()\n\
           if context.cancelled() then timer:close() coroutine.resume(co) end\n\
         end)\n\
         coroutine.yield()\n\
         return 'half of it'",
    );
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    wait(&mut running);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    assert!(ran.stdout.contains("half of it"), "{}", ran.shown());
    assert_eq!(
        results(&machine),
        ["\"call_1\" \"ok\"", "\"call_2\" \"ok\""]
    );
}
