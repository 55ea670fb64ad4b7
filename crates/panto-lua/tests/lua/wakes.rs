use std::io::Write;
use std::os::fd::AsRawFd;

use insta::assert_snapshot;
use pantograph_scripted::{Gate, Script, Step, Text};

use crate::support::{machine, talking};

#[test]
fn there_is_a_wake_for_every_event_that_is_one_of_its_own_and_one_at_the_end() {
    let machine = talking("Hello.");
    machine.pipe();
    machine.exec(r#"job = new_agent():run_async { prompt = "x", wake_fd = pipe.fd }"#);
    machine.all_settled();
    machine.exec(
        r#"
        local bytes, events = 0, 0
        for _ in job.next_event, job do events = events + 1 end
        pipe.close_writer()
        while true do
          local read = pipe.wait()
          if read == 0 then break end
          bytes = bytes + read
        end
        assert(bytes == events + 1, bytes .. " bytes, " .. events .. " events")
        "#,
    );
}

#[test]
fn sockets_wake_too() {
    let machine = talking("Hello.");
    machine.sockets();
    machine.exec(
        r#"
        local job = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        drain(job)
        assert(job:result().text == "Hello.")
        pipe.close_reader()
        orphan = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        "#,
    );
    machine.all_settled();
    machine.exec(r#"assert(orphan:result().text == "Hello.")"#);
}

#[test]
fn a_reader_that_is_gone_and_a_descriptor_that_was_closed_do_not_matter() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated());
    let machine = machine(script);
    machine.pipe();
    machine.exec(
        r#"
        job = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        -- The job has its own duplicate.
        pipe.close_writer()
        assert(pipe.wait() > 0)
        "#,
    );
    gate.open();
    machine.exec(r#"drain(job) assert(job:result().text == "Hi.")"#);
    machine.pipe();
    machine.exec(
        r#"
        pipe.close_reader()
        job = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        "#,
    );
    machine.all_settled();
    machine.exec(r#"assert(job:result().text == "Hi.")"#);
}

#[test]
fn a_full_pipe_blocks_nobody() {
    let gate = Gate::new();
    let step = Step::new().on_open(&gate).then(Text::new("ab").chunks(2));
    let machine = machine(Script::new().step(step));
    let (reader, mut writer) = std::io::pipe().unwrap();
    machine.lua.globals().set("fd", writer.as_raw_fd()).unwrap();
    machine.exec(r#"job = assert(new_agent():run_async { prompt = "x", wake_fd = fd })"#);
    // The job made it non-blocking, so this ends.
    while writer.write(&[0; 4096]).is_ok() {}
    while writer.write(&[0]).is_ok() {}
    gate.open();
    machine.all_settled();
    machine.exec(r#"assert(job:result().text == "ab")"#);
    drop(reader);
}

#[test]
fn only_pipes_and_sockets_can_be_woken() {
    let machine = talking("Hi.");
    let file = tempfile::tempfile().unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let globals = machine.lua.globals();
    globals.set("file_fd", file.as_raw_fd()).unwrap();
    globals.set("reader_fd", reader.as_raw_fd()).unwrap();
    let text = machine.text(
        r#"
        local agent = new_agent()
        local function try(fd) return refused(agent:run_async { prompt = "x", wake_fd = fd }) end
        local out = { try(file_fd), try(reader_fd), try(-1), try(2147483647) }
        -- Nothing was started.
        assert(agent:run_async { prompt = "x" })
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    wake_fd must be a pipe or a socket
    wake_fd must be the writing end of its pipe
    wake_fd -1 cannot be used: Bad file descriptor (os error 9)
    wake_fd 2147483647 cannot be used: Bad file descriptor (os error 9)
    ");
    machine.all_settled();
}

#[test]
fn no_byte_comes_after_close() {
    let gate = Gate::new();
    let step = Step::new().on_open(&gate).then(Text::new("abc").endless());
    let machine = machine(Script::new().step(step));
    machine.pipe();
    gate.open();
    machine.exec(
        r#"
        local job = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        for _ = 1, 20 do
          pipe.wait()
          for _ in job.next_event, job do end
        end
        job:close()
        -- What is in the pipe now is all that there will be: the end comes once we let go.
        pipe.close_writer()
        while pipe.wait() > 0 do end
        "#,
    );
    machine.all_settled();
}

/// In a process of its own, since signals are the whole process's.
#[test]
fn a_program_that_dies_of_sigpipe_does_not_die_of_a_wake() {
    const INSIDE: &str = "PANTO_LUA_TEST_SIGPIPE";
    if std::env::var_os(INSIDE).is_some() {
        die_of_sigpipe();
        let machine = talking("Hi.");
        machine.pipe();
        machine.exec(
            r#"
            pipe.close_reader()
            job = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
            "#,
        );
        machine.all_settled();
        machine.exec(r#"assert(job:result().text == "Hi.")"#);
        return;
    }
    let name = "wakes::a_program_that_dies_of_sigpipe_does_not_die_of_a_wake";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// As C programs have it, and Rust programs do not.
#[allow(unsafe_code, reason = "the disposition of a signal")]
fn die_of_sigpipe() {
    // SAFETY: the default disposition is valid for every signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(target_os = "linux")]
#[test]
fn jobs_that_wake_the_same_reader_share_a_descriptor() {
    let gate = Gate::new();
    let machine = machine(Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated()));
    machine.pipe();
    machine.exec("first = new_agent():run_async { prompt = 'x', wake_fd = pipe.fd }");
    let ends_of_the_pipe = || {
        let fd: i32 = machine.eval("return pipe.fd");
        let pipe = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let fds = std::fs::read_dir("/proc/self/fd").unwrap();
        let targets = fds.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
        targets.filter(|target| *target == pipe).count()
    };
    let before = ends_of_the_pipe();
    machine.exec(
        r#"
        jobs = {}
        for i = 1, 100 do
          jobs[i] = assert(new_agent():run_async { prompt = "x", wake_fd = pipe.fd })
        end
        "#,
    );
    assert_eq!(ends_of_the_pipe(), before);
    gate.open();
    machine.all_settled();
    // The last one to settle lets go of it.
    assert_eq!(ends_of_the_pipe(), before - 1);
}
