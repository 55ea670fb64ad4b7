//! `docs/tools.md` says which arguments the tools take.

use std::collections::BTreeMap;

use crate::support::machine;

const PAGE: &str = include_str!("../../../../docs/tools.md");

/// The arguments by tool, as the page has them: `name`, `name?`, `name = …`.
fn written() -> BTreeMap<String, Vec<String>> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (tool, rest) = row.split_once("` | ").unwrap();
        let arguments = rest.split_once(" | ").unwrap().0;
        let mut names: Vec<String> = arguments
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|argument| argument.split(" = ").next().unwrap().to_owned())
            .collect();
        names.sort();
        (tool.to_owned(), names)
    })
    .collect()
}

#[tokio::test]
async fn the_page_has_the_arguments_of_every_tool() {
    let machine = machine(&[]);
    let declared = machine.runtime.tool_source().declarations();
    let declared: BTreeMap<String, Vec<String>> = declared
        .iter()
        .map(|tool| {
            let required = tool.required_keys();
            let mark = |name: &str| if required.contains(&name) { "" } else { "?" };
            let names = tool.keys().into_iter();
            let mut names: Vec<String> =
                names.map(|name| format!("{name}{}", mark(name))).collect();
            names.sort();
            (tool.name.to_string(), names)
        })
        .collect();
    assert_eq!(written(), declared);
}
