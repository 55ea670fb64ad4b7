//! Pipes and TCP on loopback: reading, writing, listening, ends and cancellations.

use crate::support::{Bench, logs};

#[test]
fn a_pair_of_pipes_carries_bytes_to_the_end() {
    logs(
        r#"
        local fds = uv.pipe({ nonblock = true }, { nonblock = true })
        local reader, writer = uv.new_pipe(), uv.new_pipe()
        log(reader:open(fds.read), writer:open(fds.write))
        log(reader:is_readable(), reader:is_writable(), writer:is_readable(), writer:is_writable())
        log(reader:read_start(function(err, data)
          log(err, data)
          if not data then reader:close() end
        end))
        log(reader:is_active(), writer:is_active(), (reader:get_type()))
        writer:write({ "hello", " ", "world" }, function(err)
          log("written", err)
          writer:close()
        end)
        "#,
        &[
            "0 0",
            "true false false true",
            "0",
            "true false pipe",
            "written nil",
            "nil hello world",
            "nil nil",
        ],
    );
}

#[test]
fn reading_stops_exactly_and_loses_nothing() {
    logs(
        r#"
        local fds = uv.socketpair(nil, nil, { nonblock = true }, { nonblock = true })
        local a, b = uv.new_pipe(), uv.new_pipe()
        a:open(fds[1]) b:open(fds[2])
        local function read()
          b:read_start(function(err, data)
            log(data)
            b:read_stop()
          end)
        end
        log(b:read_stop(), b:read_stop())
        read()
        log(select(3, b:read_start(print)))
        a:write("one", function()
          uv.new_timer():start(1, 0, function()
            a:write("two", function()
              uv.new_timer():start(1, 0, function()
                log("later")
                read()
              end)
            end)
          end)
        end)
        "#,
        &["0 0", "EALREADY", "one", "later", "two"],
    );
}

