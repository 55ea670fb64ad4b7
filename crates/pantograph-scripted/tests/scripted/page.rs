//! The examples of `docs/scripted.md` are scripts.

use pantograph_scripted::{Script, ScriptedProtocol};

use crate::support::{answer, ask};

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
