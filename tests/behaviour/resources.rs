//! A system that gives nothing more: an error, not a backtrace.

use std::process::Command;

use crate::support::Machine;

#[test]
fn without_file_descriptors_there_is_an_error_and_a_result() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"answer\" }]");
    let mut failed = 0;
    // Three are the standard streams; the first few that follow are the loader's.
    for limit in 4..30 {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
        let arguments = ["-p", "go", "-o", "json", "--no-session"];
        let ran = machine.start_by(&mut shell, &arguments).finish();
        assert!(!ran.stderr.contains("panicked"), "{limit}: {}", ran.shown());
        let result = ran.result();
        match ran.code {
            Some(0) => assert_eq!(result["text"], "answer"),
            Some(1 | 2) => {
                failed += 1;
                assert_eq!(result["status"], "failed", "{limit}");
                assert!(
                    ran.stderr.lines().any(|line| line.starts_with("error: ")),
                    "{limit}: {}",
                    ran.shown()
                );
            }
            _ => panic!("{limit}: {}", ran.shown()),
        }
    }
    assert!(failed > 0);
}
