//! Requests of a handle that are over and not told yet. They are told in the pending phase, or right before the handle's
//! close callback if that comes first: nothing is called back after it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;

/// How a request went.
pub(crate) type Outcome = Result<(), UvError>;

/// What is to be told to whom. The loop is alive until it is.
#[derive(Default)]
pub(crate) struct Outcomes(RefCell<VecDeque<(Option<Callback>, Outcome)>>);

impl Outcomes {
    /// Has a request told later how it went.
    pub(crate) fn add(self: &Rc<Self>, uv: &Uv, callback: Option<Callback>, outcome: Outcome) {
        let is_first = self.0.borrow().is_empty();
        self.0.borrow_mut().push_back((callback, outcome));
        if is_first {
            let outcomes = Rc::clone(self);
            uv.queue().push(move |uv| outcomes.tell_all(uv));
        }
    }

    /// Tells all that there is to tell. What the callbacks add is told later.
    pub(crate) fn tell_all(&self, uv: &Uv) {
        let outcomes = std::mem::take(&mut *self.0.borrow_mut());
        for (callback, outcome) in outcomes {
            tell(uv, callback, outcome);
        }
    }
}

/// Tells one request how it went.
pub(crate) fn tell(uv: &Uv, callback: Option<Callback>, outcome: Outcome) {
    uv.drop_alive();
    if let Some(callback) = callback {
        uv.invoke(&callback, outcome.err().map(UvError::name));
    }
}
