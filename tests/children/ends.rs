//! How a child's turn can end, and what the caller gets of it.

use std::fs;

use pantograph::protocol::Purpose;
use pantograph::{ErrorClass, Role, StopReason, Usage};
use pantograph_scripted::{Call, Fault, Item, Script, Step, Text, failure};
use serde_json::{Value, json};

use crate::support::{Desk, ask};
use crate::{CHILD, with_config};

/// A session that hands out tasks, one for each child step, all at once.
fn desk(children: Vec<Step>, settings: &str) -> Desk {
    let mut script = Script::new();
    let mut calls = Step::new();
    for (i, child) in children.into_iter().enumerate() {
        let task = format!("Task {i}.");
        script = script.step(child.when_system(CHILD).when_last(task.clone()));
        calls = calls.then(Call::new(
            "subagents.run",
            json!({ "agent": "general", "prompt": task }),
        ));
    }
    let script = script
        .step(Step::text("Well.").when_system(CHILD).repeated())
        .step(calls.when_last("go").when_last_role(Role::User))
        .step(Step::text("Done.").repeated());
    with_config(
        script,
        &format!(
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n{settings}\n\
             [providers.test.models.model]\n"
        ),
    )
}

fn results(desk: &Desk) -> Vec<Value> {
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let conversation = live.handle.agent().conversation();
        let message = conversation
            .messages()
            .iter()
            .rev()
            .find(|it| it.role == Role::Tool)
            .unwrap();
        let results = message
            .tool_results()
            .map(|it| serde_json::from_str(&it.output()).unwrap())
            .collect();
        live.end().await;
        results
    })
}

fn brief(result: &Value) -> String {
    let mut text = format!("{} {}", result["status"], result["stop"]).replace('"', "");
    for field in ["output", "error", "truncated"] {
        if let Some(value) = result.get(field) {
            text.push_str(&format!(" {field}={value}"));
        }
    }
    text.push_str(if result["resumable"] == true {
        " resumable"
    } else {
        ""
    });
    text
}

/// S0-16 to S0-20, S0-23, failures 53, 55, 59: every way to end, and the siblings do not care.
#[test]
fn each_end_has_its_words() {
    let desk = desk(
        vec![
            Step::text("All is well."),
            Step::error(ErrorClass::InvalidRequest),
            Step::text("Half of").then(ErrorClass::Terminal),
            Step::text("As far as it").then(Item::Stop(StopReason::Limit)),
            Step::new(),
            Step::call("ls", json!({})),
            Step::new().then(Text::new("  \n")),
            Step::error(ErrorClass::ContextOverflow),
        ],
        "max_retries = 0",
    );
    let results = results(&desk);
    let lines: Vec<_> = results.iter().map(brief).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    completed end output="All is well." resumable
    failed provider_error error="the provider failed: scripted invalid_request error"
    failed provider_error error="the provider failed: scripted terminal error"
    completed limit output="As far as it" truncated=true resumable
    failed empty error="the child ended without saying anything"
    completed end output="Well." resumable
    failed empty error="the child ended without saying anything" resumable
    failed context_full error="the conversation does not fit the model's context: scripted context_overflow error"
    "#);
}

/// Failures 13, 101: a provider that stalls costs its child alone, after the idle limit.
#[test]
fn a_child_whose_provider_stalls_fails_and_its_siblings_do_not() {
    let desk = desk(
        vec![
            Step::text("One."),
            Step::text("So far").then(Fault::Stall),
            Step::text("Three."),
        ],
        "max_retries = 0\nidle_timeout_s = 1",
    );
    let results = results(&desk);
    let statuses: Vec<_> = results
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["completed", "failed", "completed"]);
    assert_eq!(results[1]["stop"], "provider_error");
}

