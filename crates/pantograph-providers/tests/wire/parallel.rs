//! Several calls of one answer whose pieces alternate, through a whole agent: the core refuses
//! more of a block that has ended.

use pantograph::{Event, StopReason};

use crate::agent::{agent, run, shown};
use crate::openai_chat::CALLS;
use crate::party::Party;
use crate::support::server::{Script, Server};

/// Text and two calls, a piece of each in turn, as far as the protocol can.
fn alternating(party: Party) -> String {
    let data: &[&str] = match party {
        Party::Anthropic => &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Reading"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"files__read","input":{}}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"files__read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"partial_json":"{\"path\": "}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"partial_json":"{\"path\":\""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"text":" both."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"partial_json":"\"\\u00e9\"}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"partial_json":"b\"  }"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Party::Responses => &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Reading"}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"a","name":"files__read","arguments":""}}"#,
            r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"g","call_id":"b","name":"files__read","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"path\": "}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"path\":\""}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":" both."}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"\"\\u00e9\"}"}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"a","name":"files__read","arguments":"{\"path\": \"\\u00e9\"}"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"b\"  }"}"#,
            r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"g","call_id":"b","name":"files__read","arguments":"{\"path\":\"b\"  }"}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Reading both."}]}}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        Party::Chat => &[
            r#"{"choices":[{"delta":{"content":"Reading both."}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"files__read","arguments":""}},{"index":1,"id":"b","function":{"name":"files__read","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": "}},{"index":1,"function":{"arguments":"{\"path\":\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"b\"  }"}},{"index":0,"function":{"arguments":"\"\\u00e9\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        Party::Google => &[
            r#"{"candidates":[{"content":{"parts":[{"text":"Reading"},{"text":" both."},{"functionCall":{"id":"a","name":"files__read","args":{"path": "\u00e9"}}},{"functionCall":{"id":"b","name":"files__read","args":{"path":"b"  }}}]}}]}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ],
    };
    events(data)
}

fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

#[tokio::test]
async fn calls_whose_pieces_alternate_all_run_in_the_order_in_which_they_began() {
    for party in Party::ALL {
        let server = Server::start([
            Script::events(&alternating(party)),
            Script::events(&party.answer("Done.", None)),
        ])
        .await;
        let agent = agent(party, &server);
        let (names, outcome) = run(&agent).await;
        assert_eq!(outcome.stop, StopReason::End, "{party:?}: {outcome:?}");
        let completed = names.iter().filter(|name| **name == "tool_call_complete");
        assert_eq!(completed.count(), 2, "{party:?}: {names:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&agent.conversation()), @r#"
            user: "Read it."
            assistant: "Reading both.", a files.read({"path": "\u00e9"}), b files.read({"path":"b"  })
            tool: a ok: ran with {"path": "\u00e9"}, b ok: ran with {"path":"b"  }
            assistant: "Done."
            "#);
        }
    }
}

#[tokio::test]
async fn calls_run_however_a_server_numbers_them() {
    for (name, deltas) in CALLS {
        let mut data: Vec<String> = deltas
            .iter()
            .map(|delta| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#))
            .collect();
        data.push(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.into());
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        let server = Server::start([
            Script::events(&events(&data)),
            Script::events(&Party::Chat.answer("Done.", None)),
        ])
        .await;
        let agent = agent(Party::Chat, &server);
        let (_, outcome) = run(&agent).await;
        assert_eq!(outcome.stop, StopReason::End, "{name}: {outcome:?}");
        assert_eq!(outcome.text.as_deref(), Some("Done."), "{name}");
    }
}

#[tokio::test]
async fn blocks_of_one_number_are_blocks_of_their_own() {
    let answer = events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Reading."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"files__read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"partial_json":"{\"path\":\"a\"}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let again = Script::events(&Party::Anthropic.answer("Done.", None));
    let server = Server::start([Script::events(&answer), again]).await;
    let agent = agent(Party::Anthropic, &server);
    let (_, outcome) = run(&agent).await;
    assert_eq!(outcome.stop, StopReason::End, "{outcome:?}");
    insta::assert_snapshot!(shown(&agent.conversation()), @r#"
    user: "Read it."
    assistant: "Reading.", a files.read({"path":"a"})
    tool: a ok: ran with {"path":"a"}
    assistant: "Done."
    "#);
}

#[tokio::test]
async fn only_calls_that_the_limit_did_not_cut_run() {
    let data = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"files__read","arguments":"{\"path\":"}},{"index":1,"id":"b","function":{"name":"files__read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":2,"id":"c","function":{"name":"files__read","arguments":"{\"path\":"}},{"index":1,"function":{"arguments":"{\"path\":\"b\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":3,"id":"d","function":{"name":"files__read"}}]},"finish_reason":"length"}]}"#,
    ];
    let server = Server::start([
        Script::events(&events(&data)),
        Script::events(&Party::Chat.answer("Done.", None)),
    ])
    .await;
    let agent = agent(Party::Chat, &server);
    let mut turn = agent.run("Read it.").unwrap();
    let mut completed = Vec::new();
    while let Some(event) = turn.next().await {
        if let Event::ToolCallComplete { id, .. } = event {
            completed.push(id.to_string());
        }
    }
    assert_eq!(completed, ["b"]);
    insta::assert_snapshot!(shown(&agent.conversation()), @r#"
    user: "Read it."
    assistant: a files.read({"path":), b files.read({"path":"b"}), c files.read({"path":), d files.read()
    tool: a error: the output limit cut the input of `files.read` after 8 bytes, at `{"path":`; the call was not run
    expected one JSON object with these keys: `path` (required), `limit`
    call again with a shorter input, or split the work over several calls, b ok: ran with {"path":"b"}, c error: the output limit cut the input of `files.read` after 8 bytes, at `{"path":`; the call was not run
    expected one JSON object with these keys: `path` (required), `limit`
    call again with a shorter input, or split the work over several calls, d error: the output limit cut the input of `files.read` after 0 bytes, at ``; the call was not run
    expected one JSON object with these keys: `path` (required), `limit`
    call again with a shorter input, or split the work over several calls
    assistant: "Done."
    "#);
}
