//! Sessions that cannot be saved: the answer is printed all the same.

use crate::support::{Machine, block};

const ANSWER: &str = "[[steps]]\nrepeat = true\nplay = [{ text = \"the answer\" }]";

#[test]
fn an_answer_that_cannot_be_saved_is_printed() {
    let machine = Machine::with_script(ANSWER);
    block(&machine.sessions());
    insta::assert_snapshot!(machine.run(&["-p", "go"]).shown(), @r"
    exit 1
    -- stdout
    the answer
    -- stderr
    error: could not store the conversation
      cause: could not create the directory `ROOT/sessions/+ROOT+work`
      cause: Not a directory (os error 20)
      hint: what was said is not saved; PANTO_SESSION_DIR says where sessions are kept
    ");
    let result = machine.run(&["-p", "go", "-o", "json"]).result();
    assert_eq!(result["text"], "the answer");
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["kind"], "session");
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let machine = Machine::with_script(ANSWER);
    machine.run(&["-p", "first"]).answer();
    let file = machine.session_files().remove(0);
    let before = std::fs::read(&file).unwrap();
    // A limit on the size of files acts as a full disk does; 1 block is 512 bytes.
    let mut shell = std::process::Command::new("sh");
    shell
        .args([
            "-c",
            // By default the system ends a process that goes past the limit.
            "ulimit -f 1; exec \"$0\" -p second --continue",
            env!("CARGO_BIN_EXE_panto"),
        ])
        .env(
            "HOME",
            machine.config_dir().parent().unwrap().parent().unwrap(),
        )
        .env("PANTO_SESSION_DIR", machine.sessions())
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(machine.work())
        .stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = machine.readable(&String::from_utf8(output.stderr).unwrap());
    insta::assert_snapshot!(errors, @r"
    error: could not store the conversation
      cause: could not append to `ROOT/sessions/+ROOT+work/ID.jsonl`
      cause: File too large (os error 27)
      hint: what was said is not saved; PANTO_SESSION_DIR says where sessions are kept
    ");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(
        machine.run(&["-p", "second", "--continue"]).answer(),
        "the answer\n"
    );
}
