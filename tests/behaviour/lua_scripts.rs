//! What scripts of `panto lua` do with `luv` and `panto`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::repository::text;
use crate::support::Machine;

fn machine() -> Machine {
    Machine::without_config()
}

#[test]
fn a_child_that_does_not_read_is_an_error_and_no_end() {
    let chunk = "local uv = require('luv')
        local stdin = uv.new_pipe()
        local child = assert(uv.spawn('true', { stdio = { stdin } }, function(code)
          stdin:write('x', function(err) print(code, err) stdin:close() end)
        end))
        uv.run()
        -- Programs that it starts end as ever when nobody reads.
        print(io.popen('yes | head -n 1; echo ${PIPESTATUS:-}'):read('l'))";
    let ran = machine().run(&["lua", "-e", chunk]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "0\tEPIPE\ny\n", "")
    );
}

#[test]
fn an_error_in_a_callback_ends_the_run_of_the_loop() {
    let chunk = "local uv = require('luv')
        local timer = uv.new_timer()
        timer:start(1, 1, function() print('once') error('in a callback') end)
        uv.run()
        print('not reached')";
    insta::assert_snapshot!(machine().run(&["lua", "-e", chunk]).shown(), @"
    exit 1
    -- stdout
    once
    -- stderr
    panto lua: (command line):3: in a callback
    stack traceback:
    	[C]: in function 'error'
    	(command line):3: in function <(command line):3>
    ");
}

#[test]
fn misuse_of_run_is_raised_at_its_caller() {
    let ran = machine().run(&[
        "lua",
        "-e",
        "print(select(2, pcall(function() require('luv').run('x') end)))",
    ]);
    assert_eq!(
        ran.answer(),
        "(command line):1: bad argument #1 to 'run' (invalid option 'x')\n"
    );
}

/// `docs/lua.md`: its scripts and its command lines run.
#[cfg(target_os = "linux")]
#[test]
fn what_the_page_shows_runs() {
    let page = text("docs/lua.md");
    let examples = |fence: &str| -> Vec<String> {
        let opening = format!("```{fence}\n");
        let blocks = page.split(&opening).skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        blocks.map(str::to_owned).collect()
    };
    let scripts = examples("lua script");
    assert!(scripts.len() > 1);
    for script in scripts {
        let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"Hi.\" }]");
        machine.run(&["-p", "hello"]).answer();
        let ran = machine.run_with_input(
            &["lua", "-", machine.sessions().to_str().unwrap()],
            script.as_bytes(),
        );
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (Some(0), ""),
            "{script}\n{}",
            ran.shown()
        );
    }
    let lines = examples("sh");
    assert!(!lines.is_empty());
    for line in lines {
        let machine = machine();
        fs::write(machine.work().join("script.lua"), "print(...)").unwrap();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_panto"));
        let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-eu"])
            .env_clear()
            .env("PATH", path)
            .env("HOME", machine.root());
        shell
            .current_dir(machine.work())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = shell.stdout(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{line}\n{output:?}");
    }
}

#[test]
fn a_script_lists_the_sessions_of_a_store() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"Hi.\" }]");
    machine.run(&["-p", "what is there?"]).answer();
    let directory = machine.session_files()[0].parent().unwrap().to_owned();
    fs::write(
        machine.work().join("list.lua"),
        "local panto = require('panto')
        local store = panto.file_system_jsonl_store { dir = ... }
        for _, session in ipairs(store:list()) do
          print(session.id, session.message_count, session.last_user_message)
          print(store:load(session.id):transcript())
        end",
    )
    .unwrap();
    let ran = machine.run(&["lua", "list.lua", directory.to_str().unwrap()]);
    insta::assert_snapshot!(machine.readable(&ran.shown()), @"
    exit 0
    -- stdout
    ID	2	what is there?
    [user]
      what is there?

    [assistant]
      Hi.

    -- stderr
    ");
}

#[test]
fn a_script_runs_a_child_through_luv_with_its_own_environment() {
    let machine = machine();
    let chunk = "local uv = require('luv')
        local out = uv.new_pipe()
        uv.os_setenv('ADDED', 'here')
        local child
        child = assert(uv.spawn('sh', { args = { '-c', 'echo $GIVEN $ADDED; exit 3' }, stdio = { nil, out } },
          function(code, signal) print('exit', code, signal) child:close() end))
        out:read_start(function(err, data)
          assert(not err, err)
          if data then io.write(data) else out:close() end
        end)
        uv.run()
        print(os.getenv('GIVEN'), os.getenv('ADDED'))";
    let ran = machine.run_with(
        &[("GIVEN", "given"), ("PATH", "/usr/bin:/bin")],
        &["lua", "-e", chunk],
    );
    let answer = ran.answer();
    assert!(
        answer.contains("given here\n") && answer.contains("exit\t3\t0\n"),
        "{answer}"
    );
    assert!(answer.ends_with("given\tnil\n"), "{answer}");
}

/// The examples of `docs/luv.md` do what they say as they stand.
#[test]
fn the_examples_of_the_event_loop_run() {
    let page = include_str!("../../docs/luv.md");
    let examples: Vec<_> = page.split("```lua\n").skip(1).collect();
    assert_eq!(examples.len(), 2);
    let machine = Machine::without_config();
    for (example, said) in examples.iter().zip(["hello\n", "a name\n"]) {
        let example = example.split("```").next().unwrap();
        // Not every machine has a file of this name.
        let example = example.replace("/etc/hostname", "name");
        machine.file("work/name", "a name\n");
        machine.file("work/example.lua", &example);
        let ran = machine.run(&["lua", "example.lua"]);
        assert!(ran.answer().contains(said), "{example}");
    }
}
