//! Batches of tool calls: concurrent, isolated, recorded in call order.

use std::sync::Arc;

use pantograph::{
    AgentOptions, Cancel, Event, Prompt, RawJson, StopReason, ToolContext, ToolDeclaration,
    ToolOutput, ToolRegistry, ToolStatus, invoke_tools,
};
use pantograph_scripted::{Call, Fault, Script, Step};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{builder, finish, run, scripted, shown};

fn declare(name: &str) -> ToolDeclaration {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    });
    ToolDeclaration::new(name, "A tool.", schema).unwrap()
}

fn declare_without_keys(name: &str) -> ToolDeclaration {
    let schema = json!({"type": "object", "properties": {}});
    ToolDeclaration::new(name, "A tool.", schema).unwrap()
}

#[tokio::test]
async fn calls_of_one_message_run_at_once_and_are_recorded_in_call_order() {
    // Each waits for the other: one after the other would never end.
    let barrier = Arc::new(Barrier::new(2));
    let tool = move |name: &'static str| {
        let barrier = Arc::clone(&barrier);
        move |context: ToolContext| {
            let barrier = Arc::clone(&barrier);
            async move {
                context.output("waiting");
                if name == "first" {
                    barrier.wait().await;
                    // The second has answered by now, or may at any time.
                    tokio::task::yield_now().await;
                } else {
                    barrier.wait().await;
                }
                ToolOutput::text(name)
            }
        }
    };
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("first"), tool("first"))
        .unwrap()
        .tool(declare_without_keys("second"), tool("second"))
        .unwrap();
    let calls = Step::call("first", json!({})).then(Call::new("second", json!({})));
    let protocol = scripted(Script::new().step(calls).step("done"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (events, _) = run(&agent, "go").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) first {}
    assistant [tool_calls]: (calls) second {}
    tool: (Ok) first
    tool: (Ok) second
    assistant [end]: done
    ");
    let mut outputs: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::ToolOutputDelta { tool_name, .. } => Some(&**tool_name),
            _ => None,
        })
        .collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["first", "second"]);
}

#[tokio::test]
async fn a_panic_or_an_error_is_the_result_of_that_call_alone() {
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("good"), async |_: ToolContext| {
            ToolOutput::text("fine")
        })
        .unwrap()
        .tool(declare_without_keys("bad"), async |_: ToolContext| {
            ToolOutput::error("no luck")
        })
        .unwrap()
        .tool(
            declare_without_keys("broken"),
            async |_: ToolContext| -> ToolOutput {
                std::panic::resume_unwind(Box::new("index out of range"))
            },
        )
        .unwrap();
    let calls = Step::call("good", json!({}))
        .then(Call::new("bad", json!({})))
        .then(Call::new("broken", json!({})))
        .then(Call::new("missing", json!({})))
        .then(Call::new("good", json!({})));
    let protocol = scripted(Script::new().step(calls).step("done"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    run(&agent, "go").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) good {}
    assistant [tool_calls]: (calls) bad {}
    assistant [tool_calls]: (calls) broken {}
    assistant [tool_calls]: (calls) missing {}
    assistant [tool_calls]: (calls) good {}
    tool: (Ok) fine
    tool: (Error) no luck
    tool: (Error) the tool `broken` panicked: index out of range
    tool: (Error) There is no tool `missing`. Available tools: good, bad, broken.
    tool: (Ok) fine
    assistant [end]: done
    ");
}

