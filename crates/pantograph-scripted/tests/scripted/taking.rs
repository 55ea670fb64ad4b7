//! Answers with pieces of what was asked.

use std::time::Duration;

use pantograph::{Role, ToolStatus};
use pantograph_scripted::{Call, Script, ScriptedProtocol, Step, Take, Text, Thinking};
use serde_json::json;

use crate::support::{answer, ask, assistant, calls, request, result, system, user};

/// What a step answers to two results, of the calls `a` and `b`.
async fn answer_to(step: Step, a: &str, b: &str) -> String {
    let results = vec![
        result("a", ToolStatus::Ok, a),
        result("b", ToolStatus::Error, b),
    ];
    let protocol = ScriptedProtocol::new(Script::new().step(step));
    let asked = request([
        user("go"),
        calls([("a", "list", "{}"), ("b", "list", "{}")]),
        (Role::Tool, results),
        system("id: not here"),
    ]);
    answer(&protocol, asked).await
}

#[tokio::test]
async fn a_piece_is_played_where_its_name_stands() {
    let id = Take::new().after("id: ").until("\n");
    let step = Step::from(Thinking::new("Which? {id}."))
        .then("{id}, {ID}, { id }, {id and {id}")
        .then(Call::new("list", json!({ "path": "{id}" })))
        .then(Call::with_raw_input("list", "{id}"))
        .taking("id", id);
    insta::assert_snapshot!(answer_to(step, "none", "one\nid: 4\"2\nid: 7").await, @r#"
    0 thinking "Which? 4\"2."
    0 end
    1 text "4\"2, {ID}, { id }, {id and 4\"2"
    1 end
    2 call call_1 list
    2 input {"path":"4\"2"}
    2 end
    3 call call_2 list
    3 input 4"2
    3 end
    done tool_calls
    (over)
    "#);
}

#[tokio::test]
async fn a_piece_may_be_of_one_result_to_its_end_or_all() {
    let step = Step::text("{all}|{b}|{end}")
        .taking("all", Take::new())
        .taking("b", Take::new().result("b").until("-"))
        .taking("end", Take::new().after("x").until("nowhere"));
    insta::assert_snapshot!(answer_to(step, "{b}", "b-1x2x3").await, @r#"
    0 text "{b}|b|2x3"
    0 end
    done end
    (over)
    "#);
}

#[tokio::test]
async fn a_result_is_found_where_it_stands() {
    let results = |id| (Role::Tool, vec![result(id, ToolStatus::Ok, "id: 5")]);
    let asked = request([
        user("go"),
        calls([("a", "list", "{}")]),
        results("a"),
        assistant("done"),
        user("and now?"),
    ]);
    let step = Step::text("{id}").taking("id", Take::new().result("a").after("id: "));
    let protocol = ScriptedProtocol::new(Script::new().step(step));
    let played = answer(&protocol, asked).await;
    assert_eq!(played, "0 text \"5\"\n0 end\ndone end\n(over)");
}

#[tokio::test]
async fn a_step_that_finds_nothing_is_not_meant() {
    let step = || Step::text("{id}").taking("id", Take::new().result("a").after("id: "));
    let refused = answer_to(step(), "none", "id: 1").await;
    assert!(
        refused.contains("there is nothing to take for `id`"),
        "{refused}"
    );
    let script = Script::new().step(step()).step("else");
    let protocol = ScriptedProtocol::new(script);
    let played = answer(&protocol, ask("id: 1")).await;
    assert_eq!(played, "0 text \"else\"\n0 end\ndone end\n(over)");
}

#[tokio::test]
async fn what_was_taken_is_cut_into_deltas_too() {
    let step = Step::from(Text::new("{all}!").chunks(2)).taking("all", Take::new());
    insta::assert_snapshot!(answer_to(step, "abcde", "").await, @r#"
    0 text "abc"
    0 text "de!"
    0 end
    done end
    (over)
    "#);
}

#[tokio::test(start_paused = true)]
async fn an_unpaced_script_waits_only_where_it_says_so() {
    let step = Step::from(Text::new("abc").chunks(3).pace(Duration::from_secs(5)))
        .then(Duration::from_secs(1))
        .then(
            Call::new("list", json!({}))
                .chunks(2)
                .pace(Duration::from_secs(5)),
        );
    let script = Script::new().step(step);
    for (script, seconds) in [(script.clone(), 16), (script.unpaced(), 1)] {
        let begin = tokio::time::Instant::now();
        answer(&ScriptedProtocol::new(script), ask("go")).await;
        assert_eq!(begin.elapsed().as_secs(), seconds);
    }
}
