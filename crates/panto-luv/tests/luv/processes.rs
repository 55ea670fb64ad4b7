//! Children, and signals.

use panto_luv::Options;

use crate::support::{Bench, logs};

#[test]
fn a_child_talks_over_its_standard_streams() {
    logs(
        r#"
        local stdin, stdout, stderr = uv.new_pipe(), uv.new_pipe(), uv.new_pipe()
        local got, ends = { out = "", err = "" }, 0
        local handle, pid
        local function over()
          ends = ends + 1
          if ends == 3 then log(got.out, got.err) end
        end
        handle, pid = uv.spawn("/bin/sh", {
          args = { "-c", "read line; echo \"out:$line\"; echo err:$1 >&2; exit 3", "sh", "argument" },
          stdio = { stdin, stdout, stderr },
        }, function(code, signal)
          log("exit", code, signal, handle:is_active())
          log(select(3, handle:kill("sigterm")))
          handle:close(over)
        end)
        log(math.type(pid), handle:get_pid() == pid, handle:is_active(), (handle:get_type()))
        for name, stream in pairs { out = stdout, err = stderr } do
          stream:read_start(function(_, data)
            if data then got[name] = got[name] .. data else stream:close(over) end
          end)
        end
        stdin:write("hello\n")
        stdin:shutdown(function(err) stdin:close() end)
        uv.run()
        "#,
        &[
            "integer true true process",
            "exit 3 0 false",
            "ESRCH",
            "out:hello\n err:argument\n",
        ],
    );
}

#[test]
fn a_child_dies_of_a_signal_by_name_or_number() {
    logs(
        r#"
        local function kill(send)
          local handle, pid
          handle, pid = uv.spawn("/bin/cat", { stdio = { uv.new_pipe() } }, function(code, signal)
            log(code, signal)
            uv.walk(function(any) if not any:is_closing() then any:close() end end)
          end)
          log(send(handle, pid))
          uv.run()
        end
        kill(function(handle) return handle:kill() end)
        kill(function(handle) return handle:kill("sigkill") end)
        kill(function(_, pid) return uv.kill(pid, uv.constants.SIGINT) end)
        log(uv.kill(uv.os_getpid(), 0), select(3, uv.kill(0x7fffffff, 0)))
        log(pcall(uv.kill, 1, "sigwhat"))
        log(select(3, uv.kill(uv.os_getpid(), 12345)))
        "#,
        &[
            "0",
            "0 15",
            "0",
            "0 9",
            "0",
            "0 2",
            "0 ESRCH",
            "false bad argument #2 to 'kill' (invalid signal 'sigwhat')",
            "EINVAL",
        ],
    );
}

/// Runs a child and returns what it wrote.
const OUTPUT: &str = r#"
function output(path, options)
  local stdout, text = uv.new_pipe(), ""
  options.stdio = options.stdio or {}
  options.stdio[2] = options.stdio[2] or stdout
  local handle, err = uv.spawn(path, options, function() end)
  if not handle then return nil, err end
  stdout:read_start(function(_, data)
    if data then text = text .. data else stdout:close() handle:close() end
  end)
  uv.run()
  return text
end
"#;

#[test]
fn folder_and_environment_are_the_ones_given() {
    let given = [("PATH", "/bin:/usr/bin"), ("FROM", "the loop")];
    let bench = Bench::with(
        Options::new().environment(given.map(|(name, value)| (name.into(), value.into()))),
    );
    bench.eval::<()>(OUTPUT);
    bench.eval::<()>(
        r#"
        log(output("pwd", { cwd = "/" }))
        log(output("sh", { args = { "-c", "echo $FROM" } }))
        uv.os_setenv("FROM", "Lua")
        log(output("sh", { args = { "-c", "echo $FROM" } }))
        log(output("/bin/sh", { args = { "-c", "echo $FROM $A $B" }, env = { "A=1", "B=x=y", "junk" } }))
        log(output("/bin/sh", { args = { "-c", "ps -o sid= -p $$ | tr -d ' '; echo $$" }, detached = true }):match("^(%d+)\n%1\n$") ~= nil)
        "#,
    );
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '|')"),
        "/\n|the loop\n|Lua\n|1 x=y\n|true"
    );
}