/// A limit of the provider slows those on it, and fails none: who begins behind the limit waits, too.
#[test]
fn a_rate_limit_of_one_child_slows_the_others_and_fails_none() {
    let limited =
        failure(ErrorClass::RateLimit).with_retry_after(std::time::Duration::from_millis(600));
    let desk = desk(
        vec![
            Step::error(limited),
            Step::text("Two.").on_open(std::time::Duration::from_millis(200)),
            Step::text("Three."),
            Step::text("Four."),
        ],
        "[extensions.settings.subagents]\nconcurrency = 2\n[providers.test.models.other]",
    )
    .extension(
        "watch",
        "panto.ext.on('subagents.event', function(event)\n\
           if event.data.event.type == 'paused' then print('paused') end\n\
         end)",
    );
    let results = results(&desk);
    let lines: Vec<_> = results.iter().map(brief).collect();
    assert_eq!(
        lines,
        [
            "completed end output=\"Well.\" resumable",
            "completed end output=\"Two.\" resumable",
            "completed end output=\"Three.\" resumable",
            "completed end output=\"Four.\" resumable",
        ]
    );
    assert!(
        desk.said().contains(&"printed: paused".to_owned()),
        "{:?}",
        desk.said()
    );
}

/// S0-73, E-22, E-46, failures 57: the caller reads fifty kilobytes of an output, head and tail, and its
/// file grows by no more.
#[test]
fn long_outputs_are_cut_for_the_caller_alone() {
    let long = format!("begin {}é end", "x".repeat(1_000_000));
    let children = (0..20).map(|_| Step::text(long.clone())).collect();
    let desk = desk(children, "");
    let results = results(&desk);
    for result in &results {
        let output = result["output"].as_str().unwrap();
        assert!(output.len() < 51_500, "{}", output.len());
        assert!(output.starts_with("begin x") && output.ends_with("xé end"));
        let id = result["id"].as_str().unwrap();
        assert!(output.contains(&format!("the child {id} has all of it")));
        assert_eq!(
            (&result["truncated"], &result["status"]),
            (&json!(true), &json!("completed"))
        );
    }
    let mut primary = 0;
    let mut stored = 0;
    for dir in fs::read_dir(desk.path("data/panto/sessions")).unwrap() {
        let dir = dir.unwrap().path();
        for file in fs::read_dir(&dir).unwrap() {
            let file = file.unwrap();
            if file.path().is_file() {
                primary += file.metadata().unwrap().len();
            }
        }
        for catalog in fs::read_dir(dir.join("subagents")).unwrap() {
            for file in fs::read_dir(catalog.unwrap().path()).unwrap() {
                stored += file.unwrap().metadata().unwrap().len();
            }
        }
    }
    assert!(primary < 20 * 60_000, "{primary}");
    assert!(stored > 20 * 1_000_000, "{stored}");
}

/// Files that two children wrote at the same time are named in the result of who ended later.
#[test]
fn a_file_that_a_sibling_also_wrote_is_named() {
    // None has written before all have begun.
    let edit = |path: &str, word: &str| {
        let edits = json!([{ "old_text": word, "new_text": "new" }]);
        Step::call("edit", json!({ "path": path, "edits": edits }))
            .on_open(std::time::Duration::from_millis(300))
    };
    let desk = desk(
        vec![
            edit("shared.txt", "one"),
            edit("shared.txt", "two"),
            edit("alone.txt", "one"),
        ],
        "",
    )
    .file("project/shared.txt", "one\ntwo\n")
    .file("project/alone.txt", "one\n");
    let results = results(&desk);
    let named: Vec<_> = results
        .iter()
        .filter_map(|it| it.get("conflicts"))
        .collect();
    assert!(!named.is_empty(), "{results:?}");
    for conflicts in named {
        assert_eq!(conflicts[0]["path"], "shared.txt");
        assert_eq!(conflicts[0]["ids"].as_array().unwrap().len(), 1);
    }
    assert_eq!(results[2].get("conflicts"), None);
    let shared = fs::read_to_string(desk.path("project/shared.txt")).unwrap();
    assert_eq!(shared, "new\nnew\n");
}

/// Failures 93, 95: what children use is in their results and in the total.
#[test]
fn what_children_use_is_counted() {
    let used = Usage {
        input: Some(10),
        output: Some(3),
        ..Usage::default()
    };
    let step = || Step::text("Fine.").then(Item::Usage(used));
    let desk = desk(vec![step(), step(), step()], "");
    let results = results(&desk);
    for result in &results {
        assert_eq!(result["usage"], json!({ "input": 10, "output": 3 }));
    }
}

