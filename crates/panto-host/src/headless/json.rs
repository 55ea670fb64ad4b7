//! `--output json`: one object at the end.

use std::io::{self, Write};

use super::{Notes, Output, RunInfo, RunResult, result};
use crate::host::CommandOutput;
use crate::session::SessionEvent;

/// Writes exactly one JSON object, of type `result`, when the run is over.
pub struct JsonOutput<O, E> {
    stdout: O,
    notes: Notes<E>,
    /// What a command gave for programs.
    data: Option<serde_json::Value>,
}

impl<O: Write, E: Write> JsonOutput<O, E> {
    /// Writes the object to `stdout` and what people are to know meanwhile to `notes`.
    pub fn new(stdout: O, notes: Notes<E>) -> Self {
        Self {
            stdout,
            notes,
            data: None,
        }
    }
}

impl<O: Write, E: Write> Output for JsonOutput<O, E> {
    fn begin(&mut self, info: &RunInfo) -> io::Result<()> {
        self.notes.begin(info);
        Ok(())
    }

    fn event(&mut self, event: &SessionEvent) -> io::Result<()> {
        self.notes.event(event);
        Ok(())
    }

    fn command(&mut self, output: &CommandOutput) -> io::Result<()> {
        self.data.clone_from(&output.data);
        Ok(())
    }

    fn finish(&mut self, result: &RunResult) -> io::Result<()> {
        result::write(&mut self.stdout, result, self.data.as_ref())
    }
}
