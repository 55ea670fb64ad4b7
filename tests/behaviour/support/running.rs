//! The program while it runs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Machine, Ran};

/// The program while it runs. Killed if the test is through with it early.
pub(crate) struct Running<'a> {
    machine: &'a Machine,
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl<'a> Running<'a> {
    pub(super) fn start(machine: &'a Machine, command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            machine,
            child,
            lines,
        }
    }

    /// Reads lines until one holds `part`; gives all of them.
    #[track_caller]
    pub(crate) fn read_until(&mut self, part: &str) -> String {
        let mut text = String::new();
        loop {
            let start = text.len();
            let read = self.lines.read_line(&mut text).unwrap();
            assert_ne!(read, 0, "no `{part}` in:\n{text}\n{}", self.errors());
            if text[start..].contains(part) {
                return text;
            }
        }
    }

    /// Reads so many lines, or those that there are.
    pub(crate) fn read_lines(&mut self, count: usize) {
        let mut line = String::new();
        for _ in 0..count {
            self.lines.read_line(&mut line).unwrap();
        }
    }

    /// Reads the first bytes, and leaves them for the next to read.
    pub(crate) fn read_some(&mut self) {
        assert!(!self.lines.fill_buf().unwrap().is_empty());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Closes the reading end of its standard output.
    pub(crate) fn close_output(&mut self) {
        self.lines = BufReader::new(Self::nothing());
    }

    /// Closes the reading end of its standard output, and waits for its end.
    pub(crate) fn stop_reading(mut self) -> Ran {
        let machine = self.machine;
        self.close_output();
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        Ran {
            code: self.child.wait().unwrap().code(),
            stdout: String::new(),
            stderr: machine.readable(&stderr),
        }
    }

    /// Waits for the end; `stdout` is what has not been read yet.
    pub(crate) fn finish(mut self) -> Ran {
        let mut stdout = String::new();
        self.lines.read_to_string(&mut stdout).unwrap();
        let stderr = self.errors();
        Ran {
            code: self.child.wait().unwrap().code(),
            stdout,
            stderr: self.machine.readable(&stderr),
        }
    }

    /// Waits until the program has a thread of that name.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_thread(&self, name: &str) {
        let threads = format!("/proc/{}/task", self.pid());
        let has = |name| {
            let Ok(threads) = std::fs::read_dir(&threads) else {
                return false;
            };
            threads.flatten().any(|thread| {
                let comm = std::fs::read_to_string(thread.path().join("comm"));
                comm.is_ok_and(|comm| comm.trim_end() == name)
            })
        };
        while !has(name) {
            std::thread::yield_now();
        }
    }

    /// Sends `signal` until the program has ended; gives the exit code.
    pub(crate) fn insist(mut self, signal: Signal) -> Option<i32> {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            self.signal(signal);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the end without reading; gives the exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut text).unwrap();
        }
        text
    }

    /// The output of a program that says nothing.
    fn nothing() -> ChildStdout {
        let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        child.wait().unwrap();
        child.stdout.take().unwrap()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Fails only if it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
