//! A failing test in a real repository, fixed from the first look to the last check.

use std::fs;
use std::process::Command;

use crate::support::Machine;

const SCRIPT: &str = r#"
[[steps]]
when = { last = "fix the failing test", system = "Git branch: fix" }
play = [
  { text = "Let me look." },
  { tool = "shell", input = { command = "sh test.sh" } },
  { tool = "grep", input = { pattern = "add\\(\\)" } },
  { tool = "find", input = { pattern = "*.sh" } },
]

[[steps]]
when = { last = "add 2 3 gave -1" }
play = [{ tool = "read", input = { path = "src/calc.sh" } }]

[[steps]]
when = { last = "$1 - $2" }
play = [
  { tool = "edit", input = { path = "src/calc.sh", edits = [{ old_text = "$1 - $2", new_text = "$1 + $2" }] } },
]

[[steps]]
when = { last = "src/calc.sh", last_role = "tool" }
play = [
  { tool = "shell", input = { command = "sh test.sh" } },
  { tool = "write", input = { path = "notes/done.md", content = "Fixed.\n" } },
]

[[steps]]
when = { last = "all is well" }
play = [{ text = "Fixed: src/calc.sh:1." }, { usage = { input = 10, output = 5 } }]
"#;

fn git(machine: &Machine, arguments: &[&str]) -> String {
    let ran = Command::new("git")
        .args(arguments)
        .current_dir(machine.work())
        .env("HOME", machine.root())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_failing_test_is_found_fixed_and_run_again() {
    let machine = Machine::with_script(SCRIPT);
    let work = machine.work();
    fs::create_dir_all(work.join("src")).unwrap();
    fs::write(
        work.join("src/calc.sh"),
        "add() { echo $(( $1 - $2 )); }\r\n",
    )
    .unwrap();
    fs::write(
        work.join("test.sh"),
        "tr -d '\\r' < src/calc.sh > calc.tmp\n. ./calc.tmp\n\
         [ \"$(add 2 3)\" = 5 ] || { echo \"add 2 3 gave $(add 2 3)\"; exit 1; }\necho all is well\n",
    )
    .unwrap();
    fs::write(work.join(".gitignore"), "calc.tmp\n").unwrap();
    git(&machine, &["init", "-q", "-b", "fix"]);
    git(&machine, &["add", "."]);
    let me = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    git(
        &machine,
        &[&me[..], &["commit", "-q", "-m", "begin"]].concat(),
    );

    let ran = machine.run(&["-p", "fix the failing test", "-v"]);
    assert_eq!(ran.answer(), "Let me look.\nFixed: src/calc.sh:1.\n");
    // The file's own line ending is kept, and nothing else has changed.
    let fixed = fs::read_to_string(work.join("src/calc.sh")).unwrap();
    assert_eq!(fixed, "add() { echo $(( $1 + $2 )); }\r\n");
    assert_eq!(
        git(&machine, &["status", "--porcelain"]),
        " M src/calc.sh\n?? notes/\n"
    );
}
