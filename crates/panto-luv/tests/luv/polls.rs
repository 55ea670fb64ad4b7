//! Poll handles, on pipes that the test owns.

use std::io::Write;
use std::os::fd::AsRawFd;

use crate::support::Bench;

/// A state that knows both ends of a pipe by number, and the pipe.
fn with_pipe() -> (Bench, std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let bench = Bench::new();
    bench
        .lua
        .globals()
        .set("reader", reader.as_raw_fd())
        .unwrap();
    bench
        .lua
        .globals()
        .set("writer", writer.as_raw_fd())
        .unwrap();
    let read = reader.try_clone().unwrap();
    let read_one = bench
        .lua
        .create_function(move |_, ()| {
            use std::io::Read;
            let mut byte = [0];
            (&read).read_exact(&mut byte).unwrap();
            Ok(char::from(byte[0]).to_string())
        })
        .unwrap();
    bench.lua.globals().set("read_one", read_one).unwrap();
    (bench, reader, writer)
}

#[test]
fn readiness_is_level_triggered() {
    let (bench, _reader, mut writer) = with_pipe();
    writer.write_all(b"0123456789").unwrap();
    let read: String = bench.eval(
        r#"
        local poll, got = uv.new_poll(reader), {}
        poll:start("r", function(err, events)
          assert(err == nil and events == "r")
          got[#got + 1] = read_one()
          if #got == 10 then poll:stop() end
        end)
        uv.run()
        return table.concat(got)
        "#,
    );
    assert_eq!(read, "0123456789");
}

#[test]
fn it_waits_again_once_the_descriptor_is_drained() {
    let (bench, _reader, mut writer) = with_pipe();
    let write = bench
        .lua
        .create_function_mut(move |_, text: String| {
            writer
                .write_all(text.as_bytes())
                .map_err(mlua::Error::external)
        })
        .unwrap();
    bench.lua.globals().set("write", write).unwrap();
    let calls: i64 = bench.eval(
        r#"
        local poll, n = uv.new_poll(reader), 0
        local timer = uv.new_timer()
        poll:start("r", function()
          read_one()
          n = n + 1
          if n < 3 then timer:start(1, 0, function() write("x") end) else poll:close() timer:close() end
        end)
        write("x")
        uv.run()
        return n
        "#,
    );
    assert_eq!(calls, 3);
}

#[test]
fn the_descriptor_stays_open_when_its_handle_is_closed() {
    let (bench, _reader, mut writer) = with_pipe();
    bench.eval::<()>(
        r#"
        local poll = uv.new_poll(reader)
        assert(poll:fileno() == reader)
        poll:start("rd", print)
        poll:close()
        uv.run()
        assert(select(3, poll:fileno()) == "EBADF")
        "#,
    );
    writer.write_all(b"x").unwrap();
    assert_eq!(bench.eval::<String>("return read_one()"), "x");
}

#[test]
fn two_handles_may_watch_one_descriptor() {
    let (bench, _reader, mut writer) = with_pipe();
    writer.write_all(b"x").unwrap();
    let seen: i64 = bench.eval(
        r#"
        local seen = 0
        for _ = 1, 2 do
          local poll = uv.new_poll(reader)
          poll:start("r", function() seen = seen + 1 poll:close() end)
        end
        uv.run()
        return seen
        "#,
    );
    assert_eq!(seen, 2);
}

#[test]
fn a_hang_up_is_told() {
    let (bench, _reader, writer) = with_pipe();
    drop(writer);
    let events: String = bench.eval(
        r#"
        local poll, seen = uv.new_poll(reader), nil
        poll:start("r", function(_, events) seen = events poll:close() end)
        uv.run()
        return seen
        "#,
    );
    assert_eq!(events, "r");
}

#[test]
fn a_writable_end_is_writable() {
    let (bench, _reader, _writer) = with_pipe();
    let events: String = bench.eval(
        r#"
        local poll, seen = uv.new_poll(writer), nil
        poll:start("rw", function(_, events) seen = events poll:close() end)
        uv.run()
        return seen
        "#,
    );
    assert_eq!(events, "w");
}

#[test]
fn a_regular_file_and_a_closed_number_are_refused() {
    let file = tempfile::tempfile().unwrap();
    let bench = Bench::new();
    bench.lua.globals().set("fd", file.as_raw_fd()).unwrap();
    let names: (String, String, String) = bench.eval(
        "return select(3, uv.new_poll(fd)), (select(3, uv.new_poll(9999))), (select(3, uv.new_poll(-1)))",
    );
    assert_eq!(names, ("EPERM".into(), "EBADF".into(), "EBADF".into()));
}
