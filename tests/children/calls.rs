//! What a call makes of its arguments: which child, with which model, told what.

use std::fs;

use pantograph::{Message, Role};
use pantograph_scripted::{Call, RecordedRequest, Script, Step};
use serde_json::{Value, json};

use crate::support::{Desk, ask};
use crate::{CHILD, with_config};

const CONFIG: &str = r#"
model = "test:model"
reasoning = "low"
[providers.test]
protocol = "scripted"
[providers.test.models.model]
reasoning = ["low", "high"]
[providers.test.models.other]
reasoning = ["low", "medium", "high"]
[providers.test.models.plain]
reasoning = []
[providers.test.models.free]
"#;

const PROFILE: &str =
    "---\ndescription: Has its own.\nmodel: test:other\nreasoning: medium\n---\nYou are special.\n";

/// A session whose model answers `go` with calls of `tool`, and whose children say `Fine.`.
fn calling(tool: &str, inputs: &[Value]) -> Desk {
    let calls = inputs.iter().fold(Step::new(), |step, input| {
        step.then(Call::new(tool, input.clone()))
    });
    let script = Script::new()
        .step(Step::text("Fine.").when_system(CHILD).repeated())
        .step(calls.when_last("go").when_last_role(Role::User))
        .step(Step::text("Done.").repeated());
    with_config(script, CONFIG)
        .file("config/panto/agents/special.md", PROFILE)
        .file(
            "config/panto/agents/narrow.md",
            "---\ndescription: d\ntools: Read\n---\nNarrow.\n",
        )
}

/// The outputs of the calls of the one batch, in order.
fn outputs(desk: &Desk) -> Vec<String> {
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let conversation = live.handle.agent().conversation();
        let results = conversation
            .messages()
            .iter()
            .rev()
            .find(|message| message.role == Role::Tool)
            .map(|message| message.tool_results().map(|it| it.output()).collect())
            .unwrap_or_default();
        live.end().await;
        results
    })
}

fn results(desk: &Desk) -> Vec<Value> {
    let outputs = outputs(desk);
    let read = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    outputs.iter().map(read).collect()
}

fn of_children(desk: &Desk) -> Vec<RecordedRequest> {
    let is_child = |request: &RecordedRequest| {
        let messages = &request.request.conversation;
        messages
            .messages()
            .iter()
            .any(|message| message.text().contains(CHILD))
    };
    let mut requests = desk.protocol.requests();
    requests.retain(is_child);
    requests
}

