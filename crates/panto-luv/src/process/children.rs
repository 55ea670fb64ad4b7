//! Children that have not ended: of a loop, for a host whose session is over, and of the whole process, which may have to
//! end at once, on whichever thread.

use std::cell::RefCell;
use std::collections::BTreeMap;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::event_loop::Uv;

/// By number: those of every loop that somebody still holds.
static HELD: Mutex<BTreeMap<i32, Whole>> = Mutex::new(BTreeMap::new());

/// What ends with a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Process,
    /// It is detached, and leads a group of its own.
    Group,
}

/// Children of one loop that were not detached, by number.
#[derive(Default)]
pub(crate) struct Children(RefCell<BTreeMap<i32, ()>>);

pub(super) fn began(uv: &Uv, pid: i32, whole: Whole) {
    HELD.lock().insert(pid, whole);
    if whole == Whole::Process {
        uv.children().0.borrow_mut().insert(pid, ());
    }
}

/// It has been reaped: its number may be another's.
pub(super) fn ended(children: &Children, pid: i32) {
    HELD.lock().remove(&pid);
    children.0.borrow_mut().remove(&pid);
}

/// A detached child whose handle is closed, or not referenced, is to outlive us.
pub(super) fn let_go(pid: i32) {
    let mut held = HELD.lock();
    if held.get(&pid) == Some(&Whole::Group) {
        held.remove(&pid);
    }
}

/// Kills every child of the process that has not ended, and the groups of those that are detached: for a process that
/// ends without waiting. A detached child whose handle was closed or is not referenced goes on.
pub fn kill_children() {
    for (pid, whole) in &*HELD.lock() {
        let Some(pid) = Pid::from_raw(*pid) else {
            continue;
        };
        // Whoever has ended meanwhile needs no signal.
        let _ = match whole {
            Whole::Process => kill_process(pid, Signal::KILL),
            Whole::Group => kill_process_group(pid, Signal::KILL),
        };
    }
}

impl Uv {
    /// Whether children have not ended that were not detached.
    pub fn has_children(&self) -> bool {
        !self.children().0.borrow().is_empty()
    }

    /// Asks these to end, or kills them.
    pub fn stop_children(&self, kill: bool) {
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        for pid in self.children().0.borrow().keys() {
            if let Some(pid) = Pid::from_raw(*pid) {
                let _ = kill_process(pid, signal);
            }
        }
    }
}
