use futures_util::FutureExt;

use super::*;

/// What the turn has not heard yet, one line each.
fn news(batch: &BatchReplies) -> Vec<String> {
    std::iter::from_fn(|| batch.next().now_or_never())
        .map(|update| match update {
            ReplyUpdate::Output { index, chunk } => format!("{index} says {chunk}"),
            ReplyUpdate::Answered { index, output } => {
                format!("{index} answers {:?}", output.content)
            }
            ReplyUpdate::Dropped { index } => format!("{index} is dropped"),
        })
        .collect()
}

fn pair() -> (ToolReply, ToolReply, BatchReplies) {
    let (replies, batch) = replies(2);
    let [first, second] = <[ToolReply; 2]>::try_from(replies).unwrap();
    (first, second, batch)
}

#[test]
fn unread_chunks_are_merged_and_come_before_the_answer() {
    let (first, second, batch) = pair();
    first.output("a");
    first.output("");
    second.output("x");
    first.output("b");
    first.finish(ToolOutput::text("done"));
    assert_eq!(
        news(&batch),
        ["0 says ab", "1 says x", "0 answers [Text(\"done\")]"]
    );
    second.output("y");
    assert_eq!(news(&batch), ["1 says y"]);
}

#[test]
fn a_chatty_call_does_not_hide_a_quiet_one() {
    let (chatty, quiet, batch) = pair();
    chatty.output("1");
    quiet.output("x");
    for _ in 0..2 {
        let heard = batch.next().now_or_never().unwrap();
        chatty.output("2");
        if matches!(heard, ReplyUpdate::Output { index: 1, .. }) {
            return;
        }
    }
    panic!("the quiet call was not heard");
}

#[test]
fn a_dropped_reply_is_reported_after_its_output() {
    let (first, second, batch) = pair();
    first.output("a");
    drop(first);
    assert_eq!(news(&batch), ["0 says a", "0 is dropped"]);
    drop(second);
    assert_eq!(news(&batch), ["1 is dropped"]);
}

#[tokio::test]
async fn a_turn_that_waits_no_longer_closes_its_calls() {
    let (first, second, batch) = pair();
    assert!(!first.is_closed());
    assert!(first.closed().now_or_never().is_none());
    let waiting = tokio::spawn(async move {
        first.closed().await;
        first
    });
    tokio::task::yield_now().await;
    drop(batch);
    let first = waiting.await.unwrap();
    assert!(first.is_closed());
    first.output("too late");
    first.finish(ToolOutput::text("too late"));
    drop(second);
}

#[test]
fn nothing_is_heard_of_a_call_after_its_answer() {
    let (first, second, batch) = pair();
    let handle = first.output_handle();
    handle.output("a");
    first.finish(ToolOutput::text("done"));
    handle.output("b");
    assert_eq!(news(&batch), ["0 says a", "0 answers [Text(\"done\")]"]);
    handle.output("c");
    assert_eq!(news(&batch), [""; 0]);
    assert!(!second.is_closed());
}

#[test]
fn output_beyond_what_may_wait_is_not_shown() {
    let (first, _second, batch) = pair();
    first.output("a");
    first.output(&"\u{1f980}".repeat(MAX_PENDING_OUTPUT));
    first.output("\u{1f980}");
    let whole = MAX_PENDING_OUTPUT / 4 - 1;
    assert_eq!(
        news(&batch),
        [format!("0 says a{}", "\u{1f980}".repeat(whole))]
    );
    first.output("b");
    assert_eq!(news(&batch), ["0 says b"]);
}

#[tokio::test]
async fn a_waiting_turn_is_woken_from_another_thread() {
    let (first, _second, batch) = pair();
    let tool = std::thread::spawn(move || first.finish(ToolOutput::text("done")));
    let update = batch.next().await;
    tool.join().unwrap();
    assert_eq!(
        update,
        ReplyUpdate::Answered {
            index: 0,
            output: ToolOutput::text("done")
        }
    );
}
