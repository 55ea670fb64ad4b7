//! Files and folders: every operation at once and with a callback.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use crate::support::Bench;

/// Runs a script in which `dir` is a folder of the test's own, and returns its log. `both(name, …)` logs what an operation
/// answers at once, then what it gives to a callback, which must be the same.
fn log_in(folder: &TempDir, script: &str) -> String {
    let bench = Bench::new();
    bench
        .lua
        .globals()
        .set("dir", folder.path().to_str().unwrap())
        .unwrap();
    bench.eval::<()>(
        r#"
        local function show(value)
          if type(value) ~= "table" then return (tostring(value):gsub(dir, "DIR", nil, true)) end
          return "table"
        end
        function say(...)
          local words = table.pack(...)
          for i = 1, words.n do words[i] = show(words[i]) end
          log(table.concat(words, " "))
        end
        function later(name, ...)
          local arguments = table.pack(...)
          arguments.n = arguments.n + 1
          arguments[arguments.n] = function(...) say(name, ...) end
          local request = uv[name](table.unpack(arguments, 1, arguments.n))
          assert(tostring(request):match("^uv_req_t: "), tostring(request))
          uv.run()
        end
        "#,
    );
    bench.eval::<()>(script);
    bench.eval::<()>("uv.run()");
    assert_eq!(*bench.errors.borrow(), [""; 0]);
    bench.eval("return table.concat(lines, '\\n')")
}

#[track_caller]
fn logs_in(folder: &TempDir, script: &str, expected: &[&str]) {
    assert_eq!(log_in(folder, script), expected.join("\n"));
}

#[test]
fn a_file_is_written_and_read_at_once() {
    logs_in(
        &TempDir::new().unwrap(),
        r##"
        local fd = assert(uv.fs_open(dir .. "/f", "w+", tonumber("640", 8)))
        say(math.type(fd), uv.fs_write(fd, "hello"), uv.fs_write(fd, { " ", "world" }), uv.fs_write(fd, "J", 0))
        say(uv.fs_read(fd, 100, 0), uv.fs_read(fd, 5, 6), #uv.fs_read(fd, 10), #uv.fs_read(fd, 0))
        say(uv.fs_fsync(fd), uv.fs_fdatasync(fd), uv.fs_ftruncate(fd, 4), uv.fs_fstat(fd).size)
        say(uv.fs_read(fd, 100, 0))
        say(uv.fs_close(fd))
        say(uv.fs_close(fd))
        "##,
        &[
            "integer 5 6 1",
            "Jello world world 0 0",
            "true true true 4",
            "Jell",
            "true",
            "nil EBADF: bad file descriptor EBADF",
        ],
    );
}

#[test]
fn a_file_is_written_and_read_with_callbacks() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        uv.fs_open(dir .. "/f", "w+", 420, function(err, fd)
          assert(not err, err)
          uv.fs_write(fd, "data", function(err, written)
            say(err, written)
            uv.fs_read(fd, 10, 0, function(err, data)
              say(err, data)
              uv.fs_read(fd, 10, nil, function(err, data)
                say(err, "[" .. data .. "]")
                uv.fs_fstat(fd, function(err, stat)
                  say(err, stat.size, stat.type)
                  uv.fs_close(fd, function(err, done) say(err, done) end)
                end)
              end)
            end)
          end)
        end)
        "#,
        &["nil 4", "nil data", "nil []", "nil 4 file", "nil true"],
    );
}

#[test]
fn failures_name_the_path_and_callbacks_get_the_message_alone() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        say(uv.fs_stat(dir .. "/none"))
        say(uv.fs_rename(dir .. "/none", dir .. "/b"))
        say(uv.fs_open(dir .. "/none", "r", 0))
        say(uv.fs_scandir(dir .. "/none"))
        say(uv.fs_read(999, 1))
        later("fs_stat", dir .. "/none")
        later("fs_rename", dir .. "/none", dir .. "/b")
        later("fs_scandir", dir .. "/none")
        later("fs_read", 999, 1, 0)
        say(pcall(uv.fs_open, dir, "sideways", 0))
        say(pcall(uv.fs_stat))
        "#,
        &[
            "nil ENOENT: no such file or directory: DIR/none ENOENT",
            "nil ENOENT: no such file or directory: DIR/none -> DIR/b ENOENT",
            "nil ENOENT: no such file or directory: DIR/none ENOENT",
            "nil ENOENT: no such file or directory: DIR/none ENOENT",
            "nil EBADF: bad file descriptor EBADF",
            "fs_stat ENOENT: no such file or directory: DIR/none",
            "fs_rename ENOENT: no such file or directory: DIR/none -> DIR/b",
            "fs_scandir ENOENT: no such file or directory: DIR/none",
            "fs_read EBADF: bad file descriptor",
            "false bad argument #2 to 'fs_open' (unknown file open flag 'sideways')",
            "false bad argument #1 to 'fs_stat' (string expected, got no value)",
        ],
    );
}

