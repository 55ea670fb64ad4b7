//! The events of an answer.
//!
//! Each output item is one block. The end of an item holds all of it, so it also speaks for
//! deltas that did not come.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use pantograph::protocol::ProtocolEvent;
use pantograph::wire_name::WireNames;
use pantograph::{ProviderError, RawJson, StopReason};
use serde_json::value::RawValue;

use super::event::{Event, EventKind, Response};
use super::failed;
use super::item::{ItemKind, OutputItem};
use super::open::{Open, Part, delta};
use crate::failure;
use crate::stream::Decoder;

/// Reads the events of one answer.
pub(super) struct ResponsesDecoder {
    names: Arc<WireNames>,
    /// The items that have begun and not ended; rarely more than one.
    open: Vec<Open>,
    /// The kinds of the items that have begun; the place of one is the index of its block.
    begun: Vec<ItemKind>,
    /// The items that have ended.
    ended: HashSet<Option<u32>>,
    has_calls: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(names: Arc<WireNames>) -> Self {
        Self {
            names,
            open: Vec::new(),
            begun: Vec::new(),
            ended: HashSet::new(),
            has_calls: false,
        }
    }

    /// Begins a block. Those of text begin at once, so that blocks keep the order of items.
    fn begin(
        &mut self,
        output_index: Option<u32>,
        kind: ItemKind,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Open {
        let index = self.begun.len() as u32;
        self.begun.push(kind);
        out.extend(delta(kind, index, String::new()));
        Open {
            output_index,
            index,
            kind,
            part: None,
            is_named: false,
            text: String::new(),
            whole: String::new(),
            has_come: false,
        }
    }

    fn name(&mut self, open: &mut Open, item: &mut OutputItem, out: &mut VecDeque<ProtocolEvent>) {
        let name = item.name.take().unwrap_or_default();
        self.has_calls = true;
        open.is_named = true;
        out.push_back(ProtocolEvent::ToolCallStart {
            index: open.index,
            id: item.call_id(),
            name: self.names.decode(&name).unwrap_or(&name).to_owned(),
        });
    }

    fn item_added(
        &mut self,
        output_index: Option<u32>,
        item: &RawValue,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        let mut item = OutputItem::read(item.get());
        let mut open = self.begin(output_index, item.kind, out);
        let has_name = item.name.as_deref().is_some_and(|name| !name.is_empty());
        if item.kind == ItemKind::FunctionCall && has_name {
            self.name(&mut open, &mut item, out);
        }
        self.open.push(open);
    }

    fn item_done(
        &mut self,
        output_index: Option<u32>,
        item: &RawValue,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        let kind = OutputItem::read(item.get()).kind;
        // An item that ends as another than it began is another.
        let begun = self.find(output_index, |open| {
            open.kind == kind || kind == ItemKind::Other
        });
        let open = match begun {
            Some(at) => self.open.remove(at),
            None => self.begin(output_index, kind, out),
        };
        self.end_item(open, item, out);
    }

    fn end_item(&mut self, mut open: Open, item: &RawValue, out: &mut VecDeque<ProtocolEvent>) {
        self.ended.insert(open.output_index);
        let raw = RawJson::parse(item.get()).ok();
        let mut item = OutputItem::read(item.get());
        let index = open.index;
        // A call that the limit cut stays open: it is no call.
        let is_cut = open.kind == ItemKind::FunctionCall && item.is_cut();
        let raw = match open.kind {
            ItemKind::Other => {
                out.extend(raw.map(|raw| ProtocolEvent::Opaque { index, raw }));
                None
            }
            ItemKind::FunctionCall => {
                if !open.is_named {
                    self.name(&mut open, &mut item, out);
                }
                let input = item.arguments.filter(|_| !open.has_come);
                out.extend(input.and_then(|json| input_delta(index, json)));
                raw.filter(|_| !is_cut)
            }
            ItemKind::Message | ItemKind::Reasoning => {
                open.finish(item.text(), out);
                // A message that says nothing is none.
                raw.filter(|_| open.has_come || open.kind == ItemKind::Reasoning)
            }
        };
        out.extend(raw.map(|raw| ProtocolEvent::Raw { index, raw }));
        if !is_cut {
            out.push_back(ProtocolEvent::BlockEnd { index });
        }
    }

    /// The end of a part, which its item's end repeats, if there is one.
    fn part_done(
        &mut self,
        output_index: Option<u32>,
        part: Part,
        text: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        let kind = part.kind();
        let at = self.find(output_index, |open| open.kind == kind);
        if at.is_none() && self.ended.contains(&output_index) {
            return;
        }
        let at = at.unwrap_or_else(|| {
            let open = self.begin(output_index, kind, out);
            self.open.push(open);
            self.open.len() - 1
        });
        let whole = &mut self.open[at].whole;
        if part == Part::Refusal && !whole.is_empty() {
            whole.push_str("\n\n");
        }
        whole.push_str(text);
    }

    /// The answer is complete: what `output` has speaks for what did not come before.
    ///
    /// Items are told apart by their order among those of their kind, since servers exist that
    /// give all of them one number.
    fn completed(&mut self, output: &[&RawValue], out: &mut VecDeque<ProtocolEvent>) {
        let nothing_came = self.begun.is_empty();
        let mut known: HashMap<ItemKind, VecDeque<u32>> = HashMap::new();
        for (index, kind) in self.begun.iter().enumerate() {
            known.entry(*kind).or_default().push_back(index as u32);
        }
        for item in output {
            let kind = OutputItem::read(item.get()).kind;
            match known.get_mut(&kind).and_then(VecDeque::pop_front) {
                Some(index) => {
                    if let Some(at) = self.open.iter().position(|open| open.index == index) {
                        let open = self.open.remove(at);
                        self.end_item(open, item, out);
                    }
                }
                // What only the provider understands must not go back in another place.
                None if nothing_came
                    || matches!(kind, ItemKind::Message | ItemKind::FunctionCall) =>
                {
                    let open = self.begin(None, kind, out);
                    self.end_item(open, item, out);
                }
                None => {}
            }
        }
        for open in &mut self.open {
            open.finish(String::new(), out);
        }
    }

    fn text(
        &mut self,
        output_index: Option<u32>,
        part: Part,
        mut text: String,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        if text.is_empty() {
            return;
        }
        let kind = part.kind();
        let at = self.find(output_index, |open| open.kind == kind);
        let at = at.unwrap_or_else(|| {
            let open = self.begin(output_index, kind, out);
            self.open.push(open);
            self.open.len() - 1
        });
        let open = &mut self.open[at];
        if open.part.is_some_and(|last| last != part) {
            text.insert_str(0, "\n\n");
        }
        open.part = Some(part);
        open.has_come = true;
        open.text.push_str(&text);
        out.extend(delta(kind, open.index, text));
    }

    fn arguments(
        &mut self,
        output_index: Option<u32>,
        json: String,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        let Some(at) = self.find(output_index, |open| open.is_named) else {
            return;
        };
        let open = &mut self.open[at];
        open.has_come |= !json.is_empty();
        out.extend(input_delta(open.index, json));
    }

    /// Whether any input of the call came.
    fn has_arguments(&self, output_index: Option<u32>) -> bool {
        let at = self.find(output_index, |open| open.is_named);
        at.is_some_and(|at| self.open[at].has_come)
    }

    /// Where the item is that an event is about; the last, if the event does not say.
    fn find(&self, output_index: Option<u32>, fits: impl Fn(&Open) -> bool) -> Option<usize> {
        self.open.iter().rposition(|open| {
            (output_index.is_none() || open.output_index == output_index) && fits(open)
        })
    }
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            // An event of a kind that is not known may have any shape.
            Err(_) if EventKind::of(data) == Some(EventKind::Other) => return Ok(()),
            Err(_) if name == Some("error") => return Err(failed::failed(data)),
            Err(_) if name.is_some_and(EventKind::is_unknown) => return Ok(()),
            Err(_) => {
                return Err(failure::malformed("the provider sent a broken event", data));
            }
        };
        let Some(kind) = event.kind else {
            // Proxies report their own failures so.
            return match event.error.is_some() || name == Some("error") {
                true => Err(failed::failed(data)),
                false => Ok(()),
            };
        };
        let at = event.output_index;
        let delta = event.delta.unwrap_or_default();
        match (kind, event.item) {
            (EventKind::ItemAdded, Some(item)) => self.item_added(at, item, out),
            (EventKind::ItemDone, Some(item)) => self.item_done(at, item, out),
            (EventKind::TextDelta, _) => self.text(at, Part::Text, delta, out),
            (EventKind::RefusalDelta, _) => self.text(at, Part::Refusal, delta, out),
            (EventKind::SummaryDelta, _) => {
                self.text(at, Part::Summary(event.summary_index), delta, out);
            }
            (EventKind::ReasoningDelta, _) => {
                self.text(at, Part::Reasoning(event.content_index), delta, out);
            }
            (EventKind::TextDone, _) => {
                self.part_done(at, Part::Text, &event.text.unwrap_or_default(), out);
            }
            (EventKind::RefusalDone, _) => {
                self.part_done(at, Part::Refusal, &event.refusal.unwrap_or_default(), out);
            }
            (EventKind::ArgumentsDelta, _) => self.arguments(at, delta, out),
            // All of them, which count where no delta came.
            (EventKind::ArgumentsDone, _) if !self.has_arguments(at) => {
                self.arguments(at, event.arguments.unwrap_or_default(), out);
            }
            (EventKind::Completed | EventKind::Incomplete, _) => {
                let response = Response::read(event.response);
                self.completed(&response.output(), out);
                let stop = match (kind, self.has_calls) {
                    (EventKind::Incomplete, _) => match failed::filtered(&response) {
                        Some(error) => return Err(error),
                        None => StopReason::Limit,
                    },
                    (_, true) => StopReason::ToolCalls,
                    (_, false) => StopReason::End,
                };
                out.extend(
                    response
                        .usage
                        .map(|usage| ProtocolEvent::Usage(usage.into())),
                );
                out.push_back(ProtocolEvent::Done { stop });
            }
            (EventKind::Failed | EventKind::Error, _) => return Err(failed::failed(data)),
            (
                EventKind::ItemAdded
                | EventKind::ItemDone
                | EventKind::ArgumentsDone
                | EventKind::Other,
                _,
            ) => {}
        }
        Ok(())
    }
}

fn input_delta(index: u32, json: String) -> Option<ProtocolEvent> {
    (!json.is_empty()).then_some(ProtocolEvent::ToolCallDelta { index, json })
}
