//! Handlers: Lua functions that run as coroutines, may wait, and report their own end.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use mlua::{Lua, MultiValue, Thread, Value};
use pantograph::{AgentId, BatchId, Cancel, RawJson, ToolBatch, ToolOutput, TurnId};

use crate::driven::Driven;
use crate::executor::{Executor, Step, Then};
use crate::failure::Failure;
use crate::frame::ContextId;
use crate::inbox::Handlers;
use crate::lanes::LaneId;
use crate::live::{Ending, Running, ToolCall};
use crate::tool_output;

/// A batch of tool calls that is under way.
pub(crate) struct Batch {
    pub(crate) id: BatchId,
    pub(crate) turn: TurnId,
    pub(crate) agent: AgentId,
    pub(crate) lane: LaneId,
    pub(crate) cancel: Cancel,
    handlers: Handlers,
    /// The wait for its deadline.
    deadline: Cell<Option<u64>>,
    executor: Weak<Executor>,
}

impl Drop for Batch {
    /// All calls have ended, however they did.
    fn drop(&mut self) {
        let Some(executor) = self.executor.upgrade() else {
            return;
        };
        if let Some(key) = self.deadline.take() {
            drop(executor.waits.remove(key));
        }
        let agent = executor.lanes.borrow_mut().leave(self.lane);
        drop(agent);
    }
}

/// A handler that is to begin.
pub(crate) enum Start {
    /// With the call's input.
    Tool(ToolCall, RawJson),
    Driven(Driven),
}

/// Why a handler ends without having returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It was asked to stop, and had its time.
    Forced,
    /// Somebody closed its coroutine.
    Closed,
}

const CANCELLED: &str = "The call was cancelled before it gave a result; it may have had effects.";
const NOT_RUN: &str = "The call was not run: it was cancelled first.";
const CLOSED: &str = "its coroutine was closed before it returned";

impl Executor {
    /// Queues the calls of a batch in its agent's lane.
    pub(crate) fn accept(self: &Rc<Self>, batch: ToolBatch, handlers: Handlers) {
        if self.is_ending.get() {
            for call in batch.calls {
                call.reply.finish(ToolOutput::cancelled(NOT_RUN));
            }
            return;
        }
        let lane = self.lanes.borrow_mut().enter(&batch.agent, &batch.cancel);
        let accepted = Rc::new(Batch {
            id: batch.id,
            turn: batch.turn,
            agent: batch.agent.id(),
            lane,
            cancel: batch.cancel,
            handlers,
            deadline: Cell::new(None),
            executor: Rc::downgrade(self),
        });
        let cancel = accepted.cancel.clone();
        let deadline = {
            let _clock = self.agents.enter();
            let forced = async move { cancel.forced().await };
            self.waits
                .add(forced, Then::Force(Rc::downgrade(&accepted)))
        };
        accepted.deadline.set(deadline.ok());
        for call in batch.calls {
            let start = ToolCall {
                id: call.id,
                name: call.tool_name,
                reply: call.reply,
                batch: Rc::clone(&accepted),
            };
            self.push(lane, Step::Start(Start::Tool(start, call.input)));
        }
    }

    pub(crate) fn start(self: &Rc<Self>, lua: &Lua, lane: LaneId, start: Start) {
        match start {
            Start::Tool(call, input) => self.start_tool(lua, call, &input),
            Start::Driven(driven) => {
                let Some((driven, function, arguments)) = driven.begin() else {
                    return;
                };
                let made = self.frame.coroutine(lua, function, arguments, None);
                self.run(lua, lane, made, Ending::Driven(driven));
            }
        }
    }

    fn start_tool(self: &Rc<Self>, lua: &Lua, call: ToolCall, input: &RawJson) {
        if call.reply.is_closed() || call.batch.cancel.is_asked() {
            return self.settle(call, ToolOutput::cancelled(NOT_RUN));
        }
        let Some(handler) = self.tools.handler(call.batch.handlers, &call.name) else {
            let text = format!("The tool `{}` is no longer there.", call.name);
            return self.settle(call, ToolOutput::error(text));
        };
        let input = match self.module.json().decode(lua, input.as_str().as_bytes()) {
            Ok(input) => input,
            Err(error) => {
                let text = format!("the input of `{}` cannot be read: {error}", call.name);
                return self.settle(call, ToolOutput::error(text));
            }
        };
        let lane = call.batch.lane;
        let names = Some((&*call.id, &*call.name));
        let made = self.frame.coroutine(lua, handler, input, names);
        self.run(lua, lane, made, Ending::Tool(call));
    }

    /// Starts a coroutine. It may end at once, or be resumed by anybody later.
    fn run(
        &self,
        lua: &Lua,
        lane: LaneId,
        made: mlua::Result<(Thread, ContextId)>,
        ending: Ending,
    ) {
        let (thread, context) = match made {
            Ok(made) => made,
            Err(error) => return self.fail(ending, &error),
        };
        lane.word().give_to(&thread);
        let running = Running {
            thread: thread.clone(),
            ending,
        };
        self.live.insert(context, running);
        let resumed = {
            let _entered = self.enter(lua, lane, Some(&thread));
            thread.resume::<MultiValue>(())
        };
        // The frame itself may fail, for lack of memory or of stack.
        if let Err(error) = resumed
            && let Some(running) = self.live.take(context)
        {
            self.fail(running.ending, &error);
        }
    }