#[test]
fn what_does_not_fit_is_queued_in_order() {
    logs(
        r##"
        local fds = uv.socketpair(nil, nil, { nonblock = true }, { nonblock = true })
        local a, b = uv.new_pipe(), uv.new_pipe()
        a:open(fds[1]) b:open(fds[2])
        local size, done = 3000000, {}
        a:write(("x"):rep(size), function(err) done[#done + 1] = err or "first" end)
        a:write("tail", function(err) done[#done + 1] = err or "second" end)
        log(a:get_write_queue_size() > 0)
        log(select(3, a:try_write("never")))
        a:shutdown(function(err) done[#done + 1] = err or "end" end)
        log(select(3, a:write("too late")), select(3, a:shutdown()))
        local got, last = 0, nil
        b:read_start(function(err, data)
          if data then got, last = got + #data, data:sub(-4) return end
          log(got, last, table.concat(done, " "), a:get_write_queue_size())
          a:close() b:close()
        end)
        "##,
        &[
            "true",
            "EAGAIN",
            "EPIPE ENOTCONN",
            "3000004 tail first second end 0",
        ],
    );
}

#[test]
fn close_cancels_writes_before_it_calls_back() {
    logs(
        r#"
        local fds = uv.socketpair(nil, nil, { nonblock = true }, { nonblock = true })
        local a, b = uv.new_pipe(), uv.new_pipe()
        a:open(fds[1]) b:open(fds[2])
        a:write(("x"):rep(3000000), function(err) log("write", err) end)
        a:shutdown(function(err) log("shutdown", err) end)
        b:read_start(function() log("never") end)
        b:close()
        a:close(function() log("closed") end)
        log(select(3, a:write("x")), select(3, a:read_start(print)))
        "#,
        &[
            "EBADF EINVAL",
            "write ECANCELED",
            "shutdown ECANCELED",
            "closed",
        ],
    );
}

#[test]
fn what_is_written_is_told_before_the_close_that_follows_it() {
    logs(
        r#"
        local fds = uv.socketpair(nil, nil, { nonblock = true }, { nonblock = true })
        local a, b, udp = uv.new_pipe(), uv.new_pipe(), uv.new_udp()
        a:open(fds[1]) b:open(fds[2])
        b:read_start(function(_, data)
          b:write("bye", function(err) log("written", err) end)
          b:shutdown(function(err) log("shut down", err) end)
          b:close(function() log("closed") end)
        end)
        a:write("hello")
        a:read_start(function(_, data)
          log(data)
          if not data then
            a:close()
            udp:send("x", "127.0.0.1", 9, function(err) log("sent", err) end)
            udp:close(function() log("closed") end)
          end
        end)
        "#,
        &[
            "written nil",
            "shut down nil",
            "closed",
            "bye",
            "nil",
            "sent nil",
            "closed",
        ],
    );
}

#[test]
fn a_reader_that_is_gone_is_an_error_of_the_write() {
    logs(
        r#"
        for _, pair in ipairs { uv.socketpair(nil, nil, {nonblock=true}, {nonblock=true}), (function() local p = uv.pipe() return { p.write, p.read } end)() } do
          local a = uv.new_pipe()
          a:open(pair[1])
          uv.fs_close(pair[2])
          a:write("x", function(err) log(err) a:close() end)
        end
        "#,
        &["EPIPE", "EPIPE"],
    );
}

#[test]
fn a_server_on_a_path_serves_and_removes_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let bench = Bench::new();
    let path = folder.path().join("socket");
    bench
        .lua
        .globals()
        .set("path", path.to_str().unwrap())
        .unwrap();
    bench.eval::<()>(
        r#"
        local server, client = uv.new_pipe(), uv.new_pipe()
        log(server:bind(path), server:getsockname() == path)
        log(server:chmod("rw"), uv.fs_stat(path).type)
        log(server:listen(8, function(err)
          local peer = uv.new_pipe()
          log("peer", err, server:accept(peer), (select(3, server:accept(uv.new_pipe()))))
          peer:read_start(function(_, data)
            if data then peer:write(data:upper()) else peer:close() server:close() end
          end)
        end))
        client:connect(path, function(err)
          log("connected", err, client:getpeername() == path)
          client:read_start(function(_, data)
            log(data)
            client:close()
          end)
        end)
        client:write("early")
        uv.run()
        log(uv.fs_stat(path) == nil)
        local none = uv.new_pipe()
        none:connect(path, function(err) log(err) none:close() end)
        uv.run()
        log(select(3, uv.new_pipe():bind(("x"):rep(200))))
        log(uv.new_pipe(true):pending_count(), (pcall(uv.new_pipe, "yes")))
        "#,
    );
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '\\n')"),
        "0 true\n0 socket\n0\nconnected nil true\npeer nil 0 EAGAIN\nEARLY\ntrue\nENOENT\nENAMETOOLONG\n0 false"
    );
    assert_eq!(*bench.errors.borrow(), [""; 0]);
}

#[test]
fn tcp_serves_many_clients() {
    logs(
        r#"
        local server = uv.new_tcp()
        assert(server:bind("127.0.0.1", 0))
        local port, left, served = server:getsockname().port, 20, 0
        server:listen(128, function(err)
          assert(not err, err)
          local peer = uv.new_tcp()
          assert(server:accept(peer))
          served = served + 1
          peer:read_start(function(_, data)
            if data then peer:write(data .. "!") else peer:close() end
          end)
        end)
        for i = 1, left do
          local client = uv.new_tcp()
          client:nodelay(true)
          client:keepalive(true, 10)
          client:connect("127.0.0.1", port, function(err)
            assert(not err, err)
            assert(client:getpeername().port == port and client:getpeername().ip == "127.0.0.1")
            client:write("hello " .. i)
            client:read_start(function(_, data)
              assert(data == "hello " .. i .. "!")
              client:close()
              left = left - 1
              if left == 0 then server:close(function() log("served", served) end) end
            end)
          end)
        end
        "#,
        &["served 20"],
    );
}

#[test]
fn tcp_speaks_ipv6() {
    logs(
        r#"
        local server, client = uv.new_tcp("inet6"), uv.new_tcp()
        assert(server:bind("::1", 0, { ipv6only = true }))
        local name = server:getsockname()
        log(name.ip, name.family)
        server:listen(1, function()
          local peer = uv.new_tcp()
          server:accept(peer)
          peer:close() server:close()
        end)
        client:connect("::1", name.port, function(err) log(err) client:close() end)
        "#,
        &["::1 inet6", "nil"],
    );
}

#[test]
fn a_refused_connection_is_told_to_the_callback() {
    logs(
        r#"
        local taken, client, other = uv.new_tcp(), uv.new_tcp(), uv.new_tcp()
        assert(taken:bind("127.0.0.1", 0))
        local port = taken:getsockname().port
        client:connect("127.0.0.1", port, function(err)
          log(err)
          log(select(3, client:write("x")), select(3, client:read_start(print)))
          client:close() taken:close()
        end)
        log(select(3, client:connect("127.0.0.1", port, print)))
        other:connect("127.0.0.1", port, function(err) log("other", err) end)
        other:close()
        log(pcall(uv.tcp_connect, other, "localhost", 1, print))
        "#,
        &[
            "EALREADY",
            "true nil EINVAL: invalid argument EINVAL",
            "ECONNREFUSED",
            "EPIPE ENOTCONN",
            "other ECANCELED",
        ],
    );
}

#[test]
fn addresses_are_checked_and_taken_ones_refused() {
    logs(
        r#"
        local one, two = uv.new_tcp(), uv.new_tcp()
        log(pcall(one.bind, one, "localhost", 80))
        log(pcall(one.bind, one, "127.0.0.1", 70000))
        assert(one:bind("127.0.0.1", 0))
        assert(one:listen(1, print))
        log(select(3, two:bind("127.0.0.1", one:getsockname().port)))
        log(select(3, two:getpeername()), select(3, uv.new_tcp():getsockname()), select(3, uv.new_tcp():fileno()))
        log(one:fileno() > 2, one:send_buffer_size() > 0, one:recv_buffer_size(4096), one:recv_buffer_size())
        log(uv.guess_handle(one:fileno()), uv.guess_handle(9999))
        one:close() two:close()
        "#,
        &[
            "false invalid IP address or port [localhost:80]",
            "false invalid IP address or port [127.0.0.1:70000]",
            "EADDRINUSE",
            "ENOTCONN EBADF EBADF",
            "true true 0 8192",
            "tcp unknown",
        ],
    );
}

#[test]
fn a_reset_reaches_the_peer() {
    logs(
        r#"
        local server, client = uv.new_tcp(), uv.new_tcp()
        server:bind("127.0.0.1", 0)
        server:listen(1, function()
          local peer = uv.new_tcp()
          server:accept(peer)
          peer:read_start(function(err, data) log(err, data) peer:close() server:close() end)
          client:close_reset(function() log("reset") end)
        end)
        client:connect("127.0.0.1", server:getsockname().port, function() end)
        "#,
        &["reset", "ECONNRESET nil"],
    );
}

#[test]
fn an_unreferenced_server_lets_the_loop_end() {
    logs(
        r#"
        local server = uv.new_tcp()
        server:bind("127.0.0.1", 0)
        server:listen(1, print)
        server:unref()
        log(server:is_active())
        "#,
        &["true"],
    );
}
