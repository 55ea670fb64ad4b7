use std::sync::Arc;

use pantograph::Event;

use super::*;

fn text(index: u32, delta: &str) -> Event {
    Event::AssistantTextDelta {
        index,
        delta: delta.to_owned(),
    }
}

fn output(id: &str, delta: &str) -> Event {
    Event::ToolOutputDelta {
        id: Arc::from(id),
        tool_name: Arc::from("shell"),
        delta: delta.to_owned(),
    }
}

fn shown(buffer: &mut Buffer) -> String {
    let mut lines = Vec::new();
    while let Some(buffered) = buffer.pop() {
        lines.push(match &buffered.event {
            Event::AssistantTextDelta { index, delta } => format!("{index} {delta}"),
            Event::ToolOutputDelta { id, delta, .. } => format!("{id} {delta}"),
            event => event.name().to_owned(),
        });
    }
    lines.join("\n")
}

#[test]
fn deltas_of_one_block_merge_and_nothing_overtakes() {
    let mut buffer = Buffer::default();
    let mut news = Vec::new();
    for event in [
        Event::AssistantText { index: 0 },
        text(0, "a"),
        text(0, "b"),
        text(1, "x"),
        text(0, "c"),
        Event::Tool { index: 2 },
        text(1, "y"),
        output("c1", "1"),
        output("c2", "2"),
        output("c1", "3"),
        text(1, "z"),
    ] {
        news.push(buffer.push(event));
    }
    let expected = [
        true, true, false, true, false, true, true, true, true, false, false,
    ];
    assert_eq!(news, expected);
    insta::assert_snapshot!(shown(&mut buffer), @"
    assistant_text
    0 abc
    1 x
    tool
    1 yz
    c1 13
    c2 2
    ");
}

#[test]
fn a_delta_that_was_read_is_not_added_to() {
    let mut buffer = Buffer::default();
    assert!(buffer.push(text(0, "a")));
    assert!(buffer.pop().is_some());
    assert!(buffer.push(text(0, "b")));
    assert!(!buffer.push(text(0, "c")));
    assert!(buffer.push(text(1, "x")));
    assert!(buffer.pop().is_some());
    assert!(!buffer.push(text(1, "y")));
    assert!(buffer.push(text(0, "d")));
    insta::assert_snapshot!(shown(&mut buffer), @"
    1 xy
    0 d
    ");
}

#[test]
fn unread_output_beyond_the_limit_is_counted_not_kept() {
    let mut buffer = Buffer::default();
    let chunk = "é".repeat(MAX_OUTPUT / 2 / 3 + 1);
    for _ in 0..5 {
        buffer.push(output("c", &chunk));
    }
    buffer.push(output("d", &"x".repeat(MAX_OUTPUT + 7)));
    let first = buffer.pop().unwrap();
    let Event::ToolOutputDelta { delta, .. } = &first.event else {
        panic!("another event");
    };
    assert!(delta.len() <= MAX_OUTPUT && delta.len() > MAX_OUTPUT - 4);
    assert_eq!(delta.len() as u64 + first.omitted, 5 * chunk.len() as u64);
    assert_eq!(buffer.pop().unwrap().omitted, 7);
}
