//! One answer of a script, and the requests that it is for.

use std::sync::Arc;

use pantograph::Role;
use pantograph::protocol::{Purpose, Request};
use serde_json::Value;

use crate::fault::Fault;
use crate::item::{Call, Item, Text};
use crate::matcher::{Matcher, Mismatch};
use crate::take::Take;

/// One answer: which requests it is for, and what it plays.
///
/// Built from left to right: first what is played, then when.
///
/// ```
/// use pantograph_scripted::{Call, Step};
/// use serde_json::json;
///
/// let step = Step::text("Let me look.")
///     .then(Call::new("read", json!({ "path": "a.txt" })).id("a"))
///     .then(Call::new("read", json!({ "path": "b.txt" })).id("b"))
///     .when_last("compare the files");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Step {
    pub(crate) matcher: Matcher,
    /// What is taken from the request, by name.
    pub(crate) takes: Vec<(String, Take)>,
    pub(crate) repeats: bool,
    pub(crate) ignores_cancel: bool,
    pub(crate) opening: Vec<Fault>,
    pub(crate) items: Vec<Item>,
    /// Sorted by the number of events that come before.
    pub(crate) at_events: Vec<(u64, Fault)>,
}

impl Step {
    /// An answer without content: it only ends.
    pub fn new() -> Self {
        Self::default()
    }

    /// An answer that begins with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().then(Text::new(text))
    }

    /// An answer that begins with a tool call; see [`Call::new`].
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self::new().then(Call::new(name, input))
    }

    /// A failure before there is a stream: an [`pantograph::ErrorClass`] or a whole
    /// [`pantograph::ProviderError`].
    ///
    /// One inside the stream is an item: `Step::new().then(ErrorClass::Server)`.
    pub fn error(error: impl Into<Fault>) -> Self {
        Self::new().on_open(error)
    }

    /// Plays something after all that is there: a block, a part or a [`Fault`].
    pub fn then(mut self, item: impl Into<Item>) -> Self {
        self.items.push(item.into());
        self
    }

    /// Lets a fault strike once `events` events of the answer are out, wherever that is.
    ///
    /// With more than one at the same place, the first that was added strikes first. Nothing
    /// happens if the answer is over before.
    pub fn at_event(mut self, events: u64, fault: impl Into<Fault>) -> Self {
        self.at_events.push((events, fault.into()));
        self.at_events.sort_by_key(|(events, _)| *events);
        self
    }

    /// Lets a fault strike while the stream is opened. Several strike in order.
    pub fn on_open(mut self, fault: impl Into<Fault>) -> Self {
        self.opening.push(fault.into());
        self
    }

    /// Lets the stream go on after it was cancelled.
    pub fn ignoring_cancel(mut self) -> Self {
        self.ignores_cancel = true;
        self
    }

    /// Lets the step answer any number of requests; otherwise it answers one.
    pub fn repeated(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Takes a piece of the request: it is played where `{name}` stands in a text, in thinking or
    /// in a call's input.
    ///
    /// Only for requests that have such a piece.
    ///
    /// ```
    /// use pantograph_scripted::{Step, Take};
    /// use serde_json::json;
    ///
    /// let step = Step::text("It is ticket {ticket}.")
    ///     .then(pantograph_scripted::Call::new("close", json!({ "ticket": "{ticket}" })))
    ///     .taking("ticket", Take::new().after("ticket: ").until("\n"));
    /// ```
    pub fn taking(mut self, name: impl Into<String>, take: Take) -> Self {
        self.takes.push((name.into(), take));
        self
    }

    /// Only for requests whose last user message contains `part`: all requests of the turns that
    /// such a message began.
    pub fn when_asked(mut self, part: impl Into<String>) -> Self {
        self.matcher.asked = Some(part.into());
        self
    }

    /// Only for requests whose last message that is not a system message contains `part`, in
    /// its text or in a tool's output.
    pub fn when_last(mut self, part: impl Into<String>) -> Self {
        self.matcher.last = Some(part.into());
        self
    }

    /// Only for requests whose last message that is not a system message has this role.
    pub fn when_last_role(mut self, role: Role) -> Self {
        self.matcher.last_role = Some(role);
        self
    }

    /// Only for requests whose system prompt, or one of whose system messages, contains `part`.
    pub fn when_system(mut self, part: impl Into<String>) -> Self {
        self.matcher.system = Some(part.into());
        self
    }

    /// Only for requests of the agent with this label.
    pub fn when_label(mut self, label: impl Into<String>) -> Self {
        self.matcher.label = Some(label.into());
        self
    }

    /// Only for requests to the model with this name on the wire.
    pub fn when_model(mut self, wire_model: impl Into<String>) -> Self {
        self.matcher.model = Some(wire_model.into());
        self
    }

    /// Only for requests for this purpose.
    pub fn when_purpose(mut self, purpose: Purpose) -> Self {
        self.matcher.purpose = Some(purpose);
        self
    }

    /// Why the request is not meant; `None` if it is.
    pub(crate) fn mismatch<'a>(&'a self, request: &'a Request) -> Option<Mismatch<'a>> {
        self.matcher.mismatch(request).or_else(|| {
            let mut takes = self.takes.iter();
            let missing = takes.find(|(_, take)| take.find(request).is_none());
            missing.map(|(name, _)| Mismatch::Take(name))
        })
    }

    /// The step with what it takes from the request.
    pub(crate) fn filled(self: Arc<Self>, request: &Request) -> Arc<Self> {
        if self.takes.is_empty() {
            return self;
        }
        let takes = self.takes.iter();
        let taken: Vec<(&str, String)> = takes
            .filter_map(|(name, take)| Some((name.as_str(), take.find(request)?.to_owned())))
            .collect();
        let mut step = (*self).clone();
        step.items.iter_mut().for_each(|item| item.fill(&taken));
        Arc::new(step)
    }

    pub(crate) fn unpace(&mut self) {
        self.items.iter_mut().for_each(Item::unpace);
    }
}

impl<I: Into<Item>> From<I> for Step {
    fn from(item: I) -> Self {
        Self::new().then(item)
    }
}
