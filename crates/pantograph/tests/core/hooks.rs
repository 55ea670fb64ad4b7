//! Hooks rewrite what is stored or run, for every agent, and cannot break a turn.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pantograph::{
    CheckedInput, HookContext, HookedCall, HookedResult, StopReason, ToolContext, ToolDeclaration,
    ToolOutput, ToolRegistry, TurnHooks,
};
use pantograph_scripted::{Script, Step};
use serde_json::{Map, json};

use crate::support::{builder, run, scripted, shown};

fn echo() -> Arc<ToolRegistry> {
    let declaration = ToolDeclaration::new("echo", "A tool.", json!({"type": "object"})).unwrap();
    let tools = ToolRegistry::new()
        .tool(declaration, async |context: ToolContext| {
            ToolOutput::text(format!("got {:?}", context.input))
        })
        .unwrap();
    Arc::new(tools)
}

struct Rewriting;

#[async_trait]
impl TurnHooks for Rewriting {
    async fn user_message(&self, _: &HookContext, text: &str) -> Option<String> {
        Some(text.replace("secret", "[removed]"))
    }

    async fn tool_input(&self, _: &HookContext, call: HookedCall<'_>) -> CheckedInput {
        if call.input.contains("refuse") {
            return CheckedInput::Refused("not allowed here".to_owned());
        }
        assert_eq!(call.input, r#"{"a":1}"#);
        CheckedInput::Changed(Map::from_iter([("a".to_owned(), json!(2))]))
    }

    async fn tool_result(&self, _: &HookContext, result: HookedResult<'_>) -> Option<String> {
        Some(format!("<{}>", result.output))
    }
}

#[tokio::test]
async fn rewritten_text_input_and_results_are_what_counts() {
    let protocol = scripted(
        Script::new()
            .step(Step::call("echo", json!({"a": 1})))
            .step("done"),
    );
    let agent = builder(&protocol)
        .tool_source(echo())
        .hooks(Arc::new(Rewriting))
        .ephemeral();
    run(&agent, "a secret").await;
    // The conversation keeps the model's own input.
    insta::assert_snapshot!(shown(&agent), @r#"
    user: a [removed]
    assistant [tool_calls]: (calls) echo {"a":1}
    tool: (Ok) <got {"a":2}>
    assistant [end]: done
    "#);
}

#[tokio::test]
async fn a_refused_call_is_not_run_and_the_model_hears_why() {
    let step = Step::new()
        .then(pantograph_scripted::Call::new("echo", json!({"refuse": 1})))
        .then(pantograph_scripted::Call::new("echo", json!({"a": 1})));
    let protocol = scripted(Script::new().step(step).step("done"));
    let agent = builder(&protocol)
        .tool_source(echo())
        .hooks(Arc::new(Rewriting))
        .ephemeral();
    run(&agent, "go").await;
    insta::assert_snapshot!(shown(&agent), @r#"
    user: go
    assistant [tool_calls]: (calls) echo {"refuse":1}
    assistant [tool_calls]: (calls) echo {"a":1}
    tool: (Error) <not allowed here>
    tool: (Ok) <got {"a":2}>
    assistant [end]: done
    "#);
}

struct Failing;

#[async_trait]
impl TurnHooks for Failing {
    async fn user_message(&self, _: &HookContext, _: &str) -> Option<String> {
        std::panic::resume_unwind(Box::new("a hook's bug"))
    }

    async fn tool_result(&self, _: &HookContext, _: HookedResult<'_>) -> Option<String> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_or_hangs_changes_nothing() {
    let protocol = scripted(Script::new().step(Step::call("echo", json!({}))));
    let agent = builder(&protocol)
        .tool_source(echo())
        .hooks(Arc::new(Failing))
        .ephemeral();
    let turn = agent.run("go").unwrap();
    let control = turn.control();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        control.cancel();
    });
    let (_, outcome) = crate::support::finish(turn).await;
    assert_eq!(outcome.stop, StopReason::Cancelled);
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) echo {}
    tool: (Ok) got {}
    ");
}
