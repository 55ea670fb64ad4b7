//! The protocol itself: checks, records and answers requests.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::{ErrorClass, ProviderError};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::check::RequestCheck;
use crate::counts::{Counts, OpenStream, SharedCounts};
use crate::fault::Fault;
use crate::gate::wait_for;
use crate::item::{Call, Item};
use crate::recorded::RecordedRequest;
use crate::render::{self, Extent};
use crate::script::Script;
use crate::step::Step;
use crate::stream::{ScriptedStream, wait};

/// Steps named in the error for a request that none of them answers.
const MAX_STEPS_NAMED: usize = 10;

/// A [`Protocol`] that answers with the steps of a [`Script`], refuses invalid requests and
/// records all of them. Clones share everything.
///
/// Any number of streams can be open at once; a stream costs neither a task nor a thread.
///
/// Both opening and streaming run inside a tokio runtime, with its time enabled if the script
/// has delays.
#[derive(Clone)]
pub struct ScriptedProtocol {
    inner: Arc<Inner>,
}

struct Inner {
    steps: Vec<Arc<Step>>,
    check: RequestCheck,
    state: Mutex<State>,
    counts: SharedCounts,
}

struct State {
    is_used_up: Vec<bool>,
    requests: Vec<RecordedRequest>,
    reset_contexts: Vec<String>,
    released_contexts: Vec<String>,
}

impl ScriptedProtocol {
    /// A protocol that has all of the script before it.
    pub fn new(script: Script) -> Self {
        let state = State {
            is_used_up: vec![false; script.steps.len()],
            requests: Vec::new(),
            reset_contexts: Vec::new(),
            released_contexts: Vec::new(),
        };
        let check = match script.allows_removed_tools {
            true => RequestCheck::new().allow_removed_tools(),
            false => RequestCheck::new(),
        };
        Self {
            inner: Arc::new(Inner {
                steps: script.steps,
                check,
                state: Mutex::new(state),
                counts: Arc::new(watch::Sender::new(Counts::default())),
            }),
        }
    }

    /// Every request so far, refused ones too, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.inner.state.lock().requests.clone()
    }

    /// How many steps have not answered a request yet; those that repeat never count.
    ///
    /// Zero at the end of a test says that the script was played to its end.
    pub fn unused_steps(&self) -> usize {
        let state = self.inner.state.lock();
        let steps = self.inner.steps.iter().zip(&state.is_used_up);
        steps
            .filter(|(step, is_used_up)| !step.repeats && !**is_used_up)
            .count()
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.inner.counts.borrow().open
    }

    /// How many streams were open at once at most.
    pub fn peak_open_streams(&self) -> usize {
        self.inner.counts.borrow().peak
    }

    /// How many streams were cancelled, each counted once.
    pub fn cancelled_streams(&self) -> usize {
        self.inner.counts.borrow().cancelled
    }

    /// The contexts that were reset, in order.
    pub fn reset_contexts(&self) -> Vec<String> {
        self.inner.state.lock().reset_contexts.clone()
    }

    /// The contexts that were released, in order.
    pub fn released_contexts(&self) -> Vec<String> {
        self.inner.state.lock().released_contexts.clone()
    }

    /// Waits until there were at least `count` requests, and gives all that there were.
    ///
    /// Dropping the future loses nothing.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        wait_for(&self.inner.counts, |counts| counts.requests >= count).await;
        self.requests()
    }

    /// Waits until exactly `count` streams are open; with zero, until all are closed.
    ///
    /// Dropping the future loses nothing. A number that holds for a moment only can be missed.
    pub async fn wait_for_open_streams(&self, count: usize) {
        wait_for(&self.inner.counts, |counts| counts.open == count).await;
    }

    /// Records the request and takes the step that answers it.
    fn take_step(&self, request: &Request) -> Result<Arc<Step>, ProviderError> {
        let checked = self.inner.check.check(request);
        let mut state = self.inner.state.lock();
        let answer = match checked {
            Ok(()) => self.inner.find_step(&mut state, request),
            Err(invalid) => Err(invalid.to_string()),
        };
        state.requests.push(RecordedRequest {
            request: request.clone(),
            step: answer.as_ref().ok().copied(),
            refusal: answer.as_ref().err().cloned(),
        });
        drop(state);
        self.inner.counts.send_modify(|counts| counts.requests += 1);
        match answer {
            Ok(position) => Ok(Arc::clone(&self.inner.steps[position])),
            Err(refusal) => Err(ProviderError::new(ErrorClass::InvalidRequest, refusal)),
        }
    }
}