#[test]
fn descriptors_are_inherited_by_number_and_no_others() {
    let bench = Bench::new();
    bench.eval::<()>(OUTPUT);
    bench.eval::<()>(
        r#"
        local extra, far = uv.new_pipe(), uv.new_pipe()
        local got = {}
        local function collect(name, stream)
          stream:read_start(function(_, data)
            if data then got[#got + 1] = name .. data else stream:close() end
          end)
        end
        local handle = uv.spawn("/bin/sh", {
          args = { "-c", "echo three >&3; echo six >&6; ls /proc/self/fd >&4" },
          stdio = { nil, nil, nil, extra, uv.new_pipe(), nil, far },
          env = { "PATH=/bin:/usr/bin" },
        }, function(code) log("exit", code) end)
        collect("3:", extra) collect("6:", far)
        handle:unref()
        uv.run("once") while #got < 2 do uv.run("once") end
        table.sort(got)
        log(table.concat(got))
        "#,
    );
    let text = bench.eval::<String>("return table.concat(lines, '|')");
    assert!(text.ends_with("3:three\n6:six\n"), "{text}");
    // A number of ours is shared, and stays ours.
    bench.eval::<()>(
        r#"
        local pipe = uv.pipe()
        local handle = uv.spawn("/bin/echo", { args = { "hi" }, stdio = { nil, pipe.write } }, function() end)
        uv.run()
        log(uv.fs_read(pipe.read, 10))
        "#,
    );
    assert_eq!(bench.eval::<String>("return lines[#lines]"), "hi\n");
}

#[test]
fn both_outputs_may_go_to_one_stream() {
    logs(
        r#"
        local both, handle = uv.new_pipe(), nil
        handle = uv.spawn("/bin/sh", { args = { "-c", "echo out; echo err >&2" }, stdio = { nil, both, both } }, function() handle:close() end)
        local text = ""
        both:read_start(function(_, data)
          if data then text = text .. data return end
          log(text)
          both:close()
        end)
        "#,
        &["out\nerr\n"],
    );
}

#[test]
fn what_cannot_be_started_says_why() {
    logs(
        r#"
        log(uv.spawn("/no/such/program", {}, print))
        log(uv.spawn("/bin/echo", { cwd = "/no/such/folder" }, print))
        log(uv.spawn("/etc", {}, print))
        local stream = uv.new_pipe()
        log(select(3, uv.spawn("/no/such/program", { stdio = { stream, stream, nil, nil, nil, nil, nil, stream } }, print)), (select(3, stream:fileno())))
        stream:close() uv.run()
        log(pcall(uv.spawn, "/bin/echo"))
        log(pcall(uv.spawn, "/bin/echo", { args = { {} } }, print))
        log(pcall(uv.spawn, "/bin/echo", { stdio = { uv.new_timer() } }, print))
        log(uv.loop_alive())
        "#,
        &[
            "nil ENOENT: no such file or directory ENOENT",
            "nil ENOENT: no such file or directory ENOENT",
            "nil EACCES: permission denied EACCES",
            "ENOENT EBADF",
            "false bad argument #2 to 'spawn' (table expected, got nil)",
            "false bad argument #2 to 'spawn' (option 'args' must be a list of strings)",
            "false bad argument #2 to 'spawn' (option 'stdio' must be a list of descriptors and streams)",
            "false",
        ],
    );
}

#[test]
fn a_child_whose_handle_is_closed_calls_nobody() {
    logs(
        r#"
        local stdin = uv.new_pipe()
        local handle = uv.spawn("/bin/cat", { stdio = { stdin } }, function() log("never") end)
        handle:close(function() log("closed") stdin:close() end)
        "#,
        &["closed"],
    );
}

#[test]
fn signals_to_the_process_call_back() {
    logs(
        r#"
        local always, once = uv.new_signal(), uv.new_signal()
        local n, at_once = 0, nil
        local function both()
          if n == 2 and at_once then
            log("always", n)
            log("once", at_once, once:is_active())
            always:close()
          end
        end
        always:start("sigusr1", function(name)
          n = n + 1
          if n == 1 then uv.kill(uv.os_getpid(), name) end
          both()
        end)
        once:start_oneshot(uv.constants.SIGUSR1, function(name)
          at_once = (at_once or "") .. name
          both()
        end)
        uv.kill(uv.os_getpid(), "sigusr1")
        log(select(3, uv.new_signal():start("sigkill", print)), select(3, uv.new_signal():start(999, print)))
        log(pcall(uv.signal_start, once, "sigwhat", print))
        "#,
        &[
            "EINVAL EINVAL",
            "false bad argument #2 to 'signal_start' (invalid signal 'sigwhat')",
            "always 2",
            "once sigusr1 false",
        ],
    );
}
