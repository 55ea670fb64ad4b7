//! One answer while it is played. Runs on the task that polls it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pantograph::protocol::{ProtocolEvent, ProtocolStream};
use pantograph::{ProviderError, StopReason};
use tokio::task::coop;

use crate::counts::OpenStream;
use crate::fault::Fault;
use crate::item::{BlockStep, Item};
use crate::step::Step;

/// A wait that is under way.
pub(crate) type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct ScriptedStream {
    step: Arc<Step>,
    /// For the calls that have no id of their own.
    call_ids: std::vec::IntoIter<String>,
    open: OpenStream,
    wait: Option<Wait>,
    /// The next item, and how far into its block the stream is.
    item: usize,
    position: u64,
    /// The block position whose pace was kept.
    paced: u64,
    block: u32,
    /// Events given so far, and faults of `Step::at_events` that have struck.
    events: u64,
    struck: usize,
    made_call: bool,
    stop: Option<StopReason>,
    is_cancelled: bool,
    is_over: bool,
}

/// What the stream does next.
enum Next {
    Event(ProtocolEvent),
    Wait(Wait),
    Fail(ProviderError),
    Over,
    /// Something without an event was done.
    Again,
}

impl ScriptedStream {
    pub(crate) fn new(step: Arc<Step>, call_ids: Vec<String>, open: OpenStream) -> Self {
        Self {
            step,
            call_ids: call_ids.into_iter(),
            open,
            wait: None,
            item: 0,
            position: 0,
            paced: 0,
            block: 0,
            events: 0,
            struck: 0,
            made_call: false,
            stop: None,
            is_cancelled: false,
            is_over: false,
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_over || (self.is_cancelled && !self.step.ignores_cancel)
    }

    fn next(&mut self) -> Next {
        if let Some((at, fault)) = self.step.at_events.get(self.struck)
            && *at <= self.events
        {
            self.struck += 1;
            return strike(fault);
        }
        match self.step.items.get(self.item) {
            None => self.done(),
            Some(Item::Fault(fault)) => {
                self.item += 1;
                strike(fault)
            }
            Some(Item::Stop(stop)) => {
                self.stop = Some(*stop);
                self.item += 1;
                Next::Again
            }
            Some(Item::Usage(usage)) => {
                self.item += 1;
                Next::Event(ProtocolEvent::Usage(*usage))
            }
            Some(Item::Opaque(raw)) => {
                let raw = raw.clone();
                let index = self.end_block();
                Next::Event(ProtocolEvent::Opaque { index, raw })
            }
            Some(Item::Text(_) | Item::Thinking(_) | Item::Call(_)) => self.next_of_block(),
        }
    }

    fn next_of_block(&mut self) -> Next {
        let item = &self.step.items[self.item];
        if let Some(pace) = item.pace_before(self.position)
            && self.paced < self.position
        {
            self.paced = self.position;
            return Next::Wait(Box::pin(tokio::time::sleep(pace)));
        }
        let call_ids = &mut self.call_ids;
        let block_step = item.block_step(self.block, self.position, || {
            call_ids.next().unwrap_or_default()
        });
        match block_step {
            BlockStep::Event(event) => {
                self.position += 1;
                Next::Event(event)
            }
            BlockStep::End => {
                self.made_call |= matches!(item, Item::Call(_));
                let index = self.end_block();
                match self.step.items.get(self.item) {
                    Some(Item::Fault(Fault::Disconnect)) => Next::Over,
                    _ => Next::Event(ProtocolEvent::BlockEnd { index }),
                }
            }
        }
    }

    /// Goes on to the next item and block; gives the index of the one that ended.
    fn end_block(&mut self) -> u32 {
        let index = self.block;
        self.block += 1;
        self.item += 1;
        self.position = 0;
        self.paced = 0;
        index
    }

    fn done(&mut self) -> Next {
        self.is_over = true;
        let by_content = match self.made_call {
            true => StopReason::ToolCalls,
            false => StopReason::End,
        };
        let stop = self.stop.unwrap_or(by_content);
        Next::Event(ProtocolEvent::Done { stop })
    }
}

/// What a fault does to a stream that is open.
fn strike(fault: &Fault) -> Next {
    match fault {
        Fault::Disconnect | Fault::NoEnd => Next::Over,
        Fault::Error(error) => Next::Fail(error.clone()),
        Fault::Delay(_) | Fault::Gate(_) | Fault::Stall => Next::Wait(wait(fault)),
    }
}

/// The time that a fault takes; none if it is a failure.
pub(crate) fn wait(fault: &Fault) -> Wait {
    match fault {
        Fault::Delay(delay) => Box::pin(tokio::time::sleep(*delay)),
        Fault::Gate(gate) => Box::pin(gate.arrive()),
        Fault::Stall => Box::pin(std::future::pending()),
        Fault::Disconnect | Fault::NoEnd | Fault::Error(_) => Box::pin(std::future::ready(())),
    }
}

impl ProtocolStream for ScriptedStream {
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>> {
        // A script is always ready where a connection would not be. Taking part in tokio's
        // budget gives other tasks, and a cancel, their turn.
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            if self.is_stopped() {
                budget.made_progress();
                return Poll::Ready(None);
            }
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            match self.next() {
                Next::Again => {}
                Next::Wait(wait) => self.wait = Some(wait),
                Next::Event(event) => {
                    self.events += 1;
                    budget.made_progress();
                    return Poll::Ready(Some(Ok(event)));
                }
                Next::Fail(error) => {
                    self.is_over = true;
                    budget.made_progress();
                    return Poll::Ready(Some(Err(error)));
                }
                Next::Over => self.is_over = true,
            }
        }
    }

    fn cancel_turn(&mut self) {
        if !self.is_cancelled {
            self.is_cancelled = true;
            self.open.cancelled();
        }
    }
}
