//! One item of a step in a script file: the key that says what it is, and keys that go with it.

use std::time::Duration;

use pantograph::{ErrorClass, ProviderError, RawJson, StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::checked::read_checked;
use crate::fault::{Fault, failure};
use crate::item::{Call, Item, Text, Thinking};

/// An item, checked.
pub(super) struct ItemEntry(Played);

read_checked!(ItemEntry: ItemKeys);

/// Where an item is played.
pub(super) enum Played {
    /// After the one before.
    InOrder(Item),
    /// When this many events are out.
    AtEvent(u64, Fault),
}

impl ItemEntry {
    pub(super) fn into_played(self) -> Played {
        self.0
    }
}

/// An item of `open`, checked.
pub(super) struct FaultEntry(Fault);

read_checked!(FaultEntry: ItemKeys);

impl FaultEntry {
    pub(super) fn into_fault(self) -> Fault {
        self.0
    }
}

/// Every key that any item has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemKeys {
    // What it is: exactly one of these.
    text: Option<String>,
    thinking: Option<String>,
    tool: Option<String>,
    opaque: Option<Value>,
    usage: Option<UsageKeys>,
    stop: Option<StopName>,
    delay_ms: Option<u64>,
    fault: Option<FaultName>,
    error: Option<ErrorClass>,
    // What goes with it.
    chunks: Option<usize>,
    count: Option<u64>,
    pace_ms: Option<u64>,
    raw: Option<Value>,
    signature: Option<String>,
    input: Option<Value>,
    input_raw: Option<String>,
    id: Option<String>,
    message: Option<String>,
    retry_after_ms: Option<u64>,
    code: Option<String>,
    status: Option<u16>,
    at_event: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageKeys {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopName {
    End,
    ToolCalls,
    Limit,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultName {
    Stall,
    Disconnect,
    NoEnd,
}

/// What an item can be, with the keys that go with it.
const KINDS: [(&str, &[&str]); 9] = [
    ("text", &["chunks", "count", "pace_ms", "raw"]),
    (
        "thinking",
        &["signature", "chunks", "count", "pace_ms", "raw"],
    ),
    (
        "tool",
        &["input", "input_raw", "id", "chunks", "pace_ms", "raw"],
    ),
    ("opaque", &[]),
    ("usage", &[]),
    ("stop", &[]),
    ("delay_ms", &["at_event"]),
    ("fault", &["at_event"]),
    (
        "error",
        &["message", "retry_after_ms", "code", "status", "at_event"],
    ),
];

impl ItemKeys {
    /// Which of [`KINDS`] are there, in their order.
    fn kinds(&self) -> Vec<usize> {
        let are_there = [
            self.text.is_some(),
            self.thinking.is_some(),
            self.tool.is_some(),
            self.opaque.is_some(),
            self.usage.is_some(),
            self.stop.is_some(),
            self.delay_ms.is_some(),
            self.fault.is_some(),
            self.error.is_some(),
        ];
        (0..KINDS.len()).filter(|kind| are_there[*kind]).collect()
    }

    /// Which keys are there that go with a kind.
    fn companions(&self) -> Vec<&'static str> {
        let are_there = [
            ("chunks", self.chunks.is_some()),
            ("count", self.count.is_some()),
            ("pace_ms", self.pace_ms.is_some()),
            ("raw", self.raw.is_some()),
            ("signature", self.signature.is_some()),
            ("input", self.input.is_some()),
            ("input_raw", self.input_raw.is_some()),
            ("id", self.id.is_some()),
            ("message", self.message.is_some()),
            ("retry_after_ms", self.retry_after_ms.is_some()),
            ("code", self.code.is_some()),
            ("status", self.status.is_some()),
            ("at_event", self.at_event.is_some()),
        ];
        let there = are_there.into_iter().filter(|(_, is_there)| *is_there);
        there.map(|(key, _)| key).collect()
    }

    /// Refuses keys that do not go together.
    fn check(&self) -> Result<(), String> {
        let kinds = self.kinds();
        let [kind] = kinds[..] else {
            let found: Vec<&str> = kinds.iter().map(|kind| KINDS[*kind].0).collect();
            let all: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let found = match found.len() {
                0 => "none".to_owned(),
                _ => listed(&found, " and "),
            };
            let all = listed(&all, " or ");
            return Err(format!(
                "an item has exactly one of {all}; this has {found}"
            ));
        };
        let (name, companions) = KINDS[kind];
        if let Some(key) = self
            .companions()
            .into_iter()
            .find(|key| !companions.contains(key))
        {
            return Err(match companions {
                [] => format!("`{key}` does not go with `{name}`, and no other key does"),
                _ => {
                    let known = listed(companions, " and ");
                    format!("`{key}` does not go with `{name}`; {known} do")
                }
            });
        }
        if self.input.is_some() && self.input_raw.is_some() {
            return Err("a tool call has `input` or `input_raw`, not both".to_owned());
        }
        Ok(())
    }

    /// The fault, if the item is one.
    fn fault(&self) -> Option<Fault> {
        if let Some(delay) = self.delay_ms {
            return Some(Fault::Delay(Duration::from_millis(delay)));
        }
        if let Some(fault) = self.fault {
            return Some(match fault {
                FaultName::Stall => Fault::Stall,
                FaultName::Disconnect => Fault::Disconnect,
                FaultName::NoEnd => Fault::NoEnd,
            });
        }
        self.error
            .map(|class| Fault::Error(self.provider_error(class)))
    }

    fn provider_error(&self, class: ErrorClass) -> ProviderError {
        let mut error = failure(class);
        if let Some(message) = &self.message {
            error.message.clone_from(message);
        }
        error.retry_after = self.retry_after_ms.map(Duration::from_millis);
        error.code.clone_from(&self.code);
        error.status = self.status;
        error
    }

    fn into_item(self) -> Option<Item> {
        if let Some(fault) = self.fault() {
            return Some(Item::Fault(fault));
        }
        let pace = self.pace_ms.map(Duration::from_millis);
        let raw = self.raw.as_ref().map(RawJson::from_value);
        let chunks = self.chunks.unwrap_or(1);
        let count = self.count.unwrap_or(1);
        if let Some(text) = self.text {
            let text = Text::new(text).chunks(chunks).count(count);
            let text = with(text, pace, Text::pace);
            return Some(with(text, raw, Text::raw).into());
        }
        if let Some(text) = self.thinking {
            let thinking = Thinking::new(text).chunks(chunks).count(count);
            let thinking = with(thinking, self.signature, Thinking::signature);
            let thinking = with(thinking, pace, Thinking::pace);
            return Some(with(thinking, raw, Thinking::raw).into());
        }
        if let Some(name) = self.tool {
            let call = match self.input {
                Some(input) => Call::new(name, input),
                None => Call::with_raw_input(name, self.input_raw.unwrap_or_default()),
            };
            let call = with(call.chunks(chunks), self.id, Call::id);
            let call = with(call, pace, Call::pace);
            return Some(with(call, raw, Call::raw).into());
        }
        if let Some(raw) = self.opaque {
            return Some(Item::Opaque(RawJson::from_value(&raw)));
        }
        if let Some(usage) = self.usage {
            return Some(Item::Usage(usage.into()));
        }
        self.stop.map(|stop| {
            Item::Stop(match stop {
                StopName::End => StopReason::End,
                StopName::ToolCalls => StopReason::ToolCalls,
                StopName::Limit => StopReason::Limit,
            })
        })
    }
}

impl TryFrom<ItemKeys> for ItemEntry {
    type Error = String;

    fn try_from(keys: ItemKeys) -> Result<Self, String> {
        keys.check()?;
        let at_event = keys.at_event;
        match (keys.into_item(), at_event) {
            (Some(Item::Fault(fault)), Some(events)) => Ok(Self(Played::AtEvent(events, fault))),
            (Some(item), _) => Ok(Self(Played::InOrder(item))),
            (None, _) => Err("an item says what it is".to_owned()),
        }
    }
}

impl TryFrom<ItemKeys> for FaultEntry {
    type Error = String;

    fn try_from(keys: ItemKeys) -> Result<Self, String> {
        keys.check()?;
        if keys.at_event.is_some() {
            return Err("`at_event` is for `play`: nothing is out while opening".to_owned());
        }
        keys.fault()
            .map(Self)
            .ok_or_else(|| "`open` holds `delay_ms`, `fault` and `error` only".to_owned())
    }
}

impl From<UsageKeys> for Usage {
    fn from(keys: UsageKeys) -> Self {
        Self {
            input: keys.input,
            output: keys.output,
            cache_read: keys.cache_read,
            cache_write: keys.cache_write,
            reasoning: keys.reasoning,
        }
    }
}

/// Sets what a script may leave out.
fn with<T, V>(part: T, value: Option<V>, set: impl FnOnce(T, V) -> T) -> T {
    match value {
        Some(value) => set(part, value),
        None => part,
    }
}

/// Names in backticks: "`a`, `b` and `c`".
fn listed(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., end] => format!("{}{last}{end}", most.join(", ")),
    }
}
