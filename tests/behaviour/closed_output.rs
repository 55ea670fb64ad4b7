//! A reader that goes away, as `head` does.

use crate::support::Machine;

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let endless = "[[steps]]\nplay = [{ text = \"0123456789\", count = 10000000 }]";
    let machine = Machine::with_script(endless);
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    insta::assert_snapshot!(running.stop_reading().shown(), @r"
    exit 0
    -- stdout
    -- stderr
    ");
    // What had been said is kept.
    machine
        .run(&["session", "show", &machine.only_session()])
        .answer();
}

#[test]
fn other_commands_are_quiet_too() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"0123456789\", count = 100000 }]");
    machine.run(&["-p", "go"]).answer();
    let id = machine.only_session();
    let mut running = machine.start(&["session", "export", &id, "--format", "jsonl"]);
    running.read_until("session");
    insta::assert_snapshot!(running.stop_reading().shown(), @r"
    exit 0
    -- stdout
    -- stderr
    ");
}

// Only Linux has a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_output_is_an_error() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"answer\" }]");
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = machine
        .command(&["-p", "go"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    error: could not write the output
      cause: No space left on device (os error 28)
    ");
}

#[test]
fn output_that_would_not_wait_for_its_reader_is_waited_for() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"0123456789\", count = 100000 }]");
    for format in ["text", "json"] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut command = machine.command(&["-p", "go", "-o", format]);
        command.stdout(writer).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        drop(command);
        // Until the pipe is full, and the next write would fail.
        while rustix::io::ioctl_fionread(&reader).unwrap() < 0x10000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(text.len() > 1_000_000, "{format}: {}", text.len());
    }
}