#[tokio::test]
async fn malformed_input_never_reaches_a_tool() {
    let tools = ToolRegistry::new()
        .tool(declare("read"), async |context: ToolContext| {
            ToolOutput::text(format!("ran with {:?}", context.input))
        })
        .unwrap()
        .tool(
            declare_without_keys("list"),
            async |context: ToolContext| ToolOutput::text(format!("ran with {:?}", context.input)),
        )
        .unwrap();
    let mut calls = Step::new();
    for input in [
        r#"{"path": "#,
        "[1, 2]",
        "",
        "null",
        r#"{"path": "a"} and more"#,
    ] {
        calls = calls.then(Call::with_raw_input("read", input));
    }
    for input in ["", "null", " ", "true"] {
        calls = calls.then(Call::with_raw_input("list", input));
    }
    calls = calls.then(Call::with_raw_input("read", r#"{"path": "\ud83d\u0000"}"#));
    let protocol = scripted(Script::new().step(calls).step("done"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    insta::assert_snapshot!(shown(&agent), @r#"
    user: go
    assistant [tool_calls]: (calls) read {"path": 
    assistant [tool_calls]: (calls) read [1, 2]
    assistant [tool_calls]: (calls) read 
    assistant [tool_calls]: (calls) read null
    assistant [tool_calls]: (calls) read {"path": "a"} and more
    assistant [tool_calls]: (calls) list 
    assistant [tool_calls]: (calls) list null
    assistant [tool_calls]: (calls) list  
    assistant [tool_calls]: (calls) list true
    assistant [tool_calls]: (calls) read {"path": "\ud83d\u0000"}
    tool: (Error) the input of `read` is not valid JSON: EOF while parsing a value at line 1, column 10, where it ends after `{"path": `
    expected one JSON object with these keys: `path` (required), `limit`
    tool: (Error) the input of `read` is an array, not a JSON object: `[1, 2]`
    expected one JSON object with these keys: `path` (required), `limit`
    tool: (Error) the input of `read` is empty
    expected one JSON object with these keys: `path` (required), `limit`
    tool: (Error) the input of `read` is `null`
    expected one JSON object with these keys: `path` (required), `limit`
    tool: (Error) the input of `read` is not valid JSON: trailing characters at line 1, column 15, where `{"path": "a"} ` is followed by `and more`
    expected one JSON object with these keys: `path` (required), `limit`
    tool: (Ok) ran with {}
    tool: (Ok) ran with {}
    tool: (Ok) ran with {}
    tool: (Error) the input of `list` is a boolean, not a JSON object: `true`
    expected one JSON object without keys: `{}`
    tool: (Ok) ran with {"path": "\ufffd\u0000"}
    assistant [end]: done
    "#);
}

#[tokio::test]
async fn without_dispatch_the_turn_ends_with_the_calls_and_the_next_one_heals_them() {
    let tools = ToolRegistry::new()
        .tool(declare("read"), async |_: ToolContext| {
            ToolOutput::text("ran")
        })
        .unwrap();
    let calls = Step::text("I would read.").then(Call::new("read", json!({"path": "a"})).id("c1"));
    let protocol = scripted(Script::new().step(calls).step("fine"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let prompt = Prompt::from("go").without_dispatch();
    let (_, outcome) = finish(agent.run(prompt).unwrap()).await;
    assert_eq!(outcome.stop, StopReason::ToolCalls);
    assert_eq!(protocol.requests().len(), 1);
    let calls: Vec<_> = outcome
        .tool_calls
        .iter()
        .map(|call| (&*call.id, &*call.name, call.input.as_str()))
        .collect();
    assert_eq!(calls, [("c1", "read", r#"{"path":"a"}"#)]);

    run(&agent, "never mind").await;
    insta::assert_snapshot!(shown(&agent), @r#"
    user: go
    assistant [tool_calls]: I would read.
    assistant [tool_calls]: (calls) read {"path":"a"}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    user: never mind
    assistant [end]: fine
    "#);
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_refused_and_the_turn_goes_on() {
    let tools = ToolRegistry::new()
        .tool(declare("write"), async |_: ToolContext| {
            ToolOutput::text("wrote")
        })
        .unwrap();
    let cut = Step::new()
        .then(Call::with_raw_input("write", r#"{"path": "long te"#))
        .then(StopReason::Limit);
    let protocol = scripted(Script::new().step(cut).step("smaller then"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::End);
    insta::assert_snapshot!(shown(&agent), @r#"
    user: go
    assistant [limit]: (calls) write {"path": "long te
    tool: (Error) the output limit cut the input of `write` after 17 bytes, at `{"path": "long te`; the call was not run
    expected one JSON object with these keys: `path` (required), `limit`
    call again with a shorter input, or split the work over several calls
    assistant [end]: smaller then
    "#);
}

#[tokio::test]
async fn a_reply_that_the_output_limit_cut_is_no_plain_success() {
    let protocol = scripted(Script::new().step(Step::text("half a").then(StopReason::Limit)));
    let agent = builder(&protocol).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::Limit);
    assert_eq!(outcome.text.as_deref(), Some("half a"));
}

#[tokio::test]
async fn rounds_are_limited() {
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("again"), async |_: ToolContext| {
            ToolOutput::text("more")
        })
        .unwrap();
    let protocol = scripted(Script::new().step(Step::call("again", json!({})).repeated()));
    let agent = builder(&protocol)
        .tool_source(Arc::new(tools))
        .options(AgentOptions {
            max_rounds: Some(3),
            ..AgentOptions::default()
        })
        .ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::Limit);
    assert_eq!(protocol.requests().len(), 3);
}

#[tokio::test]
async fn ids_that_a_provider_repeats_are_made_to_differ() {
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("t"), async |context: ToolContext| {
            ToolOutput::text(context.id.to_string())
        })
        .unwrap();
    let calls = || {
        Step::new()
            .then(Call::new("t", json!({})).id("same"))
            .then(Call::new("t", json!({})).id("same"))
            .then(Call::new("t", json!({})).id(""))
    };
    let protocol = scripted(Script::new().step(calls()).step(calls()).step("done"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    let conversation = agent.conversation();
    let ids: Vec<_> = conversation
        .messages()
        .iter()
        .flat_map(|message| message.tool_calls())
        .map(|call| &call.id)
        .collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len()), (6, 6));
    assert_eq!(&**ids[0], "same");
}

#[tokio::test]
async fn nothing_is_dispatched_from_an_attempt_that_failed_after_its_calls() {
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("t"), async |_: ToolContext| {
            ToolOutput::text("ran")
        })
        .unwrap();
    let failed = Step::call("t", json!({})).then(Fault::Disconnect);
    let protocol = scripted(Script::new().step(failed).step("done"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (events, _) = run(&agent, "go").await;
    assert!(
        !events
            .iter()
            .any(|event| event.name() == "tool_dispatch_start")
    );
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: done
    ");
}

#[tokio::test]
async fn a_source_can_be_asked_without_a_turn() {
    let tools = ToolRegistry::new()
        .tool(declare_without_keys("slow"), |_| async {
            tokio::task::yield_now().await;
            ToolOutput::text("slow")
        })
        .unwrap();
    let agent = builder(&scripted(Script::new())).ephemeral();
    let calls = ["slow", "missing"].map(|name| (name.into(), RawJson::parse("{}").unwrap()));
    let outputs = invoke_tools(&tools, &agent, calls.into(), Cancel::new()).await;
    assert_eq!(outputs[0], ToolOutput::text("slow"));
    assert_eq!(outputs[1].status, ToolStatus::Error);
}
