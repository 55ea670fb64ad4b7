//! Lua functions as tools: what they get, what they may return, and how they fail.

use pantograph::ToolStatus;
use pantograph_scripted::{Call, Script, Step};
use serde_json::json;

use crate::support::{calling, declaration, machine, results};

#[tokio::test(start_paused = true)]
async fn a_handler_gets_input_and_context_and_gives_text() {
    let mut machine = machine();
    machine.tool(
        "echo",
        r#"
        assert(type(context) == "table" and context.tool_name == "echo")
        assert(context.tool_call_id == "one")
        assert(#context.batch_id > 0 and #context.turn_id > 0)
        assert(context.cancelled() == false and context:cancelled() == false)
        assert(context.nothing == nil)
        return input.message .. "!"
        "#,
    );
    let call = Call::new("echo", json!({ "message": "hi" })).id("one");
    let script = Script::new().step(Step::new().then(call)).step("Done.");
    let agent = machine.agent(script);
    let outcome = machine.ask(&agent).await;
    assert_eq!(outcome.text.as_deref(), Some("Done."));
    assert_eq!(results(&agent), [("ok".to_owned(), "hi!".to_owned())]);
    assert_eq!(machine.failures(), [""; 0]);
}

/// The frame below a handler has its context as a variable to be closed.
#[tokio::test(start_paused = true)]
async fn a_handler_may_do_with_its_context_what_it_likes() {
    let mut machine = machine();
    machine.tool(
        "odd",
        r#"
        local fields = 0
        for _ in pairs(context) do fields = fields + 1 end
        assert(fields == 2 and getmetatable(context) == false)
        do local closing <close> = context end
        assert(not pcall(function() local closing <close> = context error("x") end))
        local other = coroutine.create(function() local closing <close> = context coroutine.yield() end)
        coroutine.resume(other)
        assert(coroutine.close(other))
        kept = context
        context.output("shown")
        sleep(1)
        return "still here"
        "#,
    );
    let agent = machine.agent(calling("odd", [json!({})]));
    machine.ask(&agent).await;
    assert_eq!(
        results(&agent),
        [("ok".to_owned(), "still here".to_owned())]
    );
    assert_eq!(machine.failures(), [""; 0]);
    machine.exec(
        r#"
        collectgarbage()
        kept.progress { late = true }
        assert(kept.cancelled() and kept.agent == nil and kept.batch_id == nil)
        "#,
    );
    assert!(machine.progress.borrow().is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_batch_wait_side_by_side_and_keep_their_places() {
    let mut machine = machine();
    machine.tool(
        "wait",
        r#"
        note("begin " .. input.n)
        sleep(100 - input.n)
        note("end " .. input.n)
        return tostring(input.n)
        "#,
    );
    let agent = machine.agent(calling("wait", (0..20).map(|n| json!({ "n": n }))));
    let start = tokio::time::Instant::now();
    machine.ask(&agent).await;
    assert!(start.elapsed().as_millis() < 200, "{:?}", start.elapsed());
    let texts: Vec<_> = results(&agent).into_iter().map(|(_, text)| text).collect();
    let expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(texts, expected);
    let log = machine.log();
    assert_eq!(
        log[..20]
            .iter()
            .filter(|line| line.starts_with("begin"))
            .count(),
        20
    );
    assert_eq!(log[20], "end 19");
}

#[tokio::test(start_paused = true)]
async fn output_and_progress_come_while_the_handler_runs() {
    let mut machine = machine();
    machine.tool(
        "work",
        r#"
        context.output("one ")
        context:output("two")
        context.progress { done = 1, of = 2 }
        local ok, message = pcall(context.output)
        note(message)
        ok, message = pcall(context.progress, "text")
        note(message)
        late = context.output
        later_cancelled = context.cancelled
        return "ok"
        "#,
    );
    let agent = machine.agent(calling("work", [json!({})]));
    let mut turn = agent.run("Go.").unwrap();
    let mut shown = String::new();
    machine
        .runtime
        .run_until(async {
            while let Some(event) = turn.next().await {
                if let pantograph::Event::ToolOutputDelta { delta, .. } = event {
                    shown.push_str(&delta);
                }
            }
        })
        .await;
    assert_eq!(shown, "one two");
    let progress = machine.progress.borrow().clone();
    assert_eq!(progress.len(), 1);
    assert_eq!(&*progress[0].tool_name, "work");
    assert_eq!(progress[0].agent, agent.id());
    assert_eq!(json!(progress[0].data), json!({ "done": 1, "of": 2 }));
    insta::assert_debug_snapshot!(machine.log(), @r#"
    [
        "bad argument 'chunk' to 'output' (string expected, got nil)",
        "bad argument 'data' to 'progress' (table expected, got string)",
    ]
    "#);
    // After the end nothing is shown, and nothing fails.
    machine.exec("late('x') assert(later_cancelled())");
}

#[tokio::test(start_paused = true)]
async fn attachments_are_named_by_their_bytes_if_need_be() {
    let mut machine = machine();
    machine.tool(
        "see",
        r#"return { text = "seen", attachments = {
            { data = "\137PNG\r\n" }, { media_type = "text/x", data = "x" } } }"#,
    );
    let agent = machine.agent(calling("see", [json!({})]));
    machine.ask(&agent).await;
    let conversation = agent.conversation();
    let result = conversation.messages()[2].blocks[0].clone();
    let pantograph::Block::ToolResult(result) = result else {
        panic!("{result:?}")
    };
    assert_eq!(result.status, ToolStatus::Ok);
    let types: Vec<_> = result
        .content
        .iter()
        .map(|part| match part {
            pantograph::ToolContent::Text(text) => text.clone(),
            pantograph::ToolContent::Attachment(attachment) => attachment.media_type.clone(),
        })
        .collect();
    assert_eq!(types, ["seen", "image/png", "text/x"]);
}

#[tokio::test(start_paused = true)]
async fn details_and_status_come_with_the_event_and_stay_with_the_message() {
    let mut machine = machine();
    machine.tool(
        "change",
        r#"return { text = "changed", status = input.status,
            details = input.status and {} or { changed = { "a" }, added = 1 } }"#,
    );
    let inputs = [json!({}), json!({ "status": "cancelled" })];
    let agent = machine.agent(calling("change", inputs));
    let mut turn = agent.run("Go.").unwrap();
    let mut told = Vec::new();
    machine
        .runtime
        .run_until(async {
            while let Some(event) = turn.next().await {
                if let pantograph::Event::ToolResult {
                    details, status, ..
                } = event
                {
                    told.push(format!("{} {}", status.as_str(), json!(*details)));
                }
            }
        })
        .await;
    let details = r#"{"added":1,"changed":["a"]}"#;
    told.sort();
    assert_eq!(told, ["cancelled {}".to_owned(), format!("ok {details}")]);
    let conversation = agent.conversation();
    let message = &conversation.messages()[2];
    let id = &message.tool_results().next().unwrap().call;
    assert_eq!(
        json!(message.metadata).to_string(),
        format!(r#"{{"details":{{"{id}":{details}}}}}"#)
    );
    assert!(!conversation.transcript().contains("added"));
}

#[tokio::test(start_paused = true)]
async fn lua_reads_the_details_of_an_event() {
    let mut machine = machine();
    machine.tool("change", "return { text = 'x', details = { added = 1 } }");
    machine.config("config", calling("change", [json!({})]));
    let added: i64 = machine
        .drive(
            r#"
            for event in new_agent(config, { "change" }):run("x"):events() do
              if event.details then return event.details.added end
            end
            "#,
        )
        .await;
    assert_eq!(added, 1);
}

#[tokio::test(start_paused = true)]
async fn whatever_a_handler_raises_or_returns_the_model_gets_one_line() {
    let mut machine = machine();
    let bodies = [
        "error('plain')",
        "error('two\\nlines', 0)",
        "error({ code = 7 })",
        "error(setmetatable({}, { __tostring = function() return 'named' end }))",
        "error(setmetatable({}, { __tostring = function() error('worse') end }))",
        "error(setmetatable({}, { __tostring = function() return 7 end }))",
        "error(setmetatable({}, { __tostring = function() return 'user not found: bob' end }))",
        "error('\\n\\n  behind empty lines', 0)",
        "error('', 0)",
        "error(nil)",
        "error()",
        "error(42)",
        "error(print)",
        "local x = nil; return x.y",
        "return",
        "return nil, 'could not'",
        "return 42",
        "return true",
        "return {}",
        "return { text = 1 }",
        "return { attachments = 1 }",
        "return { attachments = { 1 } }",
        "return { attachments = { { media_type = 'x' } } }",
        "return { attachments = { { data = 'x', media_type = {} } } }",
        "return { text = 'x', status = 'great' }",
        "return { text = 'x', details = { 1 } }",
        "return { text = 'x', details = { f = print } }",
        "return { text = 'x', details = 'y' }",
        "local function deep() return deep() + 1 end return deep()",
        "coroutine.close(coroutine.running())",
        "local co = coroutine.running() uv.new_timer():start(1, 0, function() coroutine.close(co) end) coroutine.yield()",
        "sleep(1) error('late')",
    ];
    let mut answers = Vec::new();
    for (position, body) in bodies.iter().enumerate() {
        let name = format!("t{position}");
        machine.tool(&name, body);
        let agent = machine.agent(calling(&name, [json!({})]));
        machine.ask(&agent).await;
        let (status, text) = results(&agent).remove(0);
        assert_eq!(status, "error", "{body}");
        assert!(!text.contains('\n'), "{body}: {text}");
        answers.push(format!("{body}  =>  {text}"));
    }
    insta::assert_snapshot!(answers.join("\n"), @r"
    error('plain')  =>  test:1: plain
    error('two\nlines', 0)  =>  two
    error({ code = 7 })  =>  (error object is a table value)
    error(setmetatable({}, { __tostring = function() return 'named' end }))  =>  named
    error(setmetatable({}, { __tostring = function() error('worse') end }))  =>  (error object is a table value)
    error(setmetatable({}, { __tostring = function() return 7 end }))  =>  7
    error(setmetatable({}, { __tostring = function() return 'user not found: bob' end }))  =>  user not found: bob
    error('\n\n  behind empty lines', 0)  =>  behind empty lines
    error('', 0)  =>  it failed without a message
    error(nil)  =>  nil
    error()  =>  nil
    error(42)  =>  42
    error(print)  =>  (error object is a function value)
    local x = nil; return x.y  =>  test:1: attempt to index a nil value (local 'x')
    return  =>  the handler returned nothing; expected a string, or a table with `text`, `attachments` or both
    return nil, 'could not'  =>  could not
    return 42  =>  the handler returned a number; expected a string, or a table with `text`, `attachments` or both
    return true  =>  the handler returned a boolean; expected a string, or a table with `text`, `attachments` or both
    return {}  =>  the handler returned a table without `text` and `attachments`; expected a string, or a table with `text`, `attachments` or both
    return { text = 1 }  =>  the handler returned a number as `text`; a string expected
    return { attachments = 1 }  =>  the handler returned a number as `attachments`; a list expected
    return { attachments = { 1 } }  =>  the handler returned a number as attachment 1
    return { attachments = { { media_type = 'x' } } }  =>  the handler returned a table without a string `data` as attachment 1
    return { attachments = { { data = 'x', media_type = {} } } }  =>  the handler returned a table as `media_type` as attachment 1
    return { text = 'x', status = 'great' }  =>  the handler returned `great` as `status`; `ok`, `error` or `cancelled` expected
    return { text = 'x', details = { 1 } }  =>  the handler returned an array as `details`; a JSON object expected
    return { text = 'x', details = { f = print } }  =>  the handler returned a table (f is a function, which JSON cannot say) as `details`; a JSON object expected
    return { text = 'x', details = 'y' }  =>  the handler returned a string as `details`; a JSON object expected
    local function deep() return deep() + 1 end return deep()  =>  test:1: stack overflow
    coroutine.close(coroutine.running())  =>  test:1: cannot close a running coroutine
    local co = coroutine.running() uv.new_timer():start(1, 0, function() coroutine.close(co) end) coroutine.yield()  =>  the tool failed: its coroutine was closed before it returned
    sleep(1) error('late')  =>  test:1: late
    ");
    let failures = machine.failures.borrow();
    let raised = &failures[0];
    assert_eq!(raised.what, "the tool `t0`");
    assert!(
        raised.traceback.contains("test:1: in function"),
        "{raised:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_rust_function_ends_its_call_and_no_other() {
    let mut machine = machine();
    let panics = machine
        .lua
        .create_function(|_, ()| -> mlua::Result<()> { panic!("ouch") })
        .unwrap();
    machine.lua.globals().set("panics", panics).unwrap();
    machine.tool("bad", "panics()");
    machine.tool("good", "sleep(1) return 'fine'");
    let script = Script::new()
        .step(
            Step::new()
                .then(Call::new("bad", json!({})))
                .then(Call::new("good", json!({}))),
        )
        .step("Done.");
    let agent = machine.agent(script);
    machine.ask(&agent).await;
    let results = results(&agent);
    assert_eq!(results[0].0, "error");
    assert!(results[0].1.contains("ouch"), "{results:?}");
    assert_eq!(results[1], ("ok".to_owned(), "fine".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn tools_come_and_go_with_their_owner_while_a_session_runs() {
    let mut machine = machine();
    machine.tool("first", "return 'old'");
    let script = Script::new()
        .step(Step::call("first", json!({})))
        .step("Done.")
        .step(Step::call("second", json!({})))
        .step("Done.")
        .step(Step::call("first", json!({})))
        .step("Done.");
    let agent = machine.agent(script);
    machine
        .runtime
        .handle()
        .set_session_agent(Some(agent.clone()));
    machine.ask(&agent).await;
    assert_eq!(results(&agent)[0].1, "old");

    // What is added is in the next request.
    machine.tool("second", "return 'new'");
    machine.ask(&agent).await;
    assert_eq!(results(&agent)[0].1, "new");

    // An owner replaces its own; nobody else may.
    let handler = machine.eval("return function() return 'replaced' end");
    let taken = machine
        .runtime
        .handle()
        .register_tool("somebody", declaration("first"), handler);
    insta::assert_snapshot!(taken.unwrap_err(), @"the tool `first` is registered already, by `test`");
    machine.tool("first", "return 'replaced'");
    machine.ask(&agent).await;
    assert_eq!(results(&agent)[0].1, "replaced");

    assert!(
        !machine
            .runtime
            .handle()
            .unregister_tool("somebody", "first")
    );
    assert!(machine.runtime.handle().unregister_tool("test", "first"));
    let names: Vec<_> = agent
        .tools()
        .iter()
        .map(|tool| tool.name.to_string())
        .collect();
    assert_eq!(names, ["second"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_gone_when_its_call_comes_says_so() {
    let mut machine = machine();
    machine.tool("once", "return 'x'");
    let agent = machine.agent(calling("once", [json!({})]));
    assert!(machine.runtime.handle().unregister_tool("test", "once"));
    machine.ask(&agent).await;
    insta::assert_debug_snapshot!(results(&agent), @r#"
    [
        (
            "error",
            "The tool `once` is no longer there.",
        ),
    ]
    "#);
}

#[tokio::test(start_paused = true)]
async fn an_agent_of_luas_own_has_tools_of_its_own() {
    let mut machine = machine();
    machine.config("config", calling("own", [json!({ "n": 1 })]));
    machine.tool("own", "return 'shared'");
    let text: String = machine
        .drive(
            r#"
            local agent = assert(panto.agent { config = config, store = panto.null_store() })
            assert(agent:register_tool {
                name = "own", description = "x", schema = { type = "object" },
                handler = function(input, context)
                    sleep(5)
                    return "own " .. math.tointeger(input.n)
                end,
            })
            local result
            for event in agent:run("Go."):events() do
                if event.type == "tool_result" then result = event.output end
            end
            return result
            "#,
        )
        .await;
    assert_eq!(text, "own 1");
}