    /// The handler of a coroutine did not come to its end; false if it is none.
    pub(crate) fn fail_thread(&self, thread: &Thread, error: &mlua::Error) -> bool {
        let running = self.live.take_where(|running| running.thread == *thread);
        let is_handler = !running.is_empty();
        for Running { ending, .. } in running {
            self.fail(ending, error);
        }
        is_handler
    }

    /// A handler did not come to its end for an error of Lua's.
    fn fail(&self, ending: Ending, error: &mlua::Error) {
        let failure = Failure::of(ending.what(), error);
        self.end(ending, Err(failure));
    }

    /// A handler has returned or raised.
    pub(crate) fn ended(&self, context: ContextId, ok: bool, mut values: MultiValue) {
        // A call that was forced to end has nobody who waits.
        let Some(running) = self.live.take(context) else {
            return;
        };
        let result = match ok {
            true => Ok(values),
            false => {
                let value = values.pop_front().unwrap_or(Value::Nil);
                Err(Failure::read(running.ending.what(), &value))
            }
        };
        self.end(running.ending, result);
    }

    /// A handler's coroutine was closed by somebody else.
    pub(crate) fn closed(&self, context: ContextId, thread: &Thread) {
        // Lua code may have its context closed with another coroutine.
        let running = self
            .live
            .take_if(context, |running| running.thread == *thread);
        if let Some(running) = running {
            self.cut(running.ending, Cut::Closed);
        }
    }

    fn end(&self, ending: Ending, result: Result<MultiValue, Failure>) {
        match ending {
            Ending::Driven(driven) => driven.finish(result),
            Ending::Tool(call) => {
                let output = result.and_then(|values| {
                    tool_output::read(self.module.json(), &values)
                        .map_err(|wrong| Failure::new(call.what(), wrong))
                });
                match output {
                    Ok(output) => self.settle(call, output),
                    Err(failure) => {
                        self.settle(call, ToolOutput::error(failure.first_line()));
                        self.reports.error(&failure);
                    }
                }
            }
        }
    }

    fn cut(&self, ending: Ending, cut: Cut) {
        match ending {
            Ending::Tool(call) => {
                let output = match cut {
                    Cut::Forced => ToolOutput::cancelled(CANCELLED),
                    Cut::Closed => ToolOutput::error(format!("the tool failed: {CLOSED}")),
                };
                self.settle(call, output);
            }
            Ending::Driven(driven) => {
                let failure = Failure::new(driven.what(), CLOSED);
                driven.finish(Err(failure));
            }
        }
    }

    fn settle(&self, call: ToolCall, output: ToolOutput) {
        let ToolCall { reply, batch, .. } = call;
        self.answers.borrow_mut().push((reply, output));
        let is_last = Rc::strong_count(&batch) == 1;
        // The lane goes before the turn goes on.
        drop(batch);
        match is_last {
            true => self.answer(),
            // Seen at the end of the visit, or soon if there is none.
            false => self.inbox.ring(),
        }
    }

    /// Gives turns what their calls have answered: when a batch is complete, and from time to time.
    /// A turn that is woken for each of many answers would take the processor from the one that
    /// makes them.
    pub(crate) fn answer(&self) {
        let mut answers = self.answers.take();
        for (reply, output) in answers.drain(..) {
            reply.finish(output);
        }
        // Its memory serves again, unless somebody answered meanwhile.
        let mut current = self.answers.borrow_mut();
        if current.is_empty() {
            *current = answers;
        }
    }

    /// Ends the calls of a batch that has had its time.
    pub(crate) fn force(&self, lua: &Lua, batch: &Rc<Batch>) {
        batch.deadline.set(None);
        self.force_where(
            lua,
            |running| matches!(&running.ending, Ending::Tool(call) if Rc::ptr_eq(&call.batch, batch)),
        );
    }

    /// Ends every handler.
    pub(crate) fn force_all(&self, lua: &Lua) {
        self.force_where(lua, |_| true);
        let mut steps = self.take_steps();
        while let Some((_, step)) = steps.pop() {
            match step {
                Step::Start(Start::Tool(call, _)) => {
                    self.settle(call, ToolOutput::cancelled(NOT_RUN));
                }
                Step::Start(Start::Driven(driven)) => self.cut(Ending::Driven(driven), Cut::Forced),
                Step::Resume(_) => {}
            }
        }
    }

    fn force_where(&self, lua: &Lua, which: impl Fn(&Running) -> bool) {
        for Running { thread, ending } in self.live.take_where(which) {
            self.close(lua, &thread, &ending.what());
            self.cut(ending, Cut::Forced);
        }
    }

    /// Closes a coroutine, which runs its to-be-closed variables.
    pub(crate) fn close(&self, lua: &Lua, thread: &Thread, what: &str) {
        let lane = LaneId::of(thread);
        let closed = {
            let _entered = self.enter(lua, lane, Some(thread));
            let close = &self.entry.close;
            close.call::<(bool, Value)>(thread)
        };
        match closed {
            Ok((true, _)) => {}
            Ok((false, value)) => {
                let text = match &value {
                    Value::String(text) => text.to_string_lossy(),
                    other => format!("(error object is a {} value)", other.type_name()),
                };
                self.reports
                    .error(&Failure::new(format!("closing {what}"), text));
            }
            // It runs: somebody further up resumed it. It has nobody left who waits for it.
            Err(error) => tracing::debug!("could not close {what}: {error}"),
        }
    }

    /// Ends a driven handler that nobody waits for any more.
    pub(crate) fn drop_driven(&self, lua: &Lua, driven: u64) {
        self.force_where(
            lua,
            |running| matches!(&running.ending, Ending::Driven(other) if other.id() == driven),
        );
    }
}