/// E-4, E-5, failures 97: a child whose context is full compacts, and is a child afterwards, with its
/// context, its role and its profile; the caller does not compact.
#[test]
fn a_child_that_overflows_compacts_and_stays_a_child() {
    let handing_out = |input: Value, script: Script| {
        script
            .step(
                Step::call("subagents.run", input)
                    .when_last("go")
                    .when_last_role(Role::User),
            )
            .step(Step::text("Done.").repeated())
    };
    let begin = Script::new().step(Step::text("long answer ".repeat(500)).when_system(CHILD));
    let input = json!({ "agent": "general", "prompt": "Begin." });
    let desk = desk(Vec::new(), "").playing(handing_out(input, begin));
    let (begun, primary) = desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let conversation = live.handle.agent().conversation();
        let message = conversation.messages().iter().rev().nth(1).unwrap();
        let output = message.tool_results().next().unwrap().output();
        let primary = live.handle.agent().session_id();
        live.end().await;
        (serde_json::from_str::<Value>(&output).unwrap(), primary)
    });

    let more = Script::new()
        .step(Step::text("What was found so far.").when_purpose(Purpose::Compaction))
        .step(Step::error(ErrorClass::ContextOverflow).when_system(CHILD))
        .step(Step::text("Found.").when_system(CHILD).repeated());
    let input = json!({ "id": begun["id"], "prompt": "Go on." });
    let desk = desk.playing(handing_out(input, more));
    desk.run_on(primary, async |_, mut live| {
        ask(&mut live, "go").await;
        live.end().await;
    });
    let requests = desk.protocol.requests();
    let purposes: Vec<_> = requests
        .iter()
        .map(|it| (it.request.label.as_deref(), it.request.purpose))
        .collect();
    assert_eq!(
        purposes,
        [
            (None, Purpose::Turn),
            (Some("general"), Purpose::Turn),
            (Some("general"), Purpose::Compaction),
            (Some("general"), Purpose::Turn),
            (None, Purpose::Turn),
        ]
    );
    let shown = &requests[3].request.conversation;
    let system: Vec<_> = shown.system_messages().collect();
    assert_eq!(system.len(), 3);
    assert!(system[0].text().starts_with("BASE"));
    assert!(system[1].text().starts_with(CHILD));
    assert_eq!(system[2].metadata["subagents"]["profile"], "general");
    let texts: Vec<_> = shown.messages().iter().map(|it| it.text()).collect();
    assert!(!texts.iter().any(|text| text.starts_with("long answer")));
    assert_eq!(texts.last().unwrap(), "Go on.");
    let result = serde_json::from_str::<Value>(&requests[4].last_text()).unwrap();
    assert_eq!(brief(&result), "completed end output=\"Found.\" resumable");
}

