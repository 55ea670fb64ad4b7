//! `docs/lua.md`: its examples run, and it leaves nothing out.

use crate::support::talking;

const PAGE: &str = include_str!("../../../../docs/lua.md");
const STUB: &str = include_str!("../../lua/panto.lua");

#[test]
fn every_example_runs() {
    let examples: Vec<&str> = PAGE
        .split("```lua\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() > 4);
    for example in examples {
        let machine = talking("Hello.");
        // Tests show nothing.
        machine.exec("io = { write = function() end } print = io.write");
        machine.exec(example);
        machine.all_settled();
    }
}

#[test]
fn every_function_is_on_the_page() {
    let missing: Vec<&str> = STUB
        .lines()
        .filter_map(|line| {
            line.strip_prefix("function ")?
                .split(['.', ':', '('])
                .nth(1)
        })
        .filter(|name| !PAGE.contains(&format!("{name}(")) && !PAGE.contains(&format!("{name} {{")))
        .collect();
    assert_eq!(missing, [""; 0]);
}