#[test]
fn paths_are_made_linked_moved_and_removed() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        local d, f, l = dir .. "/d", dir .. "/d/f", dir .. "/l"
        say(uv.fs_mkdir(d, tonumber("755", 8)), (select(3, uv.fs_mkdir(d, 493))))
        say(uv.fs_close(uv.fs_open(f, "wx", 420)), (select(3, uv.fs_open(f, "wx", 420))))
        say(uv.fs_link(f, dir .. "/hard"), uv.fs_stat(f).nlink)
        say(uv.fs_symlink(f, l), uv.fs_readlink(l), uv.fs_realpath(l))
        say(uv.fs_lstat(l).type, uv.fs_stat(l).type, uv.fs_stat(d).type)
        say(uv.fs_symlink(d, dir .. "/l2", { dir = true }))
        say(uv.fs_rename(dir .. "/hard", dir .. "/soft"), uv.fs_unlink(dir .. "/soft"))
        say((select(3, uv.fs_rmdir(d))))
        later("fs_unlink", f)
        later("fs_rmdir", d)
        later("fs_mkdir", d, 493)
        later("fs_readlink", l)
        later("fs_symlink", "target", dir .. "/l3")
        "#,
        &[
            "true EEXIST",
            "true EEXIST",
            "true 2",
            "true DIR/d/f DIR/d/f",
            "link file directory",
            "true",
            "true true",
            "ENOTEMPTY",
            "fs_unlink nil true",
            "fs_rmdir nil true",
            "fs_mkdir nil true",
            "fs_readlink nil DIR/d/f",
            "fs_symlink nil true",
        ],
    );
}

#[test]
fn status_has_every_field() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, "12345").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    logs_in(
        &folder,
        r#"
        local stat, names = uv.fs_stat(dir .. "/f"), {}
        for name in pairs(stat) do names[#names + 1] = name end
        table.sort(names)
        say(table.concat(names, " "))
        say(stat.size, stat.type, ("%o"):format(stat.mode), stat.nlink, stat.uid == uv.getuid())
        say(os.time() - stat.mtime.sec < 60, stat.birthtime.sec > 0, math.type(stat.ctime.nsec))
        local fs = uv.fs_statfs(dir)
        say(fs.bsize > 0, fs.blocks >= fs.bfree, math.type(fs.type), math.type(fs.ffree))
        "#,
        &[
            "atime birthtime blksize blocks ctime dev flags gen gid ino mode mtime nlink rdev size type uid",
            "5 file 100640 1 true",
            "true true integer",
            "true true integer integer",
        ],
    );
}

#[test]
fn permissions_and_times_change() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        local f = dir .. "/f"
        local fd = uv.fs_open(f, "w", 420)
        say(uv.fs_chmod(f, tonumber("600", 8)), ("%o"):format(uv.fs_stat(f).mode))
        say(uv.fs_fchmod(fd, tonumber("640", 8)), ("%o"):format(uv.fs_fstat(fd).mode))
        say(uv.fs_access(f, "RW"), uv.fs_access(dir .. "/none", "r"), uv.fs_access(f, 4))
        say(uv.fs_utime(f, 1000.5, 2000), uv.fs_stat(f).atime.sec, uv.fs_stat(f).atime.nsec, uv.fs_stat(f).mtime.sec)
        say(uv.fs_futime(fd, nil, 3000), uv.fs_stat(f).atime.sec, uv.fs_stat(f).mtime.sec)
        say(uv.fs_utime(f, "omit", "now"), uv.fs_stat(f).atime.sec, os.time() - uv.fs_stat(f).mtime.sec < 60)
        uv.fs_symlink(f, dir .. "/l")
        say(uv.fs_lutime(dir .. "/l", 5, 6), uv.fs_lstat(dir .. "/l").mtime.sec, uv.fs_stat(f).mtime.sec ~= 6)
        say(uv.fs_chown(f, -1, -1), uv.fs_fchown(fd, uv.getuid(), uv.getgid()), uv.fs_lchown(dir .. "/l", -1, -1))
        later("fs_access", f, "r")
        later("fs_access", dir .. "/none", "r")
        later("fs_utime", f, 1, 2)
        uv.fs_close(fd)
        "#,
        &[
            "true 100600",
            "true 100640",
            "true false true",
            "true 1000 500000000 2000",
            "true 1000 3000",
            "true 1000 true",
            "true 6 true",
            "true true true",
            "fs_access nil true",
            "fs_access nil false",
            "fs_utime nil true",
        ],
    );
}

#[test]
fn temporary_names_are_new() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        local a, b = uv.fs_mkdtemp(dir .. "/t-XXXXXX"), uv.fs_mkdtemp(dir .. "/t-XXXXXX")
        say(a ~= b, uv.fs_stat(a).type, ("%o"):format(uv.fs_stat(a).mode))
        local fd, path = uv.fs_mkstemp(dir .. "/f-XXXXXX")
        say(uv.fs_write(fd, "x"), uv.fs_stat(path).size, uv.fs_close(fd))
        say(uv.fs_mkdtemp(dir .. "/t"))
        uv.fs_mkstemp(dir .. "/XXXXXX", function(err, fd, path) say(err, uv.fs_stat(path).type, uv.fs_close(fd)) end)
        "#,
        &[
            "true directory 40700",
            "1 1 true",
            "nil EINVAL: invalid argument: DIR/t EINVAL",
            "nil file true",
        ],
    );
}

