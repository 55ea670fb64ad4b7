//! The program on a terminal.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Machine;

/// The program with its standard output and error on a terminal.
pub(crate) struct Terminal {
    screen: File,
    child: Child,
    shown: String,
}

impl Terminal {
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let inside = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let child = machine
            .command(arguments)
            .stdout(Stdio::from(inside.try_clone().unwrap()))
            .stderr(Stdio::from(inside))
            .spawn()
            .unwrap();
        Self {
            screen: File::from(screen),
            child,
            shown: String::new(),
        }
    }

    /// Reads what is shown until it holds `part`.
    pub(crate) fn read_until(&mut self, part: &str) {
        while !self.shown.contains(part) {
            assert!(self.read(), "no `{part}` in:\n{}", self.shown);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Reads to the end; gives the exit code and all that was shown.
    pub(crate) fn finish(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        (code, self.shown.replace("\r\n", "\n"))
    }

    /// Reads some more; false at the end, which a terminal reports as an error.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 1024];
        let Ok(length @ 1..) = self.screen.read(&mut buffer) else {
            return false;
        };
        self.shown
            .push_str(&String::from_utf8_lossy(&buffer[..length]));
        true
    }
}
