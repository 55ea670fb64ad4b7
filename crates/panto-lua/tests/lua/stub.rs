//! `lua/panto.lua` says what is registered, no less and no more.

use std::collections::{BTreeMap, BTreeSet};

use mlua::{AnyUserData, Table, Value};

use crate::support::{Machine, talking};

const STUB: &str = include_str!("../../lua/panto.lua");

/// The stub's name for each class, and Lua that gives one of its objects.
const OBJECTS: &[(&str, &str)] = &[
    ("Agent", "new_agent()"),
    ("Stream", "new_agent():run('x')"),
    ("Job", "new_agent():run_async { prompt = 'x' }"),
    (
        "JobControl",
        "new_agent():run_async({ prompt = 'x' }):control()",
    ),
    ("Store", "panto.null_store()"),
    ("Conversation", "panto.conversation()"),
];

/// Functions by the table that they are in.
type Surface = BTreeMap<String, BTreeSet<String>>;

/// What the stub declares: `function Table.name(…)` or `function Table:name(…)`.
fn declared() -> Surface {
    let mut surface = Surface::new();
    for line in STUB.lines() {
        let Some(signature) = line.strip_prefix("function ") else {
            continue;
        };
        let name = signature.split('(').next().unwrap();
        let (table, name) = name.split_once(['.', ':']).unwrap();
        let functions = surface.entry(table.to_owned()).or_default();
        assert!(functions.insert(name.to_owned()), "{line} is there twice");
    }
    surface
}

fn functions(table: &Table) -> BTreeSet<String> {
    table
        .pairs::<String, Value>()
        .map(Result::unwrap)
        .filter(|(_, value)| value.is_function())
        .map(|(name, _)| name)
        .collect()
}

fn registered(machine: &Machine) -> Surface {
    let mut surface = Surface::new();
    let module = machine.module.table();
    surface.insert("panto".to_owned(), functions(module));
    for name in ["json", "text"] {
        surface.insert(name.to_owned(), functions(&module.get(name).unwrap()));
    }
    for (class, source) in OBJECTS {
        let object: AnyUserData = machine.eval(&format!("return {source}"));
        let methods: Table = object.metatable().unwrap().get("__index").unwrap();
        surface.insert((*class).to_owned(), functions(&methods));
    }
    surface
}

#[test]
fn every_function_is_in_the_stub_and_every_one_of_the_stub_is_there() {
    let machine = talking("Hi.");
    assert_eq!(declared(), registered(&machine));
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

/// The fields of a class of the stub, with those of the class that it extends.
fn fields(class: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in STUB.lines() {
        if let Some(rest) = line.strip_prefix("---@class ") {
            let (name, parent) = rest.split_once(": ").unwrap_or((rest, ""));
            inside = name == class;
            if inside && !parent.is_empty() {
                found.extend(fields(parent));
            }
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
fn named_arguments_are_those_of_the_stub() {
    let machine = talking("Hi.");
    let cases = [
        ("panto.AgentOptions", "panto.agent(wrong)"),
        (
            "panto.FileStoreOptions",
            "panto.file_system_jsonl_store(wrong)",
        ),
        ("panto.Prompt", "agent:run(wrong)"),
        ("panto.JobOptions", "agent:run_async(wrong)"),
        ("panto.SubmitOptions", "agent:submit('x', wrong)"),
        ("panto.Tool", "agent:register_tool(wrong)"),
        ("panto.ToolDeclaration", "agent:set_tools({ wrong })"),
        ("panto.ConfigOptions", "agent:set_config(wrong)"),
        ("panto.CancelOptions", "agent:run('x'):cancel(wrong)"),
        (
            "panto.LoadOptions",
            "panto.null_store():load_messages(id, wrong)",
        ),
    ];
    machine.exec(
        r#"
        agent, wrong = new_agent(), { nonsense = 1 }
        id = "0198c0de-0000-7000-8000-00000000abcd"
        "#,
    );
    for (class, call) in cases {
        let message = machine.text(&format!("return raised(function() {call} end)"));
        let (_, taken) = message.split_once("it takes ").expect(&message);
        let taken: BTreeSet<String> = taken
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        assert_eq!(fields(class), taken, "{class}");
    }
}

#[test]
fn events_have_the_fields_of_the_stub() {
    let machine = talking("Hi.");
    machine.exec(
        r#"
        fields = {}
        for event in new_agent():run("x"):events() do
          for name in pairs(event) do fields[name] = true end
        end
        "#,
    );
    let seen: Table = machine.lua.globals().get("fields").unwrap();
    let known = fields("panto.Event");
    for pair in seen.pairs::<String, bool>() {
        let (name, _) = pair.unwrap();
        assert!(known.contains(&name), "{name}");
    }
    let config = fields("panto.Config");
    for name in config {
        machine.exec(&format!("local _ = config.{name}"));
    }
}
