//! The program on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
#[cfg(target_os = "linux")]
use rustix::termios::{LocalModes, tcgetattr};

use super::Machine;

/// The program with its standard output and error on a terminal.
pub(crate) struct Terminal {
    screen: File,
    child: Child,
    shown: String,
}

impl Terminal {
    /// With nothing on standard input.
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        Self::open(|_| machine.command(arguments))
    }

    /// With standard input on the terminal too, which is the program's own: Ctrl+C reaches it.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_typing(machine: &Machine, arguments: &[&str]) -> Self {
        Self::open(|inside| {
            let program = machine.command(arguments);
            let mut command = Command::new("setsid");
            command
                .arg("--ctty")
                .arg(program.get_program())
                .args(program.get_args())
                .env_clear()
                .current_dir(machine.work())
                .stdin(Stdio::from(inside.try_clone().unwrap()));
            for (name, value) in program.get_envs() {
                command.env(name, value.unwrap());
            }
            command
        })
    }

    fn open(command: impl FnOnce(&File) -> Command) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let inside = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str().unwrap())
            .unwrap();
        let child = command(&inside)
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

    /// Types something.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Whether the terminal shows what is typed.
    #[cfg(target_os = "linux")]
    pub(crate) fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.screen).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
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
        self.read_to_end()
    }

    /// The same, for who wants to look at the terminal afterwards.
    pub(crate) fn read_to_end(&mut self) -> (Option<i32>, String) {
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
