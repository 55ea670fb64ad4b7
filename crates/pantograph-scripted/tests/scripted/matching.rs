//! Which step answers which request.

use std::sync::Arc;

use pantograph::protocol::{Purpose, Request};
use pantograph::{Model, ModelRef, Role};
use pantograph_scripted::{Script, ScriptedProtocol, Step, Take};

use crate::support::{answer, ask, calls, request, results, system, user};

/// The positions of the steps that answered, or `None` where the request was refused.
async fn answered(script: Script, requests: Vec<Request>) -> Vec<Option<usize>> {
    let protocol = ScriptedProtocol::new(script);
    for request in requests {
        answer(&protocol, request).await;
    }
    let recorded = protocol.requests();
    recorded.iter().map(|request| request.step).collect()
}

#[tokio::test]
async fn the_first_unused_step_that_matches_is_played() {
    let script = Script::new()
        .step(Step::text("1").when_last("b"))
        .step(Step::text("2").when_last("a"))
        .step(Step::text("3"))
        .step(Step::text("4").when_last("a").repeated())
        .step(Step::text("5"));
    let requests = ["a", "a", "a", "a", "b", "c", "c"].map(ask).to_vec();
    assert_eq!(
        answered(script, requests).await,
        [Some(1), Some(2), Some(3), Some(3), Some(0), Some(4), None]
    );
}

#[tokio::test]
async fn every_condition_must_hold() {
    let conditions = [
        Step::new().when_last("look"),
        Step::new().when_asked("look"),
        Step::new().when_last_role(Role::User),
        Step::new().when_system("careful"),
        Step::new().when_system("added later"),
        Step::new().when_label("child"),
        Step::new().when_model("small"),
        Step::new().when_purpose(Purpose::Compaction),
    ];
    let mut all = Step::new();
    all = all
        .when_last("look")
        .when_asked("look")
        .when_last_role(Role::User)
        .when_system("careful")
        .when_label("child")
        .when_model("small")
        .when_purpose(Purpose::Compaction);

    let mut meant = request([user("look at it"), system("added later")]);
    meant.system_prompt = Some("Be careful.".into());
    meant.label = Some("child".into());
    meant.model = Arc::new(Model::new(ModelRef::parse("p:small").unwrap()));
    meant.purpose = Purpose::Compaction;
    for step in conditions.iter().cloned().chain([all.clone()]) {
        let script = Script::new().step(step.clone());
        assert_eq!(
            answered(script, vec![meant.clone()]).await,
            [Some(0)],
            "{step:?}"
        );
    }

    let history = [user("go"), calls([("a", "list", "{}")]), results(["a"])];
    for step in conditions.into_iter().chain([all]) {
        let script = Script::new().step(step.clone());
        let other = request(history.clone());
        assert_eq!(answered(script, vec![other]).await, [None], "{step:?}");
    }
}

#[tokio::test]
async fn the_output_of_a_tool_counts_as_the_last_message() {
    let script = Script::new().step(Step::text("x").when_last("output of a"));
    let history = request([user("go"), calls([("a", "list", "{}")]), results(["a"])]);
    assert_eq!(answered(script, vec![history]).await, [Some(0)]);
}

#[tokio::test]
async fn what_was_asked_holds_for_the_whole_turn() {
    let script = Script::new().step(Step::text("x").when_asked("go"));
    let history = [user("go"), calls([("a", "list", "{}")]), results(["a"])];
    assert_eq!(
        answered(script.clone(), vec![request(history.clone())]).await,
        [Some(0)]
    );
    let later = history.into_iter().chain([user("and now?")]);
    assert_eq!(answered(script, vec![request(later)]).await, [None]);
}

#[tokio::test]
async fn a_request_that_no_step_answers_hears_why() {
    let script = Script::new()
        .step("used up")
        .step(Step::text("a").when_last("other\nlines"))
        .step(Step::text("b").when_last_role(Role::Tool))
        .step(Step::text("c").when_system("careful"))
        .step(Step::text("d").when_label("child"))
        .step(Step::text("e").when_model("small"))
        .step(Step::text("f").when_purpose(Purpose::Compaction))
        .step(Step::text("g").when_asked("look"))
        .step(Step::text("h {id}").taking("id", Take::new().after("id: ")));
    let protocol = ScriptedProtocol::new(script);
    answer(&protocol, ask("first")).await;
    insta::assert_snapshot!(answer(&protocol, ask("second")).await, @r#"
    not opened: error invalid_request: none of the 8 steps that are left (of 9) answers this
      step 2: the last message does not contain `other\nlines`
      step 3: `last_role` is tool, but the last one is user
      step 4: no system prompt or message contains `careful`
      step 5: `label` is `child`, the request's none
      step 6: `model` is `small`, the request's `model`
      step 7: `purpose` is compaction, the request's turn
      step 8: the last user message does not contain `look`
      step 9: there is nothing to take for `id`
    the request was:
    turn test:model
    tools: read, list
      0 user: second
    "#);

    let empty = ScriptedProtocol::new(Script::new());
    insta::assert_snapshot!(answer(&empty, ask("anything")).await, @r#"
    not opened: error invalid_request: the script has no steps
    the request was:
    turn test:model
    tools: read, list
      0 user: anything
    "#);
}
