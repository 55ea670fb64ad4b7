//! Lanes: on whose behalf Lua code runs.
//!
//! An agent that has a batch of calls under way has a lane. Every coroutine and every callback
//! of the loop carries the number of the lane that it was made in. Steps of different lanes take
//! turns, one at a time, so that no lane waits for more than one step of each other.

use std::collections::{HashMap, VecDeque};

use mlua::{Lua, Thread};
use pantograph::{Agent, AgentId, Cancel};

use crate::raw::Word;

/// Names a lane. Numbers are not used again, so a coroutine that outlives its lane finds nobody
/// else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LaneId(usize);

impl LaneId {
    /// Code that no batch raised: the session's own.
    pub(crate) const SESSION: Self = Self(0);

    /// What its coroutines carry.
    pub(crate) fn word(self) -> Word {
        Word::of_lane(self.0)
    }

    /// The lane of the code that calls.
    pub(crate) fn current(lua: &Lua) -> Self {
        Self(Word::current(lua).lane())
    }

    pub(crate) fn of_word(word: Word) -> Self {
        Self(word.lane())
    }

    /// The lane that a coroutine was made in.
    pub(crate) fn of(thread: &Thread) -> Self {
        Self(Word::of(thread).lane())
    }

    /// As a number, and back.
    pub(crate) fn number(self) -> u64 {
        self.0 as u64
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self(number as usize)
    }
}

/// The lanes of agents with calls under way.
#[derive(Default)]
pub(crate) struct Lanes {
    last: usize,
    by_agent: HashMap<AgentId, LaneId>,
    lanes: HashMap<LaneId, Lane>,
}

/// An agent with calls under way.
struct Lane {
    agent: Agent,
    /// The signal of its turn.
    cancel: Cancel,
    batches: usize,
}

impl Lanes {
    /// The lane of a batch's agent, until [`Lanes::leave`].
    pub(crate) fn enter(&mut self, agent: &Agent, cancel: &Cancel) -> LaneId {
        let id = *self.by_agent.entry(agent.id()).or_insert_with(|| {
            self.last += 1;
            LaneId(self.last)
        });
        let lane = self.lanes.entry(id).or_insert_with(|| Lane {
            agent: agent.clone(),
            cancel: cancel.clone(),
            batches: 0,
        });
        lane.cancel = cancel.clone();
        lane.batches += 1;
        id
    }

    /// A batch has ended. Gives the agent that is not needed any more: it may be the last handle,
    /// and is to be dropped when nothing is borrowed.
    pub(crate) fn leave(&mut self, id: LaneId) -> Option<Agent> {
        let lane = self.lanes.get_mut(&id)?;
        lane.batches -= 1;
        if lane.batches > 0 {
            return None;
        }
        let lane = self.lanes.remove(&id)?;
        self.by_agent.remove(&lane.agent.id());
        Some(lane.agent)
    }

    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn agent(&self, id: LaneId) -> Option<&Agent> {
        self.lanes.get(&id).map(|lane| &lane.agent)
    }

    /// The signals of all turns.
    pub(crate) fn cancels(&self) -> Vec<Cancel> {
        let cancels = self.lanes.values().map(|lane| lane.cancel.clone());
        cancels.collect()
    }

    pub(crate) fn cancel(&self, id: LaneId) -> Option<&Cancel> {
        self.lanes.get(&id).map(|lane| &lane.cancel)
    }
}

/// What is to be done for each lane. Lanes take turns.
pub(crate) struct Turns<T> {
    order: VecDeque<LaneId>,
    steps: HashMap<LaneId, VecDeque<T>>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            steps: HashMap::new(),
        }
    }
}

impl<T> Turns<T> {
    pub(crate) fn push(&mut self, lane: LaneId, step: T) {
        let steps = self.steps.entry(lane).or_default();
        if steps.is_empty() {
            self.order.push_back(lane);
        }
        steps.push_back(step);
    }

    /// The next step of the lane whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<(LaneId, T)> {
        let lane = self.order.pop_front()?;
        let steps = self.steps.get_mut(&lane)?;
        let step = steps.pop_front()?;
        if steps.is_empty() {
            self.steps.remove(&lane);
        } else {
            self.order.push_back(lane);
        }
        Some((lane, step))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_with_one_step_waits_for_one_of_each_other() {
        let mut turns = Turns::default();
        let (long, short) = (LaneId(1), LaneId(2));
        (0..1000).for_each(|step| turns.push(long, step));
        turns.push(short, 5000);
        let first: Vec<_> = (0..3).filter_map(|_| turns.pop()).collect();
        assert_eq!(first, [(long, 0), (short, 5000), (long, 1)]);
    }
}