#[test]
fn folders_are_listed_by_name_or_bit_by_bit() {
    logs_in(
        &TempDir::new().unwrap(),
        r##"
        for _, name in ipairs { "c", "a", "b" } do uv.fs_close(uv.fs_open(dir .. "/" .. name, "w", 420)) end
        uv.fs_mkdir(dir .. "/d", 493)
        uv.fs_symlink("a", dir .. "/e")
        local function names(request)
          local names = {}
          for name, kind in uv.fs_scandir_next, request do names[#names + 1] = name .. ":" .. kind end
          return table.concat(names, " ")
        end
        say(names(uv.fs_scandir(dir)))
        local request
        request = uv.fs_scandir(dir, function(err, own) say(err, rawequal(own, request), names(own)) end)
        uv.run()
        local opened, seen = assert(uv.fs_opendir(dir, nil, 2)), {}
        say((tostring(opened):gsub(":.*", "")))
        repeat
          local some = opened:readdir()
          say(some and #some)
          for _, entry in ipairs(some or {}) do seen[#seen + 1] = entry.name .. ":" .. entry.type end
        until not some
        table.sort(seen)
        say(table.concat(seen, " "))
        say(opened:closedir(), opened:closedir())
        uv.fs_opendir(dir, function(err, opened)
          opened:readdir(function(err, some)
            say(err, #some)
            opened:closedir(function(err, done) say(err, done) end)
          end)
        end, 10)
        "##,
        &[
            "a:file b:file c:file d:directory e:link",
            "nil true a:file b:file c:file d:directory e:link",
            "uv_dir_t",
            "2",
            "2",
            "1",
            "nil",
            "a:file b:file c:file d:directory e:link",
            "true nil EBADF: bad file descriptor EBADF",
            "nil 5",
            "nil true",
        ],
    );
}

#[test]
fn files_are_copied_whole_or_not_at_all() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        local a, b, c = dir .. "/a", dir .. "/b", dir .. "/c"
        local fd = uv.fs_open(a, "w", tonumber("640", 8))
        uv.fs_write(fd, ("x"):rep(100000))
        uv.fs_close(fd)
        say(uv.fs_copyfile(a, b), uv.fs_stat(b).size, ("%o"):format(uv.fs_stat(b).mode))
        say((select(3, uv.fs_copyfile(a, b, { excl = true }))), (select(3, uv.fs_copyfile(a, b, 1))))
        say(uv.fs_copyfile(a, a), uv.fs_stat(a).size)
        say(uv.fs_copyfile(a, c, { ficlone = true }), uv.fs_stat(c).size)
        say(uv.fs_copyfile(dir .. "/none", c))
        later("fs_copyfile", a, b)
        later("fs_copyfile", a, b, { excl = true })
        local from, to = uv.fs_open(a, "r", 0), uv.fs_open(dir .. "/s", "w", 420)
        say(uv.fs_sendfile(to, from, 99990, 100), uv.fs_stat(dir .. "/s").size)
        uv.fs_close(from) uv.fs_close(to)
        "#,
        &[
            "true 100000 100640",
            "EEXIST EEXIST",
            "true 100000",
            "true 100000",
            "nil ENOENT: no such file or directory: DIR/none -> DIR/c ENOENT",
            "fs_copyfile nil true",
            "fs_copyfile EEXIST: file already exists: DIR/a -> DIR/b",
            "10 10",
        ],
    );
}

#[test]
fn a_request_can_be_cancelled_until_a_thread_takes_it() {
    let log = log_in(
        &TempDir::new().unwrap(),
        r#"
        -- Keeps every thread of the pool busy until it is read from.
        local pipe = uv.pipe()
        for _ = 1, 4 do uv.fs_read(pipe.read, 1, nil, function() end) end
        local waiting = uv.fs_stat(dir, function(err) say(err) end)
        say(waiting:cancel(), waiting:get_type())
        say(waiting:cancel())
        for _ = 1, 4 do uv.fs_write(pipe.write, "x") end
        uv.run()
        local over = uv.fs_stat(dir, function(err, stat) say(err, stat.type) end)
        uv.run()
        say(uv.cancel(over))
        uv.fs_close(pipe.read) uv.fs_close(pipe.write)
        "#,
    );
    assert_eq!(
        log,
        "0 fs 6\n\
         nil EBUSY: resource busy or locked EBUSY\n\
         ECANCELED: operation canceled: DIR\n\
         nil directory\n\
         nil EBUSY: resource busy or locked EBUSY"
    );
}

#[test]
fn the_standard_streams_can_be_used_and_not_closed() {
    logs_in(
        &TempDir::new().unwrap(),
        r#"
        say(uv.fs_write(2, ""))
        say(uv.fs_close(2))
        say(uv.fs_fstat(2).size >= 0)
        "#,
        &["0", "nil EBADF: bad file descriptor EBADF", "true"],
    );
}
