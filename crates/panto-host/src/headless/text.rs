//! `--output text`: the answer, for people and for pipes.

use std::io::{self, Write};
use std::sync::Arc;

use pantograph::{Event, Outcome, StopReason, TurnError};

use super::{Notes, Output, RunInfo, RunResult, Sanitizer, sanitize};
use crate::host::CommandOutput;
use crate::session::SessionEvent;

/// When text leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFlow {
    /// As it arrives, made harmless for a terminal. What a failed attempt has shown stays on
    /// the screen, and a note says that it is void.
    Streaming,
    /// Each message when it is complete, unchanged but for a final newline. What a failed
    /// attempt said never leaves.
    Whole,
}

/// Writes the text of answers to one writer and notes to another.
pub struct TextOutput<O, E> {
    stdout: O,
    notes: Notes<E>,
    flow: TextFlow,
    sanitizer: Sanitizer,
    /// The finished text blocks of the answer in progress that have not left yet.
    blocks: Vec<Arc<str>>,
    /// The unfinished one.
    block: String,
    /// Notes about the tool calls of that answer: they follow its text.
    calls: Vec<String>,
    /// Something of the answer in progress is on the screen.
    attempt_shown: bool,
    /// The cursor is not at the beginning of a line.
    mid_line: bool,
}

impl<O: Write, E: Write> TextOutput<O, E> {
    /// Writes answers to `stdout` and everything else to `notes`.
    pub fn new(stdout: O, notes: Notes<E>, flow: TextFlow) -> Self {
        Self {
            stdout,
            notes,
            flow,
            sanitizer: Sanitizer::new(),
            blocks: Vec::new(),
            block: String::new(),
            calls: Vec::new(),
            attempt_shown: false,
            mid_line: false,
        }
    }

    fn stream(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::AssistantText { .. } => self.end_line(),
            Event::AssistantTextDelta { delta, .. } => {
                let mut clean = String::with_capacity(delta.len());
                self.sanitizer.push(delta, &mut clean);
                self.attempt_shown = true;
                self.show(&clean)
            }
            Event::AssistantTextComplete { .. } | Event::Settled(_) => self.end_line(),
            Event::Usage { .. } => {
                self.attempt_shown = false;
                Ok(())
            }
            Event::AttemptDiscarded { .. } => {
                self.end_line()?;
                if std::mem::take(&mut self.attempt_shown) {
                    self.notes
                        .say("the answer broke off; what it has shown is void");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn collect(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::AssistantText { .. } => self.block.clear(),
            Event::AssistantTextDelta { delta, .. } => self.block.push_str(delta),
            Event::AssistantTextComplete { text, .. } => {
                self.block.clear();
                self.blocks.push(Arc::clone(text));
            }
            Event::AttemptDiscarded { .. } => self.discard(),
            Event::Usage { .. } => return self.release(),
            Event::Settled(outcome) if keeps_partial_text(outcome) => {
                let partial = std::mem::take(&mut self.block);
                if !partial.is_empty() {
                    self.blocks.push(partial.into());
                }
                return self.release();
            }
            Event::Settled(_) => self.discard(),
            _ => {}
        }
        Ok(())
    }

    fn discard(&mut self) {
        self.block.clear();
        self.blocks.clear();
        self.calls.clear();
    }

    /// Lets the collected message leave, in one write.
    fn release(&mut self) -> io::Result<()> {
        let mut message = String::new();
        for block in std::mem::take(&mut self.blocks) {
            message.push_str(&block);
            if !message.is_empty() && !message.ends_with('\n') {
                message.push('\n');
            }
        }
        self.show(&message)?;
        for call in std::mem::take(&mut self.calls) {
            self.notes.say(&call);
        }
        Ok(())
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.mid_line = !text.ends_with('\n');
        self.stdout.write_all(text.as_bytes())?;
        self.stdout.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        let mut rest = String::new();
        self.sanitizer.finish(&mut rest);
        if self.mid_line || !rest.is_empty() {
            rest.push('\n');
        }
        self.show(&rest)
    }
}

impl<O: Write, E: Write> Output for TextOutput<O, E> {
    fn begin(&mut self, info: &RunInfo) -> io::Result<()> {
        self.notes.begin(info);
        Ok(())
    }

    fn event(&mut self, event: &SessionEvent) -> io::Result<()> {
        self.notes.count(event);
        if let SessionEvent::Turn(event) = event {
            match self.flow {
                TextFlow::Streaming => self.stream(event)?,
                TextFlow::Whole => self.collect(event)?,
            }
        }
        if let Some(line) = self.notes.line(event) {
            let is_call = matches!(event, SessionEvent::Turn(Event::ToolCallComplete { .. }));
            if self.flow == TextFlow::Whole && is_call {
                self.calls.push(line);
                return Ok(());
            }
            if self.flow == TextFlow::Streaming {
                // Both may go to the same screen.
                self.end_line()?;
            }
            self.notes.say(&line);
        }
        Ok(())
    }

    fn command(&mut self, output: &CommandOutput) -> io::Result<()> {
        let Some(text) = &output.text else {
            return Ok(());
        };
        self.end_line()?;
        let mut text = match self.flow {
            TextFlow::Streaming => sanitize(text),
            TextFlow::Whole => text.clone(),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.show(&text)
    }

    fn finish(&mut self, result: &RunResult) -> io::Result<()> {
        self.end_line()?;
        self.notes.finish(&result.usage);
        self.stdout.flush()
    }
}

/// Whether what the answer in progress has said counts, although the answer is not complete:
/// it was cut short by a person, or only could not be stored.
fn keeps_partial_text(outcome: &Outcome) -> bool {
    outcome.stop == StopReason::Cancelled || matches!(outcome.error, Some(TurnError::Session(_)))
}

#[cfg(test)]
mod tests;
