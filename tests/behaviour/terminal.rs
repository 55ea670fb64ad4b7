//! Standard output on a terminal: text appears as it arrives, and can do no harm.

use rustix::process::Signal;

use crate::support::{Machine, Terminal};

#[test]
fn text_appears_before_the_answer_is_complete() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"so far\" }, { fault = \"stall\" }]");
    let mut terminal = Terminal::start(&machine, &["-p", "go"]);
    terminal.read_until("so far");
    terminal.signal(Signal::INT);
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(130));
    insta::assert_snapshot!(machine.readable(&shown), @"
    so far
    panto: interrupted; `panto -p --resume ID` goes on from there
    ");
}

#[test]
fn what_was_said_does_no_harm_when_it_is_shown_again() {
    let said = "\u{1b}[2J\u{9b}2J\u{7f}\u{202e}end";
    let machine = Machine::with_script(
        r#"
        [[steps]]
        play = [{ text = "\u001b[2J\u009b2J\u007f\u202eend" }]
        "#,
    );
    machine.run(&["-p", "\u{9b}2J\u{85}\u{202e}go"]).answer();
    let id = machine.only_session();
    for arguments in [
        &["session", "show", &id][..],
        &["session", "export", &id],
        &["session", "export", &id, "--format", "json"],
        &["session", "export", &id, "--format", "jsonl"],
        &["sessions"],
        &["sessions", "--json"],
    ] {
        let (code, shown) = Terminal::start(&machine, arguments).finish();
        assert_eq!(code, Some(0));
        assert!(shown.contains("go"), "{shown}");
        let is_harmful = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(is_harmful), "{arguments:?}: {shown:?}");
    }
    // A file gets what was said as it was said.
    let exported = machine.run(&["session", "export", &id]).answer();
    assert!(exported.contains(said), "{exported}");
}

#[test]
fn control_characters_are_visible_and_a_void_attempt_is_said_to_be_so() {
    let machine = Machine::with_script(
        r#"
        [[steps]]
        play = [{ text = "Forty-" }, { fault = "disconnect" }]
        [[steps]]
        play = [{ text = "\u001b[2J\u001b]0;title\u0007Forty-two.", chunks = 7 }]
        "#,
    );
    let (code, shown) = Terminal::start(&machine, &["-p", "go"]).finish();
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "Forty-");
    assert_eq!(
        lines[1],
        "panto: the answer broke off; what it has shown is void"
    );
    assert!(lines[2].starts_with("panto: retry 1 of 5 in "), "{shown}");
    assert_eq!(lines[3..], ["␛]0;title␇Forty-two."]);
}

#[test]
fn what_was_typed_does_no_harm_when_it_is_repeated() {
    let machine = Machine::without_config();
    let command = Terminal::start(&machine, &["--\u{1b}]0;x\u{7}\u{9b}2Jnope"]);
    let (code, shown) = command.finish();
    assert_eq!(code, Some(2));
    assert!(shown.contains("unexpected argument"), "{shown:?}");
    let harmful = ["\u{1b}]", "\u{7}", "\u{9b}"];
    assert!(
        !harmful.iter().any(|harmful| shown.contains(harmful)),
        "{shown:?}"
    );
}
