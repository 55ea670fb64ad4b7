//! `lua/data.lua` says what is registered, no less and no more.

use std::collections::BTreeSet;
use std::sync::Arc;

use mlua::Value;

use crate::machine;

const STUB: &str = include_str!("../../lua/data.lua");

#[test]
fn every_function_is_in_the_stub_and_every_one_of_the_stub_is_there() {
    let declared: BTreeSet<String> = STUB
        .lines()
        .filter_map(|line| line.strip_prefix("function ext."))
        .filter_map(|rest| rest.split('(').next())
        .map(str::to_owned)
        .collect();
    let registered: BTreeSet<String> = machine(&Arc::default())
        .ext
        .pairs::<String, Value>()
        .map(|pair| pair.unwrap().0)
        .collect();
    assert_eq!(declared, registered);
}

#[test]
fn every_parameter_and_every_return_has_its_type() {
    let mut comment = Vec::new();
    for line in STUB.lines() {
        if line.starts_with("---") {
            comment.push(line);
            continue;
        }
        if let Some(signature) = line.strip_prefix("function ") {
            let parameters = signature.split(['(', ')']).nth(1).unwrap();
            let typed: Vec<&str> = comment
                .iter()
                .filter_map(|line| line.strip_prefix("---@param "))
                .filter_map(|rest| rest.split_whitespace().next())
                .collect();
            assert_eq!(typed.join(", "), parameters, "{line}");
            assert!(
                comment.iter().any(|line| line.starts_with("---@return ")),
                "{line}"
            );
        }
        comment.clear();
    }
}

/// The fields of a class of the stub.
fn fields(class: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in STUB.lines() {
        if let Some(rest) = line.strip_prefix("---@class ") {
            inside = rest.split(':').next() == Some(class);
        } else if let Some(field) = line.strip_prefix("---@field ") {
            if inside {
                found.extend(field.split_whitespace().next().map(str::to_owned));
            }
        } else {
            inside = false;
        }
    }
    found
}

#[test]
fn values_of_a_style_are_those_of_the_stub() {
    let machine = machine(&Arc::default());
    let message: String = machine
        .lua
        .load("return raised(ext.style, 'x', { nonsense = 1 })")
        .eval()
        .unwrap();
    let (_, taken) = message.split_once("it takes ").unwrap();
    let taken: BTreeSet<String> = taken
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert_eq!(fields("panto.ext.StyleValues"), taken);
}

#[test]
fn what_is_given_has_the_fields_of_the_stub() {
    let machine = machine(&Arc::default());
    let keys = |source: &str| -> BTreeSet<String> {
        let source = format!(
            "local names = {{}} for name in pairs({source}) do names[#names + 1] = name end return names"
        );
        let names: Vec<String> = machine.lua.load(source).eval().unwrap();
        names.into_iter().collect()
    };
    let diagnostic = keys("select(3, ext.frontmatter('---\\na: b: c\\n---\\n'))[1]");
    assert_eq!(fields("panto.ext.Diagnostic"), diagnostic);
    let problem = keys("select(3, ext.validate({ type = 'string' }, 1))[1]");
    assert_eq!(fields("panto.ext.Problem"), problem);
}