/// S0-154, S0-155: children on a provider that is Lua and on one that is not, in one answer.
#[test]
fn children_on_providers_of_both_kinds_run_side_by_side() {
    let calls = (0..8).fold(Step::new(), |step, i| {
        let model = if i % 2 == 0 {
            "test:model"
        } else {
            "bird:grey"
        };
        let input = json!({ "agent": "general", "prompt": format!("Task {i}."), "model": model });
        step.then(Call::new("subagents.run", input))
    });
    let script = Script::new()
        .step(Step::text("By the script.").when_system(CHILD).repeated())
        .step(calls.when_last("go").when_last_role(Role::User))
        .step(Step::text("Done.").repeated());
    let desk = with_config(
        script,
        "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
         [providers.test.models.model]\n[providers.bird]\nprotocol = \"parrot\"\n\
         [providers.bird.models.grey]\n[extensions.settings.subagents]\nconcurrency = 8\n",
    )
    .extension(
        "parrot",
        "panto.ext.register_protocol {\n\
           name = 'parrot',\n\
           open = function(request)\n\
             local words = {}\n\
             for word in request.messages[#request.messages].blocks[1].text:gmatch('%S+') do\n\
               words[#words + 1] = word\n\
             end\n\
             return { next = function()\n\
               local word = table.remove(words, 1)\n\
               return word and { type = 'text_delta', text = word .. ' ' } or { type = 'done' }\n\
             end }\n\
           end,\n\
         }",
    );
    let outputs: Vec<_> = results(&desk)
        .iter()
        .map(|it| it["output"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = (0..8)
        .map(|i| match i % 2 {
            0 => "By the script.".to_owned(),
            _ => format!("Task {i}. "),
        })
        .collect();
    assert_eq!(outputs, expected);
}

/// Whoever listens to children may loop, raise and be slow: no result is lost by it.
#[test]
fn a_listener_that_loops_costs_no_result() {
    let desk = desk(
        vec![Step::text("One."), Step::text("Two."), Step::text("Three.")],
        "",
    )
    .extension(
        "loops",
        "local ends, events = 0, 0\n\
         panto.ext.on('subagents.end', function()\n\
           ends = ends + 1\n\
           if ends == 1 then while true do end end\n\
         end)\n\
         panto.ext.on('subagents.event', function()\n\
           events = events + 1\n\
           if events == 7 then while true do end end\n\
           if events == 9 then error('no') end\n\
         end)",
    );
    let lines: Vec<_> = results(&desk).iter().map(brief).collect();
    assert_eq!(
        lines,
        [
            "completed end output=\"One.\" resumable",
            "completed end output=\"Two.\" resumable",
            "completed end output=\"Three.\" resumable",
        ]
    );
}

/// S0-153: tools in Lua that children call at the same time park amid their work, and none sees
/// another's: each child gets its own results, and no two are in Lua at once between two waits.
#[test]
fn tools_of_several_children_do_not_meet() {
    const CHILDREN: usize = 12;
    let mut script = Script::new();
    let mut calls = Step::new();
    for i in 0..CHILDREN {
        let task = format!("Task {i:02}.");
        let own = |word: &str| Call::new("echo", json!({ "text": format!("{word} {i:02}") }));
        script = script
            .step(
                Step::new()
                    .then(own("first"))
                    .then(own("second"))
                    .when_system(CHILD)
                    .when_last(task.clone()),
            )
            .step(
                Step::text(format!("Child {i:02}."))
                    .when_system(CHILD)
                    .when_last(format!("first {i:02} second {i:02}")),
            );
        let input = json!({ "agent": "general", "prompt": task });
        calls = calls.then(Call::new("subagents.run", input));
    }
    let script = script
        .step(calls.when_last("go").when_last_role(Role::User))
        .step(Step::text("Done.").repeated());
    let desk = with_config(
        script,
        "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
         [providers.test.models.model]\n[extensions.settings.subagents]\nconcurrency = 12\n",
    )
    .extension(
        "echo",
        "local uv = require('luv')\n\
         local said, inside = {}, false\n\
         panto.ext.register_tool {\n\
           name = 'echo', description = 'd', schema = { type = 'object' },\n\
           handler = function(input, context)\n\
             local id = context.agent:session_id()\n\
             assert(panto.ext.agent:session_id() == id, 'not my agent')\n\
             for _ = 1, 3 do\n\
               assert(not inside, 'somebody else is in Lua')\n\
               inside = true\n\
               for _ = 1, 2000 do end\n\
               inside = false\n\
               local co, timer = coroutine.running(), uv.new_timer()\n\
               timer:start(1, 0, function() timer:close() coroutine.resume(co) end)\n\
               coroutine.yield()\n\
               assert(panto.ext.agent:session_id() == id, 'not my agent any more')\n\
             end\n\
             said[id] = said[id] and said[id] .. ' ' .. input.text or input.text\n\
             if input.text:find('^second') then\n\
               while not said[id]:find('first') do\n\
                 local co, timer = coroutine.running(), uv.new_timer()\n\
                 timer:start(1, 0, function() timer:close() coroutine.resume(co) end)\n\
                 coroutine.yield()\n\
               end\n\
               return ('first %s second %s'):format(said[id]:match('first (%d+)'), said[id]:match('second (%d+)'))\n\
             end\n\
             return input.text\n\
           end,\n\
         }",
    );
    let outputs: Vec<_> = results(&desk)
        .iter()
        .map(|it| it["output"].as_str().unwrap_or_default().to_owned())
        .collect();
    let expected: Vec<_> = (0..CHILDREN).map(|i| format!("Child {i:02}.")).collect();
    assert_eq!(outputs, expected);
    assert_eq!(desk.said(), [""; 0]);
}
