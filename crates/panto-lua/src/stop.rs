//! How a turn that Lua started is asked to stop.

use std::time::Duration;

use mlua::Lua;
use pantograph::TurnControl;

use crate::args::Args;
use crate::embedding::{Embedding, Enclosing};
use crate::fault::Fault;

/// The turn's control, and the turn that it was started in.
#[derive(Clone)]
pub(crate) struct Stop {
    control: TurnControl,
    enclosing: Option<Enclosing>,
    grace: Duration,
}

impl Stop {
    /// Of a turn that the code that runs now starts.
    pub(crate) fn new(lua: &Lua, embedding: &Embedding, control: TurnControl) -> Self {
        Self {
            control,
            enclosing: embedding.enclosing(lua),
            grace: embedding.options.grace,
        }
    }

    /// Asks it to stop, in good time before the turn around it is forced. No-op once it has
    /// settled.
    pub(crate) fn ask(&self, grace: Option<Duration>) {
        let grace = grace.unwrap_or(self.grace);
        let grace = match &self.enclosing {
            Some(enclosing) => enclosing.bounded(grace),
            None => grace,
        };
        self.control.cancel_within(grace);
    }

    /// As [`Stop::ask`], with the grace period that Lua may give.
    pub(crate) fn ask_as(&self, args: &mut Args) -> Result<(), Fault> {
        let mut grace = None;
        if let Some(options) = args.next("options").given() {
            let options = options.options(&["grace_ms"])?;
            if let Some(field) = options.given("grace_ms")? {
                grace = Some(Duration::from_millis(field.count()?));
            }
        }
        self.ask(grace);
        Ok(())
    }
}