impl Inner {
    /// The position of the first step that is left and meant; else why there is none.
    fn find_step(&self, state: &mut State, request: &Request) -> Result<usize, String> {
        let left = || {
            let steps = self.steps.iter().enumerate();
            steps.filter(|(position, _)| !state.is_used_up[*position])
        };
        let found = left().find(|(_, step)| step.mismatch(request).is_none());
        let Some((position, step)) = found else {
            return Err(no_step(self.steps.len(), left(), request));
        };
        state.is_used_up[position] = !step.repeats;
        Ok(position)
    }
}

/// Says which steps were left, and why none of them was meant.
fn no_step<'a>(
    steps: usize,
    left: impl Iterator<Item = (usize, &'a Arc<Step>)>,
    request: &Request,
) -> String {
    let reasons: Vec<String> = left
        .filter_map(|(position, step)| {
            let mismatch = step.mismatch(request)?;
            Some(format!("step {}: {mismatch}", position + 1))
        })
        .collect();
    let mut text = match reasons.len() {
        _ if steps == 0 => "the script has no steps".to_owned(),
        0 => format!("the script has no step left: all {steps} are used up"),
        count => format!("none of the {count} steps that are left (of {steps}) answers this"),
    };
    for reason in reasons.iter().take(MAX_STEPS_NAMED) {
        text.push_str("\n  ");
        text.push_str(reason);
    }
    if reasons.len() > MAX_STEPS_NAMED {
        let more = reasons.len() - MAX_STEPS_NAMED;
        text.push_str(&format!("\n  and {more} more"));
    }
    text.push_str("\nthe request was:\n");
    text.push_str(&render::request(request, Extent::Compact { near: None }));
    text
}

/// Ids for the step's calls that have none: the first of `call_1`, `call_2` … that are free.
fn call_ids(step: &Step, request: &Request) -> Vec<String> {
    let calls = || {
        step.items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        })
    };
    let missing = calls().filter(|call| call.explicit_id().is_none()).count();
    if missing == 0 {
        return Vec::new();
    }
    let messages = request.conversation.messages().iter();
    let mut taken: HashSet<&str> = messages
        .flat_map(|message| message.tool_calls())
        .map(|call| &*call.id)
        .collect();
    taken.extend(calls().filter_map(Call::explicit_id));
    (1_u64..)
        .map(|number| format!("call_{number}"))
        .filter(|id| !taken.contains(id.as_str()))
        .take(missing)
        .collect()
}

#[async_trait]
impl Protocol for ScriptedProtocol {
    fn name(&self) -> &str {
        "scripted"
    }

    /// Answers with a step. One that was taken is used up, also if the future is dropped.
    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let step = self.take_step(&request)?;
        for fault in &step.opening {
            match fault {
                Fault::Error(error) => return Err(error.clone()),
                Fault::Disconnect | Fault::NoEnd => {
                    return Err(ProviderError::transport("scripted refusal to connect"));
                }
                Fault::Delay(_) | Fault::Gate(_) | Fault::Stall => wait(fault).await,
            }
        }
        let step = step.filled(&request);
        let call_ids = call_ids(&step, &request);
        let open = OpenStream::new(&self.inner.counts);
        Ok(Box::new(ScriptedStream::new(step, call_ids, open)))
    }

    fn reset_context(&self, context: &str) {
        let mut state = self.inner.state.lock();
        state.reset_contexts.push(context.to_owned());
    }

    fn release_context(&self, context: &str) {
        let mut state = self.inner.state.lock();
        state.released_contexts.push(context.to_owned());
    }
}

impl fmt::Debug for ScriptedProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedProtocol")
            .field("steps", &self.inner.steps.len())
            .field("unused_steps", &self.unused_steps())
            .field("counts", &*self.inner.counts.borrow())
            .finish()
    }
}
