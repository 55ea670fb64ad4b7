//! Which requests are refused, and in which words.

use std::sync::Arc;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{Block, Conversation, Role, ToolSet, ToolStatus};
use pantograph_scripted::{RequestCheck, Script, ScriptedProtocol, check_request};

use crate::support::{answer, assistant, calls, message, request, result, results, system, user};

/// What is wrong with a conversation.
fn problem(messages: impl IntoIterator<Item = (Role, Vec<Block>)>) -> String {
    verdict(&request(messages))
}

fn verdict(request: &Request) -> String {
    match check_request(request) {
        Ok(()) => "valid".to_owned(),
        Err(invalid) => invalid.problem().to_string(),
    }
}

#[test]
fn ordinary_conversations_are_valid() {
    let two = || calls([("a", "read", "{\"path\":\"x\"}"), ("b", "list", "{}")]);
    let conversations = [
        vec![user("hi")],
        vec![user("hi"), user("there")],
        vec![system("s"), user("hi"), system("t")],
        vec![user("hi"), assistant("yes"), system("s"), user("go")],
        vec![user("hi"), two(), results(["a", "b"])],
        vec![user("hi"), two(), results(["a", "b"]), user("and?")],
        vec![
            user("hi"),
            two(),
            results(["a", "b"]),
            assistant("so"),
            user("ok"),
        ],
        vec![user("hi"), calls([("a", "list", "")]), results(["a"])],
        vec![user("hi"), calls([("a", "list", " null ")]), results(["a"])],
    ];
    for conversation in conversations {
        assert_eq!(problem(conversation.clone()), "valid", "{conversation:?}");
    }
}

