//! Terminals, as far as they can be tried without one, and text for other systems.

use std::os::fd::AsRawFd;

use panto_luv::Options;

use crate::support::{Bench, logs};

#[test]
fn what_is_no_terminal_is_refused_and_a_pipe_is_not() {
    let file = tempfile::tempfile().unwrap();
    let bench = Bench::new();
    bench.lua.globals().set("file", file.as_raw_fd()).unwrap();
    bench.eval::<()>(
        r#"
        log(select(3, uv.new_tty(file, true)), (select(3, uv.new_tty(9999, true))), uv.guess_handle(file))
        local fds = uv.pipe()
        local tty = uv.new_tty(fds.read, true)
        log((tty:get_type()), uv.guess_handle(fds.read), (select(3, tty:get_winsize())), (select(3, tty:set_mode("raw"))))
        log(pcall(tty.set_mode, tty, "sideways"))
        log(uv.tty_reset_mode(), (select(3, uv.tty_get_vterm_state())))
        tty:close()
        "#,
    );
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '\\n')"),
        "EINVAL EBADF file\n\
         tty pipe ENOTTY ENOTTY\n\
         false bad argument #2 to 'tty_set_mode' (invalid option 'sideways')\n\
         0 ENOTSUP"
    );
}

#[test]
fn a_terminal_that_somebody_draws_on_keeps_its_mode() {
    let bench = Bench::with(Options::new().terminal_is_taken(|| true));
    let name: String = bench.eval(
        "local tty = uv.new_tty(uv.pipe().read, true) local name = select(3, tty:set_mode('raw')) tty:close() return name",
    );
    assert_eq!(name, "EBUSY");
}

#[test]
fn a_real_terminal_changes_its_mode_and_back() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let path = ptsname(&controller, Vec::new()).unwrap();
    let bench = Bench::new();
    bench
        .lua
        .globals()
        .set("path", path.to_str().unwrap())
        .unwrap();
    let control = controller.as_raw_fd();
    bench.lua.globals().set("control", control).unwrap();
    bench.eval::<()>(
        r#"
        local fd = uv.fs_open(path, "r+", 0)
        local tty = uv.new_tty(fd, true)
        log(uv.guess_handle(fd), tty:is_readable(), tty:is_writable(), tty:get_winsize())
        log(tty:set_mode("raw"), tty:set_mode(0), tty:set_mode("raw"))
        tty:read_start(function(err, data)
          log(err, data, uv.tty_reset_mode())
          tty:close()
        end)
        uv.fs_write(control, "k")
        "#,
    );
    bench.eval::<()>("uv.run()");
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '\\n')"),
        "tty true true 0 0\n0 0 0\nnil k 0"
    );
    let local = rustix::termios::tcgetattr(&controller).unwrap().local_modes;
    assert!(local.contains(rustix::termios::LocalModes::ICANON));
}

#[test]
fn utf16_goes_to_wtf8_and_back() {
    logs(
        r##"
        for _, text in ipairs { "", "abc", "ä€😀", "\xed\xa0\x80x" } do
          local wide = uv.wtf8_to_utf16(text)
          log(#wide, uv.wtf8_length_as_utf16(text), uv.utf16_to_wtf8(wide) == text, uv.utf16_length_as_wtf8(wide) == #text)
        end
        log(pcall(uv.wtf8_to_utf16, "\xff"))
        log(pcall(uv.utf16_to_wtf8, "x"))
        "##,
        &[
            "0 0 true true",
            "6 3 true true",
            "8 4 true true",
            "4 2 true true",
            "false bad argument #1 to 'wtf8_to_utf16' (not a WTF-8 string)",
            "false bad argument #1 to 'utf16_to_wtf8' (a UTF-16 string has an even number of bytes)",
        ],
    );
}
