//! What children may call.

use serde_json::{Value, json};

use crate::support::children::{
    DONE, assert_whole, calls, customs, files, gated, lives, machine, on, only_results, streamed,
};

/// The names of the tools that each request of a child declared.
fn declared(stdout: &str) -> Vec<Vec<String>> {
    customs(stdout)
        .iter()
        .filter(|(name, _)| name == "gated")
        .map(|(_, data)| {
            let tools = data["tools"].as_array().unwrap().iter();
            tools
                .map(|tool| tool.as_str().unwrap().to_owned())
                .collect()
        })
        .collect()
}

/// The results of the calls that children made: name and status.
fn called(stdout: &str) -> Vec<(String, String, String)> {
    customs(stdout)
        .iter()
        .filter(|(name, data)| name == "subagents.event" && data["event"]["type"] == "tool_result")
        .map(|(_, data)| {
            let text = |key: &str| data["event"][key].as_str().unwrap().to_owned();
            (text("tool_name"), text("status"), text("output"))
        })
        .collect()
}

/// S0-157, failures 59: a child is told of no delegation, and a call of it all the same is refused,
/// also by the name that providers see.
#[test]
fn a_child_cannot_delegate() {
    let forged = [
        "subagents.run",
        "subagents__run",
        "subagents.models",
        "subagents_run",
    ];
    let inputs: Vec<Value> = forged
        .iter()
        .map(|name| gated(&format!("delegate:{name} | say:end")))
        .collect();
    let machine = machine(&format!("{}{DONE}", calls("go", &inputs)));
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        ran.stdout
            .lines()
            .next()
            .unwrap()
            .contains("\"subagents.run\"")
    );
    let lives = lives(&ran.stdout);
    assert_whole(&lives);
    assert_eq!(lives.len(), inputs.len(), "{lives:?}");
    let tools = declared(&ran.stdout);
    assert_eq!(tools.len(), 2 * inputs.len());
    for names in tools {
        assert!(names.contains(&"read".to_owned()), "{names:?}");
        assert!(
            names.iter().all(|name| !name.starts_with("subagents")),
            "{names:?}"
        );
    }
    for (name, data) in customs(&ran.stdout) {
        if name == "gated" {
            let system = data["system"].as_str().unwrap();
            assert!(
                system.contains("There is nobody to delegate to"),
                "{system}"
            );
        }
    }
    let called = called(&ran.stdout);
    assert_eq!(called.len(), inputs.len());
    assert!(
        called.iter().all(|(_, status, _)| status == "error"),
        "{called:?}"
    );
    for settled in only_results(&machine) {
        assert_eq!(settled.json()["output"], "end", "{settled:?}");
    }
    assert_eq!(files(&machine, &machine.only_session()).len(), inputs.len());
}

/// Failures 63: what the primary does not have, no child has.
#[test]
fn a_child_has_no_tool_that_its_primary_lacks() {
    let inputs = [gated("tool:shell | say:end")];
    let machine = machine(&format!("{}{DONE}", calls("go", &inputs)));
    let ran = streamed(&machine, "go", &["--exclude-tools", "shell"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let mut names = declared(&ran.stdout).swap_remove(0);
    names.sort();
    assert_eq!(names, ["edit", "find", "grep", "ls", "read", "write"]);
    assert_eq!(called(&ran.stdout)[0].1, "error");
    // With it there again the child is told of it, and so is the primary.
    let id = only_results(&machine)[0].json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    machine.write_script(&format!("{}{DONE}", calls("more", &[on(&id, "say:again")])));
    let ran = streamed(&machine, "more", &["--continue"]);
    assert!(declared(&ran.stdout)[0].contains(&"shell".to_owned()));
    let notices = only_results(&machine)[1].json()["notices"].clone();
    assert_eq!(notices, json!(["it now also has the tools shell"]));
    // And the other way round.
    machine.write_script(&format!(
        "{}{DONE}",
        calls("less", &[on(&id, "tool:write | say:again")])
    ));
    let ran = streamed(
        &machine,
        "less",
        &["--continue", "--tools", "read,subagents.run"],
    );
    assert_eq!(declared(&ran.stdout)[0], ["read"]);
    assert_eq!(called(&ran.stdout)[0].1, "error");
    let notices = only_results(&machine)[2].json()["notices"].clone();
    assert_eq!(
        notices,
        json!(["it no longer has the tools edit, find, grep, ls, shell, write"])
    );
}

/// Failures 127, 129: tools of extensions are there for children, also one that was registered
/// right before.
#[test]
fn a_late_tool_is_there_for_a_later_child() {
    let machine = machine(&format!(
        "[[steps]]\nwhen = {{ last = \"go\" }}\nplay = [{{ tool = \"opens\", input = {{}} }}]\n\
         {}{DONE}",
        calls("opened", &[gated("tool:fresh | say:end")]).replace("\"user\"", "\"tool\""),
    ));
    machine.extension(
        "opens",
        "panto.ext.register_tool { name = 'opens', description = 'd', schema = { type = 'object' }, handler = function()\n\
           panto.ext.register_tool { name = 'fresh', description = 'd', schema = { type = 'object' },\n\
             handler = function() return 'fresh' end }\n\
           return 'opened'\n\
         end }",
    );
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(declared(&ran.stdout)[0].contains(&"fresh".to_owned()));
    assert_eq!(
        called(&ran.stdout),
        [("fresh".to_owned(), "ok".to_owned(), "fresh".to_owned())]
    );
    assert_eq!(only_results(&machine)[1].json()["output"], "end");
}

/// S0-155, S0-157: what a tool knows of its caller is true for each of many children at once, also
/// after it has waited; and extensions are activated once, whatever children there are.
#[test]
fn a_tool_knows_which_child_calls() {
    let inputs: Vec<Value> = (0..8)
        .map(|_| gated("shuffle tool:whoami tool:whoami | say:end"))
        .collect();
    let machine = machine(&format!("{}{DONE}", calls("go", &inputs)));
    let log = machine.root().join("activated");
    machine.extension(
        "whoami",
        &format!(
            "local file = io.open({log:?}, 'a') file:write('x') file:close()\n\
             local uv = require('luv')\n\
             panto.ext.register_tool {{ name = 'whoami', description = 'd', schema = {{ type = 'object' }}, handler = function(_, context)\n\
               local co, timer = coroutine.running(), uv.new_timer()\n\
               local before = panto.ext.agent:session_id()\n\
               timer:start(math.random(0, 3), 0, function()\n\
                 timer:close()\n\
                 assert(panto.ext.agent:session_id() == before)\n\
                 coroutine.resume(co)\n\
               end)\n\
               coroutine.yield()\n\
               return before .. ' ' .. panto.ext.agent:session_id() .. ' ' .. context.agent:session_id()\n\
             end }}"
        ),
    );
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let results = customs(&ran.stdout)
        .into_iter()
        .filter(|(name, data)| name == "subagents.event" && data["event"]["type"] == "tool_result");
    let mut count = 0;
    for (_, data) in results {
        let id = data["id"].as_str().unwrap();
        assert_eq!(data["event"]["output"], format!("{id} {id} {id}"));
        count += 1;
    }
    assert_eq!(count, 16);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "x");
}
