//! The events that extensions hear: their order, their fields, and what they may change.

use pantograph_scripted::{Call, Script, Step, Text, Thinking};
use serde_json::json;

use crate::support::{Desk, ask, log_of};

/// Writes every event with its fields to a file.
fn logger(desk: &Desk) -> String {
    format!(
        "local names = {{ 'session_ready', 'session_end', 'turn_start', 'turn_interrupt', 'turn_end', 'user_message',\n\
         'thinking', 'thinking_delta', 'thinking_complete', 'assistant_text', 'assistant_text_delta', 'assistant_text_complete',\n\
         'tool', 'tool_details', 'tool_delta', 'tool_call_complete', 'tool_dispatch_start', 'tool_output_delta', 'tool_result',\n\
         'agent_submission', 'custom' }}\n\
         local fields = {{ 'index', 'id', 'tool_name', 'delta', 'text', 'input', 'output', 'result_ok', 'collapsed', 'reason' }}\n\
         for _, name in ipairs(names) do\n\
           panto.ext.on(name, function(e)\n\
             local line = {{ e.name }}\n\
             for _, field in ipairs(fields) do\n\
               local value = e[field]\n\
               if type(value) == 'table' then value = panto.ext.json.encode(value) end\n\
               if value ~= nil then line[#line + 1] = field .. '=' .. tostring(value) end\n\
             end\n\
             if e.batch_ids then line[#line + 1] = 'batches=' .. #e.batch_ids end\n\
             if e.turn_id then line[#line + 1] = 'turn' end\n\
             local file = io.open('{}', 'a')\n\
             file:write(table.concat(line, ' '), '\\n')\n\
             file:close()\n\
           end)\n\
         end",
        desk.path("log").display()
    )
}

fn tools() -> &'static str {
    "local schema = { type = 'object' }\n\
     panto.ext.register_tool { name = 'good', description = 'd', schema = schema, handler = function(_, context)\n\
       context.output('working') return 'fine' end }\n\
     panto.ext.register_tool { name = 'bad', description = 'd', schema = schema, handler = function()\n\
       local uv, co = require('luv'), coroutine.running()\n\
       uv.new_timer():start(5, 0, function() coroutine.resume(co) end) coroutine.yield()\n\
       error('broken') end }"
}

#[test]
fn a_turn_with_thinking_text_and_two_tools_is_told_in_order() {
    let script = Script::new()
        .step(
            Step::new()
                .then(Thinking::new("Hm."))
                .then(Text::new("Both."))
                .then(Call::new("good", json!({ "a": 1 })))
                .then(Call::new("bad", json!({}))),
        )
        .step("Done.");
    let desk = Desk::new(script).extension("tools", tools());
    let logger = logger(&desk);
    let desk = desk.extension("log", &logger);
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        live.end().await;
    });
    insta::assert_snapshot!(desk.plain(&log_of(&desk.path("log"))));
}

#[test]
fn the_last_writer_wins_and_later_handlers_read_what_earlier_ones_wrote() {
    let script = Script::new()
        .step(Step::call("echo", json!({ "text": "model" })))
        .step("Done.");
    let desk = Desk::new(script).extension(
        "rewrite",
        "panto.ext.register_tool { name = 'echo', description = 'd', schema = { type = 'object' }, handler = function(input) return input.text end }\n\
         panto.ext.on('user_message', function(e) e.text = e.text .. ' one' end)\n\
         panto.ext.on('user_message', function(e) e.text = e.text .. ' two' end)\n\
         panto.ext.on('tool_call_complete', function(e) e.input = { text = e.input.text .. ' changed' } end)\n\
         panto.ext.on('tool_result', function(e) assert(e.result_ok) e.output = '<' .. e.output .. '>' end)\n\
         panto.ext.on('tool_result', function(e) e.nothing = 1 end)",
    );
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let transcript = live.handle.agent().conversation().transcript();
        insta::assert_snapshot!(transcript);
        live.end().await;
    });
    insta::assert_snapshot!(desk.said().join("\n"), @"error: the `tool_result` handler of `rewrite` failed: ROOT/config/panto/extensions/rewrite.lua:8: `nothing` of a `tool_result` event cannot be assigned");
}

#[test]
fn children_are_rewritten_too_and_only_the_session_has_display_events() {
    let script = Script::new()
        .step(Step::call("child", json!({})))
        .step("Inner says so.")
        .step("Outer done.");
    let desk = Desk::new(script);
    let logger = logger(&desk);
    let desk = desk
        .extension(
            "children",
            "panto.ext.on('user_message', function(e) e.text = '[' .. e.text .. ']' end)\n\
             panto.ext.register_tool { name = 'child', description = 'd', schema = { type = 'object' }, handler = function()\n\
               local config = assert(panto.ext.resolve_model {})\n\
               local agent = assert(panto.agent { config = config, store = panto.null_store() })\n\
               local said\n\
               for event in assert(agent:run('inner')):events() do\n\
                 if event.type == 'user_message' then said = event.text end\n\
               end\n\
               return said\n\
             end }",
        )
        .extension("log", &logger);
    desk.run(async |_, mut live| {
        let (run, _) = ask(&mut live, "outer").await;
        assert_eq!(run.usage.requests, 2);
        let (others, turns) = live.host.spent_by_others();
        assert_eq!((others.requests, turns), (1, 1));
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("[inner]"), "{transcript}");
        live.end().await;
    });
    let log = log_of(&desk.path("log"));
    assert_eq!(log.matches("turn_start").count(), 1, "{log}");
    assert_eq!(log.matches("user_message text=[").count(), 2, "{log}");
}

