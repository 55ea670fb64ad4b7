//! `docs/scripted.md` says what is so. Its Rust examples are doctests of the crate.

use std::sync::Arc;

use pantograph::{Model, ModelRef, ToolSet};
use pantograph_scripted::{Script, ScriptedProtocol, check_request};

use crate::support::{answer, ask, calls, request, user};

const PAGE: &str = include_str!("../../../../docs/scripted.md");

/// The code blocks of a language.
fn examples(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let after = PAGE.split(fence.as_str()).skip(1);
    after.filter_map(|rest| rest.split("```").next()).collect()
}

#[tokio::test]
async fn every_example_of_a_file_is_a_script_that_answers() {
    let toml = examples("toml").into_iter().map(Script::from_toml);
    let json = examples("json").into_iter().map(Script::from_json);
    let scripts: Vec<Script> = toml.chain(json).map(Result::unwrap).collect();
    assert!(scripts.len() > 2);
    for script in scripts {
        let protocol = ScriptedProtocol::new(script);
        let played = answer(&protocol, ask("What is the weather in Oslo?")).await;
        assert_eq!(protocol.requests()[0].step, Some(0), "{played}");
    }
}

/// The names in backticks that an error message lists.
fn known_keys(script: &str) -> Vec<String> {
    let error = Script::from_toml(script).unwrap_err().to_string();
    let (_, listed) = error.split_once("expected").unwrap();
    let names = listed.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn every_key_of_a_file_is_on_the_page() {
    let scripts = [
        "nonsense = 1",
        "[[steps]]\nnonsense = 1",
        "[[steps]]\nwhen = { nonsense = 1 }",
        "[[steps]]\ntake = { a = { nonsense = 1 } }",
        "[[steps]]\nplay = [{ nonsense = 1 }]",
        "[[steps]]\nplay = [{ usage = { nonsense = 1 } }]",
        "[[steps]]\nplay = [{ fault = \"nonsense\" }]",
        "[[steps]]\nplay = [{ error = \"nonsense\" }]",
        "[[steps]]\nplay = [{ stop = \"nonsense\" }]",
    ];
    for script in scripts {
        let keys = known_keys(script);
        assert!(keys.len() > 1, "{script}");
        for key in keys {
            let is_there = ["`", " = ", " "]
                .iter()
                .any(|end| PAGE.contains(&format!("`{key}{end}")));
            assert!(is_there, "`{key}` is not on the page");
        }
    }
}

#[test]
fn the_refusal_on_the_page_is_the_real_one() {
    let mut broken = request([
        user("compare the files"),
        calls([("call_1", "read", "{\"path\":\"a.txt\"}")]),
        user("and?"),
    ]);
    broken.model = Arc::new(Model::new(ModelRef::parse("scripted:demo").unwrap()));
    let read = broken.tools.get("read").unwrap().clone();
    broken.tools = ToolSet::new(vec![read]).unwrap();
    let refusal = check_request(&broken).unwrap_err().to_string();
    assert_eq!(examples("text"), [format!("{refusal}\n")]);
}
