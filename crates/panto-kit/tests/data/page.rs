//! `docs/skills.md`, of which frontmatter is a chapter: its examples run, and no code is left out.

use std::sync::Arc;

use crate::machine;

const PAGE: &str = include_str!("../../../../docs/skills.md");
const CODES: &str = include_str!("../../src/frontmatter.rs");

#[test]
fn every_example_in_lua_runs() {
    let examples: Vec<&str> = PAGE
        .split("```lua\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        let machine = machine(&Arc::default());
        let chunk = machine.lua.load(example).set_name("=docs/skills.md");
        chunk.exec().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_code_is_on_the_page() {
    let missing: Vec<&str> = CODES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Code::")?.split_once(" => \""))
        .filter_map(|(_, code)| code.split('"').next())
        .filter(|code| !PAGE.contains(&format!("`{code}`")))
        .collect();
    assert_eq!(missing, [""; 0]);
}
