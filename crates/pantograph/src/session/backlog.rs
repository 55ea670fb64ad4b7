//! What waits to be written to a session.

/// The records of an open session that its store has not written yet, in order.
///
/// It knows when that is to be done, for those who implement [`super::Session::append`]: nothing
/// before the first assistant message, then everything at once; and what could not be written
/// goes with what comes next. `T` is a record, or what a store makes of one.
#[derive(Debug)]
pub struct Backlog<T> {
    waiting: Vec<T>,
    has_begun: bool,
}

impl<T> Backlog<T> {
    /// Of a session that has no assistant message yet.
    pub fn of_new() -> Self {
        Self {
            waiting: Vec::new(),
            has_begun: false,
        }
    }

    /// Of a session that the store holds already.
    pub fn of_stored() -> Self {
        Self {
            waiting: Vec::new(),
            has_begun: true,
        }
    }

    /// Adds what is to be written. `is_answer` tells an assistant message, with which a session
    /// begins to be written ([`super::Record::is_answer`]).
    pub fn push(&mut self, item: T, is_answer: bool) {
        self.has_begun |= is_answer;
        self.waiting.push(item);
    }

    /// Whether there is something to write now.
    pub fn is_due(&self) -> bool {
        self.has_begun && !self.waiting.is_empty()
    }

    /// Takes what is to be written now; nothing if nothing is due.
    pub fn take(&mut self) -> Vec<T> {
        match self.has_begun {
            true => std::mem::take(&mut self.waiting),
            false => Vec::new(),
        }
    }

    /// Gives back what was taken and could not be written: it comes first again.
    pub fn put_back(&mut self, mut items: Vec<T>) {
        items.append(&mut self.waiting);
        self.waiting = items;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_due_before_an_answer_and_what_failed_comes_first_again() {
        let mut backlog = Backlog::of_new();
        backlog.push("question", false);
        assert!(!backlog.is_due());
        assert!(backlog.take().is_empty());
        backlog.push("answer", true);
        let taken = backlog.take();
        assert_eq!(taken, ["question", "answer"]);
        assert!(!backlog.is_due());
        backlog.push("next", false);
        backlog.put_back(taken);
        assert_eq!(backlog.take(), ["question", "answer", "next"]);
        assert!(backlog.take().is_empty());
    }

    #[test]
    fn a_stored_session_is_written_to_at_once() {
        let mut backlog = Backlog::of_stored();
        assert!(!backlog.is_due());
        backlog.push("question", false);
        assert!(backlog.is_due());
    }
}