#[test]
fn broken_conversations_are_refused() {
    let one = || calls([("a", "list", "{}")]);
    let two = || calls([("a", "list", "{}"), ("b", "list", "{}")]);
    let tool = |id, status| (Role::Tool, vec![result(id, status, "x")]);
    let text = Block::text("x");
    let verdicts = [
        problem([]),
        problem([system("s")]),
        problem([user("")]),
        problem([user("x"), (Role::Assistant, vec![]), user("y")]),
        problem([assistant("x"), user("y")]),
        problem([system("s"), results(["a"]), user("y")]),
        problem([user("x"), assistant("y"), assistant("z"), user("u")]),
        problem([
            user("x"),
            assistant("y"),
            system("s"),
            assistant("z"),
            user("u"),
        ]),
        problem([user("x"), assistant("y")]),
        problem([user("x"), assistant("y"), system("s")]),
        problem([user("x"), results(["a"])]),
        problem([user("x"), one()]),
        problem([user("x"), one(), user("y")]),
        problem([user("x"), one(), user("y"), results(["a"])]),
        problem([user("x"), one(), system("y"), results(["a"])]),
        problem([user("x"), two(), results(["a"])]),
        problem([user("x"), two(), results(["a"]), results(["b"])]),
        problem([user("x"), one(), results(["a"]), results(["a"])]),
        problem([user("x"), two(), results(["b", "a"])]),
        problem([user("x"), one(), results(["a", "a"])]),
        problem([user("x"), one(), results(["z", "a"])]),
        problem([user("x"), one(), results(["a", "z"])]),
        problem([user("x"), assistant("y"), results(["a"])]),
        problem([
            user("x"),
            calls([("a", "list", ""), ("a", "list", "")]),
            results(["a"]),
        ]),
        problem([user("x"), one(), results(["a"]), one(), results(["a"])]),
        problem([
            user("x"),
            (Role::User, vec![result("a", ToolStatus::Ok, "x")]),
        ]),
        problem([
            user("x"),
            one(),
            (Role::Tool, vec![result("a", ToolStatus::Ok, "x"), text]),
        ]),
        problem([(Role::User, calls([("a", "list", "")]).1)]),
        problem([user("x"), calls([("a", "read", "")]), results(["a"])]),
        problem([user("x"), calls([("a", "read", "null")]), results(["a"])]),
        problem([user("x"), calls([("a", "list", "[]")]), results(["a"])]),
        problem([user("x"), calls([("a", "list", "{\"a\":")]), results(["a"])]),
        problem([
            user("x"),
            calls([("a", "list", "{\"a\":")]),
            tool("a", ToolStatus::Error),
        ]),
        problem([user("x"), calls([("a", "gone", "{}")]), results(["a"])]),
        problem([
            user("x"),
            calls([("a", "gone", "{}")]),
            tool("a", ToolStatus::Cancelled),
        ]),
    ];
    insta::assert_snapshot!(verdicts.join("\n"), @r#"
    there is no message to answer
    there is no message to answer
    message 0 is empty
    message 1 is empty
    message 0: the conversation begins with assistant, not with user
    message 1: the conversation begins with tool, not with user
    message 2: an assistant message follows another
    message 3: an assistant message follows another
    the conversation ends with an assistant message, so there is nothing to answer
    the conversation ends with an assistant message, so there is nothing to answer
    message 1: a tool message follows a user message, not an assistant message
    message 1: the call `a` has no result
    message 1: the call `a` has no result
    message 3: the result of the call `a` is not right after its message
    message 3: the result of the call `a` is not right after its message
    message 1: the call `b` has no result
    message 3: a second tool message for one assistant message
    message 3: a second tool message for one assistant message
    message 2: the result of the call `a` is not at its call's place
    message 2: the call `a` has two results
    message 2: the result `z` answers no call of the message before
    message 2: the result `z` answers no call of the message before
    message 2: the result `a` answers no call of the message before
    message 1: the id of the call `a` was used before
    message 3: the id of the call `a` was used before
    message 1 (user) has a tool result
    message 2 (tool) has something other than tool results
    message 0 (user) has a tool call
    message 1: the call `a` succeeded, but has no input, but must have path
    message 1: the call `a` succeeded, but has no input, but must have path
    message 1: the call `a` succeeded, but has an input that is not an object
    message 1: the call `a` succeeded, but has an input that is not JSON (EOF while parsing a value at line 1 column 5)
    valid
    message 1: the call `a` succeeded, but the tool `gone` is not declared
    valid
    "#);
}

#[test]
fn a_message_that_is_there_twice_is_refused() {
    let mut twice = request([user("x")]);
    let message = Arc::new(message(7, Role::User, vec![Block::text("again")]));
    twice.conversation = Conversation::from_parts(vec![Arc::clone(&message), message], None);
    assert_eq!(verdict(&twice), "message 1 is there twice (`m7`)");
}

#[test]
fn a_choice_needs_a_tool() {
    let mut chosen = request([user("x")]);
    chosen.tool_choice = ToolChoice::Named("list".to_owned());
    assert_eq!(verdict(&chosen), "valid");
    chosen.tool_choice = ToolChoice::Named("gone".to_owned());
    assert_eq!(
        verdict(&chosen),
        "the tool choice names `gone`, which is not declared"
    );
    chosen.tools = ToolSet::default();
    chosen.tool_choice = ToolChoice::Required;
    assert_eq!(
        verdict(&chosen),
        "the tool choice requires a call, but no tool is declared"
    );
    chosen.tool_choice = ToolChoice::None;
    assert_eq!(verdict(&chosen), "valid");
}

#[test]
fn a_compaction_may_end_with_an_answer_and_leave_the_tools_out() {
    let mut compaction = request([
        user("x"),
        calls([("a", "list", "{}")]),
        results(["a"]),
        assistant("y"),
    ]);
    compaction.tools = ToolSet::default();
    compaction.purpose = Purpose::Compaction;
    assert_eq!(verdict(&compaction), "valid");
}

#[tokio::test]
async fn removed_tools_are_accepted_where_that_is_said() {
    let gone = || request([user("x"), calls([("a", "gone", "{}")]), results(["a"])]);
    assert!(RequestCheck::new().check(&gone()).is_err());
    assert!(
        RequestCheck::new()
            .allow_removed_tools()
            .check(&gone())
            .is_ok()
    );
    let bad_input = request([user("x"), calls([("a", "gone", "7")]), results(["a"])]);
    assert!(
        RequestCheck::new()
            .allow_removed_tools()
            .check(&bad_input)
            .is_err()
    );

    let script = Script::new().step("ok").allow_removed_tools();
    let played = answer(&ScriptedProtocol::new(script), gone()).await;
    assert_eq!(played, "0 text \"ok\"\n0 end\ndone end\n(over)");
}

#[tokio::test]
async fn a_refusal_shows_the_conversation_around_the_problem() {
    let mut history = vec![system("Be kind.")];
    for number in 0..20 {
        history.push(user(&format!(
            "question {number}, {}",
            "very long ".repeat(20)
        )));
        history.push(assistant("answer"));
    }
    history.insert(22, calls([("a", "read", "{\"path\":\"x\"}")]));
    history.push(user("last"));
    let mut broken = request(history);
    broken.system_prompt = Some("You are\na test.".into());
    let protocol = ScriptedProtocol::new(Script::new().step("never"));
    insta::assert_snapshot!(answer(&protocol, broken).await, @r#"
    not opened: error invalid_request: invalid request: message 22: the call `a` has no result
    turn test:model
    prompt: You are
        a test.
    tools: read, list
      … 16 messages …
      16 assistant: answer
      17 user: question 8, very long very long very long very long very long very long very lon… (212 bytes)
      18 assistant: answer
      19 user: question 9, very long very long very long very long very long very long very lon… (212 bytes)
      20 assistant: answer
      21 user: question 10, very long very long very long very long very long very long very lo… (213 bytes)
    > 22 assistant: (call a) read {"path":"x"}
      23 assistant: answer
      24 user: question 11, very long very long very long very long very long very long very lo… (213 bytes)
      25 assistant: answer
      … 13 messages …
      39 assistant: answer
      40 user: question 19, very long very long very long very long very long very long very lo… (213 bytes)
      41 assistant: answer
      42 user: last
    "#);
}