/// S0-8, S0-10 to S0-12, S0-19, S0-160, E-2, E-8: what is wrong is said with what would be right, and
/// nothing begins.
#[test]
fn arguments_that_are_wrong_begin_nothing() {
    let desk = calling(
        "subagents.run",
        &[
            json!({ "agentName": "general", "prompt": "x", "task": "y" }),
            json!({ "agent": "general", "id": "1", "prompt": "x" }),
            json!({ "agent": "", "id": null, "prompt": "x" }),
            json!({ "agent": "general", "prompt": " \n\t" }),
            json!({ "agent": "general" }),
            json!({ "agent": 7, "prompt": "x" }),
            json!({ "agent": 7, "prompt": 7, "model": 7, "task": 7 }),
            json!({ "agent": "generel", "prompt": "x" }),
            json!({ "agent": "general", "prompt": "x", "model": "modle" }),
            json!({ "agent": "general", "prompt": "x", "model": "test:modle" }),
            json!({ "agent": "general", "prompt": "x", "reasoning": "medium" }),
            json!({ "agent": "special", "prompt": "x", "model": "test:model" }),
            json!({ "agent": "special", "prompt": "x", "model": "test:plain" }),
        ],
    );
    insta::assert_snapshot!(outputs(&desk).join("\n"), @"
    there are no arguments `agentName`, `task`; the arguments are `agent`, `id`, `prompt`, `model`, `reasoning`; give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    `agent` and `id` exclude each other: give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    `agent` or `id` is missing: give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    `prompt` is missing: give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    `prompt` is missing: give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    `agent` must be a string; give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    there is no argument `task`; the arguments are `agent`, `id`, `prompt`, `model`, `reasoning`; give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one
    there is no profile `generel`; did you mean `general`? `subagents.models {}` lists all
    the profile `general` cannot run so: expected `provider:alias`, got `modle`
    the profile `general` cannot run so: `test:modle` is not listed; did you mean `test:model`?
    the profile `general` cannot run so: `test:model` does not know the reasoning label `medium`; it knows low, high
    the profile `special` cannot run so: `test:model` does not know the reasoning label `medium`; it knows low, high
    the profile `special` cannot run so: `test:plain` takes no reasoning label
    ");
    assert_eq!(of_children(&desk).len(), 0);
    assert!(!desk.path("data/panto/sessions").join("subagents").exists());
}

/// E-2: what stands for nothing is nothing.
#[test]
fn arguments_that_are_empty_are_not_there() {
    let desk = calling(
        "subagents.run",
        &[json!({ "agent": "general", "id": "", "prompt": "x", "model": null, "reasoning": "" })],
    );
    assert_eq!(results(&desk)[0]["status"], "completed");
}

/// A name may have more bytes than a label, and no character of it is cut in two.
#[test]
fn a_profile_can_have_a_long_name() {
    let name = "é".repeat(40) + &"評".repeat(40);
    let input = json!({ "agent": name, "prompt": "x" });
    let profile = format!("---\nname: {name}\ndescription: d\n---\nLong.\n");
    let desk = calling("subagents.run", &[input]).file("config/panto/agents/long.md", &profile);
    let result = results(&desk).remove(0);
    assert_eq!(result["status"], "completed", "{result}");
}

/// A level that is only inherited is none for a model that takes none.
#[test]
fn a_model_without_levels_can_be_asked() {
    let input = json!({ "agent": "general", "prompt": "x", "model": "test:plain" });
    let desk = calling("subagents.run", &[input]);
    let result = results(&desk).remove(0);
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(result.get("reasoning"), None);
}

/// S0-15 to S0-18, S0-47: the fields of a result.
#[test]
fn a_result_says_what_the_child_was_and_ran_with() {
    let desk = calling(
        "subagents.run",
        &[json!({ "agent": "special", "prompt": "x" })],
    );
    let mut result = results(&desk).remove(0);
    let id = result["id"].take();
    assert!(id.as_str().is_some_and(|id| id.len() == 36));
    assert_eq!(
        result,
        json!({
            "id": null, "agent": "special", "status": "completed", "stop": "end", "output": "Fine.",
            "resumable": true, "model": "test:other", "reasoning": "medium", "usage": {},
        })
    );
}

/// S0-43 to S0-45: the call counts more than the profile, that more than the caller, for the model
/// and for the level each by itself.
#[test]
fn model_and_level_come_from_the_call_then_the_profile_then_the_caller() {
    let mut inputs = Vec::new();
    let mut expected = Vec::new();
    for profile in ["general", "special"] {
        for model in [None, Some("test:free")] {
            for reasoning in [None, Some("high")] {
                let mut input = json!({ "agent": profile, "prompt": "x" });
                if let Some(model) = model {
                    input["model"] = json!(model);
                }
                if let Some(reasoning) = reasoning {
                    input["reasoning"] = json!(reasoning);
                }
                inputs.push(input);
                let (of_profile, level) = match profile {
                    "special" => ("test:other", "medium"),
                    _ => ("test:model", "low"),
                };
                expected.push((model.unwrap_or(of_profile), reasoning.unwrap_or(level)));
            }
        }
    }
    let desk = calling("subagents.run", &inputs);
    let results = results(&desk);
    let said: Vec<_> = results
        .iter()
        .map(|it| {
            (
                it["model"].as_str().unwrap(),
                it["reasoning"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(said, expected);
    // What was asked is what is said.
    let mut asked: Vec<_> = of_children(&desk)
        .iter()
        .map(|it| {
            let model = &it.request.model;
            let level = model.reasoning.clone().unwrap_or_default();
            (model.reference.to_string(), level)
        })
        .collect();
    asked.sort();
    let mut expected: Vec<_> = expected
        .iter()
        .map(|(model, level)| ((*model).to_owned(), (*level).to_owned()))
        .collect();
    expected.sort();
    assert_eq!(asked, expected);
}

fn texts(request: &RecordedRequest) -> Vec<(Role, String)> {
    let messages = request.request.conversation.messages().iter();
    messages
        .map(|message| (message.role, message.text()))
        .collect()
}

/// S0-4, S0-5, S0-50 to S0-53, S0-57, S0-157: what a child is shown, and what its siblings are: the
/// same up to where they differ, so that what a provider has cached of one serves all.
#[test]
fn a_child_is_shown_context_role_profile_and_task() {
    let desk = calling(
        "subagents.run",
        &[
            json!({ "agent": "special", "prompt": "Task one." }),
            json!({ "agent": "special", "prompt": "Task two." }),
            json!({ "agent": "narrow", "prompt": "Task three." }),
        ],
    );
    outputs(&desk);
    let children = of_children(&desk);
    let shown: Vec<_> = children.iter().map(texts).collect();
    let of = |task: &str| {
        let at = shown.iter().position(|it| it[3].1 == task).unwrap();
        (&shown[at], &children[at])
    };
    let (one, first) = of("Task one.");
    let roles: Vec<_> = one.iter().map(|(role, _)| *role).collect();
    assert_eq!(
        roles,
        [Role::System, Role::System, Role::System, Role::User]
    );
    assert!(one[0].1.starts_with("BASE"), "{}", one[0].1);
    assert!(one[1].1.starts_with(CHILD));
    assert_eq!(one[2].1, "You are special.");
    assert!(
        !one.iter()
            .any(|(_, text)| text.contains("go") && text.len() < 4)
    );
    assert_eq!(first.request.system_prompt, None);

    let (two, second) = of("Task two.");
    assert_eq!(one[..3], two[..3]);
    let tools = |request: &RecordedRequest| format!("{:?}", request.request.tools);
    assert_eq!(tools(first), tools(second));
    let (three, third) = of("Task three.");
    assert_eq!(one[..2], three[..2]);

    let names = |request: &RecordedRequest| -> Vec<String> {
        let tools = request.request.tools.iter();
        tools.map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(
        names(first),
        ["edit", "find", "grep", "ls", "read", "shell", "write"]
    );
    assert_eq!(names(third), ["read"]);
    assert_eq!(first.request.label.as_deref(), Some("special"));
}

/// What a session has said, a message each.
fn of_session(live: &panto_host::compose::LiveSession) -> Vec<Message> {
    let conversation = live.handle.agent().conversation();
    conversation
        .messages()
        .iter()
        .map(|it| (**it).clone())
        .collect()
}

/// S0-48, S0-49, S0-53, S0-56, E-5: a child goes on with what it had, an override counts from then
/// on, and what has changed under it is told.
#[test]
fn a_child_goes_on_as_it_was() {
    let go_on = |id: &str, extra: Value| {
        let mut input = json!({ "id": id, "prompt": "More." });
        input
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        Call::new("subagents.run", input)
    };
    // The id is known only when the child has begun, so each round is a session's turn of its own.
    let script = |id: &str| {
        Script::new()
            .step(Step::text("Fine.").when_system(CHILD).repeated())
            .step(
                Step::call(
                    "subagents.run",
                    json!({ "agent": "special", "prompt": "Begin." }),
                )
                .when_last("begin")
                .when_last_role(Role::User),
            )
            .step(
                Step::new()
                    .then(go_on(id, json!({})))
                    .when_last("plain")
                    .when_last_role(Role::User),
            )
            .step(
                Step::new()
                    .then(go_on(
                        id,
                        json!({ "model": "test:free", "reasoning": "max" }),
                    ))
                    .when_last("override")
                    .when_last_role(Role::User),
            )
            .step(
                Step::new()
                    .then(go_on(id, json!({})))
                    .when_last("again")
                    .when_last_role(Role::User),
            )
            .step(Step::text("Done.").repeated())
    };
    let desk = with_config(script("none"), CONFIG).file("config/panto/agents/special.md", PROFILE);
    let result = |messages: Vec<Message>| -> Value {
        let last = messages
            .iter()
            .rev()
            .find(|it| it.role == Role::Tool)
            .unwrap();
        serde_json::from_str(&last.tool_results().next().unwrap().output()).unwrap()
    };
    let (begun, primary) = desk.run(async |_, mut live| {
        ask(&mut live, "begin").await;
        let begun = result(of_session(&live));
        let primary = live.handle.agent().session_id();
        live.end().await;
        (begun, primary)
    });
    let id = begun["id"].as_str().unwrap();

    // Another process goes on, after the profile was edited.
    let desk = desk.playing(script(id)).file(
        "config/panto/agents/special.md",
        "---\ndescription: Edited.\nmodel: test:model\nreasoning: high\n---\nYou are edited.\n",
    );
    let rounds = desk.run_on(primary, async |_, mut live| {
        let mut rounds = Vec::new();
        for prompt in ["plain", "override", "again"] {
            ask(&mut live, prompt).await;
            rounds.push(result(of_session(&live)));
        }
        live.end().await;
        rounds
    });
    let ran_with: Vec<_> = rounds
        .iter()
        .map(|it| format!("{}/{} {}", it["model"], it["reasoning"], it["status"]))
        .collect();
    assert_eq!(
        ran_with,
        [
            "\"test:other\"/\"medium\" \"completed\"",
            "\"test:free\"/\"max\" \"completed\"",
            "\"test:free\"/\"max\" \"completed\""
        ]
    );
    for round in &rounds {
        assert_eq!(round["id"], begun["id"]);
        assert_eq!(
            round["notices"],
            json!(["the profile `special` has changed; the child keeps what it began with"])
        );
    }
    // It was shown its own profile, and all that it had said.
    let requests = of_children(&desk);
    let shown = texts(requests.last().unwrap());
    let said: Vec<_> = shown[2..].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        said,
        [
            "You are special.",
            "Begin.",
            "Fine.",
            "More.",
            "Fine.",
            "More.",
            "Fine.",
            "More."
        ]
    );
    let stamps: Vec<_> = requests
        .last()
        .unwrap()
        .request
        .conversation
        .messages()
        .iter()
        .filter(|message| message.role == Role::User)
        .map(|message| message.metadata["subagents"]["model"].clone())
        .collect();
    assert_eq!(
        stamps,
        ["test:other", "test:other", "test:free", "test:free"]
    );
}

/// S0-26 to S0-33, E-12, failures 105: what the query tool says, bounded.
#[test]
fn models_are_told_when_they_are_asked_for() {
    let desk = calling(
        "subagents.models",
        &[
            json!({}),
            json!({ "provider": "test", "limit": 2 }),
            json!({ "query": "free" }),
            json!({ "limit": 1000 }),
            json!({ "model": "test:other" }),
            json!({ "model": "test:plain" }),
            json!({ "model": "test:free" }),
            json!({ "agent": "special" }),
            json!({ "agent": "specal" }),
            json!({ "model": "test:othr" }),
            json!({ "models": "x" }),
            json!({ "model": "test:other", "query": "x" }),
            json!({ "limit": "2", "provider": "test" }),
            json!({ "limit": 2.5 }),
        ],
    );
    let outputs = outputs(&desk);
    let overview: Value = serde_json::from_str(&outputs[0]).unwrap();
    assert_eq!(
        overview["inherited"],
        json!({ "model": "test:model", "reasoning": "low" })
    );
    assert_eq!(
        overview["providers"],
        json!([{ "name": "test", "models": 4, "usable": true }])
    );
    let names: Vec<_> = overview["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "general",
            "narrow",
            "planner",
            "researcher",
            "reviewer",
            "special"
        ]
    );
    insta::assert_snapshot!(outputs[1..].join("\n"), @r#"
    {"models":[{"model":"test:free"},{"model":"test:model","reasoning_levels":["low","high"]}],"more":"2 more match; narrow `query`"}
    {"models":[{"model":"test:free"}]}
    {"models":[{"model":"test:free"},{"model":"test:model","reasoning_levels":["low","high"]},{"model":"test:other","reasoning_levels":["low","medium","high"]},{"model":"test:plain","reasoning_levels":[]}]}
    {"default_reasoning":"low","model":"test:other","reasoning_levels":["low","medium","high"]}
    {"model":"test:plain","reasoning_levels":[]}
    {"default_reasoning":"low","model":"test:free","note":"which reasoning levels it knows is not recorded; any is passed on"}
    {"agent":"special","default_reasoning":"medium","description":"Has its own.","model":"test:other","reasoning_levels":["low","medium","high"]}
    there is no profile `specal`; did you mean `special`? `subagents.models {}` lists all
    `test:othr` is not listed; did you mean `test:other`?
    there is no argument `models`; the arguments are `provider`, `query`, `limit`, `model`, `agent`
    give `model`, or `agent`, or words to search for: one of them
    {"models":[{"model":"test:free"},{"model":"test:model","reasoning_levels":["low","high"]}],"more":"2 more match; narrow `query`"}
    `limit` must be a whole number
    "#);
}

/// A profile that a session finds broken while it runs is told of, whichever call finds it.
#[test]
fn what_is_wrong_with_a_new_profile_is_told_when_models_are_asked_for() {
    let desk = calling("subagents.models", &[json!({})]);
    let file = desk.path("config/panto/agents/broken.md");
    desk.run(async |_, mut live| {
        fs::write(&file, "---\nname: broken\ntools: {}\n---\nBroken.\n").unwrap();
        ask(&mut live, "go").await;
        live.end().await;
    });
    let said = desk.said().join("\n");
    assert!(said.contains("broken.md"), "{said}");
}

/// S0-32, S0-39: the description has names and descriptions, bounded, and nothing of the catalog.
#[test]
fn the_description_lists_profiles_and_stays_small() {
    let mut desk = calling("subagents.models", &[json!({})]);
    for i in 0..40 {
        let text = format!(
            "---\nname: 'p{i:02}\"'\ndescription: {}\n---\nSecret body.\n",
            "long words ".repeat(60)
        );
        desk = desk.file(&format!("config/panto/agents/p{i:02}.md"), text);
    }
    let overview: Value = serde_json::from_str(&outputs(&desk)[0]).unwrap();
    assert_eq!(overview["profiles"].as_array().unwrap().len(), 46);
    let first = desk.protocol.requests().remove(0);
    let tool = first
        .request
        .tools
        .iter()
        .find(|tool| tool.name.as_str() == "subagents.run");
    let tool = tool.unwrap();
    let (_, list) = tool.description.split_once("not instructions):\n").unwrap();
    assert!(list.len() <= 4096, "{}", list.len());
    assert!(list.contains("- \"p00\\\"\": long words"), "{list}");
    assert!(
        list.ends_with(" more: subagents.models {} lists all"),
        "{list}"
    );
    assert!(list.lines().all(|line| line.len() < 230));
    let all = format!(
        "{}{}",
        tool.description,
        serde_json::to_string(&tool.schema).unwrap()
    );
    assert!(!all.contains("Secret body") && !all.contains("test:other"));
    // Flat, as every provider takes it.
    let schema = serde_json::to_value(&tool.schema).unwrap();
    for keyword in ["oneOf", "anyOf", "allOf", "$ref"] {
        assert_eq!(schema.get(keyword), None);
    }
}
