//! Events that nobody has read yet.

use std::collections::VecDeque;

use pantograph::Event;

/// How much unread output of one tool call is kept. What comes beyond is counted; the call's
/// result is not affected.
const MAX_OUTPUT: usize = 1024 * 1024;

/// An event, and how many bytes of its delta were left out.
pub(crate) struct Buffered {
    pub(crate) event: Event,
    pub(crate) omitted: u64,
}

/// Unread events, in order. Deltas of one block become one, so that what is kept stays at the
/// size of the turn itself.
#[derive(Default)]
pub(super) struct Buffer {
    events: VecDeque<Buffered>,
    /// How many events at the end are deltas, of one block each: those that may still grow.
    growing: usize,
}

impl Buffer {
    /// Adds an event. Gives whether it is one more, and not part of an unread one.
    pub(super) fn push(&mut self, event: Event) -> bool {
        if !is_delta(&event) {
            self.growing = 0;
            self.events.push_back(Buffered { event, omitted: 0 });
            return true;
        }
        // Blocks and calls that run at the same time take turns, so their deltas are looked for
        // among the last ones; no other event may be overtaken.
        let newest = self.events.iter_mut().rev().take(self.growing);
        for unread in newest {
            if merge(unread, &event) {
                return false;
            }
        }
        self.growing += 1;
        let mut added = Buffered { event, omitted: 0 };
        cap(&mut added);
        self.events.push_back(added);
        true
    }

    pub(super) fn pop(&mut self) -> Option<Buffered> {
        let event = self.events.pop_front()?;
        self.growing = self.growing.min(self.events.len());
        Some(event)
    }

    pub(super) fn clear(&mut self) {
        self.events = VecDeque::new();
        self.growing = 0;
    }
}

fn is_delta(event: &Event) -> bool {
    matches!(
        event,
        Event::AssistantTextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::ToolDelta { .. }
            | Event::ToolOutputDelta { .. }
    )
}

/// Appends a delta to an unread one of the same block, if that is what it is.
fn merge(unread: &mut Buffered, event: &Event) -> bool {
    match (&mut unread.event, event) {
        (
            Event::AssistantTextDelta { index, delta },
            Event::AssistantTextDelta {
                index: at,
                delta: more,
            },
        )
        | (
            Event::ThinkingDelta { index, delta },
            Event::ThinkingDelta {
                index: at,
                delta: more,
            },
        ) if index == at => delta.push_str(more),
        (
            Event::ToolDelta { id, delta, .. },
            Event::ToolDelta {
                id: of,
                delta: more,
                ..
            },
        ) if id == of => delta.push_str(more),
        (
            Event::ToolOutputDelta { id, delta, .. },
            Event::ToolOutputDelta {
                id: of,
                delta: more,
                ..
            },
        ) if id == of => {
            // Only what comes first is kept whole, so nothing is shown behind a gap.
            let room = match unread.omitted {
                0 => MAX_OUTPUT - delta.len(),
                _ => 0,
            };
            let shown = &more[..more.floor_char_boundary(room)];
            delta.push_str(shown);
            unread.omitted += (more.len() - shown.len()) as u64;
        }
        _ => return false,
    }
    true
}

fn cap(added: &mut Buffered) {
    if let Event::ToolOutputDelta { delta, .. } = &mut added.event
        && delta.len() > MAX_OUTPUT
    {
        let keep = delta.floor_char_boundary(MAX_OUTPUT);
        added.omitted = (delta.len() - keep) as u64;
        delta.truncate(keep);
    }
}

#[cfg(test)]
mod tests;
