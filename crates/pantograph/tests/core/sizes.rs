//! Much of everything, in linear time and bounded space.

use std::sync::Arc;

use pantograph::{
    Attachment, Event, StopReason, ToolContext, ToolDeclaration, ToolOutput, ToolRegistry,
};
use pantograph_scripted::{Script, Step, Text};
use serde_json::json;

use crate::support::{builder, run, scripted};

#[tokio::test]
async fn a_result_of_fifty_megabytes_is_capped_and_marked() {
    let declaration = ToolDeclaration::new("dump", "A tool.", json!({"type": "object"})).unwrap();
    let tools = ToolRegistry::new()
        .tool(declaration, async |_: ToolContext| {
            ToolOutput::text("😀".repeat(50 * 1024 * 1024 / 4))
                .with_attachment(Attachment::new("image/png", vec![7; 1000]))
        })
        .unwrap();
    let protocol = scripted(
        Script::new()
            .step(Step::call("dump", json!({})))
            .step("done"),
    );
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let (events, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.stop, StopReason::End);
    let output = events
        .iter()
        .find_map(|event| match event {
            Event::ToolResult { output, .. } => Some(output),
            _ => None,
        })
        .unwrap();
    assert!(output.len() <= 1024 * 1024 && output.len() > 1_000_000);
    assert!(output.starts_with('😀') && output.ends_with('😀'));
    let conversation = agent.conversation();
    let result = conversation.messages()[2].tool_results().next().unwrap();
    assert_eq!(result.content.len(), 2);
}

#[tokio::test]
async fn a_hundred_thousand_deltas_make_one_text() {
    let text = Text::new("four words of text ").count(100_000);
    let protocol = scripted(Script::new().step(Step::new().then(text)));
    let agent = builder(&protocol).ephemeral();
    let (events, outcome) = run(&agent, "go").await;
    let deltas = events
        .iter()
        .filter(|event| event.name() == "assistant_text_delta")
        .count();
    assert_eq!(deltas, 100_000);
    assert_eq!(outcome.text.as_ref().map(String::len), Some(1_900_000));
}

#[tokio::test]
async fn odd_text_passes_unchanged() {
    let odd = "nul \0, line \u{2028} and \u{2029}, e\u{301}, \u{202e}rtl, 👩‍👩‍👧, \u{1b}[2J";
    let protocol = scripted(Script::new().step(Step::new().then(Text::new(odd).chunks(40))));
    let agent = builder(&protocol).ephemeral();
    let (_, outcome) = run(&agent, odd).await;
    assert_eq!(outcome.text.as_deref(), Some(odd));
    assert_eq!(agent.conversation().messages()[0].text(), odd);
}
