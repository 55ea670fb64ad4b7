//! A terminal that does not show what is typed.

use std::io::{self, Stdin};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// The value that stands for no key of the keyboard.
const DISABLED: u8 = if cfg!(target_os = "macos") { 0xff } else { 0 };

/// As long as it lives, the terminal at standard input takes a line without showing it. Dropping
/// it, be it by a panic, makes the terminal what it was.
pub(super) struct Silent {
    terminal: Stdin,
    before: Termios,
}

impl Silent {
    /// Hides what is typed from now on; what was typed before is dropped.
    ///
    /// Ctrl+\ and Ctrl+Z do nothing meanwhile: they would leave the shell with a terminal that
    /// shows nothing. Signals end the wait, and with it this.
    ///
    /// # Errors
    ///
    /// Standard input is no terminal, or does not obey.
    pub(super) fn new() -> io::Result<Self> {
        let terminal = io::stdin();
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        let echo = LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK | LocalModes::ECHONL;
        silent.local_modes.remove(echo);
        silent
            .local_modes
            .insert(LocalModes::ICANON | LocalModes::ISIG);
        // Enter ends the line, whatever a program has left behind.
        silent.input_modes.insert(InputModes::ICRNL);
        silent.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        silent.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // What was pasted behind the line must not become a command of the shell.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
