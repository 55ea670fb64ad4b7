//! How Lua code waits for what happens on other threads: its coroutine parks, and is resumed in
//! its lane's turn.

use std::rc::Rc;

use mlua::{Lua, MultiValue, Thread};
use panto_lua::{Place, Ready, Waiter, Waiting, Wanted};

use crate::entry::{Later, MUST_NOT_WAIT};
use crate::executor::{Executor, Step, Then};
use crate::failure::Failure;
use crate::lanes::LaneId;
use crate::raw::Word;

/// A coroutine whose wait is over.
pub(crate) struct Resume {
    thread: Thread,
    wanted: Wanted,
}

impl Resume {
    pub(crate) fn lane(&self) -> LaneId {
        LaneId::of(&self.thread)
    }
}

/// Parks coroutines.
pub(crate) struct Parking(pub(crate) Later);

impl Waiter for Parking {
    fn wait(&self, lua: &Lua, place: Place, ready: Ready) -> Waiting {
        let Some(executor) = self.0.borrow().upgrade() else {
            return Waiting::Refused("the Lua state is closing".to_owned());
        };
        if place == Place::CannotYield || Word::current(lua).is_synchronous() {
            executor.note_wait();
            return Waiting::Refused(MUST_NOT_WAIT.to_owned());
        }
        let resume = Resume {
            thread: lua.current_thread(),
            wanted: ready.wanted(),
        };
        // Somebody else resumed it: what it waits for now takes the place of what it waited for.
        let place = resume.thread.to_pointer() as usize;
        let earlier = executor.parked.borrow_mut().remove(&place);
        if let Some(key) = earlier {
            drop(executor.waits.remove(key));
        }
        match executor.waits.add(ready, Then::Resume(resume)) {
            Ok(key) => {
                executor.parked.borrow_mut().insert(place, key);
            }
            Err(Then::Resume(resume)) => executor.push(resume.lane(), Step::Resume(resume)),
            Err(Then::Force(_)) => {}
        }
        Waiting::Parked
    }
}

impl Executor {
    pub(crate) fn resume(self: &Rc<Self>, lua: &Lua, resume: Resume) {
        let Resume { thread, wanted } = resume;
        self.parked
            .borrow_mut()
            .remove(&(thread.to_pointer() as usize));
        if !wanted.is_wanted() || !thread.is_resumable() {
            return;
        }
        let resumed = {
            let _entered = self.enter(lua, LaneId::of(&thread), Some(&thread));
            thread.resume::<MultiValue>(())
        };
        if let Err(error) = resumed
            && !self.fail_thread(&thread, &error)
        {
            self.reports.error(&Failure::of("a coroutine", &error));
        }
    }
}