#[test]
fn an_interrupt_is_told_before_the_end_of_the_turn() {
    let script = Script::new()
        .step(Step::call("wait", json!({})))
        .step("never");
    let desk = Desk::new(script).extension(
        "wait",
        "panto.ext.register_tool { name = 'wait', description = 'd', schema = { type = 'object' }, handler = function(_, context)\n\
           context.output('waiting')\n\
           local uv, co = require('luv'), coroutine.running()\n\
           local timer = uv.new_timer()\n\
           timer:start(1, 1, function()\n\
             if context.cancelled() then timer:close() coroutine.resume(co) end\n\
           end)\n\
           coroutine.yield()\n\
           return 'stopped'\n\
         end }",
    );
    let logger = logger(&desk);
    let desk = desk.extension("log", &logger);
    desk.run(async |_, mut live| {
        let mut events = live.handle.events();
        let handle = live.handle.clone();
        handle
            .submit(pantograph::Submission::follow_up("go"))
            .unwrap();
        let watched = async {
            while let Some(event) = events.next().await {
                match event {
                    panto_host::session::SessionEvent::Turn(
                        pantograph::Event::ToolOutputDelta { .. },
                    ) => drop(handle.interrupt()),
                    panto_host::session::SessionEvent::Idle => break,
                    _ => {}
                }
            }
        };
        live.host.run_until(watched).await;
        live.end().await;
    });
    let log = log_of(&desk.path("log"));
    let ends: Vec<&str> = log
        .lines()
        .filter(|line| {
            line.starts_with("turn_i")
                || line.starts_with("turn_e")
                || line.starts_with("tool_result")
        })
        .collect();
    insta::assert_snapshot!(ends.join("\n"));
}

#[test]
fn emitted_data_reaches_listeners_and_readers_of_the_session() {
    let desk = Desk::new(Script::new().step("Done.")).extension(
        "emitter",
        "panto.ext.on('mine', function(e) SEEN = (SEEN or 0) + e.data.n e.data.n = 100 end)\n\
         panto.ext.on('mine', function(e) PLAIN = e.type == nil and e.name end)\n\
         panto.ext.on('plain', function(e) assert(e.data == nil) end)\n\
         panto.ext.on('turn_start', function() panto.ext.emit('mine', { n = 7 }) panto.ext.emit('plain') end)\n\
         panto.ext.on('turn_end', function() panto.ext.emit('seen', { SEEN, PLAIN }) end)\n\
         assert(not pcall(panto.ext.emit, 'tool_result', {}))",
    );
    let customs = desk.run(async |_, mut live| {
        let mut events = live.handle.events();
        live.handle
            .submit(pantograph::Submission::follow_up("go"))
            .unwrap();
        let mut customs = Vec::new();
        let read = async {
            while let Some(event) = events.next().await {
                if let panto_host::session::SessionEvent::Custom { name, data } = event {
                    customs.push(format!("{name} {data}"));
                    if customs.len() == 2 {
                        break;
                    }
                }
            }
        };
        live.host.run_until(read).await;
        live.end().await;
        customs
    });
    assert_eq!(customs, [r#"mine {"n":7}"#, r#"seen [7,"mine"]"#]);
    assert_eq!(desk.said(), [""; 0]);
}

#[test]
fn submissions_of_extensions_are_heard_and_run() {
    let script = Script::new().step("First.").step("Second.");
    let desk = Desk::new(script).extension(
        "again",
        "panto.ext.on('turn_end', function()\n\
           if not DONE then DONE = true panto.ext.agent:submit('once more', { followup = true }) end\n\
         end)\n\
         panto.ext.on('agent_submission', function(e) HEARD = e.name end)\n\
         panto.ext.on('user_message', function(e) if HEARD then e.text = e.text .. ' (heard)' end end)",
    );
    desk.run(async |_, mut live| {
        let (run, _) = ask(&mut live, "go").await;
        if run.turns == 1 {
            // The second one came after the first was idle.
            let mut events = live.handle.events();
            let idle = async {
                while let Some(event) = events.next().await {
                    if matches!(event, panto_host::session::SessionEvent::Idle) {
                        break;
                    }
                }
            };
            live.host.run_until(idle).await;
        }
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("once more"), "{transcript}");
        assert!(transcript.contains("Second."), "{transcript}");
        live.end().await;
    });
}
