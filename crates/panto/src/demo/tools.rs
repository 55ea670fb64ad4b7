//! The tools of the demo: a few notes, and a calculator.

mod arithmetic;

use pantograph::{InvalidDeclaration, ToolContext, ToolDeclaration, ToolOutput, ToolRegistry};
use serde::Deserialize;
use serde_json::json;

/// What the demo's model may call.
pub(super) fn registry() -> Result<ToolRegistry, InvalidDeclaration> {
    let notes = ToolDeclaration::new(
        "notes.read",
        "Reads what is written down about a topic.",
        json!({
            "type": "object",
            "properties": { "topic": { "type": "string" } },
            "required": ["topic"],
        }),
    )?;
    let calculate = ToolDeclaration::new(
        "calculate",
        "Works out an expression of numbers, `+ - * /` and parentheses.",
        json!({
            "type": "object",
            "properties": { "expression": { "type": "string" } },
            "required": ["expression"],
        }),
    )?;
    ToolRegistry::new()
        .tool(notes, async |context: ToolContext| read_note(&context))?
        .tool(calculate, async |context: ToolContext| {
            calculate_expression(&context)
        })
}

#[derive(Deserialize)]
struct Note {
    topic: String,
}

fn read_note(context: &ToolContext) -> ToolOutput {
    let note = match context.input_as::<Note>() {
        Ok(note) => note,
        Err(error) => return error.into(),
    };
    match note.topic.as_str() {
        "garden" => ToolOutput::text("The garden measures 12 m by 7 m. The gate is in the fence."),
        "seed" => ToolOutput::text("One bag of seed is good for 20 square metres."),
        other => ToolOutput::error(format!("nothing is written down about `{other}`")),
    }
}

#[derive(Deserialize)]
struct Calculation {
    expression: String,
}

fn calculate_expression(context: &ToolContext) -> ToolOutput {
    let calculation = match context.input_as::<Calculation>() {
        Ok(calculation) => calculation,
        Err(error) => return error.into(),
    };
    match arithmetic::value(&calculation.expression) {
        Ok(value) => ToolOutput::text(format!("{} = {value}", calculation.expression)),
        Err(message) => ToolOutput::error(message),
    }
}
