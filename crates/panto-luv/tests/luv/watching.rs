//! Watching files, by the system's word and by looking.

use tempfile::TempDir;

use crate::support::Bench;

fn in_folder(script: &str) -> String {
    let folder = TempDir::new().unwrap();
    let bench = Bench::new();
    bench
        .lua
        .globals()
        .set("dir", folder.path().to_str().unwrap())
        .unwrap();
    bench.eval::<()>(
        r#"
        function put(name, text)
          local fd = assert(uv.fs_open(dir .. "/" .. name, "w", 420))
          uv.fs_write(fd, text)
          uv.fs_close(fd)
        end
        "#,
    );
    bench.eval::<()>(script);
    bench.eval::<()>("uv.run()");
    assert_eq!(*bench.errors.borrow(), [""; 0]);
    bench.eval("return table.concat(lines, '\\n')")
}

#[test]
fn what_happens_in_a_folder_is_told_by_name() {
    let log = in_folder(
        r#"
        local event, seen = uv.new_fs_event(), {}
        log(event:start(dir, {}, function(err, name, kinds)
          assert(not err, err)
          local kind = (kinds.change and "change" or "") .. (kinds.rename and "rename" or "")
          if seen[#seen] ~= name .. ":" .. kind then seen[#seen + 1] = name .. ":" .. kind end
          if name == "last" then
            log(table.concat(seen, " "))
            log(event:getpath() == dir, event:stop(), event:is_active(), (select(3, event:getpath())))
            event:close()
          end
        end))
        log(event:is_active(), (select(3, event:start(dir, {}, print))))
        put("file", "text")
        uv.fs_unlink(dir .. "/file")
        uv.fs_mkdir(dir .. "/last", 493)
        "#,
    );
    assert_eq!(
        log,
        "0\ntrue EINVAL\nfile:rename file:change file:rename last:rename\ntrue 0 false EINVAL"
    );
}

#[test]
fn two_may_watch_one_file_and_one_may_stop() {
    let log = in_folder(
        r#"
        put("file", "")
        local a, b = uv.new_fs_event(), uv.new_fs_event()
        a:start(dir .. "/file", {}, function(_, name, kinds) log("a", name, kinds.change) b:close() a:close() end)
        b:start(dir .. "/file", {}, function() log("b") end)
        local fd = uv.fs_open(dir .. "/file", "a", 420)
        uv.fs_write(fd, "x")
        uv.fs_close(fd)
        log(select(3, uv.new_fs_event():start(dir .. "/none", {}, print)))
        "#,
    );
    assert_eq!(log, "ENOENT\na file true");
}

#[test]
fn looking_finds_a_change_and_a_loss() {
    let log = in_folder(
        r#"
        put("file", "1")
        local poll, n = uv.new_fs_poll(), 0
        log(poll:start(dir .. "/file", 2, function(err, before, after)
          n = n + 1
          log(err, before and before.size, after and after.size)
          if n == 1 then uv.fs_unlink(dir .. "/file") else poll:close() end
        end))
        log(poll:getpath() == dir .. "/file", poll:is_active())
        -- Is replaced until it is noticed: the first look may come before or after.
        local replace = uv.new_timer()
        replace:start(4, 4, function()
          if n > 0 then replace:close() return end
          put("new", "123456789012")
          uv.fs_rename(dir .. "/new", dir .. "/file")
        end)
        "#,
    );
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..2], ["0", "true true"], "{log}");
    assert!(
        lines[2].starts_with("nil ") && lines[2].ends_with(" 12"),
        "{log}"
    );
    assert_eq!(lines[3], "ENOENT 12 nil", "{log}");
}
